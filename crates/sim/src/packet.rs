//! What travels: TCP segments and UDP datagrams of a flow.

use crate::tcp::Segment;
use units::{Bytes, Instant};

/// IPv4 and UDP headers without options (RFC 791 3.1, RFC 768).
const UDP_HEADERS: Bytes = Bytes::new(28);

/// A datagram of a UDP application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram {
    /// When it left the sending host.
    pub(crate) sent_at: Instant,
    /// Payload.
    pub(crate) payload: Bytes,
}

/// What a packet carries.
#[derive(Debug)]
pub(crate) enum Body {
    /// A segment of the connection (or of one half of it, at a proxy) of a session.
    Segment {
        /// The session.
        session: u32,
        /// The segment.
        segment: Segment,
    },
    /// A datagram.
    Datagram(Datagram),
}

/// A packet.
#[derive(Debug)]
pub(crate) struct Packet {
    /// The flow that it belongs to.
    pub(crate) flow: u32,
    /// What it carries.
    pub(crate) body: Body,
}

impl Packet {
    /// Bytes from the IP header on.
    pub(crate) fn wire_bytes(&self) -> Bytes {
        match &self.body {
            Body::Segment { segment, .. } => segment.wire_bytes(),
            Body::Datagram(datagram) => datagram.payload + UDP_HEADERS,
        }
    }
}
