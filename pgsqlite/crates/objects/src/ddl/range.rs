//! CREATE TYPE … AS RANGE: the range type, its multirange type, the constructors of both and the cast between them.

use super::def_elem::def_elems;
use super::{naming, strings, Ddl};
use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// The options as they were written.
#[derive(Default)]
struct Options<'a> {
    subtype: Option<&'a ast::DefElem>,
    opclass: Option<Vec<&'a str>>,
    collation: Option<Vec<&'a str>>,
    canonical: bool,
    difference: Option<Vec<&'a str>>,
    multirange: Option<Vec<&'a str>>,
}

/// A dotted name as an option's value. Errors: 42601 without one.
fn name_value(option: &ast::DefElem) -> Result<Vec<&str>> {
    match option.arg.as_ref().and_then(|a| a.node.as_ref()) {
        Some(NodeEnum::TypeName(name)) => Ok(strings(&name.names)),
        Some(NodeEnum::List(list)) => Ok(strings(&list.items)),
        Some(NodeEnum::String(s)) => Ok(vec![s.sval.as_str()]),
        None => Err(PgError::new(SqlState::SYNTAX_ERROR, format!("{} requires a parameter", option.defname))),
        Some(_) => Err(PgError::new(SqlState::SYNTAX_ERROR, format!("argument of {} must be a name", option.defname))),
    }
}

fn read_options(nodes: &[ast::Node]) -> Result<Options<'_>> {
    fn once<T>(slot: &mut Option<T>, value: T, option: &ast::DefElem) -> Result<()> {
        if slot.replace(value).is_some() {
            return Err(conflicting(option));
        }
        Ok(())
    }
    let mut out = Options::default();
    for option in def_elems(nodes) {
        work::visit();
        match option.defname.as_str() {
            "subtype" => once(&mut out.subtype, option, option)?,
            "subtype_opclass" => once(&mut out.opclass, name_value(option)?, option)?,
            "collation" => once(&mut out.collation, name_value(option)?, option)?,
            "canonical" => {
                if std::mem::replace(&mut out.canonical, true) {
                    return Err(conflicting(option));
                }
                name_value(option)?;
            }
            "subtype_diff" => once(&mut out.difference, name_value(option)?, option)?,
            "multirange_type_name" => once(&mut out.multirange, name_value(option)?, option)?,
            other => {
                return Err(PgError::new(SqlState::SYNTAX_ERROR, format!("type attribute \"{other}\" not recognized")))
            }
        }
    }
    Ok(out)
}

fn conflicting(option: &ast::DefElem) -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options").at(option.location)
}

/// The name that a multirange type gets by itself.
fn multirange_name(range: &str) -> String {
    let name = match range.find("range") {
        Some(at) => format!("{}multi{}", &range[..at], &range[at..]),
        None => format!("{range}_multirange"),
    };
    let mut end = name.len().min(naming::MAX_NAME);
    while !name.is_char_boundary(end) {
        work::visit();
        end -= 1;
    }
    name[..end].to_string()
}

impl Ddl<'_> {
    pub(super) fn create_range(&mut self, statement: &ast::CreateRangeStmt) -> Result<String> {
        let (schema, name) = self.new_type_name(&strings(&statement.type_name))?;
        let options = read_options(&statement.params)?;
        let subtype = self.range_subtype(options.subtype)?;
        // PostgreSQL wants a shell type first, for which C functions are written; there are none here.
        if options.canonical {
            return Err(PgError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                "cannot specify a canonical function without a pre-created shell type",
            )
            .hint(
                "Create the type as a shell type, then create its canonicalization function, then do a full CREATE TYPE.",
            ));
        }
        let opclass = self.range_opclass(options.opclass.as_deref(), subtype)?;
        let own_collation = naming::default_collation(&self.catalog, subtype);
        let collation = match &options.collation {
            Some(_) if own_collation == 0 => {
                return Err(PgError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    "range collation specified but subtype does not support collation",
                ))
            }
            Some(parts) => self.collation_oid(parts)?,
            None => own_collation,
        };
        if self.catalog.is_of_language(collation) {
            return Err(PgError::not_supported("a range type in a collation of ICU"));
        }
        let difference = match &options.difference {
            Some(parts) => self.range_difference(parts, subtype)?,
            None => 0,
        };
        let (multirange_schema, multirange_name) = match &options.multirange {
            Some(parts) => self.new_type_name(parts)?,
            None => {
                let multirange = multirange_name(&name);
                if self.catalog.type_name_taken(schema, &multirange) {
                    return Err(PgError::new(
                        SqlState::DUPLICATE_OBJECT,
                        format!("type \"{multirange}\" already exists"),
                    )
                    .detail(format!("Failed while creating a multirange type for type \"{name}\"."))
                    .hint(
                        "You can manually specify a multirange type name using the \"multirange_type_name\" attribute.",
                    ));
                }
                (schema, multirange)
            }
        };
        if multirange_schema == schema && (multirange_name == name || multirange_name == format!("_{name}")) {
            return Err(PgError::new(
                SqlState::UNIQUE_VIOLATION,
                "duplicate key value violates unique constraint \"pg_type_typname_nsp_index\"",
            )
            .detail(format!("Key (typname, typnamespace)=({multirange_name}, {schema}) already exists."))
            .schema("pg_catalog")
            .table("pg_type")
            .constraint("pg_type_typname_nsp_index"));
        }
        let owner = self.environment.user;
        let acl = self.default_acl(pgsqlite_sql::acl::AclObject::Type, schema);
        let array_oid = self.new_oid(false)?;
        let multirange = self.new_oid(false)?;
        let multirange_array = self.new_oid(false)?;
        let range = self.new_oid(false)?;
        let definition = RangeDefinition {
            subtype,
            multirange,
            collation,
            opclass,
            difference,
            constructor_schema: schema,
            range_name: name.clone(),
            multirange_name: multirange_name.clone(),
            range_constructors: [self.new_oid(false)?, self.new_oid(false)?],
            multirange_constructors: [self.new_oid(false)?, self.new_oid(false)?, self.new_oid(false)?],
            cast: self.new_oid(false)?,
        };
        let made = UserType {
            oid: range,
            array_oid,
            array_name: None,
            schema,
            name,
            owner,
            kind: UserTypeKind::Range(definition),
            acl,
            dropped: vec![],
        };
        self.check_constructors(&made)?;
        self.put_type(made)?;
        self.put_type(UserType {
            oid: multirange,
            array_oid: multirange_array,
            array_name: None,
            schema: multirange_schema,
            name: multirange_name,
            owner,
            kind: UserTypeKind::Multirange { range },
            acl: self.default_acl(pgsqlite_sql::acl::AclObject::Type, multirange_schema),
            dropped: vec![],
        })?;
        Ok("CREATE TYPE".into())
    }

    fn range_subtype(&self, option: Option<&ast::DefElem>) -> Result<Oid> {
        let required = || PgError::new(SqlState::SYNTAX_ERROR, "type attribute \"subtype\" is required");
        let option = option.ok_or_else(required)?;
        let subtype = match super::def_elem::type_name(option) {
            Some(name) => self.type_name(name).map_err(PgError::without_position)?.0,
            None => {
                let parts = name_value(option)?;
                let names = parts
                    .iter()
                    .map(|p| ast::Node { node: Some(NodeEnum::String(ast::String { sval: p.to_string() })) });
                let name = ast::TypeName { names: names.collect(), location: -1, ..Default::default() };
                self.type_name(&name).map_err(PgError::without_position)?.0
            }
        };
        if matches!(self.catalog.type_entry(subtype), Some(TypeEntry::Builtin(t)) if t.kind == b'p') {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("range subtype cannot be {}", self.display_type(subtype)),
            ));
        }
        if self.catalog.codec(subtype).is_none() {
            return Err(PgError::not_supported(format!("type {}", self.display_type(subtype))));
        }
        if self.catalog.holds_constrained(subtype) {
            return Err(PgError::not_supported("a range over a domain with constraints"));
        }
        Ok(subtype)
    }

    /// The btree operator class that orders the bounds: the subtype's default one, or one of the same order.
    fn range_opclass(&self, parts: Option<&[&str]>, subtype: Oid) -> Result<Oid> {
        let default = naming::default_opclass(&self.catalog, subtype, "btree");
        let Some(parts) = parts else {
            return default.ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!(
                        "data type {} has no default operator class for access method \"btree\"",
                        self.display_type(subtype)
                    ),
                )
                .hint(
                    "You must specify an operator class for the range type or define a default operator class for the \
                     subtype.",
                )
            });
        };
        let (_, name) = self.qualified(parts)?;
        let class = self.operator_class_named(parts, "btree")?;
        let input = |oid: Oid| builtin::operator_class_by_oid(oid).map(|c| c.input);
        if default.and_then(input) != Some(class.input) {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("operator class \"{name}\" does not accept data type {}", self.display_type(subtype)),
            ));
        }
        // texts are stored and compared by their bytes
        if Some(class.oid) != default && !name.ends_with("_pattern_ops") {
            return Err(PgError::not_supported(format!("operator class \"{name}\" of a range type")));
        }
        Ok(class.oid)
    }

    /// The subtype difference function: of two values of the subtype, immutable, giving double precision.
    fn range_difference(&self, parts: &[&str], subtype: Oid) -> Result<Oid> {
        let (schema, name) = self.qualified(parts)?;
        let path: Vec<Oid> = match schema {
            "" => self.environment.search_path.to_vec(),
            schema => self.catalog.schema_oid(schema).into_iter().collect(),
        };
        let fits = |args: &[Oid]| args == [subtype, subtype];
        let found_in = |s: Oid| path.contains(&s) || schema.is_empty() && s == PG_CATALOG;
        let of_system = || {
            let mut named = builtin::procs_named(name);
            named.find(|p| fits(&p.args) && self.catalog.schema_of_builtin(p.oid).is_some_and(found_in))
        };
        let of_user = || {
            let mut named = self.catalog.routines_named(name);
            named.find(|r| path.contains(&r.function.schema) && fits(&r.proc.args)).map(|r| &r.proc)
        };
        let shown = self.display_type(subtype);
        let signature = format!("{}({shown}, {shown})", parts.join("."));
        let found = of_system().or_else(of_user).ok_or_else(|| {
            PgError::new(SqlState::UNDEFINED_FUNCTION, format!("function {signature} does not exist"))
        })?;
        let invalid = |what: &str| {
            PgError::new(
                SqlState::INVALID_OBJECT_DEFINITION,
                format!("range subtype diff function {signature} must {what}"),
            )
        };
        if found.ret != oid::FLOAT8 {
            return Err(invalid("return type double precision"));
        }
        if found.volatility != b'i' {
            return Err(invalid("be immutable"));
        }
        Ok(found.oid)
    }

    /// 42723 if a function of the user is in a constructor's place.
    fn check_constructors(&self, range: &UserType) -> Result<()> {
        for made in pgsqlite_sql::routine::range_constructors(range) {
            work::visit();
            let taken = self.catalog.routine_in(range.schema, &made.name, &made.args).is_some()
                || self.constructor_in(range.schema, &made.name, &made.args);
            if taken {
                return Err(PgError::new(
                    SqlState::DUPLICATE_FUNCTION,
                    format!("function \"{}\" already exists with same argument types", made.name),
                ));
            }
        }
        Ok(())
    }

    /// Whether a function is the constructor of a range type.
    pub(super) fn constructor_in(&self, schema: Oid, name: &str, args: &[Oid]) -> bool {
        self.catalog.range_constructors.values().any(|p| {
            p.name == name
                && p.args == args
                && self.catalog.range_of_constructor(p.oid).is_some_and(|(_, d)| d.constructor_schema == schema)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::multirange_name;

    /// As PostgreSQL names them.
    #[test]
    fn names() {
        assert_eq!(multirange_name("textrange"), "textmultirange");
        assert_eq!(multirange_name("range_of_ranges"), "multirange_of_ranges");
        assert_eq!(multirange_name("f8r"), "f8r_multirange");
        assert_eq!(multirange_name(&"x".repeat(63)), "x".repeat(63));
    }
}
