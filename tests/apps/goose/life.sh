# goose: up, a step down, redo, reset, a migration outside a transaction, one that fails, versions out of order.
cd "$APP_SCRATCH"
export GOOSE_DRIVER=postgres GOOSE_DBSTRING="host=$PGHOST port=$PGPORT user=postgres dbname=$PGDATABASE sslmode=disable" NO_COLOR=1
step() {
  echo "== $*"
  goose -dir . "$@" 2>&1 | sed -E 's/^[0-9]{4}\/[0-9\/]+ [0-9:]+ //; s/\([0-9.]+[µmn]?s\)/(time)/g; s/in [0-9.]+[µm]?s/in time/; s/^ +[A-Z][a-z]{2} [A-Z][a-z]{2} +[0-9]+ .* -- /applied -- /'
}
cat >00001_users.sql <<'S'
-- +goose Up
CREATE TABLE users (id bigserial PRIMARY KEY, name text NOT NULL, kind text NOT NULL DEFAULT 'plain' CHECK (kind NOT IN ('none', 'nobody')));
CREATE UNIQUE INDEX users_name ON users (lower(name)) WHERE kind IN ('plain', 'other');
INSERT INTO users (name) VALUES ('ann'), ('bob');
-- +goose Down
DROP TABLE users;
S
cat >00002_touch.sql <<'S'
-- +goose Up
ALTER TABLE users ADD COLUMN touched timestamptz;
-- +goose StatementBegin
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.touched := '2024-01-01 00:00:00+00';
  RETURN NEW;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER touch BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION touch();
UPDATE users SET name = upper(name);
-- +goose Down
DROP TRIGGER touch ON users;
DROP FUNCTION touch();
ALTER TABLE users DROP COLUMN touched;
S
cat >00003_concurrently.sql <<'S'
-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY users_kind ON users (kind, id DESC);
-- +goose Down
DROP INDEX CONCURRENTLY users_kind;
S
step up-by-one
step up
psql -qXAt -c "SELECT * FROM users ORDER BY id" -c "SELECT indexdef FROM pg_indexes WHERE tablename = 'users' ORDER BY 1"
step status
step down
step redo
step version
cat >00004_fails.sql <<'S'
-- +goose Up
CREATE TABLE half (id int);
INSERT INTO half SELECT 1 / 0;
-- +goose Down
DROP TABLE half;
S
step up
psql -qXAt -c "SELECT to_regclass('half'), to_regclass('users_kind')"
rm 00004_fails.sql
step up
step reset
psql -qXAt -c "SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1" -c "SELECT version_id, is_applied FROM goose_db_version ORDER BY id"
