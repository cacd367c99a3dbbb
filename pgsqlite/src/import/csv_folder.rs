//! A folder of CSV files: `name.csv` with a line of column names becomes the table `name`.
//!
//! A table that is there gets the rows. Otherwise it is made, and each column has the narrowest type that all of its values are of.

use super::Import;
use anyhow::{anyhow, bail, Context as _, Result};
use pgsqlite_engine::session::Execution;
use pgsqlite_sql::names::quoted;
use std::io::Read;
use std::path::{Path, PathBuf};

const PIECE: usize = 64 << 10;

/// Imports all files of a folder in the order of their names.
pub async fn import(import: &mut Import<'_>, folder: &Path) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("\"{}\"", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv")));
    files.sort();
    if files.is_empty() {
        bail!("the folder \"{}\" has no file whose name ends in .csv", folder.display());
    }
    let total: u64 = files.iter().map(|file| std::fs::metadata(file).map_or(0, |m| m.len())).sum();
    let mut done = 0;
    for file in &files {
        one(import, file, &mut done, total).await.map_err(|e| anyhow!("{}: {e:#}", file.display()))?;
    }
    Ok(())
}

async fn one(import: &mut Import<'_>, file: &Path, done: &mut u64, total: u64) -> Result<()> {
    let stem = file.file_stem().and_then(|s| s.to_str()).context("the file's name is no UTF-8")?;
    let table = quoted(stem);
    let columns = read_columns(file)?;
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    let declared: Vec<String> =
        columns.iter().zip(&names).map(|(column, name)| format!("{name} {}", column.kind.type_name())).collect();
    import.execute(&format!("CREATE TABLE IF NOT EXISTS {table} ({})", declared.join(", "))).await?;
    let copy = format!("COPY {table} ({}) FROM STDIN (FORMAT csv, HEADER true)", names.join(", "));
    let Some(Execution::CopyIn { .. }) = import.execute(&copy).await? else { bail!("COPY wants no data") };
    let mut reader = std::fs::File::open(file)?;
    let mut piece = vec![0; PIECE];
    loop {
        match reader.read(&mut piece)? {
            0 => break,
            n => {
                import.copy_data(&piece[..n]).await?;
                *done += n as u64;
                import.progress.show(*done, Some(total), stem);
            }
        }
    }
    import.copy_done().await
}

struct Column {
    name: String,
    kind: Kind,
}

/// What all values of a column are. Each is tried until a value is none.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    /// no value yet
    Unknown,
    Boolean,
    BigInt,
    Numeric,
    Date,
    Timestamp,
    TimestampTz,
    Uuid,
    Text,
}

impl Kind {
    fn type_name(self) -> &'static str {
        match self {
            Kind::Unknown | Kind::Text => "text",
            Kind::Boolean => "boolean",
            Kind::BigInt => "bigint",
            Kind::Numeric => "numeric",
            Kind::Date => "date",
            Kind::Timestamp => "timestamp",
            Kind::TimestampTz => "timestamptz",
            Kind::Uuid => "uuid",
        }
    }

    fn of(value: &str) -> Kind {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false") {
            return Kind::Boolean;
        }
        let unsigned = value.strip_prefix('-').unwrap_or(value);
        let (whole, fraction) = unsigned.split_once('.').map_or((unsigned, None), |(w, f)| (w, Some(f)));
        // 007 is no number but a code
        if digits(whole) && (whole == "0" || !whole.starts_with('0')) && fraction.is_none_or(digits) {
            let fits = fraction.is_none() && value.parse::<i64>().is_ok();
            return if fits { Kind::BigInt } else { Kind::Numeric };
        }
        let pattern: String = value.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        if pattern == "0000-00-00" {
            return Kind::Date;
        }
        if let Some(rest) = pattern.strip_prefix("0000-00-00 ").or_else(|| pattern.strip_prefix("0000-00-00T")) {
            let (time, zone) = match rest.find(['Z', '+', '-']) {
                Some(at) => rest.split_at(at),
                None => (rest, ""),
            };
            let (seconds, fraction) = time.split_once('.').map_or((time, None), |(s, f)| (s, Some(f)));
            let is_time = matches!(seconds, "00:00" | "00:00:00") && fraction.is_none_or(digits);
            return match zone {
                "" if is_time => Kind::Timestamp,
                "Z" | "+00" | "-00" | "+00:00" | "-00:00" | "+0000" | "-0000" if is_time => Kind::TimestampTz,
                _ => Kind::Text,
            };
        }
        let parts: Vec<&str> = value.split('-').collect();
        let hex = |part: &&str| part.bytes().all(|b| b.is_ascii_hexdigit());
        if parts.iter().map(|p| p.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(hex) {
            return Kind::Uuid;
        }
        Kind::Text
    }

    /// What values of both kinds are.
    fn with(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Unknown, kind) | (kind, Kind::Unknown) => kind,
            (one, other) if one == other => one,
            (Kind::BigInt | Kind::Numeric, Kind::BigInt | Kind::Numeric) => Kind::Numeric,
            (Kind::Date | Kind::Timestamp, Kind::Date | Kind::Timestamp) => Kind::Timestamp,
            _ => Kind::Text,
        }
    }
}

/// Reads all of a file: its columns' names and kinds.
fn read_columns(file: &Path) -> Result<Vec<Column>> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(file)?;
    let names = reader.headers().context("the first line, which names the columns,")?.clone();
    let mut columns: Vec<Column> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        // (Excel begins a file so)
        let name = name.trim_start_matches('\u{feff}').trim();
        if name.is_empty() {
            bail!("column {} has no name: the first line must name the columns", i + 1);
        }
        if columns.iter().any(|column| column.name == name) {
            bail!("two columns have the name \"{name}\"");
        }
        columns.push(Column { name: name.into(), kind: Kind::Unknown });
    }
    if columns.is_empty() {
        bail!("the file is empty: the first line must name the columns");
    }
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record)? {
        for (column, value) in columns.iter_mut().zip(&record) {
            if column.kind != Kind::Text && !value.is_empty() {
                column.kind = column.kind.with(Kind::of(value));
            }
        }
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_gets_the_narrowest_type() {
        for (values, expected) in [
            (&["1", "-2", ""][..], "bigint"),
            (&["1", "2.50"], "numeric"),
            (&["99999999999999999999"], "numeric"),
            (&["007", "1"], "text"),
            (&["true", "FALSE"], "boolean"),
            (&["true", "1"], "text"),
            (&["2024-01-31"], "date"),
            (&["2024-01-31", "2024-01-31 10:00"], "timestamp"),
            (&["2024-01-31T10:00:00.5Z", "2024-01-31 10:00:00+02"], "timestamptz"),
            (&["2024-01-31 10:00", "2024-01-31 10:00Z"], "text"),
            (&["0F8FAD5B-D9CB-469F-A165-70867728950E"], "uuid"),
            (&["1e5"], "text"),
            (&["", ""], "text"),
            (&["-"], "text"),
            (&["1."], "text"),
        ] {
            let kind = values.iter().filter(|v| !v.is_empty()).fold(Kind::Unknown, |kind, v| kind.with(Kind::of(v)));
            assert_eq!(kind.type_name(), expected, "{values:?}");
        }
    }
}
