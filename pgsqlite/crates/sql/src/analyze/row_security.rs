//! Row-level security: which rows a role may see, and what the rows that it writes must satisfy (manual, "Row Security Policies").
//!
//! A table with policies stands for a query of the rows that they let through; a changed table gets their conditions into its
//! WHERE, and [`RowCheck`]s for its new rows. Policies are the table's, the privileges inside them those of whoever runs the query.

use super::view_target::both;
use super::{Analyzer, Clause, Environment, Level};
use crate::acl;
use crate::catalog::{Policy, PolicyCommand, Relation, RelationKind};
use crate::parse::ast;
use crate::typed::{
    Expr, ExprKind, FromItem, Query, QueryBody, RowCheck, RowCheckOf, RteKind, SecuredChange, Select, Target,
};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// Whether the policies of a table count for a role. Errors: 42501 if they do while `row_security` is off.
fn counts(environment: &Environment, role: Oid, relation: &Relation) -> Result<bool> {
    if !acl::policies_apply(environment.catalog, role, relation) {
        return Ok(false);
    }
    if environment.settings.row_security {
        return Ok(true);
    }
    let error = PgError::new(
        SqlState::INSUFFICIENT_PRIVILEGE,
        format!("query would be affected by row-level security policy for table \"{}\"", relation.name),
    );
    Err(match acl::owns(environment.catalog, role, relation.owner) {
        true => error.hint("To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY."),
        false => error,
    })
}

/// Whether the policies of a table count for the environment's role. Errors: 42501 if they do while `row_security` is off.
pub fn row_security_counts(environment: &Environment, relation: &Relation) -> Result<bool> {
    counts(environment, environment.user, relation)
}

/// A policy's condition over its table (entry 0), from a parsed node. Errors as of PostgreSQL's CREATE POLICY.
pub fn analyze_policy(environment: &Environment, node: &ast::Node, relation: &Relation) -> Result<Expr> {
    policy(environment, node, relation, false)
}

/// As [`analyze_policy`], of a condition that is printed or stored as text (see [`super::analyze_query_to_print`]).
pub fn analyze_policy_to_print(environment: &Environment, node: &ast::Node, relation: &Relation) -> Result<Expr> {
    policy(environment, node, relation, true)
}

fn policy(environment: &Environment, node: &ast::Node, relation: &Relation, storing: bool) -> Result<Expr> {
    let analyzed = crate::parse::with_stack(|| {
        let mut analyzer = Analyzer::new(environment, &[], false);
        analyzer.storing = storing;
        analyzer.policy_condition(node, relation)
    });
    analyzed.map_err(|mut e| {
        let message = e.message().replace("are not allowed in WHERE", "are not allowed in policy expressions");
        e.fields_mut().message = message;
        e
    })
}

/// As [`analyze_policy`], of a stored text.
pub fn analyze_policy_text(environment: &Environment, text: &str, relation: &Relation) -> Result<Expr> {
    analyze_policy(&environment.for_stored_text(), &super::parse_expression(text)?, relation)
}

/// As [`analyze_policy_to_print`], of a stored text.
pub fn analyze_policy_text_to_print(environment: &Environment, text: &str, relation: &Relation) -> Result<Expr> {
    analyze_policy_to_print(&environment.for_stored_text(), &super::parse_expression(text)?, relation)
}

fn falsehood() -> Expr {
    Expr::new(ExprKind::Const(Datum::Int(0)), oid::BOOL, -1)
}

fn any_of(mut list: Vec<Expr>) -> Expr {
    match list.len() {
        0 => falsehood(),
        1 => list.remove(0),
        _ => Expr::new(ExprKind::Or(list), oid::BOOL, -1),
    }
}

impl Analyzer<'_> {
    fn policy_condition(&mut self, node: &ast::Node, relation: &Relation) -> Result<Expr> {
        let around = std::mem::replace(&mut self.levels, vec![Level::new()]);
        let open = std::mem::replace(&mut self.parameters_open, false);
        let parameters = std::mem::take(&mut self.parameters);
        let result = self.add_relation_entry(Arc::new(relation.clone()), None, true).and_then(|_| {
            let condition = self.in_clause(Clause::Where, |a| a.expr(node))?;
            self.coerce_boolean(condition, "POLICY")
        });
        self.parameters = parameters;
        self.parameters_open = open;
        self.levels = around;
        result
    }

    /// Whether the policies of a table count for the acting role.
    pub(super) fn is_secured(&self, relation: &Relation) -> Result<bool> {
        Ok(relation.kind == RelationKind::Table && counts(&self.env, self.acting, relation)?)
    }

    /// The policies for a command (permissive ones and restrictive ones by name) that are the acting role's.
    fn policies(&self, relation: &Relation, command: PolicyCommand) -> (Vec<Policy>, Vec<Policy>) {
        let roles = acl::inherited_roles(self.env.catalog, self.acting);
        let mine = |p: &&Policy| {
            (p.command == command || p.command == PolicyCommand::All)
                && p.roles.iter().any(|r| *r == acl::PUBLIC_ROLE || roles.contains(r))
        };
        let mut found: Vec<Policy> = relation.security.policies.iter().filter(mine).cloned().collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.into_iter().partition(|p| p.permissive)
    }

    fn policy_text(&mut self, text: &str, relation: &Relation) -> Result<Expr> {
        if self.policies_in.contains(&relation.oid) {
            return Err(PgError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                format!("infinite recursion detected in policy for relation \"{}\"", relation.name),
            ));
        }
        self.policies_in.push(relation.oid);
        let written = std::mem::take(&mut self.written);
        let node = super::parse_expression(text);
        let result = node.and_then(|node| self.in_stored_text(|a| a.policy_condition(&node, relation)));
        self.written = written;
        self.policies_in.pop();
        result.map(|mut expr| {
            super::clear_locations(&mut expr);
            expr
        })
    }

    /// The condition for the rows of a table that a command may see, over the table as entry 0.
    fn visible(&mut self, relation: &Relation, command: PolicyCommand) -> Result<Expr> {
        let (permissive, restrictive) = self.policies(relation, command);
        let mut using = Vec::new();
        for text in permissive.iter().map(|p| p.using.as_deref().unwrap_or("true")) {
            using.push(self.policy_text(text, relation)?);
        }
        let mut all = None;
        for text in restrictive.iter().filter_map(|p| p.using.as_deref()) {
            all = both(all, Some(self.policy_text(text, relation)?));
        }
        both(all, Some(any_of(using))).ok_or_else(|| PgError::internal("no condition"))
    }

    /// What new rows must satisfy; `reads`: only that they can be seen.
    fn demands(&mut self, relation: &Relation, command: PolicyCommand, reads: bool) -> Result<Vec<RowCheck>> {
        let (permissive, restrictive) = self.policies(relation, command);
        let text = |p: &Policy| match (reads, &p.check) {
            (false, Some(check)) => Some(check.clone()),
            _ => p.using.clone(),
        };
        let of = |policy: Option<String>| RowCheckOf::Policy { table: relation.name.clone(), policy };
        let mut any = Vec::new();
        for policy in &permissive {
            let text = text(policy).unwrap_or_else(|| "true".into());
            any.push(self.policy_text(&text, relation)?);
        }
        let mut checks = vec![RowCheck { condition: any_of(any), of: of(None) }];
        for policy in &restrictive {
            if let Some(text) = text(policy) {
                let condition = self.policy_text(&text, relation)?;
                checks.push(RowCheck { condition, of: of(Some(policy.name.clone())) });
            }
        }
        Ok(checks)
    }

    /// The condition that UPDATE and DELETE get. `selects`: the statement reads the table's columns, too.
    pub(super) fn secured_filter(
        &mut self,
        relation: &Relation,
        command: PolicyCommand,
        selects: bool,
    ) -> Result<Option<Expr>> {
        if !self.is_secured(relation)? {
            return Ok(None);
        }
        let own = self.visible(relation, command)?;
        let read = match selects {
            true => Some(self.visible(relation, PolicyCommand::Select)?),
            false => None,
        };
        Ok(both(Some(own), read))
    }

    /// What the rows that INSERT and UPDATE write must satisfy. `selects`: as of [`Analyzer::secured_filter`].
    pub(super) fn secured_checks(
        &mut self,
        relation: &Relation,
        command: PolicyCommand,
        selects: bool,
    ) -> Result<Vec<RowCheck>> {
        if !self.is_secured(relation)? {
            return Ok(vec![]);
        }
        let mut checks = self.demands(relation, command, false)?;
        if selects {
            checks.extend(self.demands(relation, PolicyCommand::Select, true)?);
        }
        Ok(checks)
    }

    /// What ON CONFLICT DO UPDATE (`merge`: an action of MERGE) must satisfy: the row that it meets, and the one that it makes of it.
    /// `command`: what the action does.
    pub(super) fn secured_change(
        &mut self,
        relation: &Relation,
        command: PolicyCommand,
        merge: bool,
    ) -> Result<SecuredChange> {
        let mut change = SecuredChange::default();
        if !self.is_secured(relation)? {
            return Ok(change);
        }
        if command != PolicyCommand::Insert {
            change.existing = self.demands(relation, command, true)?;
            if !merge {
                change.existing.extend(self.demands(relation, PolicyCommand::Select, true)?);
            }
        }
        for check in &mut change.existing {
            if let RowCheckOf::Policy { table, policy } = &check.of {
                check.of = RowCheckOf::Existing { table: table.clone(), policy: policy.clone(), merge };
            }
        }
        if command != PolicyCommand::Delete {
            change.written = self.demands(relation, command, false)?;
        }
        if command == PolicyCommand::Update {
            change.written.extend(self.demands(relation, PolicyCommand::Select, true)?);
        }
        Ok(change)
    }

    /// The condition for the rows that MERGE may see of its target. None: for all.
    pub(super) fn secured_reading(&mut self, relation: &Relation) -> Result<Option<Expr>> {
        match self.is_secured(relation)? {
            true => self.visible(relation, PolicyCommand::Select).map(Some),
            false => Ok(None),
        }
    }

    /// A table with policies stands for the query of the rows that they let through; `locked`: of those that UPDATE may change.
    pub(super) fn secured_entry(
        &mut self,
        relation: &Arc<Relation>,
        alias: Option<&ast::Alias>,
        locked: bool,
        only: bool,
    ) -> Result<usize> {
        let mut filter = self.visible(relation, PolicyCommand::Select)?;
        if locked {
            let changed = self.visible(relation, PolicyCommand::Update)?;
            filter = both(Some(filter), Some(changed)).ok_or_else(|| PgError::internal("no condition"))?;
        }
        let columns = super::relation_columns(relation);
        let targets = columns.iter().enumerate().map(|(i, c)| Target {
            expr: super::var(0, 0, i, c, -1),
            name: c.name.clone(),
            origin: c.origin,
        });
        let select = Select {
            from: vec![FromItem::Entry(0)],
            targets: targets.collect(),
            filter: Some(filter),
            ..Default::default()
        };
        let mut inner =
            super::entry(RteKind::Relation(relation.clone()), relation.name.clone(), false, columns.clone());
        inner.only = only;
        let query = Query { range_table: vec![inner], ..Query::new(QueryBody::Select(select), columns.clone()) };
        self.query_entry(query, columns, relation, alias)
    }
}
