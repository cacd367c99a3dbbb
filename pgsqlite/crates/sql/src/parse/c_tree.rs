//! Reads the tree that PostgreSQL's grammar makes, C structs in libpg_query's memory, into the Rust types of crate `pg_query`.
//!
//! `pg_query::parse` gives the same tree by way of a protobuf message, which costs several times what parsing does. The generated
//! files `nodes` and `statements` know where each field is; the tests of `parse` compare the two ways.

use super::layout::*;
use pg_query::protobuf as ast;
use pg_query::NodeEnum;
use pgsqlite_types::{PgError, Result, SqlState};
use std::ffi::{c_char, c_int, c_void, CStr};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the offsets in parse/layout.rs, nodes.rs and statements.rs are those of 64-bit systems");

/// The C interface of libpg_query (pg_query.h, pg_query_internal.h).
mod c {
    use super::{c_char, c_int, c_void};

    #[repr(C)]
    pub struct Error {
        pub message: *mut c_char,
        pub funcname: *mut c_char,
        pub filename: *mut c_char,
        pub lineno: c_int,
        pub cursorpos: c_int,
        pub context: *mut c_char,
    }
    #[repr(C)]
    pub struct RawParse {
        pub tree: *const u8,
        pub stderr_buffer: *mut c_char,
        pub error: *mut Error,
    }
    extern "C" {
        pub fn pg_query_enter_memory_context() -> *mut c_void;
        pub fn pg_query_exit_memory_context(context: *mut c_void);
        pub fn pg_query_raw_parse(input: *const c_char, options: c_int) -> RawParse;
        pub fn pg_query_free_error(error: *mut Error);
        pub fn free(memory: *mut c_void);
    }
}

/// What the C parser says of a text that it refuses.
pub(super) struct Refusal {
    pub message: String,
    /// 1-based, in characters; 0 where there is none.
    pub cursor: i32,
}

/// The memory of one parse: the tree lives as long as this.
struct Memory(*mut c_void);

impl Memory {
    fn enter() -> Self {
        // SAFETY: sets this thread's parser up if need be, and makes a memory context below it.
        Memory(unsafe { c::pg_query_enter_memory_context() })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: made by `enter` on this thread (a raw pointer is not Send), left once.
        unsafe { c::pg_query_exit_memory_context(self.0) }
    }
}

/// Parses a text with the options of pg_query.h (0: none).
/// Errors: XX000 for a tree that the grammar should not make, 54001 for one that is too deep; the parser's own are a `Refusal`.
pub(super) fn raw_parse(input: &CStr, options: i32) -> Result<std::result::Result<Vec<ast::RawStmt>, Refusal>> {
    let memory = Memory::enter();
    // SAFETY: within the memory context; errors of the parser are caught by the function.
    let parsed = unsafe { c::pg_query_raw_parse(input.as_ptr(), options) };
    if options != 0 {
        // SAFETY: as above. The options stay with the thread after an error, and count for the scanner, until the next call without any.
        release(&unsafe { c::pg_query_raw_parse(c"".as_ptr(), 0) });
    }
    let result = match parsed.error.is_null() {
        true => Reader::read(Pointer(parsed.tree)).map(Ok),
        // SAFETY: the error is a struct with a C string; it lives until `release`.
        false => Ok(Err(unsafe {
            Refusal {
                message: CStr::from_ptr((*parsed.error).message).to_string_lossy().into_owned(),
                cursor: (*parsed.error).cursorpos,
            }
        })),
    };
    release(&parsed);
    drop(memory);
    result
}

/// Frees what is not in the memory context.
fn release(parsed: &c::RawParse) {
    // SAFETY: both are the caller's to free, by pg_query_raw_parse's comments; free() takes a null pointer.
    unsafe {
        c::free(parsed.stderr_buffer.cast());
        if !parsed.error.is_null() {
            c::pg_query_free_error(parsed.error);
        }
    }
}

/// A node, or null. It is made here only, from trees of the C parser, and used while their memory lives.
#[derive(Clone, Copy)]
pub(super) struct Pointer(*const u8);

impl Pointer {
    /// The field at an offset in bytes.
    fn field<T: Copy>(self, offset: usize) -> T {
        // SAFETY: the offsets are those of the struct that the node's tag names (layout.rs and the other generated files).
        unsafe { self.0.add(offset).cast::<T>().read() }
    }

    fn pointer(self, offset: usize) -> Option<Pointer> {
        let to: *const u8 = self.field(offset);
        (!to.is_null()).then_some(Pointer(to))
    }

    /// The struct that is a field at an offset in bytes.
    pub(super) fn within(self, offset: usize) -> Pointer {
        Pointer(self.0.wrapping_add(offset))
    }

    fn tag(self) -> u32 {
        self.field(0)
    }
}

/// As deep as trees may be, in messages of protobuf, of which a node is two: what `pg_query` allows, too.
const DEEPEST: usize = 10_000;

/// Reads one tree. What is wrong with it is remembered, and what is there is left out: the whole is refused then.
pub(super) struct Reader {
    depth: usize,
    problem: Option<PgError>,
}

impl Reader {
    fn read(list: Pointer) -> Result<Vec<ast::RawStmt>> {
        let mut reader = Reader { depth: 0, problem: None };
        let mut statements = Vec::new();
        for each in elements(list) {
            statements.push(reader.raw_stmt(each));
        }
        match reader.problem {
            Some(e) => Err(e),
            None => Ok(statements),
        }
    }

    fn refuse(&mut self, e: PgError) {
        self.problem.get_or_insert(e);
    }

    /// Reads what is so many messages deeper. None: that is too deep.
    fn deeper<T>(&mut self, messages: usize, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth + messages > DEEPEST {
            self.refuse(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
            return None;
        }
        self.depth += messages;
        let value = read(self);
        self.depth -= messages;
        Some(value)
    }

    fn node(&mut self, p: Pointer) -> ast::Node {
        let node = (!p.0.is_null()).then(|| self.deeper(2, |reader| reader.kind(p)));
        ast::Node { node: node.flatten().flatten() }
    }

    fn kind(&mut self, p: Pointer) -> Option<NodeEnum> {
        Some(match p.tag() {
            TAG_LIST => NodeEnum::List(ast::List { items: self.nodes(p) }),
            TAG_A_CONST => NodeEnum::AConst(self.constant(p)),
            TAG_STRING => NodeEnum::String(self.string_node(p)),
            TAG_INTEGER => NodeEnum::Integer(ast::Integer { ival: p.field(INTEGER_IVAL) }),
            TAG_FLOAT => NodeEnum::Float(ast::Float { fval: self.string(p, FLOAT_FVAL) }),
            TAG_BOOLEAN => NodeEnum::Boolean(ast::Boolean { boolval: self.bool(p, BOOLEAN_BOOLVAL) }),
            TAG_BITSTRING => NodeEnum::BitString(ast::BitString { bsval: self.string(p, BITSTRING_BSVAL) }),
            tag => {
                let node = self.tagged(tag, p);
                if node.is_none() {
                    self.refuse(PgError::internal(format!("the grammar made a node of kind {tag}")));
                }
                return node;
            }
        })
    }

    fn nodes(&mut self, list: Pointer) -> Vec<ast::Node> {
        elements(list).map(|each| self.node(each)).collect()
    }

    fn constant(&mut self, p: Pointer) -> ast::AConst {
        use ast::a_const::Val;
        let isnull = self.bool(p, A_CONST_ISNULL);
        // the value is a node within the node
        let value = p.within(A_CONST_VAL);
        let val = match value.tag() {
            _ if isnull => None,
            TAG_INTEGER => Some(Val::Ival(ast::Integer { ival: value.field(INTEGER_IVAL) })),
            TAG_FLOAT => Some(Val::Fval(ast::Float { fval: self.string(value, FLOAT_FVAL) })),
            TAG_BOOLEAN => Some(Val::Boolval(ast::Boolean { boolval: self.bool(value, BOOLEAN_BOOLVAL) })),
            TAG_STRING => Some(Val::Sval(self.string_node(value))),
            TAG_BITSTRING => Some(Val::Bsval(ast::BitString { bsval: self.string(value, BITSTRING_BSVAL) })),
            tag => {
                self.refuse(PgError::internal(format!("the grammar made a constant of kind {tag}")));
                None
            }
        };
        ast::AConst { isnull, location: self.int(p, A_CONST_LOCATION), val }
    }

    pub(super) fn string_node(&mut self, p: Pointer) -> ast::String {
        ast::String { sval: self.string(p, STRING_SVAL) }
    }

    pub(super) fn list(&mut self, p: Pointer, offset: usize) -> Vec<ast::Node> {
        match p.pointer(offset) {
            Some(list) if list.tag() == TAG_LIST => self.nodes(list),
            Some(list) => {
                self.refuse(PgError::internal(format!("the grammar made a list of kind {}", list.tag())));
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    pub(super) fn boxed_node(&mut self, p: Pointer, offset: usize) -> Option<Box<ast::Node>> {
        p.pointer(offset).map(|node| Box::new(self.node(node)))
    }

    /// A node of a kind that the field's type names.
    pub(super) fn held<T>(&mut self, p: Pointer, offset: usize, read: fn(&mut Self, Pointer) -> T) -> Option<T> {
        let node = p.pointer(offset)?;
        self.deeper(1, |reader| read(reader, node))
    }

    pub(super) fn boxed<T>(&mut self, p: Pointer, offset: usize, read: fn(&mut Self, Pointer) -> T) -> Option<Box<T>> {
        self.held(p, offset, read).map(Box::new)
    }

    /// A field that analysis fills in, in PostgreSQL, never the grammar.
    pub(super) fn absent<T: Default>(&mut self, p: Pointer, offset: usize) -> T {
        if p.pointer(offset).is_some() {
            self.refuse(PgError::internal(format!(
                "the grammar filled in the field at {offset} of a node of kind {}",
                p.tag()
            )));
        }
        T::default()
    }

    /// An empty string where there is none.
    pub(super) fn string(&mut self, p: Pointer, offset: usize) -> String {
        let Some(text) = p.pointer(offset) else { return String::new() };
        // SAFETY: the parser's strings end with a zero byte.
        match unsafe { CStr::from_ptr(text.0.cast()) }.to_str() {
            Ok(text) => text.to_owned(),
            Err(_) => {
                self.refuse(PgError::internal("the parser made a string that is not UTF-8"));
                String::new()
            }
        }
    }

    /// A single character as a string, empty for none.
    pub(super) fn char(&self, p: Pointer, offset: usize) -> String {
        match p.field::<u8>(offset) {
            0 => String::new(),
            byte => char::from(byte).to_string(),
        }
    }

    pub(super) fn int(&self, p: Pointer, offset: usize) -> i32 {
        p.field(offset)
    }

    pub(super) fn short(&self, p: Pointer, offset: usize) -> i32 {
        p.field::<i16>(offset).into()
    }

    pub(super) fn uint(&self, p: Pointer, offset: usize) -> u32 {
        p.field(offset)
    }

    pub(super) fn long(&self, p: Pointer, offset: usize) -> i64 {
        p.field(offset)
    }

    pub(super) fn bool(&self, p: Pointer, offset: usize) -> bool {
        p.field::<u8>(offset) != 0
    }

    /// An enumeration that C counts from 0 and protobuf from 1.
    pub(super) fn counted(&self, p: Pointer, offset: usize) -> i32 {
        self.int(p, offset) + 1
    }
}

/// The pointers of a list. Null is the empty list.
fn elements(list: Pointer) -> impl Iterator<Item = Pointer> {
    let length = if list.0.is_null() { 0 } else { list.field::<c_int>(LIST_LENGTH).max(0) as usize };
    let cells: *const *const u8 = if length == 0 { std::ptr::null() } else { list.field(LIST_ELEMENTS) };
    // SAFETY: a list has `length` cells of a pointer each.
    (0..length).map(move |i| Pointer(unsafe { cells.add(i).read() }))
}
