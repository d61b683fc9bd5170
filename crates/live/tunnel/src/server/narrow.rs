//! What the paths of clients take.
//!
//! The device is all clients': its MTU is that of the client whose paths take most, the senders of what is too large for
//! another are notified of what would fit there (RFC 1191, RFC 8201), and TCP's segments are as its paths take them.

use super::Server;
use crate::config::End;
use crate::inner::{self, Inner};
use crate::inside::Inside;
use crate::limits;
use crate::link::Way;
use crate::udp::{self, UdpSocket};
use multipath::server::ConnectionKey;
use multipath::{PathId, Tunnel};
use std::net::{IpAddr, SocketAddr};
use units::{Bytes, Instant};

/// A SYN is no longer: its headers with all options.
const MAX_SYN: usize = 40 + 60 + 60;

impl Server {
    /// What the link under a path takes, or is configured for all.
    pub(super) fn note_link_mtu(&mut self, now: Instant, key: ConnectionKey, path: PathId) {
        let Some(flow) = self.core.flow(key, path) else {
            return;
        };
        let Some(Way::Udp {
            to: Some(to), from, ..
        }) = self.links.get(&flow).map(|link| &link.way)
        else {
            return;
        };
        let fixed = match &self.config.end {
            End::Server(end) => end.path_mtu,
            End::Client(_) => None,
        };
        let Some(mtu) = fixed.or_else(|| measured(*to, *from)) else {
            return;
        };
        let size = limits::largest_datagram(&self.config, mtu, to.is_ipv6());
        if let Some(tunnel) = self.core.tunnel(key) {
            tunnel.on_link_mtu(now, path, size);
        }
    }

    /// Looks at links that have refused packets, and notifies the senders of packets that no path of their client takes.
    pub(super) fn answer_too_big(&mut self, now: Instant, inside: &mut Inside) {
        for flow in std::mem::take(&mut self.narrow) {
            if let Some((key, path)) = self.core.path_of(flow) {
                self.note_link_mtu(now, key, path);
            }
        }
        for index in 0..self.current.len() {
            let Some(tunnel) = self.current[index].and_then(|key| self.core.tunnel(key)) else {
                continue;
            };
            while let Some(packet) = tunnel.poll_too_big() {
                if let Some(inner) = tunnel.inner_mtu() {
                    inside.refuse_too_big(now, &packet, inner.size, true);
                }
            }
        }
    }

    /// The device's MTU is what the client whose paths take most can be sent; as it began without clients.
    pub(super) fn fit_mtu(&mut self, inside: &mut Inside) {
        if self.config.tun.mtu.is_some() {
            return;
        }
        let keys = self.current.iter().flatten().copied();
        let inner = keys.filter_map(|key| self.core.tunnel(key)?.inner_mtu());
        let (sizes, settled): (Vec<_>, Vec<_>) =
            inner.map(|inner| (inner.size, inner.is_settled)).unzip();
        let usual = limits::usual_mtu(self.config.encryption);
        let most = sizes.into_iter().max();
        let mtu = most.map_or(usual, |most| {
            limits::device_mtu(&self.config, most).max(usual)
        });
        // those of others are answered: less is not urgent
        if mtu > inside.mtu() || settled.iter().all(|is| *is) {
            // segments are as each client's paths take them
            inside.set_mtu(mtu, Bytes::new(mtu as u64));
        }
    }
}

/// A packet whose segment size, if it opens a TCP connection, is one that all paths of the tunnel take.
pub(super) fn clamped(packet: Inner, tunnel: &Tunnel<Inner>) -> Inner {
    if packet.1.is_some() || packet.0.len() > MAX_SYN || !inner::is_syn(&packet.0) {
        return packet;
    }
    let Some(inner) = tunnel.inner_mtu() else {
        return packet;
    };
    let mut data = packet.0.to_vec();
    inner::clamp_mss(
        &mut data,
        usize::try_from(inner.size.get()).unwrap_or(usize::MAX),
    );
    Inner::packet(data.into())
}

/// Largest IP packet that the way from this address to a client takes, as the kernel has it.
fn measured(to: SocketAddr, from: Option<IpAddr>) -> Option<usize> {
    let way = udp::Way {
        mark: None,
        interface: None,
        local: from.filter(|from| !from.is_unspecified()),
    };
    // the server's socket has many peers, and the kernel's answer is of one
    let socket = UdpSocket::connected(&way, to).ok()?;
    socket.path_mtu().ok()
}
