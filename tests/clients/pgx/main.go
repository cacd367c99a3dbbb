// pgx: every type in binary and text, batches, COPY, transactions, error fields, notifications, cancelling, a pool.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	ctx  = context.Background()
	made int
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func same(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprintf("got %#v, want %#v", got, want))
	}
}

func fails(err error, code string) *pgconn.PgError {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) || pe.Code != code {
		panic(fmt.Sprintf("want %s, got %v", code, err))
	}
	return pe
}

// value goes to the server and comes back as it went, alone, stored and in an array.
func value[T any](conn *pgx.Conn, kind string, v T) {
	var got T
	must(conn.QueryRow(ctx, fmt.Sprintf("SELECT $1::%s", kind), v).Scan(&got))
	same(got, v)
	var list []T
	must(conn.QueryRow(ctx, fmt.Sprintf("SELECT $1::%s[]", kind), []T{v, v}).Scan(&list))
	same(list, []T{v, v})
	square := pgtype.Array[T]{Elements: []T{v, v}, Dims: []pgtype.ArrayDimension{{Length: 2, LowerBound: 1}, {Length: 1, LowerBound: 1}}, Valid: true}
	var grid pgtype.Array[T]
	must(conn.QueryRow(ctx, fmt.Sprintf("SELECT $1::%s[][]", kind), square).Scan(&grid))
	same(grid, square)
	var null *T
	must(conn.QueryRow(ctx, fmt.Sprintf("SELECT $1::%s", kind), nil).Scan(&null))
	same(null == nil, true)
	tx, err := conn.Begin(ctx)
	must(err)
	made++ // each table its own name: the driver keeps statements by their text
	_, err = tx.Exec(ctx, fmt.Sprintf("CREATE TEMP TABLE one_%d (id serial, v %s, a %s[]) ON COMMIT DROP", made, kind, kind))
	must(err)
	must(tx.QueryRow(ctx, fmt.Sprintf("INSERT INTO one_%d (v, a) VALUES ($1, $2) RETURNING v, a", made), v, []T{v}).Scan(&got, &list))
	same(got, v)
	same(list, []T{v})
	must(tx.Rollback(ctx))
}

func numeric(text string) pgtype.Numeric {
	var n pgtype.Numeric
	must(n.Scan(text))
	return n
}

func types(conn *pgx.Conn) {
	value(conn, "bool", true)
	value(conn, "int2", int16(math.MinInt16))
	value(conn, "int4", int32(math.MaxInt32))
	value(conn, "int8", int64(math.MinInt64))
	value(conn, "oid", uint32(math.MaxUint32))
	value(conn, "float4", float32(1.5))
	value(conn, "float8", 5e-324)
	value(conn, "float8", math.Inf(-1))
	value(conn, "numeric", numeric("123456789012345678901234567890.0123456789"))
	value(conn, "numeric", pgtype.Numeric{NaN: true, Valid: true})
	value(conn, "numeric", pgtype.Numeric{InfinityModifier: pgtype.NegativeInfinity, Valid: true})
	value(conn, "numeric(8,2)", pgtype.Numeric{Int: big.NewInt(-99999999), Exp: -2, Valid: true})
	value(conn, "text", "é'\\\"日本\n")
	value(conn, "varchar(5)", "abcde")
	value(conn, "char(5)", "ab   ")
	value(conn, "name", "a name")
	value(conn, "bytea", []byte{0, 255, 92})
	value(conn, "date", pgtype.Date{Time: time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), Valid: true})
	value(conn, "date", pgtype.Date{InfinityModifier: pgtype.Infinity, Valid: true})
	value(conn, "time", pgtype.Time{Microseconds: 86399999999, Valid: true})
	value(conn, "timestamp", pgtype.Timestamp{Time: time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), Valid: true})
	value(conn, "timestamptz", pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true})
	value(conn, "interval", pgtype.Interval{Microseconds: -1, Days: 40, Months: -14, Valid: true})
	value(conn, "uuid", pgtype.UUID{Bytes: [16]byte{1, 2, 3, 15: 255}, Valid: true})
	value(conn, "mood", "happy")
	at := time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC)
	var back time.Time
	must(conn.QueryRow(ctx, "SELECT $1::timestamptz", at).Scan(&back))
	same(back.UTC(), at)
	var document map[string]any
	for _, kind := range []string{"json", "jsonb"} {
		must(conn.QueryRow(ctx, "SELECT $1::"+kind, map[string]any{"k": []any{1.5, nil, "é"}}).Scan(&document))
		same(document, map[string]any{"k": []any{1.5, nil, "é"}})
	}
	type pair struct {
		A int32
		B *string
	}
	var p pair
	must(conn.QueryRow(ctx, "SELECT ROW(1, NULL::text)").Scan(&p))
	same(p, pair{A: 1})
	fails(conn.QueryRow(ctx, "SELECT $1::text::mood", "angry").Scan(&back), "22P02")
	fails(conn.QueryRow(ctx, "SELECT $1::int::positive", -1).Scan(&back), "23514")
	fails(conn.QueryRow(ctx, "SELECT $1::int8::int2", 40000).Scan(&back), "22003")
}

func statements(conn *pgx.Conn) {
	_, err := conn.Exec(ctx, "CREATE TABLE t (id serial PRIMARY KEY, a int8, b text UNIQUE, c float8, d timestamptz, e bytea, f text[], g jsonb, h bool, i date)")
	must(err)
	at := time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC)
	var id int32
	must(conn.QueryRow(ctx, "INSERT INTO t (a,b,c,d,e,f,g,h,i) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9) RETURNING id",
		int64(1)<<40, "it's", 1.5, at, []byte{0, 255}, []string{"x", ""}, map[string]any{"k": 1.0}, true, at).Scan(&id))
	same(id, int32(1))
	type record struct {
		ID int32
		A  int64
		B  string
		F  []string
	}
	rows, err := conn.Query(ctx, "SELECT id, a, b, f FROM t WHERE id = @id", pgx.NamedArgs{"id": 1})
	must(err)
	one, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[record])
	must(err)
	same(one, record{1, 1 << 40, "it's", []string{"x", ""}})

	batch := &pgx.Batch{}
	for i := 0; i < 10; i++ {
		batch.Queue("INSERT INTO t (a, b) VALUES ($1, $2)", i, fmt.Sprint("n", i))
	}
	batch.Queue("SELECT count(*) FROM t").QueryRow(func(row pgx.Row) error {
		var n int
		must(row.Scan(&n))
		same(n, 11)
		return nil
	})
	must(conn.SendBatch(ctx, batch).Close())
	batch = &pgx.Batch{}
	batch.Queue("DELETE FROM t")
	batch.Queue("SELECT 1/0")
	batch.Queue("SELECT 1")
	fails(conn.SendBatch(ctx, batch).Close(), "22012")
	n, err := conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a", "b", "f", "d"}, pgx.CopyFromSlice(500, func(i int) ([]any, error) {
		return []any{int64(100 + i), fmt.Sprint("c", i), []string{"q", "\"r\""}, at}, nil
	}))
	must(err)
	same(n, int64(500))
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id", "b"}, pgx.CopyFromRows([][]any{{int32(1), "again"}}))
	same(fails(err, "23505").Detail, "Key (id)=(1) already exists.")

	pe := fails(func() error { _, err := conn.Exec(ctx, "INSERT INTO t (b) VALUES ($1)", "n1"); return err }(), "23505")
	same([]string{pe.ConstraintName, pe.TableName, pe.SchemaName, pe.Detail, pe.Severity}, []string{"t_b_key", "t", "public", "Key (b)=(n1) already exists.", "ERROR"})
	_, err = conn.Exec(ctx, "SELECT nope FROM t")
	same(fails(err, "42703").Position, int32(8))
	must(pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "UPDATE t SET a = a + 1 WHERE a >= $1 AND a < 1000", 598)
		must(err)
		same([]any{tag.RowsAffected(), tag.String()}, []any{int64(2), "UPDATE 2"})
		inner, err := tx.Begin(ctx)
		must(err)
		_, err = inner.Exec(ctx, "DELETE FROM t")
		must(err)
		_, err = inner.Exec(ctx, "SELECT 1/0")
		fails(err, "22012")
		_, err = inner.Exec(ctx, "SELECT 1")
		fails(err, "25P02")
		return inner.Rollback(ctx)
	}))
	rows, err = conn.Query(ctx, "SELECT b FROM t WHERE a = ANY($1) ORDER BY a", []int64{599, 600})
	must(err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(err)
	same(names, []string{"c498", "c499"})
	sd, err := conn.Prepare(ctx, "named", "SELECT a, b FROM t WHERE id = $1 AND h = $2")
	must(err)
	same([]any{sd.ParamOIDs, sd.Fields[0].DataTypeOID, sd.Fields[1].Name}, []any{[]uint32{23, 16}, uint32(20), "b"})
	// a statement in the driver's cache, then the table changes: pgx prepares anew after one failure
	for i := 0; i < 3; i++ {
		must(conn.QueryRow(ctx, "SELECT * FROM t WHERE id = 1").Scan(nil, nil, nil, nil, nil, nil, nil, nil, nil, nil))
	}
	_, err = conn.Exec(ctx, "ALTER TABLE t ADD COLUMN late int DEFAULT 5")
	must(err)
	fails(conn.QueryRow(ctx, "SELECT * FROM t WHERE id = 1").Scan(nil), "0A000")
	var late int
	must(conn.QueryRow(ctx, "SELECT * FROM t WHERE id = 1").Scan(nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, &late))
	same(late, 5)
	// the simple protocol with the driver's quoting, and the ways between
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeCacheDescribe} {
		var s string
		var k int64
		must(conn.QueryRow(ctx, "SELECT $1::text || b, a FROM t WHERE a = $2::int8", mode, "it's \\ é ", int64(1)<<40).Scan(&s, &k))
		same([]any{s, k}, []any{"it's \\ é it's", int64(1) << 40})
	}
}

func events(conn *pgx.Conn) {
	listener, err := pgx.Connect(ctx, "")
	must(err)
	defer listener.Close(ctx)
	_, err = listener.Exec(ctx, "LISTEN news")
	must(err)
	_, err = conn.Exec(ctx, "NOTIFY news, 'hello'")
	must(err)
	soon, stop := context.WithTimeout(ctx, 10*time.Second)
	heard, err := listener.WaitForNotification(soon)
	stop()
	must(err)
	same([]any{heard.Channel, heard.Payload, heard.PID}, []any{"news", "hello", conn.PgConn().PID()})
	soon, stop = context.WithTimeout(ctx, 200*time.Millisecond)
	_, err = listener.Exec(soon, "SELECT pg_sleep(20)")
	stop()
	same(errors.Is(err, context.DeadlineExceeded), true)

	pool, err := pgxpool.New(ctx, "pool_max_conns=4")
	must(err)
	defer pool.Close()
	_, err = pool.Exec(ctx, "CREATE TABLE counter (id int PRIMARY KEY, n int)")
	must(err)
	_, err = pool.Exec(ctx, "INSERT INTO counter VALUES (1, 0)")
	must(err)
	var group sync.WaitGroup
	for i := 0; i < 40; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			must(pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1", 1)
				return err
			}))
		}()
	}
	group.Wait()
	var n int
	must(pool.QueryRow(ctx, "SELECT n FROM counter").Scan(&n))
	same(n, 40)
}

func main() {
	conn, err := pgx.Connect(ctx, "")
	must(err)
	_, err = conn.Exec(ctx, "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
	must(err)
	loaded, err := conn.LoadTypes(ctx, []string{"mood", "_mood"})
	must(err)
	conn.TypeMap().RegisterTypes(loaded)
	types(conn)
	statements(conn)
	events(conn)
	must(conn.Close(ctx))
	fmt.Println("ok")
}
