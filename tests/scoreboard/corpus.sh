#!/usr/bin/env bash
# PostgreSQL 15's regression tests, from the distribution's source package, into build/regress (sql/ and data/), and its isolation
# specifications, into build/isolation (specs/).
#
# usage: tests/scoreboard/corpus.sh
# Nothing of it is committed. apt gets a configuration of its own under build/, made from the machine's package
# sources (with the source packages switched on), so that it needs no root and leaves the machine's lists as they are.
set -euo pipefail
cd "$(dirname "$0")/../.."
to=$PWD/build/regress
isolation=$PWD/build/isolation
[ -e "$to/done" ] && [ -e "$isolation/specs" ] && exit 0
command -v apt-get >/dev/null || { echo "apt-get is needed: the corpus is in Debian's and Ubuntu's source package postgresql-15" >&2; exit 1; }
rm -rf "$to" && mkdir -p "$to/apt/lists/partial" "$to/apt/cache/archives/partial" "$to/apt/parts"
# Both formats of package sources: one-line lists and deb822 files.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  [ -e "$file" ] && sed -n 's/^deb /deb-src /p' "$file" >> "$to/apt/parts/$(basename "$file")"
done
for file in /etc/apt/sources.list.d/*.sources; do
  [ -e "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" > "$to/apt/parts/$(basename "$file")"
done
options=(-qq -o Acquire::Retries=3 -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$to/apt/parts" -o "Dir::State::lists=$to/apt/lists"
  -o "Dir::Cache=$to/apt/cache" -o APT::Sandbox::User=root -o Debug::NoLocking=true)
apt-get "${options[@]}" update >&2 || true # a source that has no source packages is no reason to stop: the next step tells
# Newest first; a mirror may list a version whose files it has not got (yet).
for version in $(apt-cache "${options[@]}" showsrc postgresql-15 | sed -n 's/^Version: //p' | sort -uVr); do
  echo "fetching postgresql-15=$version" >&2
  (cd "$to/apt" && apt-get "${options[@]}" source --download-only "postgresql-15=$version" >&2) && break
done
archive=$(find "$to/apt" -maxdepth 1 -name 'postgresql-15_*.orig.tar.*' ! -name '*.asc' | head -1)
[ -n "$archive" ] || { echo "no source package of PostgreSQL 15 could be fetched" >&2; exit 1; }
tar -xf "$archive" -C "$to" --strip-components=4 --wildcards 'postgresql-*/src/test/regress/sql/*' 'postgresql-*/src/test/regress/data/*' 'postgresql-*/src/test/regress/parallel_schedule'
mkdir -p "$isolation"
tar -xf "$archive" -C "$isolation" --strip-components=4 --wildcards 'postgresql-*/src/test/isolation/specs/*'
rm -rf "$to/apt"
touch "$to/done"
