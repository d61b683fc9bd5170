//! A connection that moves: copied while it runs, frozen, read, and let go on.

use super::{Connection, Side};
use crate::flow::Flow;
use crate::handover::{freeze, repair};
use crate::relay::carried::Carried;
use crate::relay::direction::Socket;
use crate::relay::moving::{Copies, Phase, State};
use crate::relay::tap::{Store, Tap};
use crate::sys;
use relocation::{Ahead, Late, Outcome, Part, Pieces, Rest, Towards, Way};
use rustix::net::sockopt;
use std::sync::Arc;
use units::Instant;

/// What a side of a frozen connection had received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// The sequence number that it expected next.
    next: u32,
    /// Before that, and not read, bytes.
    unread: usize,
}

/// Room in a message beside payload, bytes.
const BESIDE: usize = 4_096;

impl Connection {
    /// A connection that another proxy had.
    pub(in crate::relay) fn adopted(flow: Arc<Flow>, carried: Carried, now: Instant) -> Self {
        let mut connection = Self::new(flow, now);
        connection.begin_adopted(carried);
        connection
    }

    /// Whether another proxy could go on with it.
    ///
    /// # Errors
    /// Why not.
    fn movable(&self) -> Result<(), Outcome> {
        let directions = [&self.down, &self.up];
        let has_ended = directions.iter().any(|direction| direction.has_ended());
        if !self.is_established || self.is_closing() || has_ended {
            return Err(Outcome::HalfClosed);
        }
        let is_urgent = self.ran.is_urgent || self.wan.is_urgent;
        if is_urgent || directions.iter().any(|direction| direction.is_urgent()) {
            return Err(Outcome::Urgent);
        }
        if self.is_frozen() {
            return Err(Outcome::Busy);
        }
        Ok(())
    }

    /// What waits in the pipes towards the UE and towards the server; it stays there.
    fn piped(&self) -> [rustix::io::Result<Vec<u8>>; 2] {
        [&self.down, &self.up].map(|direction| match direction.pipe() {
            Some(store) => store.copy(),
            None => Ok(Vec::new()),
        })
    }

    /// It begins with what another proxy had.
    fn begin_adopted(&mut self, carried: Carried) {
        self.is_established = true;
        self.carried = carried;
        // its SYN did not come this way: nothing is known of whether events were missed
        self.go_on(self.active_at);
    }

    /// It goes on after a time without turns.
    pub(in crate::relay) fn go_on(&mut self, now: Instant) {
        self.active_at = now;
        for ready in [&mut self.ran, &mut self.wan] {
            ready.can_read = true;
            ready.can_write = true;
        }
    }

    /// It is to move: what it carries waits in memory from now on, of which `most` bytes in each direction may not be
    /// copied. One that could not move is left as it is.
    pub(in crate::relay) fn begin_copying(&mut self, most: usize) {
        if self.movable().is_ok()
            && let Err(error) = self.tap(most)
        {
            tracing::debug!(flow = self.flow.id, %error, "a connection is not copied ahead");
        }
    }

    /// Copies what it carries and was not copied yet, in both directions, if that was begun; it goes on.
    pub(in crate::relay) fn copy_ahead(&mut self, phase: Phase, copies: &mut Copies) {
        if self.taps().is_none() {
            return;
        }
        if self.movable().is_err() {
            self.stop_copying();
            return;
        }
        let flow = Arc::clone(&self.flow);
        let directions = [
            (
                &mut self.down,
                Towards::Ue,
                &flow.wan,
                &flow.ran,
                &mut self.ran,
            ),
            (
                &mut self.up,
                Towards::Server,
                &flow.ran,
                &flow.wan,
                &mut self.wan,
            ),
        ];
        for (direction, towards, from, to, ready) in directions {
            let Some(Store::Tap(tap)) = direction.pipe_mut() else {
                continue;
            };
            if tap.is_settling() {
                match repair::sent(to) {
                    Ok(Some(sent)) => tap.begin(sent),
                    Ok(None) if matches!(phase, Phase::First | Phase::Running) => {}
                    // what it has is sent along when it is frozen
                    Ok(None) | Err(_) => tap.begin(Vec::new()),
                }
                ready.can_write |= !tap.is_settling();
            }
            if phase == Phase::Holding {
                tap.hold();
            }
            let at = tap.copied().unwrap_or(0);
            let mut bytes = Vec::new();
            // one that does not know its numbers states that it is there
            if !tap.is_settling() {
                bytes = tap.from(at);
                let known = at.saturating_sub(tap.read()) as usize;
                let news = from.unread().saturating_sub(known);
                // what cannot be read now is for the next time
                bytes.extend(repair::unread(from, known, news).unwrap_or_default());
            }
            tap.on_copied(at + bytes.len() as u64);
            let queued = to.unacknowledged() as u64;
            copies.bytes += bytes.len();
            copies.before += queued.saturating_sub(tap.written()) as usize;
            copies.ahead.push(Ahead {
                way: Way {
                    client: flow.client,
                    server: flow.server,
                    towards,
                },
                at,
                acknowledged: tap.written().saturating_sub(queued),
                bytes,
            });
        }
    }

    /// What it carries waits in memory from now on, as what was copied and what was not.
    fn tap(&mut self, most: usize) -> rustix::io::Result<()> {
        let [down, up] = self.piped();
        let (down, up) = (down?, up?);
        for (direction, side, piped) in [
            (&mut self.down, Side::Ran, down),
            (&mut self.up, Side::Wan, up),
        ] {
            let mut waits = self.carried.take(side);
            waits.push(piped);
            // as many bytes wait as before, which are accounted for
            *direction.pipe_mut() = Some(Store::Tap(Box::new(Tap::new(waits, most))));
        }
        Ok(())
    }

    /// It stays: nothing is kept for copies any more.
    pub(in crate::relay) fn stop_copying(&mut self) {
        for direction in [&mut self.down, &mut self.up] {
            if let Some(Store::Tap(tap)) = direction.pipe_mut() {
                tap.stop();
                // it may have done nothing although there was something, and room
                for ready in [&mut self.ran, &mut self.wan] {
                    (ready.can_read, ready.can_write) = (true, true);
                }
            }
        }
    }

    /// What it carries towards the UE and towards the server, if it is being copied.
    fn taps(&self) -> Option<[&Tap; 2]> {
        match (self.down.pipe(), self.up.pipe()) {
            (Some(Store::Tap(down)), Some(Store::Tap(up)))
                if down.copied().is_some() && up.copied().is_some() =>
            {
                Some([down, up])
            }
            _ => None,
        }
    }

    /// Freezes it, and reads its state: all payload that moves with it, bytes, and what was not copied.
    ///
    /// # Errors
    /// It stays, and is as it was.
    pub(in crate::relay) fn freeze(&mut self, mark: u32) -> Result<(usize, State), Outcome> {
        self.movable()?;
        let flow = Arc::clone(&self.flow);
        let refused = [&flow.ran, &flow.wan].into_iter().find_map(repair::refusal);
        if let Some(refused) = refused {
            return Err(refused);
        }
        freeze::freeze(&flow.ran).map_err(|_| Outcome::Unreadable)?;
        let state = freeze::freeze(&flow.wan)
            .map_err(|_| Outcome::Unreadable)
            .and_then(|()| self.state());
        match state {
            Ok((payload, state, received)) => {
                self.frozen = Some(Box::new(received));
                Ok((payload, state))
            }
            Err(refused) => {
                freeze::thaw(&flow.ran, 0);
                freeze::thaw(&flow.wan, mark);
                Err(refused)
            }
        }
    }

    /// Of a frozen connection: payload that moves with it, what was not copied, and what each side has received.
    fn state(&self) -> Result<(usize, State, [Received; 2]), Outcome> {
        let flow = &self.flow;
        let unreadable = |error: std::io::Error| {
            tracing::debug!(flow = flow.id, %error, "a connection cannot be read");
            Outcome::Unreadable
        };
        let known = self.taps().map_or_else(Default::default, |[down, up]| {
            let known = |sent: &Tap, received: &Tap| {
                let copied = received.copied().unwrap_or(0);
                repair::Known {
                    handed_on: Some(sent.written()),
                    unread: copied.saturating_sub(received.read()) as usize,
                }
            };
            [known(down, up), known(up, down)]
        });
        let ran = repair::save(&flow.ran, known[0]).map_err(unreadable)?;
        let wan = repair::save(&flow.wan, known[1]).map_err(unreadable)?;
        let payload = ran.queued + wan.queued + ran.inq + wan.inq;
        let received = [&ran, &wan].map(|saved| Received {
            next: saved.leg.rcv_nxt,
            unread: saved.inq,
        });
        let mut rest = Rest {
            flow: relocation::Flow {
                client: flow.client,
                server: flow.server,
                ran: ran.leg,
                wan: wan.leg,
                down: Pieces::default(),
                up: Pieces::default(),
            },
            down: Part::default(),
            up: Part::default(),
            learnt: flow.learnt().encode().to_vec(),
        };
        let (payload, state) = if let Some([down, up]) = self.taps() {
            (rest.down, rest.flow.down) = part(down, (ran.queued, ran.unsent), wan.unread);
            (rest.up, rest.flow.up) = part(up, (wan.queued, wan.unsent), ran.unread);
            let waits = [down, up].map(|tap| (tap.read() - tap.written()) as usize);
            (payload + waits[0] + waits[1], State::Rest(Box::new(rest)))
        } else {
            let [piped_down, piped_up] = self
                .piped()
                .map(|piped| piped.map_err(|error| unreadable(error.into())));
            let join = |leg: &mut relocation::Leg, unsent: usize, side, piped, unread| {
                let sent = leg.in_flight.len() - unsent;
                let mut all = Pieces::from(leg.in_flight.split_off(sent));
                all.append(self.carried.left(side).cloned().unwrap_or_default());
                all.push(piped);
                all.push(unread);
                all
            };
            let of = &mut rest.flow;
            of.down = join(&mut of.ran, ran.unsent, Side::Ran, piped_down?, wan.unread);
            of.up = join(&mut of.wan, wan.unsent, Side::Wan, piped_up?, ran.unread);
            (of.payload(), State::Whole(Box::new(rest.flow)))
        };
        let of = match &state {
            State::Whole(flow) => flow,
            State::Rest(rest) => &rest.flow,
        };
        // what the other proxy would refuse is better refused here
        if of.payload() > relocation::MAX_FRAME - BESIDE {
            return Err(Outcome::TooLarge);
        }
        of.check().map_err(|_| Outcome::Unreadable)?;
        Ok((payload, state, received))
    }

    pub(in crate::relay) fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    pub(in crate::relay) fn thaw(&mut self, mark: u32, now: Instant) {
        if self.frozen.take().is_some() {
            self.speak();
            freeze::thaw(&self.flow.ran, 0);
            freeze::thaw(&self.flow.wan, mark);
            // what came meanwhile was not acknowledged
            self.probe();
            self.go_on(now);
        }
    }

    /// What has come to it, which is silent, since it was frozen; it takes nothing any more.
    pub(in crate::relay) fn flush(&self) -> Vec<Late> {
        let flow = &self.flow;
        let Some(received) = self.frozen.as_deref().copied() else {
            return Vec::new();
        };
        let sides = [(&flow.ran, Towards::Server), (&flow.wan, Towards::Ue)];
        let late = sides.into_iter().zip(received);
        late.filter_map(|((socket, towards), Received { next, unread })| {
            // what cannot be read is sent again
            let bytes = repair::late(socket, unread).unwrap_or_default();
            (!bytes.is_empty()).then_some(Late {
                way: Way {
                    client: flow.client,
                    server: flow.server,
                    towards,
                },
                number: next,
                bytes,
            })
        })
        .collect()
    }

    /// Both ends are to acknowledge what they have, unless it is on its way to another proxy.
    pub(in crate::relay) fn probe(&self) {
        if self.is_frozen() {
            return;
        }
        for socket in [&self.flow.ran, &self.flow.wan] {
            // one that has failed is asked nothing
            let _ = sys::send_window_probe(socket)
                .and_then(|()| Ok(sockopt::set_socket_reuseaddr(socket, true)?));
        }
    }

    /// From now on it ends without a packet.
    pub(in crate::relay) fn silence(&self) {
        for socket in [&self.flow.ran, &self.flow.wan] {
            // one that has failed ends without one anyway
            let _ = sys::set_repair(socket, true);
        }
    }

    /// From now on it ends with a reset.
    pub(in crate::relay) fn speak(&self) {
        for socket in [&self.flow.ran, &self.flow.wan] {
            // one that has failed needs none
            let _ = sys::set_repair(socket, false);
        }
    }
}

/// What was not copied of a direction whose socket has so many bytes queued, of which so many were never sent: those that
/// it had before are the head, which stands with the leg.
fn part(tap: &Tap, (queued, unsent): (usize, usize), unread: Vec<u8>) -> (Part, Pieces) {
    let copied = tap.copied().unwrap_or(0);
    // the oldest that is not acknowledged
    let oldest = tap.written().saturating_sub(queued as u64);
    let mut tail = Pieces::from(tap.from(copied.max(oldest)));
    tail.push(unread);
    let part = Part {
        begin: oldest.min(copied),
        copied,
        in_flight: u32::try_from(queued - unsent).unwrap_or(u32::MAX),
    };
    (part, tail)
}
