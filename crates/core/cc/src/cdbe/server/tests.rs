//! Vectors from section IV, and what must hold whatever is reported.

use super::*;

const RTT: u64 = 100_000;
const MSS: u64 = 1_448;

/// A server that is fed a window of RTT_min at a time.
struct Server {
    config: Config,
    state: State,
    now: u64,
    in_flight: u64,
}

impl Server {
    fn new(mode: Mode) -> Self {
        Self {
            config: Config::new(mode, MSS),
            state: State::new(),
            now: 1_000_000,
            in_flight: 1 << 40,
        }
    }

    /// Ten acknowledgements in one window, each with these delays in turn.
    fn window_of(&mut self, report: u32, delays: &[i64]) -> Phase {
        for k in 0..10u64 {
            let delay = delays[k as usize % delays.len()] * 1_000;
            // mode `default` counts from the least, which is 60 ms in all of these tests
            let origin = match self.config.mode {
                Mode::Paper => 0,
                Mode::Default => 60_000,
            };
            let event = Event {
                at: self.now,
                report: Some(report),
                delay: Some(delay - origin),
                tick: 1_000,
                rtt: (RTT + delay.unsigned_abs()).saturating_sub(60_000),
                min_rtt: RTT,
                in_flight: self.in_flight,
                delivered: u64::from(report),
                ..Event::default()
            };
            self.state.on_ack(&self.config, &event);
            self.now += RTT / 10;
        }
        self.state.phase
    }

    /// A server of mode `paper` that has left STARTUP with a delay of 60 ms.
    fn settled() -> Self {
        let mut server = Self::new(Mode::Paper);
        while server.window_of(1_000_000, &[60]) == Phase::Startup {}
        assert_eq!(server.state.phase, Phase::Normal);
        server.state.downs = 0;
        server
    }
}

#[test]
fn equation_6_the_gains_of_the_states() {
    assert_eq!(pacing_rate(STARTUP_GAIN, 1_000_000), 2_885_000);
    assert_eq!(pacing_rate(GROW_GAIN, 1_000_000), 1_250_000);
    assert_eq!(pacing_rate(DRAIN_GAIN, 1_000_000), 750_000);
}

#[test]
fn equation_7_the_window_is_twice_the_product() {
    // 1 MB/s for 100 ms are 100 kB
    assert_eq!(window(CWND_GAIN, 1_000_000, RTT), 200_000);
    assert_eq!(window(STARTUP_GAIN, 1_000_000, RTT), 288_500);
}

#[test]
fn equations_8_and_9_mean_and_deviation() {
    let mut tally = Tally::default();
    [50, 60, 70].into_iter().for_each(|delay| tally.add(delay));
    assert_eq!((tally.mean(), tally.least), (60, 50));
    assert_eq!(tally.deviation(50), 30);
    assert_eq!(tally.deviation(60), 0);
}

#[test]
fn section_4_b_when_the_queue_is_up_and_down() {
    let tally = |delay| Tally {
        count: 1,
        sum: delay,
        least: delay,
    };
    // against the window before (alpha 0.1), then against the least (beta 0.25 up, alpha 0.1 down)
    let up = |delay, before, least| is_queue_up(&tally(delay), before, least);
    assert!(up(111, 100, 100) && !up(110, 100, 100));
    assert!(up(126, 126, 100) && !up(125, 125, 100));
    let down = |delay, before, least| is_queue_down(&tally(delay), before, least);
    assert!(down(89, 100, 50) && !down(90, 100, 50));
    assert!(down(109, 109, 100) && !down(110, 110, 100));
}

#[test]
fn figure_4_startup_ends_when_the_report_stops_growing_or_by_its_count() {
    let mut server = Server::new(Mode::Paper);
    let mut report = 1_000_000;
    // a report that doubles goes on until the count
    for round in 1..6 {
        assert_eq!(
            server.window_of(report, &[60]),
            Phase::Startup,
            "round {round}"
        );
        report *= 2;
    }
    server.window_of(report, &[60]);
    assert_eq!(server.window_of(report, &[60]), Phase::Normal);
    // one that stays ends it after two windows
    let mut server = Server::new(Mode::Paper);
    let phases: Vec<_> = (0..4).map(|_| server.window_of(1_000_000, &[60])).collect();
    assert_eq!(phases[1], Phase::Startup);
    assert_eq!(phases[2], Phase::Normal);
}

#[test]
fn figure_4_firm_growth_drains_and_decline_requests_more() {
    let mut server = Server::settled();
    // 60 -> 80 ms is more than a quarter at once
    server.window_of(1_000_000, &[80]);
    assert_eq!(server.window_of(1_000_000, &[80]), Phase::Drain);
    assert_eq!(server.state.gain, DRAIN_GAIN);
    // back by a quarter: NORMAL; at the smallest delay, twice: GROW
    server.window_of(1_000_000, &[60]);
    assert_eq!(server.window_of(1_000_000, &[60]), Phase::Normal);
    let phases: Vec<_> = (0..3).map(|_| server.window_of(1_000_000, &[60])).collect();
    assert!(phases.contains(&Phase::Grow), "{phases:?}");
    // and growth ends GROW
    server.window_of(1_000_000, &[70]);
    let phase = server.window_of(1_000_000, &[70]);
    assert_ne!(phase, Phase::Grow);
}

#[test]
fn section_4_a_a_delay_that_draining_does_not_bring_down_becomes_the_least() {
    let mut server = Server::settled();
    server.window_of(1_000_000, &[120]);
    assert_eq!(server.window_of(1_000_000, &[120]), Phase::Drain);
    // 120 -> 90 ms ends DRAIN, and there it stays
    for _ in 0..4 {
        server.window_of(1_000_000, &[90]);
    }
    assert_eq!(server.state.least, 90_000);
}

#[test]
fn section_4_b_little_in_flight_begins_startup_again_with_what_is_left() {
    let mut server = Server::settled();
    let spent = server.state.rounds;
    assert!(spent < server.config.startup_rounds);
    // gamma = 1/2: 49 of 100 kB
    server.in_flight = 49_000;
    server.window_of(1_000_000, &[60]);
    assert_eq!(server.window_of(1_000_000, &[60]), Phase::Startup);
    server.in_flight = 1 << 40;
    for _ in 0..10 {
        server.window_of(1_000_000, &[60]);
    }
    assert_ne!(server.state.phase, Phase::Startup);
    assert!(server.state.rounds <= server.config.startup_rounds);
}

#[test]
fn a_report_is_bounded_by_a_multiple_of_what_was_delivered() {
    for (mode, times) in [(Mode::Paper, PAPER_BOUND), (Mode::Default, DEFAULT_BOUND)] {
        let mut server = Server::new(mode);
        let mut send_report = |report: u32, delivered: u64| {
            let event = Event {
                at: server.now,
                report: Some(report),
                min_rtt: RTT,
                delivered,
                ..Event::default()
            };
            server.now += 10_000;
            server.state.on_ack(&server.config, &event);
            server.state.report
        };
        // before anything was delivered: the first report that an honest client makes
        assert_eq!(send_report(u32::MAX, 0), u64::from(INITIAL_REPORT));
        assert_eq!(send_report(u32::MAX, 3_000_000), times * 3_000_000);
        assert_eq!(send_report(2_000_000, 3_000_000), 2_000_000);
        assert_eq!(send_report(4_000_000, 0), 4_000_000);
        assert_eq!(server.state.bounded, 2);
    }
}

#[test]
fn what_was_delivered_long_ago_proves_nothing() {
    let mut server = Server::new(Mode::Paper);
    server.window_of(10_000_000, &[60]);
    assert_eq!(server.state.report, 10_000_000);
    // then a hundredth arrives, whatever the client states
    for _ in 0..300 {
        let event = Event {
            at: server.now,
            report: Some(u32::MAX),
            min_rtt: RTT,
            delivered: 500_000,
            ..Event::default()
        };
        server.state.on_ack(&server.config, &event);
        server.now += 10_000;
    }
    assert_eq!(server.state.report, PAPER_BOUND * 500_000);
}

#[test]
fn a_report_of_nothing_leaves_the_least_window() {
    for mode in [Mode::Paper, Mode::Default] {
        let mut server = Server::new(mode);
        server.window_of(1, &[60]);
        assert!(server.state.window(&server.config) >= 2 * MSS);
        assert!(server.state.pacing_rate(&server.config) >= MIN_WINDOW * MSS * 4);
        // none at all changes nothing
        let before = server.state.report;
        let none = Event {
            at: server.now,
            report: None,
            min_rtt: RTT,
            ..Event::default()
        };
        server.state.on_ack(&server.config, &none);
        assert_eq!(server.state.report, before);
    }
}

#[test]
fn default_the_window_makes_room_for_the_target() {
    let mut server = Server::new(Mode::Default);
    for _ in 0..4 {
        server.window_of(1_000_000, &[60]);
    }
    server.state.phase = Phase::Normal;
    // 8 Mbit/s: 19 ms less three octaves of 1.9
    let target = server.state.steering.target(&Constants::DEFAULT, 1_000_000);
    assert_eq!(target, 13_300);
    // nothing in the queue: half as much again, and a quarter of RTT_min
    server.window_of(1_000_000, &[60]);
    assert_eq!(server.state.window(&server.config), 119_950 + 25_000 + MSS);
    assert_eq!(server.state.phase, Phase::Grow);
    for _ in 0..2 {
        server.window_of(1_000_000, &[60 + 13]);
    }
    assert!(
        (990..=1_010).contains(&server.state.gain),
        "{}",
        server.state.gain
    );
    assert_eq!(server.state.phase, Phase::Normal);
    server.window_of(1_000_000, &[60 + 60]);
    assert_eq!(server.state.window(&server.config), 106_650 + MSS);
    assert_eq!(server.state.phase, Phase::Drain);
}

#[test]
fn default_startup_ends_with_a_queue_or_with_losses() {
    let mut server = Server::new(Mode::Default);
    server.window_of(1_000_000, &[60]);
    assert_eq!(server.state.phase, Phase::Startup);
    assert_eq!(server.window_of(1_000_000, &[100]), Phase::Drain);
    let mut server = Server::new(Mode::Default);
    server.window_of(1_000_000, &[60]);
    let event = Event {
        at: server.now,
        lost: 2 * MSS,
        in_flight: 1 << 40,
        min_rtt: RTT,
        ..Event::default()
    };
    server.state.on_ack(&server.config, &event);
    assert_ne!(server.state.phase, Phase::Startup);
}

#[test]
fn default_a_pause_of_the_application_is_no_sample_of_the_path() {
    let mut server = Server::new(Mode::Default);
    for _ in 0..3 {
        server.window_of(2_000_000, &[60]);
    }
    let event = Event {
        at: server.now,
        report: Some(100_000),
        min_rtt: RTT,
        is_app_limited: true,
        ..Event::default()
    };
    server.state.on_ack(&server.config, &event);
    assert_eq!(server.state.report, 2_000_000);
}

#[test]
fn default_windows_are_no_shorter_than_the_clients_and_those_of_the_paper_are() {
    for (mode, windows) in [(Mode::Paper, 200), (Mode::Default, 5)] {
        let mut server = Server::new(mode);
        // RTT_min is 50 us, and acknowledgements come as often
        for k in 0..=200 {
            let event = Event {
                at: 50 * k,
                rtt: 50,
                min_rtt: 50,
                ..Event::default()
            };
            server.state.on_ack(&server.config, &event);
        }
        assert_eq!(server.state.windows, windows, "{mode:?}");
    }
}
