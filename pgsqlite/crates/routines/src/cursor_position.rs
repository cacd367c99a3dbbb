//! The rows that a cursor stands on: which tables its query reads so that each of its rows is one of theirs, and which row of a
//! table WHERE CURRENT OF means.
//!
//! The query reads two columns more for each such table, which nobody sees ([`CursorPosition::of`]): the row's number and its table.
//! SQLite gives the number of a deleted row to another one. So the connection notes which rows of these tables the transaction
//! deletes ([`Written`]); such a row is not there any more for the cursor. (Rows that other sessions delete are not noted.)

use pgsqlite_sql::catalog::{Catalog, Relation};
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_storage::written::Written;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// The tables of a cursor's query.
#[derive(Debug, Default, Clone)]
pub struct CursorPosition {
    tables: Vec<Table>,
    /// FOR UPDATE or FOR SHARE was written
    locks: bool,
    /// rows that were deleted later than this ([`Written::now`]) are gone
    pub since: u64,
    /// why the query cannot read the numbers of its rows
    refused: Option<PgError>,
}

#[derive(Debug, Clone)]
struct Table {
    oid: Oid,
    /// without those that inherit from it
    only: bool,
    locked: bool,
}

/// 24000, for a cursor that does not stand on a row as it should.
pub fn state(message: String) -> PgError {
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

impl CursorPosition {
    /// The tables of a query, and the query with the hidden columns; None: its rows are not those of tables. `find`: the relation that
    /// a name (its schema, if written, and its own) means.
    pub fn of(
        select: &ast::SelectStmt,
        mut find: impl FnMut(Option<&str>, &str) -> Result<Option<Arc<Relation>>>,
    ) -> Result<Option<(CursorPosition, ast::SelectStmt)>> {
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
        let mut position = CursorPosition { tables: vec![], locks, since: 0, refused: None };
        let mut extended = select.clone();
        for table in named {
            let schema = (!table.schemaname.is_empty()).then_some(table.schemaname.as_str());
            if schema.is_none() && with.contains(&table.relname.as_str()) {
                continue;
            }
            let relation = find(schema, &table.relname)?;
            let Some(relation) = relation.filter(|r| r.is_stored() && !r.without_rowid) else { continue };
            let number = position.tables.len();
            extended.target_list.push(hidden_target(alias(table), "ctid", format!("pgsqlite ctid {number}")));
            extended.target_list.push(hidden_target(alias(table), "tableoid", format!("pgsqlite tableoid {number}")));
            position.tables.push(Table { oid: relation.oid, only: !table.inh, locked: locked(table) });
        }
        Ok((!position.tables.is_empty()).then_some((position, extended)))
    }

    /// Where a cursor stands whose query with the hidden columns was refused while it is good as it is written: WHERE CURRENT OF is told the
    /// reason. None: its rows are not those of tables, for it groups without saying so. Errors: one that does not come of the columns.
    pub fn without_numbers(error: PgError) -> Result<Option<CursorPosition>> {
        let code = error.code();
        match code {
            SqlState::GROUPING_ERROR => Ok(None),
            SqlState::FEATURE_NOT_SUPPORTED | SqlState::INSUFFICIENT_PRIVILEGE => {
                Ok(Some(CursorPosition { refused: Some(error.without_position()), ..Default::default() }))
            }
            _ => Err(error),
        }
    }

    /// How many hidden columns stand at the end of each row.
    pub fn hidden(&self) -> usize {
        2 * self.tables.len()
    }

    /// FOR UPDATE or FOR SHARE was written: rows that the transaction has changed since are passed over.
    pub fn locks(&self) -> bool {
        self.locks
    }

    /// The tables that may hold its rows, for [`Written::watch_cursor`]: temporary, name in SQLite, whether changes are to be noted, too.
    pub fn watched<'c>(&'c self, catalog: &'c Catalog) -> impl Iterator<Item = (bool, &'c str, bool)> {
        self.tables.iter().flat_map(|table| {
            let all = catalog.with_descendants(table.oid).into_iter().filter_map(|oid| catalog.relation(oid));
            all.map(|r| (r.temporary, r.sqlite_name.as_str(), table.locked))
        })
    }

    /// Whether a cursor FOR UPDATE leaves a row out: the transaction itself has changed it since the cursor was opened.
    pub fn passes_over(&self, catalog: &Catalog, written: &Written, row: &[Datum]) -> Result<bool> {
        for (i, _) in self.tables.iter().enumerate().filter(|(_, t)| t.locked) {
            let first = row.len() - self.hidden() + 2 * i;
            let (Datum::Int(number), Datum::Int(of)) = (&row[first], &row[first + 1]) else { continue };
            let Some(relation) = Oid::try_from(*of).ok().and_then(|of| catalog.relation(of)) else { continue };
            if written.is_changed(relation.temporary, &relation.sqlite_name, *number, self.since)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The row, (table, number), that a statement which may change `tables` means by WHERE CURRENT OF the cursor `name`; None: there is no such
    /// row any more. `row`: where the cursor stands. Errors: 24000 (it stands on no row of such a table).
    pub fn current(
        &self,
        name: &str,
        tables: &[Oid],
        row: Option<&[Datum]>,
        catalog: &Catalog,
        written: &Written,
    ) -> Result<Option<(i64, i64)>> {
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        let mut places = Vec::new();
        for table in tables {
            let reaches = |t: &Table| t.oid == *table || !t.only && catalog.ancestors(*table).contains(&t.oid);
            let found: Vec<usize> = (0..self.tables.len())
                .filter(|&i| reaches(&self.tables[i]) && (!self.locks || self.tables[i].locked))
                .collect();
            let shown = catalog.relation(*table).map_or("", |r| r.name.as_str());
            places.push(match (&found[..], self.locks) {
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
        let Some(row) = row else { return Err(state(format!("cursor \"{name}\" is not positioned on a row"))) };
        for (table, place) in tables.iter().zip(places) {
            let first = row.len() - self.hidden() + 2 * place;
            // (the far side of an outer join may have no row)
            let (Datum::Int(number), Datum::Int(of)) = (&row[first], &row[first + 1]) else { continue };
            if *of != i64::from(*table) {
                continue;
            }
            let Some(relation) = catalog.relation(*table) else { continue };
            let gone = written.is_gone(relation.temporary, &relation.sqlite_name, *number, self.since)?;
            return Ok((!gone).then_some((*of, *number)));
        }
        Ok(None)
    }
}

/// Whether a cursor over the query can go back if nothing is said of it: what PostgreSQL's plan of it would most likely allow.
pub fn goes_back(select: &ast::SelectStmt) -> bool {
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
