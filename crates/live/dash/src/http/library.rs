//! Result folders.

use super::{json_response, json_text, not_found, problem};
use crate::dash::{Content, Dash};
use crate::results::{Library, Range, ResultsError, SeriesRequest};
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use std::sync::Arc;

/// Columns of a figure, if the page names none.
const WIDTH: usize = 1_200;
/// Maximum number of columns.
const MAX_WIDTH: usize = 10_000;
/// Maximum number of metrics that are named.
const MAX_METRICS: usize = 50;

/// Has the files read on a thread that may wait for them.
async fn read<T: Send + 'static>(
    dash: &Dash,
    work: impl FnOnce(&Library) -> Result<T, ResultsError> + Send + 'static,
) -> Result<T, Response> {
    let Content::Results(library) = &dash.shared.content else {
        return Err(not_found());
    };
    let library = Arc::clone(library);
    match tokio::task::spawn_blocking(move || work(&library)).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(refused(&error)),
        Err(_) => {
            let text = "the results cannot be read: the folder is damaged";
            Err(problem(StatusCode::UNPROCESSABLE_ENTITY, text))
        }
    }
}

fn refused(error: &ResultsError) -> Response {
    let status = match error {
        ResultsError::Unknown { .. } => StatusCode::NOT_FOUND,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    problem(status, &error.to_string())
}

/// `GET /dash/api/results`.
pub(super) async fn list(State(dash): State<Dash>) -> Response {
    let listed = read(&dash, |library| Ok(library.list())).await;
    match listed {
        Ok(results) => json_response(StatusCode::OK, &json!({ "results": results })),
        Err(response) => response,
    }
}

/// `GET /dash/api/results/{id}/sweep`.
pub(super) async fn sweep(State(dash): State<Dash>, Path(id): Path<String>) -> Response {
    match read(&dash, move |library| library.sweep(&id)).await {
        Ok(table) => json_response(StatusCode::OK, &table),
        Err(response) => response,
    }
}

/// `GET /dash/api/results/{id}/points/{point}`.
pub(super) async fn point(
    State(dash): State<Dash>,
    Path((id, point)): Path<(String, String)>,
) -> Response {
    let Ok(point) = point.parse() else {
        return problem(StatusCode::BAD_REQUEST, "a point is a whole number");
    };
    match read(&dash, move |library| library.point(&id, point)).await {
        Ok(value) => json_response(StatusCode::OK, &value),
        Err(response) => response,
    }
}

/// `GET /dash/api/results/{id}/points/{point}/series`.
pub(super) async fn series(
    State(dash): State<Dash>,
    Path((id, point)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let Ok(point) = point.parse() else {
        return problem(StatusCode::BAD_REQUEST, "a point is a whole number");
    };
    let request = match parsed(query.as_deref().unwrap_or_default()) {
        Ok(request) => request,
        Err(text) => return problem(StatusCode::BAD_REQUEST, &text),
    };
    let work = move |library: &Library| {
        let decimated = library.series(&id, point, &request)?;
        Ok(Value::to_string(&decimated))
    };
    match read(&dash, work).await {
        Ok(text) => json_text(StatusCode::OK, text),
        Err(response) => response,
    }
}

/// What a query requests.
fn parsed(query: &str) -> Result<SeriesRequest, String> {
    let mut request = SeriesRequest {
        seed: None,
        range: Range::default(),
        width: WIDTH,
        metrics: Vec::new(),
    };
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if value.is_empty() {
            continue;
        }
        let wrong = |what: &str| format!("{name}={value}: expected {what}");
        let seconds = || {
            let number = value
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite());
            number.ok_or_else(|| wrong("a number of seconds"))
        };
        match &*name {
            "seed" => request.seed = Some(value.parse().map_err(|_| wrong("a seed"))?),
            "from" => request.range.from = Some(seconds()?),
            "to" => request.range.to = Some(seconds()?),
            "width" => {
                let width = value.parse().ok().filter(|w| (1..=MAX_WIDTH).contains(w));
                request.width = width.ok_or_else(|| wrong("a whole number from 1 to 10000"))?;
            }
            "metric" if request.metrics.len() < MAX_METRICS => {
                request.metrics.push(value.into_owned());
            }
            "metric" => return Err(format!("metric: at most {MAX_METRICS} may be named")),
            _ => {}
        }
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_query_selects_a_part_of_a_run() {
        let query = parsed("seed=7&from=1.5&to=&width=300&metric=a&metric=b").expect("a query");
        assert_eq!((query.seed, query.width), (Some(7), 300));
        assert_eq!(query.range.from, Some(1.5));
        assert_eq!(query.range.to, None);
        assert_eq!(query.metrics, ["a", "b"]);
        assert!(parsed(&"metric=a&".repeat(51)).is_err());
        for bad in [
            "seed=x",
            "from=nan",
            "width=0",
            "width=99999999999999999999",
        ] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_query_is_read(query in ".{0,100}") {
            let _ = parsed(&query);
        }
    }
}
