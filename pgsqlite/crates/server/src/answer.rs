//! What is asked over HTTP, and what is answered.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HeaderName, HeaderValue, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use std::net::SocketAddr;

/// The kind of lines of text.
pub const PLAIN: &str = "text/plain; charset=utf-8";

/// Who asks.
pub struct Visitor {
    pub address: SocketAddr,
    pub encrypted: bool,
    /// of the client, in DER; None: it has none
    pub certificate: Option<Vec<u8>>,
}

/// An answer to a GET.
pub struct Answer {
    pub status: StatusCode,
    pub kind: &'static str,
    pub body: Bytes,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Answer {
    /// A body of a kind (`Content-Type`).
    pub fn new(kind: &'static str, body: impl Into<Bytes>) -> Answer {
        Answer { status: StatusCode::OK, kind, body: body.into(), headers: vec![] }
    }

    /// A line of text that says why the answer is another one.
    pub fn told(status: StatusCode, text: impl std::fmt::Display) -> Answer {
        Answer { status, ..Answer::new(PLAIN, format!("{text}\n")) }
    }

    /// The client is asked for a user and a password.
    pub fn ask_for_password(text: impl std::fmt::Display) -> Answer {
        let mut answer = Answer::told(StatusCode::UNAUTHORIZED, text);
        let basic = HeaderValue::from_static("Basic realm=\"pgsqlite\", charset=\"UTF-8\"");
        answer.headers.push((WWW_AUTHENTICATE, basic));
        answer
    }

    /// What goes to the client; nobody keeps it.
    pub fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.extend(self.headers);
        response
    }
}
