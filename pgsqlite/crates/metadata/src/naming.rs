//! The names PostgreSQL would choose, and the ones SQLite gets.

use pgsqlite_sql::builtins::catalog as builtin;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::NodeEnum;
use pgsqlite_sql::routine::Function;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Oid};

/// Longest identifier in bytes (NAMEDATALEN - 1).
pub const MAX_NAME: usize = 63;

/// `name1_name2_label`, the longer of the first two cut until it fits (empty parts are left out).
pub fn object_name(name1: &str, name2: &str, label: &str) -> String {
    let overhead = usize::from(!name2.is_empty()) + if label.is_empty() { 0 } else { label.len() + 1 };
    let available = MAX_NAME.saturating_sub(overhead);
    let (mut len1, mut len2) = (name1.len(), name2.len());
    while len1 + len2 > available {
        work::visit();
        if len1 > len2 {
            len1 -= 1;
        } else {
            len2 -= 1;
        }
    }
    let cut = |text: &str, mut len: usize| {
        while !text.is_char_boundary(len) {
            work::visit();
            len -= 1;
        }
        text[..len].to_string()
    };
    let mut out = cut(name1, len1);
    for part in [cut(name2, len2), label.to_string()] {
        work::visit();
        if !part.is_empty() {
            out.push('_');
            out.push_str(&part);
        }
    }
    out
}

/// The column names of a constraint or index, joined, cut at the length of a name.
pub fn joined_columns<'a>(columns: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for column in columns {
        work::visit();
        if !out.is_empty() {
            out.push('_');
        }
        out.push_str(column);
        if out.len() >= MAX_NAME {
            break;
        }
    }
    out
}

/// The names of an index's columns: those of the table, the function's name or `expr` for expressions, numbered from the
/// second of a name.
pub fn index_column_names(relation: &Relation, index: &Index) -> Vec<String> {
    let keys = index.columns.iter().map(|k| match &k.key {
        KeyPart::Column(attnum) => relation.column_by_attnum(*attnum).map(|c| c.name.clone()).unwrap_or_default(),
        KeyPart::Expression(text) => expression_name(text),
    });
    let included = index.include.iter().filter_map(|&a| relation.column_by_attnum(a)).map(|c| c.name.clone());
    numbered(keys.chain(included))
}

/// The names, numbered from the second of a name.
pub fn numbered(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for wanted in all {
        work::visit();
        let mut name = wanted.clone();
        let mut n = 1;
        while names.contains(&name) {
            work::visit();
            name = format!("{wanted}{n}");
            n += 1;
        }
        names.push(name);
    }
    names
}

/// What PostgreSQL calls an expression key in a chosen name: as a column of a query, else `expr`.
fn expression_name(text: &str) -> String {
    let statements = pgsqlite_sql::parse::parse(&format!("SELECT {text}")).unwrap_or_default();
    if let Some(NodeEnum::SelectStmt(select)) = statements.first().map(|s| &s.node) {
        if let Some(NodeEnum::ResTarget(target)) = select.target_list.first().and_then(|t| t.node.as_ref()) {
            let name = target.val.as_deref().map(pgsqlite_sql::analyze::column_name);
            if let Some(name) = name.filter(|n| n != "?column?") {
                return name;
            }
        }
    }
    "expr".into()
}

/// The collation that a key of this type has by default (0: the type has none).
pub fn default_collation(catalog: &Catalog, ty: Oid) -> Oid {
    catalog.type_collation(ty)
}

/// The default operator class of a type for an access method.
pub fn default_opclass(catalog: &Catalog, ty: Oid, method: &str) -> Option<Oid> {
    let base = catalog.base_type(ty);
    let find = |input: Oid| {
        builtin::all_operator_classes()
            .iter()
            .find(|c| c.default && c.method == method && c.input == input && catalog.schema_of_builtin(c.oid).is_some())
            .map(|c| c.oid)
    };
    find(base).or_else(|| match base {
        oid::VARCHAR => find(oid::TEXT),
        oid::CIDR => find(oid::INET),
        _ => match catalog.type_entry(base)? {
            TypeEntry::User(t) if matches!(t.kind, UserTypeKind::Enum { .. }) => find(oid::ANYENUM),
            TypeEntry::User(t) if matches!(t.kind, UserTypeKind::Range(_)) => find(oid::ANYRANGE),
            TypeEntry::User(t) if matches!(t.kind, UserTypeKind::Multirange { .. }) => find(oid::ANYMULTIRANGE),
            TypeEntry::User(_) | TypeEntry::Row(_) => find(oid::RECORD),
            TypeEntry::ArrayOf(_) => find(oid::ANYARRAY),
            TypeEntry::Builtin(t) if t.is_array() => find(oid::ANYARRAY),
            TypeEntry::Builtin(t) if t.kind == b'r' => find(oid::ANYRANGE),
            TypeEntry::Builtin(t) if t.kind == b'm' => find(oid::ANYMULTIRANGE),
            TypeEntry::Builtin(t) if t.kind == b'c' => find(oid::RECORD),
            _ => None,
        },
    })
}

/// The pg_class entry of an index.
pub fn index_relation(oid: Oid, schema: Oid, name: String, sqlite_name: String, owner: Oid, index: Index) -> Relation {
    Relation { oid, schema, name, sqlite_name, owner, ..Relation::new(RelationKind::Index(index)) }
}

/// `name(argument types)` as CONTEXT shows a function.
pub fn function_shown(catalog: &Catalog, path: &[Oid], f: &Function) -> String {
    let names = pgsqlite_sql::deparse::Names::new(catalog, path);
    let args: Vec<String> = f.inputs().map(|a| names.type_name(a.type_oid, -1)).collect();
    let name = pgsqlite_sql::deparse::quote_identifier(&f.name);
    let qualified = if path.contains(&f.schema) {
        name
    } else {
        format!("{}.{name}", pgsqlite_sql::deparse::quote_identifier(catalog.schema_name(f.schema)))
    };
    format!("{qualified}({})", args.join(","))
}
