//! What the dashboard shows of UEs whose packets are marked.

use crate::registry::lock;
use daemon::clock;
use edge::marker::Prediction;
use kernel_marker::Marker;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, Weak};

/// Most UEs that are shown.
pub(super) const MAX_UES: usize = 200;

/// Which UEs have orders, and the program that has them: whoever watches asks it himself, and the control thread has nothing
/// to do with that.
#[derive(Debug, Default)]
pub(crate) struct Watch(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    /// It ends with the one who marks, whoever watches.
    marker: Weak<Marker>,
    ues: Vec<IpAddr>,
}

impl Watch {
    /// From now on it is these.
    pub(super) fn set(&self, marker: Option<&Arc<Marker>>, ues: Vec<IpAddr>) {
        let marker = marker.map(Arc::downgrade).unwrap_or_default();
        *lock(&self.0) = Watched { marker, ues };
    }

    /// What the radio of each carries now of packets that are not split, and how long the next one would wait.
    pub(crate) fn predictions(&self) -> Vec<(IpAddr, Prediction)> {
        let watched = lock(&self.0);
        let Some(marker) = watched.marker.upgrade() else {
            return Vec::new();
        };
        let now = clock::now().since_start().as_nanos();
        let of = |ue: &IpAddr| Some((*ue, marker.prediction(*ue, now).ok()??));
        watched.ues.iter().filter_map(of).collect()
    }
}
