//! The crate from outside.

mod allocations;
mod dissect;
mod hostile;
mod path_allocations;
