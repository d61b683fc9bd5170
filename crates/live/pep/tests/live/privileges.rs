//! What the running proxy may do to its machine.

use super::lifecycle::{traces, transfer};
use crate::support::daemon::{Daemon, write_config};
use crate::support::{Hosts, SERVER};
use crate::{Test, split};
use rustix::process::Signal;
use std::path::Path;
use tempfile::TempDir;

pub const TESTS: &[Test] = &[
    ("privileges_are_given_up", privileges_are_given_up),
    ("it_runs_as_a_user_of_its_own", it_runs_as_a_user_of_its_own),
    (
        "a_user_that_does_not_exist_is_refused",
        a_user_that_does_not_exist_is_refused,
    ),
    (
        "a_folder_that_is_not_the_users_is_refused",
        a_folder_that_is_not_the_users_is_refused,
    ),
];

/// NET_BIND_SERVICE, NET_ADMIN, SYS_RESOURCE.
const KEPT: u64 = 1 << 10 | 1 << 12 | 1 << 24;
/// A user that every machine has, and its number.
const NOBODY: (&str, u32) = ("nobody", 65_534);

/// A field of a thread's status.
fn field(status: &Path, name: &str) -> String {
    let status = std::fs::read_to_string(status).expect("it runs");
    let line = status.lines().find_map(|l| l.strip_prefix(name));
    line.expect("a field").trim().to_owned()
}

fn set(status: &Path, name: &str) -> u64 {
    u64::from_str_radix(&field(status, name), 16).expect("a number")
}

/// That each thread has given up all that it does not need.
fn must_be_reduced(daemon: &Daemon) {
    // this machine may not have them all to begin with
    let own = set(Path::new("/proc/self/status"), "CapEff:");
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.child.id())).expect("it runs");
    let mut threads = 0;
    for task in tasks {
        let status = task.expect("a thread").path().join("status");
        for name in ["CapEff:", "CapPrm:", "CapBnd:", "CapAmb:"] {
            assert_eq!(set(&status, name), KEPT & own, "{name}");
        }
        assert_eq!(field(&status, "NoNewPrivs:"), "1");
        assert_eq!(field(&status, "Seccomp:"), "2");
        threads += 1;
    }
    assert!(threads > 1, "{threads}");
}

/// That each thread has this user and group, and no other group.
fn must_be(daemon: &Daemon, user: u32) {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.child.id())).expect("it runs");
    for task in tasks {
        let status = task.expect("a thread").path().join("status");
        for name in ["Uid:", "Gid:"] {
            let numbers = field(&status, name);
            assert!(
                numbers.split_whitespace().all(|n| n == user.to_string()),
                "{name} {numbers}"
            );
        }
        assert!(
            field(&status, "Groups:")
                .split_whitespace()
                .all(|group| group == user.to_string())
        );
    }
}

fn privileges_are_given_up() {
    let Some(hosts) = Hosts::try_new("privileges_are_given_up") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    must_be_reduced(&daemon);
    transfer(&hosts, 5_422);
    assert_eq!(daemon.count("accepted"), 1);
    assert!(daemon.log().contains("runs as root"), "{}", daemon.log());
}

/// A folder that is the user's.
fn folder_of_nobody() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let owner = Some(NOBODY.1);
    std::os::unix::fs::chown(folder.path(), owner, owner).expect("root may");
    folder
}

/// The key is the first of the file: what `split` begins with are keys of no table.
fn with_user(config: &str) -> String {
    format!("user = \"{}\"\n{config}", NOBODY.0)
}

fn it_runs_as_a_user_of_its_own() {
    let Some(hosts) = Hosts::try_new("it_runs_as_a_user_of_its_own") else {
        return;
    };
    let config = with_user(&split(""));
    let mut old = Daemon::start_in(&hosts.proxy, folder_of_nobody(), &config, &[]);
    must_be(&old, NOBODY.1);
    must_be_reduced(&old);
    transfer(&hosts, 5_423);
    assert_eq!(old.count("accepted"), 1);
    // a reload changes the rules: what is bypassed is not taken
    let bypass = format!("bypass = [\"{SERVER}/32\"]\n{config}");
    write_config(&old.folder, &bypass);
    old.signal(Signal::HUP);
    old.wait_until("it has reloaded", || {
        old.log().contains("configuration reloaded")
    });
    transfer(&hosts, 5_424);
    assert_eq!(old.count("accepted"), 1);
    // an upgrade, by root as the first start was
    let socket = old.path("pep.sock");
    let beside = config.replace("{dir}/pep.sock", socket.to_str().expect("plain"));
    let mut new = Daemon::start_in(&hosts.proxy, folder_of_nobody(), &beside, &["--upgrade"]);
    assert!(old.child.wait().expect("it ends").success());
    must_be(&new, NOBODY.1);
    must_be_reduced(&new);
    transfer(&hosts, 5_425);
    assert_eq!(new.count_at(&socket, "accepted"), 1);
    assert!(!traces(&hosts).is_empty());
    assert!(new.stop().success());
    assert_eq!(traces(&hosts), "");
}

fn a_user_that_does_not_exist_is_refused() {
    let Some(hosts) = Hosts::try_new("a_user_that_does_not_exist_is_refused") else {
        return;
    };
    let config = format!("user = \"brimful-nobody\"\n{}", split(""));
    let folder = tempfile::tempdir().expect("a folder");
    let mut daemon = Daemon::spawn(&hosts.proxy, folder, &config, &[]);
    assert!(!daemon.child.wait().expect("it ends").success());
    let log = daemon.log();
    assert!(
        log.contains("pep.toml: user: there is no user \"brimful-nobody\""),
        "{log}"
    );
    assert_eq!(traces(&hosts), "");
}

fn a_folder_that_is_not_the_users_is_refused() {
    let Some(hosts) = Hosts::try_new("a_folder_that_is_not_the_users_is_refused") else {
        return;
    };
    // 0700, and root's
    let folder = tempfile::tempdir().expect("a folder");
    let mut daemon = Daemon::spawn(&hosts.proxy, folder, &with_user(&split("")), &[]);
    assert!(!daemon.child.wait().expect("it ends").success());
    let log = daemon.log();
    assert!(log.contains("must be writable for the user"), "{log}");
    assert_eq!(traces(&hosts), "");
}
