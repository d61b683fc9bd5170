//! Radio reports on their way, and the servers that read them.

use super::Access;
use crate::error::{Checked, fault};
use crate::experiment::{FlowSpec, MeldSpec, PepMode, PepSpec, ReportSpec};
use crate::reader::Reader;
use crate::resolved::ResolvedValue;

/// The `report-*` keys of a section.
pub(super) fn read(reader: &mut Reader<'_>) -> Checked<ReportSpec> {
    let spec = ReportSpec {
        period: reader.quantity("report-period")?,
        delay: reader.quantity("report-delay")?,
        loss: reader.number("report-loss")?,
        gap: reader.quantity("report-gap")?,
        gap_interval: reader.quantity("report-gap-interval")?,
    };
    if spec.gap >= spec.gap_interval {
        let problem = format!(
            "a gap of {} in the reports leaves none of each {}",
            spec.gap, spec.gap_interval
        );
        return Err(
            fault(reader.place("report-gap"), problem).allowed("less than \"report-gap-interval\"")
        );
    }
    Ok(spec)
}

/// Reads `[meld]`.
pub(super) fn meld(
    top: &mut Reader<'_>,
    access: &Access,
    flows: &[FlowSpec],
    pep: &PepSpec,
) -> Checked<MeldSpec> {
    let mut reader = Reader::open("meld", "[meld]", top.given("meld"), top.at())?;
    let mut spec = MeldSpec {
        reports: read(&mut reader)?,
        max_age: reader.quantity("max-age")?,
    };
    let user = flows.iter().find(|flow| flow.meld.is_some());
    if let (Some(flow), Access::Link(_)) = (user, access) {
        let problem = format!("flow {:?} uses MELD, which needs a radio cell", flow.name);
        return Err(fault(top.at(), problem)
            .allowed("a wired [link] gives no radio reports")
            .hint("set meld = \"off\", or describe a [cell]"));
    }
    // the cell makes its reports once, for whoever reads them
    if user.is_some() && matches!(pep.mode, PepMode::Rapid(_)) {
        if reader.given("report-period").is_some() && spec.reports.period != pep.reports.period {
            let problem = "the proxy and the servers read the same radio reports";
            return Err(fault(reader.place("report-period"), problem)
                .allowed(format!("the proxy's period is {}", pep.reports.period))
                .hint("remove the line"));
        }
        spec.reports.period = pep.reports.period;
    }
    top.put("meld", ResolvedValue::Table(reader.finish()));
    Ok(spec)
}
