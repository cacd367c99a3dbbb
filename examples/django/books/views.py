import json

from django.db import IntegrityError, transaction
from django.http import JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from .models import Author, Book


def index(request):
    return render(request, "books/index.html", {"books": Book.objects.select_related("author")})


@csrf_exempt
@require_http_methods(["GET", "POST"])
def books(request):
    if request.method == "POST":
        given = json.loads(request.body)
        try:
            with transaction.atomic():
                author, _ = Author.objects.get_or_create(name=given["author"])
                book = Book.objects.create(title=given["title"], author=author, tags=given.get("tags", []))
        except IntegrityError:
            return JsonResponse({"error": "the author has this book already"}, status=409)
        return JsonResponse({"id": book.id}, status=201)
    found = Book.objects.select_related("author")
    if tag := request.GET.get("tag"):
        found = found.filter(tags__contains=[tag])
    return JsonResponse({"books": [{"title": b.title, "author": b.author.name, "tags": b.tags} for b in found]})
