//! Whether the radio lost what the transport misses: the decision of [`super::Variant::Default`].
//!
//! Size of blocks and length of the queue show that the radio link is good, not that it lost anything:
//! with a bottleneck elsewhere, MELD-DE and MELD-ME take its overflow for noise. Here the radio must
//! have lost the packets.
//!
//! *Where the reports count lost packets* ([`RadioState::lost_packets`]), each packet that the radio
//! lost explains one that the transport misses, once. It explains only what had been sent when the
//! report came, and only for [`LATEST_ROUND_TRIPS`] round trips: loss detection needs about one. A loss
//! of more packets than are explained is congestion. Losses in a WAN queue are thus congestion, to the
//! packet, as long as the radio loses nothing at the same time; while it does, as many of them pass
//! silently as the radio lost packets of other flows of the same UE.
//!
//! *Where they do not count them*, blocks that HARQ repeated in that time are taken for the cause, unless
//! more time is lost in queues than the queue in the base station accounts for. A WAN bottleneck with
//! a buffer too short to be seen in the round-trip time is then not reported from the radio.
//!
//! *Where they report neither*, every loss is congestion.

use super::{LossSample, MAX_REPORTS, Reason, paper};
use crate::RadioState;
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant, Packets};

/// Round trips after which a report explains no loss any more.
pub const LATEST_ROUND_TRIPS: u64 = 2;
/// Queueing outside the base station up to the inverse of this of the base round trip may be jitter.
pub const JITTER_SHARE: u64 = 4;
/// So may this.
pub const MIN_JITTER: Duration = Duration::from_millis(5);

/// Round-trip times of the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    pub(super) srtt: Duration,
    pub(super) min_rtt: Duration,
}

/// What one report can explain.
#[derive(Clone, Copy, Debug)]
struct Explanation {
    number: u64,
    arrived_at: Instant,
    /// Lost packets that no loss has been set against; none if they are not counted.
    packets: Option<u32>,
    has_repeated: bool,
}

/// What the radio has lost lately.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    reports: VecDeque<Explanation>,
}

impl Evidence {
    /// The report of this number arrived.
    pub(super) fn on_radio(&mut self, now: Instant, number: u64, state: &RadioState) {
        while let Some(first) = self.reports.front()
            && first.number + MAX_REPORTS <= number
        {
            self.reports.pop_front();
        }
        let packets = state.lost_packets;
        if packets == Some(0) || packets.is_none() && state.harq_retx == 0 {
            return;
        }
        self.reports.push_back(Explanation {
            number,
            arrived_at: now,
            packets,
            has_repeated: state.harq_retx > 0,
        });
    }

    /// Packets that the radio lost, by the reports that are kept, and that no loss has been set against.
    pub(super) fn unexplained(&self) -> Packets {
        let packets = self.reports.iter().filter_map(|report| report.packets);
        Packets::new(packets.map(u64::from).sum())
    }

    /// Sets a loss against what the radio lost.
    pub(super) fn explain(
        &mut self,
        now: Instant,
        loss: &LossSample,
        pdu: Bytes,
        radio: &RadioState,
        path: Path,
    ) -> Reason {
        let latest = path.srtt * LATEST_ROUND_TRIPS + radio.period;
        while let Some(first) = self.reports.front()
            && now.saturating_since(first.arrived_at) > latest
        {
            self.reports.pop_front();
        }
        let sent_at = loss.lost_sent_at;
        let mut left = loss.lost.get().div_ceil(pdu.get()).max(1);
        let eligible = |report: &&mut Explanation| report.arrived_at >= sent_at;
        let available: u64 = self
            .reports
            .iter_mut()
            .filter(eligible)
            .filter_map(|report| report.packets)
            .map(u64::from)
            .sum();
        if available >= left {
            for packets in self
                .reports
                .iter_mut()
                .filter(eligible)
                .filter_map(|report| report.packets.as_mut())
            {
                let taken = u64::from(*packets).min(left);
                left -= taken;
                *packets -= taken as u32;
            }
            return Reason::LostOnRadio;
        }
        let has_repeated = self
            .reports
            .iter_mut()
            .filter(eligible)
            .any(|report| report.packets.is_none() && report.has_repeated);
        if !has_repeated {
            return Reason::NotOnRadio;
        }
        if paper::has_long_queue(radio) {
            return Reason::LongQueue;
        }
        if waits_elsewhere(radio, path) {
            return Reason::NotOnRadio;
        }
        Reason::RepeatedOnRadio
    }
}

/// More time is lost in queues than the base station's queue accounts for.
fn waits_elsewhere(radio: &RadioState, path: Path) -> bool {
    let waiting = path.srtt.saturating_sub(path.min_rtt);
    let rate = BitRate::from_bytes_per(radio.served, radio.period);
    let in_base_station = if rate.is_zero() {
        Duration::ZERO
    } else {
        radio.queue / rate
    };
    let jitter = (path.min_rtt / JITTER_SHARE).max(MIN_JITTER);
    waiting > in_base_station + jitter
}
