//! What the receiver reports marks: RFC 3168 6.1.3, RFC 8257 3.2.
//!
//! | echo | rule |
//! | --- | --- |
//! | until reduced | from a marked segment on all acknowledgements have ECE, until one has CWR; a segment with both begins anew |
//! | of each segment | ECE is set if the last segment was marked; where that changes, what came before is acknowledged by itself |
//!
//! Repeated data is not ECN-capable (RFC 3168 6.1.5) and states nothing of marks. What does not lie in
//! the window is not looked at, so that no outsider can slow a connection down.

use super::super::config::EcnEcho;
use queue::Ecn;

/// What a segment changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing.
    None,
    /// The peer is notified without delay.
    Notable,
    /// The peer is notified without delay, and by a separate acknowledgement of what came before.
    Turned,
}

/// The state of RFC 3168's or RFC 8257's receiver.
#[derive(Debug, Default)]
pub(super) struct Echo {
    /// None: ECN is not in use.
    kind: Option<EcnEcho>,
    /// Acknowledgements have ECE (DCTCP.CE of RFC 8257).
    is_set: bool,
    marks: u64,
}

impl Echo {
    /// ECN is in use from now on.
    pub(super) fn begin(&mut self, kind: EcnEcho) {
        self.kind = Some(kind);
    }

    /// Data arrived in the window.
    pub(super) fn on_data(&mut self, ecn: Ecn, has_reduced: bool) -> Change {
        let Some(kind) = self.kind else {
            return Change::None;
        };
        let is_marked = ecn == Ecn::Ce;
        self.marks += u64::from(is_marked);
        let before = self.is_set;
        match kind {
            EcnEcho::UntilReduced => {
                self.is_set = is_marked || (before && !has_reduced);
                // Linux: a sender that has reduced may have a window of one segment
                if self.is_set != before || has_reduced {
                    return Change::Notable;
                }
            }
            EcnEcho::EachSegment if ecn != Ecn::NotEct => {
                self.is_set = is_marked;
                if self.is_set != before {
                    return Change::Turned;
                }
            }
            // `Counters` is what reports them
            EcnEcho::EachSegment | EcnEcho::Accurate => {}
        }
        Change::None
    }

    /// Whether acknowledgements have ECE.
    pub(super) fn is_set(&self) -> bool {
        self.is_set
    }
    /// Marked segments so far.
    pub(super) fn marks(&self) -> u64 {
        self.marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(kind: EcnEcho) -> Echo {
        let mut echo = Echo::default();
        echo.begin(kind);
        echo
    }

    #[test]
    fn rfc_3168_6_1_3_ece_stands_until_cwr() {
        let mut echo = echo(EcnEcho::UntilReduced);
        let mut seen = Vec::new();
        for (ecn, has_reduced) in [
            (Ecn::Ect0, false),
            (Ecn::Ce, false),
            (Ecn::Ect0, false),
            (Ecn::Ce, false),
            (Ecn::Ect0, true),
            (Ecn::Ect0, false),
            (Ecn::Ce, true),
            (Ecn::NotEct, false),
        ] {
            let change = echo.on_data(ecn, has_reduced);
            seen.push((echo.is_set(), change == Change::Notable));
        }
        let expected = [
            (false, false),
            (true, true),
            (true, false),
            (true, false),
            (false, true),
            (false, false),
            (true, true), // CWR and CE in one: marked again since
            (true, false),
        ];
        assert_eq!((&*seen, echo.marks()), (&expected[..], 3));
    }

    #[test]
    fn rfc_8257_3_2_the_two_states() {
        let mut echo = echo(EcnEcho::EachSegment);
        let mut turn = |ecn| (echo.on_data(ecn, false) == Change::Turned, echo.is_set());
        assert_eq!(turn(Ecn::Ect1), (false, false));
        assert_eq!(turn(Ecn::Ce), (true, true));
        assert_eq!(turn(Ecn::Ce), (false, true));
        assert_eq!(turn(Ecn::NotEct), (false, true), "a repeat changes nothing");
        assert_eq!(turn(Ecn::Ect1), (true, false));
    }

    #[test]
    fn without_ecn_marks_mean_nothing() {
        let mut echo = Echo::default();
        assert_eq!(echo.on_data(Ecn::Ce, false), Change::None);
        assert_eq!((echo.is_set(), echo.marks()), (false, 0));
    }
}
