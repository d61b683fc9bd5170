//! The view of the radio: who comes and goes, and how many are followed.

use core::net::{IpAddr, Ipv6Addr};
use rnis::event::{EventKind, RadioEvent};
use rnis::mec012::{MAX_UES, MAX_UES_PER_CELL, NetworkProfile, RadioView};
use rnis::{CellId, CellReport, LinkQuality, McsTable, RadioReport, Rnti, UeReport};
use std::collections::{BTreeMap, BTreeSet};
use units::{Bytes, Cqi, Duration, Hertz, Instant, Mcs, Prb, Slot};

fn report(cell: u32, ues: &[(u16, Option<IpAddr>)]) -> RadioReport {
    let ue = |&(rnti, ip): &(u16, Option<IpAddr>)| UeReport {
        ip,
        prb_dl: Prb::new(1),
        cqi: Cqi::new(11),
        tbs_bytes: Bytes::new(100),
        served_bytes: Bytes::new(90),
        ..UeReport::idle(
            Rnti(rnti),
            LinkQuality::Mcs {
                mcs: Mcs::new(20),
                table: McsTable::NrQam256,
                layers: 1,
                data_re_per_prb: 132,
            },
            Instant::ZERO,
        )
    };
    RadioReport {
        cell: CellReport {
            scs: Hertz::from_khz(30),
            slot_duration: Duration::from_micros(500),
            slot: Slot::new(20),
            slots: 20,
            ..CellReport::fdd(CellId(cell), Prb::new(106))
        },
        ues: ues.iter().map(ue).collect(),
    }
}

fn network() -> NetworkProfile {
    NetworkProfile {
        plmns: Vec::new(),
        cells: BTreeMap::new(),
        ues: BTreeMap::new(),
    }
}

fn view() -> RadioView {
    RadioView::new(Duration::from_secs(1), Duration::from_secs(2))
}

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn ip(number: u64) -> IpAddr {
    Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(number)).into()
}

/// Of events: established (+), released (-) and moved (>), each with its address.
fn briefly(events: &[RadioEvent]) -> Vec<(char, IpAddr)> {
    let sign = |event: &RadioEvent| match event.kind {
        EventKind::BearerEstablished(_) => '+',
        EventKind::BearerReleased { .. } => '-',
        EventKind::CellChange { .. } => '>',
        _ => '?',
    };
    let brief = |event: &RadioEvent| (sign(event), event.ue.expect("an address"));
    events.iter().map(brief).collect()
}

#[test]
fn an_rnti_that_is_used_again_releases_the_ue_that_had_it() {
    let (mut view, network) = (view(), network());
    let mut step = |millis, cell, ues: &[(u16, Option<IpAddr>)]| {
        briefly(&view.on_report(at(millis), &report(cell, ues), &network))
    };
    assert_eq!(step(0, 1, &[(7, Some(ip(1)))]), [('+', ip(1))]);
    // well within `release-after`
    let again = step(10, 1, &[(7, Some(ip(2)))]);
    assert_eq!(again, [('+', ip(2)), ('-', ip(1))]);
    // one whose address is not known
    assert_eq!(step(20, 1, &[(7, None)]), [('-', ip(2))]);
    assert_eq!(step(30, 1, &[(7, Some(ip(1)))]), [('+', ip(1))]);
    // two UEs exchange their RNTIs: neither has left
    assert_eq!(
        step(40, 1, &[(7, Some(ip(1))), (8, Some(ip(2)))]),
        [('+', ip(2))]
    );
    assert_eq!(step(50, 1, &[(7, Some(ip(2))), (8, Some(ip(1)))]), []);
    // in another cell meanwhile
    assert_eq!(step(60, 2, &[(3, Some(ip(1)))]), [('>', ip(1))]);
    assert_eq!(
        step(70, 1, &[(7, Some(ip(2))), (8, Some(ip(3)))]),
        [('+', ip(3))]
    );
    // and left out for so long that they have left
    assert_eq!(step(2_100, 1, &[]), [('-', ip(2)), ('-', ip(3))]);
}

#[test]
fn a_ue_with_a_new_rnti_has_not_left() {
    let (mut view, network) = (view(), network());
    for millis in [0, 1_000, 2_000] {
        view.on_report(at(millis), &report(1, &[(5, Some(ip(1)))]), &network);
    }
    for millis in [2_010, 3_000, 4_500, 6_000] {
        let events = view.on_report(at(millis), &report(1, &[(6, Some(ip(1)))]), &network);
        assert_eq!(briefly(&events), []);
    }
}

#[test]
fn invented_addresses_take_a_bounded_number_of_places_which_are_given_back() {
    let (mut view, network) = (view(), network());
    let mut present = BTreeSet::new();
    for round in 0..200 {
        // the same RNTIs with other addresses each time
        let ues: Vec<_> = (1..=1_000_u16)
            .map(|rnti| (rnti, Some(ip(round * 1_000 + u64::from(rnti)))))
            .collect();
        for (sign, ip) in briefly(&view.on_report(at(round), &report(1, &ues), &network)) {
            let is_new = if sign == '+' {
                present.insert(ip)
            } else {
                present.remove(&ip)
            };
            assert!(is_new, "{sign} {ip} twice");
        }
        assert_eq!(view.followed(), (1_000, 1_000));
    }
    assert_eq!(
        present.len(),
        1_000,
        "each that came and went was announced"
    );
    view.on_report(at(3_000), &report(1, &[]), &network);
    assert_eq!(view.followed(), (0, 0));
}

#[test]
fn of_too_many_ues_those_that_were_reported_least_recently_are_discarded() {
    let (mut view, network) = (view(), network());
    let resident = (1, Some(ip(1)));
    let mut released = 0;
    for round in 0..20_u16 {
        let mut ues = vec![resident];
        let rntis = (0..1_000).map(|n| 2 + round * 1_000 + n);
        ues.extend(rntis.map(|rnti| (rnti, Some(ip(rnti.into())))));
        let events = view.on_report(at(round.into()), &report(1, &ues), &network);
        let gone = briefly(&events)
            .into_iter()
            .filter(|(sign, _)| *sign == '-');
        released += gone.inspect(|(_, gone)| assert_ne!(*gone, ip(1))).count();
    }
    assert_eq!(view.followed(), (MAX_UES_PER_CELL, MAX_UES_PER_CELL));
    assert_eq!(released, 20_001 - MAX_UES_PER_CELL);
}

#[test]
fn ues_of_all_cells_are_bounded_too() {
    let (mut view, network) = (view(), network());
    for cell in 0..40_u32 {
        let address = |rnti: u16| Some(ip(u64::from(cell) << 16 | u64::from(rnti)));
        let ues: Vec<_> = (1..=4_000_u16).map(|rnti| (rnti, address(rnti))).collect();
        view.on_report(at(cell.into()), &report(cell, &ues), &network);
        let (ues, places) = view.followed();
        assert!(ues <= MAX_UES && places == ues, "{ues} {places}");
    }
    let first = view.on_report(at(41), &report(0, &[(1, Some(ip(1)))]), &network);
    assert_eq!(briefly(&first), [('+', ip(1))], "it was discarded");
    let last = (39 << 16) | 1;
    let known = view.on_report(at(42), &report(39, &[(1, Some(ip(last)))]), &network);
    assert_eq!(briefly(&known), [], "it was kept");
}
