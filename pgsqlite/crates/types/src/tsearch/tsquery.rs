//! `tsquery`: lexemes joined by `!`, `<->`, `&` and `|`.

use super::lexeme::{is_space, Reader};
use super::vector::{quote, zero_terminated};
use super::{LAST_POSITION, LONGEST_LEXEME};
use crate::buffer::{int, Reader as Binary};
use crate::{Datum, DatumRef, PgError, Result, SqlState};
use std::cmp::Ordering;

/// Deeper queries are refused.
const DEEPEST: usize = 2000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    pub text: String,
    /// bit 0 is D, bit 3 is A; 0: any weight
    pub weights: u8,
    pub prefix: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Operand(Operand),
    /// a stop word, until [`Query::without_stop_words`]
    Stop,
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    /// left, right, how many positions lie between them
    Phrase(Box<Node>, Box<Node>, u16),
}

/// None: the query without lexemes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query(pub Option<Node>);

/// What joins operands that one operand of the text has become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Not,
    And,
    Or,
    Phrase(u16),
}

impl Operator {
    /// What binds tighter is more.
    fn priority(self) -> u8 {
        match self {
            Operator::Or => 1,
            Operator::And => 2,
            Operator::Phrase(_) => 3,
            Operator::Not => 4,
        }
    }
}

/// Operands and operators in the order of evaluation make the tree.
#[derive(Default)]
pub struct Builder {
    nodes: Vec<Node>,
    depth: usize,
}

impl Builder {
    pub fn operand(&mut self, text: String, weights: u8, prefix: bool) -> Result<()> {
        if text.len() > LONGEST_LEXEME {
            return Err(PgError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("word is too long in tsquery: \"{text}\""),
            ));
        }
        self.nodes.push(Node::Operand(Operand { text, weights, prefix }));
        Ok(())
    }
    pub fn stop(&mut self) {
        self.nodes.push(Node::Stop);
    }
    pub fn operator(&mut self, operator: Operator) -> Result<()> {
        let missing = || PgError::internal("an operator without operands");
        let right = Box::new(self.nodes.pop().ok_or_else(missing)?);
        let node = match operator {
            Operator::Not => Node::Not(right),
            _ => {
                let left = Box::new(self.nodes.pop().ok_or_else(missing)?);
                match operator {
                    Operator::And => Node::And(left, right),
                    Operator::Or => Node::Or(left, right),
                    Operator::Phrase(distance) => Node::Phrase(left, right, distance),
                    Operator::Not => return Err(missing()),
                }
            }
        };
        self.nodes.push(node);
        Ok(())
    }
    /// The tree; None: nothing was pushed. Several parts that nothing joined are an error of the caller's.
    pub fn finish(mut self) -> Result<Query> {
        match self.nodes.len() {
            0 => Ok(Query(None)),
            1 => Ok(Query(self.nodes.pop())),
            _ => Err(PgError::internal("a query of several parts")),
        }
    }
}

/// What becomes of an operand of the text: pushes it (or what stands for it) to the builder.
pub type PushOperand<'a> = &'a mut dyn FnMut(&mut Builder, String, u8, bool) -> Result<()>;

/// Reads the text form. Errors: 42601, 22023 (distance), 54000, 54001.
pub fn parse(text: &str, push: PushOperand) -> Result<Query> {
    let mut reader = Reader { text, at: 0, query: true };
    let mut builder = Builder::default();
    let mut open = 0;
    let mut first = true;
    level(&mut reader, &mut builder, &mut open, &mut first, push)?;
    builder.finish()
}

/// Pushes the waiting operators that bind as tight as this one or tighter.
pub fn settle(builder: &mut Builder, waiting: &mut Vec<Operator>, next: Operator) -> Result<()> {
    while let Some(top) = waiting.last() {
        crate::work::pulse(1);
        // NOT is right-associative, unlike the others
        let stays = match next {
            Operator::Not => next.priority() >= top.priority(),
            _ => next.priority() > top.priority(),
        };
        if stays {
            break;
        }
        let top = *top;
        waiting.pop();
        builder.operator(top)?;
    }
    Ok(())
}

/// What is between two brackets, or the whole.
fn level(r: &mut Reader, builder: &mut Builder, open: &mut usize, first: &mut bool, push: PushOperand) -> Result<()> {
    builder.depth += 1;
    if builder.depth > DEEPEST {
        return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
    }
    let mut waiting: Vec<Operator> = Vec::new();
    let mut operand_due = true;
    loop {
        crate::work::pulse(1);
        while r.peek().is_some_and(is_space) {
            crate::work::pulse(1);
            r.next();
        }
        let c = r.peek();
        if operand_due {
            match c {
                Some('!') => {
                    r.next();
                    *first = false;
                    settle(builder, &mut waiting, Operator::Not)?;
                    waiting.push(Operator::Not);
                    if waiting.len() > DEEPEST {
                        return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
                    }
                }
                Some('(') => {
                    r.next();
                    *first = false;
                    *open += 1;
                    level(r, builder, open, first, push)?;
                    operand_due = false;
                }
                Some(':') => return Err(r.syntax_error()),
                None if *first => return Ok(()),
                None => {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, format!("no operand in tsquery: \"{}\"", r.text)))
                }
                Some(_) => {
                    let read = r.lexeme()?.ok_or_else(|| r.syntax_error())?;
                    *first = false;
                    let (weights, prefix) = restrictions(r);
                    push(builder, read.text, weights, prefix)?;
                    operand_due = false;
                }
            }
            continue;
        }
        let operator = match c {
            Some('&') => {
                r.next();
                Operator::And
            }
            Some('|') => {
                r.next();
                Operator::Or
            }
            Some('<') => Operator::Phrase(distance(r)?),
            Some(')') if *open > 0 => {
                r.next();
                *open -= 1;
                break;
            }
            None if *open == 0 => break,
            _ => return Err(r.syntax_error()),
        };
        settle(builder, &mut waiting, operator)?;
        waiting.push(operator);
        operand_due = true;
    }
    while let Some(operator) = waiting.pop() {
        crate::work::pulse(1);
        builder.operator(operator)?;
    }
    builder.depth -= 1;
    Ok(())
}

/// `:*AB` behind an operand.
fn restrictions(r: &mut Reader) -> (u8, bool) {
    let (mut weights, mut prefix) = (0, false);
    if r.peek() != Some(':') {
        return (0, false);
    }
    r.next();
    loop {
        crate::work::pulse(1);
        match r.peek() {
            Some('a' | 'A') => weights |= 8,
            Some('b' | 'B') => weights |= 4,
            Some('c' | 'C') => weights |= 2,
            Some('d' | 'D') => weights |= 1,
            Some('*') => prefix = true,
            _ => return (weights, prefix),
        }
        r.next();
    }
}

/// `<->` or `<2>`. Errors: 22023 for a distance that is too long.
fn distance(r: &mut Reader) -> Result<u16> {
    r.next();
    if r.peek() == Some('-') {
        r.next();
        return match r.next() {
            Some('>') => Ok(1),
            _ => Err(r.syntax_error()),
        };
    }
    let from = r.at;
    while r.peek().is_some_and(|c| c.is_ascii_digit()) {
        crate::work::pulse(1);
        r.next();
    }
    let digits = &r.text[from..r.at];
    if digits.is_empty() {
        return Err(r.syntax_error());
    }
    let number = digits.parse::<u64>().unwrap_or(u64::MAX);
    if number > u64::from(LAST_POSITION) + 1 {
        return Err(too_far());
    }
    match r.next() {
        Some('>') => Ok(number as u16),
        _ => Err(r.syntax_error()),
    }
}

fn too_far() -> PgError {
    PgError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!(
            "distance in phrase operator must be an integer value between zero and {} inclusive",
            LAST_POSITION + 1
        ),
    )
}

impl Node {
    fn operator(&self) -> Option<Operator> {
        match self {
            Node::Operand(_) | Node::Stop => None,
            Node::Not(_) => Some(Operator::Not),
            Node::And(..) => Some(Operator::And),
            Node::Or(..) => Some(Operator::Or),
            Node::Phrase(_, _, distance) => Some(Operator::Phrase(*distance)),
        }
    }

    /// The operands, right ones first: PostgreSQL's order.
    pub fn children(&self) -> Vec<&Node> {
        match self {
            Node::Operand(_) | Node::Stop => vec![],
            Node::Not(a) => vec![a],
            Node::And(a, b) | Node::Or(a, b) | Node::Phrase(a, b, _) => vec![b, a],
        }
    }

    /// How many lexemes and operators there are.
    pub fn count(&self) -> usize {
        1 + self.children().into_iter().map(Node::count).sum::<usize>()
    }

    /// All lexemes, in PostgreSQL's order.
    pub fn operands<'n>(&'n self, out: &mut Vec<&'n Operand>) {
        if let Node::Operand(operand) = self {
            out.push(operand);
        }
        self.children().into_iter().for_each(|c| c.operands(out));
    }

    /// Appends the text. `outer`: how tight what is around binds; `right`: it is the right side of a phrase; `whole`: with the brackets
    /// that tell `a & (b & c)` from `a & b & c`, which PostgreSQL keeps and does not show.
    fn write(&self, outer: u8, right: bool, whole: bool, out: &mut Vec<u8>) {
        let Some(operator) = self.operator() else {
            if let Node::Operand(operand) = self {
                write_operand(operand, out);
            }
            return;
        };
        let priority = operator.priority();
        // the sides of a phrase cannot change places
        let brackets = priority < outer || matches!(operator, Operator::Phrase(_)) && right;
        if brackets {
            out.extend_from_slice(b"( ");
        }
        match self {
            Node::Not(inner) => {
                out.push(b'!');
                inner.write(priority, false, whole, out);
            }
            Node::And(a, b) | Node::Or(a, b) | Node::Phrase(a, b, _) => {
                a.write(priority, false, whole, out);
                match operator {
                    Operator::And => out.extend_from_slice(b" & "),
                    Operator::Or => out.extend_from_slice(b" | "),
                    Operator::Phrase(1) => out.extend_from_slice(b" <-> "),
                    Operator::Phrase(n) => {
                        out.extend_from_slice(b" <");
                        int(out, n);
                        out.extend_from_slice(b"> ");
                    }
                    Operator::Not => {}
                }
                let tighter = u8::from(whole && b.operator() == Some(operator));
                b.write(priority + tighter, matches!(operator, Operator::Phrase(_)), whole, out);
            }
            Node::Operand(_) | Node::Stop => {}
        }
        if brackets {
            out.extend_from_slice(b" )");
        }
    }

    /// What is left without stop words, and how far apart the words beside them are now: (node, left, right).
    fn without_stop_words(self) -> (Option<Node>, u16, u16) {
        let together = |a: u16, b: u16| a.saturating_add(b);
        match self {
            Node::Operand(_) => (Some(self), 0, 0),
            Node::Stop => (None, 0, 0),
            Node::Not(inner) => {
                let (inner, left, right) = inner.without_stop_words();
                (inner.map(|i| Node::Not(Box::new(i))), left, right)
            }
            Node::And(..) | Node::Or(..) => {
                let is_and = matches!(self, Node::And(..));
                let (Node::And(a, b) | Node::Or(a, b)) = self else { return (None, 0, 0) };
                let (a, a_left, a_right) = a.without_stop_words();
                let (b, b_left, b_right) = b.without_stop_words();
                match (a, b) {
                    (None, None) => (None, a_left.max(b_left), a_left.max(b_left)),
                    (None, b) => (b, b_left, b_right),
                    (a, None) => (a, a_left, a_right),
                    (Some(a), Some(b)) if is_and => (Some(Node::And(Box::new(a), Box::new(b))), 0, 0),
                    (Some(a), Some(b)) => (Some(Node::Or(Box::new(a), Box::new(b))), 0, 0),
                }
            }
            Node::Phrase(a, b, distance) => {
                let (a, a_left, a_right) = a.without_stop_words();
                let (b, b_left, b_right) = b.without_stop_words();
                match (a, b) {
                    (None, None) => {
                        let all = together(together(a_left, distance), b_left);
                        (None, all, all)
                    }
                    (None, b) => (b, together(together(a_left, distance), b_left), b_right),
                    (a, None) => (a, a_left, together(together(a_right, distance), b_right)),
                    (Some(a), Some(b)) => {
                        let distance = together(together(distance, a_right), b_left);
                        (Some(Node::Phrase(Box::new(a), Box::new(b), distance)), a_left, b_right)
                    }
                }
            }
        }
    }

    /// The part that an index can look for: without what is negated.
    fn positive(&self) -> Option<Node> {
        let both = |a: &Node, b: &Node, join: &dyn Fn(Box<Node>, Box<Node>) -> Node| match (a.positive(), b.positive())
        {
            (Some(a), Some(b)) => Some(join(Box::new(a), Box::new(b))),
            (a, b) => a.or(b),
        };
        match self {
            Node::Operand(_) => Some(self.clone()),
            Node::Stop | Node::Not(_) => None,
            Node::Or(a, b) => Some(Node::Or(Box::new(a.positive()?), Box::new(b.positive()?))),
            Node::And(a, b) => both(a, b, &Node::And),
            Node::Phrase(a, b, n) => both(a, b, &|a, b| Node::Phrase(a, b, *n)),
        }
    }

    fn compare(&self, other: &Node) -> Ordering {
        let kind = |n: &Node| match n.operator() {
            None => 0,
            Some(Operator::Not) => 1,
            Some(Operator::And) => 2,
            Some(Operator::Or) => 3,
            Some(Operator::Phrase(_)) => 4,
        };
        // operators come before lexemes, later ones before earlier ones
        let class = |n: &Node| if kind(n) == 0 { 1 } else { 2 };
        let order = class(other).cmp(&class(self)).then_with(|| kind(other).cmp(&kind(self)));
        if order.is_ne() {
            return order;
        }
        if let (Node::Operand(a), Node::Operand(b)) = (self, other) {
            return checksum(&b.text).cmp(&checksum(&a.text)).then_with(|| a.text.cmp(&b.text));
        }
        for (a, b) in self.children().into_iter().zip(other.children()) {
            crate::work::pulse(1);
            let order = a.compare(b);
            if order.is_ne() {
                return order;
            }
        }
        match (self, other) {
            (Node::Phrase(_, _, a), Node::Phrase(_, _, b)) => b.cmp(a),
            _ => Ordering::Equal,
        }
    }
}

fn write_operand(operand: &Operand, out: &mut Vec<u8>) {
    quote(&operand.text, out);
    if operand.weights == 0 && !operand.prefix {
        return;
    }
    out.push(b':');
    if operand.prefix {
        out.push(b'*');
    }
    for (bit, letter) in [(8, b'A'), (4, b'B'), (2, b'C'), (1, b'D')] {
        crate::work::pulse(1);
        if operand.weights & bit != 0 {
            out.push(letter);
        }
    }
}

/// The checksum by which PostgreSQL orders lexemes of queries: CRC-32's table, used from the upper end.
pub fn checksum(text: &str) -> i32 {
    let mut crc = u32::MAX;
    for b in text.bytes() {
        crate::work::pulse(1);
        let mut entry = (crc >> 24) ^ u32::from(b);
        for _ in 0..8 {
            crate::work::pulse(1);
            entry = if entry & 1 == 1 { (entry >> 1) ^ 0xEDB8_8320 } else { entry >> 1 };
        }
        crc = entry ^ (crc << 8);
    }
    (crc ^ u32::MAX) as i32
}

impl Query {
    /// Reads the text form; its lexemes are taken as they are. Errors: as [`parse`].
    pub fn parse(text: &str) -> Result<Query> {
        parse(text, &mut |builder, text, weights, prefix| builder.operand(text, weights, prefix))
    }

    /// The text that a client sees.
    pub fn to_text(&self) -> String {
        self.text(false)
    }

    fn text(&self, whole: bool) -> String {
        let mut out = Vec::new();
        if let Some(node) = &self.0 {
            node.write(0, false, whole, &mut out);
        }
        String::from_utf8(out).unwrap_or_default()
    }

    /// The stored text, which has the whole tree: the one of a client, and brackets that it does not see.
    pub fn to_datum(&self) -> Datum {
        Datum::Text(self.text(true))
    }

    pub fn count(&self) -> usize {
        self.0.as_ref().map_or(0, Node::count)
    }

    /// All lexemes, in PostgreSQL's order.
    pub fn operands(&self) -> Vec<&Operand> {
        let mut out = Vec::new();
        self.0.iter().for_each(|n| n.operands(&mut out));
        out
    }

    /// Without the stop words; words around them are as far apart as they were.
    pub fn without_stop_words(self) -> Query {
        Query(self.0.and_then(|n| n.without_stop_words().0))
    }

    /// The text of the part that an index can look for.
    pub fn indexable(&self) -> String {
        match &self.0 {
            None => String::new(),
            Some(node) => node.positive().map_or_else(|| "T".into(), |n| Query(Some(n)).to_text()),
        }
    }

    /// Joins two queries; one without lexemes gives the other.
    pub fn join(self, other: Query, operator: Operator) -> Query {
        match (self.0, other.0) {
            (Some(a), Some(b)) => {
                let (a, b) = (Box::new(a), Box::new(b));
                Query(Some(match operator {
                    Operator::And => Node::And(a, b),
                    Operator::Or => Node::Or(a, b),
                    Operator::Phrase(n) => Node::Phrase(a, b, n),
                    Operator::Not => return Query(Some(*a)),
                }))
            }
            (a, b) => Query(a.or(b)),
        }
    }

    /// `<->` with a distance. Errors: 22023.
    pub fn phrase(self, other: Query, distance: i64) -> Result<Query> {
        if !(0..=i64::from(LAST_POSITION) + 1).contains(&distance) {
            return Err(too_far());
        }
        Ok(self.join(other, Operator::Phrase(distance as u16)))
    }

    pub fn negate(self) -> Query {
        Query(self.0.map(|n| Node::Not(Box::new(n))))
    }

    /// The order of the btree operator class.
    pub fn compare(&self, other: &Query) -> Ordering {
        let size = |q: &Query| {
            let count = q.count();
            (count, count * 12 + q.operands().iter().map(|o| o.text.len() + 1).sum::<usize>())
        };
        size(self).cmp(&size(other)).then_with(|| match (&self.0, &other.0) {
            (Some(a), Some(b)) => a.compare(b),
            _ => Ordering::Equal,
        })
    }

    /// Whether it has all lexemes of another one.
    pub fn contains(&self, other: &Query) -> bool {
        let own = self.operands();
        other.operands().iter().all(|o| own.iter().any(|m| m.text == o.text))
    }
}

pub(crate) fn text_in(text: &str) -> Result<Datum> {
    Query::parse(text).map(|q| q.to_datum())
}

/// A stored text with brackets may have some that no client sees.
pub(crate) fn text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    match value {
        DatumRef::Text(text) if text.contains('(') => out.extend_from_slice(Query::parse(text)?.to_text().as_bytes()),
        DatumRef::Text(text) => out.extend_from_slice(text.as_bytes()),
        other => return Err(crate::buffer::bad_stored("tsquery", other)),
    }
    Ok(())
}

/// The number of items, then each before its operands: 1, weights, prefix, zero-terminated text; or 2, operator, distance of a phrase.
pub(crate) fn binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let query = match value {
        DatumRef::Text(text) => Query::parse(text)?,
        other => return Err(crate::buffer::bad_stored("tsquery", other)),
    };
    out.extend_from_slice(&(query.count() as u32).to_be_bytes());
    fn item(node: &Node, out: &mut Vec<u8>) {
        match node {
            Node::Operand(o) => {
                out.extend_from_slice(&[1, o.weights, u8::from(o.prefix)]);
                out.extend_from_slice(o.text.as_bytes());
                out.push(0);
            }
            Node::Stop => {}
            Node::Not(_) => out.extend_from_slice(&[2, 1]),
            Node::And(..) => out.extend_from_slice(&[2, 2]),
            Node::Or(..) => out.extend_from_slice(&[2, 3]),
            Node::Phrase(_, _, n) => {
                out.extend_from_slice(&[2, 4]);
                out.extend_from_slice(&n.to_be_bytes());
            }
        }
        node.children().into_iter().for_each(|c| item(c, out));
    }
    query.0.iter().for_each(|n| item(n, out));
    Ok(())
}

pub(crate) fn binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Binary(bytes);
    let count = u32::from_be_bytes(r.take(4)?.try_into().unwrap_or_default());
    let mut left = count;
    let query = match count {
        0 => Query(None),
        _ => Query(Some(read_item(&mut r, &mut left, 0)?)),
    };
    if left > 0 {
        return Err(PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, "malformed tsquery: extra nodes"));
    }
    Ok(query.to_datum())
}

fn read_item(r: &mut Binary, left: &mut u32, depth: usize) -> Result<Node> {
    let invalid = |message: String| PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, message);
    if *left == 0 {
        return Err(invalid("malformed tsquery: operand not found".into()));
    }
    if depth > DEEPEST {
        return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
    }
    *left -= 1;
    match r.u8()? {
        1 => {
            let weights = r.u8()?;
            let prefix = r.u8()? != 0;
            let text = zero_terminated(r)?.to_string();
            if weights > 15 {
                return Err(invalid("invalid tsquery: invalid weight bitmap".into()));
            }
            if text.len() > LONGEST_LEXEME {
                return Err(invalid("invalid tsquery: operand too long".into()));
            }
            Ok(Node::Operand(Operand { text, weights, prefix }))
        }
        2 => {
            let operator = r.u8()?;
            if operator == 1 {
                return Ok(Node::Not(Box::new(read_item(r, left, depth + 1)?)));
            }
            if !(2..=4).contains(&operator) {
                return Err(invalid(format!("invalid tsquery: unrecognized operator type {operator}")));
            }
            let distance = if operator == 4 { r.u16()? } else { 0 };
            let b = Box::new(read_item(r, left, depth + 1)?);
            let a = Box::new(read_item(r, left, depth + 1)?);
            Ok(match operator {
                2 => Node::And(a, b),
                3 => Node::Or(a, b),
                _ => Node::Phrase(a, b, distance),
            })
        }
        other => Err(invalid(format!("unrecognized tsquery node type: {other}"))),
    }
}
