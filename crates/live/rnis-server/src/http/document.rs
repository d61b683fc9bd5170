//! The OpenAPI document: ETSI's own, with its known faults corrected (`openapi/README.md`).

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// Where it is served.
pub(super) const PATH: &str = "/rni/v2/openapi.yaml";
const TEXT: &str = include_str!("../../openapi/mec012-rni-2.2.1-corrected.yaml");

pub(super) async fn document() -> Response {
    let kind = HeaderValue::from_static("application/yaml");
    ([(CONTENT_TYPE, kind)], TEXT).into_response()
}
