//! NOT NULL as a constraint with a name, as PostgreSQL 18 has it: what definitions of tables and ALTER TABLE say of one.
//!
//! Every NOT NULL of a table's column is a constraint of the table: one that is written beside its column, and that of a primary key, an identity
//! column and a serial one. Files of earlier versions have NOT NULLs that are properties of their columns alone: `pgsqlite_metadata::store::not_nulls`
//! makes constraints of them.

use super::inherit::{invalid_table, renumbered};
use super::{strings, Ddl, Oid};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{work, PgError, Result, SqlState};

/// A NOT NULL that was written.
#[derive(Clone)]
pub(super) struct NotNullSpec {
    /// may be empty
    pub name: String,
    pub column: String,
    pub no_inherit: bool,
    pub not_valid: bool,
    /// It stands beside its column.
    pub beside_column: bool,
    /// of LIKE … INCLUDING COMMENTS
    pub comment: Option<String>,
}

impl NotNullSpec {
    /// That of a column which is NOT NULL for another reason: it is part of a primary key, or an identity or a serial column.
    fn implied(column: &Column) -> NotNullSpec {
        NotNullSpec {
            name: String::new(),
            column: column.name.clone(),
            no_inherit: false,
            not_valid: false,
            beside_column: true,
            comment: None,
        }
    }
}

fn state(message: String) -> PgError {
    PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

fn conflicting_no_inherit(column: &str) -> PgError {
    let message = format!("conflicting NO INHERIT declaration for not-null constraint on column \"{column}\"");
    PgError::new(SqlState::SYNTAX_ERROR, message)
}

fn fixed_inheritance(constraint: &Constraint, relation: &Relation) -> PgError {
    let (name, table) = (&constraint.name, &relation.name);
    state(format!("cannot change NO INHERIT status of NOT NULL constraint \"{name}\" on relation \"{table}\""))
        .hint("You might need to make the existing constraint inheritable using ALTER TABLE ... ALTER CONSTRAINT ... INHERIT.")
}

/// What SET NOT NULL does not do.
fn unchangeable(constraint: &Constraint, relation: &Relation) -> PgError {
    let message = fixed_inheritance(constraint, relation).message().to_string();
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn not_yet_valid(constraint: &Constraint, relation: &Relation) -> PgError {
    state(format!("incompatible NOT VALID constraint \"{}\" on relation \"{}\"", constraint.name, relation.name))
        .hint("You might need to validate it using ALTER TABLE ... VALIDATE CONSTRAINT.")
}

/// Refuses a primary key of a column whose NOT NULL does not hold for all rows, or not for children. Errors: 55000.
pub(super) fn check_fit_for_key(relation: &Relation, column: &Column) -> Result<()> {
    let Some(own) = relation.not_null_constraint(column.attnum) else { return Ok(()) };
    let (flaw, remedy) = match (own.is_no_inherit(), own.not_valid) {
        (true, _) => (
            "NO INHERIT",
            "make the existing constraint inheritable using ALTER TABLE ... ALTER CONSTRAINT ... INHERIT.",
        ),
        (_, true) => ("NOT VALID", "validate it using ALTER TABLE ... VALIDATE CONSTRAINT."),
        _ => return Ok(()),
    };
    Err(state(format!("cannot create primary key on column \"{}\"", column.name))
        .detail(format!(
            "The constraint \"{}\" on column \"{}\" of table \"{}\", marked {flaw}, is incompatible with a primary key.",
            own.name, column.name, relation.name
        ))
        .hint(format!("You might need to {remedy}")))
}

impl Ddl<'_> {
    /// The NOT NULL of a table's definition or of ADD CONSTRAINT.
    pub(super) fn not_null_spec(&self, c: &ast::Constraint) -> Result<NotNullSpec> {
        let column = strings(&c.keys).first().map(|k| k.to_string());
        Ok(NotNullSpec {
            name: c.conname.clone(),
            column: column.ok_or_else(|| PgError::internal("a NOT NULL of no column"))?,
            no_inherit: c.is_no_inherit,
            not_valid: c.skip_validation,
            beside_column: false,
            comment: None,
        })
    }

    fn not_null_column(&self, relation: &Relation, spec: &NotNullSpec) -> Result<i16> {
        if let "tableoid" | "xmin" | "cmin" | "xmax" | "cmax" | "ctid" = spec.column.as_str() {
            let message = format!("cannot add not-null constraint on system column \"{}\"", spec.column);
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(self.alter_column_of(relation, &spec.column)?.attnum)
    }

    // --- new tables ----------------------------------------------------------------------------------------------------

    /// What the NOT NULLs of a new table say of its columns. Errors: 42703, 42601, 42804, 0A000.
    pub(super) fn set_not_nulls(&self, relation: &mut Relation, specs: &[NotNullSpec]) -> Result<()> {
        for (i, spec) in specs.iter().enumerate() {
            work::visit();
            let attnum = self.not_null_column(relation, spec)?;
            let of_column = || specs.iter().filter(|other| other.column == spec.column);
            if spec.no_inherit && relation.is_partitioned() {
                let message = "not-null constraints on partitioned tables cannot be NO INHERIT";
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            if spec.no_inherit && self.inherits_not_null(relation, &spec.column) {
                let message =
                    format!("cannot define not-null constraint with NO INHERIT on column \"{}\"", spec.column);
                return Err(PgError::new(SqlState::DATATYPE_MISMATCH, message)
                    .detail("The column has an inherited not-null constraint."));
            }
            let column = &mut relation.columns[attnum as usize - 1];
            // (that of an identity or serial column is inherited)
            let implied = column.identity.is_some() || column.not_null && !of_column().any(|o| o.beside_column);
            if of_column().any(|o| o.no_inherit != spec.no_inherit) || spec.no_inherit && implied {
                return Err(conflicting_no_inherit(&spec.column));
            }
            let conflicts = |s: &&NotNullSpec| {
                let unnamed = s.name.is_empty() || spec.name.is_empty();
                !unnamed && s.column == spec.column && s.name != spec.name
            };
            if let Some(other) = specs[..i].iter().find(conflicts) {
                let message = format!("conflicting not-null constraint names \"{}\" and \"{}\"", other.name, spec.name);
                return Err(PgError::new(SqlState::SYNTAX_ERROR, message));
            }
        }
        for spec in specs {
            work::visit();
            let attnum = self.not_null_column(relation, spec)?;
            relation.columns[attnum as usize - 1].not_null = true;
        }
        Ok(())
    }

    fn inherits_not_null(&self, relation: &Relation, column: &str) -> bool {
        let parents = relation.inheritance.parents.iter().filter_map(|p| self.catalog.relation(*p));
        parents.filter_map(|p| p.column(column).map(|c| (p, c))).any(|(p, c)| p.passes_on_not_null(c))
    }

    /// The NOT NULLs of a new table as constraints, after its other constraints: their names are taken. Returns the comments that they get.
    pub(super) fn make_not_nulls(
        &mut self,
        relation: &mut Relation,
        specs: &[NotNullSpec],
    ) -> Result<Vec<(Oid, String)>> {
        let of_key = |spec: &&NotNullSpec| {
            spec.no_inherit && relation.column(&spec.column).is_some_and(|c| relation.is_in_primary_key(c.attnum))
        };
        if let Some(spec) = specs.iter().find(of_key) {
            return Err(conflicting_no_inherit(&spec.column));
        }
        // (column, the name that parents give it, how many of them have it as a constraint)
        let mut inherited: Vec<(i16, String, u16)> = Vec::new();
        for parent in relation.inheritance.parents.clone() {
            let parent = self.required(parent)?.clone();
            for c in parent.constraints.iter().filter(|c| c.not_null_of().is_some() && !c.is_no_inherit()) {
                work::visit();
                let attnum = renumbered(&c.columns, &parent, relation)?[0];
                match inherited.iter_mut().find(|i| i.0 == attnum) {
                    Some(found) => found.2 += 1,
                    None => inherited.push((attnum, c.name.clone(), 1)),
                }
            }
        }
        // those with names come before those that get one
        let mut own: Vec<NotNullSpec> = specs.to_vec();
        let is_known = |c: &Column| inherited.iter().any(|i| i.0 == c.attnum) && !relation.is_in_primary_key(c.attnum);
        let implied = relation.live_columns().filter(|c| c.not_null && !is_known(c));
        own.extend(implied.map(NotNullSpec::implied));
        own.sort_by_key(|s| (s.name.is_empty(), s.beside_column));
        let mut comments = Vec::new();
        for spec in own {
            work::visit();
            let attnum = self.not_null_column(relation, &spec)?;
            let count = inherited.iter().find(|i| i.0 == attnum).map_or(0, |i| i.2);
            if relation.not_null_constraint(attnum).is_some() {
                continue;
            }
            let mut name = spec.name;
            if name.is_empty() {
                name = self.new_not_null_name(relation, attnum);
            } else if relation.constraints.iter().any(|c| c.name == name) {
                self.check_constraint_name(relation, &name)?;
            }
            let inherited = Inherited { count, ..Default::default() };
            let constraint = self.new_not_null(relation, name, attnum, spec.no_inherit, inherited)?;
            comments.extend(spec.comment.map(|text| (constraint.oid, text)));
            relation.constraints.push(constraint);
        }
        for (attnum, name, count) in inherited {
            work::visit();
            if relation.not_null_constraint(attnum).is_some() {
                continue;
            }
            let taken = relation.constraints.iter().any(|c| c.name == name);
            let name = if taken { self.new_not_null_name(relation, attnum) } else { name };
            let inherited = Inherited { count, ..Inherited::ONCE };
            let constraint = self.new_not_null(relation, name, attnum, false, inherited)?;
            relation.constraints.push(constraint);
        }
        Ok(comments)
    }

    fn new_not_null(
        &mut self,
        relation: &Relation,
        name: String,
        attnum: i16,
        no_inherit: bool,
        inherited: Inherited,
    ) -> Result<Constraint> {
        Ok(Constraint {
            oid: self.new_oid(relation.temporary)?,
            name,
            kind: ConstraintKind::NotNull { no_inherit },
            columns: vec![attnum],
            index: 0,
            deferrable: false,
            initially_deferred: false,
            not_valid: relation.column_by_attnum(attnum).is_some_and(|c| c.not_null_pending),
            inherited,
            managed: false,
            not_enforced: false,
            temporal: None,
        })
    }

    fn new_not_null_name(&self, relation: &Relation, attnum: i16) -> String {
        let column = relation.column_by_attnum(attnum).map_or("", |c| c.name.as_str());
        let taken: Vec<String> = relation.constraints.iter().map(|c| c.name.clone()).collect();
        self.choose_constraint_name(relation.schema, &relation.name, column, "not_null", &taken)
    }

    /// Makes constraints of the NOT NULLs that a table's columns have got from something else than a constraint: from SET NOT NULL or a primary
    /// key, or with a new identity or serial column. Returns them.
    pub(super) fn complete_not_nulls(&mut self, table: Oid, no_inherit: bool) -> Result<Vec<Constraint>> {
        // (the system's tables are in no catalog)
        let Some(relation) = self.catalog.relation(table).cloned() else { return Ok(Vec::new()) };
        let lacks = |c: &&Column| c.not_null && relation.not_null_constraint(c.attnum).is_none();
        let columns: Vec<i16> = relation.live_columns().filter(lacks).map(|c| c.attnum).collect();
        if relation.kind != RelationKind::Table || columns.is_empty() {
            return Ok(Vec::new());
        }
        let mut new = (*relation).clone();
        let mut made = Vec::new();
        for attnum in columns {
            work::visit();
            let name = self.new_not_null_name(&new, attnum);
            let own = self.new_not_null(&new, name, attnum, no_inherit, Inherited::default())?;
            new.constraints.push(own.clone());
            made.push(own);
        }
        self.put_relation(new)?;
        Ok(made)
    }

    // --- ALTER TABLE ---------------------------------------------------------------------------------------------------

    /// ADD CONSTRAINT … NOT NULL of one table. Returns the constraint, if it was not there before.
    pub(super) fn add_not_null(&mut self, table: Oid, spec: &NotNullSpec) -> Result<Option<Constraint>> {
        let relation = (**self.required(table)?).clone();
        let attnum = self.not_null_column(&relation, spec)?;
        let column = relation.columns[attnum as usize - 1].clone();
        if spec.no_inherit && relation.is_partitioned() {
            let message = "not-null constraints on partitioned tables cannot be NO INHERIT";
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if relation.not_null_constraint(attnum).is_some() {
            self.merge_not_null(table, attnum, spec)?;
            return Ok(None);
        }
        if relation.constraints.iter().any(|c| c.name == spec.name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_OBJECT,
                format!("constraint \"{}\" for relation \"{}\" already exists", spec.name, relation.name),
            ));
        }
        if spec.no_inherit && (column.identity.is_some() || relation.is_in_primary_key(attnum)) {
            return Err(conflicting_no_inherit(&column.name));
        }
        let name = if spec.name.is_empty() { self.new_not_null_name(&relation, attnum) } else { spec.name.clone() };
        self.demand_value(&relation, attnum, spec.not_valid)?;
        let mut new = (**self.required(table)?).clone();
        let own = self.new_not_null(&new, name, attnum, spec.no_inherit, Inherited::default())?;
        new.constraints.push(own.clone());
        self.put_relation(new)?;
        Ok(Some(own))
    }

    /// Refuses a NOT NULL that says something else than the one that is there. Errors: 55000.
    fn merge_not_null(&mut self, table: Oid, attnum: i16, spec: &NotNullSpec) -> Result<()> {
        let mut new = (**self.required(table)?).clone();
        let (name, column) = (new.name.clone(), new.columns[attnum as usize - 1].name.clone());
        let relation = new.clone();
        let Some(own) = new.constraints.iter_mut().find(|c| c.not_null_of() == Some(attnum)) else { return Ok(()) };
        if own.is_no_inherit() != spec.no_inherit {
            return Err(fixed_inheritance(own, &relation));
        }
        if own.not_valid && !spec.not_valid {
            return Err(not_yet_valid(own, &relation));
        }
        if !spec.name.is_empty() && own.name != spec.name {
            let message = format!(
                "cannot create not-null constraint \"{}\" on column \"{column}\" of table \"{name}\"",
                spec.name
            );
            return Err(state(message)
                .detail(format!("A not-null constraint named \"{}\" already exists for this column.", own.name)));
        }
        if own.inherited.merely {
            own.inherited.merely = false;
            self.put_relation(new)?;
        }
        Ok(())
    }

    /// A column is NOT NULL from now on; NOT VALID: the rows that are there may be as they are.
    fn demand_value(&mut self, relation: &Relation, attnum: i16, not_valid: bool) -> Result<()> {
        if !not_valid || relation.columns[attnum as usize - 1].not_null {
            return self.set_not_null(relation, attnum);
        }
        let mut new = relation.clone();
        new.columns[attnum as usize - 1].not_null_pending = true;
        self.put_relation(new)
    }

    /// A NOT NULL of a parent for its children.
    pub(super) fn pass_on_not_null(&mut self, parent: Oid, constraint: &Constraint) -> Result<()> {
        if constraint.is_no_inherit() {
            return Ok(());
        }
        let table = self.required(parent)?.clone();
        for child in self.catalog.children(parent).to_vec() {
            work::visit();
            let mut new = (**self.required(child)?).clone();
            let attnum = renumbered(&constraint.columns, &table, &new)?[0];
            let before = new.clone();
            if let Some(own) = new.constraints.iter_mut().find(|c| c.not_null_of() == Some(attnum)) {
                if own.is_no_inherit() {
                    return Err(fixed_inheritance(own, &before));
                }
                if own.not_valid && !constraint.not_valid {
                    return Err(not_yet_valid(own, &before));
                }
                own.inherited.count += 1;
                self.put_relation(new)?;
                continue;
            }
            let column = before.columns[attnum as usize - 1].clone();
            let merely = !column.not_null || column.inherited.merely;
            let taken = before.constraints.iter().any(|c| c.name == constraint.name);
            let name = if merely && !taken { constraint.name.clone() } else { self.new_not_null_name(&before, attnum) };
            self.demand_value(&before, attnum, constraint.not_valid)?;
            let mut new = (**self.required(child)?).clone();
            let own = self.new_not_null(&new, name, attnum, false, Inherited { merely, ..Inherited::ONCE })?;
            new.constraints.push(own.clone());
            self.put_relation(new)?;
            self.pass_on_not_null(child, &own)?;
        }
        Ok(())
    }

    /// Refuses to let a column be NULL that must not be. Errors: 42P16, 42601 for an identity column.
    pub(super) fn check_not_null_unneeded(&self, relation: &Relation, column: &Column) -> Result<()> {
        if relation.is_in_primary_key(column.attnum) {
            return Err(invalid_table(format!("column \"{}\" is in a primary key", column.name)));
        }
        if let ReplicaIdentity::Index(index) = relation.storage.replica_identity {
            let of_index = self.catalog.indexes_of(relation.oid).find(|(r, _)| r.oid == index);
            if of_index.is_some_and(|(_, i)| i.columns.iter().any(|c| c.key == KeyPart::Column(column.attnum))) {
                return Err(invalid_table(format!("column \"{}\" is in index used as replica identity", column.name)));
            }
        }
        match column.identity {
            Some(_) => Err(self.is_identity(relation, column)),
            None => Ok(()),
        }
    }

    /// What concerns a NOT NULL in a command that is about a constraint or column, before it is carried out. Returns the command that
    /// does the same to the constraint. Errors: 42P16, 55000, 0A000.
    pub(super) fn prepare_not_null(
        &mut self,
        table: Oid,
        command: &ast::AlterTableCmd,
        only: bool,
    ) -> Result<Option<ast::AlterTableCmd>> {
        use ast::AlterTableType as T;
        let mut new = (**self.required(table)?).clone();
        let relation = new.clone();
        let of_column = relation.column(&command.name).and_then(|c| relation.not_null_constraint(c.attnum));
        match (command.subtype(), of_column) {
            (T::AtDropNotNull, Some(own)) => {
                if let Some(column) = relation.column(&command.name) {
                    self.check_of_child(&relation, command)?;
                    self.check_not_null_unneeded(&relation, column)?;
                }
                Ok(Some(ast::AlterTableCmd {
                    subtype: T::AtDropConstraint as i32,
                    name: own.name.clone(),
                    ..command.clone()
                }))
            }
            (T::AtSetNotNull, Some(own)) => {
                if own.is_no_inherit() && !only {
                    return Err(unchangeable(own, &relation));
                }
                if own.inherited.merely {
                    let oid = own.oid;
                    new.constraints.iter_mut().filter(|c| c.oid == oid).for_each(|c| c.inherited.merely = false);
                    self.put_relation(new)?;
                }
                Ok(None)
            }
            (T::AtDropConstraint, _) => {
                let own = relation.constraints.iter().find(|c| c.name == command.name);
                let column = own.and_then(|c| c.not_null_of()).and_then(|a| relation.column_by_attnum(a));
                if let (Some(column), Some(0)) = (column, own.map(|c| c.inherited.count)) {
                    if column.identity.is_some() {
                        let message = self.is_identity(&relation, column).message().to_string();
                        return Err(state(message));
                    }
                    self.check_not_null_unneeded(&relation, column)?;
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// VALIDATE CONSTRAINT of a NOT NULL, in the tables that inherit the column, too. Errors: 23502, 42P16.
    pub(super) fn validate_not_null(&mut self, table: Oid, attnum: i16, only: bool) -> Result<()> {
        let relation = self.required(table)?.clone();
        let Some(own) = relation.not_null_constraint(attnum).filter(|c| c.not_valid) else { return Ok(()) };
        let name = relation.column_by_attnum(attnum).map_or(String::new(), |c| c.name.clone());
        let below: Vec<Oid> = match own.is_no_inherit() {
            true => Vec::new(),
            false => self.catalog.with_descendants(table).into_iter().skip(1).collect(),
        };
        if only && !below.is_empty() {
            return Err(invalid_table("constraint must be validated on child tables too"));
        }
        for table in below.into_iter().chain([table]) {
            work::visit();
            let relation = (**self.required(table)?).clone();
            if let Some(column) = relation.column(&name).filter(|c| c.not_null_pending) {
                self.set_not_null(&relation, column.attnum)?;
            }
        }
        Ok(())
    }

    /// ALTER CONSTRAINT … [NO] INHERIT. Errors: 55000 for one that is inherited itself, 0A000 for a partitioned table's.
    pub(super) fn set_inheritable(&mut self, table: Oid, constraint: Oid, inherit: bool) -> Result<()> {
        let mut new = (**self.required(table)?).clone();
        let (relation, partitioned) = (new.name.clone(), new.is_partitioned());
        let Some(own) = new.constraints.iter_mut().find(|c| c.oid == constraint) else { return Ok(()) };
        if own.inherited.count > 0 {
            let message = format!("cannot alter inherited constraint \"{}\" on relation \"{relation}\"", own.name);
            return Err(state(message));
        }
        if !inherit && partitioned {
            let message = format!(
                "not-null constraint \"{}\" on partitioned table \"{relation}\" cannot be NO INHERIT",
                own.name
            );
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if own.is_no_inherit() != inherit {
            return Ok(());
        }
        own.kind = ConstraintKind::NotNull { no_inherit: !inherit };
        let own = own.clone();
        let parent = new.clone();
        self.put_relation(new)?;
        if inherit {
            for child in self.catalog.children(table) {
                work::visit();
                let child = self.required(*child)?;
                let attnum = renumbered(&own.columns, &parent, child)?[0];
                if let Some(of_child) = child.not_null_constraint(attnum).filter(|c| c.is_no_inherit()) {
                    return Err(unchangeable(of_child, child));
                }
            }
            return self.pass_on_not_null(table, &own);
        }
        for child in self.catalog.children(table).to_vec() {
            work::visit();
            let mut new = (**self.required(child)?).clone();
            let attnum = renumbered(&own.columns, &parent, &new)?[0];
            for of_child in new.constraints.iter_mut().filter(|c| c.not_null_of() == Some(attnum)) {
                work::visit();
                of_child.inherited.count = of_child.inherited.count.saturating_sub(1);
                of_child.inherited.merely = false;
            }
            self.put_relation(new)?;
        }
        Ok(())
    }
}
