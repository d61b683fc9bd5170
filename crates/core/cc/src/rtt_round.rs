//! The minimum round-trip times of a connection and of each round, from which delay-based controllers
//! find how much of the window lies in a queue.
//!
//! Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet"
//! (1995), congestion avoidance mechanism: BaseRTT, Expected, Actual, Diff; the sampling is that of
//! Linux `tcp_vegas_pkts_acked`. Windows in bytes, times in nanoseconds.

use crate::AckSample;
use units::{Bytes, Duration};

/// Samples that a round must exceed to be judged: fewer may all come from delayed acknowledgements
/// (Linux `tcp_vegas_cong_avoid`).
const TOO_FEW_SAMPLES: u32 = 2;

/// The delay of a path, without and with its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathDelay {
    /// BaseRTT: the least ever measured; > 0.
    pub(crate) base_rtt: Duration,
    /// The least of the round; >= `base_rtt`.
    pub(crate) rtt: Duration,
}

impl PathDelay {
    /// The time spent in the queue.
    pub(crate) fn queueing(self) -> Duration {
        self.rtt.saturating_sub(self.base_rtt)
    }

    /// Diff * BaseRTT = (cwnd / BaseRTT - cwnd / RTT) * BaseRTT = cwnd (RTT - BaseRTT) / RTT: the
    /// part of the window that lies in the queue; rounds down.
    pub(crate) fn queued(self, cwnd: Bytes) -> Bytes {
        let scaled = u128::from(cwnd.get()) * u128::from(self.queueing().as_nanos());
        let queued = scaled / u128::from(self.rtt.as_nanos().max(1));
        Bytes::new(u64::try_from(queued).unwrap_or(u64::MAX))
    }
}

/// What an acknowledgement meant for the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// The round goes on.
    Running,
    /// The round has ended with too few samples to judge it.
    Unclear,
    /// The round has ended with this delay.
    Ended(PathDelay),
}

/// Collects the smallest round-trip times. Rounds are the transport's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RttRound {
    /// Least of the connection; none before the first sample.
    base_rtt: Option<Duration>,
    /// Least of the round.
    least: Option<Duration>,
    /// Samples of the round.
    samples: u32,
}

impl RttRound {
    /// BaseRTT, if anything has been measured.
    pub(crate) fn base_rtt(&self) -> Option<Duration> {
        self.base_rtt
    }

    /// Takes an acknowledgement; the one that begins a round is the last of the round before.
    pub(crate) fn on_ack(&mut self, ack: &AckSample) -> Round {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.max(Duration::from_nanos(1));
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |least| least.min(rtt)));
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        if !ack.is_round_start {
            return Round::Running;
        }
        let round = match (self.base_rtt, self.least) {
            (Some(base_rtt), Some(rtt)) if self.samples > TOO_FEW_SAMPLES => {
                Round::Ended(PathDelay { base_rtt, rtt })
            }
            _ => Round::Unclear,
        };
        self.restart();
        round
    }

    /// A round begins; BaseRTT stays.
    pub(crate) fn restart(&mut self) {
        self.least = None;
        self.samples = 0;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// An acknowledgement of one segment of 1000 B that limits and recovers nothing.
    pub(crate) fn ack(rtt: Duration, is_round_start: bool) -> AckSample {
        AckSample {
            newly_acked: Bytes::new(1_000),
            newly_lost: Bytes::ZERO,
            bytes_in_flight: Bytes::new(10_000),
            prior_in_flight: Bytes::new(11_000),
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            stamp: None,
            is_recovering: false,
            is_cwnd_limited: true,
            is_round_start,
            ecn_echo: false,
            newly_marked: Bytes::ZERO,
        }
    }

    #[test]
    fn diff_times_base_rtt_is_what_lies_in_the_queue() {
        let delay = PathDelay {
            base_rtt: ms(80),
            rtt: ms(100),
        };
        // Expected 20 kB / 80 ms = 250 kB/s, Actual 20 kB / 100 ms = 200 kB/s: 50 kB/s * 80 ms
        assert_eq!(delay.queued(Bytes::new(20_000)), Bytes::new(4_000));
        assert_eq!(delay.queueing(), ms(20));
        let empty = PathDelay {
            base_rtt: ms(80),
            rtt: ms(80),
        };
        assert_eq!(empty.queued(Bytes::MAX), Bytes::ZERO);
    }

    #[test]
    fn a_round_is_judged_by_its_least_sample_if_there_are_three() {
        let mut round = RttRound::default();
        assert_eq!(round.on_ack(&ack(ms(10), true)), Round::Unclear);
        assert_eq!(round.on_ack(&ack(ms(14), false)), Round::Running);
        assert_eq!(round.on_ack(&ack(ms(12), false)), Round::Running);
        let delay = PathDelay {
            base_rtt: ms(10),
            rtt: ms(12),
        };
        assert_eq!(round.on_ack(&ack(ms(13), true)), Round::Ended(delay));
        assert_eq!(round.on_ack(&ack(ms(20), false)), Round::Running);
        assert_eq!(round.on_ack(&ack(ms(20), true)), Round::Unclear);
    }
}
