//! Functions in SQL whose body is one expression, spliced into the statement that calls them.
//!
//! Only where the result is the same as that of a call: PostgreSQL's rules (`inline_function` of its planner), and one more: a
//! body with sub-queries is called.

use super::variables::{Precedence, Variable, Variables};
use super::{Analyzer, Level, Statement};
use crate::names::STORED_PATH;
use crate::parse::NodeEnum;
use crate::routine::{Function, Language, Mode};
use crate::typed::{Expr, ExprKind, QueryBody};
use crate::volatility::volatility;
use crate::walk;
use pgsqlite_types::{oid, Datum, Oid, Result};

/// Functions that are inlined in one another, at most.
const DEEPEST: usize = 16;
/// Functions and operators that an argument may call which the body uses more than once (PostgreSQL: ten times `cpu_operator_cost`).
const CHEAP: usize = 10;
/// Nodes that inlining may make of one statement; further calls remain calls.
const MOST_NODES: usize = 20_000;

/// The parameters of a function in SQL: `$n`, `name` and `function.name`.
pub struct Parameters<'a> {
    pub function: &'a str,
    /// names and types of the input arguments
    pub arguments: Vec<(&'a str, Oid)>,
}

impl<'a> Parameters<'a> {
    /// `types`: the arguments' types at the call, where they are polymorphic.
    pub fn of(function: &'a Function, types: &[Oid]) -> Parameters<'a> {
        let arguments = function.inputs().zip(types).map(|(a, &ty)| (a.name.as_str(), ty)).collect();
        Parameters { function: &function.name, arguments }
    }

    fn at(&self, i: usize) -> Variable {
        Variable { number: i + 1, ty: self.arguments[i].1, typmod: -1 }
    }
}

impl Variables for Parameters<'_> {
    fn find(&self, names: &[&str]) -> Result<Option<(Variable, usize)>> {
        let place = |name: &str| self.arguments.iter().position(|(n, _)| !n.is_empty() && *n == name);
        Ok(match names {
            [function, name, ..] if *function == self.function && place(name).is_some() => {
                place(name).map(|i| (self.at(i), 2))
            }
            [name, ..] => place(name).map(|i| (self.at(i), 1)),
            [] => None,
        })
    }
    fn parameter(&self, n: usize) -> Result<Option<Variable>> {
        Ok((n >= 1 && n <= self.arguments.len()).then(|| self.at(n - 1)))
    }
    fn fields(&self, _names: &[&str]) -> Result<Option<Vec<(String, Variable)>>> {
        Ok(None)
    }
    fn precedence(&self) -> Precedence {
        Precedence::Columns
    }
}

impl Analyzer<'_> {
    /// The expression that a call of the function stands for; None: it is to be called.
    pub(super) fn inlined(&mut self, function: &Function, args: &[Expr], ret: Oid, location: i32) -> Option<Expr> {
        let plain = self.inlining
            && function.language == Language::Sql
            && !function.procedure
            && !function.returns_set
            && !function.strict
            && !function.security_definer
            && function.settings.is_empty()
            && (self.env.settings.standard_conforming_strings || !crate::escapes::depends(&function.source))
            && !function.outputs().any(|_| true)
            && !matches!(ret, oid::VOID | oid::RECORD)
            && self.env.catalog.composite_fields(ret).is_none()
            && !self.splicing.contains(&function.oid)
            && self.splicing.len() < DEEPEST
            && self.spliced.get() < MOST_NODES;
        if !plain || args.len() != function.inputs().count() {
            return None;
        }
        let types: Vec<Oid> = args.iter().map(|a| a.ty).collect();
        let parameters = Parameters::of(function, &types);
        let body = super::sql_body(function).ok()?;
        let [statement] = &body[..] else { return None };
        let NodeEnum::SelectStmt(select) = statement else { return None };
        let nothing_else = select.from_clause.is_empty()
            && select.where_clause.is_none()
            && select.group_clause.is_empty()
            && select.having_clause.is_none()
            && select.window_clause.is_empty()
            && select.values_lists.is_empty()
            && select.sort_clause.is_empty()
            && select.limit_count.is_none()
            && select.limit_offset.is_none()
            && select.with_clause.is_none()
            && select.distinct_clause.is_empty()
            && select.into_clause.is_none()
            && select.larg.is_none()
            && select.target_list.len() == 1;
        if !nothing_else {
            return None;
        }
        // a body that is a string is read along the path of whoever calls it
        let search_path = if function.qualified { STORED_PATH } else { self.session_path };
        let environment = super::Environment { search_path, ..self.env };
        let mut inner = Analyzer::new(&environment, &[], false);
        inner.session_path = self.session_path;
        inner.variables = Some(&parameters);
        inner.inlining = true;
        // (the body's text is the function's, and is run by who calls it)
        inner.written = true;
        inner.spliced = self.spliced.clone();
        self.spliced.set(self.spliced.get() + 1);
        inner.splicing = self.splicing.iter().copied().chain([function.oid]).collect();
        let Statement::Query(query) = inner.statement(statement).ok()? else { return None };
        let QueryBody::Select(select) = query.body else { return None };
        let [target] = &select.targets[..] else { return None };
        let called = |e: &Expr| {
            matches!(
                e.kind,
                ExprKind::SubLink { .. } | ExprKind::Aggregate(_) | ExprKind::Window { .. } | ExprKind::SetFunc { .. }
            )
        };
        if walk::any(&target.expr, &called) {
            return None;
        }
        // the result's type as the function's end converts it
        inner.levels.push(Level::new());
        let body = inner.coerce_assignment(target.expr.clone(), ret, -1, "").ok()?;
        // what the body does may not be more volatile than what is declared
        if volatility(self.env.catalog, &body).0 > function.volatility {
            return None;
        }
        let mut uses = vec![0usize; args.len()];
        walk::deep(&body, 0, &mut |_, e| {
            if let ExprKind::Param(n) = e.kind {
                uses[n - 1] += 1;
            }
        });
        let costly = |e: &Expr| {
            calls(e) > CHEAP
                || volatility(self.env.catalog, e).0 == b'v'
                || walk::any(e, &|e| matches!(e.kind, ExprKind::SubLink { .. } | ExprKind::SetFunc { .. }))
        };
        // an argument that is not used would not be evaluated; one that is used twice would be so twice
        if args.iter().zip(&uses).any(|(a, &n)| n != 1 && costly(a)) {
            return None;
        }
        let made = nodes(&body) + args.iter().zip(&uses).map(|(a, &n)| n.saturating_mul(nodes(a))).sum::<usize>();
        self.spliced.set(self.spliced.get().saturating_add(made));
        if self.spliced.get() > MOST_NODES {
            return None;
        }
        let mut out = walk::map(&body, &mut |e| match e.kind {
            ExprKind::Param(n) => Some(args[n - 1].clone()),
            _ => None,
        });
        out.location = location;
        Some(out)
    }
}

/// The functions and operators that an expression calls.
fn calls(e: &Expr) -> usize {
    let mut found = 0;
    walk::deep(e, 0, &mut |_, e| {
        found += usize::from(matches!(e.kind, ExprKind::Func { .. } | ExprKind::Op { .. } | ExprKind::Cast { .. }));
    });
    found
}

fn nodes(e: &Expr) -> usize {
    let mut found = 0;
    walk::deep(e, 0, &mut |_, _| found += 1);
    found
}

/// `SELECT $1` converted from one type to another as an assignment in a function's body does it: by a cast that assignments may
/// use or else, with `by_text`, through the types' text forms. None: there is no way.
pub fn conversion(
    environment: &super::Environment,
    source: Oid,
    target: Oid,
    typmod: i32,
    by_text: bool,
) -> Result<Option<crate::typed::Query>> {
    use crate::builtins::catalog::CastContext;
    use crate::typed::{CastForm, CastMethod, Query, Select, Target};
    let mut analyzer = Analyzer::new(environment, &[source], false);
    analyzer.levels.push(Level::new());
    let value = Expr::new(ExprKind::Param(1), source, -1);
    let converted =
        match analyzer.try_coerce(value.clone(), target, typmod, CastContext::Assignment, CastForm::Assignment)? {
            Some(expr) => expr,
            None if by_text => {
                let text = Expr {
                    kind: ExprKind::Cast {
                        arg: Box::new(value),
                        method: CastMethod::InOut,
                        form: CastForm::Assignment,
                    },
                    ..Expr::new(ExprKind::Default, oid::TEXT, -1)
                };
                let text = if matches!(source, oid::TEXT | oid::VARCHAR) {
                    Expr::new(ExprKind::Param(1), oid::TEXT, -1)
                } else {
                    text
                };
                analyzer.coerce_explicit(text, target, typmod, -1)?
            }
            None => return Ok(None),
        };
    let column = super::plain_column("value", target, typmod);
    let select = Select {
        targets: vec![Target { expr: converted, name: "value".into(), origin: (0, 0) }],
        ..Default::default()
    };
    Ok(Some(Query::new(QueryBody::Select(select), vec![column])))
}

/// `$base` with the element (or part) that `subscripts` names replaced by the value of an expression: an assignment to part of a
/// variable. `subscripts`: as written, `[1][i + 1]`.
pub fn part_assignment(
    environment: &super::Environment,
    variables: &dyn Variables,
    base: Variable,
    subscripts: &str,
    value: &str,
    name: &str,
) -> Result<crate::typed::Query> {
    use crate::typed::{Query, Select, Target};
    let place = super::parse_expression(&format!("x{subscripts}"))?;
    let Some(NodeEnum::AIndirection(place)) = &place.node else {
        return Err(pgsqlite_types::PgError::new(
            pgsqlite_types::SqlState::SYNTAX_ERROR,
            format!("syntax error at or near \"{subscripts}\""),
        ));
    };
    // (a literal alone takes the type of the part; as a sub-query's column it would be text)
    let literal = super::parse_expression(value).ok().filter(|v| matches!(v.node, Some(NodeEnum::AConst(_))));
    let value = match literal {
        Some(literal) => literal,
        None => super::parse_expression(&format!("(SELECT {value})"))?,
    };
    let mut analyzer = Analyzer::new(environment, &[], false);
    analyzer.variables = Some(variables);
    analyzer.levels.push(Level::new());
    let value = analyzer.expr(&value)?;
    let expr = analyzer.assign_part(base.expr(-1), &place.indirection, value, name, -1)?;
    // the whole has to be a value of the variable's domain
    let expr = analyzer.coerce_assignment(expr, base.ty, base.typmod, name)?;
    let column = super::plain_column("value", base.ty, base.typmod);
    let select = Select { targets: vec![Target { expr, name: "value".into(), origin: (0, 0) }], ..Default::default() };
    Ok(Query::new(QueryBody::Select(select), vec![column]))
}

/// CALL: the procedure, the query of one row that gives its arguments, and the types of its parameters: those of `variables`,
/// or (outside a function) given and inferred as in [`super::analyze`].
pub fn analyze_call(
    environment: &super::Environment,
    call: &crate::parse::ast::FuncCall,
    variables: Option<&dyn Variables>,
    parameter_types: &[Oid],
) -> Result<(Oid, crate::typed::Query, Vec<Oid>)> {
    use crate::typed::{Query, Select, Target};
    use pgsqlite_types::{PgError, SqlState};
    for node in call.args.iter().filter_map(|arg| arg.node.as_ref()) {
        let sub_query = node.nodes().into_iter().find_map(|(n, ..)| match n {
            pg_query::NodeRef::SubLink(s) => Some(s.location),
            _ => None,
        });
        if let Some(location) = sub_query {
            let message = "cannot use subquery in CALL argument";
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(location));
        }
    }
    let mut analyzer = Analyzer::new(environment, parameter_types, variables.is_none());
    analyzer.variables = variables;
    analyzer.calling = true;
    analyzer.levels.push(Level::new());
    let expr = analyzer.function_call(call)?;
    let (procedure, args) = match expr.kind {
        ExprKind::Func { proc, args, .. } if environment.catalog.proc(proc).is_some_and(|p| p.kind == b'p') => {
            (proc, args)
        }
        _ => {
            let name = super::typename::name_parts(&call.funcname).join(".");
            return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("{name}() is not a procedure"))
                .hint("To call a function, use SELECT.")
                .at(call.location));
        }
    };
    let mut columns = Vec::new();
    let mut targets = Vec::new();
    let modes: Vec<Mode> =
        environment.catalog.function(procedure).map_or(vec![], |f| f.arguments.iter().map(|a| a.mode).collect());
    for (i, expr) in args.into_iter().enumerate() {
        let mut expr = analyzer.resolve_unknown(expr)?;
        if modes.get(i) == Some(&Mode::Out) {
            // what stands in the place of an output is not evaluated
            expr.kind = ExprKind::Const(Datum::Null);
        }
        let name = format!("a{}", i + 1);
        columns.push(super::plain_column(&name, expr.ty, expr.typmod));
        targets.push(Target { expr, name, origin: (0, 0) });
    }
    let select = Select { targets, ..Default::default() };
    let query = Query::new(QueryBody::Select(select), columns);
    let parameters = analyzer.finish_parameters()?;
    Ok((procedure, query, parameters))
}
