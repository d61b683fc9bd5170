//! DualPI2: a low-latency queue for scalable transports beside a classic one, coupled.
//!
//! Source: RFC 9332, section 2 and appendix A, and Linux `net/sched/sch_dualpi2.c` of 2025, whose constants
//! are the default; [`DualPi2Config::rfc9332`] has those printed in the appendix. ECT(1) and CE go to the
//! low-latency queue L, all else to the classic queue C. A PI controller on the longer of the two
//! queues' delays gives the base probability p'; C drops or marks with `p'^2`, L marks with the larger of
//! `k p'` and a step (or ramp) of its own over the sojourn time.
//!
//! Overload (section 4.2.3, appendix A.2): once `k p'` is 1, L too drops with `p'^2` and marks all that
//! is left, and C drops what it would mark. So an unresponsive flow, of whatever codepoint, waits about the
//! target. This is the one case in which a packet that can be marked is dropped before the queue is full.
//!
//! Bytes, nanoseconds; probabilities 0 to 1.
//!
//! *Deviations*
//! - The step at 1 ms is that of Linux; the RFC prints a ramp from 800 to 1200 us, which is there by
//!   configuration, as are its gains. Linux has 41/256 and 819/256 Hz, which netlink's unit makes of 0.16 and
//!   3.2; these are exact here.
//! - Drops and marks are spread evenly by a counter a queue, as in the RFC's pseudocode (`recur`): nothing
//!   is drawn at random, as Linux does. Unlike the pseudocode, what is certain leaves the counter as it is.
//! - The controller's timer is caught up with when the queue is next touched, with the delay as it was
//!   at each tick: nothing changes between, so the result is that of a timer.
//! - Overload begins at `k p' >= 1` (RFC), where Linux has `> 1`. There is no mode that leaves overload to
//!   the capacity (Linux: `overflow`): it would not bound the delay.
//! - The minimum length (RFC: `Th_len`) is looked at as a packet leaves, as in the pseudocode; Linux does as
//!   it comes, so that the last of a burst is not exempt. By default it is zero, as in Linux, and exempts none.
//! - Queues are of the ECN codepoint only: there is no other classifier, so that section 2.5.1.1's cases of a
//!   packet in the queue of the other kind do not occur, and all is decided as packets leave.
//! - The capacity is that of the queue's configuration, of both queues together; Linux has 10,000 packets and
//!   a limit of memory, the RFC suggests 250 ms.
//! - The head is looked at before it is taken, so that a packet that does not fit the budget stays. If the
//!   other queue's head fits, that goes: it is charged, and the queue that had to wait is made up for by
//!   one full packet at most. (A wired link has no such budget.)
//! - Nothing scales with the rate of a radio link: the delay is the sojourn time of the heads. Where packets
//!   leave once a slot, the target and the step must be longer than the slot; where the rate falls, beta
//!   times the growth of the delay may lead to overload (with the defaults at once by 156 ms).

mod config;
mod control;
mod scheduler;
#[cfg(test)]
mod tests;

pub(crate) use config::ALGORITHM;
pub use config::{DualPi2Config, DualScheduler};

use self::control::{Pi, Recurrence, ramp};
use self::scheduler::{Scheduler, Turn};
use crate::fifo::{Fifo, try_mark};
use crate::{Capacity, ConfigError, Dequeued, Ecn, Occupancy, Packet, QueueManagement};
use units::{Bytes, Duration, Instant};

/// Linux and the text of appendix A.1: with less than so many full packets in both queues the controller's
/// probabilities are not applied.
const FLOOR_PACKETS: u64 = 2;

/// The two queues.
#[derive(Debug)]
pub struct DualPi2<P> {
    config: DualPi2Config,
    capacity: Capacity,
    low_latency: Fifo<P>,
    classic: Fifo<P>,
    pi: Pi,
    scheduler: Scheduler,
    low_latency_events: Recurrence,
    classic_events: Recurrence,
}

impl<P: Packet> DualPi2<P> {
    /// Empty queues.
    ///
    /// # Errors
    /// As [`DualPi2Config::check`]; a capacity of zero.
    pub fn new(config: DualPi2Config, capacity: Capacity) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        Ok(Self {
            pi: Pi::new(&config),
            scheduler: Scheduler::new(config.scheduler, config.mtu),
            config,
            capacity,
            low_latency: Fifo::new(),
            classic: Fifo::new(),
            low_latency_events: Recurrence::default(),
            classic_events: Recurrence::default(),
        })
    }

    /// p': none where too little waits for it to be applied.
    fn base_probability(&self) -> f64 {
        let held = self.low_latency.occupancy().bytes + self.classic.occupancy().bytes;
        if held < self.config.mtu * FLOOR_PACKETS {
            0.0
        } else {
            self.pi.base_probability
        }
    }

    /// p_CL: what the low-latency queue marks for the classic one; overload from 1 on.
    fn coupled_probability(&self, base_probability: f64) -> f64 {
        self.config.coupling.as_f64() * base_probability
    }

    fn catch_up(&mut self, now: Instant) {
        let heads = [self.low_latency.front(), self.classic.front()];
        let oldest = heads.into_iter().flatten().map(|head| head.enqueued_at);
        self.pi.catch_up(now, oldest.min());
    }

    /// Which queue is served, if a head fits; the scheduler's account begins anew if both are empty.
    fn next_turn(&mut self, now: Instant, budget: Bytes) -> Option<Turn> {
        let fits = |head: &Dequeued<P>| head.packet.bytes() <= budget;
        let alone = |is_low_latency| Turn {
            is_low_latency,
            is_contested: false,
            is_substitute: false,
        };
        match (self.low_latency.front(), self.classic.front()) {
            (None, None) => {
                self.scheduler.reset(self.config.mtu);
                None
            }
            (Some(head), None) => fits(head).then(|| alone(true)),
            (None, Some(head)) => fits(head).then(|| alone(false)),
            (Some(low_latency), Some(classic)) => {
                let (l_since, c_since) = (low_latency.enqueued_at, classic.enqueued_at);
                let preferred = self.scheduler.prefers_low_latency(now, l_since, c_since);
                let has_room =
                    |is_low_latency: bool| fits(if is_low_latency { low_latency } else { classic });
                let turn = |is_low_latency| Turn {
                    is_low_latency,
                    is_contested: true,
                    is_substitute: is_low_latency != preferred,
                };
                [preferred, !preferred]
                    .into_iter()
                    .find(|&is_low_latency| has_room(is_low_latency))
                    .map(turn)
            }
        }
    }

    /// The head of L as it leaves: false if it is to be dropped.
    fn admits_low_latency(&mut self, head: &mut P, sojourn: Duration) -> bool {
        let base_probability = self.base_probability();
        let coupled = self.coupled_probability(base_probability);
        let dropped = base_probability * base_probability;
        if coupled >= 1.0 && self.low_latency_events.is_due(dropped) {
            return false;
        }
        let behind = self.low_latency.occupancy().packets;
        let own = if behind < self.config.min_length {
            0.0
        } else {
            ramp(sojourn, self.config.ramp_from, self.config.ramp_range)
        };
        if self.low_latency_events.is_due(own.max(coupled)) {
            try_mark(head);
        }
        true
    }

    /// The head of C as it leaves: false if it is to be dropped.
    fn admits_classic(&mut self, head: &mut P) -> bool {
        let base_probability = self.base_probability();
        if !self
            .classic_events
            .is_due(base_probability * base_probability)
        {
            return true;
        }
        self.coupled_probability(base_probability) < 1.0 && try_mark(head)
    }
}

impl<P: Packet + Send> QueueManagement<P> for DualPi2<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        self.catch_up(now);
        if !self.capacity.admits(self.occupancy(), packet.bytes()) {
            return Err(packet);
        }
        match packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => self.low_latency.push(now, packet),
            Ecn::NotEct | Ecn::Ect0 => self.classic.push(now, packet),
        }
        Ok(())
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        self.catch_up(now);
        loop {
            let turn = self.next_turn(now, budget)?;
            let (mut head, is_sent);
            if turn.is_low_latency {
                head = self.low_latency.pop()?;
                let sojourn = now.saturating_since(head.enqueued_at);
                is_sent = self.admits_low_latency(&mut head.packet, sojourn);
            } else {
                head = self.classic.pop()?;
                is_sent = self.admits_classic(&mut head.packet);
            }
            if is_sent {
                self.scheduler.charge(turn, head.packet.bytes());
                return Some(head);
            }
            dropped(head.packet);
        }
    }

    #[inline]
    fn occupancy(&self) -> Occupancy {
        let (low_latency, classic) = (self.low_latency.occupancy(), self.classic.occupancy());
        Occupancy {
            packets: low_latency.packets + classic.packets,
            bytes: low_latency.bytes + classic.bytes,
        }
    }
}
