//! Messages of a WebSocket server, after a subscription.

use super::Feed;
use crate::Fault;
use crate::client::Client;
use futures_util::{SinkExt, StreamExt};
use hyper::Uri;
use rnis::adapters::MAX_MESSAGE_BYTES;
use std::time::Duration;
use tokio::time::timeout;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

/// Longest time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After so long without a message the connection is taken for dead.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// Subscribes and reads to the end of the connection.
pub(super) async fn read(url: &str, subscribe: &str, feed: &mut Feed) -> Result<(), Fault> {
    let uri: Uri = url.parse()?;
    let client = Client::anywhere(None, MAX_MESSAGE_BYTES)?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let stream = timeout(CONNECT_TIMEOUT, client.connect(&uri)).await??;
    let opened = client_async_with_config(url, stream, Some(config));
    let (mut socket, _) = timeout(CONNECT_TIMEOUT, opened).await??;
    socket.send(Message::text(subscribe)).await?;
    feed.up(true);
    while let Some(message) = timeout(SILENCE_TIMEOUT, socket.next()).await? {
        match message? {
            Message::Text(text) => feed.message(text.as_bytes()),
            Message::Binary(bytes) => feed.message(&bytes),
            Message::Close(_) => return Ok(()),
            // pings are answered by the library
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
    Ok(())
}
