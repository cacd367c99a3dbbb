//! Type names of the grammar → (type OID, typmod), and types → the names messages print.

use super::Analyzer;
use crate::catalog::{is_information_domain, TypeEntry, PG_CATALOG};
use crate::parse::{ast, NodeEnum};
use pgsqlite_types::{catalog as pg_type, oid, typmod, Oid, PgError, Result, SqlState};

/// The strings of a list of String nodes (a qualified name).
pub(crate) fn name_parts(names: &[ast::Node]) -> Vec<&str> {
    names
        .iter()
        .filter_map(|n| match &n.node {
            Some(NodeEnum::String(s)) => Some(s.sval.as_str()),
            _ => None,
        })
        .collect()
}

impl Analyzer<'_> {
    /// The type a TypeName means, as the type of values. Errors: 42704 (unknown), 0A000 (%TYPE, SETOF, domains of information_schema).
    pub fn type_name(&self, name: &ast::TypeName) -> Result<(Oid, i32)> {
        let (found, typmod) = self.any_type_name(name)?;
        self.refuse_information_domain(found, name.location)?;
        Ok((found, typmod))
    }

    /// Refuses a domain of information_schema, and an array of one, as the type of a value: their CHECKs are not carried out.
    pub(super) fn refuse_information_domain(&self, ty: Oid, location: i32) -> Result<()> {
        if !is_information_domain(self.env.catalog.element_type(ty).unwrap_or(ty)) {
            return Ok(());
        }
        Err(PgError::not_supported(format!("a value of type \"{}\"", self.type_display(ty))).at(location))
    }

    /// The type a TypeName means. Errors: 42704 (unknown), 0A000 (%TYPE, SETOF).
    pub fn any_type_name(&self, name: &ast::TypeName) -> Result<(Oid, i32)> {
        let parts = name_parts(&name.names);
        if name.pct_type {
            return Err(PgError::not_supported("%TYPE").at(name.location));
        }
        if name.setof {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "SETOF is not allowed here").at(name.location));
        }
        let unknown = || {
            PgError::new(SqlState::UNDEFINED_OBJECT, format!("type \"{}\" does not exist", parts.join(".")))
                .at(name.location)
        };
        let base = match self.without_database(&parts)?[..] {
            [bare] => self.find_type(None, bare),
            [schema, bare] => {
                if self.env.catalog.schema_oid(schema).is_none() {
                    return Err(PgError::new(
                        SqlState::UNDEFINED_SCHEMA,
                        format!("schema \"{schema}\" does not exist"),
                    )
                    .at(name.location));
                }
                self.check_schema(schema).map_err(|e| e.at(name.location))?;
                self.find_type(Some(schema), bare)
            }
            _ => None,
        }
        .ok_or_else(unknown)?;
        let modifiers = self.type_modifiers(&name.typmods, name.location)?;
        let typmod = if modifiers.is_empty() {
            -1
        } else {
            typmod::parse(base, &modifiers).map_err(|e| e.at(name.location))?.typmod
        };
        if name.array_bounds.is_empty() {
            return Ok((base, typmod));
        }
        Ok((self.array_type_of(base, name.location)?, typmod))
    }

    /// The type of arrays of a type. Errors: 42704 if there is none.
    pub(super) fn array_type_of(&self, element: Oid, location: i32) -> Result<Oid> {
        self.env.catalog.array_type(element).ok_or_else(|| {
            PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("could not find array type for data type {}", self.type_display(element)),
            )
            .at(location)
        })
    }

    /// The parts of a name without the session's database in front. Errors: 0A000 for another database.
    fn without_database<'n>(&self, parts: &[&'n str]) -> Result<Vec<&'n str>> {
        match parts {
            [database, rest @ ..] if rest.len() == 2 => match self.env.catalog.is_database(database) {
                true => Ok(rest.to_vec()),
                false => Err(super::cross_database(parts)),
            },
            _ => Ok(parts.to_vec()),
        }
    }

    /// Modifiers are integer constants (interval: a field mask first), or other constants and bare words that read as integers.
    fn type_modifiers(&self, nodes: &[ast::Node], location: i32) -> Result<Vec<i64>> {
        let refused = || {
            PgError::new(SqlState::SYNTAX_ERROR, "type modifiers must be simple constants or identifiers").at(location)
        };
        let read =
            |text: &str| pgsqlite_types::int::parse(text, pgsqlite_types::int::Width::Four).map_err(|e| e.at(location));
        nodes
            .iter()
            .map(|node| match &node.node {
                Some(NodeEnum::AConst(c)) => match &c.val {
                    Some(ast::a_const::Val::Ival(i)) => Ok(i64::from(i.ival)),
                    Some(ast::a_const::Val::Sval(s)) => read(&s.sval),
                    Some(ast::a_const::Val::Fval(f)) => read(&f.fval),
                    _ => Err(refused()),
                },
                Some(NodeEnum::ColumnRef(column)) => match name_parts(&column.fields)[..] {
                    [word] if column.fields.len() == 1 => read(word),
                    _ => Err(refused()),
                },
                _ => Err(refused()),
            })
            .collect()
    }

    fn find_type(&self, schema: Option<&str>, name: &str) -> Option<Oid> {
        if let Some(schema) = schema {
            return self.env.catalog.type_in(self.env.catalog.schema_oid(schema)?, name);
        }
        // the rows of temporary tables come first unless the path says otherwise
        use crate::catalog::PG_TEMP;
        if !self.env.search_path.contains(&PG_TEMP) && self.env.search_path != crate::names::STORED_PATH {
            if let Some(found) = self.env.catalog.type_in(PG_TEMP, name) {
                return Some(found);
            }
        }
        // pg_catalog is searched first unless the path names it.
        self.env.search_path.iter().find_map(|&s| self.env.catalog.type_in(s, name)).or_else(|| {
            (!self.env.search_path.contains(&PG_CATALOG)).then(|| self.env.catalog.type_in(PG_CATALOG, name)).flatten()
        })
    }

    /// A type as error messages name it: format_type without typmod.
    pub fn type_display(&self, ty: Oid) -> String {
        match self.env.catalog.type_entry(ty) {
            Some(TypeEntry::Builtin(t)) if t.extension.is_none() => {
                typmod::type_name(ty).unwrap_or_else(|| t.name.to_string())
            }
            Some(_) => crate::names::Names::new(self.env.catalog, self.env.search_path).type_name(ty, -1),
            None => format!("??? ({ty})"),
        }
    }

    /// Category and whether it is preferred in it (`pg_type.typcategory`, `typispreferred`).
    pub fn category(&self, ty: Oid) -> (u8, bool) {
        match self.env.catalog.type_entry(ty) {
            Some(TypeEntry::Builtin(t)) => (t.category, t.preferred),
            Some(TypeEntry::User(t)) => match &t.kind {
                crate::catalog::UserTypeKind::Enum { .. } => (b'E', false),
                crate::catalog::UserTypeKind::Domain { base, .. } => (self.category(*base).0, false),
                crate::catalog::UserTypeKind::Composite { .. } => (b'C', false),
                crate::catalog::UserTypeKind::Range(_) | crate::catalog::UserTypeKind::Multirange { .. } => {
                    (b'R', false)
                }
            },
            Some(TypeEntry::ArrayOf(_)) => (b'A', false),
            Some(TypeEntry::Row(_)) => (b'C', false),
            None => (b'U', false),
        }
    }

    pub fn is_enum(&self, ty: Oid) -> bool {
        self.category(ty).0 == b'E' && pg_type::by_oid(ty).is_none()
    }

    /// Composite and record types.
    pub fn is_row_type(&self, ty: Oid) -> bool {
        ty == oid::RECORD
            || matches!(self.env.catalog.type_entry(ty), Some(TypeEntry::Row(_)))
            || self.category(ty).0 == b'C'
    }
}
