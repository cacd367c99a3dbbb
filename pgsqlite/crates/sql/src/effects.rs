//! Whether a function of the user may change data, as far as its body tells: then the statement that calls it needs the writer
//! slot before it begins.
//!
//! A false positive costs other writers a wait. Where a change is not foreseen although the function does change data (a text that only
//! execution makes, in a function that is not volatile), the engine refuses the change when it comes.

use crate::analyze::sql_body;
use crate::builtins::catalog::Aggregate;
use crate::catalog::{Catalog, ConstraintKind, Relation, RelationKind};
use crate::parse::NodeEnum;
use crate::plpgsql::{self, Given, Query, Statement, StatementKind as K};
use crate::routine::{Function, Language};
use pgsqlite_types::{oid, Oid};
use std::collections::HashSet;

/// Whether a call of the function may change data.
pub fn may_write(catalog: &Catalog, function: Oid) -> bool {
    writes(catalog, function, &mut HashSet::new())
}

/// The tables whose rows a call of a function may change.
pub enum Changes {
    /// of no table
    Nothing,
    Tables(HashSet<Oid>),
    /// it is not known of which
    Anything,
}

impl Changes {
    pub fn may_concern(&self, table: Oid) -> bool {
        match self {
            Changes::Nothing => false,
            Changes::Tables(tables) => tables.contains(&table),
            Changes::Anything => true,
        }
    }
}

/// Whose rows a call of the function may change, as far as the names in its body and in those of the functions that it calls tell.
pub fn changes(catalog: &Catalog, function: Oid) -> Changes {
    if !may_write(catalog, function) {
        return Changes::Nothing;
    }
    let (mut functions, mut seen) = (vec![function], HashSet::from([function]));
    let mut tables: HashSet<Oid> = HashSet::new();
    while let Some(oid) = functions.pop() {
        let Some(f) = catalog.function(oid) else { continue };
        if let Some(aggregate) = &f.aggregate {
            functions.extend(functions_of(aggregate).filter(|oid| seen.insert(*oid)));
            continue;
        }
        let lower = f.source.to_lowercase();
        let body = Words::of(&lower);
        if body.words.contains("execute") {
            return Changes::Anything;
        }
        functions.extend(body.functions(catalog).filter(|oid| seen.insert(*oid)));
        let mut found: Vec<Oid> = catalog.relations.values().filter(|r| body.name(&r.name)).map(|r| r.oid).collect();
        while let Some(oid) = found.pop() {
            let Some(relation) = catalog.relation(oid).filter(|_| tables.insert(oid)) else { continue };
            // (a change of a view is one of what its query reads)
            if matches!(relation.kind, RelationKind::View { .. }) || !relation.rules.is_empty() {
                return Changes::Anything;
            }
            functions.extend(relation.triggers.iter().map(|t| t.function).filter(|oid| seen.insert(*oid)));
            found.extend(&relation.inheritance.parents);
            let follows = |other: &&std::sync::Arc<Relation>| {
                other.inheritance.parents.contains(&oid)
                    || other
                        .constraints
                        .iter()
                        .any(|c| matches!(c.kind, ConstraintKind::ForeignKey { references, .. } if references == oid))
            };
            found.extend(catalog.relations.values().filter(follows).map(|r| r.oid));
        }
    }
    Changes::Tables(tables)
}

/// Whether a call of a built-in function may wait for something (`pg_sleep`, `pg_advisory_lock`): of the volatile ones all but those
/// that are known to come back at once.
pub fn may_wait(function: Oid) -> bool {
    const QUICK: [&str; 9] = [
        "nextval",
        "currval",
        "lastval",
        "setval",
        "random",
        "gen_random_uuid",
        "uuid_generate_v4",
        "clock_timestamp",
        "timeofday",
    ];
    crate::builtins::catalog::proc_by_oid(function)
        .is_none_or(|p| p.volatility == b'v' && !QUICK.contains(&p.name.as_str()))
}

/// Whether a call of the procedure may end the transaction.
pub fn may_end_transaction(catalog: &Catalog, procedure: Oid) -> bool {
    let Some(procedure) = catalog.function(procedure) else { return false };
    match procedure.language {
        Language::PlPgSql => parsed(procedure).is_none_or(|body| block_may_end_transaction(catalog, &body.block)),
        // (what it calls may say so)
        Language::Sql => any_ends_transaction(catalog),
        Language::Internal => false,
    }
}

/// Whether a block of PL/pgSQL may end the transaction: by COMMIT or ROLLBACK, or by a procedure that it calls itself or in a text that only
/// execution makes.
pub fn block_may_end_transaction(catalog: &Catalog, block: &plpgsql::Block) -> bool {
    let mut calls = false;
    plpgsql::walk_block(block, &mut |s| calls |= matches!(s.kind, K::Call(_) | K::DynamicExecute { .. }));
    ends_transaction(block) || calls && any_ends_transaction(catalog)
}

/// Whether COMMIT or ROLLBACK is a statement of the block.
fn ends_transaction(block: &plpgsql::Block) -> bool {
    let mut ends = false;
    plpgsql::walk_block(block, &mut |s| ends |= matches!(s.kind, K::Commit { .. } | K::Rollback { .. }));
    ends
}

/// Whether some procedure has COMMIT or ROLLBACK.
fn any_ends_transaction(catalog: &Catalog) -> bool {
    let mut procedures = catalog.routines.values().map(|r| &r.function).filter(|f| f.procedure);
    procedures.any(|f| f.language == Language::PlPgSql && parsed(f).is_none_or(|body| ends_transaction(&body.block)))
}

/// Whether the body of a function reads tables, or may do so, by itself or through functions that it names.
pub fn may_read_tables(catalog: &Catalog, function: Oid) -> bool {
    reads(catalog, function, &mut HashSet::new())
}

fn reads(catalog: &Catalog, oid: Oid, seen: &mut HashSet<Oid>) -> bool {
    let Some(function) = catalog.function(oid) else { return false };
    if !seen.insert(oid) {
        return false;
    }
    let nodes = match function.language {
        Language::Internal => return false,
        Language::Sql => match sql_body(function) {
            Ok(nodes) if !nodes.iter().any(|node| names_table(node, &|_| true)) => nodes,
            _ => return true,
        },
        Language::PlPgSql => match parsed(function) {
            Some(body) if !body_reads(catalog, &body) => nodes_of(&body),
            _ => return true,
        },
    };
    called(catalog, &nodes).into_iter().any(|oid| reads(catalog, oid, seen))
}

/// The queries and expressions of a body, each of the latter as a SELECT.
fn nodes_of(body: &plpgsql::Body) -> Vec<NodeEnum> {
    let texts = plpgsql::texts(body).into_iter();
    texts.flat_map(|sql| read_text(sql).unwrap_or_default()).map(|s| s.node).collect()
}

fn read_text(sql: &plpgsql::Sql) -> pgsqlite_types::Result<Vec<crate::parse::RawStatement>> {
    // (an expression is no statement)
    crate::parse::parse(&sql.text).or_else(|_| crate::parse::parse(&format!("SELECT {}", sql.text)))
}

/// The functions of the user that statements may call: those whose names they have, and those of operators and of casts, of which a statement
/// need not have a word (BETWEEN, ORDER BY).
fn called(catalog: &Catalog, nodes: &[NodeEnum]) -> Vec<Oid> {
    let mut names = HashSet::new();
    for (node, ..) in nodes.iter().flat_map(|n| n.nodes()) {
        let pg_query::NodeRef::FuncCall(call) = node else { continue };
        if let Some(NodeEnum::String(name)) = call.funcname.last().and_then(|n| n.node.as_ref()) {
            names.insert(name.sval.as_str());
        }
    }
    let named = catalog.routines.values().map(|r| &r.function).filter(|f| names.contains(f.name.as_str()));
    let operators = catalog.operators.values().map(|o| o.definition.proc);
    let casts = catalog.casts.values().map(|c| c.function);
    named.map(|f| f.oid).chain(operators).chain(casts).collect()
}

fn names_table(node: &NodeEnum, is_table: &dyn Fn(&str) -> bool) -> bool {
    node.nodes().into_iter().any(|(n, ..)| matches!(n, pg_query::NodeRef::RangeVar(r) if is_table(&r.relname)))
}

/// Whether a body names a table of the user, or runs a text that only execution makes.
fn body_reads(catalog: &Catalog, body: &plpgsql::Body) -> bool {
    let is_table = |name: &str| catalog.relations.values().any(|r| r.name == name);
    let mut runs_texts = false;
    plpgsql::walk_block(&body.block, &mut |s| {
        let query = match &s.kind {
            K::DynamicExecute { .. } => return runs_texts = true,
            K::ForQuery { query, .. } | K::ReturnQuery(query) | K::Open { query: Some(query), .. } => query,
            _ => return,
        };
        runs_texts |= matches!(query, Query::Dynamic { .. });
    });
    let names =
        |sql: &plpgsql::Sql| read_text(sql).map_or(true, |read| read.iter().any(|s| names_table(&s.node, &is_table)));
    runs_texts || plpgsql::texts(body).into_iter().any(names)
}

/// PostgreSQL's own functions that wait for a time or a lock.
const WAITING: [&str; 7] = [
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "pg_advisory_lock",
    "pg_advisory_lock_shared",
    "pg_advisory_xact_lock",
    "pg_advisory_xact_lock_shared",
];

/// Whether a call of a built-in function waits for a time or a lock.
pub fn waits(function: Oid) -> bool {
    crate::builtins::catalog::proc_by_oid(function).is_some_and(|p| WAITING.contains(&p.name.as_str()))
}

/// Whether somebody may notice that a volatile built-in function was called once more. (What waits is done once: the session
/// remembers it.)
pub fn leaves_traces(function: Oid) -> bool {
    const TRACELESS: [&str; 6] = ["clock_timestamp", "timeofday", "random", "gen_random_uuid", "currval", "lastval"];
    let is_traceless =
        |p: &crate::builtins::catalog::Proc| TRACELESS.contains(&p.name.as_str()) || WAITING.contains(&p.name.as_str());
    !crate::builtins::catalog::proc_by_oid(function).is_some_and(is_traceless)
}

/// PostgreSQL's own functions that change data.
const BUILTIN_WRITERS: [&str; 8] =
    ["lo_creat", "lo_create", "lo_from_bytea", "lo_put", "lo_truncate", "lo_truncate64", "lo_unlink", "lowrite"];

/// Whether a call of a built-in function changes data.
pub fn builtin_writes(function: Oid) -> bool {
    crate::builtins::catalog::proc_by_oid(function).is_some_and(|p| BUILTIN_WRITERS.contains(&p.name.as_str()))
}

/// Whether a built-in function runs a query that it is given as a text: the statement that calls it reads what it does not name.
pub fn runs_texts(function: Oid) -> bool {
    const SOURCES: [&str; 3] = ["ts_stat1", "ts_stat2", "tsquery_rewrite_query"];
    crate::builtins::catalog::proc_by_oid(function).and_then(|p| p.src).is_some_and(|src| SOURCES.contains(&src))
}

/// Whether a body of PL/pgSQL (of DO) may change data.
pub fn body_may_write(catalog: &Catalog, body: &plpgsql::Body, source: &str) -> bool {
    block_writes(&body.block) || names_writer(catalog, source, &mut HashSet::new())
}

/// Whether the statements of a block themselves change data, or run a text that is not known.
pub fn block_writes(block: &plpgsql::Block) -> bool {
    let mut found = false;
    plpgsql::walk_block(block, &mut |s| found |= statement_writes(s));
    found
}

/// Whether a block changes data itself, or calls a function that may.
pub fn block_may_write(catalog: &Catalog, block: &plpgsql::Block, source: &str) -> bool {
    block_writes(block) || names_writer(catalog, source, &mut HashSet::new())
}

fn writes(catalog: &Catalog, oid: Oid, seen: &mut HashSet<Oid>) -> bool {
    let Some(function) = catalog.function(oid) else { return false };
    if !seen.insert(oid) {
        return false;
    }
    if let Some(aggregate) = &function.aggregate {
        return functions_of(aggregate).any(|oid| writes(catalog, oid, seen));
    }
    if function.volatility != b'v' {
        return false;
    }
    let own = match function.language {
        // another name of one that changes nothing
        Language::Internal => return false,
        Language::Sql => sql_body(function).map_or(true, |body| body.iter().any(node_writes)),
        Language::PlPgSql => parsed(function).is_none_or(|body| block_writes(&body.block)),
    };
    own || names_writer(catalog, &function.source, seen)
}

/// The body alone: what it may and may not do does not matter here, only that all names are known.
fn parsed(function: &Function) -> Option<plpgsql::Body> {
    plpgsql::parse(&function.source, &given_of(function)).ok()
}

/// What the body of a function sees before its first declaration, by names; types are those of the declaration.
pub fn given_of(function: &Function) -> Given {
    use crate::plpgsql::TypeRef;
    let mut variables = vec![(vec!["found".to_string()], TypeRef::Known(oid::BOOL, -1))];
    if function.is_trigger() {
        for (name, ty) in TRIGGER_VARIABLES {
            let ty = if *ty == 0 { TypeRef::Record } else { TypeRef::Known(*ty, -1) };
            variables.push((vec![name.to_string()], ty));
        }
    }
    if function.is_event_trigger() {
        let texts = ["tg_event", "tg_tag"].map(|name| (vec![name.to_string()], TypeRef::Known(oid::TEXT, -1)));
        variables.extend(texts);
    }
    for (i, argument) in function.arguments.iter().enumerate() {
        let mut names = Vec::new();
        if !argument.name.is_empty() {
            names.push(argument.name.clone());
        }
        // $n counts all parameters
        names.push(format!("${}", i + 1));
        variables.push((names, TypeRef::Known(argument.type_oid, -1)));
    }
    let outputs = function.outputs().count();
    Given {
        name: function.name.clone(),
        variables,
        returns_set: function.returns_set,
        returns_nothing: !function.returns_set
            && outputs == 0
            && (matches!(function.returns, oid::VOID | oid::EVENT_TRIGGER) || function.procedure),
        has_outputs: outputs > 0,
        procedure: function.procedure,
    }
}

/// The variables of trigger functions with their types; 0: a record.
pub const TRIGGER_VARIABLES: &[(&str, Oid)] = {
    use pgsqlite_types::oid::{INT4, NAME, OID, TEXT, TEXT_ARRAY};
    &[
        ("new", 0),
        ("old", 0),
        ("tg_name", NAME),
        ("tg_when", TEXT),
        ("tg_level", TEXT),
        ("tg_op", TEXT),
        ("tg_relid", OID),
        ("tg_relname", NAME),
        ("tg_table_name", NAME),
        ("tg_table_schema", NAME),
        ("tg_nargs", INT4),
        ("tg_argv", TEXT_ARRAY),
    ]
};

/// Whether the text of a body has the name of a function in it that may change data. (The text, not its trees: a call may be hidden in a string
/// that the body runs, an operator or a cast; and a body is asked for each time that a statement which calls it is planned, where parsing all
/// of it would cost more than who waits for nothing.)
fn names_writer(catalog: &Catalog, text: &str, seen: &mut HashSet<Oid>) -> bool {
    let lower = text.to_lowercase();
    let body = Words::of(&lower);
    BUILTIN_WRITERS.iter().any(|name| body.words.contains(name))
        || body.functions(catalog).any(|oid| writes(catalog, oid, seen))
}

/// The words of a body, in small letters.
struct Words<'t> {
    lower: &'t str,
    words: HashSet<&'t str>,
}

impl<'t> Words<'t> {
    fn of(lower: &'t str) -> Words<'t> {
        let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).collect();
        Words { lower, words }
    }

    /// Whether a name is among them, or stands in the body if it is more than a word.
    fn name(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.words.contains(name.as_str())
            || name.contains(|c: char| !(c.is_alphanumeric() || c == '_')) && self.lower.contains(&name)
    }

    /// The functions of users that are named.
    fn functions<'a>(&'a self, catalog: &'a Catalog) -> impl Iterator<Item = Oid> + 'a {
        catalog.routines.values().map(|r| &r.function).filter(|f| self.name(&f.name)).map(|f| f.oid)
    }
}

/// The functions that an aggregate calls.
fn functions_of(aggregate: &Aggregate) -> impl Iterator<Item = Oid> + '_ {
    let steps = [Some(&aggregate.plain), aggregate.moving.as_ref()];
    steps.into_iter().flatten().flat_map(|s| [s.transition, s.inverse, s.finish])
}

fn statement_writes(statement: &Statement) -> bool {
    match &statement.kind {
        K::Execute { sql, .. } => text_writes(&sql.text),
        K::ForQuery { query, .. } | K::ReturnQuery(query) => query_writes(query),
        K::Open { query: Some(query), .. } => query_writes(query),
        K::DynamicExecute { .. } | K::Call(_) | K::Commit { .. } | K::Rollback { .. } => true,
        K::Perform(sql) => text_writes(&sql.text),
        _ => false,
    }
}

fn query_writes(query: &Query) -> bool {
    match query {
        Query::Static(sql) => text_writes(&sql.text),
        Query::Dynamic { .. } => true,
    }
}

fn text_writes(text: &str) -> bool {
    crate::parse::parse(text).map_or(true, |statements| statements.iter().any(|s| node_writes(&s.node)))
}

/// Whether a statement changes data by itself (functions that it calls apart).
pub fn node_writes(node: &NodeEnum) -> bool {
    let NodeEnum::SelectStmt(_) = node else { return true };
    node.nodes().into_iter().any(|(n, ..)| match n {
        pg_query::NodeRef::InsertStmt(_)
        | pg_query::NodeRef::UpdateStmt(_)
        | pg_query::NodeRef::DeleteStmt(_)
        | pg_query::NodeRef::MergeStmt(_) => true,
        pg_query::NodeRef::SelectStmt(s) => !s.locking_clause.is_empty() || s.into_clause.is_some(),
        _ => false,
    }) || matches!(node, NodeEnum::SelectStmt(s) if !s.locking_clause.is_empty() || s.into_clause.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn tables_are_found_wherever_a_body_names_them() {
        let mut catalog = Catalog::default();
        let other = Relation { name: "other".into(), ..Relation::new(RelationKind::Table) };
        catalog.relations.insert(1, Arc::new(other));
        let reads = |body: &str| {
            let given = Given {
                name: "f".into(),
                variables: vec![],
                returns_set: false,
                returns_nothing: false,
                has_outputs: false,
                procedure: false,
            };
            body_reads(&catalog, &plpgsql::parse(body, &given).unwrap())
        };
        assert!(reads("BEGIN RETURN (SELECT count(*) FROM generate_series(1, 2) g, other); END"));
        assert!(reads("DECLARE n int := (SELECT v FROM ONLY (other)); BEGIN RETURN n; END"));
        assert!(reads("DECLARE n int; BEGIN IF EXISTS (TABLE other) THEN n := 1; END IF; RETURN n; END"));
        assert!(reads("DECLARE c CURSOR FOR SELECT * FROM \"other\"; BEGIN RETURN 1; END"));
        assert!(reads("BEGIN EXECUTE 'SELECT 1'; RETURN 1; END"));
        assert!(!reads("BEGIN RETURN length('from other'); END"));
        assert!(!reads("BEGIN RETURN (WITH w AS (SELECT 1 AS from_other) SELECT from_other FROM w); END"));
    }
}
