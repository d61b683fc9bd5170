//! The small data types of ETSI GS MEC 012 clause 6.5, as they stand in JSON.

use core::net::IpAddr;
use serde::{Deserialize, Serialize};

/// Time since 1970-01-01 00:00:00 UTC (clause 6.5.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimeStamp {
    /// Whole seconds.
    pub seconds: u32,
    /// The rest, in nanoseconds.
    pub nano_seconds: u32,
}

/// A public land mobile network (clause 6.5.5).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plmn {
    /// Mobile country code, 3 digits.
    pub mcc: String,
    /// Mobile network code, 2 or 3 digits.
    pub mnc: String,
}

/// An E-UTRAN cell global identity (clause 6.5.6).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ecgi {
    /// The network.
    pub plmn: Plmn,
    /// The cell: 28 bits, as text of 0 and 1.
    pub cell_id: String,
}

/// An NR cell global identity (clause 6.5.7).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nrcgi {
    /// The network.
    pub plmn: Plmn,
    /// The cell: 36 bits, as text of 0 and 1.
    pub nr_cell_id: String,
}

/// What distinguishes a UE or a flow (clause 6.5.4).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AssociateId {
    /// 1 IPv4 address, 2 IPv6 address, 3 address behind a NAT, 4 GTP TEID (0 is reserved).
    #[serde(rename = "type")]
    pub kind: u8,
    /// The identifier as text.
    pub value: String,
}

impl AssociateId {
    /// Of an address.
    pub fn address(ip: IpAddr) -> Self {
        Self {
            kind: if ip.is_ipv4() { 1 } else { 2 },
            value: ip.to_string(),
        }
    }

    /// Of a tunnel.
    pub fn teid(teid: u32) -> Self {
        Self {
            kind: 4,
            value: teid.to_string(),
        }
    }

    /// Whether it reports the UE with this address or tunnel.
    pub fn is(&self, ip: Option<IpAddr>, teid: Option<u32>) -> bool {
        match self.kind {
            1..=3 => ip.is_some() && self.value.trim().parse().ok() == ip,
            4 => teid.is_some() && self.value.trim().parse().ok() == teid,
            _ => false,
        }
    }
}

/// A cell's identity as text of `bits` characters 0 and 1.
pub fn bit_string(identity: u64, bits: usize) -> String {
    format!("{identity:0bits$b}")
}

/// Whether text names a cell: its bits, or the same number in hexadecimal digits.
pub fn names_cell(text: &str, identity: u64, bits: usize) -> bool {
    let text = text.trim();
    if text.len() == bits {
        return text == bit_string(identity, bits);
    }
    let digits = text.trim_start_matches("0x").trim_start_matches("0X");
    digits.len() <= bits.div_ceil(4) && u64::from_str_radix(digits, 16) == Ok(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_28_bits_and_its_hexadecimal_digits_name_it_too() {
        assert_eq!(bit_string(0x800_000b, 28), "1000000000000000000000001011");
        assert!(names_cell("1000000000000000000000001011", 0x800_000b, 28));
        assert!(names_cell("0x800000B", 0x800_000b, 28));
        assert!(!names_cell("1000000000000000000000001010", 0x800_000b, 28));
        assert!(!names_cell("", 0, 28));
    }

    #[test]
    fn an_associate_id_identifies_one_ue() {
        let ip: IpAddr = "2001:db8::1".parse().expect("an address");
        assert_eq!(AssociateId::address(ip).kind, 2);
        let written = AssociateId {
            kind: 2,
            value: "2001:0db8:0::1".into(),
        };
        assert!(written.is(Some(ip), None));
        assert!(!written.is(None, None));
        assert!(AssociateId::teid(7).is(None, Some(7)));
        assert!(!AssociateId::teid(7).is(Some(ip), Some(8)));
    }
}
