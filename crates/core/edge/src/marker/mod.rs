//! What becomes of packets that the proxy does not split: forwarded, marked (ECN) or dropped early, by what the radio will
//! carry of them.
//!
//! ```text
//!   radio report -> rapid::Allocator -> Unsplit -> Reporter -> Order        (report side, once a report)
//!                                                                |
//!   packet: flow, bytes, ECN --------------------> UeMarker <----'          (packet side, once a packet)
//!                                                     |
//!                                                  Verdict: forward, mark, drop, and why
//! ```
//!
//! No packet waits there ([`Holder`] is the other way: packets wait, and go on by a window of bytes). The packet side keeps a virtual queue of what it has forwarded and the radio has not sent, and
//! decides by the delay that this means. It has integers only (u64, no 128 bits, no division but by the rate and by
//! configured times), a state of fixed size and no unbounded loop, so that a program in the kernel can repeat it to the
//! bit. [`Order`] is what passes between the two sides.
//!
//! Sources: RFC 9331 section 5 and RFC 9332 (what may be marked, the coupled law, overload, 2.5.1.1 for one queue of
//! both kinds), RFC 9000 13.4.2 (validation of ECN). The virtual queue and its correction by reports are ours:
//! `docs/algorithms/marking.md` has the equations.

mod config;
mod counts;
mod fixed;
mod flows;
mod held;
mod history;
mod law;
mod order;
mod packet;
mod prediction;
mod report;
#[cfg(test)]
mod tests;
mod virtual_queue;
mod window;
mod wrapped;

pub use config::MarkerConfig;
pub use counts::{Counts, Fate, Verdict};
pub use held::{Holder, Left, Switch};
pub use order::Order;
pub use packet::{Codepoint, MAX_SEGMENTS, Packet, UeMarker};
pub use prediction::Prediction;
pub use report::Reporter;
pub use window::{ByteWindow, two_slots};
pub use wrapped::Wrapped;

use crate::ConfigError;
use rapid::Unsplit;
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::Instant;

/// UEs at most: a source of invented addresses must not fill the memory.
const MAX_UES: usize = 100_000;

/// Both sides together, for all UEs: the marker of a driver without a program in the kernel.
#[derive(Debug)]
pub struct Marker {
    config: MarkerConfig,
    ues: BTreeMap<IpAddr, Ue>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Ue {
    reporter: Reporter,
    order: Order,
    packets: UeMarker,
}

impl Marker {
    /// Without reports: all is forwarded.
    ///
    /// # Errors
    /// A configuration out of range.
    pub fn new(config: MarkerConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            ues: BTreeMap::new(),
            counts: Counts::default(),
        })
    }

    /// Reports that come from now on go by other numbers; what is known of UEs, and the counts, stay.
    ///
    /// # Errors
    /// A configuration out of range: nothing is changed.
    pub fn configure(&mut self, config: MarkerConfig) -> Result<(), ConfigError> {
        config.check()?;
        self.config = config;
        Ok(())
    }

    /// A report was accepted that names this UE.
    pub fn on_report(&mut self, now: Instant, address: IpAddr, unsplit: &Unsplit) {
        if self.ues.len() >= MAX_UES && !self.ues.contains_key(&address) {
            return;
        }
        let ue = self.ues.entry(address).or_default();
        ue.order = ue.reporter.order(now, unsplit, &self.config);
    }

    /// A packet passes on its way to this UE: what becomes of it, counted.
    pub fn decide(&mut self, now: Instant, address: IpAddr, packet: Packet) -> Verdict {
        let verdict = match self.ues.get_mut(&address) {
            Some(ue) => ue
                .packets
                .decide(&ue.order, now.since_start().as_nanos(), packet),
            None => Verdict::NoReport,
        };
        self.counts
            .add(verdict, u64::from(packet.segments.clamp(1, MAX_SEGMENTS)));
        verdict
    }

    /// What has become of all packets so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}
