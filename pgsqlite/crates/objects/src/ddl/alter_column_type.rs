//! ALTER COLUMN … TYPE: the values and all texts that name the column.

use super::dependencies::Object;
use super::{Ddl, NodeEnum};
use pgsqlite_sql::analyze;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::Names;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{oid, work, Oid, PgError, Result, SqlState};
use std::collections::HashMap;

impl Ddl<'_> {
    /// 0A000: a stored text has a constant of a row type that has other columns now. (PostgreSQL keeps the constant as the row it
    /// was; here it is a text, which cannot be read as a row of the type any more.)
    pub(super) fn check_constants_of(&self, row_type: Oid) -> Result<()> {
        let written = format!("::{}", pgsqlite_sql::deparse::Names::stored(&self.catalog).type_name(row_type, -1));
        let names = |text: &String| text.contains(&written);
        let somewhere = self.catalog.relations.values().any(|r| {
            let view = match &r.kind {
                RelationKind::View { definition, .. } | RelationKind::MaterializedView { definition, .. } => {
                    names(definition)
                }
                _ => false,
            };
            let policies = &r.security.policies;
            view || r.rules.iter().any(|rule| rule.condition.iter().chain(&rule.actions).any(names))
                || policies.iter().any(|p| p.using.iter().chain(&p.check).any(names))
        });
        if somewhere {
            self.stored_references().map_err(|e| {
                PgError::not_supported("this change of a row type of which a view, rule or policy has a constant")
                    .detail(e.message())
            })?;
        }
        Ok(())
    }

    /// USING of a change of type. Errors: 0A000 for a whole row, which is of the old type at one moment and of the new one at the next.
    pub(super) fn using_expression(&self, relation: &Relation, using: &ast::Node) -> Result<pgsqlite_sql::typed::Expr> {
        let expr = self.analyze(|e| analyze::analyze_expression_node(e, using, Some(relation), None))?;
        match pgsqlite_sql::deparse::whole_row(&expr) {
            Some(_) if self.catalog.stands_for_several(relation) => {
                Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot convert whole-row table reference")
                    .detail("USING expression contains a whole-row table reference."))
            }
            Some(location) => Err(PgError::not_supported("a whole row in USING").at(location)),
            None => Ok(expr),
        }
    }

    /// Changes of columns' types, whose USING all read the rows as they are before the statement.
    pub(super) fn alter_types(&mut self, table: Oid, commands: &[&ast::AlterTableCmd]) -> Result<()> {
        let before = (**self.required(table)?).clone();
        let mut values: HashMap<i16, String> = HashMap::new();
        for command in commands {
            work::visit();
            let (attnum, value) = self.alter_type(&before, command)?;
            if values.insert(attnum, value).is_some() {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("cannot alter type of column \"{}\" twice", command.name),
                ));
            }
        }
        let new = (**self.required(table)?).clone();
        self.rebuild(&before, &new, &values)?;
        let changed = |c: &&Constraint| c.columns.iter().any(|a| values.contains_key(a)) && !c.not_valid;
        for constraint in new.constraints.iter().filter(changed) {
            work::visit();
            self.check_converted_period(&new, constraint)?;
        }
        for constraint in new.constraints.iter().filter(changed) {
            work::visit();
            self.check_rows(&new, constraint)?;
        }
        Ok(())
    }

    /// A change of a column's type in the catalog alone; with the column, what the stored rows get. `before`: the table as it is stored.
    fn alter_type(&mut self, before: &Relation, command: &ast::AlterTableCmd) -> Result<(i16, String)> {
        let old = (**self.required(before.oid)?).clone();
        let Some(NodeEnum::ColumnDef(def)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
            return Err(PgError::internal("ALTER TYPE without a type"));
        };
        let column = self.alter_column_of(&old, &command.name)?;
        let type_name = def.type_name.as_ref().ok_or_else(|| PgError::internal("ALTER TYPE without a type"))?;
        let (ty, typmod) = self.type_name(type_name)?;
        self.check_column_type(&column.name, ty, type_name.location)?;
        self.check_no_member_of_itself(ty, old.row_type, &old.name)?;
        if column.generated.is_some() && def.raw_default.is_some() {
            return Err(PgError::new(
                SqlState::INVALID_COLUMN_DEFINITION,
                "cannot specify USING when altering type of generated column",
            )
            .detail(format!("Column \"{}\" is a generated column.", column.name))
            .at(def.location));
        }
        if column.identity.is_some() && ty != column.type_oid {
            if !matches!(ty, oid::INT2 | oid::INT4 | oid::INT8) {
                return Err(PgError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    "identity column type must be smallint, integer, or bigint",
                ));
            }
            let sequence = (**self.required(column.sequence)?).clone();
            if let RelationKind::Sequence(definition) = &sequence.kind {
                let options = super::sequence::SequenceOptions { type_oid: Some(ty), ..Default::default() };
                self.change_sequence(&sequence, definition, &options)?;
            }
        }
        self.check_row_unused(old.row_type, &format!("table \"{}\"", old.name), "uses its row type")?;
        for (user, references) in self.stored_references()? {
            work::visit();
            if references.iter().any(|r| r.object == old.oid && r.sub == i32::from(column.attnum)) {
                if let Object::Rule(..) = user {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "cannot alter type of a column used by a view or rule",
                    )
                    .detail(format!(
                        "{} depends on column \"{}\"",
                        self.describe(user),
                        column.name
                    )));
                }
                let Object::Relation(view) = user else {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "cannot alter type of a column used in a policy definition",
                    )
                    .detail(format!(
                        "{} depends on column \"{}\"",
                        self.describe(user),
                        column.name
                    )));
                };
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "cannot alter type of a column used by a view or rule",
                )
                .detail(format!(
                    "rule _RETURN on {} depends on column \"{}\"",
                    self.describe(Object::Relation(view)),
                    column.name
                )));
            }
        }
        for other in old.live_columns() {
            work::visit();
            if let Some(text) = &other.generated {
                if self.expression_columns(text, &old)?.contains(&column.attnum) {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "cannot alter type of a column used by a generated column",
                    )
                    .detail(format!("Column \"{}\" is used by generated column \"{}\".", column.name, other.name)));
                }
            }
        }
        let in_foreign_key = old
            .constraints
            .iter()
            .any(|c| matches!(c.kind, ConstraintKind::ForeignKey { .. }) && c.columns.contains(&column.attnum))
            || self.catalog.referencing(old.oid).any(|(_, c)| {
                matches!(&c.kind, ConstraintKind::ForeignKey { columns, .. } if columns.contains(&column.attnum))
            });
        let class = |ty: Oid| {
            (super::sqlite_schema::storage_class(&self.catalog, ty), self.catalog.codec(ty).and_then(|c| c.collation()))
        };
        if in_foreign_key && class(ty) != class(column.type_oid) {
            return Err(PgError::not_supported("changing the storage class of a foreign key's column"));
        }
        let with_modifier = Names::new(&self.catalog, self.environment.search_path).type_name(ty, typmod);
        let display = self.display_type(ty);
        let quoted = pgsqlite_sql::deparse::quote_identifier(&column.name);
        let expr = match &def.raw_default {
            Some(node) => self.analyze(|e| analyze::analyze_expression_node(e, node, Some(before), Some((ty, typmod)))),
            None => self.analyze(|e| analyze::analyze_expression(e, &quoted, Some(before), Some((ty, typmod)))),
        }
        .map_err(|e| {
            if e.code() != SqlState::DATATYPE_MISMATCH {
                return e;
            }
            if let Some(node) = &def.raw_default {
                // (what is wrong within the expression comes before its type)
                if let Err(own) = self.analyze(|e| analyze::analyze_expression_node(e, node, Some(before), None)) {
                    return own;
                }
                return PgError::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "result of USING clause for column \"{}\" cannot be cast automatically to type {display}",
                        column.name
                    ),
                )
                .hint("You might need to add an explicit cast.");
            }
            PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("column \"{}\" cannot be cast automatically to type {display}", column.name),
            )
            .hint(format!("You might need to specify \"USING {quoted}::{with_modifier}\"."))
        })?;
        let value = self.analyze(|e| pgsqlite_sql::lower::lower_expression(e, &expr, Some(before)))?;
        let mut new = old.clone();
        {
            let collation = self.column_collation(def.coll_clause.as_deref(), ty)?;
            let changed = &mut new.columns[column.attnum as usize - 1];
            changed.type_oid = ty;
            changed.keeping.storage = None;
            changed.keeping.compression = None;
            changed.typmod = typmod;
            changed.collation = collation;
            changed.storage = StorageForm::Canonical;
        }
        if let Some(text) = &column.default {
            self.lower_stored(text, None, Some((ty, typmod))).map_err(|e| {
                if e.code() == SqlState::DATATYPE_MISMATCH {
                    PgError::new(
                        SqlState::DATATYPE_MISMATCH,
                        format!(
                            "default for column \"{}\" cannot be cast automatically to type {display}",
                            column.name
                        ),
                    )
                } else {
                    e
                }
            })?;
        }
        let integer = matches!(self.catalog.base_type(ty), oid::INT2 | oid::INT4 | oid::INT8);
        let mut index_changes: Vec<Relation> = Vec::new();
        if new.rowid_column == Some(column.attnum) && !integer {
            new.rowid_column = None;
            if let Some(key) = new.primary_key() {
                let index = self.required(key.index)?;
                index_changes.push(Relation {
                    sqlite_name: format!("sqlite_autoindex_{}_1", new.sqlite_name),
                    ..(**index).clone()
                });
            }
        }
        let indexes: Vec<Relation> = self.catalog.indexes_of(old.oid).map(|(r, _)| (**r).clone()).collect();
        for mut index in indexes {
            work::visit();
            if let Some(changed) = index_changes.iter().find(|c| c.oid == index.oid) {
                index.sqlite_name.clone_from(&changed.sqlite_name);
            }
            if let RelationKind::Index(definition) = &mut index.kind {
                let method = definition.method.clone();
                for key in definition.columns.iter_mut().filter(|k| k.key == KeyPart::Column(column.attnum)) {
                    work::visit();
                    (key.opclass, key.opclass_explicit) = self.class_for_type(key, ty, &method)?;
                    key.collation = super::naming::default_collation(&self.catalog, ty);
                }
                for (key, operator) in definition.columns.iter().zip(&mut definition.exclusion) {
                    work::visit();
                    if key.key == KeyPart::Column(column.attnum) {
                        let name =
                            pgsqlite_sql::builtins::catalog::operator_by_oid(*operator).map_or("", |o| o.name.as_str());
                        *operator = self.exclusion_operator(name, ty, key.opclass)?;
                    }
                }
            }
            self.put_relation(index)?;
        }
        // Texts over the column are printed anew: their casts may differ for the new type.
        for i in 0..new.constraints.len() {
            work::visit();
            if !new.constraints[i].columns.contains(&column.attnum) {
                continue;
            }
            if let ConstraintKind::Check { expression, no_inherit } = new.constraints[i].kind.clone() {
                let text = self.reprint(&expression, &new)?;
                new.constraints[i].kind = ConstraintKind::Check { expression: text, no_inherit };
            }
        }
        self.put_relation(new)?;
        Ok((column.attnum, value))
    }

    /// A stored expression analyzed over the relation as it is now, and printed.
    fn reprint(&self, text: &str, relation: &Relation) -> Result<String> {
        let expr = self.analyze_stored(|e| analyze::analyze_expression(e, text, Some(relation), None))?;
        pgsqlite_sql::deparse::expression(
            Names::stored(&self.catalog),
            pgsqlite_sql::deparse::Style::Full,
            &expr,
            Some(relation),
        )
    }
}

impl Ddl<'_> {
    /// The class of operators that a key of an index has when its column gets another type, and whether it is another one than the type's
    /// own: a class that was written stays. Errors: 42804 if that one is not for the type, 42704 if the type has none.
    fn class_for_type(&self, key: &IndexColumn, ty: Oid, method: &str) -> Result<(Oid, bool)> {
        let default = super::naming::default_opclass(&self.catalog, ty, method);
        if !key.opclass_explicit {
            return Ok((default.ok_or_else(|| self.no_opclass(ty, method))?, false));
        }
        let class = pgsqlite_sql::builtins::catalog::operator_class_by_oid;
        let Some(written) = class(key.opclass) else {
            return Err(PgError::internal("an index of an operator class that is gone"));
        };
        let accepts = self.catalog.base_type(ty) == written.input
            || default.and_then(class).is_some_and(|own| own.input == written.input);
        match accepts {
            true => Ok((written.oid, default != Some(written.oid))),
            false => {
                let message =
                    format!("operator class \"{}\" does not accept data type {}", written.name, self.display_type(ty));
                Err(PgError::new(SqlState::DATATYPE_MISMATCH, message))
            }
        }
    }
}
