//! The texts of whole objects: constraints, indexes, views, as `pg_get_constraintdef` and its kin print them.

use super::{expression, quote_identifier, Names, Style};
use crate::analyze::stored_views::stored_query;
pub use crate::analyze::stored_views::{unexpanded, view_query};
use crate::analyze::{self, Environment};
use crate::builtins::catalog as builtin;
use crate::catalog::*;
use crate::parse::ast;
use crate::rule::Rule;
use crate::typed::{CastForm, Expr, ExprKind};
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result};

fn analyzed(environment: &Environment, text: &str, relation: Option<&Relation>) -> Result<Expr> {
    analyzed_node(environment, &analyze::parse_expression(text)?, relation)
}

fn analyzed_node(environment: &Environment, node: &ast::Node, relation: Option<&Relation>) -> Result<Expr> {
    let stored = Environment { search_path: crate::names::STORED_PATH, ..*environment };
    analyze::analyze_expression_to_print(&stored, node, relation, None)
}

/// A stored expression (or several, of an index) along the session's search path (`pg_get_expr`).
pub fn stored_expression(
    environment: &Environment,
    text: &str,
    relation: Option<&Relation>,
    style: Style,
) -> Result<String> {
    let names = Names::of(environment);
    // only a policy's condition may have sub-queries
    if let Some(table) = relation.filter(|r| is_policy(r, text)) {
        let catalog = unexpanded(environment.catalog);
        let stored = Environment { catalog: &catalog, search_path: crate::names::STORED_PATH, ..*environment };
        let expr = crate::analyze::analyze_policy_text_to_print(&stored, text, table)?;
        return super::policy(names, style, &expr, table);
    }
    let nodes = analyze::parse_expressions(text)?;
    let print = |node| expression(names, style, &analyzed_node(environment, node, relation)?, relation);
    Ok(nodes.iter().map(print).collect::<Result<Vec<_>>>()?.join(", "))
}

/// Whether a text is that of a policy of the table.
fn is_policy(table: &Relation, text: &str) -> bool {
    let is = |stored: &Option<String>| stored.as_deref() == Some(text);
    table.security.policies.iter().any(|p| is(&p.using) || is(&p.check))
}

/// ` WITH (name='value')`, empty without parameters.
fn with_parameters(parameters: &[String]) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let shown = parameters.iter().map(|p| {
        let (name, value) = p.split_once('=').unwrap_or((p, ""));
        let value = match quote_identifier(value) == value {
            true => value.to_string(),
            false => super::quote_literal(value),
        };
        format!("{}={value}", quote_identifier(name))
    });
    format!(" WITH ({})", shown.collect::<Vec<_>>().join(", "))
}

fn column_names(relation: &Relation, attnums: &[i16]) -> String {
    let names: Vec<String> =
        attnums.iter().filter_map(|&a| relation.column_by_attnum(a)).map(|c| quote_identifier(&c.name)).collect();
    names.join(", ")
}

/// `pg_get_constraintdef`: what stands after CONSTRAINT name.
pub fn constraint_definition(
    environment: &Environment,
    relation: &Relation,
    constraint: &Constraint,
    style: Style,
) -> Result<String> {
    let catalog = environment.catalog;
    let mut out = match &constraint.kind {
        ConstraintKind::Check { expression, no_inherit } => {
            let text = stored_expression(environment, expression, Some(relation), style)?;
            format!("CHECK ({text}){}", if *no_inherit { " NO INHERIT" } else { "" })
        }
        ConstraintKind::SqliteCheck { text } => {
            // in PostgreSQL's words, where they mean something there
            let text =
                stored_expression(environment, text, Some(relation), style).unwrap_or_else(|_| format!("({text})"));
            format!("CHECK ({text})")
        }
        ConstraintKind::PrimaryKey | ConstraintKind::Unique { .. } => {
            let word = match constraint.kind {
                ConstraintKind::PrimaryKey => "PRIMARY KEY",
                ConstraintKind::Unique { nulls_not_distinct: true } => "UNIQUE NULLS NOT DISTINCT",
                _ => "UNIQUE",
            };
            let mut out = format!("{word} ({})", column_names(relation, &constraint.columns));
            if let Some(RelationKind::Index(index)) = catalog.relation(constraint.index).map(|r| &r.kind) {
                if !index.include.is_empty() {
                    out.push_str(&format!(" INCLUDE ({})", column_names(relation, &index.include)));
                }
            }
            out
        }
        ConstraintKind::NotNull { no_inherit } => {
            let column = column_names(relation, &constraint.columns);
            format!("NOT NULL {column}{}", if *no_inherit { " NO INHERIT" } else { "" })
        }
        ConstraintKind::Exclusion if constraint.temporal.is_some() => {
            let word = if constraint.is_primary() { "PRIMARY KEY" } else { "UNIQUE" };
            let mut out = format!("{word} ({} WITHOUT OVERLAPS)", column_names(relation, &constraint.columns));
            if let Some(RelationKind::Index(index)) = catalog.relation(constraint.index).map(|r| &r.kind) {
                if !index.include.is_empty() {
                    out.push_str(&format!(" INCLUDE ({})", column_names(relation, &index.include)));
                }
            }
            out
        }
        ConstraintKind::Exclusion => {
            let index = catalog.relation(constraint.index);
            let index = index.ok_or_else(|| PgError::damaged_catalog("an exclusion constraint has no index"))?;
            index_text(environment, index, true, style)?.unwrap_or_default()
        }
        ConstraintKind::ForeignKey { references, columns, on_update, on_delete, match_full, delete_columns } => {
            let parent = catalog
                .relation(*references)
                .ok_or_else(|| PgError::internal("a foreign key to a table that is not there"))?;
            let names = Names::of(environment);
            let mut out = format!(
                "FOREIGN KEY ({}) REFERENCES {}({})",
                column_names(relation, &constraint.columns),
                names.relation(*references),
                column_names(parent, columns)
            );
            if *match_full {
                out.push_str(" MATCH FULL");
            }
            let action = |a: ForeignKeyAction| match a {
                ForeignKeyAction::NoAction => None,
                ForeignKeyAction::Restrict => Some("RESTRICT"),
                ForeignKeyAction::Cascade => Some("CASCADE"),
                ForeignKeyAction::SetNull => Some("SET NULL"),
                ForeignKeyAction::SetDefault => Some("SET DEFAULT"),
            };
            if let Some(word) = action(*on_update) {
                out.push_str(&format!(" ON UPDATE {word}"));
            }
            if let Some(word) = action(*on_delete) {
                out.push_str(&format!(" ON DELETE {word}"));
                if !delete_columns.is_empty() {
                    out.push_str(&format!(" ({})", column_names(relation, delete_columns)));
                }
            }
            out
        }
    };
    if constraint.deferrable {
        out.push_str(" DEFERRABLE");
    }
    if constraint.initially_deferred {
        out.push_str(" INITIALLY DEFERRED");
    }
    if constraint.not_enforced {
        out.push_str(" NOT ENFORCED");
    } else if constraint.not_valid {
        out.push_str(" NOT VALID");
    }
    Ok(out)
}

/// `pg_get_indexdef`; `column` from 1: only that key, 0: the whole statement. None: the relation is no index.
pub fn index_definition(
    environment: &Environment,
    relation: &Relation,
    column: usize,
    style: Style,
) -> Result<Option<String>> {
    let RelationKind::Index(index) = &relation.kind else { return Ok(None) };
    if column == 0 {
        return index_text(environment, relation, false, style);
    }
    let catalog = environment.catalog;
    let table = catalog.relation(index.table).ok_or_else(|| PgError::internal("an index without its table"))?;
    let included =
        index.include.iter().filter_map(|&a| table.column_by_attnum(a)).map(|c| Ok(quote_identifier(&c.name)));
    let keys = index.columns.iter().map(|key| Ok(key_text(environment, table, key, style)?.0));
    Ok(Some(keys.chain(included).nth(column - 1).transpose()?.unwrap_or_default()))
}

/// The columns and expressions of extended statistics, in PostgreSQL's order.
pub fn statistics_columns(environment: &Environment, table: &Relation, object: &StatisticsObject) -> Result<String> {
    let mut out: Vec<String> = Vec::new();
    for attnum in &object.columns {
        work::visit();
        let column = table.column_by_attnum(*attnum);
        out.push(quote_identifier(&column.ok_or_else(|| PgError::internal("statistics of a missing column"))?.name));
    }
    for text in &object.expressions {
        work::visit();
        let key = KeyPart::Expression(text.clone());
        out.push(key_part_text(environment, table, &key, Style::Pretty)?.0);
    }
    Ok(out.join(", "))
}

/// CREATE STATISTICS
pub fn statistics_definition(environment: &Environment, table: &Relation, object: &StatisticsObject) -> Result<String> {
    let schema = environment.catalog.schema_name(object.schema);
    let mut out = format!("CREATE STATISTICS {}.{}", quote_identifier(schema), quote_identifier(&object.name));
    let words = [('d', "ndistinct"), ('f', "dependencies"), ('m', "mcv")];
    let kinds: Vec<&str> = words.iter().filter(|(k, _)| object.kinds.contains(*k)).map(|(_, word)| *word).collect();
    if kinds.len() < words.len() && object.columns.len() + object.expressions.len() > 1 {
        out += &format!(" ({})", kinds.join(", "));
    }
    let columns = statistics_columns(environment, table, object)?;
    Ok(format!("{out} ON {columns} FROM {}", Names::of(environment).relation(table.oid)))
}

/// A key of an index without its options; its type, and the collation that it has by itself (0: that of its type).
fn key_text(
    environment: &Environment,
    table: &Relation,
    key: &IndexColumn,
    style: Style,
) -> Result<(String, Oid, Oid)> {
    key_part_text(environment, table, &key.key, style)
}

fn key_part_text(
    environment: &Environment,
    table: &Relation,
    key: &KeyPart,
    style: Style,
) -> Result<(String, Oid, Oid)> {
    match key {
        KeyPart::Column(attnum) => {
            let column =
                table.column_by_attnum(*attnum).ok_or_else(|| PgError::internal("an index on a missing column"))?;
            Ok((quote_identifier(&column.name), column.type_oid, column.collation))
        }
        KeyPart::Expression(text) => {
            let expr = analyzed(environment, text, Some(table))?;
            let names = Names::of(environment);
            // its COLLATE is the key's
            let (expr, own) = match expr.kind {
                ExprKind::Cast { arg, form: CastForm::Collate, .. } => (*arg, 0),
                _ => {
                    let own = expr.collation;
                    (expr, own)
                }
            };
            let printed = expression(names, style, &expr, Some(table))?;
            let call = matches!(
                expr.kind,
                ExprKind::Func { .. }
                    | ExprKind::Coalesce(_)
                    | ExprKind::SqlJson { .. }
                    | ExprKind::Greatest(_)
                    | ExprKind::Least(_)
                    | ExprKind::NullIf { .. }
                    | ExprKind::Cast { form: CastForm::Syntax | CastForm::Keyword(_), .. }
            );
            Ok((if call { printed } else { format!("({printed})") }, expr.ty, own))
        }
    }
}

/// The whole definition of an index: CREATE INDEX, or EXCLUDE of the `constraint` that it is of. None: the relation is no index.
fn index_text(
    environment: &Environment,
    relation: &Relation,
    constraint: bool,
    style: Style,
) -> Result<Option<String>> {
    let RelationKind::Index(index) = &relation.kind else { return Ok(None) };
    if index.is_named_only() {
        return Ok(None);
    }
    let catalog = environment.catalog;
    let table = catalog.relation(index.table).ok_or_else(|| PgError::internal("an index without its table"))?;
    let mut keys: Vec<String> = Vec::new();
    for (i, key) in index.columns.iter().enumerate() {
        work::visit();
        let (mut text, ty, own_collation) = key_text(environment, table, key, style)?;
        let default = match catalog.type_entry(catalog.base_type(ty)) {
            _ if own_collation != 0 => own_collation,
            Some(TypeEntry::Builtin(t)) => t.collation,
            _ => key.collation,
        };
        if key.collation != 0 && key.collation != default {
            let names = Names::of(environment);
            text.push_str(&format!(" COLLATE {}", names.collation(key.collation).unwrap_or_default()));
        }
        if key.opclass_explicit {
            if let Some(class) = builtin::operator_class_by_oid(key.opclass) {
                text.push(' ');
                text.push_str(&prefix_unless_visible(environment, class.oid));
                text.push_str(&quote_identifier(class.name));
            }
        }
        text.push_str(match (key.descending, key.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        });
        if let (true, Some(operator)) = (constraint, index.exclusion.get(i)) {
            let name = builtin::operator_by_oid(*operator).map_or("", |o| o.name.as_str());
            let schema = prefix_unless_visible(environment, *operator);
            text.push_str(&match schema.is_empty() {
                true => format!(" WITH {name}"),
                false => format!(" WITH OPERATOR({schema}{name})"),
            });
        }
        keys.push(text);
    }
    let names = Names::of(environment);
    let table_name = if style == Style::Pretty {
        names.relation(table.oid)
    } else {
        format!("{}.{}", quote_identifier(catalog.schema_name(table.schema)), quote_identifier(&table.name))
    };
    let mut out = match constraint {
        true => format!("EXCLUDE USING {} ({})", quote_identifier(&index.method), keys.join(", ")),
        false => format!(
            "CREATE {}INDEX {} ON {}{table_name} USING {} ({})",
            if index.unique || environment.catalog.temporal_key(relation.oid, index).is_some() {
                "UNIQUE "
            } else {
                ""
            },
            quote_identifier(&relation.name),
            // (the indexes of its partitions are definitions of their own)
            if table.is_partitioned() { "ONLY " } else { "" },
            quote_identifier(&index.method),
            keys.join(", ")
        ),
    };
    if !index.include.is_empty() {
        out.push_str(&format!(" INCLUDE ({})", column_names(table, &index.include)));
    }
    if index.nulls_not_distinct {
        out.push_str(" NULLS NOT DISTINCT");
    }
    out.push_str(&with_parameters(&relation.storage.parameters));
    if let Some(predicate) = &index.predicate {
        let text = stored_expression(environment, predicate, Some(table), style)?;
        out.push_str(&if constraint { format!(" WHERE ({text})") } else { format!(" WHERE {text}") });
    }
    Ok(Some(out))
}

/// `schema.` of an extension's operator or operator class that the session does not see without it.
fn prefix_unless_visible(environment: &Environment, oid: Oid) -> String {
    let catalog = environment.catalog;
    match catalog.schema_of_builtin(oid) {
        Some(schema) if schema != PG_CATALOG && !environment.search_path.contains(&schema) => {
            format!("{}.", quote_identifier(catalog.schema_name(schema)))
        }
        _ => String::new(),
    }
}

/// `pg_get_viewdef`, with the final `;`. None: the relation is no view of ours.
pub fn view_definition(environment: &Environment, view: Oid, style: Style) -> Result<Option<String>> {
    let Some(relation) = environment.catalog.relation(view) else { return Ok(None) };
    let printed = stored_query(environment, relation, analyze::analyze_query_to_print)?;
    let Some(query) = printed else { return Ok(None) };
    let names = Names::of(environment);
    Ok(Some(format!("{};", super::query(names, style, &query)?)))
}

/// A stored rule, analyzed. `catalog`: the [`unexpanded`] one that the environment's objects are in.
pub fn rule_tree(
    environment: &Environment,
    catalog: &Catalog,
    relation: Oid,
    rule: &Rule,
) -> Result<analyze::RuleTree> {
    let relation =
        catalog.relation(relation).ok_or_else(|| PgError::internal("a rule of a relation that is not there"))?;
    let stored = Environment { catalog, search_path: crate::names::STORED_PATH, user: BOOTSTRAP_ROLE, ..*environment };
    let condition = match &rule.condition {
        Some(text) => Some(analyze::parse_expression(text)?),
        None => None,
    };
    let mut commands = Vec::new();
    for text in &rule.actions {
        work::visit();
        commands.extend(crate::parse::parse(text)?.into_iter().map(|s| s.node));
    }
    analyze::rule_tree(&stored, relation, rule.event, condition.as_ref(), &commands)
}

/// `pg_get_ruledef` of a rule that is not a view's.
pub fn rule_definition(environment: &Environment, relation: Oid, rule: &Rule, style: Style) -> Result<String> {
    let catalog = unexpanded(environment.catalog);
    let tree = rule_tree(environment, &catalog, relation, rule)?;
    let path = if style == Style::Pretty { environment.search_path } else { &[] };
    let shown = Names::new(environment.catalog, path).relation(relation);
    let names = Names::of(environment);
    super::modify::rule_statement(names, style, &rule.name, &shown, rule.event.word(), rule.instead, &tree)
}

/// `pg_get_constraintdef` of a domain's constraint: `CHECK (… VALUE …)`.
pub fn domain_constraint(
    environment: &Environment,
    check: &DomainConstraint,
    base: Oid,
    style: Style,
) -> Result<String> {
    if check.forbids_null() {
        return Ok("NOT NULL".into());
    }
    let stored = Environment { search_path: crate::names::STORED_PATH, ..*environment };
    let expr = analyze::analyze_domain_check_to_print(&stored, &check.expression, base)?;
    let names = Names::of(environment);
    let not_valid = if check.not_valid { " NOT VALID" } else { "" };
    Ok(format!("CHECK ({}){not_valid}", expression(names, style, &expr, None)?))
}

/// A trigger's WHEN condition over the rows `old` and `new` of its table, as `pg_get_triggerdef` prints it.
pub fn trigger_condition(
    environment: &Environment,
    relation: &Relation,
    condition: &str,
    style: Style,
) -> Result<String> {
    let stored = Environment { search_path: crate::names::STORED_PATH, ..*environment };
    let table = super::Names::stored(environment.catalog).relation(relation.oid);
    printed_condition(&stored, super::Names::of(environment), &table, condition, style)
}

/// As [`trigger_condition`], of a text as the client wrote it: its names are looked up along the search path.
pub fn condition_text(environment: &Environment, table: &str, condition: &str, style: Style) -> Result<String> {
    printed_condition(environment, super::Names::stored(environment.catalog), table, condition, style)
}

/// As [`trigger_condition`], of a stored text that is stored anew: read with `environment`, written with `names`.
pub fn condition_anew(environment: &Environment, names: Names, relation: &Relation, condition: &str) -> Result<String> {
    let table = super::Names::stored(environment.catalog).relation(relation.oid);
    printed_condition(environment, names, &table, condition, Style::Full)
}

fn printed_condition(
    environment: &Environment,
    names: super::Names,
    table: &str,
    condition: &str,
    style: Style,
) -> Result<String> {
    let query = condition_query(environment, table, condition, true)?;
    if query.columns.first().is_some_and(|c| c.ty != pgsqlite_types::oid::BOOL) {
        return Err(PgError::new(pgsqlite_types::SqlState::DATATYPE_MISMATCH, "argument of WHEN must be type boolean"));
    }
    let printed = super::query(names, style, &query)?;
    let body = printed.trim_start().strip_prefix("SELECT").unwrap_or_default();
    let end = body
        .find(&format!(" AS {CONDITION_MARK}"))
        .ok_or_else(|| PgError::internal("a condition that is not printed"))?;
    Ok(body[..end].trim_matches(' ').to_string())
}

/// What the query behind a trigger's condition calls the condition.
const CONDITION_MARK: &str = "pg_condition";

/// A trigger's condition as the only column of a query.
fn condition_query(
    environment: &Environment,
    table: &str,
    condition: &str,
    print: bool,
) -> Result<crate::typed::Query> {
    let text = format!("SELECT ({condition}) AS {CONDITION_MARK} FROM {table} AS old, {table} AS new");
    let statements = crate::parse::parse(&text)?;
    let Some(crate::parse::NodeEnum::SelectStmt(select)) = statements.first().map(|s| &s.node) else {
        return Err(PgError::internal("a condition that is none"));
    };
    match print {
        true => crate::analyze::analyze_query_to_print(environment, select),
        false => crate::analyze::analyze_query(environment, select),
    }
}

/// What a trigger's stored WHEN condition names beside its own table. `environment`: that of stored texts.
pub fn condition_references(
    environment: &Environment,
    relation: &Relation,
    condition: &str,
) -> Result<Vec<super::Reference>> {
    let table = super::Names::stored(environment.catalog).relation(relation.oid);
    let mut found = super::query_references(&condition_query(environment, &table, condition, false)?);
    found.retain(|r| r.class != super::CLASS_RELATION || r.object != relation.oid);
    Ok(found)
}
