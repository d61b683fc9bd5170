//! What other threads request of the control thread.

use super::Core;
use crate::control::Snapshot;
use std::net::IpAddr;

impl Core {
    /// The state of the control thread.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        self.control.as_ref()?.snapshot()
    }

    /// Has what is learnt of a UE's flows noted with them. Where that is not answered less goes along as they move.
    pub(crate) fn note_learnt(&self, ue: IpAddr) {
        let noted = self.control.as_ref().map(|control| control.note_learnt(ue));
        if noted == Some(false) {
            tracing::debug!(%ue, "what is learnt of connections does not go along");
        }
    }
}
