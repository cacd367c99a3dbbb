//! ALTER TABLE: one command after the other, each with its change of the catalog, the stored rows and SQLite's table.

use super::altered::Change;
use super::create_table::Elements;
use super::dependencies::Object;
use super::sequence::SequenceOptions;
use super::{Ddl, NodeEnum};
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::Names;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};
use std::collections::HashMap;

impl Ddl<'_> {
    pub(super) fn alter_table(&mut self, statement: &ast::AlterTableStmt) -> Result<String> {
        let tag = match statement.objtype() {
            ast::ObjectType::ObjectTable => "ALTER TABLE",
            ast::ObjectType::ObjectIndex => "ALTER INDEX",
            ast::ObjectType::ObjectSequence => "ALTER SEQUENCE",
            ast::ObjectType::ObjectView => "ALTER VIEW",
            ast::ObjectType::ObjectMatview => "ALTER MATERIALIZED VIEW",
            ast::ObjectType::ObjectType => return self.alter_composite(statement),
            _ => return Err(PgError::not_supported("ALTER of this kind of relation")),
        };
        let name = statement.relation.as_ref().ok_or_else(|| PgError::internal("ALTER TABLE without a name"))?;
        let found = self.altered_relation(name, statement.objtype(), Change::Command, statement.missing_ok)?;
        let Some(relation) = found else { return Ok(tag.into()) };
        let mut changes_row_type = false;
        use ast::AlterTableType as T;
        let mut commands = Vec::with_capacity(statement.cmds.len());
        for node in &statement.cmds {
            work::visit();
            let Some(NodeEnum::AlterTableCmd(command)) = &node.node else {
                return Err(PgError::internal("a command that is no AlterTableCmd"));
            };
            changes_row_type |= matches!(command.subtype(), T::AtAddColumn | T::AtDropColumn | T::AtAlterColumnType);
            commands.push(&**command);
        }
        let parted = match commands.len() {
            0 | 1 => Vec::new(),
            _ => super::alter_passes::constraints_apart(&relation, &commands),
        };
        if !parted.is_empty() {
            commands = parted.iter().collect();
        }
        let types = commands.iter().filter(|c| c.subtype() == T::AtAlterColumnType).count();
        for command in commands.iter().filter(|c| c.subtype() == T::AtAlterColumnType) {
            work::visit();
            if let Some(NodeEnum::ColumnDef(def)) = command.def.as_ref().and_then(|d| d.node.as_ref()) {
                let using = def.raw_default.as_ref().map(|using| self.using_expression(&relation, using));
                // (what else is wrong with it is told after what is wrong with the column)
                if let Some(Err(e)) =
                    using.filter(|r| r.as_ref().is_err_and(|e| e.code() == SqlState::FEATURE_NOT_SUPPORTED))
                {
                    return Err(e);
                }
            }
        }
        if commands.len() > 1 {
            commands = self.in_passes(&relation, commands)?;
            if types > 1 && !self.catalog.stands_for_several(&relation) {
                let changes: Vec<_> =
                    commands.iter().copied().filter(|c| c.subtype() == T::AtAlterColumnType).collect();
                let first = commands.iter().position(|c| c.subtype() == T::AtAlterColumnType).unwrap_or(0);
                let rest = commands.split_off(first + types);
                commands.truncate(first);
                for command in commands {
                    work::visit();
                    self.alter_and_refresh(relation.oid, command, !name.inh)?;
                }
                for command in &changes {
                    work::visit();
                    self.check_of_child(&relation, command)?;
                }
                self.alter_types(relation.oid, &changes)?;
                commands = rest;
            }
        }
        for command in commands {
            work::visit();
            self.alter_and_refresh(relation.oid, command, !name.inh)?;
        }
        if changes_row_type {
            self.check_constants_of(relation.row_type)?;
        }
        Ok(tag.into())
    }

    /// One command, and the texts of joins whose tables have other columns after it.
    fn alter_and_refresh(&mut self, table: Oid, command: &ast::AlterTableCmd, only: bool) -> Result<()> {
        use ast::AlterTableType as T;
        let columns = matches!(command.subtype(), T::AtAddColumn | T::AtDropColumn);
        let before = (columns && self.has_joins_in_texts()).then(|| self.catalog.clone());
        self.alter_tree(table, command, only)?;
        if let Some(before) = before {
            self.refresh_texts(&before)?;
        }
        Ok(())
    }

    /// Whether a stored text may have a join, where another column of its tables could be taken for one that it names. (The catalog has texts
    /// alone. All of them are read to be printed anew where this is so; a string with the word in it makes that in vain, and no more.)
    pub(super) fn has_joins_in_texts(&self) -> bool {
        self.catalog.relations.values().any(|r| {
            let view = match &r.kind {
                RelationKind::View { definition, .. } | RelationKind::MaterializedView { definition, .. } => {
                    definition.contains(" JOIN ")
                }
                _ => false,
            };
            view || r.rules.iter().any(|rule| rule.actions.iter().any(|a| a.contains(" JOIN ")))
        })
    }

    pub(super) fn alter_column_of(&self, relation: &Relation, name: &str) -> Result<Column> {
        relation.column(name).cloned().ok_or_else(|| {
            PgError::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{name}\" of relation \"{}\" does not exist", relation.name),
            )
        })
    }

    /// One command on one table.
    pub(super) fn alter_command(&mut self, table: Oid, command: &ast::AlterTableCmd) -> Result<()> {
        use ast::AlterTableType as T;
        let relation = (**self.required(table)?).clone();
        let kind = command.subtype();
        if kind == T::AtChangeOwner {
            let spec = command.newowner.as_ref().ok_or_else(|| PgError::internal("OWNER TO without a role"))?;
            let owner = self.role(spec)?.oid;
            return self.change_owner(relation, owner);
        }
        if kind == T::AtSetTableSpace {
            return self.check_table_place(&command.name, "");
        }
        if matches!((&relation.kind, kind), (RelationKind::View { .. }, T::AtSetRelOptions | T::AtResetRelOptions)) {
            return match command.def.as_ref().and_then(|d| d.node.as_ref()) {
                Some(NodeEnum::List(list)) => {
                    self.alter_view_options(&relation, &list.items, kind == T::AtResetRelOptions)
                }
                _ => Ok(()),
            };
        }
        if matches!(kind, T::AtSetRelOptions | T::AtResetRelOptions) {
            return match command.def.as_ref().and_then(|d| d.node.as_ref()) {
                Some(NodeEnum::List(list)) => {
                    self.alter_parameters(relation, &list.items, kind == T::AtResetRelOptions)
                }
                _ => Ok(()),
            };
        }
        if let (RelationKind::View { .. }, T::AtColumnDefault) = (&relation.kind, kind) {
            let attnum = self.alter_column_of(&relation, &command.name)?.attnum;
            let default = match &command.def {
                Some(node) => self.column_default(&relation, attnum, node).map_err(PgError::without_position)?,
                None => None,
            };
            let mut relation = relation;
            relation.columns[attnum as usize - 1].default = default;
            return self.put_relation(relation);
        }
        if matches!(
            &relation.kind,
            RelationKind::Table | RelationKind::MaterializedView { .. } | RelationKind::Index(_)
        ) {
            match kind {
                T::AtSetStatistics => return self.set_column_statistics(relation, command),
                T::AtSetOptions | T::AtResetOptions if !matches!(&relation.kind, RelationKind::Index(_)) => {
                    return self.set_column_options(relation, command, kind == T::AtResetOptions)
                }
                T::AtSetStorage if !matches!(&relation.kind, RelationKind::Index(_)) => {
                    return self.set_column_storage(relation, command)
                }
                T::AtSetCompression if !matches!(&relation.kind, RelationKind::Index(_)) => {
                    return self.set_column_compression(relation, command)
                }
                T::AtSetAccessMethod if !matches!(&relation.kind, RelationKind::Index(_)) => {
                    return self.check_table_method(&command.name)
                }
                _ => {}
            }
        }
        if let (RelationKind::Sequence(_), T::AtSetLogged | T::AtSetUnLogged) = (&relation.kind, kind) {
            return self.put_relation(Relation { unlogged: kind == T::AtSetUnLogged, ..relation });
        }
        if relation.kind != RelationKind::Table {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("ALTER action {} cannot be performed on relation \"{}\"", action_name(kind), relation.name),
            )
            .detail(relation.kind.not_supported()));
        }
        if relation.inheritance.of_type != 0 {
            let refused = match kind {
                T::AtAddColumn => "cannot add column to typed table",
                T::AtDropColumn => "cannot drop column from typed table",
                T::AtAlterColumnType => "cannot alter column type of typed table",
                T::AtAddInherit | T::AtDropInherit => "cannot change inheritance of typed table",
                _ => "",
            };
            if !refused.is_empty() {
                return Err(
                    PgError::new(SqlState::WRONG_OBJECT_TYPE, refused).at(super::alter_tree::column_place(command))
                );
            }
        }
        if matches!(kind, T::AtAddColumn | T::AtDropColumn) {
            self.check_rows_unused(&relation)?;
        }
        match kind {
            T::AtAddColumn => self.add_column(relation, command),
            T::AtDropColumn => match relation.column(&command.name) {
                Some(column) => {
                    let cascade = command.behavior() == ast::DropBehavior::DropCascade;
                    self.check_row_unused(
                        relation.row_type,
                        &format!("table \"{}\"", relation.name),
                        "uses its row type",
                    )?;
                    self.drop_objects(&[Object::Column(table, column.attnum)], cascade)
                }
                None => {
                    let error = self.alter_column_of(&relation, &command.name).expect_err("the column is not there");
                    if command.missing_ok {
                        self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
                        return Ok(());
                    }
                    Err(error)
                }
            },
            T::AtColumnDefault => {
                let column = self.alter_column_of(&relation, &command.name)?;
                if column.identity.is_some() {
                    return Err(self.is_identity(&relation, &column));
                }
                if column.generated.is_some() {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        format!("column \"{}\" of relation \"{}\" is a generated column", column.name, relation.name),
                    ));
                }
                let default = match &command.def {
                    Some(node) => {
                        self.column_default(&relation, column.attnum, node).map_err(PgError::without_position)?
                    }
                    None => None,
                };
                let mut relation = relation;
                let column = &mut relation.columns[column.attnum as usize - 1];
                column.default = default;
                column.sqlite_default = false;
                self.put_relation(relation)
            }
            T::AtSetNotNull => {
                let column = self.alter_column_of(&relation, &command.name)?;
                self.set_not_null(&relation, column.attnum)
            }
            T::AtSetExpression => self.set_expression(&relation, command),
            T::AtDropNotNull => {
                let column = self.alter_column_of(&relation, &command.name)?;
                self.check_not_null_unneeded(&relation, &column)?;
                if !column.not_null {
                    return Ok(());
                }
                let mut new = relation.clone();
                new.columns[column.attnum as usize - 1].not_null = false;
                self.put_relation(new.clone())?;
                self.rebuild(&relation, &new, &HashMap::new())
            }
            T::AtAlterColumnType => self.alter_types(table, &[command]),
            T::AtAddConstraint => {
                let Some(NodeEnum::Constraint(c)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
                    return Err(PgError::internal("ADD CONSTRAINT without a constraint"));
                };
                if !c.indexname.is_empty() {
                    return self.constraint_using_index(relation, c);
                }
                let mut elements = Elements::default();
                self.table_constraint(&relation, c, &mut elements)?;
                self.add_constraints(table, elements)
            }
            T::AtDropConstraint => match relation.constraints.iter().find(|c| c.name == command.name) {
                Some(c) => {
                    let cascade = command.behavior() == ast::DropBehavior::DropCascade;
                    self.drop_objects(&[Object::Constraint(table, c.oid)], cascade)
                }
                None => {
                    let message =
                        format!("constraint \"{}\" of relation \"{}\" does not exist", command.name, relation.name);
                    if command.missing_ok {
                        self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                        return Ok(());
                    }
                    Err(PgError::new(SqlState::UNDEFINED_OBJECT, message))
                }
            },
            T::AtAlterConstraint => self.alter_constraint(relation, command),
            T::AtValidateConstraint => {
                let mut relation = relation;
                let Some(at) = relation.constraints.iter().position(|c| c.name == command.name) else {
                    return Err(PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("constraint \"{}\" of relation \"{}\" does not exist", command.name, relation.name),
                    ));
                };
                let constraint = relation.constraints[at].clone();
                if let Some(attnum) = constraint.not_null_of() {
                    return self.set_not_null(&relation, attnum);
                }
                if !matches!(constraint.kind, ConstraintKind::Check { .. } | ConstraintKind::ForeignKey { .. }) {
                    let (name, table) = (&constraint.name, &relation.name);
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!(
                            "constraint \"{name}\" of relation \"{table}\" is not a foreign key or check constraint"
                        ),
                    ));
                }
                if constraint.not_enforced {
                    let message = "cannot validate NOT ENFORCED constraint";
                    return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
                }
                if constraint.not_valid {
                    self.check_rows(&relation, &constraint)?;
                }
                relation.constraints[at].not_valid = false;
                self.put_relation(relation)
            }
            T::AtAddIdentity => {
                let column = self.alter_column_of(&relation, &command.name)?;
                let Some(NodeEnum::Constraint(c)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
                    return Err(PgError::internal("ADD GENERATED without its options"));
                };
                let state = |message: String| PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
                let of = format!("column \"{}\" of relation \"{}\"", column.name, relation.name);
                if !matches!(column.type_oid, oid::INT2 | oid::INT4 | oid::INT8) {
                    return Err(PgError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        "identity column type must be smallint, integer, or bigint",
                    ));
                }
                if !column.not_null {
                    return Err(state(format!("{of} must be declared NOT NULL before identity can be added")));
                }
                if column.identity.is_some() {
                    return Err(state(format!("{of} is already an identity column")));
                }
                if column.default.is_some() {
                    return Err(state(format!("{of} already has a default value")));
                }
                let mut relation = relation;
                relation.columns[column.attnum as usize - 1].identity =
                    Some(if c.generated_when == "a" { Identity::Always } else { Identity::ByDefault });
                relation.columns[column.attnum as usize - 1].sqlite_default = false;
                self.add_owned_sequence(&mut relation, column.attnum, true, &c.options)?;
                self.put_relation(relation)
            }
            T::AtSetIdentity => {
                let column = self.alter_column_of(&relation, &command.name)?;
                if column.identity.is_none() {
                    return Err(self.not_identity(&relation, &column));
                }
                let Some(NodeEnum::List(list)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
                    return Err(PgError::internal("SET GENERATED without options"));
                };
                let mut sequence_options = Vec::new();
                let mut relation = relation;
                for node in &list.items {
                    work::visit();
                    match &node.node {
                        Some(NodeEnum::DefElem(d)) if d.defname == "generated" => {
                            let always = matches!(d.arg.as_ref().and_then(|a| a.node.as_ref()), Some(NodeEnum::Integer(i)) if i.ival == i32::from(b'a'));
                            relation.columns[column.attnum as usize - 1].identity =
                                Some(if always { Identity::Always } else { Identity::ByDefault });
                        }
                        _ => sequence_options.push(node.clone()),
                    }
                }
                self.put_relation(relation)?;
                if !sequence_options.is_empty() {
                    let options = SequenceOptions::read(self, &sequence_options)?;
                    let sequence = self.required(column.sequence)?.clone();
                    if let RelationKind::Sequence(old) = &sequence.kind {
                        self.change_sequence(&sequence, old, &options)?;
                    }
                }
                Ok(())
            }
            T::AtDropIdentity => {
                let column = self.alter_column_of(&relation, &command.name)?;
                if column.identity.is_none() {
                    let error = self.not_identity(&relation, &column);
                    if command.missing_ok {
                        self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
                        return Ok(());
                    }
                    return Err(error);
                }
                let mut relation = relation;
                let sequence = column.sequence;
                relation.columns[column.attnum as usize - 1].identity = None;
                relation.columns[column.attnum as usize - 1].sqlite_default = false;
                relation.columns[column.attnum as usize - 1].sequence = 0;
                self.put_relation(relation)?;
                self.catalog.remove_relation(sequence);
                pgsqlite_metadata::store::storing::delete_object(self.conn, sequence)?;
                self.forget_comments(sequence)
            }
            T::AtDropExpression => {
                let column = self.alter_column_of(&relation, &command.name)?;
                let mut relation = relation;
                if column.generated.is_none() {
                    let message = format!(
                        "column \"{}\" of relation \"{}\" is not a generated column",
                        column.name, relation.name
                    );
                    if command.missing_ok {
                        self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                        return Ok(());
                    }
                    return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
                }
                if column.is_virtual {
                    let message = "ALTER TABLE / DROP EXPRESSION is not supported for virtual generated columns";
                    let detail = format!(
                        "Column \"{}\" of relation \"{}\" is a virtual generated column.",
                        column.name, relation.name
                    );
                    return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message).detail(detail));
                }
                relation.columns[column.attnum as usize - 1].generated = None;
                self.put_relation(relation)
            }
            T::AtEnableRowSecurity | T::AtDisableRowSecurity | T::AtForceRowSecurity | T::AtNoForceRowSecurity => {
                self.row_security(relation, kind)
            }
            T::AtEnableRule => self.set_rule(&relation, &command.name, b'O'),
            T::AtDisableRule => self.set_rule(&relation, &command.name, b'D'),
            T::AtEnableAlwaysRule => self.set_rule(&relation, &command.name, b'A'),
            T::AtEnableReplicaRule => self.set_rule(&relation, &command.name, b'R'),
            T::AtEnableTrig => self.set_trigger(&relation, Some(&command.name), b'O'),
            T::AtDisableTrig => self.set_trigger(&relation, Some(&command.name), b'D'),
            T::AtEnableAlwaysTrig => self.set_trigger(&relation, Some(&command.name), b'A'),
            T::AtEnableReplicaTrig => self.set_trigger(&relation, Some(&command.name), b'R'),
            T::AtEnableTrigUser => self.set_trigger(&relation, None, b'O'),
            T::AtDisableTrigUser => self.set_trigger(&relation, None, b'D'),
            T::AtEnableTrigAll => self.set_trigger(&relation, None, b'O'),
            T::AtDisableTrigAll => {
                // the triggers of foreign keys would be off, too
                let references = |c: &Constraint| matches!(c.kind, ConstraintKind::ForeignKey { .. });
                let referenced = self.catalog.referencing(relation.oid).next().is_some();
                if !referenced && !relation.constraints.iter().any(references) {
                    return self.set_trigger(&relation, None, b'D');
                }
                Err(PgError::not_supported("DISABLE TRIGGER ALL on a table with foreign keys"))
            }
            T::AtClusterOn => self.set_clustered(relation, Some(&command.name)),
            T::AtDropCluster => self.set_clustered(relation, None),
            T::AtReplicaIdentity => self.set_replica_identity(relation, command),
            T::AtSetLogged | T::AtSetUnLogged => {
                self.check_logged(&relation, kind == T::AtSetLogged)?;
                let unlogged = kind == T::AtSetUnLogged;
                let owned = |r: &&super::Arc<Relation>| match &r.kind {
                    RelationKind::Sequence(s) => s.owned_by.is_some_and(|(table, _)| table == relation.oid),
                    _ => false,
                };
                let sequences: Vec<super::Arc<Relation>> =
                    self.catalog.relations.values().filter(owned).cloned().collect();
                for sequence in sequences {
                    work::visit();
                    self.put_relation(Relation { unlogged, ..(*sequence).clone() })?;
                }
                self.put_relation(Relation { unlogged: kind == T::AtSetUnLogged, ..relation })
            }
            other => {
                let word = format!("{other:?}");
                Err(PgError::not_supported(format!("ALTER TABLE ({})", word.trim_start_matches("At"))))
            }
        }
    }

    pub(super) fn is_identity(&self, relation: &Relation, column: &Column) -> PgError {
        PgError::new(
            SqlState::SYNTAX_ERROR,
            format!("column \"{}\" of relation \"{}\" is an identity column", column.name, relation.name),
        )
    }

    fn not_identity(&self, relation: &Relation, column: &Column) -> PgError {
        PgError::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("column \"{}\" of relation \"{}\" is not an identity column", column.name, relation.name),
        )
    }

    pub(super) fn sqlite_table(&self, relation: &Relation) -> String {
        super::sqlite_table(relation)
    }

    pub(super) fn any_row(&self, relation: &Relation, condition: &str) -> Result<bool> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {} WHERE {condition})", self.sqlite_table(relation));
        self.conn.query_row(&sql, [], |r| r.get(0)).map_err(sqlite_error)
    }

    /// The default of a domain: its own or that of the domains below it.
    fn domain_default(&self, mut domain: Oid) -> Option<String> {
        while let Some(UserTypeKind::Domain { base, default, .. }) = self.catalog.types.get(&domain).map(|t| &t.kind) {
            work::visit();
            if default.is_some() {
                return default.clone();
            }
            domain = *base;
        }
        None
    }

    fn add_column(&mut self, old: Relation, command: &ast::AlterTableCmd) -> Result<()> {
        let Some(NodeEnum::ColumnDef(def)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
            return Err(PgError::internal("ADD COLUMN without a column"));
        };
        if old.column(&def.colname).is_some() {
            let message = format!("column \"{}\" of relation \"{}\" already exists", def.colname, old.name);
            if command.missing_ok {
                self.notice(SqlState::DUPLICATE_COLUMN, format!("{message}, skipping"));
                return Ok(());
            }
            return Err(PgError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        self.check_row_unused(old.row_type, &format!("table \"{}\"", old.name), "uses its row type")?;
        let mut new = old.clone();
        let mut elements = Elements::default();
        self.column_definition(&mut new, def, &mut elements)?;
        let attnum = new.columns.len() as i16;
        self.check_no_member_of_itself(new.columns[attnum as usize - 1].type_oid, old.row_type, &old.name)?;
        let at = attnum as usize - 1;
        for &attnum in &elements.serials {
            work::visit();
            self.add_owned_sequence(&mut new, attnum, false, &[])?;
        }
        for (attnum, _, options) in &elements.identities {
            work::visit();
            self.add_owned_sequence(&mut new, *attnum, true, options)?;
        }
        for (attnum, node) in &elements.defaults {
            work::visit();
            new.columns[at].default = self.column_default(&new, *attnum, node)?;
        }
        for (attnum, node) in &elements.generated {
            work::visit();
            new.columns[at].generated = Some(self.generation_expression(&new, *attnum, node)?);
        }
        self.store_added_column(&old, &new, attnum)?;
        elements.defaults.clear();
        elements.generated.clear();
        self.add_constraints(new.oid, elements)
    }

    /// A column that is added to a table: its value in the rows that are there.
    pub(super) fn store_added_column(&mut self, old: &Relation, new: &Relation, attnum: i16) -> Result<()> {
        let column = new.columns[attnum as usize - 1].clone();
        if column.is_virtual {
            self.put_relation(new.clone())?;
            return self.check_virtual_not_null(new, &column);
        }
        let target = Some((column.type_oid, column.typmod));
        let value = match (&column.default, &column.generated, column.identity) {
            (Some(text), ..) => Some(self.lower_stored(text, None, target)?),
            (_, Some(text), _) => Some(self.lower_stored(text, Some(new), target)?),
            (.., Some(_)) => {
                let sequence = Names::stored(&self.catalog).relation(column.sequence);
                let literal = pgsqlite_sql::deparse::quote_literal(&sequence);
                Some(self.lower_stored(&format!("nextval({literal}::regclass)"), None, target)?)
            }
            // a domain's default, or NULL, which the domain may refuse
            _ if self.catalog.base_type(column.type_oid) != column.type_oid => {
                let text = self.domain_default(column.type_oid).unwrap_or_else(|| "NULL".into());
                Some(self.lower_stored(&text, None, target)?)
            }
            _ => None,
        };
        // (where there is no value there is nothing to write)
        let value = value.filter(|v| v != "NULL");
        self.put_relation(new.clone())?;
        if value.is_some() {
            self.show_catalog();
        }
        if column.not_null {
            let value = value.unwrap_or_else(|| "NULL".into());
            self.rebuild(old, new, &HashMap::from([(attnum, value)]))?;
        } else {
            let declared = self.column_sql(new, &column)?;
            self.sqlite(&format!("ALTER TABLE {} ADD COLUMN {declared}", self.sqlite_table(new)))?;
            if let Some(value) = value {
                let (table, name) = (self.sqlite_table(new), quoted(&column.name));
                self.run_rows(&format!("UPDATE {table} SET {name} = {value}"))?;
            }
        }
        Ok(())
    }

    /// 42P16 if a foreign key would lead from a logged table to an unlogged one.
    fn check_logged(&self, relation: &Relation, logged: bool) -> Result<()> {
        let error = |other: &Relation, key: &Constraint| {
            let (to, of) = if logged { ("logged", "unlogged") } else { ("unlogged", "logged") };
            PgError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!(
                    "could not change table \"{}\" to {to} because it references {of} table \"{}\"",
                    relation.name, other.name
                ),
            )
            .schema(self.catalog.schema_name(relation.schema))
            .table(relation.name.clone())
            .constraint(key.name.clone())
        };
        if logged {
            for constraint in &relation.constraints {
                work::visit();
                if let ConstraintKind::ForeignKey { references, .. } = &constraint.kind {
                    let parent = self.required(*references)?;
                    if parent.unlogged && parent.oid != relation.oid {
                        return Err(error(parent, constraint));
                    }
                }
            }
        } else if let Some((child, key)) =
            self.catalog.referencing(relation.oid).find(|(c, _)| !c.unlogged && c.oid != relation.oid)
        {
            // PostgreSQL's message names the other table in the same way
            return Err(error(child, key));
        }
        Ok(())
    }

    pub(super) fn set_not_null(&mut self, old: &Relation, attnum: i16) -> Result<()> {
        let column = &old.columns[attnum as usize - 1];
        if column.not_null {
            return Ok(());
        }
        let mut new = old.clone();
        new.columns[attnum as usize - 1].not_null = true;
        new.columns[attnum as usize - 1].not_null_pending = false;
        for own in new.constraints.iter_mut().filter(|c| c.not_null_of() == Some(attnum)) {
            work::visit();
            own.not_valid = false;
        }
        if column.is_virtual {
            self.check_virtual_not_null(old, &new.columns[attnum as usize - 1])?;
            return self.put_relation(new);
        }
        if self.any_row(old, &format!("{} IS NULL", quoted(&column.name)))? {
            return Err(self.contains_nulls(old, &column.name));
        }
        self.put_relation(new.clone())?;
        self.rebuild(old, &new, &HashMap::new())
    }
}

/// What messages call a command.
fn action_name(kind: ast::AlterTableType) -> &'static str {
    use ast::AlterTableType as T;
    match kind {
        T::AtAddColumn => "ADD COLUMN",
        T::AtColumnDefault => "ALTER COLUMN ... SET DEFAULT",
        T::AtDropNotNull => "ALTER COLUMN ... DROP NOT NULL",
        T::AtSetNotNull => "ALTER COLUMN ... SET NOT NULL",
        T::AtDropExpression => "ALTER COLUMN ... DROP EXPRESSION",
        T::AtSetExpression => "ALTER COLUMN ... SET EXPRESSION",
        T::AtSetStatistics => "ALTER COLUMN ... SET STATISTICS",
        T::AtSetOptions | T::AtSetIdentity => "ALTER COLUMN ... SET",
        T::AtResetOptions => "ALTER COLUMN ... RESET",
        T::AtSetStorage => "ALTER COLUMN ... SET STORAGE",
        T::AtSetCompression => "ALTER COLUMN ... SET COMPRESSION",
        T::AtDropColumn => "DROP COLUMN",
        T::AtAddConstraint => "ADD CONSTRAINT",
        T::AtAlterConstraint => "ALTER CONSTRAINT",
        T::AtValidateConstraint => "VALIDATE CONSTRAINT",
        T::AtDropConstraint => "DROP CONSTRAINT",
        T::AtAlterColumnType => "ALTER COLUMN ... SET DATA TYPE",
        T::AtClusterOn => "CLUSTER ON",
        T::AtDropCluster => "SET WITHOUT CLUSTER",
        T::AtSetAccessMethod => "SET ACCESS METHOD",
        T::AtSetLogged => "SET LOGGED",
        T::AtSetUnLogged => "SET UNLOGGED",
        T::AtDropOids => "SET WITHOUT OIDS",
        T::AtEnableTrig => "ENABLE TRIGGER",
        T::AtEnableAlwaysTrig => "ENABLE ALWAYS TRIGGER",
        T::AtEnableReplicaTrig => "ENABLE REPLICA TRIGGER",
        T::AtDisableTrig => "DISABLE TRIGGER",
        T::AtEnableTrigAll => "ENABLE TRIGGER ALL",
        T::AtDisableTrigAll => "DISABLE TRIGGER ALL",
        T::AtEnableTrigUser => "ENABLE TRIGGER USER",
        T::AtDisableTrigUser => "DISABLE TRIGGER USER",
        T::AtAddInherit => "INHERIT",
        T::AtDropInherit => "NO INHERIT",
        T::AtAddOf => "OF",
        T::AtDropOf => "NOT OF",
        T::AtReplicaIdentity => "REPLICA IDENTITY",
        T::AtEnableRowSecurity => "ENABLE ROW SECURITY",
        T::AtDisableRowSecurity => "DISABLE ROW SECURITY",
        T::AtForceRowSecurity => "FORCE ROW SECURITY",
        T::AtNoForceRowSecurity => "NO FORCE ROW SECURITY",
        T::AtAddIdentity => "ALTER COLUMN ... ADD IDENTITY",
        T::AtDropIdentity => "ALTER COLUMN ... DROP IDENTITY",
        T::AtAttachPartition => "ATTACH PARTITION",
        T::AtDetachPartition => "DETACH PARTITION",
        T::AtDetachPartitionFinalize => "DETACH PARTITION ... FINALIZE",
        _ => "of this kind",
    }
}
