//! Bodies in PL/pgSQL: the tree of `pgsqlite_sql::plpgsql` with the types of its variables, run statement by statement.
//!
//! * [`values`]: variables' values, assignment; [`expressions`]: the SQL in a body, with variables as parameters
//! * [`run`]: the statements; [`raise`]: RAISE, EXCEPTION, GET DIAGNOSTICS; [`cursors`]: OPEN, FETCH, MOVE, CLOSE

mod cursors;
mod expressions;
mod raise;
mod returning;
mod run;
mod variable_values;

pub(super) use expressions::Using;
pub use variable_values::{Shape, Value};

use super::{actual_type, record_of, void, Fields, Host, Outcome};
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_sql::effects;
use pgsqlite_sql::plpgsql::{self as tree, Body, Given, TypeRef};
use pgsqlite_sql::routine::Function;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// What a variable holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Scalar {
        ty: Oid,
        typmod: i32,
    },
    /// a row: of this composite type, or (None) of any
    Record(Option<Oid>),
}

/// What RETURN gives.
#[derive(Debug, Clone)]
enum Result_ {
    Void,
    Scalar {
        ty: Oid,
    },
    /// a composite type, or `record`
    Row {
        ty: Oid,
    },
    /// the values of these OUT variables; `set` of one: its own type
    Outputs(Vec<usize>),
    Trigger,
}

/// A compiled body.
pub struct Program {
    /// for CONTEXT: `f(integer)`
    name: Rc<str>,
    source: String,
    body: Body,
    kinds: Vec<Kind>,
    /// variables of the arguments that a call gives
    inputs: Vec<usize>,
    result: Result_,
    returns_set: bool,
    /// by the place among [`Body::variables`] of trigger variables: the first of them
    triggers_from: usize,
    /// by [`tree::Sql::id`]
    plans: RefCell<Vec<Option<Rc<expressions::Expression>>>>,
    /// by address of the block: whether its statements may change data
    blocks: RefCell<HashMap<usize, bool>>,
}

/// The value of `found`.
const FOUND: usize = 0;

impl Program {
    pub fn compile(host: Host, f: &Function, types: &[Oid], ret: Oid) -> Result<Program> {
        let mut given = effects::given_of(f);
        // polymorphic parameters have the types of the call
        let first = if f.is_trigger() { 1 + effects::TRIGGER_VARIABLES.len() } else { 1 };
        let mut actual = types.iter();
        let mut inputs = Vec::new();
        for (i, argument) in f.arguments.iter().enumerate() {
            if argument.mode.is_input() {
                inputs.push(first + i);
                if let Some(&ty) = actual.next() {
                    let ty = actual_type(argument.type_oid, ty);
                    given.variables[first + i].1 = TypeRef::Known(ty, -1);
                }
            } else if actual_type(argument.type_oid, 0) == 0 {
                // those of several follow from the arguments, a single one is the result
                let ty =
                    pgsqlite_sql::analyze::concrete_type(&host.catalog(), &f.input_types(), types, argument.type_oid);
                given.variables[first + i].1 = TypeRef::Known(actual_type(ty, ret), -1);
            }
        }
        let outputs: Vec<usize> =
            f.arguments.iter().enumerate().filter(|(_, a)| a.mode.is_output()).map(|(i, _)| first + i).collect();
        let ret = actual_type(f.returns, ret);
        let result = if f.is_trigger() || f.is_event_trigger() {
            Result_::Trigger
        } else if !outputs.is_empty() {
            Result_::Outputs(outputs)
        } else if ret == oid::VOID || f.procedure {
            Result_::Void
        } else if ret == oid::RECORD || host.catalog().composite_fields(ret).is_some() {
            Result_::Row { ty: ret }
        } else {
            Result_::Scalar { ty: ret }
        };
        let path = host.cell.state().search_path.clone();
        let name = pgsqlite_metadata::naming::function_shown(&host.catalog(), &path, f);
        let mut program = Program::of(host, &f.source, tree::parse(&f.source, &given), name.into())
            .map_err(|e| super::add_context(e, format!("compilation of PL/pgSQL function \"{}\"", f.name)))?;
        program.inputs = inputs;
        program.result = result;
        program.returns_set = f.returns_set;
        Ok(program)
    }

    /// A body that is no function's: of DO.
    pub fn inline(host: Host, source: &str) -> Result<Program> {
        let given = Given {
            name: "inline_code_block".into(),
            variables: vec![(vec!["found".into()], TypeRef::Known(oid::BOOL, -1))],
            returns_nothing: true,
            ..Default::default()
        };
        Program::of(host, source, tree::parse_new(source, &given), "inline_code_block".into())
    }

    fn of(host: Host, source: &str, body: Result<Body>, name: Rc<str>) -> Result<Program> {
        super::check_escapes(host, source)?;
        let body = body?;
        let kinds = kinds_of(host, &body)?;
        let texts = body.texts;
        Ok(Program {
            name,
            source: source.to_string(),
            body,
            kinds,
            inputs: vec![],
            result: Result_::Void,
            returns_set: false,
            triggers_from: 1,
            plans: RefCell::new((0..texts).map(|_| None).collect()),
            blocks: RefCell::default(),
        })
    }

    /// It is a trigger function's.
    pub fn is_trigger(&self) -> bool {
        matches!(self.result, Result_::Trigger)
    }

    /// Whether the body may change data.
    pub fn may_write(&self, host: Host) -> bool {
        effects::body_may_write(&host.catalog(), &self.body, &self.source)
    }

    /// Whether the body may end the transaction.
    pub fn may_end_transaction(&self, catalog: &Catalog) -> bool {
        effects::block_may_end_transaction(catalog, &self.body.block)
    }

    /// Runs a body without arguments and result.
    pub fn run_inline(&self, host: Host) -> Result<()> {
        let mut frame = run::Frame::new(host, self);
        frame.run_body().map(|_| ())
    }

    pub fn call(&self, host: Host, f: &Function, args: Vec<Datum>) -> Result<Outcome> {
        if matches!(self.result, Result_::Trigger) {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "trigger functions can only be called as triggers",
            ));
        }
        let mut frame = run::Frame::new(host, self);
        for (&variable, value) in self.inputs.iter().zip(args) {
            frame.set_argument(variable, value)?;
        }
        let returned = frame.run_body()?;
        if self.returns_set {
            return Ok(Outcome::Rows(std::mem::take(&mut frame.rows)));
        }
        let value = match &self.result {
            Result_::Void | Result_::Trigger if f.procedure => Datum::Null,
            Result_::Void | Result_::Trigger => void(),
            Result_::Outputs(list) => {
                let (fields, values) = frame.outputs(list)?;
                match values.len() {
                    1 if !f.procedure => values.into_iter().next().unwrap_or_default(),
                    _ => record_of(&fields, &values, true),
                }
            }
            _ => returned.ok_or_else(|| {
                super::add_context(
                    PgError::new(
                        SqlState::FUNCTION_EXECUTED_NO_RETURN_STATEMENT,
                        "control reached end of function without RETURN",
                    ),
                    format!("PL/pgSQL function {}", self.name),
                )
            })?,
        };
        Ok(Outcome::Value(value))
    }

    /// Runs the body for a row (or statement) that fires a trigger. `given`: the values of NEW, OLD, TG_NAME … in the order of
    /// [`effects::TRIGGER_VARIABLES`]. Returns the row that RETURN gave, as values of the fields of `shape`.
    /// `row`: the trigger is one for each row.
    pub fn fire(&self, host: Host, given: Vec<Value>, shape: &Rc<Shape>, row: bool) -> Result<Option<Vec<Datum>>> {
        let mut frame = run::Frame::new(host, self);
        frame.table_row = Some(shape.clone());
        for (i, value) in given.into_iter().enumerate() {
            frame.values[self.triggers_from + i] = value;
        }
        frame.run_trigger(row.then_some(shape))
    }
}

/// The kinds of a body's variables. Errors: 42704, 42P01 … of their types.
fn kinds_of(host: Host, body: &Body) -> Result<Vec<Kind>> {
    let mut out: Vec<Kind> = Vec::with_capacity(body.variables.len());
    let catalog = host.catalog();
    for variable in &body.variables {
        let kind = match &variable.ty {
            TypeRef::Record => Kind::Record(None),
            TypeRef::Known(ty, typmod) => known(&catalog, *ty, *typmod),
            TypeRef::OfVariable(v) => out[*v].clone(),
            TypeRef::Named(text) => {
                let (ty, typmod) = named_type(host, text)?;
                let is_pseudo = pgsqlite_types::catalog::by_oid(ty).is_some_and(|t| t.kind == b'p');
                if is_pseudo && ty != oid::RECORD {
                    let shown = pgsqlite_sql::names::Names::new(&catalog, &[]).type_name(ty, -1);
                    let message = format!("variable \"{}\" has pseudo-type {shown}", variable.name);
                    return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                known(&catalog, ty, typmod)
            }
            TypeRef::OfColumn(parts) => {
                let column = parts.last().map_or("", String::as_str);
                let relation = relation_of(host, &parts[..parts.len() - 1])?;
                let found = relation.column(column).ok_or_else(|| {
                    PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{column}\" of relation \"{}\" does not exist", relation.name),
                    )
                })?;
                known(&catalog, found.type_oid, found.typmod)
            }
            TypeRef::RowOf(parts) => {
                let relation = relation_of(host, parts)?;
                Kind::Record(Some(relation.row_type))
            }
        };
        out.push(kind);
    }
    Ok(out)
}

fn known(catalog: &pgsqlite_sql::catalog::Catalog, ty: Oid, typmod: i32) -> Kind {
    if ty == oid::RECORD {
        return Kind::Record(None);
    }
    if catalog.composite_fields(ty).is_some() && catalog.base_type(ty) == ty {
        return Kind::Record(Some(ty));
    }
    Kind::Scalar { ty, typmod }
}

fn relation_of(host: Host, parts: &[String]) -> Result<std::sync::Arc<pgsqlite_sql::catalog::Relation>> {
    let (schema, name) = match parts {
        [name] => (None, name.as_str()),
        [schema, name] => (Some(schema.as_str()), name.as_str()),
        _ => {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                format!("improper %TYPE reference (too many dotted names): {}", parts.join(".")),
            ))
        }
    };
    host.with_environment(|e| pgsqlite_sql::analyze::find_relation(e, schema, name)).ok_or_else(|| {
        PgError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", parts.join(".")))
    })
}

/// The type that a text names.
fn named_type(host: Host, text: &str) -> Result<(Oid, i32)> {
    use pgsqlite_sql::parse::NodeEnum;
    let statements = pgsqlite_sql::parse::parse(&format!("SELECT NULL::{text}"))
        .map_err(|_| PgError::new(SqlState::SYNTAX_ERROR, format!("invalid type name \"{text}\"")))?;
    let invalid = || PgError::new(SqlState::SYNTAX_ERROR, format!("invalid type name \"{text}\""));
    let [statement] = &statements[..] else { return Err(invalid()) };
    let NodeEnum::SelectStmt(select) = &statement.node else { return Err(invalid()) };
    let target = select.target_list.first().and_then(|t| t.node.as_ref());
    let Some(NodeEnum::ResTarget(target)) = target else { return Err(invalid()) };
    let Some(NodeEnum::TypeCast(cast)) = target.val.as_ref().and_then(|v| v.node.as_ref()) else {
        return Err(invalid());
    };
    let name = cast.type_name.as_ref().ok_or_else(invalid)?;
    let (ty, typmod) = host
        .with_environment(|e| pgsqlite_sql::analyze::resolve_type_name(e, name))
        .map_err(PgError::without_position)?;
    Ok((ty, typmod))
}

/// The fields of a composite type.
fn composite(host: Host, ty: Oid) -> Result<Fields> {
    host.catalog().composite_fields(ty).ok_or_else(|| PgError::cache_lookup_failed("type", ty))
}
