//! The codecs: each type's text and binary form, in and out.

use crate::Case;
use pgsqlite_types::codec::{Context, NoNames, TypeCodec};
use pgsqlite_types::{oid, Oid, Settings};
use std::hint::black_box;
use std::sync::Arc;

/// A type and a value's text form.
const VALUES: &[(&str, Oid, &str)] = &[
    ("bool", oid::BOOL, "t"),
    ("int2", oid::INT2, "-1234"),
    ("int4", oid::INT4, "123456789"),
    ("int8", oid::INT8, "1234567890123456789"),
    ("float8", oid::FLOAT8, "3.141592653589793"),
    ("numeric", oid::NUMERIC, "12345.6789"),
    ("numeric long", oid::NUMERIC, "123456789012345678901234567890.123456789"),
    ("text", oid::TEXT, "a text of 32 characters, no more"),
    ("text utf8", oid::TEXT, "Grüße über den Äther, ein ♥ dazu"),
    ("bytea", oid::BYTEA, "\\x000102030405060708090a0b0c0d0e0f"),
    ("date", oid::DATE, "2024-02-29"),
    ("time", oid::TIME, "12:34:56.789012"),
    ("timestamp", oid::TIMESTAMP, "2024-02-29 12:34:56.789012"),
    ("timestamptz", oid::TIMESTAMPTZ, "2024-02-29 12:34:56.789012+00"),
    ("interval", oid::INTERVAL, "1 year 2 mons 3 days 04:05:06.789"),
    ("uuid", oid::UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("json", oid::JSON, r#"{"a": 1, "b": [true, null, "x"], "c": {"d": 2.5}}"#),
    ("jsonb", oid::JSONB, r#"{"a": 1, "b": [true, null, "x"], "c": {"d": 2.5}}"#),
    ("int4 array", oid::INT4_ARRAY, "{1,2,3,4,5,6,7,8,9,10}"),
];

pub fn cases(cases: &mut Vec<Case>) {
    let settings = Arc::new(Settings::default());
    for (name, oid, text) in VALUES {
        let codec = TypeCodec::builtin(*oid).unwrap_or_else(|| panic!("{name} has no codec"));
        let context = || Context { settings: &settings, names: &NoNames };
        let stored = codec.text_in(text, -1, &context()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let mut binary = Vec::new();
        codec.binary_out(stored.as_ref(), &context(), &mut binary).unwrap_or_else(|e| panic!("{name}: {e:?}"));

        let (c, s) = (codec.clone(), settings.clone());
        cases.push(Case::new(format!("types/{name}, text in"), move || {
            let context = Context { settings: &s, names: &NoNames };
            black_box(c.text_in(black_box(text), -1, &context)).expect("text in");
        }));
        let (c, s, bytes) = (codec.clone(), settings.clone(), binary.clone());
        cases.push(Case::new(format!("types/{name}, binary in"), move || {
            let context = Context { settings: &s, names: &NoNames };
            black_box(c.binary_in(black_box(&bytes), -1, &context)).expect("binary in");
        }));
        for binary in [false, true] {
            let (c, s, value) = (codec.clone(), settings.clone(), stored.clone());
            let mut out = Vec::with_capacity(4096);
            let form = if binary { "binary" } else { "text" };
            cases.push(Case::new(format!("types/{name}, {form} out"), move || {
                let context = Context { settings: &s, names: &NoNames };
                out.clear();
                let value = black_box(value.as_ref());
                if binary { c.binary_out(value, &context, &mut out) } else { c.text_out(value, &context, &mut out) }
                    .expect("out");
                black_box(&out);
            }));
        }
    }
}
