use super::*;
use crate::ahead::{Part, Towards, Way};
use crate::flow::{Leg, Window};
use crate::pieces::Pieces;
use proptest::prelude::*;

fn flow(is_ipv6: bool, down: usize) -> Flow {
    let address = |n: u8, port| match is_ipv6 {
        false => SocketAddr::from(([10, 45, 0, n], port)),
        true => SocketAddr::from(([0xfd45, 0, 0, 0, 0, 0, 0, u16::from(n)], port)),
    };
    let (client, server) = (address(2, 40_000), address(9, 443));
    let leg = |local, remote, timestamp| Leg {
        local,
        remote,
        snd_una: u32::MAX - 3,
        rcv_nxt: 5,
        mss: 1_448,
        timestamp,
        has_sack: true,
        scales: Some((7, 8)),
        window: Window {
            snd_wl1: u32::MAX,
            snd_wnd: 65_535,
            max_window: 1 << 20,
            rcv_wnd: 4 << 20,
            rcv_wup: 1,
        },
        in_flight: vec![1, 2, 3],
    };
    Flow {
        client,
        server,
        ran: leg(server, client, Some(77)),
        wan: leg(address(2, 40_001), server, None),
        down: vec![9; down].into(),
        up: Pieces::default(),
    }
}

fn all() -> Vec<Message> {
    let of = flow(false, 100);
    vec![
        Message::Offer {
            version: VERSION,
            ue: of.client.ip(),
            flows: 3,
        },
        Message::Accept,
        Message::Refuse(Outcome::NoRoom),
        Message::End {
            stay: vec![(of.client, of.server)],
        },
        Message::Ahead(Box::new(Ahead {
            way: Way {
                client: of.client,
                server: of.server,
                towards: Towards::Server,
            },
            at: 1 << 40,
            acknowledged: 7,
            bytes: vec![1; 40],
        })),
        Message::Rest(Box::new(Rest {
            down: Part {
                begin: 0,
                copied: 1 << 33,
                in_flight: 9,
            },
            up: Part::default(),
            learnt: vec![4; 26],
            flow: of.clone(),
        })),
        Message::Flow(Box::new(of.clone())),
        Message::Flow(Box::new(flow(true, 0))),
        Message::Ready(Outcome::ALL.to_vec()),
        Message::Commit,
        Message::Routed,
        Message::Late(Box::new(Late {
            way: Way {
                client: of.client,
                server: of.server,
                towards: Towards::Ue,
            },
            number: u32::MAX,
            bytes: vec![8; 30],
        })),
        Message::Over,
        Message::Done,
        Message::Abort,
    ]
}

#[test]
fn what_is_written_is_read() {
    for message in all() {
        let bytes = message.encode();
        let length = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        assert_eq!(length as usize, bytes.len() - 4);
        assert_eq!(Message::decode(&bytes[4..]), Ok(message.clone()));
        for cut in 4..bytes.len() {
            assert!(Message::decode(&bytes[4..cut]).is_err(), "{message:?}");
        }
        let longer = [&bytes[4..], &[0]].concat();
        assert!(Message::decode(&longer).is_err());
    }
}

#[test]
fn an_offer_has_these_bytes() {
    let ue = IpAddr::from([10, 45, 0, 2]);
    let offer = |version| {
        let flows = 258;
        Message::Offer { version, ue, flows }
    };
    let bytes = offer(3).encode();
    assert_eq!(bytes, [0, 0, 0, 11, 1, 3, 4, 10, 45, 0, 2, 0, 0, 1, 2]);
    let mut other = bytes[4..].to_vec();
    for (version, expected) in [
        (0, Err(Malformed::Version)),
        (1, Ok(offer(1))),
        (2, Ok(offer(2))),
        (4, Err(Malformed::Version)),
    ] {
        other[1] = version;
        assert_eq!(Message::decode(&other), expected);
    }
    assert_eq!(Message::decode(&[77]), Err(Malformed::Type));
    let many = [6, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(Message::decode(&many), Err(Malformed::Value));
}

#[test]
fn what_cannot_be_is_refused() {
    let is_refused = |change: &dyn Fn(&mut Flow)| {
        let mut of = flow(false, 0);
        change(&mut of);
        of.check() == Err(Malformed::Value)
    };
    assert!(!is_refused(&|_| {}));
    assert!(is_refused(&|of| of.ran.scales = Some((15, 0))));
    assert!(is_refused(&|of| of.wan.mss = 87));
    assert!(is_refused(&|of| of.wan.window.max_window = 3));
    assert!(is_refused(&|of| of.ran.window.rcv_wup = 6));
    assert!(is_refused(&|of| of.ran.local.set_port(1)));
    // a proxy speaks for the addresses of the connection and for no others
    assert!(is_refused(&|of| of.wan.local.set_ip([1, 1, 1, 1].into())));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert_eq!(Message::decode(&message.encode()[4..]), Ok(message));
        }
    }

    #[test]
    fn a_changed_message_is_read_or_refused(at in 0usize..300, with in any::<u8>(), n in 0usize..15) {
        let mut bytes = all()[n].encode();
        let at = 4 + at % (bytes.len() - 4);
        bytes[at] = with;
        let _ = Message::decode(&bytes[4..]);
    }
}
