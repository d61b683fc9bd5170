//! What passes an interface, read without being in its way (`AF_PACKET`).

use crate::sys::{self, Instruction};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// include/uapi/linux/if_packet.h: what this host sends is not captured.
const PACKET_IGNORE_OUTGOING: i32 = 23;

// linux/filter.h, linux/bpf_common.h: loads of 8 and 16 bits, the length of IPv4's header, and what is done with them
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const LOAD_HALF_AT_X: u16 = 0x48;
const IPV4_HEADER_TO_X: u16 = 0xb1;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
const IF_ANY_BIT: u16 = 0x45;
const SET_X: u16 = 0x01;
const RETURN: u16 = 0x06;

const UDP: u32 = 17;
/// IPv6's next header of a fragment.
const FRAGMENT: u32 = 44;
/// All of a packet.
const WHOLE: u32 = u32::MAX;

/// IP packets of UDP to one port; of datagrams in fragments the first.
fn udp_to(port: u16) -> [Instruction; 24] {
    let port = u32::from(port);
    [
        (LOAD_BYTE, 0, 0, 0),
        (AND, 0, 0, 0xf0),
        (IF_EQUAL, 0, 7, 0x40),
        // IPv4: UDP, no fragment behind the first
        (LOAD_BYTE, 0, 0, 9),
        (IF_EQUAL, 0, 18, UDP),
        (LOAD_HALF, 0, 0, 6),
        (IF_ANY_BIT, 16, 0, 0x1fff),
        (IPV4_HEADER_TO_X, 0, 0, 0),
        (LOAD_HALF_AT_X, 0, 0, 2),
        (IF_EQUAL, 12, 13, port),
        // IPv6: UDP, or the first fragment of it
        (IF_EQUAL, 0, 12, 0x60),
        (LOAD_BYTE, 0, 0, 6),
        (SET_X, 0, 0, 40),
        (IF_EQUAL, 6, 0, UDP),
        (IF_EQUAL, 0, 8, FRAGMENT),
        (LOAD_BYTE, 0, 0, 40),
        (IF_EQUAL, 0, 6, UDP),
        (LOAD_HALF, 0, 0, 42),
        (IF_ANY_BIT, 4, 0, 0xfff8),
        (SET_X, 0, 0, 48),
        (LOAD_HALF_AT_X, 0, 0, 2),
        (IF_EQUAL, 0, 1, port),
        (RETURN, 0, 0, WHOLE),
        (RETURN, 0, 0, 0),
    ]
}

/// A socket that receives the IP packets of UDP to one port that pass an interface, in either direction, and sends
/// nothing. Of datagrams in fragments it receives the first.
#[derive(Debug)]
pub struct Capture {
    fd: OwnedFd,
}

impl Capture {
    /// Begins to capture at an interface of the calling thread's network namespace. `buffer` is how much may wait, in bytes;
    /// without `CAP_NET_ADMIN` it is within what any process may.
    ///
    /// # Errors
    /// The kernel's: no such interface, or one that is down; no `CAP_NET_RAW`.
    pub fn new(interface: &str, port: u16, buffer: usize) -> io::Result<Self> {
        let fd = sys::capture_socket()?;
        // before the socket is bound, so that nothing else comes
        sys::attach_filter(&fd, &udp_to(port))?;
        if interface == "lo" {
            // each packet passes it twice
            sys::set_option(&fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        }
        let buffer = i32::try_from(buffer).unwrap_or(i32::MAX);
        sys::set_option(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, buffer)
            .or_else(|_| sys::set_option(&fd, libc::SOL_SOCKET, libc::SO_RCVBUF, buffer))?;
        let index = sys::interface_index(&fd, interface)?;
        sys::bind_capture(&fd, index)?;
        Ok(Self { fd })
    }

    /// The next packet, from its IP header on; of one that is longer than the buffer the beginning. Does not block.
    ///
    /// # Errors
    /// The kernel's: `WouldBlock` if none waits, `ENETDOWN` once after the interface has gone down.
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        loop {
            match rustix::io::read(&self.fd, &mut *buffer) {
                Ok(length) => return Ok(&buffer[..length]),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Packets that there was no room for since this was last called.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take_drops(&self) -> io::Result<u32> {
        sys::capture_drops(&self.fd)
    }
}

impl AsFd for Capture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Capture {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel does with a filter: a load outside the packet rejects it.
    fn accepts(filter: &[Instruction], packet: &[u8]) -> bool {
        let load = |at: usize, octets: usize| {
            let bytes = packet.get(at..at + octets)?;
            Some(bytes.iter().fold(0, |a, b| a << 8 | u32::from(*b)))
        };
        let (mut a, mut x, mut at) = (0, 0, 0);
        loop {
            let (code, jt, jf, k) = filter[at];
            let loaded = match code {
                LOAD_BYTE => load(k as usize, 1),
                LOAD_HALF => load(k as usize, 2),
                LOAD_HALF_AT_X => load((x + k) as usize, 2),
                _ => Some(a),
            };
            let Some(loaded) = loaded else { return false };
            a = loaded;
            at += 1;
            match code {
                AND => a &= k,
                SET_X => x = k,
                IPV4_HEADER_TO_X => {
                    let Some(first) = load(k as usize, 1) else {
                        return false;
                    };
                    x = (first & 15) * 4;
                }
                IF_EQUAL => at += usize::from(if a == k { jt } else { jf }),
                IF_ANY_BIT => at += usize::from(if a & k != 0 { jt } else { jf }),
                RETURN => return k > 0,
                _ => {}
            }
        }
    }

    fn v4(options: usize, protocol: u8, fragment: u16, port: u16) -> Vec<u8> {
        let mut packet = vec![0; 20 + options];
        packet[0] = 0x40 | (5 + options as u8 / 4);
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[9] = protocol;
        packet.extend([8, 0x68]);
        packet.extend(port.to_be_bytes());
        packet.extend([0; 8]);
        packet
    }

    fn v6(next: u8, headers: &[u8], port: u16) -> Vec<u8> {
        let mut packet = vec![0; 40];
        packet[0] = 0x60;
        packet[6] = next;
        packet.extend(headers);
        packet.extend([8, 0x68]);
        packet.extend(port.to_be_bytes());
        packet.extend([0; 8]);
        packet
    }

    #[test]
    fn the_filter_accepts_the_port_and_first_fragments() {
        let filter = udp_to(2_152);
        let more = 0x2000;
        for (packet, is_accepted) in [
            (v4(0, 17, 0, 2_152), true),
            (v4(20, 17, 0, 2_152), true),
            (v4(0, 17, more, 2_152), true),
            (v4(0, 17, more | 185, 2_152), false),
            (v4(0, 6, 0, 2_152), false),
            (v4(0, 17, 0, 2_153), false),
            (v6(17, &[], 2_152), true),
            (v6(17, &[], 53), false),
            (v6(6, &[], 2_152), false),
            (v6(44, &[17, 0, 0, 1, 0, 0, 0, 9], 2_152), true),
            (v6(44, &[17, 0, 0, 9, 0, 0, 0, 9], 2_152), false),
            (v6(44, &[6, 0, 0, 1, 0, 0, 0, 9], 2_152), false),
            (v4(0, 17, 0, 2_152)[..22].to_vec(), false),
            (vec![0x50; 60], false),
            (Vec::new(), false),
        ] {
            assert_eq!(accepts(&filter, &packet), is_accepted, "{packet:?}");
        }
    }

    #[test]
    fn an_interface_that_there_is_not_is_an_error() {
        let error = Capture::new("no-such-if", 2_152, 1_000).expect_err("no such interface");
        let expected = [libc::ENODEV, libc::EPERM];
        let number = error.raw_os_error().expect("the kernel's");
        assert!(expected.contains(&number), "{error}");
    }
}
