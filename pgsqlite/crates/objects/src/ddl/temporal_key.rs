//! PRIMARY KEY and UNIQUE … WITHOUT OVERLAPS: of two rows that agree in the other columns, the ranges in the last one have nothing in common.
//!
//! Such a key is an exclusion constraint that is called a key. No range may be empty, as an empty one has nothing in common with itself.

use super::create_table::KeySpec;
use super::Ddl;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{work, PgError, Result, SqlState};

impl Ddl<'_> {
    /// The key of `spec`; its index goes to `indexes`. Errors: 42703, 42701, 42804, 42601, 42704, 0A000.
    pub(super) fn add_temporal_key(
        &mut self,
        relation: &mut Relation,
        spec: &KeySpec,
        indexes: &mut Vec<Relation>,
    ) -> Result<()> {
        if relation.is_partitioned() {
            return Err(PgError::not_supported("WITHOUT OVERLAPS on a partitioned table").at(spec.location));
        }
        let missing = |name: &str| {
            PgError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" named in key does not exist"))
                .at(spec.location)
        };
        let attnum = |r: &Relation, name: &String| r.column(name).map(|c| c.attnum).ok_or_else(|| missing(name));
        let attnums: Vec<i16> = spec.columns.iter().map(|n| attnum(relation, n)).collect::<Result<_>>()?;
        let include: Vec<i16> = spec.include.iter().map(|n| attnum(relation, n)).collect::<Result<_>>()?;
        if let Some(twice) = (1..attnums.len()).find(|i| attnums[..*i].contains(&attnums[*i])) {
            let kind = if spec.primary { "primary key" } else { "unique" };
            let message = format!("column \"{}\" appears twice in {kind} constraint", spec.columns[twice]);
            return Err(PgError::new(SqlState::DUPLICATE_COLUMN, message).at(spec.location));
        }
        let period = attnums.last().and_then(|a| relation.column_by_attnum(*a)).cloned();
        let period = period.ok_or_else(|| PgError::internal("a key of no column"))?;
        self.check_is_period(&period).map_err(|e| e.at(spec.location))?;
        if attnums.len() < 2 {
            let message = "constraint using WITHOUT OVERLAPS needs at least two columns";
            return Err(PgError::new(SqlState::SYNTAX_ERROR, message));
        }
        if spec.nulls_not_distinct {
            return Err(PgError::not_supported("NULLS NOT DISTINCT with WITHOUT OVERLAPS").at(spec.location));
        }
        let used: Vec<i16> = attnums.iter().chain(&include).copied().collect();
        self.check_no_virtual(relation, &used, if spec.primary { "primary keys" } else { "unique constraints" })?;
        let (mut columns, mut exclusion) = (Vec::new(), Vec::new());
        for (i, name) in spec.columns.iter().enumerate() {
            work::visit();
            let element = ast::IndexElem { name: name.clone(), ..Default::default() };
            let key = self.index_key(relation, &element, "gist")?;
            let ty = relation.column(name).map_or(0, |c| c.type_oid);
            let operator = if i + 1 == spec.columns.len() { "&&" } else { "=" };
            exclusion.push(self.exclusion_operator(operator, ty, key.opclass)?);
            columns.push(key);
        }
        if spec.primary {
            for attnum in &attnums {
                work::visit();
                relation.columns[*attnum as usize - 1].not_null = true;
            }
        }
        let taken: Vec<String> = indexes.iter().map(|i| i.name.clone()).collect();
        let name = match (spec.name.is_empty(), spec.primary) {
            (false, _) => spec.name.clone(),
            (true, true) => self.choose_relation_name(relation.schema, &relation.name, "", "pkey", true, &taken),
            (true, false) => {
                let joined = super::naming::joined_columns(spec.columns.iter().map(String::as_str));
                // (PostgreSQL names the copies of LIKE as it names exclusion constraints)
                let word = if spec.location < 0 { "excl" } else { "key" };
                self.choose_relation_name(relation.schema, &relation.name, &joined, word, true, &taken)
            }
        };
        let index = Index {
            table: relation.oid,
            unique: false,
            primary: false,
            nulls_not_distinct: false,
            deferrable: spec.deferrable,
            exclusion,
            inverted: false,
            of_sqlite: false,
            method: "gist".into(),
            columns,
            include,
            predicate: None,
        };
        self.push_exclusion(relation, &name, index, spec.initially_deferred, indexes)?;
        if let Some(made) = relation.constraints.last_mut() {
            made.temporal = Some(if spec.primary { TemporalKey::Primary } else { TemporalKey::Unique });
        }
        if let Some(made) = indexes.last_mut() {
            made.storage.parameters.clone_from(&spec.parameters);
        }
        Ok(())
    }

    /// Errors: 42804.
    fn check_is_period(&self, column: &Column) -> Result<()> {
        use pgsqlite_types::codec::TypeCodec;
        let codec = self.catalog.codec(self.catalog.base_type(column.type_oid));
        if matches!(codec, Some(TypeCodec::Range(..) | TypeCodec::Multirange(..))) {
            return Ok(());
        }
        let message = format!("column \"{}\" in WITHOUT OVERLAPS is not a range or multirange type", column.name);
        Err(PgError::new(SqlState::DATATYPE_MISMATCH, message))
    }

    /// Errors: 23514 if a row that is there has an empty range in the last column of such a key.
    pub(super) fn check_periods(&self, table: &Relation, spec: &KeySpec) -> Result<()> {
        match spec.columns.last().filter(|_| spec.without_overlaps) {
            Some(period) => self.check_period(table, period),
            None => Ok(()),
        }
    }

    /// What a key WITHOUT OVERLAPS demands of its last column, after that has got another type. Errors: 42804, 23514.
    pub(super) fn check_converted_period(&self, table: &Relation, key: &Constraint) -> Result<()> {
        let period = key.temporal.and(key.columns.last()).and_then(|a| table.column_by_attnum(*a));
        let Some(period) = period else { return Ok(()) };
        self.check_is_period(period)?;
        self.check_period(table, &period.name)
    }

    fn check_period(&self, table: &Relation, period: &str) -> Result<()> {
        if self.any_row(table, &format!("{} IN ('empty', '{{}}')", quoted(period)))? {
            let message =
                format!("empty WITHOUT OVERLAPS value found in column \"{period}\" in relation \"{}\"", table.name);
            return Err(PgError::new(SqlState::CHECK_VIOLATION, message));
        }
        Ok(())
    }
}
