//! What a client has received so far: which entity belongs to which, and the newest values.

use crate::client::{Client, ClientError, Event, SeriesInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// What a client has received so far.
#[derive(Clone, Debug, Default)]
pub struct View {
    session: Option<String>,
    series: BTreeMap<u64, SeriesInfo>,
    values: BTreeMap<u64, f64>,
}

impl View {
    /// Takes an event of the server.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Hello { session, .. } if self.session.as_ref() != Some(session) => {
                *self = Self {
                    session: Some(session.clone()),
                    ..Self::default()
                };
            }
            Event::Series(series) => {
                let named = series.iter().map(|series| (series.id, series.clone()));
                self.series.extend(named);
            }
            Event::Frame { values, .. } => {
                for (id, value) in values {
                    match value {
                        Some(value) => self.values.insert(*id, *value),
                        None => self.values.remove(id),
                    };
                }
            }
            _ => {}
        }
    }

    /// The newest value; none if there was none, or it has ended.
    pub fn value(&self, entity: &str, metric: &str) -> Option<f64> {
        let mut found = self
            .series
            .values()
            .filter(|series| series.entity == entity && series.metric == metric);
        found.find_map(|series| self.values.get(&series.id).copied())
    }

    /// The entities of a kind ([`crate::Kind::name`]) that have values, each with its parent.
    pub fn entities(&self, kind: &str) -> BTreeSet<(&str, Option<&str>)> {
        let there = self
            .series
            .values()
            .filter(|series| series.kind == kind && self.values.contains_key(&series.id));
        there
            .map(|series| (series.entity.as_str(), series.parent.as_deref()))
            .collect()
    }
}

impl Client {
    /// Reads until a view is enough, or for so long; gives what was seen by then.
    ///
    /// # Errors
    /// As [`Client::next`].
    pub fn watch(
        &mut self,
        timeout: Duration,
        mut is_enough: impl FnMut(&View) -> bool,
    ) -> Result<View, ClientError> {
        let until = Instant::now() + timeout;
        let mut view = View::default();
        while !is_enough(&view) {
            let left = until.saturating_duration_since(Instant::now());
            match self.next(left)? {
                Some(event) => view.take(&event),
                None if left.is_zero() => break,
                None => {}
            }
        }
        Ok(view)
    }
}
