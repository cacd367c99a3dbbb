//! What a node asks of the cluster: changes of its objects. A command is the content of an entry of the log. What it leads to depends on nothing but the commands before it, so that it is the
//! same on each node.

use crate::bytes_of::{Reader, Writer};
use bytes::Bytes;

/// The most bytes of a content in one command. More is put in parts.
pub const MOST: usize = 8 << 20;

/// What has to be true of the object that has the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    Any,
    /// There is none.
    Absent,
    /// It has this tag.
    Tag(u64),
}

/// A change of the objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Puts an object.
    Put {
        /// its name
        name: String,
        /// when
        condition: Condition,
        /// what its user keeps beside the content
        attributes: Bytes,
        /// its content
        content: Bytes,
    },
    /// Puts a part of an upload. Nobody sees it yet.
    Part {
        /// the upload: a number that no other one has
        upload: u64,
        /// which part
        number: u32,
        /// its content
        content: Bytes,
    },
    /// Makes an object of an upload.
    Complete {
        /// the upload
        upload: u64,
        /// how many parts it has, numbered from 0
        parts: u32,
        /// the object's name
        name: String,
        /// when
        condition: Condition,
        /// as in `Put`
        attributes: Bytes,
    },
    /// Gives an upload up.
    Abort {
        /// the upload
        upload: u64,
    },
    /// Removes an object, if it is there.
    Delete {
        /// its name
        name: String,
    },
}

/// A change, with who asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// a number that no other process has
    pub process: u64,
    /// the process's number for the request
    pub ticket: u64,
    /// by its clock, in milliseconds since 1970
    pub time: u64,
    /// what it asks for
    pub change: Change,
}

const PUT: u8 = 1;
const PART: u8 = 2;
const COMPLETE: u8 = 3;
const ABORT: u8 = 4;
const DELETE: u8 = 5;

impl Condition {
    fn write(self, w: &mut Writer) {
        match self {
            Condition::Any => w.u8(0),
            Condition::Absent => w.u8(1),
            Condition::Tag(tag) => w.u8(2).u64(tag),
        };
    }

    fn read(r: &mut Reader) -> Option<Condition> {
        Some(match r.u8()? {
            0 => Condition::Any,
            1 => Condition::Absent,
            2 => Condition::Tag(r.u64()?),
            _ => return None,
        })
    }
}

impl Command {
    /// The command as bytes. A content is at their end.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        let kind = match self.change {
            Change::Put { .. } => PUT,
            Change::Part { .. } => PART,
            Change::Complete { .. } => COMPLETE,
            Change::Abort { .. } => ABORT,
            Change::Delete { .. } => DELETE,
        };
        w.u8(kind).u64(self.process).u64(self.ticket).u64(self.time);
        match &self.change {
            Change::Put { name, condition, attributes, content } => {
                w.bytes(name.as_bytes()).bytes(attributes);
                condition.write(&mut w);
                w.0.extend(content);
            }
            Change::Part { upload, number, content } => {
                w.u64(*upload).u32(*number);
                w.0.extend(content);
            }
            Change::Complete { upload, parts, name, condition, attributes } => {
                w.u64(*upload).u32(*parts).bytes(name.as_bytes()).bytes(attributes);
                condition.write(&mut w);
            }
            Change::Abort { upload } => {
                w.u64(*upload);
            }
            Change::Delete { name } => {
                w.bytes(name.as_bytes());
            }
        }
        w.0
    }

    /// The command of an entry. None: it is none of this version.
    pub fn decode(data: &Bytes) -> Option<Command> {
        let mut r = Reader(data.clone());
        let (kind, process, ticket, time) = (r.u8()?, r.u64()?, r.u64()?, r.u64()?);
        let change = match kind {
            PUT => {
                let (name, attributes) = (r.text()?, r.bytes()?);
                let condition = Condition::read(&mut r)?;
                Change::Put { name, condition, attributes, content: std::mem::take(&mut r.0) }
            }
            PART => {
                let (upload, number) = (r.u64()?, r.u32()?);
                Change::Part { upload, number, content: std::mem::take(&mut r.0) }
            }
            COMPLETE => {
                let (upload, parts) = (r.u64()?, r.u32()?);
                let (name, attributes) = (r.text()?, r.bytes()?);
                Change::Complete { upload, parts, name, condition: Condition::read(&mut r)?, attributes }
            }
            ABORT => Change::Abort { upload: r.u64()? },
            DELETE => Change::Delete { name: r.text()? },
            _ => return None,
        };
        r.is_empty().then_some(Command { process, ticket, time, change })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_as_they_were_written() {
        let name = || "a/b".to_string();
        let bytes = |b: &'static [u8]| Bytes::from_static(b);
        for change in [
            Change::Put { name: name(), condition: Condition::Any, attributes: bytes(b""), content: bytes(b"") },
            Change::Put { name: name(), condition: Condition::Tag(7), attributes: bytes(b"x"), content: bytes(b"abc") },
            Change::Part { upload: u64::MAX, number: 3, content: bytes(b"abc") },
            Change::Complete {
                upload: 1,
                parts: 2,
                name: name(),
                condition: Condition::Absent,
                attributes: bytes(b"y"),
            },
            Change::Abort { upload: 4 },
            Change::Delete { name: "é".into() },
        ] {
            let command = Command { process: 1, ticket: 2, time: 3, change };
            let encoded = Bytes::from(command.encode());
            assert_eq!(Command::decode(&encoded), Some(command.clone()));
            // (a content may end anywhere)
            let has_content = matches!(command.change, Change::Put { .. } | Change::Part { .. });
            for end in 0..encoded.len() {
                let cut = Command::decode(&encoded.slice(..end));
                assert!(cut.is_none() || has_content && cut.as_ref() != Some(&command), "{command:?} {end}");
            }
        }
        assert_eq!(Command::decode(&Bytes::from_static(&[9; 40])), None);
    }
}
