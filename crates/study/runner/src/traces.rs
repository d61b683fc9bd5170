//! A scenario over the traces of a folder.

use scenario::{Overrides, Point, ScenarioError};

/// The points of a scenario, each with every trace: its versions follow one another.
#[derive(Clone, Debug)]
pub struct OverTraces {
    points: Vec<Point>,
    traces: usize,
}

impl OverTraces {
    /// Loads a scenario, once for each trace if the options name a folder of them.
    ///
    /// # Errors
    /// What is wrong with the folder, or with the scenario.
    pub fn load(
        overrides: &Overrides,
        load: impl Fn(&Overrides) -> Result<Vec<Point>, ScenarioError>,
    ) -> Result<Self, ScenarioError> {
        let over = overrides.over_traces()?;
        let loaded: Result<Vec<Vec<Point>>, ScenarioError> = over.iter().map(load).collect();
        let mut loaded: Vec<_> = loaded?.into_iter().map(Vec::into_iter).collect();
        let mut points = Vec::new();
        // the axes of a sweep do not depend on the trace, so there are equally many points with each
        while let Some(versions) = loaded
            .iter_mut()
            .map(Iterator::next)
            .collect::<Option<Vec<_>>>()
        {
            points.extend(versions);
        }
        Ok(Self {
            points,
            traces: over.len(),
        })
    }

    /// Several of them, one behind the other, as the variants of a comparison. None without any.
    pub fn joined(variants: Vec<Self>) -> Option<Self> {
        let mut variants = variants.into_iter();
        let first = variants.next()?;
        Some(variants.fold(first, |mut all, one| {
            all.points.extend(one.points);
            all
        }))
    }

    /// All points, with the traces one behind the other.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// How many traces there are.
    pub fn traces(&self) -> usize {
        self.traces
    }

    /// Each point with the first trace.
    pub fn firsts(&self) -> Vec<Point> {
        self.points.iter().step_by(self.traces).cloned().collect()
    }

    /// What is to be run, for the user: nothing if there is one trace.
    pub fn note(&self) -> Option<String> {
        traces_note(self.traces, self.points.first()?.experiment.repeats)
    }
}

/// What is to be run over several traces, for the user: nothing if there is one.
pub fn traces_note(traces: usize, repeats: u32) -> Option<String> {
    let each = match repeats {
        1 => "one repeat with each".to_owned(),
        repeats => format!("all {repeats} repeats with each"),
    };
    (traces > 1).then(|| format!("{traces} traces, {each}; one value of an interval is a trace"))
}
