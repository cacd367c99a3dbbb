//! Informix's built-in functions that PostgreSQL has no single function for: of dates, numbers, bits and parts of texts.

use super::ast::Expr;
use super::print::Printer;
use super::Parse;
use crate::errors::Failure;
use crate::values::qualifier::{self, Qualifier};
use crate::values::types::Type;

/// What gives a date or moment of the type of its first argument.
const OF_MOMENTS: [&str; 3] = ["add_months", "last_day", "next_day"];

/// Weekdays as NEXT_DAY knows them, from Sunday.
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Printer<'_> {
    /// The type of a call of this module, where it is known.
    pub(super) fn type_of_call(&self, name: &str, arguments: &[Expr]) -> Option<Type> {
        let first = arguments.first();
        match name {
            name if OF_MOMENTS.contains(&name) => Some(self.moment_type(first?)),
            "trunc" | "round"
                if arguments.len() == 2 && matches!(arguments[1], Expr::Text(_)) && !self.is_number(&arguments[0]) =>
            {
                Some(self.moment_type(first?))
            }
            "to_date" => Some(Type::DateTime(Qualifier::datetime(qualifier::YEAR, 15))),
            "mdy" | "today" | "date" => Some(Type::Date),
            "left" | "right" | "space" | "hex" => Some(Type::LVarChar(2048)),
            _ => None,
        }
    }

    /// What is no DATETIME is read as a DATE.
    fn moment_type(&self, e: &Expr) -> Type {
        match self.known_type(e) {
            Some(ty @ Type::DateTime(_)) => ty,
            _ => Type::Date,
        }
    }

    /// A call, if it is one of these functions.
    pub(super) fn further_call(&mut self, name: &str, arguments: &[Expr]) -> Parse<Option<String>> {
        let unknown = || Failure::new(-674, 0, name);
        Ok(Some(match (name, arguments) {
            (name, [of, ..]) if OF_MOMENTS.contains(&name) => self.of_moment(name, of, arguments)?,
            ("months_between", [a, b]) => {
                let (a, b) = (self.moment(a)?, self.moment(b)?);
                // whole months between like days; else the rest in months of 31 days
                format!(
                    "(SELECT ((extract(year FROM a) - extract(year FROM b)) * 12 + extract(month FROM a) - extract(month FROM b) \
                     + CASE WHEN extract(day FROM a) = extract(day FROM b) OR (a::date = {last_a} AND b::date = {last_b}) THEN 0 \
                     ELSE (extract(day FROM a) - extract(day FROM b) + extract(epoch FROM a::time - b::time) / 86400) / 31 END)\
                     ::numeric(32,14) FROM (SELECT {a} AS a, {b} AS b) AS \"(between)\")",
                    last_a = last_day("a"),
                    last_b = last_day("b"),
                )
            }
            ("quarter", [of]) => format!("extract(quarter FROM {})::int", self.moment(of)?),
            ("to_date", [text, Expr::Text(format)]) => {
                let pattern = super::functions::pattern(format)?;
                format!("to_timestamp({}, {})::timestamp", self.characters(text)?, super::print::literal(&pattern))
            }
            ("to_date", _) => return Err(Failure::refused("TO_DATE without a format that is a literal")),
            ("to_number", [text]) => format!("trim({})::numeric", self.characters(text)?),
            ("to_number", _) => return Err(Failure::refused("TO_NUMBER with a format")),
            ("hex", [number]) => {
                let wide = matches!(self.known_type(number), Some(Type::BigInt | Type::BigSerial | Type::Int8));
                let (ty, digits) = if wide { ("bigint", 16) } else { ("int", 8) };
                format!(
                    "('0x' || upper(lpad(to_hex(({})::{ty}), {digits}, '0')))",
                    self.whole_for(number, Type::BigInt)?
                )
            }
            ("left" | "right", [text, n]) => {
                // a negative number of characters gives none
                format!("{name}({}, greatest({}, 0))", self.characters(text)?, self.whole(n)?)
            }
            ("space", [n]) => format!("repeat(' ', {})", self.whole(n)?),
            ("len", [text]) => format!("octet_length(({})::text)", self.expr(text)?),
            ("charindex", [part, text]) => format!("strpos({}, {})", self.characters(text)?, self.characters(part)?),
            ("charindex", [part, text, start]) => {
                let (part, text, start) = (self.characters(part)?, self.characters(text)?, self.expr(start)?);
                found_behind(&part, &text, &start)
            }
            ("instr", [text, part, start]) if is_positive(start) => {
                let (text, part, start) = (self.characters(text)?, self.characters(part)?, self.whole(start)?);
                found_behind(&part, &text, &start)
            }
            ("instr", [text, part, start, rest @ ..]) if rest.len() < 2 => {
                let (text, part, start) = (self.characters(text)?, self.characters(part)?, self.whole(start)?);
                let which = rest.first().map_or(Ok("1".into()), |e| self.whole(e))?;
                // from the end backwards, where the start is negative
                format!(
                    "(SELECT CASE WHEN t IS NULL OR p IS NULL OR n IS NULL OR k IS NULL THEN NULL ELSE coalesce((SELECT \
                     (array_agg(i ORDER BY CASE WHEN n > 0 THEN i ELSE - i END))[greatest(k, 1)] \
                     FROM generate_series(1, length(t) - length(p) + 1) AS g(i) WHERE substr(t, i, length(p)) = p \
                     AND (n > 0 AND i >= n OR n < 0 AND i <= length(t) + n + 1)), 0) END \
                     FROM (SELECT ({text})::text AS t, ({part})::text AS p, {start} AS n, {which} AS k) AS \"(instr)\")"
                )
            }
            ("repeat", [text, n]) => format!("repeat({}, {})", self.characters(text)?, self.whole(n)?),
            ("cot", [of]) => format!("cot(({})::float8)", self.expr(of)?),
            ("overlay", [text, with, from, rest @ ..]) if rest.len() < 2 => {
                let (text, with, from) = (self.characters(text)?, self.characters(with)?, self.whole(from)?);
                match rest.first() {
                    Some(n) => {
                        format!("overlay({text} PLACING {with} FROM {from} FOR {})", self.whole(n)?)
                    }
                    None => format!("overlay({text} PLACING {with} FROM {from})"),
                }
            }
            // the parts before, or from the end behind, so many separators
            ("substring_index", [text, separator, n]) => {
                let (text, separator, n) = (self.characters(text)?, self.characters(separator)?, self.whole(n)?);
                format!(
                    "(SELECT CASE WHEN n = 0 OR s = '' THEN '' WHEN n > 0 THEN array_to_string((string_to_array(t, s))[1:n], s) \
                     ELSE array_to_string((string_to_array(t, s))[greatest(cardinality(string_to_array(t, s)) + n + 1, 1):], s) END \
                     FROM (SELECT ({text})::text AS t, ({separator})::text AS s, {n} AS n) AS \"(parts)\")"
                )
            }
            ("replace", [text, old]) => format!("replace({}, {}, '')", self.characters(text)?, self.characters(old)?),
            ("trunc" | "round", [of, Expr::Text(unit)]) if !self.is_number(of) => {
                let field = match unit.to_ascii_uppercase().as_str() {
                    "YEAR" | "YYYY" | "YY" => "year",
                    "MONTH" | "MM" => "month",
                    "DD" => "day",
                    "HH" => "hour",
                    "MI" => "minute",
                    other => {
                        let name = name.to_uppercase();
                        return Err(Failure::refused(format!("{name} of a moment to {other}")));
                    }
                };
                let (ty, moment) = (self.moment_type(of), self.moment(of)?);
                // from which part on the next one is nearer
                let next = match field {
                    _ if name == "trunc" => "FALSE",
                    "year" => "extract(month FROM m) >= 7",
                    "month" => "extract(day FROM m) >= 16",
                    "day" => "extract(hour FROM m) >= 12",
                    "hour" => "extract(minute FROM m) >= 30",
                    _ => "extract(second FROM m) >= 30",
                };
                format!(
                    "(SELECT (date_trunc('{field}', m) + CASE WHEN {next} THEN interval '1 {field}' ELSE interval '0' END)::{} \
                     FROM (SELECT ({moment})::timestamp AS m) AS \"(moment)\")",
                    ty.storage()
                )
            }
            ("root", [n]) => format!("sqrt({})", self.expr(n)?),
            ("root", [n, k]) => format!("power({}, 1.0 / ({}))", self.expr(n)?, self.expr(k)?),
            ("bitand", [a, b]) => self.bits(a, "&", b)?,
            ("bitor", [a, b]) => self.bits(a, "|", b)?,
            ("bitxor", [a, b]) => self.bits(a, "#", b)?,
            ("bitandnot", [a, b]) => format!(
                "(({})::bigint & ~ ({})::bigint)",
                self.whole_for(a, Type::BigInt)?,
                self.whole_for(b, Type::BigInt)?
            ),
            ("bitnot", [a]) => format!("(~ ({})::bigint)", self.whole_for(a, Type::BigInt)?),
            ("variance" | "stdev", [of]) => {
                let function = if name == "stdev" { "stddev_samp" } else { "var_samp" };
                let of = self.expr(of)?;
                // of one value there is no deviation
                format!("(CASE WHEN count({of}) = 1 THEN 0 ELSE {function}({of}) END)")
            }
            ("range", [of]) => {
                let of = self.expr(of)?;
                format!("(max({of}) - min({of}))")
            }
            (
                "bitand" | "bitor" | "bitxor" | "bitandnot" | "bitnot" | "quarter" | "hex" | "left" | "right"
                | "months_between",
                _,
            ) => {
                return Err(unknown());
            }
            _ => return Ok(None),
        }))
    }

    fn bits(&mut self, a: &Expr, sign: &str, b: &Expr) -> Parse<String> {
        let (a, b) = (self.whole_for(a, Type::BigInt)?, self.whole_for(b, Type::BigInt)?);
        Ok(format!("(({a})::bigint {sign} ({b})::bigint)"))
    }

    fn moment(&mut self, e: &Expr) -> Parse<String> {
        let ty = self.moment_type(e);
        Ok(format!("({})::timestamp", self.expr_for(e, Some(ty))?))
    }

    fn of_moment(&mut self, name: &str, of: &Expr, arguments: &[Expr]) -> Parse<String> {
        let ty = self.moment_type(of);
        if ty.partial().is_some() || matches!(ty, Type::DateTime(q) if q.from != qualifier::YEAR) {
            return Err(Failure::refused(format!("{} of a DATETIME without a year", name.to_uppercase())));
        }
        let value = self.moment(of)?;
        let time = "(v - date_trunc('day', v))";
        let (second, result) = match (name, arguments) {
            ("last_day", [_]) => ("0".to_string(), format!("{} + {time}", last_day("v"))),
            ("add_months", [_, n]) => (
                self.whole(n)?,
                // the last day of a month stays one
                format!(
                    "CASE WHEN v::date = {last} THEN date_trunc('month', v) + (n + 1) * interval '1 month' - interval '1 day' + {time} \
                     ELSE v + n * interval '1 month' END",
                    last = last_day("v")
                ),
            ),
            ("next_day", [_, day]) => {
                let names: String =
                    WEEKDAYS.iter().enumerate().map(|(i, name)| format!(" WHEN '{name}' THEN {i}")).collect();
                let day = self.characters(day)?;
                (
                    format!("(CASE upper(left({day}, 3)){names} END)"),
                    "v + ((n - extract(dow FROM v)::int + 6) % 7 + 1) * interval '1 day'".into(),
                )
            }
            _ => return Err(Failure::new(-674, 0, name)),
        };
        let cast = match ty {
            Type::Date => "date".to_string(),
            other => other.storage(),
        };
        Ok(format!("(SELECT ({result})::{cast} FROM (SELECT {value} AS v, {second} AS n) AS \"(moment)\")"))
    }
}

/// The last day of the month of a moment.
fn last_day(moment: &str) -> String {
    format!("(date_trunc('month', {moment}) + interval '1 month' - interval '1 day')::date")
}

/// The place of a part of a text at or behind a place; 0: it is not there.
fn found_behind(part: &str, text: &str, start: &str) -> String {
    format!(
        "(SELECT CASE WHEN at = 0 THEN 0 ELSE at + n - 1 END FROM (SELECT strpos(substr(t, n), p) AS at, n FROM \
         (SELECT {part} AS p, {text} AS t, greatest({start}, 1) AS n) AS \"(a)\") AS \"(b)\")"
    )
}

fn is_positive(e: &Expr) -> bool {
    matches!(e, Expr::Number(n) if n != "0")
}
