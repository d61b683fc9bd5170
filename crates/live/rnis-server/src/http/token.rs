//! The token endpoint: OAuth 2.0 client credentials (RFC 6749 sections 2.3.1, 4.4 and 5).

use super::Api;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Longest body, in bytes.
const LONGEST: usize = 8 << 10;

/// A refusal: its status and code.
struct Refused(StatusCode, &'static str);

pub(super) async fn token(State(api): State<Arc<Api>>, request: Request) -> Response {
    match answer(&api, request).await {
        Ok(body) => respond(StatusCode::OK, &body),
        Err(Refused(status, code)) => respond(status, &json!({ "error": code })),
    }
}

async fn answer(api: &Api, request: Request) -> Result<Value, Refused> {
    const MALFORMED: Refused = Refused(StatusCode::BAD_REQUEST, "invalid_request");
    const UNKNOWN: Refused = Refused(StatusCode::UNAUTHORIZED, "invalid_client");
    const UNKNOWN_SCOPE: Refused = Refused(StatusCode::BAD_REQUEST, "invalid_scope");
    let (head, body) = request.into_parts();
    let kind = head
        .headers
        .get(CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return Err(MALFORMED);
    }
    let body = to_bytes(body, LONGEST).await.map_err(|_| MALFORMED)?;
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
    let client = api.auth.client(&id, secret.as_bytes()).ok_or(UNKNOWN)?;
    match grant.as_deref() {
        Some("client_credentials") => {}
        Some(_) => return Err(Refused(StatusCode::BAD_REQUEST, "unsupported_grant_type")),
        None => return Err(MALFORMED),
    }
    let none = Refused(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable");
    let client = client.narrowed(scope.as_deref());
    let client = Arc::new(client.map_err(|()| UNKNOWN_SCOPE)?);
    let token = api.auth.issue(&client, Instant::now()).ok_or(none)?;
    let scopes = [("query", client.query), ("subscribe", client.subscribe)];
    let scope: Vec<&str> = scopes.iter().filter(|s| s.1).map(|s| s.0).collect();
    Ok(json!({
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": api.auth.lifetime().as_secs(),
        "scope": scope.join(" "),
    }))
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
