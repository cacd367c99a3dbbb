//! The conditions that the rows of a partition satisfy, as PostgreSQL SQL over the names of its columns (the same in all
//! tables of a tree), and the texts of keys and bounds. Order and form are those of PostgreSQL's `pg_get_partition_constraintdef`,
//! `pg_get_partkeydef` and `pg_get_expr(relpartbound, …)`.

use crate::catalog::{Catalog, KeyPart, PartitionBound, PartitionKey, PartitionStrategy, RangeDatum, Relation};
use crate::names::{quote_constant, quote_identifier, Names};
use pgsqlite_types::codec::{Context, NoNames};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, Settings};
use std::cmp::Ordering;

/// The columns of a key as SQL: names, and expressions in parentheses.
pub fn key_texts(table: &Relation, key: &PartitionKey) -> Result<Vec<String>> {
    key.columns
        .iter()
        .map(|c| match &c.part {
            KeyPart::Column(attnum) => table
                .column_by_attnum(*attnum)
                .map(|c| quote_identifier(&c.name))
                .ok_or_else(|| PgError::internal("a partition key on no column")),
            KeyPart::Expression(text) => Ok(format!("({text})")),
        })
        .collect()
}

/// A value of a bound with its type.
fn literal(catalog: &Catalog, ty: Oid, text: &str) -> String {
    format!("{}::{}", quote_constant(text), Names::stored(catalog).type_name(ty, -1))
}

/// What a row of the partition satisfies besides the constraints of the tables above it: conditions that all hold. None: a
/// DEFAULT partition without siblings takes all.
pub fn bound_conditions(catalog: &Catalog, parent: &Relation, bound: &PartitionBound) -> Result<Vec<String>> {
    let key = parent.inheritance.key.as_ref().ok_or_else(|| PgError::internal("a partition of a table without key"))?;
    let texts = key_texts(parent, key)?;
    Ok(match bound {
        PartitionBound::List(values) => list_conditions(catalog, key, &texts[0], values),
        PartitionBound::Range { from, to } => range_conditions(catalog, key, &texts, from, to, true),
        PartitionBound::Hash { modulus, remainder } => vec![format!(
            "satisfies_hash_partition('{}'::oid, {modulus}, {remainder}, {})",
            parent.oid,
            texts.join(", ")
        )],
        PartitionBound::Default => {
            let siblings = catalog.partitions(parent.oid);
            let bounds: Vec<&PartitionBound> = siblings.iter().filter_map(|r| r.inheritance.bound.as_ref()).collect();
            match key.strategy {
                PartitionStrategy::List => {
                    let mut all: Vec<Option<String>> = bounds
                        .iter()
                        .filter_map(|b| match b {
                            PartitionBound::List(values) => Some(values.clone()),
                            _ => None,
                        })
                        .flatten()
                        .collect();
                    let ty = key.columns[0].type_oid;
                    all.sort_by(|a, b| match (a, b) {
                        (Some(a), Some(b)) => compare_values(catalog, ty, a, b),
                        _ => a.is_none().cmp(&b.is_none()),
                    });
                    if all.is_empty() {
                        return Ok(vec![]);
                    }
                    vec![format!("(NOT ({}))", all_of(list_conditions(catalog, key, &texts[0], &all)))]
                }
                _ => {
                    let mut arms = Vec::new();
                    let mut bounds = bounds;
                    bounds.sort_by(|a, b| match (a, b) {
                        (PartitionBound::Range { from: a, .. }, PartitionBound::Range { from: b, .. }) => {
                            let compare = |ty, a: &str, b: &str| Ok(compare_values(catalog, ty, a, b));
                            compare_bounds(key, a, b, compare).unwrap_or(Ordering::Equal)
                        }
                        _ => Ordering::Equal,
                    });
                    for bound in bounds {
                        work::visit();
                        if let PartitionBound::Range { from, to } = bound {
                            arms.push(all_of(range_conditions(catalog, key, &texts, from, to, false)));
                        }
                    }
                    if arms.is_empty() {
                        return Ok(vec![]);
                    }
                    let mut present: Vec<String> = texts.iter().map(|t| format!("({t} IS NOT NULL)")).collect();
                    present.push(any_of(arms));
                    vec![format!("(NOT ({}))", all_of(present))]
                }
            }
        }
    })
}

/// The order of two values of a bound, as they are written. (What cannot be read comes after the others.)
fn compare_values(catalog: &Catalog, ty: Oid, a: &str, b: &str) -> Ordering {
    let settings = Settings::default();
    let context = Context { settings: &settings, names: &NoNames };
    let Some(codec) = catalog.codec(ty) else { return Ordering::Equal };
    match (codec.text_in(a, -1, &context), codec.text_in(b, -1, &context)) {
        (Ok(a), Ok(b)) => codec.compare_storage(a.as_ref(), b.as_ref()),
        (a, b) => a.is_err().cmp(&b.is_err()),
    }
}

/// The order of two bounds of ranges. `compare`: that of two values of a type.
pub fn compare_bounds(
    key: &PartitionKey,
    a: &[RangeDatum],
    b: &[RangeDatum],
    compare: impl Fn(Oid, &str, &str) -> Result<Ordering>,
) -> Result<Ordering> {
    let rank = |d: &RangeDatum| match d {
        RangeDatum::MinValue => 0,
        RangeDatum::Value(_) => 1,
        RangeDatum::MaxValue => 2,
    };
    for ((a, b), column) in a.iter().zip(b).zip(&key.columns) {
        work::visit();
        let order = match (a, b) {
            (RangeDatum::Value(a), RangeDatum::Value(b)) => compare(column.type_oid, a, b)?,
            // all that follow are the same
            (a, b) if rank(a) == rank(b) => return Ok(Ordering::Equal),
            (a, b) => rank(a).cmp(&rank(b)),
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

fn all_of(mut list: Vec<String>) -> String {
    match list.len() {
        0 => "true".into(),
        1 => list.remove(0),
        _ => format!("({})", list.join(" AND ")),
    }
}

fn any_of(mut list: Vec<String>) -> String {
    match list.len() {
        0 => "false".into(),
        1 => list.remove(0),
        _ => format!("({})", list.join(" OR ")),
    }
}

fn list_conditions(catalog: &Catalog, key: &PartitionKey, text: &str, values: &[Option<String>]) -> Vec<String> {
    let ty = key.columns[0].type_oid;
    let known: Vec<String> = values.iter().flatten().map(|v| literal(catalog, ty, v)).collect();
    let null = values.iter().any(Option::is_none);
    let among = match known.len() {
        0 => None,
        1 => Some(format!("({text} = {})", known[0])),
        _ if catalog.element_type(ty).is_some() => {
            Some(any_of(known.iter().map(|v| format!("({text} = {v})")).collect()))
        }
        _ => Some(format!("({text} = ANY (ARRAY[{}]))", known.join(", "))),
    };
    match (among, null) {
        (None, _) => vec![format!("({text} IS NULL)")],
        (Some(among), true) => vec![format!("(({text} IS NULL) OR {among})")],
        (Some(among), false) => vec![format!("({text} IS NOT NULL)"), among],
    }
}

/// `present`: the key's columns are not NULL.
fn range_conditions(
    catalog: &Catalog,
    key: &PartitionKey,
    texts: &[String],
    from: &[RangeDatum],
    to: &[RangeDatum],
    present: bool,
) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    if present {
        out.extend(texts.iter().map(|t| format!("({t} IS NOT NULL)")));
    }
    let compare = |i: usize, operator: &str, value: &str| {
        format!("({} {operator} {})", texts[i], literal(catalog, key.columns[i].type_oid, value))
    };
    // columns whose lower and upper bound are the same
    let mut first = 0;
    while first < texts.len() {
        work::visit();
        match (&from[first], &to[first]) {
            (RangeDatum::Value(a), RangeDatum::Value(b)) if a == b => out.push(compare(first, "=", a)),
            _ => break,
        }
        first += 1;
    }
    for (bound, strict, inclusive, open) in
        [(from, ">", ">=", RangeDatum::MinValue), (to, "<", "<=", RangeDatum::MaxValue)]
    {
        work::visit();
        let mut arms = Vec::new();
        for last in first..texts.len() {
            work::visit();
            let RangeDatum::Value(value) = &bound[last] else { break };
            let mut arm: Vec<String> = (first..last)
                .filter_map(|i| match &bound[i] {
                    RangeDatum::Value(v) => Some(compare(i, "=", v)),
                    _ => None,
                })
                .collect();
            let ends = last + 1 == texts.len();
            let all_follow = !ends && bound[last + 1] == open;
            // the lower bound belongs to the range, the upper does not
            let with_equal = if open == RangeDatum::MinValue { ends || all_follow } else { all_follow };
            arm.push(compare(last, if with_equal { inclusive } else { strict }, value));
            arms.push(all_of(arm));
            if ends || all_follow {
                break;
            }
        }
        if !arms.is_empty() {
            out.push(any_of(arms));
        }
    }
    out
}

/// What a row of a partition satisfies because of its bound and those of the tables above it. None: it is no partition, or
/// takes all.
pub fn constraint(catalog: &Catalog, table: &Relation) -> Result<Option<String>> {
    let mut all = Vec::new();
    let mut at = table;
    while let Some(bound) = &at.inheritance.bound {
        work::visit();
        let parent = at
            .inheritance
            .parents
            .first()
            .and_then(|p| catalog.relation(*p))
            .ok_or_else(|| PgError::internal("a partition without its table"))?;
        let mut conditions = bound_conditions(catalog, parent, bound)?;
        conditions.append(&mut all);
        all = conditions;
        at = parent;
    }
    Ok(if all.is_empty() { None } else { Some(all_of(all)) })
}

/// A value as it stands in a bound, without a cast.
fn bound_value(ty: Oid, text: &str) -> String {
    let number =
        |point: bool| text.contains('.') == point && text.bytes().all(|b| b.is_ascii_digit() || point && b == b'.');
    match ty {
        // (a numeric without a point would be read as an integer)
        oid::INT4 if number(false) => text.to_string(),
        oid::NUMERIC if number(true) => text.to_string(),
        oid::BOOL => {
            if text == "t" {
                "true".into()
            } else {
                "false".into()
            }
        }
        _ => quote_constant(text),
    }
}

/// `FOR VALUES …`
pub fn bound_text(catalog: &Catalog, parent: &Relation, bound: &PartitionBound) -> Result<String> {
    let key = parent.inheritance.key.as_ref().ok_or_else(|| PgError::internal("a partition of a table without key"))?;
    let type_of = |i: usize| key.columns.get(i).map_or(oid::TEXT, |c| catalog.base_type(c.type_oid));
    let side = |list: &[RangeDatum]| {
        let texts: Vec<String> = list
            .iter()
            .enumerate()
            .map(|(i, d)| match d {
                RangeDatum::MinValue => "MINVALUE".into(),
                RangeDatum::MaxValue => "MAXVALUE".into(),
                RangeDatum::Value(v) => bound_value(type_of(i), v),
            })
            .collect();
        texts.join(", ")
    };
    Ok(match bound {
        PartitionBound::Default => "DEFAULT".into(),
        PartitionBound::List(values) => {
            let texts: Vec<String> =
                values.iter().map(|v| v.as_ref().map_or("NULL".into(), |v| bound_value(type_of(0), v))).collect();
            format!("FOR VALUES IN ({})", texts.join(", "))
        }
        PartitionBound::Range { from, to } => format!("FOR VALUES FROM ({}) TO ({})", side(from), side(to)),
        PartitionBound::Hash { modulus, remainder } => {
            format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
        }
    })
}

/// The columns of a key as they are shown.
pub fn shown_key(table: &Relation, key: &PartitionKey) -> Result<Vec<String>> {
    let show = |(text, column): (String, &crate::catalog::PartitionKeyColumn)| match &column.part {
        // a function call needs no parentheses
        KeyPart::Expression(inner) if is_call(inner) => inner.clone(),
        _ => text,
    };
    Ok(key_texts(table, key)?.into_iter().zip(&key.columns).map(show).collect())
}

/// `LIST (a)`, `RANGE (a, lower(b))` … : `pg_get_partkeydef`.
pub fn key_text(table: &Relation, key: &PartitionKey) -> Result<String> {
    let mut columns = Vec::new();
    for (mut out, column) in shown_key(table, key)?.into_iter().zip(&key.columns) {
        work::visit();
        let default = match &column.part {
            KeyPart::Column(a) => table.column_by_attnum(*a).map_or(0, |c| c.collation),
            KeyPart::Expression(_) => column.collation,
        };
        if column.collation != default {
            if let Some(c) = crate::builtins::catalog::collation_by_oid(column.collation) {
                out += &format!(" COLLATE {}", quote_identifier(c.name));
            }
        }
        columns.push(out);
    }
    Ok(format!("{} ({})", key.strategy.word(), columns.join(", ")))
}

/// Whether an expression's text is one function call.
fn is_call(text: &str) -> bool {
    let Some(open) = text.find('(') else { return false };
    let name = &text[..open];
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')) {
        return false;
    }
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        work::visit();
        match c {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return i + 1 == text.len();
                }
            }
            _ => {}
        }
    }
    false
}
