// A small API for books. Libpq's variables, or DATABASE_URL, say where the database is.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed schema.sql
var schema string

// Book is one row of the API.
type Book struct {
	ID     int64    `json:"id"`
	Title  string   `json:"title"`
	Author string   `json:"author"`
	Tags   []string `json:"tags"`
}

// ErrTwice tells that the author has the book already.
var ErrTwice = errors.New("the author has this book already")

// Store reads and writes books.
type Store struct{ pool *pgxpool.Pool }

// Migrate makes the tables.
func Migrate(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, schema)
	return err
}

// Add stores a book, and its author if there is none of this name. It returns ErrTwice if the author has the book.
func (s Store) Add(ctx context.Context, book Book) (Book, error) {
	if book.Tags == nil {
		book.Tags = []string{}
	}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO authors (name) VALUES ($1) ON CONFLICT DO NOTHING", book.Author); err != nil {
			return err
		}
		const insert = "INSERT INTO books (title, tags, author_id) SELECT $1, $2, id FROM authors WHERE name = $3 RETURNING id"
		return tx.QueryRow(ctx, insert, book.Title, book.Tags, book.Author).Scan(&book.ID)
	})
	var failed *pgconn.PgError
	if errors.As(err, &failed) && failed.Code == "23505" && failed.TableName == "books" {
		return Book{}, ErrTwice
	}
	return book, err
}

// Books returns the books that have a tag, or all of them if it is empty.
func (s Store) Books(ctx context.Context, tag string) ([]Book, error) {
	const query = `SELECT b.id, b.title, a.name AS author, b.tags FROM books AS b JOIN authors AS a ON a.id = b.author_id
		WHERE $1 = '' OR $1 = ANY (b.tags) ORDER BY b.title`
	rows, err := s.pool.Query(ctx, query, tag)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Book])
}

func (s Store) handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("GET /books", func(w http.ResponseWriter, r *http.Request) {
		books, err := s.Books(r.Context(), r.URL.Query().Get("tag"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, http.StatusOK, books)
	})
	mux.HandleFunc("POST /books", func(w http.ResponseWriter, r *http.Request) {
		var book Book
		if err := json.NewDecoder(r.Body).Decode(&book); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		book, err := s.Add(r.Context(), book)
		switch {
		case errors.Is(err, ErrTwice):
			http.Error(w, err.Error(), http.StatusConflict)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			answer(w, http.StatusCreated, book)
		}
	})
	return mux
}

func main() {
	ctx := context.Background()
	url := os.Getenv("DATABASE_URL")
	if err := Migrate(ctx, url); err != nil {
		log.Fatal(err)
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	log.Print("http://localhost:8080/books")
	log.Fatal(http.ListenAndServe("localhost:8080", Store{pool}.handler()))
}
