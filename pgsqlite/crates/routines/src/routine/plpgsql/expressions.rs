//! The SQL in a body: planned when it runs for the first time, with the variables that it names as parameters.

use super::super::statement::{Column, Done, Planned, Rows};
use super::super::{add_context, of_query};
use super::run::Frame;
use super::variable_values::{Shape, Typed};
use super::{Kind, Value};
use crate::cursor_position::CursorPosition;
use pgsqlite_sql::analyze::find_relation;
use pgsqlite_sql::analyze::inline::{analyze_call, part_assignment};
use pgsqlite_sql::analyze::variables::{Precedence, Variable, Variables};
use pgsqlite_sql::effects::TRIGGER_VARIABLES;
use pgsqlite_sql::parse::{is_query, parse, NodeEnum, RawStatement};
use pgsqlite_sql::plpgsql::{Conflict, Sql, Target};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::cell::RefCell;
use std::rc::Rc;

/// What a parameter of a statement is taken from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    Variable(usize),
    Field(usize, usize),
}

/// A planned statement or expression of a body.
pub(super) struct Expression {
    pub planned: Planned,
    sources: Vec<Source>,
    /// rows whose shape the plan relies on; None: that they have none
    shapes: Vec<(usize, Option<Rc<Shape>>)>,
    /// of a cursor's query that gives the numbers of its rows, too
    pub position: Option<CursorPosition>,
}

/// What a piece of SQL in a body follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// it is a statement
    Nothing,
    /// it is an expression
    Select,
    /// PERFORM, which stands for SELECT
    Perform,
}

/// The names that a piece of SQL sees.
struct Scope<'f, 'h> {
    frame: &'f Frame<'h>,
    names: usize,
    sources: RefCell<Vec<(Source, Oid)>>,
    shapes: RefCell<Vec<(usize, Option<Rc<Shape>>)>>,
}

impl Scope<'_, '_> {
    fn number(&self, source: Source, ty: Oid) -> usize {
        let mut sources = self.sources.borrow_mut();
        if let Some(i) = sources.iter().position(|(s, _)| *s == source) {
            return i + 1;
        }
        sources.push((source, ty));
        sources.len()
    }

    fn note_shape(&self, variable: usize, shape: Option<&Rc<Shape>>) {
        let mut shapes = self.shapes.borrow_mut();
        if !shapes.iter().any(|(v, _)| *v == variable) {
            shapes.push((variable, shape.cloned()));
        }
    }

    fn whole(&self, variable: usize) -> Variable {
        match &self.frame.program.kinds[variable] {
            // the subject of CASE
            Kind::Scalar { ty: 0, .. } => {
                let ty = self.frame.hidden.get(&variable).copied().unwrap_or(oid::TEXT);
                Variable { number: self.number(Source::Variable(variable), ty), ty, typmod: -1 }
            }
            Kind::Scalar { ty, typmod } => {
                Variable { number: self.number(Source::Variable(variable), *ty), ty: *ty, typmod: *typmod }
            }
            Kind::Record(declared) => {
                let ty = match &self.frame.values[variable] {
                    Value::Row(Some(row)) => {
                        self.note_shape(variable, Some(&row.shape));
                        row.shape.ty
                    }
                    _ => match (declared, self.frame.absent_row(variable)) {
                        (Some(declared), _) => *declared,
                        (None, absent) => {
                            self.note_shape(variable, absent);
                            absent.map_or(oid::RECORD, |shape| shape.ty)
                        }
                    },
                };
                Variable { number: self.number(Source::Variable(variable), ty), ty, typmod: -1 }
            }
        }
    }

    fn field(&self, variable: usize, name: &str) -> Result<Variable> {
        let shape = self.frame.known_shape(variable)?;
        self.note_shape(variable, Some(&shape));
        let (i, ty, typmod) = self.frame.field_of(variable, name)?;
        // an untyped literal in a ROW is still untyped as a field
        let ty = if ty == oid::UNKNOWN { oid::TEXT } else { ty };
        Ok(Variable { number: self.number(Source::Field(variable, i), ty), ty, typmod })
    }
}

impl Variables for Scope<'_, '_> {
    fn find(&self, names: &[&str]) -> Result<Option<(Variable, usize)>> {
        let Some((variable, used)) = self.frame.program.body.look_up(self.names, names) else { return Ok(None) };
        match &names[used..] {
            [] => Ok(Some((self.whole(variable), used))),
            [field, ..] if matches!(self.frame.program.kinds[variable], Kind::Record(_)) => {
                Ok(Some((self.field(variable, field)?, used + 1)))
            }
            _ => Ok(None),
        }
    }

    fn parameter(&self, n: usize) -> Result<Option<Variable>> {
        let name = format!("${n}");
        Ok(self.frame.program.body.look_up(self.names, &[&name]).map(|(v, _)| self.whole(v)))
    }

    fn fields(&self, names: &[&str]) -> Result<Option<Vec<(String, Variable)>>> {
        let Some((variable, used)) = self.frame.program.body.look_up(self.names, names) else { return Ok(None) };
        if used != names.len() || !matches!(self.frame.program.kinds[variable], Kind::Record(_)) {
            return Ok(None);
        }
        let shape = self.frame.known_shape(variable)?;
        let mut out = Vec::new();
        for (name, _, _) in &shape.fields {
            out.push((name.clone(), self.field(variable, name)?));
        }
        Ok(Some(out))
    }

    fn counts_from_zero(&self, names: &[&str]) -> bool {
        names == ["tg_argv"]
            && self.frame.program.is_trigger()
            && matches!(self.frame.program.body.look_up(self.names, names), Some((v, 1)) if v <= TRIGGER_VARIABLES.len())
    }

    fn precedence(&self) -> Precedence {
        match self.frame.program.body.conflict {
            Conflict::Error => Precedence::Error,
            Conflict::UseVariable => Precedence::Variables,
            Conflict::UseColumn => Precedence::Columns,
        }
    }
}

/// Parameters of EXECUTE … USING: `$n` alone.
pub(in crate::routine) struct Using<'u> {
    pub types: &'u [Oid],
}

impl Variables for Using<'_> {
    fn find(&self, _names: &[&str]) -> Result<Option<(Variable, usize)>> {
        Ok(None)
    }
    fn parameter(&self, n: usize) -> Result<Option<Variable>> {
        Ok(n.checked_sub(1).and_then(|i| self.types.get(i)).map(|&ty| Variable { number: n, ty, typmod: -1 }))
    }
    fn fields(&self, _names: &[&str]) -> Result<Option<Vec<(String, Variable)>>> {
        Ok(None)
    }
    fn precedence(&self) -> Precedence {
        Precedence::Columns
    }
}

/// The one statement of a text.
pub(super) fn one_statement(text: &str) -> Result<RawStatement> {
    let mut statements = parse(text)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(PgError::new(SqlState::SYNTAX_ERROR, "one statement expected")),
    }
}

impl<'h> Frame<'h> {
    /// The plan of a piece of SQL. `expression`: the text follows SELECT.
    pub(super) fn planned(&self, sql: &Sql, expression: bool) -> Result<Rc<Expression>> {
        self.planned_as(sql, if expression { Follows::Select } else { Follows::Nothing })
    }

    fn planned_as(&self, sql: &Sql, follows: Follows) -> Result<Rc<Expression>> {
        let expression = follows != Follows::Nothing;
        if let Some(found) = &self.program.plans.borrow()[sql.id] {
            if self.fits(found) {
                return Ok(found.clone());
            }
        }
        let context = |e: PgError| {
            if follows == Follows::Perform {
                let shown = format!("SELECT {}", sql.text);
                let line = format!("SQL statement \"{shown}\"");
                return of_query(e, &shown, 0, line);
            }
            let word = match expression {
                true if !sql.lead.is_empty() => "PL/pgSQL assignment",
                true => "SQL expression",
                false => "SQL statement",
            };
            let shown = format!("{}{}", sql.lead, sql.text);
            let shift = if expression { sql.lead.len() as i64 - 7 } else { 0 };
            let line = format!("{word} \"{shown}\"");
            of_query(e, &shown, shift, line)
        };
        let text = if expression { format!("SELECT {}", sql.text) } else { sql.text.clone() };
        let node = one_statement(&text).map_err(context)?.node;
        let planned = self.plan_node(&node, sql.names).map_err(context)?;
        let planned = Rc::new(planned);
        self.program.plans.borrow_mut()[sql.id] = Some(planned.clone());
        Ok(planned)
    }

    /// The plan of a cursor's query. It reads the numbers of its rows, too, if these are rows of tables.
    pub(super) fn planned_cursor(&self, sql: &Sql) -> Result<Rc<Expression>> {
        if let Some(found) = &self.program.plans.borrow()[sql.id] {
            if self.fits(found) {
                return Ok(found.clone());
            }
        }
        let extended = match one_statement(&sql.text) {
            Ok(statement) => self.position_of(&statement.node)?,
            Err(_) => None,
        };
        let Some((position, node)) = extended else { return self.planned(sql, false) };
        let planned = match self.plan_node(&node, sql.names) {
            Ok(expression) => Rc::new(Expression { position: Some(position), ..expression }),
            Err(refused) => {
                // (an error is told of the query as it is written)
                let plain = self.planned(sql, false)?;
                let Some(position) = CursorPosition::without_numbers(refused)? else { return Ok(plain) };
                let expression = self.plan_node(&one_statement(&sql.text)?.node, sql.names)?;
                Rc::new(Expression { position: Some(position), ..expression })
            }
        };
        self.program.plans.borrow_mut()[sql.id] = Some(planned.clone());
        Ok(planned)
    }

    /// The tables of a cursor's query and the query with the numbers of their rows; None: its rows are not those of tables.
    pub(super) fn position_of(&self, node: &NodeEnum) -> Result<Option<(CursorPosition, NodeEnum)>> {
        let NodeEnum::SelectStmt(select) = node else { return Ok(None) };
        let found = self.host.with_environment(|environment| {
            CursorPosition::of(select, |schema, name| Ok(find_relation(environment, schema, name)))
        })?;
        Ok(found.map(|(position, select)| (position, NodeEnum::SelectStmt(Box::new(select)))))
    }

    pub(super) fn plan_node(&self, node: &NodeEnum, names: usize) -> Result<Expression> {
        let scope = Scope { frame: self, names, sources: RefCell::default(), shapes: RefCell::default() };
        let planned =
            Planned::new(self.host, node, &scope, || scope.sources.borrow().iter().map(|(_, ty)| *ty).collect())?;
        let sources = scope.sources.into_inner().into_iter().map(|(s, _)| s).collect();
        Ok(Expression { planned, sources, shapes: scope.shapes.into_inner(), position: None })
    }

    /// The value of a variable (or field) with one part of it replaced.
    pub(super) fn part_value(&self, target: &Target, value: &Sql) -> Result<Typed> {
        let scope = Scope { frame: self, names: value.names, sources: RefCell::default(), shapes: RefCell::default() };
        let name = self.program.body.variables[target.variable].name.clone();
        let base = match &target.fields[..] {
            [] => scope.whole(target.variable),
            [field] => scope.field(target.variable, field)?,
            _ => return Err(PgError::not_supported("an assignment to a part of a field of a field")),
        };
        // planned anew each time only if its names have changed meanwhile
        let kept = self.program.plans.borrow()[value.id].clone().filter(|found| self.fits(found));
        let expression = match kept {
            Some(found) => found,
            None => {
                let query = self
                    .host
                    .with_environment(|e| part_assignment(e, &scope, base, &target.subscripts, &value.text, &name))?;
                let types = scope.sources.borrow().iter().map(|(_, ty)| *ty).collect();
                let planned = Planned::of_query(self.host, query, types)?;
                let sources = scope.sources.take().into_iter().map(|(s, _)| s).collect();
                let made = Rc::new(Expression { planned, sources, shapes: scope.shapes.take(), position: None });
                self.program.plans.borrow_mut()[value.id] = Some(made.clone());
                made
            }
        };
        let parameters = self.parameters(&expression);
        let mut rows = expression.planned.rows(self.host, &parameters)?;
        let value = rows.pop().and_then(|r| r.into_iter().next()).unwrap_or_default();
        Ok(Typed { value, ty: base.ty })
    }

    /// The procedure of CALL, and the query of its arguments.
    pub(super) fn plan_call(
        &self,
        call: &pgsqlite_sql::parse::ast::FuncCall,
        names: usize,
    ) -> Result<(Oid, Expression)> {
        let scope = Scope { frame: self, names, sources: RefCell::default(), shapes: RefCell::default() };
        let (procedure, query, _) = self.host.with_environment(|e| analyze_call(e, call, Some(&scope), &[]))?;
        let types = scope.sources.borrow().iter().map(|(_, ty)| *ty).collect();
        let planned = Planned::of_query(self.host, query, types)?;
        let sources = scope.sources.into_inner().into_iter().map(|(s, _)| s).collect();
        Ok((procedure, Expression { planned, sources, shapes: scope.shapes.into_inner(), position: None }))
    }

    fn fits(&self, expression: &Expression) -> bool {
        expression.planned.holds(self.host)
            && expression.shapes.iter().all(|(v, shape)| match (&self.values[*v], shape) {
                (Value::Row(Some(row)), Some(shape)) => Rc::ptr_eq(&row.shape, shape) || row.shape == *shape,
                (Value::Row(Some(_)), None) => false,
                // (a NULL row of a declared type has the type's shape)
                (_, Some(shape)) => {
                    matches!(&self.program.kinds[*v], Kind::Record(Some(ty)) if *ty == shape.ty)
                        || self.absent_row(*v).is_some_and(|absent| absent == shape)
                }
                (_, None) => self.absent_row(*v).is_none(),
            })
    }

    pub(super) fn parameters(&self, expression: &Expression) -> Vec<Datum> {
        expression
            .sources
            .iter()
            .map(|source| match source {
                Source::Variable(v) => match &self.values[*v] {
                    Value::Scalar(value) => value.clone(),
                    Value::Row(Some(row)) => row.datum(),
                    Value::Row(None) => Datum::Null,
                },
                Source::Field(v, i) => match &self.values[*v] {
                    Value::Row(Some(row)) => row.values.get(*i).cloned().unwrap_or_default(),
                    _ => Datum::Null,
                },
            })
            .collect()
    }

    /// Runs a statement; its rows go to `rows`. `performed`: the text follows PERFORM, which stands for SELECT.
    pub(super) fn run_sql(&self, sql: &Sql, performed: bool, rows: Rows) -> Result<(Rc<Expression>, Done)> {
        let planned = match performed {
            true => self.planned_as(sql, Follows::Perform)?,
            false => self.planned(sql, false)?,
        };
        let parameters = self.parameters(&planned);
        let text = if performed { format!("SELECT {}", sql.text) } else { sql.text.clone() };
        self.host.routines().runs(Some(text.clone()));
        let done = self.run_planned(&planned.planned, sql.names, &parameters, rows);
        self.host.routines().runs(None);
        let done = done.map_err(|e| add_context(e, format!("SQL statement \"{text}\"")))?;
        Ok((planned, done))
    }

    /// Runs a statement, which may say WHERE CURRENT OF one of the body's cursors. `names`: what its text sees; 0: no variables.
    fn run_planned(&self, planned: &Planned, names: usize, parameters: &[Datum], rows: Rows) -> Result<Done> {
        match &planned.plan.query.current_of {
            Some((cursor, tables)) => {
                let current = self.current_row(cursor, tables, names)?;
                planned.run_at(self.host, current, parameters, rows)
            }
            None => planned.run(self.host, parameters, rows),
        }
    }

    /// An error of INTO STRICT with the values of the variables in the statement, as `#print_strict_params` asks.
    pub(super) fn with_parameters(&self, error: PgError, expression: &Expression) -> PgError {
        let values = self.parameters(expression);
        let mut shown = Vec::new();
        for (source, value) in expression.sources.iter().zip(&values) {
            let (name, ty) = match source {
                Source::Variable(v) => (self.program.body.variables[*v].name.clone(), self.known_type(*v)),
                Source::Field(v, i) => match &self.values[*v] {
                    Value::Row(Some(row)) => row.shape.fields.get(*i).map_or_else(Default::default, |(name, ty, _)| {
                        (format!("{}.{name}", self.program.body.variables[*v].name), *ty)
                    }),
                    _ => continue,
                },
            };
            let text = match value.is_null() {
                true => "NULL".to_string(),
                false => match self.host.text_of(value, ty) {
                    Ok(text) => format!("'{}'", text.replace('\'', "''")),
                    Err(_) => continue,
                },
            };
            shown.push(format!("{name} = {text}"));
        }
        match shown.is_empty() {
            true => error,
            false => error.detail(format!("parameters: {}", shown.join(", "))),
        }
    }

    fn known_type(&self, variable: usize) -> Oid {
        match (&self.program.kinds[variable], &self.values[variable]) {
            (Kind::Scalar { ty, .. }, _) => *ty,
            (_, Value::Row(Some(row))) => row.shape.ty,
            _ => oid::RECORD,
        }
    }

    /// The value of an expression.
    pub(super) fn eval(&self, sql: &Sql) -> Result<Typed> {
        let expression = self.planned(sql, true)?;
        let planned = &expression.planned;
        let columns = planned.columns.as_deref().unwrap_or_default();
        let [column] = columns else {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                format!(
                    "query \"SELECT {}\" returned {} column{}",
                    sql.text,
                    columns.len(),
                    if columns.len() == 1 { "" } else { "s" }
                ),
            ));
        };
        let ty = column.ty;
        let parameters = self.parameters(&expression);
        if let Some(value) = planned.value(&parameters) {
            return Ok(Typed { value: value.clone(), ty });
        }
        let mut found: Option<Datum> = None;
        let mut several = false;
        planned
            .run(self.host, &parameters, &mut |row| {
                if found.is_some() {
                    several = true;
                    return Ok(false);
                }
                found = Some(row.into_iter().next().unwrap_or_default());
                Ok(true)
            })
            .map_err(PgError::without_position)?;
        if planned.is_query {
            self.count.set(u64::from(found.is_some()));
        }
        if several {
            return Err(PgError::new(SqlState::CARDINALITY_VIOLATION, "query returned more than one row"));
        }
        Ok(Typed { value: found.unwrap_or_default(), ty })
    }

    /// A condition; NULL is false.
    pub(super) fn eval_condition(&self, sql: &Sql) -> Result<bool> {
        let typed = self.eval(sql)?;
        let value = super::super::convert::assign(self.host, typed.value, typed.ty, oid::BOOL, -1)?;
        Ok(value == Datum::Int(1))
    }

    pub(super) fn eval_integer(&self, sql: &Sql) -> Result<Option<i64>> {
        let typed = self.eval(sql)?;
        match super::super::convert::assign(self.host, typed.value, typed.ty, oid::INT4, -1)? {
            Datum::Int(i) => Ok(Some(i)),
            Datum::Null => Ok(None),
            _ => Err(PgError::internal("an integer that is none")),
        }
    }

    /// An expression's value as text; None: NULL.
    pub(super) fn eval_text(&self, sql: &Sql) -> Result<Option<String>> {
        let typed = self.eval(sql)?;
        if typed.value.is_null() {
            return Ok(None);
        }
        self.host.text_of(&typed.value, typed.ty).map(Some)
    }

    /// A text made by the body: planned and run once.
    pub(super) fn run_dynamic(
        &self,
        text: &str,
        using: &[Typed],
        of_last: bool,
        rows: &mut dyn FnMut(&[Column], Vec<Datum>) -> Result<bool>,
    ) -> Result<Dynamic> {
        let context = |e: PgError| of_query(e, text, 0, format!("SQL statement \"{text}\""));
        crate::routine::check_escapes(self.host, text)?;
        let statements = parse(text).map_err(context)?;
        let types: Vec<Oid> = using.iter().map(|t| t.ty).collect();
        let values: Vec<Datum> = using.iter().map(|t| t.value.clone()).collect();
        let mut last = Ok(Dynamic { rows: 0, columns: None, reads: vec![] });
        self.host.routines().runs(Some(text.to_string()));
        let count = statements.len();
        for (i, statement) in statements.into_iter().enumerate() {
            let dropped: &mut dyn FnMut(&[Column], Vec<Datum>) -> Result<bool> = &mut |_, _| Ok(true);
            let rows = if of_last && i + 1 < count { dropped } else { &mut *rows };
            last = self.dynamic_statement(&statement, &types, &values, rows).map_err(context);
            if last.is_err() {
                break;
            }
        }
        self.host.routines().runs(None);
        last
    }

    fn dynamic_statement(
        &self,
        statement: &RawStatement,
        types: &[Oid],
        values: &[Datum],
        rows: &mut dyn FnMut(&[Column], Vec<Datum>) -> Result<bool>,
    ) -> Result<Dynamic> {
        let node = &statement.node;
        if let NodeEnum::CallStmt(call) = node {
            return self.dynamic_call(call, types, values, rows);
        }
        if !is_query(node) {
            super::super::utility::run(self.host, statement, "PL/pgSQL")?;
            return Ok(Dynamic { rows: 0, columns: None, reads: vec![] });
        }
        let planned = Planned::new(self.host, node, &Using { types }, || types.to_vec())?;
        let columns = planned.columns.clone();
        let mut given = |row| rows(columns.as_deref().unwrap_or_default(), row);
        let done = self.run_planned(&planned, 0, values, &mut given)?;
        Ok(Dynamic { rows: done.rows, columns, reads: planned.reads().to_vec() })
    }

    /// CALL that EXECUTE runs: its procedure can end no transaction, and OUT parameters come as a row.
    fn dynamic_call(
        &self,
        call: &pgsqlite_sql::parse::ast::CallStmt,
        types: &[Oid],
        values: &[Datum],
        rows: &mut dyn FnMut(&[Column], Vec<Datum>) -> Result<bool>,
    ) -> Result<Dynamic> {
        let call = call.funccall.as_deref().ok_or_else(|| PgError::internal("CALL of nothing"))?;
        let using = Using { types };
        let (procedure, query, _) = self.host.with_environment(|e| analyze_call(e, call, Some(&using), &[]))?;
        let planned = Planned::of_query(self.host, query, types.to_vec())?;
        let args = planned.rows(self.host, values)?.pop().unwrap_or_default();
        let given: Vec<Oid> = planned.columns.as_deref().unwrap_or_default().iter().map(|c| c.ty).collect();
        let catalog = self.host.catalog();
        let f = catalog.function(procedure).ok_or_else(|| PgError::cache_lookup_failed("function", procedure))?;
        let runtime = self.host.routines();
        let could_end = runtime.may_end_transaction.replace(false);
        let outcome = super::super::call(self.host, procedure, &given, f.returns, args);
        runtime.may_end_transaction.set(could_end);
        let super::super::Outcome::Value(value) = outcome? else { return Err(PgError::internal("a set from CALL")) };
        if f.outputs().next().is_none() {
            return Ok(Dynamic { rows: 0, columns: None, reads: vec![] });
        }
        let Some(row) = self.row_of(&Typed { value, ty: oid::RECORD })? else {
            return Err(PgError::internal("a procedure without its row"));
        };
        let fields = row.shape.fields.iter();
        let columns: Vec<Column> =
            fields.map(|(name, ty, typmod)| Column { name: name.clone(), ty: *ty, typmod: *typmod }).collect();
        rows(&columns, row.values)?;
        Ok(Dynamic { rows: 1, columns: Some(columns), reads: vec![] })
    }
}

/// What EXECUTE did.
pub(super) struct Dynamic {
    pub rows: u64,
    pub columns: Option<Vec<Column>>,
    /// the tables that its last query has read
    pub reads: Vec<Oid>,
}
