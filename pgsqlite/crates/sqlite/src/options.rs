//! The options that SQLite is compiled with: read by the build script and by the check at start.

/// Macros with their values. SQLite's documentation (compile.html) describes each.
pub const DEFINED: &[(&str, &str)] = &[
    ("SQLITE_CORE", ""),
    ("SQLITE_DEFAULT_FOREIGN_KEYS", "1"),
    // no statistics of memory: the process counts its own
    ("SQLITE_DEFAULT_MEMSTATUS", "0"),
    // double quotes are identifiers only
    ("SQLITE_DQS", "0"),
    ("SQLITE_ENABLE_COLUMN_METADATA", ""),
    // pages can be written as they are: a standby gets its changes so
    ("SQLITE_ENABLE_DBPAGE_VTAB", ""),
    ("SQLITE_ENABLE_DBSTAT_VTAB", ""),
    ("SQLITE_ENABLE_FTS3", ""),
    ("SQLITE_ENABLE_FTS3_PARENTHESIS", ""),
    ("SQLITE_ENABLE_FTS5", ""),
    ("SQLITE_ENABLE_LOAD_EXTENSION", "1"),
    // a transaction that changes rows is recorded, and can be put aside while others write
    ("SQLITE_ENABLE_PREUPDATE_HOOK", ""),
    ("SQLITE_ENABLE_RTREE", ""),
    // a transaction that has changed nothing but temporary tables exchanges its snapshot of the database between statements
    ("SQLITE_ENABLE_SNAPSHOT", ""),
    // a plan's loops can be counted, for EXPLAIN ANALYZE; connections turn it off otherwise
    ("SQLITE_ENABLE_STMT_SCANSTATUS", ""),
    // bytes of a hash table: with 1024 of them, thousands of functions share 64 lists, which each connection and each look-up walks through
    ("SQLITE_MALLOC_SOFT_LIMIT", "16384"),
    ("SQLITE_MAX_EXPR_DEPTH", "10000"),
    ("SQLITE_MAX_VARIABLE_NUMBER", "65535"),
    ("SQLITE_OMIT_DEPRECATED", ""),
    ("SQLITE_SOUNDEX", ""),
    // a connection is used by one thread at a time: it is handed over, never shared
    ("SQLITE_THREADSAFE", "1"),
    ("SQLITE_USE_ALLOCA", ""),
    ("SQLITE_USE_URI", ""),
    ("HAVE_USLEEP", "1"),
    ("HAVE_ISNAN", ""),
    ("HAVE_LOCALTIME_R", ""),
];

/// Options that must be off: checks of arguments that Rust makes already, and statistics of index keys, whose samples would ask for
/// collations that only a session knows.
pub const OFF: &[&str] = &["SQLITE_ENABLE_API_ARMOR", "SQLITE_ENABLE_STAT4"];

/// Options that SQLite does not report.
pub const UNREPORTED: &[&str] = &["SQLITE_CORE", "SQLITE_USE_URI", "HAVE_USLEEP", "HAVE_ISNAN", "HAVE_LOCALTIME_R"];

/// Options that SQLite reports without their values.
pub const REPORTED_BARE: &[&str] = &["SQLITE_DEFAULT_FOREIGN_KEYS", "SQLITE_ENABLE_LOAD_EXTENSION"];
