//! Every order of messages, deaths and losses: a connection stays where it is, moves, or ends with a reset; it never lives
//! twice, and never stays frozen.

use crate::sides::{Source, SourceEvent, SourceStep, Target, TargetEvent, TargetStep};
use std::collections::{BTreeSet, VecDeque};

/// A connection on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Here {
    /// There is none.
    Nothing,
    /// It carries data.
    Live,
    /// It does not, and its kernel resets it if its process ends.
    Frozen,
    /// It does not, and ends without a packet.
    Silent,
}

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mail {
    Offer,
    Accept,
    Ahead,
    Flow,
    End,
    Ready,
    Commit,
    Routed,
    Late,
    Over,
    Done,
    Abort,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    source: Option<Source>,
    target: Option<Target>,
    at_source: Here,
    at_target: Here,
    to_target: VecDeque<Mail>,
    to_source: VecDeque<Mail>,
    is_cut: bool,
    /// The source copies what the connection carries.
    is_copying: bool,
    /// The target has bytes that came ahead.
    has_ahead: bool,
    /// The peers have been sent a reset.
    was_reset: bool,
    /// What may still go wrong: more than one fault at a time is not survived by every connection.
    faults: u8,
}

impl World {
    fn new() -> Self {
        Self {
            source: Some(Source::default()),
            target: Some(Target::default()),
            at_source: Here::Live,
            at_target: Here::Nothing,
            to_target: VecDeque::from([Mail::Offer]),
            to_source: VecDeque::new(),
            is_cut: false,
            is_copying: false,
            has_ahead: false,
            was_reset: false,
            faults: 1,
        }
    }

    fn send(&mut self, is_to_target: bool, mail: Mail) {
        if !self.is_cut {
            let queue = if is_to_target {
                &mut self.to_target
            } else {
                &mut self.to_source
            };
            queue.push_back(mail);
        }
    }

    fn source_learns(&mut self, event: SourceEvent) {
        let Some(mut side) = self.source else { return };
        let step = side.on(event);
        self.source = Some(side);
        match step {
            SourceStep::Copy => {
                self.is_copying = true;
                self.send(true, Mail::Ahead);
                self.send(true, Mail::Ahead);
            }
            SourceStep::Freeze => {
                self.at_source = Here::Frozen;
                self.send(true, Mail::Flow);
                self.send(true, Mail::End);
                self.source_learns(SourceEvent::Sent);
            }
            SourceStep::Commit => {
                self.send(true, Mail::Commit);
                self.at_source = Here::Silent;
            }
            SourceStep::Flush => {
                self.send(true, Mail::Late);
                self.send(true, Mail::Over);
            }
            SourceStep::Forget => {
                self.at_source = Here::Nothing;
                self.is_copying = false;
            }
            SourceStep::Resume => {
                self.send(true, Mail::Abort);
                self.at_source = Here::Live;
                self.is_copying = false;
            }
            SourceStep::Reset => {
                self.at_source = Here::Nothing;
                self.is_copying = false;
                self.was_reset = true;
            }
            SourceStep::Wait | SourceStep::End => {}
        }
    }

    fn target_learns(&mut self, event: TargetEvent) {
        let Some(mut side) = self.target else { return };
        let step = side.on(event);
        self.target = Some(side);
        match step {
            TargetStep::Accept => self.send(false, Mail::Accept),
            TargetStep::Keep => self.has_ahead = true,
            TargetStep::Restore => {
                self.at_target = Here::Silent;
                self.has_ahead = false;
            }
            TargetStep::Report => self.send(false, Mail::Ready),
            TargetStep::Route => self.send(false, Mail::Routed),
            TargetStep::Append => assert_eq!(self.at_target, Here::Silent),
            TargetStep::Adopt => {
                self.at_target = Here::Live;
                self.send(false, Mail::Done);
            }
            TargetStep::Discard => {
                self.at_target = Here::Nothing;
                self.has_ahead = false;
            }
            TargetStep::End => {}
        }
    }

    fn die(here: &mut Here, was_reset: &mut bool) {
        *was_reset |= matches!(here, Here::Live | Here::Frozen);
        *here = Here::Nothing;
    }

    /// All that can happen next.
    fn next(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut on = |change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            all.push(world);
        };
        if !self.to_target.is_empty() {
            on(&|world| {
                let event = match world.to_target.pop_front() {
                    Some(Mail::Offer) => TargetEvent::Offered,
                    Some(Mail::Ahead) => TargetEvent::Ahead,
                    Some(Mail::Flow) => TargetEvent::Flow,
                    Some(Mail::End) => TargetEvent::All,
                    Some(Mail::Commit) => TargetEvent::Commit { has_more: true },
                    Some(Mail::Late) => TargetEvent::Late,
                    Some(Mail::Over) => TargetEvent::Over,
                    _ => TargetEvent::Lost,
                };
                world.target_learns(event);
            });
        }
        if !self.to_source.is_empty() {
            on(&|world| {
                let event = match world.to_source.pop_front() {
                    Some(Mail::Accept) => SourceEvent::Accepted,
                    Some(Mail::Ready) => SourceEvent::Ready,
                    Some(Mail::Routed) => SourceEvent::Routed,
                    Some(Mail::Done) => SourceEvent::Done,
                    _ => SourceEvent::Lost,
                };
                world.source_learns(event);
            });
        }
        // at any time: it does not wait for an answer
        if self.source == Some(Source::Copying) {
            on(&|world| world.source_learns(SourceEvent::Copied));
        }
        // the end of a conversation is seen behind all that was sent; a side that is through ends it
        if self.to_source.is_empty()
            && (self.is_cut || self.target.is_none_or(|side| side == Target::Ended))
        {
            on(&|world| world.source_learns(SourceEvent::Lost));
        }
        if self.to_target.is_empty()
            && (self.is_cut || self.source.is_none_or(|side| side == Source::Ended))
        {
            on(&|world| world.target_learns(TargetEvent::Lost));
        }
        if self.faults > 0 {
            let fault = |change: &dyn Fn(&mut Self)| {
                let mut world = self.clone();
                world.faults -= 1;
                change(&mut world);
                world
            };
            if self.source.is_some() {
                all.push(fault(&|world| {
                    world.source = None;
                    world.is_copying = false;
                    Self::die(&mut world.at_source, &mut world.was_reset);
                }));
                all.push(fault(&|world| world.source_learns(SourceEvent::Lost)));
            }
            if self.target.is_some() {
                all.push(fault(&|world| {
                    world.target = None;
                    world.has_ahead = false;
                    world.to_target.clear();
                    Self::die(&mut world.at_target, &mut world.was_reset);
                }));
                all.push(fault(&|world| world.target_learns(TargetEvent::Lost)));
            }
            all.push(fault(&|world| {
                world.is_cut = true;
                world.to_source.clear();
                world.to_target.clear();
            }));
        }
        all
    }

    fn check(&self) {
        assert!(
            self.at_source != Here::Live || self.at_target != Here::Live,
            "it lives twice: {self:?}"
        );
    }

    /// Nothing can happen any more.
    fn check_end(&self) {
        let lives = [self.at_source, self.at_target].contains(&Here::Live);
        assert!(lives || self.was_reset, "it hangs: {self:?}");
        assert!(
            !self.is_copying && !self.has_ahead,
            "memory is left: {self:?}"
        );
        let is_left = |here: Here| matches!(here, Here::Frozen | Here::Silent);
        assert!(
            !is_left(self.at_source) && !is_left(self.at_target),
            "it is left behind: {self:?}"
        );
    }
}

#[test]
fn a_connection_stays_moves_or_ends_with_a_reset_whatever_is_lost() {
    let (mut seen, mut open) = (BTreeSet::new(), vec![World::new()]);
    let (mut moved, mut stayed, mut reset) = (0, 0, 0);
    while let Some(world) = open.pop() {
        if !seen.insert(format!("{world:?}")) {
            continue;
        }
        world.check();
        let next: Vec<World> = world.next().into_iter().filter(|n| *n != world).collect();
        // what only a fault changes is at its end
        if next.iter().all(|n| n.faults < world.faults) {
            world.check_end();
            moved += u32::from(world.at_target == Here::Live);
            stayed += u32::from(world.at_source == Here::Live);
            reset += u32::from(world.was_reset);
        }
        open.extend(next);
    }
    assert!(seen.len() > 50 && moved > 0 && stayed > 0 && reset > 0);
}
