//! Values of settings as text: truth values, numbers with units, lists of names, encodings.

use super::Definition;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::{PgError, Result, SqlState};

/// `on`, `true`, `yes`, `1` and their unique prefixes.
pub fn parse_bool(value: &str) -> Option<bool> {
    let v = value.trim().to_ascii_lowercase();
    let prefix = |word: &str, min: usize| v.len() >= min && word.starts_with(&v);
    if prefix("true", 1) || prefix("yes", 1) || v == "on" || v == "1" {
        Some(true)
    } else if prefix("false", 1) || prefix("no", 1) || prefix("off", 2) || v == "0" {
        Some(false)
    } else {
        None
    }
}

const TIMES: &[(&str, f64)] =
    &[("us", 0.001), ("ms", 1.0), ("s", 1000.0), ("min", 60_000.0), ("h", 3_600_000.0), ("d", 86_400_000.0)];
const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1024.0),
    ("MB", 1024.0 * 1024.0),
    ("GB", 1024.0 * 1024.0 * 1024.0),
    ("TB", 1024.0 * 1024.0 * 1024.0 * 1024.0),
];
const TIME_UNITS: &str = "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".";
const SIZE_UNITS: &str = "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".";
const TOO_LARGE: &str = "Value exceeds integer range.";

/// A unit's worth in milliseconds or bytes; None: it is neither.
fn worth(table: &[(&str, f64)], unit: &str) -> Option<f64> {
    if unit == "8kB" && table[0].0 == "B" {
        return Some(8192.0);
    }
    table.iter().find(|(name, _)| *name == unit).map(|(_, worth)| *worth)
}

/// The number at the start of a text: decimal with fraction and exponent, `0x…` or `0…` (octal); and what follows it.
fn leading_number(value: &str) -> Option<(f64, &str)> {
    let unsigned = value.strip_prefix(['-', '+']).unwrap_or(value);
    let negative = value.starts_with('-');
    let sign = |n: f64| if negative { -n } else { n };
    if let Some(digits) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        let number = i64::from_str_radix(&digits[..end], 16).ok()?;
        return Some((sign(number as f64), &digits[end..]));
    }
    let mut end = unsigned.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(unsigned.len());
    let octal = unsigned.len() > 1 && unsigned.starts_with('0') && !unsigned[..end].contains('.');
    if octal && !unsigned[end..].starts_with(['e', 'E']) {
        let number = i64::from_str_radix(&unsigned[..end], 8).ok()?;
        return Some((sign(number as f64), &unsigned[end..]));
    }
    if let Some(exponent) = unsigned[end..].strip_prefix(['e', 'E']) {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if length > 0 {
            end += 1 + (exponent.len() - digits.len()) + length;
        }
    }
    Some((sign(unsigned[..end].parse().ok()?), &unsigned[end..]))
}

/// A number with an optional unit, in the setting's own unit. `integer`: rounded, within 32 bits. Err: a hint, where PostgreSQL
/// gives one.
pub fn parse_number(value: &str, unit: Option<&str>, integer: bool) -> Result<f64, Option<&'static str>> {
    let (number, rest) = leading_number(value.trim()).ok_or(None)?;
    let range = f64::from(i32::MAX);
    if integer && (number > range || number < -range - 1.0) {
        return Err(Some(TOO_LARGE));
    }
    let suffix = rest.trim();
    let mut number = number;
    if !suffix.is_empty() {
        let own = unit.ok_or(None)?;
        let (table, hint) = if worth(TIMES, own).is_some() { (TIMES, TIME_UNITS) } else { (SIZES, SIZE_UNITS) };
        let given = worth(table, suffix).filter(|_| suffix != "8kB").ok_or(Some(hint))?;
        number *= given / worth(table, own).ok_or(None)?;
    }
    if !integer {
        return Ok(number);
    }
    let rounded = number.round_ties_even();
    if rounded > range || rounded < -range - 1.0 {
        return Err(Some(TOO_LARGE));
    }
    Ok(rounded)
}

/// A value as SHOW prints it, back in its setting's unit: what pg_settings shows.
pub fn raw(definition: &Definition, shown: &str) -> String {
    if definition.unit.is_none() {
        return shown.to_string();
    }
    match parse_number(shown, definition.unit, false) {
        Ok(number) => number.to_string(),
        Err(_) => shown.to_string(),
    }
}

/// A number in its setting's unit as SHOW prints it: in the largest unit that divides it, one with a fraction in the smallest.
pub fn display(definition: &Definition, value: &str) -> String {
    let Some(unit) = definition.unit else {
        return if definition.vartype == "bool" && value.is_empty() { "off".into() } else { value.to_string() };
    };
    let Ok(number) = value.parse::<f64>() else { return value.to_string() };
    if number <= 0.0 {
        return value.to_string();
    }
    let (table, own) = match (worth(TIMES, unit), worth(SIZES, unit)) {
        (Some(own), _) => (TIMES, own),
        (_, Some(own)) => (SIZES, own),
        _ => return value.to_string(),
    };
    for (name, worth) in table.iter().rev() {
        // units smaller than the setting's own are never needed, except below 8kB
        let count = number * own / worth;
        if definition.vartype == "real" {
            // (0.9 ms are 900 us but for the last binary digit)
            let whole = count.round_ties_even();
            if (whole / count - 1.0).abs() <= 1e-8 {
                return format!("{whole}{name}");
            }
        } else if count.fract() == 0.0 && (*worth >= own || unit == "8kB" && *name == "kB") {
            return format!("{count}{name}");
        }
    }
    match table.first() {
        Some((name, worth)) if definition.vartype == "real" => format!("{}{name}", number * own / worth),
        _ => value.to_string(),
    }
}

/// A bound of a range as C's `%g` prints it.
pub fn bound(number: f64, integer: bool) -> String {
    if integer || number == 0.0 {
        return number.to_string();
    }
    let exponent = number.abs().log10().floor() as i32;
    if (-4..6).contains(&exponent) {
        let digits = (5 - exponent).max(0) as usize;
        let text = format!("{number:.digits$}");
        return if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text };
    }
    let text = format!("{number:.5e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// Settings whose value is a list of names, and whether names in it are quoted.
pub fn list(name: &str) -> Option<bool> {
    match name {
        "search_path"
        | "temp_tablespaces"
        | "session_preload_libraries"
        | "local_preload_libraries"
        | "shared_preload_libraries"
        | "unix_socket_directories" => Some(true),
        "datestyle"
        | "listen_addresses"
        | "log_destination"
        | "synchronous_standby_names"
        | "wal_consistency_checking" => Some(false),
        _ => None,
    }
}

/// The text of the value list of SET. `zone`: what a time zone means that is given as an interval. Errors: 22023, 0A000.
pub fn of_statement(name: &str, args: &[ast::Node], zone: impl Fn(&ast::TypeCast) -> Result<String>) -> Result<String> {
    use ast::a_const::Val;
    let list = list(&name.to_ascii_lowercase());
    if args.len() > 1 && list.is_none() {
        return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("SET {name} takes only one argument")));
    }
    let mut parts = Vec::new();
    for arg in args {
        match &arg.node {
            Some(NodeEnum::AConst(c)) => parts.push(match &c.val {
                Some(Val::Ival(i)) => i.ival.to_string(),
                Some(Val::Fval(f)) => f.fval.clone(),
                Some(Val::Sval(s)) if list == Some(true) => {
                    pgsqlite_sql::deparse::quote_identifier(&s.sval).to_string()
                }
                Some(Val::Sval(s)) => s.sval.clone(),
                Some(Val::Boolval(b)) => if b.boolval { "on" } else { "off" }.into(),
                _ => return Err(PgError::not_supported("this value in SET").at(c.location)),
            }),
            Some(NodeEnum::TypeCast(c)) if name.eq_ignore_ascii_case("timezone") => parts.push(zone(c)?),
            Some(NodeEnum::TypeCast(c)) => {
                return Err(PgError::not_supported(format!("an interval for \"{name}\"")).at(c.location))
            }
            _ => return Err(PgError::internal("SET value")),
        }
    }
    Ok(parts.join(", "))
}

/// A list of names separated by commas: quoted ones as they are, others folded to lower case. None: no such list.
pub fn split_names(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim_start();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let name;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut out = String::new();
            let mut tail = quoted;
            loop {
                let end = tail.find('"')?;
                out.push_str(&tail[..end]);
                tail = &tail[end + 1..];
                match tail.strip_prefix('"') {
                    Some(after) => {
                        out.push('"');
                        tail = after;
                    }
                    None => break,
                }
            }
            name = out;
            rest = tail.trim_start();
        } else {
            let end = rest.find(|c: char| c == ',' || c.is_ascii_whitespace()).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            name = rest[..end].to_lowercase();
            rest = rest[end..].trim_start();
        }
        names.push(name);
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// `a.b`: simple identifiers separated by dots, as the names of settings of extensions must be.
pub fn is_custom_name(name: &str) -> bool {
    name.contains('.')
        && name.split('.').all(|part| {
            let mut chars = part.chars();
            chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii())
                && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || !c.is_ascii())
        })
}

/// Checks a setting of pgvector, whose name begins with `hnsw.` or `ivfflat.` (`key` has it in small letters). Errors: 22023, 42602.
pub fn check_vector(name: &str, key: &str, value: Option<&str>) -> Result<(), PgError> {
    let invalid = |message: String| PgError::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let unreadable = || invalid(format!("invalid value for parameter \"{name}\": \"{}\"", value.unwrap_or_default()));
    let words = |known: &[&str]| match value {
        Some(v) if !known.iter().any(|k| v.eq_ignore_ascii_case(k)) => {
            Err(unreadable().hint(format!("Available values: {}.", known.join(", "))))
        }
        _ => Ok(()),
    };
    let most = match key {
        "hnsw.ef_search" | "hnsw.scan_mem_multiplier" => 1000,
        "hnsw.max_scan_tuples" => i64::from(i32::MAX),
        "ivfflat.probes" | "ivfflat.max_probes" => 32_768,
        "hnsw.iterative_scan" => return words(&["off", "relaxed_order", "strict_order"]),
        "ivfflat.iterative_scan" => return words(&["off", "relaxed_order"]),
        _ => {
            let prefix = key.split('.').next().unwrap_or_default();
            let message = format!("invalid configuration parameter name \"{name}\"");
            let error = PgError::new(SqlState::INVALID_NAME, message);
            return Err(error.detail(format!("\"{prefix}\" is a reserved prefix.")));
        }
    };
    let Some(text) = value else { return Ok(()) };
    let number: f64 = text.trim().parse().map_err(|_| unreadable())?;
    if key != "hnsw.scan_mem_multiplier" && number.fract() != 0.0 {
        return Err(unreadable());
    }
    if !(1.0..=most as f64).contains(&number) {
        let message = format!("{number} is outside the valid range for parameter \"{name}\" (1 .. {most})");
        return Err(invalid(message));
    }
    Ok(())
}

/// Checks a setting that is on or off. Errors: 22023.
pub fn check_boolean(name: &str, value: Option<&str>) -> Result<(), PgError> {
    match value.is_none_or(|value| parse_bool(value).is_some()) {
        true => Ok(()),
        false => {
            let message = format!("parameter \"{name}\" requires a Boolean value");
            Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

/// Checks a setting of PL/pgSQL, of which only the default values are implemented. `setting`: its name without `plpgsql.`.
/// Errors: 42602 for a name that there is not, 22023, 0A000.
pub fn check_plpgsql(name: &str, setting: &str, value: Option<&str>) -> Result<(), PgError> {
    let invalid = |message: String| PgError::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let default = match setting {
        "check_asserts" => "on",
        "print_strict_params" => "off",
        "variable_conflict" => "error",
        "extra_errors" | "extra_warnings" => "none",
        _ => {
            return Err(PgError::new(
                SqlState::INVALID_NAME,
                format!("invalid configuration parameter name \"{name}\""),
            )
            .detail("\"plpgsql\" is a reserved prefix."))
        }
    };
    let Some(value) = value else { return Ok(()) };
    let is_default = match default {
        "on" | "off" => {
            let given =
                parse_bool(value).ok_or_else(|| invalid(format!("parameter \"{name}\" requires a Boolean value")))?;
            given == (default == "on")
        }
        "error" => {
            if !["error", "use_variable", "use_column"].iter().any(|v| value.eq_ignore_ascii_case(v)) {
                return Err(invalid(format!("invalid value for parameter \"{name}\": \"{value}\""))
                    .hint("Available values: error, use_variable, use_column."));
            }
            value.eq_ignore_ascii_case(default)
        }
        _ => value.eq_ignore_ascii_case(default) || value.is_empty(),
    };
    match is_default {
        true => Ok(()),
        false => Err(PgError::not_supported(format!("{name} = {value}"))),
    }
}

/// The names of a search_path.
pub fn search_path_names(text: &str) -> Vec<String> {
    split_names(text).unwrap_or_default()
}

/// The transaction's modes that BEGIN, SET TRANSACTION and SET SESSION CHARACTERISTICS name, with their values. Errors: 0A000 for another mode.
pub fn of_modes(options: &[ast::Node]) -> Result<Vec<(&str, String)>> {
    use ast::a_const::Val;
    let mut modes = Vec::new();
    for option in options {
        let Some(NodeEnum::DefElem(d)) = &option.node else { return Err(PgError::internal("DefElem expected")) };
        if !super::OF_TRANSACTION.contains(&d.defname.as_str()) {
            return Err(PgError::not_supported(format!("transaction mode {}", d.defname)).at(d.location));
        }
        let value = match d.arg.as_ref().and_then(|a| a.node.as_ref()) {
            Some(NodeEnum::AConst(c)) => match &c.val {
                Some(Val::Sval(s)) => s.sval.clone(),
                Some(Val::Ival(i)) => if i.ival != 0 { "on" } else { "off" }.into(),
                _ => return Err(PgError::internal("the value of a transaction mode")),
            },
            _ => return Err(PgError::internal("a transaction mode without a value")),
        };
        modes.push((d.defname.as_str(), value));
    }
    Ok(modes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_commas() {
        let split = |text: &str| split_names(text).map(|n| n.join("|"));
        assert_eq!(split("a, B ,\"C,d\"\"e\"").as_deref(), Some("a|b|C,d\"e"));
        assert_eq!(split("").as_deref(), Some(""));
        assert_eq!(split("\"\"").as_deref(), Some(""));
        assert_eq!(split_names("\"\"").map(|n| n.len()), Some(1));
        for bad in ["a b", "a,", ",a", "\"a"] {
            assert_eq!(split_names(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_have_units() {
        assert_eq!(parse_number("1.5s", Some("ms"), true), Ok(1500.0));
        assert_eq!(parse_number("0x10", Some("ms"), true), Ok(16.0));
        assert_eq!(parse_number("010", Some("ms"), true), Ok(8.0));
        assert_eq!(parse_number(" 1e3 ", Some("ms"), true), Ok(1000.0));
        assert_eq!(parse_number("100us", Some("ms"), true), Ok(0.0));
        assert_eq!(parse_number("16MB", Some("8kB"), true), Ok(2048.0));
        assert_eq!(parse_number("25 days", Some("ms"), true), Err(Some(TIME_UNITS)));
        assert_eq!(parse_number("99999999999", Some("ms"), true), Err(Some(TOO_LARGE)));
        assert_eq!(parse_number("x", None, true), Err(None));
        assert_eq!(bound(1.79769e308, false), "1.79769e+308");
        assert_eq!(bound(0.25, false), "0.25");
    }
}
