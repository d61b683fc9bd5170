//! Notifications (clause 6.4 of MEC 012).

use super::answer::Qos;
use super::kind::Kind;
use super::profile::{ECI_BITS, NCI_BITS, NetworkProfile};
use super::query::{ids, tunnel};
use super::subscription::{Filter, Subscription};
use super::types::{AssociateId, TimeStamp, names_cell};
use crate::CellId;
use crate::event::{Bearer, EventKind, RadioEvent};
use serde_json::{Value, json};

/// The form of a notification's links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LinkForm {
    /// As the published document: `_links` and `subscription` are lists.
    #[default]
    Lists,
    /// As the standard's text, and the other notifications: `_links` is an object with `subscription`.
    Object,
}

impl Subscription {
    /// The notification of an event, if it is of this subscription.
    pub fn notification(
        &self,
        event: &RadioEvent,
        network: &NetworkProfile,
        self_uri: &str,
        time: TimeStamp,
        links: LinkForm,
    ) -> Option<Value> {
        if self.kind != kind_of(&event.kind) || !self.filter.takes(event, network) {
            return None;
        }
        let mut body = content(event, network);
        let fields = body.as_object_mut()?;
        fields.insert(
            "notificationType".into(),
            self.kind.notification_name().into(),
        );
        fields.insert("timeStamp".into(), json!(time));
        if self.kind != Kind::S1Bearer {
            fields.insert("associateId".into(), json!(ids_of(event, network)));
        }
        let href = json!({ "href": self_uri });
        match links {
            LinkForm::Lists => {
                fields.insert("_links".into(), json!([{ "self": href }]));
                fields.insert("subscription".into(), json!([href]));
            }
            LinkForm::Object => {
                let links = json!({ "self": href, "subscription": href });
                fields.insert("_links".into(), links);
            }
        }
        Some(body)
    }
}

/// What distinguishes a client that its callback is reached (clause 6.4.12).
pub fn test_notification(self_uri: &str) -> Value {
    json!({
        "notificationType": "TestNotification",
        "_links": { "subscription": { "href": self_uri } },
    })
}

/// What distinguishes a client that its subscription will end (clause 6.4.9).
pub fn expiry_notification(self_uri: &str, time: TimeStamp, deadline: TimeStamp) -> Value {
    json!({
        "notificationType": "ExpiryNotification",
        "timeStamp": time,
        "_links": { "subscription": { "href": self_uri } },
        "expiryDeadline": deadline,
    })
}

fn kind_of(event: &EventKind) -> Kind {
    match event {
        EventKind::CellChange { .. } => Kind::CellChange,
        EventKind::BearerEstablished(_) => Kind::RabEst,
        EventKind::BearerModified(_) => Kind::RabMod,
        EventKind::BearerReleased { .. } => Kind::RabRel,
        EventKind::Measurement { .. } => Kind::MeasRepUe,
        EventKind::NrMeasurement { .. } => Kind::NrMeasRepUe,
        EventKind::TimingAdvance { .. } => Kind::MeasTa,
        EventKind::CarrierAggregation { .. } => Kind::CaReconf,
        EventKind::S1Bearer { .. } => Kind::S1Bearer,
    }
}

fn ids_of(event: &RadioEvent, network: &NetworkProfile) -> Vec<AssociateId> {
    let teid = event.teid.or_else(|| network.teid(event.ue?));
    let address = event.ue.map(AssociateId::address);
    address
        .into_iter()
        .chain(teid.map(AssociateId::teid))
        .collect()
}

impl Filter {
    fn takes(&self, event: &RadioEvent, network: &NetworkProfile) -> bool {
        self.takes_place(event, network) && self.takes_kind(&event.kind)
    }

    fn takes_place(&self, event: &RadioEvent, network: &NetworkProfile) -> bool {
        let teid = event.teid.or_else(|| network.teid(event.ue?));
        let ue = self.ues.is_empty() || self.ues.iter().any(|id| id.is(event.ue, teid));
        let identity = network.identity(event.cell);
        let ours = network.ecgi(event.cell).plmn;
        let cell = self.cells.is_empty()
            || self
                .cells
                .iter()
                .any(|cell| cell.plmn == ours && names_cell(&cell.cell_id, identity.eci, ECI_BITS));
        let nr_cell = self.nr_cells.is_empty()
            || self.nr_cells.iter().any(|cell| {
                cell.plmn == ours && names_cell(&cell.nr_cell_id, identity.nci, NCI_BITS)
            });
        ue && cell && nr_cell
    }

    fn takes_kind(&self, event: &EventKind) -> bool {
        let class = |qci: u8| self.qci.is_none_or(|wanted| wanted == i64::from(qci));
        let bearer = |id: u8| self.erab_ids.is_empty() || self.erab_ids.contains(&id.into());
        let listed = |list: &[u8], code: u8| list.is_empty() || list.contains(&code);
        match event {
            EventKind::CellChange { status, .. } => listed(&self.handover_states, *status),
            EventKind::BearerEstablished(b) => class(b.qci),
            EventKind::BearerModified(b) => class(b.qci) && bearer(b.erab_id),
            EventKind::BearerReleased { erab_id, qci } => class(*qci) && bearer(*erab_id),
            EventKind::Measurement { trigger, .. } | EventKind::NrMeasurement { trigger, .. } => {
                listed(&self.triggers, *trigger)
            }
            EventKind::S1Bearer { change, tunnel } => {
                listed(&self.changes, *change) && bearer(tunnel.erab_id)
            }
            EventKind::TimingAdvance { .. } | EventKind::CarrierAggregation { .. } => true,
        }
    }
}

/// What is particular to a notification's kind.
fn content(event: &RadioEvent, network: &NetworkProfile) -> Value {
    let ecgi = network.ecgi(event.cell);
    let set_up = |bearer: &Bearer| json!({ "ecgi": ecgi, "erabId": bearer.erab_id, "erabQosParameters": Qos::of(bearer) });
    match &event.kind {
        EventKind::CellChange { to, status } => json!({
            "srcEcgi": ecgi,
            "trgEcgi": [network.ecgi(*to)],
            "hoStatus": status,
        }),
        EventKind::BearerEstablished(bearer) | EventKind::BearerModified(bearer) => set_up(bearer),
        EventKind::BearerReleased { erab_id, .. } => json!({
            "ecgi": ecgi,
            "erabReleaseInfo": { "erabId": erab_id },
        }),
        EventKind::Measurement {
            rsrp,
            rsrq,
            trigger,
        } => json!({ "ecgi": ecgi, "rsrp": rsrp, "rsrq": rsrq, "trigger": trigger }),
        EventKind::NrMeasurement {
            rsrp,
            rsrq,
            sinr,
            trigger,
        } => nr_content(network, event.cell, [*rsrp, *rsrq, *sinr], *trigger),
        EventKind::TimingAdvance { steps } => json!({ "ecgi": ecgi, "timingAdvance": steps }),
        EventKind::CarrierAggregation { added, removed } => json!({
            "ecgi": ecgi,
            "secondaryCellAdd": secondary(added, network),
            "secondaryCellRemove": secondary(removed, network),
        }),
        EventKind::S1Bearer {
            change,
            tunnel: of_bearer,
        } => json!({
            "s1Event": change.to_string(),
            "s1UeInfo": {
                "associateId": event.ue.map_or_else(Vec::new, |ip| ids(ip, network)),
                "ecgi": [ecgi],
                "s1BearerInfo": [tunnel(of_bearer)],
            },
        }),
    }
}

fn nr_content(
    network: &NetworkProfile,
    cell: CellId,
    [rsrp, rsrq, sinr]: [Option<u8>; 3],
    trigger: u8,
) -> Value {
    let quantities: serde_json::Map<String, Value> =
        [("rsrp", rsrp), ("rsrq", rsrq), ("sinr", sinr)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?))))
            .collect();
    json!({
        "triggerNr": trigger,
        "servCellMeasInfo": [{
            "nrcgi": network.nrcgi(cell),
            "sCell": { "measQuantityResultsSsbCell": quantities },
        }],
    })
}

fn secondary(cells: &[CellId], network: &NetworkProfile) -> Vec<Value> {
    let entry = |cell: &CellId| json!({ "ecgi": network.ecgi(*cell) });
    cells.iter().map(entry).collect()
}
