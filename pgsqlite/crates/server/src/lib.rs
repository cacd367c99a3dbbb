//! Listeners and connections: the wire protocol on top of `pgsqlite_engine`.
//!
//! * [`config`]: what the server is told; [`databases`]: which file a database name means
//! * [`listen`]: sockets, accepting, shutdown
//! * [`client`]: one client's socket and buffers; [`tls`]; [`startup`]: from a socket to a session
//! * [`connection`]: the message loop
//! * [`sink`]: rows → DataRow messages in the output buffer

mod client;
pub mod config;
mod connection;
mod databases;
mod errors;
pub mod listen;
mod local;
mod sink;
mod startup;
mod stream;
mod tls;

pub use config::Config;
pub use listen::Server;
