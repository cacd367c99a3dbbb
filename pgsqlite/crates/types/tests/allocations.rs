//! The output path of the everyday types does not allocate: rows go from SQLite's memory into the session's buffer.

use pgsqlite_types::codec::{Context, NoNames, TypeCodec};
use pgsqlite_types::{oid, DatumRef, Settings};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn output_does_not_allocate() {
    let time_zone = pgsqlite_types::datetime::zone::by_name("America/New_York").expect("a zone");
    let settings = Settings { time_zone, ..Settings::default() };
    let context = Context { settings: &settings, names: &NoNames };
    let values = [
        (oid::BOOL, DatumRef::Int(1)),
        (oid::INT2, DatumRef::Int(-7)),
        (oid::INT4, DatumRef::Int(123_456)),
        (oid::INT8, DatumRef::Int(i64::MIN)),
        (oid::OID, DatumRef::Int(16_384)),
        (oid::FLOAT8, DatumRef::Real(0.1)),
        (oid::FLOAT8, DatumRef::Real(1.5e300)),
        (oid::FLOAT4, DatumRef::Real(0.5)),
        (oid::TEXT, DatumRef::Text("some text")),
        (oid::NUMERIC, DatumRef::Text("12345.6789")),
        (oid::DATE, DatumRef::Text("2024-02-29")),
        (oid::TIME, DatumRef::Text("12:34:56.789")),
        (oid::TIMESTAMP, DatumRef::Text("2024-02-29 12:34:56.789")),
        (oid::TIMESTAMPTZ, DatumRef::Text("2024-07-29 12:34:56.789")),
        (oid::TIMESTAMPTZ, DatumRef::Text("2060-07-29 12:34:56.789")),
        (oid::INTERVAL, DatumRef::Text("1 year 2 mons -3 days +04:05:06.7")),
        (oid::UUID, DatumRef::Text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        (oid::JSONB, DatumRef::Text("{\"a\": 1}")),
        (oid::BYTEA, DatumRef::Blob(b"abc")),
    ];
    let mut out = Vec::with_capacity(1 << 12);
    for (oid, value) in values {
        let codec = TypeCodec::builtin(oid).expect("a built-in type");
        for round in 0..2 {
            out.clear();
            let before = COUNT.with(Cell::get);
            codec.text_out(value, &context, &mut out).expect("text output");
            codec.binary_out(value, &context, &mut out).expect("binary output");
            let allocated = COUNT.with(Cell::get) - before;
            // The first round may set up tables.
            assert!(round == 0 || allocated == 0, "{codec:?} {value:?}: {allocated} allocations");
        }
    }
}
