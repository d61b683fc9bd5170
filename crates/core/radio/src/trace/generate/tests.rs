use super::*;
use crate::trace::{Quality, write};
use proptest::prelude::*;

/// One value a second: CQI or packets per tick.
fn values(trace: &Trace) -> Vec<f64> {
    match &trace.content {
        Content::PacketsPerTick(packets) => packets.values().map(|n| n.get() as f64).collect(),
        Content::Quality(quality) => each_second(quality),
        _ => Vec::new(),
    }
}

fn each_second(quality: &Quality) -> Vec<f64> {
    let seconds = 0..quality.duration / Duration::from_secs(1);
    let held = seconds.map(|second| {
        // not at the beginning of a step, where a handover may interrupt for 50 ms
        let at = Duration::from_secs(second) + Duration::from_millis(60);
        let next = quality.samples.partition_point(|sample| sample.at <= at);
        f64::from(quality.samples[next - 1].cqi.map_or(0, |cqi| cqi.get()))
    });
    held.collect()
}

struct Moments {
    mean: f64,
    deviation: f64,
    /// After one second.
    correlation: f64,
}

fn moments(values: &[f64]) -> Moments {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    let products = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean));
    let correlation = products.sum::<f64>() / (n - 1.0) / variance;
    Moments {
        mean,
        deviation: variance.sqrt(),
        correlation,
    }
}

/// The mean of the moments of some long traces lies within these bounds.
fn check(kind: Kind, mean: [f64; 2], deviation: [f64; 2], correlation: [f64; 2]) {
    let seeds = 0..6;
    let all: Vec<f64> = seeds
        .flat_map(|seed| values(&generate(kind, Duration::from_secs(3000), seed).unwrap()))
        .collect();
    let found = moments(&all);
    let inside = |value: f64, [low, high]: [f64; 2]| (low..=high).contains(&value);
    assert!(inside(found.mean, mean), "{kind}: mean {}", found.mean);
    assert!(
        inside(found.deviation, deviation),
        "{kind}: deviation {}",
        found.deviation
    );
    assert!(
        inside(found.correlation, correlation),
        "{kind}: correlation {}",
        found.correlation
    );
}

/// `packets_pedestrian.txt`: mean 3.91, deviation 2.19, correlation 0.66.
#[test]
fn pedestrian_is_like_the_authors() {
    check(Kind::Pedestrian, [3.6, 4.2], [1.9, 2.4], [0.58, 0.72]);
}

/// `packets_train.txt`: mean 2.53, deviation 2.87, correlation 0.81.
#[test]
fn train_is_like_the_authors() {
    check(Kind::Train, [2.2, 2.8], [2.6, 3.2], [0.73, 0.86]);
}

/// The driving logs of UCC 5G: mean 9.4 to 11.4, deviation 3.0 to 3.2, correlation 0.76 to 0.83.
#[test]
fn drives_are_like_the_logs() {
    check(Kind::DriveLte, [9.4, 11.4], [2.9, 3.7], [0.70, 0.85]);
    check(Kind::DriveNr, [9.4, 11.4], [2.9, 3.7], [0.68, 0.85]);
}

#[test]
fn a_static_phone_stays_near_one_cqi() {
    check(Kind::Static, [10.3, 11.3], [0.3, 1.0], [0.8, 1.0]);
}

#[test]
fn handovers_interrupt_for_a_moment() {
    let trace = generate(Kind::DriveLte, Duration::from_secs(1800), 1).unwrap();
    let Content::Quality(quality) = &trace.content else {
        panic!("no CQI")
    };
    let interrupted = Some(Cqi::new(0));
    let dips: Vec<_> = quality
        .samples
        .windows(2)
        .filter(|pair| pair[0].cqi == interrupted)
        .map(|pair| pair[1].at - pair[0].at)
        .collect();
    // 25 km past stations 1 km apart: a handover between each two at least
    assert!(dips.len() >= 24, "{}", dips.len());
    assert!(
        dips.iter()
            .filter(|&&dip| dip == Duration::from_millis(50))
            .count()
            * 10
            >= dips.len() * 9
    );
}

#[test]
fn blockage_takes_a_mmwave_link_down_and_lets_it_come_back() {
    let trace = generate(Kind::Mmwave, Duration::from_secs(600), 1).unwrap();
    let info = trace.info();
    let Some(crate::trace::Values::Rate(rate)) = info.values else {
        panic!("no rate")
    };
    let mbps = rate.mean.as_mbps_f64();
    assert!((550.0..=800.0).contains(&mbps), "{mbps}");
    assert_eq!(rate.max.as_bps(), 852_600_000);
    assert!(info.outage_share > 0.0, "{}", info.outage_share);
}

/// SINR at which the CQI of efficiency e begins: 3 dB + `10 log10(2^e - 1)`. CQI 1 (0.1523): -6.5 dB;
/// CQI 7 (1.4766): 5.5 dB; CQI 15 (5.5547): 19.6 dB.
#[test]
fn cqi_follows_shannon_with_a_gap() {
    for (cqi, sinr) in [(1, -6.5), (7, 5.51), (15, 19.63)] {
        assert_eq!(cqi_of(Decibel::new(sinr + 0.1)), Cqi::new(cqi));
        assert_eq!(cqi_of(Decibel::new(sinr - 0.1)), Cqi::new(cqi - 1));
    }
}

#[test]
fn names_go_both_ways() {
    for kind in Kind::ALL {
        assert_eq!(kind.to_string().parse::<Kind>(), Ok(kind));
    }
    assert_eq!("drive".parse::<Kind>(), Ok(Kind::DriveLte));
    let error = "boat".parse::<Kind>().unwrap_err().to_string();
    assert!(
        error.contains("\"boat\"") && error.contains("mmwave"),
        "{error}"
    );
}

#[test]
fn durations_out_of_range_are_refused() {
    for duration in [
        Duration::ZERO,
        Duration::from_millis(999),
        MAX_DURATION + MIN_DURATION,
    ] {
        let error = generate(Kind::Static, duration, 1).unwrap_err();
        assert!(error.to_string().contains("choose 1 s to"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_seed_gives_one_trace_which_a_longer_one_continues(
        kind in proptest::sample::select(Kind::ALL.to_vec()),
        seconds in 2u64..200,
        seed: u64,
    ) {
        let make = |s| {
            let trace = generate(kind, Duration::from_secs(s), seed).unwrap();
            write(&trace, trace.format).unwrap()
        };
        let (short, long) = (make(seconds), make(2 * seconds));
        prop_assert_eq!(&make(seconds), &short);
        // all lines but the first ones, which state the duration
        let rows = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with('#')).skip(1).map(str::to_owned).collect()
        };
        prop_assert!(rows(&long).starts_with(&rows(&short)));
    }
}

/// The variance of the number of opportunities in bins of so many milliseconds over its mean, and the share of
/// bins without one.
fn dispersion(opportunities: &crate::trace::Opportunities, bin_ms: u64) -> (f64, f64) {
    let bins = opportunities.duration / Duration::from_millis(bin_ms);
    let mut counts = vec![0.0; bins as usize];
    for step in opportunities.steps() {
        if let Some(count) = counts.get_mut((step.at.as_millis() / bin_ms) as usize) {
            *count += step.packets.get() as f64;
        }
    }
    let found = moments(&counts);
    let empty = counts.iter().filter(|&&count| count == 0.0).count();
    (
        found.deviation.powi(2) / found.mean,
        empty as f64 / counts.len() as f64,
    )
}

/// Two recordings by Saturator on LTE; the bounds hold both, and ten seeds of 600 s each on average.
#[test]
fn bursts_are_like_the_recordings() {
    let seeds = 0..10;
    let traces: Vec<_> = seeds
        .map(
            |seed| match generate(Kind::Bursty, Duration::from_secs(600), seed) {
                Ok(Trace {
                    content: Content::Opportunities(opportunities),
                    ..
                }) => opportunities,
                other => panic!("no opportunities: {other:?}"),
            },
        )
        .collect();
    let mean = |value: &dyn Fn(&crate::trace::Opportunities) -> f64| {
        traces.iter().map(value).sum::<f64>() / traces.len() as f64
    };
    let inside = |what: &str, value: f64, low: f64, high: f64| {
        assert!((low..=high).contains(&value), "{what}: {value}");
    };
    inside(
        "a second",
        mean(&|trace| trace.packets().get() as f64 / 600.0),
        370.0,
        430.0,
    );
    for (bin_ms, low, high) in [
        (1, 1.9, 2.4),
        (20, 6.1, 10.3),
        (100, 21.0, 41.0),
        (500, 92.0, 148.0),
    ] {
        let value = mean(&|trace| dispersion(trace, bin_ms).0);
        inside(&format!("variance in {bin_ms} ms"), value, low, high);
    }
    inside(
        "silent for 20 ms",
        mean(&|trace| dispersion(trace, 20).1),
        0.07,
        0.17,
    );
    let longest = mean(&|trace| {
        let gaps = trace.steps().windows(2).map(|pair| pair[1].at - pair[0].at);
        gaps.max().unwrap().as_secs_f64()
    });
    // of 20 outages of mean 0.4 s the longest has 0.4 s (1 + 1/2 + ... + 1/20) = 1.4 s on average
    inside("longest silence, s", longest, 0.9, 2.0);
}
