//! The receiver's counters, when they are reported and how.

use super::option::{AccEcnOption, ByteCounts, FieldOrder};
use super::{Ace, INITIAL_CEP};
use queue::Ecn;

/// Marks since the last acknowledgement that cause another while data waits to be acknowledged (3.2.2.5.1).
const INCREMENT: u32 = 2;
/// The same while none waits: marked acknowledgements must not answer each other for ever.
const INCREMENT_WITHOUT_DATA: u32 = 3;

/// What arrived, and what of it has been reported.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Counters {
    /// r.cep: marked packets, and 5.
    cep: u64,
    /// r.e0b, r.ceb, r.e1b.
    bytes: ByteCounts,
    /// The last packet was marked.
    was_marked: bool,
    /// Marked packets since the last acknowledgement.
    unreported: u32,
    /// `bytes` as the last option that left had them.
    reported: ByteCounts,
    /// The codepoint of a SYN-ACK, which the next pure acknowledgement reports.
    syn_ack: Option<Ecn>,
    /// An option is due although nothing has come: the path is to be tested with it (3.2.3.2.1).
    is_test_due: bool,
}

impl Counters {
    /// Those of a server, or with the codepoint of the SYN-ACK those of a client.
    pub(in crate::tcp) fn new(syn_ack: Option<Ecn>) -> Self {
        let mut counters = Self {
            cep: INITIAL_CEP,
            bytes: ByteCounts::INITIAL,
            was_marked: false,
            unreported: 0,
            reported: ByteCounts::INITIAL,
            syn_ack: None,
            // a server's test is on the SYN-ACK
            is_test_due: syn_ack.is_some(),
        };
        if let Some(ecn) = syn_ack {
            counters.on_syn_ack(ecn);
        }
        counters
    }

    /// A SYN-ACK arrived, for the first time or again (3.2.2.2: marks count once).
    pub(in crate::tcp) fn on_syn_ack(&mut self, ecn: Ecn) {
        self.syn_ack = Some(ecn);
        if ecn == Ecn::Ce && self.cep == INITIAL_CEP {
            self.cep += 1;
        }
    }

    /// An acceptable packet arrived. `waits`: data waits to be acknowledged. True if the peer is to be
    /// notified without delay: by the first mark after something else, and by each second.
    pub(in crate::tcp) fn on_packet(&mut self, ecn: Ecn, payload: u64, waits: bool) -> bool {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.bytes.e0b += payload,
            Ecn::Ect1 => self.bytes.e1b += payload,
            Ecn::Ce => {
                self.bytes.ceb += payload;
                self.cep += 1;
                self.unreported += 1;
            }
        }
        let is_marked = ecn == Ecn::Ce;
        let is_change = is_marked && !self.was_marked && payload > 0;
        self.was_marked = is_marked;
        let increment = if waits {
            INCREMENT
        } else {
            INCREMENT_WITHOUT_DATA
        };
        is_change || (is_marked && self.unreported >= increment)
    }

    /// A pure acknowledgement must leave before anything else: it is to report the SYN-ACK (3.2.2.1).
    pub(in crate::tcp) fn must_report_handshake(&self) -> bool {
        self.syn_ack.is_some()
    }

    /// The field of a segment that leaves. `is_plain`: it has neither payload nor SACK blocks.
    pub(in crate::tcp) fn ace(&mut self, is_plain: bool) -> Ace {
        self.unreported = 0;
        match self.syn_ack.take_if(|_| is_plain) {
            Some(ecn) => Ace::of_handshake(ecn),
            None => Ace::of_count(self.cep),
        }
    }

    /// The option of an acknowledgement that leaves, with `room` bytes for it, if a counter has changed
    /// since the last: all that have ever changed or, without room, those that have since; else none.
    pub(in crate::tcp) fn option(&mut self, room: usize) -> Option<AccEcnOption> {
        let initial = ByteCounts::INITIAL;
        let order = match (self.bytes.e1b != initial.e1b, self.bytes.e0b != initial.e0b) {
            (false, true) => FieldOrder::Ect0First,
            _ => FieldOrder::Ect1First,
        };
        // fields that differ from those of then, from the first to the last of them
        let since = |then: ByteCounts| {
            let pairs = self.bytes.fields(order).into_iter().zip(then.fields(order));
            pairs.rev().skip_while(|(now, then)| now == then).count()
        };
        let needed = if self.is_test_due {
            3
        } else {
            since(self.reported)
        };
        if needed == 0 {
            return None;
        }
        let option = [since(initial).max(needed), needed]
            .into_iter()
            .map(|count| AccEcnOption::new(order, self.bytes, count))
            .find(|option| option.wire_len() <= room)?;
        self.is_test_due = false;
        self.reported = self.bytes;
        Some(option)
    }

    /// The option of a SYN-ACK.
    pub(in crate::tcp) fn syn_ack_option(&self) -> AccEcnOption {
        AccEcnOption::new(FieldOrder::Ect1First, ByteCounts::INITIAL, 3)
    }

    /// Marked packets so far, SYN-ACKs included.
    pub(in crate::tcp) fn marks(&self) -> u64 {
        self.cep - INITIAL_CEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 12;

    fn open() -> Counters {
        Counters::new(None)
    }

    #[test]
    fn rfc_9768_3_2_1_initial_values() {
        assert_eq!(open().ace(true), Ace::of_count(5));
        let initial = [Some(1), Some(0), Some(1)];
        assert_eq!(open().syn_ack_option().counts(), initial);
        let mut counters = Counters::new(Some(Ecn::NotEct));
        let test = counters.option(ROOM).expect("a test of the path");
        assert_eq!(test.counts(), initial);
        assert_eq!(counters.option(ROOM), None, "once");
    }

    #[test]
    fn rfc_9768_3_2_2_2_a_marked_syn_ack_counts_once() {
        let mut counters = Counters::new(Some(Ecn::Ce));
        assert_eq!(counters.ace(false), Ace::of_count(6), "with data");
        assert!(counters.must_report_handshake());
        assert_eq!(counters.ace(true), Ace::of_handshake(Ecn::Ce));
        assert_eq!(counters.ace(true), Ace::of_count(6));
        counters.on_syn_ack(Ecn::Ce);
        assert_eq!(counters.ace(true), Ace::of_handshake(Ecn::Ce));
        assert_eq!(
            (counters.ace(true), counters.marks()),
            (Ace::of_count(6), 1)
        );
    }

    #[test]
    fn rfc_9768_3_2_2_5_1_a_change_and_each_second_mark_are_acknowledged() {
        let mut counters = open();
        let mut due = |ecn| counters.on_packet(ecn, 1_000, true);
        let seen = [
            due(Ecn::Ect1),
            due(Ecn::Ce),
            due(Ecn::Ce),
            due(Ecn::Ce),
            due(Ecn::Ect1),
            due(Ecn::Ce),
        ];
        assert_eq!(seen, [false, true, true, true, false, true]);
        // with an acknowledgement after each that was due
        let mut counters = open();
        let mut seen = Vec::new();
        for _ in 0..5 {
            let is_due = counters.on_packet(Ecn::Ce, 1_000, true);
            seen.push(is_due);
            if is_due {
                counters.ace(true);
            }
        }
        assert_eq!(seen, [true, false, true, false, true]);
    }

    #[test]
    fn rfc_9768_3_2_2_5_1_without_data_each_third_mark() {
        let mut counters = open();
        let seen: Vec<bool> = (0..4)
            .map(|_| counters.on_packet(Ecn::Ce, 0, false))
            .collect();
        assert_eq!(seen, [false, false, true, true]);
        assert_eq!(counters.ace(true), Ace::of_count(9));
    }

    /// The two examples of 3.2.3.3, with ECT(1) for ECT(0).
    #[test]
    fn rfc_9768_3_2_3_3_the_option_has_what_has_ever_changed() {
        let mut counters = open();
        assert_eq!(counters.option(ROOM), None);
        counters.on_packet(Ecn::Ect1, 1_000, true);
        let option = counters.option(ROOM).expect("a change");
        assert_eq!(option.counts(), [None, None, Some(1_001)]);
        counters.on_packet(Ecn::Ce, 500, true);
        let option = counters.option(ROOM).expect("a change");
        assert_eq!(option.counts(), [None, Some(500), Some(1_001)]);
        counters.on_packet(Ecn::Ect1, 1_000, true);
        let option = counters.option(ROOM).expect("a change");
        assert_eq!(option.counts(), [None, Some(500), Some(2_001)]);
        assert_eq!(counters.option(ROOM), None, "nothing since");
        let mut of_ect0 = open();
        of_ect0.on_packet(Ecn::Ect0, 100, true);
        let option = of_ect0.option(ROOM).expect("a change");
        assert_eq!(option.counts(), [Some(101), None, None]);
    }

    #[test]
    fn rfc_9768_3_2_3_3_without_room_it_has_what_is_needed_or_is_left_out() {
        let mut counters = open();
        counters.on_packet(Ecn::Ect1, 1_000, true);
        counters.on_packet(Ecn::Ce, 1_000, true);
        assert_eq!(
            counters.option(7),
            None,
            "ECEB has changed and does not fit"
        );
        let option = counters.option(8).expect("room for two");
        assert_eq!(option.wire_len(), 8);
        counters.on_packet(Ecn::Ect1, 1_000, true);
        let option = counters.option(5).expect("room for one");
        assert_eq!(option.counts(), [None, None, Some(2_001)]);
    }

    #[test]
    fn packets_that_are_not_ecn_capable_change_nothing() {
        let mut counters = open();
        assert!(!counters.on_packet(Ecn::NotEct, 1_000, true));
        assert_eq!((counters.option(ROOM), counters.marks()), (None, 0));
    }
}
