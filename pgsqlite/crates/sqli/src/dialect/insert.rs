//! INSERT, with Informix's rules for SERIAL columns: 0 asks for the next value, another value is taken and the sequence follows it.

use super::ast::*;
use super::column_order::columns_of;
use super::print::{ident, idents, literal, Printer};
use super::translation::{Keys, SerialInsert};
use super::Parse;
use crate::errors::Failure;
use crate::values::types::{serial_column, Type};
use pgsqlite_sql::catalog::Relation;
use pgsqlite_types::work;

impl Printer<'_> {
    pub(super) fn insert(
        &mut self,
        table: &Name,
        columns: &[String],
        source: &InsertSource,
    ) -> Parse<(String, Option<SerialInsert>)> {
        let relation = self.existing(table)?;
        let columns: Vec<String> = match columns {
            [] => columns_of(&self.environment.catalog, &relation).into_iter().map(|c| c.name.clone()).collect(),
            some => some.to_vec(),
        };
        let mut types = Vec::new();
        for name in &columns {
            work::visit();
            let column = relation.column(name).ok_or_else(|| Failure::new(-217, 0, name.clone()))?;
            types.push(Type::of_column(&self.environment.catalog, column));
        }
        self.insert_columns = columns.iter().cloned().zip(types.iter().copied()).collect();
        let serial = self.sequence_of(&relation)?;
        let place = serial.as_ref().and_then(|(name, _)| columns.iter().position(|c| c == name));
        let (mut given, mut parameter) = (false, None);
        let head = format!("INSERT INTO {} ({})", self.table(table)?, idents(&columns));
        let body = match source {
            InsertSource::Values(values) => {
                if values.len() != columns.len() {
                    return Err(Failure::new(-236, 0, ""));
                }
                self.plain_insert = values.iter().enumerate().all(|(i, v)| *v == Expr::Parameter(i));
                let mut out = Vec::new();
                for (i, (value, ty)) in values.iter().zip(&types).enumerate() {
                    work::visit();
                    let printed = self.assigned(value, *ty)?;
                    out.push(match (&serial, value) {
                        (Some(_), Expr::Number(n)) if place == Some(i) && n == "0" => "DEFAULT".into(),
                        (Some((_, sequence)), _) if place == Some(i) => {
                            given = true;
                            if let Expr::Parameter(i) = value {
                                parameter = Some(*i);
                            }
                            next_for_zero(&printed, sequence, *ty)
                        }
                        _ => printed,
                    });
                }
                format!("VALUES ({})", out.join(", "))
            }
            InsertSource::Query(query) => {
                let sources = self.query_columns(query)?;
                self.partial_items = true;
                let query = self.query(query)?;
                let names: Vec<String> = (1..=columns.len()).map(|i| format!("v{i}")).collect();
                let mut items = names.clone();
                for (i, ty) in types.iter().enumerate() {
                    work::visit();
                    let source = sources.as_ref().and_then(|s| s.get(i)?.1);
                    if let Some(converted) = self.converted(&names[i], source, *ty)? {
                        items[i] = converted;
                    }
                }
                if let (Some((_, sequence)), Some(place)) = (&serial, place) {
                    given = true;
                    items[place] = next_for_zero(&names[place], sequence, types[place]);
                }
                match items == names {
                    true => query,
                    false => format!("SELECT {} FROM ({query}) AS s({})", items.join(", "), names.join(", ")),
                }
            }
        };
        if self.locals.is_some() && matches!(source, InsertSource::Query(_)) {
            let serial = serial.map(|(_, sequence)| SerialInsert { sequence, given, parameter });
            return Ok((format!("{head} {body}"), serial));
        }
        let mut returned: Vec<String> = serial.iter().map(|(column, _)| column.clone()).collect();
        if self.locals.is_none() {
            returned.extend(self.keys(&relation)?);
        }
        let returning = match returned.is_empty() {
            true => String::new(),
            false => format!(" RETURNING {}", idents(&returned)),
        };
        let serial = serial.map(|(_, sequence)| SerialInsert { sequence, given, parameter });
        Ok((format!("{head} {body}{returning}"), serial))
    }

    /// The names of the columns that the client wants back.
    fn keys(&self, relation: &Relation) -> Parse<Vec<String>> {
        let missing = |name: &dyn std::fmt::Display| Failure::new(-217, 0, name.to_string());
        match &self.environment.keys {
            Keys::None => Ok(vec![]),
            Keys::Serial => Ok(serial_column(relation).map(|c| c.name.clone()).into_iter().collect()),
            Keys::Numbers(numbers) => {
                let columns = columns_of(&self.environment.catalog, relation);
                let column = |n: &i16| usize::try_from(*n).ok()?.checked_sub(1).and_then(|i| columns.get(i));
                numbers.iter().map(|n| Ok(column(n).ok_or_else(|| missing(n))?.name.clone())).collect()
            }
            Keys::Names(names) => {
                let column = |name: &String| relation.column(&name.to_lowercase()).or(relation.column(name));
                names.iter().map(|name| Ok(column(name).ok_or_else(|| missing(name))?.name.clone())).collect()
            }
        }
    }

    /// The table's SERIAL column and its sequence, as regclass reads it.
    fn sequence_of(&self, relation: &Relation) -> Parse<Option<(String, String)>> {
        let Some(column) = serial_column(relation) else { return Ok(None) };
        let catalog = &self.environment.catalog;
        let Some(sequence) = catalog.relation(column.sequence) else { return Ok(None) };
        let name = match sequence.temporary {
            true => format!("pg_temp.{}", ident(&sequence.name)),
            false => format!("{}.{}", ident(catalog.schema_name(sequence.schema)), ident(&sequence.name)),
        };
        Ok(Some((column.name.clone(), name)))
    }
}

fn next_for_zero(value: &str, sequence: &str, ty: Option<Type>) -> String {
    let ty = ty.map_or("bigint".into(), Type::storage);
    format!(
        "CASE WHEN ({value})::{ty} = 0 THEN nextval({}::regclass)::{ty} ELSE ({value})::{ty} END",
        literal(sequence)
    )
}
