//! F1-U in passing: captured at an interface, or read from a capture file.
//!
//! Packets are read as they come, by a thread for each interface; a report goes out in each period of the cell. A capture file
//! is played at the pace of its times.

use super::Feed;
use crate::Fault;
use crate::clock;
use crate::hub::Hub;
use f1u::{Config, Counts, Monitor, TunnelCounts};
use gtpu::pcap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tun::Capture;

/// Packets that are read before it is looked at whether a report is due.
const BATCH: usize = 256;
/// The longest packet: what the kernel has not cut yet has this many bytes at most.
const MAX_PACKET: usize = 1 << 16;
/// How long the end of a source may go unnoticed.
const TICK: units::Duration = units::Duration::from_millis(100);

/// Ends a thread with its source.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Captures until the interface goes down.
pub(super) async fn read(
    interface: &str,
    config: &Config,
    buffer: usize,
    feed: &mut Feed,
) -> Result<(), Fault> {
    let capture = Capture::new(interface, gtpu::PORT, buffer)?;
    feed.up(true);
    let mut observer = Observer::new(config, feed);
    let period = config.cell.period;
    let stop = Stop(Arc::new(AtomicBool::new(false)));
    let is_over = Arc::clone(&stop.0);
    let (sender, ended) = oneshot::channel();
    let work = move || {
        let result = observe(&capture, &mut observer, period, &is_over);
        // without a receiver the source has ended
        let _ = sender.send((result, observer.reports));
    };
    std::thread::Builder::new()
        .name("capture".to_owned())
        .spawn(work)?;
    let (result, reports) = ended.await?;
    feed.received += reports;
    Ok(result?)
}

/// Reads and reports until the capture fails, or its source is over.
fn observe(
    capture: &Capture,
    observer: &mut Observer,
    period: units::Duration,
    is_over: &AtomicBool,
) -> io::Result<()> {
    let mut packet = vec![0; MAX_PACKET];
    let mut due = clock::now() + period;
    while !is_over.load(Ordering::Relaxed) {
        let now = clock::now();
        if now >= due {
            observer.report(now);
            observer.lost(capture.take_drops()?);
            // reports that could not be made in time are left out
            due = (due + period).max(now);
        }
        let wait = due.saturating_since(now).min(TICK).as_nanos();
        let wait = Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(wait).unwrap_or(0),
        };
        match poll(&mut [PollFd::new(capture, PollFlags::IN)], Some(&wait)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for _ in 0..BATCH {
            match capture.read(&mut packet) {
                Ok(packet) => observer.monitor.on_packet(clock::now(), packet),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Plays a capture file, once.
pub(super) async fn play(path: &Path, config: &Config, feed: &mut Feed) -> Result<(), Fault> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = tokio::fs::read(path).await.map_err(|e| named(&e))?;
    let mut capture = pcap::Capture::new(&file).map_err(|e| named(&e))?;
    feed.up(true);
    let mut observer = Observer::new(config, feed);
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
            observer.report(due);
            feed.received += 1;
            due += config.cell.period;
        }
        observer.monitor.on_packet(now, captured.packet);
    }
    sleep_until(started + Duration::from_nanos((due - origin).as_nanos())).await;
    observer.report(due);
    feed.received += 1;
    Ok(())
}

/// A monitor, and how much of its counts the metrics have.
struct Observer {
    monitor: Monitor,
    counted: Counts,
    counted_tunnels: TunnelCounts,
    name: String,
    hub: Arc<Hub>,
    reports: u64,
}

impl Observer {
    fn new(config: &Config, feed: &Feed) -> Self {
        Self {
            monitor: Monitor::new(config.clone()),
            counted: Counts::default(),
            counted_tunnels: TunnelCounts::default(),
            name: feed.name.clone(),
            hub: Arc::clone(&feed.hub),
            reports: 0,
        }
    }

    /// Hands over a report of what has passed, and counts it.
    fn report(&mut self, now: units::Instant) {
        self.count();
        self.show(now);
        self.reports += 1;
        self.hub.on_report(&self.name, self.monitor.report(now));
    }

    fn lost(&self, packets: u32) {
        let labels = [("source", self.name.as_str())];
        let metrics = self.hub.metrics();
        metrics.add("brimful_rnis_capture_lost_total", &labels, packets.into());
    }

    fn count(&mut self) {
        let counts = self.monitor.counts();
        let before = std::mem::replace(&mut self.counted, counts);
        let (_, tunnels) = self.monitor.tunnels();
        let tunnels_before = std::mem::replace(&mut self.counted_tunnels, tunnels);
        let metrics = self.hub.metrics();
        let source = ("source", self.name.as_str());
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
            ("renamed", tunnels.changed - tunnels_before.changed),
            ("evicted", tunnels.evicted - tunnels_before.evicted),
        ] {
            let labels = [source, ("kind", kind)];
            metrics.add("brimful_rnis_problems_total", &labels, count);
        }
    }

    fn show(&self, now: units::Instant) {
        let metrics = self.hub.metrics();
        let source = ("source", self.name.as_str());
        let (followed, paired) = self.monitor.followed();
        for (state, bearers) in [("followed", followed), ("paired", paired)] {
            let labels = [source, ("state", state)];
            metrics.set("brimful_rnis_f1u_bearers", &labels, bearers as f64);
        }
        let (tunnels, _) = self.monitor.tunnels();
        metrics.set("brimful_rnis_gtpu_tunnels", &[source], tunnels as f64);
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
