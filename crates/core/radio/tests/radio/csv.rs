//! The CSV files of `tests/data`: one header row; only the last column may be quoted.

pub struct Csv {
    header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

pub struct Record<'a> {
    csv: &'a Csv,
    row: &'a [String],
}

impl Csv {
    pub fn read(text: &str) -> Self {
        let cells = |line: &str| line.trim_end().split(',').map(str::to_owned).collect();
        let mut lines = text.lines();
        let header = cells(lines.next().unwrap());
        Self {
            header,
            rows: lines.map(cells).collect(),
        }
    }

    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.rows.iter().map(|row| Record { csv: self, row })
    }
}

impl<'a> Record<'a> {
    pub fn get(&self, column: &str) -> &'a str {
        let i = self.csv.header.iter().position(|name| name == column);
        &self.row[i.unwrap_or_else(|| panic!("no column {column}"))]
    }

    pub fn number(&self, column: &str) -> f64 {
        self.get(column)
            .parse()
            .unwrap_or_else(|_| panic!("{column}: {}", self.get(column)))
    }
}
