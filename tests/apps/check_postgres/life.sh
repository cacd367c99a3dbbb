# check_postgres: the word that each check ends with.
psql -qX -c "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT i, 'x' FROM generate_series(1, 100) i; CREATE SEQUENCE s; SELECT nextval('s')" >/dev/null
for action in connection autovac_freeze txn_wraparound locks bloat last_vacuum last_analyze sequence \
  prepared_txns disabled_triggers timesync backends hitratio; do
  echo "$action: $(check_postgres --action=$action --dbname="$PGDATABASE" --host="$PGHOST" --port="$PGPORT" --dbuser=postgres 2>&1 |
    head -1 | sed 's/^[A-Z_]* \(OK\|WARNING\|CRITICAL\|UNKNOWN\).*/\1/')"
done
