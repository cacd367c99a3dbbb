#!/usr/bin/env bash
# Reads from PostgreSQL 18 the functions, aggregates, casts and comments that releases 16 to 18 have added and that pgsqlite has, too, with
# their OIDs there. Calls find them where PostgreSQL 15 finds nothing (`builtins/later.rs`).
#
# usage: gen/later_releases.sh            (starts throw-away servers through tools/oracle.sh)
# Output: pgsqlite/crates/sql/data/later_{proc,aggregate,cast,description}.tsv, whose columns are those of pg_{proc,aggregate,cast,description}.tsv;
# later_columns.tsv with the columns of catalogs that queries find by their names.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
sql=$root/pgsqlite/crates/sql/data
read -r -d '' chosen <<'IN' || true
any_value any_value_transfn array_reverse array_sample array_shuffle array_sort bytea_larger bytea_smaller max min record_larger record_smaller
casefold crc32 crc32c date_add date_subtract erf erfc gamma lgamma generate_series has_largeobject_privilege bytea int2 int4 int8
json_agg_strict json_agg_strict_transfn jsonb_agg_strict jsonb_agg_strict_transfn json_object_agg_strict json_object_agg_strict_transfn
json_object_agg_unique json_object_agg_unique_transfn json_object_agg_unique_strict json_object_agg_unique_strict_transfn
jsonb_object_agg_strict jsonb_object_agg_strict_transfn jsonb_object_agg_unique jsonb_object_agg_unique_transfn
jsonb_object_agg_unique_strict jsonb_object_agg_unique_strict_transfn jsonb_populate_record_valid pg_basetype pg_get_acl
pg_input_error_info pg_input_is_valid random random_normal reverse system_user timezone to_bin to_oct to_regtypemod
uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7 hashbytea hashbyteaextended hashdate hashdateextended hashbool
hashboolextended timestamptz_hash timestamptz_hash_extended
IN
names="'$(echo $chosen | sed "s/ /', '/g")'"
known=$("$root/tools/oracle.sh" psql -qAt -d template1 -c "SELECT string_agg(oid::text, ', ') FROM pg_proc WHERE oid < 10000")
added="proname IN ($names) AND p.oid NOT IN ($known) AND p.oid < 10000 AND pronamespace = 'pg_catalog'::regnamespace"
# json_strip_nulls and jsonb_strip_nulls have got another argument: here that is an overload, whose OID is of a range that initdb leaves free.
read -r -d '' script <<IN || true
set -euo pipefail
dump() { # file query
  psql -qAt -d template1 -c "COPY (\$2) TO STDOUT WITH (HEADER, DELIMITER E'\t', NULL '\\\\N', FORMAT text)" >"\$1"
}
dump "$sql/later_proc.tsv" "
  SELECT CASE p.oid WHEN 3261 THEN 14500 WHEN 3262 THEN 14501 ELSE p.oid::int END AS oid, proname, pronargs, proargtypes::text, prorettype, prokind, proretset,
         proisstrict, provolatile, provariadic, CASE WHEN p.oid IN (3261, 3262) THEN 0 ELSE pronargdefaults END AS pronargdefaults,
         proallargtypes::text, proargmodes::text, proargnames::text,
         CASE WHEN p.oid NOT IN (3261, 3262) THEN pg_get_expr(proargdefaults, 0) END AS proargdefaults,
         CASE WHEN prolang <> 12 THEN NULL WHEN p.oid IN (3261, 3262) THEN prosrc || '_in_arrays' ELSE prosrc END AS prosrc, prolang, proparallel,
         proleakproof, procost, prorows, proacl::text, 0 AS prosupport, probin
  FROM pg_proc p WHERE $added OR p.oid IN (3261, 3262) ORDER BY 1"
dump "$sql/later_aggregate.tsv" "
  SELECT aggfnoid::oid, aggkind, aggnumdirectargs, aggsortop, aggtranstype, agginitval,
    aggtransfn::oid, aggfinalfn::oid, aggcombinefn::oid, aggserialfn::oid, aggdeserialfn::oid, aggmtransfn::oid, aggminvtransfn::oid,
    aggmfinalfn::oid, aggfinalextra, aggmfinalextra, aggfinalmodify, aggmfinalmodify, aggtransspace, aggmtranstype, aggmtransspace,
    aggminitval
  FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid::oid WHERE $added ORDER BY 1"
dump "$sql/later_cast.tsv" "
  SELECT c.oid, castsource, casttarget, castfunc, castcontext, castmethod FROM pg_cast c JOIN pg_proc p ON p.oid = castfunc WHERE $added ORDER BY 1"
dump "$sql/later_settings.tsv" "
  SELECT name, boot_val, unit, category, short_desc, context, vartype, min_val, max_val, enumvals::text FROM pg_settings WHERE name = 'transaction_timeout'"
dump "$sql/later_description.tsv" "
  SELECT classoid, p.oid AS objoid, description FROM pg_description d JOIN pg_proc p ON p.oid = objoid
  WHERE classoid = 'pg_proc'::regclass AND objsubid = 0 AND $added ORDER BY 1, 2"
dump "$sql/later_columns.tsv" "
  SELECT 'pg_catalog' AS nspname, relname, attname, atttypid, attnotnull FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
  WHERE relnamespace = 'pg_catalog'::regnamespace AND (relname, attname) IN (('pg_constraint', 'conenforced'), ('pg_constraint', 'conperiod')) ORDER BY relname, attnum"
IN
ORACLE_VERSION=18 "$root/tools/oracle.sh" bash -c "$script"
wc -l "$sql"/later_*.tsv
