//! Calls: Informix's built-in functions as PostgreSQL's of the same meaning. Others are refused (-674), also those that PostgreSQL has
//! under the same name with another meaning.

use super::ast::ClientFile;
use super::ast::Expr;
use super::print::{literal, Printer};
use super::translation::Source;
use super::{system_catalog, Parse};
use crate::errors::Failure;
use crate::values::qualifier;
use crate::values::types::Type;
use pgsqlite_types::work;

/// Functions of one name and one meaning in both.
const SAME: [&str; 43] = [
    "sum", "avg", "min", "max", "count", "abs", "ceil", "floor", "round", "trunc", "sqrt", "exp", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "upper", "lower", "initcap", "lpad", "rpad", "replace", "ltrim", "rtrim", "mod",
    "power", "ascii", "chr", "nullif", "coalesce", "sign", "degrees", "radians", "reverse", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh",
];

/// Functions that look at all characters of their arguments, also at the blanks that fill a CHAR up.
const OF_CHARACTERS: [&str; 10] =
    ["lpad", "rpad", "replace", "ltrim", "instr", "char_length", "character_length", "octet_length", "reverse", "nvl2"];

/// Under another name.
const RENAMED: [(&str, &str); 9] = [
    ("isnull", "coalesce"),
    ("nvl", "coalesce"),
    ("pow", "power"),
    ("logn", "ln"),
    ("ln", "ln"),
    ("log10", "log"),
    ("instr", "strpos"),
    ("char_length", "length"),
    ("character_length", "length"),
];

/// to_char's `%` letters.
const LETTERS: [(char, &str); 19] = [
    ('Y', "YYYY"),
    ('y', "YY"),
    ('m', "MM"),
    ('d', "DD"),
    ('H', "HH24"),
    ('I', "HH12"),
    ('M', "MI"),
    ('S', "SS"),
    ('b', "Mon"),
    ('B', "FMMonth"),
    ('A', "FMDay"),
    ('a', "Dy"),
    ('h', "Mon"),
    ('j', "DDD"),
    ('e', "FMDD"),
    ('p', "AM"),
    ('R', "HH24:MI"),
    ('T', "HH24:MI:SS"),
    ('D', "MM/DD/YY"),
];

/// The pattern of PostgreSQL's to_char for one with `%` letters.
pub(super) fn pattern(format: &str) -> Parse<String> {
    let mut out = String::new();
    let mut characters = format.chars().peekable();
    while let Some(c) = characters.next() {
        work::visit();
        match c {
            '%' => {
                let letter = characters.next().unwrap_or(' ');
                if letter == 'F' {
                    // digits of the fraction
                    let digits = characters.next_if(|c| ('1'..='5').contains(c)).unwrap_or('3');
                    out += &format!("FF{digits}");
                    continue;
                }
                let known = LETTERS.iter().find(|(l, _)| *l == letter);
                let (_, pattern) = known.ok_or_else(|| Failure::refused(format!("%{letter} in a format")))?;
                out += pattern;
            }
            '"' | '\\' => return Err(Failure::refused(format!("{c} in a format"))),
            c if c.is_alphanumeric() => out += &format!("\"{c}\""),
            c => out.push(c),
        }
    }
    Ok(out)
}

impl Printer<'_> {
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: &[Expr],
        distinct: bool,
        target: Option<Type>,
    ) -> Parse<String> {
        let unknown = || Failure::new(-674, 0, name);
        if let ("cardinality", [collection]) = (name, arguments) {
            return self.cardinality(collection);
        }
        if distinct && arguments.iter().any(|a| self.complex(a).is_some()) {
            return Err(Failure::refused("DISTINCT of a collection or row"));
        }
        if !distinct && self.has_routine(name) {
            if let Some(call) = self.user_call(name, arguments)? {
                return Ok(call);
            }
        }
        let mut printed = Vec::new();
        if !distinct {
            if let Some(printed) = self.further_call(name, arguments)? {
                return Ok(printed);
            }
        }
        let own = ["dbinfo", "decode", "substr", "to_char", "max", "min", "nvl", "concat"];
        if !own.contains(&name) {
            for argument in arguments {
                work::visit();
                printed.push(match name {
                    "count" => self.partial_or(argument, None)?,
                    "upper" | "lower" | "initcap" if self.known_type(argument).is_some_and(|ty| !ty.is_character()) => {
                        format!("({})::text", self.characters(argument)?)
                    }
                    "year" | "month" | "day" | "weekday" | "date" if matches!(argument, Expr::Text(_)) => {
                        self.expr_for(argument, Some(Type::Date))?
                    }
                    _ if OF_CHARACTERS.contains(&name) => self.characters(argument)?,
                    _ => self.expr(argument)?,
                });
            }
        }
        if matches!(name, "max" | "min" | "nvl") {
            let known = arguments.first().and_then(|a| self.known_type(a)).or(target);
            for argument in arguments {
                work::visit();
                let same = self.partial(argument).is_some_and(|q| known == Some(Type::DateTime(q)));
                printed.push(match same {
                    true => self.partial_or(argument, known)?,
                    false => self.expr_for(argument, known)?,
                });
            }
        }
        if matches!(name, "filetoblob" | "filetoclob") {
            // a third and fourth argument name a column whose storage is to be used: all have the same here
            let [Expr::Text(path), Expr::Text(side), ..] = arguments else {
                return Err(Failure::refused(format!("{} of a file without a name", name.to_uppercase())));
            };
            if !side.eq_ignore_ascii_case("client") {
                return Err(Failure::refused(format!("{} of a file of the server", name.to_uppercase())));
            }
            let is_text = name == "filetoclob";
            self.client_files.push(ClientFile { path: path.clone(), is_text });
            let content = self.hidden(Source::ClientFile(self.client_files.len() - 1));
            return Ok(format!("{content}::{}", if is_text { "text" } else { "bytea" }));
        }
        if name == "lotofile" {
            return Err(Failure::refused("LOTOFILE other than as a column of a result"));
        }
        let list = printed.join(", ");
        if let (Some(Type::Char(n)), [_]) = (self.kept_type(name, arguments), printed.as_slice()) {
            return Ok(format!("({name}({list}))::char({n})"));
        }
        if SAME.contains(&name) {
            let distinct = if distinct { "DISTINCT " } else { "" };
            return Ok(format!("{name}({distinct}{list})"));
        }
        if distinct {
            return Err(unknown());
        }
        if let Some((_, renamed)) = RENAMED.iter().find(|(n, _)| *n == name) {
            return Ok(format!("{renamed}({list})"));
        }
        Ok(match (name, printed.as_slice()) {
            // blanks at the end of a CHAR do not count
            ("length", [text]) => format!("octet_length(({text})::text)"),
            ("octet_length", [text]) => format!("octet_length({text})"),
            ("concat", _) if arguments.len() == 2 => {
                self.joined(&Expr::Call { name: name.into(), arguments: arguments.to_vec(), distinct })?
            }
            ("nvl2", [a, b, c]) => format!("(CASE WHEN {a} IS NOT NULL THEN {b} ELSE {c} END)"),
            ("current_role", []) => "nullif(current_setting('role'), 'none')::varchar(32)".into(),
            ("rand", []) => "random()".into(),
            ("regexp_like", [text, pattern]) => format!("regexp_like(({text})::text, ({pattern})::text)"),
            ("regexp_like", [text, pattern, flags]) => {
                format!("regexp_like(({text})::text, ({pattern})::text, ({flags})::text)")
            }
            ("today", []) => "current_date".into(),
            // a number counts the days since the last one of 1899
            ("date", [_]) if self.is_number(&arguments[0]) => {
                format!("(date '1899-12-31' + {})", self.whole(&arguments[0])?)
            }
            ("date", [value]) => format!("({value})::date"),
            ("mdy", [_, _, _]) => {
                let (month, day) = (self.whole(&arguments[0])?, self.whole(&arguments[1])?);
                format!("make_date({}, {month}, {day})", self.whole(&arguments[2])?)
            }
            ("year" | "month" | "day", [value]) => format!("extract({name} FROM {})::int", dated(value)),
            ("weekday", [value]) => format!("extract(dow FROM {})::int", dated(value)),
            ("substr", _) => self.joined(&Expr::Call { name: name.into(), arguments: arguments.to_vec(), distinct })?,
            ("decode", _) => self.decode(arguments)?,
            ("to_char", _) => self.to_char(arguments)?,
            ("dbinfo", _) => self.dbinfo(arguments)?,
            _ => system_catalog::function(name, &printed).ok_or_else(unknown)?,
        })
    }

    pub(super) fn is_number(&self, e: &Expr) -> bool {
        use Type::*;
        let known = self.known_type(e);
        matches!(e, Expr::Number(_) | Expr::Unary("-", _) | Expr::Binary("+" | "-" | "*" | "/", ..)) && known.is_none()
            || matches!(known, Some(SmallInt | Integer | Serial | BigInt | BigSerial | Int8 | Decimal(..)))
    }

    /// A start that counts from the end means something else in PostgreSQL.
    pub(super) fn substring(&mut self, arguments: &[Expr]) -> Parse<String> {
        let (value, start) = match arguments {
            [value, start] | [value, start, _] => (self.characters(value)?, start),
            _ => return Err(Failure::new(-674, 0, "substr")),
        };
        if !matches!(start, Expr::Number(n) if n != "0" && n.bytes().all(|b| b.is_ascii_digit())) {
            // 0 is the first character, what is below counts from the end
            let start = self.whole(start)?;
            let length = match arguments.get(2) {
                Some(length) => format!(", {}", self.whole(length)?),
                None => String::new(),
            };
            return Ok(format!(
                "(SELECT CASE WHEN at >= 1 THEN substr(v, at{length}) END FROM (SELECT v, CASE WHEN s > 0 THEN s \
                 WHEN s = 0 THEN 1 ELSE length(v) + s + 1 END AS at FROM (SELECT ({value})::text AS v, {start} AS s) \
                 AS \"(a)\") AS \"(b)\")"
            ));
        }
        let start = self.expr(start)?;
        Ok(match arguments.get(2) {
            Some(length) => format!("substr(({value})::text, {start}, {})", self.whole(length)?),
            None => format!("substr(({value})::text, {start})"),
        })
    }

    /// NULL equals NULL here.
    fn decode(&mut self, arguments: &[Expr]) -> Parse<String> {
        let [value, rest @ ..] = arguments else { return Err(Failure::new(-674, 0, "decode")) };
        if rest.len() < 2 {
            return Err(Failure::new(-674, 0, "decode"));
        }
        let value = self.expr(value)?;
        let mut out = String::from("(CASE");
        for pair in rest.chunks(2) {
            work::visit();
            match pair {
                [when, then] => {
                    let when = self.expr(when)?;
                    out += &format!(" WHEN {value} IS NOT DISTINCT FROM {when} THEN {}", self.expr(then)?);
                }
                [otherwise] => out += &format!(" ELSE {}", self.expr(otherwise)?),
                _ => {}
            }
        }
        Ok(out + " END)")
    }

    fn to_char(&mut self, arguments: &[Expr]) -> Parse<String> {
        if let [value] = arguments {
            let text = self.characters(value)?;
            return Ok(format!("({text})::text"));
        }
        let [value, Expr::Text(format)] = arguments else {
            return Err(Failure::refused("TO_CHAR without a format that is a literal"));
        };
        if self.is_number(value) {
            return Err(Failure::refused("TO_CHAR of a number with a format"));
        }
        if !matches!(self.known_type(value), None | Some(Type::Date | Type::DateTime(_) | Type::Char(_))) {
            return Err(Failure::refused("TO_CHAR of a number with a format"));
        }
        let out = pattern(format)?;
        Ok(format!("to_char({}, {})", self.timestamp(value, qualifier::HOUR)?, literal(&out)))
    }

    fn dbinfo(&mut self, arguments: &[Expr]) -> Parse<String> {
        let words: Vec<&str> = arguments
            .iter()
            .map(|a| match a {
                Expr::Text(text) => text.as_str(),
                _ => "",
            })
            .collect();
        Ok(match words.as_slice() {
            ["sqlca.sqlerrd1" | "serial8" | "bigserial"] => {
                let number = self.hidden(Source::LastSerial);
                format!("{number}::bigint")
            }
            ["sqlca.sqlerrd2"] => {
                let number = self.hidden(Source::RowCount);
                format!("{number}::bigint")
            }
            ["sessionid"] => "pg_backend_pid()".into(),
            ["utc_current"] => "extract(epoch FROM now())::int".into(),
            ["utc_to_datetime", _] => {
                let seconds = self.expr(&arguments[1])?;
                format!("to_timestamp(({seconds})::float8)::timestamp(0)")
            }
            // there is one
            ["dbspace", _] => "'rootdbs'::text".into(),
            ["dbname"] => literal(&self.environment.database),
            ["dbhostname"] => "'localhost'::text".into(),
            ["version", "full"] => {
                let version = crate::wire::login::VERSION.split("Version ").nth(1).unwrap_or("");
                literal(&format!("IBM Informix Dynamic Server Version {version}"))
            }
            ["version", "server-type"] => "'IBM Informix Dynamic Server'".into(),
            ["version", "major"] => "'14'".into(),
            ["version", "minor"] => "'10'".into(),
            ["version", "os"] => "'F'".into(),
            ["version", "level"] => "'C7'".into(),
            _ => {
                let what = words.iter().map(|w| if w.is_empty() { "…" } else { w }).collect::<Vec<_>>();
                return Err(Failure::refused(format!("DBINFO ({})", what.join(", "))));
            }
        })
    }
}

/// A literal is a date's text.
fn dated(value: &str) -> String {
    match value.starts_with('\'') {
        true => format!("date {value}"),
        false => value.to_string(),
    }
}
