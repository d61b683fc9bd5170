//! Congestion control in the kernel's own TCP, in BPF (struct_ops).
//!
//! ```text
//!   user space                        kernel
//!   windows of the proxy --> map ---> follow -\
//!   radio reports ---------> map ---> meld ----+--> cwnd and pacing rate of each connection
//!   a client's TCP option ----------> cdbe ---/
//! ```
//!
//! | program | what it does |
//! | --- | --- |
//! | [`follow`] | follows a window that user space sets: the proxy's (crate `pep`) |
//! | [`wire`] | no congestion control: sets the window that segments show, where they leave an interface: the proxy's |
//! | [`meld`] | MELD round the kernel's Reno and Cubic |
//! | [`cdbe`] | CDBE: a client that reports its bandwidth, a server that paces by it |
//!
//! [`Loaded`] registers a program under a name of this process: names of congestion controls are global
//! to the machine. Needs Linux 6.1 with BTF, `CAP_BPF` and `CAP_NET_ADMIN`. [`Egress`] has a program run for what leaves an
//! interface.
//!
//! What is decided in them is the core's, to the bit: their models in C (`bpf/*_model.h`) are compared with crates
//! `cc`, `rapid` and `edge` event by event.
//!
//! What this crate is *not*: it opens no connection and reads no radio report.

pub mod cdbe;
mod claim;
mod egress;
pub mod follow;
#[cfg(test)]
mod in_kernel;
mod load;
pub mod meld;
#[expect(unsafe_code, reason = "the kernel's interfaces that no safe crate has")]
mod sys;
pub mod wire;

pub use claim::Claim;
pub use egress::{Egress, Place, is_without_tcx};
pub use load::{Loaded, Naming, error_of, is_registered};
pub use sys::link_type;
