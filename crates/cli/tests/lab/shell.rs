//! Programs on the UE.

use crate::{Running, brimful, has_root, output, scenario, shell, stderr, stdout};
use rustix::process::Signal;

#[test]
fn a_program_reaches_its_hosts_and_its_exit_code_is_returned() {
    if !has_root("a_program_reaches_its_hosts_and_its_exit_code_is_returned") {
        return;
    }
    let script = "grep -c -e ' server$' -e ' edge$' -e ' ue$' /etc/hosts
        curl -sS -o /dev/null -w '%{http_code} %{size_download}\\n' http://server/300k
        head -c 70000 /dev/zero | curl -sS -T - http://server/up
        curl -sS http://server/nonsense -o /dev/null -w '%{http_code}\\n'
        echo ${http_proxy-none}
        exit 7";
    let mut command = shell(&[], script);
    command.env("http_proxy", "http://127.0.0.1:1");
    let done = output(command);
    let printed = stdout(&done);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(
        lines,
        ["3", "200 300000", "70000 bytes received", "404", "none"],
        "{}",
        stderr(&done)
    );
    assert_eq!(done.status.code(), Some(7));
    let report = stderr(&done);
    assert!(
        report.contains("rlc/phone/drb1") && report.contains("slots late"),
        "{report}"
    );
}

#[test]
fn folders_are_served_and_quiet_prints_nothing() {
    if !has_root("folders_are_served_and_quiet_prints_nothing") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.txt"), "over the radio").expect("a file");
    let place = folder.path().display().to_string();
    let options = ["--server", &place, "--quiet", "--ue", "phone"];
    let done = output(shell(&options, "curl -sS http://server/a.txt; kill -9 $$"));
    assert_eq!(stdout(&done), "over the radio");
    assert_eq!(stderr(&done), "");
    assert_eq!(done.status.code(), Some(128 + 9));
}

/// Over an uplink that carries nothing no connection comes about; over one of 5 Mbit/s an upload gets through.
#[test]
fn an_uplink_trace_drives_what_the_ue_sends() {
    if !has_root("an_uplink_trace_drives_what_the_ue_sends") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let trace = |name: &str, mbps: u32| {
        let path = folder.path().join(name);
        let text = format!("time_s,rate_mbps\n0,{mbps}\n600,{mbps}\n");
        std::fs::write(&path, text).expect("a trace");
        path.display().to_string()
    };
    let (some, none) = (trace("some", 5), trace("none", 0));
    let upload = "head -c 70000 /dev/zero | curl -sS -T - http://server/up";
    let done = output(shell(&["--uplink-trace", &some], upload));
    assert_eq!(
        stdout(&done).trim(),
        "70000 bytes received",
        "{}",
        stderr(&done)
    );
    let report = stderr(&done);
    assert!(
        report.contains(&format!("phone up: {some} of 1200 s")),
        "{report}"
    );
    let waiting = "curl -sS --connect-timeout 2 http://server/1k";
    let done = output(shell(&["--uplink-trace", &none], waiting));
    // no connection within the time
    assert_eq!(done.status.code(), Some(28), "{}", stderr(&done));
}

#[test]
fn what_cannot_be_run_is_an_error_of_one_line() {
    if !has_root("what_cannot_be_run_is_an_error_of_one_line") {
        return;
    }
    let file = scenario("oai-fast.toml").display().to_string();
    let cases: [(&[&str], i32, &str); 4] = [
        (
            &["lab", "shell", &file, "--", "no-such-program"],
            127,
            "no-such-program",
        ),
        (
            &["lab", "shell", &file, "--", "/etc/hosts"],
            126,
            "/etc/hosts",
        ),
        (
            &["lab", "shell", &file, "--ue", "2", "--", "true"],
            2,
            "phone",
        ),
        (
            &["lab", "shell", &file, "--server", "/none", "--", "true"],
            2,
            "/none",
        ),
    ];
    for (arguments, code, word) in cases {
        let done = output(brimful(arguments));
        let errors = stderr(&done);
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(
            errors.contains(word) && errors.lines().count() == 1,
            "{errors}"
        );
    }
}

#[test]
fn without_root_the_error_is_one_line() {
    if !has_root("without_root_the_error_is_one_line") {
        return;
    }
    // the program itself may lie where other users may not look: a copy
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("brimful");
    std::fs::copy(env!("CARGO_BIN_EXE_brimful"), &copy).expect("a copy");
    std::fs::copy(scenario("../dumbbell.toml"), folder.path().join("d.toml")).expect("a copy");
    let set = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), set).expect("permissions");
    let mut command = std::process::Command::new("setpriv");
    command.current_dir(folder.path());
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    command
        .arg(&copy)
        .args(["lab", "shell", "d.toml", "--", "true"]);
    let done = output(command);
    let errors = stderr(&done);
    assert_eq!(done.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains("needs root") && errors.lines().count() == 1,
        "{errors}"
    );
}

#[test]
fn a_signal_is_passed_on_to_the_program() {
    if !has_root("a_signal_is_passed_on_to_the_program") {
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let ready = scratch.path().join("ready");
    let script = format!(
        "trap 'echo caught; exit 5' TERM; echo ready; touch {}; while :; do sleep 0.05; done",
        ready.display()
    );
    let running = Running::start(shell(&["--quiet"], &script));
    let (folder, networks) = (running.folder(), running.networks());
    crate::wait_until("the program is ready", || ready.exists());
    running.signal(Signal::TERM);
    let done = running.wait();
    assert_eq!(stdout(&done), "ready\ncaught\n");
    assert_eq!(done.status.code(), Some(5));
    crate::assert_gone(&folder, &networks);
}
