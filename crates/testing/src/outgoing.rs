//! A packet as the kernel hands it to a program at the egress of an interface, as `bpf/native_packet.h` of `kernel-cc` has it:
//! for tests that compare what programs read with what the bytes mean.

/// The packet, and what is known of it besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// From the link header on, if there is one.
    pub bytes: Vec<u8>,
    /// So many of them lie in one piece.
    pub linear: u32,
    /// Where the network header begins.
    pub network: u32,
    /// Payload of each segment of a super-packet; 0: it is none.
    pub gso_size: u32,
    /// How many segments a super-packet has; 0: that is not stated.
    pub gso_segs: u32,
    /// The socket that it is of.
    pub socket: OfSocket,
    /// The interface's packets begin with an Ethernet header.
    pub link_header: bool,
    /// Connections are split here.
    pub splits_tcp: bool,
    /// GTP-U is looked into.
    pub gtp_u: bool,
    /// VXLAN is looked into.
    pub vxlan: bool,
    /// Of flows' hashes.
    pub seed: u32,
}

/// Whose packet it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfSocket {
    /// It is forwarded.
    #[default]
    None,
    /// A TCP socket's.
    Tcp,
    /// A UDP socket's.
    Udp,
    /// A request's to connect, which is no full socket.
    Request,
}

impl Outgoing {
    /// Bytes of a packet that a program of this machine is asked about.
    pub const LONGEST: usize = 464;
    /// Bytes before the packet in what a fuzz target is given.
    pub const HEAD: usize = 9;

    /// All bytes in one piece, forwarded by an Ethernet interface.
    pub fn frame(bytes: Vec<u8>) -> Self {
        Self {
            linear: bytes.len() as u32,
            network: 14,
            link_header: true,
            bytes,
            ..Self::default()
        }
    }

    /// What a fuzz target is given; none without a head.
    pub fn of_any(bytes: &[u8]) -> Option<Self> {
        let ([flags, rest @ ..], packet) = bytes.split_first_chunk::<{ Self::HEAD }>()?;
        let half = |at: usize| u32::from(u16::from_le_bytes([rest[at], rest[at + 1]]));
        let is = |bit: u8| flags >> bit & 1 == 1;
        Some(Self {
            bytes: packet.to_vec(),
            linear: match is(6) {
                true => packet.len() as u32,
                false => half(0),
            },
            gso_size: half(2),
            gso_segs: half(4),
            network: u32::from(rest[6]),
            seed: u32::from(rest[7]),
            link_header: is(0),
            splits_tcp: is(1),
            gtp_u: is(2),
            vxlan: is(3),
            socket: match flags >> 4 & 3 {
                0 => OfSocket::None,
                1 => OfSocket::Tcp,
                2 => OfSocket::Udp,
                _ => OfSocket::Request,
            },
        })
    }

    /// `struct asked`.
    pub fn words(&self) -> [u32; 10] {
        [
            self.bytes.len() as u32,
            self.linear,
            self.network,
            self.gso_size,
            self.gso_segs,
            self.socket as u32,
            u32::from(self.link_header),
            u32::from(self.splits_tcp),
            u32::from(self.gtp_u) | u32::from(self.vxlan) << 1,
            self.seed,
        ]
    }

    /// `struct event`.
    ///
    /// # Panics
    /// If it is longer than [`Self::LONGEST`].
    pub fn event(&self) -> Vec<u8> {
        assert!(self.bytes.len() <= Self::LONGEST, "{}", self.bytes.len());
        let words = self.words().map(u32::to_ne_bytes);
        let mut event = [words.as_flattened(), &self.bytes].concat();
        event.resize(words.as_flattened().len() + Self::LONGEST, 0);
        event
    }

    /// Words of the packet from an offset on; none if they are not all there.
    pub fn at<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..)?.first_chunk().copied()
    }
}
