//! FROM: range table entries, joins, and the namespace in which columns are looked up.

use super::typename::name_parts;
use super::{entry, relation_columns, var, Analyzer, Clause};
use crate::catalog::{Relation, RelationKind};
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, ExprKind, FromItem, RteColumn, RteKind};
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// Something whose columns can be named: a table, a sub-query, a function, a join.
#[derive(Clone)]
pub(crate) struct NamespaceItem {
    pub alias: String,
    /// schema and relation name, for `schema.table.column`
    pub qualified: Option<(Oid, String)>,
    /// index in the range table, for whole-row references; None for joins
    pub rte: Option<usize>,
    pub columns: Vec<(String, Expr)>,
    /// `alias.column` works
    pub table_visible: bool,
    /// a bare `column` works
    pub columns_visible: bool,
    /// seen from a later FROM item, and that item is not LATERAL
    pub lateral_only: bool,
    /// may be used from LATERAL items (false: the far side of a RIGHT or FULL JOIN)
    pub lateral_ok: bool,
}

impl NamespaceItem {
    /// VALUE of a domain's CHECK.
    pub fn domain_value(base: Oid) -> NamespaceItem {
        NamespaceItem {
            alias: String::new(),
            qualified: None,
            rte: None,
            columns: vec![("value".into(), Expr::new(ExprKind::DomainValue, base, -1))],
            table_visible: false,
            columns_visible: true,
            lateral_only: false,
            lateral_ok: true,
        }
    }
}

/// Whether a system relation is a view in PostgreSQL.
fn is_system_view(relation: Oid) -> bool {
    crate::builtins::catalog::system_relations().iter().any(|r| r.oid == relation && r.kind == b'v')
}

impl Analyzer<'_> {
    /// All FROM items; the level's namespace holds them afterwards.
    pub(crate) fn from_clause(&mut self, nodes: &[ast::Node]) -> Result<Vec<FromItem>> {
        let mut items = Vec::new();
        for node in nodes {
            let before = self.level().namespace.len();
            for item in &mut self.level().namespace {
                item.lateral_only = true;
            }
            let (item, mut namespace) = self.from_item(node)?;
            // 42712: the same name twice
            for new in &namespace {
                let clash = self.level().namespace[..before].iter().any(|old| {
                    old.table_visible
                        && new.table_visible
                        && old.alias == new.alias
                        && !(old.qualified.is_some() && new.qualified.is_some() && old.qualified != new.qualified)
                });
                if clash {
                    return Err(duplicate_alias(&new.alias, node));
                }
            }
            let level = self.level();
            level.namespace.truncate(before);
            level.namespace.append(&mut namespace);
            items.push(item);
        }
        for item in &mut self.level().namespace {
            item.lateral_only = false;
        }
        Ok(items)
    }

    pub(super) fn from_item(&mut self, node: &ast::Node) -> Result<(FromItem, Vec<NamespaceItem>)> {
        match node.node.as_ref() {
            Some(NodeEnum::RangeVar(r)) => self.range_var(r),
            Some(NodeEnum::RangeSubselect(s)) => self.range_subselect(s),
            Some(NodeEnum::RangeFunction(f)) => self.range_function(f),
            Some(NodeEnum::JoinExpr(j)) => self.join(j),
            Some(NodeEnum::RangeTableSample(s)) => self.table_sample(s),
            Some(NodeEnum::RangeTableFunc(f)) => Err(PgError::not_supported("XMLTABLE").at(f.location)),
            Some(NodeEnum::JsonTable(f)) => self.json_table(f),
            Some(other) => Err(PgError::not_supported(format!("{} in FROM", crate::command::name(other)))),
            None => Err(PgError::internal("an empty FROM item")),
        }
    }

    fn range_var(&mut self, r: &ast::RangeVar) -> Result<(FromItem, Vec<NamespaceItem>)> {
        if r.schemaname.is_empty() {
            if let Some(found) = self.cte_reference(r)? {
                return Ok(found);
            }
        }
        let relation = self.required_relation(r)?;
        self.check_selectable(&relation, r.location)?;
        // The engine's catalog has the system relations that it provides; a bare catalog (tests of this crate) has none.
        let catalog = self.env.catalog;
        let provides = catalog.relations.values().next().is_some_and(|first| first.kind == RelationKind::System);
        if relation.kind == RelationKind::System && provides && catalog.relation(relation.oid).is_none() {
            let schema = catalog.schema_name(relation.schema);
            return Err(PgError::not_supported(format!("the relation {schema}.{}", relation.name)).at(r.location));
        }
        let by_columns = self
            .check_some_columns(&relation, crate::acl::privilege::SELECT)
            .map_err(|e| super::modify::schema_position(e, r))?;
        let alias = r.alias.as_ref().map_or(relation.name.as_str(), |a| a.aliasname.as_str()).to_string();
        let locked = self.level().locks(&alias);
        if locked && matches!(relation.kind, RelationKind::Table | RelationKind::View { .. }) {
            // what is locked could be changed
            self.check_some_columns(&relation, crate::acl::privilege::UPDATE)?;
        }
        if let RelationKind::MaterializedView { populated: false, .. } = &relation.kind {
            return Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("materialized view \"{}\" has not been populated", relation.name),
            )
            .hint("Use the REFRESH MATERIALIZED VIEW command."));
        }
        let index = match &relation.kind {
            RelationKind::View { definition, .. } => {
                self.check_view_access(&relation)?;
                // whoever asks for a view's rows FOR UPDATE locks those of its tables, as its owner
                self.locks_next = locked;
                self.view_entry(&relation, &definition.clone(), r)?
            }
            RelationKind::Table if self.is_secured(&relation)? => {
                self.secured_entry(&relation, r.alias.as_ref(), locked, !r.inh)?
            }
            _ => self.add_relation_entry(relation.clone(), r.alias.as_ref(), false)?,
        };
        self.level().range_table[index].only = !r.inh;
        if by_columns {
            let check = super::column_rights::ColumnCheck { rte: index, relation: relation.clone(), role: self.acting };
            self.level().column_checks.push(check);
        }
        let item = self.namespace_of(index, Some((relation.schema, relation.name.clone())), r.alias.is_some());
        Ok((FromItem::Entry(index), vec![item]))
    }

    /// `t TABLESAMPLE BERNOULLI|SYSTEM (percent) [REPEATABLE (seed)]`. SQLite has no blocks to choose from: both choose rows.
    fn table_sample(&mut self, s: &ast::RangeTableSample) -> Result<(FromItem, Vec<NamespaceItem>)> {
        let inner = s.relation.as_deref().ok_or_else(|| PgError::internal("TABLESAMPLE of nothing"))?;
        let Some(NodeEnum::RangeVar(r)) = &inner.node else {
            return Err(PgError::internal("TABLESAMPLE of something that is no table"));
        };
        let method = name_parts(&s.method).last().map(|m| m.to_string()).unwrap_or_default();
        let (item, namespace) = self.range_var(r)?;
        let FromItem::Entry(index) = item else { return Err(PgError::internal("TABLESAMPLE of a join")) };
        let is_table = matches!(&self.level().range_table[index].kind,
            RteKind::Relation(relation) if relation.kind == RelationKind::Table);
        if !is_table {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "TABLESAMPLE clause can only be applied to tables and materialized views",
            )
            .at(r.location));
        }
        if !matches!(method.as_str(), "bernoulli" | "system") {
            return Err(PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("tablesample method {method} does not exist"),
            )
            .at(s.location));
        }
        let [percent] = &s.args[..] else {
            return Err(PgError::new(
                SqlState::INVALID_TABLESAMPLE_ARGUMENT,
                format!("tablesample method {method} requires 1 argument, not {}", s.args.len()),
            )
            .at(s.location));
        };
        let percent = self.in_clause(Clause::FromFunction, |a| a.expr(percent))?;
        let percent = self.coerce_assignment(percent, oid::FLOAT4, -1, "TABLESAMPLE")?;
        let seed = match s.repeatable.as_deref() {
            Some(node) => {
                let seed = self.in_clause(Clause::FromFunction, |a| a.expr(node))?;
                Some(self.coerce_assignment(seed, oid::FLOAT8, -1, "REPEATABLE")?)
            }
            None => None,
        };
        self.level().range_table[index].sample = Some(Box::new(crate::typed::Sample { method, percent, seed }));
        Ok((FromItem::Entry(index), namespace))
    }

    /// The relation a RangeVar names; 42P01 with position. Other databases are refused.
    pub(crate) fn required_relation(&self, r: &ast::RangeVar) -> Result<Arc<Relation>> {
        let schema = (!r.schemaname.is_empty()).then_some(r.schemaname.as_str());
        if !r.catalogname.is_empty() && !self.env.catalog.is_database(&r.catalogname) {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!(
                    "cross-database references are not implemented: \"{}.{}.{}\"",
                    r.catalogname, r.schemaname, r.relname
                ),
            )
            .at(r.location));
        }
        let found = self.relation(schema, &r.relname);
        if let (None, Some(schema)) = (&found, schema) {
            // what is in a schema that one may not look into is not told
            self.check_schema(schema).map_err(|e| e.at(r.location))?;
        }
        found.ok_or_else(|| {
            let name = match schema {
                Some(schema) => format!("{schema}.{}", r.relname),
                None => r.relname.clone(),
            };
            let error = PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"));
            let later = schema.is_none() && self.levels.iter().any(|l| l.pending_ctes.contains(&r.relname));
            let error = if later {
                error
                    .detail(format!(
                        "There is a WITH item named \"{name}\", but it cannot be referenced from this part of the query."
                    ))
                    .hint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
            } else {
                error
            };
            error.at(r.location)
        })
    }

    /// 42501 unless the acting role has the privilege on the relation and may look into its schema.
    pub(crate) fn check_privilege(&self, relation: &Relation, needed: u32) -> Result<()> {
        // (what a stored text names was looked up when it was stored)
        self.check_privilege_of(self.acting, relation, needed, !self.env.is_for_stored_text())
    }

    /// The same for another role. `looks`: the relation was named now, in its schema.
    pub(super) fn check_privilege_of(&self, role: Oid, relation: &Relation, needed: u32, looks: bool) -> Result<()> {
        let catalog = self.env.catalog;
        if crate::acl::is_superuser(catalog, role) || catalog.roles.is_empty() {
            return Ok(());
        }
        let denied =
            |what: String| PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for {what}"));
        let usage = crate::acl::privilege::USAGE;
        if looks && crate::acl::schema_privileges(catalog, role, relation.schema) & usage == 0 {
            return Err(denied(format!("schema {}", catalog.schema_name(relation.schema))));
        }
        let now = self.env.rights == super::Rights::AskedNow;
        if now && crate::acl::relation_privileges(catalog, role, relation) & needed != needed {
            let word = match relation.kind {
                RelationKind::View { .. } | RelationKind::ForeignView => "view",
                RelationKind::MaterializedView { .. } => "materialized view",
                RelationKind::Sequence(_) => "sequence",
                RelationKind::System if is_system_view(relation.oid) => "view",
                _ => "table",
            };
            return Err(denied(format!("{word} {}", relation.name)));
        }
        Ok(())
    }

    fn check_selectable(&self, relation: &Relation, location: i32) -> Result<()> {
        match relation.kind {
            RelationKind::Index(_) => {
                Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("cannot open relation \"{}\"", relation.name))
                    .detail("This operation is not supported for indexes.")
                    .at(location))
            }
            _ => Ok(()),
        }
    }

    /// A relation as a range table entry (and, with `visible`, in the namespace).
    pub(crate) fn add_relation_entry(
        &mut self,
        relation: Arc<Relation>,
        alias: Option<&ast::Alias>,
        visible: bool,
    ) -> Result<usize> {
        let mut columns = if matches!(relation.kind, RelationKind::Sequence(_)) {
            sequence_columns()
        } else {
            relation_columns(&relation)
        };
        let name = alias.map_or(relation.name.clone(), |a| a.aliasname.clone());
        rename_columns(&mut columns, alias, &name)?;
        let qualified = (relation.schema, relation.name.clone());
        let level = self.level();
        level.range_table.push(entry(RteKind::Relation(relation), name, alias.is_some(), columns));
        let index = level.range_table.len() - 1;
        if visible {
            let item = self.namespace_of(index, Some(qualified), alias.is_some());
            self.level().namespace.push(item);
        }
        Ok(index)
    }

    /// The namespace item of an entry of this level.
    pub(crate) fn namespace_of(
        &mut self,
        index: usize,
        qualified: Option<(Oid, String)>,
        has_alias: bool,
    ) -> NamespaceItem {
        let rte = &self.level().range_table[index];
        NamespaceItem {
            alias: rte.alias.clone(),
            qualified: if has_alias { None } else { qualified },
            rte: Some(index),
            columns: rte.columns.iter().enumerate().map(|(i, c)| (c.name.clone(), var(0, index, i, c, -1))).collect(),
            table_visible: true,
            columns_visible: true,
            lateral_only: false,
            lateral_ok: true,
        }
    }

    /// 55000 for a view of the users while `restrict_nonsystem_relation_kind` forbids them.
    pub(super) fn check_view_access(&self, view: &Relation) -> Result<()> {
        if !self.env.settings.restrict_views || view.oid < oid::FIRST_USER_OID {
            return Ok(());
        }
        Err(PgError::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("access to non-system view \"{}\" is restricted", view.name),
        ))
    }

    /// A view stands for its query.
    fn view_entry(&mut self, view: &Relation, definition: &str, r: &ast::RangeVar) -> Result<usize> {
        let query = self.view_query(view, definition)?;
        self.query_entry(query, relation_columns(view), view, r.alias.as_ref())
    }

    /// A query that stands for a relation.
    pub(super) fn query_entry(
        &mut self,
        query: crate::typed::Query,
        mut columns: Vec<crate::typed::RteColumn>,
        relation: &Relation,
        alias: Option<&ast::Alias>,
    ) -> Result<usize> {
        let name = alias.map_or(relation.name.clone(), |a| a.aliasname.clone());
        rename_columns(&mut columns, alias, &name)?;
        let level = self.level();
        level.range_table.push(entry(
            RteKind::Subquery { query: Box::new(query), lateral: false },
            name,
            alias.is_some(),
            columns,
        ));
        let index = level.range_table.len() - 1;
        level.range_table[index].row_type = relation.row_type;
        Ok(index)
    }

    /// Whose privileges count for what a view's query names: its owner's, or, with security_invoker, those of the session's role, also
    /// where another view stands between them.
    pub(super) fn acting_within(&self, view: &Relation) -> Oid {
        match view.is_invoker_view() {
            true => self.env.user,
            false => view.owner,
        }
    }

    /// A view's query.
    pub(super) fn view_query(&mut self, view: &Relation, definition: &str) -> Result<crate::typed::Query> {
        if self.view_depth > 64 {
            return Err(PgError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                format!("infinite recursion detected in rules for relation \"{}\"", view.name),
            ));
        }
        let statements = crate::parse::parse(definition)?;
        let [crate::parse::RawStatement { node: NodeEnum::SelectStmt(select), .. }] = &statements[..] else {
            return Err(PgError::internal(format!("view \"{}\" is not one query", view.name)));
        };
        // A view's text sees nothing of the query around it and no parameters.
        let saved_levels = std::mem::take(&mut self.levels);
        let saved_open = std::mem::replace(&mut self.parameters_open, false);
        let saved_parameters = std::mem::take(&mut self.parameters);
        let acting = self.acting_within(view);
        let saved_acting = std::mem::replace(&mut self.acting, acting);
        self.view_depth += 1;
        let written = std::mem::take(&mut self.written);
        let variables = self.variables.take();
        let result = self.in_stored_text(|a| a.top_query(select));
        self.view_depth -= 1;
        self.written = written;
        self.variables = variables;
        self.acting = saved_acting;
        self.parameters = saved_parameters;
        self.parameters_open = saved_open;
        self.levels = saved_levels;
        // positions in the view's text are not the statement's
        result.map_err(PgError::without_position)
    }

    fn cte_reference(&mut self, r: &ast::RangeVar) -> Result<Option<(FromItem, Vec<NamespaceItem>)>> {
        let depth = self.levels.len();
        let found = (0..depth)
            .find_map(|up| self.levels[depth - 1 - up].ctes.iter().rposition(|c| c.name == r.relname).map(|i| (up, i)));
        let Some((levels_up, index)) = found else { return Ok(None) };
        let cte = &self.levels[depth - 1 - levels_up].ctes[index];
        let self_reference =
            cte.recursive && matches!(&cte.body, crate::typed::CteBody::Query(q) if q.columns.is_empty());
        let mut columns = cte.columns.clone();
        if columns.is_empty() && !matches!(&cte.body, crate::typed::CteBody::Query(_)) {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("WITH query \"{}\" does not have a RETURNING clause", r.relname),
            )
            .at(r.location));
        }
        let name = r.alias.as_ref().map_or(r.relname.clone(), |a| a.aliasname.clone());
        rename_columns(&mut columns, r.alias.as_ref(), &name)?;
        let level = self.level();
        level.range_table.push(entry(
            RteKind::Cte { levels_up, index, self_reference },
            name,
            r.alias.is_some(),
            columns,
        ));
        let rte = level.range_table.len() - 1;
        level.range_table[rte].names_columns = r.alias.as_ref().is_some_and(|a| !a.colnames.is_empty());
        let item = self.namespace_of(rte, None, true);
        Ok(Some((FromItem::Entry(rte), vec![item])))
    }

    fn range_subselect(&mut self, s: &ast::RangeSubselect) -> Result<(FromItem, Vec<NamespaceItem>)> {
        let node = s.subquery.as_deref().ok_or_else(|| PgError::internal("a sub-select without a query"))?;
        let Some(NodeEnum::SelectStmt(select)) = &node.node else {
            return Err(PgError::internal("SELECT expected in FROM"));
        };
        let alias = s.alias.as_ref();
        self.locks_next = self.level().locks(alias.map_or("", |a| &a.aliasname));
        let mut query = self.from_query(select, s.lateral)?;
        self.resolve_unknown_columns(&mut query)?;
        let mut columns = query.columns.clone();
        for column in &mut columns {
            column.attnum = 0;
        }
        // (as PostgreSQL 16 has it: without an alias nothing can be said of it but its columns' names)
        let name = alias.map_or("unnamed_subquery", |a| &a.aliasname).to_string();
        rename_columns(&mut columns, alias, &name)?;
        let level = self.level();
        level.range_table.push(entry(
            RteKind::Subquery { query: Box::new(query), lateral: s.lateral },
            name,
            alias.is_some(),
            columns,
        ));
        let index = level.range_table.len() - 1;
        let item = self.namespace_of(index, None, true);
        Ok((FromItem::Entry(index), vec![NamespaceItem { table_visible: alias.is_some(), ..item }]))
    }

    /// A query in FROM: sees the items before it only if LATERAL.
    fn from_query(&mut self, select: &ast::SelectStmt, lateral: bool) -> Result<crate::typed::Query> {
        let saved: Vec<bool> = self.level().namespace.iter().map(|i| i.lateral_only).collect();
        if lateral {
            for item in &mut self.level().namespace {
                item.lateral_only = !item.lateral_ok;
            }
        }
        let result = self.query(select);
        for (item, was) in self.level().namespace.iter_mut().zip(saved) {
            item.lateral_only = was;
        }
        result
    }

    // --- look-ups ----------------------------------------------------------------------------------------------------
}

pub(super) fn duplicate_alias(alias: &str, node: &ast::Node) -> PgError {
    let _ = node;
    PgError::new(SqlState::DUPLICATE_ALIAS, format!("table name \"{alias}\" specified more than once"))
}

pub(crate) fn plain_column(name: &str, ty: Oid, typmod: i32) -> RteColumn {
    RteColumn { name: name.into(), ty, typmod, attnum: 0, origin: (0, 0), collation: 0 }
}

/// What `SELECT … FROM sequence` sees.
fn sequence_columns() -> Vec<RteColumn> {
    vec![
        plain_column("last_value", oid::INT8, -1),
        plain_column("log_cnt", oid::INT8, -1),
        plain_column("is_called", oid::BOOL, -1),
    ]
}

/// AS alias (names…).
pub(crate) fn rename_columns(columns: &mut [RteColumn], alias: Option<&ast::Alias>, table: &str) -> Result<()> {
    let Some(alias) = alias else { return Ok(()) };
    let names = name_parts(&alias.colnames);
    if names.len() > columns.len() {
        return Err(PgError::new(
            SqlState::INVALID_COLUMN_REFERENCE,
            format!("table \"{table}\" has {} columns available but {} columns specified", columns.len(), names.len()),
        ));
    }
    for (column, name) in columns.iter_mut().zip(names) {
        column.name = name.to_string();
    }
    Ok(())
}

/// The column name PostgreSQL gives CURRENT_DATE and its like.
pub(crate) fn sql_value_name(op: i32) -> &'static str {
    use ast::SqlValueFunctionOp as O;
    match O::try_from(op) {
        Ok(O::SvfopCurrentDate) => "current_date",
        Ok(O::SvfopCurrentTime | O::SvfopCurrentTimeN) => "current_time",
        Ok(O::SvfopCurrentTimestamp | O::SvfopCurrentTimestampN) => "current_timestamp",
        Ok(O::SvfopLocaltime | O::SvfopLocaltimeN) => "localtime",
        Ok(O::SvfopLocaltimestamp | O::SvfopLocaltimestampN) => "localtimestamp",
        Ok(O::SvfopCurrentRole) => "current_role",
        Ok(O::SvfopCurrentUser) => "current_user",
        Ok(O::SvfopUser) => "user",
        Ok(O::SvfopSessionUser) => "session_user",
        Ok(O::SvfopCurrentCatalog) => "current_catalog",
        Ok(O::SvfopCurrentSchema) => "current_schema",
        _ => "?column?",
    }
}
