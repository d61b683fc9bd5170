//! A capture file through a monitor of F1-U and N3: nothing panics, each report is one that a base station can make, with
//! no more in queues than was sent, and no more tunnels are mapped to UEs than may be.
#![no_main]

use f1u::{Config, Monitor, SnLength};
use libfuzzer_sys::fuzz_target;
use rnis::adapters::CellProfile;
use rnis::identity::UeMap;
use rnis::intake::CheckedReport;
use rnis::{CellId, McsTable};
use units::{Duration, Hertz, Instant, Prb};

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, file)) = bytes.split_first() else {
        return;
    };
    let config = Config {
        cell: CellProfile {
            id: CellId(1),
            n_prb: Prb::new(51),
            scs: Hertz::from_khz(30),
            slot_duration: Duration::from_micros(500),
            downlink_share: 1.0,
            table: McsTable::NrQam64,
            layers: 1,
            data_re_per_prb: 132,
            period: Duration::from_millis(10),
        },
        ues: UeMap::default(),
        units: Vec::new(),
        sn_length: if first & 1 == 0 {
            SnLength::Bits18
        } else {
            SnLength::Bits12
        },
        has_sdap: first & 2 == 0,
        status_period: Duration::from_millis(10),
        idle_timeout: Duration::from_secs(30),
    };
    let Ok(mut capture) = gtpu::pcap::Capture::new(file) else {
        return;
    };
    let mut monitor = Monitor::new(config);
    while let Ok(Some(captured)) = capture.next_packet() {
        let now = Instant::from_nanos(captured.time_ns);
        monitor.on_packet(now, captured.packet);
        let report = CheckedReport::new(monitor.report(now)).expect("possible");
        // a packet may be captured as its beginning: it counts 64 kB at most
        let sent = monitor.counts().user_data << 16;
        for ue in &report.ues {
            assert!(ue.rlc_queue_bytes.get() <= sent);
            assert!(ue.ip.is_none_or(|ip| !ip.is_multicast() && !ip.is_unspecified()));
        }
        assert!(monitor.tunnels().0 <= 4 * f1u::MAX_BEARERS);
    }
});
