#!/usr/bin/env bash
# Reads the functions and operators of the extensions that pgsqlite has of its own, as PostgreSQL 15 makes them with CREATE EXTENSION,
# and numbers them in the range that initdb leaves free. What takes or gives `internal` or a type of an extension is left out.
#
# usage: gen/extensions.sh            (starts a throw-away server through tools/oracle.sh)
# Output: pgsqlite/crates/sql/data/extension_proc.tsv, extension_operator.tsv, extension_opclass.tsv; engine/src/udf/unaccent.rules
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
sql=$root/pgsqlite/crates/sql/data
"$root/tools/oracle.sh" bash -s "$sql" "$root/pgsqlite/crates/engine/src/udf" <<'IN'
set -euo pipefail
run() { psql -qAt -v ON_ERROR_STOP=1 -d template1 "$@"; }
run -c 'CREATE EXTENSION "uuid-ossp"; CREATE EXTENSION pgcrypto; CREATE EXTENSION pg_trgm; CREATE EXTENSION unaccent'
run -c "CREATE TABLE public.members AS
  SELECT e.extname, p.oid, 15600 + row_number() OVER (ORDER BY extname, proname, proargtypes::text) AS number
  FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
  JOIN pg_extension e ON e.oid = d.refobjid
  WHERE extname <> 'plpgsql' AND 2281 <> ALL (proargtypes::oid[]) AND prorettype < 16384 AND prorettype <> 2281
    AND NOT EXISTS (SELECT FROM unnest(proargtypes::oid[]) t WHERE t >= 16384)"
run -c "CREATE TABLE public.operators AS
  SELECT e.extname, o.oid, 15900 + row_number() OVER (ORDER BY extname, oprname) AS number
  FROM pg_operator o JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e'
  JOIN pg_extension e ON e.oid = d.refobjid"
copy() { run -c "COPY ($2) TO STDOUT WITH (HEADER, DELIMITER E'\t', NULL '\\N', FORMAT text)" >"$1"; }
copy "$1/extension_proc.tsv" "
  SELECT number AS oid, proname, pronargs, proargtypes::text, prorettype, prokind, proretset, proisstrict, provolatile, provariadic,
         pronargdefaults, proallargtypes::text, proargmodes::text, proargnames::text, pg_get_expr(proargdefaults, 0) AS proargdefaults,
         prosrc, prolang, proparallel, extname
  FROM pg_proc JOIN public.members USING (oid) ORDER BY number"
printf '%s\n' $'15510\tpg_stat_statements_reset\t3\t26 26 20\t2278\tf\tf\tt\tv\t0\t3\t\\N\t\\N\t{userid,dbid,queryid}\t0, 0, 0\tpg_stat_statements_reset\t13\ts\t\\N' >>"$1/extension_proc.tsv"
copy "$1/extension_operator.tsv" "
  SELECT o.number AS oid, oprname, oprkind, oprleft, oprright, oprresult, m.number AS oprcode, coalesce(c.number, 0) AS oprcom,
         coalesce(n.number, 0) AS oprnegate, oprcanmerge, oprcanhash, o.extname
  FROM pg_operator JOIN public.operators o USING (oid) JOIN public.members m ON m.oid = oprcode
  LEFT JOIN public.operators c ON c.oid = oprcom LEFT JOIN public.operators n ON n.oid = oprnegate ORDER BY o.number"
# (their families, and the type of a key that is the extension's own, are left out)
copy "$1/extension_opclass.tsv" "
  SELECT 15950 + row_number() OVER (ORDER BY extname, opcname) AS oid, amname, opcname, opcintype, opcdefault,
         CASE WHEN opckeytype < 16384 THEN opckeytype ELSE 0 END AS opckeytype, 0 AS opcfamily, opcmethod, extname
  FROM pg_opclass o JOIN pg_am am ON am.oid = opcmethod
  JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = o.oid AND d.deptype = 'e'
  JOIN pg_extension e ON e.oid = d.refobjid WHERE opcintype < 16384 ORDER BY 1"
run -c "SELECT rtrim(pg_read_file(setting || '/tsearch_data/unaccent.rules'), E'\n') FROM pg_config WHERE name = 'SHAREDIR'" >"$2/unaccent.rules"
IN
