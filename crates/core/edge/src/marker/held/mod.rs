//! What is not split waits at the edge (`pep.unsplit = "queue"`): a fair queue of each UE, from which a window of bytes
//! lets packets go on.
//!
//! ```text
//!   report -> ByteWindow --.
//!   packet -> FqCoDel -----+--> passed: towards the base station, in order
//!                          '--> dropped: by the bound of the queue, or by its law
//! ```
//!
//! A packet that finds its queue empty and its window open goes on at once: holding a UE whose radio is not its bottleneck
//! changes nothing. So a driver may leave such UEs out, as [`Switch`] has it.

mod switch;
#[cfg(test)]
mod tests;

pub use switch::Switch;

use super::{ByteWindow, MarkerConfig};
use queue::{Capacity, FqCoDel, FqCoDelConfig, Occupancy, Packet, QueueManagement as _};
use rapid::Unsplit;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;
use units::{Bytes, Duration, Instant, Rng};

/// The queues of all UEs that are held.
#[derive(Debug)]
pub struct Holder<P> {
    config: MarkerConfig,
    fair: FqCoDelConfig,
    capacity: Capacity,
    ues: BTreeMap<IpAddr, Ue<P>>,
    rng: Rng,
}

#[derive(Debug)]
struct Ue<P> {
    queue: FqCoDel<P>,
    window: ByteWindow,
    /// It was over its bound: what the queue gives back next was dropped by that.
    is_over: bool,
    /// More may wait than the bound that was configured since: nothing comes to it before that is kept.
    was_wider: bool,
}

/// What leaves the queues.
#[derive(Debug)]
pub struct Left<P> {
    /// Towards the base station, in order.
    pub passed: Vec<P>,
    /// Not at all.
    pub dropped: Vec<P>,
    /// Of those so many, since as much waited as may; the others by CoDel.
    pub overflowed: usize,
}

impl<P> Default for Left<P> {
    fn default() -> Self {
        Self {
            passed: Vec::new(),
            dropped: Vec::new(),
            overflowed: 0,
        }
    }
}

impl<P: Packet + Send> Ue<P> {
    /// Its next packet goes on. False if there is none.
    fn pass(&mut self, now: Instant, left: &mut Left<P>) -> bool {
        let Left {
            passed,
            dropped,
            overflowed,
        } = left;
        let before = dropped.len();
        let next = self
            .queue
            .dequeue(now, Bytes::MAX, &mut |packet| dropped.push(packet));
        if std::mem::take(&mut self.is_over) {
            *overflowed += dropped.len() - before;
        }
        let Some(packet) = next else { return false };
        self.window.on_passed(packet.packet.bytes());
        passed.push(packet.packet);
        true
    }
}

impl<P: Packet + Send> Holder<P> {
    /// Empty queues; each may hold so much. `rng` salts their hashes.
    pub fn new(config: MarkerConfig, buffer: Bytes, rng: Rng) -> Self {
        let fair = FqCoDelConfig {
            l4s_threshold: Some(config.ramp_from),
            ..FqCoDelConfig::default()
        };
        Self {
            config,
            fair,
            capacity: Capacity::Bytes(buffer),
            ues: BTreeMap::new(),
            rng,
        }
    }

    /// Packets and reports that come from now on go by other numbers. What waits stays: where it is more than the new bound,
    /// what comes is dropped until the bound is kept.
    pub fn configure(&mut self, config: MarkerConfig, buffer: Bytes) {
        self.fair.l4s_threshold = Some(config.ramp_from);
        self.capacity = Capacity::Bytes(buffer);
        self.config = config;
        for ue in self.ues.values_mut() {
            let configured = ue.queue.configure(self.capacity, self.fair.l4s_threshold);
            ue.was_wider |= configured.is_ok();
        }
    }

    fn ue(&mut self, address: IpAddr) -> Result<&mut Ue<P>, queue::ConfigError> {
        Ok(match self.ues.entry(address) {
            Entry::Occupied(ue) => ue.into_mut(),
            Entry::Vacant(place) => place.insert(Ue {
                queue: FqCoDel::new(self.fair.clone(), self.capacity, &mut self.rng)?,
                window: ByteWindow::default(),
                is_over: false,
                was_wider: false,
            }),
        })
    }

    /// A report was accepted that names this UE; its window is `least` long at least ([`two_slots`](super::two_slots)).
    pub fn on_report(&mut self, now: Instant, address: IpAddr, unsplit: &Unsplit, least: Duration) {
        let config = self.config;
        if let Ok(ue) = self.ue(address) {
            ue.window.on_report(now, unsplit, least, &config);
        }
    }

    /// CoDel of this UE's flows tolerates so long a standing queue from now on, above zero; of one without a queue nothing changes.
    pub fn set_target(&mut self, address: IpAddr, target: Duration) {
        if let Some(ue) = self.ues.get_mut(&address) {
            ue.queue.set_target(target);
        }
    }

    /// ECT(1) of this UE is marked that has waited so much longer than `ramp_from` from now on, until the holder is configured
    /// anew; of one without a queue nothing changes.
    pub fn raise_l4s_threshold(&mut self, address: IpAddr, more: Duration) {
        if let Some(ue) = self.ues.get_mut(&address) {
            let threshold = self.config.ramp_from + more;
            // with a capacity that cannot be it would not be there
            let _ = ue.queue.configure(self.capacity, Some(threshold));
        }
    }

    /// A packet comes on its way to the UE with this address.
    pub fn enqueue(&mut self, now: Instant, address: IpAddr, packet: P, left: &mut Left<P>) {
        let capacity = self.capacity;
        match self.ue(address) {
            Ok(ue) => {
                ue.was_wider &= !capacity.holds(ue.queue.occupancy());
                if ue.was_wider {
                    left.overflowed += 1;
                    left.dropped.push(packet);
                    return;
                }
                if let Err(packet) = ue.queue.enqueue(now, packet) {
                    ue.is_over = true;
                    left.overflowed += 1;
                    left.dropped.push(packet);
                }
            }
            // no queue: it is not held
            Err(_) => left.passed.push(packet),
        }
    }

    /// Takes what may go on; when the next packet may, as far as is known.
    pub fn release(&mut self, now: Instant, left: &mut Left<P>) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for ue in self.ues.values_mut() {
            while ue.queue.occupancy().packets > 0 {
                if !ue.window.is_open(now) {
                    let at = ue.window.opens_at(now);
                    next = Some(next.map_or(at, |next| next.min(at)));
                    break;
                }
                if !ue.pass(now, left) {
                    break;
                }
            }
        }
        next
    }

    /// Takes all that waits, whatever the windows: nothing is held any more.
    pub fn empty(&mut self, now: Instant, left: &mut Left<P>) {
        for ue in self.ues.values_mut() {
            while ue.queue.occupancy().packets > 0 && ue.pass(now, left) {}
        }
    }

    /// What waits of a UE.
    pub fn waits(&self, address: IpAddr) -> Occupancy {
        let ue = self.ues.get(&address);
        ue.map(|ue| ue.queue.occupancy()).unwrap_or_default()
    }

    /// What waits of all.
    pub fn all_waits(&self) -> Occupancy {
        let mut all = Occupancy::default();
        for ue in self.ues.values() {
            let of = ue.queue.occupancy();
            all.packets += of.packets;
            all.bytes += of.bytes;
        }
        all
    }

    /// What a UE's radio carries in so long, as of its last report; none where that is not known.
    pub fn carried(&self, address: IpAddr, time: Duration) -> Option<Bytes> {
        self.ues.get(&address)?.window.carried(time)
    }

    /// Forgets a UE of which nothing waits. False if something does.
    pub fn forget(&mut self, address: IpAddr) -> bool {
        let is_empty = self.waits(address).packets == 0;
        if is_empty {
            self.ues.remove(&address);
        }
        is_empty
    }

    /// How many UEs have a queue.
    pub fn len(&self) -> usize {
        self.ues.len()
    }

    /// No UE has one.
    pub fn is_empty(&self) -> bool {
        self.ues.is_empty()
    }
}
