//! The allocator through its public face: a fluid model of proxy and radio closes the loop.
#![allow(missing_docs, reason = "a test")]

use proptest::prelude::*;
use rapid::{
    Allocator, AllocatorConfig, FlowId, FlowOpened, FlowTelemetry, Mode, WanWindow, allocator,
};
use rnis::intake::CheckedReport;
use rnis::{CellId, CellReport, LinkQuality, McsTable, RadioReport, Rnti, UeReport};
use units::{Bytes, Duration, Hertz, Instant, Mcs, Prb, Slot};

const MSS: Bytes = Bytes::new(1440);
const RNTI: Rnti = Rnti(1);
const SLOTS: u32 = 8;

fn report(now: Instant, prb: u16, mcs: u8, queue: u64, served: u64, tbs: u64) -> CheckedReport {
    let report = RadioReport {
        cell: CellReport {
            scs: Hertz::from_khz(120),
            slot_duration: Duration::from_micros(125),
            slot: Slot::new(0),
            slots: SLOTS,
            ..CellReport::fdd(CellId(1), Prb::new(132))
        },
        ues: vec![UeReport {
            prb_dl: Prb::new(prb),
            tbs_bytes: Bytes::new(tbs),
            served_bytes: Bytes::new(served),
            rlc_queue_bytes: Bytes::new(queue),
            ..UeReport::idle(
                RNTI,
                LinkQuality::Mcs {
                    mcs: Mcs::new(mcs),
                    table: McsTable::NrQam64,
                    layers: 1,
                    data_re_per_prb: 144,
                },
                now,
            )
        }],
    };
    CheckedReport::new(report).expect("possible values")
}

/// One proxied flow: its server sends `demand` byte/s at most, within the window; bytes as fluid.
struct Flow {
    demand: f64,
    arrived: f64,
    buffered: f64,
    in_flight: f64,
    acked: f64,
    wan_window: WanWindow,
    ran_window: f64,
}

/// Proxy, RLC and UE as a fluid, in steps of one report period.
struct Model {
    allocator: Box<dyn Allocator>,
    flows: Vec<Flow>,
    /// Payload that the radio carries, byte/s.
    rate: f64,
    queue: f64,
    now: Instant,
    mcs: u8,
    unintercepted: f64,
}

const STEP: f64 = 0.001;
const WAN_RTT: f64 = 0.002;
const RAN_RTT: f64 = 0.001;

impl Model {
    fn new(mode: Mode, demands: &[f64]) -> Self {
        let mut allocator = allocator(AllocatorConfig::new(mode)).unwrap();
        for id in 0..demands.len() {
            let opened = FlowOpened {
                ue: RNTI,
                mss: MSS,
                place: 0,
            };
            allocator.on_flow_open(Instant::ZERO, FlowId(id as u64), opened);
        }
        let flow = |&demand: &f64| Flow {
            demand,
            arrived: 0.0,
            buffered: 0.0,
            in_flight: 0.0,
            acked: 0.0,
            wan_window: WanWindow::Fixed(Bytes::new(14_480)),
            ran_window: 14_480.0,
        };
        Self {
            allocator,
            flows: demands.iter().map(flow).collect(),
            // 852.608 Mbit/s of transport blocks, 4 % of which are headers
            rate: 106_576_000.0 * 0.96,
            queue: 0.0,
            now: Instant::ZERO,
            mcs: 28,
            unintercepted: 0.0,
        }
    }

    fn step(&mut self) {
        self.now += Duration::from_millis(1);
        for flow in &mut self.flows {
            let waiting = Bytes::new(flow.buffered as u64);
            let window = flow.wan_window.shown(waiting).get() as f64;
            let arriving = (window / WAN_RTT).min(flow.demand) * STEP;
            flow.arrived += arriving;
            flow.buffered += arriving;
            let sent = (flow.ran_window - flow.in_flight).clamp(0.0, flow.buffered);
            flow.buffered -= sent;
            flow.in_flight += sent;
        }
        // what is in flight beyond the pipe stands in the RLC
        let in_flight: f64 = self.flows.iter().map(|f| f.in_flight).sum();
        let deliverable = self.rate * STEP;
        let others = (self.unintercepted * STEP).min(deliverable);
        let served = (in_flight * STEP / RAN_RTT).min(deliverable - others);
        self.queue = (in_flight - (deliverable - others) * RAN_RTT / STEP).max(0.0);
        for flow in &mut self.flows {
            let part = if in_flight > 0.0 {
                served * flow.in_flight / in_flight
            } else {
                0.0
            };
            flow.in_flight -= part;
            flow.acked += part;
        }
        for (id, flow) in self.flows.iter().enumerate() {
            let telemetry = FlowTelemetry {
                wan_arrived: Bytes::new(flow.arrived as u64),
                wan_min_rtt: Some(Duration::from_secs_f64(WAN_RTT)),
                wan_srtt: Some(Duration::from_secs_f64(WAN_RTT)),
                ran_min_rtt: Some(Duration::from_secs_f64(RAN_RTT)),
                ran_srtt: Some(Duration::from_secs_f64(RAN_RTT)),
                ran_rtt: None,
                ran_acked: Bytes::new(flow.acked as u64),
                ran_resent: Bytes::ZERO,
                ran_in_flight: Bytes::new(flow.in_flight as u64),
                buffered: Bytes::new(flow.buffered as u64),
            };
            self.allocator
                .on_telemetry(self.now, FlowId(id as u64), &telemetry);
        }
        let total = served + others;
        let prb = (132.0 * total / deliverable).round() as u16;
        let report = report(
            self.now,
            prb,
            self.mcs,
            self.queue as u64,
            total as u64,
            (total / 0.96) as u64,
        );
        self.allocator.on_report(self.now, &report);
        self.apply();
    }

    fn apply(&mut self) {
        while let Some(d) = self.allocator.poll_decision() {
            let flow = &mut self.flows[d.flow.0 as usize];
            flow.wan_window = d.wan_window;
            flow.ran_window = d.ran.window.get() as f64;
        }
    }

    /// Goodput of each flow over the next `seconds`, byte/s, and the largest queue, seconds.
    fn run(&mut self, seconds: f64) -> (Vec<f64>, f64) {
        let before: Vec<f64> = self.flows.iter().map(|f| f.acked).collect();
        let mut largest = 0.0f64;
        for _ in 0..(seconds / STEP) as usize {
            self.step();
            largest = largest.max(self.queue / self.rate);
        }
        let rates = self
            .flows
            .iter()
            .zip(before)
            .map(|(f, b)| (f.acked - b) / seconds)
            .collect();
        (rates, largest)
    }
}

#[test]
fn default_two_greedy_flows_share_equally_fill_the_radio_and_keep_it_short() {
    let mut model = Model::new(Mode::Default, &[f64::INFINITY, f64::INFINITY]);
    model.run(0.5);
    let (rates, queue) = model.run(1.0);
    let total: f64 = rates.iter().sum();
    assert!(
        total > 0.98 * model.rate && total < 1.001 * model.rate,
        "{}",
        total / model.rate
    );
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.02, "{rates:?}");
    assert!(queue < 0.0015, "{queue}");
}

#[test]
fn default_a_slow_flow_gets_its_whole_demand_and_the_rest_is_used() {
    let web = 2_000_000.0;
    let mut model = Model::new(Mode::Default, &[f64::INFINITY, web]);
    model.run(0.5);
    let (rates, _) = model.run(1.0);
    assert!((rates[1] / web - 1.0).abs() < 0.01, "{rates:?}");
    assert!(rates[0] > 0.97 * (model.rate - web), "{rates:?}");
}

#[test]
fn default_leaves_unintercepted_traffic_its_rate() {
    let mut model = Model::new(Mode::Default, &[f64::INFINITY]);
    model.unintercepted = 0.25 * model.rate;
    model.run(1.0);
    let (rates, queue) = model.run(1.0);
    assert!(
        rates[0] > 0.97 * 0.75 * model.rate,
        "{}",
        rates[0] / model.rate
    );
    assert!(queue < 0.0025, "{queue}");
}

#[test]
fn default_a_fall_of_the_rate_empties_the_queue_again() {
    let mut model = Model::new(Mode::Default, &[f64::INFINITY, f64::INFINITY]);
    model.run(0.5);
    // MCS 4 of table 1 has 308/1024 x 2 bit, MCS 28 948/1024 x 6
    model.rate *= 308.0 * 2.0 / (948.0 * 6.0);
    model.mcs = 4;
    model.run(0.2);
    let (rates, queue) = model.run(0.5);
    assert!(rates.iter().sum::<f64>() > 0.97 * model.rate);
    assert!(queue < 0.003, "{queue}");
}

#[test]
fn default_without_reports_neither_stops_nor_grows() {
    let mut model = Model::new(Mode::Default, &[f64::INFINITY]);
    model.run(1.0);
    let with_reports = model.flows[0].ran_window;
    let end = model.now + Duration::from_secs(2);
    while let Some(at) = model.allocator.next_deadline().filter(|at| *at < end) {
        let flow = &mut model.flows[0];
        let passed = at.saturating_since(model.now).as_secs_f64();
        model.now = at;
        flow.acked += model.rate * passed;
        let telemetry = FlowTelemetry {
            wan_arrived: Bytes::new(flow.acked as u64),
            wan_min_rtt: Some(Duration::from_secs_f64(WAN_RTT)),
            wan_srtt: Some(Duration::from_secs_f64(WAN_RTT)),
            ran_min_rtt: Some(Duration::from_secs_f64(RAN_RTT)),
            ran_acked: Bytes::new(flow.acked as u64),
            ran_in_flight: Bytes::new(flow.ran_window as u64),
            ..FlowTelemetry::default()
        };
        model.allocator.on_telemetry(at, FlowId(0), &telemetry);
        model.allocator.on_deadline(at);
        model.apply();
    }
    let without = model.flows[0].ran_window;
    assert!(
        without > 0.8 * with_reports && without < 1.2 * with_reports,
        "{with_reports} {without}"
    );
}

#[test]
fn paper_greedy_flows_get_equation_4() {
    let mut model = Model::new(Mode::Paper, &[f64::INFINITY, f64::INFINITY]);
    model.run(0.5);
    // 852.608 Mbit/s / 2 * 2 ms
    for flow in &model.flows {
        let WanWindow::Fixed(window) = flow.wan_window else {
            panic!("{:?}", flow.wan_window);
        };
        assert!((window.get() as f64 - 106_576.0).abs() < 2.0, "{window}");
    }
}

proptest! {
    /// Whatever accepted reports, and counters, hold: no panic, and no window towards the UE below a segment.
    #[test]
    fn windows_stay_bounded_for_any_input(
        paper in any::<bool>(),
        events in prop::collection::vec(
            (0u8..5, 0u64..4, any::<u64>(), 0u16..133, 0u8..32, any::<u64>()), 1..120),
    ) {
        let mode = if paper { Mode::Paper } else { Mode::Default };
        let mut allocator = allocator(AllocatorConfig::new(mode)).unwrap();
        let mut now = Instant::ZERO;
        for (kind, id, a, prb, mcs, b) in events {
            now += Duration::from_nanos(a % 5_000_000);
            let flow = FlowId(id);
            match kind {
                0 => allocator.on_flow_open(now, flow, FlowOpened { ue: RNTI, mss: MSS, place: 0 }),
                1 => allocator.on_flow_close(now, flow),
                // amounts up to what the intake accepts
                2 => allocator.on_report(now, &report(now, prb, mcs, a >> 24, b >> 24, b >> 24)),
                3 => allocator.on_deadline(now),
                _ => {
                    let rtt = Some(Duration::from_nanos(a % 1_000_000_000));
                    allocator.on_telemetry(now, flow, &FlowTelemetry {
                        wan_arrived: Bytes::new(b), wan_min_rtt: rtt, wan_srtt: rtt,
                        ran_min_rtt: rtt, ran_srtt: rtt, ran_rtt: rtt,
                        ran_acked: Bytes::new(b), ran_resent: Bytes::new(a % (b + 1)), ran_in_flight: Bytes::new(a), buffered: Bytes::new(a),
                    });
                }
            }
            while let Some(d) = allocator.poll_decision() {
                prop_assert!(d.ran.window >= MSS, "{d:?}");
            }
        }
    }
}
