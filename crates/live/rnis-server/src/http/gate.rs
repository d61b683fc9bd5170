//! What every request passes: token, rate, length, and the answer's form.
//!
//! A request without a good token is answered by 401 at any rate: to count it by its address would cost as much, and
//! would keep from other clients of that address the answer by which they learn that their token has ended. Tokens
//! have 256 random bits; no rate makes guessing them feasible.

use super::Api;
use super::problem::Problem;
use crate::auth::Client;
use crate::limit::source_key;
use crate::places::Place;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use daemon::client_address;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Where tokens are given out: the only path without one.
pub(super) const TOKEN_PATH: &str = "/oauth2/token";
/// Longest time for a body to arrive and an answer to be made (a test notification takes up to 5 s).
const TIMEOUT: Duration = Duration::from_secs(15);
/// Longest path and query, in bytes.
const MAX_URI_BYTES: usize = 4096;

/// The address of the other side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

/// The source of a request, as its rate is counted.
pub(super) fn source(request: &Request) -> String {
    let peer = request.extensions().get::<Peer>();
    peer.map_or_else(String::new, |p| source_key(client(p.0, request.headers())))
}

/// Lets a request through, with its client, or answers it.
pub(super) async fn gate(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let place = request.extensions().get::<Arc<Place>>().cloned();
    let admitted = admit(&api, request);
    let is_client = admitted
        .as_ref()
        .is_ok_and(|r| r.extensions().get::<Arc<Client>>().is_some());
    // a stranger's request holds its place no longer than its silence would
    let busy = place.as_deref().filter(|_| is_client).map(Place::serve);
    let response = match admitted {
        Ok(request) => match timeout(TIMEOUT, next.run(request)).await {
            Ok(response) => response,
            Err(_) => {
                let text = "the request took too long to arrive or to be answered";
                Problem::new(StatusCode::REQUEST_TIMEOUT, text).into_response()
            }
        },
        Err(problem) => problem.into_response(),
    };
    drop(busy);
    let status = response.status();
    let labels = [("status", status.as_str())];
    api.hub
        .metrics()
        .add("brimful_rnis_http_requests_total", &labels, 1);
    response
}

fn admit(api: &Api, mut request: Request) -> Result<Request, Problem> {
    let now = Instant::now();
    let long = request
        .uri()
        .path_and_query()
        .is_some_and(|p| p.as_str().len() > MAX_URI_BYTES);
    if request.uri().path() == TOKEN_PATH {
        return Ok(request);
    }
    let client = bearer(request.headers()).and_then(|t| api.auth.verify(t, now));
    let client = client.ok_or_else(Problem::unauthorized)?;
    api.limiter
        .take(&client.id, now)
        .map_err(Problem::too_many)?;
    if long {
        let text = format!("a URI of more than {MAX_URI_BYTES} bytes");
        return Err(Problem::new(StatusCode::URI_TOO_LONG, text));
    }
    if !accepts_json(request.headers()) && !is_for_document(&request) {
        let text = "answers are application/json";
        return Err(Problem::new(StatusCode::NOT_ACCEPTABLE, text));
    }
    request.extensions_mut().insert::<Arc<Client>>(client);
    Ok(request)
}

/// Behind a reverse proxy on this machine, what that names.
fn client(peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    client_address(peer, |name| {
        headers.get_all(name).iter().next_back()?.to_str().ok()
    })
}

fn is_for_document(request: &Request) -> bool {
    request.uri().path() == super::document::PATH
}

/// The token of `Authorization: Bearer TOKEN`.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whether the answers' form is one that the client takes (RFC 9110 section 12.5.1).
pub(super) fn accepts_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|v| v.split(','))
        .any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let refused =
                parts.any(|p| matches!(p.strip_prefix("q="), Some("0" | "0.0" | "0.00" | "0.000")));
            let ours = ["*/*", "application/*", "application/json"];
            !refused && (kind.is_empty() || ours.iter().any(|k| kind.eq_ignore_ascii_case(k)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn accept_is_read_as_in_the_standard() {
        let accepts = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(value));
            accepts_json(&headers)
        };
        assert!(accepts_json(&HeaderMap::new()));
        for good in [
            "*/*",
            "text/html, application/json;q=0.1",
            "Application/*",
            "text/html,*/*;q=0.8",
        ] {
            assert!(accepts(good), "{good}");
        }
        for bad in [
            "text/html",
            "application/json;q=0",
            "application/xml, text/*",
        ] {
            assert!(!accepts(bad), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_wrong_token_is_answered_alike_at_any_rate() {
        let api = crate::http::tests::api("rate = 0.1\nburst = 1");
        for _ in 0..100 {
            let mut request = Request::new(axum::body::Body::empty());
            let peer = "192.0.2.1".parse().expect("an address");
            request.extensions_mut().insert(Peer(peer));
            let refused = admit(&api, request).expect_err("no token");
            assert_eq!(refused.into_response().status(), StatusCode::UNAUTHORIZED);
        }
    }

    #[test]
    fn a_bearer_token_is_taken_from_its_header_only() {
        let token = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(token("Bearer abc"), Some("abc".into()));
        assert_eq!(token("bearer abc"), Some("abc".into()));
        assert_eq!(token("Basic abc"), None);
        assert_eq!(token("Bearer"), None);
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
