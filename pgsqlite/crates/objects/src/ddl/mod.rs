//! Data definition: CREATE, ALTER, DROP, COMMENT, TRUNCATE … on the catalog and on SQLite's schema.
//!
//! [`execute`] runs one statement inside the caller's write transaction: it works on a copy of the catalog, runs SQLite's DDL,
//! stores the changed objects (`store::storing`) and hands the new catalog back. On an error the caller rolls back, and the old
//! catalog is still right.
//!
//! What SQLite's schema contains of a table: columns with harmless type names, NOT NULL, PRIMARY KEY, FOREIGN KEY, and
//! UNIQUE as indexes. CHECKs, DEFAULTs and generation expressions are in the catalog only: they are PostgreSQL's expressions, and
//! functions that only this program has would make the table useless to other SQLite tools. Analysis and lowering of INSERT and
//! UPDATE apply them.

mod absent;
mod acl_change;
mod aggregate;
mod alter_column_type;
mod alter_passes;
mod alter_table;
mod alter_tree;
mod altered;
mod chosen_names;
mod collation;
mod column_definition;
mod column_keeping;
mod comment;
mod comment_builtin;
mod composite;
mod composite_values;
mod create_as;
mod create_table;
mod def_elem;
mod default_privileges;
mod dependencies;
mod domain;
mod drop;
mod drop_uses;
mod exclude;
mod expressions;
mod extended_statistics;
mod foreign_key;
pub mod function;
pub mod function_body;
mod generated;
mod grant;
mod index;
pub mod index_statistics;
mod inherit;
mod inverted;
mod like;
mod membership;
mod named_schemas;
mod nearest;
mod not_null;
mod operator;
mod owned;
mod owner;
mod partition;
mod partition_parts;
mod policy;
mod range;
mod rebuild;
mod relation_sizes;
mod rename;
mod role;
mod rule;
mod schema;
pub(crate) mod sequence;
pub mod sqlite_schema;
mod storage_parameters;
mod table_constraints;
mod temporal_key;
mod text_search;
mod trigger;
mod truncate;
mod types;
mod view;

pub use pgsqlite_metadata::databases::{DatabaseAdmin, Founder};
use pgsqlite_metadata::naming;
use pgsqlite_metadata::store::{self, names::CatalogNames, sqlite_error};
use pgsqlite_natives::settings::rights::Claimant;
use pgsqlite_natives::statistics::progress::Progress;
use pgsqlite_sql::analyze::{self, Environment};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{self, Names};
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::{ast, strings, NodeEnum, RawStatement};
use pgsqlite_types::error::Severity;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use rusqlite::Connection;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// What a statement of DDL did.
#[derive(Debug)]
pub struct Outcome {
    /// The command tag.
    pub tag: String,
    pub notices: Vec<PgError>,
    /// The new catalog; None: nothing changed.
    pub catalog: Option<Arc<Catalog>>,
    /// Sequences whose stored state (`__pgsqlite_sequence`) was set: forget what memory holds of them.
    pub sequences: Vec<Oid>,
}

/// A relation's kind as messages name it.
pub fn kind_word(kind: &RelationKind) -> &'static str {
    dependencies::kind_word(kind)
}

/// Fires the triggers of a table that come before or after its TRUNCATE.
/// The notices of the statement up to there are told first.
pub type FireTruncate<'a> = dyn Fn(Vec<PgError>, &Arc<Relation>, pgsqlite_sql::routine::Timing) -> Result<()> + 'a;

/// Runs what maintains a table as its owner: see `SessionCell::as_owner`.
pub type AsOwner<'a> = dyn Fn(Oid, &mut dyn FnMut()) + 'a;

/// Runs what computes functions of a table's owner.
fn run_as_owner<R>(as_owner: Option<&AsOwner<'_>>, owner: Oid, run: impl FnOnce() -> Result<R>) -> Result<R> {
    let Some(as_owner) = as_owner else { return run() };
    let (mut run, mut result) = (Some(run), None);
    as_owner(owner, &mut || result = run.take().map(|run| run()));
    result.unwrap_or_else(|| Err(PgError::internal("nothing was run")))
}

/// What DDL needs of the session besides the analyzer's environment.
#[derive(Default)]
pub struct DdlSession<'a> {
    /// The tables of a REINDEX.
    pub tables: &'a [Oid],
    /// The role that is `session_user`.
    pub session_role: Oid,
    /// What `current_database()` reports.
    pub database: &'a str,
    /// None: one file is served, databases cannot be made.
    pub databases: Option<&'a dyn DatabaseAdmin>,
    /// Shows the natives (nextval, casts to regclass …) the working catalog, before rows are computed with new objects.
    pub show_catalog: Option<&'a dyn Fn(Arc<Catalog>)>,
    /// Runs as the owner of a table. None: there is nobody to run functions.
    pub as_owner: Option<&'a AsOwner<'a>>,
    /// Fires the TRUNCATE triggers of a table. None: there is nobody to run functions.
    pub fire_truncate: Option<&'a FireTruncate<'a>>,
    /// Tables whose rows a statement around this one changes.
    pub busy: Vec<Oid>,
    /// Tables for which triggers or keys wait for the end of the transaction.
    pub pending: Vec<Oid>,
    /// check_function_bodies is off
    pub skip_bodies: bool,
    /// It is about temporary objects alone, and may not write to the database.
    pub private: bool,
    /// The parameters of a query that CREATE TABLE AS runs: their types and values.
    pub parameters: (Vec<Oid>, Vec<Datum>),
    /// What was told before the statement failed.
    pub notices: std::cell::RefCell<Vec<PgError>>,
    /// Shows how far the statement is. None: nobody looks.
    pub progress: Option<&'a Progress>,
    /// The query that EXECUTE names in CREATE TABLE AS.
    pub executed: Option<&'a ast::SelectStmt>,
}

/// Whether [`execute`] is the one to run this statement (also those that it refuses).
pub fn handles(node: &NodeEnum) -> bool {
    match node {
        NodeEnum::CreateStmt(_)
        | NodeEnum::CreateTableAsStmt(_)
        | NodeEnum::RefreshMatViewStmt(_)
        | NodeEnum::AlterTableStmt(_)
        | NodeEnum::IndexStmt(_)
        | NodeEnum::CreateSeqStmt(_)
        | NodeEnum::AlterSeqStmt(_)
        | NodeEnum::CreateStatsStmt(_)
        | NodeEnum::AlterStatsStmt(_)
        | NodeEnum::ViewStmt(_)
        | NodeEnum::DropStmt(_)
        | NodeEnum::RenameStmt(_)
        | NodeEnum::CommentStmt(_)
        | NodeEnum::TruncateStmt(_)
        | NodeEnum::CreateRoleStmt(_)
        | NodeEnum::AlterRoleStmt(_)
        | NodeEnum::AlterRoleSetStmt(_)
        | NodeEnum::DropRoleStmt(_)
        | NodeEnum::GrantStmt(_)
        | NodeEnum::GrantRoleStmt(_)
        | NodeEnum::CreateSchemaStmt(_)
        | NodeEnum::CreateEnumStmt(_)
        | NodeEnum::CreateRangeStmt(_)
        | NodeEnum::AlterEnumStmt(_)
        | NodeEnum::CreateDomainStmt(_)
        | NodeEnum::AlterDomainStmt(_)
        | NodeEnum::CompositeTypeStmt(_)
        | NodeEnum::AlterObjectSchemaStmt(_)
        | NodeEnum::AlterOwnerStmt(_)
        | NodeEnum::CreatedbStmt(_)
        | NodeEnum::DropdbStmt(_)
        | NodeEnum::AlterDatabaseStmt(_)
        | NodeEnum::AlterDatabaseSetStmt(_)
        | NodeEnum::AlterDefaultPrivilegesStmt(_)
        | NodeEnum::CreatePolicyStmt(_)
        | NodeEnum::AlterPolicyStmt(_)
        | NodeEnum::ReassignOwnedStmt(_)
        | NodeEnum::DropOwnedStmt(_)
        | NodeEnum::CreateFunctionStmt(_)
        | NodeEnum::AlterFunctionStmt(_)
        | NodeEnum::CreateTrigStmt(_)
        | NodeEnum::RuleStmt(_)
        | NodeEnum::CreateEventTrigStmt(_)
        | NodeEnum::DropSubscriptionStmt(_)
        | NodeEnum::DefineStmt(_)
        | NodeEnum::AlterTsconfigurationStmt(_)
        | NodeEnum::CreateCastStmt(_)
        | NodeEnum::AlterOperatorStmt(_)
        | NodeEnum::CreateExtensionStmt(_) => true,
        NodeEnum::SelectStmt(select) => select.into_clause.is_some(),
        _ => false,
    }
}

/// Runs one statement. `conn` has an open write transaction; `environment` is the session's over `catalog`.
pub fn execute(
    conn: &Connection,
    catalog: &Arc<Catalog>,
    environment: &Environment,
    statement: &RawStatement,
    session: &DdlSession,
) -> Result<Outcome> {
    if !catalog.roles.is_empty() && !catalog.roles.contains_key(&environment.user) {
        let message = format!("role {} was concurrently dropped", environment.user);
        return Err(PgError::new(SqlState::UNDEFINED_OBJECT, message));
    }
    let mut ddl = Ddl::new(conn, catalog, environment, session);
    ddl.text = statement.text.clone();
    ddl.offset = statement.offset;
    let done = pgsqlite_sql::parse::with_stack(|| {
        work::catching(|| {
            let tag = ddl.run(&statement.node)?;
            if ddl.changed {
                ddl.settle_foreign_keys()?;
            }
            Ok(tag)
        })
    });
    match done {
        Ok(tag) => ddl.finish(tag, catalog.epoch),
        Err(e) => {
            session.notices.borrow_mut().append(&mut ddl.notices);
            Err(e)
        }
    }
}

/// Whether the file has foreign keys that SQLite carries out and the server should.
pub fn is_unsettled(catalog: &Catalog) -> bool {
    let crossing = catalog.crossing_keys();
    let must = |r: &Relation| r.constraints.iter().any(|c| foreign_key::is_unsettled(catalog, r, c, &crossing));
    catalog.relations.values().any(|r| must(r))
}

/// Makes the server carry these out. `conn` has an open write transaction.
pub fn settle(conn: &Connection, catalog: &Arc<Catalog>, environment: &Environment) -> Result<()> {
    let session = DdlSession::default();
    let mut ddl = Ddl::new(conn, catalog, environment, &session);
    work::catching(|| ddl.settle_foreign_keys())?;
    ddl.finish(String::new(), catalog.epoch).map(|_| ())
}

/// ON COMMIT of the session's temporary tables, before the transaction's COMMIT. None: there was nothing to do. `private`: it may not write
/// to the database.
pub fn on_commit(
    conn: &Connection,
    catalog: &Arc<Catalog>,
    environment: &Environment,
    private: bool,
) -> Result<Option<Outcome>> {
    if !catalog.relations.values().any(|r| r.on_commit != OnCommit::PreserveRows) {
        return Ok(None);
    }
    let session = DdlSession { private, ..DdlSession::default() };
    let mut ddl = Ddl::new(conn, catalog, environment, &session);
    work::catching(|| ddl.end_of_transaction())?;
    ddl.finish(String::new(), catalog.epoch).map(Some)
}

/// OIDs of temporary objects: unique in the process, never stored.
static NEXT_TEMPORARY_OID: AtomicU32 = AtomicU32::new(FIRST_TEMPORARY_OID);

/// The working state of one statement.
pub(super) struct Ddl<'a> {
    conn: &'a Connection,
    catalog: Catalog,
    environment: Environment<'a>,
    session: &'a DdlSession<'a>,
    /// the statement as it was written
    text: Arc<str>,
    /// where it stands in the client's string
    offset: usize,
    notices: Vec<PgError>,
    sequences: Vec<Oid>,
    /// the OID counter, once read from the file (our tables exist then)
    next_oid: Option<Oid>,
    changed: bool,
    /// names are looked up as in stored texts, with the owner's privileges
    stored_path: bool,
}

impl<'a> Ddl<'a> {
    fn new(
        conn: &'a Connection,
        catalog: &Catalog,
        environment: &Environment<'a>,
        session: &'a DdlSession<'a>,
    ) -> Ddl<'a> {
        Ddl {
            conn,
            catalog: catalog.clone(),
            environment: *environment,
            session,
            text: "".into(),
            offset: 0,
            notices: Vec::new(),
            sequences: Vec::new(),
            next_oid: None,
            changed: false,
            stored_path: false,
        }
    }

    /// The statement's role as one that asks for a change of a stored setting.
    fn claimant(&self) -> Claimant<'_> {
        let user = self.environment.user;
        Claimant {
            catalog: &self.catalog,
            login: user,
            session: user,
            current: user,
            in_definer: false,
            restricted: false,
        }
    }

    /// What was done, for the session: the OID counter is stored, the catalog gets the next epoch.
    fn finish(self, tag: String, epoch: u64) -> Result<Outcome> {
        if let Some(next) = self.next_oid {
            store::storing::set_next_oid(self.conn, next)?;
        }
        let mut catalog = self.catalog;
        catalog.epoch = epoch + 1;
        let catalog = self.changed.then(|| Arc::new(catalog));
        Ok(Outcome { tag, notices: self.notices, catalog, sequences: self.sequences })
    }
}

impl Ddl<'_> {
    /// 55006 for a command on a table that is in use.
    fn check_not_in_use(&self, node: &NodeEnum) -> Result<()> {
        if self.session.busy.is_empty() && self.session.pending.is_empty() {
            return Ok(());
        }
        let of_nodes = |nodes: &[ast::Node]| -> Vec<ast::RangeVar> {
            let one = |n: &ast::Node| match &n.node {
                Some(NodeEnum::RangeVar(r)) => Some(r.clone()),
                Some(NodeEnum::List(list)) => {
                    let parts = strings(&list.items);
                    let (relname, rest) = parts.split_last()?;
                    let schemaname = rest.last().map_or(String::new(), |s| s.to_string());
                    Some(ast::RangeVar { relname: relname.to_string(), schemaname, ..Default::default() })
                }
                _ => None,
            };
            nodes.iter().filter_map(one).collect()
        };
        let (command, names) = match node {
            NodeEnum::AlterTableStmt(s) => ("ALTER TABLE", s.relation.iter().cloned().collect()),
            NodeEnum::IndexStmt(s) => ("CREATE INDEX", s.relation.iter().cloned().collect()),
            NodeEnum::TruncateStmt(s) => ("TRUNCATE", of_nodes(&s.relations)),
            NodeEnum::DropStmt(s) if s.remove_type() == ast::ObjectType::ObjectTable => {
                ("DROP TABLE", of_nodes(&s.objects))
            }
            _ => return Ok(()),
        };
        for name in names {
            work::visit();
            // (what is not there is told by the command)
            let Ok(table) = self.find(&name) else { continue };
            // (commands on columns and constraints go on to the children)
            let goes_on = name.inh
                && matches!(node, NodeEnum::AlterTableStmt(s) if s.cmds.iter().any(|c| {
                    use ast::AlterTableType as T;
                    matches!(&c.node, Some(NodeEnum::AlterTableCmd(c)) if matches!(
                        c.subtype(),
                        T::AtAddColumn | T::AtDropColumn | T::AtAlterColumnType | T::AtAddConstraint | T::AtDropConstraint
                            | T::AtSetNotNull | T::AtDropNotNull
                    ))
                }));
            let all = match command {
                "ALTER TABLE" | "CREATE INDEX" if !goes_on => vec![table.oid],
                _ => self.catalog.with_descendants(table.oid),
            };
            for oid in all {
                work::visit();
                let why = match (self.session.busy.contains(&oid), self.session.pending.contains(&oid)) {
                    (true, _) => "it is being used by active queries in this session",
                    (_, true) => "it has pending trigger events",
                    _ => continue,
                };
                let name = self.catalog.relation(oid).map_or(&table.name, |t| &t.name);
                return Err(PgError::new(
                    SqlState::OBJECT_IN_USE,
                    format!("cannot {command} \"{name}\" because {why}"),
                ));
            }
        }
        Ok(())
    }

    fn run(&mut self, node: &NodeEnum) -> Result<String> {
        self.check_not_in_use(node)?;
        self.check_named_schemas(node)?;
        match node {
            NodeEnum::CreateStmt(s) => self.create_table(s),
            NodeEnum::CreateTableAsStmt(s) => self.create_table_as(s),
            NodeEnum::SelectStmt(s) => self.select_into(s),
            NodeEnum::RefreshMatViewStmt(s) => self.refresh(s),
            NodeEnum::IndexStmt(s) => self.create_index(s),
            NodeEnum::CreateSeqStmt(s) => self.create_sequence(s),
            NodeEnum::AlterSeqStmt(s) => self.alter_sequence(s),
            NodeEnum::CreateStatsStmt(s) => self.create_statistics(s),
            NodeEnum::AlterStatsStmt(s) => self.alter_statistics(s),
            NodeEnum::CreateSchemaStmt(s) => self.create_schema(s),
            NodeEnum::CreateEnumStmt(s) => self.create_enum(s),
            NodeEnum::CreateRangeStmt(s) => self.create_range(s),
            NodeEnum::AlterEnumStmt(s) => self.alter_enum(s),
            NodeEnum::CreateDomainStmt(s) => self.create_domain(s),
            NodeEnum::AlterDomainStmt(s) => self.alter_domain(s),
            NodeEnum::CompositeTypeStmt(s) => self.create_composite(s),
            NodeEnum::ViewStmt(s) => self.create_view(s),
            NodeEnum::DropStmt(s) => self.drop_statement(s),
            NodeEnum::TruncateStmt(s) => self.truncate(s),
            NodeEnum::VacuumStmt(s) => self.count_tables(s),
            NodeEnum::ReindexStmt(_) => self.count_again(self.session.tables).map(|()| "REINDEX".into()),
            NodeEnum::AlterTableStmt(s) => self.alter_table(s),
            NodeEnum::RenameStmt(s) => self.rename(s),
            NodeEnum::AlterObjectSchemaStmt(s) => self.set_schema(s),
            NodeEnum::AlterOwnerStmt(s) => self.alter_owner(s),
            NodeEnum::CommentStmt(s) => self.comment(s),
            NodeEnum::CreateRoleStmt(s) => self.create_role(s),
            NodeEnum::AlterRoleStmt(s) => self.alter_role(s),
            NodeEnum::AlterRoleSetStmt(s) => self.alter_role_set(s),
            NodeEnum::DropRoleStmt(s) => self.drop_role(s),
            NodeEnum::GrantStmt(s) => self.grant(s),
            NodeEnum::GrantRoleStmt(s) => self.grant_role(s),
            NodeEnum::ReassignOwnedStmt(s) => self.reassign_owned(s),
            NodeEnum::DropOwnedStmt(s) => self.drop_owned(s),
            NodeEnum::AlterDatabaseStmt(s) => self.alter_database(s),
            NodeEnum::AlterDatabaseSetStmt(s) => self.alter_database_set(s),
            NodeEnum::AlterDefaultPrivilegesStmt(s) => self.alter_default_privileges(s),
            NodeEnum::CreatePolicyStmt(s) => self.create_policy(s),
            NodeEnum::AlterPolicyStmt(s) => self.alter_policy(s),
            NodeEnum::CreatedbStmt(s) => self.create_database(s),
            NodeEnum::DropdbStmt(s) => self.drop_database(s),
            NodeEnum::CreateFunctionStmt(s) => self.create_function(s),
            NodeEnum::AlterFunctionStmt(s) => self.alter_function(s),
            NodeEnum::CreateTrigStmt(s) => self.create_trigger(s),
            NodeEnum::RuleStmt(s) => self.create_rule(s),
            NodeEnum::DropSubscriptionStmt(s) => self.drop_subscription(s),
            NodeEnum::CreateEventTrigStmt(s) => Err(self.no_event_trigger(s)),
            NodeEnum::CreateExtensionStmt(s) => self.create_extension(s),
            NodeEnum::DefineStmt(s) if s.kind() == ast::ObjectType::ObjectAggregate => self.create_aggregate(s),
            NodeEnum::DefineStmt(s) if s.kind() == ast::ObjectType::ObjectCollation => self.create_collation(s),
            NodeEnum::DefineStmt(s) if s.kind() == ast::ObjectType::ObjectTsconfiguration => {
                self.create_ts_configuration(s)
            }
            NodeEnum::DefineStmt(s) if s.kind() == ast::ObjectType::ObjectTsdictionary => self.create_ts_dictionary(s),
            NodeEnum::AlterTsconfigurationStmt(s) => self.alter_ts_configuration(s),
            NodeEnum::DefineStmt(s) if s.kind() == ast::ObjectType::ObjectOperator => self.create_operator(s),
            NodeEnum::DefineStmt(s) if s.kind() == ast::ObjectType::ObjectType => {
                let what = if s.definition.is_empty() { "a shell type" } else { "a base type" };
                Err(PgError::not_supported(format!("CREATE TYPE of {what}")))
            }
            NodeEnum::AlterOperatorStmt(s) => self.alter_operator(s),
            NodeEnum::CreateCastStmt(s) => self.create_cast(s),
            other => Err(PgError::not_supported(pgsqlite_sql::command::name(other))),
        }
    }

    // --- the file ------------------------------------------------------------------------------------------------------

    /// Makes our tables if the file has none yet, and reads the OID counter.
    fn ensure_store(&mut self) -> Result<()> {
        if self.next_oid.is_none() {
            store::init(self.conn, &self.catalog)?;
            self.next_oid = Some(store::read_next_oid(self.conn)?);
        }
        Ok(())
    }

    fn new_oid(&mut self, temporary: bool) -> Result<Oid> {
        if temporary {
            return Ok(NEXT_TEMPORARY_OID.fetch_add(1, Ordering::Relaxed));
        }
        self.ensure_store()?;
        let next = self.next_oid.get_or_insert(oid::FIRST_USER_OID);
        *next += 1;
        Ok(*next - 1)
    }

    /// Adds or replaces a relation in the catalog and in the file.
    fn put_relation(&mut self, mut relation: Relation) -> Result<()> {
        check_number_of_columns(relation.columns.len())?;
        let same = |r: &Arc<Relation>| r.name == relation.name && r.schema == relation.schema;
        let named = !self.catalog.relation(relation.oid).is_some_and(same);
        if named && !matches!(relation.kind, RelationKind::Index(_)) {
            let array = self.name_of_array(relation.schema, &relation.name, relation.array_type != 0)?;
            relation.array_name = array;
        }
        if !relation.temporary {
            if let Some(column) = relation.live_columns().find(|c| self.catalog.is_temporary_type(c.type_oid)) {
                let what = "a column of a temporary table's row type in a table that stays";
                return Err(PgError::not_supported(format!("{what} (\"{}\")", column.name)));
            }
            self.ensure_store()?;
            store::storing::put_relation(self.conn, &relation)?;
        }
        self.catalog.add_relation(relation);
        self.changed = true;
        Ok(())
    }

    fn put_type(&mut self, mut user_type: UserType) -> Result<()> {
        let of: Vec<Oid> = match &user_type.kind {
            UserTypeKind::Domain { base, .. } => vec![*base],
            UserTypeKind::Composite { fields } => {
                check_number_of_columns(fields.len())?;
                fields.iter().map(|f| f.1).collect()
            }
            UserTypeKind::Range(range) => vec![range.subtype],
            _ => vec![],
        };
        if of.iter().any(|t| self.catalog.is_temporary_type(*t)) {
            return Err(PgError::not_supported("a type made of a temporary table's row type"));
        }
        let same = |t: &Arc<UserType>| t.name == user_type.name && t.schema == user_type.schema;
        if !self.catalog.types.get(&user_type.oid).is_some_and(same) {
            user_type.array_name = self.name_of_array(user_type.schema, &user_type.name, true)?;
        }
        self.ensure_store()?;
        store::storing::put_type(self.conn, &user_type)?;
        self.catalog.add_type(user_type);
        self.changed = true;
        Ok(())
    }

    /// For a type that gets the name `name`: an array type that has it, because its element type came first, makes room. Gives
    /// the name of the new type's own array type, where it has one and that is not `_name`.
    fn name_of_array(&mut self, schema: Oid, name: &str, has_array: bool) -> Result<Option<String>> {
        if let Some(TypeEntry::ArrayOf(element)) =
            self.catalog.type_in(schema, name).and_then(|t| self.catalog.type_entry(t))
        {
            let moved = Some(self.catalog.free_array_name(schema, name));
            match self.catalog.type_entry(element) {
                Some(TypeEntry::User(t)) => {
                    let t = UserType { array_name: moved, ..(**t).clone() };
                    store::storing::put_type(self.conn, &t)?;
                    self.catalog.add_type(t);
                }
                Some(TypeEntry::Row(r)) => self.put_relation(Relation { array_name: moved, ..(**r).clone() })?,
                _ => {}
            }
        }
        if !has_array {
            return Ok(None);
        }
        let found = self.catalog.free_array_name(schema, name);
        Ok((found != format!("_{name}")).then_some(found))
    }

    fn put_sequence_state(&mut self, oid: Oid, last_value: i64, is_called: bool) -> Result<()> {
        // (a temporary sequence that is not known to have given values stands at its start)
        if !self.session.private {
            self.ensure_store()?;
            store::storing::put_sequence_state(self.conn, oid, last_value, is_called)?;
        }
        self.sequences.push(oid);
        Ok(())
    }

    /// Runs SQLite statements of ours.
    fn sqlite(&self, sql: &str) -> Result<()> {
        tracing::debug!(sql, "SQLite DDL");
        self.conn.execute_batch(sql).map_err(sqlite_error)
    }

    fn sqlite_object_exists(&self, name: &str) -> bool {
        self.conn
            .query_row("SELECT 1 FROM main.sqlite_schema WHERE name = ?1 COLLATE NOCASE", [name], |_| Ok(()))
            .is_ok()
    }

    // --- analysis ------------------------------------------------------------------------------------------------------

    /// Before rows are computed: natives see what this statement has made so far.
    fn show_catalog(&self) {
        if let Some(show) = self.session.show_catalog {
            show(Arc::new(self.catalog.clone()));
        }
    }

    /// Runs a statement that moves rows; gives how many it changed. Its errors are those of a client's statement.
    fn run_rows(&self, sql: &str) -> Result<usize> {
        tracing::debug!(sql, "rows of DDL");
        self.conn.execute(sql, []).map_err(|e| self.row_error(e))
    }

    /// As [`Ddl::run_rows`], with the statement's parameters.
    fn run_rows_with_parameters(&self, sql: &str) -> Result<usize> {
        tracing::debug!(sql, "rows of DDL");
        let mut statement = self.conn.prepare(sql).map_err(|e| self.row_error(e))?;
        let values = self.session.parameters.1.iter().take(statement.parameter_count());
        for (i, value) in values.enumerate() {
            work::visit();
            let value = pgsqlite_storage::sqlite_statement::to_sqlite(value);
            statement.raw_bind_parameter(i + 1, value).map_err(|e| self.row_error(e))?;
        }
        statement.raw_execute().map_err(|e| self.row_error(e))
    }

    /// What a failed statement over rows means to the user.
    fn row_error(&self, error: rusqlite::Error) -> PgError {
        match &error {
            rusqlite::Error::SqliteFailure(code, Some(message)) => {
                pgsqlite_metadata::error::from_sqlite(code.extended_code, message, Some(&self.catalog))
            }
            _ => sqlite_error(error),
        }
    }

    /// Runs `f` with the session's environment over the working catalog.
    fn analyze<R>(&self, f: impl FnOnce(&Environment) -> Result<R>) -> Result<R> {
        self.analyze_over(&self.catalog, f)
    }

    /// Runs `f` with the session's environment over another state of the catalog.
    fn analyze_over<R>(&self, catalog: &Catalog, f: impl FnOnce(&Environment) -> Result<R>) -> Result<R> {
        let search_path = if self.stored_path { deparse::names::STORED_PATH } else { self.environment.search_path };
        let names = CatalogNames { catalog, search_path };
        f(&Environment { catalog, names: &names, search_path, ..self.environment })
    }

    /// Runs `f` over the working catalog with the search path of stored texts.
    fn analyze_stored<R>(&self, f: impl FnOnce(&Environment) -> Result<R>) -> Result<R> {
        self.analyze_stored_over(&self.catalog, f)
    }

    /// As [`Ddl::analyze_stored`], over another catalog.
    fn analyze_stored_over<R>(&self, catalog: &Catalog, f: impl FnOnce(&Environment) -> Result<R>) -> Result<R> {
        let search_path = deparse::names::STORED_PATH;
        let names = CatalogNames { catalog, search_path };
        // stored texts were permitted when they were written
        f(&Environment { catalog, search_path, names: &names, user: BOOTSTRAP_ROLE, ..self.environment })
    }

    fn type_name(&self, name: &ast::TypeName) -> Result<(Oid, i32)> {
        if let [.., schema, _] = strings(&name.names)[..] {
            self.check_usage(schema).map_err(|e| e.at(name.location))?;
        }
        self.analyze(|e| analyze::resolve_type_name(e, name))
    }

    /// A type as messages name it.
    fn display_type(&self, ty: Oid) -> String {
        pgsqlite_types::typmod::type_name(ty)
            .unwrap_or_else(|| Names::new(&self.catalog, self.environment.search_path).type_name(ty, -1))
    }

    // --- names ---------------------------------------------------------------------------------------------------------

    fn notice(&mut self, code: SqlState, message: impl Into<String>) {
        self.notices.push(PgError::new(code, message).severity(Severity::Notice));
    }

    /// DROP SUBSCRIPTION: there is none, because CREATE SUBSCRIPTION is refused.
    fn drop_subscription(&mut self, statement: &ast::DropSubscriptionStmt) -> Result<String> {
        let message = format!("subscription \"{}\" does not exist", statement.subname);
        if !statement.missing_ok {
            return Err(PgError::new(SqlState::UNDEFINED_OBJECT, message));
        }
        self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
        Ok("DROP SUBSCRIPTION".into())
    }

    /// Whether a new relation of this name is a temporary one: by its word, by its schema, or because the search path begins with pg_temp.
    /// Errors: 42P16.
    fn is_temporary(&self, name: &ast::RangeVar) -> Result<bool> {
        let in_temporary = match name.schemaname.as_str() {
            "pg_temp" => true,
            "" => self.first_of_path() == Some(PG_TEMP),
            _ => false,
        };
        match name.relpersistence.as_str() {
            "t" if !in_temporary && !name.schemaname.is_empty() => Err(temporary_elsewhere()),
            "u" if in_temporary => Err(PgError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                "only temporary relations may be created in temporary schemas",
            )),
            word => Ok(in_temporary || word == "t"),
        }
    }

    /// As [`Ddl::creation_schema`], for an object that is never temporary. Errors: 0A000 for `pg_temp`.
    fn lasting_schema(&self, written: &str, what: &str) -> Result<Oid> {
        match self.creation_schema(written, -1)? {
            PG_TEMP => Err(PgError::not_supported(format!("a temporary {what}"))),
            schema => Ok(schema),
        }
    }

    /// The schema in which objects are made whose names have none.
    fn first_of_path(&self) -> Option<Oid> {
        self.environment.search_path.iter().copied().find(|s| self.catalog.schemas.contains_key(s))
    }

    /// The schema a new object goes to: the one written, or the first of the search path.
    fn creation_schema(&self, written: &str, location: i32) -> Result<Oid> {
        if written.is_empty() {
            return self.first_of_path().ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_SCHEMA, "no schema has been selected to create in").at(location)
            });
        }
        self.catalog.schema_oid(written).ok_or_else(|| {
            PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{written}\" does not exist")).at(location)
        })
    }

    /// Errors: 42501 for who may create nothing in the schema, and as of [`Ddl::check_takes_objects`].
    fn check_creation(&self, schema: Oid, name: &str) -> Result<()> {
        self.check_create(schema)?;
        self.check_takes_objects(schema, name)
    }

    /// System schemas take no objects of users. (A relation that is there already is told before.)
    fn check_takes_objects(&self, schema: Oid, name: &str) -> Result<()> {
        if matches!(schema, PG_CATALOG | INFORMATION_SCHEMA | PG_TOAST) {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied to create \"{}.{name}\"", self.catalog.schema_name(schema)),
            )
            .detail("System catalog modifications are currently disallowed."));
        }
        Ok(())
    }

    /// The relation a RangeVar names. Errors: 3D000-like cross-database reference (0A000), 42P01.
    fn find(&self, name: &ast::RangeVar) -> Result<Arc<Relation>> {
        self.find_opt(name)?.ok_or_else(|| self.no_relation(name))
    }

    fn no_relation(&self, name: &ast::RangeVar) -> PgError {
        let shown = if name.schemaname.is_empty() {
            name.relname.clone()
        } else {
            format!("{}.{}", name.schemaname, name.relname)
        };
        PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{shown}\" does not exist"))
    }

    fn find_opt(&self, name: &ast::RangeVar) -> Result<Option<Arc<Relation>>> {
        self.check_database(&[&name.catalogname, &name.schemaname, &name.relname])?;
        self.check_usage(&name.schemaname)?;
        Ok(self.find_relation(&name.schemaname, &name.relname))
    }

    /// As [`Ddl::check_database`], of a relation that is made.
    fn check_own_database(&self, name: &ast::RangeVar) -> Result<()> {
        self.check_database(&[&name.catalogname, &name.schemaname, &name.relname])
    }

    /// 0A000 for the name of a relation that has another database in front.
    fn check_database(&self, parts: &[&str]) -> Result<()> {
        match parts {
            [database, _, _] if !database.is_empty() && !self.catalog.is_database(database) => {
                let name = parts.join(".");
                let message = format!("cross-database references are not implemented: \"{name}\"");
                Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            _ => Ok(()),
        }
    }

    /// 42501 for a schema ("": none is named) that the role may not look into.
    fn check_usage(&self, schema: &str) -> Result<()> {
        match schema {
            "" => Ok(()),
            schema => pgsqlite_sql::acl::check_schema_usage(&self.catalog, self.environment.user, schema),
        }
    }

    /// What DROP of a part of a relation names, `table.part`: the relation and the part's name; None: no such relation.
    fn part_of_relation<'n>(&self, node: &'n ast::Node) -> Result<Option<(Arc<Relation>, &'n str)>> {
        let Some(NodeEnum::List(list)) = &node.node else { return Ok(None) };
        let parts = strings(&list.items);
        let [table @ .., name] = &parts[..] else { return Ok(None) };
        let (schema, table) = self.qualified(table)?;
        Ok(self.find_relation(schema, table).map(|relation| (relation, *name)))
    }

    /// (schema or "", name) of a qualified name, which may have the database in front. Errors: 0A000 for another database.
    /// 42501 for a schema that the role may not look into.
    fn qualified<'n>(&self, parts: &[&'n str]) -> Result<(&'n str, &'n str)> {
        let (schema, name) = self.qualified_new(parts)?;
        self.check_usage(schema)?;
        Ok((schema, name))
    }

    /// As [`Ddl::qualified`], of an object that is made: who may make objects in a schema need not look into it.
    fn qualified_new<'n>(&self, parts: &[&'n str]) -> Result<(&'n str, &'n str)> {
        match parts {
            [name] => Ok(("", name)),
            [schema, name] => Ok((schema, name)),
            [database, schema, name] if self.catalog.is_database(database) => Ok((schema, name)),
            [_, _, _] => Err(analyze::cross_database(parts)),
            _ => Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                format!("improper qualified name (too many dotted names): {}", parts.join(".")),
            )),
        }
    }

    /// The parts of a name without the database, where that is the session's.
    fn without_database<'n>(&self, parts: Vec<&'n str>) -> Vec<&'n str> {
        match parts[..] {
            [database, schema, name] if self.catalog.is_database(database) => vec![schema, name],
            _ => parts,
        }
    }

    fn find_relation(&self, schema: &str, name: &str) -> Option<Arc<Relation>> {
        if !schema.is_empty() {
            return self.catalog.relation_in(self.catalog.schema_oid(schema)?, name).cloned();
        }
        let path = self.environment.search_path;
        let temporary = (!path.contains(&PG_TEMP)).then_some(PG_TEMP);
        temporary.into_iter().chain(searched(path)).find_map(|s| self.catalog.relation_in(s, name).cloned())
    }

    /// Only the objects of users may be changed.
    fn check_not_system(&self, relation: &Relation) -> Result<()> {
        if relation.oid < oid::FIRST_USER_OID {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied: \"{}\" is a system catalog", relation.name),
            ));
        }
        Ok(())
    }
}

fn temporary_elsewhere() -> PgError {
    PgError::new(SqlState::INVALID_TABLE_DEFINITION, "cannot create temporary relation in non-temporary schema")
}

/// Refuses more columns than PostgreSQL gives a table, view or composite type (manual, appendix K); dropped ones count.
fn check_number_of_columns(count: usize) -> Result<()> {
    if count > 1600 {
        return Err(PgError::new(SqlState::TOO_MANY_COLUMNS, "tables can have at most 1600 columns"));
    }
    Ok(())
}

/// A relation's table as SQLite names it, with its database.
fn sqlite_table(relation: &Relation) -> String {
    let database = if relation.temporary { "temp" } else { "main" };
    format!("{database}.{}", quoted(&relation.sqlite_name))
}

#[cfg(debug_assertions)]
pub mod stored_texts;
#[cfg(test)]
pub(crate) mod tests;
