//! Functions of arrays, json and jsonb.

use super::imp::{row, Imp, Row};
use Imp::{Native, NativeAggregate, NativeSet, NativeTyped, Special};

pub const ROWS: &[Row] = &[
    row(
        "array_length array_lower array_upper array_ndims array_dims array_cardinality array_cat trim_array \
         enum_first enum_last array_fill array_fill_with_lower_bounds width_bucket_array enum_range_bounds array_to_json_pretty row_to_json_pretty",
        NativeTyped,
    ),
    row(
        "array_append array_prepend array_remove array_replace array_position array_position_start array_positions \
         arraycontains arraycontained arrayoverlap array_to_json to_json to_jsonb row_to_json \
         json_build_object json_build_array jsonb_build_object jsonb_build_array enum_range_all",
        NativeTyped,
    ),
    row("json_build_object_noargs json_build_array_noargs jsonb_build_object_noargs jsonb_build_array_noargs", Native),
    // only with a column definition list, which analysis hands over
    row("json_to_record json_to_recordset jsonb_to_record jsonb_to_recordset", Special),
    row("json_populate_record jsonb_populate_record", NativeTyped),
    row("json_populate_recordset jsonb_populate_recordset", NativeSet { typed: true }),
    row("array_unnest _pg_expandarray(anyarray)", NativeSet { typed: false }),
    row("generate_subscripts_nodir generate_subscripts", NativeSet { typed: true }),
    row(
        "json_object_field json_object_field_text json_array_element json_array_element_text json_extract_path \
         json_extract_path_text jsonb_object_field jsonb_object_field_text jsonb_array_element \
         jsonb_array_element_text jsonb_extract_path jsonb_extract_path_text json_typeof jsonb_typeof \
         json_array_length jsonb_array_length jsonb_contains jsonb_contained jsonb_exists jsonb_exists_any \
         jsonb_exists_all jsonb_concat jsonb_delete jsonb_delete_idx jsonb_delete_array jsonb_delete_path jsonb_set \
         jsonb_insert jsonb_pretty jsonb_strip_nulls jsonb_bool jsonb_int2 jsonb_int4 jsonb_int8 jsonb_numeric \
         jsonb_float4 jsonb_float8 jsonb_object jsonb_object_two_arg json_object json_object_two_arg json_strip_nulls jsonb_set_lax",
        Native,
    ),
    row(
        "json_object_keys jsonb_object_keys json_array_elements json_array_elements_text jsonb_array_elements \
         jsonb_array_elements_text json_each json_each_text jsonb_each jsonb_each_text",
        NativeSet { typed: false },
    ),
    row(
        "json_agg(anyelement) jsonb_agg(anyelement) json_object_agg(any,any) jsonb_object_agg(any,any)",
        NativeAggregate { typed: true },
    ),
];
