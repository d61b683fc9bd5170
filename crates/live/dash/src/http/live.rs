//! Live values over a WebSocket.

use super::{not_found, problem};
use crate::dash::{Content, Dash};
use crate::feed::{Feed, Position};
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use std::time::{Duration, Instant};
use tokio::time::{interval, timeout};

/// Longest message that a client may send.
const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// Maximum number of concurrent viewers.
const MAX_VIEWERS: usize = 64;
/// For the first message, and for a client to take one of ours.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Between pings.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// A viewer that sends nothing for so long is gone.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(65);

/// `GET /dash/live`.
pub(super) async fn connect(
    State(dash): State<Dash>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let Content::Live(feed) = &dash.shared.content else {
        return not_found();
    };
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return problem(StatusCode::BAD_REQUEST, &rejection.body_text()),
    };
    if feed.viewers() >= MAX_VIEWERS {
        let text = "too many watch already";
        return problem(StatusCode::SERVICE_UNAVAILABLE, text);
    }
    let feed = feed.clone();
    upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .on_upgrade(async move |mut socket| {
            // whatever ended it, there is no viewer left to be notified
            let _ = serve(&feed, &mut socket).await;
            let _ = timeout(TIMEOUT, socket.send(Message::Close(None))).await;
        })
}

/// The client is gone.
struct Gone;

async fn serve(feed: &Feed, socket: &mut WebSocket) -> Result<(), Gone> {
    let first = timeout(TIMEOUT, socket.recv()).await.map_err(|_| Gone)?;
    let Some(Ok(Message::Text(first))) = first else {
        return Err(Gone);
    };
    let Some(mut position) = Position::parse(first.as_str()) else {
        return send(socket, Message::text(NOT_UNDERSTOOD)).await;
    };
    let _viewer = feed.viewer();
    let mut news = feed.news();
    let mut pulse = interval(PING_INTERVAL);
    let mut received_at = Instant::now();
    loop {
        // marked as seen before reading: what comes meanwhile is news again
        news.borrow_and_update();
        loop {
            let texts = feed.next(&mut position);
            if texts.is_empty() {
                break;
            }
            for text in texts {
                send(socket, Message::Text(text)).await?;
            }
        }
        tokio::select! {
            changed = news.changed() => changed.map_err(|_| Gone)?,
            _ = pulse.tick() => {
                if received_at.elapsed() > SILENCE_TIMEOUT {
                    return Err(Gone);
                }
                send(socket, Message::Ping(Bytes::new())).await?;
            }
            message = socket.recv() => match message {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Gone),
                Some(Ok(_)) => received_at = Instant::now(),
            },
        }
    }
}

const NOT_UNDERSTOOD: &str = "{\"type\":\"end\",\"reason\":\"begin with {\\\"type\\\":\\\"start\\\"} \
    or {\\\"type\\\":\\\"resume\\\",\\\"session\\\":\\\"..\\\",\\\"after\\\":N}\"}";

async fn send(socket: &mut WebSocket, message: Message) -> Result<(), Gone> {
    match timeout(TIMEOUT, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Gone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn the_first_message_states_where_to_begin() {
        assert_eq!(
            Position::parse("{\"type\":\"start\"}"),
            Some(Position::start())
        );
        let resume = "{\"type\":\"resume\",\"session\":\"x\",\"after\":7}";
        assert_eq!(Position::parse(resume), Some(Position::resume("x", 7)));
        for bad in [
            "",
            "{}",
            "{\"type\":\"resume\",\"session\":\"x\",\"after\":-1}",
            "[1]",
        ] {
            assert_eq!(Position::parse(bad), None, "{bad}");
        }
        assert!(serde_json::from_str::<Value>(NOT_UNDERSTOOD).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,200}") {
            let _ = Position::parse(&text);
        }
    }
}
