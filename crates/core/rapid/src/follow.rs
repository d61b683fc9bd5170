//! TCP_RAN: the congestion control between proxy and UE (section 3.2 of the paper).
//!
//! Its cwnd is the window that the allocator sets, whatever is lost: losses on the radio are
//! repaired by retransmission without slowing down.

use cc::{AckSample, Allocation, CongestionControl, Ctx, LossSample, PacketStamp, Sent};
use units::{BitRate, Bytes};

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
        self.allocation.window.max(self.mss)
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        self.allocation.pacing_rate
    }
    fn governs_recovery(&self) -> bool {
        true
    }
}
