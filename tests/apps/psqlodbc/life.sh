# psqlODBC: isql sends statements and asks for the catalogs, with and without the server's prepared statements and cursors.
ask() {
  echo "== $1"
  isql -b -d'|' -k "Driver=PostgreSQL Unicode;Servername=$PGHOST;Port=$PGPORT;Database=$PGDATABASE;Username=postgres;Password=unused;$1" 2>&1 |
    sed -E "s/$PGDATABASE/DATABASE/g; s/[|](1[6-9]|[2-9][0-9])[0-9]{3}[|]/|OID|/g"
}
ask "" <<'S'
CREATE TABLE t (id serial PRIMARY KEY, name varchar(20) NOT NULL, amount numeric(10,2), ok boolean, born date, at timestamp, raw bytea, note text)
CREATE TABLE u (id int PRIMARY KEY, t_id int REFERENCES t (id))
INSERT INTO t (name, amount, ok, born, at, raw, note) VALUES ('one', 1.50, true, '2024-01-02', '2024-01-02 03:04:05.678', '\x00ff', NULL), ('zwei äöü', -2.25, false, '1999-12-31', NULL, NULL, 'x')
INSERT INTO u VALUES (1, 1)
CREATE VIEW v AS SELECT name FROM t
S
for options in "" "UseServerSidePrepare=0;" "UseDeclareFetch=1;Fetch=2;" "Protocol=7.4-2;"; do
  ask "$options" <<'S'
SELECT * FROM t ORDER BY id
SELECT count(*), sum(amount), max(born) FROM t
UPDATE t SET amount = amount + 1 WHERE ok
INSERT INTO t (id, name) VALUES (1, 'again')
SELECT nothing FROM t
SELECT {fn UCASE(name)}, {d '2024-05-06'}, {fn CONCAT('a', 'b')} FROM t ORDER BY id
SELECT generate_series(1, 7)
help
help t
help u
S
done
