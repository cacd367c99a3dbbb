//! Collections and rows as bytes: what IBM's driver binds and, if it has asked for it (RET_TYPE), reads; and the literal that other
//! clients read.
//!
//! The bytes are a description and the values. The description is the tree of types, one node for each, depth first (`Node`); the
//! values of a collection or row follow each other in tuple form. Behind those of a row, and those of a collection whose elements have
//! no fixed width, stands a table of their places, the last one first. A collection or row in another one has a head ([`inner_head`]).

use super::bind::{text, tuple_value};
use super::codeset::CodeSet;
use super::complex::{Complex, Item, Kind, MOST_ELEMENTS};
use super::dates::DateForm;
use super::encode;
use super::money::MoneyForm;
use super::types::{Type, SCHEMA};
use crate::errors::Failure;
use crate::wire::input::{Cursor, Stop};
use crate::wire::messages::Value;
use crate::wire::type_code;
use pgsqlite_types::Oid;

/// Bytes in front of the nodes that nothing is known of.
const HEAD: usize = 132;
/// Bytes of a node.
const NODE: usize = 414;
/// Most bytes of a name in a node, which is padded with blanks.
const NAME: usize = 128;
/// More types than this are not read.
const MOST_NODES: usize = 4096;
/// What says that a value is there, and that it is NULL. IBM's driver says yet something else of one that has no elements.
const THERE: i32 = 1;
const NULL: i32 = -1;

/// Where in the values around it the head of a collection or row ends that begins at `start`: a short length of what follows, a byte that
/// is 1 for NULL (then nothing follows), zeros up to a multiple of eight, an int 1, an int 0.
fn inner_head(start: usize) -> usize {
    (start + 3).next_multiple_of(8) + 8
}

fn kind_code(complex: &Complex) -> i16 {
    match complex {
        Complex::Collection(Kind::Set, _) => type_code::SET,
        Complex::Collection(Kind::MultiSet, _) => type_code::MULTISET,
        Complex::Collection(Kind::List, _) => type_code::LIST,
        Complex::Row(_) | Complex::Named(..) => type_code::ROW,
    }
}

impl Complex {
    pub fn code(&self) -> i16 {
        kind_code(self)
    }
}

// --- from the client ---------------------------------------------------------------------------------------------------------

/// A type as a client describes it.
struct Node {
    parent: usize,
    type_code: i16,
    length: i32,
    children: Vec<usize>,
}

impl Node {
    fn is_complex(&self) -> bool {
        matches!(self.type_code, type_code::SET | type_code::MULTISET | type_code::LIST | type_code::ROW)
    }

    /// Whether its values begin with a byte that is 1 for NULL, and their length.
    fn is_enveloped(&self) -> bool {
        use type_code as t;
        matches!(self.type_code, t::LVARCHAR | t::BOOLEAN | t::UDT_VAR | t::UDT_FIXED | t::OPAQUE)
    }

    /// Whether all its values have as many bytes.
    fn is_fixed(&self) -> bool {
        let is_varchar = matches!(self.type_code, type_code::VARCHAR | type_code::NVARCHAR);
        !self.is_complex() && !self.is_enveloped() && !is_varchar
    }
}

fn wrong(what: impl std::fmt::Display) -> Failure {
    Failure::text(format!("a collection or row that cannot be read: {what}"))
}

fn stopped(stop: Stop) -> Failure {
    match stop {
        Stop::Incomplete => wrong("it ends too early"),
        Stop::Malformed(what) => wrong(what),
    }
}

/// A collection or row that a client has bound, as a value of `target`. Errors: -746 for what is none, and those of the values in it.
pub fn bound(bytes: &[u8], target: &'static Complex, codeset: CodeSet) -> Result<Item, Failure> {
    let mut c = Cursor::new(bytes);
    let (nodes, length, state) = head(&mut c).map_err(stopped)?;
    let Some(root) = nodes.first() else { return Err(wrong("it has no type")) };
    if state == NULL {
        return Ok(Item::Null);
    }
    let values = c.take(length).map_err(stopped)?;
    let mut reader = Reader { nodes: &nodes, codeset };
    reader.items(root, values, target)
}

fn head(c: &mut Cursor) -> Result<(Vec<Node>, usize, i32), Stop> {
    c.take(HEAD)?;
    let count = c.length("the number of types")?;
    if !(1..=MOST_NODES).contains(&count) {
        return Err(Stop::Malformed(format!("it has {count} types")));
    }
    let mut nodes: Vec<Node> = Vec::new();
    for i in 0..count {
        let end = c.position() + NODE;
        c.short()?;
        let (_level, parent) = (c.short()?, c.count("the number of a type")?);
        let _length_of_name = c.short()?;
        c.take(NAME)?;
        let (_field, type_code, length) = (c.short()?, c.short()?, c.short()?);
        c.take(end - c.position())?;
        if i > 0 {
            let above = parent.checked_sub(1).and_then(|p| nodes.get_mut(p));
            let above = above.ok_or_else(|| Stop::Malformed("a type is not in one that came before".into()))?;
            above.children.push(i);
        }
        nodes.push(Node { parent, type_code: type_code & 0xff, length: length.into(), children: vec![] });
    }
    if nodes[0].parent != 0 {
        return Err(Stop::Malformed("the first type is in another one".into()));
    }
    c.int()?;
    let (length, state) = (c.int()?, c.int()?);
    Ok((nodes, usize::try_from(length).unwrap_or(0), state))
}

struct Reader<'a> {
    nodes: &'a [Node],
    codeset: CodeSet,
}

impl Reader<'_> {
    /// The elements or fields of a collection or row.
    fn items(&mut self, node: &Node, values: &[u8], target: &'static Complex) -> Result<Item, Failure> {
        let is_row = node.type_code == type_code::ROW;
        if !node.is_complex() || is_row != target.fields().is_some() {
            return Err(Failure::new(-9634, 0, target.name()));
        }
        let types: Vec<&Node> = node.children.iter().map(|i| &self.nodes[*i]).collect();
        let parts = target.parts();
        let wanted = |i: usize| if is_row { parts.get(i) } else { parts.first() };
        let node_of = |i: usize| if is_row { types.get(i) } else { types.first() };
        if !is_row && types.len() != 1 {
            return Err(wrong("a collection has one type of elements"));
        }
        let mut items = Vec::new();
        if !is_row && types.iter().all(|n| n.is_fixed()) {
            let mut c = Cursor::new(values);
            while c.position() < values.len() {
                let (Some(part), Some(node)) = (wanted(items.len()), node_of(items.len())) else {
                    return Err(Failure::new(-9634, 0, target.name()));
                };
                let start = c.position();
                items.push(self.simple(&mut c, node, *part)?);
                // or there would be no end of them
                if c.position() == start || items.len() > MOST_ELEMENTS {
                    return Err(wrong("elements of no bytes, or too many"));
                }
            }
        } else if !values.is_empty() {
            let places = places(values)?;
            let end = values.len() - 4 * (places.len() + 1);
            for (i, start) in places.iter().enumerate() {
                let behind = places.get(i + 1).copied().unwrap_or(end);
                let out_of_place = || wrong("a value out of its place");
                let value = values[..end].get(*start..behind).ok_or_else(out_of_place)?;
                let (Some(part), Some(node)) = (wanted(i), node_of(i)) else {
                    return Err(Failure::new(-9634, 0, target.name()));
                };
                items.push(match (node.is_complex(), *part) {
                    // of NULL in an envelope the driver writes more or less
                    (false, _) if node.is_enveloped() && value.first() == Some(&1) => Item::Null,
                    (false, part) => self.field(value, node, part)?,
                    (true, Type::Complex(inner)) => self.inner(node, &values[..behind], *start, inner)?,
                    (true, other) => return Err(Failure::new(-9634, 0, other.name())),
                });
            }
        }
        Item::Items(items).checked(target)
    }

    /// A collection or row in another one, at `start`.
    fn inner(&mut self, node: &Node, outer: &[u8], start: usize, target: &'static Complex) -> Result<Item, Failure> {
        let mut c = Cursor::new(&outer[start..]);
        let length = c.count("the length of an inner value").map_err(stopped)?;
        if c.byte().map_err(stopped)? == 1 {
            return Ok(Item::Null);
        }
        match outer.get(inner_head(start)..start + 2 + length) {
            Some(values) => self.items(node, values, target),
            None => Err(wrong("an inner value without its head")),
        }
    }

    /// A simple value that has its place to itself.
    fn field(&mut self, value: &[u8], node: &Node, target: Type) -> Result<Item, Failure> {
        use type_code as t;
        // the driver writes a BIGINT of a row as INT8, and says BIGINT
        let is_int8 = node.type_code == t::BIGINT && value.len() == 10;
        let int8 = Node { parent: 0, type_code: t::INT8, length: 10, children: vec![] };
        let mut c = Cursor::new(value);
        let item = self.simple(&mut c, if is_int8 { &int8 } else { node }, target)?;
        match c.position() == value.len() || matches!(node.type_code, t::VARCHAR | t::NVARCHAR) {
            true => Ok(item),
            false => Err(wrong("a value that is longer than its type")),
        }
    }

    fn simple(&mut self, c: &mut Cursor, node: &Node, target: Type) -> Result<Item, Failure> {
        if let Type::Complex(complex) = target {
            return Err(Failure::new(-9634, 0, complex.name()));
        }
        let value = match tuple_value(c, node.type_code, node.length)? {
            // what the driver writes for NULL of an INT8 and a SMALLFLOAT, which have no such values
            Value::Integer(i64::MIN) => Value::Null,
            Value::SmallFloat(n) if n.is_nan() => Value::Null,
            value => value,
        };
        Ok(match text(&value, Some(target), self.codeset, &DateForm::iso(), &MoneyForm::usual())? {
            Some(text) => Item::Text(String::from_utf8(text).map_err(|_| Failure::internal("text that is not UTF-8"))?),
            None => Item::Null,
        })
    }
}

/// The places of values, from the table that is read from its end to the -1 in front of it.
fn places(values: &[u8]) -> Result<Vec<usize>, Failure> {
    let mut out = Vec::new();
    for number in values.rchunks_exact(4) {
        match <[u8; 4]>::try_from(number).map(i32::from_be_bytes) {
            Ok(-1) => return Ok(out),
            Ok(_) if out.len() > MOST_ELEMENTS => break,
            Ok(n) if n >= 0 && out.last().is_none_or(|last| *last <= n as usize) => out.push(n as usize),
            _ => break,
        }
    }
    Err(wrong("the places of its values are missing"))
}

// --- to the client -----------------------------------------------------------------------------------------------------------

/// An array or composite value in PostgreSQL's binary form, taken apart: the type of each part and its bytes (None: NULL).
fn parts(complex: &Complex, bytes: &[u8]) -> Result<Vec<(Oid, Option<Vec<u8>>)>, Failure> {
    let read = |bytes: &[u8]| -> Result<Vec<(Oid, Option<Vec<u8>>)>, Stop> {
        let mut c = Cursor::new(bytes);
        let (mut ty, mut count) = (0, 0);
        match complex {
            Complex::Collection(..) => {
                let dimensions = c.int()?;
                c.int()?;
                ty = c.int()? as Oid;
                if dimensions > 0 {
                    count = c.length("the number of elements")?;
                    c.int()?;
                }
                if dimensions > 1 {
                    return Err(Stop::Malformed("an array of several dimensions".into()));
                }
            }
            Complex::Row(_) | Complex::Named(..) => count = c.length("the number of fields")?,
        }
        let mut out = Vec::new();
        for _ in 0..count {
            if complex.fields().is_some() {
                ty = c.int()? as Oid;
            }
            out.push((
                ty,
                match c.int()? {
                    -1 => None,
                    n => Some(c.take(usize::try_from(n).unwrap_or(usize::MAX))?.to_vec()),
                },
            ));
        }
        Ok(out)
    };
    let found = read(bytes).map_err(|stop| match stop {
        Stop::Malformed(what) => Failure::text(format!("{what} is no {}", complex.name())),
        Stop::Incomplete => Failure::internal("a short array or row"),
    })?;
    match complex {
        Complex::Row(fields) | Complex::Named(_, fields) if fields.len() != found.len() => {
            Err(Failure::internal("a row of other fields"))
        }
        _ => Ok(found),
    }
}

fn part(complex: &Complex, i: usize) -> Type {
    match complex {
        Complex::Collection(_, element) => *element,
        Complex::Row(fields) | Complex::Named(_, fields) => fields[i].ty,
    }
}

/// The value of a column as IBM's driver reads it when it has asked for its type; `value`: PostgreSQL's binary form, None: NULL.
pub fn binary(
    complex: &'static Complex,
    value: Option<&[u8]>,
    codeset: CodeSet,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let start = out.len();
    out.extend_from_slice(&[0; 4 + HEAD]);
    describe(complex, codeset, out)?;
    let mut values = Vec::new();
    let state = match value {
        None => NULL,
        Some(bytes) => {
            write(complex, bytes, codeset, &mut values)?;
            THERE
        }
    };
    for n in [0, values.len() as i32, state] {
        out.extend_from_slice(&n.to_be_bytes());
    }
    out.extend_from_slice(&values);
    let length = i32::try_from(out.len() - start - 4).map_err(|_| Failure::text("a collection that is too long"))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// The nodes of a type.
fn describe(complex: &'static Complex, codeset: CodeSet, out: &mut Vec<u8>) -> Result<(), Failure> {
    const NOT_NULL: i16 = 0x100;
    let nodes = complex.nodes();
    let short = |n: usize| i16::try_from(n).map_err(|_| Failure::text("a type of too many types"));
    let padded = |bytes: &[u8], out: &mut Vec<u8>| match bytes.len() <= NAME {
        true => {
            out.extend_from_slice(&(bytes.len() as i16).to_be_bytes());
            out.extend_from_slice(bytes);
            out.resize(out.len() + NAME - bytes.len(), b' ');
            Ok(())
        }
        false => Err(Failure::text("the name of a field is too long")),
    };
    out.extend_from_slice(&(nodes.len() as i32).to_be_bytes());
    for (i, node) in nodes.iter().enumerate() {
        let described = node.ty.field(String::new(), false);
        // elements cannot be NULL
        let flags = if node.level > 0 && node.field == 0 { NOT_NULL } else { 0 };
        // what a collection or row is, is said by the nodes of its parts
        let opaque = node.ty.complex().is_none() && !described.type_name.is_empty();
        let (type_name, owner) = if opaque { (described.type_name.as_ref(), SCHEMA) } else { ("", "") };
        for n in [short(i + 1)?, short(node.level)?, short(node.parent)?] {
            out.extend_from_slice(&n.to_be_bytes());
        }
        let mut name = Vec::new();
        codeset.encode(&node.name, &mut name)?;
        padded(&name, out)?;
        for n in [short(node.field)?, node.ty.code() | flags, described.encoded_length as i16] {
            out.extend_from_slice(&n.to_be_bytes());
        }
        out.extend_from_slice(&described.extended_id.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        padded(type_name.as_bytes(), out)?;
        padded(owner.as_bytes(), out)?;
        out.extend_from_slice(&[0; 6]);
    }
    Ok(())
}

/// The values of a collection or row, and the table of their places if they need one.
fn write(complex: &Complex, bytes: &[u8], codeset: CodeSet, out: &mut Vec<u8>) -> Result<(), Failure> {
    let start = out.len();
    let mut places = Vec::new();
    for (i, (type_oid, value)) in parts(complex, bytes)?.into_iter().enumerate() {
        places.push((out.len() - start) as i32);
        match (part(complex, i), value) {
            (Type::Complex(_), None) => out.extend_from_slice(&[0, 1, 1]),
            (Type::Complex(inner), Some(value)) => {
                let at = out.len();
                out.resize(start + inner_head(at - start) - 5, 0);
                out.extend_from_slice(&[1, 0, 0, 0, 0]);
                write(inner, &value, codeset, out)?;
                let length = i16::try_from(out.len() - at - 2);
                let length = length.map_err(|_| Failure::text("a collection in another one is too long"))?;
                out[at..at + 2].copy_from_slice(&length.to_be_bytes());
            }
            // the driver takes the byte of the value for there, too
            (Type::Boolean, None) => out.extend_from_slice(&[1, 0, 0, 0, 0, 0]),
            (ty, None) => encode::null(ty, out),
            (ty, Some(value)) => encode::value(ty, type_oid, &value, codeset, true, out)?,
        }
    }
    let fixed = |ty: Type| {
        let described = Node { parent: 0, type_code: ty.code(), length: 0, children: vec![] };
        described.is_fixed()
    };
    let is_row = complex.fields().is_some();
    if places.is_empty() || !is_row && complex.parts().into_iter().all(fixed) {
        return Ok(());
    }
    out.extend_from_slice(&(-1i32).to_be_bytes());
    for place in places.iter().rev() {
        out.extend_from_slice(&place.to_be_bytes());
    }
    Ok(())
}

/// The literal of a value in PostgreSQL's binary form, such as `SET{1          ,2          }`: integers are as wide as Informix shows them.
pub fn literal(complex: &Complex, bytes: &[u8]) -> Result<String, Failure> {
    let mut items = Vec::new();
    for (i, (type_oid, value)) in parts(complex, bytes)?.into_iter().enumerate() {
        items.push(match (part(complex, i), value) {
            (_, None) => "NULL".into(),
            (Type::Complex(inner), Some(value)) => literal(inner, &value)?,
            (ty, Some(value)) => simple_literal(ty, type_oid, &value)?,
        });
    }
    let items = items.join(",");
    Ok(match complex {
        Complex::Collection(kind, _) => format!("{}{{{items}}}", kind.word()),
        Complex::Row(_) | Complex::Named(..) => format!("ROW({items})"),
    })
}

fn simple_literal(ty: Type, type_oid: Oid, bytes: &[u8]) -> Result<String, Failure> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    if ty.is_character() {
        let text = std::str::from_utf8(bytes).map_err(|_| Failure::internal("text that is not UTF-8"))?;
        return Ok(quoted(text));
    }
    let mut tuple = Vec::new();
    encode::value(ty, type_oid, bytes, CodeSet::Utf8, true, &mut tuple)?;
    if let Type::DateTime(q) | Type::Interval(q) = ty {
        return Ok(quoted(&encode::moment(q, matches!(ty, Type::Interval(_)), &tuple)?));
    }
    // with a point or an exponent, so that nobody takes it for a whole number
    match (ty, tuple.as_slice().try_into(), tuple.as_slice().try_into()) {
        (Type::Float, Ok(bytes), _) => return Ok(format!("{:?}", f64::from_be_bytes(bytes))),
        (Type::SmallFloat, _, Ok(bytes)) => return Ok(format!("{:?}", f32::from_be_bytes(bytes))),
        _ => {}
    }
    let value = tuple_value(&mut Cursor::new(&tuple), ty.code(), ty.encoded_length())?;
    let text = text(&value, None, CodeSet::Utf8, &DateForm::iso(), &MoneyForm::usual())?.unwrap_or_default();
    let text = String::from_utf8(text).map_err(|_| Failure::internal("text that is not UTF-8"))?;
    Ok(match ty {
        Type::Integer => format!("{text:<11}"),
        Type::Decimal(_, Some(scale)) | Type::Money(_, scale) if scale > 0 => {
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            format!("{whole}.{fraction:0<width$}", width = scale as usize)
        }
        Type::Boolean | Type::Date => quoted(&text),
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use super::super::complex::{field, kept};
    use super::*;

    /// (level, parent, name, field, type with flags, length)
    type Described<'a> = (i16, i16, &'a str, i16, i16, i16);

    fn hex(digits: &str) -> Vec<u8> {
        let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// As IBM's driver binds it: the nodes, then 0, the length of the values, the state.
    fn sent(nodes: &[Described], state: i32, values: &str) -> Vec<u8> {
        let mut out = vec![0; HEAD];
        out.extend((nodes.len() as i32).to_be_bytes());
        for (i, (level, parent, name, field, code, length)) in nodes.iter().enumerate() {
            let start = out.len();
            for n in [i as i16 + 1, *level, *parent, name.len() as i16] {
                out.extend(n.to_be_bytes());
            }
            out.extend(format!("{name:<128}").bytes());
            for n in [*field, *code, *length] {
                out.extend(n.to_be_bytes());
            }
            out.resize(start + NODE, 0);
        }
        let values = hex(values);
        for n in [0, values.len() as i32, state] {
            out.extend(n.to_be_bytes());
        }
        out.extend(values);
        out
    }

    fn read(bytes: &[u8], complex: &'static Complex) -> Result<Option<String>, Failure> {
        Ok(bound(bytes, complex, CodeSet::Latin1)?.text(Type::Complex(complex)))
    }

    fn row() -> &'static Complex {
        kept(Complex::Row(vec![field("a", Type::Integer), field("b", Type::VarChar(10))])).unwrap()
    }

    const SET_OF_INT: [Described; 2] = [(0, 0, "", 0, 19, 0), (1, 1, "", 0, 0x102, 4)];
    const LIST_OF_ROW: [Described; 4] =
        [(0, 0, "", 0, 21, 0), (1, 1, "", 0, 0x116, 0), (2, 2, "a", 1, 2, 4), (2, 2, "b", 2, 13, 10)];
    /// (1,'x'), (2,'yy'): the second one begins at 43, so that its values begin at 56
    const ROWS: &str = "0029 00 0000000000 00000001 00000000 00000001 0a78202020202020202020 ffffffff 00000004 00000000
        0026 00 0000 00000001 00000000 00000002 0a79792020202020202020 ffffffff 00000004 00000000
        ffffffff 0000002b 00000000";

    #[test]
    fn bound_values_of_ibms_driver_are_read() {
        let set = kept(Complex::Collection(Kind::Set, Type::Integer)).unwrap();
        let one_two = sent(&SET_OF_INT, 1, "00000001 00000002");
        assert_eq!(read(&one_two, set).unwrap().unwrap(), r#"{"1","2"}"#);
        // without elements; NULL; texts for numbers
        let empty = [(0, 0, "", 0, 20, 0), (1, 1, "", 0, 0x100, 1)];
        assert_eq!(read(&sent(&empty, i32::MIN, ""), set).unwrap().unwrap(), "{}");
        assert_eq!(read(&sent(&SET_OF_INT, -1, ""), set).unwrap(), None);
        let decimals = kept(Complex::Collection(Kind::List, Type::Decimal(10, Some(2)))).unwrap();
        let texts = [(0, 0, "", 0, 21, 0), (1, 1, "", 0, 0x12b, 0x7fe3)];
        let values = "00 00000004 312e3530 00 00000002 2d32 ffffffff 00000009 00000000";
        assert_eq!(read(&sent(&texts, 1, values), decimals).unwrap().unwrap(), r#"{"1.50","-2"}"#);
        let fields = [(0, 0, "", 0, 22, 0), (1, 1, "a", 1, 2, 4), (1, 1, "b", 2, 13, 10)];
        let nulls = "80000000 0100 2020202020202020 ffffffff 00000004 00000000";
        assert_eq!(read(&sent(&fields, 1, nulls), row()).unwrap().unwrap(), "(,)");
        let rows = kept(Complex::Collection(Kind::List, Type::Complex(row()))).unwrap();
        let found = bound(&sent(&LIST_OF_ROW, 1, ROWS), rows, CodeSet::Latin1).unwrap();
        let text = |n: &str| Item::Text(n.into());
        let expected = [("1", "x         "), ("2", "yy        ")].map(|(a, b)| Item::Items(vec![text(a), text(b)]));
        assert_eq!(found, Item::Items(expected.to_vec()));
        // a NULL in an envelope, of one byte
        let pair = kept(Complex::Row(vec![field("l", Type::LVarChar(99)), field("e", Type::Integer)])).unwrap();
        let fields = [(0, 0, "", 0, 22, 0), (1, 1, "l", 1, 43, 99), (1, 1, "e", 2, 2, 4)];
        let values = "01 00000005 ffffffff 00000001 00000000";
        assert_eq!(read(&sent(&fields, 1, values), pair).unwrap().unwrap(), r#"(,"5")"#);
        // a BIGINT as INT8; NULL of an INT8
        let numbers = kept(Complex::Row(vec![field("g", Type::BigInt), field("i", Type::Int8)])).unwrap();
        let fields = [(0, 0, "", 0, 22, 0), (1, 1, "g", 1, 52, 8), (1, 1, "i", 2, 17, 10)];
        let values = "0001 00000000 00000200 ffff 00000000 80000000 ffffffff 0000000a 00000000";
        assert_eq!(read(&sent(&fields, 1, values), numbers).unwrap().unwrap(), r#"("2199023255552",)"#);
        let longer = "0001 00000000 00000200 ffff 00000000 80000000 0000 ffffffff 0000000a 00000000";
        assert!(read(&sent(&fields, 1, longer), numbers).is_err());
        // of another shape
        assert!(read(&one_two, row()).is_err() && read(&one_two, rows).is_err());
        assert!(read(&sent(&LIST_OF_ROW, 1, ROWS), set).is_err());
    }

    /// What PostgreSQL gives becomes what the driver itself would send: its bytes are read back.
    #[test]
    fn values_are_written_as_they_are_read() {
        let rows = kept(Complex::Collection(Kind::List, Type::Complex(row()))).unwrap();
        let record = |a: &str, b: &str| format!("00000002 00000017 {a} 00000413 {b}");
        let first = record("00000004 00000001", "00000001 78");
        let second = record("ffffffff", "00000002 7979");
        let array = hex(&format!(
            "00000001 00000000 00004000 00000002 00000001 {:08x} {first} {:08x} {second}",
            hex(&first).len(),
            hex(&second).len()
        ));
        let mut out = Vec::new();
        binary(rows, Some(&array), CodeSet::Latin1, &mut out).unwrap();
        assert_eq!(out[..4], (out.len() as i32 - 4).to_be_bytes());
        let again = read(&out[4..], rows).unwrap().unwrap();
        assert_eq!(again, r#"{"(\"1\",\"x\")","(,\"yy\")"}"#);
        assert_eq!(literal(rows, &array).unwrap(), "LIST{ROW(1          ,'x'),ROW(NULL,'yy')}");
        let mut null = Vec::new();
        binary(rows, None, CodeSet::Latin1, &mut null).unwrap();
        assert_eq!(read(&null[4..], rows).unwrap(), None);
        let flat = hex("00000002 00000000 00000017 00000001 00000001 00000001 00000001 00000004 00000001");
        let list = kept(Complex::Collection(Kind::List, Type::Integer)).unwrap();
        assert_eq!(literal(list, &flat).unwrap_err().sqlcode, -746);
    }

    #[test]
    fn no_bytes_can_hurt() {
        let rows = kept(Complex::Collection(Kind::List, Type::Complex(row()))).unwrap();
        let text = kept(Complex::Collection(Kind::List, Type::Char(1))).unwrap();
        for length in [0, -1] {
            let endless = [(0, 0, "", 0, 21, 0), (1, 1, "", 0, 0x100, length)];
            assert!(read(&sent(&endless, 1, "61"), text).is_err());
        }
        let whole = sent(&LIST_OF_ROW, 1, ROWS);
        for end in 0..whole.len() {
            assert!(read(&whole[..end], rows).is_err(), "{end}");
        }
        for at in HEAD..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                let _ = read(&changed, rows);
            }
        }
    }
}
