//! Starting, stopping, dying, reloading, and handing over.

use crate::support::Hosts;
use crate::support::daemon::{Daemon, write_config};
use crate::support::traffic::{accept, connect, receive, send};
use crate::{Test, server_at, split};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

pub const TESTS: &[Test] = &[
    (
        "a_stop_leaves_nothing_and_lets_pass",
        a_stop_leaves_nothing_and_lets_pass,
    ),
    (
        "a_kill_lets_pass_and_the_next_start_clears",
        a_kill_lets_pass_and_the_next_start_clears,
    ),
    (
        "a_start_breaks_no_connection_that_was_there",
        a_start_breaks_no_connection_that_was_there,
    ),
    (
        "a_second_proxy_of_an_interface_is_rejected",
        a_second_proxy_of_an_interface_is_rejected,
    ),
    (
        "of_two_started_together_one_serves",
        of_two_started_together_one_serves,
    ),
    (
        "an_upgrade_refuses_no_connection",
        an_upgrade_refuses_no_connection,
    ),
    (
        "a_reload_changes_rules_and_rejects_invalid_files",
        a_reload_changes_rules_and_rejects_invalid_files,
    ),
];

/// All that an interception can leave.
pub fn traces(hosts: &Hosts) -> String {
    hosts.proxy.sh(
        "nft list tables; for f in -4 -6; do ip $f rule list | grep -i fwmark || true; \
         ip $f route show table all | grep 'local default' || true; done",
    )
}

/// A transfer that does not pass through any proxy.
pub fn transfer(hosts: &Hosts, port: u16) {
    let (address, listener) = server_at(hosts, port);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    send(&far, 200_000).expect("sent");
    drop(far);
    assert_eq!(receive(&near).expect("received"), 200_000);
}

fn a_stop_leaves_nothing_and_lets_pass() {
    let Some(hosts) = Hosts::try_new("a_stop_leaves_nothing_and_lets_pass") else {
        return;
    };
    let mut daemon = Daemon::start(&hosts.proxy, &split(""));
    assert!(traces(&hosts).contains("brimful_"));
    let (address, listener) = server_at(&hosts, 5_401);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    assert!(daemon.stop().success());
    assert_eq!(traces(&hosts), "");
    // both ends of a connection that was there are reset
    assert!((&near).read(&mut [0]).is_err() && (&far).read(&mut [0]).is_err());
    transfer(&hosts, 5_402);
}

fn a_kill_lets_pass_and_the_next_start_clears() {
    let Some(hosts) = Hosts::try_new("a_kill_lets_pass_and_the_next_start_clears") else {
        return;
    };
    let mut daemon = Daemon::start(&hosts.proxy, &split(""));
    let (address, listener) = server_at(&hosts, 5_403);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    let sender = std::thread::spawn(move || send(&far, usize::MAX).is_err());
    (&near).read_exact(&mut [0; 1_000_000]).expect("under way");
    daemon.child.kill().expect("killed");
    daemon.child.wait().expect("dead");
    let is_broken = receive_rest(&near);
    assert!(
        is_broken && sender.join().expect("an end"),
        "both ends notice"
    );
    // rules of the dead are still there, and do no harm
    assert!(traces(&hosts).contains("brimful_"));
    for port in 5_410..5_420 {
        transfer(&hosts, port);
    }
    let again = Daemon::start(&hosts.proxy, &split(""));
    assert_eq!(traces(&hosts).matches("brimful_").count(), 1);
    assert!(again.log().contains("removing what a dead instance left"));
    transfer(&hosts, 5_421);
    assert_eq!(again.count("accepted"), 1);
}

fn a_start_breaks_no_connection_that_was_there() {
    let Some(hosts) = Hosts::try_new("a_start_breaks_no_connection_that_was_there") else {
        return;
    };
    let (address, listener) = server_at(&hosts, 5_422);
    let near = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    // both directions, so that the UE's own segments and its acknowledgements meet the rules
    send(&near, 50_000).expect("sent");
    (&far).read_exact(&mut [0; 50_000]).expect("received");
    send(&far, 200_000).expect("sent");
    drop(far);
    assert_eq!(receive(&near).expect("received"), 200_000);
    assert_eq!(daemon.count("accepted"), 0);
    transfer(&hosts, 5_423);
    assert_eq!(daemon.count("accepted"), 1);
}

/// Reads on; true if that ends by an error or an end.
fn receive_rest(mut near: &std::net::TcpStream) -> bool {
    let mut buffer = vec![0; 1 << 20];
    loop {
        match near.read(&mut buffer) {
            Ok(n) if n > 0 => {}
            Ok(_) => return true,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

fn a_second_proxy_of_an_interface_is_rejected() {
    let Some(hosts) = Hosts::try_new("a_second_proxy_of_an_interface_is_rejected") else {
        return;
    };
    let first = Daemon::start(&hosts.proxy, &split(""));
    let folder = tempfile::tempdir().expect("a folder");
    let mut second = Daemon::spawn(&hosts.proxy, folder, &split(""), &[]);
    assert!(!second.child.wait().expect("an end").success());
    let printed = second.log();
    assert!(
        printed.contains("another proxy already serves interface ran0"),
        "{printed}"
    );
    transfer(&hosts, 5_404);
    assert_eq!(first.count("accepted"), 1, "the first goes on");
    assert_eq!(traces(&hosts).matches("brimful_").count(), 1);
}

fn of_two_started_together_one_serves() {
    let Some(hosts) = Hosts::try_new("of_two_started_together_one_serves") else {
        return;
    };
    for round in 0..3 {
        let mut both: Vec<Daemon> = (0..2)
            .map(|_| {
                let folder = tempfile::tempdir().expect("a folder");
                Daemon::spawn(&hosts.proxy, folder, &split(""), &[])
            })
            .collect();
        let loser = testing::wait_for("the end of one", || {
            let ended = |d: &mut Daemon| d.child.try_wait().expect("a child").is_some();
            both.iter_mut().position(ended)
        });
        let loser = both.remove(loser);
        let mut winner = both.remove(0);
        assert!(
            loser.log().contains("another proxy already serves"),
            "{}",
            loser.log()
        );
        winner.wait_until("it accepts", || winner.log().contains("accepting"));
        assert_eq!(traces(&hosts).matches("table inet brimful_").count(), 1);
        transfer(&hosts, 5_430 + round);
        assert_eq!(winner.count("accepted"), 1);
        assert!(winner.stop().success());
        assert_eq!(traces(&hosts), "");
    }
}

fn an_upgrade_refuses_no_connection() {
    let Some(hosts) = Hosts::try_new("an_upgrade_refuses_no_connection") else {
        return;
    };
    let mut old = Daemon::start(&hosts.proxy, &split(""));
    let (address, listener) = server_at(&hosts, 5_405);
    let served = std::thread::spawn(move || {
        let mut long = None;
        loop {
            let (mut far, _) = accept(&listener);
            let mut word = [0];
            far.read_exact(&mut word).expect("received");
            // the proxy's threads need not come here in the order in which the client called
            if word == *b"l" {
                long = Some(far);
                continue;
            }
            far.write_all(&word).expect("sent");
            if word == *b"q" {
                return long.expect("the long one");
            }
        }
    });
    let mut long = connect(&hosts.client, address).expect("connected");
    long.write_all(b"l").expect("sent");
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let ask = |word: &[u8; 1]| {
        let mut near = connect(&hosts.client, address).expect("connected");
        near.write_all(word).expect("sent");
        near.read_exact(&mut [0]).expect("answered");
        count.fetch_add(1, Relaxed);
    };
    let new = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                ask(b"x");
            }
        });
        old.wait_until("some were served", || count.load(Relaxed) > 20);
        let folder = tempfile::tempdir().expect("a folder");
        // the same admin socket, as the same configuration would have it
        let config = split("").replace(
            "{dir}/pep.sock",
            old.path("pep.sock").to_str().expect("plain"),
        );
        let new = Daemon::start_in(&hosts.proxy, folder, &config, &["--upgrade"]);
        new.wait_until("the new one serves", || {
            pep::status(&old.path("pep.sock")).is_ok_and(|status| {
                status["pid"] == new.child.id()
                    && status["counters"]["accepted"].as_u64() > Some(20)
            })
        });
        stop.store(true, Relaxed);
        new
    });
    let status = pep::status(&old.path("pep.sock")).expect("the new one answers");
    assert_eq!(status["pid"], new.child.id());
    // what began with the old one ends with it, and only then does it end
    assert!(old.child.try_wait().expect("known").is_none());
    ask(b"q");
    let far = served.join().expect("it ends");
    send(&far, 500_000).expect("sent");
    far.shutdown(Shutdown::Write).expect("shut");
    assert_eq!(receive(&long).expect("received"), 500_000);
    drop((long, far));
    assert!(old.child.wait().expect("an end").success());
    // the rules are the new one's
    assert_eq!(traces(&hosts).matches("table inet brimful_").count(), 1);
    let before = status["counters"]["accepted"].as_u64();
    transfer(&hosts, 5_406);
    let status = pep::status(&old.path("pep.sock")).expect("it answers");
    assert!(status["counters"]["accepted"].as_u64() > before);
}

fn a_reload_changes_rules_and_rejects_invalid_files() {
    let Some(hosts) = Hosts::try_new("a_reload_changes_rules_and_rejects_invalid_files") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    transfer(&hosts, 5_407);
    assert_eq!(daemon.count("accepted"), 1);
    let (address, listener) = server_at(&hosts, 5_408);
    let open = connect(&hosts.client, address).expect("connected");
    let (far, _) = accept(&listener);
    let other = split("").replace("\"10.45.0.0/24\"", "\"10.77.0.0/24\"");
    write_config(&daemon.folder, &other);
    daemon.signal(Signal::HUP);
    daemon.wait_until("it has reloaded", || {
        daemon.log().contains("configuration reloaded")
    });
    transfer(&hosts, 5_409);
    assert_eq!(daemon.count("accepted"), 2, "this UE is none any more");
    // a connection that was there goes on
    send(&far, 300_000).expect("sent");
    drop(far);
    assert_eq!(receive(&open).expect("received"), 300_000);
    for (nonsense, printed) in [
        ("mode = \"transparnt\"\n".to_owned(), "did you mean"),
        (
            split("").replace("\"split\"", "\"default\"\n[reports]\nsource = \"unix:/x\""),
            "not reloaded",
        ),
    ] {
        write_config(&daemon.folder, &nonsense);
        daemon.signal(Signal::HUP);
        daemon.wait_until("it has logged that", || daemon.log().contains(printed));
    }
    assert_eq!(daemon.status()["state"], "running");
}
