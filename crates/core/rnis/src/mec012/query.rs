//! The four queries (clauses 7.3 to 7.6 of MEC 012).
//!
//! A parameter is a filter: what is reported has the value given, or one of several with commas between
//! them. A measurement that the service does not have equals nothing.

use super::answer::{
    Answer, CellUsers, Erab, L2Meas, Measured, Measurements, Qos, RabInfo, UeBearers,
};
use super::profile::{ECI_BITS, NetworkProfile};
use super::types::{AssociateId, TimeStamp, is_cell, names_cell};
use super::view::{CellView, Cells, UeView};
use crate::CellId;
use crate::event::{Bearer, Tunnel};
use core::net::IpAddr;
use serde_json::{Value, json};
use units::Instant;

/// Which query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryKind {
    /// Radio access bearers.
    RabInfo,
    /// Networks.
    PlmnInfo,
    /// Tunnels of bearers.
    S1BearerInfo,
    /// Layer 2 measurements.
    Layer2Meas,
}

/// Why a query is no query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A parameter that this query does not have.
    #[error("unknown query parameter \"{name}\"; this query has: {known}")]
    Unknown {
        /// Its name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A value that is none.
    #[error("query parameter \"{name}\" is \"{value}\"; expected {expected}")]
    Value {
        /// Its name.
        name: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A parameter that is needed.
    #[error("query parameter \"{0}\" is required")]
    Missing(&'static str),
    /// Nothing to report.
    #[error("no S1 bearer matches the query")]
    NotFound,
    /// None of the cells is known.
    #[error("query parameter \"cell_id\": no such cell is configured or has been reported")]
    UnknownCell,
}

const APP: &str = "app_ins_id";
const CELL: &str = "cell_id";
const IPV4: &str = "ue_ipv4_address";
const IPV6: &str = "ue_ipv6_address";
const NATED: &str = "nated_ip_address";
const TEID: &str = "gtp_teid";
const ERAB: &str = "erab_id";
/// Parameters that identify UEs, and the type of each as an `AssociateId`.
const UE_IDS: [(&str, u8); 4] = [(IPV4, 1), (IPV6, 2), (NATED, 3), (TEID, 4)];
/// TS 36.413 9.2.1.2.
pub(super) const MAX_ERAB_ID: u8 = 15;
const TEMPORARY: &str = "temp_ue_id";
const RAB_NUMBERS: [&str; 6] = [
    ERAB,
    "qci",
    "erab_mbr_dl",
    "erab_mbr_ul",
    "erab_gbr_dl",
    "erab_gbr_ul",
];

/// Measurements of a cell; the sixth from the start and its neighbour are the preambles.
const CELL_MEASUREMENTS: [&str; 17] = [
    "dl_gbr_prb_usage_cell",
    "ul_gbr_prb_usage_cell",
    "dl_nongbr_prb_usage_cell",
    "ul_nongbr_prb_usage_cell",
    "dl_total_prb_usage_cell",
    "ul_total_prb_usage_cell",
    "received_dedicated_preambles_cell",
    "received_randomly_selected_preambles_low_range_cell",
    "received_randomly_selected_preambles_high_range_cell",
    "number_of_active_ue_dl_gbr_cell",
    "number_of_active_ue_ul_gbr_cell",
    "number_of_active_ue_dl_nongbr_cell",
    "number_of_active_ue_ul_nongbr_cell",
    "dl_gbr_pdr_cell",
    "ul_gbr_pdr_cell",
    "dl_nongbr_pdr_cell",
    "ul_nongbr_pdr_cell",
];
const UE_MEASUREMENTS: [&str; 16] = [
    "dl_gbr_delay_ue",
    "ul_gbr_delay_ue",
    "dl_nongbr_delay_ue",
    "ul_nongbr_delay_ue",
    "dl_gbr_pdr_ue",
    "ul_gbr_pdr_ue",
    "dl_nongbr_pdr_ue",
    "ul_nongbr_pdr_ue",
    "dl_gbr_throughput_ue",
    "ul_gbr_throughput_ue",
    "dl_nongbr_throughput_ue",
    "ul_nongbr_throughput_ue",
    "dl_gbr_data_volume_ue",
    "ul_gbr_data_volume_ue",
    "dl_nongbr_data_volume_ue",
    "ul_nongbr_data_volume_ue",
];
/// The published document's spelling of a parameter, and the standard's.
const MISSPELT: (&str, &str) = (
    "received_randomly_selecte_preambles_low_range_cell",
    "received_randomly_selected_preambles_low_range_cell",
);

impl QueryKind {
    /// The last part of its path.
    pub fn name(self) -> &'static str {
        match self {
            Self::RabInfo => "rab_info",
            Self::PlmnInfo => "plmn_info",
            Self::S1BearerInfo => "s1_bearer_info",
            Self::Layer2Meas => "layer2_meas",
        }
    }

    fn parameters(self) -> Vec<&'static str> {
        let ue = [CELL, IPV4, IPV6, NATED, TEID];
        match self {
            Self::PlmnInfo => vec![APP],
            Self::RabInfo => [&[APP][..], &ue, &RAB_NUMBERS].concat(),
            Self::S1BearerInfo => [&[TEMPORARY, ERAB][..], &ue].concat(),
            Self::Layer2Meas => [&[APP][..], &ue, &CELL_MEASUREMENTS, &UE_MEASUREMENTS].concat(),
        }
    }
}

/// A query with its filters.
#[derive(Clone, Debug)]
pub struct Query {
    kind: QueryKind,
    /// Values by parameter: any of them.
    given: Vec<(&'static str, Vec<String>)>,
    /// UEs that are requested; none: all.
    ues: Vec<AssociateId>,
}

/// What a query is answered from.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// The radio.
    pub cells: &'a Cells,
    /// The network.
    pub network: &'a NetworkProfile,
    /// Now, on the clock of reports.
    pub now: Instant,
    /// Now, in the world.
    pub time: TimeStamp,
    /// The application instance that sends the query.
    pub app: &'a str,
    /// A number for this request.
    pub request: u64,
}

impl Query {
    /// From the parameters, already decoded.
    ///
    /// # Errors
    /// A parameter that the query does not have, or a value that it cannot have.
    pub fn new(
        kind: QueryKind,
        parameters: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, QueryError> {
        let known = kind.parameters();
        let mut given: Vec<(&'static str, Vec<String>)> = Vec::new();
        for (name, value) in parameters {
            let wanted = if name == MISSPELT.0 {
                MISSPELT.1
            } else {
                name.as_str()
            };
            let Some(&name) = known.iter().find(|k| **k == wanted) else {
                return Err(QueryError::Unknown {
                    name,
                    known: known.join(", "),
                });
            };
            let values: Vec<String> = value.split(',').map(|v| v.trim().to_owned()).collect();
            values.iter().try_for_each(|v| check(name, v))?;
            match given.iter_mut().find(|(n, _)| *n == name) {
                Some((_, all)) => all.extend(values),
                None => given.push((name, values)),
            }
        }
        let requested = |(name, kind)| {
            let values = given.iter().filter(move |(n, _)| *n == name);
            values.flat_map(|(_, values)| values).map(move |value| {
                let value = value.clone();
                AssociateId { kind, value }
            })
        };
        let ues = UE_IDS.into_iter().flat_map(requested).collect();
        let query = Self { kind, given, ues };
        if kind == QueryKind::PlmnInfo && query.values(APP).is_none() {
            return Err(QueryError::Missing(APP));
        }
        Ok(query)
    }

    /// The answer.
    ///
    /// # Errors
    /// A cell that is not known, and nothing to report where the answer must have an element.
    pub fn answer(&self, at: &Snapshot<'_>) -> Result<Answer, QueryError> {
        if self.values(CELL).is_some() {
            let configured = at.network.cells.keys().copied();
            let mut known = at.cells.known().chain(configured);
            if !known.any(|cell| self.matches_cell(cell, at.network)) {
                return Err(QueryError::UnknownCell);
            }
        }
        Ok(match self.kind {
            QueryKind::RabInfo => Answer::of("RabInfo", &self.rab_info(at)),
            QueryKind::PlmnInfo => Answer::list(&self.plmn_info(at)),
            QueryKind::S1BearerInfo => Answer::of("S1BearerInfo", &self.s1_bearer_info(at)?),
            QueryKind::Layer2Meas => Answer::of("L2Meas", &self.layer2_meas(at)),
        })
    }

    fn values(&self, name: &str) -> Option<&[String]> {
        self.given
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, values)| values.as_slice())
    }

    fn app<'a>(&'a self, at: &Snapshot<'a>) -> &'a str {
        self.values(APP)
            .and_then(|v| v.first())
            .map_or(at.app, String::as_str)
    }

    /// Whether a number is one of those requested. What is unknown equals nothing.
    fn matches(&self, name: &str, number: Option<u64>) -> bool {
        self.values(name)
            .is_none_or(|values| number.is_some_and(|n| values.iter().any(|v| v.parse() == Ok(n))))
    }

    fn matches_cell(&self, cell: CellId, network: &NetworkProfile) -> bool {
        let eci = network.identity(cell).eci;
        self.values(CELL)
            .is_none_or(|cells| cells.iter().any(|text| names_cell(text, eci, ECI_BITS)))
    }

    /// Addresses and tunnels: any of all that are given.
    fn matches_ue(&self, ip: IpAddr, network: &NetworkProfile) -> bool {
        let is = |id: &AssociateId| id.is(Some(ip), network.teid(ip));
        self.ues.is_empty() || self.ues.iter().any(is)
    }

    fn plmn_info(&self, at: &Snapshot<'_>) -> Value {
        let apps = self.values(APP).unwrap_or_default();
        let entry = |app: &String| json!({ "timeStamp": at.time, "appInstanceId": app, "plmn": at.network.plmns });
        apps.iter().map(entry).collect()
    }

    fn rab_info<'a>(&'a self, at: &Snapshot<'a>) -> RabInfo<'a> {
        let cells = at.cells.current(at.now);
        let requested = cells.filter(|cell| self.matches_cell(cell.report.id, at.network));
        let users = requested.filter_map(|cell| {
            let ue_info: Vec<UeBearers> = known_ues(cell)
                .filter(|(ip, _)| self.matches_ue(*ip, at.network))
                .filter_map(|(ip, _)| self.ue_bearers(ip, at.network))
                .collect();
            let listed = !ue_info.is_empty();
            listed.then(|| CellUsers {
                ecgi: at.network.ecgi(cell.report.id),
                ue_info,
            })
        });
        RabInfo {
            time_stamp: at.time,
            app_instance_id: self.app(at),
            request_id: at.request.to_string(),
            cell_user_info: users.collect(),
        }
    }

    fn ue_bearers(&self, ip: IpAddr, network: &NetworkProfile) -> Option<UeBearers> {
        let bearers = network.bearers(ip).iter();
        let requested = bearers.filter(|bearer| self.matches_bearer(bearer));
        let erab_info: Vec<Erab> = requested
            .map(|bearer| Erab {
                erab_id: bearer.erab_id,
                erab_qos_parameters: Qos::of(bearer),
            })
            .collect();
        let listed = !erab_info.is_empty();
        listed.then(|| UeBearers {
            associate_id: ids(ip, network),
            erab_info,
        })
    }

    fn matches_bearer(&self, bearer: &Bearer) -> bool {
        let rate = |of: fn(&crate::event::BearerRates) -> u64| bearer.rates.as_ref().map(of);
        self.matches(ERAB, Some(bearer.erab_id.into()))
            && self.matches("qci", Some(bearer.qci.into()))
            && self.matches("erab_mbr_dl", rate(|r| r.mbr_dl))
            && self.matches("erab_mbr_ul", rate(|r| r.mbr_ul))
            && self.matches("erab_gbr_dl", rate(|r| r.gbr_dl))
            && self.matches("erab_gbr_ul", rate(|r| r.gbr_ul))
    }

    /// The published document makes the answer one bearer, the standard a list of UEs with theirs:
    /// the answer holds both.
    fn s1_bearer_info(&self, at: &Snapshot<'_>) -> Result<Value, QueryError> {
        let mut first: Option<Tunnel> = None;
        let mut ues = Vec::new();
        for cell in at.cells.current(at.now) {
            if !self.matches_cell(cell.report.id, at.network) {
                continue;
            }
            for (ip, _) in known_ues(cell) {
                let Some(profile) = at.network.ues.get(&ip) else {
                    continue;
                };
                let temporary = profile.temporary.as_ref();
                let requested = self.values(TEMPORARY).is_none_or(|values| {
                    temporary.is_some_and(|(_, mtmsi)| values.contains(mtmsi))
                });
                let tunnels: Vec<&Tunnel> = profile
                    .tunnels
                    .iter()
                    .filter(|t| self.matches(ERAB, Some(t.erab_id.into())))
                    .collect();
                if tunnels.is_empty() || !requested || !self.matches_ue(ip, at.network) {
                    continue;
                }
                first = first.or(tunnels.first().map(|t| **t));
                let mut ue = json!({
                    "associateId": ids(ip, at.network),
                    "ecgi": [at.network.ecgi(cell.report.id)],
                    "s1BearerInfoDetailed": tunnels.iter().map(|t| tunnel(t)).collect::<Vec<_>>(),
                });
                if let Some((mmec, mtmsi)) = temporary {
                    ue["tempUeId"] = json!({ "mmec": mmec, "mtmsi": mtmsi });
                }
                ues.push(ue);
            }
        }
        let mut info = tunnel(&first.ok_or(QueryError::NotFound)?);
        info["timeStamp"] = json!(at.time);
        info["s1UeInfo"] = json!(ues);
        Ok(info)
    }

    fn layer2_meas(&self, at: &Snapshot<'_>) -> L2Meas {
        let (mut cells, mut ues) = (Vec::new(), Vec::new());
        for cell in at.cells.current(at.now) {
            if !self.matches_cell(cell.report.id, at.network) {
                continue;
            }
            let ecgi = at.network.ecgi(cell.report.id);
            for (ip, ue) in known_ues(cell) {
                let values = ue_measurements(ip, ue, at.network);
                if self.matches_ue(ip, at.network) && self.agrees(&UE_MEASUREMENTS, &values) {
                    ues.push(Measured {
                        ecgi: ecgi.clone(),
                        associate_id: Some(AssociateId::address(ip)),
                        values,
                    });
                }
            }
            let values = cell_measurements(cell, at.network);
            if self.ues.is_empty() && self.agrees(&CELL_MEASUREMENTS, &values) {
                cells.push(Measured {
                    ecgi,
                    associate_id: None,
                    values,
                });
            }
        }
        L2Meas {
            time_stamp: at.time,
            cells,
            ues,
        }
    }

    fn agrees(&self, names: &[&str], measured: &Measurements) -> bool {
        names
            .iter()
            .all(|name| self.matches(name, measured.get(name)))
    }
}

/// Numbers are whole numbers, of any size; cells, bearers and UEs are such as there can be; everything
/// else is text that may match nothing.
fn check(name: &'static str, value: &str) -> Result<(), QueryError> {
    let refused = |expected| QueryError::Value {
        name,
        value: crate::codec::shorten(value),
        expected,
    };
    if name == CELL && !is_cell(value, ECI_BITS) {
        return Err(refused(
            "a cell identity: 28 digits 0 and 1, or up to 7 hexadecimal ones",
        ));
    }
    if let Some((_, kind)) = UE_IDS.iter().find(|(known, _)| *known == name) {
        let value = value.to_owned();
        AssociateId { kind: *kind, value }
            .check()
            .map_err(refused)?;
    }
    if name == ERAB && !value.parse().is_ok_and(|id: u8| id <= MAX_ERAB_ID) {
        return Err(refused("a whole number from 0 to 15"));
    }
    let numbers = [&RAB_NUMBERS[..], &CELL_MEASUREMENTS, &UE_MEASUREMENTS];
    let digits = value.strip_prefix('-').unwrap_or(value);
    let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if whole || !numbers.iter().any(|names| names.contains(&name)) {
        return Ok(());
    }
    Err(refused("a whole number"))
}

/// UEs whose address is known.
fn known_ues(cell: &CellView) -> impl Iterator<Item = (IpAddr, &UeView)> {
    cell.ues.values().filter_map(|ue| Some((ue.ip?, ue)))
}

/// What distinguishes a UE.
pub(super) fn ids(ip: IpAddr, network: &NetworkProfile) -> Vec<AssociateId> {
    let teid = network.teid(ip).map(AssociateId::teid);
    [AssociateId::address(ip)].into_iter().chain(teid).collect()
}

/// A tunnel.
pub(super) fn tunnel(tunnel: &Tunnel) -> Value {
    json!({
        "erabId": tunnel.erab_id,
        "enbInfo": { "ipAddress": tunnel.enb_address, "tunnelId": tunnel.enb_teid.to_string() },
        "sGwInfo": { "ipAddress": tunnel.sgw_address, "tunnelId": tunnel.sgw_teid.to_string() },
    })
}

/// PRB usage in percent (TS 36.314 4.1.1) and UEs with data (TS 36.314 4.1.3), over the last window.
fn cell_measurements(cell: &CellView, network: &NetworkProfile) -> Measurements {
    let background = cell.background();
    let all = background
        .slots
        .saturating_mul(cell.report.n_prb.get().into())
        .max(1);
    let percent = |prb_slots: u64| (prb_slots.saturating_mul(100) + all / 2) / all;
    let mut used = [0_u64; 2];
    let mut active = [0_u64; 2];
    for ue in cell.ues.values() {
        let gbr = ue.ip.is_some_and(|ip| network.is_gbr(ip));
        used[usize::from(gbr)] += ue.window().prb_slots;
        active[usize::from(gbr)] += u64::from(ue.window().active);
    }
    let total = used[0] + used[1] + background.prb_slots;
    Measurements(vec![
        ("dl_gbr_prb_usage_cell", percent(used[1]).min(100)),
        ("dl_nongbr_prb_usage_cell", percent(used[0]).min(100)),
        ("dl_total_prb_usage_cell", percent(total).min(100)),
        ("number_of_active_ue_dl_gbr_cell", active[1]),
        ("number_of_active_ue_dl_nongbr_cell", active[0]),
    ])
}

/// Throughput in kbit/s and volume in kbit (TS 36.314 4.1.6 and 4.1.8), over the last window.
fn ue_measurements(ip: IpAddr, ue: &UeView, network: &NetworkProfile) -> Measurements {
    let window = ue.window();
    let kbit = window.served.get().saturating_mul(8) / 1_000;
    let [throughput, volume] = match network.is_gbr(ip) {
        true => ["dl_gbr_throughput_ue", "dl_gbr_data_volume_ue"],
        false => ["dl_nongbr_throughput_ue", "dl_nongbr_data_volume_ue"],
    };
    let mut measured = Vec::new();
    if !window.covered.is_zero() {
        let kbps = (kbit as f64 / window.covered.as_secs_f64()).round() as u64;
        measured.push((throughput, kbps));
    }
    measured.push((volume, kbit));
    Measurements(measured)
}
