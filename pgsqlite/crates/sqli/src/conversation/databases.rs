//! Which database a session has open: DBOPEN and DBCLOSE, DATABASE, CLOSE, CREATE and DROP DATABASE, and how long it waits for locks.

use super::large_objects::LargeObjects;
use super::statement::Statement;
use super::transaction::Discard;
use super::{large_objects_mark, Conversation, Step, Wrong};
use crate::dialect::ast::Action;
use crate::errors::Failure;
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::{Session, SessionOptions};
use pgsqlite_server::plain_login::{proves, Claim};
use std::sync::Arc;

/// What a session that is not to wait for locks waits nevertheless for statements that are at work: the file has one writer at a time, while
/// Informix's rows have locks of their own. A transaction whose client is silent is not waited for.
const NO_WAIT: &str = "2s";

/// Informix's database of the server itself. What it has is made up (`dialect/system_catalog.rs`).
pub(super) const SYSMASTER: &str = "sysmaster";

/// It has a log, and is no file of the small server.
const LOGGED: i16 = 1;
const NOT_SE: i16 = 4;

impl Conversation<'_> {
    /// Carries out what [`Action`] says, and tells the client so.
    pub(super) async fn act(&mut self, action: Action) -> Step {
        match action {
            Action::Nothing => {}
            Action::OpenDatabase { name, exclusive } => return self.switch_database(name, exclusive).await,
            Action::CloseDatabase => self.leave_database()?,
            Action::CreateDatabase { name, if_not_exists } => {
                return self.create_database(name, if_not_exists).await;
            }
            Action::DropDatabase { name, if_exists } => self.drop_database(&name, if_exists).await?,
            Action::LockWait(seconds) => self.lock_wait(seconds).await?,
        }
        self.done(0, 0);
        Ok(())
    }

    /// DBOPEN.
    pub(super) async fn open_database(&mut self, name: &[u8], exclusive: bool) -> Step {
        let name = self.identity.codeset.decode(name)?;
        self.statements.clear();
        self.open_named(name.split('@').next().unwrap_or("").to_string(), exclusive).await
    }

    async fn open_named(&mut self, name: String, exclusive: bool) -> Step {
        if exclusive {
            return Err(Failure::refused("opening a database exclusively").into());
        }
        if name == SYSMASTER {
            self.make_sysmaster().await?;
        }
        let session = self.session_of(&name).await?;
        session.give_up_on_silence(true);
        let cancel = session.cancel_handle();
        self.in_transaction = false;
        self.xa.forget();
        self.not_waiting = true;
        self.followers.clear();
        // objects of the database that was open before are not of this one
        self.large_objects = LargeObjects::new(large_objects_mark(self.shared));
        // nobody can cancel these sessions over PostgreSQL's protocol: no secret is told
        let mut secret = [0u8; 4];
        secret.copy_from_slice(&self.shared.mock_secret[..4]);
        self.shared.sessions.lock().insert(self.identity.pid, (i32::from_be_bytes(secret), cancel.clone()));
        if let Ok(mut watched) = self.watcher.cancel.lock() {
            *watched = Some(cancel);
        }
        self.session = Some(session);
        self.database = name;
        self.client.out.done(LOGGED | NOT_SE, 0, 0, 0);
        self.client.out.cost();
        Ok(())
    }

    /// Every server has a `sysmaster`, in which programs make tables, too: the first client that opens it makes it, if it may make
    /// databases. Else it can be read.
    async fn make_sysmaster(&mut self) -> Step {
        let missing = self.shared.databases.names().is_some_and(|names| !names.iter().any(|n| n == SYSMASTER));
        if !missing {
            return Ok(());
        }
        match self.administer(&format!("CREATE DATABASE {SYSMASTER}")).await {
            Err(Wrong::Failed(failure)) => {
                tracing::info!(?failure, "sysmaster is not made, and can only be read");
                Ok(())
            }
            other => other,
        }
    }

    /// The engine of a database that a client names. That of `sysmaster` is any that is there: its tables are made up.
    fn engine_of(&self, name: &str) -> Result<Arc<Engine>, Failure> {
        match self.shared.databases.get(name) {
            Err(_) if name == SYSMASTER => {}
            found => return found.map_err(Failure::from),
        }
        self.shared.databases.enter("template1").map_err(Failure::from)
    }

    /// A session in a database, for a client that has proved who it is.
    async fn session_of(&mut self, name: &str) -> Step<Session> {
        let engine = self.engine_of(name);
        let user = self.identity.user.clone();
        if let Some(password) = &self.identity.password {
            let (encrypted, address) = (self.identity.encrypted, self.identity.address);
            let claim = Claim { user: &user, database: name, encrypted, certificate: None, address };
            // what databases there are learns only who is let in
            if !proves(self.shared, &claim, engine.as_ref().ok(), password).await {
                self.not_let_in(&user, name, "the password is wrong, the role has none, or no rule lets it in");
                return Err(Wrong::Fatal(Failure::new(-951, 0, user)));
            }
        }
        let engine = engine?;
        if self.identity.place.is_none() {
            let place = self.shared.take_place().ok_or_else(|| Wrong::Fatal(Failure::new(-908, 0, "")))?;
            self.identity.place = Some(place);
        }
        let role = engine.role(&user);
        if !role.as_ref().is_some_and(|r| r.login) {
            self.not_let_in(&user, name, "there is no such role, or it may not log in");
            return Err(Wrong::Fatal(Failure::new(-951, 0, user)));
        }
        if self.identity.place.as_ref().is_some_and(|p| p.is_reserved) && role.is_some_and(|r| !r.superuser) {
            return Err(Wrong::Fatal(Failure::new(-908, 0, "")));
        }
        let setting = |n: &str, v: &str| (n.to_string(), v.to_string());
        let mut settings = vec![
            setting("application_name", "sqli"),
            // texts of dates are read in the client's order
            setting("datestyle", self.identity.dates.style),
            setting("intervalstyle", "postgres"),
            setting("lock_timeout", NO_WAIT),
        ];
        if name == SYSMASTER && self.shared.databases.names().is_some_and(|names| !names.iter().any(|n| n == SYSMASTER))
        {
            // nothing that is stored would be of this database
            settings.push(setting("default_transaction_read_only", "on"));
        }
        let options = SessionOptions {
            user,
            database: name.to_string(),
            settings,
            backend_pid: self.identity.pid,
            client_addr: Some(self.identity.address),
            encryption: self.client.stream.encryption().map(std::sync::Arc::new),
            server_settings: self.shared.settings.clone(),
            host: self.shared.host(),
        };
        let mut session = engine.session(options).map_err(Failure::from)?;
        if let Some(watch) = self.client.stream.watch() {
            session.watch_client(watch);
        }
        Ok(session)
    }

    /// DATABASE: the statement that says so is still the client's to release.
    async fn switch_database(&mut self, name: String, exclusive: bool) -> Step {
        if self.in_transaction {
            // a transaction must end before the database is closed
            return Err(Failure::new(-377, 0, "").into());
        }
        let id = self.current;
        let own: Option<Statement> = id.and_then(|id| self.statements.remove(&id));
        let old = std::mem::take(&mut self.statements);
        let opened = self.open_named(name, exclusive).await;
        if opened.is_err() {
            self.statements = old;
        }
        if let (Some(id), Some(own)) = (id, own) {
            self.statements.insert(id, own);
        }
        opened
    }

    /// CLOSE DATABASE.
    fn leave_database(&mut self) -> Step {
        self.session()?;
        if self.in_transaction {
            return Err(Failure::new(-377, 0, "").into());
        }
        let current = self.current;
        self.statements.retain(|id, _| Some(*id) == current);
        self.close_session();
        Ok(())
    }

    /// No database is open from here on.
    pub(super) fn close_session(&mut self) {
        self.session = None;
        self.in_transaction = false;
        self.xa.forget();
        self.followers.clear();
        self.database.clear();
        if let Ok(mut watched) = self.watcher.cancel.lock() {
            *watched = None;
        }
    }

    /// CREATE DATABASE, which is the client's from then on.
    async fn create_database(&mut self, name: String, if_not_exists: bool) -> Step {
        if self.in_transaction {
            return Err(Failure::new(-377, 0, "").into());
        }
        let names = self.shared.databases.names().ok_or_else(|| {
            Failure::text("a database cannot be created: this server serves one file (start it on a folder)")
        })?;
        let exists = names.contains(&name);
        if exists && !if_not_exists || name == SYSMASTER {
            // the name is taken
            return Err(Failure::new(-330, -100, name).into());
        }
        if !exists {
            self.administer(&format!("CREATE DATABASE {}", crate::dialect::print::ident(&name))).await?;
        }
        self.switch_database(name, false).await
    }

    async fn drop_database(&mut self, name: &str, if_exists: bool) -> Step {
        let names = self.shared.databases.names().ok_or_else(|| {
            Failure::text("a database cannot be dropped: this server serves one file (start it on a folder)")
        })?;
        if self.session.is_some() && name == self.database {
            // it is open
            return Err(Failure::new(-425, 0, "").into());
        }
        if !names.contains(&name.to_string()) {
            return match if_exists {
                true => Ok(()),
                false => Err(Failure::new(-329, -111, name).into()),
            };
        }
        self.administer(&format!("DROP DATABASE {}", crate::dialect::print::ident(name))).await
    }

    /// Runs a statement about databases in a session of its own: none need be open, and none is in a transaction.
    async fn administer(&mut self, sql: &str) -> Step {
        let mut session = self.session_of(SYSMASTER).await?;
        let mut script = session.script("SET default_transaction_read_only = off")?;
        while session.execute_script(&mut script, &mut Discard).await?.is_some() {}
        session.sync().await?;
        let mut script = session.script(sql)?;
        while session.execute_script(&mut script, &mut Discard).await?.is_some() {}
        session.sync().await?;
        Ok(())
    }

    /// SET LOCK MODE.
    async fn lock_wait(&mut self, seconds: Option<u32>) -> Step {
        // PostgreSQL's 0 means to wait for ever
        let limit = match seconds {
            None => "0".to_string(),
            Some(0) => NO_WAIT.into(),
            Some(n) => format!("{n}s"),
        };
        self.run_sql(&format!("SET lock_timeout = '{limit}'")).await?;
        self.not_waiting = seconds == Some(0);
        self.session()?.give_up_on_silence(seconds == Some(0));
        if !self.in_transaction {
            self.session()?.sync().await?;
        }
        Ok(())
    }
}
