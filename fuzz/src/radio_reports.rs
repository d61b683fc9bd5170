//! What is done with bytes that claim to be radio information: read, and used as the service does.
//! Nothing may panic, and what comes out must pass the checks that consumers rely on.

use rnis::adapters::{Adapter, CellProfile, FlexRan, FlexRic, Kpm, LegacyCsv, OaiXapp, SrsRan};
use rnis::codec::{decode, encode_binary, encode_json};
use rnis::event::RadioEvent;
use rnis::identity::{KnownUe, UeId, UeMap};
use rnis::intake::Intake;
use rnis::mec012::{
    LinkForm, NetworkProfile, Plmn, Query, QueryError, QueryKind, RadioView, Snapshot,
    Subscription, TimeStamp,
};
use rnis::{CellId, LinkQuality, McsTable, RadioReport, Rnti};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{Bytes, Duration, Hertz, Instant, Prb};

/// Which adapter.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    SrsRan,
    FlexRic,
    FlexRan,
    Oai,
    Legacy,
    Kpm,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::SrsRan,
        Self::FlexRic,
        Self::FlexRan,
        Self::Oai,
        Self::Legacy,
        Self::Kpm,
    ];
}

const UE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 45, 0, 2));

fn profile() -> CellProfile {
    CellProfile {
        id: CellId(1),
        n_prb: Prb::new(106),
        scs: Hertz::from_khz(30),
        slot_duration: Duration::from_micros(500),
        downlink_share: 0.74,
        table: McsTable::NrQam256,
        layers: 2,
        data_re_per_prb: 132,
        period: Duration::from_millis(10),
    }
}

fn ues() -> UeMap {
    let ids = vec![UeId::Rnti(Rnti(17_921)), UeId::AmfUeNgapId(1)];
    UeMap::new(vec![KnownUe { ip: UE, ids }]).expect("one UE")
}

fn block_bytes(quality: LinkQuality, prb: Prb, n_prb: Prb) -> Option<Bytes> {
    radio::transport_block_bytes(quality, prb, n_prb).ok()
}

fn adapter(source: Source) -> Box<dyn Adapter> {
    match source {
        Source::SrsRan => Box::new(SrsRan::new(profile(), ues(), None, block_bytes)),
        Source::FlexRic => Box::new(FlexRic::new(profile(), ues())),
        Source::FlexRan => Box::new(FlexRan::new(profile(), ues(), None)),
        Source::Oai => Box::new(OaiXapp::new(profile(), ues(), block_bytes)),
        Source::Legacy => Box::new(LegacyCsv::new(profile(), Rnti(1), UE)),
        Source::Kpm => Box::new(Kpm::new(profile(), ues())),
    }
}

/// Each line is a message, 10 ms after the last. A zero byte makes messages of several lines.
pub fn messages(source: Source, bytes: &[u8]) {
    reports_in(source, bytes);
}

/// As [`messages`]; how many reports came of them.
pub fn reports_in(source: Source, bytes: &[u8]) -> usize {
    let mut count = 0;
    let separator = if bytes.contains(&0) { 0 } else { b'\n' };
    let mut adapter = adapter(source);
    let mut gate = Gate::new();
    let mut now = Instant::ZERO;
    for message in bytes.split(|&b| b == separator) {
        now += Duration::from_millis(10);
        match adapter.on_message(now, message) {
            Ok(adapted) => {
                assert!(adapted.problems.iter().all(|p| !p.to_string().is_empty()));
                for report in adapted.reports {
                    count += 1;
                    assert!(report.check().is_ok(), "{report:?}");
                    gate.pass(now, report);
                }
            }
            Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
        }
    }
    count
}

/// Both forms of a report; what was read is written and read again as the same.
pub fn report(bytes: &[u8]) {
    if let Ok(report) = decode(bytes) {
        assert_eq!(decode(&encode_json(&report)).as_ref(), Ok(&report));
        assert_eq!(decode(&encode_binary(&report)).as_ref(), Ok(&report));
        Gate::new().pass(Instant::ZERO, report);
    }
    if let Ok(event) = RadioEvent::from_json(bytes) {
        let again = RadioEvent::from_json(&event.to_json());
        assert_eq!(again.as_ref(), Ok(&event));
    }
}

/// A subscription of MEC 012, and what it makes of an event.
pub fn subscription(bytes: &[u8]) {
    let (body, event) = match bytes.iter().position(|&b| b == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &b""[..]),
    };
    let Ok(subscription) = Subscription::from_json(body, TimeStamp::default()) else {
        return;
    };
    for uri in [None, Some("ws://here/")] {
        let document = subscription.to_json("http://here/", uri).to_string();
        let later = TimeStamp::default();
        // a WebSocket's URI is reported in place of a callback, and requested by the same name
        assert!(Subscription::from_json(document.as_bytes(), later).is_ok() || uri.is_none());
    }
    if let Ok(event) = RadioEvent::from_json(event) {
        let _ = subscription.notification(
            &event,
            &network(),
            "http://here/",
            TimeStamp::default(),
            LinkForm::Lists,
        );
    }
}

/// A query string of MEC 012 after the digit of its kind, and its answer.
pub fn query(bytes: &[u8]) {
    let Some((&kind, text)) = bytes.split_first() else {
        return;
    };
    let kind = match kind % 4 {
        0 => QueryKind::RabInfo,
        1 => QueryKind::PlmnInfo,
        2 => QueryKind::S1BearerInfo,
        _ => QueryKind::Layer2Meas,
    };
    let parameters =
        form_urlencoded::parse(text).map(|(name, value)| (name.into_owned(), value.into_owned()));
    let query = match Query::new(kind, parameters) {
        Ok(query) => query,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut gate = Gate::new();
    for slot in [20, 40] {
        gate.pass(Instant::from_nanos(slot), one_ue(slot));
    }
    let answer = query.answer(&Snapshot {
        cells: gate.view.cells(),
        network: &gate.network,
        now: Instant::from_nanos(50),
        time: TimeStamp::default(),
        app: "app",
        request: 1,
    });
    match answer {
        Ok(answer) => {
            let is_wrapped = text.len() % 2 == 0;
            let json: Value = serde_json::from_str(&answer.into_json(is_wrapped)).expect("JSON");
            assert!(json.is_object() || json.is_array());
        }
        Err(QueryError::UnknownCell) => {}
        Err(error) => assert_eq!(kind, QueryKind::S1BearerInfo, "{error}"),
    }
}

fn one_ue(slot: u64) -> RadioReport {
    let text = format!(
        r#"{{"cell":{{"id":1,"n_prb":106,"scs":30000,"slot_duration":500000,"downlink_share":1.0,"slot":{slot},"slots":20,"prb_background":2}},
        "ues":[{{"rnti":17921,"ip":"10.45.0.2","prb_dl":40,"quality":{{"kind":"mcs","mcs":20,"table":"nr-qam256","layers":1,"data_re_per_prb":132}},
        "cqi":11,"tbs_bytes":9480,"served_bytes":9000,"rlc_queue_bytes":120000,"harq_processes":3,"harq_retx":1,"seq":1,"timestamp":1}}]}}"#
    );
    decode(text.as_bytes()).expect("a report")
}

/// A configuration of the service: used, or refused with a place in it.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match rnis_server::Config::parse("fuzz.toml", text) {
        Ok(config) => {
            // tables of cells; a certificate's file could be any device
            if config.http.as_ref().is_none_or(|http| http.tls.is_none()) {
                let _ = rnis_server::check(&config);
            }
            assert!(!config.sources.is_empty());
            assert!(!format!("{config:?}").is_empty());
        }
        Err(error) => assert!(error.to_string().contains("fuzz.toml:"), "{error}"),
    }
}

fn network() -> NetworkProfile {
    NetworkProfile {
        plmns: vec![Plmn {
            mcc: "001".into(),
            mnc: "01".into(),
        }],
        cells: BTreeMap::new(),
        ues: BTreeMap::new(),
    }
}

/// What every report passes in the service.
struct Gate {
    intake: Intake,
    view: RadioView,
    network: NetworkProfile,
}

impl Gate {
    fn new() -> Self {
        Self {
            intake: Intake::new(ues(), None),
            view: RadioView::new(Duration::from_secs(1), Duration::from_millis(20)),
            network: network(),
        }
    }

    fn pass(&mut self, now: Instant, report: RadioReport) {
        if let Ok(accepted) = self.intake.report(now, report, true) {
            assert!(accepted.placed.is_none_or(|placed| placed.at <= now));
            self.view.on_report(now, &accepted.report, &self.network);
            assert!(self.view.cells().current(now).count() > 0);
        }
    }
}
