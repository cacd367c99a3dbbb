//! HTTP for what the server shows of itself: metrics, and the status page. The library `hyper` reads requests and writes answers.
//!
//! A connection serves one request. It is given up after [`PATIENCE`], and when more than [`MOST`] others are served.

use crate::answer::{Answer, Visitor};
use crate::entrance::Entrance;
use crate::shared::{pause_after, Shared};
use crate::status::Status;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// A client that does not ask or take its answer by then is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// Requests that are served at once: one more sends away the slowest.
const MOST: usize = 16;
/// The longest head of a request.
const LONGEST: usize = 8192;
/// A TLS handshake begins with this byte; no request does.
const HANDSHAKE: u8 = 0x16;

/// What there is at an address.
pub enum Site {
    Metrics,
    Status(Status),
}

impl Site {
    fn name(&self) -> &'static str {
        match self {
            Site::Metrics => "metrics",
            Site::Status(_) => "status",
        }
    }

    async fn answer(&self, shared: &Arc<Shared>, visitor: &Visitor, request: Request<Incoming>) -> Answer {
        // (the head of an answer to HEAD is that of GET; hyper leaves the body out)
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Answer::told(StatusCode::METHOD_NOT_ALLOWED, "only GET");
        }
        match self {
            Site::Metrics => crate::metrics::answer(shared, request.uri().path()),
            Site::Status(status) => status.answer(shared, visitor, &request).await,
        }
    }
}

/// Serves a site until the task is aborted.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>, site: Arc<Site>) {
    let entrance = Arc::<Entrance>::default();
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let (shared, site) = (shared.clone(), site.clone());
                let visitor = entrance.enter(Some(address), None, MOST);
                tokio::spawn(async move {
                    tokio::select! {
                        () = visitor.sent_away() => tracing::debug!("{}: a client made room for another", site.name()),
                        served = tokio::time::timeout(PATIENCE, connection(stream, address, &shared, &site)) => match served {
                            Ok(Ok(())) => {}
                            Ok(Err(e)) => tracing::debug!("{}: {e}", site.name()),
                            Err(_) => tracing::debug!("{}: a client was given up", site.name()),
                        }
                    }
                });
            }
            Err(e) => pause_after(e).await,
        }
    }
}

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The status page is served with TLS to who begins a handshake, if the server has a certificate; metrics are not.
async fn connection(stream: TcpStream, address: SocketAddr, shared: &Arc<Shared>, site: &Arc<Site>) -> Outcome {
    let plain = Visitor { address, encrypted: false, certificate: None };
    let (Some(tls), Site::Status(_)) = (&shared.tls, &**site) else {
        return converse(stream, plain, shared, site).await;
    };
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 || first != [HANDSHAKE] {
        return converse(stream, plain, shared, site).await;
    }
    let stream = tls.acceptor.accept(stream).await?;
    let certificates = stream.get_ref().1.peer_certificates();
    let certificate = certificates.and_then(|chain| chain.first()).map(|own| own.as_ref().to_vec());
    converse(stream, Visitor { address, encrypted: true, certificate }, shared, site).await
}

async fn converse<S>(stream: S, visitor: Visitor, shared: &Arc<Shared>, site: &Arc<Site>) -> Outcome
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // one type for all streams: hyper's code is in the program once
    let stream: Box<dyn Stream> = Box::new(stream);
    let visitor = &visitor;
    let service =
        service_fn(
            |request| async move { Ok::<_, Infallible>(site.answer(shared, visitor, request).await.response()) },
        );
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false).max_buf_size(LONGEST);
    Ok(http.serve_connection(TokioIo::new(stream), service).await?)
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}
