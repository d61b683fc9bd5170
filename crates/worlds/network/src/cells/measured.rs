//! What a user measures of a cell: worked out from places, or as recorded.

use mobility::Rsrp;
use radio::moving::{Dbm, MovingRadio};
use radio::trace::{Signal, Signals};
use scenario::TriggerQuantity;
use units::{Decibel, Instant};

/// The lowest RSRP that is reported (TS 38.133 10.1.6: -156 dBm): that of a cell that is off.
const MIN_RSRP: f64 = -156.0;

/// The SINR of a recorded cell whose trace does not have it: always in sync.
const IN_SYNC: Decibel = Decibel::new(100.0);

/// A user's radio to one cell, without fading.
pub(super) enum Measured {
    /// By place, and what is subtracted of its power for that of a resource element, dB.
    Moving(Box<MovingRadio>, f64),
    /// As recorded.
    Recorded(Recorded),
}

/// What was measured of a cell.
pub(super) struct Recorded {
    signals: Signals,
    quantity: Option<TriggerQuantity>,
    /// It is off from the first to the second of these times.
    off: Option<(Instant, Instant)>,
}

impl Recorded {
    pub(super) fn new(
        signals: Signals,
        quantity: Option<TriggerQuantity>,
        off: Option<(Instant, Instant)>,
    ) -> Self {
        Self {
            signals,
            quantity,
            off,
        }
    }

    /// None while the cell is not received at all.
    fn signal(&mut self, now: Instant) -> Option<Signal> {
        let is_off = self
            .off
            .is_some_and(|(from, until)| (from..until).contains(&now));
        self.signals.at(now).filter(|_| !is_off)
    }

    fn rsrp(&mut self, now: Instant) -> f64 {
        let quantity = self.quantity;
        let Some(signal) = self.signal(now) else {
            return MIN_RSRP;
        };
        let found = match quantity {
            Some(TriggerQuantity::Rsrp) => signal.rsrp.map(Dbm::get),
            Some(TriggerQuantity::Snr) => signal.snr.map(Decibel::get),
            None => None,
        };
        found.unwrap_or(0.0)
    }

    fn sinr(&mut self, now: Instant) -> Decibel {
        match self.signal(now) {
            Some(signal) => signal.snr.unwrap_or(IN_SYNC),
            None => Decibel::new(MIN_RSRP),
        }
    }
}

/// What a user measures of each cell now.
pub(super) fn measure(radios: &mut [Measured], now: Instant) -> Vec<Rsrp> {
    let of = |radio: &mut Measured| {
        Rsrp::from_dbm(match radio {
            Measured::Moving(radio, per_element) => {
                let dbm = radio.received(now).get() - *per_element;
                dbm.max(MIN_RSRP)
            }
            Measured::Recorded(recorded) => recorded.rsrp(now),
        })
    };
    radios.iter_mut().map(of).collect()
}

/// The SINR of a cell without fading; of each other one this share disturbs.
pub(super) fn sinr(radios: &mut [Measured], shares: &[f64], cell: usize, now: Instant) -> Decibel {
    let mut disturbance = 0.0;
    for (radio, &share) in radios.iter_mut().zip(shares) {
        if let (Measured::Moving(radio, _), true) = (radio, share > 0.0) {
            disturbance += share * milliwatts(radio.received(now));
        }
    }
    match &mut radios[cell] {
        Measured::Moving(radio, _) => {
            disturbance += milliwatts(radio.noise());
            Decibel::from_linear(milliwatts(radio.received(now)) / disturbance)
        }
        Measured::Recorded(recorded) => recorded.sinr(now),
    }
}

fn milliwatts(power: Dbm) -> f64 {
    Decibel::new(power.get()).to_linear()
}

#[cfg(test)]
mod tests {
    use super::*;
    use radio::trace::{Playback, ReadOptions, read};
    use units::Duration;

    fn s(n: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(n)
    }

    fn recorded(quantity: Option<TriggerQuantity>, off: Option<(Instant, Instant)>) -> Measured {
        let text = "# brimful-trace 1 duration_s=9\ntime_s,cqi,snr_db,rsrp_dbm\n0,9,7.5,-90\n1,8,-9,-101\n";
        let trace = read("t", text.as_bytes(), &ReadOptions::default()).expect("a trace");
        Measured::Recorded(Recorded::new(
            trace.signals(&Playback::default()),
            quantity,
            off,
        ))
    }

    #[test]
    fn event_a3_compares_what_all_traces_have() {
        let of = |quantity| {
            let mut radios = [recorded(quantity, None)];
            [0, 1].map(|n| measure(&mut radios, s(n))[0].as_dbm())
        };
        assert_eq!(of(Some(TriggerQuantity::Rsrp)), [-90.0, -101.0]);
        assert_eq!(of(Some(TriggerQuantity::Snr)), [7.5, -9.0]);
        assert_eq!(of(None), [0.0, 0.0]);
    }

    #[test]
    fn a_recorded_cell_that_is_off_is_not_received() {
        let mut radios = [recorded(Some(TriggerQuantity::Rsrp), Some((s(2), s(3))))];
        let sinr = |radios: &mut [Measured], n| sinr(radios, &[0.0], 0, s(n)).get();
        assert_eq!(sinr(&mut radios, 1), -9.0);
        assert_eq!(measure(&mut radios, s(2))[0].as_dbm(), MIN_RSRP);
        assert_eq!(sinr(&mut radios, 2), MIN_RSRP);
        assert_eq!(sinr(&mut radios, 3), -9.0);
    }
}
