//! What applications do, as plain state machines: when the next object or datagram is due, and when
//! a flow is complete. They move no bytes.

mod objects;
pub mod ssh;
mod udp;

pub use objects::{Begin, Objects};
pub use udp::Datagrams;
