//! What was found, as the page has it: a sentence a row, under the variant that it is of.

use crate::table::Table;
use crate::text::escape;
use core::fmt::Write;

/// The table of [`crate::findings`]; where `is_grouped` its first column is the variant, and its value a row above
/// those that have it.
pub(super) fn html(out: &mut String, table: &Table, is_grouped: bool) {
    if table.rows.is_empty() {
        return;
    }
    let title = escape(&table.title);
    let _ = write!(out, "<table class=\"found\"><caption>{title}</caption>");
    if is_grouped {
        for group in table.rows.chunk_by(|a, b| a.first() == b.first()) {
            let name = group.first().and_then(|row| row.first());
            let name = escape(name.map_or("", String::as_str));
            let _ = write!(
                out,
                "<tbody><tr><th scope=\"rowgroup\" colspan=\"2\">{name}</th></tr>"
            );
            for row in group {
                self::row(out, row.get(1..).unwrap_or_default());
            }
            out.push_str("</tbody>");
        }
    } else {
        out.push_str("<tbody>");
        for row in &table.rows {
            self::row(out, row);
        }
        out.push_str("</tbody>");
    }
    out.push_str("</table>");
}

/// A flow and its sentence.
fn row(out: &mut String, cells: &[String]) {
    let [flow, sentence] = cells else { return };
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{}</th><td class=\"t\">",
        escape(flow)
    );
    // no part of it is broken over two lines
    let mut parts = sentence.split(", ").peekable();
    while let Some(part) = parts.next() {
        let part = escape(&part.replace(" -> ", " → "));
        let comma = if parts.peek().is_some() { "," } else { "" };
        let _ = write!(out, "<span>{part}{comma}</span> ");
    }
    out.push_str("</td></tr>");
}
