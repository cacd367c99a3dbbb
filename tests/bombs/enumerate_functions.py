"""Calls of every function of pg_proc with large values of its arguments' types."""

from __future__ import annotations

import random
import time
from typing import Iterator

from pgwire import Connection

# By type: values that are large, deep, or far away. The sizes are such that one value is no bomb by itself.
LARGE = {
    "text": ["repeat('ab', 2000000)", "repeat('a', 20000)", "repeat('(', 5000)", "repeat('a.*', 3000)", "repeat('1 ', 500000)"],
    "bytea": ["convert_to(repeat('ab', 2000000), 'UTF8')"],
    "int4": ["2147483647", "100000000", "0", "-2147483648"],
    "int8": ["9223372036854775807", "100000000000", "1"],
    "int2": ["32767"],
    "numeric": ["repeat('9', 100000)::numeric", "('0.' || repeat('7', 15000))::numeric", "1e131000", "3"],
    "float8": ["1e308", "1e-308", "0.5"],
    "float4": ["1e38"],
    "bool": ["true"],
    "json": ["('[' || repeat('1,', 300000) || '1]')::json", "(repeat('[', 900) || repeat(']', 900))::json"],
    "jsonb": ["('[' || repeat('1,', 300000) || '1]')::jsonb", "(repeat('[', 900) || repeat(']', 900))::jsonb"],
    "jsonpath": ["'$[*] ? (@ > 1 && exists ($[*]))'::jsonpath", "'$.**'::jsonpath"],
    "tsvector": ["(SELECT string_agg('w' || g, ' ') FROM generate_series(1, 30000) g)::tsvector"],
    "tsquery": ["(SELECT string_agg('w' || g, ' & ') FROM generate_series(1, 2000) g)::tsquery", "'a & b'::tsquery"],
    "_text": ["array_fill('ab'::text, ARRAY[200000])"],
    "_int4": ["array_fill(1, ARRAY[300000])", "ARRAY[100000, 100]"],
    "_int8": ["array_fill(1::bigint, ARRAY[300000])"],
    "_float8": ["array_fill(1.5::float8, ARRAY[200000])"],
    "anyarray": ["array_fill(1, ARRAY[300000])"],
    "anycompatiblearray": ["array_fill(1, ARRAY[300000])"],
    "anyelement": ["1"],
    "anycompatible": ["1"],
    "any": ["1", "repeat('ab', 1000000)"],
    "polygon": ["('(' || repeat('(1,2),(3,1),', 3000) || '(0,0))')::polygon"],
    "path": ["('[' || repeat('(1,2),(3,1),', 10000) || '(0,0)]')::path"],
    "varbit": ["repeat('10', 1000000)::varbit"],
    "bit": ["repeat('10', 1000000)::varbit::bit(2000000)"],
    "date": ["'5874897-01-01'::date", "'2000-01-01'::date"],
    "timestamp": ["'294276-01-01'::timestamp", "'2000-01-01'::timestamp"],
    "timestamptz": ["'294276-01-01'::timestamptz"],
    "interval": ["'178000000 years'::interval", "'1 microsecond'::interval"],
    "regclass": ["'t'::regclass"],
    "oid": ["'t'::regclass::oid", "'endless'::regclass::oid"],
    "name": ["'public'::name"],
    "int4range": ["'[1,2147483640)'::int4range"],
    "nummultirange": ["(SELECT range_agg(numrange(g * 2, g * 2 + 1)) FROM generate_series(1, 20000) g)"],
    "int4multirange": ["(SELECT range_agg(int4range(g * 2, g * 2 + 1)) FROM generate_series(1, 20000) g)"],
    "anyrange": ["'[1,2147483640)'::int4range"],
    "anymultirange": ["(SELECT range_agg(int4range(g * 2, g * 2 + 1)) FROM generate_series(1, 20000) g)"],
    "inet": ["'10.0.0.0/8'::inet"],
    "uuid": ["'00000000-0000-0000-0000-000000000001'::uuid"],
    "money": ["'92233720368547758.07'::money"],
    "regconfig": ["'english'::regconfig"],
    "bpchar": ["repeat('ab', 1000000)::bpchar"],
}
# They end other sessions or the server, change it for the others, or only wait.
LEFT_OUT = ("pg_terminate", "pg_cancel", "pg_reload", "pg_promote", "pg_sleep", "lo_export", "lo_import", "pg_advisory", "pg_stat_reset",
            "pg_notify", "pg_switch", "pg_rotate", "pg_file", "set_config")


def calls(connection: Connection, seconds: float, seed: int) -> Iterator[tuple[str, str]]:
    """Names and statements, in random order, for so many seconds."""
    rows = connection.query(
        "SELECT p.proname, string_agg(t.typname, ',' ORDER BY a.n), p.prokind FROM pg_proc p, "
        "LATERAL unnest(p.proargtypes::oid[]) WITH ORDINALITY AS a(type, n) JOIN pg_type t ON t.oid = a.type "
        "WHERE p.prokind IN ('f', 'a') AND p.pronargs > 0 GROUP BY p.oid, p.proname, p.prokind ORDER BY p.oid"
    )
    chosen = random.Random(seed)
    chosen.shuffle(rows)
    end = time.monotonic() + seconds
    for name, types, kind in rows:
        if time.monotonic() > end:
            return
        if name is None or types is None or name.startswith(LEFT_OUT):
            continue
        alternatives = [LARGE.get(ty) for ty in types.split(",")]
        if any(a is None for a in alternatives):
            continue
        arguments = ", ".join(chosen.choice(a) for a in alternatives if a)
        source = " FROM generate_series(1, 300)" if kind == "a" else ""
        yield f"{name}({types})", f'SELECT count(*) FROM (SELECT "{name}"({arguments}){source}) AS x'
