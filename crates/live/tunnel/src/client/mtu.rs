//! What a client's links take, and what follows for the device: its MTU is that of the path that takes least.

use super::Client;
use crate::inside::Inside;
use crate::limits;
use crate::link::Way;
use multipath::client::ClientPathId;
use units::Instant;

impl Client {
    /// What the link of a path takes, or is configured for it.
    pub(super) fn note_link_mtu(&mut self, now: Instant, id: ClientPathId) {
        let Some(path) = self.paths.get(id) else {
            return;
        };
        let Some(Way::Udp { socket, .. }) = path.link.as_ref().map(|link| &link.link.way) else {
            return;
        };
        let Some(mtu) = path.config.path_mtu.or(socket.path_mtu().ok()) else {
            return;
        };
        let size = limits::largest_datagram(&self.config, mtu, socket.is_ipv6());
        self.core.on_link_mtu(now, id, size);
    }

    /// Of all paths.
    pub(super) fn note_links(&mut self, now: Instant) {
        let ids: Vec<_> = self.paths.configured().map(|(id, _)| id).collect();
        for id in ids {
            self.note_link_mtu(now, id);
        }
    }

    /// The device's MTU follows what the paths take: at once if that is less, after a search if it is more.
    pub(super) fn fit_mtu(&self, inside: &mut Inside) {
        let Some(inner) = self.core.tunnel().inner_mtu() else {
            return;
        };
        let fixed = self.config.tun.mtu;
        let mtu = fixed.unwrap_or_else(|| limits::device_mtu(&self.config, inner.size));
        if inner.is_settled || fixed.is_some() || mtu < inside.mtu() {
            inside.set_mtu(mtu, inner.size);
        }
    }

    /// Notifies the senders of packets that no path takes, some a second, and looks at links that have refused some.
    pub(super) fn answer_too_big(&mut self, now: Instant, inside: &mut Inside) {
        let mut has_refused = false;
        for (_, link) in self.paths.links_mut() {
            has_refused |= link.link.take_too_big();
        }
        if has_refused {
            self.note_links(now);
            self.fit_mtu(inside);
        }
        while let Some(packet) = self.core.poll_too_big() {
            if let Some(inner) = self.core.tunnel().inner_mtu() {
                inside.refuse_too_big(now, &packet, inner.size, false);
            }
        }
    }
}
