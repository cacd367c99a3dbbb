//! Functions that give rows: in FROM (one, or several side by side), and in the select list.
//!
//! A set-returning native gives a JSON array with an element per row (an array of columns if it has several), which
//! json_each expands; several in step are zipped into one such array first, the shorter ones padded with NULLs.
//! `generate_series` alone is streamed by a virtual table, so that it may be endless.

use super::stages::{collect_plain_parts, Stage};
use super::{support, Lowerer};
use crate::analyze::JSON_TO_RECORD;
use crate::builtins::catalog as builtin;
use crate::builtins::imp::{imp, native_name, Imp};
use crate::typed::{Expr, ExprKind, TableFunction};
use crate::walk;
use pgsqlite_types::{catalog as pg_type, oid, Oid, PgError, Result};

/// The functions behind generate_series, and which kind of series each is.
const SERIES: &[(Oid, &str)] = &[
    (1066, "int"),
    (1067, "int"),
    (1068, "int"),
    (1069, "int"),
    (3259, "numeric"),
    (3260, "numeric"),
    (938, "timestamp"),
    (939, "timestamptz"),
];

impl Lowerer<'_> {
    /// A value as an element of a JSON array: a BLOB has no JSON form of its own and goes as text.
    pub(super) fn json_element(&self, text: &str, ty: Oid) -> String {
        if pg_type::is_blob(self.env.catalog.base_type(ty)) {
            format!("CASE WHEN {text} IS NOT NULL THEN '\\x' || lower(hex({text})) END")
        } else {
            text.to_string()
        }
    }

    /// The value behind an element of a JSON array.
    pub(super) fn from_json_element(&self, text: String, ty: Oid) -> String {
        if pg_type::is_blob(self.env.catalog.base_type(ty)) {
            format!("unhex(substr({text}, 3))")
        } else {
            text
        }
    }

    /// FROM f(…), ROWS FROM (f(…), g(…)): the text of the item and those of its columns. `types`: of the functions' columns.
    pub(super) fn function_item(
        &mut self,
        functions: &[TableFunction],
        ordinality: bool,
        types: &[Oid],
    ) -> Result<(String, Vec<String>)> {
        let (text, mut columns, alias) = self.functions_in_step(functions, types, true)?;
        if ordinality {
            columns.push(format!("({alias}.key + 1)"));
        }
        Ok((text, columns))
    }

    /// The item's text, its columns, its alias (which has `key`, the row's number from 0). `in_from`: it is an item that does not
    /// depend on the rows around it, unless its arguments do.
    fn functions_in_step(
        &mut self,
        functions: &[TableFunction],
        types: &[Oid],
        in_from: bool,
    ) -> Result<(String, Vec<String>, String)> {
        if let [TableFunction { call, width: 1, .. }] = functions {
            if let Some((text, alias)) = self.series(call, in_from)? {
                return Ok((text, vec![format!("{alias}.value")], alias));
            }
        }
        let mut arrays = Vec::new();
        for function in functions {
            let array = self.rows_array(function)?;
            arrays.push(match in_from && self.called_once(&function.call) {
                true => {
                    let name = self.unique("w");
                    self.scope().ahead.push(format!("{name} AS MATERIALIZED (SELECT {array} AS a)"));
                    format!("(SELECT a FROM {name})")
                }
                false => array,
            });
        }
        let alias = self.unique("t");
        let several = functions.len() > 1;
        let mut columns = Vec::new();
        for (i, function) in functions.iter().enumerate() {
            // one row is its only column, or an array of its columns; zipped rows are arrays of those
            let row = if several { format!("[{i}]") } else { String::new() };
            let single = function.width == 1 && !function.as_record;
            for j in 0..function.width {
                let path = if single { row.clone() } else { format!("{row}[{j}]") };
                let text = if path.is_empty() {
                    format!("{alias}.value")
                } else {
                    format!("json_extract({alias}.value, '${path}')")
                };
                let ty = types.get(columns.len()).copied().unwrap_or(0);
                columns.push(self.from_json_element(text, ty));
            }
        }
        let array = match &arrays[..] {
            [one] => one.clone(),
            _ => format!("{}({})", support::ZIP, arrays.join(", ")),
        };
        Ok((format!("json_each({array}) AS {alias}"), columns, alias))
    }

    /// A call of generate_series as a streaming table: its text and alias. `in_from`: see [`Lowerer::functions_in_step`].
    fn series(&mut self, call: &Expr, in_from: bool) -> Result<Option<(String, String)>> {
        let ExprKind::SetFunc { proc, args, .. } = &call.kind else { return Ok(None) };
        let Some((_, kind)) = SERIES.iter().find(|(oid, _)| oid == proc) else { return Ok(None) };
        let mut texts = self.exprs(args)?;
        if in_from && self.called_once(call) {
            let (name, list) = (self.unique("w"), texts.iter().enumerate());
            let (values, columns): (Vec<String>, Vec<String>) =
                list.map(|(i, text)| (format!("{text} AS a{i}"), format!("(SELECT a{i} FROM {name})"))).unzip();
            self.scope().ahead.push(format!("{name} AS MATERIALIZED (SELECT {})", values.join(", ")));
            texts = columns;
        }
        if texts.len() == 2 {
            texts.push(if *kind == "numeric" { "'1'" } else { "1" }.into());
        }
        let alias = self.unique("t");
        Ok(Some((format!("{}('{kind}', {}) AS {alias}", support::SERIES, texts.join(", ")), alias)))
    }

    /// A function's rows as a JSON array.
    fn rows_array(&mut self, function: &TableFunction) -> Result<String> {
        let call = &function.call;
        if let ExprKind::SetFunc { proc, args, variadic } = &call.kind {
            if let ([json, definitions], true) = (&args[..], JSON_TO_RECORD.contains(proc)) {
                let name = builtin::proc_by_oid(*proc).map_or("", |p| p.name.as_str());
                let (json, definitions) = (self.expr(json)?, self.expr(definitions)?);
                return Ok(format!("{}({json}, {definitions}, '{name}')", support::JSON_ROWS));
            }
            if let Some(f) = self.env.catalog.function(*proc) {
                // rows of `record` with a column definition list, which stands behind the arguments
                if f.returns == oid::RECORD && f.outputs().next().is_none() && function.as_record {
                    let (expected, args) = args.split_last().ok_or_else(|| PgError::internal("a definition list"))?;
                    let call = self.routine_call(support::CALL_RECORDS, *proc, args, call.ty)?;
                    let expected = self.expr(expected)?;
                    return Ok(format!("{}, {expected})", &call[..call.len() - 1]));
                }
            }
            let rows = self.set_array(*proc, args, *variadic, call)?;
            return Ok(if function.as_record { format!("{}({rows})", support::RECORD_ROWS) } else { rows });
        }
        let value = self.expr(call)?;
        if let ExprKind::SqlJson { .. } = call.kind {
            return Ok(value);
        }
        Ok(if function.as_record {
            format!("{}(json_array({value}))", support::RECORD_ROWS)
        } else {
            format!("json_array({})", self.json_element(&value, call.ty))
        })
    }

    fn set_array(&mut self, proc: Oid, args: &[Expr], variadic: bool, call: &Expr) -> Result<String> {
        if let Some(routine) = self.env.catalog.routines.get(&proc) {
            if routine.function.language == crate::routine::Language::Internal {
                let internal = self.internal(proc, call.location)?;
                return self.set_array(internal, args, variadic, call);
            }
            return self.routine_call(support::CALL_ROWS, proc, args, call.ty);
        }
        let Some(Imp::NativeSet { typed }) = imp(proc) else {
            return Err(
                PgError::not_supported(format!("set-returning function {}", native_name(proc))).at(call.location)
            );
        };
        self.named.reads_more |= crate::effects::runs_texts(proc);
        let mut texts = Vec::new();
        if typed {
            let types: Vec<String> = args.iter().map(|a| a.ty.to_string()).collect();
            texts.push(format!("'{}{}>{}'", if variadic { "v" } else { "" }, types.join(","), call.ty));
        }
        texts.extend(self.exprs(args)?);
        Ok(format!("{}({})", native_name(proc), texts.join(", ")))
    }

    /// Set-returning functions in the select list (and ORDER BY): those of one nesting level run in step, a row for each of
    /// the longest's, none if all are empty; then those whose arguments they are.
    pub(super) fn set_functions(&mut self, stage: &mut Stage) -> Result<()> {
        if stage.select.grouped || !stage.select.windows.is_empty() {
            let mut parts = Vec::new();
            for expr in stage.exprs() {
                collect_plain_parts(expr, &mut parts);
            }
            self.push_stage(stage, &parts)?;
        }
        loop {
            let mut calls: Vec<Expr> = Vec::new();
            for expr in stage.exprs() {
                collect_innermost(expr, &mut calls);
            }
            if calls.is_empty() {
                return Ok(());
            }
            let mut functions = Vec::new();
            let mut types: Vec<Oid> = Vec::new();
            let mut out_columns: Vec<Vec<(String, Oid)>> = Vec::new();
            for call in &calls {
                let ExprKind::SetFunc { proc, args, .. } = &call.kind else {
                    return Err(PgError::internal("set function expected"));
                };
                let outs = crate::analyze::out_columns(self.env.catalog, *proc, args);
                // (a set of composite values is one of records, which are values here)
                if outs.len() > 1 {
                    types.extend(outs.iter().map(|(_, ty)| *ty));
                } else {
                    types.push(call.ty);
                }
                functions.push(TableFunction {
                    call: call.clone(),
                    width: outs.len().max(1),
                    as_record: false,
                    defined_names: vec![],
                });
                out_columns.push(outs);
            }
            let (text, columns, _) = self.functions_in_step(&functions, &types, false)?;
            // a function of several columns gives a record here
            let mut values = columns.into_iter();
            let mut entry = Vec::new();
            for (outs, call) in out_columns.iter().zip(&calls) {
                if outs.len() < 2 {
                    entry.extend(values.next());
                    continue;
                }
                let fields: Vec<(String, Oid)> = outs.clone();
                let texts: Vec<String> = values.by_ref().take(outs.len()).collect();
                entry.push(self.record(&fields, &texts, call.ty));
            }
            let rte = self.add_entry(entry);
            stage.replace(&calls, rte);
            stage.add_from(&text);
        }
    }
}

/// Set-returning calls whose arguments hold none.
fn collect_innermost(expr: &Expr, out: &mut Vec<Expr>) {
    let mut children = Vec::new();
    walk::children(expr, &mut |e| children.push(e), &mut |_| {});
    if matches!(expr.kind, ExprKind::SetFunc { .. }) && !children.iter().any(|e| walk::contains_set_function(e)) {
        if !out.contains(expr) {
            out.push(expr.clone());
        }
        return;
    }
    children.into_iter().for_each(|e| collect_innermost(e, out));
}
