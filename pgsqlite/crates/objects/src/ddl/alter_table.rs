//! ALTER TABLE: one command after the other, each with its change of the catalog, the stored rows and SQLite's table.

use super::altered::Change;
use super::create_table::Elements;
use super::drop::Object;
use super::sequence::SequenceOptions;
use super::{Ddl, NodeEnum};
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::analyze;
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
        if types > 0 && commands.len() > 1 {
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

    /// 0A000: a stored text has a constant of a row type that has other columns now. (PostgreSQL keeps the constant as the row it
    /// was; here it is a text, which cannot be read as a row of the type any more.)
    fn check_constants_of(&self, row_type: Oid) -> Result<()> {
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
    fn using_expression(&self, relation: &Relation, using: &ast::Node) -> Result<pgsqlite_sql::typed::Expr> {
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

    /// The commands of a statement that changes the type of a column in the order in which PostgreSQL carries them out: what takes
    /// something away, the types, the rest. A column that USING of another one reads is dropped after that.
    ///
    /// Errors: 0A000 where USING reads a column of a table with children whose type the statement changes, too: it would see the new value.
    fn in_passes<'c>(
        &self,
        relation: &Relation,
        commands: Vec<&'c ast::AlterTableCmd>,
    ) -> Result<Vec<&'c ast::AlterTableCmd>> {
        use ast::AlterTableType as T;
        // The columns that USING of another column reads.
        let mut read: Vec<i16> = Vec::new();
        for command in commands.iter().filter(|c| c.subtype() == T::AtAlterColumnType) {
            work::visit();
            let Some(NodeEnum::ColumnDef(def)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else { continue };
            let Some(using) = &def.raw_default else { continue };
            let expr = self.using_expression(relation, using)?;
            let own = relation.column(&command.name).map(|c| c.attnum);
            let used = pgsqlite_sql::deparse::columns_used(&expr).into_iter();
            read.extend(
                used.filter_map(|i| relation.live_columns().nth(i)).map(|c| c.attnum).filter(|a| Some(*a) != own),
            );
        }
        let is_read = |c: &ast::AlterTableCmd| relation.column(&c.name).is_some_and(|c| read.contains(&c.attnum));
        if self.catalog.stands_for_several(relation)
            && commands.iter().any(|c| c.subtype() == T::AtAlterColumnType && is_read(c))
        {
            return Err(PgError::not_supported(
                "USING with a column whose type is changed by the same statement, on a table with children",
            ));
        }
        let pass = |c: &ast::AlterTableCmd| match c.subtype() {
            T::AtDropColumn if is_read(c) => 2,
            T::AtDropColumn | T::AtDropConstraint | T::AtDropNotNull | T::AtDropExpression | T::AtDropIdentity => 0,
            T::AtColumnDefault if c.def.is_none() => 0,
            T::AtAlterColumnType => 1,
            _ => 2,
        };
        let mut ordered = commands;
        ordered.sort_by_key(|c| pass(c));
        Ok(ordered)
    }

    /// Whether a stored text has a join, where another column of its tables could be taken for one that it names.
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

    fn alter_column_of(&self, relation: &Relation, name: &str) -> Result<Column> {
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
                Some(node) => self.column_default(&relation, attnum, node).map_err(|mut e| {
                    e.fields_mut().location = None;
                    e
                })?,
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
            .detail(super::index::kind_not_supported(&relation.kind)));
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
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, refused));
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
                    Some(node) => self.column_default(&relation, column.attnum, node)?,
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
            T::AtDropNotNull => {
                let column = self.alter_column_of(&relation, &command.name)?;
                if relation.primary_key().is_some_and(|k| k.columns.contains(&column.attnum)) {
                    return Err(PgError::new(
                        SqlState::INVALID_TABLE_DEFINITION,
                        format!("column \"{}\" is in a primary key", column.name),
                    ));
                }
                if let ReplicaIdentity::Index(index) = relation.storage.replica_identity {
                    let of_index = self.catalog.indexes_of(relation.oid).find(|(r, _)| r.oid == index);
                    if of_index.is_some_and(|(_, i)| i.columns.iter().any(|c| c.key == KeyPart::Column(column.attnum)))
                    {
                        return Err(PgError::new(
                            SqlState::INVALID_TABLE_DEFINITION,
                            format!("column \"{}\" is in index used as replica identity", column.name),
                        ));
                    }
                }
                if column.identity.is_some() {
                    return Err(self.is_identity(&relation, &column));
                }
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
                pgsqlite_metadata::store::write::delete_object(self.conn, sequence)
            }
            T::AtDropExpression => {
                let column = self.alter_column_of(&relation, &command.name)?;
                let mut relation = relation;
                if column.generated.is_none() {
                    let message = format!(
                        "column \"{}\" of relation \"{}\" is not a stored generated column",
                        column.name, relation.name
                    );
                    if command.missing_ok {
                        self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                        return Ok(());
                    }
                    return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
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

    fn is_identity(&self, relation: &Relation, column: &Column) -> PgError {
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

    fn sqlite_table(&self, relation: &Relation) -> String {
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

    /// Adds CHECK, key and foreign key constraints to a table with rows.
    pub(super) fn add_constraints(&mut self, table: Oid, elements: Elements) -> Result<()> {
        for spec in &elements.checks {
            work::visit();
            let mut relation = (**self.required(table)?).clone();
            if self.merge_check(&mut relation, spec)? {
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
        for spec in &elements.keys {
            work::visit();
            let old = (**self.required(table)?).clone();
            if spec.primary && old.primary_key().is_some() {
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
            let mut new = old.clone();
            let mut indexes = Vec::new();
            self.add_key(&mut new, spec, &mut indexes, false)?;
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
            constraint.not_valid &= spec.constraint.skip_validation;
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

    /// ALTER CONSTRAINT of a foreign key: when it is checked.
    fn alter_constraint(&mut self, old: Relation, command: &ast::AlterTableCmd) -> Result<()> {
        let Some(NodeEnum::AtalterConstraint(c)) = command.def.as_ref().and_then(|d| d.node.as_ref()) else {
            return Err(PgError::internal("ALTER CONSTRAINT without its definition"));
        };
        let mut new = old.clone();
        let Some(constraint) = new.constraints.iter_mut().find(|k| k.name == c.conname) else {
            return Err(PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("constraint \"{}\" of relation \"{}\" does not exist", c.conname, old.name),
            ));
        };
        if !matches!(constraint.kind, ConstraintKind::ForeignKey { .. }) {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("constraint \"{}\" of relation \"{}\" is not a foreign key constraint", c.conname, old.name),
            ));
        }
        if !c.alter_deferrability {
            return Err(PgError::not_supported("this form of ALTER CONSTRAINT"));
        }
        if constraint.inherited.parent != 0 {
            // PostgreSQL has no code for it
            return Err(PgError::internal(format!(
                "cannot alter constraint \"{}\" on relation \"{}\"",
                c.conname, old.name
            )));
        }
        let mut parts = vec![constraint.oid];
        while let Some((table, oid)) = self.catalog.relations.values().find_map(|r| {
            work::visit();
            let part = r.constraints.iter().find(|k| parts.contains(&k.inherited.parent) && !parts.contains(&k.oid));
            part.map(|k| (r.oid, k.oid))
        }) {
            parts.push(oid);
            if table != old.oid {
                self.set_deferrable(table, oid, c)?;
            }
        }
        for own in new.constraints.iter_mut().filter(|k| parts.contains(&k.oid)) {
            work::visit();
            own.deferrable = c.deferrable;
            own.initially_deferred = c.initdeferred;
        }
        self.put_relation(new.clone())?;
        self.rebuild(&old, &new, &HashMap::new())
    }

    fn set_deferrable(&mut self, table: Oid, constraint: Oid, c: &ast::AtAlterConstraint) -> Result<()> {
        let old = (**self.required(table)?).clone();
        let mut new = old.clone();
        for own in new.constraints.iter_mut().filter(|k| k.oid == constraint) {
            work::visit();
            own.deferrable = c.deferrable;
            own.initially_deferred = c.initdeferred;
        }
        self.put_relation(new.clone())?;
        self.rebuild(&old, &new, &HashMap::new())
    }

    /// ADD CONSTRAINT … USING INDEX: an index becomes a constraint's.
    fn constraint_using_index(&mut self, old: Relation, c: &ast::Constraint) -> Result<()> {
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
        let columns: Option<Vec<i16>> = index
            .columns
            .iter()
            .map(|k| match k.key {
                KeyPart::Column(attnum) => Some(attnum),
                KeyPart::Expression(_) => None,
            })
            .collect();
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
        if primary && old.primary_key().is_some() {
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
        });
        self.put_relation(new)
    }

    /// 23514 or 23503 if rows violate the constraint.
    pub(super) fn check_rows(&self, relation: &Relation, constraint: &Constraint) -> Result<()> {
        match &constraint.kind {
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

    fn set_not_null(&mut self, old: &Relation, attnum: i16) -> Result<()> {
        let column = &old.columns[attnum as usize - 1];
        if column.not_null {
            return Ok(());
        }
        if self.any_row(old, &format!("{} IS NULL", quoted(&column.name)))? {
            return Err(self.contains_nulls(old, &column.name));
        }
        let mut new = old.clone();
        new.columns[attnum as usize - 1].not_null = true;
        self.put_relation(new.clone())?;
        self.rebuild(old, &new, &HashMap::new())
    }

    /// Changes of columns' types, whose USING all read the rows as they are before the statement.
    fn alter_types(&mut self, table: Oid, commands: &[&ast::AlterTableCmd]) -> Result<()> {
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
            .detail(format!("Column \"{}\" is a generated column.", column.name)));
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
            (super::sqlite::storage_class(&self.catalog, ty), self.catalog.codec(ty).and_then(|c| c.collation()))
        };
        if in_foreign_key && class(ty) != class(column.type_oid) {
            return Err(PgError::not_supported("changing the storage class of a foreign key's column"));
        }
        let display = Names::new(&self.catalog, self.environment.search_path).type_name(ty, typmod);
        let quoted = pgsqlite_sql::deparse::quote_identifier(&column.name);
        let expr = match &def.raw_default {
            Some(node) => self.analyze(|e| analyze::analyze_expression_node(e, node, Some(before), Some((ty, typmod)))),
            None => self.analyze(|e| analyze::analyze_expression(e, &quoted, Some(before), Some((ty, typmod)))),
        }
        .map_err(|e| {
            if e.code() != SqlState::DATATYPE_MISMATCH {
                return e;
            }
            if def.raw_default.is_some() {
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
            .hint(format!("You might need to specify \"USING {quoted}::{display}\"."))
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
                    key.opclass = super::naming::default_opclass(&self.catalog, ty, &method)
                        .ok_or_else(|| self.no_opclass(ty, &method))?;
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

/// What messages call a command.
fn action_name(kind: ast::AlterTableType) -> &'static str {
    use ast::AlterTableType as T;
    match kind {
        T::AtAddColumn => "ADD COLUMN",
        T::AtColumnDefault => "ALTER COLUMN ... SET DEFAULT",
        T::AtDropNotNull => "ALTER COLUMN ... DROP NOT NULL",
        T::AtSetNotNull => "ALTER COLUMN ... SET NOT NULL",
        T::AtDropExpression => "ALTER COLUMN ... DROP EXPRESSION",
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
