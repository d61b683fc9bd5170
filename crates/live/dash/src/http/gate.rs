//! What every request passes: the name by which it came, the origin of its page, and whether it may see this.

use super::problem;
use crate::access::Refusal;
use crate::dash::Dash;
use axum::extract::{Request, State};
use axum::http::header::{
    CONTENT_SECURITY_POLICY, REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use daemon::Standing;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

/// The page loads what it needs from here, and nothing else; no other page frames it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The address of the client.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// Lets a request through, or answers it.
pub(super) async fn gate(State(dash): State<Dash>, mut request: Request, next: Next) -> Response {
    let unknown = Peer(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let peer = request.extensions().get().copied().unwrap_or(unknown);
    let peer = Peer(client(peer.0, request.headers()));
    request.extensions_mut().insert(peer);
    let standing = request.extensions().get::<Standing>().cloned();
    let mut response = match admit(&dash, peer, &request) {
        Ok(has_login) => {
            if has_login && let Some(standing) = standing {
                standing.prove();
            }
            next.run(request).await
        }
        Err(refusal) => refused(refusal),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Behind a reverse proxy on this machine, what that names.
fn client(peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    daemon::client_address(peer, |name| {
        headers.get_all(name).iter().next_back()?.to_str().ok()
    })
}

/// Whether a request that may be answered has shown a login, or needs none and is for what others need one for.
fn admit(dash: &Dash, peer: Peer, request: &Request) -> Result<bool, Refusal> {
    dash.shared.access.check_site(request.headers())?;
    let path = request.uri().path();
    let is_open = matches!(path, "/dash/api/info" | "/dash/api/login");
    let is_data = path == "/dash/live" || path.starts_with("/dash/api/");
    match is_data && !is_open {
        true => may_see(dash, peer, request.headers()).map(|()| true),
        false => Ok(false),
    }
}

/// That the client has logged in, or need not.
pub(super) fn may_see(dash: &Dash, peer: Peer, headers: &HeaderMap) -> Result<(), Refusal> {
    dash.shared
        .access
        .check_login(peer.0, headers, Instant::now())
}

/// The answer to a request that is refused.
pub(super) fn refused(refusal: Refusal) -> Response {
    let (status, text) = match refusal {
        Refusal::Host => (
            StatusCode::FORBIDDEN,
            "this name is none of the dashboard's: use its address, or start it with --host NAME",
        ),
        Refusal::CrossSite => (
            StatusCode::FORBIDDEN,
            "another site's page may not use the dashboard",
        ),
        Refusal::Login => (StatusCode::UNAUTHORIZED, "log in with the token first"),
        Refusal::Token => (StatusCode::UNAUTHORIZED, "the token is wrong"),
        Refusal::TooMany(_) => (
            StatusCode::TOO_MANY_REQUESTS,
            "too many wrong tokens: wait a moment",
        ),
    };
    let mut response = problem(status, text);
    if let Refusal::TooMany(seconds) = refusal {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::router;
    use crate::{About, Access, Feed, Source, Token, World};
    use axum::Extension;
    use axum::body::Body;
    use axum::http::header::{AUTHORIZATION, HOST};
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    const TOKEN: &str = "0123456789abcdef";

    /// The status of an answer, and whether the connection of the request has been proven by it.
    async fn standing_after(method: &str, path: &str, token: &str, body: String) -> (u16, bool) {
        let about = About {
            title: "a test".into(),
            world: World::Live,
            source: Source::Pep,
        };
        let access = Access::new(Token::new(TOKEN, "a test").ok(), Vec::new());
        let (standing, far) = (Standing::new(), [192, 0, 2, 1].into());
        let router = router(&Dash::live(Feed::new(about), access))
            .layer(Extension(Peer(far)))
            .layer(Extension(standing.clone()));
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "192.0.2.9")
            .header(AUTHORIZATION, format!("Bearer {token}"))
            .body(Body::from(body))
            .expect("a request");
        let response = TowerToHyperService::new(router).call(request).await;
        let status = response.expect("an answer").status().as_u16();
        (status, standing.is_proven())
    }

    #[tokio::test]
    async fn a_connection_that_has_shown_the_token_is_one_that_gives_way_last() {
        let get = async |path, token| standing_after("GET", path, token, String::new()).await;
        assert_eq!(get("/dash/api/results", "guess").await, (401, false));
        assert_eq!(get("/dash/api/info", TOKEN).await, (200, false));
        assert_eq!(get("/dash/api/results", TOKEN).await, (404, true));
        let login = async |token: &str| {
            let body = format!("{{\"token\":\"{token}\"}}");
            standing_after("POST", "/dash/api/login", "", body).await
        };
        assert_eq!(login("guess").await, (401, false));
        assert_eq!(login(TOKEN).await, (204, true));
    }
}
