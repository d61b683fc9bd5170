//! The interface: HTTP/1.1 and a WebSocket, all below `/dash/`.
//!
//! ```text
//!   TCP -> listener | mount -> gate (host, site, login, headers) -> page | info, login | results | live
//! ```

mod assets;
mod gate;
mod library;
mod listener;
mod live;
mod login;
mod mount;

pub use gate::Peer;
pub use listener::Server;
pub use mount::Mount;

pub(crate) use listener::system;

use crate::dash::{Content, Dash};
use crate::{FORMAT, VERSION};
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use gate::may_see;
use serde_json::{Value, json};

/// Maximum bytes of a request's body.
const MAX_BODY: usize = 4 << 10;

/// All paths below `/dash/`. Requests need an extension [`Peer`]; one without it counts as from
/// afar.
pub fn router(dash: &Dash) -> Router {
    Router::new()
        .route("/dash", get(async || redirect("/dash/")))
        .route("/dash/", get(async || assets::page("index.html")))
        .route(
            "/dash/{*path}",
            get(async |Path(path): Path<String>| assets::page(&path)),
        )
        .route("/dash/api/info", get(info))
        .route("/dash/api/login", post(login::login))
        .route("/dash/api/results", get(library::list))
        .route("/dash/api/results/{id}/sweep", get(library::sweep))
        .route("/dash/api/results/{id}/points/{point}", get(library::point))
        .route(
            "/dash/api/results/{id}/points/{point}/series",
            get(library::series),
        )
        .route("/dash/api/{*path}", get(async || not_found()))
        .route("/dash/live", get(live::connect))
        .method_not_allowed_fallback(async || {
            problem(StatusCode::METHOD_NOT_ALLOWED, "not with this method")
        })
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(dash.clone(), gate::gate))
        .with_state(dash.clone())
}

/// What there is to see. Without a login it holds no names.
async fn info(
    State(dash): State<Dash>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    let may_see = may_see(&dash, peer, &headers).is_ok();
    let (mode, about) = match &dash.shared.content {
        Content::Live(feed) => ("live", Some(feed.about())),
        Content::Results(_) => ("results", None),
    };
    let title = match (&dash.shared.content, &about) {
        _ if !may_see => "Brimful".to_owned(),
        (Content::Results(library), _) => library.title(),
        (_, Some(about)) => about.title.clone(),
        (_, None) => String::new(),
    };
    let body = json!({
        "version": VERSION,
        "format": FORMAT,
        "mode": mode,
        "title": title,
        "world": about.as_ref().map(|about| about.world.name()),
        "source": about.as_ref().map(|about| about.source.name()),
        "needs_token": !may_see,
    });
    json_response(StatusCode::OK, &body)
}

/// An answer in JSON, for this moment only.
fn json_response(status: StatusCode, body: &Value) -> Response {
    json_text(status, body.to_string())
}

fn json_text(status: StatusCode, body: String) -> Response {
    let mut response = (status, Body::from(body)).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The reason why a request is not answered.
fn problem(status: StatusCode, message: &str) -> Response {
    json_response(status, &json!({ "error": message }))
}

fn not_found() -> Response {
    problem(StatusCode::NOT_FOUND, "there is nothing of this name")
}

fn redirect(to: &'static str) -> Response {
    (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to)]).into_response()
}
