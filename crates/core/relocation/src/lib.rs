//! The transfer of split connections from one proxy to another.
//!
//! ```text
//!   source (has the connections)               target (is to have them)
//!        | -------------- Offer --------------> |
//!        | <------------- Accept -------------- |  or Refuse: nothing has changed
//!     copies
//!        | --------- Ahead, Ahead, ... -------> |  while they run
//!     freezes
//!        | -- Rest or Flow for each, then End > |
//!        |                                   restores, silent
//!        | <------------- Ready --------------- |
//!        | -------------- Commit -------------> |
//!     silent                                 its own: has packets come here
//!        | <------------ Routed --------------- |
//!        | ----- Late, Late, ..., Over -------> |  what came to the source meanwhile
//!        |                                   live
//!        | <------------- Done ---------------- |
//!     forgets
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`message`] | the messages and their layout |
//! | [`flow`] | the state of a connection: both legs, and what waits between them |
//! | [`ahead`] | bytes that are sent while it runs, and what is left then |
//! | [`late`] | bytes that come to the source although it is frozen |
//! | [`pieces`] | bytes that are not moved as more are appended |
//! | [`sides`] | the state machines of both sides |
//!
//! Until the source has sent Commit the connections are its own, and whatever goes wrong they stay there. From then on
//! they are the target's; a source that gets no Done resets them. A target that gets no Over has them live
//! without what came late: their ends have no acknowledgement of that, and send it again.
//!
//! What this crate is *not*: it has no socket, no clock and no keys, and freezes nothing.
#![forbid(unsafe_code)]

pub mod ahead;
pub mod flow;
pub mod late;
pub mod message;
#[cfg(test)]
mod model;
pub mod outcome;
pub mod pieces;
mod reader;
pub mod sides;

pub use ahead::{Ahead, Part, Rest, Streams, Towards, Way};
pub use flow::{Flow, Leg, Window};
pub use late::Late;
pub use message::{MAX_FRAME, Malformed, Message, OLDEST, SENDS_LATE, VERSION};
pub use outcome::Outcome;
pub use pieces::Pieces;
pub use sides::{Source, SourceEvent, SourceStep, Target, TargetEvent, TargetStep};
