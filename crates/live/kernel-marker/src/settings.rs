//! What is chosen of the marker in the kernel.

/// The tunnels that packets towards UEs are looked for in, where the marker is between a core and base stations. Then the UE is
/// the inner destination, and flow, bytes and ECN field are those of the inner packet.
///
/// To be chosen only where all that leaves the interface in such tunnels is from a core that may send to any UE: inner
/// addresses are taken as they are. Who can send these UDP datagrams through the interface otherwise (a UE to another's
/// address, where packets are plain) has them count for UEs of their choice, whose flows are then marked or dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// GTP-U version 1 to UDP port 2152 (TS 29.281): N3 and S1-U.
    pub gtp_u: bool,
    /// VXLAN to UDP port 4789 (RFC 7348).
    pub vxlan: bool,
}

impl Inside {
    /// Packets are plain: the destination is the UE.
    pub const NOTHING: Self = Self {
        gtp_u: false,
        vxlan: false,
    };
    /// In GTP-U, or plain.
    pub const GTP_U: Self = Self {
        gtp_u: true,
        vxlan: false,
    };
    /// In VXLAN, or plain.
    pub const VXLAN: Self = Self {
        gtp_u: false,
        vxlan: true,
    };
    /// In either, or plain.
    pub const BOTH: Self = Self {
        gtp_u: true,
        vxlan: true,
    };

    /// As the program reads it.
    pub(crate) fn bits(self) -> u32 {
        u32::from(self.gtp_u) | u32::from(self.vxlan) << 1
    }
}

/// Settings of [`Marker`](crate::Marker).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// UEs at most, 1 to 1,000,000; each that has an order takes some 4 kB of the kernel's memory.
    pub max_ues: u32,
    /// TCP is split here: segments of this machine's own TCP sockets are forwarded unjudged.
    pub splits_tcp: bool,
    /// Another instance at the interface is the predecessor of an upgrade: this one waits for its end instead of being
    /// refused, and takes over at the first order thereafter.
    pub takes_over: bool,
    /// Tunnels that are looked into; none unless chosen.
    pub inside: Inside,
}

/// What [`Settings::max_ues`] may be.
pub(crate) const UES: std::ops::RangeInclusive<u32> = 1..=1_000_000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_ues: 10_000,
            splits_tcp: true,
            takes_over: false,
            inside: Inside::NOTHING,
        }
    }
}
