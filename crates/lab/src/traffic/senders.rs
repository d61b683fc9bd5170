//! What the kernel says of the senders' connections, for the time series.

use super::TICK;
use crate::Error;
use crate::clock::Clock;
use crate::sys::{self, TcpInfo};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use units::{Duration, Instant};

/// The state of the latest sender of each flow. Asking the kernel may take the lock of a socket, so
/// that it is done by a thread of its own, and not by the radio.
#[derive(Debug)]
pub(crate) struct SenderStates {
    sockets: Mutex<Vec<Weak<OwnedFd>>>,
    states: Mutex<Vec<Option<TcpInfo>>>,
}

impl SenderStates {
    /// For so many flows.
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            sockets: Mutex::new((0..flows).map(|_| Weak::new()).collect()),
            states: Mutex::new(vec![None; flows]),
        }
    }

    /// From now on, this is the flow's sender, as long as its thread holds it.
    pub(crate) fn register(&self, flow: usize, socket: &Arc<OwnedFd>) {
        lock(&self.sockets)[flow] = Arc::downgrade(socket);
    }

    /// The states, as of the last step.
    pub(crate) fn get(&self) -> Vec<Option<TcpInfo>> {
        lock(&self.states).clone()
    }

    /// Keeps the states fresh until `stop`.
    pub(crate) fn watch(
        self: &Arc<Self>,
        clock: Clock,
        step: Duration,
        stop: Arc<AtomicBool>,
    ) -> Result<JoinHandle<()>, Error> {
        let this = Arc::clone(self);
        std::thread::Builder::new()
            .name("senders".to_owned())
            .spawn(move || {
                let mut next = Instant::ZERO;
                while !stop.load(Ordering::Relaxed) {
                    let now = clock.now();
                    if step.is_zero() || now < next {
                        let until = if step.is_zero() { now + TICK } else { next };
                        clock.sleep_until(until.min(now + TICK));
                        continue;
                    }
                    this.refresh();
                    next = now + step;
                }
            })
            .map_err(Error::system("start a thread"))
    }

    fn refresh(&self) {
        let sockets: Vec<_> = lock(&self.sockets).iter().map(Weak::upgrade).collect();
        let states = sockets
            .into_iter()
            .map(|socket| socket.and_then(|socket| sys::tcp_info(&*socket).ok()))
            .collect();
        *lock(&self.states) = states;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
