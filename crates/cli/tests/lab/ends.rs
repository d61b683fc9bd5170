//! However a lab ends, nothing of it is left.

use crate::{
    Running, assert_gone, brimful, has_root, inhabitants, output, scenario, shell, signal_to,
    stderr, stdout, wait_for,
};
use rustix::process::Signal;
use std::process::Command;

/// A run that would take its time.
fn run(pep: &str) -> Command {
    let mut command = brimful(&["run"]);
    command.arg(scenario("oai-fast.toml"));
    let pep = format!("pep={pep}");
    command.args(["--world", "lab", "--json", "--set", &pep]);
    command
}

#[test]
fn nothing_is_left_of_a_program_in_the_background() {
    if !has_root("nothing_is_left_of_a_program_in_the_background") {
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let mark = scratch.path().join("go");
    let script = format!(
        "sleep 1000 & until [ -e {} ]; do sleep 0.05; done",
        mark.display()
    );
    let running = Running::start(shell(&["--quiet"], &script));
    let (folder, networks) = (running.folder(), running.networks());
    std::fs::write(&mark, "").expect("a mark");
    assert_eq!(running.wait().status.code(), Some(0));
    assert_gone(&folder, &networks);
}

#[test]
fn interrupted_runs_clean_up() {
    if !has_root("interrupted_runs_clean_up") {
        return;
    }
    for signal in [Signal::INT, Signal::TERM] {
        let running = Running::start(run("default"));
        let (folder, networks) = (running.folder(), running.networks());
        running.proxy();
        running.signal(signal);
        let done = running.wait();
        assert_eq!(done.status.code(), Some(130), "{}", stderr(&done));
        assert_eq!(stdout(&done), "");
        assert_gone(&folder, &networks);
    }
}

#[test]
fn what_a_killed_lab_left_the_next_one_removes() {
    if !has_root("what_a_killed_lab_left_the_next_one_removes") {
        return;
    }
    let options = ["--quiet", "--set", "pep=default"];
    let running = Running::start(shell(
        &options,
        "exec >/dev/null 2>&1; sleep 1000 & sleep 1000",
    ));
    let (folder, networks) = (running.folder(), running.networks());
    // the proxy, the shell, and its two programs
    wait_for("programs", || {
        (inhabitants(&networks).len() >= 4).then_some(())
    });
    running.signal(Signal::KILL);
    running.wait();
    // its program and the proxy die with it; what the program has started does not
    wait_for("end of the proxy", || {
        (inhabitants(&networks).len() <= 2).then_some(())
    });
    // (a lab of another test may have removed the folder already)
    let next = output(shell(&["--quiet"], "true"));
    assert_eq!(next.status.code(), Some(0), "{}", stderr(&next));
    wait_for("end of the programs", || {
        inhabitants(&networks).is_empty().then_some(())
    });
    assert_gone(&folder, &networks);
}

#[test]
fn a_killed_proxy_ends_the_run_and_is_named() {
    if !has_root("a_killed_proxy_ends_the_run_and_is_named") {
        return;
    }
    let running = Running::start(run("default"));
    let (folder, networks) = (running.folder(), running.networks());
    let proxy = running.proxy();
    signal_to(proxy, Signal::KILL);
    let done = running.wait();
    let errors = stderr(&done);
    assert_eq!(done.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("brimful pep") && errors.contains("signal: 9"),
        "{errors}"
    );
    assert_eq!(stdout(&done), "");
    assert_gone(&folder, &networks);
}

#[test]
fn connections_pass_by_a_killed_proxy_in_a_shell() {
    if !has_root("connections_pass_by_a_killed_proxy_in_a_shell") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (began, mark) = (folder.path().join("began"), folder.path().join("go"));
    let script = format!(
        "touch {}; until [ -e {} ]; do sleep 0.05; done; \
         curl -sS -m 90 -o /dev/null -w '%{{size_download}}' http://server/200k",
        began.display(),
        mark.display()
    );
    let running = Running::start(shell(&["--set", "pep=default"], &script));
    // a proxy that dies before it is ready ends the lab
    wait_for("start of the program", || began.exists().then_some(()));
    let proxy = running.proxy();
    signal_to(proxy, Signal::KILL);
    // as long as it is dying, its sockets still take connections
    let process = std::path::PathBuf::from(format!("/proc/{proxy}"));
    wait_for("end of the proxy", || (!process.exists()).then_some(()));
    std::fs::write(&mark, "").expect("a mark");
    let done = running.wait();
    let errors = stderr(&done);
    assert_eq!(stdout(&done), "200000", "{errors}");
    assert!(errors.contains("connections now pass by it"), "{errors}");
}

/// The results of a killed run are hidden, and the next run removes them.
#[test]
fn what_a_killed_run_had_of_its_results_the_next_one_removes() {
    if !has_root("what_a_killed_run_had_of_its_results_the_next_one_removes") {
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let into = |name: &str| {
        let mut command = run("none");
        command.arg("--out").arg(scratch.path().join(name));
        let running = Running::start(command);
        let networks = running.networks();
        (running, networks)
    };
    let hidden = |name: &str| {
        let prefix = format!(".{name}.");
        let entries = std::fs::read_dir(scratch.path()).expect("a folder");
        let mut names = entries.flatten().map(|entry| entry.file_name());
        names.any(|entry| entry.to_string_lossy().starts_with(&prefix))
    };
    let (killed, killed_networks) = into("killed");
    killed.signal(Signal::KILL);
    killed.wait();
    assert!(hidden("killed"), "nothing to remove");
    let (next, networks) = into("next");
    assert!(hidden("next") && !hidden("killed"));
    let folder = next.folder();
    next.signal(Signal::INT);
    assert_eq!(next.wait().status.code(), Some(130));
    assert!(!hidden("next"));
    assert_gone(&folder, &networks);
    // a process that was killed is there until the kernel has ended it
    wait_for("end of the programs", || {
        inhabitants(&killed_networks).is_empty().then_some(())
    });
}

/// What a lab has to report while it runs finds no room: it goes on.
#[test]
fn a_full_disk_under_stderr_ends_no_lab() {
    if !has_root("a_full_disk_under_stderr_ends_no_lab") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (began, mark) = (folder.path().join("began"), folder.path().join("go"));
    let script = format!(
        "touch {}; until [ -e {} ]; do sleep 0.05; done; \
         curl -sS -m 90 -o /dev/null -w '%{{size_download}}' http://server/200k; exit 7",
        began.display(),
        mark.display()
    );
    let full = std::fs::File::create("/dev/full").expect("a device");
    let running = Running::start_with(shell(&["--set", "pep=default"], &script), full.into());
    let (lab, networks) = (running.folder(), running.networks());
    wait_for("start of the program", || began.exists().then_some(()));
    let proxy = running.proxy();
    signal_to(proxy, Signal::KILL);
    let process = std::path::PathBuf::from(format!("/proc/{proxy}"));
    wait_for("end of the proxy", || (!process.exists()).then_some(()));
    std::fs::write(&mark, "").expect("a mark");
    let done = running.wait();
    assert_eq!(stdout(&done), "200000");
    assert_eq!(done.status.code(), Some(7));
    assert_gone(&lab, &networks);
}
