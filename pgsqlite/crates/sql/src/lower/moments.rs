//! Comparisons of dates, timestamps and timestamps with time zone with each other.
//!
//! PostgreSQL has an operator for each pair of these types, and all of them belong to one family: an index on a column serves a
//! comparison with a value of another type of the family. Here the value that does not come from the row becomes a bound of the column's
//! type, and SQLite compares the stored texts. A date's text is the beginning of its midnight's text, so it sorts before each moment of
//! its day and after each one of the day before.

use super::{support, Lowerer};
use crate::builtins::catalog as builtin;
use crate::typed::{Expr, ExprKind};
use crate::volatility;
use crate::walk;
use pgsqlite_types::{Oid, Result};

/// What the text of a timestamp at midnight has behind that of its date.
const MIDNIGHT: &str = " 00:00:00";

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Date,
    /// timestamp without time zone
    Local,
    /// timestamp with time zone
    Moment,
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "date" => Kind::Date,
        "timestamp" => Kind::Local,
        "timestamptz" => Kind::Moment,
        _ => return None,
    })
}

/// The types and the operator of one of these functions, `date_lt_timestamp` for example.
fn compared(proc: Oid) -> Option<(Kind, &'static str, Kind)> {
    let mut words = builtin::proc_by_oid(proc)?.src?.split('_');
    let (left, operator, right) = (kind(words.next()?)?, words.next()?, kind(words.next()?)?);
    let operator = match operator {
        "eq" => "=",
        "ne" => "<>",
        "lt" => "<",
        "le" => "<=",
        "gt" => ">",
        "ge" => ">=",
        _ => return None,
    };
    (words.next().is_none() && left != right).then_some((left, operator, right))
}

/// The operator with its sides exchanged.
fn commuted(operator: &'static str) -> &'static str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

/// Whether an expression has columns of the query level that it stands in.
fn is_of_the_row(e: &Expr) -> bool {
    let mut found = false;
    walk::deep(e, 0, &mut |depth, e| match &e.kind {
        ExprKind::Var(v) => found |= v.levels_up == depth,
        ExprKind::WholeRow { levels_up, .. } => found |= *levels_up == depth,
        _ => {}
    });
    found
}

impl Lowerer<'_> {
    /// The text of a call of one of these functions; None: it is another one.
    pub(super) fn moments_compared(&mut self, proc: Oid, args: &[Expr]) -> Result<Option<String>> {
        let (Some((left, operator, right)), [a, b]) = (compared(proc), args) else { return Ok(None) };
        // the coarser type stands on the left
        let swapped = left == Kind::Moment || right == Kind::Date;
        let (coarse, fine, operator) = if swapped { (b, a, commuted(operator)) } else { (a, b, operator) };
        let (coarse_kind, fine_kind) = if swapped { (right, left) } else { (left, right) };
        let by_coarse = is_of_the_row(coarse) && !is_of_the_row(fine);
        let steady = |l: &Self, e: &Expr| {
            !is_of_the_row(e) && matches!(volatility::volatility(l.env.catalog, e), (b'i' | b's', None))
        };
        let (steady_coarse, steady_fine) = (steady(self, coarse), steady(self, fine));
        let (coarse, fine) = (self.expr(coarse)?, self.expr(fine)?);
        let once = |l: &Self, steady: bool, text: String| if steady { l.once(text) } else { text };
        Ok(Some(match (coarse_kind, fine_kind) {
            // (what is cut out of a time with a fraction stays between its date and the next one)
            (Kind::Date, Kind::Local) if by_coarse => {
                format!("({coarse} {operator} replace({fine}, '{MIDNIGHT}', ''))")
            }
            (Kind::Date, Kind::Local) => match operator {
                "<=" | ">" => format!("({fine} {} {coarse})", commuted(operator)),
                // an infinity has no time of day
                "=" | "<>" => format!("({fine} {operator} replace({coarse} || '{MIDNIGHT}', 'y{MIDNIGHT}', 'y'))"),
                _ => format!("({fine} {} {coarse} || '{MIDNIGHT}')", commuted(operator)),
            },
            (Kind::Date, _) if by_coarse && !matches!(operator, "=" | "<>") => {
                let last = matches!(operator, "<=" | ">") as i32;
                let bound = once(self, steady_fine, format!("{}({fine}, {last})", support::DAY_BOUND));
                format!("({coarse} {operator} {bound})")
            }
            _ => {
                let moment = once(self, steady_coarse, format!("{}({coarse})", support::AS_MOMENT));
                format!("({fine} {} {moment})", commuted(operator))
            }
        }))
    }
}
