//! The REST interface: ETSI GS MEC 012 at `/rni/v2`, tokens at `/oauth2/token`.
//!
//! ```text
//!   TCP -> TLS -> hyper -> gate (length, token, rate, form) -> queries | subscriptions | document
//! ```

mod delivery;
mod document;
mod gate;
mod listener;
mod problem;
mod queries;
mod store;
mod subscriptions;
mod token;
mod websocket;

use crate::auth::Auth;
use crate::client::Client;
use crate::config::HttpConfig;
use crate::hub::Hub;
use crate::limit::Limiter;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Router, extract::DefaultBodyLimit};
use problem::Problem;
use rnis::mec012::QueryKind;
use serde_json::Value;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use store::Store;

pub(crate) use listener::{Listener, metrics_router};
pub(crate) use store::dispatch;

/// Longest answer to a callback that is read.
const CALLBACK_ANSWER: usize = 16 << 10;

/// What the handlers share.
pub(crate) struct Api {
    pub(crate) hub: Arc<Hub>,
    auth: Auth,
    limiter: Limiter,
    config: HttpConfig,
    callbacks: Client,
    pub(crate) store: Store,
    requests: AtomicU64,
}

impl Api {
    pub(crate) fn new(config: HttpConfig, hub: Arc<Hub>) -> io::Result<Self> {
        let networks = config.callback_networks.clone();
        let permit = move |ip: IpAddr| match networks.as_slice() {
            [] => is_public(ip),
            networks => networks.iter().any(|network| network.contains(ip)),
        };
        let ca_file = config.ca_file.as_deref();
        Ok(Self {
            callbacks: Client::new(ca_file, Arc::new(permit), CALLBACK_ANSWER)?,
            auth: Auth::new(&config.clients, config.token_lifetime),
            limiter: Limiter::new(config.rate, config.burst),
            store: Store::default(),
            requests: AtomicU64::new(1),
            hub,
            config,
        })
    }
}

/// An address that a callback may go to unless networks are configured: not this machine's own, and
/// not those that exist only on the local link (where clouds keep their secrets).
fn is_public(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    let local = match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_broadcast(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !(local || ip.is_loopback() || ip.is_unspecified() || ip.is_multicast())
}

/// All paths.
pub(crate) fn router(api: &Arc<Api>) -> Router {
    let rni = Router::new()
        .route(
            "/queries/rab_info",
            get(|s, c, q| queries::query(QueryKind::RabInfo, s, c, q)),
        )
        .route(
            "/queries/plmn_info",
            get(|s, c, q| queries::query(QueryKind::PlmnInfo, s, c, q)),
        )
        .route(
            "/queries/s1_bearer_info",
            get(|s, c, q| queries::query(QueryKind::S1BearerInfo, s, c, q)),
        )
        .route(
            "/queries/layer2_meas",
            get(|s, c, q| queries::query(QueryKind::Layer2Meas, s, c, q)),
        )
        .route(
            "/subscriptions",
            get(subscriptions::list).post(subscriptions::create),
        )
        .route(
            "/subscriptions/{id}",
            get(subscriptions::read)
                .put(subscriptions::replace)
                .delete(subscriptions::remove),
        )
        .route("/subscriptions/{id}/websocket", get(websocket::connect))
        .route("/openapi.yaml", get(document::document));
    Router::new()
        .nest("/rni/v2", rni)
        .route(gate::TOKEN_PATH, post(token::token))
        .fallback(async || Problem::not_found())
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "not with this method")
        })
        .layer(DefaultBodyLimit::max(api.config.max_body))
        .layer(from_fn_with_state(Arc::clone(api), gate::gate))
        .with_state(Arc::clone(api))
}

/// An answer in JSON.
fn json_response(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_do_not_go_to_this_machine_or_its_link() {
        for no in [
            "127.0.0.1",
            "::1",
            "169.254.169.254",
            "fe80::1",
            "0.0.0.0",
            "224.0.0.1",
            "::ffff:127.0.0.1",
        ] {
            assert!(!is_public(no.parse().expect("an address")), "{no}");
        }
        for yes in ["10.0.0.1", "192.168.1.1", "2001:db8::1", "93.184.216.34"] {
            assert!(is_public(yes.parse().expect("an address")), "{yes}");
        }
    }
}
