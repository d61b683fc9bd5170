//! What a rate that radio reports set allows to be sent, for a transport whose pacer takes no rate.
//!
//! quinn calls a controller when something is acknowledged or sent. While the receiver holds acknowledgements back
//! nothing is, and a window would stand still. Reports go on coming, and after each of them the window
//! is what is in flight and the credit: what the rate has earned and was not sent, with what it will earn until a
//! report after the next could come.

use cc::CongestionControl;
use units::{Bytes, Instant};

/// Report periods whose credit is kept if it is not used.
const MAX_UNUSED_PERIODS: u64 = 2;
/// Report periods for which is sent ahead, so that there is credit until the next report even if it is late.
const PERIODS_AHEAD: u64 = 2;

/// The credit of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credit {
    /// Earned and not sent.
    unused: Bytes,
    /// Sent and not earned.
    ahead: Bytes,
    earned_until: Instant,
}

impl Credit {
    /// Time passes at the controller's rate.
    pub(crate) fn advance(&mut self, now: Instant, controller: &dyn CongestionControl) {
        let since = now.saturating_since(self.earned_until);
        let (Some(rate), Some(period)) = (controller.pacing_rate(), controller.report_period())
        else {
            *self = Self {
                earned_until: now,
                ..Self::default()
            };
            return;
        };
        let earned = rate.bytes_in(since);
        // what is less than a byte counts with what follows
        self.earned_until += (earned / rate).min(since);
        let paid = earned.min(self.ahead);
        self.ahead = self.ahead.saturating_sub(paid);
        self.unused = (self.unused + earned.saturating_sub(paid))
            .min(rate.bytes_in(period * MAX_UNUSED_PERIODS));
    }

    /// So much was sent.
    pub(crate) fn on_sent(&mut self, bytes: Bytes) {
        let used = bytes.min(self.unused);
        self.unused = self.unused.saturating_sub(used);
        self.ahead += bytes.saturating_sub(used);
    }

    /// What may be sent now, if reports set the rate.
    pub(crate) fn get(&self, controller: &dyn CongestionControl) -> Option<Bytes> {
        let (rate, period) = (controller.pacing_rate()?, controller.report_period()?);
        let ahead = rate.bytes_in(period * PERIODS_AHEAD);
        Some((self.unused + ahead).saturating_sub(self.ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cc::{AckSample, Ctx, LossSample, PacketStamp, Sent};
    use units::{BitRate, Duration};

    /// Paced at a byte a microsecond, by reports of that period or by something else.
    #[derive(Clone, Debug)]
    struct Paced(Option<Duration>);

    impl CongestionControl for Paced {
        fn name(&self) -> &'static str {
            "paced"
        }
        fn on_sent(&mut self, _: &mut Ctx<'_>, _: &Sent) -> PacketStamp {
            PacketStamp::default()
        }
        fn on_ack(&mut self, _: &mut Ctx<'_>, _: &AckSample) {}
        fn on_loss(&mut self, _: &mut Ctx<'_>, _: &LossSample) {}
        fn cwnd(&self) -> Bytes {
            Bytes::MAX
        }
        fn pacing_rate(&self) -> Option<BitRate> {
            Some(BitRate::from_mbps(8))
        }
        fn report_period(&self) -> Option<Duration> {
            self.0
        }
    }

    const PACED: Paced = Paced(Some(Duration::from_micros(8_000)));

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn what_is_sent_in_the_long_run_is_what_the_rate_earns() {
        let mut credit = Credit::default();
        let mut sent = 0;
        // looked at unevenly, everything that may be sent is
        for us in (0..1_000_000).step_by(700).chain([1_000_000]) {
            credit.advance(at(us), &PACED);
            let allowed = credit.get(&PACED).expect("paced by reports");
            credit.on_sent(allowed);
            sent += allowed.get();
        }
        // with what is sent ahead of two periods
        assert_eq!(sent, 1_000_000 + 16_000);
    }

    #[test]
    fn of_what_is_not_used_two_periods_are_kept() {
        let mut credit = Credit::default();
        credit.advance(at(10_000), &PACED);
        assert_eq!(credit.get(&PACED), Some(Bytes::new(10_000 + 16_000)));
        credit.advance(at(900_000), &PACED);
        assert_eq!(credit.get(&PACED), Some(Bytes::new(16_000 + 16_000)));
    }

    #[test]
    fn parts_of_a_byte_count_with_what_follows() {
        let mut credit = Credit::default();
        for tenth in 0..=100 {
            credit.advance(Instant::from_nanos(tenth * 100), &PACED);
        }
        assert_eq!(credit.get(&PACED), Some(Bytes::new(10 + 16_000)));
    }

    #[test]
    fn without_reports_there_is_none_and_nothing_is_kept() {
        let mut credit = Credit::default();
        credit.advance(at(10_000), &PACED);
        credit.on_sent(Bytes::new(90_000));
        credit.advance(at(20_000), &Paced(None));
        assert_eq!(credit.get(&Paced(None)), None);
        credit.advance(at(20_000), &PACED);
        assert_eq!(credit.get(&PACED), Some(Bytes::new(16_000)));
    }
}
