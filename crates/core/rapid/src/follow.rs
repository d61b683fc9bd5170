//! TCP_RAN: the congestion control between proxy and UE (section 3.2 of the paper).
//!
//! Its cwnd is the window that the allocator sets, whatever is lost: losses on the radio are
//! repaired by retransmission without slowing down.
//!
//! A window may end within a segment. No sender sends a part of one (RFC 9293 3.8.6.2.1), so that one that counts in
//! bytes uses it down to whole segments by itself; [`FollowAllocation::segments`] is the same for one that counts in
//! segments, which is the kernel's (`kernel-cc`, `bpf/follow_model.h`). The allocator reckons with that: what is
//! rounded away of one flow's window it gives to another's (`default_mode/segments.rs`).

use cc::{AckSample, Allocation, CongestionControl, Ctx, LossSample, PacketStamp, Sent};
use units::{BitRate, Bytes, Packets};

/// The least window, segments: with less nothing would ever be sent.
pub const MIN_SEGMENTS: u64 = 1;

/// A congestion control that follows its allocation.
#[derive(Clone, Debug)]
pub struct FollowAllocation {
    allocation: Allocation,
    mss: Bytes,
}

impl FollowAllocation {
    /// Starts with `initial_window` until the first allocation.
    pub fn new(mss: Bytes, initial_window: Bytes) -> Self {
        let allocation = Allocation {
            window: initial_window,
            pacing_rate: None,
        };
        Self { allocation, mss }
    }

    /// The window of a sender that counts in segments, rounded down, at most `max`.
    pub fn segments(&self, max: Packets) -> Packets {
        Packets::new(self.cwnd().get() / self.mss.get().max(1)).min(max)
    }
}

impl CongestionControl for FollowAllocation {
    fn name(&self) -> &'static str {
        "rapid-ran"
    }
    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        PacketStamp {
            first_sent_at: cx.now,
            sent_at: cx.now,
            ..PacketStamp::default()
        }
    }
    fn on_ack(&mut self, _cx: &mut Ctx<'_>, _ack: &AckSample) {}
    fn on_loss(&mut self, _cx: &mut Ctx<'_>, _loss: &LossSample) {}
    fn set_allocation(&mut self, cx: &mut Ctx<'_>, allocation: Allocation) {
        if allocation != self.allocation {
            cx.trace
                .event(cx.now, "allocation", allocation.window.get());
        }
        self.allocation = allocation;
    }
    fn cwnd(&self) -> Bytes {
        self.allocation.window.max(self.mss * MIN_SEGMENTS)
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        self.allocation.pacing_rate
    }
    fn governs_recovery(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_in_segments_is_what_one_in_bytes_lets_pass() {
        const MSS: u64 = 1448;
        for bytes in (0..20 * MSS).step_by(97).chain([2 * MSS - 1, 2 * MSS]) {
            let follow = FollowAllocation::new(Bytes::new(MSS), Bytes::new(bytes));
            let mut sent = 0;
            while Bytes::new((sent + 1) * MSS) <= follow.cwnd() {
                sent += 1;
            }
            let found = follow.segments(Packets::new(15));
            assert_eq!(found, Packets::new(sent.min(15)), "{bytes} B");
            assert!(sent >= MIN_SEGMENTS);
        }
    }
}
