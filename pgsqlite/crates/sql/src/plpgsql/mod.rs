//! PL/pgSQL: the body of a function as a tree.
//!
//! [`parse`] reads a body with the scanner of PostgreSQL's grammar ([`scan`]) and resolves what the language itself resolves:
//! blocks, labels and variables. The SQL in it stays text ([`Sql`]), with the point of the namespace from which its names are
//! looked up; the engine analyzes it when it runs for the first time, as PostgreSQL does.
//!
//! A variable is a number, its place among [`Body::variables`]; `found`, the arguments, and in triggers NEW, OLD and TG_… come first.

mod parse;
mod scan;

pub use parse::{parse, parse_new, Given};

/// A piece of SQL in a body.
#[derive(Debug, Clone)]
pub struct Sql {
    pub text: String,
    /// of the value of an assignment: the text in front of it
    pub lead: String,
    /// the line of the body that it begins on, from 1
    pub line: u32,
    /// where names are looked up: an index of [`Body::names`], counted from 1; 0: nothing is known
    pub names: usize,
    /// unique in the body: what the engine keeps its plan under
    pub id: usize,
}

/// A link of the chain of names that a place of the body sees: the innermost first, by `outer`.
#[derive(Debug, Clone)]
pub struct Name {
    pub name: String,
    pub kind: NameKind,
    /// the next one outwards, as in [`Sql::names`]
    pub outer: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// a variable, by number
    Variable(usize),
    /// a block begins here; its name may be empty
    Block,
}

/// A type as a declaration names it.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeRef {
    /// SQL text of a type name
    Named(String),
    /// `variable%TYPE`
    OfVariable(usize),
    /// `table.column%TYPE`
    OfColumn(Vec<String>),
    /// `table%ROWTYPE`
    RowOf(Vec<String>),
    Record,
    /// by OID and type modifier: of what the engine declares
    Known(u32, i32),
}

#[derive(Debug, Clone)]
pub struct Variable {
    pub name: String,
    pub line: u32,
    pub ty: TypeRef,
    pub constant: bool,
    pub not_null: bool,
    /// a bound cursor: its parameters and query
    pub cursor: Option<Cursor>,
}

/// A cursor with its query: `c CURSOR (a int) FOR SELECT …`
#[derive(Debug, Clone)]
pub struct Cursor {
    pub scroll: Option<bool>,
    /// names and numbers of its parameters
    pub parameters: Vec<(String, usize)>,
    pub query: Sql,
}

/// A parsed body.
#[derive(Debug, Clone)]
pub struct Body {
    pub variables: Vec<Variable>,
    pub names: Vec<Name>,
    pub block: Block,
    /// how many [`Sql::id`] there are
    pub texts: usize,
    /// `#variable_conflict`
    pub conflict: Conflict,
    /// `#print_strict_params on`
    pub print_strict_params: bool,
}

/// What a name means that is both a variable and a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Conflict {
    #[default]
    Error,
    UseVariable,
    UseColumn,
}

#[derive(Debug, Clone)]
pub struct Block {
    pub label: Option<String>,
    pub line: u32,
    /// variables declared here, with their default values
    pub declared: Vec<(usize, Option<Sql>)>,
    pub body: Vec<Statement>,
    pub handlers: Vec<Handler>,
    /// the variables SQLSTATE and SQLERRM of the handlers
    pub error_variables: Option<(usize, usize)>,
}

/// WHEN conditions THEN statements
#[derive(Debug, Clone)]
pub struct Handler {
    pub conditions: Vec<Condition>,
    pub body: Vec<Statement>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// OTHERS
    Others,
    /// a condition name of the manual's appendix A
    Name(String),
    State(String),
}

/// What a value is assigned to.
#[derive(Debug, Clone)]
pub struct Target {
    pub variable: usize,
    /// fields, from the outermost in
    pub fields: Vec<String>,
    /// text of subscripts behind it, as written (`[1][i + 1]`, `[2].f`); empty: none
    pub subscripts: String,
}

#[derive(Debug, Clone)]
pub struct Statement {
    pub line: u32,
    pub kind: StatementKind,
}

/// The SQL text of a query, or an expression whose value is the text.
#[derive(Debug, Clone)]
pub enum Query {
    Static(Sql),
    Dynamic { text: Sql, using: Vec<Sql> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Debug,
    Log,
    Info,
    Notice,
    Warning,
    Exception,
}

#[derive(Debug, Clone)]
pub struct Into {
    pub targets: Vec<Target>,
    pub strict: bool,
}

/// FETCH and MOVE: where to.
#[derive(Debug, Clone)]
pub enum Direction {
    Next,
    Prior,
    First,
    Last,
    Absolute(Sql),
    Relative(Sql),
    /// FORWARD n, BACKWARD n (MOVE only)
    Forward(Option<Sql>),
    Backward(Option<Sql>),
    ForwardAll,
    BackwardAll,
}

#[derive(Debug, Clone)]
pub enum StatementKind {
    Block(Block),
    Assign {
        target: Target,
        /// with subscripts: a query that gives the whole new value of the variable (or field)
        value: Sql,
    },
    If {
        branches: Vec<(Sql, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    Case {
        subject: Option<Sql>,
        /// a hidden variable that holds the subject's value
        variable: usize,
        /// with a subject each condition is an expression that compares with the hidden variable
        whens: Vec<(Sql, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    },
    Loop {
        label: Option<String>,
        body: Vec<Statement>,
    },
    While {
        label: Option<String>,
        condition: Sql,
        body: Vec<Statement>,
    },
    ForInteger {
        label: Option<String>,
        variable: usize,
        reverse: bool,
        lower: Sql,
        upper: Sql,
        step: Option<Sql>,
        body: Vec<Statement>,
    },
    ForQuery {
        label: Option<String>,
        targets: Vec<Target>,
        query: Query,
        body: Vec<Statement>,
    },
    ForCursor {
        label: Option<String>,
        /// the loop's own record variable
        variable: usize,
        cursor: usize,
        arguments: Vec<(Option<String>, Sql)>,
        body: Vec<Statement>,
    },
    Foreach {
        label: Option<String>,
        targets: Vec<Target>,
        slice: usize,
        array: Sql,
        body: Vec<Statement>,
    },
    Exit {
        /// else CONTINUE
        exit: bool,
        label: Option<String>,
        condition: Option<Sql>,
    },
    Return(Option<Sql>),
    ReturnNext(Option<Sql>),
    ReturnQuery(Query),
    Raise {
        level: Level,
        condition: Option<Condition>,
        format: Option<String>,
        arguments: Vec<Sql>,
        /// option (lower case) and value
        options: Vec<(String, Sql)>,
    },
    Assert {
        condition: Sql,
        message: Option<Sql>,
    },
    /// a statement of SQL
    Execute {
        sql: Sql,
        into: Option<Into>,
    },
    DynamicExecute {
        text: Sql,
        using: Vec<Sql>,
        into: Option<Into>,
    },
    /// the query, which SELECT begins instead of PERFORM
    Perform(Sql),
    Call(Sql),
    GetDiagnostics {
        stacked: bool,
        items: Vec<(Target, String)>,
    },
    Open {
        cursor: usize,
        scroll: Option<bool>,
        /// None: the cursor is bound
        query: Option<Query>,
        arguments: Vec<(Option<String>, Sql)>,
    },
    Fetch {
        cursor: usize,
        direction: Direction,
        /// None: MOVE
        into: Option<Vec<Target>>,
    },
    Close(usize),
    Null,
    /// COMMIT or ROLLBACK, AND CHAIN
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
}

impl Body {
    /// The variable that `names` begin with, seen from a place: its number and how many of the names were used.
    pub fn look_up(&self, mut place: usize, names: &[&str]) -> Option<(usize, usize)> {
        let [first, rest @ ..] = names else { return None };
        while place > 0 {
            let link = &self.names[place - 1];
            match link.kind {
                NameKind::Variable(v) if link.name == *first => return Some((v, 1)),
                NameKind::Block if link.name == *first && !rest.is_empty() => {
                    if let Some(v) = self.in_block(place, rest[0]) {
                        return Some((v, 2));
                    }
                }
                _ => {}
            }
            place = link.outer;
        }
        None
    }

    /// A variable that the block whose name stands at `place` declares. (Its variables are further in the chain, so all links
    /// that lead to it are looked at.)
    fn in_block(&self, block: usize, name: &str) -> Option<usize> {
        // links made after the block's own that lead to it before any other block
        let mut found = None;
        for (i, link) in self.names.iter().enumerate() {
            if link.name != name {
                continue;
            }
            if let NameKind::Variable(v) = link.kind {
                let mut at = i + 1;
                loop {
                    let l = &self.names[at - 1];
                    if l.kind == NameKind::Block {
                        if at == block {
                            found = Some(v);
                        }
                        break;
                    }
                    if l.outer == 0 {
                        break;
                    }
                    at = l.outer;
                }
            }
        }
        found
    }
}

/// Visits the statements of a body, nested ones included.
pub fn walk(statements: &[Statement], visit: &mut dyn FnMut(&Statement)) {
    use StatementKind as K;
    for s in statements {
        visit(s);
        match &s.kind {
            K::Block(b) => walk_block(b, visit),
            K::If { branches, otherwise } => {
                branches.iter().for_each(|(_, body)| walk(body, visit));
                walk(otherwise, visit);
            }
            K::Case { whens, otherwise, .. } => {
                whens.iter().for_each(|(_, body)| walk(body, visit));
                if let Some(body) = otherwise {
                    walk(body, visit);
                }
            }
            K::Loop { body, .. }
            | K::While { body, .. }
            | K::ForInteger { body, .. }
            | K::ForQuery { body, .. }
            | K::ForCursor { body, .. }
            | K::Foreach { body, .. } => walk(body, visit),
            _ => {}
        }
    }
}

/// All SQL of a body: statements, queries and expressions.
pub fn texts(body: &Body) -> Vec<&Sql> {
    let cursors = body.variables.iter().filter_map(|v| v.cursor.as_ref());
    let mut out: Vec<&Sql> = cursors.map(|c| &c.query).collect();
    texts_of_block(&body.block, &mut out);
    out
}

fn texts_of_block<'b>(block: &'b Block, out: &mut Vec<&'b Sql>) {
    out.extend(block.declared.iter().filter_map(|(_, default)| default.as_ref()));
    texts_of(&block.body, out);
    block.handlers.iter().for_each(|h| texts_of(&h.body, out));
}

fn texts_of_query<'b>(query: &'b Query, out: &mut Vec<&'b Sql>) {
    match query {
        Query::Static(sql) => out.push(sql),
        Query::Dynamic { text, using } => {
            out.push(text);
            out.extend(using);
        }
    }
}

fn texts_of<'b>(statements: &'b [Statement], out: &mut Vec<&'b Sql>) {
    use StatementKind as K;
    for s in statements {
        match &s.kind {
            K::Block(block) => texts_of_block(block, out),
            K::If { branches, otherwise } => {
                for (condition, body) in branches {
                    out.push(condition);
                    texts_of(body, out);
                }
                texts_of(otherwise, out);
            }
            K::Case { subject, whens, otherwise, .. } => {
                out.extend(subject);
                for (condition, body) in whens {
                    out.push(condition);
                    texts_of(body, out);
                }
                otherwise.iter().for_each(|body| texts_of(body, out));
            }
            K::Loop { body, .. } => texts_of(body, out),
            K::While { condition, body, .. } => {
                out.push(condition);
                texts_of(body, out);
            }
            K::ForInteger { lower, upper, step, body, .. } => {
                out.extend([lower, upper]);
                out.extend(step);
                texts_of(body, out);
            }
            K::ForQuery { query, body, .. } => {
                texts_of_query(query, out);
                texts_of(body, out);
            }
            K::ForCursor { arguments, body, .. } => {
                out.extend(arguments.iter().map(|(_, value)| value));
                texts_of(body, out);
            }
            K::Foreach { array, body, .. } => {
                out.push(array);
                texts_of(body, out);
            }
            K::Exit { condition, .. } => out.extend(condition),
            K::Assign { value: sql, .. } | K::Execute { sql, .. } | K::Perform(sql) | K::Call(sql) => out.push(sql),
            K::Return(value) | K::ReturnNext(value) => out.extend(value),
            K::ReturnQuery(query) => texts_of_query(query, out),
            K::Raise { arguments, options, .. } => {
                out.extend(arguments);
                out.extend(options.iter().map(|(_, value)| value));
            }
            K::Assert { condition, message } => {
                out.push(condition);
                out.extend(message);
            }
            K::DynamicExecute { text, using, .. } => {
                out.push(text);
                out.extend(using);
            }
            K::Open { query, arguments, .. } => {
                query.iter().for_each(|query| texts_of_query(query, out));
                out.extend(arguments.iter().map(|(_, value)| value));
            }
            K::Fetch { direction, .. } => match direction {
                Direction::Absolute(n) | Direction::Relative(n) => out.push(n),
                Direction::Forward(n) | Direction::Backward(n) => out.extend(n),
                Direction::Next
                | Direction::Prior
                | Direction::First
                | Direction::Last
                | Direction::ForwardAll
                | Direction::BackwardAll => {}
            },
            K::GetDiagnostics { .. } | K::Close(_) | K::Null | K::Commit { .. } | K::Rollback { .. } => {}
        }
    }
}

/// Visits the statements of a block and of its handlers.
pub fn walk_block(block: &Block, visit: &mut dyn FnMut(&Statement)) {
    walk(&block.body, visit);
    block.handlers.iter().for_each(|h| walk(&h.body, visit));
}
