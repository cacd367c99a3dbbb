//! `pgsqlite user …`: the users of a file, from the command line, for a file that no server has open.
//!
//! A user is a role that can log in, and what is kept of its password is a SCRAM-SHA-256 verifier; `CREATE ROLE`, `ALTER ROLE`
//! and `DROP ROLE` do the same in a session. This is the way to the first one.

use crate::offline::{execute, finish, open};
use anyhow::{bail, Context as _, Result};
use clap::{Args, Subcommand};
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

/// Make, list, change and remove the users of a database file, for --auth scram
#[derive(Args, Debug)]
pub struct UserCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Args, Debug)]
struct File {
    /// The SQLite file
    #[arg(long, env = "PGSQLITE_DATABASE", value_name = "FILE")]
    database: PathBuf,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Make a user (and the file, if it does not exist); the password is asked for, or read from standard input
    Add {
        /// The name of the user
        name: String,
        /// Make a superuser, who may do everything; the first user should be one
        #[arg(long)]
        superuser: bool,
        #[command(flatten)]
        file: File,
    },
    /// Remove a user
    Remove {
        /// The name of the user
        name: String,
        #[command(flatten)]
        file: File,
    },
    /// Print the names of those who can log in with a password
    List {
        #[command(flatten)]
        file: File,
    },
    /// Change a password, which is asked for, or read from standard input
    Passwd {
        /// The name of the user
        name: String,
        #[command(flatten)]
        file: File,
    },
}

pub async fn run(command: UserCommand) -> Result<()> {
    match command.action {
        Action::Add { name, superuser, file } => {
            let engine = open(&file.database, true)?;
            let options = if superuser { "SUPERUSER LOGIN" } else { "LOGIN" };
            // the operating system's user is a role of every new file, which has no password yet
            let is_there = engine.role(&name).is_some_and(|role| role.password.is_none());
            let verb = if is_there { "ALTER" } else { "CREATE" };
            let statement = format!("{verb} ROLE {} {options} PASSWORD {}", identifier(&name)?, literal(&password()?)?);
            finish(execute(&engine, &statement).await, &engine).await
        }
        Action::Remove { name, file } => {
            let engine = open(&file.database, false)?;
            finish(execute(&engine, &format!("DROP ROLE {}", identifier(&name)?)).await, &engine).await
        }
        Action::Passwd { name, file } => {
            let engine = open(&file.database, false)?;
            let statement = format!("ALTER ROLE {} PASSWORD {}", identifier(&name)?, literal(&password()?)?);
            finish(execute(&engine, &statement).await, &engine).await
        }
        Action::List { file } => {
            let engine = open(&file.database, false)?;
            engine.users().iter().for_each(|user| println!("{}", user.name));
            finish(Ok(()), &engine).await
        }
    }
}

/// The password: twice from a terminal, where it is not shown, or a line of standard input.
fn password() -> Result<String> {
    let password = if std::io::stdin().is_terminal() {
        let first = rpassword::prompt_password("Password: ").context("the password")?;
        let second = rpassword::prompt_password("Again: ").context("the password")?;
        if first != second {
            bail!("the two passwords differ");
        }
        first
    } else {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).context("the password")?;
        line.trim_end_matches(['\r', '\n']).to_string()
    };
    if password.is_empty() {
        bail!("a password cannot be empty");
    }
    Ok(password)
}

/// A name in double quotes.
fn identifier(name: &str) -> Result<String> {
    if name.is_empty() || name.contains('\0') {
        bail!("\"{name}\" is not a name");
    }
    Ok(pgsqlite_sql::names::quoted(name))
}

/// A text in single quotes.
fn literal(text: &str) -> Result<String> {
    if text.contains('\0') {
        bail!("a password cannot hold a zero byte");
    }
    Ok(format!("'{}'", text.replace('\'', "''")))
}
