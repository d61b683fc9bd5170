//! Who a UE is: the identities that sources use, and the addresses that belong to them.
//!
//! Sources name a UE by RNTI, AMF UE NGAP identity, GTP TEID or IMSI; the proxy has addresses only.
//! Nothing but a mapping leads from one to the other. An identity without one is a
//! [`MissingMapping`] that names it; no address is ever guessed.

use crate::Rnti;
use core::fmt;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// An identity of a UE.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum UeId {
    /// International mobile subscriber identity, up to 15 digits.
    Imsi(String),
    /// Tunnel endpoint identifier of the UE's GTP-U tunnel.
    Teid(u32),
    /// AMF UE NGAP identity (TS 38.413 9.3.3.1: 0 to 2^40 - 1).
    AmfUeNgapId(u64),
    /// Temporary identity in its cell. It is used again for others: the weakest of all.
    Rnti(Rnti),
}

impl fmt::Display for UeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Imsi(imsi) => write!(f, "IMSI {imsi}"),
            Self::Teid(teid) => write!(f, "TEID {teid}"),
            Self::AmfUeNgapId(id) => write!(f, "AMF UE NGAP id {id}"),
            Self::Rnti(rnti) => write!(f, "RNTI {}", rnti.0),
        }
    }
}

/// No mapping leads from a UE's identities to what was requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no {wanted} is configured for {}; add a [[ue]] entry with it", list(.ids))]
pub struct MissingMapping {
    /// Every identity that the source gave.
    pub ids: Vec<UeId>,
    /// What was looked for: `address` or `RNTI`.
    pub wanted: &'static str,
}

fn list(ids: &[UeId]) -> String {
    let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// Two UEs with one identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{id} is given to {first} and to {second}; an identity belongs to one UE")]
pub struct SharedIdentity {
    /// The identity.
    pub id: UeId,
    /// The UE that had it first.
    pub first: IpAddr,
    /// The other.
    pub second: IpAddr,
}

/// A UE as configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownUe {
    /// Its address.
    pub ip: IpAddr,
    /// Its identities; more than one is common.
    pub ids: Vec<UeId>,
}

/// From identities to UEs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UeMap {
    ues: Vec<KnownUe>,
    by_id: BTreeMap<UeId, usize>,
}

impl UeMap {
    /// From the list of known UEs.
    ///
    /// # Errors
    /// One identity given to two UEs.
    pub fn new(ues: Vec<KnownUe>) -> Result<Self, SharedIdentity> {
        let mut by_id = BTreeMap::new();
        for (index, ue) in ues.iter().enumerate() {
            for id in &ue.ids {
                if let Some(before) = by_id.insert(id.clone(), index) {
                    return Err(SharedIdentity {
                        id: id.clone(),
                        first: ues[before].ip,
                        second: ue.ip,
                    });
                }
            }
        }
        Ok(Self { ues, by_id })
    }

    /// The address of the UE with these identities. The strongest identity that is known decides
    /// (IMSI, TEID, AMF UE NGAP id, then RNTI).
    ///
    /// # Errors
    /// None of them is known.
    pub fn address(&self, ids: &[UeId]) -> Result<IpAddr, MissingMapping> {
        self.find(ids)
            .map(|ue| ue.ip)
            .ok_or_else(|| missing(ids, "address"))
    }

    /// The RNTI that is configured for the UE with these identities.
    ///
    /// # Errors
    /// None of them is known, or the UE has no RNTI.
    pub fn rnti(&self, ids: &[UeId]) -> Result<Rnti, MissingMapping> {
        self.find(ids)
            .and_then(|ue| {
                ue.ids.iter().find_map(|id| match id {
                    UeId::Rnti(rnti) => Some(*rnti),
                    _ => None,
                })
            })
            .ok_or_else(|| missing(ids, "RNTI"))
    }

    /// All known UEs, in the order given.
    pub fn ues(&self) -> &[KnownUe] {
        &self.ues
    }

    fn find(&self, ids: &[UeId]) -> Option<&KnownUe> {
        let mut sorted: Vec<&UeId> = ids.iter().collect();
        sorted.sort();
        let index = sorted.into_iter().find_map(|id| self.by_id.get(id))?;
        self.ues.get(*index)
    }
}

fn missing(ids: &[UeId], wanted: &'static str) -> MissingMapping {
    MissingMapping {
        ids: ids.to_vec(),
        wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 45, 0, last])
    }

    fn map() -> UeMap {
        UeMap::new(vec![
            KnownUe {
                ip: ip(2),
                ids: vec![UeId::Rnti(Rnti(7)), UeId::Imsi("001".into())],
            },
            KnownUe {
                ip: ip(3),
                ids: vec![UeId::Teid(9)],
            },
        ])
        .expect("no identity twice")
    }

    #[test]
    fn a_missing_mapping_names_every_identity() {
        let error = map()
            .address(&[UeId::AmfUeNgapId(4), UeId::Rnti(Rnti(8))])
            .expect_err("not known");
        let text = error.to_string();
        assert!(text.contains("AMF UE NGAP id 4, RNTI 8"), "{text}");
        let error = map().rnti(&[UeId::Teid(9)]).expect_err("no RNTI");
        assert!(
            error
                .to_string()
                .contains("no RNTI is configured for TEID 9")
        );
    }

    #[test]
    fn an_rnti_that_went_to_another_ue_does_not_outweigh_its_imsi() {
        let ids = [UeId::Rnti(Rnti(7)), UeId::Teid(9)];
        assert_eq!(map().address(&ids), Ok(ip(3)));
        assert_eq!(map().address(&ids[..1]), Ok(ip(2)));
        assert_eq!(map().rnti(&[UeId::Imsi("001".into())]), Ok(Rnti(7)));
    }

    #[test]
    fn one_identity_for_two_ues_is_refused() {
        let ue = |last| KnownUe {
            ip: ip(last),
            ids: vec![UeId::Teid(1)],
        };
        let error = UeMap::new(vec![ue(2), ue(3)]).expect_err("shared");
        assert!(
            error
                .to_string()
                .contains("TEID 1 is given to 10.45.0.2 and to 10.45.0.3")
        );
    }
}
