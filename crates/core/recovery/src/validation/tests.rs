//! What holds of all modes, whatever happens.

use super::*;
use proptest::prelude::*;

const RESTART: Bytes = Bytes::new(14_480);

/// What a transport may do next, after a time.
#[derive(Clone, Debug)]
enum Event {
    Resume(u64),
    Sent(u64, bool, bool),
    Ack(u64, bool, bool),
    Congestion(u64),
    RecoveryEnd(u64, bool, bool),
    /// The controller changes its window.
    Window(u64, Option<u64>),
}

fn event() -> impl Strategy<Value = Event> {
    let bytes = 0u64..2_000_000;
    prop_oneof![
        (0u64..2_000_000).prop_map(Event::Resume),
        (bytes.clone(), any::<bool>(), any::<bool>()).prop_map(|(b, l, o)| Event::Sent(b, l, o)),
        (bytes.clone(), any::<bool>(), any::<bool>()).prop_map(|(b, r, e)| Event::Ack(b, r, e)),
        bytes.clone().prop_map(Event::Congestion),
        (bytes.clone(), any::<bool>(), any::<bool>())
            .prop_map(|(b, f, s)| Event::RecoveryEnd(b, f, s)),
        (1_448u64..2_000_000, prop::option::of(2_896u64..2_000_000))
            .prop_map(|(c, s)| Event::Window(c, s)),
    ]
}

proptest! {
    /// An unused window never rises and never falls below the restart window; a loss is never answered by less than what
    /// was in flight, and at its end by no more than what the controller has. ssthresh falls only there.
    #[test]
    fn a_window_never_rises_nor_falls_below_the_restart_window(
        rules in prop::sample::select(Validation::ALL.to_vec()),
        keeps_idle_window in any::<bool>(),
        events in prop::collection::vec((0u64..400_000, event()), 1..80),
    ) {
        let mut validation = WindowValidation::new(ValidationConfig {
            validation: rules,
            restart_window: RESTART,
            keeps_idle_window,
        });
        let (mut now, rto) = (Instant::ZERO, Duration::from_millis(220));
        let mut window = WindowState { cwnd: RESTART, ssthresh: Some(Bytes::MAX) };
        for (after, event) in events {
            now += Duration::from_millis(after);
            let unused = RESTART.min(window.cwnd);
            let (limit, min, may_lower) = match event {
                Event::Window(cwnd, ssthresh) => {
                    window = WindowState {
                        cwnd: Bytes::new(cwnd),
                        ssthresh: ssthresh.map(Bytes::new),
                    };
                    continue;
                }
                Event::Resume(idle) => {
                    let idle = Duration::from_millis(idle).min(now.saturating_since(Instant::ZERO));
                    match validation.on_resume(now, idle, rto, &window) {
                        Resume::Keep => (None, unused, false),
                        Resume::Limit(limit) => (Some(limit), unused, false),
                        Resume::Restart => {
                            prop_assert_eq!(rules, Validation::Off);
                            prop_assert!(idle > rto);
                            (None, unused, false)
                        }
                    }
                }
                Event::Sent(used, is_cwnd_limited, is_open) => {
                    let sent = SentState { used: Bytes::new(used), is_cwnd_limited, is_open, rto };
                    (validation.on_sent(now, &sent, &window), unused, false)
                }
                Event::Ack(bytes, is_round_start, is_recovering) => {
                    let acked = Acked {
                        bytes: Bytes::new(bytes),
                        is_round_start,
                        is_recovering,
                        srtt: Duration::from_millis(20),
                    };
                    (validation.on_ack(now, &acked, &window), unused, false)
                }
                Event::Congestion(flight) => {
                    let flight = Bytes::new(flight);
                    (validation.on_congestion(now, flight, &window), flight.min(window.cwnd), false)
                }
                Event::RecoveryEnd(retransmitted, is_fast, is_spurious) => {
                    let retransmitted = Bytes::new(retransmitted);
                    let end = EpisodeEnd { retransmitted, is_fast, is_spurious };
                    (validation.on_recovery_end(now, &end, &window), Bytes::ZERO, true)
                }
            };
            if let Some(limit) = limit {
                prop_assert!(rules != Validation::Off);
                prop_assert!(limit.cwnd <= window.cwnd, "{limit:?} of {window:?}");
                prop_assert!(limit.cwnd >= min, "{limit:?} of {window:?}");
                prop_assert!(may_lower || limit.ssthresh >= window.ssthresh());
                window = WindowState { cwnd: limit.cwnd, ssthresh: Some(limit.ssthresh) };
            }
        }
    }
}

#[test]
fn rfc_5681_4_1_without_validation_a_sender_restarts_after_a_timeout_or_five_minutes() {
    let rto = Duration::from_millis(220);
    let window = WindowState {
        cwnd: RESTART * 9,
        ssthresh: None,
    };
    for (keeps_idle_window, max) in [(false, rto), (true, NON_VALIDATED_PERIOD)] {
        let mut validation = WindowValidation::new(ValidationConfig {
            validation: Validation::Off,
            restart_window: RESTART,
            keeps_idle_window,
        });
        let now = Instant::ZERO + Duration::from_secs(1_000);
        let mut after = |idle| validation.on_resume(now, idle, rto, &window);
        assert_eq!(after(max), Resume::Keep);
        assert_eq!(after(max + Duration::from_nanos(1)), Resume::Restart);
    }
}

#[test]
fn names_are_read_as_they_are_printed() {
    for (name, validation) in Validation::NAMES.iter().zip(Validation::ALL) {
        assert_eq!((validation.name(), name.parse()), (*name, Ok(validation)));
    }
    assert_eq!(Validation::default(), Validation::Off);
    assert_eq!(
        "newcwv".parse::<Validation>().unwrap_err().to_string(),
        "\"newcwv\" is no window validation; known are off, rfc2861, rfc7661"
    );
}
