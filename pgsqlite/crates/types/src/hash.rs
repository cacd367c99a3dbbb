//! PostgreSQL's hash functions with a seed (Bob Jenkins' lookup3): which partition of a hash-partitioned table has a row, and what
//! `hashint4extended`, `hashtextextended` … give. The lower 32 bits for the seed 0 are what `hashint4`, `hashtext` … give.

use crate::codec::TypeCodec;
use crate::datetime::{Date, Timestamp};
use crate::work;
use crate::DatumRef;

fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    *a = a.wrapping_sub(*c) ^ c.rotate_left(4);
    *c = c.wrapping_add(*b);
    *b = b.wrapping_sub(*a) ^ a.rotate_left(6);
    *a = a.wrapping_add(*c);
    *c = c.wrapping_sub(*b) ^ b.rotate_left(8);
    *b = b.wrapping_add(*a);
    *a = a.wrapping_sub(*c) ^ c.rotate_left(16);
    *c = c.wrapping_add(*b);
    *b = b.wrapping_sub(*a) ^ a.rotate_left(19);
    *a = a.wrapping_add(*c);
    *c = c.wrapping_sub(*b) ^ b.rotate_left(4);
    *b = b.wrapping_add(*a);
}

fn finish(mut a: u32, mut b: u32, mut c: u32) -> u64 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    u64::from(b) << 32 | u64::from(c)
}

fn start(length: u32, seed: u64) -> (u32, u32, u32) {
    let start = 0x9e37_79b9_u32.wrapping_add(length).wrapping_add(3_923_095);
    let (mut a, mut b, mut c) = (start, start, start);
    if seed != 0 {
        a = a.wrapping_add((seed >> 32) as u32);
        b = b.wrapping_add(seed as u32);
        mix(&mut a, &mut b, &mut c);
    }
    (a, b, c)
}

/// Of a number of 32 bits.
pub fn number(value: u32, seed: u64) -> u64 {
    let (a, b, c) = start(4, seed);
    finish(a.wrapping_add(value), b, c)
}

/// Of a number of 64 bits: one that fits into 32 has their hash.
pub fn long(value: i64, seed: u64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    number(low ^ if value >= 0 { high } else { !high }, seed)
}

/// Of bytes.
pub fn bytes(key: &[u8], seed: u64) -> u64 {
    let (mut a, mut b, mut c) = start(key.len() as u32, seed);
    let word = |at: &[u8]| u32::from_le_bytes([at[0], at[1], at[2], at[3]]);
    let mut chunks = key.chunks_exact(12);
    for chunk in &mut chunks {
        work::pulse(1);
        a = a.wrapping_add(word(chunk));
        b = b.wrapping_add(word(&chunk[4..]));
        c = c.wrapping_add(word(&chunk[8..]));
        mix(&mut a, &mut b, &mut c);
    }
    for (i, byte) in chunks.remainder().iter().enumerate() {
        let byte = u32::from(*byte);
        match i {
            0..=3 => a = a.wrapping_add(byte << (8 * i)),
            4..=7 => b = b.wrapping_add(byte << (8 * (i - 4))),
            // (the lowest byte of c is left to the length)
            _ => c = c.wrapping_add(byte << (8 * (i - 7))),
        }
    }
    finish(a, b, c)
}

/// Two hashes as one, as partitions of several key columns want them.
pub fn combine(a: u64, b: u64) -> u64 {
    a ^ b.wrapping_add(0x49a0_f4dd_15e5_a8e3).wrapping_add(a << 54).wrapping_add(a >> 7)
}

/// The seed of partitions' hashes.
pub const PARTITION_SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// Whether values of a type can be hashed here.
pub fn is_known(codec: &TypeCodec) -> bool {
    matches!(
        codec,
        TypeCodec::Bool
            | TypeCodec::Int2
            | TypeCodec::Int4
            | TypeCodec::Int8
            | TypeCodec::Oid
            | TypeCodec::Text
            | TypeCodec::BpChar
            | TypeCodec::Uuid
            | TypeCodec::Date
            | TypeCodec::Timestamp
            | TypeCodec::TimestampTz
    )
}

/// The hash of a value in storage form, that is not NULL, with the seed of partitions. None: not of this type.
pub fn of_value(codec: &TypeCodec, value: DatumRef) -> Option<u64> {
    let seed = PARTITION_SEED;
    Some(match (codec, value) {
        (TypeCodec::Bool | TypeCodec::Int2 | TypeCodec::Int4 | TypeCodec::Oid, DatumRef::Int(i)) => {
            number(i as u32, seed)
        }
        (TypeCodec::Int8, DatumRef::Int(i)) => long(i, seed),
        (TypeCodec::Text, DatumRef::Text(text)) => bytes(text.as_bytes(), seed),
        (TypeCodec::BpChar, DatumRef::Text(text)) => bytes(text.trim_end_matches(' ').as_bytes(), seed),
        (TypeCodec::Uuid, DatumRef::Text(text)) => bytes(&crate::uuid::parse(text)?, seed),
        (TypeCodec::Date, DatumRef::Text(text)) => number(Date::from_storage(text)?.0 as u32, seed),
        (TypeCodec::Timestamp | TypeCodec::TimestampTz, DatumRef::Text(text)) => {
            long(Timestamp::from_storage(text)?.0, seed)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What PostgreSQL's functions of these names gave for the seed of partitions.
    #[test]
    fn hashes_are_those_of_postgresql() {
        let seed = PARTITION_SEED;
        // hashint4extended
        assert_eq!(number(1, seed) as i64, 5968994663651403477);
        assert_eq!(number(-5i32 as u32, seed) as i64, 5466844944386338076);
        // hashint8extended
        assert_eq!(long(-5, seed) as i64, 5466844944386338076);
        assert_eq!(long(5_000_000_000, seed) as i64, -2799505259769899283);
        // hashtextextended
        assert_eq!(bytes(b"", seed) as i64, -5700645584453517373);
        assert_eq!(bytes(b"abc", seed) as i64, 3628778498291917250);
        assert_eq!(bytes(b"hello world, this is a test", seed) as i64, -6742552184026801423);
        let of = |codec: TypeCodec, text| of_value(&codec, DatumRef::Text(text)).map(|h| h as i64);
        // uuid_hash_extended, timestamp_hash_extended, hashint4extended of the days of a date
        assert_eq!(of(TypeCodec::Uuid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), Some(424513190990560493));
        assert_eq!(of(TypeCodec::Timestamp, "2020-01-01 00:00:00"), Some(3657160485223084264));
        assert_eq!(of(TypeCodec::Date, "2020-01-01"), Some(-3078580042271029453));
    }
}
