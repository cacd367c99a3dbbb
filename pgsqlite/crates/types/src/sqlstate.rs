// Written by gen/rust_tables.py from data/sqlstate.tsv: do not edit.
//! SQLSTATEs (manual, appendix A).

use std::fmt;

/// A five-character SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// A code given as text (`RAISE … USING ERRCODE`); None unless it is five of `0-9A-Z`.
    pub fn parse(code: &str) -> Option<Self> {
        let bytes: [u8; 5] = code.as_bytes().try_into().ok()?;
        bytes.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()).then_some(SqlState(bytes))
    }
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a SQLSTATE is ASCII")
    }
    /// The code of a condition name (`unique_violation`).
    pub fn by_name(name: &str) -> Option<Self> {
        NAMES.binary_search_by_key(&name, |(n, _)| n).ok().map(|i| NAMES[i].1)
    }
    pub const SUCCESSFUL_COMPLETION: SqlState = SqlState(*b"00000");
    pub const NO_DATA: SqlState = SqlState(*b"02000");
    pub const NO_ADDITIONAL_DYNAMIC_RESULT_SETS_RETURNED: SqlState = SqlState(*b"02001");
    pub const SQL_STATEMENT_NOT_YET_COMPLETE: SqlState = SqlState(*b"03000");
    pub const CONNECTION_EXCEPTION: SqlState = SqlState(*b"08000");
    pub const CONNECTION_DOES_NOT_EXIST: SqlState = SqlState(*b"08003");
    pub const CONNECTION_FAILURE: SqlState = SqlState(*b"08006");
    pub const SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION: SqlState = SqlState(*b"08001");
    pub const SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION: SqlState = SqlState(*b"08004");
    pub const TRANSACTION_RESOLUTION_UNKNOWN: SqlState = SqlState(*b"08007");
    pub const PROTOCOL_VIOLATION: SqlState = SqlState(*b"08P01");
    pub const TRIGGERED_ACTION_EXCEPTION: SqlState = SqlState(*b"09000");
    pub const FEATURE_NOT_SUPPORTED: SqlState = SqlState(*b"0A000");
    pub const INVALID_TRANSACTION_INITIATION: SqlState = SqlState(*b"0B000");
    pub const LOCATOR_EXCEPTION: SqlState = SqlState(*b"0F000");
    pub const INVALID_LOCATOR_SPECIFICATION: SqlState = SqlState(*b"0F001");
    pub const INVALID_GRANTOR: SqlState = SqlState(*b"0L000");
    pub const INVALID_GRANT_OPERATION: SqlState = SqlState(*b"0LP01");
    pub const INVALID_ROLE_SPECIFICATION: SqlState = SqlState(*b"0P000");
    pub const DIAGNOSTICS_EXCEPTION: SqlState = SqlState(*b"0Z000");
    pub const STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER: SqlState = SqlState(*b"0Z002");
    pub const CASE_NOT_FOUND: SqlState = SqlState(*b"20000");
    pub const CARDINALITY_VIOLATION: SqlState = SqlState(*b"21000");
    pub const DATA_EXCEPTION: SqlState = SqlState(*b"22000");
    pub const ARRAY_ELEMENT_ERROR: SqlState = SqlState(*b"2202E");
    pub const ARRAY_SUBSCRIPT_ERROR: SqlState = SqlState(*b"2202E");
    pub const CHARACTER_NOT_IN_REPERTOIRE: SqlState = SqlState(*b"22021");
    pub const DATETIME_FIELD_OVERFLOW: SqlState = SqlState(*b"22008");
    pub const DATETIME_VALUE_OUT_OF_RANGE: SqlState = SqlState(*b"22008");
    pub const DIVISION_BY_ZERO: SqlState = SqlState(*b"22012");
    pub const ERROR_IN_ASSIGNMENT: SqlState = SqlState(*b"22005");
    pub const ESCAPE_CHARACTER_CONFLICT: SqlState = SqlState(*b"2200B");
    pub const INDICATOR_OVERFLOW: SqlState = SqlState(*b"22022");
    pub const INTERVAL_FIELD_OVERFLOW: SqlState = SqlState(*b"22015");
    pub const INVALID_ARGUMENT_FOR_LOGARITHM: SqlState = SqlState(*b"2201E");
    pub const INVALID_ARGUMENT_FOR_NTILE_FUNCTION: SqlState = SqlState(*b"22014");
    pub const INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION: SqlState = SqlState(*b"22016");
    pub const INVALID_ARGUMENT_FOR_POWER_FUNCTION: SqlState = SqlState(*b"2201F");
    pub const INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION: SqlState = SqlState(*b"2201G");
    pub const INVALID_CHARACTER_VALUE_FOR_CAST: SqlState = SqlState(*b"22018");
    pub const INVALID_DATETIME_FORMAT: SqlState = SqlState(*b"22007");
    pub const INVALID_ESCAPE_CHARACTER: SqlState = SqlState(*b"22019");
    pub const INVALID_ESCAPE_OCTET: SqlState = SqlState(*b"2200D");
    pub const INVALID_ESCAPE_SEQUENCE: SqlState = SqlState(*b"22025");
    pub const NONSTANDARD_USE_OF_ESCAPE_CHARACTER: SqlState = SqlState(*b"22P06");
    pub const INVALID_INDICATOR_PARAMETER_VALUE: SqlState = SqlState(*b"22010");
    pub const INVALID_PARAMETER_VALUE: SqlState = SqlState(*b"22023");
    pub const INVALID_PRECEDING_OR_FOLLOWING_SIZE: SqlState = SqlState(*b"22013");
    pub const INVALID_REGULAR_EXPRESSION: SqlState = SqlState(*b"2201B");
    pub const INVALID_ROW_COUNT_IN_LIMIT_CLAUSE: SqlState = SqlState(*b"2201W");
    pub const INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE: SqlState = SqlState(*b"2201X");
    pub const INVALID_TABLESAMPLE_ARGUMENT: SqlState = SqlState(*b"2202H");
    pub const INVALID_TABLESAMPLE_REPEAT: SqlState = SqlState(*b"2202G");
    pub const INVALID_TIME_ZONE_DISPLACEMENT_VALUE: SqlState = SqlState(*b"22009");
    pub const INVALID_USE_OF_ESCAPE_CHARACTER: SqlState = SqlState(*b"2200C");
    pub const MOST_SPECIFIC_TYPE_MISMATCH: SqlState = SqlState(*b"2200G");
    pub const NULL_VALUE_NOT_ALLOWED: SqlState = SqlState(*b"22004");
    pub const NULL_VALUE_NO_INDICATOR_PARAMETER: SqlState = SqlState(*b"22002");
    pub const NUMERIC_VALUE_OUT_OF_RANGE: SqlState = SqlState(*b"22003");
    pub const SEQUENCE_GENERATOR_LIMIT_EXCEEDED: SqlState = SqlState(*b"2200H");
    pub const STRING_DATA_LENGTH_MISMATCH: SqlState = SqlState(*b"22026");
    pub const STRING_DATA_RIGHT_TRUNCATION: SqlState = SqlState(*b"22001");
    pub const SUBSTRING_ERROR: SqlState = SqlState(*b"22011");
    pub const TRIM_ERROR: SqlState = SqlState(*b"22027");
    pub const UNTERMINATED_C_STRING: SqlState = SqlState(*b"22024");
    pub const ZERO_LENGTH_CHARACTER_STRING: SqlState = SqlState(*b"2200F");
    pub const FLOATING_POINT_EXCEPTION: SqlState = SqlState(*b"22P01");
    pub const INVALID_TEXT_REPRESENTATION: SqlState = SqlState(*b"22P02");
    pub const INVALID_BINARY_REPRESENTATION: SqlState = SqlState(*b"22P03");
    pub const BAD_COPY_FILE_FORMAT: SqlState = SqlState(*b"22P04");
    pub const UNTRANSLATABLE_CHARACTER: SqlState = SqlState(*b"22P05");
    pub const NOT_AN_XML_DOCUMENT: SqlState = SqlState(*b"2200L");
    pub const INVALID_XML_DOCUMENT: SqlState = SqlState(*b"2200M");
    pub const INVALID_XML_CONTENT: SqlState = SqlState(*b"2200N");
    pub const INVALID_XML_COMMENT: SqlState = SqlState(*b"2200S");
    pub const INVALID_XML_PROCESSING_INSTRUCTION: SqlState = SqlState(*b"2200T");
    pub const DUPLICATE_JSON_OBJECT_KEY_VALUE: SqlState = SqlState(*b"22030");
    pub const INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION: SqlState = SqlState(*b"22031");
    pub const INVALID_JSON_TEXT: SqlState = SqlState(*b"22032");
    pub const INVALID_SQL_JSON_SUBSCRIPT: SqlState = SqlState(*b"22033");
    pub const MORE_THAN_ONE_SQL_JSON_ITEM: SqlState = SqlState(*b"22034");
    pub const NO_SQL_JSON_ITEM: SqlState = SqlState(*b"22035");
    pub const NON_NUMERIC_SQL_JSON_ITEM: SqlState = SqlState(*b"22036");
    pub const NON_UNIQUE_KEYS_IN_A_JSON_OBJECT: SqlState = SqlState(*b"22037");
    pub const SINGLETON_SQL_JSON_ITEM_REQUIRED: SqlState = SqlState(*b"22038");
    pub const SQL_JSON_ARRAY_NOT_FOUND: SqlState = SqlState(*b"22039");
    pub const SQL_JSON_MEMBER_NOT_FOUND: SqlState = SqlState(*b"2203A");
    pub const SQL_JSON_NUMBER_NOT_FOUND: SqlState = SqlState(*b"2203B");
    pub const SQL_JSON_OBJECT_NOT_FOUND: SqlState = SqlState(*b"2203C");
    pub const TOO_MANY_JSON_ARRAY_ELEMENTS: SqlState = SqlState(*b"2203D");
    pub const TOO_MANY_JSON_OBJECT_MEMBERS: SqlState = SqlState(*b"2203E");
    pub const SQL_JSON_SCALAR_REQUIRED: SqlState = SqlState(*b"2203F");
    pub const SQL_JSON_ITEM_CANNOT_BE_CAST_TO_TARGET_TYPE: SqlState = SqlState(*b"2203G");
    pub const INTEGRITY_CONSTRAINT_VIOLATION: SqlState = SqlState(*b"23000");
    pub const RESTRICT_VIOLATION: SqlState = SqlState(*b"23001");
    pub const NOT_NULL_VIOLATION: SqlState = SqlState(*b"23502");
    pub const FOREIGN_KEY_VIOLATION: SqlState = SqlState(*b"23503");
    pub const UNIQUE_VIOLATION: SqlState = SqlState(*b"23505");
    pub const CHECK_VIOLATION: SqlState = SqlState(*b"23514");
    pub const EXCLUSION_VIOLATION: SqlState = SqlState(*b"23P01");
    pub const INVALID_CURSOR_STATE: SqlState = SqlState(*b"24000");
    pub const INVALID_TRANSACTION_STATE: SqlState = SqlState(*b"25000");
    pub const ACTIVE_SQL_TRANSACTION: SqlState = SqlState(*b"25001");
    pub const BRANCH_TRANSACTION_ALREADY_ACTIVE: SqlState = SqlState(*b"25002");
    pub const HELD_CURSOR_REQUIRES_SAME_ISOLATION_LEVEL: SqlState = SqlState(*b"25008");
    pub const INAPPROPRIATE_ACCESS_MODE_FOR_BRANCH_TRANSACTION: SqlState = SqlState(*b"25003");
    pub const INAPPROPRIATE_ISOLATION_LEVEL_FOR_BRANCH_TRANSACTION: SqlState = SqlState(*b"25004");
    pub const NO_ACTIVE_SQL_TRANSACTION_FOR_BRANCH_TRANSACTION: SqlState = SqlState(*b"25005");
    pub const READ_ONLY_SQL_TRANSACTION: SqlState = SqlState(*b"25006");
    pub const SCHEMA_AND_DATA_STATEMENT_MIXING_NOT_SUPPORTED: SqlState = SqlState(*b"25007");
    pub const NO_ACTIVE_SQL_TRANSACTION: SqlState = SqlState(*b"25P01");
    pub const IN_FAILED_SQL_TRANSACTION: SqlState = SqlState(*b"25P02");
    pub const IDLE_IN_TRANSACTION_SESSION_TIMEOUT: SqlState = SqlState(*b"25P03");
    /// Of PostgreSQL 17 and later.
    pub const TRANSACTION_TIMEOUT: SqlState = SqlState(*b"25P04");
    pub const INVALID_SQL_STATEMENT_NAME: SqlState = SqlState(*b"26000");
    pub const TRIGGERED_DATA_CHANGE_VIOLATION: SqlState = SqlState(*b"27000");
    pub const INVALID_AUTHORIZATION_SPECIFICATION: SqlState = SqlState(*b"28000");
    pub const INVALID_PASSWORD: SqlState = SqlState(*b"28P01");
    pub const DEPENDENT_PRIVILEGE_DESCRIPTORS_STILL_EXIST: SqlState = SqlState(*b"2B000");
    pub const DEPENDENT_OBJECTS_STILL_EXIST: SqlState = SqlState(*b"2BP01");
    pub const INVALID_TRANSACTION_TERMINATION: SqlState = SqlState(*b"2D000");
    pub const SQL_ROUTINE_EXCEPTION: SqlState = SqlState(*b"2F000");
    pub const FUNCTION_EXECUTED_NO_RETURN_STATEMENT: SqlState = SqlState(*b"2F005");
    pub const MODIFYING_SQL_DATA_NOT_PERMITTED: SqlState = SqlState(*b"2F002");
    pub const PROHIBITED_SQL_STATEMENT_ATTEMPTED: SqlState = SqlState(*b"2F003");
    pub const READING_SQL_DATA_NOT_PERMITTED: SqlState = SqlState(*b"2F004");
    pub const INVALID_CURSOR_NAME: SqlState = SqlState(*b"34000");
    pub const EXTERNAL_ROUTINE_EXCEPTION: SqlState = SqlState(*b"38000");
    pub const CONTAINING_SQL_NOT_PERMITTED: SqlState = SqlState(*b"38001");
    pub const MODIFYING_SQL_DATA_NOT_PERMITTED_38002: SqlState = SqlState(*b"38002");
    pub const PROHIBITED_SQL_STATEMENT_ATTEMPTED_38003: SqlState = SqlState(*b"38003");
    pub const READING_SQL_DATA_NOT_PERMITTED_38004: SqlState = SqlState(*b"38004");
    pub const EXTERNAL_ROUTINE_INVOCATION_EXCEPTION: SqlState = SqlState(*b"39000");
    pub const INVALID_SQLSTATE_RETURNED: SqlState = SqlState(*b"39001");
    pub const NULL_VALUE_NOT_ALLOWED_39004: SqlState = SqlState(*b"39004");
    pub const TRIGGER_PROTOCOL_VIOLATED: SqlState = SqlState(*b"39P01");
    pub const SRF_PROTOCOL_VIOLATED: SqlState = SqlState(*b"39P02");
    pub const EVENT_TRIGGER_PROTOCOL_VIOLATED: SqlState = SqlState(*b"39P03");
    pub const SAVEPOINT_EXCEPTION: SqlState = SqlState(*b"3B000");
    pub const INVALID_SAVEPOINT_SPECIFICATION: SqlState = SqlState(*b"3B001");
    pub const INVALID_CATALOG_NAME: SqlState = SqlState(*b"3D000");
    pub const INVALID_SCHEMA_NAME: SqlState = SqlState(*b"3F000");
    pub const TRANSACTION_ROLLBACK: SqlState = SqlState(*b"40000");
    pub const TRANSACTION_INTEGRITY_CONSTRAINT_VIOLATION: SqlState = SqlState(*b"40002");
    pub const SERIALIZATION_FAILURE: SqlState = SqlState(*b"40001");
    pub const STATEMENT_COMPLETION_UNKNOWN: SqlState = SqlState(*b"40003");
    pub const DEADLOCK_DETECTED: SqlState = SqlState(*b"40P01");
    pub const SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION: SqlState = SqlState(*b"42000");
    pub const SYNTAX_ERROR: SqlState = SqlState(*b"42601");
    pub const INSUFFICIENT_PRIVILEGE: SqlState = SqlState(*b"42501");
    pub const CANNOT_COERCE: SqlState = SqlState(*b"42846");
    pub const GROUPING_ERROR: SqlState = SqlState(*b"42803");
    pub const WINDOWING_ERROR: SqlState = SqlState(*b"42P20");
    pub const INVALID_RECURSION: SqlState = SqlState(*b"42P19");
    pub const INVALID_FOREIGN_KEY: SqlState = SqlState(*b"42830");
    pub const INVALID_NAME: SqlState = SqlState(*b"42602");
    pub const NAME_TOO_LONG: SqlState = SqlState(*b"42622");
    pub const RESERVED_NAME: SqlState = SqlState(*b"42939");
    pub const DATATYPE_MISMATCH: SqlState = SqlState(*b"42804");
    pub const INDETERMINATE_DATATYPE: SqlState = SqlState(*b"42P18");
    pub const COLLATION_MISMATCH: SqlState = SqlState(*b"42P21");
    pub const INDETERMINATE_COLLATION: SqlState = SqlState(*b"42P22");
    pub const WRONG_OBJECT_TYPE: SqlState = SqlState(*b"42809");
    pub const GENERATED_ALWAYS: SqlState = SqlState(*b"428C9");
    pub const UNDEFINED_COLUMN: SqlState = SqlState(*b"42703");
    pub const UNDEFINED_CURSOR: SqlState = SqlState(*b"34000");
    pub const UNDEFINED_DATABASE: SqlState = SqlState(*b"3D000");
    pub const UNDEFINED_FUNCTION: SqlState = SqlState(*b"42883");
    pub const UNDEFINED_PSTATEMENT: SqlState = SqlState(*b"26000");
    pub const UNDEFINED_SCHEMA: SqlState = SqlState(*b"3F000");
    pub const UNDEFINED_TABLE: SqlState = SqlState(*b"42P01");
    pub const UNDEFINED_PARAMETER: SqlState = SqlState(*b"42P02");
    pub const UNDEFINED_OBJECT: SqlState = SqlState(*b"42704");
    pub const DUPLICATE_COLUMN: SqlState = SqlState(*b"42701");
    pub const DUPLICATE_CURSOR: SqlState = SqlState(*b"42P03");
    pub const DUPLICATE_DATABASE: SqlState = SqlState(*b"42P04");
    pub const DUPLICATE_FUNCTION: SqlState = SqlState(*b"42723");
    pub const DUPLICATE_PREPARED_STATEMENT: SqlState = SqlState(*b"42P05");
    pub const DUPLICATE_SCHEMA: SqlState = SqlState(*b"42P06");
    pub const DUPLICATE_TABLE: SqlState = SqlState(*b"42P07");
    pub const DUPLICATE_ALIAS: SqlState = SqlState(*b"42712");
    pub const DUPLICATE_OBJECT: SqlState = SqlState(*b"42710");
    pub const AMBIGUOUS_COLUMN: SqlState = SqlState(*b"42702");
    pub const AMBIGUOUS_FUNCTION: SqlState = SqlState(*b"42725");
    pub const AMBIGUOUS_PARAMETER: SqlState = SqlState(*b"42P08");
    pub const AMBIGUOUS_ALIAS: SqlState = SqlState(*b"42P09");
    pub const INVALID_COLUMN_REFERENCE: SqlState = SqlState(*b"42P10");
    pub const INVALID_COLUMN_DEFINITION: SqlState = SqlState(*b"42611");
    pub const INVALID_CURSOR_DEFINITION: SqlState = SqlState(*b"42P11");
    pub const INVALID_DATABASE_DEFINITION: SqlState = SqlState(*b"42P12");
    pub const INVALID_FUNCTION_DEFINITION: SqlState = SqlState(*b"42P13");
    pub const INVALID_PREPARED_STATEMENT_DEFINITION: SqlState = SqlState(*b"42P14");
    pub const INVALID_SCHEMA_DEFINITION: SqlState = SqlState(*b"42P15");
    pub const INVALID_TABLE_DEFINITION: SqlState = SqlState(*b"42P16");
    pub const INVALID_OBJECT_DEFINITION: SqlState = SqlState(*b"42P17");
    pub const WITH_CHECK_OPTION_VIOLATION: SqlState = SqlState(*b"44000");
    pub const INSUFFICIENT_RESOURCES: SqlState = SqlState(*b"53000");
    pub const DISK_FULL: SqlState = SqlState(*b"53100");
    pub const OUT_OF_MEMORY: SqlState = SqlState(*b"53200");
    pub const TOO_MANY_CONNECTIONS: SqlState = SqlState(*b"53300");
    pub const CONFIGURATION_LIMIT_EXCEEDED: SqlState = SqlState(*b"53400");
    pub const PROGRAM_LIMIT_EXCEEDED: SqlState = SqlState(*b"54000");
    pub const STATEMENT_TOO_COMPLEX: SqlState = SqlState(*b"54001");
    pub const TOO_MANY_COLUMNS: SqlState = SqlState(*b"54011");
    pub const TOO_MANY_ARGUMENTS: SqlState = SqlState(*b"54023");
    pub const OBJECT_NOT_IN_PREREQUISITE_STATE: SqlState = SqlState(*b"55000");
    pub const OBJECT_IN_USE: SqlState = SqlState(*b"55006");
    pub const CANT_CHANGE_RUNTIME_PARAM: SqlState = SqlState(*b"55P02");
    pub const LOCK_NOT_AVAILABLE: SqlState = SqlState(*b"55P03");
    pub const UNSAFE_NEW_ENUM_VALUE_USAGE: SqlState = SqlState(*b"55P04");
    pub const OPERATOR_INTERVENTION: SqlState = SqlState(*b"57000");
    pub const QUERY_CANCELED: SqlState = SqlState(*b"57014");
    pub const ADMIN_SHUTDOWN: SqlState = SqlState(*b"57P01");
    pub const CRASH_SHUTDOWN: SqlState = SqlState(*b"57P02");
    pub const CANNOT_CONNECT_NOW: SqlState = SqlState(*b"57P03");
    pub const DATABASE_DROPPED: SqlState = SqlState(*b"57P04");
    pub const IDLE_SESSION_TIMEOUT: SqlState = SqlState(*b"57P05");
    pub const SYSTEM_ERROR: SqlState = SqlState(*b"58000");
    pub const IO_ERROR: SqlState = SqlState(*b"58030");
    pub const UNDEFINED_FILE: SqlState = SqlState(*b"58P01");
    pub const DUPLICATE_FILE: SqlState = SqlState(*b"58P02");
    pub const SNAPSHOT_TOO_OLD: SqlState = SqlState(*b"72000");
    pub const CONFIG_FILE_ERROR: SqlState = SqlState(*b"F0000");
    pub const LOCK_FILE_EXISTS: SqlState = SqlState(*b"F0001");
    pub const FDW_ERROR: SqlState = SqlState(*b"HV000");
    pub const FDW_COLUMN_NAME_NOT_FOUND: SqlState = SqlState(*b"HV005");
    pub const FDW_DYNAMIC_PARAMETER_VALUE_NEEDED: SqlState = SqlState(*b"HV002");
    pub const FDW_FUNCTION_SEQUENCE_ERROR: SqlState = SqlState(*b"HV010");
    pub const FDW_INCONSISTENT_DESCRIPTOR_INFORMATION: SqlState = SqlState(*b"HV021");
    pub const FDW_INVALID_ATTRIBUTE_VALUE: SqlState = SqlState(*b"HV024");
    pub const FDW_INVALID_COLUMN_NAME: SqlState = SqlState(*b"HV007");
    pub const FDW_INVALID_COLUMN_NUMBER: SqlState = SqlState(*b"HV008");
    pub const FDW_INVALID_DATA_TYPE: SqlState = SqlState(*b"HV004");
    pub const FDW_INVALID_DATA_TYPE_DESCRIPTORS: SqlState = SqlState(*b"HV006");
    pub const FDW_INVALID_DESCRIPTOR_FIELD_IDENTIFIER: SqlState = SqlState(*b"HV091");
    pub const FDW_INVALID_HANDLE: SqlState = SqlState(*b"HV00B");
    pub const FDW_INVALID_OPTION_INDEX: SqlState = SqlState(*b"HV00C");
    pub const FDW_INVALID_OPTION_NAME: SqlState = SqlState(*b"HV00D");
    pub const FDW_INVALID_STRING_LENGTH_OR_BUFFER_LENGTH: SqlState = SqlState(*b"HV090");
    pub const FDW_INVALID_STRING_FORMAT: SqlState = SqlState(*b"HV00A");
    pub const FDW_INVALID_USE_OF_NULL_POINTER: SqlState = SqlState(*b"HV009");
    pub const FDW_TOO_MANY_HANDLES: SqlState = SqlState(*b"HV014");
    pub const FDW_OUT_OF_MEMORY: SqlState = SqlState(*b"HV001");
    pub const FDW_NO_SCHEMAS: SqlState = SqlState(*b"HV00P");
    pub const FDW_OPTION_NAME_NOT_FOUND: SqlState = SqlState(*b"HV00J");
    pub const FDW_REPLY_HANDLE: SqlState = SqlState(*b"HV00K");
    pub const FDW_SCHEMA_NOT_FOUND: SqlState = SqlState(*b"HV00Q");
    pub const FDW_TABLE_NOT_FOUND: SqlState = SqlState(*b"HV00R");
    pub const FDW_UNABLE_TO_CREATE_EXECUTION: SqlState = SqlState(*b"HV00L");
    pub const FDW_UNABLE_TO_CREATE_REPLY: SqlState = SqlState(*b"HV00M");
    pub const FDW_UNABLE_TO_ESTABLISH_CONNECTION: SqlState = SqlState(*b"HV00N");
    pub const PLPGSQL_ERROR: SqlState = SqlState(*b"P0000");
    pub const RAISE_EXCEPTION: SqlState = SqlState(*b"P0001");
    pub const NO_DATA_FOUND: SqlState = SqlState(*b"P0002");
    pub const TOO_MANY_ROWS: SqlState = SqlState(*b"P0003");
    pub const ASSERT_FAILURE: SqlState = SqlState(*b"P0004");
    pub const INTERNAL_ERROR: SqlState = SqlState(*b"XX000");
    pub const DATA_CORRUPTED: SqlState = SqlState(*b"XX001");
    pub const INDEX_CORRUPTED: SqlState = SqlState(*b"XX002");
    pub const WARNING: SqlState = SqlState(*b"01000");
    pub const DYNAMIC_RESULT_SETS_RETURNED: SqlState = SqlState(*b"0100C");
    pub const IMPLICIT_ZERO_BIT_PADDING: SqlState = SqlState(*b"01008");
    pub const NULL_VALUE_ELIMINATED_IN_SET_FUNCTION: SqlState = SqlState(*b"01003");
    pub const PRIVILEGE_NOT_GRANTED: SqlState = SqlState(*b"01007");
    pub const PRIVILEGE_NOT_REVOKED: SqlState = SqlState(*b"01006");
    pub const STRING_DATA_RIGHT_TRUNCATION_01004: SqlState = SqlState(*b"01004");
    pub const DEPRECATED_FEATURE: SqlState = SqlState(*b"01P01");
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Condition names in order.
static NAMES: &[(&str, SqlState)] = &[
    ("active_sql_transaction", SqlState::ACTIVE_SQL_TRANSACTION),
    ("admin_shutdown", SqlState::ADMIN_SHUTDOWN),
    ("ambiguous_alias", SqlState::AMBIGUOUS_ALIAS),
    ("ambiguous_column", SqlState::AMBIGUOUS_COLUMN),
    ("ambiguous_function", SqlState::AMBIGUOUS_FUNCTION),
    ("ambiguous_parameter", SqlState::AMBIGUOUS_PARAMETER),
    ("array_element_error", SqlState::ARRAY_ELEMENT_ERROR),
    ("array_subscript_error", SqlState::ARRAY_SUBSCRIPT_ERROR),
    ("assert_failure", SqlState::ASSERT_FAILURE),
    ("bad_copy_file_format", SqlState::BAD_COPY_FILE_FORMAT),
    ("branch_transaction_already_active", SqlState::BRANCH_TRANSACTION_ALREADY_ACTIVE),
    ("cannot_coerce", SqlState::CANNOT_COERCE),
    ("cannot_connect_now", SqlState::CANNOT_CONNECT_NOW),
    ("cant_change_runtime_param", SqlState::CANT_CHANGE_RUNTIME_PARAM),
    ("cardinality_violation", SqlState::CARDINALITY_VIOLATION),
    ("case_not_found", SqlState::CASE_NOT_FOUND),
    ("character_not_in_repertoire", SqlState::CHARACTER_NOT_IN_REPERTOIRE),
    ("check_violation", SqlState::CHECK_VIOLATION),
    ("collation_mismatch", SqlState::COLLATION_MISMATCH),
    ("config_file_error", SqlState::CONFIG_FILE_ERROR),
    ("configuration_limit_exceeded", SqlState::CONFIGURATION_LIMIT_EXCEEDED),
    ("connection_does_not_exist", SqlState::CONNECTION_DOES_NOT_EXIST),
    ("connection_exception", SqlState::CONNECTION_EXCEPTION),
    ("connection_failure", SqlState::CONNECTION_FAILURE),
    ("containing_sql_not_permitted", SqlState::CONTAINING_SQL_NOT_PERMITTED),
    ("crash_shutdown", SqlState::CRASH_SHUTDOWN),
    ("data_corrupted", SqlState::DATA_CORRUPTED),
    ("data_exception", SqlState::DATA_EXCEPTION),
    ("database_dropped", SqlState::DATABASE_DROPPED),
    ("datatype_mismatch", SqlState::DATATYPE_MISMATCH),
    ("datetime_field_overflow", SqlState::DATETIME_FIELD_OVERFLOW),
    ("datetime_value_out_of_range", SqlState::DATETIME_VALUE_OUT_OF_RANGE),
    ("deadlock_detected", SqlState::DEADLOCK_DETECTED),
    ("dependent_objects_still_exist", SqlState::DEPENDENT_OBJECTS_STILL_EXIST),
    ("dependent_privilege_descriptors_still_exist", SqlState::DEPENDENT_PRIVILEGE_DESCRIPTORS_STILL_EXIST),
    ("deprecated_feature", SqlState::DEPRECATED_FEATURE),
    ("diagnostics_exception", SqlState::DIAGNOSTICS_EXCEPTION),
    ("disk_full", SqlState::DISK_FULL),
    ("division_by_zero", SqlState::DIVISION_BY_ZERO),
    ("duplicate_alias", SqlState::DUPLICATE_ALIAS),
    ("duplicate_column", SqlState::DUPLICATE_COLUMN),
    ("duplicate_cursor", SqlState::DUPLICATE_CURSOR),
    ("duplicate_database", SqlState::DUPLICATE_DATABASE),
    ("duplicate_file", SqlState::DUPLICATE_FILE),
    ("duplicate_function", SqlState::DUPLICATE_FUNCTION),
    ("duplicate_json_object_key_value", SqlState::DUPLICATE_JSON_OBJECT_KEY_VALUE),
    ("duplicate_object", SqlState::DUPLICATE_OBJECT),
    ("duplicate_prepared_statement", SqlState::DUPLICATE_PREPARED_STATEMENT),
    ("duplicate_schema", SqlState::DUPLICATE_SCHEMA),
    ("duplicate_table", SqlState::DUPLICATE_TABLE),
    ("dynamic_result_sets_returned", SqlState::DYNAMIC_RESULT_SETS_RETURNED),
    ("error_in_assignment", SqlState::ERROR_IN_ASSIGNMENT),
    ("escape_character_conflict", SqlState::ESCAPE_CHARACTER_CONFLICT),
    ("event_trigger_protocol_violated", SqlState::EVENT_TRIGGER_PROTOCOL_VIOLATED),
    ("exclusion_violation", SqlState::EXCLUSION_VIOLATION),
    ("external_routine_exception", SqlState::EXTERNAL_ROUTINE_EXCEPTION),
    ("external_routine_invocation_exception", SqlState::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION),
    ("fdw_column_name_not_found", SqlState::FDW_COLUMN_NAME_NOT_FOUND),
    ("fdw_dynamic_parameter_value_needed", SqlState::FDW_DYNAMIC_PARAMETER_VALUE_NEEDED),
    ("fdw_error", SqlState::FDW_ERROR),
    ("fdw_function_sequence_error", SqlState::FDW_FUNCTION_SEQUENCE_ERROR),
    ("fdw_inconsistent_descriptor_information", SqlState::FDW_INCONSISTENT_DESCRIPTOR_INFORMATION),
    ("fdw_invalid_attribute_value", SqlState::FDW_INVALID_ATTRIBUTE_VALUE),
    ("fdw_invalid_column_name", SqlState::FDW_INVALID_COLUMN_NAME),
    ("fdw_invalid_column_number", SqlState::FDW_INVALID_COLUMN_NUMBER),
    ("fdw_invalid_data_type", SqlState::FDW_INVALID_DATA_TYPE),
    ("fdw_invalid_data_type_descriptors", SqlState::FDW_INVALID_DATA_TYPE_DESCRIPTORS),
    ("fdw_invalid_descriptor_field_identifier", SqlState::FDW_INVALID_DESCRIPTOR_FIELD_IDENTIFIER),
    ("fdw_invalid_handle", SqlState::FDW_INVALID_HANDLE),
    ("fdw_invalid_option_index", SqlState::FDW_INVALID_OPTION_INDEX),
    ("fdw_invalid_option_name", SqlState::FDW_INVALID_OPTION_NAME),
    ("fdw_invalid_string_format", SqlState::FDW_INVALID_STRING_FORMAT),
    ("fdw_invalid_string_length_or_buffer_length", SqlState::FDW_INVALID_STRING_LENGTH_OR_BUFFER_LENGTH),
    ("fdw_invalid_use_of_null_pointer", SqlState::FDW_INVALID_USE_OF_NULL_POINTER),
    ("fdw_no_schemas", SqlState::FDW_NO_SCHEMAS),
    ("fdw_option_name_not_found", SqlState::FDW_OPTION_NAME_NOT_FOUND),
    ("fdw_out_of_memory", SqlState::FDW_OUT_OF_MEMORY),
    ("fdw_reply_handle", SqlState::FDW_REPLY_HANDLE),
    ("fdw_schema_not_found", SqlState::FDW_SCHEMA_NOT_FOUND),
    ("fdw_table_not_found", SqlState::FDW_TABLE_NOT_FOUND),
    ("fdw_too_many_handles", SqlState::FDW_TOO_MANY_HANDLES),
    ("fdw_unable_to_create_execution", SqlState::FDW_UNABLE_TO_CREATE_EXECUTION),
    ("fdw_unable_to_create_reply", SqlState::FDW_UNABLE_TO_CREATE_REPLY),
    ("fdw_unable_to_establish_connection", SqlState::FDW_UNABLE_TO_ESTABLISH_CONNECTION),
    ("feature_not_supported", SqlState::FEATURE_NOT_SUPPORTED),
    ("floating_point_exception", SqlState::FLOATING_POINT_EXCEPTION),
    ("foreign_key_violation", SqlState::FOREIGN_KEY_VIOLATION),
    ("function_executed_no_return_statement", SqlState::FUNCTION_EXECUTED_NO_RETURN_STATEMENT),
    ("generated_always", SqlState::GENERATED_ALWAYS),
    ("grouping_error", SqlState::GROUPING_ERROR),
    ("held_cursor_requires_same_isolation_level", SqlState::HELD_CURSOR_REQUIRES_SAME_ISOLATION_LEVEL),
    ("idle_in_transaction_session_timeout", SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT),
    ("idle_session_timeout", SqlState::IDLE_SESSION_TIMEOUT),
    ("implicit_zero_bit_padding", SqlState::IMPLICIT_ZERO_BIT_PADDING),
    ("in_failed_sql_transaction", SqlState::IN_FAILED_SQL_TRANSACTION),
    ("inappropriate_access_mode_for_branch_transaction", SqlState::INAPPROPRIATE_ACCESS_MODE_FOR_BRANCH_TRANSACTION),
    (
        "inappropriate_isolation_level_for_branch_transaction",
        SqlState::INAPPROPRIATE_ISOLATION_LEVEL_FOR_BRANCH_TRANSACTION,
    ),
    ("indeterminate_collation", SqlState::INDETERMINATE_COLLATION),
    ("indeterminate_datatype", SqlState::INDETERMINATE_DATATYPE),
    ("index_corrupted", SqlState::INDEX_CORRUPTED),
    ("indicator_overflow", SqlState::INDICATOR_OVERFLOW),
    ("insufficient_privilege", SqlState::INSUFFICIENT_PRIVILEGE),
    ("insufficient_resources", SqlState::INSUFFICIENT_RESOURCES),
    ("integrity_constraint_violation", SqlState::INTEGRITY_CONSTRAINT_VIOLATION),
    ("internal_error", SqlState::INTERNAL_ERROR),
    ("interval_field_overflow", SqlState::INTERVAL_FIELD_OVERFLOW),
    ("invalid_argument_for_logarithm", SqlState::INVALID_ARGUMENT_FOR_LOGARITHM),
    ("invalid_argument_for_nth_value_function", SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION),
    ("invalid_argument_for_ntile_function", SqlState::INVALID_ARGUMENT_FOR_NTILE_FUNCTION),
    ("invalid_argument_for_power_function", SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION),
    ("invalid_argument_for_sql_json_datetime_function", SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION),
    ("invalid_argument_for_width_bucket_function", SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION),
    ("invalid_authorization_specification", SqlState::INVALID_AUTHORIZATION_SPECIFICATION),
    ("invalid_binary_representation", SqlState::INVALID_BINARY_REPRESENTATION),
    ("invalid_catalog_name", SqlState::INVALID_CATALOG_NAME),
    ("invalid_character_value_for_cast", SqlState::INVALID_CHARACTER_VALUE_FOR_CAST),
    ("invalid_column_definition", SqlState::INVALID_COLUMN_DEFINITION),
    ("invalid_column_reference", SqlState::INVALID_COLUMN_REFERENCE),
    ("invalid_cursor_definition", SqlState::INVALID_CURSOR_DEFINITION),
    ("invalid_cursor_name", SqlState::INVALID_CURSOR_NAME),
    ("invalid_cursor_state", SqlState::INVALID_CURSOR_STATE),
    ("invalid_database_definition", SqlState::INVALID_DATABASE_DEFINITION),
    ("invalid_datetime_format", SqlState::INVALID_DATETIME_FORMAT),
    ("invalid_escape_character", SqlState::INVALID_ESCAPE_CHARACTER),
    ("invalid_escape_octet", SqlState::INVALID_ESCAPE_OCTET),
    ("invalid_escape_sequence", SqlState::INVALID_ESCAPE_SEQUENCE),
    ("invalid_foreign_key", SqlState::INVALID_FOREIGN_KEY),
    ("invalid_function_definition", SqlState::INVALID_FUNCTION_DEFINITION),
    ("invalid_grant_operation", SqlState::INVALID_GRANT_OPERATION),
    ("invalid_grantor", SqlState::INVALID_GRANTOR),
    ("invalid_indicator_parameter_value", SqlState::INVALID_INDICATOR_PARAMETER_VALUE),
    ("invalid_json_text", SqlState::INVALID_JSON_TEXT),
    ("invalid_locator_specification", SqlState::INVALID_LOCATOR_SPECIFICATION),
    ("invalid_name", SqlState::INVALID_NAME),
    ("invalid_object_definition", SqlState::INVALID_OBJECT_DEFINITION),
    ("invalid_parameter_value", SqlState::INVALID_PARAMETER_VALUE),
    ("invalid_password", SqlState::INVALID_PASSWORD),
    ("invalid_preceding_or_following_size", SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE),
    ("invalid_prepared_statement_definition", SqlState::INVALID_PREPARED_STATEMENT_DEFINITION),
    ("invalid_recursion", SqlState::INVALID_RECURSION),
    ("invalid_regular_expression", SqlState::INVALID_REGULAR_EXPRESSION),
    ("invalid_role_specification", SqlState::INVALID_ROLE_SPECIFICATION),
    ("invalid_row_count_in_limit_clause", SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE),
    ("invalid_row_count_in_result_offset_clause", SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE),
    ("invalid_savepoint_specification", SqlState::INVALID_SAVEPOINT_SPECIFICATION),
    ("invalid_schema_definition", SqlState::INVALID_SCHEMA_DEFINITION),
    ("invalid_schema_name", SqlState::INVALID_SCHEMA_NAME),
    ("invalid_sql_json_subscript", SqlState::INVALID_SQL_JSON_SUBSCRIPT),
    ("invalid_sql_statement_name", SqlState::INVALID_SQL_STATEMENT_NAME),
    ("invalid_sqlstate_returned", SqlState::INVALID_SQLSTATE_RETURNED),
    ("invalid_table_definition", SqlState::INVALID_TABLE_DEFINITION),
    ("invalid_tablesample_argument", SqlState::INVALID_TABLESAMPLE_ARGUMENT),
    ("invalid_tablesample_repeat", SqlState::INVALID_TABLESAMPLE_REPEAT),
    ("invalid_text_representation", SqlState::INVALID_TEXT_REPRESENTATION),
    ("invalid_time_zone_displacement_value", SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE),
    ("invalid_transaction_initiation", SqlState::INVALID_TRANSACTION_INITIATION),
    ("invalid_transaction_state", SqlState::INVALID_TRANSACTION_STATE),
    ("invalid_transaction_termination", SqlState::INVALID_TRANSACTION_TERMINATION),
    ("invalid_use_of_escape_character", SqlState::INVALID_USE_OF_ESCAPE_CHARACTER),
    ("invalid_xml_comment", SqlState::INVALID_XML_COMMENT),
    ("invalid_xml_content", SqlState::INVALID_XML_CONTENT),
    ("invalid_xml_document", SqlState::INVALID_XML_DOCUMENT),
    ("invalid_xml_processing_instruction", SqlState::INVALID_XML_PROCESSING_INSTRUCTION),
    ("io_error", SqlState::IO_ERROR),
    ("locator_exception", SqlState::LOCATOR_EXCEPTION),
    ("lock_file_exists", SqlState::LOCK_FILE_EXISTS),
    ("lock_not_available", SqlState::LOCK_NOT_AVAILABLE),
    ("modifying_sql_data_not_permitted", SqlState::MODIFYING_SQL_DATA_NOT_PERMITTED),
    ("modifying_sql_data_not_permitted_38002", SqlState::MODIFYING_SQL_DATA_NOT_PERMITTED_38002),
    ("more_than_one_sql_json_item", SqlState::MORE_THAN_ONE_SQL_JSON_ITEM),
    ("most_specific_type_mismatch", SqlState::MOST_SPECIFIC_TYPE_MISMATCH),
    ("name_too_long", SqlState::NAME_TOO_LONG),
    ("no_active_sql_transaction", SqlState::NO_ACTIVE_SQL_TRANSACTION),
    ("no_active_sql_transaction_for_branch_transaction", SqlState::NO_ACTIVE_SQL_TRANSACTION_FOR_BRANCH_TRANSACTION),
    ("no_additional_dynamic_result_sets_returned", SqlState::NO_ADDITIONAL_DYNAMIC_RESULT_SETS_RETURNED),
    ("no_data", SqlState::NO_DATA),
    ("no_data_found", SqlState::NO_DATA_FOUND),
    ("no_sql_json_item", SqlState::NO_SQL_JSON_ITEM),
    ("non_numeric_sql_json_item", SqlState::NON_NUMERIC_SQL_JSON_ITEM),
    ("non_unique_keys_in_a_json_object", SqlState::NON_UNIQUE_KEYS_IN_A_JSON_OBJECT),
    ("nonstandard_use_of_escape_character", SqlState::NONSTANDARD_USE_OF_ESCAPE_CHARACTER),
    ("not_an_xml_document", SqlState::NOT_AN_XML_DOCUMENT),
    ("not_null_violation", SqlState::NOT_NULL_VIOLATION),
    ("null_value_eliminated_in_set_function", SqlState::NULL_VALUE_ELIMINATED_IN_SET_FUNCTION),
    ("null_value_no_indicator_parameter", SqlState::NULL_VALUE_NO_INDICATOR_PARAMETER),
    ("null_value_not_allowed", SqlState::NULL_VALUE_NOT_ALLOWED),
    ("null_value_not_allowed_39004", SqlState::NULL_VALUE_NOT_ALLOWED_39004),
    ("numeric_value_out_of_range", SqlState::NUMERIC_VALUE_OUT_OF_RANGE),
    ("object_in_use", SqlState::OBJECT_IN_USE),
    ("object_not_in_prerequisite_state", SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE),
    ("operator_intervention", SqlState::OPERATOR_INTERVENTION),
    ("out_of_memory", SqlState::OUT_OF_MEMORY),
    ("plpgsql_error", SqlState::PLPGSQL_ERROR),
    ("privilege_not_granted", SqlState::PRIVILEGE_NOT_GRANTED),
    ("privilege_not_revoked", SqlState::PRIVILEGE_NOT_REVOKED),
    ("program_limit_exceeded", SqlState::PROGRAM_LIMIT_EXCEEDED),
    ("prohibited_sql_statement_attempted", SqlState::PROHIBITED_SQL_STATEMENT_ATTEMPTED),
    ("prohibited_sql_statement_attempted_38003", SqlState::PROHIBITED_SQL_STATEMENT_ATTEMPTED_38003),
    ("protocol_violation", SqlState::PROTOCOL_VIOLATION),
    ("query_canceled", SqlState::QUERY_CANCELED),
    ("raise_exception", SqlState::RAISE_EXCEPTION),
    ("read_only_sql_transaction", SqlState::READ_ONLY_SQL_TRANSACTION),
    ("reading_sql_data_not_permitted", SqlState::READING_SQL_DATA_NOT_PERMITTED),
    ("reading_sql_data_not_permitted_38004", SqlState::READING_SQL_DATA_NOT_PERMITTED_38004),
    ("reserved_name", SqlState::RESERVED_NAME),
    ("restrict_violation", SqlState::RESTRICT_VIOLATION),
    ("savepoint_exception", SqlState::SAVEPOINT_EXCEPTION),
    ("schema_and_data_statement_mixing_not_supported", SqlState::SCHEMA_AND_DATA_STATEMENT_MIXING_NOT_SUPPORTED),
    ("sequence_generator_limit_exceeded", SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
    ("serialization_failure", SqlState::SERIALIZATION_FAILURE),
    ("singleton_sql_json_item_required", SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED),
    ("snapshot_too_old", SqlState::SNAPSHOT_TOO_OLD),
    ("sql_json_array_not_found", SqlState::SQL_JSON_ARRAY_NOT_FOUND),
    ("sql_json_item_cannot_be_cast_to_target_type", SqlState::SQL_JSON_ITEM_CANNOT_BE_CAST_TO_TARGET_TYPE),
    ("sql_json_member_not_found", SqlState::SQL_JSON_MEMBER_NOT_FOUND),
    ("sql_json_number_not_found", SqlState::SQL_JSON_NUMBER_NOT_FOUND),
    ("sql_json_object_not_found", SqlState::SQL_JSON_OBJECT_NOT_FOUND),
    ("sql_json_scalar_required", SqlState::SQL_JSON_SCALAR_REQUIRED),
    ("sql_routine_exception", SqlState::SQL_ROUTINE_EXCEPTION),
    ("sql_statement_not_yet_complete", SqlState::SQL_STATEMENT_NOT_YET_COMPLETE),
    ("sqlclient_unable_to_establish_sqlconnection", SqlState::SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
    ("sqlserver_rejected_establishment_of_sqlconnection", SqlState::SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION),
    ("srf_protocol_violated", SqlState::SRF_PROTOCOL_VIOLATED),
    (
        "stacked_diagnostics_accessed_without_active_handler",
        SqlState::STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER,
    ),
    ("statement_completion_unknown", SqlState::STATEMENT_COMPLETION_UNKNOWN),
    ("statement_too_complex", SqlState::STATEMENT_TOO_COMPLEX),
    ("string_data_length_mismatch", SqlState::STRING_DATA_LENGTH_MISMATCH),
    ("string_data_right_truncation", SqlState::STRING_DATA_RIGHT_TRUNCATION),
    ("string_data_right_truncation_01004", SqlState::STRING_DATA_RIGHT_TRUNCATION_01004),
    ("substring_error", SqlState::SUBSTRING_ERROR),
    ("successful_completion", SqlState::SUCCESSFUL_COMPLETION),
    ("syntax_error", SqlState::SYNTAX_ERROR),
    ("syntax_error_or_access_rule_violation", SqlState::SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION),
    ("system_error", SqlState::SYSTEM_ERROR),
    ("too_many_arguments", SqlState::TOO_MANY_ARGUMENTS),
    ("too_many_columns", SqlState::TOO_MANY_COLUMNS),
    ("too_many_connections", SqlState::TOO_MANY_CONNECTIONS),
    ("too_many_json_array_elements", SqlState::TOO_MANY_JSON_ARRAY_ELEMENTS),
    ("too_many_json_object_members", SqlState::TOO_MANY_JSON_OBJECT_MEMBERS),
    ("too_many_rows", SqlState::TOO_MANY_ROWS),
    ("transaction_integrity_constraint_violation", SqlState::TRANSACTION_INTEGRITY_CONSTRAINT_VIOLATION),
    ("transaction_resolution_unknown", SqlState::TRANSACTION_RESOLUTION_UNKNOWN),
    ("transaction_rollback", SqlState::TRANSACTION_ROLLBACK),
    ("trigger_protocol_violated", SqlState::TRIGGER_PROTOCOL_VIOLATED),
    ("triggered_action_exception", SqlState::TRIGGERED_ACTION_EXCEPTION),
    ("triggered_data_change_violation", SqlState::TRIGGERED_DATA_CHANGE_VIOLATION),
    ("trim_error", SqlState::TRIM_ERROR),
    ("undefined_column", SqlState::UNDEFINED_COLUMN),
    ("undefined_cursor", SqlState::UNDEFINED_CURSOR),
    ("undefined_database", SqlState::UNDEFINED_DATABASE),
    ("undefined_file", SqlState::UNDEFINED_FILE),
    ("undefined_function", SqlState::UNDEFINED_FUNCTION),
    ("undefined_object", SqlState::UNDEFINED_OBJECT),
    ("undefined_parameter", SqlState::UNDEFINED_PARAMETER),
    ("undefined_pstatement", SqlState::UNDEFINED_PSTATEMENT),
    ("undefined_schema", SqlState::UNDEFINED_SCHEMA),
    ("undefined_table", SqlState::UNDEFINED_TABLE),
    ("unique_violation", SqlState::UNIQUE_VIOLATION),
    ("unsafe_new_enum_value_usage", SqlState::UNSAFE_NEW_ENUM_VALUE_USAGE),
    ("unterminated_c_string", SqlState::UNTERMINATED_C_STRING),
    ("untranslatable_character", SqlState::UNTRANSLATABLE_CHARACTER),
    ("warning", SqlState::WARNING),
    ("windowing_error", SqlState::WINDOWING_ERROR),
    ("with_check_option_violation", SqlState::WITH_CHECK_OPTION_VIOLATION),
    ("wrong_object_type", SqlState::WRONG_OBJECT_TYPE),
    ("zero_length_character_string", SqlState::ZERO_LENGTH_CHARACTER_STRING),
];
