//! COSTS of EXPLAIN: rough estimates by PostgreSQL's unit costs.
//!
//! SQLite tells no costs. Programs that read them (`postgres_fdw` with `use_remote_estimate`) want to know how many rows come, how wide
//! they are, and which of two plans takes longer. The estimates begin with the rows that ANALYZE counted, or with the ten pages that
//! PostgreSQL assumes of a table that it has not counted; conditions that SQLite checks by itself are not looked at.

use crate::session::explain::nodes::Node;
use crate::session::OutputColumn;
use pgsqlite_sql::catalog::{Catalog, Relation};
use pgsqlite_types::{catalog as pg_type, oid, Oid};

/// What is expected of a node.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::session) struct Estimate {
    /// cost before the first row
    pub startup: f64,
    pub total: f64,
    pub rows: f64,
    /// bytes of a row
    pub width: i32,
}

/// Cost of a row, an index entry and an operator, where a page read in order costs 1.
const TUPLE: f64 = 0.01;
const INDEX_TUPLE: f64 = 0.005;
const OPERATOR: f64 = 0.0025;
/// Cost of a page read at random.
const RANDOM_PAGE: f64 = 4.0;
/// The share of rows that a condition on an index is expected to find.
const SELECTIVITY: f64 = 0.005;
/// A page without its header; a row's header, and its pointer.
const PAGE: i32 = 8168;
const ROW_HEADER: i32 = 24;
const ROW_POINTER: i32 = 4;
/// Rows of a function, or of what nothing is known of.
const UNKNOWN_ROWS: f64 = 1000.0;

/// How many bytes a value of a type takes on average, as PostgreSQL guesses without statistics.
pub(in crate::session) fn type_width(ty: Oid, typmod: i32) -> i32 {
    let length = pg_type::by_oid(ty).map_or(-1, |t| i32::from(t.len));
    if length > 0 {
        return length;
    }
    let longest = match ty {
        // a character takes four bytes at most
        oid::BPCHAR | oid::VARCHAR if typmod > 4 => (typmod - 4) * 4 + 4,
        _ => return 32,
    };
    match longest {
        _ if ty == oid::BPCHAR => longest,
        ..=32 => longest,
        33..=999 => 32 + (longest - 32) / 2,
        _ => 32 + (1000 - 32) / 2,
    }
}

fn row_width(relation: &Relation) -> i32 {
    relation.live_columns().map(|c| type_width(c.type_oid, c.typmod)).sum()
}

/// Rows, pages and width of a table.
fn size(relation: &Relation) -> (f64, f64, i32) {
    let width = row_width(relation);
    let per_page = |row: i32| f64::from((PAGE / (row + ROW_POINTER)).max(1));
    match relation.tuples {
        Some(tuples) if tuples >= 0 => {
            let stored = (ROW_HEADER + width + 7) / 8 * 8;
            (tuples as f64, (tuples as f64 / per_page(stored)).ceil().max(1.0), width)
        }
        _ => (per_page(ROW_HEADER + width) * 10.0, 10.0, width),
    }
}

/// Gives each node of a plan its estimate. `columns`: those of the statement, if it gives rows.
pub(in crate::session) fn estimate(root: &mut Node, catalog: &Catalog, columns: Option<&[OutputColumn]>) {
    of_node(root, catalog);
    if let (Some(columns), Some(estimate)) = (columns, &mut root.estimate) {
        estimate.width = columns.iter().map(|c| type_width(c.type_oid, c.typmod)).sum();
    }
}

fn of_node(node: &mut Node, catalog: &Catalog) -> Estimate {
    let mut inputs = Vec::new();
    let mut plans = 0.0;
    for child in &mut node.children {
        let estimate = of_node(child, catalog);
        match child.subplan {
            None => inputs.push(estimate),
            Some(_) => plans += estimate.total,
        }
    }
    let input = inputs.first().copied();
    let table = node.table.and_then(|oid| catalog.relation(oid)).map(|r| size(r));
    let mut estimate =
        match (node.kind.as_str(), input) {
            ("ModifyTable", Some(e)) => Estimate { rows: 0.0, width: 0, ..e },
            ("Nested Loop", Some(outer)) => inputs[1..].iter().fold(outer, |outer, inner| Estimate {
                startup: outer.startup + inner.startup,
                total: outer.total + outer.rows.max(1.0) * inner.total + outer.rows * inner.rows * TUPLE,
                rows: match node.property("Join Type") {
                    Some("Left") => (outer.rows * inner.rows).max(outer.rows),
                    Some("Semi") => outer.rows,
                    _ => outer.rows * inner.rows,
                },
                width: outer.width + inner.width,
            }),
            ("Hash Join", Some(outer)) => inputs[1..].iter().fold(outer, |outer, inner| {
                let found = outer.rows.max(inner.rows);
                Estimate {
                    startup: outer.startup + inner.total,
                    total: outer.total + inner.total + outer.rows * OPERATOR + found * TUPLE,
                    rows: found,
                    width: outer.width + inner.width,
                }
            }),
            ("Append" | "Merge Append" | "BitmapOr", Some(first)) => inputs[1..]
                .iter()
                .fold(first, |all, one| Estimate { total: all.total + one.total, rows: all.rows + one.rows, ..all }),
            ("Sort" | "Incremental Sort", Some(e)) => {
                let compared = e.rows.max(2.0) * e.rows.max(2.0).log2() * 2.0 * OPERATOR;
                Estimate { startup: e.total + compared, total: e.total + compared + e.rows * OPERATOR, ..e }
            }
            ("Aggregate", Some(e)) if node.is_hashed() => {
                let total = e.total + e.rows * OPERATOR;
                let rows = (e.rows / 10.0).ceil();
                Estimate { startup: total, total: total + rows * TUPLE, rows, ..e }
            }
            ("Aggregate", Some(e)) if node.variant.iter().any(|(_, v)| v == "Sorted") => {
                Estimate { total: e.total + e.rows * OPERATOR, rows: (e.rows / 10.0).ceil(), ..e }
            }
            ("Aggregate", Some(e)) => {
                let total = e.total + e.rows * OPERATOR;
                Estimate { startup: total, total: total + TUPLE, rows: 1.0, ..e }
            }
            ("Unique" | "SetOp", Some(e)) => Estimate { total: e.total + e.rows * OPERATOR, ..e },
            (_, Some(e)) => e,
            ("Result", None) => Estimate { total: TUPLE, rows: 1.0, ..Default::default() },
            ("Index Scan" | "Index Only Scan" | "Bitmap Index Scan", None) => {
                let (tuples, pages, width) = table.unwrap_or((UNKNOWN_ROWS, 10.0, 0));
                let searched = node.property("Index Cond").is_some();
                let rows = if searched { (tuples * SELECTIVITY).ceil().max(1.0) } else { tuples };
                let read = if searched { RANDOM_PAGE * (1.0 + rows.min(pages)) } else { pages };
                Estimate { startup: 0.15, total: 0.15 + read + rows * (INDEX_TUPLE + TUPLE), rows, width }
            }
            (_, None) => match table {
                Some((rows, pages, width)) => Estimate { startup: 0.0, total: pages + rows * TUPLE, rows, width },
                None => Estimate { total: UNKNOWN_ROWS * TUPLE, rows: UNKNOWN_ROWS, ..Default::default() },
            },
        };
    estimate.startup += plans;
    estimate.total += plans;
    estimate.rows = if node.kind == "ModifyTable" { 0.0 } else { estimate.rows.round().max(1.0) };
    node.estimate = Some(estimate);
    estimate
}
