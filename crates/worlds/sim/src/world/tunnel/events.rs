//! What happens to paths at times that the scenario sets.

use super::super::World;
use super::{Events, UeTunnel};
use crate::forwarding::TunnelEnd;
use crate::schedule::EntityId;
use multipath::client::{ClientPathId, NetworkEvent};
use scenario::{PathEvent, TunnelSpec};
use units::Instant;

impl Events {
    /// Those of all paths; `entity` makes their place in the schedule, if there are any.
    pub(super) fn new(spec: &TunnelSpec, entity: impl FnOnce() -> EntityId) -> Self {
        let paths = spec.paths.iter().enumerate();
        let each = paths.flat_map(|(index, path)| {
            let of = move |&(at, event): &(_, PathEvent)| (Instant::ZERO + at, index, event);
            path.events.iter().map(of)
        });
        let mut all: Vec<_> = each.collect();
        // of the same time: in the paths' order
        all.sort_by_key(|(at, ..)| *at);
        Self {
            entity: (!all.is_empty()).then(entity),
            all,
            next: 0,
        }
    }

    fn due(&self) -> Option<Instant> {
        self.all.get(self.next).map(|(at, ..)| *at)
    }
}

impl UeTunnel {
    /// When the first event of its paths is, and what belongs to it in the schedule.
    pub(in super::super) fn first_event(&self) -> Option<(Instant, EntityId)> {
        Some((self.events.due()?, self.events.entity?))
    }
}

impl World {
    /// Events are due.
    pub(in super::super) fn on_tunnel_event(&mut self, ue: usize, entity: EntityId) {
        let now = self.now;
        while let Some(&(at, path, event)) = {
            let events = &self.tunnels[ue].events;
            events.all.get(events.next)
        } {
            if at > now {
                break;
            }
            self.tunnels[ue].events.next += 1;
            self.apply_path_event(ue, path, event);
        }
        let due = self.tunnels[ue].events.due();
        self.net.schedule.set(entity, due);
    }

    fn apply_path_event(&mut self, ue: usize, index: usize, event: PathEvent) {
        let now = self.now;
        let state = &mut self.tunnels[ue];
        let path = &mut state.paths[index];
        let id = ClientPathId(index as u16);
        match event {
            PathEvent::LinkDown => {
                path.way.has_link = false;
                state.client.on_network(now, id, NetworkEvent::LinkDown);
            }
            PathEvent::LinkUp => {
                path.way.has_link = true;
                state.client.on_network(now, id, NetworkEvent::LinkUp);
            }
            // nothing reports that
            PathEvent::Rebind => match path.timers {
                Some(_) => path.way.is_mapped = false,
                None => path.new_mapping(),
            },
            // the next packet that is sent reports it
            PathEvent::SocketGone => path.way.is_gone = true,
        }
        self.settle_tunnel(ue, TunnelEnd::Ue);
    }
}
