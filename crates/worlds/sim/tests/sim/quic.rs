//! quinn's endpoints in the simulator: what TCP flows do and show, QUIC flows do and show.

use crate::*;
use core::num::NonZeroUsize;
use scenario::{
    AccessSpec, AppSpec, Direction, Experiment, FlowResult, FlowSpec, Metric, PepMode, Transport,
};
use sim::Simulation;
use units::{BitRate, Bytes, Duration};

/// UDP payload of a full datagram.
const DATAGRAM: u64 = 1_440;

fn quic(name: &str, cc: &str, app: AppSpec) -> FlowSpec {
    let mut flow = FlowSpec {
        transport: Transport::Quic,
        ..flow(name, cc, app)
    };
    flow.tcp.mss = Bytes::new(DATAGRAM);
    flow
}

/// A dumbbell with a buffer of two bandwidth-delay products.
fn two_bdp(rate: BitRate, rtt: Duration, duration: Duration) -> Experiment {
    dumbbell(rate, rtt, bdp(rate, rtt) * 2, duration)
}

fn only(experiment: &Experiment) -> FlowResult {
    run(experiment).flows.remove(0)
}

/// Random loss on the access link, both ways.
fn set_loss(experiment: &mut Experiment, loss: f64) {
    if let AccessSpec::Link(link) = &mut experiment.access {
        link.loss = loss;
    }
}

/// Wire bytes for each byte of stream data: 28 bytes of IP and UDP, about 30 of QUIC in a datagram.
const OVERHEAD: f64 = (DATAGRAM as f64 + 28.0) / (DATAGRAM as f64 - 30.0);

#[test]
fn each_controller_completes_about_as_fast_as_over_tcp() {
    let (rate, rtt) = (mbps(50), ms(20));
    for cc in cc::names() {
        let mut experiment = two_bdp(rate, rtt, Duration::from_secs(60));
        experiment.flows.push(quic("bulk", cc, bulk(10_000_000)));
        let flow = only(&experiment);
        assert_eq!(flow.delivered, Bytes::new(10_000_000), "{cc}");
        experiment.flows[0].transport = Transport::Tcp;
        let tcp = only(&experiment);
        let seconds = |flow: &FlowResult| flow.completion.expect(cc).as_secs_f64();
        let ratio = seconds(&flow) / seconds(&tcp);
        assert!((0.85..1.15).contains(&ratio), "{cc}: {ratio}");
        let (rtt, owd) = (&flow.rtt, &flow.owd);
        // at most the buffer of two BDP, 40 ms, and two datagrams of 0.235 ms: the one in transmission and
        // its own
        assert!(
            rtt.min >= 20.0 && rtt.max < 60.5 && rtt.count > 2_500,
            "{cc}: {rtt:?}"
        );
        assert!(owd.min >= 10.0 && owd.mean < rtt.mean, "{cc}: {owd:?}");
        // quinn repeats what was lost, and little else
        let max = flow.lost + flow.lost / 10 + 10;
        assert!(
            (flow.lost..=max).contains(&flow.retransmits),
            "{cc}: {flow:?}"
        );
    }
}

#[test]
fn an_upload_is_measured_like_a_download() {
    let (rate, rtt) = (mbps(50), ms(20));
    for direction in [Direction::Down, Direction::Up] {
        let mut experiment = two_bdp(rate, rtt, Duration::from_secs(20));
        let mut flow = quic("flow", "cubic", AppSpec::Continuous);
        flow.direction = direction;
        experiment.flows.push(flow);
        let result = run(&experiment);
        let share = result.flows[0].goodput.as_bps() as f64 * OVERHEAD / rate.as_bps() as f64;
        assert!((0.95..=1.0).contains(&share), "{direction:?}: {share}");
        assert!(result.link.utilisation > 0.96, "{direction:?}");
        let flow = &result.flows[0];
        assert!(flow.rtt.min >= 20.0 && flow.owd.min >= 10.0);
        assert!(flow.completion.is_none());

        let mut experiment = two_bdp(rate, rtt, Duration::from_secs(20));
        let mut flow = quic("bulk", "cubic", bulk(3_000_000));
        flow.direction = direction;
        experiment.flows.push(flow);
        let flow = only(&experiment);
        assert_eq!(flow.delivered, Bytes::new(3_000_000), "{direction:?}");
        assert!(flow.completion.is_some(), "{direction:?}");
    }
}

#[test]
fn pages_and_short_transfers_take_the_time_that_the_link_needs() {
    let (rate, rtt) = (mbps(100), ms(10));
    let mut experiment = dumbbell(rate, rtt, bdp(rate, rtt) * 4, Duration::from_secs(10));
    let page = AppSpec::Web {
        size: Bytes::new(500_000),
        interval: ms(500),
        rate: None,
    };
    experiment.flows.push(quic("web", "cubic", page));
    let load = only(&experiment).load_time;
    assert_eq!(load.count, 20);
    let wire_ms = 500e3 * OVERHEAD * 8e3 / rate.as_bps() as f64;
    assert!(load.min > wire_ms + 10.0, "{load:?}, {wire_ms}");
    // handshake and request; four round trips of slow start until the window (10 datagrams, doubling)
    // exceeds the 87 of the BDP
    assert!(load.max < wire_ms + 20.0 + 40.0, "{load:?}, {wire_ms}");

    let paced = AppSpec::Web {
        size: Bytes::new(200_000),
        interval: ms(1000),
        rate: Some(mbps(4)),
    };
    let mut experiment = dumbbell(mbps(100), ms(10), Bytes::new(1_000_000), ms(5000));
    experiment.flows.push(quic("web", "cubic", paced));
    let load = only(&experiment).load_time;
    assert!(
        load.count == 5 && load.min > 400.0 && load.max < 425.0,
        "{load:?}"
    );

    let short = AppSpec::Short {
        size: Bytes::new(10_000), // within the initial window
        interval: ms(200),
        count: 10,
    };
    let mut experiment = dumbbell(mbps(100), ms(50), Bytes::new(1_000_000), ms(60_000));
    experiment.flows.push(quic("short", "cubic", short));
    let flow = only(&experiment);
    // Initial, Handshake; request, data: two round trips, 10 kB at 100 Mbit/s, and quinn's pacing of a
    // window that the handshake has not opened
    let load = &flow.load_time;
    assert!(
        load.count == 10 && load.min > 100.0 && load.max < 125.0,
        "{load:?}"
    );
    let completion = flow.completion.unwrap().as_millis_f64();
    assert!((1_900.0..1_930.0).contains(&completion), "{completion}");
}

#[test]
fn losses_are_made_good_during_the_handshake_and_after() {
    let mut experiment = two_bdp(mbps(20), ms(30), Duration::from_secs(120));
    set_loss(&mut experiment, 0.2); // each way: one of three exchanges fails
    let short = AppSpec::Short {
        size: Bytes::new(20_000),
        interval: ms(100),
        count: 60,
    };
    experiment.flows.push(quic("short", "cubic", short));
    let flow = only(&experiment);
    assert_eq!(flow.load_time.count, 60, "{flow:?}");
    assert_eq!(flow.delivered, Bytes::new(60 * 20_000));
    assert!(
        flow.completion.is_some() && flow.retransmits > 100,
        "{flow:?}"
    );
    // the first timeout of a handshake is a second (RFC 9002 6.2.2)
    assert!(flow.load_time.max > 1_000.0, "{:?}", flow.load_time);

    let mut experiment = two_bdp(mbps(20), ms(30), Duration::from_secs(60));
    set_loss(&mut experiment, 0.01);
    experiment
        .flows
        .push(quic("bulk", "newreno", bulk(5_000_000)));
    let flow = only(&experiment);
    assert_eq!(flow.delivered, Bytes::new(5_000_000));
    assert!(flow.completion.is_some());
}

#[test]
fn what_cannot_arrive_ends_as_failed() {
    let elapsed = |path_loss| {
        let mut experiment = two_bdp(mbps(20), ms(30), Duration::from_secs(300));
        set_loss(&mut experiment, 1.0);
        experiment.path.loss = path_loss;
        experiment
            .flows
            .push(quic("bulk", "cubic", bulk(5_000_000)));
        let result = run(&experiment);
        assert_eq!(result.flows[0].completion, None);
        assert_eq!(result.flows[0].delivered, Bytes::ZERO);
        result.elapsed.as_secs_f64()
    };
    // nothing arrives anywhere: the client gives up after its idle time
    let neither = elapsed(1.0);
    assert!((30.0..30.1).contains(&neither), "{neither}");
    // the server has received packets of the client, and has its own idle time from the last repetition
    // (after 1, 3, 7 and 15 s, RFC 9002 6.2.2, or a PING later) before the client gave up at 30 s
    let one = elapsed(0.0);
    assert!((44.9..60.1).contains(&one), "{one}");
}

#[test]
fn quic_and_tcp_share_a_link() {
    let (rate, rtt) = (mbps(30), ms(40));
    let mut experiment = dumbbell(rate, rtt, bdp(rate, rtt), Duration::from_secs(60));
    for name in ["quic-1", "quic-2"] {
        experiment
            .flows
            .push(quic(name, "cubic", AppSpec::Continuous));
    }
    let mut tcp = flow("tcp", "cubic", AppSpec::Continuous);
    tcp.tcp.mss = Bytes::new(DATAGRAM - 52);
    experiment.flows.push(tcp);
    let result = run(&experiment);
    let rates: Vec<_> = result
        .flows
        .iter()
        .map(|f| f.goodput.as_mbps_f64())
        .collect();
    assert!(jain(&rates) > 0.85, "{rates:?}");
    let sum: f64 = rates.iter().sum();
    assert!((26.5..30.0).contains(&sum), "{rates:?}");
}

#[test]
fn a_cell_carries_it() {
    let mut experiment = fast_cell(ms(10), Duration::from_secs(30));
    experiment
        .flows
        .push(quic("bulk", "cubic", bulk(40_000_000)));
    let flow = only(&experiment);
    assert_eq!(flow.delivered, Bytes::new(40_000_000));
    // no faster than the carrier's 852.6 Mbit/s; slow start takes less time again
    let completion = flow.completion.unwrap().as_secs_f64();
    let transmission = 40e6 * 8.0 / 852.6e6;
    assert!(
        (transmission..=2.0 * transmission).contains(&completion),
        "{completion}"
    );
}

#[test]
fn a_proxy_for_tcp_lets_it_pass() {
    let (rate, rtt) = (mbps(50), ms(40));
    let mut experiment = two_bdp(rate, rtt, Duration::from_secs(60));
    let mut tcp = flow("tcp", "cubic", bulk(2_000_000));
    tcp.start = Duration::from_secs(10);
    experiment
        .flows
        .push(quic("quic", "cubic", bulk(2_000_000)));
    experiment.flows.push(tcp);
    let without = run(&experiment);
    experiment.pep.mode = PepMode::Split;
    let with = run(&experiment);
    let [quic, tcp] = [0, 1].map(|i| (&without.flows[i], &with.flows[i]));
    assert_eq!(format!("{:?}", quic.0), format!("{:?}", quic.1));
    assert_ne!(format!("{:?}", tcp.0), format!("{:?}", tcp.1));
    let queues = |name: &str| with.queues.iter().any(|queue| queue.name == name);
    assert!(queues("pep/tcp") && !queues("pep/quic"));
}

#[test]
fn the_receive_window_bounds_what_is_in_flight() {
    let (rate, rtt, window) = (mbps(50), ms(40), Bytes::new(100_000));
    let mut experiment = two_bdp(rate, rtt, Duration::from_secs(10));
    experiment.sample_interval = ms(50);
    let mut flow = quic("bulk", "cubic", AppSpec::Continuous);
    flow.tcp.receive_buffer = window;
    experiment.flows.push(flow);
    let result = run(&experiment);
    // quinn promises more when an eighth of the window has been read
    let goodput = result.flows[0].goodput.as_mbps_f64();
    assert!((14.0..20.0).contains(&goodput), "{goodput}");
    let series = |metric| {
        let of = result.series.iter().find(|s| s.metric == metric);
        of.expect("it is sampled").points.clone()
    };
    let in_flight = series(Metric::BytesInFlight);
    assert!(in_flight.len() > 100);
    let max = in_flight.iter().map(|p| p.1).fold(0.0, f64::max);
    assert!(max > 80_000.0 && max < 106_000.0, "{max}");
    assert!(
        series(Metric::Cwnd)
            .iter()
            .all(|p| p.1 >= 10.0 * DATAGRAM as f64)
    );
}

#[test]
fn what_quic_cannot_do_is_refused() {
    let refusal = |change: fn(&mut FlowSpec)| {
        let mut experiment = two_bdp(mbps(50), ms(20), Duration::from_secs(1));
        experiment.flows.push(quic("bulk", "cubic", bulk(1_000)));
        change(&mut experiment.flows[0]);
        match Simulation::new(&experiment, 1) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(refusal(|_| {}), "");
    let mtu = refusal(|flow| flow.tcp.mss = Bytes::new(1_199));
    assert!(
        mtu.contains("\"bulk\"") && mtu.contains("expected 1200 to 65507 bytes"),
        "{mtu}"
    );
    let window = refusal(|flow| flow.tcp.initial_window = 0);
    assert!(window.contains("initial window is 0"), "{window}");
    let buffer = refusal(|flow| flow.tcp.receive_buffer = Bytes::new(1_439));
    assert!(buffer.contains("receive buffer is"), "{buffer}");
}

/// QUIC of all kinds with randomness everywhere.
fn noisy() -> Experiment {
    let mut experiment = dumbbell(
        mbps(50),
        ms(30),
        Bytes::new(200_000),
        Duration::from_secs(5),
    );
    experiment.path.loss = 2e-3;
    experiment.path.jitter = ms(2);
    set_loss(&mut experiment, 2e-3);
    experiment
        .flows
        .push(quic("cubic", "cubic", AppSpec::Continuous));
    experiment.flows.push(quic("bbr", "bbr", bulk(4_000_000)));
    let mut up = quic("up", "newreno", bulk(1_000_000));
    up.direction = Direction::Up;
    experiment.flows.push(up);
    let short = AppSpec::Short {
        size: Bytes::new(20_000),
        interval: ms(90),
        count: 20,
    };
    experiment.flows.push(quic("short", "newreno", short));
    experiment.flows.push(flow("tcp", "cubic", bulk(2_000_000)));
    experiment
}

#[test]
fn a_seed_gives_one_result_whatever_the_number_of_threads() {
    let experiment = Experiment {
        repeats: 4,
        ..noisy()
    };
    let results = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let results = sim::run_repeats_on(threads, &experiment, &|_| {}).unwrap();
        results.iter().map(|r| format!("{r:?}")).collect::<Vec<_>>()
    };
    let one = results(1);
    assert_eq!(one, results(3));
    assert_eq!(one, results(2));
    assert_ne!(one[0].replace("seed: 1", ""), one[1].replace("seed: 2", ""));
}

#[test]
fn quic_beside_them_changes_no_other_flows_draws() {
    let gaming = AppSpec::Gaming {
        packet: Bytes::new(120),
        interval: ms(16),
        deviation: ms(4),
    };
    let mut alone = dumbbell(
        mbps(100),
        ms(20),
        Bytes::new(1_000_000),
        Duration::from_secs(10),
    );
    alone.flows.push(udp("gaming", gaming));
    let mut more = alone.clone();
    more.flows.push(quic("web", "cubic", bulk(1_000_000)));
    let (alone, more) = (run(&alone), run(&more));
    assert_eq!(alone.flows[0].delivered, more.flows[0].delivered);
    assert_eq!(more.flows[1].delivered, Bytes::new(1_000_000));
}

#[test]
fn packets_are_conserved() {
    let mut simulation = Simulation::new(&noisy(), 7).unwrap();
    simulation.run();
    let counts = simulation.packet_counts();
    let counted = counts.delivered + counts.dropped + counts.in_network;
    assert_eq!(counts.sent, counted);
    assert!(counts.dropped > 0);
}
