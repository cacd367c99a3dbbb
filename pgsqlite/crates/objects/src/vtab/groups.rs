//! `pg_groups(number)`: the groups that `pg_group` has made ([`pgsqlite_natives::udf::groups`]), as a table-valued function.
//!
//! Each column is there three times, without affinity (`p1` …), as TEXT (`x1` …) and as INTEGER (`i1` …): a comparison in SQLite goes
//! by the affinity of its operands, and a key has that of its column.

use super::{session_of, through_cell, unregistered};
use pgsqlite_natives::udf::groups::Groups;
use pgsqlite_natives::udf::session_cell::SessionCell;
use pgsqlite_sql::lower::support;
use pgsqlite_sql::lower::MOST_GROUP_COLUMNS as MOST;
use pgsqlite_types::{work, Datum, PgError, Result};
use rusqlite::types::ValueRef;
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor,
};
use rusqlite::{ffi, Connection};
use std::borrow::Cow;
use std::ffi::{c_int, CStr, CString};
use std::marker::PhantomData;
use std::sync::Arc;

/// The place of the hidden argument.
const NUMBER: c_int = 3 * MOST as c_int;

/// Registers the table with a connection.
pub fn register(conn: &Connection, cell: &Arc<SessionCell>) -> Result<()> {
    const MODULE: Module<GroupsTable> = Module::eponymous_only_module();
    conn.create_module(support::GROUPS, &MODULE, Some(cell.clone())).map_err(|e| unregistered(support::GROUPS, &e))
}

#[repr(C)]
struct GroupsTable {
    base: ffi::sqlite3_vtab,
    cell: Arc<SessionCell>,
}

// SAFETY: the struct is repr(C) and starts with sqlite3_vtab, as SQLite demands.
unsafe impl<'vtab> VTab<'vtab> for GroupsTable {
    type Aux = Arc<SessionCell>;
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&Arc<SessionCell>>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        _args: &[&[u8]],
    ) -> rusqlite::Result<(Cow<'static, CStr>, Self)> {
        let cell = session_of(aux)?;
        db.config(VTabConfig::Innocuous)?;
        let kinds = [("p", ""), ("x", " TEXT"), ("i", " INTEGER")];
        let column = |(name, ty): (&str, &str), i: usize| format!("{name}{i}{ty}");
        let columns: Vec<String> = kinds.iter().flat_map(|kind| (1..=MOST).map(move |i| column(*kind, i))).collect();
        let sql = CString::new(format!("CREATE TABLE x({}, number HIDDEN)", columns.join(", ")))
            .map_err(|e| rusqlite::Error::ModuleError(e.to_string()))?;
        Ok((Cow::Owned(sql), GroupsTable { base: ffi::sqlite3_vtab::default(), cell }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<bool> {
        let mut found = None;
        for (i, constraint) in info.constraints().enumerate() {
            let equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            if equal && constraint.column() == NUMBER && constraint.is_usable() {
                found = Some(i);
            }
        }
        // a plan in which the number is not known yet is none
        let Some(i) = found else { return Ok(false) };
        let mut usage = info.constraint_usage(i);
        usage.set_argv_index(1);
        usage.set_omit(true);
        info.set_idx_str(support::GROUPS);
        info.set_estimated_cost(1000.0);
        info.set_estimated_rows(1000);
        Ok(true)
    }

    fn open(&'vtab mut self) -> rusqlite::Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            cell: self.cell.clone(),
            groups: None,
            row: None,
            at: 0,
            phantom: PhantomData,
        })
    }
}

#[repr(C)]
struct Cursor<'vtab> {
    base: ffi::sqlite3_vtab_cursor,
    cell: Arc<SessionCell>,
    /// with their number
    groups: Option<(i64, Box<Groups>)>,
    row: Option<Vec<Datum>>,
    at: i64,
    phantom: PhantomData<&'vtab GroupsTable>,
}

// SAFETY: the struct is repr(C) and starts with sqlite3_vtab_cursor, as SQLite demands.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, _idx_num: c_int, _idx_str: Option<&str>, args: &Filters<'_>) -> rusqlite::Result<()> {
        (self.row, self.at) = (None, 0);
        let number = match args.iter().next() {
            Some(ValueRef::Integer(number)) => number,
            other => return through_cell(&self.cell, Err(PgError::internal(format!("groups of {other:?}")))),
        };
        if number == 0 {
            return Ok(());
        }
        // the inner table of a join is read for each row of the outer one
        if self.groups.as_ref().is_none_or(|(n, _)| *n != number) {
            let groups = self.cell.groups.take(number).map(|groups| (number, groups));
            self.groups =
                Some(through_cell(&self.cell, groups.ok_or_else(|| PgError::internal("groups that are gone")))?);
        }
        if let Some((_, groups)) = &mut self.groups {
            groups.rewind();
        }
        self.next()
    }

    fn next(&mut self) -> rusqlite::Result<()> {
        let cell = self.cell.clone();
        let groups = self.groups.as_mut();
        let row = groups.map_or(Ok(None), |(_, groups)| work::catching(|| groups.next(&cell)));
        self.row = through_cell(&self.cell, row)?;
        self.at += 1;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.row.is_none()
    }

    fn column(&self, context: &mut Context, i: c_int) -> rusqlite::Result<()> {
        let value = self.row.as_ref().and_then(|row| row.get(i as usize % MOST)).filter(|_| i < NUMBER);
        context.set_result(super::Borrowed(value.unwrap_or(&Datum::Null)))
    }

    fn rowid(&self) -> rusqlite::Result<i64> {
        Ok(self.at)
    }
}
