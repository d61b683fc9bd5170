//! What is learnt of a flow, as it goes to another proxy or comes from one.

use super::Flow;
use crate::registry::lock;
use units::Duration;

impl Flow {
    /// What another proxy goes on with.
    pub(crate) fn learnt(&self) -> edge::Learnt {
        let rtt = &self.meters.wan_rtt;
        edge::Learnt {
            window: self.window.decided(),
            min_rtt: rtt.min(),
            smoothed_rtt: rtt.smoothed(),
            flow: self.learnt_by_allocator(),
        }
    }

    /// Goes on with what another proxy has learnt; with its window, where one is decided here too: until then, or until the
    /// flow is let go.
    pub(crate) fn learn(&self, learnt: &edge::Learnt, is_decided: bool) {
        let micros = |rtt: Option<Duration>| {
            let rtt = rtt.map_or(0, |rtt| rtt.as_nanos() / 1_000);
            u32::try_from(rtt).unwrap_or(0)
        };
        let rtt = &self.meters.wan_rtt;
        rtt.set(micros(learnt.smoothed_rtt), micros(learnt.min_rtt));
        *lock(&self.learnt) = learnt.flow.map(Box::new);
        if let Some(window) = learnt.window.filter(|_| is_decided) {
            self.window.decide(window);
            self.show_window();
        }
    }

    /// An allocator has learnt this.
    pub(crate) fn note_learnt(&self, learnt: rapid::Learnt) {
        *lock(&self.learnt) = Some(Box::new(learnt));
    }

    /// What an allocator has learnt, as it was noted last.
    pub(crate) fn learnt_by_allocator(&self) -> Option<rapid::Learnt> {
        lock(&self.learnt).as_deref().copied()
    }
}
