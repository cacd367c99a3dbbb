//! One client: start-up, then messages until it goes.

use crate::byte_stream::Stream;
use crate::client::{Client, End};
use crate::conversation::Conversation;
use crate::entrance::Visitor;
use crate::errors;
use crate::own_thread;
use crate::shared::Shared;
use crate::startup::{self, Started};
use crate::walsender;
use pgsqlite_types::encoding::Encoding;
use pgsqlite_types::{PgError, SqlState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

/// A client that is told why it is sent away has this long to take the message.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves one client to its end.
pub async fn serve(shared: &Arc<Shared>, stream: Stream, address: Option<SocketAddr>, visitor: Visitor) {
    let mut client = Client::new(stream, shared.config.send_timeout);
    let limit = shared.config.authentication_timeout;
    let started = tokio::select! {
        biased;
        () = shared.stopped() => Err(End::Fatal(
            PgError::new(SqlState::CANNOT_CONNECT_NOW, "the database system is shutting down").fatal(),
        )),
        // (others have come, more than there may be who are not let in)
        () = visitor.sent_away() => Err(End::Fatal(
            PgError::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already").fatal(),
        )),
        // the handshake's memory is given back when it is over
        started = Box::pin(tokio::time::timeout(limit, startup::start(shared, &mut client, address, visitor.uid))) => {
            started.unwrap_or_else(|_| {
                let error = PgError::new(SqlState::QUERY_CANCELED, "canceling authentication due to timeout");
                Err(End::Fatal(error.fatal()))
            })
        }
    };
    drop(visitor);
    let end = match started {
        Ok(None) => End::Gone,
        Ok(Some(started)) => {
            let Started { mut session, registered, standby } = *started;
            if let Some(standby) = standby {
                let end = walsender::run(shared, session, standby, &mut client).await;
                drop(registered);
                return farewell(&mut client, end).await;
            }
            if let Some(watch) = client.stream.watch() {
                session.watch_client(watch);
            }
            let conversation =
                Conversation { session, client, text: None, skip_to_sync: false, encoding: Encoding::Utf8 };
            let ended = own_thread::run(shared, Box::new(conversation)).await;
            drop(registered);
            let Some((conversation, end)) = ended else { return };
            client = conversation.client;
            end
        }
        Err(end) => end,
    };
    farewell(&mut client, end).await;
}

/// Tells the client why it is sent away, and closes the connection.
async fn farewell(client: &mut Client, end: End) {
    if let End::Fatal(error) = end {
        tracing::debug!(%error, "a session is ended");
        client.out.buffer.clear();
        errors::write(&mut client.out, &error, b'E', None);
        // the client may be gone already: then nobody is to be told
        let _ = tokio::time::timeout(LAST_WORDS, client.flush()).await;
    }
    let _ = tokio::time::timeout(LAST_WORDS, client.stream.shutdown()).await;
}
