//! The statements of a body, run one after the other.

use super::super::statement::Column;
use super::super::{add_context, convert, of_query, Host};
use super::returning::RETURNED;
use super::variable_values::{Row, Shape, Typed, Value};
use super::{Kind, Program, Result_, FOUND};
use pgsqlite_sql::effects;
use pgsqlite_sql::plpgsql::{Block, Into, Query, Sql, Statement, StatementKind as K, Target};
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};
use std::rc::Rc;

/// A running body.
pub struct Frame<'h> {
    pub host: Host<'h>,
    pub program: &'h Program,
    pub values: Vec<Value>,
    /// the rows that RETURN NEXT and RETURN QUERY gave
    pub rows: Vec<Vec<Datum>>,
    /// what RETURN gave
    /// what RETURN was given, not yet of the function's type
    pub(super) returned: Option<Typed>,
    pub(super) returned_row: Option<Row>,
    /// ROW_COUNT
    pub count: std::cell::Cell<u64>,
    /// the errors that handlers are working on, innermost last
    pub errors: Vec<PgError>,
    /// in a trigger: what NEW and OLD are, also where there is none
    pub table_row: Option<Rc<Shape>>,
    /// the types of the subjects of CASE, by hidden variable
    pub hidden: std::collections::HashMap<usize, pgsqlite_types::Oid>,
}

/// How a statement ended.
#[derive(Debug, PartialEq)]
pub(super) enum Flow {
    Next,
    Exit(Option<String>),
    Continue(Option<String>),
    Return,
}

impl<'h> Frame<'h> {
    pub fn new(host: Host<'h>, program: &'h Program) -> Frame<'h> {
        let mut values: Vec<Value> = program
            .kinds
            .iter()
            .map(|k| match k {
                Kind::Scalar { .. } => Value::Scalar(Datum::Null),
                Kind::Record(_) => Value::Row(None),
            })
            .collect();
        values[FOUND] = Value::Scalar(Datum::Int(0));
        Frame {
            host,
            program,
            values,
            rows: vec![],
            returned: None,
            returned_row: None,
            count: Default::default(),
            errors: vec![],
            table_row: None,
            hidden: Default::default(),
        }
    }

    /// Runs the body; what RETURN gave, as the function's type. (No handler of the body sees an error of that conversion.)
    pub fn run_body(&mut self) -> Result<Option<Datum>> {
        let program = self.program;
        let _entered = self.host.routines().enter(program.name.clone(), Some((0, "function entry")));
        self.block(&program.body.block)?;
        let Some(typed) = self.returned.take() else { return Ok(None) };
        let value = match program.result {
            Result_::Row { ty } => self.as_result_row(typed, ty, RETURNED),
            Result_::Scalar { ty } => convert::assign(self.host, typed.value, typed.ty, ty, -1),
            _ => Ok(typed.value),
        };
        value.map(Some).map_err(|e| {
            let what = "while casting return value to function's return type";
            add_context(e, format!("PL/pgSQL function {} {what}", program.name))
        })
    }

    /// Runs the body of a trigger function; the values of the row that it returned, as fields of `shape`.
    pub fn run_trigger(&mut self, shape: Option<&Rc<Shape>>) -> Result<Option<Vec<Datum>>> {
        let program = self.program;
        let _entered = self.host.routines().enter(program.name.clone(), Some((0, "function entry")));
        let flow = self.block(&program.body.block)?;
        if flow != Flow::Return {
            return Err(add_context(
                PgError::new(
                    SqlState::FUNCTION_EXECUTED_NO_RETURN_STATEMENT,
                    "control reached end of trigger procedure without RETURN",
                ),
                format!("PL/pgSQL function {}", program.name),
            ));
        }
        let (Some(row), Some(shape)) = (self.returned_row.take(), shape) else { return Ok(None) };
        if Rc::ptr_eq(&row.shape, shape) {
            return Ok(Some(row.values));
        }
        let message = "returned row structure does not match the structure of the triggering table";
        self.check_fields(&row, &shape.fields, message)
            .map_err(|e| add_context(e, format!("PL/pgSQL function {} during function exit", program.name)))?;
        Ok(Some(row.values))
    }

    fn context(&self, line: u32, what: &str) -> String {
        format!("PL/pgSQL function {} line {line} at {what}", self.program.name)
    }

    pub(super) fn set_found(&mut self, found: bool) {
        self.values[FOUND] = Value::Scalar(Datum::from(found));
    }

    pub(super) fn block(&mut self, block: &Block) -> Result<Flow> {
        for (variable, default) in &block.declared {
            let declared = &self.program.body.variables[*variable];
            let line = declared.line;
            // each entry of the block begins with fresh variables
            self.values[*variable] = match &self.program.kinds[*variable] {
                Kind::Scalar { .. } => Value::Scalar(Datum::Null),
                Kind::Record(_) => Value::Row(None),
            };
            let place = |e: PgError| {
                add_context(
                    e,
                    format!(
                        "PL/pgSQL function {} line {line} during statement block local variable initialization",
                        self.program.name
                    ),
                )
            };
            let run = |frame: &mut Self| -> Result<()> {
                match default {
                    Some(sql) => {
                        let value = frame.eval(sql)?;
                        frame.assign_variable(*variable, value)
                    }
                    // a domain may not take NULL
                    None => match &frame.program.kinds[*variable] {
                        Kind::Scalar { ty, .. } if frame.host.catalog().base_type(*ty) != *ty => {
                            frame.assign_variable(*variable, Typed { value: Datum::Null, ty: oid::TEXT })
                        }
                        _ => Ok(()),
                    },
                }
            };
            let mut result = run(self);
            if let Err(e) = result {
                result = Err(place(e));
            }
            result?;
        }
        let flow = if block.handlers.is_empty() { self.statements(&block.body)? } else { self.guarded(block)? };
        Ok(match flow {
            Flow::Exit(Some(l)) if block.label.as_ref() == Some(&l) => Flow::Next,
            other => other,
        })
    }

    /// Whether a block's statements may change data: then its EXCEPTION needs a savepoint.
    pub(super) fn block_writes(&self, block: &Block) -> bool {
        let key = std::ptr::from_ref(block) as usize;
        if let Some(&known) = self.program.blocks.borrow().get(&key) {
            return known;
        }
        let writes = effects::block_may_write(&self.host.catalog(), block, &self.program.source);
        self.program.blocks.borrow_mut().insert(key, writes);
        writes
    }

    pub(super) fn statements(&mut self, list: &[Statement]) -> Result<Flow> {
        for statement in list {
            match self.statement(statement) {
                Ok(Flow::Next) => {}
                Ok(other) => return Ok(other),
                Err(e) => return Err(e),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &Statement) -> Result<Flow> {
        self.host.routines().at(statement.line, word(&statement.kind));
        let result = self.run(statement);
        match (&statement.kind, result) {
            (K::Block(_), result) => result,
            (kind, Err(e)) => {
                // a nested statement has told its place already
                let nested = matches!(
                    kind,
                    K::If { .. }
                        | K::Case { .. }
                        | K::Loop { .. }
                        | K::While { .. }
                        | K::ForInteger { .. }
                        | K::ForQuery { .. }
                        | K::ForCursor { .. }
                        | K::Foreach { .. }
                ) && e.fields().context.as_deref().is_some_and(|c| {
                    c.lines()
                        .last()
                        .is_some_and(|l| l.starts_with(&format!("PL/pgSQL function {} line", self.program.name)))
                });
                if nested {
                    return Err(e);
                }
                Err(add_context(e, self.context(statement.line, word(kind))))
            }
            (_, result) => result,
        }
    }

    fn run(&mut self, statement: &Statement) -> Result<Flow> {
        match &statement.kind {
            K::Block(block) => return self.block(block),
            K::Null => {}
            K::Assign { target, value } => {
                if target.subscripts.is_empty() {
                    let value = self.eval(value)?;
                    self.assign_target(target, value)?;
                } else {
                    self.assign_part(target, value)?;
                }
            }
            K::If { branches, otherwise } => {
                for (condition, body) in branches {
                    if self.eval_condition(condition)? {
                        return self.statements(body);
                    }
                }
                return self.statements(otherwise);
            }
            K::Case { subject, variable, whens, otherwise } => {
                return self.case(subject.as_ref(), *variable, whens, otherwise.as_deref())
            }
            K::Loop { label, body } => loop {
                if let Some(flow) = self.turn(label, body)? {
                    return Ok(flow);
                }
            },
            K::While { label, condition, body } => {
                while self.eval_condition(condition)? {
                    if let Some(flow) = self.turn(label, body)? {
                        return Ok(flow);
                    }
                }
            }
            K::ForInteger { label, variable, reverse, lower, upper, step, body } => {
                return self.integers(label, *variable, *reverse, (lower, upper, step.as_ref()), body)
            }
            K::ForQuery { label, targets, query, body } => {
                let (columns, rows, mut reads) = self.query_rows(query)?;
                let in_use = &self.host.routines().loop_tables;
                let before = in_use.borrow().len();
                in_use.borrow_mut().append(&mut reads);
                let loops = &self.host.routines().writing_loops;
                let around = loops.get();
                loops.set(around + usize::from(modifies(query)));
                let result = self.over_rows(label, targets, &columns, rows, body);
                self.host.routines().writing_loops.set(around);
                self.host.routines().loop_tables.borrow_mut().truncate(before);
                return result;
            }
            K::ForCursor { label, variable, cursor, arguments, body } => {
                return self.cursor_loop(label, *variable, *cursor, arguments, body)
            }
            K::Foreach { label, targets, slice, array, body } => {
                return self.foreach(label, targets, *slice, array, body)
            }
            K::Exit { exit, label, condition } => {
                if let Some(condition) = condition {
                    if !self.eval_condition(condition)? {
                        return Ok(Flow::Next);
                    }
                }
                return Ok(if *exit { Flow::Exit(label.clone()) } else { Flow::Continue(label.clone()) });
            }
            K::Return(value) => {
                if let Some(value) = value {
                    self.return_value(value)?;
                }
                return Ok(Flow::Return);
            }
            K::ReturnNext(value) => self.return_next(value.as_ref())?,
            K::ReturnQuery(query) => self.return_query(query)?,
            K::Raise { level, condition, format, arguments, options } => {
                self.raise(*level, condition.as_ref(), format.as_deref(), arguments, options)?
            }
            K::Assert { condition, message } => {
                if self.host.cell.state().variables.as_ref().and_then(|v| v.get("plpgsql.check_asserts")).as_deref()
                    == Some("off")
                {
                    return Ok(Flow::Next);
                }
                if !self.eval_condition(condition)? {
                    let message = match message {
                        Some(sql) => self.eval_text(sql)?,
                        None => None,
                    };
                    return Err(PgError::new(
                        SqlState::ASSERT_FAILURE,
                        message.unwrap_or_else(|| "assertion failed".into()),
                    ));
                }
            }
            K::Execute { sql, into } => self.execute(sql, into.as_ref())?,
            K::DynamicExecute { text, using, into } => self.execute_dynamic(text, using, into.as_ref())?,
            K::Perform(sql) => {
                let mut rows = 0;
                self.run_sql(sql, false, &mut |_| {
                    rows += 1;
                    Ok(true)
                })?;
                self.count.set(rows);
                self.set_found(rows > 0);
            }
            K::Call(sql) => self.call_procedure(sql)?,
            K::GetDiagnostics { stacked, items } => self.diagnostics(*stacked, items)?,
            K::Open { cursor, scroll, query, arguments } => {
                self.open_cursor(*cursor, *scroll, query.as_ref(), arguments)?
            }
            K::Fetch { cursor, direction, into } => {
                let found = self.fetch(*cursor, direction, into.as_deref())?;
                self.set_found(found);
            }
            K::Close(cursor) => self.close_cursor(*cursor)?,
            K::Commit { .. } | K::Rollback { .. } => {
                self.host.routines().end_transaction(matches!(statement.kind, K::Commit { .. }))?;
                // (loops have read their rows)
                self.host.routines().cursors.borrow_mut().end_transaction();
                self.host.routines().loop_tables.borrow_mut().clear();
            }
        }
        Ok(Flow::Next)
    }

    /// One turn of a loop. Some: the loop ends, and this is how its statement ends.
    pub(super) fn turn(&mut self, label: &Option<String>, body: &[Statement]) -> Result<Option<Flow>> {
        self.host.check_interrupt()?;
        Ok(match self.statements(body)? {
            Flow::Next | Flow::Continue(None) => None,
            Flow::Continue(l) if l == *label => None,
            Flow::Exit(None) => Some(Flow::Next),
            Flow::Exit(l) if l == *label => Some(Flow::Next),
            other => Some(other),
        })
    }

    // --- control -------------------------------------------------------------------------------------------------------

    fn case(
        &mut self,
        subject: Option<&Sql>,
        variable: usize,
        whens: &[(Sql, Vec<Statement>)],
        otherwise: Option<&[Statement]>,
    ) -> Result<Flow> {
        if let Some(subject) = subject {
            let typed = self.eval(subject)?;
            self.hidden.insert(variable, typed.ty);
            self.values[variable] = Value::Scalar(typed.value);
        }
        for (condition, body) in whens {
            if self.eval_condition(condition)? {
                return self.statements(body);
            }
        }
        match otherwise {
            Some(body) => self.statements(body),
            None => {
                Err(PgError::new(SqlState::CASE_NOT_FOUND, "case not found")
                    .hint("CASE statement is missing ELSE part."))
            }
        }
    }

    fn integers(
        &mut self,
        label: &Option<String>,
        variable: usize,
        reverse: bool,
        (lower, upper, step): (&Sql, &Sql, Option<&Sql>),
        body: &[Statement],
    ) -> Result<Flow> {
        let null =
            |what: &str| PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, format!("{what} of FOR loop cannot be null"));
        let mut value = self.eval_integer(lower)?.ok_or_else(|| null("lower bound"))?;
        let end = self.eval_integer(upper)?.ok_or_else(|| null("upper bound"))?;
        let step = match step {
            Some(sql) => self.eval_integer(sql)?.ok_or_else(|| null("BY value"))?,
            None => 1,
        };
        if step <= 0 {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "BY value of FOR loop must be greater than zero",
            ));
        }
        let mut found = false;
        let flow = loop {
            if if reverse { value < end } else { value > end } {
                break Flow::Next;
            }
            found = true;
            self.values[variable] = Value::Scalar(Datum::Int(value));
            if let Some(flow) = self.turn(label, body)? {
                break flow;
            }
            value = if reverse { value - step } else { value + step };
            if i32::try_from(value).is_err() {
                break Flow::Next;
            }
        };
        self.set_found(found);
        Ok(flow)
    }

    pub(super) fn over_rows(
        &mut self,
        label: &Option<String>,
        targets: &[Target],
        columns: &[Column],
        rows: Vec<Vec<Datum>>,
        body: &[Statement],
    ) -> Result<Flow> {
        let mut found = false;
        let mut flow = Flow::Next;
        if rows.is_empty() {
            self.assign_row(targets, columns, None)?;
        }
        for row in rows {
            found = true;
            self.assign_row(targets, columns, Some(row))?;
            if let Some(after) = self.turn(label, body)? {
                flow = after;
                break;
            }
        }
        self.set_found(found);
        Ok(flow)
    }

    fn foreach(
        &mut self,
        label: &Option<String>,
        targets: &[Target],
        slice: usize,
        array: &Sql,
        body: &[Statement],
    ) -> Result<Flow> {
        use pgsqlite_types::array::Array;
        let typed = self.eval(array)?;
        if typed.value.is_null() {
            return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "FOREACH expression must not be null"));
        }
        let catalog = self.host.catalog();
        let array_type = catalog.base_type(typed.ty);
        let mismatch = |message: String| PgError::new(SqlState::DATATYPE_MISMATCH, message);
        let (Some(element), Datum::Text(text)) = (catalog.element_type(array_type), &typed.value) else {
            let path = self.host.cell.state().search_path.clone();
            let names = pgsqlite_sql::deparse::Names::new(&catalog, &path);
            return Err(mismatch(format!(
                "FOREACH expression must yield an array, not type {}",
                names.type_name(typed.ty, -1)
            )));
        };
        let codec = self.host.cell.codec(element)?;
        let array =
            Array::from_storage(text, &codec).ok_or_else(|| PgError::corrupted("a stored array is malformed"))?;
        if slice > array.dimensions.len() {
            return Err(PgError::new(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                format!("slice dimension ({slice}) is out of the valid range 0..{}", array.dimensions.len()),
            ));
        }
        if let [Target { variable, fields, .. }] = targets {
            let is_array = match &self.program.kinds[*variable] {
                Kind::Scalar { ty, .. } => catalog.element_type(catalog.base_type(*ty)).is_some(),
                Kind::Record(_) => false,
            };
            if fields.is_empty() && slice > 0 && !is_array {
                return Err(mismatch("FOREACH ... SLICE loop variable must be of an array type".into()));
            }
            if fields.is_empty() && slice == 0 && is_array {
                return Err(mismatch("FOREACH loop variable must not be of an array type".into()));
            }
        }
        let inner: Vec<usize> = array.dimensions[array.dimensions.len() - slice..].to_vec();
        let size = inner.iter().product::<usize>().max(1);
        let mut found = false;
        let mut flow = Flow::Next;
        for chunk in array.elements.chunks(size) {
            found = true;
            let typed = if slice == 0 {
                Typed { value: chunk[0].clone(), ty: element }
            } else {
                let mut part = Array::from_elements(chunk.to_vec());
                part.dimensions.clone_from(&inner);
                Typed { value: part.to_datum(), ty: array_type }
            };
            match targets {
                [target] => self.assign_target(target, typed)?,
                _ => {
                    let Some(row) = self.row_of(&typed)? else { continue };
                    let columns: Vec<Column> = row
                        .shape
                        .fields
                        .iter()
                        .map(|(name, ty, typmod)| Column { name: name.clone(), ty: *ty, typmod: *typmod })
                        .collect();
                    self.assign_row(targets, &columns, Some(row.values))?;
                }
            }
            if let Some(after) = self.turn(label, body)? {
                flow = after;
                break;
            }
        }
        self.set_found(found);
        Ok(flow)
    }

    // --- SQL -----------------------------------------------------------------------------------------------------------

    /// `variable[i] := …`
    fn assign_part(&mut self, target: &Target, value: &Sql) -> Result<()> {
        let new = self.part_value(target, value)?;
        self.assign_target(target, new)
    }

    pub(super) fn using(&self, using: &[Sql]) -> Result<Vec<Typed>> {
        using.iter().map(|sql| self.eval(sql)).collect()
    }

    pub(super) fn dynamic_text(&self, sql: &Sql) -> Result<String> {
        self.eval_text(sql)?
            .ok_or_else(|| PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "query string argument of EXECUTE is null"))
    }

    /// All rows of a query, and the tables that it reads.
    pub(super) fn query_rows(&self, query: &Query) -> Result<(Vec<Column>, Vec<Vec<Datum>>, Vec<pgsqlite_types::Oid>)> {
        let mut rows = Vec::new();
        match query {
            Query::Static(sql) => {
                let (expression, _) = self.run_sql(sql, false, &mut |row| {
                    rows.push(row);
                    Ok(true)
                })?;
                let columns = expression.planned.columns.clone();
                Ok((columns.ok_or_else(no_rows)?, rows, expression.planned.reads().to_vec()))
            }
            Query::Dynamic { text, using } => {
                let text = self.dynamic_text(text)?;
                let using = self.using(using)?;
                let done = self.run_dynamic(&text, &using, false, &mut |_, row| {
                    rows.push(row);
                    Ok(true)
                })?;
                Ok((done.columns.ok_or_else(no_rows)?, rows, done.reads))
            }
        }
    }

    fn execute(&mut self, sql: &Sql, into: Option<&Into>) -> Result<()> {
        let statement = match self.program.plans.borrow()[sql.id] {
            // planned before: it is a query or a data modification
            Some(_) => None,
            None => Some(
                super::expressions::one_statement(&sql.text)
                    .map_err(|e| add_context(e, format!("SQL statement \"{}\"", sql.text)))?,
            ),
        };
        if let Some(statement) = statement {
            use pgsqlite_sql::parse::NodeEnum as N;
            let query = matches!(
                statement.node,
                N::SelectStmt(_) | N::InsertStmt(_) | N::UpdateStmt(_) | N::DeleteStmt(_) | N::MergeStmt(_)
            );
            if !query {
                if into.is_some() {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        "INTO used with a command that cannot return data",
                    ));
                }
                self.count.set(0);
                return super::super::utility::run(self.host, &statement, "PL/pgSQL")
                    .map_err(|e| of_query(e, &sql.text, 0, format!("SQL statement \"{}\"", sql.text)));
            }
        }
        let expression = self.planned(sql, false)?;
        let modifies = expression.planned.plan.query.tag != pgsqlite_sql::plan::Tag::Select;
        if into.is_none() && expression.planned.columns.is_some() && !modifies {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "query has no destination for result data")
                .hint("If you want to discard the results of a SELECT, use PERFORM instead."));
        }
        if into.is_none() && expression.planned.columns.is_some() {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "query has no destination for result data"));
        }
        let mut rows: Vec<Vec<Datum>> = Vec::new();
        let keep = match into {
            None => 0,
            // two tell that there are too many; a data modification goes on to its end
            Some(into) if into.strict || modifies => 2,
            Some(_) => 1,
        };
        let (_, done) = self.run_sql(sql, false, &mut |row| {
            if rows.len() < keep {
                rows.push(row);
            }
            Ok(modifies || rows.len() < keep)
        })?;
        self.count.set(match into {
            Some(_) if !modifies => rows.len() as u64,
            _ => done.rows,
        });
        match into {
            None => {
                if modifies {
                    self.set_found(done.rows > 0);
                }
            }
            Some(into) => {
                let columns = expression.planned.columns.clone().ok_or_else(|| {
                    PgError::new(SqlState::SYNTAX_ERROR, "INTO used with a command that cannot return data")
                })?;
                let strict = into.strict && self.program.body.print_strict_params;
                self.rows_into(into, &columns, rows, into.strict || modifies).map_err(|e| match e.code() {
                    SqlState::NO_DATA_FOUND | SqlState::TOO_MANY_ROWS if strict => self.with_parameters(e, &expression),
                    _ => e,
                })?;
            }
        }
        Ok(())
    }

    fn rows_into(&mut self, into: &Into, columns: &[Column], rows: Vec<Vec<Datum>>, one: bool) -> Result<()> {
        // (FOUND is told whether or not the rows are what INTO asks for)
        self.set_found(!rows.is_empty());
        if rows.len() > 1 && one {
            let error = PgError::new(SqlState::TOO_MANY_ROWS, "query returned more than one row");
            return Err(error.hint("Make sure the query returns a single row, or use LIMIT 1."));
        }
        let row = rows.into_iter().next();
        if row.is_none() && into.strict {
            return Err(PgError::new(SqlState::NO_DATA_FOUND, "query returned no rows"));
        }
        self.assign_row(&into.targets, columns, row)
    }

    fn execute_dynamic(&mut self, text: &Sql, using: &[Sql], into: Option<&Into>) -> Result<()> {
        let text = self.dynamic_text(text)?;
        let using = self.using(using)?;
        let mut rows = Vec::new();
        let done = self.run_dynamic(&text, &using, true, &mut |_, row| {
            if rows.len() < 2 {
                rows.push(row);
            }
            Ok(true)
        })?;
        self.count.set(done.rows);
        if let Some(into) = into {
            let columns = done.columns.ok_or_else(|| {
                PgError::new(SqlState::SYNTAX_ERROR, "INTO used with a command that cannot return data")
            })?;
            if rows.len() > 1 && into.strict {
                return Err(PgError::new(SqlState::TOO_MANY_ROWS, "query returned more than one row"));
            }
            if rows.is_empty() && into.strict {
                return Err(PgError::new(SqlState::NO_DATA_FOUND, "query returned no rows"));
            }
            // EXECUTE does not set FOUND
            self.assign_row(&into.targets, &columns, rows.into_iter().next())?;
        }
        Ok(())
    }

    // --- RETURN --------------------------------------------------------------------------------------------------------
}

pub(super) fn no_rows() -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, "query does not return rows")
}

/// What CONTEXT calls a statement.
fn word(kind: &K) -> &'static str {
    match kind {
        K::Block(_) => "statement block",
        K::Assign { .. } => "assignment",
        K::If { .. } => "IF",
        K::Case { .. } => "CASE",
        K::Loop { .. } => "LOOP",
        K::While { .. } => "WHILE",
        K::ForInteger { .. } => "FOR with integer loop variable",
        K::ForQuery { query: Query::Static(_), .. } => "FOR over SELECT rows",
        K::ForQuery { .. } => "FOR over EXECUTE statement",
        K::ForCursor { .. } => "FOR over cursor",
        K::Foreach { .. } => "FOREACH over array",
        K::Exit { exit: true, .. } => "EXIT",
        K::Exit { .. } => "CONTINUE",
        K::Return(_) => "RETURN",
        K::ReturnNext(_) => "RETURN NEXT",
        K::ReturnQuery(_) => "RETURN QUERY",
        K::Raise { .. } => "RAISE",
        K::Assert { .. } => "ASSERT",
        K::Execute { .. } => "SQL statement",
        K::DynamicExecute { .. } => "EXECUTE",
        K::Perform(_) => "PERFORM",
        K::Call(_) => "CALL",
        K::GetDiagnostics { .. } => "GET DIAGNOSTICS",
        K::Open { .. } => "OPEN",
        K::Fetch { into: Some(_), .. } => "FETCH",
        K::Fetch { .. } => "MOVE",
        K::Close(_) => "CLOSE",
        K::Null => "NULL",
        K::Commit { .. } => "COMMIT",
        K::Rollback { .. } => "ROLLBACK",
    }
}

/// Whether a query of a loop is written as a data modification.
fn modifies(query: &Query) -> bool {
    let Query::Static(sql) = query else { return false };
    let word: String = sql.text.trim_start().chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    ["insert", "update", "delete", "merge"].iter().any(|w| word.eq_ignore_ascii_case(w))
}
