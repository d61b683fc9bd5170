//! What each part of mode `default` is worth: the mode without it, in scenarios that need it.

use super::{Mode, in_mode, tables};
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::total_goodput;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::RunResult;

/// Repeats of each: differences here are of effect, not of chance.
pub(super) const REPEATS: u32 = 3;

pub(super) const SECTION: Section = Section {
    id: "ablation",
    title: "Ablation: mode `default` without one of its parts",
    experiments: |extent| match extent.quick {
        true => Vec::new(),
        false => variants()
            .flat_map(|part| COLUMNS.map(|c| c.experiment(part)))
            .collect(),
    },
    report,
};

/// A scenario, and what is read off it.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) scenario: &'static str,
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// The flow whose round-trip time is shown; the worst of all if none.
    pub(super) flow: Option<&'static str>,
}

pub(super) const FAST_EMBB_LOS: Column = Column {
    title: "fast-embb-los",
    scenario: "rapid/fast-embb-los",
    settings: &[],
    flow: Some("cubic"),
};
pub(super) const FAST_EMBB_NLOS: Column = Column {
    title: "fast-embb-nlos",
    scenario: "rapid/fast-embb-nlos",
    settings: &[],
    flow: Some("cubic"),
};
pub(super) const MIXED_LOS: Column = Column {
    title: "mixed-los",
    scenario: "rapid/mixed-los",
    settings: &[("duration", "2 s")],
    flow: Some("bulk"),
};
pub(super) const OAI_FAST: Column = Column {
    title: "oai-fast",
    scenario: "rapid/oai-fast",
    settings: &[],
    flow: Some("cubic"),
};
pub(super) const OAI_UDP_8M: Column = Column {
    title: "oai-udp-8m",
    scenario: "rapid/oai-udp-8m",
    settings: &[],
    flow: Some("bulk"),
};
pub(super) const MANY_UES: Column = Column {
    title: "many-ues",
    scenario: "rapid/many-ues",
    settings: &[("duration", "2 s")],
    flow: None,
};

const COLUMNS: [Column; 6] = [
    FAST_EMBB_NLOS,
    Column {
        title: "the same, 3 s in 4 without reports",
        settings: &[
            ("pep.report-gap", "3 s"),
            ("pep.report-gap-interval", "4 s"),
        ],
        ..FAST_EMBB_NLOS
    },
    MIXED_LOS,
    OAI_FAST,
    OAI_UDP_8M,
    MANY_UES,
];

impl Column {
    /// Without a part, or whole.
    fn experiment(&self, part: Option<&str>) -> Experiment {
        let whole = self.whole();
        match part {
            Some(part) => whole.set("pep.without", format!("[\"{part}\"]")),
            None => whole,
        }
    }

    /// The whole mode `default`.
    pub(super) fn whole(&self) -> Experiment {
        self.in_mode(Mode::Default)
    }

    /// It in a mode.
    pub(super) fn in_mode(&self, mode: Mode) -> Experiment {
        let start = in_mode(self.scenario, mode).at_most(REPEATS);
        let settings = self.settings.iter();
        settings.fold(start, |e, (key, value)| e.set(key, *value))
    }

    /// By how much the mean round-trip time is above the least, ms; of the worst flow if none is named.
    /// (Not above the scenario's base: with LTE that holds the wait for an uplink grant, which a flow
    /// that sends all the time is spared.)
    pub(super) fn increase(&self) -> impl Fn(&RunResult) -> Option<f64> {
        let name = self.flow;
        move |run| {
            let flows = run.flows.iter().filter(|f| f.rtt.count > 0);
            let named = flows.filter(|f| name.is_none_or(|name| f.name == name));
            named.map(|f| f.rtt.mean - f.rtt.min).reduce(f64::max)
        }
    }
}

/// A row for each variant, named under `head`, with what was measured in each column.
pub(super) fn table<const N: usize>(
    head: &'static str,
    columns: &[Column; N],
    rows: impl Iterator<Item = (String, [scenario::Estimate; N])>,
) -> String {
    let titles = columns.iter().map(|column| column.title);
    let titles: Vec<&str> = core::iter::once(head).chain(titles).collect();
    let rows = rows.map(|(name, cells)| {
        let cells = cells.into_iter().map(tables::shown);
        core::iter::once(name).chain(cells).collect()
    });
    markdown::table(&titles, rows)
}

/// The whole mode, and it without each part.
fn variants() -> impl Iterator<Item = Option<&'static str>> {
    core::iter::once(None).chain(rapid::Part::ALL.map(|part| Some(part.name())))
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let shown = |measure: &dyn Fn(&Column, &Experiment) -> scenario::Estimate| {
        let rows = variants().map(|part| {
            let name = part.map_or("(whole)".to_owned(), |part| format!("`{part}`"));
            (name, COLUMNS.map(|c| measure(&c, &c.experiment(part))))
        });
        table("without", &COLUMNS, rows)
    };
    let goodput = shown(&|_, experiment| results.mean(experiment, total_goodput));
    let delay = shown(&|column, experiment| results.mean(experiment, column.increase()));
    Part {
        text: format!(
            "`pep.without` leaves a part out ([what the parts are](../algorithms/rapid.md)). \
             {REPEATS} repeats.\n\nGoodput of all flows together, Mbit/s:\n\n{goodput}\n\
             Mean RTT above the flow's least RTT, ms (Cubic's or the download's; in many-ues that of \
             the flow that has the greatest):\n\n{delay}"
        ),
        ..Part::default()
    }
}
