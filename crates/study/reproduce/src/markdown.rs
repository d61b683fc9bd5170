//! Tables in Markdown.

/// A table; every row has a cell for every column, and no two columns have one name.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    debug_assert!(twice(head).is_none(), "{:?} twice in {head:?}", twice(head));
    let mut lines = vec![line(head.iter().copied())];
    lines.push(format!("|{}", " --- |".repeat(head.len())));
    lines.extend(
        rows.into_iter()
            .map(|row| line(row.iter().map(String::as_str))),
    );
    lines.join("\n") + "\n"
}

/// A name that stands above two columns.
fn twice<'a>(head: &[&'a str]) -> Option<&'a str> {
    let mut names = head.iter().enumerate();
    let found = names.find(|(at, name)| head[..*at].contains(name));
    found.map(|(_, name)| *name)
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
    #[cfg(debug_assertions)]
    #[should_panic(expected = "twice")]
    fn no_two_columns_have_one_name() {
        table(&["lab", "differs by", "lab"], []);
    }

    #[test]
    fn bars_in_cells_do_not_split_them() {
        let text = table(&["a", "b"], [vec!["1".to_owned(), "x|y".to_owned()]]);
        assert_eq!(text, "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n");
    }
}
