//! Numbers on their way into an integer type: Informix cuts the digits behind the point, where PostgreSQL rounds.

use super::ast::Expr;
use super::print::{literal, Printer};
use super::Parse;
use crate::values::bind::without_fraction;
use crate::values::types::Type;
use pgsqlite_types::work;

/// Functions whose result is an integer.
const WHOLE: [&str; 15] = [
    "length",
    "len",
    "char_length",
    "character_length",
    "octet_length",
    "year",
    "month",
    "day",
    "weekday",
    "quarter",
    "ascii",
    "instr",
    "charindex",
    "cardinality",
    "bitand",
];

impl Printer<'_> {
    /// Whether an expression is known to have no digits behind the point.
    fn is_whole(&self, e: &Expr) -> bool {
        match e {
            Expr::Number(n) => n.bytes().all(|b| b.is_ascii_digit()),
            Expr::Null | Expr::CountStar => true,
            Expr::Unary("-" | "+", a) => self.is_whole(a),
            Expr::Binary("+" | "-" | "*", a, b) => self.is_whole(a) && self.is_whole(b),
            Expr::Case { branches, otherwise, .. } => {
                branches.iter().map(|(_, result)| result).chain(otherwise.as_deref()).all(|e| self.is_whole(e))
            }
            Expr::Call { name, arguments, .. } if name == "nvl" => arguments.iter().all(|e| self.is_whole(e)),
            Expr::Call { name, .. } if WHOLE.contains(&name.as_str()) && !self.has_routine(name) => true,
            other => self.known_type(other).is_some_and(Type::is_integer),
        }
    }

    /// An expression for something of an integer type.
    pub(super) fn whole_for(&mut self, e: &Expr, target: Type) -> Parse<String> {
        work::visit();
        Ok(match e {
            Expr::Parameter(i) => {
                self.cut_parameter(*i);
                self.expr_for(e, Some(target))?
            }
            Expr::Text(text) => literal(&without_fraction(text)),
            _ if self.is_whole(e) => self.expr_for(e, Some(target))?,
            _ => {
                let known = self.known_type(e);
                let printed = self.expr_for(e, Some(target))?;
                cut(&printed, known).unwrap_or(printed)
            }
        })
    }

    /// An expression as an `int`: what a built-in function takes.
    pub(super) fn whole(&mut self, e: &Expr) -> Parse<String> {
        Ok(format!("({})::int", self.whole_for(e, Type::Integer)?))
    }
}

/// A value of a type as a number without digits behind the point; None: values of that type have none, or are no numbers.
pub(super) fn cut(value: &str, known: Option<Type>) -> Option<String> {
    match known {
        Some(ty) if ty.is_integer() => None,
        Some(Type::Float | Type::SmallFloat) => Some(format!("trunc(({value})::float8)")),
        // a date is the number of its day
        Some(Type::Date) => Some(format!("(({value}) - date '1899-12-31')")),
        Some(Type::Boolean | Type::DateTime(_) | Type::Interval(_) | Type::Byte | Type::Blob | Type::Complex(_)) => {
            None
        }
        _ => Some(format!("trunc(({value})::numeric)")),
    }
}
