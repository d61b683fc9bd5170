//! The subscriptions that there are, and the events that go to them.

use super::Api;
use crate::clock;
use axum::body::Bytes;
use rnis::mec012::Subscription;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::AbortHandle;

/// Notifications that wait for one subscriber; more are lost.
const WAITING: usize = 256;
/// Bytes of them; more are lost. A notification has some 500 bytes, 7,000 with all cells of carrier aggregation.
const WAITING_BYTES: usize = 256_000;

/// A notification on its way.
#[derive(Debug)]
pub(super) struct Notification {
    /// As JSON, encoded once.
    pub(super) json: Bytes,
    /// Its part of [`WAITING_BYTES`].
    _room: OwnedSemaphorePermit,
}

/// Notifications of one subscription on their way.
pub(super) type Queue = Arc<tokio::sync::Mutex<mpsc::Receiver<Notification>>>;

/// Puts notifications into a [`Queue`], which is bounded in number and in bytes.
#[derive(Debug)]
pub(super) struct Sender {
    queue: mpsc::Sender<Notification>,
    room: Arc<Semaphore>,
}

/// A queue, and its other end.
pub(super) fn queue() -> (Sender, Queue) {
    let (sender, receiver) = mpsc::channel(WAITING);
    let sender = Sender {
        queue: sender,
        room: Arc::new(Semaphore::new(WAITING_BYTES)),
    };
    (sender, Arc::new(tokio::sync::Mutex::new(receiver)))
}

impl Sender {
    /// Puts a notification on its way; false if there is no room for it.
    fn send(&self, notification: &Value) -> bool {
        let json = Bytes::from(notification.to_string());
        let Ok(bytes) = u32::try_from(json.len()) else {
            return false;
        };
        let room = Arc::clone(&self.room).try_acquire_many_owned(bytes);
        room.is_ok_and(|room| {
            let notification = Notification { json, _room: room };
            self.queue.try_send(notification).is_ok()
        })
    }
}

/// A subscription and what serves it.
#[derive(Debug)]
pub(super) struct Entry {
    /// The client whose it is.
    pub(super) owner: String,
    pub(super) subscription: Subscription,
    /// Its own URI.
    pub(super) uri: String,
    /// Delivered over a WebSocket at this URI, otherwise by callback.
    pub(super) websocket: Option<String>,
    /// Counts changes, for ETags.
    pub(super) version: u64,
    pub(super) sender: Sender,
    pub(super) queue: Queue,
    /// Delivery and expiry.
    pub(super) tasks: Vec<AbortHandle>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Entry {
    pub(super) fn to_json(&self) -> Value {
        self.subscription
            .to_json(&self.uri, self.websocket.as_deref())
    }

    pub(super) fn etag(&self) -> String {
        format!("\"{}\"", self.version)
    }
}

/// All subscriptions by their identity.
#[derive(Debug, Default)]
pub(crate) struct Store(Mutex<BTreeMap<String, Entry>>);

impl Store {
    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        // entries are put in and taken out whole
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works with a client's own subscription; others' are not there for it.
    pub(super) fn with<T>(
        &self,
        id: &str,
        owner: &str,
        work: impl FnOnce(&mut Entry) -> T,
    ) -> Option<T> {
        let mut entries = self.lock();
        entries
            .get_mut(id)
            .filter(|entry| entry.owner == owner)
            .map(work)
    }
}

/// Hands events to their subscriptions, until the service ends.
pub(crate) async fn dispatch(api: Arc<Api>) {
    let mut events = api.hub.events();
    loop {
        match events.recv().await {
            Ok(event) => {
                let network = api.hub.network();
                let time = clock::time_stamp();
                for entry in api.store.lock().values() {
                    let uri = &entry.uri;
                    let links = api.config.notification_links;
                    let subscription = &entry.subscription;
                    let made = subscription.notification(&event, &network, uri, time, links);
                    if let Some(notification) = made {
                        api.send(entry, &notification);
                    }
                }
            }
            Err(RecvError::Lagged(lost)) => api.count("lost", lost),
            Err(RecvError::Closed) => return,
        }
    }
}

impl Api {
    /// Puts a notification on its way, or counts it as lost.
    pub(super) fn send(&self, entry: &Entry, notification: &Value) {
        if !entry.sender.send(notification) {
            self.count("lost", 1);
        }
    }

    /// Counts notifications.
    pub(super) fn count(&self, outcome: &str, count: u64) {
        let labels = [("outcome", outcome)];
        self.hub
            .metrics()
            .add("brimful_rnis_notifications_total", &labels, count);
    }

    /// Publishes the number of subscriptions.
    pub(super) fn gauge(&self) {
        let count = self.store.lock().len();
        self.hub
            .metrics()
            .set("brimful_rnis_subscriptions", &[], count as f64);
    }
}
