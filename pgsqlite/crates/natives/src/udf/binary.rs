//! The functions that give values in binary form, as the protocol sends them: what the codecs of the types write.

use super::shim::{Call, Scalar};
use pgsqlite_types::{Datum, PgError, Result};

/// (types, value)
fn send(c: &Call) -> Result<Datum> {
    let [ty] = c.types()?.args[..] else { return Err(PgError::internal("one argument expected")) };
    let codec = c.session.codec(ty)?;
    let mut out = Vec::new();
    c.session.with_context(|context| codec.binary_out(c.datum(1), context, &mut out))?;
    Ok(Datum::Blob(out))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[(pgsqlite_sql::builtins::binary::NAMES, send)];
