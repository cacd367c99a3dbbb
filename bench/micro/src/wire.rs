//! Messages: the client's from bytes, the server's to bytes.

use crate::Case;
use pgsqlite_types::oid;
use pgsqlite_wire::backend::{Column, Output};
use pgsqlite_wire::frontend::{decode, frame, Frame};
use std::hint::black_box;

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend_from_slice(&((body.len() + 4) as u32).to_be_bytes());
    out.extend_from_slice(body);
    out
}

pub fn cases(cases: &mut Vec<Case>) {
    let mut bind = b"\0s1\0".to_vec();
    bind.extend_from_slice(&[0, 1, 0, 1, 0, 2]);
    for value in [&123_456i32.to_be_bytes()[..], b"a text of 32 characters, no more"] {
        bind.extend_from_slice(&(value.len() as u32).to_be_bytes());
        bind.extend_from_slice(value);
    }
    bind.extend_from_slice(&[0, 1, 0, 1]);
    let messages = [
        ("Query", message(b'Q', b"SELECT id, n, s FROM b WHERE id = 42\0")),
        ("Parse", message(b'P', b"s1\0SELECT id, n, s FROM b WHERE id = $1\0\0\x01\0\0\0\x17")),
        ("Bind", message(b'B', &bind)),
        ("Execute", message(b'E', b"\0\0\0\0\0")),
        ("Sync", message(b'S', b"")),
    ];
    for (name, bytes) in messages {
        cases.push(Case::new(format!("wire/{name}, decode"), move || {
            let Ok(Frame::Whole { kind, start, end }) = frame(black_box(&bytes)) else { panic!("no whole message") };
            black_box(decode(kind, &bytes[start..end])).expect("a message");
        }));
    }
    let columns = ["id", "n", "s", "created_at", "amount"];
    let types = [oid::INT4, oid::INT4, oid::TEXT, oid::TIMESTAMPTZ, oid::NUMERIC];
    let mut out = Output::default();
    cases.push(Case::new("wire/RowDescription of 5 columns, encode", move || {
        out.buffer.clear();
        out.row_description(columns.iter().zip(types).enumerate().map(|(i, (name, type_oid))| Column {
            name,
            table_oid: 16384,
            attnum: i as i16 + 1,
            type_oid,
            type_len: -1,
            typmod: -1,
            format: 0,
        }));
        black_box(&out.buffer);
    }));
    let mut out = Output::default();
    cases.push(Case::new("wire/CommandComplete and ReadyForQuery, encode", move || {
        out.buffer.clear();
        out.command_complete(black_box("SELECT 1"));
        out.ready_for_query(b'I');
        black_box(&out.buffer);
    }));
}
