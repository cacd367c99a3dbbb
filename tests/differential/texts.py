#!/usr/bin/env python3
"""Texts by chance of the small languages that values have, on pgsqlite and on PostgreSQL 15: what each type reads, patterns, paths, formats.

    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/texts.py --statements 3000       the fixed part of `make test`
    ORACLE_VERSION=18 tools/oracle.sh python3 tests/differential/texts.py --seconds 600 --seed N  as long as one likes

A statement is a call with texts that a grammar makes: JSON and its paths, regular expressions, LIKE, templates of to_char and to_date, moments,
intervals, numbers, arrays, records, ranges, queries of text search, formats. Most are right, and some have a character too many, too few or
another one. Both servers must compute them: the error's code or the row is compared. What differs is made smaller, character by character.
`KNOWN` names the differences that stay. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
from typing import Callable

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import pgwire  # noqa: E402
import server  # noqa: E402
from sides import Answer, Chooser, Sides, difference  # noqa: E402
from tally import Tally, flags, note  # noqa: E402

#: (pattern of the statement, of both answers) → why the difference stays
KNOWN: list[tuple[str, str, str]] = [
    ("jsonb?_?path|@[?@]", r"(XQuery .* is not implemented|'2201B', 'invalid regular expression).*'42601'.*jsonpath input", "of two errors of a path another comes first"),
    ("::jsonpath", r"^\('', '', \[\[\(4072.*\| \('', '', \[\[\(4072", "PostgreSQL prints a path without the parentheses that an operation needs which a step follows: the text is another path"),
    ("posixrules", r"not recognized", "the zones of 18's package have no such file"),
    ("(?i)(infinity|inf).*::interval|interval.*infinity", "", "pgsqlite has no infinite intervals, which PostgreSQL 17 has"),
    (r"\[\]$", r"malformed array literal", "PostgreSQL 15 reads arrays whose parts differ in depth, and 17 refuses them"),
]

Call = tuple[str, list[str]]


class Texts(Chooser):
    """The grammars, each with its calls."""

    def spoiled(self, text: str) -> str:
        """The text itself, or with one character changed."""
        if not self.chance(0.15) or not text:
            return text
        at = self.r.randrange(len(text))
        kind = self.r.random()
        if kind < 0.4:
            return text[:at] + text[at + 1 :]
        if kind < 0.7:
            return text[:at] + self.one(*"(){}[]<>,.:;'\"\\ /*+-?^$|&!@#%_=0aéZ\t") + text[at:]
        other = self.r.randrange(len(text))
        return text[:at] + text[other] + text[at + 1 :]

    # --- JSON ------------------------------------------------------------------------------------------------------

    def json_value(self, depth: int) -> object:
        if depth <= 0 or self.chance(0.35):
            return self.r.choice([None, True, False, 0, 1, 2, -1, 1.5, 10, 1e3, 12345678901, "", "a", "b", "1", "ab c", "é", "2020-02-29", "12:30:15+02", "2020-02-29T12:30:15", 'q"\\', "\n", "Infinity", "true"])
        if self.chance(0.5):
            return [self.json_value(depth - 1) for _ in range(self.r.randint(0, 4))]
        return {self.one("a", "b", "c", "", "a b"): self.json_value(depth - 1) for _ in range(self.r.randint(0, 3))}

    def json_text(self, depth: int = 3) -> str:
        return json.dumps(self.json_value(depth), ensure_ascii=self.chance(0.3), indent=self.r.choice([None, None, 1]))

    def path_value(self, depth: int, inside: bool) -> str:
        start = self.one("$", "$", "@" if inside else "$", "@" if inside else "$", "$x", "$y") if not self.chance(0.25) else self.one("1", "2", "-1", "1.5", '"a"', '"1"', "null", "true", '"2020-02-29"', "(1)", "0.1e1", ".5")
        steps = ""
        for _ in range(self.r.choice([0, 1, 1, 2, 3]) if start[0] in "$@" else self.r.choice([0, 0, 0, 1])):
            steps += self.path_step(depth)
        value = start + steps
        if self.chance(0.2) and depth > 0:
            value = f"{value} {self.one('+', '-', '*', '/', '%')} {self.path_value(depth - 1, inside)}"
            if self.chance(0.4):
                value = f"({value})" + (self.path_step(depth) if self.chance(0.3) else "")
        elif self.chance(0.05):
            value = self.one("-", "+", "- ") + value
        return value

    def path_step(self, depth: int) -> str:
        kind = self.r.random()
        if kind < 0.35:
            return "." + self.one("a", "b", "c", '"a b"', '""', "*", "a", "b", r'"\u0061"', "is", "to", "size")
        if kind < 0.55:
            return self.one("[*]", "[0]", "[1]", "[last]", "[last - 1]", "[0 to 1]", "[1 to last]", "[0, 2]", "[$x]", "[0.9]", "[-1]", "[1 to 0]", "[*][*]", "[$.size() - 1]", "[last to 0]")
        if kind < 0.72:
            return "." + self.one("size()", "type()", "double()", "abs()", "floor()", "ceiling()", "keyvalue()", "datetime()", 'datetime("YYYY-MM-DD")', "keyvalue().key", 'datetime("HH24:MI")')
        if kind < 0.82:
            return self.one(".**", ".**{1}", ".**{0 to 1}", ".**{2 to last}", ".**{last}")
        return f" ? ({self.path_predicate(depth - 1)})"

    def path_predicate(self, depth: int, inside: bool = True) -> str:
        kind = self.r.random()
        if depth > 0 and kind < 0.2:
            return f"{self.path_predicate(depth - 1, inside)} {self.one('&&', '||')} {self.path_predicate(depth - 1, inside)}"
        if depth > 0 and kind < 0.28:
            return f"!({self.path_predicate(depth - 1, inside)})"
        if depth > 0 and kind < 0.36:
            return f"({self.path_predicate(depth - 1, inside)}) is unknown"
        if kind < 0.44:
            return f"exists ({self.path_value(depth, inside)})"
        if kind < 0.52:
            return f"{self.path_value(0, inside)} starts with {self.one(chr(34) + 'a' + chr(34), '$x', '$y')}"
        if kind < 0.62:
            flag = self.one("", "", ' flag "i"', ' flag "q"', ' flag "sx"', ' flag "m"')
            return f'{self.path_value(0, inside)} like_regex "{self.one("^a", "b$", ".", "[0-9]+", "A", "a.c", "(a|b)")}"{flag}'
        return f"{self.path_value(depth, inside)} {self.one('==', '!=', '<>', '<', '<=', '>', '>=')} {self.path_value(depth - 1, inside)}"

    def jsonpath(self) -> Call:
        path = self.one("", "", "", "strict ", "lax ") + (self.path_predicate(2, False) if self.chance(0.2) else self.path_value(2, False))
        path = self.spoiled(path)
        if self.chance(0.08):
            return "SELECT ({})::jsonpath", [path]
        name = self.one("jsonb_path_query_array", "jsonb_path_query_array", "jsonb_path_query_array_tz", "jsonb_path_exists", "jsonb_path_match", "jsonb_path_query_first")
        document, variables = self.json_text(), self.one("{}", '{"x": 1, "y": "a"}', '{"x": "b", "y": [1, 2]}', '{"x": null}', "[1]")
        kind = self.r.random()
        if kind < 0.1:
            return f"SELECT ({{}})::jsonb {self.one('@?', '@@')} ({{}})::jsonpath", [document, path]
        if kind < 0.5:
            return f"SELECT {name}({{}}, {{}}, {{}})", [document, path, variables]
        return f"SELECT {name}({{}}, {{}}, {{}}, {self.one('true', 'false')})", [document, path, variables]

    def json_call(self) -> Call:
        text = self.spoiled(self.json_text())
        way = self.one("{}", "{a}", "{a,0}", "{0}", "{-1}", "{b,c}", '{"a b",1}', "{a,NULL}", "{1,a}")
        kind = self.r.randrange(14)
        calls: list[Call] = [
            ("SELECT ({})::json", [text]),
            ("SELECT ({})::jsonb", [text]),
            ("SELECT ({})::json #> ({})::text[], ({})::json #>> ({})::text[]", [text, way, text, way]),
            ("SELECT ({})::jsonb #> ({})::text[], ({})::jsonb #- ({})::text[]", [text, way, text, way]),
            ("SELECT jsonb_pretty({})", [text]),
            ("SELECT json_strip_nulls({}), jsonb_strip_nulls({})", [text, text]),
            (f"SELECT jsonb_set({{}}, {{}}, {{}}, {self.one('true', 'false')})", [text, way, self.json_text(1)]),
            (f"SELECT jsonb_insert({{}}, {{}}, {{}}, {self.one('true', 'false')})", [text, way, self.json_text(1)]),
            (f"SELECT jsonb_set_lax({{}}, {{}}, NULL, true, '{self.one('raise_exception', 'use_json_null', 'delete_key', 'return_target', 'x')}')", [text, way]),
            ("SELECT array_agg(x) FROM json_array_elements({}) x", [text]),
            ("SELECT array_agg(x ORDER BY x::text) FROM json_each_text({}) x", [text]),
            ("SELECT * FROM jsonb_to_record({}) AS x (a int, b text, c jsonb, \"a b\" numeric[])", [text]),
            ("SELECT * FROM json_to_record({}) AS x (a text, b json, c date, \"a b\" bool)", [text]),
            (f"SELECT ({{}})::jsonb {self.one('@>', '<@', '||', '=', '<', '>=')} ({{}})::jsonb", [text, self.json_text(2)]),
        ]
        return calls[kind]

    # --- patterns --------------------------------------------------------------------------------------------------

    def regex(self, depth: int = 2) -> str:
        if depth > 0 and self.chance(0.2):
            return self.regex(depth - 1) + "|" + self.regex(depth - 1)
        out = ""
        for _ in range(self.r.randint(1, 4)):
            atom = self.one(
                "a", "b", "c", "ab", ".", "x", "1", " ", "é", "A", "[ab]", "[^a]", "[a-c]", "[[:alpha:]]", "[[:digit:]_]", r"\d", r"\w", r"\s", r"\W", r"\D", r"\S", "[]a]", "[a-]", r"[\d-]", "[[.a.]]", "[[=a=]]",
                r"\.", r"\x61", r"\u0061", r"\t", "[[:<:]]", "[[:>:]]", r"\m", r"\M", r"\y", r"\Y", r"\A", r"\Z", "^", "$", r"\1", "(?=a)", "(?!a)", "(?<=a)", "(?<!b)", "()", r"[^\w]", r"[[:^alpha:]]", r"\B", r"\b", "{",
            )
            if depth > 0 and self.chance(0.35):
                atom = self.one("(", "(", "(?:", "(?=", "(?!") + self.regex(depth - 1) + ")"
            if self.chance(0.4):
                atom += self.one("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,1}?", "{2,}", "{,2}", "{0}", "{1,2}?", "**", "{2,1}", "{1}{2}")
            out += atom
        return out

    def subject(self) -> str:
        return "".join(self.one("a", "b", "c", "ab", "x", "1", "2", " ", "é", "A", "B", "\n", "_", ".", "aa", "bb", "-", "") for _ in range(self.r.randint(0, 8)))

    def pattern(self) -> Call:
        regex, subject = self.spoiled(self.one("", "", "", "", "", "", "***:", "(?i)", "***=", "(?x)", "(?n)", "(?s)", "(?q)") + self.regex()), self.subject()
        flags = self.one("", "g", "g", "i", "gi", "n", "x", "s", "p", "w", "m", "c", "gn", "q", "b", "e", "gz")
        new = self.one("-", r"[\1]", r"\&\&", r"\2", r"\\", "", r"\a")
        n, m = self.r.randint(0, 4), self.r.randint(0, 3)
        calls: list[Call] = [
            ("SELECT regexp_match({}, {})", [subject, regex]),
            ("SELECT array_agg(x::text) FROM regexp_matches({}, {}, {}) x", [subject, regex, flags]),
            ("SELECT regexp_replace({}, {}, {}, {})", [subject, regex, new, flags]),
            (f"SELECT regexp_replace({{}}, {{}}, {{}}, {n}, {m}, {{}})", [subject, regex, new, flags]),
            (f"SELECT regexp_count({{}}, {{}}, {n}, {{}})", [subject, regex, flags]),
            (f"SELECT regexp_instr({{}}, {{}}, {n}, {m}, {self.r.randint(0, 1)}, {{}}, {self.r.randint(0, 2)})", [subject, regex, flags]),
            (f"SELECT regexp_substr({{}}, {{}}, {n}, {m}, {{}}, {self.r.randint(0, 2)})", [subject, regex, flags]),
            ("SELECT regexp_like({}, {}, {})", [subject, regex, flags]),
            ("SELECT regexp_split_to_array({}, {}, {})", [subject, regex, flags]),
            ("SELECT substring({} FROM {})", [subject, regex]),
            (f"SELECT ({{}})::text {self.one('~', '!~', '~*', '!~*')} ({{}})::text", [subject, regex]),
        ]
        return self.r.choice(calls)

    def like(self) -> Call:
        kind = self.r.random()
        if kind < 0.5:
            pattern = "".join(self.one("a", "b", "%", "_", "ab", r"\%", r"\_", r"\\", "x", "é", "A", "\\") for _ in range(self.r.randint(0, 6)))
            escape = self.one("", "", "", " ESCAPE ''", " ESCAPE 'x'", " ESCAPE 'xx'", " ESCAPE NULL", " ESCAPE '%'")
            return f"SELECT {{}} {self.one('LIKE', 'NOT LIKE', 'ILIKE')} {{}}{escape}", [self.subject(), pattern]
        pattern = "".join(self.one("a", "b", "%", "_", "(a|b)", "[a-c]", "[^b]", "+", "*", "?", "{2}", "|", r"\%", "(", ")", "^", "$", ".", "[[:digit:]]") for _ in range(self.r.randint(0, 6)))
        if kind < 0.8:
            return f"SELECT {{}} {self.one('SIMILAR TO', 'NOT SIMILAR TO')} {{}}{self.one('', '', chr(32) + 'ESCAPE ' + chr(39) + '#' + chr(39))}", [self.subject(), pattern]
        return "SELECT substring({} FROM {} FOR '#')", [self.subject(), f'{self.one("%", "", "_")}#"{pattern}#"{self.one("%", "", "a")}']

    # --- templates -------------------------------------------------------------------------------------------------

    def template(self) -> str:
        words = (
            "HH HH12 HH24 MI SS MS US FF1 FF3 FF6 SSSS SSSSS AM PM am p.m. A.M. Y,YYY YYYY YYY YY Y IYYY IYY IY I BC ad B.C. MONTH Month month MON Mon mon MM DAY Day day DY Dy dy DDD IDDD DD D ID W WW IW CC J Q RM rm TZ tz TZH TZM OF "
            "FMMonth FMDD FMHH12 FMMI DDth DDTH HH24th YYYYth TMMonth TMDy FXYYYY FMDDth FMRM FMWW FMJ Qth FMYYYY FMMS"
        ).split()
        return "".join(self.one(*words) + self.one("", "-", " ", "/", ":", ".", ", ", '"T"', '"of day"', "  ", "\\", "x", '"') for _ in range(self.r.randint(1, 5)))

    def number_template(self) -> str:
        return self.one("", "", "FM", "S", "PL", "SG", "MI", "L", "$") + "".join(self.one("9", "0", "99", "00", "999", "G", ",", "D", ".", "D9", ".99", "V9", "TH", "th", "PR", "EEEE", "RN", "rn", "S", "MI", "PL", "SG", "L", "B", " ", '"x"', "FM", "-", "9.9") for _ in range(self.r.randint(1, 5)))

    def moment(self) -> str:
        return self.one("2020-02-29 12:30:15.5", "1999-12-31 23:59:59.999999", "2000-01-01 00:00", "0044-03-15 12:00 BC", "2021-06-07 08:09:10.123456", "10000-10-10 10:10:10", "2024-12-30 00:00:01", "1582-10-15 13:00", "0001-01-01 00:00")

    def formatting(self) -> Call:
        kind = self.r.random()
        if kind < 0.3:
            t = self.one("timestamp", "timestamptz", "date")
            return f"SELECT to_char({{}}::{t}, {{}})", [self.moment(), self.spoiled(self.template())]
        if kind < 0.42:
            return "SELECT to_char({}::interval, {})", [self.interval(), self.spoiled(self.template())]
        if kind < 0.65:
            number = self.one("0", "1", "-1", "12.345", "-0.5", "1234.5", "0.001", "123456789", "99.995", "3999", "1e10", "-1e-3", "NaN", "Infinity", "1234567.891", "-12", "100", "0.05")
            t = self.one("numeric", "numeric", "float8", "int4" if re.fullmatch(r"-?\d+", number) else "numeric", "float4")
            return f"SELECT to_char({{}}::{t}, {{}})", [number, self.spoiled(self.number_template())]
        if kind < 0.78:
            text = self.one(" 12", "-12.5", "1,234.50", "<5>", "$10", "12-", "+7", "0012", "1.2e3", "12th", "", "- 3", "XIV", "1 234")
            return "SELECT to_number({}, {})", [text, self.number_template()]
        text, template = self.r.choice([
            ("2020-02-29", "YYYY-MM-DD"), ("29 Feb 2020", "DD Mon YYYY"), ("20200229", "YYYYMMDD"), ("12:30:15 PM", "HH12:MI:SS AM"), ("2020-060", "YYYY-DDD"), ("2020-W09-6", 'IYYY-"W"IW-ID'), ("44-03-15 BC", "YYYY-MM-DD BC"),
            ("1,999", "Y,YYY"), ("99 12 31", "YY MM DD"), ("2020-02-29 12:30:15.5+02", "YYYY-MM-DD HH24:MI:SS.MSTZH"), ("2458909", "J"), ("Saturday, February 29, 2020", "Day, Month DD, YYYY"), ("21 20", "CC YY"),
            ("IV 2020", "RM YYYY"), ("3600 2020", "SSSS YYYY"), ("2020-02-29T12:30", 'YYYY-MM-DD"T"HH24:MI'), ("5 2 2020", "W MM YYYY"), ("123456", "HH24MISS"), ("2020 2", "YYYY Q"), ("12.345678", "SS.US"), ("1st 2020", "DDth YYYY"), ("2020-02-29 +05:30", "YYYY-MM-DD TZH:TZM"),
            ("2020 10", "YYYY WW"), ("-1", "YYYY"), ("020", "YYY"), ("0", "Y"),
        ])
        return f"SELECT {self.one('to_date', 'to_timestamp')}({{}}, {{}})", [self.spoiled(self.spoiled(text)), self.spoiled(self.one("", "", "FX", "FM") + template)]

    # --- moments ---------------------------------------------------------------------------------------------------

    def interval(self) -> str:
        kind = self.r.random()
        if kind < 0.6:
            units = "year years yr y mon month months m week w day d days hour h hours min minute sec s second ms us decade century millennium c microsecond mil".split()
            parts = [f"{self.one('1', '2', '-3', '1.5', '0', '+4', '-0.25', '100', '.5', '2.')}{self.one(' ', ' ', '')}{self.one(*units)}" for _ in range(self.r.randint(1, 3))]
            return self.one("", "", "@ ", "") + " ".join(parts) + self.one("", "", "", " 01:02:03", " -04:05", " ago", " 3", " 12:30:15.5 ago")
        if kind < 0.8:
            return self.one("P", "P", "-P", "p") + self.one("", "1Y", "2M", "1Y2M3D", "1W", "1.5Y", "-1D", "0001-02-03", "00010203", "1Y-2M") + self.one("", "T1H", "T4H5M6.7S", "T-1M", "T01:02:03", "T010203", "T.5S", "T1.5H")
        return self.one("1-2", "-1-2", "1-2 3", "1-2 3 4:05:06", "3 4:05:06", "4:05", "4:05.5", "-4:05:06", "1-2 -3 -4:05", "100:00", "12:60", "1", "-1.5", "1 2", "infinity", "24:00:00.0000009", "1:02:03:04", "1-13")

    def date_text(self) -> str:
        day = self.one(
            "2020-02-29", "20200229", "2020-2-9", "Feb 29 2020", "29-Feb-2020", "February 29, 2020", "02/29/2020", "29/02/2020", "2/3/04", "2020.060", "J2458909", "99-12-31", "2020-02-30", "Sat Feb 29 2020", "2020/02/29", "0001-01-01",
            "y2020m02d29", "2020-W09", "epoch", "infinity", "-infinity", "Feb-29-20", "20-Feb-29", "2020 Feb 29", "290220", "10000-01-01", "2020-13-01", "2020-060", "29 February", "12-25",
        )
        clock = self.one("", "", "12:30:15.5", "T12:30", "123015", "12:30 PM", "12:30 am", "24:00", "23:59:60", "12:30:15.1234567", "noon", "allballs", "T123015.5", "00:00 pm", "12", "4:5:6", "04:05:06.789-8", "25:00", "12:30:15.", "12:")
        zone = self.one("", "", "+02", "-08:30", "+0530", " UTC", " Europe/Vienna", " PST", "Z", " +2", " EST5EDT", " -15:59:59", " america/new_york", "+16", " Nowhere/X", " GMT+3", " MEZ", " zulu", " dst", " +02:03:04")
        era = self.one("", "", "", "", " BC", " AD", " bc")
        return " ".join(p for p in self.r.sample([day, clock + zone + era], 2) if p) if self.chance(0.2) else f"{day}{self.one(' ', ' ', '')}{clock}{zone}{era}"

    def reading(self) -> Call:
        kind = self.r.random()
        if kind < 0.35:
            return f"SELECT ({{}})::{self.one('date', 'timestamp', 'timestamptz', 'timestamp(2)', 'timestamptz', 'timestamp')}", [self.spoiled(self.date_text())]
        if kind < 0.5:
            return f"SELECT ({{}})::{self.one('time', 'timetz', 'time(1)', 'timetz(0)')}", [self.spoiled(self.date_text())]
        if kind < 0.75:
            fields = self.one("", "", "", " year", " month", " day", " hour", " second(1)", " day to minute", " year to month", " hour to second", " minute to second(2)", "(3)", " minute", " day to hour")
            return f"SELECT ({{}})::interval{fields}", [self.spoiled(self.interval())]
        field = self.one("year", "month", "day", "hour", "minute", "second", "microseconds", "milliseconds", "epoch", "dow", "isodow", "doy", "week", "isoyear", "quarter", "decade", "century", "millennium", "julian", "timezone", "timezone_hour", "weeks", "y", "sec", "x")
        if kind < 0.9:
            t = self.one("date", "timestamp", "timestamptz", "interval", "time", "timetz")
            value = self.interval() if t == "interval" else self.moment()
            how = self.one("extract", "date_part", "trunc")
            if how == "trunc" and "time" in t and len(t) > 6 or t == "interval" and how == "trunc":
                return f"SELECT date_trunc('{field}', {{}}::{t})", [value]
            return (f"SELECT extract({field} FROM {{}}::{t})" if how == "extract" else f"SELECT date_part('{field}', {{}}::{t})"), [value]
        zone = self.one("UTC", "Europe/Vienna", "America/New_York", "+05:30", "-3", "EST", "Asia/Kolkata", "CET-1CEST", "<+03>-3", "X5Y,M3.2.0,M11.1.0", "utc", "10:00", "Australia/Lord_Howe", "America/St_Johns", "PST8PDT", "posixrules", "UTC+1", "Z", "1")
        return f"SELECT ({{}})::{self.one('timestamp', 'timestamptz', 'timetz')} AT TIME ZONE {{}}", [self.moment(), self.spoiled(zone)]

    # --- numbers and what has parts ----------------------------------------------------------------------------------

    def number(self) -> Call:
        text = self.one("", " ", "-", "+", "- ") + self.one("0", "1", "12", "007", "1.5", ".5", "5.", "1e3", "1.5e-3", "1E+2", "NaN", "inf", "Infinity", "-inf", "nan", "1e400", "1e-400", "99999999999999999999", "2147483648", "0x1F", "1_000", "32768", "1e", "1.2.3", "true", "1e+", "1e5000", "0.1e-16383", "123456789.987654321", "9223372036854775808", "4294967296") + self.one("", " ", "", "f", "\n")
        t = self.one("int2", "int4", "int8", "numeric", "numeric(5,2)", "numeric(3,-2)", "numeric(2,4)", "float4", "float8", "oid", "money", "bool", "xid8", "numeric", "varchar(3)", "char(2)", "bit(3)", "varbit(5)")
        return f"SELECT ({{}})::{t}", [self.spoiled(text)]

    def plain(self) -> Call:
        t, text = self.r.choice([
            ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), ("uuid", "{A0EEBC999C0B4EF8BB6D6BB9BD380A11}"), ("uuid", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11"), ("bytea", r"\x00ff 10"), ("bytea", r"a\\b\001\377"), ("inet", "10.0.0.1/24"),
            ("inet", "10.1"), ("cidr", "10.1"), ("cidr", "10.0.0.0/8"), ("inet", "::ffff:1.2.3.4/100"), ("inet", "2001:db8::1"), ("cidr", "2001:db8::/32"), ("macaddr", "08:00:2b:01:02:03"), ("macaddr", "08002b-010203"), ("macaddr8", "08:00:2b:01:02:03:04:05"),
            ("macaddr", "0800.2b01.0203"), ("bool", "tru"), ("bool", "of"), ("bool", " Yes "), ("pg_lsn", "16/B374D848"), ("tid", "(1,2)"), ("point", "(1,2)"), ("point", "1 , 2"), ("box", "((1,2),(3,4))"), ("box", "1,2,3,4"), ("lseg", "[(1,2),(3,4)]"),
            ("path", "((1,2),(3,4))"), ("path", "[1,2,3,4]"), ("polygon", "(1,2),(3,4)"), ("circle", "<(1,2),3>"), ("circle", "1,2,3"), ("line", "{1,2,3}"), ("line", "[(1,2),(3,4)]"), ("money", "$1,234.56"), ("money", "($12.3)"), ("varbit", "x1F"), ("varbit", "b101"), ("bit(4)", "X1"),
            ("int2vector", "1 2 3"), ("regclass", "pg_class"), ("regtype", "int4[]"), ("regtype", "numeric(3,2)"), ("regtype", "character varying"), ("regproc", "now"), ("regprocedure", "abs(int4)"), ("regoper", "||/"), ("regoperator", "+(int4,int4)"), ("regtype", "timestamp(3) with time zone"),
            ("regtype", '"char"'), ("pg_snapshot", "10:20:10,14"), ("regnamespace", "pg_catalog"), ("regrole", "postgres"), ("regcollation", '"C"'), ("regconfig", "simple"), ("name", "aé"), ("xid8", "12"), ("txid_snapshot", "10:20:"),
        ])
        return f"SELECT ({{}})::{t}", [self.spoiled(self.spoiled(self.spoiled(text)))]

    def array_text(self, depth: int = 2) -> str:
        if depth and self.chance(0.3):
            return "{" + ",".join(self.array_text(depth - 1) for _ in range(self.r.randint(1, 2))) + "}"
        return "{" + self.one(",", ", ", " ,").join(self.one("1", "2", "NULL", "null", '"1"', "a", '"a,b"', r"\a", '""', '"NULL"', " 3 ", "a b", r'"\""') for _ in range(self.r.randint(0, 3))) + "}"

    def parts(self) -> Call:
        kind = self.r.random()
        if kind < 0.35:
            text = self.one("", "", "", "[1:2]=", "[0:0]=", "[1:1][1:2]=", "[-1:1]=", "[2:1]=") + self.array_text()
            return f"SELECT ({{}})::{self.one('int[]', 'text[]', 'text[]', 'varchar(2)[]', 'numeric(3,1)[]', 'bool[]')}", [self.spoiled(text)]
        if kind < 0.5:
            text = "(" + ",".join(self.one("1", "", "a", '"a"', '"a""b"', r"\,", " 1", "(2)", '"(1,2)"', '"" ') for _ in range(self.r.randint(1, 3))) + ")"
            return f"SELECT ({{}})::{self.one('pair', 'nested', 'pair')}", [self.spoiled(self.one("", " ") + text)]
        bound = lambda: self.one("1", "2", "5", "", "-1", " 3", '"1"', "10")  # noqa: E731
        one_range = lambda: f"{self.one('[', '(')}{bound()},{bound()}{self.one(']', ')')}"  # noqa: E731
        if kind < 0.75:
            t = self.one("int4range", "numrange", "int8range", "floatrange")
            op = self.one("", "", "+", "-", "*", "&&", "@>", "<@", "-|-", "<<", "&<", "<", "=")
            left = self.spoiled(self.one("empty", " EMPTY ", *[one_range() for _ in range(6)]))
            return (f"SELECT ({{}})::{t}", [left]) if not op else (f"SELECT ({{}})::{t} {op} ({{}})::{t}", [left, one_range()])
        text = lambda: "{" + ", ".join(one_range() for _ in range(self.r.randint(0, 3))) + "}"  # noqa: E731
        t = self.one("int4multirange", "nummultirange")
        op = self.one("", "+", "-", "*", "&&", "@>", "<@", "-|-", "<<", ">>", "&>")
        return (f"SELECT ({{}})::{t}", [self.spoiled(text())]) if not op else (f"SELECT ({{}})::{t} {op} ({{}})::{t}", [text(), text()])

    def search(self) -> Call:
        word = lambda: self.one("a", "b", "cat", "fat", "'x y'", "ab", "Cats", "1", "a-b", "x@y.z", "é", "'it''s'", "the")  # noqa: E731
        query = word() + self.one("", "", ":*", ":A", ":ab*")
        for _ in range(self.r.randint(0, 3)):
            query = self.one("", "", "!", "(") + query + self.one(" & ", " | ", " <-> ", " <2> ", " <0> ", "&") + self.one("", "", "!") + word() + self.one("", "", ":*", ":B")
            query += ")" * (query.count("(") - query.count(")"))
        vector = " ".join(word() + self.one("", "", ":1", ":2A", ":1,3", ":4B,2") for _ in range(self.r.randint(0, 5)))
        document = " ".join(self.one("a", "b", "cat", "fat", "Cats", "the", "rat", "x-y", "1.5", "foo@bar.com", "http://a.b/c?d", "it's", "é", "<b>", "ab", "/x/y") for _ in range(self.r.randint(0, 8)))
        configuration = self.one("simple", "english")
        q, v = self.spoiled(query), self.spoiled(vector)
        calls: list[Call] = [
            ("SELECT ({})::tsquery", [q]),
            ("SELECT ({})::tsvector", [v]),
            ("SELECT ({})::tsvector @@ ({})::tsquery", [vector, query]),
            (f"SELECT to_tsvector('{configuration}', {{}})", [document]),
            (f"SELECT to_tsquery('{configuration}', {{}})", [q]),
            (f"SELECT {self.one('plainto_tsquery', 'phraseto_tsquery')}('{configuration}', {{}})", [document]),
            (f"SELECT websearch_to_tsquery('{configuration}', {{}})", [self.spoiled(self.one("", '"', "-") + document + self.one("", '"', ' or "a b"', " -x"))]),
            (f"SELECT ts_rank(({{}})::tsvector, ({{}})::tsquery, {self.r.randint(0, 63)})::numeric(9,5), ts_rank_cd(({{}})::tsvector, ({{}})::tsquery)::numeric(9,5)", [vector, query, vector, query]),
            (f"SELECT ts_headline('{configuration}', {{}}, ({{}})::tsquery, {{}})", [document, query, self.one("", "MaxWords=5, MinWords=2", "MaxFragments=2, MaxWords=4, MinWords=1", "StartSel=[, StopSel=]", "HighlightAll=true", "ShortWord=1, MinWords=1, MaxWords=3")]),
            ("SELECT querytree({}::tsquery), numnode({}::tsquery)", [query, query]),
            ("SELECT ({})::tsquery && ({})::tsquery, !! ({})::tsquery, ({})::tsquery <-> ({})::tsquery", [query, query, query, query, query]),
            ("SELECT ts_rewrite({}::tsquery, {}::tsquery, {}::tsquery)", [query, word(), word()]),
            (f"SELECT ts_delete({{}}::tsvector, {{}}), setweight({{}}::tsvector, 'B', {{}}), ts_filter({{}}::tsvector, '{{{{a,b}}}}')", [vector, word().strip("'"), vector, "{a,cat}", vector]),
            ("SELECT strip({}::tsvector), tsvector_to_array({}::tsvector), {}::tsvector || {}::tsvector", [vector, vector, vector, vector]),
            (f"SELECT array_agg(x::text) FROM ts_debug('{configuration}', {{}}) x", [document]),
        ]
        return self.r.choice(calls)

    def others(self) -> Call:
        kind = self.r.randrange(12)
        if kind < 3:
            text = "".join(self.one("%s", "%I", "%L", "%%", "%1$s", "%2$I", "%-5s", "%5s", "%*s", "%-*s", "%2$*1$s", "x", " ", "%3$L", "%", "%1$-4L", "%0$s", "%z") for _ in range(self.r.randint(1, 4)))
            return f"SELECT format({{}}, {{}}, {self.one('NULL', '1', '-3', '5')}, {{}})", [self.spoiled(text), self.one("a", "A b", "it's", "", "select"), self.one("x", 'q"', "\\")]
        if kind < 5:
            name = ".".join(self.one("a", '"A b"', '"q""r"', "A", "_x1", "1a", "é", '""', "a b", "select") for _ in range(self.r.randint(1, 3)))
            return f"SELECT parse_ident({{}}, {self.one('true', 'false')})", [self.spoiled(name)]
        if kind < 7:
            how = self.one("hex", "base64", "escape", "x")
            text = {"hex": "00ff 1A", "base64": "aGVsbG8gd29ybGQ=", "escape": r"a\\b\001", "x": "a"}[how]
            return f"SELECT decode({{}}, '{how}')", [self.spoiled(self.spoiled(text))]
        if kind == 7:
            return f"SELECT encode(convert_to({{}}, 'UTF8'), '{self.one('hex', 'base64', 'escape')}')", [self.subject() * self.r.randint(1, 12)]
        if kind == 8:
            return f"SELECT {self.one('quote_ident', 'quote_literal', 'quote_nullable', 'initcap', 'upper', 'lower', 'md5', 'ascii', 'btrim')}({{}})", [self.one("a", "A", "it's", "a\\b", "select", "ß é", "ÀÉ", "ǆ", "İI", " x ", "don't stop-me", "ﬁ", "Σς")]
        if kind == 9:
            return f"SELECT unistr({{}})", [self.spoiled(self.one(r"d\0061t", r"\+00E9x", r"\u0061\U00000062", r"\\", r"\d83d\de00", r"\0000"))]
        if kind == 10:
            return f"SELECT normalize({{}}, {self.one('NFC', 'NFD', 'NFKC', 'NFKD')}), ({{}}) IS {self.one('NFC', 'NFD', 'NFKC')} NORMALIZED", [(t := self.one("é", "e\u0301", "ﬁ", "Å", "가", "ẛ̣")), t]
        return f"SELECT {self.one('split_part({}, {}, -1)', 'split_part({}, {}, 2)', 'string_to_array({}, {}, NULL)', 'string_to_array({}, {}, chr(97))', 'translate({}, {}, chr(120))', 'strpos({}, {})', 'trim(BOTH {} FROM {})', 'ltrim({}, {})')}", [self.subject(), self.one("a", "", "ab", " ", "b")]

    def call(self) -> Call:
        kinds: list[Callable[[], Call]] = [self.jsonpath, self.jsonpath, self.json_call, self.pattern, self.pattern, self.like, self.formatting, self.formatting, self.reading, self.reading, self.number, self.plain, self.parts, self.search, self.search, self.others]
        return self.r.choice(kinds)()


def written(call: Call) -> str:
    template, texts = call
    literals = iter("E'" + t.replace("\\", "\\\\").replace("'", "''") + "'" if "\\" in t else "'" + t.replace("'", "''") + "'" for t in texts)
    return re.sub(r"\{\{|\}\}|\{\}", lambda m: next(literals) if m[0] == "{}" else m[0][0], template)


def answer(connection: pgwire.Connection, sql: str) -> Answer:
    """The error's code and message, or the rows with their types."""
    out: list[object] = []
    for kind, body in connection.simple(sql):
        if kind == b"E":
            fields = pgwire.fields_of(body)
            return fields["C"], fields["M"], None
        if kind == b"T":
            out.append([(o if o < 16384 else "user", m) for _, o, m, _ in pgwire.row_description(body)])
        elif kind == b"D":
            out.append([v and v.decode() for v in pgwire.data_row(body)])
    return "", "", out


def main() -> int:
    parser = flags(__doc__)
    parser.add_argument("--messages", action="store_true", help="compare the errors' texts, too")
    args = parser.parse_args()
    texts = Texts(args.seed)
    tally = Tally(args)
    with server.Server() as s:
        sides = Sides(s, "SET search_path = d; SET client_min_messages = error", answer)
        sides.make(["CREATE SCHEMA d", "CREATE TYPE d.pair AS (a int, b text)", "CREATE TYPE d.nested AS (p d.pair, n numeric(6,2))", "CREATE TYPE d.floatrange AS RANGE (subtype = float8)"])

        def both(sql: str) -> tuple[str, Answer, Answer]:
            """In what the two answers differ, and the answers."""
            theirs, ours = sides.ask(sql)
            what = difference(theirs, ours)
            return what or ("text" if args.messages and theirs[1] != ours[1] else ""), theirs, ours

        def excuse(sql: str, theirs: Answer, ours: Answer) -> str:
            if ours[0] == "0A000":
                name = re.sub(r'"[^"]*"|\'[^\']*\'', "…", ours[1])
                note(tally.refused, name)
                return "refused"
            return next((why for pattern, answers, why in KNOWN if re.search(pattern, sql) and re.search(answers, f"{theirs} | {ours}")), "")

        while tally.goes_on():
            call = texts.call()
            tally.count += 1
            what, theirs, ours = both(written(call))
            tally.succeeded += not theirs[0]
            if not what:
                continue
            if rule := excuse(written(call), theirs, ours):
                note(tally.known, rule)
                continue
            tally.failed += 1
            template, parts = call
            size = 4
            while size and "broke" not in what:
                for i in range(len(parts)):
                    at = 0
                    while at < len(parts[i]):
                        # (what was given twice stays the same)
                        shorter = [p[:at] + p[at + size :] if p == parts[i] else p for p in parts]
                        again, one, two = both(written((template, shorter)))
                        if again == what and not excuse("", one, two):
                            parts = shorter
                        else:
                            at += size
                size //= 2
            sql = written((template, parts))
            _, theirs, ours = both(sql)
            shape = re.sub(r"\d", "", template) + what + re.sub(r"[\w ]+", "_", " ".join(parts))
            if tally.is_new(shape):
                print(f"{sql};\n    PostgreSQL: {theirs}\n    pgsqlite:   {ours}", flush=True)
    tally.summary()
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
