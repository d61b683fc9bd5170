//! Frames that wait in user space: those that a program in the kernel has handed to a device, until they go on.
//!
//! ```text
//!   device --> bytes --> Headers: UE, flow, ECN, bytes on the wire
//!                          '--> Frame (a packet of crate `queue`, charged to a Memory) --> marked: CE --> socket
//! ```
//!
//! What this crate is *not*: it reads no device and sends nothing, holds no queue, and decides nothing of what waits or is marked.
#![forbid(unsafe_code)]

mod frame;

pub use frame::{Charge, ETHERNET, Frame, Headers, Memory};
