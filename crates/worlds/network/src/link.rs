//! A link: a queue, a transmitter whose rate is known beforehand, and a wire with delay, jitter and random loss.
//!
//! ```text
//!   offer -> [ queue ] -> transmitter -> wire (loss, delay, jitter) -> take_arrived
//! ```
//!
//! A link keeps its packets in flight itself, in order, and needs one entry in the schedule. The
//! transmitter is work-conserving and its rate is known, so the time of every dequeue is known
//! beforehand: [`Link::advance`] carries them out, each at its own time, the next time that the
//! link is touched. No event is spent on the end of a transmission.

use crate::measure::QueueMeter;
use crate::{Error, Rates};
use queue::{Capacity, DisciplineConfig, Packet, QueueManagement};
use scenario::{LinkSpec, OutageSpec, PathSpec};
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant, Rng, Streams};

/// Random loss of a wire.
#[derive(Debug)]
pub struct Loss {
    /// Of each packet, 0 to 1.
    pub probability: f64,
    /// Its own stream.
    pub rng: Rng,
}

/// Random extra delay of a wire; packets stay in order.
#[derive(Debug)]
pub struct Jitter {
    /// The maximum; uniform from zero.
    pub max: Duration,
    /// Its own stream.
    pub rng: Rng,
}

/// What a link is made of.
pub struct LinkParts<P> {
    /// Rate of the transmitter.
    pub rates: Rates,
    /// Delay of the wire.
    pub delay: Duration,
    /// The queue before the transmitter.
    pub queue: Box<dyn QueueManagement<P>>,
    /// Random loss, if any.
    pub loss: Option<Loss>,
    /// Jitter, if any.
    pub jitter: Option<Jitter>,
    /// When the wire carries nothing.
    pub outage: Option<OutageSpec>,
    /// Records the queue, if it is of interest.
    pub meter: Option<QueueMeter>,
}

/// A link in one direction.
pub struct Link<P> {
    parts: LinkParts<P>,
    /// When the transmitter has sent what it has begun.
    free_at: Instant,
    /// On the wire, in order of arrival.
    wire: VecDeque<(Instant, P)>,
    /// No packet arrives before the one in front of it.
    last_arrival: Instant,
    /// Bytes that the transmitter has begun to send.
    sent: Bytes,
}

impl<P: Packet> Link<P> {
    /// An idle link.
    pub fn new(parts: LinkParts<P>) -> Self {
        Self {
            parts,
            free_at: Instant::ZERO,
            wire: VecDeque::new(),
            last_arrival: Instant::ZERO,
            sent: Bytes::ZERO,
        }
    }

    /// Rate of the transmitter at a time.
    pub fn rate(&self, now: Instant) -> BitRate {
        self.parts.rates.at(now)
    }

    /// What it could have sent since the run began.
    pub fn capacity_until(&self, now: Instant) -> Bytes {
        self.parts.rates.bytes_between(Instant::ZERO, now)
    }

    /// Bytes sent until `now`, the part of a transmission under way included.
    pub fn sent_until(&self, now: Instant) -> Bytes {
        let rest = self.parts.rates.bytes_between(now, self.free_at);
        self.sent.saturating_sub(rest)
    }

    /// The queue's record.
    pub fn meter(&self) -> Option<&QueueMeter> {
        self.parts.meter.as_ref()
    }

    /// Ends measuring.
    pub fn into_meter(self) -> Option<QueueMeter> {
        self.parts.meter
    }

    /// Packets waiting or on the wire.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.parts.queue.occupancy().packets + self.wire.len()
    }

    /// A packet comes to the link. Packets that it drops, now or since the last call, go to `lost`.
    pub fn offer(&mut self, now: Instant, packet: P, lost: &mut Vec<P>) {
        self.advance(now, lost);
        let refused = self.parts.queue.enqueue(now, packet).err();
        if let Some(meter) = &mut self.parts.meter {
            if refused.is_some() {
                meter.dropped();
            }
            meter.set(now, self.parts.queue.occupancy().bytes);
        }
        lost.extend(refused);
        if self.free_at <= now {
            self.transmit_next(now, lost);
        }
    }

    /// Carries out every transmission that has begun by `now`. What waits has waited since before
    /// the transmitter became free, so each begins exactly then.
    pub fn advance(&mut self, now: Instant, lost: &mut Vec<P>) {
        while self.free_at <= now && self.transmit_next(self.free_at, lost) {}
    }

    /// Begins the next transmission at `at`; false if there is none.
    fn transmit_next(&mut self, at: Instant, lost: &mut Vec<P>) -> bool {
        if self.parts.queue.occupancy().packets == 0 {
            return false;
        }
        let lost_before = lost.len();
        let next = self
            .parts
            .queue
            .dequeue(at, Bytes::MAX, &mut |packet| lost.push(packet));
        if let Some(meter) = &mut self.parts.meter {
            (lost_before..lost.len()).for_each(|_| meter.dropped());
            if let Some(dequeued) = &next {
                meter.left(at.saturating_since(dequeued.enqueued_at));
            }
            meter.set(at, self.parts.queue.occupancy().bytes);
        }
        let Some(dequeued) = next else {
            return false;
        };
        let packet = dequeued.packet;
        self.free_at = self.parts.rates.sent_at(at, packet.bytes());
        self.sent += packet.bytes();
        self.put_on_wire(packet, lost);
        true
    }

    fn put_on_wire(&mut self, packet: P, lost: &mut Vec<P>) {
        if self.is_out(self.free_at) {
            lost.push(packet);
            return;
        }
        if let Some(loss) = &mut self.parts.loss
            && loss.rng.chance(loss.probability)
        {
            lost.push(packet);
            return;
        }
        let mut arrival = self.free_at + self.parts.delay;
        if let Some(jitter) = &mut self.parts.jitter {
            arrival += jitter.max.mul_f64(jitter.rng.uniform());
        }
        self.last_arrival = self.last_arrival.max(arrival);
        self.wire.push_back((self.last_arrival, packet));
    }

    /// Whether the wire carries nothing at a time.
    fn is_out(&self, at: Instant) -> bool {
        let outage = self.parts.outage;
        outage.is_some_and(|outage| outage.lasts_at(at.since_start()))
    }

    /// The next packet that has arrived at the far end by `now`.
    pub fn take_arrived(&mut self, now: Instant) -> Option<P> {
        self.wire.front().filter(|(at, _)| *at <= now)?;
        self.wire.pop_front().map(|(_, packet)| packet)
    }

    /// When the link must be touched again: at the next arrival or, with an empty wire, when the
    /// transmitter becomes free for what waits.
    pub fn next_event(&self) -> Option<Instant> {
        match self.wire.front() {
            Some((at, _)) => Some(*at),
            None => (self.parts.queue.occupancy().packets > 0).then_some(self.free_at),
        }
    }
}

/// A wire in one direction, as the experiment specifies it.
#[derive(Clone, Copy, Debug)]
pub struct WireSpec<'a> {
    /// Its name, which its queue and its random streams have too.
    pub name: &'a str,
    /// Rate of the transmitter until the first step.
    pub rate: BitRate,
    /// From when on it has which other rate.
    pub rate_steps: &'a [(Duration, BitRate)],
    /// One-way delay.
    pub delay: Duration,
    /// Room before the transmitter.
    pub buffer: Capacity,
    /// How that room is managed.
    pub queue: &'a DisciplineConfig,
    /// Random loss of each packet, 0 to 1.
    pub loss: f64,
    /// When it carries nothing.
    pub outage: Option<OutageSpec>,
    /// Largest extra delay, uniform for each packet.
    pub jitter: Duration,
    /// Whether its queue is of interest.
    pub is_measured: bool,
}

impl<'a> WireSpec<'a> {
    /// One direction of the way between servers and edge, of this one-way delay.
    pub fn of_path(name: &'a str, path: &'a PathSpec, delay: Duration) -> Self {
        Self {
            name,
            rate: path.rate,
            rate_steps: &[],
            delay,
            buffer: path.buffer,
            queue: &path.queue,
            loss: path.loss,
            outage: None,
            jitter: path.jitter,
            is_measured: true,
        }
    }

    /// The two directions of a wired access: towards the UEs, and from them.
    pub fn of_access(link: &'a LinkSpec) -> (Self, Self) {
        Self::of_link(link, ["link/down", "link/up"])
    }

    /// The two directions of a wire by these names: towards the UEs, and from them.
    pub fn of_link(link: &'a LinkSpec, [down, up]: [&'a str; 2]) -> (Self, Self) {
        let down = Self {
            name: down,
            rate: link.rate,
            rate_steps: &link.rate_steps,
            delay: link.delay,
            buffer: link.buffer,
            queue: &link.queue,
            loss: link.loss,
            outage: link.outage,
            jitter: link.jitter,
            is_measured: true,
        };
        let up = Self {
            name: up,
            rate: link.uplink_rate,
            rate_steps: &[],
            loss: 0.0,
            ..down
        };
        (down, up)
    }

    /// The link, whose queue is watched from `began` on.
    ///
    /// # Errors
    /// If its buffer cannot be.
    pub fn build<P: Packet + Send + 'static>(
        &self,
        streams: &Streams,
        began: Instant,
    ) -> Result<Link<P>, Error> {
        let streams = streams.child("link").child(self.name);
        let queue = self.queue.build(self.buffer, streams.stream("queue"));
        let queue = queue.map_err(|source| Error::Queue {
            queue: self.name.to_owned(),
            source,
        })?;
        Ok(Link::new(LinkParts {
            rates: Rates::stepped(self.rate, self.rate_steps),
            delay: self.delay,
            queue,
            outage: self.outage,
            loss: (self.loss > 0.0).then(|| Loss {
                probability: self.loss,
                rng: streams.stream("loss"),
            }),
            jitter: (!self.jitter.is_zero()).then(|| Jitter {
                max: self.jitter,
                rng: streams.stream("jitter"),
            }),
            meter: self
                .is_measured
                .then(|| QueueMeter::new(self.name.to_owned(), began)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use queue::{Capacity, DropTail};
    use units::{Packets, Streams};

    /// Its number and its size.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Parcel(usize, u64);

    impl Packet for Parcel {
        fn bytes(&self) -> Bytes {
            Bytes::new(self.1)
        }
    }

    fn link(
        rate: BitRate,
        delay: Duration,
        capacity: Capacity,
        loss: f64,
        jitter: Duration,
    ) -> Link<Parcel> {
        let streams = Streams::new(3);
        Link::new(LinkParts {
            rates: Rates::constant(rate),
            delay,
            queue: Box::new(DropTail::new(capacity).unwrap()),
            outage: None,
            loss: Some(Loss {
                probability: loss,
                rng: streams.stream("loss"),
            }),
            jitter: Some(Jitter {
                max: jitter,
                rng: streams.stream("jitter"),
            }),
            meter: Some(QueueMeter::new("q".into(), Instant::ZERO)),
        })
    }

    fn at_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// Runs a link dry; (arrival, packet) in order.
    fn drain(link: &mut Link<Parcel>, lost: &mut Vec<Parcel>) -> Vec<(Instant, Parcel)> {
        let mut arrived = Vec::new();
        while let Some(now) = link.next_event() {
            link.advance(now, lost);
            while let Some(packet) = link.take_arrived(now) {
                arrived.push((now, packet));
            }
        }
        arrived
    }

    #[test]
    fn arrival_is_queue_plus_serialisation_plus_delay() {
        // 1500 B at 12 Mbit/s: 1 ms each
        let mut link = link(
            BitRate::from_mbps(12),
            Duration::from_millis(5),
            Capacity::Unlimited,
            0.0,
            Duration::ZERO,
        );
        let mut lost = Vec::new();
        for (i, at) in [0, 0, 500, 10_000].into_iter().enumerate() {
            link.offer(at_us(at), Parcel(i, 1500), &mut lost);
        }
        let times: Vec<_> = drain(&mut link, &mut lost)
            .into_iter()
            .map(|(at, _)| at)
            .collect();
        assert_eq!(times, [6_000, 7_000, 8_000, 16_000].map(at_us));
        assert!(lost.is_empty());
        // the fourth ends at 11 ms: half of it is left at 10.5 ms
        assert_eq!(link.sent_until(at_us(10_500)), Bytes::new(5_250));
        let queue = link.into_meter().unwrap().finish(at_us(16_000));
        // waits: 0, 1, 1.5, 0 ms
        assert!((queue.sojourn.mean - 0.625).abs() < 1e-9);
        assert!((queue.mean_bytes - 1500.0 * 2.5 / 16.0).abs() < 1e-6);
        assert_eq!(queue.max_bytes, 3000.0);
    }

    /// How long packets take that come 10 ms apart, with up to 4 ms of jitter.
    fn delays(streams: Streams) -> Vec<u64> {
        let wire = WireSpec {
            name: "w",
            rate: BitRate::from_mbps(12),
            rate_steps: &[],
            delay: Duration::from_millis(5),
            buffer: Capacity::Unlimited,
            queue: &DisciplineConfig::DropTail,
            loss: 0.0,
            outage: None,
            jitter: Duration::from_millis(4),
            is_measured: false,
        };
        let mut link = wire.build(&streams, Instant::ZERO).unwrap();
        let mut lost = Vec::new();
        let came = |i: usize| at_us(i as u64 * 10_000);
        (0..10_000).for_each(|i| link.offer(came(i), Parcel(i, 1500), &mut lost));
        let arrived = drain(&mut link, &mut lost);
        let delay = |(at, packet): (Instant, Parcel)| at.saturating_since(came(packet.0));
        arrived.into_iter().map(|of| delay(of).as_nanos()).collect()
    }

    #[test]
    fn jitter_is_uniform_between_zero_and_its_bound_and_drawn_by_seed() {
        let of = delays(Streams::new(1));
        assert_eq!(of.len(), 10_000);
        // 1 ms of serialisation and 5 ms of delay are the least
        let (least, bound) = (6_000_000, 10_000_000);
        assert!(of.iter().all(|delay| (least..=bound).contains(delay)));
        // uniform of width 4 ms: standard deviation 1.155 ms, of the mean of 10,000 11.5 us; six of them
        let mean = of.iter().sum::<u64>() / 10_000;
        assert!(mean.abs_diff(8_000_000) < 70_000, "{mean}");
        let upper = of.iter().filter(|&&delay| delay > 9_000_000).count();
        // binomial with p = 1/4: standard deviation 43; six of them
        assert!(upper.abs_diff(2500) < 260, "{upper}");
        assert_eq!(of, delays(Streams::new(1)));
        assert_ne!(of, delays(Streams::new(2)));
    }

    proptest! {
        #[test]
        fn packets_are_conserved_and_in_order(
            gaps in prop::collection::vec((0u64..3_000, 40u64..1_600), 1..300),
            limit in 1u64..20,
            loss in 0.0f64..0.5,
            jitter in 0u64..5_000,
        ) {
            let mut link = link(
                BitRate::from_mbps(10),
                Duration::from_micros(300),
                Capacity::Packets(Packets::new(limit)),
                loss,
                Duration::from_micros(jitter),
            );
            let (mut lost, mut now, mut seen) = (Vec::new(), 0, Vec::new());
            for (i, &(gap, bytes)) in gaps.iter().enumerate() {
                now += gap;
                link.advance(at_us(now), &mut lost);
                while let Some(packet) = link.take_arrived(at_us(now)) {
                    seen.push(packet.0);
                }
                link.offer(at_us(now), Parcel(i, bytes), &mut lost);
                prop_assert_eq!(i + 1, seen.len() + link.held() + lost.len());
            }
            seen.extend(drain(&mut link, &mut lost).into_iter().map(|(_, p)| p.0));
            prop_assert!(seen.is_sorted());
            prop_assert_eq!(seen.len() + lost.len(), gaps.len());
            prop_assert_eq!(link.held(), 0);
        }
    }
}
