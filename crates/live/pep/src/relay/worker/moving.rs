//! Connections that move to another proxy, or from one.

use super::Worker;
use crate::flow::{Ends, Flow, Window};
use crate::handover::{freeze, repair};
use crate::relay::carried::Carried;
use crate::relay::connection::{Connection, Next, ResetReason, Side};
use crate::relay::moving::{Adopted, Frozen, Moving};
use crate::relay::slab::Key;
use crate::relay::upstream::{set_keepalive, set_receive_buffer};
use crate::sys;
use relocation::Outcome;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Worker {
    pub(super) fn on_moving(&mut self, command: Moving) {
        match command {
            Moving::Freeze { ue, to } => {
                let frozen = self.freeze(ue);
                if let Err(unsent) = to.send(frozen) {
                    // who asked has given it up
                    let keys = unsent.0.into_iter().map(|frozen| frozen.key).collect();
                    self.thaw(keys);
                }
            }
            Moving::Thaw(keys) => self.thaw(keys),
            Moving::Silence(keys) => {
                for key in keys {
                    if let Some(connection) = self.connections.get_mut(key) {
                        connection.silence();
                    }
                }
            }
            Moving::Forget(keys, done) => {
                for key in keys {
                    if let Some(connection) = self.connections.get_mut(key) {
                        // in case that a window was to be shown meanwhile
                        connection.silence();
                        self.end(key, Next::Moved);
                    }
                }
                drop(done);
            }
            Moving::Reset(keys) => {
                for key in keys {
                    if let Some(connection) = self.connections.get_mut(key) {
                        connection.speak();
                        self.end(key, Next::Reset(ResetReason::Moved));
                    }
                }
            }
            Moving::Adopt(adopted) => adopted.into_iter().for_each(|one| self.adopt(one)),
        }
    }

    fn freeze(&mut self, ue: IpAddr) -> Vec<Frozen> {
        let mark = self.config.onward.mark;
        let of_ue = self
            .connections
            .iter_mut()
            .filter(|(_, connection)| connection.flow.client.ip() == ue);
        let frozen = of_ue.map(|(key, connection)| Frozen {
            key,
            ends: (connection.flow.client, connection.flow.server),
            state: connection.freeze(mark).map(Box::new),
        });
        frozen.collect()
    }

    fn thaw(&mut self, keys: Vec<Key>) {
        let mark = self.config.onward.mark;
        for key in keys {
            if let Some(connection) = self.connections.get_mut(key) {
                connection.thaw(mark, self.now);
                self.enqueue(key);
            }
        }
    }

    /// Whoever is refused here ends with a reset: the other proxy has forgotten it.
    fn adopt(&mut self, adopted: Adopted) {
        let Adopted { flow, ran, wan } = adopted;
        let (client, server) = (flow.client, flow.server);
        let entered = self.shared.registry.enter(client.ip(), &self.config.limits);
        let Ok((id, ue)) = entered else {
            self.shared.counters.refused_total.one();
            return;
        };
        let share = self.shared.registry.share(&ue, &self.config);
        let most_unsent = u32::try_from(self.config.relay.unsent.get()).unwrap_or(u32::MAX);
        // not inherited from a listener
        let _ = set_keepalive(&ran, &self.config.keepalive);
        let _ = sys::set_notsent_lowat(&ran, most_unsent);
        // what the server has been shown stays
        let _ = set_receive_buffer(&wan, share.max(flow.wan.window.rcv_wnd));
        let _ = sys::set_window_clamp(&wan, share);
        let rule = self
            .decides()
            .map_or_else(edge::ShownWindow::default, |decides| decides.shown);
        let window = Window::new(share, share, true, rule);
        let ends = Ends {
            id,
            client,
            server,
            opened_at: self.now,
            ue,
            most_unsent,
        };
        let flow_here = Arc::new(Flow::new(ends, (ran, wan), window, None));
        flow_here.set_unsent();
        let carried = Carried::new(flow.down, flow.up);
        let meters = &flow_here.meters;
        let waiting = |side| carried.left(side).len() as u64;
        meters.wan_read.store(waiting(Side::Ran), Relaxed);
        meters.ran_read.store(waiting(Side::Wan), Relaxed);
        self.shared
            .registry
            .account(&flow_here.ue, 0, carried.len());
        let connection = Connection::adopted(flow_here, carried, self.now);
        if let Some(key) = self.watch(connection) {
            self.enqueue(key);
        }
    }
}

impl Connection {
    /// A connection that another proxy had.
    fn adopted(flow: Arc<Flow>, carried: Carried, now: units::Instant) -> Self {
        let mut connection = Self::new(flow, now);
        connection.begin_adopted(carried);
        connection
    }

    /// Freezes it, and reads its state.
    ///
    /// # Errors
    /// It stays, and is as it was.
    fn freeze(&mut self, mark: u32) -> Result<relocation::Flow, Outcome> {
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
            Ok(state) => {
                self.is_frozen = true;
                Ok(state)
            }
            Err(refused) => {
                freeze::thaw(&flow.ran, 0);
                freeze::thaw(&flow.wan, mark);
                Err(refused)
            }
        }
    }

    /// Of a frozen connection.
    fn state(&self) -> Result<relocation::Flow, Outcome> {
        let flow = &self.flow;
        let unreadable = |error: std::io::Error| {
            tracing::debug!(flow = flow.id, %error, "a connection cannot be read");
            Outcome::Unreadable
        };
        let ran = repair::save(&flow.ran).map_err(unreadable)?;
        let wan = repair::save(&flow.wan).map_err(unreadable)?;
        let [piped_down, piped_up] = self
            .piped()
            .map(|piped| piped.map_err(|error| unreadable(error.into())));
        let join = |unsent: Vec<u8>, side, piped: Vec<u8>, unread: Vec<u8>| {
            [&unsent, self.carried.left(side), &piped, &unread].concat()
        };
        let state = relocation::Flow {
            client: flow.client,
            server: flow.server,
            down: join(ran.unsent, Side::Ran, piped_down?, wan.unread),
            up: join(wan.unsent, Side::Wan, piped_up?, ran.unread),
            ran: ran.leg,
            wan: wan.leg,
        };
        // what the other proxy would refuse is better refused here; room for the rest of the message
        if state.payload() > relocation::MAX_FRAME - 4_096 {
            return Err(Outcome::TooLarge);
        }
        state.check().map_err(|_| Outcome::Unreadable)?;
        Ok(state)
    }

    fn thaw(&mut self, mark: u32, now: units::Instant) {
        if std::mem::take(&mut self.is_frozen) {
            self.speak();
            freeze::thaw(&self.flow.ran, 0);
            freeze::thaw(&self.flow.wan, mark);
            self.go_on(now);
        }
    }

    /// From now on it ends without a packet.
    fn silence(&self) {
        for socket in [&self.flow.ran, &self.flow.wan] {
            // one that has failed ends without one anyway
            let _ = sys::set_repair(socket, true);
        }
    }

    /// From now on it ends with a reset.
    fn speak(&self) {
        for socket in [&self.flow.ran, &self.flow.wan] {
            // one that has failed needs none
            let _ = sys::set_repair(socket, false);
        }
    }
}
