# jOOQ's generator: the sources that it makes of a schema with objects of every kind.
set -e
psql -qX -v ON_ERROR_STOP=1 -f schema.sql
sed "s|@HOST@|$PGHOST|; s|@PORT@|$PGPORT|; s|@DATABASE@|$PGDATABASE|; s|@TARGET@|$APP_SCRATCH/out|" config.xml >"$APP_SCRATCH/config.xml"
java -Dorg.jooq.no-logo=true -Dorg.jooq.no-tips=true org.jooq.codegen.GenerationTool "$APP_SCRATCH/config.xml" 2>&1 | sed "s|$APP_SCRATCH||g; s/^[0-9:.]* *//"
cd "$APP_SCRATCH/out"
find . -name '*.java' | sort | while read -r f; do
  echo "== $f"
  grep -v '^import\|^$\|^ \*\|^/\*\*' "$f"
done
