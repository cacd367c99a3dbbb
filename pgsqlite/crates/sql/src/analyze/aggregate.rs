//! The functions that an aggregate of the user is made of: found by name when it is created, called one by one when it computes.

use super::{plain_column, Analyzer, Environment, Level};
use crate::builtins::catalog::{CastContext, Proc};
use crate::parse::ast;
use crate::typed::{Expr, ExprKind, Query, QueryBody, Select, Target};
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// A function that an aggregate calls.
pub struct SupportFunction {
    pub proc: Oid,
    /// the type of its result; polymorphic where that follows from polymorphic arguments
    pub result: Oid,
    pub strict: bool,
}

/// The function of this name that takes arguments of these types as they are (polymorphic types stand for themselves).
/// `variadic_any`: the last argument stands for any number of arguments. Errors: 42883 there is none; 42804 it gives a set, or
/// would need a conversion at run time.
pub fn support_function(
    environment: &Environment,
    name: &[&str],
    types: &[Oid],
    variadic_any: bool,
) -> Result<SupportFunction> {
    let analyzer = Analyzer::new(environment, &[], false);
    let (schema, own) = super::qualified_name(environment.catalog, name)?;
    let shown = || analyzer.signature(&name.join("."), types);
    // (a VARIADIC array is given as such)
    let expands = |p: &&Proc| p.variadic != 0 && p.variadic != oid::ANY;
    let (arrays, plain): (Vec<&Proc>, Vec<&Proc>) =
        analyzer.functions_named(schema, own).into_iter().partition(expands);
    let found = [(plain, false), (arrays, true)].into_iter().find_map(|(candidates, explicit)| {
        analyzer.resolve_function(&candidates, types, explicit)?.ok().filter(|f| f.proc.kind == b'f')
    });
    let Some(found) = found else {
        let message = format!("function {} does not exist", shown());
        return Err(PgError::new(SqlState::UNDEFINED_FUNCTION, message));
    };
    let wrong = |message: String| PgError::new(SqlState::DATATYPE_MISMATCH, message);
    if found.proc.retset {
        return Err(wrong(format!("function {} returns a set", shown())));
    }
    if variadic_any && found.proc.variadic != oid::ANY {
        return Err(wrong(format!("function {} must accept VARIADIC ANY to be used in this aggregate", shown())));
    }
    for (&given, &declared) in types.iter().zip(&found.args) {
        if !analyzer.is_binary_coercible(given, declared) {
            let signature = analyzer.signature(&name.join("."), &found.proc.args);
            return Err(wrong(format!("function {signature} requires run-time type coercion")));
        }
    }
    if let Some(routine) = environment.catalog.routines.get(&found.proc.oid) {
        analyzer.check_execute(&routine.function)?;
    }
    Ok(SupportFunction { proc: found.proc.oid, result: found.ret, strict: found.proc.strict })
}

/// 42501 unless the role may execute the function.
pub fn call_target(environment: &Environment, proc: Oid) -> Result<()> {
    match environment.catalog.routines.get(&proc) {
        Some(routine) => Analyzer::new(environment, &[], false).check_execute(&routine.function),
        None => Ok(()),
    }
}

/// `SELECT function($1, $2 …)` over parameters of these (concrete) types.
pub fn call_query(environment: &Environment, proc: Oid, types: &[Oid], result: Oid) -> Result<Query> {
    let mut analyzer = Analyzer::new(environment, types, false);
    analyzer.inlining = true;
    analyzer.levels.push(Level::new());
    let proc: &Proc =
        environment.catalog.proc(proc).ok_or_else(|| PgError::internal("an aggregate without function"))?;
    let declared = match proc.args.get(..types.len()) {
        Some(declared) => declared.to_vec(),
        None => {
            let mut declared = proc.args.clone();
            declared.resize(types.len(), proc.variadic);
            declared
        }
    };
    let (declared, _) = analyzer
        .resolve_polymorphic(&declared, types, proc.ret)
        .ok_or_else(|| PgError::internal("an aggregate's function does not take its arguments"))?;
    let mut args = Vec::with_capacity(types.len());
    for (i, (&ty, &target)) in types.iter().zip(&declared).enumerate() {
        args.push(analyzer.coerce_implicit(Expr::new(ExprKind::Param(i + 1), ty, -1), target)?);
    }
    let call = ast::FuncCall { location: -1, ..Default::default() };
    if environment.catalog.function(proc.oid).is_none() && crate::builtins::imp::imp(proc.oid).is_none() {
        return Err(PgError::not_supported(format!("function {}", analyzer.proc_signature(proc))));
    }
    let expr = analyzer.plain_call(proc, args, result, &call, false)?;
    let select = Select { targets: vec![Target { expr, name: "value".into(), origin: (0, 0) }], ..Default::default() };
    Ok(Query::new(QueryBody::Select(select), vec![plain_column("value", result, -1)]))
}

/// Whether a value of the one type is one of the other without any conversion.
pub fn same_storage(environment: &Environment, source: Oid, target: Oid) -> bool {
    Analyzer::new(environment, &[], false).is_binary_coercible(source, target)
}

impl Analyzer<'_> {
    /// Whether a value of the one type is one of the other without any conversion; a polymorphic type takes what fits it.
    pub(crate) fn is_binary_coercible(&self, source: Oid, target: Oid) -> bool {
        if source == target || matches!(target, oid::ANY | oid::ANYELEMENT | oid::ANYCOMPATIBLE) {
            return true;
        }
        let pseudo = pgsqlite_types::catalog::by_oid(target).is_some_and(|t| t.kind == b'p');
        if pseudo {
            return self.can_coerce(source, target, CastContext::Implicit);
        }
        matches!(self.cast_path(source, target, CastContext::Implicit), Some(crate::typed::CastMethod::Relabel))
    }
}
