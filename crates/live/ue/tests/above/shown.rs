//! The dashboard of the running daemon.

use crate::Test;
use crate::faults::{hold, reach};
use crate::support::{Place, SHUT};
use dash::{Client, Target, View};
use std::time::Duration;

pub const TESTS: &[Test] = &[(
    "the_dashboard_shows_what_waits_above_the_modem_and_in_it",
    the_dashboard_shows_what_waits_above_the_modem_and_in_it,
)];

const TIMEOUT: Duration = Duration::from_secs(90);

fn the_dashboard_shows_what_waits_above_the_modem_and_in_it() {
    let place = Place::new();
    let modem = place.modem();
    let _daemon = place.daemon("mode = \"queue\"");
    reach(&place);
    let _held = hold(&place, &modem);
    let target = Target::parse("127.0.0.1:9468").expect("an address");
    let client = place.router.enter(|| Client::connect(target, None));
    let mut client = client.expect("a dashboard");
    let is_enough = |view: &View| {
        let has = |metric| view.value("wwan0", metric).is_some();
        // 30 packets of 300 bytes, with their headers
        view.value("wwan0", "queue_bytes")
            .is_some_and(|bytes| bytes >= 9_840.0)
            && view
                .value("wwan0", "capacity_bps")
                .is_some_and(|bps| bps > 0.0)
            && has("goodput_bps")
            && has("marks_per_second")
            && has("report_age_ms")
            && view.value("modem of wwan0", "queue_bytes") == Some(SHUT as f64)
    };
    let view = client.watch(TIMEOUT, is_enough).expect("it lives");
    assert!(is_enough(&view), "{view:#?}");
    assert!(view.entities("ue").contains(&("wwan0", None)));
    assert!(view.entities("queue").contains(&("modem of wwan0", None)));
    // the same port has its metrics as before
    let text = place.router.sh("curl -s 127.0.0.1:9468/metrics");
    assert!(
        text.contains(&format!("brimful_ue_modem_queue_bytes {SHUT}\n")),
        "{text}"
    );
}
