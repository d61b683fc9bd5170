//! What applications do, as plain state machines: when the next object or datagram is due, and when
//! a flow is complete. They move no bytes; [`crate::world`] does.

mod objects;
mod udp;

pub(crate) use objects::{Begin, Objects};
pub(crate) use udp::Datagrams;
