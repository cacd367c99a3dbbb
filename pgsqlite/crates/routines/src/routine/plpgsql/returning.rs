//! RETURN, RETURN NEXT and RETURN QUERY.

use super::super::convert;
use super::run::Frame;
use super::variable_values::{Row, Typed, Value};
use super::{Kind, Result_};
use pgsqlite_sql::plpgsql::{Query, Sql};
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};

impl<'h> Frame<'h> {
    pub(super) fn return_value(&mut self, sql: &Sql) -> Result<()> {
        match self.program.result.clone() {
            Result_::Trigger => {
                let row = self.returned_variable(sql)?;
                self.returned_row = match row {
                    Some(row) => row,
                    None => {
                        let typed = self.eval(sql)?;
                        if typed.value.is_null() {
                            None
                        } else if typed.ty != oid::RECORD && self.host.catalog().composite_fields(typed.ty).is_none() {
                            return Err(PgError::new(
                                SqlState::DATATYPE_MISMATCH,
                                "cannot return non-composite value from function returning composite type",
                            ));
                        } else {
                            self.row_of(&typed)?
                        }
                    }
                };
            }
            Result_::Row { .. } => self.returned = Some(self.row_or_value(sql)?.0),
            Result_::Scalar { .. } => self.returned = Some(self.eval(sql)?),
            Result_::Void | Result_::Outputs(_) => {}
        }
        Ok(())
    }

    /// `RETURN NEW`: the row of a variable, without a detour through its storage form. None: no plain variable.
    fn returned_variable(&self, sql: &Sql) -> Result<Option<Option<Row>>> {
        let name = sql.text.trim().to_lowercase();
        let found = self.program.body.look_up(sql.names, &[&name]);
        Ok(match found {
            Some((v, 1)) => match &self.values[v] {
                Value::Row(row) => Some(row.clone()),
                Value::Scalar(_) => None,
            },
            _ => None,
        })
    }

    /// What RETURN or RETURN NEXT of a composite type was given, and whether that is a variable. Errors: 42804 for a scalar.
    fn row_or_value(&mut self, sql: &Sql) -> Result<(Typed, bool)> {
        let (typed, variable) = match self.returned_variable(sql)? {
            Some(Some(row)) => (Typed { value: row.datum(), ty: row.shape.ty }, true),
            Some(None) => (Typed { value: Datum::Null, ty: oid::RECORD }, true),
            None => (self.eval(sql)?, false),
        };
        let is_row = typed.ty == oid::RECORD || self.host.catalog().composite_fields(typed.ty).is_some();
        if !is_row && !typed.value.is_null() {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                "cannot return non-composite value from function returning composite type",
            ));
        }
        Ok((typed, variable))
    }

    /// A row as one of the function's type. `message`: what an error says of one that is none.
    pub(super) fn as_result_row(&self, typed: Typed, ty: pgsqlite_types::Oid, message: &str) -> Result<Datum> {
        if typed.value.is_null() {
            return Ok(Datum::Null);
        }
        if ty == oid::RECORD || typed.ty == ty {
            return Ok(typed.value);
        }
        let Some(row) = self.row_of(&typed)? else { return Ok(Datum::Null) };
        let shape = self.shape_of(ty)?;
        self.check_fields(&row, &shape.fields, message)?;
        Ok(Row { shape, values: row.values }.datum())
    }

    /// Whether a row has fields of these types: they are taken as they are, nothing is converted. A type's modifier (varchar(5)) is
    /// not known of every row; there the value tells. Errors: 42804 with `message`.
    pub(super) fn check_fields(
        &self,
        row: &Row,
        wanted: &[(String, pgsqlite_types::Oid, i32)],
        message: &str,
    ) -> Result<()> {
        let mismatch = |detail: String| Err(PgError::new(SqlState::DATATYPE_MISMATCH, message).detail(detail));
        for (i, ((_, from, given), (name, to, typmod))) in row.shape.fields.iter().zip(wanted).enumerate() {
            let fits = from == to
                && (*typmod < 0 || given == typmod || {
                    let value = &row.values[i];
                    convert::assign(self.host, value.clone(), *from, *to, *typmod).is_ok_and(|v| v == *value)
                });
            if !fits {
                let catalog = self.host.catalog();
                let path = [catalog.public_schema()];
                let names = pgsqlite_sql::deparse::Names::new(&catalog, &path);
                return mismatch(format!(
                    "Returned type {} does not match expected type {} in column \"{name}\" (position {}).",
                    names.type_name(*from, *given),
                    names.type_name(*to, *typmod),
                    i + 1
                ));
            }
        }
        if row.shape.fields.len() != wanted.len() {
            return mismatch(format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                row.shape.fields.len(),
                wanted.len()
            ));
        }
        Ok(())
    }

    pub(super) fn return_next(&mut self, value: Option<&Sql>) -> Result<()> {
        // (a record that nothing was assigned to has no fields that could be NULL)
        let name = value.map(|sql| sql.text.trim().to_lowercase());
        if let Some((variable, 1)) =
            value.zip(name.as_ref()).and_then(|(sql, name)| self.program.body.look_up(sql.names, &[name]))
        {
            if matches!(self.program.kinds[variable], Kind::Record(_)) {
                let shape = self.known_shape(variable)?;
                if matches!(self.values[variable], Value::Row(None)) {
                    // its fields are NULL from now on, and it is not
                    let values = vec![Datum::Null; shape.fields.len()];
                    self.values[variable] = Value::Row(Some(Row { shape, values }));
                }
            }
        }
        let row = match (self.program.result.clone(), value) {
            (Result_::Outputs(list), _) => self.outputs(&list)?.1,
            (Result_::Row { ty }, Some(sql)) => {
                let (typed, variable) = self.row_or_value(sql)?;
                let message = if variable { "wrong record type supplied in RETURN NEXT" } else { RETURNED };
                vec![self.as_result_row(typed, ty, message)?]
            }
            (Result_::Scalar { ty }, Some(sql)) => {
                let typed = self.eval(sql)?;
                vec![convert::assign(self.host, typed.value, typed.ty, ty, -1)?]
            }
            _ => vec![Datum::Null],
        };
        self.rows.push(row);
        Ok(())
    }

    pub(super) fn return_query(&mut self, query: &Query) -> Result<()> {
        let (columns, rows, _) = self.query_rows(query)?;
        let result = self.program.result.clone();
        let (fields, as_record): (super::super::Fields, Option<pgsqlite_types::Oid>) = match &result {
            Result_::Outputs(list) => {
                let fields = list
                    .iter()
                    .map(|&v| {
                        let typed = self.variable(v);
                        // (a function of one output gives a value, which has no name)
                        let name = if list.len() == 1 { "" } else { &self.program.body.variables[v].name };
                        (name.to_string(), typed.ty, -1)
                    })
                    .collect();
                (fields, None)
            }
            Result_::Row { ty } if *ty == oid::RECORD => {
                (columns.iter().map(|c| (c.name.clone(), c.ty, c.typmod)).collect(), Some(*ty))
            }
            Result_::Row { ty } => (super::composite(self.host, *ty)?, Some(*ty)),
            Result_::Scalar { ty } => (vec![("".into(), *ty, -1)], None),
            Result_::Void | Result_::Trigger => (vec![], None),
        };
        let mismatch =
            || PgError::new(SqlState::DATATYPE_MISMATCH, "structure of query does not match function result type");
        if columns.len() != fields.len() {
            return Err(mismatch().detail(format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                columns.len(),
                fields.len()
            )));
        }
        let catalog = self.host.catalog();
        let names = |ty| pgsqlite_sql::deparse::Names::new(&catalog, &[catalog.public_schema()]).type_name(ty, -1);
        for (i, (column, (name, to, _))) in columns.iter().zip(&fields).enumerate() {
            // unlike an assignment this converts nothing
            if column.ty != *to && catalog.base_type(column.ty) != catalog.base_type(*to) {
                return Err(mismatch().detail(format!(
                    "Returned type {} does not match expected type {} in column \"{name}\" (position {}).",
                    names(column.ty),
                    names(*to),
                    i + 1
                )));
            }
        }
        self.count.set(rows.len() as u64);
        self.set_found(!rows.is_empty());
        for row in rows {
            self.rows.push(match as_record {
                Some(ty) => vec![super::super::record_of(&fields, &row, ty == oid::RECORD)],
                None => row,
            });
        }
        Ok(())
    }
}

/// Of a row that RETURN was given as an expression.
pub(super) const RETURNED: &str = "returned record type does not match expected record type";
