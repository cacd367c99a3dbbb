//! CREATE VIEW. A view is kept as PostgreSQL's text in the catalog; the analyzer expands it.

use super::{Ddl, NodeEnum};
use pgsqlite_metadata::store::names::CatalogNames;
use pgsqlite_sql::analyze::{self, Environment, Rights};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{self, Names, Reference, Style};
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::typed::Query;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    /// Analyzes a query so that the views in it stay references. `rights`: whether it is run, too.
    pub(super) fn analyze_view_query(
        &self,
        catalog: &Catalog,
        select: &ast::SelectStmt,
        search_path: &[Oid],
        rights: Rights,
    ) -> Result<Query> {
        let catalog = deparse::definitions::unexpanded(catalog);
        let names = CatalogNames { catalog: &catalog, search_path };
        let environment = Environment { catalog: &catalog, search_path, names: &names, rights, ..self.environment };
        analyze::analyze_query(&environment, select)?;
        // it may; what is stored has no policies in it, which count when the view is read
        analyze::analyze_query_to_print(&Environment { user: BOOTSTRAP_ROLE, ..environment }, select)
    }

    /// Notes a view whose stored text is not the query that was written.
    #[cfg(debug_assertions)]
    fn compare_view(&self, select: &ast::SelectStmt, definition: &str) {
        let catalog = deparse::definitions::unexpanded(&self.catalog);
        let search_path = self.environment.search_path;
        let names = CatalogNames { catalog: &catalog, search_path };
        let environment =
            Environment { catalog: &catalog, search_path, names: &names, user: BOOTSTRAP_ROLE, ..self.environment };
        let lowered = |query: Query| {
            let statement = analyze::Statement::Query(query);
            let plan = pgsqlite_sql::lower::lower(&environment, &statement, vec![])?;
            Ok(plan.query.steps.into_iter().map(|step| step.sql).collect::<Vec<_>>())
        };
        let written = analyze::analyze_query(&environment, select).and_then(lowered);
        let read = self.stored_view_in(&self.catalog, definition, false).and_then(lowered);
        super::stored_texts::compare("view", definition, written, read);
    }

    /// A stored view's query.
    fn stored_view(&self, definition: &str) -> Result<Query> {
        self.stored_view_in(&self.catalog, definition, false)
    }

    /// A view's query, analyzed over another state of the catalog; to be printed, or for what it names.
    pub(super) fn stored_view_in(&self, catalog: &Catalog, definition: &str, print: bool) -> Result<Query> {
        let statements = pgsqlite_sql::parse::parse(definition)?;
        match statements.first().map(|s| &s.node) {
            Some(NodeEnum::SelectStmt(select)) => {
                let catalog = deparse::definitions::unexpanded(catalog);
                let search_path = deparse::names::STORED_PATH;
                let names = CatalogNames { catalog: &catalog, search_path };
                // what the view may read was checked when it was made
                let environment = Environment {
                    catalog: &catalog,
                    search_path,
                    names: &names,
                    user: BOOTSTRAP_ROLE,
                    ..self.environment
                };
                match print {
                    true => analyze::analyze_query_to_print(&environment, select),
                    false => analyze::analyze_query(&environment, select),
                }
            }
            _ => Err(PgError::internal("a view that is no query")),
        }
    }

    pub(super) fn create_view(&mut self, statement: &ast::ViewStmt) -> Result<String> {
        let tag = "CREATE VIEW".to_string();
        let name = statement.view.as_ref().ok_or_else(|| PgError::internal("CREATE VIEW without a name"))?;
        let mut options = Vec::new();
        for option in super::def_elem::def_elems(&statement.options) {
            work::visit();
            set_view_option(&mut options, option, false)?;
        }
        let written = match statement.with_check_option() {
            ast::ViewCheckOption::LocalCheckOption => Some("check_option=local"),
            ast::ViewCheckOption::CascadedCheckOption => Some("check_option=cascaded"),
            ast::ViewCheckOption::NoCheckOption | ast::ViewCheckOption::Undefined => None,
        };
        if let Some(option) = written {
            if options.iter().any(|o: &String| o.starts_with("check_option=")) {
                return Err(specified_twice("check_option"));
            }
            options.push(option.to_string());
        }
        let checks = options.iter().any(|o| o.starts_with("check_option="));
        let select = match statement.query.as_ref().and_then(|q| q.node.as_ref()) {
            Some(NodeEnum::SelectStmt(select)) if select.into_clause.is_none() => select,
            _ => return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "views must not contain SELECT INTO")),
        };
        let mut query =
            self.analyze_view_query(&self.catalog, select, self.environment.search_path, Rights::AskedAtUse)?;
        let aliases = super::strings(&statement.aliases);
        if aliases.len() > query.columns.len() {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "CREATE VIEW specifies more column names than columns"));
        }
        for (column, alias) in query.columns.iter_mut().zip(&aliases) {
            work::visit();
            column.name = (*alias).to_string();
        }
        let mut columns: Vec<Column> = Vec::new();
        for (column, attnum) in query.columns.iter().zip(1i16..) {
            work::visit();
            if columns.iter().any(|c| c.name == column.name) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", column.name),
                ));
            }
            columns.push(Column {
                collation: self.derived_collation(&column.name, column.ty, column.collation)?,
                ..Column::new(attnum, column.name.clone(), column.ty, column.typmod)
            });
        }
        let uses_temporary = deparse::query_references(&query)
            .iter()
            .any(|r| self.catalog.relation(r.object).is_some_and(|r| r.temporary));
        let declared = self.is_temporary(name)?;
        let temporary = declared || uses_temporary;
        if uses_temporary && !declared {
            self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("view \"{}\" will be a temporary view", name.relname));
        }
        if temporary && !matches!(name.schemaname.as_str(), "" | "pg_temp") {
            return Err(super::temporary_elsewhere());
        }
        for column in &query.columns {
            work::visit();
            self.check_not_pseudo(&column.name, column.ty)?;
        }
        if checks {
            self.check_updatable(select, self.environment.search_path)?;
        }
        let definition = deparse::query(Names::stored(&self.catalog), Style::Full, &query)?;
        // What cannot be read again would be in the way of every later statement, DROP SCHEMA as well.
        self.stored_view_in(&self.catalog, &definition, false).map_err(|e| {
            PgError::not_supported(format!("storing this view, whose text is not read again ({})", e.message()))
        })?;
        #[cfg(debug_assertions)]
        if super::stored_texts::compares() {
            self.compare_view(select, &definition);
        }
        let kind = RelationKind::View { definition, options };
        self.check_own_database(name)?;
        let schema = if temporary { PG_TEMP } else { self.creation_schema(&name.schemaname, name.location)? };
        self.check_create(schema)?;
        let old = self.catalog.relation_in(schema, &name.relname).cloned();
        if old.is_some() && !statement.replace {
            let message = format!("relation \"{}\" already exists", name.relname);
            return Err(PgError::new(SqlState::DUPLICATE_TABLE, message));
        }
        self.check_takes_objects(schema, &name.relname)?;
        if let Some(old) = old {
            if !matches!(old.kind, RelationKind::View { .. }) {
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a view", name.relname)));
            }
            self.check_owner(&old)?;
            self.check_replaced_columns(&old.columns, &columns)?;
            for (column, before) in columns.iter_mut().zip(&old.columns) {
                work::visit();
                column.default.clone_from(&before.default);
            }
            let before = self.has_joins_in_texts().then(|| self.catalog.clone());
            self.put_relation(Relation { kind, columns, ..(*old).clone() })?;
            if let Some(before) = before {
                self.refresh_texts(&before)?;
            }
            return Ok(tag);
        }
        self.check_row_type_name(schema, &name.relname)?;
        let relation = Relation {
            oid: self.new_oid(temporary)?,
            schema,
            name: name.relname.clone(),
            owner: self.environment.user,
            row_type: self.new_oid(temporary)?,
            array_type: self.new_oid(temporary)?,
            temporary,
            columns,
            acl: self.default_acl(pgsqlite_sql::acl::AclObject::Table, schema),
            ..Relation::new(kind)
        };
        self.put_relation(relation)?;
        Ok(tag)
    }

    /// 0A000 if a check option means nothing for a view of this query.
    fn check_updatable(&self, select: &ast::SelectStmt, search_path: &[Oid]) -> Result<()> {
        let query = analyze::analyze_query(
            &Environment { search_path, rights: Rights::AskedAtUse, ..self.environment },
            select,
        )?;
        match analyze::why_not_updatable(&query) {
            None => Ok(()),
            Some(reason) => Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "WITH CHECK OPTION is supported only on automatically updatable views",
            )
            .hint(reason)),
        }
    }

    /// ALTER VIEW … SET / RESET (option …).
    pub(super) fn alter_view_options(&mut self, view: &Relation, list: &[ast::Node], reset: bool) -> Result<()> {
        let RelationKind::View { definition, options } = &view.kind else {
            return Err(PgError::internal("a view expected"));
        };
        let mut options = options.clone();
        for option in super::def_elem::def_elems(list) {
            work::visit();
            options.retain(|o| !o.starts_with(&format!("{}=", option.defname)));
        }
        for option in super::def_elem::def_elems(list) {
            work::visit();
            set_view_option(&mut options, option, reset)?;
        }
        if options.iter().any(|o| o.starts_with("check_option=")) {
            let statements = pgsqlite_sql::parse::parse(definition)?;
            if let Some(NodeEnum::SelectStmt(select)) = statements.first().map(|s| &s.node) {
                self.check_updatable(select, deparse::names::STORED_PATH)?;
            }
        }
        let kind = RelationKind::View { definition: definition.clone(), options };
        self.put_relation(Relation { kind, ..view.clone() })
    }

    /// CREATE OR REPLACE VIEW may only add columns at the end.
    fn check_replaced_columns(&self, old: &[Column], new: &[Column]) -> Result<()> {
        let invalid = |message: String| PgError::new(SqlState::INVALID_TABLE_DEFINITION, message);
        if new.len() < old.len() {
            return Err(invalid("cannot drop columns from view".into()));
        }
        for (old, new) in old.iter().zip(new) {
            work::visit();
            if old.name != new.name {
                return Err(invalid(format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name))
                    .hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."));
            }
            if (old.type_oid, old.typmod) != (new.type_oid, new.typmod) {
                let names = Names::new(&self.catalog, self.environment.search_path);
                return Err(invalid(format!(
                    "cannot change data type of view column \"{}\" from {} to {}",
                    old.name,
                    names.type_name(old.type_oid, old.typmod),
                    names.type_name(new.type_oid, new.typmod)
                )));
            }
            if old.collation != new.collation {
                let name = |oid| self.catalog.collation(oid).map_or_else(|| "default".into(), |c| c.name.to_string());
                return Err(invalid(format!(
                    "cannot change collation of view column \"{}\" from \"{}\" to \"{}\"",
                    old.name,
                    name(old.collation),
                    name(new.collation)
                )));
            }
        }
        Ok(())
    }

    /// What each of the user's views names.
    pub(super) fn view_references(&self) -> Result<Vec<(Oid, Vec<Reference>)>> {
        let mut out = Vec::new();
        for view in self.catalog.relations.values() {
            work::visit();
            if let (RelationKind::View { definition, .. } | RelationKind::MaterializedView { definition, .. }, true) =
                (&view.kind, view.oid >= pgsqlite_types::oid::FIRST_USER_OID)
            {
                out.push((view.oid, deparse::query_references(&self.stored_view(definition)?)));
            }
        }
        Ok(out)
    }
}

/// Adds `name=value`. Errors: 22023 for a value that the option does not have, or a second one; 0A000 for another option.
fn set_view_option(options: &mut Vec<String>, option: &ast::DefElem, reset: bool) -> Result<()> {
    let name = option.defname.as_str();
    if options.iter().any(|o| o.starts_with(&format!("{name}="))) {
        return Err(specified_twice(name));
    }
    let value = match name {
        "security_barrier" | "security_invoker" => match reset {
            true => return Ok(()),
            false => super::def_elem::boolean(option)?.to_string(),
        },
        "check_option" if reset => return Ok(()),
        "check_option" => match super::def_elem::word(option).to_ascii_lowercase().as_str() {
            word @ ("local" | "cascaded") => word.to_string(),
            word => {
                return Err(PgError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("invalid value for enum option \"check_option\": {word}"),
                )
                .detail("Valid values are \"local\" and \"cascaded\"."))
            }
        },
        other => {
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("unrecognized parameter \"{other}\"")))
        }
    };
    options.push(format!("{name}={value}"));
    Ok(())
}

fn specified_twice(name: &str) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("parameter \"{name}\" specified more than once"))
}
