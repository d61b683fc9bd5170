//! The target's side of forwarding (TS 36.300 10.1.2.1.2 and 10.1.2.2, TS 38.300 9.2.3.2.3).
//!
//! What the source forwards goes to the UE before anything that comes by the new path; the End Marker shows that no more is
//! forwarded. Until the UE has come, all wait.

use std::collections::VecDeque;

/// What waits at the target of one UE's handover.
#[derive(Clone, Debug)]
pub struct TargetBuffer<P> {
    forwarded: VecDeque<P>,
    fresh: VecDeque<P>,
    has_ue: bool,
    has_end: bool,
}

impl<P> Default for TargetBuffer<P> {
    fn default() -> Self {
        Self {
            forwarded: VecDeque::new(),
            fresh: VecDeque::new(),
            has_ue: false,
            has_end: false,
        }
    }
}

impl<P> TargetBuffer<P> {
    /// The source has forwarded this.
    pub fn on_forwarded(&mut self, packet: P) {
        self.forwarded.push_back(packet);
    }

    /// This has come by the new path.
    pub fn on_fresh(&mut self, packet: P) {
        self.fresh.push_back(packet);
    }

    /// The UE has come.
    pub fn on_access(&mut self) {
        self.has_ue = true;
    }

    /// The End Marker has come.
    pub fn on_end_marker(&mut self) {
        self.has_end = true;
    }

    /// The next packet that may be sent to the UE.
    pub fn poll(&mut self) -> Option<P> {
        if !self.has_ue {
            return None;
        }
        let forwarded = self.forwarded.pop_front();
        if forwarded.is_some() || !self.has_end {
            return forwarded;
        }
        self.fresh.pop_front()
    }

    /// How many packets wait.
    pub fn len(&self) -> usize {
        self.forwarded.len() + self.fresh.len()
    }

    /// True if none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_path_waits_for_the_end_marker_and_all_for_the_ue() {
        let mut target = TargetBuffer::default();
        target.on_forwarded(1);
        target.on_fresh(9);
        assert_eq!(target.poll(), None, "no UE yet");
        target.on_access();
        assert_eq!(target.poll(), Some(1));
        assert_eq!(target.poll(), None, "more may be forwarded");
        target.on_forwarded(2);
        target.on_end_marker();
        target.on_fresh(10);
        let rest: Vec<_> = core::iter::from_fn(|| target.poll()).collect();
        assert_eq!(rest, [2, 9, 10]);
        assert!(target.is_empty());
    }
}
