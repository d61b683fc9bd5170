//! A flow that the control thread can reach: measured, taken under control, and let go.
//!
//! Its window towards the UE is set by our congestion control in the kernel, or without the right to load that, by
//! pacing the kernel's own.

use super::bpf::{FollowSlot, Kernel, Measured};
use super::telemetry::{measured_by_socket, telemetry};
use crate::flow::{Flow, Handling};
use crate::meters::Meters;
use crate::sys;
use edge::{Actuator, Adopted, Windows};
use rapid::{FlowTelemetry, WanWindow};
use rustix::net::sockopt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use units::{BitRate, Bytes, Duration, Instant};

/// Between `TCP_INFO`s of a flow where the program cannot determine it.
const SAMPLE_PERIOD: Duration = Duration::from_millis(20);

/// A flow.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) flow: Weak<Flow>,
    meters: Arc<Meters>,
    /// Acknowledged by the UE when last measured, bytes.
    acked: u64,
    /// While it is under control.
    pub(super) handle: Option<Handle>,
    /// As last decided: the window towards the server, and whether it is slow.
    decided: Option<(WanWindow, bool)>,
}

/// What is held for a flow under control.
#[derive(Debug)]
pub(super) enum Handle {
    /// Its slot.
    Follow {
        slot: FollowSlot,
        /// The congestion control that it had.
        former: String,
    },
    /// What the kernel measured last, and when.
    Pace {
        measured: Measured,
        measured_at: Option<Instant>,
    },
}

impl Held {
    /// A flow that has opened.
    pub(super) fn new(flow: &Arc<Flow>) -> Self {
        Self {
            flow: Arc::downgrade(flow),
            meters: Arc::clone(&flow.meters),
            acked: 0,
            handle: None,
            decided: None,
        }
    }

    /// What the allocator needs of a flow under control.
    pub(super) fn measure(&mut self, now: Instant) -> Option<FlowTelemetry> {
        let measured = self.handle.as_mut()?.measured(now, &self.flow);
        let waited = self.meters.ran_unsent.load(Relaxed);
        let telemetry = telemetry(&self.meters, &measured);
        // what the socket towards the UE has sent since may open a closed window: neither an event of a socket nor,
        // where nothing else changes, a decision would
        let has_left = self.meters.ran_unsent.load(Relaxed) < waited;
        let acked = std::mem::replace(&mut self.acked, measured.bytes_acked);
        if (has_left || acked != measured.bytes_acked)
            && let Some(flow) = self.flow.upgrade()
            && (flow.wire().is_some() || has_left && flow.window.is_closed())
        {
            flow.show_window();
        }
        Some(telemetry)
    }

    /// Takes the flow under control, by our congestion control if there is one; none if it has gone.
    pub(super) fn adopt(&mut self, kernel: Option<&Kernel>) -> Option<Adopted> {
        let flow = self.flow.upgrade()?;
        let handle = Handle::take(&flow, kernel);
        let actuator = match (&handle, kernel) {
            (Handle::Follow { slot, .. }, Some(kernel)) => {
                flow.set_place(Some((kernel.touched(), slot.place())));
                Actuator::Window
            }
            _ => Actuator::Pacing,
        };
        self.decided = None;
        self.handle = Some(handle);
        let mss = socket_options::tcp_info(&flow.ran).map_or(0, |info| info.snd_mss);
        let mss = if mss == 0 {
            crate::listener::USUAL_MSS
        } else {
            mss
        };
        Some(Adopted {
            mss: Bytes::new(u64::from(mss)),
            actuator,
        })
    }

    /// Sets its windows. That towards the UE is a store in memory; the connection is looked at where another is to be
    /// shown to the server, or one of its sockets is to be set.
    pub(super) fn set_windows(&mut self, windows: &Windows) {
        let bytes_a_second = |rate: BitRate| rate.as_bps() / 8;
        match &self.handle {
            Some(Handle::Follow { slot, .. }) => {
                let pace = windows.pacing_bps.map_or(0, bytes_a_second);
                slot.set(windows.ran_window.get(), pace);
            }
            Some(Handle::Pace { .. }) => {
                if let (Some(rate), Some(flow)) = (windows.pace_bps, self.flow.upgrade()) {
                    // the connection may have gone
                    let _ = sys::set_max_pacing_rate(&flow.ran, bytes_a_second(rate));
                }
            }
            None => return,
        }
        self.meters
            .ran_window
            .store(windows.ran_window.get(), Relaxed);
        let decided = Some((windows.wan, windows.is_slow));
        let is_same = std::mem::replace(&mut self.decided, decided) == decided;
        if is_same && windows.unsent.is_none() {
            return;
        }
        if let Some(flow) = self.flow.upgrade() {
            flow.decide(windows);
        }
    }

    /// Lets the flow be spliced and nothing more, if it is still there.
    pub(super) fn release(&mut self) {
        let flow = self.flow.upgrade();
        if let Some(handle) = self.handle.take()
            && let Some(flow) = &flow
        {
            // the connection may have gone
            let _ = match &handle {
                Handle::Follow { former, .. } => {
                    sockopt::set_tcp_congestion(&flow.ran, former).map_err(Into::into)
                }
                Handle::Pace { .. } => sys::set_max_pacing_rate(&flow.ran, u64::MAX),
            };
        }
        if let Some(flow) = flow {
            flow.set_place(None);
            flow.release();
        }
    }
}

impl Handle {
    fn take(flow: &Flow, kernel: Option<&Kernel>) -> Self {
        if let Some(kernel) = kernel {
            let former = sockopt::tcp_congestion(&flow.ran).unwrap_or_default();
            match kernel.take(&flow.ran) {
                Ok(slot) => {
                    flow.set_handling(Handling::Controlled);
                    return Self::Follow { slot, former };
                }
                Err(error) => tracing::debug!(flow = flow.id, %error, "paced instead"),
            }
        }
        flow.set_handling(Handling::Paced);
        Self::Pace {
            measured: Measured::default(),
            measured_at: None,
        }
    }

    /// What the kernel reports of the connection towards the UE.
    fn measured(&mut self, now: Instant, flow: &Weak<Flow>) -> Measured {
        match self {
            Self::Follow { slot, .. } => slot.measured(),
            Self::Pace {
                measured,
                measured_at,
            } => {
                let is_due = measured_at.is_none_or(|at| now.saturating_since(at) >= SAMPLE_PERIOD);
                if is_due && let Some(flow) = flow.upgrade() {
                    *measured = measured_by_socket(&flow);
                    *measured_at = Some(now);
                }
                *measured
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edge::Change;

    /// A download that waits for its window, with a byte left unread, while the socket towards the UE empties: no event
    /// of a socket follows, and as long as the decided windows stay as they are no decision either.
    #[test]
    fn a_closed_window_opens_as_what_waits_is_sent_to_the_ue() {
        let (flow, _server) = crate::flow::connected();
        let mut held = Held::new(&flow);
        assert!(held.adopt(None).is_some());
        flow.window.decide(WanWindow::Budget(Bytes::new(100_000)));
        flow.window
            .has_shown(Instant::ZERO, Change::Credit(Bytes::new(1)), 0);
        flow.meters.wan_unread.store(1, Relaxed);
        flow.meters.ran_unsent.store(200_000, Relaxed);
        flow.show_window();
        assert_eq!(flow.window.take_due(), None, "too much waits");
        assert!(held.measure(Instant::ZERO).is_some());
        let due = Some(Change::Open(Bytes::new(99_999)));
        assert_eq!(flow.window.take_due(), due);
    }
}
