//! Handovers between cells and what follows a lost one (`[handover]`).

use crate::error::{Checked, fault};
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use mobility::{
    A3Config, FilterCoefficient, LinkMonitorConfig, LinkMonitorError, MeasurementsConfig,
    ReestablishmentConfig, Timing,
};
use ran::CellConfig;

/// What the table says.
pub(super) struct HandoverSpec {
    pub(super) measurements: MeasurementsConfig,
    pub(super) timing: Timing,
    pub(super) is_forwarding: bool,
    pub(super) link_monitor: LinkMonitorConfig,
    pub(super) reestablishment: ReestablishmentConfig,
}

/// Reads `[handover]`.
pub(super) fn read(top: &mut Reader<'_>, cell: &CellConfig) -> Checked<HandoverSpec> {
    let node = top.given("handover");
    let is_lte = cell.rat == ran::Rat::Lte;
    let mut reader = Reader::open("handover", "[handover]", node, top.at())?.for_lte(is_lte);
    let spec = HandoverSpec {
        measurements: measurements(&mut reader)?,
        timing: Timing {
            preparation: reader.quantity("preparation")?,
            interruption: reader.quantity("interruption")?,
            path_switch: reader.quantity("path-switch")?,
            forwarding: reader.quantity("forwarding-delay")?,
        },
        is_forwarding: reader.flag("forwarding")?,
        link_monitor: link_monitor(&mut reader)?,
        reestablishment: ReestablishmentConfig {
            selection: reader.quantity("cell-selection")?,
            t311: reader.quantity("t311")?,
            access: reader.quantity("reestablishment")?,
            fetches_context: reader.flag("context-fetch")?,
            setup: reader.quantity("connection-setup")?,
        },
    };
    top.put("handover", ResolvedValue::Table(reader.finish()));
    Ok(spec)
}

fn measurements(reader: &mut Reader<'_>) -> Checked<MeasurementsConfig> {
    let a3 = A3Config::new(
        reader.quantity("a3-offset")?,
        reader.quantity("hysteresis")?,
        reader.quantity("time-to-trigger")?,
    );
    let a3 = a3.map_err(|error| fault(reader.place("hysteresis"), error.to_string()))?;
    let filter = FilterCoefficient::new(reader.count("filter-coefficient")?);
    let filter =
        filter.map_err(|error| fault(reader.place("filter-coefficient"), error.to_string()))?;
    Ok(MeasurementsConfig {
        period: reader.quantity("measurement-period")?,
        filter,
        a3,
    })
}

fn link_monitor(reader: &mut Reader<'_>) -> Checked<LinkMonitorConfig> {
    let config = LinkMonitorConfig::new(
        (reader.quantity("q-out")?, reader.quantity("q-in")?),
        reader.count("n310")?,
        reader.quantity("t310")?,
        reader.count("n311")?,
    );
    config.map_err(|error| {
        let key = match error {
            LinkMonitorError::Count { what } => what,
            _ => "q-in",
        };
        fault(reader.place(key), error.to_string())
    })
}

/// That `[handover]` and a user's `cell` stand with several cells only.
pub(super) fn check_single(top: &Reader<'_>) -> Checked<()> {
    match top.given("handover") {
        None => Ok(()),
        Some(node) => Err(fault(node.at, "[handover] without several cells")
            .allowed("a single cell hands no user over")
            .hint("write the cells as [[cell]], or remove the table")),
    }
}
