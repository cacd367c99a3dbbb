//! INSERT, UPDATE, DELETE (the commands of rules), laid out as ruleutils does, and the texts of rules.

use super::query::{unique_aliases, STD};
use super::{quote_identifier, quote_literal, Level, Names, Printer, Style};
use crate::analyze::RuleTree;
use crate::typed::*;
use pgsqlite_types::work;
use pgsqlite_types::{PgError, Result};

/// The level of OLD and NEW around a rule's commands.
fn rule_level<'t>(names: &Names, tree: &'t RuleTree) -> Level<'t> {
    let columns = super::columns::column_names(names.catalog, &tree.entries, &[], &|_| None);
    Level {
        columns: columns.into(),
        entries: &tree.entries,
        aliases: vec!["old".into(), "new".into()],
        qualify: true,
        windows: &[],
        group_by: &[],
        ctes: vec![],
    }
}

/// A rule's condition; None: it has none.
pub fn rule_condition(names: Names, style: Style, tree: &RuleTree) -> Result<Option<String>> {
    let Some(condition) = &tree.condition else { return Ok(None) };
    let mut printer = Printer::new(names, style, None);
    printer.indent = STD;
    printer.levels.push(rule_level(&names, tree));
    // it is analyzed one level below OLD and NEW
    printer.levels.push(Level {
        columns: Vec::new().into(),
        entries: &[],
        aliases: vec![],
        qualify: true,
        windows: &[],
        group_by: &[],
        ctes: vec![],
    });
    printer.expr(condition, false)?;
    Ok(Some(printer.out))
}

/// The commands of a rule, as they are printed one after the other.
pub fn rule_commands(names: Names, style: Style, tree: &RuleTree) -> Result<Vec<String>> {
    let print = |command: &Product| {
        let mut printer = Printer::new(names, style, None);
        printer.levels.push(rule_level(&names, tree));
        match command {
            Product::Query(query) => printer.query(query)?,
            Product::Modify(modify) => printer.modify(modify)?,
            Product::Notify { channel, payload } => {
                printer.keyword("", 0, STD, 1);
                printer.out.push_str(&format!("NOTIFY {}", quote_identifier(channel)));
                if !payload.is_empty() {
                    printer.out.push_str(&format!(", {}", quote_literal(payload)));
                }
            }
        }
        Ok(printer.out)
    };
    tree.commands.iter().map(print).collect()
}

/// `pg_get_ruledef`: the whole statement with its `;`. `relation`: the name as it is to be shown.
pub fn rule_statement(
    names: Names,
    style: Style,
    name: &str,
    relation: &str,
    event: &str,
    instead: bool,
    tree: &RuleTree,
) -> Result<String> {
    let mut out = format!("CREATE RULE {} AS\n    ON {event} TO {relation}", quote_identifier(name));
    if let Some(condition) = rule_condition(names, style, tree)? {
        let gap = if condition.starts_with('\n') { "" } else { " " };
        out.push_str(&format!("\n   WHERE{gap}{condition}"));
    }
    out.push_str(" DO ");
    if instead {
        out.push_str("INSTEAD ");
    }
    let commands = rule_commands(names, style, tree)?;
    if commands.first().is_some_and(|c| c.starts_with('\n')) {
        out.truncate(out.trim_end().len());
    }
    match &commands[..] {
        [] => out.push_str("NOTHING;"),
        [one] => out.push_str(&format!("{one};")),
        several => {
            out.push('(');
            several.iter().for_each(|c| out.push_str(&format!("{c};\n")));
            out.push_str(");");
        }
    }
    Ok(out)
}

impl<'a> Printer<'a> {
    /// A data modification at the current indentation.
    pub(super) fn modify(&mut self, modify: &Modify) -> Result<()> {
        let indent = self.indent;
        let mut inner = self.inner();
        let used: Vec<String> = inner.levels.iter().flat_map(|l| l.aliases.iter().cloned()).collect();
        let from = match &modify.action {
            ModifyAction::Update { from, .. } | ModifyAction::Delete { using: from, .. } => &from[..],
            _ => &[],
        };
        let columns = inner.column_names(&modify.range_table, from, &modify.ctes);
        inner.levels.push(Level {
            columns: columns.into(),
            entries: &modify.range_table,
            aliases: unique_aliases(self.names.catalog, &modify.range_table, &used),
            qualify: true,
            windows: &[],
            group_by: &[],
            ctes: super::query::named_ctes(&modify.ctes),
        });
        let result = inner.modify_level(modify);
        self.out = inner.out;
        self.indent = indent;
        result
    }

    fn modify_level(&mut self, modify: &'a Modify) -> Result<()> {
        self.with_clause(&modify.ctes)?;
        self.indent += STD;
        self.out.push(' ');
        let target = self.names.relation(modify.target.oid);
        let only = if modify.range_table[0].only { "ONLY " } else { "" };
        match &modify.action {
            ModifyAction::Insert { columns, source, on_conflict } => {
                self.out.push_str(&format!("INSERT INTO {target} "));
                self.target_alias(modify, "AS ");
                self.insert(modify, columns, source)?;
                if let Some(conflict) = on_conflict {
                    self.on_conflict(modify, conflict)?;
                }
            }
            ModifyAction::Update { set, from, filter } => {
                self.out.push_str(&format!("UPDATE {only}{target}"));
                self.target_alias(modify, " ");
                self.out.push_str(" SET ");
                self.assignments(modify, set)?;
                self.from_clause(&modify.range_table, from, " FROM ")?;
                self.where_clause(filter.as_ref())?;
            }
            ModifyAction::Delete { using, filter } => {
                self.out.push_str(&format!("DELETE FROM {only}{target}"));
                self.target_alias(modify, " ");
                self.from_clause(&modify.range_table, using, " USING ")?;
                self.where_clause(filter.as_ref())?;
            }
            ModifyAction::Merge { .. } => return Err(PgError::not_supported("the text of MERGE")),
        }
        if !modify.returning.is_empty() {
            self.keyword(" RETURNING", -STD, STD, 1);
            let names: Vec<&str> = modify.returning.iter().map(|t| t.name.as_str()).collect();
            self.target_list(&modify.returning, &names)?;
        }
        Ok(())
    }

    /// The target's alias, if it needs one.
    fn target_alias(&mut self, modify: &Modify, before: &str) {
        let alias = self.levels.last().and_then(|l| l.aliases.first()).cloned().unwrap_or_default();
        let now = self.names.catalog.relation(modify.target.oid).unwrap_or(&modify.target);
        if modify.range_table[0].has_alias || alias != now.name {
            self.out.push_str(&format!("{before}{}", quote_identifier(&alias)));
            if before == "AS " {
                self.out.push(' ');
            }
        }
    }

    fn where_clause(&mut self, filter: Option<&Expr>) -> Result<()> {
        if let Some(filter) = filter {
            self.keyword(" WHERE ", -STD, STD, 1);
            self.expr(filter, false)?;
        }
        Ok(())
    }

    /// The name that a target's column has now.
    fn target_column(&self, modify: &Modify, attnum: i16) -> Result<String> {
        let now = self.names.catalog.relation(modify.target.oid).unwrap_or(&modify.target);
        let column = now.column_by_attnum(attnum).or_else(|| modify.target.column_by_attnum(attnum));
        column.map(|c| quote_identifier(&c.name)).ok_or_else(|| PgError::internal("a target column that is gone"))
    }

    fn insert(&mut self, modify: &'a Modify, columns: &[i16], source: &'a InsertSource) -> Result<()> {
        let single = match source {
            InsertSource::Values(rows) if rows.len() == 1 => Some(&rows[0]),
            _ => None,
        };
        let mut values: Vec<&Expr> = Vec::new();
        let mut separator = "(";
        for (i, attnum) in columns.iter().enumerate() {
            work::visit();
            self.out.push_str(separator);
            separator = ", ";
            let name = self.target_column(modify, *attnum)?;
            self.out.push_str(&name);
            let given = match (single, source) {
                (Some(row), _) => row.get(i),
                (None, InsertSource::Query { values, .. }) => values.get(i),
                _ => None,
            };
            if let Some(value) = given {
                let parts = assigned_parts(value);
                match &parts[..] {
                    [] => values.push(value),
                    [(part, value)] => {
                        self.assigned_part(part)?;
                        values.push(value);
                    }
                    _ => return Err(PgError::not_supported("the text of an INSERT into several parts of a column")),
                }
            }
        }
        if !columns.is_empty() {
            self.out.push_str(") ");
        }
        match source {
            InsertSource::Query { query, .. } => {
                let visible = std::mem::replace(&mut self.names_visible, false);
                let result = self.query(query);
                self.names_visible = visible;
                result
            }
            InsertSource::Values(rows) if rows.len() > 1 => self.values(rows),
            InsertSource::Values(_) if columns.is_empty() => {
                self.out.push_str("DEFAULT VALUES");
                Ok(())
            }
            InsertSource::Values(_) => {
                self.keyword("VALUES (", -STD, STD, 2);
                self.row_items(values, false, ", ")?;
                self.out.push(')');
                Ok(())
            }
        }
    }

    fn on_conflict(&mut self, modify: &'a Modify, conflict: &'a OnConflict) -> Result<()> {
        self.out.push_str(" ON CONFLICT");
        if let Some(target) = &conflict.target {
            let constraint = modify.target.constraints.iter().find(|c| c.oid == target.constraint && c.oid != 0);
            if let Some(constraint) = constraint {
                self.out.push_str(&format!(" ON CONSTRAINT {}", quote_identifier(&constraint.name)));
            } else {
                let qualify = self.levels.last_mut().map(|l| std::mem::replace(&mut l.qualify, false));
                let single = self.levels.len();
                self.out.push('(');
                for (i, key) in target.keys.iter().enumerate() {
                    work::visit();
                    if i > 0 {
                        self.out.push_str(", ");
                    }
                    self.bare = single;
                    let column = matches!(key.kind, ExprKind::Var(_) | ExprKind::Func { .. });
                    if !column {
                        self.out.push('(');
                    }
                    self.expr(key, false)?;
                    if !column {
                        self.out.push(')');
                    }
                    if let Some((collation, class)) = target.written.get(i) {
                        if let Some(name) = self.names.collation(*collation).filter(|_| *collation != 0) {
                            self.out.push_str(&format!(" COLLATE {name}"));
                        }
                        if !class.is_empty() {
                            self.out.push_str(&format!(" {}", quote_identifier(class)));
                        }
                    }
                }
                self.out.push(')');
                if let Some(filter) = &target.filter {
                    self.keyword(" WHERE ", -STD, STD, 1);
                    self.expr(filter, false)?;
                }
                self.bare = 0;
                if let (Some(level), Some(qualify)) = (self.levels.last_mut(), qualify) {
                    level.qualify = qualify;
                }
            }
        }
        match &conflict.set {
            None => self.out.push_str(" DO NOTHING"),
            Some(set) => {
                self.out.push_str(" DO UPDATE SET ");
                self.assignments(modify, set)?;
                self.where_clause(conflict.filter.as_ref())?;
            }
        }
        Ok(())
    }

    fn assignments(&mut self, modify: &Modify, set: &[(i16, Expr)]) -> Result<()> {
        let mut separator = "";
        for (attnum, value) in set {
            work::visit();
            let name = self.target_column(modify, *attnum)?;
            let parts = assigned_parts(value);
            if parts.is_empty() {
                self.out.push_str(&format!("{separator}{name} = "));
                self.expr(value, false)?;
                separator = ", ";
            }
            for (part, value) in parts {
                work::visit();
                self.out.push_str(&format!("{separator}{name}"));
                self.assigned_part(part)?;
                self.out.push_str(" = ");
                self.expr(value, false)?;
                separator = ", ";
            }
        }
        Ok(())
    }

    /// `[1]`, `[1:2]`
    fn assigned_part(&mut self, part: &AssignPart) -> Result<()> {
        match part {
            AssignPart::Element(list) | AssignPart::Json(list) => {
                for subscript in list {
                    work::visit();
                    self.out.push('[');
                    self.expr(subscript, false)?;
                    self.out.push(']');
                }
            }
            AssignPart::Slice(bounds) => {
                for (lower, upper) in bounds {
                    work::visit();
                    self.out.push('[');
                    if let Some(lower) = lower {
                        self.expr(lower, false)?;
                    }
                    self.out.push(':');
                    if let Some(upper) = upper {
                        self.expr(upper, false)?;
                    }
                    self.out.push(']');
                }
            }
            AssignPart::Field { .. } => {
                return Err(PgError::not_supported("the text of an assignment to a field"));
            }
        }
        Ok(())
    }
}

/// The parts of a column that a value is put together of, in the order of the statement; none: it is a value of its own.
fn assigned_parts(value: &Expr) -> Vec<(&AssignPart, &Expr)> {
    match &value.kind {
        ExprKind::Assign { base, part, value } => {
            let mut out = assigned_parts(base);
            out.push((part, value));
            out
        }
        ExprKind::Cast { arg, form: CastForm::Assignment | CastForm::Implicit, .. } => assigned_parts(arg),
        _ => vec![],
    }
}
