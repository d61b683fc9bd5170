//! Sets windows towards UEs: by our congestion control in the kernel, or without the right to load that, by
//! pacing the kernel's own.

use super::bpf::{Kernel, Measured};
use super::telemetry::measured_by_socket;
use crate::flow::{Flow, Handling};
use crate::slots::Slot;
use crate::sys;
use edge::{Actuator, Windows};
use rustix::net::sockopt;
use std::sync::Weak;
use units::{BitRate, Duration, Instant};

/// Between `TCP_INFO`s of a flow where the program cannot determine it.
const SAMPLE_PERIOD: Duration = Duration::from_millis(20);

/// How windows towards UEs are set on this machine.
#[derive(Debug)]
pub(super) enum WindowSetter {
    /// By our congestion control.
    Follow(Box<Kernel>),
    /// By `SO_MAX_PACING_RATE`.
    Pace,
}

/// What is held for a flow under control.
#[derive(Debug)]
pub(super) enum FlowHandle {
    /// Its slot.
    Follow {
        slot: Slot,
        /// The congestion control that it had.
        former: String,
    },
    /// What the kernel measured last, and when.
    Pace {
        measured: Measured,
        measured_at: Option<Instant>,
    },
}

impl FlowHandle {
    /// How its window is set.
    pub(super) fn actuator(&self) -> Actuator {
        match self {
            Self::Follow { .. } => Actuator::Window,
            Self::Pace { .. } => Actuator::Pacing,
        }
    }
}

impl WindowSetter {
    /// The best that the kernel permits, up to what is requested; and why it is not our congestion control.
    pub(super) fn new(wanted: Actuator) -> (Self, Option<String>) {
        if wanted == Actuator::Pacing {
            return (Self::Pace, Some("actuator = \"pacing\"".to_owned()));
        }
        match Kernel::load() {
            Ok(kernel) => {
                tracing::info!(
                    congestion_control = kernel.name(),
                    "windows towards UEs by our own congestion control"
                );
                (Self::Follow(Box::new(kernel)), None)
            }
            Err(error) => {
                tracing::warn!(
                    %error,
                    "no congestion control of our own: the kernel's is paced instead, which keeps \
                     rates but not windows; needs CAP_BPF, CAP_NET_ADMIN and Linux 6.4"
                );
                (Self::Pace, Some(error.to_string()))
            }
        }
    }

    /// Its name in status and metrics.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Follow(_) => "bpf",
            Self::Pace => "pacing",
        }
    }

    /// Takes a flow under control.
    pub(super) fn take(&mut self, flow: &Flow) -> FlowHandle {
        if let Self::Follow(kernel) = self {
            let former = sockopt::tcp_congestion(&flow.ran).unwrap_or_default();
            match kernel.take(&flow.ran) {
                Ok(slot) => {
                    flow.set_handling(Handling::Controlled);
                    return FlowHandle::Follow { slot, former };
                }
                Err(error) => tracing::debug!(flow = flow.id, %error, "paced instead"),
            }
        }
        flow.set_handling(Handling::Paced);
        FlowHandle::Pace {
            measured: Measured::default(),
            measured_at: None,
        }
    }

    /// What the kernel reports of the connection towards the UE.
    pub(super) fn measured(
        &self,
        now: Instant,
        flow: &Weak<Flow>,
        handle: &mut FlowHandle,
    ) -> Measured {
        match (self, handle) {
            (Self::Follow(kernel), FlowHandle::Follow { slot, .. }) => kernel.measured(*slot),
            (
                _,
                FlowHandle::Pace {
                    measured,
                    measured_at,
                },
            ) => {
                let is_due = measured_at.is_none_or(|at| now.saturating_since(at) >= SAMPLE_PERIOD);
                if is_due && let Some(flow) = flow.upgrade() {
                    *measured = measured_by_socket(&flow);
                    *measured_at = Some(now);
                }
                *measured
            }
            (Self::Pace, FlowHandle::Follow { .. }) => Measured::default(),
        }
    }

    /// Carries out a decision.
    pub(super) fn apply(&self, flow: &Flow, handle: &FlowHandle, windows: &Windows) {
        let bytes_a_second = |rate: BitRate| rate.as_bps() / 8;
        match (self, handle) {
            (Self::Follow(kernel), FlowHandle::Follow { slot, .. }) => {
                let pace = windows.pacing_bps.map_or(0, bytes_a_second);
                kernel.set(*slot, windows.ran_window.get(), pace);
            }
            (_, FlowHandle::Pace { .. }) => {
                if let Some(rate) = windows.pace_bps {
                    // the connection may have gone
                    let _ = sys::set_max_pacing_rate(&flow.ran, bytes_a_second(rate));
                }
            }
            (Self::Pace, FlowHandle::Follow { .. }) => {}
        }
        flow.decide(windows);
    }

    /// Gives a flow back to the kernel, if it is still there, and its slot.
    pub(super) fn release(&mut self, flow: Option<&Flow>, handle: &FlowHandle) {
        match handle {
            FlowHandle::Follow { slot, former } => {
                if let Some(flow) = flow {
                    // the connection may have gone
                    let _ = sockopt::set_tcp_congestion(&flow.ran, former);
                }
                if let Self::Follow(kernel) = self {
                    kernel.give_back(*slot);
                }
            }
            FlowHandle::Pace { .. } => {
                if let Some(flow) = flow {
                    let _ = sys::set_max_pacing_rate(&flow.ran, u64::MAX);
                }
            }
        }
    }
}
