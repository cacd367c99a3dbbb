//! ALTER TYPE … ATTRIBUTE of stand-alone composite types. Stored values are written anew (`composite_values.rs`) where an attribute
//! comes or goes; as in PostgreSQL, an attribute of a type that columns use keeps its type.

use super::composite_values::FieldChange;
use super::{Ddl, NodeEnum};
use pgsqlite_sql::analyze;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    /// The composite type that a name of ALTER TYPE or COMMENT ON COLUMN means. Errors: 42704, 42809, 42501.
    fn find_composite(&self, name: &ast::RangeVar) -> Result<(UserType, Vec<(String, u32, i32)>)> {
        let parts: Vec<&str> =
            [name.schemaname.as_str(), name.relname.as_str()].into_iter().filter(|p| !p.is_empty()).collect();
        let found = self.find_type(&parts).map_err(|_| self.no_relation(name))?;
        let UserTypeKind::Composite { fields } = &found.kind else {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a composite type", found.name),
            ));
        };
        self.check_owned("type", &found.name, found.owner)?;
        Ok(((*found).clone(), fields.clone()))
    }

    fn no_attribute(&self, user_type: &UserType, name: &str) -> PgError {
        PgError::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{name}\" of relation \"{}\" does not exist", user_type.name),
        )
    }

    /// 0A000 if a column (of another table) holds values of a row type: they are stored field by field in order, so its fields
    /// stay. `what` is the type, or the table of whose rows it is.
    pub(super) fn check_row_unused(&self, row: Oid, what: &str, verb: &str) -> Result<()> {
        for relation in self.catalog.relations.values().filter(|r| r.is_stored() && r.row_type != row) {
            work::visit();
            for column in relation.live_columns() {
                work::visit();
                if self.catalog.holds_values_of(column.type_oid, row) {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        format!("cannot alter {what} because column \"{}.{}\" {verb}", relation.name, column.name),
                    ));
                }
            }
        }
        for (index, definition) in self.catalog.relations.values().filter_map(|r| match &r.kind {
            RelationKind::Index(i) => Some((r, i)),
            _ => None,
        }) {
            work::visit();
            let Some(table) = self.catalog.relation(definition.table) else { continue };
            let names = super::naming::index_column_names(table, definition);
            for (key, column) in definition.columns.iter().zip(&names) {
                work::visit();
                let KeyPart::Expression(text) = &key.key else { continue };
                let expr = self.analyze_stored(|e| analyze::analyze_expression(e, text, Some(table), None))?;
                if self.catalog.holds_values_of(expr.ty, row) {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        format!("cannot alter {what} because column \"{}.{column}\" {verb}", index.name),
                    ));
                }
            }
        }
        Ok(())
    }

    /// 42P16 if a field of type `ty` would put values of a row type inside of themselves.
    pub(super) fn check_no_member_of_itself(&self, ty: Oid, row: Oid, name: &str) -> Result<()> {
        if row != 0 && self.catalog.holds_values_of(ty, row) {
            return Err(PgError::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!("composite type {name} cannot be made a member of itself"),
            ));
        }
        Ok(())
    }

    /// 0A000 if a domain over the type has constraints, which may be about its fields.
    fn check_checked(&self, user_type: &UserType) -> Result<()> {
        for domain in self.catalog.types.values() {
            work::visit();
            if matches!(&domain.kind, UserTypeKind::Domain { checks, .. } if !checks.is_empty())
                && self.catalog.holds_values_of(domain.oid, user_type.oid)
            {
                let message = format!("changing a composite type that domain \"{}\" checks", domain.name);
                return Err(PgError::not_supported(message));
            }
        }
        Ok(())
    }

    /// A view counts the columns of a function's rows: where they are a table's, those may not change.
    pub(super) fn check_rows_unused(&self, table: &Relation) -> Result<()> {
        let giving = |r: &&std::sync::Arc<pgsqlite_sql::routine::Routine>| r.function.returns == table.row_type;
        let functions: Vec<Oid> = self.catalog.routines.values().filter(giving).map(|r| r.function.oid).collect();
        if functions.is_empty() {
            return Ok(());
        }
        let named = |r: &pgsqlite_sql::deparse::Reference| {
            r.class == super::schema::CLASS_FUNCTION && functions.contains(&r.object)
        };
        match self.stored_references()?.iter().find(|(_, references)| references.iter().any(named)) {
            None => Ok(()),
            Some((user, _)) => Err(PgError::not_supported(format!(
                "adding or dropping columns of a table whose rows a function gives to {}",
                self.describe(*user)
            ))),
        }
    }

    /// 2BP01 if tables are made OF the type: their columns would have to follow.
    fn check_no_typed_table(&self, user_type: &UserType) -> Result<()> {
        if !self.catalog.relations.values().any(|r| r.inheritance.of_type == user_type.oid) {
            return Ok(());
        }
        Err(PgError::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot alter type \"{}\" because it is the type of a typed table", user_type.name),
        )
        .hint("Use ALTER ... CASCADE to alter the typed tables too."))
    }

    /// Fields are compared byte by byte, as collation "C" does. 0A000 for the order of a language.
    pub(super) fn check_attribute_collation(&self, clause: Option<&ast::CollateClause>, ty: Oid) -> Result<()> {
        let collation = self.column_collation(clause, ty)?;
        match clause {
            Some(clause) if self.catalog.is_of_language(collation) => {
                Err(PgError::not_supported("a collation of ICU for a field of a composite type").at(clause.location))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn alter_composite(&mut self, statement: &ast::AlterTableStmt) -> Result<String> {
        use ast::AlterTableType as T;
        let name = statement.relation.as_ref().ok_or_else(|| PgError::internal("ALTER TYPE without a name"))?;
        let (mut user_type, mut fields) = self.find_composite(name)?;
        for node in &statement.cmds {
            work::visit();
            let Some(NodeEnum::AlterTableCmd(command)) = &node.node else {
                return Err(PgError::internal("a command that is no AlterTableCmd"));
            };
            if command.subtype() == T::AtChangeOwner {
                let spec = command.newowner.as_ref().ok_or_else(|| PgError::internal("OWNER TO without a role"))?;
                user_type.owner = self.role(spec)?.oid;
                continue;
            }
            self.check_no_typed_table(&user_type)?;
            let what = format!("type \"{}\"", user_type.name);
            if command.subtype() == T::AtAlterColumnType {
                self.check_row_unused(user_type.oid, &what, "uses it")?;
            }
            self.check_checked(&user_type)?;
            let def = match command.def.as_ref().and_then(|d| d.node.as_ref()) {
                Some(NodeEnum::ColumnDef(def)) => Some(def),
                _ => None,
            };
            let typed = |ddl: &Ddl, attribute: &str| -> Result<(u32, i32)> {
                let type_name = def
                    .and_then(|d| d.type_name.as_ref())
                    .ok_or_else(|| PgError::internal("an attribute without a type"))?;
                let (ty, typmod) = ddl.type_name(type_name)?;
                ddl.check_column_type(attribute, ty, type_name.location)?;
                ddl.check_no_member_of_itself(ty, user_type.oid, &user_type.name)?;
                ddl.check_attribute_collation(def.and_then(|d| d.coll_clause.as_deref()), ty)?;
                Ok((ty, typmod))
            };
            match command.subtype() {
                T::AtAddColumn => {
                    let attribute = def.map_or("", |d| d.colname.as_str());
                    if fields.iter().any(|f| f.0 == attribute) {
                        return Err(PgError::new(
                            SqlState::DUPLICATE_COLUMN,
                            format!("column \"{attribute}\" of relation \"{}\" already exists", user_type.name),
                        ));
                    }
                    let (ty, typmod) = typed(self, attribute)?;
                    fields.push((attribute.to_string(), ty, typmod));
                    self.change_fields(&user_type, &fields, &FieldChange::Add(ty), &what)?;
                }
                T::AtDropColumn => match fields.iter().position(|f| f.0 == command.name) {
                    Some(at) => {
                        self.check_attribute_unused(&user_type, &command.name, command.behavior())?;
                        let (_, ty, _) = fields.remove(at);
                        self.forget_attribute_comment(&user_type, at)?;
                        user_type.drop_attribute(at, ty);
                        self.change_fields(&user_type, &fields, &FieldChange::Drop(at), &what)?;
                    }
                    None if command.missing_ok => {
                        let message = format!("{}, skipping", self.no_attribute(&user_type, &command.name).message());
                        self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                    }
                    None => return Err(self.no_attribute(&user_type, &command.name)),
                },
                T::AtAlterColumnType => {
                    let at = fields
                        .iter()
                        .position(|f| f.0 == command.name)
                        .ok_or_else(|| self.no_attribute(&user_type, &command.name))?;
                    let (ty, typmod) = typed(self, &command.name)?;
                    (fields[at].1, fields[at].2) = (ty, typmod);
                }
                _ => return Err(PgError::not_supported("this form of ALTER TYPE")),
            }
        }
        self.put_type(UserType { kind: UserTypeKind::Composite { fields }, ..user_type })?;
        Ok("ALTER TYPE".into())
    }

    /// An attribute that an expression of a table over the type names cannot be dropped. Errors: 2BP01, and 0A000 with CASCADE, which
    /// would drop the constraint, the default or the index. The stored text is searched, so that a field of another type with the
    /// same name is refused, too.
    fn check_attribute_unused(&self, user_type: &UserType, attribute: &str, behavior: ast::DropBehavior) -> Result<()> {
        let field = format!(").{}", pgsqlite_sql::deparse::quote_identifier(attribute));
        let field = written(&field)?;
        let field = field.trim_matches('"');
        let names = |text: &str| {
            text.match_indices(field).any(|(at, _)| {
                !text[at + field.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$')
            })
        };
        for relation in self.catalog.relations.values().filter(|r| r.oid >= pgsqlite_types::oid::FIRST_USER_OID) {
            work::visit();
            if !relation.live_columns().any(|c| self.catalog.holds_values_of(c.type_oid, user_type.oid)) {
                continue;
            }
            if !names(&written(&**relation)?) {
                continue;
            }
            let what = format!("column {attribute} of composite type {}", user_type.name);
            if behavior == ast::DropBehavior::DropCascade {
                let message =
                    format!("dropping {what}, which \"{}\" uses in an expression, with CASCADE", relation.name);
                return Err(PgError::not_supported(message));
            }
            let mut detail = Vec::new();
            for constraint in &relation.constraints {
                work::visit();
                let ConstraintKind::Check { expression, .. } = &constraint.kind else { continue };
                if names(&written(expression)?) {
                    let dependent = format!("constraint {} on table {}", constraint.name, relation.name);
                    detail.push(format!("{dependent} depends on {what}"));
                }
            }
            let error = PgError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop {what} because other objects depend on it"),
            );
            let error = if detail.is_empty() { error } else { error.detail(detail.join("\n")) };
            return Err(error.hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        Ok(())
    }

    /// The type has other fields: values and stored texts follow. 0A000 where a text means nothing any more.
    fn change_fields(
        &mut self,
        user_type: &UserType,
        fields: &[(String, u32, i32)],
        change: &FieldChange,
        what: &str,
    ) -> Result<()> {
        self.check_values_can_change(user_type.oid, what, change)?;
        self.put_type(UserType { kind: UserTypeKind::Composite { fields: fields.to_vec() }, ..user_type.clone() })?;
        if let Err(e) = self.stored_references() {
            let message = format!("changing {what}, because a stored definition uses its fields ({})", e.message());
            return Err(PgError::not_supported(message));
        }
        self.change_stored_values(user_type.oid, change)
    }

    /// CASCADE to an attribute. Errors: 0A000 if a column holds values of the type.
    pub(super) fn remove_attribute(&mut self, ty: Oid, at: usize) -> Result<()> {
        let Some(found) = self.catalog.types.get(&ty).cloned() else { return Ok(()) };
        let UserTypeKind::Composite { fields } = &found.kind else { return Ok(()) };
        self.check_row_unused(ty, &format!("type \"{}\"", found.name), "uses it")?;
        self.check_checked(&found)?;
        let (mut user_type, mut fields) = ((*found).clone(), fields.clone());
        if at < fields.len() {
            let (_, of, _) = fields.remove(at);
            self.forget_attribute_comment(&user_type, at)?;
            user_type.drop_attribute(at, of);
        }
        self.put_type(UserType { kind: UserTypeKind::Composite { fields }, ..user_type })
    }

    /// What was said about the attribute at a place (from 0) goes with it.
    fn forget_attribute_comment(&mut self, composite: &UserType, at: usize) -> Result<()> {
        let class = pgsqlite_sql::catalog::composite::composite_class(composite.oid);
        let number = composite.attribute_numbers().nth(at).unwrap_or_default();
        match self.catalog.comments.contains_key(&(super::schema::CLASS_RELATION, class, number.into())) {
            true => self.set_comment(super::schema::CLASS_RELATION, class, number.into(), None),
            false => Ok(()),
        }
    }

    pub(super) fn rename_attribute(
        &mut self,
        name: &ast::RangeVar,
        attribute: &str,
        new_name: &str,
        behavior: ast::DropBehavior,
    ) -> Result<()> {
        let (user_type, mut fields) = self.find_composite(name)?;
        if behavior != ast::DropBehavior::DropCascade {
            self.check_no_typed_table(&user_type)?;
        }
        if fields.iter().any(|f| f.0 == new_name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{new_name}\" of relation \"{}\" already exists", user_type.name),
            ));
        }
        let field = fields.iter_mut().find(|f| f.0 == attribute).ok_or_else(|| {
            PgError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{attribute}\" does not exist"))
        })?;
        field.0 = new_name.to_string();
        let typed = self.catalog.relations.values().filter(|r| r.inheritance.of_type == user_type.oid);
        for table in typed.cloned().collect::<Vec<_>>() {
            work::visit();
            self.rename_column(&table, attribute, new_name)?;
        }
        self.put_type(UserType { kind: UserTypeKind::Composite { fields }, ..user_type })
    }
}

/// A stored definition as the file has it.
pub(super) fn written(definition: &(impl serde::Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string(definition).map_err(|e| PgError::internal(format!("a definition that is no JSON: {e}")))
}
