//! What holds for every trace of capacity.

use super::*;
use proptest::prelude::*;

/// A trace of capacity and the bytes that it gives before a time of its first lap, by definition.
#[derive(Clone, Debug)]
enum Capacity {
    Instants(Vec<u64>),
    Ticks(Vec<u64>),
    Rates(Vec<(u64, u64)>),
}

/// A tick of 2 ms, held 3 times.
fn playback(repeat: bool, offset: u64) -> Playback {
    let offset = Duration::from_nanos(offset);
    Playback {
        repeat,
        offset,
        tick: MS * 2,
        hold_ticks: 3,
        packet: Bytes::new(700),
        ..Playback::default()
    }
}

impl Capacity {
    fn trace(&self) -> Trace {
        let (text, format) = match self {
            Self::Instants(ms) => (
                ms.iter().map(|t| format!("{t}\n")).collect::<String>(),
                Format::Mahimahi,
            ),
            Self::Ticks(values) => {
                let lines: String = values.iter().map(|v| format!("{v}\n")).collect();
                (format!("{}\n{lines}", values.len()), Format::PacketsPerTick)
            }
            Self::Rates(steps) => {
                let lines = steps
                    .iter()
                    .map(|&(us, bps)| format!("{},{bps}\n", us as f64 / 1e6));
                let text = format!(
                    "# brimful-trace 1 duration_s={}\ntime_s,rate_bps\n",
                    Self::END_S
                );
                (text + &lines.collect::<String>(), Format::Brimful)
            }
        };
        let options = ReadOptions {
            format: Some(format),
            series: None,
        };
        read("f", text.as_bytes(), &options).unwrap()
    }

    const END_S: f64 = 0.05;

    /// Integer units of the bytes (`unit` to a byte) before `t` ns of a lap, its very end included.
    fn before(&self, t: u64, end_included: bool) -> u128 {
        match self {
            Self::Instants(ms) => {
                let reached =
                    |&&at: &&u64| at * 1_000_000 < t || (end_included && at * 1_000_000 <= t);
                ms.iter().filter(reached).count() as u128 * 700
            }
            Self::Ticks(values) => (0..values.len() as u64 * 3)
                .filter(|tick| tick * 2_000_000 < t)
                .map(|tick| u128::from(values[(tick / 3) as usize]) * 700)
                .sum(),
            Self::Rates(steps) => {
                let end = (Self::END_S * 1e9) as u64;
                let ends = steps.iter().skip(1).map(|s| s.0 * 1000).chain([end]);
                steps
                    .iter()
                    .zip(ends)
                    .map(|(&(us, bps), e)| {
                        u128::from(e.min(t).saturating_sub(us * 1000)) * u128::from(bps)
                    })
                    .sum()
            }
        }
    }

    fn period(&self) -> u64 {
        match self {
            Self::Instants(ms) => ms[ms.len() - 1] * 1_000_000,
            Self::Ticks(values) => values.len() as u64 * 6_000_000,
            Self::Rates(_) => (Self::END_S * 1e9) as u64,
        }
    }

    /// B(t) of the trace played again and again.
    fn bytes_before(&self, t: u64, repeat: bool) -> u128 {
        let unit = if matches!(self, Self::Rates(_)) {
            8_000_000_000
        } else {
            1
        };
        let (laps, rest) = (t / self.period(), t % self.period());
        let total = if !repeat {
            if t > self.period() {
                self.before(self.period(), true)
            } else {
                self.before(t, false)
            }
        } else {
            let whole = u128::from(laps) * self.before(self.period(), true);
            // at the very beginning of a lap, the end of the one before is still to come
            let late = self.before(self.period(), true) - self.before(self.period(), false);
            whole + self.before(rest, false) - if rest == 0 && laps > 0 { late } else { 0 }
        };
        total / unit
    }
}

fn capacities() -> impl Strategy<Value = Capacity> {
    let instants =
        proptest::collection::vec(0u64..40, 1..60).prop_filter_map("a duration", |mut v| {
            v.sort_unstable();
            (v[v.len() - 1] > 0).then_some(Capacity::Instants(v))
        });
    let ticks = proptest::collection::vec(0u64..5, 1..8).prop_filter_map("packets", |v| {
        v.iter().any(|&n| n > 0).then_some(Capacity::Ticks(v))
    });
    let rates = proptest::collection::btree_map(
        0u64..49_999,
        prop_oneof![Just(0), 1u64..2_000_000_000],
        1..8,
    )
    .prop_map(|map| {
        let mut steps: Vec<_> = map.into_iter().collect();
        steps[0].0 = 0;
        Capacity::Rates(steps)
    });
    prop_oneof![instants, ticks, rates]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// The bytes of each slot are B(end) - B(start), whatever slots were requested before.
    #[test]
    fn bytes_are_conserved_exactly(
        capacity in capacities(),
        repeat: bool,
        offset in 0u64..100_000_000,
        slots in proptest::collection::vec((0u64..30_000_000, prop_oneof![Just(125_000u64), Just(1_000_000), 1u64..9_000_000]), 1..80),
    ) {
        let offset = if repeat { offset } else { offset % capacity.period() };
        let trace = capacity.trace();
        let mut channel = trace.channel(&playback(repeat, offset), &LTE).unwrap();
        let mut at = 0;
        for (skip, slot) in slots {
            // every other slot follows at once
            at += if skip % 2 == 0 { skip } else { 0 };
            let got = bytes_of(channel.state(Instant::from_nanos(at), Duration::from_nanos(slot)));
            let (start, end) = (offset + at, offset + at + slot);
            let expected = capacity.bytes_before(end, repeat) - capacity.bytes_before(start, repeat);
            prop_assert_eq!(u128::from(got), expected, "slot {} to {}", start, end);
            at += slot;
        }
    }

    /// Not reading again before `holds_until` loses nothing.
    #[test]
    fn states_hold_for_their_duration(
        capacity in capacities(),
        repeat: bool,
        phase in 0u64..1_000_000,
        slot in prop_oneof![Just(125_000u64), Just(1_000_000), Just(500_000)],
    ) {
        let trace = capacity.trace();
        let mut channel = trace.channel(&playback(repeat, 0), &LTE).unwrap();
        let mut held: Option<ChannelState> = None;
        for i in 0..600 {
            let at = Instant::from_nanos(phase + i * slot);
            let state = channel.state(at, Duration::from_nanos(slot));
            if let Some(held) = held.filter(|held| at < held.holds_until) {
                prop_assert_eq!(state.link, held.link);
            } else {
                prop_assert!(state.holds_until > at);
                held = Some(state);
            }
        }
    }

    /// The mean rate of opportunities follows their rate: over whole laps, its mean is the trace's.
    #[test]
    fn mean_rate_of_a_regular_trace(interval in 1u64..20) {
        let mut channel = play(&trace(&format!("{interval}\n")), &Playback::default());
        let rate = 12_000_000.0 / interval as f64;
        for i in 0..400 {
            if let Link::Opportunity { mean_rate, .. } = channel.state(at_ms(i), MS).link {
                let error = (mean_rate.as_bps() as f64 - rate).abs();
                // one packet more or less in at least 90 ms
                prop_assert!(error <= 1500.0 * 8.0 / 0.09 + 1.0, "{} at {}", mean_rate, i);
            }
        }
    }
}
