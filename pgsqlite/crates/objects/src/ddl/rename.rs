//! ALTER … RENAME, SET SCHEMA, OWNER TO; COMMENT ON.
//!
//! Stored texts name objects, so after a rename every text is analyzed with the old catalog and printed with the new one.

use super::altered::Change;
use super::schema::{
    CLASS_COLLATION, CLASS_CONSTRAINT, CLASS_DATABASE, CLASS_EXTENSION, CLASS_RELATION, CLASS_ROLE, CLASS_SCHEMA,
    CLASS_TYPE, PLPGSQL,
};
use super::{strings, Ddl, NodeEnum};
use pgsqlite_metadata::store::{self, names::CatalogNames};
use pgsqlite_sql::analyze::{self, Environment};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{self, Names, Style};
use pgsqlite_sql::names::quoted;
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
        let mut changed: Vec<Relation> = Vec::new();
        for relation in self.catalog.relations.values().filter(|r| r.oid >= oid::FIRST_USER_OID) {
            work::visit();
            let Some(before) = old.relation(relation.oid) else { continue };
            let print = |text: &str, over: Option<&Relation>| -> Result<String> {
                let expr = analyze::analyze_stored_to_print(&environment, text, over)?;
                deparse::expression(Names::stored(&self.catalog), Style::Full, &expr, over)
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
                    *text = deparse::policy(Names::stored(&self.catalog), Style::Full, &expr, before)?;
                }
            }
            for trigger in &mut new.triggers {
                work::visit();
                if let Some(text) = &mut trigger.condition {
                    let names = Names::stored(&self.catalog);
                    *text = deparse::condition_anew(&environment, names, before, text)?;
                }
            }
            if !new.rules.is_empty() {
                let names = Names::stored(&self.catalog);
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
                    *definition = deparse::query(Names::stored(&self.catalog), Style::Full, &query)?;
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
                *text = deparse::expression(Names::stored(&self.catalog), Style::Full, &expr, None)?;
            }
            if new.qualified {
                new.source = deparse::stored_body(&environment, &self.catalog, before)?;
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
                deparse::expression(Names::stored(&self.catalog), Style::Full, &expr, over)
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
                    let own = child.constraints.iter().position(|c| c.name == statement.subname && c.is_check());
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
                if new_name.starts_with("pg_") {
                    return Err(PgError::new(
                        SqlState::RESERVED_NAME,
                        format!("unacceptable schema name \"{new_name}\""),
                    )
                    .detail("The prefix \"pg_\" is reserved for system schemas."));
                }
                let schema = Schema { name: new_name.to_string(), ..(*self.catalog.schemas[&oid]).clone() };
                self.ensure_store()?;
                store::write::put_schema(self.conn, &schema)?;
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
                self.rename_attribute(name, &statement.subname, new_name)?;
                "ALTER TYPE"
            }
            T::ObjectDatabase => {
                self.rename_database(&statement.subname, new_name)?;
                "ALTER DATABASE"
            }
            T::ObjectRole => {
                self.check_create_role("rename role")?;
                let role = self.role_named(&statement.subname)?;
                if role.oid == self.environment.user {
                    return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "session user cannot be renamed"));
                }
                if new_name.starts_with("pg_") {
                    return Err(PgError::new(SqlState::RESERVED_NAME, format!("role name \"{new_name}\" is reserved"))
                        .detail("Role names starting with \"pg_\" are reserved."));
                }
                if self.catalog.role_named(new_name).is_some() {
                    return Err(PgError::new(
                        SqlState::DUPLICATE_OBJECT,
                        format!("role \"{new_name}\" already exists"),
                    ));
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

    fn rename_column(&mut self, relation: &Relation, name: &str, new_name: &str) -> Result<()> {
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
        super::create_table::check_column_name(
            &relation.columns.iter().filter(|c| c.attnum != attnum).cloned().collect::<Vec<_>>(),
            new_name,
            -1,
        )?;
        new.columns[attnum as usize - 1].name = new_name.to_string();
        if relation.is_stored() {
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
                .find(|c| c.name == *name && matches!(c.kind, ConstraintKind::Check { no_inherit: false, .. }))
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
        let schema = self.creation_schema(&statement.newschema, -1)?;
        let kind = statement.object_type();
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
                let mut function = self.function_of(statement.object.as_deref(), kind)?;
                self.check_create(schema)?;
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
                if relation.schema == schema {
                    return Ok(tag.into());
                }
                self.check_schema_free(schema, &relation.name)?;
                let mut new = Relation { schema, ..(*relation).clone() };
                if relation.is_stored() {
                    self.move_sqlite_table(&relation, &mut new)?;
                    let with: Vec<Relation> = self
                        .catalog
                        .relations
                        .values()
                        .filter(|r| match &r.kind {
                            RelationKind::Index(i) => i.table == relation.oid,
                            RelationKind::Sequence(s) => s.owned_by.is_some_and(|o| o.0 == relation.oid),
                            _ => false,
                        })
                        .map(|r| (**r).clone())
                        .collect();
                    for part in with {
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
                let user_type = self.find_owned_type(&parts)?;
                self.check_create(schema)?;
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
    fn function_of(
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

    fn change_large_object(&mut self, number: Option<&ast::Node>, owner: Oid) -> Result<String> {
        use pgsqlite_natives::large_object::store;
        let object = super::grant::large_object_number(number)?;
        let Some(found) = store::find(self.conn, object)? else {
            let message = format!("large object {object} does not exist");
            return Err(PgError::new(SqlState::UNDEFINED_OBJECT, message));
        };
        self.check_owned("large object", &object.to_string(), found.owner)?;
        self.check_becomes_owner(owner)?;
        self.give_large_object(found, owner)?;
        Ok("ALTER LARGE OBJECT".into())
    }

    pub(super) fn alter_owner(&mut self, statement: &ast::AlterOwnerStmt) -> Result<String> {
        use ast::ObjectType as T;
        let spec = statement.newowner.as_ref().ok_or_else(|| PgError::internal("OWNER TO without a role"))?;
        let owner = self.role(spec)?.oid;
        let kind = statement.object_type();
        if matches!(kind, T::ObjectFunction | T::ObjectProcedure | T::ObjectRoutine | T::ObjectAggregate) {
            let mut function = self.function_of(statement.object.as_deref(), kind)?;
            self.check_becomes_owner(owner)?;
            super::grant::change_grantor(&mut function.acl, function.owner, owner);
            function.owner = owner;
            self.put_function(function)?;
            return Ok(format!("ALTER {}", super::function::alter_word(kind)));
        }
        if kind == T::ObjectOperator {
            return self.change_operator(statement.object.as_deref(), |ddl, o| {
                ddl.check_becomes_owner(owner)?;
                o.owner = owner;
                Ok(())
            });
        }
        if kind == T::ObjectLargeobject {
            return self.change_large_object(statement.object.as_deref(), owner);
        }
        let parts = match statement.object.as_ref().and_then(|o| o.node.as_ref()) {
            Some(NodeEnum::List(list)) => strings(&list.items),
            Some(NodeEnum::String(s)) => vec![s.sval.as_str()],
            _ => return Err(PgError::not_supported("OWNER TO of this object")),
        };
        match statement.object_type() {
            T::ObjectSchema => {
                let oid = self.catalog.schema_oid(parts[0]).ok_or_else(|| {
                    PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{}\" does not exist", parts[0]))
                })?;
                let mut schema = (*self.catalog.schemas[&oid]).clone();
                self.check_owned("schema", &schema.name, schema.owner)?;
                self.check_becomes_owner(owner)?;
                super::grant::change_grantor(&mut schema.acl, schema.owner, owner);
                self.put_schema(Schema { owner, ..schema })?;
                Ok("ALTER SCHEMA".into())
            }
            T::ObjectCollation => {
                self.user_collation(&parts)?;
                self.check_becomes_owner(owner)?;
                self.change_collation(&parts, |c| c.owner = owner)?;
                Ok("ALTER COLLATION".into())
            }
            T::ObjectStatisticExt => {
                self.give_statistics(&parts, owner)?;
                Ok("ALTER STATISTICS".into())
            }
            T::ObjectTsconfiguration => self.own_ts_configuration(&parts, owner),
            T::ObjectTsdictionary => self.own_ts_dictionary(&parts, owner),
            T::ObjectType | T::ObjectDomain => {
                let mut user_type = (*self.find_owned_type(&parts)?).clone();
                self.check_becomes_owner(owner)?;
                super::grant::change_grantor(&mut user_type.acl, user_type.owner, owner);
                self.put_type(UserType { owner, ..user_type })?;
                Ok(if statement.object_type() == T::ObjectDomain { "ALTER DOMAIN" } else { "ALTER TYPE" }.into())
            }
            T::ObjectDatabase if self.catalog.is_database(parts[0]) => {
                let mut properties = self.catalog.properties.clone();
                self.check_owned("database", parts[0], properties.owner)?;
                self.check_becomes_owner(owner)?;
                super::grant::change_grantor(&mut properties.acl, properties.owner, owner);
                self.put_properties(DatabaseProperties { owner, ..properties })?;
                Ok("ALTER DATABASE".into())
            }
            T::ObjectDatabase if self.configure_other_database(parts[0], [spec].into_iter())? => {
                Ok("ALTER DATABASE".into())
            }
            T::ObjectDatabase => {
                Err(PgError::new(SqlState::UNDEFINED_DATABASE, format!("database \"{}\" does not exist", parts[0])))
            }
            other => {
                let word = other.as_str_name().trim_start_matches("OBJECT_").replace('_', " ");
                Err(PgError::not_supported(format!("ALTER {word} … OWNER TO")))
            }
        }
    }

    /// 42501 unless the session's role could become the new owner.
    pub(super) fn check_becomes_owner(&self, owner: Oid) -> Result<()> {
        let user = self.environment.user;
        if pgsqlite_sql::acl::is_superuser(&self.catalog, user)
            || pgsqlite_sql::acl::member_of(&self.catalog, user, owner)
        {
            return Ok(());
        }
        Err(PgError::new(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!("must be member of role \"{}\"", self.catalog.role_name(owner).unwrap_or_default()),
        ))
    }

    /// A new owner of a relation and of what goes with it: indexes, owned sequences.
    pub(super) fn change_owner(&mut self, relation: Relation, owner: Oid) -> Result<()> {
        self.check_becomes_owner(owner)?;
        let parts: Vec<Relation> = self
            .catalog
            .relations
            .values()
            .filter(|r| match &r.kind {
                RelationKind::Index(i) => i.table == relation.oid,
                RelationKind::Sequence(s) => s.owned_by.is_some_and(|o| o.0 == relation.oid),
                _ => false,
            })
            .map(|r| (**r).clone())
            .collect();
        for mut part in std::iter::once(relation).chain(parts) {
            work::visit();
            super::grant::change_grantor(&mut part.acl, part.owner, owner);
            for column in &mut part.columns {
                work::visit();
                super::grant::change_grantor(&mut column.acl, part.owner, owner);
            }
            self.put_relation(Relation { owner, ..part })?;
        }
        Ok(())
    }

    pub(super) fn comment(&mut self, statement: &ast::CommentStmt) -> Result<String> {
        use ast::ObjectType as T;
        let kind = statement.objtype();
        if matches!(kind, T::ObjectFunction | T::ObjectProcedure | T::ObjectRoutine | T::ObjectAggregate) {
            let function = self.function_of(statement.object.as_deref(), kind)?;
            self.set_comment(super::schema::CLASS_FUNCTION, function.oid, 0, Some(&statement.comment))?;
            return Ok("COMMENT".into());
        }
        if kind == T::ObjectOperator {
            return self.comment_on_operator(statement.object.as_deref(), &statement.comment);
        }
        if kind == T::ObjectCast {
            return self.comment_on_cast(statement.object.as_deref(), &statement.comment);
        }
        let parts: Vec<&str> = match statement.object.as_ref().and_then(|o| o.node.as_ref()) {
            Some(NodeEnum::List(list)) => strings(&list.items),
            Some(NodeEnum::String(s)) => vec![s.sval.as_str()],
            Some(NodeEnum::TypeName(t)) => strings(&t.names),
            _ => {
                let word = kind.as_str_name().trim_start_matches("OBJECT_").replace('_', " ");
                let word = if kind == T::ObjectLargeobject { "LARGE OBJECT".to_string() } else { word };
                return Err(PgError::not_supported(format!("COMMENT ON {word}")));
            }
        };
        let find = |parts: &[&str]| -> Result<std::sync::Arc<Relation>> {
            let (schema, name) = self.qualified(parts)?;
            self.find_relation(schema, name).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", parts.join(".")))
            })
        };
        let (class, object, sub) = match statement.objtype() {
            T::ObjectTable | T::ObjectView | T::ObjectMatview | T::ObjectIndex | T::ObjectSequence => {
                let relation = find(&parts)?;
                let (is, article_word) = match statement.objtype() {
                    T::ObjectTable => (relation.kind == RelationKind::Table, "a table"),
                    T::ObjectView => {
                        (matches!(relation.kind, RelationKind::View { .. } | RelationKind::ForeignView), "a view")
                    }
                    T::ObjectMatview => {
                        (matches!(relation.kind, RelationKind::MaterializedView { .. }), "a materialized view")
                    }
                    T::ObjectIndex => (matches!(relation.kind, RelationKind::Index(_)), "an index"),
                    _ => (matches!(relation.kind, RelationKind::Sequence(_)), "a sequence"),
                };
                if !is {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("\"{}\" is not {article_word}", relation.name),
                    ));
                }
                self.check_owner(&relation)?;
                (CLASS_RELATION, relation.oid, 0)
            }
            T::ObjectColumn => {
                let [table @ .., column] = &parts[..] else {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, "column name must be qualified"));
                };
                if table.is_empty() {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, "column name must be qualified"));
                }
                if let Ok(composite) = self.find_type(table) {
                    if let UserTypeKind::Composite { fields } = &composite.kind {
                        self.check_owned("type", &composite.name, composite.owner)?;
                        let at = fields.iter().position(|f| f.0 == *column).ok_or_else(|| {
                            PgError::new(
                                SqlState::UNDEFINED_COLUMN,
                                format!("column \"{column}\" of relation \"{}\" does not exist", composite.name),
                            )
                        })?;
                        let class = pgsqlite_sql::catalog::composite::composite_class(composite.oid);
                        self.set_comment(CLASS_RELATION, class, at as i32 + 1, Some(&statement.comment))?;
                        return Ok("COMMENT".into());
                    }
                }
                let relation = find(table)?;
                self.check_owner(&relation)?;
                let column = relation.column(column).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{column}\" of relation \"{}\" does not exist", relation.name),
                    )
                })?;
                (CLASS_RELATION, relation.oid, i32::from(column.attnum))
            }
            T::ObjectStatisticExt => (super::schema::CLASS_STATISTICS, self.commented_statistics(&parts)?, 0),
            T::ObjectPolicy => {
                let comment = (!statement.comment.is_empty()).then_some(statement.comment.as_str());
                self.comment_on_policy(&parts, comment)?;
                return Ok("COMMENT".into());
            }
            T::ObjectTrigger => {
                let [table @ .., name] = &parts[..] else {
                    return Err(PgError::internal("a trigger without a table"));
                };
                let relation = find(table)?;
                let trigger = relation.triggers.iter().find(|t| t.name == *name).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("trigger \"{name}\" for table \"{}\" does not exist", relation.name),
                    )
                })?;
                self.check_owner(&relation)?;
                (super::schema::CLASS_TRIGGER, trigger.oid, 0)
            }
            T::ObjectRule => {
                let [table @ .., name] = &parts[..] else {
                    return Err(PgError::internal("a rule without a relation"));
                };
                let relation = find(table)?;
                let rule = self.rule_oid(&relation, name)?;
                self.check_owner(&relation)?;
                (super::schema::CLASS_RULE, rule, 0)
            }
            T::ObjectTabconstraint => {
                let [table @ .., name] = &parts[..] else {
                    return Err(PgError::internal("a constraint without a table"));
                };
                let relation = find(table)?;
                let constraint = relation.constraints.iter().find(|c| c.name == *name).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("constraint \"{name}\" for table \"{}\" does not exist", relation.name),
                    )
                })?;
                self.check_owner(&relation)?;
                (CLASS_CONSTRAINT, constraint.oid, 0)
            }
            T::ObjectSchema => {
                let oid = self.catalog.schema_oid(parts[0]).ok_or_else(|| {
                    PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{}\" does not exist", parts[0]))
                })?;
                self.check_owned("schema", parts[0], self.catalog.schemas[&oid].owner)?;
                (CLASS_SCHEMA, oid, 0)
            }
            T::ObjectType | T::ObjectDomain => (CLASS_TYPE, self.find_owned_type(&parts)?.oid, 0),
            T::ObjectDatabase if self.catalog.is_database(parts[0]) => {
                self.check_owned("database", parts[0], self.catalog.properties.owner)?;
                (CLASS_DATABASE, 1, 0)
            }
            T::ObjectDomconstraint => {
                let (domain, name) = match statement.object.as_ref().and_then(|o| o.node.as_ref()) {
                    Some(NodeEnum::List(list)) => match &list.items[..] {
                        [ast::Node { node: Some(NodeEnum::TypeName(t)) }, ast::Node { node: Some(NodeEnum::String(s)) }] => {
                            (strings(&t.names), s.sval.as_str())
                        }
                        _ => return Err(PgError::internal("a domain constraint without a name")),
                    },
                    _ => return Err(PgError::internal("a domain constraint without a name")),
                };
                let user_type = self.find_owned_type(&domain)?;
                let UserTypeKind::Domain { checks, .. } = &user_type.kind else {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("\"{}\" is not a domain", user_type.name),
                    ));
                };
                let check = checks.iter().find(|c| c.name == name).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("constraint \"{name}\" for domain {} does not exist", user_type.name),
                    )
                })?;
                (CLASS_CONSTRAINT, check.oid, 0)
            }
            T::ObjectCollation => (CLASS_COLLATION, self.user_collation(&parts)?.oid, 0),
            T::ObjectExtension if parts[0] == "plpgsql" => (CLASS_EXTENSION, PLPGSQL, 0),
            T::ObjectExtension => {
                let extension = self.catalog.extensions.get(parts[0]).ok_or_else(|| {
                    PgError::new(SqlState::UNDEFINED_OBJECT, format!("extension \"{}\" does not exist", parts[0]))
                })?;
                (CLASS_EXTENSION, extension.oid, 0)
            }
            T::ObjectDatabase => {
                let known = self.session.databases.is_some_and(|d| d.list().iter().any(|n| n == parts[0]));
                if known {
                    return Err(PgError::not_supported("COMMENT ON a database other than the current one"));
                }
                // PostgreSQL only warns, so that a dump can be read into a database of another name
                let warning =
                    PgError::new(SqlState::UNDEFINED_DATABASE, format!("database \"{}\" does not exist", parts[0]));
                self.notices.push(warning.severity(pgsqlite_types::error::Severity::Warning));
                return Ok("COMMENT".into());
            }
            T::ObjectRole => {
                let role = self.role_named(parts[0])?;
                self.check_create_role("comment on role")?;
                (CLASS_ROLE, role.oid, 0)
            }
            other => {
                let word = other.as_str_name().trim_start_matches("OBJECT_").replace('_', " ");
                return Err(PgError::not_supported(format!("COMMENT ON {word}")));
            }
        };
        self.set_comment(class, object, sub, Some(&statement.comment))?;
        Ok("COMMENT".into())
    }
}

/// The parts of a qualified name.
fn list_of(object: Option<&ast::Node>) -> Result<Vec<&str>> {
    match object.and_then(|o| o.node.as_ref()) {
        Some(NodeEnum::List(list)) => Ok(strings(&list.items)),
        _ => Err(PgError::internal("an object without a name")),
    }
}
