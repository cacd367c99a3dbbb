//! What the columns of a query level's entries are called in its text.
//!
//! A stored query means its columns by number; its text must mean the same ones by name, although tables have been given columns since,
//! or other names. Names that a JOIN … USING needs are chosen first, from the outermost join inwards, and pushed down to the entries that it
//! joins; then every entry gets names that are unique in it, a join after what it joins. An entry whose names are not those that it has by
//! itself is printed with a list of them.

use crate::catalog::Catalog;
use crate::typed::{ExprKind, FromItem, RangeTableEntry, RteKind};
use pgsqlite_types::work;

/// The names of one entry's columns.
#[derive(Debug, Default)]
pub(crate) struct ColumnNames {
    /// by number: a table's column by its attnum - 1, others by their place. None: dropped (or not named yet)
    names: Vec<Option<String>>,
    /// those that there are now, in order
    pub shown: Vec<String>,
    /// of `shown`: given to the table after the query was analyzed
    new: Vec<bool>,
    /// the text of the entry lists them
    pub listed: bool,
    /// the names of a join's USING
    pub using: Vec<String>,
    /// those of the joins around
    around: Vec<String>,
    sides: Option<Sides>,
}

/// Of a join: its two entries, and which of their columns (from 1) each of its columns is; 0: none.
#[derive(Debug)]
struct Sides {
    left: usize,
    right: usize,
    left_numbers: Vec<usize>,
    right_numbers: Vec<usize>,
}

impl ColumnNames {
    /// The name of the column with this number (from 0).
    pub fn name(&self, number: usize) -> &str {
        self.names.get(number).and_then(Option::as_deref).unwrap_or("?dropped?column?")
    }

    fn put(&mut self, number: usize, name: &str) {
        if self.names.len() < number {
            self.names.resize(number, None);
        }
        self.names[number - 1] = Some(name.to_string());
    }
}

/// The number (from 0) of a column of an entry: what [`ColumnNames`] counts by.
pub(super) fn number(entry: &RangeTableEntry, column: usize) -> usize {
    match &entry.kind {
        RteKind::Relation(r) if !matches!(r.kind, crate::catalog::RelationKind::Sequence(_)) => {
            entry.columns.get(column).map_or(column, |c| (c.attnum - 1).max(0) as usize)
        }
        _ => column,
    }
}

/// The columns that an entry offers, by name, with their numbers from 1.
fn offered(entry: &RangeTableEntry) -> Vec<(&str, usize)> {
    let columns = entry.columns.iter().enumerate().filter(|(_, c)| c.attnum >= 0);
    columns.map(|(i, c)| (c.name.as_str(), number(entry, i) + 1)).collect()
}

/// The entry that stands for an item of FROM; None: a join without one.
fn entry_of(item: &FromItem) -> Option<usize> {
    match item {
        FromItem::Entry(i) => Some(*i),
        FromItem::Join { entry, .. } => *entry,
    }
}

struct Namer<'a> {
    catalog: &'a Catalog,
    entries: &'a [RangeTableEntry],
    columns: Vec<ColumnNames>,
    /// names of USING must not be used for anything else: some merged column is no column of either side
    unique_using: bool,
    using_names: Vec<String>,
}

/// Names the columns of all entries of a query level. `own`: for each entry the names that its columns have by themselves where the entry
/// does not tell (WITH queries).
pub(super) fn column_names(
    catalog: &Catalog,
    entries: &[RangeTableEntry],
    from: &[FromItem],
    own: &dyn Fn(&RangeTableEntry) -> Option<Vec<String>>,
) -> Vec<ColumnNames> {
    let mut namer = Namer {
        catalog,
        entries,
        columns: entries.iter().map(|_| ColumnNames::default()).collect(),
        unique_using: from.iter().any(|item| merges(entries, item)),
        using_names: Vec::new(),
    };
    from.iter().for_each(|item| namer.using(item, &[]));
    for (i, entry) in entries.iter().enumerate() {
        work::visit();
        match entry.kind {
            RteKind::Join { .. } => namer.of_join(i),
            _ => namer.of_entry(i, own(entry)),
        }
    }
    namer.columns
}

/// Whether an unnamed join merges columns into what is neither of them.
fn merges(entries: &[RangeTableEntry], item: &FromItem) -> bool {
    let FromItem::Join { left, right, using, entry, .. } = item else { return false };
    let own = entry.and_then(|e| entries.get(e)).is_some_and(|e| match &e.kind {
        RteKind::Join { columns } if !e.has_alias => {
            columns.iter().take(using.len()).any(|c| !matches!(c.kind, ExprKind::Var(_)))
        }
        _ => false,
    });
    own || merges(entries, left) || merges(entries, right)
}

impl Namer<'_> {
    fn is_unique(&self, name: &str, columns: &ColumnNames) -> bool {
        !columns.names.iter().flatten().any(|n| n == name)
            && !columns.shown.iter().any(|n| n == name)
            && !self.using_names.iter().any(|n| n == name)
            && !columns.around.iter().any(|n| n == name)
    }

    fn unique(&self, name: &str, columns: &ColumnNames) -> String {
        let mut out = name.to_string();
        let mut n = 0;
        while !self.is_unique(&out, columns) {
            work::visit();
            n += 1;
            out = format!("{name}_{n}");
        }
        out
    }

    /// Chooses the names of USING, of a join and those below it.
    fn using(&mut self, item: &FromItem, around: &[String]) {
        let FromItem::Join { left, right, using, entry, .. } = item else { return };
        let mut around = around.to_vec();
        if let (Some(own), Some(l), Some(r)) = (*entry, entry_of(left), entry_of(right)) {
            let mut columns = std::mem::take(&mut self.columns[own]);
            let sides = self.sides(l, r, using);
            let numbers = |i: usize| (sides.left_numbers.get(i).copied(), sides.right_numbers.get(i).copied());
            let has_alias = self.entries[own].has_alias;
            if !has_alias {
                for i in 0..columns.names.len() {
                    work::visit();
                    if let Some(name) = columns.names[i].clone() {
                        self.push_down(l, r, numbers(i), &name);
                    }
                }
            }
            for (i, written) in using.iter().enumerate() {
                work::visit();
                let name = match columns.names.get(i).cloned().flatten() {
                    Some(name) => name,
                    None => {
                        // (an alias for the column is preferred)
                        let wanted = match has_alias {
                            true => self.entries[own].columns.get(i).map_or(written, |c| &c.name),
                            false => written,
                        };
                        let name = self.unique(wanted, &columns);
                        if self.unique_using {
                            self.using_names.push(name.clone());
                        }
                        columns.put(i + 1, &name);
                        name
                    }
                };
                columns.using.push(name.clone());
                around.push(name.clone());
                self.push_down(l, r, numbers(i), &name);
            }
            columns.sides = Some(sides);
            self.columns[own] = columns;
            self.columns[l].around.clone_from(&around);
            self.columns[r].around.clone_from(&around);
        }
        self.using(left, &around);
        self.using(right, &around);
    }

    fn push_down(&mut self, left: usize, right: usize, numbers: (Option<usize>, Option<usize>), name: &str) {
        for (side, number) in [(left, numbers.0), (right, numbers.1)] {
            work::visit();
            if let Some(number) = number.filter(|n| *n > 0) {
                self.columns[side].put(number, name);
            }
        }
    }

    /// A join's columns: the merged ones, then the rest of the left side, then that of the right one.
    fn sides(&self, left: usize, right: usize, using: &[String]) -> Sides {
        let (l, r) = (offered(&self.entries[left]), offered(&self.entries[right]));
        let find = |columns: &[(&str, usize)], name: &str| columns.iter().find(|(n, _)| *n == name).map_or(0, |c| c.1);
        let merged = |n: &str| using.iter().any(|u| u == n);
        let mut out = Sides { left, right, left_numbers: vec![], right_numbers: vec![] };
        for name in using {
            work::visit();
            out.left_numbers.push(find(&l, name));
            out.right_numbers.push(find(&r, name));
        }
        for (_, number) in l.iter().filter(|(n, _)| !merged(n)) {
            work::visit();
            out.left_numbers.push(*number);
            out.right_numbers.push(0);
        }
        for (_, number) in r.iter().filter(|(n, _)| !merged(n)) {
            work::visit();
            out.left_numbers.push(0);
            out.right_numbers.push(*number);
        }
        out
    }

    /// An entry that is no join.
    fn of_entry(&mut self, index: usize, own: Option<Vec<String>>) {
        let entry = &self.entries[index];
        let mut columns = std::mem::take(&mut self.columns[index]);
        // the name that each column has by itself now, and the one that the query calls it by; None: dropped
        let mut real: Vec<Option<(String, Option<String>)>> = Vec::new();
        let mut known = entry.columns.len();
        match &entry.kind {
            RteKind::Relation(then) if !matches!(then.kind, crate::catalog::RelationKind::Sequence(_)) => {
                let now = self.catalog.relation(then.oid).unwrap_or(then);
                known = then.columns.len();
                for column in &now.columns {
                    work::visit();
                    let place = entry.columns.iter().find(|c| c.attnum == column.attnum);
                    let before = then.column_by_attnum(column.attnum);
                    let alias = match (place, before) {
                        (Some(c), Some(before)) if c.name != before.name => Some(c.name.clone()),
                        _ => None,
                    };
                    real.push((!column.dropped).then(|| (column.name.clone(), alias)));
                }
            }
            _ => {
                for (i, column) in entry.columns.iter().enumerate().filter(|(_, c)| c.attnum >= 0) {
                    work::visit();
                    let own = own.as_ref().and_then(|o| o.get(i)).cloned().unwrap_or_else(|| column.name.clone());
                    let alias = (own != column.name).then(|| column.name.clone());
                    real.push(Some((own, alias)));
                }
            }
        }
        let mut changed = false;
        columns.names.resize(columns.names.len().max(real.len()), None);
        let mut shown = Vec::new();
        for (i, real) in real.into_iter().enumerate() {
            work::visit();
            let Some((real, alias)) = real else {
                columns.names[i] = None;
                continue;
            };
            let name = match columns.names[i].clone() {
                Some(name) => name,
                None => {
                    let name = self.unique(alias.as_ref().unwrap_or(&real), &columns);
                    columns.names[i] = Some(name.clone());
                    name
                }
            };
            changed |= name != real;
            shown.push(name);
            columns.new.push(i >= known);
        }
        columns.shown = shown;
        let names_itself = match &entry.kind {
            RteKind::Function { functions, .. } => {
                let given = entry.columns.iter().map(|c| &c.name);
                functions.iter().any(|f| {
                    matches!(f.call.kind, ExprKind::SqlJson { .. }) && f.defined_names.iter().eq(given.clone())
                })
            }
            _ => false,
        };
        let unnamed = matches!(entry.kind, RteKind::Function { .. } | RteKind::Values { .. }) && !names_itself;
        // (what a list has written is part of what a sub-query offers; a table offers its own names)
        let written = entry.names_columns && !matches!(entry.kind, RteKind::Relation(_) | RteKind::Function { .. });
        columns.listed = changed || unnamed || written;
        self.columns[index] = columns;
    }

    fn of_join(&mut self, index: usize) {
        let entry = &self.entries[index];
        let mut columns = std::mem::take(&mut self.columns[index]);
        let Some(sides) = columns.sides.take() else { return };
        let count = sides.left_numbers.len();
        columns.names.resize(columns.names.len().max(count), None);
        let child = |i: usize| match (sides.left_numbers[i], sides.right_numbers[i]) {
            (0, 0) => None,
            (0, n) => self.columns[sides.right].names.get(n - 1).cloned().flatten(),
            (n, _) => self.columns[sides.left].names.get(n - 1).cloned().flatten(),
        };
        let mut changed = false;
        for i in columns.using.len()..count {
            work::visit();
            let Some(real) = child(i) else {
                columns.names[i] = None;
                continue;
            };
            if !entry.has_alias {
                columns.names[i] = Some(real);
                continue;
            }
            let name = match columns.names[i].clone() {
                Some(name) => name,
                None => {
                    let (then, side) = match (sides.left_numbers[i], sides.right_numbers[i]) {
                        (0, n) => (n, sides.right),
                        (n, _) => (n, sides.left),
                    };
                    let offered = offered(&self.entries[side]);
                    let before = offered.iter().find(|(_, n)| *n == then).map(|(n, _)| *n);
                    // the alias that the join's text has for it
                    let alias = entry.columns.get(i).map(|c| c.name.as_str()).filter(|n| Some(*n) != before);
                    self.unique(alias.unwrap_or(&real), &columns)
                }
            };
            changed |= name != real;
            columns.names[i] = Some(name);
        }
        // the columns as a parser would find them now
        let mut next = 0;
        while next < count && sides.left_numbers[next] != 0 && sides.right_numbers[next] != 0 {
            work::visit();
            let name = columns.name(next).to_string();
            columns.shown.push(name);
            columns.new.push(false);
            next += 1;
        }
        let merged = next;
        for (side, numbers) in [(sides.left, &sides.left_numbers), (sides.right, &sides.right_numbers)] {
            work::visit();
            let mut old = 0;
            for at in 0..self.columns[side].shown.len() {
                work::visit();
                let of_child = self.columns[side].shown[at].clone();
                let is_new = self.columns[side].new.get(at).copied().unwrap_or(false);
                let name = if !is_new {
                    while old < self.columns[side].names.len() && self.columns[side].names[old].is_none() {
                        work::visit();
                        old += 1;
                    }
                    old += 1;
                    if numbers[..merged].contains(&old) {
                        continue;
                    }
                    while next < columns.names.len() && columns.names[next].is_none() {
                        work::visit();
                        next += 1;
                    }
                    let name = columns.name(next).to_string();
                    next += 1;
                    name
                } else if entry.has_alias {
                    let name = self.unique(&of_child, &columns);
                    changed |= name != of_child;
                    name
                } else {
                    of_child
                };
                columns.shown.push(name);
                columns.new.push(is_new);
            }
        }
        columns.listed = entry.has_alias && changed;
        columns.sides = Some(sides);
        self.columns[index] = columns;
    }
}
