//! Ordered-set and hypothetical-set aggregates: `f(direct …) WITHIN GROUP (ORDER BY …)`.
//!
//! Lowering calls them as `f(types, direct …, ordered … ORDER BY …)`, so the rows come in the order of the clause.

use super::session_cell::SessionCell;
use super::shim::{Call, NewState, State};
use super::support::untyped;
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::datetime::Interval;
use pgsqlite_types::work;
use pgsqlite_types::{float, oid, Datum, DatumRef, PgError, Result, SqlState};
use std::cmp::Ordering;

/// The fraction of a percentile; 22003 outside 0 … 1.
fn fraction(value: DatumRef) -> Result<f64> {
    let fraction = float::from_datum(value)?;
    if !(0.0..=1.0).contains(&fraction) {
        let shown = float::general(fraction, 6);
        return Err(PgError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("percentile value {shown} is not between 0 and 1"),
        ));
    }
    Ok(fraction)
}

/// How a percentile is found among sorted values.
#[derive(Clone, Copy)]
enum Kind {
    /// the first value whose position is at or after the fraction
    Discrete,
    /// between the two neighbours
    Continuous,
    ContinuousInterval,
}

impl Kind {
    fn pick(self, sorted: &[Datum], fraction: f64) -> Result<Datum> {
        let last = sorted.len() - 1;
        if let Kind::Discrete = self {
            let row = (fraction * sorted.len() as f64).ceil() as usize;
            return Ok(sorted[row.saturating_sub(1).min(last)].clone());
        }
        let at = fraction * last as f64;
        let (low, high) = (at.floor() as usize, at.ceil() as usize);
        let (first, second) = (&sorted[low.min(last)], &sorted[high.min(last)]);
        if low == high {
            return Ok(first.clone());
        }
        let share = at - low as f64;
        if let Kind::ContinuousInterval = self {
            let (first, second) = (interval(first)?, interval(second)?);
            return Ok(Datum::Text(second.sub(first)?.mul(share)?.add(first)?.to_storage()));
        }
        let (first, second) = (float::from_datum(first.as_ref())?, float::from_datum(second.as_ref())?);
        Ok(float::to_datum(first + share * (second - first)))
    }
}

fn interval(value: &Datum) -> Result<Interval> {
    match value {
        Datum::Text(t) => Interval::from_storage(t),
        _ => None,
    }
    .ok_or_else(|| PgError::corrupted("a value that is no stored interval"))
}

/// `percentile_cont`, `percentile_disc`: of one fraction or (`several`) an array of them.
struct Percentile {
    kind: Kind,
    several: bool,
    fractions: Datum,
    sorted: Vec<Datum>,
}

impl State for Percentile {
    fn step(&mut self, call: &Call) -> Result<()> {
        if self.sorted.is_empty() {
            self.fractions = call.datum(1).to_owned();
        }
        self.sorted.push(call.datum(2).to_owned());
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        if self.sorted.is_empty() {
            return Ok(Datum::Null);
        }
        if !self.several {
            return self.kind.pick(&self.sorted, fraction(self.fractions.as_ref())?);
        }
        let Datum::Text(fractions) = &self.fractions else {
            return Err(PgError::internal("percentiles that are no array"));
        };
        let fractions = untyped(fractions)?;
        let mut elements = Vec::with_capacity(fractions.elements.len());
        for f in &fractions.elements {
            work::pulse(1);
            elements.push(if f.is_null() {
                Datum::Null
            } else {
                self.kind.pick(&self.sorted, fraction(f.as_ref())?)?
            });
        }
        Ok(Array { dimensions: fractions.dimensions, lower: fractions.lower, elements }.to_datum())
    }
}

fn percentile(kind: Kind, several: bool) -> Box<dyn State> {
    Box::new(Percentile { kind, several, fractions: Datum::Null, sorted: Vec::new() })
}

/// `mode`: the most frequent value, the first in order of those that are equally frequent.
#[derive(Default)]
struct Mode {
    codec: Option<TypeCodec>,
    best: (usize, Datum),
    current: (usize, Datum),
}

impl State for Mode {
    fn step(&mut self, call: &Call) -> Result<()> {
        let codec = match &self.codec {
            Some(codec) => codec,
            None => {
                let ty = call.types()?.args.last().copied().unwrap_or(oid::TEXT);
                self.codec.insert(call.session.codec(ty)?)
            }
        };
        let value = call.datum(1);
        if self.current.0 > 0 && codec.compare_storage(self.current.1.as_ref(), value).is_eq() {
            self.current.0 += 1;
        } else {
            self.current = (1, value.to_owned());
        }
        if self.current.0 > self.best.0 {
            self.best = self.current.clone();
        }
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        Ok(if self.best.0 == 0 { Datum::Null } else { self.best.1.clone() })
    }
}

/// What a hypothetical row's place among the rows is told as.
#[derive(Clone, Copy)]
enum Place {
    Rank,
    DenseRank,
    PercentRank,
    CumulativeDistribution,
}

/// `rank`, `dense_rank`, `percent_rank`, `cume_dist` of a row that is not there.
struct Hypothetical {
    place: Place,
    codecs: Vec<TypeCodec>,
    rows: u64,
    before: u64,
    equal: u64,
    /// different rows before
    groups: u64,
    previous: Vec<Datum>,
}

impl State for Hypothetical {
    fn step(&mut self, call: &Call) -> Result<()> {
        let types = call.types()?;
        let n = types.args.len() / 2;
        if self.codecs.len() != n {
            self.codecs = types.args[n..].iter().map(|&t| call.session.codec(t)).collect::<Result<_>>()?;
        }
        let mut order = Ordering::Equal;
        for i in 0..n {
            work::pulse(1);
            let (row, own) = (call.datum(1 + n + i), call.datum(1 + i));
            let (descending, nulls_first) = types.order.get(i).copied().unwrap_or_default();
            order = match (row.is_null(), own.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) if nulls_first => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, true) if nulls_first => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => {
                    let order = self.codecs[i].compare_storage(row, own);
                    if descending {
                        order.reverse()
                    } else {
                        order
                    }
                }
            };
            if order.is_ne() {
                break;
            }
        }
        self.rows += 1;
        match order {
            Ordering::Less => {
                self.before += 1;
                let same = !self.previous.is_empty()
                    && (0..n).all(|i| {
                        let (a, b) = (self.previous[i].as_ref(), call.datum(1 + n + i));
                        a.is_null() == b.is_null() && (a.is_null() || self.codecs[i].compare_storage(a, b).is_eq())
                    });
                if !same {
                    self.groups += 1;
                    self.previous = (0..n).map(|i| call.datum(1 + n + i).to_owned()).collect();
                }
            }
            Ordering::Equal => self.equal += 1,
            Ordering::Greater => {}
        }
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        Ok(match self.place {
            Place::Rank => Datum::Int(self.before as i64 + 1),
            Place::DenseRank => Datum::Int(self.groups as i64 + 1),
            Place::PercentRank if self.rows == 0 => float::to_datum(0.0),
            Place::PercentRank => float::to_datum(self.before as f64 / self.rows as f64),
            Place::CumulativeDistribution => {
                float::to_datum((self.before + self.equal + 1) as f64 / (self.rows + 1) as f64)
            }
        })
    }
}

fn hypothetical(place: Place) -> Box<dyn State> {
    Box::new(Hypothetical { place, codecs: vec![], rows: 0, before: 0, equal: 0, groups: 0, previous: vec![] })
}

pub(crate) const FUNCTIONS: &[(&str, NewState)] = &[
    ("percentile_disc(float8,anyelement)", || percentile(Kind::Discrete, false)),
    ("percentile_disc(_float8,anyelement)", || percentile(Kind::Discrete, true)),
    ("percentile_cont(float8,float8)", || percentile(Kind::Continuous, false)),
    ("percentile_cont(_float8,float8)", || percentile(Kind::Continuous, true)),
    ("percentile_cont(float8,interval)", || percentile(Kind::ContinuousInterval, false)),
    ("percentile_cont(_float8,interval)", || percentile(Kind::ContinuousInterval, true)),
    ("mode(anyelement)", || Box::<Mode>::default()),
    ("rank(any)", || hypothetical(Place::Rank)),
    ("dense_rank(any)", || hypothetical(Place::DenseRank)),
    ("percent_rank(any)", || hypothetical(Place::PercentRank)),
    ("cume_dist(any)", || hypothetical(Place::CumulativeDistribution)),
];
