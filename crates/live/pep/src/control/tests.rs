//! What the source sends waits for the control thread, and not too much of it.

use super::*;
use report_source::Follower;
use rnis::codec::encode_binary;
use rnis::{CellId, CellReport, LinkQuality, RadioReport, Rnti, UeReport};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, channel};
use units::{Instant, Prb};

/// A report of so many UEs.
fn report(ues: u16) -> Vec<u8> {
    report_of(1, ues)
}

/// The same of this cell.
fn report_of(cell: u32, ues: u16) -> Vec<u8> {
    let ue = |rnti| UeReport {
        seq: 1,
        ..UeReport::idle(
            Rnti(rnti),
            LinkQuality::Measured {
                full_band_millibytes: 1_000,
            },
            Instant::ZERO,
        )
    };
    encode_binary(&RadioReport {
        cell: CellReport::fdd(CellId(cell), Prb::new(100)),
        ues: (0..ues).map(ue).collect(),
    })
}

fn reader() -> (Reader, Receiver<ControlEvent>) {
    let (to, events) = channel();
    let source = "unix:/run/radio.sock".parse().expect("a source");
    let reader = Reader::new(source, &to, &Arc::default(), &Arc::default());
    (reader, events)
}

#[test]
fn the_last_report_of_each_cell_is_not_superseded_whatever_stands_between() {
    let (mut reader, events) = reader();
    for _ in 0..2 {
        reader.message(&report(1));
        reader.message(b"no report");
        reader.message(&report_of(2, 1));
    }
    let events: Vec<ControlEvent> = events.try_iter().collect();
    assert_eq!(
        superseded(&events),
        [true, false, true, false, false, false]
    );
    assert_eq!(superseded(&events[..3]), [false; 3]);
}

#[test]
fn what_waits_for_the_control_thread_is_bounded_in_number() {
    let (mut reader, events) = reader();
    let send = |reader: &mut Reader| {
        for _ in 0..1_000 {
            reader.message(b"no report");
            reader.message(&report(1));
        }
    };
    send(&mut reader);
    assert_eq!(events.try_iter().count(), MAX_PENDING);
    let left_out = [&reader.source.dropped, &reader.source.unreadable]
        .map(|n| n.load(Relaxed))
        .iter()
        .sum::<u64>();
    assert_eq!(left_out, 2_000 - MAX_PENDING as u64);
    // what was taken has made room
    send(&mut reader);
    assert_eq!(events.try_iter().count(), MAX_PENDING);
}

#[test]
fn what_waits_for_the_control_thread_is_bounded_in_bytes() {
    let (mut reader, events) = reader();
    let message = report(5_000);
    for _ in 0..100 {
        reader.message(&message);
    }
    let of = |event| match event {
        ControlEvent::Report(report, _) => report.ues.capacity() * size_of::<UeReport>(),
        _ => 0,
    };
    let held: usize = events.try_iter().map(of).sum();
    assert!(reader.source.dropped.load(Relaxed) > 0);
    assert!(
        (1_000_000..=MAX_PENDING_BYTES).contains(&held),
        "{held} bytes"
    );
}
