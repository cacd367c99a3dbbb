//! The condition and the commands of a rule, analyzed: OLD and NEW are the two entries of a level around them.
//!
//! A stored text is analyzed with its relation's owner's rights; it sees nothing of the statement that the rule rewrites.

use super::super::{Analyzer, Clause, Environment, Level};
use crate::catalog::Relation;
use crate::parse::{ast, NodeEnum};
use crate::routine::Event;
use crate::typed::{Expr, ExprKind, Product, RangeTableEntry};
use crate::walk;
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

/// OLD's entry in the level around a rule's commands; NEW's is the one after it.
pub(crate) const OLD: usize = 0;

impl Analyzer<'_> {
    /// The level that has OLD and NEW, as far as the event has them. `bare`: their columns may be named without them.
    fn rule_level(&mut self, relation: &Arc<Relation>, event: Event, bare: bool) -> Result<()> {
        self.levels.push(Level { of_rule: true, ..Level::new() });
        for (name, there) in [("old", event != Event::Insert), ("new", event != Event::Delete)] {
            let alias = ast::Alias { aliasname: name.into(), colnames: vec![] };
            let index = self.add_relation_entry(relation.clone(), Some(&alias), false)?;
            if there {
                let mut item = self.namespace_of(index, None, true);
                item.columns_visible = bare;
                self.level().namespace.push(item);
            }
        }
        Ok(())
    }

    /// Runs `f` inside the level of OLD and NEW; with it, the level's entries.
    fn in_rule<R>(
        &mut self,
        relation: &Arc<Relation>,
        event: Event,
        bare: bool,
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<(R, Vec<RangeTableEntry>)> {
        let levels = std::mem::take(&mut self.levels);
        let result = self.rule_level(relation, event, bare).and_then(|()| f(self));
        let own = std::mem::replace(&mut self.levels, levels);
        let entries = own.into_iter().next().map(|l| l.range_table).unwrap_or_default();
        Ok((result?, entries))
    }

    /// As [`Analyzer::in_rule`], for a stored text.
    fn in_stored_rule<R>(
        &mut self,
        relation: &Arc<Relation>,
        event: Event,
        bare: bool,
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let open = std::mem::replace(&mut self.parameters_open, false);
        let parameters = std::mem::take(&mut self.parameters);
        let variables = self.variables.take();
        let acting = std::mem::replace(&mut self.acting, relation.owner);
        let kept = self.kept_view.take();
        let done = self.rules_done.take();
        let written = std::mem::take(&mut self.written);
        let result = self.in_stored_text(|a| a.in_rule(relation, event, bare, f));
        self.written = written;
        self.rules_done = done;
        self.kept_view = kept;
        self.acting = acting;
        self.variables = variables;
        self.parameters = parameters;
        self.parameters_open = open;
        // positions in the rule's text are not the statement's
        result.map(|(out, _)| out).map_err(PgError::without_position)
    }

    /// A stored WHERE. OLD and NEW are one level up.
    pub(super) fn rule_condition(&mut self, relation: &Arc<Relation>, event: Event, text: &str) -> Result<Expr> {
        let node = super::super::parse_expression(text)?;
        self.in_stored_rule(relation, event, true, |a| a.condition_in_rule(&node))
    }

    fn condition_in_rule(&mut self, node: &ast::Node) -> Result<Expr> {
        self.levels.push(Level::new());
        let result = self.in_clause(Clause::Where, |a| {
            let filter = a.expr(node)?;
            a.coerce_boolean(filter, "WHERE")
        });
        self.levels.pop();
        result
    }

    /// A stored command. OLD and NEW are one level above its own.
    pub(super) fn rule_command(&mut self, relation: &Arc<Relation>, event: Event, text: &str) -> Result<Product> {
        let statements = crate::parse::parse(text)?;
        let [statement] = &statements[..] else { return Err(PgError::internal("a rule's command that is not one")) };
        self.in_stored_rule(relation, event, false, |a| a.command_in_rule(&statement.node))
    }

    fn command_in_rule(&mut self, node: &NodeEnum) -> Result<Product> {
        Ok(match node {
            NodeEnum::SelectStmt(select) => Product::Query(self.top_query(select)?),
            NodeEnum::InsertStmt(_) | NodeEnum::UpdateStmt(_) | NodeEnum::DeleteStmt(_) => {
                Product::Modify(self.modification(node)?)
            }
            NodeEnum::NotifyStmt(notify) => {
                Product::Notify { channel: notify.conditionname.clone(), payload: notify.payload.clone() }
            }
            other => {
                return Err(PgError::not_supported(format!("{} as a rule's command", crate::command::name(other))))
            }
        })
    }
}

/// 0A000 if a WITH query of a command names OLD or NEW.
fn check_with(command: &Product) -> Result<()> {
    let ctes = match command {
        Product::Query(query) => &query.ctes,
        Product::Modify(modify) => &modify.ctes,
        Product::Notify { .. } => return Ok(()),
    };
    let mut named = None;
    for cte in ctes {
        let crate::typed::CteBody::Query(query) = &cte.body else { continue };
        walk::query_exprs(query, 1, &mut |depth, e| {
            let (levels_up, rte) = match &e.kind {
                ExprKind::Var(v) => (v.levels_up, v.rte),
                ExprKind::WholeRow { levels_up, rte, .. } => (*levels_up, *rte),
                _ => return,
            };
            if levels_up == depth + 1 {
                named.get_or_insert(if rte == OLD { "OLD" } else { "NEW" });
            }
        });
    }
    match named {
        None => Ok(()),
        Some(row) => {
            Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot refer to {row} within WITH query")))
        }
    }
}

/// A rule's condition and commands as they are stored and printed: without defaults put in.
pub struct RuleTree {
    /// OLD and NEW
    pub entries: Vec<RangeTableEntry>,
    pub condition: Option<Expr>,
    pub commands: Vec<Product>,
}

/// Analyzes a rule to be stored or printed. Relations are to be those of [`crate::deparse::definitions::unexpanded`].
pub fn rule_tree(
    environment: &Environment,
    relation: &Arc<Relation>,
    event: Event,
    condition: Option<&ast::Node>,
    commands: &[NodeEnum],
) -> Result<RuleTree> {
    crate::parse::with_stack(|| {
        let mut analyzer = Analyzer::new(environment, &[], false);
        analyzer.storing = true;
        let mut entries = Vec::new();
        let condition = match condition {
            Some(node) => {
                let (condition, around) = analyzer.in_rule(relation, event, true, |a| a.condition_in_rule(node))?;
                entries = around;
                Some(condition)
            }
            None => None,
        };
        let mut out = Vec::new();
        for node in commands {
            let (command, around) = analyzer.in_rule(relation, event, false, |a| a.command_in_rule(node))?;
            entries = around;
            check_with(&command)?;
            out.push(command);
        }
        if entries.is_empty() {
            entries = analyzer.in_rule(relation, event, true, |_| Ok(()))?.1;
        }
        Ok(RuleTree { entries, condition, commands: out })
    })
}
