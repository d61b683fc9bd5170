//! What is refused of videos and pages, and what is accepted.

use crate::one_flow::{LINK, read, refused};
use scenario::{AbrRule, AppSpec, PageSpec, Transport, VideoSpec};
use units::{BitRate, Bytes, Duration};

fn video(keys: &str) -> String {
    format!("app = {{ kind = \"video\"{keys} }}\n")
}

fn page(keys: &str) -> String {
    format!("app = {{ kind = \"page\"{keys} }}\n")
}

fn video_spec(flow: &str) -> VideoSpec {
    let experiment = read(LINK, flow, "").expect("valid");
    match &experiment.flows[0].app {
        AppSpec::Video(video) => (**video).clone(),
        other => panic!("{other:?}"),
    }
}

fn page_spec(flow: &str) -> PageSpec {
    let experiment = read(LINK, flow, "").expect("valid");
    match &experiment.flows[0].app {
        AppSpec::Page(page) => (**page).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_video_has_defaults_and_takes_every_key() {
    let spec = video_spec(&video(""));
    assert_eq!(spec.segment, Duration::from_secs(2));
    assert_eq!((spec.ladder.len(), spec.rule), (12, AbrRule::Bola));
    assert_eq!(spec.ladder[0], BitRate::from_bps(145_000));
    assert_eq!(spec.ladder[11], BitRate::from_bps(16_800_000));
    let keys = ", ladder = [\"1 Mbit/s\", \"3 Mbit/s\"], segment = \"4 s\", variation = 0.3, buffer = \"20 s\", \
                startup = \"8 s\", rule = \"bba\", safety = 0.8, request = \"200 B\"";
    let spec = video_spec(&video(keys));
    assert_eq!(spec.ladder, [1, 3].map(BitRate::from_mbps));
    assert_eq!((spec.rule, spec.variation), (AbrRule::Bba, 0.3));
    assert_eq!(spec.startup, Duration::from_secs(8));
    assert_eq!(spec.request, Bytes::new(200));
}

#[test]
fn a_page_has_defaults_and_takes_every_key() {
    let spec = page_spec(&page(""));
    assert_eq!((spec.blocking, spec.objects, spec.count), (30, 40, None));
    assert!(spec.has_own_connections);
    let keys = ", document = \"5 kB\", blocking = 0, objects = 3, object-size = \"7 kB\", spread = 0, think = \"0 s\", \
                gap = \"100 ms\", count = 4, new-connections = false";
    let spec = page_spec(&page(keys));
    assert_eq!((spec.blocking, spec.objects), (0, 3));
    assert_eq!((spec.count, spec.spread), (Some(4), 0.0));
    assert!(!spec.has_own_connections && spec.think.is_zero());
}

#[test]
fn a_ladder_rises_and_is_not_empty() {
    for (ladder, parts) in [
        ("[]", ["\"ladder\" has 0 rates", "1 to 100"]),
        (
            "[\"2 Mbit/s\", \"1 Mbit/s\"]",
            ["1 Mbit/s in \"ladder\" follows 2 Mbit/s", "rates rise"],
        ),
        (
            "[\"2 Mbit/s\", \"2 Mbit/s\"]",
            ["2 Mbit/s in \"ladder\" follows 2 Mbit/s", "rates rise"],
        ),
        ("[\"0 bit/s\"]", ["out of range", "1 bit/s"]),
        ("[1]", ["has no unit", "a data rate"]),
        (
            "\"1 Mbit/s\"",
            ["\"ladder\" is a string", "rates that rise"],
        ),
    ] {
        refused(LINK, &video(&format!(", ladder = {ladder}")), "", &parts);
    }
}

#[test]
fn times_and_shares_of_a_video_are_in_range() {
    for (keys, parts) in [
        ("segment = \"0 s\"", ["\"segment\" = ", "100 ms to 60 s"]),
        ("startup = \"0 s\"", ["\"startup\" = ", "allowed is"]),
        ("variation = 1", ["\"variation\" = 1", "0 to 0.9"]),
        ("variation = -0.1", ["\"variation\" = -0.1", "is negative"]),
        ("safety = 0", ["\"safety\" = 0", "0.01 to 1"]),
        ("rule = \"mpc\"", ["\"mpc\" is not known", "\"bola\""]),
        (
            "buffer = \"5 s\"",
            [
                "\"buffer\" = 5 s does not hold \"startup\" = 4 s",
                "at least 6 s",
            ],
        ),
        (
            "bitrate = \"1 Mbit/s\"",
            ["unknown key \"bitrate\"", "ladder"],
        ),
    ] {
        refused(LINK, &video(&format!(", {keys}")), "", &parts);
    }
}

#[test]
fn sizes_and_counts_of_a_page_are_in_range() {
    for (keys, parts) in [
        ("document = \"0 B\"", ["\"document\" = ", "allowed is"]),
        ("objects = -1", ["\"objects\" = -1", "is negative"]),
        ("blocking = 1000000", ["\"blocking\" = ", "0 to 10000"]),
        ("spread = 9", ["\"spread\" = 9", "0 to 3"]),
        ("count = 0", ["\"count\" = 0", "1 to "]),
        ("think = 10", ["\"think\" = 10 has no unit", "a time"]),
        ("new-connections = 1", ["\"new-connections\" is", "true"]),
    ] {
        refused(LINK, &page(&format!(", {keys}")), "", &parts);
    }
}

#[test]
fn videos_and_pages_come_to_the_user_over_tcp_or_quic() {
    for app in [video(""), page("")] {
        let quic = format!("transport = \"quic\"\n{app}");
        let quic = read(LINK, &quic, "").expect("valid");
        assert_eq!(quic.flows[0].transport, Transport::Quic);
        let udp = format!("transport = \"udp\"\n{app}");
        refused(LINK, &udp, "", &["does not run over udp", "\"quic\""]);
        let up = format!("direction = \"up\"\n{app}");
        refused(LINK, &up, "", &["do not come from the user"]);
    }
}
