//! The round trip of a small packet through an empty cell, by formula.
//!
//! *Down*: processing before scheduling, then half a slot on average until the next slot begins (the
//! packet comes at any time), the wait for a downlink slot, the slot, and the receiver's processing,
//! up to the slot boundary at which packets are delivered.
//!
//! *Up*: the answer is made at that boundary. The slot that begins there is already under way for
//! it, so the earliest is the next; with scheduling requests, the wait for the next opportunity and
//! the grant delay come before. Then the wait for an uplink slot, the slot, and processing.
//!
//! Both legs are averaged over all phases of the TDD pattern and the request period.

use crate::config::CellConfig;
use crate::frame::{Frame, SlotNumber};
use crate::uplink::next_request;
use units::Duration;

/// The limit of the phases that are averaged over.
const MAX_PHASES: u64 = 4096;

impl CellConfig {
    /// Mean round-trip time of a small packet, answered at once by the UE, through the empty cell.
    /// Grants that are kept between packets make it shorter, load makes it longer.
    /// Zero for a configuration that [`Self::check`] rejects.
    pub fn base_rtt(&self) -> Duration {
        Frame::new(self).map_or(Duration::ZERO, |frame| base_rtt(self, &frame))
    }

    /// The share of the time's symbols that are downlink's, 0 to 1, as radio reports have it; 0 for a configuration that
    /// [`Self::check`] rejects.
    pub fn downlink_share(&self) -> f64 {
        Frame::new(self).map_or(0.0, |frame| frame.downlink_share())
    }
}

/// As [`CellConfig::base_rtt`], of a checked configuration.
pub(crate) fn base_rtt(config: &CellConfig, frame: &Frame) -> Duration {
    let slot = frame.slot();
    let to_delivery = 1 + frame.slots_in(config.receive_processing);
    let requests = (config.uplink.sr_period / slot).max(1);
    let phases = (frame.period() * requests).min(MAX_PHASES);
    let mut slots: SlotNumber = 0;
    for phase in 0..phases {
        // ready within slot `phase`: half a slot later (added below) the next one begins
        let down = frame.next_downlink(phase + 1);
        let delivered = down + to_delivery;
        let up = frame.next_uplink(first_uplink(config, frame, delivered));
        slots += up + to_delivery - (phase + 1);
    }
    let mean = slot.mul_f64(slots as f64 / phases as f64);
    config.downlink_processing + slot / 2 + mean
}

/// The first slot that an answer made at the beginning of `delivered` may use.
fn first_uplink(config: &CellConfig, frame: &Frame, delivered: SlotNumber) -> SlotNumber {
    let now = frame.start(delivered);
    let usable_at = if config.uplink.sr_period.is_zero() {
        now
    } else {
        let at = next_request(now, config.uplink.sr_period, frame.slot(), 0);
        at + config.uplink.grant_delay
    };
    frame.first_from(usable_at).max(delivered + 1)
}
