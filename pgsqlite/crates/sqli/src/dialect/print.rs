//! The tree as PostgreSQL's SQL.
//!
//! A [`Printer`] writes one statement. It keeps the tables that are in scope, because what a literal or a `?` means depends on the type
//! of the column beside it; and it notes what the session must know to run the result ([`Translation`]).

use super::ast::*;
use super::moments::{current, truncated};
use super::{parser, system, Parse};
use crate::conversation::client_file::ClientFile;
use crate::errors::Failure;
use crate::values::bind::{datetime_text, interval_text};
use crate::values::codeset::CodeSet;
use crate::values::qualifier;
use crate::values::types::{Type, SCHEMA};
use pgsqlite_sql::catalog::{Catalog, Relation};
use pgsqlite_types::Oid;
use std::sync::Arc;

/// What a translation depends on.
#[derive(Clone)]
pub struct Environment {
    pub catalog: Arc<Catalog>,
    /// the name that the client opened the database by
    pub database: String,
    pub user: String,
    pub codeset: CodeSet,
    /// text in double quotes is a name
    pub delimident: bool,
    pub keys: Keys,
    /// rows are to say which ones of their tables they are, where they show large objects
    pub row_numbers: bool,
}

/// Columns of the rows of an INSERT that the client wants back.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Keys {
    #[default]
    None,
    /// the SERIAL column, if the table has one
    Serial,
    /// counted from 1
    Numbers(Vec<i16>),
    Names(Vec<String>),
}

/// What a parameter of the translated statement gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// the client's n-th
    Client(usize),
    /// the serial value that the session's last INSERT made
    LastSerial,
    /// rows that the last statement touched
    RowCount,
    /// the n-th of the client's files that the statement names
    ClientFile(usize),
}

/// An INSERT into a table with a SERIAL column: that is the first column that the statement returns.
#[derive(Debug, Clone, PartialEq)]
pub struct SerialInsert {
    /// the column's sequence, as regclass reads it
    pub sequence: String,
    /// the value may have come from the client, so that the sequence may have to follow it
    pub given: bool,
    /// the client's parameter that is the value
    pub parameter: Option<usize>,
}

/// How the session runs it.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// one statement that gives rows
    Query,
    /// one statement that changes rows
    Change {
        serial: Option<SerialInsert>,
        is_insert: bool,
    },
    /// statements run one after the other, all or none
    Utility(Vec<String>),
    Transaction(Transaction),
}

/// What is known of a result's column beside what PostgreSQL says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shown {
    /// all columns of a table or of all tables: their number is not known here
    pub is_star: bool,
    pub ty: Option<Type>,
    /// LOTOFILE: the file of the client that gets the content
    pub to_file: Option<String>,
}

/// A statement ready for the engine.
#[derive(Debug, Clone)]
pub struct Translation {
    /// the number that DESCRIBE tells clients
    pub statement_type: i16,
    pub kind: Kind,
    pub sql: String,
    pub parameters: Vec<Source>,
    /// the client's parameters: the Informix type of what takes each, where known
    pub targets: Vec<Option<Type>>,
    pub shown: Vec<Shown>,
    /// tables whose large objects the result shows: for each, two columns behind those of the client say which row it is
    pub numbered: Vec<Oid>,
    /// an INSERT's columns, for insert cursors and descriptions
    pub insert_columns: Vec<(String, Option<Type>)>,
    /// what is inserted is one `?` per column, in their order
    pub plain_insert: bool,
    pub client_files: Vec<ClientFile>,
}

/// Parses and translates one statement.
pub fn translate(text: &str, environment: &Environment) -> Parse<Translation> {
    pgsqlite_sql::parse::with_stack(|| {
        let (statement, parameters) = parser::parse(text, environment.delimident)?;
        let mut printer = Printer {
            environment,
            client_parameters: parameters,
            hidden: vec![],
            targets: vec![None; parameters],
            scopes: vec![],
            insert_columns: vec![],
            plain_insert: false,
            client_files: vec![],
            asked_sequences: vec![],
            new_owners: vec![],
            partial_allowed: false,
            partial_items: false,
            numbered: vec![],
        };
        printer.statement(&statement)
    })
}

/// A table in scope.
pub(super) struct Scope {
    pub alias: String,
    /// None: not a table, its columns are not known
    pub relation: Option<Arc<Relation>>,
    /// None: not known
    pub columns: Option<Vec<String>>,
}

pub(super) struct Printer<'a> {
    pub environment: &'a Environment,
    client_parameters: usize,
    hidden: Vec<Source>,
    targets: Vec<Option<Type>>,
    /// of the queries around, the innermost last
    pub scopes: Vec<Vec<Scope>>,
    pub insert_columns: Vec<(String, Option<Type>)>,
    pub plain_insert: bool,
    pub client_files: Vec<ClientFile>,
    /// sequences that the statement asks, and for which value
    pub asked_sequences: Vec<(String, String)>,
    /// owners of what is made who own nothing yet
    pub new_owners: Vec<String>,
    /// the next expression may be a partial DATETIME
    pub partial_allowed: bool,
    /// and so may the items of the next SELECT
    pub partial_items: bool,
    pub numbered: Vec<Oid>,
}

/// An identifier as PostgreSQL reads it.
pub fn ident(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string literal as PostgreSQL reads it, whatever the session's settings.
pub fn literal(text: &str) -> String {
    match text.contains('\\') {
        true => format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

pub(super) fn idents(names: &[String]) -> String {
    names.iter().map(|n| ident(n)).collect::<Vec<_>>().join(", ")
}

impl Printer<'_> {
    // --- tables ----------------------------------------------------------------------------------------------------------

    /// The table that a name means: a temporary one first, then one of the schema `public`, or of a schema that the owner names.
    pub fn relation(&self, name: &Name) -> Option<Arc<Relation>> {
        let catalog = &self.environment.catalog;
        let schema = match &name.owner {
            Some(owner) => self.schema_of_owner(owner)?,
            None => {
                let temporary = catalog.relations.values().find(|r| r.temporary && r.name == name.name);
                if let Some(found) = temporary {
                    return Some(found.clone());
                }
                catalog.schema_oid("public")?
            }
        };
        catalog.relation_in(schema, &name.name).cloned()
    }

    /// Informix's owners are no schemas: those that own what is in `public` mean it.
    pub fn schema_of_owner(&self, owner: &str) -> Option<u32> {
        let catalog = &self.environment.catalog;
        match catalog.schema_oid(owner) {
            Some(schema) if owner != SCHEMA => Some(schema),
            _ if owner == SCHEMA || owner == self.environment.user || catalog.role_named(owner).is_some() => {
                catalog.schema_oid("public")
            }
            _ => None,
        }
    }

    /// A table's name for PostgreSQL. Errors: -206, -908 for another database.
    pub fn table(&self, name: &Name) -> Parse<String> {
        if let Some(database) = &name.database {
            if *database != self.environment.database && *database != self.environment.catalog.database {
                return Err(Failure::refused(format!("a table of another database ({database})")));
            }
        }
        let missing = || Failure::new(-206, -111, name.name.clone());
        match (&name.owner, self.relation(name)) {
            (_, Some(found)) if found.temporary => Ok(ident(&name.name)),
            (_, Some(found)) => {
                let schema = self.environment.catalog.schema_name(found.schema);
                Ok(format!("{}.{}", ident(schema), ident(&name.name)))
            }
            // an index, or an object that is to be made
            (None, None) => Ok(ident(&name.name)),
            (Some(owner), None) => match self.schema_of_owner(owner) {
                Some(schema) => {
                    Ok(format!("{}.{}", ident(self.environment.catalog.schema_name(schema)), ident(&name.name)))
                }
                None => Err(missing()),
            },
        }
    }

    /// A table that must be there.
    pub fn existing(&self, name: &Name) -> Parse<Arc<Relation>> {
        self.relation(name).ok_or_else(|| Failure::new(-206, -111, name.name.clone()))
    }

    /// What a system table is read from; None: it is none (a table of the user hides it).
    pub fn system_table(&self, name: &Name) -> Option<(Vec<String>, String)> {
        if self.relation(name).is_some() || name.owner.as_ref().is_some_and(|o| o != SCHEMA) {
            return None;
        }
        system::table(&name.name, self.environment)
    }

    /// The Informix type of a column in scope.
    fn column_type(&self, path: &[String]) -> Option<Type> {
        if let Some((_, (_, ty))) = self.field_of_row(path) {
            return Some(ty);
        }
        let (name, table) = (path.last()?, path.len().checked_sub(2).map(|i| &path[i]));
        let entries = self.scopes.iter().rev().flatten();
        for entry in entries.filter(|e| table.is_none_or(|t| *t == e.alias)) {
            if let Some(column) = entry.relation.as_ref().and_then(|r| r.column(name)) {
                return Type::of_column(&self.environment.catalog, column);
            }
        }
        None
    }

    /// What is known of an expression's type without analyzing it.
    pub fn known_type(&self, e: &Expr) -> Option<Type> {
        match e {
            Expr::Column(path) => self.column_type(path),
            Expr::Cast(_, ty) => Some(*ty),
            Expr::Call { name, .. } if name == "cardinality" => Some(Type::Integer),
            Expr::Current(q) | Expr::Extend(_, q) | Expr::DateTime(_, q) => Some(Type::DateTime(*q)),
            Expr::Interval(_, q) => Some(Type::Interval(*q)),
            Expr::Today => Some(Type::Date),
            Expr::User | Expr::Server => Some(Type::Char(32)),
            Expr::Text(text) => match text.chars().count() {
                n @ 1..=255 if text.is_ascii() => Some(Type::Char(n as i32)),
                _ => None,
            },
            Expr::Call { name, arguments, .. } if matches!(name.as_str(), "max" | "min" | "nvl") => {
                self.known_type(arguments.first()?)
            }
            _ => None,
        }
    }

    // --- parameters --------------------------------------------------------------------------------------------------------

    pub fn hidden(&mut self, source: Source) -> String {
        self.hidden.push(source);
        format!("${}", self.client_parameters + self.hidden.len())
    }

    // --- expressions ---------------------------------------------------------------------------------------------------------

    pub fn expr(&mut self, e: &Expr) -> Parse<String> {
        self.expr_for(e, None)
    }

    /// An expression whose value is for (compared with, assigned to) something of the Informix type `target`.
    pub fn expr_for(&mut self, e: &Expr, target: Option<Type>) -> Parse<String> {
        let allowed = std::mem::take(&mut self.partial_allowed);
        if let Some(q) = self.partial(e).filter(|_| !allowed) {
            return Err(Failure::refused(format!("a {} in this place", q.type_name(false).to_uppercase())));
        }
        if let Some(complex) = self.complex(e).filter(|_| !allowed) {
            return Err(Failure::refused(format!("a {} in this place", complex.name())));
        }
        Ok(match e {
            Expr::Text(text) => return text_literal(text, target),
            Expr::Number(n) => n.clone(),
            Expr::Null => "NULL".into(),
            Expr::Parameter(i) => {
                let known = &mut self.targets[*i];
                *known = known.or(target);
                format!("${}", i + 1)
            }
            Expr::Column(path) => match self.sequence_value(path)? {
                Some(value) => value,
                None => self.column(path)?,
            },
            // the least of a PostgreSQL type is NULL here: it is a number of the next type
            Expr::Unary("-", a) if **a == Expr::Number("2147483648".into()) => "(-2147483648)::bigint".into(),
            Expr::Unary("-", a) if **a == Expr::Number("9223372036854775808".into()) => {
                "(-9223372036854775808)::numeric".into()
            }
            Expr::Unary(sign, a) => format!("({sign} {})", self.expr_for(a, target)?),
            // integers are divided as decimals
            Expr::Binary("/", a, b) => format!("({} * 1.0 / {})", self.expr(a)?, self.expr(b)?),
            Expr::Binary(sign @ ("=" | "<" | ">" | "<=" | ">=" | "<>"), a, b) => {
                if let Some(complex) = self.complex(a).or_else(|| self.complex(b)) {
                    return self.compared(complex, sign, a, b);
                }
                let (left, right) = self.pair(a, b)?;
                format!("({left} {sign} {right})")
            }
            // what an interval is added to is a moment
            Expr::Binary(sign @ ("+" | "-"), a, b)
                if matches!(**a, Expr::Parameter(_) | Expr::Text(_))
                    && matches!(**b, Expr::Units(..) | Expr::Interval(..)) =>
            {
                let ty = target.filter(|t| matches!(t, Type::Date | Type::DateTime(_)));
                let storage = if ty == Some(Type::Date) { "date" } else { "timestamp" };
                format!("(({})::{storage} {sign} {})", self.expr_for(a, ty)?, self.expr(b)?)
            }
            Expr::Binary(sign, a, b) => format!("({} {sign} {})", self.expr(a)?, self.expr(b)?),
            Expr::Like { value, pattern, escape, matches, not } => {
                return self.like(value, pattern, escape.as_deref(), *matches, *not);
            }
            Expr::Between { value, low, high, not } => {
                let known = self.comparable(value);
                let not = if *not { "NOT " } else { "" };
                self.partial_allowed = self.is_alike(value, low) && self.is_alike(value, high);
                let shown = self.expr(value)?;
                let (low, high) = (self.like_other(low, value, known)?, self.like_other(high, value, known)?);
                format!("({shown} {not}BETWEEN {low} AND {high})")
            }
            Expr::In { value, list, not } if self.is_membership(value, list) => {
                return self.member(value, &list[0], *not);
            }
            Expr::In { value, list, not } => {
                let known = self.comparable(value);
                let mut items = Vec::new();
                for item in list {
                    items.push(self.like_other(item, value, known)?);
                }
                self.partial_allowed = list.iter().all(|item| self.is_alike(value, item));
                let shown = self.expr(value)?;
                let not = if *not { "NOT " } else { "" };
                format!("({shown} {not}IN ({}))", items.join(", "))
            }
            Expr::InQuery { value, query, not } => {
                let not = if *not { "NOT " } else { "" };
                format!("({} {not}IN ({}))", self.expr(value)?, self.query(query)?)
            }
            Expr::IsNull { value, not } => {
                format!("({} IS {}NULL)", self.partial_or(value, None)?, if *not { "NOT " } else { "" })
            }
            Expr::Exists(query) => format!("EXISTS ({})", self.query(query)?),
            Expr::Quantified { value, sign, all, query } => {
                let quantifier = if *all { "ALL" } else { "ANY" };
                format!("({} {sign} {quantifier} ({}))", self.expr(value)?, self.query(query)?)
            }
            Expr::Case { value, branches, otherwise } => {
                let mut out = String::from("CASE");
                if let Some(value) = value {
                    out += &format!(" {}", self.expr(value)?);
                }
                for (condition, result) in branches {
                    let condition = self.expr(condition)?;
                    out += &format!(" WHEN {condition} THEN {}", self.expr_for(result, target)?);
                }
                if let Some(otherwise) = otherwise {
                    out += &format!(" ELSE {}", self.expr_for(otherwise, target)?);
                }
                format!("({out} END)")
            }
            Expr::Cast(value, ty) => return self.cast(value, *ty),
            Expr::Call { name, arguments, distinct } => return self.call(name, arguments, *distinct, target),
            Expr::CountStar => "count(*)".into(),
            Expr::Trim { side, what, value } => {
                let what = match what {
                    Some(what) => self.expr(what)?,
                    None => "' '".into(),
                };
                format!("trim({side} {what} FROM {})", self.expr(value)?)
            }
            Expr::Substring(value, from, to) => {
                format!("substr(({})::text, {from}, {})", self.expr(value)?, to - from + 1)
            }
            Expr::Query(query) => format!("({})", self.query(query)?),
            Expr::DateTime(text, q) => return text_literal(text, Some(Type::DateTime(*q))),
            Expr::Interval(text, q) => return text_literal(text, Some(Type::Interval(*q))),
            // a moment has the precision of what takes it
            Expr::Current(q) => match target {
                Some(Type::DateTime(of_target)) => current(of_target)?,
                _ => current(*q)?,
            },
            Expr::Today => "current_date".into(),
            Expr::User => "current_user::text".into(),
            Expr::Server => "'pgsqlite'::text".into(),
            Expr::Units(value, unit) => match *unit {
                "fraction" => return Err(Failure::refused("UNITS FRACTION")),
                unit => format!("({} * interval '1 {unit}')", self.expr(value)?),
            },
            Expr::Extend(value, q) => {
                if self.partial(value) == Some(*q) {
                    return self.partial_or(value, None);
                }
                let value = match &**value {
                    Expr::Text(text) => text_literal(text, Some(Type::DateTime(*q)))?,
                    other => format!("({})::timestamp", self.expr(other)?),
                };
                truncated(&value, *q)?
            }
            Expr::Member { value, collection, not } => return self.member(value, collection, *not),
            Expr::Collection(..) | Expr::RowValue(_) => match target {
                Some(Type::Complex(complex)) => self.constructed(e, complex)?,
                _ => return Err(Failure::refused("a collection or row whose type is not known (cast it)")),
            },
            Expr::Row(values) => {
                let mut items = Vec::new();
                for value in values {
                    items.push(self.expr(value)?);
                }
                format!("ROW({})", items.join(", "))
            }
        })
    }

    /// Both sides of a comparison: each is read by the other's type.
    fn pair(&mut self, a: &Expr, b: &Expr) -> Parse<(String, String)> {
        let (left, right) = (self.comparable(a), self.comparable(b));
        Ok((self.like_other(a, b, right)?, self.like_other(b, a, left)?))
    }

    /// The type of a column or cast that a literal beside it is read by.
    fn comparable(&self, e: &Expr) -> Option<Type> {
        match e {
            Expr::Text(_) | Expr::Parameter(_) | Expr::Current(_) => None,
            other => self.known_type(other),
        }
    }

    fn column(&mut self, path: &[String]) -> Parse<String> {
        if let Some((column, (field, _))) = self.field_of_row(path) {
            return Ok(format!("({}).{}", self.column(column)?, ident(&field)));
        }
        match path {
            [name] => Ok(ident(name)),
            [.., table, name] => Ok(format!("{}.{}", ident(table), ident(name))),
            [] => Err(Failure::internal("a column without a name")),
        }
    }

    fn like(&mut self, value: &Expr, pattern: &Expr, escape: Option<&Expr>, matches: bool, not: bool) -> Parse<String> {
        let escape = match escape {
            None => '\\',
            Some(Expr::Text(text)) if text.chars().count() == 1 => text.chars().next().unwrap_or('\\'),
            Some(_) => return Err(Failure::refused("an ESCAPE that is not a character")),
        };
        // CHAR values are compared with their blanks, as Informix does
        let value = self.expr(value)?;
        if !matches {
            let pattern = self.expr(pattern)?;
            let not = if not { "NOT " } else { "" };
            return Ok(format!("({value} {not}LIKE {pattern} ESCAPE {})", literal(&escape.to_string())));
        }
        let Expr::Text(pattern) = pattern else {
            return Err(Failure::refused("MATCHES with a pattern that is not a literal"));
        };
        let expression =
            super::pattern::regular_expression(pattern, escape).ok_or_else(|| Failure::new(-1213, 0, ""))?;
        Ok(format!("({value} {} {})", if not { "!~" } else { "~" }, literal(&expression)))
    }

    fn cast(&mut self, value: &Expr, ty: Type) -> Parse<String> {
        if let Type::Complex(complex) = ty {
            if !complex.is_stored(&self.environment.catalog) {
                return Err(Failure::refused(format!("a {} where no column is of that type", complex.name())));
            }
            return self.assigned(value, Some(ty));
        }
        if self.known_type(value) == Some(ty) && self.partial(value).is_some() {
            return self.partial_or(value, None);
        }
        let printed = match (value, ty) {
            (Expr::Text(text), Type::DateTime(_) | Type::Interval(_) | Type::Blob | Type::Clob) => {
                text_literal(text, Some(ty))?
            }
            _ => self.expr_for(value, Some(ty))?,
        };
        Ok(match ty {
            // it has been read by its qualifier
            Type::DateTime(q) if q.is_partial() && matches!(value, Expr::Text(_) | Expr::Parameter(_) | Expr::Null) => {
                format!("({printed})::{}", ty.storage())
            }
            Type::DateTime(q) if (q.from == qualifier::YEAR || q.is_partial()) && !matches!(value, Expr::Text(_)) => {
                truncated(&format!("({printed})::timestamp"), q)?
            }
            _ => format!("({printed})::{}", ty.storage()),
        })
    }

    /// A value on its way into a column: what Informix's assignment does and PostgreSQL's does not.
    pub fn assigned(&mut self, e: &Expr, target: Option<Type>) -> Parse<String> {
        if let Some(Type::Complex(complex)) = target {
            return self.assigned_complex(e, complex);
        }
        let same = self.partial(e).is_some_and(|q| target == Some(Type::DateTime(q)));
        let printed = if same { self.partial_or(e, target)? } else { self.expr_for(e, target)? };
        let plain = matches!(e, Expr::Text(_) | Expr::Parameter(_) | Expr::Null | Expr::Current(_));
        match target {
            // digits beyond the last field are cut, not rounded
            Some(Type::DateTime(q)) if q.from == qualifier::YEAR && !plain => {
                truncated(&format!("({printed})::timestamp"), q)
            }
            _ => Ok(printed),
        }
    }

    // --- statements ------------------------------------------------------------------------------------------------------------

    fn statement(&mut self, statement: &Statement) -> Parse<Translation> {
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
            Statement::Update { table, alias, set, condition } => {
                let sql = self.update(table, alias.as_deref(), set, condition.as_ref())?;
                (4, Kind::Change { serial: None, is_insert: false }, sql)
            }
            Statement::Delete { table, alias, condition } => {
                let head = format!("DELETE FROM {}", self.table(table)?);
                let rest = self.target_scope(table, alias.as_deref(), |p| p.where_clause(condition.as_ref()))?;
                (5, Kind::Change { serial: None, is_insert: false }, head + &rest)
            }
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
            statement_type,
            kind,
            sql,
            parameters: clients.chain(self.hidden.drain(..)).collect(),
            targets: std::mem::take(&mut self.targets),
            shown,
            numbered: std::mem::take(&mut self.numbered),
            insert_columns: std::mem::take(&mut self.insert_columns),
            plain_insert: self.plain_insert,
            client_files: std::mem::take(&mut self.client_files),
        })
    }

    fn where_clause(&mut self, condition: Option<&Expr>) -> Parse<String> {
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
        self.scopes.push(vec![Scope { alias: name.clone(), relation: Some(relation), columns }]);
        let rest = rest(self);
        self.scopes.pop();
        Ok(format!(" AS {}{}", ident(&name), rest?))
    }

    fn update(
        &mut self,
        table: &Name,
        alias: Option<&str>,
        set: &[(Vec<String>, Expr)],
        condition: Option<&Expr>,
    ) -> Parse<String> {
        let head = format!("UPDATE {}", self.table(table)?);
        let relation = self.existing(table)?;
        let rest = self.target_scope(table, alias, |p| {
            let mut items = Vec::new();
            for (columns, value) in set {
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
                                out.push(p.assigned(value, ty)?);
                            }
                            format!("({}) = ROW({})", idents(columns), out.join(", "))
                        }
                        _ => return Err(Failure::new(-236, 0, "")),
                    },
                    _ => return Err(Failure::new(-236, 0, "")),
                });
            }
            Ok(format!(" SET {}{}", items.join(", "), p.where_clause(condition)?))
        })?;
        Ok(head + &rest)
    }
}

/// A literal for a target: texts of DATETIME and INTERVAL are read by the qualifier.
fn text_literal(text: &str, target: Option<Type>) -> Parse<String> {
    Ok(match target {
        Some(Type::DateTime(q)) => {
            let value = datetime_text(text, q)?;
            format!("{} '{value}'", if q.is_timestamp() { "timestamp" } else { "time" })
        }
        Some(Type::Interval(q)) => format!("interval '{}'", interval_text(text, q)?),
        // no cast from characters to large objects
        Some(Type::Blob | Type::Clob) => return Err(Failure::new(-9634, 0, "char")),
        _ => literal(text),
    })
}
