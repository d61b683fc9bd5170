//! The dashboard of the running proxy.

use crate::control::Download;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, report};
use crate::support::{CLIENT, Hosts, Namespace};
use crate::{Test, split};
use dash::{Client, ClientError, Target, View};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    (
        "the_dashboard_shows_cell_ue_and_flow",
        the_dashboard_shows_cell_ue_and_flow,
    ),
    (
        "from_afar_the_token_is_needed",
        from_afar_the_token_is_needed,
    ),
    (
        "a_viewer_is_passed_on_to_the_successor",
        a_viewer_is_passed_on_to_the_successor,
    ),
];

const TIMEOUT: Duration = Duration::from_secs(90);
const WINDOWS: [&str; 3] = ["cwnd_bytes", "receive_window_bytes", "ran_window_bytes"];
const TOKEN: &str = "a-token-of-sufficient-length";

fn client(from: &Namespace, address: &str, token: Option<&str>) -> Result<Client, ClientError> {
    let target = Target::parse(address).expect("an address");
    from.enter(|| Client::connect(target, token.map(str::to_owned)))
}

fn the_dashboard_shows_cell_ue_and_flow() {
    let Some(hosts) = Hosts::try_new("the_dashboard_shows_cell_ue_and_flow") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let _radio = Radio::start(&folder.path().join("radio"), |n, at| {
        let mut report = report(&[CLIENT.into()], n, at, 50_000_000);
        report.ues[0].prb_dl = units::Prb::new(40);
        report.ues[0].rlc_queue_bytes = units::Bytes::new(9_000);
        report
    });
    let more = "[reports]\nsource = \"unix:{dir}/radio\"\n[metrics]\nlisten = \"127.0.0.1:9464\"\n\
                [unsplit]\nmode = \"mark\"\n";
    let mut daemon = Daemon::start_in(&hosts.proxy, folder, &format!("{TRANSPARENT}{more}"), &[]);
    let _download = Download::start(&hosts, 8080);
    let mut client = client(&hosts.proxy, "127.0.0.1:9464", None).expect("a dashboard");
    let (ue, flow) = (CLIENT.to_string(), "10.99.0.2:8080 #0");
    let seen = RefCell::new(BTreeSet::new());
    let is_enough = |view: &View| {
        let has = |metric| view.value(flow, metric).is_some();
        // a window is closed for a while where the UE is slower than the server: on a slow machine for nearly all of the time
        let is_open = |bytes| bytes > 0.0 || testing::is_slow_machine();
        let open = WINDOWS
            .into_iter()
            .filter(|metric| view.value(flow, metric).is_some_and(is_open));
        seen.borrow_mut().extend(open);
        view.value(flow, "goodput_bps").is_some_and(|bps| bps > 0.0)
            && has("rtt_ms")
            && has("is_slow")
            && seen.borrow().len() == WINDOWS.len()
            && view.value(&ue, "goodput_bps").is_some_and(|bps| bps > 0.0)
            && view.value("cell 1", "capacity_bps").is_some()
            && view
                .value(&ue, "unsplit_rate_bps")
                .is_some_and(|bps| bps > 0.0)
            && view.value(&ue, "unsplit_delay_ms").is_some()
    };
    let view = client.watch(TIMEOUT, is_enough).expect("it lives");
    assert!(is_enough(&view), "{view:#?}");
    assert_eq!(view.value("cell 1", "capacity_bps"), Some(50e6));
    assert_eq!(view.value("cell 1", "utilisation"), Some(0.4));
    assert_eq!(view.value(&ue, "prb"), Some(40.0));
    assert_eq!(view.value(&ue, "queue_bytes"), Some(9_000.0));
    assert!(view.entities("ue").contains(&(&ue, Some("cell 1"))));
    assert!(view.entities("flow").contains(&(flow, Some(&ue))));
    let rtt = view.value(flow, "rtt_ms").expect("checked");
    assert!(rtt > 0.0, "{rtt}");
    // the same port has its metrics as before, and names where the rest is
    let text = hosts.proxy.sh("curl -s 127.0.0.1:9464/metrics");
    assert!(text.contains("brimful_pep_connections 1"), "{text}");
    let text = hosts.proxy.sh("curl -s 127.0.0.1:9464/");
    assert!(text.contains("/dash/"), "{text}");
    assert!(daemon.stop().success());
}

fn from_afar_the_token_is_needed() {
    let Some(hosts) = Hosts::try_new("from_afar_the_token_is_needed") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("token");
    std::fs::write(&path, format!("{TOKEN}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("set");
    let more = "[metrics]\nlisten = \"0.0.0.0:9464\"\n[dashboard]\ntoken-file = \"{dir}/token\"\n";
    let _daemon = Daemon::start_in(&hosts.proxy, folder, &split(more), &[]);
    let from = |host, token| client(host, "10.99.0.1:9464", token);
    let none = from(&hosts.server, None).expect_err("no token").to_string();
    assert!(none.contains("log in with the token"), "{none}");
    let wrong = from(&hosts.server, Some("another-token-as-long-as-it")).expect_err("wrong");
    assert!(wrong.to_string().contains("the token is wrong"), "{wrong}");
    from(&hosts.server, Some(TOKEN)).expect("it is let in");
    client(&hosts.proxy, "127.0.0.1:9464", None).expect("this machine");
}

fn a_viewer_is_passed_on_to_the_successor() {
    let Some(hosts) = Hosts::try_new("a_viewer_is_passed_on_to_the_successor") else {
        return;
    };
    let config = split("[metrics]\nlisten = \"127.0.0.1:9464\"\n");
    let old = Daemon::start(&hosts.proxy, &config);
    let _long = Download::start(&hosts, 8081);
    let mut client = client(&hosts.proxy, "127.0.0.1:9464", None).expect("a dashboard");
    let has_flow = |view: &View| !view.entities("flow").is_empty();
    client.watch(TIMEOUT, has_flow).expect("it lives");
    let folder = tempfile::tempdir().expect("a folder");
    let socket = old.path("pep.sock");
    let config = config.replace("{dir}/pep.sock", socket.to_str().expect("a plain path"));
    let new = Daemon::start_in(&hosts.proxy, folder, &config, &["--upgrade"]);
    let lost = client.watch(TIMEOUT, |_| false).expect_err("it is lost");
    assert!(matches!(lost, ClientError::Away { .. }), "{lost}");
    hosts
        .proxy
        .enter(|| client.reconnect())
        .expect("the new one");
    old.wait_until("it accepts no more", || !old.listens(&hosts.proxy));
    let _short = Download::start(&hosts, 8082);
    let is_new = |view: &View| {
        let flows = view.entities("flow");
        flows
            .iter()
            .any(|(flow, _)| flow.starts_with("10.99.0.2:8082"))
    };
    let view = client.watch(TIMEOUT, is_new).expect("it lives");
    // the old one keeps its own connection
    assert!(is_new(&view), "{view:#?}");
    assert_eq!(view.entities("flow").len(), 1);
    drop(new);
}
