//! The state of `brimful top` and what its user has requested: no terminal, no connection, no clock.

use dash::{Event, SeriesInfo};
use metric::Metric;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Seconds of goodput that are kept, one value each.
pub(super) const HISTORY: usize = 20;
/// Most series that are kept; the server has no more either.
const MAX_SERIES: usize = 20_000;
/// Most characters of a filter.
const MAX_FILTER: usize = 64;

/// To what part of the screen an entity belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    /// Cells and wired bottlenecks.
    Cell,
    /// Flows of packets.
    Flow,
    /// UEs.
    Ue,
    /// Paths of a tunnel.
    Path,
    /// Queues.
    Queue,
}

impl Section {
    fn of(kind: &str) -> Self {
        match kind {
            "cell" | "link" => Self::Cell,
            "ue" => Self::Ue,
            "path" => Self::Path,
            "queue" => Self::Queue,
            _ => Self::Flow,
        }
    }
}

/// A flow, UE, path, queue or cell with its last values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    /// Its name, without control characters.
    pub(super) name: String,
    /// The UE of a flow.
    pub(super) parent: String,
    /// Congestion control of a flow; empty if it is not given.
    pub(super) cc: String,
    /// Last values by the names of their metrics.
    pub(super) values: BTreeMap<String, f64>,
    /// Mean goodput of the last seconds, bit/s, the newest last.
    pub(super) history: Vec<f64>,
}

impl Row {
    /// The last value of a metric.
    pub(super) fn value(&self, metric: Metric) -> Option<f64> {
        self.values.get(metric.name()).copied()
    }
}

/// A series with its last value.
#[derive(Clone, Debug)]
struct Series {
    info: SeriesInfo,
    /// None before the first value and after the end.
    value: Option<f64>,
    history: History,
}

/// The mean of each second.
#[derive(Clone, Debug, Default)]
struct History {
    second: i64,
    sum: f64,
    count: f64,
    means: VecDeque<f64>,
}

impl History {
    fn push(&mut self, t: f64, value: f64) {
        let second = t.floor() as i64;
        if self.count > 0.0 && second != self.second {
            self.means.push_back(self.sum / self.count);
            (self.sum, self.count) = (0.0, 0.0);
            if self.means.len() > HISTORY {
                self.means.pop_front();
            }
        }
        self.second = second;
        self.sum += value;
        self.count += 1.0;
    }

    fn values(&self) -> Vec<f64> {
        let now = (self.count > 0.0).then(|| self.sum / self.count);
        self.means.iter().copied().chain(now).collect()
    }
}

/// What the server has sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    /// What is shown, for people.
    pub(super) title: String,
    /// Where it happens, and who measures it.
    pub(super) origin: String,
    session: String,
    /// Seconds since the beginning; none before the first frame.
    pub(super) t: Option<f64>,
    /// Why nothing more comes.
    pub(super) ended: Option<String>,
    series: BTreeMap<u64, Series>,
    cc: BTreeMap<String, String>,
}

impl Values {
    fn apply(&mut self, event: Event) {
        match event {
            Event::Hello {
                session,
                title,
                world,
                source,
            } => {
                if session != self.session {
                    *self = Self::default();
                }
                self.session = session;
                self.title = plain(&title);
                self.origin = plain(&match world == source {
                    true => world,
                    false => format!("{world}/{source}"),
                });
            }
            Event::Series(all) => all.into_iter().for_each(|info| self.announce(info)),
            Event::Frame { t, values, .. } => self.frame(t, &values),
            Event::Table(flows) => {
                for flow in &flows {
                    self.describe(flow);
                }
            }
            Event::End(reason) => self.ended = Some(plain(&reason)),
        }
    }

    fn announce(&mut self, info: SeriesInfo) {
        if self.series.contains_key(&info.id) || self.series.len() >= MAX_SERIES {
            return;
        }
        let info = SeriesInfo {
            entity: plain(&info.entity),
            parent: info.parent.as_deref().map(plain),
            ..info
        };
        let series = Series {
            info,
            value: None,
            history: History::default(),
        };
        self.series.insert(series.info.id, series);
    }

    fn frame(&mut self, t: f64, values: &[(u64, Option<f64>)]) {
        self.t = Some(t);
        for (id, value) in values {
            if let Some(series) = self.series.get_mut(id) {
                series.value = *value;
                if value.is_none() {
                    series.history = History::default();
                }
            }
        }
        // a value that is not sent again is still the same
        for series in self.series.values_mut() {
            if let Some(value) = series.value
                && series.info.metric == Metric::Goodput.name()
            {
                series.history.push(t, value);
            }
        }
    }

    fn describe(&mut self, flow: &Map<String, Value>) {
        let text = |name| flow.get(name).and_then(Value::as_str);
        if let (Some(name), Some(cc)) = (text("name"), text("cc"))
            && self.cc.len() < MAX_SERIES
        {
            self.cc.insert(plain(name), plain(cc));
        }
    }

    /// All that has a value, by its part of the screen and its name.
    fn rows(&self) -> BTreeMap<(Section, &str), Row> {
        let ues = self.series.values().filter(|s| s.info.kind == "ue");
        let ues: BTreeSet<&str> = ues.map(|series| series.info.entity.as_str()).collect();
        let mut rows: BTreeMap<(Section, &str), Row> = BTreeMap::new();
        for series in self.series.values() {
            let Some(value) = series.value else { continue };
            let info = &series.info;
            let section = match Section::of(&info.kind) {
                // what a cell could give to one UE is printed like the cell's own
                Section::Cell if ues.contains(info.entity.as_str()) => Section::Ue,
                section => section,
            };
            let row = rows.entry((section, &info.entity)).or_insert_with(|| Row {
                name: info.entity.clone(),
                cc: self.cc.get(&info.entity).cloned().unwrap_or_default(),
                ..Row::default()
            });
            if let Some(parent) = &info.parent {
                row.parent.clone_from(parent);
            }
            if info.metric == Metric::Goodput.name() {
                row.history = series.history.values();
            }
            row.values.insert(info.metric.clone(), value);
        }
        rows
    }
}

/// A text that cannot move the cursor.
fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '?' } else { c };
    text.chars().map(shown).collect()
}

/// By what the flows and UEs are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// The fastest first.
    #[default]
    Goodput,
    /// The slowest answer first.
    Rtt,
    /// By the alphabet.
    Name,
}

/// How the connection is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Link {
    /// Values come.
    #[default]
    Up,
    /// It is lost, and tried again; why.
    Lost(String),
}

/// What the reading thread reports.
#[derive(Clone, Debug)]
pub(super) enum Update {
    /// The server has sent a message.
    Event(Event),
    /// The connection has changed.
    Link(Link),
}

/// What keys mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A character.
    Char(char),
    /// Leaves the filter, the help, or the program.
    Escape,
    /// Ends the filter's text.
    Enter,
    /// Takes a character of the filter back.
    Backspace,
    /// Scrolls by so many flows.
    Scroll(isize),
    /// To the first flow.
    First,
    /// To the last.
    Last,
}

/// Everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    values: Values,
    /// What stays on the screen while it is paused.
    frozen: Option<Values>,
    /// The connection.
    pub(super) link: Link,
    /// By what is sorted.
    pub(super) sort: Sort,
    /// The other way round.
    pub(super) is_reversed: bool,
    /// What names are to hold.
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) is_typing: bool,
    /// The help is shown.
    pub(super) has_help: bool,
    /// The first flow on the screen.
    pub(super) scroll: usize,
}

impl Model {
    /// Takes what came.
    pub(super) fn take(&mut self, updates: Update) {
        match updates {
            Update::Event(event) => self.values.apply(event),
            Update::Link(link) => self.link = link,
        }
    }

    /// What is on the screen.
    pub(super) fn shown(&self) -> &Values {
        self.frozen.as_ref().unwrap_or(&self.values)
    }

    /// Whether the screen stands still.
    pub(super) fn is_paused(&self) -> bool {
        self.frozen.is_some()
    }

    /// Does what a key requests; false to end.
    pub(super) fn press(&mut self, key: Key) -> bool {
        if self.is_typing {
            self.type_filter(key);
            return true;
        }
        match key {
            Key::Escape if self.has_help => self.has_help = false,
            Key::Escape if !self.filter.is_empty() => self.filter.clear(),
            Key::Escape | Key::Char('q') => return false,
            Key::Char('g') => self.sort_by(Sort::Goodput),
            Key::Char('r') => self.sort_by(Sort::Rtt),
            Key::Char('n') => self.sort_by(Sort::Name),
            Key::Char('/') => self.is_typing = true,
            Key::Char('?') => self.has_help = !self.has_help,
            Key::Char(' ') => {
                self.frozen = match self.frozen.take() {
                    Some(_) => None,
                    None => Some(self.values.clone()),
                };
            }
            Key::Scroll(by) => self.scroll = self.scroll.saturating_add_signed(by),
            Key::First => self.scroll = 0,
            Key::Last => self.scroll = usize::MAX,
            Key::Char(_) | Key::Enter | Key::Backspace => {}
        }
        true
    }

    /// Scrolls back to where the last flow is the last on a screen for so many.
    pub(super) fn settle(&mut self, flows: usize) {
        let rows = self.rows().get(&Section::Flow).map_or(0, Vec::len);
        self.scroll = self.scroll.min(rows.saturating_sub(flows));
    }

    fn sort_by(&mut self, sort: Sort) {
        self.is_reversed = self.sort == sort && !self.is_reversed;
        self.sort = sort;
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Char(c) if self.filter.chars().count() < MAX_FILTER => self.filter.push(c),
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.is_typing = false;
                self.filter.clear();
            }
            _ => {}
        }
        self.scroll = 0;
    }

    /// What is on the screen, sorted and filtered, by its part.
    pub(super) fn rows(&self) -> BTreeMap<Section, Vec<Row>> {
        let filter = self.filter.to_lowercase();
        let is_meant = |row: &Row| {
            let mut texts = [&row.name, &row.parent, &row.cc].into_iter();
            texts.any(|text| text.to_lowercase().contains(&filter))
        };
        let mut sections: BTreeMap<Section, Vec<Row>> = BTreeMap::new();
        for ((section, _), row) in self.shown().rows() {
            if section == Section::Cell || is_meant(&row) {
                sections.entry(section).or_default().push(row);
            }
        }
        for (section, rows) in &mut sections {
            if matches!(section, Section::Flow | Section::Ue) {
                rows.sort_by(|a, b| self.order(a, b));
            }
        }
        sections
    }

    fn order(&self, a: &Row, b: &Row) -> Ordering {
        let greatest = |metric| {
            // what has no such value comes last
            let value = |row: &Row| row.value(metric).unwrap_or(-1.0);
            value(b).total_cmp(&value(a))
        };
        let order = match self.sort {
            Sort::Goodput => greatest(Metric::Goodput),
            Sort::Rtt => greatest(Metric::Rtt),
            Sort::Name => Ordering::Equal,
        };
        let order = order.then_with(|| a.name.cmp(&b.name));
        match self.is_reversed {
            true => order.reverse(),
            false => order,
        }
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
pub(super) mod tests;
