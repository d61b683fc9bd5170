//! The flows that the control thread can reach: measured, taken under control, set, and let go.

use super::snapshot::UeStatus;
use super::telemetry::telemetry;
use super::windows::{FlowHandle, WindowSetter};
use crate::flow::Flow;
use crate::meters::Meters;
use edge::{Actuator, Adopted, UeFlows, Windows};
use rapid::{FlowId, FlowTelemetry};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use units::{Bytes, Duration, Instant};

/// A flow.
#[derive(Debug)]
struct Entry {
    flow: Weak<Flow>,
    meters: Arc<Meters>,
    /// Acknowledged by the UE when last measured, bytes.
    acked: u64,
    /// While it is under control.
    handle: Option<FlowHandle>,
}

/// All flows.
#[derive(Debug)]
pub(super) struct Driver {
    setter: WindowSetter,
    error: Option<String>,
    flows: HashMap<u64, Entry>,
}

impl Driver {
    /// With the best that the kernel permits, up to what is requested.
    pub(super) fn new(wanted: Actuator) -> Self {
        let (setter, error) = WindowSetter::new(wanted);
        Self {
            setter,
            error,
            flows: HashMap::new(),
        }
    }

    /// How windows towards UEs are set.
    pub(super) fn actuator_name(&self) -> &'static str {
        self.setter.name()
    }

    /// Why it is not by our congestion control.
    pub(super) fn actuator_error(&self) -> Option<String> {
        self.error.clone()
    }

    /// A flow that has opened.
    pub(super) fn insert(&mut self, flow: &Arc<Flow>) {
        let entry = Entry {
            flow: Arc::downgrade(flow),
            meters: Arc::clone(&flow.meters),
            acked: 0,
            handle: None,
        };
        self.flows.insert(flow.id, entry);
    }

    /// A flow that has ended, and was let go.
    pub(super) fn remove(&mut self, id: u64) {
        self.flows.remove(&id);
    }

    /// What the allocator needs of a flow under control.
    pub(super) fn measure(&mut self, now: Instant, flow: FlowId) -> Option<FlowTelemetry> {
        let entry = self.flows.get_mut(&flow.0)?;
        let handle = entry.handle.as_mut()?;
        let measured = self.setter.measured(now, &entry.flow, handle);
        let waited = entry.meters.ran_unsent.load(Relaxed);
        let telemetry = telemetry(&entry.meters, &measured);
        // what the socket towards the UE has sent since may open a closed window: neither an event of a socket nor,
        // where nothing else changes, a decision would
        let has_left = entry.meters.ran_unsent.load(Relaxed) < waited;
        let acked = std::mem::replace(&mut entry.acked, measured.bytes_acked);
        if (has_left || acked != measured.bytes_acked)
            && let Some(flow) = entry.flow.upgrade()
            && (flow.wire().is_some() || has_left && flow.window.is_closed())
        {
            flow.show_window();
        }
        Some(telemetry)
    }

    /// Takes a flow under control; none if it has gone.
    pub(super) fn adopt(&mut self, flow: FlowId) -> Option<Adopted> {
        let entry = self.flows.get_mut(&flow.0)?;
        let flow = entry.flow.upgrade()?;
        let handle = self.setter.take(&flow);
        let actuator = handle.actuator();
        entry.handle = Some(handle);
        let mss = socket_options::tcp_info(&flow.ran).map_or(0, |info| info.snd_mss);
        let mss = if mss == 0 {
            crate::listener::USUAL_MSS
        } else {
            mss
        };
        Some(Adopted {
            mss: Bytes::new(u64::from(mss)),
            actuator,
        })
    }

    /// Sets a flow's windows.
    pub(super) fn apply(&mut self, windows: &Windows) {
        if let Some(entry) = self.flows.get_mut(&windows.flow.0)
            && let (Some(handle), Some(flow)) = (&mut entry.handle, entry.flow.upgrade())
        {
            self.setter.apply(&flow, handle, windows);
        }
    }

    /// Lets a flow be spliced and nothing more, if it is still there.
    pub(super) fn release(&mut self, flow: FlowId) {
        if let Some(entry) = self.flows.get_mut(&flow.0) {
            let flow = entry.flow.upgrade();
            if let Some(handle) = entry.handle.take() {
                self.setter.release(flow.as_deref(), &handle);
            }
            if let Some(flow) = flow {
                flow.release();
            }
        }
    }

    /// A UE with what its flows are shown.
    pub(super) fn status(&self, ue: &UeFlows) -> UeStatus {
        let entry = ue.flows.iter().filter_map(|(id, _)| self.flows.get(&id.0));
        let flows: Vec<Arc<Flow>> = entry.filter_map(|r| r.flow.upgrade()).collect();
        let sum = |of: fn(&FlowTelemetry) -> Bytes| {
            let bytes: Bytes = ue.flows.iter().map(|(_, t)| of(t)).sum();
            bytes.get()
        };
        UeStatus {
            address: ue.address,
            cell: ue.cell.0,
            rnti: ue.rnti.0,
            capacity_bps: ue.capacity.map(units::BitRate::as_bps),
            flows: ue.flows.len(),
            slow_flows: flows.iter().filter(|f| f.is_slow()).count(),
            wan_window_bytes: flows.iter().map(|f| u64::from(f.window.shown())).sum(),
            ran_window_bytes: flows.iter().map(|f| f.ran_window()).sum(),
            in_flight_bytes: sum(|t| t.ran_in_flight),
            buffered_bytes: sum(|t| t.buffered),
            ran_rtt_seconds: mean(ue.flows.iter().filter_map(|(_, t)| t.ran_srtt)),
            wan_rtt_seconds: mean(ue.flows.iter().filter_map(|(_, t)| t.wan_srtt)),
        }
    }
}

/// Seconds; none of none.
fn mean(times: impl Iterator<Item = Duration>) -> Option<f64> {
    let (sum, n) = times.fold((0.0, 0u32), |(sum, n), t| (sum + t.as_secs_f64(), n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use edge::Change;

    /// A download that waits for its window, with a byte left unread, while the socket towards the UE empties: no event
    /// of a socket follows, and as long as the decided windows stay as they are no decision either.
    #[test]
    fn a_closed_window_opens_as_what_waits_is_sent_to_the_ue() {
        let (flow, _server) = crate::flow::connected();
        let mut driver = Driver::new(Actuator::Pacing);
        driver.insert(&flow);
        assert!(driver.adopt(FlowId(1)).is_some());
        flow.window
            .decide(rapid::WanWindow::Budget(Bytes::new(100_000)));
        flow.window
            .has_shown(Instant::ZERO, Change::Credit(Bytes::new(1)), 0);
        flow.meters.wan_unread.store(1, Relaxed);
        flow.meters.ran_unsent.store(200_000, Relaxed);
        flow.show_window();
        assert_eq!(flow.window.take_due(), None, "too much waits");
        assert!(driver.measure(Instant::ZERO, FlowId(1)).is_some());
        let due = Some(Change::Open(Bytes::new(99_999)));
        assert_eq!(flow.window.take_due(), due);
    }
}
