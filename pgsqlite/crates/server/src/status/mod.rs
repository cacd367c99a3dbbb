//! `--status-addr`: a page that shows what the server does. It reads only, brings everything that it needs along, and lets in whom SQL lets in.
//!
//! * [`let_in`]: who asks, and in which database
//! * [`look`]: what there is to see, from the views that SQL has, with the rights of who asks, and from the server itself
//! * `page/`: what the browser gets

mod let_in;
mod look;

use crate::answer::{Answer, Visitor};
use crate::shared::Shared;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use std::sync::Arc;

/// Scripts, styles and data come from here alone; nobody may frame the page, and it sends no form.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const HEADERS: [(&str, &str); 5] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// The page's site.
pub struct Status {
    /// the name that the server was told to listen at: one by which browsers may know it
    host: String,
}

impl Status {
    /// `address`: `host:port`
    pub fn new(address: &str) -> Status {
        Status { host: host_of(address).to_string() }
    }

    pub async fn answer<B>(&self, shared: &Arc<Shared>, visitor: &Visitor, request: &Request<B>) -> Answer {
        let asked = let_in::Asked::of(request);
        let mut answer = match self.admit(shared, visitor, &asked).await {
            Err(refused) => refused,
            Ok(entry) => match asked.path {
                "/" => Answer::new("text/html; charset=utf-8", include_str!("page/index.html")),
                "/page.css" => Answer::new("text/css; charset=utf-8", include_str!("page/page.css")),
                "/page.js" => Answer::new("text/javascript; charset=utf-8", include_str!("page/page.js")),
                "/icon.svg" => Answer::new("image/svg+xml", include_str!("page/icon.svg")),
                "/live.json" => look::at(shared, entry, look::What::Live).await,
                "/relations.json" => look::at(shared, entry, look::What::Relations).await,
                "/plan.json" => match asked.parameter("queryid").and_then(|id| id.parse().ok()) {
                    Some(id) => look::at(shared, entry, look::What::Plan(id)).await,
                    None => Answer::told(StatusCode::BAD_REQUEST, "queryid is a number"),
                },
                _ => Answer::told(StatusCode::NOT_FOUND, "there is nothing here"),
            },
        };
        answer
            .headers
            .extend(HEADERS.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))));
        answer
    }
}

/// `host:port` without its port; an address of IPv6 without its brackets.
fn host_of(address: &str) -> &str {
    match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, _)) => host,
        None => address.rsplit_once(':').map_or(address, |(host, _)| host),
    }
}
