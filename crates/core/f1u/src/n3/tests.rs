use super::*;
use gtpu::ReadError;
use proptest::prelude::*;

const ENDPOINTS: SessionEndpoints = SessionEndpoints {
    downlink: 7,
    uplink: 0x8000_0007,
};

fn ends() -> (CoreEnd, StationEnd) {
    (CoreEnd::new(ENDPOINTS), StationEnd::new(ENDPOINTS))
}

fn at(ms: u64) -> NtpTime {
    NtpTime::from_unix(Duration::from_secs(1_800_000_000) + Duration::from_millis(ms))
}

fn container_of(message: &[u8]) -> Container {
    let (message, _) = Message::read(message).expect("a message");
    let content = message.extension(PDU_SESSION_CONTAINER);
    Container::read(content.expect("there")).expect("a container")
}

/// RFC 5905 figure 4: 1 January 1970 is 2,208,988,800 s after 1900; half a second is the highest bit of the fraction.
#[test]
fn rfc_5905_figure_4() {
    assert_eq!(
        NtpTime::from_unix(Duration::ZERO),
        NtpTime(2_208_988_800 << 32)
    );
    let half = NtpTime::from_unix(Duration::from_millis(500));
    assert_eq!(half.0 & 0xffff_ffff, 1 << 31);
    assert_eq!(
        half.since(NtpTime::from_unix(Duration::ZERO)),
        Duration::from_millis(500)
    );
    assert_eq!(NtpTime(0).since(NtpTime(1)), Duration::ZERO);
    // era 1 begins in 2036
    assert_eq!(
        NtpTime(1 << 32).since(NtpTime(u64::MAX - (1 << 32) + 1)),
        Duration::from_secs(2)
    );
}

#[test]
fn packets_of_each_flow_are_numbered_and_gaps_are_seen() {
    let (mut core, mut station) = ends();
    let mut send = |qfi| core.downlink_data(at(0), qfi, b"packet").expect("short");
    let messages = [send(1), send(1), send(2), send(1), send(1), send(2)];
    let numbers = messages.each_ref().map(|it| match container_of(it) {
        Container::Downlink(it) => (it.qfi, it.sequence),
        other => panic!("{other:?}"),
    });
    let expected = [(1, 0), (1, 1), (2, 0), (1, 2), (1, 3), (2, 1)];
    assert_eq!(numbers, expected.map(|(qfi, number)| (qfi, Some(number))));
    let mut missing = |n: usize| {
        let came = station.on_message(at(0), &messages[n]).expect("its");
        assert_eq!(came.packet, b"packet");
        (came.qfi, came.missing)
    };
    // the second is passed by, comes late, and the last of flow 1 is as expected
    assert_eq!(
        [0, 3, 1, 4, 5].map(&mut missing),
        [(1, 0), (1, 1), (1, 0), (1, 0), (2, 0)]
    );
    let up: Vec<Vec<u8>> = (0..2)
        .filter_map(|_| station.uplink_data(at(1), 3, b"up"))
        .collect();
    for (message, number) in up.iter().zip(0..) {
        let Container::Uplink(container) = container_of(message) else {
            panic!("of the uplink");
        };
        assert_eq!((container.qfi, container.sequence), (3, Some(number)));
        assert_eq!(core.on_message(at(1), message).expect("its").packet, b"up");
    }
}

#[test]
fn numbers_wrap_at_24_bits() {
    let mut sequences = Sequences(BTreeMap::from([(5, SEQUENCES - 1)]));
    assert_eq!([sequences.next(5), sequences.next(5)], [SEQUENCES - 1, 0]);
    let mut expected = Sequences(BTreeMap::from([(5, SEQUENCES - 1)]));
    assert_eq!(expected.came(5, 1), 2);
    assert_eq!(expected.came(5, 2), 0);
}

/// TS 38.415 5.4.1: the core's time from a packet down to the one up, less the base station's between the two.
#[test]
fn the_round_trip_is_measured_each_second_whatever_the_clocks() {
    let (mut core, mut station) = ends();
    let mut round = |sent: u64, came: u64, left: u64, back: u64| {
        let down = core.downlink_data(at(sent), 1, b"x").expect("short");
        station.on_message(at(came), &down).expect("its");
        let up = station.uplink_data(at(left), 1, b"x").expect("short");
        let round_trip = core.on_message(at(back), &up).expect("its").round_trip;
        let ms = round_trip.map(|it| it.as_nanos() as f64 / 1e6);
        ms.map(|ms| (ms * 1_000.0).round() / 1_000.0)
    };
    // the base station's clock is an hour ahead
    assert_eq!(round(0, 3_600_003, 3_600_010, 15), Some(8.0));
    assert_eq!(round(900, 901, 902, 903), None);
    assert_eq!(round(1_000, 1_004, 1_005, 1_010), Some(9.0));
}

#[test]
fn a_switch_ends_the_tunnel_before_and_numbers_go_on() {
    let (mut core, mut station) = ends();
    core.downlink_data(at(0), 1, b"x").expect("short");
    station.uplink_data(at(0), 1, b"x").expect("short");
    let marker = core.switch(1).expect("short");
    assert_eq!(marker, [0x30, 0xfe, 0, 0, 0, 0, 0, 7]);
    // the vector of a tunnel 1
    let again = core.switch(9).expect("short");
    assert_eq!(again, [0x30, 0xfe, 0, 0, 0, 0, 0, 1]);
    let mut target = station.moved(9);
    assert_eq!((station.downlink(), target.downlink()), (7, 9));
    let next = core.downlink_data(at(1), 1, b"x").expect("short");
    let Container::Downlink(container) = container_of(&next) else {
        panic!("of the downlink");
    };
    assert_eq!(container.sequence, Some(1));
    // the target has not seen the first
    assert_eq!(target.on_message(at(1), &next).expect("its").missing, 0);
    let foreign = station.on_message(at(1), &next).expect_err("not its");
    assert!(matches!(foreign, EndError::Foreign { teid: 9 }));
    let up = target.uplink_data(at(1), 1, b"x").expect("short");
    let Container::Uplink(container) = container_of(&up) else {
        panic!("of the uplink");
    };
    assert_eq!(container.sequence, Some(1));
}

/// srsRAN's vectors of an Echo, and the reader of an Error Indication.
#[test]
fn paths_are_answered() {
    let request = [0x32, 1, 0, 4, 0, 0, 0, 0, 0xff, 0xff, 0, 0];
    let (read, _) = Message::read(&request).expect("a message");
    let answer = echo_response(&read).expect("an answer");
    assert_eq!(answer, [0x32, 2, 0, 6, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 14, 0]);
    let (read, _) = Message::read(&answer).expect("a message");
    assert_eq!(echo_response(&read), None);

    let local = IpAddr::from([10, 53, 1, 2]);
    let indication = error_indication(0x1267, local, 40_000).expect("short");
    let (read, rest) = Message::read(&indication).expect("a message");
    assert_eq!((read.kind, read.teid), (MessageKind::ErrorIndication, 0));
    assert!(rest.is_empty());
    let port = 40_000_u16.to_be_bytes();
    assert_eq!(read.extension(UDP_PORT_HEADER), Some(&port[..]));
    let elements: Result<Vec<_>, _> = read.elements().collect();
    let expected = [Element::TeidDataI(0x1267), Element::PeerAddress(local)];
    assert_eq!(elements.expect("read"), expected);
}

#[test]
fn a_container_of_the_other_direction_is_refused() {
    let (mut core, mut station) = ends();
    let same = SessionEndpoints {
        downlink: 7,
        uplink: 7,
    };
    let down = core.downlink_data(at(0), 1, b"x").expect("short");
    let up = station.uplink_data(at(0), 1, b"x").expect("short");
    assert!(matches!(
        CoreEnd::new(same).on_message(at(0), &down),
        Err(EndError::Empty)
    ));
    let mut other = StationEnd::new(SessionEndpoints {
        downlink: ENDPOINTS.uplink,
        uplink: 0,
    });
    assert!(matches!(other.on_message(at(0), &up), Err(EndError::Empty)));
    // without a container, and with one that is cut
    let plain = [0x30, 255, 0, 1, 0, 0, 0, 7, 0x45];
    assert!(matches!(
        station.on_message(at(0), &plain),
        Err(EndError::Empty)
    ));
    let cut = [0x34, 255, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0x08, 1, 0];
    assert!(matches!(
        station.on_message(at(0), &cut),
        Err(EndError::Unreadable(ReadError::Short { .. }))
    ));
}

proptest! {
    #[test]
    fn any_bytes_are_handled(bytes in prop::collection::vec(any::<u8>(), 0..80), is_ours: bool) {
        let mut bytes = bytes;
        if is_ours && bytes.len() > 12 {
            let length = (bytes.len() - 8) as u8;
            bytes[..8].copy_from_slice(&[0x34, 255, 0, length, 0, 0, 0, 7]);
            bytes[11] = PDU_SESSION_CONTAINER;
        }
        let (core, mut station) = ends();
        let _ = core.on_message(at(0), &bytes);
        if let Ok(came) = station.on_message(at(0), &bytes) {
            prop_assert!(came.packet.len() < bytes.len());
        }
        if let Ok((message, _)) = Message::read(&bytes) {
            let _ = echo_response(&message);
        }
    }
}
