//! Ports for servers that must be given one.

use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Ports below those that the kernel gives to outgoing connections (32768 on, `ip_local_port_range`): one that
/// is free stays free until the server listens there.
const FIRST: u32 = 12_000;
const COUNT: u32 = 18_000;

/// A TCP port of the loopback interface that is free, another one at each call and in each process.
///
/// # Panics
/// If none of a thousand is free.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..1_000 {
        let call = NEXT.fetch_add(1, Ordering::Relaxed);
        // processes that run concurrently have neighbouring numbers: they are spread over the range
        let place = process::id().wrapping_mul(7_919).wrapping_add(call);
        let port = u16::try_from(FIRST + place % COUNT).unwrap_or(u16::MAX);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_gives_another_port() {
        let ports = [free_port(), free_port(), free_port()];
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2]);
        assert!(ports.iter().all(|&port| (12_000..30_000).contains(&port)));
    }
}
