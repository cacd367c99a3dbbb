//! Conversions between types: which are allowed where (manual 10.1, CREATE CAST), and the nodes that carry them out.

use super::Analyzer;
use crate::builtins::catalog::{self as builtin, CastContext};
use crate::catalog::{TypeEntry, UserTypeKind};
use crate::typed::{CastForm, CastMethod, Expr, ExprKind};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

/// The pseudo-types that stand for "whatever the call gives".
pub fn is_polymorphic(ty: Oid) -> bool {
    matches!(
        ty,
        oid::ANYELEMENT
            | oid::ANYARRAY
            | oid::ANYNONARRAY
            | oid::ANYENUM
            | oid::ANYRANGE
            | oid::ANYMULTIRANGE
            | oid::ANYCOMPATIBLE
            | oid::ANYCOMPATIBLEARRAY
            | oid::ANYCOMPATIBLENONARRAY
            | oid::ANYCOMPATIBLERANGE
            | oid::ANYCOMPATIBLEMULTIRANGE
    )
}

/// Those of them that stand for a range or a multirange.
pub(crate) fn is_polymorphic_range(ty: Oid) -> bool {
    matches!(ty, oid::ANYRANGE | oid::ANYMULTIRANGE | oid::ANYCOMPATIBLERANGE | oid::ANYCOMPATIBLEMULTIRANGE)
}

impl Analyzer<'_> {
    pub fn base_type(&self, ty: Oid) -> Oid {
        self.env.catalog.base_type(ty)
    }

    /// The way from one type to another in a context; None: not allowed (or not there).
    pub fn cast_path(&self, source: Oid, target: Oid, context: CastContext) -> Option<CastMethod> {
        let (source, target) = (self.base_type(source), self.base_type(target));
        if source == target {
            return Some(CastMethod::Relabel);
        }
        if let Some(cast) = builtin::cast(source, target) {
            if cast.context > context {
                return None;
            }
            return Some(match cast.method {
                builtin::CastMethod::Function(f) => CastMethod::Function(f),
                builtin::CastMethod::InOut => CastMethod::InOut,
                builtin::CastMethod::Binary => CastMethod::Relabel,
            });
        }
        if let Some(cast) = self.env.catalog.casts.get(&(source, target)) {
            return (cast.context() <= context).then(|| match cast.method() {
                builtin::CastMethod::Function(f) => CastMethod::Function(f),
                builtin::CastMethod::InOut => CastMethod::InOut,
                builtin::CastMethod::Binary => CastMethod::Relabel,
            });
        }
        // a row of a typed table is one of its type
        if let Some(TypeEntry::Row(table)) = self.env.catalog.type_entry(source) {
            if table.inheritance.of_type == target && target != 0 {
                return Some(CastMethod::Relabel);
            }
        }
        // from a range type of the user to its multirange type
        if let Some(definition) = self.env.catalog.range_definition(source).filter(|d| d.multirange == target) {
            let [_, of_range, _] = definition.multirange_constructors;
            return (context >= CastContext::Explicit).then_some(CastMethod::Function(of_range));
        }
        if let (Some(from), Some(to)) = (self.env.catalog.element_type(source), self.env.catalog.element_type(target)) {
            // Nothing converts to int2vector and oidvector; they convert as the arrays they are.
            if !matches!(target, oid::INT2VECTOR | oid::OIDVECTOR) {
                let element = self.cast_path(from, to, context)?;
                return Some(match element {
                    CastMethod::Relabel => CastMethod::Relabel,
                    other => CastMethod::Array(Box::new(other), from, to),
                });
            }
        }
        // I/O conversion: to string types on assignment, from string types explicitly only.
        let is_string = |ty| self.category(ty).0 == b'S';
        if context >= CastContext::Assignment && is_string(target) {
            return Some(CastMethod::InOut);
        }
        if context >= CastContext::Explicit && is_string(source) {
            return Some(CastMethod::InOut);
        }
        None
    }

    /// Whether a value of `source` is accepted where `target` is wanted.
    pub fn can_coerce(&self, source: Oid, target: Oid, context: CastContext) -> bool {
        if source == target || source == oid::UNKNOWN {
            return true;
        }
        match target {
            oid::ANY | oid::ANYELEMENT | oid::ANYCOMPATIBLE => return true,
            oid::ANYNONARRAY | oid::ANYCOMPATIBLENONARRAY => {
                return self.env.catalog.element_type(self.base_type(source)).is_none()
            }
            oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY => {
                return self.env.catalog.element_type(self.base_type(source)).is_some()
            }
            oid::ANYENUM => return self.is_enum(self.base_type(source)),
            oid::ANYRANGE | oid::ANYCOMPATIBLERANGE | oid::ANYMULTIRANGE | oid::ANYCOMPATIBLEMULTIRANGE => {
                let source = self.base_type(source);
                let range = matches!(target, oid::ANYRANGE | oid::ANYCOMPATIBLERANGE);
                return self.env.catalog.range_types(source).is_some_and(|t| (t.range == source) == range);
            }
            oid::RECORD => return self.is_row_type(source),
            oid::RECORD_ARRAY => return self.env.catalog.element_type(source).is_some_and(|e| self.is_row_type(e)),
            _ => {}
        }
        if source == oid::RECORD && self.is_row_type(target) {
            return true;
        }
        self.cast_path(source, target, context).is_some()
    }

    /// Converts an expression; the caller has checked (or wants the 42846/42804 of its own) that it is allowed.
    /// None: there is no way in this context.
    pub fn try_coerce(
        &mut self,
        expr: Expr,
        target: Oid,
        typmod: i32,
        context: CastContext,
        form: CastForm,
    ) -> Result<Option<Expr>> {
        if is_polymorphic(target) || target == oid::ANY {
            return Ok(Some(expr));
        }
        let location = expr.location;
        // (a parameter's type is not known any better then)
        if expr.ty == oid::UNKNOWN && target == oid::UNKNOWN {
            return Ok(Some(expr));
        }
        if expr.ty == oid::UNKNOWN {
            return self.coerce_unknown(expr, target, typmod, form).map(Some);
        }
        let domain = match self.env.catalog.type_entry(target) {
            Some(TypeEntry::User(t)) => match &t.kind {
                UserTypeKind::Domain { .. } => Some(self.env.catalog.domain_typmod(target)),
                _ => None,
            },
            Some(TypeEntry::Builtin(t)) if t.kind == b'd' => Some(-1),
            _ => None,
        };
        if expr.ty == target {
            return Ok(Some(if domain.is_none() { self.apply_typmod(expr, target, typmod, form) } else { expr }));
        }
        if target == oid::RECORD && self.is_row_type(expr.ty) {
            return Ok(Some(expr));
        }
        // x COLLATE c: what is converted is x
        if let ExprKind::Cast { arg, method, form: CastForm::Collate } = expr.kind {
            let collation = expr.collation;
            let Some(typed) = self.try_coerce(*arg, target, typmod, context, form)? else { return Ok(None) };
            if self.env.catalog.type_collation(typed.ty) == 0 {
                return Ok(Some(typed));
            }
            let (ty, typmod) = (typed.ty, typed.typmod);
            let kind = ExprKind::Cast { arg: Box::new(typed), method, form: CastForm::Collate };
            return Ok(Some(Expr { kind, ty, typmod, collation, location }));
        }
        if expr.ty == oid::RECORD && self.is_row_type(target) {
            return self.record_to_composite(expr, target, context, form).map(Some);
        }
        let base = self.base_type(target);
        let Some(method) = self.cast_path(expr.ty, base, context) else { return Ok(None) };
        let base_typmod = domain.unwrap_or(typmod);
        let converted = expr.ty != base;
        let mut out = match method {
            CastMethod::Relabel if self.base_type(expr.ty) == base && expr.ty != base => {
                // domain → its base type: the value is as it is
                Expr {
                    kind: ExprKind::Cast { arg: Box::new(expr), method: CastMethod::Relabel, form },
                    ty: base,
                    typmod: -1,
                    collation: 0,
                    location,
                }
            }
            CastMethod::Relabel if self.base_type(expr.ty) == base => expr,
            method => Expr {
                // A conversion that takes the modifier applies it itself.
                typmod: match method {
                    CastMethod::Function(f) if builtin::proc_by_oid(f).is_some_and(|p| p.args.len() > 1) => base_typmod,
                    _ => -1,
                },
                kind: ExprKind::Cast { arg: Box::new(expr), method, form },
                ty: base,
                collation: 0,
                location,
            },
        };
        // one cast was written, though it takes two steps: the first is not printed
        let steps = base_typmod >= 0 && out.typmod != base_typmod && form == CastForm::Explicit;
        let stored = steps && self.storing;
        if let (true, ExprKind::Cast { form: inner, .. }) = (stored, &mut out.kind) {
            *inner = CastForm::Implicit;
        }
        let before = out.typmod;
        out = self.apply_typmod(out, base, base_typmod, form);
        // (nor is a domain's length written)
        let converted = converted || domain.is_some() && out.typmod != before;
        out = self.check_contents(out, form);
        if domain.is_some() {
            if let (true, ExprKind::Cast { form: inner, .. }) = (converted && self.storing, &mut out.kind) {
                *inner = CastForm::Implicit;
            }
            out = Expr {
                kind: ExprKind::Cast { arg: Box::new(out), method: CastMethod::Domain, form },
                ty: target,
                typmod: -1,
                collation: 0,
                location,
            };
        }
        Ok(Some(out))
    }

    /// A value of an array or row type that was no such value before: what it holds of domains is checked, and has their lengths.
    fn check_contents(&self, expr: Expr, form: CastForm) -> Expr {
        let catalog = self.env.catalog;
        let (ty, location) = (expr.ty, expr.location);
        if matches!(expr.kind, ExprKind::Const(Datum::Null)) || !catalog.holds_domains(ty) {
            return expr;
        }
        let mut out = expr;
        if let Some(element) = catalog.element_type(ty) {
            let typmod = catalog.domain_typmod(element);
            let plain = catalog.array_type(self.base_type(element));
            if let (Some(plain), true) = (plain, typmod >= 0) {
                out = Expr {
                    kind: ExprKind::Cast { arg: Box::new(out), method: CastMethod::Typmod, form },
                    ty: plain,
                    typmod,
                    collation: 0,
                    location,
                };
            }
        }
        let kind = ExprKind::Cast { arg: Box::new(out), method: CastMethod::Domain, form };
        Expr { kind, ty, typmod: -1, collation: 0, location }
    }

    /// ROW(…) as a composite type: field by field.
    fn record_to_composite(&mut self, expr: Expr, target: Oid, context: CastContext, form: CastForm) -> Result<Expr> {
        let location = expr.location;
        let base = self.base_type(target);
        let wanted = self.env.catalog.composite_fields(base).unwrap_or_default();
        let given = match expr.kind {
            ExprKind::Row(fields) => fields,
            ExprKind::WholeRow { levels_up, rte, .. } => self.whole_row_fields(levels_up, rte, location),
            _ => return Err(PgError::not_supported("conversion of this record to a composite type").at(location)),
        };
        let (has, needs) = (given.len(), wanted.len());
        let mut fields = Vec::new();
        for (i, (field, (_, ty, typmod))) in given.into_iter().zip(wanted).enumerate() {
            let from = field.ty;
            match self.try_coerce(field, ty, typmod, context, form)? {
                Some(field) => fields.push(field),
                None => {
                    return Err(self.cannot_cast(oid::RECORD, target, location).detail(format!(
                        "Cannot cast type {} to {} in column {}.",
                        self.type_display(from),
                        self.type_display(ty),
                        i + 1
                    )))
                }
            }
        }
        // (what is there is looked at first)
        if has != needs {
            let what = if has < needs { "few" } else { "many" };
            return Err(self
                .cannot_cast(oid::RECORD, target, location)
                .detail(format!("Input has too {what} columns.")));
        }
        let row = Expr::new(ExprKind::Row(fields), base, location);
        if base == target {
            return Ok(row);
        }
        let method = CastMethod::Domain;
        Ok(Expr::new(ExprKind::Cast { arg: Box::new(row), method, form }, target, location))
    }

    /// Length coercion, where the type has one and the expression is not known to be of that typmod already.
    fn apply_typmod(&self, expr: Expr, ty: Oid, typmod: i32, form: CastForm) -> Expr {
        // A cast is carried out by its own modifier, so it keeps it where the value is used without one. A cast to the type without
        // its modifier that was written is printed: whoever reads the text knows of no modifier, either.
        let written = form == CastForm::Explicit && self.storing && !matches!(expr.kind, ExprKind::Const(_));
        if typmod < 0 && expr.typmod >= 0 && (written || matches!(expr.kind, ExprKind::Cast { .. })) {
            let location = expr.location;
            let form = if written { CastForm::Explicit } else { CastForm::Implicit };
            return Expr {
                kind: ExprKind::Cast { arg: Box::new(expr), method: CastMethod::Relabel, form },
                ty,
                typmod,
                collation: 0,
                location,
            };
        }
        if typmod < 0
            || expr.typmod == typmod && !matches!(expr.kind, ExprKind::Const(_))
            || matches!(expr.kind, ExprKind::Const(Datum::Null)) && (!self.storing || expr.typmod == typmod)
        {
            return expr.with_typmod(typmod);
        }
        let location = expr.location;
        Expr {
            kind: ExprKind::Cast { arg: Box::new(expr), method: CastMethod::Typmod, form },
            ty,
            typmod,
            collation: 0,
            location,
        }
    }

    /// An untyped literal or parameter takes the wanted type.
    fn coerce_unknown(&mut self, expr: Expr, target: Oid, typmod: i32, form: CastForm) -> Result<Expr> {
        let location = expr.location;
        match expr.kind {
            ExprKind::Cast { arg, method, form: CastForm::Collate } => {
                let typed = self.coerce_unknown(*arg, target, typmod, form)?;
                if self.env.catalog.type_collation(typed.ty) == 0 {
                    return Ok(typed);
                }
                let (ty, typmod) = (typed.ty, typed.typmod);
                let kind = ExprKind::Cast { arg: Box::new(typed), method, form: CastForm::Collate };
                Ok(Expr { kind, ty, typmod, collation: expr.collation, location })
            }
            ExprKind::Param(n) => {
                let base = self.base_type(target);
                self.set_parameter_type(n, base, location)?;
                self.read_parameter(n, target, typmod, form, location)
            }
            ExprKind::Const(Datum::Null) => {
                let null = Expr {
                    kind: ExprKind::Const(Datum::Null),
                    ty: self.base_type(target),
                    typmod,
                    collation: 0,
                    location,
                };
                if self.base_type(target) == target {
                    // (reading an interval takes the modifier; all others are converted to it, which a stored text shows)
                    return Ok(match self.storing && target != oid::INTERVAL {
                        true => self.apply_typmod(null.with_typmod(-1), target, typmod, form),
                        false => null,
                    });
                }
                Ok(Expr {
                    kind: ExprKind::Cast { arg: Box::new(null), method: CastMethod::Domain, form },
                    ty: target,
                    typmod: -1,
                    collation: 0,
                    location,
                })
            }
            ExprKind::Const(Datum::Text(text)) => {
                let base = self.base_type(target);
                let codec =
                    self.env.catalog.codec(base).ok_or_else(|| {
                        PgError::not_supported(format!("type {}", self.type_display(base))).at(location)
                    })?;
                let typmod = match self.env.catalog.type_entry(target) {
                    Some(TypeEntry::User(t)) if matches!(t.kind, UserTypeKind::Domain { .. }) => {
                        self.env.catalog.domain_typmod(target)
                    }
                    _ => typmod,
                };
                let mut out = if reads_clock(base, &text) {
                    // 'now', 'today' …: read when the statement runs, since plans are kept. What is none of them is wrong at any time.
                    let names = self.names_of_constants();
                    let context = Context { settings: self.env.settings, names: &names };
                    codec.text_in(&text, -1, &context).map_err(|e| e.at(location))?;
                    let literal = Expr::new(ExprKind::Const(Datum::Text(text)), oid::TEXT, location);
                    let cast = Expr::new(
                        ExprKind::Cast { arg: Box::new(literal), method: CastMethod::InOut, form },
                        base,
                        location,
                    );
                    self.apply_typmod(cast, base, typmod, form)
                } else {
                    let names = self.names_of_constants();
                    let context = Context { settings: self.env.settings, names: &names };
                    // The interval's typmod is the only one that also steers reading ('1' as interval hour). Types whose
                    // length coercion differs between explicit cast and assignment are read without it first.
                    let steers = base == oid::INTERVAL && typmod >= 0;
                    let typmod_read = if steers { typmod } else { -1 };
                    let value = match base {
                        // (its roles are the catalog's)
                        oid::ACLITEM => {
                            let item = crate::acl::read_item(self.env.catalog, &text).map_err(|e| e.at(location))?;
                            Datum::Text(crate::acl::item_text(self.env.catalog, &item))
                        }
                        _ => codec.text_in(&text, typmod_read, &context).map_err(|e| e.at(location))?,
                    };
                    let kind = ExprKind::Const(value);
                    let constant = Expr { kind, ty: base, typmod: typmod_read, collation: 0, location };
                    if steers {
                        constant
                    } else {
                        self.apply_typmod(constant, base, typmod, form)
                    }
                };
                out = self.check_contents(out, form);
                if base != target {
                    // (the domain's length is not written)
                    if let (true, ExprKind::Cast { method: CastMethod::Typmod, form: inner, .. }) =
                        (self.storing, &mut out.kind)
                    {
                        *inner = CastForm::Implicit;
                    }
                    out = Expr {
                        kind: ExprKind::Cast { arg: Box::new(out), method: CastMethod::Domain, form },
                        ty: target,
                        typmod: -1,
                        collation: 0,
                        location,
                    };
                }
                Ok(out)
            }
            // An unknown-typed column of a subquery: PostgreSQL reads its text at run time.
            _ => {
                let text = Expr { ty: oid::TEXT, ..expr };
                let cast = self.try_coerce(text, target, typmod, CastContext::Explicit, form)?;
                cast.ok_or_else(|| PgError::internal("text does not coerce"))
            }
        }
    }

    /// A parameter whose type is given: what a client sends as a domain's value, or as an array or a row that holds domains' values, is
    /// checked as the type's input function does (`domain_in`, `array_in`, `record_in`).
    pub(super) fn typed_parameter(&mut self, n: usize, ty: Oid, location: i32) -> Result<Expr> {
        self.refuse_information_domain(ty, location)?;
        if self.base_type(ty) == ty && !self.env.catalog.holds_domains(ty) {
            return Ok(Expr::new(ExprKind::Param(n), ty, location));
        }
        self.read_parameter(n, ty, -1, CastForm::Implicit, location)
    }

    /// A parameter as a value of a type, with the checks of the domains that the type is or holds.
    fn read_parameter(&mut self, n: usize, target: Oid, typmod: i32, form: CastForm, location: i32) -> Result<Expr> {
        let base = self.base_type(target);
        let param = Expr { kind: ExprKind::Param(n), ty: base, typmod: -1, collation: 0, location };
        let converted = self.try_coerce(param, target, typmod, CastContext::Assignment, form)?;
        let converted = converted.map(|e| if e.ty == base { self.check_contents(e, form) } else { e });
        converted.ok_or_else(|| PgError::internal("a parameter does not coerce to its own type"))
    }

    /// Implicit conversion, for operands and arguments that resolution has accepted.
    pub fn coerce_implicit(&mut self, expr: Expr, target: Oid) -> Result<Expr> {
        let (ty, location) = (expr.ty, expr.location);
        if ty == target {
            // with its modifier
            return Ok(expr);
        }
        self.try_coerce(expr, target, -1, CastContext::Implicit, CastForm::Implicit)?
            .ok_or_else(|| self.cannot_cast(ty, target, location))
    }

    pub fn cannot_cast(&self, source: Oid, target: Oid, location: i32) -> PgError {
        PgError::new(
            SqlState::CANNOT_COERCE,
            format!("cannot cast type {} to {}", self.type_display(source), self.type_display(target)),
        )
        .at(location)
    }

    /// `::`, CAST.
    pub fn coerce_explicit(&mut self, expr: Expr, target: Oid, typmod: i32, location: i32) -> Result<Expr> {
        let ty = expr.ty;
        if ty == oid::UNKNOWN && matches!(expr.kind, ExprKind::Const(_)) && has_no_values(target) {
            // (its input function says so, of NULL, too)
            let message = format!("cannot accept a value of type {}", self.type_display(target));
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(expr.location));
        }
        if self.env.catalog.codec(target).is_none() {
            return Err(PgError::not_supported(format!("type {}", self.type_display(target))).at(location));
        }
        let converted = self.try_coerce(expr, target, typmod, CastContext::Explicit, CastForm::Explicit);
        // the cast itself is at fault, not the row that it is of
        let converted = converted.map_err(|mut e| {
            if ty == oid::RECORD && e.code() == SqlState::CANNOT_COERCE {
                e.fields_mut().location = None;
                return e.at(location);
            }
            e
        })?;
        match converted {
            Some(out) => Ok(out),
            None => Err(self.cannot_cast(ty, target, location)),
        }
    }

    /// A value for a column (manual 10.4); `column` names it in 42804.
    pub fn coerce_assignment(&mut self, expr: Expr, target: Oid, typmod: i32, column: &str) -> Result<Expr> {
        let (ty, location) = (expr.ty, expr.location);
        match self.try_coerce(expr, target, typmod, CastContext::Assignment, CastForm::Assignment)? {
            Some(out) => Ok(out),
            None => Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "column \"{column}\" is of type {} but expression is of type {}",
                    self.type_display(target),
                    self.type_display(ty)
                ),
            )
            .hint("You will need to rewrite or cast the expression.")
            .at(location)),
        }
    }

    /// A condition: must be boolean. `what`: "WHERE", "argument of NOT" …
    pub fn coerce_boolean(&mut self, expr: Expr, what: &str) -> Result<Expr> {
        let (ty, location) = (expr.ty, expr.location);
        match self.try_coerce(expr, oid::BOOL, -1, CastContext::Assignment, CastForm::Implicit)? {
            Some(out) => Ok(out),
            None => Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("argument of {what} must be type boolean, not type {}", self.type_display(ty)),
            )
            .at(location)),
        }
    }

    /// LIMIT and OFFSET: bigint by assignment.
    pub fn coerce_to_bigint(&mut self, expr: Expr, what: &str) -> Result<Expr> {
        let (ty, location) = (expr.ty, expr.location);
        match self.try_coerce(expr, oid::INT8, -1, CastContext::Assignment, CastForm::Implicit)? {
            Some(out) => Ok(out),
            None => Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("argument of {what} must be type bigint, not type {}", self.type_display(ty)),
            )
            .at(location)),
        }
    }

    /// The type that UNION, CASE, VALUES, ARRAY … settle on (manual 10.5). `what` names the construct in 42804.
    pub fn common_type(&self, exprs: &[&Expr], what: &str) -> Result<Oid> {
        let first = exprs[0];
        if exprs.iter().all(|e| e.ty == first.ty) && first.ty != oid::UNKNOWN {
            return Ok(first.ty);
        }
        let mut chosen = self.base_type(first.ty);
        let mut chosen_expr = first;
        let (mut category, mut preferred) = self.category(chosen);
        for expr in &exprs[1..] {
            let ty = self.base_type(expr.ty);
            if ty == oid::UNKNOWN || ty == chosen {
                continue;
            }
            let (c, p) = self.category(ty);
            if chosen == oid::UNKNOWN {
                (chosen, category, preferred, chosen_expr) = (ty, c, p, expr);
            } else if c != category {
                return Err(PgError::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "{what} types {} and {} cannot be matched",
                        self.type_display(chosen_expr.ty),
                        self.type_display(expr.ty)
                    ),
                )
                .at(expr.location));
            } else if !preferred
                && self.can_coerce(chosen, ty, CastContext::Implicit)
                && !self.can_coerce(ty, chosen, CastContext::Implicit)
            {
                (chosen, preferred, chosen_expr) = (ty, p, expr);
            }
        }
        Ok(if chosen == oid::UNKNOWN { oid::TEXT } else { chosen })
    }

    /// Converts an arm to the common type; 42846 if there is no implicit way.
    pub fn coerce_to_common(&mut self, expr: Expr, target: Oid, what: &str) -> Result<Expr> {
        let (ty, location) = (expr.ty, expr.location);
        if ty == target {
            // with its modifier, which the others may have, too
            return Ok(expr);
        }
        if self.can_coerce(ty, target, CastContext::Implicit) {
            return self.coerce_implicit(expr, target);
        }
        Err(PgError::new(
            SqlState::CANNOT_COERCE,
            format!("{what} could not convert type {} to {}", self.type_display(ty), self.type_display(target)),
        )
        .at(location))
    }
}

/// Whether reading this literal depends on the clock.
fn reads_clock(ty: Oid, text: &str) -> bool {
    if !matches!(ty, oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::TIME | oid::TIMETZ) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    ["now", "today", "tomorrow", "yesterday"].iter().any(|w| lower.contains(w))
}

/// Whether it is a pseudo-type of what functions are for, of which there are no values.
fn has_no_values(ty: Oid) -> bool {
    const KINDS: [&str; 8] = [
        "trigger",
        "event_trigger",
        "language_handler",
        "fdw_handler",
        "index_am_handler",
        "table_am_handler",
        "tsm_handler",
        "internal",
    ];
    pgsqlite_types::catalog::by_oid(ty).is_some_and(|t| t.kind == b'p' && KINDS.contains(&t.name))
}
