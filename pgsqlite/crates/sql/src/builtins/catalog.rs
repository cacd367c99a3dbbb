//! `pg_proc`, `pg_operator`, `pg_cast`, `pg_aggregate` of PostgreSQL 15, read from the data files that gen/catalogs.sh wrote, with what later
//! releases have added (`later_*.tsv`, by gen/later_releases.sh).

use super::word::Word;
use foldhash::{HashMap, HashSet};
use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// One row of `pg_proc`.
#[derive(Debug, Clone, PartialEq)]
pub struct Proc {
    pub oid: Oid,
    pub name: Word,
    /// input arguments
    pub args: Vec<Oid>,
    pub ret: Oid,
    /// `f` function, `a` aggregate, `w` window, `p` procedure
    pub kind: u8,
    pub retset: bool,
    pub strict: bool,
    /// `i`, `s` or `v`
    pub volatility: u8,
    /// element type of the VARIADIC argument (`any` for VARIADIC "any"); 0 none
    pub variadic: Oid,
    pub default_count: usize,
    /// PostgreSQL SQL texts of the defaults of the last `default_count` arguments
    pub defaults: Vec<Word>,
    pub all_args: Option<Vec<Oid>>,
    /// `i`, `o`, `b`, `v`, `t` per entry of `all_args`
    pub arg_modes: Option<Vec<u8>>,
    pub arg_names: Option<Vec<Word>>,
    /// C symbol of internal functions
    pub src: Option<&'static str>,
    /// It fails for no argument, nor shows in another way what its arguments are.
    pub leakproof: bool,
}

/// One row of `pg_operator`.
#[derive(Debug, Clone)]
pub struct Operator {
    pub oid: Oid,
    pub name: Word,
    /// 0 for a prefix operator
    pub left: Oid,
    pub right: Oid,
    pub result: Oid,
    pub proc: Oid,
    pub commutator: Oid,
    pub negator: Oid,
    pub merges: bool,
    pub hashes: bool,
    /// estimators of selectivity; 0: none
    pub restrict: Oid,
    pub join: Oid,
}

/// In which contexts a cast is applied by itself; ordered, so "allowed here" is one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    Implicit,
    Assignment,
    Explicit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastMethod {
    /// through the function
    Function(Oid),
    /// through the types' text input and output
    InOut,
    /// no conversion of the representation
    Binary,
}

/// One row of `pg_cast`.
#[derive(Debug, Clone)]
pub struct Cast {
    pub source: Oid,
    pub target: Oid,
    pub context: CastContext,
    pub method: CastMethod,
}

/// One row of `pg_aggregate`: of PostgreSQL's own or of the user's (whose definition is stored so).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aggregate {
    pub proc: Oid,
    /// `n` normal, `o` ordered-set, `h` hypothetical-set
    pub kind: u8,
    pub direct_args: usize,
    pub plain: AggregateSteps,
    /// over a moving window frame
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<AggregateSteps>,
    /// `aggmfinalmodify`, which every aggregate has
    pub moving_modify: u8,
    pub combine: Oid,
    pub serialize: Oid,
    pub deserialize: Oid,
    pub sort_operator: Oid,
}

/// How an aggregate computes: the functions (0: none) and their state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AggregateSteps {
    pub transition: Oid,
    /// takes a row out again; of a moving frame only
    pub inverse: Oid,
    pub finish: Oid,
    /// `finish` gets NULLs for the aggregated arguments, too
    pub finish_extra: bool,
    /// `r` read only, `s` shareable, `w` read and write
    pub finish_modify: u8,
    pub state: Oid,
    /// estimated size of the state, 0: unknown
    pub space: i32,
    /// text of the first state
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,
}

/// The fields of a line. A hundred thousand of them are read at the start, most of a few bytes: a plain loop finds their ends
/// sooner than a search for each.
fn fields(line: &'static str) -> Vec<&'static str> {
    let mut fields = Vec::with_capacity(32);
    let mut start = 0;
    for (i, byte) in line.bytes().enumerate() {
        if byte == b'\t' {
            fields.push(&line[start..i]);
            start = i + 1;
        }
    }
    fields.push(&line[start..]);
    fields
}

fn oid(text: &str) -> Oid {
    text.parse().expect("an OID in a catalog data file")
}

fn optional(text: &'static str) -> Option<&'static str> {
    (text != "\\N").then_some(text)
}

fn oid_list(text: &str) -> Vec<Oid> {
    text.trim_matches(['{', '}']).split([' ', ',']).filter(|s| !s.is_empty()).map(oid).collect()
}

struct Procs {
    rows: Vec<Proc>,
    by_oid: HashMap<Oid, usize>,
    by_name: HashMap<Word, Vec<usize>>,
    /// those that PostgreSQL 15 does not have
    later: HashSet<Oid>,
}

fn procs() -> &'static Procs {
    static TABLE: OnceLock<Procs> = OnceLock::new();
    TABLE.get_or_init(|| {
        let extensions = include_str!("../../data/extension_proc.tsv").lines().skip(1);
        let own = include_str!("../../data/pg_proc.tsv").lines().skip(1);
        let mut rows: Vec<Proc> = own.chain(extensions).map(parse_proc).collect();
        let first_later = rows.len();
        rows.extend(include_str!("../../data/later_proc.tsv").lines().skip(1).map(parse_proc));
        let later = rows[first_later..].iter().map(|p| p.oid).collect();
        let mut by_name: HashMap<Word, Vec<usize>> = HashMap::default();
        for (i, p) in rows.iter().enumerate() {
            by_name.entry(p.name.clone()).or_default().push(i);
        }
        Procs { by_oid: rows.iter().enumerate().map(|(i, p)| (p.oid, i)).collect(), by_name, rows, later }
    })
}

fn parse_proc(line: &'static str) -> Proc {
    let f = fields(line);
    let list = |text: &'static str| {
        optional(text).map(|t| t.trim_matches(['{', '}']).split(',').map(|s| s.trim_matches('"')).collect::<Vec<_>>())
    };
    let default_count: usize = f[10].parse().expect("pronargdefaults");
    Proc {
        oid: oid(f[0]),
        name: f[1].into(),
        args: oid_list(f[3]),
        ret: oid(f[4]),
        kind: f[5].as_bytes()[0],
        retset: f[6] == "t",
        strict: f[7] == "t",
        volatility: f[8].as_bytes()[0],
        variadic: oid(f[9]),
        default_count,
        defaults: optional(f[14]).map(split_defaults).unwrap_or_default(),
        all_args: optional(f[11]).map(oid_list),
        arg_modes: list(f[12]).map(|m| m.iter().map(|s| s.as_bytes()[0]).collect()),
        arg_names: list(f[13]).map(|names| names.into_iter().map(Word::from).collect()),
        src: optional(f[15]),
        // (an extension's function has the extension's name there)
        leakproof: f[18] == "t",
    }
}

/// Splits `'a'::text, 0` at the commas outside quotes and parentheses.
fn split_defaults(text: &'static str) -> Vec<Word> {
    let (mut out, mut depth, mut quoted, mut start) = (Vec::new(), 0, false, 0);
    for (i, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                out.push(text[start..i].trim().into());
                start = i + 1;
            }
            _ => {}
        }
    }
    out.push(text[start..].trim().into());
    out
}

impl Proc {
    /// The schema it is in: those of information_schema share a prefix that no other function has.
    pub fn schema(&self) -> &'static str {
        if self.name.starts_with("_pg_") {
            "information_schema"
        } else {
            "pg_catalog"
        }
    }
}

/// Every built-in function, in the order of OIDs.
pub fn all_procs() -> &'static [Proc] {
    &procs().rows
}
pub fn proc_by_oid(oid: Oid) -> Option<&'static Proc> {
    procs().by_oid.get(&oid).map(|&i| &procs().rows[i])
}
/// All overloads of a name, those of later releases, too.
pub fn overloads(name: &str) -> impl Iterator<Item = &'static Proc> {
    procs().by_name.get(name).into_iter().flatten().map(|&i| &procs().rows[i])
}
/// The overloads that a name means: those of PostgreSQL 15 and extensions; where there is none, those of later releases.
pub fn procs_named(name: &str) -> impl Iterator<Item = &'static Proc> {
    let has_earlier = overloads(name).any(|p| !is_later(p.oid));
    overloads(name).filter(move |p| !has_earlier || !is_later(p.oid))
}
/// Whether a function came with a release after PostgreSQL 15.
pub fn is_later(oid: Oid) -> bool {
    procs().later.contains(&oid)
}

/// What `pg_proc` has of a function besides [`Proc`].
#[derive(Debug, Clone)]
pub struct ProcDetails {
    pub language: Oid,
    /// `s`, `r` or `u`
    pub parallel: &'static str,
    pub cost: f64,
    pub rows: f64,
    /// as PostgreSQL prints it; None: everybody may call it
    pub acl: Option<&'static str>,
    pub support: Oid,
    /// the library of a function in C
    pub library: Option<&'static str>,
}

/// The details of PostgreSQL's own functions (those of extensions have none).
pub fn proc_details(proc: Oid) -> Option<&'static ProcDetails> {
    static TABLE: OnceLock<HashMap<Oid, ProcDetails>> = OnceLock::new();
    TABLE
        .get_or_init(|| {
            let later = include_str!("../../data/later_proc.tsv").lines().skip(1);
            include_str!("../../data/pg_proc.tsv")
                .lines()
                .skip(1)
                .chain(later)
                .map(|line| {
                    let f = fields(line);
                    let details = ProcDetails {
                        language: oid(f[16]),
                        parallel: f[17],
                        cost: f[19].parse().expect("procost"),
                        rows: f[20].parse().expect("prorows"),
                        acl: optional(f[21]),
                        support: oid(f[22]),
                        library: optional(f[23]),
                    };
                    (oid(f[0]), details)
                })
                .collect()
        })
        .get(&proc)
}

struct Operators {
    rows: Vec<Operator>,
    by_oid: HashMap<Oid, usize>,
    by_name: HashMap<Word, Vec<usize>>,
}

fn operators() -> &'static Operators {
    static TABLE: OnceLock<Operators> = OnceLock::new();
    TABLE.get_or_init(|| {
        let extensions = include_str!("../../data/extension_operator.tsv").lines().skip(1);
        let rows: Vec<Operator> = include_str!("../../data/pg_operator.tsv")
            .lines()
            .skip(1)
            .chain(extensions)
            .map(|line| {
                let f = fields(line);
                Operator {
                    oid: oid(f[0]),
                    name: f[1].into(),
                    left: oid(f[3]),
                    right: oid(f[4]),
                    result: oid(f[5]),
                    proc: oid(f[6]),
                    commutator: oid(f[7]),
                    negator: oid(f[8]),
                    merges: f[9] == "t",
                    hashes: f[10] == "t",
                    restrict: f.get(11).and_then(|t| t.parse().ok()).unwrap_or(0),
                    join: f.get(12).map_or(0, |t| oid(t)),
                }
            })
            .collect();
        let mut by_name: HashMap<Word, Vec<usize>> = HashMap::default();
        for (i, o) in rows.iter().enumerate() {
            by_name.entry(o.name.clone()).or_default().push(i);
        }
        Operators { by_oid: rows.iter().enumerate().map(|(i, o)| (o.oid, i)).collect(), by_name, rows }
    })
}

pub fn all_operators() -> &'static [Operator] {
    &operators().rows
}
pub fn operator_by_oid(oid: Oid) -> Option<&'static Operator> {
    operators().by_oid.get(&oid).map(|&i| &operators().rows[i])
}
pub fn operators_named(name: &str) -> impl Iterator<Item = &'static Operator> {
    operators().by_name.get(name).into_iter().flatten().map(|&i| &operators().rows[i])
}

fn casts() -> &'static HashMap<(Oid, Oid), Cast> {
    static TABLE: OnceLock<HashMap<(Oid, Oid), Cast>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let extensions = include_str!("../../data/extension_cast.tsv").lines().skip(1);
        let later = include_str!("../../data/later_cast.tsv").lines().skip(1);
        include_str!("../../data/pg_cast.tsv")
            .lines()
            .skip(1)
            .chain(extensions)
            .chain(later)
            .map(|line| {
                let f = fields(line);
                let cast = Cast {
                    source: oid(f[1]),
                    target: oid(f[2]),
                    context: match f[4] {
                        "i" => CastContext::Implicit,
                        "a" => CastContext::Assignment,
                        _ => CastContext::Explicit,
                    },
                    method: match f[5] {
                        "f" => CastMethod::Function(oid(f[3])),
                        "i" => CastMethod::InOut,
                        _ => CastMethod::Binary,
                    },
                };
                ((cast.source, cast.target), cast)
            })
            .collect()
    })
}

/// The row of `pg_cast` from one built-in type to another. Length coercions (source = target) are rows too.
pub fn cast(source: Oid, target: Oid) -> Option<&'static Cast> {
    casts().get(&(source, target))
}
pub fn all_casts() -> impl Iterator<Item = &'static Cast> {
    casts().values()
}

fn aggregates() -> &'static HashMap<Oid, Aggregate> {
    static TABLE: OnceLock<HashMap<Oid, Aggregate>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let extensions = include_str!("../../data/extension_aggregate.tsv").lines().skip(1);
        let later = include_str!("../../data/later_aggregate.tsv").lines().skip(1);
        include_str!("../../data/pg_aggregate.tsv")
            .lines()
            .skip(1)
            .chain(extensions)
            .chain(later)
            .map(|line| {
                let f = fields(line);
                let number = |i: usize| f[i].parse::<i32>().expect("a number in pg_aggregate.tsv");
                let text = |i: usize| optional(f[i]).map(String::from);
                let moving = AggregateSteps {
                    transition: oid(f[11]),
                    inverse: oid(f[12]),
                    finish: oid(f[13]),
                    finish_extra: f[15] == "t",
                    finish_modify: f[17].as_bytes()[0],
                    state: oid(f[19]),
                    space: number(20),
                    initial: text(21),
                };
                let row = Aggregate {
                    proc: oid(f[0]),
                    kind: f[1].as_bytes()[0],
                    direct_args: f[2].parse().expect("aggnumdirectargs"),
                    plain: AggregateSteps {
                        transition: oid(f[6]),
                        inverse: 0,
                        finish: oid(f[7]),
                        finish_extra: f[14] == "t",
                        finish_modify: f[16].as_bytes()[0],
                        state: oid(f[4]),
                        space: number(18),
                        initial: text(5),
                    },
                    moving: (moving.transition != 0).then_some(moving),
                    moving_modify: f[17].as_bytes()[0],
                    combine: oid(f[8]),
                    serialize: oid(f[9]),
                    deserialize: oid(f[10]),
                    sort_operator: oid(f[3]),
                };
                (row.proc, row)
            })
            .collect()
    })
}

/// The row of a built-in aggregate.
pub fn aggregate(proc: Oid) -> Option<&'static Aggregate> {
    aggregates().get(&proc)
}

/// The built-in aggregate that computes with the same functions.
pub fn aggregate_like(aggregate: &Aggregate) -> Option<&'static Aggregate> {
    aggregates().values().find(|a| {
        a.kind == aggregate.kind
            && a.direct_args == aggregate.direct_args
            && a.plain.transition == aggregate.plain.transition
            && a.plain.finish == aggregate.plain.finish
            && a.plain.initial == aggregate.plain.initial
    })
}

/// A column of a [`SystemRelation`]: attnum, name, type, typmod, not null, collation.
pub type SystemColumn = (i16, &'static str, Oid, i32, bool, Oid);

/// A table or view of pg_catalog or information_schema: its OID, kind and columns.
#[derive(Debug, Clone)]
pub struct SystemRelation {
    pub schema: &'static str,
    pub name: &'static str,
    pub oid: Oid,
    /// `r` table, `v` view
    pub kind: u8,
    pub row_type: Oid,
    pub columns: Vec<SystemColumn>,
    /// Columns that later releases have: a query finds them by their names, and `*` and pg_attribute have none of them. Their attnums are below
    /// those of system columns.
    pub later: Vec<SystemColumn>,
}

impl SystemRelation {
    /// All columns that its rows have.
    pub fn stored(&self) -> impl Iterator<Item = &SystemColumn> {
        self.columns.iter().chain(&self.later)
    }
}

/// What later releases have added to a table of pg_catalog.
pub fn later_columns(relation: Oid) -> &'static [SystemColumn] {
    static TABLE: OnceLock<HashMap<Oid, &'static [SystemColumn]>> = OnceLock::new();
    let with_some = |r: &'static SystemRelation| (!r.later.is_empty()).then_some((r.oid, r.later.as_slice()));
    let table = TABLE.get_or_init(|| system_relations().iter().filter_map(with_some).collect());
    table.get(&relation).copied().unwrap_or_default()
}

/// Every table and view of PostgreSQL's pg_catalog and information_schema.
pub fn system_relations() -> &'static [SystemRelation] {
    static TABLE: OnceLock<Vec<SystemRelation>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut out: Vec<SystemRelation> = Vec::new();
        // pg_stat_statements is an extension's in PostgreSQL; here it is always there
        let extensions = include_str!("../../data/extension_columns.tsv").lines().skip(1);
        for line in include_str!("../../data/catalog_columns.tsv").lines().skip(1).chain(extensions) {
            let f = fields(line);
            let relation = oid(f[2]);
            if out.last().is_none_or(|r| r.oid != relation) {
                out.push(SystemRelation {
                    schema: f[0],
                    name: f[1],
                    oid: relation,
                    kind: f[3].as_bytes()[0],
                    row_type: oid(f[4]),
                    columns: Vec::new(),
                    later: Vec::new(),
                });
            }
            let number = |i: usize| f[i].parse().expect("a number in catalog_columns.tsv");
            let column = (f[5].parse().expect("attnum"), f[6], oid(f[7]), number(8), f[9] == "t", oid(f[10]));
            out.last_mut().expect("pushed above").columns.push(column);
        }
        for line in include_str!("../../data/later_columns.tsv").lines().skip(1) {
            let f = fields(line);
            let of = out.iter_mut().find(|r| r.schema == f[0] && r.name == f[1]).expect("a table of later_columns.tsv");
            let number = -100 - of.later.len() as i16;
            of.later.push((number, f[2], oid(f[3]), -1, f[4] == "t", 0));
        }
        out
    })
}

/// One row of `pg_collation`.
#[derive(Debug, Clone)]
pub struct Collation {
    pub oid: Oid,
    pub name: &'static str,
    /// `d` default, `c` libc, `i` ICU
    pub provider: u8,
    pub encoding: i32,
    pub collate: Option<&'static str>,
    pub ctype: Option<&'static str>,
    /// the locale of ICU
    pub locale: Option<&'static str>,
    pub version: Option<&'static str>,
}

/// Every collation of a PostgreSQL with ICU and without operating system locales.
pub fn all_collations() -> &'static [Collation] {
    static TABLE: OnceLock<Vec<Collation>> = OnceLock::new();
    TABLE.get_or_init(|| {
        include_str!("../../data/pg_collation.tsv")
            .lines()
            .skip(1)
            .map(|line| {
                let f = fields(line);
                Collation {
                    oid: oid(f[0]),
                    name: f[1],
                    provider: f[2].as_bytes()[0],
                    encoding: f[4].parse().expect("collencoding"),
                    collate: optional(f[5]),
                    ctype: optional(f[6]),
                    locale: optional(f[7]),
                    version: optional(f[8]),
                }
            })
            .collect()
    })
}
pub fn collation_by_oid(oid: Oid) -> Option<&'static Collation> {
    let all = all_collations();
    all.binary_search_by_key(&oid, |c| c.oid).ok().map(|i| &all[i])
}
pub fn collation_named(name: &str) -> Option<&'static Collation> {
    all_collations().iter().find(|c| c.name == name)
}

/// One row of `pg_opclass`.
#[derive(Debug, Clone)]
pub struct OperatorClass {
    pub oid: Oid,
    /// the access method's name
    pub method: &'static str,
    pub name: &'static str,
    pub input: Oid,
    pub default: bool,
    pub key: Oid,
    pub family: Oid,
    pub method_oid: Oid,
}

pub fn all_operator_classes() -> &'static [OperatorClass] {
    static TABLE: OnceLock<Vec<OperatorClass>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let extensions = include_str!("../../data/extension_opclass.tsv").lines().skip(1);
        include_str!("../../data/pg_opclass.tsv")
            .lines()
            .skip(1)
            .chain(extensions)
            .map(|line| {
                let f = fields(line);
                OperatorClass {
                    oid: oid(f[0]),
                    method: f[1],
                    name: f[2],
                    input: oid(f[3]),
                    default: f[4] == "t",
                    key: oid(f[5]),
                    family: oid(f[6]),
                    method_oid: oid(f[7]),
                }
            })
            .collect()
    })
}
pub fn operator_class_by_oid(oid: Oid) -> Option<&'static OperatorClass> {
    all_operator_classes().iter().find(|c| c.oid == oid)
}

/// The rows of `pg_opfamily`: oid, opfmethod, opfname.
pub fn all_operator_families() -> impl Iterator<Item = Vec<&'static str>> {
    let extensions = include_str!("../../data/extension_opfamily.tsv").lines().skip(1);
    let own = include_str!("../../data/pg_opfamily.tsv").lines().skip(1);
    own.chain(extensions).map(|line| line.split('\t').collect())
}

/// Whether an operator is one that a family's indexes can search by (a row of `pg_amop`).
pub fn is_in_family(operator: Oid, family: Oid) -> bool {
    static TABLE: OnceLock<HashSet<(Oid, Oid)>> = OnceLock::new();
    let members = TABLE.get_or_init(|| {
        let extensions = include_str!("../../data/extension_amop.tsv").lines().skip(1);
        let own = include_str!("../../data/pg_amop.tsv").lines().skip(1);
        own.chain(extensions).map(fields).filter(|f| f[5] == "s").map(|f| (oid(f[6]), oid(f[1]))).collect()
    });
    members.contains(&(operator, family))
}

/// Whether an operator is one by whose results a family's indexes can order (a row of `pg_amop`).
pub fn orders_in_family(operator: Oid, family: Oid) -> bool {
    static TABLE: OnceLock<HashSet<(Oid, Oid)>> = OnceLock::new();
    let members = TABLE.get_or_init(|| {
        let extensions = include_str!("../../data/extension_amop.tsv").lines().skip(1);
        let own = include_str!("../../data/pg_amop.tsv").lines().skip(1);
        own.chain(extensions).map(fields).filter(|f| f[5] == "o").map(|f| (oid(f[6]), oid(f[1]))).collect()
    });
    members.contains(&(operator, family))
}

/// How an operator sorts that is `<` or `>` of a btree family. None: it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ordering {
    pub descending: bool,
    /// the order is the one that the operands' type has by default
    pub default: bool,
}

/// See [`Ordering`].
pub fn ordering(operator: Oid) -> Option<Ordering> {
    const BTREE: &str = "403";
    static TABLE: OnceLock<HashMap<Oid, Ordering>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let extensions = include_str!("../../data/extension_amop.tsv").lines().skip(1);
        let own = include_str!("../../data/pg_amop.tsv").lines().skip(1);
        let rows = own.chain(extensions).map(fields).filter(|f| f[7] == BTREE && f[5] == "s" && f[2] == f[3]);
        rows.filter(|f| matches!(f[4], "1" | "5"))
            .map(|f| {
                let (family, ty) = (oid(f[1]), oid(f[2]));
                let default = all_operator_classes().iter().any(|c| c.default && c.family == family && c.input == ty);
                (oid(f[6]), Ordering { descending: f[4] == "5", default })
            })
            .collect()
    });
    table.get(&operator).copied()
}

/// The name of an operator family.
pub fn operator_family_name(family: Oid) -> Option<&'static str> {
    static TABLE: OnceLock<HashMap<Oid, &'static str>> = OnceLock::new();
    let names = TABLE.get_or_init(|| {
        let extensions = include_str!("../../data/extension_opfamily.tsv").lines().skip(1);
        let own = include_str!("../../data/pg_opfamily.tsv").lines().skip(1);
        own.chain(extensions).map(fields).map(|f| (oid(f[0]), f[2])).collect()
    });
    names.get(&family).copied()
}

/// One row of `pg_am`: (oid, name, handler function, `i` index or `t` table).
pub fn access_methods() -> &'static [(Oid, &'static str, Oid, u8)] {
    static TABLE: OnceLock<Vec<(Oid, &'static str, Oid, u8)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let extensions = include_str!("../../data/extension_am.tsv").lines().skip(1);
        include_str!("../../data/pg_am.tsv")
            .lines()
            .skip(1)
            .chain(extensions)
            .map(|line| {
                let f = fields(line);
                (oid(f[0]), f[1], oid(f[2]), f[3].as_bytes()[0])
            })
            .collect()
    })
}

/// The rows of PostgreSQL's `pg_settings`, as text (columns: the first line of the files), and of the settings of later releases.
pub fn settings_data() -> impl Iterator<Item = &'static str> {
    let later = include_str!("../../data/later_settings.tsv").lines().skip(1);
    include_str!("../../data/pg_settings.tsv").lines().skip(1).chain(later)
}

/// The comments on PostgreSQL's built-in objects: (class OID, object OID, text), sorted.
pub fn descriptions() -> &'static [(Oid, Oid, &'static str)] {
    static TABLE: OnceLock<Vec<(Oid, Oid, &'static str)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let later = include_str!("../../data/later_description.tsv").lines().skip(1);
        let rows = include_str!("../../data/pg_description.tsv").lines().skip(1).chain(later).filter_map(|line| {
            let mut fields = line.splitn(3, '\t');
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?, fields.next()?))
        });
        let mut all: Vec<(Oid, Oid, &'static str)> = rows.collect();
        all.sort_unstable();
        all
    })
}

/// The comment on a built-in object.
pub fn description(class: Oid, object: Oid) -> Option<&'static str> {
    let table = descriptions();
    table.binary_search_by_key(&(class, object), |d| (d.0, d.1)).ok().map(|i| table[i].2)
}
