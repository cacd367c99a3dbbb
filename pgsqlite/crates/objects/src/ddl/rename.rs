//! ALTER … RENAME, SET SCHEMA, OWNER TO; COMMENT ON.
//!
//! Stored texts name objects, so after a rename every text is analyzed with the old catalog and printed with the new one.

use super::altered::Change;
use super::comment::list_of;
use super::role::{administrators_alone, denied, superusers_alone};
use super::{strings, Ddl, NodeEnum};
use pgsqlite_metadata::store::{self, names::CatalogNames};
use pgsqlite_sql::analyze::{self, Environment};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{self, Names, Style};
use pgsqlite_sql::names::{quoted, RenamedFields};
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::routine::Function;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    /// Prints all stored texts anew: analyzed with `old`, printed with the working catalog.
    pub(super) fn refresh_texts(&mut self, old: &Catalog) -> Result<()> {
        let search_path = deparse::names::STORED_PATH;
        let old_names = CatalogNames { catalog: old, search_path };
        let environment =
            Environment { catalog: old, search_path, names: &old_names, user: BOOTSTRAP_ROLE, ..self.environment };
        let unexpanded = deparse::definitions::unexpanded(old);
        let policies = Environment { catalog: &unexpanded, ..environment };
        let renamed = RenamedFields::between(old, &self.catalog);
        let names = Names::stored(&self.catalog).after(&renamed);
        let mut changed: Vec<Relation> = Vec::new();
        for relation in self.catalog.relations.values().filter(|r| r.oid >= oid::FIRST_USER_OID) {
            work::visit();
            let Some(before) = old.relation(relation.oid) else { continue };
            let print = |text: &str, over: Option<&Relation>| -> Result<String> {
                let expr = analyze::analyze_stored_to_print(&environment, text, over)?;
                deparse::expression(names, Style::Full, &expr, over)
            };
            let mut new = (**relation).clone();
            // What the change itself added is written as it is to be, and names what the catalog did not have before.
            for column in new.columns.iter_mut().filter(|c| before.column_by_attnum(c.attnum).is_some()) {
                work::visit();
                if let Some(text) = &mut column.default {
                    *text = print(text, None)?;
                }
                if let Some(text) = &mut column.generated {
                    *text = print(text, Some(before))?;
                }
            }
            for part in new.inheritance.key.iter_mut().flat_map(|k| &mut k.columns) {
                work::visit();
                if let KeyPart::Expression(text) = &mut part.part {
                    *text = print(text, Some(before))?;
                }
            }
            for policy in &mut new.security.policies {
                work::visit();
                for text in [&mut policy.using, &mut policy.check].into_iter().flatten() {
                    work::visit();
                    let expr = analyze::analyze_policy_text_to_print(&policies, text, before)?;
                    *text = deparse::policy(names, Style::Full, &expr, before)?;
                }
            }
            for trigger in &mut new.triggers {
                work::visit();
                if let Some(text) = &mut trigger.condition {
                    *text = deparse::condition_anew(&environment, names, before, text)?;
                }
            }
            if !new.rules.is_empty() {
                for (rule, (_, tree)) in new.rules.iter_mut().zip(self.rule_trees(&unexpanded, before)?) {
                    work::visit();
                    rule.condition = deparse::modify::rule_condition(names, Style::Full, &tree)?;
                    let texts = deparse::modify::rule_commands(names, Style::Full, &tree)?;
                    rule.actions = texts.into_iter().map(|text| text.trim().to_string()).collect();
                }
            }
            for constraint in new.constraints.iter_mut().filter(|c| before.constraints.iter().any(|b| b.oid == c.oid)) {
                work::visit();
                if let ConstraintKind::Check { expression, .. } = &mut constraint.kind {
                    *expression = print(expression, Some(before))?;
                }
            }
            for object in &mut new.statistics {
                work::visit();
                for text in &mut object.expressions {
                    work::visit();
                    *text = print(text, Some(before))?;
                }
            }
            match &mut new.kind {
                RelationKind::Index(index) => {
                    let table = old.relation(index.table).map(|t| &**t);
                    for key in &mut index.columns {
                        work::visit();
                        if let KeyPart::Expression(text) = &mut key.key {
                            *text = print(text, table)?;
                        }
                    }
                    if let Some(text) = &mut index.predicate {
                        *text = print(text, table)?;
                    }
                }
                RelationKind::View { definition, .. } | RelationKind::MaterializedView { definition, .. } => {
                    let mut query = self.stored_view_in(old, definition, true)?;
                    // The view's own columns keep their names.
                    for (column, own) in query.columns.iter_mut().zip(relation.live_columns()) {
                        work::visit();
                        column.name.clone_from(&own.name);
                    }
                    *definition = deparse::query(names, Style::Full, &query)?;
                }
                _ => {}
            }
            if new != **relation {
                changed.push(new);
            }
        }
        let mut functions: Vec<Function> = Vec::new();
        for routine in self.catalog.routines.values() {
            work::visit();
            let Some(before) = old.function(routine.function.oid) else { continue };
            let mut new = routine.function.clone();
            for text in new.arguments.iter_mut().filter_map(|a| a.default.as_mut()) {
                work::visit();
                let expr = analyze::analyze_stored_to_print(&environment, text, None)?;
                *text = deparse::expression(names, Style::Full, &expr, None)?;
            }
            if new.qualified {
                new.source = deparse::stored_body(&environment, names, before)?;
            }
            if new != routine.function {
                functions.push(new);
            }
        }
        let mut types: Vec<UserType> = Vec::new();
        for user_type in self.catalog.types.values() {
            work::visit();
            let mut new = (**user_type).clone();
            let UserTypeKind::Domain { base, typmod, default, checks, .. } = &mut new.kind else { continue };
            if !old.types.contains_key(&new.oid) {
                continue;
            }
            let row = super::types::value_row(&user_type.name, user_type.schema, *base, *typmod);
            let print = |text: &str, over: Option<&Relation>| -> Result<String> {
                let expr = analyze::analyze_stored_to_print(&environment, text, over)?;
                deparse::expression(names, Style::Full, &expr, over)
            };
            if let Some(text) = default {
                *text = print(text, None)?;
            }
            for check in checks {
                work::visit();
                check.expression = print(&check.expression, Some(&row))?;
            }
            if new != **user_type {
                types.push(new);
            }
        }
        for user_type in types {
            work::visit();
            self.put_type(user_type)?;
        }
        for relation in changed {
            work::visit();
            self.put_relation(relation)?;
        }
        for function in functions {
            work::visit();
            self.put_function(function)?;
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, statement: &ast::RenameStmt) -> Result<String> {
        use ast::ObjectType as T;
        let old = self.catalog.clone();
        let new_name = statement.newname.as_str();
        let kind = statement.rename_type();
        let tag = match kind {
            T::ObjectPolicy => {
                self.rename_policy(statement)?;
                "ALTER POLICY"
            }
            T::ObjectStatisticExt => {
                self.rename_statistics(&list_of(statement.object.as_deref())?, new_name)?;
                return Ok("ALTER STATISTICS".into());
            }
            T::ObjectTrigger => {
                self.rename_trigger(statement)?;
                return Ok("ALTER TRIGGER".into());
            }
            T::ObjectRule => {
                self.rename_rule(statement)?;
                return Ok("ALTER RULE".into());
            }
            T::ObjectFunction | T::ObjectProcedure | T::ObjectRoutine | T::ObjectAggregate => {
                let mut function = self.function_of(statement.object.as_deref(), kind)?;
                if function.name == new_name {
                    return Err(self.function_exists(&function, function.schema, new_name));
                }
                self.check_function_free(&function, function.schema, new_name)?;
                function.name = new_name.to_string();
                self.put_function(function)?;
                self.refresh_texts(&old)?;
                return Ok(format!("ALTER {}", super::function::alter_word(kind)));
            }
            T::ObjectTable | T::ObjectView | T::ObjectMatview | T::ObjectIndex | T::ObjectSequence => {
                let tag = match kind {
                    T::ObjectTable => "ALTER TABLE",
                    T::ObjectView => "ALTER VIEW",
                    T::ObjectMatview => "ALTER MATERIALIZED VIEW",
                    T::ObjectIndex => "ALTER INDEX",
                    _ => "ALTER SEQUENCE",
                };
                let Some(relation) = self.rename_target(statement)? else { return Ok(tag.into()) };
                self.rename_relation(&relation, new_name)?;
                tag
            }
            T::ObjectColumn => {
                let tag = match statement.relation_type() {
                    T::ObjectView => "ALTER VIEW",
                    T::ObjectMatview => "ALTER MATERIALIZED VIEW",
                    T::ObjectType => "ALTER TYPE",
                    _ => "ALTER TABLE",
                };
                let Some(relation) = self.rename_target(statement)? else { return Ok(tag.into()) };
                if relation.inheritance.of_type != 0 {
                    return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, "cannot rename column of typed table"));
                }
                self.check_inherited_names(statement, &relation)?;
                for table in self.catalog.with_descendants(relation.oid) {
                    work::visit();
                    let table = self.required(table)?.clone();
                    self.rename_column(&table, &statement.subname, new_name)?;
                }
                tag
            }
            T::ObjectTabconstraint => {
                let tag = "ALTER TABLE";
                let Some(relation) = self.rename_target(statement)? else { return Ok(tag.into()) };
                self.check_inherited_names(statement, &relation)?;
                let mut new = (*relation).clone();
                self.check_constraint_name(&relation, new_name)?;
                let constraint = new.constraints.iter_mut().find(|c| c.name == statement.subname).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("constraint \"{}\" for table \"{}\" does not exist", statement.subname, relation.name),
                    )
                })?;
                if matches!(constraint.kind, ConstraintKind::SqliteCheck { .. }) {
                    return Err(PgError::not_supported("renaming a CHECK of a table that another program made"));
                }
                constraint.name = new_name.to_string();
                let passed_on = !constraint.is_no_inherit() && constraint.not_null_of().is_some();
                let index = if constraint.has_index() { constraint.index } else { 0 };
                if index != 0 {
                    let index = self.required(index)?.clone();
                    self.check_free(index.schema, new_name)?;
                    self.put_relation(Relation { name: new_name.to_string(), ..(*index).clone() })?;
                }
                self.put_relation(new)?;
                for child in self.catalog.with_descendants(relation.oid).into_iter().skip(1) {
                    work::visit();
                    let mut child = (**self.required(child)?).clone();
                    let same = |c: &Constraint| {
                        c.name == statement.subname
                            && (if passed_on { c.not_null_of().is_some() } else { c.is_check() })
                    };
                    let own = child.constraints.iter().position(same);
                    if own.is_none() && passed_on {
                        let name = &statement.subname;
                        let message = format!("constraint \"{name}\" for table \"{}\" does not exist", child.name);
                        return Err(PgError::new(SqlState::UNDEFINED_OBJECT, message));
                    }
                    if let Some(at) = own.filter(|at| child.constraints[*at].inherited.count > 0) {
                        self.check_constraint_name(&child, new_name)?;
                        child.constraints[at].name = new_name.to_string();
                        self.put_relation(child)?;
                    }
                }
                tag
            }
            T::ObjectSchema => {
                let oid = self.catalog.schema_oid(&statement.subname).ok_or_else(|| {
                    PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{}\" does not exist", statement.subname))
                })?;
                if self.catalog.schema_oid(new_name).is_some() {
                    return Err(PgError::new(
                        SqlState::DUPLICATE_SCHEMA,
                        format!("schema \"{new_name}\" already exists"),
                    ));
                }
                if oid < oid::FIRST_USER_OID {
                    return Err(PgError::not_supported("renaming a schema that every database has"));
                }
                self.check_owned("schema", &statement.subname, self.catalog.schemas[&oid].owner)?;
                self.check_may_create_schemas()?;
                if new_name.starts_with("pg_") {
                    return Err(PgError::new(
                        SqlState::RESERVED_NAME,
                        format!("unacceptable schema name \"{new_name}\""),
                    )
                    .detail("The prefix \"pg_\" is reserved for system schemas."));
                }
                let schema = Schema { name: new_name.to_string(), ..(*self.catalog.schemas[&oid]).clone() };
                self.ensure_store()?;
                store::storing::put_schema(self.conn, &schema)?;
                self.catalog.remove_schema(oid);
                self.catalog.add_schema(schema);
                self.changed = true;
                "ALTER SCHEMA"
            }
            T::ObjectCollation => {
                let parts = list_of(statement.object.as_deref())?;
                self.change_collation(&parts, |c| c.name = new_name.to_string())?;
                "ALTER COLLATION"
            }
            T::ObjectType | T::ObjectDomain => {
                let parts = match statement.object.as_ref().and_then(|o| o.node.as_ref()) {
                    Some(NodeEnum::List(list)) => strings(&list.items),
                    _ => return Err(PgError::internal("a type without a name")),
                };
                let user_type = self.find_owned_type(&parts)?;
                if self.catalog.type_name_taken(user_type.schema, new_name) {
                    return Err(PgError::new(
                        SqlState::DUPLICATE_OBJECT,
                        format!("type \"{new_name}\" already exists"),
                    ));
                }
                self.put_type(UserType { name: new_name.to_string(), ..(*user_type).clone() })?;
                if kind == T::ObjectDomain {
                    "ALTER DOMAIN"
                } else {
                    "ALTER TYPE"
                }
            }
            T::ObjectDomconstraint => {
                let parts = match statement.object.as_ref().and_then(|o| o.node.as_ref()) {
                    Some(NodeEnum::List(list)) => strings(&list.items),
                    _ => return Err(PgError::internal("a domain without a name")),
                };
                self.rename_domain_constraint(&parts, &statement.subname, new_name)?;
                "ALTER DOMAIN"
            }
            T::ObjectAttribute => {
                let name = statement.relation.as_ref().ok_or_else(|| PgError::internal("a type without a name"))?;
                self.rename_attribute(name, &statement.subname, new_name, statement.behavior())?;
                "ALTER TYPE"
            }
            T::ObjectDatabase => {
                self.rename_database(&statement.subname, new_name)?;
                "ALTER DATABASE"
            }
            T::ObjectRole => {
                let role = self.role_named(&statement.subname)?;
                // (of a role that is both, PostgreSQL names the session's user here)
                if let Some((own, _)) = self.own_roles().iter().rev().find(|own| own.1 == role.oid) {
                    let message = format!("{own} user cannot be renamed");
                    return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                super::role::check_not_reserved(&role.name)?;
                super::role::check_not_reserved(new_name)?;
                if self.catalog.role_named(new_name).is_some() {
                    return Err(PgError::new(
                        SqlState::DUPLICATE_OBJECT,
                        format!("role \"{new_name}\" already exists"),
                    ));
                }
                if role.superuser && !self.is_superuser() {
                    return Err(denied("rename role", superusers_alone("rename")));
                }
                if !self.administers(role.oid) {
                    return Err(denied("rename role", administrators_alone(&role.name, "rename")));
                }
                self.put_role(Role { name: new_name.to_string(), ..(*role).clone() })?;
                "ALTER ROLE"
            }
            other => {
                let word = other.as_str_name().trim_start_matches("OBJECT_").replace('_', " ");
                return Err(PgError::not_supported(format!("ALTER {word} … RENAME")));
            }
        };
        self.refresh_texts(&old)?;
        Ok(tag.into())
    }

    pub(super) fn rename_column(&mut self, relation: &Relation, name: &str, new_name: &str) -> Result<()> {
        let mut new = relation.clone();
        let attnum = relation
            .column(name)
            .map(|c| c.attnum)
            .ok_or_else(|| PgError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")))?;
        if relation.column(new_name).is_some() {
            return Err(PgError::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{new_name}\" of relation \"{}\" already exists", relation.name),
            ));
        }
        super::column_definition::check_column_name(
            &relation.columns.iter().filter(|c| c.attnum != attnum).cloned().collect::<Vec<_>>(),
            new_name,
            -1,
        )?;
        new.columns[attnum as usize - 1].name = new_name.to_string();
        if relation.column_by_attnum(attnum).is_some_and(|c| c.is_virtual) {
            // (SQLite's table has no such column)
        } else if relation.is_stored() {
            let database = if relation.temporary { "temp" } else { "main" };
            self.sqlite(&format!(
                "ALTER TABLE {database}.{} RENAME COLUMN {} TO {}",
                quoted(&relation.sqlite_name),
                quoted(name),
                quoted(new_name)
            ))?;
        } else if !matches!(relation.kind, RelationKind::View { .. }) {
            return Err(PgError::not_supported("renaming a column of this kind of relation"));
        }
        self.put_relation(new)
    }

    /// Columns and CHECKs are called the same in all tables of a tree. Errors: 42P16 for what would part them.
    fn check_inherited_names(&self, statement: &ast::RenameStmt, relation: &Relation) -> Result<()> {
        let only = statement.relation.as_ref().is_some_and(|r| !r.inh);
        let tree = self.catalog.with_descendants(relation.oid);
        let column = statement.rename_type() == ast::ObjectType::ObjectColumn;
        let name = &statement.subname;
        let word = if column { "column" } else { "constraint" };
        let of = |r: &Relation| match column {
            true => r.column(name).map(|c| c.inherited),
            false => r
                .constraints
                .iter()
                .find(|c| c.name == *name && (c.is_check() || c.not_null_of().is_some()) && !c.is_no_inherit())
                .map(|c| c.inherited),
        };
        let Some(own) = of(relation) else { return Ok(()) };
        if only && tree.len() > 1 {
            let message = format!("inherited {word} \"{name}\" must be renamed in child tables too");
            return Err(PgError::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        let from_outside = tree.iter().skip(1).any(|oid| {
            self.catalog.relation(*oid).is_some_and(|r| {
                let inside = r.inheritance.parents.iter().filter(|p| tree.contains(p)).count();
                of(r).is_some_and(|i| usize::from(i.count) > inside)
            })
        });
        if own.count > 0 || from_outside {
            let message = format!("cannot rename inherited {word} \"{name}\"");
            return Err(PgError::new(SqlState::INVALID_TABLE_DEFINITION, message));
        }
        Ok(())
    }

    fn rename_target(&mut self, statement: &ast::RenameStmt) -> Result<Option<std::sync::Arc<Relation>>> {
        let name = statement.relation.as_ref().ok_or_else(|| PgError::internal("RENAME without a relation"))?;
        self.altered_relation(name, statement.rename_type(), Change::Rename, statement.missing_ok)
    }

    fn check_free(&self, schema: Oid, name: &str) -> Result<()> {
        if self.catalog.relation_in(schema, name).is_some() {
            return Err(PgError::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists")));
        }
        Ok(())
    }

    fn rename_relation(&mut self, relation: &Relation, new_name: &str) -> Result<()> {
        self.check_free(relation.schema, new_name)?;
        let mut new = Relation { name: new_name.to_string(), ..relation.clone() };
        if relation.is_stored() {
            self.check_row_type_name(relation.schema, new_name)?;
            self.move_sqlite_table(relation, &mut new)?;
        }
        if let RelationKind::Index(index) = &relation.kind {
            // The constraint behind which the index stands is renamed with it.
            let mut table = (**self.required(index.table)?).clone();
            let own = table
                .constraints
                .iter_mut()
                .find(|c| c.index == relation.oid && !matches!(c.kind, ConstraintKind::ForeignKey { .. }));
            if let Some(constraint) = own {
                constraint.name = new_name.to_string();
                self.put_relation(table)?;
            }
        }
        self.put_relation(new)
    }

    /// Renames the SQLite table to what the relation's new name and schema call for.
    fn move_sqlite_table(&mut self, old: &Relation, new: &mut Relation) -> Result<()> {
        let wanted = self.choose_sqlite_name(new.schema, &new.name);
        let database = if old.temporary { "temp" } else { "main" };
        self.sqlite(&format!("ALTER TABLE {database}.{} RENAME TO {}", quoted(&old.sqlite_name), quoted(&wanted)))?;
        // SQLite names the index of a PRIMARY KEY after its table.
        let automatic = format!("sqlite_autoindex_{}_", old.sqlite_name);
        let indexes: Vec<Relation> = self
            .catalog
            .indexes_of(old.oid)
            .filter(|(r, _)| r.sqlite_name.starts_with(&automatic))
            .map(|(r, _)| (**r).clone())
            .collect();
        for index in indexes {
            work::visit();
            let number = index.sqlite_name[automatic.len()..].to_string();
            self.put_relation(Relation { sqlite_name: format!("sqlite_autoindex_{wanted}_{number}"), ..index })?;
        }
        new.sqlite_name = wanted;
        Ok(())
    }

    pub(super) fn set_schema(&mut self, statement: &ast::AlterObjectSchemaStmt) -> Result<String> {
        use ast::ObjectType as T;
        let old = self.catalog.clone();
        let kind = statement.object_type();
        // a function is looked for before its new schema is
        if let Some(NodeEnum::ObjectWithArgs(named)) = statement.object.as_ref().and_then(|o| o.node.as_ref()) {
            if kind != T::ObjectOperator {
                self.function_named(named, kind, false)?;
            }
        }
        let schema = self.creation_schema(&statement.newschema, -1)?;
        let stays = |from: Oid| match [from, schema].contains(&PG_TEMP) {
            true => Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot move objects into or out of temporary schemas",
            )),
            false => Ok(()),
        };
        if kind == T::ObjectOperator {
            self.check_create(schema)?;
            let tag = self.change_operator(statement.object.as_deref(), |_, o| {
                o.schema = schema;
                Ok(())
            })?;
            self.refresh_texts(&old)?;
            return Ok(tag);
        }
        let tag = match kind {
            T::ObjectFunction | T::ObjectProcedure | T::ObjectRoutine | T::ObjectAggregate => {
                self.check_create(schema)?;
                if let Some(NodeEnum::ObjectWithArgs(named)) = statement.object.as_ref().and_then(|o| o.node.as_ref()) {
                    if self.function_named(named, kind, false)?.schema == schema {
                        return Ok(format!("ALTER {}", super::function::alter_word(kind)));
                    }
                }
                let mut function = self.function_of(statement.object.as_deref(), kind)?;
                stays(function.schema)?;
                self.check_function_free(&function, schema, &function.name)?;
                function.schema = schema;
                self.put_function(function)?;
                self.refresh_texts(&old)?;
                return Ok(format!("ALTER {}", super::function::alter_word(kind)));
            }
            T::ObjectTable | T::ObjectView | T::ObjectMatview | T::ObjectSequence => {
                let name = statement.relation.as_ref().ok_or_else(|| PgError::internal("SET SCHEMA without a name"))?;
                let tag = match kind {
                    T::ObjectTable => "ALTER TABLE",
                    T::ObjectView => "ALTER VIEW",
                    T::ObjectMatview => "ALTER MATERIALIZED VIEW",
                    _ => "ALTER SEQUENCE",
                };
                let Some(relation) = self.altered_relation(name, kind, Change::SetSchema, statement.missing_ok)? else {
                    return Ok(tag.into());
                };
                self.check_create(schema)?;
                stays(relation.schema)?;
                if relation.schema == schema {
                    return Ok(tag.into());
                }
                self.check_schema_free(schema, &relation.name)?;
                let mut new = Relation { schema, ..(*relation).clone() };
                if relation.is_stored() {
                    self.move_sqlite_table(&relation, &mut new)?;
                    for part in self.parts_of(relation.oid) {
                        work::visit();
                        self.check_schema_free(schema, &part.name)?;
                        self.put_relation(Relation { schema, ..part })?;
                    }
                }
                self.put_relation(new)?;
                tag
            }
            T::ObjectStatisticExt => {
                self.move_statistics(&list_of(statement.object.as_deref())?, schema)?;
                return Ok("ALTER STATISTICS".into());
            }
            T::ObjectCollation => {
                self.check_create(schema)?;
                let parts = list_of(statement.object.as_deref())?;
                self.change_collation(&parts, |c| c.schema = schema)?;
                "ALTER COLLATION"
            }
            T::ObjectType | T::ObjectDomain => {
                let parts = match statement.object.as_ref().and_then(|o| o.node.as_ref()) {
                    Some(NodeEnum::List(list)) => strings(&list.items),
                    _ => return Err(PgError::internal("a type without a name")),
                };
                self.check_create(schema)?;
                let user_type = self.find_owned_type(&parts)?;
                stays(user_type.schema)?;
                if user_type.schema != schema && self.catalog.type_name_taken(schema, &user_type.name) {
                    return Err(PgError::new(
                        SqlState::DUPLICATE_OBJECT,
                        format!(
                            "type \"{}\" already exists in schema \"{}\"",
                            user_type.name,
                            self.catalog.schema_name(schema)
                        ),
                    ));
                }
                self.put_type(UserType { schema, ..(*user_type).clone() })?;
                if kind == T::ObjectDomain {
                    "ALTER DOMAIN"
                } else {
                    "ALTER TYPE"
                }
            }
            other => {
                let word = other.as_str_name().trim_start_matches("OBJECT_").replace('_', " ");
                return Err(PgError::not_supported(format!("ALTER {word} … SET SCHEMA")));
            }
        };
        self.refresh_texts(&old)?;
        Ok(tag.into())
    }

    /// The user's function that an ALTER or COMMENT names, owned by the session's role.
    pub(super) fn function_of(
        &self,
        object: Option<&ast::Node>,
        kind: ast::ObjectType,
    ) -> Result<pgsqlite_sql::routine::Function> {
        match object.and_then(|o| o.node.as_ref()) {
            Some(NodeEnum::ObjectWithArgs(named)) => self.function_named(named, kind, true),
            _ => Err(PgError::internal("a function without a name")),
        }
    }

    fn check_schema_free(&self, schema: Oid, name: &str) -> Result<()> {
        if self.catalog.relation_in(schema, name).is_some() {
            return Err(PgError::new(
                SqlState::DUPLICATE_TABLE,
                format!("relation \"{name}\" already exists in schema \"{}\"", self.catalog.schema_name(schema)),
            ));
        }
        Ok(())
    }
}
