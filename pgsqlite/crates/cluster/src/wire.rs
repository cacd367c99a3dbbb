//! Raft's messages as bytes. What comes is looked at: a node that sends nonsense is not understood, and nothing else happens.

use crate::bytes_of::{Reader, Writer};
use bytes::Bytes;
use raft::eraftpb::{Entry, EntryType, Message, MessageType};

/// The types of messages that go from node to node, by their bytes.
const TYPES: [(u8, MessageType); 14] = [
    (1, MessageType::MsgPropose),
    (2, MessageType::MsgAppend),
    (3, MessageType::MsgAppendResponse),
    (4, MessageType::MsgRequestVote),
    (5, MessageType::MsgRequestVoteResponse),
    (6, MessageType::MsgSnapshot),
    (7, MessageType::MsgHeartbeat),
    (8, MessageType::MsgHeartbeatResponse),
    (9, MessageType::MsgTransferLeader),
    (10, MessageType::MsgTimeoutNow),
    (11, MessageType::MsgReadIndex),
    (12, MessageType::MsgReadIndexResp),
    (13, MessageType::MsgRequestPreVote),
    (14, MessageType::MsgRequestPreVoteResponse),
];

fn write_entry(w: &mut Writer, entry: &Entry) {
    w.u8(entry.get_entry_type() as u8).u64(entry.term).u64(entry.index).bytes(&entry.data).bytes(&entry.context);
}

fn read_entry(r: &mut Reader) -> Option<Entry> {
    let mut entry = Entry::default();
    entry.set_entry_type(match r.u8()? {
        0 => EntryType::EntryNormal,
        1 => EntryType::EntryConfChange,
        2 => EntryType::EntryConfChangeV2,
        _ => return None,
    });
    (entry.term, entry.index) = (r.u64()?, r.u64()?);
    (entry.data, entry.context) = (r.bytes()?, r.bytes()?);
    Some(entry)
}

/// A message as bytes.
pub fn encode(message: &Message) -> Vec<u8> {
    let mut w = Writer::default();
    let kind = TYPES.iter().find(|(_, kind)| *kind == message.get_msg_type()).map_or(0, |(byte, _)| *byte);
    w.u8(kind).u64(message.to).u64(message.from).u64(message.term).u64(message.log_term).u64(message.index);
    w.u64(message.commit).u64(message.commit_term).u64(message.request_snapshot);
    w.u8(message.reject as u8).u64(message.reject_hint).u64(message.priority as u64).bytes(&message.context);
    w.u32(message.entries.len() as u32);
    message.entries.iter().for_each(|entry| write_entry(&mut w, entry));
    let metadata = message.get_snapshot().get_metadata();
    let voters = &metadata.get_conf_state().voters;
    w.u64(metadata.index).u64(metadata.term).u32(voters.len() as u32);
    voters.iter().for_each(|voter| {
        w.u64(*voter);
    });
    w.bytes(&message.get_snapshot().data);
    w.0
}

/// The message of these bytes. None: they are none.
pub fn decode(bytes: Bytes) -> Option<Message> {
    let mut r = Reader(bytes);
    let mut message = Message::default();
    let kind = r.u8()?;
    message.set_msg_type(TYPES.iter().find(|(byte, _)| *byte == kind)?.1);
    (message.to, message.from, message.term) = (r.u64()?, r.u64()?, r.u64()?);
    (message.log_term, message.index) = (r.u64()?, r.u64()?);
    (message.commit, message.commit_term, message.request_snapshot) = (r.u64()?, r.u64()?, r.u64()?);
    message.reject = r.u8()? != 0;
    (message.reject_hint, message.priority) = (r.u64()?, r.u64()? as i64);
    message.context = r.bytes()?;
    for _ in 0..r.u32()? {
        message.entries.push(read_entry(&mut r)?);
    }
    let (index, term) = (r.u64()?, r.u64()?);
    let mut voters = Vec::new();
    for _ in 0..r.u32()? {
        voters.push(r.u64()?);
    }
    let data = r.bytes()?;
    if index > 0 {
        let snapshot = message.mut_snapshot();
        snapshot.data = data;
        let metadata = snapshot.mut_metadata();
        (metadata.index, metadata.term) = (index, term);
        metadata.mut_conf_state().voters = voters;
    }
    r.is_empty().then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for (byte, kind) in TYPES {
            let mut message =
                Message { to: 1, from: 2, term: 3, log_term: 4, index: 5, commit: 6, ..Default::default() };
            message.set_msg_type(kind);
            (message.commit_term, message.request_snapshot, message.reject_hint) = (7, 8, 9);
            (message.reject, message.priority, message.context) = (byte % 2 == 0, -1, Bytes::from_static(b"c"));
            for index in 0..u64::from(byte % 3) {
                let mut entry = Entry { term: 3, index, data: Bytes::from_static(b"data"), ..Default::default() };
                entry.context = Bytes::from_static(b"context");
                message.entries.push(entry);
            }
            if kind == MessageType::MsgSnapshot {
                let snapshot = message.mut_snapshot();
                snapshot.data = Bytes::from_static(b"copy");
                (snapshot.mut_metadata().index, snapshot.mut_metadata().term) = (10, 11);
                snapshot.mut_metadata().mut_conf_state().voters = vec![1, 2, 3];
            }
            let encoded = encode(&message);
            assert_eq!(decode(encoded.clone().into()), Some(message));
            for end in 0..encoded.len() {
                assert_eq!(decode(encoded[..end].to_vec().into()), None);
            }
            assert_eq!(decode([&encoded[..], b"x"].concat().into()), None);
        }
        assert_eq!(decode(vec![0; 200].into()), None);
    }
}
