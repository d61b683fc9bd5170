//! Paths of clients that take smaller packets than the server's device, as routers on the way report.
//!
//! The device is all clients'; so its MTU stays, and the senders of what is too large for one path are
//! notified of what would fit there (RFC 1191, RFC 8201).

use super::Server;
use crate::config::Encryption;
use crate::inside::Inside;
use crate::limits;
use crate::link::Way;
use crate::udp::{self, UdpSocket};
use std::net::{IpAddr, SocketAddr};
use units::Instant;

impl Server {
    /// Notifies the senders of packets that were too large for a client's path, some a second.
    pub(super) fn answer_too_big(&mut self, now: Instant, inside: &mut Inside) {
        let second = now.as_nanos() / 1_000_000_000;
        for flow in self.narrow.drain(..) {
            let Some(link) = self.links.get_mut(&flow) else {
                continue;
            };
            let packet = link.too_big.take();
            if let (
                Some(packet),
                Way::Udp {
                    to: Some(to), from, ..
                },
            ) = (packet, &link.way)
                && inside.may_answer(second)
                && let Some(mtu) = inner_mtu(*to, *from, self.config.encryption)
            {
                inside.answer_too_big(second, packet.headers(), mtu);
            }
        }
    }
}

/// Largest packet inside that the way from this address to a client takes, as the kernel has it.
fn inner_mtu(to: SocketAddr, from: Option<IpAddr>, encryption: Encryption) -> Option<usize> {
    let way = udp::Way {
        mark: None,
        interface: None,
        local: from.filter(|from| !from.is_unspecified()),
    };
    // the server's socket has many peers, and the kernel's answer is of one
    let socket = UdpSocket::connected(&way, to).ok()?;
    let mtu = socket.path_mtu().ok()?;
    Some(limits::inner_mtu(mtu, to.is_ipv6(), encryption))
}
