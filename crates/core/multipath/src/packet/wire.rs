//! The numbers of the wire (RFC 4340 tables 1 and 3; RFC 9897 table 3).

use super::Kind;

/// Padding (5.8.1).
pub(super) const PADDING: u8 = 0;
/// Mandatory (5.8.2).
pub(super) const MANDATORY: u8 = 1;
/// Slow Receiver (11.6).
pub(super) const SLOW_RECEIVER: u8 = 2;
/// Options below this are a single byte.
pub(super) const FIRST_WITH_LENGTH: u8 = 32;
/// Change L (6.1).
pub(super) const CHANGE_L: u8 = 32;
/// Confirm L (6.2).
pub(super) const CONFIRM_L: u8 = 33;
/// Change R (6.1).
pub(super) const CHANGE_R: u8 = 34;
/// Confirm R (6.2).
pub(super) const CONFIRM_R: u8 = 35;
/// Init Cookie (8.1.4).
pub(super) const INIT_COOKIE: u8 = 36;
/// NDP Count (7.7).
pub(super) const NDP_COUNT: u8 = 37;
/// Ack Vector, nonce 0 (11.4).
pub(super) const ACK_VECTOR_0: u8 = 38;
/// Ack Vector, nonce 1 (11.4): the ECN nonce is historic (RFC 8311); read as the other.
pub(super) const ACK_VECTOR_1: u8 = 39;
/// Data Dropped (11.7).
pub(super) const DATA_DROPPED: u8 = 40;
/// Timestamp (13.1).
pub(super) const TIMESTAMP: u8 = 41;
/// Timestamp Echo (13.3).
pub(super) const TIMESTAMP_ECHO: u8 = 42;
/// Elapsed Time (13.2).
pub(super) const ELAPSED_TIME: u8 = 43;
/// Multipath (RFC 9897 3.2).
pub(super) const MULTIPATH: u8 = 46;

/// `MP_OPT`: what a multipath option is.
pub(super) mod mp_opt {
    pub(in super::super) const CONFIRM: u8 = 0;
    pub(in super::super) const JOIN: u8 = 1;
    pub(in super::super) const FAST_CLOSE: u8 = 2;
    pub(in super::super) const KEY: u8 = 3;
    pub(in super::super) const SEQ: u8 = 4;
    pub(in super::super) const HMAC: u8 = 5;
    pub(in super::super) const RTT: u8 = 6;
    pub(in super::super) const ADD_ADDRESS: u8 = 7;
    pub(in super::super) const REMOVE_ADDRESS: u8 = 8;
    pub(in super::super) const PRIORITY: u8 = 9;
    pub(in super::super) const CLOSE: u8 = 10;
    pub(in super::super) const EXPERIMENTAL: u8 = 11;
}

/// The generic header with long sequence numbers (RFC 4340 5.1), bytes.
pub(super) const GENERIC_LEN: usize = 16;

/// Bytes before the options, by type: the generic header, 8 for an acknowledgement, 4 for a service
/// code or a reset's code and data (RFC 4340 5.2 to 5.7).
pub(super) const fn fixed_len(kind: Kind) -> usize {
    GENERIC_LEN
        + match kind {
            Kind::Data => 0,
            Kind::Request { .. } => 4,
            Kind::Response { .. } | Kind::Reset { .. } => 12,
            _ => 8,
        }
}

/// Bytes of a key of that type (RFC 9897 3.2.4: plain, and two that this implementation does not
/// use); `None` for an unknown type, whose length is unknown too.
pub(super) const fn key_len(kind: u8) -> Option<usize> {
    match kind {
        0 => Some(8),
        1 => Some(32),
        2 => Some(64),
        _ => None,
    }
}
