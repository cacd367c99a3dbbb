//! Auto-parameterization: literals become parameters, so that statements that differ in them alone share a plan.
//!
//! Clients of the simple protocol write their values into the text. [`mask`] finds the literals of a text without parsing
//! it; texts with the same mask have the same parse tree but for their literals' values. [`parameterize`] puts parameters in the
//! place of those whose value can decide nothing but the result: operands of comparisons, items of IN and BETWEEN, values
//! of INSERT and SET, numbers that SET calculates with. All others (ORDER BY positions, LIMIT, type modifiers, arguments of functions …) stay what they
//! are, and a text shares the plan only where they are the same.
//!
//! A parameter in the place of a literal is typed as the literal would be: an integer as int4, a decimal as numeric, a
//! string by its surroundings (PostgreSQL's manual, "Type Conversion": literals of unknown type).

use crate::parse::{ast, NodeEnum};
use pgsqlite_types::{oid, Oid};
use std::borrow::Cow;

/// Longer lists are planned by themselves.
const MOST_ITEMS: usize = 200;

/// Longer VALUES lists of an INSERT are planned by themselves.
const MOST_ROWS: usize = 2000;

/// A literal of a query string.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal<'a> {
    /// byte offset of its first character
    pub start: usize,
    pub kind: LiteralKind,
    /// as written, quotes and all
    pub text: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralKind {
    /// digits that fit int4
    Integer,
    /// digits that do not: their type depends on how many they are
    Large,
    /// with a point or an exponent
    Decimal,
    /// `'…'`
    String,
}

impl<'a> Literal<'a> {
    /// The value's text, as the type's input function reads it.
    pub fn value(&self) -> Cow<'a, str> {
        match self.kind {
            LiteralKind::String => {
                let inner = &self.text[1..self.text.len() - 1];
                if inner.contains('\'') {
                    Cow::Owned(inner.replace("''", "'"))
                } else {
                    Cow::Borrowed(inner)
                }
            }
            _ => Cow::Borrowed(self.text),
        }
    }
}

/// A query string with its literals taken out.
#[derive(Debug)]
pub struct Masked<'a> {
    /// the text with a mark for each literal that tells its kind
    pub mask: String,
    pub literals: Vec<Literal<'a>>,
}

/// Finds the literals of a single SELECT, INSERT, UPDATE, DELETE (or WITH). None: another statement, several statements, or a
/// text with something in it that only the parser understands (comments, parameters, escape strings, dollar quotes).
/// Strings are read as with `standard_conforming_strings`.
pub fn mask(text: &str) -> Option<Masked<'_>> {
    let first = text.trim_start().as_bytes().get(..6)?;
    let known = [&b"select"[..], b"insert", b"update", b"delete", b"with"];
    if !known.iter().any(|word| first[..word.len()].eq_ignore_ascii_case(word)) {
        return None;
    }
    let bytes = text.as_bytes();
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80;
    let mut out = Masked { mask: String::with_capacity(text.len() + 8), literals: Vec::new() };
    let mut at = 0;
    // what stands before `at` and is not copied yet
    let mut copied = 0;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b'\'' => {
                loop {
                    at += 1 + memchr(b'\'', &bytes[at + 1..])?;
                    if bytes.get(at + 1) != Some(&b'\'') {
                        break;
                    }
                    at += 1;
                }
                at += 1;
                // a string that follows on another line continues this one
                let next = bytes[at..].iter().find(|b| !b.is_ascii_whitespace());
                if next == Some(&b'\'') || start > 0 && (is_word(bytes[start - 1]) || bytes[start - 1] == b'&') {
                    return None;
                }
                LiteralKind::String
            }
            b'"' => {
                at += 2 + memchr(b'"', &bytes[at + 1..])?;
                continue;
            }
            b'0'..=b'9' => {
                while at < bytes.len() && bytes[at].is_ascii_digit() {
                    at += 1;
                }
                number_end(bytes, start, &mut at)?
            }
            b'.' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => number_end(bytes, start, &mut at)?,
            b'$' | 0..=8 => return None,
            b'-' if bytes.get(at + 1) == Some(&b'-') => return None,
            b'/' if bytes.get(at + 1) == Some(&b'*') => return None,
            b';' => {
                if !text[at + 1..].trim().is_empty() {
                    return None;
                }
                break;
            }
            b if is_word(b) => {
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        out.mask.push_str(&text[copied..start]);
        out.mask.push_str(match kind {
            LiteralKind::Integer => "\u{1}i",
            LiteralKind::Large => "\u{1}l",
            LiteralKind::Decimal => "\u{1}d",
            LiteralKind::String => "\u{1}s",
        });
        copied = at;
        out.literals.push(Literal { start, kind, text: &text[start..at] });
    }
    out.mask.push_str(&text[copied..]);
    Some(out)
}

fn memchr(wanted: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|b| *b == wanted)
}

/// Reads what may follow a number's first digits. None: something that the parser should look at.
fn number_end(bytes: &[u8], start: usize, at: &mut usize) -> Option<LiteralKind> {
    let digits = |at: &mut usize| {
        let from = *at;
        while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
            *at += 1;
        }
        *at > from
    };
    let mut whole = true;
    if bytes.get(*at) == Some(&b'.') {
        if bytes.get(*at + 1) == Some(&b'.') {
            return None;
        }
        *at += 1;
        digits(at);
        whole = false;
    }
    if matches!(bytes.get(*at), Some(b'e' | b'E')) {
        *at += 1;
        if matches!(bytes.get(*at), Some(b'+' | b'-')) {
            *at += 1;
        }
        if !digits(at) {
            return None;
        }
        whole = false;
    }
    if bytes.get(*at).is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.') || *b >= 0x80) {
        return None;
    }
    if !whole {
        return Some(LiteralKind::Decimal);
    }
    let fits = std::str::from_utf8(&bytes[start..*at]).is_ok_and(|s| s.parse::<i32>().is_ok());
    Some(if fits { LiteralKind::Integer } else { LiteralKind::Large })
}

/// A literal that has become a parameter: the parameters are numbered in this order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameterized {
    /// among [`Masked::literals`]
    pub literal: usize,
    /// a minus sign stands before it and belongs to it
    pub negative: bool,
    /// 0: by its surroundings
    pub type_oid: Oid,
}

/// Puts parameters in the place of literals of a parsed statement.
pub fn parameterize(statement: &mut NodeEnum, masked: &Masked, text: &str) -> Vec<Parameterized> {
    let mut parameterizer = Parameterizer { masked, text, parameterized: Vec::new() };
    parameterizer.statement(statement);
    parameterizer.parameterized
}

struct Parameterizer<'a> {
    masked: &'a Masked<'a>,
    text: &'a str,
    parameterized: Vec<Parameterized>,
}

impl Parameterizer<'_> {
    fn statement(&mut self, node: &mut NodeEnum) {
        match node {
            NodeEnum::SelectStmt(s) => self.select(s),
            NodeEnum::InsertStmt(s) => {
                self.with(s.with_clause.as_mut());
                let Some(NodeEnum::SelectStmt(source)) = s.select_stmt.as_mut().and_then(|n| n.node.as_mut()) else {
                    return;
                };
                // a VALUES list of its own has types of its own; as the source of an INSERT it has the columns' types
                if !source.values_lists.is_empty() && source.values_lists.len() <= MOST_ROWS {
                    for row in &mut source.values_lists {
                        if let Some(NodeEnum::List(row)) = &mut row.node {
                            row.items.iter_mut().for_each(|v| self.value(v));
                        }
                    }
                } else {
                    self.select(source);
                }
            }
            NodeEnum::UpdateStmt(s) => {
                self.with(s.with_clause.as_mut());
                for target in &mut s.target_list {
                    if let Some(NodeEnum::ResTarget(target)) = &mut target.node {
                        if let Some(value) = target.val.as_mut().filter(|_| target.indirection.is_empty()) {
                            self.value(value);
                            self.operands(value);
                        }
                    }
                }
                s.from_clause.iter_mut().for_each(|n| self.from(n));
                self.condition(s.where_clause.as_deref_mut());
            }
            NodeEnum::DeleteStmt(s) => {
                self.with(s.with_clause.as_mut());
                s.using_clause.iter_mut().for_each(|n| self.from(n));
                self.condition(s.where_clause.as_deref_mut());
            }
            _ => {}
        }
    }

    fn with(&mut self, clause: Option<&mut ast::WithClause>) {
        for cte in clause.into_iter().flat_map(|c| &mut c.ctes) {
            if let Some(NodeEnum::CommonTableExpr(cte)) = &mut cte.node {
                if let Some(query) = cte.ctequery.as_mut().and_then(|q| q.node.as_mut()) {
                    self.statement(query);
                }
            }
        }
    }

    fn select(&mut self, s: &mut ast::SelectStmt) {
        self.with(s.with_clause.as_mut());
        if let Some(left) = &mut s.larg {
            self.select(left);
        }
        if let Some(right) = &mut s.rarg {
            self.select(right);
        }
        s.from_clause.iter_mut().for_each(|n| self.from(n));
        self.condition(s.where_clause.as_deref_mut());
    }

    fn from(&mut self, node: &mut ast::Node) {
        match &mut node.node {
            Some(NodeEnum::JoinExpr(j)) => {
                for side in [&mut j.larg, &mut j.rarg].into_iter().flatten() {
                    self.from(side);
                }
                self.condition(j.quals.as_deref_mut());
            }
            Some(NodeEnum::RangeSubselect(r)) => {
                if let Some(query) = r.subquery.as_mut().and_then(|q| q.node.as_mut()) {
                    self.statement(query);
                }
            }
            _ => {}
        }
    }

    fn condition(&mut self, node: Option<&mut ast::Node>) {
        let Some(node) = node.and_then(|n| n.node.as_mut()) else { return };
        match node {
            NodeEnum::BoolExpr(b) => b.args.iter_mut().for_each(|a| self.condition(Some(a))),
            NodeEnum::SubLink(s) => {
                if let Some(query) = s.subselect.as_mut().and_then(|q| q.node.as_mut()) {
                    self.statement(query);
                }
            }
            NodeEnum::AExpr(e) => {
                use ast::AExprKind as K;
                let (Some(left), Some(right)) = (&mut e.lexpr, &mut e.rexpr) else { return };
                match K::try_from(e.kind) {
                    Ok(K::AexprOp) if is_comparison(&e.name) => match (is_fixed(left), is_fixed(right)) {
                        (false, true) => self.value(right),
                        (true, false) => self.value(left),
                        _ => {}
                    },
                    Ok(K::AexprIn | K::AexprBetween | K::AexprNotBetween) if !is_fixed(left) => {
                        if let Some(NodeEnum::List(list)) = &mut right.node {
                            if list.items.len() <= MOST_ITEMS && list.items.iter().all(is_fixed) {
                                list.items.iter_mut().for_each(|v| self.value(v));
                            }
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Makes parameters of the numbers of a calculation (`n + 5`), whose types choose the operator. (Not in conditions: an index of an expression
    /// is found by its constants.)
    fn operands(&mut self, node: &mut ast::Node) {
        let Some(NodeEnum::AExpr(e)) = &mut node.node else { return };
        if e.kind != ast::AExprKind::AexprOp as i32 || !is_arithmetic(&e.name) {
            return;
        }
        let (Some(left), Some(right)) = (&mut e.lexpr, &mut e.rexpr) else { return };
        if is_fixed(left) && is_fixed(right) {
            return;
        }
        for side in [left, right] {
            match &side.node {
                Some(NodeEnum::AConst(c)) if matches!(c.val, Some(ast::a_const::Val::Sval(_))) => {}
                Some(NodeEnum::AConst(_)) => self.value(side),
                _ => self.operands(side),
            }
        }
    }

    /// Makes a parameter of a literal; anything else stays.
    fn value(&mut self, node: &mut ast::Node) {
        let Some(NodeEnum::AConst(constant)) = &node.node else { return };
        let Some(parameterized) = self.find(constant) else { return };
        self.parameterized.push(parameterized);
        let number = self.parameterized.len() as i32;
        node.node = Some(NodeEnum::ParamRef(ast::ParamRef { number, location: constant.location }));
    }

    /// The literal that a constant was read from, if its value is what the text says.
    fn find(&self, constant: &ast::AConst) -> Option<Parameterized> {
        use ast::a_const::Val;
        let location = usize::try_from(constant.location).ok()?;
        let literals = &self.masked.literals;
        let index = literals.partition_point(|l| l.start < location);
        let literal = literals.get(index)?;
        // the location of a negative number is that of its sign
        let negative = literal.start != location;
        if negative {
            let sign = self.text.get(location..literal.start)?;
            if !sign.starts_with('-') || !sign[1..].trim().is_empty() {
                return None;
            }
        }
        let signed = |text: &str| if negative { format!("-{text}") } else { text.to_string() };
        let (matches, type_oid) = match (constant.val.as_ref()?, literal.kind) {
            (Val::Ival(i), LiteralKind::Integer) => (signed(literal.text) == i.ival.to_string(), oid::INT4),
            (Val::Fval(f), LiteralKind::Decimal) => (signed(literal.text) == f.fval, oid::NUMERIC),
            (Val::Sval(s), LiteralKind::String) => (!negative && literal.value() == s.sval, 0),
            _ => return None,
        };
        matches.then_some(Parameterized { literal: index, negative, type_oid })
    }
}

/// A constant or parameter: two of them compared have only each other to take their type from.
fn is_fixed(node: &ast::Node) -> bool {
    matches!(&node.node, Some(NodeEnum::AConst(_) | NodeEnum::ParamRef(_)))
}

fn is_comparison(name: &[ast::Node]) -> bool {
    matches!(operator(name), Some("=" | "<>" | "!=" | "<" | "<=" | ">" | ">="))
}

fn is_arithmetic(name: &[ast::Node]) -> bool {
    matches!(operator(name), Some("+" | "-" | "*" | "/"))
}

/// An operator's name, if no schema stands before it.
fn operator(name: &[ast::Node]) -> Option<&str> {
    match name {
        [ast::Node { node: Some(NodeEnum::String(s)) }] => Some(&s.sval),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(text: &str) -> Option<Vec<&str>> {
        mask(text).map(|m| m.literals.into_iter().map(|l| l.text).collect())
    }

    #[test]
    fn literals_are_found_where_the_lexer_finds_them() {
        assert_eq!(
            literals("SELECT a1, 'it''s' FROM t2 WHERE b = 42 AND c<1.5e-3"),
            Some(vec!["'it''s'", "42", "1.5e-3"])
        );
        assert_eq!(literals("select \"x 1 'y'\" from t where n=.5 and m=7."), Some(vec![".5", "7."]));
        assert_eq!(literals("SELECT 1;  "), Some(vec!["1"]));
        for text in [
            "SELECT 1; SELECT 2",
            "SELECT E'a'",
            "SELECT U&'a'",
            "SELECT B'1'",
            "SELECT $1",
            "SELECT $$x$$",
            "SELECT 1 -- x",
            "SELECT /* x */ 1",
            "SELECT 'a'\n'b'",
            "SELECT 'open",
            "SELECT 12abc",
            "CREATE TABLE t (a int)",
            "SET x = 1",
        ] {
            assert_eq!(literals(text), None, "{text}");
        }
    }

    #[test]
    fn equal_masks_need_equal_kinds() {
        let masked = |t| mask(t).unwrap().mask;
        assert_eq!(masked("SELECT * FROM t WHERE a = 1"), masked("SELECT * FROM t WHERE a = 234"));
        assert_ne!(masked("SELECT * FROM t WHERE a = 1"), masked("SELECT * FROM t WHERE a = 3000000000"));
        assert_ne!(masked("SELECT * FROM t WHERE a = 1"), masked("SELECT * FROM t WHERE a = '1'"));
        assert_ne!(masked("SELECT * FROM t WHERE a = 1"), masked("SELECT * FROM t WHERE a = 1.0"));
    }

    fn parameterized(text: &str) -> Vec<String> {
        let masked = mask(text).expect("a text that can be masked");
        let mut node = crate::parse::parse(text).expect("valid").pop().expect("one").node;
        parameterize(&mut node, &masked, text)
            .iter()
            .map(|l| format!("{}{}:{}", if l.negative { "-" } else { "" }, masked.literals[l.literal].text, l.type_oid))
            .collect()
    }

    #[test]
    fn only_values_are_lifted() {
        assert_eq!(parameterized("SELECT a, 7 FROM t WHERE a = 5 AND b <> 'x' ORDER BY 1 LIMIT 3"), ["5:23", "'x':0"]);
        assert_eq!(
            parameterized("SELECT * FROM t WHERE a IN (1, -2) AND b BETWEEN 1.5 AND 2.5"),
            ["1:23", "-2:23", "1.5:1700", "2.5:1700"]
        );
        assert_eq!(parameterized("SELECT * FROM t WHERE a = 3000000000 OR 1 = 1 OR f(2) OR a + 1 = 2"), ["2:23"]);
        assert_eq!(
            parameterized("INSERT INTO t VALUES (1, 'a', 1 + 1), (- 2, NULL, true)"),
            ["1:23", "'a':0", "-2:23"]
        );
        assert_eq!(parameterized("UPDATE t SET n = n + 1, s = 'x' WHERE id = 9"), ["1:23", "'x':0", "9:23"]);
        assert_eq!(
            parameterized("UPDATE t SET a = 2 * (a - -3) + f(4), b = 5 + 6, c = c || 'x', d = d - '7', e = e / 8.5 WHERE a + 9 = 10"),
            ["2:23", "-3:23", "8.5:1700", "10:23"]
        );
        assert_eq!(parameterized("DELETE FROM t WHERE d = date '2020-01-01' OR e > '5'::int"), Vec::<String>::new());
    }
}
