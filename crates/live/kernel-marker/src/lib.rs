//! Marking what is not split, in the kernel: the packet side of [`edge::marker`] as a program where packets leave
//! towards the UEs.
//!
//! ```text
//!   user space                          kernel
//!   edge::marker::Reporter
//!     -> Order -> [`Marker`] -- map --> program at the interface's egress (tcx, or clsact)
//!                                         packet: UE, flow, bytes, ECN -> forward, mark, drop
//!                    counts  <- map --'
//! ```
//!
//! What is decided is the core's, to the bit: the model in C (`bpf/marker_model.h`) is compared with
//! [`edge::marker::UeMarker`] packet by packet. `docs/algorithms/marking.md` has what else the program does.
//!
//! Needs Linux 6.6 (tcx), or 6.1 with clsact, `CAP_BPF`, `CAP_PERFMON` and `CAP_NET_ADMIN`.
//!
//! Packets of UEs that are held ([`Hold`]) it hands to a device instead, from which user space takes them into its queues.
//!
//! [`Diversion`] does that with every packet that leaves an interface: for a UE's queue above its modem.
//!
//! What this crate is *not*: it reads no radio report and makes no order; it holds no packet itself.
#![forbid(unsafe_code)]

mod attachment;
mod claim;
mod counts;
#[cfg(test)]
mod differential;
mod diversion;
mod error;
mod hold;
mod interface;
mod marker;
mod order;
mod settings;
#[cfg(test)]
mod tests;

pub use attachment::Way;
pub use counts::{Counts, Unjudged};
pub use diversion::{Diversion, Diverted};
pub use error::MarkerError;
pub use hold::{Hold, Holding};
pub use marker::Marker;
pub use order::on_clock_of_kernel;
pub use settings::{Inside, Settings};
