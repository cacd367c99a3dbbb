//! Functions about types that texts name: whether a text is a value of one (`pg_input_is_valid`), its modifier, its base type.

use pgsqlite_metadata::store::names::CatalogNames;
use pgsqlite_natives::udf::shim::{Call, Scalar};
use pgsqlite_types::{oid, record, Datum, Oid, PgError, Result, SqlState};

/// The type that a text names, and its modifier. Errors: 42704, 42601.
fn type_named(c: &Call, name: &str) -> Result<(Oid, i32)> {
    // (it is looked up as the role that asks, too, which may not look into every schema)
    c.session.reg_oid(oid::REGTYPE, name)?;
    let state = c.session.state();
    CatalogNames { catalog: &state.catalog, search_path: &state.search_path }.type_and_modifier(name)
}

/// The error of reading a text as a value of a type; None: it is one.
fn input_error(c: &Call) -> Result<Option<PgError>> {
    let (text, (ty, typmod)) = (c.text(0)?, type_named(c, c.text(1)?)?);
    let base = c.session.state().catalog.base_type(ty);
    let typmod = if base == ty { typmod } else { c.session.state().catalog.domain_typmod(ty) };
    let codec = c.session.codec(base)?;
    let read = c.session.with_context(|context| codec.text_in(text, typmod, context));
    let checked = read.and_then(|value| match base == ty {
        true => Ok(()),
        false => c.session.routines.assign(c, value, base, ty).map(|_| ()),
    });
    match checked {
        Err(e) if matches!(e.code(), SqlState::FEATURE_NOT_SUPPORTED | SqlState::QUERY_CANCELED) => Err(e),
        other => Ok(other.err()),
    }
}

fn is_valid(c: &Call) -> Result<Datum> {
    Ok(input_error(c)?.is_none().into())
}

/// (message, detail, hint, sql_error_code)
fn error_info(c: &Call) -> Result<Datum> {
    let texts = match input_error(c)? {
        None => [const { None }; 4],
        Some(e) => [
            Some(e.message().to_string()),
            e.fields().detail.clone(),
            e.fields().hint.clone(),
            Some(e.code().as_str().to_string()),
        ],
    };
    let fields: Vec<record::Field> = texts.into_iter().map(|text| (oid::TEXT, text.into())).collect();
    Ok(Datum::Text(record::to_storage(&fields)))
}

/// `to_regtypemod`: NULL where there is no such type.
fn modifier(c: &Call) -> Result<Datum> {
    match type_named(c, c.text(0)?) {
        Ok((_, typmod)) => Ok(Datum::Int(typmod.into())),
        Err(e) if matches!(e.code(), SqlState::UNDEFINED_OBJECT | SqlState::INVALID_SCHEMA_NAME) => Ok(Datum::Null),
        Err(e) => Err(e),
    }
}

fn base_type(c: &Call) -> Result<Datum> {
    let (ty, state) = (c.int(0)? as Oid, c.session.state());
    let there = state.catalog.type_entry(ty).is_some();
    Ok(there.then(|| i64::from(state.catalog.base_type(ty))).into())
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("pg_input_is_valid", is_valid),
    ("pg_input_error_info", error_info),
    ("to_regtypemod", modifier),
    ("pg_basetype", base_type),
];
