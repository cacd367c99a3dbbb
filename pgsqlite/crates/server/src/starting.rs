//! What clients are told before the databases are open: 57P03, "the database system is starting up".

use pgsqlite_types::SqlState;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};

/// Requests for TLS and GSSAPI, as the first message of a client has them.
const REQUESTS: [u32; 2] = [80_877_103, 80_877_104];
/// A start-up packet is not longer.
const LONGEST: u32 = 10_000;

/// Reads a client's first messages, and refuses it.
async fn refuse(mut client: impl AsyncRead + AsyncWrite + Unpin) -> std::io::Result<()> {
    loop {
        let length = client.read_u32().await?;
        if !(8..=LONGEST).contains(&length) {
            return Ok(());
        }
        let mut message = vec![0; length as usize - 4];
        client.read_exact(&mut message).await?;
        let code = message.first_chunk::<4>().map_or(0, |code| u32::from_be_bytes(*code));
        if !REQUESTS.contains(&code) {
            break;
        }
        client.write_all(b"N").await?;
    }
    let fields = [
        ('S', "FATAL"),
        ('V', "FATAL"),
        ('C', SqlState::CANNOT_CONNECT_NOW.as_str()),
        ('M', "the database system is starting up"),
    ];
    let mut body: Vec<u8> = fields.iter().flat_map(|(letter, text)| format!("{letter}{text}\0").into_bytes()).collect();
    body.push(0);
    client.write_u8(b'E').await?;
    client.write_u32(body.len() as u32 + 4).await?;
    client.write_all(&body).await?;
    client.shutdown().await
}

fn refuse_apart(client: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    tokio::spawn(async move {
        // (a client that goes away, or says nothing, is told nothing)
        let refused = tokio::time::timeout(std::time::Duration::from_secs(10), refuse(client)).await;
        if let Ok(Err(e)) = refused {
            tracing::debug!("a client that came before the databases were open: {e}");
        }
    });
}

/// Refuses all clients, as long as it is waited for.
pub async fn refuse_all(tcp: &[TcpListener], unix: Option<&UnixListener>) -> std::convert::Infallible {
    std::future::poll_fn(|cx| {
        for listener in tcp {
            take(cx, |cx| listener.poll_accept(cx).map_ok(|(client, _)| client));
        }
        if let Some(listener) = unix {
            take(cx, |cx| listener.poll_accept(cx).map_ok(|(client, _)| client));
        }
        Poll::Pending
    })
    .await
}

/// Refuses those that have come.
fn take<C: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    cx: &mut Context,
    mut next: impl FnMut(&mut Context) -> Poll<std::io::Result<C>>,
) {
    loop {
        match next(cx) {
            Poll::Pending => return,
            Poll::Ready(Ok(client)) => refuse_apart(client),
            Poll::Ready(Err(e)) => {
                let waker = cx.waker().clone();
                tokio::spawn(async move {
                    crate::shared::pause_after(e).await;
                    waker.wake();
                });
                return;
            }
        }
    }
}
