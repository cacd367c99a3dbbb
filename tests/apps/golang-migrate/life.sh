# golang-migrate: up, down, goto, a version that fails and is dirty, force, drop.
cd "$APP_SCRATCH"
url="postgres://postgres@$PGHOST:$PGPORT/$PGDATABASE?sslmode=disable"
step() {
  echo "== $*"
  migrate -path . -database "$url" "$@" 2>&1 | sed -E 's/\([0-9.]+[µmn]?s\)/(time)/g'
}
printf 'CREATE TABLE a (id serial PRIMARY KEY, t text);\nINSERT INTO a (t) VALUES ($q$x; y$q$);\n' >1_a.up.sql
echo 'DROP TABLE a;' >1_a.down.sql
echo 'CREATE TABLE b (id int GENERATED ALWAYS AS IDENTITY, a int REFERENCES a ON DELETE CASCADE); CREATE INDEX ON b (a) WHERE a IS NOT NULL;' >2_b.up.sql
echo 'DROP TABLE b;' >2_b.down.sql
echo 'CREATE INDEX CONCURRENTLY b_id ON b (id);' >3_c.up.sql
echo 'DROP INDEX b_id;' >3_c.down.sql
step up 2
step version
step up
step goto 1
printf 'CREATE TABLE c (id int);\nSELECT nothing;\n' >2_b.up.sql
step up
step version
step up
step force 1
step version
psql -qXAt -c "SELECT * FROM a" -c "SELECT to_regclass('c')" -c "SELECT * FROM schema_migrations"
step down -all
step drop -f
psql -qXAt -c "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
