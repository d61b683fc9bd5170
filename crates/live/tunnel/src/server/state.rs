//! How a server stands.

use super::Server;
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
        if self.reports_config().is_some() {
            let mut reports = self.reports.by_outcome();
            reports.insert("told", self.radio_notified);
            reports.insert("unconnected", self.radio_unconnected);
            status.reports = reports;
            status.reports_connected = Some(self.reports.is_connected());
        }
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
            let counters = self.links.get(&flow).map(|link| link.counters);
            let mut path = PathStatus::new(
                path.0.to_string(),
                flow.remote.to_string(),
                stats.as_ref(),
                counters.unwrap_or_default(),
            );
            let session = self
                .secrecy
                .as_ref()
                .and_then(|s| s.current(LinkId(flow.socket)));
            path.cipher = session.map(|session| session.algorithm().name());
            status.paths.push(path);
        }
        Some(status)
    }
}
