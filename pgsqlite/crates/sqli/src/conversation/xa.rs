//! XA's transactions on prepared ones: what is between start and end is a transaction of the session, prepare stores it under a name that is made
//! of the XID, and any session of the database may end it then.
//!
//! A session has one branch at a time, which is prepared or ended where it was begun: TMJOIN of another session's branch and a second branch
//! before the first is prepared are refused. Codes are those of the XA specification (X/Open CAE "Distributed Transaction Processing").

use super::{Conversation, Step, Wrong};
use crate::errors::Failure;
use crate::wire::messages::{Call, Message, Xid};
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::Engine;
use pgsqlite_engine::session::{Execution, Flow, Format, OutputColumn, Row, RowSink, TransactionStatus};
use pgsqlite_types::codec::Context;
use pgsqlite_types::DatumRef;
use std::sync::Arc;

const OK: i16 = 0;
/// It was rolled back: because of a deadlock, of data that must not be, for a while (it may be tried again), because the program said so, else.
const ROLLED_BACK: i16 = 100;
const DEADLOCK: i16 = 102;
const INTEGRITY: i16 = 103;
const OTHER: i16 = 104;
const TRANSIENT: i16 = 107;
/// Something went wrong (behind prepare: the branch is rolled back).
const ERROR: i16 = -3;
/// There is no such branch.
const UNKNOWN: i16 = -4;
/// What was asked makes no sense.
const INVALID: i16 = -5;
/// Not now.
const OUT_OF_ORDER: i16 = -6;
/// It cannot be ended now, and is there as before.
const UNAVAILABLE: i16 = -7;
/// There is such a branch already.
const DUPLICATE: i16 = -8;
/// The session has a transaction that is no branch.
const OUTSIDE: i16 = -9;

const ONE_PHASE: i32 = 0x4000_0000;
const FAIL: i32 = 0x2000_0000;
const RESUME: i32 = 0x0800_0000;
const SUCCESS: i32 = 0x0400_0000;
const SUSPEND: i32 = 0x0200_0000;
const START_SCAN: i32 = 0x0100_0000;
const END_SCAN: i32 = 0x0080_0000;
const JOIN: i32 = 0x0020_0000;

/// A statement is not allowed in a branch: BEGIN, COMMIT, ROLLBACK, another database.
pub(super) const IN_BRANCH: i16 = -701;

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Active,
    Suspended,
    /// `fails`: it can only be rolled back
    Ended {
        fails: bool,
    },
}

/// The branch whose work the session's transaction is.
pub(super) struct Branch {
    xid: Xid,
    state: State,
}

/// What XA has of a session.
#[derive(Default)]
pub(super) struct Xa {
    branch: Option<Branch>,
    /// branches that the scan has not given yet
    found: Vec<Xid>,
}

impl Xa {
    pub(super) fn has_branch(&self) -> bool {
        self.branch.is_some()
    }

    /// The database is closed, and with it what was not prepared.
    pub(super) fn forget(&mut self) {
        *self = Xa::default();
    }

    /// Errors: the message would do its work in a branch that does not take any now, or takes the branch away.
    pub(super) fn check(&self, message: &Message) -> Result<(), Failure> {
        let Some(branch) = &self.branch else { return Ok(()) };
        match message {
            Message::OpenResourceManager { .. } | Message::OpenDatabase { .. } | Message::CloseDatabase => {
                Err(Failure::new(IN_BRANCH, 0, ""))
            }
            Message::Command(_)
            | Message::Prepare { .. }
            | Message::Open
            | Message::Execute
            | Message::Fetch { .. }
            | Message::ScrollFetch { .. }
            | Message::Put(_)
            | Message::FetchBlob(_)
            | Message::LargeObjectData(_)
            | Message::CallRoutine { .. }
            | Message::SetSavepoint(_)
            | Message::ReleaseSavepoint(_)
            | Message::RollbackToSavepoint(_)
                if branch.state != State::Active =>
            {
                Err(Failure::refused("a statement between the end of an XA branch and its prepare, commit or rollback"))
            }
            _ => Ok(()),
        }
    }
}

/// What prepared transactions of XA are called: their parts have no other dot, and an XID of 128 bytes fits.
fn name_of(xid: &Xid) -> String {
    format!("xa.{}.{}.{}", xid.format, URL_SAFE_NO_PAD.encode(&xid.global), URL_SAFE_NO_PAD.encode(&xid.branch))
}

/// The XID of a name that [`name_of`] has made; None: it is somebody else's.
fn xid_of(name: &str) -> Option<Xid> {
    let mut parts = name.strip_prefix("xa.")?.split('.');
    let format = parts.next()?.parse().ok()?;
    let global = URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
    let branch = URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
    let xid = Xid { format, global, branch };
    (parts.next().is_none() && xid.is_valid() && name_of(&xid) == name).then_some(xid)
}

/// Takes the texts of a column.
#[derive(Default)]
struct Texts(Vec<String>);

impl RowSink for Texts {
    fn columns(&mut self, _: &Arc<[OutputColumn]>) -> pgsqlite_types::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &dyn Row, _: &Context) -> pgsqlite_types::Result<Flow> {
        if let DatumRef::Text(text) = row.value(0) {
            self.0.push(text.to_string());
        }
        Ok(Flow::Continue)
    }
    fn copy_out(&mut self, _: &[Format]) -> pgsqlite_types::Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, _: &[u8]) -> pgsqlite_types::Result<Flow> {
        Ok(Flow::Continue)
    }
    fn copy_done(&mut self) -> pgsqlite_types::Result<()> {
        Ok(())
    }
}

/// The SQLSTATE of a failure; empty: it has none.
fn state_of(failure: &Failure) -> String {
    failure.cause.as_ref().map_or_else(String::new, |cause| cause.code().as_str().to_string())
}

/// Why a branch was rolled back instead of being committed.
fn rolled_back(failure: &Failure) -> i16 {
    match state_of(failure).as_str() {
        "40P01" => DEADLOCK,
        "40001" => TRANSIENT,
        state if state.starts_with("23") => INTEGRITY,
        _ => OTHER,
    }
}

impl Conversation<'_> {
    /// A message about a branch; its answer is a code.
    pub(super) async fn branch_call(&mut self, call: Call, xid: Xid, flags: i32) -> Step {
        self.session()?;
        let code = match xid.is_valid() {
            false => INVALID,
            true => match call {
                Call::Start => self.start_branch(xid, flags).await?,
                Call::End => self.end_branch(&xid, flags),
                Call::Prepare => self.prepare_branch(&xid).await?,
                Call::Commit => self.commit_branch(&xid, flags).await?,
                Call::Rollback => self.roll_branch_back(&xid).await?,
                // no branch is ended by the server itself, so that there is nothing to forget
                Call::Forget => UNKNOWN,
            },
        };
        self.client.out.xa_status(code);
        Ok(())
    }

    /// The resource manager is given up.
    pub(super) fn close_resource_manager(&mut self) {
        let code = if self.xa.has_branch() { OUT_OF_ORDER } else { OK };
        self.client.out.xa_status(code);
    }

    /// The prepared branches of the database. A client that asks for all in one call (TMSTARTRSCAN and TMENDRSCAN) gets all, as many as it has
    /// place for otherwise.
    pub(super) async fn recover(&mut self, most: i32, flags: i32) -> Step {
        self.session()?;
        if flags & !(START_SCAN | END_SCAN) != 0 || most < 0 {
            self.client.out.xa_status(INVALID);
            return Ok(());
        }
        if flags & START_SCAN != 0 {
            match self.texts("SELECT gid FROM pg_catalog.pg_prepared_xacts ORDER BY prepared, gid").await {
                Ok(names) => self.xa.found = names.iter().filter_map(|name| xid_of(name)).collect(),
                Err(wrong) => {
                    self.reported(wrong)?;
                    self.client.out.xa_status(ERROR);
                    return Ok(());
                }
            }
        }
        let whole = flags & START_SCAN != 0 && flags & END_SCAN != 0;
        let wanted = if whole { i16::MAX as usize } else { (most as usize).min(i16::MAX as usize) };
        let given: Vec<Xid> = self.xa.found.drain(..wanted.min(self.xa.found.len())).collect();
        if flags & END_SCAN != 0 {
            self.xa.found.clear();
        }
        self.client.out.xa_status(given.len() as i16);
        for xid in &given {
            self.client.out.xid(xid);
        }
        Ok(())
    }

    async fn start_branch(&mut self, xid: Xid, flags: i32) -> Step<i16> {
        if let Some(branch) = &mut self.xa.branch {
            let known = branch.xid == xid;
            return Ok(match (branch.state, flags) {
                (State::Suspended, RESUME) | (State::Ended { fails: false }, JOIN) if known => {
                    branch.state = State::Active;
                    OK
                }
                (State::Ended { fails: true }, JOIN) if known => ROLLED_BACK,
                (_, 0) if known => DUPLICATE,
                (State::Active, _) => OUT_OF_ORDER,
                // another branch, while this one has the session's transaction
                (_, 0) => ERROR,
                (_, JOIN | RESUME) => UNKNOWN,
                _ => INVALID,
            });
        }
        match flags {
            0 => {}
            JOIN | RESUME => return Ok(UNKNOWN),
            _ => return Ok(INVALID),
        }
        if self.in_transaction {
            return Ok(OUTSIDE);
        }
        let name = name_of(&xid);
        let begun =
            match self.texts(&format!("SELECT gid FROM pg_catalog.pg_prepared_xacts WHERE gid = '{name}'")).await {
                Ok(same) if !same.is_empty() => return Ok(DUPLICATE),
                Ok(_) => self.begin().await,
                Err(wrong) => Err(wrong),
            };
        if let Err(wrong) = begun {
            self.reported(wrong)?;
            return Ok(ERROR);
        }
        self.xa.branch = Some(Branch { xid, state: State::Active });
        Ok(OK)
    }

    fn end_branch(&mut self, xid: &Xid, flags: i32) -> i16 {
        let Some(branch) = self.xa.branch.as_mut().filter(|branch| branch.xid == *xid) else { return UNKNOWN };
        branch.state = match (branch.state, flags) {
            (State::Active, SUSPEND) => State::Suspended,
            (State::Active | State::Suspended, SUCCESS) => State::Ended { fails: false },
            (State::Active | State::Suspended, FAIL) => State::Ended { fails: true },
            (_, SUSPEND | SUCCESS | FAIL) => return OUT_OF_ORDER,
            _ => return INVALID,
        };
        OK
    }

    /// The session's own branch, which has ended: whether it can be kept. Err: what to answer.
    fn ended(&self, xid: &Xid) -> Option<Result<bool, i16>> {
        let branch = self.xa.branch.as_ref().filter(|branch| branch.xid == *xid)?;
        Some(match branch.state {
            State::Ended { fails } => Ok(!fails),
            _ => Err(OUT_OF_ORDER),
        })
    }

    /// IBM's driver gives its caller a code of xa_prepare that is above zero as if the branch were prepared: what was rolled back is an
    /// error, whatever the reason.
    async fn prepare_branch(&mut self, xid: &Xid) -> Step<i16> {
        match self.ended(xid) {
            None => return Ok(UNKNOWN),
            Some(Err(code)) => return Ok(code),
            // a failed transaction would be rolled back by PREPARE TRANSACTION, and that would be no error
            Some(Ok(kept)) if !kept || self.session()?.transaction_status() == TransactionStatus::Failed => {
                self.give_branch_up().await?;
                return Ok(ERROR);
            }
            Some(Ok(_)) => {}
        }
        self.xa.branch = None;
        self.end_cursors().await?;
        let prepared = self.run_sql(&format!("PREPARE TRANSACTION '{}'", name_of(xid))).await;
        self.in_transaction = false;
        let code = match prepared {
            Ok(()) => OK,
            Err(wrong @ Wrong::Failed(_)) => {
                self.session()?.failed().await;
                self.large_objects.undo();
                self.reported(wrong)?;
                ERROR
            }
            Err(other) => return Err(other),
        };
        self.session()?.sync().await?;
        Ok(code)
    }

    async fn commit_branch(&mut self, xid: &Xid, flags: i32) -> Step<i16> {
        if !matches!(flags, 0 | ONE_PHASE) {
            return Ok(INVALID);
        }
        match self.ended(xid) {
            None if flags == 0 => return self.end_prepared(xid, "COMMIT").await,
            None => return Ok(UNKNOWN),
            Some(Err(code)) => return Ok(code),
            // it was not prepared
            Some(Ok(_)) if flags == 0 => return Ok(OUT_OF_ORDER),
            Some(Ok(false)) => return self.give_branch_up().await,
            Some(Ok(true)) => {}
        }
        self.xa.branch = None;
        let committed = self.commit().await;
        match committed {
            Ok(()) => Ok(OK),
            Err(Wrong::Failed(failure)) => {
                let code = rolled_back(&failure);
                self.reported(Wrong::Failed(failure))?;
                Ok(code)
            }
            Err(other) => Err(other),
        }
    }

    async fn roll_branch_back(&mut self, xid: &Xid) -> Step<i16> {
        match self.ended(xid) {
            None => self.end_prepared(xid, "ROLLBACK").await,
            Some(Err(code)) => Ok(code),
            Some(Ok(_)) => {
                self.give_branch_up().await?;
                Ok(OK)
            }
        }
    }

    /// Rolls the session's own branch back.
    async fn give_branch_up(&mut self) -> Step<i16> {
        self.xa.branch = None;
        self.rollback().await?;
        Ok(ROLLED_BACK)
    }

    /// COMMIT PREPARED, ROLLBACK PREPARED.
    async fn end_prepared(&mut self, xid: &Xid, how: &str) -> Step<i16> {
        if self.in_transaction {
            return Ok(if self.xa.has_branch() { OUT_OF_ORDER } else { OUTSIDE });
        }
        self.settle().await?;
        let ended = self.run_sql(&format!("{how} PREPARED '{}'", name_of(xid))).await;
        match ended {
            Ok(()) => {
                self.session()?.sync().await?;
                Ok(OK)
            }
            Err(Wrong::Failed(failure)) => {
                let session = self.session()?;
                session.failed().await;
                session.sync().await?;
                let code = if state_of(&failure) == "42704" { UNKNOWN } else { UNAVAILABLE };
                self.reported(Wrong::Failed(failure))?;
                Ok(code)
            }
            Err(other) => Err(other),
        }
    }

    /// An error that a code stands for goes to the server's statistics and logs. Errors: those that end the connection.
    fn reported(&mut self, wrong: Wrong) -> Step {
        let Wrong::Failed(failure) = wrong else { return Err(wrong) };
        tracing::debug!(?failure, "an XA call fails");
        if let (Some(session), Some(cause)) = (&self.session, &failure.cause) {
            session.observe_error_of(cause, "XA");
        }
        Ok(())
    }

    /// The texts that a query of our own finds.
    async fn texts(&mut self, query: &str) -> Step<Vec<String>> {
        let mut found = Texts::default();
        let within = self.in_transaction;
        if !within {
            self.settle().await?;
        }
        let session = self.session()?;
        let mut script = session.script(query)?;
        let result = loop {
            match session.execute_script(&mut script, &mut found).await {
                Ok(None) => break Ok(found.0),
                Ok(Some(Execution::CopyIn { .. })) => break Err(Failure::internal("COPY").into()),
                Ok(Some(_)) => {}
                Err(error) => break Err(error.into()),
            }
        };
        if result.is_err() {
            session.failed().await;
        }
        if !within {
            session.sync().await?;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_prepared_transactions_say_their_xid() {
        for (format, global, branch) in [
            (0, vec![1u8; 64], vec![255u8; 64]),
            (i32::MIN, vec![0, 46, 39], Vec::new()),
            (4660, b"global".to_vec(), b"branch1".to_vec()),
        ] {
            let xid = Xid { format, global, branch };
            let name = name_of(&xid);
            assert!(name.len() < 200 && !name.contains('\''), "{name}");
            assert_eq!(xid_of(&name), Some(xid));
        }
        for other in [
            "",
            "xa.",
            "xa.1.YQ",
            "xa.1.YQ.Yg.Yw",
            "xa.01.YQ.Yg",
            "xa.1.?.Yg",
            "xa.1..Yg",
            "4660_Z2xvYmFs_YnJhbmNoMQ==",
        ] {
            assert_eq!(xid_of(other), None, "{other}");
        }
    }
}
