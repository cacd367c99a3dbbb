//! Sequences: CREATE, ALTER and RENAME SEQUENCE, and `s.NEXTVAL` and `s.CURRVAL` in expressions.

use super::ast::*;
use super::lexer::Token;
use super::parser::Parser;
use super::print::{ident, literal, Printer};
use super::Parse;
use crate::errors::Failure;
use pgsqlite_sql::catalog::RelationKind;
use pgsqlite_types::work;

/// What Informix's largest sequence value is, and, negated, its least: the value below means NULL.
const LARGEST: i64 = i64::MAX;

/// The options of CREATE and ALTER SEQUENCE, as they are said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    increment: Option<i64>,
    start: Option<i64>,
    /// Some(None): NOMAXVALUE
    most: Option<Option<i64>>,
    least: Option<Option<i64>>,
    cycle: Option<bool>,
    cache: Option<i64>,
    /// RESTART, perhaps WITH a value
    restart: Option<Option<i64>>,
}

impl Options {
    /// As PostgreSQL's statement has them. Bounds that are not said are Informix's when the sequence is made.
    fn print(&self, creates: bool) -> String {
        let mut out = String::new();
        let mut put = |text: String| out += &format!(" {text}");
        if let Some(n) = self.increment {
            put(format!("INCREMENT BY {n}"));
        }
        let descends = self.increment.is_some_and(|n| n < 0);
        match (self.least, descends) {
            (Some(Some(n)), _) => put(format!("MINVALUE {n}")),
            (None, _) if !creates => {}
            (_, true) => put(format!("MINVALUE {}", -LARGEST)),
            (_, false) => put("NO MINVALUE".into()),
        }
        match self.most {
            Some(Some(n)) => put(format!("MAXVALUE {n}")),
            None if !creates => {}
            _ => put("NO MAXVALUE".into()),
        }
        if let Some(n) = self.start {
            put(format!("START WITH {n}"));
        }
        if let Some(restart) = self.restart {
            put(restart.map_or("RESTART".into(), |n| format!("RESTART WITH {n}")));
        }
        if let Some(n) = self.cache {
            put(format!("CACHE {n}"));
        }
        if let Some(cycles) = self.cycle {
            put(if cycles { "CYCLE".into() } else { "NO CYCLE".into() });
        }
        out
    }
}

impl Parser<'_> {
    /// A whole number that may be negative.
    fn integer(&mut self) -> Parse<i64> {
        let place = self.place();
        let sign = if self.accept_sign("-") { "-" } else { "" };
        self.accept_sign("+");
        match self.next() {
            Token::Number(digits) => format!("{sign}{digits}").parse().map_err(|_| Failure::syntax(place)),
            _ => Err(Failure::syntax(place)),
        }
    }

    fn sequence_options(&mut self) -> Parse<Options> {
        let mut options = Options::default();
        loop {
            work::visit();
            let place = self.place();
            let twice = if self.accept("increment") {
                self.accept("by");
                options.increment.replace(self.integer()?).is_some()
            } else if self.accept("start") {
                self.accept("with");
                options.start.replace(self.integer()?).is_some()
            } else if self.accept("restart") {
                let explicit = self.accept("with") || matches!(self.peek(), Token::Number(_) | Token::Sign("-"));
                let value = if explicit { Some(self.integer()?) } else { None };
                options.restart.replace(value).is_some()
            } else if self.accept("maxvalue") {
                options.most.replace(Some(self.integer()?)).is_some()
            } else if self.accept("nomaxvalue") {
                options.most.replace(None).is_some()
            } else if self.accept("minvalue") {
                options.least.replace(Some(self.integer()?)).is_some()
            } else if self.accept("nominvalue") {
                options.least.replace(None).is_some()
            } else if self.accept("cycle") {
                options.cycle.replace(true).is_some()
            } else if self.accept("nocycle") {
                options.cycle.replace(false).is_some()
            } else if self.accept("cache") {
                options.cache.replace(self.integer()?).is_some()
            } else if self.accept("nocache") {
                options.cache.replace(1).is_some()
            } else if self.accept("order") || self.accept("noorder") {
                // numbers come in the order of the requests in any case
                false
            } else {
                return Ok(options);
            };
            if twice {
                return Err(Failure::syntax(place));
            }
        }
    }

    /// Behind CREATE SEQUENCE.
    pub(super) fn create_sequence(&mut self) -> Parse<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        Ok(Statement::CreateSequence { name, if_not_exists, options: self.sequence_options()? })
    }

    /// Behind ALTER SEQUENCE.
    pub(super) fn alter_sequence(&mut self) -> Parse<Statement> {
        let name = self.name()?;
        Ok(Statement::AlterSequence { name, options: self.sequence_options()? })
    }
}

impl Printer<'_> {
    pub(super) fn create_sequence(&mut self, name: &Name, if_not_exists: bool, options: &Options) -> Parse<String> {
        if options.restart.is_some() {
            return Err(Failure::syntax(0));
        }
        let exists = if if_not_exists { "IF NOT EXISTS " } else { "" };
        Ok(format!("CREATE SEQUENCE {exists}{}{}", self.new_name(name)?, options.print(true)))
    }

    pub(super) fn alter_sequence(&self, name: &Name, options: &Options) -> Parse<String> {
        self.sequence(name).ok_or_else(|| Failure::new(-206, -111, name.name.clone()))?;
        Ok(format!("ALTER SEQUENCE {}{}", self.table(name)?, options.print(false)))
    }

    /// A sequence as regclass reads it.
    fn sequence(&self, name: &Name) -> Option<String> {
        let found = self.relation(name)?;
        match found.kind {
            RelationKind::Sequence(_) => {
                let schema = self.environment.catalog.schema_name(found.schema);
                Some(format!("{}.{}", ident(schema), ident(&found.name)))
            }
            _ => None,
        }
    }

    /// `[owner.]s.NEXTVAL` or `CURRVAL`, if `path` is one: tables in scope come first.
    /// Errors: where one row would ask a sequence twice, since both must give the same number.
    pub(super) fn sequence_value(&mut self, path: &[String]) -> Parse<Option<String>> {
        let (owner, name, what) = match path {
            [name, what] => (None, name, what),
            [owner, name, what] => (Some(owner.clone()), name, what),
            _ => return Ok(None),
        };
        if !matches!(what.as_str(), "nextval" | "currval") || self.scopes.iter().flatten().any(|s| s.alias == *name) {
            return Ok(None);
        }
        let Some(sequence) = self.sequence(&Name { database: None, owner, name: name.clone() }) else {
            return Ok(None);
        };
        let asked = self.asked_sequences.iter().filter(|(s, _)| *s == sequence);
        if asked.into_iter().any(|(_, before)| before == "nextval" || what == "nextval") {
            return Err(Failure::refused(format!("asking the sequence {name} more than once in a statement")));
        }
        let value = format!("{what}({}::regclass)", literal(&sequence));
        self.asked_sequences.push((sequence, what.clone()));
        Ok(Some(value))
    }
}
