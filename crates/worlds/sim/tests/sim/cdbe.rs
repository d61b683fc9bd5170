//! CDBE over TCP on a wire: alone, without its client, with clients of other clocks, and beside others.

use crate::*;
use scenario::{Experiment, Overrides, load_str};

const WIRE: &str = r#"
duration = "40 s"
[path]
rtt = "60 ms"
[link]
rate = "40 Mbit/s"
"#;

/// A wire with these lines after its rate, these of `[cdbe]`, and flows of these lines each.
fn wire(link: &str, cdbe: &str, flows: &[&str]) -> Experiment {
    let mut text = format!("{WIRE}{link}\n[cdbe]\n{cdbe}\n");
    for (k, lines) in flows.iter().enumerate() {
        text += &format!("[flow.f{k}]\napp = {{ kind = \"continuous\" }}\n{lines}\n");
    }
    let mut points = load_str(&text, &Overrides::default()).expect("valid");
    points.remove(0).experiment
}

const BUFFER: &str = "buffer = \"250 kB\"";
const CDBE: &str = "cc = \"cdbe\"";

/// Shares of 40 Mbit/s of wire.
fn shares(result: &RunResult) -> Vec<f64> {
    let rates = result.flows.iter();
    rates
        .map(|flow| flow.goodput.as_mbps_f64() / 40.0)
        .collect()
}

#[test]
fn alone_it_fills_the_wire_and_not_the_buffer() {
    // a full buffer is 50 ms
    let result = run(&wire(BUFFER, "", &[CDBE]));
    let flow = &result.flows[0];
    assert!(shares(&result)[0] > 0.94, "{}", flow.goodput);
    assert!(flow.rtt.mean < 60.0 + 15.0, "{:?}", flow.rtt);
    assert!(flow.rtt.p95 < 60.0 + 25.0, "{:?}", flow.rtt);
    // as published it fills it too; of the delay nothing is advertised
    let result = run(&wire(BUFFER, "mode = \"paper\"", &[CDBE]));
    assert!(shares(&result)[0] > 0.9, "{}", result.flows[0].goodput);
}

#[test]
fn without_its_client_it_is_bbr() {
    let without = run(&wire(BUFFER, "", &["cc = \"cdbe\"\nreport = \"off\""]));
    let bbr = run(&wire(BUFFER, "", &["cc = \"bbr\""]));
    let of = |result: &RunResult| {
        let flow = &result.flows[0];
        (flow.delivered, flow.retransmits, flow.rtt.mean.to_bits())
    };
    assert_eq!(of(&without), of(&bbr));
}

#[test]
fn over_round_trips_of_microseconds_it_carries_what_bbr_does() {
    for buffer in ["50 kB", "100 kB", "200 kB", "1 MB"] {
        let rate = |cc: &str| {
            let text = format!(
                "duration = \"1 s\"\n[path]\nrtt = \"50 us\"\n[link]\nrate = \"1 Gbit/s\"\n\
                 buffer = \"{buffer}\"\n[flow.f0]\ncc = \"{cc}\"\napp = {{ kind = \"continuous\" }}\n"
            );
            let mut points = load_str(&text, &Overrides::default()).expect("valid");
            let result = run(&points.remove(0).experiment);
            result.flows[0].goodput.as_mbps_f64()
        };
        let (own, bbr) = (rate("cdbe"), rate("bbr"));
        assert!(own >= 0.95 * bbr, "{buffer}: {own}, BBR {bbr}");
    }
}

/// Mean of a flow's series over a part of the run, s.
fn mean_of(result: &RunResult, metric: scenario::Metric, from: f64, to: f64) -> f64 {
    let mut series = result.series.iter();
    let found = series.find(|s| s.entity == "f0" && s.metric == metric);
    let points = found.expect("a series").points.iter();
    let within = points.filter(|(at, _)| (from..to).contains(&at.as_secs_f64()));
    let values: Vec<f64> = within.map(|&(_, value)| value).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn where_reports_are_removed_on_the_way_it_is_bbr_until_they_come_again() {
    use scenario::Metric::{Cwnd, Goodput};
    for mode in ["default", "paper"] {
        let stripped = format!("mode = \"{mode}\"\nstrip-at = \"10 s\"\nstrip-until = \"20 s\"");
        let result = run(&wire(BUFFER, &stripped, &[CDBE]));
        let whole = run(&wire(BUFFER, &format!("mode = \"{mode}\""), &[CDBE]));
        let bbr = run(&wire(BUFFER, "", &["cc = \"bbr\""]));
        let cwnd = |result, from, to| mean_of(result, Cwnd, from, to);
        // the last report stands for 2 s, then the window is BBR's, twice the product
        assert_eq!(
            cwnd(&result, 5.0, 10.0).to_bits(),
            cwnd(&whole, 5.0, 10.0).to_bits(),
            "{mode}"
        );
        let (fallen_back, plain) = (cwnd(&result, 13.0, 20.0), cwnd(&bbr, 13.0, 20.0));
        assert!(
            (fallen_back / plain - 1.0).abs() < 0.02,
            "{mode}: {fallen_back}, BBR {plain}"
        );
        let (again, before) = (cwnd(&result, 21.0, 39.0), cwnd(&whole, 21.0, 39.0));
        assert!(
            (again / before - 1.0).abs() < 0.02,
            "{mode}: {again}, without a break {before}"
        );
        for from in [5.0, 13.0, 21.0] {
            let rate = mean_of(&result, Goodput, from, from + 7.0) / 40e6;
            assert!(rate > 0.9, "{mode}, from {from} s: {rate}");
        }
    }
}

#[test]
fn clients_with_other_ticks_are_understood() {
    for tick in ["1 us", "4 ms", "10 ms", "100 ms"] {
        let result = run(&wire(
            BUFFER,
            &format!("timestamp-tick = \"{tick}\""),
            &[CDBE],
        ));
        let flow = &result.flows[0];
        assert!(shares(&result)[0] > 0.9, "{tick}: {}", flow.goodput);
        assert!(flow.rtt.mean < 60.0 + 25.0, "{tick}: {:?}", flow.rtt);
    }
}

#[test]
fn reports_cost_the_uplink_their_bytes() {
    // 1,700 acknowledgements a second are 0.7 Mbit/s, and 0.8 with a report each
    let narrow = format!("{BUFFER}\nuplink-rate = \"750 kbit/s\"");
    let median = |cdbe: &str, report: &str| {
        let flow = format!("cc = \"cubic\"\nreport = \"{report}\"");
        run(&wire(&narrow, cdbe, &[&flow])).flows[0].rtt.p50
    };
    let (off, seldom) = (median("", "off"), median("", "cdbe"));
    let each = median("mode = \"paper\"", "cdbe");
    assert!(each > seldom + 50.0, "{each} ms, {seldom} ms");
    assert!(seldom < off + 10.0, "{seldom} ms, {off} ms");
}

#[test]
fn it_comes_back_after_the_wire_was_almost_gone() {
    let steps = "rate-steps = [[\"10 s\", \"100 kbit/s\"], [\"15 s\", \"40 Mbit/s\"]]";
    let result = run(&wire(&format!("{BUFFER}\n{steps}"), "", &[CDBE]));
    // the wire was whole for 35 of 40 s; what it had lost waits for a timeout of five seconds, the round
    // trip of the time before
    let share = shares(&result)[0];
    assert!(share > 0.94 * 28.0 / 40.0, "{share}");
}

#[test]
fn beside_cubic_each_has_its_part() {
    for buffer in ["75 kB", "250 kB", "1 MB"] {
        let link = format!("buffer = \"{buffer}\"");
        let result = run(&wire(&link, "", &[CDBE, "cc = \"cubic\""]));
        let shares = shares(&result);
        let sum: f64 = shares.iter().sum();
        assert!(shares.iter().all(|&s| s > 0.2), "{buffer}: {shares:?}");
        assert!(sum > 0.9, "{buffer}: {shares:?}");
    }
}

#[test]
fn beside_bbr_it_keeps_some() {
    let result = run(&wire(BUFFER, "", &[CDBE, "cc = \"bbr\""]));
    assert!(shares(&result)[0] > 0.15, "{:?}", shares(&result));
}

#[test]
fn two_share_and_a_third_finds_room() {
    let late = "cc = \"cdbe\"\nstart = \"10 s\"";
    let result = run(&wire(BUFFER, "", &[CDBE, CDBE, late]));
    let rates = shares(&result);
    assert!(rates.iter().all(|&s| s > 0.15), "{rates:?}");
    assert!(result.flows[0].rtt.mean < 60.0 + 40.0);
}

#[test]
fn the_series_show_the_state_of_client_and_server() {
    let result = run(&wire(BUFFER, "", &[CDBE]));
    let of = |metric| {
        let mut series = result.series.iter();
        let found = series.find(|s| s.entity == "f0" && s.metric == metric);
        let points = &found.expect("a series").points;
        let late = points.iter().filter(|(at, _)| at.as_secs_f64() > 5.0);
        late.map(|&(_, value)| value).collect::<Vec<f64>>()
    };
    let report = of(scenario::Metric::Report);
    let mean = report.iter().sum::<f64>() / report.len() as f64;
    // payload of 40 Mbit/s
    assert!((37.5e6..39.5e6).contains(&mean), "{mean}");
    let gain = of(scenario::Metric::Gain);
    // of a drain one half; with nothing in the queue RTT_min, 1.5 targets (8.9 ms) and a quarter of RTT_min over RTT_min
    let most = (60.0 + 1.5 * 8.9 + 60.0 / 4.0) / 60.0;
    assert!(gain.iter().all(|g| (0.5..=most).contains(g)), "{gain:?}");
    assert!(!of(scenario::Metric::SeenDelay).is_empty());
    assert!(!of(scenario::Metric::MinDelay).is_empty());
}
