use super::*;
use crate::packet::{AddressId, ConnectionId};
use core::net::Ipv4Addr;

const A: Key = Key::from_random(0x0102_0304_0506_0708);
const B: Key = Key::from_random(0x1112_1314_1516_1718);
const RA: u32 = 0xA0A1_A2A3;
const RB: u32 = 0xB0B1_B2B3;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn shared() -> PreSharedKey {
    let bytes: Vec<u8> = (0..32).collect();
    PreSharedKey::new(&bytes).expect("long enough")
}

/// RFC 4231, test cases 1, 2, 3 and 6, their first 20 bytes.
#[test]
fn rfc_4231_hmac_sha256() {
    for (key, message, first) in [
        (
            vec![0x0B; 20],
            b"Hi There".to_vec(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200",
        ),
        (
            b"Jefe".to_vec(),
            b"what do ya want for nothing?".to_vec(),
            "5bdcc146bf60754e6a042426089575c75a003f08",
        ),
        (
            vec![0xAA; 20],
            vec![0xDD; 50],
            "773ea91e36800e46854db8ebd09181a72959098b",
        ),
        (
            vec![0xAA; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc621",
        ),
    ] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        assert_eq!(hex(&first_20(&hmac::sign(&key, &message)).0), first);
    }
}

/// Worked by another implementation of HMAC (Python's): seed 1, counts 0 and 1.
#[test]
fn secrets_are_hmacs_of_a_count() {
    let mut secrets = Secrets::new(1);
    let drawn = [secrets.next_u64(), secrets.next_u64()];
    assert_eq!(drawn, [0x46E9_BFD8_FE39_F715, 0x5AA4_D5CD_5734_C6DC]);
    assert_ne!(Secrets::new(2).next_u64(), drawn[0]);
}

/// RFC 9897 3.2.6, worked by another implementation of HMAC (Python's).
#[test]
fn joins_and_signals_of_both_ends() {
    let a = SessionKeys::new(A, B, None);
    let b = SessionKeys::new(B, A, None);
    let from_a = a.sign_join(RA, RB);
    let from_b = b.sign_join(RB, RA);
    assert_eq!(hex(&from_a.0), "d9ca817565d81a1767e2236171d5ab0eef9e09cf");
    assert_eq!(hex(&from_b.0), "552515388d5173b5c3a04450fe6645cce8dd8ddd");
    assert!(b.is_join(&from_a, RB, RA) && a.is_join(&from_b, RA, RB));
    // neither an end's own, nor with other nonces
    assert!(!a.is_join(&from_a, RA, RB) && !b.is_join(&from_a, RB + 1, RA));

    let add = |port| MpOption::AddAddress {
        id: AddressId(3),
        nonce: 0x5566_7788,
        address: Ipv4Addr::new(192, 0, 2, 1).into(),
        port,
    };
    let remove = MpOption::RemoveAddress {
        id: AddressId(3),
        nonce: 0x5566_7788,
    };
    for (option, expected) in [
        (add(Some(6511)), "9420def8928cc4fc5489757701e4797cca5cb4bb"),
        (add(None), "0d5a876da29b6f4a114f27fc872d42502ab8569d"),
        (remove, "b51fd68a49291b67a50f974ac0b34361c339703c"),
    ] {
        let hmac = a.sign(&option).expect("such options are signed");
        assert_eq!(hex(&hmac.0), expected);
        assert!(b.is_signed(&option, &hmac) && !a.is_signed(&option, &hmac));
        let mut wrong = hmac;
        wrong.0[19] ^= 1;
        assert!(!b.is_signed(&option, &wrong));
    }
    assert_eq!(a.sign(&MpOption::Close(A.data())), None);
}

#[test]
fn closing_takes_the_key_of_the_end_that_is_closed() {
    let a = SessionKeys::new(A, B, None);
    let b = SessionKeys::new(B, A, None);
    assert!(b.is_closing(&a.closing()) && a.is_closing(&b.closing()));
    assert!(!a.is_closing(&a.closing()));
    let part = KeyData {
        kind: KeyType::Plain.code(),
        data: a.closing().data[..7].to_vec(),
    };
    assert!(!b.is_closing(&part));
}

/// With both plain keys but without the pre-shared one an eavesdropper cannot join.
#[test]
fn a_pre_shared_key_changes_what_joins_take() {
    let shared = shared();
    let a = SessionKeys::new(A, B, Some(&shared));
    let b = SessionKeys::new(B, A, Some(&shared));
    let from_a = a.sign_join(RA, RB);
    assert_eq!(hex(&from_a.0), "accd1d3d93b65438f010bb530586985a6dccb76a");
    assert!(b.is_join(&from_a, RB, RA));
    let eavesdropper = SessionKeys::new(A, B, None);
    assert!(!b.is_join(&eavesdropper.sign_join(RA, RB), RB, RA));
}

#[test]
fn proofs_hold_for_their_step_and_offers_only() {
    use ProofStep::{Ack, Request, Response};
    let shared = shared();
    let client = Offer {
        connection: ConnectionId(0x1122_3344),
        key: A,
    };
    let server = Some(Offer {
        connection: ConnectionId(0x99AA_BBCC),
        key: B,
    });
    let cases = [
        (Request, None, "373d08087d7b648ecad3c2ba0a825795a0eb52c0"),
        (Response, server, "caf1cecf72f345c743bcf916a44aeb25ac68a6f2"),
        (Ack, server, "4c120eea32e0401dddc1138e436cc6a2c13c494a"),
    ];
    for (step, server, expected) in cases {
        let option = shared.prove(step, client, server);
        let DccpOption::Multipath(MpOption::Experimental(data)) = &option else {
            panic!("{option:?}");
        };
        assert_eq!(data[..3], [0x42, 0x46, step.code()]);
        assert_eq!(hex(&data[3..]), expected);
        let options = Options {
            list: vec![DccpOption::SlowReceiver, option],
            ..Options::default()
        };
        for (other, other_server, _) in cases {
            let proved = shared.is_proved(&options, other, client, other_server);
            assert_eq!(proved, other == step, "{step:?} as {other:?}");
        }
        let other_key = Offer { key: B, ..client };
        assert!(!shared.is_proved(&options, step, other_key, server));
        let stranger = PreSharedKey::new(&[7; 16]).expect("long enough");
        assert!(!stranger.is_proved(&options, step, client, server));
    }
    assert!(!shared.is_proved(&Options::default(), Request, client, None));
}

#[test]
fn names_of_keys_differ_and_prove_nothing() {
    let name = shared().name();
    let other = PreSharedKey::new(&[7; 16]).expect("long enough").name();
    assert_ne!(name, other);
    let options = Options {
        list: vec![DccpOption::SlowReceiver, name.option(), other.option()],
        ..Options::default()
    };
    assert_eq!(KeyName::among(&options), Some(name));
    assert!(!shared().is_packet_proved(&options, (1, 2), SeqNo::new(3)));
    let DccpOption::Multipath(MpOption::Experimental(data)) = name.option() else {
        panic!("{:?}", name.option());
    };
    assert_eq!(data[..3], [0x42, 0x46, 5]);
    for cut in 0..data.len() {
        let option = DccpOption::Multipath(MpOption::Experimental(data[..cut].to_vec()));
        let options = Options {
            list: vec![option],
            ..Options::default()
        };
        assert_eq!(KeyName::among(&options), None);
    }
}

#[test]
fn offers_go_through_options() {
    let offer = Offer {
        connection: ConnectionId(5),
        key: A,
    };
    let mut options = Options::default();
    assert_eq!(Offer::among(&options), None);
    options.list.push(offer.option());
    assert_eq!(Offer::among(&options), Some(offer));
    // a plain key after one of a type that is not used, and none at all
    let other = KeyData {
        kind: 2,
        data: vec![0; 64],
    };
    assert_eq!(Key::among(&[other.clone(), A.data()]), Some(A));
    assert_eq!(Key::among(&[other]), None);
    // of several keys the preferred one, of a Response the only one
    let public = Key::public([9; 32]);
    let both = Options {
        list: vec![DccpOption::Multipath(MpOption::Key {
            connection: ConnectionId(5),
            keys: vec![A.data(), public.data()],
        })],
        ..Options::default()
    };
    let types = [KeyType::Ecdhe, KeyType::Plain];
    let key = |offer: Option<Offer>| offer.map(|offer| offer.key);
    assert_eq!(key(Offer::preferred(&both, &types)), Some(public));
    assert_eq!(key(Offer::preferred(&both, &types[1..])), Some(A));
    assert_eq!(key(Offer::chosen(&both, &types)), None);
    assert_eq!(key(Offer::chosen(&options, &types)), Some(A));
    assert_eq!(key(Offer::chosen(&options, &types[..1])), None);
}

#[test]
fn keys_are_not_printed_and_short_keys_are_rejected() {
    let error = PreSharedKey::new(&[0; 15]).expect_err("too short");
    assert_eq!(
        error.to_string(),
        "a pre-shared key has at least 16 bytes, this one 15"
    );
    let shown = format!(
        "{:?}",
        (A, shared(), SessionKeys::new(A, B, None), A.data())
    );
    assert_eq!(
        shown,
        "(Key, PreSharedKey, SessionKeys, KeyData { kind: 0, bytes: 8 })"
    );
}
