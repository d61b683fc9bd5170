//! The radio information service on the centralized unit: `brimful rnis`, as an operator would run it.

use super::hosts::Units;
use crate::Error;
use crate::child::Daemon;
use crate::cleanup::Folder;
use crate::names;
use f1u::STATUS_PERIOD;
use ran::{CellConfig, Rat};
use scenario::CellSpec;
use std::fs;
use std::path::Path;
use std::process::Command;
use units::Duration;

/// Name of the socket of its radio reports, in the lab's folder.
pub(crate) const REPORTS: &str = "rnis.sock";

/// Starts it for these cells, with a report each `period`, and waits until it captures on all wires.
///
/// # Errors
/// If it does not.
pub(crate) fn start(
    cells: &[&CellSpec],
    period: Duration,
    units: &Units,
    folder: &Folder,
    program: &Path,
) -> Result<Daemon, Error> {
    let config = folder.path().join("rnis.toml");
    let configs: Vec<&CellConfig> = cells.iter().map(|cell| &cell.config).collect();
    let text = configuration(&configs, period, folder.path());
    fs::write(&config, text).map_err(Error::system(format!("write {}", config.display())))?;
    let mut command = Command::new(program);
    command.args(["rnis", "--config"]).arg(&config);
    let count = cells.len();
    let captures = |log: &Path| {
        fs::read_to_string(log).is_ok_and(|log| log.matches("connected").count() >= count)
    };
    Daemon::start(
        "brimful rnis",
        command,
        &units.central,
        folder,
        "rnis.log",
        captures,
    )
}

/// A source for the wire of each cell.
fn configuration(cells: &[&CellConfig], period: Duration, folder: &Path) -> String {
    let each = cells.iter().enumerate();
    let each: String = each
        .map(|(number, cell)| of_cell(number, cell, period))
        .collect();
    format!("{each}[unix]\npath = \"{}/{REPORTS}\"\n", folder.display())
}

fn of_cell(number: usize, cell: &CellConfig, period: Duration) -> String {
    let scs = match cell.rat {
        Rat::Lte => 15,
        Rat::Nr { numerology } => 15_u32 << numerology,
    };
    let (device, unit) = (names::f1_device(number), names::unit_address(number));
    format!(
        "[[source]]\nname = \"{device}\"\nkind = \"f1-u\"\nurl = \"interface:{device}\"\ncell = {id}\n\
         distributed-units = [\"{unit}\"]\nstatus-period = \"{} ns\"\n\
         [[cell]]\nid = {id}\nprb = {}\nscs = \"{scs} kHz\"\ndownlink-share = {:?}\nperiod = \"{} ns\"\n",
        STATUS_PERIOD.as_nanos(),
        cell.n_prb,
        cell.downlink_share(),
        period.as_nanos(),
        id = cell.id.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Prb;

    #[test]
    fn the_cells_facts_are_the_scenarios() {
        let mut cell = CellConfig::nr(1, Prb::new(51));
        cell.tdd_pattern = "DDDDU".to_owned();
        let text = configuration(&[&cell], Duration::from_millis(1), Path::new("/lab"));
        for line in [
            "status-period = \"10000000 ns\"",
            "prb = 51",
            "scs = \"30 kHz\"",
            "downlink-share = 0.8",
            "period = \"1000000 ns\"",
            "path = \"/lab/rnis.sock\"",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line} in {text}");
        }
        let text = configuration(
            &[&cell, &CellConfig::lte(Prb::new(25))],
            Duration::from_millis(1),
            Path::new("/lab"),
        );
        assert!(
            text.contains("scs = \"15 kHz\"\ndownlink-share = 1.0\n"),
            "{text}"
        );
        for line in [
            "url = \"interface:f1\"",
            "url = \"interface:f1-2\"",
            "distributed-units = [\"10.49.0.2\"]",
            "distributed-units = [\"10.49.1.2\"]",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line} in {text}");
        }
    }
}
