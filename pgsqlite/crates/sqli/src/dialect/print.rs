//! The tree as PostgreSQL's SQL.
//!
//! A [`Printer`] writes one statement. It keeps the tables that are in scope, because what a literal or a `?` means depends on the type
//! of the column beside it; and it notes what the session must know to run the result ([`Translation`]).

use super::ast::ClientFile;
use super::ast::*;
use super::derived::QueryColumn;
use super::moments::{current, cut_interval, truncated};
use super::order::columns_of;
use super::spl::Locals;
use super::{parser, server, system, Parse};
use crate::errors::Failure;
use crate::values::bind::{as_written, datetime_text, interval_text};
use crate::values::codeset::CodeSet;
use crate::values::dates::DateForm;
use crate::values::money::MoneyForm;
use crate::values::qualifier;
use crate::values::types::{Type, SCHEMA};
use pgsqlite_sql::catalog::{Catalog, Relation, RelationKind};
use pgsqlite_types::work;
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
    /// rows are to say which ones of their tables they are, where they show large objects or a cursor is to change them
    pub row_numbers: bool,
    /// how the client writes dates
    pub dates: DateForm,
    /// and amounts of money
    pub money: MoneyForm,
    /// the databases of the server
    pub databases: Vec<String>,
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
    /// the row of the cursor of WHERE CURRENT OF
    CurrentRow,
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
    Session(Action),
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
    /// the one table whose row, behind the columns of the client, each row of a FOR UPDATE cursor names
    pub updates: Option<Oid>,
    /// WHERE CURRENT OF: the cursor, and the table that is changed
    pub current_of: Option<(String, Oid)>,
    /// a query FOR UPDATE
    pub for_update: bool,
    /// the number that DESCRIBE tells clients
    pub statement_type: i16,
    pub kind: Kind,
    pub sql: String,
    pub parameters: Vec<Source>,
    /// the client's parameters: the Informix type of what takes each, where known
    pub targets: Vec<Option<Type>>,
    /// which of them go into an integer type, whatever number the client gives
    pub cut: Vec<bool>,
    pub shown: Vec<Shown>,
    /// tables whose large objects the result shows: for each, two columns behind those of the client say which row it is
    pub numbered: Vec<Oid>,
    /// an INSERT's columns, for insert cursors and descriptions
    pub insert_columns: Vec<(String, Option<Type>)>,
    /// what is inserted is one `?` per column, in their order
    pub plain_insert: bool,
    pub client_files: Vec<ClientFile>,
}

impl Translation {
    /// Of a statement that the engine has no part in.
    pub fn of_action(action: Action) -> Translation {
        let statement_type = number_of(&action);
        Translation {
            updates: None,
            current_of: None,
            for_update: false,
            statement_type,
            kind: Kind::Session(action),
            sql: String::new(),
            parameters: vec![],
            targets: vec![],
            cut: vec![],
            shown: vec![],
            numbered: vec![],
            insert_columns: vec![],
            plain_insert: false,
            client_files: vec![],
        }
    }
}

/// The number of EXECUTE PROCEDURE, which gives rows or not.
pub const EXECUTE_PROCEDURE: i16 = 56;

/// The number that DESCRIBE tells clients.
fn number_of(action: &Action) -> i16 {
    match action {
        Action::OpenDatabase { .. } => 1,
        Action::CreateDatabase { .. } => 12,
        Action::DropDatabase { .. } => 13,
        Action::CloseDatabase => 31,
        Action::LockWait(_) => 47,
        Action::Nothing => 0,
    }
}

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
    client_parameters: usize,
    hidden: Vec<Source>,
    targets: Vec<Option<Type>>,
    cut: Vec<bool>,
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
        of_server.or_else(|| system::table(&name.name, self.environment))
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

    fn column(&mut self, path: &[String]) -> Parse<String> {
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
