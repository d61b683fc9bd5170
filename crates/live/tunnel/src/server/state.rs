//! How a server stands.

use super::Server;
use crate::link::{Link, Way};
use crate::status::{ConnectionStatus, PathStatus, Status};
use multipath::PathId;
use multipath::server::ConnectionKey;
use secrecy::LinkId;
use std::collections::BTreeMap;
use units::Instant;

impl Server {
    pub(super) fn write_status(&mut self, now: Instant, status: &mut Status) {
        status.role = "server";
        let keys: Vec<_> = self.core.connections().collect();
        for (key, client) in keys {
            status.connections.extend(self.status_of(now, key, client));
        }
        let counters = self.core.counters();
        status.refused = BTreeMap::from([
            ("unreadable", self.unreadable),
            ("unroutable", self.unroutable),
            ("handshake", counters.refused),
            ("forgotten", counters.expired),
            ("stranger", counters.strangers),
            ("unverified", counters.unverified),
            ("too-short", counters.too_short),
            ("tcp-without-path", self.shed),
            ("tcp-not-accepted", self.accept_pauses),
        ]);
        status.cookies = counters.cookies;
        if let Some(secrecy) = &self.secrecy {
            self.refusals.add_to(&mut status.refused);
            let (sessions, cookies) = secrecy.counters();
            (status.sessions, status.cookies) = (sessions, cookies);
        }
        #[cfg(feature = "edge")]
        self.write_reports(status);
        status.accepted = counters.accepted;
        status.moved = counters.moved;
    }

    fn status_of(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        client: Option<usize>,
    ) -> Option<ConnectionStatus> {
        let flows: Vec<_> = (0..32).map(|i| self.core.flow(key, PathId(i))).collect();
        let name = client.map_or("?", |index| self.clients[index].name.as_str());
        let tunnel = self.core.tunnel(key)?;
        let mut status =
            ConnectionStatus::new(name.to_owned(), tunnel.is_established(), &tunnel.stats());
        let further = tunnel.remote_addresses();
        status.peer_addresses = further
            .map(|(id, address)| (id.0, address.to_string()))
            .collect();
        status.spoofed_packets = client.map_or(0, |index| self.spoofed[index]);
        let paths: Vec<_> = tunnel.path_ids().collect();
        for path in paths {
            let stats = tunnel.path_stats(now, path);
            let Some(flow) = flows[usize::from(path.0)] else {
                continue;
            };
            let counters = self.links.get(&flow).map(Link::counters);
            let mut path = PathStatus::new(
                path.0.to_string(),
                flow.remote.to_string(),
                stats.as_ref(),
                counters.unwrap_or_default(),
            );
            let is_udp = self
                .links
                .get(&flow)
                .is_some_and(|link| matches!(link.way, Way::Udp { .. }));
            if let Some(stats) = stats.as_ref().filter(|_| is_udp) {
                path.set_mtu(&stats.mtu, flow.remote.is_ipv6());
            }
            if let Some(secrecy) = &self.secrecy {
                let link = LinkId(flow.socket);
                path.set_session(now, secrecy.current(link));
                path.sessions = secrecy.established_of(link);
            }
            status.paths.push(path);
        }
        Some(status)
    }
}
