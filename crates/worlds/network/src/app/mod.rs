//! What applications do, as plain state machines: when the next object or datagram is due, and when
//! a flow is complete. They move no bytes.

mod call;
mod objects;
mod page;
pub mod ssh;
pub mod tls;
mod udp;
mod video;

pub use call::{CallEnds, call_ends};
pub use objects::{Begin, Objects};
pub use page::{ObjectId, Page, Request};
pub use udp::Datagrams;
pub use video::Video;
