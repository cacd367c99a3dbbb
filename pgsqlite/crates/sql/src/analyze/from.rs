//! FROM: range table entries, joins, and the namespace in which columns are looked up.

use super::typename::name_parts;
use super::{entry, relation_columns, var, Analyzer, Clause};
use crate::catalog::{Relation, RelationKind};
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, ExprKind, FromItem, JoinKind, RteColumn, RteKind, TableFunction};
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

    fn from_item(&mut self, node: &ast::Node) -> Result<(FromItem, Vec<NamespaceItem>)> {
        match node.node.as_ref() {
            Some(NodeEnum::RangeVar(r)) => self.range_var(r),
            Some(NodeEnum::RangeSubselect(s)) => self.range_subselect(s),
            Some(NodeEnum::RangeFunction(f)) => self.range_function(f),
            Some(NodeEnum::JoinExpr(j)) => self.join(j),
            Some(NodeEnum::RangeTableSample(s)) => self.table_sample(s),
            Some(NodeEnum::RangeTableFunc(f)) => Err(PgError::not_supported("XMLTABLE").at(f.location)),
            Some(NodeEnum::JsonTable(f)) => Err(PgError::not_supported("JSON_TABLE").at(f.location)),
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
        self.check_privilege_of(self.acting, relation, needed)
    }

    /// The same for another role.
    pub(super) fn check_privilege_of(&self, role: Oid, relation: &Relation, needed: u32) -> Result<()> {
        let catalog = self.env.catalog;
        if crate::acl::is_superuser(catalog, role) || catalog.roles.is_empty() {
            return Ok(());
        }
        let denied =
            |what: String| PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for {what}"));
        if crate::acl::schema_privileges(catalog, role, relation.schema) & crate::acl::privilege::USAGE == 0 {
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
        result.map_err(|mut e| {
            // positions in the view's text are not the statement's
            e.fields_mut().location = None;
            e
        })
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
        let item = self.namespace_of(rte, None, true);
        Ok(Some((FromItem::Entry(rte), vec![item])))
    }

    fn range_subselect(&mut self, s: &ast::RangeSubselect) -> Result<(FromItem, Vec<NamespaceItem>)> {
        let node = s.subquery.as_deref().ok_or_else(|| PgError::internal("a sub-select without a query"))?;
        let Some(NodeEnum::SelectStmt(select)) = &node.node else {
            return Err(PgError::internal("SELECT expected in FROM"));
        };
        let alias = s.alias.as_ref();
        if alias.is_none() {
            // PostgreSQL 15's grammar demands one
            let what = if select.values_lists.is_empty() {
                "subquery in FROM must have an alias"
            } else {
                "VALUES in FROM must have an alias"
            };
            let hint = if select.values_lists.is_empty() {
                "For example, FROM (SELECT ...) [AS] foo."
            } else {
                "For example, FROM (VALUES ...) [AS] foo."
            };
            return Err(PgError::new(SqlState::SYNTAX_ERROR, what).hint(hint));
        }
        self.locks_next = alias.is_some_and(|a| self.level().locks(&a.aliasname));
        let mut query = self.from_query(select, s.lateral)?;
        self.resolve_unknown_columns(&mut query)?;
        let mut columns = query.columns.clone();
        for column in &mut columns {
            column.attnum = 0;
        }
        let name = alias.map_or(String::new(), |a| a.aliasname.clone());
        rename_columns(&mut columns, alias, &name)?;
        let level = self.level();
        level.range_table.push(entry(
            RteKind::Subquery { query: Box::new(query), lateral: s.lateral },
            name,
            true,
            columns,
        ));
        let index = level.range_table.len() - 1;
        let item = self.namespace_of(index, None, true);
        Ok((FromItem::Entry(index), vec![item]))
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

    fn range_function(&mut self, f: &ast::RangeFunction) -> Result<(FromItem, Vec<NamespaceItem>)> {
        let mut functions = Vec::new();
        let mut columns: Vec<RteColumn> = Vec::new();
        let mut first_name = String::new();
        // functions in FROM are LATERAL by nature
        let saved: Vec<bool> = self.level().namespace.iter().map(|i| i.lateral_only).collect();
        for item in &mut self.level().namespace {
            item.lateral_only = !item.lateral_ok;
        }
        let single = f.functions.len() == 1;
        let result = (|| {
            for node in &f.functions {
                let Some(NodeEnum::List(pair)) = &node.node else {
                    return Err(PgError::internal("function list expected"));
                };
                let call_node = &pair.items[0];
                let own_definitions = match pair.items.get(1) {
                    Some(ast::Node { node: Some(NodeEnum::List(defs)) }) => &defs.items[..],
                    _ => &[],
                };
                let definitions =
                    if own_definitions.is_empty() && single { &f.coldeflist[..] } else { own_definitions };
                let name = match &call_node.node {
                    Some(NodeEnum::FuncCall(c)) => {
                        name_parts(&c.funcname).last().map(|s| s.to_string()).unwrap_or_default()
                    }
                    Some(NodeEnum::SqlvalueFunction(v)) => sql_value_name(v.op).to_string(),
                    _ => super::select::column_name(call_node),
                };
                // unnest(a, b, …) is ROWS FROM (unnest(a), unnest(b), …)
                let calls: Vec<ast::Node> = match &call_node.node {
                    Some(NodeEnum::FuncCall(c)) if name == "unnest" && c.args.len() > 1 => c
                        .args
                        .iter()
                        .map(|arg| ast::Node {
                            node: Some(NodeEnum::FuncCall(Box::new(ast::FuncCall {
                                args: vec![arg.clone()],
                                ..(**c).clone()
                            }))),
                        })
                        .collect(),
                    _ => vec![call_node.clone()],
                };
                for call in &calls {
                    let expr = self.in_clause(Clause::FromFunction, |a| a.expr(call))?;
                    let expr = self.resolve_unknown(expr)?;
                    let (function, new) =
                        self.table_function(expr, &name, calls.len() == 1 && single, f.alias.as_ref(), definitions)?;
                    functions.push(function);
                    columns.extend(new);
                }
                if first_name.is_empty() {
                    first_name = name;
                }
            }
            Ok(())
        })();
        for (item, was) in self.level().namespace.iter_mut().zip(saved) {
            item.lateral_only = was;
        }
        result?;
        if f.ordinality {
            columns.push(plain_column("ordinality", oid::INT8, -1));
        }
        let name = f.alias.as_ref().map_or(first_name, |a| a.aliasname.clone());
        rename_columns(&mut columns, f.alias.as_ref(), &name)?;
        let uses_others =
            |f: &TableFunction| crate::walk::any(&f.call, &|e| matches!(&e.kind, ExprKind::Var(v) if v.levels_up == 0));
        let lateral = f.lateral || functions.iter().any(uses_others);
        let level = self.level();
        level.range_table.push(entry(
            RteKind::Function { functions, ordinality: f.ordinality, lateral },
            name,
            f.alias.is_some(),
            columns,
        ));
        let index = level.range_table.len() - 1;
        let item = self.namespace_of(index, None, true);
        Ok((FromItem::Entry(index), vec![item]))
    }

    /// A function in FROM with its columns: those of its definition list, its OUT parameters, the fields of its composite
    /// type, or one column named after the alias or the function.
    fn table_function(
        &mut self,
        call: Expr,
        name: &str,
        single: bool,
        alias: Option<&ast::Alias>,
        definitions: &[ast::Node],
    ) -> Result<(TableFunction, Vec<RteColumn>)> {
        let location = call.location;
        let outs = match &call.kind {
            ExprKind::SetFunc { proc, args, .. } | ExprKind::Func { proc, args, .. } => {
                super::out_columns(self.env.catalog, *proc, args)
            }
            _ => vec![],
        };
        let anonymous = call.ty == oid::RECORD && outs.is_empty();
        if !definitions.is_empty() {
            if !anonymous {
                let what = if outs.len() > 1 {
                    "a column definition list is redundant for a function with OUT parameters"
                } else {
                    "a column definition list is only allowed for functions returning \"record\""
                };
                return Err(PgError::new(SqlState::SYNTAX_ERROR, what).at(first_location(definitions)));
            }
            return self.defined_function(call, definitions);
        }
        if anonymous {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                "a column definition list is required for functions returning \"record\"",
            )
            .at(location));
        }
        if outs.len() > 1 {
            let columns: Vec<RteColumn> = outs.iter().map(|(name, ty)| plain_column(name, *ty, -1)).collect();
            // a set gives arrays of columns, a single call a record
            let as_record = !matches!(call.kind, ExprKind::SetFunc { .. });
            return Ok((TableFunction { call, width: columns.len(), as_record, defined_names: vec![] }, columns));
        }
        if let Some(fields) = self.env.catalog.composite_fields(call.ty) {
            let columns: Vec<RteColumn> = fields.iter().map(|(n, ty, m)| plain_column(n, *ty, *m)).collect();
            return Ok((TableFunction { call, width: columns.len(), as_record: true, defined_names: vec![] }, columns));
        }
        // a single OUT column takes the alias's name unless it has one of its own
        let own = match &outs[..] {
            [(n, _)] if !n.is_empty() => Some(n.as_str()),
            _ => None,
        };
        let column = match (own, alias) {
            (Some(own), _) => own,
            (None, Some(a)) if single => a.aliasname.as_str(),
            _ => name,
        };
        let mut collated = call.clone();
        self.assign_collation(&mut collated)?;
        let column = RteColumn { collation: collated.collation, ..plain_column(column, call.ty, call.typmod) };
        Ok((TableFunction { call, width: 1, as_record: false, defined_names: vec![] }, vec![column]))
    }

    /// `f(…) AS t(a int, b text)`: of the built-in functions, json_to_record and its like.
    fn defined_function(&mut self, call: Expr, definitions: &[ast::Node]) -> Result<(TableFunction, Vec<RteColumn>)> {
        let mut columns = Vec::new();
        for node in definitions {
            let Some(NodeEnum::ColumnDef(def)) = &node.node else {
                return Err(PgError::internal("column definition expected"));
            };
            let name = def.type_name.as_ref().ok_or_else(|| PgError::internal("a column without a type"))?;
            let (ty, typmod) = self.type_name(name)?;
            if columns.iter().any(|c: &RteColumn| c.name == def.colname) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column name \"{}\" specified more than once", def.colname),
                )
                .at(def.location));
            }
            columns.push(plain_column(&def.colname, ty, typmod));
        }
        let defined_names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
        let (ExprKind::SetFunc { proc, args, .. } | ExprKind::Func { proc, args, .. }) = &call.kind else {
            return Err(PgError::not_supported("a column definition list here").at(call.location));
        };
        if let Some(f) = self.env.catalog.function(*proc) {
            // the types that the query expects are checked when the rows come: they go with the arguments
            debug_assert!(f.returns == oid::RECORD);
            let expected: Vec<String> = columns.iter().map(|c| format!("{}:{}", c.ty, c.typmod)).collect();
            let mut args = args.clone();
            let text = pgsqlite_types::Datum::Text(expected.join(","));
            args.push(Expr::new(ExprKind::Const(text), oid::TEXT, -1));
            let kind = ExprKind::SetFunc { proc: *proc, args, variadic: false };
            let call = Expr { kind, ..call };
            return Ok((TableFunction { call, width: columns.len(), as_record: true, defined_names }, columns));
        }
        // of a record that is NULL the list alone says what the columns are
        let (proc, args) = match (*proc, &args[..]) {
            (3960, [null, json, ..]) if is_null(null) => (3204, vec![json.clone()]),
            (3961, [null, json, ..]) if is_null(null) => (3205, vec![json.clone()]),
            (3209, [null, json]) if is_null(null) => (3490, vec![json.clone()]),
            (3475, [null, json]) if is_null(null) => (3491, vec![json.clone()]),
            (proc, _) => (proc, args.clone()),
        };
        if !JSON_TO_RECORD.contains(&proc) {
            return Err(PgError::not_supported("a column definition list of this function").at(call.location));
        }
        // what the columns are goes to the function as a text: [["name", type, typmod], …]
        let definitions: Vec<(&str, Oid, i32)> = columns.iter().map(|c| (c.name.as_str(), c.ty, c.typmod)).collect();
        let text = serde_json::to_string(&definitions).map_err(|e| PgError::internal(e.to_string()))?;
        let mut args = args;
        args.push(Expr::new(ExprKind::Const(pgsqlite_types::Datum::Text(text)), oid::TEXT, -1));
        let kind = ExprKind::SetFunc { proc, args, variadic: false };
        let call = Expr { kind, ..call };
        Ok((TableFunction { call, width: columns.len(), as_record: true, defined_names }, columns))
    }

    fn join(&mut self, j: &ast::JoinExpr) -> Result<(FromItem, Vec<NamespaceItem>)> {
        let kind = match ast::JoinType::try_from(j.jointype) {
            Ok(ast::JoinType::JoinInner) => JoinKind::Inner,
            Ok(ast::JoinType::JoinLeft) => JoinKind::Left,
            Ok(ast::JoinType::JoinRight) => JoinKind::Right,
            Ok(ast::JoinType::JoinFull) => JoinKind::Full,
            _ => return Err(PgError::internal("unknown kind of join")),
        };
        let larg = j.larg.as_deref().ok_or_else(|| PgError::internal("a join without a left side"))?;
        let rarg = j.rarg.as_deref().ok_or_else(|| PgError::internal("a join without a right side"))?;
        let (left, left_ns) = self.from_item(larg)?;
        // the left side is visible to LATERAL items on the right
        let before = self.level().namespace.len();
        let lateral_ok = matches!(kind, JoinKind::Inner | JoinKind::Left);
        for item in &left_ns {
            let mut item = item.clone();
            item.lateral_only = true;
            item.lateral_ok = lateral_ok;
            self.level().namespace.push(item);
        }
        let (right, right_ns) = self.from_item(rarg)?;
        self.level().namespace.truncate(before);
        for r in &right_ns {
            if left_ns.iter().any(|l| {
                l.table_visible
                    && r.table_visible
                    && l.alias == r.alias
                    && !(l.qualified.is_some() && r.qualified.is_some() && l.qualified != r.qualified)
            }) {
                return Err(duplicate_alias(&r.alias, rarg));
            }
        }

        let visible = |ns: &[NamespaceItem]| -> Vec<(String, Expr)> {
            ns.iter().filter(|i| i.columns_visible).flat_map(|i| i.columns.clone()).collect()
        };
        let (left_columns, right_columns) = (visible(&left_ns), visible(&right_ns));
        let mut using: Vec<String> = name_parts(&j.using_clause).into_iter().map(String::from).collect();
        if j.is_natural {
            using = left_columns
                .iter()
                .map(|(n, _)| n.clone())
                .filter(|n| right_columns.iter().any(|(r, _)| r == n))
                .collect();
        }
        let mut conditions = Vec::new();
        let mut merged: Vec<(String, Expr)> = Vec::new();
        for name in &using {
            let side = |columns: &[(String, Expr)], which: &str| -> Result<Expr> {
                let mut found = columns.iter().filter(|(n, _)| n == name);
                let first = found.next().ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{name}\" specified in USING clause does not exist in {which} table"),
                    )
                })?;
                if found.next().is_some() {
                    return Err(PgError::new(
                        SqlState::AMBIGUOUS_COLUMN,
                        format!("common column name \"{name}\" appears more than once in {which} table"),
                    ));
                }
                Ok(first.1.clone())
            };
            let l = side(&left_columns, "left")?;
            let r = side(&right_columns, "right")?;
            conditions.push(self.operator("=", Some(l.clone()), r.clone(), -1)?);
            let common = self.common_type(&[&l, &r], "JOIN/USING")?;
            // of an inner join's two columns the one that needs no conversion is taken, the left one first
            let typmod = if l.typmod == r.typmod { l.typmod } else { -1 };
            let as_it_is = |e: &Expr| e.ty == common && e.typmod == typmod;
            let take_right = !as_it_is(&l) && as_it_is(&r);
            let (l, r) =
                (self.coerce_to_common(l, common, "JOIN/USING")?, self.coerce_to_common(r, common, "JOIN/USING")?);
            merged.push((
                name.clone(),
                match kind {
                    JoinKind::Inner | JoinKind::Cross if take_right => r,
                    JoinKind::Inner | JoinKind::Left | JoinKind::Cross => l,
                    JoinKind::Right => r,
                    JoinKind::Full => Expr::new(ExprKind::Coalesce(vec![l, r]), common, -1),
                },
            ));
        }
        let rest =
            |columns: Vec<(String, Expr)>| columns.into_iter().filter(|(n, _)| !using.contains(n)).collect::<Vec<_>>();
        let mut columns = merged.clone();
        columns.extend(rest(left_columns));
        columns.extend(rest(right_columns));

        let mut namespace: Vec<NamespaceItem> = left_ns.into_iter().chain(right_ns).collect();
        let on = match &j.quals {
            Some(quals) => {
                // ON sees both sides (and outer queries), nothing before them in FROM
                let level = self.level();
                let mark = level.namespace.len();
                level.namespace.extend(namespace.iter().cloned());
                let on = self.in_clause(Clause::JoinOn, |a| a.expr(quals));
                self.level().namespace.truncate(mark);
                Some(self.coerce_boolean(on?, "JOIN/ON")?)
            }
            None => conditions.into_iter().reduce(|a, b| Expr::new(ExprKind::And(vec![a, b]), oid::BOOL, -1)),
        };
        let cross = on.is_none() && kind == JoinKind::Inner;

        let join_alias = j.alias.as_ref();
        let mut own_entry = None;
        if self.storing {
            own_entry = Some(self.join_entry(join_alias, &mut columns, &mut merged)?);
        }
        if let Some(alias) = &j.join_using_alias {
            if namespace.iter().any(|i| i.table_visible && i.alias == alias.aliasname) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("table name \"{}\" specified more than once", alias.aliasname),
                ));
            }
            namespace.push(NamespaceItem {
                alias: alias.aliasname.clone(),
                qualified: None,
                rte: None,
                columns: merged,
                table_visible: true,
                columns_visible: false,
                lateral_only: false,
                lateral_ok: true,
            });
        }
        if let Some(alias) = join_alias {
            let names = name_parts(&alias.colnames);
            if names.len() > columns.len() {
                return Err(PgError::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!(
                        "join expression \"{}\" has {} columns available but {} columns specified",
                        alias.aliasname,
                        columns.len(),
                        names.len()
                    ),
                ));
            }
            for (column, name) in columns.iter_mut().zip(names) {
                column.0 = name.to_string();
            }
            // an alias hides the sides
            namespace.clear();
        }
        for item in &mut namespace {
            item.columns_visible = false;
        }
        namespace.push(NamespaceItem {
            alias: join_alias.map_or(String::new(), |a| a.aliasname.clone()),
            qualified: None,
            rte: None,
            columns,
            table_visible: join_alias.is_some(),
            columns_visible: true,
            lateral_only: false,
            lateral_ok: true,
        });
        let item = FromItem::Join {
            kind: if cross { JoinKind::Cross } else { kind },
            left: Box::new(left),
            right: Box::new(right),
            on,
            using,
            using_alias: j.join_using_alias.as_ref().map(|a| a.aliasname.clone()),
            entry: own_entry,
        };
        Ok((item, namespace))
    }

    /// The entry of a join in a tree that is printed. Its columns stand for those of its sides where it has an alias, and where a merged
    /// column is neither side's.
    fn join_entry(
        &mut self,
        alias: Option<&ast::Alias>,
        columns: &mut [(String, Expr)],
        merged: &mut [(String, Expr)],
    ) -> Result<usize> {
        let name = alias.map_or(String::new(), |a| a.aliasname.clone());
        let made =
            |(name, e): &(String, Expr)| RteColumn { collation: e.collation, ..plain_column(name, e.ty, e.typmod) };
        let mut own: Vec<RteColumn> = columns.iter().map(made).collect();
        rename_columns(&mut own, alias, &name)?;
        let kind = RteKind::Join { columns: columns.iter().map(|(_, e)| e.clone()).collect() };
        let level = self.level();
        level.range_table.push(entry(kind, name, alias.is_some(), own.clone()));
        let index = level.range_table.len() - 1;
        for (i, (_, e)) in columns.iter_mut().enumerate() {
            if alias.is_some() || !matches!(e.kind, ExprKind::Var(_)) {
                *e = var(0, index, i, &own[i], -1);
                if let Some(merged) = merged.get_mut(i) {
                    merged.1 = e.clone();
                }
            }
        }
        Ok(index)
    }

    // --- look-ups ----------------------------------------------------------------------------------------------------

    /// A column reference: `c`, `t.c`, `s.t.c`, or a whole row `t`.
    pub(crate) fn column_ref(&mut self, c: &ast::ColumnRef) -> Result<Expr> {
        if c.fields.len() > 1 && matches!(c.fields.last().and_then(|f| f.node.as_ref()), Some(NodeEnum::AStar(_))) {
            // `t.*` inside an expression: the whole row
            let parts = name_parts(&c.fields[..c.fields.len() - 1]);
            let (schema, table) = match parts[..] {
                [table] => (None, table),
                [schema, table] => (Some(schema), table),
                _ => return Err(PgError::not_supported("a whole row of another database").at(c.location)),
            };
            return match self.find_item(schema, table, c.location)? {
                Some((levels_up, index)) => self.whole_row(levels_up, index, c.location),
                None => Err(self.missing_table(schema, table, c.location)),
            };
        }
        if c.fields.iter().any(|f| matches!(f.node, Some(NodeEnum::AStar(_)))) {
            return Err(
                PgError::new(SqlState::SYNTAX_ERROR, "row expansion via \"*\" is not supported here").at(c.location)
            );
        }
        let parts = name_parts(&c.fields);
        match parts[..] {
            [name] => {
                if let Some(expr) = self.bare_column(name, c.location)? {
                    return Ok(expr);
                }
                if let Some(expr) = self.bare_system_column(name, c.location)? {
                    return Ok(expr);
                }
                if let Some((levels_up, index)) = self.find_item(None, name, c.location)? {
                    return self.whole_row(levels_up, index, c.location);
                }
                Err(self.missing_column(None, name, c.location))
            }
            [table, name] => self.qualified_column(None, table, name, c.location),
            [schema, table, name] => self.qualified_column(Some(schema), table, name, c.location),
            [database, schema, table, name] if self.env.catalog.is_database(database) => {
                self.qualified_column(Some(schema), table, name, c.location)
            }
            _ => Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                format!("improper qualified name (too many dotted names): {}", parts.join(".")),
            )
            .at(c.location)),
        }
    }

    fn bare_column(&mut self, name: &str, location: i32) -> Result<Option<Expr>> {
        let depth = self.levels.len();
        for up in 0..depth {
            let level = &self.levels[depth - 1 - up];
            let mut found: Option<(Expr, bool)> = None;
            for item in level.namespace.iter().filter(|i| i.columns_visible) {
                for (_, expr) in item.columns.iter().filter(|(n, _)| n == name) {
                    if item.lateral_only && up == 0 {
                        continue;
                    }
                    if item.lateral_only {
                        continue;
                    }
                    if found.is_some() {
                        return Err(PgError::new(
                            SqlState::AMBIGUOUS_COLUMN,
                            format!("column reference \"{name}\" is ambiguous"),
                        )
                        .at(location));
                    }
                    found = Some((expr.clone(), true));
                }
            }
            if let Some((expr, _)) = found {
                return Ok(Some(raise(&expr, up, location)));
            }
        }
        Ok(None)
    }

    /// The namespace item of a table name: (levels up, index). 42P09/42712-like ambiguity and LATERAL misuse are told.
    fn find_item(&self, schema: Option<&str>, table: &str, location: i32) -> Result<Option<(usize, usize)>> {
        let depth = self.levels.len();
        let schema_oid = match schema {
            None => None,
            Some(s) => match self.env.catalog.schema_oid(s).or(match s {
                "pg_catalog" => Some(crate::catalog::PG_CATALOG),
                "information_schema" => Some(crate::catalog::INFORMATION_SCHEMA),
                _ => None,
            }) {
                Some(oid) => Some(oid),
                None => return Ok(None),
            },
        };
        for up in 0..depth {
            let level = &self.levels[depth - 1 - up];
            let mut found = None;
            for (i, item) in level.namespace.iter().enumerate().filter(|(_, i)| i.table_visible) {
                let fits = match schema_oid {
                    Some(schema) => item.qualified.as_ref().is_some_and(|(s, n)| *s == schema && n == table),
                    None => item.alias == table,
                };
                if !fits {
                    continue;
                }
                if item.lateral_only {
                    let message = format!("invalid reference to FROM-clause entry for table \"{table}\"");
                    return Err(if item.lateral_ok || level.changes && item.rte == Some(0) {
                        let code = match item.lateral_ok {
                            true => SqlState::UNDEFINED_TABLE,
                            false => SqlState::INVALID_COLUMN_REFERENCE,
                        };
                        PgError::new(code, message).hint(format!(
                            "There is an entry for table \"{table}\", but it cannot be referenced from this part of the \
                             query."
                        ))
                    } else {
                        PgError::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                            .detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
                    }
                    .at(location));
                }
                if found.is_some() {
                    return Err(PgError::new(
                        SqlState::AMBIGUOUS_ALIAS,
                        format!("table reference \"{table}\" is ambiguous"),
                    )
                    .at(location));
                }
                found = Some((up, i));
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    pub(super) fn item(&self, levels_up: usize, index: usize) -> &NamespaceItem {
        &self.levels[self.levels.len() - 1 - levels_up].namespace[index]
    }

    fn qualified_column(&mut self, schema: Option<&str>, table: &str, name: &str, location: i32) -> Result<Expr> {
        let Some((up, index)) = self.find_item(schema, table, location)? else {
            return Err(self.missing_table(schema, table, location));
        };
        let item = self.item(up, index);
        let mut found = item.columns.iter().filter(|(n, _)| n == name);
        match (found.next(), found.next()) {
            (Some((_, expr)), None) => Ok(raise(expr, up, location)),
            (Some(_), Some(_)) => {
                Err(PgError::new(SqlState::AMBIGUOUS_COLUMN, format!("column reference \"{name}\" is ambiguous"))
                    .at(location))
            }
            (None, _) => {
                if let Some(expr) = self.system_column(up, index, name, location)? {
                    return Ok(expr);
                }
                if !self.functions_named(None, name).is_empty() && self.item(up, index).rte.is_some() {
                    let row = self.whole_row(up, index, location)?;
                    if let Some(call) = self.function_as_column(row, name, location)? {
                        return Ok(call);
                    }
                }
                Err(self.missing_column(Some(table), name, location))
            }
        }
    }

    /// 42703, with the hint that PostgreSQL gives: columns spelled alike, or one that is out of sight.
    pub(crate) fn missing_column(&self, table: Option<&str>, name: &str, location: i32) -> PgError {
        let message = match table {
            Some(table) => format!("column {table}.{name} does not exist"),
            None => format!("column \"{name}\" does not exist"),
        };
        let error = PgError::new(SqlState::UNDEFINED_COLUMN, message).at(location);
        match super::spelling::look_for(&self.levels, table, name) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    fn missing_table(&self, schema: Option<&str>, table: &str, location: i32) -> PgError {
        // a table that is there under an alias
        let hidden = self.levels.iter().rev().flat_map(|l| &l.range_table).find(|r| {
            schema.is_none() && r.has_alias && matches!(&r.kind, RteKind::Relation(rel) if rel.name == table)
        });
        if let Some(hidden) = hidden {
            return PgError::new(
                SqlState::UNDEFINED_TABLE,
                format!("invalid reference to FROM-clause entry for table \"{table}\""),
            )
            .hint(format!("Perhaps you meant to reference the table alias \"{}\".", hidden.alias))
            .at(location);
        }
        let hidden = self.levels.iter().rev().flat_map(|l| &l.range_table).any(|r| r.alias == table);
        if hidden {
            return PgError::new(
                SqlState::UNDEFINED_TABLE,
                format!("invalid reference to FROM-clause entry for table \"{table}\""),
            )
            .hint(format!(
                "There is an entry for table \"{table}\", but it cannot be referenced from this part of the query."
            ))
            .at(location);
        }
        let name = schema.map_or(table.to_string(), |s| format!("{s}.{table}"));
        PgError::new(SqlState::UNDEFINED_TABLE, format!("missing FROM-clause entry for table \"{name}\"")).at(location)
    }

    fn whole_row(&mut self, levels_up: usize, index: usize, location: i32) -> Result<Expr> {
        let item = self.item(levels_up, index);
        let Some(rte) = item.rte else {
            return Err(PgError::not_supported("a whole-row reference to a join").at(location));
        };
        let entry = &self.levels[self.levels.len() - 1 - levels_up].range_table[rte];
        // a function that gives one column of a plain type: its alias is that column
        if let (RteKind::Function { ordinality: false, .. }, [only]) = (&entry.kind, &entry.columns[..]) {
            return Ok(var(levels_up, rte, 0, only, location));
        }
        // a function that gives rows of a named type
        if let RteKind::Function { ordinality: false, functions, .. } = &entry.kind {
            if let [TableFunction { call, .. }] = &functions[..] {
                let named = self.env.catalog.composite_fields(call.ty);
                if let Some(named) = named.filter(|n| call.ty != oid::RECORD && n.len() == entry.columns.len()) {
                    let fields = named.into_iter().map(|(name, ty, _)| (name, ty)).collect();
                    return Ok(Expr::new(ExprKind::WholeRow { levels_up, rte, fields }, call.ty, location));
                }
            }
        }
        let ty = match &entry.kind {
            RteKind::Relation(r) if r.row_type != 0 => r.row_type,
            _ => match entry.row_type {
                0 => oid::RECORD,
                view => view,
            },
        };
        // (without ctid and its like)
        let shown = entry.columns.iter().filter(|c| c.attnum >= 0);
        let fields = shown.map(|c| (c.name.clone(), c.ty)).collect();
        Ok(Expr::new(ExprKind::WholeRow { levels_up, rte, fields }, ty, location))
    }

    /// The columns of a whole-row reference.
    pub(crate) fn whole_row_fields(&self, levels_up: usize, rte: usize, location: i32) -> Vec<Expr> {
        let entry = &self.levels[self.levels.len() - 1 - levels_up].range_table[rte];
        let shown = entry.columns.iter().enumerate().filter(|(_, c)| c.attnum >= 0);
        shown.map(|(i, c)| var(levels_up, rte, i, c, location)).collect()
    }

    /// `(t).column`
    pub(crate) fn column_of(&self, levels_up: usize, rte: usize, name: &str, location: i32) -> Result<Expr> {
        let entry = &self.levels[self.levels.len() - 1 - levels_up].range_table[rte];
        match entry.columns.iter().position(|c| c.name == name) {
            Some(i) => Ok(var(levels_up, rte, i, &entry.columns[i], location)),
            None => {
                Err(PgError::new(SqlState::UNDEFINED_COLUMN, format!("column {}.{name} does not exist", entry.alias))
                    .at(location))
            }
        }
    }

    /// `*`, `t.*`, `s.t.*`: the columns with their names.
    pub(crate) fn expand_star(&mut self, c: &ast::ColumnRef) -> Result<Vec<(String, Expr)>> {
        if let Some(fields) = self.variable_fields(c)? {
            return Ok(fields);
        }
        let parts = name_parts(&c.fields);
        let (schema, table) = match parts[..] {
            [] => {
                let level = self.levels.last().expect("inside a level");
                let items: Vec<&NamespaceItem> =
                    level.namespace.iter().filter(|i| i.columns_visible && !i.lateral_only).collect();
                if items.is_empty() {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, "SELECT * with no tables specified is not valid")
                        .at(c.location));
                }
                return Ok(items
                    .iter()
                    .flat_map(|i| i.columns.iter().map(|(n, e)| (n.clone(), raise(e, 0, c.location))))
                    .collect());
            }
            [table] => (None, table),
            [schema, table] => (Some(schema), table),
            _ => return Err(PgError::not_supported("a star with a database").at(c.location)),
        };
        let found = match self.find_item(schema, table, c.location) {
            Err(_) if self.fields_of_parameter(&parts, c.location)?.is_some() => None,
            found => found?,
        };
        let Some((up, index)) = found else {
            if let Some(fields) = self.fields_of_parameter(&parts, c.location)? {
                return Ok(fields);
            }
            return Err(self.missing_table(schema, table, c.location));
        };
        Ok(self.item(up, index).columns.iter().map(|(n, e)| (n.clone(), raise(e, up, c.location))).collect())
    }
}

/// json_to_record, json_to_recordset, jsonb_to_record, jsonb_to_recordset
pub(crate) const JSON_TO_RECORD: &[Oid] = &[3204, 3205, 3490, 3491];

fn first_location(definitions: &[ast::Node]) -> i32 {
    match definitions.first().and_then(|n| n.node.as_ref()) {
        Some(NodeEnum::ColumnDef(def)) => def.location,
        _ => -1,
    }
}

/// A namespace expression seen from `up` levels further in, at a place in the statement.
fn raise(expr: &Expr, up: usize, location: i32) -> Expr {
    let mut out = crate::walk::map(expr, &mut |e| match &e.kind {
        ExprKind::Var(v) if up > 0 => {
            let mut e = e.clone();
            e.kind = ExprKind::Var(crate::typed::Var { levels_up: v.levels_up + up, ..*v });
            Some(e)
        }
        _ => None,
    });
    out.location = location;
    out
}

fn duplicate_alias(alias: &str, node: &ast::Node) -> PgError {
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

fn is_null(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Const(pgsqlite_types::Datum::Null))
}
