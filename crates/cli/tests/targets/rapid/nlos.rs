//! Behind buildings: figures 4 and 5 without line of sight.

use super::*;
use scenario::Metric;
use units::Instant;

/// Seconds until both downloads are complete.
fn done(result: &RunResult) -> f64 {
    completion(flow(result, "cubic")).max(completion(flow(result, "bbr")))
}

#[test]
fn fast_embb_nlos_keeps_the_goodput_and_takes_the_delay() {
    for rtt_ms in RTTS_MS {
        let rtt = format!("{rtt_ms} ms");
        let base = f64::from(rtt_ms);
        let plain = run("fast-embb-nlos", &[("rtt", &rtt), ("pep", "none")]);
        let result = run("fast-embb-nlos", &[("rtt", &rtt), ("pep", "default")]);
        // 400 MB either way
        let goodput = done(&plain) / done(&result);
        assert!(goodput >= 0.9, "{rtt}: {goodput} of the plain goodput");
        let (with, without) = (flow(&result, "cubic"), flow(&plain, "cubic"));
        let factor = increase(&without.rtt, base) / increase(&with.rtt, base);
        assert!(
            factor >= 20.0,
            "{rtt}: delay increase only {factor} times smaller"
        );
        assert_eq!(rlc_drops(&result), 0, "{rtt}");
        let shares = with.goodput.as_mbps_f64() / flow(&result, "bbr").goodput.as_mbps_f64();
        assert!((0.95..=1.05).contains(&shares), "{rtt}: {shares}");
    }
}

#[test]
fn mixed_nlos_gives_the_slow_flow_what_the_radio_has_and_keeps_both_short() {
    for rtt_ms in RTTS_MS {
        let rtt = format!("{rtt_ms} ms");
        let base = f64::from(rtt_ms);
        let by = |pep| {
            let set = [("rtt", &*rtt), ("pep", pep), ("duration", MIXED)];
            run("mixed-nlos", &set)
        };
        let (plain, result) = (by("none"), by("default"));
        let sum = |result: &RunResult| -> f64 {
            result.flows.iter().map(|f| f.goodput.as_mbps_f64()).sum()
        };
        let share = sum(&result) / sum(&plain);
        assert!(
            (0.9..=1.05).contains(&share),
            "{rtt}: {share} of the plain goodput"
        );
        for name in ["bulk", "web"] {
            let (with, without) = (flow(&result, name), flow(&plain, name));
            let factor = increase(&without.rtt, base) / increase(&with.rtt, base);
            assert!(factor >= 20.0, "{rtt}, {name}: only {factor} times smaller");
        }
        // figure 5d has 8 of the 16 Mbit/s that it offers
        let web = flow(&result, "web").goodput.as_mbps_f64();
        assert!((14.0..=16.1).contains(&web), "{rtt}: {web} Mbit/s");
    }
}

/// After each time behind a building: how long from the radio's being back at nine tenths of its best
/// rate until the flow has nine tenths of its half of it.
#[test]
fn each_flow_has_its_share_within_200_ms_of_the_blockages_end() {
    for rtt in ["1 ms", "4 ms", "10 ms"] {
        let set = [
            ("rtt", rtt),
            ("pep", "default"),
            ("sample-interval", "10 ms"),
        ];
        let result = run("fast-embb-nlos", &set);
        let series = |entity: &str, metric| {
            let found = result.series.iter();
            let mut found = found.filter(|s| s.entity == entity && s.metric == metric);
            &found.next().expect("a series").points
        };
        let capacity = series("phone", Metric::Capacity);
        let best = capacity.iter().map(|&(_, c)| c).fold(0.0, f64::max);
        let mut ends: Vec<(Instant, f64)> = Vec::new();
        let mut is_blocked = false;
        for &(at, now) in capacity {
            is_blocked |= now < 0.3 * best;
            if is_blocked && now > 0.9 * best {
                is_blocked = false;
                ends.push((at, now));
            }
        }
        assert!(!ends.is_empty(), "{rtt}: the walk leads out of a shadow");
        for name in ["cubic", "bbr"] {
            let goodput = series(name, Metric::Goodput);
            for &(end, capacity) in &ends {
                let after = goodput.iter().filter(|&&(at, _)| at >= end);
                let back = after
                    .clone()
                    .find(|&&(_, rate)| rate >= 0.9 * 0.96 * capacity / 2.0)
                    .unwrap_or_else(|| panic!("{rtt}, {name}: never after {end}"));
                let took = back.0.saturating_since(end).as_secs_f64();
                assert!(took <= 0.2, "{rtt}, {name}: {took} s after {end}");
            }
        }
    }
}
