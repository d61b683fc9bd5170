//! The time series of what was received: what is behind a gap counts when it comes, not when the gap is closed.

use crate::*;
use scenario::{
    AccessSpec, AppSpec, ChannelSpec, Direction, Experiment, Metric, PepMode, Transport,
};
use units::{Bytes, Duration};

/// The rates of a flow's series, bit/s, and what they sum up to, bytes.
fn rates(result: &RunResult, metric: Metric, step: Duration) -> (Vec<f64>, f64) {
    let mut all = result.series.iter();
    let series = all.find(|series| series.entity == "bulk" && series.metric == metric);
    let points = &series.expect("measured").points;
    let rates: Vec<f64> = points.iter().map(|point| point.1).collect();
    let bytes = rates.iter().sum::<f64>() * step.as_secs_f64() / 8.0;
    (rates, bytes)
}

fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// A cell whose blocks are lost, and with them, after HARQ and RLC have repaired them, packets.
fn lossy_cell(transport: Transport, mode: PepMode) -> Experiment {
    let mut experiment = fast_cell(ms(20), Duration::from_secs(4));
    experiment.sample_interval = ms(5);
    experiment.pep.mode = mode;
    let ue = &mut experiment.ues[0];
    if let ChannelSpec::ConstantMcs { bler, .. } = &mut ue.channel {
        *bler = 0.2;
    }
    ue.bearers[0].loss = 2e-4;
    let mut bulk = flow("bulk", "cubic", AppSpec::Continuous);
    bulk.transport = transport;
    experiment.flows.push(bulk);
    experiment
}

#[test]
fn no_step_receives_more_than_the_cell_carries_whatever_was_lost() {
    let mut greatest = 0.0_f64;
    for (transport, mode) in [
        (Transport::Tcp, PepMode::None),
        (Transport::Tcp, PepMode::Split),
        (Transport::Quic, PepMode::None),
        (Transport::Udp, PepMode::None),
    ] {
        let name = format!("{transport:?} {mode:?}");
        let mut experiment = lossy_cell(transport, mode);
        if transport == Transport::Udp {
            experiment.flows[0].app = AppSpec::Cbr {
                rate: mbps(700),
                packet: Bytes::new(1_400),
                stop: None,
            };
        }
        let result = run(&experiment);
        let step = experiment.sample_interval;
        let of = |metric| rates(&result, metric, step);
        let ((goodput, delivered), (received, came)) = (of(Metric::Goodput), of(Metric::Received));
        let capacity = result.link.capacity.as_bps() as f64;
        // a step may hold a slot more than its share, and a packet of which the larger part came before
        let slot = 1e-3 / 8.0;
        let limit =
            capacity * (1.0 + slot / step.as_secs_f64()) + 8.0 * 1_500.0 / step.as_secs_f64();
        let most = max(&received);
        greatest = greatest.max(max(&goodput) / capacity);
        assert!(most <= limit, "{name}: {most} of {limit}");
        // nothing is counted twice, and only what still waits for a gap to be closed has not been delivered
        assert_eq!(received.len(), goodput.len());
        let total = result.flows[0].delivered.get() as f64;
        assert!(
            (delivered - total).abs() < 0.02 * total,
            "{delivered} of {total}"
        );
        assert!(came >= 0.99 * delivered, "{came} of {delivered}");
        assert!(came <= delivered + 40e6, "{came} of {delivered}");
    }
    // what is delivered in order comes at many times the rate
    assert!(greatest > 1.5, "{greatest}");
}

/// Over a wire nothing waits below TCP: what comes is what the link carries.
#[test]
fn over_a_lossy_wire_both_directions_receive_what_the_link_carries() {
    let mut greatest = 0.0_f64;
    for (transport, direction) in [
        (Transport::Tcp, Direction::Down),
        (Transport::Tcp, Direction::Up),
        (Transport::Quic, Direction::Down),
        (Transport::Quic, Direction::Up),
    ] {
        let rate = mbps(50);
        let mut experiment = dumbbell(rate, ms(40), bdp(rate, ms(40)), Duration::from_secs(10));
        experiment.sample_interval = ms(10);
        if let AccessSpec::Link(link) = &mut experiment.access {
            link.loss = 1e-3;
        }
        let mut bulk = flow("bulk", "cubic", bulk(5_000_000));
        (bulk.transport, bulk.direction) = (transport, direction);
        experiment.flows.push(bulk);
        let result = run(&experiment);
        let step = experiment.sample_interval;
        let (received, came) = rates(&result, Metric::Received, step);
        let (goodput, _) = rates(&result, Metric::Goodput, step);
        let limit = rate.as_bps() as f64 + 8.0 * 1_500.0 / step.as_secs_f64();
        let most = max(&received);
        greatest = greatest.max(max(&goodput) / limit);
        assert!(most <= limit, "{transport:?} {direction:?}: {most}");
        // all of it came, once; the run ends within a step
        let whole = 5e6;
        assert_eq!(result.flows[0].delivered, Bytes::new(5_000_000));
        assert!((0.97 * whole..1.001 * whole).contains(&came), "{came}");
    }
    assert!(greatest > 1.5, "{greatest}");
}
