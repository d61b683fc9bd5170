//! Tables as text.

use crate::table::Table;
use crate::text::printable;
use comfy_table::{Cell, CellAlignment, ContentArrangement, presets};
use core::fmt::Write;

/// What the text is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextStyle {
    /// Columns of the terminal: a wider table is cut into blocks of columns that fit. `None` for a
    /// pipe or file: one line a row, however long.
    pub width: Option<u16>,
    /// Lines around cells; without, columns stand apart by spaces only.
    pub borders: bool,
    /// Bold titles by escape codes.
    pub colour: bool,
}

/// The tables as text, a blank line between each and the next.
pub fn text(tables: &[Table], style: TextStyle) -> String {
    let mut out = String::new();
    for table in tables.iter().filter(|t| !t.rows.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        let title = printable(&table.title);
        let _ = if style.colour {
            writeln!(out, "\u{1b}[1m{title}\u{1b}[0m")
        } else {
            writeln!(out, "{title}")
        };
        for block in blocks(table, style) {
            out.push_str(&block_text(table, &block, style));
        }
    }
    out
}

/// Heads and cells of a column.
fn column_text(table: &Table, column: usize, style: TextStyle) -> impl Iterator<Item = String> {
    let c = &table.columns[column];
    let head = if c.unit.is_empty() {
        c.title.clone()
    } else {
        format!("{}\n{}", c.title, c.unit)
    };
    // beside a text there is room for a name
    let width = style.width.filter(|_| !c.numeric && column > 0);
    let width = width.map(|width| {
        usize::from(width)
            .saturating_sub(NAME_WIDTH)
            .max(NAME_WIDTH)
    });
    let cells = table.rows.iter().map(move |row| {
        let cell = printable(&row[column]);
        width.map_or(cell.clone(), |width| wrapped(&cell, width))
    });
    core::iter::once(head).chain(cells)
}

/// The room beside a column of long texts.
const NAME_WIDTH: usize = 26;

/// The text on lines of so many characters, broken between words.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// A table of names and values needs no heads.
pub(crate) fn has_heads(table: &Table) -> bool {
    table.columns.iter().any(|column| !column.title.is_empty())
}

fn column_width(table: &Table, column: usize, style: TextStyle) -> usize {
    let texts = column_text(table, column, style);
    texts
        .flat_map(|t| t.lines().map(|l| l.chars().count()).max())
        .max()
        .unwrap_or(0)
}

/// The columns of each block: as many as fit, each block beginning with the columns of names again.
fn blocks(table: &Table, style: TextStyle) -> Vec<Vec<usize>> {
    let columns = table.columns.len();
    let Some(width) = style.width else {
        return vec![(0..columns).collect()];
    };
    // beside its text, a cell has a space at either side and, if it has borders, one of them
    let extra = if style.borders { 3 } else { 2 };
    let needs = |column: usize| column_width(table, column, style) + extra;
    let names = table
        .columns
        .iter()
        .take_while(|c| !c.numeric)
        .count()
        .max(1);
    let names_width = (0..names).map(needs).sum::<usize>() + 1;
    let mut blocks: Vec<Vec<usize>> = vec![(0..names).collect()];
    let mut used = names_width;
    let mut column = names;
    while column < columns {
        let joined = (column + 1..columns)
            .take_while(|c| table.columns[*c].joined)
            .count();
        let group = column..column + 1 + joined;
        let group_width: usize = group.clone().map(needs).sum();
        let begun = blocks.last().is_some_and(|b| b.len() > names);
        if used + group_width > usize::from(width) && begun {
            blocks.push((0..names).collect());
            used = names_width;
        }
        column = group.end;
        used += group_width;
        if let Some(block) = blocks.last_mut() {
            block.extend(group);
        }
    }
    blocks
}

fn block_text(table: &Table, columns: &[usize], style: TextStyle) -> String {
    let mut grid = comfy_table::Table::new();
    grid.load_style(if style.borders {
        presets::UTF8_FULL_CONDENSED
    } else {
        presets::NOTHING
    });
    grid.set_content_arrangement(ContentArrangement::Disabled);
    let mut lines: Vec<_> = columns
        .iter()
        .map(|c| column_text(table, *c, style))
        .collect();
    let row = |lines: &mut Vec<_>| -> Vec<Cell> { next_cells(lines, table, columns) };
    let head = row(&mut lines);
    if has_heads(table) {
        grid.set_header(head);
    }
    for _ in &table.rows {
        grid.add_row(row(&mut lines));
    }
    let text = grid.to_string();
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

fn next_cells(
    lines: &mut [impl Iterator<Item = String>],
    table: &Table,
    columns: &[usize],
) -> Vec<Cell> {
    let cells = lines.iter_mut().zip(columns).map(|(texts, column)| {
        let align = match table.columns[*column].numeric {
            true => CellAlignment::Right,
            false => CellAlignment::Left,
        };
        Cell::new(texts.next().unwrap_or_default()).set_alignment(align)
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn table() -> Table {
        Table {
            title: "Flows".to_owned(),
            columns: vec![
                Column::text("flow"),
                Column::number("goodput", "Mbit/s"),
                Column::number("RTT mean", "ms"),
                Column::number("RTT p99", "ms"),
            ],
            rows: vec![
                ["bulk", "385.2", "12.5", "14.0"]
                    .map(str::to_owned)
                    .to_vec(),
                ["web\u{1b}[2J", "3.1", "1.0", "1.5"]
                    .map(str::to_owned)
                    .to_vec(),
            ],
        }
    }

    #[test]
    fn a_pipe_gets_plain_columns() {
        let text = text(&[table()], TextStyle::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Flows");
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[3].trim_start().starts_with("bulk"));
        assert!(lines[3].ends_with("14.0"));
        assert!(text.is_ascii() || text.contains('\u{fffd}'));
        assert!(
            !text.contains('\u{1b}'),
            "escape codes of names must not reach a terminal"
        );
    }

    #[test]
    fn a_narrow_terminal_gets_blocks_that_fit() {
        let style = TextStyle {
            width: Some(40),
            borders: true,
            colour: false,
        };
        let text = text(&[table()], style);
        assert!(text.lines().all(|l| l.chars().count() <= 40), "{text}");
        assert_eq!(text.matches("bulk").count(), 2, "{text}");
        for number in ["385.2", "12.5", "14.0"] {
            assert!(text.contains(number));
        }
    }

    #[test]
    fn a_ratio_stays_beside_its_value_and_names_are_repeated() {
        let mut table = table();
        table.columns[1].numeric = false;
        table.columns[3].joined = true;
        let style = TextStyle {
            width: Some(10),
            borders: false,
            colour: false,
        };
        assert_eq!(blocks(&table, style), [[0, 1, 2, 3]]);
        table.columns[3].joined = false;
        assert_eq!(blocks(&table, style), [[0, 1, 2], [0, 1, 3]]);
    }

    #[test]
    fn a_long_text_is_broken_between_words() {
        let long = "drive.csv, recorded on: 5G 58.1 %, LTE 41.9 %, and much more beside it all";
        let table = Table {
            title: "What it ran on".to_owned(),
            columns: vec![Column::text(""), Column::text("")],
            rows: vec![vec!["trace".to_owned(), long.to_owned()]],
        };
        let style = TextStyle {
            width: Some(60),
            borders: true,
            colour: false,
        };
        let narrow = text(core::slice::from_ref(&table), style);
        assert!(narrow.lines().all(|l| l.chars().count() <= 60), "{narrow}");
        let words = |text: &str| text.matches("recorded on").count();
        assert_eq!(words(&narrow), 1, "{narrow}");
        let pipe = text(&[table], TextStyle::default());
        assert!(pipe.contains(long), "{pipe}");
    }

    #[test]
    fn a_wide_terminal_gets_one_block() {
        let style = TextStyle {
            width: Some(120),
            borders: true,
            colour: true,
        };
        let text = text(&[table()], style);
        assert_eq!(text.matches("bulk").count(), 1);
        assert!(text.starts_with("\u{1b}[1mFlows"));
    }
}
