"""What Informix can and cannot do, for SQLAlchemy's dialect tests. What it cannot has its reason here."""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

OPEN, CLOSED = exclusions.open, exclusions.closed

#: Properties that Informix has and that SQLAlchemy does not expect of everybody.
HAS = """
    autocommit autoincrement_insert check_constraint_reflection create_table_as datetime_interval
    foreign_key_constraint_option_reflection_ondelete implicitly_named_constraints isolation_level nullable_booleans
    reflects_pk_names savepoints sequences unique_constraint_reflection views
"""

#: Properties that it has not, and why.
LACKS = {
    "no RETURNING: generated numbers come with the answer to the INSERT": """
        insert_returning update_returning delete_returning
    """,
    "VALUES has one row": "multivalues_inserts",
    "INSERT names at least one column": "empty_inserts",
    "temporary tables are not in the system catalog": """
        temporary_tables temp_table_names temp_table_reflection has_temp_table
    """,
    "no ON UPDATE": "on_update_cascade foreign_key_constraint_option_reflection_onupdate",
    "no COMMENT": "comment_reflection",
    "no generated columns": "computed_columns",
    "a serial column is all that counts": "identity_columns",
    "JSON and BSON have no text form that can be bound": "json_type",
    "rows are compared column by column": "tuple_in",
    "FRACTION has five digits": "datetime_microseconds time_microseconds",
    "DECIMAL has 32 digits": "precision_numerics_enotation_large",
    "TEXT and BYTE cannot be compared": "text_type binary_comparisons",
    "no regular expressions": "regexp_match",
    "a table has one name whoever owns it, but in ANSI databases": "schemas",
    "FIRST and SKIP take numbers": "sql_expression_limit_offset",
    "FIRST and SKIP are not for a part of a UNION": """
        parens_in_union_contained_select_w_limit_offset parens_in_union_contained_select_wo_limit_offset
    """,
}


class Requirements(SuiteRequirements):
    """Properties that are not named have SQLAlchemy's default."""

    def get_isolation_levels(self, config):
        from informix_db.sqlalchemy.base import ISOLATION

        return {"default": "READ COMMITTED", "supported": [*ISOLATION, "AUTOCOMMIT"]}


for _name in HAS.split():
    assert hasattr(SuiteRequirements, _name), _name
    setattr(Requirements, _name, property(lambda self: OPEN()))
for _reason, _names in LACKS.items():
    for _name in _names.split():
        assert hasattr(SuiteRequirements, _name), _name
        setattr(
            Requirements, _name, property(lambda self, reason=_reason: exclusions.skip_if(lambda config: True, reason))
        )
