#!/usr/bin/env python3
"""Single-byte encodings as data: what each byte from 0x80 is, asked of a running PostgreSQL 15.

usage: tools/oracle.sh python3 gen/encodings.py

Writes pgsqlite/crates/types/data/encodings.tsv: PostgreSQL's name, its number, and 128 code points (hexadecimal; `-`: none).
Each direction is asked for: an encoding whose two directions do not agree is left out (with a message).
"""

import pathlib
import subprocess
import sys

OUT = pathlib.Path(__file__).resolve().parent.parent / "pgsqlite/crates/types/data/encodings.tsv"
NAMES = (
    "LATIN1 LATIN2 LATIN3 LATIN4 LATIN5 LATIN6 LATIN7 LATIN8 LATIN9 LATIN10 WIN1250 WIN1251 WIN1252 WIN1253 WIN1254 "
    "WIN1255 WIN1256 WIN1257 WIN1258 WIN866 WIN874 KOI8R KOI8U ISO_8859_5 ISO_8859_6 ISO_8859_7 ISO_8859_8"
).split()

SQL = """
CREATE FUNCTION decoded(b int, e text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN RETURN ascii(convert_from(set_byte('\\x00', 0, b), e)); EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$;
CREATE FUNCTION encoded(c int, e text) RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN RETURN convert_to(chr(c), e); EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$;
"""


def psql(sql: str) -> list[list[str]]:
    done = subprocess.run(["psql", "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return [line.split("\t") for line in done.stdout.splitlines()]


def main() -> None:
    for statement in SQL.split("$$;"):
        if statement.strip():
            psql(statement + "$$")
    lines = []
    for name in NAMES:
        number = psql(f"SELECT pg_char_to_encoding('{name}')")[0][0]
        table = psql(f"SELECT b, decoded(b, '{name}') FROM generate_series(128, 255) b ORDER BY b")
        there = psql(f"SELECT c, encode(encoded(c, '{name}'), 'hex') FROM generate_series(128, 55295) c WHERE encoded(c, '{name}') IS NOT NULL")
        forward = {int(code): int(byte) for byte, code in table if code}
        backward = {int(code): int(byte, 16) for code, byte in there}
        if forward != backward:
            print(f"{name}: the directions differ: {set(forward.items()) ^ set(backward.items())}", file=sys.stderr)
            continue
        codes = " ".join(f"{int(code):x}" if code else "-" for _, code in table)
        lines.append(f"{name}\t{number}\t{codes}\n")
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("".join(lines))


main()
