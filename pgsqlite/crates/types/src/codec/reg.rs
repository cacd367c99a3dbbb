//! `regclass`, `regtype`, `regproc` …: an OID (INTEGER) that reads and prints as a name.

use crate::buffer::int;
use crate::codec::Context;
use crate::oid::Oid;
use crate::{Datum, DatumRef, Result};

/// A number, `-` (0) or a name that the session's catalog knows.
pub(crate) fn text_in(text: &str, reg_type: Oid, context: &Context) -> Result<Datum> {
    if text == "-" {
        return Ok(Datum::Int(0));
    }
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return crate::int::oid_text_in(text);
    }
    Ok(Datum::Int(context.names.reg_oid(reg_type, text)? as i64))
}

pub(crate) fn text_out(value: DatumRef, reg_type: Oid, context: &Context, out: &mut Vec<u8>) -> Result<()> {
    let mut digits = Vec::new();
    crate::int::oid_text_out(value, &mut digits)?;
    let DatumRef::Int(oid) = value else { return Err(crate::buffer::bad_stored("oid", value)) };
    match context.names.reg_name(reg_type, oid as Oid) {
        _ if oid == 0 && matches!(reg_type, crate::oid::REGOPER | crate::oid::REGOPERATOR) => out.push(b'0'),
        _ if oid == 0 => out.push(b'-'),
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => int(out, oid),
    }
    Ok(())
}
