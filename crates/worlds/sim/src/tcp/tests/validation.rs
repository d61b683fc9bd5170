//! Windows that are not used, by each way of validating them (RFC 5681 4.1, RFC 2861, RFC 7661).

use super::super::{Config, Stats};
use super::controllers::real;
use super::pipe::{MSS, PacketOutcome, Pipe, SERVER, config, ms};
use recovery::Validation;
use units::{Bytes, Duration};

const MODES: [Validation; 3] = [Validation::Off, Validation::Rfc2861, Validation::Rfc7661];
const IW: u64 = 10 * MSS;
/// Data of a burst.
const BURST: u64 = 20 * MSS;

/// A connection whose window a transfer has opened, far beyond [`BURST`].
fn opened(controller: &str, validation: Validation) -> Pipe {
    let server = Config {
        validation,
        ..config()
    };
    let ends = [real(controller, MSS), real(controller, MSS)];
    let [near, far] = ends;
    let mut p = Pipe::new([config(), server], near, far);
    p.establish();
    p.transfer(SERVER, 5_000_000);
    p.run_until(p.now + ms(50));
    assert!(cwnd(&p) > 10 * BURST, "{controller}: {}", cwnd(&p));
    p
}

fn cwnd(p: &Pipe) -> u64 {
    p.stats(SERVER).cwnd.get()
}

/// A burst each 50 ms: all of it is acknowledged 30 ms before the next.
fn limit_by_application(p: &mut Pipe, bursts: u64) {
    for _ in 0..bursts {
        p.write(SERVER, BURST);
        p.run_until(p.now + ms(50));
    }
}

/// Sends nothing for a time, then a segment.
fn pause(p: &mut Pipe, pause: Duration) {
    p.run_until(p.now + pause);
    p.write(SERVER, MSS);
    p.run_until(p.now + ms(50));
}

/// Five seconds are more than 20 timeouts of 220 ms (each is found over by the burst after it): each takes half of what
/// is above the burst. What remains of 2 MB is less than a segment. In slow start the window is used from half of it on,
/// and may become what was in flight more than twice that: a burst more.
#[test]
fn an_application_limited_window_decays_with_rfc_2861_and_stays_without() {
    for controller in ["newreno", "cubic"] {
        for validation in MODES {
            let mut p = opened(controller, validation);
            let before = cwnd(&p);
            limit_by_application(&mut p, 100);
            let after = cwnd(&p);
            if validation == Validation::Rfc2861 {
                assert!(
                    (BURST..=3 * BURST).contains(&after),
                    "{controller}: {after}"
                );
            } else {
                assert_eq!(after, before, "{controller} {validation}");
            }
            assert_eq!(p.stats(SERVER).timeouts.get(), 0);
        }
    }
}

/// BBR's window follows from its rate: Linux exempts it, and so does its controller here.
#[test]
fn a_window_that_follows_from_a_rate_is_not_validated() {
    let run = |validation| {
        let mut p = opened("bbr", validation);
        limit_by_application(&mut p, 40);
        pause(&mut p, Duration::from_secs(2));
        p.stats(SERVER)
    };
    let off = run(Validation::Off);
    for validation in MODES {
        assert_eq!(run(validation), off, "{validation}");
    }
}

/// Two and a half timeouts: the second is over. Twice the same.
#[test]
fn an_idle_window_restarts_or_is_halved_or_kept() {
    let run = |validation| -> (u64, Stats) {
        let mut p = opened("newreno", validation);
        let before = p.stats(SERVER);
        pause(&mut p, before.rto * 5 / 2);
        (before.cwnd.get(), p.stats(SERVER))
    };
    for (validation, expected) in [
        (Validation::Off, None),
        (Validation::Rfc2861, Some(4)),
        (Validation::Rfc7661, Some(1)),
    ] {
        let (before, after) = run(validation);
        let expected = expected.map_or(IW, |part| before / part);
        assert_eq!(after.cwnd, Bytes::new(expected), "{validation}");
        assert_eq!(run(validation), (before, after), "{validation}");
    }
}

#[test]
fn rfc_7661_4_4_3_an_idle_window_is_kept_for_five_minutes_and_halved_for_each() {
    for (seconds, part) in [(290, 1), (310, 2), (610, 4)] {
        let mut p = opened("newreno", Validation::Rfc7661);
        let before = cwnd(&p);
        pause(&mut p, Duration::from_secs(seconds));
        assert_eq!(cwnd(&p), before / part, "{seconds} s");
    }
}

/// 4.4.1: a segment of a burst is lost. Half of the burst remains, and of that, a twentieth less for the segment sent
/// again; without validation half of the whole window.
#[test]
fn rfc_7661_4_4_1_a_loss_is_answered_by_what_was_used() {
    for validation in [Validation::Off, Validation::Rfc7661] {
        let mut p = opened("newreno", validation);
        limit_by_application(&mut p, 40);
        let before = cwnd(&p);
        let mut seen = 0;
        p.ways[SERVER].outcomes = Box::new(move |_, _, segment| {
            seen += u64::from(segment.len > 0);
            if seen == 5 && segment.len > 0 {
                PacketOutcome::Drop
            } else {
                PacketOutcome::Pass
            }
        });
        p.write(SERVER, BURST);
        p.run_until(p.now + ms(200));
        let stats = p.stats(SERVER);
        assert_eq!((stats.recoveries.get(), stats.timeouts.get()), (1, 0));
        let after = stats.cwnd.get();
        if validation == Validation::Off {
            assert_eq!(after, before / 2);
        } else {
            assert_eq!(after, (BURST - MSS) / 2);
            assert_eq!(stats.ssthresh, Some(Bytes::new(after)));
        }
    }
}
