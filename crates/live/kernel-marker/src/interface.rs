//! The interface towards the UEs.

use crate::MarkerError;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};

/// An interface of this network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) index: u32,
    /// Bytes before the IP header, VLAN tags apart.
    pub(crate) link_header: u32,
}

/// include/uapi/linux/if_arp.h: what has an Ethernet header, and what has none.
const ETHERNET: [u16; 2] = [1, 772];
const BARE: [u16; 5] = [512, 519, 768, 769, 65534];

impl Interface {
    /// By its name.
    ///
    /// # Errors
    /// There is none, or its packets cannot be taken apart.
    pub(crate) fn named(name: &str) -> Result<Self, MarkerError> {
        let missing = || MarkerError::NoInterface {
            interface: name.to_owned(),
        };
        let refused = MarkerError::kernel("to look an interface up");
        let any = match socket(AddressFamily::INET, SocketType::DGRAM, None) {
            Ok(any) => any,
            Err(error) => return Err(refused(error.into())),
        };
        let index = match netdevice::name_to_index(&any, name) {
            Ok(index) => index,
            Err(Errno::NODEV | Errno::INVAL | Errno::NAMETOOLONG) => return Err(missing()),
            Err(error) => return Err(refused(error.into())),
        };
        let kind = kernel_cc::link_type(&any, name).map_err(|_| missing())?;
        let link_header = match kind {
            kind if ETHERNET.contains(&kind) => 14,
            kind if BARE.contains(&kind) => 0,
            kind => {
                return Err(MarkerError::Link {
                    interface: name.to_owned(),
                    kind: kind.into(),
                });
            }
        };
        Ok(Self {
            name: name.to_owned(),
            index,
            link_header,
        })
    }
}
