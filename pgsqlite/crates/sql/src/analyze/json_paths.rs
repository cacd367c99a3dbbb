//! JSON_EXISTS, JSON_VALUE, JSON_QUERY and JSON_TABLE.

use super::from::{plain_column, rename_columns, NamespaceItem};
use super::sql_json::{format_of, mismatch, place_of};
use super::{entry, Analyzer, Clause};
use crate::builtins::catalog::CastContext;
use crate::parse::{ast, NodeEnum};
use crate::sql_json::{
    Behavior, Evaluation, Format, Operation, Passing, PathCall, SqlJson, Table, TableColumn, TableRows, Wrapper,
};
use crate::typed::{CastForm, Expr, ExprKind, FromItem, RteColumn, RteKind, TableFunction};
use crate::walk;
use pgsqlite_types::{jsonpath, oid, Oid, PgError, Result, SqlState};

/// What the errors of a behaviour name: the function, or a column of JSON_TABLE.
#[derive(Clone, Copy)]
struct Of<'a> {
    operation: Operation,
    column: Option<&'a str>,
}

fn syntax(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, message)
}

/// WRAPPER, QUOTES, ON EMPTY and ON ERROR
type JsonClauses<'a> = (i32, i32, Option<&'a ast::JsonBehavior>, Option<&'a ast::JsonBehavior>);

impl Analyzer<'_> {
    /// The document, as json, jsonb, a string or a bytea in UTF8. Errors: 42846.
    fn json_document(&mut self, value: Option<&ast::JsonValueExpr>) -> Result<(Expr, Format)> {
        let value = value.ok_or_else(|| PgError::internal("a path without a document"))?;
        let raw = self.expr_opt(value.raw_expr.as_deref())?;
        let format = format_of(value.format.as_ref())?;
        let base = self.base_type(raw.ty);
        if format == Format::JsonUtf8 && base != oid::BYTEA {
            let message = "JSON ENCODING clause is only allowed for bytea input type";
            return Err(mismatch(message).at(place_of(value.format.as_ref())));
        }
        let is_bytes = base == oid::BYTEA && format != Format::Default;
        if raw.ty == oid::UNKNOWN {
            let location = raw.location;
            // (PostgreSQL tells no place of a literal that is no JSON)
            let read = self.coerce_explicit(raw, oid::JSONB, -1, location);
            return Ok((read.map_err(PgError::without_position)?, Format::Default));
        }
        if is_bytes || matches!(base, oid::JSON | oid::JSONB) || self.is_string(raw.ty) {
            let keeps = !matches!(base, oid::JSON | oid::JSONB);
            return Ok((raw, if keeps { format } else { Format::Default }));
        }
        let location = raw.location;
        Ok((self.coerce_explicit(raw, oid::JSONB, -1, location)?, Format::Default))
    }

    fn json_passing(&mut self, nodes: &[ast::Node], args: &mut Vec<Expr>) -> Result<Passing> {
        let mut passing = Passing::default();
        for node in nodes {
            let Some(NodeEnum::JsonArgument(argument)) = &node.node else {
                return Err(PgError::internal("JsonArgument expected"));
            };
            let value = argument.val.as_deref().ok_or_else(|| PgError::internal("PASSING without a value"))?;
            let raw = self.json_raw(value.raw_expr.as_deref())?;
            let format = format_of(value.format.as_ref())?;
            let base = self.base_type(raw.ty);
            if format == Format::JsonUtf8 && base != oid::BYTEA {
                let message = "JSON ENCODING clause is only allowed for bytea input type";
                return Err(mismatch(message).at(place_of(value.format.as_ref())));
            }
            let raw = match format {
                Format::Default => raw,
                _ if base == oid::BYTEA => {
                    return Err(PgError::not_supported("PASSING a bytea FORMAT JSON").at(raw.location));
                }
                _ if matches!(base, oid::JSON | oid::JSONB) || self.is_string(raw.ty) => {
                    let location = raw.location;
                    self.coerce_explicit(raw, oid::JSONB, -1, location)?
                }
                _ => return Err(PgError::not_supported("PASSING FORMAT JSON of this type").at(raw.location)),
            };
            passing.names.push(argument.name.clone());
            passing.types.push(raw.ty);
            args.push(raw);
        }
        Ok(passing)
    }

    /// What is given where nothing is found, or the path fails, as it is written.
    fn json_behavior_kind(behavior: Option<&ast::JsonBehavior>, clause: &str, of: Of) -> Result<Option<Behavior>> {
        use ast::JsonBehaviorType as T;
        let Some(behavior) = behavior else { return Ok(None) };
        let found = match T::try_from(behavior.btype) {
            Ok(T::JsonBehaviorNull) => Behavior::Null,
            Ok(T::JsonBehaviorError) => Behavior::Error,
            Ok(T::JsonBehaviorTrue) => Behavior::True,
            Ok(T::JsonBehaviorFalse) => Behavior::False,
            Ok(T::JsonBehaviorUnknown) => Behavior::Unknown,
            Ok(T::JsonBehaviorEmpty | T::JsonBehaviorEmptyArray) => Behavior::EmptyArray,
            Ok(T::JsonBehaviorEmptyObject) => Behavior::EmptyObject,
            Ok(T::JsonBehaviorDefault) => Behavior::Default(0),
            _ => return Err(PgError::internal("an unknown behavior")),
        };
        use Behavior as B;
        let (fits, listed, columns) = match of.operation {
            Operation::Exists => {
                let fits = matches!(found, B::Error | B::True | B::False | B::Unknown);
                (fits, "ERROR, TRUE, FALSE, or UNKNOWN", "EXISTS")
            }
            Operation::Value => {
                (matches!(found, B::Error | B::Null | B::Default(_)), "ERROR, NULL, or DEFAULT expression", "scalar")
            }
            Operation::Query => {
                let fits = !matches!(found, B::True | B::False | B::Unknown);
                (fits, "ERROR, NULL, EMPTY ARRAY, EMPTY OBJECT, or DEFAULT expression", "formatted")
            }
        };
        if !fits {
            let (of_what, place) = match of.column {
                Some(column) => (format!("for {columns} columns"), format!(" for column \"{column}\"")),
                None => (format!("for {}()", of.operation.name()), String::new()),
            };
            return Err(syntax(format!("invalid {clause} behavior{place}"))
                .detail(format!("Only {listed} is allowed in {clause} {of_what}."))
                .at(behavior.location));
        }
        Ok(Some(found))
    }

    /// The same with its value: a DEFAULT is one more argument.
    fn json_behavior(
        &mut self,
        behavior: Option<&ast::JsonBehavior>,
        clause: &str,
        of: Of,
        (ty, typmod): (Oid, i32),
        args: &mut Vec<Expr>,
    ) -> Result<Option<Behavior>> {
        let found = Self::json_behavior_kind(behavior, clause, of)?;
        let (Some(behavior), Some(Behavior::Default(_))) = (behavior, found) else { return Ok(found) };
        let value = self.expr_opt(behavior.expr.as_deref())?;
        let location = value.location;
        let plain = |e: &Expr| {
            let kinds = matches!(
                e.kind,
                ExprKind::Const(_)
                    | ExprKind::Func { .. }
                    | ExprKind::SetFunc { .. }
                    | ExprKind::Op { .. }
                    | ExprKind::Cast { .. }
                    | ExprKind::Array(_)
            );
            kinds || matches!(e.kind, ExprKind::Var(_) | ExprKind::WholeRow { .. })
        };
        let top = match &value.kind {
            ExprKind::Var(_) | ExprKind::WholeRow { .. } | ExprKind::Array(_) => false,
            _ => plain(&value),
        };
        if !top || walk::any(&value, &|e| !plain(e)) {
            let message = "can only specify a constant, non-aggregate function, or operator expression for DEFAULT";
            return Err(mismatch(message).at(location));
        }
        if walk::any(&value, &|e| matches!(e.kind, ExprKind::Var(_) | ExprKind::WholeRow { .. })) {
            return Err(mismatch("DEFAULT expression must not contain column references").at(location));
        }
        if walk::contains_set_function(&value) {
            return Err(mismatch("DEFAULT expression must not return a set").at(location));
        }
        if crate::volatility::volatility(self.env.catalog, &value).0 == b'v' {
            return Err(PgError::not_supported(format!("a volatile DEFAULT {clause}")).at(location));
        }
        // (a domain is asked where the value is used)
        let base = self.base_type(ty);
        let typmod = if base == ty { typmod } else { self.env.catalog.domain_typmod(ty) };
        let own = value.ty;
        if own == oid::BOOL && base != oid::BOOL && base != oid::INT4 {
            return Err(PgError::not_supported(format!("a boolean DEFAULT {clause} of another type")).at(location));
        }
        let mut value = value;
        if own == oid::JSONB && base != oid::JSONB {
            // it becomes what the items would become
            value = self.resolve_unknown(value)?;
        } else if own != base || typmod >= 0 {
            let context = match self.category(base).0 {
                b'S' | b'V' => CastContext::Assignment,
                _ => CastContext::Explicit,
            };
            let form = if context == CastContext::Explicit { CastForm::Explicit } else { CastForm::Assignment };
            value = self.try_coerce(value, base, typmod, context, form)?.ok_or_else(|| {
                let (from, to) = (self.type_display(own), self.type_display(ty));
                let message = format!("cannot cast behavior expression of type {from} to {to}");
                PgError::new(SqlState::CANNOT_COERCE, message)
                    .hint(format!("You will need to explicitly cast the expression to type {to}."))
                    .at(location)
            })?;
        }
        args.push(value);
        Ok(Some(Behavior::Default(args.len() - 1)))
    }

    /// JSON_EXISTS, JSON_VALUE, JSON_QUERY.
    pub(super) fn json_path_call(&mut self, f: &ast::JsonFuncExpr) -> Result<Expr> {
        let operation = match ast::JsonExprOp::try_from(f.op) {
            Ok(ast::JsonExprOp::JsonExistsOp) => Operation::Exists,
            Ok(ast::JsonExprOp::JsonQueryOp) => Operation::Query,
            _ => Operation::Value,
        };
        let format = f.output.as_ref().and_then(|o| o.returning.as_ref()).and_then(|r| r.format.as_ref());
        if operation != Operation::Query && format_of(format)? != Format::Default {
            let message = format!("cannot specify FORMAT JSON in RETURNING clause of {}()", operation.name());
            return Err(syntax(message).at(place_of(format)));
        }
        let of = Of { operation, column: None };
        let clauses = (f.wrapper, f.quotes, f.on_empty.as_deref(), f.on_error.as_deref());
        Self::json_clauses(of, clauses, f.location)?;
        let (document, format) = self.json_document(f.context_item.as_deref())?;
        let path = self.expr_opt(f.pathspec.as_deref())?;
        let (own, location) = (path.ty, path.location);
        let path = self.try_coerce(path, oid::JSONPATH, -1, CastContext::Explicit, CastForm::Implicit)?;
        let path = path.ok_or_else(|| {
            let own = self.type_display(own);
            mismatch(format!("JSON path expression must be of type jsonpath, not of type {own}")).at(location)
        })?;
        let mut args = vec![document, path];
        let passing = self.json_passing(&f.passing, &mut args)?;
        let default = match operation {
            Operation::Exists => oid::BOOL,
            Operation::Query => oid::JSONB,
            Operation::Value => oid::TEXT,
        };
        let returning = self.json_returning(f.output.as_ref(), true)?.unwrap_or((default, -1));
        let evaluation = self.json_evaluation(of, returning, clauses, f.location, &mut args)?;
        let form = SqlJson::Path(PathCall { evaluation, format, passing });
        let kind = ExprKind::SqlJson { form: Box::new(form), args };
        Ok(Expr::new(kind, returning.0, f.location).with_typmod(returning.1))
    }

    /// The clauses that can be wrong before anything in the call is looked at: WRAPPER, and whether QUOTES are omitted.
    fn json_clauses(
        of: Of,
        (wrapper, quotes, on_empty, on_error): JsonClauses,
        location: i32,
    ) -> Result<(Wrapper, bool)> {
        let wrapper = match ast::JsonWrapper::try_from(wrapper) {
            Ok(ast::JsonWrapper::JswConditional) => Wrapper::Conditional,
            Ok(ast::JsonWrapper::JswUnconditional) => Wrapper::Unconditional,
            _ => Wrapper::Without,
        };
        let omit_quotes = quotes == ast::JsonQuotes::JsQuotesOmit as i32;
        if omit_quotes && wrapper != Wrapper::Without {
            let message = "SQL/JSON QUOTES behavior must not be specified when WITH WRAPPER is used";
            return Err(syntax(message).at(location));
        }
        Self::json_behavior_kind(on_empty, "ON EMPTY", of)?;
        Self::json_behavior_kind(on_error, "ON ERROR", of)?;
        Ok((wrapper, omit_quotes))
    }

    fn json_evaluation(
        &mut self,
        of: Of,
        returning: (Oid, i32),
        (wrapper, quotes, on_empty, on_error): JsonClauses,
        location: i32,
        args: &mut Vec<Expr>,
    ) -> Result<Evaluation> {
        let (wrapper, omit_quotes) = Self::json_clauses(of, (wrapper, quotes, on_empty, on_error), location)?;
        let on_empty = self.json_behavior(on_empty, "ON EMPTY", of, returning, args)?.unwrap_or(Behavior::Null);
        let otherwise = if of.operation == Operation::Exists { Behavior::False } else { Behavior::Null };
        let on_error = self.json_behavior(on_error, "ON ERROR", of, returning, args)?.unwrap_or(otherwise);
        let (operation, (ty, typmod)) = (of.operation, returning);
        let omit_quotes = omit_quotes || operation == Operation::Value;
        Ok(Evaluation { operation, ty, typmod, wrapper, omit_quotes, on_empty, on_error })
    }

    // --- JSON_TABLE --------------------------------------------------------------------------------------------------

    pub(super) fn json_table(&mut self, t: &ast::JsonTable) -> Result<(FromItem, Vec<NamespaceItem>)> {
        // it sees the items before it, as functions in FROM do
        let saved: Vec<bool> = self.level().namespace.iter().map(|i| i.lateral_only).collect();
        for item in &mut self.level().namespace {
            item.lateral_only = !item.lateral_ok;
        }
        let made = self.in_clause(Clause::FromFunction, |a| a.json_table_call(t));
        for (item, was) in self.level().namespace.iter_mut().zip(saved) {
            item.lateral_only = was;
        }
        let (call, mut columns) = made?;
        let own: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
        let name = t.alias.as_ref().map_or("json_table".to_string(), |a| a.aliasname.clone());
        let given = t.alias.as_ref().map_or(0, |a| a.colnames.len());
        if given > columns.len() {
            let there = columns.len();
            let message = format!("JSON_TABLE function has {there} columns available but {given} columns specified");
            return Err(PgError::new(SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        rename_columns(&mut columns, t.alias.as_ref(), &name)?;
        let uses_others = |e: &Expr| matches!(&e.kind, ExprKind::Var(v) if v.levels_up == 0);
        let lateral = t.lateral || walk::any(&call, &uses_others);
        let width = columns.len();
        let functions = vec![TableFunction { call, width, as_record: false, defined_names: own }];
        let level = self.level();
        let kind = RteKind::Function { functions, ordinality: false, lateral };
        level.range_table.push(entry(kind, name, t.alias.is_some(), columns));
        let index = level.range_table.len() - 1;
        Ok((FromItem::Entry(index), vec![self.namespace_of(index, None, true)]))
    }

    fn json_table_call(&mut self, t: &ast::JsonTable) -> Result<(Expr, Vec<RteColumn>)> {
        let (document, format) = self.json_document(t.context_item.as_deref())?;
        let mut args = vec![document];
        let passing = self.json_passing(&t.passing, &mut args)?;
        let raises = match t.on_error.as_deref() {
            None => false,
            Some(behavior) => match ast::JsonBehaviorType::try_from(behavior.btype) {
                Ok(ast::JsonBehaviorType::JsonBehaviorError) => true,
                Ok(ast::JsonBehaviorType::JsonBehaviorEmpty | ast::JsonBehaviorType::JsonBehaviorEmptyArray) => false,
                _ => {
                    return Err(syntax("invalid ON ERROR behavior")
                        .detail("Only EMPTY [ ARRAY ] or ERROR is allowed in the top-level ON ERROR clause.")
                        .at(behavior.location))
                }
            },
        };
        let path = t.pathspec.as_deref().ok_or_else(|| PgError::internal("JSON_TABLE without a path"))?;
        let mut names = Vec::new();
        json_names(path, &t.columns, &mut names)?;
        let mut building = Building { names, generated: 0, columns: Vec::new(), args };
        let rows = self.json_table_rows(path, &t.columns, &mut building)?;
        let Building { columns, args, .. } = building;
        let form = SqlJson::Table(Table { format, passing, rows, raises, width: columns.len() });
        Ok((Expr::new(ExprKind::SqlJson { form: Box::new(form), args }, oid::TEXT, t.location), columns))
    }

    fn json_table_rows(
        &mut self,
        path: &ast::JsonTablePathSpec,
        columns: &[ast::Node],
        building: &mut Building,
    ) -> Result<TableRows> {
        let text = path_text(path)?;
        let name = match &path.name[..] {
            "" => building.generate(),
            name => name.to_string(),
        };
        let mut out = Vec::new();
        use ast::JsonTableColumnType as T;
        let mut nested = Vec::new();
        for node in columns {
            let Some(NodeEnum::JsonTableColumn(column)) = &node.node else {
                return Err(PgError::internal("JsonTableColumn expected"));
            };
            let kind = T::try_from(column.coltype).unwrap_or(T::JtcRegular);
            if kind == T::JtcNested {
                // (their columns come after those of the row itself)
                nested.push(column);
                continue;
            }
            let place = building.columns.len();
            if kind == T::JtcForOrdinality {
                if out.iter().any(|c| matches!(c, TableColumn::Ordinality(..))) {
                    return Err(syntax("only one FOR ORDINALITY column is allowed").at(column.location));
                }
                building.columns.push(plain_column(&column.name, oid::INT4, -1));
                out.push(TableColumn::Ordinality(column.name.clone(), place));
                continue;
            }
            let type_name = column.type_name.as_ref().ok_or_else(|| PgError::internal("a column without a type"))?;
            let (ty, typmod) = self.type_name(type_name)?;
            let format = format_of(column.format.as_ref())?;
            let operation = match kind {
                T::JtcExists => Operation::Exists,
                T::JtcFormatted => Operation::Query,
                _ if self.is_formatted(ty)
                    || column.quotes > ast::JsonQuotes::JsQuotesUnspec as i32
                    || column.wrapper > ast::JsonWrapper::JswUnspec as i32 =>
                {
                    Operation::Query
                }
                _ => Operation::Value,
            };
            if format == Format::JsonUtf8 && ty != oid::BYTEA {
                let message = "cannot set JSON encoding for non-bytea output types";
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(place_of(column.format.as_ref())));
            }
            if operation == Operation::Exists && self.base_type(ty) != oid::BOOL && self.base_type(ty) != oid::INT4 {
                return Err(PgError::not_supported("EXISTS columns of other types than boolean and integer")
                    .at(column.location));
            }
            let path = match column.pathspec.as_deref() {
                Some(spec) => path_text(spec)?,
                None => jsonpath::of_key(&column.name),
            };
            let of = Of { operation, column: Some(&column.name) };
            let clauses = (column.wrapper, column.quotes, column.on_empty.as_deref(), column.on_error.as_deref());
            let args = &mut building.args;
            let evaluation = self.json_evaluation(of, (ty, typmod), clauses, column.location, args)?;
            // (of json and its like FORMAT JSON is what is meant anyway)
            let format = if self.is_formatted(ty) { Format::Default } else { format };
            let mut shown = plain_column(&column.name, ty, typmod);
            shown.collation = self.env.catalog.type_collation(ty);
            building.columns.push(shown);
            out.push(TableColumn::Value { name: column.name.clone(), place, path, evaluation, format });
        }
        for column in nested {
            let path = column.pathspec.as_deref().ok_or_else(|| PgError::internal("NESTED without a path"))?;
            out.push(TableColumn::Nested(self.json_table_rows(path, &column.columns, building)?));
        }
        Ok(TableRows { path: text, name, columns: out })
    }

    /// Types whose columns are as of JSON_QUERY, whatever is written.
    fn is_formatted(&self, ty: Oid) -> bool {
        let catalog = self.env.catalog;
        let base = catalog.base_type(ty);
        matches!(base, oid::JSON | oid::JSONB | oid::RECORD)
            || catalog.element_type(base).is_some()
            || catalog.composite_fields(base).is_some()
    }
}

/// What analysis has made of a JSON_TABLE so far.
struct Building {
    /// those of columns and paths that are written
    names: Vec<String>,
    generated: usize,
    columns: Vec<RteColumn>,
    args: Vec<Expr>,
}

impl Building {
    /// The name of a path that has none.
    fn generate(&mut self) -> String {
        loop {
            let name = format!("json_table_path_{}", self.generated);
            self.generated += 1;
            if !self.names.contains(&name) {
                self.names.push(name.clone());
                return name;
            }
        }
    }
}

/// The path of a table or a column, in canonical form. Errors: 0A000 for what is no constant.
fn path_text(path: &ast::JsonTablePathSpec) -> Result<String> {
    let constant = path.string.as_deref().and_then(|n| n.node.as_ref());
    match constant {
        Some(NodeEnum::AConst(ast::AConst { val: Some(ast::a_const::Val::Sval(text)), location, .. })) => {
            Ok(jsonpath::parse(&text.sval).map_err(|e| e.at(*location))?.to_text())
        }
        _ => {
            let message = "only string constants are supported in JSON_TABLE path specification";
            let place = match constant {
                Some(NodeEnum::TypeCast(c)) => c.location,
                Some(NodeEnum::AExpr(e)) => e.location,
                Some(NodeEnum::AConst(c)) => c.location,
                _ => path.location,
            };
            Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(place))
        }
    }
}

/// The names of paths and columns, which are all different. Errors: 42712.
fn json_names(path: &ast::JsonTablePathSpec, columns: &[ast::Node], names: &mut Vec<String>) -> Result<()> {
    let mut add = |name: &str, location: i32| {
        if names.iter().any(|n| n == name) {
            let message = format!("duplicate JSON_TABLE column or path name: {name}");
            return Err(PgError::new(SqlState::DUPLICATE_ALIAS, message).at(location));
        }
        names.push(name.to_string());
        Ok(())
    };
    if !path.name.is_empty() {
        add(&path.name, path.name_location)?;
    }
    for node in columns {
        let Some(NodeEnum::JsonTableColumn(column)) = &node.node else { continue };
        if column.coltype != ast::JsonTableColumnType::JtcNested as i32 {
            add(&column.name, column.location)?;
        }
    }
    for node in columns {
        let Some(NodeEnum::JsonTableColumn(column)) = &node.node else { continue };
        if let Some(path) = column.pathspec.as_deref().filter(|_| !column.columns.is_empty()) {
            json_names(path, &column.columns, names)?;
        }
    }
    Ok(())
}
