//! The REST interface: ETSI GS MEC 012 at `/rni/v2`, tokens at `/oauth2/token`.
//!
//! ```text
//!   TCP -> TLS -> hyper -> gate (token, rate, length, form, body) -> queries | subscriptions | document
//! ```

mod credentials;
mod delivery;
mod document;
mod gate;
mod listener;
mod problem;
mod queries;
mod shares;
mod store;
mod subscriptions;
mod token;
mod websocket;

use crate::auth::Auth;
use crate::client::Client;
use crate::config::HttpConfig;
use crate::hub::Hub;
use crate::limit::Limiter;
use crate::reach::Reach;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Router, extract::DefaultBodyLimit};
use daemon::LogLimit;
use problem::Problem;
use rnis::mec012::QueryKind;
use shares::Shares;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use store::Store;

pub use credentials::{Credentials, credentials};
pub(crate) use listener::{Listener, metrics_router};
pub(crate) use store::dispatch;

/// Longest answer to a callback that is read.
const CALLBACK_ANSWER: usize = 16 << 10;

/// What the handlers share.
pub(crate) struct Api {
    pub(crate) hub: Arc<Hub>,
    auth: Auth,
    /// Of clients with a token.
    limiter: Limiter,
    /// Requests for a token that failed, of an address and the client whose name they bore.
    failures: Limiter,
    /// Of requests that are being answered.
    shares: Shares,
    config: HttpConfig,
    callbacks: Client,
    reach: Reach,
    callback_log: Mutex<LogLimit>,
    pub(crate) store: Store,
    requests: AtomicU64,
}

impl Api {
    pub(crate) fn new(config: HttpConfig, hub: Arc<Hub>) -> io::Result<Self> {
        let reach = Reach::new(&config.callback_networks);
        let permitted = reach.clone();
        let permit = move |ip: IpAddr| permitted.permits(ip);
        let ca_file = config.ca_file.as_deref();
        Ok(Self {
            callbacks: Client::new(ca_file, Arc::new(permit), CALLBACK_ANSWER)?,
            auth: Auth::new(&config.clients, config.token_lifetime),
            limiter: Limiter::new(config.rate, config.burst),
            failures: Limiter::new(config.rate, config.burst),
            shares: Shares::of(config.max_connections),
            store: Store::default(),
            requests: AtomicU64::new(1),
            callback_log: Mutex::new(LogLimit::new()),
            reach,
            hub,
            config,
        })
    }
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
fn json_response(status: StatusCode, json: String) -> Response {
    let mut response = Response::new(Body::from(json));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Api;
    use crate::Config;
    use crate::hub::Hub;
    use rnis::mec012::RadioView;
    use std::sync::Arc;

    /// An interface with one client, `a`, and more keys in `[http]`; nothing listens.
    pub(crate) fn api(keys: &str) -> Api {
        let text = format!(
            "[[source]]\nname = \"x\"\nkind = \"reports\"\nurl = \"unix:/nowhere\"\n\
             [http]\nlisten = \"127.0.0.1:0\"\n{keys}\n\
             [[client]]\nid = \"a\"\nsecret-sha256 = \"\
             2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\"\n"
        );
        let config = Config::parse("test", &text).expect("good");
        let view = RadioView::new(config.max_age, config.release_after);
        let hub = Hub::new(config.ues, config.network, view, Arc::default());
        Api::new(config.http.expect("there"), Arc::new(hub)).expect("an interface")
    }
}
