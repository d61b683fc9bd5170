//! DCCP packets as values (RFC 4340 section 5, RFC 9897 section 3).
//!
//! Sequence and acknowledgement numbers are always the long form (X = 1), ports are DCCP's own
//! (they distinguish paths, RFC 6773 section 3.3), the DCCP checksum is zero and UDP's is used.

mod ack_vector;
mod compact;
mod decode;
mod decode_mp;
mod encode;
mod options;
mod wire;

#[cfg(test)]
mod tests;

pub use ack_vector::{AckVector, ReceptionState, Run};
pub use compact::{COMPACT_LEN, Compact, Form, Reference, WHOLE, decode_form};
pub(crate) use compact::{is_unordered_mark, unordered_mark};
pub use decode::{DecodeError, OptionFault, decode};
pub use encode::{EncodeError, MAX_HEADER_LEN, encode, encoded_len};
pub use options::{
    AddressId, ConnectionId, DccpOption, Feature, FeatureOption, FeatureOptionKind, Hmac, KeyData,
    MpOption, Options, PathPriority, PathRtt, RttKind,
};

use crate::seq::SeqNo;

/// A DCCP packet without its application data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Four bits of the sender's congestion control (RFC 4340 5.1, CCVal); 0 with CCID 2
    /// and 5.
    pub ccval: u8,
    /// Sequence number.
    pub seq: SeqNo,
    /// Type, with the fields that only it has.
    pub kind: Kind,
    /// Options.
    pub options: Options,
}

/// The type of a packet (RFC 4340 5.1), with the fields of that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A client opens a path (5.3).
    Request {
        /// Service code.
        service: u32,
    },
    /// The server's answer (5.3).
    Response {
        /// Acknowledgement number.
        ack: SeqNo,
        /// Service code.
        service: u32,
    },
    /// Application data (5.4).
    Data,
    /// An acknowledgement (5.4).
    Ack {
        /// Acknowledgement number: the greatest sequence number received (GSR).
        ack: SeqNo,
    },
    /// Both (5.4).
    DataAck {
        /// Acknowledgement number.
        ack: SeqNo,
    },
    /// The server requests the client to close (5.5).
    CloseReq {
        /// Acknowledgement number.
        ack: SeqNo,
    },
    /// Close (5.5).
    Close {
        /// Acknowledgement number.
        ack: SeqNo,
    },
    /// The path is over (5.6).
    Reset {
        /// Acknowledgement number.
        ack: SeqNo,
        /// Why.
        code: ResetCode,
        /// More about it, by code.
        data: [u8; 3],
    },
    /// Requests the peer's sequence numbers (5.7).
    Sync {
        /// The sequence number of the packet that caused it.
        ack: SeqNo,
    },
    /// Answers a Sync (5.7).
    SyncAck {
        /// The sequence number of the Sync.
        ack: SeqNo,
    },
}

impl Kind {
    /// The acknowledgement number, where the type has one.
    pub const fn ack(self) -> Option<SeqNo> {
        match self {
            Self::Request { .. } | Self::Data => None,
            Self::Response { ack, .. }
            | Self::Ack { ack }
            | Self::DataAck { ack }
            | Self::CloseReq { ack }
            | Self::Close { ack }
            | Self::Reset { ack, .. }
            | Self::Sync { ack }
            | Self::SyncAck { ack } => Some(ack),
        }
    }

    /// True for the types that carry application data in this implementation (RFC 4340 lets
    /// Request, Response and others carry some too; it is ignored there).
    pub const fn carries_data(self) -> bool {
        matches!(self, Self::Data | Self::DataAck { .. })
    }

    /// The number of the type on the wire (RFC 4340 table 1).
    pub const fn code(self) -> u8 {
        match self {
            Self::Request { .. } => 0,
            Self::Response { .. } => 1,
            Self::Data => 2,
            Self::Ack { .. } => 3,
            Self::DataAck { .. } => 4,
            Self::CloseReq { .. } => 5,
            Self::Close { .. } => 6,
            Self::Reset { .. } => 7,
            Self::Sync { .. } => 8,
            Self::SyncAck { .. } => 9,
        }
    }
}

/// Why a path was reset (RFC 4340 table 2, RFC 9897).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetCode(pub u8);

impl ResetCode {
    /// No reason given.
    pub const UNSPECIFIED: Self = Self(0);
    /// The normal end.
    pub const CLOSED: Self = Self(1);
    /// Given up, for example by a lack of progress.
    pub const ABORTED: Self = Self(2);
    /// There is no such connection.
    pub const NO_CONNECTION: Self = Self(3);
    /// An unexpected packet type.
    pub const PACKET_ERROR: Self = Self(4);
    /// A wrong option.
    pub const OPTION_ERROR: Self = Self(5);
    /// A mandatory option or feature was not understood.
    pub const MANDATORY_ERROR: Self = Self(6);
    /// No process listens there.
    pub const CONNECTION_REFUSED: Self = Self(7);
    /// An unknown service code.
    pub const BAD_SERVICE_CODE: Self = Self(8);
    /// The server is overloaded.
    pub const TOO_BUSY: Self = Self(9);
    /// A wrong Init Cookie.
    pub const BAD_INIT_COOKIE: Self = Self(10);
    /// The peer ignores congestion.
    pub const AGGRESSION_PENALTY: Self = Self(11);
    /// The multipath connection was closed at once (RFC 9897).
    pub const MP_FAST_CLOSE: Self = Self(13);
}
