//! WHERE CURRENT OF: UPDATE and DELETE of the row that a cursor stands on.
//!
//! A cursor over tables reads two columns more for each of them, which the client does not see: the row's number and its
//! table ([`Standing`]). Before a statement with WHERE CURRENT OF runs, the connection's cell is told the row
//! (`udf/rows.rs` `Current`), and the statement asks a native function for it.
//!
//! SQLite gives the number of a deleted row to another one. So the connection notes which rows of these tables the
//! transaction deletes; such a row is not there any more for the cursor. (Rows that other sessions delete are not noted.)

use super::plans::Prepared;
use super::Session;
use crate::udf::rows::Current;
use pgsqlite_sql::analyze;
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// The tables of a cursor's query.
#[derive(Debug, Default, Clone)]
pub(super) struct Standing {
    tables: Vec<Table>,
    /// FOR UPDATE or FOR SHARE was written
    locks: bool,
    /// rows that were deleted later than this are gone ([`crate::written::Written`])
    since: u64,
}

#[derive(Debug, Clone)]
struct Table {
    oid: Oid,
    /// without those that inherit from it
    only: bool,
    locked: bool,
}

fn state(message: String) -> PgError {
    PgError::new(SqlState::INVALID_CURSOR_STATE, message)
}

/// The tables that FROM names, with their aliases; `joined`: there are several items.
fn tables_of<'s>(nodes: &'s [ast::Node], found: &mut Vec<&'s ast::RangeVar>, joined: &mut bool) {
    for node in nodes {
        match &node.node {
            Some(NodeEnum::RangeVar(table)) => found.push(table),
            Some(NodeEnum::JoinExpr(join)) => {
                *joined = true;
                for side in [&join.larg, &join.rarg].into_iter().flatten() {
                    tables_of(std::slice::from_ref(side), found, joined);
                }
            }
            _ => *joined = true,
        }
    }
    *joined |= nodes.len() > 1;
}

/// Whether a cursor over the query can go back if nothing is said of it: what PostgreSQL's plan of it would most likely allow.
pub(super) fn goes_back(select: &ast::SelectStmt) -> bool {
    if !select.values_lists.is_empty() {
        return true;
    }
    match select.op() {
        ast::SetOperation::SetopNone | ast::SetOperation::Undefined => {}
        op => {
            let sides = [&select.larg, &select.rarg];
            let all = op == ast::SetOperation::SetopUnion && select.all;
            return !select.sort_clause.is_empty()
                || all && sides.into_iter().all(|side| side.as_ref().is_some_and(|s| goes_back(s)));
        }
    }
    if !select.distinct_clause.is_empty() {
        return false;
    }
    // (a sort keeps its rows)
    if !select.sort_clause.is_empty() {
        return true;
    }
    let several = select.from_clause.len() > 1
        || matches!(select.from_clause.first().map(|n| &n.node), Some(Some(NodeEnum::JoinExpr(_))));
    let computes = |node: &ast::Node| {
        let Some(NodeEnum::ResTarget(target)) = &node.node else { return false };
        let Some(NodeEnum::FuncCall(call)) = target.val.as_ref().and_then(|v| v.node.as_ref()) else { return false };
        let Some(Some(NodeEnum::String(name))) = call.funcname.last().map(|n| &n.node) else { return false };
        let aggregate = pgsqlite_sql::builtins::catalog::procs_named(&name.sval).any(|p| p.kind == b'a');
        call.over.is_some() || aggregate
    };
    !select.from_clause.is_empty()
        && !several
        && select.group_clause.is_empty()
        && select.having_clause.is_none()
        && !select.target_list.iter().any(computes)
}

fn alias(table: &ast::RangeVar) -> &str {
    table.alias.as_ref().map_or(table.relname.as_str(), |a| a.aliasname.as_str())
}

/// `alias.column AS "name"` of a select list.
fn hidden_target(alias: &str, column: &str, name: String) -> ast::Node {
    let string = |s: &str| ast::Node { node: Some(NodeEnum::String(ast::String { sval: s.to_string() })) };
    let reference = ast::ColumnRef { fields: vec![string(alias), string(column)], location: -1 };
    let value = ast::Node { node: Some(NodeEnum::ColumnRef(reference)) };
    let target = ast::ResTarget { name, indirection: vec![], val: Some(Box::new(value)), location: -1 };
    ast::Node { node: Some(NodeEnum::ResTarget(Box::new(target))) }
}

/// Whether rows of the query are rows of its tables, as far as the tree shows it.
fn gives_rows_of_tables(select: &ast::SelectStmt, locks: bool, joined: bool) -> bool {
    let sets = !matches!(select.op(), ast::SetOperation::SetopNone | ast::SetOperation::Undefined);
    let plain = !sets
        && select.distinct_clause.is_empty()
        && select.group_clause.is_empty()
        && select.having_clause.is_none()
        && select.values_lists.is_empty()
        && select.window_clause.is_empty();
    plain && (locks || !joined && select.sort_clause.is_empty())
}

impl Session {
    /// The query of a cursor with the hidden columns. None: its rows are not those of tables.
    pub(super) fn standing(
        &mut self,
        inner: &Arc<RawStatement>,
        parameters: &[Oid],
    ) -> Result<Option<(Standing, Arc<Prepared>)>> {
        let NodeEnum::SelectStmt(select) = &inner.node else { return Ok(None) };
        let (mut named, mut joined) = (Vec::new(), false);
        tables_of(&select.from_clause, &mut named, &mut joined);
        let clauses: Vec<&ast::LockingClause> = select
            .locking_clause
            .iter()
            .filter_map(|n| match &n.node {
                Some(NodeEnum::LockingClause(l)) => Some(l),
                _ => None,
            })
            .collect();
        let locks = !clauses.is_empty();
        if !gives_rows_of_tables(select, locks, joined) {
            return Ok(None);
        }
        let with: Vec<&str> = select
            .with_clause
            .iter()
            .flat_map(|w| &w.ctes)
            .filter_map(|n| match &n.node {
                Some(NodeEnum::CommonTableExpr(c)) => Some(c.ctename.as_str()),
                _ => None,
            })
            .collect();
        let locked = |table: &ast::RangeVar| {
            let names = |n: &ast::Node| matches!(&n.node, Some(NodeEnum::RangeVar(r)) if r.relname == alias(table));
            clauses.iter().any(|c| c.locked_rels.is_empty() || c.locked_rels.iter().any(names))
        };
        let view = self.view();
        let mut standing = Standing { tables: vec![], locks, since: 0 };
        let mut extended = (**select).clone();
        for table in named {
            let schema = (!table.schemaname.is_empty()).then_some(table.schemaname.as_str());
            if schema.is_none() && with.contains(&table.relname.as_str()) {
                continue;
            }
            let relation = self.with_environment(&view, |environment| {
                Ok(analyze::find_relation(environment, schema, &table.relname))
            })?;
            let Some(relation) = relation.filter(|r| r.is_stored() && !r.without_rowid) else { continue };
            let number = standing.tables.len();
            extended.target_list.push(hidden_target(alias(table), "ctid", format!("pgsqlite ctid {number}")));
            extended.target_list.push(hidden_target(alias(table), "tableoid", format!("pgsqlite tableoid {number}")));
            standing.tables.push(Table { oid: relation.oid, only: !table.inh, locked: locked(table) });
        }
        if standing.tables.is_empty() {
            return Ok(None);
        }
        let text = format!("{} /* rows */", inner.text).into();
        let raw = RawStatement { node: NodeEnum::SelectStmt(Box::new(extended)), text, offset: inner.offset };
        // a query that groups without saying so has no such columns
        Ok(self.plan(&Arc::new(raw), parameters).ok().map(|(plan, _)| (standing, plan)))
    }

    /// A cursor is open: rows that are deleted from now on are gone for it.
    pub(super) fn watch_standing(&mut self, standing: &mut Standing) -> Result<()> {
        if standing.tables.is_empty() || self.connection.is_none() {
            return Ok(());
        }
        let catalog = self.catalog();
        let connection = self.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        let relations = standing.tables.iter().flat_map(|table| {
            let all = catalog.with_descendants(table.oid).into_iter().filter_map(|oid| catalog.relation(oid));
            all.map(|r| (r.temporary, r.sqlite_name.as_str(), table.locked))
        });
        connection.watch_cursor(relations)?;
        standing.since = connection.written().now();
        self.transaction.cursors_stand = true;
        Ok(())
    }

    /// Whether a cursor may leave rows out: it locks them, and the transaction may have changed some.
    pub(super) fn may_pass_over(&self, standing: &Standing) -> bool {
        standing.locks && self.transaction.cursors_stand
    }

    /// Whether a cursor FOR UPDATE leaves a row out: the transaction itself has changed it since the cursor was opened.
    pub(super) fn passes_over(&self, standing: &Standing, row: &[Datum]) -> Result<bool> {
        if !self.may_pass_over(standing) {
            return Ok(false);
        }
        let catalog = self.catalog();
        let written = self.connection()?.written();
        for (i, _) in standing.tables.iter().enumerate().filter(|(_, t)| t.locked) {
            let first = row.len() - 2 * standing.tables.len() + 2 * i;
            let (Datum::Int(number), Datum::Int(of)) = (&row[first], &row[first + 1]) else { continue };
            let Some(relation) = Oid::try_from(*of).ok().and_then(|of| catalog.relation(of)) else { continue };
            if written.is_changed(relation.temporary, &relation.sqlite_name, *number, standing.since)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Before a statement with WHERE CURRENT OF: tells the connection which row that is. `tables`: those that the statement may change.
    /// Errors: 34000 (no such cursor), 24000 (it stands on no row of the table).
    pub(super) fn show_current(&mut self, cursor: &str, tables: &[Oid]) -> Result<()> {
        let row = self.current_row(cursor, tables)?;
        let current = Current { cursor: cursor.to_string(), row };
        self.connection()?.cell.rows.current.replace(Some(current));
        Ok(())
    }

    fn current_row(&self, name: &str, tables: &[Oid]) -> Result<Option<(i64, i64)>> {
        let portal = self.portals.get(name).ok_or_else(|| super::cursor::no_cursor(name))?;
        if portal.is_held() {
            return Err(state(format!("cursor \"{name}\" is held from a previous transaction")));
        }
        if portal.cursor.is_none() {
            return Err(PgError::not_supported("WHERE CURRENT OF a portal that DECLARE has not made"));
        }
        let catalog = self.catalog();
        let standing = &portal.standing;
        let mut places = Vec::new();
        for table in tables {
            let reaches = |t: &Table| t.oid == *table || !t.only && catalog.ancestors(*table).contains(&t.oid);
            let found: Vec<usize> = (0..standing.tables.len())
                .filter(|&i| reaches(&standing.tables[i]) && (!standing.locks || standing.tables[i].locked))
                .collect();
            let shown = catalog.relation(*table).map_or("", |r| r.name.as_str());
            places.push(match (&found[..], standing.locks) {
                ([one], _) => *one,
                ([], true) => {
                    return Err(state(format!(
                        "cursor \"{name}\" does not have a FOR UPDATE/SHARE reference to table \"{shown}\""
                    )))
                }
                (_, true) => {
                    return Err(state(format!(
                        "cursor \"{name}\" has multiple FOR UPDATE/SHARE references to table \"{shown}\""
                    )))
                }
                (_, false) => {
                    return Err(state(format!("cursor \"{name}\" is not a simply updatable scan of table \"{shown}\"")))
                }
            });
        }
        let row = match portal.position {
            0 => None,
            position => portal.spool.get(position),
        };
        let Some(row) = row else { return Err(state(format!("cursor \"{name}\" is not positioned on a row"))) };
        for (table, place) in tables.iter().zip(places) {
            let first = row.len() - 2 * standing.tables.len() + 2 * place;
            // (the far side of an outer join may have no row)
            let (Datum::Int(number), Datum::Int(of)) = (&row[first], &row[first + 1]) else { continue };
            if *of != i64::from(*table) {
                continue;
            }
            let Some(relation) = catalog.relation(*table) else { continue };
            let written = self.connection()?.written();
            let gone = written.is_gone(relation.temporary, &relation.sqlite_name, *number, standing.since)?;
            return Ok((!gone).then_some((*of, *number)));
        }
        Ok(None)
    }
}
