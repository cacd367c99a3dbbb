//! PostgreSQL's built-in `pg_type`, as data.

use crate::oid::Oid;
use foldhash::HashMap;
use std::sync::OnceLock;

/// One row of `pg_type`. Field names are the catalog's without the prefix `typ`.
#[derive(Debug, Clone)]
pub struct PgType {
    pub oid: Oid,
    pub name: &'static str,
    /// Length in bytes; -1 variable, -2 C string.
    pub len: i16,
    pub byval: bool,
    /// `b` base, `c` composite, `d` domain, `e` enum, `p` pseudo, `r` range, `m` multirange.
    pub kind: u8,
    pub category: u8,
    pub preferred: bool,
    pub delim: u8,
    /// Element type of an array (or of `name`, `point`…, whose `subscript` is not the array handler); 0 none.
    pub elem: Oid,
    /// The array type over this one; 0 none.
    pub array: Oid,
    /// Base type of a domain; 0 none.
    pub base_type: Oid,
    pub collation: Oid,
    pub align: u8,
    pub storage: u8,
    pub input: Oid,
    pub output: Oid,
    pub receive: Oid,
    pub send: Oid,
    pub subscript: Oid,
    /// The extension whose type it is; None: it is always there.
    pub extension: Option<&'static str>,
}

/// `array_subscript_handler`: what makes a type with `elem` a true array.
const ARRAY_SUBSCRIPT_HANDLER: Oid = 6179;

impl PgType {
    pub fn is_array(&self) -> bool {
        self.elem != 0 && self.subscript == ARRAY_SUBSCRIPT_HANDLER
    }
}

struct Table {
    rows: Vec<PgType>,
    by_oid: HashMap<Oid, usize>,
    by_name: HashMap<&'static str, usize>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let own = include_str!("../data/pg_type.tsv").lines().skip(1);
        let of_extensions = include_str!("../data/extension_type.tsv").lines().skip(1);
        let rows: Vec<PgType> = own.chain(of_extensions).map(parse).collect();
        Table {
            by_oid: rows.iter().enumerate().map(|(i, t)| (t.oid, i)).collect(),
            by_name: rows.iter().enumerate().map(|(i, t)| (t.name, i)).collect(),
            rows,
        }
    })
}

fn parse(line: &'static str) -> PgType {
    let f: Vec<&'static str> = line.split('\t').collect();
    let num = |i: usize| f[i].parse().expect("a number in pg_type.tsv");
    let byte = |i: usize| f[i].as_bytes()[0];
    PgType {
        oid: num(0),
        name: f[1],
        len: f[2].parse().expect("a length in pg_type.tsv"),
        byval: f[3] == "t",
        kind: byte(4),
        category: byte(5),
        preferred: f[6] == "t",
        delim: byte(7),
        elem: num(9),
        array: num(10),
        base_type: num(12),
        collation: num(15),
        align: byte(16),
        storage: byte(17),
        input: num(18),
        output: num(19),
        receive: num(20),
        send: num(21),
        subscript: num(22),
        extension: f.get(23).copied(),
    }
}

/// Every built-in type, in the order of OIDs.
pub fn all() -> &'static [PgType] {
    &table().rows
}

/// The built-in type with this OID.
pub fn by_oid(oid: Oid) -> Option<&'static PgType> {
    table().by_oid.get(&oid).map(|&i| &table().rows[i])
}

/// The built-in type with this catalog name (`int4`, `_int4`, `bpchar` …).
pub fn by_name(name: &str) -> Option<&'static PgType> {
    table().by_name.get(name).map(|&i| &table().rows[i])
}

/// Whether values of a built-in type are stored as BLOBs ([`crate::codec::TypeCodec::is_blob`]).
pub fn is_blob(oid: Oid) -> bool {
    use crate::extension::{HALFVEC, SPARSEVEC, VECTOR};
    matches!(oid, crate::oid::BYTEA | HALFVEC | SPARSEVEC | VECTOR)
}

/// The type modifier of a built-in domain (those of information_schema); -1: none.
pub fn domain_typmod(domain: Oid) -> i32 {
    match domain {
        crate::oid::YES_OR_NO => 7,
        crate::oid::TIME_STAMP => 2,
        _ => -1,
    }
}
