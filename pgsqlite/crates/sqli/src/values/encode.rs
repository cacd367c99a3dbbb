//! Stored values as bytes of a row.
//!
//! A value comes in PostgreSQL's binary form (the engine's codecs make it), which is the same however the value is stored.

use super::base100::Base100;
use super::codeset::CodeSet;
use super::complex_bytes;
use super::qualifier::{self, Qualifier};
use super::types::Type;
use crate::errors::Failure;
use pgsqlite_types::calendar::civil;

/// Days from 1899-12-31 to 2000-01-01.
const EPOCH: i32 = 36525;
const MICROSECONDS_OF_DAY: i64 = 86_400_000_000;

/// Fixed-size fields of PostgreSQL's binary form. What it does not hold is a defect of ours, not the client's.
fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Failure> {
    bytes.try_into().map_err(|_| Failure::internal(format!("a value of {} bytes instead of {N}", bytes.len())))
}

/// NULL of a type.
pub fn null(ty: Type, out: &mut Vec<u8>) {
    match ty {
        Type::Char(n) | Type::NChar(n) => {
            out.push(0);
            out.resize(out.len() + (n as usize).saturating_sub(1), b' ');
        }
        Type::SmallInt => out.extend_from_slice(&i16::MIN.to_be_bytes()),
        Type::Integer | Type::Serial | Type::Date => out.extend_from_slice(&i32::MIN.to_be_bytes()),
        Type::BigInt | Type::BigSerial => out.extend_from_slice(&i64::MIN.to_be_bytes()),
        Type::Float => out.extend_from_slice(&[0xff; 8]),
        Type::SmallFloat => out.extend_from_slice(&[0xff; 4]),
        Type::VarChar(_) | Type::NVarChar(_) => out.extend_from_slice(&[1, 0]),
        Type::LVarChar(_) | Type::Boolean | Type::Blob | Type::Clob | Type::Complex(_) => {
            out.extend_from_slice(&[1, 0, 0, 0, 0]);
        }
        Type::Byte | Type::Text => out.extend_from_slice(&descriptor(None)),
        Type::Decimal(..) | Type::Money(..) | Type::DateTime(_) | Type::Interval(_) | Type::Int8 => {
            out.resize(out.len() + ty.width(), 0);
        }
    }
}

/// A value of a type. `raw`: the client asked (RET_TYPE) for BOOLEAN as 01 and 00, not as letters, and for a collection or row as its
/// bytes, not as a literal. Large values are not written here:
/// [`descriptor`] stands for BYTE and TEXT, [`locator`] for BLOB and CLOB.
pub fn value(
    ty: Type,
    type_oid: pgsqlite_types::Oid,
    bytes: &[u8],
    codeset: CodeSet,
    raw: bool,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    use pgsqlite_types::oid;
    match ty {
        Type::Char(n) | Type::NChar(n) => {
            let start = out.len();
            text(bytes, codeset, out)?;
            // PostgreSQL pads to characters, Informix to bytes
            let n = n as usize;
            while out.len() - start > n && out.last() == Some(&b' ') {
                out.pop();
            }
            if out.len() - start > n {
                return Err(Failure::new(-1279, 0, ""));
            }
            out.resize(start + n, b' ');
        }
        Type::VarChar(_) | Type::NVarChar(_) => {
            let start = out.len();
            out.push(0);
            text(bytes, codeset, out)?;
            let n = out.len() - start - 1;
            out[start] = u8::try_from(n).map_err(|_| Failure::new(-1279, 0, ""))?;
            // a text of one zero byte is how NULL looks
            if out[start..] == [1, 0] {
                return Err(Failure::new(-23103, 0, ""));
            }
        }
        Type::LVarChar(_) => {
            let start = out.len();
            out.extend_from_slice(&[0; 5]);
            text(bytes, codeset, out)?;
            let n = (out.len() - start - 5) as i32;
            out[start + 1..start + 5].copy_from_slice(&n.to_be_bytes());
        }
        Type::SmallInt => {
            let n = i16::from_be_bytes(fixed(bytes)?);
            // the value of NULL is no value of Informix's
            if n == i16::MIN {
                return Err(Failure::new(-1214, 0, ""));
            }
            out.extend_from_slice(bytes);
        }
        Type::Integer | Type::Serial => {
            if i32::from_be_bytes(fixed(bytes)?) == i32::MIN {
                return Err(Failure::new(-1215, 0, ""));
            }
            out.extend_from_slice(bytes);
        }
        Type::BigInt | Type::BigSerial | Type::Int8 => {
            let n = match bytes.len() {
                4 => u32::from_be_bytes(fixed(bytes)?).into(),
                _ => i64::from_be_bytes(fixed(bytes)?),
            };
            if n == i64::MIN {
                return Err(Failure::new(-1284, 0, ""));
            }
            match ty {
                Type::Int8 => {
                    let magnitude = n.unsigned_abs();
                    out.extend_from_slice(&if n < 0 { -1i16 } else { 1 }.to_be_bytes());
                    out.extend_from_slice(&(magnitude as u32).to_be_bytes());
                    out.extend_from_slice(&((magnitude >> 32) as u32).to_be_bytes());
                }
                _ => out.extend_from_slice(&n.to_be_bytes()),
            }
        }
        Type::Float => {
            // the bits of NULL are one of many NaNs
            let n = f64::from_be_bytes(fixed(bytes)?);
            out.extend_from_slice(&if n.is_nan() { f64::NAN } else { n }.to_be_bytes());
        }
        Type::SmallFloat => {
            let n = f32::from_be_bytes(fixed(bytes)?);
            out.extend_from_slice(&if n.is_nan() { f32::NAN } else { n }.to_be_bytes());
        }
        Type::Decimal(p, None) => number(numeric(bytes)?.rounded(p as usize), ty, out)?,
        Type::Decimal(..) | Type::Money(..) => number(numeric(bytes)?, ty, out)?,
        Type::Date => {
            let days = i32::from_be_bytes(fixed(bytes)?);
            let days = days.checked_add(EPOCH).filter(|_| in_years(days)).ok_or(Failure::new(-1218, 0, ""))?;
            out.extend_from_slice(&days.to_be_bytes());
        }
        Type::DateTime(q) => {
            let (days, time) = match type_oid {
                oid::TIME => (0, i64::from_be_bytes(fixed(bytes)?)),
                _ => {
                    let microseconds = i64::from_be_bytes(fixed(bytes)?);
                    let days = microseconds.div_euclid(MICROSECONDS_OF_DAY);
                    let days = i32::try_from(days).ok().filter(|d| in_years(*d)).ok_or(Failure::new(-1263, 0, ""))?;
                    (days, microseconds.rem_euclid(MICROSECONDS_OF_DAY))
                }
            };
            out.extend_from_slice(&datetime(q, days, time)?);
        }
        Type::Interval(q) => {
            let (time, rest) = bytes.split_at_checked(8).ok_or_else(|| Failure::internal("a short interval"))?;
            let (days, months) = rest.split_at_checked(4).ok_or_else(|| Failure::internal("a short interval"))?;
            let (time, days, months) = (
                i64::from_be_bytes(fixed(time)?),
                i32::from_be_bytes(fixed(days)?),
                i32::from_be_bytes(fixed(months)?),
            );
            out.extend_from_slice(&interval(q, months, days, time)?);
        }
        Type::Boolean => {
            let on = bytes == [1];
            out.extend_from_slice(&[0, 0, 0, 0, 1]);
            out.push(match (raw, on) {
                (true, on) => on as u8,
                (false, true) => b't',
                (false, false) => b'f',
            });
        }
        Type::Complex(complex) if raw => complex_bytes::binary(complex, Some(bytes), codeset, out)?,
        Type::Complex(complex) => {
            let start = out.len();
            out.extend_from_slice(&[0; 5]);
            codeset.encode(&complex_bytes::literal(complex, bytes)?, out)?;
            let n = (out.len() - start - 5) as i32;
            out[start + 1..start + 5].copy_from_slice(&n.to_be_bytes());
        }
        Type::Byte | Type::Text | Type::Blob | Type::Clob => {
            return Err(Failure::internal("a large value is written as what stands for it"))
        }
    }
    Ok(())
}

/// A locator in a row: as bytes if the client asked for them (RET_TYPE of an opaque type), else as hexadecimal digits.
pub fn locator(locator: &[u8], raw: bool, out: &mut Vec<u8>) {
    let text: Vec<u8> = match raw {
        true => locator.to_vec(),
        false => {
            let mut digits = Vec::new();
            pgsqlite_types::buffer::hex(&mut digits, locator);
            digits
        }
    };
    out.push(0);
    out.extend_from_slice(&(text.len() as i32).to_be_bytes());
    out.extend_from_slice(&text);
}

/// The 56 bytes that stand for a BYTE or TEXT value in a row: its first (8) and last byte (12), from which JDBC takes how much memory
/// it needs, its size (16), whether it is NULL (39), and in a place that clients do not look at which of the cursor's values it is.
pub fn descriptor(blob: Option<(usize, u32)>) -> [u8; 56] {
    let mut out = [0; 56];
    match blob {
        None => out[39] = 1,
        Some((size, number)) => {
            let size = size.min(i32::MAX as usize) as i32;
            out[12..16].copy_from_slice(&(size - 1).to_be_bytes());
            out[16..20].copy_from_slice(&size.to_be_bytes());
            out[48..52].copy_from_slice(&number.to_be_bytes());
        }
    }
    out
}

/// The number in a descriptor.
pub fn blob_number(descriptor: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(descriptor.get(48..52)?.try_into().ok()?))
}

fn text(bytes: &[u8], codeset: CodeSet, out: &mut Vec<u8>) -> Result<(), Failure> {
    let text = std::str::from_utf8(bytes).map_err(|_| Failure::internal("text that is not UTF-8"))?;
    codeset.encode(text, out)
}

fn number(number: Base100, ty: Type, out: &mut Vec<u8>) -> Result<(), Failure> {
    out.extend_from_slice(&number.encode(ty.width()).ok_or(Failure::new(-1226, 0, ""))?);
    Ok(())
}

/// PostgreSQL's binary numeric: digits in base 10000.
fn numeric(bytes: &[u8]) -> Result<Base100, Failure> {
    let short = |at: usize| -> Result<i16, Failure> {
        Ok(i16::from_be_bytes(fixed(bytes.get(at..at + 2).unwrap_or_default())?))
    };
    let (count, weight, sign) = (short(0)?, short(2)?, short(4)? as u16);
    let negative = match sign {
        0 => false,
        0x4000 => true,
        // NaN and the infinities
        _ => return Err(Failure::new(-1226, 0, "")),
    };
    let mut pairs = Vec::new();
    for i in 0..count.max(0) as usize {
        let digit = short(8 + 2 * i)?;
        pairs.extend([(digit / 100) as u8, (digit % 100) as u8]);
    }
    Ok(Base100::new(negative, 2 * (weight as i32 + 1), &pairs))
}

/// Whether a day (from 2000-01-01) lies in the years 1 to 9999.
fn in_years(days: i32) -> bool {
    (-730_119..=2_921_939).contains(&days)
}

/// The pairs of a fraction of so many digits. Digits beyond must be zero: Informix has no place for them.
fn fraction(microseconds: i64, digits: u8) -> Vec<u8> {
    let mut shown = microseconds;
    let digits = digits as usize;
    // what lies beyond the last digit is not shown
    let unit = 10i64.pow(6 - digits as u32);
    shown -= shown % unit;
    let text = format!("{shown:06}");
    (0..digits.div_ceil(2)).map(|i| text[2 * i..2 * i + 2].parse().unwrap_or(0)).collect()
}

/// A DATETIME from a day (counted from 2000-01-01) and a time of day in microseconds.
/// Errors: -1264 where digits would be lost that no Informix type can hold.
fn datetime(q: Qualifier, days: i32, time: i64) -> Result<Vec<u8>, Failure> {
    if q.to == 15 && time % 10 != 0 {
        return Err(Failure::new(-1264, 0, ""));
    }
    let (year, month, day) = civil(days);
    let seconds = time / 1_000_000;
    let fields = [
        (qualifier::YEAR, (year / 100) as u8),
        (qualifier::YEAR, (year % 100) as u8),
        (qualifier::MONTH, month as u8),
        (qualifier::DAY, day as u8),
        (qualifier::HOUR, (seconds / 3600) as u8),
        (qualifier::MINUTE, (seconds / 60 % 60) as u8),
        (qualifier::SECOND, (seconds % 60) as u8),
    ];
    // pairs from the first field down to SECOND stand before the point, those behind the last field as zeros
    let mut pairs: Vec<u8> = fields
        .iter()
        .filter(|(field, _)| *field >= q.from)
        .map(|(field, value)| if *field <= q.to { *value } else { 0 })
        .collect();
    let exponent = pairs.len() as i32;
    pairs.extend(fraction(time % 1_000_000, q.fraction()));
    Base100::new(false, exponent, &pairs).encode(q.width()).ok_or_else(|| Failure::internal("a DATETIME without room"))
}

/// An INTERVAL from PostgreSQL's three parts.
/// Errors: -1265 if a part is not of the qualifier's class or the first field has too many digits.
fn interval(q: Qualifier, months: i32, days: i32, time: i64) -> Result<Vec<u8>, Failure> {
    let overflow = || Failure::new(-1265, 0, "");
    let (negative, lead, fields, micros): (bool, u64, Vec<u8>, i64);
    if q.is_year_month() {
        if days != 0 || time != 0 {
            return Err(overflow());
        }
        negative = months < 0;
        let n = months.unsigned_abs() as u64;
        // from the first field down to SECOND
        (lead, fields) = match q.from {
            qualifier::YEAR => (n / 12, vec![(n % 12) as u8, 0, 0, 0, 0]),
            _ => (n, vec![0, 0, 0, 0]),
        };
        micros = 0;
    } else {
        if months != 0 {
            return Err(overflow());
        }
        let total = days as i128 * MICROSECONDS_OF_DAY as i128 + time as i128;
        negative = total < 0;
        let total = total.unsigned_abs();
        micros = (total % 1_000_000) as i64;
        if q.to == 15 && micros % 10 != 0 {
            return Err(Failure::new(-1264, 0, ""));
        }
        let seconds = u64::try_from(total / 1_000_000).map_err(|_| overflow())?;
        (lead, fields) = match q.from {
            qualifier::DAY => {
                (seconds / 86400, vec![(seconds / 3600 % 24) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8])
            }
            qualifier::HOUR => (seconds / 3600, vec![(seconds / 60 % 60) as u8, (seconds % 60) as u8]),
            qualifier::MINUTE => (seconds / 60, vec![(seconds % 60) as u8]),
            qualifier::SECOND => (seconds, vec![]),
            _ if seconds > 0 => return Err(overflow()),
            _ => (0, vec![]),
        };
    }
    if q.from != qualifier::FRACTION && lead >= 10u64.pow(q.precision as u32) {
        return Err(overflow());
    }
    let mut pairs: Vec<u8> = (0..5).rev().map(|i| (lead / 100u64.pow(i) % 100) as u8).collect();
    let mut field = q.from;
    for value in fields {
        field += 2;
        pairs.push(if field <= q.to { value } else { 0 });
    }
    let mut exponent = pairs.len() as i32;
    if q.from == qualifier::FRACTION {
        (pairs, exponent) = (vec![], 0);
    }
    pairs.extend(fraction(micros, q.fraction()));
    Base100::new(negative, exponent, &pairs).encode(q.width()).ok_or_else(overflow)
}

/// The text of a DATETIME or INTERVAL in tuple form: its fields, as Informix writes them.
pub fn moment(q: Qualifier, is_interval: bool, tuple: &[u8]) -> Result<String, Failure> {
    let number = Base100::decode(tuple).ok_or_else(|| Failure::internal("a moment that is no number"))?;
    // pairs from the first field down to SECOND stand before the point; an INTERVAL's first field may take five
    let after = usize::from(qualifier::SECOND.saturating_sub(q.from)) / 2;
    let lead = match (q.from, is_interval) {
        (qualifier::FRACTION, _) => 0,
        (_, true) => 5,
        (qualifier::YEAR, false) => 2,
        _ => 1,
    };
    let before = if lead == 0 { 0 } else { lead + after };
    let gap = usize::try_from(before as i32 - number.exponent).unwrap_or(0);
    let mut pairs: Vec<u8> = std::iter::repeat_n(0, gap).chain(number.pairs.iter().copied()).collect();
    pairs.resize(pairs.len().max(before + 3), 0);
    let digits = |pairs: &[u8]| pairs.iter().map(|p| format!("{p:02}")).collect::<String>();
    let mut out = String::from(if number.negative { "-" } else { "" });
    if lead > 0 {
        let first = digits(&pairs[..lead]);
        out += if is_interval { first.trim_start_matches('0') } else { &first };
        if out.is_empty() || out == "-" {
            out.push('0');
        }
    }
    let mut field = q.from;
    for pair in pairs.iter().take(before).skip(lead) {
        field += 2;
        if field > q.to.min(qualifier::SECOND) {
            break;
        }
        let sign = match field {
            qualifier::MONTH | qualifier::DAY => '-',
            qualifier::HOUR => ' ',
            _ => ':',
        };
        out += &format!("{sign}{pair:02}");
    }
    if q.fraction() > 0 {
        out.push('.');
        out += &digits(&pairs[before..])[..q.fraction() as usize];
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgsqlite_types::oid;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    fn encoded(ty: Type, type_oid: u32, bytes: &[u8]) -> String {
        let mut out = Vec::new();
        value(ty, type_oid, bytes, CodeSet::Latin1, false, &mut out).unwrap();
        hex(&out)
    }

    #[test]
    fn days_have_their_dates() {
        // 1899-12-31 and 2026-01-02
        for (days, bytes) in [(-36525, "00000000"), (9498, "0000b3c7"), (-730_119, "fff56aa6"), (2_921_939, "002d2480")]
        {
            assert_eq!(encoded(Type::Date, oid::DATE, &i32::to_be_bytes(days)), bytes);
        }
    }

    /// The vectors that real servers and IBM's driver agree on.
    #[test]
    fn datetimes_have_the_known_bytes() {
        let at = |y: i64, days: i64, h: i64, m: i64, s: i64, us: i64| {
            let _ = y;
            (days * 86400 + h * 3600 + m * 60 + s) * 1_000_000 + us
        };
        let year = |to| Type::DateTime(Qualifier::datetime(qualifier::YEAR, to));
        for (ty, microseconds, bytes) in [
            (year(15), at(2026, 9498, 3, 4, 5, 123450), "c7141a01020304050c2232"),
            (year(13), at(2026, 9821, 0, 0, 0, 123000), "c7141a0b150000000c1e"),
            (year(qualifier::DAY), at(1, -730_086, 0, 0, 0, 0), "c601020300"),
            (year(qualifier::YEAR), at(1, -730_119, 0, 0, 0, 0), "c60100"),
        ] {
            assert_eq!(encoded(ty, oid::TIMESTAMP, &microseconds.to_be_bytes()), bytes);
        }
        let hour = |to| Type::DateTime(Qualifier::datetime(qualifier::HOUR, to));
        let time = |h: i64, m: i64, s: i64| ((h * 3600 + m * 60 + s) * 1_000_000).to_be_bytes();
        assert_eq!(encoded(hour(qualifier::SECOND), oid::TIME, &time(0, 4, 5)), "c2040500");
        assert_eq!(encoded(hour(qualifier::MINUTE), oid::TIME, &time(23, 59, 0)), "c3173b");
    }

    #[test]
    fn intervals_have_the_known_bytes() {
        let bytes = |microseconds: i64, days: i32, months: i32| {
            let mut out = microseconds.to_be_bytes().to_vec();
            out.extend(days.to_be_bytes());
            out.extend(months.to_be_bytes());
            out
        };
        for (q, value, expected) in [
            ((qualifier::SECOND, 12, 3), bytes(-999_990_000, 0, 0), "3d5a0001"),
            ((qualifier::DAY, 15, 3), bytes(12_421_123_450, 3, 0), "c403031b010c223200"),
            ((qualifier::FRACTION, 15, 5), bytes(-10, 0, 0), "415a0000"),
            ((qualifier::FRACTION, 15, 5), bytes(0, 0, 0), "80000000"),
            ((qualifier::YEAR, qualifier::MONTH, 9), bytes(0, 0, 30), "c60206000000"),
        ] {
            let q = Qualifier { from: q.0, to: q.1, precision: q.2 };
            assert!(encoded(Type::Interval(q), oid::INTERVAL, &value).starts_with(expected), "{expected}");
        }
        let day = Type::Interval(Qualifier { from: qualifier::DAY, to: qualifier::SECOND, precision: 2 });
        for bad in [bytes(0, 100, 0), bytes(0, 0, 1)] {
            let failed = value(day, oid::INTERVAL, &bad, CodeSet::Utf8, false, &mut Vec::new()).unwrap_err();
            assert_eq!(failed.sqlcode, -1265);
        }
    }

    #[test]
    fn moments_have_the_texts_of_their_fields() {
        let at = |q: u16, is_interval, hex: &str| {
            let bytes: Vec<u8> =
                (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
            moment(Qualifier::decode(q).unwrap(), is_interval, &bytes).unwrap()
        };
        assert_eq!(at(0x0e0a, false, "c7141a06140c2238"), "2026-06-20 12:34:56");
        assert_eq!(at(0x130f, false, "c7141a01020304050c2232"), "2026-01-02 03:04:05.12345");
        assert_eq!(at(0x0804, false, "c601020300"), "0001-02-03");
        assert_eq!(at(0x0400, false, "c60100"), "0001");
        assert_eq!(at(0x066a, false, "c2040500"), "00:04:05");
        assert_eq!(at(0x05cf, false, "be0a0000"), ".00001");
        assert_eq!(at(0x05ac, true, "3d5a0001"), "-999.99");
        assert_eq!(at(0x0e4f, true, "c403031b010c223200"), "3 03:27:01.12345");
        assert_eq!(at(0x0b02, true, "c60206000000"), "2-06");
    }

    #[test]
    fn numbers_and_nulls() {
        // 1234.56 in base 10000: 1234 5600
        let numeric = [0, 2, 0, 0, 0x40, 0, 0, 2, 0x04, 0xd2, 0x15, 0xe0];
        assert_eq!(encoded(Type::Decimal(10, Some(2)), oid::NUMERIC, &numeric), "3d57412c0000");
        assert_eq!(encoded(Type::Int8, oid::INT8, &(-123456789012i64).to_be_bytes()), "ffffbe991a140000001c");
        for (ty, bytes) in [
            (Type::Char(6), "002020202020"),
            (Type::VarChar(9), "0100"),
            (Type::Decimal(8, Some(4)), "0000000000"),
            (Type::Boolean, "0100000000"),
            (Type::Int8, "00000000000000000000"),
        ] {
            let mut out = Vec::new();
            null(ty, &mut out);
            assert_eq!(hex(&out), bytes);
        }
        assert_eq!(encoded(Type::Char(6), oid::BPCHAR, b"abc"), "616263202020");
        assert_eq!(encoded(Type::LVarChar(9), oid::VARCHAR, b"lvar"), "00000000046c766172");
        assert_eq!(encoded(Type::Boolean, oid::BOOL, &[1]), "000000000174");
    }
}
