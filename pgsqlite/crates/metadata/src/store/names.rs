//! The names behind `regclass`, `regtype` and their kin, looked up in one catalog snapshot along a search path.

use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::{searched, searched_for_calls, Catalog, PG_TEMP};
use pgsqlite_sql::deparse::{quote_identifier, Names};
use pgsqlite_types::codec::{RegNames, TypeCodec};
use pgsqlite_types::text::truncate_name;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// Names seen in a catalog along a search path.
pub struct CatalogNames<'a> {
    /// the objects that have the names
    pub catalog: &'a Catalog,
    /// the schemas whose objects need no schema before their name, in the order of the search
    pub search_path: &'a [Oid],
}

fn too_many_names(what: &str, parts: &[&str]) -> PgError {
    let message = format!("improper {what} name (too many dotted names): {}", parts.join("."));
    PgError::new(SqlState::SYNTAX_ERROR, message)
}

impl CatalogNames<'_> {
    fn path(&self) -> Vec<Oid> {
        let mut path: Vec<Oid> = searched(self.search_path).collect();
        // the temporary schema is searched first, for relations
        if !path.contains(&PG_TEMP) {
            path.insert(0, PG_TEMP);
        }
        path
    }

    /// PostgreSQL's own functions of a name, and those of extensions that were made.
    fn builtins(&self, name: &str) -> impl Iterator<Item = &'static builtin::Proc> + use<'_> {
        builtin::procs_named(name).filter(|p| self.catalog.schema_of_builtin(p.oid).is_some())
    }

    /// As [`CatalogNames::path`], without the temporary schema, which is searched for relations and types only.
    fn callable_path(&self) -> Vec<Oid> {
        searched_for_calls(self.search_path).collect()
    }

    /// The functions of a name in these schemas: of two with the same arguments the one that comes first.
    fn functions<'a>(&'a self, path: &[Oid], name: &str) -> Vec<&'a builtin::Proc> {
        let mut found: Vec<&'a builtin::Proc> = Vec::new();
        for &schema in path {
            work::visit();
            let within = |p: &&builtin::Proc| self.catalog.schema_of_builtin(p.oid) == Some(schema);
            let mut here: Vec<&'a builtin::Proc> = self.builtins(name).filter(within).collect();
            let made = self.catalog.routines_named(name).filter(|r| r.function.schema == schema);
            here.extend(made.map(|r| &r.proc));
            here.extend(self.catalog.range_constructors.values().map(|p| &**p).filter(|p| {
                let range = self.catalog.range_of_constructor(p.oid);
                p.name == name && range.is_some_and(|(_, range)| range.constructor_schema == schema)
            }));
            for proc in here {
                work::visit();
                if !found.iter().any(|other| other.args == proc.args) {
                    found.push(proc);
                }
            }
        }
        found
    }

    /// What a name of one or two parts means along the path, or in its schema.
    fn along_path(&self, parts: &[&str], find: impl Fn(Oid, &str) -> Option<Oid>) -> Result<Option<Oid>> {
        match *parts {
            [name] => Ok(self.callable_path().into_iter().find_map(|schema| find(schema, name))),
            [schema, name] => Ok(self.catalog.schema_oid(schema).and_then(|schema| find(schema, name))),
            _ => Err(too_many_names("qualified", parts)),
        }
    }

    /// The operators that a name means, with or without its schema: of two with the same operands the one that the path comes to first.
    fn operators(&self, name: &str) -> Result<Vec<&builtin::Operator>> {
        split_identifier(name)?;
        work::visit();
        let schema = match name.rsplit_once('.') {
            Some((schema, _)) => match split_identifier(schema)?.as_slice() {
                [schema] => match self.catalog.schema_oid(schema) {
                    Some(schema) => Some(schema),
                    None => return Ok(vec![]),
                },
                _ => return Ok(vec![]),
            },
            None => None,
        };
        let bare = name.rsplit_once('.').map_or(name, |(_, bare)| bare);
        let only = schema.as_slice();
        let path = if only.is_empty() { self.search_path } else { only };
        let mut all: Vec<&builtin::Operator> = Vec::new();
        for (o, found) in self.catalog.operators_found(path, bare) {
            work::visit();
            let hidden = all.iter().any(|other| (other.left, other.right) == (o.left, o.right));
            if !hidden && schema.is_none_or(|schema| schema == found) {
                all.push(o);
            }
        }
        Ok(all)
    }

    fn schema(&self, name: &str) -> Result<Oid> {
        self.catalog
            .schema_oid(name)
            .ok_or_else(|| PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{name}\" does not exist")))
    }
}

/// Splits `name(type, type)` into the name and the types, all as they are written. A type may be an error, 22P02, which is told after those of
/// the types before it. Errors: 22P02, 42602.
fn name_and_types(text: &str) -> Result<(&str, Vec<Result<&str>>)> {
    let invalid = |message: &str| PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, message);
    let mut quoted = false;
    let open = text.find(|c| {
        quoted ^= c == '"';
        c == '(' && !quoted
    });
    let open = open.ok_or_else(|| invalid("expected a left parenthesis"))?;
    let name = &text[..open];
    // (a name that is none is told before what is wrong with the types)
    split_identifier(name)?;
    let list = text[open + 1..].trim_end().strip_suffix(')').ok_or_else(|| invalid("expected a right parenthesis"))?;
    let (mut types, mut rest) = (Vec::new(), list.trim_start());
    while !rest.is_empty() {
        work::visit();
        let (mut quoted, mut depth) = (false, 0i32);
        let comma = rest.find(|c| {
            match c {
                '"' => quoted = !quoted,
                '(' | '[' if !quoted => depth += 1,
                ')' | ']' if !quoted => depth -= 1,
                _ => {}
            }
            c == ',' && !quoted && depth == 0
        });
        if quoted || depth != 0 {
            types.push(Err(invalid("improper type name")));
            break;
        }
        types.push(Ok(rest[..comma.unwrap_or(rest.len())].trim_end()));
        let Some(comma) = comma else { break };
        rest = rest[comma + 1..].trim_start();
        if rest.is_empty() {
            types.push(Err(invalid("expected a type name")));
        }
    }
    Ok((name, types))
}

/// Splits `a."B c".d` into its parts, folded to lower case where they are not quoted.
pub fn split_identifier(text: &str) -> Result<Vec<String>> {
    let invalid = || PgError::new(SqlState::INVALID_NAME, "invalid name syntax");
    let mut parts = Vec::new();
    let mut chars = text.trim().chars().peekable();
    let blanks =
        |chars: &mut std::iter::Peekable<std::str::Chars>| while chars.next_if(|c| c.is_whitespace()).is_some() {};
    loop {
        work::visit();
        blanks(&mut chars);
        let mut part = String::new();
        let quoted = chars.peek() == Some(&'"');
        if quoted {
            chars.next();
            loop {
                work::visit();
                match chars.next() {
                    Some('"') if chars.peek() == Some(&'"') => {
                        chars.next();
                        part.push('"');
                    }
                    Some('"') => break,
                    Some(c) => part.push(c),
                    None => return Err(invalid()),
                }
            }
        } else {
            while let Some(&c) = chars.peek() {
                work::visit();
                if c == '.' || c.is_whitespace() {
                    break;
                }
                part.push(c.to_ascii_lowercase());
                chars.next();
            }
        }
        if part.is_empty() && !quoted {
            return Err(invalid());
        }
        parts.push(truncate_name(&part).to_string());
        blanks(&mut chars);
        match chars.next() {
            None => return Ok(parts),
            Some('.') => {}
            Some(_) => return Err(invalid()),
        }
    }
}

impl RegNames for CatalogNames<'_> {
    fn reg_name(&self, reg_type: Oid, value: Oid) -> Option<String> {
        let names = Names::new(self.catalog, self.search_path);
        match reg_type {
            oid::REGCLASS if self.catalog.relation(value).is_some() => Some(names.relation(value)),
            oid::REGCLASS => self.catalog.composite_of_class(value).map(|composite| names.type_name(composite.oid, -1)),
            oid::REGTYPE => pgsqlite_types::typmod::type_name(value)
                .or_else(|| self.catalog.type_entry(value).map(|_| names.type_name(value, -1))),
            oid::REGPROC => {
                let proc = self.catalog.proc(value)?;
                let name = quote_identifier(&proc.name);
                // a name that means several functions would not read back
                match self.functions(&self.callable_path(), &proc.name)[..] {
                    [only] if only.oid == value => Some(name),
                    _ => {
                        let schema = self.catalog.schema_name(names.schema_of_function(value)?);
                        Some(format!("{}.{name}", quote_identifier(schema)))
                    }
                }
            }
            oid::REGPROCEDURE => names.signature(value),
            oid::REGNAMESPACE => self.catalog.schemas.get(&value).map(|s| quote_identifier(&s.name)),
            oid::REGROLE => self.catalog.role_name(value).map(quote_identifier),
            oid::REGCOLLATION => names.collation(value),
            oid::REGOPERATOR => names.operator_signature(value),
            oid::REGOPER => self.catalog.operator(value).map(|o| {
                // a name that means several operators would not read back
                let alone = matches!(self.operators(&o.name).as_deref(), Ok([found]) if found.oid == value);
                match self.catalog.schema_of_operator(value) {
                    Some(schema) if !alone => {
                        format!("{}.{}", quote_identifier(self.catalog.schema_name(schema)), o.name)
                    }
                    _ => o.name.to_string(),
                }
            }),
            oid::REGCONFIG => names.ts_configuration(value),
            oid::REGDICTIONARY => names.ts_dictionary(value),
            _ => None,
        }
    }

    fn reg_oid(&self, reg_type: Oid, text: &str) -> Result<Oid> {
        if text == "-" {
            return Ok(0);
        }
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().map_err(|_| {
                PgError::new(
                    SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                    format!("value \"{text}\" is out of range for type oid"),
                )
            });
        }
        if reg_type == oid::REGTYPE {
            return self.type_oid(text);
        }
        if reg_type == oid::REGPROCEDURE || reg_type == oid::REGOPERATOR || reg_type == oid::REGOPER {
            return self.routine_oid(reg_type, text);
        }
        let parts = split_identifier(text)?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match reg_type {
            oid::REGCLASS => {
                let named = |schema: Oid, name: &str| {
                    let relation = self.catalog.relation_in(schema, name).map(|r| r.oid);
                    relation.or_else(|| self.catalog.composite_class_in(schema, name))
                };
                let found = match parts[..] {
                    [name] => self.path().iter().find_map(|&s| named(s, name)),
                    [schema, name] => self.catalog.schema_oid(schema).and_then(|s| named(s, name)),
                    [database, schema, name] if self.catalog.is_database(database) => {
                        self.catalog.schema_oid(schema).and_then(|s| named(s, name))
                    }
                    [_, _, _] => {
                        return Err(PgError::new(
                            SqlState::FEATURE_NOT_SUPPORTED,
                            format!("cross-database references are not implemented: \"{}\"", parts.join(".")),
                        ))
                    }
                    _ => {
                        return Err(too_many_names("relation", &parts));
                    }
                };
                found.ok_or_else(|| {
                    PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", parts.join(".")))
                })
            }
            oid::REGNAMESPACE | oid::REGROLE if parts.len() != 1 => {
                Err(PgError::new(SqlState::INVALID_NAME, "invalid name syntax"))
            }
            oid::REGNAMESPACE => self.schema(parts[0]),
            oid::REGROLE => self.catalog.role_named(parts[0]).map(|r| r.oid).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{}\" does not exist", parts[0]))
            }),
            oid::REGCOLLATION => {
                let found = self.along_path(&parts, |schema, name| self.catalog.collation_in(schema, name))?;
                found.ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("collation \"{}\" for encoding \"UTF8\" does not exist", parts.join(".")),
                    )
                })
            }
            oid::REGPROC => {
                let (path, name) = match parts[..] {
                    [name] => (self.callable_path(), name),
                    // (a schema that is not there has no functions)
                    [schema, name] => (self.catalog.schema_oid(schema).into_iter().collect(), name),
                    _ => return Err(too_many_names("qualified", &parts)),
                };
                match self.functions(&path, name)[..] {
                    [] => {
                        Err(PgError::new(SqlState::UNDEFINED_FUNCTION, format!("function \"{text}\" does not exist")))
                    }
                    [found] => Ok(found.oid),
                    _ => Err(PgError::new(
                        SqlState::AMBIGUOUS_FUNCTION,
                        format!("more than one function named \"{text}\""),
                    )),
                }
            }
            oid::REGCONFIG | oid::REGDICTIONARY => {
                let (kind, find): (_, fn(&Catalog, Oid, &str) -> Option<Oid>) = match reg_type {
                    oid::REGCONFIG => ("configuration", Catalog::ts_configuration_in),
                    _ => ("dictionary", Catalog::ts_dictionary_in),
                };
                let found = self.along_path(&parts, |schema, name| find(self.catalog, schema, name))?;
                found.ok_or_else(|| {
                    let name = parts.join(".");
                    PgError::new(SqlState::UNDEFINED_OBJECT, format!("text search {kind} \"{name}\" does not exist"))
                })
            }
            _ => Err(PgError::not_supported("input of this reg type")),
        }
    }

    fn reg_oid_for(&self, role: Oid, reg_type: Oid, text: &str) -> Result<Oid> {
        self.check_schema(role, reg_type, text)?;
        self.reg_oid(reg_type, text)
    }

    fn codec(&self, type_oid: Oid) -> Option<TypeCodec> {
        self.catalog.codec(type_oid)
    }
}

/// `text` as the type name grammar reads it.
fn type_name(text: &str) -> Result<pgsqlite_sql::parse::ast::TypeName> {
    use pgsqlite_sql::parse::{ast, NodeEnum};
    let invalid = || PgError::new(SqlState::SYNTAX_ERROR, format!("invalid type name \"{text}\""));
    if text.trim().is_empty() {
        return Err(invalid());
    }
    let read = |sql: String| pgsqlite_sql::parse::parse(&sql).map_err(PgError::without_position);
    read(format!("SELECT NULL::{text}"))?;
    // (the parentheses leave no room for what may follow an expression: a name, a clause, another statement)
    let statements = read(format!("SELECT (NULL::{text}\n)"))?;
    let [statement] = &statements[..] else { return Err(invalid()) };
    let NodeEnum::SelectStmt(select) = &statement.node else { return Err(invalid()) };
    let [ast::Node { node: Some(NodeEnum::ResTarget(target)) }] = &select.target_list[..] else {
        return Err(invalid());
    };
    let near = |what: &str| PgError::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{what}\""));
    let cast = match target.val.as_ref().and_then(|v| v.node.as_ref()) {
        Some(NodeEnum::TypeCast(cast)) => cast,
        Some(NodeEnum::AExpr(e)) => return Err(near(&pgsqlite_sql::parse::strings(&e.name).join("."))),
        _ => return Err(invalid()),
    };
    match cast.arg.as_ref().and_then(|arg| arg.node.as_ref()) {
        Some(NodeEnum::AConst(_)) => cast.type_name.clone().ok_or_else(invalid),
        _ => Err(near("::")),
    }
}

impl CatalogNames<'_> {
    /// 42501 where the name has a schema that the role may not look into. (What is no name is told when it is looked up.)
    fn check_schema(&self, role: Oid, reg_type: Oid, text: &str) -> Result<()> {
        use pgsqlite_sql::acl;
        if acl::is_superuser(self.catalog, role) || !text.contains('.') {
            return Ok(());
        }
        let parts = match reg_type {
            oid::REGNAMESPACE | oid::REGROLE => return Ok(()),
            oid::REGTYPE => {
                let Ok(name) = type_name(text) else { return Ok(()) };
                pgsqlite_sql::parse::strings(&name.names).iter().map(|s| s.to_string()).collect()
            }
            oid::REGPROCEDURE | oid::REGOPERATOR => {
                let Ok((name, args)) = name_and_types(text) else { return Ok(()) };
                args.into_iter().flatten().try_for_each(|arg| self.check_schema(role, oid::REGTYPE, arg))?;
                let of_name = if reg_type == oid::REGPROCEDURE { oid::REGPROC } else { oid::REGOPER };
                return self.check_schema(role, of_name, name);
            }
            // (the operator itself is no identifier)
            oid::REGOPER => {
                let schema = text.rsplit_once('.').and_then(|(schema, _)| split_identifier(schema).ok());
                schema.unwrap_or_default().into_iter().chain([String::new()]).collect()
            }
            _ => split_identifier(text).unwrap_or_default(),
        };
        let [.., schema, _] = &parts[..] else { return Ok(()) };
        match self.catalog.schema_oid(schema).filter(|oid| self.catalog.schemas.contains_key(oid)) {
            Some(oid) if acl::schema_privileges(self.catalog, role, oid) & acl::privilege::USAGE == 0 => {
                Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for schema {schema}")))
            }
            _ => Ok(()),
        }
    }

    fn type_oid(&self, text: &str) -> Result<Oid> {
        Ok(self.type_and_modifier(text)?.0)
    }

    /// The type that a text names, and its modifier. Errors: 42601, 42704.
    pub fn type_and_modifier(&self, text: &str) -> Result<(Oid, i32)> {
        let name = &type_name(text)?;
        let settings = pgsqlite_types::Settings::default();
        let environment = pgsqlite_sql::analyze::Environment {
            catalog: self.catalog,
            search_path: self.search_path,
            settings: &settings,
            names: self,
            // (whoever reads a type's name need not be let into its schema)
            user: pgsqlite_sql::catalog::BOOTSTRAP_ROLE,
            rights: pgsqlite_sql::analyze::Rights::AskedNow,
            parameters: Default::default(),
            sqlite_text: pgsqlite_sql::lower::lower_expression,
        };
        let found = pgsqlite_sql::analyze::resolve_name_of_type(&environment, name);
        found.map_err(PgError::without_position)
    }

    /// `name(types)` of functions and operators.
    fn routine_oid(&self, reg_type: Oid, text: &str) -> Result<Oid> {
        if reg_type == oid::REGOPER {
            return match self.operators(text)?[..] {
                [] => Err(PgError::new(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {text}"))),
                [o] => Ok(o.oid),
                _ => Err(PgError::new(SqlState::AMBIGUOUS_FUNCTION, format!("more than one operator named {text}"))),
            };
        }
        let (name, args) = name_and_types(text)?;
        let none_allowed = reg_type == oid::REGOPERATOR;
        let args: Vec<Oid> = args
            .into_iter()
            .map(|a| match a? {
                a if none_allowed && a.eq_ignore_ascii_case("none") => Ok(0),
                a => self.type_oid(a),
            })
            .collect::<Result<_>>()?;
        let found = if reg_type == oid::REGPROCEDURE {
            let parts = split_identifier(name)?;
            let name = &parts[parts.len() - 1];
            let path: Vec<Oid> = match &parts[..] {
                [schema, _] => self.catalog.schema_oid(schema).into_iter().collect(),
                _ => self.callable_path(),
            };
            self.functions(&path, name).iter().find(|p| p.args == args).map(|p| p.oid)
        } else {
            self.operators(name)?.iter().find(|o| [o.left, o.right][..] == args[..]).map(|o| o.oid)
        };
        found.ok_or_else(|| {
            let kind = if reg_type == oid::REGPROCEDURE { "function \"" } else { "operator does not exist: " };
            let tail = if reg_type == oid::REGPROCEDURE { "\" does not exist" } else { "" };
            PgError::new(SqlState::UNDEFINED_FUNCTION, format!("{kind}{text}{tail}"))
        })
    }
}
