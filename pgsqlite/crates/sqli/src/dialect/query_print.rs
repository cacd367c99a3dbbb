//! Queries as PostgreSQL's: SKIP and FIRST, NULLs first, and Informix's outer joins, whose conditions stand in WHERE.

use super::ast::*;
use super::column_order::columns_of;
use super::derived::renamed;
use super::print::{ident, idents, Printer, Scope};
use super::translation::Shown;
use super::Parse;
use crate::errors::Failure;
use crate::values::types::Type;
use pgsqlite_sql::catalog::{Catalog, Column, Relation, RelationKind};
use pgsqlite_types::work;

/// The texts of a row's columns, without those that may be large. `alias`: the table's, as it is written.
pub(crate) fn row_values(catalog: &Catalog, relation: &Relation, alias: &str) -> String {
    let large =
        |c: &&Column| matches!(Type::of_column(catalog, c), Some(Type::Blob | Type::Clob | Type::Byte | Type::Text));
    let columns: Vec<String> =
        relation.live_columns().filter(|c| !large(c)).map(|c| format!("{alias}.{}", ident(&c.name))).collect();
    match columns.is_empty() {
        true => "''::text".into(),
        false => format!("ROW({})::text", columns.join(", ")),
    }
}

impl Printer<'_> {
    pub(super) fn query(&mut self, query: &Query) -> Parse<String> {
        self.query_as(query, None)
    }

    /// The query of a statement: expressions without a name get the one that Informix shows, and what is known of types is noted.
    pub(super) fn top_query(&mut self, query: &Query, shown: &mut Vec<Shown>) -> Parse<String> {
        self.query_as(query, Some(shown))
    }

    fn query_as(&mut self, query: &Query, shown: Option<&mut Vec<Shown>>) -> Parse<String> {
        let with = self.with.len();
        let printed = self.query_with(query, shown);
        self.with.truncate(with);
        printed
    }

    fn query_with(&mut self, query: &Query, shown: Option<&mut Vec<Shown>>) -> Parse<String> {
        let mut out = String::new();
        for (i, (name, columns, inner)) in query.with.iter().enumerate() {
            work::visit();
            out += if i == 0 { "WITH " } else { ", " };
            out += &ident(name);
            if !columns.is_empty() {
                out += &format!("({})", idents(columns));
            }
            out += &format!(" AS ({})", self.query(inner)?);
            self.enter_with(name, columns, inner)?;
        }
        if !query.with.is_empty() {
            out.push(' ');
        }
        match &query.body {
            Body::Select(select) => out += &self.select(select, Some(query), shown)?,
            set => {
                out += &self.body(set, shown)?;
                out += &self.order(&query.order, None)?;
            }
        }
        if let Some(limit) = &query.limit {
            if matches!(&query.body, Body::Select(s) if s.first.is_some()) {
                return Err(Failure::syntax(0));
            }
            out += &format!(" LIMIT {}", self.expr(limit)?);
        }
        if query.for_update {
            out += " FOR UPDATE";
        }
        Ok(out)
    }

    fn body(&mut self, body: &Body, shown: Option<&mut Vec<Shown>>) -> Parse<String> {
        match body {
            Body::Select(select) => Ok(format!("({})", self.select(select, None, shown)?)),
            Body::Set(operator, left, right) => {
                let left = self.body(left, shown)?;
                // types are those that both sides become
                Ok(format!("({left} {operator} {})", self.body(right, None)?))
            }
        }
    }

    /// ORDER BY; `of`: the SELECT whose items the keys may name, and whether its equal rows become one.
    pub(super) fn order(&mut self, order: &[Key], of: Option<(&Select, bool)>) -> Parse<String> {
        let mut keys = Vec::new();
        for key in order {
            work::visit();
            // NULL is the least value
            let nulls_first = key.nulls_first.unwrap_or(!key.descending);
            let value = match of {
                Some((select, merged)) => self.key_of(&key.value, select, merged)?,
                None => self.sort_key(&key.value)?,
            };
            keys.push(format!(
                "{value} {} NULLS {}",
                if key.descending { "DESC" } else { "ASC" },
                if nulls_first { "FIRST" } else { "LAST" }
            ));
        }
        Ok(if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", keys.join(", ")) })
    }

    /// One SELECT; `whole`: the query whose ORDER BY is this SELECT's own.
    fn select(&mut self, select: &Select, whole: Option<&Query>, shown: Option<&mut Vec<Shown>>) -> Parse<String> {
        let mut scope = Vec::new();
        for source in &select.from {
            work::visit();
            self.tables(source, &mut scope)?;
        }
        self.scopes.push(scope);
        let printed = self.select_in_scope(select, whole, shown);
        self.scopes.pop();
        printed
    }

    fn select_in_scope(
        &mut self,
        select: &Select,
        whole: Option<&Query>,
        shown: Option<&mut Vec<Shown>>,
    ) -> Parse<String> {
        let named_columns = self.without_stars(select)?;
        let select = named_columns.as_ref().unwrap_or(select);
        // what is inside of another query loses its type
        let partial = std::mem::take(&mut self.partial_items) || shown.is_some();
        // (with * the numbers of columns and items differ: what takes the values converts them)
        let has_star = select.items.iter().any(|i| matches!(i, Item::Star(_)));
        let into = if has_star { vec![] } else { std::mem::take(&mut self.into_types) };
        let lost = |ty: Type| ty.partial().is_some() || ty.complex().is_some();
        if !partial && select.items.iter().any(|i| matches!(i, Item::Star(_))) && self.has_column(lost) {
            return Err(Failure::refused("* over a partial DATETIME, collection or row in a query inside another one"));
        }
        self.check_merged(select)?;
        let merged = select.distinct || !select.group.is_empty();
        let mut conditions = select.condition.clone().map_or(vec![], Expr::conjuncts);
        let from = self.from(&select.from, &mut conditions, ", ")?;
        let named = shown.is_some();
        let mut items = Vec::new();
        let mut known = Vec::new();
        for (i, item) in select.items.iter().enumerate() {
            work::visit();
            items.push(match item {
                Item::Star(None) => "*".to_string(),
                Item::Star(Some(table)) => format!("{}.*", ident(table)),
                Item::Expr(value, alias) => {
                    let printed = match to_client_file(value)? {
                        Some((content, _)) if named => self.expr(content)?,
                        Some(_) => return Err(Failure::refused("LOTOFILE in a query inside another one")),
                        None if into.get(i).is_some() => self.assigned(value, into.get(i).copied())?,
                        None if partial => self.partial_or(value, None)?,
                        None => self.expr(value)?,
                    };
                    let printed = if merged { self.merged(value, printed) } else { printed };
                    let printed = match named && is_count(value) {
                        true => format!("({printed})::numeric(15,0)"),
                        false => printed,
                    };
                    let name = match (alias, value) {
                        (Some(alias), _) => Some(alias.clone()),
                        (None, Expr::Column(path)) if named && self.is_row_number(path) => Some("rowid".into()),
                        (None, Expr::Column(path)) if merged && self.unordered(value).is_some() => path.last().cloned(),
                        (None, Expr::Column(_)) => None,
                        (None, value) if named => Some(default_name(value)),
                        _ => None,
                    };
                    match name {
                        Some(name) => format!("{printed} AS {}", ident(&name)),
                        None => printed,
                    }
                }
            });
            known.push(match item {
                Item::Star(_) => Shown { is_star: true, ..Shown::default() },
                Item::Expr(value @ Expr::Column(_), _) if !(merged && self.unordered(value).is_some()) => {
                    Shown::default()
                }
                Item::Expr(value, _) => Shown {
                    is_star: false,
                    ty: self.known_type(value),
                    to_file: to_client_file(value)?.map(|(_, path)| path.to_string()),
                },
            });
        }
        if let Some(shown) = shown {
            *shown = known;
        }
        if let (true, Some(whole)) = (named, whole) {
            items.extend(self.row_numbers(select));
            if whole.for_update && self.environment.row_numbers {
                items.extend(self.updated_row(select));
            }
        }
        let mut out = String::from(if select.distinct { "SELECT DISTINCT " } else { "SELECT " });
        out += &items.join(", ");
        if !from.is_empty() {
            out += &format!(" FROM {from}");
        }
        if let Some(condition) = Expr::all(conditions) {
            out += &format!(" WHERE {}", self.expr(&condition)?);
        }
        if !select.group.is_empty() {
            let mut keys = Vec::new();
            for key in &select.group {
                work::visit();
                keys.push(self.key_of(key, select, merged)?);
            }
            out += &format!(" GROUP BY {}", keys.join(", "));
        }
        if let Some(having) = &select.having {
            out += &format!(" HAVING {}", self.expr(having)?);
        }
        if let Some(whole) = whole {
            out += &self.order(&whole.order, Some((select, merged)))?;
        }
        if let Some(first) = &select.first {
            out += &format!(" LIMIT {}", self.expr(first)?);
        }
        if let Some(skip) = &select.skip {
            out += &format!(" OFFSET {}", self.expr(skip)?);
        }
        Ok(out)
    }

    /// What says, behind the columns of the client, on which row of its table a cursor FOR UPDATE stands.
    fn updated_row(&mut self, select: &Select) -> Option<String> {
        let plain = !select.distinct && select.group.is_empty() && select.having.is_none();
        let [scope] = self.scopes.last()?.as_slice() else { return None };
        let relation = scope.relation.as_ref()?;
        if !plain || !matches!(relation.kind, RelationKind::Table) || relation.without_rowid {
            return None;
        }
        self.updates = Some(relation.oid);
        Some(format!("{}.ctid::text AS \"(updated)\"", ident(&scope.alias)))
    }

    /// What says, behind the columns of the client, which rows of their tables the shown large objects are of: the row's number, and the
    /// texts of its other columns, by which a row is known to be still the same.
    fn row_numbers(&mut self, select: &Select) -> Vec<String> {
        let plain = !select.distinct && select.group.is_empty() && select.having.is_none();
        let catalog = &self.environment.catalog;
        let is_large = |c: &Column| matches!(Type::of_column(catalog, c), Some(Type::Blob | Type::Clob));
        let is_shown = |item: &Item| match item {
            Item::Star(_) => true,
            Item::Expr(value @ Expr::Column(_), _) => {
                matches!(self.known_type(value), Some(Type::Blob | Type::Clob))
            }
            Item::Expr(..) => false,
        };
        if !self.environment.row_numbers || !plain || !select.items.iter().any(is_shown) {
            return vec![];
        }
        let (mut numbered, mut items) = (vec![], vec![]);
        let tables: Vec<&Scope> = self.scopes.last().into_iter().flatten().collect();
        for scope in &tables {
            work::visit();
            let Some(relation) = &scope.relation else { continue };
            let once =
                tables.iter().filter(|s| s.relation.as_ref().is_some_and(|r| r.oid == relation.oid)).count() == 1;
            let is_table = matches!(relation.kind, RelationKind::Table) && !relation.without_rowid;
            if !once || !is_table || !relation.live_columns().any(is_large) {
                continue;
            }
            let alias = ident(&scope.alias);
            items.push(format!("{alias}.ctid::text AS \"(row)\""));
            items.push(format!("{} AS \"(values)\"", row_values(catalog, relation, &alias)));
            numbered.push(relation.oid);
        }
        self.numbered = numbered;
        items
    }

    /// Whether a table in scope has a column of such a type.
    pub(super) fn has_column(&self, is_such: impl Fn(Type) -> bool) -> bool {
        let tables = self.scopes.last().into_iter().flatten().filter_map(|s| s.relation.as_ref());
        let catalog = &self.environment.catalog;
        tables.flat_map(|r| r.live_columns()).filter_map(|c| Type::of_column(catalog, c)).any(is_such)
    }

    // --- FROM ------------------------------------------------------------------------------------------------------------

    /// The tables that a source brings into scope.
    pub(super) fn tables(&mut self, source: &Source, out: &mut Vec<Scope>) -> Parse<()> {
        match source {
            Source::Table { name, alias, .. } => {
                let alias = alias.clone().unwrap_or_else(|| name.name.clone());
                if let Some(columns) = self.with_columns(name).cloned() {
                    out.push(Self::scope_of_query(alias, columns));
                    return Ok(());
                }
                let relation = self.relation(name);
                let Some(found) = &relation else {
                    out.push(Self::scope_of_query(alias, self.system_table(name).map(|(columns, _)| columns)));
                    return Ok(());
                };
                let columns = columns_of(&self.environment.catalog, found);
                let columns = Some(columns.into_iter().map(|c| c.name.clone()).collect());
                out.push(Scope { alias, relation, columns, query: None });
            }
            Source::Query { query, alias, columns } => {
                let found = renamed(self.query_columns(query)?, columns);
                out.push(Self::scope_of_query(alias.clone().unwrap_or_default(), found));
            }
            Source::Join { left, right, .. } => {
                self.tables(left, out)?;
                self.tables(right, out)?;
            }
            Source::Outer(inner) => {
                for source in inner {
                    work::visit();
                    self.tables(source, out)?;
                }
            }
        }
        Ok(())
    }

    /// FROM's sources, with `between` between them. The conditions of Informix's outer joins are taken out of `conditions`.
    fn from(&mut self, sources: &[Source], conditions: &mut Vec<Expr>, between: &str) -> Parse<String> {
        let (outer, dominant): (Vec<&Source>, Vec<&Source>) =
            sources.iter().partition(|s| matches!(s, Source::Outer(_)));
        let mut printed = Vec::new();
        for source in &dominant {
            work::visit();
            printed.push(self.source(source)?);
        }
        if outer.is_empty() {
            return Ok(printed.join(between));
        }
        if dominant.is_empty() {
            return Err(Failure::syntax(0));
        }
        let mut out = printed.join(" CROSS JOIN ");
        for source in outer {
            work::visit();
            let Source::Outer(inner) = source else { continue };
            let mut tables = Vec::new();
            self.tables(source, &mut tables)?;
            let aliases: Vec<String> = tables.into_iter().map(|t| t.alias).collect();
            let mut own = Vec::new();
            let mut rest = Vec::new();
            for condition in conditions.drain(..) {
                work::visit();
                match self.mentions(&condition, &aliases)? {
                    true => own.push(condition),
                    false => rest.push(condition),
                }
            }
            *conditions = rest;
            let mut joined = self.from(inner, &mut own, " CROSS JOIN ")?;
            if inner.len() > 1 {
                joined = format!("({joined})");
            }
            let on = match Expr::all(own) {
                Some(condition) => self.expr(&condition)?,
                None => "TRUE".into(),
            };
            out += &format!(" LEFT JOIN {joined} ON {on}");
        }
        Ok(out)
    }

    /// Whether a condition names one of these tables. Errors: where that cannot be told.
    fn mentions(&self, condition: &Expr, aliases: &[String]) -> Parse<bool> {
        let (mut found, mut unclear) = (false, false);
        let scope = self.scopes.last();
        condition.visit(&mut |e| match e {
            Expr::Column(path) if path.len() > 1 => found |= aliases.contains(&path[path.len() - 2]),
            Expr::Column(path) => {
                let owner =
                    scope.into_iter().flatten().find(|s| s.columns.as_ref().is_some_and(|c| c.contains(&path[0])));
                match owner {
                    Some(owner) => found |= aliases.contains(&owner.alias),
                    None => unclear = true,
                }
            }
            Expr::Query(_) | Expr::Exists(_) | Expr::InQuery { .. } | Expr::Quantified { .. } => unclear = true,
            _ => {}
        });
        match unclear && !found {
            true => Err(Failure::refused("an outer join beside a condition whose tables cannot be told")),
            false => Ok(found),
        }
    }

    pub(super) fn source(&mut self, source: &Source) -> Parse<String> {
        Ok(match source {
            Source::Table { name, alias, .. } => {
                let shown = alias.as_ref().unwrap_or(&name.name);
                if self.with_columns(name).is_some() {
                    return Ok(format!("{} AS {}", ident(&name.name), ident(shown)));
                }
                match self.system_table(name) {
                    Some((_, sql)) => format!("({sql}) AS {}", ident(shown)),
                    None => format!("{} AS {}", self.table(name)?, ident(shown)),
                }
            }
            Source::Query { query, alias, columns } => {
                let columns = if columns.is_empty() { String::new() } else { format!("({})", idents(columns)) };
                let alias = alias.clone().unwrap_or_else(|| "(derived)".into());
                format!("({}) AS {}{columns}", self.query(query)?, ident(&alias))
            }
            Source::Join { kind, left, right, on } => {
                let (left, right) = (self.source(left)?, self.source(right)?);
                match on {
                    Some(on) => format!("({left} {kind} {right} ON {})", self.expr(on)?),
                    None => format!("({left} {kind} {right})"),
                }
            }
            Source::Outer(_) => return Err(Failure::refused("OUTER inside a join with ON")),
        })
    }
}

/// The value and the path of `lotofile(value, 'path', 'client')`.
fn to_client_file(value: &Expr) -> Parse<Option<(&Expr, &str)>> {
    match value {
        Expr::Call { name, arguments, distinct: false } if name == "lotofile" => match arguments.as_slice() {
            [content, Expr::Text(path), Expr::Text(side)] if side.eq_ignore_ascii_case("client") => {
                Ok(Some((content, path)))
            }
            _ => Err(Failure::refused("LOTOFILE to other than a named file of the client")),
        },
        _ => Ok(None),
    }
}

/// Whether a result is a number of rows, which is a DECIMAL there.
fn is_count(value: &Expr) -> bool {
    matches!(value, Expr::CountStar) || matches!(value, Expr::Call { name, .. } if name == "count")
}

/// The name that Informix shows for an expression without one.
fn default_name(value: &Expr) -> String {
    match value {
        Expr::Number(_) | Expr::Text(_) | Expr::Null => "(constant)".into(),
        Expr::Unary("-", inner) if matches!(**inner, Expr::Number(_)) => "(constant)".into(),
        Expr::CountStar => "(count(*))".into(),
        Expr::Call { name, .. } if matches!(name.as_str(), "count" | "sum" | "avg" | "min" | "max") => {
            format!("({name})")
        }
        _ => "(expression)".into(),
    }
}
