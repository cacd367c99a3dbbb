package pgsqlitetest

import (
	"strings"
	"testing"
)

var books = Template(Execute("CREATE TABLE books (id serial PRIMARY KEY, title text)"))

func TestEachTestHasACopy(t *testing.T) {
	for _, name := range []string{"one", "two", "three"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := New(t, books)
			if !strings.HasPrefix(url, "postgresql://postgres@/test_") {
				t.Fatal(url)
			}
			// the number says whether anybody else has written to the copy
			check := "INSERT INTO books (title) VALUES ('x'); DO $$BEGIN IF (SELECT max(id) FROM books) <> 1 THEN RAISE 'not alone'; END IF; END$$"
			if err := Execute(check)(url); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestErrorsAreTold(t *testing.T) {
	url := New(t)
	if err := Execute("SELECT * FROM missing")(url); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Fatal(err)
	}
}
