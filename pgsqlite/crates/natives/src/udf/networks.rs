//! Functions of network and hardware addresses: what `pgsqlite_types::network` computes.

use super::shim::{Call, Scalar};
use pgsqlite_types::network::inet::Inet;
use pgsqlite_types::network::mac;
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::cmp::Ordering;

fn misfit(name: &str, text: &str) -> PgError {
    PgError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("stored value is not a value of type {name}: \"{text}\""),
    )
}

fn inet(c: &Call, i: usize) -> Result<Inet> {
    let text = c.text(i)?;
    Inet::from_storage(text).ok_or_else(|| misfit("inet", text))
}

/// A result of type `inet`, `cidr`.
fn address(value: Inet) -> Result<Datum> {
    Ok(Datum::Text(value.to_text()))
}
fn network(value: Inet) -> Result<Datum> {
    Ok(Datum::Text(value.with_prefix()))
}

fn order(c: &Call) -> Result<Ordering> {
    Ok(inet(c, 0)?.compare(&inet(c, 1)?))
}

/// The argument that is the larger (smaller) of two.
fn extreme(c: &Call, keep: Ordering) -> Result<Datum> {
    Ok(c.datum(if order(c)? == keep { 0 } else { 1 }).to_owned())
}

fn within(c: &Call, inner: usize, outer: usize, strict: bool) -> Result<Datum> {
    Ok(Datum::from(inet(c, inner)?.is_within(&inet(c, outer)?, strict)))
}

fn set_masklen(c: &Call) -> Result<Inet> {
    let value = inet(c, 0)?;
    Ok(value.with_bits(value.checked_bits(c.int(1)?)?))
}

/// The bytes of a hardware address, six or eight.
fn bytes<const N: usize>(c: &Call, i: usize) -> Result<[u8; N]> {
    let text = c.text(i)?;
    mac::from_storage(text).ok_or_else(|| misfit("macaddr", text))
}

fn map<const N: usize>(c: &Call, byte: fn(usize, u8) -> u8) -> Result<Datum> {
    let mut bytes = bytes::<N>(c, 0)?;
    // bounded: 16 bytes
    for (i, b) in bytes.iter_mut().enumerate() {
        *b = byte(i, *b);
    }
    Ok(Datum::Text(mac::to_text(&bytes)))
}

fn combine<const N: usize>(c: &Call, byte: fn(u8, u8) -> u8) -> Result<Datum> {
    let (mut left, right) = (bytes::<N>(c, 0)?, bytes::<N>(c, 1)?);
    // bounded: 16 bytes
    for (l, r) in left.iter_mut().zip(right) {
        *l = byte(*l, r);
    }
    Ok(Datum::Text(mac::to_text(&left)))
}

/// The manufacturer's three bytes.
fn manufacturer(i: usize, byte: u8) -> u8 {
    if i < 3 {
        byte
    } else {
        0
    }
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("network_cmp", |c| Ok(Datum::Int(order(c)? as i64))),
    ("network_larger", |c| extreme(c, Ordering::Greater)),
    ("network_smaller", |c| extreme(c, Ordering::Less)),
    ("network_sub", |c| within(c, 0, 1, true)),
    ("network_subeq", |c| within(c, 0, 1, false)),
    ("network_sup", |c| within(c, 1, 0, true)),
    ("network_supeq", |c| within(c, 1, 0, false)),
    ("network_overlap", |c| Ok(Datum::from(inet(c, 0)?.overlaps(&inet(c, 1)?)))),
    ("inet_abbrev", |c| address(inet(c, 0)?)),
    ("cidr_abbrev", |c| Ok(Datum::Text(inet(c, 0)?.abbreviated()))),
    ("inet_set_masklen", |c| address(set_masklen(c)?)),
    ("cidr_set_masklen", |c| network(set_masklen(c)?.network())),
    ("network_network inet_to_cidr", |c| network(inet(c, 0)?.network())),
    ("network_netmask", |c| address(inet(c, 0)?.netmask())),
    ("network_hostmask", |c| address(inet(c, 0)?.hostmask())),
    ("network_broadcast", |c| address(inet(c, 0)?.broadcast())),
    ("network_masklen", |c| Ok(Datum::Int(i64::from(inet(c, 0)?.bits)))),
    ("network_host", |c| Ok(Datum::Text(inet(c, 0)?.host()))),
    ("network_show", |c| network(inet(c, 0)?)),
    ("network_family", |c| Ok(Datum::Int(if inet(c, 0)?.v6 { 6 } else { 4 }))),
    ("inetnot", |c| address(inet(c, 0)?.inverted())),
    ("inetand", |c| address(inet(c, 0)?.and(&inet(c, 1)?)?)),
    ("inetor", |c| address(inet(c, 0)?.or(&inet(c, 1)?)?)),
    ("inetpl", |c| address(inet(c, 0)?.moved(c.int(1)?)?)),
    ("inetmi_int8", |c| address(inet(c, 0)?.moved(c.int(1)?.wrapping_neg())?)),
    ("inetmi", |c| inet(c, 0)?.distance(&inet(c, 1)?).map(Datum::Int)),
    ("inet_merge", |c| network(inet(c, 0)?.merge(&inet(c, 1)?)?)),
    ("inet_same_family", |c| Ok(Datum::from(inet(c, 0)?.v6 == inet(c, 1)?.v6))),
    ("macaddr_cmp macaddr8_cmp", |c| Ok(Datum::Int(c.text(0)?.cmp(c.text(1)?) as i64))),
    ("macaddr_trunc", |c| map::<6>(c, manufacturer)),
    ("macaddr8_trunc", |c| map::<8>(c, manufacturer)),
    ("macaddr_not", |c| map::<6>(c, |_, b| !b)),
    ("macaddr8_not", |c| map::<8>(c, |_, b| !b)),
    ("macaddr_and", |c| combine::<6>(c, |a, b| a & b)),
    ("macaddr8_and", |c| combine::<8>(c, |a, b| a & b)),
    ("macaddr_or", |c| combine::<6>(c, |a, b| a | b)),
    ("macaddr8_or", |c| combine::<8>(c, |a, b| a | b)),
    ("macaddrtomacaddr8", |c| Ok(Datum::Text(mac::to_text(&mac::widen(bytes(c, 0)?))))),
    ("macaddr8tomacaddr", |c| Ok(Datum::Text(mac::to_text(&mac::narrow(bytes(c, 0)?)?)))),
    // the bit that marks an address as the interface's own in IPv6
    ("macaddr8_set7bit", |c| map::<8>(c, |i, b| if i == 0 { b | 2 } else { b })),
];
