//! Which collation each expression has (manual 24.2.2). After a query is analyzed, its expressions are walked bottom-up: what a
//! column or a type brings is implicit, COLLATE is explicit, two implicit ones that differ are a conflict, which fails where a
//! function has to know the collation.
//!
//! The result: `Expr::collation` of an operand is the collation that the operator around it compares with, and that of an
//! output or a sort key its own.

use super::Analyzer;
use crate::builtins::catalog::proc_by_oid;
use crate::builtins::imp::{imp, Imp};
use crate::catalog::{TypeEntry, DEFAULT_COLLATION, NO_COLLATION};
use crate::typed::{
    Aggregate, CastForm, CastMethod, Distinct, Expr, ExprKind, FromItem, InsertSource, MergeAction, Modify,
    ModifyAction, Query, QueryBody, RteColumn, RteKind, Select, SortKey, SubLinkKind,
};
use crate::walk;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::slice::{from_mut, from_ref};

/// How a collation was come by; a stronger one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    None,
    Implicit,
    Conflict,
    Explicit,
}

#[derive(Debug, Clone, Copy)]
struct Derived {
    collation: Oid,
    strength: Strength,
    location: i32,
    /// the other one of a conflict
    other: (Oid, i32),
}

impl Derived {
    const NONE: Derived = Derived { collation: 0, strength: Strength::None, location: -1, other: (0, -1) };

    fn implicit(collation: Oid, location: i32) -> Derived {
        match collation {
            0 | NO_COLLATION => Derived { location, ..Derived::NONE },
            _ => Derived { collation, strength: Strength::Implicit, location, other: (0, -1) },
        }
    }

    /// What `Expr::collation` says of it.
    fn stored(&self) -> Oid {
        match self.strength {
            Strength::Conflict => NO_COLLATION,
            _ => self.collation,
        }
    }
}

/// What a function does with its collation, for the error if there is none.
pub(crate) enum Needs {
    Nothing,
    Comparison,
    Named(&'static str),
}

pub(crate) fn needs(proc: Oid) -> Needs {
    let Some(p) = proc_by_oid(proc) else { return Needs::Nothing };
    match p.src.unwrap_or("") {
        "texteq" | "textne" | "text_lt" | "text_le" | "text_gt" | "text_ge" | "bttextcmp" | "text_larger"
        | "text_smaller" | "bpchareq" | "bpcharne" | "bpcharlt" | "bpcharle" | "bpchargt" | "bpcharge"
        | "bpcharcmp" | "bpchar_larger" | "bpchar_smaller" | "textpos" | "replace_text" | "split_part"
        | "text_starts_with" | "array_eq" | "array_ne" | "array_lt" | "array_le" | "array_gt" | "array_ge"
        | "citext_eq" | "citext_ne" => Needs::Comparison,
        "lower" => Needs::Named("lower() function"),
        "upper" => Needs::Named("upper() function"),
        "initcap" => Needs::Named("initcap() function"),
        "texticlike" | "texticnlike" => Needs::Named("ILIKE"),
        "textregexeq"
        | "textregexne"
        | "texticregexeq"
        | "texticregexne"
        | "textregexsubstr"
        | "textregexreplace"
        | "textregexreplace_noopt"
        | "regexp_match"
        | "regexp_match_no_flags"
        | "regexp_matches"
        | "regexp_matches_no_flags" => Needs::Named("regular expression"),
        "hashtext" | "hashtextextended" => Needs::Named("string hashing"),
        "aggregate_dummy" if matches!(p.name.as_str(), "min" | "max") => Needs::Comparison,
        _ => Needs::Nothing,
    }
}

/// Functions that are the same under every deterministic collation, though they take texts: told by what they are not.
fn depends_on_order(proc: Oid) -> bool {
    let Some(p) = proc_by_oid(proc) else { return true };
    let symbol = p.src.unwrap_or("");
    let ordered = [
        "array_lt",
        "array_le",
        "array_gt",
        "array_ge",
        "btarraycmp",
        "array_larger",
        "array_smaller",
        "record_lt",
        "record_le",
        "record_gt",
        "record_ge",
        "btrecordcmp",
        "bttextcmp",
        "btbpchar_cmp",
        "bpcharcmp",
        "width_bucket_array",
        "texticlike",
        "texticnlike",
        "texticregexeq",
        "texticregexne",
        "similar_escape",
        "nameiclike",
        "nameicnlike",
    ];
    ordered.contains(&symbol)
        || matches!(p.name.as_str(), "percentile_disc" | "rank" | "dense_rank" | "percent_rank" | "cume_dist")
            && p.kind == b'a'
        || symbol.starts_with("range_")
        || symbol.starts_with("multirange_")
        || symbol.starts_with("citext")
}

/// Functions that a collation in which different texts are equal does not concern.
fn ignores_equality(proc: Oid) -> bool {
    let Some(p) = proc_by_oid(proc) else { return false };
    matches!(
        p.name.as_str(),
        "textcat"
            | "length"
            | "char_length"
            | "character_length"
            | "lower"
            | "upper"
            | "initcap"
            | "octet_length"
            | "substr"
            | "substring"
            | "left"
            | "right"
            | "reverse"
            | "repeat"
            | "lpad"
            | "rpad"
            | "concat"
            | "concat_ws"
            | "btrim"
            | "ltrim"
            | "rtrim"
            | "md5"
            | "ascii"
            | "quote_literal"
            | "quote_ident"
            | "format"
            | "pg_collation_for"
            | "string_agg"
            | "array_agg"
            | "count"
            | "first_value"
            | "last_value"
            | "lag"
            | "lead"
            | "nth_value"
            | "pg_typeof"
            | "text"
            | "varchar"
            | "bpchar"
            | "unnest"
            | "array_length"
            | "json_agg"
            | "jsonb_agg"
            | "to_json"
            | "to_jsonb"
            | "row_to_json"
            | "cardinality"
            | "array_append"
            | "array_cat"
            | "array_prepend"
    ) || matches!(imp(proc), Some(Imp::Inline(_) | Imp::InlineAggregate(_)))
}

impl Analyzer<'_> {
    fn collation_name(&self, collation: Oid) -> &str {
        self.env.catalog.collation(collation).map_or("", |c| c.name)
    }

    /// Whether texts are not in the order of their bytes.
    fn is_of_language(&self, collation: Oid) -> bool {
        self.env.catalog.is_of_language(collation)
    }

    fn implicit_mismatch(&self, derived: &Derived) -> PgError {
        PgError::new(
            SqlState::COLLATION_MISMATCH,
            format!(
                "collation mismatch between implicit collations \"{}\" and \"{}\"",
                self.collation_name(derived.collation),
                self.collation_name(derived.other.0)
            ),
        )
        .hint("You can choose the collation by applying the COLLATE clause to one or both expressions.")
        .at(derived.other.1)
    }

    fn combine(&self, into: &mut Derived, next: Derived) -> Result<()> {
        if next.strength > into.strength {
            *into = next;
            return Ok(());
        }
        if next.strength < into.strength || next.collation == into.collation {
            return Ok(());
        }
        match next.strength {
            Strength::None | Strength::Conflict => {}
            Strength::Implicit if into.collation == DEFAULT_COLLATION => *into = next,
            Strength::Implicit if next.collation == DEFAULT_COLLATION => {}
            Strength::Implicit => {
                into.strength = Strength::Conflict;
                into.other = (next.collation, next.location);
            }
            Strength::Explicit => {
                return Err(PgError::new(
                    SqlState::COLLATION_MISMATCH,
                    format!(
                        "collation mismatch between explicit collations \"{}\" and \"{}\"",
                        self.collation_name(into.collation),
                        self.collation_name(next.collation)
                    ),
                )
                .at(next.location))
            }
        }
        Ok(())
    }

    /// The collation of an expression that stands by itself; it is noted in the expression.
    pub(crate) fn assign_collation(&self, expr: &mut Expr) -> Result<()> {
        let derived = self.derive(expr)?;
        expr.collation = derived.stored();
        Ok(())
    }

    /// As [`Analyzer::assign_collation`], of what rows are sorted or grouped by: it must be determinate.
    fn assign_key(&self, expr: &mut Expr) -> Result<()> {
        let derived = self.derive(expr)?;
        if derived.strength == Strength::Conflict {
            return Err(self.implicit_mismatch(&derived));
        }
        expr.collation = derived.stored();
        self.check_order_is_known(expr)
    }

    /// Values whose order, or that of what is in them, is not a language's here.
    fn check_order_is_known(&self, expr: &Expr) -> Result<()> {
        if self.is_of_language(expr.collation) && !self.is_plain_text(expr.ty) {
            return Err(self.refused(
                expr.collation,
                &format!("values of type {}", self.type_display(expr.ty)),
                expr.location,
            ));
        }
        Ok(())
    }

    fn is_plain_text(&self, ty: Oid) -> bool {
        matches!(self.base_type(ty), oid::TEXT | oid::VARCHAR | oid::UNKNOWN)
    }

    fn refused(&self, collation: Oid, what: &str, location: i32) -> PgError {
        PgError::not_supported(format!("collation \"{}\" for {what}", self.collation_name(collation))).at(location)
    }

    fn assign_sort_keys(&self, keys: &mut [SortKey]) -> Result<()> {
        keys.iter_mut().try_for_each(|k| {
            self.assign_key(&mut k.expr)?;
            self.check_row_order(std::iter::once(&k.expr))
        })
    }

    /// The collation of a row type's column, where that is not the type's own.
    fn field_collation(&self, ty: Oid, index: usize) -> Option<Oid> {
        match self.env.catalog.type_entry(self.base_type(ty))? {
            TypeEntry::Row(relation) => relation.live_columns().nth(index).map(|c| c.collation).filter(|c| *c != 0),
            _ => None,
        }
    }

    /// 0A000 for rows whose fields are in the order of a language, where their order matters: they are compared byte by byte.
    fn check_row_order<'e>(&self, mut exprs: impl Iterator<Item = &'e Expr>) -> Result<()> {
        if !self.env.catalog.has_languages() {
            return Ok(());
        }
        exprs.try_for_each(|e| {
            let field = |f: &Expr| Some(f.collation).filter(|c| self.is_of_language(*c));
            let found = match &e.kind {
                ExprKind::Row(fields) => fields.iter().find_map(field),
                _ => self.language_within(e.ty),
            };
            match found {
                Some(collation) => {
                    Err(self.refused(collation, &format!("values of type {}", self.type_display(e.ty)), e.location))
                }
                None => Ok(()),
            }
        })
    }

    /// The collation of a language that a field of the row type has, or of the array's rows.
    fn language_within(&self, ty: Oid) -> Option<Oid> {
        match self.env.catalog.type_entry(self.base_type(ty))? {
            TypeEntry::ArrayOf(element) => self.language_within(element),
            TypeEntry::Row(relation) => relation.live_columns().find_map(|c| {
                let own = Some(c.collation).filter(|c| self.is_of_language(*c));
                own.or_else(|| self.language_within(c.type_oid))
            }),
            _ => None,
        }
    }

    /// Merges operands (those of all the lists), and tells each the collation that all of them are used with.
    fn operands(&self, lists: &mut [&mut [Expr]]) -> Result<Derived> {
        let mut merged = Derived::NONE;
        for operand in lists.iter_mut().flat_map(|list| list.iter_mut()) {
            let derived = self.derive(operand)?;
            self.combine(&mut merged, derived)?;
        }
        for operand in lists.iter_mut().flat_map(|list| list.iter_mut()) {
            if self.env.catalog.type_collation(operand.ty) != 0 {
                operand.collation = merged.stored();
            }
        }
        Ok(merged)
    }

    /// Whether arguments have no collation, or are texts and not what is made of texts.
    fn are_plain_texts(&self, lists: &[&[Expr]]) -> bool {
        let mut all = lists.iter().flat_map(|list| list.iter());
        all.all(|a| self.is_plain_text(a.ty) || self.env.catalog.type_collation(a.ty) == 0)
    }

    /// What a function (or operator) needs of the collation of its arguments (those of all the lists).
    fn check_use(&self, proc: Oid, inputs: &Derived, args: &[&[Expr]], location: i32) -> Result<()> {
        if depends_on_order(proc) {
            self.check_row_order(args.iter().flat_map(|list| list.iter()))?;
        }
        // (fails when it is computed)
        if inputs.strength == Strength::Conflict {
            return Ok(());
        }
        if !self.is_of_language(inputs.collation) {
            return self.check_variables(proc, args, location);
        }
        let name =
            || proc_by_oid(proc).map_or("a function of the user".to_string(), |p| format!("function {}", p.name));
        let deterministic = self.env.catalog.collation(inputs.collation).is_some_and(|c| c.deterministic);
        let inline = matches!(imp(proc), Some(Imp::Inline(_) | Imp::InlineAggregate(_)));
        if depends_on_order(proc) || inline && !self.are_plain_texts(args) {
            return Err(self.refused(inputs.collation, &name(), location));
        }
        if !deterministic && !ignores_equality(proc) {
            let symbol = proc_by_oid(proc).and_then(|p| p.src).unwrap_or("");
            let what = match symbol {
                "textlike" | "textnlike" | "like_escape" => "LIKE",
                s if s.contains("regex") => "regular expressions",
                "textpos" | "replace_text" | "split_part" | "text_starts_with" => "substring searches",
                _ => return Err(self.refused(inputs.collation, &name(), location)),
            };
            let message = format!("nondeterministic collations are not supported for {what}");
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(())
    }

    /// A variable of a function's body has the collation of the column whose value it was given, which is not known here: where
    /// that could be another than the database's, comparing it is refused.
    fn check_variables(&self, proc: Oid, args: &[&[Expr]], location: i32) -> Result<()> {
        let catalog = self.env.catalog;
        let is_variable =
            |a: &Expr| walk::any(a, &|e| matches!(e.kind, ExprKind::Param(_))) && self.is_plain_text(a.ty);
        if self.variables.is_none_or(|variables| !variables.may_be_collated())
            || !matches!(needs(proc), Needs::Comparison)
            || !args.iter().any(|list| list.iter().any(is_variable))
            || !catalog.has_languages()
        {
            return Ok(());
        }
        let equality = proc_by_oid(proc).and_then(|p| p.src).is_some_and(|s| matches!(s, "texteq" | "textne"));
        if equality && catalog.collations.values().all(|c| c.deterministic) {
            return Ok(());
        }
        Err(PgError::not_supported("comparing a variable in a database that has columns in a collation of ICU")
            .at(location))
    }

    /// An operator between two expressions of which neither is the other's operand in the tree (IN, DISTINCT …).
    fn compared(&self, proc: Oid, sides: &mut [&mut [Expr]], location: i32) -> Result<Derived> {
        let merged = self.operands(sides)?;
        if depends_on_order(proc) {
            self.check_row_order(sides.iter().flat_map(|list| list.iter()))?;
        }
        self.check_use(proc, &merged, &[], location)?;
        Ok(merged)
    }

    /// The collation of an expression, after that of what is below it.
    fn derive(&self, expr: &mut Expr) -> Result<Derived> {
        let catalog = self.env.catalog;
        if let ExprKind::Func { proc, args, .. } = &mut expr.kind {
            let symbol = proc_by_oid(*proc).and_then(|p| p.src);
            if let (Some("pg_collation_for"), [arg]) = (symbol, &mut args[..]) {
                expr.kind = self.collation_for(arg)?;
            }
        }
        let (ty, location, own) = (expr.ty, expr.location, expr.collation);
        let type_collation = catalog.type_collation(ty);
        // what is no value of a type with a collation has none, whatever is below
        let result = |inputs: Derived| match type_collation {
            0 => Derived::NONE,
            _ if inputs.strength > Strength::None => inputs,
            _ => Derived::implicit(type_collation, location),
        };
        Ok(match &mut expr.kind {
            ExprKind::Const(_)
            | ExprKind::Param(_)
            | ExprKind::Var(_)
            | ExprKind::WholeRow { .. }
            | ExprKind::Grouping(_)
            | ExprKind::Default
            | ExprKind::NextRow(_)
            | ExprKind::RowNumbered { .. }
            | ExprKind::DomainValue => match type_collation {
                0 => Derived::NONE,
                _ => Derived::implicit(if own != 0 { own } else { type_collation }, location),
            },
            ExprKind::Cast { arg, form: CastForm::Collate, .. } => {
                self.assign_collation(arg)?;
                arg.collation = own;
                let location = self.collate_places.get(&(location, own)).copied().unwrap_or(location);
                Derived { collation: own, strength: Strength::Explicit, location, other: (0, -1) }
            }
            ExprKind::Cast { arg, method, .. } => {
                let inputs = self.operands(&mut [from_mut(&mut **arg)])?;
                match method {
                    // the collation of a domain is its own, if it has one
                    _ if !matches!(type_collation, 0 | DEFAULT_COLLATION) && catalog.base_type(ty) != ty => {
                        Derived::implicit(type_collation, location)
                    }
                    CastMethod::Function(proc) => {
                        self.check_use(*proc, &inputs, &[from_ref(arg)], location)?;
                        result(inputs)
                    }
                    _ => result(inputs),
                }
            }
            ExprKind::Func { proc, args, .. } | ExprKind::SetFunc { proc, args, .. } => {
                let inputs = self.operands(&mut [&mut args[..]])?;
                self.check_use(*proc, &inputs, &[&args[..]], location)?;
                result(inputs)
            }
            ExprKind::Op { op, args } => {
                let inputs = self.operands(&mut [&mut args[..]])?;
                self.check_use(op.proc, &inputs, &[&args[..]], location)?;
                result(inputs)
            }
            ExprKind::Distinct { op, left, right, .. } | ExprKind::NullIf { op, left, right } => {
                let inputs = self.compared(op.proc, &mut [from_mut(&mut **left), from_mut(&mut **right)], location)?;
                result(inputs)
            }
            ExprKind::InList { op, left, list, .. } => {
                result(self.compared(op.proc, &mut [from_mut(&mut **left), &mut list[..]], location)?)
            }
            ExprKind::ArrayCompare { op, left, array, .. } => {
                result(self.compared(op.proc, &mut [from_mut(&mut **left), from_mut(&mut **array)], location)?)
            }
            ExprKind::Greatest(list) | ExprKind::Least(list) => {
                let inputs = self.operands(&mut [&mut list[..]])?;
                if self.is_of_language(inputs.collation) {
                    return Err(self.refused(inputs.collation, "GREATEST and LEAST", location));
                }
                result(inputs)
            }
            ExprKind::Coalesce(list) => result(self.operands(&mut [&mut list[..]])?),
            ExprKind::Case { whens, otherwise } => {
                let mut inputs = Derived::NONE;
                for (when, then) in whens {
                    self.assign_collation(when)?;
                    let then = self.derive_and_note(then)?;
                    self.combine(&mut inputs, then)?;
                }
                if let Some(otherwise) = otherwise {
                    let otherwise = self.derive_and_note(otherwise)?;
                    self.combine(&mut inputs, otherwise)?;
                }
                result(inputs)
            }
            ExprKind::Aggregate(call) => result(self.aggregate_collation(call, location)?),
            ExprKind::Window { call, .. } => result(self.aggregate_collation(call, location)?),
            ExprKind::SubLink { kind, query } => match kind {
                // (the query itself has been walked)
                SubLinkKind::Scalar | SubLinkKind::Array => match query.columns.first() {
                    Some(column) if type_collation != 0 => Derived::implicit(column.collation, location),
                    _ => Derived::NONE,
                },
                SubLinkKind::Exists => Derived::NONE,
                SubLinkKind::Quantified { tests, operators, .. } | SubLinkKind::RowCompare { tests, operators } => {
                    for ((test, op), column) in tests.iter_mut().zip(operators.iter()).zip(&query.columns) {
                        let mut inputs = self.derive(test)?;
                        let of_column = match catalog.type_collation(column.ty) {
                            0 => Derived::NONE,
                            ty => {
                                Derived::implicit(if column.collation != 0 { column.collation } else { ty }, location)
                            }
                        };
                        self.combine(&mut inputs, of_column)?;
                        self.check_use(op.proc, &inputs, &[], location)?;
                        if catalog.type_collation(test.ty) != 0 {
                            test.collation = inputs.stored();
                        }
                    }
                    Derived::NONE
                }
            },
            ExprKind::RowCompare { operators, left, right, .. } => {
                for ((l, r), op) in left.iter_mut().zip(right).zip(operators) {
                    self.compared(op.proc, &mut [from_mut(l), from_mut(r)], location)?;
                }
                Derived::NONE
            }
            ExprKind::Row(fields) => {
                for field in fields {
                    self.assign_collation(field)?;
                    if self.is_of_language(field.collation) && !matches!(field.kind, ExprKind::Var(_)) {
                        // (how rows compare is not told by the collations of expressions)
                        return Err(self.refused(field.collation, "a field of a row", field.location));
                    }
                }
                Derived::NONE
            }
            ExprKind::Subscript { arg, subscripts, .. } => {
                for (lower, upper) in subscripts {
                    for bound in [lower, upper].into_iter().flatten() {
                        self.assign_collation(bound)?;
                    }
                }
                result(self.operands(&mut [from_mut(&mut **arg)])?)
            }
            ExprKind::Field { arg, index, .. } => {
                self.assign_collation(arg)?;
                let own = self.field_collation(arg.ty, *index).filter(|_| type_collation != 0);
                Derived::implicit(own.unwrap_or(type_collation), location)
            }
            ExprKind::Array(elements) => result(self.operands(&mut [&mut elements[..]])?),
            _ => {
                let mut inputs = Derived::NONE;
                let mut failed = None;
                walk::children_mut(expr, &mut |child| {
                    if failed.is_some() {
                        return;
                    }
                    let merged = self.derive_and_note(child).and_then(|derived| self.combine(&mut inputs, derived));
                    failed = merged.err();
                });
                if let Some(error) = failed {
                    return Err(error);
                }
                result(inputs)
            }
        })
    }

    /// `COLLATION FOR (…)`, which is known now.
    fn collation_for(&self, arg: &mut Expr) -> Result<ExprKind> {
        if arg.ty == oid::UNKNOWN {
            return Ok(ExprKind::Const(Datum::Null));
        }
        if self.env.catalog.type_collation(arg.ty) == 0 {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("collations are not supported by type {}", self.type_display(arg.ty)),
            ));
        }
        let derived = self.derive(arg)?;
        let names = crate::names::Names::new(self.env.catalog, self.env.search_path);
        Ok(ExprKind::Const(match derived.stored() {
            NO_COLLATION => Datum::Null,
            collation => names.collation(collation).map_or(Datum::Null, Datum::Text),
        }))
    }

    fn derive_and_note(&self, expr: &mut Expr) -> Result<Derived> {
        let derived = self.derive(expr)?;
        if self.env.catalog.type_collation(expr.ty) != 0 {
            expr.collation = derived.stored();
        }
        Ok(derived)
    }

    fn aggregate_collation(&self, call: &mut Aggregate, location: i32) -> Result<Derived> {
        if let Some(filter) = &mut call.filter {
            self.assign_collation(filter)?;
        }
        self.assign_sort_keys(&mut call.order_by)?;
        let inputs = self.operands(&mut [&mut call.direct[..], &mut call.args[..]])?;
        let args = [&call.direct[..], &call.args[..]];
        self.check_use(call.proc, &inputs, &args, location)?;
        if call.distinct {
            if inputs.strength == Strength::Conflict {
                return Err(self.implicit_mismatch(&inputs));
            }
            let native = !matches!(imp(call.proc), Some(Imp::InlineAggregate(_)));
            if self.is_of_language(inputs.collation) && (native || !self.are_plain_texts(&args)) {
                return Err(self.refused(inputs.collation, "DISTINCT in this aggregate", location));
            }
        }
        Ok(inputs)
    }

    fn assign_from(&self, item: &mut FromItem) -> Result<()> {
        if let FromItem::Join { left, right, on, .. } = item {
            self.assign_from(left)?;
            self.assign_from(right)?;
            on.iter_mut().try_for_each(|on| self.assign_collation(on))?;
        }
        Ok(())
    }

    fn assign_select(&self, select: &mut Select) -> Result<()> {
        select.from.iter_mut().try_for_each(|item| self.assign_from(item))?;
        for target in &mut select.targets {
            match select.distinct == Distinct::All || select.group_by.contains(&target.expr) {
                true => self.assign_key(&mut target.expr)?,
                false => self.assign_collation(&mut target.expr)?,
            }
        }
        for condition in [&mut select.filter, &mut select.having].into_iter().flatten() {
            self.assign_collation(condition)?;
        }
        select.group_by.iter_mut().try_for_each(|key| self.assign_key(key))?;
        for window in &mut select.windows {
            window.partition_by.iter_mut().try_for_each(|key| self.assign_key(key))?;
            self.assign_sort_keys(&mut window.order_by)?;
        }
        match &mut select.distinct {
            Distinct::On(keys) => keys.iter_mut().try_for_each(|key| self.assign_key(key))?,
            Distinct::All | Distinct::No => {}
        }
        Ok(())
    }

    /// All expressions of a query, and the collations of its columns.
    pub(crate) fn assign_query_collations(&self, query: &mut Query) -> Result<()> {
        for entry in &mut query.range_table {
            match &mut entry.kind {
                RteKind::Function { functions, .. } => {
                    functions.iter_mut().try_for_each(|f| self.assign_collation(&mut f.call))?
                }
                RteKind::Join { columns } => columns.iter_mut().try_for_each(|c| self.assign_collation(c))?,
                RteKind::Values { .. }
                | RteKind::Relation(_)
                | RteKind::Subquery { .. }
                | RteKind::Cte { .. }
                | RteKind::Returned => {}
            }
        }
        match &mut query.body {
            QueryBody::Select(select) => {
                self.assign_select(select)?;
                for (column, target) in query.columns.iter_mut().zip(&select.targets) {
                    column.collation = target.expr.collation;
                }
            }
            QueryBody::Values(rows) => {
                for (i, column) in query.columns.iter_mut().enumerate() {
                    let mut values: Vec<&mut [Expr]> =
                        rows.iter_mut().filter_map(|row| row.get_mut(i).map(from_mut)).collect();
                    let merged = self.operands(&mut values)?;
                    column.collation = merged.stored();
                }
            }
            QueryBody::SetOperation { op, all, left, right } => {
                let keeps_all = *op == crate::typed::SetOperation::Union && *all;
                for (i, column) in query.columns.iter_mut().enumerate() {
                    let mut merged = self.of_arm(left, i)?;
                    self.combine(&mut merged, self.of_arm(right, i)?)?;
                    if merged.strength == Strength::Conflict && !keeps_all {
                        return Err(self.implicit_mismatch(&merged));
                    }
                    if self.env.catalog.type_collation(column.ty) != 0 {
                        column.collation = merged.stored();
                        if !keeps_all {
                            let location = super::select::column_expr(left, i).location;
                            let value = Expr {
                                collation: column.collation,
                                ..Expr::new(ExprKind::Default, column.ty, location)
                            };
                            self.check_order_is_known(&value)?;
                        }
                    }
                }
            }
        }
        let columns: Vec<Oid> = query.columns.iter().map(|c| c.collation).collect();
        let of_expressions = matches!(query.body, QueryBody::Select(_));
        for key in &mut query.order_by {
            match key.target.filter(|_| !of_expressions) {
                // a column of the output
                Some(target) => {
                    let collation = columns.get(target).copied().unwrap_or(0);
                    key.expr.collation = collation;
                    self.check_order_is_known(&key.expr)?;
                }
                None => self.assign_key(&mut key.expr)?,
            }
            self.check_row_order(std::iter::once(&key.expr))?;
            // (the type of a sub-query's row does not tell)
            if let ExprKind::WholeRow { levels_up: 0, rte, .. } = &key.expr.kind {
                let columns = query.range_table.get(*rte).map_or(&[][..], |entry| &entry.columns);
                if let Some(column) = columns.iter().find(|c| self.is_of_language(c.collation)) {
                    return Err(self.refused(column.collation, "a row", key.expr.location));
                }
            }
        }
        for bound in [&mut query.limit, &mut query.offset].into_iter().flatten() {
            self.assign_collation(bound)?;
        }
        Ok(())
    }

    /// 42P21 where the recursive term would give a column another collation than the first term gave it.
    pub(crate) fn check_recursive_collations(&self, name: &str, left: &Query, right: &Query) -> Result<()> {
        for i in 0..left.columns.len().min(right.columns.len()) {
            let first = self.of_arm(left, i)?;
            let mut overall = first;
            self.combine(&mut overall, self.of_arm(right, i)?)?;
            if overall.stored() != first.stored() {
                let shown = if overall.stored() == NO_COLLATION { "" } else { self.collation_name(overall.collation) };
                return Err(PgError::new(
                    SqlState::COLLATION_MISMATCH,
                    format!(
                        "recursive query \"{name}\" column {} has collation \"{}\" in non-recursive term but collation \"{shown}\" overall",
                        i + 1,
                        self.collation_name(first.collation),
                    ),
                )
                .hint("Use the COLLATE clause to set the collation of the non-recursive term.")
                .at(super::select::column_expr(left, i).location));
            }
        }
        Ok(())
    }

    /// The collation of a column of an arm of a set operation.
    fn of_arm(&self, arm: &Query, column: usize) -> Result<Derived> {
        let RteColumn { ty, collation, .. } = arm.columns[column];
        let type_collation = self.env.catalog.type_collation(ty);
        if type_collation == 0 {
            return Ok(Derived::NONE);
        }
        match &arm.body {
            QueryBody::Select(select) if collation != NO_COLLATION => {
                self.derive(&mut select.targets[column].expr.clone())
            }
            _ => {
                let location = super::select::column_expr(arm, column).location;
                Ok(Derived::implicit(if collation != 0 { collation } else { type_collation }, location))
            }
        }
    }

    /// As [`Analyzer::assign_modify_collations`], in passing.
    pub(crate) fn with_collations(&self, mut modify: Modify) -> Result<Modify> {
        self.assign_modify_collations(&mut modify)?;
        Ok(modify)
    }

    /// All expressions of a data modification.
    fn assign_modify_collations(&self, modify: &mut Modify) -> Result<()> {
        for entry in &mut modify.range_table {
            if let RteKind::Join { columns } = &mut entry.kind {
                columns.iter_mut().try_for_each(|c| self.assign_collation(c))?;
            }
        }
        match &mut modify.action {
            ModifyAction::Insert { source, on_conflict, .. } => {
                match source {
                    InsertSource::Values(rows) => {
                        rows.iter_mut().flatten().try_for_each(|e| self.assign_collation(e))?
                    }
                    InsertSource::Query { values, .. } => {
                        values.iter_mut().try_for_each(|e| self.assign_collation(e))?
                    }
                }
                if let Some(conflict) = on_conflict {
                    conflict.set.iter_mut().flatten().try_for_each(|(_, e)| self.assign_collation(e))?;
                    conflict.filter.iter_mut().try_for_each(|e| self.assign_collation(e))?;
                    conflict.secured.conditions().try_for_each(|e| self.assign_collation(e))?;
                }
            }
            ModifyAction::Update { set, from, filter } => {
                set.iter_mut().try_for_each(|(_, e)| self.assign_collation(e))?;
                from.iter_mut().try_for_each(|item| self.assign_from(item))?;
                filter.iter_mut().try_for_each(|e| self.assign_collation(e))?;
            }
            ModifyAction::Delete { using, filter } => {
                using.iter_mut().try_for_each(|item| self.assign_from(item))?;
                filter.iter_mut().try_for_each(|e| self.assign_collation(e))?;
            }
            ModifyAction::Merge { source, on, whens } => {
                self.assign_from(source)?;
                self.assign_collation(on)?;
                for when in whens {
                    when.condition.iter_mut().try_for_each(|e| self.assign_collation(e))?;
                    when.secured.conditions().try_for_each(|e| self.assign_collation(e))?;
                    match &mut when.action {
                        MergeAction::Update(set) => set.iter_mut().try_for_each(|(_, e)| self.assign_collation(e))?,
                        MergeAction::Insert { values, .. } => {
                            values.iter_mut().try_for_each(|e| self.assign_collation(e))?
                        }
                        MergeAction::Nothing | MergeAction::Delete => {}
                    }
                }
            }
        }
        modify.returning.iter_mut().try_for_each(|t| self.assign_collation(&mut t.expr))?;
        modify.checks.iter_mut().try_for_each(|c| self.assign_collation(&mut c.condition))
    }
}
