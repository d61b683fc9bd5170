//! Connections that move to another proxy, or from one.

use super::Worker;
use crate::flow::{Ends, Flow, Window};
use crate::handover::begin::{Beginning, begin};
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
            Moving::Flush { keys, to } => {
                let of = keys.into_iter().filter_map(|key| self.connections.get(key));
                // who asked may have given it up
                let _ = to.send(of.flat_map(Connection::flush).collect());
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
            Moving::Adopt {
                connections,
                is_probed_later,
                begun,
            } => {
                let adopted = connections.into_iter();
                let alive = adopted.filter_map(|one| self.adopt(one, is_probed_later));
                // who asked may have given it up
                let _ = begun.send(alive.count());
            }
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

    /// What is refused here ends with a reset, and none is given: the other proxy has forgotten it.
    fn adopt(&mut self, adopted: Adopted, is_probed_later: bool) -> Option<()> {
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
            for socket in [&ran, &wan] {
                let _ = sys::set_repair(socket, false);
            }
            return None;
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
        // what is in flight was handed to the sockets, which count it as it is acknowledged
        let in_flight = [&flow.ran, &flow.wan].map(|leg| leg.in_flight.len() as u64);
        let [down, up] = in_flight;
        meters.wan_read.store(down + waiting(Side::Ran), Relaxed);
        meters.ran_written.store(down, Relaxed);
        meters.ran_read.store(up + waiting(Side::Wan), Relaxed);
        meters.wan_written.store(up, Relaxed);
        self.shared
            .registry
            .account(&flow_here.ue, 0, carried.len());
        if let Some(learnt) = learnt {
            // where nothing is decided nothing would take a window back
            flow_here.learn(&learnt, self.decides().is_some());
        }
        let windows = [flow.ran.window.rcv_wnd, flow_here.window.shown()];
        let begun = begin_both(&flow_here, windows, is_probed_later);
        let connection = Connection::adopted(flow_here, carried, self.now);
        let key = self.watch(connection)?;
        if let Err(error) = begun {
            tracing::warn!(%client, %server, %error, "a connection ends");
            self.end(key, Next::Reset(ResetReason::Moved));
            return None;
        }
        self.enqueue(key);
        Some(())
    }
}

/// Has both sides live, and show these windows to the UE and to the server; where that fails, so that they end by a reset.
fn begin_both(flow: &Flow, windows: [u32; 2], is_probed_later: bool) -> std::io::Result<()> {
    let sides = [(&flow.ran, false), (&flow.wan, true)];
    let mut begun = Ok(());
    for ((socket, is_locked), window) in sides.into_iter().zip(windows) {
        let how = Beginning {
            window,
            is_locked,
            is_probed_later,
        };
        begun = begun.and_then(|()| begin(socket, how));
    }
    if begun.is_err() {
        for (socket, _) in sides {
            let _ = sys::set_repair(socket, false);
        }
    }
    begun
}
