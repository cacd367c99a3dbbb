//! Queries: SELECT with SKIP and FIRST, both kinds of outer joins, set operations.

use super::ast::*;
use super::lexer::Token;
use super::parser::Parser;
use super::Parse;
use pgsqlite_types::work;

/// Words that end a table's name or an item, so that they are not taken for its alias.
const CLAUSES: [&str; 27] = [
    "where",
    "group",
    "having",
    "order",
    "union",
    "intersect",
    "minus",
    "except",
    "into",
    "for",
    "left",
    "right",
    "inner",
    "full",
    "cross",
    "natural",
    "join",
    "on",
    "outer",
    "limit",
    "from",
    "set",
    "values",
    "with",
    "select",
    "start",
    "connect",
];

/// Words that begin a statement of SPL.
const STATEMENTS: [&str; 22] = [
    "begin", "call", "continue", "define", "delete", "end", "execute", "exit", "for", "foreach", "if", "insert", "let",
    "loop", "merge", "null", "raise", "return", "select", "truncate", "update", "while",
];

impl Parser<'_> {
    pub(super) fn query(&mut self) -> Parse<Query> {
        self.nested(|p| p.query_inner())
    }

    fn query_inner(&mut self) -> Parse<Query> {
        let mut with = Vec::new();
        if self.accept("with") {
            if self.is_word("recursive") {
                return self.refuse("WITH RECURSIVE");
            }
            with = self.list(|p| {
                let name = p.identifier()?;
                let columns = if p.is_sign("(") { p.names_in_parentheses()? } else { vec![] };
                p.expect("as")?;
                p.expect_sign("(")?;
                let query = p.query()?;
                p.expect_sign(")")?;
                Ok((name, columns, query))
            })?;
        }
        let mut body = self.term()?;
        loop {
            work::visit();
            let operator = if self.accept("union") {
                if self.accept("all") {
                    "UNION ALL"
                } else {
                    "UNION"
                }
            } else if self.accept("intersect") {
                "INTERSECT"
            } else if self.accept("minus") || self.accept("except") {
                "EXCEPT"
            } else {
                break;
            };
            body = Body::Set(operator, Box::new(body), Box::new(self.term()?));
        }
        let mut query = Query { with, body, order: vec![], limit: None, for_update: false };
        if self.accept("order") {
            if self.is_word("siblings") {
                return self.refuse("ORDER SIBLINGS BY");
            }
            self.expect("by")?;
            query.order = self.list(Parser::key)?;
        }
        if self.accept("limit") {
            query.limit = Some(self.amount()?);
        }
        if self.accept("for") {
            if self.accept("read") {
                self.expect("only")?;
            } else {
                self.expect("update")?;
                query.for_update = true;
                if self.accept("of") {
                    self.list(|p| p.identifier())?;
                }
            }
        }
        if self.is_word("with") && matches!(self.peek_at(1), Token::Word(w) if w == "hold") {
            return self.refuse("WITH HOLD in a statement");
        }
        Ok(query)
    }

    /// A key of ORDER BY.
    pub(super) fn key(&mut self) -> Parse<Key> {
        let value = self.expression()?;
        let descending = self.accept("desc");
        if !descending {
            self.accept("asc");
        }
        let mut nulls_first = None;
        if self.accept("nulls") {
            nulls_first = Some(self.accept("first"));
            if nulls_first == Some(false) {
                self.expect("last")?;
            }
        }
        Ok(Key { value, descending, nulls_first })
    }

    fn term(&mut self) -> Parse<Body> {
        if self.accept_sign("(") {
            let body = self.nested(|p| p.term())?;
            self.expect_sign(")")?;
            return Ok(body);
        }
        Ok(Body::Select(self.select()?))
    }

    /// The n of FIRST n.
    fn amount(&mut self) -> Parse<Expr> {
        if self.accept_sign("?") {
            return Ok(self.new_parameter());
        }
        Ok(Expr::Number(self.number()?.to_string()))
    }

    /// Whether a number (or `?`) follows the next word.
    fn is_amount(&self, word: &str) -> bool {
        self.is_word(word) && matches!(self.peek_at(1), Token::Number(_) | Token::Sign("?"))
    }

    fn select(&mut self) -> Parse<Select> {
        self.expect("select")?;
        let mut select = Select::default();
        if self.is_amount("skip") {
            self.next();
            select.skip = Some(self.amount()?);
        }
        if self.is_amount("first") || self.is_amount("limit") {
            self.next();
            select.first = Some(self.amount()?);
        }
        if !self.accept("all") {
            select.distinct = self.accept("distinct") || self.accept("unique");
        }
        select.items = self.list(|p| p.item())?;
        if self.in_routine && self.accept("into") {
            if self.is_word("temp") {
                return self.refuse("SELECT … INTO TEMP in a routine");
            }
            select.into = self.list(|p| p.identifier())?;
        }
        if self.accept("from") {
            select.from = self.list(|p| p.source())?;
        }
        if self.accept("where") {
            select.condition = Some(self.expression()?);
        }
        if self.is_word("connect") || self.is_word("start") {
            return self.refuse("CONNECT BY");
        }
        if self.accept("group") {
            self.expect("by")?;
            select.group = self.list(|p| p.expression())?;
        }
        if self.accept("having") {
            select.having = Some(self.expression()?);
        }
        Ok(select)
    }

    fn item(&mut self) -> Parse<Item> {
        if self.accept_sign("*") {
            return Ok(Item::Star(None));
        }
        if let (Token::Word(name) | Token::Quoted(name), Token::Sign("."), Token::Sign("*")) =
            (self.peek().clone(), self.peek_at(1), self.peek_at(2))
        {
            for _name_point_star in 0..3 {
                work::visit();
                self.next();
            }
            return Ok(Item::Star(Some(name)));
        }
        let value = self.expression()?;
        Ok(Item::Expr(value, self.alias()?))
    }

    fn alias(&mut self) -> Parse<Option<String>> {
        if self.accept("as") {
            return Ok(Some(self.identifier()?));
        }
        Ok(match self.peek() {
            // a statement of FOREACH's body may come behind its query
            Token::Word(word) if self.in_routine && STATEMENTS.contains(&word.as_str()) => None,
            Token::Word(word) if !CLAUSES.contains(&word.as_str()) => Some(self.identifier()?),
            Token::Quoted(_) => Some(self.identifier()?),
            _ => None,
        })
    }

    /// A table with what is joined to it.
    pub(super) fn source(&mut self) -> Parse<Source> {
        let mut left = self.primary_source()?;
        loop {
            work::visit();
            let kind = if self.accept("inner") {
                self.expect("join")?;
                "JOIN"
            } else if self.accept("join") {
                "JOIN"
            } else if self.accept("cross") {
                self.expect("join")?;
                "CROSS JOIN"
            } else if self.is_word("left") || self.is_word("right") || self.is_word("full") {
                let Token::Word(side) = self.next() else { return Err(self.unexpected()) };
                self.accept("outer");
                self.expect("join")?;
                match side.as_str() {
                    "left" => "LEFT JOIN",
                    "right" => "RIGHT JOIN",
                    _ => "FULL JOIN",
                }
            } else if self.is_word("natural") {
                return self.refuse("NATURAL JOIN");
            } else {
                return Ok(left);
            };
            let right = self.primary_source()?;
            let on = match kind {
                "CROSS JOIN" => None,
                _ => {
                    self.expect("on")?;
                    Some(self.expression()?)
                }
            };
            left = Source::Join { kind, left: Box::new(left), right: Box::new(right), on };
        }
    }

    fn primary_source(&mut self) -> Parse<Source> {
        self.nested(|p| p.primary_source_inner())
    }

    fn primary_source_inner(&mut self) -> Parse<Source> {
        if self.accept("outer") {
            if self.accept_sign("(") {
                let inner = self.list(|p| p.source())?;
                self.expect_sign(")")?;
                return Ok(Source::Outer(inner));
            }
            return Ok(Source::Outer(vec![self.primary_source()?]));
        }
        if self.is_word("table") && matches!(self.peek_at(1), Token::Sign("(")) {
            return self.refuse("FROM TABLE(…)");
        }
        if self.accept_sign("(") {
            if self.is_word("select") || self.is_word("with") || self.is_sign("(") {
                let query = Box::new(self.query()?);
                self.expect_sign(")")?;
                let alias = self.alias()?;
                let columns = if alias.is_some() && self.is_sign("(") { self.names_in_parentheses()? } else { vec![] };
                return Ok(Source::Query { query, alias, columns });
            }
            let source = self.source()?;
            self.expect_sign(")")?;
            return Ok(source);
        }
        let name = self.name()?;
        let alias = self.alias()?;
        Ok(Source::Table { name, alias, columns: vec![] })
    }
}
