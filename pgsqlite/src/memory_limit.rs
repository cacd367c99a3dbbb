//! `--memory-limit`: the bytes that all sessions of the server may hold together.

use pgsqlite_memory::{available, SMALLEST_LIMIT};

/// Reads `512MB`, `2GB`, `none`. The units are PostgreSQL's (manual 20.1.1): B, kB, MB, GB, TB, each 1024 of the one before.
fn parse(text: &str) -> Result<usize, String> {
    if text == "none" {
        return Ok(usize::MAX);
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim_start() {
        "B" => 0,
        "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return Err("a number with one of the units B, kB, MB, GB, TB is expected, or none".into()),
    };
    let number: usize = number.parse().map_err(|_| "the number is missing or too large".to_string())?;
    let bytes = number.checked_mul(1 << shift).ok_or("the number is too large")?;
    if bytes < SMALLEST_LIMIT {
        return Err(format!("the smallest limit is {}MB", SMALLEST_LIMIT >> 20));
    }
    Ok(bytes)
}

/// Sets the limit for this process. Without a limit that was asked for it is three quarters of what the machine or the
/// process's control group has.
pub fn apply(asked: Option<&str>) -> anyhow::Result<()> {
    let limit = match asked {
        Some(text) => parse(text).map_err(|e| anyhow::anyhow!("memory_limit \"{text}\": {e}"))?,
        None => available().map_or(usize::MAX, |bytes| bytes / 4 * 3),
    };
    pgsqlite_memory::set_limit(limit);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes() {
        assert_eq!(parse("none"), Ok(usize::MAX));
        assert_eq!(parse("64MB"), Ok(64 << 20));
        assert_eq!(parse("2 GB"), Ok(2 << 30));
        assert_eq!(parse("1048576kB"), Ok(1 << 30));
        assert_eq!(parse("134217728B"), Ok(128 << 20));
        for bad in ["", "1", "2G", "GB", "63MB", "-1GB", "1.5GB", "99999999999999999999GB", "99999999TB"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
