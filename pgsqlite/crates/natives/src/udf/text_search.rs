//! The functions of full-text search.

use super::shim::{Call, Scalar};
use crate::text_search::dictionary::{Configuration, Dictionary, Lexized, DEFAULT_PARSER};
use crate::text_search::document::{self, lexemes, Tell};
use crate::text_search::headline::{headline, Options};
use crate::text_search::parser::KINDS;
use pgsqlite_sql::builtins::text_search;
use pgsqlite_sql::deparse::Names;
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::json::{self, Flavor, Json};
use pgsqlite_types::tsearch::matching::matches;
use pgsqlite_types::tsearch::rewrite::Rewriting;
use pgsqlite_types::tsearch::tsquery::Operator;
use pgsqlite_types::tsearch::{rank, vector, Lexeme, Query, Vector};
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

fn vector(c: &Call, i: usize) -> Result<Vector> {
    Vector::parse(c.text(i)?)
}

fn query(c: &Call, i: usize) -> Result<Query> {
    Query::parse(c.text(i)?)
}

fn array(c: &Call, i: usize, element: &TypeCodec) -> Result<Array> {
    Array::from_storage(c.text(i)?, element).ok_or_else(|| PgError::corrupted("a stored array is malformed"))
}

/// The texts of an array that are not NULL.
fn texts(c: &Call, i: usize) -> Result<Vec<String>> {
    let elements = array(c, i, &TypeCodec::Text)?.elements;
    Ok(elements.into_iter().filter_map(|e| if let Datum::Text(t) = e { Some(t) } else { None }).collect())
}

fn text_array(texts: impl Iterator<Item = String>) -> Datum {
    Array::from_elements(texts.map(Datum::Text).collect()).to_datum()
}

/// Rows of several columns as one JSON array of arrays.
fn rows(rows: impl Iterator<Item = Vec<Datum>>) -> Datum {
    let mut out = String::from("[");
    for (i, row) in rows.enumerate() {
        work::pulse(1);
        out.push_str(if i > 0 { "," } else { "" });
        out.push_str(&Array::from_elements(row).to_storage());
    }
    out.push(']');
    Datum::Text(out)
}

// --- vectors -----------------------------------------------------------------------------------------------------------

fn compare_vectors(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(vector(c, 0)?.compare(&vector(c, 1)?) as i64))
}

fn strip(c: &Call) -> Result<Datum> {
    Ok(vector(c, 0)?.strip().to_datum())
}

fn weight(c: &Call, i: usize) -> Result<u8> {
    let letter = c.text(i)?.bytes().next().unwrap_or(0);
    vector::weight_of(letter).ok_or_else(|| {
        PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("unrecognized weight: {}", letter as i8))
    })
}

fn set_weight(c: &Call) -> Result<Datum> {
    let weight = weight(c, 1)?;
    let of = if c.len() > 2 { Some(texts(c, 2)?) } else { None };
    Ok(vector(c, 0)?.set_weight(weight, of.as_deref()).to_datum())
}

fn concat(c: &Call) -> Result<Datum> {
    Ok(vector(c, 0)?.concat(vector(c, 1)?)?.to_datum())
}

fn length(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(vector(c, 0)?.lexemes.len() as i64))
}

fn delete_one(c: &Call) -> Result<Datum> {
    Ok(vector(c, 0)?.delete(&[c.text(1)?.to_string()]).to_datum())
}

fn delete_all(c: &Call) -> Result<Datum> {
    Ok(vector(c, 0)?.delete(&texts(c, 1)?).to_datum())
}

fn filter(c: &Call) -> Result<Datum> {
    let mut weights = Vec::new();
    for element in array(c, 1, &TypeCodec::Char)?.elements {
        work::pulse(1);
        let Datum::Text(letter) = element else {
            return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "weight array may not contain nulls"));
        };
        let byte = letter.bytes().next().unwrap_or(0);
        weights.push(vector::weight_of(byte).ok_or_else(|| {
            PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("unrecognized weight: \"{letter}\""))
        })?);
    }
    Ok(vector(c, 0)?.filter(&weights).to_datum())
}

fn to_array(c: &Call) -> Result<Datum> {
    Ok(text_array(vector(c, 0)?.lexemes.into_iter().map(|l| l.text)))
}

fn from_array(c: &Call) -> Result<Datum> {
    let mut all = Vec::new();
    for element in array(c, 0, &TypeCodec::Text)?.elements {
        work::pulse(1);
        let Datum::Text(text) = element else {
            return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "lexeme array may not contain nulls"));
        };
        if text.is_empty() {
            return Err(PgError::new(
                SqlState::ZERO_LENGTH_CHARACTER_STRING,
                "lexeme array may not contain empty strings",
            ));
        }
        all.push(Lexeme { text, positions: vec![] });
    }
    Ok(Vector::from_lexemes(all)?.to_datum())
}

fn unnest(c: &Call) -> Result<Datum> {
    Ok(rows(vector(c, 0)?.lexemes.into_iter().map(|l| {
        let (mut places, mut weights) = (Datum::Null, Datum::Null);
        if !l.positions.is_empty() {
            let place = l.positions.iter().map(|p| Datum::Int(i64::from(p.at))).collect();
            places = Array::from_elements(place).to_datum();
            weights = text_array(l.positions.iter().map(|p| char::from(b'D' - p.weight).to_string()));
        }
        vec![Datum::Text(l.text), places, weights]
    })))
}

// --- queries -----------------------------------------------------------------------------------------------------------

fn compare_queries(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(query(c, 0)?.compare(&query(c, 1)?) as i64))
}

fn and(c: &Call) -> Result<Datum> {
    Ok(query(c, 0)?.join(query(c, 1)?, Operator::And).to_datum())
}

fn or(c: &Call) -> Result<Datum> {
    Ok(query(c, 0)?.join(query(c, 1)?, Operator::Or).to_datum())
}

fn not(c: &Call) -> Result<Datum> {
    Ok(query(c, 0)?.negate().to_datum())
}

fn phrase(c: &Call) -> Result<Datum> {
    let distance = if c.len() > 2 { c.int(2)? } else { 1 };
    Ok(query(c, 0)?.phrase(query(c, 1)?, distance)?.to_datum())
}

fn count(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(query(c, 0)?.count() as i64))
}

fn indexable(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(query(c, 0)?.indexable()))
}

fn contains(c: &Call) -> Result<Datum> {
    Ok(query(c, 0)?.contains(&query(c, 1)?).into())
}

fn contained(c: &Call) -> Result<Datum> {
    Ok(query(c, 1)?.contains(&query(c, 0)?).into())
}

fn is_match(query: &Query, vector: &Vector) -> Datum {
    matches(query, vector).into()
}

fn match_query(c: &Call) -> Result<Datum> {
    Ok(is_match(&query(c, 1)?, &vector(c, 0)?))
}

fn match_vector(c: &Call) -> Result<Datum> {
    Ok(is_match(&query(c, 0)?, &vector(c, 1)?))
}

fn match_texts(c: &Call) -> Result<Datum> {
    let configuration = configuration(c)?;
    with_notices(c, |tell| {
        let vector = document::to_vector(&configuration, c.text(0)?, tell)?;
        let query = document::plain_to_query(&configuration, c.text(1)?, Operator::And, tell)?;
        Ok(is_match(&query, &vector))
    })
}

fn match_text(c: &Call) -> Result<Datum> {
    let configuration = configuration(c)?;
    with_notices(c, |tell| Ok(is_match(&query(c, 1)?, &document::to_vector(&configuration, c.text(0)?, tell)?)))
}

fn rewrite(c: &Call) -> Result<Datum> {
    let given = query(c, 0)?;
    let (example, substitute) = (query(c, 1)?, query(c, 2)?);
    if given.0.is_none() || example.0.is_none() {
        return Ok(given.to_datum());
    }
    let mut rewriting = Rewriting::new(&given);
    rewriting.apply(&example, &substitute);
    Ok(rewriting.finish().to_datum())
}

/// (query, text of a query that gives pairs)
fn rewrite_by_query(c: &Call) -> Result<Datum> {
    let given = query(c, 0)?;
    let (columns, rows) = c.session.routines.queried(c, c.text(1)?)?;
    if columns != [oid::TSQUERY, oid::TSQUERY] {
        let message = "ts_rewrite query must return two tsquery columns";
        return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let mut rewriting = Rewriting::new(&given);
    for row in rows {
        work::pulse(1);
        let [Datum::Text(example), Datum::Text(substitute)] = &row[..] else { continue };
        let example = Query::parse(example)?;
        if example.0.is_none() {
            continue;
        }
        if !rewriting.apply(&example, &Query::parse(substitute)?) {
            break;
        }
        rewriting.settle();
    }
    Ok(rewriting.finish().to_datum())
}

/// (text of a query that gives vectors [, weights]) → rows of [word, documents, entries]
fn statistics(c: &Call) -> Result<Datum> {
    let (columns, all) = c.session.routines.queried(c, c.text(0)?)?;
    if columns != [oid::TSVECTOR] {
        let message = "ts_stat query must return one tsvector column";
        return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    // which weights count; none given: all
    let weights: Vec<u8> = match c.len() {
        0 | 1 => vec![],
        _ => c.text(1)?.bytes().filter_map(|b| vector::weight_of(b.to_ascii_uppercase())).collect(),
    };
    let mut found: std::collections::BTreeMap<String, (i64, i64)> = Default::default();
    for row in all {
        work::pulse(1);
        let [Datum::Text(text)] = &row[..] else { continue };
        for lexeme in Vector::parse(text)?.lexemes {
            work::pulse(1);
            let entries = match (weights.is_empty(), lexeme.positions.len()) {
                (true, 0) => 1,
                (true, n) => n as i64,
                (false, _) => lexeme.positions.iter().filter(|p| weights.contains(&p.weight)).count() as i64,
            };
            if entries > 0 {
                let (documents, all) = found.entry(lexeme.text).or_default();
                *documents += 1;
                *all += entries;
            }
        }
    }
    Ok(rows(
        found
            .into_iter()
            .map(|(word, (documents, entries))| vec![Datum::Text(word), Datum::Int(documents), Datum::Int(entries)]),
    ))
}

// --- rank --------------------------------------------------------------------------------------------------------------

type Rank = fn(&[f32; 4], &Vector, &Query, i64) -> f32;

fn ranked(c: &Call, weighted: bool, normalized: bool, rank: Rank) -> Result<Datum> {
    let first = usize::from(weighted);
    let weights = if weighted {
        let array = array(c, 0, &TypeCodec::Float4)?;
        if array.dimensions.len() != 1 {
            return Err(PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "array of weight must be one-dimensional"));
        }
        let number = |d: &Datum| match d {
            Datum::Int(i) => Some(*i as f32),
            Datum::Real(r) => Some(*r as f32),
            _ => None,
        };
        rank::weights(&array.elements.iter().map(number).collect::<Vec<_>>())?
    } else {
        rank::WEIGHTS
    };
    let method = if normalized { c.int(first + 2)? } else { 0 };
    let rank = rank(&weights, &vector(c, first)?, &query(c, first + 1)?, method);
    Ok(Datum::Real(f64::from(rank)))
}

// --- texts -------------------------------------------------------------------------------------------------------------

/// Runs with a place for notices.
fn with_notices<R>(c: &Call, run: impl FnOnce(Tell) -> Result<R>) -> Result<R> {
    run(&|notice| c.session.notice(notice))
}

/// The OID of the configuration that default_text_search_config names.
fn default_configuration(c: &Call) -> Result<Oid> {
    let variables = c.session.state().variables.clone().ok_or_else(|| PgError::internal("no session"))?;
    let value = variables.get("default_text_search_config").unwrap_or_default();
    c.session.with_context(|context| context.names.reg_oid(oid::REGCONFIG, &value))
}

fn configuration(c: &Call) -> Result<Configuration> {
    Configuration::of(&c.session.state().catalog, default_configuration(c)?)
}

/// Whether the first argument is a configuration, and which one counts.
fn given(c: &Call, explicit: bool) -> Result<(Configuration, usize)> {
    match explicit {
        true => Ok((Configuration::of(&c.session.state().catalog, c.int(0)? as Oid)?, 1)),
        false => Ok((configuration(c)?, 0)),
    }
}

fn current(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(i64::from(default_configuration(c)?)))
}

fn to_vector(c: &Call) -> Result<Datum> {
    let (configuration, i) = given(c, c.len() > 1)?;
    with_notices(c, |tell| Ok(document::to_vector(&configuration, c.text(i)?, tell)?.to_datum()))
}

fn to_query(c: &Call) -> Result<Datum> {
    let (configuration, i) = given(c, c.len() > 1)?;
    with_notices(c, |tell| Ok(document::to_query(&configuration, c.text(i)?, tell)?.to_datum()))
}

fn plain(c: &Call) -> Result<Datum> {
    let (configuration, i) = given(c, c.len() > 1)?;
    let made = |tell: Tell| document::plain_to_query(&configuration, c.text(i)?, Operator::And, tell);
    with_notices(c, |tell| Ok(made(tell)?.to_datum()))
}

fn phrase_of(c: &Call) -> Result<Datum> {
    let (configuration, i) = given(c, c.len() > 1)?;
    let made = |tell: Tell| document::plain_to_query(&configuration, c.text(i)?, Operator::Phrase(1), tell);
    with_notices(c, |tell| Ok(made(tell)?.to_datum()))
}

fn web(c: &Call) -> Result<Datum> {
    let (configuration, i) = given(c, c.len() > 1)?;
    with_notices(c, |tell| Ok(document::web_to_query(&configuration, c.text(i)?, tell)?.to_datum()))
}

// --- JSON --------------------------------------------------------------------------------------------------------------

/// Which parts of a document count.
#[derive(Default)]
struct Parts {
    keys: bool,
    strings: bool,
    numbers: bool,
    booleans: bool,
}

impl Parts {
    /// Reads `"string"`, `["string", "key"]` and so on. Errors: 22023.
    fn parse(text: &str) -> Result<Parts> {
        let values = || "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".";
        let invalid = |message: String| PgError::new(SqlState::INVALID_PARAMETER_VALUE, message);
        let flags = match json::parse(text, Flavor::Jsonb)? {
            Json::Array(flags) => flags,
            Json::Object(_) => return Err(invalid("wrong flag type, only arrays and scalars are allowed".into())),
            scalar => vec![scalar],
        };
        let mut parts = Parts::default();
        for flag in flags {
            work::pulse(1);
            let Json::String(flag) = flag else {
                return Err(invalid("flag array element is not a string".into()).hint(values()));
            };
            match flag.to_ascii_lowercase().as_str() {
                "all" => parts = Parts { keys: true, strings: true, numbers: true, booleans: true },
                "key" => parts.keys = true,
                "string" => parts.strings = true,
                "numeric" => parts.numbers = true,
                "boolean" => parts.booleans = true,
                _ => return Err(invalid(format!("wrong flag in flag array: \"{flag}\"")).hint(values())),
            }
        }
        Ok(parts)
    }

    fn each(&self, value: &Json, see: &mut dyn FnMut(&str)) {
        match value {
            Json::Object(pairs) => {
                for (key, value) in pairs {
                    work::pulse(1);
                    if self.keys {
                        see(key);
                    }
                    self.each(value, see);
                }
            }
            Json::Array(items) => items.iter().for_each(|item| self.each(item, see)),
            Json::String(text) if self.strings => see(text),
            Json::Number(_) if self.numbers => see(&value.to_text()),
            Json::Bool(b) if self.booleans => see(if *b { "true" } else { "false" }),
            _ => {}
        }
    }
}

fn of_json(c: &Call, explicit: bool, flavor: Flavor, parts: bool) -> Result<Datum> {
    let (configuration, i) = given(c, explicit)?;
    let value = json::parse(c.text(i)?, flavor)?;
    let parts = if parts { Parts::parse(c.text(i + 1)?)? } else { Parts { strings: true, ..Parts::default() } };
    with_notices(c, |tell| {
        let (mut all, mut place) = (Vec::new(), 0);
        parts.each(&value, &mut |text| {
            let found = lexemes(&configuration, text, &mut place, tell);
            // what stands in different values is not next to each other
            place += u32::from(!found.is_empty());
            all.extend(found);
        });
        Ok(document::vector(all)?.to_datum())
    })
}

// --- headlines ---------------------------------------------------------------------------------------------------------

fn headline_of(c: &Call, explicit: bool, optional: bool, of_json: Option<Flavor>) -> Result<Datum> {
    let (configuration, i) = given(c, explicit)?;
    let query = query(c, i + 1)?;
    let options = if optional { Options::parse(c.text(i + 2)?)? } else { Options::default() };
    with_notices(c, |tell| {
        let make = |text: &str| headline(&configuration, text, &query, &options, tell);
        Ok(Datum::Text(match of_json {
            None => make(c.text(i)?),
            Some(Flavor::Json) => {
                let mut out = String::new();
                super::json::rewrite(c.text(i)?, true, &make, &mut out)?;
                out
            }
            Some(Flavor::Jsonb) => {
                let mut value = json::parse(c.text(i)?, Flavor::Jsonb)?;
                each_string(&mut value, &make);
                value.to_text()
            }
        }))
    })
}

fn each_string(value: &mut Json, make: &dyn Fn(&str) -> String) {
    match value {
        Json::String(text) => *text = make(text),
        Json::Array(items) => items.iter_mut().for_each(|item| each_string(item, make)),
        Json::Object(pairs) => pairs.iter_mut().for_each(|(_, item)| each_string(item, make)),
        _ => {}
    }
}

// --- parsers and dictionaries ------------------------------------------------------------------------------------------

fn lexize(c: &Call) -> Result<Datum> {
    let dictionary = Dictionary::of(&c.session.state().catalog, c.int(0)? as Oid)?;
    Ok(match dictionary.lexize(c.text(1)?) {
        Lexized::Unknown => Datum::Null,
        Lexized::Stop => text_array([].into_iter()),
        Lexized::Lexeme(text) | Lexized::Changed(text) => text_array([text].into_iter()),
    })
}

/// The parser of the first argument. Errors: 42704.
fn check_parser(c: &Call, by_name: bool) -> Result<()> {
    let (known, shown) = match by_name {
        true => {
            let name = c.text(0)?;
            (name == "default" || name == "pg_catalog.default", format!("\"{name}\""))
        }
        false => (c.int(0)? as Oid == DEFAULT_PARSER, c.int(0)?.to_string()),
    };
    match (known, by_name) {
        (true, _) => Ok(()),
        (_, true) => {
            Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("text search parser {shown} does not exist")))
        }
        _ => {
            Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("cache lookup failed for text search parser {shown}")))
        }
    }
}

fn token_types(c: &Call, by_name: bool) -> Result<Datum> {
    check_parser(c, by_name)?;
    let text = |t: &str| Datum::Text(t.to_string());
    Ok(rows(KINDS.iter().map(|(kind, name, about)| vec![Datum::Int(*kind as i64), text(name), text(about)])))
}

fn parse(c: &Call, by_name: bool) -> Result<Datum> {
    check_parser(c, by_name)?;
    let tokens = document::tokens(c.text(1)?);
    Ok(rows(tokens.map(|(kind, token)| vec![Datum::Int(kind as i64), Datum::Text(token.to_string())])))
}

/// `ts_debug`: each token with the dictionaries asked and what came of it.
fn debug(c: &Call) -> Result<Datum> {
    let (configuration, i) = given(c, c.len() > 1)?;
    let text = |t: &str| Datum::Text(t.to_string());
    Ok(rows(document::tokens(c.text(i)?).map(|(kind, token)| {
        let (_, name, about) = KINDS[kind as usize - 1];
        let mut row = vec![text(name), text(about), text(token)];
        let all = configuration.dictionaries(kind).iter().map(|(oid, _)| Datum::Int(i64::from(*oid)));
        row.push(Array::from_elements(all.collect()).to_datum());
        match configuration.lexize(kind, token) {
            (Lexized::Lexeme(lexeme), Some(oid)) => {
                row.extend([Datum::Int(i64::from(oid)), text_array([lexeme].into_iter())])
            }
            (Lexized::Stop, Some(oid)) => row.extend([Datum::Int(i64::from(oid)), text_array([].into_iter())]),
            _ => row.extend([Datum::Null, Datum::Null]),
        }
        row
    })))
}

/// Whether the name alone means the object.
fn is_visible(c: &Call, shown: fn(&Names, Oid) -> Option<String>) -> Result<Datum> {
    let state = c.session.state();
    let names = Names::new(&state.catalog, &state.search_path);
    Ok(shown(&names, c.int(0)? as Oid).map_or(Datum::Null, |name| Datum::from(!name.contains('.'))))
}

/// Whether the object is there: all are in pg_catalog, which is always on the path.
fn visible(known: bool) -> Result<Datum> {
    Ok(if known { true.into() } else { Datum::Null })
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("tsvector_cmp", compare_vectors),
    ("tsvector_strip", strip),
    ("tsvector_setweight tsvector_setweight_by_filter", set_weight),
    ("tsvector_concat", concat),
    ("tsvector_length", length),
    ("tsvector_delete_str", delete_one),
    ("tsvector_delete_arr", delete_all),
    ("tsvector_filter", filter),
    ("tsvector_to_array", to_array),
    ("array_to_tsvector", from_array),
    ("tsvector_unnest", unnest),
    ("tsquery_cmp", compare_queries),
    ("tsquery_and", and),
    ("tsquery_or", or),
    ("tsquery_not", not),
    ("tsquery_phrase tsquery_phrase_distance", phrase),
    ("tsquery_numnode", count),
    ("tsquerytree", indexable),
    ("tsq_mcontains", contains),
    ("tsq_mcontained", contained),
    ("ts_match_vq", match_query),
    ("ts_match_qv", match_vector),
    ("ts_match_tt", match_texts),
    ("ts_match_tq", match_text),
    ("ts_rank_wttf", |c| ranked(c, true, true, rank::rank)),
    ("ts_rank_wtt", |c| ranked(c, true, false, rank::rank)),
    ("ts_rank_ttf", |c| ranked(c, false, true, rank::rank)),
    ("ts_rank_tt", |c| ranked(c, false, false, rank::rank)),
    ("ts_rankcd_wttf", |c| ranked(c, true, true, rank::cover_density)),
    ("ts_rankcd_wtt", |c| ranked(c, true, false, rank::cover_density)),
    ("ts_rankcd_ttf", |c| ranked(c, false, true, rank::cover_density)),
    ("ts_rankcd_tt", |c| ranked(c, false, false, rank::cover_density)),
    ("get_current_ts_config", current),
    ("to_tsvector to_tsvector_byid", to_vector),
    ("to_tsquery to_tsquery_byid", to_query),
    ("plainto_tsquery plainto_tsquery_byid", plain),
    ("phraseto_tsquery phraseto_tsquery_byid", phrase_of),
    ("websearch_to_tsquery websearch_to_tsquery_byid", web),
    ("jsonb_string_to_tsvector", |c| of_json(c, false, Flavor::Jsonb, false)),
    ("json_string_to_tsvector", |c| of_json(c, false, Flavor::Json, false)),
    ("jsonb_string_to_tsvector_byid", |c| of_json(c, true, Flavor::Jsonb, false)),
    ("json_string_to_tsvector_byid", |c| of_json(c, true, Flavor::Json, false)),
    ("jsonb_to_tsvector", |c| of_json(c, false, Flavor::Jsonb, true)),
    ("json_to_tsvector", |c| of_json(c, false, Flavor::Json, true)),
    ("jsonb_to_tsvector_byid", |c| of_json(c, true, Flavor::Jsonb, true)),
    ("json_to_tsvector_byid", |c| of_json(c, true, Flavor::Json, true)),
    ("ts_headline", |c| headline_of(c, false, false, None)),
    ("ts_headline_opt", |c| headline_of(c, false, true, None)),
    ("ts_headline_byid", |c| headline_of(c, true, false, None)),
    ("ts_headline_byid_opt", |c| headline_of(c, true, true, None)),
    ("ts_headline_jsonb", |c| headline_of(c, false, false, Some(Flavor::Jsonb))),
    ("ts_headline_jsonb_opt", |c| headline_of(c, false, true, Some(Flavor::Jsonb))),
    ("ts_headline_jsonb_byid", |c| headline_of(c, true, false, Some(Flavor::Jsonb))),
    ("ts_headline_jsonb_byid_opt", |c| headline_of(c, true, true, Some(Flavor::Jsonb))),
    ("ts_headline_json", |c| headline_of(c, false, false, Some(Flavor::Json))),
    ("ts_headline_json_opt", |c| headline_of(c, false, true, Some(Flavor::Json))),
    ("ts_headline_json_byid", |c| headline_of(c, true, false, Some(Flavor::Json))),
    ("ts_headline_json_byid_opt", |c| headline_of(c, true, true, Some(Flavor::Json))),
    ("tsquery_rewrite", rewrite),
    ("tsquery_rewrite_query", rewrite_by_query),
    ("ts_stat1 ts_stat2", statistics),
    ("ts_lexize", lexize),
    ("ts_token_type_byid", |c| token_types(c, false)),
    ("ts_token_type_byname", |c| token_types(c, true)),
    ("ts_parse_byid", |c| parse(c, false)),
    ("ts_parse_byname", |c| parse(c, true)),
    ("ts_debug(regconfig,text) ts_debug(text)", debug),
    ("pg_ts_config_is_visible", |c| is_visible(c, |names, oid| names.ts_configuration(oid))),
    ("pg_ts_dict_is_visible", |c| is_visible(c, |names, oid| names.ts_dictionary(oid))),
    ("pg_ts_parser_is_visible", |c| visible(c.int(0)? as Oid == DEFAULT_PARSER)),
    ("pg_ts_template_is_visible", |c| visible(text_search::template_name(c.int(0)? as Oid).is_some())),
];
