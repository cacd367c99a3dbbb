//! What clients send, changed at random from a fixed seed: no bytes and no statement make a panic, a hang or a message that was not
//! there. `FUZZ_ROUNDS` asks for more than the few that a test run has time for.

use crate::dialect::parser;
use crate::values::bind;
use crate::values::codeset::CodeSet;
use crate::values::complex::{field, kept, Complex, Kind};
use crate::values::dates::DateForm;
use crate::values::money::MoneyForm;
use crate::values::qualifier::{self, Qualifier};
use crate::values::types::Type;
use crate::wire::input::{Cursor, Stop, LONGEST};
use crate::wire::messages::{self, Message};
use crate::wire::{login, type_code};

fn rounds(usual: usize) -> usize {
    std::env::var("FUZZ_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
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

    /// Bytes changed in one place or a few: bits, bytes, numbers at their limits, pieces lost, doubled, or taken from others.
    fn change(&mut self, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
        const LIMITS: [&[u8]; 8] = [
            &[0x7f, 0xff],
            &[0xff, 0xff],
            &[0x80, 0],
            &[0, 0],
            &[0x7f, 0xff, 0xff, 0xff],
            &[0xff, 0xff, 0xff, 0xff],
            &[0x80, 0, 0, 0],
            &[0, 0, 0, 1],
        ];
        for _ in 0..1 + self.below(3) {
            let at = self.below(bytes.len());
            let end = (at + self.below(12)).min(bytes.len());
            match self.below(7) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = self.next() as u8,
                2 => {
                    let limit = LIMITS[self.below(LIMITS.len())];
                    // messages are made of shorts
                    let at = at & !1;
                    let end = (at + limit.len()).min(bytes.len());
                    bytes.splice(at.min(end)..end, limit.iter().copied());
                }
                3 => drop(bytes.drain(at..end)),
                4 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                5 => bytes.truncate(at),
                _ => {
                    let other = &others[self.below(others.len())];
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[self.below(other.len())..]);
                }
            }
        }
    }
}

/// The groups of the corpus, and whether each is one that a client really sent.
fn corpus() -> Vec<(bool, Vec<u8>)> {
    let hex = |line: &str| -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&line[at..at + 2], 16).expect("hexadecimal digits");
        (0..line.len()).step_by(2).map(digit).collect()
    };
    let (sent, made) = include_str!("../fuzz/groups.txt").split_once("\n# rows and columns").expect("two parts");
    let lines = |text: &'static str| text.lines().filter(|l| !l.is_empty() && l.bytes().all(|b| b.is_ascii_hexdigit()));
    lines(sent).map(|l| (true, hex(l))).chain(lines(made).map(|l| (false, hex(l)))).collect()
}

/// All messages that bytes hold, and why there are no more.
fn all(mut bytes: &[u8]) -> (Vec<Message>, Option<Stop>) {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        match messages::decode(bytes) {
            Ok((message, n)) => {
                assert!(0 < n && n <= bytes.len(), "a message of {n} bytes in {}", bytes.len());
                out.push(message);
                bytes = &bytes[n..];
            }
            Err(stop) => return (out, Some(stop)),
        }
    }
    (out, None)
}

/// What becomes of a message's contents before the engine sees them.
fn use_up(message: &Message, random: &mut Random) {
    let complex = |ty| kept(ty).ok().map(Type::Complex);
    let row = Complex::Row(vec![field("a", Type::Integer), field("b", Type::VarChar(10))]);
    let targets = [
        None,
        Some(Type::Integer),
        Some(Type::Decimal(10, Some(2))),
        Some(Type::Date),
        Some(Type::DateTime(Qualifier::datetime(qualifier::YEAR, qualifier::SECOND + 5))),
        Some(Type::Interval(Qualifier { from: qualifier::DAY, to: 15, precision: 9 })),
        Some(Type::Boolean),
        Some(Type::Char(10)),
        Some(Type::Text),
        complex(Complex::Collection(Kind::Set, Type::Integer)),
        complex(Complex::Collection(Kind::List, Type::Boolean)),
        complex(row.clone()),
        complex(Complex::Collection(Kind::List, complex(row).unwrap_or(Type::Integer))),
    ];
    match message {
        Message::Bind(values) => {
            for value in values {
                for codeset in [CodeSet::Latin1, CodeSet::Utf8] {
                    // an error is as good as a text
                    let _ = bind::text(
                        value,
                        targets[random.below(targets.len())],
                        codeset,
                        &DateForm::iso(),
                        &MoneyForm::usual(),
                    );
                }
            }
        }
        Message::Put(row) => {
            let mut cursor = Cursor::new(row);
            for _ in 0..8 {
                let code = [
                    type_code::INTEGER,
                    type_code::VARCHAR,
                    type_code::DECIMAL,
                    type_code::DATETIME,
                    type_code::INT8,
                    random.next() as i16,
                ][random.below(6)];
                let length = [20, 0x0a02, 0x130f, random.next() as i32, -1][random.below(5)];
                let Ok(value) = bind::tuple_value(&mut cursor, code, length) else { break };
                let _ = bind::text(&value, None, CodeSet::Latin1, &DateForm::iso(), &MoneyForm::usual());
            }
        }
        Message::Prepare { text, .. } | Message::Command(text) => {
            if let Ok(text) = std::str::from_utf8(text) {
                let _ = pgsqlite_sql::parse::with_stack(|| parser::parse(text, random.below(2) == 0));
            }
        }
        _ => {}
    }
}

/// However the network cuts what clients send, the whole messages are read and the rest is waited for.
#[test]
fn groups_that_clients_sent_are_understood_however_they_are_cut() {
    for (sent, group) in corpus() {
        let (messages, stop) = all(&group);
        assert_eq!(stop.is_none(), sent, "{group:02x?}");
        for end in (0..group.len()).filter(|_| sent) {
            let (before, stop) = all(&group[..end]);
            assert!(matches!(stop, None | Some(Stop::Incomplete)), "{end} bytes of {group:02x?}: {stop:?}");
            assert_eq!(before, messages[..before.len()], "{end} bytes of {group:02x?}");
        }
    }
}

#[test]
fn changed_groups_hurt_nobody() {
    let corpus: Vec<Vec<u8>> = corpus().into_iter().map(|(_, group)| group).collect();
    let mut random = Random(1);
    let (mut whole, mut malformed, mut incomplete) = (0, 0, 0);
    for _ in 0..rounds(60_000) {
        let mut group = corpus[random.below(corpus.len())].clone();
        random.change(&mut group, &corpus);
        let (messages, stop) = all(&group);
        for message in &messages {
            use_up(message, &mut random);
        }
        match stop {
            None => whole += 1,
            Some(Stop::Malformed(_)) => malformed += 1,
            // more is never asked for than a message may be long
            Some(Stop::Incomplete) => {
                assert!(group.len() <= LONGEST);
                incomplete += 1;
            }
        }
    }
    // the changes are neither too small nor too great to meet all three
    assert!(whole > 0 && malformed > 0 && incomplete > 0, "{whole} {malformed} {incomplete}");
}

#[test]
fn changed_logins_hurt_nobody() {
    let login = login::tests::request();
    let mut random = Random(2);
    for _ in 0..rounds(20_000) {
        let mut packet = login.clone();
        random.change(&mut packet, std::slice::from_ref(&login));
        if let Ok((_, n)) = login::decode(&packet) {
            assert!(n <= packet.len());
        }
    }
}

/// Texts of every kind of statement that the dialect has.
const STATEMENTS: [&str; 17] = [
    "select skip 1 first 2 a.x, nvl(b.y, 'z')::char(3) from t a, outer u b where a.i = b.i and x matches '[a-c]*' escape '\\' order by 1 desc",
    "select count(*), dbinfo('sqlca.sqlerrd1') from systables where tabid between 1 and 99 group by 2 having max(x) > ?",
    "select x from t where y in (select z from u where u.a = t.a) and not exists (select 1 from v) into temp w with no log",
    "insert into t (a, b) values (0, datetime(2026-01-02 03:04:05) year to second)",
    "insert into t select interval(3 04:05) day to minute, current hour to fraction(3), today - 1 units day from u",
    "update t set a = case when b is null then -1.5e3 else extend(c, year to day) end where d like '%x_' or e || f = \"q\"",
    "delete from owner.t where a >= all (select b from u) and c[1,2] = 'ab'",
    "create temp table t (a serial(5) not null primary key, b decimal(10,2) default 1.5 check (b > 0), c interval day(3) to second) with no log",
    "create table t (a int references u (b) on delete cascade constraint fk, unique (a) constraint uq) in space lock mode row",
    "alter table t add (x lvarchar(300) before y), drop constraint c, modify (z nvarchar(20,5) not null)",
    "create unique index i on t (a desc, b); rename column t.a to b; grant select, update on t to public",
    "set isolation to committed read; set lock mode to wait 5; begin work; savepoint s; rollback work to savepoint s; release savepoint s",
    "execute procedure p(1, 'x'); { a comment } unload to 'f' select * from t -- another",
    "create sequence s increment by -5 maxvalue 20 nocycle cache 7; select s.nextval, lotofile(b, 'f', 'client') from t",
    "create table t (s set(integer not null), r row(a char(3), b list(decimal(8,2) not null)), m multiset(lvarchar not null))",
    "select s, r.a, cardinality(m) from t where 3 in s and 4 not in (l) and r = row(1, list{'x'}) and m <> multiset{'a', ?}",
    "select (((((1 + 2) * 3) - -4) / 5)), 'it''s' from table(set{1,2})",
];

#[test]
fn changed_statements_are_parsed_or_refused() {
    let texts: Vec<Vec<u8>> = STATEMENTS.iter().map(|s| s.as_bytes().to_vec()).collect();
    let mut random = Random(3);
    let (mut parsed, mut refused) = (0, 0);
    for _ in 0..rounds(20_000) {
        let mut text = texts[random.below(texts.len())].clone();
        random.change(&mut text, &texts);
        let text = String::from_utf8_lossy(&text);
        match pgsqlite_sql::parse::with_stack(|| parser::parse(&text, random.below(2) == 0)) {
            Ok(_) => parsed += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(parsed > 0 && refused > 0, "{parsed} {refused}");
}
