//! Packets that wait, as the proxy stops, is killed, reloads, or hands over.

use super::queue::{
    BULK, HOLD, LONG, datagram, held, holding, number, radio_of, received, receiver, sender,
};
use super::*;
use crate::Test;
use crate::lifecycle::transfer;
use crate::support::daemon::write_config;
use rustix::process::Signal;
use std::net::UdpSocket;
use std::sync::atomic::Ordering::Relaxed;

pub const TESTS: &[Test] = &[
    ("a_stop_lets_go_of_what_waits", a_stop_lets_go_of_what_waits),
    (
        "after_a_kill_packets_of_a_held_ue_pass",
        after_a_kill_packets_of_a_held_ue_pass,
    ),
    (
        "a_proxy_that_hangs_lets_packets_pass",
        a_proxy_that_hangs_lets_packets_pass,
    ),
    (
        "a_device_that_is_taken_away_comes_back",
        a_device_that_is_taken_away_comes_back,
    ),
    (
        "an_interface_that_comes_back_is_held_at_again",
        an_interface_that_comes_back_is_held_at_again,
    ),
    (
        "a_reload_begins_to_hold_and_ends_it",
        a_reload_begins_to_hold_and_ends_it,
    ),
    (
        "what_is_left_of_its_privileges_suffices_to_hold",
        what_is_left_of_its_privileges_suffices_to_hold,
    ),
    (
        "an_upgrade_loses_nothing_and_the_successor_holds",
        an_upgrade_loses_nothing_and_the_successor_holds,
    ),
    (
        "without_raw_sockets_a_queue_is_refused",
        without_raw_sockets_a_queue_is_refused,
    ),
];

fn a_stop_lets_go_of_what_waits() {
    let Some(hosts) = Hosts::try_new("a_stop_lets_go_of_what_waits") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, _queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let socket = receiver(&hosts, BULK, false);
    let mut daemon = holding(&hosts, HOLD, folder, 2);
    let from = sender(&hosts, false);
    let to = (client(false), BULK);
    for number in 0..30 {
        from.send_to(&datagram(number), to).expect("sent");
    }
    daemon.wait_until("they wait", || {
        number(&daemon, "waiting_bytes") == 30 * 1_228
    });
    assert!(daemon.stop().success());
    from.send_to(&datagram(30), to).expect("sent");
    for number in 0..31 {
        assert_eq!(received(&socket).0, number);
    }
    assert_eq!(devices(&hosts), 0);
}

/// Devices of proxies that hold packets.
fn devices(hosts: &Hosts) -> usize {
    hosts.proxy.sh("ip -o link").matches("brimfulq").count()
}

fn after_a_kill_packets_of_a_held_ue_pass() {
    let Some(hosts) = Hosts::try_new("after_a_kill_packets_of_a_held_ue_pass") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, _queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let socket = receiver(&hosts, BULK, false);
    let mut daemon = holding(&hosts, HOLD, folder, 2);
    let from = sender(&hosts, false);
    let to = (client(false), BULK);
    from.send_to(&datagram(0), to).expect("sent");
    daemon.wait_until("it waits", || number(&daemon, "waiting_bytes") == 1_228);
    assert_eq!(devices(&hosts), 1);
    daemon.child.kill().expect("killed");
    daemon.child.wait().expect("dead");
    testing::wait_until("the device has gone", || devices(&hosts) == 0);
    // with the process the kernel takes the link away; without links, what it has last said counts for 50 ms
    socket.set_nonblocking(true).expect("set");
    testing::wait_until("packets pass", || {
        from.send_to(&datagram(1), to).expect("sent");
        socket.recv(&mut [0; 2_000]).is_ok()
    });
    socket.set_nonblocking(false).expect("set");
    while received_now(&socket) {}
    for number in 10..40 {
        from.send_to(&datagram(number), to).expect("sent");
    }
    let numbers: Vec<u32> = (0..30).map(|_| received(&socket).0).collect();
    assert!(numbers.into_iter().eq(10..40));
    transfer(&hosts, 5_612);
}

fn a_proxy_that_hangs_lets_packets_pass() {
    let Some(hosts) = Hosts::try_new("a_proxy_that_hangs_lets_packets_pass") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, _queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let socket = receiver(&hosts, BULK, false);
    let daemon = holding(&hosts, HOLD, folder, 2);
    let from = sender(&hosts, false);
    let to = (client(false), BULK);
    from.send_to(&datagram(0), to).expect("sent");
    daemon.wait_until("it waits", || number(&daemon, "waiting_bytes") == 1_228);
    daemon.signal(Signal::STOP);
    socket.set_nonblocking(true).expect("set");
    testing::wait_until("packets pass", || {
        from.send_to(&datagram(1), to).expect("sent");
        socket.recv(&mut [0; 2_000]).is_ok()
    });
    daemon.signal(Signal::CONT);
    let before = number(&daemon, "waiting_bytes");
    daemon.wait_until("they wait again", || {
        from.send_to(&datagram(1), to).expect("sent");
        number(&daemon, "waiting_bytes") > before
    });
}

/// Takes a datagram that is there.
fn received_now(socket: &UdpSocket) -> bool {
    socket.set_nonblocking(true).expect("set");
    let came = socket.recv(&mut [0; 2_000]).is_ok();
    socket.set_nonblocking(false).expect("set");
    came
}

fn a_device_that_is_taken_away_comes_back() {
    let Some(hosts) = Hosts::try_new("a_device_that_is_taken_away_comes_back") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, _queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let socket = receiver(&hosts, BULK, false);
    let daemon = holding(&hosts, HOLD, folder, 2);
    let from = sender(&hosts, false);
    let name = unsplit(&daemon)["queue"]["device"].clone();
    let name = name.as_str().expect("a name");
    hosts.proxy.sh(&format!("ip link del {name}"));
    daemon.wait_until("there is one", || devices(&hosts) == 1);
    let before = number(&daemon, "passed") + number(&daemon, "waiting_bytes");
    daemon.wait_until("packets wait again", || {
        from.send_to(&datagram(0), (client(false), BULK))
            .expect("sent");
        number(&daemon, "passed") + number(&daemon, "waiting_bytes") > before
    });
    daemon.wait_until("all is well", || unsplit(&daemon)["error"].is_null());
    drop(socket);
}

fn an_interface_that_comes_back_is_held_at_again() {
    let Some(hosts) = Hosts::try_new("an_interface_that_comes_back_is_held_at_again") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let socket = receiver(&hosts, BULK, false);
    let daemon = holding(&hosts, HOLD, folder, 2);
    hosts.proxy.sh("ip link del ran0");
    daemon.wait_until("it has gone", || unsplit(&daemon)["error"].is_string());
    make_ran0(&hosts);
    daemon.wait_until("all is well", || unsplit(&daemon)["error"].is_null());
    let from = sender(&hosts, false);
    let to = (client(false), BULK);
    daemon.wait_until("packets wait again", || {
        from.send_to(&datagram(0), to).expect("sent");
        number(&daemon, "waiting_bytes") > 0
    });
    let passed = number(&daemon, "passed");
    for queue in &*queues {
        queue.store(0, Relaxed);
    }
    daemon.wait_until("and go on", || number(&daemon, "passed") > passed);
    received(&socket);
}

fn a_reload_begins_to_hold_and_ends_it() {
    let Some(hosts) = Hosts::try_new("a_reload_begins_to_hold_and_ends_it") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, _queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let mark = format!("{ALONE}{MARK}");
    let queue = format!("{ALONE}{HOLD}");
    let daemon = start_alone(&hosts, folder, &mark, &[]);
    daemon.wait_until("it has orders", || unsplit(&daemon)["ues"] == 2);
    let reloaded = |config: &str| {
        let times = || daemon.log().matches("configuration reloaded").count();
        let before = times();
        write_config(&daemon.folder, config);
        daemon.signal(Signal::HUP);
        daemon.wait_until("it has reloaded", || times() > before);
    };
    let socket = receiver(&hosts, BULK, false);
    let from = sender(&hosts, false);
    let to = (client(false), BULK);
    for round in 0..2 {
        let first = round * 10;
        reloaded(&queue);
        daemon.wait_until("it holds", || {
            unsplit(&daemon)["mode"] == "queue" && held(&daemon) == 2
        });
        assert_eq!(
            (unsplit(&daemon)["ues"].clone(), devices(&hosts)),
            (0.into(), 1)
        );
        for number in first..first + 10 {
            from.send_to(&datagram(number), to).expect("sent");
        }
        daemon.wait_until("they wait", || {
            number(&daemon, "waiting_bytes") == 10 * 1_228
        });
        reloaded(&mark);
        for number in first..first + 10 {
            assert_eq!(received(&socket).0, number);
        }
        daemon.wait_until("it marks", || unsplit(&daemon)["ues"] == 2);
        assert_eq!(unsplit(&daemon)["queue"], Value::Null);
        assert_eq!(devices(&hosts), 0);
    }
}

fn what_is_left_of_its_privileges_suffices_to_hold() {
    let Some(hosts) = Hosts::try_new("what_is_left_of_its_privileges_suffices_to_hold") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let nobody = Some(65_534);
    std::os::unix::fs::chown(folder.path(), nobody, nobody).expect("root may");
    let (_radio, queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let socket = folder.path().join("radio");
    std::os::unix::fs::chown(socket, nobody, nobody).expect("root may");
    let config = format!("user = \"nobody\"\n{ALONE}{HOLD}");
    let near = receiver(&hosts, BULK, false);
    let daemon = start_alone(&hosts, folder, &config, &[]);
    daemon.wait_until("UEs are held", || held(&daemon) == 2);
    let from = sender(&hosts, false);
    for number in 0..20 {
        from.send_to(&datagram(number), (client(false), BULK))
            .expect("sent");
    }
    queues[0].store(0, Relaxed);
    for number in 0..20 {
        assert_eq!(received(&near).0, number);
    }
    assert_eq!(unsplit(&daemon)["error"], Value::Null);
}

fn an_upgrade_loses_nothing_and_the_successor_holds() {
    let Some(hosts) = Hosts::try_new("an_upgrade_loses_nothing_and_the_successor_holds") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (_radio, queues) = radio_of(folder.path(), RATE, [LONG, LONG]);
    let socket = receiver(&hosts, BULK, false);
    let mut old = holding(&hosts, HOLD, folder, 2);
    let from = sender(&hosts, false);
    let to = (client(false), BULK);
    for number in 0..20 {
        from.send_to(&datagram(number), to).expect("sent");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| old.path(name).to_str().expect("plain").to_owned();
    let config = format!("{ALONE}{HOLD}")
        .replace("{dir}/pep.sock", &at("pep.sock"))
        .replace("{dir}/radio", &at("radio"));
    let new = Daemon::spawn(&hosts.proxy, folder, &config, &["--upgrade"]);
    new.wait_until("it ends", || old.child.try_wait().expect("known").is_some());
    assert!(old.child.wait().expect("an end").success());
    for number in 0..20 {
        assert_eq!(received(&socket).0, number);
    }
    let status = || unsplit_at(&old.path("pep.sock"));
    new.wait_until("the successor holds", || {
        status()["queue"]["held_ues"] == 2 && status()["way"] != "waiting"
    });
    let before = status()["redirected"].as_u64();
    for number in 20..40 {
        from.send_to(&datagram(number), to).expect("sent");
    }
    new.wait_until("packets wait there", || {
        status()["redirected"].as_u64() > before
    });
    queues[0].store(0, Relaxed);
    for number in 20..40 {
        assert_eq!(received(&socket).0, number);
    }
}

fn without_raw_sockets_a_queue_is_refused() {
    let Some(hosts) = Hosts::try_new("without_raw_sockets_a_queue_is_refused") else {
        return;
    };
    let wrapper = ["setpriv", "--bounding-set", "-net_raw"];
    let folder = tempfile::tempdir().expect("a folder");
    let queue = format!("{ALONE}{HOLD}");
    let mut daemon = Daemon::spawn_wrapped(&hosts.proxy, folder, &queue, &wrapper, &[]);
    assert!(!daemon.child.wait().expect("it ends").success());
    let log = daemon.log();
    assert!(
        log.contains("mode = \"queue\": no socket for frames, which needs CAP_NET_RAW"),
        "{log}"
    );
    // one that marks goes on, and a reload is refused
    let folder = tempfile::tempdir().expect("a folder");
    let _radio = radio(folder.path());
    let daemon = start_alone(&hosts, folder, &format!("{ALONE}{MARK}"), &wrapper);
    write_config(&daemon.folder, &queue);
    daemon.signal(Signal::HUP);
    daemon.wait_until("a reload is refused", || {
        daemon.log().contains("go on was not opened at the start")
    });
    assert_eq!(unsplit(&daemon)["mode"], "mark");
}
