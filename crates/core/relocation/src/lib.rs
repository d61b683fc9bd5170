//! The transfer of split connections from one proxy to another.
//!
//! ```text
//!   source (has the connections)               target (is to have them)
//!        | -------------- Offer --------------> |
//!        | <------------- Accept -------------- |  or Refuse: nothing has changed
//!     freezes
//!        | ------- Flow, Flow, ..., End ------> |
//!        |                                   restores, silent
//!        | <------------- Ready --------------- |
//!        | -------------- Commit -------------> |
//!     silent                                 live
//!        | <------------- Done ---------------- |
//!     forgets
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`message`] | the messages and their layout |
//! | [`flow`] | the state of a connection: both legs, and what waits between them |
//! | [`sides`] | the state machines of both sides |
//!
//! Until the source has sent Commit the connections are its own, and whatever goes wrong they stay there. From then on
//! they are the target's; a source that gets no Done resets them, for it cannot know.
//!
//! What this crate is *not*: it has no socket, no clock and no keys, and freezes nothing.
#![forbid(unsafe_code)]

pub mod flow;
pub mod message;
#[cfg(test)]
mod model;
mod reader;
pub mod sides;

pub use flow::{Flow, Leg, Window};
pub use message::{MAX_FRAME, Malformed, Message, Outcome, VERSION};
pub use sides::{Source, SourceEvent, SourceStep, Target, TargetEvent, TargetStep};
