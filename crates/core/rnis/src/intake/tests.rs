//! Reports one after the other: what is accepted, why the others are not, and how old each is.

use super::*;
use crate::identity::KnownUe;
use crate::order::RESTART_COUNT;
use crate::{BearerReport, CellReport, LinkQuality, McsTable, Rnti, UeReport};
use core::net::IpAddr;
use units::{Bytes, Cqi, Hertz, Mcs, Prb, Slot};

const AGE: Duration = Duration::from_millis(100);

fn report(slot: u64) -> RadioReport {
    let ue = |rnti| UeReport {
        prb_dl: Prb::new(10),
        cqi: Cqi::new(10),
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
            Instant::from_nanos(slot),
        )
    };
    RadioReport {
        cell: CellReport {
            scs: Hertz::from_khz(30),
            slot_duration: Duration::from_micros(500),
            slot: Slot::new(slot),
            slots: 20,
            ..CellReport::fdd(CellId(3), Prb::new(106))
        },
        ues: vec![ue(9), ue(7)],
    }
}

fn intake() -> Intake {
    let known = KnownUe {
        ip: IpAddr::from([10, 45, 0, 7]),
        ids: vec![UeId::Rnti(Rnti(7))],
    };
    Intake::new(UeMap::new(vec![known]).expect("one UE"), None)
}

/// A report of the moment.
fn pass(intake: &mut Intake, report: RadioReport) -> Result<Accepted, Refusal> {
    intake.report(Instant::from_nanos(1_000_000), report, false)
}

#[test]
fn ues_get_their_addresses_and_the_unknown_are_named() {
    let accepted = pass(&mut intake(), report(20)).expect("good");
    assert_eq!(
        accepted.report.ues[0].ip,
        Some(IpAddr::from([10, 45, 0, 7]))
    );
    assert_eq!(accepted.report.ues[1].ip, None);
    assert_eq!(accepted.unknown[0].ids, vec![UeId::Rnti(Rnti(9))]);
}

#[test]
fn repeated_and_late_reports_are_rejected_and_a_restart_is_detected() {
    let mut intake = intake();
    assert!(pass(&mut intake, report(1_000_000)).is_ok());
    assert!(matches!(
        pass(&mut intake, report(1_000_000)),
        Err(Refusal::Repeated { .. })
    ));
    assert!(matches!(
        pass(&mut intake, report(999_999)),
        Err(Refusal::Late { .. })
    ));
    assert!(
        !pass(&mut intake, report(1_000_020))
            .expect("next")
            .restarted
    );
    assert!(
        pass(&mut intake, report(5))
            .expect("from the beginning")
            .restarted
    );
}

#[test]
fn values_that_no_base_station_has_are_refused() {
    let refused = |change: fn(&mut RadioReport)| {
        let mut r = report(20);
        change(&mut r);
        pass(&mut intake(), r).expect_err("absurd").to_string()
    };
    assert!(refused(|r| r.cell.n_prb = Prb::new(276)).contains("276"));
    assert!(refused(|r| r.ues[0].cqi = Cqi::new(16)).contains("cqi is 16"));
    assert!(refused(|r| r.cell.slot_duration = Duration::from_secs(1)).contains("slots of"));
    assert!(refused(|r| r.ues[0].tbs_bytes = Bytes::MAX).contains("tbs_bytes"));
    assert!(refused(|r| r.ues[1].rnti = Rnti(9)).contains("twice"));
    let bearers = |ids: &[u8]| {
        let mut r = report(20);
        let of = |id: &u8| BearerReport {
            id: *id,
            queue_bytes: Bytes::ZERO,
        };
        r.ues[0].bearers = ids.iter().map(of).collect();
        r
    };
    assert!(pass(&mut intake(), bearers(&[32, 1])).is_ok());
    for (ids, what) in [
        (&[1, 33][..], "bearer 33; allowed is 1 to 32"),
        (&[0, 1], "bearer 0;"),
        (&[2, 3, 2], "bearer 2 is there twice"),
    ] {
        let error = pass(&mut intake(), bearers(ids)).expect_err(what);
        assert!(error.to_string().contains(what), "{error}");
    }
    let much = refused(|r| {
        r.ues[0].bearers = vec![BearerReport {
            id: 5,
            queue_bytes: Bytes::MAX,
        }];
    });
    assert!(much.contains("bearer 5: queue_bytes is"), "{much}");
    assert!(refused(|r| r.cell.downlink_share = f64::NAN).contains("downlink_share"));
    let layers = refused(|r| {
        if let LinkQuality::Mcs { layers, .. } = &mut r.ues[0].quality {
            *layers = 0;
        }
    });
    assert!(layers.contains("layers is 0"), "{layers}");
}

#[test]
fn the_number_of_cells_is_limited() {
    let mut intake = intake();
    for id in 0..MAX_CELLS as u32 {
        let mut r = report(20);
        r.cell.id = CellId(id);
        assert!(pass(&mut intake, r).is_ok());
    }
    let mut r = report(20);
    r.cell.id = CellId(u32::MAX);
    assert!(matches!(
        pass(&mut intake, r),
        Err(Refusal::TooManyCells { .. })
    ));
}

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(1_000_000_000_000) + Duration::from_millis(ms)
}

/// Reports of one source, each of the next slot unless given, and when they were made on our clock.
struct Source {
    intake: Intake,
    slot: u64,
    is_foreign: bool,
}

impl Source {
    fn new(is_foreign: bool) -> Self {
        Self {
            intake: Intake::new(UeMap::default(), Some(AGE)),
            slot: 1_000_000,
            is_foreign,
        }
    }

    /// A report that comes at `now`, with this timestamp.
    fn accept(&mut self, now: u64, stamp: Instant) -> Result<Instant, &'static str> {
        self.slot += 20;
        let mut report = report(self.slot);
        for ue in &mut report.ues {
            ue.timestamp = stamp;
        }
        match self.intake.report(ms(now), report, self.is_foreign) {
            Ok(accepted) => Ok(accepted.on_our_clock(ms(now)).ues[0].timestamp),
            Err(refusal) => Err(refusal.name()),
        }
    }
}

#[test]
fn a_source_that_begins_anew_is_followed_again_and_so_is_its_clock() {
    let mut source = Source::new(false);
    assert_eq!(source.accept(0, ms(0)), Ok(ms(0)));
    assert_eq!(source.accept(10, ms(10)), Ok(ms(10)));
    assert_eq!(
        source.intake.silence(ms(18), CellId(3)),
        Some(Duration::from_millis(8))
    );
    // slots and clock from zero
    source.slot = 0;
    let restarted = Instant::from_nanos(5);
    assert_eq!(source.accept(500, restarted), Ok(ms(500)));
    let later = restarted + Duration::from_millis(10);
    assert_eq!(source.accept(510, later), Ok(ms(510)));
}

#[test]
fn a_small_jump_back_is_a_restart_once_all_reports_are_older() {
    let mut source = Source::new(false);
    assert_eq!(source.accept(0, ms(0)), Ok(ms(0)));
    source.slot -= 20 * u64::from(RESTART_COUNT) + 20;
    for n in 1..u64::from(RESTART_COUNT) {
        assert_eq!(source.accept(n, ms(n)), Err("late"));
    }
    assert_eq!(source.accept(9, ms(9)), Ok(ms(9)));
    let counts = source.intake.counts();
    assert_eq!(
        (counts.accepted, counts.late),
        (2, u64::from(RESTART_COUNT) - 1)
    );
}

#[test]
fn old_reports_are_refused_and_what_is_to_come_is_of_now() {
    let mut source = Source::new(false);
    assert_eq!(source.accept(500, ms(0)), Err("old"));
    assert_eq!(source.intake.silence(ms(500), CellId(3)), None);
    assert_eq!(source.accept(501, ms(480)), Ok(ms(480)));
    assert_eq!(source.accept(502, ms(3_000)), Ok(ms(502)));
    let counts = source.intake.counts();
    assert_eq!((counts.old, counts.accepted, counts.skewed), (1, 2, 1));
}

#[test]
fn each_cell_of_a_broker_has_its_own_clock() {
    let mut intake = Intake::new(UeMap::default(), Some(AGE));
    // two base stations whose clocks are an hour apart
    for (cell, hour) in [(1, 0), (2, 3_600_000)] {
        let mut report = report(20);
        report.cell.id = CellId(cell);
        for ue in &mut report.ues {
            ue.timestamp = ms(hour);
        }
        let placed = intake.report(ms(50), report, true).expect("new").placed;
        assert_eq!(placed.map(|p| p.at), Some(ms(50)));
    }
}

#[test]
fn a_foreign_clock_may_run_slower_than_ours() {
    let mut source = Source::new(true);
    // five seconds behind ours, which on this machine would be old
    let stamp = |real: u64, slow: u64| ms(real - 5_000 - slow);
    assert_eq!(source.accept(9_000, stamp(8_960, 0)), Ok(ms(9_000)));
    // one that came faster shows that the first was 40 ms old
    assert_eq!(source.accept(9_001, stamp(9_001, 0)), Ok(ms(9_001)));
    let late = source.accept(9_030, stamp(9_010, 0)).expect("not old");
    assert!(late.saturating_since(ms(9_010)) < Duration::from_micros(10));
    assert_eq!(source.accept(9_200, stamp(9_020, 0)), Err("old"));
    // an hour later it has lost a third of a second, a little in each
    for second in 10..3_610 {
        let now = second * 1_000;
        let accepted = source.accept(now, stamp(now, second / 10));
        assert!(accepted.is_ok(), "after {second} s");
    }
}

#[test]
fn a_foreign_clock_that_was_set_back_is_followed_again() {
    let mut source = Source::new(true);
    let stamp = |real: u64| ms(real - 5_000);
    assert_eq!(source.accept(9_000, stamp(9_000)), Ok(ms(9_000)));
    // after a pause it has lost two seconds
    assert_eq!(source.accept(12_500, stamp(10_500)), Err("old"));
    assert_eq!(source.accept(14_100, stamp(12_100)), Err("old"));
    assert_eq!(source.accept(14_101, stamp(12_101)), Ok(ms(14_101)));
    // on this machine, what is old stays old
    let mut source = Source::new(false);
    assert_eq!(source.accept(9_000, ms(9_000)), Ok(ms(9_000)));
    for now in [12_500, 14_100, 14_101, 20_000] {
        assert_eq!(source.accept(now, ms(now - 2_000)), Err("old"));
    }
}

#[test]
fn a_report_without_ues_has_no_age() {
    let mut intake = Intake::new(UeMap::default(), Some(AGE));
    let mut empty = report(20);
    empty.ues.clear();
    let accepted = intake.report(ms(7), empty, false).expect("in order");
    assert_eq!(accepted.placed, None);
    assert_eq!(
        intake.silence(ms(9), CellId(3)),
        Some(Duration::from_millis(2))
    );
}

#[test]
fn what_is_no_report_is_counted_by_its_kind() {
    let mut intake = intake();
    let mut contradictory = report(20);
    contradictory.cell.slots = 0;
    let bytes = crate::codec::encode_json(&contradictory);
    for (bytes, name) in [(&b"nonsense"[..], "unreadable"), (&bytes, "absurd")] {
        let refusal = intake.message(ms(0), bytes, false).expect_err("refused");
        assert_eq!(refusal.name(), name);
    }
    let counts = intake.counts();
    assert_eq!((counts.unreadable, counts.absurd), (1, 1));
}
