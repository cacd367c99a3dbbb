#!/usr/bin/env python3
"""Encodings as data, asked of a running PostgreSQL 15: what each byte from 0x80 is, and what sequences of bytes are.

usage: tools/oracle.sh python3 gen/encodings.py

Writes pgsqlite/crates/types/data/encodings.tsv: PostgreSQL's name, its number, and 128 code points (hexadecimal; `-`: none).
Each direction is asked for: an encoding whose two directions do not agree is left out (with a message).

Writes pgsqlite/crates/types/data/multibyte.tsv: name, number, then runs of sequences that follow each other as numbers: `first:` and the
code points in hexadecimal, `n+k` for k of them from n on, `-` where there is none; then `char>bytes` for characters whose bytes are read as
another character. GB18030 beyond the Basic Multilingual Plane is a formula and not asked for.
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


MULTIBYTE = pathlib.Path(__file__).resolve().parent.parent / "pgsqlite/crates/types/data/multibyte.tsv"
# of each encoding the values that the bytes of its sequences can have
EUC = (0xA1, 0xFE)
SEQUENCES = {
    "EUC_JP": [[(0x8E, 0x8E), (0xA1, 0xDF)], [EUC, EUC], [(0x8F, 0x8F), EUC, EUC]],
    "EUC_CN": [[EUC, EUC]],
    "EUC_KR": [[EUC, EUC]],
    "EUC_TW": [[EUC, EUC], [(0x8E, 0x8E), (0xA1, 0xA7), EUC, EUC]],
    "SJIS": [[(0xA1, 0xDF)], [(0x81, 0xFC), (0x40, 0xFC)]],
    "BIG5": [[(0x80, 0xFF), (0x01, 0xFF)]],
    "GBK": [[(0x80, 0xFF), (0x01, 0xFF)]],
    "UHC": [[(0x80, 0xFF), (0x01, 0xFF)]],
    "JOHAB": [[(0x80, 0xFF), EUC], [(0x8F, 0x8F), EUC, EUC]],
    "GB18030": [[(0x81, 0xFE), (0x40, 0xFE)], [(0x81, 0x84), (0x30, 0x39), (0x81, 0xFE), (0x30, 0x39)]],
}


def runs(pairs: dict[int, int]) -> str:
    """Sequences (as numbers) and their code points, as the file has them."""
    out, last, count = [], None, 0
    words: list[list[int]] = []
    def flush() -> None:
        if words:
            out.append(" ".join(f"{n:x}" if k == 1 else f"{n:x}+{k:x}" for n, k in words))
            words.clear()
    for sequence, code in sorted(pairs.items()):
        if last is None or sequence != last + 1:
            flush()
            out.append(f"{sequence:x}:")
        if words and sequence == last + 1 and words[-1][0] + words[-1][1] == code:
            words[-1][1] += 1
        else:
            words.append([code, 1])
        last = sequence
    flush()
    return " ".join(out)


def multibyte() -> None:
    psql("""CREATE FUNCTION sequence(b bytea, e text) RETURNS int LANGUAGE plpgsql AS $$
            DECLARE t text; BEGIN t := convert_from(b, e); IF length(t) <> 1 THEN RETURN NULL; END IF; RETURN ascii(t);
            EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$""")
    lines = []
    for name, shapes in SEQUENCES.items():
        number = psql(f"SELECT pg_char_to_encoding('{name}')")[0][0]
        forward: dict[int, int] = {}
        for shape in shapes:
            tables = ", ".join(f"generate_series({low}, {high}) b{i}" for i, (low, high) in enumerate(shape))
            digits = " || ".join(f"lpad(to_hex(b{i}), 2, '0')" for i in range(len(shape)))
            found = psql(f"SELECT h, c FROM (SELECT h, sequence(decode(h, 'hex'), '{name}') AS c FROM (SELECT {digits} AS h FROM {tables}) s) s WHERE c IS NOT NULL")
            forward.update({int(h, 16): int(c) for h, c in found})
        there = psql(f"SELECT c, encode(b, 'hex') FROM (SELECT c, encoded(c, '{name}') AS b FROM generate_series(128, {0xFFFF if name == 'GB18030' else 0x2FFFF}) c) s WHERE b IS NOT NULL")
        backward = {int(c): int(h, 16) for c, h in there}
        inverse: dict[int, int] = {}
        for sequence, code in sorted(forward.items()):
            inverse.setdefault(code, sequence)
        others = " ".join(f"{c:x}>{h:x}" for c, h in sorted(backward.items()) if inverse.get(c) != h)
        missing = " ".join(f"{c:x}>" for c in sorted(inverse) if c not in backward)
        lines.append(f"{name}\t{number}\t{runs(forward)}\t{others} {missing}".rstrip() + "\n")
    MULTIBYTE.write_text("".join(lines))


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
    multibyte()


main()
