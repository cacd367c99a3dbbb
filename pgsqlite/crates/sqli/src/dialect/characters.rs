//! What Informix makes of a value where characters are wanted: CHAR keeps its blanks, a BOOLEAN is `t` or `f`, a DATETIME has the fields of
//! its qualifier. PostgreSQL's own conversions to text differ in each of these.

use super::ast::*;
use super::print::{literal, Printer};
use super::Parse;
use crate::errors::Failure;
use crate::values::qualifier::{self, Qualifier};
use crate::values::types::Type;
use pgsqlite_types::work;

/// Functions whose result has the characters of their argument, and so its type.
const KEEP_TYPE: [&str; 4] = ["upper", "lower", "initcap", "reverse"];

impl Printer<'_> {
    /// The length of an expression that is a CHAR or NCHAR; None: it is something else, or not known.
    pub(super) fn char_length(&self, e: &Expr) -> Option<i32> {
        let longest = |branches: &mut dyn Iterator<Item = &Expr>| {
            let mut found = None;
            for branch in branches {
                work::visit();
                match branch {
                    Expr::Null => {}
                    Expr::Text(text) => found = found.max(Some((text.chars().count() as i32, false))),
                    other => found = found.max(Some((self.char_length(other)?, true))),
                }
            }
            let (length, is_char) = found?;
            is_char.then_some(length)
        };
        match e {
            Expr::Text(_) | Expr::User | Expr::Server => None,
            Expr::Call { name, arguments, .. } if name == "nvl" => longest(&mut arguments.iter()),
            Expr::Case { branches, otherwise, .. } => {
                longest(&mut branches.iter().map(|(_, result)| result).chain(otherwise.iter().map(|e| &**e)))
            }
            other => match self.known_type(other)? {
                Type::Char(n) | Type::NChar(n) if n > 0 => Some(n),
                _ => None,
            },
        }
    }

    /// Whether the expression may end with the blanks that fill a CHAR up. Comparisons do not count them.
    fn is_filled(&self, e: &Expr) -> bool {
        match e {
            Expr::Binary("||", _, last) => self.is_filled(last),
            Expr::Substring(value, ..) => self.is_filled(value),
            Expr::Call { name, arguments, .. } if name == "concat" => {
                arguments.last().is_some_and(|e| self.is_filled(e))
            }
            Expr::Call { name, arguments, .. } if name == "substr" || name == "substring" => {
                arguments.first().is_some_and(|e| self.is_filled(e))
            }
            other => self.char_length(other).is_some(),
        }
    }

    /// The type of a call that has the type of its argument.
    pub(super) fn kept_type(&self, name: &str, arguments: &[Expr]) -> Option<Type> {
        match (KEEP_TYPE.contains(&name), arguments) {
            (true, [of]) => self.char_length(of).map(Type::Char),
            _ => None,
        }
    }

    /// An expression as text, with all of its characters.
    pub(super) fn characters(&mut self, e: &Expr) -> Parse<String> {
        match e {
            Expr::Text(_) | Expr::Parameter(_) | Expr::Null | Expr::User | Expr::Server => return self.expr(e),
            Expr::Binary("||", a, b) => return Ok(format!("({} || {})", self.characters(a)?, self.characters(b)?)),
            Expr::Substring(value, from, to) => return self.part(value, *from, *to),
            Expr::Call { name, arguments, distinct: false } => match (name.as_str(), arguments.as_slice()) {
                ("concat", [a, b]) => return Ok(format!("({} || {})", self.characters(a)?, self.characters(b)?)),
                ("substr", _) => return self.substring(arguments),
                _ => {}
            },
            _ => {}
        }
        if let Some(n) = self.char_length(e) {
            return Ok(format!("rpad(({})::text, {n})", self.expr(e)?));
        }
        let Some(ty) = self.known_type(e) else { return self.expr(e) };
        let value = if ty.partial().is_some() { self.partial_or(e, None)? } else { self.expr(e)? };
        Ok(self.characters_of(&value, ty)?.unwrap_or(value))
    }

    /// The characters of a value of a type; None: they are those that PostgreSQL makes.
    pub(super) fn characters_of(&self, value: &str, ty: Type) -> Parse<Option<String>> {
        Ok(match ty {
            Type::Char(n) | Type::NChar(n) if n > 0 => Some(format!("rpad(({value})::text, {n})")),
            Type::Boolean => Some(format!("(CASE WHEN {value} THEN 't' WHEN NOT {value} THEN 'f' END)")),
            Type::DateTime(q) => Some(datetime_characters(value, q)),
            Type::Date => Some(format!("to_char({value}, {})", literal(&self.environment.dates.pattern))),
            Type::Decimal(..) | Type::Float | Type::SmallFloat if self.environment.money.point != '.' => {
                Some(format!("replace(({value})::text, '.', {})", literal(&self.environment.money.point.to_string())))
            }
            Type::Interval(_) | Type::Money(..) => {
                return Err(Failure::refused(format!("{} as characters", ty.name().to_uppercase())));
            }
            _ => None,
        })
    }

    /// An expression on its way into a character type.
    pub(super) fn characters_for(&mut self, e: &Expr, target: Type) -> Parse<String> {
        let same = matches!((target, self.char_length(e)), (Type::Char(_) | Type::NChar(_), Some(_)));
        match e {
            Expr::Text(_) | Expr::Parameter(_) | Expr::Null | Expr::Current(_) => self.expr_for(e, Some(target)),
            // CHAR to CHAR: what is filled up is filled up again
            _ if same => self.expr_for(e, Some(target)),
            _ => self.characters(e),
        }
    }

    /// What `characters` gives, of a type whose comparisons do not count blanks at the end if a CHAR has filled it up.
    pub(super) fn joined(&mut self, e: &Expr) -> Parse<String> {
        let text = self.characters(e)?;
        Ok(if self.is_filled(e) { format!("({text})::bpchar") } else { text })
    }

    /// `c[2,4]`
    fn part(&mut self, value: &Expr, from: u32, to: u32) -> Parse<String> {
        let value = self.characters(value)?;
        Ok(format!("substr(({value})::text, {from}, {})", to - from + 1))
    }

    /// LIKE. The blanks at the end of a CHAR need not be in the pattern, and may be.
    pub(super) fn like(
        &mut self,
        value: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
        matches: bool,
        not: bool,
    ) -> Parse<String> {
        let escape = match escape {
            None => '\\',
            Some(Expr::Text(text)) if text.chars().count() == 1 => text.chars().next().unwrap_or('\\'),
            Some(_) => return Err(Failure::refused("an ESCAPE that is not a character")),
        };
        let filled = self.is_filled(value);
        let all = self.characters(value)?;
        let not = if not { "NOT " } else { "" };
        if matches {
            let Expr::Text(pattern) = pattern else {
                return Err(Failure::refused("MATCHES with a pattern that is not a literal"));
            };
            let expression = super::pattern::regular_expression(pattern, escape, filled)
                .ok_or_else(|| Failure::new(-1213, 0, ""))?;
            return Ok(format!("({not}({all} ~ {}))", literal(&expression)));
        }
        // a pattern that is a CHAR says no more than its characters
        let shown = match self.is_filled(pattern) {
            true => format!("rtrim({})", self.characters(pattern)?),
            false => self.expr(pattern)?,
        };
        let escape = literal(&escape.to_string());
        if !filled {
            return Ok(format!("({all} {not}LIKE {shown} ESCAPE {escape})"));
        }
        let trimmed = format!("rtrim({all})");
        let needs_blanks = match pattern {
            Expr::Text(pattern) => pattern.contains([' ', '_']),
            _ => true,
        };
        Ok(match needs_blanks {
            true => format!("({not}({trimmed} LIKE {shown} ESCAPE {escape} OR {all} LIKE {shown} ESCAPE {escape}))"),
            false => format!("({trimmed} {not}LIKE {shown} ESCAPE {escape})"),
        })
    }
}

/// A DATETIME with the fields of its qualifier.
fn datetime_characters(value: &str, q: Qualifier) -> String {
    const FIELDS: [(u8, &str, &str); 6] = [
        (qualifier::YEAR, "", "YYYY"),
        (qualifier::MONTH, "-", "MM"),
        (qualifier::DAY, "-", "DD"),
        (qualifier::HOUR, " ", "HH24"),
        (qualifier::MINUTE, ":", "MI"),
        (qualifier::SECOND, ":", "SS"),
    ];
    let mut format = String::new();
    for (field, before, letters) in FIELDS.iter().filter(|(f, ..)| (q.from..=q.to).contains(f)) {
        work::visit();
        if *field != q.from {
            format += before;
        }
        format += letters;
    }
    if q.fraction() > 0 {
        format += if q.from == qualifier::FRACTION { "FF" } else { ".FF" };
        format += &q.fraction().to_string();
    }
    let moment = if q.is_timestamp() { value.to_string() } else { format!("date '2000-01-01' + ({value})") };
    format!("to_char({moment}, '{format}')")
}
