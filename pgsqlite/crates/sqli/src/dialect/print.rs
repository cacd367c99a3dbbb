//! The tree as PostgreSQL's SQL.
//!
//! A [`Printer`] writes one statement. It keeps the tables that are in scope, because what a literal or a `?` means depends on the type
//! of the column beside it; and it notes what the session must know to run the result ([`Translation`]).

use super::ast::ClientFile;
use super::ast::*;
use super::derived::QueryColumn;
use super::moments::{current, cut_interval, truncated};
use super::spl::Locals;
use super::translation::{Environment, Source, Translation};
use super::{parser, server, system_catalog, Parse};
use crate::errors::Failure;
use crate::values::bind::{as_written, datetime_text, interval_text};
use crate::values::qualifier;
use crate::values::types::{Type, SCHEMA};
use pgsqlite_sql::catalog::{Relation, RelationKind};
use pgsqlite_types::work;
use pgsqlite_types::Oid;
use std::sync::Arc;

/// Parses and translates one statement.
pub fn translate(text: &str, environment: &Environment) -> Parse<Translation> {
    pgsqlite_sql::parse::with_stack(|| {
        let (statement, parameters) = parser::parse_with(text, environment.delimident, Some(&environment.catalog))?;
        let mut printer = Printer {
            environment,
            client_parameters: parameters,
            hidden: vec![],
            targets: vec![None; parameters],
            cut: vec![false; parameters],
            scopes: vec![],
            insert_columns: vec![],
            plain_insert: false,
            client_files: vec![],
            asked_sequences: vec![],
            new_owners: vec![],
            partial_allowed: false,
            partial_items: false,
            numbered: vec![],
            with: vec![],
            updates: None,
            current_of: None,
            locals: None,
            into_types: vec![],
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
    /// of a query: its columns; None: not known, or not a query
    pub query: Option<Vec<QueryColumn>>,
}

pub(super) struct Printer<'a> {
    pub environment: &'a Environment,
    pub(super) client_parameters: usize,
    pub(super) hidden: Vec<Source>,
    pub(super) targets: Vec<Option<Type>>,
    pub(super) cut: Vec<bool>,
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
    /// the names of WITH that are known here, the innermost last
    pub with: Vec<(String, Option<Vec<QueryColumn>>)>,
    pub updates: Option<Oid>,
    pub current_of: Option<(String, Oid)>,
    /// within the body of a routine or trigger
    pub locals: Option<Locals>,
    /// types of the variables that the next SELECT gives its rows to
    pub into_types: Vec<Type>,
}

/// Functions that only OVER makes sense of.
const WINDOW_ONLY: [&str; 15] = [
    "row_number",
    "rownumber",
    "rank",
    "dense_rank",
    "denserank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
    "ratio_to_report",
    "ratiotoreport",
];

/// An identifier as PostgreSQL reads it.
pub fn ident(name: &str) -> String {
    pgsqlite_sql::names::quoted(name)
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
        self.relation_itself(name).or_else(|| self.of_synonym(name))
    }

    /// The same, of no synonym.
    pub(super) fn relation_itself(&self, name: &Name) -> Option<Arc<Relation>> {
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
            (_, Some(found)) if found.temporary => Ok(ident(&found.name)),
            (_, Some(found)) => {
                let schema = self.environment.catalog.schema_name(found.schema);
                Ok(format!("{}.{}", ident(schema), ident(&found.name)))
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
    pub fn system_table(&self, name: &Name) -> Option<(Vec<QueryColumn>, String)> {
        if name.owner.as_ref().is_some_and(|o| o != SCHEMA) {
            return None;
        }
        let of_server = name.database.as_ref().unwrap_or(&self.environment.database) == "sysmaster";
        if name.database.as_ref().is_some_and(|d| d == "sysmaster") {
            return server::table(&name.name, self.environment);
        }
        if self.relation(name).is_some() {
            return None;
        }
        let of_server = of_server.then(|| server::table(&name.name, self.environment)).flatten();
        of_server.or_else(|| system_catalog::table(&name.name, self.environment))
    }

    /// The Informix type of a column in scope.
    fn column_type(&self, path: &[String]) -> Option<Type> {
        if let Some(ty) = self.variable(path) {
            return Some(ty);
        }
        if self.row_number(path).is_some() {
            return Some(Type::BigInt);
        }
        if let Some((_, ty)) = self.present(path) {
            return Some(ty);
        }
        if let Some((_, (_, ty))) = self.field_of_row(path) {
            return Some(ty);
        }
        let (name, table) = (path.last()?, path.len().checked_sub(2).map(|i| &path[i]));
        let entries = self.scopes.iter().rev().flatten();
        for entry in entries.filter(|e| table.is_none_or(|t| *t == e.alias)) {
            work::visit();
            if let Some(column) = entry.relation.as_ref().and_then(|r| r.column(name)) {
                return Type::of_column(&self.environment.catalog, column);
            }
            let of_query = entry.query.iter().flatten().find(|(n, _)| n.as_ref() == Some(name));
            if let Some((_, ty)) = of_query {
                return *ty;
            }
        }
        None
    }

    /// What is known of an expression's type without analyzing it.
    pub fn known_type(&self, e: &Expr) -> Option<Type> {
        match e {
            Expr::Column(path) => self.column_type(path),
            Expr::Cast(_, ty) => Some(*ty),
            Expr::Collection(kind, elements) => self.literal_collection(*kind, elements),
            Expr::Call { name, .. } if name == "cardinality" => Some(Type::Integer),
            Expr::Call { name, arguments, distinct: false } if self.has_routine(name) => {
                self.type_of_user_call(name, arguments.len())
            }
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
            Expr::Call { name, arguments, .. } => {
                self.kept_type(name, arguments).or_else(|| self.type_of_call(name, arguments))
            }
            _ => None,
        }
    }

    // --- parameters --------------------------------------------------------------------------------------------------------

    pub fn hidden(&mut self, source: Source) -> String {
        match (&self.locals, source) {
            (Some(_), Source::LastSerial) => return "\"(serial)\"".into(),
            (Some(_), Source::RowCount) => return "\"(rows)\"".into(),
            _ => {}
        }
        self.hidden.push(source);
        format!("${}", self.client_parameters + self.hidden.len())
    }

    /// A number that the client gives for this parameter loses its digits behind the point.
    pub(super) fn cut_parameter(&mut self, i: usize) {
        self.cut[i] = true;
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
            Expr::Text(text) => {
                let (dates, money) = (&self.environment.dates, &self.environment.money);
                return text_literal(&as_written(text.clone(), target, dates, money)?, target);
            }
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
            Expr::Binary("||", ..) => self.joined(e)?,
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
                    work::visit();
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
                    work::visit();
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
            Expr::Window { call, partition, order, frame } => {
                // RATIO_TO_REPORT: the value's part of the sum
                let mut ratio = None;
                let call = match &**call {
                    Expr::Call { name, arguments, distinct: false } if WINDOW_ONLY.contains(&name.as_str()) => {
                        let mut printed = Vec::new();
                        for argument in arguments {
                            work::visit();
                            printed.push(self.expr(argument)?);
                        }
                        if name.starts_with("ratio") {
                            ratio = Some(printed.join(", "));
                            printed = vec![format!("({})::numeric", printed.join(", "))];
                        }
                        let name = if ratio.is_some() { "sum" } else { name };
                        let name = name.replace("denserank", "dense_rank").replace("rownumber", "row_number");
                        format!("{name}({})", printed.join(", "))
                    }
                    other => self.expr(other)?,
                };
                let mut over = Vec::new();
                if !partition.is_empty() {
                    let mut keys = Vec::new();
                    for key in partition {
                        work::visit();
                        keys.push(self.sort_key(key)?);
                    }
                    over.push(format!("PARTITION BY {}", keys.join(", ")));
                }
                if !order.is_empty() {
                    over.push(self.order(order, None)?.trim_start().to_string());
                }
                over.extend(frame.clone());
                let window = format!("{call} OVER ({})", over.join(" "));
                match ratio {
                    Some(value) => format!("(({value})::numeric / {window})"),
                    None => window,
                }
            }
            Expr::Trim { side, what, value } => {
                let what = match what {
                    Some(what) => self.expr(what)?,
                    None => "' '".into(),
                };
                format!("trim({side} {what} FROM {})", self.expr(value)?)
            }
            Expr::Substring(..) => self.joined(e)?,
            Expr::Query(query) => format!("({})", self.query(query)?),
            Expr::DateTime(text, q) => return text_literal(text, Some(Type::DateTime(*q))),
            Expr::Interval(text, q) => return text_literal(text, Some(Type::Interval(*q))),
            // a moment has the precision of what takes it
            Expr::Current(q) => match target {
                Some(Type::DateTime(of_target)) => current(of_target)?,
                _ => current(*q)?,
            },
            Expr::Today => "current_date".into(),
            // a routine has its owner's rights, and is for its caller
            Expr::User if self.locals.is_some() => "session_user::text".into(),
            Expr::User => "current_user::text".into(),
            Expr::Server => "'pgsqlite'::text".into(),
            Expr::Units(value, unit) => match *unit {
                "fraction" => return Err(Failure::refused("UNITS FRACTION")),
                unit => format!("({} * interval '1 {unit}')", self.whole_for(value, Type::Integer)?),
            },
            Expr::Extend(value, q) => {
                if self.partial(value) == Some(*q) {
                    return self.partial_or(value, None);
                }
                let value = match &**value {
                    Expr::Text(text) => text_literal(text, Some(Type::DateTime(*q)))?,
                    other => self.timestamp(other, q.from)?,
                };
                truncated(&value, *q)?
            }
            Expr::Member { value, collection, not } => return self.member(value, collection, *not),
            Expr::Collection(..) | Expr::RowValue(_) => match target {
                Some(Type::Complex(complex)) => self.constructed(e, complex)?,
                _ if self.complex(e).is_some() => match self.complex(e) {
                    Some(complex) => self.assigned_complex(e, complex)?,
                    None => return Err(Failure::internal("a collection without a type")),
                },
                _ => return Err(Failure::refused("a collection or row whose type is not known (cast it)")),
            },
            Expr::Row(values) => {
                let mut items = Vec::new();
                for value in values {
                    work::visit();
                    items.push(self.expr(value)?);
                }
                format!("ROW({})", items.join(", "))
            }
        })
    }

    /// A DATE or DATETIME as a timestamp, for something that begins with the field `from`. A time of day has the present day.
    pub(super) fn timestamp(&mut self, e: &Expr, from: u8) -> Parse<String> {
        let printed = self.expr(e)?;
        Ok(match self.known_type(e) {
            Some(Type::DateTime(q)) if q.from == qualifier::HOUR && from < qualifier::HOUR => {
                format!("(current_date + ({printed})::time)")
            }
            Some(Type::DateTime(q)) if q.from == qualifier::HOUR => {
                format!("(date '2000-01-01' + ({printed})::time)")
            }
            _ => format!("({printed})::timestamp"),
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

    /// The type of a variable of a routine, if a name is one: it comes before columns.
    fn variable(&self, path: &[String]) -> Option<Type> {
        match path {
            [name] => self.locals.as_ref()?.variable(name),
            _ => None,
        }
    }

    pub(super) fn is_row_number(&self, path: &[String]) -> bool {
        self.row_number(path).is_some()
    }

    /// ROWID: the number of a row of a table, unless something has a column of that name.
    fn row_number(&self, path: &[String]) -> Option<String> {
        let (name, table) = path.split_last()?;
        if name != "rowid" || table.len() > 1 {
            return None;
        }
        let of_table = |s: &&Scope| table.first().is_none_or(|t| *t == s.alias);
        let scope = self.scopes.last()?;
        let named = |s: &Scope| s.columns.as_ref().is_none_or(|c| c.contains(name));
        let mut found = scope.iter().filter(of_table);
        let (only, other) = (found.next()?, found.next());
        let relation = only.relation.as_ref().filter(|r| matches!(r.kind, RelationKind::Table))?;
        if other.is_some() || named(only) || relation.live_columns().count() == 0 {
            return None;
        }
        // a row is a place in a page
        let place = format!("{}.ctid::text::point", ident(&only.alias));
        Some(format!("((({place})[0])::bigint * 65536 + (({place})[1])::bigint)"))
    }

    /// CURRENT_DATE and the like, which are no words of Informix's: a column of that name comes first.
    fn present(&self, path: &[String]) -> Option<(&'static str, Type)> {
        let [name] = path else { return None };
        let found = match name.as_str() {
            "current_date" => ("current_date", Type::Date),
            "current_time" => {
                ("localtime(0)", Type::DateTime(qualifier::Qualifier::datetime(qualifier::HOUR, qualifier::SECOND)))
            }
            "current_timestamp" => {
                ("localtimestamp(5)", Type::DateTime(qualifier::Qualifier::datetime(qualifier::YEAR, 15)))
            }
            _ => return None,
        };
        let other = |s: &Scope| s.columns.as_ref().is_some_and(|c| !c.contains(name));
        self.scopes.iter().flatten().all(other).then_some(found)
    }

    pub(super) fn column(&mut self, path: &[String]) -> Parse<String> {
        if let Some((present, _)) = self.present(path).filter(|_| self.variable(path).is_none()) {
            return Ok(present.into());
        }
        if self.variable(path).is_some() {
            return Ok(ident(&format!(":{}", path[0])));
        }
        if let Some(number) = self.row_number(path) {
            return Ok(number);
        }
        if let Some(locals) = &self.locals {
            if let [table, name] = path {
                if let Some((_, row)) = locals.rows.iter().find(|(n, _)| n == table) {
                    return Ok(format!("{row}.{}", ident(name)));
                }
            }
            let missing = |s: &Scope| s.columns.as_ref().is_some_and(|c| !c.contains(&path[0]));
            // neither a variable nor a column
            if path.len() == 1 && self.scopes.iter().flatten().all(missing) {
                return Err(Failure::new(-667, 0, path[0].clone()));
            }
        }
        if let Some((column, (field, _))) = self.field_of_row(path) {
            return Ok(format!("({}).{}", self.column(column)?, ident(&field)));
        }
        match path {
            [name] => Ok(ident(name)),
            [_, _, _, .., name] => Err(Failure::new(-217, 0, name.clone())),
            [.., table, name] => Ok(format!("{}.{}", ident(table), ident(name))),
            [] => Err(Failure::internal("a column without a name")),
        }
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
            (_, ty) if ty.is_character() => self.characters_for(value, ty)?,
            (_, ty) if ty.is_integer() => self.whole_for(value, ty)?,
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
        if let Some(ty) = target.filter(|ty| ty.is_character()) {
            return self.characters_for(e, ty);
        }
        if let Some(ty) = target.filter(|ty| ty.is_integer()) {
            return self.whole_for(e, ty);
        }
        let printed = if same { self.partial_or(e, target)? } else { self.expr_for(e, target)? };
        let plain = matches!(e, Expr::Text(_) | Expr::Parameter(_) | Expr::Null | Expr::Current(_));
        let of_same_type = target.is_some() && self.known_type(e) == target;
        match (self.known_type(e), target) {
            (Some(Type::Interval(_)), Some(Type::DateTime(_))) | (Some(Type::DateTime(_)), Some(Type::Interval(_))) => {
                return Err(Failure::new(-1260, 0, ""));
            }
            (Some(Type::Interval(a)), Some(Type::Interval(b))) if a.is_year_month() != b.is_year_month() => {
                return Err(Failure::new(-1260, 0, ""));
            }
            _ => {}
        }
        match target {
            // digits beyond the last field are cut, not rounded
            Some(Type::DateTime(q)) if q.from == qualifier::YEAR && !plain && !of_same_type => {
                truncated(&format!("({printed})::timestamp"), q)
            }
            Some(Type::DateTime(q)) if q.from == qualifier::HOUR && !plain && !of_same_type => {
                truncated(&format!("(date '2000-01-01' + ({printed})::time)"), q)
            }
            Some(Type::Interval(q)) if !plain && !of_same_type => cut_interval(&printed, q),
            _ => Ok(printed),
        }
    }

    // --- statements ------------------------------------------------------------------------------------------------------------
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
        // bytes are no characters
        Some(Type::Byte) => return Err(Failure::new(-617, 0, "")),
        _ => literal(text),
    })
}
