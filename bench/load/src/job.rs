//! What is asked of the load generator: one JSON object on its standard input.

use serde::Deserialize;

/// One measurement: the same statements on every target, in slices that take turns.
#[derive(Debug, Deserialize)]
pub struct Job {
    pub targets: Vec<Target>,
    /// chosen by weight, one per operation
    pub statements: Vec<Statement>,
    pub mode: Mode,
    /// sessions at once
    pub clients: usize,
    /// turns of each target
    pub slices: usize,
    /// a slice ends after so many operations, or …
    pub slice_operations: u64,
    /// … after so many milliseconds, whichever is first
    pub slice_ms: u64,
    /// operations per target before anything is measured
    pub warmup_operations: u64,
    /// milliseconds of rest between warm-up and measurement
    pub pause_ms: u64,
    /// None: closed loop, a client sends when it has its answer. Otherwise operations per second: they are due at even intervals,
    /// whether answers come or not, and an operation's time counts from when it was due.
    pub rate: Option<f64>,
    /// where the random numbers begin
    pub seed: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Target {
    pub name: String,
    #[serde(flatten)]
    pub place: Place,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// a server of the PostgreSQL protocol
    Server { host: String, port: u16, user: String, database: String },
    /// a file, used in this process
    Sqlite { path: String },
}

#[derive(Debug, Clone, Deserialize)]
pub struct Statement {
    /// with `$1`, `$2` …
    pub sql: String,
    #[serde(default = "one")]
    pub weight: u32,
    /// rows it must return; another number is an error
    pub rows: u64,
    /// what its command tag must count; None: it is not looked at
    pub affected: Option<u64>,
    pub arguments: Vec<Argument>,
}

fn one() -> u32 {
    1
}

/// How an argument's value is made for each operation.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// int4: counts up from here, over all clients of a target
    Next(i32),
    /// int4: random, from the first up to but without the second
    Uniform(i32, i32),
    /// int4: an earlier argument (counted from 0) and something more
    Plus(usize, i32),
    /// text: this and a random number
    Text(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Mode {
    /// Query messages with the values as literals
    #[serde(rename = "simple")]
    Simple,
    /// Parse, Bind, Describe, Execute and Sync for each operation, text
    #[serde(rename = "extended")]
    Extended,
    #[serde(rename = "prepared text")]
    PreparedText,
    #[serde(rename = "prepared binary")]
    PreparedBinary,
}

/// An argument's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Int(i32),
    Text(String),
}

/// Where a target's values come from: counters and random numbers.
pub struct Values {
    counters: Vec<Vec<i32>>,
    weights: u64,
    state: u64,
}

impl Values {
    pub fn new(statements: &[Statement], seed: u64) -> Values {
        let start = |a: &Argument| {
            if let Argument::Next(from) = a {
                *from
            } else {
                0
            }
        };
        Values {
            counters: statements.iter().map(|s| s.arguments.iter().map(start).collect()).collect(),
            weights: statements.iter().map(|s| u64::from(s.weight)).sum(),
            state: seed,
        }
    }

    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next operation: a statement's index and its arguments' values.
    pub fn next(&mut self, statements: &[Statement]) -> (usize, Vec<Value>) {
        let mut at = self.random() % self.weights.max(1);
        let mut chosen = 0;
        for (i, s) in statements.iter().enumerate() {
            chosen = i;
            match at.checked_sub(u64::from(s.weight)) {
                Some(rest) => at = rest,
                None => break,
            }
        }
        let mut values = Vec::with_capacity(statements[chosen].arguments.len());
        for (i, argument) in statements[chosen].arguments.iter().enumerate() {
            let value = match argument {
                Argument::Next(_) => {
                    let counter = &mut self.counters[chosen][i];
                    let now = *counter;
                    *counter += 1;
                    Value::Int(now)
                }
                Argument::Uniform(low, high) => {
                    let width = (i64::from(*high) - i64::from(*low)).max(1) as u64;
                    Value::Int((i64::from(*low) + (self.random() % width) as i64) as i32)
                }
                Argument::Plus(of, more) => match values.get(*of) {
                    Some(Value::Int(n)) => Value::Int(n + more),
                    _ => Value::Int(*more),
                },
                Argument::Text(prefix) => Value::Text(format!("{prefix}{}", self.random() % 1_000_000)),
            };
            values.push(value);
        }
        (chosen, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(weight: u32, arguments: Vec<Argument>) -> Statement {
        Statement { sql: String::new(), weight, rows: 0, affected: None, arguments }
    }

    #[test]
    fn counters_are_unique_and_ranges_are_kept() {
        let statements =
            [statement(1, vec![Argument::Next(7), Argument::Plus(0, 5)]), statement(9, vec![Argument::Uniform(-3, 4)])];
        let mut values = Values::new(&statements, 1);
        let (mut counted, mut second) = (Vec::new(), 0);
        for _ in 0..10_000 {
            match values.next(&statements) {
                (0, v) => match v[..] {
                    [Value::Int(n), Value::Int(more)] => {
                        assert_eq!(more, n + 5);
                        counted.push(n);
                    }
                    _ => panic!("{v:?}"),
                },
                (1, v) => {
                    assert!(matches!(v[..], [Value::Int(-3..=3)]), "{v:?}");
                    second += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(counted, (7..7 + counted.len() as i32).collect::<Vec<_>>());
        assert!((8_700..9_300).contains(&second), "{second} of 10,000 with a weight of 9 in 10");
    }
}
