//! Parameters of a connection, whatever is made of them.

use cc::CongestionControl;
use queue::Ecn;
use units::Bytes;

/// Smallest maximum datagram of a QUIC path (RFC 9000 14).
const MIN_DATAGRAM: u64 = 1_200;
/// Maximum payload of a UDP datagram over IPv4, less than what RFC 9000 18.2 allows (65,527).
const MAX_DATAGRAM: u64 = 65_507;
/// Largest buffer: far below the greatest variable-length integer (RFC 9000 16).
const MAX_BUFFER: u64 = 1 << 40;

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
    /// This program was built without QUIC.
    #[error(
        "QUIC is no part of this program, which has it where a system does: use transport = \"tcp\", or \
         run the scenario by brimful run"
    )]
    Absent,
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
        } else if cfg!(not(feature = "quic")) {
            Err(ConfigError::Absent)
        } else {
            Ok(())
        }
    }
}

/// What makes an end's controller. Called once for each path of it.
pub(crate) type BuildController = Box<dyn Fn() -> Box<dyn CongestionControl> + Send + Sync>;
