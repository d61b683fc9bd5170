//! What is written is read as it was; no bytes are too strange.

use gtpu::nru::{
    Assistance, AssistanceItem, Cause, DeliveryStatus, DiscardBlock, Frame, ItemKind, MAX_NUMBER,
    Range, UserData,
};
use gtpu::outer::Datagram;
use gtpu::pcap::Capture;
use gtpu::session::{Container, Downlink, Times, Uplink};
use gtpu::{Extension, Header, Message, MessageKind, write};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

fn number() -> impl Strategy<Value = u32> {
    0..=MAX_NUMBER
}

fn user_data() -> impl Strategy<Value = Frame> {
    let block = (number(), any::<u8>()).prop_map(|(start, size)| DiscardBlock { start, size });
    let numbers = (number(), of(number()), of(number()));
    (numbers, vec(block, 0..20), any::<[bool; 5]>()).prop_map(
        |((sequence, discard_to, report_delivered), discard, flags)| {
            Frame::UserData(UserData {
                sequence,
                discard_to,
                discard,
                polls_status: flags[0],
                wants_out_of_sequence: flags[1],
                report_delivered,
                has_data: flags[2],
                polls_assistance: flags[3],
                is_retransmission: flags[4],
            })
        },
    )
}

fn status() -> impl Strategy<Value = Frame> {
    let ranges = || {
        vec(
            (number(), number()).prop_map(|(start, end)| Range { start, end }),
            0..20,
        )
    };
    let cause = (7..=255_u8).prop_map(Cause::Other);
    let numbers = (of(number()), of(number()), of(number()), of(number()));
    let rest = (any::<u32>(), of(any::<u32>()), of(cause), any::<bool>());
    (numbers, rest, ranges(), ranges()).prop_map(|(numbers, rest, lost, out_of_sequence)| {
        Frame::DeliveryStatus(DeliveryStatus {
            desired_buffer: rest.0,
            desired_rate: rest.1,
            lost,
            delivered: numbers.0,
            transmitted: numbers.1,
            cause: rest.2,
            delivered_again: numbers.2,
            transmitted_again: numbers.3,
            out_of_sequence,
            is_final: rest.3,
        })
    })
}

fn assistance() -> impl Strategy<Value = Frame> {
    let item = (7..=255_u8, vec(any::<u8>(), 0..8)).prop_map(|(kind, value)| AssistanceItem {
        kind: ItemKind::Other(kind),
        value,
    });
    let delays = (of(any::<u32>()), of(any::<u32>()));
    (of(any::<bool>()), vec(item, 0..8), delays).prop_map(|(duplication, items, delays)| {
        Frame::Assistance(Assistance {
            duplication,
            items,
            uplink_delay_ms: delays.0,
            downlink_delay_ms: delays.1,
        })
    })
}

fn container() -> impl Strategy<Value = Container> {
    let downlink = (
        (0..64_u8, any::<bool>(), of(0..8_u8)),
        (of(any::<u64>()), of(number()), of(any::<u32>())),
    )
        .prop_map(|((qfi, is_reflective, paging_policy), times)| {
            Container::Downlink(Downlink {
                qfi,
                is_reflective,
                paging_policy,
                sent_at: times.0,
                sequence: times.1,
                multicast_sequence: times.2,
            })
        });
    let times = any::<[u64; 3]>().prop_map(|times| Times {
        downlink_sent: times[0],
        downlink_received: times[1],
        uplink_sent: times[2],
    });
    let delays = (of(any::<u32>()), of(any::<u32>()), of(any::<u32>()));
    let new = (of(any::<u8>()), of(any::<u16>()), of(any::<u16>()));
    let rates = (of(any::<u32>()), of(any::<u32>()));
    let uplink = (0..64_u8, of(times), delays, of(number()), new, rates).prop_map(
        |(qfi, times, delays, sequence, new, rates)| {
            Container::Uplink(Uplink {
                qfi,
                times,
                downlink_delay_ms: delays.0,
                uplink_delay_ms: delays.1,
                sequence,
                n3_n9_delay_ms: delays.2,
                d1: new.0,
                uplink_congestion: new.1,
                downlink_congestion: new.2,
                uplink_rate: rates.0,
                downlink_rate: rates.1,
            })
        },
    );
    prop_oneof![downlink, uplink]
}

/// Reads bytes in every way.
fn read_all(bytes: &[u8]) {
    let _ = Frame::read(bytes);
    let _ = Container::read(bytes);
    let _ = Datagram::read(bytes);
    let _ = gtpu::inner::ends(bytes, bytes.len());
    if let Ok(mut capture) = Capture::new(bytes) {
        while let Ok(Some(_)) = capture.next_packet() {}
    }
    for whole in [bytes.len(), bytes.len() + 1_000] {
        let mut rest = bytes;
        while let Ok((message, after)) = Message::read_cut(rest, whole) {
            assert!(message.extensions.count() <= bytes.len() / 4);
            assert!(message.payload_length >= message.payload.len());
            message.elements().for_each(drop);
            if after.len() >= rest.len() {
                break;
            }
            rest = after;
        }
    }
}

proptest! {
    #[test]
    fn frames_round_trip(frame in prop_oneof![user_data(), status(), assistance()]) {
        let written = frame.write();
        prop_assert_eq!(Frame::read(&written), Ok(frame.clone()));
        // whatever stands behind it, padding among it, is ignored
        let padded = [&written[..], &[0, 0, 0]].concat();
        prop_assert_eq!(Frame::read(&padded), Ok(frame));
    }

    #[test]
    fn containers_round_trip(container in container()) {
        let written = container.write();
        prop_assert_eq!(Container::read(&written), Ok(container));
        for cut in 0..written.len() {
            let _ = Container::read(&written[..cut]);
        }
    }

    #[test]
    fn messages_round_trip(
        kind in any::<u8>(),
        teid in any::<u32>(),
        sequence in of(any::<u16>()),
        n_pdu in of(any::<u8>()),
        contents in vec((1..=255_u8, vec(any::<u8>(), 0..1_018)), 0..4),
        payload in vec(any::<u8>(), 0..200),
        after in vec(any::<u8>(), 0..20),
    ) {
        let extensions: Vec<Extension<'_>> = contents
            .iter()
            .map(|(kind, content)| Extension { kind: *kind, content })
            .collect();
        let kind = [MessageKind::GPdu, MessageKind::EndMarker, MessageKind::Other(200)][usize::from(kind % 3)];
        let header = Header { kind, teid, sequence, n_pdu, extensions: &extensions };
        let mut bytes = Vec::new();
        write(&header, &payload, &mut bytes).expect("it has a form");
        bytes.extend_from_slice(&after);
        let (message, rest) = Message::read(&bytes).expect("a message");
        prop_assert_eq!(
            (message.kind, message.teid, message.sequence, message.n_pdu),
            (kind, teid, sequence, n_pdu)
        );
        prop_assert_eq!((message.payload, rest), (&payload[..], &after[..]));
        let read: Vec<Extension<'_>> = message.extensions.collect();
        prop_assert_eq!(read.len(), extensions.len());
        for (read, sent) in read.iter().zip(&extensions) {
            prop_assert_eq!(read.kind, sent.kind);
            prop_assert!(read.content.starts_with(sent.content));
            prop_assert_eq!((read.content.len() + 2) % 4, 0);
        }
        for cut in 0..bytes.len() {
            read_all(&bytes[..cut]);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        read_all(&bytes);
        // behind a beginning that is right
        for digits in ["34ff0040000000010000008504", "3402", "a1b2c3d4"] {
            read_all(&[&crate::frames::octets(digits)[..], &bytes].concat());
        }
    }
}
