//! Expressions, and the types that casts and columns name.

use super::ast::*;
use super::lexer::Token;
use super::parser::Parser;
use super::Parse;
use crate::errors::Failure;
use crate::values::complex::{kept, Complex, Field, Kind};
use crate::values::qualifier::{self, Qualifier};
use crate::values::types::{Type, LONGEST_LVARCHAR, LVARCHAR};
use pgsqlite_types::work;

/// What UNITS takes.
const UNITS: [&str; 7] = ["year", "month", "day", "hour", "minute", "second", "fraction"];

/// Parts of a column's name at most.
const MOST_FIELDS: usize = 16;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parse<Expr> {
        self.nested(|p| p.or())
    }

    fn or(&mut self) -> Parse<Expr> {
        let mut left = self.and()?;
        while self.accept("or") {
            work::visit();
            left = Expr::Binary("OR", Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Parse<Expr> {
        let mut left = self.not()?;
        while self.accept("and") {
            work::visit();
            left = Expr::Binary("AND", Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Parse<Expr> {
        if self.accept("not") {
            let inner = self.nested(|p| p.not())?;
            return Ok(Expr::Unary("NOT", Box::new(inner)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parse<Expr> {
        if self.is_word("exists") && matches!(self.peek_at(1), Token::Sign("(")) {
            self.next();
            self.expect_sign("(")?;
            let query = self.query()?;
            self.expect_sign(")")?;
            return Ok(Expr::Exists(Box::new(query)));
        }
        let left = self.concatenation()?;
        let sign = match self.peek() {
            Token::Sign(sign @ ("=" | "<" | ">" | "<=" | ">=" | "<>")) => Some(*sign),
            Token::Sign("!=") => Some("<>"),
            _ => None,
        };
        if let Some(sign) = sign {
            self.next();
            let quantifier = ["any", "some", "all"].into_iter().find(|q| self.is_word(q));
            if let (Some(quantifier), Token::Sign("(")) = (quantifier, self.peek_at(1)) {
                self.next();
                self.expect_sign("(")?;
                let query = Box::new(self.query()?);
                self.expect_sign(")")?;
                return Ok(Expr::Quantified { value: Box::new(left), sign, all: quantifier == "all", query });
            }
            return Ok(Expr::Binary(sign, Box::new(left), Box::new(self.concatenation()?)));
        }
        if self.accept("is") {
            let not = self.accept("not");
            self.expect("null")?;
            return Ok(Expr::IsNull { value: Box::new(left), not });
        }
        let not = self.is_word("not")
            && ["like", "matches", "between", "in"].into_iter().any(|w| self.is_word_at(1, w))
            && self.accept("not");
        let value = Box::new(left);
        if self.is_word("like") || self.is_word("matches") {
            let matches = self.next() == Token::Word("matches".into());
            let pattern = Box::new(self.concatenation()?);
            let escape = match self.accept("escape") {
                true => Some(Box::new(self.concatenation()?)),
                false => None,
            };
            return Ok(Expr::Like { value, pattern, escape, matches, not });
        }
        if self.accept("between") {
            let low = Box::new(self.concatenation()?);
            self.expect("and")?;
            return Ok(Expr::Between { value, low, high: Box::new(self.concatenation()?), not });
        }
        if self.is_word("in") && !matches!(self.peek_at(1), Token::Sign("(")) {
            self.next();
            return Ok(Expr::Member { value, collection: Box::new(self.primary()?), not });
        }
        if self.accept("in") {
            self.expect_sign("(")?;
            let found = if self.is_word("select") || self.is_word("with") {
                Expr::InQuery { value, query: Box::new(self.query()?), not }
            } else {
                Expr::In { value, list: self.list(|p| p.expression())?, not }
            };
            self.expect_sign(")")?;
            return Ok(found);
        }
        Ok(*value)
    }

    fn concatenation(&mut self) -> Parse<Expr> {
        self.operators(&["||"], Self::sum)
    }

    fn sum(&mut self) -> Parse<Expr> {
        self.operators(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Parse<Expr> {
        self.operators(&["*", "/"], Self::unary)
    }

    /// Operators of one precedence between operands of the next: the left of two comes first.
    fn operators(&mut self, signs: &[&str], operand: fn(&mut Self) -> Parse<Expr>) -> Parse<Expr> {
        let mut left = operand(self)?;
        loop {
            work::visit();
            let sign = match self.peek() {
                Token::Sign(sign) if signs.contains(sign) => *sign,
                _ => return Ok(left),
            };
            self.next();
            left = Expr::Binary(sign, Box::new(left), Box::new(operand(self)?));
        }
    }

    fn unary(&mut self) -> Parse<Expr> {
        if self.accept_sign("+") {
            return self.nested(|p| p.unary());
        }
        if self.accept_sign("-") {
            let inner = self.nested(|p| p.unary())?;
            return Ok(Expr::Unary("-", Box::new(inner)));
        }
        let mut value = self.primary()?;
        loop {
            work::visit();
            if self.accept_sign("::") {
                value = Expr::Cast(Box::new(value), self.data_type()?);
            } else if self.is_sign("[") {
                self.next();
                let from = self.number()?;
                let to = if self.accept_sign(",") { self.number()? } else { from };
                self.expect_sign("]")?;
                if from == 0 || to < from {
                    return Err(self.unexpected());
                }
                value = Expr::Substring(Box::new(value), from, to);
            } else if self.accept("units") {
                let place = self.place();
                let word = self.identifier()?;
                let unit = UNITS.into_iter().find(|u| *u == word).ok_or(Failure::syntax(place))?;
                value = Expr::Units(Box::new(value), unit);
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Parse<Expr> {
        self.nested(|p| p.primary_inner())
    }

    fn primary_inner(&mut self) -> Parse<Expr> {
        match self.peek().clone() {
            Token::Text(text) => {
                self.next();
                Ok(Expr::Text(text))
            }
            Token::Number(text) => {
                self.next();
                Ok(Expr::Number(text))
            }
            Token::Sign("?") => {
                self.next();
                Ok(self.new_parameter())
            }
            Token::Sign("(") => {
                self.next();
                if self.is_word("select") || self.is_word("with") {
                    let query = self.query()?;
                    self.expect_sign(")")?;
                    return Ok(Expr::Query(Box::new(query)));
                }
                let mut values = self.list(|p| p.expression())?;
                self.expect_sign(")")?;
                Ok(if values.len() == 1 { values.remove(0) } else { Expr::Row(values) })
            }
            Token::Word(word) => self.word(&word),
            Token::Quoted(_) => self.column(),
            _ => Err(self.unexpected()),
        }
    }

    fn column(&mut self) -> Parse<Expr> {
        let mut path = vec![self.identifier()?];
        // [owner.][table.]column, and fields of a row in a row behind that
        while path.len() < MOST_FIELDS && self.accept_sign(".") {
            work::visit();
            path.push(self.identifier()?);
        }
        Ok(Expr::Column(path))
    }

    fn word(&mut self, word: &str) -> Parse<Expr> {
        let called = matches!(self.peek_at(1), Token::Sign("("));
        match word {
            "null" => {
                self.next();
                Ok(Expr::Null)
            }
            "today" if !called => {
                self.next();
                Ok(Expr::Today)
            }
            // the role of SET ROLE, if there is one
            "current_role" if !called => {
                self.next();
                let shown = Expr::Call { name: "current_role".into(), arguments: vec![], distinct: false };
                Ok(shown)
            }
            "user" | "current_user" if !called => {
                self.next();
                Ok(Expr::User)
            }
            "sitename" | "dbservername" if !called => {
                self.next();
                Ok(Expr::Server)
            }
            "sysdate" if !called => {
                self.next();
                Ok(Expr::Current(Qualifier::datetime(qualifier::YEAR, 15)))
            }
            "current" if !called => {
                self.next();
                let q = match self.peek() {
                    Token::Word(field) if qualifier::field(field).is_some() => self.qualifier(false)?,
                    _ => Qualifier::datetime(qualifier::YEAR, 13),
                };
                Ok(Expr::Current(q))
            }
            "datetime" | "interval" if called => {
                self.next();
                self.next();
                let is_interval = word == "interval";
                let text = self.raw_literal()?;
                let q = self.qualifier(is_interval)?;
                Ok(if is_interval { Expr::Interval(text, q) } else { Expr::DateTime(text, q) })
            }
            "case" => self.case(),
            "cast" if called => {
                self.next();
                self.next();
                let value = Box::new(self.expression()?);
                self.expect("as")?;
                let ty = self.data_type()?;
                self.expect_sign(")")?;
                Ok(Expr::Cast(value, ty))
            }
            "extend" if called => {
                self.next();
                self.next();
                let value = Box::new(self.expression()?);
                let q = match self.accept_sign(",") {
                    true => self.qualifier(false)?,
                    false => Qualifier::datetime(qualifier::YEAR, 13),
                };
                self.expect_sign(")")?;
                Ok(Expr::Extend(value, q))
            }
            "trim" if called => self.trim(),
            "position" if called => {
                self.next();
                self.next();
                let part = self.concatenation()?;
                self.expect("in")?;
                let arguments = vec![part, self.expression()?];
                self.expect_sign(")")?;
                Ok(Expr::Call { name: "charindex".into(), arguments, distinct: false })
            }
            "overlay" if called => {
                self.next();
                self.next();
                let mut arguments = vec![self.expression()?];
                self.expect("placing")?;
                arguments.push(self.expression()?);
                self.expect("from")?;
                arguments.push(self.expression()?);
                if self.accept("for") {
                    arguments.push(self.expression()?);
                }
                self.expect_sign(")")?;
                Ok(Expr::Call { name: "overlay".into(), arguments, distinct: false })
            }
            "substring" if called => {
                self.next();
                self.next();
                let value = self.expression()?;
                self.expect("from")?;
                let mut arguments = vec![value, self.expression()?];
                if self.accept("for") {
                    arguments.push(self.expression()?);
                }
                self.expect_sign(")")?;
                Ok(Expr::Call { name: "substr".into(), arguments, distinct: false })
            }
            "set" | "multiset" | "list" if matches!(self.peek_at(1), Token::Sign("{")) => self.collection(word),
            "row" if called => {
                self.next();
                self.expect_sign("(")?;
                let fields = self.list(|p| p.expression())?;
                self.expect_sign(")")?;
                Ok(Expr::RowValue(fields))
            }
            _ if called => self.call(word),
            _ => {
                // owner.routine(…)
                if let (Token::Sign("."), Token::Word(name), Token::Sign("(")) =
                    (self.peek_at(1), self.peek_at(2).clone(), self.peek_at(3))
                {
                    if word != "informix" {
                        return Err(Failure::new(-674, 0, name).at(self.place()));
                    }
                    for _owner_and_point in 0..2 {
                        work::visit();
                        self.next();
                    }
                    return self.call(&name);
                }
                self.column()
            }
        }
    }

    /// `SET{1, 2}`
    fn collection(&mut self, word: &str) -> Parse<Expr> {
        self.next();
        let kind = Kind::of_word(word).ok_or_else(|| self.unexpected())?;
        self.expect_sign("{")?;
        let elements = if self.is_sign("}") { vec![] } else { self.list(|p| p.expression())? };
        self.expect_sign("}")?;
        Ok(Expr::Collection(kind, elements))
    }

    fn call(&mut self, name: &str) -> Parse<Expr> {
        self.next();
        self.expect_sign("(")?;
        if name == "count" && self.accept_sign("*") {
            self.expect_sign(")")?;
            return self.window(Expr::CountStar);
        }
        let distinct = self.accept("distinct") || self.accept("unique");
        if !distinct {
            self.accept("all");
        }
        let mut arguments = vec![];
        if !self.is_sign(")") {
            arguments = self.list(|p| p.expression())?;
        }
        self.expect_sign(")")?;
        self.window(Expr::Call { name: name.into(), arguments, distinct })
    }

    /// The call, and what OVER says of it.
    fn window(&mut self, call: Expr) -> Parse<Expr> {
        let ignored = self.is_word("ignore") || self.is_word("respect");
        if ignored && self.is_word_at(1, "nulls") {
            return self.refuse("IGNORE NULLS and RESPECT NULLS");
        }
        if !self.is_word("over") || !matches!(self.peek_at(1), Token::Sign("(")) {
            return Ok(call);
        }
        self.next();
        self.next();
        let (mut partition, mut order, mut frame) = (vec![], vec![], None);
        if self.accept("partition") {
            self.expect("by")?;
            partition = self.list(|p| p.expression())?;
        }
        if self.accept("order") {
            self.expect("by")?;
            order = self.list(Parser::key)?;
        }
        if self.is_word("rows") || self.is_word("range") {
            frame = Some(self.frame()?);
        }
        self.expect_sign(")")?;
        Ok(Expr::Window { call: Box::new(call), partition, order, frame })
    }

    /// `ROWS BETWEEN 1 PRECEDING AND CURRENT ROW`
    fn frame(&mut self) -> Parse<String> {
        const WORDS: [&str; 9] =
            ["rows", "range", "between", "and", "unbounded", "preceding", "following", "current", "row"];
        let mut out = Vec::new();
        while !self.is_sign(")") {
            work::visit();
            match self.peek().clone() {
                Token::Word(word) if WORDS.contains(&word.as_str()) => out.push(word.to_uppercase()),
                Token::Number(n) => out.push(n),
                _ => return Err(self.unexpected()),
            }
            self.next();
        }
        Ok(out.join(" "))
    }

    fn case(&mut self) -> Parse<Expr> {
        self.next();
        let value = if self.is_word("when") { None } else { Some(Box::new(self.expression()?)) };
        let mut branches = Vec::new();
        while self.accept("when") {
            work::visit();
            let condition = self.expression()?;
            self.expect("then")?;
            branches.push((condition, self.expression()?));
        }
        let otherwise = if self.accept("else") { Some(Box::new(self.expression()?)) } else { None };
        self.expect("end")?;
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        Ok(Expr::Case { value, branches, otherwise })
    }

    fn trim(&mut self) -> Parse<Expr> {
        self.next();
        self.next();
        let side = if self.accept("leading") {
            "LEADING"
        } else if self.accept("trailing") {
            "TRAILING"
        } else {
            self.accept("both");
            "BOTH"
        };
        let mut what = None;
        if !self.accept("from") {
            let first = Box::new(self.expression()?);
            if !self.accept("from") {
                self.expect_sign(")")?;
                return Ok(Expr::Trim { side, what: None, value: first });
            }
            what = Some(first);
        }
        let value = Box::new(self.expression()?);
        self.expect_sign(")")?;
        Ok(Expr::Trim { side, what, value })
    }

    /// The text between the parentheses of DATETIME (…) and INTERVAL (…); the closing one is taken.
    fn raw_literal(&mut self) -> Parse<String> {
        let start = self.place();
        while !self.is_sign(")") {
            work::visit();
            if matches!(self.peek(), Token::End) {
                return Err(self.unexpected());
            }
            self.next();
        }
        let text = self.text[start..self.place_behind().max(start)].trim().to_string();
        self.next();
        Ok(text)
    }

    /// `YEAR TO FRACTION(3)`
    pub(super) fn qualifier(&mut self, is_interval: bool) -> Parse<Qualifier> {
        let place = self.place();
        let bad = || Failure::syntax(place);
        let from = qualifier::field(&self.identifier()?).ok_or_else(bad)?;
        let mut precision = None;
        if self.is_sign("(") && (is_interval || from == qualifier::FRACTION) {
            self.next();
            precision = Some(self.number()?);
            self.expect_sign(")")?;
        }
        self.expect("to")?;
        let mut to = qualifier::field(&self.identifier()?).ok_or_else(bad)?;
        if to == qualifier::FRACTION {
            let mut digits = 3;
            if self.accept_sign("(") {
                digits = self.number()?;
                self.expect_sign(")")?;
            }
            if !(1..=5).contains(&digits) {
                return Err(bad());
            }
            to = qualifier::SECOND + digits as u8;
        }
        let one_class = !is_interval || (from <= qualifier::MONTH) == (to <= qualifier::MONTH);
        if to < from || !one_class || from == qualifier::FRACTION && to <= qualifier::SECOND {
            return Err(bad());
        }
        let plain = Qualifier::datetime(from, to);
        match (is_interval, precision) {
            (true, Some(precision)) if (1..=9).contains(&precision) && from != qualifier::FRACTION => {
                Ok(Qualifier { precision: precision as u8, ..plain })
            }
            (true, Some(_)) if from != qualifier::FRACTION => Err(bad()),
            _ => Ok(plain),
        }
    }

    /// A number in parentheses, if there is one.
    fn size(&mut self) -> Parse<Option<u32>> {
        if !self.accept_sign("(") {
            return Ok(None);
        }
        let n = self.number()?;
        self.expect_sign(")")?;
        Ok(Some(n))
    }

    /// `(p)` or `(p,s)`
    fn precision(&mut self) -> Parse<(Option<u32>, Option<u32>)> {
        if !self.accept_sign("(") {
            return Ok((None, None));
        }
        let p = self.number()?;
        let s = if self.accept_sign(",") { Some(self.number()?) } else { None };
        self.expect_sign(")")?;
        Ok((Some(p), s))
    }

    /// The type of the elements of a collection, or of a field of a row.
    fn part_type(&mut self) -> Parse<Type> {
        let place = self.place();
        match self.data_type()? {
            ty @ (Type::Serial | Type::BigSerial | Type::Byte | Type::Text | Type::Blob | Type::Clob) => {
                let what = format!("{} in a collection or row", ty.name().to_uppercase());
                Err(Failure::refused(what).at(place))
            }
            ty => Ok(ty),
        }
    }

    /// The fields of a row type. Errors: two of one name.
    pub(super) fn fields(&mut self) -> Parse<Vec<Field>> {
        let place = self.place();
        let fields = self.list(|p| {
            let (name, ty) = (p.identifier()?, p.nested(|p| p.part_type())?);
            let required = p.accept("not");
            if required {
                p.expect("null")?;
            }
            Ok(Field { name, ty, required })
        })?;
        match fields.iter().enumerate().any(|(i, field)| fields[..i].iter().any(|f| f.name == field.name)) {
            true => Err(Failure::syntax(place)),
            false => Ok(fields),
        }
    }

    /// A type. SERIAL's start is not taken.
    pub(super) fn data_type(&mut self) -> Parse<Type> {
        let place = self.place();
        let bad = || Failure::syntax(place);
        let word = self.identifier()?;
        let size = |n: u32, most: i32| match i32::try_from(n) {
            Ok(n) if (1..=most).contains(&n) => Ok(n),
            _ => Err(bad()),
        };
        Ok(match word.as_str() {
            "char" | "character" if self.accept("varying") => Type::VarChar(size(self.size()?.ok_or_else(bad)?, 255)?),
            "char" | "character" => Type::Char(size(self.size()?.unwrap_or(1), 32767)?),
            "nchar" => Type::NChar(size(self.size()?.unwrap_or(1), 32767)?),
            "varchar" | "nvarchar" => {
                // the least space to reserve says nothing about values
                let (most, _reserved) = self.precision()?;
                let n = size(most.unwrap_or(1), 255)?;
                if word == "varchar" {
                    Type::VarChar(n)
                } else {
                    Type::NVarChar(n)
                }
            }
            "lvarchar" => Type::LVarChar(size(self.size()?.unwrap_or(LVARCHAR as u32), LONGEST_LVARCHAR)?),
            "smallint" => Type::SmallInt,
            "int" | "integer" => Type::Integer,
            "bigint" => Type::BigInt,
            "int8" => Type::Int8,
            "serial" => Type::Serial,
            // stored alike
            "serial8" | "bigserial" => Type::BigSerial,
            "float" | "double" => {
                if word == "double" {
                    self.expect("precision")?;
                } else {
                    self.size()?;
                }
                Type::Float
            }
            "smallfloat" | "real" => Type::SmallFloat,
            "decimal" | "dec" | "numeric" | "money" => {
                let (p, s) = self.precision()?;
                let p = size(p.unwrap_or(16), 32)? as u8;
                let scale = |s: u32| u8::try_from(s).ok().filter(|s| *s <= p).ok_or_else(bad);
                match (word.as_str(), s) {
                    ("money", s) => Type::Money(p, scale(s.unwrap_or(2))?),
                    (_, s) => Type::Decimal(p, s.map(scale).transpose()?),
                }
            }
            "date" => Type::Date,
            "boolean" => Type::Boolean,
            "byte" | "text" => {
                // where its bytes are kept
                if self.accept("in") {
                    self.identifier()?;
                }
                if word == "byte" {
                    Type::Byte
                } else {
                    Type::Text
                }
            }
            "datetime" => Type::DateTime(self.qualifier(false)?),
            "interval" => Type::Interval(self.qualifier(true)?),
            "blob" => Type::Blob,
            "clob" => Type::Clob,
            "set" | "multiset" | "list" => {
                let kind = Kind::of_word(&word).ok_or_else(bad)?;
                self.expect_sign("(")?;
                let element = self.nested(|p| p.part_type())?;
                match element {
                    Type::DateTime(q) if q.is_partial() => return self.refuse("a collection of partial DATETIMEs"),
                    _ => {}
                }
                self.expect("not")?;
                self.expect("null")?;
                self.expect_sign(")")?;
                Type::Complex(kept(Complex::Collection(kind, element))?)
            }
            "row" => {
                self.expect_sign("(")?;
                let fields = self.fields()?;
                self.expect_sign(")")?;
                Type::Complex(kept(Complex::Row(fields))?)
            }
            "collection" | "bson" | "json" => {
                return Err(Failure::refused(format!("the type {}", word.to_uppercase())).at(place));
            }
            _ => match self.types.and_then(|catalog| Complex::named(catalog, &word)) {
                Some(row) => Type::Complex(row),
                None => return Err(Failure::new(-9628, 0, word).at(place)),
            },
        })
    }
}
