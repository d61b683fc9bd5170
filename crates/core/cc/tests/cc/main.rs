//! The controllers through the public interface: single events, steady states over a small path, properties.

mod bbr_versions;
#[path = "../pipe/mod.rs"]
mod pipe;
mod properties;
mod reactions;
mod steady_state;
