//! The daemons' configuration files: tables of TOML whose keys are taken one after the other, with
//! line and column, what is wrong and what is allowed in every message.
//!
//! What a key means is its daemon's business; this crate reads texts, numbers, lists, choices and names
//! of interfaces. What all daemons' limits by source count as one source is here too, and whether a file
//! can be a secret.

#![forbid(unsafe_code)]

mod file;
mod interface;
mod secret;
mod section;
mod source;

pub use file::{ConfigError, load, parse};
pub use interface::is_interface;
pub use secret::check_secret;
pub use section::{Named, Section};
pub use source::{client_address, source_network};
pub use toml_span::Span;
