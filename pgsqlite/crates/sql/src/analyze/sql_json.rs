//! The constructors of SQL/JSON, its aggregates, and IS JSON.

use super::typename::name_parts;
use super::Analyzer;
use crate::builtins::catalog::CastContext;
use crate::parse::{ast, NodeEnum};
use crate::sql_json::{Format, ItemKind, SqlJson};
use crate::typed::{CastForm, CastMethod, Expr, ExprKind, QueryBody, RteKind};
use pgsqlite_types::{catalog as pg_type, oid, Oid, PgError, Result, SqlState};

/// Values that one of the native functions takes.
const MOST_VALUES: usize = 800;

pub(super) fn mismatch(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::DATATYPE_MISMATCH, message)
}

/// FORMAT of a value or of RETURNING. Errors: 0A000 for the other encodings.
pub(super) fn format_of(format: Option<&ast::JsonFormat>) -> Result<Format> {
    let Some(format) = format else { return Ok(Format::Default) };
    match (ast::JsonFormatType::try_from(format.format_type), ast::JsonEncoding::try_from(format.encoding)) {
        (_, Ok(ast::JsonEncoding::JsEncUtf16 | ast::JsonEncoding::JsEncUtf32)) => {
            Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "unsupported JSON encoding")
                .hint("Only UTF8 JSON encoding is supported.")
                .at(format.location))
        }
        (Ok(ast::JsonFormatType::JsFormatJson | ast::JsonFormatType::JsFormatJsonb), Ok(encoding)) => {
            Ok(if encoding == ast::JsonEncoding::JsEncUtf8 { Format::JsonUtf8 } else { Format::Json })
        }
        _ => Ok(Format::Default),
    }
}

pub(super) fn place_of(format: Option<&ast::JsonFormat>) -> i32 {
    format.map_or(-1, |f| f.location)
}

fn format_place(output: Option<&ast::JsonOutput>) -> i32 {
    let format = output.and_then(|o| o.returning.as_ref()).and_then(|r| r.format.as_ref());
    match format_of(format) {
        Ok(Format::Default) | Err(_) => -1,
        Ok(_) => place_of(format),
    }
}

impl Analyzer<'_> {
    pub(super) fn is_string(&self, ty: Oid) -> bool {
        ty == oid::UNKNOWN || self.category(self.base_type(ty)).0 == b'S'
    }

    /// RETURNING. `checked`: FORMAT must fit the type. None: nothing is written.
    pub(super) fn json_returning(
        &mut self,
        output: Option<&ast::JsonOutput>,
        checked: bool,
    ) -> Result<Option<(Oid, i32)>> {
        let Some(output) = output else { return Ok(None) };
        let Some(name) = &output.type_name else { return Ok(None) };
        let refused = |what: &str| {
            let message = format!("returning {what} is not supported in SQL/JSON functions");
            PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        };
        if name.setof {
            return Err(refused("SETOF types"));
        }
        let (ty, typmod) = super::resolve_name_of_type(&self.env, name)?;
        if pg_type::by_oid(ty).is_some_and(|t| t.kind == b'p') {
            return Err(refused("pseudo-types"));
        }
        let format = output.returning.as_ref().and_then(|r| r.format.as_ref());
        let place = place_of(format);
        let form = format_of(format)?;
        let unsupported = |message: &str| Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(place));
        match form {
            Format::JsonUtf8 if ty != oid::BYTEA => unsupported("cannot set JSON encoding for non-bytea output types"),
            Format::Json
                if checked
                    && !matches!(self.base_type(ty), oid::JSON | oid::JSONB | oid::BYTEA)
                    && !self.is_string(ty) =>
            {
                unsupported("cannot use JSON format with non-string output types")
            }
            _ => Ok(Some((ty, typmod))),
        }
    }

    /// The argument of a constructor or a predicate, as it is written.
    pub(super) fn json_raw(&mut self, node: Option<&ast::Node>) -> Result<Expr> {
        let raw = self.expr_opt(node)?;
        self.resolve_unknown(raw)
    }

    /// A value with the format that its type allows. `implied`: FORMAT JSON counts where none is written.
    fn json_value(&mut self, value: Option<&ast::JsonValueExpr>, implied: bool) -> Result<(Expr, Format)> {
        let value = value.ok_or_else(|| PgError::internal("a JSON value is missing in the parse tree"))?;
        let raw = self.json_raw(value.raw_expr.as_deref())?;
        let written = format_of(value.format.as_ref())?;
        let base = self.base_type(raw.ty);
        if written == Format::JsonUtf8 && base != oid::BYTEA {
            let message = "JSON ENCODING clause is only allowed for bytea input type";
            return Err(mismatch(message).at(place_of(value.format.as_ref())));
        }
        if matches!(base, oid::JSON | oid::JSONB) || written == Format::Default && !implied {
            return Ok((raw, Format::Default));
        }
        if base != oid::BYTEA && !self.is_string(raw.ty) {
            let how = if written == Format::Default { "implicit" } else { "explicit" };
            let place = place_of(value.format.as_ref());
            let place = if place >= 0 { place } else { raw.location };
            let message = format!("cannot use non-string types with {how} FORMAT JSON clause");
            return Err(mismatch(message).at(place));
        }
        // (what is only implied is not printed)
        Ok((raw, if written == Format::Default { Format::Default } else { written }))
    }

    /// The value of a constructor, json, jsonb or bytea, as RETURNING wants it.
    /// `place`: where FORMAT of RETURNING stands.
    fn json_result(&mut self, form: SqlJson, args: Vec<Expr>, ty: Oid, (location, place): (i32, i32)) -> Result<Expr> {
        let (SqlJson::Object { returning, .. }
        | SqlJson::Array { returning, .. }
        | SqlJson::Aggregate { returning, .. }
        | SqlJson::Serialize { returning, .. }) = form
        else {
            return Ok(Expr::new(ExprKind::SqlJson { form: Box::new(form), args }, ty, location));
        };
        let made = Expr::new(ExprKind::SqlJson { form: Box::new(form), args }, ty, location);
        if returning.0 == ty {
            return Ok(made);
        }
        let coerced = self.try_coerce(made, returning.0, returning.1, CastContext::Assignment, CastForm::Implicit)?;
        let coerced = coerced.ok_or_else(|| self.cannot_cast(ty, returning.0, place))?;
        let (ty, typmod) = (coerced.ty, coerced.typmod);
        let kind = ExprKind::Cast { arg: Box::new(coerced), method: CastMethod::Relabel, form: CastForm::Syntax };
        Ok(Expr::new(kind, ty, location).with_typmod(typmod))
    }

    /// What a constructor gives: the type that its function makes, and RETURNING. jsonb among the arguments makes it jsonb by default.
    fn constructed(&mut self, output: Option<&ast::JsonOutput>, args: &[Expr]) -> Result<(Oid, (Oid, i32))> {
        Ok(match self.json_returning(output, false)? {
            None if args.iter().any(|a| a.ty == oid::JSONB) => (oid::JSONB, (oid::JSONB, -1)),
            None => (oid::JSON, (oid::JSON, -1)),
            Some(returning @ (oid::JSONB | oid::BYTEA, _)) => (returning.0, returning),
            Some(returning) => (oid::JSON, returning),
        })
    }

    pub(super) fn json_object(&mut self, o: &ast::JsonObjectConstructor) -> Result<Expr> {
        let (mut args, mut formats) = (Vec::new(), Vec::new());
        for node in &o.exprs {
            let Some(NodeEnum::JsonKeyValue(pair)) = &node.node else {
                return Err(PgError::internal("JsonKeyValue expected"));
            };
            let key = self.expr_opt(pair.key.as_deref())?;
            // (an untyped literal is printed as it is)
            let literal = matches!(&key.kind, ExprKind::Const(value) if !value.is_null());
            args.push(if literal { key } else { self.resolve_unknown(key)? });
            let (value, format) = self.json_value(pair.value.as_deref(), false)?;
            args.push(value);
            formats.push(format);
        }
        self.check_count(&args, o.location)?;
        let (ty, returning) = self.constructed(o.output.as_ref(), &args)?;
        let form = SqlJson::Object { absent: o.absent_on_null, unique: o.unique, formats, returning };
        self.json_result(form, args, ty, (o.location, format_place(o.output.as_ref())))
    }

    fn check_count(&self, args: &[Expr], location: i32) -> Result<()> {
        match args.len() > MOST_VALUES {
            true => Err(PgError::not_supported(format!("JSON of more than {MOST_VALUES} expressions")).at(location)),
            false => Ok(()),
        }
    }

    pub(super) fn json_array(&mut self, a: &ast::JsonArrayConstructor) -> Result<Expr> {
        let (mut args, mut formats) = (Vec::new(), Vec::new());
        for node in &a.exprs {
            let Some(NodeEnum::JsonValueExpr(value)) = &node.node else {
                return Err(PgError::internal("JsonValueExpr expected"));
            };
            let (value, format) = self.json_value(Some(value), false)?;
            args.push(value);
            formats.push(format);
        }
        self.check_count(&args, a.location)?;
        let (ty, returning) = self.constructed(a.output.as_ref(), &args)?;
        let form = SqlJson::Array { absent: a.absent_on_null, formats, returning };
        self.json_result(form, args, ty, (a.location, format_place(a.output.as_ref())))
    }

    /// JSON_ARRAY of a query: `(SELECT JSON_ARRAYAGG(a) FROM (query) AS q(a))`.
    pub(super) fn json_array_of_query(&mut self, q: &ast::JsonArrayQueryConstructor) -> Result<Expr> {
        let node = |node: NodeEnum| ast::Node { node: Some(node) };
        let name = |name: &str| node(NodeEnum::String(ast::String { sval: name.into() }));
        let column = ast::ColumnRef { fields: vec![name("q"), name("a")], location: q.location };
        let call = ast::JsonArrayAgg {
            constructor: Some(Box::new(ast::JsonAggConstructor {
                output: q.output.clone(),
                location: q.location,
                ..Default::default()
            })),
            arg: Some(Box::new(ast::JsonValueExpr {
                raw_expr: Some(Box::new(node(NodeEnum::ColumnRef(column)))),
                formatted_expr: None,
                format: q.format,
            })),
            absent_on_null: q.absent_on_null,
        };
        let target = ast::ResTarget {
            val: Some(Box::new(node(NodeEnum::JsonArrayAgg(Box::new(call))))),
            location: q.location,
            ..Default::default()
        };
        let rows = ast::RangeSubselect {
            subquery: q.query.clone(),
            alias: Some(ast::Alias { aliasname: "q".into(), colnames: vec![name("a")] }),
            ..Default::default()
        };
        let select = ast::SelectStmt {
            target_list: vec![node(NodeEnum::ResTarget(Box::new(target)))],
            from_clause: vec![node(NodeEnum::RangeSubselect(Box::new(rows)))],
            limit_option: ast::LimitOption::Default as i32,
            op: ast::SetOperation::SetopNone as i32,
            ..Default::default()
        };
        let link = ast::SubLink {
            sub_link_type: ast::SubLinkType::ExprSublink as i32,
            subselect: Some(Box::new(node(NodeEnum::SelectStmt(Box::new(select))))),
            location: q.location,
            ..Default::default()
        };
        let made = self.expr(&node(NodeEnum::SubLink(Box::new(link))))?;
        let width = match &made.kind {
            ExprKind::SubLink { query, .. } => match (&query.body, query.range_table.first().map(|e| &e.kind)) {
                (QueryBody::Select(_), Some(RteKind::Subquery { query, .. })) => query.columns.len(),
                _ => 1,
            },
            _ => 1,
        };
        match width {
            1 => Ok(made),
            _ => Err(PgError::new(SqlState::SYNTAX_ERROR, "subquery must return only one column").at(q.location)),
        }
    }

    /// JSON_OBJECTAGG and JSON_ARRAYAGG: calls of the aggregates that make json or jsonb.
    fn json_aggregate(
        &mut self,
        constructor: Option<&ast::JsonAggConstructor>,
        args: Vec<ast::Node>,
        value: Option<&ast::JsonValueExpr>,
        (object, absent, unique): (bool, bool, bool),
    ) -> Result<Expr> {
        let constructor = constructor.ok_or_else(|| PgError::internal("an aggregate without its clauses"))?;
        let value = value.ok_or_else(|| PgError::internal("an aggregate without its value"))?;
        // (the value is looked at by itself, for what its type allows)
        let seen = std::mem::take(&mut self.level().aggregates_seen);
        let (raw, format) = self.json_value(Some(value), false)?;
        self.level().aggregates_seen = seen;
        let mut typed = vec![raw.clone()];
        for arg in &args {
            let seen = std::mem::take(&mut self.level().aggregates_seen);
            typed.push(self.expr(arg)?);
            self.level().aggregates_seen = seen;
        }
        let (ty, returning) = self.constructed(constructor.output.as_ref(), &typed)?;
        let node = |node: NodeEnum| ast::Node { node: Some(node) };
        let name = |name: &str| node(NodeEnum::String(ast::String { sval: name.into() }));
        let mut written = value.raw_expr.as_deref().cloned().unwrap_or_default();
        // (the functions take any type, and a literal has none)
        let literal = match &written.node {
            Some(NodeEnum::AConst(c)) => c.isnull || matches!(c.val, Some(ast::a_const::Val::Sval(_))),
            _ => false,
        };
        if format == Format::Default && literal {
            let names = vec![name("pg_catalog"), name("text")];
            let text = ast::TypeName { names, typemod: -1, location: raw.location, ..Default::default() };
            let cast = ast::TypeCast { arg: Some(Box::new(written)), type_name: Some(text), location: raw.location };
            written = node(NodeEnum::TypeCast(Box::new(cast)));
        }
        if format != Format::Default {
            let parse = ast::JsonParseExpr {
                expr: Some(Box::new(value.clone())),
                location: constructor.location,
                ..Default::default()
            };
            written = node(NodeEnum::JsonParseExpr(Box::new(parse)));
        }
        let mut function = String::from(if ty == oid::JSONB { "jsonb" } else { "json" });
        function += if object { "_object_agg" } else { "_agg" };
        function += if unique { "_unique" } else { "" };
        function += if absent { "_strict" } else { "" };
        let call = ast::FuncCall {
            funcname: vec![name("pg_catalog"), name(&function)],
            args: args.into_iter().chain([written]).collect(),
            agg_order: constructor.agg_order.clone(),
            agg_filter: constructor.agg_filter.clone(),
            over: constructor.over.clone(),
            location: constructor.location,
            ..Default::default()
        };
        debug_assert_eq!(name_parts(&call.funcname).len(), 2);
        let call = self.function_call(&call)?;
        let ty = call.ty;
        if returning.0 == oid::BYTEA {
            return Err(PgError::not_supported("RETURNING bytea of an aggregate").at(constructor.location));
        }
        let places = (constructor.location, format_place(constructor.output.as_ref()));
        self.json_result(SqlJson::Aggregate { object, absent, unique, returning }, vec![call], ty, places)
    }

    pub(super) fn json_object_agg(&mut self, a: &ast::JsonObjectAgg) -> Result<Expr> {
        let pair = a.arg.as_deref().ok_or_else(|| PgError::internal("JSON_OBJECTAGG without a pair"))?;
        let key = pair.key.as_deref().cloned().into_iter().collect();
        let how = (true, a.absent_on_null, a.unique);
        self.json_aggregate(a.constructor.as_deref(), key, pair.value.as_deref(), how)
    }

    pub(super) fn json_array_agg(&mut self, a: &ast::JsonArrayAgg) -> Result<Expr> {
        let how = (false, a.absent_on_null, false);
        self.json_aggregate(a.constructor.as_deref(), vec![], a.arg.as_deref(), how)
    }

    /// `JSON(value)`
    pub(super) fn json_parse(&mut self, p: &ast::JsonParseExpr) -> Result<Expr> {
        let value = p.expr.as_deref().ok_or_else(|| PgError::internal("JSON() without a value"))?;
        let raw = self.json_raw(value.raw_expr.as_deref())?;
        let format = format_of(value.format.as_ref())?;
        let base = self.base_type(raw.ty);
        let is_text = base == oid::BYTEA || self.is_string(raw.ty);
        if format == Format::JsonUtf8 && base != oid::BYTEA {
            let message = match p.unique_keys {
                true => "cannot use JSON FORMAT ENCODING clause for non-bytea input types",
                false => "JSON ENCODING clause is only allowed for bytea input type",
            };
            return Err(mismatch(message).at(place_of(value.format.as_ref())));
        }
        if p.unique_keys && !is_text {
            return Err(mismatch("cannot use non-string types with WITH UNIQUE KEYS clause").at(p.location));
        }
        if !is_text && !matches!(base, oid::JSON | oid::JSONB) {
            return Err(self.cannot_cast(raw.ty, oid::JSON, raw.location));
        }
        let form = SqlJson::Parse { unique: p.unique_keys, format };
        Ok(Expr::new(ExprKind::SqlJson { form: Box::new(form), args: vec![raw] }, oid::JSON, p.location))
    }

    pub(super) fn json_scalar(&mut self, s: &ast::JsonScalarExpr) -> Result<Expr> {
        let raw = self.json_raw(s.expr.as_deref())?;
        Ok(Expr::new(ExprKind::SqlJson { form: Box::new(SqlJson::Scalar), args: vec![raw] }, oid::JSON, s.location))
    }

    pub(super) fn json_serialize(&mut self, s: &ast::JsonSerializeExpr) -> Result<Expr> {
        let (raw, format) = self.json_value(s.expr.as_deref(), true)?;
        let returning = self.json_returning(s.output.as_ref(), false)?.unwrap_or((oid::TEXT, -1));
        if returning.0 != oid::BYTEA && !self.is_string(returning.0) {
            let name = self.type_display(returning.0);
            let message = format!("cannot use type {name} in RETURNING clause of JSON_SERIALIZE()");
            return Err(mismatch(message).hint("Try returning a string type or bytea."));
        }
        let ty = if returning.0 == oid::BYTEA { oid::BYTEA } else { oid::TEXT };
        let places = (s.location, format_place(s.output.as_ref()));
        self.json_result(SqlJson::Serialize { format, returning }, vec![raw], ty, places)
    }

    pub(super) fn is_json(&mut self, p: &ast::JsonIsPredicate) -> Result<Expr> {
        let raw = self.json_raw(p.expr.as_deref())?;
        let base = self.base_type(raw.ty);
        if !matches!(base, oid::JSON | oid::JSONB | oid::BYTEA) && !self.is_string(raw.ty) {
            let message = format!("cannot use type {} in IS JSON predicate", self.type_display(raw.ty));
            return Err(mismatch(message));
        }
        let kind = match ast::JsonValueType::try_from(p.item_type) {
            Ok(ast::JsonValueType::JsTypeObject) => ItemKind::Object,
            Ok(ast::JsonValueType::JsTypeArray) => ItemKind::Array,
            Ok(ast::JsonValueType::JsTypeScalar) => ItemKind::Scalar,
            _ => ItemKind::Value,
        };
        let form = SqlJson::Is { kind, unique: p.unique_keys };
        Ok(Expr::new(ExprKind::SqlJson { form: Box::new(form), args: vec![raw] }, oid::BOOL, p.location))
    }
}
