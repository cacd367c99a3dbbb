//! Calls: Informix's built-in functions as PostgreSQL's of the same meaning. Others are refused (-674), also those that PostgreSQL has
//! under the same name with another meaning.

use super::ast::Expr;
use super::print::{literal, Printer, Source};
use super::{system, Parse};
use crate::conversation::client_file::ClientFile;
use crate::errors::Failure;
use crate::values::types::Type;

/// Functions of one name and one meaning in both.
const SAME: [&str; 37] = [
    "sum", "avg", "min", "max", "count", "abs", "ceil", "floor", "round", "trunc", "sqrt", "exp", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "upper", "lower", "initcap", "lpad", "rpad", "replace", "ltrim", "rtrim", "mod",
    "power", "ascii", "chr", "nullif", "coalesce", "sign", "degrees", "radians", "reverse",
];

/// Under another name.
const RENAMED: [(&str, &str); 8] = [
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
const LETTERS: [(char, &str); 11] = [
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
];

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
        let mut printed = Vec::new();
        if !matches!(name, "dbinfo" | "decode" | "substr" | "to_char" | "max" | "min" | "nvl") {
            for argument in arguments {
                printed.push(if name == "count" { self.partial_or(argument, None)? } else { self.expr(argument)? });
            }
        }
        if matches!(name, "max" | "min" | "nvl") {
            let known = arguments.first().and_then(|a| self.known_type(a)).or(target);
            for argument in arguments {
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
            ("concat", [a, b]) => format!("({a} || {b})"),
            ("nvl2", [a, b, c]) => format!("(CASE WHEN {a} IS NOT NULL THEN {b} ELSE {c} END)"),
            ("today", []) => "current_date".into(),
            ("date", [value]) => format!("({value})::date"),
            ("mdy", [month, day, year]) => format!("make_date(({year})::int, ({month})::int, ({day})::int)"),
            ("year" | "month" | "day", [value]) => format!("extract({name} FROM {})::int", dated(value)),
            ("weekday", [value]) => format!("extract(dow FROM {})::int", dated(value)),
            ("substr", _) => self.substring(arguments)?,
            ("decode", _) => self.decode(arguments)?,
            ("to_char", _) => self.to_char(arguments)?,
            ("dbinfo", _) => self.dbinfo(arguments)?,
            _ => system::function(name, &printed).ok_or_else(unknown)?,
        })
    }

    /// A start that counts from the end means something else in PostgreSQL.
    fn substring(&mut self, arguments: &[Expr]) -> Parse<String> {
        let (value, start) = match arguments {
            [value, start] | [value, start, _] => (self.expr(value)?, start),
            _ => return Err(Failure::new(-674, 0, "substr")),
        };
        match start {
            Expr::Number(n) if n != "0" => {}
            _ => return Err(Failure::refused("SUBSTR whose start is not a positive number")),
        }
        let start = self.expr(start)?;
        Ok(match arguments.get(2) {
            Some(length) => format!("substr(({value})::text, {start}, {})", self.expr(length)?),
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
        let [value, Expr::Text(format)] = arguments else {
            return Err(Failure::refused("TO_CHAR without a format that is a literal"));
        };
        let mut out = String::new();
        let mut characters = format.chars();
        while let Some(c) = characters.next() {
            match c {
                '%' => {
                    let letter = characters.next().unwrap_or(' ');
                    let known = LETTERS.iter().find(|(l, _)| *l == letter);
                    let (_, pattern) = known.ok_or_else(|| Failure::refused(format!("%{letter} in TO_CHAR")))?;
                    out += pattern;
                }
                '"' | '\\' => return Err(Failure::refused(format!("{c} in TO_CHAR"))),
                c if c.is_alphanumeric() => out += &format!("\"{c}\""),
                c => out.push(c),
            }
        }
        Ok(format!("to_char(({})::timestamp, {})", self.expr(value)?, literal(&out)))
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
            _ => return Err(Failure::refused(format!("DBINFO ({})", words.join(", ")))),
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
