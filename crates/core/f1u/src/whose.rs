//! Whose a bearer is: what is configured for its tunnel downwards, what passes there, or what passes in the tunnel upwards that it
//! is paired with.

use crate::monitor::{Followed, Monitor, Tunnel, Upwards};
use core::net::IpAddr;
use gtpu::session::Container;
use gtpu::{Message, PDU_SESSION_CONTAINER};
use units::Instant;

impl Monitor {
    /// The address of a bearer's UE, if it is known.
    pub(crate) fn address(&self, tunnel: Tunnel, of: &Followed) -> Option<IpAddr> {
        let upwards = || self.tunnels.address(of.uplink?.end());
        of.configured
            .or_else(|| self.tunnels.address(tunnel.end()))
            .or_else(upwards)
    }

    /// A user's packet passes in a tunnel that may be that of a bearer upwards: its source is the UE, where it is not ciphered.
    pub(crate) fn on_upwards(&mut self, now: Instant, tunnel: Tunnel, message: &Message<'_>) {
        if !matches!(self.upwards.get(&tunnel), Some(Upwards::Paired { .. })) {
            return;
        }
        let header = self.config.sn_length.header() + usize::from(self.config.has_sdap);
        let inside = message.payload.get(header..);
        let length = message.payload_length.checked_sub(header);
        let ends = inside.zip(length);
        if let Some((source, _)) = ends.and_then(|(inside, of)| gtpu::inner::ends(inside, of)) {
            self.tunnels.on_packet(now, tunnel.end(), source);
        }
    }

    /// A user's packet without NR-U's header passes; on N3 its container states which end of it is the UE's.
    pub(crate) fn on_core_side(&mut self, now: Instant, tunnel: Tunnel, message: &Message<'_>) {
        let container = message.extension(PDU_SESSION_CONTAINER);
        let Some(Ok(container)) = container.map(Container::read) else {
            return;
        };
        let length = message.payload_length;
        let Some((source, destination)) = gtpu::inner::ends(message.payload, length) else {
            return;
        };
        match container {
            Container::Downlink(_) => {
                self.tunnels.on_packet(now, tunnel.end(), destination);
                self.arrivals.on_packet(now, destination, length);
            }
            Container::Uplink(_) => {
                self.tunnels.on_packet(now, tunnel.end(), source);
            }
        }
    }
}
