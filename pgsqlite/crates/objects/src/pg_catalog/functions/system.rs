//! Session and system information, sequences, generators of rows.

use pgsqlite_natives::udf::shim::{Call, Scalar};
use pgsqlite_natives::udf::strings::invalid_parameter;
use pgsqlite_sql::catalog::{searched, RelationKind, PG_CATALOG, PG_TEMP};
use pgsqlite_sql::deparse::Names;
use pgsqlite_types::array::Array;
use pgsqlite_types::datetime::{Interval, Timestamp};
use pgsqlite_types::encoding::Encoding;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::sync::Arc;

fn absent(what: &str) -> PgError {
    PgError::not_supported(format!("{what} outside a session"))
}
fn text(value: impl Into<String>) -> Result<Datum> {
    Ok(Datum::Text(value.into()))
}

// --- who, where ------------------------------------------------------------------------------------------------------

fn version(c: &Call) -> Result<Datum> {
    let reported = c.session.state().variables.as_ref().and_then(|v| v.get("server_version"));
    let reported = reported.ok_or_else(|| absent("version()"))?;
    text(format!("PostgreSQL {reported} (pgsqlite {})", env!("CARGO_PKG_VERSION")))
}
fn current_database(c: &Call) -> Result<Datum> {
    text(c.session.state().database.clone())
}
fn current_user(c: &Call) -> Result<Datum> {
    text(c.session.state().user.clone())
}
fn session_user(c: &Call) -> Result<Datum> {
    text(c.session.state().session_user.clone())
}
fn current_schema(c: &Call) -> Result<Datum> {
    let state = c.session.state();
    Ok(state.explicit_path.iter().find_map(|s| state.catalog.schemas.get(s)).map(|s| s.name.clone()).into())
}
fn current_schemas(c: &Call) -> Result<Datum> {
    let state = c.session.state();
    let mut path = state.explicit_path.clone();
    // The temporary schema is searched first where the path does not name it.
    if c.bool(0)? {
        path = searched(&path).collect();
        if !path.contains(&PG_TEMP) && super::catalogs::has_temporary_schema(&state.catalog) {
            path.insert(0, PG_TEMP);
        }
    }
    let name = |s: &Oid| match *s {
        PG_CATALOG => Some("pg_catalog".to_string()),
        s => state.catalog.schemas.get(&s).map(|s| s.name.clone()),
    };
    Ok(Array::from_elements(path.iter().filter_map(name).map(Datum::Text).collect()).to_datum())
}
fn backend_pid(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(c.session.state().backend_pid as i64))
}
/// PostgreSQL's encodings by number, also those that neither a database nor a client here can have.
const ENCODINGS: [&str; 42] = [
    "SQL_ASCII",
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "UTF8",
    "MULE_INTERNAL",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1256",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "WIN1251",
    "WIN1252",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "WIN1250",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1257",
    "KOI8U",
    "SJIS",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "SHIFT_JIS_2004",
];

fn encoding_name(c: &Call) -> Result<Datum> {
    match c.int(0)? {
        n if Encoding::by_number(n).is_some() => text(Encoding::by_number(n).map_or("", Encoding::name)),
        n => text(usize::try_from(n).ok().and_then(|n| ENCODINGS.get(n)).copied().unwrap_or_default()),
    }
}
fn encoding_number(c: &Call) -> Result<Datum> {
    match Encoding::by_name(c.text(0)?) {
        Some(Encoding::Other) => Err(PgError::not_supported(format!("the number of encoding \"{}\"", c.text(0)?))),
        found => Ok(Datum::Int(found.map_or(-1, Encoding::number))),
    }
}
fn client_encoding(c: &Call) -> Result<Datum> {
    let variables = c.session.state().variables.clone();
    text(variables.and_then(|v| v.get("client_encoding")).unwrap_or("UTF8".into()))
}
fn utf8(_: &Call) -> Result<Datum> {
    text("UTF8")
}

// --- settings --------------------------------------------------------------------------------------------------------

fn variable(c: &Call, name: &str, missing_ok: bool) -> Result<Datum> {
    let variables = c.session.state().variables.clone().ok_or_else(|| absent("current_setting()"))?;
    match variables.get(name) {
        Some(value) => {
            let state = c.session.state();
            pgsqlite_natives::settings::check_may_examine(&state.catalog, state.user_oid, name)?;
            text(value)
        }
        None if missing_ok => Ok(Datum::Null),
        None => {
            Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\"")))
        }
    }
}
fn current_setting(c: &Call) -> Result<Datum> {
    variable(c, c.text(0)?, c.len() > 1 && c.bool(1)?)
}
fn set_config(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "SET requires parameter name"));
    }
    let value = if c.is_null(1) { None } else { Some(c.text(1)?) };
    text(c.session.set_setting(c.text(0)?, value, !c.is_null(2) && c.bool(2)?)?)
}

// --- sequences -------------------------------------------------------------------------------------------------------

fn sequences(c: &Call) -> Result<Arc<dyn pgsqlite_natives::udf::session_cell::SequenceSource>> {
    c.session.state().sequences.clone().ok_or_else(|| absent("a sequence"))
}
fn trigger_depth(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(c.session.routines.trigger_depth() as i64))
}
/// What `nextval` gives where something is computed once more, to tell more of an error: the sequence stays where it is.
fn next_of_again(c: &Call, sequence: Oid) -> Result<Option<i64>> {
    let before = match &*c.session.again.borrow() {
        Some(given) => given.get(&sequence).copied(),
        None => return Ok(None),
    };
    let (last, called) = match before {
        Some(last) => (last, true),
        None => sequences(c)?.state(sequence)?,
    };
    let state = c.session.state();
    let increment = match state.catalog.relation(sequence).map(|r| &r.kind) {
        Some(RelationKind::Sequence(s)) => s.increment,
        _ => 1,
    };
    let next = if called { last.saturating_add(increment) } else { last };
    if let Some(given) = &mut *c.session.again.borrow_mut() {
        given.insert(sequence, next);
    }
    Ok(Some(next))
}
fn nextval(c: &Call) -> Result<Datum> {
    let sequence = c.int(0)? as Oid;
    if let Some(value) = next_of_again(c, sequence)? {
        return Ok(Datum::Int(value));
    }
    pgsqlite_natives::udf::row_numbers::refuse(c, sequence, "nextval()")?;
    Ok(Datum::Int(sequences(c)?.nextval(sequence)?))
}
fn currval(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(sequences(c)?.currval(c.int(0)? as Oid)?))
}
fn lastval(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(sequences(c)?.lastval()?))
}
fn setval(c: &Call) -> Result<Datum> {
    let called = c.len() < 3 || c.bool(2)?;
    let (sequence, value) = (c.int(0)? as Oid, c.int(1)?);
    if let Some(given) = &mut *c.session.again.borrow_mut() {
        given.insert(sequence, value);
        return Ok(Datum::Int(value));
    }
    // what is said to a sequence after rows were copied with their numbers
    if pgsqlite_natives::udf::row_numbers::state(c, sequence)? == Some((value, called)) {
        return Ok(Datum::Int(value));
    }
    pgsqlite_natives::udf::row_numbers::refuse(c, sequence, "setval()")?;
    Ok(Datum::Int(sequences(c)?.setval(sequence, value, called)?))
}
fn serial_sequence(c: &Call) -> Result<Datum> {
    let table = c.session.reg_oid(oid::REGCLASS, c.text(0)?)?;
    let state = c.session.state();
    let relation = state.catalog.relation(table).ok_or_else(|| absent("pg_get_serial_sequence()"))?;
    let column = c.text(1)?;
    let found = relation.column(column).ok_or_else(|| {
        PgError::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{column}\" of relation \"{}\" does not exist", relation.name),
        )
    })?;
    let Some(sequence) = state.catalog.relation(found.sequence) else { return Ok(Datum::Null) };
    let schema = state.catalog.schemas.get(&sequence.schema).map_or("", |s| s.name.as_str());
    text(format!(
        "{}.{}",
        pgsqlite_natives::udf::strings::identifier(schema),
        pgsqlite_natives::udf::strings::identifier(&sequence.name)
    ))
}

// --- catalog ---------------------------------------------------------------------------------------------------------

fn format_type(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    if c.is_null(1) {
        if let Some(name) = pgsqlite_types::typmod::type_name(c.int(0)? as Oid) {
            return text(name);
        }
    }
    let typmod = if c.is_null(1) { -1 } else { c.int(1)? as i32 };
    let (state, type_oid) = (c.session.state(), c.int(0)? as Oid);
    if type_oid == 0 {
        return text("-");
    }
    if state.catalog.type_entry(type_oid).is_none() {
        return text("???");
    }
    let names = Names::new(&state.catalog, &state.search_path);
    if c.is_null(1) {
        return text(super::objects::bare_type_name(&names, &state.catalog, type_oid));
    }
    text(names.type_name(type_oid, typmod))
}
fn user_by_oid(c: &Call) -> Result<Datum> {
    let role = c.int(0)? as Oid;
    text(c.session.state().catalog.roles.get(&role).map_or(format!("unknown (OID={role})"), |r| r.name.clone()))
}
fn table_visible(c: &Call) -> Result<Datum> {
    let (state, relation) = (c.session.state(), c.int(0)? as Oid);
    if state.catalog.relation(relation).is_none() {
        if let Some(composite) = state.catalog.composite_of_class(relation) {
            return Ok(Names::new(&state.catalog, &state.search_path).type_is_visible(composite.oid).into());
        }
        let system = pgsqlite_sql::builtins::catalog::system_relations().iter().find(|r| r.oid == relation);
        return Ok(system.map(|r| r.schema == "pg_catalog").into());
    }
    Ok(Datum::from(Names::new(&state.catalog, &state.search_path).relation_is_visible(relation)))
}
fn type_visible(c: &Call) -> Result<Datum> {
    let (state, type_oid) = (c.session.state(), c.int(0)? as Oid);
    if state.catalog.type_entry(type_oid).is_none() {
        return Ok(Datum::Null);
    }
    Ok(Datum::from(Names::new(&state.catalog, &state.search_path).type_is_visible(type_oid)))
}
fn function_visible(c: &Call) -> Result<Datum> {
    let (state, oid) = (c.session.state(), c.int(0)? as Oid);
    if state.catalog.proc(oid).is_none() {
        return Ok(Datum::Null);
    }
    Ok(Datum::from(Names::new(&state.catalog, &state.search_path).function_is_visible(oid)))
}
fn operator_visible(c: &Call) -> Result<Datum> {
    let (state, oid) = (c.session.state(), c.int(0)? as Oid);
    if state.catalog.schema_of_operator(oid).is_none() {
        return Ok(Datum::Null);
    }
    Ok(Datum::from(Names::new(&state.catalog, &state.search_path).operator_is_visible(oid)))
}
/// Whether a class or family of operators is in the path. Their names are those of PostgreSQL and its extensions, which no other hides.
fn class_visible(c: &Call, is_one: fn(Oid) -> bool) -> Result<Datum> {
    let (state, oid) = (c.session.state(), c.int(0)? as Oid);
    match state.catalog.schema_of_builtin(oid).filter(|_| is_one(oid)) {
        Some(schema) => {
            Ok(Datum::from(schema == pgsqlite_sql::catalog::PG_CATALOG || state.search_path.contains(&schema)))
        }
        None => Ok(Datum::Null),
    }
}
fn operator_class_visible(c: &Call) -> Result<Datum> {
    class_visible(c, |oid| pgsqlite_sql::builtins::catalog::operator_class_by_oid(oid).is_some())
}
fn operator_family_visible(c: &Call) -> Result<Datum> {
    class_visible(c, |oid| pgsqlite_sql::builtins::catalog::all_operator_families().any(|f| f[0] == oid.to_string()))
}
/// pg_class, pg_type … by name: the class OID under which comments are kept.
fn class_oid(name: &str) -> Option<Oid> {
    let mut relations = pgsqlite_sql::builtins::catalog::system_relations().iter();
    relations.find(|r| r.schema == "pg_catalog" && r.name == name).map(|r| r.oid)
}
fn described(c: &Call, class: Option<Oid>, sub: i32) -> Result<Datum> {
    let (state, object) = (c.session.state(), c.int(0)? as Oid);
    if let (Some(class), 0, true) = (class, sub, object < oid::FIRST_USER_OID) {
        let own = state.catalog.comments.get(&(class, object, 0)).map(String::as_str);
        let told = own.or_else(|| pgsqlite_sql::builtins::catalog::description(class, object));
        return Ok(told.filter(|text| !text.is_empty()).into());
    }
    let own = class.and_then(|class| state.catalog.comments.get(&(class, object, sub)).cloned());
    Ok(own.filter(|text| !text.is_empty()).into())
}
fn object_description(c: &Call) -> Result<Datum> {
    described(c, class_oid(c.text(1)?), 0)
}
fn column_description(c: &Call) -> Result<Datum> {
    described(c, class_oid("pg_class"), c.int(1)? as i32)
}
/// Without a class: whatever object has the OID.
fn any_description(c: &Call) -> Result<Datum> {
    let (state, object) = (c.session.state(), c.int(0)? as Oid);
    let own = state.catalog.comments.iter().find(|((_, o, s), _)| *o == object && *s == 0).map(|(_, t)| t.as_str());
    let builtin = || {
        let mut all = pgsqlite_sql::builtins::catalog::descriptions().iter();
        all.find(|d| d.1 == object && !state.catalog.comments.contains_key(&(d.0, object, 0))).map(|d| d.2)
    };
    Ok(own.filter(|text| !text.is_empty()).or_else(builtin).into())
}
/// The name that a text means where a number is no OID.
fn as_name(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return format!("\"{text}\"").into();
    }
    text.into()
}
fn regclass(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(c.session.reg_oid(oid::REGCLASS, &as_name(c.text(0)?))? as i64))
}
/// `to_reg…`: NULL where the cast raises that there is no such object, or that the text is no name.
fn to_reg(c: &Call, reg_type: Oid) -> Result<Datum> {
    match c.session.reg_oid(reg_type, &as_name(c.text(0)?)) {
        Ok(found) => Ok(Datum::Int(found as i64)),
        Err(e)
            if [
                SqlState::UNDEFINED_FUNCTION,
                SqlState::AMBIGUOUS_FUNCTION,
                SqlState::UNDEFINED_TABLE,
                SqlState::UNDEFINED_OBJECT,
                SqlState::INVALID_SCHEMA_NAME,
                SqlState::INVALID_NAME,
            ]
            .contains(&e.code()) =>
        {
            Ok(Datum::Null)
        }
        // (other errors of the grammar are raised)
        Err(e) if reg_type == oid::REGTYPE && e.message().starts_with("invalid type name") => Ok(Datum::Null),
        // (what follows the name is no list of argument types)
        Err(e)
            if matches!(reg_type, oid::REGPROCEDURE | oid::REGOPERATOR)
                && [
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    SqlState::UNDEFINED_PARAMETER,
                    SqlState::TOO_MANY_ARGUMENTS,
                ]
                .contains(&e.code()) =>
        {
            Ok(Datum::Null)
        }
        Err(e) => Err(e),
    }
}
fn to_regclass(c: &Call) -> Result<Datum> {
    to_reg(c, oid::REGCLASS)
}
fn to_regtype(c: &Call) -> Result<Datum> {
    to_reg(c, oid::REGTYPE)
}
fn to_regproc(c: &Call) -> Result<Datum> {
    to_reg(c, oid::REGPROC)
}
fn to_regprocedure(c: &Call) -> Result<Datum> {
    to_reg(c, oid::REGPROCEDURE)
}
fn to_regnamespace(c: &Call) -> Result<Datum> {
    to_reg(c, oid::REGNAMESPACE)
}
fn to_regrole(c: &Call) -> Result<Datum> {
    to_reg(c, oid::REGROLE)
}
fn to_regoper(c: &Call) -> Result<Datum> {
    to_reg(c, oid::REGOPER)
}
fn to_regoperator(c: &Call) -> Result<Datum> {
    to_reg(c, oid::REGOPERATOR)
}
fn to_regcollation(c: &Call) -> Result<Datum> {
    to_reg(c, oid::REGCOLLATION)
}
fn type_of(c: &Call) -> Result<Datum> {
    Ok(c.types()?.args.first().map(|t| *t as i64).into())
}
fn count_nulls(c: &Call, nulls: bool) -> Result<Datum> {
    let types = c.types()?;
    if types.variadic {
        if c.is_null(1) {
            return Ok(Datum::Null);
        }
        let array = pgsqlite_natives::udf::support::untyped(c.text(1)?)?;
        return Ok(Datum::Int(array.elements.iter().filter(|e| e.is_null() == nulls).count() as i64));
    }
    Ok(Datum::Int((1..c.len()).filter(|&i| c.is_null(i) == nulls).count() as i64))
}
fn num_nulls(c: &Call) -> Result<Datum> {
    count_nulls(c, true)
}
fn num_nonnulls(c: &Call) -> Result<Datum> {
    count_nulls(c, false)
}
fn random_uuid(_: &Call) -> Result<Datum> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| PgError::no_resources(format!("could not generate random numbers: {e}")))?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut out = Vec::new();
    pgsqlite_types::uuid::write(&bytes, &mut out);
    Ok(Datum::Text(String::from_utf8_lossy(&out).into_owned()))
}
// --- generate_series -------------------------------------------------------------------------------------------------

fn zero_step() -> PgError {
    invalid_parameter("step size cannot equal zero")
}
/// Most rows one call collects: a result is one text.
const MOST_ROWS: usize = 20_000_000;
fn push(elements: &mut String, item: std::fmt::Arguments, n: &mut usize) -> Result<()> {
    *n += 1;
    if *n > MOST_ROWS {
        return Err(PgError::not_supported(format!("generate_series of more than {MOST_ROWS} rows")));
    }
    if *n > 1 {
        elements.push(',');
    }
    std::fmt::Write::write_fmt(elements, item).map_err(|e| PgError::internal(e.to_string()))
}
fn series_int(c: &Call) -> Result<Datum> {
    let (start, stop) = (c.int(0)?, c.int(1)?);
    let step = if c.len() > 2 { c.int(2)? } else { 1 };
    if step == 0 {
        return Err(zero_step());
    }
    let (mut out, mut n, mut at) = (String::from("["), 0, Some(start));
    while let Some(v) = at.filter(|v| if step > 0 { *v <= stop } else { *v >= stop }) {
        work::visit();
        push(&mut out, format_args!("{v}"), &mut n)?;
        at = v.checked_add(step);
    }
    Ok(Datum::Text(out + "]"))
}
fn series_numeric(c: &Call) -> Result<Datum> {
    let (start, stop) = (c.numeric(0)?, c.numeric(1)?);
    let step = if c.len() > 2 { c.numeric(2)? } else { Numeric::one() };
    for (v, what) in [(&start, "start value"), (&stop, "stop value"), (&step, "step size")] {
        work::visit();
        if !v.is_finite() {
            let kind = if v.is_nan() { "NaN" } else { "infinity" };
            return Err(invalid_parameter(format!("{what} cannot be {kind}")));
        }
    }
    if step.is_zero() {
        return Err(zero_step());
    }
    let (mut out, mut n, mut at) = (String::from("["), 0, start);
    while if step.is_negative() { at >= stop } else { at <= stop } {
        work::visit();
        push(&mut out, format_args!("\"{at}\""), &mut n)?;
        at = at.add(&step)?;
    }
    Ok(Datum::Text(out + "]"))
}
fn series_times(c: &Call, next: impl Fn(Timestamp, Interval) -> Result<Timestamp>) -> Result<Datum> {
    let (start, stop, step) = (c.timestamp(0)?, c.timestamp(1)?, c.interval(2)?);
    let direction = step.span().signum();
    if direction == 0 {
        return Err(zero_step());
    }
    let (mut out, mut n, mut at) = (String::from("["), 0, start);
    while if direction > 0 { at <= stop } else { at >= stop } {
        work::visit();
        push(&mut out, format_args!("\"{}\"", at.to_storage()), &mut n)?;
        at = next(at, step)?;
    }
    Ok(Datum::Text(out + "]"))
}
fn series_timestamp(c: &Call) -> Result<Datum> {
    series_times(c, Timestamp::add_interval)
}
fn series_timestamptz(c: &Call) -> Result<Datum> {
    let zone = c.session.state().settings.time_zone.clone();
    series_times(c, |t, i| t.add_interval_tz(i, &zone))
}

fn series_timestamptz_at(c: &Call) -> Result<Datum> {
    let zone = pgsqlite_types::datetime::zone::Zone::parse(c.text(3)?)?.rules();
    series_times(c, |t, i| t.add_interval_tz(i, &zone))
}

fn collation_visible(c: &Call) -> Result<Datum> {
    let collation = c.int(0)? as Oid;
    let state = c.session.state();
    if state.catalog.collation(collation).is_none() {
        return Ok(Datum::Null);
    }
    Ok(Datum::from(Names::new(&state.catalog, &state.search_path).collation_is_visible(collation)))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("pgsql_version", version),
    ("current_database", current_database),
    ("current_user", current_user),
    ("session_user", session_user),
    ("current_schema", current_schema),
    ("current_schemas", current_schemas),
    ("pg_backend_pid", backend_pid),
    ("pg_trigger_depth", trigger_depth),
    ("PG_encoding_to_char", encoding_name),
    ("PG_char_to_encoding", encoding_number),
    ("getdatabaseencoding", utf8),
    ("pg_client_encoding", client_encoding),
    ("show_config_by_name show_config_by_name_missing_ok", current_setting),
    ("set_config_by_name", set_config),
    ("nextval_oid", nextval),
    ("currval_oid", currval),
    ("lastval", lastval),
    ("setval_oid setval3_oid", setval),
    ("pg_get_serial_sequence", serial_sequence),
    ("format_type", format_type),
    ("pg_get_userbyid", user_by_oid),
    ("pg_table_is_visible", table_visible),
    ("pg_type_is_visible", type_visible),
    ("pg_collation_is_visible", collation_visible),
    ("pg_operator_is_visible", operator_visible),
    ("pg_opclass_is_visible", operator_class_visible),
    ("pg_opfamily_is_visible", operator_family_visible),
    ("pg_function_is_visible", function_visible),
    ("obj_description(oid,name) shobj_description(oid,name)", object_description),
    ("col_description(oid,int4)", column_description),
    ("obj_description(oid)", any_description),
    ("text_regclass", regclass),
    ("to_regclass", to_regclass),
    ("to_regtype", to_regtype),
    ("to_regproc", to_regproc),
    ("to_regprocedure", to_regprocedure),
    ("to_regnamespace", to_regnamespace),
    ("to_regrole", to_regrole),
    ("to_regoper", to_regoper),
    ("to_regoperator", to_regoperator),
    ("to_regcollation", to_regcollation),
    ("pg_typeof", type_of),
    ("pg_num_nulls", num_nulls),
    ("pg_num_nonnulls", num_nonnulls),
    ("gen_random_uuid", random_uuid),
    ("generate_series_timestamptz_at_zone", series_timestamptz_at),
    ("generate_series_int4 generate_series_step_int4 generate_series_int8 generate_series_step_int8", series_int),
    ("generate_series_numeric generate_series_step_numeric", series_numeric),
    ("generate_series_timestamp", series_timestamp),
    ("generate_series_timestamptz", series_timestamptz),
];
