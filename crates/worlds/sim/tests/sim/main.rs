//! Whole simulations against their analysis.

mod applications;
mod bbr_versions;
mod calls;
mod cdbe;
mod cell;
mod custom_queues;
mod determinism;
mod dumbbell;
mod experiments;
mod handover;
mod handover_mechanisms;
mod marks;
mod meld;
mod moving;
mod observers;
mod quic;
mod received;
mod recorded_cells;
mod reports;
mod tunnel;
mod tunnel_handover;
mod unsplit;
mod uplink_trace;
mod video_and_pages;

pub(crate) use experiments::*;
use scenario::{AppSpec, FlowResult, FlowSpec, QueueResult, RunResult, Transport};
use units::BitRate;

/// Wire bytes of a full segment.
const PACKET: u64 = MSS + 52;

/// A UDP flow towards the UE.
fn udp(name: &str, app: AppSpec) -> FlowSpec {
    FlowSpec {
        transport: Transport::Udp,
        ..flow(name, "cubic", app)
    }
}

/// Goodput as a share of the maximum payload that the bottleneck can carry.
fn payload_share(result: &FlowResult, rate: BitRate) -> f64 {
    result.goodput.as_bps() as f64 / (rate.as_bps() as f64 * MSS as f64 / PACKET as f64)
}

/// Jain's fairness index.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    sum * sum / (rates.len() as f64 * squares)
}

/// A queue of a result.
fn queue<'a>(result: &'a RunResult, name: &str) -> &'a QueueResult {
    result
        .queues
        .iter()
        .find(|queue| queue.name == name)
        .expect("the queue is measured")
}
