#!/usr/bin/env bash
# Reads PostgreSQL 15's own catalogs and writes them as tab-separated data files: what the analyzer knows of built-in
# types, functions, operators, casts, aggregates and SQLSTATEs is data, never typed by hand.
#
# usage: gen/catalogs.sh            (starts a throw-away server through tools/oracle.sh)
# Output: pgsqlite/crates/{types,sql}/data/*.tsv. The first line of each file names its columns. \N is NULL.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
types=$root/pgsqlite/crates/types/data
sql=$root/pgsqlite/crates/sql/data
mkdir -p "$types" "$sql"

dump() { # file query
  "$root/tools/oracle.sh" psql -qAt -d template1 -c "COPY ($2) TO STDOUT WITH (HEADER, DELIMITER E'\t', NULL '\\N', FORMAT text)" >"$1"
}

dump "$types/pg_type.tsv" "
  SELECT oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typdelim, typrelid, typelem, typarray,
         typnotnull, typbasetype, typtypmod, typndims, typcollation, typalign, typstorage,
         typinput::oid, typoutput::oid, typreceive::oid, typsend::oid, typsubscript::oid
  FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype NOT IN ('c') AND oid < 10000
     OR typnamespace = 'information_schema'::regnamespace AND typtype = 'd' ORDER BY oid"
dump "$sql/pg_proc.tsv" "
  SELECT oid, proname, pronargs, proargtypes::text, prorettype, prokind, proretset, proisstrict, provolatile, provariadic,
         pronargdefaults, proallargtypes::text, proargmodes::text, proargnames::text, pg_get_expr(proargdefaults, 0) AS proargdefaults, CASE WHEN prolang = 12 THEN prosrc END AS prosrc, prolang, proparallel,
         proleakproof, procost, prorows, proacl::text, prosupport::oid, probin
  FROM pg_proc WHERE pronamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) AND oid < 16384 ORDER BY oid"
dump "$sql/pg_operator.tsv" "
  SELECT oid, oprname, oprkind, oprleft, oprright, oprresult, oprcode::oid, oprcom, oprnegate, oprcanmerge, oprcanhash, oprrest::oid, oprjoin::oid
  FROM pg_operator WHERE oid < 16384 ORDER BY oid"
dump "$sql/pg_cast.tsv" "
  SELECT oid, castsource, casttarget, castfunc, castcontext, castmethod FROM pg_cast WHERE oid < 16384 ORDER BY oid"
dump "$sql/pg_aggregate.tsv" "
  SELECT aggfnoid::oid, aggkind, aggnumdirectargs, aggsortop, aggtranstype, agginitval,
    aggtransfn::oid, aggfinalfn::oid, aggcombinefn::oid, aggserialfn::oid, aggdeserialfn::oid, aggmtransfn::oid, aggminvtransfn::oid,
    aggmfinalfn::oid, aggfinalextra, aggmfinalextra, aggfinalmodify, aggmfinalmodify, aggtransspace, aggmtranstype, aggmtransspace,
    aggminitval
  FROM pg_aggregate WHERE aggfnoid < 16384 ORDER BY 1"
dump "$sql/pg_opclass.tsv" "
  SELECT o.oid, am.amname, opcname, opcintype, opcdefault, opckeytype, opcfamily, opcmethod
  FROM pg_opclass o JOIN pg_am am ON am.oid = opcmethod WHERE o.oid < 16384 ORDER BY 1"
dump "$sql/pg_opfamily.tsv" "SELECT oid, opfmethod, opfname FROM pg_opfamily WHERE oid < 16384 ORDER BY 1"
dump "$sql/pg_amop.tsv" "
  SELECT oid, amopfamily, amoplefttype, amoprighttype, amopstrategy, amoppurpose, amopopr, amopmethod, amopsortfamily
  FROM pg_amop WHERE oid < 16384 ORDER BY 1"
dump "$sql/pg_amproc.tsv" "
  SELECT oid, amprocfamily, amproclefttype, amprocrighttype, amprocnum, amproc::oid FROM pg_amproc WHERE oid < 16384 ORDER BY 1"
dump "$sql/pg_ts_parser.tsv" "
  SELECT oid, prsname, prsnamespace, prsstart::oid, prstoken::oid, prsend::oid, prsheadline::oid, prslextype::oid
  FROM pg_ts_parser WHERE oid < 16384 ORDER BY 1"
dump "$sql/pg_ts_template.tsv" "
  SELECT oid, tmplname, tmplnamespace, tmplinit::oid, tmpllexize::oid FROM pg_ts_template WHERE oid < 16384 ORDER BY 1"
dump "$sql/pg_ts_dict.tsv" "
  SELECT oid, dictname, dictnamespace, dictowner, dicttemplate, dictinitoption FROM pg_ts_dict WHERE oid < 16384 ORDER BY 1"
dump "$sql/pg_ts_config.tsv" "
  SELECT oid, cfgname, cfgnamespace, cfgowner, cfgparser FROM pg_ts_config WHERE oid < 16384 ORDER BY 1"
dump "$sql/pg_ts_config_map.tsv" "
  SELECT mapcfg::oid, maptokentype, mapseqno, mapdict::oid FROM pg_ts_config_map WHERE mapcfg::oid < 16384 ORDER BY 1, 2, 3"
# the stop words of the dictionary english_stem
"$root/tools/oracle.sh" psql -qAt -d template1 -c "SELECT rtrim(pg_read_file(setting || '/tsearch_data/english.stop'), E'\\n')
  FROM pg_config WHERE name = 'SHAREDIR'" >"$root/pgsqlite/crates/natives/src/text_search/english_stop.txt"
dump "$sql/pg_am.tsv" "SELECT oid, amname, amhandler::oid, amtype FROM pg_am WHERE oid < 16384 ORDER BY 1"
dump "$sql/pg_language.tsv" "SELECT oid, lanname, lanowner, lanispl, lanpltrusted FROM pg_language WHERE oid < 16384 ORDER BY 1"
dump "$sql/pg_collation.tsv" "
  SELECT oid, collname, collprovider, collisdeterministic, collencoding, collcollate, collctype, colliculocale, collversion
  FROM pg_collation ORDER BY 1"
dump "$sql/pg_conversion.tsv" "
  SELECT oid, conname, connamespace, conowner, conforencoding, contoencoding, conproc::oid, condefault
  FROM pg_conversion WHERE oid < 16384 ORDER BY 1"
dump "$sql/catalog_columns.tsv" "
  SELECT n.nspname, c.relname, c.oid AS reloid, c.relkind, c.reltype, a.attnum, a.attname,
         CASE WHEN a.attname IN ('attndims', 'attinhcount', 'coninhcount') THEN 21::oid /* as in PostgreSQL 18 */ ELSE a.atttypid END AS atttypid, a.atttypmod, a.attnotnull, a.attcollation
  FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname IN ('pg_catalog', 'information_schema') AND relkind IN ('r', 'v') AND attnum > 0 AND c.oid < 16384
  ORDER BY c.oid, attnum"
dump "$sql/pg_description.tsv" "
  SELECT classoid, objoid, description FROM pg_description
  WHERE objsubid = 0 AND objoid < 16384 AND classoid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass, 'pg_language'::regclass,
    'pg_extension'::regclass, 'pg_am'::regclass, 'pg_collation'::regclass, 'pg_ts_config'::regclass, 'pg_ts_dict'::regclass, 'pg_ts_parser'::regclass,
    'pg_ts_template'::regclass) ORDER BY 1, 2"
for table in sql_features sql_implementation_info sql_parts sql_sizing; do
  dump "$sql/$table.tsv" "SELECT * FROM information_schema.$table ORDER BY 1, 3"
done
# (Debian's initdb keeps a bracket of its own version's text there)
sed -i 's/\.0000)/.0000/' "$sql/sql_implementation_info.tsv"
ORACLE_VERSION=18 dump "$sql/keywords.tsv" "SELECT word, catcode, barelabel FROM pg_get_keywords() ORDER BY word COLLATE \"C\""
dump "$sql/pg_settings.tsv" "
  SELECT name, boot_val, unit, category, short_desc, context, vartype, min_val, max_val, enumvals::text FROM pg_settings WHERE name !~ '\\.' ORDER BY lower(name)"

# SQLSTATEs: the list that PostgreSQL's own build uses (Debian: package postgresql-15).
list=$(pg_config --sharedir 2>/dev/null || echo /usr/share/postgresql/15)/errcodes.txt
[ -e "$list" ] || list=/usr/share/postgresql/15/errcodes.txt
awk 'BEGIN { OFS = "\t"; print "code", "kind", "name" } /^[0-9A-Z][0-9A-Z][0-9A-Z][0-9A-Z][0-9A-Z] / { name = $4 == "" ? tolower(substr($3, 9)) : $4; print $1, $2, name }' "$list" >"$types/sqlstate.tsv"

# Abbreviations of time zones, PostgreSQL's default set: seconds east of UTC or the zone that decides, daylight saving.
awk '{ sub(/#.*/, "") } NF >= 2 { print $1 "\t" $2 "\t" ($3 == "D" ? "t" : "f") }' "$(dirname "$list")/timezonesets/Default" >"$types/zone_abbreviations.tsv"
wc -l "$types"/*.tsv "$sql"/*.tsv
