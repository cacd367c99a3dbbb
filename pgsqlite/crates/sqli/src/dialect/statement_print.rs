//! Statements, printed.

use super::ast::*;
use super::column_order::columns_of;
use super::print::{ident, idents, Printer, Scope};
use super::translation::{number_of, Kind, Source, Translation, EXECUTE_PROCEDURE};
use super::Parse;
use crate::errors::Failure;
use crate::values::types::Type;
use pgsqlite_types::work;

impl Printer<'_> {
    pub(super) fn statement(&mut self, statement: &Statement) -> Parse<Translation> {
        let mut shown = vec![];
        let (statement_type, kind, sql) = match statement {
            Statement::Query(query) => {
                let sql = self.top_query(query, &mut shown)?;
                (2, Kind::Query, sql)
            }
            Statement::SelectInto { query, table } => {
                self.partial_items = true;
                let query = self.query(query)?;
                let sql = format!("CREATE TEMPORARY TABLE {} AS {query}", ident(table));
                (3, Kind::Change { serial: None, is_insert: false }, sql)
            }
            Statement::CreateTableAs { table, temporary, if_not_exists, columns, query } => {
                let name = if *temporary { ident(&table.name) } else { self.new_name(table)? };
                if !self.new_owners.is_empty() {
                    return Err(Failure::refused("a table from a query as the first one of its owner"));
                }
                let columns = if columns.is_empty() { String::new() } else { format!(" ({})", idents(columns)) };
                self.partial_items = true;
                let sql = format!(
                    "CREATE {}TABLE {}{name}{columns} AS {}",
                    if *temporary { "TEMPORARY " } else { "" },
                    if *if_not_exists { "IF NOT EXISTS " } else { "" },
                    self.query(query)?
                );
                (3, Kind::Change { serial: None, is_insert: false }, sql)
            }
            Statement::Insert { table, columns, source } => {
                let (sql, serial) = self.insert(table, columns, source)?;
                (6, Kind::Change { serial, is_insert: true }, sql)
            }
            Statement::Update { table, alias, set, condition, cursor } => {
                let sql = self.update(table, alias.as_deref(), set, condition.as_ref(), cursor.as_deref())?;
                // a positioned one has a number of its own
                (if cursor.is_some() { 7 } else { 4 }, Kind::Change { serial: None, is_insert: false }, sql)
            }
            Statement::Delete { table, alias, condition, cursor } => {
                let sql = self.delete(table, alias.as_deref(), condition.as_ref(), cursor.as_deref())?;
                let number = if cursor.is_some() { 8 } else { 5 };
                (number, Kind::Change { serial: None, is_insert: false }, sql)
            }
            Statement::Execute(call) => {
                let (sql, columns) = self.execute(call)?;
                let kind = match columns {
                    Some(columns) => {
                        shown = columns;
                        Kind::Query
                    }
                    None => Kind::Change { serial: None, is_insert: false },
                };
                (EXECUTE_PROCEDURE, kind, sql)
            }
            Statement::Merge { table, alias, source, on, matched, unmatched } => {
                let actions = (matched.as_ref(), unmatched.as_ref());
                let sql = self.merge(table, alias.as_deref(), source, on, actions)?;
                // (no client needs to know it)
                (0, Kind::Change { serial: None, is_insert: false }, sql)
            }
            Statement::Session(action) => (number_of(action), Kind::Session(action.clone()), String::new()),
            Statement::Transaction(what) => {
                let statement_type = match what {
                    Transaction::Begin => 34,
                    Transaction::Commit => 35,
                    Transaction::Rollback => 36,
                    _ => 0,
                };
                (statement_type, Kind::Transaction(what.clone()), String::new())
            }
            other => {
                let (statement_type, mut statements) = self.utility(other)?;
                for owner in self.new_owners.drain(..) {
                    work::visit();
                    statements.insert(0, format!("CREATE SCHEMA IF NOT EXISTS {}", ident(&owner)));
                }
                (statement_type, Kind::Utility(statements), String::new())
            }
        };
        if matches!(kind, Kind::Utility(_)) && self.client_parameters > 0 {
            return Err(Failure::refused("a parameter in this statement"));
        }
        let clients = (0..self.client_parameters).map(Source::Client);
        Ok(Translation {
            updates: self.updates.take(),
            current_of: self.current_of.take(),
            for_update: matches!(statement, Statement::Query(query) if query.for_update),
            statement_type,
            kind,
            sql,
            parameters: clients.chain(self.hidden.drain(..)).collect(),
            targets: std::mem::take(&mut self.targets),
            cut: std::mem::take(&mut self.cut),
            shown,
            numbered: std::mem::take(&mut self.numbered),
            insert_columns: std::mem::take(&mut self.insert_columns),
            plain_insert: self.plain_insert,
            client_files: std::mem::take(&mut self.client_files),
        })
    }

    pub(super) fn delete(
        &mut self,
        table: &Name,
        alias: Option<&str>,
        condition: Option<&Expr>,
        cursor: Option<&str>,
    ) -> Parse<String> {
        let head = format!("DELETE FROM {}", self.table(table)?);
        let rest = self.target_scope(table, alias, |p| p.where_clause(table, alias, condition, cursor))?;
        Ok(head + &rest)
    }

    /// The condition, or that a row is the one on which a cursor stands.
    fn where_clause(
        &mut self,
        table: &Name,
        alias: Option<&str>,
        condition: Option<&Expr>,
        cursor: Option<&str>,
    ) -> Parse<String> {
        if let (Some(cursor), true) = (cursor, self.locals.is_some()) {
            return Ok(format!(" WHERE CURRENT OF {}", self.current_of_foreach(cursor)?));
        }
        if let Some(cursor) = cursor {
            let relation = self.existing(table)?;
            self.current_of = Some((cursor.to_string(), relation.oid));
            let row = self.hidden(Source::CurrentRow);
            return Ok(format!(" WHERE {}.ctid = {row}::text::tid", ident(alias.unwrap_or(&table.name))));
        }
        match condition {
            Some(condition) => Ok(format!(" WHERE {}", self.expr(condition)?)),
            None => Ok(String::new()),
        }
    }

    /// ` AS alias` and what `rest` writes while the target is in scope.
    fn target_scope(
        &mut self,
        table: &Name,
        alias: Option<&str>,
        rest: impl FnOnce(&mut Self) -> Parse<String>,
    ) -> Parse<String> {
        let relation = self.existing(table)?;
        let name = alias.unwrap_or(&table.name).to_string();
        let columns = Some(relation.live_columns().map(|c| c.name.clone()).collect());
        self.scopes.push(vec![Scope { alias: name.clone(), relation: Some(relation), columns, query: None }]);
        let rest = rest(self);
        self.scopes.pop();
        Ok(format!(" AS {}{}", ident(&name), rest?))
    }

    pub(super) fn update(
        &mut self,
        table: &Name,
        alias: Option<&str>,
        set: &[(Vec<String>, Expr)],
        condition: Option<&Expr>,
        cursor: Option<&str>,
    ) -> Parse<String> {
        let head = format!("UPDATE {}", self.table(table)?);
        let rest = self.target_scope(table, alias, |p| {
            let items = p.assignments(table, set)?;
            Ok(format!(" SET {items}{}", p.where_clause(table, alias, condition, cursor)?))
        })?;
        Ok(head + &rest)
    }

    /// What stands behind SET, the target being in scope.
    fn assignments(&mut self, table: &Name, set: &[(Vec<String>, Expr)]) -> Parse<String> {
        let p = self;
        let relation = p.existing(table)?;
        let mut items = Vec::new();
        {
            for (columns, value) in set {
                work::visit();
                let types: Vec<Option<Type>> = columns
                    .iter()
                    .map(|c| relation.column(c).and_then(|c| Type::of_column(&p.environment.catalog, c)))
                    .collect();
                items.push(match (columns.as_slice(), value) {
                    ([column], value) => format!("{} = {}", ident(column), p.assigned(value, types[0])?),
                    (columns, Expr::Row(values)) => match values.as_slice() {
                        [Expr::Query(query)] => format!("({}) = ({})", idents(columns), p.query(query)?),
                        values if values.len() == columns.len() => {
                            let mut out = Vec::new();
                            for (value, ty) in values.iter().zip(types) {
                                work::visit();
                                out.push(p.assigned(value, ty)?);
                            }
                            format!("({}) = ROW({})", idents(columns), out.join(", "))
                        }
                        _ => return Err(Failure::new(-236, 0, "")),
                    },
                    _ => return Err(Failure::new(-236, 0, "")),
                });
            }
        }
        Ok(items.join(", "))
    }

    pub(super) fn merge(
        &mut self,
        table: &Name,
        alias: Option<&str>,
        source: &super::ast::Source,
        on: &Expr,
        (matched, unmatched): (Option<&Matched>, Option<&(Vec<String>, Vec<Expr>)>),
    ) -> Parse<String> {
        let target = self.existing(table)?;
        let mut tables = Vec::new();
        self.tables(source, &mut tables)?;
        let head = format!("MERGE INTO {}", self.table(table)?);
        self.scopes.push(tables);
        let rest = self.target_scope(table, alias, |p| {
            let mut out = format!(" USING {} ON {}", p.source(source)?, p.expr(on)?);
            match matched {
                Some(Matched::Update(set)) => {
                    out += &format!(" WHEN MATCHED THEN UPDATE SET {}", p.assignments(table, set)?);
                }
                Some(Matched::Delete) => out += " WHEN MATCHED THEN DELETE",
                None => {}
            }
            if let Some((columns, values)) = unmatched {
                let columns: Vec<String> = match columns.as_slice() {
                    [] => columns_of(&p.environment.catalog, &target).into_iter().map(|c| c.name.clone()).collect(),
                    some => some.to_vec(),
                };
                if columns.len() != values.len() {
                    return Err(Failure::new(-236, 0, ""));
                }
                let mut items = Vec::new();
                for (name, value) in columns.iter().zip(values) {
                    work::visit();
                    let column = target.column(name).ok_or_else(|| Failure::new(-217, 0, name.clone()))?;
                    let ty = Type::of_column(&p.environment.catalog, column);
                    let is_serial = matches!(ty, Some(Type::Serial | Type::BigSerial));
                    match (is_serial, value) {
                        (false, value) => items.push(p.assigned(value, ty)?),
                        (true, Expr::Number(n)) if n == "0" => items.push("DEFAULT".into()),
                        (true, _) => return Err(Failure::refused("MERGE of a SERIAL's value other than 0")),
                    }
                }
                let (columns, items) = (idents(&columns), items.join(", "));
                out += &format!(" WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({items})");
            }
            Ok(out)
        });
        self.scopes.pop();
        Ok(head + &rest?)
    }
}
