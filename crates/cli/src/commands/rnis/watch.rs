//! `brimful rnis watch`: radio reports for people.

use super::reader::{Content, End, follow};
use crate::failure::Failure;
use crate::output::{complain, print};
use rnis::{CellId, LinkQuality, RadioReport, UeReport};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use units::BitRate;

/// Prints reports until it is interrupted.
pub(super) fn run(socket: &Path, every: Option<units::Duration>) -> Result<(), Failure> {
    let every = every.map(|time| Duration::from_nanos(time.as_nanos()));
    let mut printed: BTreeMap<CellId, Instant> = BTreeMap::new();
    let followed = follow(socket, None, Content::Reports, |report, _, _| {
        let Some(report) = report else {
            return Ok(());
        };
        if let Some(every) = every {
            let now = Instant::now();
            let last = printed.get(&report.cell.id);
            if last.is_some_and(|last| now.duration_since(*last) < every) {
                return Ok(());
            }
            printed.insert(report.cell.id, now);
        }
        print(&text(report))
    })?;
    if followed.end == End::Closed {
        complain(&format!("{}: closed", socket.display()));
    }
    Ok(())
}

/// A report, one line a UE.
fn text(report: &RadioReport) -> String {
    let cell = &report.cell;
    let begin = format!("cell {} slot {}", cell.id.0, cell.slot.get());
    if report.ues.is_empty() {
        let (others, all) = (cell.prb_background, cell.n_prb);
        return format!("{begin}: no UEs, {others} of {all} PRBs used\n");
    }
    let mut text = String::new();
    for ue in &report.ues {
        let address = ue.ip.map_or("no address".to_owned(), |ip| ip.to_string());
        // writing to a text cannot fail
        let _ = writeln!(
            text,
            "{begin}: {address} (RNTI {}) {} of {} PRBs, {}, CQI {}, {} sent, {} waiting, HARQ {} busy, {} again",
            ue.rnti.0,
            ue.prb_dl,
            cell.n_prb,
            quality(report, ue),
            ue.cqi,
            rate(report, ue.served_bytes.get() as f64),
            ue.rlc_queue_bytes,
            ue.harq_processes,
            ue.harq_retx,
        );
    }
    text
}

fn quality(report: &RadioReport, ue: &UeReport) -> String {
    match ue.quality {
        LinkQuality::Mcs { mcs, layers: 1, .. } => format!("MCS {mcs}"),
        LinkQuality::Mcs { mcs, layers, .. } => format!("MCS {mcs} x {layers}"),
        LinkQuality::Measured {
            full_band_millibytes,
        } => {
            let all = full_band_millibytes as f64 / 1e3 * f64::from(report.cell.slots);
            format!("at most {}", rate(report, all))
        }
    }
}

/// Bytes in the time that a report covers, as a rate.
fn rate(report: &RadioReport, bytes: f64) -> String {
    let cell = &report.cell;
    let downlink = f64::from(cell.slots) * cell.slot_duration.as_secs_f64();
    // a cell without downlink sends nothing: 0 / infinity
    let seconds = downlink / cell.downlink_share;
    BitRate::from_bps((bytes * 8.0 / seconds) as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rnis::codec::decode_json;

    const REPORT: &str = r#"{"cell":{"id":1,"n_prb":106,"scs":30000,"slot_duration":500000,"downlink_share":0.5,"slot":10000,"slots":10,"prb_background":2},"ues":[
      {"rnti":17921,"ip":"10.45.0.2","prb_dl":40,"quality":{"kind":"mcs","mcs":20,"table":"nr-qam256","layers":2,"data_re_per_prb":132},"cqi":11,"tbs_bytes":9480,"served_bytes":10000,"rlc_queue_bytes":120000,"harq_processes":3,"harq_retx":1,"seq":41,"timestamp":1},
      {"rnti":5,"ip":null,"prb_dl":1,"quality":{"kind":"measured","full_band_millibytes":1500000},"cqi":0,"tbs_bytes":0,"served_bytes":0,"rlc_queue_bytes":0,"harq_processes":0,"harq_retx":0,"seq":1,"timestamp":1}]}"#;

    #[test]
    fn a_ue_is_a_line_with_units() {
        let report = decode_json(REPORT.as_bytes()).expect("a report");
        // 10 kB in 10 downlink slots of 0.5 ms, which are half of all: 10 ms
        assert_eq!(
            text(&report),
            "cell 1 slot 10000: 10.45.0.2 (RNTI 17921) 40 of 106 PRBs, MCS 20 x 2, CQI 11, 8 Mbit/s sent, 120 kB waiting, HARQ 3 busy, 1 again\n\
             cell 1 slot 10000: no address (RNTI 5) 1 of 106 PRBs, at most 12 Mbit/s, CQI 0, 0 bit/s sent, 0 B waiting, HARQ 0 busy, 0 again\n"
        );
        let empty = RadioReport {
            ues: Vec::new(),
            ..report
        };
        assert_eq!(
            text(&empty),
            "cell 1 slot 10000: no UEs, 2 of 106 PRBs used\n"
        );
    }

    #[test]
    fn a_cell_without_downlink_sends_nothing() {
        let mut report = decode_json(REPORT.as_bytes()).expect("a report");
        report.cell.downlink_share = 0.0;
        assert_eq!(rate(&report, 10_000.0), "0 bit/s");
    }
}
