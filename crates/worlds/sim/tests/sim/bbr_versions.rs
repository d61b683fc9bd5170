//! BBR versions 2 and 3 over a drop-tail link of 50 Mbit/s and 40 ms: alone, among themselves, and
//! beside loss-based flows.

use crate::*;
use scenario::{AppSpec, RunResult};
use units::{BitRate, Duration};

const VERSIONS: [&str; 2] = ["bbr2", "bbr3"];

fn link() -> (BitRate, Duration) {
    (mbps(50), ms(40))
}

/// Two minutes of these controllers over a buffer of so many BDP.
fn compete(controllers: &[&str], buffer_bdp: f64) -> RunResult {
    compete_for(controllers, buffer_bdp, Duration::from_secs(120))
}

fn compete_for(controllers: &[&str], buffer_bdp: f64, duration: Duration) -> RunResult {
    let (rate, rtt) = link();
    let buffer = bdp(rate, rtt).mul_f64(buffer_bdp);
    let mut experiment = dumbbell(rate, rtt, buffer, duration);
    for (i, cc) in controllers.iter().enumerate() {
        let name = format!("{cc}-{i}");
        experiment.flows.push(flow(&name, cc, AppSpec::Continuous));
    }
    run(&experiment)
}

fn shares(result: &RunResult) -> Vec<f64> {
    let (rate, _) = link();
    let share = |flow| payload_share(flow, rate);
    result.flows.iter().map(share).collect()
}

#[test]
fn alone_they_fill_the_link_whatever_the_buffer() {
    let (rate, rtt) = link();
    for cc in VERSIONS {
        for buffer in [0.25, 1.0, 4.0] {
            let result = compete(&[cc], buffer);
            let used = shares(&result)[0];
            // 1 % pacing margin, 2 % for ProbeRTT, and Startup
            assert!((0.94..=0.99).contains(&used), "{cc} {buffer} BDP: {used}");
            // of 50 to 75 round trips (a probe each 2 to 3 s) a few have up to a quarter of a BDP more than
            // the path holds, and Startup's two BDP are drained within ten of 3000
            let mean = queue(&result, "link/down").mean_bytes / bdp(rate, rtt).get() as f64;
            assert!(mean <= 0.1, "{cc} {buffer} BDP: {mean}");
        }
    }
}

#[test]
fn in_a_small_buffer_they_lose_far_less_than_version_1() {
    let lost = |cc: &str| compete(&[cc], 0.25).flows[0].lost;
    let v1 = lost("bbr");
    assert!(v1 > 1_000, "{v1}");
    for cc in VERSIONS {
        let lost = lost(cc);
        assert!(lost > 0 && lost * 5 <= v1, "{cc} {lost}, version 1 {v1}");
    }
}

#[test]
fn two_of_a_kind_share_fairly() {
    for cc in VERSIONS {
        for buffer in [0.25, 1.0, 4.0] {
            let result = compete(&[cc, cc], buffer);
            let shares = shares(&result);
            assert!(jain(&shares) >= 0.95, "{cc} {buffer} BDP: {shares:?}");
            let used = result.link.utilisation;
            assert!((0.96..=1.0).contains(&used), "{cc} {buffer} BDP: {used}");
        }
    }
}

#[test]
fn beside_loss_based_flows_both_get_on() {
    for cc in VERSIONS {
        for rival in ["cubic", "newreno"] {
            for buffer in [0.25, 1.0, 4.0] {
                let result = compete(&[cc, rival], buffer);
                let shares = shares(&result);
                // neither starves, and together they fill the link as one alone does
                let sum: f64 = shares.iter().sum();
                let is_filled = (0.94..=1.0).contains(&sum);
                assert!(
                    is_filled && shares.iter().all(|&share| share >= 0.2),
                    "{cc} and {rival}, {buffer} BDP: {shares:?}"
                );
            }
        }
    }
    // which version 1 does not grant in a small buffer
    let shares = shares(&compete(&["bbr", "cubic"], 0.25));
    assert!(shares[1] < 0.15, "{shares:?}");
}

#[test]
fn runs_repeat_bit_for_bit() {
    for cc in VERSIONS {
        let run = || compete_for(&[cc, "cubic"], 1.0, Duration::from_secs(20));
        let (once, again) = (run(), run());
        assert_eq!(shares(&once), shares(&again), "{cc}");
        assert_eq!(once.events, again.events, "{cc}");
    }
}
