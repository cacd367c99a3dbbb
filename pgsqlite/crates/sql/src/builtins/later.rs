//! Functions that PostgreSQL 16 to 18 have added (`later_proc.tsv`). A call finds them where it finds no function of PostgreSQL 15 and none of the
//! user that takes its arguments, so that what 15 answers stays the same.

use super::imp::{row, Imp, Row};
use Imp::{Inline, InlineAggregate, Native, NativeAggregate, NativeSet, NativeTyped, Sql};

pub const ROWS: &[Row] = &[
    row("drandom_normal int4random int8random numeric_random derf derfc dgamma dlgamma", Native),
    row("to_bin32 to_bin64 to_oct32 to_oct64 crc32_bytea crc32c_bytea bytea_reverse", Native),
    row("int2_bytea int4_bytea int8_bytea bytea_int2 bytea_int4 bytea_int8", Native),
    row("uuidv7 uuidv7_interval uuid_extract_timestamp uuid_extract_version", Native),
    row(
        "array_reverse array_sort array_sort_order array_sort_order_nulls_first array_shuffle array_sample",
        NativeTyped,
    ),
    row("casefold", Sql("lower($1)")),
    row("timestamptz_pl_interval_at_zone timestamptz_mi_interval_at_zone", Native),
    row("generate_series_timestamptz_at_zone", NativeSet { typed: false }),
    row("timestamptz_at_local timestamp_at_local timetz_at_local", Native),
    row("json_strip_nulls_in_arrays jsonb_strip_nulls_in_arrays", Native),
    row("pg_input_is_valid pg_input_error_info pg_basetype to_regtypemod", Native),
    row("hashbytea hashbyteaextended hashdate hashdateextended hashbool hashboolextended", Native),
    row("timestamptz_hash timestamptz_hash_extended", Native),
    row("any_value(anyelement)", NativeAggregate { typed: false }),
    row("any_value_transfn", Inline("iif($2 IS NULL, NULL, $1)")),
    row("min(bytea) min(record)", InlineAggregate("min($1)")),
    row("max(bytea) max(record)", InlineAggregate("max($1)")),
    row("bytea_larger record_larger", Inline("max($2, $1)")),
    row("bytea_smaller record_smaller", Inline("min($1, $2)")),
    row(
        "json_agg_strict(anyelement) jsonb_agg_strict(anyelement) json_object_agg_strict(any,any) json_object_agg_unique(any,any) \
         json_object_agg_unique_strict(any,any) jsonb_object_agg_strict(any,any) jsonb_object_agg_unique(any,any) \
         jsonb_object_agg_unique_strict(any,any)",
        NativeAggregate { typed: true },
    ),
];
