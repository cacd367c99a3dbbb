//! Rows of PostgreSQL's catalogs, for crates that show them: a line for each row, with its fields separated by tabs. The first line has the names of the columns.
//!
//! The files are written by `gen/catalogs.sh` and `gen/extensions.sh`. They belong to this crate, and a published crate has only its own files.

pub const EXTENSION_AMOP: &str = include_str!("../data/extension_amop.tsv");
pub const PG_AMOP: &str = include_str!("../data/pg_amop.tsv");
pub const PG_AMPROC: &str = include_str!("../data/pg_amproc.tsv");
pub const PG_CONVERSION: &str = include_str!("../data/pg_conversion.tsv");
pub const PG_TS_CONFIG: &str = include_str!("../data/pg_ts_config.tsv");
pub const PG_TS_CONFIG_MAP: &str = include_str!("../data/pg_ts_config_map.tsv");
pub const PG_TS_DICT: &str = include_str!("../data/pg_ts_dict.tsv");
pub const PG_TS_PARSER: &str = include_str!("../data/pg_ts_parser.tsv");
pub const PG_TS_TEMPLATE: &str = include_str!("../data/pg_ts_template.tsv");
pub const SQL_FEATURES: &str = include_str!("../data/sql_features.tsv");
pub const SQL_IMPLEMENTATION_INFO: &str = include_str!("../data/sql_implementation_info.tsv");
pub const SQL_PARTS: &str = include_str!("../data/sql_parts.tsv");
pub const SQL_SIZING: &str = include_str!("../data/sql_sizing.tsv");
