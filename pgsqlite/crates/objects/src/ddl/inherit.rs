//! Table inheritance: what a child takes over from its parents when it is made (CREATE TABLE … INHERITS), ALTER TABLE … [NO]
//! INHERIT. `alter_tree.rs` has what changes of a parent mean for its children.

use super::create_table::{CheckSpec, Elements};
use super::{Ddl, NodeEnum};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::lower;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};
use std::sync::Arc;

pub(super) fn invalid_table(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_TABLE_DEFINITION, message)
}

fn mismatch(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::DATATYPE_MISMATCH, message)
}

fn wrong_kind(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::WRONG_OBJECT_TYPE, message)
}

impl Ddl<'_> {
    /// INHERITS (…): the columns and CHECKs of the parents become those of `relation`, which has none yet.
    pub(super) fn inherit_from(&mut self, relation: &mut Relation, parents: &[ast::Node]) -> Result<()> {
        for node in parents {
            work::visit();
            let Some(NodeEnum::RangeVar(name)) = &node.node else {
                return Err(PgError::internal("a parent without a name"));
            };
            let parent = self.find(name)?;
            self.check_parent(relation, &parent, &format!("partition \"{}\"", parent.name))?;
            if relation.inheritance.parents.contains(&parent.oid) {
                let message = format!("relation \"{}\" would be inherited from more than once", parent.name);
                return Err(PgError::new(SqlState::DUPLICATE_TABLE, message));
            }
            relation.inheritance.parents.push(parent.oid);
            self.inherit_columns(relation, &parent)?;
            self.inherit_checks(relation, &parent)?;
        }
        Ok(())
    }

    /// Whether a table may be a child (not a partition) of another.
    /// `partition`: how the error names a partition.
    fn check_parent(&self, child: &Relation, parent: &Relation, partition: &str) -> Result<()> {
        if parent.kind != RelationKind::Table {
            return Err(wrong_kind(format!("inherited relation \"{}\" is not a table or foreign table", parent.name)));
        }
        if parent.is_partitioned() {
            return Err(wrong_kind(format!("cannot inherit from partitioned table \"{}\"", parent.name)));
        }
        if parent.is_partition() {
            return Err(wrong_kind(format!("cannot inherit from {partition}")));
        }
        if parent.temporary && !child.temporary {
            return Err(wrong_kind(format!("cannot inherit from temporary relation \"{}\"", parent.name)));
        }
        if child.temporary && !parent.temporary {
            return Err(PgError::not_supported("a temporary child of a permanent table"));
        }
        if parent.origin == Origin::Foreign {
            return Err(PgError::not_supported("inheriting from a table that another program made"));
        }
        self.check_owner(parent)
    }

    /// The columns of a parent, merged into those that are there already.
    pub(super) fn inherit_columns(&mut self, relation: &mut Relation, parent: &Relation) -> Result<()> {
        for from in parent.live_columns() {
            work::visit();
            let Some(at) = relation.columns.iter().position(|c| c.name == from.name) else {
                super::column_definition::check_column_name(&relation.columns, &from.name, -1)?;
                let attnum = relation.columns.len() as i16 + 1;
                relation.columns.push(Column {
                    not_null: parent.passes_on_not_null(from),
                    default: from.default.clone(),
                    generated: from.generated.clone(),
                    is_virtual: from.is_virtual,
                    collation: from.collation,
                    inherited: Inherited::ONCE,
                    keeping: ColumnKeeping {
                        storage: from.keeping.storage,
                        compression: from.keeping.compression,
                        ..Default::default()
                    },
                    ..Column::new(attnum, from.name.clone(), from.type_oid, from.typmod)
                });
                continue;
            };
            let name = &from.name;
            let message = format!("merging multiple inherited definitions of column \"{name}\"");
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            let column = &mut relation.columns[at];
            if (column.type_oid, column.typmod) != (from.type_oid, from.typmod) {
                let column = column.clone();
                let detail = format!("{} versus {}", self.type_of(&column), self.type_of(from));
                return Err(mismatch(format!("inherited column \"{name}\" has a type conflict")).detail(detail));
            }
            if column.collation != from.collation {
                let message = format!("inherited column \"{name}\" has a collation conflict");
                return Err(PgError::new(SqlState::COLLATION_MISMATCH, message));
            }
            if column.keeping.storage != from.keeping.storage {
                let names = [&*column, from].map(|c| self.storage_word(c));
                return Err(mismatch(format!("inherited column \"{name}\" has a storage parameter conflict"))
                    .detail(format!("{} versus {}", names[0], names[1])));
            }
            match (column.keeping.compression, from.keeping.compression) {
                (None, other) => column.keeping.compression = other,
                (Some(own), Some(other)) if own != other => return Err(compression_conflict(name, own, other)),
                _ => {}
            }
            if column.generated.is_some() != from.generated.is_some() || column.is_virtual != from.is_virtual {
                return Err(mismatch(format!("inherited column \"{name}\" has a generation conflict")));
            }
            column.not_null |= parent.passes_on_not_null(from);
            column.inherited.count += 1;
            match (&column.default, &from.default) {
                (Some(a), Some(b)) if a != b => {
                    // in conflict, unless the child says which
                    column.default = Some(CONFLICT.into());
                }
                (None, Some(_)) => column.default.clone_from(&from.default),
                _ => {}
            }
            if column.generated != from.generated {
                column.generated = Some(CONFLICT.into());
            }
        }
        Ok(())
    }

    fn type_of(&self, column: &Column) -> String {
        pgsqlite_sql::deparse::Names::new(&self.catalog, self.environment.search_path)
            .type_name(column.type_oid, column.typmod)
    }

    /// The CHECKs of a parent.
    pub(super) fn inherit_checks(&mut self, relation: &mut Relation, parent: &Relation) -> Result<()> {
        for check in &parent.constraints {
            work::visit();
            let ConstraintKind::Check { expression, no_inherit: false } = &check.kind else { continue };
            if let Some(own) = relation.constraints.iter_mut().find(|c| c.name == check.name) {
                if matches!(&own.kind, ConstraintKind::Check { expression: e, .. } if e == expression) {
                    own.inherited.count += 1;
                    // (where one of the parents enforces it, so does the child)
                    own.not_enforced &= check.not_enforced;
                    own.not_valid = own.not_enforced;
                    continue;
                }
                return Err(PgError::new(
                    SqlState::DUPLICATE_OBJECT,
                    format!(
                        "check constraint name \"{}\" appears multiple times but with different expressions",
                        check.name
                    ),
                ));
            }
            let columns = renumbered(&check.columns, parent, relation)?;
            relation.constraints.push(Constraint {
                oid: self.new_oid(relation.temporary)?,
                columns,
                inherited: Inherited::ONCE,
                not_valid: check.not_enforced,
                ..check.clone()
            });
        }
        Ok(())
    }

    /// A column definition of a child: of a column of its own, or of one that it inherits. `number`: it is the definition of this
    /// number.
    pub(super) fn child_column_definition(
        &mut self,
        relation: &mut Relation,
        def: &ast::ColumnDef,
        elements: &mut Elements,
        number: i16,
    ) -> Result<()> {
        let Some(at) = relation.columns.iter().position(|c| c.name == def.colname && c.inherited.merely) else {
            if relation.is_partition() {
                let message = match relation.column(&def.colname) {
                    Some(_) => format!("column \"{}\" specified more than once", def.colname),
                    None => format!("column \"{}\" does not exist", def.colname),
                };
                let code = match relation.column(&def.colname) {
                    Some(_) => SqlState::DUPLICATE_COLUMN,
                    None => SqlState::UNDEFINED_COLUMN,
                };
                return Err(PgError::new(code, message));
            }
            return self.column_definition(relation, def, elements);
        };
        // it is defined as if the columns before it were all there are
        let mut scratch = Relation { columns: relation.columns[..at].to_vec(), ..relation.clone() };
        let inherited = relation.columns[at].clone();
        let mut def = def.clone();
        if relation.is_partition() {
            def.type_name = Some(ast::TypeName {
                type_oid: inherited.type_oid,
                typemod: inherited.typmod,
                location: -1,
                names: vec![],
                ..Default::default()
            });
            let names = pgsqlite_sql::deparse::Names::stored(&self.catalog);
            let text = names.type_name(inherited.type_oid, inherited.typmod);
            def.type_name = Some(type_name_of(&text)?);
        } else if at as i16 + 1 == number {
            let message = format!("merging column \"{}\" with inherited definition", def.colname);
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        } else {
            let message = format!("moving and merging column \"{}\" with inherited definition", def.colname);
            let notice = PgError::new(SqlState::SUCCESSFUL_COMPLETION, message)
                .severity(pgsqlite_types::error::Severity::Notice)
                .detail("User-specified column moved to the position of the inherited column.");
            self.notices.push(notice);
        }
        self.column_definition(&mut scratch, &def, elements)?;
        let own = scratch.columns.pop().ok_or_else(|| PgError::internal("a column that was not defined"))?;
        if (own.type_oid, own.typmod) != (inherited.type_oid, inherited.typmod) {
            let detail = format!("{} versus {}", self.type_of(&inherited), self.type_of(&own));
            return Err(mismatch(format!("column \"{}\" has a type conflict", def.colname)).detail(detail));
        }
        if own.collation != inherited.collation {
            let message = format!("column \"{}\" has a collation conflict", def.colname);
            return Err(PgError::new(SqlState::COLLATION_MISMATCH, message));
        }
        if let (Some(before), Some(now)) = (inherited.keeping.compression, own.keeping.compression) {
            if before != now {
                return Err(compression_conflict(&def.colname, before, now));
            }
        }
        let attnum = own.attnum;
        let defaults = elements.defaults.iter().any(|d| d.0 == attnum) || elements.serials.contains(&attnum);
        let generates = elements.generated.iter().any(|g| g.0 == attnum);
        if inherited.generated.is_some() {
            let conflict = |what: &str| {
                PgError::new(
                    SqlState::INVALID_COLUMN_DEFINITION,
                    format!("column \"{}\" inherits from generated column but specifies {what}", def.colname),
                )
            };
            if defaults {
                return Err(conflict("default"));
            }
            if own.identity.is_some() {
                return Err(conflict("identity"));
            }
        }
        if generates && inherited.generated.is_none() {
            // (in PostgreSQL an UPDATE of the parent stores values in it)
            return Err(PgError::not_supported(
                "a generated column in a child of a table whose column is not generated",
            ));
        }
        if generates {
            super::generated::check_kind(&inherited, &own, SqlState::INVALID_COLUMN_DEFINITION)?;
            return Err(PgError::new(
                SqlState::INVALID_COLUMN_DEFINITION,
                format!("child column \"{}\" specifies generation expression", def.colname),
            )
            .hint("Omit the generation expression in the definition of the child table column to inherit the generation expression from the parent table."));
        }
        if relation.is_partition() && own.identity.is_some() {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "identity columns are not supported on partitions",
            ));
        }
        let column = &mut relation.columns[at];
        column.not_null |= own.not_null;
        column.inherited.merely = false;
        column.identity = own.identity;
        if defaults || own.identity.is_some() {
            column.default = None;
        }
        Ok(())
    }

    /// Refuses columns whose parents have different defaults where the child has not said which.
    pub(super) fn check_default_conflicts(&self, relation: &Relation, elements: &Elements) -> Result<()> {
        for column in relation.live_columns() {
            work::visit();
            let conflict = |text: &Option<String>| text.as_deref() == Some(CONFLICT);
            if conflict(&column.generated) {
                return Err(PgError::new(
                    SqlState::INVALID_COLUMN_DEFINITION,
                    format!("column \"{}\" inherits conflicting generation expressions", column.name),
                ));
            }
            let given = elements.defaults.iter().any(|d| d.0 == column.attnum);
            if conflict(&column.default) && !given {
                return Err(PgError::new(
                    SqlState::INVALID_COLUMN_DEFINITION,
                    format!("column \"{}\" inherits conflicting default values", column.name),
                )
                .hint("To resolve the conflict, specify a default explicitly."));
            }
        }
        Ok(())
    }

    /// Merges a new CHECK into the inherited constraint of the same name and the same condition. Returns whether there is one.
    /// Errors: 42P17 if the new one is NO INHERIT.
    pub(super) fn merge_check(&mut self, relation: &mut Relation, spec: &CheckSpec) -> Result<bool> {
        let Some(at) = relation.constraints.iter().position(|c| !spec.name.is_empty() && c.name == spec.name) else {
            return Ok(false);
        };
        if !relation.constraints[at].inherited.merely {
            return Ok(false);
        }
        let (_, text) =
            self.expression(&spec.condition, Some(relation), Some((oid::BOOL, -1)), super::create_table::CHECK)?;
        if !matches!(&relation.constraints[at].kind, ConstraintKind::Check { expression, .. } if *expression == text) {
            return Ok(false);
        }
        if spec.no_inherit {
            return Err(PgError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                format!(
                    "constraint \"{}\" conflicts with inherited constraint on relation \"{}\"",
                    spec.name, relation.name
                ),
            ));
        }
        let own = &mut relation.constraints[at];
        if spec.not_enforced && !own.not_enforced {
            return Err(PgError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                format!(
                    "constraint \"{}\" conflicts with NOT ENFORCED constraint on relation \"{}\"",
                    spec.name, relation.name
                ),
            ));
        }
        if own.not_enforced && !spec.not_enforced {
            (own.not_enforced, own.not_valid) = (false, false);
        }
        let message = format!("merging constraint \"{}\" with inherited definition", spec.name);
        self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        // (a partition's is its table's)
        relation.constraints[at].inherited.merely = relation.is_partition();
        Ok(true)
    }

    /// ALTER TABLE … INHERIT.
    pub(super) fn add_parent(&mut self, child: Oid, command: &ast::AlterTableCmd) -> Result<()> {
        let parent = self.parent_of_command(command)?;
        let relation = (**self.required(child)?).clone();
        if relation.kind != RelationKind::Table {
            let message = format!("ALTER action INHERIT cannot be performed on relation \"{}\"", relation.name);
            return Err(wrong_kind(&message).detail(relation.kind.not_supported()));
        }
        if relation.is_partition() {
            return Err(wrong_kind("cannot change inheritance of a partition"));
        }
        if relation.is_partitioned() {
            return Err(wrong_kind("cannot change inheritance of partitioned table"));
        }
        self.check_parent(&relation, &parent, "a partition")?;
        let duplicate = |message: String| PgError::new(SqlState::DUPLICATE_TABLE, message);
        if relation.inheritance.parents.contains(&parent.oid) {
            return Err(duplicate(format!("relation \"{}\" would be inherited from more than once", parent.name)));
        }
        if self.catalog.with_descendants(child).contains(&parent.oid) {
            return Err(duplicate("circular inheritance not allowed".into())
                .detail(format!("\"{}\" is already a child of \"{}\".", parent.name, relation.name)));
        }
        check_row_triggers(&relation, "an inheritance child", "in inheritance hierarchies")?;
        let mut new = relation;
        self.adopt(&mut new, &parent)?;
        new.inheritance.parents.push(parent.oid);
        self.put_relation(new)
    }

    fn parent_of_command(&self, command: &ast::AlterTableCmd) -> Result<Arc<Relation>> {
        match command.def.as_ref().and_then(|d| d.node.as_ref()) {
            Some(NodeEnum::RangeVar(name)) => self.find(name),
            _ => Err(PgError::internal("a parent without a name")),
        }
    }

    /// Checks that a table that exists has what it would inherit, and counts it as inherited.
    pub(super) fn adopt(&mut self, child: &mut Relation, parent: &Relation) -> Result<()> {
        let partition = parent.is_partitioned();
        for from in parent.live_columns() {
            work::visit();
            let Some(at) = child.columns.iter().position(|c| !c.dropped && c.name == from.name) else {
                return Err(mismatch(format!("child table is missing column \"{}\"", from.name)));
            };
            let column = &mut child.columns[at];
            if (column.type_oid, column.typmod) != (from.type_oid, from.typmod) {
                return Err(mismatch(format!(
                    "child table \"{}\" has different type for column \"{}\"",
                    child.name, from.name
                )));
            }
            if column.collation != from.collation {
                return Err(PgError::new(
                    SqlState::COLLATION_MISMATCH,
                    format!("child table \"{}\" has different collation for column \"{}\"", child.name, from.name),
                ));
            }
            if parent.passes_on_not_null(from) && !column.needs_value() {
                let message =
                    format!("column \"{}\" in child table \"{}\" must be marked NOT NULL", from.name, child.name);
                return Err(mismatch(message));
            }
            if from.generated.is_some() && column.generated.is_none() {
                return Err(mismatch(format!("column \"{}\" in child table must be a generated column", from.name)));
            }
            if from.generated.is_none() && column.generated.is_some() {
                return Err(PgError::not_supported(
                    "a generated column in a child of a table whose column is not generated",
                ));
            }
            super::generated::check_kind(from, column, SqlState::DATATYPE_MISMATCH)?;
            if from.generated != column.generated {
                let message =
                    format!("column \"{}\" in child table has a conflicting generation expression", from.name);
                return Err(mismatch(message));
            }
            column.inherited.count += 1;
            if partition {
                column.inherited.merely = true;
            }
        }
        for from in parent.live_columns().filter(|c| parent.passes_on_not_null(c)) {
            work::visit();
            let attnum = child.column(&from.name).map(|c| c.attnum);
            let Some(own) = child.constraints.iter_mut().find(|c| c.not_null_of().is_some_and(|a| Some(a) == attnum))
            else {
                continue;
            };
            let conflict = match (own.is_no_inherit(), own.not_valid) {
                (true, _) => "non-inherited",
                (_, true) => "NOT VALID",
                _ => "",
            };
            if !conflict.is_empty() {
                let message = format!(
                    "constraint \"{}\" conflicts with {conflict} constraint on child table \"{}\"",
                    own.name, child.name
                );
                return Err(PgError::new(SqlState::INVALID_OBJECT_DEFINITION, message));
            }
            if parent.not_null_constraint(from.attnum).is_some() {
                own.inherited.count += 1;
                own.inherited.merely |= partition;
            }
        }
        for check in &parent.constraints {
            work::visit();
            let ConstraintKind::Check { expression, no_inherit: false } = &check.kind else { continue };
            let Some(own) = child.constraints.iter_mut().find(|c| c.is_check() && c.name == check.name) else {
                return Err(mismatch(format!("child table is missing constraint \"{}\"", check.name)));
            };
            match &own.kind {
                ConstraintKind::Check { expression: e, .. } if e != expression => {
                    return Err(mismatch(format!(
                        "child table \"{}\" has different definition for check constraint \"{}\"",
                        child.name, check.name
                    )))
                }
                ConstraintKind::Check { no_inherit: true, .. } => {
                    return Err(PgError::new(
                        SqlState::INVALID_OBJECT_DEFINITION,
                        format!(
                            "constraint \"{}\" conflicts with non-inherited constraint on child table \"{}\"",
                            check.name, child.name
                        ),
                    ))
                }
                _ if own.not_enforced && !check.not_enforced => {
                    return Err(PgError::new(
                        SqlState::INVALID_OBJECT_DEFINITION,
                        format!(
                            "constraint \"{}\" conflicts with NOT ENFORCED constraint on child table \"{}\"",
                            check.name, child.name
                        ),
                    ))
                }
                _ if own.not_valid && !own.not_enforced => {
                    return Err(PgError::new(
                        SqlState::INVALID_OBJECT_DEFINITION,
                        format!(
                            "constraint \"{}\" conflicts with NOT VALID constraint on child table \"{}\"",
                            check.name, child.name
                        ),
                    ))
                }
                _ => {}
            }
            own.inherited.count += 1;
            if partition {
                own.inherited.merely = true;
            }
        }
        Ok(())
    }

    /// ALTER TABLE … NO INHERIT.
    pub(super) fn remove_parent(&mut self, child: Oid, command: &ast::AlterTableCmd) -> Result<()> {
        let parent = self.parent_of_command(command)?;
        let mut new = (**self.required(child)?).clone();
        if new.is_partition() {
            return Err(wrong_kind("cannot change inheritance of a partition"));
        }
        if !new.inheritance.parents.contains(&parent.oid) {
            let message = match parent.is_partitioned() {
                true => format!("relation \"{}\" is not a partition of relation \"{}\"", new.name, parent.name),
                false => format!("relation \"{}\" is not a parent of relation \"{}\"", parent.name, new.name),
            };
            return Err(PgError::new(SqlState::UNDEFINED_TABLE, message));
        }
        disown(&mut new, &parent);
        self.put_relation(new)
    }
}

/// Stands for a default that parents disagree about, until the child's own is known.
const CONFLICT: &str = "\0conflict";

/// A table is no longer a child of another: what it inherited becomes its own.
pub(super) fn disown(child: &mut Relation, parent: &Relation) {
    child.inheritance.parents.retain(|p| *p != parent.oid);
    let less = |inherited: &mut Inherited| {
        inherited.count = inherited.count.saturating_sub(1);
        if inherited.count == 0 {
            inherited.merely = false;
        }
    };
    for column in child.columns.iter_mut().filter(|c| !c.dropped && parent.column(&c.name).is_some()) {
        work::visit();
        less(&mut column.inherited);
    }
    for from in parent.constraints.iter().filter(|c| !c.is_no_inherit()) {
        work::visit();
        let column = from.not_null_of().and_then(|a| parent.column_by_attnum(a));
        let Some(attnum) = column.and_then(|c| child.column(&c.name)).map(|c| c.attnum) else { continue };
        child.constraints.iter_mut().filter(|c| c.not_null_of() == Some(attnum)).for_each(|c| less(&mut c.inherited));
    }
    for own in child.constraints.iter_mut().filter(|c| c.is_check() && c.inherited.count > 0) {
        work::visit();
        let passed_on = |c: &&Constraint| matches!(c.kind, ConstraintKind::Check { no_inherit: false, .. });
        if parent.constraints.iter().filter(passed_on).any(|c| c.name == own.name) {
            less(&mut own.inherited);
        }
    }
}

/// attnums of one table as those of the columns of the same names of another.
pub(super) fn renumbered(attnums: &[i16], from: &Relation, to: &Relation) -> Result<Vec<i16>> {
    attnums
        .iter()
        .map(|a| {
            let name = from.column_by_attnum(*a).map_or("", |c| &c.name);
            to.column(name).map(|c| c.attnum).ok_or_else(|| lower::missing_column(from, to, name))
        })
        .collect()
}

/// The grammar's tree of a type's name.
fn type_name_of(text: &str) -> Result<ast::TypeName> {
    let statements = pgsqlite_sql::parse::parse(&format!("SELECT NULL::{text}"))?;
    let found = statements.first().and_then(|s| match &s.node {
        NodeEnum::SelectStmt(s) => s.target_list.first(),
        _ => None,
    });
    if let Some(NodeEnum::ResTarget(target)) = found.and_then(|n| n.node.as_ref()) {
        if let Some(NodeEnum::TypeCast(cast)) = target.val.as_ref().and_then(|v| v.node.as_ref()) {
            if let Some(name) = &cast.type_name {
                return Ok(name.clone());
            }
        }
    }
    Err(PgError::internal("a type's name that is not one"))
}

/// Refuses a table to become a child while a row trigger of it has transition tables. `becoming`, `place`: what the error calls
/// the new role and where such triggers may not be. Errors: 0A000, as in PostgreSQL.
pub(super) fn check_row_triggers(child: &Relation, becoming: &str, place: &str) -> Result<()> {
    let unfit = child.triggers.iter().filter(|t| t.row && (t.old_table.is_some() || t.new_table.is_some()));
    let Some(trigger) = unfit.min_by_key(|t| &t.name) else { return Ok(()) };
    let message = format!("trigger \"{}\" prevents table \"{}\" from becoming {becoming}", trigger.name, child.name);
    Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .detail(format!("ROW triggers with transition tables are not supported {place}.")))
}

fn compression_conflict(column: &str, one: char, other: char) -> PgError {
    let word = |method: char| if method == 'l' { "lz4" } else { "pglz" };
    PgError::new(SqlState::DATATYPE_MISMATCH, format!("column \"{column}\" has a compression method conflict"))
        .detail(format!("{} versus {}", word(one), word(other)))
}
