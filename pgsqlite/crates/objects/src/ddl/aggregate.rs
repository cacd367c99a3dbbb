//! CREATE AGGREGATE. (ALTER, DROP and COMMENT: an aggregate is a function to them.)
//!
//! What is checked, in which order and with which words, is PostgreSQL's `DefineAggregate` and `AggregateCreate`.

use super::def_elem::{arg, boolean, def_elems, name_of, text_of};
use super::function::{invalid, polymorphic_sources};
use super::{strings, Ddl, NodeEnum};
use pgsqlite_sql::analyze::aggregate::{support_function, SupportFunction};
use pgsqlite_sql::analyze::is_polymorphic;
use pgsqlite_sql::builtins::catalog::{Aggregate, AggregateSteps};
use pgsqlite_sql::catalog::PG_TEMP;
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::routine::{Argument, Function, Language, Mode};
use pgsqlite_types::error::Severity;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// The options as they are written.
#[derive(Default)]
struct Definition<'s> {
    plain: Steps<'s>,
    moving: Steps<'s>,
    combine: Option<Vec<&'s str>>,
    serialize: Option<Vec<&'s str>>,
    deserialize: Option<Vec<&'s str>>,
    sort_operator: Option<Vec<&'s str>>,
    base_type: Option<&'s ast::DefElem>,
    hypothetical: bool,
    parallel: u8,
}

#[derive(Default)]
struct Steps<'s> {
    transition: Option<Vec<&'s str>>,
    inverse: Option<Vec<&'s str>>,
    finish: Option<Vec<&'s str>>,
    extra: bool,
    modify: Option<u8>,
    state: Option<&'s ast::TypeName>,
    space: i32,
    initial: Option<String>,
}

fn modify_of(option: &ast::DefElem) -> Result<u8> {
    match text_of(option).as_str() {
        "read_only" => Ok(b'r'),
        "shareable" => Ok(b's'),
        "read_write" => Ok(b'w'),
        _ => Err(PgError::new(
            SqlState::SYNTAX_ERROR,
            format!("parameter \"{}\" must be READ_ONLY, SHAREABLE, or READ_WRITE", option.defname),
        )),
    }
}

/// The argument types, and which of them functions of the aggregate get.
struct Signature {
    types: Vec<Oid>,
    direct: usize,
    ordered: bool,
    /// the last argument is VARIADIC "any"
    variadic_any: bool,
}

impl Signature {
    /// What the transition functions get besides the state.
    fn aggregated(&self) -> &[Oid] {
        // (VARIADIC "any" of both lists is written once)
        let first = if self.ordered { self.direct.min(self.types.len().saturating_sub(1)) } else { 0 };
        &self.types[first..]
    }
}

impl Ddl<'_> {
    fn aggregate_definition<'s>(&mut self, options: &'s [ast::Node]) -> Result<Definition<'s>> {
        let mut d = Definition { parallel: b'u', ..Default::default() };
        let space = |o: &ast::DefElem| super::def_elem::integer(o).map(|n| n as i32);
        for o in def_elems(options) {
            work::visit();
            match o.defname.as_str() {
                "sfunc" | "sfunc1" => d.plain.transition = Some(name_of(o)),
                "finalfunc" => d.plain.finish = Some(name_of(o)),
                "combinefunc" => d.combine = Some(name_of(o)),
                "serialfunc" => d.serialize = Some(name_of(o)),
                "deserialfunc" => d.deserialize = Some(name_of(o)),
                "msfunc" => d.moving.transition = Some(name_of(o)),
                "minvfunc" => d.moving.inverse = Some(name_of(o)),
                "mfinalfunc" => d.moving.finish = Some(name_of(o)),
                "finalfunc_extra" => d.plain.extra = boolean(o)?,
                "mfinalfunc_extra" => d.moving.extra = boolean(o)?,
                "finalfunc_modify" => d.plain.modify = Some(modify_of(o)?),
                "mfinalfunc_modify" => d.moving.modify = Some(modify_of(o)?),
                "sortop" => d.sort_operator = Some(name_of(o)),
                "basetype" => d.base_type = Some(o),
                "hypothetical" => d.hypothetical = boolean(o)?,
                "stype" | "stype1" => d.plain.state = super::def_elem::type_name(o),
                "sspace" => d.plain.space = space(o)?,
                "mstype" => d.moving.state = super::def_elem::type_name(o),
                "msspace" => d.moving.space = space(o)?,
                "initcond" | "initcond1" => d.plain.initial = Some(text_of(o)),
                "minitcond" => d.moving.initial = Some(text_of(o)),
                "parallel" => {
                    d.parallel = match text_of(o).as_str() {
                        "safe" => b's',
                        "restricted" => b'r',
                        "unsafe" => b'u',
                        _ => {
                            let message = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
                            return Err(PgError::new(SqlState::SYNTAX_ERROR, message));
                        }
                    }
                }
                other => {
                    let message = format!("aggregate attribute \"{other}\" not recognized");
                    self.notices.push(PgError::new(SqlState::SYNTAX_ERROR, message).severity(Severity::Warning));
                }
            }
        }
        Ok(d)
    }

    pub(super) fn create_aggregate(&mut self, statement: &ast::DefineStmt) -> Result<String> {
        let parts = strings(&statement.defnames);
        let (schema, name) = self.qualified_new(&parts)?;
        let schema = self.creation_schema(schema, -1)?;
        self.check_create(schema)?;
        self.check_creation(schema, name)?;
        let direct = match statement.args.get(1).and_then(|n| n.node.as_ref()) {
            Some(NodeEnum::Integer(i)) if !statement.oldstyle => i.ival,
            _ => -1,
        };
        let definition = self.aggregate_definition(&statement.definition)?;
        let mut kind = if direct >= 0 { b'o' } else { b'n' };
        if definition.hypothetical {
            if kind == b'n' {
                return Err(invalid("only ordered-set aggregates can be hypothetical"));
            }
            kind = b'h';
        }
        let state = definition.plain.state.ok_or_else(|| invalid("aggregate stype must be specified"))?;
        if definition.plain.transition.is_none() {
            return Err(invalid("aggregate sfunc must be specified"));
        }
        check_moving(&definition.moving)?;
        let arguments = self.aggregate_arguments(statement, &definition)?;
        self.check_types_usable(&arguments.iter().map(|a| a.type_oid).collect::<Vec<_>>())?;
        let state = self.state_type(state)?;
        self.check_types_usable(&[state])?;
        self.check_serialization(&definition, state)?;
        let moving_state = definition.moving.state.map(|t| self.state_type(t)).transpose()?;
        for (text, ty) in [(&definition.plain.initial, Some(state)), (&definition.moving.initial, moving_state)] {
            work::visit();
            if let (Some(text), Some(ty)) = (text, ty.filter(|t| !is_polymorphic(*t) && *t != oid::INTERNAL)) {
                let literal = pgsqlite_sql::deparse::quote_literal(text);
                let names = pgsqlite_sql::deparse::Names::stored(&self.catalog);
                let cast = format!("{literal}::{}", names.type_name(ty, -1));
                self.analyze(|e| pgsqlite_sql::analyze::analyze_expression(e, &cast, None, None))
                    .map_err(PgError::without_position)?;
            }
        }
        let variadic = arguments.last().filter(|a| a.mode == Mode::Variadic).map(|a| a.type_oid);
        let signature = Signature {
            types: arguments.iter().map(|a| a.type_oid).collect(),
            direct: usize::try_from(direct).unwrap_or(0),
            ordered: kind != b'n',
            variadic_any: variadic == Some(oid::ANY),
        };
        let made = self.aggregate_of(&definition, kind, &signature, state, moving_state, variadic)?;
        self.put_aggregate(statement, schema, name, arguments, made, definition.parallel)?;
        Ok("CREATE AGGREGATE".into())
    }

    fn aggregate_arguments(&mut self, statement: &ast::DefineStmt, definition: &Definition) -> Result<Vec<Argument>> {
        if statement.oldstyle {
            let base = definition.base_type.ok_or_else(|| invalid("aggregate input type must be specified"))?;
            if text_of(base).eq_ignore_ascii_case("any") {
                return Ok(vec![]);
            }
            let ty = match (super::def_elem::type_name(base), arg(base)) {
                (Some(name), _) => self.head_type(name)?,
                (None, Some(NodeEnum::String(s))) => {
                    let part = ast::Node { node: Some(NodeEnum::String(s.clone())) };
                    self.head_type(&ast::TypeName { names: vec![part], typemod: -1, ..Default::default() })?
                }
                _ => return Err(invalid("aggregate input type must be specified")),
            };
            return Ok(vec![Argument { name: String::new(), mode: Mode::In, type_oid: ty, default: None }]);
        }
        if definition.base_type.is_some() {
            return Err(invalid("basetype is redundant with aggregate input type specification"));
        }
        let parameters = match statement.args.first().and_then(|n| n.node.as_ref()) {
            Some(NodeEnum::List(list)) => list.items.clone(),
            _ => vec![],
        };
        let like = ast::CreateFunctionStmt { parameters, ..Default::default() };
        self.arguments(&like, Language::Internal)
    }

    fn state_type(&mut self, name: &ast::TypeName) -> Result<Oid> {
        let ty = self.head_type(name)?;
        let pseudo = pgsqlite_types::catalog::by_oid(ty).is_some_and(|t| t.kind == b'p') && !is_polymorphic(ty);
        let superuser = pgsqlite_sql::acl::is_superuser(&self.catalog, self.environment.user);
        if pseudo && !(ty == oid::INTERNAL && superuser) {
            let shown = self.display_type(ty);
            return Err(invalid(format!("aggregate transition data type cannot be {shown}")));
        }
        Ok(ty)
    }

    fn check_serialization(&self, definition: &Definition, state: Oid) -> Result<()> {
        if definition.serialize.is_none() && definition.deserialize.is_none() {
            return Ok(());
        }
        if state != oid::INTERNAL {
            let shown = self.display_type(oid::INTERNAL);
            return Err(invalid(format!(
                "serialization functions may be specified only when the aggregate transition data type is {shown}"
            )));
        }
        if definition.serialize.is_none() || definition.deserialize.is_none() {
            return Err(invalid("must specify both or neither of serialization and deserialization functions"));
        }
        Ok(())
    }

    fn support(&self, name: &[&str], types: &[Oid], variadic_any: bool) -> Result<SupportFunction> {
        self.analyze(|e| support_function(e, name, types, variadic_any))
    }

    /// 42P13 where a polymorphic type does not follow from the arguments.
    fn check_determined(&self, ty: Oid, signature: &Signature, what: &str) -> Result<()> {
        if !is_polymorphic(ty) {
            return Ok(());
        }
        let (sources, shown) = polymorphic_sources(ty);
        if signature.types.iter().any(|t| sources.contains(t)) {
            return Ok(());
        }
        let shown = format!("A result of type {} requires at least one input of type {shown}.", self.display_type(ty));
        Err(invalid(format!("cannot determine {what} data type")).detail(shown))
    }

    /// The transition function of one way of computing, and the result type with its final function.
    fn steps(&self, written: &Steps, state: Oid, kind: u8, signature: &Signature) -> Result<(AggregateSteps, Oid)> {
        let name = written.transition.as_deref().unwrap_or_default();
        let with_state = |rest: &[Oid]| -> Vec<Oid> { [state].iter().chain(rest).copied().collect() };
        let wrong_result = |what: &str, name: &[&str], is: Oid| {
            PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("return type of {what} function {} is not {}", name.join("."), self.display_type(is)),
            )
        };
        let takes = with_state(signature.aggregated());
        let transition = self.support(name, &takes, signature.variadic_any)?;
        if transition.result != state {
            return Err(wrong_result("transition", name, state));
        }
        if transition.strict && written.initial.is_none() {
            let first = signature.aggregated().first();
            let fits = |&ty: &Oid| self.analyze(|e| Ok(pgsqlite_sql::analyze::aggregate::same_storage(e, ty, state)));
            if !first.map(fits).transpose()?.unwrap_or(false) {
                return Err(invalid(
                    "must not omit initial value when transition function is strict and transition type is not \
                     compatible with input type",
                ));
            }
        }
        let mut inverse = 0;
        if let Some(name) = &written.inverse {
            let found = self.support(name, &takes, signature.variadic_any)?;
            if found.result != state {
                return Err(wrong_result("inverse transition", name, state));
            }
            if found.strict != transition.strict {
                let message = "strictness of aggregate's forward and inverse transition functions must match";
                return Err(invalid(message));
            }
            inverse = found.proc;
        }
        let mut finish = (0, state);
        if let Some(name) = &written.finish {
            let direct = signature.direct.min(signature.types.len());
            let given = if written.extra { &signature.types[..] } else { &signature.types[..direct] };
            let variadic_any =
                signature.variadic_any && (written.extra || direct == signature.types.len() && direct > 0);
            let found = self.support(name, &with_state(given), variadic_any)?;
            if written.extra && found.strict {
                return Err(invalid("final function with extra arguments must not be declared STRICT"));
            }
            finish = (found.proc, found.result);
        }
        let steps = AggregateSteps {
            transition: transition.proc,
            inverse,
            finish: finish.0,
            finish_extra: written.extra,
            finish_modify: written.modify.unwrap_or(if kind == b'n' { b'r' } else { b'w' }),
            state,
            space: written.space,
            initial: written.initial.clone(),
        };
        Ok((steps, finish.1))
    }

    /// The definition with its functions found, and the type of its results.
    fn aggregate_of(
        &self,
        definition: &Definition,
        kind: u8,
        signature: &Signature,
        state: Oid,
        moving_state: Option<Oid>,
        variadic: Option<Oid>,
    ) -> Result<(Aggregate, Oid)> {
        self.check_determined(state, signature, "transition")?;
        if let Some(moving) = moving_state {
            self.check_determined(moving, signature, "transition")?;
        }
        if kind != b'n' && variadic.is_some_and(|v| v != oid::ANY) {
            let message = "a variadic ordered-set aggregate must use VARIADIC type ANY";
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if kind == b'h' && signature.direct < signature.types.len() {
            let aggregated = signature.types.len() - signature.direct;
            if aggregated > signature.direct
                || signature.types[signature.direct - aggregated..signature.direct] != *signature.aggregated()
            {
                return Err(invalid(
                    "a hypothetical-set aggregate must have direct arguments matching its aggregated arguments",
                ));
            }
        }
        let (plain, result) = self.steps(&definition.plain, state, kind, signature)?;
        let mismatch = |what: &str, name: &[&str], is: Oid| {
            PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("return type of {what} function {} is not {}", name.join("."), self.display_type(is)),
            )
        };
        let mut combine = 0;
        if let Some(name) = &definition.combine {
            let found = self.support(name, &[state, state], false)?;
            if found.result != state {
                return Err(mismatch("combine", name, state));
            }
            if state == oid::INTERNAL && found.strict {
                return Err(invalid(format!(
                    "combine function with transition type {} must not be declared STRICT",
                    self.display_type(state)
                )));
            }
            combine = found.proc;
        }
        let mut serialization = [0, 0];
        for (i, (name, takes, gives, what)) in [
            (&definition.serialize, vec![oid::INTERNAL], oid::BYTEA, "serialization"),
            (&definition.deserialize, vec![oid::BYTEA, oid::INTERNAL], oid::INTERNAL, "deserialization"),
        ]
        .into_iter()
        .enumerate()
        {
            work::visit();
            let Some(name) = name else { continue };
            let found = self.support(name, &takes, false)?;
            if found.result != gives {
                return Err(mismatch(what, name, gives));
            }
            serialization[i] = found.proc;
        }
        self.check_determined(result, signature, "result")?;
        if result == oid::INTERNAL && !signature.types.contains(&oid::INTERNAL) {
            return Err(invalid("unsafe use of pseudo-type \"internal\"")
                .detail("A function returning \"internal\" must have at least one \"internal\" argument."));
        }
        let mut moving = None;
        if let Some(state) = moving_state {
            let (steps, moving_result) = self.steps(&definition.moving, state, kind, signature)?;
            if moving_result != result {
                return Err(invalid(format!(
                    "moving-aggregate implementation returns type {}, but plain implementation returns type {}",
                    self.display_type(moving_result),
                    self.display_type(result)
                )));
            }
            moving = Some(steps);
        }
        let mut sort_operator = 0;
        if let Some(name) = &definition.sort_operator {
            let [one] = signature.types[..] else {
                return Err(invalid("sort operator can only be specified for single-argument aggregates"));
            };
            sort_operator = self.exact_operator(name, one)?;
        }
        let aggregate = Aggregate {
            proc: 0,
            kind,
            direct_args: signature.direct,
            plain,
            moving_modify: definition.moving.modify.unwrap_or(if kind == b'n' { b'r' } else { b'w' }),
            moving,
            combine,
            serialize: serialization[0],
            deserialize: serialization[1],
            sort_operator,
        };
        Ok((aggregate, result))
    }

    fn put_aggregate(
        &mut self,
        statement: &ast::DefineStmt,
        schema: Oid,
        name: &str,
        arguments: Vec<Argument>,
        (mut aggregate, returns): (Aggregate, Oid),
        parallel: u8,
    ) -> Result<()> {
        let types: Vec<Oid> = arguments.iter().map(|a| a.type_oid).collect();
        let old = self.catalog.routine_in(schema, name, &types).map(|r| r.function.clone());
        let mut function = Function {
            oid: 0,
            schema,
            name: name.to_string(),
            owner: self.environment.user,
            procedure: false,
            language: Language::Internal,
            arguments,
            returns,
            returns_set: false,
            volatility: b'i',
            strict: false,
            security_definer: false,
            leakproof: false,
            parallel,
            cost: 1.0,
            rows: 0.0,
            settings: vec![],
            source: "aggregate_dummy".into(),
            standard: false,
            qualified: false,
            acl: self.default_acl(pgsqlite_sql::acl::AclObject::Function, schema),
            aggregate: Some(Box::new(aggregate.clone())),
            window: false,
        };
        match old {
            Some(_) if !statement.replace => {
                return Err(PgError::new(
                    SqlState::DUPLICATE_FUNCTION,
                    format!("function \"{name}\" already exists with same argument types"),
                ))
            }
            Some(old) => {
                self.check_replaced(&old, &function)?;
                let before = old.aggregate.as_ref().map_or(aggregate.clone(), |a| (**a).clone());
                if before.kind != aggregate.kind {
                    let is = match before.kind {
                        b'n' => "an ordinary aggregate function",
                        b'o' => "an ordered-set aggregate",
                        _ => "a hypothetical-set aggregate",
                    };
                    return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, "cannot change routine kind")
                        .detail(format!("\"{name}\" is {is}.")));
                }
                if before.direct_args != aggregate.direct_args {
                    return Err(invalid("cannot change number of direct arguments of an aggregate function"));
                }
                function.oid = old.oid;
                function.owner = old.owner;
                function.acl = old.acl;
            }
            None => {
                let mut types = types.iter().chain([&function.returns, &aggregate.plain.state]);
                let temporary = types.any(|t| self.catalog.is_temporary_type(*t));
                function.oid = self.new_oid(schema == PG_TEMP || temporary)?
            }
        }
        aggregate.proc = function.oid;
        function.aggregate = Some(Box::new(aggregate));
        self.put_function(function)
    }
}

/// What goes with the state of moving frames, and what does not go without it.
fn check_moving(moving: &Steps) -> Result<()> {
    if moving.state.is_some() {
        for (name, written) in [("msfunc", &moving.transition), ("minvfunc", &moving.inverse)] {
            work::visit();
            if written.is_none() {
                return Err(invalid(format!("aggregate {name} must be specified when mstype is specified")));
            }
        }
        return Ok(());
    }
    for (name, written) in [
        ("msfunc", moving.transition.is_some()),
        ("minvfunc", moving.inverse.is_some()),
        ("mfinalfunc", moving.finish.is_some()),
        ("msspace", moving.space != 0),
        ("minitcond", moving.initial.is_some()),
    ] {
        work::visit();
        if written {
            return Err(invalid(format!("aggregate {name} must not be specified without mstype")));
        }
    }
    Ok(())
}
