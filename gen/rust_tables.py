#!/usr/bin/env python3
"""Writes the generated Rust sources of crate `types` from its data files (made by gen/catalogs.sh):
src/sqlstate.rs from sqlstate.tsv, src/oid.rs from pg_type.tsv. Run by `make gen`."""

from pathlib import Path

TYPES = Path(__file__).resolve().parent.parent / "pgsqlite/crates/types"


def rows(name):
    lines = (TYPES / "data" / name).read_text().splitlines()
    head = lines[0].split("\t")
    return [dict(zip(head, line.split("\t"))) for line in lines[1:]]


def sqlstate():
    # A few names mean several codes: the plain name is the error's (not the warning's of class 01), the first one's;
    # the others carry their code.
    codes = {}
    for row in sorted(rows("sqlstate.tsv"), key=lambda row: row["code"].startswith("01")):
        name, code = row["name"], row["code"]
        if codes.setdefault(name, code) != code:
            codes[f"{name}_{code.lower()}"] = code
    consts = "\n".join(f'    pub const {n.upper()}: SqlState = SqlState(*b"{c}");' for n, c in codes.items())
    names = "\n".join(f'    ("{n}", SqlState::{n.upper()}),' for n in sorted(codes))
    return f"""// Written by gen/rust_tables.py from data/sqlstate.tsv: do not edit.
//! SQLSTATEs (manual, appendix A).

use std::fmt;

/// A five-character SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {{
    /// A code given as text (`RAISE … USING ERRCODE`); None unless it is five of `0-9A-Z`.
    pub fn parse(code: &str) -> Option<Self> {{
        let bytes: [u8; 5] = code.as_bytes().try_into().ok()?;
        bytes.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()).then_some(SqlState(bytes))
    }}
    pub fn as_str(&self) -> &str {{
        std::str::from_utf8(&self.0).expect("a SQLSTATE is ASCII")
    }}
    /// The code of a condition name (`unique_violation`).
    pub fn by_name(name: &str) -> Option<Self> {{
        NAMES.binary_search_by_key(&name, |(n, _)| n).ok().map(|i| NAMES[i].1)
    }}
{consts}
}}

impl fmt::Display for SqlState {{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {{
        f.write_str(self.as_str())
    }}
}}
impl fmt::Debug for SqlState {{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {{
        f.write_str(self.as_str())
    }}
}}

/// Condition names in order.
static NAMES: &[(&str, SqlState)] = &[
{names}
];
"""


def oids():
    consts = []
    for row in rows("pg_type.tsv"):
        name = row["typname"]
        if row["typrelid"] != "0":
            continue
        name = name[1:] + "_array" if name.startswith("_") else name
        name = {"char": "char"}.get(name, name)
        consts.append(f'pub const {name.upper()}: Oid = {row["oid"]};')
    body = "\n".join(consts)
    return f"""// Written by gen/rust_tables.py from data/pg_type.tsv: do not edit.
//! Object identifiers, and those of PostgreSQL's built-in types by name.
//! `BPCHAR` is `character(n)`, `CHAR` is the one-byte `"char"`.

/// An object identifier; 0 is "none".
pub type Oid = u32;

pub const INVALID: Oid = 0;
{body}
/// The first OID that is given to an object of the user (PostgreSQL: FirstNormalObjectId).
pub const FIRST_USER_OID: Oid = 16384;
"""


(TYPES / "src/sqlstate.rs").write_text(sqlstate())
(TYPES / "src/oid.rs").write_text(oids())
