//! Notifications by callback, and the end of a subscription.

use super::Api;
use super::store::Queue;
use crate::client::{Call, REQUEST_TIMEOUT, Session};
use crate::clock;
use axum::body::Bytes;
use hyper::{Method, Uri};
use rnis::mec012::{TimeStamp, expiry_notification, test_notification};
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until};

/// Attempts for one notification.
const ATTEMPTS: u32 = 3;
/// Between the attempts, times their number.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Posts a notification once.
async fn post(session: &mut Session, uri: &Uri, notification: Bytes) -> io::Result<()> {
    let answer = session
        .call(Call {
            method: Method::POST,
            uri,
            token: None,
            json: Some(notification),
        })
        .await?;
    match answer.status.is_success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("answered {}", answer.status))),
    }
}

impl Api {
    /// A callback's URI.
    ///
    /// # Errors
    /// One that can never be reached: no URI, no host, port 0, any at all where no network is configured, or an
    /// address outside the networks to which callbacks may go. A name is resolved for each connection, and its addresses are checked then.
    pub(super) fn callback(&self, text: &str) -> Result<Uri, &'static str> {
        let uri: Uri = text.parse().map_err(|_| "is no URI")?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("is no http or https URI");
        }
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or("has no host")?;
        if uri.port_u16() == Some(0) || (uri.port().is_some() && uri.port_u16().is_none()) {
            return Err("has no port that can be reached");
        }
        if self.reach.is_empty() {
            return Err("is not permitted: callback-networks of [http] lists no network");
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse() {
            Ok(ip) if !self.reach.permits(ip) => {
                Err("is outside the networks to which callbacks may go")
            }
            _ => Ok(uri),
        }
    }

    /// Sends a test notification to a callback: whether it was delivered. Why it was not is in the log
    /// only, and takes the same time whatever it is: a client could scan networks with the difference.
    pub(super) async fn test(&self, target: &Uri, uri: &str) -> bool {
        let end = Instant::now() + REQUEST_TIMEOUT;
        let mut session = Session::new(self.callbacks.clone());
        let notification = test_notification(uri).to_string().into();
        let Err(error) = post(&mut session, target, notification).await else {
            return true;
        };
        let admitted = {
            let log = self.callback_log.lock();
            let mut log = log.unwrap_or_else(PoisonError::into_inner);
            log.admit(clock::now())
        };
        if let Some(suppressed) = admitted {
            tracing::info!(callback = %target, suppressed, "test notification: {error}");
        }
        sleep_until(end).await;
        false
    }

    /// Starts delivery by callback.
    pub(super) fn deliver(self: &Arc<Self>, callback: Uri, queue: Queue) -> AbortHandle {
        let api = Arc::clone(self);
        let task = tokio::spawn(async move {
            let mut session = Session::new(api.callbacks.clone());
            let mut queue = queue.lock().await;
            while let Some(notification) = queue.recv().await {
                let json = &notification.json;
                api.deliver_one(&mut session, &callback, json).await;
            }
        });
        task.abort_handle()
    }

    async fn deliver_one(&self, session: &mut Session, callback: &Uri, json: &Bytes) {
        for attempt in 1..=ATTEMPTS {
            match post(session, callback, json.clone()).await {
                Ok(()) => return self.count("delivered", 1),
                Err(error) => tracing::debug!(%callback, attempt, "callback: {error}"),
            }
            sleep(RETRY_INTERVAL * attempt).await;
        }
        self.count("failed", 1);
    }

    /// Starts the end of a subscription: a notice some time before, then its removal.
    pub(super) fn expire(self: &Arc<Self>, id: String, deadline: TimeStamp) -> AbortHandle {
        let api = Arc::clone(self);
        // from here on by the monotonic clock: a step of the other neither ends nor prolongs it
        let now = Instant::now();
        let left = until(deadline);
        let notice = now + left.saturating_sub(api.config.expiry_notice);
        let end = now + left;
        let task = tokio::spawn(async move {
            sleep_until(notice).await;
            if let Some(entry) = api.store.lock().get(&id) {
                let time = clock::time_stamp();
                api.send(entry, &expiry_notification(&entry.uri, time, deadline));
            }
            sleep_until(end).await;
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

#[cfg(test)]
mod tests {
    use crate::clock;
    use crate::http::store::{Entry, queue};
    use crate::http::tests::api;
    use rnis::mec012::{Subscription, TimeStamp};
    use std::sync::Arc;

    #[tokio::test]
    async fn a_step_of_the_clock_does_not_prolong_a_subscription() {
        let api = Arc::new(api("expiry-notice = \"2 s\""));
        let now = clock::time_stamp();
        let deadline = TimeStamp {
            seconds: now.seconds + 3,
            ..now
        };
        let body = br#"{"subscriptionType":"MeasTaSubscription","filterCriteriaAssoc":{},
            "callbackReference":"http://127.0.0.1:9/"}"#;
        let (sender, queue) = queue();
        let entry = Entry {
            owner: "a".into(),
            subscription: Subscription::from_json(body, now).expect("a subscription"),
            uri: "http://here/".into(),
            websocket: None,
            version: 1,
            sender,
            queue: Arc::clone(&queue),
            tasks: Vec::new(),
        };
        api.store.lock().insert("x".into(), entry);
        api.expire("x".into(), deadline);
        // the task waits for the time of the notice
        tokio::task::yield_now().await;
        clock::step_back(3_600);
        let notice = queue.lock().await.recv().await.expect("a notice");
        let notice: serde_json::Value = serde_json::from_slice(&notice.json).expect("JSON");
        assert_eq!(notice["notificationType"], "ExpiryNotification");
        let end = async {
            while !api.store.lock().is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let ended = tokio::time::timeout(testing::HANG_LIMIT, end).await;
        assert!(ended.is_ok(), "it lasts longer than its deadline");
    }
}
