//! Answers of an HTTP server, requested again and again.

use super::Feed;
use crate::Fault;
use crate::client::{Call, Client, Session};
use hyper::{Method, Uri};
use rnis::adapters::MAX_MESSAGE_BYTES;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// Sends a request in each period, until an answer fails.
pub(super) async fn poll(url: &str, period: units::Duration, feed: &mut Feed) -> Result<(), Fault> {
    let uri: Uri = url.parse()?;
    let mut session = Session::new(Client::anywhere(None, MAX_MESSAGE_BYTES)?);
    let mut clock = interval(Duration::from_nanos(period.as_nanos()));
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut first = true;
    loop {
        clock.tick().await;
        let answer = session
            .call(Call {
                method: Method::GET,
                uri: &uri,
                token: None,
                json: None,
            })
            .await?;
        if !answer.status.is_success() {
            return Err(format!("answered {}", answer.status).into());
        }
        if std::mem::take(&mut first) {
            feed.up(true);
        }
        feed.message(&answer.body);
    }
}
