//! System catalogs as SQLite virtual tables: one adaptor for all of them.
//!
//! A table is eponymous (it exists on every connection by its module's name, `pg_catalog.pg_class`). A scan takes the rows for
//! the session's catalog snapshot from [`crate::pg_catalog::table`]; an equality on any column is answered from a hash index
//! that the table builds at the first look-up, so that the joins of introspection queries stay linear.

mod groups;
mod hashed_rows;
mod series;

use crate::pg_catalog::{self, Table};
use pgsqlite_natives::udf::session_cell::{SessionCell, MARKER};
use pgsqlite_sql::builtins::catalog::{system_relations, SystemRelation};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, DatumRef, PgError, Result};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor,
};
use rusqlite::{ffi, Connection, ToSql};
use std::borrow::Cow;
use std::ffi::{c_int, CStr, CString};
use std::marker::PhantomData;
use std::sync::Arc;

/// What a module knows: its relation, and the session that uses the connection.
struct Source {
    relation: &'static SystemRelation,
    cell: Arc<SessionCell>,
}

/// Registers every system relation that is provided with the connection.
pub fn register(conn: &Connection, cell: &Arc<SessionCell>) -> Result<()> {
    const MODULE: Module<SystemTable> = Module::eponymous_only_module();
    for relation in system_relations() {
        let name = format!("{}.{}", relation.schema, relation.name);
        let source = Source { relation, cell: cell.clone() };
        conn.create_module(name.as_str(), &MODULE, Some(source)).map_err(|e| unregistered(&name, &e))?;
    }
    groups::register(conn, cell)?;
    hashed_rows::register(conn, cell)?;
    series::register(conn, cell)
}

fn unregistered(name: &str, e: &rusqlite::Error) -> PgError {
    PgError::internal(format!("virtual table {name}: {e}"))
}

/// Hands an error of ours on through the session's cell, as natives do.
fn through_cell<T>(cell: &SessionCell, result: Result<T>) -> rusqlite::Result<T> {
    result.map_err(|error| {
        cell.set_error(error);
        rusqlite::Error::ModuleError(MARKER.into())
    })
}

/// The session that a table-valued function was registered for.
fn session_of(aux: Option<&Arc<SessionCell>>) -> rusqlite::Result<Arc<SessionCell>> {
    aux.cloned().ok_or_else(|| rusqlite::Error::ModuleError("no session".into()))
}

#[repr(C)]
struct SystemTable {
    base: ffi::sqlite3_vtab,
    relation: &'static SystemRelation,
    cell: Arc<SessionCell>,
    db: *mut ffi::sqlite3,
}

/// The declared type of a system column: its affinity is that of the values.
fn declared(ty: u32) -> &'static str {
    match ty {
        oid::BOOL | oid::INT2 | oid::INT4 | oid::INT8 | oid::OID | oid::XID | oid::CID | oid::REGPROC => "INTEGER",
        oid::FLOAT4 | oid::FLOAT8 => "REAL",
        _ => "TEXT",
    }
}

// SAFETY: the struct is repr(C) and starts with sqlite3_vtab, as SQLite demands.
unsafe impl<'vtab> VTab<'vtab> for SystemTable {
    type Aux = Source;
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&Source>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        _args: &[&[u8]],
    ) -> rusqlite::Result<(Cow<'static, CStr>, Self)> {
        let source = aux.ok_or_else(|| rusqlite::Error::ModuleError("no source".into()))?;
        db.config(VTabConfig::Innocuous)?;
        let columns: Vec<String> = source.relation.stored().map(|c| format!("\"{}\" {}", c.1, declared(c.2))).collect();
        let sql = CString::new(format!("CREATE TABLE x({})", columns.join(", ")))
            .map_err(|e| rusqlite::Error::ModuleError(e.to_string()))?;
        // SAFETY: the connection outlives its virtual tables.
        let db = unsafe { db.handle() };
        let (relation, cell) = (source.relation, source.cell.clone());
        let table = SystemTable { base: ffi::sqlite3_vtab::default(), relation, cell, db };
        Ok((Cow::Owned(sql), table))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<bool> {
        let mut best: Option<(usize, c_int)> = None;
        for (i, constraint) in info.constraints().enumerate() {
            if !constraint.is_usable()
                || constraint.column() < 0
                || constraint.operator() != IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ
            {
                continue;
            }
            // An OID narrows the most; names come next.
            let type_of = |c: c_int| self.relation.stored().nth(c as usize).map_or(oid::TEXT, |c| c.2);
            let rank = |c: c_int| match declared(type_of(c)) {
                "INTEGER" if type_of(c) == oid::OID => 2,
                "TEXT" => 1,
                _ => 0,
            };
            if best.is_none_or(|b| rank(constraint.column()) > rank(b.1)) {
                best = Some((i, constraint.column()));
            }
        }
        if let Some((i, _)) = best {
            if info.collation(i)? != "BINARY" {
                best = None;
            }
        }
        match best {
            Some((i, column)) => {
                info.constraint_usage(i).set_argv_index(1);
                info.set_idx_num(column + 1);
                info.set_estimated_cost(5.0);
                info.set_estimated_rows(3);
            }
            None => {
                info.set_idx_num(0);
                info.set_estimated_cost(2000.0);
                info.set_estimated_rows(1000);
            }
        }
        Ok(true)
    }

    fn open(&'vtab mut self) -> rusqlite::Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            relation: self.relation,
            cell: self.cell.clone(),
            db: self.db,
            table: Arc::new(Table::default()),
            rows: Rows::All(0),
            position: 0,
            phantom: PhantomData,
        })
    }
}

/// The rows of a scan.
enum Rows {
    All(usize),
    Some(Vec<u32>),
}

#[repr(C)]
struct Cursor<'vtab> {
    base: ffi::sqlite3_vtab_cursor,
    relation: &'static SystemRelation,
    cell: Arc<SessionCell>,
    db: *mut ffi::sqlite3,
    table: Arc<Table>,
    rows: Rows,
    position: usize,
    phantom: PhantomData<&'vtab SystemTable>,
}

impl Cursor<'_> {
    fn row(&self) -> Option<usize> {
        match &self.rows {
            Rows::All(n) => (self.position < *n).then_some(self.position),
            Rows::Some(list) => list.get(self.position).map(|&r| r as usize),
        }
    }
}

struct Borrowed<'a>(&'a Datum);

impl ToSql for Borrowed<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Datum::Null => ToSqlOutput::Owned(Value::Null),
            Datum::Int(i) => ToSqlOutput::Owned(Value::Integer(*i)),
            Datum::Real(r) => ToSqlOutput::Owned(Value::Real(*r)),
            Datum::Text(t) => ToSqlOutput::Borrowed(ValueRef::Text(t.as_bytes())),
            Datum::Blob(b) => ToSqlOutput::Borrowed(ValueRef::Blob(b)),
        })
    }
}

// SAFETY: the struct is repr(C) and starts with sqlite3_vtab_cursor, as SQLite demands.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, idx_num: c_int, _idx_str: Option<&str>, args: &Filters<'_>) -> rusqlite::Result<()> {
        // SAFETY: the connection that runs the scan; this view of it does not close it.
        let connection = unsafe { Connection::from_handle(self.db) }?;
        let table = work::catching(|| pg_catalog::table(self.relation, &self.cell, &connection));
        self.table = through_cell(&self.cell, table)?;
        self.position = 0;
        self.rows = Rows::All(self.table.rows.len());
        if idx_num > 0 {
            let column = idx_num as usize - 1;
            let integer = self.relation.stored().nth(column).map_or("", |c| declared(c.2)) == "INTEGER";
            // SQLite tests the condition again, so a value of another class just scans all rows.
            match args.iter().next() {
                // (nothing unwinds to SQLite)
                Some(ValueRef::Integer(value)) if integer => {
                    self.rows = Rows::Some(work::sheltered(|| self.table.find(column, &Datum::Int(value))));
                }
                Some(ValueRef::Text(value)) if !integer => {
                    let value = std::str::from_utf8(value)?;
                    let value = Datum::Text(value.to_string());
                    self.rows = Rows::Some(work::sheltered(|| self.table.find(column, &value)));
                }
                Some(ValueRef::Null) => self.rows = Rows::Some(Vec::new()),
                _ => {}
            }
        }
        Ok(())
    }

    fn next(&mut self) -> rusqlite::Result<()> {
        self.position += 1;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.row().is_none()
    }

    fn column(&self, context: &mut Context, i: c_int) -> rusqlite::Result<()> {
        let value = self.row().and_then(|r| self.table.rows[r].get(i as usize)).unwrap_or(&Datum::Null);
        context.set_result(Borrowed(value))
    }

    fn rowid(&self) -> rusqlite::Result<i64> {
        Ok(self.row().unwrap_or(0) as i64)
    }
}

/// A value that SQLite hands over, as natives read it.
fn datum(value: ValueRef<'_>) -> DatumRef<'_> {
    match value {
        ValueRef::Null => DatumRef::Null,
        ValueRef::Integer(i) => DatumRef::Int(i),
        ValueRef::Real(r) => DatumRef::Real(r),
        ValueRef::Text(t) => std::str::from_utf8(t).map_or(DatumRef::Blob(t), DatumRef::Text),
        ValueRef::Blob(b) => DatumRef::Blob(b),
    }
}
