//! What the kernel notifies of links, addresses and routes (rtnetlink(7)), as far as paths depend on it.

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{bind, recv, send, socket_with};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `struct nlmsghdr` and `struct ifinfomsg`, bytes; `struct ifaddrmsg`; `struct rtmsg`.
const HEADER: usize = 16;
const LINK: usize = 16;
const ADDRESS: usize = 8;
const ROUTE: usize = 12;
/// More than the kernel puts into one message.
const BUFFER: usize = 64 * 1024;

/// What has changed, or is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// An interface is there, and carries packets or not.
    Link {
        index: u32,
        name: String,
        is_up: bool,
    },
    /// An interface is gone.
    LinkGone { index: u32 },
    /// An address can be used on an interface.
    Address { index: u32, address: IpAddr },
    /// It cannot any more.
    AddressGone { address: IpAddr },
    /// A route is there, or gone; without an interface where it has none or several.
    Route { index: Option<u32> },
}

/// A message, and whether it is part of a list that was requested.
pub(crate) type Notice = (Message, bool);

/// A socket that is notified.
#[derive(Debug)]
pub(crate) struct Netlink(OwnedFd);

impl Netlink {
    /// One that is notified of all changes from now on.
    ///
    /// # Errors
    /// The kernel's, e.g. where the service manager allows no such sockets.
    pub(crate) fn open() -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // no protocol is that of routes
        let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        let groups = libc::RTMGRP_LINK
            | libc::RTMGRP_IPV4_IFADDR
            | libc::RTMGRP_IPV6_IFADDR
            | libc::RTMGRP_IPV4_ROUTE
            | libc::RTMGRP_IPV6_ROUTE;
        bind(&fd, &SocketAddrNetlink::new(0, groups.cast_unsigned()))?;
        Ok(Self(fd))
    }

    /// Requests the list of all interfaces.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn list_links(&self) -> io::Result<()> {
        let mut request = [0; HEADER + LINK];
        request[..4].copy_from_slice(&((HEADER + LINK) as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        send(&self.0, &request, SendFlags::empty())?;
        Ok(())
    }

    /// Takes what has come; false if notices were lost because they came faster than they were read.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn read(&self, take: &mut Vec<Notice>) -> io::Result<bool> {
        let mut buffer = vec![0; BUFFER];
        loop {
            match recv(&self.0, &mut buffer[..], RecvFlags::empty()) {
                Ok((length, _)) => notices(&buffer[..length], take),
                Err(Errno::WOULDBLOCK) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The messages of a datagram; those of other kinds, and what is cut off, are left out.
pub(crate) fn notices(mut bytes: &[u8], take: &mut Vec<Notice>) {
    while let (Some(length), Some(kind), Some(flags)) =
        (word(bytes, 0), half(bytes, 4), half(bytes, 6))
    {
        let length = length as usize;
        let Some(body) = bytes.get(HEADER..length) else {
            return;
        };
        let is_listed = libc::c_int::from(flags) & libc::NLM_F_MULTI != 0;
        take.extend(message(kind, body).map(|message| (message, is_listed)));
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

fn message(kind: u16, body: &[u8]) -> Option<Message> {
    match kind {
        libc::RTM_NEWLINK | libc::RTM_DELLINK => link(kind == libc::RTM_DELLINK, body),
        libc::RTM_NEWADDR | libc::RTM_DELADDR => address(kind == libc::RTM_DELADDR, body),
        libc::RTM_NEWROUTE | libc::RTM_DELROUTE => route(body),
        _ => None,
    }
}

fn link(is_gone: bool, body: &[u8]) -> Option<Message> {
    const UP: u32 = (libc::IFF_UP | libc::IFF_RUNNING) as u32;
    // a bridge's notices of its ports are of another family
    if libc::c_int::from(*body.first()?) != libc::AF_UNSPEC {
        return None;
    }
    let (index, flags) = (word(body, 4)?, word(body, 8)?);
    if is_gone {
        return Some(Message::LinkGone { index });
    }
    let name = attribute(body.get(LINK..)?, libc::IFLA_IFNAME)?;
    let name = name.split(|byte| *byte == 0).next()?;
    Some(Message::Link {
        index,
        name: String::from_utf8(name.to_vec()).ok()?,
        is_up: flags & UP == UP,
    })
}

fn address(is_gone: bool, body: &[u8]) -> Option<Message> {
    let family = *body.first()?;
    let index = word(body, 4)?;
    let attributes = body.get(ADDRESS..)?;
    // IPv4 has the peer's address in IFA_ADDRESS where there is one
    let local = attribute(attributes, libc::IFA_LOCAL);
    let address = ip(family, local.or(attribute(attributes, libc::IFA_ADDRESS))?)?;
    if is_gone {
        return Some(Message::AddressGone { address });
    }
    let flags = attribute(attributes, libc::IFA_FLAGS).and_then(|flags| word(flags, 0));
    let flags = flags.or(body.get(2).map(|flags| u32::from(*flags)))?;
    // while another host may have it, nothing is sent from it; another notice follows
    (flags & libc::IFA_F_TENTATIVE == 0).then_some(Message::Address { index, address })
}

fn route(body: &[u8]) -> Option<Message> {
    /// `RTM_F_CLONED`: an entry of a cache.
    const CLONED: u32 = 0x200;
    let attributes = body.get(ROUTE..)?;
    let table = attribute(attributes, libc::RTA_TABLE).and_then(|table| word(table, 0));
    let table = table.or(body.get(4).map(|table| u32::from(*table)))?;
    // what addresses are this machine's is notified as such
    if table == u32::from(libc::RT_TABLE_LOCAL) || word(body, 8)? & CLONED != 0 {
        return None;
    }
    let index = attribute(attributes, libc::RTA_OIF).and_then(|index| word(index, 0));
    Some(Message::Route { index })
}

/// The value of the first attribute (`struct rtattr`) of a kind.
fn attribute(mut bytes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(half(bytes, 0)?);
        let value = bytes.get(4..length)?;
        if half(bytes, 2)? == kind {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

fn ip(family: u8, bytes: &[u8]) -> Option<IpAddr> {
    match libc::c_int::from(family) {
        libc::AF_INET => Some(<[u8; 4]>::try_from(bytes).ok()?.into()),
        libc::AF_INET6 => Some(<[u8; 16]>::try_from(bytes).ok()?.into()),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attributes(all: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kind, value) in all {
            bytes.extend((4 + value.len() as u16).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(*value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    fn datagram(kind: u16, flags: u16, head: &[u8], more: &[(u16, &[u8])]) -> Vec<u8> {
        let body = [head, &attributes(more)].concat();
        let length = (HEADER + body.len()) as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(body);
        bytes
    }

    fn read(bytes: &[u8]) -> Vec<Notice> {
        let mut taken = Vec::new();
        notices(bytes, &mut taken);
        taken
    }

    fn link_head(family: u8, index: u8, flags: u8) -> [u8; LINK] {
        let mut head = [0; LINK];
        head[0] = family;
        head[4..8].copy_from_slice(&u32::from(index).to_ne_bytes());
        head[8..12].copy_from_slice(&u32::from(flags).to_ne_bytes());
        head
    }

    #[test]
    fn links_are_up_if_they_carry_packets() {
        let name: &[(u16, &[u8])] = &[(9, b"x"), (libc::IFLA_IFNAME, b"wlan0\0")];
        let of = |flags| {
            read(&datagram(
                libc::RTM_NEWLINK,
                2,
                &link_head(0, 3, flags),
                name,
            ))
        };
        let link = |is_up| Message::Link {
            index: 3,
            name: "wlan0".to_owned(),
            is_up,
        };
        assert_eq!(of(0x41), [(link(true), true)]);
        // without a carrier
        assert_eq!(of(0x01), [(link(false), true)]);
        let gone = datagram(libc::RTM_DELLINK, 0, &link_head(0, 3, 0), name);
        assert_eq!(read(&gone), [(Message::LinkGone { index: 3 }, false)]);
        let port = datagram(libc::RTM_DELLINK, 0, &link_head(7, 3, 0), name);
        assert_eq!(read(&port), [], "it leaves a bridge");
    }

    #[test]
    fn addresses_count_when_they_can_be_used() {
        let head = |flags: u8| [[2, 24, flags, 0], 5u32.to_ne_bytes()].concat();
        let address = IpAddr::from([10, 0, 0, 2]);
        let own: &[(u16, &[u8])] = &[
            (libc::IFA_ADDRESS, &[10, 0, 0, 1]),
            (libc::IFA_LOCAL, &[10, 0, 0, 2]),
        ];
        let two = [
            datagram(libc::RTM_NEWADDR, 0, &head(0x80), own),
            datagram(libc::RTM_DELADDR, 0, &head(0x80), own),
        ];
        let expected = [
            (Message::Address { index: 5, address }, false),
            (Message::AddressGone { address }, false),
        ];
        assert_eq!(read(&two.concat()), expected);
        let tentative = datagram(libc::RTM_NEWADDR, 0, &head(0x40), own);
        assert_eq!(read(&tentative), []);
    }

    #[test]
    fn routes_have_their_interface() {
        let head = |table| [2, 0, 0, 0, table, 0, 0, 1, 0, 0, 0, 0];
        let through: &[(u16, &[u8])] = &[(libc::RTA_OIF, &7u32.to_ne_bytes())];
        let of = |table, more| read(&datagram(libc::RTM_NEWROUTE, 0, &head(table), more));
        let route = |index| [(Message::Route { index }, false)];
        assert_eq!(of(254, through), route(Some(7)));
        assert_eq!(of(254, &[]), route(None));
        assert_eq!(of(libc::RT_TABLE_LOCAL, through), []);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            read(&bytes);
        }

        /// Messages in one datagram are read as each alone.
        #[test]
        fn messages_are_read_one_by_one(
            bodies in proptest::collection::vec((16u16..26, proptest::collection::vec(0u8..9, 0..60)), 0..6),
        ) {
            let pad = |mut bytes: Vec<u8>| {
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                bytes
            };
            let all: Vec<Vec<u8>> = bodies
                .iter()
                .map(|(kind, body)| pad(datagram(*kind, 0, body, &[])))
                .collect();
            let alone: Vec<Notice> = all.iter().flat_map(|bytes| read(bytes)).collect();
            prop_assert_eq!(read(&all.concat()), alone);
        }

        /// With headers that fit, what is inside is any bytes.
        #[test]
        fn any_bodies_are_read(kind in 16u16..32, body: Vec<u8>) {
            read(&datagram(kind, 0, &body, &[]));
        }
    }
}
