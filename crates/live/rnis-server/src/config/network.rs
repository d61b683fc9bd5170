//! The tables `[[cell]]`, `[[ue]]` and `[network]`.

use super::ConfigError;
use daemon::config::Section;
use rnis::adapters::CellProfile;
use rnis::event::{Bearer, BearerRates, Tunnel};
use rnis::identity::{KnownUe, UeId, UeMap};
use rnis::mec012::{CellIdentity, NetworkProfile, Plmn, UeProfile};
use rnis::{CellId, McsTable, Rnti};
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{BitRate, Duration, Hertz, Prb};

const TABLES: [(&str, McsTable); 5] = [
    ("lte-qam64", McsTable::LteQam64),
    ("lte-qam256", McsTable::LteQam256),
    ("nr-qam64", McsTable::NrQam64),
    ("nr-qam256", McsTable::NrQam256),
    ("nr-low-se", McsTable::NrLowSe),
];

/// All that the tables hold.
pub(super) struct Tables {
    pub(super) cells: BTreeMap<CellId, CellProfile>,
    pub(super) ues: UeMap,
    pub(super) network: NetworkProfile,
}

pub(super) fn read(root: &mut Section<'_, '_>) -> Result<Tables, ConfigError> {
    let mut cells = BTreeMap::new();
    let mut identities = BTreeMap::new();
    for mut section in root.tables("cell", "[[cell]]")? {
        let (profile, identity) = cell(&mut section)?;
        let id = profile.id;
        if cells.insert(id, profile).is_some() {
            return Err(section.fault(format!("cell {} is there twice", id.0)));
        }
        identities.extend(identity.map(|identity| (id, identity)));
        section.finish()?;
    }
    let mut known = Vec::new();
    let mut ues = BTreeMap::new();
    for mut section in root.tables("ue", "[[ue]]")? {
        let (ip, ids, profile) = ue(&mut section)?;
        if ues.insert(ip, profile).is_some() {
            return Err(section.fault(format!("{ip} is there twice")));
        }
        known.push(KnownUe { ip, ids });
        section.finish()?;
    }
    let ues_map = UeMap::new(known).map_err(|error| root.fault(error))?;
    let plmns = match root.table("network", "[network]")? {
        None => Vec::new(),
        Some(mut section) => {
            let plmns = section.parsed_list::<PlmnText>("plmns")?;
            section.finish()?;
            plmns.into_iter().map(|plmn| plmn.0).collect()
        }
    };
    let test_network = PlmnText::test_network();
    let plmns = if plmns.is_empty() {
        vec![test_network]
    } else {
        plmns
    };
    Ok(Tables {
        cells,
        ues: ues_map,
        network: NetworkProfile {
            plmns,
            cells: identities,
            ues,
        },
    })
}

struct PlmnText(Plmn);

impl PlmnText {
    /// The network of tests, TS 36.508 4.4.2.
    fn test_network() -> Plmn {
        Plmn {
            mcc: "001".into(),
            mnc: "01".into(),
        }
    }
}

impl std::str::FromStr for PlmnText {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        match text.split_at_checked(3) {
            Some((mcc, mnc)) if digits && matches!(mnc.len(), 2 | 3) => Ok(Self(Plmn {
                mcc: mcc.into(),
                mnc: mnc.into(),
            })),
            _ => Err("expected 3 digits of the country and 2 or 3 of the network, like 00101"),
        }
    }
}

fn cell(section: &mut Section<'_, '_>) -> Result<(CellProfile, Option<CellIdentity>), ConfigError> {
    let id: Option<u32> = section.whole("id", 0..=i64::from(u32::MAX))?;
    let id = id.ok_or_else(|| section.missing("id", "1"))?;
    let n_prb: Option<u16> = section.whole("prb", 1..=275)?;
    let n_prb = n_prb.ok_or_else(|| section.missing("prb", "106"))?;
    let scs: Hertz = section.parsed("scs")?.unwrap_or(Hertz::from_khz(15));
    let table = match section.text("mcs-table")? {
        None => McsTable::NrQam64,
        Some((name, at)) => match TABLES.iter().find(|(known, _)| *known == name) {
            Some((_, table)) => *table,
            None => {
                let names: Vec<&str> = TABLES.iter().map(|t| t.0).collect();
                let text = format!("mcs-table \"{name}\" is none of {}", names.join(", "));
                return Err(section.fault_at(at, text));
            }
        },
    };
    let khz = scs.get() / 1_000;
    if !matches!(khz, 15 | 30 | 60 | 120 | 240) || khz * 1_000 != scs.get() {
        return Err(section.fault("scs is one of 15, 30, 60, 120 and 240 kHz"));
    }
    let eci: Option<u64> = section.whole("eci", 0..=(1 << 28) - 1)?;
    let nci: Option<u64> = section.whole("nci", 0..=(1 << 36) - 1)?;
    let identity = (eci.is_some() || nci.is_some()).then(|| CellIdentity {
        eci: eci.unwrap_or(u64::from(id) & ((1 << 28) - 1)),
        nci: nci.unwrap_or(u64::from(id)),
    });
    let profile = CellProfile {
        id: CellId(id),
        n_prb: Prb::new(n_prb),
        scs,
        slot_duration: Duration::from_nanos(15_000_000 / khz),
        downlink_share: section.number("downlink-share", 0.01..=1.0)?.unwrap_or(1.0),
        table,
        layers: section.whole("layers", 1..=8)?.unwrap_or(1),
        data_re_per_prb: section.whole("data-re-per-prb", 1..=168)?.unwrap_or(132),
        period: section
            .parsed("period")?
            .unwrap_or(Duration::from_millis(100)),
    };
    if profile.period.is_zero() {
        return Err(section.fault("period is above 0"));
    }
    Ok((profile, identity))
}

fn ue(section: &mut Section<'_, '_>) -> Result<(IpAddr, Vec<UeId>, UeProfile), ConfigError> {
    let (text, at) = section.needed_text("ip", "\"10.45.0.2\"")?;
    let ip: IpAddr = text
        .parse()
        .map_err(|_| section.fault_at(at, format!("ip \"{text}\" is no address")))?;
    let mut ids = Vec::new();
    if let Some(rnti) = section.whole("rnti", 1..=65_519)? {
        ids.push(UeId::Rnti(Rnti(rnti)));
    }
    if let Some(id) = section.whole("amf-ue-ngap-id", 0..=(1 << 40) - 1)? {
        ids.push(UeId::AmfUeNgapId(id));
    }
    let teid: Option<u32> = section.whole("teid", 0..=i64::from(u32::MAX))?;
    ids.extend(teid.map(UeId::Teid));
    if let Some((imsi, at)) = section.text("imsi")? {
        if imsi.len() > 15 || imsi.is_empty() || !imsi.bytes().all(|b| b.is_ascii_digit()) {
            return Err(section.fault_at(at, "imsi is up to 15 digits"));
        }
        ids.push(UeId::Imsi(imsi));
    }
    let temporary = temporary(section)?;
    let bearers: Result<_, _> = section
        .tables("bearers", "bearers")?
        .into_iter()
        .map(bearer)
        .collect();
    let tunnels: Result<_, _> = section
        .tables("tunnels", "tunnels")?
        .into_iter()
        .map(tunnel)
        .collect();
    let profile = UeProfile {
        teid,
        bearers: bearers?,
        tunnels: tunnels?,
        temporary,
    };
    Ok((ip, ids, profile))
}

/// MME code and M-TMSI: together they identify a UE, one alone does not.
fn temporary(section: &mut Section<'_, '_>) -> Result<Option<(String, String)>, ConfigError> {
    let mmec = section.text("mmec")?;
    let mtmsi = section.text("mtmsi")?;
    match (mmec, mtmsi) {
        (Some((mmec, _)), Some((mtmsi, _))) => Ok(Some((mmec, mtmsi))),
        (None, None) => Ok(None),
        (Some((_, at)), None) => Err(section.fault_at(at, "mmec without mtmsi")),
        (None, Some((_, at))) => Err(section.fault_at(at, "mtmsi without mmec")),
    }
}

fn erab_id(section: &mut Section<'_, '_>) -> Result<u8, ConfigError> {
    let id = section.whole("erab-id", 0..=15)?;
    id.ok_or_else(|| section.missing("erab-id", "5"))
}

fn bearer(mut section: Section<'_, '_>) -> Result<Bearer, ConfigError> {
    let erab_id = erab_id(&mut section)?;
    let qci = section.whole("qci", 1..=254)?.unwrap_or(9);
    let mut rate = |key| {
        section
            .parsed::<BitRate>(key)
            .map(|r| r.map(BitRate::as_bps))
    };
    let rates = [
        rate("mbr-dl")?,
        rate("mbr-ul")?,
        rate("gbr-dl")?,
        rate("gbr-ul")?,
    ];
    let rates = rates.iter().any(Option::is_some).then(|| BearerRates {
        mbr_dl: rates[0].unwrap_or(0),
        mbr_ul: rates[1].unwrap_or(0),
        gbr_dl: rates[2].unwrap_or(0),
        gbr_ul: rates[3].unwrap_or(0),
    });
    section.finish()?;
    Ok(Bearer {
        erab_id,
        qci,
        rates,
    })
}

fn tunnel(mut section: Section<'_, '_>) -> Result<Tunnel, ConfigError> {
    let erab_id = erab_id(&mut section)?;
    let mut end = |address: &'static str, teid: &'static str| {
        let ip: Option<IpAddr> = section.parsed(address)?;
        let id: Option<u32> = section.whole(teid, 0..=i64::from(u32::MAX))?;
        ip.zip(id)
            .ok_or_else(|| section.fault(format!("{address} and {teid} are needed")))
    };
    let (enb_address, enb_teid) = end("enb-address", "enb-teid")?;
    let (sgw_address, sgw_teid) = end("sgw-address", "sgw-teid")?;
    section.finish()?;
    Ok(Tunnel {
        erab_id,
        enb_address,
        enb_teid,
        sgw_address,
        sgw_teid,
    })
}
