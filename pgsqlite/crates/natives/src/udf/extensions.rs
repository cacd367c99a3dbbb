//! The functions of uuid-ossp, pgcrypto and unaccent, and citext's comparison.

use super::shim::{Call, Scalar};
use crate::hashing::{digest_of, update};
use md5::Md5;
use pgsqlite_types::buffer::bad_stored;
use pgsqlite_types::extension::citext;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, DatumRef, PgError, Result, SqlState};
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

// --- uuid-ossp ---------------------------------------------------------------------------------------------------------

fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|e| PgError::new(SqlState::SYSTEM_ERROR, format!("could not get random bytes: {e}")))
}

fn uuid(bytes: [u8; 16]) -> Datum {
    let hex = hex::encode(bytes);
    Datum::Text(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// With the bits of a version, and of the variant that RFC 4122 describes.
fn versioned(mut bytes: [u8; 16], version: u8) -> Datum {
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    uuid(bytes)
}

fn version_4(_: &Call) -> Result<Datum> {
    let mut bytes = [0; 16];
    random(&mut bytes)?;
    Ok(versioned(bytes, 4))
}

/// The time in steps of 100 ns since 1582; the node is random, as the RFC allows where no address is to be told.
fn version_1(_: &Call) -> Result<Datum> {
    /// from 1582-10-15 to 1970-01-01
    const EPOCH: u128 = 0x01b2_1dd2_1381_4000;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let time = (now.as_nanos() / 100 + EPOCH) as u64;
    let mut bytes = [0; 16];
    random(&mut bytes)?;
    bytes[..4].copy_from_slice(&(time as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((time >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&((time >> 48) as u16).to_be_bytes());
    // a multicast address is nobody's
    bytes[10] |= 1;
    Ok(versioned(bytes, 1))
}

/// Of a name in a namespace.
fn named<D: Digest>(c: &Call, version: u8) -> Result<Datum> {
    let namespace = hex::decode(c.text(0)?.replace('-', "")).map_err(|_| PgError::corrupted("a stored uuid"))?;
    let digest = digest_of::<D>(&[&namespace, c.text(1)?.as_bytes()])?;
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Ok(versioned(bytes, version))
}

fn namespace(kind: u8) -> Result<Datum> {
    Ok(Datum::Text(format!("6ba7b8{kind:02x}-9dad-11d1-80b4-00c04fd430c8")))
}

// --- pgcrypto ----------------------------------------------------------------------------------------------------------

/// A text or bytea argument.
fn bytes<'c>(c: &Call<'c>, i: usize) -> Result<&'c [u8]> {
    match c.datum(i) {
        DatumRef::Text(text) => Ok(text.as_bytes()),
        DatumRef::Blob(bytes) => Ok(bytes),
        other => Err(bad_stored("bytea", other)),
    }
}

fn parameter(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// The algorithm's digest of the parts, and the size of its blocks. Errors: 22023 for one that is unknown.
fn hash(algorithm: &str, parts: &[&[u8]]) -> Result<(Vec<u8>, usize)> {
    fn of<D: Digest>(parts: &[&[u8]], block: usize) -> Result<(Vec<u8>, usize)> {
        Ok((digest_of::<D>(parts)?, block))
    }
    match algorithm.to_ascii_lowercase().as_str() {
        "md5" => of::<Md5>(parts, 64),
        "sha1" => of::<Sha1>(parts, 64),
        "sha224" => of::<Sha224>(parts, 64),
        "sha256" => of::<Sha256>(parts, 64),
        "sha384" => of::<Sha384>(parts, 128),
        "sha512" => of::<Sha512>(parts, 128),
        _ => Err(parameter(format!("Cannot use \"{algorithm}\": No such hash algorithm"))),
    }
}

fn digest(c: &Call) -> Result<Datum> {
    Ok(Datum::Blob(hash(c.text(1)?, &[bytes(c, 0)?])?.0))
}

fn hmac(c: &Call) -> Result<Datum> {
    let (data, key, algorithm) = (bytes(c, 0)?, bytes(c, 1)?, c.text(2)?);
    let (hashed, block) = hash(algorithm, &[key])?;
    let mut padded = if key.len() > block { hashed } else { key.to_vec() };
    padded.resize(block, 0);
    let pad = |with: u8| padded.iter().map(|b| b ^ with).collect::<Vec<u8>>();
    let inner = hash(algorithm, &[&pad(0x36), data])?.0;
    Ok(Datum::Blob(hash(algorithm, &[&pad(0x5c), &inner])?.0))
}

fn random_bytes(c: &Call) -> Result<Datum> {
    let length = c.int(0)?;
    if !(1..=1024).contains(&length) {
        return Err(PgError::new(SqlState::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION, "Length not in range"));
    }
    let mut bytes = vec![0; length as usize];
    random(&mut bytes)?;
    Ok(Datum::Blob(bytes))
}

/// The alphabet of salts, by value, in crypt's order.
const CRYPT64: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Six bits a character, the lowest first.
fn crypt64(mut value: u32, length: usize, out: &mut String) {
    for _ in 0..length {
        work::pulse(1);
        out.push(char::from(CRYPT64[(value & 63) as usize]));
        value >>= 6;
    }
}

fn gen_salt(c: &Call) -> Result<Datum> {
    let rounds = if c.len() > 1 { c.int(1)? } else { 0 };
    let kind = c.text(0)?.to_ascii_lowercase();
    let wrong_rounds = || parameter("gen_salt: Incorrect number of rounds");
    let mut raw = [0; 16];
    random(&mut raw)?;
    Ok(Datum::Text(match kind.as_str() {
        "bf" => {
            let cost = if rounds == 0 { 6 } else { rounds };
            if !(4..=31).contains(&cost) {
                return Err(wrong_rounds());
            }
            super::blowfish_crypt::salt(cost as u32, &raw)
        }
        "md5" => {
            if !matches!(rounds, 0 | 1000) {
                return Err(wrong_rounds());
            }
            let mut salt = String::from("$1$");
            // bounded: 6 bytes
            for part in raw[..6].chunks(3) {
                crypt64(u32::from(part[0]) | u32::from(part[1]) << 8 | u32::from(part[2]) << 16, 4, &mut salt);
            }
            salt
        }
        "des" | "xdes" => return Err(PgError::not_supported(format!("gen_salt('{kind}')"))),
        _ => return Err(parameter("gen_salt: Unknown salt algorithm")),
    }))
}

fn crypt(c: &Call) -> Result<Datum> {
    let (password, salt) = (c.text(0)?, c.text(1)?);
    let invalid = || parameter("invalid salt");
    if let Some(rest) = salt.strip_prefix("$1$") {
        let salt: String = rest.chars().take_while(|c| *c != '$').take(8).collect();
        return Ok(Datum::Text(md5_crypt(password.as_bytes(), &salt)?));
    }
    match salt.get(..4) {
        Some("$2a$") => (),
        Some("$2x$") => return Err(PgError::not_supported("crypt() with $2x$")),
        Some(_) if !salt.starts_with('$') && !salt.starts_with('_') => {
            return Err(PgError::not_supported("crypt() with DES"))
        }
        None if !salt.starts_with('$') && !salt.starts_with('_') && salt.len() >= 2 => {
            return Err(PgError::not_supported("crypt() with DES"))
        }
        _ if salt.starts_with('_') => return Err(PgError::not_supported("crypt() with extended DES")),
        _ => return Err(invalid()),
    };
    let cost: u32 = salt.get(4..6).and_then(|c| c.parse().ok()).filter(|c| (4..=31).contains(c)).ok_or_else(invalid)?;
    let text = salt.get(7..29).filter(|_| salt.as_bytes()[6] == b'$').ok_or_else(invalid)?;
    let raw = bcrypt64(text).ok_or_else(invalid)?;
    // (what is behind 72 bytes does not count)
    Ok(Datum::Text(super::blowfish_crypt::hashed(password.as_bytes(), cost, raw)?))
}

/// 16 bytes of 22 characters in bcrypt's alphabet.
fn bcrypt64(text: &str) -> Option<[u8; 16]> {
    const ALPHABET: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut bits: u32 = 0;
    let mut held = 0;
    let mut out = Vec::with_capacity(16);
    for b in text.bytes() {
        work::pulse(1);
        bits = bits << 6 | ALPHABET.iter().position(|a| *a == b)? as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    out.truncate(16);
    out.try_into().ok()
}

/// The crypt function of FreeBSD with MD5, `$1$`.
fn md5_crypt(password: &[u8], salt: &str) -> Result<String> {
    let (length, salt_bytes) = (password.len(), salt.as_bytes());
    let alternate = digest_of::<Md5>(&[password, salt_bytes, password])?;
    let mut digest = Md5::new();
    for part in [password, b"$1$", salt_bytes] {
        update(&mut digest, part)?;
    }
    let mut left = length;
    while left > 0 {
        work::tick(1)?;
        update(&mut digest, &alternate[..left.min(16)])?;
        left -= left.min(16);
    }
    let mut bits = length;
    // bounded: the bits of a number
    while bits > 0 {
        update(&mut digest, if bits & 1 == 1 { &[0][..] } else { &password[..1] })?;
        bits >>= 1;
    }
    let mut last = digest.finalize().to_vec();
    for round in 0..1000 {
        let (first, second) = if round % 2 == 1 { (password, &last[..]) } else { (&last[..], password) };
        let salt = if round % 3 != 0 { salt_bytes } else { &[] };
        let again = if round % 7 != 0 { password } else { &[] };
        last = digest_of::<Md5>(&[first, salt, again, second])?;
    }
    let mut out = format!("$1${salt}$");
    for (a, b, c) in [(0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5)] {
        crypt64(u32::from(last[a]) << 16 | u32::from(last[b]) << 8 | u32::from(last[c]), 4, &mut out);
    }
    crypt64(u32::from(last[11]), 2, &mut out);
    Ok(out)
}

// --- unaccent ----------------------------------------------------------------------------------------------------------

/// (text), (dictionary, text)
fn unaccent(c: &Call) -> Result<Datum> {
    if c.len() > 1 {
        if c.int(0)? as pgsqlite_types::Oid != pgsqlite_sql::builtins::text_search::UNACCENT_DICTIONARY {
            return Err(PgError::not_supported("unaccent() with another dictionary than unaccent"));
        }
        return Ok(Datum::Text(crate::text_search::unaccent::unaccented(c.text(1)?)));
    }
    Ok(Datum::Text(crate::text_search::unaccent::unaccented(c.text(0)?)))
}

/// The difference of the first bytes in which the two differ, as C's comparison of bytes tells it, else of their lengths.
fn compare_citext(c: &Call) -> Result<Datum> {
    let folded = |i| c.text(i).map(|t| citext::folded(t).collect::<String>());
    let (a, b) = (folded(0)?, folded(1)?);
    let differ = a.bytes().zip(b.bytes()).find(|(x, y)| x != y);
    Ok(Datum::Int(match differ {
        Some((x, y)) => i64::from(x) - i64::from(y),
        None => a.len().cmp(&b.len()) as i64,
    }))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("citext_cmp citext_pattern_cmp", compare_citext),
    ("uuid_generate_v1 uuid_generate_v1mc", version_1),
    ("uuid_generate_v3", |c| named::<Md5>(c, 3)),
    ("uuid_generate_v4 pg_random_uuid", version_4),
    ("uuid_generate_v5", |c| named::<Sha1>(c, 5)),
    ("uuid_nil", |_| Ok(uuid([0; 16]))),
    ("uuid_ns_dns", |_| namespace(0x10)),
    ("uuid_ns_url", |_| namespace(0x11)),
    ("uuid_ns_oid", |_| namespace(0x12)),
    ("uuid_ns_x500", |_| namespace(0x14)),
    ("pg_digest", digest),
    ("pg_hmac", hmac),
    ("pg_random_bytes", random_bytes),
    ("pg_gen_salt pg_gen_salt_rounds", gen_salt),
    ("pg_crypt", crypt),
    ("unaccent_dict", unaccent),
];
