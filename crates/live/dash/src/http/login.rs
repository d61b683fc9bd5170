//! The token in, a cookie out.

use super::gate::{Peer, refused};
use super::problem;
use crate::access::{COOKIE_NAME, LIFETIME};
use crate::dash::Dash;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use daemon::Standing;
use serde_json::Value;
use std::time::Instant;

/// `POST /dash/api/login`.
pub(super) async fn login(
    State(dash): State<Dash>,
    Extension(peer): Extension<Peer>,
    standing: Option<Extension<Standing>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let access = &dash.shared.access;
    if !access.needs_token(peer.0, &headers) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let request: Option<Value> = serde_json::from_slice(&body).ok();
    let token = request
        .as_ref()
        .and_then(|request| request.get("token")?.as_str());
    let Some(token) = token else {
        let text = "a login is {\"token\":\"...\"}";
        return problem(StatusCode::BAD_REQUEST, text);
    };
    match access.login(peer.0, token, Instant::now()) {
        Err(refusal) => {
            tracing::warn!(peer = %peer.0, ?refusal, "a login to the dashboard was refused");
            refused(refusal)
        }
        Ok(value) => {
            if let Some(Extension(standing)) = standing {
                standing.prove();
            }
            let seconds = LIFETIME.as_secs();
            let cookie = format!(
                "{COOKIE_NAME}={value}; Path=/dash/; Max-Age={seconds}; HttpOnly; SameSite=Strict"
            );
            (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
        }
    }
}
