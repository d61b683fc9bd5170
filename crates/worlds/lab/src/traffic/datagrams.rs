//! UDP applications.

use super::{FlowContext, TICK};
use crate::Error;
use crate::measure::Event;
use crate::names::{SERVER_ADDRESS, flow_port, ue_address};
use network::app::Datagrams;
use scenario::EcnSpec;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use units::Instant;

/// What every datagram begins with: its number, and when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Its number, from 0, modulo 2^32.
    pub(crate) number: u32,
    /// When it was handed to the kernel.
    pub(crate) sent_at: Instant,
}

impl Stamp {
    /// Its bytes.
    pub(crate) const LENGTH: usize = 12;

    /// From a payload; nothing if that is too short.
    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        let (number, rest) = payload.split_first_chunk::<4>()?;
        let sent_at = u64::from_be_bytes(*rest.first_chunk::<8>()?);
        Some(Self {
            number: u32::from_be_bytes(*number),
            sent_at: Instant::from_nanos(sent_at),
        })
    }

    fn write(self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&self.number.to_be_bytes());
        let nanos = self.sent_at.since_start().as_nanos();
        payload[4..Self::LENGTH].copy_from_slice(&nanos.to_be_bytes());
    }
}

/// Port of a UE for a flow: that of the server.
fn ue_end(context: &FlowContext) -> SocketAddrV4 {
    SocketAddrV4::new(ue_address(context.spec.ue), flow_port(context.index))
}

fn server_end(context: &FlowContext) -> SocketAddrV4 {
    SocketAddrV4::new(SERVER_ADDRESS, flow_port(context.index))
}

fn bound(context: &FlowContext, address: Ipv4Addr) -> Result<UdpSocket, Error> {
    let own = SocketAddrV4::new(address, flow_port(context.index));
    let failed = || Error::system(format!("bind to {own}"));
    let socket = UdpSocket::bind(own).map_err(failed())?;
    let tick = core::time::Duration::from_nanos(TICK.as_nanos());
    socket.set_read_timeout(Some(tick)).map_err(failed())?;
    Ok(socket)
}

/// The server sends to the UE.
pub(crate) fn send_down(context: &FlowContext) -> Result<(), Error> {
    let socket = bound(context, SERVER_ADDRESS)?;
    send(context, &socket, ue_end(context))
}

/// The UE sends to the server.
pub(crate) fn send_up(context: &FlowContext) -> Result<(), Error> {
    let socket = bound(context, ue_address(context.spec.ue))?;
    send(context, &socket, server_end(context))
}

/// The UE takes what comes.
pub(crate) fn receive_down(context: &FlowContext) -> Result<(), Error> {
    let socket = bound(context, ue_address(context.spec.ue))?;
    receive(context, &socket);
    Ok(())
}

/// The server takes what comes.
pub(crate) fn receive_up(context: &FlowContext) -> Result<(), Error> {
    let socket = bound(context, SERVER_ADDRESS)?;
    receive(context, &socket);
    Ok(())
}

fn send(context: &FlowContext, socket: &UdpSocket, to: SocketAddrV4) -> Result<(), Error> {
    let start = Instant::ZERO + context.spec.start;
    let rng = context.streams.stream("application");
    let Some(mut source) = Datagrams::new(&context.spec.app, start, rng) else {
        return Ok(());
    };
    if !context.sleep_until(start) {
        return Ok(());
    }
    context.report(Event::Started);
    set_codepoint(socket, context.spec.ecn)?;
    let mut payload = vec![0u8; source.payload().get() as usize];
    let mut sent = 0;
    while let Some(due) = source.next_deadline() {
        if !context.sleep_until(due) {
            return Ok(());
        }
        while let Some(number) = source.send(context.clock.now()) {
            let stamp = Stamp {
                number: number as u32,
                sent_at: context.clock.now(),
            };
            stamp.write(&mut payload);
            // one that the kernel has no room for is one that the host has lost
            sent += u64::from(socket.send_to(&payload, to).is_ok());
        }
    }
    context.report(Event::LastDatagram(sent));
    Ok(())
}

/// What the IP headers of a socket's datagrams carry of ECN (RFC 3168 section 5).
fn set_codepoint(socket: &UdpSocket, ecn: EcnSpec) -> Result<(), Error> {
    let bits = match ecn {
        EcnSpec::Off => return Ok(()),
        EcnSpec::Classic => 0b10,
        EcnSpec::L4s => 0b01,
    };
    socket_options::set_int(socket, libc::IPPROTO_IP, libc::IP_TOS, bits)
        .map_err(Error::system("set IP_TOS of a socket"))
}

/// The radio thread measures; the application only keeps the buffer empty.
fn receive(context: &FlowContext, socket: &UdpSocket) {
    let mut buffer = [0u8; 2048];
    while !context.has_stopped() {
        let _ = socket.recv(&mut buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagrams_codepoint_is_that_of_the_flow() {
        for (ecn, bits) in [
            (EcnSpec::Off, 0),
            (EcnSpec::Classic, 0b10),
            (EcnSpec::L4s, 0b01),
        ] {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            set_codepoint(&socket, ecn).expect("an option");
            let tos = rustix::net::sockopt::ip_tos(&socket).expect("an option");
            assert_eq!(tos, bits, "{ecn:?}");
        }
    }

    #[test]
    fn stamps_are_read_as_written() {
        let stamp = Stamp {
            number: 7,
            sent_at: Instant::from_nanos(123_456_789_012),
        };
        let mut payload = [0; 40];
        stamp.write(&mut payload);
        assert_eq!(Stamp::read(&payload), Some(stamp));
        assert_eq!(Stamp::read(&payload[..11]), None);
    }
}
