//! Windows follow the radio; and what happens when the radio's reports do not.

use crate::capture::Capture;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, monotonic, report};
use crate::support::traffic::{accept, connect};
use crate::support::{CLIENT, Hosts};
use crate::{Test, server_at};
use rnis::RadioReport;
use rnis::codec::encode_json;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    ("windows_follow_the_radio", windows_follow_the_radio),
    (
        "silence_decays_to_plain_splicing_and_recovers",
        silence_decays_to_plain_splicing_and_recovers,
    ),
    ("absurd_reports_are_survived", absurd_reports_are_survived),
    (
        "without_bpf_the_kernels_own_is_paced",
        without_bpf_the_kernels_own_is_paced,
    ),
    (
        "the_kernels_own_is_paced_by_fq_where_there_is_one",
        the_kernels_own_is_paced_by_fq_where_there_is_one,
    ),
    ("metrics_have_each_ue", metrics_have_each_ue),
    (
        "a_connection_is_controlled_once_it_carries_something",
        a_connection_is_controlled_once_it_carries_something,
    ),
];

/// A pause of the radio's thread on a busy machine is no silence.
const NEVER_PLAIN: &str = "600 s";

/// Under control of a radio; plain after so long without a report.
fn config(plain_after: &str) -> String {
    format!(
        "{TRANSPARENT}[reports]\nsource = \"unix:{{dir}}/radio\"\nplain-after = \"{plain_after}\"\n\
         [metrics]\nlisten = \"127.0.0.1:9464\"\n"
    )
}

fn ue() -> Vec<IpAddr> {
    vec![CLIENT.into()]
}

/// A radio of a rate that can be changed, bit/s.
fn radio(path: &std::path::Path, rate: &Arc<AtomicU64>) -> Radio {
    let rate = Arc::clone(rate);
    Radio::start(path, move |n, at| report(&ue(), n, at, rate.load(Relaxed)))
}

/// A download that ends when it is dropped.
pub struct Download {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    received: Arc<AtomicU64>,
}

impl Download {
    pub fn start(hosts: &Hosts, port: u16) -> Self {
        Self::paced(hosts, port, 65_536, Duration::ZERO)
    }

    /// So many bytes at a time, and a pause after each.
    fn paced(hosts: &Hosts, port: u16, piece: usize, pause: Duration) -> Self {
        let (address, listener) = server_at(hosts, port);
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        let stop = Arc::new(AtomicBool::new(false));
        let received = Arc::new(AtomicU64::new(0));
        let pour = move |mut far: TcpStream, stop: Arc<AtomicBool>| {
            while !stop.load(Relaxed) && far.write_all(&vec![0; piece]).is_ok() {
                std::thread::sleep(pause);
            }
        };
        let swallow = |mut near: TcpStream, received: Arc<AtomicU64>| {
            let mut buffer = vec![0; 65_536];
            while let Ok(n) = near.read(&mut buffer)
                && n > 0
            {
                received.fetch_add(n as u64, Relaxed);
            }
        };
        let (flag, count) = (Arc::clone(&stop), Arc::clone(&received));
        let threads = vec![
            std::thread::spawn(move || pour(far, flag)),
            std::thread::spawn(move || swallow(near, count)),
        ];
        Self {
            stop,
            threads,
            received,
        }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn flow(daemon: &Daemon) -> Value {
    let flows = pep::flows(&daemon.path("pep.sock")).expect("it answers");
    flows[0].clone()
}

/// The congestion control that connections have in the proxy's host.
fn usual(hosts: &Hosts) -> String {
    let name = hosts
        .proxy
        .sh("cat /proc/sys/net/ipv4/tcp_congestion_control");
    name.trim().to_owned()
}

fn state(daemon: &Daemon) -> Value {
    daemon.status()["control"]["cells"][0]["state"].clone()
}

/// The windows of the flow towards the server and towards the UE, bytes, once both are decided.
fn windows(daemon: &Daemon) -> Option<[f64; 2]> {
    let flow = flow(daemon);
    let of = |key: &str| flow[key].as_f64().filter(|&bytes| bytes > 0.0);
    Some([of("wan_window_bytes")?, of("ran_window_bytes")?])
}

fn windows_follow_the_radio() {
    let Some(hosts) = Hosts::try_new("windows_follow_the_radio") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let rate = Arc::new(AtomicU64::new(1_000_000_000));
    let _radio = radio(&folder.path().join("radio"), &rate);
    // the reports have nothing served: a queue would come to stand for what seems lost
    let config = config(NEVER_PLAIN) + "[rapid]\nwithout = [\"variation\"]\n";
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config, &[]);
    daemon.wait_until("it follows", || state(&daemon) == "following");
    let capture = Capture::start(&hosts);
    // a server that is slower than the radio: nothing waits, and the windows are what is decided
    let _download = Download::paced(&hosts, 5_501, 6_000, Duration::from_millis(3));
    daemon.wait_until("the flow is under control", || {
        flow(&daemon)["handling"] == "controlled"
    });
    let name = format!("brimful_{}", daemon.child.id());
    assert_eq!(flow(&daemon)["ran_congestion_control"], name.as_str());
    // windows are proportional to the rate: a fiftieth of it gives less than half of the window
    rate.store(200_000_000, Relaxed);
    // the smallest of some looks: the RTT, which they are proportional to as well, is the machine's
    let mut low = [f64::MAX; 2];
    for _ in 0..40 {
        let now = testing::wait_for("windows at the low rate", || windows(&daemon));
        low = [low[0].min(now[0]), low[1].min(now[1])];
    }
    // what is decided is shown to the server, with the next acknowledgements
    let shown_low = testing::wait_for("the small window is on the wire", || {
        let shown = capture.last_window(5_501)?;
        (shown < 2.0 * windows(&daemon)?[0]).then_some(shown)
    });
    rate.store(10_000_000_000, Relaxed);
    let high = testing::wait_for("windows grow with the rate", || {
        windows(&daemon).filter(|w| w[0] > 4.0 * low[0] && w[1] > 4.0 * low[1])
    });
    let shown_high = testing::wait_for("the large window is on the wire", || {
        let shown = capture.last_window(5_501)?;
        (shown > 2.0 * shown_low).then_some(shown)
    });
    rate.store(200_000_000, Relaxed);
    testing::wait_for("windows shrink with the rate", || {
        windows(&daemon).filter(|w| 2.0 * w[0] < high[0] && 2.0 * w[1] < high[1])
    });
    testing::wait_for("the small window is on the wire again", || {
        let shown = capture.last_window(5_501)?;
        (1.5 * shown < shown_high).then_some(())
    });
}

fn silence_decays_to_plain_splicing_and_recovers() {
    let Some(hosts) = Hosts::try_new("silence_decays_to_plain_splicing_and_recovers") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let rate = Arc::new(AtomicU64::new(1_000_000_000));
    let source = radio(&folder.path().join("radio"), &rate);
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config("2 s"), &[]);
    daemon.wait_until("it follows", || state(&daemon) == "following");
    let download = Download::start(&hosts, 5_502);
    daemon.wait_until("under control", || {
        flow(&daemon)["handling"] == "controlled"
    });
    source.silent.store(true, Relaxed);
    // that it decays before is in the log
    daemon.wait_until("it is plain", || state(&daemon) == "plain");
    daemon.wait_until("the flow is plain", || flow(&daemon)["handling"] == "plain");
    let plain = flow(&daemon);
    assert_eq!(plain["ran_congestion_control"], usual(&hosts).as_str());
    daemon.wait_until("the window is the receive buffer's", || {
        flow(&daemon)["wan_window_bytes"] == 4_000_000
    });
    let before = download.received.load(Relaxed);
    daemon.wait_until("data passes", || {
        download.received.load(Relaxed) > before + 10_000_000
    });
    source.silent.store(false, Relaxed);
    daemon.wait_until("it follows again", || state(&daemon) == "following");
    daemon.wait_until("under control", || {
        flow(&daemon)["handling"] == "controlled"
    });
    // the source dies altogether, and another takes its place
    drop(source);
    daemon.wait_until("it is plain", || state(&daemon) == "plain");
    let _source = radio(&daemon.path("radio"), &rate);
    daemon.wait_until("it follows again", || state(&daemon) == "following");
    daemon.wait_until("under control", || {
        flow(&daemon)["handling"] == "controlled"
    });
    for word in ["decaying", "plain", "following"] {
        assert!(
            daemon.log().contains(&format!("to=\"{word}\"")),
            "{word} is not in the log"
        );
    }
}

/// The bytes that are made of a good report.
type Edit = Box<dyn Fn(&mut RadioReport) -> Vec<u8>>;
/// What becomes of a report, and what it is.
type Strange = (&'static str, Edit);

fn line(made: &RadioReport) -> Vec<u8> {
    let mut line = encode_json(made);
    line.push(b'\n');
    line
}

fn edited(edit: impl Fn(&mut RadioReport) + 'static) -> Edit {
    Box::new(move |made| {
        edit(made);
        line(made)
    })
}

fn rewritten(from: &'static str, to: &'static str) -> Edit {
    Box::new(move |made| {
        let text = String::from_utf8(line(made)).expect("JSON");
        assert!(text.contains(from), "{from} is not in {text}");
        text.replace(from, to).into_bytes()
    })
}

fn strange_reports() -> Vec<Strange> {
    const HOUR: units::Duration = units::Duration::from_secs(3_600);
    vec![
        ("believed", edited(|_| {})),
        (
            "repeated",
            Box::new(|made| [line(made), line(made)].concat()),
        ),
        (
            "out_of_order",
            Box::new(|made| {
                let mut earlier = made.clone();
                earlier.cell.slot = units::Slot::new(made.cell.slot.get() - 1);
                [line(made), line(&earlier)].concat()
            }),
        ),
        (
            "absurd",
            edited(|r| r.ues[0].prb_dl = units::Prb::new(60_000)),
        ),
        ("absurd", edited(|r| r.cell.slots = 0)),
        ("absurd", edited(|r| r.cell.n_prb = units::Prb::new(276))),
        ("absurd", edited(|r| r.ues.push(r.ues[0].clone()))),
        (
            "absurd",
            edited(|r| r.ues[0].rlc_queue_bytes = units::Bytes::new(1 << 41)),
        ),
        ("old", edited(|r| r.ues[0].timestamp = monotonic() - HOUR)),
        (
            "unreadable",
            rewritten("\"downlink_share\":1.0", "\"downlink_share\":NaN"),
        ),
        (
            "unreadable",
            rewritten("\"prb_dl\":0", "\"prb_dl\":1000000000000000000"),
        ),
        (
            "unreadable",
            Box::new(|_| b"\xff\xfe\x00 no report\n".to_vec()),
        ),
        ("unreadable", Box::new(|_| b"\n".to_vec())),
        // a UE that is in no table and has no address
        (
            "believed",
            edited(|r| {
                r.ues[0].rnti = rnis::Rnti(999);
                r.ues[0].ip = None;
            }),
        ),
        (
            "skewed",
            edited(|r| r.ues[0].timestamp = monotonic() + units::Duration::from_secs(3)),
        ),
    ]
}

fn absurd_reports_are_survived() {
    let Some(hosts) = Hosts::try_new("absurd_reports_are_survived") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let rate = Arc::new(AtomicU64::new(1_000_000_000));
    let source = radio(&folder.path().join("radio"), &rate);
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config(NEVER_PLAIN), &[]);
    daemon.wait_until("it follows", || state(&daemon) == "following");
    let download = Download::start(&hosts, 5_503);
    daemon.wait_until("under control", || {
        flow(&daemon)["handling"] == "controlled"
    });
    source.silent.store(true, Relaxed);
    let count = |outcome: &str| {
        daemon.status()["control"]["reports"][outcome]
            .as_u64()
            .unwrap_or(0)
    };
    let mut slot = 1_000_000_000;
    for (outcome, edit) in strange_reports() {
        let before = count(outcome);
        // sent anew until it is counted: one that waits for a busy machine is too old
        daemon.wait_until(outcome, || {
            slot += 10;
            let mut made = report(&ue(), slot, monotonic(), 1_000_000_000);
            source.send_raw(&edit(&mut made));
            count(outcome) > before
        });
    }
    source.silent.store(false, Relaxed);
    daemon.wait_until("it follows", || state(&daemon) == "following");
    let before = download.received.load(Relaxed);
    daemon.wait_until("data passes", || {
        download.received.load(Relaxed) > before + 1_000_000
    });
    assert!(
        daemon
            .log()
            .contains("a report names a UE without an address")
    );
}

fn without_bpf_the_kernels_own_is_paced() {
    let Some(hosts) = Hosts::try_new("without_bpf_the_kernels_own_is_paced") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    // well below what the path carries
    let rate = Arc::new(AtomicU64::new(200_000_000));
    let _source = radio(&folder.path().join("radio"), &rate);
    let daemon = Daemon::start_without_bpf(&hosts.proxy, folder, &config(NEVER_PLAIN));
    daemon.wait_until("it follows", || state(&daemon) == "following");
    let status = daemon.status();
    assert_eq!(status["control"]["actuator"], "pacing");
    assert!(status["control"]["actuator_error"].is_string());
    let _download = Download::start(&hosts, 5_504);
    daemon.wait_until("it is paced", || flow(&daemon)["handling"] == "paced");
    assert_eq!(
        flow(&daemon)["ran_congestion_control"],
        usual(&hosts).as_str()
    );
    daemon.wait_until("windows are decided", || {
        flow(&daemon)["ran_window_bytes"].is_u64()
    });
    let host = hosts.proxy.sh("ss -tinO 'dst 10.45.0.2'");
    assert!(!host.contains("brimful"), "{host}");
}

/// With `fq` at the interface the kernel leaves pacing to it: packets wait there for their time.
fn the_kernels_own_is_paced_by_fq_where_there_is_one() {
    let test = "the_kernels_own_is_paced_by_fq_where_there_is_one";
    let Some(hosts) = Hosts::try_new(test) else {
        return;
    };
    if !hosts.proxy.has_root_qdisc(test, "ran0", "fq") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // below what an emulated machine carries
    let rate = Arc::new(AtomicU64::new(20_000_000));
    let _source = radio(&folder.path().join("radio"), &rate);
    let config = format!("{}[rapid]\nactuator = \"pacing\"\n", config(NEVER_PLAIN));
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config, &[]);
    daemon.wait_until("it follows", || state(&daemon) == "following");
    let _download = Download::start(&hosts, 5_506);
    daemon.wait_until("it is paced", || flow(&daemon)["handling"] == "paced");
    testing::wait_until("packets wait in fq", || {
        // of flows, which is followed by a bracket, and of packets
        let text = hosts.proxy.sh("tc -s qdisc show dev ran0 root");
        let mut counts = text.split(" throttled ").skip(1);
        counts.any(|rest| {
            let packets = rest.split_whitespace().next();
            packets.is_some_and(|n| n.parse::<u64>().is_ok_and(|n| n > 0))
        })
    });
}

fn metrics_have_each_ue() {
    let Some(hosts) = Hosts::try_new("metrics_have_each_ue") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let rate = Arc::new(AtomicU64::new(1_000_000_000));
    let _source = radio(&folder.path().join("radio"), &rate);
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config(NEVER_PLAIN), &[]);
    daemon.wait_until("it follows", || state(&daemon) == "following");
    let _download = Download::start(&hosts, 5_505);
    daemon.wait_until("under control", || {
        flow(&daemon)["handling"] == "controlled"
    });
    let request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    // reports of 1 Gbit/s at most for this UE, and a flow whose windows are decided and whose RTTs are measured
    let page = testing::wait_for("all values of the UE", || {
        let page = get(&hosts, request);
        let has = |name: &str, ok: &dyn Fn(f64) -> bool| {
            let name = format!("brimful_pep_{name}{{ue=\"10.45.0.2\"}}");
            let line = page.lines().find(|line| line.starts_with(&name));
            let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
            value.is_some_and(ok)
        };
        let is_complete = has("ue_capacity_bps", &|bps| bps > 0.0 && bps <= 1.01e9)
            && has("ue_bytes_down_total", &|bytes| bytes > 0.0)
            && has("ue_ran_window_bytes", &|bytes| bytes > 0.0)
            && has("ue_wan_rtt_seconds", &|s| s > 0.0)
            && has("ue_ran_rtt_seconds", &|s| s > 0.0);
        is_complete.then_some(page)
    });
    let value = |name: &str| {
        let line = page.lines().find(|l| l.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in\n{page}"));
        line.rsplit(' ')
            .next()
            .and_then(|n| n.parse::<f64>().ok())
            .expect("a number")
    };
    let of_ue = |name: &str| value(&format!("brimful_pep_{name}{{ue=\"10.45.0.2\"}}"));
    assert_eq!(of_ue("ue_flows"), 1.0);
    assert_eq!(
        value("brimful_pep_cell_state{cell=\"1\",state=\"following\"}"),
        1.0
    );
    assert!(get(&hosts, "GET /secret HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(get(&hosts, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(get(&hosts, "\u{1}\u{2}nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
}

/// What the metrics' address answers.
pub fn get(hosts: &Hosts, request: &str) -> String {
    let address = "127.0.0.1:9464".parse().expect("an address");
    let mut stream = connect(&hosts.proxy, address).expect("connected");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("received");
    answer
}

/// One that carries next to nothing costs the control thread nothing.
fn a_connection_is_controlled_once_it_carries_something() {
    let Some(hosts) = Hosts::try_new("a_connection_is_controlled_once_it_carries_something") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let rate = Arc::new(AtomicU64::new(100_000_000));
    let _radio = radio(&folder.path().join("radio"), &rate);
    let daemon = Daemon::start_in(&hosts.proxy, folder, &config(NEVER_PLAIN), &[]);
    daemon.wait_until("it follows", || {
        daemon.status()["control"]["cells"][0]["state"] == "following"
    });
    let (address, listener) = server_at(&hosts, 5_410);
    let pair = || {
        let near = connect(&hosts.client, address).expect("connected");
        (near, accept(&listener).0)
    };
    let handling = |at: usize| {
        let flows = pep::flows(&daemon.path("pep.sock")).expect("it answers");
        flows[at]["handling"].clone()
    };
    let (mut first, mut far) = pair();
    far.write_all(b"x").expect("sent");
    first.read_exact(&mut [0]).expect("received");
    let (mut second, _far) = pair();
    second.write_all(&[0; 64]).expect("sent");
    daemon.wait_until("a request has come", || handling(1) == "controlled");
    assert_eq!(handling(0), "plain");
    far.write_all(&[0; 2_000]).expect("sent");
    daemon.wait_until("more than a segment has come", || {
        handling(0) == "controlled"
    });
}
