//! What the radio's reports cost (4.2.2): the size of ours as they are encoded.

use crate::claim::{Cause, Cell, Claim, Verdict, Verdicts};
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use rnis::{CellId, CellReport, LinkQuality, McsTable, RadioReport, Rnti, UeReport, codec};
use std::net::{IpAddr, Ipv4Addr};
use units::{Bytes, Instant, Mcs, Prb, Slot};

pub(super) const SECTION: Section = Section {
    id: "control-channel",
    title: "The control channel (section 4.2.2)",
    experiments: |_| Vec::new(),
    report: |_: &Extent, _: &Results| Part {
        claims: claims(),
        ..Part::default()
    },
};

/// Headers of TCP and IP.
const HEADERS: usize = 40;

/// A report of a period of so many milliseconds of the testbed's cell, a minute after its start, for so many users that
/// share it.
fn report(users: u16, period_ms: u64) -> RadioReport {
    let ue = |index: u16| UeReport {
        ip: Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))),
        prb_dl: Prb::new(25 / users),
        tbs_bytes: Bytes::new(2292 * period_ms / u64::from(users)),
        served_bytes: Bytes::new(2200 * period_ms / u64::from(users)),
        rlc_queue_bytes: Bytes::new(20_000),
        harq_processes: 8,
        harq_retx: 1,
        lost_packets: Some(1),
        seq: 60_000 / period_ms,
        ..UeReport::idle(
            Rnti(17 + index),
            LinkQuality::Mcs {
                mcs: Mcs::new(28),
                table: McsTable::LteQam64,
                layers: 1,
                data_re_per_prb: 120,
            },
            Instant::from_nanos(60_000_000_000),
        )
    };
    RadioReport {
        cell: CellReport {
            slot: Slot::new(60_000),
            slots: period_ms as u32,
            ..CellReport::fdd(CellId(1), Prb::new(25))
        },
        ues: (0..users).map(ue).collect(),
    }
}

fn claims() -> Vec<Claim> {
    // reports are the same for all transports
    let exact = |value: f64| [Cell::Exact(value), Cell::Empty];
    let bytes = |users, ms| codec::encode_binary(&report(users, ms)).len() + HEADERS;
    let json = |users, ms| codec::encode_json(&report(users, ms)).len() + HEADERS;
    // bytes a ms are 8 kbit/s
    let one = bytes(1, 8) as f64;
    let fifty = bytes(50, 1) as f64 * 8e-3;
    // of our encoding; theirs is not at hand
    let encoded =
        |holds, less: bool| Verdicts::ours(Verdict::of(holds).beyond(less, Cause::Mechanism));
    vec![
        Claim::new("section 4.2.2", "reports of one user every 8 ms, kbit/s", "250")
            .judged(&exact(one), encoded(one <= 275.0, one < 225.0))
            .note(format!(
                "ours as encoded for topics, with headers of TCP and IP; as JSON {} kbit/s. What the broker adds is \
                 not counted",
                json(1, 8)
            ))
            .decimals(0),
        Claim::new("section 4.2.2", "reports of 50 users every millisecond, Mbit/s", "100")
            .judged(&exact(fifty), encoded(fifty <= 110.0, fifty < 90.0))
            .note(format!("as JSON {:.0} Mbit/s", json(50, 1) as f64 * 8e-3))
            .decimals(0),
    ]
}
