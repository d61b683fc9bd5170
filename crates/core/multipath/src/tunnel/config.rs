//! How an end of a tunnel is configured.

use super::buffer::{BufferQueue, CODEL_INTERVAL, CODEL_TARGET};
use super::mtu::PathMtu;
use crate::auth::KeyType;
use crate::packet::{AddressId, PathPriority};
use crate::parity::Fec;
use crate::reorder::ReorderConfig;
use recovery::Validation;
use units::{Bytes, Duration, Packets};

/// Service code of IP packets in a tunnel: `IPMP` in the registry's spelling of four characters
/// (RFC 4340 8.1.2); ours, not registered.
pub const SERVICE: u32 = u32::from_be_bytes(*b"IPMP");
/// Waiting packets at most (Pieska et al. 2024, table 1).
pub const SCHEDULER_BUFFER: Packets = Packets::new(1_500);
/// A path's controller where none is given.
pub const CONTROLLER: &str = "bbr2";

/// Of a connection, the same for all its paths.
#[derive(Clone, Debug, PartialEq)]
pub struct TunnelConfig {
    /// Service code of Requests; a server refuses others.
    pub service: u32,
    /// Types of keys, the preferred one first: a client offers one of each, a server takes the first one that it is
    /// offered (RFC 9897 3.2.4).
    pub key_types: &'static [KeyType],
    /// Packets that wait for a path at most; more are rejected.
    pub scheduler_buffer: Packets,
    /// How those that wait are signalled to the senders outside.
    pub scheduler_queue: BufferQueue,
    /// Of CoDel there: the standing sojourn time that is tolerated.
    pub codel_target: Duration,
    /// Of CoDel there: for how long it may be exceeded.
    pub codel_interval: Duration,
    /// How received packets are put in order.
    pub reorder: ReorderConfig,
    /// Partial reliability: how old a lost packet may be to be sent again; none: never. With it,
    /// fast loss detection is off: the reordering waits for what is sent again, as long as its rule
    /// allows.
    pub reliability: Option<Duration>,
    /// How long after it came a latency-sensitive packet is of use: of schedulers with classes (150 ms, ITU-T G.114).
    pub latency_deadline: Duration,
    /// Forward error correction of latency-sensitive packets: whether this end sends parities to a peer that rebuilds packets, and
    /// rebuilds them itself.
    pub fec: Fec,
    /// Longest payload. An acknowledgement goes with data only if both together are no longer than
    /// a packet with such a payload.
    pub mtu: usize,
    /// Full data packets are written in compact form ([`crate::packet::Compact`]), which has no room for reports, so that
    /// these have packets of their own; and numbers of the connection begin at that of each end's first packet. The same
    /// at both ends.
    pub is_compact: bool,
    /// Of data packets with less than 400 bytes so many are acknowledged at once, or what has come in 5 ms; of all others two.
    /// At least 2.
    pub short_ack_ratio: u32,
    /// Sequence window that is requested (RFC 4340 7.5.2), in packets.
    pub sequence_window: u64,
    /// A path that has received nothing for so long is sent a Sync (5 s); none: only paths with data in
    /// flight are watched, and a stream that does not answer is not found.
    pub keepalive: Option<Duration>,
    /// First wait for an answer of the handshake; doubles each time (300 ms; RFC 4340 8.1.1 has 1 s for an end with a
    /// single path).
    pub handshake_retry: Duration,
    /// Longest wait between attempts of the handshake (600 ms; RFC 4340 8.1.1: 64 s).
    pub handshake_max_retry: Duration,
    /// Attempts before a path is given up, at least 1 (8: 4.5 s in all).
    pub handshake_attempts: u32,
    /// Longest wait between the Syncs that a path is sent which does not answer; the first is 200 ms, and
    /// it doubles.
    pub max_probe_interval: Duration,
    /// A radio report that is older counts no more: without a fresh one schedulers reckon with what the path
    /// delivers (100 ms, a few times the period of usual reports).
    pub report_max_age: Duration,
    /// Which rules validate the congestion window of a path that is not used.
    pub window_validation: Validation,
}

impl Default for TunnelConfig {
    fn default() -> Self {
        Self {
            service: SERVICE,
            key_types: &[KeyType::Plain],
            scheduler_buffer: SCHEDULER_BUFFER,
            scheduler_queue: BufferQueue::default(),
            codel_target: CODEL_TARGET,
            codel_interval: CODEL_INTERVAL,
            reorder: ReorderConfig::default(),
            reliability: None,
            latency_deadline: Duration::from_millis(150),
            fec: Fec::default(),
            mtu: 1_400,
            is_compact: false,
            short_ack_ratio: 2,
            sequence_window: 1 << 17,
            keepalive: Some(Duration::from_secs(5)),
            report_max_age: Duration::from_millis(100),
            handshake_retry: Duration::from_millis(300),
            handshake_max_retry: Duration::from_millis(600),
            handshake_attempts: 8,
            max_probe_interval: Duration::from_secs(2),
            window_validation: Validation::Off,
        }
    }
}

/// What carries the packets of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// Datagrams (DCCP in UDP): lost packets stay lost, the path has a controller here.
    #[default]
    Dccp,
    /// A byte stream (TCP): nothing is lost or overtaken, and the stream's own congestion control
    /// governs; the shell reports its state (see [`StreamState`]).
    Stream,
}

impl Carrier {
    /// All of them, by the names that files use.
    pub const NAMES: [(&'static str, Self); 2] = [
        (Self::Dccp.name(), Self::Dccp),
        (Self::Stream.name(), Self::Stream),
    ];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dccp => "dccp",
            Self::Stream => "tcp",
        }
    }

    /// The carrier of that name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.into_iter().find(|(of, _)| *of == name);
        found.map(|(_, carrier)| carrier)
    }

    /// The controllers that a live path can have, that of a path for which none is given first: ours by their names in
    /// [`cc::CONTROLLERS`], or what the kernel calls the same ones, if it has them.
    pub fn controllers(self) -> Vec<&'static str> {
        let of_paths = cc::CONTROLLERS.iter().filter(|of| of.is_for_paths);
        let (default, names): (_, Vec<&'static str>) = match self {
            Self::Dccp => (CONTROLLER, of_paths.map(|of| of.name).collect()),
            Self::Stream => ("cubic", of_paths.map(|of| of.linux).collect()),
        };
        let others = names.into_iter().filter(|name| *name != default);
        core::iter::once(default).chain(others).collect()
    }
}

/// Of a path.
#[derive(Clone, Debug)]
pub struct PathConfig {
    /// Congestion control by its name in [`cc::build`]; not used with [`Carrier::Stream`].
    pub controller: &'static str,
    /// What carries its packets.
    pub carrier: Carrier,
    /// What this end thinks of the path.
    pub priority: PathPriority,
    /// Number of the local address.
    pub address: AddressId,
    /// A full packet on the path with all its headers: what congestion control takes every packet
    /// for.
    pub packet_size: Bytes,
    /// What stands below and beside DCCP takes of that: 28 bytes of IPv4 and UDP, 48 of IPv6 and UDP, and what seals a packet.
    pub lower_headers: Bytes,
    /// How large its datagrams may be; of a stream, of no effect.
    pub mtu: PathMtu,
    /// What lies around a payload in a datagram at most.
    pub around: Bytes,
}

impl Default for PathConfig {
    fn default() -> Self {
        Self {
            controller: CONTROLLER,
            carrier: Carrier::Dccp,
            priority: PathPriority::PRIMARY,
            address: AddressId::default(),
            packet_size: Bytes::new(1_500),
            lower_headers: Bytes::new(28),
            mtu: PathMtu::Any,
            around: Bytes::ZERO,
        }
    }
}

/// The state of the byte stream under a path, reported by the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// Congestion window.
    pub cwnd: Bytes,
    /// Sent and not acknowledged.
    pub in_flight: Bytes,
    /// Written and not sent.
    pub unsent: Bytes,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Minimum round-trip time.
    pub min_rtt: Option<Duration>,
    /// Rate of delivery.
    pub delivery_rate: Option<units::BitRate>,
}
