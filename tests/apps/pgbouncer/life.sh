# PgBouncer in transaction mode: pgbench through it, simple and extended, with partitions and foreign keys; its console.
set -e
cd "$APP_SCRATCH"
chmod 777 .
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >ini <<I
[databases]
bench = host=$PGHOST port=$PGPORT dbname=$PGDATABASE user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = any
admin_users = postgres
pool_mode = transaction
default_pool_size = 4
server_reset_query = DISCARD ALL
server_reset_query_always = 1
logfile = $APP_SCRATCH/log
pidfile = $APP_SCRATCH/pid
I
as=()
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
bouncer=$(command -v pgbouncer || echo /usr/sbin/pgbouncer)
"${as[@]}" "$bouncer" -q ini &
pid=$!
trap 'kill $pid' EXIT
export PGPORT=$port PGDATABASE=bench PGHOST=127.0.0.1 PATH=/usr/lib/postgresql/15/bin:$PATH
for _ in $(seq 100); do psql -qXAt -c 'SELECT 1' >/dev/null 2>&1 && break || sleep 0.1; done
pgbench -q -i -s 1 --partitions=3 --foreign-keys 2>&1 | sed 's/ in [0-9.]* s.*//' | grep -v 'tuples\|^$'
psql -qXAt -c "SELECT conname, contype FROM pg_constraint WHERE conrelid::regclass::text LIKE 'pgbench%' ORDER BY 1, conrelid"
for protocol in simple extended; do
  pgbench -n -M "$protocol" -c 8 -t 25 2>&1 | grep 'actually processed\|failed'
  pgbench -n -S -M "$protocol" -c 8 -t 50 2>&1 | grep 'actually processed\|failed'
done
psql -qXAt -c "SELECT count(*) FROM pgbench_history" -c "SELECT sum(abalance) = (SELECT sum(delta) FROM pgbench_history) FROM pgbench_accounts" \
  -c "SELECT sum(bbalance) = (SELECT sum(tbalance) FROM pgbench_tellers) FROM pgbench_branches"
psql -qXAt -c "BEGIN; SET LOCAL work_mem = '5MB'; COMMIT; SHOW work_mem"
psql -qXAt -d pgbouncer -c 'SHOW POOLS' | cut -d'|' -f1,2 | sort
