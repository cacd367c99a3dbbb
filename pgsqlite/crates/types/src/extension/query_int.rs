//! `query_int`: a condition on the elements of an array of integers, `1 & ( 2 | !3 )`. Stored as TEXT as it is printed.

use crate::buffer::is_space;
use crate::{Datum, PgError, Result, SqlState};

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryInt {
    Has(i32),
    Not(Box<QueryInt>),
    And(Box<QueryInt>, Box<QueryInt>),
    Or(Box<QueryInt>, Box<QueryInt>),
}

fn syntax() -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, "syntax error")
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    /// operators read: each makes the tree, which is walked by recursion, one deeper at most
    operators: usize,
}

fn too_deep() -> PgError {
    PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(|b| is_space(*b)) {
            crate::work::pulse(1);
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Passes an operator.
    fn operator(&mut self) -> Result<()> {
        const MOST: usize = 10_000;
        self.at += 1;
        self.operators += 1;
        match self.operators > MOST {
            true => Err(too_deep()),
            false => Ok(()),
        }
    }

    fn any(&mut self) -> Result<QueryInt> {
        const DEEPEST: usize = 500;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(too_deep());
        }
        let mut left = self.all()?;
        while self.peek() == Some(b'|') {
            crate::work::pulse(1);
            self.operator()?;
            left = QueryInt::Or(Box::new(left), Box::new(self.all()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn all(&mut self) -> Result<QueryInt> {
        let mut left = self.one()?;
        while self.peek() == Some(b'&') {
            crate::work::pulse(1);
            self.operator()?;
            left = QueryInt::And(Box::new(left), Box::new(self.one()?));
        }
        Ok(left)
    }

    fn one(&mut self) -> Result<QueryInt> {
        let mut negations = 0;
        while self.peek() == Some(b'!') {
            crate::work::pulse(1);
            self.operator()?;
            negations += 1;
        }
        let mut out = match self.peek() {
            Some(b'(') => {
                self.at += 1;
                let inner = self.any()?;
                if self.peek() != Some(b')') {
                    return Err(syntax());
                }
                self.at += 1;
                inner
            }
            Some(b'-' | b'0'..=b'9') => {
                let from = self.at;
                self.at += 1;
                while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
                    crate::work::pulse(1);
                    self.at += 1;
                }
                let digits = std::str::from_utf8(&self.text[from..self.at]).map_err(|_| syntax())?;
                QueryInt::Has(digits.parse().map_err(|_| syntax())?)
            }
            _ => return Err(syntax()),
        };
        for _ in 0..negations {
            crate::work::pulse(1);
            out = QueryInt::Not(Box::new(out));
        }
        Ok(out)
    }
}

impl QueryInt {
    /// Reads the text form. Errors: 42601.
    pub fn parse(text: &str) -> Result<QueryInt> {
        let mut parser = Parser { text: text.as_bytes(), at: 0, depth: 0, operators: 0 };
        let query = parser.any()?;
        match parser.peek() {
            None => Ok(query),
            Some(_) => Err(syntax()),
        }
    }

    /// Whether an array that has the elements that `has` tells satisfies the condition.
    pub fn matches(&self, has: &dyn Fn(i32) -> bool) -> bool {
        match self {
            QueryInt::Has(value) => has(*value),
            QueryInt::Not(inner) => !inner.matches(has),
            QueryInt::And(a, b) => a.matches(has) && b.matches(has),
            QueryInt::Or(a, b) => a.matches(has) || b.matches(has),
        }
    }

    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(true, &mut out);
        out
    }

    /// `first`: no parentheses are needed around an OR.
    fn write(&self, first: bool, out: &mut String) {
        match self {
            QueryInt::Has(value) => out.push_str(&value.to_string()),
            QueryInt::Not(inner) => {
                let compound = !matches!(**inner, QueryInt::Has(_));
                out.push_str(if compound { "!( " } else { "!" });
                inner.write(compound, out);
                out.push_str(if compound { " )" } else { "" });
            }
            QueryInt::And(a, b) => {
                a.write(false, out);
                out.push_str(" & ");
                b.write(false, out);
            }
            QueryInt::Or(a, b) => {
                out.push_str(if first { "" } else { "( " });
                a.write(false, out);
                out.push_str(" | ");
                b.write(false, out);
                out.push_str(if first { "" } else { " )" });
            }
        }
    }
}

pub(crate) fn text_in(text: &str) -> Result<Datum> {
    QueryInt::parse(text).map(|q| Datum::Text(q.to_text()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_chains_are_refused_before_they_are_walked() {
        let chains = [
            "!".repeat(1_000_000) + "1",
            "1".to_string() + &"&1".repeat(1_000_000),
            "1".to_string() + &"|1".repeat(1_000_000),
        ];
        for text in chains {
            let error = QueryInt::parse(&text).map(|_| ()).expect_err("too deep");
            assert_eq!(error.code(), SqlState::STATEMENT_TOO_COMPLEX);
        }
        let query = QueryInt::parse(&("1".to_string() + &"&!1".repeat(4000))).expect("is read");
        assert!(!query.matches(&|_| true));
        assert_eq!(QueryInt::parse(&query.to_text()).expect("is read").to_text(), query.to_text());
    }
}
