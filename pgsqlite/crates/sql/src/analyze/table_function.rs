//! Functions in FROM.

use super::from::{plain_column, rename_columns, sql_value_name, NamespaceItem};
use super::join::is_null;
use super::typename::name_parts;
use super::{entry, Analyzer, Clause};
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, ExprKind, FromItem, RteColumn, RteKind, TableFunction};
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    pub(super) fn range_function(&mut self, f: &ast::RangeFunction) -> Result<(FromItem, Vec<NamespaceItem>)> {
        let mut functions = Vec::new();
        let mut columns: Vec<RteColumn> = Vec::new();
        let mut first_name = String::new();
        // functions in FROM are LATERAL by nature
        let saved: Vec<bool> = self.level().namespace.iter().map(|i| i.lateral_only).collect();
        for item in &mut self.level().namespace {
            item.lateral_only = !item.lateral_ok;
        }
        let single = f.functions.len() == 1;
        let result = (|| {
            for node in &f.functions {
                let Some(NodeEnum::List(pair)) = &node.node else {
                    return Err(PgError::internal("function list expected"));
                };
                let call_node = &pair.items[0];
                let own_definitions = match pair.items.get(1) {
                    Some(ast::Node { node: Some(NodeEnum::List(defs)) }) => &defs.items[..],
                    _ => &[],
                };
                let definitions =
                    if own_definitions.is_empty() && single { &f.coldeflist[..] } else { own_definitions };
                let name = match &call_node.node {
                    Some(NodeEnum::FuncCall(c)) => {
                        name_parts(&c.funcname).last().map(|s| s.to_string()).unwrap_or_default()
                    }
                    Some(NodeEnum::SqlvalueFunction(v)) => sql_value_name(v.op).to_string(),
                    _ => super::select::column_name(call_node),
                };
                // unnest(a, b, …) is ROWS FROM (unnest(a), unnest(b), …)
                let calls: Vec<ast::Node> = match &call_node.node {
                    Some(NodeEnum::FuncCall(c)) if name == "unnest" && c.args.len() > 1 => c
                        .args
                        .iter()
                        .map(|arg| ast::Node {
                            node: Some(NodeEnum::FuncCall(Box::new(ast::FuncCall {
                                args: vec![arg.clone()],
                                ..(**c).clone()
                            }))),
                        })
                        .collect(),
                    _ => vec![call_node.clone()],
                };
                for call in &calls {
                    let expr = self.in_clause(Clause::FromFunction, |a| a.expr(call))?;
                    let expr = self.resolve_unknown(expr)?;
                    let (function, new) =
                        self.table_function(expr, &name, calls.len() == 1 && single, f.alias.as_ref(), definitions)?;
                    functions.push(function);
                    columns.extend(new);
                }
                if first_name.is_empty() {
                    first_name = name;
                }
            }
            Ok(())
        })();
        for (item, was) in self.level().namespace.iter_mut().zip(saved) {
            item.lateral_only = was;
        }
        result?;
        if f.ordinality {
            columns.push(plain_column("ordinality", oid::INT8, -1));
        }
        let name = f.alias.as_ref().map_or(first_name, |a| a.aliasname.clone());
        rename_columns(&mut columns, f.alias.as_ref(), &name)?;
        let uses_others =
            |f: &TableFunction| crate::walk::any(&f.call, &|e| matches!(&e.kind, ExprKind::Var(v) if v.levels_up == 0));
        let lateral = f.lateral || functions.iter().any(uses_others);
        let level = self.level();
        level.range_table.push(entry(
            RteKind::Function { functions, ordinality: f.ordinality, lateral },
            name,
            f.alias.is_some(),
            columns,
        ));
        let index = level.range_table.len() - 1;
        let item = self.namespace_of(index, None, true);
        Ok((FromItem::Entry(index), vec![item]))
    }

    /// A function in FROM with its columns: those of its definition list, its OUT parameters, the fields of its composite
    /// type, or one column named after the alias or the function.
    fn table_function(
        &mut self,
        call: Expr,
        name: &str,
        single: bool,
        alias: Option<&ast::Alias>,
        definitions: &[ast::Node],
    ) -> Result<(TableFunction, Vec<RteColumn>)> {
        let location = call.location;
        let outs = match &call.kind {
            ExprKind::SetFunc { proc, args, .. } | ExprKind::Func { proc, args, .. } => {
                super::out_columns(self.env.catalog, *proc, args)
            }
            _ => vec![],
        };
        // (void is taken as a type of values)
        if matches!(call.ty, oid::TRIGGER | oid::EVENT_TRIGGER) {
            let ty = if call.ty == oid::TRIGGER { "trigger" } else { "event_trigger" };
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("function \"{name}\" in FROM has unsupported return type {ty}"),
            )
            .at(location));
        }
        let anonymous = call.ty == oid::RECORD && outs.is_empty();
        if !definitions.is_empty() {
            if !anonymous {
                let what = if self.env.catalog.composite_fields(call.ty).is_some() {
                    "a column definition list is redundant for a function returning a named composite type"
                } else if outs.len() > 1 {
                    "a column definition list is redundant for a function with OUT parameters"
                } else {
                    "a column definition list is only allowed for functions returning \"record\""
                };
                return Err(PgError::new(SqlState::SYNTAX_ERROR, what).at(first_location(definitions)));
            }
            return self.defined_function(call, definitions);
        }
        if anonymous {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                "a column definition list is required for functions returning \"record\"",
            )
            .at(location));
        }
        if outs.len() > 1 {
            let columns: Vec<RteColumn> = outs.iter().map(|(name, ty)| plain_column(name, *ty, -1)).collect();
            // a set gives arrays of columns, a single call a record
            let as_record = !matches!(call.kind, ExprKind::SetFunc { .. });
            return Ok((TableFunction { call, width: columns.len(), as_record, defined_names: vec![] }, columns));
        }
        if let Some(fields) = self.env.catalog.composite_fields(call.ty) {
            let columns: Vec<RteColumn> = fields.iter().map(|(n, ty, m)| plain_column(n, *ty, *m)).collect();
            return Ok((TableFunction { call, width: columns.len(), as_record: true, defined_names: vec![] }, columns));
        }
        // a single OUT column takes the alias's name unless it has one of its own
        let own = match &outs[..] {
            [(n, _)] if !n.is_empty() => Some(n.as_str()),
            _ => None,
        };
        let column = match (own, alias) {
            (Some(own), _) => own,
            (None, Some(a)) if single => a.aliasname.as_str(),
            _ => name,
        };
        let mut collated = call.clone();
        self.assign_collation(&mut collated)?;
        let column = RteColumn { collation: collated.collation, ..plain_column(column, call.ty, call.typmod) };
        Ok((TableFunction { call, width: 1, as_record: false, defined_names: vec![] }, vec![column]))
    }

    /// `f(…) AS t(a int, b text)`: of the built-in functions, json_to_record and its like.
    fn defined_function(&mut self, call: Expr, definitions: &[ast::Node]) -> Result<(TableFunction, Vec<RteColumn>)> {
        let mut columns = Vec::new();
        for node in definitions {
            let Some(NodeEnum::ColumnDef(def)) = &node.node else {
                return Err(PgError::internal("column definition expected"));
            };
            let name = def.type_name.as_ref().ok_or_else(|| PgError::internal("a column without a type"))?;
            let (ty, typmod) = self.type_name(name)?;
            if columns.iter().any(|c: &RteColumn| c.name == def.colname) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column name \"{}\" specified more than once", def.colname),
                )
                .at(def.location));
            }
            columns.push(plain_column(&def.colname, ty, typmod));
        }
        let defined_names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
        let (ExprKind::SetFunc { proc, args, .. } | ExprKind::Func { proc, args, .. }) = &call.kind else {
            return Err(PgError::not_supported("a column definition list here").at(call.location));
        };
        if let Some(f) = self.env.catalog.function(*proc) {
            // the types that the query expects are checked when the rows come: they go with the arguments
            debug_assert!(f.returns == oid::RECORD);
            let expected: Vec<String> = columns.iter().map(|c| format!("{}:{}", c.ty, c.typmod)).collect();
            let mut args = args.clone();
            let text = pgsqlite_types::Datum::Text(expected.join(","));
            args.push(Expr::new(ExprKind::Const(text), oid::TEXT, -1));
            let kind = ExprKind::SetFunc { proc: *proc, args, variadic: false };
            let call = Expr { kind, ..call };
            return Ok((TableFunction { call, width: columns.len(), as_record: true, defined_names }, columns));
        }
        // of a record that is NULL the list alone says what the columns are
        let (proc, args) = match (*proc, &args[..]) {
            (3960, [null, json, ..]) if is_null(null) => (3204, vec![json.clone()]),
            (3961, [null, json, ..]) if is_null(null) => (3205, vec![json.clone()]),
            (3209, [null, json]) if is_null(null) => (3490, vec![json.clone()]),
            (3475, [null, json]) if is_null(null) => (3491, vec![json.clone()]),
            (proc, _) => (proc, args.clone()),
        };
        if !JSON_TO_RECORD.contains(&proc) {
            return Err(PgError::not_supported("a column definition list of this function").at(call.location));
        }
        // what the columns are goes to the function as a text: [["name", type, typmod], …]
        let definitions: Vec<(&str, Oid, i32)> = columns.iter().map(|c| (c.name.as_str(), c.ty, c.typmod)).collect();
        let text = serde_json::to_string(&definitions).map_err(|e| PgError::internal(e.to_string()))?;
        let mut args = args;
        args.push(Expr::new(ExprKind::Const(pgsqlite_types::Datum::Text(text)), oid::TEXT, -1));
        let kind = ExprKind::SetFunc { proc, args, variadic: false };
        let call = Expr { kind, ..call };
        Ok((TableFunction { call, width: columns.len(), as_record: true, defined_names }, columns))
    }
}

/// json_to_record, json_to_recordset, jsonb_to_record, jsonb_to_recordset
pub(crate) const JSON_TO_RECORD: &[Oid] = &[3204, 3205, 3490, 3491];

fn first_location(definitions: &[ast::Node]) -> i32 {
    match definitions.first().and_then(|n| n.node.as_ref()) {
        Some(NodeEnum::ColumnDef(def)) => def.location,
        _ => -1,
    }
}
