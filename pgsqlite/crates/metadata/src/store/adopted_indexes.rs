//! Partial indexes and indexes on expressions that another program made, in PostgreSQL's words.
//!
//! A definition is SQLite's SQL. It is shown to PostgreSQL's clients only if every part of it means the same to PostgreSQL, so this
//! is a list of what does; the text that comes out of it is analyzed and printed as one of CREATE INDEX is. For everything else
//! (LIKE, which SQLite compares without regard to case; a DATETIME, which may be a number; functions that PostgreSQL does
//! not have) there is no definition to show.

use super::declarations;
use super::names::CatalogNames;
use crate::naming;
use pgsqlite_sql::analyze::{self, Environment};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::deparse::{self, names::STORED_PATH, Names, Style};
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::{oid, Oid, Settings};

/// A key of an index, as `PRAGMA index_xinfo` tells it.
pub(super) struct Key {
    /// None: an expression, or the rowid
    pub column: Option<String>,
    pub descending: bool,
    pub collation: String,
}

/// The keys and the condition of the index that `sql` makes; None: they do not mean the same in PostgreSQL. `own_collations`: columns of the
/// table may have been declared with a COLLATE.
pub(super) fn translate(
    catalog: &Catalog,
    table: &Relation,
    sql: &str,
    keys: &[Key],
    own_collations: bool,
) -> Option<(Vec<IndexColumn>, Option<String>)> {
    let (texts, condition) = declarations::read_index(sql)?;
    if texts.len() != keys.len() || keys.iter().any(|k| !k.collation.eq_ignore_ascii_case("binary")) {
        return None;
    }
    let settings = Settings::default();
    let names = CatalogNames { catalog, search_path: STORED_PATH };
    let environment = Environment {
        catalog,
        search_path: STORED_PATH,
        settings: &settings,
        names: &names,
        user: BOOTSTRAP_ROLE,
        rights: pgsqlite_sql::analyze::Rights::AskedNow,
        parameters: Default::default(),
        sqlite_text: pgsqlite_sql::lower::lower_expression,
    };
    let translator = Translator { environment: &environment, table, own_collations };
    let columns = keys.iter().zip(&texts).map(|(key, text)| translator.key(key, text)).collect::<Option<Vec<_>>>()?;
    let predicate = match condition {
        Some(condition) => Some(translator.condition(&condition)?),
        None => None,
    };
    Some((columns, predicate))
}

/// What SQLite compares in one way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Truth,
}

struct Translator<'a> {
    environment: &'a Environment<'a>,
    table: &'a Relation,
    own_collations: bool,
}

impl Translator<'_> {
    fn key(&self, key: &Key, text: &str) -> Option<IndexColumn> {
        let catalog = self.environment.catalog;
        let (part, ty, collation) = match &key.column {
            Some(name) => {
                let column = self.table.column(name)?;
                (KeyPart::Column(column.attnum), column.type_oid, 0)
            }
            None => {
                let (text, _) = self.text(&analyze::parse_expression(&declarations::standard(text)).ok()?)?;
                let (text, ty, collation) = self.printed(&text, None)?;
                (KeyPart::Expression(text), ty, collation)
            }
        };
        Some(IndexColumn {
            key: part,
            descending: key.descending,
            nulls_first: key.descending,
            collation: if collation == 0 { naming::default_collation(catalog, ty) } else { collation },
            opclass: naming::default_opclass(catalog, ty, "btree")?,
            opclass_explicit: false,
        })
    }

    fn condition(&self, text: &str) -> Option<String> {
        let (text, kind) = self.text(&analyze::parse_expression(&declarations::standard(text)).ok()?)?;
        (kind == Kind::Truth).then(|| self.printed(&text, Some((oid::BOOL, -1))))?.map(|p| p.0)
    }

    /// As it is stored, with its type and collation.
    fn printed(&self, text: &str, target: Option<(Oid, i32)>) -> Option<(String, Oid, Oid)> {
        let node = analyze::parse_expression(text).ok()?;
        let expr = analyze::analyze_expression_to_print(self.environment, &node, Some(self.table), target).ok()?;
        let names = Names::stored(self.environment.catalog);
        let printed = deparse::expression(names, Style::Full, &expr, Some(self.table)).ok()?;
        Some((printed, expr.ty, expr.collation))
    }

    /// An expression of SQLite's as PostgreSQL's text, with what its values are.
    fn text(&self, node: &ast::Node) -> Option<(String, Kind)> {
        use ast::AExprKind as E;
        match node.node.as_ref()? {
            NodeEnum::ColumnRef(_) => {
                let column = self.column(node)?;
                let canonical = column.storage == StorageForm::Canonical;
                let kind = match column.type_oid {
                    oid::INT2 | oid::INT4 | oid::INT8 | oid::FLOAT8 if canonical => Kind::Number,
                    // (a column's own collation would decide)
                    oid::TEXT | oid::VARCHAR if canonical && !self.own_collations => Kind::Text,
                    oid::BOOL => Kind::Truth,
                    _ => return None,
                };
                Some((quoted(&column.name), kind))
            }
            NodeEnum::AConst(c) => constant(c),
            NodeEnum::NullTest(test) => {
                let column = self.column(test.arg.as_deref()?)?;
                let not = if test.nulltesttype == ast::NullTestType::IsNotNull as i32 { " NOT" } else { "" };
                Some((format!("({} IS{not} NULL)", quoted(&column.name)), Kind::Truth))
            }
            NodeEnum::BoolExpr(e) => {
                let args = e.args.iter().map(|a| self.of_kind(a, Kind::Truth)).collect::<Option<Vec<_>>>()?;
                let text = match e.boolop() {
                    ast::BoolExprType::AndExpr => args.join(" AND "),
                    ast::BoolExprType::OrExpr => args.join(" OR "),
                    ast::BoolExprType::NotExpr => format!("NOT {}", args.first()?),
                    ast::BoolExprType::Undefined => return None,
                };
                Some((format!("({text})"), Kind::Truth))
            }
            NodeEnum::AExpr(e) => {
                let [name] = &e.name[..] else { return None };
                let Some(NodeEnum::String(operator)) = &name.node else { return None };
                let (left, right) = (e.lexpr.as_deref()?, e.rexpr.as_deref()?);
                match (e.kind(), operator.sval.as_str()) {
                    (E::AexprOp, operator) => self.operation(operator, left, right),
                    (E::AexprIn, operator) => {
                        let (left, kind) = self.text(left)?;
                        let list = self.list(right, kind)?;
                        let not = if operator == "<>" { "NOT " } else { "" };
                        (kind != Kind::Truth).then(|| (format!("({left} {not}IN ({}))", list.join(", ")), Kind::Truth))
                    }
                    (E::AexprBetween | E::AexprNotBetween, _) => {
                        let left = self.of_kind(left, Kind::Number)?;
                        let bounds = self.list(right, Kind::Number)?;
                        let not = if e.kind() == E::AexprNotBetween { "NOT " } else { "" };
                        Some((format!("({left} {not}BETWEEN {})", bounds.join(" AND ")), Kind::Truth))
                    }
                    _ => None,
                }
            }
            NodeEnum::CoalesceExpr(e) => self.coalesce(&e.args),
            NodeEnum::FuncCall(call) => {
                let [name] = &call.funcname[..] else { return None };
                let Some(NodeEnum::String(name)) = &name.node else { return None };
                let plain = !call.agg_star && !call.agg_distinct && call.over.is_none() && call.agg_order.is_empty();
                let args = call.args.as_slice();
                match (name.sval.to_ascii_lowercase().as_str(), args) {
                    _ if !plain || call.agg_filter.is_some() || call.func_variadic => None,
                    // SQLite's know ASCII only
                    (name @ ("lower" | "upper"), [arg]) => {
                        let arg = self.of_kind(arg, Kind::Text)?;
                        Some((format!("{name}(({arg})::text COLLATE \"C\")"), Kind::Text))
                    }
                    ("length", [arg]) => Some((format!("length({})", self.of_kind(arg, Kind::Text)?), Kind::Number)),
                    ("abs", [arg]) => Some((format!("abs({})", self.of_kind(arg, Kind::Number)?), Kind::Number)),
                    ("ifnull", [_, _]) => self.coalesce(args),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn of_kind(&self, node: &ast::Node, kind: Kind) -> Option<String> {
        self.text(node).filter(|(_, found)| *found == kind).map(|(text, _)| text)
    }

    fn list(&self, node: &ast::Node, kind: Kind) -> Option<Vec<String>> {
        let Some(NodeEnum::List(list)) = &node.node else { return None };
        list.items.iter().map(|item| self.of_kind(item, kind)).collect()
    }

    fn coalesce(&self, args: &[ast::Node]) -> Option<(String, Kind)> {
        let (_, kind) = self.text(args.first()?)?;
        let args = args.iter().map(|a| self.of_kind(a, kind)).collect::<Option<Vec<_>>>()?;
        (kind != Kind::Truth).then(|| (format!("COALESCE({})", args.join(", ")), kind))
    }

    fn operation(&self, operator: &str, left: &ast::Node, right: &ast::Node) -> Option<(String, Kind)> {
        let (l, of_left) = self.text(left)?;
        // a BOOLEAN is compared with 0 or 1
        let number = |node: &ast::Node| match &node.node {
            Some(NodeEnum::AConst(c)) => match &c.val {
                Some(ast::a_const::Val::Ival(i)) => Some(i.ival),
                _ => None,
            },
            _ => None,
        };
        if let (Kind::Truth, Some(n @ (0 | 1))) = (of_left, number(right)) {
            return match (operator, n) {
                ("=" | "==", 1) | ("<>", 0) => Some((l, Kind::Truth)),
                ("=" | "==", _) | ("<>", _) => Some((format!("(NOT {l})"), Kind::Truth)),
                _ => None,
            };
        }
        let r = self.of_kind(right, of_left)?;
        let (operator, kind) = match (operator, of_left) {
            ("==", Kind::Number | Kind::Text) => ("=", Kind::Truth),
            ("=" | "<>", Kind::Number | Kind::Text) => (operator, Kind::Truth),
            ("<" | "<=" | ">" | ">=", Kind::Number) => (operator, Kind::Truth),
            ("+" | "-" | "*", Kind::Number) => (operator, Kind::Number),
            ("||", Kind::Text) => (operator, Kind::Text),
            _ => return None,
        };
        Some((format!("({l} {operator} {r})"), kind))
    }

    /// A column of the table; SQLite finds it without regard to case.
    fn column(&self, node: &ast::Node) -> Option<&Column> {
        let Some(NodeEnum::ColumnRef(reference)) = &node.node else { return None };
        let [name] = &reference.fields[..] else { return None };
        let Some(NodeEnum::String(name)) = &name.node else { return None };
        self.table.live_columns().find(|c| c.name.eq_ignore_ascii_case(&name.sval))
    }
}

fn constant(c: &ast::AConst) -> Option<(String, Kind)> {
    use ast::a_const::Val;
    match &c.val {
        Some(Val::Ival(i)) => Some((i.ival.to_string(), Kind::Number)),
        Some(Val::Fval(f)) => Some((f.fval.clone(), Kind::Number)),
        Some(Val::Sval(s)) => Some((format!("'{}'", s.sval.replace('\'', "''")), Kind::Text)),
        Some(Val::Boolval(b)) => Some((b.boolval.to_string(), Kind::Truth)),
        _ => None,
    }
}
