//! The framing of packets in TCP connections, against a reader that has all bytes, and the packets in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multipath::packet::decode;

fuzz_target!(|bytes: &[u8]| {
    let [piece, max_high, max_low, stream @ ..] = bytes else {
        return;
    };
    let max = usize::from(u16::from_be_bytes([*max_high, *max_low]));
    let (mut expected, mut is_refused) = (Vec::new(), false);
    let mut rest = stream;
    while let [a, b, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*a, *b]));
        is_refused = length > max;
        let Some((frame, next)) = after.split_at_checked(length).filter(|_| !is_refused) else {
            break;
        };
        expected.push(frame.to_vec());
        rest = next;
    }
    let (frames, refused) = tunnel::split_frames(stream, usize::from(*piece), max);
    for frame in &frames {
        let _ = decode(frame);
    }
    assert_eq!((frames, refused), (expected, is_refused));
});
