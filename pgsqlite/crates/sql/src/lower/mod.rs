//! Typed tree → SQLite SQL.
//!
//! * [`conditions`]: what WHERE asks, in the form that SQLite finds indexes for
//! * [`decimals`]: arithmetic of numerics in one call
//! * [`exclusion`]: what EXCLUDE constraints look at
//! * [`expr`]: expressions; calls go through the table of [`crate::builtins::imp`]
//! * [`query`]: SELECT, VALUES, set operations, FROM
//! * [`frames`]: window frames that SQLite does not have
//! * [`gather`]: groups that several connections make
//! * [`groups`]: GROUP BY by hashing
//! * [`instead`]: views whose INSTEAD OF triggers do what is to be done
//! * [`join_order`]: the order in which tables are joined, where ANALYZE has seen them
//! * [`merge`] carries out MERGE
//! * [`modify`]: INSERT, UPDATE, DELETE, with CHECKs and generated columns
//! * [`postponed`]: outputs that are computed after sorting
//! * [`moments`]: comparisons of dates with timestamps
//! * [`evaluation_order`]: which of a new row's values is computed first
//! * functions that give rows are in [`sets`], SELECTs of several stages in [`stages`], modifications in WITH in [`with`]
//! * [`rewritten`]: what rules have made of a data modification
//! * [`proposed`]: after a constraint failed, the rows that the statement proposed
//!
//! Every sub-query's columns are named `c1`, `c2` …, every range table entry gets an alias `t1`, `t2` … unique in the
//! statement, so no name of the user can be captured. Besides the native functions of the table, lowering uses the
//! support functions named in [`support`].

mod aggregates;
mod casts;
mod computed_once;
mod conditions;
mod connectives;
mod decimals;
mod eager_groups;
mod evaluation_order;
pub mod exclusion;
mod expr;
mod frames;
mod from;
mod gather;
mod groups;
mod hash_join;
mod inherit;
mod instead;
pub mod inverted;
mod join_order;
mod kept_rows;
mod lists;
mod merge;
mod modify;
mod moments;
pub mod nearest;
mod on_conflict;
mod other_rows;
mod postponed;
pub mod proposed;
mod push_down;
mod quantified;
mod query;
mod rewritten;
mod row_checks;
mod row_locks;
mod sets;
mod sql_json;
mod stages;
mod table_columns;
mod triggered;
mod tuple_routing;
mod windows;
mod with;

use crate::analyze::{Environment, Statement};
use crate::catalog::{Relation, RelationKind};
pub(crate) use crate::names::quoted as quote;
use crate::plan::{Plan, PlanColumn, QueryPlan, Step, StepOutput, Tag};
use crate::typed::{Expr, Query, QueryBody, RowCheck, RteKind};
pub use groups::MOST_COLUMNS as MOST_GROUP_COLUMNS;
pub use inherit::missing_column;
use pgsqlite_types::{Oid, PgError, Result};
use with::query_reads;

/// SQLite functions that lowering calls besides those of the table; crate `engine` registers them.
/// What the SQLite index of the rows with a NULL in the key of a `NULLS NOT DISTINCT` index is called, before the index's OID.
pub const NULLS_INDEX: &str = "__pgsqlite_nulls_";

/// The name of that index.
pub fn nulls_index(index: Oid) -> String {
    format!("{NULLS_INDEX}{index}")
}

pub mod support {
    /// (type OID, typmod, text) → value: the type's text input
    pub const TEXT_IN: &str = "pg_text_in";
    /// (type OID, value) → text: the type's text output
    pub const TEXT_OUT: &str = "pg_text_out";
    /// (type OID, typmod, explicit, value) → value: length coercion
    pub const TYPMOD: &str = "pg_typmod";
    /// (types, lower, upper [, flags]) → range of a type of the user; types as typed natives have them
    pub const NEW_RANGE: &str = "pg_new_range";
    /// (types [, range or array of ranges]) → multirange of a type of the user
    pub const NEW_MULTIRANGE: &str = "pg_new_multirange";
    /// (value, 0 LIMIT, 1 OFFSET, 2 WITH TIES) → integer, -1 for NULL; 2201W/2201X for negative ones
    pub const LIMIT: &str = "pg_limit";
    /// aggregate: the only value; 21000 for a second row
    pub const SINGLE: &str = "pg_single";
    /// What follows a native aggregate's name for DISTINCT: (types of the arguments, argument …), rows sorted by them
    pub const DISTINCT_SUFFIX: &str = "_distinct";
    /// (value, condition, schema, table, constraint) → value; 23514 if the condition is false
    pub const CHECK: &str = "pg_check";
    /// (value, condition, view) → value; 44000 if the condition is not true
    pub const VIEW_CHECK: &str = "pg_view_check";
    /// (value, condition) → value; 42P10 if the condition is not true
    pub const ARBITER_CHECK: &str = "pg_arbiter_check";
    /// (value, condition, table, policy) → value; 42501 if the condition is not true
    pub const POLICY_CHECK: &str = "pg_policy_check";
    /// value, condition, table, policy or NULL, whether of MERGE: the value, or the error of a row that is there
    pub const EXISTING_CHECK: &str = "pg_existing_check";
    /// (value, condition, schema, table) → value; 23514 if the condition is not true
    pub const PARTITION_CHECK: &str = "pg_partition_check";
    /// (sequence, part) → last_value (part 0), is_called (part 1)
    pub const SEQUENCE: &str = "pg_sequence_state";
    /// (sequence of an INTEGER PRIMARY KEY) → the number that SQLite would give to the table's next row
    pub const NEXT_ROW_NUMBER: &str = "pg_next_row_number";
    /// (value, schema, table, column) → value; 23502 if it is NULL. For the rowid, which SQLite fills where a NULL is written.
    pub const NOT_NULL: &str = "pg_not_null";
    /// A value, if a condition holds of the last column of a key WITHOUT OVERLAPS: it is not empty.
    pub const PERIOD_CHECK: &str = "pg_period_check";
    /// (other …, value) → value, computed after the others
    pub const AFTER: &str = "pg_after";
    /// (attnum, value) → value, remembered until the statement ends
    pub const KEEP: &str = "pg_keep";
    /// (attnum) → the value that was remembered last; NULL if none was
    pub const KEPT: &str = "pg_kept";
    /// () → xmax of the row that INSERT returns: 0, or the transaction's number if the row was there and is updated
    pub const XMAX: &str = "pg_xmax";
    /// (condition) → condition; if it holds, the statement updates a row that was there
    pub const UPDATES: &str = "pg_updates";
    /// () → NULL; the statement is done with the row that it returned
    pub const NEXT_ROW: &str = "pg_next_row";
    /// (value, key …) → value; 21000 if the statement has touched the row with this key already
    pub const UNTOUCHED: &str = "pg_untouched";
    /// (table, key …) → NULL; the statement has touched the row with this key
    pub const TOUCH: &str = "pg_touch";
    /// (table, key …) → whether the statement has not touched the row with this key
    pub const IS_UNTOUCHED: &str = "pg_is_untouched";
    /// (value, schema, domain, not null, condition, constraint …) → value; 23514/23502
    pub const DOMAIN: &str = "pg_domain";
    /// (type OID, value, place, typmod) → value in canonical storage form
    pub const FOREIGN: &str = "pg_foreign";
    /// (nested, element …) → array
    pub const ARRAY: &str = "pg_array";
    /// (nested, array …) → the arrays' elements in one array
    pub const ARRAY_JOIN: &str = "pg_array_join";
    /// (type OID, value …) → the greatest or least that is not NULL; of equal ones the first
    pub const GREATEST: &str = "pg_greatest";
    pub const LEAST: &str = "pg_least";
    /// (text, what for) → 42P22: no collation can be told; NULL stays
    pub const NO_COLLATION: &str = "pg_no_collation";
    /// (text, locale) → text, in lower and upper case
    pub const LOWER: &str = "pg_icu_lower";
    pub const UPPER: &str = "pg_icu_upper";
    /// (array) → the same elements in one dimension
    pub const FLATTEN: &str = "pg_array_flatten";
    /// (array, subscript …) → element; (array, lower, upper …) → slice
    pub const ELEMENT: &str = "pg_array_element";
    pub const SLICE: &str = "pg_array_slice";
    /// (type, value, subscript) → a part of a geometric value; with the new part in front of the subscript → the changed value
    pub const PART: &str = "pg_geometric_part";
    pub const SET_PART: &str = "pg_geometric_set_part";
    /// (kind, source, target, array): a cast of every element
    pub const ARRAY_CAST: &str = "pg_array_cast";
    /// (type OID, value, …) → record
    pub const RECORD: &str = "pg_record";
    /// (name, type OID, value, …) → record whose fields have names
    pub const NAMED_RECORD: &str = "pg_named_record";
    /// (record, index from 0) → the field's value
    pub const FIELD: &str = "pg_record_field";
    /// (record, index from 0, type OID, value, number of fields, …) → the record with that field changed
    pub const SET_FIELD: &str = "pg_record_set";
    /// (record) → 1 if all fields are NULL; (record, 1) → 1 if none is
    pub const RECORD_IS_NULL: &str = "pg_record_is_null";
    /// (operator, record, record) → truth, of records whose fields differ in type or number
    pub const RECORD_COMPARE: &str = "pg_record_compare";
    /// (JSON array of records) → JSON array of their values' arrays
    pub const RECORD_ROWS: &str = "pg_record_rows";
    /// (JSON array, …) → JSON array of rows, the shorter ones padded with NULL
    pub const ZIP: &str = "pg_zip";
    /// table-valued: (kind, start, stop, step) → value, key: generate_series
    pub const SERIES: &str = "pg_series";
    /// (array, new value, subscript …) and (array, new values, lower, upper …) → the changed array; argument 0 is the type
    pub const SET_ELEMENT: &str = "pg_array_set_element";
    pub const SET_SLICE: &str = "pg_array_set_slice";
    /// () → 21000: MERGE would change a row twice
    pub const MERGE_TWICE: &str = "pg_merge_twice";
    /// (type OID, value) → integer that orders and spaces as the value does: microseconds or millionths
    pub const RANGE_KEY: &str = "pg_range_key";
    /// (type OID, value, base, offset, subtract, less) → whether the value is not beyond `base ± offset`
    pub const IN_RANGE: &str = "pg_in_range";
    /// (offset, 0 start or 1 end of the frame, counts rows or groups) → offset; 22004 NULL, 22013 negative
    pub const FRAME_OFFSET: &str = "pg_frame_offset";
    /// (kind, value) → JSON array of the terms that an inverted index keeps of the value
    pub const TERMS: &str = "pg_terms";
    /// (kind, strategy, value) → JSON array of covers {"exact": […], "ranges": [[from, behind], …]}: a value that satisfies the
    /// condition has one of the terms of each; NULL if any value might
    pub const COVERS: &str = "pg_terms_asked";
    /// (access method, number of lists) → of how many lists of an index for nearest values the rows are read
    pub const LISTS_ASKED: &str = "pg_lists_asked";
    /// (n) → n; 22016 if it is no place that nth_value can have
    pub const NTH: &str = "pg_nth";
    /// (percent, seed, row number, repeatable) → whether TABLESAMPLE takes the row
    pub const SAMPLE: &str = "pg_sample";
    /// `pg_lock_row(OID of the table, number, mode, policy)`: locks a row ([`crate::typed::RowLock`]); false: it is left out
    pub const LOCK_ROW: &str = "pg_lock_row";
    /// (JSON array of arrays) → array with a dimension more; 2202E where they differ in shape
    pub const NEST: &str = "pg_array_nest";
    /// (json, definitions, function's name) → JSON array of rows: json_to_record, json_to_recordset
    pub const JSON_ROWS: &str = "pg_json_rows";
    /// (what is written beside the arguments, argument …) → the value of an expression of SQL/JSON
    pub const JSON_OBJECT: &str = "pg_sql_json_object";
    pub const JSON_ARRAY: &str = "pg_sql_json_array";
    pub const JSON_PARSE: &str = "pg_sql_json";
    pub const JSON_SCALAR: &str = "pg_sql_json_scalar";
    pub const JSON_SERIALIZE: &str = "pg_sql_json_serialize";
    pub const IS_JSON: &str = "pg_is_json";
    pub const JSON_PATH: &str = "pg_sql_json_path";
    /// (table, document, argument …) → JSON array of rows
    pub const JSON_TABLE: &str = "pg_json_table";
    /// (function, types, argument …) → its result; (function, types, argument …) → JSON array of its rows
    pub const CALL: &str = "pg_call";
    /// as `CALL`, of an immutable function: SQLite takes it in the expressions of indexes
    pub const CALL_IMMUTABLE: &str = "pg_call_immutable";
    pub const CALL_ROWS: &str = "pg_call_rows";
    /// (function, types, argument …, expected types) → JSON array of arrays: of a function that gives records
    pub const CALL_RECORDS: &str = "pg_call_records";
    /// aggregate: (what, argument …) of an aggregate of the user; what: its OID, how its frame is (`f` it does not move, `m` moves,
    /// `i` moves and rows are taken out again by its own function), the types of direct and of aggregated arguments and the result
    pub const AGGREGATE: &str = "pg_aggregate";
    /// (what, direct argument …) → what the aggregate gives without rows
    pub const AGGREGATE_NONE: &str = "pg_aggregate_none";
    /// (cursor, table OID) → the number of the row that the cursor stands on; NULL if that is of another table
    pub const CURRENT_OF: &str = "pg_current_of";
    /// (date or timestamp) → its moment in the session's time zone, as a timestamp with time zone is stored
    pub const AS_MOMENT: &str = "pg_as_moment";
    /// (timestamp with time zone, last) → the first date whose midnight is not before the moment, or the last one not after it
    pub const DAY_BOUND: &str = "pg_day_bound";
    /// (program, operand …) → numeric: see `lower::decimals`
    pub const DECIMAL: &str = "pg_decimal";
    /// aggregates: (program, operand …) → `sum` and `avg` of what the program gives
    pub const DECIMAL_SUM: &str = "pg_decimal_sum";
    pub const DECIMAL_AVERAGE: &str = "pg_decimal_avg";
    /// aggregate: (plan, value …) → the number of a table of groups: see `lower::groups`
    pub const GROUP: &str = "pg_group";
    /// table-valued: (number) → the groups of that table
    pub const GROUPS: &str = "pg_groups";
    /// () → the number of the groups that were gathered for the statement: see `lower::gather`
    pub const GATHERED: &str = "pg_gathered";
    /// aggregate: (plan, value …) → the number of a table of rows: see `lower::hash_join`
    pub const HASH: &str = "pg_hash";
    /// table-valued: (number, key …) → the rows of that table with these keys
    pub const HASHED: &str = "pg_hashed";
    /// Keys of a join by hashing.
    pub const MOST_HASH_KEYS: usize = 4;
    /// Columns of a row that is joined by hashing.
    pub const MOST_HASHED: usize = 30;
    /// (number) → whether the value with this number has been computed for the statement
    pub const ONCE_KNOWN: &str = "pg_once_known";
    /// (number) → that value
    pub const ONCE_VALUE: &str = "pg_once_value";
    /// (number, value) → the value, which the statement remembers
    pub const ONCE_KEEP: &str = "pg_once_keep";
    /// () → 0A000: a statement that fires triggers is run by something that does not know of them
    pub const FIRES_TRIGGERS: &str = "pg_fires_triggers";
    /// (jsonb, new value, path element …) → the changed jsonb
    pub const SET_JSON: &str = "pg_jsonb_set_path";
}

/// SQLite's column of a table that has none: it is never read.
pub const NO_COLUMN: &str = "__pgsqlite_no_column";

/// Lowers an analyzed statement to a plan.
pub fn lower(environment: &Environment, statement: &Statement, parameters: Vec<Oid>) -> Result<Plan> {
    crate::parse::with_stack(|| {
        let mut lowerer = Lowerer { parameters: parameters.len(), ..Lowerer::new(environment) };
        match statement {
            Statement::Rewritten(rewritten) => rewritten::rewritten_plan(environment, rewritten, parameters),
            Statement::Query(query) => lowerer.query_plan(query, parameters),
            Statement::Modify(modify) => lowerer.modify_plan(modify, parameters),
        }
    })
}

/// Lowers a query that reads `row` (a query of SQLite's, in parentheses) wherever it names the table.
pub fn lower_over_row(
    environment: &Environment,
    query: &Query,
    parameters: Vec<Oid>,
    table: Oid,
    row: String,
) -> Result<Plan> {
    let count = parameters.len();
    let lowerer = Lowerer { parameters: count, instead_of_table: Some((table, row)), ..Lowerer::new(environment) };
    crate::parse::with_stack(|| { lowerer }.query_plan(query, parameters))
}

/// Lowers an expression over the columns of one relation (see [`crate::analyze::analyze_expression`]) to SQLite expression
/// text; columns are written as quoted bare names. For CHECK, generated columns, indexes and DEFAULT in SQLite's schema.
pub fn lower_expression(environment: &Environment, expr: &Expr, relation: Option<&Relation>) -> Result<String> {
    of_relation(environment, relation)?.expr(expr)
}

/// As [`lower_expression`], of the condition of an index. SQLite uses the index where a query's condition has the same text.
pub fn lower_condition(environment: &Environment, expr: &Expr, relation: Option<&Relation>) -> Result<String> {
    let mut lowerer = of_relation(environment, relation)?;
    lowerer.condition(expr)
}

fn of_relation<'a>(environment: &'a Environment<'a>, relation: Option<&Relation>) -> Result<Lowerer<'a>> {
    let mut lowerer = Lowerer::new(environment);
    let mut columns: Vec<String> = relation.map_or(vec![], |r| r.live_columns().map(|c| quote(&c.name)).collect());
    if let Some(relation) = relation {
        lowerer.compute_virtual(relation, &mut columns, None)?;
    }
    lowerer.scopes.push(Scope { entries: vec![columns], ..Default::default() });
    Ok(lowerer)
}

/// The SQL texts of the columns of a query level's range table, and the names of its WITH queries.
#[derive(Default)]
struct Scope {
    entries: Vec<Vec<String>>,
    ctes: Vec<String>,
    /// for entries on the far side of an outer join: what is NULL where there is no row of theirs
    present: Vec<Option<String>>,
    /// WITH queries of our own, which come before the query; and whether it takes them
    ahead: Vec<String>,
    takes_ahead: bool,
    /// its FROM is a derived table by whose rows the query's are divided: see [`gather`]
    divides_below: bool,
    divided: Option<gather::Divided>,
    /// its FROM has one item
    alone: bool,
    /// its groups are found by hashing
    hashed: bool,
    /// aggregates without GROUP BY over one table: it, and the attnums of the entry's columns
    whole_table: Option<(Oid, Vec<i16>)>,
    numbered: Option<frames::NumberedRows>,
}

struct Lowerer<'a> {
    env: &'a Environment<'a>,
    /// innermost last
    scopes: Vec<Scope>,
    /// for unique aliases
    counter: usize,
    /// The name, in small letters, of the table whose rows RETURNING shows: no alias within the statement may hide it.
    returning_name: Option<String>,
    /// what the rows that are written must satisfy besides the table's constraints
    row_checks: Vec<RowCheck>,
    /// Tables that several parts of the statement change: each row is changed by the first part that comes to it
    changed_by_several: Vec<Oid>,
    /// what VALUE of a domain's check is, while one is lowered
    domain_value: Option<String>,
    uses_catalog: bool,
    /// see [`Lowerer::has_collated_columns`]
    collated_columns: std::cell::OnceCell<bool>,
    /// what is lowered is the second term of WITH RECURSIVE
    in_recursive_term: bool,
    /// it is within so many sub-queries that SQLite may begin anew for each row: of expressions, and of LATERAL
    begun_anew: usize,
    /// what the statements name
    named: crate::plan::Named,
    /// a table (its OID) in whose place one row is read: a query
    instead_of_table: Option<(Oid, String)>,
    /// functions of the user that are called
    routines: Vec<Oid>,
    /// it calls a function that may wait for something, or take its time
    may_wait: bool,
    passes_over: crate::plan::PassesOver,
    /// ON CONFLICT was lowered
    upserts: bool,
    /// it calls a built-in function that changes data
    builtin_writes: bool,
    /// it calls a built-in function that waits
    waits: bool,
    /// it calls a built-in function that cannot be called twice for one call of the client's
    leaves_traces: bool,
    /// how many parameters the statement has
    parameters: usize,
    /// steps that come behind all that change rows
    after_statements: Vec<Step>,
    /// sub-queries that are computed once for a statement that is carried out row by row
    once: Vec<Expr>,
    /// data-modifying WITH queries that come behind the statement's own rows
    unread_parts: Vec<Step>,
    /// what is lowered is asked of each row of a query: what no row decides is computed once
    asks_rows: bool,
    /// what is lowered next decides where SQLite goes on, and is no value: see [`Lowerer::condition`]
    decides: bool,
    /// of the modification that was lowered last
    read_back: Option<crate::plan::ReadBack>,
    /// groups that several connections can make
    gather: Option<gather::Found>,
    /// it is lowered as a query by itself, of which several connections may make parts
    may_gather: bool,
}

impl<'a> Lowerer<'a> {
    fn new(env: &'a Environment<'a>) -> Lowerer<'a> {
        Lowerer {
            env,
            scopes: vec![],
            counter: 0,
            returning_name: None,
            row_checks: vec![],
            changed_by_several: vec![],
            domain_value: None,
            uses_catalog: false,
            collated_columns: std::cell::OnceCell::new(),
            in_recursive_term: false,
            begun_anew: 0,
            named: Default::default(),
            instead_of_table: None,
            routines: vec![],
            may_wait: false,
            passes_over: Default::default(),
            upserts: false,
            builtin_writes: false,
            waits: false,
            leaves_traces: false,
            parameters: 0,
            after_statements: vec![],
            once: vec![],
            unread_parts: vec![],
            asks_rows: false,
            decides: false,
            read_back: None,
            gather: None,
            may_gather: false,
        }
    }

    /// Whether a statement may meet columns that are in the order of a language. (All columns are looked at, so only for a
    /// statement that compares texts.)
    fn has_collated_columns(&self) -> bool {
        *self.collated_columns.get_or_init(|| self.env.catalog.has_collated_columns())
    }

    fn unique(&mut self, prefix: &str) -> String {
        loop {
            self.counter += 1;
            let name = [prefix, &self.counter.to_string()].concat();
            if self.returning_name.as_ref() != Some(&name) {
                return name;
            }
        }
    }

    fn query_plan(&mut self, query: &Query, parameters: Vec<Oid>) -> Result<Plan> {
        let mut steps = Vec::new();
        let mut modifies = Vec::new();
        let query = self.modifying_ctes(query, &mut steps, &mut modifies)?;
        let locks = row_locks::of_query(&query);
        self.may_gather = steps.is_empty() && modifies.is_empty() && !locks.any;
        let sql = self.query(&query)?;
        self.may_gather = false;
        steps.append(&mut self.after_statements);
        let gather = self.gather.take().filter(|_| self.may_be_divided()).and_then(|found| found.over(&sql));
        steps.push(Step::new(crate::plan::without_parts(sql), StepOutput::Rows, true));
        let columns = self.plan_columns(&query)?;
        Ok(Plan {
            parameters,
            columns: Some(columns),
            query: QueryPlan {
                writes: !modifies.is_empty(),
                named: std::mem::take(&mut self.named),
                locks_rows: locks.any,
                passes_over: self.passes_over,
                upserts: self.upserts,
                read_back: None,
                gather,
                current_of: None,
                assigns: None,
                rewritten: None,
                calls_writers: self.calls_writers() || steps.iter().any(|s| s.by_rows.is_some()),
                triggered: None,
                shape: crate::plan::Shape::of_query(&query),
                touches_few_rows: touches_few_rows(&query, self.env),
                waits_apart: modifies.is_empty() && !locks.any && steps.len() == 1 && self.waits_alone(),
                waits_aside: modifies.is_empty() && locks.any && steps.len() == 1 && self.waits_alone(),
                shares: false,
                constant: is_constant(&query),
                steps,
                tag: Tag::Select,
                modifies,
            },
            uses_catalog: self.uses_catalog,
        })
    }

    /// How a table whose rows are read is written in SQLite's SQL. The plan tells that it reads it.
    fn read_table(&mut self, relation: &Relation) -> String {
        if relation.oid != 0 {
            self.named.read.push(relation.oid);
        }
        match &self.instead_of_table {
            Some((table, row)) if *table == relation.oid => row.clone(),
            _ => table_name(relation),
        }
    }

    /// Whether functions are called that wait, and none that leaves other traces.
    fn waits_alone(&self) -> bool {
        self.waits && !self.leaves_traces && self.routines.is_empty()
    }

    /// Whether a function that is called may change data.
    fn calls_writers(&self) -> bool {
        self.builtin_writes || self.routines.iter().any(|&oid| crate::effects::may_write(self.env.catalog, oid))
    }

    fn plan_columns(&self, query: &Query) -> Result<Vec<PlanColumn>> {
        query
            .columns
            .iter()
            .map(|c| {
                self.check_type(c.ty)?;
                Ok(PlanColumn {
                    name: c.name.clone(),
                    type_oid: c.ty,
                    typmod: c.typmod,
                    table_oid: c.origin.0,
                    attnum: c.origin.1,
                })
            })
            .collect()
    }

    /// Refuses results of types that have no codec.
    fn check_type(&self, ty: Oid) -> Result<()> {
        if self.env.catalog.codec(ty).is_none() {
            return Err(PgError::not_supported(format!(
                "a result of type {}",
                pgsqlite_types::typmod::format_type(ty, -1).unwrap_or_else(|| ty.to_string())
            )));
        }
        Ok(())
    }
}

/// Whether at most a handful of rows are touched and nothing is computed that may take long: no FROM and no function, or a key
/// look-up in one table.
fn touches_few_rows(query: &Query, env: &Environment) -> bool {
    let QueryBody::Select(select) = &query.body else { return false };
    if select.from.is_empty() {
        let plain = |e: &Expr| matches!(e.kind, crate::typed::ExprKind::Const(_) | crate::typed::ExprKind::Param(_));
        return select.targets.iter().all(|t| plain(&t.expr));
    }
    let [crate::typed::FromItem::Entry(entry)] = &select.from[..] else { return false };
    let RteKind::Relation(relation) = &query.range_table[*entry].kind else { return false };
    if !query.range_table[*entry].only && env.catalog.stands_for_several(relation) {
        return false;
    }
    select
        .filter
        .as_ref()
        .is_some_and(|f| modify::has_key_lookup(f, *entry, relation, &query.range_table[*entry].columns))
}

/// Whether PostgreSQL would compute a query while planning it: no FROM, no sub-query, nothing but immutable functions.
fn is_constant(query: &Query) -> bool {
    use crate::typed::{CastMethod, ExprKind};
    let QueryBody::Select(select) = &query.body else { return false };
    let immutable = |oid: Oid| crate::builtins::catalog::proc_by_oid(oid).is_some_and(|p| p.volatility == b'i');
    let by_text = |from: Oid, to: Oid| {
        let io = |t: Oid| pgsqlite_types::catalog::by_oid(t);
        matches!((io(from), io(to)), (Some(from), Some(to)) if immutable(from.output) && immutable(to.input))
    };
    let varies = |e: &Expr| {
        crate::walk::any(e, &|e| match &e.kind {
            ExprKind::SubLink { .. } | ExprKind::SetFunc { .. } => true,
            // (`JSON(x)` is a cast)
            ExprKind::SqlJson { form, .. } => !matches!(**form, crate::sql_json::SqlJson::Parse { unique: false, .. }),
            ExprKind::Func { proc, .. } => !immutable(*proc),
            ExprKind::Op { op, .. } => !immutable(op.proc),
            ExprKind::Cast { method: CastMethod::Function(proc), .. } => !immutable(*proc),
            ExprKind::Cast { method: CastMethod::InOut, arg, .. } => !by_text(arg.ty, e.ty),
            _ => false,
        })
    };
    let counts = |e: &Option<Box<Expr>>| e.as_ref().is_none_or(|e| stages::plain_limit(e).is_some());
    let plain = counts(&query.limit) && counts(&query.offset);
    plain && select.from.is_empty() && query.ctes.is_empty() && !select.targets.iter().any(|t| varies(&t.expr))
}

/// A text literal of SQLite.
pub(crate) fn quote_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The name under which a table's rowid can be asked for: that of its column, or one of SQLite's that no column has.
pub fn rowid_name(relation: &Relation) -> Result<String> {
    if let Some(column) = relation.rowid_column.and_then(|a| relation.column_by_attnum(a)) {
        return Ok(quote(&column.name));
    }
    let taken = |name: &&str| relation.live_columns().any(|c| c.name.eq_ignore_ascii_case(name));
    ["rowid", "_rowid_", "oid"]
        .into_iter()
        .find(|n| !taken(n))
        .map(String::from)
        .ok_or_else(|| PgError::not_supported("this statement on a table with columns named rowid, _rowid_ and oid"))
}

/// The database (an attached one, in memory) of the tables that a statement makes for itself. They are not in SQLite's `temp`: a change of
/// that schema makes SQLite give up the statements that are running ("abort due to ROLLBACK" when they open their next table).
pub const SCRATCH: &str = "pg_scratch";

/// A table of [`SCRATCH`] as it is written in SQLite's SQL.
pub fn scratch_name(table: &str) -> String {
    format!("{SCRATCH}.{}", quote(table))
}

/// How a relation is written in SQLite's SQL: quoted, with the name of its database.
pub fn table_name(relation: &Relation) -> String {
    if relation.temporary && (relation.oid == 0 || crate::catalog::TRANSITION_TABLES.contains(&relation.oid)) {
        scratch_name(&relation.sqlite_name)
    } else if relation.temporary {
        ["temp.", &quote(&relation.sqlite_name)].concat()
    } else if relation.kind == RelationKind::System {
        quote(&relation.sqlite_name)
    } else {
        ["main.", &quote(&relation.sqlite_name)].concat()
    }
}
