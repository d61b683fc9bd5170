//! What all threads of the daemon share.

use crate::config::Config;
use crate::counters::Counters;
use crate::handover::Stats;
use crate::overflow::Overflow;
use crate::registry::{Registry, lock};
use crate::relay::{Channel, can_show_windows_at_once};
use crate::wire::Shown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Shared by all threads.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Who is connected.
    pub(crate) registry: Registry,
    /// What the data path counts.
    pub(crate) counters: Counters,
    /// Where the control thread is notified of flows; none without an allocator.
    events: Mutex<Option<Channel>>,
    has_control: AtomicBool,
    config: Mutex<Arc<Config>>,
    /// Grows with each new configuration.
    version: AtomicU64,
    /// The listeners were handed over, or the daemon stops: nothing is accepted any more.
    pub(crate) is_draining: AtomicBool,
    /// New connections pass by, for there are as many as there may be.
    pub(crate) is_passing_by: AtomicBool,
    /// Wakes the thread that has them pass by.
    pub(crate) overflow: Overflow,
    /// Windows towards servers can be closed, for they can be opened again at once.
    pub(crate) can_show_windows_at_once: bool,
    /// How windows towards servers are shown.
    pub(crate) shown: Shown,
    /// What is counted of connections that move to other proxies and from them.
    pub(crate) handover: Stats,
}

impl Shared {
    /// With this configuration.
    pub(crate) fn new(shown: Shown, config: Config) -> Self {
        Self {
            registry: Registry::default(),
            counters: Counters::default(),
            events: Mutex::new(None),
            has_control: AtomicBool::new(false),
            config: Mutex::new(Arc::new(config)),
            version: AtomicU64::new(0),
            is_draining: AtomicBool::new(false),
            is_passing_by: AtomicBool::new(false),
            overflow: Overflow::default(),
            can_show_windows_at_once: can_show_windows_at_once(),
            shown,
            handover: Stats::default(),
        }
    }

    /// The configuration in force.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&lock(&self.config))
    }

    /// Puts a configuration in force.
    pub(crate) fn set_config(&self, config: Config) {
        *lock(&self.config) = Arc::new(config);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Looks whether interfaces towards servers have come or gone.
    pub(crate) fn refresh_wire(&self) {
        if let Some(wire) = &self.shown.wire
            && let Err(error) = wire.refresh(&self.config())
        {
            tracing::debug!(%error, "no windows at the wire");
        }
    }

    /// Changes with each configuration.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// A control thread listens here.
    pub(crate) fn set_control(&self, events: Channel) {
        *lock(&self.events) = Some(events);
        self.has_control.store(true, Ordering::Release);
    }

    /// A sender of a worker's own, if a control thread listens.
    pub(crate) fn events(&self) -> Option<Channel> {
        if !self.has_control.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.events).clone()
    }
}
