//! Control options of a connection: what waits to be told to the peer.

use super::Tunnel;
use crate::packet::{DccpOption, MpOption, Options};
use crate::seq::MpSeq;
use crate::{PathId, Payload};
use units::Instant;

impl<P: Payload> Tunnel<P> {
    /// The peer is to be told.
    pub(super) fn signal(&mut self, path: PathId, option: MpOption) {
        if let (MpOption::Priority(_), Some(path)) = (option, self.path_mut(path)) {
            path.untold_priority = true;
        }
    }

    /// Something waits to be told on that path.
    pub(super) fn has_signals(&self, index: usize) -> bool {
        self.paths[index].untold_priority
    }

    /// Puts what waits on a packet. True if there was anything.
    pub(super) fn attach(&mut self, now: Instant, index: usize, options: &mut Options) -> bool {
        let _ = now;
        let path = &mut self.paths[index];
        let has = core::mem::take(&mut path.untold_priority);
        if has {
            let priority = MpOption::Priority(path.config.priority);
            options.list.push(DccpOption::Multipath(priority));
        }
        has
    }

    /// A control option of the peer.
    pub(super) fn on_signal(
        &mut self,
        now: Instant,
        index: usize,
        mp_seq: Option<MpSeq>,
        option: &MpOption,
        next: Option<&&DccpOption>,
    ) {
        let _ = (now, mp_seq, next);
        if let MpOption::Priority(priority) = option {
            self.on_priority(index, *priority);
        }
    }
}
