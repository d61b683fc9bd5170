//! A disk that is full under what the proxy writes.

use crate::Test;
use crate::support::Hosts;
use crate::support::daemon::Daemon;
use crate::support::traffic::{accept, connect};
use crate::wire::exchange;
use crate::{server_at, split};

pub const TESTS: &[Test] = &[(
    "a_full_disk_under_the_log_ends_nothing",
    a_full_disk_under_the_log_ends_nothing,
)];

/// At the level `debug` each connection is logged.
fn a_full_disk_under_the_log_ends_nothing() {
    let Some(hosts) = Hosts::try_new("a_full_disk_under_the_log_ends_nothing") else {
        return;
    };
    for more in ["", "format = \"json\"\n"] {
        let config =
            split("").replace("level = \"debug\"\n", &format!("level = \"debug\"\n{more}"));
        let mut daemon = Daemon::start_on_a_full_disk(&hosts.proxy, &config);
        let (address, listener) = server_at(&hosts, 5_801);
        for _ in 0..5 {
            let near = connect(&hosts.client, address).expect("connected");
            let (far, _) = accept(&listener);
            exchange(&near, &far, 100_000);
        }
        daemon.wait_until("all went through it", || daemon.count("finished") == 5);
        // a reload that is refused is logged as an error
        crate::support::daemon::write_config(&daemon.folder, "mode = \"none\"");
        daemon.signal(rustix::process::Signal::HUP);
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        exchange(&near, &far, 100_000);
        daemon.wait_until("it goes on", || daemon.count("finished") == 6);
        assert!(daemon.stop().success());
    }
}
