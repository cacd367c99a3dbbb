//! An SQL file, as pg_dump writes it: statements, and COPY with its lines.

use super::split::Splitter;
use super::Import;
use anyhow::{anyhow, bail, Context as _, Result};
use pgsqlite_engine::session::Execution;
use std::io::{BufRead, Read};
use std::path::Path;

/// So much of COPY's lines is handed over at once.
const PIECE: usize = 64 << 10;

/// What a dump begins with that only pg_restore reads, and what a compressor makes.
const KINDS: &[(&[u8], &str)] = &[
    (b"PGDMP", "is a dump in pg_dump's custom format\n  Start a server on the new file and use pg_restore: pgsqlite exec --database NEW.db -- pg_restore -d main DUMP"),
    (b"\x1f\x8b", "is compressed with gzip\n  gunzip -c DUMP | pgsqlite import --database NEW.db -"),
    (b"(\xb5/\xfd", "is compressed with zstd\n  zstd -dc DUMP | pgsqlite import --database NEW.db -"),
    (b"SQLite format 3\0", "is a SQLite database already\n  pgsqlite --database FILE serves it"),
];

/// Imports a file, or standard input (`-`).
pub async fn import(import: &mut Import<'_>, source: &Path) -> Result<()> {
    let (reader, total): (Box<dyn Read>, Option<u64>) = if source == Path::new("-") {
        (Box::new(std::io::stdin().lock()), None)
    } else {
        let file = std::fs::File::open(source).with_context(|| format!("\"{}\"", source.display()))?;
        let total = file.metadata().ok().map(|m| m.len());
        (Box::new(file), total)
    };
    let mut lines = Lines { reader: std::io::BufReader::with_capacity(1 << 20, reader), bytes: 0, number: 0, total };
    let head = lines.reader.fill_buf().with_context(|| format!("\"{}\"", source.display()))?;
    if let Some((_, what)) = KINDS.iter().find(|(magic, _)| head.starts_with(magic)) {
        bail!("\"{}\" {what}", source.display());
    }
    let mut splitter = Splitter::default();
    let mut line = Vec::new();
    let mut begins_at = 1;
    loop {
        if splitter.is_between() {
            begins_at = lines.number + 1;
        }
        if !lines.next(&mut line)? {
            break;
        }
        if splitter.is_between() && line.starts_with(b"\\") {
            meta_command(&line, lines.number)?;
            continue;
        }
        let mut statements = Vec::new();
        splitter.line(&line, |statement| {
            statements.push(statement);
            Ok::<(), anyhow::Error>(())
        })?;
        for statement in statements {
            run(import, &mut lines, statement, begins_at).await?;
            begins_at = lines.number;
        }
        import.progress.show(lines.bytes, lines.total, &import.note);
    }
    if let Some(statement) = splitter.rest() {
        run(import, &mut lines, statement, begins_at).await?;
    }
    Ok(())
}

/// The lines of the file, counted.
struct Lines {
    reader: std::io::BufReader<Box<dyn Read>>,
    bytes: u64,
    number: u64,
    total: Option<u64>,
}

impl Lines {
    /// The next line with its end. False: there is none.
    fn next(&mut self, line: &mut Vec<u8>) -> Result<bool> {
        line.clear();
        let n = self.reader.read_until(b'\n', line).context("the dump cannot be read")?;
        self.bytes += n as u64;
        self.number += 1;
        Ok(n > 0)
    }
}

/// Lines for psql alone. Those that newer versions of pg_dump write around a dump mean nothing here.
fn meta_command(line: &[u8], number: u64) -> Result<()> {
    let text = String::from_utf8_lossy(line);
    match text.split_whitespace().next().unwrap_or_default() {
        "\\restrict" | "\\unrestrict" => Ok(()),
        "\\connect" | "\\c" => bail!(
            "line {number}: {} names another database\n  Dump one database (pg_dump without --create), not a cluster (pg_dumpall).",
            text.trim()
        ),
        word => bail!("line {number}: {word} is a command of psql\n  Run the file with psql: pgsqlite exec --database NEW.db -- psql -f FILE"),
    }
}

/// Statements that `--no-owner` leaves out: whose something is, and who may use it.
fn is_about_owners(statement: &str) -> bool {
    let plain: Vec<&str> = statement.lines().filter(|line| !line.starts_with("--")).collect();
    let text = plain.join(" ").to_ascii_uppercase();
    let text = text.trim_start();
    ["GRANT ", "REVOKE ", "ALTER DEFAULT PRIVILEGES ", "SET SESSION AUTHORIZATION "].iter().any(|s| text.starts_with(s))
        || text.starts_with("ALTER ") && text.contains(" OWNER TO ")
}

/// Runs a statement; the lines after a COPY … FROM stdin are its data.
async fn run(import: &mut Import<'_>, lines: &mut Lines, statement: Vec<u8>, line: u64) -> Result<()> {
    let text = String::from_utf8(statement)
        .map_err(|_| anyhow!("line {line}: the dump is not UTF-8\n  Make it with pg_dump --encoding=UTF8."))?;
    if import.no_owner && is_about_owners(&text) {
        return Ok(());
    }
    let at = |e: anyhow::Error| {
        let first = text.lines().find(|l| !l.trim().is_empty() && !l.starts_with("--")).unwrap_or_default().trim();
        let first: String = first.chars().take(100).collect();
        let hint = match e.to_string().contains("role \"") {
            true => "\n  Import with --no-owner, or make the role first: pgsqlite user add NAME --database FILE",
            false => "",
        };
        anyhow!("line {line}: {e:#}\n  {first}{hint}")
    };
    if let Some(Execution::CopyIn { .. }) = import.execute(&text).await.map_err(at)? {
        copy(import, lines).await.map_err(at)?;
    }
    Ok(())
}

/// Hands over the lines to `\.`
async fn copy(import: &mut Import<'_>, lines: &mut Lines) -> Result<()> {
    let (mut line, mut piece) = (Vec::new(), Vec::with_capacity(PIECE * 2));
    loop {
        if !lines.next(&mut line)? {
            bail!("the dump ends within the data of a COPY: it is not complete");
        }
        if line == b"\\.\n" || line == b"\\.\r\n" || line == b"\\." {
            break;
        }
        piece.extend_from_slice(&line);
        if piece.len() >= PIECE {
            import.copy_data(&piece).await?;
            piece.clear();
            import.progress.show(lines.bytes, lines.total, &import.note);
        }
    }
    import.copy_data(&piece).await?;
    import.copy_done().await
}

#[cfg(test)]
mod tests {
    use super::is_about_owners;

    #[test]
    fn owners_and_privileges_are_known() {
        for yes in [
            "\n--\n-- Name: t; Owner: x\n--\n\nALTER TABLE public.t OWNER TO bob;",
            "GRANT SELECT ON t TO bob;",
            "revoke all on t from bob;",
        ] {
            assert!(is_about_owners(yes), "{yes}");
        }
        for no in ["ALTER TABLE t ADD c text DEFAULT 'x';", "CREATE TABLE grant_t (i int);", "-- GRANT x\nSELECT 1;"] {
            assert!(!is_about_owners(no), "{no}");
        }
    }
}
