//! `struct tcp_info`: offsets as in include/uapi/linux/tcp.h, which only ever grows at its end.

use crate::get_bytes;
use std::io;
use std::os::fd::AsFd;

/// The part of `struct tcp_info` that we use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Both ends have agreed on ECN (RFC 3168).
    pub has_ecn: bool,
    /// Our windows are multiples of two to this power, bytes (RFC 7323).
    pub rcv_wscale: u8,
    /// Maximum segment size for sending, bytes.
    pub snd_mss: u32,
    /// Segment size of the peer, as the kernel estimates it, bytes.
    pub rcv_mss: u32,
    /// Segments in flight.
    pub unacked: u32,
    /// Of those, selectively acknowledged.
    pub sacked: u32,
    /// Of those, found lost.
    pub lost: u32,
    /// Of those found lost, sent again.
    pub retrans: u32,
    /// Smoothed round-trip time, us; 0 before the first sample.
    pub rtt: u32,
    /// Congestion window, segments.
    pub snd_cwnd: u32,
    /// Segments sent again so far.
    pub total_retrans: u32,
    /// Bytes acknowledged, the handshake's not counted as the kernel does from 4.1.
    pub bytes_acked: u64,
    /// Segments that have arrived.
    pub segs_in: u32,
    /// Bytes taken from the application and not sent yet.
    pub notsent_bytes: u32,
    /// Minimum round-trip time of the last minutes, us; `u32::MAX` before the first sample.
    pub min_rtt: u32,
    /// Rate of delivery, byte/s; 0 where it is not known.
    pub delivery_rate: u64,
    /// Payload sent again, bytes.
    pub bytes_retrans: u64,
    /// The peer's window, bytes; 0 where the kernel does not report it (before 5.4).
    pub snd_wnd: u32,
    /// Our window as the peer has been shown it, bytes; 0 where the kernel does not report it (before 6.2).
    pub rcv_wnd: u32,
}

/// Bytes of `struct tcp_info` that we read, those of Linux 6.2.
const BYTES: usize = 240;
/// `TCPI_OPT_ECN` of `tcpi_options`.
const OPT_ECN: u8 = 8;

/// Reads `TCP_INFO`.
///
/// # Errors
/// The kernel's.
pub fn tcp_info(fd: impl AsFd) -> io::Result<TcpInfo> {
    let mut bytes = [0; BYTES];
    get_bytes(fd, libc::SOL_TCP, libc::TCP_INFO, &mut bytes)?;
    Ok(parse(&bytes))
}

fn parse(bytes: &[u8; BYTES]) -> TcpInfo {
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
    let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
    TcpInfo {
        has_ecn: bytes[5] & OPT_ECN != 0,
        // two bit fields of four bits, of which the first is in the lower bits on little-endian machines
        rcv_wscale: if cfg!(target_endian = "little") {
            bytes[6] >> 4
        } else {
            bytes[6] & 15
        },
        snd_mss: word(16),
        rcv_mss: word(20),
        unacked: word(24),
        sacked: word(28),
        lost: word(32),
        retrans: word(36),
        rtt: word(68),
        snd_cwnd: word(80),
        total_retrans: word(100),
        bytes_acked: long(120),
        segs_in: word(140),
        notsent_bytes: word(144),
        min_rtt: word(148),
        delivery_rate: long(160),
        bytes_retrans: long(208),
        snd_wnd: word(228),
        rcv_wnd: word(232),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn tcp_info_of_a_real_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("bound");
        let mut client = TcpStream::connect(address).expect("connected");
        let (mut server, _) = listener.accept().expect("accepted");
        server.write_all(&[1; 5000]).expect("sent");
        client.read_exact(&mut [0; 5000]).expect("received");
        let info = tcp_info(&server).expect("TCP_INFO");
        assert!(info.snd_mss > 500 && info.snd_cwnd >= 2, "{info:?}");
        assert!(info.bytes_acked <= 5001, "{info:?}");
        assert!(info.min_rtt > 0, "{info:?}");
    }

    /// Each field is read where the kernel's header has it: every byte is its own offset.
    #[test]
    fn fields_are_read_at_their_offsets() {
        let mut bytes = [0; BYTES];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = at as u8;
        }
        let info = parse(&bytes);
        let first = |value: u32| value.to_ne_bytes()[0];
        let words = [
            (16, info.snd_mss),
            (20, info.rcv_mss),
            (24, info.unacked),
            (28, info.sacked),
            (32, info.lost),
            (36, info.retrans),
            (68, info.rtt),
            (80, info.snd_cwnd),
            (100, info.total_retrans),
            (140, info.segs_in),
            (144, info.notsent_bytes),
            (148, info.min_rtt),
            (228, info.snd_wnd),
            (232, info.rcv_wnd),
        ];
        for (at, value) in words {
            assert_eq!(first(value), at);
        }
        let longs = [
            (120, info.bytes_acked),
            (160, info.delivery_rate),
            (208, info.bytes_retrans),
        ];
        for (at, value) in longs {
            assert_eq!(value.to_ne_bytes()[0], at);
        }
        assert!(!info.has_ecn);
        bytes[5] = OPT_ECN;
        assert!(parse(&bytes).has_ecn);
    }
}
