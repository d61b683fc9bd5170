//! Notifications by callback, and the end of a subscription.

use super::Api;
use super::store::Queue;
use crate::client::{Call, Session};
use crate::clock;
use hyper::{Method, Uri};
use rnis::mec012::{TimeStamp, expiry_notification, test_notification};
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::sleep;

/// Attempts for one notification.
const ATTEMPTS: u32 = 3;
/// Between the attempts, times their number.
const PAUSE: Duration = Duration::from_millis(200);

/// Posts a notification once.
async fn post(session: &mut Session, uri: &Uri, notification: &Value) -> io::Result<()> {
    let answer = session
        .call(Call {
            method: Method::POST,
            uri,
            token: None,
            json: Some(notification.to_string().into_bytes()),
        })
        .await?;
    match answer.status.is_success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("answered {}", answer.status))),
    }
}

impl Api {
    /// Sends a test notification to a callback.
    pub(super) async fn test(&self, callback: &str, uri: &str) -> io::Result<()> {
        let target: Uri = callback.parse().map_err(io::Error::other)?;
        let mut session = Session::new(self.callbacks.clone());
        post(&mut session, &target, &test_notification(uri)).await
    }

    /// Starts delivery by callback.
    pub(super) fn deliver(self: &Arc<Self>, callback: Uri, queue: Queue) -> AbortHandle {
        let api = Arc::clone(self);
        let task = tokio::spawn(async move {
            let mut session = Session::new(api.callbacks.clone());
            let mut queue = queue.lock().await;
            while let Some(notification) = queue.recv().await {
                api.deliver_one(&mut session, &callback, &notification)
                    .await;
            }
        });
        task.abort_handle()
    }

    async fn deliver_one(&self, session: &mut Session, callback: &Uri, notification: &Value) {
        for attempt in 1..=ATTEMPTS {
            match post(session, callback, notification).await {
                Ok(()) => return self.count("delivered", 1),
                Err(error) => tracing::debug!(%callback, attempt, "callback: {error}"),
            }
            sleep(PAUSE * attempt).await;
        }
        self.count("failed", 1);
    }

    /// Starts the end of a subscription: a notice some time before, then its removal.
    pub(super) fn expire(self: &Arc<Self>, id: String, deadline: TimeStamp) -> AbortHandle {
        let api = Arc::clone(self);
        let task = tokio::spawn(async move {
            let left = until(deadline);
            sleep(left.saturating_sub(api.config.expiry_notice)).await;
            if let Some(entry) = api.store.lock().get(&id) {
                let time = clock::time_stamp();
                api.send(entry, expiry_notification(&entry.uri, time, deadline));
            }
            sleep(until(deadline)).await;
            // taking it out ends this task: nothing comes after
            let removed = api.store.lock().remove(&id);
            api.gauge();
            tracing::info!(id, "subscription expired");
            drop(removed);
        });
        task.abort_handle()
    }
}

fn until(deadline: TimeStamp) -> Duration {
    let whole = |t: TimeStamp| Duration::new(t.seconds.into(), t.nano_seconds.min(999_999_999));
    whole(deadline).saturating_sub(whole(clock::time_stamp()))
}
