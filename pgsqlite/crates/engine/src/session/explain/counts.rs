//! EXPLAIN ANALYZE: what each node of a plan gave, as far as it follows from what SQLite counts.
//!
//! SQLite counts how often each loop was begun and how many rows it came by, before the conditions that it evaluates itself. How
//! many it let through is how often the next loop within it was begun; of the innermost one it is what is made of the rows: the
//! result, where nothing else comes in between, or the rows of the b-tree that sorts them. The difference are the rows that a
//! condition removed. Where none of this is certain, a node shows the rows that its loops came by, if SQLite tells (`Rows Visited`).

use crate::connection::Counted;
use crate::session::explain::nodes::Node;
use pgsqlite_sql::plan::Shape;

/// What SQLite counted of a line of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::session) struct Counts {
    pub loops: Option<u64>,
    pub visits: Option<u64>,
}

/// What a node did, in all its loops together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct Actual {
    pub rows: u64,
    pub loops: u64,
    pub removed: u64,
}

impl Actual {
    pub fn once(rows: u64) -> Actual {
        Actual { rows, loops: 1, removed: 0 }
    }

    /// The rows that each loop gave, to the hundredth.
    pub fn rows_per_loop(&self) -> String {
        match self.loops {
            0 => "0".into(),
            loops => format!("{:.2}", self.rows as f64 / loops as f64),
        }
    }

    /// A figure per loop, as PostgreSQL shows it.
    pub fn per_loop(&self, total: u64) -> String {
        match self.loops {
            0 => "0".into(),
            loops => format!("{:.0}", total as f64 / loops as f64),
        }
    }
}

/// A loop among those within each other.
pub(in crate::session) struct Level {
    pub counts: Counts,
    /// `Inner`, `Left`, `Semi`
    pub join: &'static str,
    /// its rows come from elsewhere, too (RIGHT and FULL JOIN)
    pub odd: bool,
}

/// The counts of each line of a plan. `recorded`: those of an execution, in the same order; lines of the plan may be missing (what
/// foreign keys do is a program of its own), and if another one is, none is believed.
pub(in crate::session) fn matched(details: &[&str], recorded: &[Counted]) -> Vec<Counts> {
    let mut out = vec![Counts::default(); details.len()];
    let mut wanted = recorded.iter().filter(|c| !c.detail.starts_with("CREATE AUTOMATIC INDEX")).peekable();
    for (counts, detail) in out.iter_mut().zip(details) {
        if let Some(counted) = wanted.next_if(|c| c.detail == *detail) {
            *counts = Counts { loops: counted.loops, visits: counted.visits };
        }
    }
    match wanted.peek() {
        None => out,
        Some(_) => vec![Counts::default(); details.len()],
    }
}

/// What the text of a statement of SQLite's (as lowering writes it) tells for certain. A word within a string counts, too: then less is
/// known.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::session) struct Facts {
    /// it has no sub-query
    pub single: bool,
    /// there is a condition somewhere
    filters: bool,
    distinct: bool,
    groups: bool,
    pub limits: bool,
    sets: bool,
    /// its program has aggregates
    pub aggregates: bool,
}

impl Facts {
    pub fn of(sql: &str) -> Facts {
        let any = |words: &[&str]| words.iter().any(|w| sql.contains(w));
        Facts {
            single: sql.matches("SELECT").count() <= 1,
            filters: any(&["WHERE", " ON ", "USING", "NATURAL", "HAVING"]),
            distinct: any(&["DISTINCT"]),
            groups: any(&["GROUP BY", "HAVING"]),
            limits: any(&["LIMIT", "OFFSET"]),
            sets: any(&["UNION", "EXCEPT", "INTERSECT", "RECURSIVE"]),
            aggregates: false,
        }
    }

    /// What the loops give is what the SELECT gives, in each of the statement's SELECTs.
    pub fn plain(&self) -> bool {
        !(self.distinct || self.groups || self.limits || self.sets || self.aggregates)
    }

    /// Whether the statement's rows are those that its loops give. `sorts`: a b-tree comes between them.
    pub fn gives_its_loops(&self, shape: &Shape, sorts: bool) -> bool {
        // with LIMIT the loops end when enough rows were given
        let ends = self.single && shape.limit && !shape.offset && !sorts;
        Facts { limits: self.limits && !ends, ..*self }.plain()
    }

    /// Whether a b-tree (`GROUP BY`, `ORDER BY` …) sorts what loops give, and not what is made of that.
    pub fn sorts_its_loops(&self, what: &str) -> bool {
        match what {
            "GROUP BY" => true,
            what => what.ends_with("ORDER BY") && !self.distinct && !self.groups && !self.aggregates,
        }
    }

    /// What the innermost loop gives if there is no condition.
    pub fn unfiltered(&self, levels: &[Level]) -> Option<u64> {
        levels.last().filter(|_| !self.filters).and_then(|l| l.counts.visits)
    }
}

impl Node {
    /// It gave so many rows in so many loops, if nothing more is known.
    pub(in crate::session) fn gave(&mut self, rows: u64, loops: u64) {
        if self.actual.is_none_or(|a| a.rows != rows || a.loops != loops) {
            self.actual = Some(Actual { rows, loops, removed: 0 });
        }
    }

    /// A node of this kind is it, or gives it its rows.
    pub(in crate::session) fn leads_to(&self, kind: &str) -> bool {
        let mut inputs = self.children.iter().filter(|c| matches!(c.relationship, "Outer" | "Subquery"));
        self.kind == kind || (!self.is_loop() && inputs.any(|c| c.leads_to(kind)))
    }

    /// It is a loop or several within each other.
    pub(in crate::session) fn is_loop(&self) -> bool {
        self.kind.ends_with("Scan") || matches!(self.kind.as_str(), "Nested Loop" | "Hash Join" | "BitmapOr" | "Result")
    }

    /// Tells the loops of this node, from the outer to the inner. `out`: the rows that the innermost one gives.
    pub(in crate::session) fn count(&mut self, levels: &[Level], out: Option<u64>) {
        let Some((level, before)) = levels.split_last() else { return };
        if levels.iter().any(|l| l.odd) {
            return;
        }
        if before.is_empty() {
            self.scan(level, out);
            return;
        }
        let loops = levels[0].counts.loops;
        self.actual = out.zip(loops).map(|(rows, loops)| Actual { rows, loops, removed: 0 });
        for child in &mut self.children {
            match child.relationship {
                // (read once, into a table; then looked up)
                "Inner" if child.kind == "Hash" => child.actual = child.children.first().and_then(|c| c.actual),
                "Inner" => child.scan(level, out),
                "Outer" => child.count(before, level.counts.loops),
                _ => {}
            }
        }
    }

    fn scan(&mut self, level: &Level, out: Option<u64>) {
        self.actual = scanned(level, out);
        self.visited = level.counts.visits.filter(|_| self.actual.is_none());
    }

    /// What a b-tree was given to sort. `limits`: it may give less than that.
    pub(in crate::session) fn sorted(&mut self, what: &str, given: Actual, limits: bool) {
        let sort = match what {
            "GROUP BY" => self.children.first_mut(),
            what if what.ends_with("ORDER BY") => Some(self),
            _ => None,
        };
        let Some(sort) = sort else { return };
        if let Some(input) = sort.children.first_mut().filter(|c| c.actual.is_none() && !c.is_loop()) {
            input.actual = Some(given);
        }
        if what == "GROUP BY" || !limits {
            sort.actual = Some(given);
        }
    }
}

/// What a scan did that gave `out` rows to what is within or above it.
fn scanned(level: &Level, out: Option<u64>) -> Option<Actual> {
    let loops = level.counts.loops?;
    match (level.join, level.counts.visits, out) {
        (_, Some(0), _) => Some(Actual { rows: 0, loops, removed: 0 }),
        // rows without a partner go on as well: which ones is not counted
        ("Left", ..) => None,
        (_, Some(visits), Some(rows)) => visits.checked_sub(rows).map(|removed| Actual { rows, loops, removed }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(detail: &str, loops: u64, visits: u64) -> Counted {
        Counted { detail: detail.into(), loops: Some(loops), visits: Some(visits) }
    }

    fn level(join: &'static str, loops: u64, visits: u64) -> Level {
        Level { counts: Counts { loops: Some(loops), visits: Some(visits) }, join, odd: false }
    }

    #[test]
    fn counts_are_believed_where_the_plans_are_the_same() {
        let plan = ["SCAN a", "SEARCH b USING AUTOMATIC COVERING INDEX (x=?)", "SCAN child"];
        let made = counted("CREATE AUTOMATIC INDEX ON b(x)", 1, 9);
        let recorded = [counted("SCAN a", 1, 20), made, counted(plan[1], 20, 5)];
        let loops: Vec<Option<u64>> = matched(&plan, &recorded).iter().map(|c| c.loops).collect();
        assert_eq!(loops, [Some(1), Some(20), None]);
        // another plan than the one that is shown
        let other = [counted("SCAN b", 1, 20), counted("SCAN a", 20, 5)];
        assert_eq!(matched(&plan, &other), vec![Counts::default(); 3]);
        assert_eq!(matched(&plan, &[]), vec![Counts::default(); 3]);
    }

    #[test]
    fn what_a_scan_gave_is_told_only_if_it_follows() {
        let told = |level: &Level, out| scanned(level, out).map(|a| (a.rows, a.loops, a.removed));
        assert_eq!(told(&level("Inner", 1, 20), Some(8)), Some((8, 1, 12)));
        assert_eq!(told(&level("Inner", 1, 20), None), None);
        assert_eq!(told(&level("Left", 20, 20), Some(20)), None);
        assert_eq!(told(&level("Left", 20, 0), Some(20)), Some((0, 20, 0)));
        // more than there were: not what it seemed
        assert_eq!(told(&level("Inner", 1, 20), Some(21)), None);
        assert_eq!(Actual { rows: 5, loops: 2, removed: 0 }.per_loop(5), "2");
        assert_eq!(Actual { rows: 0, loops: 0, removed: 0 }.per_loop(0), "0");
    }

    #[test]
    fn a_text_tells_what_may_come_between_loops_and_result() {
        let limit = Shape { limit: true, ..Shape::default() };
        let gives = |sql: &str, shape: &Shape, sorts| Facts::of(sql).gives_its_loops(shape, sorts);
        assert!(gives("SELECT a FROM t WHERE a > 1", &Shape::default(), false));
        assert!(gives("SELECT a FROM t LIMIT 3", &limit, false));
        assert!(!gives("SELECT a FROM t ORDER BY a LIMIT 3", &limit, true));
        assert!(!gives("SELECT a FROM t LIMIT 3 OFFSET 1", &Shape { offset: true, ..limit }, false));
        assert!(!gives("SELECT DISTINCT a FROM t", &Shape::default(), false));
        assert!(!gives("SELECT (SELECT b FROM u LIMIT 1) FROM t LIMIT 3", &limit, false));
    }
}
