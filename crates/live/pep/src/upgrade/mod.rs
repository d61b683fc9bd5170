//! A successor takes over from the running instance, in two phases.
//!
//! ```text
//!   predecessor (serves)                    successor (prepares)
//!        | <------------- "upgrade" ------------- |
//!        | --- copies of listeners, locks ------> |  opens all that it needs
//!        | <-------------- "ready" -------------- |
//!        | ---------------- go -----------------> |  accepts, puts its rules in place
//!        | <------------- "serving" ------------- |
//!     drains                                   serves
//! ```
//!
//! The predecessor accepts until the successor serves: while both do, they share one queue, and no
//! connection is lost. Whatever goes wrong before, all is as it was. Both sides are state
//! machines without IO ([`Predecessor`], [`Successor`]); `wire` carries their messages.

mod wire;

pub use wire::check_upgrade;
pub(crate) use wire::{Copies, Inherited, hand_over, request_handover};

/// What the running instance's side learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    /// A successor is to begin.
    Upgrade,
    /// It has all that it needs.
    Ready,
    /// It accepts connections.
    Serving,
    /// Nothing has come for as long as it may take.
    Timeout,
    /// The connection has ended, or what came is none of these.
    Broken,
}

/// What the running instance is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Duty {
    /// Send copies of the descriptors.
    Offer,
    /// Have the successor serve.
    Go,
    /// Stop accepting: the successor serves.
    Leave,
    /// End the hand-over: all is as before.
    Resume,
    /// Go on waiting.
    Wait,
}

/// The running instance's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Predecessor {
    /// No hand-over is under way.
    #[default]
    Alone,
    /// The successor prepares.
    Offered,
    /// The successor may serve already.
    Going,
    /// The successor serves.
    Left,
}

impl Predecessor {
    /// The next step.
    pub(crate) fn on(&mut self, request: Request) -> Duty {
        let (next, duty) = match (*self, request) {
            (Self::Alone, Request::Upgrade) => (Self::Offered, Duty::Offer),
            (Self::Offered, Request::Ready) => (Self::Going, Duty::Go),
            (Self::Going, Request::Serving) => (Self::Left, Duty::Leave),
            // a successor that may serve already ends by the end of its connection only
            (Self::Going, Request::Timeout) => (Self::Going, Duty::Wait),
            (Self::Left, _) => (Self::Left, Duty::Wait),
            (_, _) => (Self::Alone, Duty::Resume),
        };
        *self = next;
        duty
    }

    /// A hand-over is under way, or is over.
    pub(crate) fn is_taken(self) -> bool {
        self != Self::Alone
    }

    /// The rules may be the successor's already.
    pub(crate) fn is_yielding(self) -> bool {
        matches!(self, Self::Going | Self::Left)
    }
}

/// What the successor's side learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum News {
    /// Descriptors have come.
    Offer,
    /// All that it needs is open.
    Prepared,
    /// It may serve.
    Go,
    /// Nothing has come for as long as it may take, something could not be opened, or the connection
    /// has ended.
    Failed,
}

/// What the successor is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// Open all that it needs.
    Prepare,
    /// Report that it is ready.
    Acknowledge,
    /// Accept, and report it.
    Serve,
    /// End; the predecessor goes on.
    End,
    /// Nothing any more.
    Continue,
}

/// The successor's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Successor {
    /// It has requested the descriptors.
    #[default]
    Requesting,
    /// It opens what it needs.
    Preparing,
    /// It has reported that it is ready.
    Ready,
    /// It is the proxy.
    Serving,
    /// It ends.
    Ended,
}

impl Successor {
    /// The next step.
    pub(crate) fn on(&mut self, news: News) -> Task {
        let (next, task) = match (*self, news) {
            (Self::Requesting, News::Offer) => (Self::Preparing, Task::Prepare),
            (Self::Preparing, News::Prepared) => (Self::Ready, Task::Acknowledge),
            (Self::Ready, News::Go) => (Self::Serving, Task::Serve),
            (Self::Serving, _) => (Self::Serving, Task::Continue),
            (_, _) => (Self::Ended, Task::End),
        };
        *self = next;
        task
    }
}

#[cfg(test)]
mod model;
