//! The four queries over HTTP.

use super::problem::Problem;
use super::{Api, json_response};
use crate::auth::Client;
use crate::clock;
use crate::config::AnswerForm;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use rnis::mec012::{Query, QueryError, QueryKind, Snapshot};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The handler of one query.
pub(super) async fn query(
    kind: QueryKind,
    State(api): State<Arc<Api>>,
    Extension(client): Extension<Arc<Client>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    if !client.query {
        let text = "this client may not query";
        return Err(Problem::new(StatusCode::FORBIDDEN, text));
    }
    let query = query.unwrap_or_default();
    let parameters = form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()));
    let query = Query::new(kind, parameters).map_err(|e| problem(&e))?;
    let request = api.requests.fetch_add(1, Ordering::Relaxed);
    let (cells, network) = api.hub.snapshot();
    let answer = query.answer(&Snapshot {
        cells: &cells,
        network: &network,
        now: clock::now(),
        time: clock::time_stamp(),
        app: &client.app_instance,
        request,
    });
    let answer = answer.map_err(|e| problem(&e))?;
    let is_wrapped = api.config.answers == AnswerForm::Wrapped;
    Ok(json_response(StatusCode::OK, answer.into_json(is_wrapped)))
}

fn problem(error: &QueryError) -> Problem {
    let status = match error {
        QueryError::NotFound | QueryError::UnknownCell => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    };
    Problem::new(status, error.to_string())
}
