//! Carries out the allocator's decisions: by our congestion control in the kernel, or without the
//! right to load that, by pacing the kernel's own.

use super::bpf::{Kernel, Measured, Slot};
use super::telemetry::measured_by_socket;
use crate::flow::{Flow, Handling};
use crate::sys;
use rapid::{Decision, WanWindow};
use rustix::net::sockopt;
use std::sync::Weak;
use units::{Duration, Instant};

/// Between `TCP_INFO`s of a flow where the program cannot determine it.
const SAMPLE_PERIOD: Duration = Duration::from_millis(20);
/// A pace that differs by less than this share from the last is not worth a system call.
const WORTH_PACING: f64 = 0.05;

/// How windows towards UEs are set on this machine.
#[derive(Debug)]
pub(super) enum Actuator {
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
    /// Its last pace, byte/s, and what the kernel measured last, when.
    Pace {
        rate: f64,
        measured: Measured,
        measured_at: Option<Instant>,
    },
}

impl Actuator {
    /// The best that the kernel lets us have.
    pub(super) fn new() -> (Self, Option<String>) {
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
            rate: 0.0,
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
                    ..
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
    pub(super) fn apply(&self, flow: &Flow, handle: &mut FlowHandle, decision: &Decision) {
        match (self, handle) {
            (Self::Follow(kernel), FlowHandle::Follow { slot, .. }) => {
                let pace = decision.ran.pacing_rate.map_or(0, |rate| rate.as_bps() / 8);
                kernel.set(*slot, decision.ran.window.get(), pace);
            }
            (_, FlowHandle::Pace { rate, measured, .. }) => {
                if let Some(wanted) = pace(flow, measured, decision)
                    && (wanted - *rate).abs() > WORTH_PACING * *rate
                {
                    *rate = wanted;
                    // the connection may have gone
                    let _ = sys::set_max_pacing_rate(&flow.ran, wanted as u64);
                }
            }
            (Self::Pace, FlowHandle::Follow { .. }) => {}
        }
        flow.decide(decision);
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
        if let Some(flow) = flow {
            flow.release();
        }
    }
}

/// The rate that a decision's windows mean, byte/s. Each is the share times a time that is at least
/// the round trip's, so each quotient is at least the share: the less is the better estimate.
fn pace(flow: &Flow, measured: &Measured, decision: &Decision) -> Option<f64> {
    let of = |bytes: u64, rtt: Option<Duration>| {
        let seconds = rtt.map(Duration::as_secs_f64).filter(|s| *s > 0.0)?;
        Some(bytes as f64 / seconds)
    };
    let (WanWindow::Fixed(wan) | WanWindow::Budget(wan)) = decision.wan_window;
    let towards_server = of(wan.get(), flow.meters.wan_rtt.least());
    let towards_ue = of(
        decision.ran.window.get(),
        crate::meters::micros(measured.srtt),
    );
    match (towards_server, towards_ue) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
