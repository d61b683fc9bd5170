//! What the tunnel is made with: sizes, times, and the core's configuration from ours.

use crate::config::Config;
use crate::error::TunnelError;
use crate::inner::MIN_MTU;
use crate::key::Key;
use multipath::auth::PreSharedKey;
use multipath::tunnel::{Carrier, TunnelConfig};
use std::io;

/// Bytes that a packet's DCCP header takes on a path at most, beside one full packet inside: the
/// header itself (16), its number in the connection (9), and now and then a round-trip time (12) or
/// a priority (4), in words of four.
pub(crate) const OVERHEAD: usize = 48;
/// Largest packet inside where nothing is known of the paths: Ethernet's 1,500 over IPv6.
pub(crate) const USUAL_MTU: usize = 1_500 - 48 - OVERHEAD;
/// Congestion control of a server's TCP connections.
pub(crate) const STREAM_CONTROLLER: &str = "cubic";

/// Largest packet inside that a path of this MTU takes.
pub(crate) fn inner_mtu(path_mtu: usize, is_ipv6: bool) -> usize {
    let outer = if is_ipv6 { 48 } else { 28 };
    path_mtu
        .saturating_sub(outer + OVERHEAD)
        .clamp(MIN_MTU, 65_000)
}

/// The core's configuration of a connection.
pub(crate) fn tunnel_config(config: &Config, mtu: usize) -> TunnelConfig {
    TunnelConfig {
        mtu,
        ..config.connection.clone()
    }
}

/// The core's key of ours.
pub(crate) fn pre_shared(key: &Key) -> Result<PreSharedKey, TunnelError> {
    PreSharedKey::new(key.bytes())
        .map_err(|error| TunnelError::system("a key", io::Error::other(error)))
}

/// The core's name of a path's controller. A TCP connection has the kernel's, and the core needs
/// none for it.
pub(crate) fn controller(name: &str) -> &'static str {
    let all = Carrier::Dccp.controllers();
    let found = all.iter().find(|known| **known == name);
    found.copied().unwrap_or(all[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_inside() {
        assert_eq!(inner_mtu(1_500, false), 1_424);
        assert_eq!(inner_mtu(1_500, true), USUAL_MTU);
        assert_eq!(inner_mtu(600, false), MIN_MTU, "IPv6 needs it");
    }
}
