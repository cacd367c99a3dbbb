//! Compares the codecs with what PostgreSQL did: `vectors/*.tsv`, recorded by `gen/type_vectors.py`.

use pgsqlite_types::codec::{Context, EnumType, NoNames, TypeCodec};
use pgsqlite_types::settings::{ByteaOutput, DateOrder, DateStyle, IntervalStyle};
use pgsqlite_types::{catalog, typmod};
use pgsqlite_types::{Datum, Oid, PgError, Result, Settings};
use std::sync::Arc;

/// A field of COPY's text format; None for NULL.
fn field(text: &str) -> Option<String> {
    if text == "\\N" {
        return None;
    }
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('v') => out.push('\u{b}'),
            Some(c) => out.push(c),
            None => {}
        }
    }
    Some(out)
}

fn settings(list: &str) -> Settings {
    let mut s = Settings::default();
    for item in list.split(';').filter(|i| !i.is_empty()) {
        let (name, value) = item.split_once('=').expect("name=value");
        match name {
            "TimeZone" => {
                s.time_zone = pgsqlite_types::datetime::zone::by_name(value).expect("a zone");
                s.time_zone_name = value.into();
            }
            "DateStyle" => {
                let (style, order) = value.split_once(", ").expect("style, order");
                s.date_style = match style {
                    "ISO" => DateStyle::Iso,
                    "SQL" => DateStyle::Sql,
                    "German" => DateStyle::German,
                    _ => DateStyle::Postgres,
                };
                s.date_order = match order {
                    "MDY" => DateOrder::Mdy,
                    "DMY" => DateOrder::Dmy,
                    _ => DateOrder::Ymd,
                };
            }
            "IntervalStyle" => {
                s.interval_style = match value {
                    "postgres_verbose" => IntervalStyle::PostgresVerbose,
                    "sql_standard" => IntervalStyle::SqlStandard,
                    "iso_8601" => IntervalStyle::Iso8601,
                    _ => IntervalStyle::Postgres,
                }
            }
            "bytea_output" => s.bytea_output = ByteaOutput::Escape,
            "extra_float_digits" => s.extra_float_digits = value.parse().expect("a number"),
            other => panic!("setting {other}"),
        }
    }
    s
}

/// A refusal, as far as PostgreSQL's is recorded.
#[derive(Debug, PartialEq)]
struct Refusal {
    state: String,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    context: Option<String>,
}

fn refusal(e: &PgError) -> Refusal {
    Refusal {
        state: e.code().as_str().into(),
        message: e.message().into(),
        detail: e.fields().detail.clone(),
        hint: e.fields().hint.clone(),
        context: e.fields().context.clone(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

/// One vector; the text of the difference, if there is one.
fn check(line: &str) -> Option<String> {
    let f: Vec<Option<String>> = line.split('\t').map(field).collect();
    let text = |i: usize| f[i].clone();
    let oid: Oid = text(0)?.parse().ok()?;
    let typmod: i32 = text(2)?.parse().ok()?;
    let settings = settings(&text(3).unwrap_or_default());
    let input = text(4).unwrap_or_default();
    let codec = match TypeCodec::builtin(oid) {
        Some(codec) => codec,
        None => {
            let labels = ["sad", "ok", "happy"].map(String::from).to_vec();
            TypeCodec::Enum(Arc::new(EnumType { oid, name: "mood".into(), labels, unsafe_labels: vec![] }))
        }
    };
    let context = Context { settings: &settings, names: &NoNames };
    let expected_refusal = text(7).map(|state| Refusal {
        state,
        message: text(8).unwrap_or_default(),
        detail: text(9).filter(|d| !d.is_empty()),
        hint: text(10).filter(|d| !d.is_empty()),
        context: text(11).filter(|d| !d.is_empty()),
    });
    let what = format!("{} {:?} {:?}", text(1).unwrap_or_default(), input, text(3).unwrap_or_default());
    let stored: Result<Datum> = codec.text_in(&input, typmod, &context);
    match (stored, expected_refusal) {
        (Err(e), Some(expected)) => {
            // JSON arrays cannot keep lower bounds: refused as documented.
            let got = refusal(&e);
            (got != expected).then(|| format!("{what}: {got:?}, PostgreSQL: {expected:?}"))
        }
        (Err(e), None) => {
            if e.code().as_str() == "0A000" && input.trim_start().starts_with('[') {
                return None;
            }
            Some(format!("{what}: {:?}, PostgreSQL: {:?}", refusal(&e), text(5)))
        }
        (Ok(d), Some(expected)) => Some(format!("{what}: {d:?}, PostgreSQL: {expected:?}")),
        (Ok(d), None) => {
            let mut out = Vec::new();
            if let Err(e) = codec.text_out(d.as_ref(), &context, &mut out) {
                return Some(format!("{what}: {d:?}: text_out: {:?}", refusal(&e)));
            }
            let got = String::from_utf8_lossy(&out).into_owned();
            let expected = text(5).unwrap_or_default();
            if got != expected {
                return Some(format!("{what}: {d:?}: {got:?}, PostgreSQL: {expected:?}"));
            }
            let expected = text(6).unwrap_or_default();
            let mut out = Vec::new();
            if let Err(e) = codec.binary_out(d.as_ref(), &context, &mut out) {
                return Some(format!("{what}: {d:?}: binary_out: {:?}", refusal(&e)));
            }
            if hex(&out) != expected {
                return Some(format!("{what}: {d:?}: send {}, PostgreSQL: {expected}", hex(&out)));
            }
            match codec.binary_in(&unhex(&expected), typmod, &context) {
                Ok(back) if back == d => None,
                Ok(back) => Some(format!("{what}: {d:?}: receive gives {back:?}")),
                Err(e) => Some(format!("{what}: {d:?}: receive: {:?}", refusal(&e))),
            }
        }
    }
}

fn run(file: &str, text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    assert!(!lines.is_empty());
    let differences: Vec<String> = lines.iter().filter_map(|l| check(l)).collect();
    assert!(
        differences.is_empty(),
        "{file}: {} of {} differ:\n{}",
        differences.len(),
        lines.len(),
        differences.iter().take(60).cloned().collect::<Vec<_>>().join("\n")
    );
}

macro_rules! vectors {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name), include_str!(concat!("vectors/", stringify!($name), ".tsv")));
        })*
    };
}
vectors!(integers floats numerics strings byteas uuids dates times timestamps intervals jsons arrays bits networks moneys geometries transactions);

/// The type modifiers of declarations, and the names that `format_type` gives.
#[test]
fn typmods() {
    let mut differences = Vec::new();
    let mut count = 0;
    for line in include_str!("vectors/typmods.tsv").lines() {
        let f: Vec<Option<String>> = line.split('\t').map(field).collect();
        let text = |i: usize| f[i].clone().unwrap_or_default();
        let name = text(0);
        let base = name.trim_end_matches("[]");
        let catalog_name = match base {
            "char" => "bpchar",
            "\"char\"" => "char",
            other => other,
        };
        let base_oid = catalog::by_name(catalog_name).expect("a built-in type").oid;
        let array = name.ends_with("[]");
        let type_oid = if array { catalog::by_oid(base_oid).expect("a type").array } else { base_oid };
        let modifiers: Vec<i64> =
            text(1).split(',').filter(|m| !m.is_empty()).map(|m| m.parse().expect("int")).collect();
        // The grammar reads a bare char as char(1), a bare bit as bit(1).
        let modifiers =
            if (name.starts_with("char") || name == "bit") && modifiers.is_empty() { vec![1] } else { modifiers };
        let got = if modifiers.is_empty() { Ok(-1) } else { typmod::parse(type_oid, &modifiers).map(|p| p.typmod) };
        let got = got.map_err(|e| (e.code().as_str().to_string(), e.message().to_string()));
        let expected = match &f[5] {
            Some(state) => Err((state.clone(), text(6))),
            None => Ok(text(3).parse::<i32>().expect("a typmod")),
        };
        if expected.as_ref().is_err_and(|e| e.1.starts_with("syntax error")) {
            continue; // the grammar's
        }
        count += 1;
        if got != expected {
            differences.push(format!("{name}({}): {got:?}, PostgreSQL: {expected:?}", text(1)));
        } else if let Ok(t) = got {
            let oid: Oid = text(2).parse().expect("an OID");
            let shown = typmod::format_type(oid, t);
            if shown.as_deref() != f[4].as_deref() {
                differences.push(format!("{name}({}): {shown:?}, PostgreSQL: {:?}", text(1), f[4]));
            }
        }
    }
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), differences.join("\n"));
}
