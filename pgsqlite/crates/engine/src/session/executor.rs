//! What runs the statements of a session: its connection to SQLite, its portals, the COPY that is under way, and where its transaction is
//! while its client is silent. The methods are beside what they are about: [`super::execution`], [`super::transaction`], [`mod@super::copy`].

use super::context::SessionContext;
use super::execution;
use super::execution::portal::Portal;
use super::transaction;
use super::{copy, ByName};
use crate::connection::Connection;
use std::collections::HashMap;
use std::sync::Arc;

/// The transaction, the portals and the connection of a session.
pub(super) struct Executor {
    pub context: SessionContext,
    pub connection: Option<Connection>,
    /// where the transaction is while the client is silent
    pub place: Arc<transaction::resting::Place>,
    /// how long its client is silent within transactions
    pub pace: execution::pace::Pace,
    /// the running statement must not touch what others hold
    pub heeding: Option<transaction::resting::Heeding>,
    /// boxed: Execute takes its portal out of here, and puts it back
    pub portals: ByName<Box<Portal>>,
    /// portals that an error in a transaction block has ended, and whether they had columns: their names are taken until the block's end
    pub lost_portals: HashMap<String, bool>,
    /// the COPY that is under way
    pub copying: Option<copy::Copying>,
    /// the FETCH whose sink asked for a pause
    pub fetching: Option<execution::cursor::Fetching>,
    /// a body runs on the connection, whatever becomes of the transaction
    pub keeps_connection: bool,
    /// above 0: others were committing at the time of one of its last commits
    pub beside_others: u8,
    /// the state of random(), while no connection is leased; zeros: to be seeded
    pub random: [u64; 2],
}

impl Executor {
    pub fn new(context: SessionContext) -> Executor {
        Executor {
            context,
            connection: None,
            place: Default::default(),
            pace: Default::default(),
            heeding: None,
            portals: ByName::default(),
            lost_portals: HashMap::new(),
            copying: None,
            fetching: None,
            keeps_connection: false,
            beside_others: 0,
            random: [0, 0],
        }
    }

    /// An error in a transaction block has ended a portal. (A query string has the unnamed one.)
    pub(super) fn lose_portal(&mut self, name: &str, portal: &Portal) {
        let name = match name.starts_with('\0') {
            // (PostgreSQL computes constants before it makes the portal)
            true if portal.is_constant() => return,
            true => "",
            false => name,
        };
        self.lost_portals.insert(name.to_string(), portal.columns().is_some());
    }

    pub(super) fn drop_portal(&mut self, name: &str) {
        if let Some(portal) = self.portals.remove(name) {
            self.close(portal);
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.rouse();
        self.context.observation.ends(&self.context.gucs, self.context.cancel.is_terminated());
        self.context.server.close();
        if let Ok(copy) = self.take_copy() {
            copy.abandon(self);
        }
        self.context.end_running();
        let portals: Vec<Box<Portal>> = self.portals.drain().map(|(_, p)| p).collect();
        for portal in portals {
            self.close(portal);
        }
        if self.context.transaction.is_joined() {
            if let Err(e) = self.withdraw() {
                tracing::debug!("a session's part in a shared transaction could not be taken back: {e}");
            }
        }
        if let Some(connection) = self.connection.take() {
            // an open transaction is rolled back; a connection that cannot be cleaned is closed
            let clean = connection.is_autocommit() || connection.exec("ROLLBACK").is_ok();
            if clean && self.context.engine.config.pooling && !connection.has_temporary() {
                connection.cell.random.set([0, 0]);
                self.context.engine.idle.put(connection);
            }
        }
        // (a pooled connection may keep it)
        self.context.server.transaction_ended();
    }
}
