//! An upgrade gives nothing up before the successor has everything, whatever others do meanwhile.

use crate::support::daemon::Daemon;
use crate::support::traffic::{TIMEOUT, accept, connect, connect_narrow, finish_unread, receive};
use crate::support::{Hosts, SERVER};
use crate::{Test, server_at, split};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

pub const TESTS: &[Test] = &[
    (
        "idle_connections_at_the_metrics_end_no_upgrade",
        idle_connections_at_the_metrics_end_no_upgrade,
    ),
    (
        "a_successor_that_cannot_start_changes_nothing",
        a_successor_that_cannot_start_changes_nothing,
    ),
    (
        "a_successor_that_dies_changes_nothing",
        a_successor_that_dies_changes_nothing,
    ),
    (
        "a_successor_that_hangs_changes_nothing",
        a_successor_that_hangs_changes_nothing,
    ),
    (
        "an_upgrade_waits_for_ends_to_be_acknowledged",
        an_upgrade_waits_for_ends_to_be_acknowledged,
    ),
];

const METRICS: &str = "127.0.0.1:9464";

fn transparent() -> String {
    split(&format!("[metrics]\nlisten = \"{METRICS}\"\n"))
}

fn explicit() -> String {
    format!(
        "mode = \"explicit\"\ncontrol = \"split\"\n[explicit]\nlisten = \"10.45.0.1:7700\"\n\
         upstream = \"{SERVER}:5501\"\nallow = [\"10.45.0.0/24\"]\n\
         [admin]\nsocket = \"{{dir}}/pep.sock\"\n[metrics]\nlisten = \"{METRICS}\"\n"
    )
}

/// The same admin socket, as the same configuration would have it.
fn beside(old: &Daemon, config: &str) -> String {
    let socket = old.path("pep.sock");
    config.replace("{dir}/pep.sock", socket.to_str().expect("plain"))
}

/// Sends a byte to each connection that comes, and ends with it.
fn greet(listener: TcpListener) {
    std::thread::spawn(move || {
        loop {
            let (mut far, _) = accept(&listener);
            std::thread::spawn(move || {
                let _ = far.write_all(b"x");
                let _ = far.read(&mut [0]);
            });
        }
    });
}

/// A connection through the proxy that carries a byte.
fn must_work(hosts: &Hosts, to: SocketAddr) {
    let mut near = connect(&hosts.client, to).expect("connected");
    near.read_exact(&mut [0]).expect("received");
}

/// What `/metrics` answers.
fn scrape(hosts: &Hosts) -> String {
    let at: SocketAddr = METRICS.parse().expect("an address");
    let mut stream = connect(&hosts.proxy, at).expect("connected");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\n\r\n")
        .expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("received");
    text
}

/// Connections to `/metrics` that have not been accepted yet.
fn waiting(hosts: &Hosts) -> usize {
    let line = hosts.proxy.sh("ss -Hltn sport = :9464");
    let field = line.split_whitespace().nth(1).and_then(|f| f.parse().ok());
    field.unwrap_or_else(|| panic!("no queue: {line}"))
}

fn idle_connections_at_the_metrics_end_no_upgrade() {
    let Some(hosts) = Hosts::try_new("idle_connections_at_the_metrics_end_no_upgrade") else {
        return;
    };
    let (server, listener) = server_at(&hosts, 5_501);
    greet(listener);
    let through: SocketAddr = "10.45.0.1:7700".parse().expect("an address");
    for (config, to) in [(transparent(), server), (explicit(), through)] {
        let mut old = Daemon::start(&hosts.proxy, &config);
        let mut long = connect(&hosts.client, to).expect("connected");
        long.read_exact(&mut [0]).expect("received");
        let at: SocketAddr = METRICS.parse().expect("an address");
        let idle: Vec<TcpStream> = (0..4)
            .map(|_| connect(&hosts.proxy, at).expect("connected"))
            .collect();
        old.wait_until("one of them is being served", || {
            waiting(&hosts) < idle.len()
        });
        let folder = tempfile::tempdir().expect("a folder");
        let config = beside(&old, &config);
        let mut new = Daemon::spawn(&hosts.proxy, folder, &config, &["--upgrade"]);
        // connections work all the time
        testing::wait_until("the new one serves", || {
            assert!(
                new.child.try_wait().expect("known").is_none(),
                "{}",
                new.log()
            );
            must_work(&hosts, to);
            new.log().contains("accepting")
        });
        // what began with the old one ends with it, and only then does it end
        assert!(old.child.try_wait().expect("known").is_none());
        drop(long);
        assert!(old.child.wait().expect("an end").success());
        for _ in 0..10 {
            must_work(&hosts, to);
        }
        let status = pep::status(&old.path("pep.sock")).expect("the new one answers");
        assert_eq!(status["pid"], new.child.id());
        assert!(
            status["counters"]["accepted"].as_u64() >= Some(10),
            "{status}"
        );
        drop(idle);
        assert!(scrape(&hosts).contains("brimful_pep_connections"));
        assert!(new.stop().success());
    }
}

/// The rules without their counts.
fn rules(hosts: &Hosts) -> String {
    hosts.proxy.sh("nft --stateless --terse list ruleset")
}

fn a_successor_that_cannot_start_changes_nothing() {
    let Some(hosts) = Hosts::try_new("a_successor_that_cannot_start_changes_nothing") else {
        return;
    };
    let (server, listener) = server_at(&hosts, 5_502);
    greet(listener);
    let old = Daemon::start(&hosts.proxy, &transparent());
    let before = rules(&hosts);
    // the address that it is to use for its metrics is in use
    let _taken = hosts
        .proxy
        .enter(|| TcpListener::bind("127.0.0.1:9465"))
        .expect("a listener");
    let config = beside(&old, &transparent()).replace("9464", "9465");
    let config = config.replace("10.45.0.0/24", "10.46.0.0/24");
    let folder = tempfile::tempdir().expect("a folder");
    let mut new = Daemon::spawn(&hosts.proxy, folder, &config, &["--upgrade"]);
    let ended = testing::wait_for("its end", || {
        must_work(&hosts, server);
        new.child.try_wait().expect("known")
    });
    assert!(!ended.success());
    assert!(new.log().contains("cannot listen for metrics"));
    let status = old.status();
    assert_eq!(
        (&status["pid"], &status["state"]),
        (&old.child.id().into(), &"running".into())
    );
    assert_eq!(rules(&hosts), before);
    let accepted = old.count("accepted");
    must_work(&hosts, server);
    assert_eq!(old.count("accepted"), accepted + 1);
    assert!(scrape(&hosts).contains("brimful_pep_connections"));
}

/// A successor of the test's own: it sends what it likes.
struct Fake(BufReader<UnixStream>);

impl Fake {
    fn of(old: &Daemon) -> Self {
        let stream = UnixStream::connect(old.path("pep.sock")).expect("connected");
        stream.set_read_timeout(Some(TIMEOUT)).expect("set");
        Self(BufReader::new(stream))
    }

    /// Sends a line, gives the one that is answered; descriptors that come with it are closed.
    fn request(&mut self, line: &str) -> String {
        writeln!(self.0.get_mut(), "{line}").expect("sent");
        self.next()
    }

    fn next(&mut self) -> String {
        let mut answer = String::new();
        self.0.read_line(&mut answer).expect("an answer or an end");
        answer
    }
}

/// A predecessor that has resumed so many times serves as it did before.
fn must_serve_as_before(
    hosts: &Hosts,
    old: &Daemon,
    server: SocketAddr,
    before: &str,
    times: usize,
) {
    let resumed = || old.log().matches("going on as before").count();
    old.wait_until("it resumes", || resumed() == times);
    assert_eq!(old.status()["state"], "running");
    assert_eq!(rules(hosts), before);
    let accepted = old.count("accepted");
    must_work(hosts, server);
    assert_eq!(old.count("accepted"), accepted + 1);
}

const UPGRADE: &str = "{\"command\":\"upgrade\"}";
const READY: &str = "{\"command\":\"ready\"}";

fn a_successor_that_dies_changes_nothing() {
    let Some(hosts) = Hosts::try_new("a_successor_that_dies_changes_nothing") else {
        return;
    };
    let (server, listener) = server_at(&hosts, 5_503);
    greet(listener);
    let mut old = Daemon::start(&hosts.proxy, &split(""));
    let before = rules(&hosts);
    let as_before = |times: usize| must_serve_as_before(&hosts, &old, server, &before, times);
    // it dies while it prepares; when it may serve; it sends nonsense
    let mut fake = Fake::of(&old);
    assert!(fake.request(UPGRADE).contains("\"listeners\":2"));
    assert!(Fake::of(&old).request(UPGRADE).contains("under way"));
    drop(fake);
    as_before(1);
    let mut fake = Fake::of(&old);
    fake.request(UPGRADE);
    assert!(fake.request(READY).contains("go"));
    drop(fake);
    as_before(2);
    let mut fake = Fake::of(&old);
    fake.request(UPGRADE);
    assert_eq!(fake.request("{\"command\":\"serving\"}"), "");
    as_before(3);
    // and after all that, one that works
    let folder = tempfile::tempdir().expect("a folder");
    let config = beside(&old, &split(""));
    let new = Daemon::start_in(&hosts.proxy, folder, &config, &["--upgrade"]);
    assert!(old.child.wait().expect("an end").success());
    must_work(&hosts, server);
    assert_eq!(new.count_at(&old.path("pep.sock"), "accepted"), 1);
}

/// The only test with a short `hand-over`: a successor that works need not be ready within it on a busy machine.
fn a_successor_that_hangs_changes_nothing() {
    let Some(hosts) = Hosts::try_new("a_successor_that_hangs_changes_nothing") else {
        return;
    };
    let (server, listener) = server_at(&hosts, 5_503);
    greet(listener);
    let old = Daemon::start(&hosts.proxy, &split("[limits]\nhand-over = \"1 s\"\n"));
    let before = rules(&hosts);
    let mut fake = Fake::of(&old);
    fake.request(UPGRADE);
    assert_eq!(fake.next(), "", "the conversation is ended");
    must_serve_as_before(&hosts, &old, server, &before, 1);
    assert!(old.log().contains("not ready within hand-over"));
}

fn an_upgrade_waits_for_ends_to_be_acknowledged() {
    let Some(hosts) = Hosts::try_new("an_upgrade_waits_for_ends_to_be_acknowledged") else {
        return;
    };
    let config = split("");
    let mut old = Daemon::start(&hosts.proxy, &config);
    let (address, listener) = server_at(&hosts, 5_502);
    let near = connect_narrow(&hosts.client, [10, 45, 0, 2], address);
    let (far, _) = accept(&listener);
    finish_unread(&near, far, 30_000);
    old.wait_until("both have ended", || old.status()["closing"] == 1);
    let folder = tempfile::tempdir().expect("a folder");
    let config = beside(&old, &config);
    let new = Daemon::spawn(&hosts.proxy, folder, &config, &["--upgrade"]);
    new.wait_until("the new one serves", || new.log().contains("accepting"));
    old.wait_until("the old one drains", || old.log().contains("draining"));
    assert_eq!(old.child.try_wait().expect("its state"), None);
    assert_eq!(receive(&near).expect("received"), 30_000);
    assert!(old.child.wait().expect("it ends").success());
}
