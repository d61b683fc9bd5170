//! Messages of GTP-U and what their extension headers carry: any bytes are read or refused, and what is read is written
//! as what it was.
#![no_main]

use gtpu::nru::Frame;
use gtpu::session::Container;
use gtpu::{Extension, Header, Message, NR_RAN_CONTAINER, PDU_SESSION_CONTAINER, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok((message, after)) = Message::read_cut(rest, bytes.len() + 100) {
        assert!(message.payload_length >= message.payload.len());
        message.elements().for_each(drop);
        for extension in message.extensions {
            match extension.kind {
                NR_RAN_CONTAINER => {
                    if let Ok(frame) = Frame::read(extension.content) {
                        assert_eq!(Frame::read(&frame.write()), Ok(frame));
                    }
                }
                PDU_SESSION_CONTAINER => {
                    if let Ok(container) = Container::read(extension.content) {
                        assert_eq!(Container::read(&container.write()), Ok(container));
                    }
                }
                _ => {}
            }
        }
        if message.payload.len() == message.payload_length {
            let extensions: Vec<Extension<'_>> = message.extensions.collect();
            let header = Header {
                kind: message.kind,
                teid: message.teid,
                sequence: message.sequence,
                n_pdu: message.n_pdu,
                extensions: &extensions,
            };
            let mut written = Vec::new();
            write(&header, message.payload, &mut written).expect("it has a form");
            let (again, _) = Message::read(&written).expect("a message");
            assert_eq!(again.payload, message.payload);
            assert!(again.extensions.eq(message.extensions));
        }
        if after.len() >= rest.len() {
            break;
        }
        rest = after;
    }
});
