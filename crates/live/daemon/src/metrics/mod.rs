//! The HTTP server of a daemon's `/metrics`, `/status` and `/healthz`, among hostile clients.
//!
//! ```text
//!   listener --accept--> places (64) --> head (2 s, 8 kB) --> dashboard? --> ConnectionTaker
//!                          |                 |
//!                          |                 +--> /healthz: answered at once
//!                          |                 '--> a page: on a thread of its own --> answer (10 s in all)
//!                          '-- full: the oldest connection of the source with the most is closed
//! ```
//!
//! One request a connection. A page that panics is a 500; a page that hangs keeps neither other pages nor
//! `/healthz` from answering.
//!
//! This is no general HTTP server (GET of a few fixed paths, no bodies, no keep-alive), and it measures nothing: a
//! [`Page`] is written by the daemon.

mod head;
mod page;
mod server;
mod site;

pub use head::status_of;
pub use page::{Labels, Page, label_text};
pub use server::{Server, THREAD};
pub use site::{ConnectionTaker, PLAIN_TEXT, PROMETHEUS, Site};
