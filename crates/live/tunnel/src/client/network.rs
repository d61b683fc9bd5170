//! Which paths a change of the network concerns, and how the core is notified of it.

use super::Client;
use super::links::LivePath;
use crate::link::Way;
use crate::netlink::{Message, Netlink, Notice, notices};
use crate::poller::{Poller, Token};
use multipath::client::{ClientPathId, NetworkEvent};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use units::Instant;

/// The kernel's notices, and the interfaces as they were notified last.
#[derive(Debug)]
pub(super) struct Network {
    netlink: Option<Netlink>,
    /// Name, and whether it carries packets.
    links: BTreeMap<u32, (String, bool)>,
    /// The tunnel's own device, of which no path depends.
    device: String,
    /// Events of paths, by name.
    pub(super) events: BTreeMap<&'static str, u64>,
}

/// What a notice means before it is known which paths it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Concern {
    /// An interface carries packets, or has an address that it had not: paths that are bound to it.
    Link(String, NetworkEvent),
    /// Packets may take another way: paths that are bound to this interface, or to none.
    Route(Option<String>),
    /// An address is gone: paths that send from it.
    Address(IpAddr),
}

/// Messages that the kernel's notices in any bytes have for a client, after what they mean to its paths has been found.
pub fn count_notices(bytes: &[u8]) -> usize {
    let mut all = Vec::new();
    notices(bytes, &mut all);
    let count = all.len();
    Network::new("brimful0").concerns(all);
    count
}

impl Network {
    pub(super) fn new(device: &str) -> Self {
        Self {
            netlink: None,
            links: BTreeMap::new(),
            device: device.to_owned(),
            events: NetworkEvent::ALL.map(|event| (event.name(), 0)).into(),
        }
    }

    fn open(&mut self, poller: &Poller, token: Token) -> io::Result<()> {
        let netlink = Netlink::open()?;
        netlink.list_links()?;
        poller.add(&netlink, token, false)?;
        self.netlink = Some(netlink);
        Ok(())
    }

    /// What has been notified; where notices were lost, all that may have changed.
    fn read(&mut self) -> io::Result<Vec<Concern>> {
        let Some(netlink) = &self.netlink else {
            return Ok(Vec::new());
        };
        let mut notices = Vec::new();
        let is_whole = netlink.read(&mut notices)?;
        if !is_whole {
            netlink.list_links()?;
        }
        let mut concerns = self.concerns(notices);
        if !is_whole {
            let all = self.links.values().map(|(name, _)| Some(name.clone()));
            concerns.extend(all.chain([None]).map(Concern::Route));
        }
        Ok(concerns)
    }

    fn concerns(&mut self, notices: Vec<Notice>) -> Vec<Concern> {
        let mut concerns = Vec::new();
        for (message, is_listed) in notices {
            for concern in self.concern(message, is_listed) {
                if !concerns.contains(&concern) {
                    concerns.push(concern);
                }
            }
        }
        concerns
    }

    /// What a notice means; nothing if it is of the tunnel's own device, or of no change.
    fn concern(&mut self, message: Message, is_listed: bool) -> Vec<Concern> {
        let name = |index: u32, links: &BTreeMap<u32, (String, bool)>| {
            let (name, _) = links.get(&index)?;
            Some(name.clone()).filter(|name| *name != self.device)
        };
        match message {
            Message::Link { index, name, is_up } => {
                let before = self.links.insert(index, (name.clone(), is_up));
                let was_up = match before {
                    Some((_, was_up)) => was_up,
                    // what was there before the daemon is no event
                    None => is_listed && is_up,
                };
                if was_up == is_up || name == self.device {
                    return Vec::new();
                }
                let event = match is_up {
                    true => NetworkEvent::LinkUp,
                    false => NetworkEvent::LinkDown,
                };
                // routes through it come or go with it, of which those of IPv4 are not notified
                vec![Concern::Link(name, event), Concern::Route(None)]
            }
            Message::LinkGone { index } => match self.links.remove(&index) {
                Some((name, true)) if name != self.device => {
                    vec![
                        Concern::Link(name, NetworkEvent::LinkDown),
                        Concern::Route(None),
                    ]
                }
                _ => Vec::new(),
            },
            // a link without an address carries no packets of ours
            Message::Address { index, .. } => match name(index, &self.links) {
                Some(name) => vec![
                    Concern::Link(name, NetworkEvent::LinkUp),
                    Concern::Route(None),
                ],
                None => Vec::new(),
            },
            Message::AddressGone { address } => vec![Concern::Address(address)],
            Message::Route { index: None } => vec![Concern::Route(None)],
            Message::Route { index: Some(index) } => match name(index, &self.links) {
                Some(name) => vec![Concern::Route(Some(name)), Concern::Route(None)],
                None => Vec::new(),
            },
        }
    }
}

impl Concern {
    /// The event that it is to a path.
    fn of(&self, path: &LivePath) -> Option<NetworkEvent> {
        let interface = path.config.interface.as_ref();
        match self {
            Self::Link(name, event) => (interface == Some(name)).then_some(*event),
            Self::Route(name) => (interface == name.as_ref()).then_some(NetworkEvent::RouteChanged),
            Self::Address(address) => {
                let link = path.link.as_ref()?;
                let own = match &link.link.way {
                    Way::Udp { socket, .. } => socket.local_ip(),
                    Way::Tcp(stream) => stream.borrow().local_ip(),
                };
                (own.ok()? == *address).then_some(NetworkEvent::AddressChanged)
            }
        }
    }
}

impl Client {
    /// Has the kernel notify of links, addresses and routes. Without that paths are supervised by their silence
    /// alone.
    pub(crate) fn watch_network(&mut self, poller: &Poller) {
        if let Err(error) = self.network.open(poller, super::NETWORK) {
            tracing::warn!(%error, "changes of the network are not notified");
        }
    }

    /// Notices have come.
    pub(super) fn on_notices(&mut self, now: Instant) {
        let concerns = match self.network.read() {
            Ok(concerns) => concerns,
            Err(error) => {
                tracing::warn!(%error, "changes of the network are not notified any more");
                self.network.netlink = None;
                return;
            }
        };
        for concern in concerns {
            let events: Vec<(ClientPathId, NetworkEvent)> = self
                .paths
                .configured()
                .filter_map(|(id, path)| Some((id, concern.of(path)?)))
                .collect();
            for (id, event) in events {
                let name = self.paths.get(id).map_or("", |path| &path.config.name);
                tracing::debug!(path = name, event = event.name(), "the network has changed");
                *self.network.events.entry(event.name()).or_default() += 1;
                self.core.on_network(now, id, event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, name: &str, is_up: bool) -> Message {
        Message::Link {
            index,
            name: name.to_owned(),
            is_up,
        }
    }

    fn changed(name: &str, event: NetworkEvent) -> Vec<Concern> {
        vec![Concern::Link(name.to_owned(), event), Concern::Route(None)]
    }

    #[test]
    fn only_changes_of_a_link_are_events() {
        let mut network = Network::new("brimful0");
        assert_eq!(network.concern(link(2, "wlan0", true), true), []);
        assert_eq!(network.concern(link(2, "wlan0", true), false), []);
        let down = changed("wlan0", NetworkEvent::LinkDown);
        assert_eq!(network.concern(link(2, "wlan0", false), false), down);
        // the same again, as for another MTU
        assert_eq!(network.concern(link(2, "wlan0", false), false), []);
        let up = changed("wlan0", NetworkEvent::LinkUp);
        assert_eq!(network.concern(link(2, "wlan0", true), false), up);
        assert_eq!(network.concern(Message::LinkGone { index: 2 }, false), down);
        assert_eq!(network.concern(Message::LinkGone { index: 2 }, false), []);
        // one that is plugged in
        let up = changed("wwan0", NetworkEvent::LinkUp);
        assert_eq!(network.concern(link(3, "wwan0", false), false), []);
        assert_eq!(network.concern(link(3, "wwan0", true), false), up);
    }

    #[test]
    fn the_tunnels_own_device_is_no_change_of_the_network() {
        let mut network = Network::new("brimful0");
        let address = IpAddr::from([10, 99, 0, 2]);
        assert_eq!(network.concern(link(4, "brimful0", false), false), []);
        assert_eq!(network.concern(link(4, "brimful0", true), false), []);
        let of_device = [
            Message::Address { index: 4, address },
            Message::Route { index: Some(4) },
            Message::LinkGone { index: 4 },
        ];
        for message in of_device {
            assert_eq!(network.concern(message, false), []);
        }
    }

    #[test]
    fn the_same_change_is_one_event() {
        let mut network = Network::new("brimful0");
        let _ = network.concern(link(2, "wlan0", true), true);
        let route = || (Message::Route { index: Some(2) }, false);
        let expected = [Some("wlan0".to_owned()), None].map(Concern::Route);
        assert_eq!(network.concerns(vec![route(), route()]), expected);
    }
}
