//! Path expressions, by recursive descent.

use super::lex::{error_at, tokens, Lexeme, Token};
use super::{Arithmetic, Comparison, Conversion, Item, Kind, Method, Path, LAST_LEVEL, PATTERN_CHECK};
use crate::numeric::Numeric;
use crate::work;
use crate::{PgError, Result, SqlState};

/// Most levels of nesting.
const MAX_DEPTH: usize = 200;

/// Reads a path expression. Errors: 42601, 22P02, 2201B, 0A000 for `like_regex` flags that PostgreSQL refuses, too.
pub fn parse(text: &str) -> Result<Path> {
    let tokens = tokens(text)?;
    if tokens.is_empty() {
        return Err(PgError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type jsonpath: \"{text}\""),
        ));
    }
    let mut p = Parser { tokens: &tokens, at: 0, depth: 0 };
    let mut lax = true;
    if p.is_word("strict") {
        lax = false;
        p.at += 1;
    } else if p.is_word("lax") {
        p.at += 1;
    }
    let (root, _) = p.or()?;
    if p.at < tokens.len() {
        return Err(p.error());
    }
    check(&root, false, false)?;
    Ok(Path { lax, root })
}

/// `@` stands only in filters, `last` only in subscripts.
fn check(item: &Item, in_filter: bool, in_subscript: bool) -> Result<()> {
    let wrong = |message: &str| Err(PgError::new(SqlState::SYNTAX_ERROR, message));
    match &item.kind {
        Kind::Current if !in_filter => return wrong("@ is not allowed in root expressions"),
        Kind::Last if !in_subscript => return wrong("LAST is allowed only in array subscripts"),
        Kind::Filter(predicate) => check(predicate, true, in_subscript)?,
        Kind::Elements(list) => {
            for (from, to) in list {
                work::pulse(1);
                check(from, in_filter, true)?;
                if let Some(to) = to {
                    check(to, in_filter, true)?;
                }
            }
        }
        Kind::Not(a) | Kind::IsUnknown(a) | Kind::Exists(a) | Kind::Plus(a) | Kind::Minus(a) => {
            check(a, in_filter, in_subscript)?
        }
        Kind::LikeRegex(a, ..) => check(a, in_filter, in_subscript)?,
        Kind::And(a, b)
        | Kind::Or(a, b)
        | Kind::Compare(_, a, b)
        | Kind::StartsWith(a, b)
        | Kind::Arithmetic(_, a, b) => {
            check(a, in_filter, in_subscript)?;
            check(b, in_filter, in_subscript)?;
        }
        _ => {}
    }
    match &item.next {
        Some(next) => check(next, in_filter, in_subscript),
        None => Ok(()),
    }
}

/// What was read: a value or a predicate.
#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Value,
    Predicate,
    /// a predicate in parentheses, which may be followed by accessors or IS UNKNOWN
    Enclosed,
}

struct Parser<'a> {
    tokens: &'a [Lexeme],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|l| &l.token)
    }
    fn error(&self) -> PgError {
        let shown = self.tokens.get(self.at).map(|l| l.shown.as_str());
        error_at("syntax error", shown.filter(|s| !s.is_empty()))
    }
    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(s)) if *s == symbol)
    }
    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += found as usize;
        found
    }
    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.take_symbol(symbol) {
            return Ok(());
        }
        Err(self.error())
    }
    /// Keywords are written in any case, but for `null`, `true` and `false`.
    fn is_word(&self, word: &str) -> bool {
        match self.peek() {
            Some(Token::Identifier(w)) if matches!(word, "null" | "true" | "false") => w == word,
            Some(Token::Identifier(w)) => w.eq_ignore_ascii_case(word),
            _ => false,
        }
    }
    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += found as usize;
        found
    }
    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) {
            return Ok(());
        }
        Err(self.error())
    }

    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        let result = run(self);
        self.depth -= 1;
        result
    }

    fn or(&mut self) -> Result<(Item, Sort)> {
        let (mut left, mut sort) = self.and()?;
        while self.is_symbol("||") {
            work::pulse(1);
            self.need_predicate(sort)?;
            self.at += 1;
            let (right, right_sort) = self.and()?;
            self.need_predicate(right_sort)?;
            left = Item::new(Kind::Or(Box::new(left), Box::new(right)));
            sort = Sort::Predicate;
        }
        Ok((left, sort))
    }
    fn and(&mut self) -> Result<(Item, Sort)> {
        let (mut left, mut sort) = self.predicate()?;
        while self.is_symbol("&&") {
            work::pulse(1);
            self.need_predicate(sort)?;
            self.at += 1;
            let (right, right_sort) = self.predicate()?;
            self.need_predicate(right_sort)?;
            left = Item::new(Kind::And(Box::new(left), Box::new(right)));
            sort = Sort::Predicate;
        }
        Ok((left, sort))
    }
    fn need_predicate(&self, sort: Sort) -> Result<()> {
        match sort {
            Sort::Value => Err(self.error()),
            _ => Ok(()),
        }
    }

    /// A predicate that is no AND or OR, or a value.
    fn predicate(&mut self) -> Result<(Item, Sort)> {
        if self.take_symbol("!") {
            // what is negated stands in parentheses
            let inner = if self.is_word("exists") { self.exists()? } else { self.enclosed_predicate()? };
            return Ok((Item::new(Kind::Not(Box::new(inner))), Sort::Predicate));
        }
        if self.is_word("exists") {
            return Ok((self.exists()?, Sort::Predicate));
        }
        let (left, sort) = self.sum()?;
        if sort == Sort::Enclosed {
            if self.take_word("is") {
                self.expect_word("unknown")?;
                return Ok((Item::new(Kind::IsUnknown(Box::new(left))), Sort::Predicate));
            }
            return Ok((left, Sort::Predicate));
        }
        let comparison = match self.peek() {
            Some(Token::Symbol("==")) => Comparison::Equal,
            Some(Token::Symbol("!=" | "<>")) => Comparison::NotEqual,
            Some(Token::Symbol("<")) => Comparison::Less,
            Some(Token::Symbol("<=")) => Comparison::LessOrEqual,
            Some(Token::Symbol(">")) => Comparison::Greater,
            Some(Token::Symbol(">=")) => Comparison::GreaterOrEqual,
            Some(Token::Identifier(_)) => return self.word_predicate(left),
            _ => return Ok((left, Sort::Value)),
        };
        self.at += 1;
        let (right, sort) = self.sum()?;
        if sort != Sort::Value {
            return Err(self.error());
        }
        Ok((Item::new(Kind::Compare(comparison, Box::new(left), Box::new(right))), Sort::Predicate))
    }

    /// `starts with`, `like_regex` after a value
    fn word_predicate(&mut self, left: Item) -> Result<(Item, Sort)> {
        if self.take_word("starts") {
            self.expect_word("with")?;
            let initial = match self.peek() {
                Some(Token::String(s)) => Kind::String(s.clone()),
                Some(Token::Variable(v)) => Kind::Variable(v.clone()),
                _ => return Err(self.error()),
            };
            self.at += 1;
            let kind = Kind::StartsWith(Box::new(left), Box::new(Item::new(initial)));
            return Ok((Item::new(kind), Sort::Predicate));
        }
        if self.take_word("like_regex") {
            let pattern = self.string()?;
            let flags = if self.take_word("flag") { flags(&self.string()?)? } else { String::new() };
            if let Some(check) = PATTERN_CHECK.get() {
                check(&pattern, &flags)?;
            }
            return Ok((Item::new(Kind::LikeRegex(Box::new(left), pattern, flags)), Sort::Predicate));
        }
        Ok((left, Sort::Value))
    }
    fn string(&mut self) -> Result<String> {
        let Some(Token::String(s)) = self.peek() else { return Err(self.error()) };
        let s = s.clone();
        self.at += 1;
        Ok(s)
    }

    fn exists(&mut self) -> Result<Item> {
        self.at += 1;
        self.expect("(")?;
        let (inner, sort) = self.deeper(|p| p.sum())?;
        if sort != Sort::Value {
            return Err(self.error());
        }
        self.expect(")")?;
        Ok(Item::new(Kind::Exists(Box::new(inner))))
    }
    fn enclosed_predicate(&mut self) -> Result<Item> {
        self.expect("(")?;
        let (inner, sort) = self.deeper(Self::or)?;
        self.need_predicate(sort)?;
        self.expect(")")?;
        Ok(inner)
    }

    fn sum(&mut self) -> Result<(Item, Sort)> {
        self.chain(&[("+", Arithmetic::Add), ("-", Arithmetic::Subtract)], Self::product)
    }
    fn product(&mut self) -> Result<(Item, Sort)> {
        let operators = [("*", Arithmetic::Multiply), ("/", Arithmetic::Divide), ("%", Arithmetic::Modulo)];
        self.chain(&operators, Self::signed)
    }
    fn chain(
        &mut self,
        operators: &[(&str, Arithmetic)],
        operand: fn(&mut Self) -> Result<(Item, Sort)>,
    ) -> Result<(Item, Sort)> {
        let (mut left, sort) = operand(self)?;
        while let Some((_, operator)) = operators.iter().find(|(symbol, _)| self.is_symbol(symbol)) {
            work::pulse(1);
            if sort != Sort::Value {
                return Err(self.error());
            }
            self.at += 1;
            let (right, right_sort) = operand(self)?;
            if right_sort != Sort::Value {
                return Err(self.error());
            }
            left = Item::new(Kind::Arithmetic(*operator, Box::new(left), Box::new(right)));
        }
        Ok((left, sort))
    }
    fn signed(&mut self) -> Result<(Item, Sort)> {
        let minus = self.is_symbol("-");
        if !minus && !self.is_symbol("+") {
            return self.accessors();
        }
        self.at += 1;
        let (inner, sort) = self.deeper(Self::signed)?;
        if sort != Sort::Value {
            return Err(self.error());
        }
        // The sign of a number is part of it.
        if let (Kind::Number(n), None) = (&inner.kind, &inner.next) {
            let n = if minus { n.neg() } else { n.clone() };
            return Ok((Item::new(Kind::Number(n)), Sort::Value));
        }
        let inner = Box::new(inner);
        Ok((Item::new(if minus { Kind::Minus(inner) } else { Kind::Plus(inner) }), Sort::Value))
    }

    fn accessors(&mut self) -> Result<(Item, Sort)> {
        let (mut item, mut sort) = self.primary()?;
        loop {
            work::pulse(1);
            let step = match self.peek() {
                Some(Token::Symbol(".")) => self.member()?,
                Some(Token::Symbol("[")) => self.subscript()?,
                Some(Token::Symbol("?")) => {
                    self.at += 1;
                    Kind::Filter(Box::new(self.enclosed_predicate()?))
                }
                _ => return Ok((item, sort)),
            };
            item.append(Item::new(step));
            sort = Sort::Value;
        }
    }

    fn primary(&mut self) -> Result<(Item, Sort)> {
        if self.take_symbol("(") {
            let (inner, sort) = self.deeper(Self::or)?;
            self.expect(")")?;
            return Ok((inner, if sort == Sort::Value { Sort::Value } else { Sort::Enclosed }));
        }
        let kind = match self.peek() {
            Some(Token::Symbol("$")) => Kind::Root,
            Some(Token::Symbol("@")) => Kind::Current,
            Some(Token::String(s)) => Kind::String(s.clone()),
            Some(Token::Variable(v)) => Kind::Variable(v.clone()),
            Some(Token::Number(text, _)) => Kind::Number(Numeric::from_text(text)?),
            _ if self.is_word("null") => Kind::Null,
            _ if self.is_word("true") => Kind::Bool(true),
            _ if self.is_word("false") => Kind::Bool(false),
            _ if self.is_word("last") => Kind::Last,
            _ => return Err(self.error()),
        };
        self.at += 1;
        Ok((Item::new(kind), Sort::Value))
    }

    /// What follows a `.`
    fn member(&mut self) -> Result<Kind> {
        self.at += 1;
        if self.take_symbol("**") {
            return self.levels();
        }
        if self.take_symbol("*") {
            return Ok(Kind::AnyKey);
        }
        let (name, quoted) = match self.peek() {
            Some(Token::Identifier(name)) => (name.clone(), false),
            Some(Token::String(name)) => (name.clone(), true),
            _ => return Err(self.error()),
        };
        self.at += 1;
        if quoted || !self.is_symbol("(") {
            return Ok(Kind::Key(name));
        }
        let method = match name.to_ascii_lowercase().as_str() {
            "type" => Method::Type,
            "size" => Method::Size,
            "abs" => Method::Abs,
            "floor" => Method::Floor,
            "ceiling" => Method::Ceiling,
            "double" => Method::Double,
            "keyvalue" => Method::KeyValue,
            "datetime" => {
                self.at += 1;
                let template = if self.is_symbol(")") { None } else { Some(self.string()?) };
                self.expect(")")?;
                return Ok(Kind::DateTime(template));
            }
            name => match Conversion::named(name) {
                Some(conversion) => return self.conversion(conversion),
                None => return Err(self.error()),
            },
        };
        self.at += 1;
        self.expect(")")?;
        Ok(Kind::Method(method))
    }

    /// The numbers in the parentheses of a conversion.
    fn conversion(&mut self, conversion: Conversion) -> Result<Kind> {
        self.at += 1;
        let mut arguments = Vec::new();
        let is_decimal = conversion == Conversion::Decimal;
        while conversion.most_arguments() > 0 && !self.is_symbol(")") {
            work::pulse(1);
            let negative = is_decimal && self.is_symbol("-");
            if is_decimal && (negative || self.is_symbol("+")) {
                self.at += 1;
            }
            let Some(Token::Number(text, true)) = self.peek() else { return Err(self.error()) };
            let number = Numeric::from_text(text)?;
            arguments.push(if negative { number.neg() } else { number });
            self.at += 1;
            if !is_decimal || !self.take_symbol(",") {
                break;
            }
            if self.is_symbol(")") {
                return Err(self.error());
            }
        }
        self.expect(")")?;
        if arguments.len() > conversion.most_arguments() {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "invalid input syntax for type jsonpath")
                .detail(".decimal() can only have an optional precision[,scale]."));
        }
        Ok(Kind::Convert(conversion, arguments))
    }

    /// What follows `**`
    fn levels(&mut self) -> Result<Kind> {
        if !self.take_symbol("{") {
            return Ok(Kind::AnyLevel { first: 0, last: LAST_LEVEL });
        }
        let first = self.level()?;
        let last = if self.take_word("to") { self.level()? } else { first };
        self.expect("}")?;
        Ok(Kind::AnyLevel { first, last })
    }
    fn level(&mut self) -> Result<u32> {
        if self.take_word("last") {
            return Ok(LAST_LEVEL);
        }
        let Some(Token::Number(text, true)) = self.peek() else { return Err(self.error()) };
        let level = text.parse().map_err(|_| {
            PgError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("value \"{text}\" is out of range for type integer"),
            )
        })?;
        self.at += 1;
        Ok(level)
    }

    fn subscript(&mut self) -> Result<Kind> {
        self.at += 1;
        if self.take_symbol("*") {
            self.expect("]")?;
            return Ok(Kind::AnyElement);
        }
        let mut list = Vec::new();
        loop {
            work::pulse(1);
            let from = self.index()?;
            let to = if self.take_word("to") { Some(self.index()?) } else { None };
            list.push((from, to));
            if !self.take_symbol(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(Kind::Elements(list))
    }
    fn index(&mut self) -> Result<Item> {
        let (item, sort) = self.deeper(|p| p.sum())?;
        if sort != Sort::Value {
            return Err(self.error());
        }
        Ok(item)
    }
}

/// The flags of `like_regex`, each once and in the order in which they are printed.
fn flags(given: &str) -> Result<String> {
    for c in given.chars() {
        work::pulse(1);
        match c {
            'i' | 's' | 'm' | 'q' => {}
            'x' => {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "XQuery \"x\" flag (expanded regular expressions) is not implemented",
                ))
            }
            c => {
                return Err(PgError::new(SqlState::SYNTAX_ERROR, "invalid input syntax for type jsonpath")
                    .detail(format!("Unrecognized flag character \"{c}\" in LIKE_REGEX predicate.")))
            }
        }
    }
    Ok(['i', 's', 'm', 'q'].iter().filter(|f| given.contains(**f)).collect())
}
