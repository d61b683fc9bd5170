//! Packets inside the tunnel, from the device and from the other end: what is read of them and changed in them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [high, low, packet @ ..] = bytes else {
        return;
    };
    tunnel::check_inner(packet, usize::from(u16::from_be_bytes([*high, *low])));
});
