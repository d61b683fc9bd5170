//! Feature negotiation between two ends, and against the examples of RFC 4340 6.5.

use super::*;
use Feature as F;
use Side::{Local, Remote};
use proptest::prelude::*;

/// One end: numbers its packets, and acknowledges the greatest number received.
struct End {
    features: Negotiation,
    seq: SeqNo,
    received: SeqNo,
}

impl End {
    fn new(role: Role) -> Self {
        Self {
            features: Negotiation::new(role),
            seq: SeqNo::new((1 << 48) - 2),
            received: SeqNo::new(0),
        }
    }

    /// The next packet of that kind (its acknowledgement number is put right).
    fn packet(&mut self, now: u64, kind: Kind) -> Packet {
        self.seq = self.seq.next();
        let ack = self.received;
        let kind = match kind {
            Kind::Response { service, .. } => Kind::Response { ack, service },
            Kind::Ack { .. } => Kind::Ack { ack },
            other => other,
        };
        let mut options = Options::default();
        self.features
            .attach(Instant::from_nanos(now), self.seq, kind, &mut options);
        Packet {
            source: 1,
            destination: 2,
            ccval: 0,
            seq: self.seq,
            kind,
            options,
        }
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), OptionFault> {
        self.received = packet.seq;
        self.features.on_packet(packet)
    }
}

const REQUEST: Kind = Kind::Request { service: 0 };

fn response() -> Kind {
    Kind::Response {
        ack: SeqNo::new(0),
        service: 0,
    }
}

fn ack() -> Kind {
    Kind::Ack { ack: SeqNo::new(0) }
}

fn feature_options(packet: &Packet) -> Vec<(u8, u8, Vec<u8>)> {
    let features = packet.options.list.iter().filter_map(|o| match o {
        DccpOption::Feature(f) => Some((f.kind.code(), f.feature.0, f.value.clone())),
        _ => None,
    });
    features.collect()
}

const CHANGE_L: u8 = 32;
const CONFIRM_L: u8 = 33;
const CHANGE_R: u8 = 34;
const CONFIRM_R: u8 = 35;

/// 6.5, the first example: the client requests the server's CCID with 2 3 1, the server prefers
/// 3 2 1 and has its way.
#[test]
fn section_6_5_ccid_by_server_priority() {
    let mut client = End::new(Role::Client);
    let mut server = End::new(Role::Server);
    client.features.prefer(Remote, F::CCID, &[2, 3, 1]);
    client.features.change(Remote, F::CCID, false);
    server.features.prefer(Local, F::CCID, &[3, 2, 1]);
    let request = client.packet(0, REQUEST);
    assert_eq!(feature_options(&request), [(CHANGE_R, 1, vec![2, 3, 1])]);
    server.receive(&request).expect("as it should be");
    assert_eq!(server.features.value(Local, F::CCID), 3);
    let response = server.packet(0, response());
    assert_eq!(
        feature_options(&response),
        [(CONFIRM_L, 1, vec![3, 3, 2, 1])]
    );
    assert_eq!(client.features.value(Remote, F::CCID), 2, "not before");
    client.receive(&response).expect("as it should be");
    assert_eq!(client.features.value(Remote, F::CCID), 3);
    assert!(client.features.is_settled() && server.features.is_settled());
}

/// 6.5, the second: a Sequence Window is stated by its owner.
#[test]
fn section_6_5_sequence_window_is_stated() {
    let mut client = End::new(Role::Client);
    let mut server = End::new(Role::Server);
    client.features.state(F::SEQUENCE_WINDOW, 1024);
    let request = client.packet(0, REQUEST);
    let window = vec![0, 0, 0, 0, 4, 0];
    assert_eq!(feature_options(&request), [(CHANGE_L, 3, window.clone())]);
    server.receive(&request).expect("as it should be");
    let response = server.packet(0, response());
    assert_eq!(feature_options(&response), [(CONFIRM_R, 3, window)]);
    client.receive(&response).expect("as it should be");
    assert_eq!(client.features.value(Local, F::SEQUENCE_WINDOW), 1024);
    assert_eq!(server.features.value(Remote, F::SEQUENCE_WINDOW), 1024);
    assert_eq!(server.features.value(Local, F::SEQUENCE_WINDOW), 100);
    // out of range: brought into it here, rejected from outside
    client.features.state(F::SEQUENCE_WINDOW, 0);
    assert_eq!(
        feature_options(&client.packet(0, ack())),
        [(CHANGE_L, 3, vec![0, 0, 0, 0, 0, 32])]
    );
}

/// RFC 9897 3.1: the first common version; without one an empty Confirm, and the value alone (which
/// is that of version 0 from the beginning) answers nothing.
#[test]
fn multipath_capable() {
    for (versions, agreed) in [(&[0x10, 0x00][..], true), (&[0x20], false)] {
        let mut client = End::new(Role::Client);
        let mut server = End::new(Role::Server);
        client
            .features
            .prefer(Remote, F::MULTIPATH_CAPABLE, versions);
        client.features.change(Remote, F::MULTIPATH_CAPABLE, false);
        server.features.prefer(Local, F::MULTIPATH_CAPABLE, &[0]);
        assert!(!client.features.is_agreed(Remote, F::MULTIPATH_CAPABLE));
        server.receive(&client.packet(0, REQUEST)).expect("fine");
        let response = server.packet(0, response());
        let confirm = if agreed { vec![0, 0] } else { vec![] };
        assert_eq!(feature_options(&response), [(CONFIRM_L, 10, confirm)]);
        client.receive(&response).expect("fine");
        for (features, side) in [(&client.features, Remote), (&server.features, Local)] {
            assert_eq!(features.is_agreed(side, F::MULTIPATH_CAPABLE), agreed);
        }
    }
    // a server that has not stated that it is capable is not
    let mut client = End::new(Role::Client);
    let mut server = End::new(Role::Server);
    client.features.prefer(Remote, F::MULTIPATH_CAPABLE, &[0]);
    client.features.change(Remote, F::MULTIPATH_CAPABLE, false);
    server.receive(&client.packet(0, REQUEST)).expect("fine");
    assert!(!server.features.is_agreed(Local, F::MULTIPATH_CAPABLE));
}

/// 6.3.1: without a common value the old one is confirmed; 6.6.9: unless it is Mandatory.
#[test]
fn section_6_3_1_nothing_in_common() {
    for mandatory in [false, true] {
        let mut client = End::new(Role::Client);
        let mut server = End::new(Role::Server);
        client.features.prefer(Remote, F::CCID, &[5]);
        client.features.change(Remote, F::CCID, mandatory);
        let request = client.packet(0, REQUEST);
        let received = server.receive(&request);
        if mandatory {
            assert_eq!(request.options.list[0], DccpOption::Mandatory);
            let fault = OptionFault {
                code: ResetCode::MANDATORY_ERROR,
                data: [CHANGE_R, 1, 5],
            };
            assert_eq!(received, Err(fault));
            continue;
        }
        received.expect("the value stays");
        let response = server.packet(0, response());
        assert_eq!(feature_options(&response), [(CONFIRM_L, 1, vec![2, 2])]);
        client.receive(&response).expect("the value stays");
        assert_eq!(client.features.value(Remote, F::CCID), 2);
        assert!(!client.features.is_agreed(Remote, F::CCID));
    }
}

/// 6.6.3: a Change goes out again with the handshake's packets, and by a timer that doubles.
#[test]
fn section_6_6_3_changes_are_sent_again() {
    let mut client = End::new(Role::Client);
    client.features.state(F::ACK_RATIO, 4);
    let change = [(CHANGE_L, 5, vec![0, 4])];
    let second = 1_000_000_000;
    assert_eq!(feature_options(&client.packet(0, REQUEST)), change);
    assert_eq!(
        feature_options(&client.packet(1, REQUEST)),
        change,
        "again immediately"
    );
    let mut at = client.features.next_deadline().expect("a timer").as_nanos();
    for timer in [4, 8, 16, 32, 64, 64] {
        assert_eq!(feature_options(&client.packet(at - 1, ack())), []);
        assert!(client.features.needs_packet(Instant::from_nanos(at)));
        assert_eq!(feature_options(&client.packet(at, ack())), change);
        let next = client.features.next_deadline().expect("a timer").as_nanos();
        assert_eq!(next - at, timer * second);
        at = next;
    }
    assert_eq!(
        feature_options(&client.packet(at, Kind::Data)),
        [],
        "never on data"
    );
}

/// 6.6.4: nothing older than the last feature option is read, and no Confirm of an earlier Change.
#[test]
fn section_6_6_4_reordering() {
    let mut client = End::new(Role::Client);
    let mut server = End::new(Role::Server);
    server.features.prefer(Local, F::CCID, &[2, 5]);
    client.features.prefer(Remote, F::CCID, &[5]);
    client.features.change(Remote, F::CCID, false);
    let first = client.packet(0, REQUEST);
    server.receive(&first).expect("fine");
    let late_confirm = server.packet(0, response());
    // preferences change while the Change is out: UNSTABLE until the next packet
    client.features.prefer(Remote, F::CCID, &[2]);
    client.receive(&late_confirm).expect("ignored");
    assert_eq!(client.features.value(Remote, F::CCID), 2);
    let second = client.packet(0, ack());
    assert_eq!(feature_options(&second), [(CHANGE_R, 1, vec![2])]);
    client.features.on_packet(&late_confirm).expect("ignored");
    assert!(
        !client.features.is_settled(),
        "it confirms the first Change"
    );
    server.receive(&second).expect("fine");
    let confirm = server.packet(0, ack());
    // an old Change after a newer one
    server.features.on_packet(&first).expect("ignored");
    assert_eq!(server.features.value(Local, F::CCID), 2);
    client.receive(&confirm).expect("fine");
    assert_eq!(client.features.value(Remote, F::CCID), 2);
    assert!(client.features.is_settled() && client.features.is_agreed(Remote, F::CCID));
}

/// 6.6.6: both send Changes concurrently; each Change answers the other's.
#[test]
fn section_6_6_6_simultaneous() {
    let mut client = End::new(Role::Client);
    let mut server = End::new(Role::Server);
    client.features.prefer(Remote, F::SEND_ACK_VECTOR, &[1]);
    server.features.prefer(Local, F::SEND_ACK_VECTOR, &[1, 0]);
    client.features.change(Remote, F::SEND_ACK_VECTOR, false);
    server.features.change(Local, F::SEND_ACK_VECTOR, false);
    let from_client = client.packet(0, ack());
    let from_server = server.packet(0, ack());
    assert_eq!(feature_options(&from_server), [(CHANGE_L, 6, vec![1, 0])]);
    server.receive(&from_client).expect("fine");
    client.receive(&from_server).expect("fine");
    assert!(client.features.is_settled() && server.features.is_settled());
    assert_eq!(
        feature_options(&client.packet(0, ack())),
        [(CONFIRM_R, 6, vec![1, 1])]
    );
    assert_eq!(server.features.value(Local, F::SEND_ACK_VECTOR), 1);
    assert_eq!(client.features.value(Remote, F::SEND_ACK_VECTOR), 1);
}

/// A server with a preference of its own answers a Change that comes first, and need not send one any more.
#[test]
fn a_preference_is_met_by_the_peers_change() {
    let mut server = End::new(Role::Server);
    server.features.prefer(Local, F::CCID, &[5, 2]);
    server.features.change(Local, F::CCID, false);
    let mut client = End::new(Role::Client);
    client.features.prefer(Remote, F::CCID, &[5]);
    client.features.change(Remote, F::CCID, false);
    server.receive(&client.packet(0, REQUEST)).expect("fine");
    let response = server.packet(0, response());
    assert_eq!(feature_options(&response), [(CONFIRM_L, 1, vec![5, 5, 2])]);
}

fn packet_with(kind: Kind, seq: u64, list: Vec<DccpOption>) -> Packet {
    Packet {
        source: 1,
        destination: 2,
        ccval: 0,
        seq: SeqNo::new(seq),
        kind,
        options: Options {
            list,
            ..Options::default()
        },
    }
}

fn feature(kind: FeatureOptionKind, feature: Feature, value: &[u8]) -> DccpOption {
    option(kind, feature, value.to_vec())
}

/// 6.6.7 and 6.6.8: unknown features and invalid values get empty Confirms, a bounded number of them.
#[test]
fn sections_6_6_7_and_6_6_8_unknown_and_invalid() {
    use FeatureOptionKind::{ChangeL, ChangeR};
    let mut server = End::new(Role::Server);
    let mut list = vec![
        feature(ChangeL, Feature(99), &[1]),
        feature(ChangeR, F::CHECK_DATA_CHECKSUM, &[1]),
        feature(ChangeL, F::SEQUENCE_WINDOW, &[0, 0, 0, 0, 0, 31]),
        feature(ChangeL, F::ACK_RATIO, &[0, 0]),
        feature(ChangeR, F::ACK_RATIO, &[0, 1]),
        feature(ChangeL, F::CCID, &[]),
    ];
    let packet = packet_with(REQUEST, 5, list.clone());
    server.receive(&packet).expect("nothing to reset for");
    let mut answers = feature_options(&server.packet(0, response()));
    answers.sort();
    let empty = |kind, feature: Feature| (kind, feature.0, vec![]);
    assert_eq!(
        answers,
        [
            empty(CONFIRM_L, F::ACK_RATIO),
            empty(CONFIRM_L, F::CHECK_DATA_CHECKSUM),
            empty(CONFIRM_R, F::CCID),
            empty(CONFIRM_R, F::SEQUENCE_WINDOW),
            empty(CONFIRM_R, F::ACK_RATIO),
            empty(CONFIRM_R, Feature(99)),
        ]
    );
    assert_eq!(server.features.value(Remote, F::SEQUENCE_WINDOW), 100);
    // each of them resets behind a Mandatory
    for (i, change) in list.drain(..).enumerate() {
        let mandatory = vec![DccpOption::Mandatory, change];
        let packet = packet_with(REQUEST, 10 + i as u64, mandatory);
        let fault = server.receive(&packet).expect_err("Mandatory");
        assert_eq!(fault.code, ResetCode::MANDATORY_ERROR);
    }
    let many = (50..200).map(|f| feature(ChangeL, Feature(f), &[1]));
    let packet = packet_with(REQUEST, 100, many.collect());
    server.receive(&packet).expect("fine");
    assert_eq!(
        feature_options(&server.packet(0, response())).len(),
        MAX_UNKNOWN
    );
    assert!(!server.features.needs_packet(Instant::ZERO));
}

/// 6.6.7 and 6.6.8: what a wrong Confirm does.
#[test]
fn section_6_6_8_wrong_confirms_reset() {
    use FeatureOptionKind::{ConfirmL, ConfirmR};
    let wrong: [(Feature, FeatureOptionKind, &[u8], bool); 7] = [
        (F::CCID, ConfirmL, &[3, 2], true),    // not in common
        (F::CCID, ConfirmL, &[2, 5, 2], true), // the server's first is 5
        (F::CCID, ConfirmL, &[], true),        // every DCCP has it
        (F::CCID, ConfirmL, &[5], false),      // without a list
        (F::SEQUENCE_WINDOW, ConfirmR, &[0, 0, 0, 0, 0, 99], true),
        (F::ACK_RATIO, ConfirmR, &[], false), // need not be implemented
        (Feature(99), ConfirmR, &[1], false), // never requested
    ];
    for (changed, kind, value, resets) in wrong {
        let mut client = Negotiation::new(Role::Client);
        client.prefer(Remote, F::CCID, &[5, 2]);
        client.change(Remote, F::CCID, false);
        client.state(F::SEQUENCE_WINDOW, 1000);
        client.state(F::ACK_RATIO, 3);
        let mut options = Options::default();
        client.attach(Instant::ZERO, SeqNo::new(7), REQUEST, &mut options);
        let ack = Kind::Ack { ack: SeqNo::new(7) };
        let confirm = packet_with(ack, 1, vec![feature(kind, changed, value)]);
        let code = client.on_packet(&confirm).err().map(|fault| fault.code);
        assert_eq!(code, resets.then_some(ResetCode::OPTION_ERROR), "{value:?}");
        // what was not confirmed stays as it was
        assert_eq!(client.value(Local, F::ACK_RATIO), 2);
    }
}

proptest! {
    /// Whatever is lost, both ends come to the same values once packets arrive again.
    #[test]
    fn ends_agree_whatever_is_lost(
        client_prefers in proptest::collection::vec(1..6u8, 1..4),
        server_prefers in proptest::collection::vec(1..6u8, 1..4),
        window in 32..1u64 << 20,
        lost in proptest::collection::vec(any::<bool>(), 0..20),
    ) {
        let mut client = End::new(Role::Client);
        let mut server = End::new(Role::Server);
        for (side, other) in [(Local, Remote), (Remote, Local)] {
            client.features.prefer(side, F::CCID, &client_prefers);
            server.features.prefer(other, F::CCID, &server_prefers);
        }
        client.features.change(Remote, F::CCID, false);
        server.features.change(Remote, F::CCID, false);
        client.features.state(F::SEQUENCE_WINDOW, window);
        let mut lost = lost.into_iter();
        for round in 0..30 {
            // the longest timer is over each time
            let now = round * 100_000_000_000;
            for to_server in [true, false] {
                let (from, to) = if to_server {
                    (&mut client, &mut server)
                } else {
                    (&mut server, &mut client)
                };
                let packet = from.packet(now, ack());
                if !lost.next().unwrap_or(false) {
                    to.receive(&packet).expect("both follow the protocol");
                }
            }
        }
        prop_assert!(client.features.is_settled() && server.features.is_settled());
        for (side, other) in [(Local, Remote), (Remote, Local)] {
            for feature in [F::CCID, F::SEQUENCE_WINDOW] {
                prop_assert_eq!(
                    client.features.value(side, feature),
                    server.features.value(other, feature)
                );
            }
        }
        prop_assert_eq!(server.features.value(Remote, F::SEQUENCE_WINDOW), window);
    }

    /// Any feature options of any packets are answered or rejected.
    #[test]
    fn any_options_are_answered_or_rejected(
        packets in proptest::collection::vec(
            (0..40u64, proptest::collection::vec((32..36u8, 0..12u8, proptest::collection::vec(any::<u8>(), 0..8), any::<bool>()), 0..5)),
            0..20,
        ),
    ) {
        let mut end = End::new(Role::Server);
        end.features.state(F::SEQUENCE_WINDOW, 1000);
        end.features.change(Local, F::CCID, true);
        for (seq, options) in packets {
            let mut list = Vec::new();
            for (kind, number, value, mandatory) in options {
                use FeatureOptionKind::{ChangeL, ChangeR, ConfirmL, ConfirmR};
                if mandatory {
                    list.push(DccpOption::Mandatory);
                }
                let kind = [ChangeL, ConfirmL, ChangeR, ConfirmR][usize::from(kind) - 32];
                list.push(feature(kind, Feature(number), &value));
            }
            let ack = Kind::Ack { ack: end.seq };
            let _ = end.receive(&packet_with(ack, seq, list));
            let window = end.features.value(Remote, F::SEQUENCE_WINDOW);
            prop_assert!(SEQUENCE_WINDOWS.contains(&window));
            prop_assert!(feature_options(&end.packet(0, ack)).len() <= 7 * 2 * 2 + MAX_UNKNOWN);
        }
    }
}

/// A sender asks for a number that it prefers, beside one that every peer knows.
#[test]
fn a_number_that_the_peer_does_not_have_gives_way_to_the_next() {
    for (peer, agreed) in [
        (&[249, 2, 5, 248][..], 249),
        (&[2, 5, 248], 248),
        (&[2, 5], 2),
    ] {
        let (mut client, mut server) = (End::new(Role::Client), End::new(Role::Server));
        server.features.prefer(Local, F::CCID, &[249, 248]);
        client.features.prefer(Remote, F::CCID, peer);
        server.features.change(Local, F::CCID, false);
        let request = client.packet(0, REQUEST);
        server.receive(&request).unwrap();
        let answer = server.packet(0, response());
        client.receive(&answer).unwrap();
        let ack = client.packet(0, ack());
        server.receive(&ack).unwrap();
        assert_eq!(server.features.value(Local, F::CCID), agreed);
        assert_eq!(client.features.value(Remote, F::CCID), agreed);
    }
}
