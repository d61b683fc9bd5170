//! Frames that wait in user space: those that a program in the kernel has handed to a device, until they go on.
//!
//! ```text
//!   Port: device --> bytes --> Headers: UE, flow, ECN, bytes on the wire
//!                                '--> Frame (a packet of crate `queue`, charged to a Memory) --> marked: CE --> Port: socket
//!   the holder ends --> finish: what waits goes on, before what comes (Holds)
//! ```
//!
//! What this crate is *not*: it attaches no program, has no thread, holds no queue, and decides nothing of what waits or is marked.
#![forbid(unsafe_code)]

mod ending;
mod frame;
mod port;

pub use ending::{Holds, finish};
pub use frame::{Charge, Frame, Headers, MAX_BYTES, Memory, pieces};
pub use port::Port;
