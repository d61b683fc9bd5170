//! The cell from outside: analytic bounds and properties.

mod capacity;
mod config;
mod fairness;
mod grants;
mod groups;
mod handover;
mod harness;
mod harq;
mod latency;
mod layers;
mod properties;
mod recorded;
mod reports;
mod uplink;
