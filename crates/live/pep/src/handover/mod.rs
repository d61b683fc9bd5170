//! Connections of a UE move to another proxy, or come from one (`docs/algorithms/relocation.md`).
//!
//! ```text
//!   source::hand_over -- link --> door::serve, target::take_over
//!     | freeze, silence             | restore, begin
//!   workers                       workers
//! ```
//!
//! The protocol is [`relocation`]'s; here are its sockets, those of the connections and those between the proxies.

pub(crate) mod begin;
mod cells;
mod door;
pub(crate) mod freeze;
mod link;
pub(crate) mod repair;
mod route;
mod secure;
mod source;
mod stats;
mod stream;
mod target;

pub(crate) use cells::{Cells, follow};
pub(crate) use door::{keys, open, serve};
pub use secure::admits;
pub(crate) use source::hand_over;
pub(crate) use stats::{HandoverStatus, Stats};
