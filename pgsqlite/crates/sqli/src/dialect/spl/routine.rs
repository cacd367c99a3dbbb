//! Routines: CREATE FUNCTION and PROCEDURE as a function in PL/pgSQL, and what calls of one need to know.
//!
//! The function's source begins with the statement that made it, as comments: types have lengths and qualifiers there, which PostgreSQL's
//! functions do not keep. It has its owner's rights, as Informix's routines have, and a search path of its own.

use super::parser::variables_of;
use super::print::{bare, Locals};
use super::*;
use crate::dialect::lexer::tokens;
use crate::dialect::parser::Parser;
use crate::dialect::print::{ident, Printer};
use crate::dialect::translation::Shown;
use crate::dialect::Parse;
use crate::errors::Failure;
use crate::values::types::SCHEMA;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_sql::routine::{Language, Routine as Stored};
use pgsqlite_types::{oid, work};
use std::sync::Arc;

/// What stands before each line of the text that a function was made from.
const MARK: &str = "--SPL ";

/// What a call of a routine must know.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    pub schema: String,
    pub name: String,
    /// name, type, whether it has a default
    pub parameters: Vec<(String, Option<Type>, bool)>,
    /// type and name of each result
    pub returns: Vec<(Option<Type>, Option<String>)>,
    /// it is called behind FROM: it gives several values, or any number of rows
    pub is_table: bool,
    /// it gives any number of rows
    pub is_set: bool,
}

impl Signature {
    /// Whether it can be called with so many arguments.
    fn takes(&self, n: usize) -> bool {
        n <= self.parameters.len() && self.parameters[n..].iter().all(|(_, _, has_default)| *has_default)
    }
}

/// The statement that a function was made from.
pub fn text_of(function: &Stored) -> Option<String> {
    let source = function.function.source.trim_start_matches('\n');
    let lines: Vec<&str> = source.lines().map_while(|line| line.strip_prefix(MARK)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A text as comments.
pub fn marked(text: &str) -> String {
    text.replace("\r\n", "\n").split(['\n', '\r']).map(|line| format!("{MARK}{line}\n")).collect()
}

/// A string that PostgreSQL reads as it is.
pub fn dollar_quoted(text: &str) -> String {
    let mut tag = "spl".to_string();
    while text.contains(&format!("${tag}$")) {
        work::visit();
        tag.push('l');
    }
    format!("${tag}${text}${tag}$")
}

impl Printer<'_> {
    /// The type that something is declared as.
    pub(super) fn declared(&self, declared: &Declared) -> Parse<Type> {
        match declared {
            Declared::Type(ty) => Ok(*ty),
            Declared::Like(table, column) => {
                let relation = self.existing(table)?;
                let found = relation.column(column).ok_or_else(|| Failure::new(-217, 0, column.clone()))?;
                let ty = Type::of_column(&self.environment.catalog, found);
                match ty {
                    Some(Type::Serial) => Ok(Type::Integer),
                    Some(Type::BigSerial) => Ok(Type::BigInt),
                    Some(Type::Complex(_)) | None => {
                        Err(Failure::refused(format!("LIKE the column {column}, which is a collection or row,")))
                    }
                    Some(ty) => Ok(ty),
                }
            }
        }
    }

    /// What a text that made a routine says of it.
    fn signature_of(&self, routine: &Routine, schema: &str, resumes: bool) -> Parse<Signature> {
        let mut parameters = Vec::new();
        for p in &routine.parameters {
            work::visit();
            parameters.push((p.name.clone(), Some(self.declared(&p.ty)?), p.default.is_some()));
        }
        let mut returns = Vec::new();
        for (ty, name) in &routine.returns {
            work::visit();
            returns.push((Some(self.declared(ty)?), name.clone()));
        }
        Ok(Signature {
            schema: schema.into(),
            name: routine.name.name.clone(),
            parameters,
            is_table: resumes || returns.len() > 1,
            is_set: resumes,
            returns,
        })
    }

    /// The routine of a name that takes so many arguments; None: there is none. One that another program has made in PostgreSQL's
    /// languages is one, too.
    pub fn user_routine(&self, name: &Name, arguments: usize) -> Option<Signature> {
        if name.database.is_some() {
            return None;
        }
        if let Some(own) = self.locals.as_ref().and_then(|l| l.own.as_ref()) {
            if own.name == name.name && own.takes(arguments) {
                return Some(own.clone());
            }
        }
        let catalog = &self.environment.catalog;
        let schema = match &name.owner {
            Some(owner) => self.schema_of_owner(owner)?,
            None => catalog.schema_oid("public")?,
        };
        let found = catalog.routines_named(&name.name).filter(|r| r.function.schema == schema);
        let mut found = found.filter_map(|r| self.stored_signature(catalog, r)).filter(|s| s.takes(arguments));
        found.next()
    }

    fn stored_signature(&self, catalog: &Catalog, stored: &Arc<Stored>) -> Option<Signature> {
        let function = &stored.function;
        if function.kind() != b'f' || function.is_trigger() || function.is_event_trigger() {
            return None;
        }
        let schema = catalog.schema_name(function.schema);
        if let Some(text) = text_of(stored).filter(|_| function.language == Language::PlPgSql) {
            let mut parser = Parser::new(&text, tokens(&text, self.environment.delimident).ok()?);
            let routine = parser.signature().ok()?;
            return self.signature_of(&routine, schema, function.returns_set && is_set(&function.source)).ok();
        }
        let parameters =
            function.inputs().map(|a| (a.name.clone(), Type::of_stored(catalog, a.type_oid, -1), a.default.is_some()));
        let outputs: Vec<_> = function
            .outputs()
            .map(|a| (Type::of_stored(catalog, a.type_oid, -1), Some(a.name.clone()).filter(|n| !n.is_empty())))
            .collect();
        let returns = match (outputs.is_empty(), function.returns) {
            (false, _) => outputs,
            (true, oid::VOID) => vec![],
            (true, ty) => vec![(Type::of_stored(catalog, ty, -1), None)],
        };
        Some(Signature {
            schema: schema.into(),
            name: function.name.clone(),
            parameters: parameters.collect(),
            is_table: function.returns_set || returns.len() > 1,
            is_set: function.returns_set,
            returns,
        })
    }

    /// `"schema"."name"(arguments)`. Errors: -674 for names that no parameter has.
    pub(super) fn called(&mut self, signature: &Signature, arguments: &[(Option<String>, Expr)]) -> Parse<String> {
        let unknown = || Failure::new(-674, 0, signature.name.clone());
        let mut given: Vec<Option<&Expr>> = vec![None; signature.parameters.len()];
        for (i, (name, value)) in arguments.iter().enumerate() {
            work::visit();
            let place = match name {
                None => i,
                Some(name) => signature.parameters.iter().position(|(n, ..)| n == name).ok_or_else(unknown)?,
            };
            match given.get_mut(place) {
                Some(slot @ None) => *slot = Some(value),
                _ => return Err(unknown()),
            }
        }
        let count = given.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
        let mut out = Vec::new();
        for (value, (_, ty, _)) in given[..count].iter().zip(&signature.parameters) {
            work::visit();
            // (one in the middle that is left out)
            let value = value.ok_or_else(unknown)?;
            out.push(match ty {
                Some(ty) => format!("({})::{}", self.assigned(value, Some(*ty))?, bare(*ty)),
                None => self.expr(value)?,
            });
        }
        Ok(format!("{}.{}({})", ident(&signature.schema), ident(&signature.name), out.join(", ")))
    }

    /// A call in an expression, if the user has such a routine.
    pub fn user_call(&mut self, name: &str, arguments: &[Expr]) -> Parse<Option<String>> {
        let name = Name { database: None, owner: None, name: name.into() };
        let Some(signature) = self.user_routine(&name, arguments.len()) else { return Ok(None) };
        let arguments: Vec<_> = arguments.iter().map(|a| (None, a.clone())).collect();
        let call = self.called(&signature, &arguments)?;
        Ok(Some(match signature.returns.as_slice() {
            // the routine gives nothing
            [] => return Err(Failure::new(-685, 0, signature.name)),
            [(ty, _)] => {
                let call = if signature.is_table { format!("(SELECT * FROM {call})") } else { call };
                // the length of a CHAR counts
                match ty {
                    Some(ty @ (Type::Char(_) | Type::NChar(_))) => format!("({call})::{}", ty.storage()),
                    _ => call,
                }
            }
            // it gives more than a value
            _ => return Err(Failure::new(-684, 0, signature.name)),
        }))
    }

    /// Whether there is a routine of that name, with any parameters.
    pub fn has_routine(&self, name: &str) -> bool {
        let own = self.locals.as_ref().and_then(|l| l.own.as_ref());
        own.is_some_and(|own| own.name == name) || self.environment.catalog.routines_named(name).next().is_some()
    }

    /// The type of such a call.
    pub fn type_of_user_call(&self, name: &str, arguments: usize) -> Option<Type> {
        let name = Name { database: None, owner: None, name: name.into() };
        match self.user_routine(&name, arguments)?.returns.as_slice() {
            [(ty, _)] => *ty,
            _ => None,
        }
    }

    /// EXECUTE PROCEDURE by a client: what to run, and the columns of its result.
    pub fn execute(&mut self, call: &Call) -> Parse<(String, Option<Vec<Shown>>)> {
        let Some(signature) = self.user_routine(&call.name, call.arguments.len()) else {
            // a function that the server has
            let mut arguments = Vec::new();
            for (name, value) in &call.arguments {
                work::visit();
                if name.is_some() {
                    return Err(Failure::new(-674, 0, call.name.name.clone()));
                }
                arguments.push(value.clone());
            }
            if call.name.owner.as_ref().is_some_and(|o| o != SCHEMA) || call.name.database.is_some() {
                return Err(Failure::new(-674, 0, call.name.name.clone()));
            }
            let e = Expr::Call { name: call.name.name.clone(), arguments, distinct: false };
            let ty = self.known_type(&e);
            let sql = format!("SELECT {} AS \"(expression)\"", self.expr(&e)?);
            return Ok((sql, Some(vec![Shown { ty, ..Shown::default() }])));
        };
        let called = self.called(&signature, &call.arguments)?;
        if signature.returns.is_empty() {
            return Ok((format!("SELECT {called}"), None));
        }
        let shown = signature.returns.iter().map(|(ty, _)| Shown { ty: *ty, ..Shown::default() }).collect();
        let name = |name: &Option<String>| ident(name.as_deref().unwrap_or("(expression)"));
        let columns: Vec<String> = signature
            .returns
            .iter()
            .enumerate()
            .map(|(i, (_, n))| format!("r.\"(f{})\" AS {}", i + 1, name(n)))
            .collect();
        let names: Vec<String> = (1..=columns.len()).map(|i| format!("\"(f{i})\"")).collect();
        Ok((format!("SELECT {} FROM {called} AS r({})", columns.join(", "), names.join(", ")), Some(shown)))
    }

    /// CREATE FUNCTION and PROCEDURE. None: it is there already, which IF NOT EXISTS says is well.
    pub fn create_routine(&mut self, routine: &Routine) -> Parse<Option<String>> {
        let name = &routine.name;
        let target = self.new_name(name)?;
        let schema = match &name.owner {
            Some(owner) => self.schema_of_owner(owner),
            None => self.environment.catalog.schema_oid("public"),
        };
        let catalog = &self.environment.catalog;
        let alike = catalog
            .routines_named(&name.name)
            .filter(|r| Some(r.function.schema) == schema)
            .any(|r| r.function.input_types().len() == routine.parameters.len());
        if alike && routine.if_not_exists {
            return Ok(None);
        }
        if alike {
            // (one with as many parameters of other types could not be told from it)
            return Err(Failure::new(-673, 0, name.name.clone()));
        }
        let signature = self.signature_of(routine, "public", routine.resumes)?;
        let schema_name = match schema {
            Some(oid) => self.environment.catalog.schema_name(oid).to_string(),
            None => name.owner.clone().unwrap_or_else(|| "public".into()),
        };
        let signature = Signature { schema: schema_name, ..signature };
        let mut parameters = Vec::new();
        for (p, (_, ty, _)) in routine.parameters.iter().zip(&signature.parameters) {
            work::visit();
            let Some(ty) = *ty else { continue };
            let default = match &p.default {
                Some(value) => format!(" DEFAULT {}", self.assigned(value, Some(ty))?),
                None => String::new(),
            };
            parameters.push(format!("{}{default}", bare(ty)));
        }
        let types: Vec<Type> = signature.returns.iter().filter_map(|(ty, _)| *ty).collect();
        let returns = match (types.as_slice(), signature.is_table) {
            ([], _) => "void".to_string(),
            ([ty], false) => bare(*ty),
            (types, _) => {
                let columns: Vec<String> =
                    types.iter().enumerate().map(|(i, ty)| format!("\"({})\" {}", i + 1, bare(*ty))).collect();
                format!("TABLE ({})", columns.join(", "))
            }
        };
        let mut declarations = String::new();
        let mut variables = Vec::new();
        for (i, (name, ty, _)) in signature.parameters.iter().enumerate() {
            work::visit();
            let Some(ty) = *ty else { continue };
            if variables.iter().any(|(n, _)| n == name) {
                return Err(Failure::text(format!("the parameter {name} is there twice")));
            }
            declarations += &format!("{} {} := ${}; ", ident(&format!(":{name}")), ty.storage(), i + 1);
            variables.push((name.clone(), ty));
        }
        for (i, ty) in types.iter().enumerate() {
            work::visit();
            declarations += &format!("\"(v{})\" {}; ", i + 1, ty.storage());
        }
        let is_table = signature.is_table;
        self.locals = Some(Locals::new(types, is_table, routine.resumes, Some(signature), variables));
        let body = self.routine_body(&routine.body);
        self.locals = None;
        let body = body?;
        let source = format!(
            "\n{}DECLARE\n{declarations}{}\"(rows)\" bigint := 0; \"(serial)\" bigint := 0;\nBEGIN\n{body}END;\n",
            marked(&routine.text),
            errors::VARIABLES,
        );
        Ok(Some(format!(
            "CREATE FUNCTION {target}({}) RETURNS {returns} LANGUAGE plpgsql SECURITY DEFINER \
             SET search_path = pg_catalog, pg_temp, public AS {}",
            parameters.join(", "),
            dollar_quoted(&source)
        )))
    }

    /// DROP FUNCTION, PROCEDURE and ROUTINE. None: there is none, which IF EXISTS says is well. Errors: -674.
    pub fn drop_routine(&self, name: &Name, types: Option<&[Type]>, if_exists: bool) -> Parse<Option<String>> {
        let catalog = &self.environment.catalog;
        let schema = match &name.owner {
            Some(owner) => self.schema_of_owner(owner),
            None => catalog.schema_oid("public"),
        };
        let mut found = catalog
            .routines_named(&name.name)
            .filter(|r| Some(r.function.schema) == schema && r.function.kind() == b'f')
            .filter(|r| types.is_none_or(|t| t.len() == r.function.input_types().len()));
        let one = match (found.next(), found.next()) {
            (Some(one), None) => one,
            (None, _) if if_exists => return Ok(None),
            (None, _) => return Err(Failure::new(-674, 0, name.name.clone())),
            // several have that name: which one is not said
            (Some(_), Some(_)) => return Err(Failure::new(-9700, 0, name.name.clone())),
        };
        let target = format!("{}.{}", ident(catalog.schema_name(one.function.schema)), ident(&name.name));
        let types =
            types.map_or(String::new(), |t| format!("({})", t.iter().map(|t| bare(*t)).collect::<Vec<_>>().join(", ")));
        Ok(Some(format!("FUNCTION {target}{types}")))
    }

    /// What GRANT and REVOKE call a routine.
    pub fn granted_routine(&self, name: &Name) -> Parse<String> {
        Ok(self.drop_routine(name, None, false)?.unwrap_or_default())
    }

    /// The variables of a query: a row of it goes into them.
    pub(super) fn into_of(&self, query: &Query) -> Vec<String> {
        variables_of(query).to_vec()
    }
}

/// Whether the source is that of a routine with RETURN … WITH RESUME: one without it gives one row.
fn is_set(source: &str) -> bool {
    !source.contains(super::print::ONE_ROW)
}
