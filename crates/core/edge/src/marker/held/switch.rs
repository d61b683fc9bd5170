//! Whether a UE is held: whether its radio is its bottleneck now.
//!
//! ```text
//!   free -> held:  its queue in the base station has taken more than max(2 slots, 2 ms) + w for 4 ms
//!   held -> free:  nothing has waited at the edge, and no such queue was reported, for 200 ms
//! ```
//! w: what waits of the flows of the proxy, 20 ms at most. Without such a queue the window ([`super::ByteWindow`]) is open, and
//! being held would change nothing; with it, what waits in the base station would wait at the edge.

use rapid::Unsplit;
use units::{Duration, Instant};

/// Slots that the base station's queue may take at least.
const MIN_SLOTS: u64 = 2;
/// What it may take at least.
const MIN_QUEUE: Duration = Duration::from_millis(2);
/// What waits of the flows of the proxy counts so much at the most.
const MAX_OWN_WAIT: Duration = Duration::from_millis(20);
/// For so long it has to take more.
const LONG_FOR: Duration = Duration::from_millis(4);
/// After so long without anything that waits it is free.
const IDLE_FOR: Duration = Duration::from_millis(200);

/// Of one UE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    is_held: bool,
    /// By the reports, since then.
    long_since: Option<Instant>,
    /// Something waited last, here or there.
    waited_at: Instant,
}

/// Whether what waits in the base station takes longer than a window lets it.
fn is_long(unsplit: &Unsplit, slot: Duration) -> bool {
    if unsplit.share.is_zero() {
        // the window of a radio without a rate is open
        return false;
    }
    let least = (slot * MIN_SLOTS).max(MIN_QUEUE) + unsplit.own_wait.min(MAX_OWN_WAIT);
    unsplit.queue / unsplit.share > least
}

impl Switch {
    /// It is held.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// A report came at `now`, of a cell with slots of that duration. True if the UE is held from now on.
    pub fn on_report(&mut self, now: Instant, unsplit: &Unsplit, slot: Duration) -> bool {
        if !is_long(unsplit, slot) {
            self.long_since = None;
            return false;
        }
        self.waited_at = self.waited_at.max(now);
        let since = *self.long_since.get_or_insert(unsplit.reported_at);
        let lasts = unsplit.reported_at.saturating_since(since);
        lasts >= LONG_FOR && self.hold()
    }

    /// Something of it waits at the edge. True if it is held from now on: it was about to be free.
    pub fn on_waiting(&mut self, now: Instant) -> bool {
        self.waited_at = self.waited_at.max(now);
        self.hold()
    }

    fn hold(&mut self) -> bool {
        !std::mem::replace(&mut self.is_held, true)
    }

    /// Time has passed. True if it is free from now on.
    pub fn on_time(&mut self, now: Instant) -> bool {
        let is_idle = now.saturating_since(self.waited_at) >= IDLE_FOR;
        self.is_held && is_idle && std::mem::replace(&mut self.is_held, false)
    }
}
