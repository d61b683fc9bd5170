//! T: the time from sending to acknowledgement with the needed queue standing (point 3).

use super::beside::{Beside, MIN_RATE};
use super::flow::weight;
use crate::{AllocatorConfig, Part};

/// Forgetting time of the queue's deviation, seconds.
const LEARN_TIME: f64 = 0.1;
/// The queue loop's time constant as a multiple of its delay.
const LOOP_DELAYS: f64 = 4.0;
/// The target holds for the queue's mean less so many mean deviations: HARQ and delayed
/// acknowledgements make it swing, and an empty queue is lost capacity.
const QUEUE_DEVIATIONS: f64 = 2.0;

/// What is known of a UE at one time. Rates in byte/s, amounts in bytes, times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Radio {
    /// What the UE could have, what our flows may use of it, and their part of it beside one other.
    pub(super) capacity: f64,
    pub(super) rate: f64,
    pub(super) part: f64,
    /// Delivered of ours lately.
    pub(super) delivered: f64,
    /// The UE's queue, and what of our flows is in flight.
    pub(super) queue: f64,
    pub(super) in_flight: f64,
    /// Least round-trip time towards the UE.
    pub(super) min_rtt: f64,
    /// The queue aimed at.
    pub(super) target: f64,
    /// What passes before a change of T reaches the queue, beside T itself.
    pub(super) delay: f64,
    /// That queue is of the bearer that carries our flows alone.
    pub(super) is_own_queue: bool,
    /// Our flows send all that they are let.
    pub(super) is_saturated: bool,
    /// The report is not too old.
    pub(super) is_fresh: bool,
}

/// T and the loop that controls it.
#[derive(Debug, Default)]
pub(super) struct Turnaround {
    /// 0: not known yet.
    time: f64,
    /// Our part of the queue.
    own_queue: f64,
    /// Moving average and mean deviation of its length.
    queue_time: f64,
    queue_deviation: f64,
}

impl Turnaround {
    /// T, seconds; 0: not known yet.
    pub(super) fn time(&self) -> f64 {
        self.time
    }

    /// Our part of the radio's queue, seconds at the rate of our flows.
    pub(super) fn own_queue(&self) -> f64 {
        self.own_queue
    }

    /// T grows while our part of the queue is below its target although data waits here, and shrinks while it is
    /// above. `elapsed`: since the last time, seconds.
    pub(super) fn control(
        &mut self,
        elapsed: f64,
        radio: &Radio,
        beside: &mut Beside,
        config: &AllocatorConfig,
    ) {
        let mut least = radio.min_rtt;
        let initial = radio.min_rtt + radio.target;
        if self.time == 0.0 || !config.has(Part::QueueLoop) {
            self.time = initial;
        }
        if radio.rate > 0.0 && radio.is_fresh {
            self.own_queue = radio.queue / radio.rate;
            if config.has(Part::OwnQueue)
                && let Some(own) = beside.own_queue(elapsed, self.time, radio)
            {
                self.own_queue = own;
                // windows are of our part of the link, and beside others we can have less
                least *= MIN_RATE;
            }
            if config.has(Part::QueueLoop) {
                self.follow(elapsed, radio, config);
            }
        }
        if let Some(time) = beside.turnaround(radio.min_rtt, initial) {
            self.time = time;
            return;
        }
        self.time = self
            .time
            .clamp(least, Self::longest(radio.min_rtt, radio.target));
    }

    /// The longest that T can be, seconds.
    pub(super) fn longest(min_rtt: f64, target: f64) -> f64 {
        3.0 * min_rtt + 4.0 * target + 0.02
    }

    /// It was found to be this, seconds.
    pub(super) fn set(&mut self, time: f64) {
        self.time = time;
    }

    fn follow(&mut self, elapsed: f64, radio: &Radio, config: &AllocatorConfig) {
        let queue = self.own_queue;
        let learn = weight(elapsed, LEARN_TIME);
        self.queue_time += learn * (queue - self.queue_time);
        self.queue_deviation += learn * ((queue - self.queue_time).abs() - self.queue_deviation);
        // the low side of the queue is what must not be empty
        let deviations = if config.has(Part::QueueDeviation) {
            QUEUE_DEVIATIONS
        } else {
            0.0
        };
        let target = radio.target;
        let low = queue - deviations * self.queue_deviation;
        let error = (target - low).clamp(-4.0 * target, 4.0 * target);
        if error < 0.0 || radio.is_saturated {
            let delay = LOOP_DELAYS * (self.time + radio.delay);
            self.time += error * weight(elapsed, delay);
        }
    }
}
