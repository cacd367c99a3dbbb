//! After a constraint failed: the row that it failed for, as PostgreSQL's DETAIL tells it.
//!
//! SQLite undoes the statement and tells only the constraint's columns. [`pgsqlite_sql::lower::proposed`] gives the rows
//! that the statement proposes as a query; this file reads them in order and makes the error that PostgreSQL would have
//! raised first: NOT NULL, CHECK (by name), unique keys (by age) for each row, foreign keys after all rows.

use pgsqlite_sql::analyze::{row_security_counts, Environment};
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_sql::lower::proposed::{proposed_by_parts, proposed_rows, Proposed, Reference, UniqueKey};
use pgsqlite_sql::typed::{Cte, CteBody, Modify};
use pgsqlite_types::codec::{Context, TypeCodec};
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::collections::HashSet;

/// Statements of more rows keep SQLite's plain error.
const MOST_ROWS: usize = 100_000;
/// Bytes of a value that a DETAIL shows of a row (`maxfieldlen` of PostgreSQL).
const SHOWN_BYTES: usize = 64;

pub type RowValues = Vec<Datum>;

/// The rows that a modification proposes; None where they cannot be told.
pub fn proposed_of(environment: &Environment, modify: &Modify, code: SqlState) -> Result<Option<Proposed>> {
    match may_tell(environment, modify, code)? {
        true => proposed_rows(environment, modify),
        false => Ok(None),
    }
}

/// Values of rows are not told where policies hide some; of a foreign key, which names its table and no value then, is told.
fn may_tell(environment: &Environment, modify: &Modify, code: SqlState) -> Result<bool> {
    Ok(code == SqlState::FOREIGN_KEY_VIOLATION || !row_security_counts(environment, &modify.target)?)
}

/// The rows that each part of it proposes, where parts do different things.
pub fn proposed_by(environment: &Environment, modify: &Modify, code: SqlState) -> Result<Vec<Proposed>> {
    match may_tell(environment, modify, code)? {
        true => proposed_by_parts(environment, modify),
        false => Ok(vec![]),
    }
}

/// Whether two errors are of the same constraint.
pub fn same_constraint(a: &PgError, b: &PgError) -> bool {
    let constraint =
        |e: &PgError| (e.code(), e.fields().table.clone(), e.fields().constraint.clone(), e.fields().column.clone());
    constraint(a) == constraint(b)
}

/// The error with the row of the one part that has met it; None: several have, or none.
pub fn violation_of_parts(
    parts: &[Proposed],
    catalog: &Catalog,
    context: Context,
    reader: &mut dyn RowReader,
    parameters: &[Datum],
    error: &PgError,
) -> Result<Option<PgError>> {
    let mut found = None;
    for part in parts {
        let of_part = violation(part, catalog, context, reader, parameters, error.code())?;
        // (which foreign key is violated, SQLite does not tell)
        let of_key = error.code() == SqlState::FOREIGN_KEY_VIOLATION;
        let met = |e: &PgError| of_key || same_constraint(e, error);
        if let Some(of_part) = of_part.filter(met) {
            if found.replace(of_part).is_some() {
                return Ok(None);
            }
        }
    }
    Ok(found)
}

/// The same of the first WITH query, if it is a modification: those after it may read what it gives.
pub fn first_in_with(environment: &Environment, ctes: &[Cte], code: SqlState) -> Option<Proposed> {
    match &ctes.first()?.body {
        CteBody::Modify(modify) => proposed_of(environment, modify, code).ok().flatten(),
        CteBody::Query(_) => None,
    }
}

/// Whether an error is one that the proposed rows tell more of.
pub fn may_tell_more(error: &PgError) -> bool {
    let table_constraint = match error.code() {
        SqlState::FOREIGN_KEY_VIOLATION | SqlState::UNIQUE_VIOLATION | SqlState::WITH_CHECK_OPTION_VIOLATION => true,
        SqlState::NOT_NULL_VIOLATION | SqlState::CHECK_VIOLATION => error.fields().table.is_some(),
        _ => false,
    };
    table_constraint && error.fields().detail.is_none()
}

/// The error of the first of the proposed rows that PostgreSQL would have refused.
pub fn violation(
    proposed: &Proposed,
    catalog: &Catalog,
    context: Context,
    reader: &mut dyn RowReader,
    parameters: &[Datum],
    code: SqlState,
) -> Result<Option<PgError>> {
    let mut rows = Vec::new();
    // (a row that cannot be computed is no matter to those before it)
    let cut = match reader.read_into(&mut rows, &proposed.sql, parameters, MOST_ROWS) {
        Ok(true) => None,
        Ok(false) => return Ok(None),
        Err(e) => Some(e),
    };
    let schema = catalog.schema_name(proposed.relation.schema).to_string();
    let mut search = Search { proposed, schema, context, catalog, reader, parameters };
    if let Some(cut) = cut {
        if code == SqlState::FOREIGN_KEY_VIOLATION || code == SqlState::UNIQUE_VIOLATION && proposed.skips_conflicts {
            return Err(cut);
        }
    }
    if code != SqlState::FOREIGN_KEY_VIOLATION {
        // (which key's conflict is passed over, ON CONFLICT's target says)
        return match proposed.arbiter {
            Some(_) if code == SqlState::UNIQUE_VIOLATION && proposed.kept.is_empty() => {
                let rows = search.without_conflicts(rows)?;
                search.row_constraints(&rows, true)
            }
            // (what a row must be is looked at before its conflicts)
            _ if proposed.skips_conflicts => match code {
                SqlState::NOT_NULL_VIOLATION | SqlState::CHECK_VIOLATION => search.row_constraints(&rows, false),
                _ => Ok(None),
            },
            _ => search.row_constraints(&rows, true),
        };
    }
    let rows = if proposed.skips_conflicts { search.without_conflicts(rows)? } else { rows };
    search.foreign_keys(&rows)
}

/// What reads rows on the connection of a failed statement.
pub trait RowReader {
    /// Puts the rows of a query behind `rows`, those before an error, too. False: there are more than `most`.
    fn read_into(&mut self, rows: &mut Vec<RowValues>, sql: &str, parameters: &[Datum], most: usize) -> Result<bool>;
    /// All rows of a query; None: more than `most`.
    fn read(&mut self, sql: &str, parameters: &[Datum], most: usize) -> Result<Option<Vec<RowValues>>> {
        let mut rows = Vec::new();
        Ok(self.read_into(&mut rows, sql, parameters, most)?.then_some(rows))
    }
    /// How many values the statement has remembered for a column.
    fn kept(&self, attnum: i16) -> u64;
}

struct Search<'a> {
    proposed: &'a Proposed,
    schema: String,
    context: Context<'a>,
    catalog: &'a Catalog,
    reader: &'a mut dyn RowReader,
    parameters: &'a [Datum],
}

impl Search<'_> {
    // --- NOT NULL, CHECK, unique keys --------------------------------------------------------------------------------

    /// `keys`: the unique ones are looked at, too.
    fn row_constraints(&mut self, rows: &[RowValues], keys: bool) -> Result<Option<PgError>> {
        let p = self.proposed;
        let Some(new) = &p.new else { return Ok(None) };
        // with values that are told only once, the row that was evaluated last is the only one that is wholly known
        let mut whole = 0;
        let mut rows = rows;
        if let Some(first) = p.kept.first() {
            let last = self.reader.kept(*first) as usize;
            if last == 0 || last > rows.len() || p.kept.iter().any(|a| self.reader.kept(*a) as usize != last) {
                return Ok(None);
            }
            whole = last - 1;
            rows = &rows[..last];
        }
        // what the statement has written when a row is checked
        let mut written: Vec<HashSet<Vec<Vec<u8>>>> = p.unique.iter().map(|_| HashSet::new()).collect();
        let mut updated: HashSet<i64> = HashSet::new();
        for (sql, at) in &p.gone {
            let Some(gone) = self.reader.read(sql, self.parameters, MOST_ROWS)? else { return Ok(None) };
            updated.extend(gone.iter().filter_map(|row| if let Datum::Int(i) = row[*at] { Some(i) } else { None }));
        }
        for (i, row) in rows.iter().enumerate() {
            if i < whole {
                for (unique, written) in p.unique.iter().zip(&mut written).filter(|(u, _)| u.repeatable) {
                    self.unique_key(unique, row, written, &updated)?;
                }
                continue;
            }
            for (column, &at) in p.relation.live_columns().zip(new) {
                if column.needs_value() && row[at] == Datum::Null && !p.unknown.contains(&column.attnum) {
                    let error = PgError::new(
                        SqlState::NOT_NULL_VIOLATION,
                        format!(
                            "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                            column.name, p.relation.name
                        ),
                    )
                    .column(column.name.clone());
                    return self.with_row(error, row, new).map(Some);
                }
            }
            for (name, at) in &p.checks {
                if row[*at] == Datum::Int(0) {
                    let error = PgError::new(
                        SqlState::CHECK_VIOLATION,
                        format!("new row for relation \"{}\" violates check constraint \"{name}\"", p.relation.name),
                    )
                    .constraint(name.clone());
                    return self.with_row(error, row, new).map(Some);
                }
            }
            for (unique, written) in p.unique.iter().zip(&mut written).filter(|_| keys) {
                if let Some(error) = self.unique_key(unique, row, written, &updated)? {
                    return Ok(Some(error));
                }
            }
            if let Some((of, _)) = p.row_checks.iter().find(|(_, at)| row[*at] == Datum::Int(0)) {
                return self.with_values(of.violation(), row, new).map(Some);
            }
            if let Some(Datum::Int(rowid)) = p.rowid.map(|at| &row[at]) {
                updated.insert(*rowid);
            }
        }
        Ok(None)
    }

    fn with_row(&self, error: PgError, row: &RowValues, new: &[usize]) -> Result<PgError> {
        let error = error.schema(self.schema.clone()).table(self.proposed.relation.name.clone());
        self.with_values(error, row, new)
    }

    fn with_values(&self, error: PgError, row: &RowValues, new: &[usize]) -> Result<PgError> {
        if !self.proposed.unknown.is_empty() {
            return Ok(error);
        }
        let mut shown = Vec::new();
        for (column, &at) in self.proposed.relation.live_columns().zip(new) {
            shown.push(match column.is_virtual {
                true => "virtual".into(),
                false => clip(self.text(column.type_oid, &row[at])?),
            });
        }
        if let Some(visible) = &self.proposed.visible {
            let columns: Vec<&str> = self.proposed.relation.live_columns().map(|c| c.name.as_str()).collect();
            let names: Vec<&str> = visible.iter().filter_map(|at| columns.get(*at).copied()).collect();
            let values: Vec<&str> = visible.iter().filter_map(|at| shown.get(*at).map(String::as_str)).collect();
            return Ok(match names.is_empty() {
                true => error,
                false => {
                    error.detail(format!("Failing row contains ({}) = ({}).", names.join(", "), values.join(", ")))
                }
            });
        }
        if let Some(places) = &self.proposed.shown {
            shown = places.iter().filter_map(|p| shown.get(*p).cloned()).collect();
        }
        Ok(error.detail(format!("Failing row contains ({}).", shown.join(", "))))
    }

    fn unique_key(
        &mut self,
        unique: &UniqueKey,
        row: &RowValues,
        written: &mut HashSet<Vec<Vec<u8>>>,
        updated: &HashSet<i64>,
    ) -> Result<Option<PgError>> {
        if unique.predicate.is_some_and(|at| row[at] != Datum::Int(1)) {
            return Ok(None);
        }
        let key: Vec<Datum> = unique.key.iter().map(|(at, _)| row[*at].clone()).collect();
        if !unique.nulls_not_distinct && key.contains(&Datum::Null) {
            return Ok(None);
        }
        let own = self.proposed.rowid.map(|at| &row[at]);
        let stored = self.reader.read(&unique.lookup, &key, MOST_ROWS)?.unwrap_or_default();
        // rows that the statement has updated before have other keys now: those are in `written`
        let conflicts = stored
            .iter()
            .any(|found| Some(&found[0]) != own && !matches!(&found[0], Datum::Int(i) if updated.contains(i)));
        let mut shown = Vec::new();
        for (value, (_, ty)) in key.iter().zip(&unique.key) {
            shown.push(self.text(*ty, value)?);
        }
        let bytes = shown.iter().map(|s| s.as_bytes().to_vec()).collect();
        if !conflicts && written.insert(bytes) {
            return Ok(None);
        }
        let error = PgError::new(
            SqlState::UNIQUE_VIOLATION,
            format!("duplicate key value violates unique constraint \"{}\"", unique.name),
        );
        let error = match unique.hidden {
            true => error,
            false => error.detail(format!("Key ({})=({}) already exists.", unique.columns, shown.join(", "))),
        };
        Ok(Some(
            error
                .schema(self.schema.clone())
                .table(self.proposed.relation.name.clone())
                .constraint(unique.name.clone()),
        ))
    }

    /// The rows whose keys (that which ON CONFLICT names, or all) are not there yet.
    fn without_conflicts(&mut self, rows: Vec<RowValues>) -> Result<Vec<RowValues>> {
        let p = self.proposed;
        let mut written: Vec<HashSet<Vec<Vec<u8>>>> = p.unique.iter().map(|_| HashSet::new()).collect();
        let mut out = Vec::new();
        for row in rows {
            let mut stays = true;
            for (at, (unique, written)) in p.unique.iter().zip(&mut written).enumerate() {
                if p.arbiter.is_none_or(|arbiter| arbiter == at) {
                    stays &= self.unique_key(unique, &row, written, &HashSet::new())?.is_none();
                }
            }
            if stays {
                out.push(row);
            }
        }
        Ok(out)
    }

    // --- foreign keys ------------------------------------------------------------------------------------------------

    fn foreign_keys(&mut self, rows: &[RowValues]) -> Result<Option<PgError>> {
        let p = self.proposed;
        for row in rows {
            if let Some(new) = &p.new {
                for reference in &p.references {
                    if let Some(error) = self.without_parent(reference, row, new, rows)? {
                        return Ok(Some(error));
                    }
                }
            }
            if let Some(old) = &p.old {
                for reference in &p.referenced_by {
                    if let Some(error) = self.with_children(reference, row, old, rows)? {
                        return Ok(Some(error));
                    }
                }
            }
        }
        Ok(None)
    }

    /// A new row whose key is in no row of the table it references.
    fn without_parent(
        &mut self,
        reference: &Reference,
        row: &RowValues,
        new: &[usize],
        rows: &[RowValues],
    ) -> Result<Option<PgError>> {
        let p = self.proposed;
        let columns: Vec<_> = p.relation.live_columns().collect();
        if reference
            .key
            .iter()
            .any(|at| p.kept.contains(&columns[*at].attnum) || p.unknown.contains(&columns[*at].attnum))
        {
            return Ok(None);
        }
        let key: Vec<Datum> = reference.key.iter().map(|at| row[new[*at]].clone()).collect();
        if key.contains(&Datum::Null) {
            return Ok(None);
        }
        let mut found = !self.reader.read(&reference.lookup, &key, 1)?.is_some_and(|rows| rows.is_empty());
        if let Some(other) = &reference.other {
            found |= rows.iter().any(|r| other.iter().zip(&key).all(|(at, value)| r[new[*at]] == *value));
        }
        if found {
            return Ok(None);
        }
        let shown = self.key_text(&reference.key, &key)?;
        Ok(Some(missing_parent(
            (&reference.child_schema, &reference.child),
            &reference.constraint,
            &match reference.hidden {
                true => "Key".to_string(),
                false => format!("Key ({})=({shown})", reference.columns),
            },
            &reference.parent,
        )))
    }

    /// An old row whose key goes while rows still reference it.
    fn with_children(
        &mut self,
        reference: &Reference,
        row: &RowValues,
        old: &[usize],
        rows: &[RowValues],
    ) -> Result<Option<PgError>> {
        let p = self.proposed;
        let key: Vec<Datum> = reference.key.iter().map(|at| row[old[*at]].clone()).collect();
        let stays = p.new.as_ref().is_some_and(|new| reference.key.iter().zip(&key).all(|(at, v)| row[new[*at]] == *v));
        if stays || key.contains(&Datum::Null) {
            return Ok(None);
        }
        let children = self.reader.read(&reference.lookup, &key, MOST_ROWS)?.unwrap_or_default();
        // rows of the same table that the statement deletes reference nothing any more
        let gone: HashSet<i64> = match (p.rowid, &reference.other, &p.new) {
            (Some(at), Some(_), None) => {
                rows.iter().filter_map(|r| if let Datum::Int(i) = r[at] { Some(i) } else { None }).collect()
            }
            _ => HashSet::new(),
        };
        if !children.iter().any(|c| !matches!(&c[0], Datum::Int(i) if gone.contains(i))) {
            return Ok(None);
        }
        let shown = self.key_text(&reference.key, &key)?;
        Ok(Some(still_referenced(
            (&reference.child_schema, &reference.child),
            &reference.constraint,
            &match reference.hidden {
                true => "Key".to_string(),
                false => format!("Key ({})=({shown})", reference.columns),
            },
            &reference.parent,
            reference.restricts,
        )))
    }

    // --- text ----------------------------------------------------------------------------------------------------------

    fn key_text(&self, positions: &[usize], key: &[Datum]) -> Result<String> {
        let columns: Vec<_> = self.proposed.relation.live_columns().collect();
        let mut shown = Vec::new();
        for (at, value) in positions.iter().zip(key) {
            shown.push(self.text(columns[*at].type_oid, value)?);
        }
        Ok(shown.join(", "))
    }

    fn text(&self, type_oid: Oid, value: &Datum) -> Result<String> {
        printed(self.catalog, &self.context, type_oid, value)
    }
}

/// A row that references one that is not there. `key`: `Key (columns)=(values)`, or `Key`.
pub fn missing_parent(child: (&str, &str), constraint: &str, key: &str, parent: &str) -> PgError {
    let (schema, table) = child;
    PgError::new(
        SqlState::FOREIGN_KEY_VIOLATION,
        format!("insert or update on table \"{table}\" violates foreign key constraint \"{constraint}\""),
    )
    .detail(format!("{key} is not present in table \"{parent}\"."))
    .schema(schema)
    .table(table)
    .constraint(constraint)
}

/// A row that is referenced and is to go or to change. `key`: `Key (columns)=(values)`, or `Key`. `restricts`: the action of the key is
/// RESTRICT, and not NO ACTION.
pub fn still_referenced(child: (&str, &str), constraint: &str, key: &str, parent: &str, restricts: bool) -> PgError {
    let (schema, table) = child;
    let (code, setting, still) = match restricts {
        true => (SqlState::RESTRICT_VIOLATION, "RESTRICT setting of ", ""),
        false => (SqlState::FOREIGN_KEY_VIOLATION, "", "still "),
    };
    PgError::new(
        code,
        format!(
            "update or delete on table \"{parent}\" violates {setting}foreign key constraint \"{constraint}\" on table \"{table}\""
        ),
    )
    .detail(format!("{key} is {still}referenced from table \"{table}\"."))
    .schema(schema)
    .table(table)
    .constraint(constraint)
}

/// A value as its type's output function prints it.
pub fn printed(catalog: &Catalog, context: &Context, type_oid: Oid, value: &Datum) -> Result<String> {
    if *value == Datum::Null {
        return Ok("null".into());
    }
    let codec = catalog
        .codec(type_oid)
        .or_else(|| TypeCodec::builtin(type_oid))
        .ok_or_else(|| PgError::not_supported("the output of a type without codec"))?;
    let mut out = Vec::new();
    codec.text_out(value.as_ref(), context, &mut out)?;
    String::from_utf8(out).map_err(|_| PgError::internal("text output that is no UTF-8"))
}

/// At most [`SHOWN_BYTES`] of a value, whole characters, with `...` where more was there.
/// A value as DETAIL shows it of a row.
pub fn shown(catalog: &Catalog, context: &Context, type_oid: Oid, value: &Datum) -> Result<String> {
    Ok(clip(printed(catalog, context, type_oid, value)?))
}

fn clip(mut text: String) -> String {
    if text.len() > SHOWN_BYTES {
        let end = (0..=SHOWN_BYTES).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    text
}
