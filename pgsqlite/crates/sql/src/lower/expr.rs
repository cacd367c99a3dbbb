//! Expressions.

use super::connectives::{AND, OR};
use super::{evaluation_order, quote_text, support, Lowerer};
use crate::analyze::collations::{needs, Needs};
use crate::builtins::catalog as builtin;
use crate::builtins::imp::{imp, native_name, Imp};
use crate::catalog::{StorageForm, NO_COLLATION};
use crate::routine::Language;
use crate::typed::{AssignPart, BoolTest, CastForm, CastMethod, Expr, ExprKind, OperatorRef, RteColumn, SortKey, Var};
use crate::volatility::{self, likely_operand_of_case};
use crate::walk;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

/// Arguments that a call of a function of SQLite gets at most (its limit is 1000).
const MOST_ARGUMENTS: usize = 900;

/// What no text has that SQLite gives a collation.
pub(super) const COLLATE: &str = " COLLATE ";

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

    /// The expression with its collation, for a test of equality: the values of a `"char"` are equal only where their texts are, so that it
    /// needs its collation for their order alone.
    pub(super) fn equated(&mut self, expr: &Expr) -> Result<String> {
        match self.env.catalog.codec(expr.ty) {
            Some(TypeCodec::Char) => self.expr(expr),
            _ => self.collated(expr),
        }
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
        within_length_limit(text).map_err(|e| e.at(expr.location))
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
        let decides = std::mem::take(&mut self.decides);
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
            ExprKind::Func { .. } | ExprKind::Op { .. } | ExprKind::NullIf { .. }
                if evaluation_order::is_always_null(expr) =>
            {
                "NULL".into()
            }
            ExprKind::Func { proc, args, variadic } => {
                self.call(*proc, args, *variadic, expr).and_then(|text| self.unless_null(expr, text))?
            }
            ExprKind::SetFunc { .. } => {
                return Err(PgError::not_supported("a set-returning function here").at(expr.location))
            }
            ExprKind::Op { op, args } => match self.unlike_records(op.proc, args)? {
                Some(text) => text,
                None => self.call(op.proc, args, false, expr).and_then(|text| self.unless_null(expr, text))?,
            },
            ExprKind::Cast { arg, method, form } => self.cast(arg, method, *form, expr)?,
            ExprKind::And(list) if list.is_empty() => "1".into(),
            ExprKind::Or(list) if list.is_empty() => "0".into(),
            ExprKind::And(list) => self.connected(list, &AND, decides)?,
            ExprKind::Or(list) => self.connected(list, &OR, decides)?,
            ExprKind::Not(arg) => {
                self.decides = decides;
                format!("(NOT {})", self.expr(arg)?)
            }
            // a row is NULL if all its fields are, NOT NULL if none is
            ExprKind::IsNull { arg, negated } if matches!(arg.kind, ExprKind::Row(_)) => {
                let ExprKind::Row(fields) = &arg.kind else { return Err(PgError::internal("a row without fields")) };
                let tests = fields.iter().map(|f| self.field_null_test(f, *negated)).collect();
                self.decides = decides;
                self.expr(&Expr::new(ExprKind::And(tests), oid::BOOL, expr.location))?
            }
            ExprKind::IsNull { arg, negated } if self.is_record(arg.ty) => {
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
                    format!("({} IS {}{})", self.equated(left)?, if *negated { "" } else { "NOT " }, self.expr(right)?)
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
                if let Some(computed) = evaluation_order::list_beside_null(op, left, list) {
                    evaluation_order::after(&self.exprs(&computed)?, "NULL".into())
                } else if self.plain_equality(*op, left.ty, list.first().map_or(left.ty, |e| e.ty)) {
                    let items = self.exprs(list)?.join(", ");
                    format!("({} {}IN ({items}))", self.equated(left)?, if *negated { "NOT " } else { "" })
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
                let operand = likely_operand_of_case(whens).filter(|e| whens.len() > 1 && self.is_computed_anew(e));
                let computed: Vec<Expr> = operand.into_iter().cloned().collect();
                let conditions: Vec<Expr> = whens.iter().map(|(when, _)| when.clone()).collect();
                let results: Vec<&Expr> = whens.iter().map(|(_, then)| then).chain(otherwise.as_deref()).collect();
                self.in_one_place(&computed, &conditions, &results, |lowerer, conditions| {
                    let mut text = String::from("(CASE");
                    for (when, (_, then)) in conditions.iter().zip(whens) {
                        text += &format!(" WHEN {} THEN {}", lowerer.condition(when)?, lowerer.expr(then)?);
                    }
                    if let Some(e) = otherwise {
                        text += &format!(" ELSE {}", lowerer.expr(e)?);
                    }
                    Ok(text + " END)")
                })?
            }
            ExprKind::Coalesce(list) => match &list[..] {
                [one] => self.expr(one)?,
                _ => format!("coalesce({})", self.exprs(list)?.join(", ")),
            },
            ExprKind::NullIf { op, left, right } => {
                // (what is compared may have been converted for that)
                let mut value = &**left;
                while let ExprKind::Cast { arg, form: CastForm::Implicit, .. } = &value.kind {
                    value = arg;
                }
                let computed: Vec<Expr> =
                    Some(value).filter(|e| self.is_computed_anew(e)).into_iter().cloned().collect();
                let parts = [(**left).clone(), (**right).clone()];
                self.in_one_place(&computed, &parts, &[], |lowerer, parts| {
                    let equal = lowerer.call(op.proc, parts, false, expr)?;
                    Ok(format!("(CASE WHEN {equal} THEN NULL ELSE {} END)", lowerer.expr(&parts[0])?))
                })?
            }
            ExprKind::Greatest(list) => self.extreme(list, ">", expr)?,
            ExprKind::Least(list) => self.extreme(list, "<", expr)?,
            ExprKind::Aggregate(call) => self.aggregate(call, expr)?,
            ExprKind::Window { .. } => return Err(PgError::internal("a window call outside its query")),
            ExprKind::CurrentOf { cursor, table } => {
                format!("{}({}, {})", support::CURRENT_OF, super::quote_text(cursor), self.expr(table)?)
            }
            ExprKind::RowNumbered { rowid, parameter } => format!("{rowid} = ?{parameter}"),
            ExprKind::Grouping(_) => return Err(PgError::not_supported("GROUPING").at(expr.location)),
            ExprKind::SubLink { kind, query } => {
                self.begun_anew += 1;
                let text = self.sub_link(kind, query, expr);
                self.begun_anew -= 1;
                self.computed_at_first(expr, text?)
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
                let text = if *slice { text } else { self.from_json_element(text, expr.ty) };
                let bounds = subscripts.iter().flat_map(|(lower, upper)| [lower, upper]).flatten();
                part_of(arg, &args[0], bounds, text)
            }
            ExprKind::JsonSubscript { arg, subscripts } => {
                // jsonb_extract_path(jsonb, VARIADIC text[]): integers select array elements by position
                let path = self
                    .exprs(subscripts)?
                    .into_iter()
                    .map(|s| format!("CAST({s} AS TEXT)"))
                    .collect::<Vec<_>>()
                    .join(", ");
                let value = self.expr(arg)?;
                let text = format!("{}({value}, {}(0, {path}))", native_name(3217), support::ARRAY);
                part_of(arg, &value, subscripts.iter(), text)
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
            ExprKind::SqlJson { form, args } => self.sql_json(form, args)?,
            ExprKind::DomainValue => {
                self.domain_value.clone().ok_or_else(|| PgError::internal("VALUE outside a domain"))?
            }
        })
    }

    fn is_geometric(&self, ty: Oid) -> bool {
        matches!(self.env.catalog.codec(ty), Some(TypeCodec::Geometric(_)))
    }

    /// Whether a field of a row is NULL (or not): one that is a row is looked at as a whole.
    fn field_null_test(&self, field: &Expr, negated: bool) -> Expr {
        let mut arg = Box::new(field.clone());
        if self.is_record(field.ty) {
            let (method, form) = (CastMethod::Relabel, CastForm::Implicit);
            arg = Box::new(Expr::new(ExprKind::Cast { arg, method, form }, oid::TEXT, field.location));
        }
        Expr::new(ExprKind::IsNull { arg, negated }, oid::BOOL, field.location)
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

    /// The text that `text` makes of `parts`, in which each of `computed` is computed once for a row, wherever it is mentioned. `beside`: what
    /// else is in the text.
    pub(super) fn in_one_place(
        &mut self,
        computed: &[Expr],
        parts: &[Expr],
        beside: &[&Expr],
        text: impl FnOnce(&mut Self, &[Expr]) -> Result<String>,
    ) -> Result<String> {
        let Some(first) = computed.first() else { return text(self, parts) };
        if parts.iter().chain(beside.iter().copied()).any(|e| walk::contains_aggregate(e) || walk::contains_window(e)) {
            let what = "a volatile expression that is used several times beside an aggregate or a window function";
            return Err(PgError::not_supported(what).at(first.location));
        }
        // (values of an INSERT stand in no query)
        let outside = self.scopes.is_empty();
        if outside {
            self.scopes.push(super::Scope::default());
        }
        let made = self.in_one_place_below(computed, parts, text);
        if outside {
            self.scopes.pop();
        }
        made
    }

    /// As [`Lowerer::in_one_place`], of what may be computed in a sub-query.
    fn in_one_place_below(
        &mut self,
        computed: &[Expr],
        parts: &[Expr],
        text: impl FnOnce(&mut Self, &[Expr]) -> Result<String>,
    ) -> Result<String> {
        let alias = self.unique("t");
        let names: Vec<String> = (1..=computed.len()).map(|i| format!("v{i}")).collect();
        let mut values = self.exprs(computed)?;
        let row = self.of_each_row(parts)?;
        let also = if row.is_some() { ", row" } else { "" };
        values.extend(row);
        let values = values.join(", ");
        let entries = self.scope().entries.len();
        let rte = self.add_entry(names.iter().map(|name| format!("{alias}.{name}")).collect());
        let mut parts = parts.to_vec();
        for part in &mut parts {
            // (another that is written the same is another)
            *part = walk::map(part, &mut |e| {
                let column = computed.iter().position(|c| c.location == e.location && c == e)?;
                Some(Expr { kind: ExprKind::Var(Var { levels_up: 0, rte, column }), ..e.clone() })
            });
        }
        let text = text(self, &parts);
        self.scope().entries.truncate(entries);
        let text = text?;
        // MATERIALIZED, or SQLite puts the value's text in each place
        let names = names.join(", ");
        Ok(format!("(WITH {alias}({names}{also}) AS MATERIALIZED (SELECT {values}) SELECT {text} FROM {alias})"))
    }

    /// A column of the present row: a sub-query that names none is computed once for all rows by SQLite. None: there are no rows here.
    pub(super) fn of_each_row(&mut self, parts: &[Expr]) -> Result<Option<String>> {
        match parts.iter().find_map(super::stages::first_var) {
            Some(var) => self.expr(&var).map(Some),
            None => Ok(self.scope().entries.iter().rev().find_map(|columns| columns.first()).cloned()),
        }
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
        self.named.reads_more |= crate::effects::runs_texts(proc);
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
            if locale.is_some() && name == "array_sort" {
                return Err(PgError::not_supported("array_sort in a collation of ICU").at(whole.location));
            }
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
                // (a computed argument is a column of its own when the call is lowered again)
                let mentioned = |i: usize| template.matches(&format!("${}", i + 1)).count();
                let several = |(i, arg): &(usize, &Expr)| self.is_computed_anew(arg) && mentioned(*i) > 1;
                let computed: Vec<Expr> = args.iter().enumerate().filter(several).map(|(_, arg)| arg.clone()).collect();
                if !computed.is_empty() {
                    return self
                        .in_one_place(&computed, args, &[], |lowerer, args| lowerer.call(proc, args, variadic, whole));
                }
                let mut texts = Vec::with_capacity(args.len());
                let compares = matches!(needs(proc), Needs::Comparison);
                let equates =
                    builtin::proc_by_oid(proc).and_then(|p| p.src).is_some_and(|s| matches!(s, "chareq" | "charne"));
                for arg in args {
                    texts.push(match arg.collation {
                        NO_COLLATION if !compares => self.expr(arg)?,
                        _ if equates => self.equated(arg)?,
                        _ => self.collated(arg)?,
                    });
                }
                // a column that is compared with what has another value for each row is looked up in no index
                if let ([left, right], oid::BOOL) = (args, whole.ty) {
                    let is_column = |e: &Expr| matches!(e.kind, ExprKind::Var(_));
                    match (is_column(left), is_column(right)) {
                        (true, false) if self.is_computed_anew(right) => texts[0].insert(0, '+'),
                        (false, true) if self.is_computed_anew(left) => texts[1].insert(0, '+'),
                        _ => {}
                    }
                }
                Ok(["(", &fill(template, &texts)?, ")"].concat())
            }
            Imp::Native => Ok([&native_name(proc), "(", &self.native_args(args)?.join(", "), ")"].concat()),
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
        self.named.reads_more = true;
        let mut texts = vec![proc.to_string(), self.type_list(args, false, ret)];
        texts.extend(self.native_args(args)?);
        Ok(format!("{native}({})", texts.join(", ")))
    }

    /// Arguments of a native call; whole rows are handed over as JSON objects (see `record_as_json`).
    fn native_args(&mut self, args: &[Expr]) -> Result<Vec<String>> {
        args.iter().map(|a| self.value_arg(a)).collect()
    }

    pub(super) fn value_arg(&mut self, arg: &Expr) -> Result<String> {
        self.expr(arg)
    }

    /// The first argument of typed natives: argument types, `v` in front if VARIADIC was written, result type.
    pub(super) fn type_list(&self, args: &[Expr], variadic: bool, ret: Oid) -> String {
        let types: Vec<String> = args.iter().map(|a| a.ty.to_string()).collect();
        format!("'{}{}>{}'", if variadic { "v" } else { "" }, types.join(","), ret)
    }

    // --- casts -------------------------------------------------------------------------------------------------------

    // --- comparisons -------------------------------------------------------------------------------------------------

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

    // --- sub-queries -------------------------------------------------------------------------------------------------

    // --- aggregates and windows ----------------------------------------------------------------------------------------

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

/// A part of a value, whose subscripts are not computed where the value is NULL. (One that is computed anew each time is not asked first.)
fn part_of<'e>(value: &Expr, written: &str, mut subscripts: impl Iterator<Item = &'e Expr>, part: String) -> String {
    // (PostgreSQL computes constants before it asks for anything)
    let varies = |e: &Expr| matches!(e.kind, ExprKind::Var(_) | ExprKind::Param(_) | ExprKind::SubLink { .. });
    let fails = |e: &Expr| !super::conditions::cannot_fail(e) && walk::any(e, &varies);
    let shows = |e: &Expr| fails(e) || !volatility::is_repeatable(e);
    let known = matches!(&value.kind, ExprKind::Const(constant) if !constant.is_null());
    if known || !subscripts.any(shows) || !volatility::is_repeatable(value) {
        return part;
    }
    format!("CASE WHEN {written} IS NOT NULL THEN {part} END")
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
pub(super) fn fill(template: &str, args: &[String]) -> Result<String> {
    let mut out = String::with_capacity(template.len() + args.iter().map(String::len).sum::<usize>());
    let mut parts = template.split('$');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let arg = part[..digits].parse::<usize>().ok().and_then(|n| args.get(n.checked_sub(1)?));
        out.push_str(
            arg.ok_or_else(|| PgError::internal(format!("template {template} names an argument that is not there")))?,
        );
        out.push_str(&part[digits..]);
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
pub(super) fn within_length_limit(text: String) -> Result<String> {
    const LONGEST: usize = 64 << 20;
    if text.len() > LONGEST {
        return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
            .hint("Simplify the statement: it is nested too deeply."));
    }
    Ok(text)
}
