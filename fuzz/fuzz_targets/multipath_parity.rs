//! Parities of latency-sensitive packets: any bytes are an option that names a group or none, and a parity with any others
//! gives a packet or none; of packets that any bytes are cut into each is rebuilt from the others.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multipath::packet::{DccpOption, MpOption};
use multipath::parity::{Group, MAX_MEMBERS, missing, parity};

/// The option of a group, without the group.
const GROUP: [u8; 3] = [0x42, 0x46, 7];

fn option(data: Vec<u8>) -> DccpOption {
    DccpOption::Multipath(MpOption::Experimental(data))
}

fuzz_target!(|bytes: &[u8]| {
    for option in [option(bytes.to_vec()), option([&GROUP[..], bytes].concat())] {
        if let Some(group) = Group::read(&option) {
            assert!((2..=MAX_MEMBERS).contains(&group.numbers().count()));
            assert_eq!(group.option(), option);
        }
    }
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    // parts of any length
    let mut parts = Vec::new();
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first()
        && parts.len() < MAX_MEMBERS
    {
        let (part, after) = after.split_at(usize::from(*length).min(after.len()));
        parts.push(part);
        rest = after;
    }
    if let Some((sum, others)) = parts.split_first() {
        let found = missing(sum, others.iter().copied());
        assert!(found.is_none_or(|packet| packet.len() + 2 <= sum.len()));
        let lost = usize::from(*first) % parts.len();
        let others = parts.iter().enumerate().filter(|(n, _)| *n != lost);
        let rebuilt = missing(
            &parity(parts.iter().copied()),
            others.map(|(_, part)| *part),
        );
        assert_eq!(rebuilt.as_deref(), Some(parts[lost]));
    }
});
