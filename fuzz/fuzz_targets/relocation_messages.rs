//! Messages of a transfer of connections between two proxies: any bytes are read or refused, and what is read is written
//! as it came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use relocation::Message;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = Message::decode(bytes) {
        if let Message::Flow(flow) = &message {
            assert_eq!(flow.check(), Ok(()));
            assert!(flow.payload() <= bytes.len());
        }
        let written = message.encode();
        assert_eq!(Message::decode(&written[4..]), Ok(message));
    }
});
