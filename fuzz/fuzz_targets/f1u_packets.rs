//! A capture file through a monitor of F1-U and N3: nothing panics, each report is one that a base station can make, with
//! no more in queues than was sent, and no more tunnels are mapped to UEs than may be. What is in its packets through both ends of a
//! bearer, and of a session on N3: nothing panics there either.
#![no_main]

use f1u::n3::{CoreEnd, NtpTime, SessionEndpoints, StationEnd, echo_response};
use f1u::{CentralEnd, Config, Endpoints, Monitor, Progress, SnLength, UnitEnd};
use libfuzzer_sys::fuzz_target;
use rnis::adapters::CellProfile;
use rnis::identity::UeMap;
use rnis::intake::CheckedReport;
use rnis::{CellId, McsTable};
use units::{Bytes, Duration, Hertz, Instant, Prb};

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
    let endpoints = Endpoints {
        downlink: u32::from(first),
        uplink: u32::from(first),
        length: config.sn_length,
    };
    let central = CentralEnd::new(endpoints);
    let mut unit = UnitEnd::new(endpoints, Bytes::new(100_000));
    let session = SessionEndpoints {
        downlink: u32::from(first),
        uplink: u32::from(first),
    };
    let core = CoreEnd::new(session);
    let mut station = StationEnd::new(session);
    let Ok(mut capture) = gtpu::pcap::Capture::new(file) else {
        return;
    };
    let mut monitor = Monitor::new(config);
    while let Ok(Some(captured)) = capture.next_packet() {
        let now = Instant::from_nanos(captured.time_ns);
        monitor.on_packet(now, captured.packet);
        if let Some(datagram) = gtpu::outer::Datagram::read(captured.packet) {
            let _ = central.on_message(datagram.payload);
            let received = unit.on_message(datagram.payload);
            if let Ok(received) = received {
                unit.on_rejected(received.sequence / 2);
            }
            let _ = unit.status(now, Progress::default());
            let time = NtpTime::from_unix(now.since_start());
            if let Ok(came) = station.on_message(time, datagram.payload) {
                let _ = station.uplink_data(time, came.qfi, came.packet);
            }
            let _ = core.on_message(time, datagram.payload);
            if let Ok((message, _)) = gtpu::Message::read(datagram.payload) {
                let _ = echo_response(&message);
            }
        }
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
