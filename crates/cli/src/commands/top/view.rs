//! What `brimful top` draws: the same into a terminal and into text for scripts.

use super::model::{Link, Model, Row, Section, Sort};
use metric::{Metric, Unit};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Table, Widget};

/// Height of all sections together, if nothing is to be cut off.
const WHOLE: u16 = 2_000;
/// Narrower than this, histories are not shown.
const FOR_HISTORY: u16 = 108;

const HELP: &[&str] = &[
    "g       fastest first; again: last",
    "r       longest round-trip time first",
    "n       by name",
    "/       only names, UEs and congestion controls with ...",
    "space   stop the screen, and go on",
    "arrows  scroll; also Page Up, Page Down, Home, End",
    "?       this help",
    "q       end; also Escape and Ctrl-C",
];

/// Draws all; how many flows fit.
pub(super) fn draw(model: &Model, area: Rect, buffer: &mut Buffer) -> usize {
    let [head, body, foot] = parts(area);
    header(model, head, buffer);
    let flows = sections(model, body, buffer);
    footer(model, foot, buffer);
    if model.has_help {
        help(area, buffer);
    }
    flows
}

/// The tables as text, without the line of keys; each line is as long as it must be.
pub(super) fn text(model: &Model, width: u16) -> String {
    let rows: usize = model.rows().values().map(|rows| rows.len() + 2).sum();
    let height = u16::try_from(rows).unwrap_or(WHOLE).min(WHOLE) + 3;
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let [head, body, _] = parts(area);
    header(model, head, &mut buffer);
    sections(model, body, &mut buffer);
    let mut text = String::new();
    for y in 0..height {
        let cells = (0..width).filter_map(|x| buffer.cell((x, y)));
        let line: String = cells.map(|cell| cell.symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    format!("{}\n", text.trim_end())
}

/// Two lines above, one below, the tables between.
fn parts(area: Rect) -> [Rect; 3] {
    let rows = |y: u16, height: u16| {
        let y = y.min(area.height);
        Rect::new(area.x, area.y + y, area.width, height.min(area.height - y))
    };
    let body = area.height.saturating_sub(3);
    [rows(0, 2), rows(2, body), rows(2 + body, 1)]
}

/// Who measures, and how the cell is.
fn header(model: &Model, area: Rect, buffer: &mut Buffer) {
    let shown = model.shown();
    let time = shown
        .t
        .map_or("no values yet".to_owned(), |t| format!("{t:.1} s"));
    let state = match (&shown.ended, &model.link, model.is_paused()) {
        (Some(reason), _, _) => format!("  ended: {reason}"),
        (None, Link::Lost(why), _) => format!("  connection lost, trying again: {why}"),
        (None, Link::Up, true) => "  paused".to_owned(),
        (None, Link::Up, false) => String::new(),
    };
    let first = format!("{}  {}  {time}{state}", shown.title, shown.origin);
    let rows = model.rows();
    let of = |section| rows.get(&section).map_or(&[][..], Vec::as_slice);
    let lines = vec![
        Line::styled(first, Modifier::BOLD),
        Line::raw(cell(of(Section::Cell), of(Section::Ue))),
    ];
    Paragraph::new(lines).render(area, buffer);
}

/// Capacities; the PRBs and the MCS of all UEs that are on the screen.
fn cell(cells: &[Row], ues: &[Row]) -> String {
    let mut parts = Vec::new();
    for row in cells {
        let mut part = row.name.clone();
        if let Some(capacity) = row.value(Metric::Capacity) {
            part.push_str(&format!(" {}", scaled(capacity, "bit/s")));
        }
        if let Some(used) = row.value(Metric::Utilisation) {
            part.push_str(&format!(" {:.0} % used", 100.0 * used));
        }
        parts.push(part);
    }
    let all = |metric| ues.iter().filter_map(move |ue| ue.value(metric));
    if all(Metric::Prb).next().is_some() {
        parts.push(format!("PRB {:.0}", all(Metric::Prb).sum::<f64>()));
    }
    for (name, metric) in [("MCS", Metric::Mcs), ("CQI", Metric::Cqi)] {
        let least = all(metric).reduce(f64::min);
        match least.zip(all(metric).reduce(f64::max)) {
            Some((least, most)) if least < most => {
                parts.push(format!("{name} {least:.0} to {most:.0}"));
            }
            Some((least, _)) => parts.push(format!("{name} {least:.0}")),
            None => {}
        }
    }
    parts.join("   ")
}

/// The tables, one below the other; how many flows fit.
fn sections(model: &Model, area: Rect, buffer: &mut Buffer) -> usize {
    let rows = model.rows();
    let order = [Section::Flow, Section::Ue, Section::Path, Section::Queue];
    let count = |section| rows.get(&section).map_or(0, Vec::len);
    let heights = share(area.height, order.map(count));
    let (mut y, mut flows) = (area.y, 0);
    for (section, height) in order.into_iter().zip(heights) {
        let Some(rows) = rows.get(&section) else {
            continue;
        };
        let fit = usize::from(height.saturating_sub(1));
        let mut first = 0;
        if section == Section::Flow {
            flows = fit;
            first = model.scroll.min(rows.len().saturating_sub(fit));
        }
        let rows = rows.iter().skip(first).take(fit);
        let place = Rect::new(area.x, y, area.width, height);
        table(model, section, rows, place, buffer);
        y += height;
    }
    flows
}

/// How many lines each table gets, its head among them: the first at least half of all if it needs
/// it, the others what is left, in turn. None gets a head without a row.
fn share(height: u16, rows: [usize; 4]) -> [u16; 4] {
    let requested = rows.map(|rows| match rows {
        0 => 0,
        rows => u16::try_from(rows).unwrap_or(WHOLE).min(WHOLE) + 1,
    });
    let others = requested[1..].iter().sum::<u16>();
    let first = height.saturating_sub(others);
    let first = first.max(height.div_ceil(2)).max(height.min(2));
    let mut left = height;
    let mut given = [0; 4];
    for (index, requested) in requested.into_iter().enumerate() {
        let most = if index == 0 { first } else { left };
        let got = requested.min(most).min(left);
        if got >= 2 {
            given[index] = got;
            left -= got;
        }
    }
    given
}

/// A column: its head, its width, its text.
struct Column {
    head: &'static str,
    width: u16,
    text: fn(&Row) -> String,
    /// The order that this column decides.
    sort: Option<Sort>,
    /// Shown from this width on, where names keep 12 columns.
    from: u16,
}

const fn column(head: &'static str, width: u16, from: u16, text: fn(&Row) -> String) -> Column {
    Column {
        head,
        width,
        text,
        sort: None,
        from,
    }
}

const GOODPUT: Column = Column {
    sort: Some(Sort::Goodput),
    ..column("goodput", 12, 0, |row| formatted(row, Metric::Goodput))
};

const RTT: Column = Column {
    sort: Some(Sort::Rtt),
    ..column("RTT", 8, 34, |row| milliseconds(row, Metric::Rtt))
};

/// What waits: in the proxy for a flow, at the base station for a UE, before a path.
const fn queue(from: u16) -> Column {
    column("queue", 8, from, |row| formatted(row, Metric::QueueBytes))
}

const HISTORY: Column = column("goodput, 20 s", 20, FOR_HISTORY, |row| bars(&row.history));

const FLOW: &[Column] = &[
    column("UE", 10, 72, |row| row.parent.clone()),
    column("CC", 8, 52, |row| row.cc.clone()),
    GOODPUT,
    RTT,
    column("cwnd", 8, 43, |row| formatted(row, Metric::Cwnd)),
    column("window", 8, 61, |row| {
        let ran = formatted(row, Metric::RanWindow);
        match ran.is_empty() {
            true => formatted(row, Metric::ReceiveWindow),
            false => ran,
        }
    }),
    column("RAPID", 5, 78, |row| {
        let is_slow = row.value(Metric::IsSlow);
        let word = is_slow.map(|slow| if slow > 0.5 { "slow" } else { "fast" });
        word.unwrap_or_default().to_owned()
    }),
    queue(87),
    HISTORY,
];

const UE: &[Column] = &[
    GOODPUT,
    column("capacity", 12, 54, |row| formatted(row, Metric::Capacity)),
    column("PRB", 5, 31, |row| whole(row, Metric::Prb)),
    column("MCS", 4, 36, |row| whole(row, Metric::Mcs)),
    column("CQI", 4, 41, |row| whole(row, Metric::Cqi)),
    // what is not split waits
    column("unsplit", 8, 72, |row| {
        milliseconds(row, Metric::UnsplitDelay)
    }),
    queue(63),
    HISTORY,
];

const PATH: &[Column] = &[
    column("rate", 12, 0, |row| formatted(row, Metric::PathRate)),
    column("cwnd", 8, 40, |row| formatted(row, Metric::PathCwnd)),
    column("share", 6, 50, |row| {
        let share = row.value(Metric::PathShare);
        share.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share))
    }),
    queue(59),
];

const QUEUE: &[Column] = &[column("bytes", 12, 0, |row| {
    formatted(row, Metric::QueueBytes)
})];

fn table<'a>(
    model: &Model,
    section: Section,
    rows: impl Iterator<Item = &'a Row>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let (name, columns) = match section {
        Section::Flow => ("flow", FLOW),
        Section::Ue => ("UE", UE),
        Section::Path => ("path", PATH),
        Section::Queue | Section::Cell => ("queue", QUEUE),
    };
    let is_sorted = matches!(section, Section::Flow | Section::Ue);
    let mark = |head: &str, sort| match (is_sorted && sort == Some(model.sort), model.is_reversed) {
        (true, false) => format!("{head} v"),
        (true, true) => format!("{head} ^"),
        (false, _) => head.to_owned(),
    };
    let columns = columns.iter().filter(|column| column.from <= area.width);
    let columns: Vec<&Column> = columns.collect();
    let text = |column: &Column, text: String| match column.head {
        "UE" | "CC" | "RAPID" | "goodput, 20 s" => Line::raw(text),
        _ => Line::raw(text).right_aligned(),
    };
    let heads = columns
        .iter()
        .map(|column| text(column, mark(column.head, column.sort)));
    let head = std::iter::once(Line::raw(mark(name, Some(Sort::Name)))).chain(heads);
    let rows = rows.map(|row| {
        let cells = columns
            .iter()
            .map(|column| text(column, (column.text)(row)));
        let name = std::iter::once(Line::raw(row.name.clone()));
        ratatui::widgets::Row::new(name.chain(cells).collect::<Vec<_>>())
    });
    let head = ratatui::widgets::Row::new(head.collect::<Vec<_>>());
    let widths = columns.iter().map(|c| Constraint::Length(c.width));
    let widths = std::iter::once(Constraint::Fill(1)).chain(widths);
    let table = Table::new(rows, widths)
        .header(head.style(Style::new().add_modifier(Modifier::REVERSED)))
        .column_spacing(1);
    Widget::render(table, area, buffer);
}

/// What keys do, or the filter.
fn footer(model: &Model, area: Rect, buffer: &mut Buffer) {
    let text = match (model.is_typing, model.filter.is_empty()) {
        (true, _) => format!("/{}_   Enter: keep   Escape: all", model.filter),
        (false, false) => format!("only /{}   Escape: all   ? help   q end", model.filter),
        (false, true) => "g r n sort   / filter   space pause   ? help   q end".to_owned(),
    };
    Line::styled(text, Modifier::DIM).render(area, buffer);
}

fn help(area: Rect, buffer: &mut Buffer) {
    let width = area.width.min(62);
    let height = area.height.min(HELP.len() as u16 + 2);
    let place = Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    );
    Clear.render(place, buffer);
    let lines: Vec<Line<'_>> = HELP.iter().map(|line| Line::raw(*line)).collect();
    Paragraph::new(lines)
        .block(Block::bordered().title("keys"))
        .render(place, buffer);
}

fn formatted(row: &Row, metric: Metric) -> String {
    let unit = match metric.descriptor().unit {
        Unit::Bytes => "B",
        unit => unit.label(),
    };
    row.value(metric)
        .map_or_else(String::new, |value| scaled(value, unit))
}

fn milliseconds(row: &Row, metric: Metric) -> String {
    row.value(metric)
        .map_or_else(String::new, |time| format!("{} ms", three(time)))
}

fn whole(row: &Row, metric: Metric) -> String {
    row.value(metric)
        .map_or_else(String::new, |value| format!("{value:.0}"))
}

/// A value by three digits and a decimal multiple of its unit.
fn scaled(value: f64, unit: &str) -> String {
    let multiples = [("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)];
    // 999.6 k is 1.00 M
    let fits = multiples
        .iter()
        .find(|(_, size)| value.abs() >= 0.9995 * size);
    let (multiple, size) = fits.copied().unwrap_or(("", 1.0));
    let number = match size > 1.0 {
        true => three(value / size),
        false => format!("{value:.0}"),
    };
    format!("{number} {multiple}{unit}")
}

/// A number by three digits, or as many as it has before its point.
fn three(value: f64) -> String {
    match value.abs() {
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// One bar for each value, relative to the greatest.
fn bars(values: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let greatest = values.iter().copied().fold(0.0, f64::max);
    let skipped = values.len().saturating_sub(super::model::HISTORY);
    let bar = |value: &f64| match greatest > 0.0 {
        // 0 to 7
        true => BARS[((value / greatest * 7.0).round() as usize).min(7)],
        false => BARS[0],
    };
    values.iter().skip(skipped).map(bar).collect()
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
