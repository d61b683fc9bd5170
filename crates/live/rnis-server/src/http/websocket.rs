//! Notifications over a WebSocket (MEC 009 clause 6.12a).

use super::Api;
use super::problem::Problem;
use super::store::Notification;
use crate::auth::Client;
use axum::Extension;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, mpsc};
use tokio::time::interval;

/// Longest message that a client may send: none is expected.
const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// The notifications of a subscription, while one WebSocket has them.
type Held = OwnedMutexGuard<mpsc::Receiver<Notification>>;

/// Between pings.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// `GET /subscriptions/{id}/websocket`.
pub(super) async fn connect(
    State(api): State<Arc<Api>>,
    Extension(client): Extension<Arc<Client>>,
    Path(id): Path<String>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let found = api.store.with(&id, &client.id, |entry| {
        entry.websocket.is_some().then(|| Arc::clone(&entry.queue))
    });
    let queue = found.flatten().ok_or_else(Problem::not_found)?;
    let upgrade = upgrade
        .map_err(|rejection| Problem::new(StatusCode::BAD_REQUEST, rejection.body_text()))?;
    // held from here on, so that of two that come at once one is refused
    let queue = queue.try_lock_owned().map_err(|_| {
        let text = "this subscription has its WebSocket already";
        Problem::new(StatusCode::CONFLICT, text)
    })?;
    let upgrade = upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(move |socket| serve(api, queue, socket)))
}

/// Sends notifications until the client leaves or the subscription ends.
async fn serve(api: Arc<Api>, mut queue: Held, mut socket: WebSocket) {
    let mut pulse = interval(PING_INTERVAL);
    loop {
        tokio::select! {
            // a client that is no more is noticed by this
            _ = pulse.tick() => if socket.send(Message::Ping(Bytes::new())).await.is_err() {
                return;
            },
            notification = queue.recv() => {
                let Some(notification) = notification else {
                    // the subscription is gone; the close frame may not arrive
                    let _ = socket.send(Message::Close(None)).await;
                    return;
                };
                // it is JSON, and so UTF-8
                let Ok(text) = Utf8Bytes::try_from(notification.json.clone()) else {
                    api.count("lost", 1);
                    continue;
                };
                match socket.send(Message::Text(text)).await {
                    Ok(()) => api.count("delivered", 1),
                    Err(_) => return api.count("lost", 1),
                }
            }
            received = socket.recv() => match received {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
        }
    }
}
