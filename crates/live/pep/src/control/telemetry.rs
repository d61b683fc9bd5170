//! The measurements of a flow that the allocator gets: from the counters of the data path, and from the kernel
//! without a system call (BPF) or, where that is not to be had, by `TCP_INFO` now and then.

use super::bpf::Measured;
use crate::flow::Flow;
use crate::meters::{Meters, micros};
use rapid::FlowTelemetry;
use socket_options::TcpInfo;
use std::sync::atomic::Ordering::Relaxed;
use units::Bytes;

/// What the kernel reports of the connection towards the UE.
pub(super) fn measured_by_socket(flow: &Flow) -> Measured {
    socket_options::tcp_info(&flow.ran)
        .map_or_else(|_| Measured::default(), |info| measured_of(&info))
}

fn measured_of(info: &TcpInfo) -> Measured {
    let cwnd = u64::from(info.snd_cwnd) * u64::from(info.snd_mss);
    Measured {
        bytes_acked: info.bytes_acked,
        bytes_resent: info.bytes_retrans,
        srtt: info.rtt,
        min_rtt: info.min_rtt,
        cwnd: u32::try_from(cwnd).unwrap_or(u32::MAX),
        peer_window: if info.snd_wnd == 0 {
            u32::MAX
        } else {
            info.snd_wnd
        },
    }
}

/// Puts both together, and passes to the data path what the socket has not sent yet.
///
/// What the socket towards the UE holds is what was handed to it less what has been acknowledged;
/// of that, as much as both windows allow is in flight, for the kernel sends at once what it may.
pub(super) fn telemetry(meters: &Meters, measured: &Measured) -> FlowTelemetry {
    let written = meters.ran_written.load(Relaxed);
    let held = written.saturating_sub(measured.bytes_acked);
    let window = u64::from(measured.cwnd.min(measured.peer_window));
    let in_flight = held.min(window);
    meters.ran_unsent.store(held - in_flight, Relaxed);
    FlowTelemetry {
        wan_arrived: Bytes::new(meters.received()),
        wan_min_rtt: meters.wan_rtt.min(),
        wan_srtt: meters.wan_rtt.smoothed(),
        ran_min_rtt: micros(measured.min_rtt),
        ran_srtt: micros(measured.srtt),
        ran_rtt: None,
        ran_acked: Bytes::new(measured.bytes_acked),
        ran_resent: Bytes::new(measured.bytes_resent),
        ran_in_flight: Bytes::new(in_flight),
        buffered: Bytes::new(meters.unhanded() + held - in_flight),
    }
}
