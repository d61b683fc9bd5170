//! MELD in QUIC: what it keeps silent, and what it obeys.

use super::pair::{CLEAN, Link, Outcome, Pair};
use super::{MINUTE, goodput};
use cc::meld::{LossDecision, Variant};
use cc::{AckSample, CongestionControl, Ctx, LossSample, PacketStamp, RadioState, Sent};
use quinn_cc::{AdapterFactory, Monitor, RadioFeed, Totals};
use quinn_proto::congestion::ControllerFactory;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use units::{BitRate, Bytes, Duration as Span, Instant as Moment};

const FADING: Link = Link {
    loss: 0.008,
    ..CLEAN
};

#[derive(Default)]
struct Decisions(Vec<LossDecision>);

impl cc::Trace for Decisions {
    fn event(&mut self, _: Moment, _: &'static str, _: u64) {}
    fn loss_decision(&mut self, _: Moment, decision: &LossDecision) {
        self.0.push(*decision);
    }
}

/// A report of 25 PRB at a CQI, every 8 ms, of a queue.
fn report(tbs: u64, queue: u64, seq: u64, at: Duration) -> RadioState {
    RadioState {
        tbs: Bytes::new(tbs),
        best_tbs: Bytes::new(2_292),
        harq_processes: 8,
        queue: Bytes::new(queue),
        served: Bytes::new(15_000),
        harq_retx: 1,
        lost_packets: None,
        period: Span::from_millis(8),
        slots: 8,
        seq,
        made_at: moment(at),
    }
}

fn moment(since: Duration) -> Moment {
    Moment::from_nanos(since.as_nanos() as u64)
}

/// A download with NewReno, MELD round it, and reports that `radio` makes.
fn download(
    meld: Option<Variant>,
    link: Link,
    radio: impl Fn(u64, Duration) -> Option<RadioState> + 'static,
) -> (Outcome, Totals, Vec<LossDecision>) {
    let zero = Instant::now();
    let (feed, monitor) = (RadioFeed::new(), Monitor::new());
    let decisions = Arc::new(Mutex::new(Decisions::default()));
    let factory = AdapterFactory::named(zero, "newreno", meld)
        .expect("newreno")
        .with_feed(feed.clone())
        .with_trace(decisions.clone())
        .with_monitor(monitor.clone());
    let mut pair = Pair::new(zero, link, 5_000_000, 5, factory);
    pair.each_millisecond = Box::new(move |now| {
        let ms = now.as_millis() as u64;
        if ms.is_multiple_of(8)
            && let Some(state) = radio(ms / 8, now)
        {
            feed.push(moment(now), state);
        }
    });
    let outcome = pair.run(MINUTE);
    assert_eq!(outcome.received, 5_000_000);
    let decisions = core::mem::take(&mut decisions.lock().expect("the decisions").0);
    (outcome, monitor.totals(), decisions)
}

#[test]
fn losses_that_the_radio_explains_are_repeated_silently() {
    let good = |seq, now| Some(report(2_292, 0, seq, now));
    let (plain, _, none) = download(None, FADING, good);
    let (de, totals, decisions) = download(Some(Variant::DownloadEnhancement), FADING, good);
    println!("{:.2} and {:.2}", goodput(&plain), goodput(&de));
    assert!(none.is_empty());
    assert!(totals.silent_losses > 10 && totals.radio_states > 100);
    let silent = decisions
        .iter()
        .filter(|decision| !decision.reason.is_congestion())
        .count() as u64;
    assert_eq!(silent, totals.silent_losses);
    assert!(goodput(&de) > 1.5 * goodput(&plain));
}

#[test]
fn losses_that_it_does_not_explain_halve_the_window_as_ever() {
    // equation 1: 1440 / 8 = 180 bytes
    let bad = |seq, now| Some(report(179, 0, seq, now));
    let (plain, plainly, _) = download(None, FADING, bad);
    let (de, totals, decisions) = download(Some(Variant::DownloadEnhancement), FADING, bad);
    assert!(!decisions.is_empty() && totals.silent_losses == 0);
    assert_eq!(totals.congestion_events, plainly.congestion_events);
    assert_eq!(de, plain, "the same to the datagram");
}

#[test]
fn without_reports_and_with_old_ones_every_loss_is_congestion() {
    let variants = [
        Variant::DownloadEnhancement,
        Variant::MixedEnhancement,
        Variant::Default,
    ];
    let (plain, ..) = download(None, FADING, |_, _| None);
    for variant in variants {
        let (missing, totals, _) = download(Some(variant), FADING, |_, _| None);
        assert_eq!(missing, plain);
        assert_eq!(totals.silent_losses, 0);
    }
    let old = |seq, now: Duration| {
        Some(report(
            2_292,
            0,
            seq,
            now.saturating_sub(Duration::from_millis(60)),
        ))
    };
    let (_, totals, decisions) = download(Some(Variant::MixedEnhancement), FADING, old);
    assert_eq!(totals.silent_losses, 0);
    assert!(
        decisions
            .iter()
            .all(|decision| decision.reason.is_congestion())
    );
}

#[test]
fn a_long_queue_is_congestion_to_me_and_not_to_de() {
    // equation 2: 2292 x 8 = 18336 bytes
    let long = |seq, now| Some(report(2_292, 18_336, seq, now));
    let (_, de, _) = download(Some(Variant::DownloadEnhancement), FADING, long);
    let (_, me, _) = download(Some(Variant::MixedEnhancement), FADING, long);
    assert!(de.silent_losses > 0);
    assert_eq!(me.silent_losses, 0);
}

#[test]
fn persistent_congestion_passes_whatever_the_radio_reports() {
    let zero = Instant::now();
    let (feed, monitor) = (RadioFeed::new(), Monitor::new());
    let factory = AdapterFactory::named(zero, "newreno", Some(Variant::DownloadEnhancement))
        .expect("newreno")
        .with_feed(feed.clone())
        .with_monitor(monitor.clone());
    let mut pair = Pair::new(zero, CLEAN, 5_000_000, 6, factory);
    pair.outage = Some((Duration::from_millis(500), Duration::from_millis(2_500)));
    pair.each_millisecond = Box::new(move |now| {
        feed.push(moment(now), report(2_292, 0, now.as_millis() as u64, now));
    });
    let outcome = pair.run(MINUTE);
    assert_eq!(outcome.received, 5_000_000);
    assert!(monitor.totals().persistent_congestion >= 1);
}

#[test]
fn forged_reports_of_a_perfect_radio_raise_no_window_for_ever() {
    // a queue of 200 kB behind 103 kB of bandwidth-delay product overflows again and again
    let perfect = |seq, now| Some(report(u64::MAX / 16, 0, seq, now));
    let (outcome, totals, decisions) = download(Some(Variant::DownloadEnhancement), CLEAN, perfect);
    println!("{:.2} Mbit/s, {totals:?}", goodput(&outcome));
    let bound = 2 * (15_000_000 / 8) / 2;
    for decision in decisions.iter().filter(|d| !d.reason.is_congestion()) {
        assert!(decision.bytes_in_flight <= decision.max_in_flight);
        assert!(decision.max_in_flight.get() < bound, "{decision:?}");
    }
}

/// Its window is what waits by the last report.
#[derive(Clone, Debug)]
struct Reported(Bytes);

impl CongestionControl for Reported {
    fn name(&self) -> &'static str {
        "reported"
    }
    fn on_sent(&mut self, _: &mut Ctx<'_>, _: &Sent) -> PacketStamp {
        PacketStamp::default()
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, _: &AckSample) {}
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &LossSample) {}
    fn on_radio(&mut self, _: &mut Ctx<'_>, state: &RadioState) {
        self.0 = state.queue;
    }
    fn cwnd(&self) -> Bytes {
        self.0
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
}

#[test]
fn a_report_acts_although_quinn_has_no_event() {
    let (zero, feed) = (Instant::now(), RadioFeed::new());
    let factory = AdapterFactory::new(zero, |_| Box::new(Reported(Bytes::new(20_000))));
    let controller = Arc::new(factory.with_feed(feed.clone())).build(zero, 1_440);
    assert_eq!(controller.window(), 20_000);
    for (seq, queue) in [(1, 70_000), (2, 30_000)] {
        let at = Duration::from_millis(seq);
        feed.push(moment(at), report(2_292, queue, seq, at));
        assert_eq!(controller.window(), queue);
        assert_eq!(controller.window(), queue, "and stays");
    }
}
