//! Bodies in SQL: their statements in turn; the last one's rows are the result.

use super::statement::Planned;
use super::{actual_type, add_context, convert, in_query, record_of, utility, Fields, Host, Outcome, Stamp};
use pgsqlite_sql::analyze::inline::Parameters;
use pgsqlite_sql::analyze::sql_body;
use pgsqlite_sql::parse::{is_optimizable, NodeEnum};
use pgsqlite_sql::routine::Function;
use pgsqlite_types::{oid, record, Datum, Oid, PgError, Result, SqlState};
use std::cell::RefCell;
use std::rc::Rc;

pub(super) struct SqlFunction {
    statements: Vec<SqlStatement>,
    types: Vec<Oid>,
    result: ResultShape,
}

struct SqlStatement {
    node: NodeEnum,
    /// planned when it runs for the first time: statements before it may make what it names
    planned: RefCell<Option<Rc<Planned>>>,
}

/// What becomes of the last statement's columns.
enum ResultShape {
    Void,
    /// the first column as a value of this type
    Scalar(Oid),
    /// a row of these fields; of a composite type, or a record
    Row {
        fields: Fields,
        anonymous: bool,
        outputs: bool,
        ty: Oid,
    },
    /// a record of whatever columns there are
    Record,
}

impl SqlFunction {
    pub fn compile(host: Host, f: &Function, types: &[Oid], ret: Oid) -> Result<SqlFunction> {
        let statements =
            sql_body(f)?.into_iter().map(|node| SqlStatement { node, planned: RefCell::new(None) }).collect();
        let ret = actual_type(f.returns, ret);
        let declared = f.input_types();
        let actual = |ty| pgsqlite_sql::analyze::concrete_type(&host.catalog(), &declared, types, ty);
        let outputs: Fields = f.outputs().map(|a| (a.name.clone(), actual(a.type_oid), -1)).collect();
        let result = if outputs.len() > 1 {
            ResultShape::Row { fields: outputs, anonymous: true, outputs: true, ty: oid::RECORD }
        } else if ret == oid::VOID || f.procedure && outputs.is_empty() {
            ResultShape::Void
        } else if ret == oid::RECORD {
            ResultShape::Record
        } else {
            match host.catalog().composite_fields(ret) {
                Some(fields) => ResultShape::Row { fields, anonymous: false, outputs: false, ty: ret },
                None => ResultShape::Scalar(ret),
            }
        };
        Ok(SqlFunction { statements, types: types.to_vec(), result })
    }

    pub fn run(&self, host: Host, f: &Function, args: Vec<Datum>) -> Result<Outcome> {
        let mut rows: Vec<Vec<Datum>> = Vec::new();
        let mut shape: Option<Rc<Planned>> = None;
        let count = self.statements.len();
        let begins = (count > 1).then(|| (Stamp::now(host.cell), host.cell.state().settings.clone()));
        for (i, statement) in self.statements.iter().enumerate() {
            let last = i + 1 == count;
            let run = || -> Result<()> {
                if !is_optimizable(&statement.node) {
                    // (a body in the standard's way has queries and data modifications alone)
                    let read = pgsqlite_sql::parse::parse(&f.source)?.into_iter().nth(i);
                    let read = read.ok_or_else(|| PgError::internal("a body with fewer statements than it had"))?;
                    return utility::run(host, &read, "SQL function");
                }
                let planned = match &begins {
                    // all statements of a body are read before the first one runs, which has changed the search path, or how literals are read
                    Some((begins, settings)) if !begins.reads_as_now(host.cell) => {
                        begins.while_read(host.cell, settings, || self.planned(host, f, statement))?
                    }
                    _ => self.planned(host, f, statement)?,
                };
                let wanted = last && !matches!(self.result, ResultShape::Void);
                let most = if f.returns_set { usize::MAX } else { 1 };
                // a statement that changes data runs to its end
                let whole = planned.plan.query.writes;
                planned.run(host, &args, &mut |row| {
                    if wanted && rows.len() < most {
                        rows.push(row);
                    }
                    Ok(!wanted || whole || rows.len() < most)
                })?;
                if wanted {
                    shape = Some(planned);
                }
                Ok(())
            };
            let mut run = run;
            let _place = host.routines().enter(format!("SQL function \"{}\" statement {}", f.name, i + 1).into(), None);
            run().map_err(|e| {
                add_context(in_query(e, &f.source, 0), format!("SQL function \"{}\" statement {}", f.name, i + 1))
            })?;
        }
        let columns = shape.as_ref().and_then(|p| p.columns.clone()).unwrap_or_default();
        let mut out = Vec::with_capacity(rows.len());
        for row in rows {
            out.push(self.result_row(host, &columns, row)?);
        }
        if f.returns_set {
            return Ok(Outcome::Rows(out));
        }
        if matches!(self.result, ResultShape::Void) {
            return Ok(Outcome::Value(Datum::Null));
        }
        let Some(row) = out.into_iter().next() else { return Ok(Outcome::Value(Datum::Null)) };
        Ok(Outcome::Value(match &self.result {
            ResultShape::Row { fields, anonymous, outputs: true, .. } => record_of(fields, &row, *anonymous),
            _ => row.into_iter().next().unwrap_or_default(),
        }))
    }

    fn planned(&self, host: Host, f: &Function, statement: &SqlStatement) -> Result<Rc<Planned>> {
        if let Some(found) = &*statement.planned.borrow() {
            if found.holds(host) {
                return Ok(found.clone());
            }
        }
        let parameters = Parameters::of(f, &self.types);
        let types = || self.types.clone();
        let planned = Rc::new(match f.qualified {
            true => Planned::of_stored_text(host, &statement.node, &parameters, types)?,
            false => Planned::new(host, &statement.node, &parameters, types)?,
        });
        *statement.planned.borrow_mut() = Some(planned.clone());
        Ok(planned)
    }

    /// A row of the last statement as one of the result: one value, or the values of the OUT parameters.
    fn result_row(&self, host: Host, columns: &[super::statement::Column], row: Vec<Datum>) -> Result<Vec<Datum>> {
        match &self.result {
            ResultShape::Void => Ok(vec![]),
            ResultShape::Scalar(ty) => {
                let (Some(column), Some(value)) = (columns.first(), row.into_iter().next()) else {
                    return Err(mismatch());
                };
                Ok(vec![convert::assign(host, value, column.ty, *ty, -1)?])
            }
            ResultShape::Record => {
                // a column that is a row is the result itself
                if let ([column], [value]) = (columns, &row[..]) {
                    if column.ty == oid::RECORD || host.catalog().composite_fields(column.ty).is_some() {
                        return Ok(vec![value.clone()]);
                    }
                }
                let fields: Fields = columns.iter().map(|c| (c.name.clone(), c.ty, c.typmod)).collect();
                Ok(vec![record_of(&fields, &row, true)])
            }
            ResultShape::Row { fields, anonymous, outputs, ty } => {
                if let ([column], [value]) = (columns, &row[..]) {
                    if !*outputs && column.ty == *ty {
                        return Ok(vec![value.clone()]);
                    }
                    let base = host.catalog().base_type(*ty);
                    if !*outputs && column.ty == base {
                        return Ok(vec![convert::assign(host, value.clone(), base, *ty, -1)?]);
                    }
                    if column.ty == oid::RECORD {
                        let Datum::Text(text) = value else {
                            let width = if *outputs { fields.len() } else { 1 };
                            return Ok(vec![Datum::Null; width]);
                        };
                        let list = record::from_storage(text).ok_or_else(mismatch)?;
                        if *outputs {
                            // the record is the result as it is: its fields are not converted
                            let wanted: Vec<Oid> = fields.iter().map(|f| f.1).collect();
                            check_returned_row(&host.catalog(), &list, &wanted)?;
                            return Ok(list.into_iter().map(|(_, v)| v).collect());
                        }
                        if list.len() != fields.len() {
                            return Err(mismatch());
                        }
                        let values = list
                            .into_iter()
                            .zip(fields)
                            .map(|((from, v), (_, to, typmod))| convert::assign(host, v, from, *to, *typmod))
                            .collect::<Result<Vec<_>>>()?;
                        let made = record_of(fields, &values, *anonymous);
                        return Ok(vec![convert::assign(host, made, base, *ty, -1)?]);
                    }
                }
                if columns.len() != fields.len() {
                    return Err(mismatch());
                }
                let mut values = Vec::with_capacity(row.len());
                for ((value, column), (_, to, typmod)) in row.into_iter().zip(columns).zip(fields) {
                    values.push(convert::assign(host, value, column.ty, *to, *typmod)?);
                }
                if *outputs {
                    return Ok(values);
                }
                let made = record_of(fields, &values, *anonymous);
                if *anonymous {
                    return Ok(vec![made]);
                }
                Ok(vec![convert::assign(host, made, host.catalog().base_type(*ty), *ty, -1)?])
            }
        }
    }
}

/// 42804: a returned record has not the columns that the query expects.
pub(super) fn check_returned_row(
    catalog: &pgsqlite_sql::catalog::Catalog,
    fields: &[(Oid, Datum)],
    expected: &[Oid],
) -> Result<()> {
    let mismatch = |detail: String| {
        PgError::new(SqlState::DATATYPE_MISMATCH, "function return row and query-specified return row do not match")
            .detail(detail)
    };
    if fields.len() != expected.len() {
        return Err(mismatch(format!(
            "Returned row contains {} attribute{}, but query expects {}.",
            fields.len(),
            if fields.len() == 1 { "" } else { "s" },
            expected.len()
        )));
    }
    for (i, ((ty, _), wanted)) in fields.iter().zip(expected).enumerate() {
        if catalog.base_type(*ty) != catalog.base_type(*wanted) {
            let path = [catalog.public_schema()];
            let names = pgsqlite_sql::deparse::Names::new(catalog, &path);
            return Err(mismatch(format!(
                "Returned type {} at ordinal position {}, but query expects {}.",
                names.type_name(*ty, -1),
                i + 1,
                names.type_name(*wanted, -1)
            )));
        }
    }
    Ok(())
}

/// A column of a function that returns `record` is no value of the type that the query says.
pub(super) fn record_mismatch(
    catalog: &pgsqlite_sql::catalog::Catalog,
    is: Oid,
    wanted: Oid,
    column: usize,
) -> PgError {
    let path = [catalog.public_schema()];
    let names = pgsqlite_sql::deparse::Names::new(catalog, &path);
    PgError::new(SqlState::INVALID_FUNCTION_DEFINITION, "return type mismatch in function declared to return record")
        .detail(format!(
            "Final statement returns {} instead of {} at column {column}.",
            names.type_name(is, -1),
            names.type_name(wanted, -1)
        ))
}

fn mismatch() -> PgError {
    PgError::new(SqlState::INVALID_FUNCTION_DEFINITION, "return type mismatch in function")
        .detail("Final statement must be SELECT or INSERT/UPDATE/DELETE/MERGE RETURNING.")
}
