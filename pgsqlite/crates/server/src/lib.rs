//! Listeners and connections: the wire protocol on top of `pgsqlite_engine`.
//!
//! * [`config`]: what the server is told; [`databases`]: which file a database name means
//! * [`archiving`]: copies of each database's changes, written while it is served; [`standby`]: databases that follow such copies
//! * [`failover`]: which of several servers with one archive is the primary: the one that has its lease
//! * [`feed`]: what is committed to a database, for standbys that follow it over connections; [`walsender`]: such a connection, [`replication_command`]: its commands
//! * [`listen`]: sockets, accepting, shutdown; [`addresses`]: what is said where that fails
//! * [`starting`]: what clients are told before the databases are open
//! * [`client`]: one client's socket and buffers; [`tls`]; [`startup`]: from a socket to a session
//! * [`socket`]: how its bytes are waited for, [`busy_poll`]: awake at first; [`stream`]: the socket, or TLS over it
//! * [`hba`]: who may come in, from where, and how they prove who they are; [`entrance`]: how many there may be who have not yet
//! * [`failed_logins`]: what the log says of clients that are not let in
//! * [`connection`]: the message loop; [`own_thread`]: where it runs while its client keeps it busy
//! * [`http`]: [`answer`]s to what browsers and scrapers ask for: [`metrics`], and [`status`], a page; [`plain_login`]: passwords that come as texts
//! * [`sink`]: rows → DataRow messages in the output buffer

mod addresses;
mod answer;
mod archiving;
mod busy_poll;
pub mod byte_stream;
mod certificate;
mod client;
pub mod config;
mod conversation;
pub mod databases;
pub mod entrance;
mod errors;
mod failed_logins;
pub mod failover;
mod feed;
pub mod hba;
mod http;
mod kept;
pub mod listen;
mod metrics;
pub mod os_user;
mod own_thread;
pub mod plain_login;
mod reload;
mod replication_command;
mod serve;
pub mod shared;
mod sink;
pub mod socket;
pub mod standby;
mod starting;
mod startup;
mod status;
pub mod tls;
mod walsender;

pub use config::Config;
pub use listen::Server;

/// A write beyond the limit of a file's size (`ulimit -f`) fails from now on, instead of ending the process by SIGXFSZ.
pub fn ignore_file_size_signal() {
    // SAFETY: sets the disposition of a signal that nobody else handles.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
