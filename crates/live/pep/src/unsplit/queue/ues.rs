//! Which UEs are held: those whose radio is the bottleneck, by [`Switch`]; and that the kernel hands their packets over.
//!
//! ```text
//!   passes --(bottleneck)--> held --(idle)--> ending --(none handed over for a while)--> passes
//!                              ^------(something waits, or bottleneck)---'
//! ```
//! While it is ending the program lets packets pass as soon as none was handed over for half a millisecond: those that were
//! have left by then, so that none is overtaken.

use super::counts::Counts;
use super::inbox::Radio;
use edge::marker::{Holder, Switch, two_slots};
use frames::{Charge, Frame, Memory};
use kernel_marker::{Hold, Marker};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use units::{Bytes, Duration, Instant};

/// What the queues of a UE take when they are empty: 1,024 with their laws.
const UE_BYTES: u64 = 200_000;
/// A UE that is ending passes for good after so long without a packet that was handed over: longer than the program's
/// half millisecond.
const GONE_AFTER: Duration = Duration::from_millis(2);

#[derive(Debug)]
struct Ue {
    switch: Switch,
    /// A report has named it last.
    named_at: Instant,
    /// Its packets are handed over: it has queues, and an entry in the kernel.
    held: Option<Charge>,
}

/// All UEs that reports name.
#[derive(Debug)]
pub(super) struct Ues {
    ues: BTreeMap<IpAddr, Ue>,
    most: usize,
    held: usize,
}

/// What a change of a UE needs.
pub(super) struct Context<'a> {
    pub(super) now: Instant,
    pub(super) marker: &'a Marker,
    pub(super) holder: &'a mut Holder<Frame>,
    pub(super) memory: &'a Memory,
    pub(super) memory_limit: Bytes,
    pub(super) counts: &'a Counts,
}

impl Context<'_> {
    fn hand_over(&self, ue: IpAddr, hold: Hold) -> bool {
        let now = self.now.since_start().as_nanos();
        self.counts.note(self.marker.hold(ue, hold, now)).is_some()
    }
}

impl Ues {
    /// None yet, and no more than so many.
    pub(super) fn new(most: usize) -> Self {
        Self {
            ues: BTreeMap::new(),
            most,
            held: 0,
        }
    }

    /// How many are held.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Packets of this one are handed over.
    pub(super) fn is_held(&self, ue: IpAddr) -> bool {
        self.ues.get(&ue).is_some_and(|ue| ue.held.is_some())
    }

    /// A report has named it.
    pub(super) fn is_named(&self, ue: IpAddr) -> bool {
        self.ues.contains_key(&ue)
    }

    pub(super) fn on_report(&mut self, context: &mut Context<'_>, address: IpAddr, radio: &Radio) {
        if self.ues.len() >= self.most && !self.ues.contains_key(&address) {
            return;
        }
        let (unsplit, slot) = radio;
        let now = context.now;
        let ue = self.ues.entry(address).or_insert_with(|| Ue {
            switch: Switch::default(),
            named_at: now,
            held: None,
        });
        ue.named_at = now;
        let begins = ue.switch.on_report(now, unsplit, *slot);
        if begins && ue.held.is_none() {
            match context.memory.charge(UE_BYTES, context.memory_limit) {
                Some(charge) => {
                    ue.held = Some(charge);
                    self.held += 1;
                }
                None => {
                    context.counts.no_room.fetch_add(1, Relaxed);
                    ue.switch = Switch::default();
                }
            }
        }
        if ue.held.is_some() {
            // the window is there before the first packet
            let least = two_slots(*slot);
            context.holder.on_report(now, address, unsplit, least);
        }
        if begins && ue.held.is_some() {
            context.counts.begun.fetch_add(1, Relaxed);
            if !context.hand_over(address, Hold::Held) {
                self.end(context, address);
            }
        }
    }

    /// Something of it waits.
    pub(super) fn on_waiting(&mut self, context: &Context<'_>, address: IpAddr) {
        let Some(ue) = self.ues.get_mut(&address) else {
            return;
        };
        if ue.switch.on_waiting(context.now) {
            context.hand_over(address, Hold::Held);
        }
    }

    /// Time has passed: UEs of which nothing has waited for a while pass again. `is_read`: nothing is left in the device.
    pub(super) fn on_time(&mut self, context: &mut Context<'_>, is_read: bool) {
        let now = context.now;
        let mut gone = Vec::new();
        for (address, ue) in self.ues.iter_mut().filter(|(_, ue)| ue.held.is_some()) {
            if context.holder.waits(*address).packets > 0 {
                if ue.switch.on_waiting(now) {
                    context.hand_over(*address, Hold::Held);
                }
            } else if ue.switch.on_time(now) {
                context.hand_over(*address, Hold::Ending);
            } else if !ue.switch.is_held() && is_read {
                let last = context.counts.note(context.marker.redirected_at(*address));
                let last = last.flatten().map(Instant::from_nanos);
                if last.is_none_or(|last| now.saturating_since(last) > GONE_AFTER) {
                    gone.push(*address);
                }
            }
        }
        for address in gone {
            self.end(context, address);
        }
    }

    /// Its packets pass.
    fn end(&mut self, context: &mut Context<'_>, address: IpAddr) {
        context.counts.note(context.marker.let_go(address));
        let Some(ue) = self.ues.get_mut(&address) else {
            return;
        };
        if context.holder.forget(address) && ue.held.take().is_some() {
            ue.switch = Switch::default();
            self.held -= 1;
        }
    }

    /// Forgets those that no report has named for so long.
    pub(super) fn expire(&mut self, now: Instant, after: Duration) {
        self.ues
            .retain(|_, ue| ue.held.is_some() || now.saturating_since(ue.named_at) <= after);
    }

    /// All pass: nothing waits of any.
    pub(super) fn end_all(&mut self, context: &mut Context<'_>) {
        let held = self.ues.iter().filter(|(_, ue)| ue.held.is_some());
        let all: Vec<IpAddr> = held.map(|(address, _)| *address).collect();
        for address in all {
            self.end(context, address);
        }
    }
}
