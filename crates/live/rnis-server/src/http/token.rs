//! The token endpoint: OAuth 2.0 client credentials (RFC 6749 sections 2.3.1, 4.4 and 5).
//!
//! Failures are limited by the address that they come from and the name that they bear (section 2.3.1 requires
//! protection against guessing). Guesses at one client's secret so keep no token from other clients of the address;
//! while the name's bucket is empty, the answer is the same for a right secret and for a wrong one. Names of no
//! client are limited alike, so the answers do not show which names are clients'; an address has [`NAMES`] buckets
//! for all names, so inventing names does not push out what is kept of other addresses.

use super::Api;
use super::gate::source;
use super::problem::Problem;
use crate::auth::{Client, sha256};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Longest body, in bytes.
const MAX_BODY_BYTES: usize = 8 << 10;
/// Longest time for it to arrive after the head.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Buckets of an address for the names that it tries.
const NAMES: u8 = 64;

/// A refusal.
enum Refused {
    /// Its status and code.
    For(StatusCode, &'static str),
    /// Too many failures: seconds until the next attempt is worth it.
    TooMany(u64),
}

const MALFORMED: Refused = Refused::For(StatusCode::BAD_REQUEST, "invalid_request");
const UNKNOWN: Refused = Refused::For(StatusCode::UNAUTHORIZED, "invalid_client");
const UNKNOWN_SCOPE: Refused = Refused::For(StatusCode::BAD_REQUEST, "invalid_scope");

pub(super) async fn token(State(api): State<Arc<Api>>, request: Request) -> Response {
    match answer(&api, request).await {
        Ok(body) => respond(StatusCode::OK, &body),
        Err(Refused::For(status, code)) => respond(status, &json!({ "error": code })),
        Err(Refused::TooMany(seconds)) => Problem::too_many(seconds).into_response(),
    }
}

async fn answer(api: &Api, request: Request) -> Result<Value, Refused> {
    let source = source(&request);
    let (head, body) = request.into_parts();
    let kind = head
        .headers
        .get(CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return Err(MALFORMED);
    }
    let body = timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY_BYTES)).await;
    let body = body.map_err(|_| Refused::For(StatusCode::REQUEST_TIMEOUT, "invalid_request"))?;
    let body = body.map_err(|_| MALFORMED)?;
    let Form {
        grant,
        id,
        secret,
        scope,
    } = form(&body).ok_or(MALFORMED)?;
    let basic = basic(&head.headers);
    if basic.is_some() && secret.is_some() {
        return Err(MALFORMED);
    }
    let (id, secret) = basic.or(id.zip(secret)).ok_or(UNKNOWN)?;
    let now = Instant::now();
    let client = authenticate(api, &source, (&id, &secret), now)?;
    match grant.as_deref() {
        Some("client_credentials") => {}
        Some(_) => {
            let code = "unsupported_grant_type";
            return Err(Refused::For(StatusCode::BAD_REQUEST, code));
        }
        None => return Err(MALFORMED),
    }
    let none = Refused::For(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable");
    let client = client.narrowed(scope.as_deref());
    let client = Arc::new(client.map_err(|()| UNKNOWN_SCOPE)?);
    let token = api.auth.issue(&client, now).ok_or(none)?;
    let scopes = [("query", client.query), ("subscribe", client.subscribe)];
    let scope: Vec<&str> = scopes.iter().filter(|s| s.1).map(|s| s.0).collect();
    Ok(json!({
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": api.auth.lifetime().as_secs(),
        "scope": scope.join(" "),
    }))
}

/// The client with this name and secret.
fn authenticate(
    api: &Api,
    source: &str,
    (id, secret): (&str, &str),
    now: Instant,
) -> Result<Arc<Client>, Refused> {
    let name = sha256(id.as_bytes())[0] % NAMES;
    let attempt = format!("{source} {name}");
    let taken = api.failures.take(&attempt, now);
    taken.map_err(Refused::TooMany)?;
    let client = api.auth.client(id, secret.as_bytes()).ok_or(UNKNOWN)?;
    api.failures.give_back(&attempt);
    api.limiter.take(id, now).map_err(Refused::TooMany)?;
    Ok(client)
}

/// What a token request's body holds.
#[derive(Debug, Default)]
pub(super) struct Form {
    grant: Option<String>,
    id: Option<String>,
    secret: Option<String>,
    pub(super) scope: Option<String>,
}

/// Reads the body of a token request; none if it has a parameter twice (RFC 6749 section 3.2).
pub(super) fn form(body: &[u8]) -> Option<Form> {
    let mut form = Form::default();
    for (name, value) in form_urlencoded::parse(body) {
        let place = match &*name {
            "grant_type" => &mut form.grant,
            "client_id" => &mut form.id,
            "client_secret" => &mut form.secret,
            "scope" => &mut form.scope,
            _ => continue,
        };
        if place.replace(value.into_owned()).is_some() {
            return None;
        }
    }
    Some(form)
}

/// Name and secret of `Authorization: Basic`, each of them form-encoded.
pub(super) fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim()).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    let decode = |text: &str| {
        let pair = format!("x={text}");
        form_urlencoded::parse(pair.as_bytes())
            .next()
            .map(|(_, value)| value.into_owned())
    };
    Some((decode(id)?, decode(secret)?))
}

fn respond(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(
            WWW_AUTHENTICATE,
            HeaderValue::from_static("Basic realm=\"rni\""),
        );
    }
    response
}

#[cfg(test)]
mod tests {
    use super::super::gate::Peer;
    use super::*;

    /// The source of a request from this address, which may be a reverse proxy that names another.
    fn from(peer: &str, forwarded: Option<&'static str>) -> String {
        let mut request = Request::new(Body::empty());
        let peer = peer.parse().expect("an address");
        request.extensions_mut().insert(Peer(peer));
        if let Some(client) = forwarded {
            let value = HeaderValue::from_static(client);
            request.headers_mut().insert("x-forwarded-for", value);
        }
        source(&request)
    }

    /// An interface where each address and client may fail once, and the same moment for all attempts.
    fn attempts() -> impl Fn(&str, &str, &str) -> u16 {
        let api = crate::http::tests::api("rate = 0.1\nburst = 1");
        let now = Instant::now();
        move |source, id, secret| match authenticate(&api, source, (id, secret), now) {
            Ok(_) => 200,
            Err(Refused::For(status, _)) => status.as_u16(),
            Err(Refused::TooMany(seconds)) => {
                assert_eq!(seconds, 10);
                429
            }
        }
    }

    #[tokio::test]
    async fn failures_are_limited_by_address_and_client() {
        let attempt = attempts();
        let stranger = from("192.0.2.1", None);
        for name in ["x", "a"] {
            assert_eq!(attempt(&stranger, name, "guess"), 401, "{name}");
            assert_eq!(attempt(&stranger, name, "secret"), 429, "{name}");
        }
        for i in 0..1_000 {
            attempt(&stranger, &i.to_string(), "guess");
        }
        assert_eq!(attempt(&stranger, "one more", "guess"), 429, "all buckets");
        let other = from("192.0.2.2", None);
        assert_eq!(attempt(&other, "a", "secret"), 200, "from elsewhere");
    }

    #[tokio::test]
    async fn what_succeeds_counts_as_no_failure_but_as_a_request_of_the_client() {
        let attempt = attempts();
        let source = from("192.0.2.1", None);
        assert_eq!(attempt(&source, "a", "secret"), 200);
        assert_eq!(attempt(&source, "a", "secret"), 429, "its one request");
        assert_eq!(attempt(&source, "a", "guess"), 401, "no failure so far");
    }

    #[tokio::test]
    async fn strangers_of_one_ipv6_network_share_their_rate() {
        let attempt = attempts();
        let status = |peer| attempt(&from(peer, None), "a", "guess");
        assert_eq!(status("2001:db8:0:1::1"), 401);
        assert_eq!(status("2001:db8:0:1:ffff::2"), 429, "the same network");
        assert_eq!(status("2001:db8:0:2::1"), 401, "another one");
        assert_eq!(status("192.0.2.1"), 401);
        assert_eq!(status("::ffff:192.0.2.1"), 429, "the same address");
        assert_eq!(status("192.0.2.2"), 401);
    }

    #[tokio::test]
    async fn strangers_behind_a_reverse_proxy_lock_out_no_other() {
        let attempt = attempts();
        let status = |client| attempt(&from("127.0.0.1", Some(client)), "a", "guess");
        assert_eq!(status("192.0.2.1"), 401);
        assert_eq!(status("192.0.2.1"), 429);
        assert_eq!(status("198.51.100.1, 192.0.2.1"), 429, "an invented client");
        assert_eq!(status("192.0.2.2"), 401);
    }
}
