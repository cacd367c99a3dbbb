//! `pgsqlite demo`: a small sample database, and what to type.

use crate::offline::{execute, finish, open};
use anyhow::{bail, Result};
use clap::Args;
use std::path::PathBuf;

/// Make a small sample database, and print commands to try with it
#[derive(Args, Debug)]
pub struct DemoCommand {
    /// The file to make
    #[arg(default_value = "demo.db")]
    file: PathBuf,
}

const SAMPLE: &str = include_str!("demo.sql");

pub async fn run(command: DemoCommand) -> Result<()> {
    let file = &command.file;
    if file.exists() {
        bail!("\"{}\" is there already: name another file, or remove it", file.display());
    }
    let engine = open(file, true)?;
    finish(execute(&engine, SAMPLE).await, &engine).await?;
    let name = crate::greeting::word(file);
    println!(
        "{name} has a small bookshop: customers, books, orders and a view of what sells.

Serve it, and leave it running:
    pgsqlite --database {name}

Then, in another terminal, with any client of PostgreSQL:
    psql -h /tmp main -c 'SELECT * FROM bestsellers'
    psql -h /tmp main -c \"SELECT title, details->>'pages' AS pages FROM books WHERE 'space' = ANY (tags)\"
    psql -h /tmp main -c 'SELECT * FROM spent(3)'

Or run one command with a private copy, which is gone afterwards:
    pgsqlite exec --template {name} -- psql -c 'DELETE FROM orders' -c 'SELECT count(*) FROM orders'

Or read the same file with SQLite:
    sqlite3 {name} 'SELECT title, price FROM books'"
    );
    Ok(())
}
