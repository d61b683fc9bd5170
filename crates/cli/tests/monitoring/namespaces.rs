//! Network namespaces, and ways into them.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;

/// A namespace that lives as long as a helper process, which ends with its stdin.
pub struct Namespace {
    holder: Child,
}

impl Namespace {
    pub fn new() -> Self {
        let mut holder = Command::new("unshare")
            .args(["--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare starts");
        // what is echoed shows that the namespace is there
        let stdin = holder.stdin.as_mut().expect("piped");
        stdin.write_all(b"x").expect("written");
        let stdout = holder.stdout.as_mut().expect("piped");
        stdout.read_exact(&mut [0]).expect("echoed");
        Self { holder }
    }

    pub fn pid(&self) -> u32 {
        self.holder.id()
    }

    /// A program in it.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.pid()));
        command.arg(program).stdin(Stdio::null());
        command
    }

    pub fn sh(&self, script: &str) {
        let status = self.command("sh").args(["-ec", script]).status();
        assert!(status.expect("sh starts").success(), "{script}");
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// A port of ours whose connections go to an address in the namespace of a process.
pub fn forward(pid: u32, to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("its address");
    let network = File::open(format!("/proc/{pid}/ns/net")).expect("a namespace");
    thread::spawn(move || {
        // a socket stays where it was made; the thread goes
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
            .expect("a namespace can be entered");
        for stream in listener.incoming() {
            let (Ok(near), Ok(far)) = (stream, TcpStream::connect(to)) else {
                continue;
            };
            for (mut from, mut into) in [
                (
                    near.try_clone().expect("a copy"),
                    far.try_clone().expect("a copy"),
                ),
                (far, near),
            ] {
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut into);
                    let _ = into.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    at
}
