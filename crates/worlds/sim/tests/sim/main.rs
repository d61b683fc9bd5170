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
mod uplink_queue;
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

/// The mean of what came of a flow in the steps from one second to another, Mbit/s.
fn received_mbps(result: &RunResult, flow: &str, from: u64, to: u64) -> f64 {
    let mut all = result.series.iter();
    let series = all.find(|s| s.entity == flow && s.metric == scenario::Metric::Received);
    let points = series.expect("it is measured").points.iter();
    let within = points.filter(|(at, _)| {
        let seconds = at.since_start().as_secs_f64();
        seconds > from as f64 && seconds <= to as f64
    });
    let values: Vec<f64> = within.map(|(_, value)| *value).collect();
    values.iter().sum::<f64>() / values.len() as f64 / 1e6
}

/// What comes of a run twice, which is the same; no packet appears or vanishes in it.
fn conserved_and_repeated(experiment: &scenario::Experiment) -> [RunResult; 2] {
    let results = [(); 2].map(|()| {
        let mut it = sim::Simulation::new(experiment, 3).expect("can be run");
        it.run();
        let counts = it.packet_counts();
        assert_eq!(
            counts.sent,
            counts.delivered + counts.dropped + counts.in_network
        );
        it.finish()
    });
    let [a, b] = &results;
    assert_eq!((&a.handovers, a.events), (&b.handovers, b.events));
    results
}

/// A queue of a result.
fn queue<'a>(result: &'a RunResult, name: &str) -> &'a QueueResult {
    result
        .queues
        .iter()
        .find(|queue| queue.name == name)
        .expect("the queue is measured")
}
