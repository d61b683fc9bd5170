//! What the program has counted.

use edge::marker;

/// Packets that were forwarded without a verdict, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unjudged {
    /// A header of theirs (IP and what has to follow it, also in a tunnel; the tunnel's) is truncated or contradicts itself.
    pub malformed: u64,
    /// Neither IPv4 nor IPv6.
    pub not_ip: u64,
    /// Segments of this machine's own TCP sockets.
    pub own_tcp: u64,
    /// Messages of GTP-U that hold no packet: echo, error indication, end marker and all but the G-PDU.
    pub signalling: u64,
    /// Segments of super-packets that hold several tunnelled packets, perhaps of several UEs: a mark would be the first one's.
    pub bundled: u64,
}

/// What has become of all packets since the marker was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By verdict, in packets as they are on the wire: a super-packet counts by its segments.
    pub judged: marker::Counts,
    /// Forwarded without a verdict.
    pub unjudged: Unjudged,
    /// Fragments: judged, as one flow by addresses and protocol.
    pub fragments: u64,
    /// Marks that could not be written: forwarded as they were.
    pub unwritten: u64,
    /// Handed to who holds packets of their UE.
    pub redirected: u64,
    /// Came back from there, and passed.
    pub returned: u64,
}

/// Words of the program's `struct counts`: those of the verdicts, then the others.
pub(crate) const WORDS: usize = marker::Verdict::ALL.len() + 9;

/// Of all processors.
pub(crate) fn sum(of_cpus: &[Vec<u8>]) -> Counts {
    let mut words = [0_u64; WORDS];
    for bytes in of_cpus {
        for (word, part) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word += u64::from_ne_bytes(*part);
        }
    }
    let mut judged = marker::Counts::default();
    let (of_verdicts, others) = words.split_at(marker::Verdict::ALL.len());
    for (verdict, packets) in marker::Verdict::ALL.into_iter().zip(of_verdicts) {
        judged.add(verdict, *packets);
    }
    Counts {
        judged,
        unjudged: Unjudged {
            malformed: others[0],
            not_ip: others[1],
            own_tcp: others[2],
            signalling: others[3],
            bundled: others[4],
        },
        fragments: others[5],
        unwritten: others[6],
        redirected: others[7],
        returned: others[8],
    }
}
