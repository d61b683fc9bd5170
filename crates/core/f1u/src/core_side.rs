//! N3 beside F1-U: what came from the core a moment before a ciphered PDU of the same length goes down is that PDU.
//!
//! Where both interfaces pass the capture, as on a centralized unit's host, this shows whose a bearer is although PDCP
//! ciphers. Only lengths that one UE alone has had lately count.

use core::net::IpAddr;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// The longest time that a packet takes through the centralized unit.
const TRANSIT: Duration = Duration::from_millis(50);
/// Packets that are remembered.
const REMEMBERED: usize = 256;
/// Octets of a PDU's integrity code, where a bearer has one (TS 38.323 6.2.2.2).
const INTEGRITY: usize = 4;

/// A packet that came from the core.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Instant,
    destination: IpAddr,
    bytes: usize,
}

/// Packets that came from the core lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals(VecDeque<Arrival>);

impl Arrivals {
    /// A packet of this length for a UE.
    pub(crate) fn on_packet(&mut self, now: Instant, destination: IpAddr, bytes: usize) {
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(Arrival {
            at: now,
            destination,
            bytes,
        });
    }

    /// The UE whose packet goes down in a PDU of this length, if it is the only one that it can be.
    pub(crate) fn take(&mut self, now: Instant, bytes: usize) -> Option<IpAddr> {
        while self
            .0
            .front()
            .is_some_and(|of| now.saturating_since(of.at) > TRANSIT)
        {
            self.0.pop_front();
        }
        let fits = |of: &Arrival| of.bytes == bytes || of.bytes + INTEGRITY == bytes;
        let at = self.0.iter().position(fits)?;
        let destination = self.0[at].destination;
        let mut others = self.0.iter().filter(|of| of.destination != destination);
        if others.any(fits) {
            return None;
        }
        self.0.remove(at);
        Some(destination)
    }
}
