//! How a running tunnel stands, as the admin socket shows it and `/metrics` counts it.

use crate::inside::{Inside, InsideCounters};
use crate::limits;
use crate::link::LinkCounters;
use crate::output::{Output, OutputStatus};
use multipath::tunnel::{ClassCounters, MtuStats, PathStats, TunnelStats};
use secrecy::Session;
use serde::Serialize;
use units::{Duration, Instant};

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Status {
    pub(crate) version: &'static str,
    pub(crate) pid: u32,
    pub(crate) role: &'static str,
    pub(crate) uptime_seconds: f64,
    /// The threads that move packets, and what one hands over to the other.
    pub(crate) packets: OutputStatus,
    pub(crate) device: DeviceStatus,
    pub(crate) connections: Vec<ConnectionStatus>,
    /// Connections accepted so far.
    pub(crate) accepted: u64,
    /// Paths that moved to another address of the peer.
    pub(crate) moved: u64,
    /// What was refused before it belonged to a connection, by reason.
    pub(crate) refused: std::collections::BTreeMap<&'static str, u64>,
    /// Sessions whose keys were used, and cookies that were asked back under load; 0 at a client, whose paths count.
    pub(crate) sessions: u64,
    pub(crate) cookies: u64,
    /// Changes of the network that concerned paths, by kind; empty at a server.
    pub(crate) network: std::collections::BTreeMap<&'static str, u64>,
    /// Radio reports, and UEs in them, by outcome; empty where none are read.
    pub(crate) reports: std::collections::BTreeMap<&'static str, u64>,
    /// Whether their source is connected.
    pub(crate) reports_connected: Option<bool>,
}

/// The device.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DeviceStatus {
    pub(crate) name: String,
    pub(crate) mtu: usize,
    #[serde(flatten)]
    pub(crate) counters: InsideCounters,
}

/// A connection with a peer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ConnectionStatus {
    /// The client's name; at a client, `server`.
    pub(crate) peer: String,
    pub(crate) established: bool,
    pub(crate) waiting_packets: u64,
    pub(crate) refused_packets: u64,
    pub(crate) dropped_packets: u64,
    pub(crate) held_packets: u64,
    pub(crate) late_packets: u64,
    /// Packets that were larger than any path takes.
    pub(crate) too_big_packets: u64,
    pub(crate) lost_packets: u64,
    pub(crate) duplicate_packets: u64,
    pub(crate) marked_drops: u64,
    /// Of packets that this end sends: `latency` and `bulk`.
    pub(crate) classes: std::collections::BTreeMap<&'static str, ClassStatus>,
    pub(crate) refused_handshakes: u64,
    pub(crate) refused_closes: u64,
    /// Packets whose source is not the peer's.
    pub(crate) spoofed_packets: u64,
    /// Signals of the peer that were refused: unproved, replayed, or of no use.
    pub(crate) refused_signals: u64,
    /// The peer's further addresses, as it has signalled them, by their numbers.
    pub(crate) peer_addresses: std::collections::BTreeMap<u8, String>,
    pub(crate) paths: Vec<PathStatus>,
}

/// What has become of the packets of a class at this end, which sends them.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ClassStatus {
    pub(crate) packets: u64,
    pub(crate) duplicated_packets: u64,
    pub(crate) repeated_packets: u64,
    pub(crate) late_packets: u64,
    pub(crate) given_up_packets: u64,
    pub(crate) marked_packets: u64,
    pub(crate) dropped_packets: u64,
}

impl ClassStatus {
    fn new(counters: &ClassCounters) -> Self {
        Self {
            packets: counters.packets.get(),
            duplicated_packets: counters.duplicated.get(),
            repeated_packets: counters.repeated.get(),
            late_packets: counters.late.get(),
            given_up_packets: counters.given_up.get(),
            marked_packets: counters.marked.get(),
            dropped_packets: counters.dropped.get(),
        }
    }

    /// All of them, by the names of [`Self`]'s fates in `/metrics`.
    pub(crate) fn fates(&self) -> [(&'static str, u64); 7] {
        [
            ("sent", self.packets),
            ("duplicated", self.duplicated_packets),
            ("repeated", self.repeated_packets),
            ("late", self.late_packets),
            ("given-up", self.given_up_packets),
            ("marked", self.marked_packets),
            ("dropped", self.dropped_packets),
        ]
    }
}

/// A path of a connection.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PathStatus {
    pub(crate) name: String,
    pub(crate) remote: String,
    pub(crate) carrier: &'static str,
    pub(crate) controller: String,
    /// `up`, `down` (it does not answer), or `closed`.
    pub(crate) state: &'static str,
    pub(crate) priority: u8,
    pub(crate) cwnd_packets: u64,
    pub(crate) in_flight_packets: u64,
    pub(crate) queued_packets: u64,
    pub(crate) rtt_seconds: Option<f64>,
    pub(crate) min_rtt_seconds: Option<f64>,
    pub(crate) delivery_rate_bps: Option<u64>,
    /// What the radio under it can carry, according to a fresh report.
    pub(crate) radio_rate_bps: Option<u64>,
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) repeated_packets: u64,
    pub(crate) lost_packets: u64,
    pub(crate) received_packets: u64,
    pub(crate) received_bytes: u64,
    pub(crate) invalid_packets: u64,
    /// Whether latency-sensitive packets take it: `active`, `left` or `returning`; none: the scheduler has no classes.
    pub(crate) leg: Option<&'static str>,
    /// Times that they left it, and were back.
    pub(crate) departures: u64,
    pub(crate) returns: u64,
    /// What its packets are sealed with; none: they are not, or there are no keys yet.
    pub(crate) cipher: Option<&'static str>,
    /// Keys that were agreed on, one after the other.
    pub(crate) sessions: u64,
    /// Since when the present keys are there.
    pub(crate) keys_age_seconds: Option<f64>,
    /// The largest IP packet that it carries, of paths over UDP.
    pub(crate) path_mtu: Option<u64>,
    /// How that is known: `fixed`, or where the search stands (RFC 8899 5.2): `base`, `searching`, `search-complete`, `error`.
    pub(crate) path_mtu_state: Option<&'static str>,
    pub(crate) mtu_probes: u64,
    /// Times that the path carried less than had been found.
    pub(crate) mtu_black_holes: u64,
    pub(crate) socket: LinkCounters,
}

impl Status {
    pub(crate) fn new(inside: &Inside, output: &Output, uptime: Duration) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            role: "",
            uptime_seconds: uptime.as_secs_f64(),
            packets: output.status(),
            device: DeviceStatus {
                name: inside.name().to_owned(),
                mtu: inside.mtu(),
                counters: inside.counters(),
            },
            connections: Vec::new(),
            accepted: 0,
            moved: 0,
            refused: std::collections::BTreeMap::new(),
            sessions: 0,
            cookies: 0,
            network: std::collections::BTreeMap::new(),
            reports: std::collections::BTreeMap::new(),
            reports_connected: None,
        }
    }
}

impl ConnectionStatus {
    pub(crate) fn new(peer: String, established: bool, stats: &TunnelStats) -> Self {
        Self {
            peer,
            established,
            waiting_packets: stats.waiting.get(),
            refused_packets: stats.refused.get(),
            dropped_packets: stats.dropped.get(),
            held_packets: stats.held.get(),
            late_packets: stats.reorder.late.get(),
            too_big_packets: stats.too_big.get(),
            lost_packets: stats.reorder.given_up.get(),
            duplicate_packets: (stats.duplicates + stats.reorder.duplicates).get(),
            marked_drops: stats.marked_without_ecn.get(),
            classes: stats
                .classes()
                .iter()
                .map(|(name, counters)| (*name, ClassStatus::new(counters)))
                .collect(),
            refused_handshakes: stats.refused_handshakes.get(),
            refused_closes: stats.refused_closes.get(),
            spoofed_packets: 0,
            refused_signals: stats.signals_received.refused(),
            peer_addresses: std::collections::BTreeMap::new(),
            paths: Vec::new(),
        }
    }
}

impl PathStatus {
    /// How large IP packets on it may be.
    pub(crate) fn set_mtu(&mut self, mtu: &MtuStats, is_ipv6: bool) {
        let outer = limits::ip_udp(is_ipv6) as u64;
        self.path_mtu = mtu.size.map(|size| size.get() + outer);
        let fixed = || mtu.size.map(|_| "fixed");
        self.path_mtu_state = mtu.state.map(|state| state.name()).or_else(fixed);
        self.mtu_probes = mtu.counters.probes;
        self.mtu_black_holes = mtu.counters.black_holes;
    }

    /// With what its packets are sealed by, now.
    pub(crate) fn set_session(&mut self, now: Instant, session: Option<&Session>) {
        self.cipher = session.map(|session| session.algorithm().name());
        let age = session.map(|session| now.saturating_since(session.created()));
        self.keys_age_seconds = age.map(|age| age.as_secs_f64());
    }

    pub(crate) fn new(
        name: String,
        remote: String,
        stats: Option<&PathStats>,
        socket: LinkCounters,
    ) -> Self {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let get = |value: fn(&PathStats) -> u64| stats.map_or(0, value);
        Self {
            name,
            remote,
            carrier: stats.map(|s| s.carrier).unwrap_or_default().name(),
            controller: stats.map_or(String::new(), |s| s.controller.to_owned()),
            state: match stats {
                Some(stats) if stats.is_usable => "up",
                Some(_) => "down",
                None => "closed",
            },
            priority: get(|s| u64::from(s.priority.get())) as u8,
            cwnd_packets: get(|s| s.cwnd.get()),
            in_flight_packets: get(|s| s.in_flight.get()),
            queued_packets: get(|s| s.queued.get()),
            rtt_seconds: seconds(stats.and_then(|s| s.srtt)),
            min_rtt_seconds: seconds(stats.and_then(|s| s.min_rtt)),
            delivery_rate_bps: stats
                .and_then(|s| s.delivery_rate)
                .map(|rate| rate.as_bps()),
            radio_rate_bps: stats.and_then(|s| s.radio_rate).map(|rate| rate.as_bps()),
            sent_packets: get(|s| s.counters.sent.get()),
            sent_bytes: get(|s| s.counters.sent_bytes.get()),
            repeated_packets: get(|s| s.counters.repeated.get()),
            lost_packets: get(|s| s.sender.lost.get()),
            received_packets: get(|s| s.counters.received.get()),
            received_bytes: get(|s| s.counters.received_bytes.get()),
            invalid_packets: get(|s| s.counters.invalid.get()),
            leg: stats.and_then(|s| s.leg).map(|leg| leg.state),
            departures: get(|s| s.leg.map_or(0, |leg| leg.departures)),
            returns: get(|s| s.leg.map_or(0, |leg| leg.returns)),
            cipher: None,
            sessions: 0,
            keys_age_seconds: None,
            path_mtu: None,
            path_mtu_state: None,
            mtu_probes: 0,
            mtu_black_holes: 0,
            socket,
        }
    }
}
