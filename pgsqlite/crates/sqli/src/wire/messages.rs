//! What clients send after login.

use super::input::{malformed, Cursor, Read};
use super::{code, type_code};

/// A value of BIND as it came.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    /// character data in the client's code set
    Text(Vec<u8>),
    Integer(i64),
    Float(f64),
    SmallFloat(f32),
    /// days since 1899-12-31
    Date(i32),
    /// DECIMAL or MONEY in base 100
    Decimal(Vec<u8>),
    /// DATETIME (qualifier, base 100)
    DateTime(u16, Vec<u8>),
    /// INTERVAL (qualifier, base 100)
    Interval(u16, Vec<u8>),
    Boolean(bool),
    /// BYTE or TEXT, whose content follows in BBIND
    Blob {
        is_text: bool,
    },
    /// bytes of an opaque type, such as the locator of a BLOB
    Opaque {
        type_name: Vec<u8>,
        bytes: Vec<u8>,
    },
}

/// A piece of an open large object, read or written where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct LargeObjectData {
    /// the number of the open object
    pub descriptor: i16,
    /// None: bytes to read
    pub written: Option<Vec<u8>>,
    pub wanted: usize,
    /// most bytes of one chunk of the answer
    pub chunk: usize,
    /// where to go before reading: offset, and what it is counted from (0 the beginning, 1 the place, 2 the end)
    pub seek: Option<(i64, i16)>,
}

/// What the client wants of a column (RET_TYPE).
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    pub type_code: i16,
    pub encoded_length: i32,
}

/// What an INSERT is to give back of its rows (134, behind PREPARE or COMMAND).
#[derive(Debug, Clone, PartialEq)]
pub enum WantedKeys {
    Serial,
    /// columns of the table, from 1
    Numbers(Vec<i16>),
    Names(Vec<Vec<u8>>),
}

/// The bytes that an XID has for both its parts.
pub const XID_DATA: usize = 128;
/// The longest global part of an XID, and its longest branch part.
const LONGEST_PART: usize = 64;

/// What identifies a branch of a global transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Xid {
    pub format: i32,
    pub global: Vec<u8>,
    pub branch: Vec<u8>,
}

impl Xid {
    /// As XA has it: a global part, and neither part is too long. A format of -1 is no XID.
    pub fn is_valid(&self) -> bool {
        self.format != -1 && (1..=LONGEST_PART).contains(&self.global.len()) && self.branch.len() <= LONGEST_PART
    }
}

/// What XA asks of a branch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Call {
    Start,
    End,
    Prepare,
    Commit,
    Rollback,
    Forget,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    Command(Vec<u8>),
    /// xa_open: IBM's driver opens the database of an XA connection by it
    OpenResourceManager {
        name: Vec<u8>,
    },
    /// xa_close
    CloseResourceManager,
    /// xa_start, xa_end, …
    Branch {
        call: Call,
        xid: Xid,
        flags: i32,
    },
    /// xa_recover: at most so many branches
    Recover {
        most: i32,
        flags: i32,
    },
    Prepare {
        parameters: usize,
        text: Vec<u8>,
    },
    CursorName(Vec<u8>),
    Id(i16),
    Bind(Vec<Value>),
    BlobBind(usize),
    /// a piece of a blob; empty: its end
    Blob(Vec<u8>),
    Open,
    Execute,
    Describe,
    WantDone,
    Fetch {
        buffer: usize,
    },
    ScrollFetch {
        kind: i16,
        row: i32,
    },
    Scroll,
    Hold,
    AutoFree,
    Close,
    Release,
    InputDescribe,
    ReturnTypes(Vec<Wanted>),
    /// a row in tuple form
    Put(Vec<u8>),
    Flush,
    FetchBlob(Vec<u8>),
    Begin,
    Commit,
    Rollback,
    SetSavepoint(Vec<u8>),
    ReleaseSavepoint(Vec<u8>),
    RollbackToSavepoint(Vec<u8>),
    Protocols(Vec<u8>),
    Info,
    OpenDatabase {
        name: Vec<u8>,
        exclusive: bool,
    },
    CloseDatabase,
    /// JDBC asks for the server's version to see whether the connection lives (`isValid`)
    Version,
    /// JDBC asks for it as `001a`, and takes strings, the last one empty
    DatabaseList,
    AutoKeys(WantedKeys),
    GetRoutine(Vec<u8>),
    /// fast path: a routine by the number that GETROUTINE gave
    CallRoutine {
        handle: i32,
        values: Vec<Value>,
    },
    LargeObjectData(LargeObjectData),
    EndOfGroup,
    Exit,
}

/// The first message and its length in bytes.
pub fn decode(bytes: &[u8]) -> Read<(Message, usize)> {
    let mut c = Cursor::new(bytes);
    let message = message(&mut c)?;
    Ok((message, c.position()))
}

/// The flags of a message of XA, behind the number of the resource manager, which says nothing: a session has one.
fn resource_manager_and_flags(c: &mut Cursor) -> Read<i32> {
    c.int()?;
    c.int()
}

/// A message about a branch: the XID as XA's header declares it, the resource manager, the flags.
fn branch(c: &mut Cursor, call: Call) -> Read<Message> {
    let format = c.int()?;
    let (global, branch) = (c.int()?, c.int()?);
    let data = c.take(XID_DATA)?;
    let flags = resource_manager_and_flags(c)?;
    let end = |from: usize, length: i32| {
        usize::try_from(length).ok().and_then(|length| from.checked_add(length)).filter(|end| *end <= XID_DATA)
    };
    let Some((middle, end)) = end(0, global).and_then(|middle| Some((middle, end(middle, branch)?))) else {
        return malformed(format!("an XID of {global} and {branch} bytes"));
    };
    let xid = Xid { format, global: data[..middle].to_vec(), branch: data[middle..end].to_vec() };
    Ok(Message::Branch { call, xid, flags })
}

fn message(c: &mut Cursor) -> Read<Message> {
    let number = c.short()?;
    Ok(match number {
        code::COMMAND => {
            c.short()?;
            Message::Command(c.char4()?.to_vec())
        }
        code::PREPARE => {
            let parameters = c.count("the number of parameters")?;
            Message::Prepare { parameters, text: c.char4()?.to_vec() }
        }
        code::CURNAME => Message::CursorName(c.char()?.to_vec()),
        code::ID => Message::Id(c.short()?),
        code::BIND => {
            let count = c.count("the number of bound values")?;
            let mut values = Vec::new();
            for _ in 0..count {
                values.push(value(c)?);
            }
            Message::Bind(values)
        }
        code::BBIND => Message::BlobBind(c.count("the number of blobs")?),
        code::BLOB => Message::Blob(c.char()?.to_vec()),
        code::OPEN => Message::Open,
        code::EXECUTE => Message::Execute,
        code::NDESCRIBE => Message::Describe,
        code::WANTDONE => Message::WantDone,
        code::NFETCH => {
            let buffer = c.int()?;
            c.short()?;
            Message::Fetch { buffer: usize::try_from(buffer).unwrap_or(0) }
        }
        code::SFETCH => {
            let (kind, row) = (c.short()?, c.int()?);
            c.int()?;
            Message::ScrollFetch { kind, row }
        }
        code::SCROLL => Message::Scroll,
        code::HOLD => Message::Hold,
        code::AUTOFREE => Message::AutoFree,
        code::CLOSE => Message::Close,
        code::RELEASE => Message::Release,
        code::CIDESCRIBE => Message::InputDescribe,
        code::RET_TYPE => {
            c.short()?;
            let count = c.count("the number of returned types")?;
            let mut wanted = Vec::new();
            for _ in 0..count {
                let type_code = c.short()?;
                if type_code::is_named(type_code) {
                    c.char()?;
                    c.char()?;
                }
                wanted.push(Wanted { type_code, encoded_length: c.int()? });
            }
            Message::ReturnTypes(wanted)
        }
        code::PUT => {
            let size = c.length("the size of a row")?;
            match c.short()? {
                1 => {}
                rows => return malformed(format!("{rows} rows in one PUT")),
            }
            Message::Put(c.padded(size)?.to_vec())
        }
        code::FLUSH => Message::Flush,
        code::FETCHBLOB => Message::FetchBlob(c.take(56)?.to_vec()),
        code::BEGIN => Message::Begin,
        code::CMMTWORK => Message::Commit,
        code::RBWORK => {
            c.short()?;
            Message::Rollback
        }
        code::SET_SAVEPOINT => {
            let name = c.char()?.to_vec();
            c.short()?;
            Message::SetSavepoint(name)
        }
        code::RELEASE_SAVEPOINT => Message::ReleaseSavepoint(c.char()?.to_vec()),
        code::ROLLBACK_TO_SAVEPOINT => Message::RollbackToSavepoint(c.char()?.to_vec()),
        code::PROTOCOLS => Message::Protocols(c.char()?.to_vec()),
        code::INFO => {
            match c.short()? {
                6 => {}
                kind => return malformed(format!("INFO of kind {kind}")),
            }
            // the length counts the first of the two zeros at the end
            let length = c.count("the length of INFO")?;
            c.take(length)?;
            c.short()?;
            Message::Info
        }
        code::DBOPEN => {
            let name = c.char()?.to_vec();
            Message::OpenDatabase { name, exclusive: c.short()? & 1 != 0 }
        }
        code::DBCLOSE => Message::CloseDatabase,
        code::XA_OPEN => {
            let name = c.char()?.to_vec();
            resource_manager_and_flags(c)?;
            Message::OpenResourceManager { name }
        }
        code::XA_CLOSE => {
            c.char()?;
            resource_manager_and_flags(c)?;
            Message::CloseResourceManager
        }
        code::XA_START => branch(c, Call::Start)?,
        code::XA_END => branch(c, Call::End)?,
        code::XA_PREPARE => branch(c, Call::Prepare)?,
        code::XA_COMMIT => branch(c, Call::Commit)?,
        code::XA_ROLLBACK => branch(c, Call::Rollback)?,
        code::XA_FORGET => branch(c, Call::Forget)?,
        code::XA_RECOVER => {
            let most = c.int()?;
            Message::Recover { most, flags: resource_manager_and_flags(c)? }
        }
        code::VERSION => Message::Version,
        code::DATABASE_LIST => Message::DatabaseList,
        code::AUTO_KEYS => Message::AutoKeys(wanted_keys(c)?),
        code::GETROUTINE => {
            c.byte()?;
            let signature = c.char4()?.to_vec();
            c.short()?;
            Message::GetRoutine(signature)
        }
        code::EXFPROUTINE => {
            c.char()?;
            let handle = c.int()?;
            let count = c.count("the number of a routine's arguments")?;
            c.short()?;
            if c.short()? != code::BIND || c.count("the number of bound values")? != count {
                return malformed("a routine is called without its arguments");
            }
            let mut values = Vec::new();
            for _ in 0..count {
                values.push(value(c)?);
            }
            Message::CallRoutine { handle, values }
        }
        code::LODATA => Message::LargeObjectData(large_object_data(c)?),
        code::EOT => Message::EndOfGroup,
        code::EXIT => Message::Exit,
        other => return malformed(format!("unknown message code {other}")),
    })
}

fn wanted_keys(c: &mut Cursor) -> Read<WantedKeys> {
    Ok(match c.short()? {
        1 => WantedKeys::Serial,
        2 => {
            let count = c.count("the number of wanted keys")?;
            let mut numbers = Vec::new();
            for _ in 0..count {
                numbers.push(c.short()?);
            }
            WantedKeys::Numbers(numbers)
        }
        3 => {
            let count = c.count("the number of wanted keys")?;
            let mut names = Vec::new();
            for _ in 0..count {
                names.push(c.char()?.to_vec());
            }
            WantedKeys::Names(names)
        }
        kind => return malformed(format!("keys wanted in the way {kind}")),
    })
}

fn large_object_data(c: &mut Cursor) -> Read<LargeObjectData> {
    const READ: i16 = 0;
    const SEEK_AND_READ: i16 = 1;
    const WRITE: i16 = 2;
    let operation = c.short()?;
    let descriptor = c.short()?;
    let wanted = c.length("the length of a piece of a large object")?;
    let chunk = c.count("the length of a chunk")?;
    let (mut seek, mut written) = (None, None);
    match operation {
        READ => {}
        SEEK_AND_READ => {
            let Some(offset) = int8(c)? else { return malformed("a place in a large object that is NULL") };
            seek = Some((offset, c.short()?));
        }
        WRITE => {
            let mut bytes: Vec<u8> = Vec::new();
            while bytes.len() < wanted {
                let chunk = c.char()?;
                if chunk.is_empty() || bytes.len() + chunk.len() > wanted {
                    return malformed("chunks that do not make the piece that was announced");
                }
                bytes.extend_from_slice(chunk);
            }
            written = Some(bytes);
        }
        other => return malformed(format!("the operation {other} on a large object")),
    }
    Ok(LargeObjectData { descriptor, written, wanted, chunk, seek })
}

/// The client's answer to FILE, whose code tells what it is about.
#[derive(Debug, PartialEq)]
pub enum FileAnswer {
    /// opened or closed
    Done,
    /// what was read of the file
    Content(Vec<u8>),
    /// so many bytes are written
    Written(i32),
    /// it is no answer: the client had sent another group before it saw the request
    Other,
}

/// What a client answers to FILE, and its length in bytes.
pub fn decode_file_answer(bytes: &[u8]) -> Read<(FileAnswer, usize)> {
    let mut c = Cursor::new(bytes);
    let answer = match c.short()? {
        code::EOT => return Ok((FileAnswer::Done, c.position())),
        code::FILE_WRITE => FileAnswer::Written(c.int()?),
        code::FILE_READ => {
            let total = c.length("the length of a piece of a file")?;
            let mut content = Vec::new();
            while content.len() < total {
                if c.short()? != code::FILE_READ {
                    return malformed("a piece of a file that is shorter than announced");
                }
                content.extend_from_slice(c.char()?);
            }
            if content.len() > total {
                return malformed("a piece of a file that is longer than announced");
            }
            FileAnswer::Content(content)
        }
        _ => return Ok((FileAnswer::Other, 0)),
    };
    match c.short()? {
        code::EOT => Ok((answer, c.position())),
        other => malformed(format!("message {other} in an answer about a file")),
    }
}

/// A size in the descriptor of BYTE and TEXT.
const DESCRIPTOR: usize = 56;

fn value(c: &mut Cursor) -> Read<Value> {
    let number = c.short()?;
    let mut name: &[u8] = b"";
    if type_code::is_named(number) {
        c.char()?;
        name = c.char()?;
    }
    let indicator = c.short()?;
    let precision = c.short()?;
    match indicator {
        0 => {}
        -1 => return Ok(Value::Null),
        other => return malformed(format!("indicator {other} of a bound value")),
    }
    Ok(match number {
        type_code::CHAR | type_code::VARCHAR | type_code::NCHAR | type_code::NVARCHAR => {
            Value::Text(c.char()?.to_vec())
        }
        type_code::SMALLINT => Value::Integer(c.short()?.into()),
        type_code::INTEGER | type_code::SERIAL => Value::Integer(c.int()?.into()),
        type_code::BIGINT | type_code::BIGSERIAL => Value::Integer(c.long()?),
        type_code::INT8 | type_code::SERIAL8 => match int8(c)? {
            Some(n) => Value::Integer(n),
            None => Value::Null,
        },
        type_code::FLOAT => Value::Float(c.double()?),
        type_code::SMALLFLOAT => Value::SmallFloat(c.single()?),
        type_code::DATE => Value::Date(c.int()?),
        type_code::DECIMAL | type_code::MONEY => Value::Decimal(c.char()?.to_vec()),
        type_code::DATETIME => Value::DateTime(precision as u16, c.char()?.to_vec()),
        type_code::INTERVAL => Value::Interval(precision as u16, c.char()?.to_vec()),
        type_code::BYTE | type_code::TEXT => {
            c.take(DESCRIPTOR)?;
            Value::Blob { is_text: number == type_code::TEXT }
        }
        type_code::BOOLEAN | type_code::LVARCHAR | type_code::OPAQUE | type_code::UDT_VAR | type_code::UDT_FIXED => {
            let n = c.length("the length of a bound value")?;
            let bytes = c.padded(n)?;
            if number == type_code::BOOLEAN || name == b"boolean" {
                match bytes {
                    [1 | b't'] => Value::Boolean(true),
                    [0 | b'f'] => Value::Boolean(false),
                    _ => return malformed("a BOOLEAN that is neither true nor false"),
                }
            } else if number == type_code::LVARCHAR || name == b"lvarchar" {
                Value::Text(bytes.to_vec())
            } else {
                Value::Opaque { type_name: name.to_vec(), bytes: bytes.to_vec() }
            }
        }
        other => return malformed(format!("a bound value of type {other}")),
    })
}

/// INT8: sign, then the magnitude with its low half first; None: NULL.
pub fn int8(c: &mut Cursor) -> Read<Option<i64>> {
    let sign = c.short()?;
    let (low, high) = (c.int()? as u32, c.int()? as u32);
    let magnitude = (high as i128) << 32 | low as i128;
    match sign {
        0 => Ok(None),
        1 => i64::try_from(magnitude).map(Some).or_else(|_| malformed("an INT8 out of range")),
        -1 => i64::try_from(-magnitude).map(Some).or_else(|_| malformed("an INT8 out of range")),
        other => malformed(format!("an INT8 with sign {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::Stop;
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// All messages of a client's bytes.
    fn all(mut bytes: &[u8]) -> Read<Vec<Message>> {
        let mut out = Vec::new();
        while !bytes.is_empty() {
            let (message, n) = decode(bytes)?;
            out.push(message);
            bytes = &bytes[n..];
        }
        Ok(out)
    }

    #[test]
    fn groups_of_ibms_driver_are_understood() {
        let batch = "0004 0004 0005 0002 0002 0000 0a00 00000064 0000 0000 0000 0002 6230 0007 000c";
        let row = vec![Value::Integer(100), Value::Text(b"b0".to_vec())];
        assert_eq!(
            all(&bytes(batch)).unwrap(),
            [Message::Id(4), Message::Bind(row), Message::Execute, Message::EndOfGroup]
        );
        let info = "0051 0006 0026 000c 0004 0006 444254454d50 0004 2f746d70 000b 535542514341434845535a00 0002 3130 0000 0000 000c";
        assert_eq!(all(&bytes(info)).unwrap(), [Message::Info, Message::EndOfGroup]);
        assert_eq!(all(&bytes("0035 000c")).unwrap(), [Message::Version, Message::EndOfGroup]);
        let xid = |global: &str, branch: &str| {
            format!("00001234 {global} {branch} 676c6f62616c6272616e636831 {}", "00".repeat(XID_DATA - 13))
        };
        let start = format!("0048 {} 00000001 00200000 000c", xid("00000006", "00000007"));
        let named = Xid { format: 4660, global: b"global".to_vec(), branch: b"branch1".to_vec() };
        assert_eq!(
            all(&bytes(&start)).unwrap(),
            [Message::Branch { call: Call::Start, xid: named, flags: 0x0020_0000 }, Message::EndOfGroup]
        );
        for (global, branch) in
            [("00000081", "00000000"), ("00000040", "00000041"), ("ffffffff", "00000001"), ("7fffffff", "7fffffff")]
        {
            let bad = format!("0046 {} 00000001 00000000 000c", xid(global, branch));
            assert!(matches!(all(&bytes(&bad)), Err(Stop::Malformed(_))), "{global} {branch}");
        }
        let recover = "0047 0000000a 00000001 01800000 000c";
        assert_eq!(all(&bytes(recover)).unwrap()[0], Message::Recover { most: 10, flags: 0x0180_0000 });
        for (keys, wanted) in [
            ("0086 0001", WantedKeys::Serial),
            ("0086 0002 0002 0001 0003", WantedKeys::Numbers(vec![1, 3])),
            ("0086 0003 0002 0002 6964 0001 6e00", WantedKeys::Names(vec![b"id".to_vec(), b"n".to_vec()])),
        ] {
            assert_eq!(
                all(&bytes(&format!("{keys} 0016 000c"))).unwrap(),
                [Message::AutoKeys(wanted), Message::Describe, Message::EndOfGroup]
            );
        }
        let put = "0011 00000007 0001 00000064 02 6230 00 000c";
        assert_eq!(all(&bytes(put)).unwrap(), [Message::Put(bytes("00000064 02 6230")), Message::EndOfGroup]);
    }

    #[test]
    fn large_objects() {
        let read = "0061 0000 0065 0000 00c8 7d00 000c";
        let piece = |seek, wanted, written| {
            Message::LargeObjectData(LargeObjectData { descriptor: 101, written, wanted, chunk: 32000, seek })
        };
        assert_eq!(all(&bytes(read)).unwrap(), [piece(None, 200, None), Message::EndOfGroup]);
        let seek = "0061 0001 0065 0000 00c8 7d00 ffff 00000002 00000000 0002";
        assert_eq!(all(&bytes(seek)).unwrap(), [piece(Some((-2, 2)), 200, None)]);
        let write = "0061 0002 0065 0000 0005 7d00 0003 01020300 0002 0405";
        assert_eq!(all(&bytes(write)).unwrap(), [piece(None, 5, Some(vec![1, 2, 3, 4, 5]))]);
        let call = "0066 0006 746573746462 00000002 0001 0000 0005 0001 0002 0000 0a00 00000065";
        let values = vec![Value::Integer(101)];
        assert_eq!(all(&bytes(call)).unwrap(), [Message::CallRoutine { handle: 2, values }]);
        let answer = |hex: &str| decode_file_answer(&bytes(hex));
        assert_eq!(answer("000c").unwrap(), (FileAnswer::Done, 2));
        assert_eq!(answer("006b 00000bb8 000c").unwrap(), (FileAnswer::Written(3000), 8));
        let content = FileAnswer::Content(b"abcde".to_vec());
        assert_eq!(answer("006a 00000005 006a 0003 61626300 006a 0002 6465 000c").unwrap(), (content, 22));
        assert_eq!(answer("006a 00000000 000c").unwrap(), (FileAnswer::Content(vec![]), 8));
        assert_eq!(answer("0004 0001").unwrap(), (FileAnswer::Other, 0));
        assert_eq!(answer("006a 00000005 006a 0003 616263"), Err(Stop::Incomplete));
        assert!(matches!(answer("006a 00000001 006a 0002 6162 000c"), Err(Stop::Malformed(_))));
        assert!(matches!(all(&bytes("0061 0002 0065 0000 0001 7d00 0002 0405")), Err(Stop::Malformed(_))));
    }

    #[test]
    fn bound_values_of_every_type() {
        let cases = [
            ("0011 0000 1300 ffffbe991a140000001c", Value::Integer(-123456789012)),
            ("0005 0000 0002 0004 3d57412c", Value::Decimal(bytes("3d57412c"))),
            ("0008 0000 0000 0003 c1635f 00", Value::Decimal(bytes("c1635f"))),
            ("000a 0000 066a 0004 c3030405", Value::DateTime(0x066a, bytes("c3030405"))),
            ("002b 0000 0000 0000 0000 00000004 6c766172", Value::Text(b"lvar".to_vec())),
            ("002d 0008 696e666f726d6978 0007 626f6f6c65616e00 0000 0001 00000001 01 00", Value::Boolean(true)),
            ("0000 ffff 0000", Value::Null),
            (
                "002c 0000 0004 626c6f62 0000 0048 00000002 abcd",
                Value::Opaque { type_name: b"blob".to_vec(), bytes: vec![0xab, 0xcd] },
            ),
        ];
        for (hex, expected) in cases {
            let message = bytes(&format!("0005 0001 {hex}"));
            assert_eq!(decode(&message).unwrap(), (Message::Bind(vec![expected]), message.len()), "{hex}");
        }
    }

    /// However a peer cuts, changes or floods: never a panic, and a half message asks for more.
    #[test]
    fn no_bytes_can_hurt() {
        let whole = bytes("0005 0002 0002 0000 0a00 00000064 0000 0000 0000 0003 616263 00");
        for end in 0..whole.len() {
            assert_eq!(decode(&whole[..end]), Err(Stop::Incomplete), "{end}");
        }
        for at in 0..whole.len() {
            for value in 0..=255 {
                let mut changed = whole.clone();
                changed[at] = value;
                let _ = decode(&changed);
            }
        }
        for bad in
            ["0002 0000 7fffffff", "0002 ffff 00000000", "0005 0001 0000 0000 0000 ffff", "0011 80000000 0001", "03e7"]
        {
            assert!(matches!(decode(&bytes(bad)), Err(Stop::Malformed(_))), "{bad}");
        }
    }
}
