//! What SSH exchanges before a command's output comes (RFC 4253, 4252, 4254), as its size and its round trips.
//!
//! ```text
//!   TCP's handshake | 7 exchanges, each a round trip | "exec" -> the output
//! ```
//!
//! A user who logs in by public key and runs one command without a terminal (`ssh host cat file`). Sizes are about those of
//! OpenSSH 9, with the MAC and padding of each packet; of them only the number of segments matters, and each fits into
//! two.
//!
//! *Deviations.* What the client computes costs no time. The server's identification is sent with its answer to the
//! client's instead of half a round trip earlier, for which the client would have to wait all the same. Global requests
//! and window adjustments need no answer and are left out: OpenSSH's first channel window holds 2 MB. `scp` would add
//! two exchanges of its own protocol behind "exec"; a terminal adds none, as its requests are sent together.

use units::Bytes;

/// A request and what answers it: a round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// From the client.
    pub request: Bytes,
    /// From the server.
    pub answer: Bytes,
}

const fn exchange(request: u64, answer: u64) -> Exchange {
    Exchange {
        request: Bytes::new(request),
        answer: Bytes::new(answer),
    }
}

/// All before the command, which the client's last request carries (RFC 4254 6.5, "exec").
pub const EXCHANGES: &[Exchange] = &[
    // RFC 4253 4.2: identifications; 7.1: the server's KEXINIT follows its own at once
    exchange(40, 40 + 1_100),
    // 7.1: the client's KEXINIT; 8 and RFC 5656 4: its public value, answered with the host key and NEWKEYS (7.3)
    exchange(1_500 + 50, 700),
    // 7.3: NEWKEYS; 10: the service "ssh-userauth" is requested and accepted
    exchange(16 + 44, 44),
    // RFC 4252 5.2: "none", answered with the methods that can continue
    exchange(68, 52),
    // 7: would this key do? PK_OK
    exchange(400, 350),
    // 7: the same with a signature; SUCCESS
    exchange(650, 28),
    // RFC 4254 5.1 and 6.1: a channel for a session is opened and confirmed
    exchange(112, 44),
];
