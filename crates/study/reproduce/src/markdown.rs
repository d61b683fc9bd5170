//! Tables in Markdown.

/// A table; every row has a cell for every column.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut lines = vec![line(head.iter().copied())];
    lines.push(format!("|{}", " --- |".repeat(head.len())));
    lines.extend(
        rows.into_iter()
            .map(|row| line(row.iter().map(String::as_str))),
    );
    lines.join("\n") + "\n"
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    // a bar would end the cell
    let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_in_cells_do_not_split_them() {
        let text = table(&["a", "b"], [vec!["1".to_owned(), "x|y".to_owned()]]);
        assert_eq!(text, "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n");
    }
}
