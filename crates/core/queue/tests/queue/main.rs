//! Queues from outside: what holds for all of them.

mod allocations;
mod ecn;
mod fairness;
mod harness;
mod properties;
