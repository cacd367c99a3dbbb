#!/usr/bin/env bash
# Reads the types, functions, operators, casts, aggregates and operator classes of the extensions that pgsqlite has of its own, as
# PostgreSQL makes them with CREATE EXTENSION, and numbers them in the ranges that initdb leaves free: 15500 and later, and for vector,
# which comes with PostgreSQL 18 only, 15000 to 15499.
#
# usage: gen/extensions.sh            (starts throw-away servers through tools/oracle.sh)
# Output: pgsqlite/crates/types/data/extension_type.tsv; pgsqlite/crates/sql/data/extension_{proc,operator,opfamily,amop,opclass,cast,aggregate,am}.tsv;
#         natives/src/text_search/unaccent.rules
# The constants of `types/src/extension.rs` are numbers of extension_type.tsv (a test compares them).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
crates=$root/pgsqlite/crates
read -r -d '' script <<'IN' || true
set -euo pipefail
run() { psql -qAt -v ON_ERROR_STOP=1 -d template1 "$@"; }
# The arguments: three folders of data, then the numbers before the first type, function, operator, family, member of a family, class, cast and
# access method, then the extensions. The first server writes the files, the next ones add to them.
read -r types members operators families amop classes casts methods <<<"$4"
for extension in $5; do run -c "CREATE EXTENSION \"$extension\""; done
# Files remember the numbers of operator classes: what was added later comes last. Of btree_gist the functions that an index
# calls and the types of its keys are left out.
run -c "CREATE VIEW public.of AS
  SELECT e.extname, d.classid, d.objid AS oid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
  WHERE d.deptype = 'e' AND extname <> 'plpgsql'"
# (array types depend on their elements)
run -c "CREATE TABLE public.types AS
  SELECT extname, oid, $types + row_number() OVER (ORDER BY extname, typname) AS number
  FROM (SELECT DISTINCT extname, t.oid, typname FROM pg_type t JOIN public.of ON of.oid IN (t.oid, t.typelem) AND classid = 'pg_type'::regclass
        WHERE t.oid >= 16384 AND extname <> 'btree_gist') AS t"
run -c "CREATE TABLE public.members AS
  SELECT extname, p.oid, $members + row_number() OVER (ORDER BY extname = 'btree_gist', extname, proname, proargtypes::text) AS number
  FROM pg_proc p JOIN public.of USING (oid)
  WHERE classid = 'pg_proc'::regclass AND (extname <> 'btree_gist' OR proname ~ '_dist$' AND 2281 <> ALL (proargtypes::oid[]))"
run -c "CREATE TABLE public.operators AS
  SELECT extname, o.oid, $operators + row_number() OVER (ORDER BY extname = 'btree_gist', extname, oprname, oprleft, oprright) AS number
  FROM pg_operator o JOIN public.of USING (oid) WHERE classid = 'pg_operator'::regclass"
run -c "CREATE FUNCTION public.type(oid) RETURNS oid STABLE LANGUAGE sql AS
          'SELECT coalesce((SELECT number::int8::oid FROM public.types t WHERE t.oid = \$1), \$1)';
        CREATE FUNCTION public.proc(oid) RETURNS oid STABLE LANGUAGE sql AS
          'SELECT coalesce((SELECT number::int8::oid FROM public.members t WHERE t.oid = \$1), \$1)';
        CREATE FUNCTION public.operator(oid) RETURNS oid STABLE LANGUAGE sql AS
          'SELECT coalesce((SELECT number::int8::oid FROM public.operators t WHERE t.oid = \$1), \$1)';
        CREATE FUNCTION public.types(oid[]) RETURNS oid[] STABLE LANGUAGE sql AS
          'SELECT array_agg(public.type(t) ORDER BY n) FROM unnest(\$1) WITH ORDINALITY AS u(t, n)'"
run -c "CREATE TABLE public.methods AS
  SELECT extname, a.oid, a.amname, a.amhandler, a.amtype, $methods + row_number() OVER (ORDER BY amname) AS number
  FROM pg_am a JOIN public.of USING (oid) WHERE classid = 'pg_am'::regclass"
run -c "CREATE FUNCTION public.method(oid) RETURNS oid STABLE LANGUAGE sql AS
          'SELECT coalesce((SELECT number::int8::oid FROM public.methods t WHERE t.oid = \$1), \$1)'"
copy() {
  rows=$(run -c "COPY ($2) TO STDOUT WITH (HEADER, DELIMITER E'\t', NULL '\\N', FORMAT text)")
  if [ "$types" = 15530 ]; then printf '%s\n' "$rows" >"$1"; else tail -n +2 <<<"$rows" >>"$1"; fi
}
copy "$3/extension_type.tsv" "
  SELECT number AS oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typdelim, 0 AS typrelid, public.type(typelem) AS typelem,
         public.type(typarray) AS typarray, typnotnull, 0 AS typbasetype, typtypmod, typndims, typcollation, typalign, typstorage,
         public.proc(typinput) AS typinput, public.proc(typoutput) AS typoutput, public.proc(typreceive) AS typreceive,
         public.proc(typsend) AS typsend, public.proc(typsubscript) AS typsubscript, extname
  FROM pg_type JOIN public.types USING (oid) ORDER BY number"
copy "$1/extension_proc.tsv" "
  SELECT number AS oid, proname, pronargs, coalesce(array_to_string(public.types(proargtypes::oid[]), ' '), '') AS proargtypes,
         public.type(prorettype) AS prorettype, prokind, proretset, proisstrict, provolatile, provariadic, pronargdefaults,
         public.types(proallargtypes)::text AS proallargtypes, proargmodes::text, proargnames::text,
         pg_get_expr(proargdefaults, 0) AS proargdefaults, CASE WHEN prolang = 14 THEN 'sql function' ELSE prosrc END AS prosrc, prolang,
         proparallel, extname
  FROM pg_proc JOIN public.members USING (oid) ORDER BY number"
if [ "$types" = 15530 ]; then
  printf '%s\n' $'15510\tpg_stat_statements_reset\t3\t26 26 20\t2278\tf\tf\tt\tv\t0\t3\t\\N\t\\N\t{userid,dbid,queryid}\t0, 0, 0\tpg_stat_statements_reset\t13\ts\t\\N' >>"$1/extension_proc.tsv"
fi
copy "$1/extension_operator.tsv" "
  SELECT number AS oid, oprname, oprkind, public.type(oprleft) AS oprleft, public.type(oprright) AS oprright,
         public.type(oprresult) AS oprresult, public.proc(oprcode) AS oprcode, public.operator(oprcom) AS oprcom,
         public.operator(oprnegate) AS oprnegate, oprcanmerge, oprcanhash, extname
  FROM pg_operator JOIN public.operators o USING (oid) ORDER BY number"
run -c "CREATE TABLE public.families AS
  SELECT extname, f.oid, $families + row_number() OVER (ORDER BY extname, opfname, opfmethod) AS number
  FROM pg_opfamily f JOIN public.of USING (oid) WHERE classid = 'pg_opfamily'::regclass"
copy "$1/extension_opfamily.tsv" "
  SELECT number AS oid, public.method(opfmethod) AS opfmethod, opfname, extname FROM pg_opfamily JOIN public.families USING (oid) ORDER BY number"
copy "$1/extension_amop.tsv" "
  SELECT $amop + row_number() OVER (ORDER BY f.number, amoplefttype, amoprighttype, amopstrategy) AS oid, f.number AS amopfamily,
         public.type(amoplefttype) AS amoplefttype, public.type(amoprighttype) AS amoprighttype, amopstrategy, amoppurpose,
         public.operator(amopopr) AS amopopr, public.method(amopmethod) AS amopmethod, amopsortfamily, f.extname
  FROM pg_amop a JOIN public.families f ON f.oid = amopfamily ORDER BY 1"
copy "$1/extension_opclass.tsv" "
  SELECT $classes + row_number() OVER (ORDER BY of.extname = 'btree_gist', of.extname, opcname, amname) AS oid, amname, opcname, public.type(opcintype) AS opcintype, opcdefault,
         CASE of.extname WHEN 'btree_gist' THEN 0 ELSE public.type(opckeytype) END AS opckeytype, f.number AS opcfamily, public.method(opcmethod) AS opcmethod,
         of.extname
  FROM pg_opclass o JOIN pg_am am ON am.oid = opcmethod JOIN public.of ON of.oid = o.oid AND classid = 'pg_opclass'::regclass
  JOIN public.families f ON f.oid = opcfamily ORDER BY 1"
copy "$1/extension_cast.tsv" "
  SELECT $casts + row_number() OVER (ORDER BY extname, c.oid) AS oid, public.type(castsource) AS castsource, public.type(casttarget) AS casttarget,
         public.proc(castfunc) AS castfunc, castcontext, castmethod, extname
  FROM pg_cast c JOIN public.of ON of.oid = c.oid AND classid = 'pg_cast'::regclass ORDER BY 1"
copy "$1/extension_aggregate.tsv" "
  SELECT number AS aggfnoid, aggkind, aggnumdirectargs, public.operator(aggsortop) AS aggsortop, public.type(aggtranstype) AS aggtranstype,
         agginitval, public.proc(aggtransfn) AS aggtransfn, public.proc(aggfinalfn) AS aggfinalfn, public.proc(aggcombinefn) AS aggcombinefn,
         public.proc(aggserialfn) AS aggserialfn, public.proc(aggdeserialfn) AS aggdeserialfn, public.proc(aggmtransfn) AS aggmtransfn,
         public.proc(aggminvtransfn) AS aggminvtransfn, public.proc(aggmfinalfn) AS aggmfinalfn, aggfinalextra, aggmfinalextra,
         aggfinalmodify, aggmfinalmodify, aggtransspace, public.type(aggmtranstype) AS aggmtranstype, aggmtransspace, aggminitval, extname
  FROM pg_aggregate JOIN public.members ON oid = aggfnoid::oid ORDER BY 1"
copy "$1/extension_am.tsv" "
  SELECT number AS oid, amname, public.proc(amhandler) AS amhandler, amtype, extname FROM public.methods ORDER BY number"
if [ "$types" = 15530 ]; then
  run -c "SELECT rtrim(pg_read_file(setting || '/tsearch_data/unaccent.rules'), E'\n') FROM pg_config WHERE name = 'SHAREDIR'" >"$2/unaccent.rules"
fi
IN
folders=("$crates/sql/data" "$crates/natives/src/text_search" "$crates/types/data")
"$root/tools/oracle.sh" bash -c "$script" extensions "${folders[@]}" "15530 15600 15950 14000 14100 16050 16100 0" \
  "uuid-ossp pgcrypto pg_trgm unaccent citext hstore intarray btree_gist"
ORACLE_VERSION=18 "$root/tools/oracle.sh" bash -c "$script" extensions "${folders[@]}" "15000 15020 15150 15230 15260 15200 15400 15450" vector
