//! CREATE RULE, DROP RULE, ALTER RULE … RENAME, ALTER TABLE … ENABLE and DISABLE RULE. A rule is stored with its relation, with the texts
//! of its condition and commands; an ON SELECT rule makes its relation a view.

use super::dependencies::{kind_word, Object};
use super::{Ddl, NodeEnum};
use pgsqlite_metadata::store::names::CatalogNames;
use pgsqlite_sql::analyze::{self, Environment, RuleTree};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{self, definitions, Names, Style};
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::routine::Event;
use pgsqlite_sql::rule::Rule;
use pgsqlite_sql::typed::{Product, Query, QueryBody};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// The name of the rule that a view is.
pub(super) const VIEW_RULE: &str = "_RETURN";

fn invalid(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

fn unsupported(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

impl Ddl<'_> {
    pub(super) fn create_rule(&mut self, s: &ast::RuleStmt) -> Result<String> {
        let tag = "CREATE RULE".to_string();
        let name = s.relation.as_ref().ok_or_else(|| PgError::internal("a rule without a relation"))?;
        let relation = self.find(name)?;
        if matches!(relation.kind, RelationKind::MaterializedView { .. }) {
            return Err(unsupported("rules on materialized views are not supported"));
        }
        let commands: Vec<NodeEnum> = s.actions.iter().filter_map(|n| n.node.clone()).collect();
        let event = match s.event() {
            ast::CmdType::CmdInsert => Event::Insert,
            ast::CmdType::CmdUpdate => Event::Update,
            ast::CmdType::CmdDelete => Event::Delete,
            ast::CmdType::CmdSelect => {
                self.check_may_have_rules(&relation)?;
                self.create_view_rule(s, &relation, &commands)?;
                return Ok(tag);
            }
            _ => return Err(PgError::internal("a rule without an event")),
        };
        let catalog = definitions::unexpanded(&self.catalog);
        let tree = self.rule_tree_of_statement(&catalog, &relation, event, s.where_clause.as_deref(), &commands)?;
        check_commands(&tree)?;
        self.check_may_have_rules(&relation)?;
        self.check_returning(&tree, &relation, s.instead)?;
        if s.rulename == VIEW_RULE {
            return Err(invalid(format!("non-view rule for \"{}\" must not be named \"{VIEW_RULE}\"", relation.name)));
        }
        let names = Names::stored(&self.catalog);
        let condition = deparse::modify::rule_condition(names, Style::Full, &tree)?;
        let actions = deparse::modify::rule_commands(names, Style::Full, &tree)?;
        let actions: Vec<String> = actions.into_iter().map(|text| text.trim().to_string()).collect();
        #[cfg(debug_assertions)]
        if super::stored_texts::compares() {
            self.compare_rule(&catalog, &relation, event, &condition, &actions);
        }
        let mut rules = relation.rules.clone();
        let old = rules.iter().position(|r| r.name == s.rulename);
        if old.is_some() && !s.replace {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("rule \"{}\" for relation \"{}\" already exists", s.rulename, relation.name),
            ));
        }
        let (oid, enabled) = match old.map(|at| rules.remove(at)) {
            Some(old) => (old.oid, old.enabled),
            None => (self.new_oid(relation.temporary)?, b'O'),
        };
        rules.push(Rule { oid, name: s.rulename.clone(), event, instead: s.instead, condition, actions, enabled });
        rules.sort_by(|a, b| a.name.cmp(&b.name));
        self.put_relation(Relation { rules, ..(*relation).clone() })?;
        Ok(tag)
    }

    /// A rule of the statement. Errors have its positions.
    fn rule_tree_of_statement(
        &self,
        catalog: &Catalog,
        relation: &Relation,
        event: Event,
        condition: Option<&ast::Node>,
        commands: &[NodeEnum],
    ) -> Result<RuleTree> {
        let search_path = self.environment.search_path;
        let names = CatalogNames { catalog, search_path };
        // what the commands may do is checked when they are carried out, with the owner's rights; schemas are looked into now
        let rights = analyze::Rights::AskedAtUse;
        let environment = Environment { catalog, search_path, names: &names, rights, ..self.environment };
        let relation = catalog.relation(relation.oid).ok_or_else(|| PgError::internal("a rule of no relation"))?;
        analyze::rule_tree(&environment, relation, event, condition, commands)
    }

    fn check_may_have_rules(&self, relation: &Relation) -> Result<()> {
        self.check_not_system(relation)?;
        if !matches!(relation.kind, RelationKind::Table | RelationKind::View { .. }) {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("relation \"{}\" cannot have rules", relation.name),
            )
            .detail(format!("This operation is not supported for {}.", plural(&relation.kind))));
        }
        self.check_owner(relation)
    }

    /// RETURNING: in one command of an unconditional DO INSTEAD rule, with the relation's columns.
    fn check_returning(&self, tree: &RuleTree, relation: &Relation, instead: bool) -> Result<()> {
        let mut seen = false;
        for command in &tree.commands {
            work::visit();
            let Product::Modify(modify) = command else { continue };
            if modify.returning.is_empty() {
                continue;
            }
            if seen {
                return Err(unsupported("cannot have multiple RETURNING lists in a rule"));
            }
            seen = true;
            if tree.condition.is_some() {
                return Err(unsupported("RETURNING lists are not supported in conditional rules"));
            }
            if !instead {
                return Err(unsupported("RETURNING lists are not supported in non-INSTEAD rules"));
            }
            let columns: Vec<(String, Oid, i32)> =
                modify.returning.iter().map(|t| (t.name.clone(), t.expr.ty, t.expr.typmod)).collect();
            self.check_rule_result(&columns, relation, false)?;
        }
        Ok(())
    }

    /// The outputs of an ON SELECT rule, or of RETURNING, against the relation's columns. Errors: 42P17.
    fn check_rule_result(&self, outputs: &[(String, Oid, i32)], relation: &Relation, select: bool) -> Result<()> {
        let (list, entry, short) = match select {
            true => ("SELECT rule's target list", "SELECT rule's target entry", "SELECT target entry"),
            false => ("RETURNING list", "RETURNING list's entry", "RETURNING list entry"),
        };
        let names = Names::new(&self.catalog, self.environment.search_path);
        for (i, (name, ty, typmod)) in outputs.iter().enumerate() {
            work::visit();
            let Some(column) = relation.columns.get(i) else {
                return Err(invalid(format!("{list} has too many entries")));
            };
            let number = i + 1;
            if column.dropped {
                return Err(unsupported(match select {
                    true => "cannot convert relation containing dropped columns to view",
                    false => "cannot create a RETURNING list for a relation containing dropped columns",
                }));
            }
            if select && column.name != *name {
                let message = format!("{entry} {number} has different column name from column \"{}\"", column.name);
                return Err(invalid(message).detail(format!("SELECT target entry is named \"{name}\".")));
            }
            let (own, wanted) = (names.type_name(*ty, -1), names.type_name(column.type_oid, -1));
            if *ty != column.type_oid {
                let message = format!("{entry} {number} has different type from column \"{}\"", column.name);
                return Err(invalid(message).detail(format!("{short} has type {own}, but column has type {wanted}.")));
            }
            if *typmod != column.typmod && *typmod != -1 && column.typmod != -1 {
                let message = format!("{entry} {number} has different size from column \"{}\"", column.name);
                let (own, wanted) = (names.type_name(*ty, *typmod), names.type_name(*ty, column.typmod));
                return Err(invalid(message).detail(format!("{short} has type {own}, but column has type {wanted}.")));
            }
        }
        if outputs.len() < relation.columns.len() {
            return Err(invalid(format!("{list} has too few entries")));
        }
        Ok(())
    }

    /// ON SELECT: the view becomes one of the query.
    fn create_view_rule(&mut self, s: &ast::RuleStmt, relation: &Relation, commands: &[NodeEnum]) -> Result<()> {
        let RelationKind::View { options, .. } = &relation.kind else {
            let message = format!("relation \"{}\" cannot have ON SELECT rules", relation.name);
            let error = PgError::new(SqlState::WRONG_OBJECT_TYPE, message);
            return Err(error.detail(match relation.is_partitioned() {
                true => "This operation is not supported for partitioned tables.",
                false => relation.kind.not_supported(),
            }));
        };
        let select = match commands {
            [NodeEnum::SelectStmt(select)] if s.instead => select,
            [] | [_] => return Err(unsupported("rules on SELECT must have action INSTEAD SELECT")),
            _ => return Err(unsupported("multiple actions for rules on SELECT are not implemented")),
        };
        if s.where_clause.is_some() {
            return Err(unsupported("event qualifications are not implemented for rules on SELECT"));
        }
        let query =
            self.analyze_view_query(&self.catalog, select, self.environment.search_path, analyze::Rights::AskedAtUse)?;
        let outputs: Vec<(String, Oid, i32)> = query.columns.iter().map(|c| (c.name.clone(), c.ty, c.typmod)).collect();
        self.check_rule_result(&outputs, relation, true)?;
        if !s.replace {
            return Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("\"{}\" is already a view", relation.name),
            ));
        }
        if s.rulename != VIEW_RULE && s.rulename != format!("_RET{}", relation.name) {
            return Err(invalid(format!("view rule for \"{}\" must be named \"{VIEW_RULE}\"", relation.name)));
        }
        let definition = deparse::query(Names::stored(&self.catalog), Style::Full, &query)?;
        let kind = RelationKind::View { definition, options: options.clone() };
        self.put_relation(Relation { kind, ..relation.clone() })
    }

    /// Notes a rule whose stored texts are not what was written.
    #[cfg(debug_assertions)]
    fn compare_rule(
        &self,
        catalog: &Catalog,
        relation: &Relation,
        event: Event,
        condition: &Option<String>,
        actions: &[String],
    ) {
        let names = CatalogNames { catalog, search_path: deparse::names::STORED_PATH };
        let environment = Environment { catalog, names: &names, ..self.environment };
        let rule = Rule {
            oid: 0,
            name: String::new(),
            event,
            instead: false,
            enabled: b'O',
            condition: condition.clone(),
            actions: actions.to_vec(),
        };
        // (a rule's commands are no statements that could be lowered: printed again, they are the same)
        let printed = definitions::rule_tree(&environment, catalog, relation.oid, &rule).and_then(|tree| {
            let names = Names::stored(&self.catalog);
            let commands = deparse::modify::rule_commands(names, Style::Full, &tree)?;
            let commands: Vec<String> = commands.into_iter().map(|text| text.trim().to_string()).collect();
            Ok((deparse::modify::rule_condition(names, Style::Full, &tree)?, commands))
        });
        let written = Ok((condition.clone(), actions.to_vec()));
        super::stored_texts::compare("rule", &actions.join("; "), written, printed);
    }

    /// The rules of a relation, analyzed over another state of the catalog ([`definitions::unexpanded`]).
    pub(super) fn rule_trees(&self, catalog: &Catalog, relation: &Relation) -> Result<Vec<(Oid, RuleTree)>> {
        let names = CatalogNames { catalog, search_path: deparse::names::STORED_PATH };
        let environment = Environment { catalog, names: &names, ..self.environment };
        let tree = |rule: &Rule| Ok((rule.oid, definitions::rule_tree(&environment, catalog, relation.oid, rule)?));
        relation.rules.iter().map(tree).collect()
    }

    /// DROP RULE; None: not one of rules, or one of them is not there.
    pub(super) fn drop_rule(&mut self, statement: &ast::DropStmt) -> Result<Option<String>> {
        if statement.remove_type() != ast::ObjectType::ObjectRule {
            return Ok(None);
        }
        let mut targets = Vec::new();
        for node in &statement.objects {
            work::visit();
            let Some((relation, name)) = self.part_of_relation(node)? else { return Ok(None) };
            let of_view = matches!(relation.kind, RelationKind::View { .. } | RelationKind::MaterializedView { .. });
            if name == VIEW_RULE && of_view {
                self.check_owner_of_part(&relation)?;
                let described = self.describe(Object::Relation(relation.oid));
                return Err(PgError::new(
                    SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                    format!("cannot drop rule {name} on {described} because {described} requires it"),
                )
                .hint(format!("You can drop {described} instead.")));
            }
            let Some(rule) = relation.rules.iter().find(|r| r.name == name) else { return Ok(None) };
            self.check_owner_of_part(&relation)?;
            targets.push(Object::Rule(relation.oid, rule.oid));
        }
        self.drop_objects(&targets, statement.behavior() == ast::DropBehavior::DropCascade)?;
        Ok(Some("DROP RULE".into()))
    }

    /// ALTER RULE … RENAME TO
    pub(super) fn rename_rule(&mut self, statement: &ast::RenameStmt) -> Result<()> {
        let name = statement.relation.as_ref().ok_or_else(|| PgError::internal("a rule without a relation"))?;
        let relation = self.find(name)?;
        self.check_may_have_rules(&relation)?;
        let (old, new) = (&statement.subname, &statement.newname);
        let is_view = matches!(relation.kind, RelationKind::View { .. });
        let missing = || no_rule(old, &relation);
        let mut changed = (*relation).clone();
        if !(is_view && old == VIEW_RULE || changed.rules.iter().any(|r| r.name == *old)) {
            return Err(missing());
        }
        if changed.rules.iter().any(|r| r.name == *new) || is_view && new == VIEW_RULE {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("rule \"{new}\" for relation \"{}\" already exists", relation.name),
            ));
        }
        let Some(rule) = changed.rules.iter_mut().find(|r| r.name == *old) else {
            return Err(invalid("renaming an ON SELECT rule is not allowed"));
        };
        rule.name.clone_from(new);
        changed.rules.sort_by(|a, b| a.name.cmp(&b.name));
        self.put_relation(changed)
    }

    /// ALTER TABLE … ENABLE, DISABLE … RULE
    pub(super) fn set_rule(&mut self, relation: &Relation, name: &str, enabled: u8) -> Result<()> {
        let mut new = relation.clone();
        if name == VIEW_RULE && matches!(relation.kind, RelationKind::View { .. }) {
            return Err(PgError::not_supported("switching the rule that a view is"));
        }
        let rule = new.rules.iter_mut().find(|r| r.name == name).ok_or_else(|| no_rule(name, relation))?;
        rule.enabled = enabled;
        self.put_relation(new)
    }

    /// The OID of a rule for COMMENT ON.
    pub(super) fn rule_oid(&self, relation: &Relation, name: &str) -> Result<Oid> {
        let of_view = matches!(relation.kind, RelationKind::View { .. } | RelationKind::MaterializedView { .. });
        if name == VIEW_RULE && of_view {
            return Ok(crate::pg_catalog::view_rule(relation.oid));
        }
        relation.rules.iter().find(|r| r.name == name).map(|r| r.oid).ok_or_else(|| no_rule(name, relation))
    }
}

fn no_rule(name: &str, relation: &Relation) -> PgError {
    PgError::new(
        SqlState::UNDEFINED_OBJECT,
        format!("rule \"{name}\" for relation \"{}\" does not exist", relation.name),
    )
}

fn plural(kind: &RelationKind) -> &'static str {
    match kind {
        RelationKind::Index(_) => "indexes",
        RelationKind::Sequence(_) => "sequences",
        RelationKind::MaterializedView { .. } => "materialized views",
        other if kind_word(other) == "view" => "views",
        _ => "tables",
    }
}

/// What PostgreSQL does not take as a rule's commands.
fn check_commands(tree: &RuleTree) -> Result<()> {
    for command in &tree.commands {
        work::visit();
        match command {
            Product::Notify { .. } if tree.condition.is_some() => {
                return Err(invalid(
                    "rules with WHERE conditions can only have SELECT, INSERT, UPDATE, or DELETE actions",
                ))
            }
            Product::Query(query) if tree.condition.is_some() && is_set_operation(query) => {
                return Err(unsupported("conditional UNION/INTERSECT/EXCEPT statements are not implemented"))
            }
            Product::Query(_) | Product::Notify { .. } => {}
            Product::Modify(modify) => {
                if modify.target.oid < oid::FIRST_USER_OID {
                    return Err(PgError::not_supported("a rule's command on a system catalog"));
                }
            }
        }
    }
    Ok(())
}

fn is_set_operation(query: &Query) -> bool {
    matches!(query.body, QueryBody::SetOperation { .. })
}
