//! What CDBE's programs cost: a transfer over a veth pair at line rate, with and without them, in pairs.
//!
//! `ends`: the congestion control is Cubic in both; with them, the client counts, estimates and writes
//! options, and the server reads them. `pair`: CDBE's congestion control beside BBR. `paper` and
//! `default` choose a mode. Needs root.
#![allow(missing_docs, reason = "a bench")]

use cc::RateReport;
use cc::cdbe::Mode;
use kernel_cc::cdbe::{Attached, Plan, own_cgroup};
use rustix::net::sockopt::set_tcp_congestion;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const PAIRS: usize = 20;
/// CDBE needs some tenths of a second to reach a line rate from 1 MB/s.
const WARM_UP: Duration = Duration::from_secs(1);
const TIME: Duration = Duration::from_millis(500);
const SERVER: &str = "10.98.76.1";
const PORT: u16 = 5_201;

/// Two network namespaces with a veth pair between them.
struct Hosts([String; 2]);

impl Hosts {
    fn make() -> Option<Self> {
        let id = std::process::id();
        let hosts = Self(["s", "c"].map(|end| format!("bcdbe-{end}-{id}")));
        let [server, client] = &hosts.0;
        let lines = [
            format!("netns add {server}"),
            format!("netns add {client}"),
            format!("-n {server} link add v0 type veth peer name v0 netns {client}"),
            format!("-n {server} addr add {SERVER}/24 dev v0"),
            format!("-n {client} addr add 10.98.76.2/24 dev v0"),
            format!("-n {server} link set v0 up"),
            format!("-n {client} link set v0 up"),
        ];
        let is_done = |line: &String| {
            let status = Command::new("ip").args(line.split(' ')).status();
            status.is_ok_and(|status| status.success())
        };
        lines.iter().all(is_done).then_some(hosts)
    }

    /// Does something in one of them.
    fn run<T: Send>(&self, end: usize, work: impl FnOnce() -> T + Send) -> T {
        let path = format!("/run/netns/{}", self.0[end]);
        let done = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let file = File::open(path).expect("a namespace");
                let entered =
                    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network));
                entered.expect("it can be entered");
                work()
            });
            thread.join()
        });
        done.expect("it is done")
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.0 {
            // it may never have been there
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

/// Gbit/s of one transfer by a congestion control.
fn transfer(hosts: &Hosts, control: &str) -> f64 {
    let address: SocketAddr = format!("{SERVER}:{PORT}").parse().expect("an address");
    let listener = hosts.run(0, || TcpListener::bind(address).expect("a listener"));
    let mut client = hosts.run(1, || TcpStream::connect(address).expect("connected"));
    let (mut server, _) = listener.accept().expect("accepted");
    set_tcp_congestion(&server, control).expect("the kernel has it");
    let sender = thread::spawn(move || {
        let chunk = vec![7; 256 * 1024];
        while server.write_all(&chunk).is_ok() {}
    });
    let mut buffer = vec![0; 256 * 1024];
    let mut read_for = |time: Duration| {
        let began = Instant::now();
        let mut bytes = 0;
        while began.elapsed() < time {
            bytes += client.read(&mut buffer).expect("read");
        }
        bytes as f64 * 8e-9 / began.elapsed().as_secs_f64()
    };
    read_for(WARM_UP);
    let rate = read_for(TIME);
    drop(client);
    sender.join().expect("ended");
    rate
}

fn attached(mode: Mode) -> Attached {
    let cgroup = own_cgroup().expect("a cgroup of version 2");
    let plan = Plan {
        ports: &[PORT],
        name: "bcdbe_bench",
        chooses: false,
        initial_report: RateReport::new(1_000_000_000),
        ..Plan::new(&cgroup, mode)
    };
    Attached::attach(&plan).unwrap_or_else(|e| panic!("{e}"))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Pairs of transfers: without the programs by `plain`, with them by `served`.
fn compare(hosts: &Hosts, what: &str, mode: Mode, plain: &str, served: &str) {
    let (mut without, mut with, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for k in 0..PAIRS {
        let mut pair = [0.0; 2];
        // each is first as often as the other
        for which in [k % 2, 1 - k % 2] {
            pair[which] = match which {
                0 => transfer(hosts, plain),
                _ => {
                    let attached = attached(mode);
                    let rate = transfer(hosts, served);
                    let counts = attached.counts().expect("readable");
                    assert!(counts.read > 0, "no client reported: {counts:?}");
                    rate
                }
            };
        }
        without.push(pair[0]);
        with.push(pair[1]);
        ratios.push(pair[1] / pair[0]);
    }
    let ratio = median(&mut ratios);
    println!(
        "{what}, mode {}: {plain} {:.2} Gbit/s, with CDBE {:.2} Gbit/s; with / without in {PAIRS} \
         pairs: median {ratio:.3}, middle half {:.3} to {:.3}",
        mode.name(),
        median(&mut without),
        median(&mut with),
        ratios[PAIRS / 4],
        ratios[PAIRS * 3 / 4],
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // for `cargo test` it is enough that it runs
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it needs root");
        return;
    }
    let Some(hosts) = Hosts::make() else {
        eprintln!("skipped: `ip` makes no namespaces here");
        return;
    };
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let is_all = !has("ends") && !has("pair");
    for mode in [Mode::Paper, Mode::Default] {
        if (has("paper") || has("default")) && !has(mode.name()) {
            continue;
        }
        if is_all || has("ends") {
            compare(&hosts, "ends", mode, "cubic", "cubic");
        }
        if is_all || has("pair") {
            compare(&hosts, "pair", mode, "bbr", "bcdbe_bench");
        }
    }
}
