//! Applications, and what is measured of them.

use crate::*;
use scenario::{AccessSpec, AppSpec, Direction, Metric};
use units::{Bytes, Duration};

#[test]
fn a_bulk_transfer_takes_its_slow_start_and_its_bytes() {
    let (rate, rtt) = (mbps(50), ms(20));
    let mut experiment = dumbbell(rate, rtt, bdp(rate, rtt) * 2, Duration::from_secs(60));
    experiment
        .flows
        .push(flow("bulk", "cubic", bulk(10_000_000)));
    let result = run(&experiment);
    let flow = &result.flows[0];
    assert_eq!(flow.delivered, Bytes::new(10_000_000));
    // wire time of 10 MB, and two round trips before the first byte
    let wire = 10e6 * (PACKET as f64 / MSS as f64) * 8.0 / rate.as_bps() as f64;
    let completion = flow.completion.unwrap().as_secs_f64();
    assert!(
        completion > wire + 0.04 && completion < wire + 0.4,
        "{completion} of {wire}"
    );
    // the run ends with its last flow
    assert_eq!(result.elapsed, flow.completion.unwrap());
}

/// TCP's handshake, SSH's seven exchanges, and the command with its output.
#[test]
fn a_command_over_ssh_takes_nine_round_trips() {
    let (rate, rtt) = (mbps(1000), ms(50));
    let mut experiment = dumbbell(rate, rtt, bdp(rate, rtt), Duration::from_secs(10));
    let size = Bytes::new(10_000);
    let flows = &mut experiment.flows;
    flows.push(flow("ssh", "cubic", AppSpec::Ssh { size }));
    let result = run(&experiment);
    let completion = result.flows[0].completion.expect("it ends").as_secs_f64();
    assert!(
        (0.45..0.46).contains(&completion),
        "{completion} s of 9 x 50 ms"
    );
    let answers = network::app::ssh::EXCHANGES.iter();
    let answers: Bytes = answers.map(|of| of.answer).fold(Bytes::ZERO, |a, b| a + b);
    assert_eq!(result.flows[0].delivered, size + answers);
}

#[test]
fn an_upload_is_measured_like_a_download() {
    let (rate, rtt) = (mbps(50), ms(20));
    let mut experiment = dumbbell(rate, rtt, bdp(rate, rtt), Duration::from_secs(20));
    experiment
        .flows
        .push(flow("up", "cubic", AppSpec::Continuous));
    experiment.flows[0].direction = Direction::Up;
    let result = run(&experiment);
    let share = payload_share(&result.flows[0], rate);
    assert!((0.97..=1.0).contains(&share), "{share}");
    assert!(result.link.utilisation > 0.97);
    assert!(result.flows[0].rtt.min >= 20.0 && result.flows[0].owd.min >= 10.0);
}

#[test]
fn pages_load_in_the_time_that_the_link_needs() {
    let (rate, rtt) = (mbps(100), ms(10));
    let mut experiment = dumbbell(rate, rtt, bdp(rate, rtt) * 4, Duration::from_secs(10));
    let size = Bytes::new(500_000);
    let page = AppSpec::Web {
        size,
        interval: ms(500),
        rate: None,
    };
    experiment.flows.push(flow("web", "cubic", page));
    let result = run(&experiment);
    let load = &result.flows[0].load_time;
    assert_eq!(load.count, 20);
    let wire_ms = 500e3 * (PACKET as f64 / MSS as f64) * 8e3 / rate.as_bps() as f64;
    assert!(load.min > wire_ms + 10.0, "{load:?}, {wire_ms}");
    // handshake and request; four round trips of slow start until the window (10 segments, doubling)
    // exceeds the 83 of the BDP
    assert!(load.max < wire_ms + 20.0 + 40.0, "{load:?}, {wire_ms}");
}

#[test]
fn a_paced_page_takes_its_rate() {
    let mut experiment = dumbbell(mbps(100), ms(10), Bytes::new(1_000_000), ms(5000));
    let size = Bytes::new(200_000);
    // 200 kB at 4 Mbit/s: 400 ms
    let page = AppSpec::Web {
        size,
        interval: ms(1000),
        rate: Some(mbps(4)),
    };
    experiment.flows.push(flow("web", "cubic", page));
    let load = run(&experiment).flows[0].load_time.clone();
    assert_eq!(load.count, 5);
    assert!(load.min > 400.0 && load.max < 425.0, "{load:?}");
}

#[test]
fn a_slow_page_delays_the_next_one() {
    // 1 MB at 4 Mbit/s takes 2 s; a page each 0.5 s is requested as soon as the last is there
    let mut experiment = dumbbell(mbps(100), ms(10), Bytes::new(1_000_000), ms(10_500));
    let size = Bytes::new(1_000_000);
    let page = AppSpec::Web {
        size,
        interval: ms(500),
        rate: Some(mbps(4)),
    };
    experiment.flows.push(flow("web", "cubic", page));
    let result = run(&experiment);
    assert_eq!(result.flows[0].load_time.count, 5);
}

#[test]
fn short_transfers_count_their_handshake() {
    let mut experiment = dumbbell(mbps(100), ms(50), Bytes::new(1_000_000), ms(60_000));
    let size = Bytes::new(10_000); // within the initial window
    let short = AppSpec::Short {
        size,
        interval: ms(200),
        count: 10,
    };
    experiment.flows.push(flow("short", "cubic", short));
    let result = run(&experiment);
    let load = &result.flows[0].load_time;
    assert_eq!(load.count, 10);
    // SYN, SYN-ACK; request, data: two round trips and 10 kB at 100 Mbit/s
    assert!(load.min > 100.0 && load.max < 103.0, "{load:?}");
    let completion = result.flows[0].completion.unwrap().as_millis_f64();
    assert!((completion - 1900.0).abs() < 5.0, "{completion}");
}

#[test]
fn constant_rate_datagrams_are_counted_and_timed() {
    let mut experiment = dumbbell(mbps(10), ms(40), Bytes::new(100_000), ms(60_000));
    let stop = Some(Duration::from_secs(10));
    let cbr = AppSpec::Cbr {
        rate: mbps(2),
        packet: Bytes::new(1000),
        stop,
    };
    experiment.flows.push(udp("udp", cbr));
    let result = run(&experiment);
    let flow = &result.flows[0];
    assert_eq!(flow.delivered, Bytes::new(2_500_000));
    assert_eq!((flow.lost, flow.owd.count), (0, 2500));
    // half of the base RTT, and 1028 B at 10 Mbit/s (and twice at 1 Gbit/s or more)
    let expected = 20.0 + 1028.0 * 8e3 / 10e6;
    assert!((flow.owd.mean - expected).abs() < 0.02, "{}", flow.owd.mean);
    assert!(flow.jitter_ms < 0.001, "{}", flow.jitter_ms);
    assert!(flow.completion.is_some() && result.elapsed < ms(10_100));
}

#[test]
fn lost_datagrams_and_jitter_show() {
    let mut experiment = dumbbell(mbps(10), ms(40), Bytes::new(100_000), ms(60_000));
    experiment.path.jitter = ms(8);
    if let AccessSpec::Link(link) = &mut experiment.access {
        link.loss = 0.05;
    }
    let stop = Some(Duration::from_secs(50));
    let cbr = AppSpec::Cbr {
        rate: mbps(1),
        packet: Bytes::new(1250),
        stop,
    };
    experiment.flows.push(udp("udp", cbr));
    let result = run(&experiment);
    let flow = &result.flows[0];
    assert_eq!(flow.lost + flow.owd.count, 5000);
    // binomial, 4 standard deviations
    assert!((flow.lost as f64 - 250.0).abs() < 62.0, "{}", flow.lost);
    // |D| of two independent uniform delays on 0..8 ms has the mean 8/3; packets are 10 ms apart
    assert!(
        (flow.jitter_ms - 8.0 / 3.0).abs() < 1.5,
        "{}",
        flow.jitter_ms
    );
    assert!(
        (flow.owd.mean - (20.0 + 1.02 + 4.0)).abs() < 0.3,
        "{}",
        flow.owd.mean
    );
    assert_eq!(flow.completion, None);
}

#[test]
fn a_datagram_overload_loses_what_does_not_fit() {
    let mut experiment = dumbbell(mbps(5), ms(20), Bytes::new(50_000), ms(60_000));
    let stop = Some(Duration::from_secs(20));
    let cbr = AppSpec::Cbr {
        rate: mbps(10),
        packet: Bytes::new(1222),
        stop,
    };
    experiment.flows.push(udp("udp", cbr));
    let result = run(&experiment);
    let flow = &result.flows[0];
    // 1250 B on the wire: 5 Mbit/s carry 4.888 Mbit/s of payload
    let goodput = flow.goodput.as_bps() as f64;
    assert!(
        (goodput / (5e6 * 1222.0 / 1250.0) - 1.0).abs() < 0.01,
        "{goodput}"
    );
    assert!(result.link.utilisation > 0.99);
    let queue = queue(&result, "link/down");
    // a full buffer of 40 packets, 2 ms each
    assert!(
        (queue.sojourn.p50 - 80.0).abs() < 2.5,
        "{:?}",
        queue.sojourn
    );
    assert_eq!(queue.drops, flow.lost);
}

#[test]
fn series_are_sampled_at_each_step() {
    let mut experiment = dumbbell(mbps(20), ms(20), Bytes::new(100_000), ms(1000));
    experiment
        .flows
        .push(flow("cubic", "cubic", AppSpec::Continuous));
    let result = run(&experiment);
    let points = |metric| {
        let series = result
            .series
            .iter()
            .find(|s| s.entity == "cubic" && s.metric == metric);
        series.unwrap().points.clone()
    };
    for metric in [
        Metric::Goodput,
        Metric::Rtt,
        Metric::BytesInFlight,
        Metric::Cwnd,
        Metric::ReceiveWindow,
    ] {
        assert_eq!(points(metric).len(), 10, "{metric:?}");
    }
    let delivered: f64 = points(Metric::Goodput)
        .iter()
        .map(|(_, bps)| bps / 10.0 / 8.0)
        .sum();
    assert!((delivered - result.flows[0].delivered.get() as f64).abs() < 2.0 * PACKET as f64);
    assert!(
        result
            .series
            .iter()
            .any(|s| s.entity == "link" && s.metric == Metric::Capacity)
    );
    assert!(result.series.iter().any(|s| s.entity == "link/down"));
}
