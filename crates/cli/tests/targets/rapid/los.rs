//! In line of sight: figures 4 to 7 of the paper, and random loss.

use super::*;

/// Seconds that the radio of `fast-embb-los` needs for both downloads of 200 MB: transport blocks of
/// 106576 bit, 8000 a second, of which headers (IP and TCP 52 B, PDCP, RLC and MAC 8 B to a segment
/// of 1440 B) leave 96 %.
const EMBB_LINK_TIME_S: f64 = 400e6 * 8.0 / (106_576.0 * 8_000.0 * 1440.0 / 1500.0);

#[test]
fn fast_embb_los_is_fair_quick_and_short_at_every_rtt() {
    for rtt_ms in RTTS_MS {
        let rtt = format!("{rtt_ms} ms");
        let base = f64::from(rtt_ms);
        let plain = run("fast-embb-los", &[("rtt", &rtt), ("pep", "none")]);
        let result = run("fast-embb-los", &[("rtt", &rtt), ("pep", "default")]);
        let (cubic, bbr) = (flow(&result, "cubic"), flow(&result, "bbr"));

        let ratio = cubic.goodput.as_mbps_f64() / bbr.goodput.as_mbps_f64();
        assert!(
            (0.9..=1.1).contains(&ratio),
            "{rtt}: goodputs differ by {ratio}"
        );
        let done = completion(cubic).max(completion(bbr));
        assert!(
            done <= 1.08 * EMBB_LINK_TIME_S,
            "{rtt}: both done after {done} s"
        );
        assert!(
            done >= EMBB_LINK_TIME_S * 0.995,
            "{rtt}: {done} s is faster than the link"
        );
        assert_eq!(rlc_drops(&result), 0, "{rtt}");
        for (flow, without) in [(cubic, flow(&plain, "cubic")), (bbr, flow(&plain, "bbr"))] {
            assert!(
                flow.rtt.p95 <= base + 3.0,
                "{rtt}: {} p95 {}",
                flow.name,
                flow.rtt.p95
            );
            assert!(
                flow.rtt.min >= base * 0.9,
                "{rtt}: {} min {}",
                flow.name,
                flow.rtt.min
            );
            // BBR's RTT without the proxy is that of its time alone, too: Cubic's is what both see
            if flow.name == "cubic" {
                let factor = increase(&without.rtt, base) / increase(&flow.rtt, base);
                assert!(
                    factor >= 10.0,
                    "{rtt}: delay increase only {factor} times smaller"
                );
            }
        }
    }
}

#[test]
fn paper_mode_shares_equally_and_moves_every_byte() {
    for rtt in ["1 ms", "10 ms"] {
        let result = run("fast-embb-los", &[("rtt", rtt), ("pep", "paper")]);
        let (cubic, bbr) = (flow(&result, "cubic"), flow(&result, "bbr"));
        let ratio = cubic.goodput.as_mbps_f64() / bbr.goodput.as_mbps_f64();
        assert!((0.9..=1.1).contains(&ratio), "{rtt}: {ratio}");
        assert_eq!(cubic.delivered.get(), 200_000_000);
        assert_eq!(bbr.delivered.get(), 200_000_000);
    }
}

#[test]
fn mixed_los_gives_the_slow_flow_its_whole_demand_and_the_rest_to_the_download() {
    for rtt_ms in RTTS_MS {
        let rtt = format!("{rtt_ms} ms");
        let set = [("rtt", &*rtt), ("pep", "default"), ("duration", MIXED)];
        let result = run("mixed-los", &set);
        let (bulk, web) = (flow(&result, "bulk"), flow(&result, "web"));
        let demand = web.goodput.as_mbps_f64();
        assert!((15.5..=16.1).contains(&demand), "{rtt}: {demand} Mbit/s");
        // BBR's ProbeRTT, every 10 s, takes 200 ms and a round trip, in which nearly nothing is sent; its server, which sends at
        // the rate of a page a second, never makes up for it
        let probes = 2.0 * (200.0 + f64::from(rtt_ms));
        assert!(
            web.load_time.max <= 1200.0 + probes,
            "{rtt}: {} ms",
            web.load_time.max
        );
        let link = 400e6 * 8.0 / EMBB_LINK_TIME_S / 1e6;
        assert!(
            bulk.goodput.as_mbps_f64() >= 0.95 * (link - demand),
            "{rtt}: {}",
            bulk.goodput
        );
        assert!(
            bulk.rtt.p95 <= f64::from(rtt_ms) + 3.0,
            "{rtt}: {}",
            bulk.rtt.p95
        );
    }
}

#[test]
fn scalability_gives_25_flows_the_same_and_drops_nothing() {
    for rtt in ["2 ms", "8 ms"] {
        let result = run("scalability", &[("rtt", rtt), ("pep", "default")]);
        assert_eq!(result.flows.len(), 25);
        let jain = jain(&result);
        assert!(jain >= 0.99, "{rtt}: {jain}");
        assert_eq!(rlc_drops(&result), 0, "{rtt}");
    }
}

#[test]
fn three_ccas_end_together() {
    let result = run("three-ccas", &[("pep", "default")]);
    let times: Vec<f64> = result.flows.iter().map(completion).collect();
    let (first, last) = times
        .iter()
        .fold((f64::MAX, 0f64), |(l, m), t| (l.min(*t), m.max(*t)));
    assert!(last <= 1.07 * first, "{times:?}");
}

#[test]
fn ran_loss_costs_no_more_than_what_is_lost() {
    for rtt in RTTS_MS.map(|rtt_ms| format!("{rtt_ms} ms")) {
        let time = |loss| {
            let result = run(
                "ran-loss",
                &[("rtt", &rtt), ("pep", "default"), ("loss", loss)],
            );
            completion(flow(&result, "cubic")).max(completion(flow(&result, "bbr")))
        };
        let (lossless, lossy) = (time("0"), time("0.001"));
        // 400 MB either way: goodput is the inverse of time
        let share = lossless / lossy;
        assert!((0.97..=1.001).contains(&share), "{rtt}: {share}");
    }
}
