//! The state machines of both sides, without messages' contents.
//!
//! A frozen connection sends nothing, and what it takes it does not acknowledge, but its kernel still resets it if its
//! process ends. A silent one ends without a packet. Therefore:
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
    /// Packets to them come to the target.
    Routed,
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
    /// Send what has come since they were frozen, and Over.
    Flush,
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
    /// The same; all that has come here was sent.
    Flushed,
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
            (Self::Committed, SourceEvent::Routed) => (Self::Flushed, SourceStep::Flush),
            (Self::Flushed, SourceEvent::Done) => (Self::Ended, SourceStep::Forget),
            (Self::Committed | Self::Flushed, _) => (Self::Ended, SourceStep::Reset),
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
    /// They are its own. `has_more`: the source sends what has come to it meanwhile, once packets come here.
    Commit {
        /// It is of a version that does.
        has_more: bool,
    },
    /// Some of that has come.
    Late,
    /// That was all of it.
    Over,
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
    /// Have packets come here, and state it.
    Route,
    /// Append what came late to what the connection has received.
    Append,
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
    /// They are its own, and more may come of them.
    Owned,
    /// They live, or it is over.
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
            (Self::Restored, TargetEvent::Commit { has_more: true }) => {
                (Self::Owned, TargetStep::Route)
            }
            (Self::Restored, TargetEvent::Commit { has_more: false }) => {
                (Self::Ended, TargetStep::Adopt)
            }
            (Self::Owned, TargetEvent::Late) => (Self::Owned, TargetStep::Append),
            // whatever is lost now: they are its own
            (Self::Owned, _) => (Self::Ended, TargetStep::Adopt),
            (Self::Ended, _) => (Self::Ended, TargetStep::End),
            (_, _) => (Self::Ended, TargetStep::Discard),
        };
        *self = next;
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Such a source waits for Done alone.
    #[test]
    fn of_a_source_that_sends_nothing_late_connections_live_with_commit() {
        let steps = |last: &[TargetEvent]| {
            let mut target = Target::default();
            let first = [TargetEvent::Offered, TargetEvent::Flow, TargetEvent::All];
            let events = first.iter().chain(last);
            events.map(|event| target.on(*event)).last()
        };
        let commit = |has_more| TargetEvent::Commit { has_more };
        assert_eq!(steps(&[commit(false)]), Some(TargetStep::Adopt));
        assert_eq!(steps(&[commit(true)]), Some(TargetStep::Route));
        for last in [TargetEvent::Over, TargetEvent::Lost] {
            let events = [commit(true), TargetEvent::Late, last];
            assert_eq!(steps(&events[..2]), Some(TargetStep::Append));
            assert_eq!(steps(&events), Some(TargetStep::Adopt));
        }
        // before Commit nothing comes late
        assert_eq!(steps(&[TargetEvent::Late]), Some(TargetStep::Discard));
    }

    #[test]
    fn a_source_that_has_committed_resets_unless_all_is_confirmed() {
        let after = |events: &[SourceEvent]| {
            let mut source = Source::Committed;
            events.iter().map(|event| source.on(*event)).last()
        };
        let (routed, done) = (SourceEvent::Routed, SourceEvent::Done);
        assert_eq!(after(&[routed]), Some(SourceStep::Flush));
        assert_eq!(after(&[routed, done]), Some(SourceStep::Forget));
        for events in [&[done][..], &[SourceEvent::Lost], &[routed, routed]] {
            assert_eq!(after(events), Some(SourceStep::Reset), "{events:?}");
        }
    }
}
