//! CREATE, ALTER and DROP STATISTICS. Extended statistics tell PostgreSQL's planner how columns go together; SQLite plans by itself,
//! so the objects are checked and remembered for the catalogs and for dumps, and change nothing else. They are parts of their table.

use super::naming::{default_opclass, joined_columns, object_name};
use super::schema::CLASS_STATISTICS;
use super::{strings, Ddl, NodeEnum};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::typed::ExprKind;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// As messages call such an object.
const WORD: &str = "statistics object";
/// Columns and expressions of one, at most.
const MOST: usize = 8;

fn refused(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn invalid(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

impl Ddl<'_> {
    /// A statistics object by schema and name, with its table.
    fn statistics_in(&self, schema: Oid, name: &str) -> Option<(Arc<Relation>, StatisticsObject)> {
        self.catalog
            .statistics()
            .find(|(_, s)| s.schema == schema && s.name == name)
            .map(|(r, s)| (r.clone(), s.clone()))
    }

    /// The one that a name means; None: there is none. Errors: 3F000, 42601.
    fn find_statistics(&self, parts: &[&str]) -> Result<Option<(Arc<Relation>, StatisticsObject)>> {
        let (schema, name) = self.qualified(parts)?;
        if schema.is_empty() {
            return Ok(self.environment.search_path.iter().find_map(|s| self.statistics_in(*s, name)));
        }
        let oid = self
            .catalog
            .schema_oid(schema)
            .ok_or_else(|| PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist")))?;
        if let Some(schema) = self.catalog.schemas.get(&oid) {
            use pgsqlite_sql::acl::{privilege, privileges, AclObject};
            let user = self.environment.user;
            let has = privileges(&self.catalog, user, AclObject::Schema, schema.owner, schema.acl.as_ref());
            if has & privilege::USAGE == 0 {
                return Err(PgError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied for schema {}", schema.name),
                ));
            }
        }
        Ok(self.statistics_in(oid, name))
    }

    /// As [`Ddl::find_statistics`], to change it. Errors: 42704, 42501.
    fn own_statistics(&self, parts: &[&str]) -> Result<(Arc<Relation>, StatisticsObject)> {
        let found = self.find_statistics(parts)?.ok_or_else(|| {
            PgError::new(SqlState::UNDEFINED_OBJECT, format!("{WORD} \"{}\" does not exist", parts.join(".")))
        })?;
        self.check_owned(WORD, &parts.join("."), found.1.owner)?;
        Ok(found)
    }

    /// Puts a changed one into its table.
    fn put_statistics(&mut self, table: Oid, changed: StatisticsObject) -> Result<()> {
        let mut relation = (**self.required(table)?).clone();
        relation.statistics.retain(|s| s.oid != changed.oid);
        relation.statistics.push(changed);
        self.put_relation(relation)
    }

    pub(super) fn create_statistics(&mut self, statement: &ast::CreateStatsStmt) -> Result<String> {
        let tag = "CREATE STATISTICS".to_string();
        let [ast::Node { node: Some(NodeEnum::RangeVar(table)) }] = &statement.relations[..] else {
            return Err(refused("only a single relation is allowed in CREATE STATISTICS"));
        };
        let relation = self.find(table)?;
        let takes =
            matches!(relation.kind, RelationKind::Table | RelationKind::System | RelationKind::MaterializedView { .. });
        if !takes {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("cannot define statistics for relation \"{}\"", relation.name),
            )
            .detail(relation.kind.not_supported()));
        }
        self.check_owner(&relation)?;
        self.check_not_system(&relation)?;
        let parts = strings(&statement.defnames);
        let named = match &parts[..] {
            [] => None,
            parts => Some(self.qualified_new(parts)?),
        };
        let schema = match named {
            Some((schema, _)) if relation.temporary => self.creation_schema(schema, -1)?,
            Some((schema, _)) => self.lasting_schema(schema, "statistics object of a permanent table")?,
            None => relation.schema,
        };
        self.check_create(schema)?;
        if let Some((_, name)) = named {
            if self.statistics_in(schema, name).is_some() {
                let message = format!("{WORD} \"{name}\" already exists");
                if statement.if_not_exists {
                    self.notice(SqlState::DUPLICATE_OBJECT, format!("{message}, skipping"));
                    return Ok(tag);
                }
                return Err(PgError::new(SqlState::DUPLICATE_OBJECT, message));
            }
        }
        if statement.exprs.len() > MOST {
            return Err(PgError::new(
                SqlState::TOO_MANY_COLUMNS,
                format!("cannot have more than {MOST} columns in statistics"),
            ));
        }
        let made = self.statistics_of(&relation, statement)?;
        let name = match named {
            Some((_, name)) => name.to_string(),
            None => self.choose_statistics_name(&relation, schema, &made.addition),
        };
        let object = StatisticsObject {
            oid: self.new_oid(relation.temporary)?,
            schema,
            name,
            owner: self.environment.user,
            target: None,
            kinds: made.kinds,
            columns: made.columns,
            expressions: made.expressions,
        };
        let oid = object.oid;
        self.put_statistics(relation.oid, object)?;
        if !statement.stxcomment.is_empty() {
            self.set_comment(CLASS_STATISTICS, oid, 0, Some(&statement.stxcomment))?;
        }
        Ok(tag)
    }

    /// What a statement says of the columns and kinds of statistics.
    fn statistics_of(&self, relation: &Relation, statement: &ast::CreateStatsStmt) -> Result<Parts> {
        let mut parts = Parts::default();
        let mut names: Vec<String> = Vec::new();
        let several = statement.exprs.len() > 1;
        let (mut columns, mut expressions) = (Vec::new(), Vec::new());
        for node in &statement.exprs {
            work::visit();
            let Some(NodeEnum::StatsElem(element)) = &node.node else {
                return Err(PgError::internal("an element of CREATE STATISTICS"));
            };
            let column = match (&element.expr, element.name.as_str()) {
                (None, name) => {
                    let system = ["tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"];
                    if relation.column(name).is_none() && system.contains(&name) {
                        return Err(refused("statistics creation on system columns is not supported"));
                    }
                    let found = relation.column(name).ok_or_else(|| {
                        PgError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"))
                    })?;
                    self.check_no_virtual_statistics(relation, &[found.attnum])?;
                    names.push(found.name.clone());
                    found
                }
                (Some(node), _) => {
                    let (expr, text) = self.expression(node, Some(relation), None, "statistics expression")?;
                    self.check_no_virtual_statistics(relation, &self.expression_columns(&text, relation)?)?;
                    let own = match &expr.kind {
                        ExprKind::Var(v) => relation.live_columns().nth(v.column),
                        _ => None,
                    };
                    match own {
                        Some(column) => {
                            names.push(column.name.clone());
                            column
                        }
                        None => {
                            if several && default_opclass(&self.catalog, expr.ty, "btree").is_none() {
                                return Err(refused(format!(
                                    "expression cannot be used in multivariate statistics because its type {} has no default \
                                     btree operator class",
                                    self.display_type(expr.ty)
                                )));
                            }
                            names.push("expr".into());
                            expressions.push(text);
                            continue;
                        }
                    }
                }
            };
            if default_opclass(&self.catalog, column.type_oid, "btree").is_none() {
                return Err(refused(format!(
                    "column \"{}\" cannot be used in statistics because its type {} has no default btree operator class",
                    column.name,
                    self.display_type(column.type_oid)
                )));
            }
            columns.push(column.attnum);
        }
        parts.addition = joined_columns(names.iter().map(String::as_str));
        let single = expressions.len() == 1 && columns.is_empty();
        if single && !statement.stat_types.is_empty() {
            return Err(refused(
                "when building statistics on a single expression, statistics kinds may not be specified",
            ));
        }
        for kind in strings(&statement.stat_types) {
            work::visit();
            parts.kinds.push(match kind {
                "ndistinct" => 'd',
                "dependencies" => 'f',
                "mcv" => 'm',
                other => {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        format!("unrecognized statistics kind \"{other}\""),
                    ))
                }
            });
        }
        if parts.kinds.is_empty() && columns.len() + expressions.len() >= 2 {
            parts.kinds = "dfm".into();
        }
        if !expressions.is_empty() {
            parts.kinds.push('e');
        }
        // in the order in which PostgreSQL keeps them, each once
        parts.kinds = "dfme".chars().filter(|k| parts.kinds.contains(*k)).collect();
        if columns.len() + expressions.len() < 2 && !single {
            return Err(invalid("extended statistics require at least 2 columns"));
        }
        columns.sort_unstable();
        if columns.windows(2).any(|two| two[0] == two[1]) {
            return Err(PgError::new(SqlState::DUPLICATE_COLUMN, "duplicate column name in statistics definition"));
        }
        if (1..expressions.len()).any(|i| expressions[..i].contains(&expressions[i])) {
            return Err(PgError::new(SqlState::DUPLICATE_COLUMN, "duplicate expression in statistics definition"));
        }
        (parts.columns, parts.expressions) = (columns, expressions);
        Ok(parts)
    }

    /// A name that is free: `table_columns_stat`.
    fn choose_statistics_name(&self, relation: &Relation, schema: Oid, addition: &str) -> String {
        let mut label = "stat".to_string();
        let mut n = 0;
        loop {
            work::visit();
            let name = object_name(&relation.name, addition, &label);
            if self.statistics_in(schema, &name).is_none() {
                return name;
            }
            n += 1;
            label = format!("stat{n}");
        }
    }

    /// ALTER STATISTICS … SET STATISTICS
    pub(super) fn alter_statistics(&mut self, statement: &ast::AlterStatsStmt) -> Result<String> {
        let tag = "ALTER STATISTICS".to_string();
        let parts = strings(&statement.defnames);
        // (the target is looked at first)
        let target = match statement.stxstattarget.as_ref().and_then(|t| t.node.as_ref()) {
            Some(NodeEnum::Integer(n)) => n.ival,
            _ => -1,
        };
        let target = self.statistics_target(target)?;
        if statement.missing_ok && self.find_statistics(&parts).ok().flatten().is_none() {
            let message = format!("{WORD} \"{}\" does not exist, skipping", parts.last().copied().unwrap_or_default());
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            return Ok(tag);
        }
        let (table, object) = self.own_statistics(&parts)?;
        self.put_statistics(table.oid, StatisticsObject { target, ..object })?;
        Ok(tag)
    }

    pub(super) fn rename_statistics(&mut self, parts: &[&str], new: &str) -> Result<()> {
        let (table, object) = self.own_statistics(parts)?;
        self.check_statistics_free(object.schema, new)?;
        self.put_statistics(table.oid, StatisticsObject { name: new.to_string(), ..object })
    }

    pub(super) fn move_statistics(&mut self, parts: &[&str], schema: Oid) -> Result<()> {
        let (table, object) = self.own_statistics(parts)?;
        self.check_create(schema)?;
        if schema != object.schema {
            self.check_statistics_free(schema, &object.name)?;
        }
        self.put_statistics(table.oid, StatisticsObject { schema, ..object })
    }

    pub(super) fn give_statistics(&mut self, parts: &[&str], owner: Oid) -> Result<()> {
        let (table, object) = self.own_statistics(parts)?;
        self.check_new_owner(object.owner, owner, object.schema)?;
        self.put_statistics(table.oid, StatisticsObject { owner, ..object })
    }

    fn check_statistics_free(&self, schema: Oid, name: &str) -> Result<()> {
        if self.statistics_in(schema, name).is_none() {
            return Ok(());
        }
        Err(PgError::new(
            SqlState::DUPLICATE_OBJECT,
            format!("{WORD} \"{name}\" already exists in schema \"{}\"", self.catalog.schema_name(schema)),
        ))
    }

    /// The OID of one that COMMENT names. Errors: as of ALTER.
    pub(super) fn commented_statistics(&self, parts: &[&str]) -> Result<Oid> {
        self.own_statistics(parts).map(|(_, object)| object.oid)
    }

    /// None: the statement drops something else.
    pub(super) fn drop_statistics(&mut self, statement: &ast::DropStmt) -> Result<Option<String>> {
        if statement.remove_type() != ast::ObjectType::ObjectStatisticExt {
            return Ok(None);
        }
        for node in &statement.objects {
            work::visit();
            let Some(NodeEnum::List(list)) = &node.node else { return Err(PgError::internal("DROP without a name")) };
            let parts = strings(&list.items);
            let (table, object) = match self.find_statistics(&parts) {
                Ok(Some(found)) => found,
                Ok(None) if statement.missing_ok => {
                    let message = format!("{WORD} \"{}\" does not exist, skipping", parts.join("."));
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                    continue;
                }
                Err(e) if statement.missing_ok && e.code() == SqlState::UNDEFINED_SCHEMA => {
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", e.message()));
                    continue;
                }
                Err(e) => return Err(e),
                Ok(None) => {
                    self.own_statistics(&parts)?;
                    continue;
                }
            };
            // the table's owner may, too
            if !pgsqlite_sql::acl::owns(&self.catalog, self.environment.user, table.owner) {
                self.check_owned(WORD, &parts.join("."), object.owner)?;
            }
            let mut relation = (**self.required(table.oid)?).clone();
            relation.statistics.retain(|s| s.oid != object.oid);
            self.put_relation(relation)?;
            self.forget_comments(object.oid)?;
        }
        Ok(Some("DROP STATISTICS".into()))
    }

    /// LIKE … INCLUDING STATISTICS: those of the source on the new table. `renumber`: its columns' numbers there.
    pub(super) fn copy_statistics(
        &mut self,
        table: Oid,
        copied: Vec<(StatisticsObject, Option<String>)>,
    ) -> Result<()> {
        for (object, comment) in copied {
            work::visit();
            let relation = self.required(table)?.clone();
            let column = |a: &i16| relation.column_by_attnum(*a).map_or("", |c| c.name.as_str());
            let names = object.columns.iter().map(column).chain(object.expressions.iter().map(|_| "expr"));
            let name = self.choose_statistics_name(&relation, relation.schema, &joined_columns(names));
            let oid = self.new_oid(relation.temporary)?;
            let (schema, owner) = (relation.schema, self.environment.user);
            self.put_statistics(table, StatisticsObject { oid, schema, name, owner, target: None, ..object })?;
            self.set_comment(CLASS_STATISTICS, oid, 0, comment.as_deref())?;
        }
        Ok(())
    }
}

/// What a definition comes to.
#[derive(Default)]
struct Parts {
    kinds: String,
    columns: Vec<i16>,
    expressions: Vec<String>,
    /// the part of a chosen name that tells the columns
    addition: String,
}
