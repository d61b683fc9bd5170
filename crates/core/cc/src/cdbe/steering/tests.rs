//! What the law states, and two flows that follow it through one queue.

use super::*;

const MSS: u64 = 1_448;
const RTT: u64 = 20_000;

fn event(at: u64, rtt: u64) -> Event {
    Event {
        at,
        rtt,
        acked: MSS,
        ..Event::default()
    }
}

/// Acknowledgements of one round trip, a millisecond apart, each with this queue; the window ends.
fn round(state: &mut Steering, at: &mut u64, queue: u64, report: u64) {
    for _ in 0..RTT / 1_000 {
        *at += 1_000;
        state.take(&event(*at, RTT + queue));
        state.steer(&Constants::DEFAULT, *at, RTT, report);
    }
    state.end_window(&Constants::DEFAULT, *at, RTT, report, MSS);
}

#[test]
fn logarithms_are_exact_at_powers_of_two_and_near_between() {
    for power in 0..=32 {
        assert_eq!(log2(1 << power), 1_000 * i64::from(power));
    }
    for x in [3u64, 1_000, 125_000, 1_250_000, 4_000_000_001] {
        let exact = (x as f64).log2() * 1e3;
        let off = exact - log2(x) as f64;
        // a straight line between powers of two is at most 0.0861 below, and is rounded down to a thousandth
        assert!((0.0..87.1).contains(&off), "{x}: {off}");
    }
}

#[test]
fn the_target_falls_with_each_doubling_of_the_rate() {
    let state = Steering::default();
    assert_eq!(
        state.target(&Constants::DEFAULT, 0),
        Constants::DEFAULT.target_max
    );
    assert_eq!(
        state.target(&Constants::DEFAULT, TARGET_RATE),
        Constants::DEFAULT.target_max
    );
    for doublings in 0..8 {
        let target = state.target(&Constants::DEFAULT, TARGET_RATE << doublings);
        assert_eq!(
            target,
            Constants::DEFAULT.target_max - Constants::DEFAULT.target_octave * doublings
        );
    }
    assert_eq!(
        state.target(&Constants::DEFAULT, u64::from(u32::MAX)),
        Constants::DEFAULT.target_min
    );
}

#[test]
fn a_round_trip_is_exact_and_the_delay_bounds_what_the_uplink_adds() {
    let mut state = Steering::default();
    let both = |at: u64, rtt: u64, delay: i64| Event {
        delay: Some(delay),
        tick: 1_000,
        ..event(at, rtt)
    };
    state.take(&both(0, RTT, 0));
    // 5.3 ms in the queue: the clocks show 5 or 6
    for at in 1..40 {
        state.take(&both(at, RTT + 5_300, 5_000));
    }
    assert!((5_290..=5_300).contains(&state.queue), "{}", state.queue);
    // and 30 ms in the uplink
    for at in 40..80 {
        state.take(&both(at, RTT + 35_300, 5_000));
    }
    assert!((5_990..=6_000).contains(&state.queue), "{}", state.queue);
}

#[test]
fn delays_count_from_what_came_before_the_tick_was_known() {
    let mut state = Steering::default();
    let late = Event {
        delay: Some(9_000),
        tick: 1_000,
        ..event(1, 0)
    };
    for _ in 0..40 {
        state.take(&late);
    }
    assert!(state.queue > 8_900, "{}", state.queue);
}

#[test]
fn a_floor_expires_when_a_path_has_become_longer() {
    let mut floor = Floor::default();
    floor.add(0, 20);
    floor.add(FLOOR_TIME - 1, 30);
    assert_eq!(floor.get(), 20);
    floor.add(FLOOR_TIME, 30);
    assert_eq!(floor.get(), 20);
    floor.add(2 * FLOOR_TIME, 30);
    assert_eq!(floor.get(), 30);
}

#[test]
fn losses_shorten_the_target_and_it_comes_back() {
    let mut state = Steering::default();
    let mut at = 0;
    let target = state.target(&Constants::DEFAULT, 1_000_000);
    round(&mut state, &mut at, 0, 1_000_000);
    // one segment of twenty: more than a fiftieth
    state.lost = MSS;
    round(&mut state, &mut at, 0, 1_000_000);
    assert_eq!(
        state.target(&Constants::DEFAULT, 1_000_000),
        target * 875 / 1_000
    );
    // all of a window, for long: an eighth is left
    for _ in 0..10 {
        state.lost = 20 * MSS;
        round(&mut state, &mut at, 0, 1_000_000);
    }
    assert_eq!(state.target(&Constants::DEFAULT, 1_000_000), target / 8);
    for _ in 0..125 {
        round(&mut state, &mut at, 0, 1_000_000);
    }
    assert_eq!(state.target(&Constants::DEFAULT, 1_000_000), target);
}

#[test]
fn losses_of_a_hundredth_are_not_congestion() {
    let mut state = Steering {
        acked: 99 * MSS,
        lost: MSS,
        ..Steering::default()
    };
    state.end_window(&Constants::DEFAULT, 0, RTT, 1_000_000, MSS);
    assert_eq!(state.backoff, 0);
}

#[test]
fn a_queue_that_never_empties_is_drained_deeper_and_then_competed_for() {
    let mut state = Steering::default();
    let mut at = 0;
    let mut began = Vec::new();
    round(&mut state, &mut at, 0, 1_000_000);
    while !state.competing.is_on {
        let before = state.drain_until;
        round(&mut state, &mut at, 10_000, 1_000_000);
        if state.drain_until > before && state.is_draining {
            began.push((at, state.depth));
        }
        assert!(at < 6_000_000, "{began:?}");
    }
    let depths: Vec<_> = began.iter().map(|&(_, depth)| depth).collect();
    assert_eq!(depths, [1, 2, 4, 8]);
    assert!(began[0].0 >= Constants::DEFAULT.drain_after);
    assert!(!state.is_draining && !state.is_holding(at));
}

#[test]
fn a_queue_that_stays_long_is_competed_for_and_the_window_is_not_given_up() {
    let mut state = Steering::default();
    let mut at = 0;
    round(&mut state, &mut at, 0, 1_000_000);
    let mut report = 1_000_000;
    while !state.competing.is_on {
        round(&mut state, &mut at, 60_000, report);
        report = report * 4 / 5;
        assert!(at < 1_000_000);
    }
    // what the first report fills of the round trip
    let had = 1_000_000 * (RTT + 60_000) / 1_000_000;
    let window = state.window(&Constants::DEFAULT, report, RTT, MSS);
    assert!((had * 9 / 10..=had * 5 / 4).contains(&window), "{window}");
}

#[test]
fn losses_of_startup_shorten_no_target() {
    let mut state = Steering::default();
    state.start_up(1_000, RTT);
    state.acked = 20 * MSS;
    state.lost = 10 * MSS;
    state.end_window(&Constants::DEFAULT, 2 * RTT, RTT, 1_000_000, MSS);
    assert_eq!(state.backoff, 0);
    state.lost = 10 * MSS;
    state.end_window(&Constants::DEFAULT, 2 * RTT + 1_000, RTT, 1_000_000, MSS);
    assert!(state.backoff > 0);
}

#[test]
fn a_queue_that_empties_is_drained_every_two_seconds() {
    let mut state = Steering::default();
    let mut at = 0;
    let mut began = Vec::new();
    round(&mut state, &mut at, 0, 1_000_000);
    while at < 9_000_000 {
        let before = state.drain_until;
        let queue = if state.is_draining { 0 } else { 10_000 };
        round(&mut state, &mut at, queue, 1_000_000);
        if state.drain_until != before {
            began.push((at, state.depth));
        }
    }
    assert_eq!(began.len(), 4, "{began:?}");
    assert!(began.iter().all(|&(_, depth)| depth == 1), "{began:?}");
}

#[test]
fn a_floor_that_falls_in_a_drain_is_looked_under_at_once() {
    let mut state = Steering::default();
    let mut at = 0;
    // it joined another flow: 10 ms of queue look like the path
    round(&mut state, &mut at, 10_000, 1_000_000);
    while at < 2_600_000 {
        let queue = if state.is_draining {
            10_000u64.saturating_sub(4_000 * state.depth)
        } else {
            20_000
        };
        round(&mut state, &mut at, queue, 1_000_000);
        let floor = state.rtt.get().cast_unsigned();
        assert!(
            at > Constants::DEFAULT.drain_after || floor == RTT + 10_000,
            "{at}: {floor}"
        );
    }
    assert_eq!(state.rtt.get().cast_unsigned(), RTT);
    assert_eq!(
        state.depth, 0,
        "the last drain of the row found nothing below"
    );
}

/// Flows through one queue, a step of a millisecond: what follows from windows alone.
struct Flow {
    state: Steering,
    report: f64,
    /// Rates of the round trip past.
    past: std::collections::VecDeque<f64>,
}

#[test]
fn two_flows_come_to_equal_rates() {
    for (capacity, rtt) in [
        (0.6e6, 20_000u64),
        (12.5e6, 20_000),
        (12.5e6, 100_000),
        (125e6, 50_000),
    ] {
        let mut flows = [0.95, 0.05].map(|share| Flow {
            state: Steering::default(),
            report: capacity * share,
            past: std::collections::VecDeque::new(),
        });
        let mut queue = 0.0f64;
        for ms in 0..10_000u64 {
            let at = ms * 1_000;
            let rates: Vec<f64> = flows
                .iter_mut()
                .map(|flow| {
                    let event = Event {
                        at,
                        rtt: rtt + queue as u64,
                        acked: MSS,
                        ..Event::default()
                    };
                    flow.state.take(&event);
                    let window =
                        flow.state
                            .window(&Constants::DEFAULT, flow.report as u64, rtt, MSS);
                    window as f64 * 1e6 / (rtt as f64 + queue)
                })
                .collect();
            let sum: f64 = rates.iter().sum();
            queue = (queue + (sum / capacity - 1.0) * 1_000.0).max(0.0);
            for (flow, rate) in flows.iter_mut().zip(rates) {
                flow.past.push_back(rate * (capacity / sum).min(1.0));
                if flow.past.len() as u64 > rtt / 1_000 {
                    flow.report = flow.past.pop_front().expect("one");
                }
            }
        }
        let ratio = flows[0].report / flows[1].report;
        assert!(
            (0.8..1.25).contains(&ratio),
            "{capacity} B/s, {rtt} us: {ratio}"
        );
        assert!(queue < 20_000.0, "{capacity} B/s, {rtt} us: {queue} us");
    }
}

#[test]
fn constants_that_are_set_are_those_that_decide() {
    let other = Constants {
        target_max: 9_500,
        target_min: 4_000,
        target_octave: 950,
        pacing_gain: 3_000,
        draining_gain: 250,
        drain_after: 500_000,
        losses: 10,
        max_backoff: 500,
        share: 240,
    };
    let state = Steering::default();
    assert_eq!(state.target(&other, TARGET_RATE), 9_500);
    assert_eq!(state.target(&other, TARGET_RATE << 2), 9_500 - 2 * 950);
    assert_eq!(state.target(&other, u64::from(u32::MAX)), 4_000);
    let rate = |constants| state.pacing_rate(constants, 10 * MSS, RTT);
    assert_eq!(rate(&other), 2 * rate(&Constants::DEFAULT));
    // one segment of twenty is no overflow where a tenth is
    let losing = |lost: u64| {
        let mut state = Steering {
            acked: (20 - lost) * MSS,
            lost: lost * MSS,
            ..Steering::default()
        };
        for _ in 0..20 {
            (state.acked, state.lost) = ((20 - lost) * MSS, lost * MSS);
            state.end_window(&other, 0, RTT, 1_000_000, MSS);
        }
        state.backoff
    };
    assert_eq!((losing(1), losing(20)), (0, 500));
    // a queue that stands is drained after half a second, at a quarter of the report
    let mut state = Steering::default();
    let mut at = 0;
    while !state.is_draining {
        at += 1_000;
        state.take(&event(at, RTT + if at < 2_000 { 0 } else { 3_000 }));
        state.steer(&other, at, RTT, 1_000_000);
    }
    assert_eq!(at, 1_000 + 500_000);
    assert_eq!(state.gain(&other, 1_000_000, RTT), 250);
}
