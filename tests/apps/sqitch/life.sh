# sqitch: a project of three changes: deploy, verify, status, revert, deploy with a tag.
set -e
cd "$APP_SCRATCH"
export SQITCH_FULLNAME="A Tester" SQITCH_EMAIL=tester@example.org HOME=$APP_SCRATCH LC_ALL=C
sqitch init app --uri https://example.org/app --engine pg >/dev/null
target="db:pg://postgres@$PGHOST:$PGPORT/$PGDATABASE"
change() {
  sqitch add "$1" -n "adds $1" ${4:+--requires "$4"} >/dev/null
  printf 'BEGIN;\n%s\nCOMMIT;\n' "$2" >"deploy/$1.sql"
  printf 'BEGIN;\n%s\nCOMMIT;\n' "$3" >"revert/$1.sql"
  printf "BEGIN;\nSELECT 1 / count(*) FROM pg_class WHERE relname = '%s';\nROLLBACK;\n" "$1" >"verify/$1.sql"
}
change users 'CREATE TABLE users (id serial PRIMARY KEY, name text NOT NULL UNIQUE);' 'DROP TABLE users;'
change posts 'CREATE TABLE posts (id serial PRIMARY KEY, author int REFERENCES users, body text);' 'DROP TABLE posts;' users
sqitch tag v1 -n first >/dev/null
change seen 'CREATE VIEW seen AS SELECT p.id, u.name FROM posts p JOIN users u ON u.id = p.author;' 'DROP VIEW seen;' posts
sqitch deploy "$target" 2>&1 | sed "s/$PGPORT/PORT/g"
sqitch verify "$target" 2>&1 | sed "s/$PGPORT/PORT/g"
sqitch status "$target" 2>&1 | grep -v '^# Deployed\|^# Change:\|On database'
sqitch revert -y --to @v1 "$target" 2>&1 | sed "s/$PGPORT/PORT/g"
sqitch log "$target" 2>&1 | grep -v '^Date\|On database\|^[A-Z][a-z]* [0-9a-f]\{40\}'
sqitch deploy "$target" 2>&1 | sed "s/$PGPORT/PORT/g"
sqitch revert -y "$target" 2>&1 | sed "s/$PGPORT/PORT/g"
