from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from .database import session
from .models import Author, Book

app = FastAPI(title="Books")
Opened = Annotated[Session, Depends(session)]


class BookIn(BaseModel):
    title: str
    author: str
    tags: list[str] = []


class BookOut(BookIn):
    id: int


@app.post("/books", status_code=201)
def add(book: BookIn, db: Opened) -> BookOut:
    db.execute(insert(Author).values(name=book.author).on_conflict_do_nothing())
    author = db.scalars(select(Author).where(Author.name == book.author)).one()
    made = Book(title=book.title, author=author, tags=book.tags)
    db.add(made)
    try:
        db.commit()
    except IntegrityError:
        raise HTTPException(409, "the author has this book already") from None
    return BookOut(id=made.id, **book.model_dump())


@app.get("/books")
def books(db: Opened, tag: str | None = None) -> list[BookOut]:
    query = select(Book).options(joinedload(Book.author)).order_by(Book.title)
    if tag:
        query = query.where(Book.tags.contains([tag]))
    return [BookOut(id=b.id, title=b.title, author=b.author.name, tags=b.tags) for b in db.scalars(query)]
