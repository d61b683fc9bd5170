//! What is refused of clients that report their bandwidth, and what is accepted.

use crate::one_flow::{BULK, CELL, LINK, read, refused};
use cc::Reporter;
use units::{BitRate, Duration};

const UDP: &str = "app = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n";

#[test]
fn the_controller_decides_what_its_client_reports() {
    let report = |access, lines: &str| {
        let flow = format!("{lines}\n{BULK}");
        read(access, &flow, "").expect("valid").flows[0].report
    };
    assert_eq!(report(LINK, "cc = \"cdbe\""), Some(Reporter::Cdbe));
    assert_eq!(report(CELL, "cc = \"cqic\""), Some(Reporter::Cqic));
    assert_eq!(report(CELL, "cc = \"cqic-s\""), Some(Reporter::Cqic));
    assert_eq!(report(LINK, "cc = \"cubic\""), None);
    assert_eq!(report(LINK, "cc = \"cdbe\"\nreport = \"off\""), None);
    let explicit = "cc = \"cubic\"\nreport = \"cdbe\"";
    assert_eq!(report(LINK, explicit), Some(Reporter::Cdbe));
    // an upload's client has nothing to report
    assert_eq!(report(LINK, "cc = \"cdbe\"\ndirection = \"up\""), None);
}

#[test]
fn what_cannot_be_reported_is_refused() {
    let bulk = |lines: &str| format!("{lines}\n{BULK}");
    refused(
        LINK,
        &bulk("report = \"cbde\""),
        "",
        &[":7:", "\"cdbe\"", "\"cqic\""],
    );
    refused(
        LINK,
        &bulk("cc = \"cqic\""),
        "",
        &["\"one\"", "needs a radio cell"],
    );
    refused(
        LINK,
        &bulk("direction = \"up\"\nreport = \"cdbe\""),
        "",
        &["data towards the user"],
    );
}

#[test]
fn numbers_out_of_range_are_refused_where_they_stand() {
    let flow = format!("cc = \"cdbe\"\n{BULK}");
    let cdbe = |line: &str| format!("[cdbe]\n{line}\n");
    for (line, part) in [
        ("mode = \"papre\"", "\"paper\""),
        ("startup-rounds = 0", "1"),
        ("inflight-share = 1.5", "1"),
        ("initial-report = \"40 Gbit/s\"", "initial-report"),
        ("timestamp-tick = \"0 s\"", "timestamp-tick"),
        ("gama = 1", "inflight-share"),
        ("target-max = \"2 s\"", "1 s"),
        ("target-min = \"20 ms\"", "\"target-max\" at most"),
        ("pacing-gain = 0.9", "1 to 10"),
        ("draining-gain = 1", "0.9"),
        ("drain-after = \"0 s\"", "drain-after"),
        ("overflow-loss = 0", "0.001"),
        ("max-backoff = 1", "0.99"),
        ("competing-share = 1", "0.9"),
    ] {
        let error = read(LINK, &flow, &cdbe(line)).expect_err("refused");
        assert!(error.contains(":10:"), "{line}: {error}");
        assert!(error.contains(part), "{line}: {error}");
    }
}

#[test]
fn clients_of_udp_assume_the_path_unless_configured() {
    let flow = format!("report = \"cdbe\"\n{UDP}");
    let of = |rest| read(LINK, &flow, rest).expect("valid").cdbe;
    assert_eq!(of("").udp_rtt, Duration::from_millis(50));
    let config = of("[cdbe]\nudp-rtt = \"80 ms\"\ninitial-report = \"16 Mbit/s\"\n");
    assert_eq!(config.udp_rtt, Duration::from_millis(80));
    assert_eq!(config.initial_report.rate(), BitRate::from_mbps(16));
}

#[test]
fn reports_are_removed_on_the_way_from_a_time_on_until_a_later_one() {
    let flow = format!("cc = \"cdbe\"\n{BULK}");
    let of = |lines: &str| read(LINK, &flow, &format!("[cdbe]\n{lines}\n"));
    assert_eq!(of("").expect("valid").cdbe.stripped, None);
    let stripped = of("strip-at = \"1 s\"").expect("valid").cdbe.stripped;
    let stripped = stripped.expect("stripped");
    assert!(!stripped.lasts_at(Duration::from_millis(999)));
    assert!(stripped.lasts_at(Duration::from_secs(1)) && stripped.until.is_none());
    refused(
        LINK,
        &flow,
        "[cdbe]\nstrip-until = \"1 s\"\n",
        &["there is no \"strip-at\""],
    );
    let reversed = "[cdbe]\nstrip-at = \"2 s\"\nstrip-until = \"2 s\"\n";
    refused(LINK, &flow, reversed, &["is not after \"strip-at\""]);
}

#[test]
fn modems_and_servers_read_the_same_reports() {
    let flow = format!("cc = \"cqic\"\nmeld = \"default\"\n{BULK}");
    let two = "[cdbe]\nradio-period = \"5 ms\"\n[meld]\nreport-period = \"8 ms\"\n";
    refused(CELL, &flow, two, &["the modems' period is 5 ms"]);
    let one = read(CELL, &flow, "[cdbe]\nradio-period = \"4 ms\"\n").expect("valid");
    assert_eq!(one.meld.reports.period, Duration::from_millis(4));
}

#[test]
fn constants_of_mode_default_are_as_preset_unless_set() {
    use cc::cdbe::Constants;
    let flow = format!("cc = \"cdbe\"\n{BULK}");
    let of = |rest: &str| read(LINK, &flow, rest).expect("valid").cdbe.constants;
    assert_eq!(of(""), Constants::DEFAULT);
    let set = of(
        "[cdbe]\ntarget-max = \"38 ms\"\ntarget-min = \"4 ms\"\ntarget-octave = \"950 us\"\n\
         pacing-gain = 1.25\ndraining-gain = 0.75\ndrain-after = \"1 s\"\noverflow-loss = 0.04\n\
         max-backoff = 0.5\ncompeting-share = 0.24\n",
    );
    let expected = Constants {
        target_max: 38_000,
        target_min: 4_000,
        target_octave: 950,
        pacing_gain: 1_250,
        draining_gain: 750,
        drain_after: 1_000_000,
        losses: 25,
        max_backoff: 500,
        share: 240,
    };
    assert_eq!(set, expected);
}
