//! Prepared transactions (manual: "PREPARE TRANSACTION"): they belong to no session, hold their locks, and wait for COMMIT PREPARED or ROLLBACK
//! PREPARED. Their changes are in the file ([`pgsqlite_metadata::store::prepared`]), so that they are there after a restart and after a crash.
//!
//! In the lock tables a prepared transaction is a session of its own number ([`Transaction::holder`]), for which no client exists.

use crate::changes::table::Table;
use crate::locks::serializable::Watched;
use crate::transactions::Number;
use parking_lot::Mutex;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An identifier has fewer bytes than this.
pub(crate) const MOST_GID: usize = 200;

/// A prepared transaction.
pub(crate) struct Transaction {
    pub number: Number,
    /// when it was prepared, microseconds since 2000-01-01 UTC
    pub prepared: i64,
    /// the role that has prepared it
    pub owner: Oid,
    /// the number of the session that holds its locks
    pub holder: u64,
    /// the tables that it has changed, as they were then; None: its record is damaged
    pub tables: Option<Vec<Arc<Table>>>,
    /// it is SERIALIZABLE
    pub watched: Option<Watched>,
}

enum Place {
    /// PREPARE, COMMIT PREPARED or ROLLBACK PREPARED of it runs. None: it is being prepared.
    Busy(Option<Shown>),
    Idle(Box<Transaction>),
}

/// A prepared transaction, as pg_prepared_xacts shows it.
#[derive(Debug, Clone)]
pub struct Shown {
    pub gid: String,
    pub number: u64,
    /// microseconds since 2000-01-01 UTC
    pub prepared: i64,
    pub owner: Oid,
    /// the number of the session that holds its locks
    pub holder: u64,
}

/// The prepared transactions of a database, by their identifiers.
#[derive(Clone, Default)]
pub(crate) struct Prepared(Arc<Mutex<BTreeMap<String, Place>>>);

/// The right to do something with an identifier. Dropped, it leaves the transaction that it holds prepared, whatever has become of who had it.
pub(crate) struct Claim {
    of: Prepared,
    gid: String,
    transaction: Option<Box<Transaction>>,
}

impl Transaction {
    fn shown(&self, gid: &str) -> Shown {
        let (number, prepared) = (self.number.get(), self.prepared);
        Shown { gid: gid.into(), number, prepared, owner: self.owner, holder: self.holder }
    }
}

impl Prepared {
    /// Takes an identifier for a transaction that is about to be prepared. `most`: so many may be prepared. Errors: 55000 if none may be,
    /// 42710 if there is one of that name, 53200 if there are too many.
    pub fn reserve(&self, gid: &str, most: usize) -> Result<Claim> {
        if gid.len() >= MOST_GID {
            let message = format!("transaction identifier \"{gid}\" is too long");
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        if most == 0 {
            return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "prepared transactions are disabled")
                .hint("Set max_prepared_transactions to a nonzero value."));
        }
        let mut all = self.0.lock();
        if all.contains_key(gid) {
            let message = format!("transaction identifier \"{gid}\" is already in use");
            return Err(PgError::new(SqlState::DUPLICATE_OBJECT, message));
        }
        if all.len() >= most {
            let error = PgError::new(SqlState::OUT_OF_MEMORY, "maximum number of prepared transactions reached");
            return Err(error.hint(format!("Increase max_prepared_transactions (currently {most}).")));
        }
        all.insert(gid.into(), Place::Busy(None));
        Ok(Claim { of: self.clone(), gid: gid.into(), transaction: None })
    }

    /// Takes a prepared transaction to end it. `may`: whether a transaction of this role may be ended. Errors: 42704 if there is none, 55000 if
    /// another session is ending it, 42501.
    pub fn claim(&self, gid: &str, may: impl FnOnce(Oid) -> bool) -> Result<Claim> {
        let mut all = self.0.lock();
        let owner = match all.get(gid) {
            Some(Place::Idle(transaction)) => transaction.owner,
            Some(Place::Busy(Some(_))) => {
                let message = format!("prepared transaction with identifier \"{gid}\" is busy");
                return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
            }
            Some(Place::Busy(None)) | None => return Err(missing(gid)),
        };
        if !may(owner) {
            let message = "permission denied to finish prepared transaction";
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                .hint("Must be superuser or the user that prepared the transaction."));
        }
        let Some(Place::Idle(transaction)) = all.remove(gid) else {
            return Err(PgError::internal("a prepared transaction is gone"));
        };
        all.insert(gid.into(), Place::Busy(Some(transaction.shown(gid))));
        Ok(Claim { of: self.clone(), gid: gid.into(), transaction: Some(transaction) })
    }

    /// The transactions that are prepared, by their identifiers.
    pub fn all(&self) -> Vec<Shown> {
        let all = self.0.lock();
        let shown = all.iter().filter_map(|(gid, place)| match place {
            Place::Busy(shown) => shown.clone(),
            Place::Idle(transaction) => Some(transaction.shown(gid)),
        });
        shown.collect()
    }
}

/// 42704: no transaction is prepared under this identifier.
pub(crate) fn missing(gid: &str) -> PgError {
    let message = format!("prepared transaction with identifier \"{gid}\" does not exist");
    PgError::new(SqlState::UNDEFINED_OBJECT, message)
}

impl Claim {
    /// The identifier.
    pub fn gid(&self) -> &str {
        &self.gid
    }

    /// The transaction that is to be ended; None: it is being prepared.
    pub fn transaction(&self) -> Option<&Transaction> {
        self.transaction.as_deref()
    }

    /// What the identifier is for. When the claim is dropped the transaction is prepared, and others may end it; until then they do not find it.
    pub fn hold(&mut self, transaction: Transaction) {
        self.transaction = Some(Box::new(transaction));
    }

    /// The transaction has ended, or was not prepared after all: its identifier is free. Whoever ends it gives back its locks.
    pub fn end(mut self) -> Option<Box<Transaction>> {
        self.transaction.take()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut all = self.of.0.lock();
        match self.transaction.take() {
            Some(transaction) => drop(all.insert(self.gid.clone(), Place::Idle(transaction))),
            None => drop(all.remove(&self.gid)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(owner: Oid) -> Transaction {
        let number = Number::take();
        Transaction { number, prepared: 0, owner, holder: 1, tables: Some(vec![]), watched: None }
    }

    fn code<T>(result: Result<T>) -> SqlState {
        result.map(drop).expect_err("fails").code()
    }

    #[test]
    fn an_identifier_is_taken_once() {
        let all = Prepared::default();
        assert_eq!(code(all.reserve("a", 0)), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert_eq!(code(all.reserve(&"x".repeat(MOST_GID), 1)), SqlState::INVALID_PARAMETER_VALUE);
        let claim = all.reserve("a", 1).expect("is free");
        assert_eq!(code(all.reserve("a", 2)), SqlState::DUPLICATE_OBJECT);
        assert_eq!(code(all.reserve("b", 1)), SqlState::OUT_OF_MEMORY);
        assert_eq!(code(all.claim("a", |_| true)), SqlState::UNDEFINED_OBJECT);
        assert!(all.all().is_empty());
        drop(claim);
        all.reserve("a", 1).expect("is free again").hold(transaction(10));
        assert_eq!(code(all.claim("a", |owner| owner != 10)), SqlState::INSUFFICIENT_PRIVILEGE);
        let claim = all.claim("a", |owner| owner == 10).expect("is prepared");
        assert_eq!(code(all.claim("a", |_| true)), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert_eq!(all.all().len(), 1);
        drop(claim);
        assert!(all.claim("a", |_| true).expect("is prepared").end().is_some());
        assert!(all.all().is_empty());
    }
}
