//! Where the edges of several cells are: one for the cells of each site, if there is a proxy that splits.
//!
//! Cells whose base stations are at the same place share an edge. Cells that were recorded have no places, and share one.
//! Without a proxy that splits it makes no difference through which edge packets go: there is one.

use radio::moving::Position;
use rnis::CellId;
use scenario::{Experiment, PepMode};

/// The edges of an experiment.
#[derive(Clone, Debug)]
pub(crate) struct Sites {
    /// By cell, its site.
    of_cell: Vec<usize>,
    /// By site, its cells in radio reports.
    cells: Vec<Vec<CellId>>,
}

impl Sites {
    /// Of an experiment: one at least.
    pub(crate) fn of(experiment: &Experiment) -> Self {
        let has_several = experiment.pep.mode != PepMode::None && experiment.tunnel.is_none();
        let several = experiment.cells.iter().filter(|_| has_several);
        let mut places: Vec<Option<Position>> = Vec::new();
        let mut sites = Self {
            of_cell: Vec::new(),
            cells: Vec::new(),
        };
        for cell in several.flat_map(|spec| &spec.cells) {
            let place = cell.radios.first().map(|moving| moving.radio.base.place);
            let known = places.iter().position(|known| *known == place);
            let site = known.unwrap_or_else(|| {
                places.push(place);
                sites.cells.push(Vec::new());
                places.len() - 1
            });
            sites.cells[site].push(cell.spec.config.id);
            sites.of_cell.push(site);
        }
        if sites.cells.is_empty() {
            sites.cells.push(Vec::new());
        }
        sites
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.cells.len()
    }

    /// The site of a cell; the first if there is no such cell.
    pub(crate) fn of_cell(&self, cell: usize) -> usize {
        self.of_cell.get(cell).copied().unwrap_or(0)
    }

    /// All sites but this one, with their cells in radio reports.
    pub(crate) fn others(&self, site: usize) -> impl Iterator<Item = (usize, &[CellId])> {
        let all = self.cells.iter().enumerate();
        all.filter(move |(other, _)| *other != site)
            .map(|(other, cells)| (other, cells.as_slice()))
    }
}

#[cfg(test)]
impl Sites {
    /// Two cells of two sites.
    pub(crate) fn of_two() -> Self {
        Self {
            of_cell: vec![0, 1],
            cells: vec![vec![CellId(1)], vec![CellId(2)]],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Overrides;
    use std::path::Path;

    fn sites(scenario: &str, pep: &str) -> Sites {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
        let overrides = Overrides {
            set: vec![("pep.mode".to_owned(), pep.to_owned())],
            ..Overrides::default()
        };
        let points = scenario::load(&folder.join(scenario), &overrides);
        let mut points = points.unwrap_or_else(|error| panic!("{scenario}: {error}"));
        Sites::of(&points.remove(0).experiment)
    }

    #[test]
    fn cells_of_a_place_have_an_edge_of_their_own_where_connections_are_split() {
        let three = sites("mobility/street.toml", "split");
        assert_eq!(three.count(), 3);
        assert_eq!([0, 1, 2].map(|cell| three.of_cell(cell)), [0, 1, 2]);
        let others: Vec<(usize, &[CellId])> = three.others(1).collect();
        assert_eq!(others, [(0, &[CellId(1)][..]), (2, &[CellId(3)])]);
        for (scenario, pep) in [
            ("mobility/street.toml", "none"),
            ("mobility/recorded.toml", "split"),
            ("rapid/oai-fast.toml", "split"),
        ] {
            let one = sites(scenario, pep);
            assert_eq!((one.count(), one.of_cell(2)), (1, 0), "{scenario}");
            assert_eq!(one.others(0).count(), 0);
        }
    }
}
