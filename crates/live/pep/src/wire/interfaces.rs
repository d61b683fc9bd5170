//! The interfaces that packets towards servers leave by.

use crate::config::{Config, Interception};
use crate::intercept::route_device;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};

/// An interface of this host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) index: u32,
}

impl Interface {
    /// Those of these names that there are, in order.
    pub(super) fn named(names: &[String]) -> Vec<Self> {
        let Ok(socket) = socket(AddressFamily::INET, SocketType::DGRAM, None) else {
            return Vec::new();
        };
        let named = |name: &String| {
            let index = netdevice::name_to_index(&socket, name).ok()?;
            let name = name.clone();
            Some(Self { name, index })
        };
        let mut found: Vec<Self> = names.iter().filter_map(named).collect();
        found.sort();
        found
    }
}

/// The name of `wan-interface`; without one, that of the route to the server.
pub(super) fn towards_servers(config: &Config) -> Vec<String> {
    match (&config.onward.interface, &config.interception) {
        (Some(name), _) => vec![name.clone()],
        (None, Interception::Explicit(explicit)) => {
            route_device(explicit.upstream.ip(), config.onward.mark)
                .into_iter()
                .collect()
        }
        (None, Interception::Transparent(_) | Interception::Off { .. }) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_this_host_is_reached_by_the_loopback_interface() {
        let text = "mode = \"explicit\"\ncontrol = \"split\"\n[explicit]\nlisten = \"127.0.0.1:7700\"\n\
                    upstream = \"127.0.0.1:7701\"\n";
        let config = Config::parse("pep.toml", text).expect("a configuration");
        let found = towards_servers(&config);
        assert_eq!(found, ["lo"]);
        assert_eq!(Interface::named(&found).len(), 1);
        let named = text.replace("[explicit]", "wan-interface = \"lo\"\n[explicit]");
        let config = Config::parse("pep.toml", &named).expect("a configuration");
        assert_eq!(towards_servers(&config), found);
        let gone = named.replace("\"lo\"", "\"gone0\"");
        let config = Config::parse("pep.toml", &gone).expect("a configuration");
        assert_eq!(Interface::named(&towards_servers(&config)), []);
    }
}
