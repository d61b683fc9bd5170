//! What compact packets are read against ([`crate::packet::Compact`]), and where the numbers of the connection begin.

use super::Tunnel;
use crate::packet::{Compact, Packet, Reference};
use crate::seq::{MpSeq, SeqNo};
use crate::{PathId, Payload};

impl<P: Payload> Tunnel<P> {
    /// The packet that a compact one stands for, which has come on that path; none if no packet has come on it before.
    pub fn expand(&self, path: PathId, compact: Compact) -> Option<Packet> {
        let path = self.paths.get(usize::from(path.0))?;
        let (own, peer) = path.ports;
        Some(compact.expand(&Reference {
            ports: (peer, own),
            seq: path.numbers.greatest_received()?,
            mp_seq: self.latest_mp_seq,
        }))
    }

    /// The connection begins with this path: its numbers, in each direction, with the number of that end's first packet.
    /// Nothing has such a number yet.
    pub(super) fn begin_numbers(&mut self, index: usize, peer: SeqNo) {
        if self.config.is_compact {
            let own = self.paths[index].numbers.first_sent();
            self.next_mp_seq = MpSeq::new(own.get());
            self.latest_mp_seq = MpSeq::new(peer.get());
        }
    }

    /// A number of the connection has come.
    pub(super) fn note_number(&mut self, mp_seq: MpSeq) {
        self.latest_mp_seq = self.latest_mp_seq.later(mp_seq);
    }
}
