//! Options as values (RFC 4340 section 5.8, RFC 9897 section 3.2).

use super::AckVector;
use crate::seq::MpSeq;
use core::net::IpAddr;
use units::Duration;

/// The options of a packet.
///
/// What nearly every packet has is a field of its own, so that a data packet needs no allocation;
/// everything else is listed in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `MP_SEQ`: the packet's number in the connection. Written first.
    pub mp_seq: Option<MpSeq>,
    /// Everything else but the two below, in order.
    pub list: Vec<DccpOption>,
    /// Ack Vector (RFC 4340 11.4); one too long for an option is written as several in a row, which
    /// are one when read.
    pub ack_vector: Option<AckVector>,
    /// Elapsed Time (RFC 4340 13.2): from the arrival of the acknowledged packet until this one
    /// left. In steps of 10 us, at most 2^32 - 1 of them.
    pub elapsed: Option<Duration>,
}

/// An option that stands in [`Options::list`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DccpOption {
    /// The option after it must be understood (RFC 4340 5.8.2).
    Mandatory,
    /// The receiver of data is slow (11.6).
    SlowReceiver,
    /// Feature negotiation (6.1).
    Feature(FeatureOption),
    /// Init Cookie (8.1.4): 1 to 253 bytes.
    InitCookie(Vec<u8>),
    /// Packets without data sent since the last with data (7.7).
    NdpCount(u64),
    /// Timestamp (13.1), in steps of 10 us.
    Timestamp(u32),
    /// Timestamp Echo (13.3), and the time that the timestamp waited.
    TimestampEcho {
        /// The timestamp.
        timestamp: u32,
        /// How long it was held, in steps of 10 us.
        elapsed: Option<u32>,
    },
    /// Data Dropped (11.7), as on the wire.
    DataDropped(Vec<u8>),
    /// A multipath option (46).
    Multipath(MpOption),
    /// One that this implementation does not have: its type and its data.
    Unknown {
        /// Option type.
        kind: u8,
        /// Data.
        data: Vec<u8>,
    },
}

/// Which step of a negotiation an option is (RFC 4340 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureOptionKind {
    /// Change L (32): sent by the feature's owner.
    ChangeL,
    /// Confirm L (33): the owner answers.
    ConfirmL,
    /// Change R (34): sent by the other end.
    ChangeR,
    /// Confirm R (35): the other end answers.
    ConfirmR,
}

impl FeatureOptionKind {
    /// The type of the option on the wire (RFC 4340 table 3).
    pub const fn code(self) -> u8 {
        match self {
            Self::ChangeL => 32,
            Self::ConfirmL => 33,
            Self::ChangeR => 34,
            Self::ConfirmR => 35,
        }
    }
}

/// A feature (RFC 4340 table 4, RFC 9897).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature(pub u8);

impl Feature {
    /// Congestion control identifier.
    pub const CCID: Self = Self(1);
    /// Allow short sequence numbers.
    pub const ALLOW_SHORT_SEQNOS: Self = Self(2);
    /// Sequence window.
    pub const SEQUENCE_WINDOW: Self = Self(3);
    /// ECN incapable.
    pub const ECN_INCAPABLE: Self = Self(4);
    /// Ack ratio.
    pub const ACK_RATIO: Self = Self(5);
    /// Send Ack Vector.
    pub const SEND_ACK_VECTOR: Self = Self(6);
    /// Send NDP Count.
    pub const SEND_NDP_COUNT: Self = Self(7);
    /// Minimum checksum coverage.
    pub const MINIMUM_CHECKSUM_COVERAGE: Self = Self(8);
    /// Check data checksum.
    pub const CHECK_DATA_CHECKSUM: Self = Self(9);
    /// Multipath capable: versions, four bits each (RFC 9897 3.1).
    pub const MULTIPATH_CAPABLE: Self = Self(10);
}

/// A step of feature negotiation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureOption {
    /// Which step.
    pub kind: FeatureOptionKind,
    /// Of which feature.
    pub feature: Feature,
    /// Values as on the wire: a list in order of preference, or a number in network order.
    pub value: Vec<u8>,
}

/// Number of an address within a connection (RFC 9897 3.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressId(pub u8);

/// Connection identifier (CI, RFC 9897 3.2.4), chosen by the end that receives it in joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// The first 20 bytes of an HMAC-SHA256 (RFC 9897 3.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hmac(pub [u8; 20]);

/// A key as `MP_KEY` carries it.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyData {
    /// Key type: 0 is a plain key of 8 bytes.
    pub kind: u8,
    /// The key.
    pub data: Vec<u8>,
}

impl core::fmt::Debug for KeyData {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // a key is not for logs
        f.debug_struct("KeyData")
            .field("kind", &self.kind)
            .field("bytes", &self.data.len())
            .finish()
    }
}

/// Priority of a path (`MP_PRIO`, RFC 9897 3.2.10): 0 never, 1 standby, 2 secondary, 3 to 15
/// primary, more is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathPriority(u8);

impl PathPriority {
    /// Not for data.
    pub const NEVER: Self = Self(0);
    /// Only while no other path works.
    pub const STANDBY: Self = Self(1);
    /// Less preferred.
    pub const SECONDARY: Self = Self(2);
    /// The lowest of the primary ones; the default of a path.
    pub const PRIMARY: Self = Self(3);

    /// The lowest four bits.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0x0F)
    }

    /// 0 to 15.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// What a round-trip time in `MP_RTT` is (RFC 9897 3.2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttKind {
    /// The last sample.
    Raw,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// Smoothed.
    Smooth,
}

/// `MP_RTT`: a path's round-trip time as its sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRtt {
    /// What it is.
    pub kind: RttKind,
    /// In whole milliseconds on the wire.
    pub rtt: Duration,
    /// How old the value is, in whole milliseconds.
    pub age: Duration,
}

/// A multipath option (RFC 9897 3.2), less `MP_SEQ` of the packet itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MpOption {
    /// 0: these were received; the options with their numbers, newest first.
    Confirm(Vec<(MpOption, MpSeq)>),
    /// 1: joins a path to a connection.
    Join {
        /// The address it comes from.
        address: AddressId,
        /// The connection, by its number at the receiver of this.
        connection: ConnectionId,
        /// Nonce.
        nonce: u32,
    },
    /// 2: ends the connection at once; the peer's key.
    FastClose(KeyData),
    /// 3: keys of the first handshake.
    Key {
        /// The sender's number of the connection.
        connection: ConnectionId,
        /// Keys that it offers or chose.
        keys: Vec<KeyData>,
    },
    /// 4: a further number; the first of a packet is [`Options::mp_seq`].
    Seq(MpSeq),
    /// 5: authenticates the option before it, or a join.
    Hmac(Hmac),
    /// 6: round-trip time of the path.
    Rtt(PathRtt),
    /// 7: a further address of the sender.
    AddAddress {
        /// Its number.
        id: AddressId,
        /// Nonce.
        nonce: u32,
        /// The address.
        address: IpAddr,
        /// Its port, if not that of the path.
        port: Option<u16>,
    },
    /// 8: an address is no more.
    RemoveAddress {
        /// Its number.
        id: AddressId,
        /// Nonce.
        nonce: u32,
    },
    /// 9: priority of the path that carries it.
    Priority(PathPriority),
    /// 10: ends the connection; the peer's key.
    Close(KeyData),
    /// 11: private.
    Experimental(Vec<u8>),
    /// One that RFC 9897 does not define: its number and its data.
    Unknown {
        /// `MP_OPT`.
        kind: u8,
        /// Data.
        data: Vec<u8>,
    },
}
