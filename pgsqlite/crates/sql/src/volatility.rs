//! How often an expression may be computed: which functions its nodes call, and whether their values differ from call to call.

use crate::builtins::catalog::{operator_by_oid, proc_by_oid};
use crate::catalog::Catalog;
use crate::sql_json::SqlJson;
use crate::typed::{CastForm, CastMethod, Expr, ExprKind, OperatorRef, SubLinkKind};
use crate::walk;
use pgsqlite_types::{oid, Oid};

/// nextval(regclass)
pub(crate) const NEXTVAL: Oid = 1574;

/// The functions that a node calls by itself (those of its operators, too), without those of what is below it. Aggregates and window
/// functions, which are computed over rows, are not among them.
pub(crate) fn called(expr: &Expr, see: &mut impl FnMut(Oid)) {
    match &expr.kind {
        ExprKind::Func { proc, .. } | ExprKind::SetFunc { proc, .. } => see(*proc),
        ExprKind::NextRow(_) => see(NEXTVAL),
        ExprKind::Op { op, .. } | ExprKind::Distinct { op, .. } | ExprKind::InList { op, .. } => see(op.proc),
        ExprKind::ArrayCompare { op, .. } | ExprKind::NullIf { op, .. } => see(op.proc),
        ExprKind::Cast { method: CastMethod::Function(proc), .. } => see(*proc),
        ExprKind::RowCompare { operators, .. } => operators.iter().for_each(|op| see(op.proc)),
        ExprKind::SubLink { kind, .. } => match kind {
            SubLinkKind::Quantified { operators, .. } | SubLinkKind::RowCompare { operators, .. } => {
                operators.iter().for_each(|op| see(op.proc))
            }
            SubLinkKind::Scalar | SubLinkKind::Array | SubLinkKind::Exists => {}
        },
        _ => {}
    }
}

/// The volatility of an expression with its sub-queries, that of its most volatile function (`i`, `s` or `v`), and where it calls a
/// function that a user has made.
pub fn volatility(catalog: &Catalog, expr: &Expr) -> (u8, Option<i32>) {
    let mut worst = b'i';
    let mut made = None;
    walk::deep(expr, 0, &mut |_, e| {
        called(e, &mut |proc| {
            // 'i' < 's' < 'v'
            worst = worst.max(catalog.proc(proc).map_or(b'v', |p| p.volatility));
            if proc >= oid::FIRST_USER_OID {
                made.get_or_insert(e.location);
            }
        });
        if let ExprKind::SqlJson { form, args } = &e.kind {
            worst = worst.max(sql_json_volatility(catalog, form, args));
        }
        if let ExprKind::Cast { method: CastMethod::InOut, arg, .. } = &e.kind {
            worst = worst.max(written_as(catalog, arg.ty, |t| t.output)).max(written_as(catalog, e.ty, |t| t.input));
        }
    });
    (worst, made)
}

/// What an expression of SQL/JSON depends on besides its arguments: on settings and catalogs, unless the values are written in one way only.
fn sql_json_volatility(catalog: &Catalog, form: &SqlJson, args: &[Expr]) -> u8 {
    let steady = |ty: Oid| {
        let base = catalog.base_type(ty);
        let numbers = matches!(base, oid::BOOL | oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC | oid::UNKNOWN);
        let string = pgsqlite_types::catalog::by_oid(base).is_some_and(|t| t.category == b'S');
        base == ty && (numbers || string || matches!(base, oid::JSON | oid::JSONB | oid::BYTEA))
    };
    let constant = |path: &Expr| match &path.kind {
        ExprKind::Const(pgsqlite_types::Datum::Text(text)) => {
            pgsqlite_types::jsonpath::parse(text).is_ok_and(|path| !path.uses_times())
        }
        _ => false,
    };
    let is_steady = match form {
        SqlJson::Path(call) => {
            let passed = call.passing.types.iter().all(|ty| steady(*ty));
            steady(call.evaluation.ty) && passed && args.get(1).is_some_and(constant)
        }
        SqlJson::Table(_) => false,
        _ => args.iter().all(|a| steady(a.ty)),
    };
    if is_steady {
        b'i'
    } else {
        b's'
    }
}

/// The functions that an expression calls which a user has made.
pub fn made_functions(expr: &Expr) -> Vec<Oid> {
    let mut made = Vec::new();
    walk::deep(expr, 0, &mut |_, e| {
        called(e, &mut |proc| {
            if proc >= oid::FIRST_USER_OID && !made.contains(&proc) {
                made.push(proc);
            }
        });
    });
    made
}

/// The volatility of the function that writes or reads a type's text form: that of dates depends on a setting, that of enums and arrays
/// on catalogs.
fn written_as(catalog: &Catalog, ty: Oid, function: impl Fn(&pgsqlite_types::catalog::PgType) -> Oid) -> u8 {
    match pgsqlite_types::catalog::by_oid(catalog.base_type(ty)) {
        Some(t) => proc_by_oid(function(t)).map_or(b's', |p| p.volatility),
        None => b's',
    }
}

/// Whether a node calls a function whose value may differ each time, as the function is declared.
pub(crate) fn is_volatile(catalog: &Catalog, expr: &Expr) -> bool {
    let mut found = false;
    called(expr, &mut |proc| found |= catalog.proc(proc).is_none_or(|p| p.volatility == b'v'));
    found
}

/// Whether a node calls a function of PostgreSQL's own whose value may differ each time.
pub(crate) fn calls_volatile_builtin(expr: &Expr) -> bool {
    let mut found = false;
    called(expr, &mut |proc| found |= proc_by_oid(proc).is_some_and(|p| p.volatility == b'v'));
    found
}

/// Whether it can be told how often a node is computed: it calls a volatile function, or one of the user, which may tell of
/// itself (RAISE) whatever it is declared to be.
pub(crate) fn shows_calls(expr: &Expr) -> bool {
    let mut found = false;
    called(expr, &mut |proc| found |= proc_by_oid(proc).is_none_or(|p| p.volatility == b'v'));
    found
}

/// As [`shows_calls`], but a constructor of a range type tells nothing of itself.
pub(crate) fn shows_calls_in(catalog: &Catalog, expr: &Expr) -> bool {
    let mut found = false;
    called(expr, &mut |proc| {
        found |= match proc_by_oid(proc) {
            Some(p) => p.volatility == b'v',
            None => !catalog.range_constructors.contains_key(&proc),
        }
    });
    found
}

/// Whether an expression may be written twice: nothing in it or in its sub-queries shows how often it is computed.
pub(crate) fn is_repeatable(expr: &Expr) -> bool {
    let mut repeatable = true;
    walk::deep(expr, 0, &mut |_, e| repeatable &= !shows_calls(e));
    repeatable
}

/// Whether two computations of an expression for the same row may have different values, or be noticed: one that is needed in several places
/// is computed once. An aggregate or a window function has one value for its row, whatever it is computed of. `check_shows`: whether a domain's
/// constraints do as [`shows_calls`].
pub(crate) fn is_computed_anew(expr: &Expr, check_shows: &dyn Fn(Oid) -> bool) -> bool {
    let mut found = match &expr.kind {
        ExprKind::Cast { method: CastMethod::Domain, .. } if check_shows(expr.ty) => true,
        ExprKind::Aggregate(_) | ExprKind::Window { .. } => return false,
        ExprKind::SubLink { .. } => !is_repeatable(expr),
        _ => shows_calls(expr),
    };
    walk::children(expr, &mut |child| found |= is_computed_anew(child, check_shows), &mut |_| {});
    found
}

/// What an expression was before it was converted for what is around it, after the expression itself.
fn conversions(expr: &Expr) -> Vec<&Expr> {
    let mut found = vec![expr];
    while let Some(Expr { kind: ExprKind::Cast { arg, form: CastForm::Implicit, .. }, .. }) = found.last() {
        found.push(arg);
    }
    found
}

/// The two sides of a condition of `CASE operand WHEN value …`, and its operator. The comparison is where its value is written. None: the
/// condition was written as such, or nothing says where it was written.
pub(crate) fn sides_of_case(condition: &Expr) -> Option<(&OperatorRef, &Expr, &Expr)> {
    let ExprKind::Op { op, args } = &condition.kind else { return None };
    let [operand, value] = &args[..] else { return None };
    // (the pattern of SIMILAR TO and of LIKE with ESCAPE is a call that is written where the operator is)
    if operator_by_oid(op.oid).is_some_and(|o| o.name != "=") {
        return None;
    }
    let at_value = condition.location >= 0 && conversions(value).iter().any(|e| e.location == condition.location);
    at_value.then_some((op, operand, value))
}

/// The operand that each condition of `CASE operand WHEN value …` compares. It is written once, so that it has one place. None: the
/// conditions were written one by one.
pub(crate) fn operand_of_case(whens: &[(Expr, Expr)]) -> Option<&Expr> {
    let sides = |condition| sides_of_case(condition).map(|(_, operand, _)| operand);
    let operand = operand_of_all(whens, sides)?;
    (operand.location >= 0).then_some(operand)
}

/// As [`operand_of_case`], also where nothing says what was written where (in a column's default): the same operand in each condition is taken
/// for one that was written once.
pub(crate) fn likely_operand_of_case(whens: &[(Expr, Expr)]) -> Option<&Expr> {
    operand_of_all(whens, |condition| match &condition.kind {
        ExprKind::Op { args, .. } if args.len() == 2 && condition.location < 0 => args.first(),
        _ => sides_of_case(condition).map(|(_, operand, _)| operand),
    })
}

fn operand_of_all<'e>(whens: &'e [(Expr, Expr)], side: impl Fn(&'e Expr) -> Option<&'e Expr>) -> Option<&'e Expr> {
    let compared = |condition: &'e Expr| side(condition).map_or(vec![], conversions);
    let [(first, _), others @ ..] = whens else { return None };
    compared(first).into_iter().rev().find(|operand| {
        let same = |e: &&Expr| e.location == operand.location && e == operand;
        others.iter().all(|(condition, _)| compared(condition).iter().any(same))
    })
}
