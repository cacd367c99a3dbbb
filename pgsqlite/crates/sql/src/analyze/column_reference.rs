//! References to columns, whole rows and `*`.

use super::from::NamespaceItem;
use super::typename::name_parts;
use super::{var, Analyzer};
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, ExprKind, RteKind, TableFunction};
use pgsqlite_types::{oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    /// A column reference: `c`, `t.c`, `s.t.c`, or a whole row `t`.
    pub(crate) fn column_ref(&mut self, c: &ast::ColumnRef) -> Result<Expr> {
        if c.fields.len() > 1 && matches!(c.fields.last().and_then(|f| f.node.as_ref()), Some(NodeEnum::AStar(_))) {
            // `t.*` inside an expression: the whole row
            let parts = name_parts(&c.fields[..c.fields.len() - 1]);
            let (schema, table) = match parts[..] {
                [table] => (None, table),
                [schema, table] => (Some(schema), table),
                _ => return Err(PgError::not_supported("a whole row of another database").at(c.location)),
            };
            return match self.find_item(schema, table, c.location)? {
                Some((levels_up, index)) => self.whole_row(levels_up, index, c.location),
                None => Err(self.missing_table(schema, table, c.location)),
            };
        }
        if c.fields.iter().any(|f| matches!(f.node, Some(NodeEnum::AStar(_)))) {
            return Err(
                PgError::new(SqlState::SYNTAX_ERROR, "row expansion via \"*\" is not supported here").at(c.location)
            );
        }
        let parts = name_parts(&c.fields);
        match parts[..] {
            [name] => {
                if let Some(expr) = self.bare_column(name, c.location)? {
                    return Ok(expr);
                }
                if let Some(expr) = self.bare_system_column(name, c.location)? {
                    return Ok(expr);
                }
                if let Some((levels_up, index)) = self.find_item(None, name, c.location)? {
                    return self.whole_row(levels_up, index, c.location);
                }
                Err(self.missing_column(None, name, c.location))
            }
            [table, name] => self.qualified_column(None, table, name, c.location),
            [schema, table, name] => self.qualified_column(Some(schema), table, name, c.location),
            [database, schema, table, name] if self.env.catalog.is_database(database) => {
                self.qualified_column(Some(schema), table, name, c.location)
            }
            _ => Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                format!("improper qualified name (too many dotted names): {}", parts.join(".")),
            )
            .at(c.location)),
        }
    }

    fn bare_column(&mut self, name: &str, location: i32) -> Result<Option<Expr>> {
        let depth = self.levels.len();
        for up in 0..depth {
            let level = &self.levels[depth - 1 - up];
            let mut found: Option<(Expr, bool)> = None;
            for item in level.namespace.iter().filter(|i| i.columns_visible) {
                for (_, expr) in item.columns.iter().filter(|(n, _)| n == name) {
                    if item.lateral_only && up == 0 {
                        continue;
                    }
                    if item.lateral_only {
                        continue;
                    }
                    if found.is_some() {
                        return Err(PgError::new(
                            SqlState::AMBIGUOUS_COLUMN,
                            format!("column reference \"{name}\" is ambiguous"),
                        )
                        .at(location));
                    }
                    found = Some((expr.clone(), true));
                }
            }
            if let Some((expr, _)) = found {
                self.note_computed(up, &expr);
                return Ok(Some(raise(&expr, up, location)));
            }
        }
        Ok(None)
    }

    /// The namespace item of a table name: (levels up, index). 42P09/42712-like ambiguity and LATERAL misuse are told.
    fn find_item(&self, schema: Option<&str>, table: &str, location: i32) -> Result<Option<(usize, usize)>> {
        let depth = self.levels.len();
        let schema_oid = match schema {
            None => None,
            Some(s) => match self.env.catalog.schema_oid(s).or(match s {
                "pg_catalog" => Some(crate::catalog::PG_CATALOG),
                "information_schema" => Some(crate::catalog::INFORMATION_SCHEMA),
                _ => None,
            }) {
                Some(oid) => Some(oid),
                None => return Ok(None),
            },
        };
        for up in 0..depth {
            let level = &self.levels[depth - 1 - up];
            let mut found = None;
            for (i, item) in level.namespace.iter().enumerate().filter(|(_, i)| i.table_visible) {
                let fits = match schema_oid {
                    Some(schema) => item.qualified.as_ref().is_some_and(|(s, n)| *s == schema && n == table),
                    None => item.alias == table,
                };
                if !fits {
                    continue;
                }
                if item.lateral_only {
                    let message = format!("invalid reference to FROM-clause entry for table \"{table}\"");
                    return Err(if item.lateral_ok || level.changes && item.rte == Some(0) {
                        let code = match item.lateral_ok {
                            true => SqlState::UNDEFINED_TABLE,
                            false => SqlState::INVALID_COLUMN_REFERENCE,
                        };
                        let error = PgError::new(code, message);
                        let there = format!(
                            "There is an entry for table \"{table}\", but it cannot be referenced from this part of the \
                             query."
                        );
                        match item.lateral_ok {
                            true => error
                                .detail(there)
                                .hint("To reference that table, you must mark this subquery with LATERAL."),
                            false => error.hint(there),
                        }
                    } else {
                        PgError::new(SqlState::INVALID_COLUMN_REFERENCE, message)
                            .detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
                    }
                    .at(location));
                }
                if found.is_some() {
                    return Err(PgError::new(
                        SqlState::AMBIGUOUS_ALIAS,
                        format!("table reference \"{table}\" is ambiguous"),
                    )
                    .at(location));
                }
                found = Some((up, i));
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    pub(super) fn item(&self, levels_up: usize, index: usize) -> &NamespaceItem {
        &self.levels[self.levels.len() - 1 - levels_up].namespace[index]
    }

    fn qualified_column(&mut self, schema: Option<&str>, table: &str, name: &str, location: i32) -> Result<Expr> {
        let Some((up, index)) = self.find_item(schema, table, location)? else {
            return Err(self.missing_table(schema, table, location));
        };
        let item = self.item(up, index);
        let mut found = item.columns.iter().filter(|(n, _)| n == name);
        match (found.next(), found.next()) {
            (Some((_, expr)), None) => {
                let expr = expr.clone();
                self.note_computed(up, &expr);
                Ok(raise(&expr, up, location))
            }
            (Some(_), Some(_)) => {
                Err(PgError::new(SqlState::AMBIGUOUS_COLUMN, format!("column reference \"{name}\" is ambiguous"))
                    .at(location))
            }
            (None, _) => {
                if let Some(expr) = self.system_column(up, index, name, location)? {
                    return Ok(expr);
                }
                if !self.functions_named(None, name).is_empty() && self.item(up, index).rte.is_some() {
                    let row = self.whole_row(up, index, location)?;
                    if let Some(call) = self.function_as_column(row, name, location)? {
                        return Ok(call);
                    }
                }
                Err(self.missing_column(Some(table), name, location))
            }
        }
    }

    /// 42703, with the DETAIL and the hint that PostgreSQL gives: columns spelled alike, or one that is out of sight.
    pub(crate) fn missing_column(&self, table: Option<&str>, name: &str, location: i32) -> PgError {
        let message = match table {
            Some(table) => format!("column {table}.{name} does not exist"),
            None => format!("column \"{name}\" does not exist"),
        };
        let error = PgError::new(SqlState::UNDEFINED_COLUMN, message).at(location);
        super::spelling::explained(error, &self.levels, table, name)
    }

    fn missing_table(&self, schema: Option<&str>, table: &str, location: i32) -> PgError {
        // a table that is there under an alias
        let hidden = self.levels.iter().rev().flat_map(|l| &l.range_table).find(|r| {
            schema.is_none() && r.has_alias && matches!(&r.kind, RteKind::Relation(rel) if rel.name == table)
        });
        if let Some(hidden) = hidden {
            return PgError::new(
                SqlState::UNDEFINED_TABLE,
                format!("invalid reference to FROM-clause entry for table \"{table}\""),
            )
            .hint(format!("Perhaps you meant to reference the table alias \"{}\".", hidden.alias))
            .at(location);
        }
        let hidden = self.levels.iter().rev().flat_map(|l| &l.range_table).any(|r| r.alias == table);
        if hidden {
            return PgError::new(
                SqlState::UNDEFINED_TABLE,
                format!("invalid reference to FROM-clause entry for table \"{table}\""),
            )
            .detail(format!(
                "There is an entry for table \"{table}\", but it cannot be referenced from this part of the query."
            ))
            .at(location);
        }
        let name = schema.map_or(table.to_string(), |s| format!("{s}.{table}"));
        PgError::new(SqlState::UNDEFINED_TABLE, format!("missing FROM-clause entry for table \"{name}\"")).at(location)
    }

    fn whole_row(&mut self, levels_up: usize, index: usize, location: i32) -> Result<Expr> {
        let item = self.item(levels_up, index);
        let Some(rte) = item.rte else {
            return Err(PgError::not_supported("a whole-row reference to a join").at(location));
        };
        let entry = &self.levels[self.levels.len() - 1 - levels_up].range_table[rte];
        // a function that gives one column of a plain type: its alias is that column
        if let (RteKind::Function { ordinality: false, .. }, [only]) = (&entry.kind, &entry.columns[..]) {
            return Ok(var(levels_up, rte, 0, only, location));
        }
        // a function that gives rows of a named type
        if let RteKind::Function { ordinality: false, functions, .. } = &entry.kind {
            if let [TableFunction { call, .. }] = &functions[..] {
                let named = self.env.catalog.composite_fields(call.ty);
                if let Some(named) = named.filter(|n| call.ty != oid::RECORD && n.len() == entry.columns.len()) {
                    let fields = named.into_iter().map(|(name, ty, _)| (name, ty)).collect();
                    return Ok(Expr::new(ExprKind::WholeRow { levels_up, rte, fields }, call.ty, location));
                }
            }
        }
        let ty = match &entry.kind {
            RteKind::Relation(r) if r.row_type != 0 => r.row_type,
            _ => match entry.row_type {
                0 => oid::RECORD,
                view => view,
            },
        };
        // (without ctid and its like)
        let shown = entry.columns.iter().filter(|c| c.attnum >= 0);
        let fields = shown.map(|c| (c.name.clone(), c.ty)).collect();
        Ok(Expr::new(ExprKind::WholeRow { levels_up, rte, fields }, ty, location))
    }

    /// The columns of a whole-row reference.
    pub(crate) fn whole_row_fields(&self, levels_up: usize, rte: usize, location: i32) -> Vec<Expr> {
        let entry = &self.levels[self.levels.len() - 1 - levels_up].range_table[rte];
        let shown = entry.columns.iter().enumerate().filter(|(_, c)| c.attnum >= 0);
        shown.map(|(i, c)| var(levels_up, rte, i, c, location)).collect()
    }

    /// `(t).column`
    pub(crate) fn column_of(&self, levels_up: usize, rte: usize, name: &str, location: i32) -> Result<Expr> {
        let entry = &self.levels[self.levels.len() - 1 - levels_up].range_table[rte];
        match entry.columns.iter().position(|c| c.name == name) {
            Some(i) => Ok(var(levels_up, rte, i, &entry.columns[i], location)),
            None => {
                Err(PgError::new(SqlState::UNDEFINED_COLUMN, format!("column {}.{name} does not exist", entry.alias))
                    .at(location))
            }
        }
    }

    /// `*`, `t.*`, `s.t.*`: the columns with their names.
    pub(crate) fn expand_star(&mut self, c: &ast::ColumnRef) -> Result<Vec<(String, Expr)>> {
        if let Some(fields) = self.variable_fields(c)? {
            return Ok(fields);
        }
        let parts = name_parts(&c.fields);
        let (schema, table) = match parts[..] {
            [] => {
                let level = self.levels.last().expect("inside a level");
                let items: Vec<&NamespaceItem> =
                    level.namespace.iter().filter(|i| i.columns_visible && !i.lateral_only).collect();
                if items.is_empty() {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, "SELECT * with no tables specified is not valid")
                        .at(c.location));
                }
                let columns: Vec<(String, Expr)> = items.iter().flat_map(|i| i.columns.iter().cloned()).collect();
                return Ok(self.raise_all(columns, 0, c.location));
            }
            [table] => (None, table),
            [schema, table] => (Some(schema), table),
            _ => return Err(PgError::not_supported("a star with a database").at(c.location)),
        };
        let found = match self.find_item(schema, table, c.location) {
            Err(_) if self.fields_of_parameter(&parts, c.location)?.is_some() => None,
            found => found?,
        };
        let Some((up, index)) = found else {
            if let Some(fields) = self.fields_of_parameter(&parts, c.location)? {
                return Ok(fields);
            }
            return Err(self.missing_table(schema, table, c.location));
        };
        let columns = self.item(up, index).columns.clone();
        Ok(self.raise_all(columns, up, c.location))
    }

    fn raise_all(&mut self, columns: Vec<(String, Expr)>, up: usize, location: i32) -> Vec<(String, Expr)> {
        columns.iter().for_each(|(_, e)| self.note_computed(up, e));
        columns.into_iter().map(|(name, e)| (name, raise(&e, up, location))).collect()
    }

    /// A column of the view that stands for a changed table, and is none of the table's, is read though nothing will show it.
    fn note_computed(&mut self, up: usize, column: &Expr) {
        let at = self.levels.len() - 1 - up;
        let level = &mut self.levels[at];
        if level.view_target.is_some() && !crate::walk::any(column, &|e| matches!(e.kind, ExprKind::Var(_))) {
            level.names_computed = true;
        }
    }
}

/// A namespace expression seen from `up` levels further in, at a place in the statement.
fn raise(expr: &Expr, up: usize, location: i32) -> Expr {
    let mut out = crate::walk::map(expr, &mut |e| match &e.kind {
        ExprKind::Var(v) if up > 0 => {
            let mut e = e.clone();
            e.kind = ExprKind::Var(crate::typed::Var { levels_up: v.levels_up + up, ..*v });
            Some(e)
        }
        _ => None,
    });
    out.location = location;
    out
}
