//! `crypt()` with Blowfish, `$2a$`: the key schedule of Provos and Mazieres over the `blowfish` crate. Its rounds double with each step
//! of the cost, up to 2³¹: so requests are looked at between them, which a ready-made `bcrypt` gives no place for.

use blowfish::Blowfish;
use pgsqlite_types::{work, Result};

/// The alphabet of salts and hashes, six bits a character, the highest first.
const ALPHABET: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Bytes of a password that count.
const LONGEST: usize = 72;
/// Bytes of the result that are shown.
const SHOWN: usize = 23;

fn encode(bytes: &[u8], out: &mut String) {
    for part in bytes.chunks(3) {
        let bits = part.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - part.len()));
        for i in 0..=part.len() {
            out.push(char::from(ALPHABET[(bits >> (18 - 6 * i) & 63) as usize]));
        }
    }
}

/// `$2a$06$` and the salt's 22 characters.
pub(crate) fn salt(cost: u32, raw: &[u8; 16]) -> String {
    let mut out = format!("$2a${cost:02}$");
    encode(raw, &mut out);
    out
}

/// The hash of a password, with the salt in front of it.
pub(crate) fn hashed(password: &[u8], cost: u32, raw: [u8; 16]) -> Result<String> {
    // (a null byte ends it, where it is not too long already)
    let key: Vec<u8> = password.iter().copied().chain([0]).take(LONGEST).collect();
    let mut state = Blowfish::bc_init_state();
    state.salted_expand_key(&raw, &key);
    for _ in 0..1u64 << cost {
        // a round encrypts a thousand blocks
        work::tick(1 << 15)?;
        state.bc_expand_key(&key);
        state.bc_expand_key(&raw);
    }
    let mut bytes = Vec::with_capacity(24);
    for block in b"OrpheanBeholderScryDoubt".chunks_exact(8) {
        let word = |i: usize| u32::from_be_bytes([block[i], block[i + 1], block[i + 2], block[i + 3]]);
        let mut pair = [word(0), word(4)];
        for _ in 0..64 {
            pair = state.bc_encrypt(pair);
        }
        bytes.extend(pair.iter().flat_map(|w| w.to_be_bytes()));
    }
    let mut out = salt(cost, &raw);
    encode(&bytes[..SHOWN], &mut out);
    Ok(out)
}
