//! What is done with bytes that claim to be radio information: read, and used as the service does.
//! Nothing may panic, and what comes out must pass the checks that consumers rely on.

use rnis::adapters::{Adapter, CellProfile, FlexRan, FlexRic, Kpm, LegacyCsv, OaiXapp, SrsRan};
use rnis::codec::{decode, encode_binary, encode_json};
use rnis::event::RadioEvent;
use rnis::identity::{KnownUe, UeId, UeMap};
use rnis::mec012::{NetworkProfile, Plmn, RadioView, Subscription, TimeStamp};
use rnis::vet::Vetter;
use rnis::{CellId, LinkQuality, McsTable, RadioReport, Rnti};
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
    let separator = if bytes.contains(&0) { 0 } else { b'\n' };
    let mut adapter = adapter(source);
    let mut gate = Gate::new();
    let mut now = Instant::ZERO;
    for message in bytes.split(|&b| b == separator) {
        now += Duration::from_millis(10);
        match adapter.on_message(now, message) {
            Ok(said) => {
                assert!(said.problems.iter().all(|p| !p.to_string().is_empty()));
                for report in said.reports {
                    assert!(report.check().is_ok(), "{report:?}");
                    gate.pass(now, report);
                }
            }
            Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
        }
    }
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
        let told = subscription.to_json("http://here/", uri).to_string();
        let later = TimeStamp::default();
        // a WebSocket's URI is told in place of a callback, and asked for by the same name
        assert!(Subscription::from_json(told.as_bytes(), later).is_ok() || uri.is_none());
    }
    if let Ok(event) = RadioEvent::from_json(event) {
        let _ = subscription.notification(&event, &network(), "http://here/", TimeStamp::default());
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
    vetter: Vetter,
    view: RadioView,
    network: NetworkProfile,
}

impl Gate {
    fn new() -> Self {
        Self {
            vetter: Vetter::new(ues()),
            view: RadioView::new(Duration::from_secs(1), Duration::from_millis(20)),
            network: network(),
        }
    }

    fn pass(&mut self, now: Instant, report: RadioReport) {
        if let Ok(vetted) = self.vetter.vet(report) {
            self.view.on_report(now, &vetted.report, &self.network);
            assert!(self.view.cells(now).count() > 0);
        }
    }
}
