//! The crate from outside.

mod allocations;
mod answers;
mod dissect;
mod hostile;
mod path_allocations;
mod tshark;
