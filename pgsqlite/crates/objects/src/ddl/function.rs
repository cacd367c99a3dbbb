//! CREATE, ALTER and DROP of functions and procedures.

use super::dependencies::Object;
use super::function_body::{body_place, standard_text};
use super::{strings, Ddl, NodeEnum};
use pgsqlite_metadata::store;
use pgsqlite_sql::analyze::is_polymorphic;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::routine::{Argument, Function, Language, Mode};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

pub(super) fn invalid(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_FUNCTION_DEFINITION, message)
}

/// What the options of CREATE and ALTER FUNCTION say.
#[derive(Default)]
struct Options {
    language: Option<String>,
    body: Option<Vec<String>>,
    volatility: Option<u8>,
    strict: Option<bool>,
    security_definer: Option<bool>,
    leakproof: Option<bool>,
    parallel: Option<u8>,
    cost: Option<f64>,
    rows: Option<f64>,
    window: bool,
    /// SET name TO value; None: RESET
    settings: Vec<(String, Option<String>)>,
    reset_all: bool,
}

/// A type in a function's head as PostgreSQL's messages show it: with the brackets of an array, without quotes.
fn shown_type(name: &ast::TypeName) -> String {
    strings(&name.names).join(".") + if name.array_bounds.is_empty() { "" } else { "[]" }
}

/// The error of a type that does not exist, with the type as it is shown in a function's head; other errors as they are.
fn missing(error: PgError, shown: &str) -> PgError {
    if error.code() != SqlState::UNDEFINED_OBJECT {
        return error;
    }
    let new = PgError::new(SqlState::UNDEFINED_OBJECT, format!("type {shown} does not exist"));
    match error.fields().location {
        Some(location) => new.at(location as i32),
        None => new,
    }
}

impl Ddl<'_> {
    pub(super) fn put_function(&mut self, function: Function) -> Result<()> {
        // some are the session's own
        if function.oid < FIRST_TEMPORARY_OID {
            self.ensure_store()?;
            store::storing::put_function(self.conn, &function)?;
        }
        self.catalog.add_function(function);
        self.changed = true;
        Ok(())
    }

    /// A type in a function's head; `table.column%TYPE` is resolved now. (Errors have no position.)
    pub(super) fn head_type(&mut self, name: &ast::TypeName) -> Result<Oid> {
        self.parameter_type(name).map_err(PgError::without_position)
    }

    /// The same of a parameter.
    fn parameter_type(&mut self, name: &ast::TypeName) -> Result<Oid> {
        if name.pct_type {
            let parts = strings(&name.names);
            let [table @ .., column] = &parts[..] else { return Err(PgError::internal("%TYPE of nothing")) };
            let (schema, table) = self.qualified(table)?;
            let relation = self.find_relation(schema, table).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{table}\" does not exist"))
            })?;
            let found = relation.column(column).ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{column}\" of relation \"{table}\" does not exist"),
                )
                .at(name.location)
            })?;
            let shown = self.display_type(found.type_oid);
            self.notice(
                SqlState::SUCCESSFUL_COMPLETION,
                format!("type reference {}%TYPE converted to {shown}", parts.join(".")),
            );
            return Ok(found.type_oid);
        }
        let plain = ast::TypeName { setof: false, ..name.clone() };
        let (ty, _) = self.type_name(&plain)?;
        let pseudo = pgsqlite_types::catalog::by_oid(ty).is_some_and(|t| t.kind == b'p');
        if !pseudo && self.catalog.codec(ty).is_none() {
            return Err(PgError::not_supported(format!("type {}", self.display_type(ty))).at(name.location));
        }
        Ok(ty)
    }

    fn function_options(&self, nodes: &[ast::Node], procedure: bool) -> Result<Options> {
        let mut out = Options::default();
        let conflicting =
            |o: &ast::DefElem| PgError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options").at(o.location);
        let mut seen: Vec<&str> = Vec::new();
        for option in super::def_elem::def_elems(nodes) {
            work::visit();
            let name = option.defname.as_str();
            if name != "set" && seen.contains(&name) {
                return Err(conflicting(option));
            }
            seen.push(name);
            if procedure
                && matches!(name, "volatility" | "strict" | "leakproof" | "parallel" | "cost" | "rows" | "window")
            {
                return Err(invalid("invalid attribute in procedure definition").at(option.location));
            }
            match name {
                "as" => {
                    out.body = Some(match option.arg.as_ref().and_then(|a| a.node.as_ref()) {
                        Some(NodeEnum::List(list)) => strings(&list.items).into_iter().map(String::from).collect(),
                        _ => return Err(PgError::internal("AS without a text")),
                    })
                }
                "language" => out.language = super::def_elem::string(option).map(String::from),
                "volatility" => {
                    out.volatility = Some(match super::def_elem::string(option) {
                        Some("immutable") => b'i',
                        Some("stable") => b's',
                        _ => b'v',
                    })
                }
                "strict" => out.strict = Some(super::def_elem::boolean(option)?),
                "security" => out.security_definer = Some(super::def_elem::boolean(option)?),
                "window" => out.window = super::def_elem::boolean(option)?,
                "leakproof" => out.leakproof = Some(super::def_elem::boolean(option)?),
                "parallel" => {
                    out.parallel = Some(match super::def_elem::string(option) {
                        Some("safe") => b's',
                        Some("restricted") => b'r',
                        Some("unsafe") => b'u',
                        _ => {
                            return Err(PgError::new(
                                SqlState::SYNTAX_ERROR,
                                "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE",
                            ))
                        }
                    })
                }
                "cost" | "rows" => {
                    let value = match option.arg.as_ref().and_then(|a| a.node.as_ref()) {
                        Some(NodeEnum::Integer(i)) => f64::from(i.ival),
                        Some(NodeEnum::Float(f)) => f.fval.parse().unwrap_or(0.0),
                        _ => 0.0,
                    };
                    if value <= 0.0 {
                        return Err(PgError::new(
                            SqlState::INVALID_PARAMETER_VALUE,
                            format!("{} must be positive", name.to_uppercase()),
                        ));
                    }
                    if name == "cost" {
                        out.cost = Some(value);
                    } else {
                        out.rows = Some(value);
                    }
                }
                "set" => {
                    let Some(NodeEnum::VariableSetStmt(set)) = option.arg.as_ref().and_then(|a| a.node.as_ref()) else {
                        return Err(PgError::internal("SET of nothing"));
                    };
                    use ast::VariableSetKind as K;
                    match K::try_from(set.kind) {
                        Ok(K::VarSetValue) => {
                            let name = set.name.to_ascii_lowercase();
                            let value = super::def_elem::setting_value(&name, &set.args)?;
                            self.claimant().check_stored(&set.name, Some(&value))?;
                            if !pgsqlite_natives::settings::accepted::holds_in_function(&name) {
                                return Err(PgError::not_supported(format!("SET {} of a function", set.name)));
                            }
                            // in PostgreSQL's spelling
                            let known = pgsqlite_natives::settings::definitions().get(&name);
                            let name = known.map_or(name, |definition| definition.name.to_string());
                            out.settings.push((name, Some(value)));
                        }
                        Ok(K::VarReset) => {
                            let name = set.name.to_ascii_lowercase();
                            self.claimant().check_stored(&set.name, None)?;
                            let known = pgsqlite_natives::settings::definitions().get(&name);
                            out.settings.push((known.map_or(name, |d| d.name.to_string()), None));
                        }
                        Ok(K::VarResetAll) => out.reset_all = true,
                        _ => return Err(PgError::not_supported("this form of SET of a function")),
                    }
                }
                other => {
                    return Err(
                        PgError::not_supported(format!("{} of a function", other.to_uppercase())).at(option.location)
                    )
                }
            }
        }
        Ok(out)
    }

    /// Only superusers say LEAKPROOF.
    fn check_leakproof(&self, options: &Options) -> Result<()> {
        if options.leakproof == Some(true) && !pgsqlite_sql::acl::is_superuser(&self.catalog, self.environment.user) {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                "only superuser can define a leakproof function",
            ));
        }
        Ok(())
    }

    pub(super) fn create_function(&mut self, statement: &ast::CreateFunctionStmt) -> Result<String> {
        let word = if statement.is_procedure { "procedure" } else { "function" };
        let tag = format!("CREATE {}", word.to_uppercase());
        let parts = strings(&statement.funcname);
        let (schema, name) = self.qualified_new(&parts)?;
        let schema = self.creation_schema(schema, -1)?;
        self.check_creation(schema, name)?;
        let options = self.function_options(&statement.options, statement.is_procedure)?;
        self.check_leakproof(&options)?;
        let standard = statement.sql_body.is_some();
        let language = match options.language.as_deref() {
            None if standard => Language::Sql,
            None => return Err(invalid("no language specified")),
            Some("sql") => Language::Sql,
            Some("plpgsql") => Language::PlPgSql,
            Some("internal") => {
                if !pgsqlite_sql::acl::is_superuser(&self.catalog, self.environment.user) {
                    let message = "permission denied for language internal";
                    return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
                }
                Language::Internal
            }
            Some("c") => return Err(PgError::not_supported("a function in language c")),
            Some(other) => {
                return Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("language \"{other}\" does not exist")))
            }
        };
        let arguments = self.arguments(statement, language)?;
        let outputs: Vec<&Argument> = arguments.iter().filter(|a| a.mode.is_output()).collect();
        let from_outputs = match (&outputs[..], statement.is_procedure) {
            ([], _) => None,
            ([one], false) => Some(one.type_oid),
            _ => Some(oid::RECORD),
        };
        let mut returns_set = false;
        let returns = match (&statement.return_type, from_outputs) {
            (Some(name), wanted) => {
                returns_set = name.setof;
                let ty = self.head_type(name).map_err(|e| missing(e, &format!("\"{}\"", shown_type(name))))?;
                if let Some(wanted) = wanted.filter(|w| *w != ty) {
                    return Err(invalid(format!(
                        "function result type must be {} because of OUT parameters",
                        self.display_type(wanted)
                    )));
                }
                ty
            }
            (None, Some(ty)) => ty,
            (None, None) if statement.is_procedure => oid::VOID,
            (None, None) => return Err(invalid("function result type must be specified")),
        };
        self.check_pseudo_types(language, &arguments, returns)?;
        let types: Vec<Oid> = arguments.iter().map(|a| a.type_oid).chain([returns]).collect();
        self.check_types_usable(&types)?;
        let source = match (&options.body, standard) {
            (Some(_), true) => return Err(invalid("duplicate function body specified")),
            (None, true) => standard_text(&self.text)?,
            (None, false) => return Err(invalid("no function body specified")),
            (Some(body), false) => match &body[..] {
                [one] => one.clone(),
                _ => return Err(invalid(format!("only one AS item needed for language \"{}\"", language.name()))),
            },
        };
        if standard && language != Language::Sql {
            return Err(invalid("inline SQL function body only valid for language SQL"));
        }
        if standard && arguments.iter().any(|a| is_polymorphic(a.type_oid)) {
            return Err(invalid("SQL function with unquoted function body cannot have polymorphic arguments"));
        }
        let types: Vec<Oid> = if statement.is_procedure {
            arguments.iter().map(|a| a.type_oid).collect()
        } else {
            arguments.iter().filter(|a| a.mode.is_input()).map(|a| a.type_oid).collect()
        };
        if arguments.iter().filter(|a| a.mode.is_input()).count() > 100 {
            return Err(PgError::new(SqlState::TOO_MANY_ARGUMENTS, "functions cannot have more than 100 arguments"));
        }
        let old = self.catalog.routine_in(schema, name, &types).map(|r| r.function.clone());
        let mut function = Function {
            oid: 0,
            schema,
            name: name.to_string(),
            owner: self.environment.user,
            procedure: statement.is_procedure,
            language,
            arguments,
            returns,
            returns_set,
            volatility: options.volatility.unwrap_or(b'v'),
            strict: options.strict.unwrap_or(false),
            security_definer: options.security_definer.unwrap_or(false),
            leakproof: options.leakproof.unwrap_or(false),
            parallel: options.parallel.unwrap_or(b'u'),
            cost: options.cost.unwrap_or(100.0),
            rows: options.rows.unwrap_or(if returns_set { 1000.0 } else { 0.0 }),
            settings: options.settings.into_iter().filter_map(|(n, v)| v.map(|v| (n, v))).collect(),
            source,
            standard,
            qualified: false,
            acl: self.default_acl(pgsqlite_sql::acl::AclObject::Function, schema),
            aggregate: None,
            window: options.window,
        };
        if self.constructor_in(schema, name, &types) {
            if statement.replace {
                return Err(PgError::not_supported("replacing the constructor of a range type"));
            }
            return Err(PgError::new(
                SqlState::DUPLICATE_FUNCTION,
                format!("function \"{name}\" already exists with same argument types"),
            ));
        }
        let old_body = old.as_ref().map(|f| f.source.clone());
        match old {
            Some(old) => {
                if !statement.replace {
                    return Err(PgError::new(
                        SqlState::DUPLICATE_FUNCTION,
                        format!("function \"{name}\" already exists with same argument types"),
                    ));
                }
                self.check_replaced(&old, &function)?;
                function.oid = old.oid;
                function.owner = old.owner;
                function.acl = old.acl;
            }
            None => {
                let types = function.arguments.iter().map(|a| a.type_oid).chain([function.returns]);
                let temporary = types.into_iter().any(|t| self.catalog.is_temporary_type(t));
                function.oid = self.new_oid(schema == PG_TEMP || temporary)?
            }
        }
        // a body may call the function itself
        let mut with = self.catalog.clone();
        with.add_function(function.clone());
        self.check_body(&with, &function)
            .map_err(|e| body_place(e, &self.text, self.offset, &function.source, standard))?;
        if standard {
            function.source = self.analyze_over(&with, |e| {
                pgsqlite_sql::deparse::stored_body(e, pgsqlite_sql::deparse::Names::stored(&with), &function)
            })?;
            function.qualified = true;
            // (what it means is printed: a body is no query that could be lowered without its arguments)
            #[cfg(debug_assertions)]
            if super::stored_texts::compares() {
                let read = self.analyze_stored_over(&with, |e| {
                    pgsqlite_sql::deparse::stored_body(e, pgsqlite_sql::deparse::Names::stored(&with), &function)
                });
                super::stored_texts::compare("function body", &function.source, Ok(function.source.clone()), read);
            }
        }
        let replaced = old_body.is_some_and(|source| source != function.source);
        self.put_function(function)?;
        if replaced {
            self.remake_indexes_over_functions()?;
        }
        Ok(tag)
    }

    pub(super) fn arguments(
        &mut self,
        statement: &ast::CreateFunctionStmt,
        language: Language,
    ) -> Result<Vec<Argument>> {
        let mut out: Vec<Argument> = Vec::new();
        let mut had_default = false;
        let mut variadic = false;
        for node in &statement.parameters {
            work::visit();
            let Some(NodeEnum::FunctionParameter(p)) = &node.node else { continue };
            use ast::FunctionParameterMode as M;
            let mode = match p.mode() {
                M::FuncParamOut => Mode::Out,
                M::FuncParamInout => Mode::InOut,
                M::FuncParamVariadic => Mode::Variadic,
                M::FuncParamTable => Mode::Table,
                _ => Mode::In,
            };
            let name = p.arg_type.as_ref().ok_or_else(|| PgError::internal("a parameter without a type"))?;
            let refused = |message: &str| Err(invalid(message).at(p.location));
            if name.setof {
                return refused("functions cannot accept set arguments");
            }
            let type_oid = self.parameter_type(name).map_err(|e| missing(e, &shown_type(name)))?;
            if variadic && mode.is_input() {
                return refused("VARIADIC parameter must be the last input parameter");
            }
            if statement.is_procedure && mode == Mode::Out {
                if variadic {
                    return refused("VARIADIC parameter must be the last parameter");
                }
                if had_default {
                    return refused("procedure OUT parameters cannot appear after one with a default value");
                }
            }
            if mode == Mode::Variadic {
                variadic = true;
                if self.catalog.element_type(type_oid).is_none()
                    && !matches!(type_oid, oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY | oid::ANY)
                {
                    return refused("VARIADIC parameter must be an array");
                }
            }
            let clash = |a: &&Argument| {
                !p.name.is_empty() && a.name == p.name && {
                    // what only goes in and what only comes out may share a name, but not as variables
                    let only_in = |mode| matches!(mode, Mode::In | Mode::Variadic);
                    let only_out = |mode| matches!(mode, Mode::Out | Mode::Table);
                    let apart = only_in(a.mode) && only_out(mode) || only_out(a.mode) && only_in(mode);
                    !apart || language == Language::PlPgSql
                }
            };
            if out.iter().any(|a| clash(&a)) {
                return refused(&format!("parameter name \"{}\" used more than once", p.name));
            }
            let mut default = None;
            if let Some(node) = p.defexpr.as_deref() {
                if !mode.is_input() {
                    return refused("only input parameters can have default values");
                }
                default = Some(self.expression(node, None, Some((type_oid, -1)), "parameter default")?.1);
                had_default = true;
            } else if had_default && mode.is_input() {
                return refused("input parameters after one with a default value must also have defaults");
            }
            out.push(Argument { name: p.name.clone(), mode, type_oid, default });
        }
        Ok(out)
    }

    /// Pseudo-types that a language does not take.
    fn check_pseudo_types(&self, language: Language, arguments: &[Argument], returns: Oid) -> Result<()> {
        let kind = |ty: Oid| pgsqlite_types::catalog::by_oid(ty).is_some_and(|t| t.kind == b'p');
        let (title, by) = match language {
            Language::Internal => return Ok(()),
            Language::Sql => ("SQL functions", "SQL functions"),
            Language::PlPgSql => ("PL/pgSQL functions", "PL/pgSQL functions"),
        };
        let result_fits = !kind(returns)
            || is_polymorphic(returns)
            || matches!(returns, oid::VOID | oid::RECORD)
            || language == Language::PlPgSql && matches!(returns, oid::TRIGGER | oid::EVENT_TRIGGER);
        if !result_fits {
            let (code, verb) = match language {
                Language::Sql => (SqlState::INVALID_FUNCTION_DEFINITION, "return"),
                _ => (SqlState::FEATURE_NOT_SUPPORTED, "return"),
            };
            return Err(PgError::new(code, format!("{title} cannot {verb} type {}", self.display_type(returns))));
        }
        for argument in arguments {
            work::visit();
            let ty = argument.type_oid;
            if kind(ty) && !is_polymorphic(ty) && !(ty == oid::RECORD && language == Language::PlPgSql) {
                let code = match language {
                    Language::Sql => SqlState::INVALID_FUNCTION_DEFINITION,
                    _ => SqlState::FEATURE_NOT_SUPPORTED,
                };
                let shown = if ty == oid::ANY { "\"any\"".to_string() } else { self.display_type(ty) };
                return Err(PgError::new(code, format!("{by} cannot accept type {shown}")));
            }
        }
        if returns == oid::TRIGGER && !arguments.is_empty() {
            return Err(invalid("trigger functions cannot have declared arguments")
                .hint("The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead."));
        }
        if returns == oid::EVENT_TRIGGER && !arguments.is_empty() {
            return Err(invalid("event trigger functions cannot have declared arguments"));
        }
        // what is polymorphic in the result must follow from the arguments
        let outputs = arguments.iter().filter(|a| a.mode.is_output()).map(|a| a.type_oid);
        for result in outputs.chain([returns]).filter(|t| is_polymorphic(*t)) {
            work::visit();
            let (sources, shown) = polymorphic_sources(result);
            if !arguments.iter().any(|a| a.mode.is_input() && sources.contains(&a.type_oid)) {
                return Err(invalid("cannot determine result data type").detail(format!(
                    "A result of type {} requires at least one input of type {shown}.",
                    self.display_type(result)
                )));
            }
        }
        Ok(())
    }

    pub(super) fn check_replaced(&self, old: &Function, new: &Function) -> Result<()> {
        self.check_owned(routine_word(old), &old.name, old.owner)?;
        if old.kind() != new.kind() {
            let is = match old.kind() {
                b'a' => "an aggregate function",
                b'p' => "a procedure",
                b'w' => "a window function",
                _ => "a function",
            };
            return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, "cannot change routine kind")
                .detail(format!("\"{}\" is {is}.", old.name)));
        }
        let hint = format!("Use DROP {} {} first.", routine_word(old).to_uppercase(), self.signature_of(old));
        let outputs =
            |f: &Function| -> Vec<(String, Oid)> { f.outputs().map(|a| (a.name.clone(), a.type_oid)).collect() };
        if old.returns != new.returns || old.returns_set != new.returns_set {
            let what = if old.procedure {
                "whether a procedure has output parameters"
            } else {
                "return type of existing function"
            };
            return Err(invalid(format!("cannot change {what}")).hint(hint));
        }
        if old.returns == oid::RECORD && outputs(old) != outputs(new) {
            return Err(invalid("cannot change return type of existing function")
                .detail("Row type defined by OUT parameters is different.")
                .hint(hint));
        }
        for (a, b) in old.inputs().zip(new.inputs()) {
            work::visit();
            if !a.name.is_empty() && a.name != b.name {
                return Err(invalid(format!("cannot change name of input parameter \"{}\"", a.name)).hint(hint));
            }
            if a.default.is_some() && b.default.is_none() {
                return Err(invalid("cannot remove parameter defaults from existing function").hint(hint));
            }
        }
        Ok(())
    }

    /// `f(integer,text)` as messages name a function.
    pub(super) fn signature_of(&self, function: &Function) -> String {
        pgsqlite_metadata::naming::function_shown(&self.catalog, self.environment.search_path, function)
    }

    // --- look-up -------------------------------------------------------------------------------------------------------

    /// The function that a name with (or without) argument types means. The inner error: there is none.
    pub(super) fn find_function(
        &self,
        named: &ast::ObjectWithArgs,
        kind: ast::ObjectType,
    ) -> Result<Result<Oid, PgError>> {
        use ast::ObjectType as T;
        let parts = strings(&named.objname);
        let shown = parts.join(".");
        let (schema, name) = self.qualified(&parts)?;
        let word = match kind {
            T::ObjectProcedure => "procedure",
            T::ObjectRoutine => "routine",
            T::ObjectAggregate => "aggregate",
            _ => "function",
        };
        let fits = |f: &Function| match kind {
            T::ObjectProcedure => f.procedure,
            T::ObjectAggregate => f.aggregate.is_some(),
            T::ObjectFunction => !f.procedure,
            _ => true,
        };
        let path: Vec<Oid> = if schema.is_empty() {
            self.environment.search_path.to_vec()
        } else {
            self.catalog.schema_oid(schema).into_iter().collect()
        };
        let mut candidates: Vec<&Function> = Vec::new();
        for schema in path {
            work::visit();
            for r in self.catalog.routines_named(name).filter(|r| r.function.schema == schema) {
                work::visit();
                if !candidates.iter().any(|f| f.input_types() == r.function.input_types()) {
                    candidates.push(&r.function);
                }
            }
        }
        if named.args_unspecified {
            let found: Vec<&&Function> = candidates.iter().filter(|f| fits(f)).collect();
            return match found[..] {
                [one] => Ok(Ok(one.oid)),
                [] => Ok(Err(PgError::new(
                    SqlState::UNDEFINED_FUNCTION,
                    format!("could not find a {word} named \"{shown}\""),
                ))),
                _ => Err(PgError::new(SqlState::AMBIGUOUS_FUNCTION, format!("{word} name \"{shown}\" is not unique"))
                    .hint(format!("Specify the argument list to select the {word} unambiguously."))),
            };
        }
        let mut types = Vec::new();
        for node in &named.objargs {
            work::visit();
            let Some(NodeEnum::TypeName(name)) = &node.node else { continue };
            types.push(self.type_name(name)?.0);
        }
        let found = candidates.iter().find(|f| {
            f.input_types() == types
                || f.procedure && f.arguments.iter().map(|a| a.type_oid).collect::<Vec<_>>() == types
        });
        match found {
            Some(f) if fits(f) => Ok(Ok(f.oid)),
            Some(f) if kind == T::ObjectAggregate => Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("function {} is not an aggregate", self.signature_of(f).replace(',', ", ")),
            )),
            Some(f) => Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("{} is not a {word}", self.signature_of(f).replace(',', ", ")),
            )),
            None => {
                let list: Vec<String> = types.iter().map(|&t| self.display_type(t)).collect();
                let list = match list.is_empty() && kind == T::ObjectAggregate {
                    true => "*".to_string(),
                    false => list.join(", "),
                };
                let missing = format!("{word} {shown}({list}) does not exist");
                Ok(Err(PgError::new(SqlState::UNDEFINED_FUNCTION, missing)))
            }
        }
    }

    /// DROP FUNCTION, PROCEDURE, ROUTINE. None: a name is none of the user's functions.
    pub(super) fn drop_functions(&mut self, statement: &ast::DropStmt) -> Result<Option<String>> {
        use ast::ObjectType as T;
        let kind = statement.remove_type();
        let tag = match kind {
            T::ObjectFunction => "DROP FUNCTION",
            T::ObjectProcedure => "DROP PROCEDURE",
            T::ObjectRoutine => "DROP ROUTINE",
            T::ObjectAggregate => "DROP AGGREGATE",
            _ => return Ok(None),
        };
        let mut targets = Vec::new();
        for node in &statement.objects {
            work::visit();
            let Some(NodeEnum::ObjectWithArgs(named)) = &node.node else { return Ok(None) };
            let name = strings(&named.objname).last().map_or("", |n| n).to_string();
            if kind != T::ObjectAggregate
                && self.catalog.routines_named(&name).next().is_none()
                && statement.objects.len() == 1
            {
                return Ok(None);
            }
            match self.find_function(named, kind)? {
                Ok(oid) => {
                    let f = self.catalog.function(oid).ok_or_else(|| PgError::internal("a function that is gone"))?;
                    if kind == T::ObjectFunction && f.aggregate.is_some() {
                        let message = format!("\"{}\" is an aggregate function", f.name);
                        return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, message)
                            .hint("Use DROP AGGREGATE to drop aggregate functions."));
                    }
                    let of_schema = self.catalog.schemas.get(&f.schema).map_or(f.owner, |s| s.owner);
                    if !pgsqlite_sql::acl::owns(&self.catalog, self.environment.user, of_schema) {
                        self.check_owned(routine_word(f), &f.name, f.owner)?;
                    }
                    targets.push(Object::Function(oid));
                }
                Err(missing) if statement.missing_ok => {
                    // (types as they are written)
                    let written = named.objargs.iter().filter_map(|node| match &node.node {
                        Some(NodeEnum::TypeName(name)) => Some(strings(&name.names).join(".")),
                        _ => None,
                    });
                    let message = match missing.message().split_once('(') {
                        Some((head, _)) if !named.args_unspecified => {
                            format!("{head}({}) does not exist, skipping", written.collect::<Vec<_>>().join(","))
                        }
                        _ => format!("{}, skipping", Self::missing_text(missing.message())),
                    };
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                }
                Err(missing) => return Err(missing),
            }
        }
        self.drop_objects(&targets, statement.behavior() == ast::DropBehavior::DropCascade)?;
        Ok(Some(tag.into()))
    }

    /// The user's function of an ALTER, COMMENT or GRANT, owned by the session's role if `owned`.
    pub(super) fn function_named(
        &self,
        named: &ast::ObjectWithArgs,
        kind: ast::ObjectType,
        owned: bool,
    ) -> Result<Function> {
        let oid = self.find_function(named, kind)??;
        let function = self.catalog.function(oid).ok_or_else(|| PgError::internal("a function that is gone"))?.clone();
        if owned {
            self.check_owned(routine_word(&function), &function.name, function.owner)?;
        }
        Ok(function)
    }

    pub(super) fn alter_function(&mut self, statement: &ast::AlterFunctionStmt) -> Result<String> {
        let named = statement.func.as_ref().ok_or_else(|| PgError::internal("ALTER FUNCTION without a name"))?;
        let mut function = self.function_named(named, statement.objtype(), true)?;
        if function.aggregate.is_some() {
            let message = format!("\"{}\" is an aggregate function", function.name);
            return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let options = self.function_options(&statement.actions, function.procedure)?;
        self.check_leakproof(&options)?;
        let tag = format!("ALTER {}", alter_word(statement.objtype()));
        if let Some(v) = options.volatility {
            function.volatility = v;
        }
        if let Some(v) = options.strict {
            function.strict = v;
        }
        if let Some(v) = options.security_definer {
            function.security_definer = v;
        }
        if let Some(v) = options.leakproof {
            function.leakproof = v;
        }
        if let Some(v) = options.parallel {
            function.parallel = v;
        }
        if let Some(v) = options.cost {
            function.cost = v;
        }
        if let Some(v) = options.rows {
            if !function.returns_set {
                return Err(PgError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    "ROWS is not applicable when function does not return a set",
                ));
            }
            function.rows = v;
        }
        if options.reset_all {
            function.settings.clear();
        }
        for (name, value) in options.settings {
            work::visit();
            function.settings.retain(|(n, _)| *n != name);
            if let Some(value) = value {
                function.settings.push((name, value));
            }
        }
        self.put_function(function)?;
        Ok(tag)
    }

    /// A function with this name and arguments is in the schema already: 42723.
    pub(super) fn check_function_free(&self, function: &Function, schema: Oid, name: &str) -> Result<()> {
        let taken = self.catalog.routines_named(name).any(|r| {
            r.function.schema == schema
                && r.function.oid != function.oid
                && r.function.input_types() == function.input_types()
        });
        match taken {
            true => Err(self.function_exists(function, schema, name)),
            false => Ok(()),
        }
    }

    /// 42723: a function of this name and of the given one's arguments is in the schema.
    pub(super) fn function_exists(&self, function: &Function, schema: Oid, name: &str) -> PgError {
        let renamed = Function { name: name.to_string(), schema, ..function.clone() };
        let (signature, schema) = (self.signature_of(&renamed), self.catalog.schema_name(schema));
        PgError::new(
            SqlState::DUPLICATE_FUNCTION,
            format!("function {signature} already exists in schema \"{schema}\""),
        )
    }
}

/// The polymorphic types of arguments that a polymorphic result can follow from, and how messages list them.
pub(super) fn polymorphic_sources(result: Oid) -> (&'static [Oid], &'static str) {
    const RANGES: &[Oid] = &[oid::ANYRANGE, oid::ANYMULTIRANGE];
    const SAME: &[Oid] =
        &[oid::ANYELEMENT, oid::ANYARRAY, oid::ANYNONARRAY, oid::ANYENUM, oid::ANYRANGE, oid::ANYMULTIRANGE];
    const COMPATIBLE_RANGES: &[Oid] = &[oid::ANYCOMPATIBLERANGE, oid::ANYCOMPATIBLEMULTIRANGE];
    const COMPATIBLE: &[Oid] = &[
        oid::ANYCOMPATIBLE,
        oid::ANYCOMPATIBLEARRAY,
        oid::ANYCOMPATIBLENONARRAY,
        oid::ANYCOMPATIBLERANGE,
        oid::ANYCOMPATIBLEMULTIRANGE,
    ];
    match result {
        oid::ANYRANGE | oid::ANYMULTIRANGE => (RANGES, "anyrange or anymultirange"),
        oid::ANYCOMPATIBLERANGE | oid::ANYCOMPATIBLEMULTIRANGE => {
            (COMPATIBLE_RANGES, "anycompatiblerange or anycompatiblemultirange")
        }
        _ if SAME.contains(&result) => (SAME, "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange"),
        _ => (
            COMPATIBLE,
            "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange",
        ),
    }
}

pub(super) fn routine_word(function: &Function) -> &'static str {
    match function.kind() {
        b'p' => "procedure",
        b'a' => "aggregate",
        _ => "function",
    }
}

/// The word of ALTER's tag.
pub(super) fn alter_word(kind: ast::ObjectType) -> &'static str {
    match kind {
        ast::ObjectType::ObjectProcedure => "PROCEDURE",
        ast::ObjectType::ObjectRoutine => "ROUTINE",
        ast::ObjectType::ObjectAggregate => "AGGREGATE",
        _ => "FUNCTION",
    }
}
