//! The values of variables: scalars, and rows whose fields have names and types of their own.

use super::super::{convert, record_of, Fields};
use super::run::Frame;
use super::Kind;
use pgsqlite_sql::plpgsql::Target;
use pgsqlite_types::{oid, record, Datum, Oid, PgError, Result, SqlState};
use std::rc::Rc;

/// What the fields of a row are.
#[derive(Debug, PartialEq)]
pub struct Shape {
    pub fields: Fields,
    /// the composite type; RECORD: none
    pub ty: Oid,
}

impl Shape {
    pub fn find(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|(n, _, _)| n == name)
    }
}

#[derive(Debug, Clone)]
pub struct Row {
    pub shape: Rc<Shape>,
    pub values: Vec<Datum>,
}

impl Row {
    /// As one value in storage form.
    pub fn datum(&self) -> Datum {
        record_of(&self.shape.fields, &self.values, self.shape.ty == oid::RECORD)
    }
}

#[derive(Debug, Clone)]
pub enum Value {
    Scalar(Datum),
    /// None: no row was assigned yet, or NULL
    Row(Option<Row>),
}

impl Value {
    /// A row of a table, as NEW and OLD are.
    pub fn row(shape: &Rc<Shape>, values: Option<&Vec<Datum>>) -> Value {
        Value::Row(values.map(|v| Row { shape: shape.clone(), values: v.clone() }))
    }
}

/// A value with its type.
#[derive(Debug, Clone)]
pub struct Typed {
    pub value: Datum,
    pub ty: Oid,
}

impl Frame<'_> {
    /// The row behind a value of a composite or record type.
    pub fn row_of(&self, typed: &Typed) -> Result<Option<Row>> {
        let Datum::Text(text) = &typed.value else { return Ok(None) };
        let broken = || PgError::corrupted("a stored record is malformed");
        let list = record::from_storage(text).ok_or_else(broken)?;
        let named = self.host.catalog().composite_fields(typed.ty);
        let (fields, ty): (Fields, Oid) = match named {
            Some(fields) => (fields, typed.ty),
            None => {
                let names = record::names(text).unwrap_or_else(|| (1..=list.len()).map(|i| format!("f{i}")).collect());
                (names.into_iter().zip(&list).map(|(n, (ty, _))| (n, *ty, -1)).collect(), oid::RECORD)
            }
        };
        let mut values: Vec<Datum> = list.into_iter().map(|(_, v)| v).collect();
        values.resize(fields.len(), Datum::Null);
        Ok(Some(Row { shape: Rc::new(Shape { fields, ty }), values }))
    }

    /// A row with the fields of a composite type, each converted.
    fn as_composite(&self, row: Row, ty: Oid) -> Result<Row> {
        if row.shape.ty == ty {
            return Ok(row);
        }
        let shape = self.shape_of(ty)?;
        let mut values = Vec::with_capacity(shape.fields.len());
        let mut given = row.values.into_iter().zip(&row.shape.fields);
        for (_, to, typmod) in &shape.fields {
            values.push(match given.next() {
                Some((value, (_, from, _))) => convert::assign(self.host, value, *from, *to, *typmod)?,
                None => Datum::Null,
            });
        }
        Ok(Row { shape, values })
    }

    pub fn shape_of(&self, ty: Oid) -> Result<Rc<Shape>> {
        let fields = super::composite(self.host, ty)?;
        Ok(Rc::new(Shape { fields, ty }))
    }

    /// Sets the variable of an argument; the value is of its type already.
    pub fn set_argument(&mut self, variable: usize, value: Datum) -> Result<()> {
        self.values[variable] = match &self.program.kinds[variable] {
            Kind::Scalar { .. } => Value::Scalar(value),
            Kind::Record(ty) => Value::Row(self.row_of(&Typed { value, ty: ty.unwrap_or(oid::RECORD) })?),
        };
        Ok(())
    }

    /// `variable := value`
    pub fn assign_variable(&mut self, variable: usize, typed: Typed) -> Result<()> {
        let declared = &self.program.body.variables[variable];
        let new = match &self.program.kinds[variable] {
            Kind::Scalar { ty, typmod } => {
                let value = convert::assign(self.host, typed.value, typed.ty, *ty, *typmod)?;
                if value.is_null() && declared.not_null {
                    return Err(PgError::new(
                        SqlState::NULL_VALUE_NOT_ALLOWED,
                        format!("null value cannot be assigned to variable \"{}\" declared NOT NULL", declared.name),
                    ));
                }
                Value::Scalar(value)
            }
            Kind::Record(declared) => {
                let is_row = typed.ty == oid::RECORD || self.host.catalog().composite_fields(typed.ty).is_some();
                if !is_row && !typed.value.is_null() {
                    return Err(PgError::new(
                        SqlState::DATATYPE_MISMATCH,
                        "cannot assign non-composite value to a record variable",
                    ));
                }
                match (self.row_of(&typed)?, declared) {
                    (Some(row), Some(ty)) => Value::Row(Some(self.as_composite(row, *ty)?)),
                    (Some(row), None) => Value::Row(Some(row)),
                    // (a record variable forgets what fields it had)
                    (None, _) => Value::Row(None),
                }
            }
        };
        self.values[variable] = new;
        Ok(())
    }

    /// What a field of a row variable is.
    pub fn field_of(&self, variable: usize, name: &str) -> Result<(usize, Oid, i32)> {
        let shape = self.known_shape(variable)?;
        match shape.find(name) {
            Some(i) => Ok((i, shape.fields[i].1, shape.fields[i].2)),
            None => Err(PgError::new(
                SqlState::UNDEFINED_COLUMN,
                format!("record \"{}\" has no field \"{name}\"", self.program.body.variables[variable].name),
            )),
        }
    }

    /// NEW or OLD of a trigger that has none: NULL, with the fields of the table.
    pub fn absent_row(&self, variable: usize) -> Option<&Rc<Shape>> {
        let first = self.program.triggers_from;
        let is_row = self.program.is_trigger() && (first..first + 2).contains(&variable);
        self.table_row.as_ref().filter(|_| is_row)
    }

    /// The shape of a row variable. Errors: 55000 for a record that nothing was assigned to.
    pub fn known_shape(&self, variable: usize) -> Result<Rc<Shape>> {
        match (&self.values[variable], &self.program.kinds[variable]) {
            (Value::Row(Some(row)), _) => Ok(row.shape.clone()),
            (_, Kind::Record(Some(ty))) => self.shape_of(*ty),
            _ => self.absent_row(variable).cloned().ok_or_else(|| {
                PgError::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("record \"{}\" is not assigned yet", self.program.body.variables[variable].name),
                )
                .detail("The tuple structure of a not-yet-assigned record is indeterminate.")
            }),
        }
    }

    /// Assigns to a variable or a field of one. (Subscripts are part of the value's expression.)
    pub fn assign_target(&mut self, target: &Target, typed: Typed) -> Result<()> {
        let [field, rest @ ..] = &target.fields[..] else { return self.assign_variable(target.variable, typed) };
        if !matches!(self.program.kinds[target.variable], Kind::Record(_)) {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                format!("\"{}.{field}\" is not a known variable", self.program.body.variables[target.variable].name),
            ));
        }
        if !rest.is_empty() {
            return Err(PgError::not_supported("an assignment to a field of a field"));
        }
        let (i, ty, typmod) = self.field_of(target.variable, field)?;
        let value = convert::assign(self.host, typed.value, typed.ty, ty, typmod)?;
        let shape = self.known_shape(target.variable)?;
        let slot = &mut self.values[target.variable];
        if matches!(slot, Value::Row(None)) {
            let values = vec![Datum::Null; shape.fields.len()];
            *slot = Value::Row(Some(Row { shape, values }));
        }
        if let Value::Row(Some(row)) = slot {
            row.values[i] = value;
        }
        Ok(())
    }

    /// A row into a record variable or a list of variables; None: there was no row, all become NULL.
    pub fn assign_row(
        &mut self,
        targets: &[Target],
        columns: &[super::super::statement::Column],
        row: Option<Vec<Datum>>,
    ) -> Result<()> {
        if let [target] = targets {
            if target.fields.is_empty() {
                if let Kind::Record(declared) = self.program.kinds[target.variable].clone() {
                    return self.assign_whole(target.variable, declared, columns, row);
                }
            }
        }
        let mut values = row.unwrap_or_default().into_iter();
        for (i, target) in targets.iter().enumerate() {
            let value = values.next().unwrap_or_default();
            let ty = columns.get(i).map_or(oid::UNKNOWN, |c| c.ty);
            let ty = if ty == oid::UNKNOWN { oid::TEXT } else { ty };
            self.assign_target(target, Typed { value, ty })?;
        }
        Ok(())
    }

    fn assign_whole(
        &mut self,
        variable: usize,
        declared: Option<Oid>,
        columns: &[super::super::statement::Column],
        row: Option<Vec<Datum>>,
    ) -> Result<()> {
        let fields: Fields = columns.iter().map(|c| (c.name.clone(), c.ty, c.typmod)).collect();
        let values = row.unwrap_or_else(|| vec![Datum::Null; fields.len()]);
        // rows of one query share their shape: plans that know it stay right
        let same = match &self.values[variable] {
            Value::Row(Some(old)) if old.shape.ty == oid::RECORD && old.shape.fields == fields => {
                Some(old.shape.clone())
            }
            _ => None,
        };
        let shape = same.unwrap_or_else(|| Rc::new(Shape { fields, ty: oid::RECORD }));
        let row = Row { shape, values };
        let row = match declared {
            Some(ty) => self.as_composite(row, ty)?,
            None => row,
        };
        self.values[variable] = Value::Row(Some(row));
        Ok(())
    }

    /// A variable's value with its type.
    pub fn variable(&self, variable: usize) -> Typed {
        match (&self.values[variable], &self.program.kinds[variable]) {
            (Value::Scalar(value), Kind::Scalar { ty, .. }) => Typed { value: value.clone(), ty: *ty },
            (Value::Row(Some(row)), _) => Typed { value: row.datum(), ty: row.shape.ty },
            (_, Kind::Record(ty)) => Typed { value: Datum::Null, ty: ty.unwrap_or(oid::RECORD) },
            (_, Kind::Scalar { ty, .. }) => Typed { value: Datum::Null, ty: *ty },
        }
    }

    /// The fields and values of the OUT parameters.
    pub fn outputs(&self, list: &[usize]) -> Result<(Fields, Vec<Datum>)> {
        let mut fields = Fields::new();
        let mut values = Vec::new();
        for &v in list {
            let typed = self.variable(v);
            fields.push((self.program.body.variables[v].name.clone(), typed.ty, -1));
            values.push(typed.value);
        }
        Ok((fields, values))
    }
}
