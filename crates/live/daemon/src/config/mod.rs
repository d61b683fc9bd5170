//! Configuration files: tables of TOML whose keys are taken one after the other, with line and column, what
//! is wrong and what is allowed in every message.
//!
//! What a key means is its daemon's business; here are texts, numbers, lists, choices, names of interfaces,
//! networks, and whether a file can be a secret.

mod choice;
mod file;
mod interface;
mod network;
mod secret;
mod section;

pub use file::{ConfigError, load, parse};
pub use interface::is_interface;
pub use network::Network;
pub use secret::check_secret;
pub use section::{Named, Section};
pub use toml_span::Span;
