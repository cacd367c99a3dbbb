//! Function calls: plain functions, casts in function notation, aggregates, window functions, set-returning functions.

use super::modifiers::is_null;
use super::{Analyzer, Clause};
use crate::analyze::typename::name_parts;
use crate::builtins::catalog::{self as builtin, CastContext};
use crate::builtins::imp::{imp, Imp};
use crate::builtins::word::Word;
use crate::catalog::searched_for_calls;
use crate::parse::{ast, NodeEnum};
use crate::typed::{Aggregate, CastForm, CastMethod, Expr, ExprKind, SortKey};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

/// PostgreSQL's FUNC_MAX_ARGS.
const MOST_ARGUMENTS: usize = 100;

impl<'a> Analyzer<'a> {
    pub(crate) fn function_call(&mut self, call: &ast::FuncCall) -> Result<Expr> {
        // what the arguments of CALL's procedure call are functions
        let calling = std::mem::take(&mut self.calling);
        let parts = name_parts(&call.funcname);
        let (schema, name) = super::qualified_name(self.env.catalog, &parts).map_err(|e| e.at(call.location))?;
        if schema.is_some_and(|s| s != "pg_catalog") {
            let schema = schema.expect("checked");
            if self.env.catalog.schema_oid(schema).is_none() && schema != "information_schema" {
                return Err(PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"))
                    .at(call.location));
            }
            self.check_schema(schema).map_err(|e| e.at(call.location))?;
        }
        let in_aggregate_call = call.agg_star
            || call.agg_distinct
            || !call.agg_order.is_empty()
            || call.agg_filter.is_some()
            || call.agg_within_group;
        // The arguments of an aggregate may not hold another one of the same level: told after resolution.
        let saved_aggregates = std::mem::take(&mut self.level().aggregates_seen);
        let mut args = Vec::new();
        let mut names: Vec<Option<&str>> = Vec::new();
        let mut name_places: Vec<i32> = Vec::new();
        for node in &call.args {
            match &node.node {
                Some(NodeEnum::NamedArgExpr(named)) => {
                    args.push(self.expr_opt(named.arg.as_deref())?);
                    names.push(Some(named.name.as_str()));
                    name_places.push(named.location);
                }
                _ => {
                    args.push(self.expr(node)?);
                    names.push(None);
                    name_places.push(-1);
                }
            }
        }
        // parameters of type void stand for results where JDBC calls a function: they are no arguments
        if !call.agg_within_group {
            let is_result = |e: &Expr| matches!(e.kind, ExprKind::Param(_)) && e.ty == oid::VOID;
            let mut keep = args.iter().map(|a| !is_result(a)).collect::<Vec<_>>().into_iter();
            names.retain(|_| keep.next().unwrap_or(true));
            args.retain(|a| !is_result(a));
        }
        let mut order_by = Vec::new();
        for node in &call.agg_order {
            let Some(NodeEnum::SortBy(sort)) = &node.node else { return Err(PgError::internal("SortBy expected")) };
            let expr = self.expr_opt(sort.node.as_deref())?;
            order_by.push(self.sort_key(expr, sort, None)?);
        }
        let direct_count = args.len();
        if call.agg_within_group {
            args.extend(order_by.iter().map(|k| k.expr.clone()));
            names.resize(args.len(), None);
        }
        let nested_aggregate = std::mem::replace(&mut self.level().aggregates_seen, saved_aggregates);
        if args.len() > MOST_ARGUMENTS {
            let message = format!("cannot pass more than {MOST_ARGUMENTS} arguments to a function");
            return Err(PgError::new(SqlState::TOO_MANY_ARGUMENTS, message).at(call.location));
        }
        let mut types: Vec<Oid> = args.iter().map(|a| a.ty).collect();
        self.calling = calling;
        let mut candidates = self.functions_named(schema, name);
        for (i, n) in names.iter().enumerate() {
            if n.is_some() && names[..i].contains(n) {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    format!("argument name \"{}\" used more than once", n.unwrap_or("")),
                )
                .at(name_places.get(i).copied().unwrap_or(-1)));
            }
        }
        if names.iter().any(Option::is_some) {
            let shown = parts.join(".");
            let proc = match self.reorder_named(&candidates, &shown, &mut args, &names, call) {
                Err(refused) if refused.code() == SqlState::UNDEFINED_FUNCTION => {
                    let later = self.later_functions(schema, name);
                    self.reorder_named(&later, &shown, &mut args, &names, call).map_err(|_| refused)?
                }
                found => found?,
            };
            candidates = vec![proc];
            types = args.iter().map(|a| a.ty).collect();
        }

        // f(x) where f is a type name: a cast, if nothing else fits exactly (manual 4.2.9, 10.3 step 3)
        let single = args.len() == 1 && names.iter().all(Option::is_none) && !in_aggregate_call && call.over.is_none();
        if single && !candidates.iter().any(|p| p.args == types) {
            if let Some(cast) = self.function_style_cast(schema, name, args[0].clone(), call.location)? {
                return Ok(cast);
            }
        }
        let mut resolved = self.resolve_function(&candidates, &types, call.func_variadic);
        if resolved.is_none() {
            let later = self.later_functions(schema, name);
            resolved = self.resolve_function(&later, &types, call.func_variadic);
        }
        let resolved = match resolved {
            Some(Ok(found)) => found,
            other => {
                // column(row) is the other notation of row.column
                if other.is_none() && single && !call.func_variadic && schema.is_none() {
                    if let Some(field) = self.field_call(args[0].clone(), name, call.location)? {
                        return Ok(field);
                    }
                }
                return Err(self.no_function(&parts.join("."), &types, other.is_some(), call.location));
            }
        };
        let proc = resolved.proc;
        if proc.kind != b'p' && calling {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("{} is not a procedure", self.signature(name, &types)),
            )
            .hint("To call a function, use SELECT.")
            .at(call.location));
        }
        // (a user's function says so itself, when it is called)
        if proc.ret == oid::TRIGGER && proc.oid < oid::FIRST_USER_OID {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "trigger functions can only be called as triggers",
            ));
        }
        if proc.kind == b'p' && !calling {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("{} is a procedure", self.signature(name, &types)),
            )
            .hint("To call a procedure, use CALL.")
            .at(call.location));
        }

        // VARIADIC "any" takes an array of any type, but no untyped literal
        if call.func_variadic && proc.variadic == oid::ANY {
            let array = args.last().filter(|a| self.env.catalog.element_type(self.base_type(a.ty)).is_none());
            if let Some(array) = array {
                let message = "VARIADIC argument must be an array";
                return Err(PgError::new(SqlState::DATATYPE_MISMATCH, message).at(array.location));
            }
        }

        // nothing but untyped literals where a polymorphic type must come from
        let polymorphic = |d: Oid| matches!(d, oid::ANYELEMENT | oid::ANYARRAY | oid::ANYNONARRAY | oid::ANYENUM);
        let elements = resolved.variadic_from.map_or(&[][..], |from| &types[from..]);
        let further = elements.iter().skip(1).filter_map(|t| Some((proc.args.last()?, t)));
        let mut given = proc.args.iter().zip(&types).chain(further).filter(|(d, _)| polymorphic(**d)).peekable();
        if given.peek().is_some() && given.all(|(_, t)| *t == oid::UNKNOWN)
            || resolved.args.iter().any(|&a| super::coerce::is_polymorphic_range(a))
        {
            return Err(super::resolve::polymorphic_unknown());
        }

        // defaults of missing arguments
        let mut targets = resolved.args.clone();
        let left_out = args.len() < proc.args.len() && resolved.variadic_from.is_none() && !self.storing;
        if left_out && proc.default_count > 0 {
            let missing = proc.args.len() - args.len();
            for (i, text) in proc.defaults[proc.defaults.len() - missing..].iter().enumerate() {
                let declared = proc.args[args.len()];
                let _ = i;
                let default = self.sub_expression(text)?;
                args.push(default);
                targets.push(declared);
            }
        }
        if call.agg_within_group && self.env.catalog.aggregate(proc.oid).is_some_and(|a| a.kind == b'h') {
            self.unify_hypothetical(proc, &mut args, direct_count, call.location)?;
        }
        let mut converted = Vec::with_capacity(args.len());
        for (arg, &target) in args.into_iter().zip(&targets) {
            // (these look at the argument's type itself)
            let shows_type = matches!(proc.src, Some("pg_typeof" | "pg_collation_for" | "pg_column_size"));
            let same_key = |k: &SortKey| without_implicit_casts(&k.expr).kind == arg.kind;
            let sorted = call.agg_distinct || order_by.iter().any(same_key);
            converted.push(if target == oid::ANY && arg.ty == oid::UNKNOWN && self.storing && !sorted {
                // (it is printed without a type, as it was written)
                arg
            } else if target == oid::ANY && arg.ty == oid::UNKNOWN && !shows_type {
                // "any": PostgreSQL reads an unknown literal as text, and has no type for a parameter unless it is sorted
                match sorted {
                    true => self.resolve_unknown(arg)?,
                    false => self.resolve_of_any_type(arg)?,
                }
            } else {
                self.coerce_implicit(arg, target)?
            });
        }
        if let Some(from) = resolved.variadic_from {
            let elements = converted.split_off(from);
            let element = elements[0].ty;
            let array = self.array_type_of(element, elements[0].location)?;
            converted.push(Expr::new(ExprKind::Array(elements), array, call.location));
        }
        let mut ret = resolved.ret;
        // int8 "lo" functions aside, array_agg(anynonarray) etc. got their types above; enum functions need the concrete type
        if ret == oid::ANYARRAY {
            ret = converted.first().map_or(ret, |a| a.ty);
        }
        if let Some(routine) = self.env.catalog.routines.get(&proc.oid) {
            self.check_execute(&routine.function)?;
        } else if !self.may_call_builtin(proc.oid) {
            let message = format!("permission denied for function {}", proc.name);
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        } else if imp(proc.oid).is_none() && !self.env.catalog.range_constructors.contains_key(&proc.oid) {
            return Err(PgError::not_supported(format!("function {}", self.proc_signature(proc))).at(call.location));
        }

        match proc.kind {
            b'a' => {
                let inner = |test: fn(&ExprKind) -> bool| {
                    crate::walk::find(&converted, test).map_or(call.location, |e| e.location)
                };
                if call.over.is_none() && nested_aggregate {
                    return Err(PgError::new(SqlState::GROUPING_ERROR, "aggregate function calls cannot be nested")
                        .at(inner(|k| matches!(k, ExprKind::Aggregate(_)))));
                }
                if call.over.is_some() && converted.iter().any(crate::walk::contains_window) {
                    return Err(PgError::new(SqlState::WINDOWING_ERROR, "window function calls cannot be nested")
                        .at(inner(|k| matches!(k, ExprKind::Window { .. }))));
                }
                if converted.iter().any(crate::walk::contains_window) {
                    return Err(PgError::new(
                        SqlState::GROUPING_ERROR,
                        "aggregate function calls cannot contain window function calls",
                    )
                    .at(inner(|k| matches!(k, ExprKind::Window { .. }))));
                }
                if converted.iter().any(crate::walk::contains_set_function) {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "aggregate function calls cannot contain set-returning function calls",
                    )
                    .hint("You might be able to move the set-returning function into a LATERAL FROM item.")
                    .at(inner(|k| matches!(k, ExprKind::SetFunc { .. }))));
                }
                self.aggregate_call(call, proc, converted, order_by, direct_count, ret)
            }
            b'w' => {
                if in_aggregate_call && !call.agg_star && call.agg_filter.is_some() {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "FILTER is not implemented for non-aggregate window functions",
                    )
                    .at(call.location));
                }
                let Some(over) = &call.over else {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("window function {name} requires an OVER clause"),
                    )
                    .at(call.location));
                };
                let aggregate = Aggregate {
                    proc: proc.oid,
                    direct: vec![],
                    args: converted,
                    star: false,
                    distinct: false,
                    order_by: vec![],
                    filter: None,
                    variadic: false,
                    levels_up: 0,
                };
                self.window_call(over, aggregate, ret, call.location)
            }
            _ => {
                if in_aggregate_call {
                    let what = if call.agg_star {
                        format!("{name}(*) specified, but {name} is not an aggregate function")
                    } else if call.agg_distinct {
                        format!("DISTINCT specified, but {name} is not an aggregate function")
                    } else if call.agg_within_group {
                        format!("WITHIN GROUP specified, but {name} is not an aggregate function")
                    } else if !call.agg_order.is_empty() {
                        format!("ORDER BY specified, but {name} is not an aggregate function")
                    } else {
                        format!("FILTER specified, but {name} is not an aggregate function")
                    };
                    return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, what).at(call.location));
                }
                if call.over.is_some() {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("OVER specified, but {name} is not a window function nor an aggregate function"),
                    )
                    .at(call.location));
                }
                self.level().aggregates_seen |= nested_aggregate;
                self.plain_call(proc, converted, ret, call, resolved.variadic_from.is_some())
            }
        }
    }

    /// Each hypothetical argument and the ordered one it is compared with get one type.
    fn unify_hypothetical(
        &mut self,
        proc: &builtin::Proc,
        args: &mut [Expr],
        direct: usize,
        location: i32,
    ) -> Result<()> {
        let ordered = args.len() - direct;
        if ordered != direct {
            let types: Vec<Oid> = args.iter().map(|a| a.ty).collect();
            return Err(self.no_function(&proc.name, &types, false, location).hint(format!(
                "To use the hypothetical-set aggregate {}, the number of hypothetical direct arguments (here {direct}) \
                 must match the number of ordering columns (here {ordered}).",
                proc.name
            )));
        }
        for i in 0..direct {
            let common = self.common_type(&[&args[direct + i], &args[i]], "WITHIN GROUP")?;
            for j in [i, direct + i] {
                args[j] = self.coerce_to_common(args[j].clone(), common, "WITHIN GROUP")?;
            }
        }
        Ok(())
    }

    /// `packed`: the last of the arguments is the array of a VARIADIC parameter's.
    pub(super) fn plain_call(
        &mut self,
        proc: &'a builtin::Proc,
        args: Vec<Expr>,
        ret: Oid,
        call: &ast::FuncCall,
        packed: bool,
    ) -> Result<Expr> {
        if proc.retset {
            let clause = self.level().clause;
            if !matches!(clause, Clause::SelectTarget | Clause::FromFunction | Clause::GroupBy | Clause::OrderBy) {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("set-returning functions are not allowed in {}", clause.name()),
                )
                .at(call.location));
            }
            return Ok(Expr::new(
                ExprKind::SetFunc { proc: proc.oid, args, variadic: call.func_variadic || self.storing && packed },
                ret,
                call.location,
            ));
        }
        if let (Some(Imp::Sql(text)), false) = (imp(proc.oid), self.storing) {
            // (what the text says of the other arguments is then not computed, and cannot be wrong)
            if proc.strict && args.iter().any(is_null) {
                return Ok(Expr::new(ExprKind::Const(Datum::Null), ret, call.location));
            }
            return self.splice_sql(text, args, ret, call.location);
        }
        if let Some(routine) = self.env.catalog.routines.get(&proc.oid) {
            if let Some(inlined) = self.inlined(&routine.function, &args, ret, call.location) {
                return Ok(inlined);
            }
        }
        let variadic = call.func_variadic || self.storing && packed;
        let made = Expr::new(ExprKind::Func { proc: proc.oid, args, variadic }, ret, call.location);
        if self.storing && call.funcformat == ast::CoercionForm::CoerceSqlSyntax as i32 {
            let kind = ExprKind::Cast { arg: Box::new(made), method: CastMethod::Relabel, form: CastForm::Syntax };
            return Ok(Expr::new(kind, ret, call.location));
        }
        Ok(made)
    }

    /// `Imp::Sql`: the text is analyzed with `$n` standing for the arguments.
    pub(crate) fn splice_sql(&mut self, text: &str, args: Vec<Expr>, ret: Oid, location: i32) -> Result<Expr> {
        let saved = self.splice_arguments.replace(args);
        let result = self.sub_expression(text);
        self.splice_arguments = saved;
        let mut expr = self.coerce_explicit(result?, ret, -1, location)?;
        expr.location = location;
        Ok(expr)
    }

    /// Puts named arguments into the declared order: of the one function that takes them. Errors: 42883, 42725.
    fn reorder_named(
        &mut self,
        candidates: &[&'a builtin::Proc],
        shown: &str,
        args: &mut Vec<Expr>,
        names: &[Option<&str>],
        call: &ast::FuncCall,
    ) -> Result<&'a builtin::Proc> {
        let positional = names.iter().take_while(|n| n.is_none()).count();
        // the names of the arguments that calls give
        let inputs = |p: &builtin::Proc| -> Vec<Word> {
            let Some(all) = &p.arg_names else { return vec![] };
            match &p.arg_modes {
                None => all.iter().take(p.args.len()).cloned().collect(),
                Some(modes) => {
                    let given = |m: &u8| matches!(m, b'i' | b'b' | b'v') || p.kind == b'p' && *m == b'o';
                    all.iter().zip(modes).filter(|(_, m)| given(m)).map(|(n, _)| n.clone()).collect()
                }
            }
        };
        let fits: Vec<&'a builtin::Proc> = candidates
            .iter()
            .copied()
            // (the arguments that VARIADIC gathers have no names: the array has one where the call says VARIADIC, too)
            .filter(|p| p.variadic == 0 || call.func_variadic)
            .filter(|p| {
                let all = inputs(p);
                let first_default = p.args.len() - p.default_count;
                let place = |n: &Option<&str>| n.and_then(|n| all.iter().position(|a| *a == n));
                let given: Vec<Option<usize>> = names[positional..].iter().map(place).collect();
                given.iter().all(|g| g.is_some_and(|g| g >= positional))
                    // (what VARIADIC stands before is the last one at its place, too)
                    && (!call.func_variadic || given.last().is_none_or(|last| *last == Some(names.len() - 1)))
                    && (positional..first_default).all(|i| given.contains(&Some(i)))
                    && p.args.len() >= names.len()
            })
            .collect();
        let types: Vec<Oid> = args.iter().map(|a| a.ty).collect();
        let fitting: Vec<&'a builtin::Proc> = if fits.len() > 1 {
            // those that the types of the arguments allow, each at its place
            let allowed = |p: &&builtin::Proc| {
                let all = inputs(p);
                types.iter().zip(names).enumerate().all(|(i, (&ty, n))| {
                    let at = n.and_then(|n| all.iter().position(|a| *a == n)).unwrap_or(i);
                    self.can_coerce(ty, p.args[at], CastContext::Implicit)
                })
            };
            fits.into_iter().filter(allowed).collect()
        } else {
            fits
        };
        let exact = |p: &&&'a builtin::Proc| {
            let all = inputs(p);
            let mut places = types.iter().zip(names).enumerate();
            places.all(|(i, (&ty, n))| p.args[n.and_then(|n| all.iter().position(|a| *a == n)).unwrap_or(i)] == ty)
        };
        let proc = match fitting[..] {
            [proc] => proc,
            _ if fitting.iter().filter(exact).count() == 1 => {
                *fitting.iter().find(exact).ok_or_else(|| PgError::internal("the function just counted"))?
            }
            _ => {
                let list: Vec<String> = types
                    .iter()
                    .zip(names)
                    .map(|(&t, n)| match n {
                        Some(n) => format!("{n} => {}", self.type_display(t)),
                        None => self.type_display(t),
                    })
                    .collect();
                let signature = format!("{shown}({})", list.join(", "));
                return Err(if fitting.is_empty() {
                    PgError::new(SqlState::UNDEFINED_FUNCTION, format!("function {signature} does not exist")).hint(
                        "No function matches the given name and argument types. You might need to add explicit type casts.",
                    )
                } else {
                    PgError::new(SqlState::AMBIGUOUS_FUNCTION, format!("function {signature} is not unique"))
                        .hint("Could not choose a best candidate function. You might need to add explicit type casts.")
                }
                .at(call.location));
            }
        };
        let all = inputs(proc);
        let mut slots: Vec<Option<Expr>> = vec![None; proc.args.len()];
        for (i, (arg, n)) in std::mem::take(args).into_iter().zip(names).enumerate() {
            let slot = n.and_then(|n| all.iter().position(|a| *a == n)).unwrap_or(i);
            slots[slot] = Some(arg);
        }
        let first_default = proc.args.len() - proc.default_count;
        for (i, slot) in slots.iter_mut().enumerate() {
            let arg = match slot.take() {
                Some(arg) => arg,
                None => {
                    let text = i.checked_sub(first_default).and_then(|d| proc.defaults.get(d));
                    let default = self.sub_expression(text.ok_or_else(|| PgError::internal("a missing default"))?)?;
                    self.coerce_implicit(default, proc.args[i])?
                }
            };
            args.push(arg);
        }
        Ok(proc)
    }

    /// Some of PostgreSQL's functions are not for everybody. (In a view, too, it is its user who calls them, not its owner.)
    fn may_call_builtin(&self, proc: Oid) -> bool {
        use crate::acl::{builtin_function_acl, privilege, privileges, AclObject};
        if self.env.rights == super::Rights::AskedAtUse {
            return true;
        }
        let catalog = self.env.catalog;
        builtin_function_acl(catalog, proc).is_none_or(|list| {
            let owner = crate::catalog::BOOTSTRAP_ROLE;
            let has = privileges(catalog, self.env.user, AclObject::Function, owner, Some(&list));
            has & privilege::EXECUTE != 0
        })
    }

    /// 42501 unless the session's role may execute the function.
    pub(super) fn check_execute(&self, function: &crate::routine::Function) -> Result<()> {
        use crate::acl::{privilege, privileges, AclObject};
        let has =
            privileges(self.env.catalog, self.env.user, AclObject::Function, function.owner, function.acl.as_ref());
        if has & privilege::EXECUTE != 0 || self.env.rights == super::Rights::AskedAtUse {
            return Ok(());
        }
        let word = match function.kind() {
            b'p' => "procedure",
            b'a' => "aggregate",
            _ => "function",
        };
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for {word} {}", function.name)))
    }

    fn function_style_cast(
        &mut self,
        schema: Option<&str>,
        name: &str,
        arg: Expr,
        location: i32,
    ) -> Result<Option<Expr>> {
        let catalog = self.env.catalog;
        let found = match schema {
            Some(schema) => catalog.schema_oid(schema).and_then(|s| catalog.type_in(s, name)),
            None => searched_for_calls(self.env.search_path).find_map(|s| catalog.type_in(s, name)),
        };
        // the name of a row type is no cast
        let Some(target) = found.filter(|&ty| ty != catalog.base_type(ty) || !self.is_row_type(ty)) else {
            return Ok(None);
        };
        if arg.ty == oid::UNKNOWN {
            return self.coerce_explicit(arg, target, -1, location).map(Some);
        }
        use crate::typed::CastMethod;
        // a row is no string here: name(row) is its column
        if self.is_row_type(arg.ty) && self.category(target).0 == b'S' {
            return Ok(None);
        }
        // only conversions that need no function or I/O are casts here; I/O ones only between a string type and another
        match self.cast_path(arg.ty, target, CastContext::Explicit) {
            Some(CastMethod::Relabel) | Some(CastMethod::InOut) => {
                self.try_coerce(arg, target, -1, CastContext::Explicit, CastForm::Explicit)
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn signature(&self, name: &str, types: &[Oid]) -> String {
        format!("{name}({})", types.iter().map(|&t| self.type_display(t)).collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn proc_signature(&self, proc: &builtin::Proc) -> String {
        self.signature(&proc.name, &proc.args)
    }

    fn no_function(&self, name: &str, types: &[Oid], ambiguous: bool, location: i32) -> PgError {
        let signature = self.signature(name, types);
        let word = if self.calling { "procedure" } else { "function" };
        if ambiguous {
            PgError::new(SqlState::AMBIGUOUS_FUNCTION, format!("{word} {signature} is not unique"))
                .hint(format!("Could not choose a best candidate {word}. You might need to add explicit type casts."))
                .at(location)
        } else {
            PgError::new(SqlState::UNDEFINED_FUNCTION, format!("{word} {signature} does not exist"))
                .hint(format!(
                    "No {word} matches the given name and argument types. You might need to add explicit type casts."
                ))
                .at(location)
        }
    }

    fn aggregate_call(
        &mut self,
        call: &ast::FuncCall,
        proc: &builtin::Proc,
        mut args: Vec<Expr>,
        order_by: Vec<SortKey>,
        direct_count: usize,
        ret: Oid,
    ) -> Result<Expr> {
        let row = self.env.catalog.aggregate(proc.oid).ok_or_else(|| PgError::internal("aggregate without its row"))?;
        let location = call.location;
        if row.kind == b'n' && call.agg_within_group {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("{} is not an ordered-set aggregate, so it cannot have WITHIN GROUP", proc.name),
            )
            .at(location));
        }
        if row.kind != b'n' && !call.agg_within_group {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("WITHIN GROUP is required for ordered-set aggregate {}", proc.name),
            )
            .at(location));
        }
        if args.is_empty() && !call.agg_star {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("{}(*) must be used to call a parameterless aggregate function", proc.name),
            )
            .at(location));
        }
        let filter = match &call.agg_filter {
            Some(node) => {
                let filter = self.in_clause(Clause::Filter, |a| a.expr(node))?;
                Some(self.coerce_boolean(filter, "FILTER")?)
            }
            None => None,
        };
        let (direct, order_by) = if call.agg_within_group {
            let ordered = args.split_off(direct_count.min(args.len()));
            let mut keys = order_by;
            for (key, arg) in keys.iter_mut().zip(&ordered) {
                key.expr = arg.clone();
            }
            (std::mem::replace(&mut args, ordered), keys)
        } else {
            (vec![], order_by)
        };
        let mut order_by = order_by;
        for key in &mut order_by {
            if key.expr.ty == oid::UNKNOWN {
                key.expr = self.coerce_implicit(key.expr.clone(), oid::TEXT)?;
            }
        }
        // a sort key that is an argument is sorted by as the argument that the function gets
        if !call.agg_within_group {
            for key in &mut order_by {
                if let Some(arg) = args.iter().find(|arg| without_implicit_casts(arg) == &key.expr) {
                    key.expr = arg.clone();
                }
            }
        }
        if call.agg_distinct {
            for arg in &args {
                self.check_comparable(arg.ty, arg.location)?;
            }
            if order_by.iter().any(|k| !args.contains(&k.expr)) {
                return Err(PgError::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
                )
                .at(order_by[0].expr.location));
            }
        }
        let mut aggregate = Aggregate {
            proc: proc.oid,
            direct,
            args,
            star: call.agg_star,
            distinct: call.agg_distinct,
            order_by,
            filter,
            variadic: call.func_variadic,
            levels_up: 0,
        };
        if let Some(over) = &call.over {
            if row.kind != b'n' {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("OVER is not supported for ordered-set aggregate {}", proc.name),
                )
                .at(location));
            }
            if aggregate.distinct {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "DISTINCT is not implemented for window functions",
                )
                .at(location));
            }
            if !aggregate.order_by.is_empty() {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "aggregate ORDER BY is not implemented for window functions",
                )
                .at(location));
            }
            return self.window_call(over, aggregate, ret, location);
        }
        // An aggregate belongs to the innermost query whose variables its arguments use; direct arguments follow it.
        let direct = std::mem::take(&mut aggregate.direct);
        let lowest = crate::walk::lowest_level(&aggregate);
        aggregate.direct = direct;
        let of_direct = Aggregate { args: vec![], filter: None, ..aggregate.clone() };
        if let (Some(own), Some(inner)) = (lowest, crate::walk::lowest_level(&of_direct)) {
            if inner < own {
                let message = "outer-level aggregate cannot contain a lower-level variable in its direct arguments";
                return Err(PgError::new(SqlState::GROUPING_ERROR, message).at(location));
            }
        }
        aggregate.levels_up = lowest.unwrap_or(0);
        let index = self
            .levels
            .len()
            .checked_sub(1 + aggregate.levels_up)
            .ok_or_else(|| PgError::internal("aggregate level"))?;
        let clause = self.levels[index].clause;
        if let Some(message) = clause.forbids_aggregates() {
            return Err(PgError::new(SqlState::GROUPING_ERROR, message).at(location));
        }
        if aggregate.levels_up > 0 {
            return Err(PgError::not_supported("an aggregate of an outer query").at(location));
        }
        self.levels[index].has_aggregates = true;
        self.level().aggregates_seen = true;
        Ok(Expr::new(ExprKind::Aggregate(Box::new(aggregate)), ret, location))
    }

    /// As [`Analyzer::resolve_unknown`], where a value of any type may stand: that says nothing of a parameter's type.
    pub(super) fn resolve_of_any_type(&mut self, mut expr: Expr) -> Result<Expr> {
        if expr.ty == oid::UNKNOWN && matches!(expr.kind, ExprKind::Param(_)) {
            expr.ty = oid::TEXT;
            return Ok(expr);
        }
        self.resolve_unknown(expr)
    }

    /// A literal that nothing typed is text.
    pub(crate) fn resolve_unknown(&mut self, expr: Expr) -> Result<Expr> {
        if expr.ty == oid::UNKNOWN {
            return self.coerce_implicit(expr, oid::TEXT);
        }
        Ok(expr)
    }
}

/// What was written where analysis put conversions around it.
fn without_implicit_casts(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast { arg, form: CastForm::Implicit, .. } => without_implicit_casts(arg),
        _ => expr,
    }
}
