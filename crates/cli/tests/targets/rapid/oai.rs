//! The 4G cell: figures 9, 10 and 12 to 14.

use super::*;

#[test]
fn oai_fast_shares_the_4g_link_and_keeps_it_short() {
    let result = run("oai-fast", &[("pep", "default")]);
    for name in ["cubic", "bbr"] {
        let flow = flow(&result, name);
        let goodput = flow.goodput.as_mbps_f64();
        assert!((7.8..=8.3).contains(&goodput), "{name}: {goodput} Mbit/s");
        assert!(flow.rtt.p90 < 100.0, "{name}: p90 {} ms", flow.rtt.p90);
    }
    assert_eq!(rlc_drops(&result), 0);
}

/// Seconds that 500 kB take at a third of the 16.0 Mbit/s of payload that the cell carries: the downloads
/// have the other two thirds.
const SHORT_LINK_TIME_S: f64 = 500e3 * 8.0 / (16.0e6 / 3.0);

/// TCP's handshake, the seven exchanges of SSH and the command: round trips of 50 ms before the output comes.
const SSH_ROUND_TRIPS: f64 = 9.0;

#[test]
fn oai_short_takes_its_link_time_and_the_round_trips_of_ssh() {
    let without = completion(flow(&run("oai-short", &[("pep", "none")]), "ssh"));
    let with = completion(flow(&run("oai-short", &[("pep", "default")]), "ssh"));
    // an equal share and no more, behind the handshakes; 40 ms are the least round trip of the cell
    let least = SHORT_LINK_TIME_S + 0.04 * SSH_ROUND_TRIPS;
    assert!(with >= least, "{with} s: more than an equal share");
    // and a few round trips to get there
    assert!(
        with <= SHORT_LINK_TIME_S + 0.06 * SSH_ROUND_TRIPS + 0.3,
        "{with} s"
    );
    assert!(without > 2.5 * with, "{without} s without, {with} s with");
}

#[test]
fn oai_udp_8m_keeps_its_rate_and_tcp_gets_the_rest() {
    for cc in ["cubic", "bbr"] {
        let result = run("oai-udp-8m", &[("pep", "default"), ("cc", cc)]);
        let udp = flow(&result, "udp");
        assert!(
            (7.95..=8.01).contains(&udp.goodput.as_mbps_f64()),
            "{cc}: {}",
            udp.goodput
        );
        assert_eq!(udp.lost, 0, "{cc}");
        let bulk = flow(&result, "bulk");
        assert!(
            (7.6..=8.3).contains(&bulk.goodput.as_mbps_f64()),
            "{cc}: {}",
            bulk.goodput
        );
    }
    // figure 12: Cubic's delay increase without the proxy is five times as large, or more
    let without = run("oai-udp-8m", &[("pep", "none")]);
    let with = run("oai-udp-8m", &[("pep", "default")]);
    let factor =
        increase(&flow(&without, "bulk").rtt, 50.0) / increase(&flow(&with, "bulk").rtt, 50.0);
    assert!(factor >= 5.0, "{factor}");
}

#[test]
fn oai_udp_150k_keeps_its_rate_and_its_delay_falls_fivefold() {
    let without = run("oai-udp-150k", &[("pep", "none")]);
    let with = run("oai-udp-150k", &[("pep", "default")]);
    let udp = flow(&with, "udp");
    assert!(
        (0.149..=0.151).contains(&udp.goodput.as_mbps_f64()),
        "{}",
        udp.goodput
    );
    assert_eq!(udp.lost, 0);
    let factor = flow(&without, "udp").owd.mean / udp.owd.mean;
    assert!(factor >= 5.0, "one-way delay only {factor} times smaller");
    let tcp = flow(&with, "bulk").goodput.as_mbps_f64();
    assert!((15.0..=16.1).contains(&tcp), "{tcp} Mbit/s");
}

/// TCP's part of both rates beside greedy QUIC, each over the flow's own time, and its RTT's 95th percentile over the base, ms.
fn beside_quic(cc: &str, queue: &str, more: &[(&str, &str)]) -> (f64, f64) {
    let mut settings = vec![
        ("pep", "default"),
        ("flow.quic.cc", cc),
        ("cell.queues.rlc.algorithm", queue),
    ];
    settings.extend_from_slice(more);
    let result = run("oai-quic", &settings);
    let [tcp, quic] = ["tcp", "quic"].map(|name| flow(&result, name));
    let [own, other] = [tcp, quic].map(|flow| flow.goodput.as_mbps_f64());
    (own / (own + other), tcp.rtt.p95 - 50.0)
}

#[test]
fn tcp_keeps_its_part_beside_quic_where_the_queues_are_apart_and_does_not_wait() {
    for cc in ["cubic", "bbr", "newreno"] {
        let (share, wait) = beside_quic(cc, "fq-codel", &[]);
        assert!(share >= 0.4, "{cc}: {share}");
        assert!(wait <= 20.0, "{cc}: {wait} ms");
    }
    let (share, wait) = beside_quic("cubic", "sfq", &[]);
    assert!(share >= 0.4 && wait <= 20.0, "{share}, {wait} ms");
}

#[test]
fn tcp_keeps_its_part_beside_quic_in_one_queue() {
    for cc in ["cubic", "bbr", "newreno"] {
        let (share, _) = beside_quic(cc, "drop-tail", &[]);
        assert!((0.4..=0.6).contains(&share), "{cc}: {share}");
    }
    // QUIC is there first
    let later = [("flow.quic.start", "0 s"), ("flow.tcp.start", "3 s")];
    for queue in ["drop-tail", "fq-codel"] {
        let (share, _) = beside_quic("cubic", queue, &later);
        assert!((0.4..=0.6).contains(&share), "{queue}: {share}");
    }
    // without the part the whole queue is taken for ours
    let without = [("pep.without", "[\"own-queue\"]")];
    let (share, _) = beside_quic("cubic", "drop-tail", &without);
    assert!(share < 0.1, "{share}");
}
