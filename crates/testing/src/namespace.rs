//! A network namespace for the time of a test.

use crate::{Missing, skip};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

/// A network namespace. It lives as long as a helper process that ends when its stdin does: nothing is left, however the
/// test ends.
#[derive(Debug)]
pub struct Namespace {
    holder: Child,
    file: File,
}

impl Namespace {
    /// Makes one, for which root's rights are needed.
    #[expect(clippy::new_without_default, reason = "each is another")]
    pub fn new() -> Self {
        let mut holder = Command::new("unshare")
            .args(["--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare can be run");
        // what is echoed shows that the namespace is there
        let stdin = holder.stdin.as_mut().expect("piped");
        stdin.write_all(b"x").expect("written");
        let stdout = holder.stdout.as_mut().expect("piped");
        stdout.read_exact(&mut [0]).expect("echoed");
        let file = File::open(format!("/proc/{}/ns/net", holder.id())).expect("its namespace");
        Self { holder, file }
    }

    /// Runs something inside. Sockets that it makes and programs that it starts belong there.
    pub fn enter<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        let file = &self.file;
        let inside = move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("a namespace of ours can be entered");
            run()
        };
        std::thread::scope(|scope| {
            let thread = scope.spawn(inside);
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs a command line inside; it must succeed.
    pub fn sh(&self, line: &str) -> String {
        let output = self.enter(|| Command::new("sh").args(["-ec", line]).output());
        let output = output.expect("sh can be run");
        assert!(
            output.status.success(),
            "{line}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// One of the kernel's counters in it, by the name that `nstat` has for it.
    pub fn counter(&self, name: &str) -> u64 {
        let text = self.sh(&format!("nstat -asz {name}"));
        let mut words = text.split_whitespace().skip_while(|word| *word != name);
        let value = words.nth(1).and_then(|word| word.parse().ok());
        value.unwrap_or_else(|| panic!("no counter {name}: {text}"))
    }

    /// Has what leaves a device pass a queueing discipline; false, with the test recorded as skipped, where the kernel has none
    /// of that kind. `discipline` is what `tc` takes: a kind, and its parameters.
    #[must_use]
    pub fn has_root_qdisc(&self, test: &str, device: &str, discipline: &str) -> bool {
        let mut command = self.command("tc");
        command.args(["qdisc", "replace", "dev", device, "root"]);
        let output = command.args(discipline.split(' ')).output();
        let output = output.expect("tc can be run");
        if output.status.success() {
            return true;
        }
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            error.contains("qdisc kind is unknown"),
            "{discipline} at {device}: {error}"
        );
        let kind = discipline.split(' ').next().unwrap_or_default();
        skip(test, Missing::Kernel(&format!("sch_{kind}")));
        false
    }

    /// A program in it, without stdin.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.pid()));
        command.arg(program).stdin(Stdio::null());
        command
    }

    /// The helper process.
    pub fn pid(&self) -> u32 {
        self.holder.id()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}
