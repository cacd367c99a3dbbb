# postgres_fdw: a PostgreSQL of its own reads and writes the tables of the server as foreign ones.
export TARGET_HOST=$PGHOST TARGET_PORT=$PGPORT TARGET_USER=$PGUSER TARGET_DATABASE=$PGDATABASE
psql -qX -v ON_ERROR_STOP=1 <<'SQL'
CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, since date);
CREATE TABLE orders (id bigserial PRIMARY KEY, customer_id int REFERENCES customer, amount numeric(10,2) CHECK (amount >= 0), at timestamptz, tags text[], note jsonb);
INSERT INTO customer SELECT g, 'customer ' || g, date '2024-01-01' + g FROM generate_series(1, 200) g;
INSERT INTO orders (customer_id, amount, at, tags, note) SELECT g % 200 + 1, g * 1.25, timestamptz '2024-01-01 00:00:00Z' + g * interval '1 hour', ARRAY['t' || g % 3, 'x'], jsonb_build_object('n', g) FROM generate_series(1, 2000) g;
ANALYZE;
SQL
ORACLE_PG_OPTS="-c fsync=off" ../../../tools/oracle.sh bash -c 'psql -AtX -d postgres -v host="$TARGET_HOST" -v port="$TARGET_PORT" -v user="$TARGET_USER" -v db="$TARGET_DATABASE" -f /dev/stdin 2>&1' <<'SQL'
CREATE EXTENSION postgres_fdw;
CREATE SERVER target FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host :'host', port :'port', dbname :'db', fetch_size '50');
CREATE USER MAPPING FOR postgres SERVER target OPTIONS (user :'user', password_required 'false');
IMPORT FOREIGN SCHEMA public LIMIT TO (customer, orders) FROM SERVER target INTO public;
\d orders
SELECT count(*), sum(amount), min(at), max(id) FROM orders;
SELECT * FROM orders WHERE id = 17;
SELECT c.name, sum(o.amount) FROM customer c JOIN orders o ON o.customer_id = c.id WHERE c.id < 5 GROUP BY c.name ORDER BY 1;
SELECT name FROM customer WHERE name LIKE 'customer 19%' AND since > date '2024-01-10' ORDER BY id DESC LIMIT 3 OFFSET 1;
SELECT count(*) FROM orders WHERE tags @> ARRAY['t1'] AND note ->> 'n' < '3';
SELECT count(*) FROM orders o, generate_series(1, 3) g WHERE o.customer_id = g;
EXPLAIN (VERBOSE, COSTS OFF) SELECT o.customer_id, max(o.amount) FROM orders o WHERE o.amount > 100 GROUP BY 1 ORDER BY 2 DESC LIMIT 2;
ALTER SERVER target OPTIONS (ADD use_remote_estimate 'true');
SELECT o.customer_id, max(o.amount) FROM orders o WHERE o.amount > 100 GROUP BY 1 ORDER BY 2 DESC LIMIT 2;
INSERT INTO customer VALUES (1000, 'new', NULL) RETURNING *;
INSERT INTO customer VALUES (1000, 'again', NULL);
INSERT INTO customer VALUES (1000, 'again', NULL) ON CONFLICT DO NOTHING;
INSERT INTO orders (id, customer_id, amount) SELECT 10000 + g, 1000, g FROM generate_series(1, 150) g;
UPDATE orders SET amount = amount + 1 WHERE customer_id = 1000 AND id > 10100;
UPDATE orders SET note = '{"a": [1, null]}' WHERE id = 10001 RETURNING note, tags;
UPDATE orders SET amount = -1 WHERE id = 1;
DELETE FROM orders WHERE id BETWEEN 10002 AND 10050;
DELETE FROM customer USING orders WHERE customer.id = 1000 AND orders.customer_id = 5 RETURNING customer.id;
SELECT count(*), sum(amount) FROM orders WHERE customer_id = 1000;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM orders ORDER BY id;
FETCH 3 FROM c;
UPDATE customer SET name = 'in a block' WHERE id = 3;
SAVEPOINT s;
UPDATE customer SET name = 'undone' WHERE id = 3;
INSERT INTO customer VALUES (3, 'twice', NULL);
ROLLBACK TO s;
SELECT name FROM customer WHERE id = 3;
FETCH 2 FROM c;
COMMIT;
SELECT name FROM customer WHERE id = 3;
BEGIN;
DELETE FROM orders;
ROLLBACK;
SELECT count(*) FROM orders;
ANALYZE orders;
SELECT reltuples > 0 FROM pg_class WHERE relname = 'orders';
TRUNCATE orders;
SELECT count(*) FROM orders;
SQL
