//! F1-U in passing: captured at an interface, or read from a capture file.
//!
//! Packets are read as they come; a report goes out in each period of the cell. A capture file is played at the pace of its
//! times.

use super::Feed;
use crate::Fault;
use crate::clock;
use f1u::{Config, Counts, Monitor};
use gtpu::pcap;
use std::path::Path;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tun::Capture;

/// Packets that are read before it is looked at whether a report is due.
const BATCH: usize = 256;
/// The longest packet: what the kernel has not cut yet has this many bytes at most.
const MAX_PACKET: usize = 1 << 16;

/// Captures until the interface goes down.
pub(super) async fn read(
    interface: &str,
    config: &Config,
    buffer: usize,
    feed: &mut Feed,
) -> Result<(), Fault> {
    let capture = Capture::new(interface, gtpu::PORT, buffer)?;
    let capture = AsyncFd::with_interest(capture, Interest::READABLE)?;
    feed.up(true);
    let mut observer = Observer::new(config);
    let mut clock = interval(Duration::from_nanos(config.cell.period.as_nanos()));
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut packet = vec![0; MAX_PACKET];
    loop {
        tokio::select! {
            biased;
            _ = clock.tick() => {
                observer.report(clock::now(), feed);
                let lost = capture.get_ref().take_drops()?;
                let labels = [("source", feed.name.as_str())];
                let metrics = feed.hub.metrics();
                metrics.add("brimful_rnis_capture_lost_total", &labels, lost.into());
            }
            ready = capture.readable() => {
                let mut ready = ready?;
                for _ in 0..BATCH {
                    match ready.try_io(|capture| {
                        let length = capture.get_ref().read(&mut packet)?.len();
                        Ok(length)
                    }) {
                        Ok(length) => observer.monitor.on_packet(clock::now(), &packet[..length?]),
                        Err(_) => break,
                    }
                }
            }
        }
    }
}

/// Plays a capture file, once.
pub(super) async fn play(path: &Path, config: &Config, feed: &mut Feed) -> Result<(), Fault> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = tokio::fs::read(path).await.map_err(|e| named(&e))?;
    let mut capture = pcap::Capture::new(&file).map_err(|e| named(&e))?;
    feed.up(true);
    let mut observer = Observer::new(config);
    let (started, origin) = (Instant::now(), clock::now());
    let mut first = None;
    let (mut now, mut due) = (origin, origin + config.cell.period);
    while let Some(captured) = capture.next_packet().map_err(|e| named(&e))? {
        let first = *first.get_or_insert(captured.time_ns);
        let since = units::Duration::from_nanos(captured.time_ns.saturating_sub(first));
        // packets of several queues can be out of order in a file by a little
        now = now.max(origin + since);
        while due <= now {
            sleep_until(started + Duration::from_nanos((due - origin).as_nanos())).await;
            observer.report(due, feed);
            due += config.cell.period;
        }
        observer.monitor.on_packet(now, captured.packet);
    }
    sleep_until(started + Duration::from_nanos((due - origin).as_nanos())).await;
    observer.report(due, feed);
    Ok(())
}

/// A monitor, and how much of its counts the metrics have.
struct Observer {
    monitor: Monitor,
    counted: Counts,
}

impl Observer {
    fn new(config: &Config) -> Self {
        Self {
            monitor: Monitor::new(config.clone()),
            counted: Counts::default(),
        }
    }

    /// Hands over a report of what has passed, and counts it.
    fn report(&mut self, now: units::Instant, feed: &mut Feed) {
        self.count(feed);
        self.show(now, feed);
        feed.observed(self.monitor.report(now));
    }

    fn count(&mut self, feed: &Feed) {
        let counts = self.monitor.counts();
        let before = std::mem::replace(&mut self.counted, counts);
        let metrics = feed.hub.metrics();
        let source = ("source", feed.name.as_str());
        let messages = counts.messages - before.messages;
        metrics.add("brimful_rnis_messages_total", &[source], messages);
        let refused = counts.foreign + counts.unreadable - before.foreign - before.unreadable;
        let form = [source, ("reason", "form")];
        metrics.add("brimful_rnis_refused_total", &form, refused);
        for (kind, count) in [
            ("late", counts.backward - before.backward),
            ("unsent", counts.unsent - before.unsent),
            ("unpaired", counts.unpaired - before.unpaired),
            ("reused", counts.reused - before.reused),
            ("idle", counts.idle - before.idle),
            ("too-many", counts.too_many - before.too_many),
        ] {
            metrics.add(
                "brimful_rnis_problems_total",
                &[source, ("kind", kind)],
                count,
            );
        }
    }

    fn show(&self, now: units::Instant, feed: &Feed) {
        let metrics = feed.hub.metrics();
        let source = ("source", feed.name.as_str());
        let (followed, paired) = self.monitor.followed();
        for (state, bearers) in [("followed", followed), ("paired", paired)] {
            let labels = [source, ("state", state)];
            metrics.set("brimful_rnis_f1u_bearers", &labels, bearers as f64);
        }
        let sojourns = self.monitor.estimates(now);
        let sojourns = sojourns.filter_map(|(_, _, estimate)| estimate?.sojourn);
        let (sum, count) = sojourns.fold((0.0, 0_u32), |(sum, count), sojourn| {
            (sum + sojourn.as_secs_f64(), count + 1)
        });
        if count > 0 {
            let mean = sum / f64::from(count);
            metrics.set("brimful_rnis_f1u_sojourn_seconds", &[source], mean);
        }
    }
}
