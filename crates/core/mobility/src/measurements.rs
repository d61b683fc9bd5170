//! What a UE measures of all cells, and when it reports one of them as better than the serving one.

use crate::event::{A3, A3Config};
use crate::filter::{Filter, FilterCoefficient, Rsrp};
use units::{Duration, Instant};

/// How a UE measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementsConfig {
    /// From one measurement of layer 1 to the next, above zero.
    pub period: Duration,
    /// The filter of layer 3.
    pub filter: FilterCoefficient,
    /// When a neighbour is reported.
    pub a3: A3Config,
}

/// The measurements of one UE. Cells are numbered from 0.
#[derive(Clone, Debug)]
pub struct Measurements {
    config: MeasurementsConfig,
    filters: Vec<Filter>,
    filtered: Vec<Rsrp>,
    events: Vec<A3>,
    serving: usize,
    /// No event is evaluated while the UE is being handed over.
    is_suspended: bool,
    next_at: Instant,
}

impl Measurements {
    /// Of so many cells, one of which serves the UE; the first measurement is due at `first_at`.
    pub fn new(
        config: MeasurementsConfig,
        cells: usize,
        serving: usize,
        first_at: Instant,
    ) -> Self {
        Self {
            filters: vec![Filter::new(config.filter, config.period); cells],
            filtered: Vec::with_capacity(cells),
            events: vec![A3::default(); cells],
            config,
            serving,
            is_suspended: false,
            next_at: first_at,
        }
    }

    /// When the next measurement is due.
    pub fn next_measurement(&self) -> Instant {
        self.next_at
    }

    /// When a cell is reported, if no measurement comes before.
    pub fn next_report(&self) -> Option<Instant> {
        match self.is_suspended {
            true => None,
            false => self.events.iter().filter_map(A3::triggers_at).min(),
        }
    }

    /// All cells have been measured, in their order.
    pub fn on_measurement(&mut self, now: Instant, measured: impl IntoIterator<Item = Rsrp>) {
        self.next_at = now + self.config.period;
        self.filtered.clear();
        let filters = self.filters.iter_mut().zip(measured);
        self.filtered
            .extend(filters.map(|(filter, measured)| filter.update(measured)));
        if self.is_suspended {
            return;
        }
        let Some(&serving) = self.filtered.get(self.serving) else {
            return;
        };
        for (cell, (event, &neighbour)) in self.events.iter_mut().zip(&self.filtered).enumerate() {
            if cell != self.serving {
                event.on_measurement(&self.config.a3, now, serving, neighbour);
            }
        }
    }

    /// The cell that is reported now: of those whose event triggers or holds, the best. Until [`Self::serve`] no other is.
    pub fn poll_report(&mut self, now: Instant) -> Option<usize> {
        if self.is_suspended {
            return None;
        }
        let mut triggers = false;
        for event in &mut self.events {
            triggers |= event.triggers(now);
        }
        if !triggers {
            return None;
        }
        let held = self.events.iter().zip(&self.filtered).enumerate();
        let best = held
            .filter(|(_, (event, _))| event.holds())
            .max_by(|(_, (_, a)), (_, (_, b))| a.as_dbm().total_cmp(&b.as_dbm()));
        let (cell, _) = best?;
        self.is_suspended = true;
        Some(cell)
    }

    /// No cell serves the UE: none is reported until one does.
    pub fn suspend(&mut self) {
        self.is_suspended = true;
    }

    /// The UE is served by this cell: all neighbours are compared with it anew.
    pub fn serve(&mut self, cell: usize) {
        self.serving = cell;
        self.is_suspended = false;
        self.events.fill(A3::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Decibel;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn the_best_of_the_better_neighbours_is_reported_once() {
        let config = MeasurementsConfig {
            period: Duration::from_millis(200),
            filter: FilterCoefficient::new(0).unwrap(),
            a3: A3Config::new(
                Decibel::new(3.0),
                Decibel::new(0.0),
                Duration::from_millis(40),
            )
            .unwrap(),
        };
        let mut it = Measurements::new(config, 3, 0, ms(0));
        let rsrp = |values: [f64; 3]| values.map(Rsrp::from_dbm);
        it.on_measurement(ms(0), rsrp([-90.0, -85.0, -84.0]));
        assert_eq!(it.next_report(), Some(ms(40)));
        assert_eq!(it.poll_report(ms(39)), None);
        assert_eq!(it.poll_report(ms(40)), Some(2));
        // being handed over it reports nothing
        it.on_measurement(ms(200), rsrp([-95.0, -80.0, -84.0]));
        assert_eq!(it.next_report(), None);
        it.serve(2);
        it.on_measurement(ms(400), rsrp([-95.0, -80.0, -84.0]));
        assert_eq!(it.poll_report(ms(440)), Some(1));
        assert_eq!(it.next_measurement(), ms(600));
    }
}
