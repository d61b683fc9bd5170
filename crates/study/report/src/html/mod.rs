//! The report as one HTML file that needs nothing else.

mod chart;
mod data;
mod decimate;
mod delays;
mod figures;
mod found;
mod line;
mod mark;
mod scale;

use crate::findings::measured_table;
use crate::table::Table;
use crate::terminal::has_heads;
use crate::text::escape;
use crate::{Report, headline, tables};
use core::fmt::Write;
use data::Captions;

/// Style and script of the page, from `web/` (see `build.rs`).
const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.css"));
const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/report.js"));

/// The page: what was found with the delays over time below it, the tables of a first look, all other figures, all
/// tables. It holds everything that it shows, requests nothing from elsewhere (its own policy
/// forbids that), and is the same for the same results.
pub fn html(report: &Report<'_>) -> String {
    let figures = figures::figures(&report.variants);
    let mut out = String::with_capacity(256 * 1024);
    head(&mut out, report);
    header(&mut out, report);
    out.push_str("<main><h2 id=\"summary\">Summary</h2>");
    let (found, first_look) = headline::parts(report);
    if found.rows.is_empty() {
        found::html(&mut out, &measured_table(report), report.variants.len() > 1);
    } else {
        found::html(&mut out, &found, report.variants.len() > 2);
    }
    let is_above = |table: &Table| *table == found || first_look.contains(table);
    let (lead, others): (Vec<_>, Vec<_>) = figures.iter().partition(|f| f.id == delays::OVER_TIME);
    let note = figures_note(report);
    if !note.is_empty() && !lead.is_empty() {
        let _ = write!(out, "<p class=\"caption\">{note}</p>");
    }
    for figure in lead {
        out.push_str(&figure.html());
    }
    contents(&mut out, &figures);
    for table in &first_look {
        html_table(&mut out, table);
    }
    made(&mut out, report);
    out.push_str("<h2 id=\"series\">Figures</h2>");
    let _ = write!(
        out,
        "<p class=\"caption\">{note}Drag across a chart to zoom into a span of time, double-click to \
         leave it; a name in a legend hides its line. With the keyboard: arrow keys read values, \
         plus and minus zoom, Escape leaves. Long runs are drawn by the means of short steps, with a \
         band from the least to the greatest value in each.</p><noscript><p class=\"caption\">The \
         charts are drawn by a script, which is switched off here; the numbers below each figure are \
         not.</p></noscript>",
    );
    for figure in others {
        out.push_str(&figure.html());
    }
    if figures.is_empty() {
        out.push_str("<p>The run recorded no time series.</p>");
    }
    out.push_str("<h2 id=\"tables\">Tables</h2>");
    let tables = tables::report_tables(report).into_iter();
    for table in tables.filter(|table| !is_above(table)) {
        html_table(&mut out, &table);
    }
    let _ = writeln!(
        out,
        "</main><footer>Brimful {}. The numbers of all figures are in <code>samples.parquet</code> \
         beside this file.</footer><script type=\"application/json\" id=\"report-data\">{data}</script>\
         <script>{SCRIPT}</script></body></html>",
        escape(report.version),
        data = data::json(&figures, Captions::Left),
    );
    out
}

/// The data of the page's figures with their captions, as `web/src/report/data.ts` decodes it.
pub fn figures_json(report: &Report<'_>) -> String {
    data::json(&figures::figures(&report.variants), Captions::Written)
}

fn head(out: &mut String, report: &Report<'_>) {
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\
         <link rel=\"icon\" href=\"data:,\"><meta name=\"generator\" content=\"Brimful {}\">\
         <title>{} - Brimful</title><style>{STYLE}</style></head><body>",
        escape(report.version),
        escape(report.title)
    );
}

/// What was run. What it ran on is a table below what was found.
fn header(out: &mut String, report: &Report<'_>) {
    let _ = write!(
        out,
        "<header><h1>{}</h1><p class=\"lead\">{}</p>",
        escape(report.title),
        escape(report.description)
    );
    let seeds = match report.repeats {
        0 | 1 => report.seed.to_string(),
        n => format!(
            "{} to {}",
            report.seed,
            report.seed.saturating_add(u64::from(n) - 1)
        ),
    };
    let facts = [("world", report.world), ("seed", seeds.as_str())];
    let settings = report
        .settings
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()));
    fact_list(out, facts.into_iter().chain(settings));
    out.push_str("</header>");
}

fn fact_list<'a>(out: &mut String, facts: impl Iterator<Item = (&'a str, &'a str)>) {
    out.push_str("<ul class=\"facts\">");
    for (name, value) in facts.filter(|(_, value)| !value.is_empty()) {
        let _ = write!(out, "<li><b>{}</b>{}</li>", escape(name), escape(value));
    }
    out.push_str("</ul>");
}

/// By which version and which command the result was made.
fn made(out: &mut String, report: &Report<'_>) {
    let command = command(report.command);
    let facts = [("Brimful", report.version), ("command", command.as_str())];
    fact_list(out, facts.into_iter());
}

fn contents(out: &mut String, figures: &[chart::Figure]) {
    out.push_str("<nav aria-label=\"Contents\"><a href=\"#summary\">Summary</a>");
    for figure in figures {
        let _ = write!(
            out,
            "<a href=\"#{}\">{}</a>",
            figure.id,
            escape(figure.title)
        );
    }
    out.push_str("<a href=\"#tables\">Tables</a></nav>");
}

/// As a shell takes it; the program without its folder.
fn command(arguments: &[String]) -> String {
    let quoted = arguments.iter().enumerate().map(|(place, argument)| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
        match place {
            0 => argument.rsplit('/').next().unwrap_or_default().to_owned(),
            _ if !argument.is_empty() && argument.chars().all(is_plain) => argument.clone(),
            _ => format!("'{}'", argument.replace('\'', "'\\''")),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// What of the results the figures show, if not all.
fn figures_note(report: &Report<'_>) -> String {
    let mut note = String::new();
    if report.repeats > 1 {
        let _ = write!(
            note,
            "The figures show the first of {} repeats (seed {}); the tables are means over all. ",
            report.repeats, report.seed
        );
    }
    let variants = report.variants.len();
    if variants > figures::MAX_VARIANTS {
        let _ = write!(
            note,
            "The first {} of {variants} are drawn. ",
            figures::MAX_VARIANTS
        );
    }
    note
}

fn html_table(out: &mut String, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<div class=\"scroll\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\">\
         <table><caption>{title}</caption>",
        title = escape(&table.title)
    );
    if has_heads(table) {
        html_heads(out, table);
    }
    out.push_str("<tbody>");
    for row in &table.rows {
        out.push_str("<tr>");
        for (i, (cell, column)) in row.iter().zip(&table.columns).enumerate() {
            let _ = match i {
                0 => write!(out, "<th scope=\"row\">{}</th>", escape(cell)),
                _ => write!(out, "<td{}>{}</td>", align(column.numeric), escape(cell)),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

/// How the cells of a column stand.
fn align(numeric: bool) -> &'static str {
    if numeric { "" } else { " class=\"t\"" }
}

fn html_heads(out: &mut String, table: &Table) {
    out.push_str("<thead><tr>");
    for c in &table.columns {
        let unit = if c.unit.is_empty() {
            String::new()
        } else {
            format!("<small>{}</small>", c.unit)
        };
        let _ = write!(
            out,
            "<th scope=\"col\"{}>{}{unit}</th>",
            align(c.numeric),
            escape(&c.title)
        );
    }
    out.push_str("</tr></thead>");
}

#[cfg(test)]
mod tests;
