//! DATETIMEs as PostgreSQL's timestamps and times: the present moment, parts of moments, and those that have neither year nor hour.
//!
//! A DATETIME that begins with MONTH or DAY is stored as a timestamp of the year 2000, one that begins behind HOUR as a time of the first hour.
//! What they lack must not be seen, so such a *partial* DATETIME is refused wherever it would mean more than it is: it is shown,
//! compared with its like, sorted, grouped, stored. A domain's CHECK keeps its values in that year or hour, whoever writes them.

use super::ast::Expr;
use super::print::Printer;
use super::Parse;
use crate::errors::Failure;
use crate::values::qualifier::{self, Qualifier};
use crate::values::types::Type;

impl Printer<'_> {
    /// The qualifier of a DATETIME that begins neither with YEAR nor with HOUR: what stands for the fields before is not to be seen.
    pub fn partial(&self, e: &Expr) -> Option<Qualifier> {
        // a present moment gets the qualifier of what is beside it
        self.known_type(e)?.partial()
    }

    /// An expression in a place where a partial DATETIME means no more than it is.
    pub fn partial_or(&mut self, e: &Expr, target: Option<Type>) -> Parse<String> {
        self.partial_allowed = true;
        let printed = self.expr_for(e, target);
        self.partial_allowed = false;
        printed
    }

    /// Whether `e`, if it is a partial DATETIME, is compared with its like.
    pub fn is_alike(&self, e: &Expr, other: &Expr) -> bool {
        match (self.partial(e), other) {
            // collections and rows have comparisons of their own
            (None, _) => self.complex(e).is_none(),
            (Some(_), Expr::Text(_) | Expr::Parameter(_) | Expr::Null) => true,
            (Some(q), Expr::Current(of_other)) => matches!(e, Expr::Column(_)) || *of_other == q,
            (Some(q), other) => self.known_type(other) == Some(Type::DateTime(q)),
        }
    }

    /// An expression that is compared with `other`.
    pub fn like_other(&mut self, e: &Expr, other: &Expr, target: Option<Type>) -> Parse<String> {
        match self.is_alike(e, other) {
            true => self.partial_or(e, target),
            false => self.expr_for(e, target),
        }
    }

    /// Refuses conditions on partial DATETIMEs where a table's columns are not in scope: they would be compared as they are stored.
    pub fn without_partial(&self, condition: &Expr, columns: &[(String, Option<Type>)]) -> Parse<()> {
        let mut found = None;
        condition.visit(&mut |e| {
            let Expr::Column(path) = e else { return };
            let column = columns.iter().find(|(name, _)| path.last() == Some(name));
            if let Some((name, Some(ty))) = column {
                if ty.partial().is_some() || ty.complex().is_some() {
                    found = Some(name.clone());
                }
            }
        });
        match found {
            Some(name) => Err(Failure::refused(format!("CHECK of {name}, a partial DATETIME, collection or row,"))),
            None => Ok(()),
        }
    }
}

/// The present moment.
pub(super) fn current(q: Qualifier) -> Parse<String> {
    truncated("localtimestamp", q)
}

/// A timestamp without what lies behind the last field of `q`.
pub(super) fn truncated(timestamp: &str, q: Qualifier) -> Parse<String> {
    let unit = match q.to {
        qualifier::YEAR => "year",
        qualifier::MONTH => "month",
        qualifier::DAY => "day",
        qualifier::HOUR => "hour",
        qualifier::MINUTE => "minute",
        qualifier::SECOND => "second",
        13 => "milliseconds",
        // tens of microseconds are cut by hand
        _ => {
            let unit = ["100 ms", "10 ms", "1 ms", "100 us", "10 us"][(q.fraction() - 1).min(4) as usize];
            let binned = format!("date_bin('{unit}', {timestamp}, timestamp '2000-01-01')");
            return of_class(binned, q);
        }
    };
    of_class(format!("date_trunc('{unit}', {timestamp})"), q)
}

/// An interval without what lies behind the last field of `q`. Errors: where the digits of a fraction cannot be cut.
pub(super) fn cut_interval(interval: &str, q: Qualifier) -> Parse<String> {
    let unit = match q.to {
        qualifier::YEAR => "year",
        qualifier::MONTH => "month",
        qualifier::DAY => "day",
        qualifier::HOUR => "hour",
        qualifier::MINUTE => "minute",
        qualifier::SECOND => "second",
        13 => "milliseconds",
        // no interval here has more digits
        15 => return Ok(format!("({interval})::interval")),
        _ => return Err(Failure::refused("an expression for an INTERVAL of one, two or four digits of a second")),
    };
    Ok(format!("date_trunc('{unit}', justify_hours(({interval})::interval))"))
}

fn of_class(timestamp: String, q: Qualifier) -> Parse<String> {
    let of_moment = |value: &str| format!("(SELECT {value} FROM (SELECT {timestamp} AS v) AS \"(moment)\")");
    let (second, month) = ("extract(second FROM v)", "extract(month FROM v)::int");
    let rest = "extract(hour FROM v)::int, extract(minute FROM v)::int, extract(second FROM v)::float8";
    Ok(match q.from {
        qualifier::YEAR => timestamp,
        qualifier::HOUR => format!("({timestamp})::time"),
        qualifier::MONTH => of_moment(&format!("make_timestamp(2000, {month}, extract(day FROM v)::int, {rest})")),
        qualifier::DAY => of_moment(&format!("make_timestamp(2000, 1, extract(day FROM v)::int, {rest})")),
        qualifier::MINUTE => of_moment(&format!("make_time(0, extract(minute FROM v)::int, {second}::float8)")),
        qualifier::SECOND => of_moment(&format!("make_time(0, 0, {second}::float8)")),
        _ => of_moment(&format!("make_time(0, 0, ({second} - floor({second}))::float8)")),
    })
}
