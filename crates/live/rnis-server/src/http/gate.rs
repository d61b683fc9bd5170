//! What every request passes: token, rate, length, the answer's form, and its body.
//!
//! A place is busy, and so cannot give way, only from the end of a client's body until the answer, and at most a
//! quarter of all places at a time for one client: neither bodies that do not come nor callbacks that hang keep
//! other clients out.
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
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Where tokens are given out: the only path without one.
pub(super) const TOKEN_PATH: &str = "/oauth2/token";
/// Longest time for a body to arrive after the head.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for an answer to be made (a test notification takes up to 5 s).
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
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
    let passed = pass(&api, request, next).await;
    let response = passed.unwrap_or_else(Problem::into_response);
    let status = response.status();
    let labels = [("status", status.as_str())];
    api.hub
        .metrics()
        .add("brimful_rnis_http_requests_total", &labels, 1);
    response
}

async fn pass(api: &Api, request: Request, next: Next) -> Result<Response, Problem> {
    let request = admit(api, request)?;
    let extensions = request.extensions();
    let place = extensions.get::<Arc<Place>>().cloned();
    let Some(client) = extensions.get::<Arc<Client>>().cloned() else {
        // a stranger's request holds its place no longer than its silence would
        return answer(request, next).await;
    };
    if let Some(place) = &place {
        place.touch(Instant::now());
    }
    let request = with_body(request, api.config.max_body).await?;
    let _share = api.shares.take(&client.id).ok_or_else(|| {
        let text = format!(
            "this client has {} requests that are not answered yet; no more are answered concurrently",
            api.shares.max()
        );
        Problem::too_many(1).with_detail(text)
    })?;
    let _busy = place.as_deref().map(Place::serve);
    answer(request, next).await
}

/// The request once its body is there.
async fn with_body(request: Request, max: usize) -> Result<Request, Problem> {
    let (head, body) = request.into_parts();
    let body = timeout(BODY_TIMEOUT, Limited::new(body, max).collect()).await;
    let body = body.map_err(|_| {
        let text = format!("the request's body did not arrive within {BODY_TIMEOUT:?}");
        Problem::new(StatusCode::REQUEST_TIMEOUT, text)
    })?;
    let body = body.map_err(|error| match error.is::<LengthLimitError>() {
        true => {
            let text = format!("a body of more than {max} bytes");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, text)
        }
        false => Problem::new(StatusCode::BAD_REQUEST, "the body cannot be read"),
    })?;
    Ok(Request::from_parts(head, body.to_bytes().into()))
}

async fn answer(request: Request, next: Next) -> Result<Response, Problem> {
    let answer = timeout(ANSWER_TIMEOUT, next.run(request)).await;
    answer.map_err(|_| {
        let text = "the request took too long to be answered";
        Problem::new(StatusCode::REQUEST_TIMEOUT, text)
    })
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
    use crate::places::Places;
    use axum::body::{Body, Bytes};
    use axum::http::HeaderValue;
    use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
    use futures_util::FutureExt;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;
    use std::pin::pin;

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
            let mut request = Request::new(Body::empty());
            let peer = "192.0.2.1".parse().expect("an address");
            request.extensions_mut().insert(Peer(peer));
            let refused = admit(&api, request).expect_err("no token");
            assert_eq!(refused.into_response().status(), StatusCode::UNAUTHORIZED);
        }
    }

    /// A request to subscribe by the client `a`, over a place of these.
    fn subscribing(api: &Api, places: &Arc<Places>, body: Body) -> Request {
        let client = api.auth.client("a", b"secret").expect("a client");
        let token = api.auth.issue(&client, Instant::now()).expect("a token");
        let place = places.try_enter(Instant::now(), None).expect("a place");
        Request::post("/rni/v2/subscriptions")
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .header(CONTENT_TYPE, "application/json")
            .extension(Arc::new(place))
            .body(body)
            .expect("a request")
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_holds_no_place() {
        let api = Arc::new(crate::http::tests::api(""));
        let service = TowerToHyperService::new(crate::http::router(&api));
        let places = Places::new(2);
        let never = futures_util::stream::pending::<std::io::Result<Bytes>>();
        let never = subscribing(&api, &places, Body::from_stream(never));
        let mut waits = pin!(service.call(never));
        assert!(waits.as_mut().now_or_never().is_none(), "it has no body");
        let other = places
            .try_enter(Instant::now(), None)
            .expect("a free place");
        let _busy = other.busy();
        assert!(
            places.try_enter(Instant::now(), None).is_some(),
            "its place"
        );
    }

    #[tokio::test]
    async fn a_client_has_a_quarter_of_the_places_busy_and_no_more() {
        let keys = "max-connections = 8\ncallback-networks = [\"127.0.0.0/8\"]";
        let api = Arc::new(crate::http::tests::api(keys));
        let service = TowerToHyperService::new(crate::http::router(&api));
        let places = Places::new(8);
        // it listens, and accepts no connection
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let callback = silent.local_addr().expect("its address");
        let request = || {
            let body = format!(
                r#"{{"subscriptionType":"MeasTaSubscription","filterCriteriaAssoc":{{}},
                "requestTestNotification":true,"callbackReference":"http://{callback}/"}}"#
            );
            Box::pin(service.call(subscribing(&api, &places, body.into())))
        };
        let mut tested = [request(), request()];
        for answer in &mut tested {
            assert!(answer.now_or_never().is_none(), "it waits for its callback");
        }
        let refused = request().now_or_never().expect("an answer at once");
        let refused = refused.expect("an answer");
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(refused.headers()[RETRY_AFTER], "1");
        drop(tested);
        let tested = request().now_or_never();
        assert!(tested.is_none(), "what has ended does not count");
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
