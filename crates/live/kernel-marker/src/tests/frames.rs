//! Packets as bytes.

/// What a frame is made of.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// VLAN tags, outermost first.
    pub(super) tags: Vec<u16>,
    pub(super) ecn: u8,
    pub(super) protocol: u8,
    /// From the transport header on.
    pub(super) payload: Vec<u8>,
    /// IPv4's, or IPv6's extension headers: the number of the first and their bytes.
    pub(super) options: (u8, Vec<u8>),
    /// IPv4's flags and offset.
    pub(super) fragment: u16,
}

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

impl Frame {
    /// Of so many bytes after the transport header.
    pub(super) fn udp(ecn: u8, bytes: usize) -> Self {
        let mut payload = vec![0x12, 0x34, 0x01, 0xbb];
        payload.extend(u16::try_from(bytes + 8).expect("fits").to_be_bytes());
        payload.resize(8 + bytes, 0);
        Self {
            tags: Vec::new(),
            ecn,
            protocol: UDP,
            payload,
            options: (0, Vec::new()),
            fragment: 0,
        }
    }

    pub(super) fn tcp(ecn: u8, bytes: usize) -> Self {
        let mut payload = vec![0x12, 0x34, 0x01, 0xbb];
        payload.resize(20 + bytes, 0);
        payload[12] = 5 << 4;
        payload[13] = 0x10;
        Self {
            protocol: TCP,
            payload,
            ..Self::udp(ecn, 0)
        }
    }

    fn link(&self, ethertype: u16) -> Vec<u8> {
        let mut bytes = vec![2; 12];
        for tag in &self.tags {
            bytes.extend([0x81, 0x00]);
            bytes.extend(tag.to_be_bytes());
        }
        bytes.extend(ethertype.to_be_bytes());
        bytes
    }

    /// To 10.0.0.`ue`.
    pub(super) fn v4(&self, ue: u8) -> Vec<u8> {
        let options = &self.options.1;
        let size = 20 + options.len();
        let total = u16::try_from(size + self.payload.len()).unwrap_or(0);
        let mut header = vec![0x40 | (size / 4) as u8, 0xb8 | self.ecn];
        header.extend(total.to_be_bytes());
        header.extend([0x77, 0x01]);
        header.extend(self.fragment.to_be_bytes());
        header.extend([63, self.protocol, 0, 0, 192, 0, 2, 9, 10, 0, 0, ue]);
        header.extend(options);
        let sum = checksum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        let mut bytes = self.link(0x0800);
        bytes.extend(header);
        bytes.extend(&self.payload);
        bytes
    }

    /// To 2001:db8::`ue`.
    pub(super) fn v6(&self, ue: u8) -> Vec<u8> {
        let (first, extensions) = &self.options;
        let next = match extensions.is_empty() {
            true => self.protocol,
            false => *first,
        };
        let length = u16::try_from(extensions.len() + self.payload.len()).unwrap_or(0);
        let mut header = vec![0x6b, 0x80 | self.ecn << 4 | 0x0a, 0xbc, 0xde];
        header.extend(length.to_be_bytes());
        header.extend([next, 63]);
        let mut address = [0; 16];
        address[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        address[14] = 9;
        header.extend(address);
        address[14] = 0;
        address[15] = ue;
        header.extend(address);
        let mut bytes = self.link(0x86dd);
        bytes.extend(header);
        bytes.extend(extensions);
        bytes.extend(&self.payload);
        bytes
    }
}

/// RFC 1071; of a header with its checksum it is 0.
pub(super) fn checksum(header: &[u8]) -> u16 {
    let halves = header.as_chunks::<2>().0.iter();
    let mut sum: u32 = halves
        .map(|half| u32::from(u16::from_be_bytes(*half)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Where the IP header begins.
pub(super) fn ip_at(frame: &[u8]) -> usize {
    let mut at = 12;
    while frame[at..at + 2] == [0x81, 0x00] {
        at += 4;
    }
    at + 2
}

/// The ECN field, after a look at IPv4's checksum.
pub(super) fn ecn_of(frame: &[u8]) -> u8 {
    ecn_of_ip(&frame[ip_at(frame)..])
}

/// The same of a packet without a link header.
pub(super) fn ecn_of_ip(ip: &[u8]) -> u8 {
    if ip[0] >> 4 == 6 {
        return ip[1] >> 4 & 3;
    }
    let size = usize::from(ip[0] & 15) * 4;
    assert_eq!(checksum(&ip[..size]), 0, "{ip:x?}");
    ip[1] & 3
}
