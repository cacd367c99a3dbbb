//! The parser's state, and statements by their first words. Expressions are in [`super::expression`], queries in [`super::select`],
//! CREATE and ALTER in [`super::ddl`].

use super::ast::*;
use super::lexer::{tokens, Lexeme, Token};
use super::Parse;
use crate::errors::Failure;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::work;

/// Deeper nesting is refused, so that no text can use up the stack.
const DEEPEST: usize = 200;

pub struct Parser<'a> {
    pub(super) text: &'a str,
    tokens: Vec<Lexeme>,
    at: usize,
    /// `?` seen so far
    parameters: usize,
    depth: usize,
    /// within the body of a routine or trigger
    pub(super) in_routine: bool,
    /// a RETURN … WITH RESUME was seen
    pub(super) resumes: bool,
    /// where types of the user are looked for
    pub(super) types: Option<&'a Catalog>,
}

/// A parsed statement and how many `?` it has.
pub fn parse(text: &str, delimident: bool) -> Parse<(Statement, usize)> {
    parse_with(text, delimident, None)
}

/// The same, where types of the user may be named.
pub fn parse_with(text: &str, delimident: bool, types: Option<&Catalog>) -> Parse<(Statement, usize)> {
    let mut parser = Parser { types, ..Parser::new(text, tokens(text, delimident)?) };
    let statement = parser.statement()?;
    while parser.accept_sign(";") {}
    match parser.peek() {
        Token::End => Ok((statement, parser.parameters)),
        _ => Err(parser.unexpected()),
    }
}

/// A type by its name.
pub fn data_type(name: &str) -> Parse<crate::values::types::Type> {
    let mut parser = Parser::new(name, tokens(name, false)?);
    let ty = parser.data_type()?;
    match parser.peek() {
        Token::End => Ok(ty),
        _ => Err(parser.unexpected()),
    }
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, tokens: Vec<Lexeme>) -> Parser<'a> {
        Parser { text, tokens, at: 0, parameters: 0, depth: 0, in_routine: false, resumes: false, types: None }
    }

    // --- tokens ----------------------------------------------------------------------------------------------------------

    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    pub(super) fn peek_at(&self, n: usize) -> &Token {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)].token
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.peek().clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    /// Byte offset of the next token.
    pub(super) fn place(&self) -> usize {
        self.tokens[self.at].at
    }

    /// Byte offset behind the last token.
    pub(super) fn place_behind(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |i| self.tokens[i].end)
    }

    pub(super) fn unexpected(&self) -> Failure {
        Failure::syntax(self.place())
    }

    /// Something that Informix has and this server has not, at the next token.
    pub(super) fn refuse<T>(&self, what: &str) -> Parse<T> {
        Err(Failure::refused(what).at(self.place()))
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if w == word)
    }

    pub(super) fn is_word_at(&self, n: usize, word: &str) -> bool {
        matches!(self.peek_at(n), Token::Word(w) if w == word)
    }

    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect(&mut self, word: &str) -> Parse<()> {
        match self.accept(word) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if *s == sign)
    }

    pub(super) fn accept_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect_sign(&mut self, sign: &str) -> Parse<()> {
        match self.accept_sign(sign) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    /// One level deeper. Errors: what is nested too deep.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= DEEPEST {
            return Err(Failure::text("the statement is nested too deep").at(self.place()));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    pub(super) fn new_parameter(&mut self) -> Expr {
        self.parameters += 1;
        Expr::Parameter(self.parameters - 1)
    }

    /// Items between commas.
    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut out = vec![item(self)?];
        while self.accept_sign(",") {
            work::visit();
            out.push(item(self)?);
        }
        Ok(out)
    }

    /// `(a, b)`
    pub(super) fn names_in_parentheses(&mut self) -> Parse<Vec<String>> {
        self.expect_sign("(")?;
        let names = self.list(|p| p.identifier())?;
        self.expect_sign(")")?;
        Ok(names)
    }

    // --- names -------------------------------------------------------------------------------------------------------------

    pub(super) fn identifier(&mut self) -> Parse<String> {
        match self.peek() {
            Token::Word(name) | Token::Quoted(name) => {
                let name = name.clone();
                self.next();
                Ok(name)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `[database[@server]:][owner.]name`; an owner may be quoted.
    pub(super) fn name(&mut self) -> Parse<Name> {
        let part = |p: &mut Self| match p.peek() {
            Token::Text(text) if matches!(p.peek_at(1), Token::Sign(".")) => {
                let text = text.clone();
                p.next();
                Ok(text)
            }
            _ => p.identifier(),
        };
        let mut first = part(self)?;
        let mut database = None;
        if self.is_sign("@") {
            return self.refuse("a table of another server");
        }
        if self.accept_sign(":") {
            database = Some(first);
            first = part(self)?;
        }
        match self.accept_sign(".") {
            true => Ok(Name { database, owner: Some(first), name: self.identifier()? }),
            false => Ok(Name { database, owner: None, name: first }),
        }
    }

    pub(super) fn number(&mut self) -> Parse<u32> {
        let place = self.place();
        match self.next() {
            Token::Number(n) => n.parse().map_err(|_| Failure::syntax(place)),
            _ => Err(Failure::syntax(place)),
        }
    }

    // --- statements --------------------------------------------------------------------------------------------------------

    pub(super) fn statement(&mut self) -> Parse<Statement> {
        let Token::Word(word) = self.peek().clone() else {
            if self.is_sign("(") {
                return self.query_statement();
            }
            return Err(self.unexpected());
        };
        match word.as_str() {
            "select" | "with" => self.query_statement(),
            "insert" => self.insert(),
            "update" => self.update(),
            "delete" => self.delete(),
            "create" => self.create(),
            "drop" => self.drop(),
            "alter" => self.alter(),
            "rename" => self.rename(),
            "truncate" => {
                self.next();
                self.accept("table");
                let table = self.name()?;
                // what happens to the table's space on disk
                if self.accept("drop") || self.accept("reuse") {
                    self.expect("storage")?;
                }
                Ok(Statement::Truncate(table))
            }
            "begin" => self.transaction(Transaction::Begin),
            "commit" => self.transaction(Transaction::Commit),
            "rollback" => {
                self.next();
                self.accept("work");
                if self.accept("to") {
                    self.expect("savepoint")?;
                    return Ok(Statement::Transaction(Transaction::RollbackTo(self.identifier()?)));
                }
                Ok(Statement::Transaction(Transaction::Rollback))
            }
            "savepoint" => {
                self.next();
                let name = self.identifier()?;
                if self.is_word("unique") {
                    return self.refuse("SAVEPOINT … UNIQUE");
                }
                Ok(Statement::Transaction(Transaction::Savepoint(name)))
            }
            "release" => {
                self.next();
                self.expect("savepoint")?;
                Ok(Statement::Transaction(Transaction::ReleaseSavepoint(self.identifier()?)))
            }
            "set" => self.set(),
            "grant" | "revoke" => self.grant(),
            "database" => {
                self.next();
                let name = self.database_name()?;
                Ok(Statement::Session(Action::OpenDatabase { name, exclusive: self.accept("exclusive") }))
            }
            "close" if self.is_word_at(1, "database") => {
                self.next();
                self.next();
                Ok(Statement::Session(Action::CloseDatabase))
            }
            "unlock" => {
                self.next();
                self.expect("table")?;
                self.name()?;
                // a lock of a table lasts as long as its transaction: it is held longer than it would have to be
                Ok(Statement::Session(Action::Nothing))
            }
            "merge" => self.merge(),
            "lock" => {
                self.next();
                self.expect("table")?;
                let table = self.name()?;
                self.expect("in")?;
                let exclusive = !self.accept("share");
                if exclusive {
                    self.expect("exclusive")?;
                }
                self.expect("mode")?;
                Ok(Statement::Lock { table, exclusive })
            }
            "execute" | "call" => {
                if self.is_word_at(1, "immediate") || self.is_word_at(1, "prepare") {
                    return self.refuse("EXECUTE of a prepared statement");
                }
                let (call, into) = self.routine_call()?;
                match into.is_empty() {
                    true => Ok(Statement::Execute(call)),
                    false => self.refuse("INTO outside a routine"),
                }
            }
            "load" | "unload" | "close" | "connect" | "disconnect" | "explain" | "output" | "info" | "start"
            | "stop" | "save" | "move" | "declare" | "prepare" | "fetch" | "open" | "free" | "describe" => {
                self.refuse(&format!("the statement {}", word.to_uppercase()))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn transaction(&mut self, what: Transaction) -> Parse<Statement> {
        self.next();
        self.accept("work");
        if self.accept("without") {
            self.expect("replication")?;
        }
        Ok(Statement::Transaction(what))
    }

    fn query_statement(&mut self) -> Parse<Statement> {
        let query = self.query()?;
        if self.accept("into") {
            // the results of a SELECT go to a table of their own
            if !self.is_word("temp") {
                return self.refuse("SELECT … INTO other than INTO TEMP");
            }
            self.next();
            let table = self.identifier()?;
            self.with_no_log()?;
            return Ok(Statement::SelectInto { query, table });
        }
        Ok(Statement::Query(query))
    }

    /// A temporary table is never logged here.
    pub(super) fn with_no_log(&mut self) -> Parse<()> {
        if self.accept("with") {
            self.expect("no")?;
            self.expect("log")?;
        }
        Ok(())
    }

    fn insert(&mut self) -> Parse<Statement> {
        self.next();
        self.expect("into")?;
        let table = self.name()?;
        let mut columns = Vec::new();
        if self.is_sign("(") && !self.is_word_at(1, "select") {
            columns = self.names_in_parentheses()?;
        }
        let source = if self.accept("values") {
            self.expect_sign("(")?;
            let values = self.list(|p| p.expression())?;
            self.expect_sign(")")?;
            InsertSource::Values(values)
        } else if self.is_word("execute") {
            return self.refuse("INSERT … EXECUTE");
        } else {
            InsertSource::Query(Box::new(self.query()?))
        };
        Ok(Statement::Insert { table, columns, source })
    }

    /// The condition of UPDATE and DELETE, or the cursor whose row they change.
    fn where_clause(&mut self) -> Parse<(Option<Expr>, Option<String>)> {
        if !self.accept("where") {
            return Ok((None, None));
        }
        if self.is_word("current") && self.is_word_at(1, "of") {
            self.next();
            self.next();
            return Ok((None, Some(self.identifier()?)));
        }
        Ok((Some(self.expression()?), None))
    }

    /// `name[@server]`, perhaps in quotes.
    pub(super) fn database_name(&mut self) -> Parse<String> {
        let name = match self.next() {
            Token::Word(name) | Token::Quoted(name) | Token::Text(name) => name,
            _ => return Err(self.unexpected()),
        };
        if self.accept_sign("@") {
            self.identifier()?;
        }
        Ok(name)
    }

    fn merge(&mut self) -> Parse<Statement> {
        self.next();
        self.expect("into")?;
        let (table, alias) = self.target(&["using"])?;
        self.expect("using")?;
        let source = self.source()?;
        self.expect("on")?;
        let on = self.expression()?;
        let (mut matched, mut unmatched) = (None, None);
        while self.accept("when") {
            work::visit();
            let not = self.accept("not");
            self.expect("matched")?;
            self.expect("then")?;
            if not && unmatched.is_none() {
                self.expect("insert")?;
                let columns = if self.is_sign("(") { self.names_in_parentheses()? } else { vec![] };
                self.expect("values")?;
                self.expect_sign("(")?;
                let values = self.list(|p| p.expression())?;
                self.expect_sign(")")?;
                unmatched = Some((columns, values));
            } else if !not && matched.is_none() {
                matched = Some(match self.accept("delete") {
                    true => Matched::Delete,
                    false => {
                        self.expect("update")?;
                        self.expect("set")?;
                        Matched::Update(self.assignments()?)
                    }
                });
            } else {
                return Err(self.unexpected());
            }
        }
        if matched.is_none() && unmatched.is_none() {
            return Err(self.unexpected());
        }
        Ok(Statement::Merge { table, alias, source, on, matched, unmatched })
    }

    fn target(&mut self, stops: &[&str]) -> Parse<(Name, Option<String>)> {
        let table = self.name()?;
        let alias = match self.peek() {
            Token::Word(word) if stops.contains(&word.as_str()) => None,
            Token::Word(_) | Token::Quoted(_) => {
                self.accept("as");
                Some(self.identifier()?)
            }
            _ => None,
        };
        Ok((table, alias))
    }

    fn update(&mut self) -> Parse<Statement> {
        self.next();
        if self.accept("statistics") {
            // how thoroughly is up to the engine
            for word in ["low", "medium", "high"] {
                work::visit();
                self.accept(word);
            }
            if !self.accept("for") {
                return Ok(Statement::UpdateStatistics(None));
            }
            if self.is_word("procedure") || self.is_word("function") || self.is_word("routine") {
                // plans of routines are made anew by themselves
                self.next();
                if matches!(self.peek(), Token::Word(_) | Token::Quoted(_)) {
                    self.name()?;
                    self.skip_parentheses()?;
                }
                return Ok(Statement::Session(Action::Nothing));
            }
            self.expect("table")?;
            if matches!(self.peek(), Token::End | Token::Sign(";")) {
                return Ok(Statement::UpdateStatistics(None));
            }
            let table = self.name()?;
            if self.is_sign("(") {
                self.names_in_parentheses()?;
            }
            return Ok(Statement::UpdateStatistics(Some(table)));
        }
        let (table, alias) = self.target(&["set"])?;
        self.expect("set")?;
        if self.is_sign("*") {
            return self.refuse("UPDATE … SET *");
        }
        let set = self.assignments()?;
        let (condition, cursor) = self.where_clause()?;
        Ok(Statement::Update { table, alias, set, condition, cursor })
    }

    /// What follows SET.
    fn assignments(&mut self) -> Parse<Assignments> {
        let mut set = Vec::new();
        loop {
            work::visit();
            let columns = match self.is_sign("(") {
                true => self.names_in_parentheses()?,
                false => vec![self.identifier()?],
            };
            self.expect_sign("=")?;
            let value = if columns.len() == 1 {
                self.expression()?
            } else {
                self.expect_sign("(")?;
                let values = self.list(|p| p.expression())?;
                self.expect_sign(")")?;
                Expr::Row(values)
            };
            set.push((columns, value));
            if !self.accept_sign(",") {
                return Ok(set);
            }
        }
    }

    fn delete(&mut self) -> Parse<Statement> {
        self.next();
        self.accept("from");
        let (table, alias) = self.target(&["where", "using"])?;
        if self.is_word("using") {
            return self.refuse("DELETE … USING");
        }
        let (condition, cursor) = self.where_clause()?;
        Ok(Statement::Delete { table, alias, condition, cursor })
    }

    fn set(&mut self) -> Parse<Statement> {
        self.next();
        if self.accept("isolation") {
            self.accept("to");
            return self.isolation();
        }
        if self.accept("transaction") {
            if self.accept("read") {
                let mode = if self.accept("only") { "ONLY" } else { "WRITE" };
                if mode == "WRITE" {
                    self.expect("write")?;
                }
                return Ok(Statement::Verbatim(format!("SET TRANSACTION READ {mode}")));
            }
            self.expect("isolation")?;
            self.expect("level")?;
            return self.isolation();
        }
        if self.accept("lock") {
            self.expect("mode")?;
            self.expect("to")?;
            if self.accept("not") {
                self.expect("wait")?;
                return Ok(Statement::Session(Action::LockWait(Some(0))));
            }
            self.expect("wait")?;
            let seconds = if matches!(self.peek(), Token::Number(_)) { Some(self.number()?) } else { None };
            return Ok(Statement::Session(Action::LockWait(seconds)));
        }
        if let Some(statement) = self.other_setting()? {
            return Ok(statement);
        }
        let what = match self.peek() {
            Token::Word(word) => format!("SET {}", word.to_uppercase()),
            _ => return Err(self.unexpected()),
        };
        self.refuse(&what)
    }

    fn isolation(&mut self) -> Parse<Statement> {
        let level = match self.next() {
            Token::Word(word) => word,
            _ => return Err(self.unexpected()),
        };
        let second = if level == "serializable" { String::new() } else { self.identifier()? };
        let name = match (level.as_str(), second.as_str()) {
            // PostgreSQL never shows what is not committed, whatever a client would put up with
            ("dirty", "read")
            | ("committed", "read")
            | ("read", "committed" | "uncommitted")
            | ("cursor", "stability") => "read committed",
            ("repeatable", "read") | ("serializable", "") => "serializable",
            _ => return Err(self.unexpected()),
        };
        if self.accept("last") {
            self.expect("committed")?;
        }
        if self.accept("retain") {
            // locks are held until the transaction ends in any case
            self.expect("update")?;
            self.expect("locks")?;
        }
        Ok(Statement::Isolation(name))
    }

    /// SET of what changes no result here, and of what PostgreSQL has in the same words.
    fn other_setting(&mut self) -> Parse<Option<Statement>> {
        let nothing = Ok(Some(Statement::Session(Action::Nothing)));
        let Token::Word(word) = self.peek().clone() else { return Ok(None) };
        match word.as_str() {
            // how a query is planned, what is written about it, what clients do by themselves
            "explain" | "pdqpriority" | "optimization" | "debug" | "autofree" | "deferred_prepare" | "log"
            | "buffered" | "statement" => {
                self.skip_statement();
                nothing
            }
            "environment" => {
                // those that say how a statement is carried out, not what it gives
                const HARMLESS: [&str; 12] = [
                    "optcompind",
                    "ifx_auto_reprepare",
                    "implicit_pdq",
                    "bound_impl_pdq",
                    "maxscan",
                    "auto_stat_mode",
                    "stmt_cache",
                    "usefs",
                    "use_dwa",
                    "use_sharding",
                    "hdr_txn_scope",
                    "statchange",
                ];
                match self.peek_at(1) {
                    Token::Word(name) if HARMLESS.contains(&name.as_str()) => {
                        self.skip_statement();
                        nothing
                    }
                    Token::Word(name) => {
                        let what = format!("SET ENVIRONMENT {}", name.to_uppercase());
                        self.refuse(&what)
                    }
                    _ => Err(self.unexpected()),
                }
            }
            "no" if self.is_word_at(1, "collation") => {
                self.skip_statement();
                nothing
            }
            "role" => {
                self.next();
                match self.next() {
                    Token::Word(name) if name == "none" => Ok(Some(Statement::Verbatim("SET ROLE NONE".into()))),
                    Token::Word(name) | Token::Quoted(name) | Token::Text(name) => {
                        Ok(Some(Statement::Verbatim(format!("SET ROLE {}", super::print::ident(&name)))))
                    }
                    _ => Err(self.unexpected()),
                }
            }
            "constraints" => {
                self.next();
                let names = match self.accept("all") {
                    true => "ALL".to_string(),
                    false => {
                        let names = self.list(|p| p.identifier())?;
                        super::print::idents(&names)
                    }
                };
                let mode = if self.accept("immediate") {
                    "IMMEDIATE"
                } else if self.accept("deferred") {
                    "DEFERRED"
                } else {
                    return self.refuse("this mode of SET CONSTRAINTS");
                };
                Ok(Some(Statement::Verbatim(format!("SET CONSTRAINTS {names} {mode}"))))
            }
            _ => Ok(None),
        }
    }

    /// Passes over the rest of the statement.
    fn skip_statement(&mut self) {
        while !matches!(self.peek(), Token::End | Token::Sign(";")) {
            work::visit();
            self.next();
        }
    }

    /// Passes over what stands in parentheses, if there is something.
    pub(super) fn skip_parentheses(&mut self) -> Parse<()> {
        if !self.accept_sign("(") {
            return Ok(());
        }
        let mut depth = 1;
        while depth > 0 {
            work::visit();
            match self.next() {
                Token::Sign("(") => depth += 1,
                Token::Sign(")") => depth -= 1,
                Token::End => return Err(self.unexpected()),
                _ => {}
            }
        }
        Ok(())
    }

    fn grant(&mut self) -> Parse<Statement> {
        let revoke = self.next() == Token::Word("revoke".into());
        if self.accept("execute") {
            self.expect("on")?;
            let _ = self.accept("procedure") || self.accept("function") || self.accept("routine");
            let name = self.name()?;
            self.skip_parentheses()?;
            self.expect(if revoke { "from" } else { "to" })?;
            let to = self.grantees()?;
            let option = !revoke && self.accept("with");
            if option {
                self.expect("grant")?;
                self.expect("option")?;
            }
            return Ok(Statement::GrantExecute { revoke, name, to, option });
        }
        const KNOWN: [&str; 7] = ["select", "insert", "update", "delete", "references", "all", "alter"];
        let mut privileges = Vec::new();
        loop {
            work::visit();
            let place = self.place();
            let name = self.identifier()?;
            if !KNOWN.contains(&name.as_str()) || name == "alter" || self.is_sign("(") {
                return Err(Failure::refused(format!("the privilege {}", name.to_uppercase())).at(place));
            }
            privileges.push(name);
            if !self.accept_sign(",") {
                break;
            }
        }
        self.accept("privileges");
        self.expect("on")?;
        let table = self.name()?;
        self.expect(if revoke { "from" } else { "to" })?;
        let to = self.grantees()?;
        let mut option = false;
        if !revoke && self.accept("with") {
            self.expect("grant")?;
            self.expect("option")?;
            option = true;
        }
        if self.is_word("as") {
            return self.refuse("GRANT … AS");
        }
        Ok(Statement::Grant { revoke, privileges, table, to, option })
    }

    fn grantees(&mut self) -> Parse<Vec<String>> {
        self.list(|p| match p.next() {
            Token::Word(name) | Token::Quoted(name) | Token::Text(name) => Ok(name),
            _ => Err(p.unexpected()),
        })
    }

    fn rename(&mut self) -> Parse<Statement> {
        self.next();
        match self.next() {
            Token::Word(kind) if kind == "table" => {
                let table = self.name()?;
                self.expect("to")?;
                Ok(Statement::RenameTable { table, to: self.identifier()? })
            }
            Token::Word(kind) if kind == "sequence" => {
                let name = self.name()?;
                self.expect("to")?;
                Ok(Statement::RenameSequence { name, to: self.identifier()? })
            }
            Token::Word(kind) if kind == "index" => {
                let name = self.name()?;
                self.expect("to")?;
                Ok(Statement::RenameIndex { name, to: self.identifier()? })
            }
            Token::Word(kind) if kind == "column" => {
                // [owner.]table.column
                let first = self.identifier()?;
                self.expect_sign(".")?;
                let second = self.identifier()?;
                let (table, column) = match self.accept_sign(".") {
                    true => (Name { database: None, owner: Some(first), name: second }, self.identifier()?),
                    false => (Name { database: None, owner: None, name: first }, second),
                };
                self.expect("to")?;
                Ok(Statement::RenameColumn { table, column, to: self.identifier()? })
            }
            _ => self.refuse("RENAME of this kind of object"),
        }
    }
}
