//! SET CONSTRAINTS, and the foreign keys that are checked later than their statement.
//!
//! SQLite checks a key declared INITIALLY DEFERRED at COMMIT and every other one after its statement; `defer_foreign_keys`
//! makes it wait for COMMIT with all of them. What PostgreSQL's rules check in between is looked for here, after each change
//! while SQLite says that keys are violated: the keys that are immediate now although SQLite waits with them.

use crate::connection::Connection;
use crate::constraint_modes::Modes;
use crate::diagnose::printed;
use crate::routine::HasRoutines;
use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::{Catalog, Constraint, ConstraintKind, Relation};
use pgsqlite_sql::lower::table_name;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_sql::routine::Trigger;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A foreign key with its tables.
struct ForeignKey {
    child: Arc<Relation>,
    parent: Arc<Relation>,
    constraint: Constraint,
}

fn foreign_keys(catalog: &Catalog, wanted: impl Fn(&Constraint) -> bool) -> Vec<ForeignKey> {
    let mut keys = Vec::new();
    for child in catalog.relations.values() {
        // (what SQLite does not know of it does not wait with)
        for constraint in child.constraints.iter().filter(|c| !c.managed && wanted(c)) {
            let ConstraintKind::ForeignKey { references, .. } = &constraint.kind else { continue };
            let Some(parent) = catalog.relation(*references) else { continue };
            keys.push(ForeignKey { child: child.clone(), parent: parent.clone(), constraint: constraint.clone() });
        }
    }
    keys.sort_by_key(|k| k.constraint.oid);
    keys
}

impl ForeignKey {
    /// The names of the referencing and of the referenced columns.
    fn columns(&self) -> Result<(Vec<&str>, Vec<&str>)> {
        let ConstraintKind::ForeignKey { columns, .. } = &self.constraint.kind else {
            return Err(PgError::internal("not a foreign key"));
        };
        fn names<'a>(relation: &'a Relation, attnums: &[i16]) -> Option<Vec<&'a str>> {
            attnums.iter().map(|a| relation.column_by_attnum(*a).map(|c| c.name.as_str())).collect()
        }
        let own = names(&self.child, &self.constraint.columns);
        own.zip(names(&self.parent, columns)).ok_or_else(|| PgError::internal("a foreign key on a missing column"))
    }

    /// SQL: whether the referenced table has a row with these values.
    fn present(&self, values: &[String]) -> Result<String> {
        let (_, columns) = self.columns()?;
        let equal: Vec<String> = columns.iter().zip(values).map(|(c, v)| format!("p.{} = {v}", quoted(c))).collect();
        Ok(format!("EXISTS (SELECT 1 FROM {} AS p WHERE {})", table_name(&self.parent), equal.join(" AND ")))
    }

    /// The key of a row that references nothing: of several the one that was stored first.
    fn violation(&self, connection: &Connection) -> Result<Option<Vec<Datum>>> {
        let (own, _) = self.columns()?;
        let values: Vec<String> = own.iter().map(|c| format!("c.{}", quoted(c))).collect();
        let given: Vec<String> = values.iter().map(|v| format!("{v} IS NOT NULL")).collect();
        let order = if self.child.without_rowid { "" } else { " ORDER BY c._rowid_" };
        let sql = format!(
            "SELECT {} FROM {} AS c WHERE {} AND NOT {}{order} LIMIT 1",
            values.join(", "),
            table_name(&self.child),
            given.join(" AND "),
            self.present(&values)?
        );
        connection.first_row(&sql, &[])
    }

    /// 23503 as PostgreSQL words it. `committed` sees the database without the transaction: a referenced row that was there
    /// has been taken away, else the referencing one is new.
    fn error(
        &self,
        key: &[Datum],
        committed: Option<&Connection>,
        catalog: &Catalog,
        context: &Context,
        role: Oid,
    ) -> Result<PgError> {
        let (own, other) = self.columns()?;
        let (child, parent, name) = (&self.child.name, &self.parent.name, &self.constraint.name);
        let places: Vec<String> = (1..=key.len()).map(|i| format!("?{i}")).collect();
        let sql = format!("SELECT {}", self.present(&places)?);
        // a table that the transaction made is not there for others: then neither was the row
        let was_there = committed
            .and_then(|c| c.first_row(&sql, key).ok().flatten())
            .is_some_and(|row| row.first() == Some(&Datum::Int(1)));
        let mut shown = Vec::new();
        for (column, value) in own.iter().zip(key) {
            let ty = self.child.column(column).map_or(0, |c| c.type_oid);
            shown.push(printed(catalog, context, ty, value)?);
        }
        let (columns, message, outcome) = if was_there {
            (
                other,
                format!("update or delete on table \"{parent}\" violates foreign key constraint \"{name}\" on table \"{child}\""),
                format!("is still referenced from table \"{child}\"."),
            )
        } else {
            (
                own,
                format!("insert or update on table \"{child}\" violates foreign key constraint \"{name}\""),
                format!("is not present in table \"{parent}\"."),
            )
        };
        let told = if was_there { &self.parent } else { &self.child };
        let attnums: Vec<i16> = columns.iter().filter_map(|c| told.column(c)).map(|c| c.attnum).collect();
        let detail = match acl::may_see(catalog, role, told, &attnums) {
            true => format!("Key ({})=({}) {outcome}", columns.join(", "), shown.join(", ")),
            false => format!("Key {outcome}"),
        };
        Ok(PgError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
            .detail(detail)
            .schema(catalog.schema_name(self.child.schema))
            .table(child.clone())
            .constraint(name.clone()))
    }
}

/// A constraint and those of partitions that belong to it.
fn parts_of(catalog: &Catalog, constraint: Oid) -> Vec<Oid> {
    let mut all = vec![constraint];
    let mut at = 0;
    while at < all.len() {
        let parts = catalog.relations.values().flat_map(|r| &r.constraints).filter(|c| c.inherited.parent == all[at]);
        let found: Vec<Oid> = parts.map(|c| c.oid).collect();
        all.extend(found);
        at += 1;
    }
    all
}

impl SessionContext {
    /// The deferrable constraints of a name: those of the first schema of the path that has any.
    fn constraints_named(&self, name: &ast::RangeVar) -> Result<Vec<Oid>> {
        let view = self.view();
        let catalog = &view.catalog;
        let schemas = match name.schemaname.as_str() {
            "" => view.path.clone(),
            schema => vec![catalog.schema_oid(schema).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"))
            })?],
        };
        let not_deferrable = || {
            let message = format!("constraint \"{}\" is not deferrable", name.relname);
            PgError::new(SqlState::WRONG_OBJECT_TYPE, message)
        };
        for schema in schemas {
            let found: Vec<&Constraint> = catalog
                .relations
                .values()
                .filter(|r| r.schema == schema)
                .flat_map(|r| r.constraints.iter().filter(|c| c.name == name.relname))
                .collect();
            if found.iter().any(|c| !c.deferrable) {
                return Err(not_deferrable());
            }
            let triggers: Vec<&Trigger> = catalog
                .relations
                .values()
                .filter(|r| r.schema == schema)
                .flat_map(|r| r.triggers.iter().filter(|t| t.constraint != 0 && t.name == name.relname))
                .collect();
            if triggers.iter().any(|t| !t.deferrable) {
                return Err(not_deferrable());
            }
            let found: Vec<Oid> = found.iter().map(|c| c.oid).chain(triggers.iter().map(|t| t.constraint)).collect();
            if !found.is_empty() {
                return Ok(found.into_iter().flat_map(|oid| parts_of(catalog, oid)).collect());
            }
        }
        Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("constraint \"{}\" does not exist", name.relname)))
    }
}

impl Executor {
    /// SET CONSTRAINTS. Errors: 42704 for an unknown name, 42809 for one that is not deferrable, 23503 if what becomes immediate
    /// is violated.
    pub(in crate::session) fn set_constraints(&mut self, s: &ast::ConstraintsSetStmt) -> Result<String> {
        if !self.context.transaction.block().is_block() {
            self.context
                .warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "SET CONSTRAINTS can only be used in transaction blocks");
        }
        let mut modes = self.context.transaction.constraints().clone();
        if s.constraints.is_empty() {
            modes = Modes { all: Some(s.deferred), named: BTreeMap::new() };
        }
        for node in &s.constraints {
            let Some(NodeEnum::RangeVar(name)) = &node.node else {
                return Err(PgError::internal("a constraint's name"));
            };
            for oid in self.context.constraints_named(name)? {
                modes.named.insert(oid, s.deferred);
            }
        }
        self.context.transaction.set_constraints(modes);
        self.defer_in_sqlite()?;
        self.run_due()?;
        self.check_all_immediate_keys()?;
        self.check_constraints()?;
        Ok("SET CONSTRAINTS".into())
    }

    /// Carries out what waits of constraints that are immediate now.
    fn run_due(&mut self) -> Result<()> {
        self.tell_access();
        let modes = self.context.transaction.constraints().clone();
        let catalog = self.context.catalog();
        self.run_pending(move |oid| match catalog.constraint(oid) {
            Some((_, constraint)) => !modes.is_deferred(constraint),
            None => {
                let trigger = catalog.relations.values().flat_map(|r| &r.triggers).find(|t| t.constraint == oid);
                trigger.is_none_or(|t| !modes.says(oid, t.deferrable, t.initially_deferred))
            }
        })
    }

    /// What managed foreign keys and constraint triggers have left for later, of the constraints that `due` names.
    pub(in crate::session) fn run_pending(&mut self, due: impl Fn(Oid) -> bool) -> Result<()> {
        let Some(connection) = &self.connection else { return Ok(()) };
        if connection.cell.routines().pending.borrow().is_empty() {
            return Ok(());
        }
        let host = crate::routine::Host { cell: &connection.cell, db: connection.handle() };
        let interrupt = Some(connection.interrupt_handle());
        let ran = self.context.cancel.work(crate::session::execution::work::Begins::Apart, interrupt, || {
            crate::routine::after::run_pending(host, due)
        });
        // (also of what failed: its notices)
        let changes = self.take_native_changes();
        ran.and(changes)
    }

    /// Makes SQLite wait with all keys where one that it would check at once is deferred now. Also when SQLite's transaction
    /// begins later than SET CONSTRAINTS. It stays on until the transaction ends: turned off, SQLite forgets what it has seen violated.
    pub(in crate::session) fn defer_in_sqlite(&mut self) -> Result<()> {
        let modes = self.context.transaction.constraints();
        if !self.context.transaction.is_in_sqlite() || self.context.transaction.defers_all() {
            return Ok(());
        }
        if !foreign_keys(&self.context.catalog(), |c| modes.is_deferred(c) && !c.initially_deferred).is_empty() {
            self.connection()?.exec("PRAGMA defer_foreign_keys = ON")?;
            self.context.transaction.set_defers_all(true);
        }
        Ok(())
    }

    /// Foreign keys are due when a statement ends, not after one of its steps: SQLite waits with them until
    /// [`Executor::check_constraints`] has looked at them.
    pub(in crate::session) fn defer_between_steps(&mut self, plan: &pgsqlite_sql::plan::QueryPlan) -> Result<()> {
        if plan.modifies.is_empty() || !self.context.transaction.is_in_sqlite() || self.context.transaction.defers_all()
        {
            return Ok(());
        }
        let catalog = self.context.catalog();
        let changed = |oid: &Oid| plan.modifies.contains(oid);
        let concerned = catalog.relations.values().any(|r| {
            r.constraints.iter().any(|c| match c.kind {
                ConstraintKind::ForeignKey { references, .. } => {
                    !c.managed && (changed(&r.oid) || changed(&references))
                }
                _ => false,
            })
        });
        if concerned {
            self.connection()?.exec("PRAGMA defer_foreign_keys = ON")?;
            self.context.transaction.set_defers_all(true);
        }
        Ok(())
    }

    /// After a change of data: 23503 for a key that is immediate now although SQLite waits with it, 23505 for a deferrable one.
    pub(in crate::session) fn check_constraints(&mut self) -> Result<()> {
        self.check_written_keys()?;
        let is_default = self.context.transaction.constraints().is_default();
        let as_declared = is_default && !self.context.transaction.defers_all();
        if as_declared || !self.context.transaction.is_in_sqlite() {
            return Ok(());
        }
        if !self.connection()?.has_deferred_violations() {
            if is_default {
                // SQLite has waited for the steps of this statement alone, and has nothing to forget
                self.connection()?.exec("PRAGMA defer_foreign_keys = OFF")?;
                self.context.transaction.set_defers_all(false);
            }
            return Ok(());
        }
        let modes = self.context.transaction.constraints().clone();
        match self.violated(|c| !modes.is_deferred(c))? {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The error of a COMMIT that a deferred key refused, with the constraint and the key.
    pub(in crate::session) fn explain_commit(&self, error: PgError) -> PgError {
        if error.code() != SqlState::FOREIGN_KEY_VIOLATION {
            return error;
        }
        match self.violated(|_| true) {
            Ok(Some(found)) => found,
            Ok(None) => error,
            Err(problem) => {
                tracing::debug!(%problem, "the key of a deferred constraint could not be read");
                error
            }
        }
    }

    /// Whether a foreign key of a table of this name (or to it) waits in SQLite and would fail now.
    pub(in crate::session) fn violated_in_sqlite(&self, table: &str) -> Result<bool> {
        let connection = self.connection()?;
        if !connection.has_deferred_violations() {
            return Ok(false);
        }
        for key in foreign_keys(&self.context.catalog(), |_| true) {
            if (key.child.name == table || key.parent.name == table) && key.violation(connection)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(in crate::session) fn violated(&self, wanted: impl Fn(&Constraint) -> bool) -> Result<Option<PgError>> {
        let view = self.context.view();
        let context = Context { settings: &self.context.gucs.typed, names: &*view };
        let connection = self.connection()?;
        for key in foreign_keys(&view.catalog, wanted) {
            if let Some(values) = key.violation(connection)? {
                let keeper = self.context.engine.keeper();
                return key.error(&values, keeper.as_ref(), &view.catalog, &context, view.user).map(Some);
            }
        }
        Ok(None)
    }
}
