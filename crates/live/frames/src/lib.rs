//! Frames that wait in user space: those that a program in the kernel has handed to a device, until they go on.
//!
//! ```text
//!   Port: device --> bytes --> Headers: UE, flow, ECN, bytes on the wire
//!                                '--> Frame (a packet of crate `queue`, charged to a Memory) --> marked: CE --> Port: socket
//! ```
//!
//! What this crate is *not*: it attaches no program, has no thread, holds no queue, and decides nothing of what waits or is marked.
#![forbid(unsafe_code)]

mod frame;
mod port;

pub use frame::{Charge, Frame, Headers, MAX_BYTES, Memory, pieces};
pub use port::Port;
