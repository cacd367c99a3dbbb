//! The canonical text of a path expression.

use super::{Comparison, Item, Kind, Path, LAST_LEVEL};
use crate::json::write_string;
use crate::work;

/// How tightly an operator binds: what binds no tighter than its surroundings stands in parentheses.
fn priority(kind: &Kind) -> u8 {
    use super::Arithmetic::*;
    match kind {
        Kind::Or(..) => 0,
        Kind::And(..) => 1,
        Kind::Compare(..) | Kind::StartsWith(..) => 2,
        Kind::Arithmetic(Add | Subtract, ..) => 3,
        Kind::Arithmetic(Multiply | Divide | Modulo, ..) => 4,
        Kind::Plus(_) | Kind::Minus(_) => 5,
        _ => 6,
    }
}

impl Path {
    /// The canonical text, from which [`super::parse`] makes the same path.
    pub fn to_text(&self) -> String {
        let mut out = Vec::new();
        if !self.lax {
            out.extend_from_slice(b"strict ");
        }
        item(&self.root, false, true, &mut out);
        String::from_utf8(out).expect("a path of valid strings is valid UTF-8")
    }
}

/// `follows`: the step stands after another one. `enclose`: an operator needs parentheses here.
fn item(i: &Item, follows: bool, enclose: bool, out: &mut Vec<u8>) {
    let operand = |a: &Item, out: &mut Vec<u8>| item(a, false, priority(&a.kind) <= priority(&i.kind), out);
    let enclose = enclose || i.next.is_some();
    let binary = |a: &Item, operator: &str, b: &Item, out: &mut Vec<u8>| {
        if enclose {
            out.push(b'(');
        }
        operand(a, out);
        out.extend_from_slice(format!(" {operator} ").as_bytes());
        operand(b, out);
        if enclose {
            out.push(b')');
        }
    };
    let put = |text: &str, out: &mut Vec<u8>| out.extend_from_slice(text.as_bytes());
    // A predicate followed by a step stands in parentheses.
    let followed = i.next.is_some() && matches!(i.kind, Kind::Not(_) | Kind::IsUnknown(_) | Kind::Exists(_));
    if followed {
        out.push(b'(');
    }
    match &i.kind {
        Kind::Null => put("null", out),
        Kind::Bool(b) => put(if *b { "true" } else { "false" }, out),
        Kind::Number(n) => {
            if i.next.is_some() {
                out.push(b'(');
            }
            n.write(out);
            if i.next.is_some() {
                out.push(b')');
            }
        }
        Kind::String(s) => write_string(s, out),
        Kind::Variable(name) => {
            out.push(b'$');
            write_string(name, out);
        }
        Kind::Root => out.push(b'$'),
        Kind::Current => out.push(b'@'),
        Kind::Last => put("last", out),
        Kind::Key(key) => {
            if follows {
                out.push(b'.');
            }
            write_string(key, out);
        }
        Kind::AnyKey => put(if follows { ".*" } else { "*" }, out),
        Kind::AnyElement => put("[*]", out),
        Kind::Elements(list) => {
            out.push(b'[');
            for (n, (from, to)) in list.iter().enumerate() {
                work::pulse(1);
                if n > 0 {
                    out.push(b',');
                }
                item(from, false, false, out);
                if let Some(to) = to {
                    put(" to ", out);
                    item(to, false, false, out);
                }
            }
            out.push(b']');
        }
        Kind::AnyLevel { first, last } => {
            let name = |n: u32| if n == LAST_LEVEL { "last".to_string() } else { n.to_string() };
            put(if follows { ".**" } else { "**" }, out);
            if (*first, *last) == (0, LAST_LEVEL) {
                // all levels
            } else if first == last {
                put(&format!("{{{}}}", name(*first)), out);
            } else {
                put(&format!("{{{} to {}}}", name(*first), name(*last)), out);
            }
        }
        Kind::Method(m) => put(&format!(".{}()", m.name()), out),
        Kind::Convert(conversion, arguments) => {
            put(&format!(".{}(", conversion.name()), out);
            // bounded: two arguments at most
            for (i, argument) in arguments.iter().enumerate() {
                put(if i > 0 { "," } else { "" }, out);
                argument.write(out);
            }
            out.push(b')');
        }
        Kind::DateTime(template) => {
            put(".datetime(", out);
            if let Some(template) = template {
                write_string(template, out);
            }
            out.push(b')');
        }
        Kind::Filter(predicate) => {
            put("?(", out);
            item(predicate, false, false, out);
            out.push(b')');
        }
        Kind::And(a, b) => binary(a, "&&", b, out),
        Kind::Or(a, b) => binary(a, "||", b, out),
        Kind::Compare(c, a, b) => {
            let operator = match c {
                Comparison::Equal => "==",
                Comparison::NotEqual => "!=",
                Comparison::Less => "<",
                Comparison::LessOrEqual => "<=",
                Comparison::Greater => ">",
                Comparison::GreaterOrEqual => ">=",
            };
            binary(a, operator, b, out)
        }
        Kind::StartsWith(a, b) => binary(a, "starts with", b, out),
        Kind::Arithmetic(operator, a, b) => binary(a, operator.symbol(), b, out),
        Kind::LikeRegex(a, pattern, flags) => {
            if enclose {
                out.push(b'(');
            }
            operand(a, out);
            put(" like_regex ", out);
            write_string(pattern, out);
            if !flags.is_empty() {
                put(&format!(" flag \"{flags}\""), out);
            }
            if enclose {
                out.push(b')');
            }
        }
        Kind::Plus(a) | Kind::Minus(a) => {
            if enclose {
                out.push(b'(');
            }
            out.push(if matches!(i.kind, Kind::Plus(_)) { b'+' } else { b'-' });
            operand(a, out);
            if enclose {
                out.push(b')');
            }
        }
        Kind::Not(a) => {
            put("!(", out);
            item(a, false, false, out);
            out.push(b')');
        }
        Kind::IsUnknown(a) => {
            out.push(b'(');
            item(a, false, false, out);
            put(") is unknown", out);
        }
        Kind::Exists(a) => {
            put("exists (", out);
            item(a, false, false, out);
            out.push(b')');
        }
    }
    if followed {
        out.push(b')');
    }
    if let Some(next) = &i.next {
        item(next, true, true, out);
    }
}
