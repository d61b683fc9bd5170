//! The queue of a UE above its modem: what becomes of packets on their way up, by what the radio takes of them.
//!
//! ```text
//!   lines --> ModemReport --> ModemIntake: which count
//!   modem: bytes sent, bytes waiting --> GrantedRate --> rapid::Unsplit
//!                                                          |
//!   packet -- mark  --> Marker: forward, mark, drop  <-----+        (the modem holds all that waits)
//!          `- queue --> Holder: a fair queue of flows <----'        (the modem holds what goes soon)
//!                          `--> passed: into the modem, in order
//!   GrantedRate --> how long a flow's queue may stand ----^      (CoDel's target, and the threshold for ECT(1))
//! ```
//!
//! What is decided is what is decided at the edge of the downlink ([`crate::marker`]); here stands what a UE has to do that a
//! proxy has not: it finds the rate of its radio from the grants that its modem has used ([`GrantedRate`]), and its window is
//! long enough for the base station's grants, which follow what the modem reported some time before (`ahead`). A shorter one
//! would limit the rate itself: what is not in the modem is not in its buffer status report.
//!
//! Source: ours, `docs/algorithms/uplink.md`; late binding after queue management of the downlink, and byte limits above a
//! driver's queue as Linux's dynamic queue limits have them (lib/dynamic_queue_limits.c).
//!
//! What this is *not*: it asks no modem, moves no packet and has no clock.

mod rate;
mod report;
mod standing;
#[cfg(test)]
mod tests;

pub use rate::GrantedRate;
pub use report::{Carried, ModemIntake, ModemReport, Refusal, ReportError};

use crate::ConfigError;
use crate::marker::{self, Codepoint, Counts, Fate, Holder, Left, Marker, MarkerConfig};
use queue::{Ecn, Occupancy, Packet};
use rapid::Unsplit;
use standing::Standing;
use std::net::{IpAddr, Ipv6Addr};
use units::{BitRate, Bytes, Duration, Instant, Rng};

/// One UE, whatever its addresses.
const UE: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
/// The longest window, and the shortest.
const AHEAD: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(500)];

/// What becomes of packets above the modem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UplinkMode {
    /// They are marked (ECN), or dropped early where they cannot be.
    Mark,
    /// They wait, each flow in its turn, until the modem is to have them.
    Queue,
}

impl UplinkMode {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Mark, Self::Queue];
    /// Their names in files, in the same order.
    pub const NAMES: [&'static str; 2] = ["mark", "queue"];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|of| *of == name);
        at.map(|at| Self::ALL[at])
    }
}

/// How a UE's queue above its modem works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkConfig {
    /// Which of the two.
    pub mode: UplinkMode,
    /// The laws of marks, and how old a status may be.
    pub marker: MarkerConfig,
    /// Mode `queue`: what may wait, above zero.
    pub buffer: Bytes,
    /// Mode `queue`: what the modem is to have, as time at the rate of the radio, 0.1 ms to 500 ms. More than the time from
    /// a buffer status report to the grants that follow it.
    pub ahead: Duration,
}

impl UplinkConfig {
    /// # Errors
    /// A value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.marker.check()?;
        let range = |field, ok: bool, value: String, expected: String| {
            ok.then_some(()).ok_or(ConfigError::Range {
                field,
                value,
                expected,
            })
        };
        let [min, max] = AHEAD;
        let is_within = (min..=max).contains(&self.ahead);
        let expected = format!("{min} to {max}");
        range("uplink-ahead", is_within, self.ahead.to_string(), expected)?;
        let has_room = !self.buffer.is_zero();
        let expected = "more than 0 B".to_owned();
        range("uplink-limit", has_room, self.buffer.to_string(), expected)
    }
}

/// What a modem shows, at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModemStatus {
    /// When.
    pub at: Instant,
    /// What has gone out of its buffer since it was started, IP bytes, each counted once.
    pub sent: Bytes,
    /// What waits in its buffer.
    pub queue: Bytes,
}

/// The queue above a modem.
#[derive(Debug)]
pub struct UplinkQueue<P> {
    mode: Mode<P>,
    rate: GrantedRate,
    standing: Standing,
    /// As of the last status.
    found: Option<BitRate>,
    ahead: Duration,
}

#[derive(Debug)]
enum Mode<P> {
    Mark(Box<Marker>),
    Queue(Box<Holder<P>>),
}

impl<P: Packet + Send> UplinkQueue<P> {
    /// An empty queue. `rng` salts the hash of its flows.
    ///
    /// # Errors
    /// As [`UplinkConfig::check`].
    pub fn new(config: &UplinkConfig, rng: Rng) -> Result<Self, ConfigError> {
        config.check()?;
        let mode = match config.mode {
            UplinkMode::Mark => Mode::Mark(Box::new(Marker::new(config.marker)?)),
            UplinkMode::Queue => {
                Mode::Queue(Box::new(Holder::new(config.marker, config.buffer, rng)))
            }
        };
        Ok(Self {
            mode,
            rate: GrantedRate::default(),
            standing: Standing::default(),
            found: None,
            ahead: config.ahead,
        })
    }

    /// Goes on by another configuration, with the rate that is known. No packet is lost: what waits goes on waiting, or, where the
    /// mode is another, goes on at once (`left`). `rng` is as of [`UplinkQueue::new`].
    ///
    /// # Errors
    /// As [`UplinkConfig::check`]: nothing is changed.
    pub fn configure(
        &mut self,
        now: Instant,
        config: &UplinkConfig,
        rng: Rng,
        left: &mut Left<P>,
    ) -> Result<(), ConfigError> {
        config.check()?;
        match (&mut self.mode, config.mode) {
            (Mode::Mark(marker), UplinkMode::Mark) => marker.configure(config.marker)?,
            (Mode::Queue(holder), UplinkMode::Queue) => {
                holder.configure(config.marker, config.buffer);
            }
            (mode, _) => {
                let new = Self::new(config, rng)?;
                if let Mode::Queue(holder) = mode {
                    holder.empty(now, left);
                }
                *mode = new.mode;
            }
        }
        self.ahead = config.ahead;
        Ok(())
    }

    /// The modem shows its state. Without a rate that is known, nothing is held nor marked once the last one is too old.
    pub fn on_status(&mut self, now: Instant, status: &ModemStatus) {
        let waits = self.waits().packets > 0;
        self.found = self.rate.on_status(status, waits);
        let Some(rate) = self.found else {
            return;
        };
        let unsplit = Unsplit {
            capacity: rate,
            share: rate,
            is_contested: false,
            queue: status.queue,
            own_wait: Duration::ZERO,
            reported_at: status.at,
            is_by_chance: false,
        };
        match &mut self.mode {
            Mode::Mark(marker) => marker.on_report(now, UE, &unsplit),
            Mode::Queue(holder) => {
                holder.on_report(now, UE, &unsplit, self.ahead);
                let target = self.standing.on_rate(status.at, rate);
                holder.set_target(UE, target);
                holder.raise_l4s_threshold(UE, target.saturating_sub(standing::TARGET));
            }
        }
    }

    /// The host sends a packet. What goes on into the modem, and what does not, is in `left`; when more may go on.
    pub fn send(&mut self, now: Instant, mut packet: P, left: &mut Left<P>) -> Option<Instant> {
        match &mut self.mode {
            Mode::Mark(marker) => {
                match marker.decide(now, UE, view(&packet)).fate() {
                    Fate::Forward => left.passed.push(packet),
                    Fate::Mark => {
                        packet.mark();
                        left.passed.push(packet);
                    }
                    Fate::Drop => left.dropped.push(packet),
                }
                None
            }
            Mode::Queue(holder) => {
                holder.enqueue(now, UE, packet, left);
                holder.release(now, left)
            }
        }
    }

    /// Takes what may go on by now; when more may.
    pub fn release(&mut self, now: Instant, left: &mut Left<P>) -> Option<Instant> {
        match &mut self.mode {
            Mode::Mark(_) => None,
            Mode::Queue(holder) => holder.release(now, left),
        }
    }

    /// Takes all that waits: nothing is held any more.
    pub fn empty(&mut self, now: Instant, left: &mut Left<P>) {
        if let Mode::Queue(holder) = &mut self.mode {
            holder.empty(now, left);
        }
    }

    /// The rate of the radio as of the last status; none where it is not known.
    pub fn rate(&self) -> Option<BitRate> {
        self.found
    }

    /// What waits here.
    pub fn waits(&self) -> Occupancy {
        match &self.mode {
            Mode::Mark(_) => Occupancy::default(),
            Mode::Queue(holder) => holder.waits(UE),
        }
    }

    /// Mode `mark`: what has become of all packets.
    pub fn counts(&self) -> Option<&Counts> {
        match &self.mode {
            Mode::Mark(marker) => Some(marker.counts()),
            Mode::Queue(_) => None,
        }
    }
}

/// What the marker looks at of a packet.
fn view<P: Packet>(packet: &P) -> marker::Packet {
    marker::Packet {
        flow: packet.flow() as u32,
        bytes: u32::try_from(packet.bytes().get()).unwrap_or(u32::MAX),
        segments: 1,
        codepoint: match packet.ecn() {
            Ecn::NotEct => Codepoint::NotEct,
            Ecn::Ect1 => Codepoint::Ect1,
            Ecn::Ect0 => Codepoint::Ect0,
            Ecn::Ce => Codepoint::Ce,
        },
    }
}
