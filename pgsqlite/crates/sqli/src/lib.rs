//! The SQLI front end: Informix clients on the same engine and the same files as PostgreSQL's.
//!
//! * [`wire`]: bytes ⇄ messages; [`values`]: Informix's types; [`dialect`]: Informix's SQL → PostgreSQL's; [`errors`]: SQLSTATE → SQLCODE
//! * [`listen`]: the port, TLS, cancel requests; [`login`]: who the client is; [`client`]: its socket and buffers
//! * [`conversation`]: statements, cursors and transactions of one client
//!
//! A statement's way: PREPARE → [`dialect::translate`] → [`pgsqlite_engine::session::Session::parse`], which analyzes and plans it as any
//! other; OPEN or EXECUTE binds and runs it; rows come through [`conversation`]'s sink, which encodes them for the wire.

mod client;
mod conversation;
mod dialect;
mod errors;
#[cfg(test)]
mod fuzz;
mod interrupts;
mod listen;
mod login;
mod values;
mod wire;

pub use listen::Listener;
