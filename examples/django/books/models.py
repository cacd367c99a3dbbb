from django.contrib.postgres.fields import ArrayField
from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=100, unique=True)

    def __str__(self):
        return self.name


class Book(models.Model):
    title = models.CharField(max_length=200)
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    tags = ArrayField(models.CharField(max_length=30), default=list)
    details = models.JSONField(default=dict)
    added = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["title"]
        constraints = [models.UniqueConstraint(fields=["title", "author"], name="once_per_author")]

    def __str__(self):
        return self.title
