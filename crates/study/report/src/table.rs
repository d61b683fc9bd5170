//! A table, the same for the terminal and for the page.

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What it shows.
    pub title: String,
    /// In what; empty for names and plain counts.
    pub unit: &'static str,
    /// Numbers stand at the right, names at the left.
    pub numeric: bool,
    /// Prints something of the column before, and stays beside it.
    pub joined: bool,
}

impl Column {
    /// A column of names.
    pub fn text(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            unit: "",
            numeric: false,
            joined: false,
        }
    }
    /// A column of numbers.
    pub(crate) fn number(title: &str, unit: &'static str) -> Self {
        Self {
            title: title.to_owned(),
            unit,
            numeric: true,
            joined: false,
        }
    }
}

impl Column {
    /// The same column, beside the one before.
    #[must_use]
    pub(crate) fn joined(self) -> Self {
        Self {
            joined: true,
            ..self
        }
    }
}

/// A table: every row has a cell for every column. The first column names the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What it is about.
    pub title: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The table without this column.
    #[must_use]
    pub(crate) fn without_column(mut self, column: usize) -> Self {
        self.columns.remove(column);
        for row in &mut self.rows {
            row.remove(column);
        }
        self
    }

    /// The table without the columns, other than the first, that have nothing in any row.
    #[must_use]
    pub(crate) fn without_empty_columns(mut self) -> Self {
        let used: Vec<bool> = (0..self.columns.len())
            .map(|i| i == 0 || self.rows.iter().any(|row| !row[i].is_empty()))
            .collect();
        let keep = |i: &mut usize| {
            *i += 1;
            used[*i - 1]
        };
        let mut i = 0;
        self.columns.retain(|_| keep(&mut i));
        for row in &mut self.rows {
            let mut i = 0;
            row.retain(|_| keep(&mut i));
        }
        self
    }
}
