//! Expressions.

use super::{quote_text, support, Lowerer};
use crate::analyze::collations::{needs, Needs};
use crate::builtins::catalog as builtin;
use crate::builtins::imp::{imp, native_name, Imp};
use crate::catalog::{KeyPart, StorageForm, TypeEntry, UserType, UserTypeKind, NO_COLLATION};
use crate::routine::Language;
use crate::typed::{
    Aggregate, AssignPart, BoolTest, CastForm, CastMethod, Expr, ExprKind, Frame, FrameBound, FrameExclusion,
    FrameMode, OperatorRef, Quantifier, RteColumn, SortKey, SubLinkKind, Window,
};
use crate::volatility;
use crate::walk::{self, contains_aggregate, contains_window};
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::extension;
use pgsqlite_types::{catalog as pg_type, oid, Datum, Oid, PgError, Result, SqlState};

/// Arguments that a call of a function of SQLite gets at most (its limit is 1000).
const MOST_ARGUMENTS: usize = 900;

/// What no text has that SQLite gives a collation.
const COLLATE: &str = " COLLATE ";

impl Lowerer<'_> {
    /// The collation under which values of a type compare as in PostgreSQL; None: SQLite's own order is right.
    pub(super) fn collation(&self, ty: Oid) -> Option<String> {
        self.env.catalog.codec(ty)?.collation()
    }

    /// As [`Lowerer::collation`], of values that have a collation of SQL's. (Analysis has refused languages for other types than
    /// text.)
    pub(super) fn collation_in(&self, ty: Oid, collation: Oid) -> Option<String> {
        match self.env.catalog.sqlite_collation(collation) {
            Some(name) if matches!(self.env.catalog.codec(ty), Some(TypeCodec::Text)) => Some(format!("\"{name}\"")),
            _ => self.collation(ty),
        }
    }

    /// COLLATE behind a column of a query's output.
    pub(super) fn collate_column(&self, column: &RteColumn) -> String {
        let collation = self.collation_in(column.ty, column.collation);
        let plain =
            || matches!(self.env.catalog.codec(column.ty), Some(TypeCodec::Text)) && self.has_collated_columns();
        let collation = collation.or_else(|| plain().then(|| "BINARY".to_string()));
        collation.map_or(String::new(), |c| format!(" COLLATE {c}"))
    }

    /// The collation of an expression's values. BINARY where SQLite would take that of a column below it.
    pub(super) fn collation_of(&self, expr: &Expr) -> Option<String> {
        let wanted = self.collation_in(expr.ty, expr.collation);
        if wanted.is_some() || !matches!(self.env.catalog.codec(expr.ty), Some(TypeCodec::Text)) {
            return wanted;
        }
        let of_language = |e: &Expr| match e.kind {
            ExprKind::Var(_) => matches!(self.env.catalog.codec(e.ty), Some(TypeCodec::Text)),
            ExprKind::Cast { form: CastForm::Collate, .. } => true,
            _ => false,
        };
        (walk::any(expr, &of_language) && self.has_collated_columns()).then(|| "BINARY".to_string())
    }

    /// The expression with its collation, for comparing, sorting, grouping.
    pub(super) fn collated(&mut self, expr: &Expr) -> Result<String> {
        let text = self.expr(expr)?;
        if expr.collation == NO_COLLATION {
            return Ok(format!("{}({text}, 'string comparison')", support::NO_COLLATION));
        }
        Ok(match self.collation_of(expr) {
            Some(collation) => format!("{text} COLLATE {collation}"),
            None => text,
        })
    }

    pub(super) fn exprs(&mut self, exprs: &[Expr]) -> Result<Vec<String>> {
        exprs.iter().map(|e| self.expr(e)).collect()
    }

    /// SQL text of an expression, safe to put beside any operator. Where an argument is written more than once, nesting doubles
    /// the text with every level: it is bounded (54001).
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<String> {
        let text = match self.asks_rows && self.is_steady(expr) {
            true => {
                self.asks_rows = false;
                let text = self.text_of(expr);
                self.asks_rows = true;
                format!("(SELECT {})", text?)
            }
            false => self.text_of(expr)?,
        };
        let text = self.settled(expr, text);
        pgsqlite_types::work::tick(32 + text.len() / 16)?;
        bounded(text).map_err(|e| e.at(expr.location))
    }

    /// The text of an expression, with its own collation where it may have got another.
    ///
    /// SQLite hands a COLLATE anywhere in an expression up to what is around it, and gives it to the column of a sub-query: the text of
    /// `CASE WHEN n > 1 THEN name END` would be compared, sorted and grouped as a numeric. A value of a type with a collation
    /// of its own gets that from whoever compares it ([`Lowerer::collated`]); every other value that is stored as text gets BINARY,
    /// or its language's, here.
    pub(super) fn settled(&self, expr: &Expr, text: String) -> String {
        if !text.contains(COLLATE) || !self.is_bare_text(expr.ty) || matches!(expr.kind, ExprKind::Const(_)) {
            return text;
        }
        let collation = self.collation_in(expr.ty, expr.collation);
        format!("({text} COLLATE {})", collation.as_deref().unwrap_or("BINARY"))
    }

    /// Whether values of a type are stored as text that SQLite's own order is right for.
    fn is_bare_text(&self, ty: Oid) -> bool {
        match self.env.catalog.codec(ty) {
            Some(
                TypeCodec::Bool
                | TypeCodec::Int2
                | TypeCodec::Int4
                | TypeCodec::Int8
                | TypeCodec::Oid
                | TypeCodec::Reg(_)
                | TypeCodec::Money,
            ) => false,
            Some(codec) => codec.collation().is_none(),
            None => true,
        }
    }

    fn text_of(&mut self, expr: &Expr) -> Result<String> {
        Ok(match &expr.kind {
            ExprKind::Const(datum) => literal(datum),
            ExprKind::Param(n) => format!("?{n}"),
            ExprKind::Var(v) => {
                let scope = self
                    .scopes
                    .len()
                    .checked_sub(1 + v.levels_up)
                    .ok_or_else(|| PgError::internal("a variable of no level"))?;
                self.scopes[scope]
                    .entries
                    .get(v.rte)
                    .and_then(|entry| entry.get(v.column))
                    .cloned()
                    .ok_or_else(|| PgError::internal("a variable of no column"))?
            }
            ExprKind::WholeRow { levels_up, rte, fields } => self.whole_row(*levels_up, *rte, fields, expr)?,
            ExprKind::Func { proc, args, variadic } => self.call(*proc, args, *variadic, expr)?,
            ExprKind::SetFunc { .. } => {
                return Err(PgError::not_supported("a set-returning function here").at(expr.location))
            }
            ExprKind::Op { op, args } => match self.unlike_records(op.proc, args)? {
                Some(text) => text,
                None => self.call(op.proc, args, false, expr)?,
            },
            ExprKind::Cast { arg, method, form } => self.cast(arg, method, *form, expr)?,
            ExprKind::And(list) if list.is_empty() => "1".into(),
            ExprKind::Or(list) if list.is_empty() => "0".into(),
            ExprKind::And(list) => chain(&self.exprs(list)?, " AND "),
            ExprKind::Or(list) => chain(&self.exprs(list)?, " OR "),
            ExprKind::Not(arg) => format!("(NOT {})", self.expr(arg)?),
            ExprKind::IsNull { arg, negated } if self.is_record(arg.ty) => {
                // a row is NULL if all its fields are, NOT NULL if none is
                let record = self.expr(arg)?;
                format!("{}({record}, {})", support::RECORD_IS_NULL, *negated as i32)
            }
            ExprKind::IsNull { arg, negated } => {
                format!("({} IS {}NULL)", self.expr(arg)?, if *negated { "NOT " } else { "" })
            }
            ExprKind::BoolTest { arg, test } => {
                let arg = self.expr(arg)?;
                match test {
                    BoolTest::True => format!("({arg} IS 1)"),
                    BoolTest::NotTrue => format!("({arg} IS NOT 1)"),
                    BoolTest::False => format!("({arg} IS 0)"),
                    BoolTest::NotFalse => format!("({arg} IS NOT 0)"),
                    BoolTest::Unknown => format!("({arg} IS NULL)"),
                    BoolTest::NotUnknown => format!("({arg} IS NOT NULL)"),
                }
            }
            ExprKind::Distinct { op, left, right, negated } => {
                if self.plain_equality(*op, left.ty, right.ty) {
                    format!("({} IS {}{})", self.collated(left)?, if *negated { "" } else { "NOT " }, self.expr(right)?)
                } else {
                    let (l, r) = (self.expr(left)?, self.expr(right)?);
                    let equal = self.call(op.proc, &[(**left).clone(), (**right).clone()], false, expr)?;
                    let same = format!(
                        "(CASE WHEN {l} IS NULL OR {r} IS NULL THEN ({l} IS NULL AND {r} IS NULL) ELSE {equal} END)"
                    );
                    if *negated {
                        same
                    } else {
                        format!("(NOT {same})")
                    }
                }
            }
            ExprKind::InList { op, left, list, negated } => {
                if self.plain_equality(*op, left.ty, list.first().map_or(left.ty, |e| e.ty)) {
                    let items = self.exprs(list)?.join(", ");
                    format!("({} {}IN ({items}))", self.collated(left)?, if *negated { "NOT " } else { "" })
                } else {
                    let mut tests = Vec::new();
                    for item in list {
                        tests.push(self.call(op.proc, &[(**left).clone(), item.clone()], false, expr)?);
                    }
                    let any = chain(&tests, " OR ");
                    if *negated {
                        format!("(NOT {any})")
                    } else {
                        any
                    }
                }
            }
            ExprKind::ArrayCompare { op, quantifier, left, array } => {
                self.array_compare(*op, *quantifier, left, array, expr)?
            }
            ExprKind::Case { whens, otherwise } => {
                let mut text = String::from("(CASE");
                for (when, then) in whens {
                    text += &format!(" WHEN {} THEN {}", self.expr(when)?, self.expr(then)?);
                }
                if let Some(e) = otherwise {
                    text += &format!(" ELSE {}", self.expr(e)?);
                }
                text + " END)"
            }
            ExprKind::Coalesce(list) => match &list[..] {
                [one] => self.expr(one)?,
                _ => format!("coalesce({})", self.exprs(list)?.join(", ")),
            },
            ExprKind::NullIf { op, left, right } => {
                let equal = self.call(op.proc, &[(**left).clone(), (**right).clone()], false, expr)?;
                format!("(CASE WHEN {equal} THEN NULL ELSE {} END)", self.expr(left)?)
            }
            ExprKind::Greatest(list) => self.extreme(list, ">", expr)?,
            ExprKind::Least(list) => self.extreme(list, "<", expr)?,
            ExprKind::Aggregate(call) => self.aggregate(call, expr)?,
            ExprKind::Window { .. } => return Err(PgError::internal("a window call outside its query")),
            ExprKind::CurrentOf { cursor, table } => {
                format!("{}({}, {})", support::CURRENT_OF, super::quote_text(cursor), self.expr(table)?)
            }
            ExprKind::Grouping(_) => return Err(PgError::not_supported("GROUPING").at(expr.location)),
            ExprKind::SubLink { kind, query } => {
                self.begun_anew += 1;
                let text = self.sub_link(kind, query, expr);
                self.begun_anew -= 1;
                text?
            }
            ExprKind::Array(elements) => {
                let nested = elements.first().is_some_and(|e| self.env.catalog.element_type(e.ty).is_some());
                let nested = if nested { "1" } else { "0" };
                let call = |f: &str, args: &[String]| format!("{f}({nested}, {})", args.join(", "));
                let mut parts = self.exprs(elements)?;
                if parts.len() <= MOST_ARGUMENTS {
                    parts.insert(0, nested.to_string());
                    format!("{}({})", support::ARRAY, parts.join(", "))
                } else {
                    // SQLite's functions take a limited number of arguments: arrays of a part each are joined
                    let mut f = support::ARRAY;
                    while parts.len() > 1 {
                        parts = parts.chunks(MOST_ARGUMENTS).map(|part| call(f, part)).collect();
                        f = support::ARRAY_JOIN;
                    }
                    parts.remove(0)
                }
            }
            ExprKind::Subscript { arg, subscripts, .. } if self.is_geometric(arg.ty) => {
                let [(_, Some(index))] = &subscripts[..] else {
                    return Err(PgError::internal("a subscript without an index"));
                };
                let (ty, value) = (self.env.catalog.base_type(arg.ty), self.expr(arg)?);
                format!("{}({ty}, {value}, {})", support::PART, self.expr(index)?)
            }
            ExprKind::Subscript { arg, slice, subscripts } => {
                let mut args = vec![self.expr(arg)?];
                for (lower, upper) in subscripts {
                    if *slice {
                        for bound in [lower, upper] {
                            // an omitted bound is the array's own: told apart from a NULL one by being text
                            args.push(match bound {
                                Some(e) => self.subscript(e, arg.ty)?,
                                None => "''".into(),
                            });
                        }
                    } else {
                        let index = upper.as_ref().ok_or_else(|| PgError::internal("a subscript without an index"))?;
                        args.push(self.subscript(index, arg.ty)?);
                    }
                }
                let f = if *slice { support::SLICE } else { support::ELEMENT };
                let text = format!("{f}({})", args.join(", "));
                if *slice {
                    text
                } else {
                    self.from_json_element(text, expr.ty)
                }
            }
            ExprKind::JsonSubscript { arg, subscripts } => {
                // jsonb_extract_path(jsonb, VARIADIC text[]): integers select array elements by position
                let path = self
                    .exprs(subscripts)?
                    .into_iter()
                    .map(|s| format!("CAST({s} AS TEXT)"))
                    .collect::<Vec<_>>()
                    .join(", ");
                format!("{}({}, {}(0, {path}))", native_name(3217), self.expr(arg)?, support::ARRAY)
            }
            ExprKind::Row(fields) => {
                let mut args = Vec::new();
                for field in fields {
                    args.push(field.ty.to_string());
                    args.push(self.expr(field)?);
                }
                format!("{}({})", support::RECORD, args.join(", "))
            }
            ExprKind::RowCompare { name, operators, left, right } => {
                self.row_compare(name, operators, left, right, expr)?
            }
            ExprKind::Field { arg, index, .. } => format!("{}({}, {index})", support::FIELD, self.expr(arg)?),
            ExprKind::Assign { base, part, value } => self.assign(base, part, value, expr)?,
            ExprKind::Default => {
                return Err(
                    PgError::new(SqlState::SYNTAX_ERROR, "DEFAULT is not allowed in this context").at(expr.location)
                )
            }
            ExprKind::NextRow(sequence) => format!("{}({sequence})", support::NEXT_ROW_NUMBER),
            ExprKind::DomainValue => {
                self.domain_value.clone().ok_or_else(|| PgError::internal("VALUE outside a domain"))?
            }
        })
    }

    fn is_geometric(&self, ty: Oid) -> bool {
        matches!(self.env.catalog.codec(ty), Some(TypeCodec::Geometric(_)))
    }

    pub(super) fn is_record(&self, ty: Oid) -> bool {
        use pgsqlite_types::codec::TypeCodec;
        matches!(self.env.catalog.codec(ty), Some(TypeCodec::Record | TypeCodec::Composite(_)))
    }

    /// A record of these fields. One of a named type takes its names from there.
    pub(super) fn record(&self, fields: &[(String, Oid)], texts: &[String], ty: Oid) -> String {
        let named = ty == oid::RECORD;
        let mut args = Vec::new();
        for ((name, field_type), text) in fields.iter().zip(texts) {
            if named {
                args.push(quote_text(name));
            }
            args.push(field_type.to_string());
            args.push(text.clone());
        }
        format!("{}({})", if named { support::NAMED_RECORD } else { support::RECORD }, args.join(", "))
    }

    /// All columns of an entry as a record; NULL where an outer join found no row.
    fn whole_row(&mut self, levels_up: usize, rte: usize, fields: &[(String, Oid)], whole: &Expr) -> Result<String> {
        let scope =
            self.scopes.len().checked_sub(1 + levels_up).ok_or_else(|| PgError::internal("a whole row of no level"))?;
        let scope = &self.scopes[scope];
        let texts = scope.entries.get(rte).ok_or_else(|| PgError::internal("a whole row of no entry"))?;
        let record = self.record(fields, texts, whole.ty);
        Ok(match scope.present.get(rte) {
            Some(Some(present)) => format!("CASE WHEN {present} IS NOT NULL THEN {record} END"),
            _ => record,
        })
    }

    /// A value with one part changed: SET column[i] = …, SET column.field = ….
    fn assign(&mut self, base: &Expr, part: &AssignPart, value: &Expr, whole: &Expr) -> Result<String> {
        let base_text = self.expr(base)?;
        match part {
            AssignPart::Field { index, types } => {
                let types: Vec<String> = types.iter().map(Oid::to_string).collect();
                let value = self.expr(value)?;
                Ok(format!("{}({base_text}, {index}, {value}, {})", support::SET_FIELD, types.join(", ")))
            }
            AssignPart::Element(subscripts) if self.is_geometric(whole.ty) => {
                let (value, indices) = (self.expr(value)?, self.exprs(subscripts)?.join(", "));
                Ok(format!("{}({}, {base_text}, {value}, {indices})", support::SET_PART, whole.ty))
            }
            AssignPart::Element(subscripts) => {
                let element = self.env.catalog.element_type(self.env.catalog.base_type(whole.ty)).unwrap_or(0);
                let value = self.expr(value)?;
                let mut args = vec![base_text, self.json_element(&value, element)];
                args.extend(self.exprs(subscripts)?);
                Ok(format!("{}({})", support::SET_ELEMENT, args.join(", ")))
            }
            AssignPart::Slice(bounds) => {
                let mut args = vec![base_text, self.expr(value)?];
                for (lower, upper) in bounds {
                    for bound in [lower, upper] {
                        // an omitted bound is the array's own: told apart from a NULL one by being text
                        args.push(match bound {
                            Some(e) => self.expr(e)?,
                            None => "''".into(),
                        });
                    }
                }
                Ok(format!("{}({})", support::SET_SLICE, args.join(", ")))
            }
            AssignPart::Json(path) => {
                let mut args = vec![base_text, self.expr(value)?];
                args.extend(self.exprs(path)?);
                Ok(format!("{}({})", support::SET_JSON, args.join(", ")))
            }
        }
    }

    /// A comparison of two records whose fields differ in type or number; None: it is none.
    fn unlike_records(&mut self, proc: Oid, args: &[Expr]) -> Result<Option<String>> {
        let operator = match builtin::proc_by_oid(proc).and_then(|p| p.src) {
            Some("record_eq") => "=",
            Some("record_ne") => "<>",
            Some("record_lt") => "<",
            Some("record_le") => "<=",
            Some("record_gt") => ">",
            Some("record_ge") => ">=",
            _ => return Ok(None),
        };
        let [left, right] = args else { return Ok(None) };
        let catalog = self.env.catalog;
        let types = |e: &Expr| -> Option<Vec<Oid>> {
            let mut inner = e;
            while let ExprKind::Cast { arg, method: CastMethod::Relabel, .. } = &inner.kind {
                inner = arg;
            }
            let listed = match &inner.kind {
                ExprKind::Row(list) if catalog.composite_fields(inner.ty).is_none() => {
                    list.iter().map(|e| e.ty).collect()
                }
                ExprKind::WholeRow { fields, .. } => fields.iter().map(|(_, ty)| *ty).collect::<Vec<_>>(),
                _ => catalog.composite_fields(inner.ty)?.into_iter().map(|(_, ty, _)| ty).collect(),
            };
            Some(listed.into_iter().map(|t| catalog.base_type(t)).collect())
        };
        let (Some(a), Some(b)) = (types(left), types(right)) else { return Ok(None) };
        let points = |list: &[Oid]| list.contains(&oid::POINT);
        if a == b && !points(&a) {
            return Ok(None);
        }
        Ok(Some(format!("{}('{operator}', {}, {})", support::RECORD_COMPARE, self.expr(left)?, self.expr(right)?)))
    }

    /// `=` by SQLite's own operator (under the type's collation).
    pub(super) fn plain_equality(&self, op: OperatorRef, left: Oid, right: Oid) -> bool {
        matches!(imp(op.proc), Some(Imp::Inline("$1 = $2"))) && self.collation(left) == self.collation(right)
    }

    /// A call of a built-in function, by its row in the table.
    pub(super) fn call(&mut self, proc: Oid, args: &[Expr], variadic: bool, whole: &Expr) -> Result<String> {
        if let Some(routine) = self.env.catalog.routines.get(&proc) {
            if routine.function.language == Language::Internal {
                let internal = self.internal(proc, whole.location)?;
                return self.call(internal, args, variadic, whole);
            }
            // SQLite computes a call of constants while it plans, which is too early for a body
            let varies = |e: &Expr| matches!(e.kind, ExprKind::Var(_) | ExprKind::WholeRow { .. });
            let steady = routine.function.volatility == b'i' && args.iter().any(|a| walk::any(a, &varies));
            let native = if steady { support::CALL_IMMUTABLE } else { support::CALL };
            return self.routine_call(native, proc, args, whole.ty);
        }
        if let Some(constructor) = self.env.catalog.range_constructors.get(&proc) {
            self.uses_catalog = true;
            let of_range = self.env.catalog.range_definition(constructor.ret).is_some();
            let native = if of_range { support::NEW_RANGE } else { support::NEW_MULTIRANGE };
            let mut texts = vec![self.type_list(args, variadic, whole.ty)];
            texts.extend(self.native_args(args)?);
            return Ok(format!("{native}({})", texts.join(", ")));
        }
        if let Some(text) = self.moments_compared(proc, args)? {
            return Ok(text);
        }
        if let Some(text) = self.decimal(proc, args)? {
            return Ok(text);
        }
        self.may_wait |= crate::effects::may_wait(proc);
        self.builtin_writes |= crate::effects::builtin_writes(proc);
        if builtin::proc_by_oid(proc).is_none_or(|p| p.volatility == b'v') {
            self.waits |= crate::effects::waits(proc);
            self.leaves_traces |= crate::effects::leaves_traces(proc);
        }
        let how = imp(proc).ok_or_else(|| {
            let name = builtin::proc_by_oid(proc).map_or(proc.to_string(), |p| {
                let args: Vec<String> =
                    p.args.iter().map(|&a| pgsqlite_types::typmod::type_name(a).unwrap_or_default()).collect();
                format!("{}({})", p.name, args.join(", "))
            });
            PgError::not_supported(format!("function {name}")).at(whole.location)
        })?;
        if args.iter().any(|a| a.collation == NO_COLLATION) {
            if let (Needs::Named(what), [first, ..]) = (needs(proc), args) {
                let refused = format!("{}({}, {})", support::NO_COLLATION, self.expr(first)?, quote_text(what));
                return Ok(refused);
            }
            if !matches!(how, Imp::Inline(_)) && matches!(needs(proc), Needs::Comparison) {
                return self.collated(&args[0]);
            }
        }
        // upper and lower case are a language's
        if let (Some(name), [text]) = (builtin::proc_by_oid(proc).and_then(|p| p.src), args) {
            let locale = self.env.catalog.collation(text.collation).and_then(|c| c.locale);
            if let (Some(locale), "lower" | "upper" | "initcap") = (locale, name) {
                let native = match name {
                    "lower" => support::LOWER,
                    "upper" => support::UPPER,
                    _ => return Err(PgError::not_supported("initcap in a collation of ICU").at(whole.location)),
                };
                return Ok(format!("{native}({}, {})", self.expr(text)?, quote_text(locale)));
            }
        }
        match how {
            Imp::Inline(template) => {
                let mut texts = Vec::with_capacity(args.len());
                let compares = matches!(needs(proc), Needs::Comparison);
                for arg in args {
                    texts.push(match arg.collation {
                        NO_COLLATION if !compares => self.expr(arg)?,
                        _ => self.collated(arg)?,
                    });
                }
                Ok(format!("({})", fill(template, &texts)?))
            }
            Imp::Native => Ok(format!("{}({})", native_name(proc), self.native_args(args)?.join(", "))),
            Imp::NativeTyped => {
                let mut texts = vec![self.type_list(args, variadic, whole.ty)];
                texts.extend(self.native_args(args)?);
                Ok(format!("{}({})", native_name(proc), texts.join(", ")))
            }
            Imp::Special => Err(PgError::not_supported(format!("function {}", native_name(proc))).at(whole.location)),
            Imp::Sql(_) => Err(PgError::internal("a spliced function reached lowering")),
            Imp::NativeSet { .. } | Imp::NativeAggregate { .. } | Imp::InlineAggregate(_) => {
                Err(PgError::internal(format!("function {proc} is not a plain one")))
            }
        }
    }

    /// The function of PostgreSQL's that one of the user's in language internal is another name of.
    pub(super) fn internal(&self, proc: Oid, location: i32) -> Result<Oid> {
        let function = self.env.catalog.function(proc);
        let internal = function.and_then(|f| Some((f, f.internal()?))).filter(|(f, p)| f.strict == p.strict);
        internal.map(|(_, p)| p.oid).ok_or_else(|| {
            let symbol = function.map_or("", |f| f.source.as_str());
            PgError::not_supported(format!("calling the internal function \"{symbol}\" with this declaration"))
                .at(location)
        })
    }

    /// A call of a function of the user: the engine runs its body.
    pub(super) fn routine_call(&mut self, native: &str, proc: Oid, args: &[Expr], ret: Oid) -> Result<String> {
        self.uses_catalog = true;
        if !self.routines.contains(&proc) {
            self.routines.push(proc);
        }
        let mut texts = vec![proc.to_string(), self.type_list(args, false, ret)];
        texts.extend(self.native_args(args)?);
        Ok(format!("{native}({})", texts.join(", ")))
    }

    /// Arguments of a native call; whole rows are handed over as JSON objects (see `record_as_json`).
    fn native_args(&mut self, args: &[Expr]) -> Result<Vec<String>> {
        args.iter().map(|a| self.value_arg(a)).collect()
    }

    fn value_arg(&mut self, arg: &Expr) -> Result<String> {
        self.expr(arg)
    }

    /// The first argument of typed natives: argument types, `v` in front if VARIADIC was written, result type.
    fn type_list(&self, args: &[Expr], variadic: bool, ret: Oid) -> String {
        let types: Vec<String> = args.iter().map(|a| a.ty.to_string()).collect();
        format!("'{}{}>{}'", if variadic { "v" } else { "" }, types.join(","), ret)
    }

    // --- casts -------------------------------------------------------------------------------------------------------

    /// Whether a parameter was read with the type modifier that the cast applies (see [`Environment::fitted_parameters`]).
    ///
    /// [`Environment::fitted_parameters`]: crate::analyze::Environment::fitted_parameters
    fn is_fitted(&self, cast: &Expr, arg: &Expr) -> bool {
        let by_input = matches!(self.env.catalog.base_type(cast.ty), oid::NUMERIC | oid::VARCHAR | oid::BPCHAR);
        self.env.fitted_parameters && by_input && matches!(arg.kind, ExprKind::Param(_))
    }

    fn cast(&mut self, arg: &Expr, method: &CastMethod, form: CastForm, whole: &Expr) -> Result<String> {
        let ty = whole.ty;
        match method {
            CastMethod::Relabel => {
                let text = self.expr(arg)?;
                // An integer's 32 bits are an OID's, so that -1 is 4294967295; a constant that is not negative stays readable.
                let unsigned = |t: Oid| matches!(self.env.catalog.codec(t), Some(TypeCodec::Oid | TypeCodec::Reg(_)));
                let plain = matches!(arg.kind, ExprKind::Const(Datum::Int(0..=0x7fff_ffff) | Datum::Null));
                let (from, to) = (self.env.catalog.base_type(arg.ty), self.env.catalog.base_type(ty));
                Ok(if from == oid::INT4 && unsigned(to) && !plain {
                    format!("({text} & 4294967295)")
                } else if unsigned(from) && to == oid::INT4 && !plain {
                    format!("((({text} + 2147483648) & 4294967295) - 2147483648)")
                } else if matches!(from, oid::INT2VECTOR | oid::OIDVECTOR) && to != from && form == CastForm::Explicit {
                    format!("{}({from}, {to}, {text})", support::ARRAY_CAST)
                } else if from == extension::CITEXT && to != from {
                    // (what compares without regard to case is the column's collation)
                    format!("({text} COLLATE BINARY)")
                } else {
                    text
                })
            }
            CastMethod::Function(proc) => {
                let declared = self
                    .env
                    .catalog
                    .proc(*proc)
                    .ok_or_else(|| PgError::internal("a cast without a function"))?
                    .args
                    .len();
                let mut args = vec![arg.clone()];
                if declared >= 2 {
                    args.push(Expr::new(ExprKind::Const(Datum::Int(whole.typmod as i64)), oid::INT4, -1));
                }
                if declared >= 3 {
                    args.push(Expr::new(
                        ExprKind::Const(Datum::Int((form == CastForm::Explicit) as i64)),
                        oid::BOOL,
                        -1,
                    ));
                }
                let text = self.call(*proc, &args, false, whole)?;
                // int2 becomes an OID by way of int4, whose 32 bits the OID's are
                let by_int4 = builtin::proc_by_oid(*proc).is_some_and(|p| p.ret == oid::INT4);
                let unsigned = matches!(self.env.catalog.codec(ty), Some(TypeCodec::Oid | TypeCodec::Reg(_)));
                Ok(if by_int4 && unsigned { format!("({text} & 4294967295)") } else { text })
            }
            CastMethod::InOut => {
                let value = self.expr(arg)?;
                let is_text = |t: Oid| {
                    matches!(
                        self.env.catalog.base_type(t),
                        oid::TEXT | oid::VARCHAR | oid::NAME | oid::UNKNOWN | oid::CSTRING
                    )
                };
                let text = if is_text(arg.ty) { value } else { format!("{}({}, {value})", support::TEXT_OUT, arg.ty) };
                if matches!(ty, oid::TEXT | oid::VARCHAR) {
                    return Ok(text);
                }
                Ok(format!("{}({ty}, -1, {text})", support::TEXT_IN))
            }
            CastMethod::Typmod if self.is_fitted(whole, arg) => self.expr(arg),
            CastMethod::Typmod => {
                let explicit = (form == CastForm::Explicit) as i32;
                Ok(format!("{}({ty}, {}, {explicit}, {})", support::TYPMOD, whole.typmod, self.expr(arg)?))
            }
            CastMethod::Array(element, from, to) => match **element {
                CastMethod::InOut | CastMethod::Function(_) => {
                    // Casts between days, times and intervals that ARRAY_CAST does not know are refused; what is left
                    // goes through the elements' text form.
                    let temporal = |t: Oid| {
                        matches!(
                            t,
                            oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::DATE | oid::TIME | oid::TIMETZ | oid::INTERVAL
                        )
                    };
                    let moment = |t: Oid| matches!(t, oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::DATE);
                    if temporal(*from) && temporal(*to) && !(moment(*from) && moment(*to)) {
                        return Err(PgError::not_supported("this cast between array types").at(whole.location));
                    }
                    // functions that do not give what reading the text form gives
                    let peculiar = |t: Oid| {
                        matches!(
                            self.env.catalog.codec(t),
                            Some(
                                TypeCodec::Bits { .. }
                                    | TypeCodec::Inet { .. }
                                    | TypeCodec::MacAddr { .. }
                                    | TypeCodec::Money
                                    | TypeCodec::Geometric(_)
                                    | TypeCodec::Lsn
                            )
                        )
                    };
                    if matches!(**element, CastMethod::Function(_)) && (peculiar(*from) || peculiar(*to)) {
                        return Err(PgError::not_supported("this cast between array types").at(whole.location));
                    }
                    Ok(format!("{}({}, {ty}, {})", support::ARRAY_CAST, arg.ty, self.expr(arg)?))
                }
                _ => Err(PgError::not_supported("this cast between array types").at(whole.location)),
            },
            CastMethod::Domain => {
                let value = self.expr(arg)?;
                // the check has the value in several places
                if volatility::is_repeatable(arg) || !self.is_constrained(ty) {
                    return self.domain_check(ty, value, whole.location);
                }
                if contains_aggregate(arg) || contains_window(arg) {
                    let what = "a volatile expression over aggregates as a value of a domain";
                    return Err(PgError::not_supported(what).at(whole.location));
                }
                let alias = self.unique("t");
                let check = self.domain_check(ty, format!("{alias}.v"), whole.location)?;
                // MATERIALIZED, or SQLite puts the value's text in each place
                Ok(format!("(WITH {alias}(v) AS MATERIALIZED (SELECT {value}) SELECT {check} FROM {alias})"))
            }
        }
    }

    /// Whether values of a type have constraints: a domain's, or those of what an array or a row holds.
    fn is_constrained(&self, ty: Oid) -> bool {
        let catalog = self.env.catalog;
        if let Some(TypeEntry::User(t)) = catalog.type_entry(ty) {
            if let UserTypeKind::Domain { base, not_null, checks, .. } = &t.kind {
                return *not_null || !checks.is_empty() || self.is_constrained(*base);
            }
        }
        match catalog.element_type(ty) {
            Some(element) => self.is_constrained(element),
            None => catalog.composite_fields(ty).is_some_and(|f| f.iter().any(|(_, t, _)| self.is_constrained(*t))),
        }
    }

    /// An array or row checked against the constraints of the domains that its elements or fields are of.
    fn contents_check(&mut self, ty: Oid, value: String, location: i32) -> Result<String> {
        if let Some(element) = self.env.catalog.element_type(ty) {
            if pg_type::is_blob(self.env.catalog.base_type(element)) {
                let base = self.env.catalog.base_type(element);
                let name = pg_type::by_oid(base).map_or("a BLOB", |t| t.name);
                return Err(PgError::not_supported(format!("an array of a domain over {name}")).at(location));
            }
            let alias = self.unique("t");
            let check = self.domain_check(element, format!("{alias}.value"), location)?;
            // count evaluates the check for every element
            let each = format!("SELECT count({check}) FROM json_each({}({value})) AS {alias}", support::FLATTEN);
            return Ok(format!("(CASE WHEN ({each}) >= 0 THEN {value} END)"));
        }
        let fields = self.env.catalog.composite_fields(ty).unwrap_or_default();
        let mut parts = Vec::new();
        for (i, (_, field, _)) in fields.into_iter().enumerate() {
            if self.is_constrained(field) {
                parts.push(self.domain_check(field, format!("{}({value}, {i})", support::FIELD), location)?);
            }
        }
        Ok(format!("(CASE WHEN {value} IS NOT NULL THEN {}({}, {value}) END)", support::AFTER, parts.join(", ")))
    }

    /// A value checked against a domain's constraints (and those of the domains below it), or an array's or row's contents.
    fn domain_check(&mut self, domain: Oid, value: String, location: i32) -> Result<String> {
        self.uses_catalog = true;
        if !self.is_constrained(domain) {
            return Ok(value);
        }
        if self.env.catalog.base_type(domain) == domain {
            return self.contents_check(domain, value, location);
        }
        let Some(TypeEntry::User(t)) = self.env.catalog.type_entry(domain) else {
            return Err(PgError::not_supported("this domain").at(location));
        };
        let t = t.clone();
        let UserTypeKind::Domain { base, not_null, checks, .. } = &t.kind else {
            return Err(PgError::internal("a domain expected"));
        };
        let value =
            if self.env.catalog.base_type(*base) != *base { self.domain_check(*base, value, location)? } else { value };
        if checks.is_empty() && !not_null {
            return Ok(value);
        }
        let base = self.env.catalog.base_type(*base);
        self.checked_by(&t, base, value)
    }

    /// A value of the base type checked against one domain's own constraints.
    fn checked_by(&mut self, domain: &UserType, base: Oid, value: String) -> Result<String> {
        let UserTypeKind::Domain { not_null, checks, .. } = &domain.kind else {
            return Err(PgError::internal("a domain expected"));
        };
        let schema = self.env.catalog.schemas.get(&domain.schema).map_or("", |s| s.name.as_str());
        let mut args =
            vec![value.clone(), quote_text(schema), quote_text(&domain.name), (*not_null as i32).to_string()];
        for check in checks {
            let expr = crate::analyze::analyze_domain_check(self.env, &check.expression, base)?;
            let saved = self.domain_value.replace(value.clone());
            let condition = self.expr(&expr);
            self.domain_value = saved;
            args.push(condition?);
            args.push(quote_text(&check.name));
        }
        Ok(format!("{}({})", support::DOMAIN, args.join(", ")))
    }

    // --- comparisons -------------------------------------------------------------------------------------------------

    fn array_compare(
        &mut self,
        op: OperatorRef,
        quantifier: Quantifier,
        left: &Expr,
        array: &Expr,
        whole: &Expr,
    ) -> Result<String> {
        if let Some(text) = self.compare_with_items(op, quantifier, left, array, whole)? {
            return Ok(text);
        }
        let array_text = self.expr(array)?;
        let each = format!("json_each({}({array_text}))", support::FLATTEN);
        let element = self
            .env
            .catalog
            .element_type(self.env.catalog.base_type(array.ty))
            .ok_or_else(|| PgError::internal("ANY without an array"))?;
        let null_row = format!("SELECT NULL WHERE {array_text} IS NULL");
        let is_blob = pg_type::is_blob(element);
        if !is_blob && self.plain_equality(op, left.ty, element) && quantifier == Quantifier::Any {
            return Ok(format!("({} IN (SELECT value FROM {each} UNION ALL {null_row}))", self.collated(left)?));
        }
        let negator = builtin::operator_by_oid(op.oid).and_then(|o| builtin::operator_by_oid(o.negator));
        if let Some(negator) = negator.filter(|_| quantifier == Quantifier::All && !is_blob) {
            let equality = OperatorRef { oid: negator.oid, proc: negator.proc };
            if self.plain_equality(equality, left.ty, element) {
                return Ok(format!(
                    "({} NOT IN (SELECT value FROM {each} UNION ALL {null_row}))",
                    self.collated(left)?
                ));
            }
        }
        // the general form: the operator per element, folded with three-valued logic
        let alias = self.unique("t");
        let value = self.from_json_element(format!("{alias}.value"), element);
        let item = Expr::new(ExprKind::Var(crate::typed::Var { levels_up: 0, rte: 0, column: 0 }), element, -1);
        self.scopes.push(super::Scope { entries: vec![vec![value]], ..Default::default() });
        let raised = raise(left, 1);
        let test = self.call(op.proc, &[raised, item], false, whole);
        self.scopes.pop();
        let fold = fold_quantifier(quantifier, &format!("SELECT {} AS b FROM {each} AS {alias}", test?));
        Ok(format!("(CASE WHEN {array_text} IS NOT NULL THEN {fold} END)"))
    }

    fn extreme(&mut self, list: &[Expr], operator: &str, whole: &Expr) -> Result<String> {
        if let [one] = list {
            return self.expr(one);
        }
        // SQLite's scalar max()/min() give NULL if any argument is; PostgreSQL ignores NULLs: each argument falls back to
        // the others in turn, so that none is NULL unless all are.
        let mut texts = self.exprs(list)?;
        // that writes every argument several times: only where they are few and short
        if texts.len() > 4 || texts.iter().any(|t| t.len() > 64) {
            let f = if operator == ">" { support::GREATEST } else { support::LEAST };
            let mut parts = texts;
            while parts.len() > 1 {
                parts = parts
                    .chunks(MOST_ARGUMENTS)
                    .map(|part| format!("{f}({}, {})", self.env.catalog.base_type(whole.ty), part.join(", ")))
                    .collect();
            }
            return Ok(parts.remove(0));
        }
        let f = if operator == ">" { "max" } else { "min" };
        if operator == "<" {
            // of equal values (1.0, 1.00) PostgreSQL gives the first, SQLite's min() the last
            texts.reverse();
        }
        let collate = self.collation_of(whole).map_or(String::new(), |c| format!(" COLLATE {c}"));
        let rotations: Vec<String> = (0..texts.len())
            .map(|i| {
                let mut turned: Vec<&str> = texts[i..].iter().chain(&texts[..i]).map(String::as_str).collect();
                if operator == "<" {
                    // fall back on the arguments in the order they were written
                    turned[1..].reverse();
                }
                format!("coalesce({}){collate}", turned.join(", "))
            })
            .collect();
        Ok(format!("{f}({})", rotations.join(", ")))
    }

    fn row_compare(
        &mut self,
        name: &str,
        operators: &[OperatorRef],
        left: &[Expr],
        right: &[Expr],
        whole: &Expr,
    ) -> Result<String> {
        let pair = |i: usize| [left[i].clone(), right[i].clone()];
        let mut tests = Vec::new();
        for (i, op) in operators.iter().enumerate() {
            tests.push(self.call(op.proc, &pair(i), false, whole)?);
        }
        Ok(match name {
            "=" => format!("({})", tests.join(" AND ")),
            "<>" => format!("({})", tests.join(" OR ")),
            _ => {
                // lexicographic: strict on all but the last, which takes the operator itself
                let mut text = tests.last().cloned().ok_or_else(|| PgError::internal("an empty row comparison"))?;
                for i in (0..operators.len() - 1).rev() {
                    let strict_name = if name.starts_with('<') { "<" } else { ">" };
                    let operator =
                        builtin::operator_by_oid(operators[i].oid).ok_or_else(|| PgError::internal("row operator"))?;
                    let find = |n: &str| {
                        builtin::operators_named(n)
                            .find(|o| o.left == operator.left && o.right == operator.right)
                            .ok_or_else(|| PgError::not_supported("this row comparison").at(whole.location))
                    };
                    let strict = self.call(find(strict_name)?.proc, &pair(i), false, whole)?;
                    let equal = self.call(find("=")?.proc, &pair(i), false, whole)?;
                    text = format!("({strict} OR ({equal} AND {text}))");
                }
                text
            }
        })
    }

    // --- sub-queries -------------------------------------------------------------------------------------------------

    fn sub_link(&mut self, kind: &SubLinkKind, query: &crate::typed::Query, whole: &Expr) -> Result<String> {
        match kind {
            SubLinkKind::Exists => Ok(format!("EXISTS ({})", self.query(query)?)),
            SubLinkKind::Scalar => {
                let text = self.query(query)?;
                if super::query::at_most_one_row(query) {
                    return Ok(format!("({text})"));
                }
                Ok(format!("(SELECT {}(c1) FROM ({text}))", support::SINGLE))
            }
            SubLinkKind::Array => {
                let element = query.columns[0].ty;
                let text = self.query(query)?;
                if self.env.catalog.element_type(element).is_some() {
                    // arrays become the elements of one with a dimension more
                    return Ok(format!("(SELECT {}(json_group_array(c1)) FROM ({text}))", support::NEST));
                }
                Ok(format!("(SELECT json_group_array({}) FROM ({text}))", self.json_element("c1", element)))
            }
            SubLinkKind::Quantified { quantifier, tests, operators } => {
                let all_plain = |l: &Self, ops: &[OperatorRef]| {
                    ops.iter().zip(tests).zip(&query.columns).all(|((op, t), c)| l.plain_equality(*op, t.ty, c.ty))
                };
                let mut left = Vec::new();
                for test in tests {
                    left.push(self.collated(test)?);
                }
                let left = if left.len() == 1 { left.remove(0) } else { format!("({})", left.join(", ")) };
                if *quantifier == Quantifier::Any && all_plain(self, operators) {
                    return Ok(format!("({left} IN ({}))", self.query(query)?));
                }
                let negators: Option<Vec<OperatorRef>> = operators
                    .iter()
                    .map(|op| {
                        builtin::operator_by_oid(builtin::operator_by_oid(op.oid)?.negator)
                            .map(|n| OperatorRef { oid: n.oid, proc: n.proc })
                    })
                    .collect();
                if let Some(negators) = negators.filter(|_| *quantifier == Quantifier::All) {
                    if all_plain(self, &negators) {
                        return Ok(format!("({left} NOT IN ({}))", self.query(query)?));
                    }
                }
                let rows = self.compared_rows(tests, operators, query, whole)?;
                Ok(fold_quantifier(*quantifier, &rows))
            }
            SubLinkKind::RowCompare { tests, operators } => {
                let rows = self.compared_rows(tests, operators, query, whole)?;
                Ok(format!("(SELECT {}(b) FROM ({rows}))", support::SINGLE))
            }
        }
    }

    /// A query that compares `tests` with each row of `query`: its column `b`.
    fn compared_rows(
        &mut self,
        tests: &[Expr],
        operators: &[OperatorRef],
        query: &crate::typed::Query,
        whole: &Expr,
    ) -> Result<String> {
        let inner = self.query(query)?;
        let alias = self.unique("t");
        let var = |column| ExprKind::Var(crate::typed::Var { levels_up: 0, rte: 0, column });
        let items: Vec<Expr> = query.columns.iter().enumerate().map(|(i, c)| Expr::new(var(i), c.ty, -1)).collect();
        let names = (1..=items.len()).map(|i| format!("{alias}.c{i}")).collect();
        let tests: Vec<Expr> = tests.iter().map(|t| raise(t, 1)).collect();
        self.scopes.push(super::Scope { entries: vec![names], ..Default::default() });
        let comparison = match (&tests[..], &items[..]) {
            ([test], [item]) => self.call(operators[0].proc, &[test.clone(), item.clone()], false, whole),
            _ => {
                let name =
                    operators.first().and_then(|op| builtin::operator_by_oid(op.oid)).map_or("", |o| o.name.as_str());
                self.row_compare(name, operators, &tests, &items, whole)
            }
        };
        self.scopes.pop();
        Ok(format!("SELECT {} AS b FROM ({inner}) AS {alias}", comparison?))
    }

    // --- aggregates and windows ----------------------------------------------------------------------------------------

    pub(super) fn aggregate(&mut self, call: &Aggregate, whole: &Expr) -> Result<String> {
        let filter = self.filter_of(call)?;
        if self.env.catalog.function(call.proc).is_some() && self.stands_for(call.proc, whole)? == call.proc {
            return self.user_aggregate(call, whole, b'f', &filter);
        }
        if let Some(text) = self.last_extreme(call)? {
            return Ok(text + &filter);
        }
        Ok(self.aggregate_core(call, whole)? + &filter)
    }

    /// `min` or `max` of a type whose equal values may be written in different ways (1.0 and 1.00): PostgreSQL gives the last of them,
    /// SQLite the first, unless a collation makes later values better. None: it makes no difference, or an index has the value, which
    /// both take from there.
    fn last_extreme(&mut self, call: &Aggregate) -> Result<Option<String>> {
        // (DISTINCT changes nothing)
        let [arg] = &call.args[..] else { return Ok(None) };
        let name = match imp(call.proc) {
            Some(Imp::InlineAggregate("min($1)")) => "min",
            Some(Imp::InlineAggregate("max($1)")) => "max",
            _ => return Ok(None),
        };
        let collation = match self.collation_of(arg) {
            Some(collation) if collation == "decimal" && arg.typmod < 0 || collation == "pg_interval" => collation,
            _ => return Ok(None),
        };
        if !call.order_by.is_empty() || self.is_indexed(arg) {
            return Ok(None);
        }
        Ok(Some(format!("{name}({} COLLATE {collation}_{name})", self.expr(arg)?)))
    }

    /// Whether an index of the one table that is read begins with the column.
    fn is_indexed(&mut self, column: &Expr) -> bool {
        let ExprKind::Var(v) = &column.kind else { return false };
        let Some((table, columns)) = &self.scope().whole_table else { return false };
        let (table, Some(attnum)) = (*table, columns.get(v.column).copied()) else { return false };
        let begins = |part: &KeyPart| matches!(part, KeyPart::Column(a) if *a == attnum);
        self.env.catalog.indexes_of(table).any(|(_, i)| i.columns.first().is_some_and(|c| begins(&c.key)))
    }

    /// ` FILTER (WHERE …)` or nothing
    fn filter_of(&mut self, call: &Aggregate) -> Result<String> {
        Ok(match &call.filter {
            Some(filter) => format!(" FILTER (WHERE {})", self.expr(filter)?),
            None => String::new(),
        })
    }

    /// The function that carries out an aggregate or window function of the user: one of PostgreSQL's, or itself.
    pub(super) fn stands_for(&self, proc: Oid, whole: &Expr) -> Result<Oid> {
        let Some(function) = self.env.catalog.function(proc) else { return Ok(proc) };
        match &function.aggregate {
            // a state that only PostgreSQL's own functions know
            Some(aggregate) if aggregate.plain.state == oid::INTERNAL => {
                builtin::aggregate_like(aggregate).map(|a| a.proc).filter(|a| imp(*a).is_some()).ok_or_else(|| {
                    let what = format!("the aggregate {}, whose state is internal", function.name);
                    PgError::not_supported(what).at(whole.location)
                })
            }
            Some(_) => Ok(proc),
            None => self.internal(proc, whole.location),
        }
    }

    /// An aggregate that calls functions for its state. `frame`: how its rows come and go, see [`support::AGGREGATE`].
    /// SQLite does not say of which aggregate a group without rows is, so that is asked first; `after`: FILTER and OVER.
    fn user_aggregate(&mut self, call: &Aggregate, whole: &Expr, frame: u8, after: &str) -> Result<String> {
        self.uses_catalog = true;
        if !self.routines.contains(&call.proc) {
            self.routines.push(call.proc);
        }
        let all: Vec<Expr> = call.direct.iter().chain(&call.args).cloned().collect();
        let types = self.type_list(&all, call.variadic, whole.ty);
        let what = format!("'{}:{}:{}:{}", call.proc, frame as char, call.direct.len(), &types[1..]);
        let direct = self.exprs(&call.direct)?;
        let mut of_none = vec![what.clone()];
        of_none.extend(direct);
        let mut texts = vec![];
        if call.distinct {
            texts.push(types);
        }
        texts.push(what);
        for arg in &all {
            texts.push(self.value_arg(arg)?);
        }
        let mut keys = if call.direct.is_empty() { call.order_by.clone() } else { vec![] };
        let mut name = support::AGGREGATE.to_string();
        if call.distinct {
            name += support::DISTINCT_SUFFIX;
            for arg in &call.args {
                if !keys.iter().any(|k| k.expr == *arg) {
                    keys.push(SortKey { expr: arg.clone(), descending: false, nulls_first: false, target: None });
                }
            }
        }
        let order = if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", self.sort_keys(&keys)?) };
        Ok(format!(
            "CASE WHEN count(*){after} = 0 THEN {}({}) ELSE {name}({}{order}){after} END",
            support::AGGREGATE_NONE,
            of_none.join(", "),
            texts.join(", ")
        ))
    }

    /// `name([DISTINCT] args [ORDER BY …])`
    fn aggregate_core(&mut self, call: &Aggregate, whole: &Expr) -> Result<String> {
        let proc = self.stands_for(call.proc, whole)?;
        let how = imp(proc).ok_or_else(|| PgError::internal("an aggregate without implementation"))?;
        let order = if call.order_by.is_empty() {
            String::new()
        } else {
            format!(" ORDER BY {}", self.sort_keys(&call.order_by)?)
        };
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        match how {
            Imp::InlineAggregate(template) => {
                if call.star {
                    return Ok("count(*)".into());
                }
                let mut texts = Vec::new();
                for arg in &call.args {
                    texts.push(self.collated(arg)?);
                }
                let filled = fill(template, &texts)?;
                if distinct.is_empty() && order.is_empty() {
                    return Ok(filled);
                }
                // the template is `name(args)`
                let (name, rest) =
                    filled.split_once('(').ok_or_else(|| PgError::internal("an aggregate template without a call"))?;
                let args = rest
                    .strip_suffix(')')
                    .ok_or_else(|| PgError::internal("an aggregate template that is no plain call"))?;
                if call.distinct && call.args.len() != 1 {
                    return Err(
                        PgError::not_supported("DISTINCT in an aggregate of several arguments").at(whole.location)
                    );
                }
                Ok(format!("{name}({distinct}{args}{order})"))
            }
            Imp::NativeAggregate { typed } => {
                if let Some(text) = self.decimal_aggregate(proc, call)? {
                    return Ok(text);
                }
                let mut texts = Vec::new();
                let all: Vec<Expr> = call.direct.iter().chain(&call.args).cloned().collect();
                if call.distinct {
                    texts.push(self.type_list(&all, false, whole.ty));
                }
                if typed {
                    let mut types = self.type_list(&all, call.variadic, whole.ty);
                    if !call.direct.is_empty() {
                        let keys = call.order_by.iter().map(|k| match (k.descending, k.nulls_first) {
                            (false, false) => "al",
                            (false, true) => "af",
                            (true, false) => "dl",
                            (true, true) => "df",
                        });
                        types.insert_str(types.len() - 1, &format!(";{}", keys.collect::<Vec<_>>().join(",")));
                    }
                    texts.push(types);
                }
                for arg in &all {
                    texts.push(self.value_arg(arg)?);
                }
                if !call.distinct {
                    return Ok(format!("{}({}{order})", native_name(proc), texts.join(", ")));
                }
                // Sorted by all arguments, equal rows are neighbours; PostgreSQL's result is in that order, too.
                let mut keys = call.order_by.clone();
                for arg in &call.args {
                    if !keys.iter().any(|k| k.expr == *arg) {
                        keys.push(SortKey { expr: arg.clone(), descending: false, nulls_first: false, target: None });
                    }
                }
                let order = self.sort_keys(&keys)?;
                let (name, suffix) = (native_name(proc), support::DISTINCT_SUFFIX);
                Ok(format!("{name}{suffix}({} ORDER BY {order})", texts.join(", ")))
            }
            other => Err(PgError::internal(format!("{other:?} is not an aggregate"))),
        }
    }

    pub(super) fn window_call(&mut self, call: &Aggregate, window: &Window, whole: &Expr) -> Result<String> {
        if let (Some("window_ntile"), [Expr { kind: ExprKind::Const(Datum::Null), .. }]) =
            (builtin::proc_by_oid(call.proc).and_then(|p| p.src), &call.args[..])
        {
            // (SQLite takes a number only; the rows come in the window's order all the same)
            return Ok(format!("(row_number(){} + NULL)", self.over(window)?));
        }
        let filter = self.filter_of(call)?;
        let over = self.over(window)?;
        if self.env.catalog.function(call.proc).is_some_and(|f| f.aggregate.is_some())
            && self.stands_for(call.proc, whole)? == call.proc
        {
            let frame = self.moving_frame(call, window);
            return self.user_aggregate(call, whole, frame, &format!("{filter}{over}"));
        }
        // (a frame that loses rows is sorted by the collation, which has to be an order)
        let grows = window
            .frame
            .as_ref()
            .is_none_or(|f| f.start == FrameBound::UnboundedPreceding && f.exclusion == FrameExclusion::NoOthers);
        if let (true, Some(text)) = (grows, self.last_extreme(call)?) {
            return Ok(text + &filter + &over);
        }
        Ok(self.aggregate_core(call, whole)? + &filter + &over)
    }

    /// How the frame of an aggregate of the user moves, as PostgreSQL decides it (see [`support::AGGREGATE`]).
    fn moving_frame(&self, call: &Aggregate, window: &Window) -> u8 {
        let head_moves = match &window.frame {
            Some(frame) => frame.start != FrameBound::UnboundedPreceding,
            None => false,
        };
        let Some(aggregate) = self.env.catalog.aggregate(call.proc) else { return b'f' };
        let fixed = if head_moves { b'm' } else { b'f' };
        let Some(moving) = &aggregate.moving else { return fixed };
        if moving.finish_modify == b'r' && aggregate.plain.finish_modify != b'r' {
            return b'i';
        }
        let by_itself = |e: &Expr| {
            let mut volatile = false;
            walk::deep(e, 0, &mut |_, e| {
                volatile |= matches!(e.kind, ExprKind::SubLink { .. }) || volatility::is_volatile(self.env.catalog, e)
            });
            volatile
        };
        if !head_moves || call.args.iter().chain(&call.filter).any(by_itself) {
            return fixed;
        }
        b'i'
    }

    /// ` OVER (…)`
    fn over(&mut self, window: &Window) -> Result<String> {
        let mut spec = Vec::new();
        if !window.partition_by.is_empty() {
            let mut keys = Vec::new();
            for key in &window.partition_by {
                keys.push(self.collated(key)?);
            }
            spec.push(format!("PARTITION BY {}", keys.join(", ")));
        }
        // SQLite's RANGE adds the offset to a number: other types are counted in microseconds or millionths
        let counted = match (&window.frame, &window.order_by[..]) {
            (Some(Frame { mode: FrameMode::Range, start, end, .. }), [key]) if has_offset(start) || has_offset(end) => {
                let ty = self.env.catalog.base_type(key.expr.ty);
                let number = matches!(ty, oid::INT2 | oid::INT4 | oid::INT8 | oid::FLOAT4 | oid::FLOAT8);
                (!number).then_some((ty, key))
            }
            _ => None,
        };
        if let Some((ty, key)) = counted {
            let value = self.expr(&key.expr)?;
            spec.push(format!("ORDER BY {}({ty}, {value}){}", support::RANGE_KEY, direction(key)));
        } else if !window.order_by.is_empty() {
            spec.push(format!("ORDER BY {}", self.sort_keys(&window.order_by)?));
        }
        if let Some(frame) = &window.frame {
            spec.push(self.frame(frame, counted.map(|(ty, _)| ty))?);
        }
        Ok(format!(" OVER ({})", spec.join(" ")))
    }

    fn frame(&mut self, frame: &Frame, counted: Option<Oid>) -> Result<String> {
        let mode = match frame.mode {
            FrameMode::Range => "RANGE",
            FrameMode::Rows => "ROWS",
            FrameMode::Groups => "GROUPS",
        };
        let start = self.frame_bound(&frame.start, counted)?;
        let end = self.frame_bound(&frame.end, counted)?;
        let exclusion = match frame.exclusion {
            FrameExclusion::NoOthers => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        };
        Ok(format!("{mode} BETWEEN {start} AND {end}{exclusion}"))
    }

    /// A constant offset of RANGE in the unit in which [`support::RANGE_KEY`] counts; None: it cannot be counted so.
    pub(super) fn counted_offset(&self, ty: Oid, offset: &Expr) -> Option<i64> {
        use pgsqlite_types::datetime::Interval;
        const MICROS_PER_DAY: i64 = 86_400_000_000;
        let value = match &offset.kind {
            ExprKind::Const(value) => value,
            ExprKind::Cast { arg, .. } => match &arg.kind {
                ExprKind::Const(value) => value,
                _ => return None,
            },
            _ => return None,
        };
        let Datum::Text(text) = value else { return None };
        let interval = Interval::from_storage(text)?;
        match ty {
            // the time of day disregards months and days
            oid::TIME => Some(interval.micros),
            oid::INTERVAL => i64::try_from(interval.span()).ok(),
            oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ if interval.span() < 0 => Some(-1),
            // months differ in length, and days in time zones
            oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ if interval.months != 0 => None,
            oid::TIMESTAMPTZ
                if interval.days != 0
                    && !matches!(self.env.settings.time_zone_name.as_str(), "UTC" | "GMT" | "Etc/UTC") =>
            {
                None
            }
            oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ => {
                i64::from(interval.days).checked_mul(MICROS_PER_DAY)?.checked_add(interval.micros)
            }
            _ => None,
        }
    }

    fn frame_bound(&mut self, bound: &FrameBound, counted: Option<Oid>) -> Result<String> {
        let uncounted = || PgError::internal("a frame's offset that cannot be counted");
        // (a negative one is an error of the running query)
        let mut offset = |e: &Expr| match counted {
            Some(ty) => Ok(self.counted_offset(ty, e).ok_or_else(uncounted)?.to_string()),
            // SQLite takes no call for an offset, but a number
            None => match super::frames::constant_integer(e) {
                Some(i) => Ok(i.to_string()),
                None => self.expr(e),
            },
        };
        Ok(match bound {
            FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".into(),
            FrameBound::Preceding(e) => format!("{} PRECEDING", offset(e)?),
            FrameBound::CurrentRow => "CURRENT ROW".into(),
            FrameBound::Following(e) => format!("{} FOLLOWING", offset(e)?),
            FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".into(),
        })
    }

    pub(super) fn sort_keys(&mut self, keys: &[SortKey]) -> Result<String> {
        let mut out = Vec::new();
        for key in keys {
            let text = self.collated(&key.expr)?;
            out.push(format!("{}{}", not_a_position(text, &key.expr), direction(key)));
        }
        Ok(out.join(", "))
    }

    /// A subscript, counted from 1: those of the catalogs' vectors begin at 0.
    fn subscript(&mut self, index: &Expr, array: Oid) -> Result<String> {
        let text = self.expr(index)?;
        let vector = matches!(self.env.catalog.base_type(array), oid::INT2VECTOR | oid::OIDVECTOR);
        Ok(if vector { format!("({text} + 1)") } else { text })
    }

    /// How a relation's column is read: foreign ones through their normalising function.
    pub(super) fn column_text(
        &self,
        relation: &crate::catalog::Relation,
        column: &crate::catalog::Column,
        reference: String,
    ) -> String {
        match column.storage {
            StorageForm::Canonical => reference,
            StorageForm::Foreign => {
                format!(
                    "{}({}, {reference}, {}, {})",
                    support::FOREIGN,
                    column.type_oid,
                    quote_text(&format!("{}.{}", relation.name, column.name)),
                    column.typmod
                )
            }
        }
    }
}

fn has_offset(bound: &FrameBound) -> bool {
    matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_))
}

pub(super) fn direction(key: &SortKey) -> &'static str {
    match (key.descending, key.nulls_first) {
        (false, false) => " ASC NULLS LAST",
        (false, true) => " ASC NULLS FIRST",
        (true, true) => " DESC NULLS FIRST",
        (true, false) => " DESC NULLS LAST",
    }
}

/// A key of GROUP BY or ORDER BY: what SQLite would read as the number of a column is cast.
pub(super) fn not_a_position(text: String, key: &Expr) -> String {
    let number = |b: u8| b.is_ascii_digit() || matches!(b, b'(' | b')' | b'+' | b'-' | b' ');
    if matches!(key.kind, ExprKind::Const(_)) || text.bytes().all(number) {
        return format!("CAST({text} AS TEXT)");
    }
    // (it makes the numbers 0 and 1 of conditions whose outcome it sees, such as `'a' IS NOT NULL`)
    if key.ty == oid::BOOL && !matches!(key.kind, ExprKind::Var(_)) {
        return format!("({text} + 0)");
    }
    text
}

/// True if any (all) of the column `b` of `rows` are, NULL if that is undecided.
fn fold_quantifier(quantifier: Quantifier, rows: &str) -> String {
    match quantifier {
        Quantifier::Any => {
            format!("(SELECT CASE WHEN max(b) = 1 THEN 1 WHEN count(*) > count(b) THEN NULL ELSE 0 END FROM ({rows}))")
        }
        Quantifier::All => {
            format!("(SELECT CASE WHEN min(b) = 0 THEN 0 WHEN count(*) > count(b) THEN NULL ELSE 1 END FROM ({rows}))")
        }
    }
}

/// The expression seen from `by` scopes further in.
pub(super) fn raise(expr: &Expr, by: usize) -> Expr {
    let mut out = expr.clone();
    crate::walk::deep_mut(&mut out, 0, &mut |depth, e| match &mut e.kind {
        ExprKind::Var(v) if v.levels_up >= depth => v.levels_up += by,
        ExprKind::WholeRow { levels_up, .. } if *levels_up >= depth => *levels_up += by,
        ExprKind::SubLink { query, .. } => crate::analyze::shift_with_references(query, depth, by),
        _ => {}
    });
    out
}

/// Replaces `$1`, `$2` … of a template.
fn fill(template: &str, args: &[String]) -> Result<String> {
    let mut out = String::with_capacity(template.len() + 16);
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '$' {
            out.push(c);
            continue;
        }
        let mut n = 0usize;
        while let Some(d) = chars.peek().and_then(|c| c.to_digit(10)) {
            n = n * 10 + d as usize;
            chars.next();
        }
        out.push_str(
            n.checked_sub(1)
                .and_then(|i| args.get(i))
                .ok_or_else(|| PgError::internal(format!("template {template} names an argument that is not there")))?,
        );
    }
    Ok(out)
}

/// A constant in storage form as a SQLite literal.
pub(super) fn literal(datum: &Datum) -> String {
    match datum {
        Datum::Null => "NULL".into(),
        Datum::Int(i64::MIN) => "(-9223372036854775807 - 1)".into(),
        Datum::Int(i) if *i < 0 => format!("({i})"),
        Datum::Int(i) => i.to_string(),
        Datum::Real(r) if r.is_infinite() => if *r > 0.0 { "9e999" } else { "(-9e999)" }.into(),
        Datum::Real(r) if *r < 0.0 => format!("({r:?})"),
        Datum::Real(r) => format!("{r:?}"),
        Datum::Text(t) => quote_text(t),
        Datum::Blob(b) => format!("x'{}'", b.iter().map(|b| format!("{b:02x}")).collect::<String>()),
    }
}

/// Operands joined by an associative operator. SQLite's tree of `a AND b AND c …` is as deep as the chain is long, and it
/// refuses deep ones: a long chain is halved until its parts are short.
pub(super) fn chain(operands: &[String], operator: &str) -> String {
    const SHORT: usize = 100;
    if operands.len() <= SHORT {
        return format!("({})", operands.join(operator));
    }
    let (left, right) = operands.split_at(operands.len() / 2);
    format!("({}{operator}{})", chain(left, operator), chain(right, operator))
}

/// A lowered text that SQLite may be given. Errors: 54001.
pub(super) fn bounded(text: String) -> Result<String> {
    const LONGEST: usize = 64 << 20;
    if text.len() > LONGEST {
        return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
            .hint("Simplify the statement: it is nested too deeply."));
    }
    Ok(text)
}
