//! The server of CQIC: it sends at the rate that its client reports.
//!
//! Source: see [`super`]; CDBE section II-3: the MAC layer's throughput "will be sent to the server for
//! pacing rate and cwnd calculation". Rates in bytes a second, amounts in bytes, times in microseconds,
//! whole numbers; divisions round down.
//!
//! | what | here |
//! | --- | --- |
//! | pacing rate = report | as it is |
//! | cwnd = report x RTT | `window` |
//!
//! *Deviations*
//! - RTT is the smoothed one: with the smallest one the window would stop the flow at the rate that the
//!   report names as soon as anything queues, and no text names it. So nothing answers a queue but the
//!   reports.
//! - The report is bounded by what was delivered, as by CDBE's server in mode `paper`
//!   ([`crate::cdbe::server::PAPER_BOUND`]), and without reports [`crate::bbr`] decides, as there: the
//!   server is CDBE's ([`Cdbe`]), whose states run along and are not queried.
//! - A loss changes nothing; after a timeout the window grows from one segment by what is acknowledged.

use crate::BuildConfig;
use crate::cdbe::server::{self, MAX_SEGMENT, MAX_TIME, MIN_WINDOW};
use crate::cdbe::{self, Cdbe};

/// cwnd = report x RTT, but never below the smallest window.
pub fn window(report: u64, rtt: u64, mss: u64) -> u64 {
    server::window(server::ONE, report, rtt.min(MAX_TIME))
        .max(MIN_WINDOW * mss.min(MAX_SEGMENT))
        .max(mss)
}

/// The server as a controller.
pub fn controller(window: BuildConfig) -> Cdbe {
    Cdbe::new(cdbe::Config::cqic(window))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AckSample, CongestionControl, Ctx, Feedback, LossKind, LossSample, RateReport, Sent,
    };
    use units::{BitRate, Bytes, Duration, Instant, Streams};

    const MSS: Bytes = Bytes::new(1_000);

    fn controller() -> Cdbe {
        super::controller(BuildConfig {
            mss: MSS,
            initial_window: MSS * 10,
        })
    }

    /// A packet that is acknowledged a round trip of 100 ms later, `reports` with its acknowledgement,
    /// each millisecond for `ms`.
    fn run(controller: &mut Cdbe, from: u64, ms: u64, report: Option<u32>) {
        let mut rng = Streams::new(1).stream("test");
        let mut trace = ();
        let rtt = Duration::from_millis(100);
        let mut stamps = std::collections::VecDeque::new();
        for ms in from..from + ms {
            let now = Instant::ZERO + Duration::from_millis(ms);
            let mut cx = Ctx {
                now,
                rng: &mut rng,
                trace: &mut trace,
            };
            let bytes_in_flight = MSS * stamps.len() as u64;
            let sent = Sent {
                bytes: MSS,
                bytes_in_flight,
                is_retransmission: false,
            };
            stamps.push_back((now, controller.on_sent(&mut cx, &sent)));
            if stamps.front().is_some_and(|&(at, _)| at + rtt <= now) {
                let (_, stamp) = stamps.pop_front().expect("there is one");
                if let Some(report) = report {
                    let feedback = Feedback {
                        report: Some(RateReport::new(report)),
                        timestamps: None,
                    };
                    controller.on_feedback(&mut cx, &feedback);
                }
                let ack = AckSample {
                    newly_acked: MSS,
                    newly_lost: Bytes::ZERO,
                    bytes_in_flight,
                    prior_in_flight: bytes_in_flight + MSS,
                    rtt: Some(rtt),
                    srtt: rtt,
                    min_rtt: rtt,
                    stamp: Some(stamp),
                    is_recovering: false,
                    is_cwnd_limited: true,
                    is_round_start: false,
                    ecn_echo: false,
                    newly_marked: Bytes::ZERO,
                };
                controller.on_ack(&mut cx, &ack);
            }
        }
    }

    #[test]
    fn rate_and_window_are_the_reports() {
        let mut controller = controller();
        run(&mut controller, 0, 1_000, Some(2_000_000));
        assert_eq!(controller.pacing_rate(), Some(BitRate::from_mbps(16)));
        assert_eq!(controller.cwnd(), Bytes::new(200_000));
        // a lower one at once
        run(&mut controller, 1_000, 200, Some(500_000));
        assert_eq!(controller.pacing_rate(), Some(BitRate::from_mbps(4)));
        assert_eq!(controller.cwnd(), Bytes::new(50_000));
    }

    #[test]
    fn window_is_report_times_rtt_and_four_segments_at_least() {
        assert_eq!(window(2_000_000, 100_000, 1_000), 200_000);
        assert_eq!(window(1, 100_000, 1_000), 4_000);
        assert_eq!(window(0, 0, 1_000), 4_000);
    }

    #[test]
    fn hostile_reports_are_bounded_by_what_is_delivered() {
        for hostile in [u32::MAX, 100_000_000] {
            let mut controller = controller();
            // a packet each millisecond: 1 MB/s is delivered
            run(&mut controller, 0, 1_000, Some(hostile));
            let rate = controller.pacing_rate().expect("paced").as_bps() / 8;
            assert!(rate <= 4_010_000, "{rate}");
            assert!(controller.cwnd() <= Bytes::new(401_000));
        }
        let mut controller = controller();
        run(&mut controller, 0, 1_000, Some(0));
        assert!(controller.cwnd() >= MSS * 4);
    }

    #[test]
    fn after_a_timeout_the_window_grows_by_what_is_acknowledged() {
        let mut controller = controller();
        run(&mut controller, 0, 1_000, Some(2_000_000));
        let mut rng = Streams::new(1).stream("test");
        let mut trace = ();
        let mut cx = Ctx {
            now: Instant::ZERO + Duration::from_secs(1),
            rng: &mut rng,
            trace: &mut trace,
        };
        let loss = LossSample {
            kind: LossKind::Timeout,
            lost: Bytes::new(100_000),
            bytes_in_flight: Bytes::ZERO,
            lost_sent_at: Instant::ZERO,
        };
        controller.on_loss(&mut cx, &loss);
        assert_eq!(controller.cwnd(), MSS);
        // 100 acknowledgements
        run(&mut controller, 1_000, 200, Some(2_000_000));
        assert_eq!(controller.cwnd(), MSS * 101);
        run(&mut controller, 1_200, 300, Some(2_000_000));
        assert_eq!(controller.cwnd(), Bytes::new(200_000));
    }
}
