//! PDCP: sequence numbers and in-order delivery (TS 38.323 5.2, TS 36.323 5.1).
//!
//! Every SDU gets a COUNT; its low bits, the sequence number, travel in the header. The receiver
//! infers COUNT from the sequence number and the COUNT that it expects (TS 38.323 5.2.2.1), and
//! delivers in ascending order. The sender keeps fewer than half of the sequence numbers
//! outstanding, so that the inference is never ambiguous.
//!
//! *Deviations*: ciphering, integrity and header compression are not modelled. t-Reordering of an
//! acknowledged bearer is infinite (the field's default, TS 38.331 PDCP-Config); of an
//! unacknowledged one it is that of the RLC's t-Reassembly, and one timer stands for both.

use crate::config::Rat;

/// Width of sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnLength {
    /// 12 bits: a header of 2 bytes (TS 36.323 6.2.3).
    Bits12,
    /// 18 bits: a header of 3 bytes (TS 38.323 6.2.2.3).
    Bits18,
}

impl SnLength {
    /// What data bearers of a technology use here.
    pub(crate) const fn of(rat: Rat) -> Self {
        match rat {
            Rat::Lte => Self::Bits12,
            Rat::Nr { .. } => Self::Bits18,
        }
    }
    const fn bits(self) -> u32 {
        match self {
            Self::Bits12 => 12,
            Self::Bits18 => 18,
        }
    }
    /// Bytes of a data PDU's header.
    pub(crate) const fn header(self) -> u64 {
        match self {
            Self::Bits12 => 2,
            Self::Bits18 => 3,
        }
    }
    /// Half of the sequence numbers.
    pub(crate) const fn window(self) -> u64 {
        1 << (self.bits() - 1)
    }
    /// The sequence number of a COUNT.
    pub(crate) const fn sn(self, count: u32) -> u32 {
        count & ((1 << self.bits()) - 1)
    }
    /// COUNT of a received sequence number, `rx_deliv` being the COUNT of the first SDU that has
    /// not been delivered (TS 38.323 5.2.2.1).
    pub(crate) const fn count(self, sn: u32, rx_deliv: u32) -> u32 {
        let (window, expected) = (self.window() as u32, self.sn(rx_deliv));
        let hfn = rx_deliv >> self.bits();
        // SN(RX_DELIV) - Window_Size may be below zero, hence the sums
        let hfn = if sn + window < expected {
            hfn.wrapping_add(1)
        } else if sn >= expected + window {
            hfn.wrapping_sub(1)
        } else {
            hfn
        };
        (hfn << self.bits()) | sn
    }
}

/// Both ends of one direction of a bearer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pdcp {
    sn: SnLength,
    /// TX_NEXT: COUNT of the next SDU.
    tx_next: u32,
    /// RX_DELIV: COUNT of the first SDU that has not been delivered to the upper layers.
    rx_deliv: u32,
}

impl Pdcp {
    pub(crate) const fn new(sn: SnLength) -> Self {
        Self {
            sn,
            tx_next: 0,
            rx_deliv: 0,
        }
    }
    /// The same with no SDU yet.
    pub(crate) const fn anew(&self) -> Self {
        Self::new(self.sn)
    }
    /// The sequence number of a new SDU.
    pub(crate) const fn number(&mut self) -> u32 {
        let sn = self.sn.sn(self.tx_next);
        self.tx_next = self.tx_next.wrapping_add(1);
        sn
    }
    /// Outstanding SDUs reach half of the sequence numbers.
    pub(crate) const fn is_stalled(&self) -> bool {
        self.tx_next.wrapping_sub(self.rx_deliv) as u64 >= self.sn.window()
    }
    /// The SDU of this sequence number leaves for the upper layers, or is known to be lost; true if
    /// it is the next in order.
    pub(crate) const fn deliver(&mut self, sn: u32) -> bool {
        let count = self.sn.count(sn, self.rx_deliv);
        let in_order = count == self.rx_deliv;
        self.rx_deliv = count.wrapping_add(1);
        in_order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn count_of_ts_38_323_section_5_2_2_1() {
        let sn = SnLength::Bits12;
        // RX_DELIV = (1, 10): SN 4000 >= 10 + 2048 belongs to the HFN before
        assert_eq!(sn.count(4000, (1 << 12) | 10), 4000);
        // SN 2057 < 10 + 2048 is ahead in the same HFN
        assert_eq!(sn.count(2057, (1 << 12) | 10), (1 << 12) | 2057);
        // RX_DELIV = (1, 4090): SN 3 < 4090 - 2048 has wrapped
        assert_eq!(sn.count(3, (1 << 12) | 4090), (2 << 12) | 3);
    }

    proptest! {
        #[test]
        fn count_is_inferred_within_the_window(
            rx_deliv in 1u32 << 20..1 << 30,
            ahead in 0u32..2048,
            behind in 1u32..2048,
        ) {
            for sn in [SnLength::Bits12, SnLength::Bits18] {
                prop_assert_eq!(sn.count(sn.sn(rx_deliv + ahead), rx_deliv), rx_deliv + ahead);
                prop_assert_eq!(sn.count(sn.sn(rx_deliv - behind), rx_deliv), rx_deliv - behind);
            }
        }
    }

    #[test]
    fn stalls_at_half_of_the_numbers() {
        let mut pdcp = Pdcp::new(SnLength::Bits12);
        let first = pdcp.number();
        for _ in 1..2048 {
            assert!(!pdcp.is_stalled());
            pdcp.number();
        }
        assert!(pdcp.is_stalled());
        assert!(pdcp.deliver(first));
        assert!(!pdcp.is_stalled());
    }
}
