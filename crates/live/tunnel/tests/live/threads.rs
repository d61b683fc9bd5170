//! One thread that moves packets, and two.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, client_config, download, plain, serve, server_config, two_paths,
};
use rustix::process::Signal;
use testing::wait_until;

pub const TESTS: &[Test] = &[
    (
        "every_byte_arrives_by_one_thread_and_by_two",
        every_byte_arrives_by_one_thread_and_by_two,
    ),
    (
        "what_two_threads_have_to_say_at_the_end_leaves",
        what_two_threads_have_to_say_at_the_end_leaves,
    ),
];

const BYTES: usize = 4_000_000;

/// Over two paths, with new keys every second, and without encryption. What leaves by the second thread is shown.
fn every_byte_arrives_by_one_thread_and_by_two() {
    let Some(hosts) = Hosts::try_new("every_byte_arrives_by_one_thread_and_by_two") else {
        return;
    };
    let configs = |threads: u64, change: fn(&str) -> String| {
        let more = format!("threads = {threads}\nrekey-after = \"1 s\"");
        let client = client_config(&more, &two_paths(""));
        (change(&server_config(&more)), change(&client))
    };
    let unsealed = |config: &str| plain(config).replace("rekey-after = \"1 s\"\n", "");
    for (threads, change) in [
        (1, str::to_owned as fn(&str) -> String),
        (2, str::to_owned),
        (2, unsealed),
    ] {
        let (server, client) = configs(threads, change);
        let server = Daemon::start(&hosts.server, "server", &server);
        let client = Daemon::start(&hosts.client, "client", &client);
        client.wait_for_paths(2);
        let handed_over = |daemon: &Daemon| {
            let packets = &daemon.status()["packets"];
            assert_eq!(packets["threads"].as_u64(), Some(threads));
            packets["handed_over"].as_u64().expect("a number")
        };
        let address = format!("{SERVER}:5001");
        // until each end has had more than the first thread does by itself
        wait_until("both ends have handed over", || {
            let _sender = serve(&hosts.server, &address, BYTES);
            download(&hosts.client, &address, BYTES, || {});
            let both = [&server, &client].map(handed_over);
            assert!(threads == 2 || both == [0, 0], "{both:?}");
            threads == 1 || both.iter().all(|count| *count > 0)
        });
    }
}

/// The end of the connection is the last packet that is handed over.
fn what_two_threads_have_to_say_at_the_end_leaves() {
    let Some(hosts) = Hosts::try_new("what_two_threads_have_to_say_at_the_end_leaves") else {
        return;
    };
    let server = Daemon::start(&hosts.server, "server", &server_config("threads = 2"));
    let config = client_config("threads = 2", &two_paths(""));
    let mut client = Daemon::start(&hosts.client, "client", &config);
    client.wait_for_paths(2);
    let address = format!("{SERVER}:5001");
    let _sender = serve(&hosts.server, &address, BYTES);
    download(&hosts.client, &address, BYTES, || {});
    client.signal(Signal::TERM);
    let status = client.child.wait().expect("it ends");
    assert!(status.success(), "{status}");
    assert!(client.log().contains("stopped"), "{}", client.log());
    wait_until("the server is notified", || {
        server.log().contains("disconnected")
    });
}
