//! How the program comes and goes with its process, and that nothing else of a proxy is there where nothing is split.

use super::*;
use crate::Test;
use crate::lifecycle::{traces, transfer};
use crate::support::daemon::write_config;
use crate::support::datagrams::{Arrivals, Datagrams, Ecn};
use kernel_marker::{Marker, Settings};
use rustix::process::Signal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub const TESTS: &[Test] = &[
    (
        "a_proxy_that_splits_nothing_needs_no_nft_and_accepts_nothing",
        a_proxy_that_splits_nothing_needs_no_nft_and_accepts_nothing,
    ),
    (
        "what_is_left_of_its_privileges_suffices_to_mark",
        what_is_left_of_its_privileges_suffices_to_mark,
    ),
    ("after_a_kill_packets_pass", after_a_kill_packets_pass),
    ("after_a_stop_packets_pass", after_a_stop_packets_pass),
    (
        "a_second_marker_of_an_interface_is_refused",
        a_second_marker_of_an_interface_is_refused,
    ),
    ("a_missing_interface_is_named", a_missing_interface_is_named),
    (
        "an_interface_that_comes_back_is_marked_at_again",
        an_interface_that_comes_back_is_marked_at_again,
    ),
    (
        "without_the_rights_marks_are_refused",
        without_the_rights_marks_are_refused,
    ),
    (
        "an_upgrade_drops_nothing_and_the_successor_marks",
        an_upgrade_drops_nothing_and_the_successor_marks,
    ),
    (
        "ues_beyond_max_ues_pass_until_there_is_room",
        ues_beyond_max_ues_pass_until_there_is_room,
    ),
    (
        "an_upgrade_cannot_end_the_splitting",
        an_upgrade_cannot_end_the_splitting,
    ),
];

const PORT: u16 = 7_001;

fn heavy() -> Datagrams {
    Datagrams::heavy(PORT, Ecn::Ect1)
}

/// A proxy that splits nothing, at work.
fn marking<'a>(hosts: &'a Hosts) -> (Daemon, Radio, Arrivals<'a>) {
    let folder = tempfile::tempdir().expect("a folder");
    let radio = radio(folder.path());
    let daemon = start_alone(hosts, folder, &format!("{ALONE}{MARK}"), &[]);
    let arrivals = Arrivals::count(hosts, &[PORT]);
    let flow = heavy().start(hosts);
    testing::wait_until("it is marked", || arrivals.with(PORT, Ecn::Ce) > 0);
    let sent = flow.stop();
    testing::wait_until("all have arrived", || arrivals.all(PORT) == sent);
    (daemon, radio, arrivals)
}

/// That packets pass as they are.
fn must_be_unmarked(hosts: &Hosts, arrivals: &Arrivals<'_>) {
    let look = || (arrivals.all(PORT), arrivals.with(PORT, Ecn::Ce));
    let (all, marked) = look();
    heavy().send(hosts, 300);
    testing::wait_until("all have arrived", || arrivals.all(PORT) == all + 300);
    assert_eq!(look(), (all + 300, marked));
}

fn a_proxy_that_splits_nothing_needs_no_nft_and_accepts_nothing() {
    let test = "a_proxy_that_splits_nothing_needs_no_nft_and_accepts_nothing";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let _radio = radio(folder.path());
    let without_nft = "for at in /usr/sbin /sbin /usr/bin; do \
                       [ -e $at/nft ] && mount --bind /bin/false $at/nft; done; exec \"$@\"";
    let wrapper = ["unshare", "--mount", "sh", "-c", without_nft, "sh"];
    let mut daemon = start_alone(&hosts, folder, &format!("{ALONE}{MARK}"), &wrapper);
    daemon.wait_until("it has orders", || unsplit(&daemon)["ues"] == 2);
    assert_eq!(traces(&hosts), "");
    assert_eq!(hosts.proxy.sh("ss -Hltn").trim(), "", "nothing listens");
    // connections pass by
    transfer(&hosts, 5_603);
    let status = daemon.status();
    assert_eq!(status["listeners"], serde_json::json!([]));
    assert_eq!(daemon.count("accepted"), 0);
    assert!(daemon.stop().success());
    assert!(!daemon.log().contains("panicked"), "{}", daemon.log());
}

fn what_is_left_of_its_privileges_suffices_to_mark() {
    let Some(hosts) = Hosts::try_new("what_is_left_of_its_privileges_suffices_to_mark") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let nobody = Some(65_534);
    std::os::unix::fs::chown(folder.path(), nobody, nobody).expect("root may");
    let _radio = radio(folder.path());
    let socket = folder.path().join("radio");
    std::os::unix::fs::chown(socket, nobody, nobody).expect("root may");
    let config = format!("user = \"nobody\"\n{ALONE}{MARK}");
    let daemon = start_alone(&hosts, folder, &config, &[]);
    let status = PathBuf::from(format!("/proc/{}/status", daemon.child.id()));
    let status = std::fs::read_to_string(status).expect("it runs");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(str::trim).map(str::to_owned)
    };
    // CAP_NET_ADMIN
    assert_eq!(field("CapEff:").as_deref(), Some("0000000000001000"));
    assert_eq!(field("CapBnd:"), field("CapEff:"));
    assert_eq!(field("Seccomp:").as_deref(), Some("2"));
    assert!(field("Uid:").is_some_and(|uids| uids.starts_with("65534")));
    let arrivals = Arrivals::count(&hosts, &[PORT]);
    let _flow = heavy().start(&hosts);
    testing::wait_until("it is marked", || arrivals.with(PORT, Ecn::Ce) > 0);
    assert_eq!(unsplit(&daemon)["error"], Value::Null);
}

fn after_a_kill_packets_pass() {
    let Some(hosts) = Hosts::try_new("after_a_kill_packets_pass") else {
        return;
    };
    let (mut daemon, radio, arrivals) = marking(&hosts);
    daemon.child.kill().expect("killed");
    daemon.child.wait().expect("dead");
    // the last order of one that is killed counts no longer than a report does
    testing::wait_until("packets are no longer marked", || {
        let before = arrivals.with(PORT, Ecn::Ce);
        let all = arrivals.all(PORT);
        heavy().send(&hosts, 50);
        testing::wait_until("all have arrived", || arrivals.all(PORT) == all + 50);
        arrivals.with(PORT, Ecn::Ce) == before
    });
    must_be_unmarked(&hosts, &arrivals);
    transfer(&hosts, 5_604);
    // and the next one marks
    let folder = tempfile::tempdir().expect("a folder");
    drop(radio);
    let _radio = super::radio(folder.path());
    let _daemon = start_alone(&hosts, folder, &format!("{ALONE}{MARK}"), &[]);
    let before = arrivals.with(PORT, Ecn::Ce);
    let _flow = heavy().start(&hosts);
    testing::wait_until("it is marked", || arrivals.with(PORT, Ecn::Ce) > before);
}

fn after_a_stop_packets_pass() {
    let Some(hosts) = Hosts::try_new("after_a_stop_packets_pass") else {
        return;
    };
    let (mut daemon, _radio, arrivals) = marking(&hosts);
    assert!(daemon.stop().success());
    must_be_unmarked(&hosts, &arrivals);
}

/// Starts one that must end with a failure; gives its log.
fn refused(hosts: &Hosts, config: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut daemon = Daemon::spawn(&hosts.proxy, folder, config, &[]);
    assert!(!daemon.child.wait().expect("it ends").success());
    daemon.log()
}

fn a_second_marker_of_an_interface_is_refused() {
    let Some(hosts) = Hosts::try_new("a_second_marker_of_an_interface_is_refused") else {
        return;
    };
    let alone = format!("{ALONE}{MARK}");
    let (mut daemon, radio, arrivals) = marking(&hosts);
    let log = refused(&hosts, &alone);
    assert!(log.contains("already serves interface ran0"), "{log}");
    // one that splits is another proxy of the interface too
    let log = refused(&hosts, &crate::split(""));
    assert!(log.contains("already serves interface ran0"), "{log}");
    // the first one goes on
    let before = arrivals.with(PORT, Ecn::Ce);
    let flow = heavy().start(&hosts);
    testing::wait_until("it is marked", || arrivals.with(PORT, Ecn::Ce) > before);
    drop(flow);
    assert!(daemon.stop().success());
    drop(radio);
    // what marks there and is no proxy
    let other = hosts
        .proxy
        .enter(|| Marker::attach("ran0", &Settings::default()));
    let other = other.expect("attached");
    let log = refused(&hosts, &alone);
    assert!(log.contains("mode = \"mark\""), "{log}");
    assert!(
        log.contains("ran0: packets there are marked by another"),
        "{log}"
    );
    drop(other);
    let folder = tempfile::tempdir().expect("a folder");
    start_alone(&hosts, folder, &alone, &[]);
}

fn a_missing_interface_is_named() {
    let Some(hosts) = Hosts::try_new("a_missing_interface_is_named") else {
        return;
    };
    let config = format!("{ALONE}{MARK}").replace("ran0", "gone0");
    let log = refused(&hosts, &config);
    assert!(log.contains("interface gone0"), "{log}");
}

fn an_interface_that_comes_back_is_marked_at_again() {
    let Some(hosts) = Hosts::try_new("an_interface_that_comes_back_is_marked_at_again") else {
        return;
    };
    let (daemon, _radio, arrivals) = marking(&hosts);
    hosts.proxy.sh("ip link del ran0");
    daemon.wait_until("it has gone", || unsplit(&daemon)["error"].is_string());
    make_ran0(&hosts);
    daemon.wait_until("the program is there", || {
        unsplit(&daemon)["error"].is_null()
    });
    let before = arrivals.with(PORT, Ecn::Ce);
    let _flow = heavy().start(&hosts);
    testing::wait_until("it is marked", || arrivals.with(PORT, Ecn::Ce) > before);
}

fn without_the_rights_marks_are_refused() {
    let Some(hosts) = Hosts::try_new("without_the_rights_marks_are_refused") else {
        return;
    };
    let wrapper = ["setpriv", "--bounding-set", "-bpf,-sys_admin,-perfmon"];
    let folder = tempfile::tempdir().expect("a folder");
    let alone = format!("{ALONE}{MARK}");
    let mut daemon = Daemon::spawn_wrapped(&hosts.proxy, folder, &alone, &wrapper, &[]);
    assert!(!daemon.child.wait().expect("it ends").success());
    let log = daemon.log();
    assert!(log.contains("[unsplit] mode = \"mark\": "), "{log}");
    // one that splits, and is not to mark, goes on
    let more = "[reports]\nsource = \"unix:{dir}/radio\"\n";
    let marked = crate::split(more) + MARK;
    let folder = tempfile::tempdir().expect("a folder");
    let off = marked.replace("\"mark\"", "\"off\"");
    let daemon = Daemon::start_without_bpf(&hosts.proxy, folder, &off);
    transfer(&hosts, 5_606);
    write_config(&daemon.folder, &marked);
    daemon.signal(Signal::HUP);
    daemon.wait_until("a reload is refused", || {
        daemon
            .log()
            .contains("the program that marks was not loaded")
    });
    assert_eq!(daemon.count("accepted"), 1);
}

fn an_upgrade_drops_nothing_and_the_successor_marks() {
    let Some(hosts) = Hosts::try_new("an_upgrade_drops_nothing_and_the_successor_marks") else {
        return;
    };
    let (mut old, _radio, arrivals) = marking(&hosts);
    let before = arrivals.all(PORT);
    let flow = heavy().start(&hosts);
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| old.path(name).to_str().expect("plain").to_owned();
    let config = format!("{ALONE}{MARK}")
        .replace("{dir}/pep.sock", &at("pep.sock"))
        .replace("{dir}/radio", &at("radio"));
    let new = Daemon::spawn(&hosts.proxy, folder, &config, &["--upgrade"]);
    new.wait_until("it ends", || old.child.try_wait().expect("known").is_some());
    assert!(old.child.wait().expect("an end").success());
    let socket = old.path("pep.sock");
    assert_eq!(
        pep::status(&socket).expect("it answers")["pid"],
        new.child.id()
    );
    new.wait_until("the successor marks", || {
        packets_at(&socket, "marked_l4s") > 0
    });
    let sent = flow.stop();
    testing::wait_until("every packet has arrived", || {
        arrivals.all(PORT) == before + sent
    });
    assert_ne!(unsplit_at(&socket)["way"], "waiting");
}

fn an_upgrade_cannot_end_the_splitting() {
    let Some(hosts) = Hosts::try_new("an_upgrade_cannot_end_the_splitting") else {
        return;
    };
    let old = Daemon::start(&hosts.proxy, &crate::split(""));
    let before = traces(&hosts);
    let socket = old.path("pep.sock");
    let config =
        format!("{ALONE}{MARK}").replace("{dir}/pep.sock", socket.to_str().expect("plain"));
    let folder = tempfile::tempdir().expect("a folder");
    let mut new = Daemon::spawn(&hosts.proxy, folder, &config, &["--upgrade"]);
    assert!(!new.child.wait().expect("it ends").success());
    let log = new.log();
    assert!(log.contains("[split] enabled = false ends"), "{log}");
    assert_eq!(traces(&hosts), before);
    transfer(&hosts, 5_605);
    assert_eq!(old.count("accepted"), 1);
}

/// Two UEs, of which one has a place.
fn ues_beyond_max_ues_pass_until_there_is_room() {
    let Some(hosts) = Hosts::try_new("ues_beyond_max_ues_pass_until_there_is_room") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let has_left = Arc::new(AtomicBool::new(false));
    let left = Arc::clone(&has_left);
    let ues = [client(false), client(true)];
    let _radio = Radio::start(&folder.path().join("radio"), move |n, at| {
        let there = usize::from(left.load(Relaxed));
        let mut report = report(&ues[there..], n, at, 2 * RATE);
        for ue in &mut report.ues {
            ue.rlc_queue_bytes = Bytes::new(QUEUE);
        }
        report
    });
    let config = format!("{ALONE}{MARK}max-ues = 1\n");
    let daemon = start_alone(&hosts, folder, &config, &[]);
    daemon.wait_until("one has no place", || {
        let unsplit = unsplit(&daemon);
        unsplit["ues"] == 1 && unsplit["left_out"].as_u64() > Some(0)
    });
    let arrivals = Arrivals::count(&hosts, &[PORT, PORT + 1]);
    let first = heavy().start(&hosts);
    testing::wait_until("the first is marked", || arrivals.with(PORT, Ecn::Ce) > 0);
    let second = Datagrams::heavy(PORT + 1, Ecn::Ect1).of(true).start(&hosts);
    testing::wait_until("packets of the second arrive", || {
        arrivals.all(PORT + 1) > 100
    });
    assert_eq!(arrivals.with(PORT + 1, Ecn::Ce), 0);
    drop(first);
    has_left.store(true, Relaxed);
    testing::wait_until("the second is marked", || {
        arrivals.with(PORT + 1, Ecn::Ce) > 0
    });
    drop(second);
    assert_eq!(unsplit(&daemon)["ues"], 1);
}
