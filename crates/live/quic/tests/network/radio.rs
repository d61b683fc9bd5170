//! Reports on their way to the connection of their UE, and those that go nowhere.

use super::{config, get, plain, start, until, until_some};
use quic::{Config, ReportSource, Server};
use rnis::{CellId, CellReport, LinkQuality, RadioReport, Rnti, UeReport};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::net::UnixListener;
use std::time::Duration as Wait;
use units::{Bytes, Duration, Instant, Prb, Slot};

pub fn report(n: u64, ip: Option<IpAddr>, timestamp: Instant) -> RadioReport {
    RadioReport {
        cell: CellReport {
            slot: Slot::new(n * 8),
            slots: 8,
            ..CellReport::fdd(CellId(1), Prb::new(25))
        },
        ues: vec![UeReport {
            ip,
            prb_dl: Prb::new(25),
            tbs_bytes: Bytes::new(8_000),
            served_bytes: Bytes::new(8_000),
            harq_processes: 1,
            lost_packets: Some(0),
            seq: n,
            ..UeReport::idle(
                Rnti(7),
                LinkQuality::Measured {
                    full_band_millibytes: 2_292_000,
                },
                timestamp,
            )
        }],
    }
}

fn count(server: &Server, key: &str) -> u64 {
    server.status()["reports"][key].as_u64().expect(key)
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_socket_reach_the_connection_of_their_ue_and_malformed_ones_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("radio.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let config = Config {
        meld: cc::meld::Variant::from_name("default"),
        reports: Some(ReportSource::Unix {
            path,
            users: Vec::new(),
        }),
        ..config()
    };
    let (server, address) = start(config).await;
    let writer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the server");
        let local: IpAddr = [127, 0, 0, 1].into();
        let mut line = |text: &str| stream.write_all(text.as_bytes()).is_ok();
        let encoded = |report: &RadioReport| {
            let json = serde_json::to_string(report).expect("JSON");
            format!("{json}\n")
        };
        line("no report\n");
        line("{}\n");
        let now = daemon::clock::now();
        line(&encoded(&report(1, Some([10, 45, 0, 9].into()), now)));
        let ahead = now + Duration::from_secs(3_600);
        line(&encoded(&report(2, Some(local), ahead)));
        line(&encoded(&report(2, Some(local), now)));
        let mut absurd = report(3, Some(local), now);
        absurd.ues[0].prb_dl = Prb::new(26);
        line(&encoded(&absurd));
        let mut n = 4;
        while line(&encoded(&report(n, Some(local), daemon::clock::now()))) {
            n += 1;
            std::thread::sleep(Wait::from_millis(2));
        }
    });
    until("reports", || count(&server, "believed") > 20).await;
    assert_eq!(count(&server, "unreadable"), 2);
    assert_eq!(count(&server, "absurd"), 1);
    assert_eq!(count(&server, "skewed"), 1);
    assert_eq!(count(&server, "out_of_order"), 1);
    assert!(count(&server, "unconnected_ues") > 0);
    // reports come while there is a connection
    until_some("a delivered report", async || {
        let (_, body) = get(&plain(address, 5_000_000)).await.expect("a download");
        assert_eq!(body.len(), 5_000_000);
        (count(&server, "delivered") > 0).then_some(())
    })
    .await;
    server.close().await;
    server_gone(writer);
}

/// The thread ends with the server's end of the socket.
fn server_gone(writer: std::thread::JoinHandle<()>) {
    writer.join().expect("the writer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reporter_of_another_user_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("radio.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let config = Config {
        reports: Some(ReportSource::Unix {
            path,
            // no user has this number
            users: vec![4_000_000_001],
        }),
        ..config()
    };
    let (server, _) = start(config).await;
    let (mut stream, _) = listener.accept().expect("the server connects");
    let line = serde_json::to_string(&report(1, None, Instant::ZERO)).expect("JSON");
    // it is closed from the other side, before or after this
    let _ = stream.write_all(format!("{line}\n").as_bytes());
    let (_again, _) = listener.accept().expect("and tries again");
    assert_eq!(
        (count(&server, "believed"), count(&server, "connected")),
        (0, 0)
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_passes_its_own_reports() {
    let local: IpAddr = [127, 0, 0, 1].into();
    let ue: IpAddr = [10, 45, 0, 2].into();
    let config = Config {
        meld: cc::meld::Variant::from_name("me"),
        addresses: [(local, ue)].into(),
        ..config()
    };
    let (server, address) = start(config).await;
    let mut inlet = server.reporter().inlet(false);
    let feeding = tokio::spawn(async move {
        for n in 1.. {
            inlet.report(report(n, Some(ue), daemon::clock::now()));
            tokio::time::sleep(Wait::from_millis(2)).await;
        }
    });
    until_some("a delivered report", async || {
        get(&plain(address, 5_000_000)).await.expect("a download");
        (count(&server, "delivered") > 0).then_some(())
    })
    .await;
    feeding.abort();
    server.close().await;
}
