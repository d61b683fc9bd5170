//! What a phone measured of the cell that a trace was recorded in: by this, users change between recorded cells.

use super::Playback;
use super::held::{Row, played};
use super::steps::{Step, Steps};
use crate::moving::Dbm;
use crate::trace::{Content, QualitySample, Trace};
use units::{Decibel, Instant};

/// What was measured at a time: of each the last that was known, before the first the first one.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Signal {
    /// Reference signal received power; none where no row has one.
    pub rsrp: Option<Dbm>,
    /// Signal-to-noise ratio; none where no row has one.
    pub snr: Option<Decibel>,
}

/// It over time, in time with [`Trace::channel`].
#[derive(Clone, Debug)]
pub struct Signals(Steps<Option<Signal>>);

impl Signals {
    /// What was measured at an instant of the run; none in an outage (an older network, after the end). Instants never
    /// go back.
    pub fn at(&mut self, now: Instant) -> Option<Signal> {
        self.0.at(now).and_then(|(signal, _)| signal)
    }
}

impl Trace {
    /// What the phone measured, played so. A trace of capacity and a log of grants have none of it: their cell is always there.
    pub fn signals(&self, playback: &Playback) -> Signals {
        let Content::Quality(quality) = &self.content else {
            let always = Step {
                at: 0,
                state: Some(Signal::default()),
            };
            return Signals(Steps::new(
                vec![always],
                self.duration_with(playback),
                playback,
            ));
        };
        let (rows, lap) = played(quality, playback.without_cqi);
        let mut last = first_of(rows.iter().map(|row| row.sample));
        let mut steps = Vec::with_capacity(rows.len());
        for Row { at, sample, serves } in rows {
            last = Signal {
                rsrp: sample.rsrp.or(last.rsrp),
                snr: sample.snr.or(last.snr),
            };
            let state = serves.then_some(last);
            steps.push(Step { at, state });
        }
        Signals(Steps::new(steps, lap, playback))
    }

    /// Whether any row has a reference signal received power.
    pub fn has_rsrp(&self) -> bool {
        self.first_signal().rsrp.is_some()
    }

    /// Whether any row has a signal-to-noise ratio.
    pub fn has_snr(&self) -> bool {
        self.first_signal().snr.is_some()
    }

    fn first_signal(&self) -> Signal {
        match &self.content {
            Content::Quality(quality) => first_of(quality.samples.iter()),
            _ => Signal::default(),
        }
    }
}

/// The first that is known of each.
fn first_of<'a>(rows: impl Iterator<Item = &'a QualitySample> + Clone) -> Signal {
    Signal {
        rsrp: rows.clone().find_map(|row| row.rsrp),
        snr: { rows }.find_map(|row| row.snr),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ReadOptions, WithoutCqi, read};
    use units::Duration;

    const ROWS: &str = "# brimful-trace 1 duration_s=4\ntime_s,cqi,snr_db,rsrp_dbm,network\n\
        0,9,,-90,nr\n1,8,4.5,,nr\n2,,,,older\n3,7,6,-95.5,nr\n";

    fn trace(text: &str) -> Trace {
        read("t", text.as_bytes(), &ReadOptions::default()).unwrap()
    }

    fn seen(
        playback: &Playback,
        seconds: impl IntoIterator<Item = u64>,
    ) -> Vec<Option<(f64, f64)>> {
        let mut signals = trace(ROWS).signals(playback);
        let at = |s: u64| signals.at(Instant::ZERO + Duration::from_secs(s));
        let numbers = |it: Signal| {
            let (rsrp, snr) = (it.rsrp.unwrap().get(), it.snr.unwrap().get());
            (rsrp, snr)
        };
        seconds
            .into_iter()
            .map(at)
            .map(|it| it.map(numbers))
            .collect()
    }

    #[test]
    fn what_is_missing_is_held_and_an_older_network_is_an_outage() {
        let first = [
            Some((-90.0, 4.5)),
            Some((-90.0, 4.5)),
            None,
            Some((-95.5, 6.0)),
        ];
        let all = seen(&Playback::default(), 0..8);
        assert_eq!(all, [first, first].concat(), "lap after lap");
        let once = Playback {
            repeat: false,
            offset: Duration::from_secs(1),
            ..Playback::default()
        };
        assert_eq!(seen(&once, 0..4), [&first[1..], &[None]].concat());
    }

    #[test]
    fn rows_that_are_left_out_of_the_channel_are_left_out_here() {
        let skipping = Playback {
            without_cqi: WithoutCqi::Skip,
            ..Playback::default()
        };
        assert_eq!(
            seen(&skipping, 2..4),
            [Some((-95.5, 6.0)), Some((-90.0, 4.5))]
        );
        let holding = Playback {
            without_cqi: WithoutCqi::Hold,
            ..Playback::default()
        };
        assert_eq!(seen(&holding, 2..3), [Some((-90.0, 4.5))]);
    }

    #[test]
    fn a_trace_without_them_has_none_and_is_always_there() {
        let rates = trace("# brimful-trace 1 duration_s=2\ntime_s,rate_bps\n0,1000\n");
        assert!(!rates.has_rsrp() && !rates.has_snr());
        let mut signals = rates.signals(&Playback::default());
        for s in [0, 1, 7] {
            let at = Instant::ZERO + Duration::from_secs(s);
            assert_eq!(signals.at(at), Some(Signal::default()));
        }
        assert!(trace(ROWS).has_rsrp() && trace(ROWS).has_snr());
    }
}
