//! Packets of a user above its modem, and in it.

use super::Access;
use crate::error::{Checked, fault};
use crate::experiment::UplinkQueueSpec;
use crate::reader::Reader;
use edge::marker::MarkerConfig;
use edge::uplink::{UplinkConfig, UplinkMode};
use queue::{CoDelConfig, DisciplineConfig, FqCoDelConfig};
use ran::CellConfig;
use units::Duration;

/// Keys that say more of it.
const OTHERS: [&str; 3] = ["uplink-ahead", "uplink-limit", "uplink-status-period"];

/// Reads `uplink-queue` of a user, and what belongs to it.
pub(super) fn read(reader: &mut Reader<'_>, access: &Access) -> Checked<Option<UplinkQueueSpec>> {
    let chosen = reader.choice("uplink-queue")?;
    let Some(mode) = UplinkMode::from_name(chosen) else {
        let given = OTHERS
            .iter()
            .find_map(|key| reader.given(key).map(|at| (key, at)));
        return match given {
            None => Ok(None),
            Some((key, node)) => Err(fault(
                node.at,
                format!("\"{key}\" without a queue above the modem"),
            )
            .allowed("uplink-queue is \"off\"")
            .hint("remove the line, or take uplink-queue = \"queue\" or \"mark\"")),
        };
    };
    let cells = match access {
        Access::Cell { spec, .. } => &spec.config,
        Access::Link(_) => {
            let problem = format!("uplink-queue = \"{chosen}\" needs a radio cell");
            return Err(fault(reader.place("uplink-queue"), problem)
                .allowed("a user of a wired [link] has no modem")
                .hint("take \"off\", or a [cell] instead of the [link]"));
        }
    };
    let marker = MarkerConfig {
        // nothing is between this queue and the modem
        transit: Duration::ZERO,
        ..MarkerConfig::default()
    };
    let config = UplinkConfig {
        mode,
        marker,
        buffer: reader.quantity("uplink-limit")?,
        ahead: reader.quantity_or("uplink-ahead", ahead(cells))?,
    };
    let status_period = reader.quantity("uplink-status-period")?;
    match config.check() {
        Ok(()) => Ok(Some(UplinkQueueSpec {
            config,
            status_period,
        })),
        Err(error) => Err(fault(reader.place("uplink-queue"), error.to_string())),
    }
}

/// 1.5 grant delays and two periods of uplink slots: what a report is about has to last until its grants have been used.
fn ahead(cell: &CellConfig) -> Duration {
    let slots = cell.tdd_pattern.len().max(1) as u64;
    let up = cell.tdd_pattern.matches('U').count().max(1) as u64;
    let period = cell.rat.slot_duration() * slots / up;
    let delay = cell.uplink.grant_delay;
    delay + delay / 2 + period * 2
}

/// Reads `uplink-discipline` of a bearer.
pub(super) fn discipline(reader: &mut Reader<'_>) -> Checked<DisciplineConfig> {
    Ok(match reader.choice("uplink-discipline")? {
        "codel" => DisciplineConfig::CoDel(CoDelConfig::default()),
        "fq-codel" => DisciplineConfig::FqCoDel(FqCoDelConfig::default()),
        _ => DisciplineConfig::DropTail,
    })
}
