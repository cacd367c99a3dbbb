//! SPL's grammar.

use super::*;
use crate::dialect::ast::{Body, Statement};
use crate::dialect::lexer::Token;
use crate::dialect::parser::Parser;
use crate::dialect::Parse;
use crate::errors::Failure;
use pgsqlite_types::work;

/// Statements that SPL has and that are refused by name.
const REFUSED: [&str; 34] = [
    "trace",
    "system",
    "goto",
    "case",
    "begin_work",
    "commit",
    "rollback",
    "savepoint",
    "release",
    "create",
    "drop",
    "alter",
    "rename",
    "grant",
    "revoke",
    "lock",
    "unlock",
    "set",
    "prepare",
    "declare",
    "open",
    "fetch",
    "close",
    "free",
    "info",
    "load",
    "unload",
    "database",
    "describe",
    "output",
    "start",
    "stop",
    "on",
    "with",
];

impl Parser<'_> {
    /// Behind CREATE: FUNCTION, PROCEDURE or TRIGGER, if one of them comes next.
    pub(in crate::dialect) fn create_routine(&mut self) -> Parse<Option<Statement>> {
        // DBA: who made it has no other rights through it here
        if self.is_word("dba") {
            return self.refuse("CREATE DBA");
        }
        for kind in ["function", "procedure"] {
            work::visit();
            if self.is_word(kind) {
                self.next();
                return Ok(Some(Statement::CreateRoutine(Box::new(self.routine(kind)?))));
            }
        }
        if self.accept("trigger") {
            return Ok(Some(Statement::CreateTrigger(Box::new(self.trigger()?))));
        }
        Ok(None)
    }

    /// The parameters and results of a text that [`Parser::routine`] has read before.
    pub(in crate::dialect) fn signature(&mut self) -> Parse<Routine> {
        self.expect("create")?;
        let _ = self.accept("function") || self.accept("procedure");
        self.head()
    }

    /// All but the body.
    fn head(&mut self) -> Parse<Routine> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        self.expect_sign("(")?;
        let parameters = match self.is_sign(")") {
            true => vec![],
            false => self.list(Parser::parameter)?,
        };
        self.expect_sign(")")?;
        let mut returns = vec![];
        if self.accept("returning") || self.accept("returns") {
            returns = self.list(|p| {
                let ty = p.declared()?;
                let name = if p.accept("as") { Some(p.identifier()?) } else { None };
                Ok((ty, name))
            })?;
        }
        if self.is_word("specific") {
            return self.refuse("SPECIFIC names of routines");
        }
        if self.accept("with") {
            self.expect_sign("(")?;
            // how often the server may call it for equal arguments
            self.list(|p| {
                p.accept("not");
                p.expect("variant")
            })?;
            self.expect_sign(")")?;
        }
        Ok(Routine {
            name,
            if_not_exists,
            parameters,
            returns,
            body: Block::default(),
            resumes: false,
            text: String::new(),
        })
    }

    fn routine(&mut self, kind: &str) -> Parse<Routine> {
        let mut routine = self.head()?;
        if self.is_word("external") {
            return self.refuse("a routine of another language than SPL");
        }
        self.accept_sign(";");
        self.in_routine = true;
        routine.body = self.nested(|p| p.block(&["end"]))?;
        self.expect("end")?;
        if !self.accept(kind) {
            return Err(self.unexpected());
        }
        // what others may read of it
        if self.accept("document") {
            self.list(|p| match p.next() {
                Token::Text(_) => Ok(()),
                _ => Err(p.unexpected()),
            })?;
        }
        if self.accept("with") {
            self.expect("listing")?;
            return self.refuse("WITH LISTING IN");
        }
        self.in_routine = false;
        routine.resumes = self.resumes;
        routine.text = self.text.trim().to_string();
        Ok(routine)
    }

    fn parameter(&mut self) -> Parse<Parameter> {
        for way in ["out", "inout", "in"] {
            work::visit();
            if self.is_word(way) && matches!(self.peek_at(2), Token::Word(_)) && !self.is_word_at(1, "default") {
                if way != "in" {
                    return self.refuse("parameters that are OUT or INOUT");
                }
                self.next();
            }
        }
        let name = self.identifier()?;
        let ty = self.declared()?;
        let default = if self.accept("default") { Some(self.expression()?) } else { None };
        Ok(Parameter { name, ty, default })
    }

    /// A type, `LIKE table.column` or REFERENCES TEXT.
    fn declared(&mut self) -> Parse<Declared> {
        if self.accept("like") {
            let first = self.identifier()?;
            self.expect_sign(".")?;
            let second = self.identifier()?;
            let name = |owner, name| Name { database: None, owner, name };
            return Ok(match self.accept_sign(".") {
                true => Declared::Like(name(Some(first), second), self.identifier()?),
                false => Declared::Like(name(None, first), second),
            });
        }
        // large values are passed as others are
        self.accept("references");
        let place = self.place();
        match self.data_type()? {
            ty @ (Type::Serial | Type::BigSerial | Type::Complex(_)) => {
                Err(Failure::refused(format!("{} in SPL", ty.name().to_uppercase())).at(place))
            }
            ty => Ok(Declared::Type(ty)),
        }
    }

    /// Up to one of these words, which is not taken.
    fn block(&mut self, ends: &[&str]) -> Parse<Block> {
        let mut block = Block::default();
        while self.is_word("define") {
            work::visit();
            self.next();
            if self.is_word("global") {
                return self.refuse("DEFINE GLOBAL");
            }
            let names = self.list(|p| p.identifier())?;
            if self.is_word("default") {
                return Err(self.unexpected());
            }
            let ty = self.declared()?;
            self.expect_sign(";")?;
            block.defines.push((names, ty));
        }
        while self.is_word("on") && self.is_word_at(1, "exception") {
            work::visit();
            let handler = self.nested(|p| p.handler())?;
            block.handlers.push(handler);
        }
        block.body = self.steps(ends)?;
        Ok(block)
    }

    fn handler(&mut self) -> Parse<Handler> {
        self.next();
        self.next();
        let mut codes = vec![];
        if self.accept("in") {
            self.expect_sign("(")?;
            codes = self.list(|p| {
                let place = p.place();
                let sign = if p.accept_sign("-") { "-" } else { "" };
                let Token::Number(n) = p.next() else { return Err(Failure::syntax(place)) };
                format!("{sign}{n}").parse().map_err(|_| Failure::syntax(place))
            })?;
            self.expect_sign(")")?;
        }
        let mut set = vec![];
        if self.accept("set") {
            set = self.list(|p| p.identifier())?;
            if set.len() > 3 {
                return Err(self.unexpected());
            }
        }
        let body = self.block(&["end"])?;
        self.expect("end")?;
        self.expect("exception")?;
        let resume = self.accept("with");
        if resume {
            self.expect("resume")?;
        }
        self.accept_sign(";");
        Ok(Handler { codes, set, body, resume })
    }

    fn steps(&mut self, ends: &[&str]) -> Parse<Vec<Step>> {
        let mut out = Vec::new();
        loop {
            work::visit();
            if ends.iter().any(|end| self.is_word(end)) {
                return Ok(out);
            }
            if matches!(self.peek(), Token::End) {
                return Err(self.unexpected());
            }
            if self.accept_sign(";") {
                continue;
            }
            let at = self.place();
            let what = self.nested(|p| p.step())?;
            out.push(Step { at, what });
        }
    }

    /// A statement with its `;`, which may be left out behind END.
    fn step(&mut self) -> Parse<What> {
        let Token::Word(word) = self.peek().clone() else {
            // labels
            return match self.is_sign("<") {
                true => self.refuse("a label"),
                false => Err(self.unexpected()),
            };
        };
        let what = match word.as_str() {
            "begin" if self.is_word_at(1, "work") => return self.refuse("BEGIN WORK in a routine"),
            "begin" => {
                self.next();
                let block = self.block(&["end"])?;
                self.expect("end")?;
                self.accept_sign(";");
                return Ok(What::Block(block));
            }
            "let" => {
                self.next();
                let targets = self.list(|p| p.identifier())?;
                if self.is_sign(".") {
                    return self.refuse("LET of a field");
                }
                self.expect_sign("=")?;
                What::Let(targets, self.list(|p| p.expression())?)
            }
            "if" => return self.if_step(),
            "while" => {
                self.next();
                let condition = self.expression()?;
                return Ok(What::While(condition, self.loop_body("while")?));
            }
            "for" => return self.for_step(),
            "foreach" => return self.foreach(),
            "loop" => {
                self.next();
                return Ok(What::Loop(self.loop_steps("loop")?));
            }
            "exit" | "continue" => {
                self.next();
                let kind = self.loop_kind()?;
                if word == "continue" {
                    What::Continue(kind)
                } else {
                    What::Exit(kind, if self.accept("when") { Some(self.expression()?) } else { None })
                }
            }
            "return" => {
                self.next();
                let values = match self.is_sign(";") || self.is_word("with") {
                    true => vec![],
                    false => self.list(|p| p.expression())?,
                };
                let resume = self.accept("with");
                if resume {
                    self.expect("resume")?;
                    self.resumes = true;
                }
                What::Return(values, resume)
            }
            "raise" => {
                self.next();
                self.expect("exception")?;
                let code = self.expression()?;
                let isam = if self.accept_sign(",") { Some(self.expression()?) } else { None };
                let text = if self.accept_sign(",") { Some(self.expression()?) } else { None };
                What::Raise(code, isam, text)
            }
            "call" | "execute" => {
                if self.is_word_at(1, "immediate") {
                    return self.refuse("EXECUTE IMMEDIATE");
                }
                let (call, into) = self.routine_call()?;
                What::Call(call, into)
            }
            "select" => {
                let query = self.query()?;
                if self.is_word("into") {
                    return self.refuse("SELECT … INTO TEMP in a routine");
                }
                What::Select(Box::new(query))
            }
            "insert" | "update" | "delete" | "merge" | "truncate" => {
                if word == "update" && self.is_word_at(1, "statistics") {
                    return self.refuse("UPDATE STATISTICS in a routine");
                }
                What::Sql(Box::new(self.statement()?))
            }
            "null" => {
                self.next();
                What::Nothing
            }
            word if REFUSED.contains(&word) => {
                let what = format!("{} in a routine", word.to_uppercase());
                return self.refuse(&what);
            }
            _ => return Err(self.unexpected()),
        };
        self.expect_sign(";")?;
        Ok(what)
    }

    fn if_step(&mut self) -> Parse<What> {
        let (mut branches, mut otherwise) = (vec![], vec![]);
        self.next();
        loop {
            work::visit();
            let condition = self.expression()?;
            self.expect("then")?;
            branches.push((condition, self.steps(&["elif", "else", "end"])?));
            if !self.accept("elif") {
                break;
            }
        }
        if self.accept("else") {
            otherwise = self.steps(&["end"])?;
        }
        self.expect("end")?;
        self.expect("if")?;
        self.accept_sign(";");
        Ok(What::If(branches, otherwise))
    }

    /// Statements up to END and the loop's word, or between LOOP and END LOOP.
    fn loop_body(&mut self, word: &str) -> Parse<Vec<Step>> {
        match self.accept("loop") {
            true => self.loop_steps("loop"),
            false => self.loop_steps(word),
        }
    }

    fn loop_steps(&mut self, word: &str) -> Parse<Vec<Step>> {
        let steps = self.steps(&["end"])?;
        self.expect("end")?;
        self.expect(word)?;
        self.accept_sign(";");
        Ok(steps)
    }

    fn loop_kind(&mut self) -> Parse<LoopKind> {
        let kind = match self.peek() {
            Token::Word(word) => match word.as_str() {
                "for" => LoopKind::For,
                "while" => LoopKind::While,
                "foreach" => LoopKind::Foreach,
                "loop" => LoopKind::Loop,
                "when" => return Ok(LoopKind::Any),
                _ => return self.refuse("EXIT and CONTINUE of a label"),
            },
            Token::Sign(";") => return Ok(LoopKind::Any),
            _ => return Err(self.unexpected()),
        };
        self.next();
        Ok(kind)
    }

    fn for_step(&mut self) -> Parse<What> {
        self.next();
        let variable = self.identifier()?;
        let range = |p: &mut Self| {
            if p.is_word("select") {
                return p.refuse("FOR over a SELECT");
            }
            let from = p.expression()?;
            let to = if p.accept("to") { Some(p.expression()?) } else { None };
            let step = if to.is_some() && p.accept("step") { Some(p.expression()?) } else { None };
            Ok(Range { from, to, step })
        };
        let ranges = if self.accept("in") {
            self.expect_sign("(")?;
            let ranges = self.list(range)?;
            self.expect_sign(")")?;
            ranges
        } else {
            self.expect_sign("=")?;
            let range = range(self)?;
            if range.to.is_none() {
                return Err(self.unexpected());
            }
            vec![range]
        };
        Ok(What::For(variable, ranges, self.loop_body("for")?))
    }

    fn foreach(&mut self) -> Parse<What> {
        self.next();
        let mut cursor = None;
        self.with_hold()?;
        if !self.is_word("select") && !self.is_word("execute") {
            cursor = Some(self.identifier()?);
            self.with_hold()?;
            self.expect("for")?;
        }
        if self.is_word("execute") {
            let (call, into) = self.routine_call()?;
            self.accept_sign(";");
            return Ok(What::ForeachCall(call, into, self.loop_body("foreach")?));
        }
        let query = self.query()?;
        self.accept_sign(";");
        Ok(What::Foreach(cursor, Box::new(query), self.loop_body("foreach")?))
    }

    /// A routine has no transactions of its own, so that its cursors outlive none.
    fn with_hold(&mut self) -> Parse<()> {
        if self.accept("with") {
            self.expect("hold")?;
        }
        Ok(())
    }

    /// CALL p(…) [RETURNING …], EXECUTE PROCEDURE p(…) [INTO …]
    pub(in crate::dialect) fn routine_call(&mut self) -> Parse<(Call, Vec<String>)> {
        let returned = if self.next() == Token::Word("call".into()) {
            "returning"
        } else {
            if !(self.accept("procedure") || self.accept("function")) {
                return Err(self.unexpected());
            }
            "into"
        };
        let name = self.name()?;
        let mut arguments = vec![];
        if self.accept_sign("(") {
            if !self.is_sign(")") {
                arguments = self.list(|p| match (p.peek(), p.peek_at(1)) {
                    (Token::Word(_) | Token::Quoted(_), Token::Sign("=")) => {
                        let name = p.identifier()?;
                        p.next();
                        Ok((Some(name), p.expression()?))
                    }
                    _ => Ok((None, p.expression()?)),
                })?;
            }
            self.expect_sign(")")?;
        }
        let into = match self.accept(returned) {
            true => self.list(|p| p.identifier())?,
            false => vec![],
        };
        Ok((Call { name, arguments }, into))
    }

    // --- triggers ------------------------------------------------------------------------------------------------------------

    fn trigger(&mut self) -> Parse<Trigger> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        if self.is_word("instead") || self.is_word("select") {
            return self.refuse("INSTEAD OF and SELECT triggers");
        }
        let event = match self.next() {
            Token::Word(word) if word == "insert" => Event::Insert,
            Token::Word(word) if word == "update" => Event::Update,
            Token::Word(word) if word == "delete" => Event::Delete,
            _ => return Err(self.unexpected()),
        };
        let columns = match self.accept("of") {
            true => self.list(|p| p.identifier())?,
            false => vec![],
        };
        self.expect("on")?;
        let table = self.name()?;
        let (mut old, mut new) = (None, None);
        if self.accept("referencing") {
            while self.is_word("old") || self.is_word("new") {
                work::visit();
                let is_old = self.next() == Token::Word("old".into());
                self.accept("as");
                let name = self.identifier()?;
                *(if is_old { &mut old } else { &mut new }) = Some(name);
                self.accept_sign(",");
            }
        }
        self.in_routine = true;
        let (mut before, mut row, mut after) = (vec![], vec![], vec![]);
        if self.accept("before") {
            before = self.actions()?;
        }
        if self.accept("for") {
            self.expect("each")?;
            self.expect("row")?;
            row = self.actions()?;
        }
        if self.accept("after") {
            after = self.actions()?;
        }
        self.in_routine = false;
        if self.is_word("disabled") {
            return self.refuse("a trigger that is DISABLED");
        }
        self.accept("enabled");
        if before.is_empty() && row.is_empty() && after.is_empty() {
            return Err(self.unexpected());
        }
        let text = self.text.trim().to_string();
        Ok(Trigger { name, if_not_exists, event, columns, table, old, new, before, row, after, text })
    }

    /// `[WHEN (condition)] (statement, …)`, and others behind commas.
    fn actions(&mut self) -> Parse<Vec<Action>> {
        self.list(|p| {
            let mut condition = None;
            if p.accept("when") {
                p.expect_sign("(")?;
                condition = Some(p.expression()?);
                p.expect_sign(")")?;
            }
            p.expect_sign("(")?;
            let statements = p.list(|p| {
                let at = p.place();
                let what = match p.peek() {
                    Token::Word(word) if word == "execute" => {
                        let (call, into) = p.routine_call()?;
                        if p.is_word("with") {
                            return p.refuse("WITH TRIGGER REFERENCES");
                        }
                        What::Call(call, into)
                    }
                    Token::Word(word) if matches!(word.as_str(), "insert" | "update" | "delete" | "merge") => {
                        What::Sql(Box::new(p.statement()?))
                    }
                    _ => return Err(p.unexpected()),
                };
                Ok(Step { at, what })
            })?;
            p.expect_sign(")")?;
            Ok(Action { condition, statements })
        })
    }
}

/// The variables that a query of a routine gives its rows to.
pub(super) fn variables_of(query: &Query) -> &[String] {
    match &query.body {
        Body::Select(select) => &select.into,
        Body::Set(_, left, _) => {
            let mut left = left;
            loop {
                work::visit();
                match &**left {
                    Body::Select(select) => return &select.into,
                    Body::Set(_, inner, _) => left = inner,
                }
            }
        }
    }
}
