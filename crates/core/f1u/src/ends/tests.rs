//! Packets go through both ends, and statuses come back.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const ENDPOINTS: Endpoints = Endpoints {
    downlink: 7,
    uplink: 70,
    length: SnLength::Bits12,
};

fn ends() -> (CentralEnd, UnitEnd) {
    let unit = UnitEnd::new(ENDPOINTS, Bytes::new(5_000));
    (CentralEnd::new(ENDPOINTS), unit)
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn status(message: &[u8]) -> DeliveryStatus {
    let (message, _) = Message::read(message).expect("a message");
    let content = message.extension(NR_RAN_CONTAINER).expect("a frame");
    match Frame::read(content).expect("a frame") {
        Frame::DeliveryStatus(status) => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn packets_go_down_and_up_as_they_are() {
    let (mut central, mut unit) = ends();
    // more than numbers of 12 bits
    for count in 0..5_000_u64 {
        let packet = count.to_be_bytes();
        let message = central.user_data(&packet, false).expect("a message");
        let received = unit.on_message(&message).expect("its own");
        assert_eq!((received.count, received.packet), (count, &packet[..]));
    }
    let progress = Progress {
        transmitted: 4_100,
        delivered: 4_099,
    };
    let message = unit.uplink_data(at_ms(1), b"up", progress);
    let message = message.expect("a message");
    assert_eq!(central.on_message(&message), Ok(Some(&b"up"[..])));
    let status = status(&message);
    assert_eq!(
        (status.transmitted, status.delivered, status.desired_buffer),
        (Some(3), Some(2), 5_000)
    );
    assert!(status.lost.is_empty());
    let other = EndError::Foreign { teid: 70 };
    assert_eq!(unit.on_message(&message), Err(other));
}

#[test]
fn what_does_not_come_or_finds_no_room_is_lost_once() {
    let (mut central, mut unit) = ends();
    for count in 0..10 {
        let message = central.user_data(b"down", false).expect("a message");
        if ![3, 4, 7].contains(&count) {
            unit.on_message(&message).expect("its own");
        }
    }
    unit.on_rejected(8);
    let progress = Progress::default();
    let first = status(&unit.status(at_ms(10), progress).expect("due"));
    let range = |start, end| Range { start, end };
    assert_eq!(first.lost, [range(3, 4), range(7, 8)]);
    assert_eq!(first.transmitted, None);
    assert_eq!(unit.status(at_ms(30), progress), None);
}

#[test]
fn a_status_comes_when_something_has_changed_and_the_timer_allows_it_or_is_polled() {
    let (mut central, mut unit) = ends();
    let progress = |transmitted| Progress {
        transmitted,
        delivered: 0,
    };
    let first = unit.status(at_ms(1), progress(1)).expect("due");
    assert_eq!(status(&first).delivered, None);
    assert_eq!(unit.status_at(progress(1)), None);
    assert_eq!(unit.status_at(progress(2)), Some(at_ms(11)));
    assert_eq!(unit.status(at_ms(10), progress(2)), None);
    assert!(unit.status(at_ms(11), progress(2)).is_some());
    let polled = central.user_data(b"down", true).expect("a message");
    unit.on_message(&polled).expect("its own");
    assert!(unit.status(at_ms(11), progress(2)).is_some());
    assert_eq!(unit.status(at_ms(12), progress(2)), None);
}

#[test]
fn a_bearer_that_moves_keeps_pdcps_numbers_and_begins_nr_us_anew() {
    let (mut central, mut first) = ends();
    for _ in 0..5_000 {
        let message = central.user_data(b"down", false).expect("a message");
        first.on_message(&message).expect("its own");
    }
    let up = first.uplink_data(at_ms(1), b"up", Progress::default());
    central
        .on_message(&up.expect("a message"))
        .expect("its own");
    let progress = Progress {
        transmitted: 4_990,
        delivered: 4_980,
    };
    let last = status(&first.leave(at_ms(2), progress).expect("a message"));
    assert!(last.is_final);
    assert_eq!(last.delivered, Some(4_979 % 4_096));
    let more = Progress {
        delivered: 4_981,
        ..progress
    };
    assert_eq!(first.status_at(more), None, "that was the last");

    let endpoints = Endpoints {
        downlink: 8,
        uplink: 80,
        ..ENDPOINTS
    };
    let (mut central, mut second) = (central.moved(endpoints), first.moved(endpoints));
    // what the UE has not comes again, and then what is new
    for (sequence, count) in (0..).zip([4_980, 4_985, 5_000]) {
        let message = match count {
            5_000 => central.user_data(b"new", false),
            _ => central.resend(count, b"again"),
        };
        let message = message.expect("a message");
        assert!(first.on_message(&message).is_err(), "another tunnel");
        let received = second.on_message(&message).expect("its own");
        assert_eq!((received.count, received.sequence), (count, sequence));
    }
    assert_eq!(central.sent(), 3);
    let first_status = second.status(at_ms(20), Progress::default());
    let first_status = status(&first_status.expect("due"));
    assert!(!first_status.is_final && first_status.lost.is_empty());
    let up = second.uplink_data(at_ms(21), b"up", Progress::default());
    let up = up.expect("a message");
    let (message, _) = Message::read(&up).expect("a message");
    let sn = number(message.payload, ENDPOINTS.length);
    assert_eq!(sn, Some(1), "the second packet upwards");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..80), teid in 0_u32..2) {
        let (central, mut unit) = ends();
        let _ = (central.on_message(&bytes), unit.on_message(&bytes));
        let mut framed = Vec::new();
        let extension = Extension { kind: NR_RAN_CONTAINER, content: &bytes[..bytes.len() / 2] };
        let header = [70, 7][teid as usize];
        write(&Header::g_pdu(header, &[extension]), &bytes, &mut framed).expect("a message");
        let _ = (central.on_message(&framed), unit.on_message(&framed));
        unit.on_rejected(teid);
        let _ = unit.status(at_ms(10), Progress::default());
    }
}
