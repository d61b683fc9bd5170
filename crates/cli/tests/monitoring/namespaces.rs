//! Ways into network namespaces.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;

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
