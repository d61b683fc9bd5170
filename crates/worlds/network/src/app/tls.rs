//! What a client and a server exchange between TCP's handshake and the first request: TLS 1.3 with a full handshake
//! (RFC 8446 2), as its size and its round trip.
//!
//! ```text
//!   client -- ClientHello --------------------------------> server
//!   client <- ServerHello .. Certificate .. Finished ------ server
//!   client -- Finished, request --------------------------> server
//! ```
//!
//! QUIC has its handshake within its own (RFC 9001) and needs none of this.
//!
//! *Deviations.* What both ends compute costs no time. The client's Finished counts to the request that it is sent with.
//! There is no resumption and no early data.

use super::ssh::Exchange;
use units::Bytes;

/// The exchange: a ClientHello with one key share, about 517 B as clients pad it (RFC 7685), and the answer with a chain of two
/// certificates, about 4 kB.
pub const HANDSHAKE: Exchange = Exchange {
    request: Bytes::new(517),
    answer: Bytes::new(4_000),
};
