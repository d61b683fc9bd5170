//! The bytes of the mobile user plane: GTP-U, and what its extension headers carry on N3 and F1-U.
//!
//! ```text
//!   IP packet -> outer::Datagram (UDP 2152) -> Message -> Extensions -> session::Container  (0x85, N3)
//!                                                 |                \--> nru::Frame          (0x84, F1-U)
//!                                                 |--> payload: pdcp::number, inner::ends
//!                                                 '--> elements: Echo, Error Indication
//! ```
//!
//! | file | source |
//! | --- | --- |
//! | `message`, `element` | TS 29.281, GTP-U version 1: header, chain of extension headers, information elements |
//! | `session` | TS 38.415, PDU Session user plane: the PDU Session Container |
//! | `nru` | TS 38.425, NR user plane: the NR RAN Container |
//! | `pdcp` | TS 38.323 6.2.2: the sequence number of a data PDU |
//! | `outer`, `inner` | RFC 791, RFC 8200, RFC 768: headers around and inside |
//! | `pcap` | the capture files of libpcap |
//!
//! All integers are big-endian. Readers accept any bytes: what is malformed is an error, spare bits and what stands
//! behind the known fields are ignored, as the specifications require of receivers. What is written has no spare bit set and is
//! padded with zeros to the length that an extension header needs.
//!
//! What this crate is *not*: it keeps no state of tunnels and paths, decides nothing, and has no socket.
#![forbid(unsafe_code)]

pub mod element;
pub mod inner;
mod message;
pub mod nru;
pub mod outer;
pub mod pcap;
pub mod pdcp;
mod reader;
pub mod session;

pub use message::{
    Extension, Extensions, Header, MAX_CONTENT, Message, MessageKind, NR_RAN_CONTAINER,
    PDU_SESSION_CONTAINER, UDP_PORT_HEADER, WriteError, write,
};
pub use reader::ReadError;

/// The UDP port of GTP-U (TS 29.281 4.4.2).
pub const PORT: u16 = 2152;
