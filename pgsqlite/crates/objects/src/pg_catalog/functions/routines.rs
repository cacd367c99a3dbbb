//! What prints the definitions of functions and triggers.

use super::objects::{bare_type_name, oid_argument, with_environment};
use pgsqlite_natives::udf::shim::{Call, Scalar};
use pgsqlite_sql::analyze::Environment;
use pgsqlite_sql::builtins::catalog::Proc;
use pgsqlite_sql::deparse::{quote_identifier, quote_literal, trigger_condition, Names, Style};
use pgsqlite_sql::routine::{Event, Function, Language, Timing, Trigger};
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Oid, Result};

/// `a integer, OUT b text DEFAULT …`. `table`: the columns of RETURNS TABLE instead of the arguments.
fn argument_list(e: &Environment, p: &Proc, with_defaults: bool, table: bool) -> String {
    let names = Names::new(e.catalog, e.search_path);
    let all = p.all_args.as_ref().unwrap_or(&p.args);
    let inputs = match &p.arg_modes {
        None => p.args.len(),
        Some(modes) => modes.iter().filter(|m| matches!(m, b'i' | b'b' | b'v')).count(),
    };
    let first_default = inputs.saturating_sub(p.default_count);
    let mut out: Vec<String> = Vec::new();
    let direct = e.catalog.aggregate(p.oid).filter(|a| a.kind != b'n').map(|a| a.direct_args);
    let mut input = 0;
    for (i, &ty) in all.iter().enumerate() {
        work::visit();
        let mode = p.arg_modes.as_ref().and_then(|m| m.get(i)).copied().unwrap_or(b'i');
        let place = input;
        let is_input = matches!(mode, b'i' | b'b' | b'v');
        input += usize::from(is_input);
        if table != (mode == b't') {
            continue;
        }
        let mut text = match mode {
            b'i' if p.kind == b'p' => "IN ".to_string(),
            b'o' => "OUT ".into(),
            b'b' => "INOUT ".into(),
            b'v' => "VARIADIC ".into(),
            _ => String::new(),
        };
        let name = p.arg_names.as_ref().and_then(|n| n.get(i)).map_or("", |n| n.as_str());
        if !name.is_empty() {
            text.push_str(&quote_identifier(name));
            text.push(' ');
        }
        text.push_str(&bare_type_name(&names, e.catalog, ty));
        if with_defaults && is_input && place >= first_default {
            if let Some(default) = p.defaults.get(place - first_default) {
                text.push_str(&format!(" DEFAULT {default}"));
            }
        }
        out.push(text);
    }
    let Some(direct) = direct.filter(|_| !table) else { return out.join(", ") };
    // VARIADIC "any" stands in both lists
    let ordered = if direct < out.len() { out.split_off(direct) } else { out.last().cloned().into_iter().collect() };
    let space = if out.is_empty() { "" } else { " " };
    format!("{}{space}ORDER BY {}", out.join(", "), ordered.join(", "))
}

/// What follows RETURNS.
fn result_text(e: &Environment, p: &Proc) -> String {
    if p.arg_modes.as_ref().is_some_and(|m| m.contains(&b't')) {
        return format!("TABLE({})", argument_list(e, p, false, true));
    }
    let name = bare_type_name(&Names::new(e.catalog, e.search_path), e.catalog, p.ret);
    if p.retset {
        format!("SETOF {name}")
    } else {
        name
    }
}

fn of_proc(c: &Call, print: impl FnOnce(&Environment, &Proc) -> Option<String>) -> Result<Datum> {
    let oid = oid_argument(c, 0)?;
    Ok(with_environment(c.session, |e| e.catalog.proc(oid).and_then(|p| print(e, p))).into())
}

fn function_arguments(c: &Call) -> Result<Datum> {
    of_proc(c, |e, p| Some(argument_list(e, p, true, false)))
}
fn function_identity_arguments(c: &Call) -> Result<Datum> {
    of_proc(c, |e, p| Some(argument_list(e, p, false, false)))
}
fn function_result(c: &Call) -> Result<Datum> {
    of_proc(c, |e, p| (p.kind != b'p').then(|| result_text(e, p)))
}

fn number(value: f64) -> String {
    format!("{value}")
}

fn function_text(e: &Environment, f: &Function, p: &Proc) -> Result<String> {
    let word = if f.procedure { "PROCEDURE" } else { "FUNCTION" };
    let mut out = format!(
        "CREATE OR REPLACE {word} {}.{}({})\n",
        quote_identifier(e.catalog.schema_name(f.schema)),
        quote_identifier(&f.name),
        argument_list(e, p, true, false)
    );
    if !f.procedure {
        out += &format!(" RETURNS {}\n", result_text(e, p));
    }
    out += &format!(" LANGUAGE {}\n", f.language.name());
    let mut options = String::new();
    match f.volatility {
        b'i' => options += " IMMUTABLE",
        b's' => options += " STABLE",
        _ => {}
    }
    match f.parallel {
        b's' => options += " PARALLEL SAFE",
        b'r' => options += " PARALLEL RESTRICTED",
        _ => {}
    }
    if f.strict {
        options += " STRICT";
    }
    if f.security_definer {
        options += " SECURITY DEFINER";
    }
    if f.leakproof {
        options += " LEAKPROOF";
    }
    if f.cost != 100.0 {
        options += &format!(" COST {}", number(f.cost));
    }
    if f.returns_set && f.rows != 1000.0 {
        options += &format!(" ROWS {}", number(f.rows));
    }
    if !options.is_empty() {
        out += &options;
        out.push('\n');
    }
    for (name, value) in &f.settings {
        work::visit();
        let shown = if name == "search_path" {
            let names = pgsqlite_natives::settings::values::search_path_names(value);
            names.iter().map(|n| quote_literal(n)).collect::<Vec<_>>().join(", ")
        } else {
            quote_literal(value)
        };
        out += &format!(" SET {} TO {shown}\n", quote_identifier(name));
    }
    if f.standard && f.language == Language::Sql {
        out += &pgsqlite_sql::deparse::function_body(e, f)?;
        out.push('\n');
        return Ok(out);
    }
    let mut tag = format!("${}", word.to_lowercase());
    while f.source.contains(&tag) {
        work::visit();
        tag.push('x');
    }
    Ok(out + &format!("AS {tag}${}{tag}$\n", f.source))
}

/// The body of a function that was written in the standard's way; NULL for others.
fn sqlbody(c: &Call) -> Result<Datum> {
    let oid = oid_argument(c, 0)?;
    with_environment(c.session, |e| match e.catalog.routines.get(&oid) {
        Some(r) if r.function.standard && r.function.language == Language::Sql => {
            pgsqlite_sql::deparse::function_body(e, &r.function).map(Datum::from)
        }
        _ => Ok(Datum::Null),
    })
}

fn functiondef(c: &Call) -> Result<Datum> {
    let oid = oid_argument(c, 0)?;
    with_environment(c.session, |e| match e.catalog.routines.get(&oid) {
        Some(r) if r.function.aggregate.is_some() => Err(pgsqlite_types::PgError::new(
            pgsqlite_types::SqlState::WRONG_OBJECT_TYPE,
            format!("\"{}\" is an aggregate function", r.function.name),
        )),
        Some(r) => function_text(e, &r.function, &r.proc).map(Datum::from),
        None if e.catalog.proc(oid).is_some() => {
            Err(pgsqlite_types::PgError::not_supported("the definition of a built-in function"))
        }
        None => Ok(Datum::Null),
    })
}

/// `EXECUTE FUNCTION f('x', 'y')`
pub(crate) fn trigger_action(e: &Environment, t: &Trigger) -> String {
    let names = Names::new(e.catalog, e.search_path);
    let args: Vec<String> = t.arguments.iter().map(|a| quote_literal(a)).collect();
    format!("EXECUTE FUNCTION {}({})", names.function(t.function), args.join(", "))
}

fn trigger_text(e: &Environment, trigger: Oid, pretty: bool) -> Result<Option<String>> {
    let Some((relation, t)) = e.catalog.trigger(trigger) else { return Ok(None) };
    let mut out = String::from(if t.constraint != 0 { "CREATE CONSTRAINT TRIGGER " } else { "CREATE TRIGGER " });
    out += &quote_identifier(&t.name);
    out += match t.timing {
        Timing::Before => " BEFORE",
        Timing::After => " AFTER",
        Timing::InsteadOf => " INSTEAD OF",
    };
    for (i, event) in [Event::Insert, Event::Delete, Event::Update, Event::Truncate]
        .into_iter()
        .filter(|ev| t.events.contains(ev))
        .enumerate()
    {
        work::visit();
        out += if i > 0 { " OR " } else { " " };
        out += event.word();
        if event == Event::Update && !t.columns.is_empty() {
            let columns: Vec<String> = t
                .columns
                .iter()
                .filter_map(|a| relation.column_by_attnum(*a))
                .map(|c| quote_identifier(&c.name))
                .collect();
            out += &format!(" OF {}", columns.join(", "));
        }
    }
    let names = Names::new(e.catalog, e.search_path);
    let table = if pretty { names.relation(relation.oid) } else { Names::stored(e.catalog).relation(relation.oid) };
    out += &format!(" ON {table} ");
    if t.constraint != 0 {
        out += if t.deferrable { "DEFERRABLE " } else { "NOT DEFERRABLE " };
        out += if t.initially_deferred { "INITIALLY DEFERRED " } else { "INITIALLY IMMEDIATE " };
    }
    if t.old_table.is_some() || t.new_table.is_some() {
        out += "REFERENCING ";
        if let Some(name) = &t.old_table {
            out += &format!("OLD TABLE AS {} ", quote_identifier(name));
        }
        if let Some(name) = &t.new_table {
            out += &format!("NEW TABLE AS {} ", quote_identifier(name));
        }
    }
    out += if t.row { "FOR EACH ROW " } else { "FOR EACH STATEMENT " };
    if let Some(condition) = &t.condition {
        let style = if pretty { Style::Pretty } else { Style::Full };
        out += &format!("WHEN ({}) ", trigger_condition(e, relation, condition, style)?);
    }
    out += &trigger_action(e, t);
    Ok(Some(out))
}

fn triggerdef(c: &Call) -> Result<Datum> {
    let trigger = oid_argument(c, 0)?;
    let pretty = c.len() > 1 && c.bool(1)?;
    with_environment(c.session, |e| trigger_text(e, trigger, pretty).map(Datum::from))
}

pub const FUNCTIONS: &[(&str, Scalar)] = &[
    ("pg_get_function_arguments", function_arguments),
    ("pg_get_function_identity_arguments", function_identity_arguments),
    ("pg_get_function_result", function_result),
    ("pg_get_functiondef", functiondef),
    ("pg_get_function_sqlbody", sqlbody),
    ("pg_get_triggerdef pg_get_triggerdef_ext", triggerdef),
];
