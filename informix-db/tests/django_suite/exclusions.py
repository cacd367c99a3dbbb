"""What is left out of Django's own tests, by the reason: names as `app.module.Class.test`."""

EXCLUDED = {
    "A DATETIME has five digits of a second, and the test's moment has six.": {
        "basic.tests.ModelRefreshTests.test_refresh_unsaved",
        "basic.tests.ModelRefreshTests.test_refresh_with_related",
        "queries.tests.Queries4Tests.test_filter_reverse_non_integer_pk",
    },
    "Informix has no time zones: a query cannot truncate a moment in another zone than that of the database.": {
        "datetimes.tests.DateTimesTests.test_21432",
    },
    "The test looks for SQL without the casts that tell Informix what a value is.": {
        "lookup.tests.LookupTests.test_lookup_direct_value_rhs_unwrapped",
    },
    "The test looks for the words that limit a query at its end.": {
        "queries.test_qs_combinators.QuerySetSetOperationTests.test_exists_union",
    },
    "Informix has no function GREATEST.": {
        "aggregation.tests.AggregateTestCase.test_expression_on_aggregation",
        "aggregation.tests.AggregateTestCase.test_group_by_nested_expression_with_params",
    },
    "A condition is no value in Informix, Django writes 1 or 0 for it, and BOOLEAN is no number.": {
        "aggregation.test_filter_argument.FilteredAggregateTests"
        ".test_filtered_aggregate_ref_multiple_subquery_annotation",
        "lookup.tests.LookupQueryingTests.test_aggregate_combined_lookup",
        "lookup.tests.LookupQueryingTests.test_filter_subquery_lhs",
    },
    "A duration is a number of microseconds, which Informix can neither add to a moment nor get from two.": {
        "aggregation.tests.AggregateTestCase.test_aggregation_default_using_duration_from_database",
        "annotations.tests.NonAggregateAnnotationTestCase.test_mixed_type_annotation_date_interval",
    },
    "No expression gives a BYTE.": {
        "expressions_case.tests.CaseExpressionTests.test_update_binary",
    },
    "Foreign keys are checked with each statement.": {
        "fixtures.tests.CircularReferenceTests.test_circular_reference",
        "fixtures.tests.ForwardReferenceTests.test_forward_reference_fk",
        "fixtures.tests.ForwardReferenceTests.test_forward_reference_m2m",
    },
    "A foreign key brings an index of its own, and a second one of the same columns is an error in Informix.": {
        "introspection.tests.IntrospectionTests.test_get_constraints_indexes_orders",
        "schema.tests.SchemaTests.test_alter_field_fk_keeps_index",
        "schema.tests.SchemaTests.test_alter_field_fk_to_o2o",
        "schema.tests.SchemaTests.test_foreign_key_index_long_names_regression",
    },
    "The foreign key of a new column is added by a statement of its own.": {
        "schema.tests.SchemaTests.test_add_inline_fk_update_data",
        "schema.tests.SchemaTests.test_inline_fk",
    },
    "A default of the database is a literal in Informix.": {
        "schema.tests.SchemaTests.test_db_default_output_field_resolving",
    },
}
