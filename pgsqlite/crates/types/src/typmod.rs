//! Type modifiers: PostgreSQL's encoding of `numeric(p,s)`, `varchar(n)`, `timestamp(p)`, `interval … (p)` in one
//! integer, read from a type name's modifier list and printed by `format_type`.

use crate::extension::{self, vector::Kind};
use crate::oid::{self, Oid};
use crate::{catalog, PgError, Result, SqlState};

/// Length words count four bytes of header that values no longer have; the encoding still adds them.
const HEADER: i32 = 4;
/// Longest `varchar(n)`, `char(n)`.
const MAX_LENGTH: i64 = 10_485_760;
/// Digits of fractional seconds that times keep.
pub const MAX_TIME_PRECISION: i32 = 6;

/// Bits of an interval's field range.
pub mod interval_range {
    pub const MONTH: i32 = 1 << 1;
    pub const YEAR: i32 = 1 << 2;
    pub const DAY: i32 = 1 << 3;
    pub const HOUR: i32 = 1 << 10;
    pub const MINUTE: i32 = 1 << 11;
    pub const SECOND: i32 = 1 << 12;
    pub const FULL: i32 = 0x7fff;
}
/// "No precision given" in an interval's typmod.
pub const INTERVAL_FULL_PRECISION: i32 = 0xffff;

/// Precision and scale of a numeric's typmod; None for -1. The scale may be negative.
pub fn numeric_precision_scale(typmod: i32) -> Option<(i32, i32)> {
    if typmod < HEADER {
        return None;
    }
    let t = typmod - HEADER;
    Some((t >> 16 & 0xffff, ((t & 0x7ff) ^ 1024) - 1024))
}

/// Field range and precision of an interval's typmod; None for -1.
pub fn interval_range_precision(typmod: i32) -> Option<(i32, i32)> {
    (typmod >= 0).then_some((typmod >> 16 & 0x7fff, typmod & 0xffff))
}

/// The typmod of an interval with this range and precision ([`INTERVAL_FULL_PRECISION`]: none).
pub fn interval_typmod(range: i32, precision: i32) -> i32 {
    range << 16 | precision & 0xffff
}

fn invalid(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// What [`parse`] gives: the typmod and, where PostgreSQL warns (a precision cut to 6), the warning's text.
#[derive(Debug, PartialEq, Eq)]
pub struct Parsed {
    pub typmod: i32,
    pub warning: Option<String>,
}

/// The typmod that a modifier list gives a type: what the type's `typmodin` function computes. For `interval` the
/// grammar gives the field range as the first modifier, then the precision.
pub fn parse(type_oid: Oid, modifiers: &[i64]) -> Result<Parsed> {
    let plain = |typmod| Ok(Parsed { typmod, warning: None });
    match type_oid {
        oid::VARCHAR | oid::BPCHAR => {
            let name = if type_oid == oid::VARCHAR { "varchar" } else { "char" };
            let [n] = modifiers else { return Err(invalid("invalid type modifier")) };
            if *n < 1 {
                return Err(invalid(format!("length for type {name} must be at least 1")));
            }
            if *n > MAX_LENGTH {
                return Err(invalid(format!("length for type {name} cannot exceed {MAX_LENGTH}")));
            }
            plain(*n as i32 + HEADER)
        }
        oid::NUMERIC => {
            let (precision, scale) = match modifiers {
                [p] => (*p, 0),
                [p, s] => (*p, *s),
                _ => return Err(invalid("invalid NUMERIC type modifier")),
            };
            if !(1..=1000).contains(&precision) {
                return Err(invalid(format!("NUMERIC precision {precision} must be between 1 and 1000")));
            }
            if !(-1000..=1000).contains(&scale) {
                return Err(invalid(format!("NUMERIC scale {scale} must be between -1000 and 1000")));
            }
            plain(((precision as i32) << 16 | scale as i32 & 0x7ff) + HEADER)
        }
        oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            let [p] = modifiers else { return Err(invalid("invalid type modifier")) };
            let (name, zone) = match type_oid {
                oid::TIME => ("TIME", ""),
                oid::TIMETZ => ("TIME", " WITH TIME ZONE"),
                oid::TIMESTAMP => ("TIMESTAMP", ""),
                _ => ("TIMESTAMP", " WITH TIME ZONE"),
            };
            if *p < 0 {
                return Err(invalid(format!("{name}({p}){zone} precision must not be negative")));
            }
            if *p > MAX_TIME_PRECISION as i64 {
                return Ok(Parsed {
                    typmod: MAX_TIME_PRECISION,
                    warning: Some(format!(
                        "{name}({p}){zone} precision reduced to maximum allowed, {MAX_TIME_PRECISION}"
                    )),
                });
            }
            plain(*p as i32)
        }
        oid::INTERVAL => {
            use interval_range::*;
            let (range, precision) = match modifiers {
                [r] => (*r as i32, None),
                [r, p] => (*r as i32, Some(*p)),
                _ => return Err(invalid("invalid INTERVAL type modifier")),
            };
            let known = [
                YEAR,
                MONTH,
                DAY,
                HOUR,
                MINUTE,
                SECOND,
                YEAR | MONTH,
                DAY | HOUR,
                DAY | HOUR | MINUTE,
                DAY | HOUR | MINUTE | SECOND,
                HOUR | MINUTE,
                HOUR | MINUTE | SECOND,
                MINUTE | SECOND,
                FULL,
            ];
            if !known.contains(&range) {
                return Err(invalid("invalid INTERVAL type modifier"));
            }
            match precision {
                None if range == FULL => plain(-1),
                None => plain(interval_typmod(range, INTERVAL_FULL_PRECISION)),
                Some(p) if p < 0 => Err(invalid(format!("INTERVAL({p}) precision must not be negative"))),
                Some(p) if p > MAX_TIME_PRECISION as i64 => Ok(Parsed {
                    typmod: interval_typmod(range, MAX_TIME_PRECISION),
                    warning: Some(format!("INTERVAL({p}) precision reduced to maximum allowed, {MAX_TIME_PRECISION}")),
                }),
                Some(p) => plain(interval_typmod(range, p as i32)),
            }
        }
        oid::BIT | oid::VARBIT => {
            let name = if type_oid == oid::BIT { "bit" } else { "varbit" };
            let [n] = modifiers else { return Err(invalid("invalid type modifier")) };
            if *n < 1 {
                return Err(invalid(format!("length for type {name} must be at least 1")));
            }
            if *n > MAX_LENGTH * 8 {
                return Err(invalid(format!("length for type {name} cannot exceed {}", MAX_LENGTH * 8)));
            }
            plain(*n as i32)
        }
        extension::VECTOR | extension::HALFVEC | extension::SPARSEVEC => {
            let kind = match type_oid {
                extension::VECTOR => Kind::Vector,
                extension::HALFVEC => Kind::Half,
                _ => Kind::Sparse,
            };
            let [n] = modifiers else { return Err(invalid("invalid type modifier")) };
            if *n < 1 {
                return Err(invalid(format!("dimensions for type {} must be at least 1", kind.name())));
            }
            if *n > kind.most_dimensions() {
                let most = kind.most_dimensions();
                return Err(invalid(format!("dimensions for type {} cannot exceed {most}", kind.name())));
            }
            plain(*n as i32)
        }
        // An array's modifier is its element's.
        _ => match catalog::by_oid(type_oid) {
            Some(t) if t.is_array() && !is_vector(type_oid) => parse(t.elem, modifiers).map_err(|mut e| {
                if e.code() == SqlState::SYNTAX_ERROR {
                    let name = catalog::by_oid(t.elem).map_or(t.name, |t| t.name);
                    e.fields_mut().message = format!("type modifier is not allowed for type \"{name}[]\"");
                }
                e
            }),
            Some(t) => Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                format!("type modifier is not allowed for type \"{}\"", t.name),
            )),
            None => Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("type with OID {type_oid} does not exist"))),
        },
    }
}

fn is_vector(type_oid: Oid) -> bool {
    type_oid == oid::INT2VECTOR || type_oid == oid::OIDVECTOR
}

/// The name of a built-in type as error messages show it (`format_type(oid, NULL)`): without a typmod.
pub fn type_name(type_oid: Oid) -> Option<String> {
    match type_oid {
        oid::BPCHAR => Some("character".into()),
        oid::BPCHAR_ARRAY => Some("character[]".into()),
        oid::BIT => Some("bit".into()),
        oid::BIT_ARRAY => Some("bit[]".into()),
        _ => format_type(type_oid, -1),
    }
}

/// The name of a built-in type with its typmod (-1: it has none), as `format_type(oid, typmod)` prints it; None for
/// types that are not built in, or not in pg_catalog (the catalog knows their names and whether a schema must be shown).
pub fn format_type(type_oid: Oid, typmod: i32) -> Option<String> {
    let t = catalog::by_oid(type_oid).filter(|t| t.extension.is_none() && !oid::is_information_domain(t.oid))?;
    if t.is_array() && !is_vector(type_oid) {
        return Some(format!("{}[]", format_type(t.elem, typmod)?));
    }
    let with = |name: &str| {
        if typmod >= HEADER {
            format!("{name}({})", typmod - HEADER)
        } else {
            name.to_string()
        }
    };
    let time = |name: &str, zone: &str| {
        if typmod >= 0 {
            format!("{name}({typmod}) {zone} time zone")
        } else {
            format!("{name} {zone} time zone")
        }
    };
    Some(match type_oid {
        // Without a length, "bit" would read as bit(1).
        oid::BIT if typmod < 0 => "\"bit\"".into(),
        oid::BIT => bit("bit", typmod),
        oid::VARBIT => bit("bit varying", typmod),
        oid::BOOL => "boolean".into(),
        // Without a length, "character" would read as character(1).
        oid::BPCHAR if typmod < HEADER => "bpchar".into(),
        oid::BPCHAR => with("character"),
        oid::CHAR => "\"char\"".into(),
        oid::FLOAT4 => "real".into(),
        oid::FLOAT8 => "double precision".into(),
        oid::INT2 => "smallint".into(),
        oid::INT4 => "integer".into(),
        oid::INT8 => "bigint".into(),
        oid::NUMERIC => match numeric_precision_scale(typmod) {
            Some((p, s)) => format!("numeric({p},{s})"),
            None => "numeric".into(),
        },
        oid::INTERVAL => interval_name(typmod),
        oid::TIME => time("time", "without"),
        oid::TIMETZ => time("time", "with"),
        oid::TIMESTAMP => time("timestamp", "without"),
        oid::TIMESTAMPTZ => time("timestamp", "with"),
        oid::VARCHAR => with("character varying"),
        _ if typmod >= 0 => format!("{}({typmod})", t.name),
        _ => t.name.into(),
    })
}

fn bit(name: &str, typmod: i32) -> String {
    if typmod >= 0 {
        format!("{name}({typmod})")
    } else {
        name.into()
    }
}

fn interval_name(typmod: i32) -> String {
    use interval_range::*;
    let Some((range, precision)) = interval_range_precision(typmod) else { return "interval".into() };
    let fields = match range {
        YEAR => " year",
        MONTH => " month",
        DAY => " day",
        HOUR => " hour",
        MINUTE => " minute",
        SECOND => " second",
        r if r == YEAR | MONTH => " year to month",
        r if r == DAY | HOUR => " day to hour",
        r if r == DAY | HOUR | MINUTE => " day to minute",
        r if r == DAY | HOUR | MINUTE | SECOND => " day to second",
        r if r == HOUR | MINUTE => " hour to minute",
        r if r == HOUR | MINUTE | SECOND => " hour to second",
        r if r == MINUTE | SECOND => " minute to second",
        _ => "",
    };
    if precision == INTERVAL_FULL_PRECISION {
        format!("interval{fields}")
    } else {
        format!("interval{fields}({precision})")
    }
}
