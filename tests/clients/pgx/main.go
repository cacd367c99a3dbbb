// pgx: typed parameters in binary, batches, COPY, transactions, error fields, scanning.
package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func same(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprintf("got %v, want %v", got, want))
	}
}

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "")
	must(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE TABLE t (id serial PRIMARY KEY, a int8, b text UNIQUE, c float8, d timestamptz, e bytea, f text[], g jsonb, h bool, i date)")
	must(err)
	at := time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC)
	var id int32
	must(conn.QueryRow(ctx, "INSERT INTO t (a,b,c,d,e,f,g,h,i) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9) RETURNING id",
		int64(1)<<40, "it's", 1.5, at, []byte{0, 255}, []string{"x", ""}, map[string]any{"k": 1.0}, true, at).Scan(&id))
	same(id, int32(1))
	var a int64
	var b string
	var c float64
	var d time.Time
	var e []byte
	var f []string
	var g map[string]any
	var h bool
	must(conn.QueryRow(ctx, "SELECT a, b, c, d, e, f, g, h FROM t WHERE id = $1", 1).Scan(&a, &b, &c, &d, &e, &f, &g, &h))
	same([]any{a, b, c, d.UTC(), e, f, g, h}, []any{int64(1) << 40, "it's", 1.5, at, []byte{0, 255}, []string{"x", ""}, map[string]any{"k": 1.0}, true})

	batch := &pgx.Batch{}
	for i := 0; i < 10; i++ {
		batch.Queue("INSERT INTO t (a, b) VALUES ($1, $2)", i, fmt.Sprint("n", i))
	}
	must(conn.SendBatch(ctx, batch).Close())
	n, err := conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a", "b"}, pgx.CopyFromRows([][]any{{int64(100), "c1"}, {int64(101), "c2"}}))
	must(err)
	same(n, int64(2))

	var pe *pgconn.PgError
	_, err = conn.Exec(ctx, "INSERT INTO t (b) VALUES ($1)", "n1")
	if !errors.As(err, &pe) {
		panic(err)
	}
	same([]string{pe.Code, pe.ConstraintName, pe.TableName, pe.Detail}, []string{"23505", "t_b_key", "t", "Key (b)=(n1) already exists."})

	must(pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "UPDATE t SET a = a + 1 WHERE a >= $1", 100)
		must(err)
		same(tag.RowsAffected(), int64(3))
		inner, err := tx.Begin(ctx)
		must(err)
		_, err = inner.Exec(ctx, "DELETE FROM t")
		must(err)
		return inner.Rollback(ctx)
	}))
	rows, err := conn.Query(ctx, "SELECT b FROM t WHERE a = ANY($1) ORDER BY a", []int64{101, 102})
	must(err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(err)
	same(names, []string{"c1", "c2"})
	fmt.Println("ok")
}
