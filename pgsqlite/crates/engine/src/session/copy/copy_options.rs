//! The options of COPY: read from the parse tree, checked against each other in PostgreSQL's order.

use crate::session::Format;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::encoding::Encoding;
use pgsqlite_types::{PgError, Result, SqlState};
use std::num::IntErrorKind;

/// What becomes of the first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum Header {
    No,
    /// written, or skipped
    Yes,
    /// its names must be those of the columns
    Match,
}

/// Which columns an option names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::session) enum Columns {
    Listed(Vec<String>),
    All,
}

/// How the data of a COPY look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::session) struct CopyOptions {
    pub csv: bool,
    pub binary: bool,
    pub delimiter: u8,
    /// what stands for NULL
    pub null: String,
    /// COPY FROM, as PostgreSQL 16 has it: what stands for the column's default
    pub default: Option<String>,
    pub header: Header,
    /// CSV only
    pub quote: u8,
    pub escape: u8,
    /// COPY TO: columns whose values are always quoted
    pub force_quote: Columns,
    /// COPY FROM: columns in which the NULL string is taken as it stands
    pub force_not_null: Vec<String>,
    /// COPY FROM: columns in which also the quoted NULL string is NULL
    pub force_null: Vec<String>,
    pub freeze: bool,
    /// COPY FROM, as PostgreSQL 17 and 18 have it: rows whose values do not fit are left out
    pub ignores_errors: bool,
    /// so many at most
    pub reject_limit: Option<i64>,
    pub log_verbosity: Verbosity,
}

/// What the client is told of rows that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::session) enum Verbosity {
    Silent,
    /// how many they are
    Default,
    /// each
    Verbose,
}

fn argument(option: &ast::DefElem) -> Option<&NodeEnum> {
    option.arg.as_ref().and_then(|a| a.node.as_ref())
}

/// The argument as text, whatever the grammar made of it.
fn string(option: &ast::DefElem) -> Result<String> {
    match argument(option) {
        Some(NodeEnum::String(s)) => Ok(s.sval.clone()),
        Some(NodeEnum::Integer(i)) => Ok(i.ival.to_string()),
        Some(NodeEnum::Float(f)) => Ok(f.fval.clone()),
        Some(NodeEnum::Boolean(b)) => Ok(b.boolval.to_string()),
        Some(NodeEnum::AStar(_)) => Ok("*".into()),
        Some(_) => {
            Err(PgError::not_supported(format!("this argument of COPY option \"{}\"", option.defname))
                .at(option.location))
        }
        None => Err(PgError::new(SqlState::SYNTAX_ERROR, format!("{} requires a parameter", option.defname))),
    }
}

/// A truth value; without an argument it is true. None: the argument is no truth value.
fn truth(option: &ast::DefElem) -> Result<Option<bool>> {
    if argument(option).is_none() {
        return Ok(Some(true));
    }
    if let Some(NodeEnum::Integer(i)) = argument(option) {
        return Ok(match i.ival {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        });
    }
    Ok(match string(option)?.to_ascii_lowercase().as_str() {
        "true" | "on" => Some(true),
        "false" | "off" => Some(false),
        _ => None,
    })
}

fn column_list(option: &ast::DefElem, all_allowed: bool) -> Result<Columns> {
    match argument(option) {
        Some(NodeEnum::AStar(_)) if all_allowed => Ok(Columns::All),
        Some(NodeEnum::List(list)) => list
            .items
            .iter()
            .map(|n| match &n.node {
                Some(NodeEnum::String(s)) => Ok(s.sval.clone()),
                _ => Err(PgError::internal("a column name in COPY's option")),
            })
            .collect::<Result<_>>()
            .map(Columns::Listed),
        _ => Err(PgError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("argument to option \"{}\" must be a list of column names", option.defname),
        )
        .at(option.location)),
    }
}

fn listed(option: &ast::DefElem) -> Result<Vec<String>> {
    match column_list(option, false)? {
        Columns::Listed(names) => Ok(names),
        Columns::All => Err(PgError::internal("* was not allowed")),
    }
}

fn header(option: &ast::DefElem, is_from: bool) -> Result<Header> {
    if let Some(truth) = truth(option)? {
        return Ok(if truth { Header::Yes } else { Header::No });
    }
    let text = string(option)?;
    if !matches!(argument(option), Some(NodeEnum::Integer(_))) && text.eq_ignore_ascii_case("match") {
        if !is_from {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot use \"{text}\" with HEADER in COPY TO"),
            ));
        }
        return Ok(Header::Match);
    }
    Err(PgError::new(SqlState::SYNTAX_ERROR, format!("{} requires a Boolean value or \"match\"", option.defname)))
}

/// UTF8 in any of its spellings; other encodings are known to PostgreSQL, not to us.
fn encoding(option: &ast::DefElem) -> Result<()> {
    let name = string(option)?;
    match Encoding::by_name(&name) {
        Some(Encoding::Utf8) => return Ok(()),
        Some(_) => return Err(PgError::not_supported(format!("COPY with ENCODING '{name}'")).at(option.location)),
        None => {}
    }
    Err(PgError::new(
        SqlState::INVALID_PARAMETER_VALUE,
        format!("argument to option \"{}\" must be a valid encoding name", option.defname),
    )
    .at(option.location))
}

/// `ON_ERROR`: whether rows are left out.
fn on_error(option: &ast::DefElem, is_from: bool) -> Result<bool> {
    let invalid = |message: String| Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message).at(option.location));
    let text = string(option)?;
    if !is_from {
        return invalid("COPY ON_ERROR cannot be used with COPY TO".into());
    }
    match text.to_ascii_lowercase().as_str() {
        "stop" => Ok(false),
        "ignore" => Ok(true),
        _ => invalid(format!("COPY ON_ERROR \"{text}\" not recognized")),
    }
}

fn log_verbosity(option: &ast::DefElem) -> Result<Verbosity> {
    let text = string(option)?;
    match text.to_ascii_lowercase().as_str() {
        "silent" => Ok(Verbosity::Silent),
        "default" => Ok(Verbosity::Default),
        "verbose" => Ok(Verbosity::Verbose),
        _ => {
            let message = format!("COPY LOG_VERBOSITY \"{text}\" not recognized");
            Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message).at(option.location))
        }
    }
}

/// `REJECT_LIMIT`: a number above zero.
fn reject_limit(option: &ast::DefElem) -> Result<i64> {
    let invalid = |state: SqlState, message: String| Err(PgError::new(state, message));
    let text = match argument(option) {
        Some(NodeEnum::Integer(i)) => i.ival.to_string(),
        Some(NodeEnum::Float(f)) => f.fval.clone(),
        Some(NodeEnum::String(s)) => s.sval.clone(),
        _ => return invalid(SqlState::SYNTAX_ERROR, format!("{} requires a numeric value", option.defname)),
    };
    let limit: i64 = match text.trim().parse() {
        Ok(number) => number,
        Err(e) if matches!(e.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => {
            let message = format!("value \"{text}\" is out of range for type bigint");
            return invalid(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message);
        }
        Err(_) => {
            let message = format!("invalid input syntax for type bigint: \"{text}\"");
            return invalid(SqlState::INVALID_TEXT_REPRESENTATION, message);
        }
    };
    if limit <= 0 {
        return invalid(SqlState::INVALID_PARAMETER_VALUE, format!("REJECT_LIMIT ({limit}) must be greater than zero"));
    }
    Ok(limit)
}

impl CopyOptions {
    /// The format of every column in CopyInResponse and CopyOutResponse.
    pub fn format(&self) -> Format {
        if self.binary {
            Format::Binary
        } else {
            Format::Text
        }
    }

    /// Reads the option list of a COPY statement. Errors: 42601, 22023 and 0A000 as PostgreSQL raises them.
    pub fn read(options: &[ast::Node], is_from: bool) -> Result<CopyOptions> {
        let mut seen: Vec<&str> = Vec::new();
        let (mut csv, mut binary, mut freeze, mut head) = (false, false, false, Header::No);
        let (mut delimiter, mut null, mut quote, mut escape) = (None, None, None, None);
        let (mut force_quote, mut force_not_null, mut force_null) = (None, None, None);
        let mut default = None;
        let (mut ignores, mut limit, mut verbosity) = (false, None, Verbosity::Default);
        for node in options {
            let Some(NodeEnum::DefElem(option)) = &node.node else { return Err(PgError::internal("a COPY option")) };
            let name = option.defname.as_str();
            if seen.contains(&name) {
                return Err(
                    PgError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options").at(option.location)
                );
            }
            seen.push(name);
            match name {
                "format" => match string(option)?.as_str() {
                    "text" => {}
                    "csv" => csv = true,
                    "binary" => binary = true,
                    other => {
                        return Err(PgError::new(
                            SqlState::INVALID_PARAMETER_VALUE,
                            format!("COPY format \"{other}\" not recognized"),
                        )
                        .at(option.location))
                    }
                },
                "freeze" => {
                    freeze = truth(option)?.ok_or_else(|| {
                        PgError::new(SqlState::SYNTAX_ERROR, format!("{name} requires a Boolean value"))
                    })?;
                }
                "delimiter" => delimiter = Some(string(option)?),
                "null" => null = Some(string(option)?),
                "header" => head = header(option, is_from)?,
                "quote" => quote = Some(string(option)?),
                "escape" => escape = Some(string(option)?),
                "force_quote" => force_quote = Some(column_list(option, true)?),
                "force_not_null" => force_not_null = Some(listed(option)?),
                "force_null" => force_null = Some(listed(option)?),
                "encoding" => encoding(option)?,
                "on_error" => ignores = on_error(option, is_from)?,
                "log_verbosity" => verbosity = log_verbosity(option)?,
                "reject_limit" => limit = Some(reject_limit(option)?),
                "default" => default = Some(string(option)?),
                _ => {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, format!("option \"{name}\" not recognized"))
                        .at(option.location))
                }
            }
        }
        if binary {
            let given = [(delimiter.is_some(), "DELIMITER"), (null.is_some(), "NULL"), (default.is_some(), "DEFAULT")];
            for (given, name) in given {
                if given {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, format!("cannot specify {name} in BINARY mode")));
                }
            }
            if head != Header::No {
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot specify HEADER in BINARY mode"));
            }
        }
        if binary && ignores {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "only ON_ERROR STOP is allowed in BINARY mode"));
        }
        let delimiter = delimiter.unwrap_or_else(|| if csv { "," } else { "\t" }.into());
        let null = null.unwrap_or_else(|| if csv { "" } else { "\\N" }.into());
        let given_quote = quote.is_some();
        let given_escape = escape.is_some();
        let quote = quote.unwrap_or_else(|| "\"".into());
        let escape = escape.unwrap_or_else(|| quote.clone());
        let unsupported = |message: &str| Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        let invalid = |message: String| Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message));

        if delimiter.len() != 1 {
            return unsupported("COPY delimiter must be a single one-byte character");
        }
        if delimiter == "\r" || delimiter == "\n" {
            return invalid("COPY delimiter cannot be newline or carriage return".into());
        }
        if null.contains(['\r', '\n']) {
            return invalid("COPY null representation cannot use newline or carriage return".into());
        }
        if default.as_ref().is_some_and(|d| d.contains(['\r', '\n'])) {
            return invalid("COPY default representation cannot use newline or carriage return".into());
        }
        let byte = delimiter.as_bytes()[0];
        if !csv && (matches!(byte, b'\\' | b'.') || byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            return invalid(format!("COPY delimiter cannot be \"{delimiter}\""));
        }
        if !csv && given_quote {
            return unsupported("COPY QUOTE requires CSV mode");
        }
        if csv && quote.len() != 1 {
            return unsupported("COPY quote must be a single one-byte character");
        }
        if csv && delimiter == quote {
            return invalid("COPY delimiter and quote must be different".into());
        }
        if !csv && given_escape {
            return unsupported("COPY ESCAPE requires CSV mode");
        }
        if csv && escape.len() != 1 {
            return unsupported("COPY escape must be a single one-byte character");
        }
        if !csv && force_quote.is_some() {
            return unsupported("COPY FORCE_QUOTE requires CSV mode");
        }
        if is_from && force_quote.is_some() {
            return unsupported("COPY FORCE_QUOTE cannot be used with COPY FROM");
        }
        if !csv && force_not_null.is_some() {
            return unsupported("COPY FORCE_NOT_NULL requires CSV mode");
        }
        if !is_from && force_not_null.is_some() {
            return invalid("COPY FORCE_NOT_NULL cannot be used with COPY TO".into());
        }
        if !csv && force_null.is_some() {
            return unsupported("COPY FORCE_NULL requires CSV mode");
        }
        if !is_from && force_null.is_some() {
            return invalid("COPY FORCE_NULL cannot be used with COPY TO".into());
        }
        if null.contains(&delimiter) {
            return invalid("COPY delimiter character must not appear in the NULL specification".into());
        }
        if csv && null.contains(&quote) {
            return invalid("CSV quote character must not appear in the NULL specification".into());
        }
        if let Some(default) = &default {
            if !is_from {
                return unsupported("COPY DEFAULT cannot be used with COPY TO");
            }
            if default.contains(&delimiter) {
                return unsupported("COPY delimiter character must not appear in the DEFAULT specification");
            }
            if csv && default.contains(&quote) {
                return unsupported("CSV quote character must not appear in the DEFAULT specification");
            }
            if *default == null {
                return unsupported("NULL specification and DEFAULT specification cannot be the same");
            }
        }
        if limit.is_some() && !ignores {
            return invalid("COPY REJECT_LIMIT requires ON_ERROR to be set to IGNORE".into());
        }
        Ok(CopyOptions {
            csv,
            binary,
            delimiter: byte,
            null,
            default,
            header: head,
            quote: quote.as_bytes()[0],
            escape: escape.as_bytes()[0],
            force_quote: force_quote.unwrap_or(Columns::Listed(vec![])),
            force_not_null: force_not_null.unwrap_or_default(),
            force_null: force_null.unwrap_or_default(),
            freeze,
            ignores_errors: ignores,
            reject_limit: limit,
            log_verbosity: verbosity,
        })
    }
}
