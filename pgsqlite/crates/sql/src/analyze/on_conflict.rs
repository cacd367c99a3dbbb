//! ON CONFLICT, and the unique index that it names or infers.

use super::{Analyzer, Clause};
use crate::acl::privilege;
use crate::builtins::catalog as builtin;
use crate::catalog::{Constraint, ConstraintKind, KeyPart, PolicyCommand, Relation};
use crate::parse::{ast, NodeEnum};
use crate::typed::{ConflictTarget, OnConflict, RowCheck, RowCheckOf, RteKind};
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::Arc;

impl Analyzer<'_> {
    pub(super) fn on_conflict(
        &mut self,
        clause: &ast::OnConflictClause,
        target: &Arc<Relation>,
        item: &super::from::NamespaceItem,
        updates_by_columns: bool,
    ) -> Result<OnConflict> {
        let do_update = clause.action == ast::OnConflictAction::OnconflictUpdate as i32;
        self.level().namespace = vec![item.clone()];
        let conflict_target = match &clause.infer {
            Some(infer) => {
                let arbiter = self.infer_arbiter(infer, target)?;
                self.check_arbiter(target, |key| key.index == arbiter.index)?;
                Some(arbiter)
            }
            None => {
                if do_update {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                    )
                    .hint("For example, ON CONFLICT (column_name).")
                    .at(clause.location));
                }
                self.check_arbiter(target, |_| true)?;
                None
            }
        };
        if !do_update {
            return Ok(OnConflict { target: conflict_target, set: None, filter: None, secured: Default::default() });
        }
        // `excluded`: a second entry over the same table
        let columns = super::relation_columns(target);
        let level = self.level();
        level.range_table.push(super::entry(RteKind::Relation(target.clone()), "excluded".into(), true, columns));
        let entry = level.range_table.len() - 1;
        let mut excluded = self.namespace_of(entry, None, true);
        excluded.columns_visible = false;
        self.level().namespace.push(excluded);
        let set = self.set_list(&clause.target_list, target)?;
        let filter = match &clause.where_clause {
            Some(node) => {
                let filter = self.in_clause(Clause::Where, |a| a.expr(node))?;
                Some(self.coerce_boolean(filter, "WHERE")?)
            }
            None => None,
        };
        let arbiter = conflict_target.as_ref().map_or(0, |t| t.index);
        if target.constraints.iter().any(|c| c.kind == ConstraintKind::Exclusion && c.index == arbiter) {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                "ON CONFLICT DO UPDATE not supported with exclusion constraints",
            ));
        }
        if updates_by_columns {
            self.check_columns(target, self.acting, set.iter().map(|(attnum, _)| *attnum), privilege::UPDATE)?;
        }
        let secured = self.as_target(|a| a.secured_change(target, PolicyCommand::Update, false))?;
        Ok(OnConflict { target: conflict_target, set: Some(set), filter, secured })
    }

    /// 55000 if one of the keys that ON CONFLICT looks at is checked later than it looks.
    fn check_arbiter(&self, target: &Relation, looks_at: impl Fn(&Constraint) -> bool) -> Result<()> {
        match target.deferrable_keys().find(|key| looks_at(key)) {
            None => Ok(()),
            Some(key) => Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters",
            )
            .schema(self.env.catalog.schema_name(target.schema))
            .table(target.name.clone())
            .constraint(key.name.clone())),
        }
    }

    fn infer_arbiter(&mut self, infer: &ast::InferClause, target: &Arc<Relation>) -> Result<ConflictTarget> {
        if !infer.conname.is_empty() {
            let constraint = target.constraints.iter().find(|c| c.name == infer.conname).ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("constraint \"{}\" for table \"{}\" does not exist", infer.conname, target.name),
                )
            })?;
            if constraint.kind == ConstraintKind::Exclusion {
                let (index, constraint) = (constraint.index, constraint.oid);
                return Ok(ConflictTarget { keys: vec![], filter: None, index, constraint, written: vec![] });
            }
            if !constraint.is_key() {
                return Err(PgError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    "constraint in ON CONFLICT clause has no associated index",
                ));
            }
            let keys = constraint.columns.iter().map(|&a| self.target_column(target, a)).collect::<Result<Vec<_>>>()?;
            return Ok(ConflictTarget {
                keys,
                filter: None,
                index: constraint.index,
                constraint: constraint.oid,
                written: vec![],
            });
        }
        let mut keys = Vec::new();
        // of each key the collation and the operator class that the index must have, 0: any
        let mut wanted: Vec<(Oid, String)> = Vec::new();
        let mut texts = Vec::new();
        for node in &infer.index_elems {
            let Some(NodeEnum::IndexElem(elem)) = &node.node else {
                return Err(PgError::internal("index element expected"));
            };
            let collation = match &elem.collation[..] {
                [] => 0,
                name => self.collation(name, infer.location)?,
            };
            let opclass = super::typename::name_parts(&elem.opclass).last().map_or(String::new(), |n| n.to_string());
            wanted.push((collation, opclass));
            if elem.name.is_empty() {
                keys.push(self.expr_opt(elem.expr.as_deref())?);
            } else {
                let column =
                    target.column(&elem.name).ok_or_else(|| self.missing_column(None, &elem.name, infer.location))?;
                keys.push(self.target_column(target, column.attnum)?);
            }
        }
        let filter = match &infer.where_clause {
            Some(node) => {
                let filter = self.in_clause(Clause::Where, |a| a.expr(node))?;
                Some(self.coerce_boolean(filter, "WHERE")?)
            }
            None => None,
        };
        if self.storing {
            // (whether there is an index for it is seen when it is carried out)
            return Ok(ConflictTarget { keys, filter, index: 0, constraint: 0, written: wanted });
        }
        for key in &keys {
            texts.push(self.lowered(key, target)?);
        }
        // the unique index with just these keys
        let no_match = || {
            PgError::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification",
            )
        };
        let plain = wanted.iter().all(|(collation, opclass)| *collation == 0 && opclass.is_empty());
        if filter.is_none() && plain {
            for constraint in &target.constraints {
                if matches!(constraint.kind, ConstraintKind::PrimaryKey | ConstraintKind::Unique { .. })
                    && constraint.columns.len() == keys.len()
                {
                    let all = constraint
                        .columns
                        .iter()
                        .all(|&a| self.target_column(target, a).is_ok_and(|c| keys.contains(&c)));
                    if all {
                        return Ok(ConflictTarget {
                            keys,
                            filter: None,
                            index: constraint.index,
                            constraint: 0,
                            written: vec![],
                        });
                    }
                }
            }
        }
        let indexes: Vec<_> = self.env.catalog.indexes_of(target.oid).map(|(r, i)| (r.oid, i.clone())).collect();
        for (index_oid, index) in
            indexes.into_iter().filter(|(_, i)| i.unique && !i.of_sqlite && i.columns.len() == keys.len())
        {
            let mut fits = true;
            for column in &index.columns {
                let key = match &column.key {
                    KeyPart::Column(a) => self.target_column(target, *a)?,
                    KeyPart::Expression(text) => self.sub_expression(text)?,
                };
                let key = self.lowered(&key, target)?;
                let asked = texts.iter().position(|k| *k == key).map(|i| &wanted[i]);
                fits &= asked.is_some_and(|(collation, opclass)| {
                    (*collation == 0 || *collation == column.collation)
                        && (opclass.is_empty() || same_operator_class(opclass, column.opclass))
                });
            }
            if !fits {
                continue;
            }
            match (&index.predicate, &filter) {
                (None, _) => {
                    return Ok(ConflictTarget { keys, filter: None, index: index_oid, constraint: 0, written: vec![] })
                }
                (Some(text), Some(given)) => {
                    let predicate = self.sub_expression(text)?;
                    let predicate = self.coerce_boolean(predicate, "WHERE")?;
                    if let Some(equal) = self.implies(given, &predicate, target)? {
                        let level = self.level();
                        level.checks.extend(equal.map(|condition| RowCheck { condition, of: RowCheckOf::Arbiter }));
                        let filter = Some(predicate);
                        return Ok(ConflictTarget { keys, filter, index: index_oid, constraint: 0, written: vec![] });
                    }
                }
                (Some(_), None) => {}
            }
        }
        Err(no_match())
    }
}

/// Whether the operator class that ON CONFLICT names is, but for its name, that of an index.
fn same_operator_class(name: &str, of_index: Oid) -> bool {
    let classes = builtin::all_operator_classes();
    let Some(index) = classes.iter().find(|c| c.oid == of_index) else { return false };
    classes
        .iter()
        .any(|c| c.name == name && c.method == index.method && c.family == index.family && c.input == index.input)
}
