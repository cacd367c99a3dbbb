//! What is said of an unknown column: the columns in reach that are spelled most alike (PostgreSQL allows a distance of 3, and
//! less than half of the letters), or the one of that name that is out of sight.

use super::Level;
use crate::typed::RteKind;
use pgsqlite_types::PgError;

/// A distance that is too far.
const TOO_FAR: usize = 4;

/// A candidate: alias and column.
type Found<'a> = (&'a str, &'a str);

/// The best one or two candidates so far; none if there are more of the same distance.
struct Best<'a> {
    distance: usize,
    first: Option<Found<'a>>,
    second: Option<Found<'a>>,
}

/// The error of a reference to `name`, or `table.name`, with the DETAIL and the HINT that it has.
pub(super) fn explained(error: PgError, levels: &[Level], table: Option<&str>, name: &str) -> PgError {
    let mut best = Best { distance: TOO_FAR, first: None, second: None };
    let mut exact = Vec::new();
    for level in levels.iter().rev() {
        for (at, entry) in level.range_table.iter().enumerate() {
            // (RETURNING's OLD and NEW are no entries of PostgreSQL's)
            if matches!(entry.kind, RteKind::Join { .. } | RteKind::Returned) {
                continue;
            }
            // a table that is called otherwise makes all its columns less alike
            let penalty = table.map_or(0, |t| distance(t, &entry.alias));
            if penalty >= TOO_FAR {
                continue;
            }
            for column in &entry.columns {
                if column.name == name && penalty == 0 {
                    let item = level.namespace.iter().find(|i| i.rte == Some(at));
                    exact.push((entry.alias.as_str(), item));
                    continue;
                }
                best.see((&entry.alias, &column.name), name, penalty);
            }
        }
    }
    if let [(alias, item), others @ ..] = &exact[..] {
        let lateral = item.is_some_and(|i| i.lateral_only && i.lateral_ok);
        let qualified = table.is_none() && item.is_some_and(|i| i.table_visible && !i.columns_visible);
        let (detail, hint) = match others {
            [] => (
                format!(
                    "There is a column named \"{name}\" in table \"{alias}\", but it cannot be referenced from this part of \
                     the query."
                ),
                match (lateral, qualified) {
                    (true, _) => Some("To reference that column, you must mark this subquery with LATERAL."),
                    (_, true) => Some("To reference that column, you must use a table-qualified name."),
                    _ => None,
                },
            ),
            _ => (
                format!(
                    "There are columns named \"{name}\", but they are in tables that cannot be referenced from this part of \
                     the query."
                ),
                table.is_none().then_some("Try using a table-qualified name."),
            ),
        };
        let error = error.detail(detail);
        return match hint {
            Some(hint) => error.hint(hint),
            None => error,
        };
    }
    let Some((table, column)) = best.first else { return error };
    error.hint(match best.second {
        None => format!("Perhaps you meant to reference the column \"{table}.{column}\"."),
        Some((other, second)) => format!(
            "Perhaps you meant to reference the column \"{table}.{column}\" or the column \"{other}.{second}\"."
        ),
    })
}

impl<'a> Best<'a> {
    fn see(&mut self, candidate: Found<'a>, name: &str, penalty: usize) {
        if penalty > self.distance {
            return;
        }
        let own = distance(candidate.1, name);
        if own > name.len() / 2 {
            return;
        }
        let total = own + penalty;
        if total < self.distance {
            *self = Best { distance: total, first: Some(candidate), second: None };
        } else if total == self.distance {
            if self.second.is_some() {
                // too many: only better ones count from here
                *self = Best { distance: total.saturating_sub(1), first: None, second: None };
            } else if self.first.is_some() {
                self.second = Some(candidate);
            } else if total < TOO_FAR {
                self.first = Some(candidate);
            }
        }
    }
}

/// Levenshtein's distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    #[test]
    fn distances() {
        for (a, b, d) in
            [("", "abc", 3), ("name", "nope", 2), ("salary", "salry", 1), ("title", "titel", 2), ("é", "e", 1)]
        {
            assert_eq!(super::distance(a, b), d, "{a} {b}");
        }
    }
}
