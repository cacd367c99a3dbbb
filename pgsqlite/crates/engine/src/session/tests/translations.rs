//! What statements become on their way to SQLite: the files of `tests/translate`.
//!
//! A file has statements of the file of `tests/sql` of the same name; for each, what analysis makes of it in short, SQLite's
//! statements, and how SQLite runs them. They are found by their texts while the file of `tests/sql` is replayed, so that each
//! meets the tables that it was recorded with. `make translate` shows what differs, `make translate ARGS=--accept` writes it.

use super::replay::{cases, in_runtime, tests, Replay};
use super::short::short;
use crate::connection::{Connection, PlanStep};
use crate::routine::{scratch, Host};
use crate::session::Session;
use pgsqlite_sql::analyze::analyze;
use pgsqlite_sql::lower::lower;
use pgsqlite_sql::parse::{parse, NodeEnum};
use pgsqlite_sql::plan::{QueryPlan, StepOutput};
use pgsqlite_types::{PgError, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Begins a statement in a golden file.
const HEAD: &str = "=== ";

/// The statements of a golden file, with what was recorded of each.
fn recorded(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for block in text.split(HEAD).skip(1) {
        let (sql, rest) = block.split_once("\n---\n").unwrap_or((block.trim_end(), ""));
        found.push((sql.to_owned(), rest.trim_end().to_owned()));
    }
    found
}

fn printed(statements: &[(String, String)]) -> String {
    statements.iter().map(|(sql, translation)| format!("{HEAD}{sql}\n---\n{translation}\n\n")).collect()
}

/// Whether a text is one statement that is lowered.
fn is_lowered(sql: &str) -> bool {
    let Ok(statements) = parse(sql) else { return false };
    let [statement] = &statements[..] else { return false };
    match &statement.node {
        NodeEnum::SelectStmt(select) => select.into_clause.is_none(),
        NodeEnum::InsertStmt(_) | NodeEnum::UpdateStmt(_) | NodeEnum::DeleteStmt(_) | NodeEnum::MergeStmt(_) => true,
        _ => false,
    }
}

/// How SQLite runs a step, a line for each part.
fn plan_of(connection: &Connection, sql: &str, out: &mut String) -> Result<()> {
    let mut depths = BTreeMap::from([(0, 0)]);
    for PlanStep { id, parent, detail } in connection.query_plan(sql)? {
        let depth = depths.get(&parent).copied().unwrap_or(0);
        depths.insert(id, depth + 1);
        let _ = writeln!(out, "plan: {:1$}{detail}", "", depth * 2);
    }
    Ok(())
}

fn steps_of(connection: &Connection, plan: &QueryPlan, out: &mut String) -> Result<()> {
    for step in &plan.steps {
        let _ = writeln!(out, "sql: {}", step.sql);
        if let Some(by_rows) = &step.by_rows {
            let _ = writeln!(out, "by rows: {}", short(by_rows));
        } else {
            plan_of(connection, &step.sql, out)?;
        }
        if let StepOutput::Materialize { table, columns } = &step.output {
            let _ = writeln!(out, "into: {table}");
            let host = Host { cell: &connection.cell, db: connection.handle() };
            scratch::empty_table(host, table, *columns)?;
        }
    }
    if let Some(triggered) = &plan.triggered {
        let _ = writeln!(out, "triggered: {}", short(triggered));
    }
    if let Some(rewritten) = &plan.rewritten {
        let _ = writeln!(out, "rewritten: {}", short(rewritten));
    }
    Ok(())
}

/// What a statement becomes for the session. Errors: it is refused.
fn translation(session: &mut Session, sql: &str) -> Result<String> {
    let view = session.executor.context.view();
    let statements = parse(sql)?;
    let Some(statement) = statements.first() else { return Err(PgError::internal("no statement")) };
    let (tree, plan) = session.executor.context.with_environment(&view, |environment| {
        let (tree, parameters) = analyze(environment, &statement.node, &[])?;
        let shown = short(&tree);
        Ok((shown, lower(environment, &tree, parameters)?))
    })?;
    let mut out = format!("{tree}\n");
    let own = session.executor.connection.take();
    let is_own = own.is_some();
    let connection = match own {
        Some(connection) => connection,
        None => match session.executor.context.engine.connection_to_spare()? {
            Some(connection) => connection,
            None => return Err(PgError::internal("no connection to spare")),
        },
    };
    if !is_own {
        connection.cell.update(|state| (state.catalog, state.stamp) = (view.catalog.clone(), 0));
    }
    let result = steps_of(&connection, &plan.query, &mut out);
    connection.cell.take_error();
    match is_own {
        true => session.executor.connection = Some(connection),
        false => session.executor.context.engine.idle.put(connection),
    }
    result.map(|()| without_counters(out.trim_end()))
}

/// Objects that a session has for itself are numbered through the process: here they are by the order in which they come.
fn without_counters(text: &str) -> String {
    const FIRST: u64 = 3_000_000_000;
    let (mut known, mut out) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, at) = rest.split_at(start);
        let end = at.find(|c: char| !c.is_ascii_digit()).unwrap_or(at.len());
        out.push_str(before);
        match at[..end].parse::<u64>() {
            Ok(number) if (FIRST..FIRST + 1_000_000).contains(&number) => {
                if !known.contains(&number) {
                    known.push(number);
                }
                let _ = write!(out, "temporary#{}", known.iter().position(|n| *n == number).unwrap_or(0) + 1);
            }
            _ => out.push_str(&at[..end]),
        }
        rest = &at[end..];
    }
    out + rest
}

/// The statements of a golden file as they become now. Those that the file of `tests/sql` does not have any more are left out.
async fn translated(source: &Path, wanted: &[(String, String)]) -> Vec<(String, String)> {
    let mut replay = Replay::new();
    let mut found: Vec<(String, String)> = Vec::new();
    for case in cases(source) {
        if found.len() == wanted.len() {
            break;
        }
        if wanted.iter().any(|(sql, _)| *sql == case.sql) && !found.iter().any(|(sql, _)| *sql == case.sql) {
            let session = replay.session(&case);
            let translation = translation(session, &case.sql).unwrap_or_else(|e| format!("error: {}", e.message()));
            found.push((case.sql.clone(), translation));
        }
        replay.run(&case).await;
    }
    found
}

/// Statements of a file, spread over it, for a golden file that is made anew.
fn chosen(source: &Path, number: usize) -> Vec<(String, String)> {
    let mut all: Vec<String> = Vec::new();
    for case in cases(source) {
        let fits = case.sql.len() < 600 && case.sql.to_ascii_lowercase().contains(" from ")
            || case.sql.trim_start().to_ascii_lowercase().starts_with(['i', 'u', 'd', 'm', 'w']);
        if fits && is_lowered(&case.sql) && !all.contains(&case.sql) {
            all.push(case.sql);
        }
    }
    let step = all.len().div_ceil(number).max(1);
    all.into_iter().skip(step / 2).step_by(step).map(|sql| (sql, String::new())).collect()
}

/// The lines that differ, with what is around.
fn difference(name: &str, old: &str, new: &str) -> String {
    let mut out = String::new();
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let end = old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    let head = old[..same].iter().rev().find(|l| l.starts_with(HEAD)).unwrap_or(&"");
    let _ = writeln!(out, "{name}: {head}");
    old[same..old.len() - end].iter().take(40).for_each(|line| out.push_str(&format!("-{line}\n")));
    new[same..new.len() - end].iter().take(40).for_each(|line| out.push_str(&format!("+{line}\n")));
    out
}

fn check(part: usize, parts: usize) {
    let folder = tests().join("translate");
    let accept = std::env::var_os("PGSQLITE_TRANSLATE").is_some_and(|v| v == "accept");
    let choose = std::env::var("PGSQLITE_TRANSLATE_CHOOSE").ok().and_then(|n| n.parse::<usize>().ok());
    let mut sources: Vec<_> = std::fs::read_dir(tests().join("sql"))
        .expect("tests/sql")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "slt"))
        .collect();
    sources.sort();
    let sources: Vec<_> = sources.into_iter().skip(part).step_by(parts).collect();
    in_runtime(async move {
        let mut wrong = String::new();
        for source in sources {
            let name = source.file_stem().expect("a name").to_string_lossy().into_owned();
            let golden = folder.join(format!("{name}.txt"));
            let old = std::fs::read_to_string(&golden).unwrap_or_default();
            let wanted = match choose {
                Some(number) if old.is_empty() => chosen(&source, number),
                _ => recorded(&old),
            };
            if wanted.is_empty() {
                continue;
            }
            let mut found = translated(&source, &wanted).await;
            if choose.is_some() && old.is_empty() {
                found.retain(|(_, translation)| !translation.starts_with("error: "));
            }
            let new = printed(&found);
            if accept && new != old {
                std::fs::write(&golden, &new).expect("a golden file is written");
            } else if new != old {
                wrong.push_str(&difference(&name, &old, &new));
            }
        }
        assert!(
            wrong.is_empty(),
            "statements become something else (make translate ARGS=--accept writes it):\n{wrong}"
        );
    });
}

#[test]
fn translations_are_as_recorded_1() {
    check(0, 2);
}

#[test]
fn translations_are_as_recorded_2() {
    check(1, 2);
}

#[test]
fn at_least_five_hundred_translations_are_recorded() {
    let files = std::fs::read_dir(tests().join("translate")).expect("tests/translate").flatten();
    let files = files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "txt"));
    let texts = files.filter_map(|path| std::fs::read_to_string(path).ok());
    let number: usize = texts.map(|text| recorded(&text).len()).sum();
    assert!(number >= 500, "{number}");
}
