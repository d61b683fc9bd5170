//! IP bytes per transport-block byte (point 1).

use super::flow::weight;

/// Before it has been learnt.
const INITIAL: f64 = 0.95;
/// Bounds of what is learnt.
const BOUNDS: (f64, f64) = (0.5, 1.0);
/// Forgetting time, seconds.
const LEARN_TIME: f64 = 0.1;

/// What a report shows of a UE that always had something to send, byte/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy {
    /// IP bytes.
    pub(super) served: f64,
    /// Transport blocks, first transmissions.
    pub(super) blocks: f64,
    /// What its resource blocks stand for, those of HARQ repetitions among them.
    pub(super) allocated: f64,
}

/// The share, as learnt.
#[derive(Debug)]
pub(super) struct Efficiency {
    share: f64,
    averages: Option<Busy>,
}

impl Default for Efficiency {
    fn default() -> Self {
        Self {
            share: INITIAL,
            averages: None,
        }
    }
}

impl Efficiency {
    /// Served IP bytes over what was allocated. HARQ repetitions take slots from first transmissions, and recorded
    /// opportunities can be larger than their mean rate: the larger of blocks and allocation counts. A report of a slot
    /// can have nothing but a repetition, or a block that is far from the mean: averages are compared, not each report.
    pub(super) fn learn(&mut self, busy: Busy, covered: f64) {
        if busy.allocated <= 0.0 {
            return;
        }
        let averages = self.averages.get_or_insert(Busy {
            served: self.share * busy.allocated,
            blocks: busy.allocated,
            allocated: busy.allocated,
        });
        let weight = weight(covered, LEARN_TIME);
        for (average, sample) in [
            (&mut averages.served, busy.served),
            (&mut averages.blocks, busy.blocks),
            (&mut averages.allocated, busy.allocated),
        ] {
            *average += weight * (sample - *average);
        }
        let share = averages.served / averages.allocated.max(averages.blocks);
        self.share = share.clamp(BOUNDS.0, BOUNDS.1);
    }

    /// The share.
    pub(super) fn share(&self) -> f64 {
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: f64 = 0.001;

    /// Learns from slots of so many (served, block, allocated) bytes, again and again.
    fn learnt(slots: &[(f64, f64, f64)]) -> f64 {
        let mut efficiency = Efficiency::default();
        for (served, blocks, allocated) in slots.iter().cycle().take(2000) {
            let [served, blocks, allocated] = [served, blocks, allocated].map(|bytes| bytes / SLOT);
            let busy = Busy {
                served,
                blocks,
                allocated,
            };
            efficiency.learn(busy, SLOT);
        }
        efficiency.share()
    }

    #[test]
    fn a_slot_of_a_repetition_alone_counts() {
        // one in ten slots: nine tenths of 98 %
        let mut slots = [(980.0, 1000.0, 1000.0); 10];
        slots[0] = (0.0, 0.0, 1000.0);
        let share = learnt(&slots);
        assert!((0.875..=0.890).contains(&share), "{share}");
    }

    #[test]
    fn opportunities_of_more_or_less_than_their_mean_are_used_in_full() {
        // 2500 bytes in a slot on average, one to three packets at a time
        let slots = [1500.0, 3000.0, 1500.0, 4500.0, 2000.0].map(|n| (n, n, 2500.0));
        let share = learnt(&slots);
        assert!((0.99..=1.0).contains(&share), "{share}");
    }
}
