//! What the dashboard shows of the proxy: cells and UEs from radio reports, UEs and flows from the
//! counters of the data path and from the kernel.

use crate::config::Config;
use crate::daemon::Core;
use crate::error::PepError;
use crate::flow::{Flow, Handling};
use crate::meters::micros;
use daemon::clock;
use dash::{Hosted, Kind, Metric, Prepared, Sample, Source};
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use units::Duration;

/// Most UEs that are shown.
const MAX_UES: usize = 200;
/// Younger flows are not shown: most do not live so long.
const MIN_AGE: Duration = Duration::from_secs(1);

/// Gets the dashboard ready; none where there is no server for it, or where it is switched off.
pub(crate) fn prepare(config: &Config) -> Result<Option<Prepared>, PepError> {
    if config.metrics.is_none() {
        return Ok(None);
    }
    Ok(config.dashboard.prepare(Source::Pep, "brimful pep")?)
}

/// Begins to show.
pub(crate) fn start(prepared: Prepared, core: &Arc<Core>) -> Result<Hosted, PepError> {
    let (core, meter) = (Arc::clone(core), prepared.meter());
    let measure = move |sample: &mut Sample| {
        meter.put(sample, false);
        put_ues(&core, sample);
        put_unsplit(&core, sample);
        for flow in sample.busiest(grown(&core)) {
            put_flow(&flow, sample);
        }
    };
    Ok(prepared.start(measure)?)
}

fn put_ues(core: &Core, sample: &mut Sample) {
    let ues = core.shared.registry.ues().into_iter();
    let connected = ues.filter(|(_, ue)| ue.connections.load(Relaxed) > 0);
    for (address, ue) in connected.take(MAX_UES) {
        let bytes = ue.bytes_down.load(Relaxed);
        sample.put_rate(Kind::Ue, &name(address), None, Metric::Goodput, bytes);
    }
}

/// What is not split: what the radio carries of it, and how long its next packet would wait.
fn put_unsplit(core: &Core, sample: &mut Sample) {
    let predictions = core.watch.iter().flat_map(|watch| watch.predictions());
    for (address, of) in predictions {
        let mut put = |metric, value| sample.put(Kind::Ue, &name(address), None, metric, value);
        put(Metric::UnsplitRate, of.rate.as_bps() as f64);
        put(Metric::UnsplitDelay, of.delay.as_secs_f64() * 1e3);
    }
}

/// A UE, as it is called.
fn name(address: IpAddr) -> String {
    address.to_canonical().to_string()
}

/// The flows that are no longer young, with their numbers and what they have carried.
fn grown(core: &Core) -> Vec<(u64, u64, Arc<Flow>)> {
    let now = clock::now();
    let flows = core.shared.registry.flows();
    let flows = flows.iter().filter_map(Weak::upgrade);
    let grown = flows.filter(|flow| now.saturating_since(flow.opened_at) >= MIN_AGE);
    let with_total = grown.map(|flow| {
        let meters = &flow.meters;
        let total = meters.ran_written.load(Relaxed) + meters.wan_written.load(Relaxed);
        (flow.id, total, flow)
    });
    with_total.collect()
}

fn put_flow(flow: &Flow, sample: &mut Sample) {
    let entity = format!("{} #{}", flow.server, flow.id);
    let ue = name(flow.client.ip());
    let Ok(ran) = socket_options::tcp_info(&flow.ran) else {
        return;
    };
    let acked = ran.bytes_acked;
    sample.put_rate(Kind::Flow, &entity, Some(&ue), Metric::Goodput, acked);
    let mut put = |metric, value| sample.put(Kind::Flow, &entity, Some(&ue), metric, value);
    flow.meters.wan_rtt.sample(&flow.wan);
    if let Some(rtt) = micros(ran.rtt) {
        // from the server to the UE and back, without what waits here
        let both = rtt + flow.meters.wan_rtt.smoothed().unwrap_or(Duration::ZERO);
        put(Metric::Rtt, both.as_secs_f64() * 1e3);
    }
    let mss = f64::from(ran.snd_mss);
    put(Metric::Cwnd, f64::from(ran.snd_cwnd) * mss);
    put(Metric::BytesInFlight, f64::from(ran.unacked) * mss);
    put(Metric::ReceiveWindow, f64::from(flow.window.shown()));
    put(Metric::QueueBytes, flow.meters.waiting_down() as f64);
    if flow.handling() != Handling::Plain {
        put(Metric::RanWindow, flow.ran_window() as f64);
        put(Metric::IsSlow, f64::from(u8::from(flow.is_slow())));
    }
    if let Ok(cc) = rustix::net::sockopt::tcp_congestion(&flow.ran) {
        sample.describe(&entity, &cc);
    }
}
