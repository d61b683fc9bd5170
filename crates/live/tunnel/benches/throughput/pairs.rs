//! Two paths over two wires of one rate.

use crate::quic_download::Download;
use crate::support::{
    Daemon, Hosts, SERVER, client_config, connect, plain, server_config, two_paths,
};
use crate::{TIME, median, repeat, send_for_ever};
use std::io::Read;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The rate of each wire.
pub const WIRE_MBPS: u32 = 50;
/// Bytes of a data frame beside what it carries, encrypted and not: Ethernet 14, IPv4 20, UDP 8, and what the tunnel adds.
const AROUND: [f64; 2] = [
    42.0 + (secrecy::message::DATA_OVERHEAD + multipath::packet::COMPACT_LEN) as f64,
    42.0 + 28.0,
];
/// What UDP is sent with, in all.
const UDP_MBPS: u64 = 105;

/// What passes the tunnel, from the server to the client.
#[derive(Clone, Copy)]
enum Traffic {
    /// One TCP connection; half way the first wire is cut, or not.
    Tcp { is_cut: bool },
    /// Datagrams of so many bytes, somewhat faster than the wires are, each sent by itself.
    Udp(usize),
    /// One QUIC connection.
    Quic,
}

/// What one measurement showed.
#[derive(Clone, Copy)]
pub struct Pair {
    mbps: f64,
    /// Of the bytes that arrived, those over the second path.
    second_share: f64,
    /// Longest time without a byte.
    gap: Duration,
    /// Bytes that arrived of a hundred in frames that carried data; over UDP.
    fill: Option<f64>,
}

/// All rows whose names are selected.
pub fn measure(is_selected: impl Fn(&str) -> bool) -> Vec<(String, Vec<Pair>)> {
    let tcp = Traffic::Tcp { is_cut: false };
    let of = |controller: &str| format!("controller = \"{controller}\"\n");
    let stream = |controller: &str| format!("carrier = \"tcp\"\n{}", of(controller));
    let mut rows = vec![("carrier dccp, bbr2".to_owned(), of("bbr2"), tcp, true)];
    for controller in ["newreno", "cubic", "bbr", "bbr3"] {
        let name = format!("carrier dccp, {controller}");
        rows.push((name, of(controller), tcp, true));
    }
    let name = "carrier dccp, bbr2, not encrypted".to_owned();
    rows.push((name, of("bbr2"), tcp, false));
    let name = "carrier dccp, the first wire cut".to_owned();
    rows.push((name, of("bbr2"), Traffic::Tcp { is_cut: true }, true));
    for controller in ["reno", "cubic", "bbr"] {
        let name = format!("carrier tcp, {controller}");
        rows.push((name, stream(controller), tcp, true));
    }
    // what a path of 1,280 bytes lets QUIC begin with, and what it finds that the tunnel takes
    for bytes in [1_200, 1_390] {
        for controller in ["bbr2", "newreno"] {
            let name = format!("carrier dccp, {controller}, UDP in {bytes} bytes");
            rows.push((name, of(controller), Traffic::Udp(bytes), true));
        }
    }
    for controller in ["bbr2", "newreno"] {
        let name = format!("carrier dccp, {controller}, QUIC");
        rows.push((name, of(controller), Traffic::Quic, true));
    }
    let mut measured = Vec::new();
    for (name, more, traffic, is_encrypted) in rows {
        let name = format!("two paths, {name}");
        if is_selected(&name) {
            measured.push((name, repeat(|| pair(&more, traffic, is_encrypted))));
        }
    }
    measured
}

/// For [`TIME`], after a second to get going.
fn pair(more: &str, traffic: Traffic, is_encrypted: bool) -> Pair {
    let hosts = Hosts::new();
    hosts.shape("a", WIRE_MBPS);
    hosts.shape("b", WIRE_MBPS);
    let configured = |config: String| {
        let config = config.replace("debug", "info");
        if is_encrypted { config } else { plain(&config) }
    };
    // what is measured is what the server sends
    let own = more.lines().find(|line| line.starts_with("controller"));
    let own = own.filter(|_| !more.contains("carrier"));
    let server = configured(server_config(own.unwrap_or_default()));
    let client = configured(client_config("", &two_paths(more)));
    let _server = Daemon::start(&hosts.server, "server", &server);
    let client = Daemon::start(&hosts.client, "client", &client);
    client.wait_for_paths(2);
    let received = || {
        [0, 1].map(|index| {
            let path = client.path(index);
            ["received_bytes", "received_packets"].map(|key| path[key].as_f64().expect("a number"))
        })
    };
    let around = AROUND[usize::from(!is_encrypted)];
    let address: SocketAddr = format!("{SERVER}:5001").parse().expect("an address");
    let shown = |watched: Watched| {
        let over = watched.over;
        let carried = over[0][0] + over[1][0];
        let frames = carried + (over[0][1] + over[1][1]) * around;
        Pair {
            fill: (!more.contains("carrier")).then(|| watched.bytes as f64 * 100.0 / frames),
            ..watched.pair()
        }
    };
    match traffic {
        Traffic::Tcp { is_cut } => {
            let sender = send_for_ever(&hosts.server, address);
            let mut stream = hosts.client.enter(|| connect(address));
            let mut buffer = vec![0; 1 << 20];
            let mut read = || stream.read(&mut buffer).expect("bytes keep coming") as u64;
            let watched = watch(&hosts, &mut read, received, is_cut);
            drop(stream);
            drop(sender);
            shown(watched)
        }
        Traffic::Quic => {
            let download = Download::begin(&hosts.server, &hosts.client, address);
            let watched = watch(&hosts, &mut || download.read(), received, false);
            download.end();
            shown(watched)
        }
        Traffic::Udp(bytes) => {
            let ends = Arc::new(AtomicBool::new(false));
            let from = hosts
                .server
                .enter(|| UdpSocket::bind(address))
                .expect("bound");
            let socket = hosts.client.enter(|| {
                let socket = UdpSocket::bind("0.0.0.0:0").expect("bound");
                socket.connect(address).expect("connected");
                socket
            });
            socket.send(b"begin").expect("sent");
            let sender = std::thread::spawn({
                let ends = Arc::clone(&ends);
                move || send_datagrams(&from, bytes, &ends)
            });
            let timeout = Some(Duration::from_secs(10));
            socket.set_read_timeout(timeout).expect("set");
            let mut buffer = vec![0; 65_536];
            let mut read = || {
                let length = socket.recv(&mut buffer).expect("datagrams keep coming");
                assert_eq!(length, bytes);
                length as u64
            };
            let watched = watch(&hosts, &mut read, received, false);
            ends.store(true, Ordering::Relaxed);
            sender.join().expect("it ends");
            shown(watched)
        }
    }
}

/// What came in [`TIME`].
pub struct Watched {
    bytes: u64,
    seconds: f64,
    gap: Duration,
    /// Bytes and packets that came by each wire.
    over: [[f64; 2]; 2],
}

impl Watched {
    pub fn pair(&self) -> Pair {
        let over = self.over;
        Pair {
            mbps: self.bytes as f64 * 8.0 / self.seconds / 1e6,
            second_share: over[1][0] / (over[0][0] + over[1][0]),
            gap: self.gap,
            fill: None,
        }
    }
}

/// What `read` gives in [`TIME`], after a second to get going; `received` is what has come by each wire.
pub fn watch(
    hosts: &Hosts,
    read: &mut dyn FnMut() -> u64,
    received: impl Fn() -> [[f64; 2]; 2],
    is_cut: bool,
) -> Watched {
    let mut gap = Duration::ZERO;
    let mut read_for = |time: Duration, gap: &mut Duration| {
        let began = Instant::now();
        let (mut bytes, mut last) = (0u64, began);
        while began.elapsed() < time {
            bytes += read();
            *gap = last.elapsed().max(*gap);
            last = Instant::now();
        }
        bytes
    };
    let mut warm_up = Duration::ZERO;
    read_for(Duration::from_secs(1), &mut warm_up);
    let before = received();
    let began = Instant::now();
    let mut bytes = read_for(TIME / 2, &mut gap);
    if is_cut {
        hosts.cut("a");
    }
    bytes += read_for(TIME / 2, &mut gap);
    let seconds = began.elapsed().as_secs_f64();
    let after = received();
    Watched {
        bytes,
        seconds,
        gap,
        over: [0, 1].map(|index| [0, 1].map(|of| after[index][of] - before[index][of])),
    }
}

/// Sends to who sends first, a burst each millisecond, until `ends`.
fn send_datagrams(socket: &UdpSocket, bytes: usize, ends: &AtomicBool) {
    let mut block = vec![7; 65_536];
    let (_, to) = socket.recv_from(&mut block).expect("the first");
    let (began, mut sent) = (Instant::now(), 0u64);
    while !ends.load(Ordering::Relaxed) {
        let due = began.elapsed().as_micros() as u64 * UDP_MBPS / 8;
        while sent < due {
            // a full device has no room at times
            let _ = socket.send_to(&block[..bytes], to);
            sent += bytes as u64;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Of medians.
pub fn table(rows: &[(String, Vec<Pair>)]) -> String {
    let mut text = format!(
        "| tunnel, two wires of {WIRE_MBPS} Mbit/s | Mbit/s | of 100 bytes in data frames | share of the second path | longest gap, ms |\n\
         | --- | --- | --- | --- | --- |\n"
    );
    for (name, measured) in rows {
        let of = |get: fn(&Pair) -> f64| median(measured.iter().map(get).collect());
        let fill: Option<Vec<f64>> = measured.iter().map(|pair| pair.fill).collect();
        let fill = fill.map_or("-".to_owned(), |all| format!("{:.1}", median(all)));
        text.push_str(&format!(
            "| {name} | {:.1} | {fill} | {:.2} | {:.0} |\n",
            of(|pair| pair.mbps),
            of(|pair| pair.second_share),
            of(|pair| pair.gap.as_secs_f64() * 1e3),
        ));
    }
    text
}
