//! `brimful` in the lab, with this machine's kernel: `lab shell`, `run --world lab`, and what they leave
//! behind. All of it needs root.
#![allow(missing_docs, reason = "tests")]

mod capture;
mod ends;
mod f1u;
mod f1u_cells;
mod judges;
mod judges_browsers;
mod meld;
mod moving;
mod n3;
mod queues;
mod record_path;
mod reports;
mod runs;
mod shell;
mod tunnel;
mod uplink;

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use testing::{has_root, wait_for, wait_until};

fn scenario(name: &str) -> PathBuf {
    scenario_of("rapid", name)
}

fn scenario_of(system: &str, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    folder.join(system).join(name)
}

fn brimful(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brimful"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// `brimful lab shell oai-fast` with options, and a script on the UE.
fn shell(options: &[&str], script: &str) -> Command {
    let file = scenario("oai-fast.toml");
    let mut command = brimful(&["lab", "shell"]);
    command.arg(file).args(options);
    command.args(["--", "sh", "-c", script]);
    command
}

fn output(mut command: Command) -> Output {
    command.output().expect("the command starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A `brimful` in the background. Dropped, it is killed.
struct Running {
    child: Child,
}

impl Running {
    fn start(command: Command) -> Self {
        Self::start_with(command, Stdio::piped())
    }

    /// Starts it with this stderr.
    fn start_with(mut command: Command, stderr: Stdio) -> Self {
        command.stdout(Stdio::piped()).stderr(stderr);
        let child = command.spawn().expect("the command starts");
        Self { child }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self, signal: Signal) {
        signal_to(self.pid(), signal);
    }

    /// The folder of its lab.
    fn folder(&self) -> PathBuf {
        let prefix = format!("lab-{}-", self.pid());
        wait_for("lab's folder", || {
            let entries = fs::read_dir("/run/brimful").ok()?;
            let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
            paths.find(|path| {
                let name = path.file_name().and_then(|name| name.to_str());
                name.is_some_and(|name| name.starts_with(&prefix)) && path.join("owner").exists()
            })
        })
    }

    /// The network namespaces of its lab, by the kernel's numbers.
    fn networks(&self) -> BTreeSet<u64> {
        let owner = self.folder().join("owner");
        wait_for("owner", || {
            let text = fs::read_to_string(&owner).ok()?;
            let inodes: BTreeSet<u64> = text
                .lines()
                .skip(1)
                .filter_map(|l| l.parse().ok())
                .collect();
            (inodes.len() >= 3).then_some(inodes)
        })
    }

    /// Its proxy, once it runs.
    fn proxy(&self) -> u32 {
        let socket = self.folder().join("pep.sock");
        wait_for("proxy", || {
            socket.exists().then_some(())?;
            children(self.pid()).into_iter().find(|&pid| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                line.split(|&byte| byte == 0).any(|word| word == b"pep")
            })
        })
    }

    fn wait(mut self) -> Output {
        let child = std::mem::replace(&mut self.child, nothing());
        child.wait_with_output().expect("it ends")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn nothing() -> Child {
    Command::new("true").spawn().expect("true")
}

fn signal_to(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = kill_process(pid.expect("a process"), signal);
}

fn children(parent: u32) -> Vec<u32> {
    let of = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, after) = stat.rsplit_once(')')?;
        after.split_whitespace().nth(1)?.parse().ok()
    };
    processes().filter(|&pid| of(pid) == Some(parent)).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Processes that live in these networks.
fn inhabitants(networks: &BTreeSet<u64>) -> Vec<u32> {
    let is_in = |pid: &u32| {
        fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|ns| networks.contains(&ns.ino()))
    };
    processes().filter(is_in).collect()
}

/// That nothing is left of a lab.
fn assert_gone(folder: &Path, networks: &BTreeSet<u64>) {
    assert!(!folder.exists(), "{} is left", folder.display());
    assert_eq!(
        inhabitants(networks),
        Vec::<u32>::new(),
        "programs are left"
    );
}
