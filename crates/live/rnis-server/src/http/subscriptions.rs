//! Subscriptions over HTTP: list, create, read, replace, remove.

use super::problem::Problem;
use super::store::{Entry, queue};
use super::{Api, json_response};
use crate::auth::{Client, random_name};
use crate::clock;
use crate::config::AnswerForm;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CONTENT_TYPE, ETAG, IF_MATCH, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use rnis::mec012::{Answer, Kind, Subscription, SubscriptionError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

type Caller = Extension<Arc<Client>>;

/// `GET /subscriptions`.
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Extension(client): Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    permitted(&client)?;
    let mut kind = None;
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let bad = |text: String| Problem::new(StatusCode::BAD_REQUEST, text);
        if name != "subscription_type" {
            return Err(bad(format!(
                "unknown query parameter \"{name}\"; there is subscription_type"
            )));
        }
        let names = || {
            Kind::all()
                .map(Kind::query_name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let found = Kind::from_query_name(&value);
        kind = Some(found.ok_or_else(|| bad(format!("subscription_type is one of {}", names())))?);
    }
    let store = api.store.lock();
    let ours = store
        .values()
        .filter(|entry| entry.owner == client.id)
        .filter(|entry| kind.is_none_or(|kind| kind == entry.subscription.kind));
    let links: Vec<Value> = ours
        .map(|entry| {
            let kind = entry.subscription.kind.type_name();
            json!({ "href": entry.uri, "subscriptionType": kind })
        })
        .collect();
    let own = format!("{}/rni/v2/subscriptions", api.config.public_url);
    let list = json!({ "_links": { "self": { "href": own }, "subscription": links } });
    let list = Answer::of("SubscriptionLinkList", &list);
    let is_wrapped = api.config.answers == AnswerForm::Wrapped;
    Ok(json_response(StatusCode::OK, list.into_json(is_wrapped)))
}

/// `POST /subscriptions`.
pub(super) async fn create(
    State(api): State<Arc<Api>>,
    Extension(client): Caller,
    headers: HeaderMap,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<Response, Problem> {
    permitted(&client)?;
    let subscription = parse(&headers, body)?;
    let max = api.config.max_subscriptions;
    let ours = |store: &BTreeMap<String, Entry>| {
        let own = store.values().filter(|entry| entry.owner == client.id);
        own.count()
    };
    let full = || {
        let text = format!("this client has {max} subscriptions already");
        Problem::new(StatusCode::FORBIDDEN, text)
    };
    if ours(&api.store.lock()) >= max {
        return Err(full());
    }
    let none = || Problem::new(StatusCode::SERVICE_UNAVAILABLE, "no randomness");
    let id = random_name().ok_or_else(none)?;
    let entry = serve(&api, &id, &client, subscription, 1).await?;
    let location = HeaderValue::from_str(&entry.uri)
        .map_err(|_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "public-url is no header"))?;
    let mut response = entry_response(&entry, StatusCode::CREATED);
    response.headers_mut().insert(LOCATION, location);
    {
        let mut store = api.store.lock();
        // others may have come while the callback was tried
        if ours(&store) >= max {
            return Err(full());
        }
        store.insert(id, entry);
    }
    api.gauge();
    Ok(response)
}

/// `GET /subscriptions/{id}`.
pub(super) async fn read(
    State(api): State<Arc<Api>>,
    Extension(client): Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    permitted(&client)?;
    let found = api.store.with(&id, &client.id, |entry| {
        entry_response(entry, StatusCode::OK)
    });
    found.ok_or_else(Problem::not_found)
}

/// `PUT /subscriptions/{id}`.
pub(super) async fn replace(
    State(api): State<Arc<Api>>,
    Extension(client): Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<Response, Problem> {
    permitted(&client)?;
    let current = |entry: &mut Entry| (entry.version, entry.etag(), entry.subscription.kind);
    let before = api.store.with(&id, &client.id, current);
    let (version, etag, kind) = before.ok_or_else(Problem::not_found)?;
    if_match(&headers, &etag)?;
    let subscription = parse(&headers, body)?;
    if subscription.kind != kind {
        let text = format!("this is a {}; its type cannot change", kind.type_name());
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text));
    }
    let entry = serve(&api, &id, &client, subscription, version + 1).await?;
    let response = entry_response(&entry, StatusCode::OK);
    let mut store = api.store.lock();
    let now = store.get(&id).filter(|now| now.owner == client.id);
    match now.map(|now| now.version) {
        None => Err(Problem::not_found()),
        Some(now) if now != version => Err(changed()),
        Some(_) => {
            store.insert(id, entry);
            Ok(response)
        }
    }
}

/// `DELETE /subscriptions/{id}`.
pub(super) async fn remove(
    State(api): State<Arc<Api>>,
    Extension(client): Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    permitted(&client)?;
    let etag = api.store.with(&id, &client.id, |entry| entry.etag());
    if_match(&headers, &etag.ok_or_else(Problem::not_found)?)?;
    let removed = api.store.lock().remove(&id);
    drop(removed);
    api.gauge();
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn permitted(client: &Client) -> Result<(), Problem> {
    match client.subscribe {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "this client may not subscribe",
        )),
    }
}

fn changed() -> Problem {
    Problem::new(
        StatusCode::PRECONDITION_FAILED,
        "the subscription has changed since",
    )
}

fn if_match(headers: &HeaderMap, etag: &str) -> Result<(), Problem> {
    let Some(value) = headers.get(IF_MATCH) else {
        return Ok(());
    };
    let listed = value.to_str().unwrap_or_default();
    match listed
        .split(',')
        .any(|tag| matches!(tag.trim(), "*") || tag.trim() == etag)
    {
        true => Ok(()),
        false => Err(changed()),
    }
}

fn parse(
    headers: &HeaderMap,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<Subscription, Problem> {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        let text = "a subscription is application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    let body = body.map_err(|rejection| Problem::new(rejection.status(), rejection.body_text()))?;
    Subscription::from_json(&body, clock::time_stamp()).map_err(|error| {
        let status = match error {
            SubscriptionError::Malformed(_) => StatusCode::BAD_REQUEST,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Problem::new(status, error.to_string())
    })
}

/// Chooses the delivery (MEC 009 clause 6.12a) and starts it.
///
/// A callback whose subscription requests a test gets it, and if that fails and a WebSocket was requested
/// too, that is chosen; without a test, a WebSocket that was requested is.
async fn serve(
    api: &Arc<Api>,
    id: &str,
    client: &Client,
    subscription: Subscription,
    version: u64,
) -> Result<Entry, Problem> {
    let uri = format!("{}/rni/v2/subscriptions/{id}", api.config.public_url);
    let delivery = &subscription.delivery;
    let callback = match &delivery.callback {
        Some(text) => Some(api.callback(text).map_err(|problem| {
            let text = format!("callbackReference {problem}");
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text)
        })?),
        None => None,
    };
    let by_callback = match callback {
        Some(target) if delivery.test => {
            let is_reached = api.test(&target, &uri).await;
            if !is_reached && !delivery.websocket {
                let text = "the test notification was not delivered";
                return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text));
            }
            is_reached.then_some(target)
        }
        target => target.filter(|_| !delivery.websocket),
    };
    let websocket = by_callback.is_none().then(|| {
        let base = api.config.public_url.replacen("http", "ws", 1);
        format!("{base}/rni/v2/subscriptions/{id}/websocket")
    });
    let (sender, queue) = queue();
    let mut tasks = Vec::new();
    if let Some(target) = by_callback {
        tasks.push(api.deliver(target, Arc::clone(&queue)));
    }
    if let Some(deadline) = subscription.deadline {
        tasks.push(api.expire(id.to_owned(), deadline));
    }
    Ok(Entry {
        owner: client.id.clone(),
        subscription,
        uri,
        websocket,
        version,
        sender,
        queue,
        tasks,
    })
}

fn entry_response(entry: &Entry, status: StatusCode) -> Response {
    let mut response = json_response(status, entry.to_json().to_string());
    if let Ok(etag) = HeaderValue::from_str(&entry.etag()) {
        response.headers_mut().insert(ETAG, etag);
    }
    response
}
