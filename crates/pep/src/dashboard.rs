//! What the dashboard is told of the proxy: cells and UEs from radio reports, UEs and flows from the
//! counters of the data path and from the kernel.

use crate::clock;
use crate::config::Config;
use crate::daemon::Core;
use crate::error::PepError;
use crate::flow::{Flow, Handling};
use crate::meters::micros;
use crate::sys;
use dash::{About, Access, Feed, Hosted, Kind, RadioMeter, Sample, Source, World};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use units::{Duration, Instant};

/// Most flows that are shown: those that have carried most of late.
const MOST_FLOWS: usize = 200;
/// Most UEs that are shown.
const MOST_UES: usize = 200;
/// Younger flows are not shown: most do not live so long.
const YOUNG: Duration = Duration::from_secs(1);
/// In so long, half of what a flow has carried is forgotten.
const HALF_LIFE: Duration = Duration::from_secs(5);

/// The dashboard before it is served.
#[derive(Debug)]
pub(crate) struct Shown {
    feed: Feed,
    meter: RadioMeter,
    access: Access,
    rate: f64,
}

impl Shown {
    /// None where there is none.
    pub(crate) fn new(config: &Config) -> Result<Option<Self>, PepError> {
        if config.metrics.is_none() {
            return Ok(None);
        }
        let feed = Feed::new(About {
            title: "brimful pep".to_owned(),
            world: World::Live,
            source: Source::Pep,
        });
        Ok(config.dashboard.access()?.map(|access| Self {
            meter: RadioMeter::new(&feed),
            feed,
            access,
            rate: config.dashboard.rate,
        }))
    }

    /// Takes radio reports.
    pub(crate) fn meter(&self) -> RadioMeter {
        self.meter.clone()
    }

    /// Begins to show.
    pub(crate) fn start(self, core: &Arc<Core>) -> Result<Hosted, PepError> {
        let (core, meter) = (Arc::clone(core), self.meter);
        let mut flows = Flows::default();
        let measure = move |sample: &mut Sample| {
            meter.put(sample, false);
            let now = clock::now();
            put_ues(&core, sample);
            for flow in flows.busiest(now, &core.shared.registry.flows()) {
                put_flow(&flow, sample);
            }
        };
        Ok(Hosted::start(self.feed, self.access, self.rate, measure)?)
    }
}

fn put_ues(core: &Core, sample: &mut Sample) {
    let ues = core.shared.registry.ues().into_iter();
    let connected = ues.filter(|(_, ue)| ue.connections.load(Relaxed) > 0);
    for (address, ue) in connected.take(MOST_UES) {
        let bytes = ue.bytes_down.load(Relaxed);
        sample.put_rate(Kind::Ue, &name(address), None, "goodput_bps", bytes);
    }
}

/// A UE, as it is called.
fn name(address: IpAddr) -> String {
    address.to_canonical().to_string()
}

fn put_flow(flow: &Flow, sample: &mut Sample) {
    let entity = format!("{} #{}", flow.server, flow.id);
    let ue = name(flow.client.ip());
    let Ok(ran) = sys::tcp_info(&flow.ran) else {
        return;
    };
    let acked = ran.bytes_acked;
    sample.put_rate(Kind::Flow, &entity, Some(&ue), "goodput_bps", acked);
    let mut put = |metric, value| sample.put(Kind::Flow, &entity, Some(&ue), metric, value);
    flow.meters.wan_rtt.sample(&flow.wan);
    if let Some(rtt) = micros(ran.rtt) {
        // from the server to the UE and back, without what waits here
        let both = rtt + flow.meters.wan_rtt.smoothed().unwrap_or(Duration::ZERO);
        put("rtt_ms", both.as_secs_f64() * 1e3);
    }
    let mss = f64::from(ran.snd_mss);
    put("cwnd_bytes", f64::from(ran.snd_cwnd) * mss);
    put("bytes_in_flight", f64::from(ran.unacked) * mss);
    put("receive_window_bytes", f64::from(flow.window.shown()));
    put("queue_bytes", flow.meters.waiting_down() as f64);
    if flow.handling() != Handling::Plain {
        put("ran_window_bytes", flow.ran_window() as f64);
        put("is_slow", f64::from(u8::from(flow.is_slow())));
    }
    if let Ok(cc) = rustix::net::sockopt::tcp_congestion(&flow.ran) {
        sample.describe(&entity, &cc);
    }
}

/// What a flow has carried of late.
#[derive(Debug)]
struct Carried {
    /// In all, bytes.
    total: u64,
    /// Of late, bytes.
    lately: f64,
    seen_at: Instant,
}

/// Which flows are shown.
#[derive(Debug, Default)]
struct Flows {
    carried: BTreeMap<u64, Carried>,
    looked_at: Option<Instant>,
}

impl Flows {
    /// Those that have carried most of late, in the order of their numbers.
    fn busiest(&mut self, now: Instant, flows: &[Weak<Flow>]) -> Vec<Arc<Flow>> {
        let grown = |flow: &Arc<Flow>| now.saturating_since(flow.opened_at) >= YOUNG;
        let mut shown: Vec<Arc<Flow>> = flows
            .iter()
            .filter_map(Weak::upgrade)
            .filter(grown)
            .collect();
        let before = self.looked_at.replace(now).unwrap_or(now);
        let passed = now.saturating_since(before).as_secs_f64();
        let kept = 0.5_f64.powf(passed / HALF_LIFE.as_secs_f64());
        for flow in &shown {
            let meters = &flow.meters;
            let total = meters.ran_written.load(Relaxed) + meters.wan_written.load(Relaxed);
            self.carry(now, flow.id, total, kept);
        }
        self.carried.retain(|_, carried| carried.seen_at == now);
        if shown.len() > MOST_FLOWS {
            let of = |flow: &Arc<Flow>| self.carried.get(&flow.id).map_or(0.0, |c| c.lately);
            shown.sort_by(|a, b| of(b).total_cmp(&of(a)).then(a.id.cmp(&b.id)));
            shown.truncate(MOST_FLOWS);
            shown.sort_by_key(|flow| flow.id);
        }
        shown
    }

    fn carry(&mut self, now: Instant, id: u64, total: u64, kept: f64) {
        let carried = self.carried.entry(id).or_insert(Carried {
            total: 0,
            lately: 0.0,
            seen_at: now,
        });
        let news = total.saturating_sub(carried.total) as f64;
        carried.lately = carried.lately * kept + news;
        (carried.total, carried.seen_at) = (total, now);
    }
}
