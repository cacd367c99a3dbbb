//! `pgsqlite completions` and `pgsqlite man`: what packages bring along, made from the flags themselves.

use anyhow::{Context as _, Result};
use clap::{Args, Command};
use std::io::Write;
use std::path::PathBuf;

/// Print the completions for a shell
#[derive(Args, Debug)]
pub struct CompletionsCommand {
    shell: clap_complete::Shell,
}

/// Print the manual page, or write it and those of the commands into a folder
#[derive(Args, Debug)]
pub struct ManCommand {
    /// The folder for pgsqlite.1, pgsqlite-exec.1 …
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub fn completions(command: &CompletionsCommand, mut program: Command) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(command.shell, &mut program, "pgsqlite", &mut text);
    Ok(std::io::stdout().write_all(&text)?)
}

pub fn man(command: &ManCommand, program: Command) -> Result<()> {
    match &command.dir {
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(program).render(&mut text)?;
            Ok(std::io::stdout().write_all(&text)?)
        }
        Some(dir) => {
            clap_mangen::generate_to(program, dir).with_context(|| format!("the folder \"{}\"", dir.display()))
        }
    }
}
