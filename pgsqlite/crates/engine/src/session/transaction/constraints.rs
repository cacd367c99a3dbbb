//! SET CONSTRAINTS, and the foreign keys that are checked later than their statement.
//!
//! SQLite checks a key declared INITIALLY DEFERRED at COMMIT and every other one after its statement; `defer_foreign_keys`
//! makes it wait for COMMIT with all of them. What PostgreSQL's rules check in between is looked for here, after each change
//! while SQLite says that keys are violated: the keys that are immediate now although SQLite waits with them.

use crate::constraints::foreign_keys::{self, foreign_keys};
use crate::constraints::{is_due, modes_after, Looking};
use crate::routine::HasRoutines;
use crate::session::executor::Executor;
use pgsqlite_sql::catalog::{Constraint, ConstraintKind};
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::plan::Tag;
use pgsqlite_sql::routine::Event;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};

impl Executor {
    /// SET CONSTRAINTS. Errors: 42704 for an unknown name, 42809 for one that is not deferrable, 23503 if what becomes immediate
    /// is violated.
    pub(in crate::session) fn set_constraints(&mut self, s: &ast::ConstraintsSetStmt) -> Result<String> {
        if !self.context.transaction.block().is_block() {
            self.context
                .warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "SET CONSTRAINTS can only be used in transaction blocks");
        }
        let view = self.context.view();
        let modes = modes_after(&view.catalog, &view.path, self.context.transaction.constraints(), s)?;
        self.context.transaction.set_constraints(modes);
        self.defer_in_sqlite()?;
        self.run_due()?;
        self.check_all_immediate_keys()?;
        self.check_constraints(None)?;
        Ok("SET CONSTRAINTS".into())
    }

    /// Takes over what SET CONSTRAINTS in a body has said.
    pub(in crate::session) fn take_constraint_modes(&mut self) -> Result<()> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let routines = connection.cell.routines();
        if !routines.modes_set.replace(false) {
            return Ok(());
        }
        let modes = routines.modes.borrow().clone();
        let waits = connection.first_row("PRAGMA defer_foreign_keys", &[])?;
        let waits = waits.is_some_and(|row| row.first() == Some(&Datum::Int(1)));
        self.context.transaction.set_constraints(modes);
        if waits && self.context.transaction.is_in_sqlite() {
            self.context.transaction.set_defers_all(true);
        }
        self.defer_in_sqlite()
    }

    /// Carries out what waits of constraints that are immediate now.
    fn run_due(&mut self) -> Result<()> {
        self.tell_access();
        let modes = self.context.transaction.constraints().clone();
        let catalog = self.context.catalog();
        self.run_pending(move |oid| is_due(&catalog, &modes, oid))
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

    /// Before a change of data that calls functions which may say SET CONSTRAINTS: SQLite cannot begin to wait with keys in the midst of one.
    pub(in crate::session) fn defer_for_functions(&mut self, plan: &pgsqlite_sql::plan::QueryPlan) -> Result<()> {
        let calls = plan.calls_writers && plan.triggered.is_none() && plan.rewritten.is_none();
        let transaction = &self.context.transaction;
        if !calls || plan.modifies.is_empty() || !transaction.is_in_sqlite() || transaction.defers_all() {
            return Ok(());
        }
        if !foreign_keys(&self.context.catalog(), |c| c.deferrable && !c.initially_deferred).is_empty() {
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

    /// After a change of data by a statement with this tag: 23503 (of RESTRICT 23001) for a key that is immediate now although SQLite waits
    /// with it, 23505 for a deferrable one.
    pub(in crate::session) fn check_constraints(&mut self, tag: Option<Tag>) -> Result<()> {
        self.take_constraint_modes()?;
        self.check_written_keys()?;
        let is_default = self.context.transaction.constraints().is_default();
        let as_declared = is_default && !self.context.transaction.defers_all();
        if as_declared || !self.context.transaction.is_in_sqlite() {
            return Ok(());
        }
        if !self.connection()?.has_deferred_violations() {
            // (a statement that is between its rows, and opens its next table now, would be given up)
            if is_default && !self.connection()?.is_in_statement() {
                // SQLite has waited for the steps of this statement alone, and has nothing to forget
                self.connection()?.exec("PRAGMA defer_foreign_keys = OFF")?;
                self.context.transaction.set_defers_all(false);
            }
            return Ok(());
        }
        let modes = self.context.transaction.constraints().clone();
        let event = match tag {
            Some(Tag::Delete) => Some(Event::Delete),
            Some(Tag::Update) => Some(Event::Update),
            _ => None,
        };
        match self.violated_by(event, |c| !modes.is_deferred(c))? {
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
        self.violated_by(None, wanted)
    }

    /// The same of keys whose referenced rows a statement has deleted or updated by what foreign keys do.
    pub(in crate::session) fn violated_by(
        &self,
        event: Option<Event>,
        wanted: impl Fn(&Constraint) -> bool,
    ) -> Result<Option<PgError>> {
        let view = self.context.view();
        let context = Context { settings: &self.context.gucs.typed, names: &*view };
        let was = |sql: &str, key: &[Datum]| self.context.engine.was_committed(sql, key);
        let now = self.connection()?;
        let looking = Looking { catalog: &view.catalog, context: &context, role: view.user, now, was: &was, event };
        foreign_keys::violated(&looking, wanted)
    }
}
