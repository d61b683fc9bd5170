//! No sequence of events, however absurd, breaks a controller.

use cc::meld::{self, Meld};
use cc::{
    AckSample, BuildConfig, CongestionControl, Ctx, Feedback, LossKind, LossSample, PacketStamp,
    RadioState, RateReport, RecoveryEnd, Sent, Timestamps,
};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant, Rng, Streams};

/// Amounts and times from nothing to the largest.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        0u64..20_000,
        any::<u32>().prop_map(u64::from),
        any::<u64>(),
    ]
}

#[derive(Clone, Debug)]
struct Event {
    kind: u8,
    advance: u64,
    numbers: [u64; 6],
    flags: [bool; 5],
}

fn event() -> impl Strategy<Value = Event> {
    (
        0u8..12,
        number(),
        prop::array::uniform6(number()),
        prop::array::uniform5(any::<bool>()),
    )
        .prop_map(|(kind, advance, numbers, flags)| Event {
            kind,
            advance,
            numbers,
            flags,
        })
}

struct Bench {
    cc: Box<dyn CongestionControl>,
    rng: Rng,
    now: Instant,
    stamp: PacketStamp,
}

impl Bench {
    fn apply(&mut self, event: &Event) {
        self.now += Duration::from_nanos(event.advance);
        let [a, b, c, d, e, f] = event.numbers;
        let (bytes, time) = (Bytes::new, Duration::from_nanos);
        let mut cx = Ctx {
            now: self.now,
            rng: &mut self.rng,
            trace: &mut (),
        };
        match event.kind {
            0 => {
                let packet = Sent {
                    bytes: bytes(a),
                    bytes_in_flight: bytes(b),
                    is_retransmission: event.flags[0],
                };
                self.stamp = self.cc.on_sent(&mut cx, &packet);
            }
            1..=4 => {
                let absurd = PacketStamp {
                    delivered: bytes(f),
                    delivered_at: Instant::from_nanos(e),
                    first_sent_at: Instant::from_nanos(d),
                    sent_at: Instant::from_nanos(c),
                    in_flight: bytes(b),
                    lost: bytes(a),
                    is_app_limited: event.flags[1],
                };
                let ack = AckSample {
                    newly_acked: bytes(a),
                    newly_lost: bytes(b),
                    bytes_in_flight: bytes(c),
                    prior_in_flight: bytes(d),
                    rtt: event.flags[0].then_some(time(e)),
                    srtt: time(f),
                    min_rtt: time(e / 2),
                    stamp: match event.kind {
                        1 => Some(absurd),
                        2 => None,
                        _ => Some(self.stamp),
                    },
                    is_recovering: event.flags[1],
                    is_cwnd_limited: event.flags[2],
                    is_round_start: event.flags[3],
                    ecn_echo: event.flags[4],
                    newly_marked: Bytes::ZERO,
                };
                self.cc.on_ack(&mut cx, &ack);
            }
            5 => {
                let loss = LossSample {
                    kind: [LossKind::Fast, LossKind::Timeout, LossKind::Ecn][(a % 3) as usize],
                    lost: bytes(b),
                    bytes_in_flight: bytes(c),
                    lost_sent_at: Instant::from_nanos(d),
                };
                self.cc.on_loss(&mut cx, &loss);
            }
            6 => self.cc.on_recovery_end(
                &mut cx,
                RecoveryEnd {
                    is_spurious: event.flags[0],
                },
            ),
            7 => self.cc.on_app_limited(&mut cx, bytes(a)),
            8 => {
                let state = RadioState {
                    tbs: bytes(a),
                    best_tbs: bytes(b),
                    harq_processes: e as u8,
                    queue: bytes(c),
                    served: bytes(d),
                    harq_retx: f as u32,
                    lost_packets: event.flags[0].then_some(a as u32),
                    period: time(e),
                    slots: d as u32,
                    seq: b,
                    made_at: Instant::from_nanos(f),
                };
                self.cc.on_radio(&mut cx, &state);
            }
            9 => {
                let loss = LossSample {
                    kind: LossKind::Fast,
                    lost: bytes(b),
                    bytes_in_flight: bytes(c),
                    lost_sent_at: Instant::from_nanos(d),
                };
                if self.cc.is_congestion(&mut cx, &loss) {
                    self.cc.on_loss(&mut cx, &loss);
                }
            }
            10 => {
                let feedback = Feedback {
                    report: event.flags[0].then_some(RateReport::saturating(a)),
                    timestamps: event.flags[1].then_some(Timestamps {
                        val: b as u32,
                        ecr: c as u32,
                    }),
                };
                self.cc.on_feedback(&mut cx, &feedback);
            }
            _ => self.cc.on_restart_after_idle(&mut cx),
        }
    }
}

/// Every controller, and MELD in its variants round two of them.
fn controllers() -> Vec<String> {
    let plain = cc::names().iter().map(|&name| name.to_owned());
    let meld = meld::Variant::NAMES
        .iter()
        .flat_map(|variant| ["newreno", "bbr"].map(|name| format!("{name} meld {variant}")));
    plain.chain(meld).collect()
}

fn build(name: &str, config: BuildConfig) -> Box<dyn CongestionControl> {
    let (name, variant) = name.split_once(" meld ").unwrap_or((name, ""));
    let cc = cc::build(name, config).expect("known");
    match meld::Variant::from_name(variant) {
        Some(variant) => Box::new(Meld::new(cc, meld::Config::new(variant, config.mss))),
        None => cc,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_segment_may_always_be_sent(
        mss in prop_oneof![0u64..3, 500u64..9_000, Just(u64::MAX)],
        initial_window in number(),
        events in prop::collection::vec(event(), 1..120),
    ) {
        let config =
            BuildConfig { mss: Bytes::new(mss), initial_window: Bytes::new(initial_window) };
        for name in &controllers() {
            let mut bench = Bench {
                cc: build(name, config),
                rng: Streams::new(1).stream("cc"),
                now: Instant::ZERO,
                stamp: PacketStamp::default(),
            };
            for event in &events {
                bench.apply(event);
                let cwnd = bench.cc.cwnd();
                prop_assert!(cwnd >= Bytes::new(mss.max(1)), "{name}: {cwnd} after {event:?}");
                let rate = bench.cc.pacing_rate();
                prop_assert!(rate.is_none_or(|r| r.as_bps() > 0), "{name}: {rate:?}");
                let ssthresh = bench.cc.ssthresh();
                let min = Bytes::new(mss.max(1)) * 2;
                prop_assert!(ssthresh.is_none_or(|s| s >= min), "{name}: {ssthresh:?}");
            }
        }
    }

    #[test]
    fn a_loss_never_opens_the_window_beyond_the_least_ssthresh(
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mss = Bytes::new(1_448);
        let config = BuildConfig { mss, initial_window: mss * 10 };
        for name in &controllers() {
            let mut bench = Bench {
                cc: build(name, config),
                rng: Streams::new(1).stream("cc"),
                now: Instant::ZERO,
                stamp: PacketStamp::default(),
            };
            for event in &events {
                let before = bench.cc.cwnd();
                bench.apply(event);
                let after = bench.cc.cwnd();
                let is_loss = event.kind == 5;
                prop_assert!(!is_loss || after <= before.max(mss * 2), "{name}: {before}, {after}");
            }
        }
    }

    #[test]
    fn the_same_events_give_the_same_decisions(
        events in prop::collection::vec(event(), 1..120),
    ) {
        for name in &controllers() {
            let run = || {
                let config =
                    BuildConfig { mss: Bytes::new(1_448), initial_window: Bytes::new(14_480) };
                let mut bench = Bench {
                    cc: build(name, config),
                    rng: Streams::new(1).stream("cc"),
                    now: Instant::ZERO,
                    stamp: PacketStamp::default(),
                };
                let mut decisions = Vec::new();
                for event in &events {
                    bench.apply(event);
                    decisions.push((bench.cc.cwnd(), bench.cc.pacing_rate()));
                }
                decisions
            };
            prop_assert_eq!(run(), run());
        }
    }
}
