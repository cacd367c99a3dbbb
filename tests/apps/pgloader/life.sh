# pgloader: a SQLite file with keys, foreign keys, indexes and types, and a CSV file, into the database.
set -e
cd "$APP_SCRATCH"
python3 - <<'PYTHON'
import sqlite3

c = sqlite3.connect("source.db")
c.executescript("""
CREATE TABLE author (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, born DATE, rating REAL);
CREATE TABLE book (id INTEGER PRIMARY KEY, author_id INTEGER REFERENCES author (id) ON DELETE CASCADE, title VARCHAR(200), price DECIMAL(8,2), cover BLOB, added DATETIME DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX book_title ON book (title);
INSERT INTO author (name, born, rating) VALUES ('Ada ''quoted''', '1815-12-10', 4.5), ('Grace	tab', '1906-12-09', NULL), ('Ünïcode 🦀', NULL, -0.25);
""")
c.executemany("INSERT INTO book (author_id, title, price, cover, added) VALUES (?, ?, ?, ?, '2024-01-02 03:04:05')", [(i % 3 + 1, f"Book {i}", f"{i}.50", bytes([i % 256, 0, 255])) for i in range(1, 501)])
c.commit()
PYTHON
printf 'id,name,amount\n1,"one, two",1.5\n2,,2.5\n3,"say ""hi""",\n' >numbers.csv
url="postgresql://$PGUSER@$PGHOST:$PGPORT/$PGDATABASE"
pgloader --quiet sqlite://"$PWD"/source.db "$url" 2>&1 | grep -i -E "error|fatal" || echo "sqlite: loaded"
psql -qX -c "CREATE TABLE numbers (id int PRIMARY KEY, name text, amount numeric)"
cat >csv.load <<LOAD
LOAD CSV FROM '$PWD/numbers.csv' (id, name [null if blanks], amount [null if blanks])
  INTO $url?tablename=numbers (id, name, amount)
  WITH skip header = 1, fields optionally enclosed by '"', fields escaped by double-quote, fields terminated by ',';
LOAD
pgloader --quiet csv.load 2>&1 | grep -i -E "error|fatal" || echo "csv: loaded"
psql -AtX -c "SELECT * FROM author ORDER BY id" -c "SELECT count(*), sum(price), min(title), max(encode(cover, 'hex')), min(added) FROM book" \
  -c "SELECT * FROM numbers ORDER BY id" -c "INSERT INTO author (name) VALUES ('new') RETURNING id" \
  -c "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, ordinal_position" \
  -c "SELECT contype, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('author'::regclass, 'book'::regclass) ORDER BY 1, 2" \
  -c "DELETE FROM author WHERE id = 1" -c "SELECT count(*) FROM book"
