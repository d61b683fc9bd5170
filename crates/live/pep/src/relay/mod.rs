//! The data path: connections are accepted, split, and spliced.
//!
//! ```text
//!   listener -> worker: epoll (edge-triggered) -> connection { down, up } -> pipe -> sockets
//! ```
//!
//! Each worker is a thread with its own connections. Payload enters user space only where it is little (`direction::COPY`).

mod carried;
mod closing;
mod command;
mod connection;
mod credit;
mod direction;
#[cfg(test)]
mod model;
mod moving;
mod notices;
mod pipe;
mod slab;
mod tap;
mod upstream;
mod worker;

pub(crate) use command::{Waker, WorkerCommand, WorkerHandle};
pub(crate) use credit::is_permitted as can_show_windows_at_once;
pub(crate) use moving::{Adopted, Copies, Frozen, Moving, Phase, State};
pub(crate) use notices::Channel;
pub(crate) use pipe::IDLE_PIPES;
pub(crate) use slab::Key;
pub(crate) use upstream::{Upstream, canonical, prepare_end, set_keepalive, set_receive_buffer};
pub(crate) use worker::Worker;
