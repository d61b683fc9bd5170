use super::*;
use cc::meld::Variant;
use rustix::net::sockopt::set_tcp_congestion;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use testing::Namespace;
use units::{Bytes, Duration};

const PDU: u64 = 1_448;
const SIZE: usize = 3_000_000;
/// Of a report that arrives after whatever is sent in a test.
const FAR: Instant = Instant::from_nanos(1 << 62);

fn config(variant: Variant) -> Config {
    Config {
        // reports of a test do not expire
        max_age: Duration::from_secs(1 << 30),
        ..Config::new(variant, Bytes::new(PDU))
    }
}

fn loaded(variant: Variant, max_ues: u32) -> Option<Meld> {
    match Meld::load(config(variant), max_ues) {
        Ok(meld) => Some(meld),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            testing::skip("loading a BPF congestion control", testing::Missing::Root);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A radio that lost packets, and has nothing waiting.
fn lossy() -> RadioState {
    RadioState {
        tbs: Bytes::new(2_292),
        best_tbs: Bytes::new(2_292),
        harq_processes: 8,
        queue: Bytes::ZERO,
        served: Bytes::new(18_336),
        harq_retx: 1,
        lost_packets: Some(u32::MAX),
        period: Duration::from_millis(8),
        slots: 8,
        seq: 1,
        made_at: FAR,
    }
}

/// What is kept of a connection, by its place in the program's `struct state`.
struct Kept(Vec<u8>);

impl Kept {
    fn of(meld: &Meld, socket: &TcpStream) -> Self {
        let states = meld.loaded.map("states").expect("a map");
        let key = socket.as_raw_fd().to_ne_bytes();
        let value = states.lookup(&key, MapFlags::ANY).expect("readable");
        Self(value.expect("it has one"))
    }

    fn word(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.0[8 * at..8 * at + 8].try_into().expect("eight"))
    }

    fn reports(&self) -> u64 {
        self.word(1)
    }

    /// Nothing has ended it: ssthresh, the last but one, is infinite.
    fn is_in_slow_start(&self) -> bool {
        let [.., a, b, c, d, _, _, _, _] = self.0[..] else {
            panic!("{} bytes", self.0.len());
        };
        u32::from_ne_bytes([a, b, c, d]) == 0x7fff_ffff
    }

    /// The reports steer it.
    fn is_steered(&self) -> bool {
        self.word(11) != 0 && self.word(29) != 0
    }

    /// What the kernel took as its SO_MAX_PACING_RATE, bytes a second.
    fn pace(&self) -> Option<u32> {
        // after the model and the caller's own
        let at = differential::MELD + 8 + 8 * 4;
        let word = |at: usize| u32::from_ne_bytes(self.0[at - 4..at].try_into().expect("four"));
        let (is_paced, pace) = (word(at) != 0, word(at + 4));
        (is_paced && pace != u32::MAX).then_some(pace)
    }
}

/// A connection whose server has one of the program's congestion controls.
struct Pair {
    client: TcpStream,
    server: TcpStream,
}

impl Pair {
    fn connect(listen: SocketAddr, connect: impl Into<IpAddr>, control: &str) -> Self {
        let listener = TcpListener::bind(listen).expect("a listener");
        let port = listener.local_addr().expect("bound").port();
        let client = TcpStream::connect((connect.into(), port)).expect("connected");
        let (server, _) = listener.accept().expect("accepted");
        set_tcp_congestion(&server, control).expect("chosen");
        Self { client, server }
    }

    fn send(&mut self, size: usize) {
        let mut client = self.client.try_clone().expect("a handle");
        let received = std::thread::spawn(move || {
            let mut all = vec![0; size];
            client.read_exact(&mut all)
        });
        self.server.write_all(&vec![7; size]).expect("sent");
        received.join().expect("ended").expect("read");
    }
}

fn any(address: impl Into<IpAddr>) -> SocketAddr {
    SocketAddr::new(address.into(), 0)
}

#[test]
fn the_variant_that_yields_is_refused() {
    let error = Meld::load(config(Variant::Yielding), 1).expect_err("the kernel has none");
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert!(error.to_string().contains("\"default\""), "{error}");
}

#[test]
fn both_controls_carry_a_connection_in_every_variant() {
    for variant in [
        Variant::DownloadEnhancement,
        Variant::MixedEnhancement,
        Variant::Default,
    ] {
        let Some(mut meld) = loaded(variant, 1) else {
            return;
        };
        let ue = Ipv4Addr::LOCALHOST;
        meld.update(ue.into(), FAR, &lossy()).expect("updated");
        for wrapped in ["newreno", "cubic"] {
            let name = meld.name(wrapped).expect("it has one").to_owned();
            let mut pair = Pair::connect(any(ue), ue, &name);
            pair.send(SIZE);
        }
        let decided = meld.decisions().expect("readable");
        assert_eq!(decided.len(), Reason::ALL.len());
        meld.remove(ue.into());
        assert_eq!(meld.name("bbr"), None);
    }
}

#[test]
fn reports_reach_connections_by_their_ue_s_address() {
    let Some(mut meld) = loaded(Variant::Default, 8) else {
        return;
    };
    let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let mapped = v4.to_ipv6_mapped();
    let name = meld.name("newreno").expect("it has one").to_owned();
    for (listen, ue, reported, other) in [
        (
            any(v4),
            IpAddr::from(v4),
            IpAddr::from(v4),
            IpAddr::from(v6),
        ),
        (any(v6), v6.into(), v6.into(), v4.into()),
        // an IPv4 UE at a socket of IPv6; and reported by its mapped address
        (any(Ipv6Addr::UNSPECIFIED), v4.into(), v4.into(), v6.into()),
        (any(v4), v4.into(), mapped.into(), v6.into()),
    ] {
        let mut pair = Pair::connect(listen, ue, &name);
        pair.send(SIZE);
        for _ in 0..3 {
            meld.update(reported, FAR, &lossy()).expect("updated");
        }
        for _ in 0..5 {
            meld.update(other, FAR, &lossy()).expect("updated");
        }
        pair.send(SIZE);
        let kept = Kept::of(&meld, &pair.server);
        // of an entry that was there before the connection it has those since
        let had = kept.reports();
        for _ in 0..2 {
            meld.update(reported, FAR, &lossy()).expect("updated");
        }
        pair.send(SIZE);
        let now = Kept::of(&meld, &pair.server).reports();
        assert_eq!(now - had, 2, "{reported}");
        // gone, and there again: its reports are counted anew
        meld.remove(reported);
        meld.update(reported, FAR, &lossy()).expect("updated");
        pair.send(SIZE);
        let anew = Kept::of(&meld, &pair.server).reports();
        assert_eq!(anew, 1, "{reported}");
    }
}

#[test]
fn a_table_that_is_full_is_an_error_that_names_the_ue() {
    let Some(mut meld) = loaded(Variant::Default, 2) else {
        return;
    };
    let mut errors = Vec::new();
    for last in 1..=50 {
        let ue = Ipv4Addr::new(10, 0, 0, last);
        if let Err(error) = meld.update(ue.into(), FAR, &lossy()) {
            errors.push(error.to_string());
        }
    }
    let last = errors.last().expect("rejected");
    assert!(
        last.contains("10.0.0.50") && last.contains("at most 2 UEs"),
        "{last}"
    );
    assert!(errors.len() >= 48 - 2, "{}", errors.len());
}

/// A queue of so many bytes, which stands there, while so much leaves the base station in a second.
fn standing(queue: u64, served: u64) -> RadioState {
    RadioState {
        queue: Bytes::new(queue),
        served: Bytes::new(served),
        period: Duration::from_secs(1),
        slots: 8,
        ..lossy()
    }
}

#[test]
fn reports_set_the_pace_but_not_a_newcomer_s() {
    // Q_th is 18,336 bytes, the target 27,504
    let very_long = 4 * 27_504 + 1;
    for (queue, served, steered) in [
        (27_504, 1_000_000, true),
        // beside others that have 2^60 bytes a second: a newcomer, unless the queue is very long
        (very_long - 1, 1 << 60, false),
        (very_long, 1 << 60, true),
    ] {
        let Some(mut meld) = loaded(Variant::Default, 1) else {
            return;
        };
        let ue = Ipv4Addr::LOCALHOST;
        let name = meld.name("newreno").expect("it has one").to_owned();
        let report = standing(queue, served);
        // a newcomer is in slow start, which a timer that runs out on a busy machine ends
        let (mut pair, kept) = testing::wait_for("a connection in slow start", || {
            let mut pair = Pair::connect(any(ue), ue, &name);
            meld.remove(ue.into());
            pair.send(SIZE);
            meld.update(ue.into(), FAR, &report).expect("updated");
            pair.send(SIZE);
            let kept = Kept::of(&meld, &pair.server);
            kept.is_in_slow_start().then_some((pair, kept))
        });
        assert_eq!(kept.is_steered(), steered, "{queue} {served}");
        assert_eq!(kept.pace().is_some(), steered, "{queue} {served}");
        // a short queue lets it go on
        meld.update(ue.into(), FAR, &standing(0, served))
            .expect("updated");
        pair.send(SIZE);
    }
}

/// A network namespace whose loopback has a chain for what arrives; none where the kernel has no nftables.
fn host() -> Option<Namespace> {
    let host = Namespace::new();
    host.sh("ip link set lo up");
    let table = host
        .command("nft")
        .args(["add", "table", "inet", "loss"])
        .status();
    if !table.expect("nft can be run").success() {
        return None;
    }
    host.sh("nft 'add chain inet loss arrivals { type filter hook input priority 0; }'");
    Some(host)
}

/// The windows at which HyStart of the kernel's Cubic has ended slow start in this namespace, the sum, packets: ssthresh is
/// such a one then, without a loss.
fn hystart(host: &Namespace) -> u64 {
    ["TcpExtTCPHystartTrainCwnd", "TcpExtTCPHystartDelayCwnd"]
        .iter()
        .map(|name| host.counter(name))
        .sum()
}

/// A transfer in which packets are lost, of a connection that was there before its UE's report; what was
/// decided of that, and what `ss` prints afterwards.
fn transfer(
    host: &Namespace,
    meld: &mut Meld,
    (wrapped, ue): (&str, IpAddr),
    report: Option<RadioState>,
) -> (Vec<(Reason, u64)>, String) {
    let name = meld.name(wrapped).expect("it has one").to_owned();
    let mut pair = Pair::connect(any(ue), ue, &name);
    pair.send(1);
    testing::wait_until("the connection begins", || {
        let states = meld.loaded.map("states").expect("a map");
        let key = pair.server.as_raw_fd().to_ne_bytes();
        let value = states.lookup(&key, MapFlags::ANY).expect("readable");
        value.is_some()
    });
    if let Some(report) = report {
        meld.update(ue, FAR, &report).expect("updated");
    }
    let before = meld.decisions().expect("readable");
    pair.send(4 * SIZE);
    // what comes after the last episode
    pair.send(1);
    let port = pair.server.local_addr().expect("bound").port();
    // what `ss` prints of the server's end
    let printed = host.sh(&format!("ss -tinH sport = :{port}"));
    for name in ["cwnd:", "ssthresh:"] {
        let packets = printed.split_whitespace();
        let packets = packets.filter_map(|word| word.strip_prefix(name)?.parse::<u64>().ok());
        for packets in packets {
            assert!((1..1_000_000).contains(&packets), "{printed}");
        }
    }
    let after = meld.decisions().expect("readable");
    let decided = before.iter().zip(after);
    let decided = decided.map(|(before, after)| (after.0, after.1 - before.1));
    (decided.filter(|(_, count)| *count > 0).collect(), printed)
}

#[test]
fn losses_of_the_radio_leave_ssthresh_alone_and_others_do_not() {
    if !testing::has_root("losses_of_the_radio_leave_ssthresh_alone_and_others_do_not") {
        return;
    }
    let Some(host) = host() else {
        testing::skip(
            "losses_of_the_radio_leave_ssthresh_alone_and_others_do_not",
            testing::Missing::Kernel("nftables"),
        );
        return;
    };
    host.sh("nft 'add rule inet loss arrivals meta length > 1000 numgen inc mod 40 == 30 drop'");
    host.enter(|| lose_and_look(&host));
}

fn lose_and_look(host: &Namespace) {
    let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    for which in [
        ("newreno", IpAddr::from(v4)),
        ("cubic", v4.into()),
        ("newreno", v6.into()),
        ("cubic", v6.into()),
    ] {
        let mut meld = loaded(Variant::Default, 4).expect("as root");
        // `ss` prints an ssthresh that something has lowered
        let lowered = |printed: &str| {
            let mut words = printed.split_whitespace();
            words.find_map(|word| word.strip_prefix("ssthresh:")?.parse::<u64>().ok())
        };
        // without a report all is congestion
        let what = "a loss that is congestion";
        let (decided, printed) = testing::wait_for(what, || {
            let (decided, printed) = transfer(host, &mut meld, which, None);
            (!decided.is_empty()).then_some((decided, printed))
        });
        let is_unreported = |(reason, _): &(Reason, u64)| *reason == Reason::NoReport;
        assert!(decided.iter().all(is_unreported), "{decided:?}");
        assert!(lowered(&printed).is_some(), "{printed}");
        // the kernel may find the last packets lost by a timer, which is not queried: transfers until it
        // has found none so, and several by acknowledgements. HyStart may have ended slow start before
        testing::wait_until("losses that are all the radio's leave ssthresh", || {
            meld.remove(which.1);
            // a target of many of the packets of 64 kB that loopback carries: what follows a loss shows it
            let report = RadioState {
                best_tbs: Bytes::new(1_000_000),
                ..lossy()
            };
            let before = hystart(host);
            let (decided, printed) = transfer(host, &mut meld, which, Some(report));
            let by_hystart = hystart(host) - before;
            println!("{which:?}: {decided:?} {printed}");
            let [(Reason::LostOnRadio, count)] = decided[..] else {
                return false;
            };
            count > 2 && lowered(&printed).is_none_or(|at| at == by_hystart)
        });
    }
}
