//! The nodes of a query whose groups several connections make ([`crate::session::execution::gathering`]), as PostgreSQL names them.

use super::nodes::{Node, Value};

/// Makes of the aggregate that is nearest to the root one that puts parts together: below a Gather, each process makes its part of the
/// groups, of a part of the table that is read first.
pub(in crate::session) fn gathered(node: &mut Node, helpers: usize) {
    if node.kind != "Aggregate" {
        if let Some(child) = node.children.iter_mut().find(|c| c.subplan.is_none()) {
            gathered(child, helpers);
        }
        return;
    }
    let mode = |node: &mut Node, mode: &str| {
        node.variant.iter_mut().filter(|(name, _)| *name == "Partial Mode").for_each(|(_, value)| *value = mode.into());
    };
    let mut partial = node.clone();
    mode(&mut partial, "Partial");
    partial.table = None;
    divide_scan(&mut partial);
    mode(node, "Finalize");
    let mut gather = Node::over("Gather", partial);
    gather.properties.push(("Workers Planned", Value::Number(helpers.to_string())));
    node.children.clear();
    node.adopt(gather, "Outer");
}

/// The table that is read first is read in parts.
fn divide_scan(node: &mut Node) {
    match node.children.iter_mut().find(|c| c.subplan.is_none()) {
        Some(child) => divide_scan(child),
        None => node.parallel = node.kind == "Seq Scan",
    }
}
