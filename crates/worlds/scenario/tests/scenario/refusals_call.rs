//! What is refused of calls.

use scenario::{AppSpec, CallController, Overrides, load_str};
use units::{BitRate, Bytes, Duration};

fn text(lines: &str, app: &str) -> String {
    format!(
        "name = \"call\"\nduration = \"10 s\"\n[path]\nrtt = \"50 ms\"\n[link]\nrate = \"10 Mbit/s\"\n\
         [flow.call]\n{lines}\napp = {{ kind = \"call\"{app} }}\n"
    )
}

fn refused(lines: &str, app: &str) -> String {
    match load_str(&text(lines, app), &Overrides::default()) {
        Ok(_) => panic!("accepted: {lines} {app}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_call_has_its_defaults() {
    let points = load_str(&text("", ""), &Overrides::default()).expect("good");
    let AppSpec::Call(call) = &points[0].experiment.flows[0].app else {
        panic!("a call");
    };
    assert_eq!(call.controller, CallController::Gcc);
    let rates = [call.limits.min(), call.limits.start(), call.limits.max()];
    let expected = [150_000, 300_000, 8_000_000].map(BitRate::from_bps);
    assert_eq!(rates, expected);
    assert_eq!(
        (call.encoder.frame_rate, call.packet),
        (30, Bytes::new(1200))
    );
    assert_eq!(call.encoder.key_frame_interval, None);
    assert_eq!(call.late_after, Duration::from_millis(400));
    assert_eq!(points[0].experiment.draws(), ["sizes of frames"]);
}

#[test]
fn messages_name_the_key_and_what_is_allowed() {
    let cases: [(&str, &str, &[&str]); 7] = [
        (
            "",
            ", controller = \"nada\"",
            &["\"controller\" = \"nada\"", "gcc", "scream"],
        ),
        (
            "",
            ", start-rate = \"9 Mbit/s\"",
            &[
                "\"min-rate\" = 150 kbit/s",
                "\"start-rate\" = 9 Mbit/s",
                "not in order",
            ],
        ),
        (
            "",
            ", min-rate = \"500 kbit/s\"",
            &["\"min-rate\" = 500 kbit/s", "each is at most the next"],
        ),
        (
            "",
            ", frame-rate = 0",
            &["\"frame-rate\" = 0", "allowed is 1 to 240"],
        ),
        (
            "",
            ", key-frame-interval = \"40 ms\"",
            &["a key frame every 40 ms", "two frames"],
        ),
        (
            "ecn = \"l4s\"",
            "",
            &[
                "\"ecn\"",
                "controller = \"gcc\", which ignores marks",
                "scream",
            ],
        ),
        ("transport = \"tcp\"", "", &["does not run over tcp", "udp"]),
    ];
    for (lines, app, parts) in cases {
        let message = refused(lines, app);
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in: {message}");
        }
        assert!(message.starts_with("<text>:"), "{message}");
    }
    let good = text("ecn = \"l4s\"", ", controller = \"scream\"");
    assert!(load_str(&good, &Overrides::default()).is_ok());
}
