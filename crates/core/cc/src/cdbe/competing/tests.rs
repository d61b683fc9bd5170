//! Flows in one FIFO as a fluid, a step of a millisecond.

use super::*;

const CAPACITY: u64 = 2_500_000;
const MIN_RTT: u64 = 20_000;
const STEP: u64 = 1_000;

/// A bottleneck with a buffer, and a flow whose window is what it is.
struct Fifo {
    at: u64,
    buffer: u64,
    rival: u64,
    flows: Vec<Competing>,
    /// Lost of each and not shown yet, bytes.
    unseen: Vec<f64>,
}

impl Fifo {
    /// Flows that begin with these reports.
    fn new(buffer: u64, rival: u64, reports: &[u64]) -> Self {
        let at = 1_000_000;
        let flows = reports.iter().map(|&report| {
            let mut flow = Competing::default();
            flow.begin(&Constants::DEFAULT, at, report, 2 * MIN_RTT);
            flow
        });
        Self {
            at,
            buffer,
            rival,
            flows: flows.collect(),
            unseen: vec![0.0; reports.len()],
        }
    }

    fn windows(&self) -> u64 {
        let own: u64 = self.flows.iter().map(Competing::window).sum();
        own + self.rival
    }

    /// What is in path and buffer.
    fn held(&self) -> u64 {
        let most = CAPACITY * MIN_RTT / 1_000_000 + self.buffer;
        self.windows().min(most)
    }

    fn queue(&self) -> u64 {
        (self.held() * 1_000_000 / CAPACITY).saturating_sub(MIN_RTT)
    }

    /// Rate of a flow: its part of what is held.
    fn rate(&self, flow: usize) -> u64 {
        let bottleneck = CAPACITY.min(self.held() * 1_000_000 / MIN_RTT);
        self.flows[flow].window() * bottleneck / self.windows()
    }

    fn step(&mut self) {
        self.at += STEP;
        let rtt = MIN_RTT + self.queue();
        let lost = self.windows() - self.held();
        let rates: Vec<u64> = (0..self.flows.len()).map(|flow| self.rate(flow)).collect();
        let windows = self.windows();
        let each = self.flows.iter_mut().zip(&mut self.unseen).zip(rates);
        for ((flow, unseen), rate) in each {
            let share = flow.window() as f64 / windows as f64;
            *unseen += lost as f64 * share * STEP as f64 / rtt as f64;
            flow.take(rtt, rate * STEP / 1_000_000, *unseen as u64);
            *unseen = unseen.fract();
            let queue = (rtt - MIN_RTT).cast_signed();
            if self.at.is_multiple_of(MIN_RTT) {
                let seen = Seen {
                    at: self.at,
                    least_queue: queue,
                    is_empty: queue < 2_500,
                    target: 10_000,
                    report: rate,
                };
                flow.look(&seen, MIN_RTT);
            }
            if flow.is_on {
                flow.step(&Constants::DEFAULT, self.at, queue, rate);
            } else {
                flow.judge(self.at, queue, 10_000, rate);
            }
        }
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.step();
        }
    }

    /// Means of the shares over so long, of the time in which the flow competes.
    fn mean_share(&mut self, ms: u64) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for _ in 0..ms {
            self.step();
            if self.flows[0].is_on {
                sum += self.rate(0) as f64 / CAPACITY as f64;
                count += 1.0;
            }
        }
        sum / count
    }
}

#[test]
fn beside_a_window_that_does_not_yield_nearly_half_is_kept() {
    for (rival, report) in [(100_000, 100_000), (100_000, 2_000_000), (400_000, 20_000)] {
        let mut fifo = Fifo::new(10_000_000, rival, &[report]);
        fifo.run(25_000);
        let share = fifo.mean_share(10_000);
        assert!((0.44..0.50).contains(&share), "{rival}, {report}: {share}");
        let capacity = fifo.flows[0].capacity(fifo.rate(0)) as f64;
        let off = capacity / CAPACITY as f64;
        assert!((0.95..1.05).contains(&off), "{rival}, {report}: {off}");
    }
}

#[test]
fn in_a_full_buffer_what_is_delivered_shows_the_share() {
    for share in [100u64, 250, 500, 900] {
        // of what is sent more, (1 - s) arrives more
        let part = |of: u64| 1_000_000 * (ONE - share) / ONE / of;
        let mut flow = Competing {
            base: 40_000,
            lost: 1,
            acked: 1_000_000,
            high: 80_000,
            high_rate: 1_000_000 + part(PART),
            low: 80_000,
            low_rate: 1_000_000 - part(PART),
            ..Competing::default()
        };
        let below = (80_000, 1_000_000 - part(PART));
        flow.end_cycle(&Constants::DEFAULT, below, 1_000_000);
        // an eighth of what a queue of one's own would fall by, 20 ms
        let expected = 20_000 * share / ONE / (MEMORY + 1);
        assert!(flow.fall.abs_diff(expected) <= 1, "{share}: {}", flow.fall);
        assert_eq!(flow.given, 10_000 / (MEMORY + 1));
    }
}

#[test]
fn alone_it_ends_and_does_not_go_on() {
    let mut fifo = Fifo::new(10_000_000, 0, &[1_000_000]);
    // as much as fills the path and as much again
    fifo.flows[0].base = 100_000;
    fifo.run(1_500);
    assert!(!fifo.flows[0].is_on);
    fifo.run(3_000);
    assert!(!fifo.flows[0].is_on);
}

#[test]
fn flows_that_compete_with_one_another_alone_leave_the_queue_to_run_off() {
    let mut fifo = Fifo::new(10_000_000, 0, &[700_000, 700_000]);
    for flow in &mut fifo.flows {
        flow.lasts = u64::MAX / 2;
        flow.base = 100_000;
    }
    assert!(fifo.queue() > 50_000);
    fifo.run(5_000);
    let mean = (0..2_000)
        .map(|_| {
            fifo.step();
            fifo.queue()
        })
        .sum::<u64>()
        / 2_000;
    assert!(mean < 10_000, "{mean} us");
}

#[test]
fn a_trial_that_others_use_is_ended_and_one_that_they_do_not_use_is_not() {
    for is_taken in [true, false] {
        let mut flow = Competing::default();
        flow.begin(&Constants::DEFAULT, 0, 1_000_000, 60_000);
        let [first, last] = TRIALS;
        let mut at = 0;
        for nth in 0..8 {
            // between the phases, so that it is not judged alone
            flow.cycles = 0;
            at += flow.lasts + 1;
            assert!(
                !flow.step(&Constants::DEFAULT, at, 40_000, 1_000_000),
                "{nth}"
            );
            assert!(!flow.judge(at + 1, 40_000, 10_000, 1_000_000));
            at += (TRIAL_ROUNDS + 1) * flow.rtt;
            let goes_on = if is_taken {
                flow.judge(at, 14_000, 10_000, 450_000)
            } else {
                flow.judge(at, 11_000, 10_000, 900_000)
            };
            assert_eq!(goes_on, is_taken);
            if !is_taken {
                assert!(!flow.is_on);
                break;
            }
            assert_eq!(flow.lasts, (first << (nth + 1)).min(last));
        }
    }
}

#[test]
fn probe_rtt_of_others_does_not_end_it_and_a_queue_that_stays_empty_does() {
    let mut flow = Competing::default();
    flow.begin(&Constants::DEFAULT, 0, 1_000_000, 60_000);
    let seen = |at, least_queue| Seen {
        at,
        least_queue,
        is_empty: least_queue < 2_500,
        target: 10_000,
        report: 1_000_000,
    };
    for at in [0, 100_000, 200_000, 300_000] {
        flow.look(&seen(at + 20_000, 0), MIN_RTT);
    }
    flow.look(&seen(340_000, 40_000), MIN_RTT);
    assert!(flow.is_on);
    for ms in 400..=900 {
        flow.look(&seen(1_000 * ms, 0), MIN_RTT);
    }
    assert!(!flow.is_on);
}

#[test]
fn a_queue_that_is_long_for_five_round_trips_makes_a_flow_compete_for_what_it_had() {
    let mut flow = Competing::default();
    let seen = |at, least_queue, report| Seen {
        at,
        least_queue,
        is_empty: false,
        target: 10_000,
        report,
    };
    let rtt = 60_000;
    flow.look(&seen(1_000, 21_000, 2_000_000), MIN_RTT);
    flow.look(&seen(301_000, 25_000, 100_000), MIN_RTT);
    assert!(!flow.is_due(301_000, rtt));
    assert!(flow.is_due(301_001, rtt));
    assert_eq!(flow.long_report, 2_000_000);
    flow.look(&seen(302_000, 20_000, 100_000), MIN_RTT);
    assert!(!flow.is_due(900_000, rtt), "it is not long any more");
    // one that runs off is not of others
    for (step, queue) in [90_000, 60_000, 40_000, 25_000].into_iter().enumerate() {
        flow.look(
            &seen(1_000_000 + 250_000 * step as u64, queue, 100_000),
            MIN_RTT,
        );
    }
    assert!(!flow.is_due(1_800_000, rtt));
}

#[test]
fn absurd_amounts_are_bounded() {
    let mut flow = Competing::default();
    let largest = u64::from(u32::MAX);
    flow.begin(&Constants::DEFAULT, 1, largest, 120_000_000);
    let mut at = 1;
    for n in 0..400u64 {
        at += 60_000_000;
        flow.take(60_000_000, u64::MAX, if n % 7 == 0 { u64::MAX } else { 0 });
        flow.step(&Constants::DEFAULT, at, 1 << 42, largest);
        flow.is_on = true;
        assert!(flow.window() <= MAX_REPORTS * largest * 240);
    }
}

#[test]
fn the_part_that_is_aimed_at_can_be_another() {
    let other = Constants {
        share: 240,
        ..Constants::DEFAULT
    };
    let window = |constants: &Constants| {
        let mut flow = Competing {
            share: constants.share,
            base: 40_000,
            low: 80_000,
            low_rate: 1_000_000,
            high: 80_000,
            high_rate: 1_000_000,
            fall: 20_000,
            given: 20_000,
            ..Competing::default()
        };
        flow.end_cycle(constants, (80_000, 1_000_000), 1_000_000);
        flow.share
    };
    assert_eq!((window(&other), window(&Constants::DEFAULT)), (240, 480));
    let mut flow = Competing::default();
    flow.begin(&other, 0, 1_000_000, 40_000);
    assert_eq!(flow.share, 240);
}
