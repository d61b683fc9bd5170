//! The small data types of ETSI GS MEC 012 clause 6.5, as they stand in JSON.

use core::net::IpAddr;
use serde::{Deserialize, Serialize};

/// Time since 1970-01-01 00:00:00 UTC (clause 6.5.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with seconds and nanoSeconds"
)]
pub struct TimeStamp {
    /// Whole seconds.
    pub seconds: u32,
    /// The rest, in nanoseconds.
    pub nano_seconds: u32,
}

/// A public land mobile network (clause 6.5.5).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(expecting = "an object with mcc and mnc")]
pub struct Plmn {
    /// Mobile country code, 3 digits.
    pub mcc: String,
    /// Mobile network code, 2 or 3 digits.
    pub mnc: String,
}

/// An E-UTRAN cell global identity (clause 6.5.6).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with plmn and cellId")]
pub struct Ecgi {
    /// The network.
    pub plmn: Plmn,
    /// The cell: 28 bits, as text of 0 and 1.
    pub cell_id: String,
}

/// An NR cell global identity (clause 6.5.7).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with plmn and nrCellId"
)]
pub struct Nrcgi {
    /// The network.
    pub plmn: Plmn,
    /// The cell: 36 bits, as text of 0 and 1.
    pub nr_cell_id: String,
}

/// What distinguishes a UE or a flow (clause 6.5.4).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(expecting = "an object with type and value")]
pub struct AssociateId {
    /// 1 IPv4 address, 2 IPv6 address, 3 address behind a NAT, 4 GTP TEID (0 is reserved).
    #[serde(rename = "type")]
    pub kind: u8,
    /// The identifier as text.
    pub value: String,
}

/// The type of an [`AssociateId`] that identifies nothing yet.
const RESERVED: u8 = 0;

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

    /// Whether its type is one that identifies UEs. The reserved type does not: the document permits it,
    /// and in a filter it restricts nothing.
    pub fn is_assigned(&self) -> bool {
        self.kind != RESERVED
    }

    /// Whether it can be the identifier of some UE, or is of the reserved type.
    ///
    /// # Errors
    /// What is allowed for its type.
    pub fn check(&self) -> Result<(), &'static str> {
        let text = self.value.trim();
        let is_address = || text.parse::<IpAddr>().ok();
        match self.kind {
            1 if is_address().is_none_or(|ip| ip.is_ipv6()) => Err("an IPv4 address"),
            2 if is_address().is_none_or(|ip| ip.is_ipv4()) => Err("an IPv6 address"),
            3 if is_address().is_none() => Err("an IP address"),
            4 if text.parse::<u32>().is_err() => Err("a whole number of 32 bits"),
            RESERVED..=4 => Ok(()),
            _ => Err("a type from 0 to 4"),
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

/// Whether text can name a cell: bits, or hexadecimal digits of as many bits.
pub fn is_cell(text: &str, bits: usize) -> bool {
    let text = text.trim();
    if text.len() == bits {
        return text.bytes().all(|digit| matches!(digit, b'0' | b'1'));
    }
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    let digits = digits.unwrap_or(text);
    let is_short = (1..=bits.div_ceil(4)).contains(&digits.len());
    is_short && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
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
    fn text_that_can_name_no_cell_or_ue_is_recognised() {
        for good in ["1", "0x800000B", "800000b", "1000000000000000000000001011"] {
            assert!(is_cell(good, 28), "{good}");
        }
        for bad in [
            "",
            "zzz",
            "0x",
            "+1",
            "123456789",
            "1000000000000000000000001012",
        ] {
            assert!(!is_cell(bad, 28), "{bad}");
        }
        let check = |kind, value: &str| {
            let value = value.to_owned();
            AssociateId { kind, value }.check().is_ok()
        };
        assert!(check(1, "10.45.0.2") && check(2, "2001:db8::1") && check(3, "10.45.0.2"));
        assert!(check(3, "2001:db8::1") && check(4, "77"));
        assert!(!check(1, "999.1.1.1") && !check(1, "2001:db8::1") && !check(2, "10.45.0.2"));
        assert!(!check(3, "zzz") && !check(4, "zzz") && !check(4, "4294967296"));
        assert!(check(0, "any text") && !check(5, "10.45.0.2"));
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
