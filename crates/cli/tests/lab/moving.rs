//! Users who change cells while real programs run: `run` and `lab shell` of scenarios with several cells.

use crate::judges::chromium;
use crate::{Running, brimful, has_root, output, scenario_of, signal_to, stderr, stdout};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use testing::{pattern, wait_for, wait_until};

/// Bytes of the file that is downloaded: at [`RATE`] it outlasts all handovers.
pub(crate) const FILE: usize = 40_000_000;
/// Bytes a second that a download takes at most, as curl reads it.
const RATE: &str = "3M";

/// A program on the user that goes to and fro each second, so many times, with a server that has `file`.
fn shell(folder: &Path, pep: &str, times: usize, script: &str) -> Command {
    shell_with(folder, pep, times, &[], script)
}

/// The same, with more options.
pub(crate) fn shell_with(
    folder: &Path,
    pep: &str,
    times: usize,
    sets: &[&str],
    script: &str,
) -> Command {
    let files = folder.join("files");
    fs::create_dir(&files).expect("a folder");
    fs::write(files.join("file"), pattern(0, FILE)).expect("written");
    let each = (1..=times).map(|n| format!("[\"{n} s\", \"{}\"]", ["west", "east"][n % 2]));
    let handovers = each.collect::<Vec<String>>().join(", ");
    let mut command = brimful(&["lab", "shell"]);
    command.arg(scenario_of("mobility", "to-and-fro.toml"));
    command.arg("--server").arg(&files);
    for set in [
        format!("pep={pep}"),
        format!("duration={} s", times + 2),
        format!("ue.phone.handovers=[{handovers}]"),
    ] {
        command.args(["--set", &set]);
    }
    for set in sets {
        command.args(["--set", set]);
    }
    command.args(["--", "sh", "-c", script]);
    command
}

/// The status of a proxy in the lab, by its admin socket's name.
fn status(socket: &str) -> String {
    let brimful = env!("CARGO_BIN_EXE_brimful");
    format!("{brimful} pep status --json --socket $BRIMFUL_LAB/{socket}")
}

/// curl's download in a lab, which is whole: the status of both proxies after it, and what the lab has reported.
pub(crate) fn curl(folder: &Path, shell: impl FnOnce(&str) -> Command) -> ([String; 2], String) {
    let got = folder.join("got").display().to_string();
    let script = [
        format!("curl -sS -m 400 --limit-rate {RATE} -o {got} http://server/file; echo $?"),
        status("pep.sock"),
        status("pep-2.sock"),
    ];
    let done = output(shell(&script.join("\n")));
    let (printed, report) = (stdout(&done), stderr(&done));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.first(), Some(&"0"), "{report}");
    assert_whole(folder);
    ([lines[1], lines[2]].map(str::to_owned), report)
}

pub(crate) fn assert_whole(folder: &Path) {
    let got = fs::read(folder.join("got")).expect("a file");
    assert_eq!(got.len(), FILE);
    assert!(got == pattern(0, FILE), "bytes are wrong");
}

/// Connections that a proxy has handed over, taken over and reset.
fn moved(status: &str) -> [u64; 3] {
    let status: Value = serde_json::from_str(status).unwrap_or_else(|_| panic!("{status}"));
    let handover = &status["handover"];
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{status}"));
    [
        number(&handover["moved"]),
        number(&handover["adopted"]),
        number(&handover["reset"]),
    ]
}

/// Downloads with two proxies, of which this gives the status, until one had its connection moved: on a machine that is
/// busy a transfer may come too late for the next change, each time. None had its connection reset.
pub(crate) fn until_one_moved(mut download: impl FnMut() -> [String; 2]) {
    const DOWNLOADS: usize = 10;
    let moves = (0..DOWNLOADS).any(|_| {
        let both = download();
        let [west, east] = [&both[0], &both[1]].map(|status| moved(status));
        assert_eq!((west[1], east[1]), (east[0], west[0]), "{both:?}");
        assert_eq!((west[2], east[2]), (0, 0), "{both:?}");
        west[0] + east[0] > 0
    });
    assert!(moves, "no connection has moved");
}

#[test]
fn curl_gets_every_byte_over_ten_handovers_between_two_proxies() {
    if !has_root("curl_gets_every_byte_over_ten_handovers_between_two_proxies") {
        return;
    }
    for pep in ["split", "default"] {
        until_one_moved(|| {
            let folder = tempfile::tempdir().expect("a folder");
            let (both, report) = curl(folder.path(), |script| {
                shell(folder.path(), pep, 10, script)
            });
            let handovers = report.lines().filter(|line| line.contains(" left "));
            assert_eq!(handovers.count(), 10, "{report}");
            both
        });
    }
}

#[test]
fn chromium_downloads_every_byte_over_handovers_between_two_proxies() {
    let name = "chromium_downloads_every_byte_over_handovers_between_two_proxies";
    let Some([python, browser]) = chromium(name) else {
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/handovers/chromium.py");
    until_one_moved(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let run = format!(
            "{} {} {} http://server/file {} && {} && {}",
            python.display(),
            script.display(),
            browser.display(),
            folder.path().join("got").display(),
            status("pep.sock"),
            status("pep-2.sock"),
        );
        // a browser may take long to start
        let mut command = shell(folder.path(), "default", 200, &run);
        command.env("TMPDIR", folder.path());
        let done = output(command);
        let printed = stdout(&done);
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        assert_whole(folder.path());
        let lines: Vec<&str> = printed.lines().collect();
        let silence: Value = serde_json::from_str(lines[0]).expect("JSON");
        assert!(silence["silence_ms"].is_number(), "{printed}");
        [lines[1], lines[2]].map(str::to_owned)
    });
}

/// The download goes on, or its connection ends: what the proxy that dies had is reset, and nothing hangs.
#[test]
fn a_proxy_that_dies_while_users_change_cells_leaves_no_download_hanging() {
    if !has_root("a_proxy_that_dies_while_users_change_cells_leaves_no_download_hanging") {
        return;
    }
    for name in ["pep.toml", "pep-2.toml"] {
        let folder = tempfile::tempdir().expect("a folder");
        let got = folder.path().join("got");
        let fetch = format!("curl -sS -o {} http://server/endless", got.display());
        let command = shell(folder.path(), "split", 200, &format!("{fetch}; echo $?"));
        let endless = fs::File::create(folder.path().join("files/endless")).expect("a file");
        endless.set_len(1 << 40).expect("sparse");
        let mut running = Running::start(command);
        let lab = running.folder();
        wait_for("a transfer", || {
            let moves = ["pep.sock", "pep-2.sock"].iter().any(|socket| {
                let mut command = brimful(&["pep", "status", "--json", "--socket"]);
                command.arg(lab.join(socket));
                let done = output(command);
                done.status.success() && moved(&stdout(&done))[0] > 0
            });
            moves.then_some(())
        });
        let proxy = wait_for("the proxy", || program_with(running.pid(), name));
        signal_to(proxy, Signal::KILL);
        // more than sockets and queues have of what was sent before
        let come = || fs::metadata(&got).map_or(0, |file| file.len());
        let enough = come() + 20_000_000;
        let goes_on = wait_for("more, or the end", || {
            let has_ended = running.child.try_wait().expect("a child").is_some();
            (has_ended || come() > enough).then_some(!has_ended)
        });
        if goes_on {
            running.signal(Signal::TERM);
        }
        let done = running.wait();
        let printed = stdout(&done);
        // ended early, or reset
        let is_over = ["18", "56"].contains(&printed.trim());
        assert!(goes_on || is_over, "{printed}{}", stderr(&done));
        wait_until("the lab is gone", || !lab.exists());
    }
}

/// The child of a lab that has a word of its command line end so.
fn program_with(lab: u32, end: &str) -> Option<u32> {
    crate::children(lab).into_iter().find(|&pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|&byte| byte == 0);
        words.any(|word| word.ends_with(format!("/{end}").as_bytes()))
    })
}

fn run(scenario: &str, set: &[&str]) -> Value {
    let mut command = brimful(&["run"]);
    command.arg(scenario_of("mobility", scenario));
    command.args(["--world", "lab", "--json", "--repeats", "1"]);
    for set in set {
        command.args(["--set", set]);
    }
    let done = output(command);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    serde_json::from_slice(&done.stdout).expect("JSON")
}

#[test]
fn a_run_with_several_cells_has_its_handovers() {
    if !has_root("a_run_with_several_cells_has_its_handovers") {
        return;
    }
    // one each of A3, with proxies that hand over, and as stated without one
    for (scenario, set, from, to) in [
        (
            "street.toml",
            ["duration=14 s", "speed=100 km/h", "pep=default"],
            "west",
            "middle",
        ),
        (
            "to-and-fro.toml",
            ["duration=5 s", "cc=bbr", "pep=none"],
            "west",
            "east",
        ),
        (
            "recorded.toml",
            ["duration=28 s", "cc=cubic", "pep=split"],
            "east",
            "west",
        ),
    ] {
        let summary = run(scenario, &set);
        let handovers = &summary["handovers"];
        let first = &handovers["events"][0];
        assert_eq!((&first["from"], &first["to"]), (&from.into(), &to.into()));
        assert_eq!(first["kind"], "handover", "{handovers}");
        assert_eq!(handovers["lost"], 0.0, "with forwarding: {handovers}");
        let delivered = summary["flows"][0]["delivered_bytes"].as_f64();
        assert!(delivered > Some(0.0), "{summary}");
    }
}

#[test]
fn what_the_lab_cannot_do_of_several_cells_is_refused_with_its_name() {
    if !has_root("what_the_lab_cannot_do_of_several_cells_is_refused_with_its_name") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let record = folder.path().join("record").display().to_string();
    let street: &[&str] = &[
        "--set",
        "pep=default",
        "--repeats",
        "1",
        "--record",
        &record,
    ];
    for (scenario, more, word) in [
        ("street.toml", street, "--record with cells of 3 sites"),
        ("crowd.toml", &[], "flow \"video"),
    ] {
        let mut command = brimful(&["run"]);
        command.arg(scenario_of("mobility", scenario));
        command.args(["--world", "lab"]).args(more);
        let done = output(command);
        let errors = stderr(&done);
        assert_eq!(done.status.code(), Some(2), "{errors}");
        assert!(errors.contains(word), "{errors}");
    }
}
