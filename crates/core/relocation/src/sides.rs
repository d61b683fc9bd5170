//! The state machines of both sides, without messages' contents.
//!
//! A frozen connection sends nothing and takes nothing, but its kernel still resets it if its process ends. A silent one
//! ends without a packet. Therefore:
//!
//! | what happens | until Commit is sent | afterwards |
//! | --- | --- | --- |
//! | the source dies | its kernel resets; the target discards | the target lives on |
//! | the target dies | the source goes on | no Done comes: the source resets |
//! | the messages are lost | the source goes on; the target discards | the source resets |

/// What the source's side learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceEvent {
    /// The target accepts.
    Accepted,
    /// Bytes were sent ahead, and more of that is of no use.
    Copied,
    /// All connections have been sent.
    Sent,
    /// The target has restored some.
    Ready,
    /// The target has them.
    Done,
    /// The target gives the transfer up, or nothing has come in time, or the conversation has ended, or what came is
    /// nothing that is due.
    Lost,
}

/// What the source is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceStep {
    /// Send bytes of the connections ahead, which run meanwhile.
    Copy,
    /// Freeze the connections, and send them.
    Freeze,
    /// Wait for what comes.
    Wait,
    /// Send Commit; then have what the target has end without a packet, and go on with what it has not.
    Commit,
    /// Forget what the target has.
    Forget,
    /// Go on with all connections, and have the target know that if it can be.
    Resume,
    /// Reset what the target may have.
    Reset,
    /// Nothing any more.
    End,
}

/// The side that has the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    /// The connections have been offered.
    #[default]
    Offering,
    /// They run, and bytes of them are being sent.
    Copying,
    /// They are frozen, and being sent.
    Sending,
    /// The target restores them.
    Waiting,
    /// They are the target's, which has not confirmed it.
    Committed,
    /// It is over.
    Ended,
}

impl Source {
    /// The next step.
    pub fn on(&mut self, event: SourceEvent) -> SourceStep {
        let (next, step) = match (*self, event) {
            (Self::Offering, SourceEvent::Accepted) => (Self::Copying, SourceStep::Copy),
            (Self::Copying, SourceEvent::Copied) => (Self::Sending, SourceStep::Freeze),
            (Self::Sending, SourceEvent::Sent) => (Self::Waiting, SourceStep::Wait),
            (Self::Waiting, SourceEvent::Ready) => (Self::Committed, SourceStep::Commit),
            (Self::Committed, SourceEvent::Done) => (Self::Ended, SourceStep::Forget),
            (Self::Committed, _) => (Self::Ended, SourceStep::Reset),
            (Self::Ended, _) => (Self::Ended, SourceStep::End),
            (_, _) => (Self::Ended, SourceStep::Resume),
        };
        *self = next;
        step
    }
}

/// What the target's side learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetEvent {
    /// Connections are offered that it has room for.
    Offered,
    /// Bytes of one have come ahead.
    Ahead,
    /// One has come.
    Flow,
    /// That was the last one.
    All,
    /// They are its own.
    Commit,
    /// The source gives the transfer up, or nothing has come in time, or the conversation has ended, or what came is
    /// nothing that is due.
    Lost,
}

/// What the target is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetStep {
    /// Accept.
    Accept,
    /// Keep what came ahead.
    Keep,
    /// Restore a connection that sends nothing and takes nothing.
    Restore,
    /// State what became of each.
    Report,
    /// Have the connections live, and state it.
    Adopt,
    /// Have them end without a packet.
    Discard,
    /// Nothing any more.
    End,
}

/// The side that is to have the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Target {
    /// Nothing has been offered.
    #[default]
    Idle,
    /// Connections come.
    Receiving,
    /// They are restored, and the source's.
    Restored,
    /// They are its own, or it is over.
    Ended,
}

impl Target {
    /// The next step.
    pub fn on(&mut self, event: TargetEvent) -> TargetStep {
        let (next, step) = match (*self, event) {
            (Self::Idle, TargetEvent::Offered) => (Self::Receiving, TargetStep::Accept),
            (Self::Receiving, TargetEvent::Ahead) => (Self::Receiving, TargetStep::Keep),
            (Self::Receiving, TargetEvent::Flow) => (Self::Receiving, TargetStep::Restore),
            (Self::Receiving, TargetEvent::All) => (Self::Restored, TargetStep::Report),
            (Self::Restored, TargetEvent::Commit) => (Self::Ended, TargetStep::Adopt),
            (Self::Ended, _) => (Self::Ended, TargetStep::End),
            (_, _) => (Self::Ended, TargetStep::Discard),
        };
        *self = next;
        step
    }
}
