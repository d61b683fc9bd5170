//! The kernel's MPTCP over the same two wires: real sockets of it, between the same two namespaces.
//!
//! The server signals its address at the second wire, to which the client then opens a second subflow (RFC 8684 3.4.1).

use crate::support::{Hosts, Namespace};
use crate::{Pair, WIRE_MBPS, watch};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, listen};
use rustix::net::{socket_with, sockopt};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

/// The server at the first wire.
const SERVER: &str = "10.1.0.1:5001";

fn socket() -> io::Result<OwnedFd> {
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    let protocol = Some(ipproto::MPTCP);
    Ok(socket_with(family, SocketType::STREAM, flags, protocol)?)
}

/// What is missing, if it cannot be measured here.
pub fn missing() -> Option<String> {
    socket()
        .err()
        .map(|error| format!("this kernel has no MPTCP: {error}"))
}

/// One connection from the server to the client, with the congestion control of that name on each subflow.
pub fn pair(controller: &str, is_cut: bool) -> Pair {
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
    let stream = stream.expect("connected");
    testing::wait_until("the second subflow", || {
        received(&hosts.client)[1] > 10_000.0
    });
    let pair = watch(&hosts, stream, || received(&hosts.client), is_cut);
    drop(sender);
    pair
}

/// Bytes that have come in by each wire.
fn received(host: &Namespace) -> [f64; 2] {
    ["a", "b"].map(|wire| {
        let text = host.sh(&format!("ip -s -j link show dev {wire}"));
        let shown: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        shown[0]["stats64"]["rx"]["bytes"]
            .as_f64()
            .expect("a number")
    })
}
