//! COPY from and to files of the server. The file takes the client's place: its bytes go to the COPY that begins as one FROM STDIN
//! does, and a [`RowSink`] writes what would have gone to STDOUT.

use super::copy::Copying;
use super::{Execution, Flow, Format, OutputColumn, Row, RowSink, Session};
use crate::files::server_file::Refused;
use crate::files::ServerFile;
use pgsqlite_sql::parse::{ast, RawStatement};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{PgError, Result, SqlState};
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// How much is read from a file at once.
const PIECE: usize = 64 * 1024;

impl Session {
    /// COPY … FROM or TO 'file'. 42501 unless the role is a superuser or may read (write) the server's files.
    pub(super) async fn copy_file(&mut self, c: &ast::CopyStmt, raw: &RawStatement) -> Result<Execution> {
        let (role, action) = match c.is_from {
            true => ("pg_read_server_files", "COPY from a file"),
            false => ("pg_write_server_files", "COPY to a file"),
        };
        let required = format!("must be superuser or have privileges of the {role} role to {action}");
        self.check_member_of(role, required).map_err(|e| {
            e.hint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.")
        })?;
        if c.is_from {
            self.copy_from_file(c, raw).await
        } else {
            self.copy_to_file(c, raw).await
        }
    }

    async fn copy_from_file(&mut self, c: &ast::CopyStmt, raw: &RawStatement) -> Result<Execution> {
        let begun = self.begin_copy_from(c, raw).await?;
        if !matches!(begun, Execution::CopyIn { .. }) {
            return Ok(begun);
        }
        let mut file = match tokio::task::block_in_place(|| open_to_read(&c.filename)) {
            Ok(file) => file,
            Err(e) => return Err(self.give_up_copy(e)),
        };
        let mut piece = vec![0; PIECE];
        loop {
            let read = tokio::task::block_in_place(|| file.read(&mut piece));
            match read {
                Ok(0) => return self.copy_in_done().await.map(Execution::Complete),
                Ok(n) => self.copy_in_data(&piece[..n]).await?,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(self.give_up_copy(access_error("could not read from COPY file", &e))),
            }
        }
    }

    async fn copy_to_file(&mut self, c: &ast::CopyStmt, raw: &RawStatement) -> Result<Execution> {
        self.begin_copy_to(c, raw)?;
        let mut sink = match tokio::task::block_in_place(|| open_to_write(&c.filename)) {
            Ok(file) => FileSink { file: BufWriter::with_capacity(PIECE, file) },
            Err(e) => {
                self.abandon_copy_to();
                return Err(e);
            }
        };
        self.give_copy(&mut sink).await
    }
}

fn open_to_read(name: &str) -> Result<ServerFile> {
    let hint = "COPY FROM instructs the PostgreSQL server process to read a file. You may want a client-side facility such as psql's \\copy.";
    let file = ServerFile::open(Path::new(name)).map_err(|e| open_error(name, "reading", hint, e))?;
    let about = file.metadata().map_err(|e| access_error(&format!("could not stat file \"{name}\""), &e))?;
    if about.is_dir() {
        return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is a directory")));
    }
    Ok(file)
}

fn open_to_write(name: &str) -> Result<ServerFile> {
    let hint = "COPY TO instructs the PostgreSQL server process to write a file. You may want a client-side facility such as psql's \\copy.";
    if !Path::new(name).is_absolute() {
        return Err(PgError::new(SqlState::INVALID_NAME, "relative path not allowed for COPY to file"));
    }
    ServerFile::create(Path::new(name)).map_err(|e| open_error(name, "writing", hint, e))
}

fn open_error(name: &str, purpose: &str, hint: &str, refused: Refused) -> PgError {
    let e = match refused {
        Refused::Io(e) => e,
        Refused::Database(e) => return e,
    };
    let opened = access_error(&format!("could not open file \"{name}\" for {purpose}"), &e);
    match e.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => opened.hint(hint),
        _ => opened,
    }
}

/// `what: reason`, with the SQLSTATE that PostgreSQL gives to the reason.
fn access_error(what: &str, e: &std::io::Error) -> PgError {
    let code = match e.kind() {
        ErrorKind::PermissionDenied => SqlState::INSUFFICIENT_PRIVILEGE,
        ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
        ErrorKind::IsADirectory => SqlState::WRONG_OBJECT_TYPE,
        ErrorKind::AlreadyExists => SqlState::DUPLICATE_FILE,
        ErrorKind::StorageFull => SqlState::DISK_FULL,
        _ => SqlState::IO_ERROR,
    };
    let reason = e.to_string();
    let reason = reason.split(" (os error").next().unwrap_or(&reason);
    PgError::new(code, format!("{what}: {reason}"))
}

/// Writes the lines of COPY TO into a file.
struct FileSink {
    file: BufWriter<ServerFile>,
}

impl RowSink for FileSink {
    fn columns(&mut self, _columns: &Arc<[OutputColumn]>) -> Result<()> {
        Err(PgError::internal("rows in the place of COPY's lines"))
    }
    fn row(&mut self, _row: &dyn Row, _context: &Context) -> Result<Flow> {
        Err(PgError::internal("a row in the place of COPY's lines"))
    }
    fn copy_out(&mut self, _formats: &[Format]) -> Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, data: &[u8]) -> Result<Flow> {
        self.file.write_all(data).map_err(|e| access_error("could not write to COPY file", &e))?;
        Ok(Flow::Continue)
    }
    fn copy_done(&mut self) -> Result<()> {
        self.file.flush().map_err(|e| access_error("could not write to COPY file", &e))
    }
}

impl Session {
    /// Ends a COPY FROM whose data cannot be read: the error that it ends with.
    fn give_up_copy(&mut self, error: PgError) -> PgError {
        let ended = self.take_copy().and_then(|copy| self.end_copy(copy, Err(error)));
        ended.err().unwrap_or_else(|| PgError::internal("COPY"))
    }

    /// Takes back a COPY TO that has not given anything.
    fn abandon_copy_to(&mut self) {
        if matches!(self.copying, Some(Copying::Out(_))) {
            self.copying = None;
            self.close_copied();
        }
    }
}
