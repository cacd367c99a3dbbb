"""What Informix can and cannot do, for SQLAlchemy's dialect tests."""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

OPEN, CLOSED = exclusions.open, exclusions.closed


class Requirements(SuiteRequirements):
    """Properties that are not named here have SQLAlchemy's default."""

    autoincrement_insert = property(lambda self: OPEN())
    savepoints = property(lambda self: OPEN())
    sequences = property(lambda self: OPEN())
    views = property(lambda self: OPEN())
    temporary_tables = property(lambda self: CLOSED())
    temp_table_names = property(lambda self: CLOSED())
    temp_table_reflection = property(lambda self: CLOSED())  # temporary tables are not in the system catalog
    has_temp_table = property(lambda self: CLOSED())
    multivalues_inserts = property(lambda self: CLOSED())
    insert_returning = property(lambda self: CLOSED())
    update_returning = property(lambda self: CLOSED())
    delete_returning = property(lambda self: CLOSED())
    empty_inserts = property(lambda self: CLOSED())
    on_update_cascade = property(lambda self: CLOSED())
    foreign_key_constraint_option_reflection_onupdate = property(lambda self: CLOSED())
    foreign_key_constraint_option_reflection_ondelete = property(lambda self: OPEN())
    unique_constraint_reflection = property(lambda self: OPEN())
    check_constraint_reflection = property(lambda self: OPEN())
    comment_reflection = property(lambda self: CLOSED())
    computed_columns = property(lambda self: CLOSED())
    identity_columns = property(lambda self: CLOSED())
    json_type = property(lambda self: CLOSED())
    tuple_in = property(lambda self: CLOSED())
    isolation_level = property(lambda self: OPEN())
    autocommit = property(lambda self: OPEN())
    datetime_microseconds = property(lambda self: CLOSED())  # five digits of the second, not six
    time_microseconds = property(lambda self: CLOSED())
    datetime_interval = property(lambda self: OPEN())
    precision_numerics_enotation_large = property(lambda self: CLOSED())  # 32 digits
    nullable_booleans = property(lambda self: OPEN())
    text_type = property(lambda self: CLOSED())  # TEXT cannot be compared
    binary_comparisons = property(lambda self: CLOSED())
    regexp_match = property(lambda self: CLOSED())
    create_table_as = property(lambda self: CLOSED())
    schemas = property(lambda self: CLOSED())
    implicitly_named_constraints = property(lambda self: OPEN())
    reflects_pk_names = property(lambda self: OPEN())
    sql_expression_limit_offset = property(lambda self: CLOSED())
    parens_in_union_contained_select_w_limit_offset = property(lambda self: CLOSED())
    parens_in_union_contained_select_wo_limit_offset = property(lambda self: CLOSED())

    def get_isolation_levels(self, config):
        from informix_db.sqlalchemy.base import ISOLATION

        return {"default": "READ COMMITTED", "supported": [*ISOLATION, "AUTOCOMMIT"]}
