//! SQLite's plan as a tree of PostgreSQL's node types.
//!
//! EXPLAIN QUERY PLAN gives lines with their parents. Lines beside each other are loops in each other, from the outer to the inner,
//! followed by the temporary b-trees that sort what they give; co-routines and sub-queries come before (or after) the loop that reads
//! them. What a line says that has no counterpart in PostgreSQL becomes a node of its own with SQLite's words.

use crate::connection::{Connection, Counted, PlanStep};
use crate::session::explain::counts::{Actual, Counts, Facts, Level};
use pgsqlite_sql::catalog::{Catalog, Relation, RelationKind};
use pgsqlite_sql::lower::support;
use pgsqlite_sql::plan::{QueryPlan, Shape, StepOutput, Tag};
use pgsqlite_types::{PgError, Result};
use std::collections::HashMap;

/// A property's value as the formats with names show it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::session) enum Value {
    Text(String),
    Number(String),
    Bool(bool),
}

/// A node of a plan. `properties` are those of PostgreSQL's JSON, in its order.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::session) struct Node {
    pub kind: String,
    /// `Strategy`, `Operation` …: what comes straight after the node's type
    pub variant: Vec<(&'static str, String)>,
    /// `Outer`, `Inner`, `InitPlan`, `SubPlan` …; empty for the root
    pub relationship: &'static str,
    pub subplan: Option<String>,
    pub properties: Vec<(&'static str, Value)>,
    /// each of several processes reads a part
    pub parallel: bool,
    /// the table that it names
    pub table: Option<pgsqlite_types::Oid>,
    /// what is expected of it, if COSTS are shown
    pub estimate: Option<crate::session::explain::costs::Estimate>,
    /// what it gave, if the statement ran and it is known
    pub actual: Option<Actual>,
    /// else the rows that it came by in all its loops, those that conditions then ruled out among them
    pub visited: Option<u64>,
    /// milliseconds until its first and its last row, where they are known: SQLite tells no times per node, so of the root only
    pub times: Option<(f64, f64)>,
    pub children: Vec<Node>,
}

impl Node {
    fn new(kind: impl Into<String>) -> Node {
        Node {
            kind: kind.into(),
            variant: vec![],
            relationship: "",
            subplan: None,
            properties: vec![],
            parallel: false,
            table: None,
            estimate: None,
            actual: None,
            visited: None,
            times: None,
            children: vec![],
        }
    }

    pub fn over(kind: &str, child: Node) -> Node {
        let mut node = Node::new(kind);
        node.adopt(child, "Outer");
        node
    }

    pub fn adopt(&mut self, mut child: Node, relationship: &'static str) {
        child.relationship = relationship;
        self.children.push(child);
    }

    fn text(mut self, name: &'static str, value: impl Into<String>) -> Node {
        self.properties.push((name, Value::Text(value.into())));
        self
    }

    fn variant(mut self, name: &'static str, value: &str) -> Node {
        self.variant.push((name, value.into()));
        self
    }

    /// Whether it finds groups by hashing.
    pub fn is_hashed(&self) -> bool {
        self.kind == "Aggregate" && self.variant.iter().any(|(_, v)| v == HASHED)
    }

    fn aggregate(mut self, keys: bool) -> Node {
        self.variant =
            vec![("Strategy", if keys { "Sorted" } else { "Plain" }.into()), ("Partial Mode", "Simple".into())];
        self
    }

    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(n, _)| *n == name).and_then(|(_, v)| match v {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

/// The strategy of an aggregate over `lower/groups.rs`.
const HASHED: &str = "Hashed";

/// A line of EXPLAIN QUERY PLAN with the lines below it, and what the statement's execution made of it.
struct Line {
    detail: String,
    counts: Counts,
    below: Vec<Line>,
}

/// What an execution gave.
pub(in crate::session) struct Ran {
    pub rows: u64,
    /// rows that were inserted, updated or deleted
    pub changed: u64,
    /// of each statement of SQLite's, by its text, what its loops did
    pub recorded: HashMap<String, Vec<Counted>>,
}

/// The plan of all steps: the last one's, with those before it as its InitPlans. `verbose`: with schemas and SQLite's statements.
/// `ran`: with what each node gave, where that is known.
pub(in crate::session) fn tree(
    connection: &Connection,
    catalog: &Catalog,
    plan: &QueryPlan,
    verbose: bool,
    ran: Option<&Ran>,
) -> Result<Node> {
    if plan.rewritten.is_some() {
        return Err(PgError::not_supported("EXPLAIN of a statement that rules rewrite"));
    }
    let mut nodes = Vec::new();
    let mut read = || -> Result<()> {
        for (i, step) in plan.steps.iter().enumerate() {
            let recorded = ran.and_then(|r| r.recorded.get(&step.sql));
            let mut facts = Facts::of(&step.sql);
            if recorded.is_some() {
                facts.aggregates = aggregates(connection, &step.sql)?;
            }
            let shape = if i + 1 == plan.steps.len() { plan.shape } else { Shape::default() };
            // a data modification gives the rows of RETURNING; it was given those that it changed
            let result = match plan.tag {
                Tag::Select => ran.map(|r| r.rows),
                _ => ran.filter(|_| shape.changes_each).map(|r| r.changed),
            };
            let result = result.filter(|_| i + 1 == plan.steps.len());
            let reader = Reader { aliases: aliases(&step.sql), catalog, verbose, facts, shape };
            let mut node = reader.whole(lines(connection, &step.sql, recorded)?, result);
            if verbose {
                node.properties.push(("SQLite Statement", Value::Text(step.sql.clone())));
            }
            nodes.push(node);
            // while a plan with several steps is shown, the tables between them must be there
            if let StepOutput::Materialize { table, columns } = &step.output {
                let host = crate::routine::Host { cell: &connection.cell, db: connection.handle() };
                crate::routine::scratch::empty_table(host, table, *columns)?;
            }
        }
        Ok(())
    };
    read()?;
    let mut root = nodes.pop().ok_or_else(|| PgError::internal("a plan without steps"))?;
    let operation = match plan.tag {
        Tag::Select => None,
        Tag::Insert => Some("Insert"),
        Tag::Update => Some("Update"),
        Tag::Delete => Some("Delete"),
        Tag::Merge => Some("Merge"),
    };
    if let Some(operation) = operation {
        let mut modify = Node::new("ModifyTable").variant("Operation", operation);
        if let Some(relation) = plan.modifies.last().and_then(|oid| catalog.relation(*oid)) {
            modify = named(modify, relation, catalog, verbose);
        }
        modify.adopt(root, "Outer");
        modify.actual = ran.map(|r| Actual::once(r.rows));
        root = modify;
    }
    for (i, mut node) in nodes.into_iter().enumerate().rev() {
        node.relationship = "InitPlan";
        node.subplan = Some(format!("Step {}", i + 1));
        root.children.insert(0, node);
    }
    Ok(root)
}

/// Whether a statement computes aggregates: SQLite's plan does not tell, its program does.
fn aggregates(connection: &Connection, sql: &str) -> Result<bool> {
    let error = |_| connection.error();
    let mut statement = connection.rusqlite().prepare(&format!("EXPLAIN {sql}")).map_err(error)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(error)? {
        let operation: String = row.get(1).map_err(error)?;
        if operation.starts_with("Agg") || operation == "Count" {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `recorded`: what an execution of the statement did.
fn lines(connection: &Connection, sql: &str, recorded: Option<&Vec<Counted>>) -> Result<Vec<Line>> {
    let all = connection.query_plan(sql)?;
    let details: Vec<&str> = all.iter().map(|step| step.detail.as_str()).collect();
    let counts = crate::session::explain::counts::matched(&details, recorded.map_or(&[], Vec::as_slice));
    let all: Vec<Numbered> = all
        .into_iter()
        .zip(counts)
        .map(|(PlanStep { id, parent, detail }, counts)| Numbered { id, parent, detail, counts })
        .collect();
    fn below(all: &[Numbered], parent: i64) -> Vec<Line> {
        all.iter()
            .filter(|line| line.parent == parent)
            .map(|line| Line { detail: line.detail.clone(), counts: line.counts, below: below(all, line.id) })
            .collect()
    }
    Ok(below(&all, 0))
}

/// A line as SQLite gives it.
struct Numbered {
    id: i64,
    parent: i64,
    detail: String,
    counts: Counts,
}

/// What an alias of a lowered statement stands for.
enum Source {
    /// the table of this name in SQLite
    Table(String),
    /// the WITH query of this name
    Cte(String),
    /// a function or sub-query
    Other,
}

fn aliases(sql: &str) -> HashMap<String, Source> {
    let mut out = HashMap::new();
    for (at, _) in sql.match_indices(" AS t") {
        let alias: String = sql[at + 4..].chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        let before = &sql[..at];
        let name = before.strip_suffix('"').and_then(|rest| {
            // a quoted name, whose own quotes are doubled
            let bytes = rest.as_bytes();
            let mut start = bytes.len();
            while start > 0 {
                if bytes[start - 1] == b'"' {
                    if start > 1 && bytes[start - 2] == b'"' {
                        start -= 2;
                        continue;
                    }
                    break;
                }
                start -= 1;
            }
            (start > 0).then(|| rest[start..].replace("\"\"", "\""))
        });
        let source = match name {
            Some(name) => Source::Table(name),
            None => {
                let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
                match word.is_empty() {
                    false => Source::Cte(word.to_string()),
                    true => Source::Other,
                }
            }
        };
        out.insert(alias, source);
    }
    out
}

fn named(mut node: Node, relation: &Relation, catalog: &Catalog, verbose: bool) -> Node {
    node.table = Some(relation.oid);
    let node = node.text("Relation Name", &relation.name);
    let node = match verbose {
        true => node.text("Schema", catalog.schema_name(relation.schema)),
        false => node,
    };
    node.text("Alias", &relation.name)
}

struct Reader<'a> {
    aliases: HashMap<String, Source>,
    catalog: &'a Catalog,
    verbose: bool,
    facts: Facts,
    shape: Shape,
}

impl Reader<'_> {
    /// The plan of a statement. `result`: how many rows it gave.
    fn whole(&self, lines: Vec<Line>, result: Option<u64>) -> Node {
        let sorts = lines.iter().any(|l| l.detail.starts_with("USE TEMP B-TREE"));
        let mut root = self.compose(lines, result.filter(|_| self.facts.gives_its_loops(&self.shape, sorts)), true);
        let mut over = |kind: &str, wanted: bool, always: bool| {
            if wanted && (always || !root.leads_to(kind)) {
                let input = std::mem::replace(&mut root, Node::new(kind));
                root.adopt(input, "Outer");
            }
        };
        over("Aggregate", self.shape.grouped, false);
        over("Unique", self.shape.distinct, false);
        over("Limit", self.shape.limit || self.shape.offset, true);
        if root.kind == "Aggregate" && root.variant.is_empty() {
            root = root.aggregate(self.shape.keys);
        }
        if let Some(result) = result {
            if self.shape.limit && !self.shape.offset {
                // it has asked for no more
                let mut inputs = root.children.iter_mut().filter(|c| c.actual.is_none());
                if let Some(input) = inputs.find(|c| c.relationship == "Outer") {
                    input.gave(result, 1);
                }
            }
            root.gave(result, 1);
        }
        root
    }

    /// One node of lines beside each other. `out`: how many rows the innermost of its loops gave, where that is known from above.
    /// `top`: they are the statement's own.
    fn compose(&self, lines: Vec<Line>, out: Option<u64>, top: bool) -> Node {
        let has_groups = lines.iter().any(|l| l.detail == "USE TEMP B-TREE FOR GROUP BY");
        // (a sub-query may be what lowering has made of the groups)
        let queries = lines.iter().any(|l| l.detail.starts_with("CO-ROUTINE") || l.detail.starts_with("MATERIALIZE"));
        let hashed = lines.iter().any(|l| l.detail.ends_with(support::GROUPS));
        let aggregate = top && self.shape.grouped && !has_groups && !queries && !hashed;
        // the loops from the outer to the inner, while they are told
        let mut levels: Option<Vec<Level>> = Some(vec![]);
        let mut named: HashMap<String, Node> = HashMap::new();
        let mut current: Option<Node> = None;
        // sub-queries that were told before any loop
        let mut subplans: Vec<Node> = Vec::new();
        // temporary b-trees that were told before any loop: count(DISTINCT …)
        let mut sorts: Vec<String> = Vec::new();
        let mut foreign_keys: Vec<Node> = Vec::new();
        let mut coroutines: HashMap<String, Option<u64>> = HashMap::new();
        for line in &lines {
            // a co-routine gives the rows that its reader comes by
            if let (Some(name), Counts { loops: Some(1), visits }) = (line.detail.strip_prefix("SCAN "), line.counts) {
                coroutines.insert(name.to_string(), visits);
            }
        }
        let mut loops = None;
        for Line { detail, counts, below } in lines {
            if let Some(name) = detail.strip_prefix("CO-ROUTINE ") {
                let rows = coroutines.get(name).copied().flatten();
                let mut node = self.compose(below, rows.filter(|_| self.facts.plain()), false);
                if let Some(rows) = rows.filter(|_| !node.is_loop()) {
                    node.gave(rows, 1);
                }
                named.insert(name.to_string(), node);
            } else if let Some(name) = detail.strip_prefix("MATERIALIZE ") {
                named.insert(name.to_string(), self.compose(below, None, false));
            } else if let Some(what) = detail.strip_prefix("USE TEMP B-TREE FOR ") {
                match current.take() {
                    Some(mut input) => {
                        if let Some(levels) = levels.take() {
                            let sorted = self.facts.sorts_its_loops(what).then_some(counts.visits).flatten();
                            loops = levels.first().and_then(|l| l.counts.loops);
                            input.count(&levels, sorted.or(out).or(self.facts.unfiltered(&levels)));
                            if aggregate {
                                input = Node::over("Aggregate", input).aggregate(self.shape.keys);
                            }
                        }
                        let mut node = sorted(what, input);
                        if let (Some(rows), Some(loops)) = (counts.visits, loops) {
                            node.sorted(what, Actual { rows, loops, removed: 0 }, self.facts.limits);
                        }
                        current = Some(node);
                    }
                    None => sorts.push(what.to_string()),
                }
            } else if detail.contains("SUBQUERY ") && !below.is_empty() {
                let number = detail.rsplit(' ').next().unwrap_or_default();
                let correlated = detail.starts_with("CORRELATED");
                let mut node = self.compose(below, None, false);
                if let Some(index) = looked_up_in(&node) {
                    // the rows with a term that is asked for, by an inverted index
                    let scan = Node::new("Bitmap Index Scan").text("Index Name", index);
                    match &mut current {
                        Some(current) if current.property("Index Cond") == Some("(rowid=?)") => {
                            current.kind = "Bitmap Heap Scan".into();
                            current.properties.retain(|(name, _)| !matches!(*name, "Index Name" | "Index Cond"));
                            current.adopt(scan, "Outer");
                            continue;
                        }
                        _ => node = scan,
                    }
                }
                if let Some(hash) = current.as_mut().and_then(hash_without_rows) {
                    hash.adopt(node, "Outer");
                    continue;
                }
                if let Some(groups) = current.as_mut().filter(|c| c.is_hashed() && c.children.is_empty()) {
                    groups.adopt(node, "Outer");
                    continue;
                }
                node.relationship = if correlated { "SubPlan" } else { "InitPlan" };
                node.subplan = Some(format!("{} {number}", node.relationship));
                match &mut current {
                    Some(current) => current.children.push(node),
                    None => subplans.push(node),
                }
            } else if detail.contains("BLOOM FILTER") || detail.starts_with("REUSE ") {
                // how a sub-query's result is kept, not a step of its own
            } else {
                let node = self.line(&detail, below, &mut named);
                let join = if detail.contains("LEFT-JOIN") {
                    "Left"
                } else if detail.contains(" EXISTS") {
                    "Semi"
                } else {
                    "Inner"
                };
                let of_key = node.property("Relation Name").is_some() && self.is_key_check(&detail);
                current = match current.take() {
                    Some(outer) if of_key => {
                        foreign_keys.push(node);
                        Some(outer)
                    }
                    before => {
                        if let Some(levels) = &mut levels {
                            let odd = detail.contains("RIGHT-JOIN");
                            levels.push(Level { counts, join, odd });
                        }
                        Some(match before {
                            Some(outer) => joined(outer, node, join),
                            None => node,
                        })
                    }
                };
            }
        }
        let mut root = current.unwrap_or_else(|| Node::new("Result"));
        let unsorted = levels.is_some();
        if let Some(levels) = levels {
            root.count(&levels, out.or(self.facts.unfiltered(&levels)));
        }
        for what in sorts {
            root = sorted(&what, root);
        }
        if aggregate && unsorted {
            root = Node::over("Aggregate", root).aggregate(self.shape.keys);
        }
        subplans.into_iter().rev().for_each(|node| root.children.insert(0, node));
        for (i, mut node) in foreign_keys.into_iter().enumerate() {
            node.relationship = "SubPlan";
            node.subplan = Some(format!("Foreign Key {}", i + 1));
            root.children.push(node);
        }
        root
    }

    /// SQLite looks up rows that reference the changed one; it names their table itself, by no alias of ours.
    fn is_key_check(&self, detail: &str) -> bool {
        let name = detail.split(' ').nth(1).unwrap_or_default();
        !self.aliases.contains_key(name) && self.by_sqlite_name(name).is_some()
    }

    fn by_sqlite_name(&self, name: &str) -> Option<&Relation> {
        self.catalog.relations.values().find(|r| r.sqlite_name == name && !name.is_empty()).map(|r| &**r)
    }

    /// One line that is no sub-query and no sorting.
    fn line(&self, detail: &str, below: Vec<Line>, named: &mut HashMap<String, Node>) -> Node {
        let words = |prefix: &str| detail.strip_prefix(prefix);
        if detail == "SCAN CONSTANT ROW" {
            return Node::new("Result");
        }
        if detail.starts_with("SCAN ") && detail.ends_with("-ROW VALUES CLAUSE") {
            return Node::new("Values Scan").text("Alias", "*VALUES*");
        }
        if let Some(rest) = words("SCAN ").or_else(|| words("SEARCH ")) {
            return self.scan(rest, named);
        }
        if detail == "COMPOUND QUERY" {
            return self.compound(below);
        }
        if let Some(operation) = words("MERGE (").and_then(|o| o.strip_suffix(')')) {
            let mut merged = Node::new("Merge Append");
            for line in below {
                merged.adopt(self.compose(line.below, None, false), "Member");
            }
            return set_operation(operation, merged);
        }
        if detail == "MULTI-INDEX OR" {
            let mut node = Node::new("BitmapOr");
            for line in below {
                node.adopt(self.compose(line.below, None, false), "Member");
            }
            return node;
        }
        if detail == "SETUP" || detail == "RECURSIVE STEP" {
            return self.compose(below, None, false);
        }
        let mut node = Node::new(detail);
        if !below.is_empty() {
            node.adopt(self.compose(below, None, false), "Outer");
        }
        node
    }

    /// `t1`, `t1 USING INDEX i (a=?)`, `(subquery-2)`, `t2 VIRTUAL TABLE INDEX 0:` …
    fn scan(&self, rest: &str, named: &mut HashMap<String, Node>) -> Node {
        let (name, how) = match rest.starts_with('(') {
            true => rest.split_at(rest.find(')').map_or(rest.len(), |i| i + 1)),
            false => rest.split_at(rest.find(' ').unwrap_or(rest.len())),
        };
        let source = match self.aliases.get(name) {
            Some(Source::Cte(cte)) => cte.as_str(),
            _ => name,
        };
        if let Some(inner) = named.remove(source) {
            let mut node = Node::new("Subquery Scan").text("Alias", source.trim_matches(['(', ')']));
            node.adopt(inner, "Subquery");
            return node;
        }
        let table = match self.aliases.get(name) {
            Some(Source::Table(table)) => self.by_sqlite_name(table),
            Some(Source::Cte(_) | Source::Other) => None,
            None => self.by_sqlite_name(name),
        };
        // the terms of an inverted index
        if let Some(Source::Table(side)) = self.aliases.get(name) {
            let index = side.strip_prefix(pgsqlite_sql::lower::inverted::SIDE_TABLE).and_then(|oid| oid.parse().ok());
            if let Some(index) = index.and_then(|oid: pgsqlite_types::Oid| self.catalog.relation(oid)) {
                return Node::new("Bitmap Index Scan").text("Index Name", &index.name);
            }
        }
        let how = how.trim_start();
        let how = how.strip_prefix("EXISTS").unwrap_or(how).trim_start();
        let condition = how.find('(').and_then(|from| how.rfind(')').map(|to| how[from..=to].to_string()));
        let index = |after: &str| {
            let name = after.split(" (").next().unwrap_or(after).trim_end_matches(" LEFT-JOIN");
            self.by_sqlite_name(name).map_or(name.to_string(), |r| r.name.clone())
        };
        let mut node = if let Some(after) = how.strip_prefix("USING COVERING INDEX ") {
            Node::new("Index Only Scan").text("Index Name", index(after))
        } else if let Some(after) = how.strip_prefix("USING INDEX ") {
            Node::new("Index Scan").text("Index Name", index(after))
        } else if how.starts_with("USING AUTOMATIC") {
            Node::new("Index Only Scan").text("Index Name", "automatic index")
        } else if how.starts_with("USING INTEGER PRIMARY KEY") || how.starts_with("USING PRIMARY KEY") {
            let key = table.and_then(|t| t.primary_key()).map_or("rowid".to_string(), |k| k.name.clone());
            Node::new("Index Scan").text("Index Name", key)
        } else if table.is_none() && how.starts_with("VIRTUAL TABLE") && how.ends_with(support::GROUPS) {
            // (its argument is the sub-query of the rows)
            return Node::new("Aggregate").variant("Strategy", HASHED).variant("Partial Mode", "Simple");
        } else if table.is_none() && how.starts_with("VIRTUAL TABLE") && how.contains(support::HASHED) {
            // (as above)
            return Node::new("Hash");
        } else if how.starts_with("VIRTUAL TABLE") && table.is_none() {
            Node::new("Function Scan")
        } else if source != name {
            Node::new("CTE Scan").text("CTE Name", source)
        } else if table.is_none() && name.starts_with('w') {
            Node::new("WorkTable Scan")
        } else {
            Node::new("Seq Scan")
        };
        node = match table {
            Some(relation) if !matches!(relation.kind, RelationKind::Index(_)) => {
                self::named(node, relation, self.catalog, self.verbose)
            }
            _ => node.text("Alias", name),
        };
        match condition {
            Some(condition) if !how.starts_with("VIRTUAL") => node.text("Index Cond", condition),
            _ => node,
        }
    }

    fn compound(&self, lines: Vec<Line>) -> Node {
        let mut all: Option<Node> = None;
        for Line { detail, below, .. } in lines {
            let node = self.compose(below, None, false);
            all = Some(match all {
                None => node,
                Some(mut append) if append.kind == "Append" && detail == "UNION ALL" => {
                    append.adopt(node, "Member");
                    append
                }
                Some(first) => {
                    let mut append = Node::new("Append");
                    append.adopt(first, "Member");
                    append.adopt(node, "Member");
                    set_operation(detail.split(" USING").next().unwrap_or(&detail), append)
                }
            });
        }
        all.unwrap_or_else(|| Node::new("Result"))
    }
}

/// The inverted index in which a sub-query looks up rows (`lower/inverted.rs`).
fn looked_up_in(node: &Node) -> Option<String> {
    let first = node.children.first().filter(|_| node.kind == "Append")?;
    first.property("Index Name").filter(|_| first.kind == "Bitmap Index Scan").map(str::to_string)
}

fn set_operation(operation: &str, both: Node) -> Node {
    match operation {
        "UNION" => Node::over("Unique", both),
        "INTERSECT" => Node::over("SetOp", both).variant("Strategy", "Sorted").variant("Command", "Intersect"),
        "EXCEPT" => Node::over("SetOp", both).variant("Strategy", "Sorted").variant("Command", "Except"),
        _ => both,
    }
}

/// What a temporary b-tree makes of its input.
fn sorted(what: &str, input: Node) -> Node {
    match what {
        "GROUP BY" => {
            let sort = Node::over("Sort", input);
            Node::over("Aggregate", sort).variant("Strategy", "Sorted").variant("Partial Mode", "Simple")
        }
        "DISTINCT" => Node::over("Unique", input),
        "ORDER BY" => Node::over("Sort", input),
        what if what.ends_with("ORDER BY") => Node::over("Incremental Sort", input),
        // count(DISTINCT …) and its like
        what => Node::over("Sort", input).text("Sort Key", what),
    }
}

/// The table of hashes, innermost of the joins so far, whose rows come from the sub-query that is told next.
fn hash_without_rows(node: &mut Node) -> Option<&mut Node> {
    if node.kind == "Hash" {
        return Some(node).filter(|node| node.children.is_empty());
    }
    let inner = node.children.iter_mut().rev().find(|c| c.relationship == "Inner");
    inner.filter(|inner| inner.kind == "Hash").and_then(hash_without_rows)
}

fn joined(outer: Node, inner: Node, join: &str) -> Node {
    let kind = if inner.kind == "Hash" { "Hash Join" } else { "Nested Loop" };
    let mut node = Node::over(kind, outer).text("Join Type", join);
    node.adopt(inner, "Inner");
    node
}
