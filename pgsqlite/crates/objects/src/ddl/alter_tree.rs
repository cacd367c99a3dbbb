//! ALTER TABLE of a table that has children or partitions, or is one: which commands go on to the descendants, what they may not do.

use super::dependencies::Object;
use super::inherit::{invalid_table, renumbered};
use super::{Ddl, NodeEnum};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// Where ALTER COLUMN … TYPE names its column; -1: of other commands errors tell no place.
pub(super) fn column_place(command: &ast::AlterTableCmd) -> i32 {
    match command.def.as_deref().and_then(|def| def.node.as_ref()) {
        Some(NodeEnum::ColumnDef(def)) if command.subtype() == ast::AlterTableType::AtAlterColumnType => def.location,
        _ => -1,
    }
}

impl Ddl<'_> {
    /// One command on a table and, unless ONLY was written, its descendants.
    pub(super) fn alter_tree(&mut self, table: Oid, command: &ast::AlterTableCmd, only: bool) -> Result<()> {
        self.alter_in_tree(table, command, only)?;
        let alone = only && command.subtype() == ast::AlterTableType::AtSetNotNull && self.catalog.has_children(table);
        for constraint in self.complete_not_nulls(table, alone)? {
            work::visit();
            self.pass_on_not_null(table, &constraint)?;
        }
        Ok(())
    }

    fn alter_in_tree(&mut self, table: Oid, command: &ast::AlterTableCmd, only: bool) -> Result<()> {
        use ast::AlterTableType as T;
        let relation = self.required(table)?.clone();
        let kind = command.subtype();
        match kind {
            T::AtAddInherit | T::AtDropInherit if relation.inheritance.of_type != 0 => {
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, "cannot change inheritance of typed table"))
            }
            T::AtAddInherit => return self.add_parent(table, command),
            T::AtDropInherit => return self.remove_parent(table, command),
            T::AtAttachPartition => return self.attach_partition(table, command),
            T::AtDetachPartition | T::AtDetachPartitionFinalize => return self.detach_partition(table, command),
            _ if relation.inheritance.detaching => {
                let message = format!("cannot alter partition \"{}\" with an incomplete detach", relation.name);
                return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                    .hint(super::partition::FINALIZE_HINT));
            }
            _ => {}
        }
        let of_constraint = self.prepare_not_null(table, command, only)?;
        let command = of_constraint.as_ref().unwrap_or(command);
        let (kind, relation) = (command.subtype(), self.required(table)?.clone());
        self.check_of_child(&relation, command)?;
        if !self.catalog.stands_for_several(&relation) {
            return self.alter_command(table, command);
        }
        self.check_key_column(&relation, command)?;
        let children: Vec<Oid> = self.catalog.children(table).to_vec();
        let named = relation.constraints.iter().find(|c| c.name == command.name);
        if let (T::AtValidateConstraint, Some(attnum)) = (kind, named.and_then(Constraint::not_null_of)) {
            return self.validate_not_null(table, attnum, only);
        }
        match kind {
            T::AtAddColumn => self.add_column_to_tree(&relation, command, only, &children),
            T::AtDropColumn => self.drop_column_of_tree(&relation, command, only),
            T::AtAddConstraint => self.add_constraint_to_tree(&relation, command, only, &children),
            T::AtDropConstraint => self.drop_constraint_of_tree(&relation, command, only),
            T::AtAlterColumnType if only && !children.is_empty() => Err(invalid_table(format!(
                "type of inherited column \"{}\" must be changed in child tables too",
                command.name
            ))),
            T::AtDropExpression | T::AtSetExpression if only && !children.is_empty() => {
                let what = if command.subtype() == T::AtSetExpression { "SET" } else { "DROP" };
                Err(invalid_table(format!("ALTER TABLE / {what} EXPRESSION must be applied to child tables too")))
            }
            T::AtSetNotNull if only && relation.is_partitioned() && !children.is_empty() => {
                Err(invalid_table("constraint must be added to child tables too")
                    .hint("Do not specify the ONLY keyword."))
            }
            T::AtDropNotNull if only && relation.is_partitioned() && !children.is_empty() => {
                Err(invalid_table("cannot remove constraint from only the partitioned table when partitions exist")
                    .hint("Do not specify the ONLY keyword."))
            }
            T::AtAlterColumnType if self.comes_from_outside(&relation, &command.name).is_some() => {
                let other = self.comes_from_outside(&relation, &command.name).unwrap_or_default();
                let message = format!("cannot alter inherited column \"{}\" of relation \"{other}\"", command.name);
                Err(invalid_table(message))
            }
            // (a new constraint goes on to the descendants: see `alter_tree`)
            T::AtSetNotNull if relation.column(&command.name).is_some_and(|c| !c.needs_value()) => {
                self.alter_command(table, command)
            }
            T::AtColumnDefault
            | T::AtSetNotNull
            | T::AtDropNotNull
            | T::AtAlterColumnType
            | T::AtDropExpression
            | T::AtSetExpression
            | T::AtSetStatistics
            | T::AtSetStorage
            | T::AtSetCompression
                if !only =>
            {
                self.alter_command(table, command)?;
                for child in self.catalog.with_descendants(table).into_iter().skip(1) {
                    work::visit();
                    self.alter_command(child, command)?;
                }
                Ok(())
            }
            T::AtValidateConstraint if !only => {
                self.alter_command(table, command)?;
                for child in self.catalog.with_descendants(table).into_iter().skip(1) {
                    work::visit();
                    if self.required(child)?.constraints.iter().any(|c| c.name == command.name && c.is_check()) {
                        self.alter_command(child, command)?;
                    }
                }
                Ok(())
            }
            T::AtEnableTrig
            | T::AtDisableTrig
            | T::AtEnableAlwaysTrig
            | T::AtEnableReplicaTrig
            | T::AtEnableTrigUser
            | T::AtDisableTrigUser
            | T::AtEnableTrigAll
            | T::AtDisableTrigAll
                if relation.is_partitioned() && !only =>
            {
                self.alter_command(table, command)?;
                let named = Some(command.name.as_str()).filter(|n| !n.is_empty());
                self.set_parts_of_triggers(table, named)
            }
            T::AtAddIdentity | T::AtSetIdentity | T::AtDropIdentity if relation.is_partitioned() => {
                Err(PgError::not_supported("a change of an identity column of a partitioned table"))
            }
            _ => self.alter_command(table, command),
        }
    }

    /// A descendant that has a column from a table outside of the tree, too.
    fn comes_from_outside(&self, relation: &Relation, column: &str) -> Option<String> {
        let tree = self.catalog.with_descendants(relation.oid);
        tree.iter().skip(1).filter_map(|oid| self.catalog.relation(*oid)).find_map(|r| {
            let inside = r.inheritance.parents.iter().filter(|p| tree.contains(p)).count();
            let count = r.column(column).map_or(0, |c| usize::from(c.inherited.count));
            (count > inside).then(|| r.name.clone())
        })
    }

    /// What may not be done to a table that inherits.
    pub(super) fn check_of_child(&self, relation: &Relation, command: &ast::AlterTableCmd) -> Result<()> {
        use ast::AlterTableType as T;
        // (those of a foreign key to a partitioned table for its partitions are inherited from that key)
        if let T::AtDropConstraint = command.subtype() {
            let constraint = relation.constraints.iter().find(|c| c.name == command.name);
            if let Some(c) = constraint.filter(|c| c.inherited.count > 0) {
                return Err(invalid_table(format!(
                    "cannot drop inherited constraint \"{}\" of relation \"{}\"",
                    c.name, relation.name
                )));
            }
        }
        if relation.inheritance.parents.is_empty() {
            return Ok(());
        }
        let column = relation.column(&command.name).filter(|c| c.inherited.count > 0);
        match (command.subtype(), column) {
            (T::AtAddColumn, _) if relation.is_partition() => {
                Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, "cannot add column to a partition"))
            }
            (T::AtDropColumn, Some(c)) => Err(invalid_table(format!("cannot drop inherited column \"{}\"", c.name))),
            (T::AtAlterColumnType, Some(c)) => {
                Err(invalid_table(format!("cannot alter inherited column \"{}\"", c.name)).at(column_place(command)))
            }
            // (a child has its parent's expression)
            (T::AtSetExpression, Some(c)) => {
                let what = format!("SET EXPRESSION of the inherited column \"{}\"", c.name);
                Err(PgError::not_supported(what))
            }
            (T::AtDropExpression, Some(_)) => {
                Err(invalid_table("cannot drop generation expression from inherited column"))
            }
            (T::AtDropNotNull, Some(c)) if relation.is_partition() => {
                let parent = relation.inheritance.parents.first().and_then(|p| self.catalog.relation(*p));
                match parent.and_then(|p| p.column(&c.name)) {
                    Some(of_parent) if of_parent.needs_value() => {
                        Err(invalid_table(format!("column \"{}\" is marked NOT NULL in parent table", c.name)))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Columns of a partition key stay as they are.
    pub(super) fn check_key_column(&self, relation: &Relation, command: &ast::AlterTableCmd) -> Result<()> {
        use ast::AlterTableType as T;
        let act = match command.subtype() {
            T::AtDropColumn => "drop",
            T::AtAlterColumnType => "alter",
            _ => return Ok(()),
        };
        let Some(column) = relation.column(&command.name) else { return Ok(()) };
        for table in self.catalog.with_descendants(relation.oid) {
            work::visit();
            let table = self.required(table)?.clone();
            let Some(key) = &table.inheritance.key else { continue };
            let Some(own) = table.column(&column.name) else { continue };
            for part in &key.columns {
                work::visit();
                let used = match &part.part {
                    KeyPart::Column(a) => *a == own.attnum,
                    KeyPart::Expression(text) => self.expression_columns(text, &table)?.contains(&own.attnum),
                };
                if used {
                    return Err(invalid_table(format!(
                        "cannot {act} column \"{}\" because it is part of the partition key of relation \"{}\"",
                        column.name, table.name
                    ))
                    .at(column_place(command)));
                }
            }
        }
        Ok(())
    }

    // --- columns -------------------------------------------------------------------------------------------------------

    fn add_column_to_tree(
        &mut self,
        relation: &Arc<Relation>,
        command: &ast::AlterTableCmd,
        only: bool,
        children: &[Oid],
    ) -> Result<()> {
        let Some(NodeEnum::ColumnDef(def)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
            return Err(PgError::internal("ADD COLUMN without a column"));
        };
        let exists = relation.column(&def.colname).is_some();
        if only && !children.is_empty() && !exists {
            return Err(invalid_table("column must be added to child tables too"));
        }
        let before: Vec<Oid> = relation.constraints.iter().map(|c| c.oid).collect();
        self.alter_command(relation.oid, command)?;
        self.complete_not_nulls(relation.oid, false)?;
        let parent = self.required(relation.oid)?.clone();
        if exists || children.is_empty() {
            return Ok(());
        }
        let column = parent.columns.last().cloned().ok_or_else(|| PgError::internal("a column that was not added"))?;
        if column.identity.is_some() {
            return Err(invalid_table("cannot recursively add identity column to table that has child tables"));
        }
        if parent.not_null_constraint(column.attnum).is_some_and(Constraint::is_no_inherit) {
            let what = format!("NOT NULL … NO INHERIT of the new column \"{}\" of a table with children", column.name);
            return Err(PgError::not_supported(what).at(def.location));
        }
        self.add_column_to_children(&parent, &column)?;
        let added: Vec<Constraint> = parent.constraints.iter().filter(|c| !before.contains(&c.oid)).cloned().collect();
        for constraint in added {
            work::visit();
            if constraint.not_null_of().is_some() {
                self.pass_on_not_null(parent.oid, &constraint)?;
                continue;
            }
            self.pass_on(parent.oid, &constraint)?;
        }
        Ok(())
    }

    fn add_column_to_children(&mut self, parent: &Relation, column: &Column) -> Result<()> {
        for child in self.catalog.children(parent.oid).to_vec() {
            work::visit();
            let old = (**self.required(child)?).clone();
            if let Some(own) = old.column(&column.name) {
                if (own.type_oid, own.typmod) != (column.type_oid, column.typmod) {
                    return Err(PgError::new(
                        SqlState::DATATYPE_MISMATCH,
                        format!("child table \"{}\" has different type for column \"{}\"", old.name, column.name),
                    ));
                }
                if own.collation != column.collation {
                    return Err(PgError::new(
                        SqlState::COLLATION_MISMATCH,
                        format!("child table \"{}\" has different collation for column \"{}\"", old.name, column.name),
                    ));
                }
                let message = format!("merging definition of column \"{}\" for child \"{}\"", column.name, old.name);
                let at = own.attnum as usize - 1;
                let mut new = old.clone();
                new.columns[at].inherited.count += 1;
                self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                self.put_relation(new)?;
                continue;
            }
            super::column_definition::check_column_name(&old.columns, &column.name, -1)?;
            let mut new = old.clone();
            let attnum = new.columns.len() as i16 + 1;
            new.columns.push(Column {
                attnum,
                inherited: Inherited::ONCE,
                identity: None,
                sequence: 0,
                acl: None,
                ..column.clone()
            });
            self.store_added_column(&old, &new, attnum)?;
            let new = self.required(child)?.clone();
            self.add_column_to_children(&new, column)?;
        }
        Ok(())
    }

    fn drop_column_of_tree(
        &mut self,
        relation: &Arc<Relation>,
        command: &ast::AlterTableCmd,
        only: bool,
    ) -> Result<()> {
        let Some(column) = relation.column(&command.name).cloned() else {
            return self.alter_command(relation.oid, command);
        };
        if only && relation.is_partitioned() && self.catalog.has_children(relation.oid) {
            return Err(invalid_table("cannot drop column from only the partitioned table when partitions exist")
                .hint("Do not specify the ONLY keyword."));
        }
        let mut gone = Vec::new();
        let mut open = vec![(relation.oid, column.attnum)];
        while let Some((table, attnum)) = open.pop() {
            work::visit();
            gone.push(Object::Column(table, attnum));
            for child in self.catalog.children(table).to_vec() {
                work::visit();
                let mut new = (**self.required(child)?).clone();
                let Some(own) = new.columns.iter_mut().find(|c| !c.dropped && c.name == column.name) else { continue };
                if own.inherited.count == 0 {
                    return Err(PgError::internal("a column that is not inherited"));
                }
                if own.inherited.lose_parent(only) {
                    open.push((child, own.attnum));
                } else {
                    self.put_relation(new)?;
                }
            }
        }
        // (as PostgreSQL has them: those of descendants before those that they come from)
        gone.reverse();
        let cascade = command.behavior() == ast::DropBehavior::DropCascade;
        self.drop_objects(&gone, cascade)
    }

    // --- constraints ---------------------------------------------------------------------------------------------------

    fn add_constraint_to_tree(
        &mut self,
        relation: &Arc<Relation>,
        command: &ast::AlterTableCmd,
        only: bool,
        children: &[Oid],
    ) -> Result<()> {
        let Some(NodeEnum::Constraint(c)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
            return Err(PgError::internal("ADD CONSTRAINT without a constraint"));
        };
        if c.contype() == ast::ConstrType::ConstrNotnull {
            let spec = self.not_null_spec(c)?;
            let Some(added) = self.add_not_null(relation.oid, &spec)? else { return Ok(()) };
            if only && !added.is_no_inherit() && !children.is_empty() {
                return Err(invalid_table("constraint must be added to child tables too"));
            }
            return self.pass_on_not_null(relation.oid, &added);
        }
        let check = c.contype() == ast::ConstrType::ConstrCheck;
        if check && c.is_no_inherit && relation.is_partitioned() {
            return Err(invalid_table(format!(
                "cannot add NO INHERIT constraint to partitioned table \"{}\"",
                relation.name
            )));
        }
        if check && only && !c.is_no_inherit && !children.is_empty() {
            return Err(invalid_table("constraint must be added to child tables too"));
        }
        if only && c.contype() == ast::ConstrType::ConstrPrimary {
            let keys = super::strings(&c.keys);
            let new = |name: &&&str| relation.column(name).is_some_and(|c| !c.needs_value());
            for (name, child) in keys.iter().filter(new).flat_map(|name| children.iter().map(move |c| (name, c))) {
                work::visit();
                let child = self.required(*child)?;
                let Some(column) = child.column(name) else { continue };
                if !column.needs_value() {
                    let message = format!("column \"{name}\" of table \"{}\" is not marked NOT NULL", child.name);
                    return Err(invalid_table(message));
                }
                super::not_null::check_fit_for_key(child, column)?;
            }
        }
        if relation.is_partitioned() && !check {
            if !c.indexname.is_empty() {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported on partitioned tables",
                ));
            }
            if only && c.contype() == ast::ConstrType::ConstrForeign {
                let references = c.pktable.as_ref().map_or("", |t| t.relname.as_str());
                return Err(PgError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!(
                        "cannot use ONLY for foreign key on partitioned table \"{}\" referencing relation \"{references}\"",
                        relation.name
                    ),
                ));
            }
        }
        let before: Vec<Oid> = relation.constraints.iter().map(|c| c.oid).collect();
        self.alter_command(relation.oid, command)?;
        let now = self.required(relation.oid)?.clone();
        let added: Vec<Constraint> = now.constraints.iter().filter(|c| !before.contains(&c.oid)).cloned().collect();
        let added = added.iter().filter(|c| !now.is_part_of_key(c));
        for constraint in added.filter(|c| !only || !c.is_key()) {
            work::visit();
            self.pass_on(relation.oid, constraint)?;
        }
        Ok(())
    }

    /// A new constraint of a parent for its children: CHECKs of all, keys and foreign keys of partitioned tables.
    pub(super) fn pass_on(&mut self, parent: Oid, constraint: &Constraint) -> Result<()> {
        let table = self.required(parent)?.clone();
        match &constraint.kind {
            ConstraintKind::Check { no_inherit: false, .. } => {}
            ConstraintKind::Check { .. } | ConstraintKind::SqliteCheck { .. } => return Ok(()),
            ConstraintKind::NotNull { .. } => return self.pass_on_not_null(parent, constraint),
            _ if !table.is_partitioned() => return Ok(()),
            // (a partitioned table has none)
            ConstraintKind::Exclusion => return Ok(()),
            ConstraintKind::PrimaryKey | ConstraintKind::Unique { .. } => {
                return self.pass_on_index(parent, constraint.index)
            }
            ConstraintKind::ForeignKey { .. } => {
                for child in self.catalog.children(parent).to_vec() {
                    work::visit();
                    self.foreign_key_of_partition(child, &table, constraint)?;
                }
                return Ok(());
            }
        }
        for child in self.catalog.children(parent).to_vec() {
            work::visit();
            let mut new = (**self.required(child)?).clone();
            let columns = renumbered(&constraint.columns, &table, &new)?;
            if let Some(own) = new.constraints.iter_mut().find(|c| c.name == constraint.name) {
                let same = matches!((&own.kind, &constraint.kind),
                    (ConstraintKind::Check { expression: a, .. }, ConstraintKind::Check { expression: b, .. }) if a == b);
                if !same {
                    return Err(PgError::new(
                        SqlState::DUPLICATE_OBJECT,
                        format!("constraint \"{}\" for relation \"{}\" already exists", constraint.name, new.name),
                    ));
                }
                if matches!(own.kind, ConstraintKind::Check { no_inherit: true, .. }) {
                    return Err(PgError::new(
                        SqlState::INVALID_OBJECT_DEFINITION,
                        format!(
                            "constraint \"{}\" conflicts with non-inherited constraint on relation \"{}\"",
                            constraint.name, new.name
                        ),
                    ));
                }
                if own.not_enforced && !constraint.not_enforced {
                    return Err(PgError::new(
                        SqlState::INVALID_OBJECT_DEFINITION,
                        format!(
                            "constraint \"{}\" conflicts with NOT ENFORCED constraint on relation \"{}\"",
                            constraint.name, new.name
                        ),
                    ));
                }
                if own.not_valid && !own.not_enforced && !constraint.not_valid {
                    return Err(PgError::new(
                        SqlState::INVALID_OBJECT_DEFINITION,
                        format!(
                            "constraint \"{}\" conflicts with NOT VALID constraint on relation \"{}\"",
                            constraint.name, new.name
                        ),
                    ));
                }
                own.inherited.count += 1;
                own.inherited.merely |= table.is_partitioned();
                let message = format!("merging constraint \"{}\" with inherited definition", constraint.name);
                self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                self.put_relation(new)?;
                continue;
            }
            let own = Constraint {
                oid: self.new_oid(new.temporary)?,
                columns,
                inherited: Inherited::ONCE,
                ..constraint.clone()
            };
            if !own.not_valid {
                self.check_rows(&new, &own)?;
            }
            new.constraints.push(own.clone());
            self.put_relation(new)?;
            self.pass_on(child, &own)?;
        }
        Ok(())
    }

    fn drop_constraint_of_tree(
        &mut self,
        relation: &Arc<Relation>,
        command: &ast::AlterTableCmd,
        only: bool,
    ) -> Result<()> {
        let Some(constraint) = relation.constraints.iter().find(|c| c.name == command.name).cloned() else {
            return self.alter_command(relation.oid, command);
        };
        let column = constraint.not_null_of().and_then(|a| relation.column_by_attnum(a));
        if only && column.is_none() && relation.is_partitioned() && self.catalog.has_children(relation.oid) {
            return Err(invalid_table(
                "cannot remove constraint from only the partitioned table when partitions exist",
            )
            .hint("Do not specify the ONLY keyword."));
        }
        let mut gone = vec![Object::Constraint(relation.oid, constraint.oid)];
        if (constraint.is_check() || column.is_some()) && !constraint.is_no_inherit() {
            let is_same = |c: &Constraint, child: &Relation| match column {
                Some(column) => child.column(&column.name).is_some_and(|own| c.not_null_of() == Some(own.attnum)),
                None => c.name == constraint.name && c.is_check(),
            };
            let mut open = vec![relation.oid];
            while let Some(table) = open.pop() {
                work::visit();
                for child in self.catalog.children(table).to_vec() {
                    work::visit();
                    let mut new = (**self.required(child)?).clone();
                    let Some(at) = new.constraints.iter().position(|c| is_same(c, &new) && c.inherited.count > 0)
                    else {
                        continue;
                    };
                    let merely = new.constraints[at].inherited.merely;
                    let gone_too = new.constraints[at].inherited.lose_parent(only);
                    let own = &mut new.constraints[at].inherited;
                    if column.is_some() && own.count > 0 {
                        // (another parent has it still: a CHECK becomes the child's own nevertheless)
                        own.merely = merely;
                    }
                    if gone_too {
                        if let Some(own) = column.and_then(|c| new.column(&c.name)) {
                            self.check_not_null_unneeded(&new, own)?;
                        }
                        gone.push(Object::Constraint(child, new.constraints[at].oid));
                        open.push(child);
                    } else {
                        self.put_relation(new)?;
                    }
                }
            }
        }
        let cascade = command.behavior() == ast::DropBehavior::DropCascade;
        self.drop_objects(&gone, cascade)
    }
}
