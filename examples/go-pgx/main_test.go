package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"pgsqlitetest"
)

var migrated = pgsqlitetest.Template(func(url string) error { return Migrate(context.Background(), url) })

// store returns a store on a database that is the test's own.
func store(t *testing.T) Store {
	pool, err := pgxpool.New(t.Context(), pgsqlitetest.New(t, migrated))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return Store{pool}
}

func TestABookIsAddedOnce(t *testing.T) {
	t.Parallel()
	s := store(t)
	letters := Book{Title: "Letters", Author: "Ada", Tags: []string{"poetry"}}
	if added, err := s.Add(t.Context(), letters); err != nil || added.ID != 1 {
		t.Fatal(added, err)
	}
	if _, err := s.Add(t.Context(), letters); !errors.Is(err, ErrTwice) {
		t.Fatal(err)
	}
	for tag, count := range map[string]int{"": 1, "poetry": 1, "cooking": 0} {
		if found, err := s.Books(t.Context(), tag); err != nil || len(found) != count {
			t.Errorf("%q: %v, %v", tag, found, err)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := store(t)
	var group sync.WaitGroup
	for n := range 20 {
		group.Go(func() {
			if _, err := s.Add(t.Context(), Book{Title: fmt.Sprint("Volume ", n), Author: "Grace"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if found, err := s.Books(t.Context(), ""); err != nil || len(found) != 20 {
		t.Fatal(len(found), err)
	}
}

func TestTheAPI(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(store(t).handler())
	defer server.Close()
	for _, status := range []int{http.StatusCreated, http.StatusConflict} {
		answer, err := http.Post(server.URL+"/books", "application/json", strings.NewReader(`{"title": "Notes", "author": "Ada"}`))
		if err != nil || answer.StatusCode != status {
			t.Fatal(answer, err)
		}
		_ = answer.Body.Close()
	}
}
