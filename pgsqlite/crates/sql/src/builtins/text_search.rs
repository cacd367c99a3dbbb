//! Full-text search: `tsvector`, `tsquery`, and how texts become such; the names of configurations and dictionaries.

use super::imp::{row, Imp, Row};
use pgsqlite_types::Oid;
use Imp::{Inline, Native, NativeSet};

const CONFIGURATIONS: &str = include_str!("../../data/pg_ts_config.tsv");
const DICTIONARIES: &str = include_str!("../../data/pg_ts_dict.tsv");
const MAPPINGS: &str = include_str!("../../data/pg_ts_config_map.tsv");
const TEMPLATES: &str = include_str!("../../data/pg_ts_template.tsv");

/// A row's OID, by its name.
fn named(table: &'static str, name: &str) -> Option<Oid> {
    let mut rows = table.lines().skip(1).map(|line| line.split('\t'));
    rows.find_map(|mut row| {
        let oid = row.next()?;
        (row.next()? == name).then(|| oid.parse().ok())?
    })
}

fn name_of(table: &'static str, oid: Oid) -> Option<&'static str> {
    let mut rows = table.lines().skip(1).map(|line| line.split('\t'));
    rows.find_map(|mut row| {
        let found: Oid = row.next()?.parse().ok()?;
        let name = row.next()?;
        (found == oid).then_some(name)
    })
}

/// The OID of a configuration.
pub fn configuration_named(name: &str) -> Option<Oid> {
    named(CONFIGURATIONS, name)
}

pub fn configuration_name(oid: Oid) -> Option<&'static str> {
    name_of(CONFIGURATIONS, oid)
}

pub fn dictionary_named(name: &str) -> Option<Oid> {
    named(DICTIONARIES, name)
}

pub fn dictionary_name(oid: Oid) -> Option<&'static str> {
    name_of(DICTIONARIES, oid)
}

pub fn template_name(oid: Oid) -> Option<&'static str> {
    name_of(TEMPLATES, oid)
}

/// The template of `simple` and of the dictionaries like it.
pub const SIMPLE_TEMPLATE: Oid = 3727;
pub const SNOWBALL_TEMPLATE: Oid = 13150;
/// The dictionary that the extension unaccent brings.
pub const UNACCENT_DICTIONARY: Oid = 16370;

pub fn template_named(name: &str) -> Option<Oid> {
    named(TEMPLATES, name)
}

/// The dictionaries of a configuration of PostgreSQL's own, by the number of the type of token.
pub fn mappings(configuration: Oid) -> Option<Vec<(i32, Vec<Oid>)>> {
    configuration_name(configuration)?;
    let mut out: Vec<(i32, Vec<Oid>)> = Vec::new();
    for line in MAPPINGS.lines().skip(1) {
        let fields: Vec<Oid> = line.split('\t').filter_map(|f| f.parse().ok()).collect();
        let [of, token, _, dictionary] = fields[..] else { continue };
        if of != configuration {
            continue;
        }
        match out.last_mut() {
            Some((last, list)) if *last == token as i32 => list.push(dictionary),
            _ => out.push((token as i32, vec![dictionary])),
        }
    }
    Some(out)
}

pub const ROWS: &[Row] = &[
    row("tsvector_eq tsquery_eq", Inline("$1 = $2")),
    row("tsvector_ne tsquery_ne", Inline("$1 <> $2")),
    row("tsvector_lt tsquery_lt", Inline("$1 < $2")),
    row("tsvector_le tsquery_le", Inline("$1 <= $2")),
    row("tsvector_gt tsquery_gt", Inline("$1 > $2")),
    row("tsvector_ge tsquery_ge", Inline("$1 >= $2")),
    row(
        "tsvector_cmp tsquery_cmp tsvector_strip tsvector_setweight tsvector_setweight_by_filter tsvector_concat tsvector_length \
         tsvector_delete_str tsvector_delete_arr tsvector_filter tsvector_to_array array_to_tsvector",
        Native,
    ),
    row(
        "tsquery_and tsquery_or tsquery_not tsquery_phrase tsquery_phrase_distance tsquery_numnode tsquerytree \
         tsquery_rewrite tsquery_rewrite_query tsq_mcontains tsq_mcontained ts_match_vq ts_match_qv ts_match_tt ts_match_tq",
        Native,
    ),
    row(
        "ts_rank_wttf ts_rank_wtt ts_rank_ttf ts_rank_tt ts_rankcd_wttf ts_rankcd_wtt ts_rankcd_ttf ts_rankcd_tt",
        Native,
    ),
    row(
        "to_tsvector to_tsvector_byid to_tsquery to_tsquery_byid plainto_tsquery plainto_tsquery_byid phraseto_tsquery \
         phraseto_tsquery_byid websearch_to_tsquery websearch_to_tsquery_byid jsonb_string_to_tsvector \
         json_string_to_tsvector jsonb_string_to_tsvector_byid json_string_to_tsvector_byid jsonb_to_tsvector \
         jsonb_to_tsvector_byid json_to_tsvector json_to_tsvector_byid",
        Native,
    ),
    row(
        "ts_headline ts_headline_opt ts_headline_byid ts_headline_byid_opt ts_headline_jsonb ts_headline_jsonb_opt \
         ts_headline_jsonb_byid ts_headline_jsonb_byid_opt ts_headline_json ts_headline_json_opt ts_headline_json_byid \
         ts_headline_json_byid_opt ts_lexize get_current_ts_config pg_ts_config_is_visible pg_ts_dict_is_visible \
         pg_ts_parser_is_visible pg_ts_template_is_visible",
        Native,
    ),
    row(
        "tsvector_unnest ts_token_type_byid ts_token_type_byname ts_parse_byid ts_parse_byname ts_debug(regconfig,text) \
         ts_debug(text) ts_stat1 ts_stat2",
        NativeSet { typed: false },
    ),
];
