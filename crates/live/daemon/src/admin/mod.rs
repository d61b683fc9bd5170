//! The admin socket of a daemon: a request is one JSON object on a line, and so is its answer. Only the owner of
//! the socket's file may connect.

mod client;
mod server;

pub use client::{ClientError, connect, request};
pub use server::{MAX_REQUEST_BYTES, THREAD, serve, write_json};

/// The permissions of the socket's file.
pub const MODE: u32 = 0o600;
