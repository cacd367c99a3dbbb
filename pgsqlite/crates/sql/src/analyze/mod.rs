//! Parse tree → typed tree. The parts are cut along the grammar:
//!
//! * [`select`]: queries, set operations, GROUP BY, ORDER BY, windows
//! * [`from`]: FROM items, the namespace columns are looked up in
//! * [`expr`], [`func`]: expressions and calls; [`resolve`]: overloads; [`coerce`]: conversions; [`typename`]: type names
//! * [`aggregate`]: what aggregates of the user call
//! * [`modify`]: INSERT, UPDATE, DELETE; [`merge`]: MERGE; [`assign`]: assignment to parts of columns
//! * [`view_target`]: data modification through views; [`rules`]: data modification of what has rewrite rules
//! * [`with`]: WITH; [`recursion`]: the rules of WITH RECURSIVE, SEARCH and CYCLE
//! * [`group`]: the rules of GROUP BY (42803)

pub mod aggregate;
mod arbiter;
mod assign;
mod assignments;
pub(crate) mod coerce;
pub(crate) mod collations;
mod column_reference;
mod column_rights;
mod comparison;
mod defaults;
mod expr;
mod from;
mod func;
mod group;
mod grouping_sets;
pub mod inline;
mod join;
mod json_paths;
mod merge;
mod modifiers;
mod modify;
mod on_conflict;
mod polymorphic;
mod recursion;
mod resolve;
pub(crate) mod returning;
mod row_fields;
mod row_locks;
mod row_security;
mod rules;
mod select;
mod set_operation;
mod spelling;
mod sql_json;
pub mod stored_views;
mod sub_link;
mod subscripts;
mod system_columns;
mod table_function;
pub(crate) mod typename;
pub mod variables;
mod view_target;
mod window;
mod with;

use crate::builtins::catalog as builtin;
use crate::catalog::{searched, Catalog, Relation, RelationKind, INFORMATION_SCHEMA, PG_CATALOG};
use crate::names::STORED_PATH;
use crate::parse::{ast, NodeEnum, RawStatement};
use crate::typed::{Cte, Expr, Modify, Query, RangeTableEntry, Rewritten, RteColumn, RteKind, Var, Window};
pub use coerce::is_polymorphic;
pub use expr::find_collation;
pub(crate) use from::plain_column;
use from::NamespaceItem;
pub(crate) use modify::shift_with_references;
use pgsqlite_types::codec::RegNames;
use pgsqlite_types::{oid, Oid, PgError, Result, Settings, SqlState};
pub use polymorphic::concrete_type;
pub use row_security::{
    analyze_policy, analyze_policy_text, analyze_policy_text_to_print, analyze_policy_to_print, row_security_counts,
};
pub use rules::action::{rule_tree, RuleTree};
pub use select::{column_name, into_not_allowed};
use std::sync::Arc;
pub(crate) use table_function::JSON_TO_RECORD;
pub use view_target::{updatable, why_not_updatable, Updatable};

/// What the parameters of COPY's INSERT are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parameters {
    /// Those in the place of columns were read with the columns' type modifiers: numerics are rounded, texts are cut and padded already.
    pub fitted: bool,
    /// Behind so many parameters, one for each column says whether the column gets its default instead of its value. `0`: there are none.
    pub defaults_behind: usize,
}

/// What analysis reads of the session.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    pub catalog: &'a Catalog,
    /// schemas in which unqualified names are looked up, in order: pg_catalog (and the temporary schema) included where
    /// PostgreSQL implies them
    pub search_path: &'a [Oid],
    pub settings: &'a Settings,
    /// resolves constants of reg types ('t'::regclass)
    pub names: &'a dyn RegNames,
    pub user: Oid,
    /// whether what is analyzed runs now
    pub rights: Rights,
    /// what the parameters are, if they are COPY's
    pub parameters: Parameters,
    /// Writes expressions as SQLite gets them: [`lower_expression`](crate::lower::lower_expression). Analysis, which is below lowering, compares
    /// what it writes.
    pub sqlite_text: SqliteText,
}

/// Returns the SQL of an expression over the columns of one relation.
pub type SqliteText = for<'e> fn(&Environment<'e>, &Expr, Option<&Relation>) -> Result<String>;

impl Environment<'_> {
    /// For a text that is stored (see [`Analyzer::in_stored_text`]).
    pub fn for_stored_text(&self) -> Self {
        Environment { search_path: STORED_PATH, ..*self }
    }

    /// Whether it is such a one: no search path of a session has what stands for all extensions.
    pub(crate) fn is_for_stored_text(&self) -> bool {
        self.search_path.contains(&crate::catalog::EVERY_EXTENSION)
    }
}

/// When the role is asked whether it may use the relations and functions that a text names. (Schemas are always asked for at once.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Where they are named: what is analyzed runs.
    AskedNow,
    /// When it is used: the text of a view or a function is analyzed again then, a prepared statement planned again.
    AskedAtUse,
}

/// An optimizable statement, analyzed.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    Query(Query),
    Modify(Modify),
    /// a data modification of a relation with rules
    Rewritten(Box<Rewritten>),
}

/// The part of a query an expression stands in: some constructs are allowed in some parts only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clause {
    SelectTarget,
    FromFunction,
    JoinOn,
    Where,
    GroupBy,
    Having,
    Window,
    OrderBy,
    Filter,
    Limit,
    Offset,
    Values,
    Returning,
    UpdateSet,
    /// DEFAULT, CHECK, index expressions …: no sub-queries, no aggregates
    Standalone,
}

impl Clause {
    pub fn name(self) -> &'static str {
        match self {
            Clause::SelectTarget => "SELECT",
            Clause::FromFunction => "functions in FROM",
            Clause::JoinOn => "JOIN conditions",
            Clause::Where => "WHERE",
            Clause::GroupBy => "GROUP BY",
            Clause::Having => "HAVING",
            Clause::Window => "window definitions",
            Clause::OrderBy => "ORDER BY",
            Clause::Filter => "FILTER",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::Values => "VALUES",
            Clause::Returning => "RETURNING",
            Clause::UpdateSet => "UPDATE",
            Clause::Standalone => "this expression",
        }
    }

    /// PostgreSQL's message where aggregates are not allowed.
    pub fn forbids_aggregates(self) -> Option<String> {
        match self {
            Clause::SelectTarget | Clause::Having | Clause::OrderBy | Clause::Window => None,
            Clause::FromFunction => {
                Some("aggregate functions are not allowed in FROM clause of their own query level".into())
            }
            other => Some(format!("aggregate functions are not allowed in {}", other.name())),
        }
    }
}

/// What is known of the query level that is being analyzed.
pub(crate) struct Level {
    pub range_table: Vec<RangeTableEntry>,
    pub namespace: Vec<NamespaceItem>,
    pub ctes: Vec<Cte>,
    pub windows: Vec<Window>,
    pub clause: Clause,
    pub has_aggregates: bool,
    /// an aggregate was analyzed since this was last reset (nesting check)
    pub aggregates_seen: bool,
    pub pending_grouping: bool,
    /// the grouping expressions that columns may depend on
    pub dependency_keys: Vec<Expr>,
    /// names of WITH queries that are not analyzed yet
    pub pending_ctes: Vec<String>,
    /// the view through which a statement changes a table
    pub view_target: Option<view_target::ViewTarget>,
    /// the level of an INSERT
    pub inserts: bool,
    /// it is of a MERGE
    pub merges: bool,
    /// what row-level security demands of the rows that a statement writes
    pub checks: Vec<crate::typed::RowCheck>,
    /// entries of which the role may read some columns only
    pub column_checks: Vec<column_rights::ColumnCheck>,
    /// what views change below themselves: asked after what the statement names
    pub below_views: Vec<column_rights::BelowView>,
    /// 42501 of what such a view's owner may not read
    pub denied_below: Option<PgError>,
    /// the role may insert or update some columns of the target only
    pub target_by_columns: bool,
    /// attnums of the target's columns that the statement gives values to ([`crate::typed::Written`])
    pub written: Vec<i16>,
    /// the statement names a column of the view that stands for its target, and the column is none of the target's
    pub names_computed: bool,
    /// the level of an UPDATE or DELETE, whose entry 0 is the target
    pub changes: bool,
    /// FOR UPDATE and the like: the entries that each names, none for all
    pub locked: Vec<Vec<String>>,
    /// GROUP BY's keys that are outputs: the expression and the output's place
    pub grouped_outputs: Vec<(Expr, usize)>,
    /// where GROUP BY names a second output with the expression of another
    pub twice_grouped: Option<i32>,
    /// it has OLD and NEW of a rule
    of_rule: bool,
}

impl Level {
    fn new() -> Level {
        Level {
            range_table: Vec::new(),
            namespace: Vec::new(),
            ctes: Vec::new(),
            windows: Vec::new(),
            clause: Clause::SelectTarget,
            has_aggregates: false,
            aggregates_seen: false,
            pending_grouping: false,
            dependency_keys: Vec::new(),
            pending_ctes: Vec::new(),
            view_target: None,
            inserts: false,
            merges: false,
            checks: Vec::new(),
            column_checks: Vec::new(),
            below_views: Vec::new(),
            denied_below: None,
            target_by_columns: false,
            written: Vec::new(),
            names_computed: false,
            changes: false,
            locked: Vec::new(),
            grouped_outputs: Vec::new(),
            twice_grouped: None,
            of_rule: false,
        }
    }

    /// Whether the query locks the rows of an entry.
    pub fn locks(&self, alias: &str) -> bool {
        self.locked.iter().any(|names| names.is_empty() || names.iter().any(|n| n == alias))
    }
}

/// The state of one statement's analysis.
pub(crate) struct Analyzer<'a> {
    pub env: Environment<'a>,
    /// the search path of what is analyzed, also within a stored text
    session_path: &'a [Oid],
    /// types of `$1` …; 0 or UNKNOWN: not known yet
    pub parameters: Vec<Oid>,
    /// where parameters stand that nothing has given a type there, with their numbers
    untyped: std::collections::BTreeSet<(i32, usize)>,
    /// parameters may be added (not in DEFAULTs and views)
    pub parameters_open: bool,
    /// innermost last
    pub levels: Vec<Level>,
    /// while a function's SQL text is spliced in: what its `$n` stand for
    pub splice_arguments: Option<Vec<Expr>>,
    /// in the body of a function: its parameters and variables
    pub variables: Option<&'a dyn variables::Variables>,
    /// the call of a CALL statement is analyzed: it may be a procedure's
    pub calling: bool,
    /// functions in SQL may be spliced in: the tree is run, not stored
    pub inlining: bool,
    /// functions of the user being spliced in, against recursion
    splicing: Vec<Oid>,
    /// the nodes that inlining has made of the statement's calls so far
    spliced: std::rc::Rc<std::cell::Cell<usize>>,
    /// views being expanded, against recursion
    view_depth: usize,
    /// the next query is one of FROM whose rows FOR UPDATE and the like lock: its tables are locked, too
    locks_next: bool,
    /// whose privileges count: the session's role or, in a view's query, the view's owner
    acting: Oid,
    /// tables whose policies are being expanded, against recursion
    policies_in: Vec<Oid>,
    /// the text is a statement's own, not a stored one: the acting role must be allowed to look into the schemas that it names
    written: bool,
    /// a view with rules that stays a view when a statement changes it
    kept_view: Option<Oid>,
    /// a view whose rules have been seen to
    rules_done: Option<Oid>,
    /// the tree is stored as text or printed: it keeps what was written, and nothing is put in (defaults, bodies of functions)
    storing: bool,
    /// where COLLATE stands, by the place of its operand and the collation
    collate_places: std::collections::HashMap<(i32, Oid), i32>,
}

impl<'a> Analyzer<'a> {
    pub fn new(env: &'a Environment<'a>, parameter_types: &[Oid], parameters_open: bool) -> Analyzer<'a> {
        Analyzer {
            env: *env,
            session_path: env.search_path,
            parameters: parameter_types.to_vec(),
            untyped: Default::default(),
            parameters_open,
            levels: Vec::new(),
            splice_arguments: None,
            variables: None,
            calling: false,
            inlining: false,
            splicing: Vec::new(),
            spliced: Default::default(),
            view_depth: 0,
            locks_next: false,
            acting: env.user,
            policies_in: Vec::new(),
            written: !env.is_for_stored_text(),
            kept_view: None,
            rules_done: None,
            storing: false,
            collate_places: Default::default(),
        }
    }

    /// The level being analyzed.
    pub fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("analysis runs inside a level")
    }

    /// Runs `f` with another clause as context.
    pub fn in_clause<R>(&mut self, clause: Clause, f: impl FnOnce(&mut Self) -> R) -> R {
        let saved = std::mem::replace(&mut self.level().clause, clause);
        let result = f(self);
        self.level().clause = saved;
        result
    }

    /// Runs `f` on a text that is stored. Everything in it that is not in pg_catalog is qualified: what its other names mean was settled
    /// when it was stored, and whoever uses it has no say in that by a search path or a temporary table.
    pub(crate) fn in_stored_text<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let path = std::mem::replace(&mut self.env.search_path, STORED_PATH);
        let result = f(self);
        self.env.search_path = path;
        result
    }

    /// Analyzes an expression given as PostgreSQL text (function defaults, spliced functions) in the present scope.
    pub fn sub_expression(&mut self, text: &str) -> Result<Expr> {
        let node = parse_expression(text)?;
        let variables = self.variables.take();
        let written = std::mem::take(&mut self.written);
        let expr = self.in_stored_text(|a| a.expr(&node));
        self.written = written;
        self.variables = variables;
        let mut expr = expr?;
        // its positions are not the statement's
        expr = crate::walk::map(&expr, &mut |_| None);
        clear_locations(&mut expr);
        Ok(expr)
    }

    /// The names that constants of reg types are looked up by: what a stored text means was looked up when it was made.
    pub(crate) fn names_of_constants(&self) -> pgsqlite_types::codec::NamesFor<'a> {
        pgsqlite_types::codec::NamesFor { names: self.env.names, role: self.written.then_some(self.acting) }
    }

    /// 42501 if the statement names a schema that the acting role may not look into.
    pub(crate) fn check_schema(&self, schema: &str) -> Result<()> {
        let (catalog, role) = (self.env.catalog, self.acting);
        if !self.written || crate::acl::is_superuser(catalog, role) {
            return Ok(());
        }
        crate::acl::check_schema_usage(catalog, role, schema)
    }

    fn statement(&mut self, statement: &NodeEnum) -> Result<Statement> {
        Ok(match statement {
            NodeEnum::SelectStmt(select) => Statement::Query(self.top_query(select)?),
            NodeEnum::InsertStmt(_) | NodeEnum::UpdateStmt(_) | NodeEnum::DeleteStmt(_) => {
                match self.with_rules(statement)? {
                    Ok(rewritten) => Statement::Rewritten(Box::new(rewritten)),
                    Err(modify) => Statement::Modify(modify),
                }
            }
            NodeEnum::MergeStmt(merge) => {
                let modify = self.merge(merge)?;
                Statement::Modify(self.with_collations(modify)?)
            }
            other => return Err(PgError::not_supported(expr::node_name(other))),
        })
    }

    /// The types of the parameters. Errors: 42P08 for a place where a parameter has no type that has one elsewhere, 42P18 for parameters
    /// nothing typed.
    fn finish_parameters(&self) -> Result<Vec<Oid>> {
        let has_type = |n: usize| self.parameters.get(n - 1).is_some_and(|ty| *ty != 0 && *ty != oid::UNKNOWN);
        if let Some((location, n)) = self.untyped.iter().find(|(_, n)| has_type(*n)) {
            let message = format!("{INDETERMINATE}{n}");
            return Err(PgError::new(SqlState::AMBIGUOUS_PARAMETER, message).at(*location));
        }
        for (i, &ty) in self.parameters.iter().enumerate() {
            if ty == 0 || ty == oid::UNKNOWN {
                return Err(indeterminate_parameter(i + 1));
            }
        }
        Ok(self.parameters.clone())
    }

    /// The relation a name means, along the search path.
    pub fn relation(&self, schema: Option<&str>, name: &str) -> Option<Arc<Relation>> {
        find_relation(&self.env, schema, name)
    }
}

const INDETERMINATE: &str = "could not determine data type of parameter $";

/// 42P18: nothing says which type a parameter has.
fn indeterminate_parameter(number: usize) -> PgError {
    PgError::new(SqlState::INDETERMINATE_DATATYPE, format!("{INDETERMINATE}{number}"))
}

/// The number of the parameter, from 1, that an error says has no type (42P18); None: it is another error.
pub fn untyped_parameter(error: &PgError) -> Option<usize> {
    let is_it = error.code() == SqlState::INDETERMINATE_DATATYPE;
    error.message().strip_prefix(INDETERMINATE).filter(|_| is_it)?.parse().ok()
}

fn clear_locations(expr: &mut Expr) {
    expr.location = -1;
    crate::walk::children_mut(expr, &mut |e| clear_locations(e));
}

/// Parses `text` as one expression.
pub fn parse_expression(text: &str) -> Result<ast::Node> {
    let mut nodes = parse_expressions(text)?;
    match nodes.pop() {
        Some(node) if nodes.is_empty() => Ok(node),
        _ => Err(PgError::internal(format!("not an expression: {text}"))),
    }
}

/// Parses `text` as expressions with commas between them, as those of an index are shown.
pub fn parse_expressions(text: &str) -> Result<Vec<ast::Node>> {
    let wrong = || PgError::internal(format!("no expressions: {text}"));
    let statements = crate::parse::parse(&format!("SELECT {text}"))?;
    let [RawStatement { node: NodeEnum::SelectStmt(select), .. }] = &statements[..] else { return Err(wrong()) };
    let value = |node: &ast::Node| match &node.node {
        Some(NodeEnum::ResTarget(target)) => target.val.as_deref().cloned(),
        _ => None,
    };
    select.target_list.iter().map(value).collect::<Option<_>>().ok_or_else(wrong)
}

/// Analyzes SELECT, VALUES, INSERT, UPDATE, DELETE, MERGE (or `TABLE t`). `parameter_types`: given by Parse (0 or missing:
/// to be inferred); returned: the types of all parameters (42P18 if one stays undetermined).
pub fn analyze(
    environment: &Environment,
    statement: &NodeEnum,
    parameter_types: &[Oid],
) -> Result<(Statement, Vec<Oid>)> {
    crate::parse::with_stack(|| {
        let mut analyzer = Analyzer::new(environment, parameter_types, true);
        analyzer.inlining = true;
        let statement = analyzer.statement(statement)?;
        Ok((statement, analyzer.finish_parameters()?))
    })
}

/// Analyzes a statement that can have no parameters, as those of the simple protocol. Errors: 42P02 at the first one it names.
pub fn check_without_parameters(environment: &Environment, statement: &NodeEnum) -> Result<()> {
    crate::parse::with_stack(|| {
        let mut analyzer = Analyzer::new(environment, &[], false);
        analyzer.statement(statement).map(|_| ())
    })
}

/// As [`analyze`], of a statement in the body of a function: names may mean its variables, which become parameters.
pub fn analyze_in_function(
    environment: &Environment,
    statement: &NodeEnum,
    variables: &dyn variables::Variables,
) -> Result<Statement> {
    crate::parse::with_stack(|| {
        let mut analyzer = Analyzer::new(environment, &[], false);
        analyzer.variables = Some(variables);
        analyzer.inlining = true;
        analyzer.statement(statement)
    })
}

/// As [`analyze_in_function`], of a statement that is printed.
pub fn analyze_in_function_to_print(
    environment: &Environment,
    statement: &NodeEnum,
    variables: &dyn variables::Variables,
) -> Result<Statement> {
    crate::parse::with_stack(|| {
        let mut analyzer = Analyzer::new(environment, &[], false);
        analyzer.variables = Some(variables);
        analyzer.storing = true;
        match statement {
            NodeEnum::InsertStmt(s) => analyzer.insert(s).map(Statement::Modify),
            NodeEnum::UpdateStmt(s) => analyzer.update(s).map(Statement::Modify),
            NodeEnum::DeleteStmt(s) => analyzer.delete(s).map(Statement::Modify),
            other => analyzer.statement(other),
        }
    })
}

/// Where an expression of the grammar begins in the statement; -1: not known.
pub fn location_of(node: &ast::Node) -> i32 {
    node.node.as_ref().map_or(-1, recursion::location_of)
}

/// Analyzes a query without parameters (the text of a view); the caller keeps the result's columns.
pub fn analyze_query(environment: &Environment, select: &ast::SelectStmt) -> Result<Query> {
    crate::parse::with_stack(|| Analyzer::new(environment, &[], false).top_query(select))
}

/// As [`analyze_query`], of a query that is printed or stored as text: what was written is kept as it was written (joins with their names,
/// calls in the standard's syntax), nothing is put in.
pub fn analyze_query_to_print(environment: &Environment, select: &ast::SelectStmt) -> Result<Query> {
    crate::parse::with_stack(|| {
        let mut analyzer = Analyzer::new(environment, &[], false);
        analyzer.storing = true;
        analyzer.top_query(select)
    })
}

/// Analyzes an expression over the columns of one relation (DEFAULT without relation, CHECK, index expressions and
/// predicates, GENERATED) given as PostgreSQL SQL text and coerces it to `target` (type, typmod) as an assignment does, if given.
/// Columns appear as [`crate::typed::Var`] {0, 0, index among the live columns}.
pub fn analyze_expression(
    environment: &Environment,
    text: &str,
    relation: Option<&Relation>,
    target: Option<(Oid, i32)>,
) -> Result<Expr> {
    let node = parse_expression(text)?;
    let mut expr = analyze_expression_node(&environment.for_stored_text(), &node, relation, target)?;
    clear_locations(&mut expr);
    Ok(expr)
}

/// As [`analyze_expression`], of a stored text that is printed anew (see [`analyze_query_to_print`]).
pub fn analyze_stored_to_print(environment: &Environment, text: &str, relation: Option<&Relation>) -> Result<Expr> {
    expression_over(&environment.for_stored_text(), &parse_expression(text)?, relation, None, For::Printing)
}

/// As [`analyze_expression`], of a parsed node (positions are kept).
pub fn analyze_expression_node(
    environment: &Environment,
    node: &ast::Node,
    relation: Option<&Relation>,
    target: Option<(Oid, i32)>,
) -> Result<Expr> {
    expression_over(environment, node, relation, target, For::Reading)
}

/// As [`analyze_expression_node`], of an expression that is printed or stored as text (see [`analyze_query_to_print`]).
pub fn analyze_expression_to_print(
    environment: &Environment,
    node: &ast::Node,
    relation: Option<&Relation>,
    target: Option<(Oid, i32)>,
) -> Result<Expr> {
    expression_over(environment, node, relation, target, For::Printing)
}

/// As [`analyze_expression`], of an expression of an index: functions are spliced in where a statement that is to find the index
/// has them spliced in.
pub fn analyze_index_expression(
    environment: &Environment,
    text: &str,
    relation: Option<&Relation>,
    target: Option<(Oid, i32)>,
) -> Result<Expr> {
    let node = parse_expression(text)?;
    let mut expr = expression_over(&environment.for_stored_text(), &node, relation, target, For::Index)?;
    clear_locations(&mut expr);
    Ok(expr)
}

/// 0A000 for a name with another database in front.
pub fn cross_database(parts: &[&str]) -> PgError {
    let name = parts.join(".");
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cross-database references are not implemented: {name}"))
}

/// (schema, name) of a qualified name, which may have the database in front. Errors: 0A000 for another database, 42601.
pub(crate) fn qualified_name<'n>(catalog: &Catalog, parts: &[&'n str]) -> Result<(Option<&'n str>, &'n str)> {
    match parts {
        [name] => Ok((None, name)),
        [schema, name] => Ok((Some(schema), name)),
        [database, schema, name] if catalog.is_database(database) => Ok((Some(schema), name)),
        [_, _, _] => Err(cross_database(parts)),
        _ => Err(PgError::new(
            SqlState::SYNTAX_ERROR,
            format!("improper qualified name (too many dotted names): {}", parts.join(".")),
        )),
    }
}

/// What a tree of an expression is made for.
#[derive(Clone, Copy, PartialEq)]
enum For {
    Reading,
    Printing,
    Index,
}

fn expression_over(
    environment: &Environment,
    node: &ast::Node,
    relation: Option<&Relation>,
    target: Option<(Oid, i32)>,
    purpose: For,
) -> Result<Expr> {
    crate::parse::with_stack(|| {
        let mut analyzer = Analyzer::new(environment, &[], false);
        analyzer.storing = purpose == For::Printing;
        analyzer.inlining = purpose == For::Index;
        let mut level = Level::new();
        level.clause = Clause::Standalone;
        analyzer.levels.push(level);
        if let Some(relation) = relation {
            analyzer.add_relation_entry(Arc::new(relation.clone()), None, true)?;
        }
        let expr = analyzer.expr(node)?;
        let mut expr = match target {
            Some((ty, typmod)) => {
                let what = relation.map_or("", |r| r.name.as_str()).to_string();
                analyzer.coerce_assignment(expr, ty, typmod, &what)?
            }
            None => analyzer.resolve_unknown(expr)?,
        };
        analyzer.assign_collation(&mut expr)?;
        Ok(expr)
    })
}

/// The operator of a name (with `schema.` in front, if it is written) for two operands of a type, as an EXCLUDE constraint and an
/// aggregate's SORTOP have it. Errors: 42883.
pub fn operator_for(environment: &Environment, name: &str, ty: Oid) -> Result<Oid> {
    let analyzer = Analyzer::new(environment, &[], false);
    Ok(analyzer.resolve_operator(name, Some(ty), ty, -1)?.0.oid)
}

/// An operator of an operator class (so PostgreSQL's own) over two operands.
pub(crate) fn related(environment: &Environment, operator: Oid, left: Expr, right: Expr) -> Result<Expr> {
    let environment = environment.for_stored_text();
    let mut analyzer = Analyzer::new(&environment, &[], false);
    analyzer.levels.push(Level::new());
    let found = crate::builtins::catalog::operator_by_oid(operator);
    let name = &found.ok_or_else(|| PgError::internal("an operator that is not there"))?.name;
    analyzer.operator(name, Some(left), right, -1)
}

/// Analyzes a domain's CHECK: VALUE stands for a value of the base type.
pub fn analyze_domain_check(environment: &Environment, text: &str, base: Oid) -> Result<Expr> {
    domain_check(environment, text, base, For::Reading)
}

/// As [`analyze_domain_check`], of one that is printed (see [`analyze_query_to_print`]).
pub fn analyze_domain_check_to_print(environment: &Environment, text: &str, base: Oid) -> Result<Expr> {
    domain_check(environment, text, base, For::Printing)
}

fn domain_check(environment: &Environment, text: &str, base: Oid, purpose: For) -> Result<Expr> {
    let node = parse_expression(text)?;
    let environment = environment.for_stored_text();
    let mut analyzer = Analyzer::new(&environment, &[], false);
    analyzer.storing = purpose == For::Printing;
    let mut level = Level::new();
    level.clause = Clause::Standalone;
    level.namespace.push(NamespaceItem::domain_value(base));
    analyzer.levels.push(level);
    let expr = analyzer.expr(&node)?;
    let mut expr = analyzer.coerce_boolean(expr, "CHECK")?;
    analyzer.assign_collation(&mut expr)?;
    clear_locations(&mut expr);
    Ok(expr)
}

/// A type name of the grammar → (type OID, typmod). 42704 with position if unknown.
pub fn resolve_type_name(environment: &Environment, name: &ast::TypeName) -> Result<(Oid, i32)> {
    Analyzer::new(environment, &[], false).type_name(name)
}

/// The same of a name that only stands for the type: of one, too, that values cannot have.
pub fn resolve_name_of_type(environment: &Environment, name: &ast::TypeName) -> Result<(Oid, i32)> {
    Analyzer::new(environment, &[], false).any_type_name(name)
}

/// A possibly qualified relation name → the relation, along the search path; None if there is none.
pub fn find_relation(environment: &Environment, schema: Option<&str>, name: &str) -> Option<Arc<Relation>> {
    let catalog = environment.catalog;
    let in_schema = |schema: Oid| match schema {
        // The engine's catalog has the system relations it provides; the others are found, too, and refused by their name.
        PG_CATALOG => catalog.relation_in(schema, name).cloned().or_else(|| system_relation("pg_catalog", name)),
        INFORMATION_SCHEMA => {
            catalog.relation_in(schema, name).cloned().or_else(|| system_relation("information_schema", name))
        }
        other => catalog.relation_in(other, name).cloned(),
    };
    match schema {
        Some("pg_catalog") => in_schema(PG_CATALOG),
        Some("information_schema") => in_schema(INFORMATION_SCHEMA),
        Some("pg_temp") => in_schema(crate::catalog::PG_TEMP),
        Some(schema) => in_schema(catalog.schema_oid(schema)?),
        None => {
            let path = environment.search_path;
            // the temporary schema is searched first, unless the path names it or is that of stored texts
            let temp =
                (path != STORED_PATH && !path.contains(&crate::catalog::PG_TEMP)).then_some(crate::catalog::PG_TEMP);
            temp.into_iter().chain(searched(path)).find_map(in_schema)
        }
    }
}

/// A table of pg_catalog or information_schema as a relation.
fn system_relation(schema: &str, name: &str) -> Option<Arc<Relation>> {
    use foldhash::HashMap;
    use std::sync::OnceLock;
    static TABLE: OnceLock<HashMap<(&'static str, &'static str), Arc<Relation>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        builtin::system_relations()
            .iter()
            .map(|r| {
                let relation = Relation {
                    oid: r.oid,
                    schema: if r.schema == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA },
                    name: r.name.into(),
                    sqlite_name: format!("{}.{}", r.schema, r.name),
                    row_type: r.row_type,
                    columns: r
                        .columns
                        .iter()
                        .map(|&(attnum, name, type_oid, typmod, not_null, collation)| crate::catalog::Column {
                            acl: None,
                            attnum,
                            name: name.into(),
                            type_oid,
                            typmod,
                            not_null,
                            not_null_pending: false,
                            default: None,
                            generated: None,
                            is_virtual: false,
                            identity: None,
                            collation,
                            dropped: false,
                            storage: Default::default(),
                            sequence: 0,
                            sqlite_default: false,
                            sqlite_text: None,
                            sqlite_generated: false,
                            inherited: Default::default(),
                            keeping: Default::default(),
                        })
                        .collect(),
                    ..Relation::new(RelationKind::System)
                };
                ((r.schema, r.name), Arc::new(relation))
            })
            .collect()
    });
    // (names that live shorter are looked up in a table of names that live shorter)
    let table: &HashMap<(&str, &str), Arc<Relation>> = table;
    table.get(&(schema, name)).cloned()
}

/// The columns a relation offers to a query.
pub(crate) fn relation_columns(relation: &Relation) -> Vec<RteColumn> {
    relation
        .live_columns()
        .map(|c| RteColumn {
            name: c.name.clone(),
            ty: c.type_oid,
            typmod: c.typmod,
            attnum: c.attnum,
            origin: (relation.oid, c.attnum),
            collation: c.collation,
        })
        .collect()
}

/// A variable for a column of an entry of the innermost level.
pub(crate) fn var(levels_up: usize, rte: usize, column: usize, of: &RteColumn, location: i32) -> Expr {
    Expr {
        kind: crate::typed::ExprKind::Var(Var { levels_up, rte, column }),
        ty: of.ty,
        typmod: of.typmod,
        collation: of.collation,
        location,
    }
}

pub(crate) fn entry(kind: RteKind, alias: String, has_alias: bool, columns: Vec<RteColumn>) -> RangeTableEntry {
    RangeTableEntry { kind, alias, has_alias, names_columns: false, columns, row_type: 0, sample: None, only: false }
}

/// The OUT columns of a call of a function (name, type), none if it has no OUT parameters. A polymorphic one has the
/// type that the arguments give it.
pub(crate) fn out_columns(catalog: &Catalog, proc: Oid, args: &[Expr]) -> Vec<(String, Oid)> {
    let Some(proc) = catalog.proc(proc) else { return vec![] };
    let (Some(all), Some(modes)) = (&proc.all_args, &proc.arg_modes) else { return vec![] };
    let actual: Vec<Oid> = args.iter().map(|a| a.ty).collect();
    (0..all.len())
        .filter(|&i| matches!(modes[i], b'o' | b'b' | b't'))
        .enumerate()
        .map(|(place, i)| {
            let name = proc.arg_names.as_ref().and_then(|names| names.get(i)).map_or("", |n| n.as_str());
            let ty = concrete_type(catalog, &proc.args, &actual, all[i]);
            (if name.is_empty() { format!("column{}", place + 1) } else { name.to_string() }, ty)
        })
        .collect()
}

/// Parses one statement and analyzes it: for tests and views.
pub fn analyze_text(environment: &Environment, text: &str) -> Result<(Statement, Vec<Oid>)> {
    let statements: Vec<RawStatement> = crate::parse::parse(text)?;
    match &statements[..] {
        [one] => analyze(environment, &one.node, &[]),
        _ => Err(PgError::internal("one statement expected")),
    }
}

/// The statements of the body of a function in SQL.
pub fn sql_body(function: &crate::routine::Function) -> Result<Vec<NodeEnum>> {
    if !function.standard {
        let statements = crate::parse::parse(&function.source)?;
        return Ok(statements.into_iter().map(|s| s.node).collect());
    }
    Ok(standard_body(function)?.into_iter().map(|(node, _)| node).collect())
}

/// The statements of a body in the standard's way, each with whether it was RETURN (of one value: a SELECT).
pub fn standard_body(function: &crate::routine::Function) -> Result<Vec<(NodeEnum, bool)>> {
    // the grammar reads such a body behind the head of a function
    let text = format!("CREATE FUNCTION f() RETURNS int {}", function.source);
    let statements = crate::parse::parse(&text)?;
    let [RawStatement { node: NodeEnum::CreateFunctionStmt(create), .. }] = &statements[..] else {
        return Err(PgError::internal("a stored body that is none"));
    };
    let mut out = Vec::new();
    if let Some(body) = create.sql_body.as_deref() {
        standard_statements(body, &mut out)?;
    }
    Ok(out)
}

/// RETURN expr, or the statements of BEGIN ATOMIC.
fn standard_statements(node: &ast::Node, out: &mut Vec<(NodeEnum, bool)>) -> Result<()> {
    match &node.node {
        Some(NodeEnum::ReturnStmt(r)) => {
            let target = ast::ResTarget { val: r.returnval.clone(), ..Default::default() };
            let node = ast::Node { node: Some(NodeEnum::ResTarget(Box::new(target))) };
            let select = ast::SelectStmt { target_list: vec![node], ..Default::default() };
            out.push((NodeEnum::SelectStmt(Box::new(select)), true));
        }
        Some(NodeEnum::List(list)) => {
            for item in &list.items {
                standard_statements(item, out)?;
            }
        }
        Some(other) => out.push((other.clone(), false)),
        None => {}
    }
    Ok(())
}
