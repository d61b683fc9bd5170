//! What SYN and SYN-ACK agree on (RFC 9768 3.1.1 to 3.1.3, table 2).

use super::super::segment::Flags;
use super::Ace;
use queue::Ecn;

/// The mode of both half-connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum Agreement {
    /// No ECN.
    None,
    /// Feedback of RFC 3168.
    Classic,
    /// Feedback of RFC 9768. With a SYN-ACK: the codepoint with which the SYN had arrived, none if
    /// that is not stated.
    Accurate(Option<Ecn>),
}

/// What a server that has accurate feedback makes of a SYN.
pub(in crate::tcp) fn of_syn(flags: Flags) -> Agreement {
    match Ace::of(flags).value() {
        0b000 => Agreement::None,
        0b011 => Agreement::Classic,
        // 3.1.3: all others as 111
        _ => Agreement::Accurate(None),
    }
}

/// What a client whose SYN had all three flags makes of the SYN-ACK.
pub(in crate::tcp) fn of_syn_ack(flags: Flags) -> Agreement {
    let ace = Ace::of(flags);
    match ace.value() {
        // 111: a server that reflects flags which it does not understand
        0b000 | 0b111 => Agreement::None,
        0b001 => Agreement::Classic,
        // 3.1.3: 101 as if the SYN had arrived unchanged
        _ => Agreement::Accurate(ace.handshake()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(ae: u8, cwr: u8, ece: u8) -> Flags {
        Flags::AE.when(ae == 1) | Flags::CWR.when(cwr == 1) | Flags::ECE.when(ece == 1)
    }

    /// Table 2, the column of the SYN-ACK.
    #[test]
    fn rfc_9768_table_2_the_answers_to_a_client() {
        for (answer, mode) in [
            (flags(0, 1, 0), Agreement::Accurate(Some(Ecn::NotEct))),
            (flags(0, 1, 1), Agreement::Accurate(Some(Ecn::Ect1))),
            (flags(1, 0, 0), Agreement::Accurate(Some(Ecn::Ect0))),
            (flags(1, 1, 0), Agreement::Accurate(Some(Ecn::Ce))),
            (flags(1, 0, 1), Agreement::Accurate(None)),
            (flags(0, 0, 1), Agreement::Classic),
            (flags(0, 0, 0), Agreement::None),
            (flags(1, 1, 1), Agreement::None),
        ] {
            assert_eq!(of_syn_ack(answer), mode, "{answer:?}");
        }
    }

    #[test]
    fn rfc_9768_3_1_3_a_server_takes_unknown_requests_for_its_own() {
        assert_eq!(of_syn(flags(0, 0, 0)), Agreement::None);
        assert_eq!(of_syn(flags(0, 1, 1)), Agreement::Classic);
        for (ae, cwr, ece) in [
            (1, 1, 1),
            (0, 0, 1),
            (0, 1, 0),
            (1, 0, 0),
            (1, 0, 1),
            (1, 1, 0),
        ] {
            assert_eq!(of_syn(flags(ae, cwr, ece)), Agreement::Accurate(None));
        }
    }
}
