//! What quinn makes of the parameters of a connection.

use super::clock;
use super::parameters::{BuildController, Config};
use quinn_cc::{AdapterFactory, MarkFeed, Monitor, RadioFeed, ReportFeed, TraceSink};
use quinn_proto::{AckFrequencyConfig, TransportConfig, VarInt};
use std::sync::Arc;
use units::Instant;

/// Idle time after which a connection is given up: quinn's default.
const IDLE_TIMEOUT_MS: u32 = 30_000;
/// The client keeps an idle connection alive by a PING this often.
const KEEP_ALIVE: std::time::Duration = std::time::Duration::from_secs(10);

impl Config {
    /// quinn's parameters of one end. `factory` makes its controller.
    pub(super) fn transport(&self, is_client: bool, factory: AdapterFactory) -> TransportConfig {
        let mtu = u16::try_from(self.mtu.get()).expect("checked");
        let window = VarInt::from_u64(self.receive_buffer.get()).expect("checked");
        let mut transport = TransportConfig::default();
        transport
            .initial_mtu(mtu)
            .min_mtu(mtu)
            .mtu_discovery_config(None)
            .stream_receive_window(window)
            .receive_window(window)
            .send_window(self.send_buffer.get())
            .max_concurrent_bidi_streams(VarInt::from_u32(self.streams))
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .max_idle_timeout(Some(VarInt::from_u32(IDLE_TIMEOUT_MS).into()))
            .keep_alive_interval(is_client.then_some(KEEP_ALIVE))
            .congestion_controller_factory(Arc::new(factory));
        if self.reports {
            quinn_cc::allow_reports(&mut transport);
        }
        if !self.delayed_ack {
            let mut every = AckFrequencyConfig::default();
            every.ack_eliciting_threshold(VarInt::from_u32(0));
            transport.ack_frequency_config(Some(every));
        }
        transport
    }
}

/// What a connection's end shares with its controller.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// What the controller receives and does.
    pub(super) monitor: Monitor,
    /// What it receives reports on the radio.
    pub(super) feed: RadioFeed,
    /// What it receives reports on its peer's bandwidth.
    pub(super) reports: ReportFeed,
    /// What it receives counts of marked packets by.
    pub(super) marks: MarkFeed,
}

/// A factory of controllers of one connection's end.
pub(super) fn factory(
    build: BuildController,
    watch: &Watch,
    seed: u64,
    trace: Option<TraceSink>,
) -> AdapterFactory {
    let factory = AdapterFactory::new(clock::std_instant(Instant::ZERO), move |_| build())
        .with_feed(watch.feed.clone())
        .with_reports(watch.reports.clone())
        .with_marks(watch.marks.clone())
        .with_monitor(watch.monitor.clone())
        .with_seed(seed);
    match trace {
        Some(trace) => factory.with_trace(trace),
        None => factory,
    }
}
