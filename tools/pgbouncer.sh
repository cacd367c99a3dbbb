#!/usr/bin/env bash
# Prints the path of a PgBouncer: the one that is installed, or else the distribution's, which is unpacked into build/pgbouncer without
# being installed. Prints nothing where there is none to be had.
#
# usage: PGBOUNCER=$(tools/pgbouncer.sh)
set -uo pipefail
for path in "$(command -v pgbouncer)" /usr/sbin/pgbouncer; do
  [ -x "$path" ] && { echo "$path"; exit 0; }
done
dir=$(cd "$(dirname "$0")/.." && pwd)/build/pgbouncer
if [ ! -x "$dir/pgbouncer" ]; then
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || exit 0
  work=$(mktemp -d /tmp/pgbouncer.XXXXXX)
  trap 'rm -rf "$work"' EXIT
  fetch() { (cd "$work" && timeout 120 apt-get download -qq pgbouncer libc-ares2 libevent-2.1-7 >/dev/null 2>&1); }
  fetch || { apt-get update -qq >/dev/null 2>&1 && fetch; } || exit 0
  for package in "$work"/*.deb; do dpkg -x "$package" "$work/files" || exit 0; done
  # it finds the libraries that came with it
  cat >"$work/files/pgbouncer" <<'RUN'
#!/bin/sh
here=$(dirname "$0")
LD_LIBRARY_PATH=$(echo "$here"/usr/lib/*-linux-gnu) exec "$here/usr/sbin/pgbouncer" "$@"
RUN
  chmod 755 "$work/files/pgbouncer" "$work/files"
  "$work/files/pgbouncer" --version >/dev/null 2>&1 || exit 0
  mkdir -p "$(dirname "$dir")" && rm -rf "$dir" && mv "$work/files" "$dir" || exit 0
fi
echo "$dir/pgbouncer"
