//! What the radio's reports cost (4.4): the size of ours as they are encoded.

use super::default_only;
use crate::claim::{Cause, Cell, Claim, Verdict, Verdicts};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use rnis::{CellId, CellReport, LinkQuality, McsTable, RadioReport, Rnti, UeReport, codec};
use std::net::{IpAddr, Ipv4Addr};
use units::{Bytes, Duration, Hertz, Instant, Mcs, Prb, Slot};

pub(super) const SECTION: Section = Section {
    id: "control-channel",
    title: "The control channel (section 4.4)",
    experiments: |_| Vec::new(),
    report: |_: &Extent, _: &Results| Part {
        claims: claims(),
        ..Part::default()
    },
};

/// Headers of TCP and IP, which the paper counts as well.
const HEADERS: usize = 40;

/// A report of a millisecond of the simulated cell, a minute after its start, for so many users
/// that share it.
fn report(users: u16) -> RadioReport {
    let ue = |index: u16| UeReport {
        ip: Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))),
        prb_dl: Prb::new(132 / users),
        tbs_bytes: Bytes::new(106_576 / u64::from(users)),
        served_bytes: Bytes::new(102_000 / u64::from(users)),
        rlc_queue_bytes: Bytes::new(120_000),
        harq_processes: 8,
        seq: 60_000,
        ..UeReport::idle(
            Rnti(17 + index),
            LinkQuality::Mcs {
                mcs: Mcs::new(28),
                table: McsTable::NrQam64,
                layers: 1,
                data_re_per_prb: 144,
            },
            Instant::from_nanos(60_000_000_000),
        )
    };
    RadioReport {
        cell: CellReport {
            scs: Hertz::from_khz(120),
            slot_duration: Duration::from_micros(125),
            slot: Slot::new(480_000),
            slots: 8,
            ..CellReport::fdd(CellId(1), Prb::new(132))
        },
        ues: (0..users).map(ue).collect(),
    }
}

fn claims() -> Vec<Claim> {
    let bytes = |users| codec::encode_binary(&report(users)).len() + HEADERS;
    let json = codec::encode_json(&report(1)).len() + HEADERS;
    let ten = bytes(10) as f64 / 10.0;
    let one = bytes(1);
    // of our encoding; theirs is not at hand
    let verdict = Verdict::of(one <= 188).beyond(one < 125, Cause::Mechanism);
    vec![
        Claim::new("section 4.4", "a report of one user with headers, bytes a ms", "170 (1 to 1.5 Mbit/s)")
            .judged(&default_only(Cell::Exact(one as f64)), Verdicts::ours(verdict))
            .note(format!(
                "as encoded: {:.2} Mbit/s; each of ten users {ten:.0} bytes, {:.2} Mbit/s; as JSON {json} bytes",
                one as f64 * 8e-3,
                ten * 8e-3,
            ))
            .decimals(0),
    ]
}
