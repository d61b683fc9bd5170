//! What the dashboard shows: what waits above the modem and in it, what its radio takes, and how old that is.

use crate::config::Config;
use crate::counts::{About, Counts, Status};
use daemon::clock;
use dash::{DashError, Hosted, Kind, Metric, Prepared, Sample, Source};
use std::sync::Arc;

/// Gets the dashboard ready; none where there is no server for it, or where it is switched off.
pub(crate) fn prepare(config: &Config) -> Result<Option<Prepared>, DashError> {
    if config.metrics.is_none() {
        return Ok(None);
    }
    config.dashboard.prepare(Source::Ue, "brimful ue")
}

/// Begins to show.
pub(crate) fn start(
    prepared: Prepared,
    about: &About,
    counts: &Arc<Counts>,
) -> Result<Hosted, DashError> {
    let (about, counts) = (about.clone(), Arc::clone(counts));
    // what the device has not taken is on no figure
    prepared.start(move |sample| put(&counts.status(&about, clock::now(), |_| 0), sample))
}

fn put(status: &Status, sample: &mut Sample) {
    let Status {
        interface,
        modem,
        queue,
        packets,
        ..
    } = status;
    let passed = packets.passed_bytes;
    sample.put_rate(Kind::Ue, interface, None, Metric::Goodput, passed);
    let marks = sample.grown(interface, Metric::Marks, packets.marked);
    let marks = marks.map(|(marks, time)| marks as f64 / time.as_secs_f64());
    let values = [
        (Metric::QueueBytes, Some(queue.bytes as f64)),
        (Metric::Capacity, modem.rate_bps.map(|rate| rate as f64)),
        (Metric::Marks, marks),
        (Metric::ReportAge, modem.age_s.map(|age| age * 1e3)),
    ];
    for (metric, value) in values {
        if let Some(value) = value {
            sample.put(Kind::Ue, interface, None, metric, value);
        }
    }
    if let Some(bytes) = modem.queue_bytes {
        let name = format!("modem of {interface}");
        sample.put(Kind::Queue, &name, None, Metric::QueueBytes, bytes as f64);
    }
}
