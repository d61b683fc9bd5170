//! Connections that move to another proxy, or from one.

use super::Worker;
use crate::flow::{Ends, Flow, Window};
use crate::relay::carried::Carried;
use crate::relay::connection::{Connection, Next, ResetReason, Side};
use crate::relay::moving::{Adopted, Copies, Frozen, Moving, Phase};
use crate::relay::slab::Key;
use crate::relay::upstream::{set_keepalive, set_receive_buffer};
use crate::sys;
use relocation::Pieces;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Worker {
    pub(super) fn on_moving(&mut self, command: Moving) {
        match command {
            Moving::Copy {
                ue,
                phase,
                most,
                to,
            } => {
                if phase == Phase::First {
                    self.begin_copying(ue);
                }
                let copies = self.copy(ue, phase, most);
                if to.send(copies).is_err() {
                    // who asked has given it up
                    self.uncopy(ue);
                }
            }
            Moving::Uncopy(ue) => self.uncopy(ue),
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
            Moving::Probe(ue) => {
                for key in self.of_ue(ue) {
                    if let Some(connection) = self.connections.get_mut(key) {
                        connection.probe();
                    }
                }
            }
        }
    }

    fn of_ue(&self, ue: IpAddr) -> Vec<Key> {
        let of_ue = self.connections.iter();
        let of_ue = of_ue.filter(|(_, connection)| connection.flow.client.ip() == ue);
        of_ue.map(|(key, _)| key).collect()
    }

    fn begin_copying(&mut self, ue: IpAddr) {
        let most = self.config.relay.pipe.get() as usize;
        for key in self.of_ue(ue) {
            if let Some(connection) = self.connections.get_mut(key) {
                connection.begin_copying(most);
            }
        }
    }

    fn copy(&mut self, ue: IpAddr, phase: Phase, most: usize) -> Copies {
        let mut copies = Copies::default();
        for key in self.of_ue(ue) {
            if let Some(connection) = self.connections.get_mut(key) {
                if copies.bytes >= most {
                    copies.has_more = true;
                    break;
                }
                connection.copy_ahead(phase, &mut copies);
                // there may be room again for what comes
                self.enqueue(key);
            }
        }
        copies
    }

    fn uncopy(&mut self, ue: IpAddr) {
        for key in self.of_ue(ue) {
            if let Some(connection) = self.connections.get_mut(key) {
                connection.stop_copying();
                self.enqueue(key);
            }
        }
    }

    fn freeze(&mut self, ue: IpAddr) -> Vec<Frozen> {
        let mark = self.config.onward.mark;
        let of_ue = self
            .connections
            .iter_mut()
            .filter(|(_, connection)| connection.flow.client.ip() == ue);
        let frozen = of_ue.map(|(key, connection)| {
            let state = connection.freeze(mark);
            let (payload, state) = match state {
                Ok((payload, state)) => (payload, Ok(state)),
                Err(refused) => (0, Err(refused)),
            };
            Frozen {
                key,
                ends: (connection.flow.client, connection.flow.server),
                payload,
                state,
            }
        });
        frozen.collect()
    }

    fn thaw(&mut self, keys: Vec<Key>) {
        let mark = self.config.onward.mark;
        for key in keys {
            if let Some(connection) = self.connections.get_mut(key) {
                connection.thaw(mark, self.now);
                connection.stop_copying();
                self.enqueue(key);
            }
        }
    }

    /// Whoever is refused here ends with a reset: the other proxy has forgotten it.
    fn adopt(&mut self, adopted: Adopted) {
        let Adopted {
            flow,
            learnt,
            ran,
            wan,
        } = adopted;
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
        let waiting = |side| carried.left(side).map_or(0, Pieces::len) as u64;
        meters.wan_read.store(waiting(Side::Ran), Relaxed);
        meters.ran_read.store(waiting(Side::Wan), Relaxed);
        self.shared
            .registry
            .account(&flow_here.ue, 0, carried.len());
        if let Some(learnt) = learnt {
            // where nothing is decided nothing would take a window back
            flow_here.learn(&learnt, self.decides().is_some());
        }
        let connection = Connection::adopted(flow_here, carried, self.now);
        if let Some(key) = self.watch(connection) {
            self.enqueue(key);
        }
    }
}
