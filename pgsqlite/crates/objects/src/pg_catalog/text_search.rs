//! pg_ts_config, pg_ts_config_map, pg_ts_dict: PostgreSQL's own, those of the user, and the dictionary of the extension unaccent.

use super::{int, text, Rows};
use pgsqlite_sql::builtins::text_search::UNACCENT_DICTIONARY;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::work;
use pgsqlite_types::Datum;

pub(super) fn configurations(rows: &mut Rows, catalog: &Catalog) {
    rows.push_file(pgsqlite_sql::data::PG_TS_CONFIG);
    for c in catalog.ts_configurations.values() {
        work::visit();
        rows.push(&[
            ("oid", int(c.oid)),
            ("cfgname", text(c.name.as_str())),
            ("cfgnamespace", int(c.schema)),
            ("cfgowner", int(c.owner)),
            ("cfgparser", int(pgsqlite_natives::text_search::dictionary::DEFAULT_PARSER)),
        ]);
    }
}

pub(super) fn mappings(rows: &mut Rows, catalog: &Catalog) {
    rows.push_file(pgsqlite_sql::data::PG_TS_CONFIG_MAP);
    for c in catalog.ts_configurations.values() {
        work::visit();
        for (token, list) in &c.mappings {
            work::visit();
            for (dictionary, number) in list.iter().zip(1i64..) {
                work::visit();
                rows.push(&[
                    ("mapcfg", int(c.oid)),
                    ("maptokentype", int(*token)),
                    ("mapseqno", Datum::Int(number)),
                    ("mapdict", int(*dictionary)),
                ]);
            }
        }
    }
}

pub(super) fn dictionaries(rows: &mut Rows, catalog: &Catalog) {
    rows.push_file(pgsqlite_sql::data::PG_TS_DICT);
    if let Some(extension) = catalog.extensions.get("unaccent") {
        rows.push(&[
            ("oid", int(UNACCENT_DICTIONARY)),
            ("dictname", text("unaccent")),
            ("dictnamespace", int(extension.schema)),
            ("dictowner", int(extension.owner)),
            // (the extension's template has no row)
            ("dicttemplate", Datum::Int(0)),
            ("dictinitoption", text("rules = 'unaccent'")),
        ]);
    }
    for d in catalog.ts_dictionaries.values() {
        work::visit();
        // (a number that was quoted is no value of any option, so this one was not)
        let shown = |value: &str| match value.parse::<i32>() {
            Ok(number) => number.to_string(),
            Err(_) => format!("'{}'", value.replace('\'', "''")),
        };
        let options: Vec<String> = d.options.iter().map(|(name, value)| format!("{name} = {}", shown(value))).collect();
        rows.push(&[
            ("oid", int(d.oid)),
            ("dictname", text(d.name.as_str())),
            ("dictnamespace", int(d.schema)),
            ("dictowner", int(d.owner)),
            ("dicttemplate", int(d.template)),
            ("dictinitoption", if options.is_empty() { Datum::Null } else { text(options.join(", ")) }),
        ]);
    }
}
