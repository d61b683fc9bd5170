//! Radio reports reach the server's side of the path of their UE.

use crate::Test;
use crate::support::{Daemon, Hosts, client_config, server_config, two_paths};
use daemon::clock::now as monotonic_now;
use rnis::codec::encode_json;
use rnis::{CellId, CellReport, LinkQuality, RadioReport, Rnti, UeReport};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use testing::wait_until;
use units::{Cqi, Prb, Slot};

pub const TESTS: &[Test] = &[(
    "radio_reports_reach_the_path_of_their_ue",
    radio_reports_reach_the_path_of_their_ue,
)];

/// Between reports: several within the time that one is fresh.
const PERIOD: Duration = Duration::from_millis(5);
/// Bytes a slot of 1 ms: 40 Mbit/s.
const SLOT_BYTES: u64 = 5_000;

/// The client's cellular path by RNTI, as the configuration maps it, and a UE that is not configured here.
fn report(seq: u64) -> RadioReport {
    let ue = |rnti, ip: Option<IpAddr>| UeReport {
        ip,
        cqi: Cqi::new(12),
        seq,
        ..UeReport::idle(
            Rnti(rnti),
            LinkQuality::Measured {
                full_band_millibytes: SLOT_BYTES * 1_000,
            },
            monotonic_now(),
        )
    };
    RadioReport {
        cell: CellReport {
            slot: Slot::new(seq),
            ..CellReport::fdd(CellId(1), Prb::new(50))
        },
        ues: vec![
            ue(7, None),
            ue(8, Some(IpAddr::from([10, 45, 0, 99]))),
            ue(9, None),
        ],
    }
}

fn radio_reports_reach_the_path_of_their_ue() {
    let Some(hosts) = Hosts::try_new("radio_reports_reach_the_path_of_their_ue") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a scratch folder");
    let socket = folder.path().join("radio.sock");
    let source = format!(
        "[reports]\nsource = \"unix:{}\"\n\
         [[ue]]\nip = \"10.45.0.7\"\nrnti = 7\n\
         [[address]]\nremote = \"10.2.0.2\"\nue = \"10.45.0.7\"\n",
        socket.display()
    );
    let config = format!("{}{source}", server_config(""));
    let server = Daemon::start(&hosts.server, "server", &config);
    let client = Daemon::start(&hosts.client, "client", &client_config("", &two_paths("")));
    client.wait_for_paths(2);
    // there is no source yet, and the tunnel works
    hosts.client.sh("ping -c 1 -w 60 10.99.0.1");
    assert_eq!(server.status()["reports_connected"], false);

    let listener = UnixListener::bind(&socket).expect("bound");
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    let radio = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the server comes");
        stream.write_all(b"no report\n").expect("written");
        for seq in 1.. {
            if is_over.load(Relaxed) {
                return;
            }
            let mut line = encode_json(&report(seq));
            line.push(b'\n');
            stream.write_all(&line).expect("written");
            std::thread::sleep(PERIOD);
        }
    });
    let rate = |index: usize| server.path(index)["radio_rate_bps"].as_u64();
    wait_until("the cellular path has a rate", || {
        rate(1) == Some(SLOT_BYTES * 8 * 1_000)
    });
    assert_eq!(rate(0), None, "the other path is no UE's");
    let status = server.status();
    assert_eq!(status["reports_connected"], true);
    let count = |outcome: &str| status["reports"][outcome].as_u64().expect("a count");
    assert_eq!(count("unreadable"), 1);
    for outcome in ["believed", "told", "unconnected", "unmapped"] {
        assert!(count(outcome) > 0, "{outcome}: {status}");
    }
    over.store(true, Relaxed);
    radio.join().expect("it reported");
    // a rate expires with its report
    wait_until("the rate expires", || rate(1).is_none());
}
