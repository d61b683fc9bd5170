//! From which amount on a flow is worth deciding about.
//!
//! A driver may report a flow ([`crate::Edge::on_flow_open`]) not as its server answers but once it has carried this
//! much. A flow that ends before, or carries next to nothing, then costs no decision.

use units::Bytes;

/// Sent by a UE: a request of HTTP or a handshake of TLS has as many.
const REQUEST: Bytes = Bytes::new(64);
/// A usual segment: IPv4 with timestamps over Ethernet. What a server sends within one needs no window.
const SEGMENT: Bytes = Bytes::new(1_448);

/// Windows begin to matter to a flow: its UE has sent a request (64 bytes), or its server more than a segment.
#[must_use]
pub fn begins_to_matter(from_ue: Bytes, from_server: Bytes) -> bool {
    from_ue >= REQUEST || from_server > SEGMENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_matter_with_a_request_or_more_than_a_segment_of_the_server() {
        for (from_ue, from_server, matters) in [
            (0, 0, false),
            (63, 1_448, false),
            (64, 0, true),
            (0, 1_449, true),
        ] {
            let is_so = begins_to_matter(Bytes::new(from_ue), Bytes::new(from_server));
            assert_eq!(is_so, matters, "{from_ue} and {from_server}");
        }
    }
}
