//! VACUUM, ANALYZE, REINDEX, CHECKPOINT, LOCK TABLE.
//!
//! The file is one SQLite database: VACUUM rewrites all of it whatever tables it names, and a lock on a table is the writer slot.

use crate::connection::Connection;
use crate::locks::Mode;
use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use crate::session::Session;
use pgsqlite_natives::statistics::progress::Command;
use pgsqlite_sql::analyze::{find_relation, Environment};
use pgsqlite_sql::builtins::catalog::system_relations;
use pgsqlite_sql::catalog::{Relation, RelationKind, BOOTSTRAP_ROLE};
use pgsqlite_sql::deparse::CLASS_RELATION;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_types::error::Severity;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// The catalogs that all databases of a PostgreSQL server share.
const SHARED_CATALOGS: [&str; 11] = [
    "pg_authid",
    "pg_auth_members",
    "pg_database",
    "pg_db_role_setting",
    "pg_parameter_acl",
    "pg_replication_origin",
    "pg_shdepend",
    "pg_shdescription",
    "pg_shseclabel",
    "pg_subscription",
    "pg_tablespace",
];

/// A table of pg_catalog or information_schema, which VACUUM may name as any other.
fn is_catalog(relation: &Relation) -> bool {
    relation.kind == RelationKind::System && system_relations().iter().any(|r| r.oid == relation.oid && r.kind == b'r')
}

/// A truth value of an option list; absent means true.
fn truth(option: &ast::DefElem) -> Result<bool> {
    let text = match option.arg.as_ref().and_then(|a| a.node.as_ref()) {
        None => return Ok(true),
        Some(NodeEnum::Integer(i)) => i.ival.to_string(),
        Some(NodeEnum::Boolean(b)) => b.boolval.to_string(),
        Some(NodeEnum::String(s)) => s.sval.to_ascii_lowercase(),
        _ => String::new(),
    };
    match text.as_str() {
        "1" | "true" | "on" => Ok(true),
        "0" | "false" | "off" => Ok(false),
        _ => Err(PgError::new(SqlState::SYNTAX_ERROR, format!("{} requires a Boolean value", option.defname))),
    }
}

fn options(nodes: &[ast::Node]) -> impl Iterator<Item = &ast::DefElem> {
    nodes.iter().filter_map(|n| match &n.node {
        Some(NodeEnum::DefElem(d)) => Some(&**d),
        _ => None,
    })
}

impl SessionContext {
    /// The relation of a statement that PostgreSQL resolves without telling a position.
    pub(in crate::session) fn named_relation(&self, r: &ast::RangeVar) -> Result<Arc<Relation>> {
        let view = self.view();
        let schema = (!r.schemaname.is_empty()).then_some(r.schemaname.as_str());
        if let Some(schema) = schema {
            pgsqlite_sql::acl::check_schema_usage(&view.catalog, view.user, schema)?;
        }
        self.with_environment(&view, |e| find_relation(e, schema, &r.relname)).ok_or_else(|| {
            let name = schema.map_or(r.relname.clone(), |s| format!("{s}.{}", r.relname));
            PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
        })
    }

    /// 25001 for what cannot be part of a transaction of several statements.
    pub(in crate::session) fn need_no_block(&mut self, what: &str) -> Result<()> {
        let refused = |place| {
            let message = format!("{what} cannot {place}");
            Err(PgError::new(SqlState::ACTIVE_SQL_TRANSACTION, message))
        };
        if self.transaction.block().is_block() {
            return refused("run inside a transaction block");
        }
        if self.transaction.block().is_pipeline() {
            return refused("be executed within a pipeline");
        }
        self.transaction.set_ends_with_statement();
        Ok(())
    }

    fn inform(&mut self, message: String, detail: Option<String>) {
        let mut notice = PgError::new(SqlState::SUCCESSFUL_COMPLETION, message).severity(Severity::Info);
        if let Some(detail) = detail {
            notice = notice.detail(detail);
        }
        self.notices.push(notice);
    }

    /// Whether the session's role owns what a role owns.
    fn owns(&self, owner: Oid) -> bool {
        let view = self.view();
        self.with_environment(&view, |e| pgsqlite_sql::acl::owns(e.catalog, e.user, owner))
    }

    /// Whether the session's role may vacuum a relation and the like.
    fn may_maintain(&self, relation: &Relation) -> bool {
        let view = self.view();
        self.with_environment(&view, |e| pgsqlite_sql::acl::may_maintain(e.catalog, e.user, relation))
    }

    fn need_maintained(&self, word: &str, name: &str, table: &Relation) -> Result<()> {
        match self.may_maintain(table) {
            true => Ok(()),
            false => {
                Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for {word} {name}")))
            }
        }
    }

    fn need_owned(&self, word: &str, name: &str, owner: Oid) -> Result<()> {
        match self.owns(owner) {
            true => Ok(()),
            false => Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("must be owner of {word} {name}"))),
        }
    }
}

impl Executor {
    /// A number that SQLite has of the database's file.
    fn pragma(&self, name: &str) -> Result<i64> {
        let connection = self.connection()?;
        let sql = format!("PRAGMA main.{name}");
        connection.rusqlite().query_row(&sql, [], |r| r.get(0)).map_err(|_| connection.error())
    }

    /// VACUUM (VERBOSE) without FULL: SQLite uses free pages again by itself.
    fn tell_free_pages(&mut self) -> Result<()> {
        let (free, pages) = (self.pragma("freelist_count")?, self.pragma("page_count")?);
        let detail =
            format!("{free} of {pages} pages are free and are used again. VACUUM FULL makes the file smaller.");
        self.context.inform(format!("vacuumed \"{}\"", self.context.database()), Some(detail));
        Ok(())
    }

    /// VACUUM FULL: rewrites the file without its free pages. No transaction is open. `skips_locked`: not while a transaction holds rows,
    /// whose numbers SQLite may change.
    async fn vacuum_full(&mut self, verbose: bool, skips_locked: bool) -> Result<()> {
        loop {
            self.take_slot().await?;
            if skips_locked && self.context.engine.rows.has_others(self.context.server.number()) {
                return Ok(());
            }
            // (SQLite may number rows anew)
            if !self.let_holder_end(None).await? {
                break;
            }
        }
        let before = self.pragma("page_count")?;
        // another program that writes is waited for as by other statements; SQLite's VACUUM cannot run in a transaction
        self.begin_immediate().await?;
        let ready = self.context.engine.writer.expect_commit(true);
        self.connection()?.command("ROLLBACK")?;
        ready?;
        let shown = self.context.show_progress(Command::VacuumFull, 0);
        shown.progress.total.pages.store(before.max(0) as u64, Ordering::Relaxed);
        let vacuumed = self.run_long("VACUUM main");
        drop(shown);
        if vacuumed.is_err() {
            self.context.engine.writer.not_committed();
        }
        vacuumed?;
        let commit = self.context.engine.writer.committed();
        let after = self.pragma("page_count")?;
        self.context.engine.writer.wait_durable(commit, self.context.own_thread).await?;
        // the file itself shrinks when the log is written back; readers may put that off
        self.connection()?.write_back()?;
        if verbose {
            self.context.inform(
                format!("vacuumed \"{}\"", self.context.database()),
                Some(format!("{before} pages before, {after} pages after.")),
            );
        }
        Ok(())
    }

    /// SQL of ours that may take long: it can be cancelled, and holds up no other session.
    fn run_long(&mut self, sql: &str) -> Result<()> {
        self.run_long_as(None, sql)
    }

    /// The same, with functions that run as this role.
    fn run_long_as(&mut self, role: Option<Oid>, sql: &str) -> Result<()> {
        self.work_long(|connection| match role {
            Some(role) => connection.cell.as_owner(role, || connection.exec(sql)),
            None => connection.exec(sql),
        })
    }

    /// What may take long on the session's connection.
    fn work_long(&mut self, work: impl FnOnce(&Connection) -> Result<()>) -> Result<()> {
        let connection = self.connection()?;
        let interrupt = Some(connection.interrupt_handle());
        let begins = crate::session::execution::work::Begins::Apart;
        let result = self.context.cancel.work(begins, interrupt, || work(connection));
        self.statement_result(result)
    }

    /// ANALYZE of a table of this database, or (None) of all tables.
    fn analyze(&mut self, database: &str, table: Option<&str>) -> Result<()> {
        self.work_long(|connection| {
            pgsqlite_objects::ddl::index_statistics::analyze(connection.rusqlite(), database, table)
        })
    }

    pub(in crate::session) fn checkpoint(&mut self) -> Result<String> {
        self.context.check_member_of("pg_checkpoint", "execute CHECKPOINT command", "execute this command")?;
        if self.context.engine.leaves_log {
            self.context.warn(
                SqlState::WARNING,
                "the write-ahead log is written back when it has been copied (archive, or checkpoints = external): CHECKPOINT does nothing",
            );
        } else {
            self.connection()?.empty_log()?;
        }
        Ok("CHECKPOINT".into())
    }

    // --- LOCK TABLE -------------------------------------------------------------------------------------------------------

    pub(in crate::session) async fn lock_table(&mut self, l: &ast::LockStmt) -> Result<String> {
        if !self.context.transaction.block().is_block() {
            return Err(PgError::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "LOCK TABLE can only be used in transaction blocks",
            ));
        }
        let mut locked = Vec::new();
        for node in &l.relations {
            let Some(NodeEnum::RangeVar(r)) = &node.node else { return Err(PgError::internal("LOCK TABLE")) };
            let relation = self.context.named_relation(r)?;
            if !matches!(
                relation.kind,
                RelationKind::Table | RelationKind::View { .. } | RelationKind::ForeignView | RelationKind::System
            ) {
                let kind = if matches!(relation.kind, RelationKind::Sequence(_)) { "sequences" } else { "indexes" };
                return Err(PgError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("cannot lock relation \"{}\"", relation.name),
                )
                .detail(format!("This operation is not supported for {kind}.")));
            }
            use pgsqlite_sql::acl::privilege::{DELETE, INSERT, MAINTAIN, SELECT, TRUNCATE, UPDATE};
            // ACCESS SHARE (mode 1) is what reading takes, ROW EXCLUSIVE (3) what writing takes
            let any_mode = UPDATE | DELETE | TRUNCATE | MAINTAIN;
            let needed = match l.mode {
                1 => any_mode | SELECT | INSERT,
                2..=3 => any_mode | INSERT,
                _ => any_mode,
            };
            self.context.check_relation_privilege(&relation, needed)?;
            let mut all = Vec::new();
            self.context.check_locked_below(&relation, needed, &mut all)?;
            // with the tables that inherit from what a view reads, too
            let catalog = self.context.catalog();
            let expanded =
                |oid: &Oid| if r.inh || *oid != relation.oid { catalog.with_descendants(*oid) } else { vec![*oid] };
            locked.extend(all.iter().flat_map(expanded));
        }
        locked.dedup();
        self.settle_portals();
        self.lock_relations(l, &locked).await?;
        // a table may have been dropped meanwhile
        for node in &l.relations {
            if let Some(NodeEnum::RangeVar(r)) = &node.node {
                self.context.named_relation(r)?;
            }
        }
        Ok("LOCK TABLE".into())
    }
}

impl Session {
    // --- VACUUM, ANALYZE ------------------------------------------------------------------------------------------------

    pub(in crate::session) async fn vacuum_statement(
        &mut self,
        v: &ast::VacuumStmt,
        raw: &RawStatement,
    ) -> Result<String> {
        let command = if v.is_vacuumcmd { "VACUUM" } else { "ANALYZE" };
        let (mut analyze, mut verbose) = (!v.is_vacuumcmd, false);
        let (mut full, mut workers, mut skips_no_page, mut toast) = (false, 0, false, true);
        let mut skips_locked = false;
        for option in options(&v.options) {
            match option.defname.as_str() {
                "verbose" => verbose = truth(option)?,
                "analyze" if v.is_vacuumcmd => analyze = truth(option)?,
                "skip_locked" => skips_locked = truth(option)?,
                // how PostgreSQL goes about it: the whole file is rewritten in any case
                "full" if v.is_vacuumcmd => full = truth(option)?,
                "disable_page_skipping" if v.is_vacuumcmd => skips_no_page = truth(option)?,
                "process_toast" if v.is_vacuumcmd => toast = truth(option)?,
                "freeze" | "truncate" if v.is_vacuumcmd => {
                    truth(option)?;
                }
                "parallel" if v.is_vacuumcmd => workers = parallel_workers(option)?,
                "index_cleanup" if v.is_vacuumcmd => {}
                other => {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        format!("unrecognized {command} option \"{other}\""),
                    )
                    .at(option.location))
                }
            }
        }
        let refused = |message: &str| Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        if full && workers > 0 {
            return refused("VACUUM FULL cannot be performed in parallel");
        }
        if full && skips_no_page {
            return refused("VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL");
        }
        if full && !toast {
            return refused("PROCESS_TOAST required with VACUUM FULL");
        }
        if v.is_vacuumcmd {
            self.executor.context.need_no_block("VACUUM")?;
        }
        let (mut tables, mut named_catalogs) = (Vec::new(), Vec::new());
        let owns_database = self.executor.context.owns(self.executor.context.catalog().properties.owner);
        let verb = if v.is_vacuumcmd { "vacuum" } else { "analyze" };
        let denied = |name: &str| format!("permission denied to {verb} \"{name}\", skipping it");
        if v.rels.is_empty() && !owns_database {
            // those of others are passed over
            for relation in self.executor.context.catalog().relations.values().filter(|r| r.is_stored()) {
                match self.executor.context.may_maintain(relation) {
                    true => tables.push(relation.clone()),
                    false => self.executor.context.warn(SqlState::WARNING, denied(&relation.name)),
                }
            }
            if tables.is_empty() {
                return Ok(command.into());
            }
        }
        let view_catalog = self.executor.context.catalog();
        for node in &v.rels {
            let Some(NodeEnum::VacuumRelation(rel)) = &node.node else { return Err(PgError::internal("VACUUM")) };
            let r = rel.relation.as_ref().ok_or_else(|| PgError::internal("VACUUM without a table"))?;
            if !rel.va_cols.is_empty() && !analyze {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "ANALYZE option must be specified when a column list is provided",
                ));
            }
            let relation = self.executor.context.named_relation(r)?;
            let catalog = is_catalog(&relation);
            let shared = catalog && SHARED_CATALOGS.contains(&&*relation.name);
            if !self.executor.context.may_maintain(&relation) && (!owns_database || shared) {
                self.executor.context.warn(SqlState::WARNING, denied(&relation.name));
                // (what is below a partitioned table is asked one by one)
                let below =
                    if relation.is_partitioned() { view_catalog.with_descendants(relation.oid) } else { vec![] };
                for part in below.iter().skip(1).filter_map(|oid| view_catalog.relation(*oid)) {
                    match self.executor.context.may_maintain(part) {
                        true => tables.push(part.clone()),
                        false => self.executor.context.warn(SqlState::WARNING, denied(&part.name)),
                    }
                }
                continue;
            }
            if !catalog && !matches!(relation.kind, RelationKind::Table | RelationKind::MaterializedView { .. }) {
                self.executor.context.warn(
                    SqlState::WARNING,
                    format!("skipping \"{}\" --- cannot {verb} non-tables or special system tables", relation.name),
                );
                continue;
            }
            check_columns(&relation, &rel.va_cols)?;
            // a catalog is computed when it is asked: there is nothing to clean up or to count
            match catalog {
                true => named_catalogs.push(relation.oid),
                false => tables.push(relation),
            }
        }
        if !v.rels.is_empty() && tables.is_empty() {
            let (counters, now) = (&self.executor.context.engine.counters, pgsqlite_metadata::clock::now());
            if v.is_vacuumcmd && !full {
                counters.vacuumed(named_catalogs.iter().copied(), now);
            }
            if analyze {
                counters.analyzed(named_catalogs, now);
            }
            return Ok(command.into());
        }
        let mut locked = Vec::new();
        let mode = if full { Mode::AccessExclusive } else { Mode::ShareUpdateExclusive };
        if skips_locked {
            locked = self.executor.context.locked_by_others(mode);
            let named: Vec<_> = tables.iter().filter(|t| locked.contains(&t.oid)).map(|t| t.name.clone()).collect();
            for name in named.iter().filter(|_| !v.rels.is_empty()) {
                let message = format!("skipping {verb} of \"{name}\" --- lock not available");
                self.executor.context.warn(SqlState::LOCK_NOT_AVAILABLE, message);
            }
            tables.retain(|t| !locked.contains(&t.oid));
            if !v.rels.is_empty() && tables.is_empty() {
                return Ok(command.into());
            }
            self.executor.take_slot().await?;
        } else {
            // (a partition is cleaned up and counted with its table)
            let catalog = self.executor.context.catalog();
            let named: Vec<Oid> = tables.iter().flat_map(|t| catalog.with_partitions(t)).collect();
            self.executor.take_slot_of(Some(&*named).filter(|_| !v.rels.is_empty()), mode).await?;
        }
        let catalog = self.executor.context.catalog();
        let mut left = Vec::new();
        for table in tables {
            match catalog.relation(table.oid) {
                Some(table) => left.push(table.clone()),
                None => self.executor.context.warn(
                    SqlState::WARNING,
                    format!("skipping {verb} of \"{}\" --- relation no longer exists", table.name),
                ),
            }
        }
        let tables = left;
        // a partitioned table has no rows, and its partitions stand for it
        let meant: Vec<Oid> = match v.rels.is_empty() && owns_database {
            true => catalog.relations.values().filter(|r| r.is_stored() || is_catalog(r)).map(|r| r.oid).collect(),
            false => named_catalogs.into_iter().chain(tables.iter().flat_map(|t| catalog.with_partitions(t))).collect(),
        };
        let meant: Vec<Oid> = meant.into_iter().filter(|t| !locked.contains(t)).collect();
        let counters = self.executor.context.engine.counters.clone();
        counters.keep_tables(|table| catalog.relation(table).is_some());
        if v.is_vacuumcmd {
            // (PostgreSQL writes tables anew by VACUUM FULL, and does not count that)
            if full {
                self.executor.vacuum_full(verbose, skips_locked).await?;
            } else {
                if verbose {
                    self.executor.tell_free_pages()?;
                }
                let cleaned =
                    meant.iter().copied().filter(|t| catalog.relation(*t).is_some_and(|t| !t.is_partitioned()));
                counters.vacuumed(cleaned, pgsqlite_metadata::clock::now());
            }
        }
        if analyze {
            self.executor.begin_slot(false).await?;
            let partitions = tables.iter().flat_map(|t| catalog.with_partitions(t)).filter(|t| !locked.contains(t));
            for table in partitions.filter_map(|t| catalog.relation(t)) {
                // ANALYZE of a temporary table has SQLite keep its figures beside it
                let database = if table.temporary { "temp" } else { "main" };
                let _shown = self.executor.context.show_progress(Command::Analyze, table.oid);
                self.executor.analyze(database, Some(&table.sqlite_name))?;
            }
            if v.rels.is_empty() && owns_database && locked.is_empty() {
                let _shown = self.executor.context.show_progress(Command::Analyze, 0);
                self.executor.analyze("main", None)?;
            }
            counters.analyzed(meant, pgsqlite_metadata::clock::now());
            if verbose {
                self.executor.context.inform(format!("analyzed \"{}\"", self.executor.context.database()), None);
            }
        }
        if !skips_locked {
            return self.run_ddl_on(raw, &[], Default::default(), None).await;
        }
        // (a statement that names no relation waits for none)
        let is_left = |node: &ast::Node| match &node.node {
            Some(NodeEnum::VacuumRelation(rel)) => {
                let relation = rel.relation.as_ref().map(|r| self.executor.context.named_relation(r));
                relation.is_some_and(|r| r.is_ok_and(|r| tables.iter().any(|t| t.oid == r.oid)))
            }
            _ => false,
        };
        let mut left = v.clone();
        left.rels.retain(is_left);
        let left = RawStatement { node: NodeEnum::VacuumStmt(left), text: command.into(), offset: 0 };
        self.run_ddl_on(&left, &[], Default::default(), None).await
    }

    // --- REINDEX ----------------------------------------------------------------------------------------------------------

    pub(in crate::session) async fn reindex(&mut self, r: &ast::ReindexStmt, raw: &RawStatement) -> Result<String> {
        use ast::ReindexObjectType as T;
        let (mut verbose, mut concurrently) = (false, false);
        for option in options(&r.params) {
            match option.defname.as_str() {
                "verbose" => verbose = truth(option)?,
                "concurrently" => {
                    concurrently = truth(option)?;
                    if concurrently {
                        self.executor.context.need_no_block("REINDEX CONCURRENTLY")?;
                    }
                }
                "tablespace" => return Err(PgError::not_supported("REINDEX (TABLESPACE)").at(option.location)),
                other => {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        format!("unrecognized REINDEX option \"{other}\""),
                    )
                    .at(option.location))
                }
            }
        }
        let kind = T::try_from(r.kind).map_err(|_| PgError::internal("unknown kind of REINDEX"))?;
        let catalog = self.executor.context.catalog();
        let named = |session: &Session| {
            let name = r.relation.as_ref().ok_or_else(|| PgError::internal("REINDEX without a name"))?;
            session.executor.context.named_relation(name)
        };
        let tables: Vec<Arc<Relation>> = match kind {
            T::ReindexObjectTable => {
                let relation = named(self)?;
                if relation.kind != RelationKind::Table {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("\"{}\" is not a table or materialized view", relation.name),
                    ));
                }
                self.executor.context.need_maintained("table", &relation.name, &relation)?;
                if relation.is_partitioned() {
                    self.executor.context.need_no_block("REINDEX TABLE")?;
                }
                vec![relation]
            }
            T::ReindexObjectIndex => {
                let relation = named(self)?;
                let RelationKind::Index(index) = &relation.kind else {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("\"{}\" is not an index", relation.name),
                    ));
                };
                let table = catalog.relation(index.table).unwrap_or(&relation);
                self.executor.context.need_maintained("index", &relation.name, table)?;
                if catalog.relation(index.table).is_some_and(|table| table.is_partitioned()) {
                    self.executor.context.need_no_block("REINDEX INDEX")?;
                }
                if concurrently && !index.exclusion.is_empty() {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "concurrent index creation for exclusion constraints is not supported",
                    ));
                }
                // keys of a table are rebuilt together: an index that SQLite made for a constraint has no name of ours
                catalog.relation(index.table).cloned().into_iter().collect()
            }
            T::ReindexObjectSchema => {
                self.executor.context.need_no_block("REINDEX SCHEMA")?;
                let schema = catalog.schema_oid(&r.name).ok_or_else(|| {
                    PgError::new(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{}\" does not exist", r.name))
                })?;
                let owner = catalog.schemas.get(&schema).map_or(0, |s| s.owner);
                self.executor.context.need_owned("schema", &r.name, owner)?;
                catalog
                    .relations
                    .values()
                    .filter(|t| t.schema == schema && t.kind == RelationKind::Table)
                    .cloned()
                    .collect()
            }
            T::ReindexObjectDatabase | T::ReindexObjectSystem => {
                let word = if kind == T::ReindexObjectDatabase { "DATABASE" } else { "SYSTEM" };
                self.executor.context.need_no_block(&format!("REINDEX {word}"))?;
                if !r.name.is_empty() && !catalog.is_database(&r.name) {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "can only reindex the currently open database",
                    ));
                }
                // the system catalogs are no tables of the file: they have no indexes to rebuild
                if kind == T::ReindexObjectSystem {
                    vec![]
                } else {
                    catalog.relations.values().filter(|t| t.kind == RelationKind::Table).cloned().collect()
                }
            }
            T::Undefined => return Err(PgError::internal("undefined kind of REINDEX")),
        };
        self.executor.begin_slot(false).await?;
        // what has waited for the slot looks at the catalog again: what is named must be there still, the others are passed over
        self.executor.begin_statement().await?;
        let tables: Vec<Arc<Relation>> = match kind {
            T::ReindexObjectTable => vec![named(self)?],
            T::ReindexObjectIndex => {
                let index = named(self)?;
                let table = match &index.kind {
                    RelationKind::Index(index) => self.executor.context.catalog().relation(index.table).cloned(),
                    _ => None,
                };
                table.into_iter().collect()
            }
            _ => {
                let catalog = self.executor.context.catalog();
                tables.iter().filter_map(|t| catalog.relation(t.oid).cloned()).collect()
            }
        };
        // SQLite looks names of REINDEX up in the schema as the connection has it, even if that is an old one: it is read anew here
        self.executor.connection()?.take_snapshot()?;
        let oids: Vec<Oid> = tables.iter().map(|t| t.oid).collect();
        for table in tables {
            let database = if table.temporary { "temp" } else { "main" };
            let _shown = self.executor.context.show_progress(Command::Reindex, table.oid);
            let sql = format!("REINDEX {database}.{}", quoted(&table.sqlite_name));
            self.executor.run_long_as(Some(table.owner), &sql)?;
            if verbose {
                self.executor.context.inform(format!("indexes of table \"{}\" were reindexed", table.name), None);
            }
        }
        self.run_ddl_on(raw, &oids, Default::default(), None).await
    }
}

impl SessionContext {
    /// 42501: what a view reads is locked with it, in the name of its owner, or with `security_invoker` of whoever locks it.
    /// `above`: the views that were looked into.
    fn check_locked_below(&self, view: &Relation, needed: u32, above: &mut Vec<Oid>) -> Result<()> {
        // (views can be made to stand for each other)
        if above.contains(&view.oid) {
            return Ok(());
        }
        above.push(view.oid);
        let seen = self.view();
        // (stored texts were permitted when they were written)
        let query = self.with_environment(&seen, |e| {
            let search_path = pgsqlite_sql::deparse::names::STORED_PATH;
            let stored = Environment { user: BOOTSTRAP_ROLE, search_path, ..*e };
            pgsqlite_sql::deparse::definitions::view_query(&stored, view)
        })?;
        let who = if view.is_invoker_view() { self.user_oid(&seen.catalog) } else { view.owner };
        let references = query.iter().flat_map(pgsqlite_sql::deparse::query_references);
        let mut below: Vec<Oid> = references.filter(|r| r.class == CLASS_RELATION).map(|r| r.object).collect();
        below.dedup();
        for below in below.into_iter().filter_map(|oid| seen.catalog.relation(oid)) {
            self.check_relation_privilege_of(who, below, needed)?;
            self.check_locked_below(below, needed, above)?;
        }
        Ok(())
    }
}

/// 42703, 42701: the columns of ANALYZE.
fn check_columns(relation: &Relation, columns: &[ast::Node]) -> Result<()> {
    let mut seen: Vec<&str> = Vec::new();
    for node in columns {
        let Some(NodeEnum::String(name)) = &node.node else { return Err(PgError::internal("a column of ANALYZE")) };
        let name = name.sval.as_str();
        if relation.column(name).is_none() {
            return Err(PgError::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" of relation \"{}\" does not exist", relation.name),
            ));
        }
        if seen.contains(&name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{name}\" of relation \"{}\" appears more than once", relation.name),
            ));
        }
        seen.push(name);
    }
    Ok(())
}

/// VACUUM (PARALLEL n): how many processes PostgreSQL would take. Errors: 42601.
fn parallel_workers(option: &ast::DefElem) -> Result<i32> {
    let wrong = |message: &str| PgError::new(SqlState::SYNTAX_ERROR, message).at(option.location);
    match option.arg.as_ref().and_then(|a| a.node.as_ref()) {
        None => Err(wrong("parallel option requires a value between 0 and 1024")),
        Some(NodeEnum::Integer(n)) if (0..=1024).contains(&n.ival) => Ok(n.ival),
        Some(NodeEnum::Integer(_)) => Err(wrong("parallel workers for vacuum must be between 0 and 1024")),
        Some(_) => Err(PgError::new(SqlState::SYNTAX_ERROR, "parallel requires an integer value")),
    }
}
