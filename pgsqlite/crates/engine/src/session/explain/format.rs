//! How a plan is printed: as a tree for people, as JSON, YAML or XML for programs, in PostgreSQL's layout.

use crate::session::explain::nodes::{Node, Value};

/// FORMAT of EXPLAIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::session) enum Format {
    #[default]
    Text,
    Xml,
    Json,
    Yaml,
}

/// A plan and what is told beside it.
pub(in crate::session) struct Explained {
    pub plan: Node,
    /// EXPLAIN (SETTINGS): there are none that change SQLite's plans
    pub settings: bool,
    /// the statement ran
    pub analyzed: bool,
    /// `Planning Time`, `Execution Time`: milliseconds
    pub times: Vec<(&'static str, f64)>,
}

/// The lines of the result (in every format but TEXT one text of several lines).
pub(in crate::session) fn print(explained: &Explained, format: Format) -> Vec<String> {
    match format {
        Format::Text => {
            let mut lines = Vec::new();
            text(&explained.plan, 0, &mut lines);
            lines.extend(explained.times.iter().map(|(name, ms)| format!("{name}: {ms:.3} ms")));
            lines
        }
        _ => vec![tagged(explained, format)],
    }
}

// --- TEXT ------------------------------------------------------------------------------------------------------------

fn title(node: &Node) -> String {
    let variant = |name: &str| node.variant.iter().find(|(n, _)| *n == name).map_or("", |(_, v)| v.as_str());
    let mut title = match node.kind.as_str() {
        "ModifyTable" => variant("Operation").to_string(),
        "Aggregate" => {
            let kind = match variant("Strategy") {
                "Sorted" => "GroupAggregate",
                "Hashed" => "HashAggregate",
                _ => "Aggregate",
            };
            match variant("Partial Mode") {
                mode @ ("Finalize" | "Partial") => format!("{mode} {kind}"),
                _ => kind.to_string(),
            }
        }
        scan @ ("Seq Scan" | "Index Scan" | "Index Only Scan") if node.parallel => format!("Parallel {scan}"),
        "SetOp" => format!("SetOp {}", variant("Command")),
        "Nested Loop" => match node.property("Join Type") {
            Some(join @ ("Left" | "Semi")) => format!("Nested Loop {join} Join"),
            _ => "Nested Loop".to_string(),
        },
        "Hash Join" => match node.property("Join Type") {
            Some(join @ "Left") => format!("Hash {join} Join"),
            _ => "Hash Join".to_string(),
        },
        kind => kind.to_string(),
    };
    if let Some(index) = node.property("Index Name") {
        let word = if node.kind == "Bitmap Index Scan" { "on" } else { "using" };
        title.push_str(&format!(" {word} {index}"));
    }
    if let Some(name) = node.property("Relation Name").or_else(|| node.property("Alias")) {
        title.push_str(" on ");
        if let Some(schema) = node.property("Schema") {
            title.push_str(&format!("{}.", pgsqlite_sql::deparse::quote_identifier(schema)));
        }
        title.push_str(&pgsqlite_sql::deparse::quote_identifier(name));
    }
    if let Some(e) = &node.estimate {
        title.push_str(&format!("  (cost={:.2}..{:.2} rows={:.0} width={})", e.startup, e.total, e.rows, e.width));
    }
    match &node.actual {
        Some(actual) if actual.loops == 0 => title.push_str(" (never executed)"),
        Some(actual) => {
            let times = node.times.map_or(String::new(), |(first, last)| format!("time={first:.3}..{last:.3} "));
            let rows = actual.rows_per_loop();
            title.push_str(&format!(" (actual {times}rows={rows} loops={})", actual.loops));
        }
        None => {}
    }
    title
}

/// Rows that a condition ruled out, per loop.
fn removed(node: &Node) -> Option<String> {
    node.actual.filter(|a| a.removed > 0).map(|a| a.per_loop(a.removed))
}

/// `indent`: columns before the node's own text.
fn text(node: &Node, indent: usize, lines: &mut Vec<String>) {
    if indent == 0 {
        lines.push(title(node));
    } else {
        lines.push(format!("{}->  {}", " ".repeat(indent - 4), title(node)));
    }
    let mut told = |name: &str, value: &str| lines.push(format!("{}{name}: {value}", " ".repeat(indent + 2)));
    if let Some((name, Value::Number(workers))) = node.properties.iter().find(|(name, _)| *name == "Workers Planned") {
        told(name, workers);
    }
    for name in ["Sort Key", "Index Cond"] {
        if let Some(value) = node.property(name) {
            told(name, value);
        }
    }
    if let Some(removed) = removed(node) {
        told("Rows Removed by Filter", &removed);
    }
    if let Some(visited) = node.visited.filter(|_| node.actual.is_none()) {
        told("Rows Visited", &visited.to_string());
    }
    if let Some(statement) = node.property("SQLite Statement") {
        told("SQLite", statement);
    }
    let (plans, inputs): (Vec<&Node>, Vec<&Node>) = node.children.iter().partition(|c| c.subplan.is_some());
    let first = plans.iter().filter(|p| p.relationship == "InitPlan");
    let after = plans.iter().filter(|p| p.relationship != "InitPlan");
    for plan in first {
        subplan(plan, indent, lines);
    }
    for child in inputs {
        text(child, indent + 6, lines);
    }
    for plan in after {
        subplan(plan, indent, lines);
    }
}

fn subplan(node: &Node, indent: usize, lines: &mut Vec<String>) {
    lines.push(format!("{}{}", " ".repeat(indent + 2), node.subplan.as_deref().unwrap_or_default()));
    text(node, indent + 8, lines);
}

// --- JSON, YAML, XML -----------------------------------------------------------------------------------------------------

/// A document of named values.
enum Item {
    Value(Value),
    Group(Vec<(&'static str, Item)>),
    /// elements of this name
    List(&'static str, Vec<Vec<(&'static str, Item)>>),
}

fn group(node: &Node) -> Vec<(&'static str, Item)> {
    let text = |value: &str| Item::Value(Value::Text(value.to_string()));
    let mut out = vec![("Node Type", text(&node.kind))];
    out.extend(node.variant.iter().map(|(name, value)| (*name, text(value))));
    if !node.relationship.is_empty() {
        out.push(("Parent Relationship", text(node.relationship)));
    }
    if let Some(name) = &node.subplan {
        out.push(("Subplan Name", text(name)));
    }
    out.push(("Parallel Aware", Item::Value(Value::Bool(node.parallel))));
    out.push(("Async Capable", Item::Value(Value::Bool(false))));
    // PostgreSQL tells conditions behind what was counted
    let place = |name: &str| match name {
        "Index Cond" => 1,
        "SQLite Statement" => 2,
        _ => 0,
    };
    let own = |wanted: i32| {
        node.properties.iter().filter(move |(n, _)| place(n) == wanted).map(|(n, v)| (*n, Item::Value(v.clone())))
    };
    let number = |number: String| Item::Value(Value::Number(number));
    out.extend(own(0));
    if let Some(e) = &node.estimate {
        out.push(("Startup Cost", number(format!("{:.2}", e.startup))));
        out.push(("Total Cost", number(format!("{:.2}", e.total))));
        out.push(("Plan Rows", number(format!("{:.0}", e.rows))));
        out.push(("Plan Width", number(e.width.to_string())));
    }
    if let Some(actual) = &node.actual {
        if let Some((first, last)) = node.times {
            out.push(("Actual Startup Time", Item::Value(Value::Number(format!("{first:.3}")))));
            out.push(("Actual Total Time", Item::Value(Value::Number(format!("{last:.3}")))));
        }
        out.push(("Actual Rows", number(actual.rows_per_loop())));
        out.push(("Actual Loops", number(actual.loops.to_string())));
    }
    out.push(("Disabled", Item::Value(Value::Bool(false))));
    out.extend(own(1));
    if let Some(removed) = removed(node) {
        out.push(("Rows Removed by Filter", number(removed)));
    }
    if let Some(visited) = node.visited.filter(|_| node.actual.is_none()) {
        out.push(("Rows Visited", number(visited.to_string())));
    }
    out.extend(own(2));
    if !node.children.is_empty() {
        out.push(("Plans", Item::List("Plan", node.children.iter().map(group).collect())));
    }
    out
}

fn tagged(explained: &Explained, format: Format) -> String {
    let mut query = vec![("Plan", Item::Group(group(&explained.plan)))];
    if explained.settings {
        query.push(("Settings", Item::Group(vec![])));
    }
    let mut times = explained.times.iter().map(|(name, ms)| (*name, Item::Value(Value::Number(format!("{ms:.3}")))));
    if explained.analyzed {
        query.extend(times.by_ref().take(1));
        query.push(("Triggers", Item::List("Trigger", vec![])));
    }
    query.extend(times);
    let mut out = String::new();
    match format {
        Format::Json => {
            out.push_str("[\n  ");
            json_group(&query, 2, &mut out);
            out.push_str("\n]");
        }
        Format::Yaml => {
            out.push_str("- ");
            yaml_group(&query, 2, &mut out);
        }
        _ => {
            out.push_str("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Query>\n");
            xml_group(&query, 4, &mut out);
            out.push_str("  </Query>\n</explain>");
        }
    }
    out
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Number(number) => number.clone(),
        Value::Bool(b) => b.to_string(),
    }
}

fn json_group(items: &[(&'static str, Item)], indent: usize, out: &mut String) {
    out.push('{');
    for (i, (name, item)) in items.iter().enumerate() {
        out.push_str(if i == 0 { "\n" } else { ",\n" });
        out.push_str(&format!("{}{}: ", " ".repeat(indent + 2), quoted(name)));
        match item {
            Item::Value(value) => out.push_str(&scalar(value)),
            Item::Group(items) => json_group(items, indent + 2, out),
            Item::List(_, elements) => {
                out.push('[');
                for (i, element) in elements.iter().enumerate() {
                    out.push_str(if i == 0 { "\n" } else { ",\n" });
                    out.push_str(&" ".repeat(indent + 4));
                    json_group(element, indent + 4, out);
                }
                out.push_str(&format!("\n{}]", " ".repeat(indent + 2)));
            }
        }
    }
    out.push_str(&format!("\n{}}}", " ".repeat(indent)));
}

/// The first item goes on the line that is begun already.
fn yaml_group(items: &[(&'static str, Item)], indent: usize, out: &mut String) {
    for (i, (name, item)) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(&format!("\n{}", " ".repeat(indent)));
        }
        out.push_str(&format!("{name}: "));
        let line = format!("\n{}", " ".repeat(indent + 2));
        match item {
            Item::Value(value) => out.push_str(&scalar(value)),
            Item::Group(items) => {
                if !items.is_empty() {
                    out.push_str(&line);
                }
                yaml_group(items, indent + 2, out);
            }
            Item::List(_, elements) => {
                for element in elements {
                    out.push_str(&format!("{line}- "));
                    yaml_group(element, indent + 4, out);
                }
            }
        }
    }
}

fn xml_group(items: &[(&'static str, Item)], indent: usize, out: &mut String) {
    let space = " ".repeat(indent);
    for (name, item) in items {
        let tag = name.replace(' ', "-");
        match item {
            Item::Value(value) => {
                let text = match value {
                    Value::Text(text) => {
                        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\r', "&#x0d;")
                    }
                    other => scalar(other),
                };
                out.push_str(&format!("{space}<{tag}>{text}</{tag}>\n"));
            }
            Item::Group(items) => {
                out.push_str(&format!("{space}<{tag}>\n"));
                xml_group(items, indent + 2, out);
                out.push_str(&format!("{space}</{tag}>\n"));
            }
            Item::List(element, elements) => {
                out.push_str(&format!("{space}<{tag}>\n"));
                for items in elements {
                    out.push_str(&format!("{space}  <{element}>\n"));
                    xml_group(items, indent + 4, out);
                    out.push_str(&format!("{space}  </{element}>\n"));
                }
                out.push_str(&format!("{space}</{tag}>\n"));
            }
        }
    }
}
