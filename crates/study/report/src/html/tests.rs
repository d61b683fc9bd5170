//! The page as a whole, from made-up results.

use super::*;
use crate::Variant;
use crate::sample::{run, summary};
use scenario::{Metric, RunResult, Summary};

/// The page of these results, after `change` to the report.
fn page(results: &[(&str, &[RunResult])], change: impl FnOnce(&mut Report<'_>)) -> String {
    let summaries: Vec<Summary> = results.iter().map(|(_, runs)| summary(runs)).collect();
    let variants = results.iter().zip(&summaries);
    let mut report = Report {
        title: "fast-embb-los",
        description: "Two downloads of 200 MB over a mmWave cell in line of sight",
        world: "sim",
        version: "0.1.0",
        command: &[],
        seed: 1,
        repeats: 1,
        settings: vec![("rtt".to_owned(), "1 ms".to_owned())],
        variants: variants
            .map(|((label, runs), summary)| Variant {
                label: (*label).to_owned(),
                summary,
                runs,
            })
            .collect(),
    };
    change(&mut report);
    html(&report)
}

#[test]
fn a_page_has_every_figure_and_stays_small() {
    let (a, b, c) = (
        [run(1, 40.0, 20_000)],
        [run(1, 2.0, 20_000)],
        [run(1, 1.0, 20_000)],
    );
    let make = || {
        page(
            &[("pep=none", &a), ("pep=paper", &b), ("pep=default", &c)],
            |_| {},
        )
    };
    let page = make();
    for id in [
        "received",
        "rtt-cdf",
        "rtt",
        "in-flight",
        "windows",
        "queues",
        "slow",
        "prb",
        "cqi",
    ] {
        assert!(
            page.contains(&format!("<section class=\"figure\" id=\"{id}\">")),
            "{id}"
        );
    }
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    assert!(!page.contains("wan/up"), "empty queues are not drawn");
    assert_eq!(page, make(), "the same results give the same page");
}

#[test]
fn what_was_found_and_the_round_trips_stand_above_the_tables() {
    let (a, b) = ([run(1, 40.0, 100)], [run(1, 2.0, 100)]);
    let page = page(&[("pep=none", &a), ("pep=default", &b)], |_| {});
    let parts = [
        "<caption>Found: pep=default beside pep=none</caption>",
        "<section class=\"figure\" id=\"rtt\">",
        "<nav aria-label=\"Contents\">",
        "<caption>Flows at a glance</caption>",
        "<h2 id=\"series\">",
        "<section class=\"figure\" id=\"received\">",
        "<h2 id=\"tables\">",
        "<caption>Compared with pep=none",
    ];
    let places: Vec<_> = parts
        .iter()
        .map(|part| page.find(part).expect(part))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    for once in [parts[0], parts[1], "<caption>Bottleneck</caption>"] {
        assert_eq!(page.matches(once).count(), 1, "{once}");
    }
}

#[test]
fn a_page_of_one_run_begins_with_what_was_measured() {
    let runs = [run(1, 2.0, 100)];
    let page = page(&[("", &runs)], |_| {});
    let measured = "<table class=\"found\"><caption>Measured</caption><tbody><tr>\
                    <th scope=\"row\">cubic</th><td class=\"t\"><span>";
    let at = page.find(measured).expect("what was measured");
    assert!(at < page.find("id=\"rtt\"").expect("round trips"));
    assert!(page[at..].contains(" % used</span> </td></tr>"));
}

#[test]
fn several_variants_have_a_group_each_and_no_part_of_a_sentence_breaks() {
    let (a, b) = ([run(1, 40.0, 100)], [run(1, 2.0, 100)]);
    let page = page(&[("none", &a), ("paper", &b), ("default", &b)], |_| {});
    for variant in ["paper", "default"] {
        let group = format!("<th scope=\"rowgroup\" colspan=\"2\">{variant}</th>");
        assert_eq!(page.matches(&group).count(), 1, "{variant}");
    }
    assert!(page.contains(" % of the goodput,</span> <span>"));
    assert!(page.contains(" → "));
    assert!(!page.contains(" -&gt; "));
}

#[test]
fn a_rate_states_over_what_it_is_a_mean() {
    let page = |points| page(&[("", &[run(1, 2.0, points)])], |_| {});
    let window = |page: &str| {
        let at = page.find(" Means over ").expect("a window");
        let words: Vec<&str> = page[at..].split_whitespace().take(4).collect();
        assert_eq!(words[3], "ms");
        words[2].parse::<f64>().expect("milliseconds")
    };
    // more points than are drawn: longer means
    assert!(window(&page(20_000)) > window(&page(100)));
}

#[test]
fn a_page_requests_nothing_from_elsewhere() {
    let runs = [run(1, 2.0, 100)];
    let page = page(&[("", &runs)], |_| {});
    for word in [
        "src=",
        "@import",
        "url(",
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
    ] {
        assert!(!page.contains(word), "{word}");
    }
    // the name space of SVG is an identifier, never fetched
    let addresses = page.matches("http://").count() + page.matches("https://").count();
    assert_eq!(
        addresses,
        page.matches("http://www.w3.org/2000/svg").count()
    );
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn names_cannot_bring_markup() {
    let evil = "</script><script>alert(1)</script>\"'&";
    let mut runs = [run(1, 2.0, 100)];
    for flow in &mut runs[0].flows {
        flow.name = evil.to_owned();
        flow.cc = evil.to_owned();
    }
    for queue in &mut runs[0].queues {
        queue.name = evil.to_owned();
    }
    for series in &mut runs[0].series {
        series.entity = evil.to_owned();
    }
    let page = page(&[(evil, &runs), ("other", &runs)], |report| {
        report.title = evil;
        report.description = evil;
        report.world = evil;
        report.version = evil;
        report.settings = vec![(evil.to_owned(), evil.to_owned())];
    });
    assert_eq!(page.matches("<script").count(), 2, "data and script");
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("alert(1)</script>"));
}

#[test]
fn a_run_without_anything_still_gives_a_page() {
    let runs = [RunResult::default()];
    let page = page(&[("", &runs)], |_| {});
    assert!(page.contains("recorded no time series"));
    assert!(page.ends_with("</html>\n"));
}

/// "cubic" has no round-trip times: "bbr" keeps its colour in their figure.
#[test]
fn a_flow_has_one_colour_in_all_figures() {
    let mut result = run(1, 2.0, 100);
    result
        .series
        .retain(|s| s.metric != Metric::Rtt || s.entity == "bbr");
    let runs = [result];
    let page = page(&[("", &runs)], |_| {});
    let colours: Vec<&str> = page
        .split("{\"name\":\"bbr\",\"colour\":")
        .skip(1)
        .map(|rest| &rest[..1])
        .collect();
    assert!(colours.len() >= 3, "goodput, its distribution and RTT");
    assert!(colours.iter().all(|colour| *colour == "1"), "{colours:?}");
}

#[test]
fn many_flows_are_cut_with_a_note() {
    let mut result = run(1, 2.0, 2000);
    for i in 0..100 {
        let mut flow = result.flows[0].clone();
        flow.name = format!("flow{i}");
        result.flows.push(flow);
        for s in 0..6 {
            let mut series = result.series[1 + s].clone();
            series.entity = format!("flow{i}");
            result.series.push(series);
        }
    }
    let runs = [result];
    let page = page(&[("", &runs)], |_| {});
    assert!(page.contains("The first 10 of 102 are drawn"));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn the_summary_states_what_it_ran_on_and_what_made_it() {
    let runs = [run(1, 40.0, 200)];
    let command = ["/usr/bin/brimful", "run", "s.toml", "--set", "rtt=10 ms"];
    let command: &'static [String] = command.map(str::to_owned).to_vec().leak();
    let page = page(&[("", &runs)], |report| report.command = command);
    let first_look = page.split("<h2 id=\"series\">").next().expect("a summary");
    for fact in [
        "<th scope=\"row\">base RTT</th><td class=\"t\">10 ms</td>",
        "<th scope=\"row\">duration</th><td class=\"t\">2 s</td>",
        "<b>Brimful</b>0.1.0",
        "<b>command</b>brimful run s.toml --set &#39;rtt=10 ms&#39;",
    ] {
        assert_eq!(first_look.matches(fact).count(), 1, "{fact}");
    }
}

#[test]
fn the_summary_has_cell_and_span_and_what_variants_do_not_share() {
    let runs = [run(1, 40.0, 200)];
    let mut summaries = [summary(&runs), summary(&runs)];
    summaries[0].path_rtt_ms = 0.5;
    for summary in &mut summaries {
        summary.radio = Some("LTE, 100 PRBs".to_owned());
        summary.traces = vec![scenario::TraceSummary {
            cell: None,
            direction: "down",
            ue: "phone".to_owned(),
            file: "drive.csv".to_owned(),
            recorded_on: "LTE".to_owned(),
            networks: None,
            duration_s: 2597.0,
            used_s: 60.0,
            offsets_s: vec![17.25],
            covered_s: 60.0,
        }];
    }
    let [near, far] = &summaries;
    let variant = |label: &str, summary| Variant {
        label: label.to_owned(),
        summary,
        runs: &runs,
    };
    let page = page(&[("", &runs)], |_| {});
    assert!(!page.contains("<b>command</b>"), "none was given");
    let report = Report {
        title: "t",
        description: "",
        world: "sim",
        version: "0.1.0",
        command: &[],
        seed: 1,
        repeats: 1,
        settings: Vec::new(),
        variants: vec![variant("near", near), variant("far", far)],
    };
    let page = html(&report);
    let first_look = page.split("<h2 id=\"series\">").next().expect("a summary");
    for (name, value) in [
        ("base RTT, near", "0.5 ms"),
        ("base RTT, far", "10 ms"),
        ("radio", "LTE, 100 PRBs"),
        ("trace", "drive.csv, recorded on: LTE"),
        ("span", "60 of 2597 s used, from 17.25 s"),
    ] {
        let fact = format!("<th scope=\"row\">{name}</th><td class=\"t\">{value}</td>");
        assert_eq!(first_look.matches(&fact).count(), 1, "{fact}");
    }
}

#[test]
fn handovers_are_marked_in_every_figure_over_time_and_nowhere_else() {
    let mut marked = run(1, 2.0, 100);
    let at = |ms| units::Instant::ZERO + units::Duration::from_millis(ms);
    let of = |ms, failure| scenario::HandoverResult {
        ue: "car".to_owned(),
        at: at(ms),
        from: "west".to_owned(),
        to: "\"east\"".to_owned(),
        interruption: units::Duration::from_millis(50),
        failure,
        forwarded: 1,
        lost: 0,
        is_ping_pong: false,
    };
    marked.handovers = vec![
        of(1_500, None),
        of(2_250, Some(scenario::FailureKind::TooLate)),
    ];
    let marked = [marked];
    let (with, without) = (
        page(&[("", &marked)], |_| {}),
        page(&[("", &[run(1, 2.0, 100)])], |_| {}),
    );
    let handover = r#"[1.5,"car: handover, west to \"east\""]"#;
    let failure = r#"[2.25,"car: radio link failure, west to \"east\""]"#;
    let both = format!("\"marks\":[{handover},{failure}]");
    let over_time = with.matches("\"time\":true").count();
    assert!(over_time > 3);
    assert!(with.matches(&both).count() >= over_time);
    assert!(!without.contains("\"marks\""));
}

/// The titles of the panels of a figure, the names of their lines and the title of the axis, from the page's data.
fn of_figure(page: &str, id: &str) -> (String, String, Vec<Vec<String>>) {
    let data = page.split("id=\"report-data\">").nth(1).expect("data");
    let data = data.split("</script>").next().expect("its end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    let figures = data["figures"].as_array().expect("figures");
    let figure = figures.iter().find(|figure| figure["id"] == id);
    let figure = figure.expect("the figure");
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let panels = figure["panels"].as_array().expect("panels").iter();
    let lines = panels.map(|panel| {
        let lines = panel["lines"].as_array().expect("lines").iter();
        lines.map(|line| text(&line["name"])).collect()
    });
    let (title, axis) = (text(&figure["title"]), text(&figure["y"]["title"]));
    (title, axis, lines.collect())
}

/// A result whose flow "bbr" is a call: no round trips, one-way delays.
fn with_call(mut result: RunResult) -> RunResult {
    for flow in result.flows.iter_mut().filter(|flow| flow.name == "bbr") {
        flow.rtt = scenario::Distribution::default();
    }
    for series in &mut result.series {
        if series.entity == "bbr" && series.metric == Metric::Rtt {
            series.metric = Metric::Owd;
        }
    }
    result
}

#[test]
fn a_call_has_a_line_of_its_one_way_delay_where_its_sentence_has_it() {
    let (a, b) = (
        [with_call(run(1, 40.0, 100))],
        [with_call(run(1, 2.0, 100))],
    );
    let page = page(&[("pep=none", &a), ("pep=default", &b)], |_| {});
    let (title, axis, lines) = of_figure(&page, "rtt");
    assert_eq!(title, "Round-trip time and one-way delay");
    assert_eq!(axis, "RTT; one-way delay of datagrams");
    assert_eq!(lines, vec![["cubic", "bbr (one-way)"]; 2]);
    assert!(page.contains("<span>one-way delay 38.0 → 1.90 ms</span>"));
    // its colour is the one that it has everywhere
    assert!(page.contains("{\"name\":\"bbr (one-way)\",\"colour\":1,"));
    assert_eq!(
        page.matches(">Round-trip time and one-way delay</a>")
            .count(),
        1
    );
}

#[test]
fn calls_alone_have_a_figure_of_one_way_delays_and_results_without_them_are_as_they_were() {
    let mut calls = with_call(run(1, 2.0, 100));
    calls.flows.retain(|flow| flow.name == "bbr");
    calls.series.retain(|series| series.entity != "cubic");
    let calls_only = page(&[("", &[calls])], |_| {});
    let (title, axis, lines) = of_figure(&calls_only, "rtt");
    assert_eq!(
        (title.as_str(), axis.as_str()),
        ("One-way delay", "One-way delay")
    );
    assert_eq!(lines, [["bbr"]]);
    let older = page(&[("", &[run(1, 2.0, 100)])], |_| {});
    let (title, axis, lines) = of_figure(&older, "rtt");
    assert_eq!((title.as_str(), axis.as_str()), ("Round-trip time", "RTT"));
    assert_eq!(lines, [["cubic", "bbr"]]);
    assert!(!older.contains("ne-way delay</h3>"));
}

#[test]
fn beside_many_round_trips_there_is_room_for_calls() {
    let mut result = with_call(run(1, 2.0, 100));
    for i in 0..20 {
        let mut series = result.series[3].clone();
        assert_eq!(series.metric, Metric::Rtt);
        series.entity = format!("flow{i}");
        result.series.push(series);
    }
    let page = page(&[("", &[result])], |_| {});
    let (_, _, lines) = of_figure(&page, "rtt");
    assert_eq!(lines[0].len(), 10);
    assert!(lines[0].contains(&"bbr (one-way)".to_owned()));
    assert!(page.contains("The first 10 of 22 are drawn"));
}

#[test]
fn figures_without_a_page_have_their_captions() {
    let runs = [with_call(run(1, 2.0, 100))];
    let mut data = String::new();
    let page = page(&[("", &runs)], |report| data = figures_json(report));
    let data: serde_json::Value = serde_json::from_str(&data).expect("JSON");
    let caption = |id: &str| {
        let figures = data["figures"].as_array().expect("figures");
        let figure = figures.iter().find(|figure| figure["id"] == id);
        let caption = figure.expect(id)["caption"].as_str();
        caption.expect("a caption").to_owned()
    };
    assert!(caption("rtt").contains("the delay one way"));
    assert!(caption("received").contains(" Means over 10 ms each."));
    assert!(!page.contains("\"caption\":"));
}
