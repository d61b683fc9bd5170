//! The 4G cell: figures 9, 10, 12 and 13.

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

#[test]
fn oai_short_is_over_within_1_2_seconds() {
    let without = completion(flow(&run("oai-short", &[("pep", "none")]), "ssh"));
    let with = completion(flow(&run("oai-short", &[("pep", "default")]), "ssh"));
    // an equal share and no more, and beside it a handshake and a few round trips of 50 ms to get there
    assert!(
        with >= SHORT_LINK_TIME_S,
        "{with} s: more than an equal share"
    );
    assert!(with <= 1.2, "{with} s");
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
