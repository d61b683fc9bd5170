//! Subscriptions (clauses 6.3 and 7.7 to 7.8 of MEC 012, 6.12a of MEC 009).

use super::kind::Kind;
use super::profile::{ECI_BITS, NCI_BITS};
use super::query::MAX_ERAB_ID;
use super::types::{AssociateId, Ecgi, Nrcgi, Plmn, TimeStamp, is_cell};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

const CALLBACK: &str = "callbackReference";
/// What the published document's callback calls it.
const CALLBACK_TOO: &str = "callbackUri";
const WEBSOCKET: &str = "websockNotifConfig";
const DEADLINE: &str = "expiryDeadline";
/// Longest URI of a callback, in bytes.
const MAX_URI_BYTES: usize = 2048;
/// Most entries of one list in a filter.
const MAX_ENTRIES: usize = 256;
/// `hoStatus` that stands for none given: completed.
const COMPLETED: u8 = 3;

/// Why a body is no subscription.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscriptionError {
    /// Not of the right form: something required is absent, or a value is none that there can be.
    #[error("{0}")]
    Malformed(String),
    /// Of the right form, but it cannot be done: a deadline that has passed, a callback that is not permitted.
    #[error("{0}")]
    Unprocessable(String),
}

fn malformed(what: impl Into<String>) -> SubscriptionError {
    SubscriptionError::Malformed(what.into())
}

fn unprocessable(what: impl Into<String>) -> SubscriptionError {
    SubscriptionError::Unprocessable(what.into())
}

/// How notifications are to be delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// By POST to this URI.
    pub callback: Option<String>,
    /// A test notification is requested first.
    pub test: bool,
    /// By WebSocket.
    pub websocket: bool,
}

/// Which events are requested; what is empty or absent filters nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// UEs; identifiers of the reserved type are left out.
    pub ues: Vec<AssociateId>,
    /// Cells.
    pub cells: Vec<Ecgi>,
    /// NR cells.
    pub nr_cells: Vec<Nrcgi>,
    /// Quality class.
    pub qci: Option<i64>,
    /// Bearers.
    pub erab_ids: Vec<i64>,
    /// States of a handover.
    pub handover_states: Vec<u8>,
    /// Triggers of measurement reports.
    pub triggers: Vec<u8>,
    /// Changes of tunnels.
    pub changes: Vec<u8>,
}

/// A subscription.
#[derive(Clone, PartialEq, Debug)]
pub struct Subscription {
    /// What is subscribed to.
    pub kind: Kind,
    /// How it is delivered.
    pub delivery: Delivery,
    /// Which events.
    pub filter: Filter,
    /// When it ends.
    pub deadline: Option<TimeStamp>,
    /// The client wrapped it in an object with one property, as the published document has it.
    wrapped: bool,
    /// As the client wrote it.
    body: Map<String, Value>,
}

impl Subscription {
    /// From the body of a request: the data type itself, or wrapped in an object with one property
    /// of its name.
    ///
    /// # Errors
    /// What is no subscription, and what cannot be done.
    pub fn from_json(bytes: &[u8], now: TimeStamp) -> Result<Self, SubscriptionError> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| {
            malformed(format!(
                "no JSON: {}",
                crate::codec::shorten(&error.to_string())
            ))
        })?;
        let Value::Object(fields) = value else {
            return Err(malformed("a subscription is a JSON object"));
        };
        let (kind, mut body, wrapped) = unwrap(fields)?;
        if let Some(callback) = body.remove(CALLBACK_TOO) {
            body.entry(CALLBACK).or_insert(callback);
        }
        let delivery = delivery(&body)?;
        let filter = filter(kind, &mut body)?;
        let deadline: Option<TimeStamp> = object(&body, DEADLINE)?;
        if let Some(deadline) = deadline
            && deadline <= now
        {
            return Err(unprocessable(format!(
                "{DEADLINE} {} s is in the past; it is {} s now",
                deadline.seconds, now.seconds
            )));
        }
        Ok(Self {
            kind,
            delivery,
            filter,
            deadline,
            wrapped,
            body,
        })
    }

    /// As the service reports it: with its own link, and the delivery that was chosen (a WebSocket's
    /// URI, or the callback).
    pub fn to_json(&self, self_uri: &str, websocket_uri: Option<&str>) -> Value {
        let mut body = self.body.clone();
        body.insert("subscriptionType".into(), self.kind.type_name().into());
        body.insert("_links".into(), json!({ "self": { "href": self_uri } }));
        body.remove("requestTestNotification");
        match websocket_uri {
            Some(uri) => {
                body.remove(CALLBACK);
                let config = json!({ "websocketUri": uri, "requestWebsocketUri": true });
                body.insert(WEBSOCKET.into(), config);
            }
            None => {
                body.remove(WEBSOCKET);
            }
        }
        match self.wrapped {
            true => json!({ self.kind.type_name(): body }),
            false => Value::Object(body),
        }
    }
}

/// Finds the data type and takes its wrapping off.
fn unwrap(
    mut object: Map<String, Value>,
) -> Result<(Kind, Map<String, Value>, bool), SubscriptionError> {
    let names = || {
        Kind::all()
            .map(Kind::type_name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    if let Some(value) = object.get("subscriptionType") {
        let Value::String(name) = value else {
            return Err(malformed("subscriptionType is text"));
        };
        let kind = Kind::from_type_name(name).ok_or_else(|| {
            let name = crate::codec::shorten(name);
            malformed(format!(
                "unknown subscriptionType \"{name}\"; expected {}",
                names()
            ))
        })?;
        return Ok((kind, object, false));
    }
    let wrapped = Kind::all().find(|kind| object.contains_key(kind.type_name()));
    let Some(kind) = wrapped else {
        return Err(malformed(format!(
            "no subscriptionType; expected {}",
            names()
        )));
    };
    match object.remove(kind.type_name()) {
        Some(Value::Object(body)) => {
            let name = body.get("subscriptionType").and_then(Value::as_str);
            match name {
                Some(name) if name == kind.type_name() => Ok((kind, body, true)),
                _ => Err(malformed(format!(
                    "subscriptionType inside {} must be \"{0}\"",
                    kind.type_name()
                ))),
            }
        }
        _ => Err(malformed(format!("{} is an object", kind.type_name()))),
    }
}

/// A field of a known type, none if it is absent.
fn field<T: DeserializeOwned>(
    body: &Map<String, Value>,
    name: &str,
) -> Result<Option<T>, SubscriptionError> {
    let Some(value) = body.get(name) else {
        return Ok(None);
    };
    serde_json::from_value(whole_numbers(value))
        .map(Some)
        .map_err(|error| {
            let problem = crate::codec::shorten(&error.to_string());
            malformed(format!("{name}: {problem}"))
        })
}

/// The same with every number that is whole as an integer: JSON does not distinguish 5 from 5.0. One that
/// is larger than an integer can be is the largest: it matches nothing all the same.
fn whole_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.as_i64().is_none() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => Value::from(float as i64),
            _ => value.clone(),
        },
        Value::Array(values) => values.iter().map(whole_numbers).collect(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), whole_numbers(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// As [`field`], of a type that is an object (a list of its values in order is not one).
fn object<T: DeserializeOwned>(
    body: &Map<String, Value>,
    name: &str,
) -> Result<Option<T>, SubscriptionError> {
    match body.get(name) {
        Some(Value::Object(_)) | None => field(body, name),
        Some(_) => Err(malformed(format!("{name} is an object"))),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Websocket {
    #[serde(default)]
    request_websocket_uri: bool,
    #[serde(default, rename = "websocketUri")]
    _uri: Option<String>,
}

fn delivery(body: &Map<String, Value>) -> Result<Delivery, SubscriptionError> {
    let callback: Option<String> = field(body, CALLBACK)?;
    let websocket: Option<Websocket> = object(body, WEBSOCKET)?;
    let test: Option<bool> = field(body, "requestTestNotification")?;
    let delivery = Delivery {
        callback,
        test: test.unwrap_or(false),
        websocket: websocket.is_some_and(|w| w.request_websocket_uri),
    };
    if let Some(uri) = &delivery.callback {
        let http = uri.starts_with("http://") || uri.starts_with("https://");
        if !http || uri.len() > MAX_URI_BYTES {
            let text = "must be an http or https URI of at most 2048 characters";
            return Err(unprocessable(format!("{CALLBACK} {text}")));
        }
    } else if !delivery.websocket {
        return Err(malformed(format!(
            "neither {CALLBACK} nor {WEBSOCKET} with requestWebsocketUri: nowhere to notify"
        )));
    }
    Ok(delivery)
}

/// The fields of all filters; those of a kind are checked by [`filter`].
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Criteria {
    #[serde(rename = "appInstanceId")]
    _app: Option<String>,
    associate_id: Vec<AssociateId>,
    ecgi: Vec<Ecgi>,
    nrcgi: Vec<Nrcgi>,
    qci: Option<i64>,
    erab_id: Option<OneOrMore>,
    ho_status: Vec<i64>,
    trigger: Vec<i64>,
    trigger_nr: Vec<i64>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a whole number or a list of them")]
enum OneOrMore {
    One(i64),
    More(Vec<i64>),
}

fn filter(kind: Kind, body: &mut Map<String, Value>) -> Result<Filter, SubscriptionError> {
    let name = kind.filter_name();
    let Some(criteria) = object::<Criteria>(body, name)? else {
        return Err(malformed(format!("{} needs {name}", kind.type_name())));
    };
    let lists = [
        criteria.associate_id.len(),
        criteria.ecgi.len(),
        criteria.nrcgi.len(),
        criteria.trigger.len(),
        criteria.trigger_nr.len(),
    ];
    if lists.into_iter().any(|length| length > MAX_ENTRIES) {
        return Err(unprocessable(format!(
            "{name}: at most {MAX_ENTRIES} entries in a list"
        )));
    }
    known_plmns(&criteria)?;
    possible(name, &criteria)?;
    let mut filter = Filter {
        triggers: codes(name, "trigger", &criteria.trigger, 0..=61)?,
        handover_states: codes(name, "hoStatus", &criteria.ho_status, 1..=5)?,
        ues: criteria
            .associate_id
            .into_iter()
            .filter(AssociateId::is_assigned)
            .collect(),
        cells: criteria.ecgi,
        nr_cells: criteria.nrcgi,
        qci: criteria.qci,
        erab_ids: match criteria.erab_id {
            Some(OneOrMore::One(id)) => vec![id],
            Some(OneOrMore::More(ids)) => ids,
            None => Vec::new(),
        },
        changes: Vec::new(),
    };
    match kind {
        Kind::RabEst | Kind::RabMod | Kind::RabRel if filter.qci.is_none() => {
            return Err(malformed(format!("{name} needs qci")));
        }
        Kind::RabMod | Kind::RabRel if filter.erab_ids.is_empty() => {
            return Err(malformed(format!("{name} needs erabId")));
        }
        Kind::CellChange if filter.handover_states.is_empty() => {
            filter.handover_states.push(COMPLETED);
            body[name]["hoStatus"] = json!([COMPLETED]);
        }
        Kind::NrMeasRepUe => {
            filter.triggers = codes(name, "triggerNr", &criteria.trigger_nr, 0..=31)?;
        }
        Kind::S1Bearer => {
            let events: Option<Vec<i64>> = field(body, "eventType")?;
            let events = events.unwrap_or_default();
            if events.is_empty() {
                return Err(malformed("S1BearerSubscription needs eventType"));
            }
            filter.changes = codes(kind.type_name(), "eventType", &events, 0..=3)?;
        }
        _ => {}
    }
    Ok(filter)
}

fn codes(
    table: &str,
    field: &str,
    numbers: &[i64],
    allowed: core::ops::RangeInclusive<i64>,
) -> Result<Vec<u8>, SubscriptionError> {
    let code = |number: &i64| match u8::try_from(*number) {
        Ok(code) if allowed.contains(number) => Ok(code),
        _ => Err(malformed(format!(
            "{table}: {field} {number}; allowed is {} to {}",
            allowed.start(),
            allowed.end()
        ))),
    };
    numbers.iter().map(code).collect()
}

/// Cells, bearers and UEs that there can be: a filter with others would be a mistake that only silence
/// shows.
fn possible(name: &str, criteria: &Criteria) -> Result<(), SubscriptionError> {
    let shorten = crate::codec::shorten;
    for id in &criteria.associate_id {
        id.check().map_err(|expected| {
            let text = shorten(&id.value);
            let kind = id.kind;
            malformed(format!(
                "{name}: associateId {text:?} of type {kind}; expected {expected}"
            ))
        })?;
    }
    let cells = criteria.ecgi.iter().map(|cell| (&cell.cell_id, ECI_BITS));
    let nr_cells = criteria
        .nrcgi
        .iter()
        .map(|cell| (&cell.nr_cell_id, NCI_BITS));
    if let Some((text, bits)) = cells
        .chain(nr_cells)
        .find(|(text, bits)| !is_cell(text, *bits))
    {
        let text = shorten(text);
        return Err(malformed(format!(
            "{name}: cell {text:?}; expected {bits} digits 0 and 1, or as many bits in hexadecimal digits"
        )));
    }
    let ids = match &criteria.erab_id {
        Some(OneOrMore::One(id)) => core::slice::from_ref(id),
        Some(OneOrMore::More(ids)) => ids.as_slice(),
        None => &[],
    };
    match ids
        .iter()
        .find(|id| !(0..=i64::from(MAX_ERAB_ID)).contains(*id))
    {
        Some(id) => Err(malformed(format!("{name}: erabId {id}; expected 0 to 15"))),
        None => Ok(()),
    }
}

/// Networks are recognised by digits; others can be no filter.
fn known_plmns(criteria: &Criteria) -> Result<(), SubscriptionError> {
    let cells = criteria.ecgi.iter().map(|cell| &cell.plmn);
    let nr_cells = criteria.nrcgi.iter().map(|cell| &cell.plmn);
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let wrong = |plmn: &&Plmn| !digits(&plmn.mcc) || !digits(&plmn.mnc);
    match cells.chain(nr_cells).find(wrong) {
        None => Ok(()),
        Some(_) => Err(malformed("mcc and mnc are digits")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &Value) -> Result<Subscription, SubscriptionError> {
        Subscription::from_json(body.to_string().as_bytes(), TimeStamp::default())
    }

    fn good() -> Value {
        json!({
            "subscriptionType": "RabRelSubscription",
            "callbackReference": "http://host/",
            "filterCriteriaQci": { "qci": 1e300, "erabId": 5.0 },
            "expiryDeadline": { "seconds": 5.0, "nanoSeconds": 0 },
        })
    }

    #[test]
    fn whole_numbers_may_be_written_with_a_fraction() {
        let subscription = parse(&good()).expect("a subscription");
        assert_eq!(subscription.filter.qci, Some(i64::MAX));
        assert_eq!(subscription.filter.erab_ids, vec![5]);
        let document = subscription.to_json("http://me/", None);
        assert_eq!(
            document["filterCriteriaQci"],
            good()["filterCriteriaQci"],
            "as the client wrote it"
        );
        let mut broken = good();
        broken["filterCriteriaQci"]["qci"] = json!(9.5);
        assert!(matches!(
            parse(&broken),
            Err(SubscriptionError::Malformed(_))
        ));
    }

    #[test]
    fn a_filter_that_can_match_nothing_is_malformed() {
        let with = |criteria: Value| {
            let mut body = good();
            body["subscriptionType"] = json!("MeasRepUeSubscription");
            body["filterCriteriaAssocTri"] = criteria;
            parse(&body)
        };
        let cell =
            |id: &str| json!({ "ecgi": [{ "plmn": { "mcc": "001", "mnc": "01" }, "cellId": id }] });
        let ue =
            |kind: u8, value: &str| json!({ "associateId": [{ "type": kind, "value": value }] });
        assert!(with(cell("1")).is_ok() && with(ue(1, "10.45.0.2")).is_ok());
        for bad in [
            cell("zzz"),
            cell(""),
            ue(1, "999.1.1.1"),
            ue(4, "zzz"),
            ue(5, "10.0.0.1"),
        ] {
            let error = with(bad.clone()).expect_err("nothing can match");
            assert!(
                matches!(error, SubscriptionError::Malformed(_)),
                "{bad}: {error}"
            );
        }
        let mut bearer = good();
        bearer["filterCriteriaQci"]["erabId"] = json!(16);
        assert!(matches!(
            parse(&bearer),
            Err(SubscriptionError::Malformed(_))
        ));
    }

    #[test]
    fn an_identifier_of_the_reserved_type_filters_nothing() {
        let with = |ids: Value| {
            let mut body = good();
            body["subscriptionType"] = json!("MeasTaSubscription");
            body["filterCriteriaAssoc"] = json!({ "associateId": ids });
            parse(&body).expect("the document permits it")
        };
        let reserved = json!({ "type": 0, "value": "any text" });
        let ue = json!({ "type": 1, "value": "10.45.0.2" });
        let alone = with(json!([reserved.clone()]));
        assert_eq!(alone.filter.ues, []);
        assert_eq!(
            alone.to_json("http://me/", None)["filterCriteriaAssoc"]["associateId"],
            json!([reserved.clone()]),
            "it is in the document as the client wrote it"
        );
        let beside = with(json!([reserved, ue]));
        let address = "10.45.0.2".parse().expect("an address");
        assert_eq!(beside.filter.ues, [AssociateId::address(address)]);
    }

    #[test]
    fn what_the_document_requires_is_malformed_without_it() {
        let without = |name: &str| {
            let mut body = good();
            body.as_object_mut().expect("an object").remove(name);
            parse(&body)
        };
        for name in ["subscriptionType", "callbackReference", "filterCriteriaQci"] {
            assert!(
                matches!(without(name), Err(SubscriptionError::Malformed(_))),
                "{name}"
            );
        }
        assert!(without("expiryDeadline").is_ok());
        let mut unknown = good();
        unknown["subscriptionType"] = json!("CelChangeSubscription");
        assert!(matches!(
            parse(&unknown),
            Err(SubscriptionError::Malformed(_))
        ));
        let late = Subscription::from_json(
            good().to_string().as_bytes(),
            TimeStamp {
                seconds: 5,
                nano_seconds: 0,
            },
        );
        assert!(matches!(late, Err(SubscriptionError::Unprocessable(_))));
    }

    #[test]
    fn an_entry_of_the_wrong_type_is_described_in_the_documents_words() {
        for (criteria, expected) in [
            (
                json!({ "associateId": ["text"] }),
                "an object with type and value",
            ),
            (
                json!({ "ecgi": ["text"] }),
                "an object with plmn and cellId",
            ),
            (
                json!({ "nrcgi": ["text"] }),
                "an object with plmn and nrCellId",
            ),
            (
                json!({ "ecgi": [{ "plmn": 1, "cellId": "1" }] }),
                "an object with mcc and mnc",
            ),
            (
                json!({ "erabId": "five" }),
                "a whole number or a list of them",
            ),
            (json!({ "associateId": 7 }), "a sequence"),
        ] {
            let mut body = good();
            for (name, value) in criteria.as_object().expect("an object") {
                body["filterCriteriaQci"][name] = value.clone();
            }
            let text = parse(&body).expect_err("of the wrong type").to_string();
            assert!(text.contains(expected), "{criteria}: {text}");
            assert!(
                !text.contains("struct") && !text.contains("variant"),
                "{text}"
            );
        }
        let mut body = good();
        body["expiryDeadline"] = json!({ "seconds": -1, "nanoSeconds": 0 });
        let text = parse(&body).expect_err("before 1970").to_string();
        assert!(text.contains("expiryDeadline"), "{text}");
    }

    #[test]
    fn a_handover_subscription_without_states_is_for_completed_ones() {
        let body = json!({
            "subscriptionType": "CellChangeSubscription",
            "callbackUri": "http://host/",
            "filterCriteriaAssocHo": {},
        });
        let subscription = parse(&body).expect("a subscription");
        assert_eq!(subscription.filter.handover_states, vec![COMPLETED]);
        let document = subscription.to_json("http://me/", None);
        assert_eq!(
            document["filterCriteriaAssocHo"]["hoStatus"],
            json!([3]),
            "and it is in the document"
        );
        assert_eq!(document["callbackReference"], "http://host/");
    }
}
