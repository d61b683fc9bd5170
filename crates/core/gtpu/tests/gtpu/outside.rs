//! What is malformed, cut, or around: outer headers, fragments, captures.

use crate::frames::{octets, ping};
use gtpu::nru::Frame;
use gtpu::outer::{Datagram, packet};
use gtpu::pcap::{Capture, write_header, write_packet};
use gtpu::pdcp::{SnLength, number, write_header as write_pdcp};
use gtpu::session::Container;
use gtpu::{Extension, Header, Message, ReadError, WriteError, inner, write};
use std::net::IpAddr;

fn error(digits: &str) -> String {
    let bytes = octets(digits);
    Message::read(&bytes).expect_err("refused").to_string()
}

#[test]
fn malformed_messages_are_refused_with_the_field() {
    assert_eq!(error("30ff"), "the header is cut off");
    assert_eq!(error("30ff0005deadbeefdeadbeef"), "the message is cut off");
    assert_eq!(error("50ff0000deadbeef"), "the version is 2");
    assert_eq!(error("20ff0000deadbeef"), "the protocol type (GTP') is 0");
    assert_eq!(
        error("32ff0002deadbeef0000"),
        "the optional fields is cut off"
    );
    // a chain that would never end, and one that is longer than the message
    assert_eq!(
        error("34ff0008000000010000008500000000"),
        "the length of an extension header is 0"
    );
    assert_eq!(
        error("34ff0008000000010000008502000000"),
        "an extension header is cut off"
    );
}

#[test]
fn malformed_frames_are_refused_with_the_field() {
    let nru = |digits: &str| Frame::read(&octets(digits)).expect_err("refused");
    let short = |field| ReadError::Short { field };
    assert_eq!(nru(""), short("an NR-U frame"));
    assert_eq!(
        nru("e00011223300").to_string(),
        "the type of an NR-U frame is 14"
    );
    assert_eq!(nru("1000112233"), short("the desired buffer size"));
    // one range, of which three octets are there
    assert_eq!(nru("11001122334401010203"), short("a lost range"));
    assert_eq!(nru("2400020101"), short("an assistance item"));
    assert_eq!(nru("04000000010200000a01"), short("a discard block"));
    let session = |digits: &str| Container::read(&octets(digits)).expect_err("refused");
    assert_eq!(
        session("2009").to_string(),
        "the type of a PDU session frame is 2"
    );
    assert_eq!(session("0809"), short("the sending time"));
    assert_eq!(session("10"), short("a PDU session frame"));
}

#[test]
fn what_has_no_form_is_not_written() {
    let mut out = Vec::new();
    let long = vec![0; gtpu::MAX_CONTENT + 1];
    let extension = |kind, content| Extension { kind, content };
    let refused = write(&Header::g_pdu(1, &[extension(0x85, &long)]), &[], &mut out);
    assert_eq!(refused, Err(WriteError::Extension { length: 1019 }));
    let refused = write(&Header::g_pdu(1, &[extension(0, &[])]), &[], &mut out);
    assert_eq!(refused, Err(WriteError::Untyped));
    let refused = write(&Header::g_pdu(1, &[]), &[0; 65_536], &mut out);
    assert_eq!(refused, Err(WriteError::Long { length: 65_536 }));
    assert_eq!(out, []);
    // the longest is one that can be read
    write(
        &Header::g_pdu(1, &[extension(0x85, &long[1..])]),
        &[7],
        &mut out,
    )
    .expect("written");
    let (message, _) = Message::read(&out).expect("readable");
    assert_eq!(
        (message.extension(0x85), message.payload),
        (Some(&long[1..]), &[7][..])
    );
}

#[test]
fn messages_that_the_kernel_has_not_cut_are_read_one_by_one() {
    let mut bytes = Vec::new();
    for teid in 1..=3 {
        write(&Header::g_pdu(teid, &[]), &ping(), &mut bytes).expect("written");
    }
    let (mut rest, mut teids) = (&bytes[..], Vec::new());
    while !rest.is_empty() {
        let (message, after) = Message::read(rest).expect("a message");
        teids.push(message.teid);
        rest = after;
    }
    assert_eq!(teids, [1, 2, 3]);
}

#[test]
fn a_first_fragment_states_how_long_the_message_is() {
    let (from, to): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let mut gtp = Vec::new();
    write(&Header::g_pdu(9, &[]), &[1; 2_000], &mut gtp).expect("written");
    let whole = packet(from, to, &gtp).expect("a packet");
    assert_eq!(inner::ends(&whole, whole.len()), Some((from, to)));
    // "more fragments", offset 0
    let mut first = whole[..1_500].to_vec();
    first[2..4].copy_from_slice(&1_500_u16.to_be_bytes());
    first[6] = 0x20;
    let datagram = Datagram::read(&first).expect("the first fragment");
    assert_eq!(
        (datagram.payload.len(), datagram.payload_length),
        (1_472, 2_008)
    );
    assert!(Message::read(datagram.payload).is_err());
    let (message, _) =
        Message::read_cut(datagram.payload, datagram.payload_length).expect("a message");
    assert_eq!(
        (message.payload.len(), message.payload_length),
        (1_464, 2_000)
    );
    let mut second = first.clone();
    second[7] = 185;
    assert_eq!(Datagram::read(&second), None, "it has no UDP header");
}

#[test]
fn ipv6_carries_it_too() {
    let (from, to): (IpAddr, IpAddr) = (
        [0xfd00, 0, 0, 0, 0, 0, 0, 1].into(),
        [0xfd00, 0, 0, 0, 0, 0, 0, 2].into(),
    );
    let whole = packet(from, to, &ping()).expect("a packet");
    let datagram = Datagram::read(&whole).expect("a datagram");
    assert_eq!((datagram.source, datagram.destination), (from, to));
    assert_eq!(
        (datagram.destination_port, datagram.payload),
        (2152, &ping()[..])
    );
    assert_eq!(inner::ends(&whole, whole.len()), Some((from, to)));
    assert_eq!(packet(from, [10, 0, 0, 1].into(), &ping()), None);
    // a fragment's header before UDP's
    let mut fragment = whole[..40].to_vec();
    fragment[6] = 44;
    fragment[4..6].copy_from_slice(&(8 + whole.len() as u16 - 40).to_be_bytes());
    fragment.extend_from_slice(&[17, 0, 0, 1, 0, 0, 0, 9]);
    fragment.extend_from_slice(&whole[40..]);
    assert_eq!(
        Datagram::read(&fragment).map(|of| of.payload),
        Some(&ping()[..])
    );
    fragment[43] = 9;
    assert_eq!(Datagram::read(&fragment), None);
}

#[test]
fn ciphered_bytes_are_no_packet() {
    let whole = packet([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), &ping()).expect("a packet");
    for at in 0..20 {
        let mut other = whole.clone();
        other[at] ^= 0x55;
        assert_eq!(inner::ends(&other, other.len()), None, "octet {at}");
    }
    assert_eq!(inner::ends(&whole, whole.len() + 1), None);
    assert_eq!(inner::ends(&[], 0), None);
}

#[test]
fn pdcp_numbers_are_of_data_pdus() {
    for (length, sn, octets) in [
        (SnLength::Bits12, 0xabc, &[0x8a, 0xbc][..]),
        (SnLength::Bits18, 0x2_abcd, &[0x82, 0xab, 0xcd][..]),
    ] {
        let mut header = Vec::new();
        write_pdcp(sn, length, &mut header);
        assert_eq!(header, octets);
        assert_eq!(number(&header, length), Some(sn));
        header[0] &= 0x7f;
        assert_eq!(number(&header, length), None, "a control PDU");
        assert_eq!(number(&octets[1..], length), None, "cut");
    }
    // COUNT 4090 and the number 3: it has wrapped; COUNT 3 and 4090: it is the first
    assert_eq!(SnLength::Bits12.nearest(3, 4_090), 4_099);
    assert_eq!(SnLength::Bits12.nearest(4_090, 4_099), 4_090);
    assert_eq!(SnLength::Bits12.nearest(4_090, 3), 4_090);
}

#[test]
fn captures_are_read_as_they_were_written() {
    let one = packet([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), &ping()).expect("a packet");
    let mut file = Vec::new();
    write_header(&mut file);
    write_packet(1_700_000_000_123_456_789, &one, &mut file);
    write_packet(1_700_000_001_000_000_000, &one[..30], &mut file);
    let mut capture = Capture::new(&file).expect("a capture");
    let first = capture.next_packet().expect("readable").expect("a packet");
    assert_eq!(
        (first.time_ns, first.packet),
        (1_700_000_000_123_456_789, &one[..])
    );
    let second = capture.next_packet().expect("readable").expect("a packet");
    assert_eq!(second.packet, &one[..30]);
    assert_eq!(capture.next_packet(), Ok(None));
    // cut in the middle of a packet
    let mut cut = Capture::new(&file[..file.len() - 1]).expect("a capture");
    assert!(cut.next_packet().expect("readable").is_some());
    assert!(cut.next_packet().is_err());
    assert!(Capture::new(&octets("0a0d0d0a00000000")).is_err(), "pcapng");
    assert!(Capture::new(&file[..20]).is_err());
}

#[test]
fn captures_of_other_link_layers_and_byte_orders_are_read() {
    let one = packet([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), &ping()).expect("a packet");
    let ethernet = [&[0; 12][..], &[0x81, 0, 0, 5, 8, 0], &one].concat();
    let arp = [&[0; 12][..], &[8, 6], &[0; 28]].concat();
    let cooked = [&[0; 14][..], &[8, 0], &one].concat();
    let cooked_2 = [&[8, 0][..], &[0; 18], &one].concat();
    for (link, frames) in [
        (1_u32, vec![arp, ethernet]),
        (113, vec![cooked]),
        (276, vec![cooked_2]),
    ] {
        let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
        file.extend_from_slice(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
        file.extend_from_slice(&link.to_le_bytes());
        for frame in &frames {
            for number in [7, 5, frame.len() as u32, frame.len() as u32] {
                file.extend_from_slice(&number.to_le_bytes());
            }
            file.extend_from_slice(frame);
        }
        let mut capture = Capture::new(&file).expect("a capture");
        let read = capture.next_packet().expect("readable").expect("a packet");
        assert_eq!(
            (read.time_ns, read.packet),
            (7_000_005_000, &one[..]),
            "{link}"
        );
        assert_eq!(capture.next_packet(), Ok(None));
    }
    let mut file = Vec::new();
    write_header(&mut file);
    file[23] = 127;
    let refused = Capture::new(&file).expect_err("refused").to_string();
    assert!(
        refused.contains("link layer") && refused.contains("127"),
        "{refused}"
    );
}
