//! Notifications over a WebSocket (MEC 009 clause 6.12a).

use super::Api;
use super::problem::Problem;
use super::store::Queue;
use crate::auth::Client;
use axum::Extension;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::interval;

/// Longest message that a client may send: it has nothing to say.
const LONGEST: usize = 4 << 10;
/// Between pings.
const PULSE: Duration = Duration::from_secs(20);

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
    if queue.try_lock().is_err() {
        let text = "this subscription has its WebSocket already";
        return Err(Problem::new(StatusCode::CONFLICT, text));
    }
    let upgrade = upgrade.max_message_size(LONGEST).max_frame_size(LONGEST);
    Ok(upgrade.on_upgrade(move |socket| serve(api, queue, socket)))
}

/// Sends notifications until the client leaves or the subscription ends.
async fn serve(api: Arc<Api>, queue: Queue, mut socket: WebSocket) {
    let mut queue = queue.lock().await;
    let mut pulse = interval(PULSE);
    loop {
        tokio::select! {
            // a client that is no more is noticed by this
            _ = pulse.tick() => if socket.send(Message::Ping(Bytes::new())).await.is_err() {
                return;
            },
            notification = queue.recv() => {
                let Some(notification) = notification else {
                    // the subscription is gone; the close frame may not reach anybody
                    let _ = socket.send(Message::Close(None)).await;
                    return;
                };
                match socket.send(Message::text(notification.to_string())).await {
                    Ok(()) => api.count("delivered", 1),
                    Err(_) => return api.count("lost", 1),
                }
            }
            said = socket.recv() => match said {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
        }
    }
}
