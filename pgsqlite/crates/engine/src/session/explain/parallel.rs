//! The nodes of a query whose groups several connections make ([`crate::session::execution::gathering`]), as PostgreSQL names them.

use super::nodes::{Node, Value};
use pgsqlite_types::Oid;

/// Makes of the aggregate over a table's rows one that puts parts together: below a Gather, each process makes its part of the groups, of a
/// part of the table. Returns whether there is such an aggregate.
pub(in crate::session) fn gathered(node: &mut Node, table: Oid, helpers: usize) -> bool {
    if node.kind != "Aggregate" || !reads(node, table) {
        return node.children.iter_mut().any(|child| gathered(child, table, helpers));
    }
    let mode = |node: &mut Node, mode: &str| {
        node.variant.iter_mut().filter(|(name, _)| *name == "Partial Mode").for_each(|(_, value)| *value = mode.into());
    };
    let mut partial = node.clone();
    mode(&mut partial, "Partial");
    partial.table = None;
    divide_scan(&mut partial, table);
    mode(node, "Finalize");
    let mut gather = Node::over("Gather", partial);
    gather.properties.push(("Workers Planned", Value::Number(helpers.to_string())));
    node.children.clear();
    node.adopt(gather, "Outer");
    true
}

/// Whether a node reads a table with no other aggregate between them.
fn reads(node: &Node, table: Oid) -> bool {
    let below = node.children.iter().filter(|child| child.subplan.is_none());
    below.into_iter().any(|child| child.kind != "Aggregate" && (child.table == Some(table) || reads(child, table)))
}

/// The table is read in parts.
fn divide_scan(node: &mut Node, table: Oid) -> bool {
    if node.table == Some(table) && node.children.is_empty() {
        node.parallel = true;
        return true;
    }
    node.children.iter_mut().filter(|child| child.subplan.is_none()).any(|child| divide_scan(child, table))
}
