//! Messages of a transfer of connections between two proxies: any bytes are read or refused, what is read is written
//! as it came, what came ahead is put together or refused, within its bound, and of what came late no byte is taken twice.
#![no_main]

use libfuzzer_sys::fuzz_target;
use relocation::{Message, Streams};

/// What may be held of what came ahead, bytes.
const MAX_HELD: usize = 4_096;

fuzz_target!(|bytes: &[u8]| {
    let mut streams = Streams::default();
    // one message behind another, each behind its length in two bytes
    let mut rest = bytes;
    while let [a, b, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*a, *b])).min(after.len());
        let (one, more) = after.split_at(length);
        rest = more;
        let Ok(message) = Message::decode(one) else {
            continue;
        };
        if let Message::Flow(flow) = &message {
            assert_eq!(flow.check(), Ok(()));
            assert!(flow.payload() <= one.len());
        }
        let written = message.encode();
        assert_eq!(Message::decode(&written[4..]), Ok(message.clone()));
        match message {
            Message::Ahead(ahead) => {
                let _ = streams.take(*ahead, MAX_HELD, 8);
            }
            Message::Rest(left) => {
                if let Some(learnt) = edge::Learnt::decode(&left.learnt) {
                    assert_eq!(edge::Learnt::decode(&learnt.encode()), Some(learnt));
                }
                if let Ok(flow) = streams.complete(*left) {
                    assert!(flow.payload() <= MAX_HELD + bytes.len());
                }
            }
            Message::Late(late) => {
                let end = late.number.wrapping_add(late.bytes.len() as u32);
                assert_eq!(late.following(end), None);
                let next = late.number.wrapping_add(1);
                let left = late.following(next).map_or(0, <[u8]>::len);
                assert_eq!(left, late.bytes.len().saturating_sub(1));
            }
            Message::Flow(flow) => streams.forget(flow.client, flow.server),
            _ => {}
        }
        assert!(streams.held() <= MAX_HELD);
    }
});
