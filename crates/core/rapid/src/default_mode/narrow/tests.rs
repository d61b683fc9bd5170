//! The link as a fluid: what is in flight beyond what a round trip holds waits before it, and what finds no room is lost.

use super::measure::LOSSY;
use super::*;

const STEP: f64 = 0.001;
const SEGMENT: f64 = 1448.0;

/// Rates in byte/s, times in seconds, amounts in bytes.
struct World {
    /// What the radio and the link before it carry, and the link's buffer.
    radio: f64,
    link: f64,
    buffer: f64,
    /// The round trip without queues, and T as the radio's loop has it.
    round_trip: f64,
    time: f64,
    /// Reports count what is served.
    is_counted: bool,
    /// All flows wait for their retransmission timeout: what is in flight is acknowledged no more.
    is_silent: bool,
    /// What is sent again beside what this link loses, byte/s, and keeps others from being delivered.
    repaired: f64,
    narrow: Narrow,
    delivered: f64,
    acked: f64,
    resent: f64,
    /// Times at which T was found too short.
    found: u32,
}

impl World {
    fn new(radio: f64, link: f64, buffer: f64) -> Self {
        Self {
            radio,
            link,
            buffer,
            round_trip: 0.02,
            time: 0.02,
            is_counted: true,
            is_silent: false,
            repaired: 0.0,
            narrow: Narrow::default(),
            delivered: 0.0,
            acked: 0.0,
            resent: 0.0,
            found: 0,
        }
    }

    /// Runs for so many seconds; what was delivered and sent again in that time, byte/s, and the mean round trip, seconds.
    fn run(&mut self, seconds: f64) -> (f64, f64, f64) {
        let steps = (seconds / STEP) as u32;
        let (acked, resent) = (self.acked, self.resent);
        let mut round_trips = 0.0;
        for _ in 0..steps {
            let (rate, time) = match self.narrow.limit() {
                None => (self.radio, self.time),
                Some(Limit::Trial(factor)) => (self.radio, self.time * factor),
                Some(Limit::Bound(rate, factor)) => (rate.min(self.radio), self.time * factor),
            };
            let window = rate * time;
            let narrowest = self.link.min(self.radio);
            let pipe = narrowest * self.round_trip;
            let room = if self.link < self.radio {
                self.buffer
            } else {
                f64::INFINITY
            };
            let waiting = (window - pipe).clamp(0.0, room);
            let round_trip = self.round_trip + waiting / narrowest;
            let lost = (window - pipe - room).max(0.0) / round_trip;
            let delivered = match self.is_silent {
                true => 0.0,
                false => narrowest.min(window / self.round_trip) - self.repaired,
            };
            self.delivered += weight(STEP, 0.1) * (delivered - self.delivered);
            self.acked += delivered * STEP;
            self.resent += (lost + self.repaired) * STEP;
            round_trips += round_trip;
            let is_radio = self.link >= self.radio;
            let path = Path {
                ues: 1.0,
                capacity: self.radio,
                served: if self.is_counted { self.delivered } else { 0.0 },
                time,
                base_time: self.time,
                min_time: 0.5 * self.time,
                max_time: 4.0 * self.time,
                queue: if is_radio {
                    waiting / self.radio / 0.002
                } else {
                    0.0
                },
                delivered: self.delivered,
                acked: self.acked as u64,
                resent: self.resent as u64,
                in_flight: window,
                segments: SEGMENT,
                segment: SEGMENT,
                is_greedy: true,
                is_alone: true,
                takes_turns: false,
                is_fresh: true,
            };
            if self.narrow.update(STEP, &path) {
                self.found += 1;
                self.time = time;
            }
        }
        (
            (self.acked - acked) / seconds,
            (self.resent - resent) / seconds,
            round_trips / f64::from(steps),
        )
    }

    fn is_bound(&self) -> bool {
        matches!(self.narrow.limit(), Some(Limit::Bound(..)))
    }
}

#[test]
fn a_narrow_link_is_found_and_filled_without_a_standing_queue() {
    for part in [0.9, 0.5, 0.1] {
        let mut world = World::new(10e6, part * 10e6, f64::INFINITY);
        world.run(5.0);
        assert!(world.is_bound(), "{part}");
        let (delivered, _, round_trip) = world.run(10.0);
        // what is lost is one draining of 0.75 b in each cycle, of no more than two round trips in nine measurements
        assert!(delivered > 0.97 * world.link, "{part}: {delivered}");
        // a probe of a quarter more, for two round trips and a measurement of nine
        assert!(round_trip < 1.15 * world.round_trip, "{part}: {round_trip}");
    }
}

#[test]
fn reports_that_do_not_count_what_is_served_show_none() {
    let mut world = World::new(10e6, 5e6, f64::INFINITY);
    world.is_counted = false;
    world.run(5.0);
    assert_eq!((world.narrow.limit(), world.found), (None, 0));
}

#[test]
fn where_its_buffer_is_small_little_is_lost() {
    for room in [0.1, 0.5] {
        let mut world = World::new(10e6, 5e6, room * 5e6 * 0.02);
        world.run(5.0);
        assert!(world.is_bound(), "{room}");
        let (delivered, resent, _) = world.run(10.0);
        assert!(delivered > 0.95 * world.link, "{room}: {delivered}");
        assert!(resent < LOSSY * delivered, "{room}: {resent}");
    }
}

#[test]
fn a_timeout_of_all_flows_is_no_measurement_of_the_link() {
    // in each phase of a cycle
    for begin in 0..20 {
        let mut world = World::new(10e6, 4e6, 0.5 * 4e6 * 0.02);
        world.run(5.0 + 0.05 * f64::from(begin));
        assert!(world.is_bound(), "{begin}");
        world.is_silent = true;
        world.run(0.3);
        // of what was lost a part is sent again, in the first round trip
        world.is_silent = false;
        world.resent += 0.5 * world.link * world.round_trip;
        let (delivered, ..) = world.run(1.0);
        assert!(delivered > 0.9 * world.link, "{begin}: {delivered}");
    }
}

#[test]
fn the_repair_of_what_was_lost_before_is_no_measurement_of_the_link() {
    let mut world = World::new(10e6, 4e6, 0.5 * 4e6 * 0.02);
    while !world.is_bound() {
        world.run(0.01);
    }
    // half of what the link carries is sent again
    world.repaired = 0.5 * world.link;
    world.run(0.3);
    world.repaired = 0.0;
    let (delivered, ..) = world.run(0.5);
    assert!(delivered > 0.95 * world.link, "{delivered}");
    // T decays where it is long enough, by a little in a cycle; it did not shrink
    let shrunk = SHRINK * world.time;
    assert!(world.narrow.time > 1.2 * shrunk, "{}", world.narrow.time);
}

#[test]
fn the_radio_alone_is_no_narrow_link() {
    let mut world = World::new(10e6, 20e6, f64::INFINITY);
    for time in [0.02, 0.022, 0.03] {
        world.time = time;
        world.run(5.0);
        assert_eq!((world.narrow.limit(), world.found), (None, 0), "{time}");
    }
}

#[test]
fn a_turnaround_that_is_too_short_is_found_to_be_so() {
    let mut world = World::new(10e6, 20e6, f64::INFINITY);
    world.time = 0.6 * world.round_trip;
    // six tenths of the radio's rate are delivered, and what is in flight is acknowledged after the whole round trip
    world.run(2.0);
    assert!(!world.is_bound());
    let (delivered, ..) = world.run(1.0);
    assert!(
        world.found > 0 && delivered > 0.99 * world.radio,
        "{delivered}"
    );
}

#[test]
fn a_link_that_widens_is_used_again() {
    let mut world = World::new(10e6, 2e6, f64::INFINITY);
    world.run(5.0);
    assert!(world.is_bound());
    world.link = 4e6;
    world.run(3.0);
    let (delivered, ..) = world.run(5.0);
    assert!(delivered > 0.97 * world.link, "{delivered}");
    world.link = 20e6;
    world.run(5.0);
    let (delivered, ..) = world.run(5.0);
    assert!(
        !world.is_bound() && delivered > 0.99 * world.radio,
        "{delivered}"
    );
}

#[test]
fn what_was_found_holds_for_the_next_flow_if_it_comes_soon() {
    let mut world = World::new(10e6, 2e6, f64::INFINITY);
    world.run(5.0);
    world.narrow.rest(EXPIRY_TIME / 2.0);
    assert!(world.is_bound());
    let (_, _, round_trip) = world.run(0.3);
    assert!(round_trip < 1.3 * world.round_trip, "{round_trip}");
    world.narrow.rest(EXPIRY_TIME);
    assert!(world.narrow.limit().is_none());
}
