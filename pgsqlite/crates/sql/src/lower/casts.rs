//! Casts, and the constraints of domains.

use super::{quote_text, support, Lowerer};
use crate::builtins::catalog as builtin;
use crate::catalog::{TypeEntry, UserType, UserTypeKind};
use crate::typed::{CastForm, CastMethod, Expr, ExprKind};
use crate::volatility;
use crate::walk::{contains_aggregate, contains_window};
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::{catalog as pg_type, extension, oid, Datum, Oid, PgError, Result};

impl Lowerer<'_> {
    /// Whether a parameter was read with the type modifier that the cast applies (see [`Parameters::fitted`]).
    ///
    /// [`Parameters::fitted`]: crate::analyze::Parameters::fitted
    fn is_fitted(&self, cast: &Expr, arg: &Expr) -> bool {
        let by_input = matches!(self.env.catalog.base_type(cast.ty), oid::NUMERIC | oid::VARCHAR | oid::BPCHAR);
        self.env.parameters.fitted && by_input && matches!(arg.kind, ExprKind::Param(_))
    }

    pub(super) fn cast(&mut self, arg: &Expr, method: &CastMethod, form: CastForm, whole: &Expr) -> Result<String> {
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
                    // a constraint is asked of the value that the domains below have not checked yet, so that theirs are asked once
                    let bare = match self.unchecked(arg) {
                        same if std::ptr::eq(same, arg) => value.clone(),
                        inner => self.expr(inner)?,
                    };
                    return self.domain_check(ty, bare, value, whole.location);
                }
                if contains_aggregate(arg) || contains_window(arg) {
                    let what = "a volatile expression over aggregates as a value of a domain";
                    return Err(PgError::not_supported(what).at(whole.location));
                }
                let alias = self.unique("t");
                let check = self.domain_check(ty, format!("{alias}.v"), format!("{alias}.v"), whole.location)?;
                // MATERIALIZED, or SQLite puts the value's text in each place
                let also = match self.scopes.is_empty() {
                    true => None,
                    false => self.of_each_row(std::slice::from_ref(arg))?,
                };
                let (name, row) = also.map_or_else(Default::default, |row| (", row", format!(", {row}")));
                Ok(format!("(WITH {alias}(v{name}) AS MATERIALIZED (SELECT {value}{row}) SELECT {check} FROM {alias})"))
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
            let check = self.domain_check(element, format!("{alias}.value"), format!("{alias}.value"), location)?;
            // count evaluates the check for every element
            let each = format!("SELECT count({check}) FROM json_each({}({value})) AS {alias}", support::FLATTEN);
            return Ok(format!("(CASE WHEN ({each}) >= 0 THEN {value} END)"));
        }
        let fields = self.env.catalog.composite_fields(ty).unwrap_or_default();
        let mut parts = Vec::new();
        for (i, (_, field, _)) in fields.into_iter().enumerate() {
            if self.is_constrained(field) {
                let value = format!("{}({value}, {i})", support::FIELD);
                parts.push(self.domain_check(field, value.clone(), value, location)?);
            }
        }
        Ok(format!("(CASE WHEN {value} IS NOT NULL THEN {}({}, {value}) END)", support::AFTER, parts.join(", ")))
    }

    /// What is cast, without the domains that check it.
    fn unchecked<'e>(&self, mut value: &'e Expr) -> &'e Expr {
        let base = |e: &Expr| self.env.catalog.base_type(e.ty);
        while let ExprKind::Cast { arg, method: CastMethod::Domain | CastMethod::Relabel, form } = &value.kind {
            if base(arg) != base(value) || matches!(form, CastForm::Collate | CastForm::Keyword(_)) {
                break;
            }
            value = arg;
        }
        value
    }

    /// Whether two computations of an expression for the same row may have different values, or be noticed.
    pub(super) fn is_computed_anew(&self, expr: &Expr) -> bool {
        volatility::is_computed_anew(expr, &|domain| self.check_shows_calls(domain))
    }

    /// Whether it can be told how often a domain's constraints are asked.
    fn check_shows_calls(&self, domain: Oid) -> bool {
        let catalog = self.env.catalog;
        let Some(TypeEntry::User(t)) = catalog.type_entry(domain) else { return false };
        let UserTypeKind::Domain { base, checks, .. } = &t.kind else { return false };
        let shows = |check: &str| {
            let analyzed = crate::analyze::analyze_domain_check(self.env, check, catalog.base_type(*base));
            analyzed.is_ok_and(|condition| !volatility::is_repeatable(&condition))
        };
        checks.iter().any(|check| shows(&check.expression)) || self.check_shows_calls(*base)
    }

    /// A value checked against a domain's constraints (and those of the domains below it), or an array's or row's contents.
    /// `checked`: the same value, checked by what is cast.
    fn domain_check(&mut self, domain: Oid, value: String, checked: String, location: i32) -> Result<String> {
        self.uses_catalog = true;
        if !self.is_constrained(domain) {
            return Ok(checked);
        }
        if self.env.catalog.base_type(domain) == domain {
            return self.contents_check(domain, checked, location);
        }
        let Some(TypeEntry::User(t)) = self.env.catalog.type_entry(domain) else {
            return Err(PgError::not_supported("this domain").at(location));
        };
        let t = t.clone();
        let UserTypeKind::Domain { base, not_null, checks, .. } = &t.kind else {
            return Err(PgError::internal("a domain expected"));
        };
        let below = match self.env.catalog.base_type(*base) != *base {
            true => self.domain_check(*base, value.clone(), checked, location)?,
            false => checked,
        };
        if checks.is_empty() && !not_null {
            return Ok(below);
        }
        let base = self.env.catalog.base_type(*base);
        self.checked_by(&t, base, below, value)
    }

    /// A value of the base type checked against one domain's own constraints. `below`: the same, checked by the domain below this one; it is
    /// written once and before the constraints, so that those below are asked once and first.
    fn checked_by(&mut self, domain: &UserType, base: Oid, below: String, value: String) -> Result<String> {
        let UserTypeKind::Domain { not_null, checks, .. } = &domain.kind else {
            return Err(PgError::internal("a domain expected"));
        };
        let schema = self.env.catalog.schemas.get(&domain.schema).map_or("", |s| s.name.as_str());
        let mut args = vec![below, quote_text(schema), quote_text(&domain.name), (*not_null as i32).to_string()];
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
}
