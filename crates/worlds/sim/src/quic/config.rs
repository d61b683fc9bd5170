//! Parameters of a connection, and what quinn makes of them.

use super::clock;
use cc::CongestionControl;
use queue::Ecn;
use quinn_cc::{AdapterFactory, MarkFeed, Monitor, RadioFeed, ReportFeed, TraceSink};
use quinn_proto::{AckFrequencyConfig, TransportConfig, VarInt};
use std::sync::Arc;
use units::{Bytes, Instant};

/// Smallest maximum datagram of a QUIC path (RFC 9000 14).
const MIN_DATAGRAM: u64 = 1_200;
/// Maximum payload of a UDP datagram over IPv4, less than what RFC 9000 18.2 allows (65,527).
const MAX_DATAGRAM: u64 = 65_507;
/// Largest buffer: far below the greatest variable-length integer (RFC 9000 16).
const MAX_BUFFER: u64 = 1 << 40;
/// Idle time after which a connection is given up: quinn's default.
const IDLE_TIMEOUT_MS: u32 = 30_000;
/// The client keeps an idle connection alive by a PING this often.
const KEEP_ALIVE: std::time::Duration = std::time::Duration::from_secs(10);

/// How both ends of a connection behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// Payload of a full UDP datagram; 1,200 to 65,507 bytes. It stays what it is: no path MTU
    /// discovery.
    pub(crate) mtu: Bytes,
    /// Initial window in datagrams; 1 or more.
    pub(crate) initial_window: u32,
    /// Receive window of the connection and of its stream: one datagram to 1 TiB.
    pub(crate) receive_buffer: Bytes,
    /// What may be written and not acknowledged: one datagram to 1 TiB.
    pub(crate) send_buffer: Bytes,
    /// Acknowledge every second packet, or after 25 ms; else every packet (draft-ietf-quic-ack-frequency).
    pub(crate) delayed_ack: bool,
    /// What packets are sent as, marks being answered; none: not ECN-capable.
    pub(crate) ecn: Option<Ecn>,
    /// The client reports its bandwidth, and the server takes reports.
    pub(crate) reports: bool,
    /// Streams that the client may have open at a time; with 1 there is one, which both ends use from the beginning.
    pub(crate) streams: u32,
}

/// Why a QUIC connection cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The datagram size is out of range.
    #[error(
        "QUIC datagrams (tcp.mss) are {0}, expected {min} to {max} bytes of UDP payload (RFC 9000 14)",
        min = MIN_DATAGRAM, max = MAX_DATAGRAM
    )]
    Mtu(Bytes),
    /// The initial window is zero.
    #[error("QUIC initial window is 0 datagrams, expected 1 or more (RFC 9002 7.2: 10)")]
    InitialWindow,
    /// A buffer is out of range.
    #[error("QUIC {which} buffer is {bytes}, expected one datagram ({min}) to 1 TiB")]
    Buffer {
        /// Which buffer.
        which: &'static str,
        /// Its size.
        bytes: Bytes,
        /// A datagram.
        min: Bytes,
    },
    /// The connection's window shall be validated.
    #[error(
        "tcp.window-validation = \"{0}\" over QUIC: quinn restarts an idle window, and that is all; use \"off\" or \
         transport = \"tcp\""
    )]
    Validation(recovery::Validation),
}

impl Config {
    /// Whether a connection can be built of it.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let buffers = [("receive", self.receive_buffer), ("send", self.send_buffer)];
        let is_fit = |bytes: Bytes| (self.mtu..=Bytes::new(MAX_BUFFER)).contains(&bytes);
        if !(MIN_DATAGRAM..=MAX_DATAGRAM).contains(&self.mtu.get()) {
            Err(ConfigError::Mtu(self.mtu))
        } else if self.initial_window == 0 {
            Err(ConfigError::InitialWindow)
        } else if let Some(&(which, bytes)) = buffers.iter().find(|(_, b)| !is_fit(*b)) {
            Err(ConfigError::Buffer {
                which,
                bytes,
                min: self.mtu,
            })
        } else {
            Ok(())
        }
    }

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

/// What makes an end's controller. Called once for each path of it.
pub(crate) type BuildController = Box<dyn Fn() -> Box<dyn CongestionControl> + Send + Sync>;

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
