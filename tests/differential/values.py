"""Types, their values, and what can be computed with them: by hand where a template says more than a call, and from the
catalogs of PostgreSQL 15 (all operators, casts and immutable functions over these types)."""

from __future__ import annotations

import csv
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2] / "pgsqlite" / "crates"

#: a type's name in SQL, by the short name used here
TYPES = {
    "int2": "int2",
    "int4": "int4",
    "int8": "int8",
    "numeric": "numeric",
    "money2": "numeric(8,2)",
    "float8": "float8",
    "float4": "float4",
    "text": "text",
    "varchar": "varchar(10)",
    "bpchar": "char(5)",
    "bool": "bool",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "time": "time",
    "timetz": "timetz",
    "interval": "interval",
    "uuid": "uuid",
    "bytea": "bytea",
    "jsonb": "jsonb",
    "ints": "int4[]",
    "texts": "text[]",
    "numerics": "numeric[]",
    "mood": "mood",
    "range": "int4range",
    "inet": "inet",
    "bits": "bit(3)",
    "pair": "pair",
    "json": "json",
    "money": "money",
    "varbit": "varbit",
    "cidr": "cidr",
    "macaddr": "macaddr",
    "oid": "oid",
    "name": "name",
    "numrange": "numrange",
    "daterange": "daterange",
    "tsrange": "tsrange",
    "tstzrange": "tstzrange",
    "multirange": "int4multirange",
    "nummultirange": "nummultirange",
    "datemultirange": "datemultirange",
    "bools": "bool[]",
    "dates": "date[]",
    "moods": "mood[]",
    "pairs": "pair[]",
    "intervals": "interval[]",
    "tsvector": "tsvector",
    "tsquery": "tsquery",
    "point": "point",
    "box": "box",
    "circle": "circle",
    "lseg": "lseg",
    "path": "path",
    "polygon": "polygon",
    "small": "small",
    "short": "short",
    "nested": "nested",
    "floatrange": "floatrange",
    "int8range": "int8range",
    "int8multirange": "int8multirange",
    "tsmultirange": "tsmultirange",
    "tstzmultirange": "tstzmultirange",
    "macaddr8": "macaddr8",
    "line": "line",
    "pg_lsn": "pg_lsn",
    "xid8": "xid8",
    "jsonpath": "jsonpath",
    "byte": '"char"',
    "floats": "float8[]",
    "jsonbs": "jsonb[]",
    "moments": "timestamptz[]",
    "varchars": "varchar[]",
}
#: what the statements need besides tables
USER_TYPES = (
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE TYPE pair AS (a int4, b text); CREATE TYPE nested AS (p pair, m mood[], n numeric(6,2)); "
    "CREATE DOMAIN small AS int4 CHECK (VALUE BETWEEN -50 AND 70000); CREATE DOMAIN short AS text CHECK (length(VALUE) < 9); CREATE TYPE floatrange AS RANGE (subtype = float8)"
)
#: columns of these types are compared as another one
SAME = {"money2": "numeric", "small": "int4", "short": "text"}
#: types without an order (some even without =): not in ORDER BY, DISTINCT, keys, comparisons
UNORDERED = {"json", "point", "box", "circle", "lseg", "path", "polygon", "line", "jsonpath"}

LITERALS = {
    "int2": ["0", "1", "2", "-3", "7"],
    "int4": ["0", "1", "2", "-1", "10", "65536"],
    "int8": ["0", "1", "3", "-2", "10000000000"],
    "numeric": ["0", "1", "1.0", "1.50", "2.5", "-0.5", "10", "10.0", "100.00"],
    "float8": ["0", "1", "1.5", "-2.25", "1e10", "'NaN'", "'Infinity'"],
    "float4": ["0", "1", "1.5", "-2.25"],
    "text": ["''", "'a'", "'A'", "'1'", "'1.0'", "'01'", "'10'", "'b c'", "'24:00:00'", "'1 day'", "'é'", "'a '", "'{}'", "'null'"],
    "varchar": ["''", "'a'", "'1'", "'1.0'", "'z z'"],
    "bpchar": ["''", "'a'", "'a  '", "'1'", "'1.0'"],
    "bool": ["true", "false"],
    "date": ["'2020-01-01'", "'2020-02-29'", "'1999-12-31'"],
    "timestamp": ["'2020-01-01 00:00'", "'2020-02-29 12:30:15.5'", "'1999-12-31 23:59:59'"],
    "timestamptz": ["'2020-01-01 00:00+00'", "'2020-02-29 12:30:15.5+02'", "'1999-12-31 23:59:59-08'"],
    "time": ["'00:00'", "'12:30:15.5'", "'24:00:00'"],
    "timetz": ["'00:00+00'", "'12:30:15.5+02'", "'10:30:15.5+00'"],
    "interval": ["'0'", "'1 day'", "'24 hours'", "'1 mon'", "'30 days'", "'-1 hour'", "'1 year 2 days 03:04:05'"],
    "uuid": ["'00000000-0000-0000-0000-000000000001'", "'ffffffff-0000-0000-0000-000000000000'"],
    "bytea": ["'\\x'", "'\\x00ff'", "'\\x61'"],
    "jsonb": ["'1'", "'1.0'", "'\"a\"'", "'[1, 2]'", "'{\"a\": 1}'", "'{\"a\": 1.0, \"b\": null}'", "'null'"],
    "ints": ["'{}'", "'{1}'", "'{1,2}'", "'{NULL,3}'", "'{{1,2},{3,4}}'"],
    "texts": ["'{}'", "'{a}'", "'{1,1.0}'", "'{NULL,b}'", "'{\"b c\",\"\"}'"],
    "numerics": ["'{}'", "'{1}'", "'{1.0}'", "'{1.00,2}'"],
    "mood": ["'sad'", "'ok'", "'happy'"],
    "range": ["'empty'", "'[1,5)'", "'[2,)'", "'(,3]'"],
    "inet": ["'10.0.0.1'", "'10.0.0.0/8'", "'::1'"],
    "bits": ["B'000'", "B'101'"],
    "pair": ["ROW(1, 'a')", "ROW(1, NULL)", "ROW(2, '1.0')"],
    "json": ["'1'", "'{\"a\": 1.0, \"a\" : [ ]}'", "'\"x\"'", "'[1, null]'"],
    "money": ["'0'", "'$1.50'", "'-2.25'", "'1000'"],
    "varbit": ["B''", "B'1'", "B'0110'"],
    "cidr": ["'10.0.0.0/8'", "'10.1.0.0/16'", "'::/0'"],
    "macaddr": ["'08:00:2b:01:02:03'", "'00:00:00:00:00:00'"],
    "oid": ["0", "1", "4294967295"],
    "name": ["''", "'a'", "'A b'"],
    "numrange": ["'empty'", "'[1.0,2.5)'", "'(1,2.50]'", "'[,10)'", "'[1,1.00]'"],
    "daterange": ["'empty'", "'[2020-01-01,2020-02-29]'", "'(,2020-01-01)'"],
    "tsrange": ["'empty'", "'[2020-01-01,2020-02-29 12:30:15.5)'", "'(1999-12-31 23:59:59,)'"],
    "tstzrange": ["'empty'", "'[2020-01-01 00:00+00,2020-02-29 12:30+02]'", "'[1999-12-31 23:59:59-08,)'"],
    "multirange": ["'{}'", "'{[1,3),[5,7)}'", "'{[2,)}'"],
    "nummultirange": ["'{}'", "'{[1,1.5),(2.0,3]}'", "'{(,2]}'"],
    "datemultirange": ["'{}'", "'{[2020-01-01,2020-01-31]}'"],
    "bools": ["'{}'", "'{t,f}'", "'{NULL}'"],
    "dates": ["'{}'", "'{2020-01-01,NULL}'", "'{1999-12-31}'"],
    "moods": ["'{}'", "'{sad,happy}'", "'{ok}'"],
    "pairs": ["'{}'", "'{\"(1,a)\"}'", "'{\"(2,)\",NULL}'"],
    "intervals": ["'{}'", "'{1 day}'", "'{24:00:00,1 mon}'"],
    "tsvector": ["''", "'a b'", "'a:1A b:2,3'", "'fat:2'"],
    "tsquery": ["'a'", "'a & b'", "'!a | fat:A'", "'a <-> b'"],
    "point": ["'(0,0)'", "'(1,2.5)'", "'(-1,1)'"],
    "box": ["'(1,1),(0,0)'", "'(2,3),(-1,1)'"],
    "circle": ["'<(0,0),1>'", "'<(1,2),0.5>'"],
    "lseg": ["'[(0,0),(1,1)]'", "'[(0,1),(2,1)]'"],
    "path": ["'((0,0),(1,0),(1,1))'", "'[(0,0),(2,2)]'"],
    "polygon": ["'((0,0),(2,0),(2,2))'", "'((0,0),(1,0),(1,1),(0,1))'"],
    "small": ["0", "1", "-2", "42"],
    "short": ["''", "'a'", "'1.0'", "'z'"],
    "nested": ["'(\"(1,a)\",{sad},1.50)'", "'(,{},2.00)'", "'(\"(1,)\",,)'"],
    "floatrange": ["'empty'", "'[0,1.5)'", "'(-2.25,)'"],
    "int8range": ["'empty'", "'[1,10000000000)'", "'(,3]'"],
    "int8multirange": ["'{}'", "'{[1,3),[5,7)}'", "'{[2,)}'"],
    "tsmultirange": ["'{}'", "'{[2020-01-01,2020-02-29 12:30:15.5)}'"],
    "tstzmultirange": ["'{}'", "'{[2020-01-01 00:00+00,2020-02-29 12:30+02],[2021-01-01 00:00+00,)}'"],
    "macaddr8": ["'08:00:2b:01:02:03:04:05'", "'00:00:00:00:00:00:00:00'"],
    "line": ["'{1,-1,0}'", "'{0,1,-2.5}'"],
    "pg_lsn": ["'0/0'", "'16/B374D848'"],
    "xid8": ["'0'", "'7'", "'18446744073709551615'"],
    "jsonpath": ["'$'", "'$.a'", "'$[*] ? (@ > 1)'", "'lax $.a[0 to 1].b'"],
    "byte": ["'0'", "'a'", "'Z'"],
    "floats": ["'{}'", "'{1.5,NULL}'", "'{NaN,1e10}'"],
    "jsonbs": ["'{}'", "'{1,1.0}'", "'{null,NULL}'"],
    "moments": ["'{}'", "'{2020-01-01 00:00+00,NULL}'"],
    "varchars": ["'{}'", "'{a,\"b c\"}'"],
}
#: values at the ends of types, and such as are read in several ways
EXTREMES = {
    "int2": ["-32768", "32767"],
    "int4": ["-2147483648", "2147483647", "32768", "-7"],
    "int8": ["-9223372036854775808", "9223372036854775807", "2147483648", "-7"],
    "numeric": ["'NaN'", "'Infinity'", "'-Infinity'", "0.00000000000000000001", "123456789012345678901234567890.123456789", "-0.005", "0.5", "-2.50", "1e40", "99999.995", "9223372036854775807.5", "2147483647.5"],
    "money2": ["999999.99", "-0.01", "'NaN'"],
    "float8": ["'-Infinity'", "1e308", "5e-324", "'-0'", "1e15", "123456789.12345678", "0.1", "2147483647.5", "9223372036854775807", "0.5", "1.5", "2.5", "1e-5", "100000000000000000000"],
    "float4": ["'NaN'", "'Infinity'", "3.4e38", "1e-45", "16777217", "0.1", "'-0'", "2.5", "32767.5"],
    "text": [
        "'äöü ß'", "'日本語'", r"E'a\n\tb'", r"'a\b'", "'50%_x'", "'a.b.c'", "'  x '", "'-1'", "'1e5'", "'infinity'", "'NaN'", "'true'", "'{1,2}'", "'[1,5)'",
        "'2020-02-29 12:30:15.5+02'", "'BC'", "'P1Y2M3DT4H5M6.7S'", "'1 year ago'", "'January 8, 1999'", "'\"q\"'", "'a''b'", "'O''Reilly & Söhne'", "'(1,2)'",
        "'10.0.0.1/24'", r"E'e\u0301'", "'yes'", "' on '", "'12:30 PM'", "'2147483648'", "'.5'", "'5.'", "'+7'", "'1_000'", "'0x10'", r"'\x616'", r"'\x6z'",
        "'-1 day 02:03'", "'99999999999999999999'",
    ],
    "varchar": ["'äöü'", "'1234567890'", "'a  '", "'-1'"],
    "bpchar": ["'äöü'", "'abcde'", "'     '", "' a'"],
    "date": ["'infinity'", "'-infinity'", "'4714-11-24 BC'", "'5874897-12-31'", "'0001-12-31 BC'", "'0001-01-01'", "'2000-02-29'", "'2021-12-31'", "'1900-03-01'"],
    "timestamp": ["'infinity'", "'-infinity'", "'4714-11-24 00:00:00 BC'", "'294276-12-31 23:59:59.999999'", "'0001-01-01 00:00 BC'", "'2021-03-28 02:30'", "'2021-10-31 02:30'", "'1969-12-31 23:59:59.999999'"],
    "timestamptz": ["'infinity'", "'-infinity'", "'4714-11-24 00:00:00+00 BC'", "'294276-12-31 23:59:59.999999+00'", "'2021-03-28 02:30 Europe/Vienna'", "'2000-01-01 00:00:00.0000005+00'", "'1900-01-01 00:00 America/New_York'"],
    "time": ["'23:59:59.999999'", "'00:00:00.0000005'", "'23:59:60'", "'04:05:06.789 PM'"],
    "timetz": ["'23:59:59.999999-15:59:59'", "'24:00:00+15:59'", "'12:00 EST'"],
    "interval": ["'178000000 years'", "'-178000000 years'", "'1 mon -1 day'", "'-00:00:00.000001'", "'2147483647 days'", "'-1 year 25 hours'", "'1.5 mons'", "'1 day -00:00:01'", "'P1Y2M3DT4H5M6.7S'", "'1 2:03'", "'@ 3 days ago'", "'0.1 weeks'", "'1 century 2 decades'"],
    "bytea": [r"'\x000102ff7f80'", "'abc'", r"'\000\377a'"],
    "jsonb": ["'{\"a\": {\"b\": [1, {\"c\": null}]}, \"\": 1e3}'", r"""'"\u00e4\n"'""", "'123456789012345678901234567890.10'", "'[]'", "'{}'", "'[[1], \"a\", null, true, 1.50]'", "'true'", "'{\"b\": 1, \"a\": 2, \"b\": 3, \"aa\": 4}'"],
    "json": ["'{\"a\": {\"b\": [1, {\"c\": null}]}, \"\": 1e3}'", r"""' [1 , 2.50 ,"\u00e4" ] '""", "'{}'", "'true'"],
    "ints": ["'[0:1]={1,2}'", "'[2:3][-1:0]={{1,2},{3,4}}'", "'{2147483647,-2147483648}'", "'{{1},{2}}'", "'{NULL}'", "'{3,1,2,1}'"],
    "texts": ["'{NULL,\"NULL\",\"\"}'", "'[-1:0]={x,y}'", "'{{a,b},{c,d}}'", r"""'{"a,b","c\\d","e\"f"}'""", "'{äö,日本}'"],
    "numerics": ["'{NaN,Infinity}'", "'{NULL,1.10}'"],
    "range": ["'[-2147483648,2147483646]'", "'(,)'", "'[3,3]'", "'(1,2)'", "'[5,9)'"],
    "inet": ["'10.0.0.1/24'", "'255.255.255.255'", "'0.0.0.0/0'", "'::ffff:1.2.3.4/96'", "'2001:db8::1/64'", "'fe80::/10'"],
    "cidr": ["'0.0.0.0/0'", "'192.168.1.128/25'", "'2001:db8::/32'", "'10.1.2.3/32'"],
    "bits": ["B'111'", "B'010'"],
    "varbit": ["B'1111111111111111111111111111111111'", "B'101'", "B'00000000'"],
    "money": ["'92233720368547758.07'", "'-92233720368547758.08'", "'0.005'", "'$1,234.56'", "'(1.23)'"],
    "macaddr": ["'ff:ff:ff:ff:ff:ff'", "'0800.2b01.0203'"],
    "macaddr8": ["'ff:ff:ff:ff:ff:ff:ff:ff'", "'08:00:2b:ff:fe:01:02:03'"],
    "oid": ["2147483648", "4294967295"],
    "name": ["'äöü'", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "'a\"b'"],
    "numrange": ["'(,)'", "'[1.0,1.00]'", "'[NaN,)'", "'(-Infinity,Infinity)'", "'[0,0)'"],
    "daterange": ["'[2020-01-01,infinity)'", "'[2020-01-01,infinity]'", "'(,)'", "'[-infinity,2020-01-01]'"],
    "tsrange": ["'[-infinity,infinity]'", "'(,)'"],
    "multirange": ["'{[1,2),[2,3)}'", "'{[3,4),[1,2)}'", "'{(,)}'", "'{empty}'", "'{(,1),[5,)}'"],
    "nummultirange": ["'{[1,2],[2,3]}'", "'{(,)}'"],
    "tsvector": ["'a:1,2,16383 b:3A'", "'''x y'':1'", "'b a a'", "'äö:5'"],
    "tsquery": ["'a:*'", "'!!a'", "'a <3> b'", "'(a | b) & !c:AB'", "''", "'''x y'''"],
    "point": ["'(1e308,-1e308)'", "'(NaN,0)'", "'(Infinity,1)'", "'(0.1,0.2)'"],
    "box": ["'(0,0),(0,0)'", "'(-1,-1),(1,1)'", "'(Infinity,1),(0,0)'"],
    "circle": ["'<(0,0),0>'", "'<(3,4),5>'"],
    "lseg": ["'[(0,0),(0,0)]'", "'[(-1,0),(1,0)]'", "'[(0,-1),(0,1)]'"],
    "line": ["'{1,0,0}'", "'{0,1,0}'", "'{2,3,4}'"],
    "path": ["'[(0,0)]'", "'((0,0),(0,2),(2,2),(2,0))'"],
    "polygon": ["'((0,0))'", "'((-1,-1),(-1,3),(3,3),(3,-1))'"],
    "pg_lsn": ["'FFFFFFFF/FFFFFFFF'", "'0/1'"],
    "uuid": ["'{A0EEBC99-9C0B4EF8-BB6D-6BB9BD380A11}'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "byte": [r"'\377'", "'ab'", "'0'"],
    "pair": ["ROW(-2147483648, 'a\"b,c')", "ROW(NULL, '')", "ROW(NULL, NULL)"],
    "floats": ["'{-0,5e-324}'", "'[3:4]={1,2}'"],
    "moods": ["'{ok,NULL,sad}'", "'[0:0]={ok}'"],
    "int8range": ["'[-9223372036854775808,9223372036854775806]'", "'(,)'"],
}
#: the plainest values of each type, for making statements smaller
SIMPLEST = {t: [f"{LITERALS[t][1]}::{TYPES[t]}", f"NULL::{TYPES[t]}"] for t in LITERALS}
SIMPLEST |= {"bool": ["true", "false"], "money2": ["1::numeric(8,2)", "NULL::numeric(8,2)"]}

Operations = dict[str, list[tuple[str, tuple[str, ...]]]]

#: result type → (text with $1 …, argument types)
OPERATIONS: Operations = {
    "int4": [
        ("($1 + $2)", ("int4", "int2")),
        ("($1 - $2)", ("int2", "int2")),
        ("($1 % nullif($2, 0))", ("int4", "int2")),
        ("length($1)", ("text",)),
        ("length($1)", ("bpchar",)),
        ("strpos($1, $2)", ("text", "text")),
        ("ascii($1)", ("text",)),
        ("($1)::int4", ("bool",)),
        ("cardinality($1)", ("ints",)),
        ("array_length($1, 1)", ("texts",)),
        ("array_position($1, $2)", ("texts", "text")),
        ("($1)[1]", ("ints",)),
        ("($1)[2][1]", ("ints",)),
        ("($1 - $2)", ("date", "date")),
        ("extract(year FROM $1)::int4", ("timestamp",)),
        ("($1).a", ("pair",)),
        ("(($1).p).a", ("nested",)),
        ("(($1)[1]).a", ("pairs",)),
        ("lower($1)", ("range",)),
        ("octet_length($1)", ("bytea",)),
        ("jsonb_array_length(CASE WHEN jsonb_typeof($1) = 'array' THEN $1 END)", ("jsonb",)),
        ("position($1 IN $2)", ("text", "text")),
        ("num_nonnulls($1, $2, $3)", ("text", "numeric", "jsonb")),
        ("(SELECT count(*)::int4 FROM unnest($1) u(x) WHERE x > 1)", ("ints",)),
    ],
    "int2": [("abs($1)", ("int2",)), ("(($1)::int4 % 100)::int2", ("int4",))],
    "int8": [("($1 * $2)", ("int2", "int8")), ("($1)::int8", ("int4",)), ("($1 & $2)", ("int8", "int8")), ("char_length($1)::int8", ("varchar",))],
    "numeric": [
        ("($1 + $2)", ("numeric", "numeric")),
        ("($1 * $2)", ("numeric", "int4")),
        ("($1 - $2)", ("money2", "numeric")),
        ("round($1, 1)", ("numeric",)),
        ("trunc($1)", ("numeric",)),
        ("abs($1)", ("numeric",)),
        ("($1)::numeric", ("int4",)),
        ("($1)::numeric(8,2)", ("money2",)),
        ("($1)::numeric(4,1)", ("numeric",)),
        ("($1 / nullif($2, 0))", ("numeric", "int2")),
        ("($1)[1]", ("numerics",)),
        ("extract(epoch FROM $1)", ("interval",)),
        ("extract(second FROM $1)", ("time",)),
        ("($1).n", ("nested",)),
        ("upper($1)", ("numrange",)),
    ],
    "money2": [("($1)::numeric(8,2)", ("int2",))],
    "float8": [("($1 + $2)", ("float8", "float4")), ("abs($1)", ("float8",)), ("($1)::float8", ("numeric",)), ("floor($1)", ("float8",)), ("($1)[0]", ("point",)), ("lower($1)", ("floatrange",))],
    "float4": [("(- $1)", ("float4",)), ("($1)::float4", ("int2",))],
    "text": [
        ("($1 || $2)", ("text", "text")),
        ("($1 || $2)", ("varchar", "text")),
        ("($1 || $2)", ("text", "numeric")),
        ("concat($1, $2)", ("text", "numeric")),
        ("concat_ws(',', $1, $2)", ("bpchar", "date")),
        ("format('%s-%I-%L', $1, $2, $3)", ("numeric", "varchar", "interval")),
        ("upper($1)", ("text",)),
        ("lower($1)", ("varchar",)),
        ("substr($1, $2)", ("text", "int4")),
        ("substring($1 FROM 1 FOR 2)", ("text",)),
        ("trim($1)", ("text",)),
        ("trim(BOTH $2 FROM $1)", ("text", "text")),
        ("overlay($1 PLACING $2 FROM 1)", ("text", "text")),
        ("replace($1, $2, $3)", ("text", "text", "text")),
        ("left($1, 2)", ("text",)),
        ("reverse($1)", ("text",)),
        ("lpad($1, 3, '*')", ("text",)),
        ("split_part($1, '.', 1)", ("text",)),
        ("regexp_replace($1, '[0-9]', $2)", ("text", "text")),
        ("($1 COLLATE \"C\")", ("text",)),
        ("($1 COLLATE \"POSIX\")", ("text",)),
        ("($1)::text", ("pair",)),
        ("($1)::text", ("nested",)),
        ("($1)::text", ("pairs",)),
        ("($1)::text", ("mood",)),
        ("($1)::text", ("ints",)),
        ("($1)::text", ("floatrange",)),
        ("($1)[2]", ("texts",)),
        ("($1 ->> 'a')", ("jsonb",)),
        ("($1 ->> 'a')", ("json",)),
        ("(jsonb_path_query_first($1, '$.a') #>> '{}')", ("jsonb",)),
        ("array_to_string($1, ',')", ("texts",)),
        ("array_to_string($1, ',', '*')", ("ints",)),
        ("($1).b", ("pair",)),
        ("to_char($1, 'YYYY-MM-DD')", ("timestamp",)),
        ("to_char($1, 'FM990.00')", ("numeric",)),
        ("host($1)", ("inet",)),
        ("encode($1, 'hex')", ("bytea",)),
        ("pg_typeof($1)::text", ("small",)),
    ],
    "varchar": [("($1)::varchar(10)", ("text",)), ("($1)::varchar(2)::varchar(10)", ("text",))],
    "bpchar": [("($1)::char(5)", ("text",))],
    "date": [("($1 + $2)", ("date", "int2")), ("($1)::date", ("timestamp",)), ("lower($1)", ("daterange",)), ("($1)[1]", ("dates",))],
    "timestamp": [
        ("($1 + $2)", ("timestamp", "interval")),
        ("($1)::timestamp", ("date",)),
        ("($1)::timestamp(0)", ("timestamp",)),
        ("date_trunc('month', $1)", ("timestamp",)),
        ("($1 AT TIME ZONE 'UTC')", ("timestamptz",)),
        ("upper($1)", ("tsrange",)),
    ],
    "timestamptz": [("($1 - $2)", ("timestamptz", "interval")), ("($1 AT TIME ZONE 'UTC')", ("timestamp",)), ("($1 AT TIME ZONE 'Europe/Vienna')", ("timestamp",))],
    "time": [("($1)::time", ("timestamp",)), ("($1)::time(0)", ("time",)), ("($1 + interval '1 hour')", ("time",))],
    "timetz": [("($1)::timetz", ("time",)), ("($1 AT TIME ZONE '+03')", ("timetz",))],
    "interval": [
        ("($1 + $2)", ("interval", "interval")),
        ("($1 - $2)", ("timestamp", "timestamp")),
        ("($1 * $2)", ("interval", "int2")),
        ("justify_days($1)", ("interval",)),
        ("(- $1)", ("interval",)),
        ("($1)::interval day to minute", ("interval",)),
        ("($1)::interval second(0)", ("interval",)),
    ],
    "bytea": [("($1 || $2)", ("bytea", "bytea")), ("decode(md5($1), 'hex')", ("text",))],
    "jsonb": [
        ("($1 || $2)", ("jsonb", "jsonb")),
        ("to_jsonb($1)", ("text",)),
        ("to_jsonb($1)", ("numeric",)),
        ("to_jsonb($1)", ("nested",)),
        ("to_jsonb($1)", ("pairs",)),
        ("to_jsonb($1)", ("timestamptz",)),
        ("jsonb_build_object('k', $1)", ("int4",)),
        ("jsonb_build_array($1, $2, $3)", ("money", "range", "bools")),
        ("jsonb_set($1, '{a}', $2)", ("jsonb", "jsonb")),
        ("($1 -> 'a')", ("jsonb",)),
        ("($1)['a']", ("jsonb",)),
        ("to_jsonb($1)", ("ints",)),
    ],
    "json": [("to_json($1)", ("texts",)), ("row_to_json($1)", ("pair",)), ("($1 -> 'a')", ("json",)), ("json_build_object('k', $1)", ("date",))],
    "ints": [("($1 || $2)", ("ints", "int4")), ("ARRAY[$1, $2]", ("int4", "int4")), ("($1)[1:2]", ("ints",)), ("array_remove($1, $2)", ("ints", "int4")), ("array_replace($1, $2, $3)", ("ints", "int4", "int4"))],
    "texts": [("ARRAY[$1, $2]", ("text", "text")), ("string_to_array($1, '.')", ("text",)), ("array_append($1, $2)", ("texts", "text")), ("regexp_split_to_array($1, ' ')", ("text",))],
    "numerics": [("ARRAY[$1, $2]", ("numeric", "numeric"))],
    "bools": [("ARRAY[$1, $2]", ("bool", "bool"))],
    "dates": [("ARRAY[$1]", ("date",))],
    "moods": [("ARRAY[$1, $2]", ("mood", "mood")), ("enum_range($1)", ("mood",)), ("($1).m", ("nested",))],
    "pairs": [("ARRAY[$1, $2]", ("pair", "pair"))],
    "mood": [("($1)[1]", ("moods",)), ("enum_last($1)", ("mood",)), ("(CASE WHEN length($1) > 1 THEN 'ok' ELSE 'sad' END)::mood", ("text",))],
    "range": [("int4range(least($1, $2), greatest($1, $2))", ("int2", "int2")), ("int4range(least($1, $2), greatest($1, $2), '[]')", ("int2", "int2")), ("range_merge($1, $2)", ("range", "range"))],
    "numrange": [("numrange(least($1, $2), greatest($1, $2), '(]')", ("numeric", "numeric"))],
    "multirange": [("int4multirange($1)", ("range",)), ("int4multirange($1, $2)", ("range", "range"))],
    "inet": [("($1 + 1)", ("inet",)), ("set_masklen($1, 8)", ("inet",))],
    "pair": [("ROW($1, $2)::pair", ("int4", "text")), ("($1).p", ("nested",)), ("($1)[1]", ("pairs",))],
    "nested": [("ROW($1, $2, $3)::nested", ("pair", "moods", "numeric"))],
    "small": [("($1)::small", ("int2",))],
    "short": [("left($1, 8)::short", ("text",))],
    "floatrange": [("floatrange(least($1, $2), greatest($1, $2))", ("float8", "float8"))],
    "tsvector": [("to_tsvector('simple', $1)", ("text",)), ("setweight($1, 'B')", ("tsvector",))],
    "tsquery": [("plainto_tsquery('simple', $1)", ("text",))],
    "point": [("point($1, $2)", ("float4", "float4"))],
    "bool": [
        ("($1 LIKE $2 || '%')", ("text", "text")),
        ("($1 NOT LIKE $2)", ("bpchar", "text")),
        ("($1 ILIKE $2 || '_')", ("text", "text")),
        ("($1 SIMILAR TO '[a-z]*')", ("text",)),
        ("($1 ~ '^[0-9]')", ("text",)),
        ("starts_with($1, $2)", ("text", "text")),
        ("($1 ? 'a')", ("jsonb",)),
        ("($1 = ANY ($2))", ("int4", "ints")),
        ("($1 = ANY ($2))", ("text", "texts")),
        ("($1 = ANY ($2))", ("mood", "moods")),
        ("($1 = ANY ($2))", ("pair", "pairs")),
        ("($1 <> ALL ($2))", ("numeric", "numerics")),
        ("($1 < ANY ($2))", ("numeric", "numerics")),
        ("($1 <> ALL ($2))", ("interval", "intervals")),
        ("isempty($1)", ("range",)),
        ("(($1, $2) < ($3, $4))", ("numeric", "text", "numeric", "text")),
        ("(($1, $2) = ($3, $4))", ("text", "interval", "text", "interval")),
        ("(ROW($1, $2) IS DISTINCT FROM ROW($3, $4))", ("bpchar", "numeric", "bpchar", "numeric")),
        ("(($1, $2) IN (($3, $4)))", ("date", "jsonb", "date", "jsonb")),
        ("(($1, $2) OVERLAPS ($3, $4))", ("date", "date", "date", "date")),
        ("(ROW($1, $2) IS NOT NULL)", ("text", "int4")),
        ("(($1 COLLATE \"C\") < $2)", ("text", "text")),
        ("($1 = $2)", ("bpchar", "text")),
        ("($1 = $2)", ("int4", "numeric")),
        ("($1 < $2)", ("int8", "float8")),
        ("($1 >= $2)", ("date", "timestamp")),
    ],
}


def catalog(name: str) -> list[dict[str, str]]:
    """A catalog of PostgreSQL 15, as the server has it."""
    csv.field_size_limit(sys.maxsize)
    with open(ROOT / name, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


_BY_OID = {row["oid"]: row["typname"] for row in catalog("types/data/pg_type.tsv")}
#: the catalogs' name of a type → the short one
_SHORT = {
    **{t: t for t in TYPES if t not in ("money2", "pair", "pairs", "mood", "moods", "small", "short", "nested", "floatrange", "byte", "floats", "jsonbs", "moments", "varchars")},
    "_int4": "ints", "_text": "texts", "_numeric": "numerics", "_bool": "bools", "_date": "dates", "_interval": "intervals",
    "int4range": "range", "int4multirange": "multirange", "bit": "bits", "char": "byte", "_float8": "floats", "_jsonb": "jsonbs", "_timestamptz": "moments", "_varchar": "varchars",
}
#: what the polymorphic types of one call can be
_ARRAYS = [("int4", "ints"), ("text", "texts"), ("numeric", "numerics"), ("bool", "bools"), ("date", "dates"), ("mood", "moods"), ("pair", "pairs"), ("interval", "intervals"), ("float8", "floats"), ("jsonb", "jsonbs"), ("timestamptz", "moments")]
_RANGES = [("int4", "range", "multirange"), ("numeric", "numrange", "nummultirange"), ("date", "daterange", "datemultirange"), ("int8", "int8range", "int8multirange"), ("timestamp", "tsrange", "tsmultirange"), ("timestamptz", "tstzrange", "tstzmultirange")]
_PLAIN_RANGES = [("float8", "floatrange")]
_POLYMORPHIC = re.compile(r"any(compatible)?(element|array|range|multirange|nonarray|enum)?$")


def _instances(args: list[str], result: str) -> list[tuple[tuple[str, ...], str]]:
    """The signatures over the types here that a catalog's one stands for."""
    everything = [*args, result]
    if not any(_POLYMORPHIC.match(t) for t in everything):
        found = [_SHORT.get(t, "") for t in everything]
        return [(tuple(found[:-1]), found[-1])] if all(found) else []
    if "any" in everything:
        return []
    bindings: list[dict[str, str]] = []
    kinds = {t.replace("compatible", "") for t in everything if _POLYMORPHIC.match(t)}
    if "anymultirange" in kinds:
        bindings = [{"element": e, "range": r, "multirange": m} for e, r, m in _RANGES]
    elif "anyrange" in kinds:
        bindings = [{"element": e, "range": r} for e, r, *_ in [*_RANGES, *_PLAIN_RANGES]]
    elif "anyarray" in kinds:
        bindings = [{"element": e, "": e, "array": a} for e, a in _ARRAYS]
    elif "anyenum" in kinds:
        bindings = [{"enum": "mood"}]
    out = []
    for binding in bindings:
        names = []
        for t in everything:
            match = _POLYMORPHIC.match(t)
            names.append(binding.get(match[2] or "element", "") if match else _SHORT.get(t, ""))
        if all(names):
            out.append((tuple(names[:-1]), names[-1]))
    return out


#: the last digits are the C library's, or the work grows beyond bounds with the value
_LEFT_OUT_OPERATORS = {"^", "|/", "||/"}
_LEFT_OUT = re.compile(
    r"(pg_|hash|jsonb_hash|.*(in|out|recv|send|hash|_support|_larger|_smaller|_transfn|_accum|_final|sortsupport)$|inet_client|inet_server|current_|has_|txid|to_ascii|convert|"
    r"sin|cos|tan|asin|acos|atan|sinh|cosh|tanh|exp|ln|log|power|pow|dexp|dlog|dsqrt|sqrt|cbrt|dpow|repeat|lpad|rpad|factorial|bit$|varbit$|cot|asinh|acosh|atanh|degrees|radians|"
    r"getdatabaseencoding|numeric_(fac|power)|gamma|like_|regexp|similar|random|ts_rewrite|bpchar$|varchar$|setseed|oid8)"
)
#: functions that are stable only for settings that these runs do not change
_STABLE = {"to_char", "to_date", "to_timestamp", "to_number", "date_trunc", "timezone", "age", "date_part", "extract", "array_to_string", "to_json", "to_jsonb", "json_build_array", "jsonb_agg"}


def _implemented() -> set[str]:
    """The symbols and signatures that the server's table of functions names."""
    rows: set[str] = set()
    for file in (ROOT / "sql" / "src" / "builtins").glob("*.rs"):
        for literal in re.findall(r'\brow\(\s*"((?:[^"\\]|\\.|\\\n)*)"', file.read_text()):
            rows.update(re.sub(r"\\\n\s*", "", literal).split())
    return rows


def from_catalogs() -> Operations:
    """Every operator, cast and immutable function over the types here."""
    out: Operations = {}
    codes = set()
    for row in catalog("sql/data/pg_operator.tsv"):
        codes.add(row["oprcode"])
        args = [_BY_OID.get(row[c], "") for c in ("oprleft", "oprright") if row[c] != "0"]
        if row["oprname"] in _LEFT_OUT_OPERATORS or row["oprname"].startswith("~~") and "text" not in args:
            continue
        for types, result in _instances(args, _BY_OID.get(row["oprresult"], "")):
            template = f"($1 {row['oprname']} $2)" if len(types) == 2 else f"({row['oprname']} $1)"
            out.setdefault(result, []).append((template, types))
    casts = [(_SHORT.get(_BY_OID.get(r["castsource"], ""), ""), _SHORT.get(_BY_OID.get(r["casttarget"], ""), "")) for r in catalog("sql/data/pg_cast.tsv")]
    casts += [("mood", "text"), ("mood", "varchar"), ("small", "numeric"), ("small", "int8"), ("short", "varchar"), ("ints", "texts"), ("numerics", "ints"), ("texts", "intervals"), ("text", "mood")]
    casts += [(t, "text") for t in TYPES] + [(t, "varchar") for t in TYPES] + [("text", t) for t in TYPES if t not in ("text", "pair", "nested", "money2")]
    for source, target in casts:
        if source and target and source != target:
            out.setdefault(target, []).append((f"($1)::{TYPES[target]}", (source,)))
    implemented = _implemented()
    for row in catalog("sql/data/pg_proc.tsv"):
        if row["prokind"] != "f" or row["proretset"] != "f" or row["oid"] in codes or row["provariadic"] != "0" or _LEFT_OUT.match(row["proname"]):
            continue
        if row["provolatile"] != "i" and row["proname"] not in _STABLE:
            continue
        args = [_BY_OID.get(o, "") for o in row["proargtypes"].split()]
        if not args or not {row["prosrc"], f"{row['proname']}({','.join(args)})"} & implemented:
            continue
        for types, result in _instances(args, _BY_OID.get(row["prorettype"], "")):
            marks = ", ".join(f"${i + 1}" for i in range(len(types)))
            name = row["proname"] if re.fullmatch(r"[a-z_0-9]+", row["proname"]) else f'"{row["proname"]}"'
            if name in ("time", "timestamp", "interval", "timetz", "timestamptz", "overlay", "position", "substring", "char", "bit", "numeric", "text", "name", "overlaps"):
                name = f'pg_catalog."{name}"'
            # (of a comparison only the sign is defined)
            call = f"sign({name}({marks}))::int4" if name.endswith("cmp") else f"{name}({marks})"
            out.setdefault(result, []).append((call, types))
    return out


CATALOG_OPERATIONS = from_catalogs()
ORDERED = [t for t in TYPES if t != "money2" and t not in UNORDERED]
_EXTREMES = ("int4", "numeric", "text", "date", "interval", "bpchar", "time", "mood", "timestamptz", "float8", "inet", "money", "timetz", "oid", "ints", "texts", "moods", "small", "short", "varchar", "int2", "float4")
#: aggregates: text with $1 … → result type, argument types
AGGREGATES = [
    ("count(*)", "int8", ()),
    ("count($1)", "int8", None),
    ("count(DISTINCT $1)", "int8", None),
    ("min($1)", "=", _EXTREMES),
    ("max($1)", "=", _EXTREMES),
    ("sum($1)", "numeric", ("numeric", "int8")),
    ("sum(DISTINCT $1)", "numeric", ("numeric",)),
    ("sum($1)", "int8", ("int4", "int2", "small")),
    ("sum($1)", "interval", ("interval",)),
    ("sum($1)", "money", ("money",)),
    ("bool_and($1)", "bool", ("bool",)),
    ("every($1)", "bool", ("bool",)),
    ("bool_or($1)", "bool", ("bool",)),
    ("bit_or($1)", "int4", ("int4",)),
    ("bit_and($1)", "bits", ("bits",)),
    ("bit_xor($1)", "int8", ("int8",)),
    ("round(avg($1), 3)", "numeric", ("numeric", "int4")),
    ("avg($1)", "interval", ("interval",)),
    ("round(stddev_samp($1), 3)", "numeric", ("numeric", "int4")),
    ("variance($1)", "numeric", ("int2",)),
    ("array_agg($1 ORDER BY $1)", "@", ("int4", "text", "numeric", "bool", "date", "mood", "pair", "interval")),
    ("array_agg(DISTINCT $1)", "@", ("int4", "text", "bool", "date", "mood", "pair")),
    ("string_agg($1, ',' ORDER BY $1)", "text", ("text", "varchar")),
    ("string_agg(DISTINCT $1, ',' ORDER BY $1)", "text", ("text", "varchar")),
    ("bit_or($1)", "int2", ("int2",)),
    ("string_agg($1, '' ORDER BY $1 DESC NULLS LAST)", "text", ("text",)),
    ("jsonb_agg($1 ORDER BY $1)", "jsonb", ("int4", "text", "date", "pair", "range", "moods")),
    ("range_agg($1)", "multirange", ("range",)),
    ("range_agg($1)", "nummultirange", ("numrange",)),
    ("range_intersect_agg($1)", "range", ("range",)),
    ("range_intersect_agg($1)", "datemultirange", ("datemultirange",)),
    ("percentile_disc(0.5) WITHIN GROUP (ORDER BY $1)", "=", ("numeric", "text", "interval", "date", "mood")),
    ("percentile_cont(0.5) WITHIN GROUP (ORDER BY $1)", "interval", ("interval",)),
    ("rank(1) WITHIN GROUP (ORDER BY $1)", "int8", ("int4", "numeric")),
]
ARRAYS = {e: a for e, a in _ARRAYS}
WINDOWS = [
    ("row_number()", "int8", ()),
    ("rank()", "int8", ()),
    ("dense_rank()", "int8", ()),
    ("ntile(3)", "int4", ()),
    ("percent_rank()", "float8", ()),
    ("lag($1)", "=", ("int4", "text", "numeric", "date", "pair", "ints")),
    ("lag($1, 2)", "=", ("int4", "text", "jsonb")),
    ("lead($1)", "=", ("int4", "text", "numeric", "interval", "mood")),
    ("lead($1, 1, $1)", "=", ("int4", "text", "numeric", "interval")),
    ("first_value($1)", "=", ("text", "numeric", "jsonb", "range")),
    ("last_value($1)", "=", ("text", "int4", "bool", "date")),
    ("nth_value($1, 2)", "=", ("text", "int4", "timestamptz")),
    ("count($1)", "int8", None),
    ("count(*)", "int8", ()),
    ("sum($1)", "numeric", ("numeric",)),
    ("sum($1)", "int8", ("int4",)),
    ("bool_or($1)", "bool", ("bool",)),
    ("max($1)", "=", ("text", "interval", "numeric", "mood")),
    ("string_agg($1, ',')", "text", ("text",)),
    ("array_agg($1)", "@", ("int4", "text", "mood")),
]
#: the ends of window frames
FRAMES = [
    " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW",
    " ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
    " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    " GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING EXCLUDE TIES",
    " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE GROUP",
    " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
]
#: frames by distance: the type of the only key → the distance
DISTANCES = {"int4": "1", "numeric": "1.5", "interval": "interval '1 day'", "date": "interval '1 mon'", "timestamp": "interval '1 year'", "float8": "1.5", "time": "interval '1 hour'"}
#: functions that give rows: text → types of the columns, of the arguments
ROW_FUNCTIONS = [
    ("generate_series($1, $1 + 2)", ("int4",), ("int2",)),
    ("generate_series(1, 3)", ("int4",), ()),
    ("generate_series($1, $1 + interval '2 days', interval '1 day')", ("timestamp",), ("timestamp",)),
    ("unnest($1)", ("int4",), ("ints",)),
    ("unnest($1)", ("text",), ("texts",)),
    ("unnest($1)", ("mood",), ("moods",)),
    ("unnest($1)", ("range",), ("multirange",)),
    ("unnest($1, $2)", ("int4", "text"), ("ints", "texts")),
    ("regexp_split_to_table($1, ' ')", ("text",), ("text",)),
    ("jsonb_array_elements(CASE WHEN jsonb_typeof($1) = 'array' THEN $1 END)", ("jsonb",), ("jsonb",)),
    ("jsonb_each(CASE WHEN jsonb_typeof($1) = 'object' THEN $1 END)", ("text", "jsonb"), ("jsonb",)),
    ("jsonb_object_keys(CASE WHEN jsonb_typeof($1) = 'object' THEN $1 END)", ("text",), ("jsonb",)),
    ("string_to_table($1, '.')", ("text",), ("text",)),
    ("generate_subscripts($1, 1)", ("int4",), ("ints",)),
]
#: distinct values of a type in ascending order, for the bounds of partitions
BOUNDS = {
    "int4": ["-1", "1", "2", "10"],
    "int8": ["0", "2", "10000000000"],
    "text": ["'1'", "'A'", "'a'", "'b c'"],
    "varchar": ["'1'", "'a'"],
    "numeric": ["0", "1.5", "10"],
    "date": ["'2000-01-01'", "'2020-01-01'", "'2020-02-01'"],
    "timestamptz": ["'2000-01-01 00:00+00'", "'2020-02-29 10:30:15.5+00'"],
    "interval": ["'0'", "'1 day'", "'31 days'"],
    "bool": ["false", "true"],
    "mood": ["'sad'", "'ok'", "'happy'"],
    "uuid": ["'00000000-0000-0000-0000-000000000001'", "'f0000000-0000-0000-0000-000000000000'"],
    "time": ["'00:00'", "'12:00'"],
}
#: types by whose values rows can be hashed to partitions
HASHED = ["int4", "int8", "text", "varchar", "date", "timestamptz", "bool", "uuid", "int2"]
