//! The dashboards of both ends.

use crate::Test;
use crate::support::{
    Daemon, Hosts, Namespace, SERVER, client_config, download, serve, server_config, two_paths,
};
use dash::{Client, Target, View};
use std::time::Duration;

pub const TESTS: &[Test] = &[(
    "both_ends_show_their_paths_and_other_hosts_nothing",
    both_ends_show_their_paths_and_other_hosts_nothing,
)];

const TIMEOUT: Duration = Duration::from_secs(90);
const METRICS: &str = "[metrics]\nlisten = \"0.0.0.0:9466\"\n";

/// What this host's daemon shows of these paths while they carry something.
fn watch(host: &Namespace, paths: &[&str]) -> View {
    let target = Target::parse("127.0.0.1:9466").expect("an address");
    host.enter(|| {
        let mut client = Client::connect(target, None).expect("a dashboard");
        let is_complete = |view: &View| {
            let has_all = |path: &&str| {
                let is_there = |metric| view.value(path, metric).is_some();
                is_there("rtt_ms")
                    && is_there("path_share")
                    && view
                        .value(path, "path_rate_bps")
                        .is_some_and(|bps| bps > 1e5)
            };
            paths.iter().all(has_all)
        };
        let view = client.watch(TIMEOUT, is_complete).expect("it lives");
        assert!(is_complete(&view), "{view:#?}");
        view
    })
}

fn both_ends_show_their_paths_and_other_hosts_nothing() {
    let Some(hosts) = Hosts::try_new("both_ends_show_their_paths_and_other_hosts_nothing") else {
        return;
    };
    hosts.shape("a", 20);
    hosts.shape("b", 10);
    // metrics come after the keys of the file itself, so among the tables
    let server = Daemon::start(
        &hosts.server,
        "server",
        &format!("{}{METRICS}", server_config("")),
    );
    let paths = format!("{}{METRICS}", two_paths(""));
    let client = Daemon::start(&hosts.client, "client", &client_config("", &paths));
    client.wait_for_paths(2);
    let _serving = serve(&hosts.server, &format!("{SERVER}:80"), 12_000_000);
    let remotes: Vec<String> = (0..2)
        .map(|index| {
            let path = server.path(index);
            format!("one {}", path["remote"].as_str().expect("an address"))
        })
        .collect();
    let (near, far) = std::thread::scope(|scope| {
        scope.spawn(|| download(&hosts.client, &format!("{SERVER}:80"), 12_000_000, || {}));
        let near = scope.spawn(|| watch(&hosts.client, &["a", "b"]));
        let names: Vec<&str> = remotes.iter().map(String::as_str).collect();
        let far = watch(&hosts.server, &names);
        (near.join().expect("a view"), far)
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
            let cwnd = view.value(name, "path_cwnd_bytes").expect("a window");
            assert!(cwnd > 0.0, "{name}: {cwnd}");
            let rtt = view.value(name, "rtt_ms").expect("checked");
            assert!(rtt > 0.0, "{name}: {rtt}");
        }
    }
    assert_eq!(far.entities("flow"), [("one", None)].into());
    // from another host, without a token
    let target = Target::parse("10.1.0.1:9466").expect("an address");
    let refused = hosts
        .client
        .enter(|| Client::connect(target, None).map(drop));
    let refused = refused.expect_err("a stranger").to_string();
    assert!(refused.contains("log in with the token"), "{refused}");
    drop(client);
}
