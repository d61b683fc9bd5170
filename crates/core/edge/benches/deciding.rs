//! What a radio report costs the machine that decides, on one core and without a socket.
//!
//! `cargo bench -p edge --bench deciding` prints a line for each case: microseconds of a report, nanoseconds of it for each
//! flow, decisions that came of it, and which share of a core reports of 1 ms take. A word selects lines by name.
//!
//! Each UE has ten flows, each of which is sent 5 kB every 50 ms, one after the other, so that in each millisecond a
//! fiftieth of them moves and the rest stands still. The driver names the flows that have moved, as the live proxy does;
//! *unnamed* is one that does not. *Idle* is a cell none of whose flows moves. The radio is wide open and its queue
//! empty, which moves windows with each report. Not in the time: making the report, and carrying out what is decided,
//! which is counted. The time is the least mean of 200 rounds of ten reports: on a busy machine some are not interrupted.
#![expect(
    clippy::disallowed_methods,
    reason = "a bench has a clock and arguments"
)]

use edge::{Action, Actuator, Adopted, Edge, EdgeConfig, Meters};
use rapid::{FlowId, FlowTelemetry, Mode};
use rnis::{CellId, CellReport, LinkQuality, RadioReport, Rnti, UeReport};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant as Clock;
use units::{Bytes, Duration, Instant, Prb, Slot};

const FLOWS_EACH: u64 = 10;
/// What a flow is sent, and how often, in reports.
const PIECE: Bytes = Bytes::new(5_000);
const PERIOD: u64 = 50;
/// What is acknowledged and waits is so much later, in reports.
const WAY: u64 = 2;
const REPORTS: u64 = 10;
const ROUNDS: u64 = 200;
/// Reports before the first round: all flows are under control, and their windows have settled.
const WARM_UP: u64 = 2_000;

/// How flows move, and what the driver says of it.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Named,
    Unnamed,
    Idle,
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn address(ue: u16) -> IpAddr {
    let [high, low] = ue.to_be_bytes();
    Ipv4Addr::new(10, 45, high, low).into()
}

/// A report of these UEs, which share a cell of 400 Gbit/s, none of it used.
fn report(ues: u16, ms: u64) -> RadioReport {
    let quality = LinkQuality::Measured {
        full_band_millibytes: 50_000_000_000,
    };
    let ue = |ue: u16| UeReport {
        ip: Some(address(ue)),
        seq: ms,
        ..UeReport::idle(Rnti(ue), quality, at(ms))
    };
    RadioReport {
        cell: CellReport {
            slot: Slot::new(ms),
            ..CellReport::fdd(CellId(1), Prb::new(100))
        },
        ues: (1..=ues).map(ue).collect(),
    }
}

/// The flows of a cell.
struct Driver {
    kind: Kind,
    flows: u64,
    ms: u64,
}

impl Driver {
    /// Pieces of a flow that have been sent by then.
    fn pieces(&self, flow: u64, ms: u64) -> u64 {
        let ms = match self.kind {
            // none since the beginning of the last part of warming up
            Kind::Idle => ms.min(WARM_UP / 4),
            Kind::Named | Kind::Unnamed => ms,
        };
        (ms + flow * PERIOD / self.flows) / PERIOD
    }
}

impl Meters for Driver {
    fn measure(&mut self, flow: FlowId) -> Option<FlowTelemetry> {
        let arrived = PIECE * self.pieces(flow.0, self.ms);
        let acked = PIECE * self.pieces(flow.0, self.ms.saturating_sub(WAY));
        Some(FlowTelemetry {
            wan_arrived: arrived,
            wan_min_rtt: Some(Duration::from_micros(10_000 + flow.0 % 7 * 1_000)),
            wan_srtt: Some(Duration::from_micros(11_000 + flow.0 % 7 * 1_000)),
            ran_min_rtt: Some(Duration::from_micros(8_000 + flow.0 % 3 * 100)),
            ran_srtt: Some(Duration::from_millis(9)),
            ran_acked: acked,
            ran_in_flight: arrived - acked,
            ..FlowTelemetry::default()
        })
    }

    fn changed(&mut self, flows: &mut Vec<FlowId>) -> bool {
        if self.kind == Kind::Unnamed {
            return false;
        }
        let has_moved = |flow: &u64| {
            let pieces = |back| self.pieces(*flow, self.ms.saturating_sub(back));
            pieces(0) != pieces(1) || pieces(WAY) != pieces(WAY + 1)
        };
        flows.extend((0..self.flows).filter(has_moved).map(FlowId));
        true
    }
}

/// Carries out what is to be done; gives the number of decisions.
fn carry_out(edge: &mut Edge, now: Instant) -> u64 {
    let mut decisions = 0;
    while let Some(action) = edge.poll_action() {
        match action {
            Action::Adopt { flow } => {
                let (mss, actuator) = (Bytes::new(1_448), Actuator::Window);
                edge.on_adopted(now, flow, Adopted { mss, actuator });
            }
            Action::Decision(_) => decisions += 1,
            _ => {}
        }
    }
    decisions
}

/// A report; gives its time, and the decisions that came of it.
fn decide(edge: &mut Edge, driver: &mut Driver, ues: u16, ms: u64) -> (f64, u64) {
    let (now, report) = (at(ms), report(ues, ms));
    driver.ms = ms;
    let mut named = Named {
        flows: Vec::new(),
        is_known: false,
        driver,
    };
    // finding them out is the driver's
    named.is_known = named.driver.changed(&mut named.flows);
    let began = Clock::now();
    edge.on_report(now, report, false, &mut named);
    let time = began.elapsed().as_secs_f64();
    (time, carry_out(edge, now))
}

/// The driver, with what has changed found out before.
struct Named<'a> {
    flows: Vec<FlowId>,
    is_known: bool,
    driver: &'a mut Driver,
}

impl Meters for Named<'_> {
    fn measure(&mut self, flow: FlowId) -> Option<FlowTelemetry> {
        self.driver.measure(flow)
    }
    fn changed(&mut self, flows: &mut Vec<FlowId>) -> bool {
        flows.append(&mut self.flows);
        self.is_known
    }
}

fn measure(name: &str, ues: u16, kind: Kind) {
    let flows = u64::from(ues) * FLOWS_EACH;
    let config = EdgeConfig::new(Mode::Default);
    let mut edge = Edge::new(config, &BTreeMap::new()).expect("a configuration that works");
    let mut driver = Driver { kind, flows, ms: 0 };
    for flow in 0..flows {
        let ue = (flow / FLOWS_EACH) as u16 + 1;
        edge.on_flow_open(at(0), FlowId(flow), address(ue));
    }
    for ms in 1..=WARM_UP {
        edge.on_deadline(at(ms), &mut driver);
        carry_out(&mut edge, at(ms));
        decide(&mut edge, &mut driver, ues, ms);
    }
    let (mut least, mut decisions) = (f64::INFINITY, 0);
    for round in 0..ROUNDS {
        let mut sum = 0.0;
        for n in 1..=REPORTS {
            let ms = WARM_UP + round * REPORTS + n;
            let (time, decided) = decide(&mut edge, &mut driver, ues, ms);
            sum += time;
            decisions += decided;
        }
        least = least.min(sum / REPORTS as f64);
    }
    let under_control: usize = edge.cells(at(0)).map(|cell| cell.flows).sum();
    assert_eq!(under_control as u64, flows, "all are under control");
    println!(
        "{name:<24} {:>8.1} us a report  {:>6.1} ns a flow  {:>8.1} decisions a report  {:>6.1} % of a core",
        least * 1e6,
        least * 1e9 / flows as f64,
        decisions as f64 / (ROUNDS * REPORTS) as f64,
        least / 0.001 * 100.0,
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&String> = words.iter().filter(|w| !w.starts_with('-')).collect();
    for ues in [200, 2_000] {
        for (kind, what) in [
            (Kind::Named, ""),
            (Kind::Unnamed, " unnamed"),
            (Kind::Idle, " idle"),
        ] {
            let name = format!("{ues} UEs x {FLOWS_EACH}{what}");
            if words.is_empty() || words.iter().any(|word| name.contains(*word)) {
                measure(&name, ues, kind);
            }
        }
    }
}
