#!/usr/bin/env python3
"""Records results of PostgreSQL's operators and functions on single types, as test vectors of the crate `types`.

usage: ORACLE_VERSION=18 tools/oracle.sh gen/operator_vectors.py

Writes pgsqlite/crates/types/tests/vectors/operators.tsv in COPY's text format, one row per call:
operation, three arguments (text forms), the result's text form or SQLSTATE and message. The session's zone is
America/New_York.

Rows of timestamp_since with an infinite timestamp and those of the zone EST5EDT are kept from PostgreSQL 15: pgsqlite has no infinite intervals,
and the zones of 18's package are older."""

import itertools
import random
import subprocess
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "pgsqlite/crates/types/tests/vectors/operators.tsv"
rng = random.Random(15)

# operation → SQL over %1$L, %2$L, %3$L
SQL = {
    "numeric_add": "%1$L::numeric + %2$L::numeric", "numeric_sub": "%1$L::numeric - %2$L::numeric", "numeric_mul": "%1$L::numeric * %2$L::numeric",
    "numeric_div": "%1$L::numeric / %2$L::numeric", "numeric_mod": "%1$L::numeric %% %2$L::numeric", "numeric_div_trunc": "div(%1$L::numeric, %2$L::numeric)",
    "numeric_power": "power(%1$L::numeric, %2$L::numeric)", "numeric_log": "log(%2$L::numeric, %1$L::numeric)", "numeric_gcd": "gcd(%1$L::numeric, %2$L::numeric)",
    "numeric_lcm": "lcm(%1$L::numeric, %2$L::numeric)", "numeric_cmp": "btnumeric_cmp_(%1$L, %2$L)", "numeric_sqrt": "sqrt(%1$L::numeric)", "numeric_exp": "exp(%1$L::numeric)",
    "numeric_ln": "ln(%1$L::numeric)", "numeric_ceil": "ceil(%1$L::numeric)", "numeric_floor": "floor(%1$L::numeric)", "numeric_abs": "abs(%1$L::numeric)", "numeric_sign": "sign(%1$L::numeric)",
    "numeric_neg": "- %1$L::numeric", "numeric_trim_scale": "trim_scale(%1$L::numeric)", "numeric_scale": "scale(%1$L::numeric)", "numeric_min_scale": "min_scale(%1$L::numeric)",
    "numeric_round": "round(%1$L::numeric, %2$L::int)", "numeric_trunc": "trunc(%1$L::numeric, %2$L::int)", "numeric_int4": "%1$L::numeric::int4", "numeric_int8": "%1$L::numeric::int8",
    "numeric_float8": "%1$L::numeric::float8", "float8_numeric": "%1$L::float8::numeric", "float4_numeric": "%1$L::float4::numeric", "factorial": "factorial(%1$L::int8)",
    "timestamp_add": "%1$L::timestamp + %2$L::interval", "timestamp_sub": "%1$L::timestamp - %2$L::interval", "timestamptz_add": "%1$L::timestamptz + %2$L::interval",
    "timestamptz_sub": "%1$L::timestamptz - %2$L::interval", "timestamp_since": "%1$L::timestamp - %2$L::timestamp", "timestamp_age": "age(%1$L::timestamp, %2$L::timestamp)",
    "timestamp_extract": "extract(%2$s from %1$L::timestamp)", "timestamptz_extract": "extract(%2$s from %1$L::timestamptz)", "date_extract": "extract(%2$s from %1$L::date)",
    "time_extract": "extract(%2$s from %1$L::time)", "timetz_extract": "extract(%2$s from %1$L::timetz)", "interval_extract": "extract(%2$s from %1$L::interval)",
    "timestamp_trunc": "date_trunc(%2$L, %1$L::timestamp)", "timestamptz_trunc": "date_trunc(%2$L, %1$L::timestamptz)", "interval_trunc": "date_trunc(%2$L, %1$L::interval)",
    "date_bin": "date_bin(%1$L::interval, %2$L::timestamp, %3$L::timestamp)", "justify_hours": "justify_hours(%1$L::interval)", "justify_days": "justify_days(%1$L::interval)",
    "justify": "justify_interval(%1$L::interval)", "interval_mul": "%1$L::interval * %2$L::float8", "interval_div": "%1$L::interval / %2$L::float8", "interval_add": "%1$L::interval + %2$L::interval",
    "interval_sub": "%1$L::interval - %2$L::interval", "interval_cmp": "interval_cmp(%1$L::interval, %2$L::interval)", "timestamptz_zone": "%1$L::timestamptz at time zone %2$L", "timestamp_zone": "%1$L::timestamp at time zone %2$L",
    "time_add": "%1$L::time + %2$L::interval", "timetz_cmp": "timetz_cmp(%1$L::timetz, %2$L::timetz)", "jsonb_cmp": "sign(jsonb_cmp(%1$L::jsonb, %2$L::jsonb))::int", "make_date": "make_date(%1$L::int, %2$L::int, %3$L::int)",
    "make_time": "make_time(%1$L::int, %2$L::int, %3$L::float8)", "date_timestamptz": "%1$L::date::timestamptz", "int_array_cmp": "btarraycmp(%1$L::int[], %2$L::int[])",
    "numeric_array_cmp": "btarraycmp(%1$L::numeric[], %2$L::numeric[])", "text_array_cmp": "btarraycmp(%1$L::text[], %2$L::text[])", "to_timestamp": "to_timestamp(%1$L::float8)",
    "date_add": "%1$L::date + %2$L::int",
}
SQL["numeric_cmp"] = "numeric_cmp(%1$L::numeric, %2$L::numeric)"

NUMS = ["0", "0.00", "1", "-1", "2", "3", "7", "10", "0.1", "-0.1", "0.5", "1.5", "-2.5", "2.50", "99.99", "100", "1234567890123456789", "12345678901234567890123456789012345678901234567890",
        "0.00000000000000000001", "1e30", "1e-30", "3.14159265358979323846", "NaN", "Infinity", "-Infinity", "9999", "10000", "0.9999", "1.0001", "-7", "6", "12", "18.0", "123.456"]
SMALL = [n for n in NUMS if len(n) < 12]


def numeric_rows():
    for op in ("add", "sub", "mul", "div", "mod", "div_trunc", "cmp"):
        for a, b in itertools.product(NUMS, NUMS):
            yield f"numeric_{op}", a, b, ""
    for op in ("gcd", "lcm"):
        for a, b in itertools.product(SMALL, SMALL):
            yield f"numeric_{op}", a, b, ""
    for a, b in itertools.product(NUMS + ["1e10", "0.001"], ["0", "1", "-1", "2", "-3", "0.5", "-0.5", "10", "100", "-100", "1.5", "2.0", "33.3", "NaN", "Infinity", "-Infinity", "3", "-2.5", "0.00001", "1e10"]):
        yield "numeric_power", a, b, ""
    for a, b in itertools.product(NUMS, ["2", "10", "0.5", "3", "1", "0", "-1", "1.0001", "NaN", "Infinity", "1e30", "123.456"]):
        yield "numeric_log", a, b, ""
    unary = NUMS + ["5000", "-5000", "6000", "700", "-700", "0.95", "1.05", "1.0000001", "0.99999999999", "1e100", "1e-100", "2.00000000000000000000000000000000001", "20.085536923187667740928529654581717896987907838554150143378934229698845878091973731204497160253017702360717638792882"]
    unary += [f"{rng.uniform(0, 10 ** rng.randint(-8, 8)):.{rng.randint(0, 15)}f}" for _ in range(60)]
    for op in ("sqrt", "exp", "ln", "ceil", "floor", "abs", "sign", "neg", "trim_scale", "scale", "min_scale", "int4", "int8", "float8"):
        for a in unary + ["2147483647.4", "2147483647.5", "-2147483648.5", "9223372036854775807.4", "9223372036854775807.5", "1.100", "-0.5", "0.4999", "1e400"]:
            yield f"numeric_{op}", a, "", ""
    for op in ("round", "trunc"):
        for a in unary[:40] + ["1234.5678", "-1234.5678", "0.05", "0.005", "999.995", "5", "55", "-55"]:
            for n in ("0", "1", "2", "-1", "-2", "-3", "5", "30"):
                yield f"numeric_{op}", a, n, ""
    for a in ["0.1", "0.3", "1e15", "1e20", "123456789.123456789", "1e-10", "NaN", "Infinity", "-0", "0.30000000000000004", "1e300"]:
        yield "float8_numeric", a, "", ""
    for a in ["0.1", "0.3", "1e15", "123456789", "1e-10", "NaN", "-Infinity"]:
        yield "float4_numeric", a, "", ""
    for a in ["0", "1", "5", "20", "30", "-1"]:
        yield "factorial", a, "", ""
    for _ in range(200):
        d = lambda: f"{rng.choice(['', '-'])}{rng.randint(0, 10 ** rng.randint(1, 25))}.{rng.randint(0, 10 ** rng.randint(1, 20))}"
        yield f"numeric_{rng.choice(['add', 'sub', 'mul', 'div', 'div', 'mod', 'cmp'])}", d(), d(), ""
    for _ in range(60):
        yield "numeric_power", f"{rng.uniform(0.01, 50):.{rng.randint(1, 8)}f}", f"{rng.uniform(-20, 20):.{rng.randint(0, 5)}f}", ""


TS = ["2024-02-29 12:34:56.789123", "2024-01-31 00:00:00", "2024-03-31 23:59:59", "1999-12-31 23:59:59.999999", "2000-01-01 00:00:00", "0044-03-15 01:02:03 BC", "0001-01-01 00:00:00", "1970-01-01 00:00:00", "1969-12-31 12:00:00",
      "12345-06-07 08:09:10", "2024-03-10 01:30:00", "2024-11-03 00:30:00", "infinity", "-infinity", "2021-01-03 10:00:00", "2020-12-31 10:00:00", "0001-01-01 00:00:00 BC", "0101-06-01 00:00:00 BC", "2001-01-01 00:00:00", "1900-05-05 05:05:05"]
IV = ["1 year", "1 month", "-1 month", "13 months", "1 day", "-1 day", "30 days", "1 hour", "25:00:00", "-00:00:00.000001", "1 mon -1 day 01:00", "-1 mon +1 day -01:00", "1 year 2 mons 3 days 04:05:06.789", "0", "100 years", "4 mons 27 days 20:15:30.5", "-5 mons -3 days -26:00",
      "40 days", "-40 days 12:00", "2147483647 days", "178956970 years", "2562047788:00:54.775807", "1.5 days", "59 days 49:59:59.5"]
FIELDS = ["microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "century", "millennium", "epoch", "julian", "dow", "isodow", "doy", "isoyear", "timezone", "timezone_hour", "timezone_minute", "foo", "SECONDS", "ms", "y"]
UNITS = ["microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "century", "millennium", "dow", "foo"]


def datetime_rows():
    for t, i in itertools.product(TS, IV):
        for op in ("timestamp_add", "timestamp_sub", "timestamptz_add", "timestamptz_sub"):
            yield op, t, i, ""
    for a, b in itertools.product(TS, TS):
        yield "timestamp_since", a, b, ""
        if "infinity" not in a + b:
            yield "timestamp_age", a, b, ""
    for t, f in itertools.product(TS, FIELDS):
        yield "timestamp_extract", t, f, ""
        yield "timestamptz_extract", t, f, ""
        yield "date_extract", t if "infinity" in t else t.split()[0] + (" BC" if "BC" in t else ""), f, ""
    for t, u in itertools.product(TS, UNITS):
        yield "timestamp_trunc", t, u, ""
        yield "timestamptz_trunc", t, u, ""
    for t, f in itertools.product(["00:00:00", "12:34:56.789", "24:00:00"], FIELDS):
        yield "time_extract", t, f, ""
        yield "timetz_extract", t + "+05:30", f, ""
        yield "timetz_extract", t + "-03:15:10", f, ""
    for i in IV:
        for f in FIELDS:
            yield "interval_extract", i, f, ""
        for u in UNITS:
            yield "interval_trunc", i, u, ""
        for op in ("justify_hours", "justify_days", "justify"):
            yield op, i, "", ""
        for f in ("2", "0.5", "-1", "1.3", "0", "1e10", "0.1", "NaN"):
            yield "interval_mul", i, f, ""
            yield "interval_div", i, f, ""
        for j in IV:
            yield "interval_add", i, j, ""
            yield "interval_sub", i, j, ""
            yield "interval_cmp", i, j, ""
        if not i.startswith("2562"):  # wraps around in PostgreSQL
            yield "time_add", "12:34:56.789", i, ""
    for s, t, o in itertools.product(["15 minutes", "1 day", "1 day 1 hour", "0", "-1 hour", "1 month", "7 days"], TS[:6], ["2001-01-01", "2024-02-29 12:34:57"]):
        yield "date_bin", s, t, o
    for t, z in itertools.product(TS, ["UTC", "America/New_York", "Europe/Berlin", "PST", "est", "Asia/Kolkata", "EST5EDT", "<+03>-3", "Nowhere", "MSK", "+03", "UTC+3"]):
        if "infinity" in t and z == "Nowhere":  # not even looked at
            continue
        yield "timestamptz_zone", t, z, ""
        yield "timestamp_zone", t, z, ""
    tz = ["00:00+00", "01:00+01", "00:00-01", "12:34:56.7+05:30", "07:04:56.7+00", "24:00+00", "23:00-05"]
    for a, b in itertools.product(tz, tz):
        yield "timetz_cmp", a, b, ""
    for y, m, d in [("2024", "2", "29"), ("2023", "2", "29"), ("0", "1", "1"), ("-44", "3", "15"), ("2024", "13", "1"), ("2024", "0", "1"), ("5874897", "12", "31"), ("5874898", "1", "1"), ("-4714", "11", "24"), ("-4714", "11", "23")]:
        yield "make_date", y, m, d
    for h, m, s in [("0", "0", "0"), ("23", "59", "59.999999"), ("24", "0", "0"), ("24", "0", "0.1"), ("25", "0", "0"), ("1", "60", "0"), ("1", "1", "60"), ("1", "1", "60.5"), ("-1", "0", "0"), ("1", "2", "3.4567891"), ("1", "2", "-3")]:
        yield "make_time", h, m, s
    for d in ["2024-02-29", "infinity", "2024-07-01", "0044-03-15 BC", "5874897-01-01", "2024-03-10"]:
        yield "date_timestamptz", d, "", ""
        for n in ("1", "-1", "1000000", "2147483647"):
            yield "date_add", d, n, ""
    for s in ["0", "1.5", "-1.5", "1709210096.789123", "Infinity", "NaN", "1e20", "253402300800", "-62135596800"]:
        yield "to_timestamp", s, "", ""


JS = ["null", "true", "false", "0", "1", "1.0", "2", "-1", '"a"', '"b"', '"aa"', '""', "[]", "[1]", "[2]", "[1,2]", '["a"]', "{}", '{"a":1}', '{"a":2}', '{"b":1}', '{"aa":1}', '{"a":1,"b":2}', "[[]]", "[null]", "[{}]", "100", "1e2"]


def other_rows():
    for a, b in itertools.product(JS, JS):
        yield "jsonb_cmp", a, b, ""
    arrays = ["{}", "{1}", "{2}", "{10}", "{1,2}", "{2,1}", "{NULL}", "{1,NULL}", "{{1}}", "{{1,2}}", "{{1},{2}}", "{9}"]
    for a, b in itertools.product(arrays, arrays):
        yield "int_array_cmp", a, b, ""
        yield "text_array_cmp", a, b, ""
        yield "numeric_array_cmp", a.replace("2", "2.50"), b.replace("2", "2.5"), ""


def escape(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t")


def main():
    rows = list(dict.fromkeys(itertools.chain(numeric_rows(), datetime_rows(), other_rows())))
    lines = "\n".join(f"{i}\t{escape(SQL[op])}\t{op}\t" + "\t".join(map(escape, args)) for i, (op, *args) in enumerate(rows))
    script = f"""\\set QUIET 1
SET client_min_messages = error; SET TimeZone = 'America/New_York';
CREATE TEMP TABLE calls (n int, template text, op text, a text, b text, c text);
COPY calls FROM STDIN;
{lines}
\\.
CREATE FUNCTION pg_temp.call(template text, a text, b text, c text, OUT result text, OUT state text, OUT message text) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'SELECT (' || format(template, a, b, c) || ')::text' INTO result;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
END $$;
COPY (SELECT op, a, b, c, r.result, r.state, r.message FROM calls, LATERAL pg_temp.call(template, a, b, c) r ORDER BY n) TO STDOUT;
"""
    done = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres"], input=script, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    OUT.write_text(done.stdout)
    print(len(rows))


if __name__ == "__main__":
    main()
