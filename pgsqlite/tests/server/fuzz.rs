//! Mutated exchanges against a live server, from a fixed seed: whatever is sent, the server lives and serves others rightly.

use crate::harness::*;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// The number of mutated exchanges; a longer run: `FUZZ_ROUNDS=100000 cargo test --test server fuzz`.
fn rounds() -> usize {
    std::env::var("FUZZ_ROUNDS").ok().and_then(|s| s.parse().ok()).unwrap_or(600)
}

/// SplitMix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Exchanges as clients have them: what is mutated.
fn corpus() -> Vec<Vec<u8>> {
    let hello = startup(&[("user", "postgres"), ("database", "main"), ("options", "-c DateStyle=ISO")]);
    let binary = message(b'B', b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\x01\0\x01");
    let typed = message(b'P', b"s\0SELECT $1::int, $2::text\0\0\x02\0\0\0\x17\0\0\0\x19");
    let ssl = packet(&(1234u32 << 16 | 5679).to_be_bytes());
    let cancel = packet(&[&(1234u32 << 16 | 5678).to_be_bytes()[..], &[0; 8]].concat());
    vec![
        [&hello[..], &query("SELECT 1; SELECT 'a' || $tag$b$tag$")].concat(),
        [&hello[..], &query("BEGIN; INSERT INTO t VALUES (1, 'x'); COMMIT"), &query("SELECT * FROM t LIMIT 3")]
            .concat(),
        [
            &hello[..],
            &typed,
            &binary,
            &message(b'D', b"Ss\0"),
            &execute("", 1),
            &sync(),
            &message(b'C', b"Ss\0"),
            &sync(),
        ]
        .concat(),
        [
            &hello[..],
            &parse("", "SELECT a FROM generate_series(1, 100) a"),
            &bind("p", "", &[]),
            &execute("p", 7),
            &sync(),
        ]
        .concat(),
        [&hello[..], &query("COPY t FROM STDIN"), &message(b'd', b"1\tx\n2\ty\n"), &message(b'c', b"")].concat(),
        [&hello[..], &query("COPY t TO STDOUT WITH (FORMAT csv)"), &message(b'f', b"no\0"), &message(b'H', b"")]
            .concat(),
        [&hello[..], &query("SELECT '[1,{\"a\":null}]'::jsonb, '{1,2}'::int[], 1e300::numeric, '1 day'::interval")]
            .concat(),
        [&hello[..], &message(b'F', b"\0\0\0\x01\0\0\0\0\0\0"), &message(b'X', b"")].concat(),
        [&ssl[..], &hello, &query("SHOW ALL")].concat(),
        cancel,
    ]
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, random.next() as u8),
            4 => {
                let end = (at + random.below(20)).min(bytes.len());
                bytes.drain(at..end);
            }
            5 => {
                let end = (at + random.below(40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            // numbers that matter to lengths and counts
            6 => {
                let numbers = [0u32, 1, 3, 4, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x3fff_ffff];
                let number = numbers[random.below(numbers.len())].to_be_bytes();
                for (place, byte) in bytes[at..].iter_mut().zip(number) {
                    *place = byte;
                }
            }
            _ => bytes.splice(at..at, std::iter::repeat_n(b'(', random.below(3000))).for_each(drop),
        }
        if bytes.is_empty() {
            return;
        }
    }
}

#[test]
fn whatever_is_sent_others_are_served() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--database", &folder.path("a.db"), "--authentication-timeout", "1"]);
    let mut bystander = server.session();
    bystander.rows("CREATE TABLE t (a int, b text)");
    bystander.rows("CREATE TABLE mine (n int)");
    let corpus = corpus();
    let (mut random, mut committed) = (Random(20_240_229), 0);
    for round in 1..=rounds() {
        let mut bytes = corpus[random.below(corpus.len())].clone();
        mutate(&mut bytes, &mut random);
        let mut stream = UnixStream::connect(&server.socket).unwrap();
        // the server may close while we still write: that is an answer, too
        let _ = stream.write_all(&bytes);
        let mut answer = Vec::new();
        if random.below(4) > 0 {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let _ = (&mut stream).take(1 << 20).read_to_end(&mut answer);
        }
        // one that stays in the midst of a COPY keeps other writers waiting
        drop(stream);
        let text = String::from_utf8_lossy(&answer);
        assert!(!text.contains("CXX000\0"), "round {round}: {text}\n{bytes:?}");
        if round % 10 == 0 {
            bystander.rows("INSERT INTO mine VALUES (1)");
            committed += 1;
            assert_eq!(bystander.value("SELECT count(*) FROM mine"), committed.to_string());
        }
    }
    drop(bystander);
    server.stop();
    let server = Server::start(&folder, &["--database", &folder.path("a.db")]);
    assert_eq!(server.session().value("SELECT count(*) FROM mine"), committed.to_string());
}
