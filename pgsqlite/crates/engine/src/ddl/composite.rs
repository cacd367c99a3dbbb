//! ALTER TYPE … ATTRIBUTE of stand-alone composite types. Stored values are not rewritten, so a type that columns use stays.

use super::{Ddl, NodeEnum};
use pgsqlite_sql::analyze;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
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
            for column in relation.live_columns() {
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
            let Some(table) = self.catalog.relation(definition.table) else { continue };
            let names = super::naming::index_column_names(table, definition);
            for (key, column) in definition.columns.iter().zip(&names) {
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
            let Some(NodeEnum::AlterTableCmd(command)) = &node.node else {
                return Err(PgError::internal("a command that is no AlterTableCmd"));
            };
            if command.subtype() == T::AtChangeOwner {
                let spec = command.newowner.as_ref().ok_or_else(|| PgError::internal("OWNER TO without a role"))?;
                user_type.owner = self.role(spec)?.oid;
                continue;
            }
            self.check_no_typed_table(&user_type)?;
            self.check_row_unused(user_type.oid, &format!("type \"{}\"", user_type.name), "uses it")?;
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
                }
                T::AtDropColumn => match fields.iter().position(|f| f.0 == command.name) {
                    Some(at) => {
                        fields.remove(at);
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

    pub(super) fn rename_attribute(&mut self, name: &ast::RangeVar, attribute: &str, new_name: &str) -> Result<()> {
        let (user_type, mut fields) = self.find_composite(name)?;
        self.check_no_typed_table(&user_type)?;
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
        self.put_type(UserType { kind: UserTypeKind::Composite { fields }, ..user_type })
    }
}
