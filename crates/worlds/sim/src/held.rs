//! What is not split waits at the edge: a fair queue of each UE, from which a window of bytes lets packets go on.

use crate::pool::Handle;
use edge::marker::{ByteWindow, MarkerConfig};
use queue::{Capacity, FqCoDel, FqCoDelConfig, Packet as _, QueueManagement as _};
use rapid::Unsplit;
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{Bytes, Duration, Instant, Rng};

/// The queues of all UEs.
#[derive(Debug)]
pub(crate) struct Holder {
    config: MarkerConfig,
    fair: FqCoDelConfig,
    capacity: Capacity,
    ues: BTreeMap<IpAddr, Ue>,
    rng: Rng,
}

#[derive(Debug)]
struct Ue {
    queue: FqCoDel<Handle>,
    window: ByteWindow,
}

/// What leaves the queues.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Towards the base station, in order.
    pub(crate) passed: Vec<Handle>,
    /// Not at all.
    pub(crate) dropped: Vec<Handle>,
}

impl Holder {
    /// Empty queues; each may hold so much. `rng` salts their hashes.
    pub(crate) fn new(config: MarkerConfig, buffer: Bytes, rng: Rng) -> Self {
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

    fn ue(&mut self, address: IpAddr) -> Result<&mut Ue, queue::ConfigError> {
        Ok(match self.ues.entry(address) {
            std::collections::btree_map::Entry::Occupied(ue) => ue.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => place.insert(Ue {
                queue: FqCoDel::new(self.fair.clone(), self.capacity, &mut self.rng)?,
                window: ByteWindow::default(),
            }),
        })
    }

    /// A report was accepted that names this UE.
    pub(crate) fn on_report(
        &mut self,
        now: Instant,
        address: IpAddr,
        unsplit: &Unsplit,
        slot: Duration,
    ) {
        let config = self.config;
        if let Ok(ue) = self.ue(address) {
            ue.window.on_report(now, unsplit, slot, &config);
        }
    }

    /// A packet comes on its way to the UE with this address.
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        address: IpAddr,
        packet: Handle,
        left: &mut Left,
    ) {
        match self.ue(address) {
            Ok(ue) => left.dropped.extend(ue.queue.enqueue(now, packet).err()),
            // no queue: it is not held
            Err(_) => left.passed.push(packet),
        }
    }

    /// Takes what may go on; when the next packet may, as far as is known.
    pub(crate) fn release(&mut self, now: Instant, left: &mut Left) -> Option<Instant> {
        let Left { passed, dropped } = left;
        let mut next: Option<Instant> = None;
        for ue in self.ues.values_mut() {
            while ue.queue.occupancy().packets > 0 {
                if !ue.window.is_open(now) {
                    let at = ue.window.opens_at(now);
                    next = Some(next.map_or(at, |next| next.min(at)));
                    break;
                }
                let drop = &mut |packet| dropped.push(packet);
                let Some(packet) = ue.queue.dequeue(now, Bytes::MAX, drop) else {
                    break;
                };
                ue.window.on_passed(packet.packet.bytes());
                passed.push(packet.packet);
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{Label, Pool};
    use queue::Ecn;
    use units::{BitRate, Streams};

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn packets_wait_for_the_window_and_flows_take_turns() {
        let config = MarkerConfig {
            transit: Duration::ZERO,
            ..MarkerConfig::default()
        };
        let rng = Streams::new(1).stream("held");
        let mut holder = Holder::new(config, Bytes::new(30_000), rng);
        let address = IpAddr::from([10, 0, 0, 1]);
        let unsplit = Unsplit {
            capacity: BitRate::from_mbps(16),
            share: BitRate::from_mbps(16),
            is_contested: false,
            queue: Bytes::ZERO,
            reported_at: at(9_000),
            own_wait: Duration::ZERO,
            is_by_chance: false,
        };
        holder.on_report(at(10_000), address, &unsplit, Duration::from_millis(1));
        let mut pool = Pool::default();
        let mut packet = |flow| {
            let label = Label {
                wire: Bytes::new(1_000),
                flow,
                ecn: Ecn::NotEct,
            };
            pool.insert((), label)
        };
        let mut left = Left::default();
        for _ in 0..40 {
            holder.enqueue(at(10_000), address, packet(1), &mut left);
        }
        // 30 fit
        assert_eq!((left.passed.len(), left.dropped.len()), (0, 10));
        let next = holder.release(at(10_000), &mut left).expect("more wait");
        // two slots: 4,000 bytes
        assert_eq!(left.passed.len(), 4);
        assert!(next > at(10_000) && next < at(10_010), "{next:?}");
        // a sparse flow goes before what waits
        holder.enqueue(at(10_600), address, packet(2), &mut left);
        holder.release(at(10_600), &mut left);
        assert_eq!(left.passed.len(), 6, "1,200 bytes have been sent");
        assert_eq!(left.passed[4].flow(), 2);
        assert_eq!(holder.release(at(200_000), &mut left), None, "no report");
        assert_eq!(left.passed.len(), 31);
    }
}
