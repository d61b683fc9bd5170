//! Feature negotiation (RFC 4340 section 6): what both ends of a path agree on, by Change and Confirm
//! options.
//!
//! ```text
//!        STABLE  -- change(): snd Change -->  CHANGING  -- rcv Confirm, or Change: answer -->  STABLE
//!                                             |  ^  (timeout: snd Change again, backoff)
//!                         preferences change  v  | snd Change
//!                                            UNSTABLE
//! ```
//!
//! A feature belongs to one end ([`Side::Local`]: this one, which uses "L" options for it) and is
//! negotiated by lists (server priority: the first of the server's list that the client has too) or
//! stated by its owner (not negotiable). Those of this implementation: CCID, short sequence numbers
//! (only "no"), Sequence Window, ECN Incapable, Ack Ratio, Send Ack Vector and Multipath Capable
//! (RFC 9897 3.1). Changes of any other are answered by an empty Confirm.
//!
//! The owner of a [`Negotiation`] hands it every sequence-valid packet ([`Negotiation::on_packet`])
//! and lets it add its options to every packet that leaves ([`Negotiation::attach`]). A lost Change is
//! sent again on the handshake's packets as they are sent again, and by a timer afterwards.
//!
//! *Deviations*: reordering is detected by one FGSR and FGSS for the path (the first algorithm of 6.6.4,
//! which the RFC recommends). Confirms of unknown features that are not yet sent are at most
//! [`MAX_UNKNOWN`]; more are not answered.

use crate::packet::{
    DccpOption, Feature, FeatureOption, FeatureOptionKind, Kind, OptionFault, Options, Packet,
    ResetCode,
};
use crate::seq::SeqNo;
use units::{Duration, Instant};

/// Confirms of unknown features that may wait to be sent.
pub const MAX_UNKNOWN: usize = 8;
/// The first timer of a Change; each next one is twice as long (RFC 4340 6.6.3: not less than a
/// round-trip time).
const FIRST_TIMER: Duration = Duration::from_secs(1);
/// The longest one (6.6.3: not less than 64 s).
const LAST_TIMER: Duration = Duration::from_secs(64);
/// Minimum and maximum Sequence Window (RFC 4340 7.5.2).
pub const SEQUENCE_WINDOWS: core::ops::RangeInclusive<u64> = 32..=(1 << 46) - 1;

/// Which end of a path this is; the server's preferences go first (RFC 4340 6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sent the Request.
    Client,
    /// It answered.
    Server,
}

/// Whose feature it is: "L" options are sent by its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This end's.
    Local,
    /// The peer's.
    Remote,
}

impl Side {
    const fn change(self) -> FeatureOptionKind {
        match self {
            Self::Local => FeatureOptionKind::ChangeL,
            Self::Remote => FeatureOptionKind::ChangeR,
        }
    }

    const fn confirm(self) -> FeatureOptionKind {
        match self {
            Self::Local => FeatureOptionKind::ConfirmL,
            Self::Remote => FeatureOptionKind::ConfirmR,
        }
    }
}

/// How a feature's value comes about (RFC 4340 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// By lists of values of a byte each.
    ServerPriority,
    /// As its owner states it, a number of that many bytes.
    NonNegotiable { bytes: usize },
}

/// The definition of a feature: how it is negotiated, its first value, whether every DCCP must have it
/// (RFC 4340 table 4; RFC 9897 table 1).
fn known(feature: Feature) -> Option<(Rule, u64, bool)> {
    let number = |bytes| Rule::NonNegotiable { bytes };
    Some(match feature {
        Feature::CCID => (Rule::ServerPriority, 2, true),
        Feature::ALLOW_SHORT_SEQNOS => (Rule::ServerPriority, 0, true),
        Feature::SEQUENCE_WINDOW => (number(6), 100, true),
        Feature::ACK_RATIO => (number(2), 2, false),
        Feature::ECN_INCAPABLE | Feature::SEND_ACK_VECTOR | Feature::MULTIPATH_CAPABLE => {
            (Rule::ServerPriority, 0, false)
        }
        _ => return None,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Stable,
    /// As stable, but a Change is to go out.
    Pending,
    /// A Change is out; the next goes out then, and the timer after it is so long.
    Changing {
        again: Instant,
        timer: Duration,
    },
    /// A Change is out, and another is to go out with what is preferred now; what the peer answers
    /// meanwhile is not about that, and ignored.
    Unstable,
}

impl State {
    /// A (further) Change is to go out.
    const fn with_pending_change(self) -> Self {
        match self {
            Self::Stable | Self::Pending => Self::Pending,
            Self::Changing { .. } | Self::Unstable => Self::Unstable,
        }
    }
}

/// A feature of one side.
#[derive(Clone, Debug)]
struct Entry {
    side: Side,
    feature: Feature,
    /// Agreed value.
    value: u64,
    /// True once both ends have named it.
    agreed: bool,
    /// This end's preferences (server priority), or the value that it states.
    preferred: Vec<u8>,
    /// True if its Changes are Mandatory.
    mandatory: bool,
    state: State,
    /// The value of the Confirm that is to be sent.
    confirm: Option<Vec<u8>>,
}

/// The features of a path.
#[derive(Clone, Debug)]
pub struct Negotiation {
    role: Role,
    entries: Vec<Entry>,
    /// Confirms of features that are not known, empty.
    unknown: Vec<(FeatureOptionKind, Feature)>,
    /// Greatest number of a packet with feature options that was received (FGSR).
    received: Option<SeqNo>,
    /// Greatest number of a packet with new Changes that was sent (FGSS).
    sent: Option<SeqNo>,
}

impl Negotiation {
    /// Everything has its first value, and nothing is changing. This end would accept what it has.
    pub fn new(role: Role) -> Self {
        let features = [
            Feature::CCID,
            Feature::ALLOW_SHORT_SEQNOS,
            Feature::SEQUENCE_WINDOW,
            Feature::ECN_INCAPABLE,
            Feature::ACK_RATIO,
            Feature::SEND_ACK_VECTOR,
            Feature::MULTIPATH_CAPABLE,
        ];
        let sides = [Side::Local, Side::Remote];
        let entry = |feature, side| {
            let (rule, value, _) = known(feature)?;
            let preferred = match rule {
                // no end is multipath capable without stating it
                _ if feature == Feature::MULTIPATH_CAPABLE => Vec::new(),
                Rule::ServerPriority => vec![value as u8],
                Rule::NonNegotiable { bytes } => value.to_be_bytes()[8 - bytes..].to_vec(),
            };
            Some(Entry {
                side,
                feature,
                value,
                agreed: false,
                preferred,
                mandatory: false,
                state: State::Stable,
                confirm: None,
            })
        };
        Self {
            role,
            entries: features
                .into_iter()
                .flat_map(|feature| sides.into_iter().filter_map(move |s| entry(feature, s)))
                .collect(),
            unknown: Vec::new(),
            received: None,
            sent: None,
        }
    }

    /// What this end would take, most preferred first, of a feature that is negotiated by lists. It
    /// answers so to a Change of the peer; if a Change is out it sends another one.
    pub fn prefer(&mut self, side: Side, feature: Feature, preferences: &[u8]) {
        debug_assert_eq!(known(feature).map(|k| k.0), Some(Rule::ServerPriority));
        if let Some(entry) = self.entry(side, feature) {
            entry.preferred = preferences.to_vec();
            if matches!(entry.state, State::Changing { .. }) {
                entry.state = entry.state.with_pending_change();
            }
        }
    }

    /// Requests what was [preferred](Negotiation::prefer), from the next packet on. If `mandatory`,
    /// a peer that has no value in common resets the path.
    pub fn change(&mut self, side: Side, feature: Feature, mandatory: bool) {
        if let Some(entry) = self.entry(side, feature) {
            entry.mandatory = mandatory;
            entry.state = entry.state.with_pending_change();
        }
    }

    /// States this end's Sequence Window ([`SEQUENCE_WINDOWS`]) or Ack Ratio (1 to 65535), from the
    /// next packet on; what is out of range is brought into it.
    pub fn state(&mut self, feature: Feature, number: u64) {
        let number = match feature {
            Feature::SEQUENCE_WINDOW => {
                number.clamp(*SEQUENCE_WINDOWS.start(), *SEQUENCE_WINDOWS.end())
            }
            _ => number.clamp(1, u64::from(u16::MAX)),
        };
        let Some((Rule::NonNegotiable { bytes }, ..)) = known(feature) else {
            debug_assert!(false, "{feature:?} is negotiated by lists");
            return;
        };
        if let Some(entry) = self.entry(Side::Local, feature) {
            entry.preferred = number.to_be_bytes()[8 - bytes..].to_vec();
            entry.state = entry.state.with_pending_change();
        }
    }

    /// The value in force.
    pub fn value(&self, side: Side, feature: Feature) -> u64 {
        self.find(side, feature).map_or(0, |entry| entry.value)
    }

    /// What this end states or prefers of a feature of its own that is a number, whether the peer has confirmed it or not.
    pub fn stated(&self, feature: Feature) -> u64 {
        self.find(Side::Local, feature)
            .map_or(0, |entry| number(&entry.preferred))
    }

    /// True if both ends have named that value; the first value of Multipath Capable looks like
    /// version 0, so that only this shows whether the peer is capable.
    pub fn is_agreed(&self, side: Side, feature: Feature) -> bool {
        self.find(side, feature).is_some_and(|entry| entry.agreed)
    }

    /// True if no Change is out or waits.
    pub fn is_settled(&self) -> bool {
        self.entries.iter().all(|e| e.state == State::Stable)
    }

    /// True if a packet is needed at that time for Changes, or soon for Confirms.
    pub fn needs_packet(&self, now: Instant) -> bool {
        !self.unknown.is_empty()
            || self
                .entries
                .iter()
                .any(|entry| entry.confirm.is_some() || entry.is_due(now))
    }

    /// True if Confirms wait for a packet that acknowledges.
    pub fn has_confirms(&self) -> bool {
        !self.unknown.is_empty() || self.entries.iter().any(|entry| entry.confirm.is_some())
    }

    /// Changes that are out are sent again with the next packet: those before may have left them out.
    pub fn repeat(&mut self, now: Instant) {
        for entry in &mut self.entries {
            if let State::Changing { again, .. } = &mut entry.state {
                *again = now;
            }
        }
    }

    /// When a Change is to be sent again.
    pub fn next_deadline(&self) -> Option<Instant> {
        let timers = self.entries.iter().filter_map(|entry| match entry.state {
            State::Changing { again, .. } => Some(again),
            _ => None,
        });
        timers.min()
    }

    /// Reads the feature options of a sequence-valid packet.
    ///
    /// # Errors
    ///
    /// [`OptionFault`]: the path is to be reset with it (RFC 4340 6.6.7 to 6.6.9).
    pub fn on_packet(&mut self, packet: &Packet) -> Result<(), OptionFault> {
        if packet.kind == Kind::Data || self.received.is_some_and(|r| !packet.seq.is_after(r)) {
            return Ok(());
        }
        // a Confirm answers the latest Change only
        let confirms = match (packet.kind.ack(), self.sent) {
            (Some(ack), Some(sent)) => !sent.is_after(ack),
            _ => false,
        };
        let mut mandatory = false;
        for option in &packet.options.list {
            if let DccpOption::Feature(option) = option {
                self.received = Some(packet.seq);
                self.on_option(option, mandatory, confirms)?;
            }
            mandatory = *option == DccpOption::Mandatory;
        }
        Ok(())
    }

    /// Adds the options that are due to a packet: Changes (on a Request or Response all that
    /// are open), and Confirms on a packet that acknowledges. `seq` and `kind` are the packet's.
    pub fn attach(&mut self, now: Instant, seq: SeqNo, kind: Kind, options: &mut Options) {
        if kind == Kind::Data {
            return;
        }
        let handshake = matches!(kind, Kind::Request { .. } | Kind::Response { .. });
        for entry in &mut self.entries {
            if kind.ack().is_some()
                && let Some(value) = entry.confirm.take()
            {
                options
                    .list
                    .push(option(entry.side.confirm(), entry.feature, value));
            }
            let due = entry.is_due(now) || (handshake && entry.is_open());
            if !due {
                continue;
            }
            let timer = match entry.state {
                State::Changing { timer, .. } => LAST_TIMER.min(timer * 2),
                State::Stable | State::Pending | State::Unstable => {
                    self.sent = Some(seq);
                    FIRST_TIMER
                }
            };
            entry.state = State::Changing {
                again: now + timer,
                timer,
            };
            if entry.mandatory {
                options.list.push(DccpOption::Mandatory);
            }
            let change = option(entry.side.change(), entry.feature, entry.preferred.clone());
            options.list.push(change);
        }
        if kind.ack().is_some() {
            for (kind, feature) in self.unknown.drain(..) {
                options.list.push(option(kind, feature, Vec::new()));
            }
        }
    }

    fn find(&self, side: Side, feature: Feature) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.side == side && entry.feature == feature)
    }

    fn entry(&mut self, side: Side, feature: Feature) -> Option<&mut Entry> {
        self.entries
            .iter_mut()
            .find(|entry| entry.side == side && entry.feature == feature)
    }

    fn on_option(
        &mut self,
        option: &FeatureOption,
        mandatory: bool,
        confirms: bool,
    ) -> Result<(), OptionFault> {
        let role = self.role;
        // the peer's "R" is about what is local here
        let side = match option.kind {
            FeatureOptionKind::ChangeR | FeatureOptionKind::ConfirmR => Side::Local,
            FeatureOptionKind::ChangeL | FeatureOptionKind::ConfirmL => Side::Remote,
        };
        let change = matches!(
            option.kind,
            FeatureOptionKind::ChangeL | FeatureOptionKind::ChangeR
        );
        match self.entry(side, option.feature) {
            Some(entry) if change => entry.on_change(role, option, mandatory),
            Some(entry) if confirms => entry.on_confirm(role, option),
            None if change && mandatory => Err(fault(ResetCode::MANDATORY_ERROR, option)),
            None if change => {
                if self.unknown.len() < MAX_UNKNOWN {
                    self.unknown.push((side.confirm(), option.feature));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Entry {
    const fn is_open(&self) -> bool {
        !matches!(self.state, State::Stable)
    }

    fn is_due(&self, now: Instant) -> bool {
        match self.state {
            State::Stable => false,
            State::Changing { again, .. } => again <= now,
            State::Pending | State::Unstable => true,
        }
    }

    /// RFC 4340 6.6.2, the third step.
    fn on_change(
        &mut self,
        role: Role,
        option: &FeatureOption,
        mandatory: bool,
    ) -> Result<(), OptionFault> {
        if self.state == State::Unstable {
            return Ok(());
        }
        let answer = match known(self.feature) {
            Some((Rule::ServerPriority, ..)) if !option.value.is_empty() => {
                self.reconcile_change(role, &option.value)
            }
            // its owner states it, and states it only
            Some((Rule::NonNegotiable { bytes }, ..))
                if self.side == Side::Remote && option.value.len() == bytes =>
            {
                let number = number(&option.value);
                let allowed = match self.feature {
                    Feature::SEQUENCE_WINDOW => SEQUENCE_WINDOWS.contains(&number),
                    _ => number != 0,
                };
                allowed.then(|| {
                    self.value = number;
                    self.agreed = true;
                    (option.value.clone(), true)
                })
            }
            _ => None,
        };
        match answer {
            Some((confirm, shared)) if shared || !mandatory => {
                self.confirm = Some(confirm);
                self.state = State::Stable;
                Ok(())
            }
            // nothing in common, or no such value
            _ if mandatory => Err(fault(ResetCode::MANDATORY_ERROR, option)),
            _ => {
                self.confirm = Some(Vec::new());
                Ok(())
            }
        }
    }

    /// The Confirm of a Change with that list, and whether the lists have a value in common. Without
    /// one the value stays as it is (6.3.1); Multipath Capable has none then (RFC 9897 3.1).
    fn reconcile_change(&mut self, role: Role, theirs: &[u8]) -> Option<(Vec<u8>, bool)> {
        let chosen = reconcile(role, &self.preferred, theirs);
        if let Some(chosen) = chosen {
            self.value = u64::from(chosen);
            self.agreed = true;
        } else if self.feature == Feature::MULTIPATH_CAPABLE {
            return None;
        }
        let mut confirm = vec![self.value as u8];
        confirm.extend(&self.preferred);
        Some((confirm, chosen.is_some()))
    }

    /// RFC 4340 6.6.2, the fourth step.
    fn on_confirm(&mut self, role: Role, option: &FeatureOption) -> Result<(), OptionFault> {
        if !matches!(self.state, State::Changing { .. }) {
            return Ok(());
        }
        let wrong = fault(ResetCode::OPTION_ERROR, option);
        let (rule, _, required) = known(self.feature).ok_or(wrong)?;
        match (rule, &option.value[..]) {
            // not understood; what every DCCP has to understand is an error
            (_, []) if required => return Err(wrong),
            (_, []) => {}
            (Rule::ServerPriority, [chosen, theirs @ ..]) => {
                let expected = if theirs.is_empty() && self.preferred.contains(chosen) {
                    Some(*chosen)
                } else {
                    reconcile(role, &self.preferred, theirs)
                };
                match expected {
                    Some(expected) if expected == *chosen => {
                        self.value = u64::from(*chosen);
                        self.agreed = true;
                    }
                    None if u64::from(*chosen) == self.value => {}
                    _ => return Err(wrong),
                }
            }
            (Rule::NonNegotiable { .. }, stated) => {
                if stated != self.preferred {
                    return Err(wrong);
                }
                self.value = number(stated);
                self.agreed = true;
            }
        }
        self.state = State::Stable;
        Ok(())
    }
}

/// The first of the server's values that the client has too (RFC 4340 6.3.1).
fn reconcile(role: Role, own: &[u8], theirs: &[u8]) -> Option<u8> {
    let (server, client) = match role {
        Role::Client => (theirs, own),
        Role::Server => (own, theirs),
    };
    server.iter().copied().find(|value| client.contains(value))
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

const fn option(kind: FeatureOptionKind, feature: Feature, value: Vec<u8>) -> DccpOption {
    DccpOption::Feature(FeatureOption {
        kind,
        feature,
        value,
    })
}

/// The type of the option and the first two bytes of its data (RFC 4340 5.6).
fn fault(code: ResetCode, option: &FeatureOption) -> OptionFault {
    let first = option.value.first().copied().unwrap_or(0);
    OptionFault {
        code,
        data: [option.kind.code(), option.feature.0, first],
    }
}

#[cfg(test)]
mod tests;
