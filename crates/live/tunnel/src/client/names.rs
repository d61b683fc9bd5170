//! Which address of a server's name a path takes.
//!
//! A name is resolved when its first path is opened, again when a path of it does not answer, and every
//! [`REFRESH`]. What was found last stays until something else is found: where the DNS is reached through the tunnel, it
//! is gone with it. A path that works is left where it is; one that does not takes its name's addresses in turn.

use super::Client;
use super::links::LivePath;
use crate::config::{HostPort, Remote};
use crate::resolver::{Resolved, Resolver};
use multipath::client::NetworkEvent;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use units::{Duration, Instant};

/// A name is resolved again after so long, whatever becomes of its paths.
const REFRESH: Duration = Duration::from_secs(300);
/// And no two times within so long.
const MIN_INTERVAL: Duration = Duration::from_secs(5);

/// What is known of a name.
#[derive(Debug, Default)]
struct Known {
    addresses: Vec<SocketAddr>,
    /// Why there are no addresses, or none anew.
    error: Option<String>,
    asked_at: Option<Instant>,
    /// It was asked for, and no answer has come.
    is_pending: bool,
}

/// All names.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: BTreeMap<HostPort, Known>,
    pub(super) resolver: Option<Resolver>,
}

impl Names {
    /// Has a name resolved, if it was not lately.
    fn ask(&mut self, now: Instant, name: &HostPort, interval: Duration) {
        let known = self.known.entry(name.clone()).or_default();
        let is_due = known
            .asked_at
            .is_none_or(|at| now.saturating_since(at) >= interval);
        if known.is_pending || !is_due {
            return;
        }
        known.asked_at = Some(now);
        if let Some(resolver) = &self.resolver {
            known.is_pending = true;
            resolver.ask(name);
        }
    }

    /// True if the answer has changed what is known.
    fn on_resolved(&mut self, resolved: Resolved) -> bool {
        let known = self.known.entry(resolved.name).or_default();
        known.is_pending = false;
        match resolved.addresses {
            Ok(addresses) => {
                known.error = None;
                let is_new = addresses != known.addresses;
                known.addresses = addresses;
                is_new
            }
            Err(error) => {
                known.error = Some(error);
                false
            }
        }
    }

    /// Addresses of a name for sockets at `local`, or why there are none.
    fn addresses(&self, name: &HostPort, local: Option<IpAddr>) -> Result<Vec<SocketAddr>, String> {
        let host = &name.host;
        let Some(known) = self.known.get(name) else {
            return Err(format!("{host} is being resolved"));
        };
        let fits =
            |address: &&SocketAddr| local.is_none_or(|local| local.is_ipv4() == address.is_ipv4());
        let fitting: Vec<SocketAddr> = known.addresses.iter().filter(fits).copied().collect();
        match (fitting.is_empty(), &known.error, local) {
            (false, ..) => Ok(fitting),
            (true, Some(error), _) if known.addresses.is_empty() => {
                Err(format!("{host} cannot be resolved: {error}"))
            }
            (true, _, Some(local)) if !known.addresses.is_empty() => {
                let family = if local.is_ipv4() { "IPv4" } else { "IPv6" };
                Err(format!(
                    "{host} has no address of {family}, of which local = {local} is"
                ))
            }
            (true, ..) => Err(format!("{host} is being resolved")),
        }
    }
}

/// Which of a name's addresses a path takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// The address that the path's last socket went to.
    pub(super) present: Option<SocketAddr>,
    /// The last one that has answered.
    answered: Option<SocketAddr>,
    /// Sockets since then.
    attempts: usize,
}

impl Choice {
    /// The path answers.
    pub(super) fn on_up(&mut self) {
        self.answered = self.present;
        self.attempts = 0;
    }

    /// For the next socket: first where the path has answered, then each in turn.
    fn next(&mut self, all: &[SocketAddr]) -> Option<SocketAddr> {
        let first = all
            .iter()
            .position(|address| Some(*address) == self.answered);
        // where it has answered, the first new socket is for a new address of this end
        let step = match first {
            Some(first) => first + self.attempts,
            None => self.attempts,
        };
        self.attempts += 1;
        self.present = all.get(step % all.len().max(1)).copied();
        self.present
    }
}

impl Client {
    /// Has names resolved by that.
    pub(crate) fn resolve_with(&mut self, resolver: Resolver) {
        self.names.resolver = Some(resolver);
    }

    /// Where the next socket of a path goes.
    pub(super) fn target(
        names: &mut Names,
        now: Instant,
        path: &mut LivePath,
    ) -> io::Result<SocketAddr> {
        let name = match &path.config.remote {
            Remote::Address(address) => {
                path.choice.present = Some(*address);
                return Ok(*address);
            }
            Remote::Name(name) => name,
        };
        names.ask(now, name, MIN_INTERVAL);
        let found = names.addresses(name, path.config.local);
        let all = found.map_err(io::Error::other)?;
        let next = path.choice.next(&all);
        next.ok_or_else(|| io::Error::other("no address"))
    }

    /// A name was resolved, or not: paths that wait for it need not wait on.
    pub(super) fn on_resolved(&mut self, now: Instant, resolved: Resolved) {
        let name = resolved.name.clone();
        match &resolved.addresses {
            Ok(addresses) => tracing::debug!(host = name.host, ?addresses, "resolved"),
            Err(error) => tracing::debug!(host = name.host, error, "not resolved"),
        }
        if !self.names.on_resolved(resolved) {
            return;
        }
        let waiting: Vec<_> = self
            .paths
            .configured()
            .filter(|(_, path)| {
                path.link.is_none() && path.config.remote == Remote::Name(name.clone())
            })
            .map(|(id, _)| id)
            .collect();
        for id in waiting {
            self.core.on_network(now, id, NetworkEvent::RouteChanged);
        }
    }

    /// Names are resolved again now and then.
    pub(super) fn refresh_names(&mut self, now: Instant) {
        let names = self
            .paths
            .configured()
            .filter_map(|(_, path)| match &path.config.remote {
                Remote::Name(name) => Some(name.clone()),
                Remote::Address(_) => None,
            });
        let names: Vec<HostPort> = names.collect();
        for name in &names {
            self.names.ask(now, name, REFRESH);
        }
        self.names.known.retain(|name, _| names.contains(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], 6_511))
    }

    fn name() -> HostPort {
        HostPort {
            host: "tunnel.example".to_owned(),
            port: 6_511,
        }
    }

    fn resolved(addresses: Result<Vec<SocketAddr>, String>) -> Resolved {
        Resolved {
            name: name(),
            addresses,
        }
    }

    #[test]
    fn addresses_take_turns_until_one_answers() {
        let all = [address(1), address(2), address(3)];
        let mut choice = Choice::default();
        let next = |choice: &mut Choice| choice.next(&all).expect("one");
        let first: Vec<_> = (0..5).map(|_| next(&mut choice)).collect();
        assert_eq!(first, [1, 2, 3, 1, 2].map(address));
        choice.on_up();
        // the same first, for a new address of this end, then the others
        let then: Vec<_> = (0..4).map(|_| next(&mut choice)).collect();
        assert_eq!(then, [2, 3, 1, 2].map(address));
        choice.on_up();
        // the DNS has moved the server
        assert_eq!(choice.next(&[address(9)]), Some(address(9)));
    }

    #[test]
    fn what_was_resolved_stays_when_the_dns_is_gone() {
        let mut names = Names::default();
        let (now, later) = (Instant::ZERO, Instant::ZERO + MIN_INTERVAL);
        let error = names.addresses(&name(), None).expect_err("nothing yet");
        assert!(error.contains("is being resolved"), "{error}");
        names.ask(now, &name(), MIN_INTERVAL);
        assert!(!names.on_resolved(resolved(Err("no such host".to_owned()))));
        let error = names.addresses(&name(), None).expect_err("nothing");
        assert!(
            error.contains("tunnel.example cannot be resolved: no such host"),
            "{error}"
        );
        assert!(names.on_resolved(resolved(Ok(vec![address(1)]))));
        assert!(!names.on_resolved(resolved(Err("timed out".to_owned()))));
        assert_eq!(names.addresses(&name(), None), Ok(vec![address(1)]));
        assert!(
            !names.on_resolved(resolved(Ok(vec![address(1)]))),
            "nothing new"
        );
        let at = |known: &Names| known.known[&name()].asked_at;
        names.ask(now + Duration::from_millis(1), &name(), MIN_INTERVAL);
        assert_eq!(at(&names), Some(now), "not so soon");
        names.ask(later, &name(), MIN_INTERVAL);
        assert_eq!(at(&names), Some(later));
    }

    #[test]
    fn a_local_address_takes_those_of_its_family() {
        let mut names = Names::default();
        let v6: SocketAddr = "[2001:db8::1]:6511".parse().expect("an address");
        names.on_resolved(resolved(Ok(vec![v6, address(1)])));
        let of = |names: &Names, local: &str| {
            names.addresses(&name(), Some(local.parse().expect("an address")))
        };
        assert_eq!(of(&names, "192.0.2.9"), Ok(vec![address(1)]));
        assert_eq!(of(&names, "2001:db8::9"), Ok(vec![v6]));
        names.on_resolved(resolved(Ok(vec![v6])));
        let error = of(&names, "192.0.2.9").expect_err("none");
        assert!(error.contains("no address of IPv4"), "{error}");
    }
}
