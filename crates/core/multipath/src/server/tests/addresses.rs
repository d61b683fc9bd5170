//! Further addresses of a server, as its clients are notified of them.

use super::*;
use core::net::IpAddr;

const KEY: &str = "0123456789abcdef";

/// The path that was joined there may be about to end: its client is to know where it can come again.
#[test]
fn an_address_that_was_joined_at_is_signalled_too() {
    let at = |last: u8| IpAddr::from([198, 51, 100, last]);
    let mut server = new_server(&[KEY], 1);
    let mut client = client(1, Some(KEY));
    let mut known = Vec::new();
    for ms in 1..300 {
        let now = Instant::ZERO + Duration::from_millis(ms);
        client.tunnel.on_deadline(now);
        server.on_deadline(now);
        while let Some(out) = client.tunnel.poll_transmit(now) {
            let flow = Flow {
                socket: u32::from(out.path.0),
                remote: client.at,
            };
            server.arrived_at(Some(at(out.path.0)));
            server.receive(now, flow, &out.packet, out.payload, out.ecn);
        }
        if ms == 100 {
            let (key, _) = server.connections().next().expect("a connection");
            assert_eq!(server.counters().joined, 1);
            for last in 0..2 {
                let address = SocketAddr::new(at(last), 6_511);
                server.announce(now, key, address).expect("there is room");
            }
        }
        while let Some(out) = server.poll_transmit(now) {
            let path = PathId(out.flow.socket as u8);
            let tunnel = &mut client.tunnel;
            tunnel.receive(now, path, &out.packet, out.payload, out.ecn);
        }
        known = client.tunnel.remote_addresses().collect();
    }
    // that of the first path is where the client has begun
    assert_eq!(known, [(AddressId(1), at(1))]);
}
