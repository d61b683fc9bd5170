//! What travels: TCP segments, QUIC datagrams, datagrams of UDP applications, and all these inside
//! the packets of a tunnel.

use crate::carried::Carried;
use crate::pool::Label;
use crate::quic;
use crate::tcp::Segment;
use media::{Feedback, MediaPacket};
use multipath::Payload;
use multipath::packet::encoded_len;
use queue::Ecn;
use units::{Bytes, Duration, Instant};

/// IPv4 and UDP headers without options (RFC 791 3.1, RFC 768).
pub(crate) const UDP_HEADERS: Bytes = Bytes::new(28);

/// A datagram of a UDP application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram {
    /// Its number within the flow, from 0.
    pub(crate) number: u64,
    /// When it left the sending host.
    pub(crate) sent_at: Instant,
    /// Payload.
    pub(crate) payload: Bytes,
    /// The ECN field of the IP header.
    pub(crate) ecn: Ecn,
}

/// A packet of a call's media.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Media {
    /// What it carries.
    pub(crate) packet: MediaPacket,
    /// When it left the sending host.
    pub(crate) sent_at: Instant,
    /// The ECN field of the IP header.
    pub(crate) ecn: Ecn,
}

/// Feedback on a call's media, to its sender.
#[derive(Clone, Debug)]
pub(crate) struct MediaFeedback {
    /// What it reports.
    pub(crate) feedback: Feedback,
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
    /// A datagram of the QUIC connection of a session.
    Quic {
        /// The session.
        session: u32,
        /// The datagram.
        datagram: quic::Datagram,
    },
    /// A datagram of a UDP application.
    Datagram(Datagram),
    /// A packet of a call's media.
    Media(Box<Media>),
    /// Feedback on it, which is not ECN-capable.
    MediaFeedback(Box<MediaFeedback>),
    /// A DCCP packet, in UDP, of a path of the tunnel of the UE that the packet's flow numbers.
    Dccp(Box<Dccp>),
    /// A segment of the TCP connection that carries such a path.
    Stream {
        /// The path.
        path: u8,
        /// The number of the UE's socket.
        socket: u32,
        /// The segment.
        segment: Segment,
    },
}

/// A DCCP packet with what it carries.
#[derive(Debug)]
pub(crate) struct Dccp {
    /// The path of the tunnel.
    pub(crate) path: u8,
    /// Where it is between: from the UE, the port that a NAT has given its socket; to the UE, the number of
    /// the socket that the NAT sends it to.
    pub(crate) place: u32,
    /// The packet itself.
    pub(crate) packet: multipath::packet::Packet,
    /// The packet inside.
    pub(crate) payload: Option<Carried>,
    /// The ECN field of the outer IP header.
    pub(crate) ecn: Ecn,
}

/// A packet.
#[derive(Debug)]
pub(crate) struct Packet {
    /// The flow that it belongs to; of a packet of a tunnel, the UE.
    pub(crate) flow: u32,
    /// What it carries.
    pub(crate) body: Body,
    /// How long it has waited, whole, for what was before it: where the radio delivers in order.
    pub(crate) held: Duration,
}

impl Packet {
    /// A packet that leaves its host.
    pub(crate) const fn new(flow: u32, body: Body) -> Self {
        Self {
            flow,
            body,
            held: Duration::ZERO,
        }
    }

    /// What queues see of it. Each connection has a number of its own, as it has its own ports.
    pub(crate) fn label(&self) -> Label {
        match &self.body {
            Body::Segment { session, segment } => Label {
                wire: segment.wire_bytes(),
                flow: session.wrapping_mul(2),
                ecn: segment.ecn,
            },
            Body::Quic { session, datagram } => Label {
                wire: Bytes::new(datagram.payload.len() as u64) + UDP_HEADERS,
                flow: session.wrapping_mul(2),
                ecn: datagram.ecn,
            },
            Body::Datagram(datagram) => Label {
                wire: datagram.payload + UDP_HEADERS,
                flow: self.flow.wrapping_mul(2) + 1,
                ecn: datagram.ecn,
            },
            Body::Media(media) => Label {
                wire: media.packet.bytes + UDP_HEADERS,
                flow: self.flow.wrapping_mul(2) + 1,
                ecn: media.ecn,
            },
            Body::MediaFeedback(feedback) => Label {
                wire: feedback.payload + UDP_HEADERS,
                flow: self.flow.wrapping_mul(2) + 1,
                ecn: Ecn::NotEct,
            },
            Body::Dccp(dccp) => {
                let inside = dccp.payload.as_ref().map_or(0, Payload::len);
                let bytes = encoded_len(&dccp.packet) + inside;
                Label {
                    wire: Bytes::new(bytes as u64) + UDP_HEADERS,
                    flow: self.flow,
                    ecn: dccp.ecn,
                }
            }
            Body::Stream { segment, .. } => Label {
                wire: segment.wire_bytes(),
                flow: self.flow,
                ecn: segment.ecn,
            },
        }
    }

    /// True of what the ends of a tunnel send each other.
    pub(crate) fn is_of_tunnel(&self) -> bool {
        matches!(self.body, Body::Dccp(_) | Body::Stream { .. })
    }

    /// A queue has marked it.
    pub(crate) fn mark(&mut self) {
        match &mut self.body {
            Body::Segment { segment, .. } => segment.ecn = Ecn::Ce,
            Body::Quic { datagram, .. } => datagram.ecn = Ecn::Ce,
            Body::Datagram(datagram) => datagram.ecn = Ecn::Ce,
            Body::Media(media) => media.ecn = Ecn::Ce,
            Body::MediaFeedback(_) => {}
            Body::Dccp(dccp) => dccp.ecn = Ecn::Ce,
            Body::Stream { segment, .. } => segment.ecn = Ecn::Ce,
        }
    }
}
