//! Partial reliability: what a path has lost goes to the scheduler again, while it can be in time.

use super::Tunnel;
use super::path::Queued;
use crate::Payload;
use crate::path::AckOutcome;
use crate::scheduler::PathSet;
use units::{Bytes, Duration, Instant};

impl<P: Payload> Tunnel<P> {
    /// A packet goes to these paths. Streams lose nothing: what one of them carries is not kept.
    pub(super) fn keep_copy(&mut self, now: Instant, queued: &Queued<P>, chosen: PathSet) {
        let Some(kept) = &mut self.kept else { return };
        let is_on_stream = |id: crate::PathId| self.paths[usize::from(id.0)].is_stream();
        if chosen.iter().any(is_on_stream) {
            return kept.on_arrived(queued.mp_seq);
        }
        let bytes = Bytes::new(queued.payload.len() as u64);
        let copies = chosen.iter().count() as u32;
        kept.keep(now, queued.mp_seq, &queued.payload, bytes, copies);
    }

    /// What an acknowledgement or a timer has shown: what has arrived is discarded, what was lost
    /// waits for a path again.
    pub(super) fn repeat_lost(&mut self, now: Instant, outcome: &AckOutcome) {
        let Some(kept) = &mut self.kept else { return };
        for info in outcome.acked.iter().chain(&outcome.late) {
            if let Some(mp_seq) = info.mp_seq.filter(|_| info.is_data) {
                kept.on_arrived(mp_seq);
            }
        }
        if outcome.lost.is_empty() {
            return;
        }
        let open = self.paths.iter().filter(|path| path.is_usable());
        let one_way_delay = open
            .filter_map(|path| path.srtt())
            .min()
            .map_or(Duration::ZERO, |srtt| srtt / 2);
        for info in &outcome.lost {
            let Some(mp_seq) = info.mp_seq.filter(|_| info.is_data) else {
                continue;
            };
            if !kept.has(mp_seq) && self.latency.is_some() {
                continue; // latency-sensitive ones are kept elsewhere
            }
            if let Some(payload) = kept.on_lost(now, mp_seq, one_way_delay) {
                self.again.push_back(Queued {
                    mp_seq,
                    payload,
                    is_repeated: true,
                    is_urgent: false,
                    parity_of: None,
                });
            }
        }
    }
}
