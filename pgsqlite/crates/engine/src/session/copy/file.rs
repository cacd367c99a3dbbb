//! COPY from and to files of the server. The file takes the client's place: its bytes go to the COPY that begins as one FROM STDIN
//! does, and a [`RowSink`] writes what would have gone to STDOUT.

use crate::session::copy::copy_from::CopyIn;
use crate::session::copy::copy_to::CopyOut;
use crate::session::copy::Copying;
use crate::session::{Execution, Flow, Format, OutputColumn, Row, RowSink, Session};
use pgsqlite_sql::parse::{ast, RawStatement};
use pgsqlite_storage::files::server_file::Refused;
use pgsqlite_storage::files::ServerFile;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{PgError, Result, SqlState};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much is read from a file at once.
const PIECE: usize = 64 * 1024;

/// COPY … FROM or TO 'file'. 42501 unless the role is a superuser or may read (write) the server's files.
pub(in crate::session) async fn copy(
    session: &mut Session,
    c: &ast::CopyStmt,
    raw: &RawStatement,
) -> Result<Execution> {
    let (role, action) = match c.is_from {
        true => ("pg_read_server_files", "COPY from a file"),
        false => ("pg_write_server_files", "COPY to a file"),
    };
    session
        .executor
        .context
        .check_member_of(role, action, action)
        .map_err(|e| e.hint("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone."))?;
    let Some(folder) = session.executor.context.engine.config.server_files.clone() else {
        let refused = PgError::new(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!("{action} of the server is not enabled").replace("a file", "files"),
        );
        return Err(refused.hint("Start the server with --server-files DIR, or use psql's \\copy."));
    };
    match c.is_from {
        true => copy_from(session, &folder, c, raw).await,
        false => copy_to(session, &folder, c, raw).await,
    }
}

async fn copy_from(session: &mut Session, folder: &Path, c: &ast::CopyStmt, raw: &RawStatement) -> Result<Execution> {
    let copy = CopyIn::begin(session, c, raw).await?;
    let mut file = match pgsqlite_storage::apart::apart(|| open_to_read(folder, &c.filename)) {
        Ok(file) => file,
        Err(e) => return Err(copy.fail(&mut session.executor, e)),
    };
    session.executor.copying = Some(Copying::In(Box::new(copy)));
    let mut piece = vec![0; PIECE];
    loop {
        let read = pgsqlite_storage::apart::apart(|| file.read(&mut piece));
        match read {
            Ok(0) => return session.copy_in_done().await.map(Execution::Complete),
            Ok(n) => session.copy_in_data(&piece[..n]).await?,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => {
                let error = access_error("could not read from COPY file", &e);
                return Err(session.executor.take_copy()?.fail(&mut session.executor, error));
            }
        }
    }
}

async fn copy_to(session: &mut Session, folder: &Path, c: &ast::CopyStmt, raw: &RawStatement) -> Result<Execution> {
    let mut copy = CopyOut::begin(session, c, raw)?;
    let mut sink = match pgsqlite_storage::apart::apart(|| open_to_write(folder, &c.filename)) {
        Ok(file) => FileSink { file, lines: Vec::with_capacity(PIECE) },
        Err(e) => {
            CopyOut::abandon(&mut session.executor);
            return Err(e);
        }
    };
    loop {
        let given = copy.give(session, &mut sink).await?;
        // a file outlives a loss of power, as a client does: its rows have been on disk before
        let written = match session.executor.settle_seen().await {
            Ok(()) => pgsqlite_storage::apart::apart(|| sink.write()),
            Err(e) => Err(e),
        };
        if !matches!(given, Execution::Paused) {
            return written.map(|()| given);
        }
        let paused = session.executor.copying.take();
        match (written, paused) {
            (Ok(()), Some(Copying::Out(paused))) => copy = paused,
            (Ok(()), _) => return Err(PgError::internal("a paused COPY is gone")),
            (Err(e), _) => {
                CopyOut::abandon(&mut session.executor);
                return Err(e);
            }
        }
    }
}

/// The real path of a file within the folder, wherever links lead. Errors: 42501 for one that is elsewhere.
fn within(folder: &Path, name: &str) -> std::result::Result<PathBuf, Refused> {
    let path = folder.join(name);
    let outside = || {
        let message = format!("file \"{name}\" is outside of the folder for files of the server");
        let error = PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
        Refused::Database(error.hint("The flag --server-files names the folder."))
    };
    let real = match path.canonicalize() {
        Ok(real) => real,
        // a file that is to be made; a link to nowhere is none
        Err(e) if e.kind() == ErrorKind::NotFound => match (path.parent(), path.file_name()) {
            (Some(parent), Some(file)) if path.symlink_metadata().is_err() => parent.canonicalize()?.join(file),
            _ => return Err(outside()),
        },
        Err(e) => return Err(e.into()),
    };
    match real.starts_with(folder) {
        true => Ok(real),
        false => Err(outside()),
    }
}

fn open_to_read(folder: &Path, name: &str) -> Result<ServerFile> {
    let hint = "COPY FROM instructs the PostgreSQL server process to read a file. You may want a client-side facility such as psql's \\copy.";
    let opened = within(folder, name).and_then(|path| ServerFile::open(&path));
    let file = opened.map_err(|e| open_error(name, "reading", hint, e))?;
    let about = file.metadata().map_err(|e| access_error(&format!("could not stat file \"{name}\""), &e))?;
    if about.is_dir() {
        return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is a directory")));
    }
    Ok(file)
}

fn open_to_write(folder: &Path, name: &str) -> Result<ServerFile> {
    let hint = "COPY TO instructs the PostgreSQL server process to write a file. You may want a client-side facility such as psql's \\copy.";
    if !Path::new(name).is_absolute() {
        return Err(PgError::new(SqlState::INVALID_NAME, "relative path not allowed for COPY to file"));
    }
    let made = within(folder, name).and_then(|path| ServerFile::create(&path));
    made.map_err(|e| open_error(name, "writing", hint, e))
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

/// Collects the lines of COPY TO for a file, and asks for a pause when there are enough to write them.
struct FileSink {
    file: ServerFile,
    lines: Vec<u8>,
}

impl FileSink {
    /// Writes the lines that were collected.
    fn write(&mut self) -> Result<()> {
        self.file.write_all(&self.lines).map_err(|e| access_error("could not write to COPY file", &e))?;
        self.lines.clear();
        Ok(())
    }
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
        self.lines.extend_from_slice(data);
        Ok(if self.lines.len() < PIECE { Flow::Continue } else { Flow::Pause })
    }
    fn copy_done(&mut self) -> Result<()> {
        Ok(())
    }
}
