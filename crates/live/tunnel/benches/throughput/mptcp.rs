//! The kernel's MPTCP over the same two wires: real sockets of it, between the same two namespaces.
//!
//! The server signals its address at the second wire, to which the client then opens a second subflow (RFC 8684 3.4.1).

use crate::pairs::{Pair, WIRE_MBPS, watch};
use crate::repeat;
use crate::support::{Hosts, Namespace};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, listen};
use rustix::net::{socket_with, sockopt};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

/// The server at the first wire.
const SERVER: &str = "10.1.0.1:5001";

fn socket() -> io::Result<OwnedFd> {
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    let protocol = Some(ipproto::MPTCP);
    Ok(socket_with(family, SocketType::STREAM, flags, protocol)?)
}

/// All rows whose names are selected.
pub fn measure(is_selected: impl Fn(&str) -> bool) -> Vec<(String, Vec<Pair>)> {
    let rows = [("cubic", false), ("bbr", false), ("cubic", true)];
    let rows = rows.map(|(controller, is_cut)| {
        let cut = if is_cut { ", the first wire cut" } else { "" };
        (
            format!("MPTCP of the kernel, {controller}{cut}"),
            controller,
            is_cut,
        )
    });
    let mut measured = Vec::new();
    for (name, controller, is_cut) in rows {
        match socket() {
            _ if !is_selected(&name) => {}
            Ok(_) => measured.push((name, repeat(|| pair(controller, is_cut)))),
            Err(error) => eprintln!("without {name}: this kernel has none: {error}"),
        }
    }
    measured
}

/// One connection from the server to the client, with the congestion control of that name on each subflow.
fn pair(controller: &str, is_cut: bool) -> Pair {
    let hosts = Hosts::new();
    hosts.shape("a", WIRE_MBPS);
    hosts.shape("b", WIRE_MBPS);
    for host in [&hosts.client, &hosts.server] {
        host.sh(
            "sysctl -qw net.mptcp.enabled=1; ip mptcp limits set subflow 2 add_addr_accepted 2",
        );
    }
    hosts
        .server
        .sh("ip mptcp endpoint add 10.2.0.1 dev b signal");
    let address: SocketAddr = SERVER.parse().expect("an address");
    let listener = hosts.server.enter(|| -> io::Result<TcpListener> {
        let fd = socket()?;
        sockopt::set_socket_reuseaddr(&fd, true)?;
        // at both wires: the second subflow is to the other address
        bind(&fd, &SocketAddr::from(([0; 4], address.port())))?;
        listen(&fd, 1)?;
        Ok(fd.into())
    });
    let (listener, controller) = (listener.expect("it listens"), controller.to_owned());
    let sender = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepted");
        let name = controller.as_bytes();
        socket_options::set_bytes(&stream, libc::SOL_TCP, libc::TCP_CONGESTION, name).expect("set");
        let block = vec![7; 1 << 20];
        while stream.write_all(&block).is_ok() {}
    });
    let stream = hosts.client.enter(|| -> io::Result<TcpStream> {
        let fd = socket()?;
        connect(&fd, &address)?;
        Ok(fd.into())
    });
    let mut stream = stream.expect("connected");
    testing::wait_until("the second subflow", || {
        received(&hosts.client)[1][0] > 10_000.0
    });
    let mut buffer = vec![0; 1 << 20];
    let mut read = || stream.read(&mut buffer).expect("bytes keep coming") as u64;
    let watched = watch(&hosts, &mut read, || received(&hosts.client), is_cut);
    drop(stream);
    drop(sender);
    watched.pair()
}

/// Bytes and packets that have come in by each wire.
fn received(host: &Namespace) -> [[f64; 2]; 2] {
    ["a", "b"].map(|wire| {
        let text = host.sh(&format!("ip -s -j link show dev {wire}"));
        let shown: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let counts = &shown[0]["stats64"]["rx"];
        ["bytes", "packets"].map(|of| counts[of].as_f64().expect("a number"))
    })
}
