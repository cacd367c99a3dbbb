//! Functions that print the definitions of the database's objects.

use super::imp::{row, Imp, Row};

pub const ROWS: &[Row] = &[
    row(
        "record_image_eq record_image_ne record_image_lt record_image_le record_image_gt record_image_ge btrecordimagecmp",
        Imp::Native,
    ),
    row("pg_get_expr pg_get_expr_ext pg_get_constraintdef pg_get_constraintdef_ext", Imp::Native),
    row(
        "pg_get_indexdef pg_get_indexdef_ext pg_get_viewdef pg_get_viewdef_ext pg_get_viewdef_wrap \
         pg_get_viewdef_name pg_get_viewdef_name_ext",
        Imp::Native,
    ),
    row("pg_get_functiondef pg_get_triggerdef pg_get_triggerdef_ext", Imp::Native),
    row("pg_get_function_result pg_get_function_arguments pg_get_function_identity_arguments", Imp::Native),
    row(
        "pg_relation_is_publishable pg_partition_root pg_get_function_sqlbody pg_statistics_obj_is_visible",
        Imp::Native,
    ),
    row("pg_conversion_is_visible pg_tablespace_location", Imp::Native),
    row("pg_relation_is_updatable pg_column_is_updatable", Imp::Native),
    row("satisfies_hash_partition", Imp::NativeTyped),
    row("pg_partition_ancestors pg_partition_tree", Imp::NativeSet { typed: false }),
    row(
        "pg_get_ruledef pg_get_ruledef_ext pg_index_column_has_property pg_index_has_property pg_indexam_has_property",
        Imp::Native,
    ),
    row(
        "pg_get_statisticsobjdef pg_get_statisticsobjdef_columns pg_get_statisticsobjdef_expressions",
        Imp::Native,
    ),
    row("pg_get_partkeydef pg_get_partition_constraintdef", Imp::Native),
];
