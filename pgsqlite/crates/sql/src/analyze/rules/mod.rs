//! Rewrite rules (manual, "The Rule System"): a data modification of a relation with rules becomes other statements.
//!
//! 1. The statement is analyzed as if there were no rules: a [`Modify`], the *source*. A view that rules replace stays a view in it.
//! 2. [`action`]: each rule's condition and commands are analyzed from their stored texts, one level below a level that has
//!    nothing but OLD and NEW.
//! 3. [`source`]: what the source has in place of OLD and NEW: its rows are those of its FROM list (the target among them, unless it
//!    is an INSERT) under its WHERE; OLD is the target's row, NEW what the source would make of it.
//! 4. [`combine`]: each command gets the source's FROM list and conditions, and the source's expressions where it names OLD and NEW.
//! 5. The results may name relations with rules themselves: they are rewritten in the same way, until there are no rules left.
//!
//! The outcome is a list of statements ([`Rewritten`]), which are carried out one after the other.

pub(crate) mod action;
mod combine;
mod source;

use super::Analyzer;
use crate::catalog::{Relation, RelationKind};
use crate::parse::{ast, NodeEnum};
use crate::routine::Event;
use crate::rule::Rule;
use crate::typed::{Modify, ModifyAction, Product, Rewritten};
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use source::Source;
use std::sync::Arc;

/// Where a statement comes from: it decides which one the command tag counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// the statement itself
    Original,
    /// DO INSTEAD
    Instead,
    /// DO ALSO
    Also,
}

/// What is known of the relations that are being rewritten: (relation, event), outermost first.
type Open = Vec<(Oid, Event)>;

/// The event of a data modification; None: MERGE.
fn event_of(modify: &Modify) -> Option<Event> {
    match modify.action {
        ModifyAction::Insert { .. } => Some(Event::Insert),
        ModifyAction::Update { .. } => Some(Event::Update),
        ModifyAction::Delete { .. } => Some(Event::Delete),
        ModifyAction::Merge { .. } => None,
    }
}

/// The relation that a data modification names, and its event.
fn named(node: &NodeEnum) -> Option<(&ast::RangeVar, Event)> {
    match node {
        NodeEnum::InsertStmt(s) => Some((s.relation.as_ref()?, Event::Insert)),
        NodeEnum::UpdateStmt(s) => Some((s.relation.as_ref()?, Event::Update)),
        NodeEnum::DeleteStmt(s) => Some((s.relation.as_ref()?, Event::Delete)),
        _ => None,
    }
}

/// Whether a view with rules for the event is changed in the ordinary way nevertheless, as the table behind it or by triggers.
fn is_changed_itself(relation: &Relation, event: Event) -> bool {
    matches!(relation.kind, RelationKind::View { .. })
        && relation.rules_for(event).next().is_some()
        && !relation.is_replaced(event)
        && !relation.has_instead_of(event)
}

impl Analyzer<'_> {
    /// INSERT, UPDATE or DELETE with the rules of the relation that it changes. Ok(Err): there are none.
    pub(super) fn with_rules(&mut self, node: &NodeEnum) -> Result<Result<Rewritten, Modify>> {
        let Some((name, event)) = named(node) else { return Err(PgError::internal("a data modification expected")) };
        let schema = Some(name.schemaname.as_str()).filter(|s| !s.is_empty());
        let view = self.relation(schema, &name.relname).filter(|r| is_changed_itself(r, event));
        let mut products = Vec::new();
        let tagged;
        match view {
            Some(view) => {
                let source = self.with_view_kept(view.oid, |a| a.modification(node))?;
                tagged = event;
                if view.rules_for(event).any(|r| r.instead) {
                    return Err(conditional_rules(&view, event));
                }
                let fired = self.fire(&source, &mut vec![(view.oid, event)])?;
                let original = self.with_rules_done(view.oid, |a| a.modification(node))?;
                let own = self.rewrite(original, Origin::Original, &mut vec![(view.oid, event)])?;
                match event {
                    Event::Insert => products.extend(own.into_iter().chain(fired.products)),
                    _ => products.extend(fired.products.into_iter().chain(own)),
                }
            }
            None => {
                let modify = self.modification(node)?;
                let event = event_of(&modify).ok_or_else(|| PgError::internal("MERGE with rules"))?;
                if modify.target.rules_for(event).next().is_none() {
                    return Ok(Err(modify));
                }
                tagged = event;
                products = self.rewrite(modify, Origin::Original, &mut Vec::new())?;
            }
        }
        let counted = products.iter().position(|(_, origin)| *origin == Origin::Original).or_else(|| {
            products.iter().rposition(
                |(p, origin)| matches!(p, Product::Modify(m) if *origin == Origin::Instead && event_of(m) == Some(tagged)),
            )
        });
        let shown = products.iter().position(|(p, _)| matches!(p, Product::Modify(m) if !m.returning.is_empty()));
        if shown.is_some() && shown != counted {
            return Err(PgError::not_supported("RETURNING of a rule's command that is not of the statement's kind"));
        }
        Ok(Ok(Rewritten { event: tagged, products: products.into_iter().map(|(p, _)| p).collect(), counted }))
    }

    /// The statement without the rules of its target.
    fn modification(&mut self, node: &NodeEnum) -> Result<Modify> {
        let modify = match node {
            NodeEnum::InsertStmt(s) => self.insert(s),
            NodeEnum::UpdateStmt(s) => self.update(s),
            NodeEnum::DeleteStmt(s) => self.delete(s),
            _ => Err(PgError::internal("a data modification expected")),
        }?;
        self.with_collations(modify)
    }

    fn with_view_kept<R>(&mut self, view: Oid, f: impl FnOnce(&mut Self) -> R) -> R {
        let around = self.kept_view.replace(view);
        let result = f(self);
        self.kept_view = around;
        result
    }

    fn with_rules_done<R>(&mut self, view: Oid, f: impl FnOnce(&mut Self) -> R) -> R {
        let around = self.rules_done.replace(view);
        let result = f(self);
        self.rules_done = around;
        result
    }

    /// What the rules of its target make of a statement.
    fn rewrite(&mut self, modify: Modify, origin: Origin, open: &mut Open) -> Result<Vec<(Product, Origin)>> {
        let Some(event) = event_of(&modify) else { return Ok(vec![(Product::Modify(modify), origin)]) };
        let target = modify.target.clone();
        if target.rules_for(event).next().is_none() {
            return Ok(vec![(Product::Modify(modify), origin)]);
        }
        if open.contains(&(target.oid, event)) {
            return Err(PgError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                format!("infinite recursion detected in rules for relation \"{}\"", target.name),
            ));
        }
        open.push((target.oid, event));
        let fired = self.fire(&modify, open);
        open.pop();
        let fired = fired?;
        if !modify.returning.is_empty() && (fired.instead || fired.rest.is_some()) && !fired.returns {
            return Err(no_returning(&target, event));
        }
        let mut products = fired.products;
        if !fired.instead {
            let own = (Product::Modify(fired.rest.unwrap_or(modify)), origin);
            match event {
                Event::Insert => products.insert(0, own),
                _ => products.push(own),
            }
        }
        Ok(products)
    }

    /// What the rules add to a statement, or do instead of it.
    fn fire(&mut self, modify: &Modify, open: &mut Open) -> Result<Fired> {
        let event = event_of(modify).ok_or_else(|| PgError::internal("MERGE with rules"))?;
        let target = modify.target.clone();
        let rules: Vec<Rule> = target.rules_for(event).cloned().collect();
        let source = Source::new(&self.env, modify, event)?;
        let mut out = Fired { products: Vec::new(), instead: false, rest: None, returns: false };
        let mut excluded = Vec::new();
        for rule in &rules {
            let condition = match &rule.condition {
                Some(text) => Some(self.rule_condition(&target, event, text)?),
                None => None,
            };
            out.instead |= rule.replaces();
            if let (true, Some(condition)) = (rule.instead, &condition) {
                excluded.push(condition.clone());
            }
            for text in &rule.actions {
                let mut command = self.rule_command(&target, event, text)?;
                let returns = matches!(&command, Product::Modify(m) if !m.returning.is_empty());
                out.returns |= returns;
                source.combine(&mut command, condition.as_ref())?;
                let origin = if rule.instead { Origin::Instead } else { Origin::Also };
                match command {
                    Product::Modify(modify) => out.products.extend(self.rewrite(modify, origin, open)?),
                    query => out.products.push((query, origin)),
                }
            }
        }
        if !excluded.is_empty() && !out.instead {
            out.rest = Some(source.but_not(&excluded)?);
        }
        let conflict = matches!(&modify.action, ModifyAction::Insert { on_conflict: Some(_), .. });
        if conflict && (!out.products.is_empty() || target.rules_for(Event::Update).next().is_some()) {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "INSERT with ON CONFLICT clause cannot be used with table that has INSERT or UPDATE rules",
            ));
        }
        Ok(out)
    }

    /// 0A000 for a data modification in WITH whose target has rules that do not come to one statement.
    pub(super) fn rules_in_with(&self, modify: &Modify) -> Result<()> {
        let Some(event) = event_of(modify) else { return Ok(()) };
        let refused = |message: &str| Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        let Some(rule) = modify.target.rules_for(event).next() else { return Ok(()) };
        if !rule.instead {
            return refused("DO ALSO rules are not supported for data-modifying statements in WITH");
        }
        if rule.condition.is_some() {
            return refused("conditional DO INSTEAD rules are not supported for data-modifying statements in WITH");
        }
        match rule.actions.len() {
            0 => refused("DO INSTEAD NOTHING rules are not supported for data-modifying statements in WITH"),
            1 => Err(PgError::not_supported("a DO INSTEAD rule for a data-modifying statement in WITH")),
            _ => refused("multi-statement DO INSTEAD rules are not supported for data-modifying statements in WITH"),
        }
    }

    /// Refuses to change a view in the ordinary way where its rules would be left out.
    pub(super) fn check_rules_of_view(&self, view: &Arc<Relation>, event: Event) -> Result<()> {
        if view.rules_for(event).next().is_some() && self.rules_done != Some(view.oid) {
            return Err(PgError::not_supported(format!(
                "{} through view \"{}\", whose rules do not replace it, from here",
                event.word(),
                view.name
            )));
        }
        Ok(())
    }
}

/// What the rules make of a statement.
struct Fired {
    products: Vec<(Product, Origin)>,
    /// the statement itself is not carried out
    instead: bool,
    /// it is, where the conditions of the DO INSTEAD rules do not hold
    rest: Option<Modify>,
    /// a command has RETURNING
    returns: bool,
}

fn conditional_rules(view: &Relation, event: Event) -> PgError {
    let (act, participle) = match event {
        Event::Insert => ("insert into", "inserting into"),
        Event::Update => ("update", "updating"),
        _ => ("delete from", "deleting from"),
    };
    let word = event.word();
    PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, format!("cannot {act} view \"{}\"", view.name))
        .detail("Views with conditional DO INSTEAD rules are not automatically updatable.")
        .hint(format!(
            "To enable {participle} the view, provide an INSTEAD OF {word} trigger or an unconditional ON {word} DO INSTEAD rule."
        ))
}

fn no_returning(target: &Relation, event: Event) -> PgError {
    let word = event.word();
    PgError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!("cannot perform {word} RETURNING on relation \"{}\"", target.name),
    )
    .hint(format!("You need an unconditional ON {word} DO INSTEAD rule with a RETURNING clause."))
}
