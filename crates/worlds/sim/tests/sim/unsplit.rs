//! Packets that the proxy does not split, marked by what the radio carries of them.

use crate::*;
use edge::marker::{Counts, Fate, Verdict};
use scenario::{Overrides, load_str};

/// A 4G cell of 16 Mbit/s with one queue of 1 MB, 20 ms; flows and the rest as given.
fn cell(pep: &str, flows: &str) -> RunResult {
    with_queues("15 s", "", pep, flows)
}

/// The same for so long, with tables of the base station's queues.
fn with_queues(duration: &str, queues: &str, pep: &str, flows: &str) -> RunResult {
    let text = format!(
        "duration = \"{duration}\"\n[path]\nrtt = \"30 ms\"\nrate = \"1 Gbit/s\"\nbuffer = \"12.5 MB\"\n\
         [cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n{queues}\n\
         [ue.phone]\nchannel = {{ kind = \"constant-cqi\", cqi = 15, policy = \"oai-lte\", bler = 0.1 }}\n\
         [[ue.phone.bearer]]\nrlc = \"am\"\ndownlink-buffer = \"1 MB\"\n[pep]\n{pep}\n{flows}"
    );
    let points = load_str(&text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    run(&points[0].experiment)
}

const MARK: &str = "unsplit = \"mark\"";

fn greedy(lines: &str) -> String {
    format!("[flow.bulk]\napp = {{ kind = \"continuous\" }}\n{lines}\n")
}

fn counts(result: &RunResult) -> Counts {
    result.unsplit.expect("there is a marker")
}

/// Mean one-way delay beyond the least.
fn waiting(flow: &FlowResult) -> f64 {
    flow.owd.mean - flow.owd.min
}

#[test]
fn each_kind_of_greedy_flow_waits_less_and_uses_the_radio() {
    for (lines, verdict) in [
        ("cc = \"prague\"", Verdict::MarkL4s),
        ("cc = \"prague\"\ntransport = \"quic\"", Verdict::MarkL4s),
        ("cc = \"cubic\"\necn = \"classic\"", Verdict::MarkClassic),
        (
            "cc = \"cubic\"\necn = \"classic\"\ntransport = \"quic\"",
            Verdict::MarkClassic,
        ),
        ("cc = \"cubic\"\ntransport = \"quic\"", Verdict::DropNotEct),
    ] {
        let flows = greedy(lines);
        let (off, on) = (cell("", &flows), cell(MARK, &flows));
        assert_eq!(off.unsplit, None);
        let counts = counts(&on);
        assert!(counts.of(verdict) > 0, "{lines}: {counts:?}");
        assert_eq!(counts.of(Verdict::DropOverload), 0, "{lines}: {counts:?}");
        let (before, after) = (waiting(&off.flows[0]), waiting(&on.flows[0]));
        assert!(after < before / 3.0, "{lines}: {after} ms of {before}");
        let used = on.link.utilisation / off.link.utilisation;
        assert!(used > 0.9, "{lines}: {used}");
        let dropped = counts.with(Fate::Drop);
        assert_eq!(on.flows[0].lost, dropped, "{lines}: nothing else drops");
    }
}

#[test]
fn without_reports_all_passes_as_it_is() {
    let flows = greedy("cc = \"cubic\"\necn = \"classic\"");
    let off = cell("", &flows);
    let on = cell(&format!("{MARK}\nreport-loss = 1.0"), &flows);
    let counts = counts(&on);
    let all: u64 = Verdict::ALL.into_iter().map(|of| counts.of(of)).sum();
    assert_eq!(counts.of(Verdict::NoReport), all);
    assert!(all > 1_000);
    assert_eq!(on.flows[0].delivered, off.flows[0].delivered);
    assert_eq!(on.flows[0].owd, off.flows[0].owd);
}

#[test]
fn a_call_beside_a_greedy_flow_loses_nothing_to_it() {
    let flows = format!(
        "{}[flow.call]\napp = {{ kind = \"voip\" }}\n",
        greedy("cc = \"cubic\"\ntransport = \"quic\"")
    );
    let (off, on) = (cell("", &flows), cell(MARK, &flows));
    assert_eq!(on.flows[1].lost, 0);
    assert!(counts(&on).of(Verdict::DropNotEct) > 0);
    let p95 = |run: &RunResult| run.flows[1].owd.p95;
    assert!(p95(&on) < p95(&off) / 2.0, "{} {}", p95(&on), p95(&off));
}

#[test]
fn beside_a_flow_of_the_proxy_each_has_its_share() {
    let flows = format!(
        "{}[flow.tcp]\napp = {{ kind = \"continuous\" }}\n",
        greedy("cc = \"cubic\"\ntransport = \"quic\"")
    );
    let on = cell(&format!("mode = \"default\"\n{MARK}"), &flows);
    let [quic, tcp] = [0, 1].map(|flow| on.flows[flow].goodput.as_mbps_f64());
    let share = quic / (quic + tcp);
    assert!((0.3..0.7).contains(&share), "{quic} {tcp}");
    assert!(on.link.utilisation > 0.9, "{}", on.link.utilisation);
}

#[test]
fn two_runs_with_marks_are_alike_to_the_bit() {
    let seen = || {
        let result = cell(MARK, &greedy("cc = \"prague\"\ntransport = \"quic\""));
        let flow = &result.flows[0];
        (
            result.unsplit,
            flow.owd.clone(),
            flow.delivered,
            result.events,
        )
    };
    assert_eq!(seen(), seen());
}

/// What can be marked is marked in the RLC over TCP as over QUIC, and nothing of it is lost there after the start.
#[test]
fn rivals_in_the_base_station_act_on_tcp_and_quic() {
    for transport in ["tcp", "quic"] {
        let run = |algorithm: &str, lines: &str| {
            let queues = format!(
                "[cell.queues.rlc]\nalgorithm = \"{algorithm}\"\nl4span-classic = \"30 kB\""
            );
            let flows = greedy(&format!("transport = \"{transport}\"\n{lines}"));
            with_queues("10 s", &queues, "", &flows)
        };
        let (off, classic, l4s) = (
            "cc = \"cubic\"",
            "cc = \"cubic\"\necn = \"classic\"",
            "cc = \"prague\"",
        );
        let plain = waiting(&run("drop-tail", classic).flows[0]);
        for algorithm in ["codel", "fq-codel", "dualpi2", "l4span"] {
            let (dropped, marked) = (run(algorithm, off), run(algorithm, classic));
            let what = format!("{algorithm} over {transport}");
            let of_marked = &marked.flows[0];
            assert!(
                waiting(of_marked) < plain / 2.0,
                "{what}: {} of {plain}",
                waiting(of_marked)
            );
            assert!(
                marked.link.utilisation > 0.85,
                "{what}: {}",
                marked.link.utilisation
            );
            assert_eq!(of_marked.lost, 0, "{what}");
            // the authors of L4Span leave the drop out
            let passes = algorithm == "l4span";
            let lost = dropped.flows[0].lost;
            assert_eq!(
                waiting(&dropped.flows[0]) < plain / 2.0,
                !passes,
                "{what}: {lost}"
            );
            // the step of DualPI2 at 1 ms is a slot and a packet here
            let least = if algorithm == "dualpi2" { 0.1 } else { 0.85 };
            let scalable = run(algorithm, l4s);
            let used = scalable.link.utilisation;
            assert!(used > least, "{what}: {used}");
            assert_eq!(scalable.flows[0].lost, 0, "{what}");
            if matches!(algorithm, "dualpi2" | "l4span") {
                let waited = waiting(&scalable.flows[0]);
                assert!(waited < plain / 4.0, "{what}: {waited} of {plain}");
            }
        }
    }
}

#[test]
fn late_reports_and_gaps_leave_the_queue_short_and_the_radio_used() {
    for lines in [
        "cc = \"prague\"",
        "cc = \"cubic\"\necn = \"classic\"\ntransport = \"quic\"",
    ] {
        let flows = greedy(lines);
        let before = waiting(&cell("", &flows).flows[0]);
        for reports in [
            "report-delay = \"6 ms\"",
            "report-loss = 0.3",
            "report-gap = \"300 ms\"",
        ] {
            let on = cell(&format!("{MARK}\n{reports}"), &flows);
            let after = waiting(&on.flows[0]);
            let what = format!("{lines} {reports}");
            assert!(after < before / 3.0, "{what}: {after} ms of {before}");
            assert!(
                on.link.utilisation > 0.85,
                "{what}: {}",
                on.link.utilisation
            );
            let stale = counts(&on).of(Verdict::Stale);
            assert_eq!(
                stale > 0,
                reports.starts_with("report-gap"),
                "{what}: {stale}"
            );
        }
    }
}

#[test]
fn users_of_a_cell_have_equal_parts_and_a_call_waits_for_none_of_them() {
    let users = |unsplit: &str, lines: &str| {
        let text = format!(
            "duration = \"10 s\"\n[path]\nrtt = \"30 ms\"\nrate = \"1 Gbit/s\"\nbuffer = \"12.5 MB\"\n\
             [cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\nscheduler = \"round-robin\"\n\
             [ue.phone]\ncount = 4\nchannel = {{ kind = \"constant-cqi\", cqi = 15, policy = \"oai-lte\", bler = 0.1 }}\n\
             [[ue.phone.bearer]]\nrlc = \"am\"\ndownlink-buffer = \"1 MB\"\n\
             [ue.caller]\nchannel = {{ kind = \"constant-cqi\", cqi = 15, policy = \"oai-lte\", bler = 0.1 }}\n\
             [[ue.caller.bearer]]\nrlc = \"am\"\ndownlink-buffer = \"1 MB\"\n\
             [pep]\nunsplit = \"{unsplit}\"\n\
             [flow.bulk]\nue = \"phone\"\ncount = 4\napp = {{ kind = \"continuous\" }}\n{lines}\n\
             [flow.call]\nue = \"caller\"\napp = {{ kind = \"voip\" }}\n"
        );
        let points =
            load_str(&text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
        run(&points[0].experiment)
    };
    for lines in [
        "cc = \"prague\"",
        "cc = \"cubic\"\necn = \"classic\"\ntransport = \"quic\"",
    ] {
        let (off, on) = (users("off", lines), users("mark", lines));
        let rates: Vec<f64> = on.flows[..4]
            .iter()
            .map(|flow| flow.goodput.as_mbps_f64())
            .collect();
        assert!(jain(&rates) > 0.95, "{lines}: {rates:?}");
        assert!(
            on.link.utilisation > 0.85,
            "{lines}: {}",
            on.link.utilisation
        );
        for (before, after) in off.flows[..4].iter().zip(&on.flows) {
            assert!(
                waiting(after) < waiting(before) / 2.0,
                "{lines}: {} {}",
                waiting(after),
                waiting(before)
            );
        }
        assert_eq!(on.flows[4].lost, 0, "{lines}");
        assert!(on.flows[4].owd.p95 < off.flows[4].owd.p95 + 5.0, "{lines}");
    }
}

/// What waits at the edge: a call beside a greedy flow waits for the radio and two slots, and the flow uses the radio.
#[test]
fn flows_that_wait_at_the_edge_take_turns() {
    let queue = "unsplit = \"queue\"";
    for lines in ["cc = \"cubic\"\ntransport = \"quic\"", "cc = \"prague\""] {
        let flows = format!(
            "{}[flow.call]\napp = {{ kind = \"voip\" }}\n",
            greedy(lines)
        );
        let alone = cell("", "[flow.call]\napp = { kind = \"voip\" }\n");
        let on = cell(queue, &flows);
        let (before, after) = (alone.flows[0].owd.p99, on.flows[1].owd.p99);
        assert!(after < before + 8.0, "{lines}: {after} ms, alone {before}");
        assert_eq!(on.flows[1].lost, 0, "{lines}");
        assert!(
            on.link.utilisation > 0.9,
            "{lines}: {}",
            on.link.utilisation
        );
        assert!(on.unsplit.is_none());
    }
}

#[test]
fn without_reports_nothing_waits_at_the_edge() {
    let flows = greedy("cc = \"cubic\"\necn = \"classic\"");
    let off = cell("", &flows);
    let on = cell("unsplit = \"queue\"\nreport-loss = 1.0", &flows);
    assert_eq!(on.flows[0].delivered, off.flows[0].delivered);
    assert_eq!(on.flows[0].owd, off.flows[0].owd);
}
