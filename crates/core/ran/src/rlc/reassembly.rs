//! The receiving side that acknowledged and unacknowledged mode share (TS 38.322 5.2.2.2, 5.2.3.2).
//!
//! In terms of the byte stream: `contiguous` is the end of what has been received without a gap
//! (RX_Next), `highest` the end of the last byte received (RX_Next_Highest), `trigger` the value of
//! `highest` when t-Reassembly was started (RX_Next_Status_Trigger, RX_Timer_Trigger).

use super::span::{Span, SpanSet};
use units::{Duration, Instant};

/// What has been received of a byte stream.
#[derive(Clone, Debug)]
pub(crate) struct Reassembly {
    t_reassembly: Duration,
    contiguous: u64,
    highest: u64,
    /// Received after a gap; all of it lies beyond `contiguous`.
    beyond: SpanSet,
    /// t-Reassembly, while it runs.
    expires_at: Option<Instant>,
    trigger: u64,
}

impl Reassembly {
    pub(crate) fn new(t_reassembly: Duration) -> Self {
        Self {
            t_reassembly,
            contiguous: 0,
            highest: 0,
            beyond: SpanSet::default(),
            expires_at: None,
            trigger: 0,
        }
    }
    /// The same with nothing received yet.
    pub(crate) fn anew(&self) -> Self {
        Self::new(self.t_reassembly)
    }
    pub(crate) fn contiguous(&self) -> u64 {
        self.contiguous
    }
    pub(crate) fn expires_at(&self) -> Option<Instant> {
        self.expires_at
    }

    /// Whether a span is the next in order and nothing waits behind it.
    pub(crate) fn continues_with(&self, span: Span) -> bool {
        span.start == self.contiguous && self.beyond.is_empty()
    }

    /// A span has come; how many bytes of it were there already.
    pub(crate) fn receive(&mut self, span: Span) -> u64 {
        self.highest = self.highest.max(span.end);
        if self.continues_with(span) {
            self.contiguous = span.end;
            return 0;
        }
        let start = span.start.max(self.contiguous);
        let fresh = self.beyond.insert(Span::new(start, span.end.max(start)));
        self.advance();
        span.len() - fresh
    }
    /// Moves `contiguous` over what lies behind it.
    fn advance(&mut self) {
        if let Some(first) = self.beyond.first()
            && first.start <= self.contiguous
        {
            self.contiguous = first.end;
            self.beyond.remove_before(first.end);
        }
    }

    /// Stops t-Reassembly if what it waited for has come, and starts it if there is another gap;
    /// when it ends, if it was started.
    pub(crate) fn update_timer(&mut self, now: Instant) -> Option<Instant> {
        if self.expires_at.is_some() && self.contiguous >= self.trigger {
            self.expires_at = None;
        }
        if self.expires_at.is_none() && !self.beyond.is_empty() {
            self.trigger = self.highest;
            self.expires_at = Some(now + self.t_reassembly);
            return self.expires_at;
        }
        None
    }
    /// t-Reassembly has expired: the first missing byte from the trigger on. All that is missing
    /// before it is held for lost.
    pub(crate) fn expire(&mut self) -> u64 {
        self.expires_at = None;
        let spans = self.beyond.spans();
        let at = spans.partition_point(|s| s.end < self.trigger);
        let holding = spans.get(at).filter(|s| s.start <= self.trigger);
        holding.map_or(self.trigger, |s| s.end).max(self.contiguous)
    }
    /// Goes on at `mark` whatever is missing before it (unacknowledged mode).
    pub(crate) fn skip_to(&mut self, mark: u64) {
        self.contiguous = self.contiguous.max(mark);
        self.beyond.remove_before(self.contiguous);
        self.advance();
    }
    /// Whether all of `span` has been received (or skipped).
    pub(crate) fn has(&self, span: Span) -> bool {
        span.end <= self.contiguous
            || self
                .beyond
                .covers(Span::new(span.start.max(self.contiguous), span.end))
    }
    /// The gaps before `mark`, in ascending order.
    pub(crate) fn gaps_before(&self, mark: u64) -> impl Iterator<Item = Span> + '_ {
        let starts =
            core::iter::once(self.contiguous).chain(self.beyond.spans().iter().map(|s| s.end));
        let ends = self
            .beyond
            .spans()
            .iter()
            .map(|s| s.start)
            .chain(core::iter::once(mark));
        starts
            .zip(ends)
            .map(move |(start, end)| Span::new(start, end.min(mark).max(start)))
            .take_while(move |gap| gap.start < mark)
            .filter(|gap| gap.len() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Duration = Duration::from_millis(5);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn in_order_needs_no_timer() {
        let mut rx = Reassembly::new(T);
        assert_eq!(rx.receive(Span::new(0, 10)), 0);
        assert_eq!(rx.receive(Span::new(10, 30)), 0);
        assert_eq!((rx.contiguous(), rx.update_timer(at(0))), (30, None));
        assert_eq!(rx.receive(Span::new(5, 35)), 25);
        assert_eq!(rx.contiguous(), 35);
    }

    #[test]
    fn timer_runs_while_the_gap_that_started_it_is_open() {
        let mut rx = Reassembly::new(T);
        rx.receive(Span::new(10, 20));
        assert_eq!(rx.update_timer(at(0)), Some(at(5)));
        rx.receive(Span::new(30, 40));
        assert_eq!(rx.update_timer(at(1)), None);
        // the first gap closes; the second starts a timer of its own
        rx.receive(Span::new(0, 10));
        assert_eq!(rx.update_timer(at(2)), Some(at(7)));
        assert_eq!(rx.contiguous(), 20);
        rx.receive(Span::new(20, 30));
        assert_eq!((rx.update_timer(at(3)), rx.expires_at()), (None, None));
    }

    #[test]
    fn expiry_marks_the_first_missing_byte_from_the_trigger_on() {
        let mut rx = Reassembly::new(T);
        rx.receive(Span::new(10, 20));
        rx.update_timer(at(0));
        rx.receive(Span::new(20, 25));
        rx.receive(Span::new(40, 50));
        assert_eq!(rx.expire(), 25);
        let gaps: Vec<Span> = rx.gaps_before(25).collect();
        assert_eq!(gaps, [Span::new(0, 10)]);
        assert!(rx.has(Span::new(12, 22)) && !rx.has(Span::new(5, 12)));
        let gaps: Vec<Span> = rx.gaps_before(45).collect();
        assert_eq!(gaps, [Span::new(0, 10), Span::new(25, 40)]);
        rx.skip_to(25);
        assert_eq!(rx.contiguous(), 25);
        rx.skip_to(40);
        assert_eq!(rx.contiguous(), 50);
    }
}
