#!/usr/bin/env bash
# The oracle: a real PostgreSQL 15, started on a Unix socket in a temporary folder and stopped afterwards.
#
# usage: tools/oracle.sh COMMAND [ARGS…]    runs COMMAND with PGHOST, PGPORT, PGUSER set for a fresh cluster
#        ORACLE_PG_OPTS="-c …"              further server options
# The cluster is made with --locale=C.UTF-8 and user postgres. The server's package is installed (apt-get) where it is missing.
set -euo pipefail
bindir=$(ls -d /usr/lib/postgresql/15/bin 2>/dev/null || true)
if [ -z "$bindir" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y postgresql-15 postgresql-client-15 >&2
    bindir=/usr/lib/postgresql/15/bin
  else
    echo "PostgreSQL 15 is needed as the oracle: install your distribution's postgresql-15" >&2
    exit 1
  fi
fi
dir=$(mktemp -d /tmp/oracle.XXXXXX)
as=() # PostgreSQL refuses to run as root
if [ "$(id -u)" = 0 ]; then
  chown postgres "$dir"
  as=(setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$dir")
fi
cleanup() {
  "${as[@]}" "$bindir/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || true
  rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
(cd "$dir" && "${as[@]}" "$bindir/initdb" -D data -U postgres --auth=trust --locale=C.UTF-8 --encoding=UTF8 --no-sync >/dev/null)
# The socket's folder is the cluster's own, so the port number never collides.
(cd "$dir" && "${as[@]}" "$bindir/pg_ctl" -D data -w -l "$dir/log" \
  -o "-c listen_addresses='' -k $dir -p 5432 -c timezone=UTC -c max_prepared_transactions=5 ${ORACLE_PG_OPTS:--c fsync=off}" start >/dev/null) ||
  { cat "$dir/log" >&2; exit 1; }
export PGHOST=$dir PGPORT=5432 PGUSER=postgres PATH=$bindir:$PATH
"$@"
