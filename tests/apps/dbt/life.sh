# dbt: seed, run, test, snapshot, run again, documentation; then what is in the tables.
cp -r project "$APP_SCRATCH/project"
cd "$APP_SCRATCH/project"
export DBT_PROFILES_DIR=. DBT_SEND_ANONYMOUS_USAGE_STATS=false DBT_USE_COLORS=false NO_COLOR=1
step() {
  echo "== $*"
  dbt --no-use-colors "$@" 2>&1 | sed 's/^[0-9:]* *//; s/ in [0-9.]*s\]/]/; s/\.\.\.*/../' | grep '^[0-9]* of\|ERROR\|rror in\|Done' | grep -v START | sort
}
step seed
step run
step test
step snapshot
psql -qX -c "UPDATE an.raw SET status = 'open' WHERE id = 4; INSERT INTO an.raw VALUES (5, 'paid', 2)"
step run
step snapshot
step docs generate
for t in staged totals grown kept agreed; do psql -qXAt -c "SELECT '$t', t FROM an.$t t ORDER BY 2"; done
psql -qXAt -c "SELECT id, status, dbt_valid_to IS NULL FROM an.raw_seen ORDER BY 1, 3"
psql -qXAt -c "SELECT relname, obj_description(oid) FROM pg_class WHERE relnamespace = 'an'::regnamespace AND obj_description(oid) IS NOT NULL ORDER BY 1"
