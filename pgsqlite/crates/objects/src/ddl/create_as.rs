//! Tables filled by a query: CREATE TABLE AS, SELECT INTO, CREATE and REFRESH MATERIALIZED VIEW; ON COMMIT of temporary tables.
//!
//! The rows go in by an ordinary `INSERT INTO new SELECT …` that is analyzed and lowered like a client's, so that values are
//! checked and stored as everywhere else.

use super::dependencies::Object;
use super::{strings, Ddl, NodeEnum};
use pgsqlite_sql::acl::privilege;
use pgsqlite_sql::analyze;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{self, Names, Style};
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::typed::Query;
use pgsqlite_types::work;
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

/// ON COMMIT as written; None: PRESERVE ROWS.
pub(super) fn on_commit(action: ast::OnCommitAction) -> OnCommit {
    match action {
        ast::OnCommitAction::OncommitDrop => OnCommit::Drop,
        ast::OnCommitAction::OncommitDeleteRows => OnCommit::DeleteRows,
        _ => OnCommit::PreserveRows,
    }
}

impl Ddl<'_> {
    pub(super) fn create_table_as(&mut self, statement: &ast::CreateTableAsStmt) -> Result<String> {
        let into = statement.into.as_ref().ok_or_else(|| PgError::internal("CREATE TABLE AS without a table"))?;
        let select = match statement.query.as_ref().and_then(|q| q.node.as_ref()) {
            Some(NodeEnum::SelectStmt(select)) => select,
            Some(NodeEnum::ExecuteStmt(_)) => {
                self.session.executed.ok_or_else(|| PgError::internal("EXECUTE of no statement"))?
            }
            _ => return Err(PgError::not_supported("CREATE TABLE AS of this statement")),
        };
        let materialized = statement.objtype() == ast::ObjectType::ObjectMatview;
        self.fill_from(into, select, materialized, statement.if_not_exists)
    }

    pub(super) fn select_into(&mut self, select: &ast::SelectStmt) -> Result<String> {
        let into = select.into_clause.as_ref().ok_or_else(|| PgError::internal("SELECT INTO without a table"))?;
        let query = ast::SelectStmt { into_clause: None, ..select.clone() };
        self.fill_from(into, &query, false, false)
    }

    fn fill_from(
        &mut self,
        into: &ast::IntoClause,
        select: &ast::SelectStmt,
        materialized: bool,
        if_not_exists: bool,
    ) -> Result<String> {
        let tag = if materialized { "CREATE MATERIALIZED VIEW" } else { "CREATE TABLE AS" };
        let name = into.rel.as_ref().ok_or_else(|| PgError::internal("CREATE TABLE AS without a name"))?;
        let parameters = super::storage_parameters::Parameters::of_table().read(&[], &into.options, false)?;
        self.check_table_place(&into.table_space_name, &into.access_method)?;
        let action = on_commit(into.on_commit());
        if action != OnCommit::PreserveRows && name.relpersistence != "t" {
            return Err(PgError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                "ON COMMIT can only be used on temporary tables",
            ));
        }
        if materialized && name.relpersistence == "u" {
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "materialized views cannot be unlogged"));
        }
        if materialized && self.is_temporary(name)? {
            let message = "cannot create temporary table within security-restricted operation";
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        let query = if materialized {
            // the views in it stay references, as in a view's text
            self.analyze_view_query(&self.catalog, select, self.environment.search_path, analyze::Rights::AskedNow)?
        } else {
            let node = NodeEnum::SelectStmt(Box::new(select.clone()));
            match self.analyze(|e| analyze::analyze(e, &node, &self.session.parameters.0))?.0 {
                analyze::Statement::Query(query) => query,
                analyze::Statement::Modify(_) | analyze::Statement::Rewritten(_) => {
                    return Err(PgError::internal("a SELECT that is no query"))
                }
            }
        };
        let Some(mut relation) = self.new_table(&ast::RangeVar { location: -1, ..name.clone() }, if_not_exists)? else {
            return Ok(tag.into());
        };
        relation.on_commit = action;
        relation.storage.parameters = parameters;
        let aliases = strings(&into.col_names);
        if aliases.len() > query.columns.len() {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "too many column names were specified"));
        }
        self.columns_of_query(&mut relation, &query, &aliases)?;
        if materialized {
            if deparse::query_references(&query)
                .iter()
                .any(|r| self.catalog.relation(r.object).is_some_and(|r| r.temporary))
            {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "materialized views must not use temporary tables or views",
                ));
            }
            let mut named = query;
            for (column, own) in named.columns.iter_mut().zip(&relation.columns) {
                work::visit();
                column.name.clone_from(&own.name);
            }
            let definition = deparse::query(Names::stored(&self.catalog), Style::Full, &named)?;
            relation.kind = RelationKind::MaterializedView { definition, populated: !into.skip_data };
        }
        let sql = self.table_sql(&relation, &relation.sqlite_name)?;
        self.sqlite(&sql)?;
        self.put_relation(relation.clone())?;
        if into.skip_data {
            let executes = self.session.executed.is_some();
            return Ok(if executes { "SELECT 0".into() } else { tag.into() });
        }
        let rows = match materialized {
            true => super::run_as_owner(self.session.as_owner, relation.owner, || self.insert_rows(&relation, select))?,
            false => self.insert_rows(&relation, select)?,
        };
        Ok(format!("SELECT {rows}"))
    }

    /// The columns of a table (or materialized view) that a query fills.
    fn columns_of_query(&self, relation: &mut Relation, query: &Query, aliases: &[&str]) -> Result<()> {
        for (i, (column, attnum)) in query.columns.iter().zip(1i16..).enumerate() {
            work::visit();
            let name = aliases.get(i).map_or(column.name.as_str(), |a| a);
            if relation.column(name).is_some() {
                return Err(PgError::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{name}\" specified more than once"),
                ));
            }
            super::column_definition::check_column_name(&relation.columns, name, -1)?;
            self.check_column_type(name, column.ty, -1)?;
            let collation = self.derived_collation(name, column.ty, column.collation)?;
            relation.columns.push(Column { collation, ..Column::new(attnum, name, column.ty, column.typmod) });
        }
        Ok(())
    }

    /// `INSERT INTO relation SELECT …`; gives the number of rows. The relation is in the catalog.
    fn insert_rows(&mut self, relation: &Relation, select: &ast::SelectStmt) -> Result<usize> {
        // For this one statement a materialized view is a table.
        let mut catalog = self.catalog.clone();
        catalog.add_relation(Relation {
            kind: RelationKind::Table,
            acl: None,
            owner: self.environment.user,
            ..relation.clone()
        });
        // (who makes a table need not look into its schema; what the query reads has been looked at)
        if let Some(schema) = catalog.schemas.get_mut(&relation.schema).map(Arc::make_mut) {
            schema.owner = self.environment.user;
            schema.acl = None;
        }
        let insert = ast::InsertStmt {
            relation: Some(ast::RangeVar {
                schemaname: if relation.temporary {
                    "pg_temp".into()
                } else {
                    self.catalog.schema_name(relation.schema).to_string()
                },
                relname: relation.name.clone(),
                inh: true,
                location: -1,
                ..Default::default()
            }),
            select_stmt: Some(Box::new(ast::Node { node: Some(NodeEnum::SelectStmt(Box::new(select.clone()))) })),
            r#override: ast::OverridingKind::OverridingNotSet as i32,
            ..Default::default()
        };
        let plan = self.analyze_over(&catalog, |e| {
            let given = &self.session.parameters.0;
            let (statement, parameters) = analyze::analyze(e, &NodeEnum::InsertStmt(Box::new(insert)), given)?;
            if parameters.len() > given.len() {
                let message = format!("there is no parameter ${}", given.len() + 1);
                return Err(PgError::new(SqlState::UNDEFINED_PARAMETER, message));
            }
            pgsqlite_sql::lower::lower(e, &statement, parameters)
        })?;
        match &plan.query.steps[..] {
            [step] => self.run_rows_with_parameters(&step.sql),
            _ => Err(PgError::not_supported("CREATE TABLE AS of a query that changes tables")),
        }
    }

    pub(super) fn refresh(&mut self, statement: &ast::RefreshMatViewStmt) -> Result<String> {
        let name = statement.relation.as_ref().ok_or_else(|| PgError::internal("REFRESH without a name"))?;
        let relation = self.find(name)?;
        let RelationKind::MaterializedView { definition, populated } = &relation.kind else {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("\"{}\" is not a materialized view", relation.name),
            ));
        };
        if !pgsqlite_sql::acl::may_maintain(&self.catalog, self.environment.user, &relation) {
            let message = format!("permission denied for materialized view {}", relation.name);
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        if statement.concurrent {
            if statement.skip_data {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    "REFRESH options CONCURRENTLY and WITH NO DATA cannot be used together",
                ));
            }
            if !populated {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "CONCURRENTLY cannot be used when the materialized view is not populated",
                ));
            }
            let unique = self.catalog.indexes_of(relation.oid).any(|(_, i)| {
                i.unique && i.predicate.is_none() && i.columns.iter().all(|c| matches!(c.key, KeyPart::Column(_)))
            });
            if !unique {
                let shown = Names::new(&self.catalog, &[]).relation(relation.oid);
                return Err(PgError::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("cannot refresh materialized view \"{shown}\" concurrently"),
                )
                .hint("Create a unique index with no WHERE clause on one or more columns of the materialized view."));
            }
        }
        let kind = RelationKind::MaterializedView { definition: definition.clone(), populated: !statement.skip_data };
        let statements = pgsqlite_sql::parse::parse(definition)?;
        let Some(NodeEnum::SelectStmt(select)) = statements.first().map(|s| &s.node) else {
            return Err(PgError::internal("a materialized view that is no query"));
        };
        let new = Relation { kind, ..(*relation).clone() };
        self.put_relation(new.clone())?;
        self.sqlite(&format!("DELETE FROM main.{}", quoted(&relation.sqlite_name)))?;
        if !statement.skip_data {
            let path = std::mem::replace(&mut self.stored_path, true);
            // the query is the owner's
            let user = std::mem::replace(&mut self.environment.user, new.owner);
            let filled = super::run_as_owner(self.session.as_owner, new.owner, || self.insert_rows(&new, select));
            self.environment.user = user;
            self.stored_path = path;
            filled?;
        }
        Ok("REFRESH MATERIALIZED VIEW".into())
    }

    /// What COMMIT does to the session's temporary tables: rows go, or tables go.
    pub(super) fn end_of_transaction(&mut self) -> Result<()> {
        let tables: Vec<Relation> = self
            .catalog
            .relations
            .values()
            .filter(|r| r.temporary && r.on_commit != OnCommit::PreserveRows)
            .map(|r| (**r).clone())
            .collect();
        for table in tables.iter().filter(|t| t.on_commit == OnCommit::DeleteRows) {
            work::visit();
            let keeps = |child: &Relation| child.on_commit != OnCommit::DeleteRows;
            if let Some((child, _)) = self.catalog.referencing(table.oid).find(|(child, _)| keeps(child)) {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "unsupported ON COMMIT and foreign key combination",
                )
                .detail(format!(
                    "Table \"{}\" references \"{}\", but they do not have the same ON COMMIT setting.",
                    child.name, table.name
                )));
            }
        }
        let mut gone = Vec::new();
        for table in tables {
            work::visit();
            match table.on_commit {
                OnCommit::DeleteRows => self.sqlite(&format!("DELETE FROM temp.{}", quoted(&table.sqlite_name)))?,
                _ => gone.push(Object::Relation(table.oid)),
            }
        }
        if !gone.is_empty() {
            self.drop_objects(&gone, true)?;
            self.notices.clear();
        }
        Ok(())
    }

    /// 42501 unless the session's role owns the relation.
    pub(super) fn check_owner(&self, relation: &Relation) -> Result<()> {
        self.check_owned(super::dependencies::kind_word(&relation.kind), &relation.name, relation.owner)
    }

    /// As [`Ddl::check_owner`], for a column, trigger, rule, policy or constraint of the relation.
    pub(super) fn check_owner_of_part(&self, relation: &Relation) -> Result<()> {
        self.check_owned("relation", &relation.name, relation.owner)
    }

    /// 42501 `must be owner of …`.
    pub(super) fn check_owned(&self, word: &str, name: &str, owner: pgsqlite_types::Oid) -> Result<()> {
        if pgsqlite_sql::acl::owns(&self.catalog, self.environment.user, owner) {
            return Ok(());
        }
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("must be owner of {word} {name}")))
    }

    /// 42501 with this message unless the session's role has the privilege on the database.
    pub(super) fn check_database_privilege(&self, needed: u32, message: impl Fn() -> String) -> Result<()> {
        use pgsqlite_sql::acl::{privileges, AclObject};
        let database = &self.catalog.properties;
        let user = self.environment.user;
        let has = privileges(&self.catalog, user, AclObject::Database, database.owner, database.acl.as_ref());
        if has & needed != 0 {
            return Ok(());
        }
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message()))
    }

    /// 42501 unless the session's role may make objects in the schema.
    pub(super) fn check_create(&self, schema: pgsqlite_types::Oid) -> Result<()> {
        if schema == PG_TEMP {
            return self.check_database_privilege(privilege::TEMPORARY, || {
                format!("permission denied to create temporary tables in database \"{}\"", self.session.database)
            });
        }
        let has = pgsqlite_sql::acl::schema_privileges(&self.catalog, self.environment.user, schema);
        if has & privilege::CREATE != 0 {
            return Ok(());
        }
        Err(PgError::new(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!("permission denied for schema {}", self.catalog.schema_name(schema)),
        ))
    }
}
