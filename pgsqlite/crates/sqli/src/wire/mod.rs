//! Bytes ⇄ messages of SQLI; no I/O, no SQL.
//!
//! After login the stream has no frames: a message's length is known only to who can read it. [`input::Cursor`] therefore reads
//! from what has arrived and says [`input::Stop::Incomplete`] where more is needed; the caller reads on and tries again.
//! [`messages`] decodes what clients send, [`login`] the first packet, [`output::Output`] writes what servers send.

pub mod input;
pub mod login;
pub mod messages;
pub mod output;

/// Message codes, by their names in the protocol's own vocabulary.
pub mod code {
    pub const COMMAND: i16 = 1;
    pub const PREPARE: i16 = 2;
    pub const CURNAME: i16 = 3;
    pub const ID: i16 = 4;
    pub const BIND: i16 = 5;
    pub const OPEN: i16 = 6;
    pub const EXECUTE: i16 = 7;
    pub const DESCRIBE: i16 = 8;
    pub const NFETCH: i16 = 9;
    pub const CLOSE: i16 = 10;
    pub const RELEASE: i16 = 11;
    pub const EOT: i16 = 12;
    pub const ERR: i16 = 13;
    pub const TUPLE: i16 = 14;
    pub const DONE: i16 = 15;
    pub const PUT: i16 = 17;
    pub const FLUSH: i16 = 18;
    pub const CMMTWORK: i16 = 19;
    pub const RBWORK: i16 = 20;
    pub const NDESCRIBE: i16 = 22;
    pub const SFETCH: i16 = 23;
    pub const SCROLL: i16 = 24;
    pub const TUPID: i16 = 25;
    pub const DATABASE_LIST: i16 = 26;
    pub const BEGIN: i16 = 35;
    pub const DBOPEN: i16 = 36;
    pub const DBCLOSE: i16 = 37;
    pub const FETCHBLOB: i16 = 38;
    pub const BLOB: i16 = 39;
    pub const BBIND: i16 = 41;
    pub const HOLD: i16 = 43;
    pub const WANTDONE: i16 = 49;
    pub const VERSION: i16 = 53;
    pub const COST: i16 = 55;
    pub const EXIT: i16 = 56;
    pub const XA_ROLLBACK: i16 = 65;
    pub const XA_CLOSE: i16 = 66;
    pub const XA_COMMIT: i16 = 67;
    pub const XA_END: i16 = 68;
    pub const XA_FORGET: i16 = 69;
    pub const XA_PREPARE: i16 = 70;
    pub const XA_RECOVER: i16 = 71;
    pub const XA_START: i16 = 72;
    pub const XA_STATUS: i16 = 73;
    pub const INFO: i16 = 81;
    pub const XA_OPEN: i16 = 82;
    pub const INSERT_DONE: i16 = 94;
    pub const LODATA: i16 = 97;
    pub const FILE: i16 = 98;
    pub const XACTSTAT: i16 = 99;
    pub const RET_TYPE: i16 = 100;
    pub const GETROUTINE: i16 = 101;
    pub const EXFPROUTINE: i16 = 102;
    pub const FPROUTINE: i16 = 103;
    pub const FILE_READ: i16 = 106;
    pub const FILE_WRITE: i16 = 107;
    pub const AUTOFREE: i16 = 108;
    pub const CIDESCRIBE: i16 = 124;
    pub const IDESCRIBE: i16 = 125;
    pub const PROTOCOLS: i16 = 126;
    pub const AUTO_KEYS: i16 = 134;
    pub const KEYS_DESCRIBE: i16 = 135;
    pub const KEYS_TUPLE: i16 = 136;
    pub const SET_SAVEPOINT: i16 = 137;
    pub const RELEASE_SAVEPOINT: i16 = 138;
    pub const ROLLBACK_TO_SAVEPOINT: i16 = 139;
}

/// Type codes as they stand in BIND, DESCRIBE and RET_TYPE.
pub mod type_code {
    pub const CHAR: i16 = 0;
    pub const SMALLINT: i16 = 1;
    pub const INTEGER: i16 = 2;
    pub const FLOAT: i16 = 3;
    pub const SMALLFLOAT: i16 = 4;
    pub const DECIMAL: i16 = 5;
    pub const SERIAL: i16 = 6;
    pub const DATE: i16 = 7;
    pub const MONEY: i16 = 8;
    pub const DATETIME: i16 = 10;
    pub const BYTE: i16 = 11;
    pub const TEXT: i16 = 12;
    pub const VARCHAR: i16 = 13;
    pub const INTERVAL: i16 = 14;
    pub const NCHAR: i16 = 15;
    pub const NVARCHAR: i16 = 16;
    pub const INT8: i16 = 17;
    pub const SERIAL8: i16 = 18;
    pub const SET: i16 = 19;
    pub const MULTISET: i16 = 20;
    pub const LIST: i16 = 21;
    pub const ROW: i16 = 22;
    /// LVARCHAR in descriptions: a variable-length opaque type
    pub const UDT_VAR: i16 = 40;
    /// BOOLEAN in descriptions: a fixed-length opaque type
    pub const UDT_FIXED: i16 = 41;
    pub const LVARCHAR: i16 = 43;
    /// what clients call the bytes of an opaque type, such as a BLOB's locator
    pub const OPAQUE: i16 = 44;
    pub const BOOLEAN: i16 = 45;
    pub const BIGINT: i16 = 52;
    pub const BIGSERIAL: i16 = 53;

    /// Whether the code is followed by an owner's and a type's name wherever it stands.
    pub fn is_named(code: i16) -> bool {
        code >= 18 && code != BIGINT && code != BIGSERIAL
    }
}
