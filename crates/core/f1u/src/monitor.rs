//! All bearers of a cell: messages in, radio reports out.

use crate::bearer::{Bearer, Estimate, Sent, StatusError};
use crate::core_side::Arrivals;
use crate::pairing::Pairing;
use crate::tunnels::{Endpoint, TunnelCounts, TunnelMap};
use core::net::IpAddr;
use gtpu::nru::{Assistance, DeliveryStatus, Frame, UserData};
use gtpu::outer::Datagram;
use gtpu::pdcp::{SnLength, number};
use gtpu::{Message, MessageKind, NR_RAN_CONTAINER};
use rnis::Rnti;
use rnis::adapters::CellProfile;
use rnis::identity::{UeId, UeMap};
use std::collections::{BTreeMap, BTreeSet};
use units::{Bytes, Duration, Instant};

/// Bearers of a cell that are followed, at most: as many as a report may have UEs.
pub const MAX_BEARERS: usize = 4_096;
/// Tunnels upwards that are not paired, at most; for one more all of them begin anew.
const MAX_UNPAIRED: usize = 256;
/// Statuses of tunnels that are not paired that are looked at, at most, from one report to the next: each is compared with all
/// bearers.
const MAX_ATTEMPTS: u32 = 16;
/// So many statuses in a row that do not fit show that the pair was wrong.
const MISFITS: u32 = 8;
/// Tunnels whose UE is remembered, at most: those of both directions, on N3 too.
const MAX_TUNNELS: usize = 4 * MAX_BEARERS;
/// PDUs of all bearers together that are remembered, at most, from one report to the next.
const MAX_REMEMBERED: usize = 1 << 18;

/// One direction of a bearer's F1-U, or that of an Xn-U.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tunnel {
    /// Who sends.
    pub from: IpAddr,
    /// Who receives, and has given out the identifier.
    pub to: IpAddr,
    /// The tunnel endpoint identifier.
    pub teid: u32,
}

impl Tunnel {
    /// The end at which its packets arrive.
    pub const fn end(self) -> Endpoint {
        Endpoint {
            at: self.to,
            teid: self.teid,
        }
    }
}

/// What to make of F1-U.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cell, as F1-U does not describe it.
    pub cell: CellProfile,
    /// Addresses of UEs by the TEID of their tunnel downwards, and their RNTIs.
    pub ues: UeMap,
    /// The distributed units whose bearers are the cell's; empty for all.
    pub units: Vec<IpAddr>,
    /// Width of PDCP's sequence numbers.
    pub sn_length: SnLength,
    /// Each packet has an SDAP header of one octet behind PDCP's.
    pub has_sdap: bool,
    /// The distributed units report changes within this.
    pub status_period: Duration,
    /// A bearer of which nothing passes for this is gone: End Markers get lost.
    pub idle_timeout: Duration,
}

/// What has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages of GTP-U.
    pub messages: u64,
    /// Packets that are none.
    pub foreign: u64,
    /// Frames of the NR user plane that could not be read.
    pub unreadable: u64,
    /// Frames with user data.
    pub user_data: u64,
    /// Delivery statuses.
    pub statuses: u64,
    /// Of these, such that went backwards.
    pub backward: u64,
    /// Of these, such that state what was never sent.
    pub unsent: u64,
    /// Of these, such whose bearer is not known yet.
    pub unpaired: u64,
    /// Bearers that ended with an End Marker or a final frame.
    pub ended: u64,
    /// Bearers that ended without.
    pub idle: u64,
    /// Bearers on tunnels that were another's before.
    pub reused: u64,
    /// PDUs of bearers beyond [`MAX_BEARERS`], and bearers that were forgotten because too much was outstanding in all.
    pub too_many: u64,
}

/// A bearer that is followed.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) bearer: Bearer,
    /// The UE's address by configuration, which is not overruled by packets.
    pub(crate) configured: Option<IpAddr>,
    pub(crate) rnti: Rnti,
    seen: Instant,
    pub(crate) cqi: Option<u8>,
    pub(crate) uplink: Option<Tunnel>,
}

#[derive(Debug)]
pub(crate) enum Upwards {
    Paired { of: Tunnel, misfits: u32 },
    Unpaired(Pairing),
}

/// Follows the bearers of a cell.
#[derive(Debug)]
pub struct Monitor {
    pub(crate) config: Config,
    pub(crate) bearers: BTreeMap<Tunnel, Followed>,
    pub(crate) upwards: BTreeMap<Tunnel, Upwards>,
    pub(crate) arrivals: Arrivals,
    pub(crate) tunnels: TunnelMap,
    /// To pair, since the last report.
    attempts: u32,
    pub(crate) rntis: BTreeSet<Rnti>,
    /// Of each UE's reports.
    pub(crate) seq: BTreeMap<Rnti, u64>,
    pub(crate) reported_at: Option<Instant>,
    pub(crate) slot: u64,
    counts: Counts,
}

impl Monitor {
    /// Of a cell of which nothing has been seen.
    pub fn new(config: Config) -> Self {
        let configured = config.ues.ues().iter().flat_map(|ue| &ue.ids);
        let rntis = configured.filter_map(|id| match id {
            UeId::Rnti(rnti) => Some(*rnti),
            _ => None,
        });
        Self {
            rntis: rntis.collect(),
            tunnels: TunnelMap::new(MAX_TUNNELS, config.idle_timeout),
            config,
            bearers: BTreeMap::new(),
            upwards: BTreeMap::new(),
            arrivals: Arrivals::default(),
            attempts: 0,
            seq: BTreeMap::new(),
            reported_at: None,
            slot: 0,
            counts: Counts::default(),
        }
    }

    /// What has passed so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Tunnels whose UE is known or will be by the next packet, and what has become of tunnels.
    pub fn tunnels(&self) -> (usize, TunnelCounts) {
        (self.tunnels.len(), self.tunnels.counts())
    }

    /// Bearers that are followed, and of how many of them the queue is known.
    pub fn followed(&self) -> (usize, usize) {
        let paired = self.bearers.values().filter(|of| of.uplink.is_some());
        (self.bearers.len(), paired.count())
    }

    /// What is known of each bearer: its tunnel downwards, its UE, and the estimate. Of bearers without a status there is none.
    pub fn estimates(
        &self,
        now: Instant,
    ) -> impl Iterator<Item = (Tunnel, Option<IpAddr>, Option<Estimate>)> {
        self.bearers.iter().map(move |(tunnel, of)| {
            let estimate = of.bearer.has_status().then(|| of.bearer.estimate(now));
            (*tunnel, self.address(*tunnel, of), estimate)
        })
    }

    /// A packet that was captured at `now`: an IP packet, or the beginning of one.
    pub fn on_packet(&mut self, now: Instant, packet: &[u8]) {
        let datagram = Datagram::read(packet);
        let Some(datagram) = datagram.filter(|of| of.destination_port == gtpu::PORT) else {
            self.counts.foreign += 1;
            return;
        };
        let (mut rest, mut whole) = (datagram.payload, datagram.payload_length);
        // where the kernel has not cut what it was handed in one piece there are several
        while !rest.is_empty() {
            let Ok((message, after)) = Message::read_cut(rest, whole) else {
                self.counts.foreign += 1;
                return;
            };
            self.counts.messages += 1;
            let tunnel = Tunnel {
                from: datagram.source,
                to: datagram.destination,
                teid: message.teid,
            };
            self.on_message(now, tunnel, &message);
            whole = whole.saturating_sub(rest.len() - after.len());
            rest = after;
        }
    }

    fn on_message(&mut self, now: Instant, tunnel: Tunnel, message: &Message<'_>) {
        match message.kind {
            MessageKind::EndMarker => {
                self.tunnels.on_end(tunnel.end());
                self.end(tunnel);
            }
            MessageKind::GPdu => {
                self.on_upwards(now, tunnel, message);
                let Some(content) = message.extension(NR_RAN_CONTAINER) else {
                    self.on_core_side(now, tunnel, message);
                    return;
                };
                match Frame::read(content) {
                    Ok(Frame::UserData(frame)) => self.on_user_data(now, tunnel, &frame, message),
                    Ok(Frame::DeliveryStatus(status)) => self.on_status(now, tunnel, &status),
                    Ok(Frame::Assistance(assistance)) => self.on_assistance(tunnel, &assistance),
                    Err(_) => self.counts.unreadable += 1,
                }
            }
            _ => {}
        }
    }

    /// Whether a distributed unit is of this cell.
    fn is_ours(&self, unit: IpAddr) -> bool {
        self.config.units.is_empty() || self.config.units.contains(&unit)
    }

    fn on_user_data(
        &mut self,
        now: Instant,
        tunnel: Tunnel,
        frame: &UserData,
        message: &Message<'_>,
    ) {
        if !self.is_ours(tunnel.to) {
            return;
        }
        self.counts.user_data += 1;
        if !self.bearers.contains_key(&tunnel) && !self.follow(now, tunnel) {
            return;
        }
        let length = self.config.sn_length;
        let header = length.header() + usize::from(self.config.has_sdap);
        let Some(of) = self.bearers.get_mut(&tunnel) else {
            return;
        };
        of.seen = now;
        if let Some(to) = frame.discard_to {
            of.bearer.on_discard(now, None, to);
        }
        for block in frame.discard.iter().filter(|block| block.size > 0) {
            let last = block.start.wrapping_add(u32::from(block.size) - 1);
            of.bearer.on_discard(now, Some(block.start), last);
        }
        let (Some(sn), Some(packet)) = (
            number(message.payload, length),
            message.payload_length.checked_sub(header),
        ) else {
            return;
        };
        let mut is_new = false;
        if of.configured.is_none() {
            let inside = message.payload.get(header..);
            let ends = inside.and_then(|inside| gtpu::inner::ends(inside, packet));
            let (map, end) = (&mut self.tunnels, tunnel.end());
            let is_others = match (ends, self.arrivals.take(now, packet)) {
                (Some((_, destination)), _) => map.on_packet(now, end, destination),
                (None, Some(destination)) => map.on_match(now, end, destination),
                (None, None) => {
                    map.touch(now, end);
                    false
                }
            };
            if is_others {
                // the tunnel is another UE's now
                of.bearer = Bearer::new(length, self.config.status_period, now);
                is_new = true;
            }
        }
        let sent = Sent {
            sequence: frame.sequence,
            sn,
            bytes: Bytes::new(packet as u64),
        };
        is_new |= of.bearer.on_sent(now, sent);
        if is_new {
            self.counts.reused += 1;
            let uplink = of.uplink.take();
            self.unpair(uplink);
        }
    }

    /// Begins to follow a bearer: false if there are too many.
    fn follow(&mut self, now: Instant, tunnel: Tunnel) -> bool {
        if self.bearers.len() >= MAX_BEARERS {
            self.counts.too_many += 1;
            return false;
        }
        let id = [UeId::Teid(tunnel.teid)];
        let configured = self.config.ues.address(&id).ok();
        let rnti = self.config.ues.rnti(&id).ok();
        let rnti = rnti.unwrap_or_else(|| self.free_rnti());
        let followed = Followed {
            bearer: Bearer::new(self.config.sn_length, self.config.status_period, now),
            configured,
            rnti,
            seen: now,
            cqi: None,
            uplink: None,
        };
        self.rntis.insert(rnti);
        self.bearers.insert(tunnel, followed);
        true
    }

    /// The lowest number that no UE has: fewer than [`MAX_BEARERS`] are taken, and those that are configured.
    fn free_rnti(&self) -> Rnti {
        let mut free = (1..=u16::MAX).map(Rnti);
        let found = free.find(|rnti| !self.rntis.contains(rnti));
        found.unwrap_or(Rnti(u16::MAX))
    }

    fn on_status(&mut self, now: Instant, tunnel: Tunnel, status: &DeliveryStatus) {
        if !self.is_ours(tunnel.from) {
            return;
        }
        self.counts.statuses += 1;
        let Some(of) = self.pair(tunnel, status) else {
            self.counts.unpaired += 1;
            return;
        };
        let Some(followed) = self.bearers.get_mut(&of) else {
            return;
        };
        followed.seen = now;
        self.tunnels.touch(now, of.end());
        let result = followed.bearer.on_status(now, status);
        match result {
            Ok(()) => {}
            Err(StatusError::Backward) => self.counts.backward += 1,
            Err(StatusError::Unsent) => self.counts.unsent += 1,
        }
        self.judge_pair(tunnel, of, result.is_err());
        if status.is_final {
            self.end(of);
        }
    }

    /// The bearer of a tunnel upwards, once it is known.
    fn pair(&mut self, tunnel: Tunnel, status: &DeliveryStatus) -> Option<Tunnel> {
        let number = status.transmitted.or(status.delivered);
        if let Some(Upwards::Paired { of, .. }) = self.upwards.get(&tunnel) {
            return Some(*of);
        }
        if self.attempts >= MAX_ATTEMPTS {
            return None;
        }
        self.attempts += 1;
        if !self.upwards.contains_key(&tunnel) {
            let is_paired = |of: &Upwards| matches!(of, Upwards::Paired { .. });
            let paired = self.upwards.values().filter(|of| is_paired(of)).count();
            if self.upwards.len() - paired >= MAX_UNPAIRED {
                self.upwards.retain(|_, of| is_paired(of));
            }
        }
        let unpaired = || Upwards::Unpaired(Pairing::default());
        self.upwards.entry(tunnel).or_insert_with(unpaired);
        let Some(Upwards::Unpaired(pairing)) = self.upwards.get_mut(&tunnel) else {
            return None;
        };
        let candidates = self.bearers.iter().filter(|(down, followed)| {
            (down.to, down.from) == (tunnel.from, tunnel.to) && followed.uplink.is_none()
        });
        let candidates = candidates.map(|(down, followed)| (*down, &followed.bearer));
        let of = pairing.on_status(number?, candidates)?;
        self.bearers.get_mut(&of)?.uplink = Some(tunnel);
        self.upwards
            .insert(tunnel, Upwards::Paired { of, misfits: 0 });
        Some(of)
    }

    /// Takes a pair apart whose statuses never fit.
    fn judge_pair(&mut self, tunnel: Tunnel, of: Tunnel, is_misfit: bool) {
        let Some(Upwards::Paired { misfits, .. }) = self.upwards.get_mut(&tunnel) else {
            return;
        };
        *misfits = if is_misfit { *misfits + 1 } else { 0 };
        if *misfits < MISFITS {
            return;
        }
        if let Some(followed) = self.bearers.get_mut(&of) {
            followed.uplink = None;
        }
        self.unpair(Some(tunnel));
    }

    fn unpair(&mut self, uplink: Option<Tunnel>) {
        if let Some(uplink) = uplink {
            self.upwards.remove(&uplink);
        }
    }

    fn on_assistance(&mut self, tunnel: Tunnel, assistance: &Assistance) {
        let Some(Upwards::Paired { of, .. }) = self.upwards.get(&tunnel) else {
            return;
        };
        let cqi = assistance.cqi().filter(|cqi| *cqi <= 15);
        if let (Some(cqi), Some(followed)) = (cqi, self.bearers.get_mut(of)) {
            followed.cqi = Some(cqi);
        }
    }

    /// A bearer has ended, if there is one in this tunnel.
    fn end(&mut self, tunnel: Tunnel) {
        if self.remove(tunnel) {
            self.counts.ended += 1;
        }
    }

    fn remove(&mut self, tunnel: Tunnel) -> bool {
        let Some(removed) = self.bearers.remove(&tunnel) else {
            return false;
        };
        self.unpair(removed.uplink);
        let configured = self.config.ues.ues().iter().flat_map(|ue| &ue.ids);
        let is_configured = configured
            .into_iter()
            .any(|id| *id == UeId::Rnti(removed.rnti));
        let is_used = self.bearers.values().any(|of| of.rnti == removed.rnti);
        if !is_configured && !is_used {
            self.rntis.remove(&removed.rnti);
        }
        true
    }

    /// Forgets bearers of which nothing passes any more, and tunnels upwards that none of the others has.
    pub(crate) fn forget(&mut self, now: Instant) {
        self.attempts = 0;
        self.tunnels.forget(now);
        let limit = self.config.idle_timeout;
        let idle = self.bearers.iter().filter(|(_, of)| {
            // what still waits has to be sent, however long that takes
            now.saturating_since(of.seen) >= limit
        });
        let idle: Vec<Tunnel> = idle.map(|(tunnel, _)| *tunnel).collect();
        for tunnel in idle {
            self.remove(tunnel);
            self.counts.idle += 1;
        }
        self.bound();
        let units: BTreeSet<(IpAddr, IpAddr)> = self
            .bearers
            .keys()
            .map(|down| (down.to, down.from))
            .collect();
        self.upwards.retain(|up, of| {
            matches!(of, Upwards::Paired { .. }) || units.contains(&(up.from, up.to))
        });
    }

    /// Forgets the bearers with the longest ledgers while there is too much in all of them: those whose statuses never come.
    fn bound(&mut self) {
        let ledgers = self.bearers.values().map(|of| of.bearer.remembered());
        let mut all: usize = ledgers.sum();
        while all > MAX_REMEMBERED {
            let lengths = self.bearers.iter();
            let lengths = lengths.map(|(tunnel, of)| (of.bearer.remembered(), *tunnel));
            let Some((length, tunnel)) = lengths.max() else {
                return;
            };
            self.remove(tunnel);
            self.counts.too_many += 1;
            all -= length;
        }
    }
}
