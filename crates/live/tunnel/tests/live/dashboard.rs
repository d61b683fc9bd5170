//! The dashboards of both ends.

use crate::Test;
use crate::support::{
    Daemon, Hosts, Namespace, SERVER, client_config, download, serve, server_config, two_paths,
};
use dash::{Client, Target, View};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use testing::HANG_LIMIT;

pub const TESTS: &[Test] = &[(
    "both_ends_show_their_paths_and_nothing_without_a_token",
    both_ends_show_their_paths_and_nothing_without_a_token,
)];

const METRICS: &str = "[metrics]\nlisten = \"0.0.0.0:9466\"\n";

/// What this host's daemon shows of these paths while they carry something.
fn watch(host: &Namespace, paths: &[&str]) -> View {
    let target = Target::parse("127.0.0.1:9466").expect("an address");
    host.enter(|| {
        let mut client = Client::connect(target, None).expect("a dashboard");
        let is_complete = |view: &View| {
            let is_there = |path: &&str, metric| view.value(path, metric).is_some();
            let is_complete = |path: &&str| {
                let carries = view
                    .value(path, "path_rate_bps")
                    .is_some_and(|bps| bps > 0.0);
                carries && is_there(path, "rtt_ms") && is_there(path, "path_share")
            };
            paths.iter().all(is_complete)
        };
        let view = client.watch(HANG_LIMIT, is_complete).expect("it lives");
        assert!(is_complete(&view), "{view:#?}");
        view
    })
}

/// Downloads again and again, more than the first path carries.
fn carry_until(hosts: &Hosts, over: &AtomicBool) {
    let address = format!("{SERVER}:80");
    while !over.load(Relaxed) {
        let sender = serve(&hosts.server, &address, 4_000_000);
        download(&hosts.client, &address, 4_000_000, || {});
        sender.join().expect("it sent everything");
    }
}

fn both_ends_show_their_paths_and_nothing_without_a_token() {
    let Some(hosts) = Hosts::try_new("both_ends_show_their_paths_and_nothing_without_a_token")
    else {
        return;
    };
    hosts.shape("a", 10);
    hosts.shape("b", 5);
    // metrics come after the keys of the file itself, so among the tables
    let server = Daemon::start(
        &hosts.server,
        "server",
        &format!("{}{METRICS}", server_config("")),
    );
    let paths = format!("{}{METRICS}", two_paths(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &paths));
    client.wait_for_paths(2);
    let remotes: Vec<String> = (0..2)
        .map(|index| {
            let path = server.path(index);
            format!("one {}", path["remote"].as_str().expect("an address"))
        })
        .collect();
    let over = AtomicBool::new(false);
    let (near, far) = std::thread::scope(|scope| {
        scope.spawn(|| carry_until(&hosts, &over));
        let near = scope.spawn(|| watch(&hosts.client, &["a", "b"]));
        let names: Vec<&str> = remotes.iter().map(String::as_str).collect();
        let far = std::panic::catch_unwind(|| watch(&hosts.server, &names));
        let near = near.join();
        over.store(true, Relaxed);
        (near.expect("the near end"), far.expect("the far end"))
    });
    assert_eq!(
        near.entities("path"),
        [("a", Some("server")), ("b", Some("server"))].into()
    );
    for (view, names) in [(&near, ["a", "b"]), (&far, [&*remotes[0], &*remotes[1]])] {
        let share = |name| view.value(name, "path_share").expect("checked");
        assert!(
            (share(names[0]) + share(names[1]) - 1.0).abs() < 0.01,
            "{view:#?}"
        );
        for name in names {
            // a window has room for a packet, the MTU of the device inside
            let cwnd = view.value(name, "path_cwnd_bytes").expect("a window");
            assert!(cwnd >= 1_400.0, "{name}: {cwnd}");
            let rtt = view.value(name, "rtt_ms").expect("checked");
            assert!(rtt > 0.0, "{name}: {rtt}");
        }
    }
    assert_eq!(far.entities("flow"), [("one", None)].into());
    // from another host, without a token
    let target = Target::parse("10.1.0.1:9466").expect("an address");
    let rejected = hosts
        .client
        .enter(|| Client::connect(target, None).map(drop));
    let rejected = rejected.expect_err("no token").to_string();
    assert!(rejected.contains("log in with the token"), "{rejected}");
    drop(client);
}
