//! Reading the option lists of the grammar (DefElem).

use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::work;
use pgsqlite_types::{PgError, Result, SqlState};

pub(super) fn def_elems(nodes: &[ast::Node]) -> impl Iterator<Item = &ast::DefElem> {
    nodes.iter().filter_map(|n| match &n.node {
        Some(NodeEnum::DefElem(d)) => Some(&**d),
        _ => None,
    })
}

pub(super) fn arg(option: &ast::DefElem) -> Option<&NodeEnum> {
    option.arg.as_ref().and_then(|a| a.node.as_ref())
}

/// An integer argument (also one that only fits 64 bits, which the grammar keeps as a float's text).
pub(super) fn integer(option: &ast::DefElem) -> Result<i64> {
    let text = match arg(option) {
        Some(NodeEnum::Integer(i)) => return Ok(i.ival as i64),
        Some(NodeEnum::Float(f)) => &f.fval,
        _ => {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, format!("{} requires a numeric value", option.defname))
                .at(option.location))
        }
    };
    text.parse().map_err(|_| {
        PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("value \"{text}\" is out of range for type bigint"))
    })
}

/// A truth value: absent means true. The numbers 1 and 0 are some, the texts of them are not.
pub(super) fn boolean(option: &ast::DefElem) -> Result<bool> {
    match arg(option) {
        None => Ok(true),
        Some(NodeEnum::Integer(i)) => match i.ival {
            0 | 1 => Ok(i.ival == 1),
            _ => Err(requires_boolean(option)),
        },
        Some(_) => match text_of(option).to_ascii_lowercase().as_str() {
            "true" | "on" => Ok(true),
            "false" | "off" => Ok(false),
            _ => Err(requires_boolean(option)),
        },
    }
}

fn requires_boolean(option: &ast::DefElem) -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, format!("{} requires a Boolean value", option.defname))
}

pub(super) fn string(option: &ast::DefElem) -> Option<&str> {
    match arg(option) {
        Some(NodeEnum::String(s)) => Some(&s.sval),
        _ => None,
    }
}

/// A word as argument, quoted or not.
pub(super) fn word(option: &ast::DefElem) -> &str {
    match arg(option) {
        Some(NodeEnum::TypeName(name)) => super::strings(&name.names).last().copied().unwrap_or_default(),
        _ => string(option).unwrap_or_default(),
    }
}

/// The parts of the name that an argument is, quoted or not; none: there is no argument.
pub(super) fn name_of(option: &ast::DefElem) -> Vec<&str> {
    match string(option) {
        Some(quoted) => vec![quoted],
        None => names(option),
    }
}

/// An argument of any kind as the text of it; empty: there is none.
pub(super) fn text_of(option: &ast::DefElem) -> String {
    match arg(option) {
        Some(NodeEnum::Integer(i)) => i.ival.to_string(),
        Some(NodeEnum::Float(f)) => f.fval.clone(),
        Some(NodeEnum::Boolean(b)) => b.boolval.to_string(),
        _ => name_of(option).join("."),
    }
}

/// The dotted name in a list argument.
pub(super) fn names(option: &ast::DefElem) -> Vec<&str> {
    match arg(option) {
        Some(NodeEnum::List(list)) => super::strings(&list.items),
        Some(NodeEnum::TypeName(name)) => super::strings(&name.names),
        _ => Vec::new(),
    }
}

pub(super) fn type_name(option: &ast::DefElem) -> Option<&ast::TypeName> {
    match arg(option) {
        Some(NodeEnum::TypeName(name)) => Some(name),
        _ => None,
    }
}

/// The text of SET's value list, as it is stored: list settings quote their names.
pub(super) fn setting_value(name: &str, args: &[ast::Node]) -> Result<String> {
    use ast::a_const::Val;
    let is_list = pgsqlite_natives::settings::values::list(name) == Some(true);
    let mut parts = Vec::new();
    for arg in args {
        work::visit();
        let Some(NodeEnum::AConst(c)) = &arg.node else {
            return Err(PgError::not_supported(format!("this value for \"{name}\"")));
        };
        parts.push(match &c.val {
            Some(Val::Ival(i)) => i.ival.to_string(),
            Some(Val::Fval(f)) => f.fval.clone(),
            Some(Val::Sval(s)) if is_list => pgsqlite_sql::deparse::quote_identifier(&s.sval).to_string(),
            Some(Val::Sval(s)) => s.sval.clone(),
            Some(Val::Boolval(b)) => if b.boolval { "on" } else { "off" }.into(),
            _ => return Err(PgError::not_supported(format!("this value for \"{name}\"")).at(c.location)),
        });
    }
    Ok(parts.join(", "))
}
