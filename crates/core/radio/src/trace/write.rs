//! Writing a trace in a format that can hold its content as it is.

use super::convert::ConvertError;
use super::format::BRIMFUL_MAGIC;
use super::{Content, Format, Network, Opportunities, PacketsPerTick, Quality, Rates, Trace};
use units::Duration;

/// The most lines of a Mahimahi file that are written (1500 B each: 75 GB of capacity).
pub(super) const MAX_LINES: u64 = 50_000_000;

/// The text of a trace in a format that holds its content exactly: CQI, rates, opportunities and
/// packets per tick as [`Format::Brimful`], rates as [`Format::RateCsv`], opportunities in whole
/// milliseconds as [`Format::Mahimahi`], packets per tick as [`Format::PacketsPerTick`].
/// [`convert`](super::convert()) makes the content fit another format first.
///
/// # Errors
/// [`ConvertError::Impossible`] with the reason.
pub fn write(trace: &Trace, format: Format) -> Result<String, ConvertError> {
    match (&trace.content, format) {
        (Content::Dci(_), Format::Brimful) => Err(impossible(
            trace,
            format,
            "this form has no columns for grants; keep the log as it is",
        )),
        (content, Format::Brimful) => Ok(brimful(trace, content)),
        (Content::Rate(rates), Format::RateCsv) => Ok(rate_csv(rates)),
        (Content::Opportunities(opportunities), Format::Mahimahi) => mahimahi(trace, opportunities),
        (Content::PacketsPerTick(packets), Format::PacketsPerTick) => Ok(packets_per_tick(packets)),
        (_, Format::Ucc) => Err(impossible(
            trace,
            format,
            "a phone's log has columns that are not in this trace (place, cell, signal); choose \
             brimful",
        )),
        (_, Format::NrScope) => Err(impossible(
            trace,
            format,
            "a DCI log has columns that are not in this trace (frame, grants); choose brimful",
        )),
        _ => Err(impossible(trace, format, "it has to be converted first")),
    }
}

pub(super) fn impossible(trace: &Trace, to: Format, reason: &str) -> ConvertError {
    ConvertError::Impossible {
        source_name: trace.source.clone(),
        kind: trace.content.kind(),
        to,
        reason: reason.to_owned(),
    }
}

/// Seconds with as many digits after the point as they need.
fn seconds(time: Duration) -> String {
    let (whole, nanos) = (
        time.as_nanos() / 1_000_000_000,
        time.as_nanos() % 1_000_000_000,
    );
    if nanos == 0 {
        return whole.to_string();
    }
    format!("{whole}.{nanos:09}")
        .trim_end_matches('0')
        .to_owned()
}

fn brimful(trace: &Trace, content: &Content) -> String {
    let mut text = format!("{BRIMFUL_MAGIC} 1");
    if !matches!(content, Content::PacketsPerTick(_)) {
        text.push_str(" duration_s=");
        text.push_str(&seconds(trace.duration()));
    }
    let source: String = trace
        .source
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    text.push_str(&format!("\n# source: {source}\n"));
    match content {
        Content::Quality(quality) => brimful_quality(&mut text, quality),
        Content::Rate(rates) => {
            text.push_str("time_s,rate_bps\n");
            for step in rates.steps.iter() {
                text.push_str(&format!("{},{}\n", seconds(step.at), step.rate.as_bps()));
            }
        }
        Content::Opportunities(opportunities) => {
            text.push_str("time_s,packets\n");
            for step in opportunities.steps.iter() {
                text.push_str(&format!("{},{}\n", seconds(step.at), step.packets.get()));
            }
        }
        Content::PacketsPerTick(packets) => {
            text.push_str("packets_per_tick\n");
            for value in packets.values.iter() {
                text.push_str(&format!("{value}\n"));
            }
        }
        Content::Dci(_) => {}
    }
    text
}

/// The columns that no row fills are left out.
fn brimful_quality(text: &mut String, quality: &Quality) {
    let snr = quality.samples.iter().any(|sample| sample.snr.is_some());
    let rsrp = quality.samples.iter().any(|sample| sample.rsrp.is_some());
    let network = quality
        .samples
        .iter()
        .any(|sample| sample.network != Network::Unknown);
    text.push_str("time_s,cqi");
    text.push_str(if snr { ",snr_db" } else { "" });
    text.push_str(if rsrp { ",rsrp_dbm" } else { "" });
    text.push_str(if network { ",network\n" } else { "\n" });
    for sample in quality.samples.iter() {
        text.push_str(&seconds(sample.at));
        text.push(',');
        if let Some(cqi) = sample.cqi {
            text.push_str(&cqi.to_string());
        }
        if snr {
            text.push(',');
            text.push_str(
                &sample
                    .snr
                    .map_or(String::new(), |snr| snr.get().to_string()),
            );
        }
        if rsrp {
            let rsrp = sample.rsrp.map(|rsrp| rsrp.get().to_string());
            text.push(',');
            text.push_str(&rsrp.unwrap_or_default());
        }
        if network {
            text.push_str(match sample.network {
                Network::Lte => ",lte",
                Network::Nr => ",nr",
                Network::Older => ",older",
                Network::Unknown => ",",
            });
        }
        text.push('\n');
    }
}

fn rate_csv(rates: &Rates) -> String {
    let mut text = String::from("time_s,throughput_mbps\n");
    for step in rates.steps.iter() {
        let (whole, bps) = (
            step.rate.as_bps() / 1_000_000,
            step.rate.as_bps() % 1_000_000,
        );
        text.push_str(&format!("{},{whole}.{bps:06}\n", seconds(step.at)));
    }
    text
}

/// True for opportunities at whole milliseconds, the last of them at the trace's end.
pub(super) fn fits_mahimahi(opportunities: &Opportunities) -> bool {
    let millisecond = Duration::from_millis(1);
    let steps = &opportunities.steps;
    steps.iter().all(|step| (step.at % millisecond).is_zero())
        && steps
            .last()
            .is_some_and(|last| last.at == opportunities.duration)
}

fn mahimahi(trace: &Trace, opportunities: &Opportunities) -> Result<String, ConvertError> {
    if !fits_mahimahi(opportunities) {
        let reason = "its opportunities are not at whole milliseconds, or silence follows the \
                      last, which is the end of such a file: it has to be converted";
        return Err(impossible(trace, Format::Mahimahi, reason));
    }
    let lines = opportunities.packets().get();
    if lines > MAX_LINES {
        let reason = format!("it would have {lines} lines, at most {MAX_LINES} are written");
        return Err(impossible(trace, Format::Mahimahi, &reason));
    }
    let mut text = String::new();
    for step in opportunities.steps.iter() {
        let line = format!("{}\n", step.at.as_millis());
        text.extend((0..step.packets.get()).map(|_| line.as_str()));
    }
    Ok(text)
}

fn packets_per_tick(packets: &PacketsPerTick) -> String {
    let mut text = format!("{}\n", packets.values.len());
    for value in packets.values.iter() {
        text.push_str(&format!("{value}\n"));
    }
    text
}
