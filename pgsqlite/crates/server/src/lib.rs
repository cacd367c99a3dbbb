//! Listeners and connections: the wire protocol on top of `pgsqlite_engine`.
//!
//! * [`config`]: what the server is told; [`databases`]: which file a database name means
//! * [`listen`]: sockets, accepting, shutdown
//! * [`connection`]: one client: start-up, authentication, then the message loop
//! * [`sink`]: rows → DataRow messages in the output buffer

pub mod config;
mod connection;
mod databases;
mod errors;
pub mod listen;
mod sink;
mod stream;

pub use config::Config;
pub use listen::Server;
