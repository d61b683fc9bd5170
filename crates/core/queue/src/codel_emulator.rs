//! CoDel as the authors of the dynamic-buffer paper wrote it, to reproduce their numbers. For anything else
//! take [`CoDel`](crate::CoDel).
//!
//! Source: `mib_queue_codel.c` of the code that the paper names in its footnote 3
//! (github.com/mirazabal/Dynamic-buffer-TMC, commit 3294e797), read and written anew. The paper states that it
//! follows the RFC's pseudocode (section 5). It differs from RFC 8289 in these lines:
//!
//! | | RFC 8289 | the authors' code |
//! | --- | --- | --- |
//! | 1, sections 5.5 and 5.6: `drop(r.p)` | the packet that was judged is dropped | the judged packet is taken from the queue, then the *next* one is dropped with a verdict; the judged one is overwritten by the third and gets no verdict at all. Two are lost, one of them never judged |
//! | 2, section 5.5: `bytes() <= maxpacket` | nothing is dropped with no more than one full packet behind | the test is commented out: the last packet in the queue is dropped, too |
//! | 3, section 5.6: `drop_next = control_law(drop_next, count)` | from the drop that was due | from now, so that a drop that comes late, as all do behind a pull every 10 ms, delays all that follow |
//! | 4, section 5.6: `++count` | at each drop | only if the packet that follows has waited too long, too |
//! | 5, both: the queue runs empty by a drop | the state is entered, or left | it stays as it was, no drop is counted |
//! | 6, section 4.1: ECN | may be marked instead | never marked |
//!
//! 1 to 3 can be switched off one by one, to see what each is worth; 4 to 6 follow the authors always.
//!
//! *Deviations* from the authors' code
//! - The packet without a verdict is dropped here. There it stays in the kernel's queue of the 1024 packets
//!   that wait for one until the program ends; its flow never sees it again either way.
//! - Sizes: a head that does not fit the budget is left where it is and not judged, where the authors' pull
//!   counts packets and has no such case. If it is the one behind a drop, that drop counts.
//! - A queue with a limit drops what does not fit on arrival.

use crate::codel::{INTERVAL_KEY, TARGET_KEY, control_law};
use crate::config::Configure;
use crate::fifo::Fifo;
use crate::registry::{Algorithm, Made, Parameter, Place, Quantity, Values};
use crate::{
    Capacity, CoDelConfig, ConfigError, Dequeued, DisciplineConfig, MTU, Occupancy, Packet,
    QueueManagement, error,
};
use units::{Bytes, Duration, Instant, Rng};

/// As in RFC 8289, section 5.6.
const MEMORY_INTERVALS: u64 = 16;

/// How the authors' CoDel works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatorCoDelConfig {
    /// The sojourn time of a queue that does not stand, above zero.
    pub target: Duration,
    /// How long it must have been exceeded, above zero.
    pub interval: Duration,
    /// A full packet, for `tests_mtu`.
    pub mtu: Bytes,
    /// 1: a drop loses the judged packet and the next one; else the judged one alone.
    pub loses_two: bool,
    /// 2, undone: nothing is dropped with no more than `mtu` behind it.
    pub tests_mtu: bool,
    /// 3: the next drop is reckoned from now; else from when the last one was due.
    pub from_now: bool,
}

impl Default for EmulatorCoDelConfig {
    /// The authors' at SDAP: 5 ms and 100 ms, with all that they changed.
    fn default() -> Self {
        let CoDelConfig {
            target, interval, ..
        } = CoDelConfig::default();
        Self {
            target,
            interval,
            mtu: MTU,
            loses_two: true,
            tests_mtu: false,
            from_now: true,
        }
    }
}

impl EmulatorCoDelConfig {
    /// # Errors
    /// A target or an interval of zero.
    pub fn check(&self) -> Result<(), ConfigError> {
        error::expect_time("codel-emulator target", self.target)?;
        error::expect_time("codel-emulator interval", self.interval)
    }

    fn of(values: &Values<'_>) -> Self {
        Self {
            target: values.duration(TARGET_KEY),
            interval: values.duration(INTERVAL_KEY),
            mtu: values.shared.mtu,
            loses_two: values.flag(LOSES_TWO),
            tests_mtu: values.flag(TESTS_MTU),
            from_now: values.flag(FROM_NOW),
        }
    }
}

const LOSES_TWO: &Parameter = &Parameter::new(
    "codel-emulator-loses-two",
    Quantity::Flag,
    "true",
    (0.0, 1.0),
    "`codel-emulator`: a drop loses the judged packet and the one behind it; false: the judged one alone.",
);
const TESTS_MTU: &Parameter = &Parameter::new(
    "codel-emulator-tests-mtu",
    Quantity::Flag,
    "false",
    (0.0, 1.0),
    "`codel-emulator`: nothing is dropped with no more than a full packet behind it (RFC 8289 5.5; the authors left it out).",
);
const FROM_NOW: &Parameter = &Parameter::new(
    "codel-emulator-from-now",
    Quantity::Flag,
    "true",
    (0.0, 1.0),
    "`codel-emulator`: the next drop is reckoned from now; false: from when the last one was due (RFC 8289 5.6).",
);

/// What there is to state of it.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "codel-emulator",
    title: "CoDel of the emulator",
    places: &[Place::Upf, Place::Sdap, Place::Rlc],
    is_aqm: true,
    is_backpressure: false,
    parameters: &[TARGET_KEY, INTERVAL_KEY, LOSES_TWO, TESTS_MTU, FROM_NOW],
    make: |values| {
        Made::Discipline(DisciplineConfig::EmulatorCoDel(EmulatorCoDelConfig::of(
            values,
        )))
    },
};

impl Configure for EmulatorCoDelConfig {
    type Queue<P: Packet + Send> = EmulatorCoDel<P>;
    fn check(&self) -> Result<(), ConfigError> {
        self.check()
    }
    fn scale(&mut self, _ratio: f64) {}
    fn build<P: Packet + Send>(
        &self,
        capacity: Capacity,
        _rng: &mut Rng,
    ) -> Result<EmulatorCoDel<P>, ConfigError> {
        EmulatorCoDel::new(self.clone(), capacity)
    }
}

/// When to drop.
#[derive(Debug, Default)]
struct Law {
    /// When the sojourn time will have been above the target for an interval; none while it is not.
    first_above: Option<Instant>,
    /// When to drop next; of no meaning before the first drop.
    drop_next: Instant,
    /// Drops in this dropping state that were followed by a packet that had waited too long.
    count: u32,
    /// `count` as the dropping state began.
    last_count: u32,
    is_dropping: bool,
}

impl Law {
    /// Section 5.5, without its second condition (line 2): the queue has stood for an interval.
    fn is_standing(
        &mut self,
        config: &EmulatorCoDelConfig,
        now: Instant,
        sojourn: Duration,
        behind: Bytes,
    ) -> bool {
        let is_last = config.tests_mtu && behind <= config.mtu;
        if sojourn < config.target || is_last {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + config.interval);
                false
            }
            Some(first_above) => now >= first_above,
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.is_dropping && now >= self.drop_next
    }

    /// Section 5.6, as the dropping state begins.
    fn enter(&mut self, config: &EmulatorCoDelConfig, now: Instant) {
        self.is_dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let is_recent = now.saturating_since(self.drop_next) < config.interval * MEMORY_INTERVALS;
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next = control_law(now, config.interval, self.count);
        self.last_count = self.count;
    }

    /// Section 5.6, after a drop in it; line 3.
    fn step(&mut self, config: &EmulatorCoDelConfig, now: Instant) {
        self.count += 1;
        let from = if config.from_now { now } else { self.drop_next };
        self.drop_next = control_law(from, config.interval, self.count);
    }
}

/// One queue under the authors' CoDel.
#[derive(Debug)]
pub struct EmulatorCoDel<P> {
    config: EmulatorCoDelConfig,
    capacity: Capacity,
    packets: Fifo<P>,
    law: Law,
}

impl<P: Packet> EmulatorCoDel<P> {
    /// An empty queue.
    ///
    /// # Errors
    /// As [`EmulatorCoDelConfig::check`]; a capacity of zero.
    pub fn new(config: EmulatorCoDelConfig, capacity: Capacity) -> Result<Self, ConfigError> {
        config.check()?;
        capacity.check()?;
        Ok(Self {
            config,
            capacity,
            packets: Fifo::new(),
            law: Law::default(),
        })
    }

    /// The head, and whether the queue stands by it; none if there is none or it does not fit.
    fn take(&mut self, now: Instant, budget: Bytes) -> Option<(Dequeued<P>, bool)> {
        if self.is_out() || self.packets.front()?.packet.bytes() > budget {
            return None;
        }
        let head = self.packets.pop()?;
        let sojourn = now.saturating_since(head.enqueued_at);
        let behind = self.packets.occupancy().bytes;
        let is_standing = self.law.is_standing(&self.config, now, sojourn, behind);
        Some((head, is_standing))
    }

    /// Nothing waits: then nothing stands.
    fn is_out(&mut self) -> bool {
        let is_out = self.packets.front().is_none();
        if is_out {
            self.law.first_above = None;
        }
        is_out
    }

    /// Line 1: the judged packet, and the one behind it.
    fn lose(&mut self, judged: Dequeued<P>, dropped: &mut dyn FnMut(P)) {
        dropped(judged.packet);
        if self.config.loses_two
            && let Some(next) = self.packets.pop()
        {
            dropped(next.packet);
        }
    }

    /// Outside the dropping state: lost, the state is entered, and the packet that follows leaves.
    fn begin(
        &mut self,
        now: Instant,
        budget: Bytes,
        judged: Dequeued<P>,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        self.lose(judged, dropped);
        if self.is_out() {
            return None;
        }
        let next = self.take(now, budget);
        self.law.enter(&self.config, now);
        next.map(|(packet, _)| packet)
    }

    /// Within it: lost as long as a drop is due.
    fn go_on(
        &mut self,
        now: Instant,
        budget: Bytes,
        mut head: Dequeued<P>,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        while self.law.is_due(now) {
            self.lose(head, dropped);
            if self.is_out() {
                return None;
            }
            let next = self.take(now, budget);
            match &next {
                Some((_, false)) => self.law.is_dropping = false,
                Some((_, true)) | None => self.law.step(&self.config, now),
            }
            head = next?.0;
        }
        Some(head)
    }
}

impl<P: Packet + Send> QueueManagement<P> for EmulatorCoDel<P> {
    fn enqueue(&mut self, now: Instant, packet: P) -> Result<(), P> {
        if !self.capacity.admits(self.occupancy(), packet.bytes()) {
            return Err(packet);
        }
        self.packets.push(now, packet);
        Ok(())
    }

    fn dequeue(
        &mut self,
        now: Instant,
        budget: Bytes,
        dropped: &mut dyn FnMut(P),
    ) -> Option<Dequeued<P>> {
        let (head, is_standing) = self.take(now, budget)?;
        match (is_standing, self.law.is_dropping) {
            (true, true) => self.go_on(now, budget, head, dropped),
            (true, false) => self.begin(now, budget, head, dropped),
            (false, _) => {
                self.law.is_dropping = false;
                Some(head)
            }
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.packets.occupancy()
    }
}

#[cfg(test)]
mod tests;
