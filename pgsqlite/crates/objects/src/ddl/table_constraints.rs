//! Constraints of tables that exist: adding, checking and changing them.

use super::create_table::Elements;
use super::{Ddl, NodeEnum};
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{oid, work, Oid, PgError, Result, SqlState};
use std::collections::HashMap;

impl Ddl<'_> {
    /// Adds CHECK, key and foreign key constraints to a table with rows.
    pub(super) fn add_constraints(&mut self, table: Oid, elements: Elements) -> Result<()> {
        for spec in &elements.checks {
            work::visit();
            let mut relation = (**self.required(table)?).clone();
            let idle: Vec<Oid> = relation.constraints.iter().filter(|c| c.not_enforced).map(|c| c.oid).collect();
            if self.merge_check(&mut relation, spec)? {
                for own in relation.constraints.iter().filter(|c| !c.not_enforced && idle.contains(&c.oid)) {
                    work::visit();
                    self.check_rows(&relation, own)?;
                }
                self.put_relation(relation)?;
                continue;
            }
            let constraint = self.check_constraint(&relation, spec)?;
            if !constraint.not_valid {
                self.check_rows(&relation, &constraint)?;
            }
            relation.constraints.push(constraint);
            self.put_relation(relation)?;
        }
        for spec in &elements.not_nulls {
            work::visit();
            self.add_not_null(table, spec)?;
        }
        if !(elements.keys.is_empty() && elements.exclusions.is_empty()) {
            self.check_may_index(self.required(table)?)?;
        }
        for spec in &elements.keys {
            work::visit();
            let old = (**self.required(table)?).clone();
            if spec.primary && old.primary_constraint().is_some() {
                return Err(PgError::new(
                    SqlState::INVALID_TABLE_DEFINITION,
                    format!("multiple primary keys for table \"{}\" are not allowed", old.name),
                ));
            }
            if let (true, Some(name)) = (spec.primary, spec.columns.iter().find(|c| old.column(c).is_none())) {
                return Err(PgError::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{name}\" of relation \"{}\" does not exist", old.name),
                ));
            }
            for column in old.live_columns().filter(|c| spec.primary && spec.columns.contains(&c.name)) {
                work::visit();
                super::not_null::check_fit_for_key(&old, column)?;
            }
            let mut new = old.clone();
            let mut indexes = Vec::new();
            self.add_key(&mut new, spec, &mut indexes, false)?;
            self.check_periods(&old, spec)?;
            let tightened: Vec<i16> = new
                .live_columns()
                .filter(|c| c.not_null && old.column_by_attnum(c.attnum).is_some_and(|o| !o.not_null))
                .map(|c| c.attnum)
                .collect();
            if !tightened.is_empty() {
                // The rows are copied into the tighter table; the index comes after.
                let mut middle = old.clone();
                for &attnum in &tightened {
                    work::visit();
                    middle.columns[attnum as usize - 1].not_null = true;
                }
                self.put_relation(middle.clone())?;
                self.rebuild(&old, &middle, &HashMap::new())?;
            }
            for index in indexes {
                work::visit();
                self.make_sqlite_index(&index, &new)?;
                self.put_relation(index)?;
            }
            self.put_relation(new)?;
        }
        for spec in &elements.exclusions {
            work::visit();
            let mut new = (**self.required(table)?).clone();
            let mut indexes = Vec::new();
            self.add_exclusion(&mut new, spec, &mut indexes)?;
            for index in indexes {
                work::visit();
                self.make_sqlite_index(&index, &new)?;
                self.put_relation(index)?;
            }
            self.put_relation(new)?;
        }
        for spec in &elements.foreign_keys {
            work::visit();
            let old = (**self.required(table)?).clone();
            let mut constraint = self.foreign_key(&old, spec)?;
            constraint.not_valid &= spec.constraint.skip_validation || spec.not_enforced;
            if constraint.not_valid {
                // SQLite would check the rows; and NOT VALID is there so that nobody has to wait until all of them are read
                constraint.managed = true;
            } else {
                self.check_rows(&old, &constraint)?;
            }
            let (oid, managed) = (constraint.oid, constraint.managed);
            let mut new = old.clone();
            new.constraints.push(constraint);
            self.put_relation(new.clone())?;
            if !managed {
                self.rebuild(&old, &new, &HashMap::new())?;
            }
            self.reference_partitions(table, oid)?;
        }
        Ok(())
    }

    /// ALTER CONSTRAINT of a foreign key: when, and whether, it is checked.
    pub(super) fn alter_constraint(&mut self, old: Relation, command: &ast::AlterTableCmd) -> Result<()> {
        let Some(NodeEnum::AtalterConstraint(c)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
            return Err(PgError::internal("ALTER CONSTRAINT without its definition"));
        };
        let Some(constraint) = old.constraints.iter().find(|k| k.name == c.conname) else {
            return Err(PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("constraint \"{}\" of relation \"{}\" does not exist", c.conname, old.name),
            ));
        };
        let of = format!("constraint \"{}\" of relation \"{}\"", c.conname, old.name);
        if !constraint.is_foreign_key() && (c.alter_deferrability || c.alter_enforceability) {
            let message = match c.alter_deferrability {
                true => format!("{of} is not a foreign key constraint"),
                false => format!("cannot alter enforceability of {of}"),
            };
            return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        if let (true, Some(_)) = (c.alter_inheritability, constraint.not_null_of()) {
            return self.set_inheritable(old.oid, constraint.oid, !c.noinherit);
        }
        if c.alter_inheritability {
            return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("{of} is not a not-null constraint")));
        }
        if !c.alter_deferrability && !c.alter_enforceability {
            return Err(PgError::not_supported("this form of ALTER CONSTRAINT"));
        }
        if constraint.inherited.parent != 0 {
            let message = format!("cannot alter constraint \"{}\" on relation \"{}\"", c.conname, old.name);
            let mut error = PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
            let mut root = self.catalog.constraint(constraint.inherited.parent);
            while let Some((table, above)) = root {
                work::visit();
                error = error.detail(format!(
                    "Constraint \"{}\" is derived from constraint \"{}\" of relation \"{}\".",
                    c.conname, above.name, table.name
                ));
                root = self.catalog.constraint(above.inherited.parent);
            }
            return Err(error.hint("You may alter the constraint it derives from instead."));
        }
        let mut parts = vec![constraint.oid];
        while let Some((table, oid)) = self.catalog.relations.values().find_map(|r| {
            work::visit();
            let part = r.constraints.iter().find(|k| parts.contains(&k.inherited.parent) && !parts.contains(&k.oid));
            part.map(|k| (r.oid, k.oid))
        }) {
            parts.push(oid);
            if table != old.oid {
                self.alter_part(table, &[oid], c)?;
            }
        }
        self.alter_part(old.oid, &parts, c)
    }

    /// What ALTER CONSTRAINT says of constraints of one table. Errors: 23503 if rows violate one that is enforced from now on.
    fn alter_part(&mut self, table: Oid, constraints: &[Oid], c: &ast::AtAlterConstraint) -> Result<()> {
        let old = (**self.required(table)?).clone();
        let mut new = old.clone();
        let mut begun = Vec::new();
        for own in new.constraints.iter_mut().filter(|k| constraints.contains(&k.oid)) {
            work::visit();
            if c.alter_deferrability {
                own.deferrable = c.deferrable;
                own.initially_deferred = c.initdeferred;
            }
            if c.alter_enforceability && own.not_enforced == c.is_enforced {
                (own.not_enforced, own.not_valid) = (!c.is_enforced, !c.is_enforced);
                // (SQLite enforces each that it knows, and knows of no row that violates it)
                own.managed = true;
                begun.extend(c.is_enforced.then(|| own.clone()));
            }
        }
        self.put_relation(new.clone())?;
        // (of a partitioned table the partitions are looked at)
        for own in begun.iter().filter(|k| !new.is_partitioned() && !new.is_part_of_key(k)) {
            work::visit();
            self.check_rows(&new, own)?;
        }
        self.rebuild(&old, &new, &HashMap::new())
    }

    /// ADD CONSTRAINT … USING INDEX: an index becomes a constraint's.
    pub(super) fn constraint_using_index(&mut self, old: Relation, c: &ast::Constraint) -> Result<()> {
        let wrong = |message: String| PgError::new(SqlState::WRONG_OBJECT_TYPE, message).at(c.location);
        let found = self.catalog.relation_in(old.schema, &c.indexname).cloned();
        let Some((index_relation, RelationKind::Index(index))) = found.as_ref().map(|r| (r, &r.kind)) else {
            return Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("index \"{}\" does not exist", c.indexname))
                .at(c.location));
        };
        if old
            .constraints
            .iter()
            .any(|k| k.index == index_relation.oid && !matches!(k.kind, ConstraintKind::ForeignKey { .. }))
        {
            return Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("index \"{}\" is already associated with a constraint", c.indexname),
            )
            .at(c.location));
        }
        if index.table != old.oid {
            return Err(wrong(format!("index \"{}\" does not belong to table \"{}\"", c.indexname, old.name)));
        }
        if !index.unique {
            return Err(wrong(format!("\"{}\" is not a unique index", c.indexname))
                .detail("Cannot create a primary key or unique constraint using such an index."));
        }
        let unusable = |what: &str| {
            wrong(format!("index \"{}\" {what}", c.indexname))
                .detail("Cannot create a primary key or unique constraint using such an index.")
        };
        let columns: Option<Vec<i16>> = index.columns.iter().map(|k| k.key.column()).collect();
        let columns = columns.ok_or_else(|| unusable("contains expressions"))?;
        if index.predicate.is_some() {
            return Err(wrong(format!("\"{}\" is a partial index", c.indexname))
                .detail("Cannot create a primary key or unique constraint using such an index."));
        }
        let special = index.columns.iter().zip(&columns).position(|(k, attnum)| {
            let Some(column) = old.column_by_attnum(*attnum) else { return true };
            let own = |collation: Oid| match collation {
                0 => self.catalog.type_collation(column.type_oid),
                explicit => explicit,
            };
            k.descending || k.nulls_first || k.opclass_explicit || own(k.collation) != own(column.collation)
        });
        if let Some(at) = special {
            return Err(wrong(format!(
                "index \"{}\" column number {} does not have default sorting behavior",
                c.indexname,
                at + 1
            ))
            .detail("Cannot create a primary key or unique constraint using such an index."));
        }
        let primary = c.contype() == ast::ConstrType::ConstrPrimary;
        if primary && old.primary_constraint().is_some() {
            return Err(PgError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!("multiple primary keys for table \"{}\" are not allowed", old.name),
            ));
        }
        let name = if c.conname.is_empty() { c.indexname.clone() } else { c.conname.clone() };
        if name != c.indexname {
            self.check_constraint_name(&old, &name)?;
            self.notice(
                SqlState::SUCCESSFUL_COMPLETION,
                format!("ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{}\" to \"{name}\"", c.indexname),
            );
        }
        let deferrable = c.deferrable || c.initdeferred;
        let kind = RelationKind::Index(Index { primary, deferrable, ..index.clone() });
        let index_relation = Relation { name: name.clone(), kind, ..(**index_relation).clone() };
        self.put_relation(index_relation.clone())?;
        if deferrable {
            self.sqlite(&format!("DROP INDEX IF EXISTS {}", quoted(&index_relation.sqlite_name)))?;
            self.drop_nulls_index(index_relation.oid)?;
            self.make_sqlite_index(&index_relation, &old)?;
        }
        if primary {
            for &attnum in &columns {
                work::visit();
                let table = (**self.required(old.oid)?).clone();
                self.set_not_null(&table, attnum)?;
            }
        }
        let mut new = (**self.required(old.oid)?).clone();
        new.constraints.push(Constraint {
            oid: self.new_oid(new.temporary)?,
            name,
            kind: if primary {
                ConstraintKind::PrimaryKey
            } else {
                ConstraintKind::Unique { nulls_not_distinct: index.nulls_not_distinct }
            },
            columns,
            index: index_relation.oid,
            deferrable,
            initially_deferred: c.initdeferred,
            not_valid: false,
            inherited: Inherited::default(),
            managed: false,
            not_enforced: false,
            temporal: None,
        });
        self.put_relation(new)
    }

    /// 23514 or 23503 if rows violate the constraint.
    pub(super) fn check_rows(&self, relation: &Relation, constraint: &Constraint) -> Result<()> {
        match &constraint.kind {
            _ if constraint.not_enforced => Ok(()),
            ConstraintKind::Check { expression, .. } => {
                let condition = self.lower_stored(expression, Some(relation), Some((oid::BOOL, -1)))?;
                if self.any_row(relation, &format!("NOT ({condition})"))? {
                    return Err(PgError::new(
                        SqlState::CHECK_VIOLATION,
                        format!(
                            "check constraint \"{}\" of relation \"{}\" is violated by some row",
                            constraint.name, relation.name
                        ),
                    )
                    .schema(self.catalog.schema_name(relation.schema))
                    .table(&relation.name)
                    .constraint(&constraint.name));
                }
                Ok(())
            }
            ConstraintKind::ForeignKey { .. } if constraint.managed => self.check_managed_rows(relation, constraint),
            ConstraintKind::ForeignKey { references, columns, .. } => {
                let parent = self.required(*references)?.clone();
                let pair = |own: &i16, other: &i16| -> Result<(Column, Column)> {
                    let find = |r: &Relation, a: i16| {
                        r.column_by_attnum(a).cloned().ok_or_else(|| PgError::internal("a key on a missing column"))
                    };
                    Ok((find(relation, *own)?, find(&parent, *other)?))
                };
                let pairs: Vec<(Column, Column)> =
                    constraint.columns.iter().zip(columns).map(|(a, b)| pair(a, b)).collect::<Result<_>>()?;
                let own: Vec<String> = pairs.iter().map(|p| format!("c.{}", quoted(&p.0.name))).collect();
                let matches: Vec<String> =
                    pairs.iter().map(|p| format!("p.{} = c.{}", quoted(&p.1.name), quoted(&p.0.name))).collect();
                let present: Vec<String> = own.iter().map(|o| format!("{o} IS NOT NULL")).collect();
                let sql = format!(
                    "SELECT {} FROM {} AS c WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS p WHERE {}) ORDER BY c.rowid LIMIT 1",
                    own.join(", "),
                    self.sqlite_table(relation),
                    present.join(" AND "),
                    self.sqlite_table(&parent),
                    matches.join(" AND ")
                );
                let mut statement = self.conn.prepare(&sql).map_err(sqlite_error)?;
                let mut rows = statement.query([]).map_err(sqlite_error)?;
                let Some(row) = rows.next().map_err(sqlite_error)? else { return Ok(()) };
                let mut values = Vec::new();
                for (i, p) in pairs.iter().enumerate() {
                    work::visit();
                    let value = row.get_ref(i).map_err(sqlite_error)?;
                    values.push(self.display_value(value, p.0.type_oid).map_err(sqlite_error)?);
                }
                let names: Vec<&str> = pairs.iter().map(|p| p.0.name.as_str()).collect();
                Err(PgError::new(
                    SqlState::FOREIGN_KEY_VIOLATION,
                    format!(
                        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                        relation.name, constraint.name
                    ),
                )
                .detail(format!(
                    "Key ({})=({}) is not present in table \"{}\".",
                    names.join(", "),
                    values.join(", "),
                    parent.name
                ))
                .schema(self.catalog.schema_name(relation.schema))
                .table(&relation.name)
                .constraint(&constraint.name))
            }
            _ => Ok(()),
        }
    }
}
