//! Compares operators and functions of the value types with PostgreSQL's results: `vectors/operators.tsv`, recorded by
//! `gen/operator_vectors.py` in the zone America/New_York.

use pgsqlite_types::codec::{Context, NoNames, TypeCodec};
use pgsqlite_types::datetime::zone::Zone;
use pgsqlite_types::datetime::{fields, trunc, Date, Interval, Time, TimeTz, Timestamp};
use pgsqlite_types::int::Width;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::{float, int, oid, Datum, Oid, Result, Settings};
use std::cmp::Ordering;

struct Session(Settings);

impl Session {
    fn read(&self, type_oid: Oid, text: &str) -> Result<Datum> {
        let context = Context { settings: &self.0, names: &NoNames };
        TypeCodec::builtin(type_oid).expect("a built-in type").text_in(text, -1, &context)
    }
    fn show(&self, type_oid: Oid, value: &Datum) -> Result<Option<String>> {
        if value.is_null() {
            return Ok(None);
        }
        let context = Context { settings: &self.0, names: &NoNames };
        let mut out = Vec::new();
        TypeCodec::builtin(type_oid).expect("a built-in type").text_out(value.as_ref(), &context, &mut out)?;
        Ok(Some(String::from_utf8(out).expect("UTF-8")))
    }
    fn stored(&self, type_oid: Oid, text: &str) -> Result<String> {
        match self.read(type_oid, text)? {
            Datum::Text(t) => Ok(t),
            other => panic!("{other:?} is not stored as text"),
        }
    }
    fn timestamp(&self, text: &str) -> Result<Timestamp> {
        Ok(Timestamp::from_storage(&self.stored(oid::TIMESTAMP, text)?).expect("a stored timestamp"))
    }
    fn timestamptz(&self, text: &str) -> Result<Timestamp> {
        Ok(Timestamp::from_storage(&self.stored(oid::TIMESTAMPTZ, text)?).expect("a stored timestamp"))
    }
    fn date(&self, text: &str) -> Result<Date> {
        Ok(Date::from_storage(&self.stored(oid::DATE, text)?).expect("a stored date"))
    }
    fn time(&self, text: &str) -> Result<Time> {
        Ok(Time::from_storage(&self.stored(oid::TIME, text)?).expect("a stored time"))
    }
    fn timetz(&self, text: &str) -> Result<TimeTz> {
        Ok(TimeTz::from_storage(&self.stored(oid::TIMETZ, text)?).expect("a stored time"))
    }
    fn interval(&self, text: &str) -> Result<Interval> {
        Ok(Interval::from_storage(&self.stored(oid::INTERVAL, text)?).expect("a stored interval"))
    }
    fn compare(&self, type_oid: Oid, a: &str, b: &str) -> Result<Datum> {
        let (a, b) = (self.read(type_oid, a)?, self.read(type_oid, b)?);
        let codec = TypeCodec::builtin(type_oid).expect("a built-in type");
        Ok(Datum::Int(match codec.compare_storage(a.as_ref(), b.as_ref()) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }))
    }

    /// Runs an operation; the result's type and value.
    fn call(&self, op: &str, a: &str, b: &str, c: &str) -> Result<(Oid, Datum)> {
        let zone = &self.0.time_zone;
        let float = |t: &str| float::parse(t, false);
        let small = |t: &str| int::parse(t, Width::Four).map(|v| v as i32);
        let numeric = |n: Numeric| (oid::NUMERIC, n.to_datum());
        let optional = |n: Option<Numeric>| (oid::NUMERIC, n.map_or(Datum::Null, |n| n.to_datum()));
        let timestamp = |t: Timestamp| (oid::TIMESTAMP, Datum::Text(t.to_storage()));
        let timestamptz = |t: Timestamp| (oid::TIMESTAMPTZ, Datum::Text(t.to_storage()));
        let interval = |i: Interval| (oid::INTERVAL, Datum::Text(i.to_storage()));
        let number = |v: Option<i32>| (oid::INT4, v.map_or(Datum::Null, |v| Datum::Int(v as i64)));
        let compared = |d: Datum| (oid::INT4, d);
        if let Some(op) = op.strip_prefix("numeric_") {
            let x = || Numeric::from_text(a);
            let y = || Numeric::from_text(b);
            return Ok(match op {
                "add" => numeric(x()?.add(&y()?)?),
                "sub" => numeric(x()?.sub(&y()?)?),
                "mul" => numeric(x()?.mul(&y()?)?),
                "div" => numeric(x()?.div(&y()?)?),
                "mod" => numeric(x()?.rem(&y()?)?),
                "div_trunc" => numeric(x()?.div_trunc(&y()?)?),
                "power" => numeric(x()?.power(&y()?)?),
                "log" => numeric(x()?.log(&y()?)?),
                "gcd" => numeric(x()?.gcd(&y()?)?),
                "lcm" => numeric(x()?.lcm(&y()?)?),
                "cmp" => {
                    let by_value = x()?.cmp(&y()?);
                    let d = self.compare(oid::NUMERIC, a, b)?;
                    assert_eq!(Datum::Int(by_value as i64), d, "the two comparisons of {a} and {b}");
                    compared(d)
                }
                "sqrt" => numeric(x()?.sqrt()?),
                "exp" => numeric(x()?.exp()?),
                "ln" => numeric(x()?.ln()?),
                "ceil" => numeric(x()?.ceil()),
                "floor" => numeric(x()?.floor()),
                "abs" => numeric(x()?.abs()),
                "sign" => numeric(x()?.sign()),
                "neg" => numeric(x()?.neg()),
                "trim_scale" => numeric(x()?.trim_scale()),
                "scale" => number(x()?.scale()),
                "min_scale" => number(x()?.min_scale()),
                "round" => numeric(x()?.round(small(b)?)),
                "trunc" => numeric(x()?.trunc(small(b)?)),
                "int4" => (oid::INT8, Datum::Int(x()?.to_int(Width::Four)?)),
                "int8" => (oid::INT8, Datum::Int(x()?.to_i64()?)),
                "float8" => (oid::FLOAT8, float::to_datum(x()?.to_float(false)?)),
                "array_cmp" => compared(self.compare(oid::NUMERIC_ARRAY, a, b)?),
                other => panic!("numeric_{other}"),
            });
        }
        Ok(match op {
            "float8_numeric" => numeric(Numeric::from_f64(float(a)?)),
            "float4_numeric" => numeric(Numeric::from_f32(float::parse(a, true)? as f32)),
            "factorial" => numeric(Numeric::factorial(int::parse(a, Width::Eight)?)?),
            "timestamp_add" => timestamp(self.timestamp(a)?.add_interval(self.interval(b)?)?),
            "timestamp_sub" => timestamp(self.timestamp(a)?.sub_interval(self.interval(b)?)?),
            "timestamptz_add" => timestamptz(self.timestamptz(a)?.add_interval_tz(self.interval(b)?, zone)?),
            "timestamptz_sub" => timestamptz(self.timestamptz(a)?.sub_interval_tz(self.interval(b)?, zone)?),
            "timestamp_since" => interval(self.timestamp(a)?.since(self.timestamp(b)?)?),
            "timestamp_age" => interval(self.timestamp(a)?.age(self.timestamp(b)?)?),
            "timestamp_extract" => optional(fields::timestamp(b, self.timestamp(a)?)?),
            "timestamptz_extract" => optional(fields::timestamptz(b, self.timestamptz(a)?, zone)?),
            "date_extract" => optional(fields::date(b, self.date(a)?)?),
            "time_extract" => optional(fields::time(b, self.time(a)?)?),
            "timetz_extract" => optional(fields::timetz(b, self.timetz(a)?)?),
            "interval_extract" => optional(fields::interval(b, self.interval(a)?)?),
            "timestamp_trunc" => timestamp(trunc::timestamp(b, self.timestamp(a)?)?),
            "timestamptz_trunc" => timestamptz(trunc::timestamptz(b, self.timestamptz(a)?, zone)?),
            "interval_trunc" => interval(trunc::interval(b, self.interval(a)?)?),
            "date_bin" => timestamp(self.timestamp(b)?.bin(self.interval(a)?, self.timestamp(c)?)?),
            "justify_hours" => interval(self.interval(a)?.justify_hours()?),
            "justify_days" => interval(self.interval(a)?.justify_days()?),
            "justify" => interval(self.interval(a)?.justify()?),
            "interval_mul" => interval(self.interval(a)?.mul(float(b)?)?),
            "interval_div" => interval(self.interval(a)?.div(float(b)?)?),
            "interval_add" => interval(self.interval(a)?.add(self.interval(b)?)?),
            "interval_sub" => interval(self.interval(a)?.sub(self.interval(b)?)?),
            "interval_cmp" => compared(self.compare(oid::INTERVAL, a, b)?),
            "timestamptz_zone" => timestamp(self.timestamptz(a)?.to_local(&Zone::parse(b)?)?),
            "timestamp_zone" => timestamptz(self.timestamp(a)?.to_utc(&Zone::parse(b)?)?),
            "time_add" => (oid::TIME, Datum::Text(self.time(a)?.add_interval(self.interval(b)?).to_storage())),
            "timetz_cmp" => compared(self.compare(oid::TIMETZ, a, b)?),
            "jsonb_cmp" => compared(self.compare(oid::JSONB, a, b)?),
            "make_date" => (oid::DATE, Datum::Text(Date::make(small(a)?, small(b)?, small(c)?)?.to_storage())),
            "make_time" => (oid::TIME, Datum::Text(Time::make(small(a)?, small(b)?, float(c)?)?.to_storage())),
            "date_timestamptz" => timestamptz(self.date(a)?.to_timestamptz(zone)?),
            "date_add" => (oid::DATE, Datum::Text(self.date(a)?.add_days(small(b)?)?.to_storage())),
            "to_timestamp" => timestamptz(Timestamp::from_unix(float(a)?)?),
            "int_array_cmp" => compared(self.compare(oid::INT4_ARRAY, a, b)?),
            "text_array_cmp" => compared(self.compare(oid::TEXT_ARRAY, a, b)?),
            other => panic!("{other}"),
        })
    }
}

#[test]
fn operators() {
    let time_zone = pgsqlite_types::datetime::zone::by_name("America/New_York").expect("a zone");
    let settings = Settings { time_zone, ..Settings::default() };
    let session = Session(settings);
    let mut differences: Vec<String> = Vec::new();
    let text = include_str!("vectors/operators.tsv");
    let mut count = 0;
    for line in text.lines() {
        let f: Vec<&str> = line.split('\t').collect();
        let (op, a, b, c) = (f[0], f[1], f[2], f[3]);
        count += 1;
        let expected = if f[5] != "\\N" {
            Err((f[5].to_string(), f[6].to_string()))
        } else {
            Ok((f[4] != "\\N").then(|| f[4].to_string()))
        };
        let got = session
            .call(op, a, b, c)
            .and_then(|(oid, d)| session.show(oid, &d))
            .map_err(|e| (e.code().as_str().to_string(), e.message().to_string()));
        // An integer array's order is PostgreSQL's sign only.
        if got != expected {
            differences.push(format!("{op}({a}, {b}, {c}): {got:?}, PostgreSQL: {expected:?}"));
        }
    }
    assert!(count > 1000);
    assert!(
        differences.is_empty(),
        "{} of {count} differ:\n{}",
        differences.len(),
        differences.iter().take(200).cloned().collect::<Vec<_>>().join("\n")
    );
}
