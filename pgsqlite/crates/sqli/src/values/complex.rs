//! SET, MULTISET, LIST and ROW: what they are made of, what stores them, and their literals.
//!
//! A collection is stored as an array, a ROW as a composite type, so that PostgreSQL's clients see them as such. As with other
//! types, what the storage does not say is in a name of the schema `informix`: a collection's domain (`set(integer not null)`), a
//! row's composite type (`row(a integer, b varchar(10))`; a row type that has a name is one of the schema `public`). A domain's CHECK keeps elements from being NULL and, for a SET, from
//! being there twice, whoever writes them. Their bytes are in [`super::complex_bytes`].

use super::bind;
use super::types::{Type, SCHEMA};
use crate::errors::Failure;
use pgsqlite_sql::catalog::{Catalog, TypeEntry, UserTypeKind};
use pgsqlite_types::Oid;
use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex};

/// Which collection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Set,
    MultiSet,
    List,
}

impl Kind {
    /// SET as a word of a statement.
    pub fn of_word(word: &str) -> Option<Kind> {
        [Kind::Set, Kind::MultiSet, Kind::List].into_iter().find(|k| word.eq_ignore_ascii_case(k.word()))
    }

    pub fn word(self) -> &'static str {
        match self {
            Kind::Set => "SET",
            Kind::MultiSet => "MULTISET",
            Kind::List => "LIST",
        }
    }
}

/// A field of a row type.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    pub ty: Type,
    /// NOT NULL
    pub required: bool,
}

impl Field {
    /// As Informix writes it, in lower case.
    fn written(&self) -> String {
        format!("{} {}{}", self.name, self.ty.name(), if self.required { REQUIRED } else { "" })
    }
}

/// What the name of the domain of a field that is NOT NULL ends with.
const REQUIRED: &str = " not null";
/// Between the names of a row type and of that which it is UNDER, in the name of the domain that says so.
const UNDER: &str = " under ";

/// A type that is made of others.
#[derive(Debug, Clone, PartialEq)]
pub enum Complex {
    Collection(Kind, Type),
    Row(Vec<Field>),
    /// a row type with a name of its own (CREATE ROW TYPE): a composite type of the schema `public`
    Named(String, Vec<Field>),
}

/// One of the types that a type is made of, as Informix numbers them.
pub struct Node {
    /// how deep it lies
    pub level: usize,
    /// the number (from 1) of the type that it is in, 0: none
    pub parent: usize,
    /// of a field
    pub name: String,
    /// the field's number in its row, 0: it is none
    pub field: usize,
    pub ty: Type,
}

/// The longest name of a PostgreSQL type in bytes.
const LONGEST_NAME: usize = 63;
/// Types are kept for the life of the process, so their names have not more bytes together than this.
const MOST: usize = 8 << 20;

/// The types that were met, by name, and the bytes of their names.
#[derive(Default)]
struct Kept {
    types: HashMap<String, Vec<&'static Complex>>,
    bytes: usize,
}

/// The one copy of a type (which lets [`Type`] be a small value). Errors: there are too many.
pub fn kept(complex: Complex) -> Result<&'static Complex, Failure> {
    static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);
    let mut all = KEPT.lock().map_err(|_| Failure::internal("the types of collections are lost"))?;
    let name = complex.written();
    // different types may be written alike, if the name of a field is odd enough
    if let Some(found) = all.types.get(&name).and_then(|alike| alike.iter().find(|c| ***c == complex)) {
        return Ok(found);
    }
    if all.bytes + name.len() > MOST {
        return Err(Failure::text("too many types of collections and rows"));
    }
    all.bytes += name.len();
    let new: &'static Complex = Box::leak(Box::new(complex));
    all.types.entry(name).or_default().push(new);
    Ok(new)
}

impl Complex {
    /// As Informix writes it, in lower case.
    pub fn name(&self) -> String {
        match self {
            Complex::Collection(kind, element) => {
                format!("{}({} not null)", kind.word().to_lowercase(), element.name())
            }
            Complex::Row(_) => self.written(),
            Complex::Named(name, _) => name.clone(),
        }
    }

    /// What it is made of, as Informix writes it: also of a row type that has a name.
    pub fn written(&self) -> String {
        match self.fields() {
            Some(fields) => {
                let fields: Vec<String> = fields.iter().map(Field::written).collect();
                let name = if let Complex::Named(name, _) = self { name.as_str() } else { "row" };
                format!("{name}({})", fields.join(", "))
            }
            None => self.name(),
        }
    }

    /// Of a row: its fields.
    pub fn fields(&self) -> Option<&[Field]> {
        match self {
            Complex::Collection(..) => None,
            Complex::Row(fields) | Complex::Named(_, fields) => Some(fields),
        }
    }

    /// Whether it has a SET or MULTISET in itself, so that equal values are not stored alike.
    pub fn has_unordered_parts(&self) -> bool {
        self.parts().iter().filter_map(|ty| ty.complex()).any(|part| {
            matches!(part, Complex::Collection(Kind::Set | Kind::MultiSet, _)) || part.has_unordered_parts()
        })
    }

    /// The name of its domain or composite type. A long one is cut, and told from others by a number.
    pub fn stored_name(&self) -> String {
        let name = self.name();
        match self {
            Complex::Named(..) => name,
            _ => name_of_type(name, ""),
        }
    }

    /// Whether equal values are not stored alike.
    pub fn is_unordered(&self) -> bool {
        matches!(self, Complex::Collection(Kind::Set | Kind::MultiSet, _)) || self.has_unordered_parts()
    }

    /// The name of the domain that says that this row type is UNDER another one. It keeps that one from being dropped, too.
    pub fn under(name: &str, parent: &str) -> String {
        name_of_type(format!("{name}{UNDER}{parent}"), "")
    }

    /// The row type that it is UNDER, and the name of the domain that says so.
    pub fn parent(&self, catalog: &Catalog) -> Option<(&'static Complex, String)> {
        let Complex::Named(name, _) = self else { return None };
        let schema = catalog.schema_oid(SCHEMA)?;
        catalog.types.values().find_map(|stored| {
            let UserTypeKind::Domain { base, .. } = &stored.kind else { return None };
            let TypeEntry::ArrayOf(row) = catalog.type_entry(*base)? else { return None };
            let parent = Complex::of_stored(catalog, row)?;
            let says_so = stored.schema == schema && stored.name == Complex::under(name, &parent.name());
            says_so.then(|| (parent, stored.name.clone()))
        })
    }

    /// The PostgreSQL type that stores it, without the domain. A row has none but its own.
    pub fn storage(&self) -> String {
        match self {
            Complex::Collection(_, Type::Complex(element)) => format!("{}[]", element.stored()),
            Complex::Collection(_, element) => format!("{}[]", element.storage()),
            Complex::Row(_) | Complex::Named(..) => self.stored(),
        }
    }

    /// The domain or composite type, as a statement names it.
    pub fn stored(&self) -> String {
        format!("{}.{}", self.schema(), pgsqlite_sql::names::quoted(&self.stored_name()))
    }

    /// The schema that has it.
    fn schema(&self) -> &'static str {
        match self {
            Complex::Named(..) => "public",
            _ => SCHEMA,
        }
    }

    /// Its number in the catalog.
    pub fn oid(&self, catalog: &Catalog) -> Option<Oid> {
        catalog.type_in(catalog.schema_oid(self.schema())?, &self.stored_name())
    }

    /// Whether the types that its values need are there.
    pub fn is_stored(&self, catalog: &Catalog) -> bool {
        match self {
            Complex::Row(_) | Complex::Named(..) => self.oid(catalog).is_some(),
            Complex::Collection(_, Type::Complex(element)) => element.oid(catalog).is_some(),
            Complex::Collection(..) => true,
        }
    }

    /// The row type of that name.
    pub fn named(catalog: &Catalog, name: &str) -> Option<&'static Complex> {
        Complex::of_stored(catalog, catalog.type_in(catalog.schema_oid("public")?, name)?)
    }

    /// The types of the schema `informix` that are made of it, each before those that it is made of.
    pub fn users(&'static self, catalog: &Catalog) -> Vec<&'static Complex> {
        let uses = |complex: &&'static Complex| {
            let named = matches!(complex, Complex::Named(..));
            !named && complex.nodes().iter().skip(1).any(|node| node.ty == Type::Complex(self))
        };
        let mut found: Vec<_> =
            catalog.types.keys().filter_map(|oid| Complex::of_stored(catalog, *oid)).filter(uses).collect();
        found.sort_by_key(|complex| std::cmp::Reverse(complex.nodes().len()));
        found
    }

    /// The type that a domain or a composite type of the schema `informix` stands for; None: it is another one.
    pub fn of_stored(catalog: &Catalog, type_oid: Oid) -> Option<&'static Complex> {
        let stored = catalog.types.get(&type_oid)?;
        let schema = catalog.schema_name(stored.schema);
        let of_fields = |fields: &[(String, Oid, i32)]| -> Option<Vec<Field>> {
            let field = |(name, ty, typmod): &(String, Oid, i32)| {
                let required = of_required(catalog, *ty).is_some();
                Some(Field { name: name.clone(), ty: Type::of_stored(catalog, *ty, *typmod)?, required })
            };
            fields.iter().map(field).collect()
        };
        let complex = match &stored.kind {
            UserTypeKind::Composite { fields } if schema == "public" => {
                Complex::Named(stored.name.clone(), of_fields(fields)?)
            }
            _ if schema != SCHEMA => return None,
            UserTypeKind::Domain { .. } => {
                let (word, rest) = stored.name.split_once('(')?;
                let kind = Kind::of_word(word)?;
                let array = catalog.base_type(type_oid);
                let element = match catalog.type_entry(array)? {
                    TypeEntry::ArrayOf(row) => Type::Complex(Complex::of_stored(catalog, row)?),
                    _ => Type::of_name(rest.strip_suffix(" not null)")?)?,
                };
                Complex::Collection(kind, element)
            }
            UserTypeKind::Composite { fields } if stored.name.starts_with("row(") => Complex::Row(of_fields(fields)?),
            _ => return None,
        };
        // the name says the type, or it is not one of these
        let same = complex.stored_name() == stored.name;
        same.then(|| kept(complex).ok()).flatten()
    }

    /// The types that it is made of, itself first, each before those in it.
    pub fn nodes(&'static self) -> Vec<Node> {
        let mut out = vec![Node { level: 0, parent: 0, name: String::new(), field: 0, ty: Type::Complex(self) }];
        // those in a node come right behind it and what is in them
        fn add(out: &mut Vec<Node>, parent: usize) {
            let Type::Complex(complex) = out[parent].ty else { return };
            let level = out[parent].level + 1;
            let parts: Vec<(String, usize, Type)> = match complex {
                Complex::Collection(_, element) => vec![(String::new(), 0, *element)],
                Complex::Row(fields) | Complex::Named(_, fields) => {
                    fields.iter().enumerate().map(|(i, field)| (field.name.clone(), i + 1, field.ty)).collect()
                }
            };
            for (name, field, ty) in parts {
                out.push(Node { level, parent: parent + 1, name, field, ty });
                let number = out.len() - 1;
                add(out, number);
            }
        }
        add(&mut out, 0);
        out
    }

    /// The elements' or fields' types.
    pub fn parts(&self) -> Vec<Type> {
        match self {
            Complex::Collection(_, element) => vec![*element],
            Complex::Row(fields) | Complex::Named(_, fields) => fields.iter().map(|field| field.ty).collect(),
        }
    }
}

/// The name of a domain or type of the schema `informix`. A long one is cut, and told from others by a number.
fn name_of_type(name: String, end: &str) -> String {
    if name.len() + end.len() <= LONGEST_NAME {
        return name + end;
    }
    // FNV-1a
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3));
    let most = if end.is_empty() { 40 } else { 36 };
    let cut = (0..=most).rev().find(|n| name.is_char_boundary(*n)).unwrap_or(0);
    format!("{} #{hash:016x}{end}", &name[..cut])
}

/// The name of the domain that stores fields of a type which are NOT NULL.
pub fn required_name(ty: Type) -> String {
    name_of_type(ty.name(), REQUIRED)
}

/// The type and its modifier of fields that are NOT NULL, by the domain that stores them; None: it is no such domain.
pub fn of_required(catalog: &Catalog, type_oid: Oid) -> Option<(Oid, i32)> {
    let stored = catalog.types.get(&type_oid)?;
    match stored.kind {
        UserTypeKind::Domain { base, typmod, not_null: true, .. } if stored.name.ends_with(REQUIRED) => {
            (catalog.schema_name(stored.schema) == SCHEMA).then_some((base, typmod))
        }
        _ => None,
    }
}

/// More elements of one collection are refused: they take much more memory than bytes on their way.
pub const MOST_ELEMENTS: usize = 1 << 20;

/// A value on its way to PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Item {
    Null,
    /// a simple value, as PostgreSQL's input reads it
    Text(String),
    /// elements or fields
    Items(Vec<Item>),
}

impl Item {
    /// PostgreSQL's text of it; None: NULL.
    pub fn text(&self, ty: Type) -> Option<String> {
        let (items, complex) = match (self, ty) {
            (Item::Null, _) => return None,
            (Item::Text(text), _) => return Some(text.clone()),
            (Item::Items(items), Type::Complex(complex)) => (items, complex),
            (Item::Items(_), _) => return None,
        };
        let quoted = |item: &Item, ty: Type, null: &str| match item.text(ty) {
            Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            None => null.to_string(),
        };
        Some(match complex {
            Complex::Collection(_, element) => {
                let items: Vec<String> = items.iter().map(|i| quoted(i, *element, "NULL")).collect();
                format!("{{{}}}", items.join(","))
            }
            Complex::Row(fields) | Complex::Named(_, fields) => {
                let items: Vec<String> = items.iter().zip(fields).map(|(i, field)| quoted(i, field.ty, "")).collect();
                format!("({})", items.join(","))
            }
        })
    }

    /// Without elements that a SET has already. Errors: elements that are NULL, rows of another length.
    pub fn checked(mut self, complex: &Complex) -> Result<Item, Failure> {
        let Item::Items(items) = &mut self else { return Ok(self) };
        match complex {
            Complex::Collection(..) if items.contains(&Item::Null) => {
                Err(Failure::text(format!("an element of a {} is NULL", complex.name())))
            }
            Complex::Row(fields) | Complex::Named(_, fields) if fields.len() != items.len() => {
                Err(Failure::text(format!("a row of {} fields is no {}", items.len(), complex.name())))
            }
            Complex::Collection(Kind::Set, _) => {
                // elements that are alike in another spelling are found where the set is stored
                let mut seen = HashSet::new();
                items.retain(|item| seen.insert(item.clone()));
                Ok(self)
            }
            _ => Ok(self),
        }
    }
}

/// Reads `SET{1,2}` or `ROW(1,'x')` as a value of a type: which collection the literal names does not matter.
/// Errors: -746 for what is no such literal, and those of the values in it.
pub fn literal(text: &str, complex: &'static Complex) -> Result<Item, Failure> {
    let mut reader = Literal { rest: text };
    let item = reader.value(Type::Complex(complex))?;
    match reader.rest.trim().is_empty() && matches!(item, Item::Items(_)) {
        true => Ok(item),
        false => Err(bad(complex)),
    }
}

fn bad(complex: &Complex) -> Failure {
    Failure::text(format!("this is no literal of the type {}", complex.name()))
}

struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn accept(&mut self, sign: char) -> bool {
        let rest = self.rest.trim_start();
        let found = rest.strip_prefix(sign);
        self.rest = found.unwrap_or(rest);
        found.is_some()
    }

    /// A keyword, if it comes next.
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn value(&mut self, ty: Type) -> Result<Item, Failure> {
        let Type::Complex(complex) = ty else { return self.simple(ty) };
        // (this recursion ends: a literal nests as deep as its type)
        let quote = self.rest.trim_start().chars().next().filter(|c| matches!(c, '\'' | '"'));
        if let Some(quote) = quote {
            // a literal within a literal may be quoted
            let inner = self.quoted(quote).ok_or_else(|| bad(complex))?;
            return literal(&inner, complex);
        }
        let word = self.word();
        if word.eq_ignore_ascii_case("null") {
            return Ok(Item::Null);
        }
        let (open, close) = match complex {
            Complex::Collection(..) if Kind::of_word(word).is_some() => ('{', '}'),
            Complex::Row(_) | Complex::Named(..) if word.eq_ignore_ascii_case("row") => ('(', ')'),
            _ => return Err(bad(complex)),
        };
        if !self.accept(open) {
            return Err(bad(complex));
        }
        let parts = complex.parts();
        let mut items = Vec::new();
        if !self.accept(close) {
            loop {
                let part = if parts.len() == 1 { parts.first() } else { parts.get(items.len()) };
                items.push(self.value(*part.ok_or_else(|| bad(complex))?)?);
                if items.len() > MOST_ELEMENTS {
                    return Err(Failure::text("a collection of too many elements"));
                }
                if self.accept(close) {
                    break;
                }
                if !self.accept(',') {
                    return Err(bad(complex));
                }
            }
        }
        Item::Items(items).checked(complex)
    }

    fn simple(&mut self, ty: Type) -> Result<Item, Failure> {
        self.rest = self.rest.trim_start();
        let text = match self.rest.chars().next() {
            Some(quote @ ('\'' | '"')) => {
                self.quoted(quote).ok_or_else(|| Failure::text("a quote in a literal does not end"))?
            }
            _ => {
                let end = self.rest.find([',', '}', ')', '{', '(', '\'', '"']).unwrap_or(self.rest.len());
                let (bare, rest) = self.rest.split_at(end);
                self.rest = rest;
                let bare = bare.trim();
                if bare.eq_ignore_ascii_case("null") {
                    return Ok(Item::Null);
                }
                if bare.is_empty() || rest.starts_with(['{', '(', '\'', '"']) {
                    return Err(Failure::text(format!("this is no literal of the type {}", ty.name())));
                }
                bare.to_string()
            }
        };
        Ok(Item::Text(match ty.is_integer() {
            true => bind::without_fraction(&text),
            false => bind::of_text(text, Some(ty))?,
        }))
    }

    /// A text in quotes, of which doubled ones stand for one.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut out = String::new();
        let mut characters = self.rest.trim_start()[1..].char_indices().peekable();
        let start = self.rest.trim_start();
        while let Some((i, c)) = characters.next() {
            if c != quote {
                out.push(c);
            } else if characters.next_if(|(_, next)| *next == quote).is_some() {
                out.push(quote);
            } else {
                self.rest = &start[1 + i + 1..];
                return Some(out);
            }
        }
        None
    }
}

/// A field for tests, which may be NULL.
#[cfg(test)]
pub fn field(name: &str, ty: Type) -> Field {
    Field { name: name.into(), ty, required: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(kind: Kind, element: Type) -> &'static Complex {
        kept(Complex::Collection(kind, element)).unwrap()
    }

    fn read(text: &str, complex: &'static Complex) -> String {
        match literal(text, complex) {
            Ok(item) => item.text(Type::Complex(complex)).unwrap(),
            Err(e) => format!("{} {}", e.sqlcode, e.name),
        }
    }

    #[test]
    fn literals_are_read() {
        let row = kept(Complex::Row(vec![field("a", Type::Integer), field("b", Type::VarChar(10))])).unwrap();
        assert_eq!(read("SET{1, 2 ,-3}", list(Kind::Set, Type::Integer)), r#"{"1","2","-3"}"#);
        assert_eq!(read("list{ }", list(Kind::Set, Type::Integer)), "{}");
        assert_eq!(
            read(r#"LIST{'it''s',"a\b",'"q"',''}"#, list(Kind::List, Type::VarChar(9))),
            r#"{"it's","a\\b","\"q\"",""}"#
        );
        assert_eq!(read("row(1, NULL)", row), r#"("1",)"#);
        assert_eq!(read("MULTISET{ROW(1,'x y'),ROW(NULL,'(')}", list(Kind::MultiSet, Type::Complex(row))), {
            r#"{"(\"1\",\"x y\")","(,\"(\")"}"#
        });
        let minute = Type::DateTime(super::super::qualifier::Qualifier::datetime(6, 8));
        assert_eq!(read("SET{'23:59'}", list(Kind::Set, minute)), r#"{"23:59:00"}"#);
        for wrong in ["", "1", "SET", "SET{1", "SET{1,}", "SET{1}}", "ROW(1)", "SET{,1}", "SET{1 {2}}", "NULL", "{1}"] {
            assert!(literal(wrong, list(Kind::Set, Type::Integer)).is_err(), "{wrong}");
        }
        assert_eq!(literal("SET{1,NULL}", list(Kind::Set, Type::Integer)).unwrap_err().sqlcode, -746);
        assert!(literal("ROW(1)", row).is_err() && literal("ROW(1,'x',2)", row).is_err());
    }

    #[test]
    fn names() {
        let row = Complex::Row(vec![field("a", Type::Decimal(10, Some(2))), field("b", Type::LVarChar(2048))]);
        let row = kept(row).unwrap();
        assert_eq!(row.name(), "row(a decimal(10,2), b lvarchar(2048))");
        let set = list(Kind::MultiSet, Type::Complex(row));
        assert_eq!(set.name(), "multiset(row(a decimal(10,2), b lvarchar(2048)) not null)");
        assert!(std::ptr::eq(set, list(Kind::MultiSet, Type::Complex(row))));
        let long = kept(Complex::Row((0..20).map(|i| field(&format!("field{i}"), Type::Integer)).collect())).unwrap();
        assert!(long.stored_name().len() <= LONGEST_NAME && long.stored_name().starts_with("row(field0 integer,"));
        let name = required_name(Type::Complex(long));
        assert!(name.len() <= LONGEST_NAME && name.ends_with(" not null"), "{name}");
        let strict = Complex::Row(vec![Field { required: true, ..field("a", Type::Integer) }]);
        assert_eq!(strict.name(), "row(a integer not null)");
    }
}
