//! Expressions, with ruleutils' rules for parentheses, labels of constants and implicit casts.

use super::{quote_constant, quote_identifier, Printer, Style};
use crate::builtins::catalog as builtin;
use crate::catalog::Catalog;
use crate::sql_json::SqlJson;
use crate::typed::*;
use crate::volatility::{operand_of_case, sides_of_case};
use crate::walk;
use pgsqlite_types::codec::{Context, NoNames, RegNames, TypeCodec};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, Settings};

impl<'a> Printer<'a> {
    fn pretty(&self) -> bool {
        self.style == Style::Pretty
    }

    /// An opening or closing parenthesis that the pretty style leaves out.
    pub(super) fn full(&mut self, parenthesis: char) {
        if !self.pretty() {
            self.out.push(parenthesis);
        }
    }

    /// An operand: in the pretty style in parentheses unless it binds tighter than `parent`.
    pub(super) fn operand(&mut self, expr: &Expr, show_implicit: bool, parent: &Expr) -> Result<()> {
        let parentheses = self.pretty() && !is_simple(expr, parent, show_implicit);
        if parentheses {
            self.out.push('(');
        }
        self.expr(expr, show_implicit)?;
        if parentheses {
            self.out.push(')');
        }
        Ok(())
    }

    pub(super) fn list(&mut self, exprs: &[Expr]) -> Result<()> {
        for (i, expr) in exprs.iter().enumerate() {
            work::visit();
            if i > 0 {
                self.out.push_str(", ");
            }
            self.expr(expr, true)?;
        }
        Ok(())
    }

    pub(super) fn operator_name(&self, op: OperatorRef) -> String {
        self.names.operator(op.oid)
    }

    /// `show_implicit`: casts that analysis put in are printed, too (arguments, where they decide the overload).
    pub(super) fn expr(&mut self, expr: &Expr, show_implicit: bool) -> Result<()> {
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, expr, Label::IfNeeded)?,
            ExprKind::Param(n) => self.parameter(*n),
            ExprKind::Var(var) => self.var(*var)?,
            ExprKind::WholeRow { levels_up, rte, .. } => {
                let level = self.levels.len().checked_sub(1 + levels_up);
                let name = level.map(|l| self.levels[l].aliases[*rte].clone()).unwrap_or_default();
                self.out.push_str(&quote_identifier(&name));
                self.out.push_str(".*");
            }
            ExprKind::Func { proc, args, variadic } | ExprKind::SetFunc { proc, args, variadic } => {
                self.function(*proc, args, *variadic, expr)?
            }
            ExprKind::Op { op, args } => {
                self.full('(');
                let name = self.operator_name(*op);
                match &args[..] {
                    [left, right] => {
                        let rows = self.keeps_rows(left, right);
                        self.operand(left, true, expr)?;
                        self.out.push_str(rows);
                        self.out.push_str(&format!(" {name} "));
                        self.operand(right, true, expr)?;
                        self.out.push_str(rows);
                    }
                    [only] => {
                        self.out.push_str(&format!("{name} "));
                        self.operand(only, true, expr)?;
                    }
                    _ => return Err(PgError::internal("an operator with other than one or two operands")),
                }
                self.full(')');
            }
            ExprKind::Cast { form: CastForm::Keyword(word), .. } => {
                self.out.push_str(word);
                if expr.typmod >= 0 {
                    self.out.push_str(&format!("({})", expr.typmod));
                }
            }
            ExprKind::SqlJson { form, args } => self.sql_json(form, args, expr)?,
            ExprKind::Cast { arg, form: CastForm::Syntax, .. } => match super::sql_json::converted(arg) {
                Some(own @ Expr { kind: ExprKind::SqlJson { form, args }, .. }) => self.sql_json(form, args, own)?,
                _ => self.standard_call(arg)?,
            },
            ExprKind::Cast { arg, form: CastForm::Collate, .. } => {
                self.full('(');
                self.operand(arg, show_implicit, expr)?;
                if let Some(name) = self.names.collation(expr.collation) {
                    self.out.push_str(&format!(" COLLATE {name}"));
                }
                self.full(')');
            }
            // the value of a cast with a modifier, used without it: nothing that PostgreSQL has a node for
            ExprKind::Cast { arg, method: CastMethod::Relabel, form: CastForm::Implicit } if arg.ty == expr.ty => {
                self.operand_of_hidden_cast(arg)?
            }
            ExprKind::Cast { arg, form, .. } => {
                if *form != CastForm::Explicit && !show_implicit {
                    self.operand_of_hidden_cast(arg)?;
                } else {
                    self.cast(arg, expr.ty, expr.typmod, expr)?;
                }
            }
            ExprKind::And(args) => self.bool_list(args, " AND ", expr)?,
            ExprKind::Or(args) => self.bool_list(args, " OR ", expr)?,
            ExprKind::Not(arg) => {
                self.full('(');
                self.out.push_str("NOT ");
                self.operand(arg, false, expr)?;
                self.full(')');
            }
            ExprKind::IsNull { arg, negated } => {
                self.full('(');
                self.operand(arg, true, expr)?;
                self.out.push_str(if *negated { " IS NOT NULL" } else { " IS NULL" });
                self.full(')');
            }
            ExprKind::BoolTest { arg, test } => {
                self.full('(');
                self.operand(arg, false, expr)?;
                self.out.push_str(match test {
                    BoolTest::True => " IS TRUE",
                    BoolTest::NotTrue => " IS NOT TRUE",
                    BoolTest::False => " IS FALSE",
                    BoolTest::NotFalse => " IS NOT FALSE",
                    BoolTest::Unknown => " IS UNKNOWN",
                    BoolTest::NotUnknown => " IS NOT UNKNOWN",
                });
                self.full(')');
            }
            ExprKind::Distinct { left, right, negated, .. } => {
                // PostgreSQL keeps IS NOT DISTINCT FROM as NOT (… IS DISTINCT FROM …).
                if *negated {
                    self.full('(');
                    self.out.push_str("NOT ");
                    if self.pretty() {
                        self.out.push('(');
                    }
                }
                let rows = self.keeps_rows(left, right);
                self.full('(');
                self.operand(left, true, expr)?;
                self.out.push_str(rows);
                self.out.push_str(" IS DISTINCT FROM ");
                self.operand(right, true, expr)?;
                self.out.push_str(rows);
                self.full(')');
                if *negated {
                    self.out.push(')');
                }
            }
            ExprKind::InList { op, left, list, negated } => self.in_list(*op, left, list, *negated, expr)?,
            ExprKind::ArrayCompare { op, quantifier, left, array } => {
                self.full('(');
                self.operand(left, true, expr)?;
                let word = if *quantifier == Quantifier::Any { "ANY" } else { "ALL" };
                self.out.push_str(&format!(" {} {word} (", self.operator_name(*op)));
                // a sub-query that gives an array, not one whose rows are the values: a cast tells them apart
                let scalar = matches!(array.kind, ExprKind::SubLink { kind: SubLinkKind::Scalar, .. });
                let elements = match &array.kind {
                    ExprKind::Array(items) => converted_as(self.names.catalog, left, items),
                    _ => None,
                };
                match (texts_of_varchar(self.names.catalog, left, array), elements) {
                    (Some(items), _) => self.converted_array(&items, oid::TEXT)?,
                    (_, Some(items)) => self.converted_array(&items, left.ty)?,
                    _ => self.operand(array, true, expr)?,
                }
                if scalar {
                    let name = self.names.type_name(array.ty, -1);
                    self.out.push_str(&format!("::{name}"));
                }
                self.out.push(')');
                self.full(')');
            }
            ExprKind::Case { whens, otherwise } => {
                self.keyword("CASE", 0, INDENT_VAR, 0);
                // (read again, the name must find the operator)
                let found = |condition: &Expr| {
                    let sides = sides_of_case(condition);
                    sides.is_some_and(|(op, ..)| self.names.operator_is_visible(op.oid))
                };
                let operand = operand_of_case(whens).filter(|_| whens.iter().all(|(condition, _)| found(condition)));
                if let Some(operand) = operand {
                    self.out.push(' ');
                    self.expr(operand, true)?;
                }
                for (condition, result) in whens {
                    work::visit();
                    if !self.out.ends_with(' ') {
                        self.out.push(' ');
                    }
                    self.keyword("WHEN ", 0, 0, 0);
                    match sides_of_case(condition).filter(|_| operand.is_some()) {
                        Some((_, _, value)) => self.expr(value, false)?,
                        None => self.expr(condition, false)?,
                    }
                    self.out.push_str(" THEN ");
                    self.expr(result, true)?;
                }
                self.out.push(' ');
                self.keyword("ELSE ", 0, 0, 0);
                match otherwise {
                    Some(e) => self.expr(e, true)?,
                    None => {
                        let name = self.names.type_name(expr.ty, -1);
                        self.out.push_str(&format!("NULL::{name}"));
                    }
                }
                self.out.push(' ');
                self.keyword("END", -INDENT_VAR, 0, 0);
            }
            ExprKind::Coalesce(args) => self.call("COALESCE", args)?,
            ExprKind::Greatest(args) => self.call("GREATEST", args)?,
            ExprKind::Least(args) => self.call("LEAST", args)?,
            ExprKind::NullIf { left, right, .. } => {
                self.out.push_str("NULLIF(");
                self.expr(left, true)?;
                self.out.push_str(", ");
                self.expr(right, true)?;
                self.out.push(')');
            }
            ExprKind::Aggregate(call) => self.aggregate(call)?,
            ExprKind::Window { call, window } => self.window_call(call, *window)?,
            ExprKind::CurrentOf { cursor, .. } => {
                self.out.push_str("CURRENT OF ");
                self.out.push_str(&super::quote_identifier(cursor));
            }
            ExprKind::Grouping(positions) => {
                let keys: &'a [Expr] = self.levels.last().map_or(&[], |l| l.group_by);
                let args: Vec<Expr> = positions.iter().filter_map(|i| keys.get(*i)).cloned().collect();
                self.call("GROUPING", &args)?;
            }
            ExprKind::SubLink { kind, query } => self.sublink(kind, query, expr)?,
            ExprKind::Array(items) => {
                self.out.push_str("ARRAY[");
                self.list(items)?;
                self.out.push(']');
                if items.is_empty() {
                    let name = self.names.type_name(expr.ty, -1);
                    self.out.push_str(&format!("::{name}"));
                }
            }
            ExprKind::Subscript { arg, slice, subscripts } => {
                let bare = matches!(arg.kind, ExprKind::Var(_) | ExprKind::Field { .. });
                self.parenthesised(arg, !bare)?;
                for (lower, upper) in subscripts {
                    work::visit();
                    self.out.push('[');
                    if *slice {
                        if let Some(lower) = lower {
                            self.expr(lower, false)?;
                        }
                        self.out.push(':');
                    }
                    if let Some(upper) = upper {
                        self.expr(upper, false)?;
                    }
                    self.out.push(']');
                }
            }
            ExprKind::JsonSubscript { arg, subscripts } => {
                let bare = matches!(arg.kind, ExprKind::Var(_) | ExprKind::Param(_));
                self.parenthesised(arg, !bare)?;
                for subscript in subscripts {
                    work::visit();
                    self.out.push('[');
                    self.expr(subscript, false)?;
                    self.out.push(']');
                }
            }
            ExprKind::Row(items) => {
                self.out.push_str("ROW(");
                self.row_items(items, true, ", ")?;
                self.out.push(')');
                if expr.ty != oid::RECORD {
                    let name = self.names.type_name(expr.ty, -1);
                    self.out.push_str(&format!("::{name}"));
                }
            }
            ExprKind::RowCompare { name, left, right, .. } => {
                // (in either style)
                self.out.push_str("(ROW(");
                self.list(left)?;
                self.out.push_str(&format!(") {name} ROW("));
                self.list(right)?;
                self.out.push_str("))");
            }
            ExprKind::Field { arg, name, .. } => {
                let bare = matches!(arg.kind, ExprKind::Subscript { .. } | ExprKind::Field { .. });
                self.parenthesised(arg, !bare)?;
                self.out.push('.');
                self.out.push_str(&quote_identifier(self.names.field(arg.ty, name)));
            }
            ExprKind::Assign { .. } => {
                return Err(PgError::not_supported("several assignments to parts of a column in a stored statement"))
            }
            // (whoever stores the statement stores DEFAULT)
            ExprKind::Default | ExprKind::NextRow(_) => self.out.push_str("DEFAULT"),
            ExprKind::DomainValue => self.out.push_str("VALUE"),
            #[allow(unreachable_patterns)]
            other => return Err(PgError::not_supported(format!("printing {other:?}"))),
        }
        Ok(())
    }

    /// A parameter by its name, with that of the function where a column could be meant.
    fn parameter(&mut self, number: usize) {
        let name = self.parameters.as_ref().and_then(|p| Some((&p.function, p.names.get(number - 1)?)));
        let text = match name.filter(|(_, name)| !name.is_empty()) {
            Some((function, name)) if self.levels.iter().any(|l| !l.entries.is_empty()) => {
                format!("{}.{}", quote_identifier(function), quote_identifier(name))
            }
            Some((_, name)) => quote_identifier(name),
            None => format!("${number}"),
        };
        self.out.push_str(&text);
    }

    fn parenthesised(&mut self, expr: &Expr, needed: bool) -> Result<()> {
        if needed {
            self.out.push('(');
        }
        self.expr(expr, true)?;
        if needed {
            self.out.push(')');
        }
        Ok(())
    }

    /// An implicit cast at the top is not printed; neither is the one inside it.
    fn operand_of_hidden_cast(&mut self, arg: &Expr) -> Result<()> {
        self.expr(arg, false)
    }

    fn call(&mut self, name: &str, args: &[Expr]) -> Result<()> {
        self.out.push_str(name);
        self.out.push('(');
        self.list(args)?;
        self.out.push(')');
        Ok(())
    }

    fn bool_list(&mut self, args: &[Expr], word: &str, expr: &Expr) -> Result<()> {
        self.full('(');
        for (i, arg) in args.iter().enumerate() {
            work::visit();
            if i > 0 {
                self.out.push_str(word);
            }
            self.operand(arg, false, expr)?;
        }
        self.full(')');
        Ok(())
    }

    /// `arg::type`
    fn cast(&mut self, arg: &Expr, ty: Oid, typmod: i32, expr: &Expr) -> Result<()> {
        match &arg.kind {
            // 'x'::text, not ('x'::text)::text
            ExprKind::Const(value) if arg.ty == ty && arg.typmod == -1 => self.constant(value, arg, Label::Never)?,
            _ => {
                self.full('(');
                self.operand(arg, false, expr)?;
                self.full(')');
            }
        }
        let name = self.names.type_name(ty, typmod);
        self.out.push_str(&format!("::{name}"));
        Ok(())
    }

    fn function(&mut self, proc: Oid, args: &[Expr], variadic: bool, expr: &Expr) -> Result<()> {
        let name = builtin::proc_by_oid(proc).map_or("", |p| p.name.as_str());
        // (where a tree does not tell how they were written)
        if matches!((name, args.len()), ("extract" | "timezone", 2)) {
            return self.standard_call(expr);
        }
        let name = self.names.function(proc);
        self.out.push_str(&name);
        self.out.push('(');
        for (i, arg) in args.iter().enumerate() {
            work::visit();
            if i > 0 {
                self.out.push_str(", ");
            }
            if variadic && i + 1 == args.len() {
                self.out.push_str("VARIADIC ");
            }
            self.expr(arg, true)?;
        }
        self.out.push(')');
        Ok(())
    }

    /// A call in the syntax that the SQL standard has for the function.
    fn standard_call(&mut self, call: &Expr) -> Result<()> {
        let ExprKind::Func { proc, args, .. } = &call.kind else { return self.expr(call, true) };
        let name = builtin::proc_by_oid(*proc).map_or("", |p| p.name.as_str());
        let word = |e: &Expr| match &e.kind {
            ExprKind::Const(Datum::Text(word)) => word.clone(),
            _ => String::new(),
        };
        let trim = match name {
            "btrim" => "BOTH",
            "ltrim" => "LEADING",
            _ => "TRAILING",
        };
        match (name, &args[..]) {
            ("extract", [field, source]) => {
                self.out.push_str(&format!("EXTRACT({} FROM ", word(field)));
                self.expr(source, false)?;
            }
            ("timezone", [zone, source]) => {
                self.out.push('(');
                self.standard_operand(source)?;
                self.out.push_str(" AT TIME ZONE ");
                self.standard_operand(zone)?;
            }
            ("timezone", [source]) => {
                self.out.push('(');
                self.standard_operand(source)?;
                self.out.push_str(" AT LOCAL");
            }
            ("overlaps", [a, b, c, d]) => {
                self.out.push_str("((");
                self.expr(a, false)?;
                self.out.push_str(", ");
                self.expr(b, false)?;
                self.out.push_str(") OVERLAPS (");
                self.expr(c, false)?;
                self.out.push_str(", ");
                self.expr(d, false)?;
                self.out.push(')');
            }
            ("is_normalized", [text, form @ ..]) => {
                self.out.push('(');
                self.standard_operand(text)?;
                self.out.push_str(" IS");
                form.iter().for_each(|f| self.out.push_str(&format!(" {}", word(f))));
                self.out.push_str(" NORMALIZED");
            }
            ("pg_collation_for", [value]) => {
                self.out.push_str("COLLATION FOR (");
                self.expr(value, false)?;
            }
            ("normalize", [text, form @ ..]) => {
                self.out.push_str("NORMALIZE(");
                self.expr(text, false)?;
                form.iter().for_each(|f| self.out.push_str(&format!(", {}", word(f))));
            }
            ("overlay", [text, with, from, count @ ..]) => {
                self.out.push_str("OVERLAY(");
                self.expr(text, false)?;
                self.out.push_str(" PLACING ");
                self.expr(with, false)?;
                self.out.push_str(" FROM ");
                self.expr(from, false)?;
                if let Some(count) = count.first() {
                    self.out.push_str(" FOR ");
                    self.expr(count, false)?;
                }
            }
            ("position", [text, part]) => {
                self.out.push_str("POSITION((");
                self.expr(part, false)?;
                self.out.push_str(") IN (");
                self.expr(text, false)?;
                self.out.push(')');
            }
            ("substring", [text, pattern, escape]) if pattern.ty == oid::TEXT => {
                self.out.push_str("SUBSTRING(");
                self.expr(text, false)?;
                self.out.push_str(" SIMILAR ");
                self.expr(pattern, false)?;
                self.out.push_str(" ESCAPE ");
                self.expr(escape, false)?;
            }
            // (`FROM` with a pattern is kept as the plain call that it also is)
            ("substring", [_, pattern]) if pattern.ty == oid::TEXT => return self.function(*proc, args, false, call),
            ("substring", [text, from, count @ ..]) => {
                self.out.push_str("SUBSTRING(");
                self.expr(text, false)?;
                self.out.push_str(" FROM ");
                self.expr(from, false)?;
                if let Some(count) = count.first() {
                    self.out.push_str(" FOR ");
                    self.expr(count, false)?;
                }
            }
            ("btrim" | "ltrim" | "rtrim", [text, characters @ ..]) => {
                self.out.push_str(&format!("TRIM({trim}"));
                if let Some(characters) = characters.first() {
                    self.out.push(' ');
                    self.expr(characters, false)?;
                }
                self.out.push_str(" FROM ");
                self.expr(text, false)?;
            }
            _ => return self.expr(call, true),
        }
        self.out.push(')');
        Ok(())
    }

    /// An operand of a standard call that is written like an operator.
    fn standard_operand(&mut self, expr: &Expr) -> Result<()> {
        // (nothing that binds)
        let parent = Expr::new(ExprKind::DomainValue, expr.ty, -1);
        self.operand(expr, false, &parent)
    }

    /// What follows two rows that are compared as values of a type, in a text that is stored: whoever reads it would take rows apart that stand
    /// there bare. Those that belong to no type are parts of rows that were taken apart.
    fn keeps_rows(&self, left: &Expr, right: &Expr) -> &'static str {
        let bare = |e: &Expr| matches!(e.kind, ExprKind::Row(_)) && e.ty == oid::RECORD;
        let stored = self.names.search_path.contains(&crate::catalog::EVERY_EXTENSION);
        match stored && bare(left) && bare(right) {
            true => "::record",
            false => "",
        }
    }

    /// `x IN (…)`: PostgreSQL keeps `x = ANY (ARRAY[…])`, and `x <> ALL (ARRAY[…])` of NOT IN. (`op` is equality in both.)
    fn in_list(&mut self, op: OperatorRef, left: &Expr, list: &[Expr], negated: bool, expr: &Expr) -> Result<()> {
        self.full('(');
        self.operand(left, true, expr)?;
        let (word, op) = match negated {
            true => ("ALL", self.negator(op)?),
            false => ("ANY", op),
        };
        self.out.push_str(&format!(" {} {word} (", self.operator_name(op)));
        // A varchar column's list has varchar constants, the array is cast to the operator's type.
        let varchar_list = match &left.kind {
            ExprKind::Cast { arg, method: CastMethod::Relabel, form: CastForm::Implicit } => {
                arg.ty == oid::VARCHAR
                    && left.ty == oid::TEXT
                    && list.iter().all(|e| matches!(e.kind, ExprKind::Const(_)) && e.ty == oid::TEXT)
            }
            _ => false,
        };
        if varchar_list {
            let items: Vec<Expr> = list.iter().map(|item| Expr { ty: oid::VARCHAR, ..item.clone() }).collect();
            self.converted_array(&items.iter().collect::<Vec<_>>(), oid::TEXT)?;
        } else if let Some(items) = converted_as(self.names.catalog, left, list) {
            self.converted_array(&items, left.ty)?;
        } else {
            self.out.push_str("ARRAY[");
            self.list(list)?;
            self.out.push(']');
        }
        self.out.push(')');
        self.full(')');
        Ok(())
    }

    /// An array that is compared as one of elements of another type.
    fn converted_array(&mut self, items: &[&Expr], element: Oid) -> Result<()> {
        self.full('(');
        self.out.push_str("ARRAY[");
        for (i, item) in items.iter().enumerate() {
            work::visit();
            if i > 0 {
                self.out.push_str(", ");
            }
            self.expr(item, true)?;
        }
        self.out.push(']');
        self.full(')');
        let array = self.names.catalog.array_type(element).ok_or_else(|| PgError::internal("no array type"))?;
        self.out.push_str(&format!("::{}", self.names.type_name(array, -1)));
        Ok(())
    }

    /// The operator that is true where `op` is false.
    fn negator(&self, op: OperatorRef) -> Result<OperatorRef> {
        let operator = self.names.catalog.operator(op.oid).map(|o| o.negator).filter(|&n| n != 0);
        let negator = operator.and_then(|n| self.names.catalog.operator(n));
        negator
            .map(|n| OperatorRef { oid: n.oid, proc: n.proc })
            .ok_or_else(|| PgError::not_supported("printing NOT IN of an operator without a negator"))
    }

    fn var(&mut self, var: Var) -> Result<()> {
        if self.levels.is_empty() {
            let relation =
                self.relation.ok_or_else(|| PgError::internal("a column in an expression without a relation"))?;
            let column = relation
                .live_columns()
                .nth(var.column)
                .ok_or_else(|| PgError::not_supported("a system column in a stored expression"))?;
            // The catalog's version of the relation may have other names by now.
            let name = self
                .names
                .catalog
                .relation(relation.oid)
                .and_then(|r| r.column_by_attnum(column.attnum))
                .map_or(&column.name, |c| &c.name);
            self.out.push_str(&quote_identifier(name));
            return Ok(());
        }
        let at = self
            .levels
            .len()
            .checked_sub(1 + var.levels_up)
            .ok_or_else(|| PgError::internal("a column of a level that is not there"))?;
        let entry =
            self.levels[at].entries.get(var.rte).ok_or_else(|| PgError::internal("no such range table entry"))?;
        if let (RteKind::Join { columns }, false) = (&entry.kind, entry.has_alias) {
            // what merges two columns into a third has no name but its own
            if let Some(Expr { kind: ExprKind::Var(inner), .. }) = columns.get(var.column) {
                return self.var(Var { levels_up: var.levels_up + inner.levels_up, ..*inner });
            }
            let name = self.column_name(at, var.rte, var.column);
            self.out.push_str(&quote_identifier(&name));
            return Ok(());
        }
        let name = self.column_name(at, var.rte, var.column);
        let bare = self.bare != 0 && self.bare == self.levels.len();
        if !bare && (self.levels[at].qualify || var.levels_up > 0 || self.levels.len() > 1) {
            let alias = quote_identifier(&self.levels[at].aliases[var.rte]);
            self.out.push_str(&alias);
            self.out.push('.');
        }
        self.out.push_str(&quote_identifier(&name));
        Ok(())
    }

    /// What a column of an entry of a level is called.
    pub(super) fn column_name(&self, level: usize, rte: usize, column: usize) -> String {
        let level = &self.levels[level];
        let Some(entry) = level.entries.get(rte) else { return String::new() };
        match entry.columns.get(column) {
            // ctid and its like
            Some(own) if own.attnum < 0 => own.name.clone(),
            _ => match level.columns.get(rte) {
                Some(columns) => columns.name(super::columns::number(entry, column)).to_string(),
                None => String::new(),
            },
        }
    }

    pub(super) fn constant(&mut self, value: &Datum, expr: &Expr, label: Label) -> Result<()> {
        let ty = expr.ty;
        if value.is_null() {
            self.out.push_str("NULL");
            if label != Label::Never {
                let name = self.names.type_name(ty, expr.typmod);
                self.out.push_str(&format!("::{name}"));
            }
            return Ok(());
        }
        let text = self.constant_text(value, ty)?;
        let starts_with_digit = text.starts_with(|c: char| c.is_ascii_digit());
        let mut needs_label =
            label == Label::Always || !matches!(ty, oid::BOOL | oid::UNKNOWN | oid::INT4 | oid::NUMERIC);
        match ty {
            oid::INT4 if !text.starts_with('-') => self.out.push_str(&text),
            oid::NUMERIC if starts_with_digit && text.contains(['e', 'E', '.']) => {
                self.out.push_str(&text);
                needs_label = label == Label::Always || expr.typmod >= 0;
            }
            oid::BOOL => self.out.push_str(if text == "t" || text == "true" { "true" } else { "false" }),
            _ => {
                let conforming = self.names.settings.is_none_or(|s| s.standard_conforming_strings);
                let quoted = quote_constant(&text);
                self.out.push_str(&if conforming { quoted } else { quoted.replace('\\', "\\\\") });
                needs_label |= matches!(ty, oid::INT4 | oid::NUMERIC);
            }
        }
        if needs_label && label != Label::Never {
            let name = self.names.type_name(ty, expr.typmod);
            self.out.push_str(&format!("::{name}"));
        }
        Ok(())
    }

    /// The text form of a constant of the type.
    fn constant_text(&self, value: &Datum, ty: Oid) -> Result<String> {
        if let Datum::Text(text) = value {
            if matches!(ty, oid::UNKNOWN | oid::TEXT | oid::VARCHAR | oid::NAME | oid::CSTRING) {
                return Ok(text.clone());
            }
        }
        if let (Datum::Int(n), true) = (value, ty == oid::REGCLASS) {
            return Ok(self.names.relation(*n as Oid));
        }
        let text_search = match (value, ty) {
            (Datum::Int(n), oid::REGCONFIG) => self.names.ts_configuration(*n as Oid),
            (Datum::Int(n), oid::REGDICTIONARY) => self.names.ts_dictionary(*n as Oid),
            _ => None,
        };
        if let Some(name) = text_search {
            return Ok(name);
        }
        if let (Datum::Int(n), true) = (value, ty == oid::REGTYPE) {
            return Ok(self.names.type_name(*n as Oid, -1));
        }
        let codec = self
            .names
            .catalog
            .codec(ty)
            .ok_or_else(|| PgError::not_supported(format!("type {}", self.names.type_name(ty, -1))))?;
        let stored = Settings::default();
        let settings = self.names.settings.unwrap_or(&stored);
        let mut out = Vec::new();
        codec.text_out(value.as_ref(), &Context { settings, names: &Fields(self.names.catalog) }, &mut out)?;
        String::from_utf8(out).map_err(|_| PgError::internal("a constant that is not UTF-8"))
    }
}

/// The codecs of a record's fields; reg types are printed as numbers.
struct Fields<'a>(&'a Catalog);

impl RegNames for Fields<'_> {
    fn reg_name(&self, reg_type: Oid, oid: Oid) -> Option<String> {
        NoNames.reg_name(reg_type, oid)
    }
    fn reg_oid(&self, reg_type: Oid, name: &str) -> Result<Oid> {
        NoNames.reg_oid(reg_type, name)
    }
    fn reg_oid_for(&self, role: Oid, reg_type: Oid, name: &str) -> Result<Oid> {
        NoNames.reg_oid_for(role, reg_type, name)
    }
    fn codec(&self, type_oid: Oid) -> Option<TypeCodec> {
        self.0.codec(type_oid)
    }
}

/// Spaces that nested lines of CASE, select lists … are indented by.
pub(super) const INDENT_VAR: i32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    IfNeeded,
    Always,
    Never,
}

/// The items of a list as they were before all were converted as the left side was: PostgreSQL converts their array, where their type has no
/// operator of its own. (In a text that is read again each item has an explicit cast, which tells less.)
fn converted_as<'e>(catalog: &Catalog, left: &Expr, list: &'e [Expr]) -> Option<Vec<&'e Expr>> {
    let relabelled = |expr: &'_ Expr| match &expr.kind {
        ExprKind::Cast { arg, method: CastMethod::Relabel, form } if arg.ty != expr.ty => {
            let known = arg.ty == oid::CIDR || catalog.base_type(arg.ty) != arg.ty;
            let converted = *form == CastForm::Implicit || *form == CastForm::Explicit && known;
            converted.then_some(arg.ty)
        }
        _ => None,
    };
    let ty = relabelled(left)?;
    let item = |e: &'e Expr| match &e.kind {
        ExprKind::Cast { arg, .. } if e.ty == left.ty && relabelled(e) == Some(ty) => Some(&**arg),
        _ => None,
    };
    list.iter().map(item).collect::<Option<Vec<_>>>().filter(|items| !items.is_empty())
}

/// The items of `(ARRAY['a'::varchar, …])::text[]`, whose cast analysis hands on to the elements: IN makes such an array of what names no
/// column, if its operand is a varchar, too. With an operand that is a text each element is cast.
fn texts_of_varchar<'e>(catalog: &Catalog, left: &Expr, array: &'e Expr) -> Option<Vec<&'e Expr>> {
    let ExprKind::Array(items) = &array.kind else { return None };
    let is_varchar = |arg: &Expr| catalog.base_type(arg.ty) == oid::VARCHAR;
    if !matches!(&left.kind, ExprKind::Cast { arg, method: CastMethod::Relabel, .. } if is_varchar(arg)) {
        return None;
    }
    let names_column = |e: &Expr| walk::any(e, &|e| matches!(e.kind, ExprKind::Var(_) | ExprKind::DomainValue));
    let constant = |e: &'_ Expr| e.ty == oid::VARCHAR && !names_column(e);
    let texts = items.iter().map(|item| match &item.kind {
        ExprKind::Cast { arg, method: CastMethod::Relabel, .. } if item.ty == oid::TEXT && constant(arg) => {
            Some(&**arg)
        }
        _ => None,
    });
    texts.collect::<Option<Vec<_>>>().filter(|t| !t.is_empty())
}

/// Function-like nodes around an operand: their own brackets are enough.
fn brackets(parent: &Expr) -> bool {
    matches!(
        parent.kind,
        ExprKind::Func { .. }
            | ExprKind::SetFunc { .. }
            | ExprKind::Subscript { .. }
            | ExprKind::Array(_)
            | ExprKind::Row(_)
            | ExprKind::Coalesce(_)
            | ExprKind::Greatest(_)
            | ExprKind::Least(_)
            | ExprKind::NullIf { .. }
            | ExprKind::Aggregate(_)
            | ExprKind::Window { .. }
            | ExprKind::Grouping(_)
            | ExprKind::Case { .. }
    ) || matches!(&parent.kind, ExprKind::SqlJson { form, .. } if !matches!(**form, SqlJson::Is { .. }))
}

/// Whether `node` needs no parentheses as an operand of `parent` in the pretty style (ruleutils' isSimpleNode).
fn is_simple(node: &Expr, parent: &Expr, show_implicit: bool) -> bool {
    match &node.kind {
        ExprKind::Op { op, args } => {
            if let ExprKind::Op { op: parent_op, args: parent_args } = &parent.kind {
                let priority = |op: &OperatorRef| match builtin::operator_by_oid(op.oid).map(|o| o.name.as_str()) {
                    Some("+" | "-") => 1,
                    Some("*" | "/" | "%") => 2,
                    _ => 0,
                };
                let (own, outer) = (priority(op), priority(parent_op));
                if own == 0 || outer == 0 || args.len() < 2 || parent_args.len() < 2 {
                    return false;
                }
                return own > outer || own == outer && std::ptr::eq(node, &parent_args[0]);
            }
            matches!(parent.kind, ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_)) || brackets(parent)
        }
        ExprKind::SqlJson { form, .. } if !matches!(**form, SqlJson::Is { .. }) => true,
        ExprKind::SqlJson { .. }
        | ExprKind::SubLink { .. }
        | ExprKind::IsNull { .. }
        | ExprKind::BoolTest { .. }
        | ExprKind::Distinct { negated: false, .. } => {
            matches!(parent.kind, ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_)) || brackets(parent)
        }
        // ScalarArrayOpExpr is never simple for ruleutils' default case except in AND/OR, where it is printed with parentheses.
        ExprKind::InList { .. } | ExprKind::ArrayCompare { .. } => brackets(parent),
        ExprKind::RowCompare { .. } => true,
        ExprKind::Not(_) | ExprKind::And(_) | ExprKind::Distinct { negated: true, .. } => {
            matches!(parent.kind, ExprKind::And(_) | ExprKind::Or(_)) || brackets(parent)
        }
        ExprKind::Or(_) => matches!(parent.kind, ExprKind::Or(_)) || brackets(parent),
        ExprKind::Field { .. } => !matches!(parent.kind, ExprKind::Field { .. }),
        ExprKind::Cast { form: CastForm::Keyword(_) | CastForm::Syntax, .. } => true,
        ExprKind::Cast { form: CastForm::Collate, .. } => false,
        ExprKind::Cast { arg, form, method } => {
            let hidden = *form != CastForm::Explicit && (!show_implicit || arg.ty == node.ty);
            if hidden {
                is_simple(arg, parent, show_implicit)
            } else {
                // a function's call is one, however it is written
                matches!(method, CastMethod::Function(_) | CastMethod::Typmod) || is_simple(arg, node, show_implicit)
            }
        }
        _ => true,
    }
}
