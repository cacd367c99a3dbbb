//! Overload resolution in the manual's order: operators (10.2), functions (10.3).

use super::coerce::{is_polymorphic, is_polymorphic_range};
use super::Analyzer;
use crate::builtins::catalog::{self as builtin, CastContext, Operator, Proc};
use crate::builtins::extensions;
use crate::catalog::{Catalog, RangeTypes, PG_CATALOG};
use crate::typed::{Expr, ExprKind, OperatorRef};
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

/// A function (or operator) that could take the call.
struct Candidate<'a, T> {
    item: &'a T,
    /// the declared types of the actual arguments (VARIADIC expanded)
    args: Vec<Oid>,
    variadic_expanded: bool,
}

/// The outcome of function resolution.
pub(crate) struct ResolvedFunction<'a> {
    pub proc: &'a Proc,
    /// what each actual argument is to be converted to (polymorphic types made concrete)
    pub args: Vec<Oid>,
    pub ret: Oid,
    /// the trailing actual arguments are collected into an array for the VARIADIC parameter
    pub variadic_from: Option<usize>,
}

/// The range types of the arguments for `anyrange` and `anymultirange`, which go together.
#[derive(Default)]
struct ActualRanges(Option<RangeTypes>);

impl ActualRanges {
    /// Takes an argument's type in; None: it does not fit to those before.
    fn see(&mut self, catalog: &Catalog, ty: Oid, multirange: bool) -> Option<()> {
        let types = catalog.range_types(ty)?;
        if (types.multirange == ty) != multirange || self.0.is_some_and(|t| t != types) {
            return None;
        }
        self.0 = Some(types);
        Some(())
    }
}

/// 42804: only untyped literals stand where a polymorphic type is to come from.
pub(super) fn polymorphic_unknown() -> PgError {
    PgError::new(SqlState::DATATYPE_MISMATCH, "could not determine polymorphic type because input has type unknown")
}

impl<'a> Analyzer<'a> {
    // --- the common steps ------------------------------------------------------------------------------------------

    /// Steps 4.a–4.f of the manual (the same for functions and operators): None if no single best candidate remains.
    fn select_candidate<'c, T>(
        &self,
        actual: &[Oid],
        mut candidates: Vec<Candidate<'c, T>>,
    ) -> Option<Candidate<'c, T>> {
        let inputs: Vec<Oid> = actual.iter().map(|&t| if t == oid::UNKNOWN { t } else { self.base_type(t) }).collect();
        let keep_best = |candidates: Vec<Candidate<'c, T>>, score: &dyn Fn(&Candidate<'c, T>) -> usize| {
            let best = candidates.iter().map(score).max().unwrap_or(0);
            candidates.into_iter().filter(|c| score(c) == best).collect::<Vec<_>>()
        };
        // most exact matches
        candidates = keep_best(candidates, &|c| {
            inputs.iter().zip(&c.args).filter(|(i, a)| **i != oid::UNKNOWN && i == a).count()
        });
        if candidates.len() == 1 {
            return candidates.pop();
        }
        // most exact matches or preferred types where conversion is needed
        candidates = keep_best(candidates, &|c| {
            inputs
                .iter()
                .zip(&c.args)
                .filter(|(i, a)| **i != oid::UNKNOWN && (i == a || self.is_preferred_for(**i, **a)))
                .count()
        });
        if candidates.len() == 1 {
            return candidates.pop();
        }
        let unknowns: Vec<usize> = (0..inputs.len()).filter(|&i| inputs[i] == oid::UNKNOWN).collect();
        if unknowns.is_empty() {
            return None;
        }
        // category at unknown positions
        let mut slot_categories: Vec<(u8, bool)> = vec![(0, false); inputs.len()];
        let mut resolved = true;
        for &i in &unknowns {
            let mut slot: Option<u8> = None;
            let mut has_preferred = false;
            let mut conflict = false;
            for candidate in &candidates {
                let (c, p) = self.category(candidate.args[i]);
                match slot {
                    None => {
                        slot = Some(c);
                        has_preferred = p;
                    }
                    Some(s) if s == c => has_preferred |= p,
                    Some(_) if c == b'S' => {
                        slot = Some(c);
                        has_preferred = p;
                        conflict = false;
                        continue;
                    }
                    Some(b'S') => {}
                    Some(_) => conflict = true,
                }
            }
            // a string category among the candidates wins
            if candidates.iter().any(|c| self.category(c.args[i]).0 == b'S') {
                slot = Some(b'S');
                has_preferred = candidates.iter().any(|c| self.category(c.args[i]) == (b'S', true));
                conflict = false;
            }
            if conflict {
                resolved = false;
                break;
            }
            slot_categories[i] = (slot.unwrap_or(0), has_preferred);
        }
        if resolved {
            let fits = |c: &Candidate<'c, T>| {
                unknowns.iter().all(|&i| {
                    let (category, preferred) = self.category(c.args[i]);
                    category == slot_categories[i].0 && (preferred || !slot_categories[i].1)
                })
            };
            if candidates.iter().any(fits) {
                candidates.retain(fits);
            }
            if candidates.len() == 1 {
                return candidates.pop();
            }
        }
        // all known arguments of one type: assume the unknown ones are, too
        let mut known = inputs.iter().filter(|&&t| t != oid::UNKNOWN);
        let first = *known.next()?;
        if known.all(|&t| t == first) {
            let assumed = vec![first; inputs.len()];
            let fits: Vec<usize> = candidates
                .iter()
                .enumerate()
                .filter(|(_, c)| self.matches(&assumed, &c.args))
                .map(|(i, _)| i)
                .collect();
            if let [one] = fits[..] {
                return Some(candidates.swap_remove(one));
            }
        }
        None
    }

    /// Whether `target` is the preferred type of its category and `source` is of that category.
    fn is_preferred_for(&self, source: Oid, target: Oid) -> bool {
        let (category, preferred) = self.category(target);
        preferred && self.category(source).0 == category
    }

    fn matches(&self, actual: &[Oid], declared: &[Oid]) -> bool {
        actual.len() == declared.len()
            && actual.iter().zip(declared).all(|(&a, &d)| self.can_coerce(a, d, CastContext::Implicit))
            && self.resolve_polymorphic(declared, actual, oid::VOID).is_some()
    }

    /// Makes polymorphic declared types concrete. None: the actual types do not fit together.
    pub(crate) fn resolve_polymorphic(&self, declared: &[Oid], actual: &[Oid], ret: Oid) -> Option<(Vec<Oid>, Oid)> {
        if !is_polymorphic(ret) && !declared.iter().any(|&d| is_polymorphic(d)) {
            return Some((declared.to_vec(), ret));
        }
        let catalog = self.env.catalog;
        // family 1: anyelement …: all the same type
        let mut element: Option<Oid> = None;
        let mut array: Option<Oid> = None;
        let mut ranges = ActualRanges::default();
        // family 2: anycompatible …: a common type
        let mut compatible: Vec<Oid> = Vec::new();
        let mut compatible_ranges = ActualRanges::default();
        for (&d, &a) in declared.iter().zip(actual) {
            if a == oid::UNKNOWN {
                continue;
            }
            match d {
                oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYENUM => {
                    if element.is_some_and(|e| e != a) {
                        return None;
                    }
                    element = Some(a);
                }
                oid::ANYARRAY => {
                    let a = self.base_type(a);
                    if array.is_some_and(|e| e != a) {
                        return None;
                    }
                    array = Some(a);
                }
                // (a domain stays one where all are of it)
                oid::ANYCOMPATIBLE | oid::ANYCOMPATIBLENONARRAY => compatible.push(a),
                oid::ANYCOMPATIBLEARRAY if a == d => compatible.push(oid::ANYCOMPATIBLE),
                oid::ANYCOMPATIBLEARRAY => compatible.push(catalog.element_type(self.base_type(a))?),
                oid::ANYRANGE | oid::ANYMULTIRANGE => {
                    ranges.see(catalog, self.base_type(a), d == oid::ANYMULTIRANGE)?;
                }
                oid::ANYCOMPATIBLERANGE | oid::ANYCOMPATIBLEMULTIRANGE => {
                    compatible_ranges.see(catalog, self.base_type(a), d == oid::ANYCOMPATIBLEMULTIRANGE)?;
                }
                _ => {}
            }
        }
        if let Some(array) = array {
            let e = if array == oid::ANYARRAY { oid::ANYELEMENT } else { catalog.element_type(array)? };
            match element {
                Some(x) if x != e => return None,
                _ => element = Some(e),
            }
        }
        // the subtype is the element type, exactly
        if let Some(types) = ranges.0 {
            match element {
                Some(x) if x != types.subtype => return None,
                _ => element = Some(types.subtype),
            }
        }
        compatible.extend(compatible_ranges.0.map(|t| t.subtype));
        // Nothing but unknown literals: PostgreSQL assumes text for anyelement.
        // (that the call is refused then is told after resolution)
        let family = |d: &Oid| matches!(*d, oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYARRAY);
        let element = element.or_else(|| declared.iter().any(family).then_some(oid::TEXT));
        let common = if compatible.is_empty() {
            oid::TEXT
        } else {
            let exprs: Vec<Expr> = compatible.iter().map(|&t| Expr::new(ExprKind::Default, t, -1)).collect();
            self.common_type(&exprs.iter().collect::<Vec<_>>(), "").ok()?
        };
        if compatible_ranges.0.is_some_and(|t| t.subtype != common) {
            return None;
        }
        let concrete = |d: Oid, a: Option<Oid>| -> Option<Oid> {
            Some(match d {
                oid::ANYELEMENT | oid::ANYNONARRAY => element.unwrap_or(d),
                oid::ANYENUM => element?,
                oid::ANYARRAY => match a.filter(|&a| a != oid::UNKNOWN) {
                    Some(a) => self.base_type(a),
                    None => match array {
                        Some(array) => array,
                        None => match element {
                            Some(oid::ANYELEMENT) => oid::ANYARRAY,
                            Some(element) => catalog.array_type(element)?,
                            None => d,
                        },
                    },
                },
                oid::ANYCOMPATIBLE | oid::ANYCOMPATIBLENONARRAY => common,
                oid::ANYCOMPATIBLEARRAY if common == oid::ANYCOMPATIBLE => d,
                oid::ANYCOMPATIBLEARRAY => catalog.array_type(common)?,
                // (that nothing tells which range type it is, is told after resolution)
                oid::ANYRANGE => ranges.0.map_or(d, |t| t.range),
                oid::ANYMULTIRANGE => ranges.0.map_or(d, |t| t.multirange),
                oid::ANYCOMPATIBLERANGE => compatible_ranges.0.map_or(d, |t| t.range),
                oid::ANYCOMPATIBLEMULTIRANGE => compatible_ranges.0.map_or(d, |t| t.multirange),
                other => other,
            })
        };
        let args = declared.iter().zip(actual).map(|(&d, &a)| concrete(d, Some(a))).collect::<Option<Vec<_>>>()?;
        let ret = concrete(ret, None)?;
        Some((args, ret))
    }

    // --- operators -------------------------------------------------------------------------------------------------

    /// Resolves an operator and converts its operands. `left` None: a prefix operator.
    pub(crate) fn operator(&mut self, name: &str, left: Option<Expr>, right: Expr, location: i32) -> Result<Expr> {
        let (op, args, ret) = self.resolve_operator(name, left.as_ref().map(|e| e.ty), right.ty, location)?;
        if args.iter().any(|&a| is_polymorphic_range(a)) {
            return Err(polymorphic_unknown());
        }
        let operands: Vec<Expr> = left.into_iter().chain([right]).collect();
        let mut converted = Vec::with_capacity(2);
        for (operand, &target) in operands.into_iter().zip(&args) {
            converted.push(self.coerce_implicit(operand, target)?);
        }
        // an operator over a function that gives rows is a call of it
        if let Some(proc) = self.env.catalog.proc(op.proc).filter(|p| p.retset) {
            let call = crate::parse::ast::FuncCall { location, ..Default::default() };
            return self.plain_call(proc, converted, ret, &call, false);
        }
        let spliced = crate::builtins::imp::imp(op.proc).filter(|_| !self.storing);
        if let Some(crate::builtins::imp::Imp::Sql(text)) = spliced {
            return self.splice_sql(text, converted, ret, location);
        }
        Ok(Expr::new(ExprKind::Op { op, args: converted }, ret, location))
    }

    /// The operators that a name (`schema.` in front of it, if it was written) may mean: of two with the same operands the one in the schema
    /// that comes first.
    fn operators_named(&self, name: &str, prefix: bool) -> Vec<&'a Operator> {
        let catalog = self.env.catalog;
        if let Some((schema, bare)) = name.rsplit_once('.') {
            let Some(schema) = catalog.schema_oid(schema) else { return vec![] };
            let mut all = catalog.operators_made(schema, bare);
            let builtins = builtin::operators_named(bare).map(|o| -> &'a Operator { o });
            all.extend(builtins.filter(|o| catalog.schema_of_builtin(o.oid) == Some(schema)));
            all.retain(|o| (o.left == 0) == prefix);
            return all;
        }
        let mut all: Vec<&'a Operator> = Vec::new();
        for (o, _) in catalog.operators_found(self.env.search_path, name) {
            if (o.left == 0) == prefix && !all.iter().any(|other| (other.left, other.right) == (o.left, o.right)) {
                all.push(o);
            }
        }
        all
    }

    /// As [`Analyzer::resolve_operator`], where no operator is a user's and one has just these operand types: nearly always. The others of its
    /// name are not looked at then.
    fn exact_builtin_operator(&self, name: &str, left: Oid, right: Oid) -> Option<(OperatorRef, Vec<Oid>, Oid)> {
        let catalog = self.env.catalog;
        if !catalog.operators.is_empty() {
            return None;
        }
        let exact = with_unknown_as_other(left, right);
        let found = catalog.builtin_operator(self.env.search_path, name, exact.0, exact.1)?;
        let (args, result) = self.resolve_polymorphic(&[exact.0, exact.1], &[left, right], found.result)?;
        Some((OperatorRef { oid: found.oid, proc: found.proc }, args, result))
    }

    /// The operator, the types its operands are converted to and its result type.
    /// Errors: 42883 (none), 42725 (ambiguous), with PostgreSQL's hint.
    pub(crate) fn resolve_operator(
        &self,
        name: &str,
        left: Option<Oid>,
        right: Oid,
        location: i32,
    ) -> Result<(OperatorRef, Vec<Oid>, Oid)> {
        let actual: Vec<Oid> = left.into_iter().chain([right]).collect();
        let declared = |o: &Operator| -> Vec<Oid> {
            if o.left == 0 {
                vec![o.right]
            } else {
                vec![o.left, o.right]
            }
        };
        if let Some((schema, _)) = name.rsplit_once('.') {
            self.check_schema(schema).map_err(|e| e.at(location))?;
        }
        if let Some(found) = left.and_then(|left| self.exact_builtin_operator(name, left, right)) {
            return Ok(found);
        }
        let all = self.operators_named(name, left.is_none());
        let shown = || match left {
            Some(l) => format!("{} {name} {}", self.type_display(l), self.type_display(right)),
            None => format!("{name} {}", self.type_display(right)),
        };
        // named by another operator, but not made yet
        let shell = |o: &&Operator| o.proc == 0 && declared(o) == actual;
        if all.iter().any(shell) {
            let message = format!("operator is only a shell: {}", shown());
            return Err(PgError::new(SqlState::UNDEFINED_FUNCTION, message).at(location));
        }
        let all: Vec<&Operator> = all.into_iter().filter(|o| o.proc != 0).collect();
        let finish = |o: &Operator| -> Option<(OperatorRef, Vec<Oid>, Oid)> {
            let (args, ret) = self.resolve_polymorphic(&declared(o), &actual, o.result)?;
            Some((OperatorRef { oid: o.oid, proc: o.proc }, args, ret))
        };
        // 2.a exact match; an unknown operand is assumed to be of the other's type
        let mut exact = actual.clone();
        if let [l, r] = &mut exact[..] {
            (*l, *r) = with_unknown_as_other(*l, *r);
        }
        if let Some(o) = all.iter().find(|o| declared(o) == exact) {
            return finish(o).ok_or_else(|| PgError::internal("exact operator does not resolve"));
        }
        // domains: look for an exact match on the base types
        let bases: Vec<Oid> = exact.iter().map(|&t| self.base_type(t)).collect();
        if bases != exact {
            if let Some(o) = all.iter().find(|o| declared(o) == bases) {
                return finish(o).ok_or_else(|| PgError::internal("exact operator does not resolve"));
            }
        }
        let candidates: Vec<Candidate<Operator>> = all
            .iter()
            .filter(|o| self.matches(&actual, &declared(o)))
            .map(|o| Candidate { item: *o, args: declared(o), variadic_expanded: false })
            .collect();
        let count = candidates.len();
        let found = if count == 1 { candidates.into_iter().next() } else { self.select_candidate(&actual, candidates) };
        if let Some(c) = found {
            return finish(c.item).ok_or_else(|| PgError::internal("operator does not resolve"));
        }
        let signature = shown();
        Err(if count == 0 {
            PgError::new(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {signature}"))
                .hint(if left.is_some() {
                    "No operator matches the given name and argument types. You might need to add explicit type casts."
                } else {
                    "No operator matches the given name and argument type. You might need to add an explicit type cast."
                })
                .at(location)
        } else {
            PgError::new(SqlState::AMBIGUOUS_FUNCTION, format!("operator is not unique: {signature}"))
                .hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
                .at(location)
        })
    }

    /// ORDER BY and its kin need an order of the type: json has none. (A domain's is that of its base type, a row's that of its
    /// fields.)
    pub(crate) fn check_orderable(&self, ty: Oid, location: i32) -> Result<()> {
        let unordered = |ty| matches!(ty, oid::XID | oid::CID | oid::VOID) || has_no_equality(ty);
        if self.holds(ty, &unordered) {
            return Err(PgError::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("could not identify an ordering operator for type {}", self.type_display(ty)),
            )
            .hint("Use an explicit ordering operator or modify the query.")
            .at(location));
        }
        Ok(())
    }

    /// DISTINCT, GROUP BY and UNION need an equality operator of the type.
    pub(crate) fn check_comparable(&self, ty: Oid, location: i32) -> Result<()> {
        if self.holds(ty, &has_no_equality) {
            return Err(PgError::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("could not identify an equality operator for type {}", self.type_display(ty)),
            )
            .at(location));
        }
        Ok(())
    }

    /// Whether a type, or what its arrays, domains and rows are made of, is such a one.
    fn holds(&self, ty: Oid, such: &dyn Fn(Oid) -> bool) -> bool {
        let base = self.base_type(ty);
        let element = self.env.catalog.element_type(base).unwrap_or(base);
        such(element)
            || self
                .env
                .catalog
                .composite_fields(self.base_type(element))
                .is_some_and(|fields| fields.iter().any(|(_, field, _)| self.holds(*field, such)))
    }

    // --- functions -------------------------------------------------------------------------------------------------

    /// The functions that a name may mean: PostgreSQL's own and those of the user in the schemas that are searched. Of two with
    /// the same arguments the one in the schema that comes first.
    pub(crate) fn functions_named(&self, schema: Option<&str>, name: &str) -> Vec<&'a Proc> {
        let mut out: Vec<&'a Proc> = Vec::new();
        let information_schema = self.env.search_path.contains(&crate::catalog::INFORMATION_SCHEMA);
        let mut builtins: Vec<&'a Proc> = Vec::new();
        for proc in builtin::overloads(name) {
            let visible = match schema {
                _ if extensions::of(proc.oid).is_some() || builtin::is_later(proc.oid) => false,
                Some(schema) => schema == proc.schema(),
                None => proc.schema() == "pg_catalog" || information_schema,
            };
            if visible {
                builtins.push(proc);
            }
        }
        // pg_catalog is searched first unless the path has another place for it
        let placed = schema.is_none() && self.env.search_path.iter().skip(1).any(|s| *s == PG_CATALOG);
        if !placed {
            out.append(&mut builtins);
        }
        let catalog = self.env.catalog;
        let of_extensions: Vec<(&'static Proc, Oid)> = builtin::procs_named(name)
            .filter(|p| extensions::of(p.oid).is_some())
            .filter_map(|p| Some((p, catalog.schema_of_builtin(p.oid)?)))
            .collect();
        let own: Vec<_> = catalog.routines_named(name).collect();
        let path: Vec<Oid> = match schema {
            Some(schema) => catalog.schema_oid(schema).into_iter().collect(),
            // the temporary schema is never searched for functions
            None => self.env.search_path.iter().copied().filter(|s| *s != crate::catalog::PG_TEMP).collect(),
        };
        for schema in path {
            if schema == PG_CATALOG {
                for proc in builtins.drain(..) {
                    if !out.iter().any(|p| p.args == proc.args) {
                        out.push(proc);
                    }
                }
            }
            for (oid, proc) in catalog.range_constructors.iter().filter(|(_, p)| p.name == name) {
                let here = catalog.range_of_constructor(*oid).is_some_and(|(_, d)| d.constructor_schema == schema);
                if here && !out.iter().any(|p| p.args == proc.args) {
                    out.push(&**proc);
                }
            }
            for (proc, _) in of_extensions.iter().filter(|(_, s)| *s == schema) {
                if !out.iter().any(|p| p.args == proc.args) {
                    out.push(proc);
                }
            }
            for routine in own.iter().filter(|r| r.function.schema == schema) {
                if !out.iter().any(|p| p.args == routine.proc.args) {
                    out.push(&routine.proc);
                }
            }
        }
        out
    }

    /// The functions of a name that later releases than PostgreSQL 15 have added: a call finds them where [`Analyzer::functions_named`] has none
    /// that takes its arguments.
    pub(super) fn later_functions(&self, schema: Option<&str>, name: &str) -> Vec<&'a Proc> {
        let visible = schema.is_none_or(|schema| schema == "pg_catalog");
        builtin::overloads(name).filter(|p| visible && builtin::is_later(p.oid)).collect()
    }

    /// Resolves a function call by argument types (10.3) among the functions of its name.
    /// `explicit_variadic`: the last argument was written with VARIADIC.
    pub(crate) fn resolve_function(
        &self,
        procs: &[&'a Proc],
        actual: &[Oid],
        explicit_variadic: bool,
    ) -> Option<Result<ResolvedFunction<'a>, ()>> {
        let mut candidates: Vec<Candidate<Proc>> = Vec::new();
        for &proc in procs {
            let n = proc.args.len();
            // (with fewer arguments than parameters the array itself has its default)
            let whole = proc.variadic == 0 || explicit_variadic || actual.len() < n;
            if actual.len() <= n && actual.len() + proc.default_count >= n && whole {
                if explicit_variadic && proc.variadic == 0 {
                    continue;
                }
                candidates.push(Candidate {
                    item: proc,
                    args: proc.args[..actual.len()].to_vec(),
                    variadic_expanded: false,
                });
            } else if proc.variadic != 0 && !explicit_variadic && actual.len() + 1 >= n {
                // VARIADIC: as many element types as it takes (at least one, but VARIADIC "any" functions take none, too)
                if actual.len() + 1 == n {
                    continue;
                }
                let mut args = proc.args[..n - 1].to_vec();
                args.resize(actual.len(), proc.variadic);
                candidates.push(Candidate { item: proc, args, variadic_expanded: true });
            }
        }
        // Of candidates with the same arguments (defaults left out) the one in the schema that comes first counts, whatever it has
        // behind them; in one schema nothing tells them apart.
        let schema_of = |p: &Proc| self.env.catalog.function(p.oid).map_or(0, |f| f.schema);
        let mut ambiguous: Vec<Oid> = Vec::new();
        let mut distinct: Vec<Candidate<Proc>> = Vec::new();
        for c in candidates {
            match distinct.iter().find(|d| d.args == c.args && d.variadic_expanded == c.variadic_expanded) {
                Some(same) if schema_of(same.item) == schema_of(c.item) => ambiguous.push(same.item.oid),
                Some(_) => {}
                None => distinct.push(c),
            }
        }
        let mut candidates = distinct;
        let finish = |c: &Candidate<Proc>| -> Option<Result<ResolvedFunction<'a>, ()>> {
            if ambiguous.contains(&c.item.oid) {
                return Some(Err(()));
            }
            let proc = *procs.iter().find(|p| p.oid == c.item.oid)?;
            let (args, ret) = self.resolve_polymorphic(&c.args, actual, proc.ret)?;
            let variadic_from = (c.variadic_expanded && proc.variadic != oid::ANY).then(|| proc.args.len() - 1);
            Some(Ok(ResolvedFunction { proc, args, ret, variadic_from }))
        };
        if let Some(c) = candidates
            .iter()
            .find(|c| c.args == actual && !c.variadic_expanded)
            .or_else(|| candidates.iter().find(|c| c.args == actual))
        {
            return finish(c);
        }
        candidates.retain(|c| self.matches(actual, &c.args));
        // a non-variadic match is better than an expanded one with the same types
        let shadowed: Vec<Vec<Oid>> =
            candidates.iter().filter(|c| !c.variadic_expanded).map(|c| c.args.clone()).collect();
        candidates.retain(|c| !c.variadic_expanded || !shadowed.contains(&c.args));
        match candidates.len() {
            0 => None,
            1 => finish(&candidates[0]),
            _ => match self.select_candidate(actual, candidates) {
                Some(c) => finish(&c),
                None => Some(Err(())),
            },
        }
    }
}

/// The operand types that an exact match has: an unknown operand is assumed to be of the other's type.
fn with_unknown_as_other(left: Oid, right: Oid) -> (Oid, Oid) {
    match (left, right) {
        (oid::UNKNOWN, _) => (right, right),
        (_, oid::UNKNOWN) => (left, left),
        _ => (left, right),
    }
}

/// Types that have no `=` of their values that sorting and grouping could use.
fn has_no_equality(ty: Oid) -> bool {
    matches!(
        ty,
        oid::JSON
            | oid::XML
            | oid::POINT
            | oid::LINE
            | oid::BOX
            | oid::LSEG
            | oid::PATH
            | oid::POLYGON
            | oid::CIRCLE
            | oid::TXID_SNAPSHOT
            | oid::PG_SNAPSHOT
    )
}
