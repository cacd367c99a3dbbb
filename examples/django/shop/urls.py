from books import views
from django.urls import path

urlpatterns = [
    path("", views.index),
    path("api/books", views.books),
]
