//! Radio reports on their way, and the servers that read them.

use super::{Access, outage};
use crate::error::{Checked, fault};
use crate::experiment::{CdbeSpec, FlowSpec, MeldSpec, PepMode, PepSpec, ReportSpec};
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use cc::cdbe::Constants;
use cc::{RateReport, Reporter};
use units::Duration;

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
    cdbe: &CdbeSpec,
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
    // the cell makes its reports once, for all readers
    let has_modem = flows.iter().any(|flow| flow.report == Some(Reporter::Cqic));
    let shared = match pep.mode {
        PepMode::Rapid(_) => Some((pep.reports.period, "the proxy", "the proxy's")),
        _ if has_modem => Some((cdbe.radio_period, "modems", "the modems'")),
        _ => None,
    };
    if let (Some(_), Some((period, other, its))) = (user, shared) {
        if reader.given("report-period").is_some() && spec.reports.period != period {
            let problem = format!("{other} and the servers read the same radio reports");
            return Err(fault(reader.place("report-period"), problem)
                .allowed(format!("{its} period is {period}"))
                .hint("remove the line"));
        }
        spec.reports.period = period;
    }
    top.put("meld", ResolvedValue::Table(reader.finish()));
    Ok(spec)
}

/// Reads `[cdbe]`.
pub(super) fn cdbe(
    top: &mut Reader<'_>,
    access: &Access,
    flows: &[FlowSpec],
    rtt: Duration,
) -> Checked<CdbeSpec> {
    let mut reader = Reader::open("cdbe", "[cdbe]", top.given("cdbe"), top.at())?;
    let mode = cc::cdbe::Mode::from_name(reader.choice("mode")?).unwrap_or_default();
    let spec = CdbeSpec {
        mode,
        startup_rounds: reader.count("startup-rounds")?,
        queue_up_windows: reader.count("queue-up-windows")?,
        queue_down_windows: reader.count("queue-down-windows")?,
        inflight_share: reader.number("inflight-share")?,
        constants: constants(&mut reader)?,
        initial_report: RateReport::of(reader.quantity("initial-report")?),
        timestamp_tick: reader.quantity("timestamp-tick")?,
        radio_period: reader.quantity("radio-period")?,
        cqic_subtracts_errors: reader.choice("cqic-block-errors")? == "subtracted",
        udp_rtt: reader.quantity_or("udp-rtt", rtt)?,
        stripped: outage(&mut reader, ["strip-at", "strip-until"])?,
    };
    let user = flows
        .iter()
        .find(|flow| flow.report == Some(Reporter::Cqic));
    if let (Some(flow), Access::Link(_)) = (user, access) {
        let problem = format!(
            "the client of flow {:?} reports what its modem measures, which needs a radio cell",
            flow.name
        );
        return Err(fault(top.at(), problem)
            .allowed("a wired [link] has no modem")
            .hint("set report = \"cdbe\", or describe a [cell]"));
    }
    top.put("cdbe", ResolvedValue::Table(reader.finish()));
    Ok(spec)
}

/// What of mode `default` can be set, in the units in which it decides: microseconds and thousandths.
fn constants(reader: &mut Reader<'_>) -> Checked<Constants> {
    let time = |time: Duration| time.as_micros();
    let thousandths = |part: f64| (part * 1_000.0).round() as u64;
    let read = Constants {
        target_max: time(reader.quantity("target-max")?).cast_signed(),
        target_min: time(reader.quantity("target-min")?).cast_signed(),
        target_octave: time(reader.quantity("target-octave")?).cast_signed(),
        pacing_gain: thousandths(reader.number("pacing-gain")?),
        draining_gain: thousandths(reader.number("draining-gain")?),
        drain_after: time(reader.quantity("drain-after")?),
        losses: (1.0 / reader.number("overflow-loss")?).round() as u64,
        max_backoff: thousandths(reader.number("max-backoff")?),
        share: thousandths(reader.number("competing-share")?),
    };
    if read.target_min > read.target_max {
        let problem = format!(
            "the least target, {} us, is above the largest, {} us",
            read.target_min, read.target_max
        );
        return Err(fault(reader.place("target-min"), problem).allowed("\"target-max\" at most"));
    }
    Ok(read)
}
