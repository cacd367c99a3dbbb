//! Functions and operators of ranges and multiranges; their comparison is with that of the other types.

use super::imp::{row, Imp, Row};
use Imp::{Inline, Native, NativeAggregate, NativeSet, NativeTyped};

pub const ROWS: &[Row] = &[
    row(
        "range_constructor2 range_constructor3 multirange_constructor0 multirange_constructor1 multirange_constructor2",
        NativeTyped,
    ),
    row(
        "range_lower range_upper range_empty range_lower_inc range_upper_inc range_lower_inf range_upper_inf \
         multirange_lower multirange_upper multirange_empty multirange_lower_inc multirange_upper_inc \
         multirange_lower_inf multirange_upper_inf",
        NativeTyped,
    ),
    row(
        "range_contains_elem elem_contained_by_range multirange_contains_elem elem_contained_by_multirange",
        NativeTyped,
    ),
    row(
        "range_contains range_contains_multirange multirange_contains_range multirange_contains_multirange \
         range_contained_by range_contained_by_multirange multirange_contained_by_range \
         multirange_contained_by_multirange",
        NativeTyped,
    ),
    row(
        "range_overlaps range_overlaps_multirange multirange_overlaps_range multirange_overlaps_multirange \
         range_adjacent range_adjacent_multirange multirange_adjacent_range multirange_adjacent_multirange",
        NativeTyped,
    ),
    row(
        "range_before range_before_multirange multirange_before_range multirange_before_multirange range_after \
         range_after_multirange multirange_after_range multirange_after_multirange range_overleft \
         range_overleft_multirange multirange_overleft_range multirange_overleft_multirange range_overright \
         range_overright_multirange multirange_overright_range multirange_overright_multirange",
        NativeTyped,
    ),
    row(
        "range_union range_intersect range_minus range_merge range_merge_from_multirange multirange_union \
         multirange_intersect multirange_minus range_cmp multirange_cmp",
        NativeTyped,
    ),
    // ranges are stored in canonical form
    row("int4range_canonical int8range_canonical daterange_canonical", Inline("$1")),
    row(
        "int4range_subdiff int8range_subdiff numrange_subdiff daterange_subdiff tsrange_subdiff tstzrange_subdiff",
        Native,
    ),
    row("multirange_unnest", NativeSet { typed: true }),
    row(
        "range_agg(anyrange) range_agg(anymultirange) range_intersect_agg(anyrange) \
         range_intersect_agg(anymultirange)",
        NativeAggregate { typed: true },
    ),
];
