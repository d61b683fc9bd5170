//! Results as Python holds them.

use crate::errors::{RunError, raised};
use crate::tables::Table;
use pyo3::prelude::*;
use runner::{Comparison, Error, Finished, Setting};
use scenario::{OutputError, RunResult};

/// A point that has run, with all its repeats.
#[pyclass(frozen, module = "brimful._core")]
pub(crate) struct Outcome {
    finished: Finished,
}

impl Outcome {
    /// Of a point that has run.
    pub(crate) fn new(finished: Finished) -> Self {
        Self { finished }
    }
}

fn failed(error: &OutputError) -> PyErr {
    raised(Error::run(error))
}

#[pymethods]
impl Outcome {
    /// What distinguishes it from the others; empty if it is the only one.
    #[getter]
    fn label(&self) -> &str {
        &self.finished.label
    }

    /// Seeds of its repeats.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        let runs = self.finished.runs.iter();
        runs.map(|run: &RunResult| run.seed).collect()
    }

    /// Names and values of the sweep's axes.
    #[getter]
    fn axes(&self) -> Vec<Setting> {
        self.finished.point.axes.clone()
    }

    /// What `brimful run --json` prints.
    fn summary(&self) -> PyResult<String> {
        runner::line(&self.finished.summary).map_err(raised)
    }

    /// Every key of the scenario with its value, defaults included, as JSON.
    fn resolved(&self) -> PyResult<String> {
        runner::line(&self.finished.point.resolved).map_err(raised)
    }

    /// One row for each flow and repeat.
    fn flows(&self) -> PyResult<Table> {
        let table = scenario::flow_table(&[self.finished.labelled()]);
        Ok(Table::new(table.map_err(|error| failed(&error))?))
    }

    /// One row for each queue and repeat.
    fn queues(&self) -> PyResult<Table> {
        let table = scenario::queue_table(&[self.finished.labelled()]);
        Ok(Table::new(table.map_err(|error| failed(&error))?))
    }

    /// The time series in long form.
    fn samples(&self, py: Python<'_>) -> PyResult<Table> {
        let batches = py.detach(|| scenario::sample_table(&[self.finished.labelled()]));
        let batches = batches.map_err(|error| failed(&error))?;
        Table::of_several(batches).ok_or_else(|| RunError::new_err("there is no table of samples"))
    }

    /// What MELD decided of each loss; none if it decided nothing.
    fn loss_decisions(&self) -> PyResult<Option<Table>> {
        let table = scenario::decision_table(&[self.finished.labelled()]);
        let table = table.map_err(|error| failed(&error))?;
        Ok(table.map(Table::new))
    }

    /// What applications measured, in long form; none if none measured anything.
    fn applications(&self) -> PyResult<Option<Table>> {
        let table = scenario::application_table(&[self.finished.labelled()]);
        let table = table.map_err(|error| failed(&error))?;
        Ok(table.map(Table::new))
    }

    /// The tables that `brimful run` prints.
    fn text(&self) -> String {
        text(core::slice::from_ref(&self.finished))
    }
}

/// The tables of these results, plain.
fn text(finished: &[Finished]) -> String {
    let report = runner::report(finished, &[]);
    report.map_or(String::new(), |report| {
        let tables = report::report_tables(&report);
        report::text(&tables, report::TextStyle::default())
    })
}

/// Variants that have run.
#[pyclass(frozen, module = "brimful._core")]
pub(crate) struct Compared {
    json: String,
    text: String,
    finished: Vec<Finished>,
}

impl Compared {
    /// Of variants, each with its settings.
    pub(crate) fn new(finished: Vec<Finished>, settings: &[Vec<Setting>]) -> Result<Self, Error> {
        Ok(Self {
            json: runner::line(&Comparison::of(&finished, settings)?)?,
            text: text(&finished),
            finished,
        })
    }
}

#[pymethods]
impl Compared {
    /// What `brimful compare --json` prints.
    fn json(&self) -> &str {
        &self.json
    }

    /// The tables that `brimful compare` prints.
    fn text(&self) -> &str {
        &self.text
    }

    /// The variants.
    fn variants(&self) -> Vec<Outcome> {
        self.finished.iter().cloned().map(Outcome::new).collect()
    }
}

/// What a reproduction found.
#[pyclass(frozen, module = "brimful._core")]
pub(crate) struct Claims {
    json: String,
    text: String,
}

impl Claims {
    /// Of what was found.
    pub(crate) fn new(outcome: &reproduce::Outcome) -> Self {
        Self {
            json: outcome.json().to_string(),
            text: outcome.text(None),
        }
    }
}

#[pymethods]
impl Claims {
    /// What `brimful reproduce --json` prints.
    fn json(&self) -> &str {
        &self.json
    }

    /// The table that `brimful reproduce` prints.
    fn text(&self) -> &str {
        &self.text
    }
}
