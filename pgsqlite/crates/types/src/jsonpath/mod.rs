//! The type `jsonpath`: SQL/JSON path expressions. Manual: "The SQL/JSON Path Language".
//!
//! `lex` cuts the text into tokens, `parse` makes the tree ([`Path`]), `print` writes its canonical text, which is the storage
//! form; `eval` runs a path over a [`crate::json::Json`].

mod convert;
pub mod eval;
mod lex;
mod parse;
mod print;

pub use convert::Conversion;
pub use parse::parse;

use crate::buffer::Reader;
use crate::numeric::Numeric;
use crate::work;
use crate::{text, Datum, DatumRef, PgError, Result, SqlState};

/// Checks a pattern of `like_regex` with its flags. Errors: 2201B.
pub type PatternCheck = fn(pattern: &str, flags: &str) -> Result<()>;

/// How the patterns of paths are checked when they are read: the regular expressions are not this crate's, so that the one that
/// has them says it here. Without it patterns are checked only where they are used.
pub static PATTERN_CHECK: std::sync::OnceLock<PatternCheck> = std::sync::OnceLock::new();

/// A path expression.
#[derive(Debug, Clone)]
pub struct Path {
    /// `lax`: arrays are unwrapped and wrapped as needed, missing parts are no errors.
    pub lax: bool,
    pub root: Item,
}

/// A step of a path, and the steps that follow it.
#[derive(Debug, Clone)]
pub struct Item {
    pub kind: Kind,
    pub next: Option<Box<Item>>,
}

impl Path {
    /// Whether it makes dates or times of items, or compares with them.
    pub fn uses_times(&self) -> bool {
        self.root.uses_times()
    }
}

/// The path to a member of the document, in canonical form.
pub fn of_key(key: &str) -> String {
    let mut root = Item::new(Kind::Root);
    root.append(Item::new(Kind::Key(key.to_string())));
    Path { lax: true, root }.to_text()
}

impl Item {
    fn uses_times(&self) -> bool {
        let own = match &self.kind {
            Kind::DateTime(_) => true,
            Kind::Convert(to, _) => to.is_time(),
            Kind::Filter(a) | Kind::Not(a) | Kind::IsUnknown(a) | Kind::Exists(a) | Kind::Plus(a) | Kind::Minus(a) => {
                a.uses_times()
            }
            Kind::LikeRegex(a, ..) => a.uses_times(),
            Kind::And(a, b)
            | Kind::Or(a, b)
            | Kind::Compare(_, a, b)
            | Kind::StartsWith(a, b)
            | Kind::Arithmetic(_, a, b) => a.uses_times() || b.uses_times(),
            Kind::Elements(list) => {
                list.iter().any(|(a, b)| a.uses_times() || b.as_ref().is_some_and(Item::uses_times))
            }
            _ => false,
        };
        own || self.next.as_ref().is_some_and(|next| next.uses_times())
    }
    fn new(kind: Kind) -> Item {
        Item { kind, next: None }
    }
    /// Appends a step to the end.
    fn append(&mut self, step: Item) {
        let mut last = self;
        while last.next.is_some() {
            work::pulse(1);
            last = last.next.as_mut().expect("checked");
        }
        last.next = Some(Box::new(step));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arithmetic {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Type,
    Size,
    Abs,
    Floor,
    Ceiling,
    Double,
    KeyValue,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Type => "type",
            Method::Size => "size",
            Method::Abs => "abs",
            Method::Floor => "floor",
            Method::Ceiling => "ceiling",
            Method::Double => "double",
            Method::KeyValue => "keyvalue",
        }
    }
}

#[derive(Debug, Clone)]
pub enum Kind {
    Null,
    Bool(bool),
    Number(Numeric),
    String(String),
    Variable(String),
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    /// `.key`
    Key(String),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// `[1, 2 to 3]`
    Elements(Vec<(Item, Option<Item>)>),
    /// `.**{first to last}`; [`LAST_LEVEL`] is `last`
    AnyLevel {
        first: u32,
        last: u32,
    },
    Method(Method),
    /// `.number()` and its like, with the numbers in its parentheses
    Convert(Conversion, Vec<Numeric>),
    /// `.datetime(template)`
    DateTime(Option<String>),
    /// `?(predicate)`
    Filter(Box<Item>),
    And(Box<Item>, Box<Item>),
    Or(Box<Item>, Box<Item>),
    Not(Box<Item>),
    IsUnknown(Box<Item>),
    Compare(Comparison, Box<Item>, Box<Item>),
    StartsWith(Box<Item>, Box<Item>),
    /// value, pattern, flags (`i`, `s`, `m`, `q`)
    LikeRegex(Box<Item>, String, String),
    Exists(Box<Item>),
    Arithmetic(Arithmetic, Box<Item>, Box<Item>),
    Plus(Box<Item>),
    Minus(Box<Item>),
}

/// The level `last` of `.**{…}`.
pub const LAST_LEVEL: u32 = u32::MAX;

pub(crate) fn text_in(input: &str) -> Result<Datum> {
    Ok(Datum::Text(parse(input)?.to_text()))
}

/// The binary form is a version byte and the text.
pub(crate) fn binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    match r.u8()? {
        1 => text_in(text::decode_utf8(r.0)?),
        version => Err(PgError::new(
            SqlState::INVALID_BINARY_REPRESENTATION,
            format!("unsupported jsonpath version number: {version}"),
        )),
    }
}

pub(crate) fn binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.push(1);
    text::text_out(value, out)
}
