"""What Informix has of what Django may use."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.features import BaseDatabaseFeatures
from django.db.utils import InterfaceError


class DatabaseFeatures(BaseDatabaseFeatures):
    """Informix 12.10 and newer."""

    minimum_database_version = (12, 10)
    allow_sliced_subqueries_with_in = False
    bare_select_suffix = " FROM sysmaster:sysdual"
    can_alter_table_rename_column = True
    can_release_savepoints = True
    can_rollback_ddl = True
    closed_cursor_error_class = InterfaceError
    has_bulk_insert = False
    has_native_uuid_field = False
    interprets_empty_strings_as_nulls = False
    nulls_order_largest = False
    requires_literal_defaults = True
    supports_boolean_expr_in_select_clause = False
    supports_collation_on_charfield = False
    supports_collation_on_textfield = False
    supports_comparing_boolean_expr = False
    supports_default_in_lead_lag = True
    supports_default_keyword_in_insert = False
    supports_default_keyword_in_bulk_insert = False
    supports_expression_defaults = False
    supports_expression_indexes = False
    supports_forward_references = False
    supports_frame_range_fixed_distance = False
    supports_ignore_conflicts = False
    supports_json_field = False
    supports_non_deterministic_collations = False
    supports_over_clause = True
    supports_parentheses_in_compound = False
    supports_partial_indexes = False
    supports_functions_in_partial_indexes = False
    supports_regex_backreferencing = False
    supports_sequence_reset = False
    supports_slicing_ordering_in_compound = False
    supports_timezones = False
    supports_tuple_lookups = False
    supports_unspecified_pk = False
    has_zoneinfo_database = False
    time_cast_precision = 5
    # A foreign key brings an index of its own.
    indexes_foreign_keys = True
    test_collations: dict[str, Any] = {"ci": None, "cs": None, "non_default": None, "swedish_ci": None, "virtual": None}
    test_now_utc_template = "CURRENT YEAR TO FRACTION(5)"

    introspected_field_types = {
        **BaseDatabaseFeatures.introspected_field_types,
        "BinaryField": "BinaryField",
        "DurationField": "BigIntegerField",
        "GenericIPAddressField": "CharField",
        "PositiveBigIntegerField": "BigIntegerField",
        "PositiveIntegerField": "IntegerField",
        "PositiveSmallIntegerField": "SmallIntegerField",
        "SmallAutoField": "AutoField",
    }
