//! Sequence numbers of one path and which packets are valid (RFC 4340 section 7.5).
//!
//! A packet that an attacker off the path made up would have to hit the windows of sequence and
//! acknowledgement numbers; one that does not is answered by a Sync, which requests the peer's
//! numbers, and is otherwise ignored.

use crate::packet::{Kind, Packet, ResetCode};
use crate::seq::SeqNo;

/// The sequence window before anything is negotiated (RFC 4340 7.5.2).
pub(super) const DEFAULT_WINDOW: u64 = 100;

/// What to do with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Validity {
    /// It is the peer's.
    Valid,
    /// Ignored, and a Sync is sent that acknowledges this number.
    NeedsSync(SeqNo),
    /// Ignored.
    Ignored,
}

/// Sequence numbers of one path at one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// ISS: the first number sent.
    iss: SeqNo,
    /// GSS: the greatest number sent.
    gss: SeqNo,
    /// ISR: the first number received, once there is one.
    isr: Option<SeqNo>,
    /// GSR: the greatest valid number received.
    gsr: SeqNo,
    /// GAR: the greatest valid acknowledgement number received.
    gar: SeqNo,
    /// Sequence window of the peer's packets (the peer's feature).
    pub(super) remote_window: u64,
    /// Sequence window of our own packets (our feature): how old an acknowledgement may be. Ours from the beginning, confirmed or
    /// not: an acknowledgement that is refused could be the one with the Confirm.
    pub(super) local_window: u64,
}

impl Numbers {
    /// Before the first packet, which will have the number `iss`; this end states `local_window`.
    pub(super) fn new(iss: SeqNo, local_window: u64) -> Self {
        Self {
            iss,
            gss: iss.sub(1),
            isr: None,
            gsr: SeqNo::default(),
            gar: iss.sub(1),
            remote_window: DEFAULT_WINDOW,
            local_window,
        }
    }

    /// The number of the packet that is sent now.
    pub(super) fn take(&mut self) -> SeqNo {
        self.gss = self.gss.next();
        self.gss
    }

    /// First number sent.
    pub(super) fn first_sent(&self) -> SeqNo {
        self.iss
    }

    /// Greatest number sent.
    pub(super) fn greatest_sent(&self) -> SeqNo {
        self.gss
    }

    /// Greatest number received, once there is one.
    pub(super) fn greatest_received(&self) -> Option<SeqNo> {
        self.isr.map(|_| self.gsr)
    }

    /// The peer's first packet.
    pub(super) fn begin(&mut self, isr: SeqNo) {
        self.isr = Some(isr);
        self.gsr = isr;
    }

    /// A valid packet was accepted.
    pub(super) fn accept(&mut self, packet: &Packet) {
        if self.isr.is_none() {
            return self.begin(packet.seq);
        }
        self.gsr = self.gsr.later(packet.seq);
        // the acknowledgement number of a Sync names the packet that caused it, not the greatest
        let is_sync = matches!(packet.kind, Kind::Sync { .. } | Kind::SyncAck { .. });
        if let Some(ack) = packet.kind.ack()
            && !is_sync
        {
            self.gar = self.gar.later(ack);
        }
    }

    /// The table of RFC 4340 7.5.3 and 7.5.4.
    pub(super) fn check(&self, packet: &Packet) -> Validity {
        let Some(isr) = self.isr else {
            return Validity::Ignored;
        };
        let (seq, ack) = (packet.seq, packet.kind.ack());
        let low = isr.later(self.gsr.next().sub(self.remote_window / 4));
        let high = self.gsr.add((3 * self.remote_window).div_ceil(4));
        let ack_low = self.iss.later(self.gss.next().sub(self.local_window));
        let within = |number: SeqNo, low: SeqNo, high: SeqNo| {
            !low.is_after(number) && !number.is_after(high)
        };
        let is_valid = match packet.kind {
            Kind::Request { .. } => false,
            Kind::Sync { .. } | Kind::SyncAck { .. } => {
                !low.is_after(seq) && ack.is_some_and(|ack| within(ack, ack_low, self.gss))
            }
            Kind::Close { .. } | Kind::CloseReq { .. } | Kind::Reset { .. } => {
                within(seq, self.gsr.next(), high)
                    && ack.is_some_and(|ack| within(ack, self.gar, self.gss))
            }
            _ => within(seq, low, high) && ack.is_none_or(|ack| within(ack, ack_low, self.gss)),
        };
        match packet.kind {
            _ if is_valid => Validity::Valid,
            // a Sync that is out of order gets no answer, or two ends could sync for ever
            Kind::Sync { .. } | Kind::SyncAck { .. } => Validity::Ignored,
            Kind::Reset { .. } => Validity::NeedsSync(self.gsr),
            _ => Validity::NeedsSync(seq),
        }
    }
}

/// The answer to a packet of no connection (RFC 4340 8.3.1): numbers as the sender of it expects.
pub fn reset_for(packet: &Packet, code: ResetCode) -> Option<Packet> {
    if matches!(packet.kind, Kind::Reset { .. }) {
        return None;
    }
    let seq = packet.kind.ack().map_or(SeqNo::default(), SeqNo::next);
    Some(Packet {
        source: packet.destination,
        destination: packet.source,
        ccval: 0,
        seq,
        kind: Kind::Reset {
            ack: packet.seq,
            code,
            data: [0; 3],
        },
        options: crate::packet::Options::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Options;

    fn packet(seq: u64, kind: Kind) -> Packet {
        Packet {
            source: 1,
            destination: 2,
            ccval: 0,
            seq: SeqNo::new(seq),
            kind,
            options: Options::default(),
        }
    }

    /// ISS 1000, 11 packets sent; the peer's first was 500, its last 510.
    fn numbers() -> Numbers {
        let mut numbers = Numbers::new(SeqNo::new(1_000), DEFAULT_WINDOW);
        (0..11).for_each(|_| {
            numbers.take();
        });
        numbers.begin(SeqNo::new(500));
        let ack = SeqNo::new(1_005);
        numbers.accept(&packet(510, Kind::Ack { ack }));
        numbers
    }

    fn check(seq: u64, kind: Kind) -> Validity {
        numbers().check(&packet(seq, kind))
    }

    /// RFC 4340 7.5.1: SWL = max(GSR + 1 - W/4, ISR), SWH = GSR + 3W/4, with W = 100.
    #[test]
    fn data_must_be_within_the_sequence_window() {
        assert_eq!(check(500, Kind::Data), Validity::Valid);
        assert_eq!(check(499, Kind::Data), Validity::NeedsSync(SeqNo::new(499)));
        assert_eq!(check(585, Kind::Data), Validity::Valid);
        assert_eq!(check(586, Kind::Data), Validity::NeedsSync(SeqNo::new(586)));
    }

    /// AWL = max(GSS + 1 - W', ISS), AWH = GSS.
    #[test]
    fn acknowledgements_must_be_of_what_was_sent() {
        let ack = |ack| {
            check(
                511,
                Kind::Ack {
                    ack: SeqNo::new(ack),
                },
            )
        };
        assert_eq!(ack(1_010), Validity::Valid);
        assert_eq!(ack(1_000), Validity::Valid);
        assert_eq!(ack(1_011), Validity::NeedsSync(SeqNo::new(511)));
        assert_eq!(ack(999), Validity::NeedsSync(SeqNo::new(511)));
    }

    /// 7.5.4: what would end the path must be newer than all else, and acknowledge recent packets.
    #[test]
    fn resets_and_closes_have_narrower_windows() {
        let reset = |seq, ack| {
            let (code, data) = (ResetCode::CLOSED, [0; 3]);
            let ack = SeqNo::new(ack);
            check(seq, Kind::Reset { ack, code, data })
        };
        assert_eq!(reset(511, 1_005), Validity::Valid);
        assert_eq!(reset(510, 1_005), Validity::NeedsSync(SeqNo::new(510)));
        assert_eq!(reset(511, 1_004), Validity::NeedsSync(SeqNo::new(510)));
        let close = |ack| {
            check(
                511,
                Kind::Close {
                    ack: SeqNo::new(ack),
                },
            )
        };
        assert_eq!(close(1_010), Validity::Valid);
        assert_eq!(close(1_011), Validity::NeedsSync(SeqNo::new(511)));
    }

    /// A Sync may be far ahead (that is what it is for), not behind, and never makes a Sync.
    #[test]
    fn syncs_may_leap() {
        let sync = |seq, ack| {
            check(
                seq,
                Kind::Sync {
                    ack: SeqNo::new(ack),
                },
            )
        };
        assert_eq!(sync(1 << 40, 1_010), Validity::Valid);
        assert_eq!(sync(400, 1_010), Validity::Ignored);
        assert_eq!(sync(511, 2_000), Validity::Ignored);
    }

    #[test]
    fn windows_wrap() {
        let last = (1 << 48) - 1;
        let mut numbers = Numbers::new(SeqNo::new(last), DEFAULT_WINDOW);
        assert_eq!(
            (numbers.take(), numbers.take()),
            (SeqNo::new(last), SeqNo::new(0))
        );
        numbers.begin(SeqNo::new(last));
        let ack = Kind::DataAck {
            ack: SeqNo::new(last),
        };
        assert_eq!(numbers.check(&packet(3, ack)), Validity::Valid);
        numbers.accept(&packet(3, ack));
        assert_eq!(numbers.greatest_received(), Some(SeqNo::new(3)));
    }

    /// 8.3.1: a Reset of no connection takes its numbers from what it answers, and answers no Reset.
    #[test]
    fn strangers_are_reset_with_their_own_numbers() {
        let ack = SeqNo::new(77);
        let reset = reset_for(&packet(5, Kind::Ack { ack }), ResetCode::NO_CONNECTION);
        let reset = reset.expect("an answer");
        assert_eq!(
            (reset.seq, reset.kind.ack()),
            (SeqNo::new(78), Some(SeqNo::new(5)))
        );
        assert_eq!((reset.source, reset.destination), (2, 1));
        assert_eq!(reset_for(&reset, ResetCode::NO_CONNECTION), None);
    }
}
