//! What is kept of the operations: a histogram of their times, their number, their errors.

use base64::Engine;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Times are kept from 1 ns up to this, with three significant digits.
const LONGEST_NS: u64 = 600_000_000_000;

/// The figures of one target.
pub struct Record {
    pub histogram: Histogram<u64>,
    /// the sum of the times, ns: the mean is exact, not the histogram's
    total_ns: u128,
    /// operations longer than what the histogram holds; they count as its longest
    pub beyond: u64,
    /// by SQLSTATE, or what else was wrong
    pub errors: BTreeMap<String, u64>,
    pub slices: Vec<Slice>,
}

/// One turn of a target.
#[derive(Serialize, Clone, Copy)]
pub struct Slice {
    pub operations: u64,
    pub seconds: f64,
}

impl Record {
    pub fn new() -> anyhow::Result<Record> {
        Ok(Record {
            histogram: Histogram::new_with_bounds(1, LONGEST_NS, 3)?,
            total_ns: 0,
            beyond: 0,
            errors: BTreeMap::new(),
            slices: Vec::new(),
        })
    }

    /// An operation that succeeded.
    pub fn took(&mut self, time: Duration) {
        let ns = time.as_nanos();
        self.total_ns += ns;
        let ns = u64::try_from(ns).unwrap_or(u64::MAX);
        if ns > LONGEST_NS {
            self.beyond += 1;
        }
        self.histogram.saturating_record(ns.clamp(1, LONGEST_NS));
    }

    /// An operation that failed: it is counted and not timed.
    pub fn failed(&mut self, why: &str) {
        *self.errors.entry(why.to_string()).or_default() += 1;
    }

    pub fn merge(&mut self, other: Record) -> anyhow::Result<()> {
        self.histogram.add(&other.histogram)?;
        self.total_ns += other.total_ns;
        self.beyond += other.beyond;
        for (why, count) in other.errors {
            *self.errors.entry(why).or_default() += count;
        }
        Ok(())
    }

    /// What is written for the program that asked.
    pub fn summary(&self, target: &str) -> anyhow::Result<Summary> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes)?;
        let count = self.histogram.len();
        Ok(Summary {
            target: target.to_string(),
            count,
            mean_ns: if count == 0 { 0.0 } else { self.total_ns as f64 / count as f64 },
            beyond: self.beyond,
            errors: self.errors.clone(),
            slices: self.slices.clone(),
            histogram: base64::engine::general_purpose::STANDARD.encode(bytes),
        })
    }
}

#[derive(Serialize)]
pub struct Summary {
    target: String,
    count: u64,
    mean_ns: f64,
    beyond: u64,
    errors: BTreeMap<String, u64>,
    slices: Vec<Slice>,
    /// HdrHistogram, V2, deflated, base64; ns
    histogram: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_counts_as_the_longest() {
        let mut record = Record::new().expect("a histogram");
        record.took(Duration::from_nanos(1000));
        record.took(Duration::from_secs(3600));
        record.took(Duration::ZERO);
        assert_eq!((record.histogram.len(), record.beyond), (3, 1));
        assert_eq!(record.histogram.min(), 1);
        assert!(record.histogram.max() >= LONGEST_NS);
        record.failed("40001");
        record.failed("40001");
        let summary = record.summary("x").expect("a summary");
        assert_eq!((summary.count, summary.errors["40001"]), (3, 2));
    }
}
