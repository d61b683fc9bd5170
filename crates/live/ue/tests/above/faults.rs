//! Ends, floods, and what does not count.

use crate::Test;
use crate::support::{Modem, Place, SHUT, run_daemon};
use rustix::process::Signal;
use std::net::UdpSocket;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    (
        "killed_it_leaves_nothing_and_starts_again",
        killed_it_leaves_nothing_and_starts_again,
    ),
    (
        "as_it_ends_what_waits_goes_on",
        as_it_ends_what_waits_goes_on,
    ),
    (
        "a_flood_takes_no_more_than_may_wait",
        a_flood_takes_no_more_than_may_wait,
    ),
    (
        "lines_that_are_no_reports_are_counted",
        lines_that_are_no_reports_are_counted,
    ),
    (
        "what_cannot_be_is_refused_and_nothing_changes",
        what_cannot_be_is_refused_and_nothing_changes,
    ),
    (
        "an_interface_that_comes_back_is_taken_again",
        an_interface_that_comes_back_is_taken_again,
    ),
];

pub const PACKETS: u64 = 30;
/// What there is in the router: names of interfaces, routes.
const LOOK: &str = "ip -o link | cut -d: -f2; ip route";

/// Packets that wait, sent after all that the router needs to find who is beyond.
pub fn hold(place: &Place, modem: &Modem) -> (UdpSocket, UdpSocket) {
    let before = place.shut(modem);
    let (sender, receiver) = place.pair(0, false);
    for _ in 0..PACKETS {
        sender.send(&[7; 300]).expect("sent");
    }
    place.wait("/queue/packets", |waits| waits >= before + PACKETS);
    (sender, receiver)
}

/// A packet comes through; the first ones may be dropped, for want of an address or of memory.
pub fn reach(place: &Place) {
    let (sender, receiver) = place.pair(0, false);
    let wait = Some(Duration::from_millis(100));
    receiver.set_read_timeout(wait).expect("set");
    testing::wait_until("a packet comes through", || {
        sender.send(b"there").expect("sent");
        receiver.recv(&mut [0; 9]).is_ok()
    });
}

fn killed_it_leaves_nothing_and_starts_again() {
    let place = Place::new();
    let modem = place.modem();
    let daemon = place.daemon("mode = \"queue\"");
    reach(&place);
    let _held = hold(&place, &modem);
    assert_eq!(place.devices(), 1);
    daemon.signal(Signal::KILL);
    daemon.wait();
    testing::wait_until("the device is gone", || place.devices() == 0);
    // fails open
    reach(&place);
    let daemon = place.daemon("mode = \"queue\"");
    let (_sender, receiver) = hold(&place, &modem);
    modem.set_waits(0);
    receiver.recv(&mut [0; 500]).expect("it goes on");
    daemon.signal(Signal::TERM);
    assert!(daemon.wait().0.success());
    assert_eq!(place.devices(), 0);
    reach(&place);
}

fn as_it_ends_what_waits_goes_on() {
    let place = Place::new();
    let modem = place.modem();
    let daemon = place.daemon("mode = \"queue\"");
    reach(&place);
    let (_sender, receiver) = hold(&place, &modem);
    daemon.signal(Signal::TERM);
    let (status, printed) = daemon.wait();
    assert!(status.success(), "{printed}");
    for _ in 0..PACKETS {
        assert_eq!(receiver.recv(&mut [0; 500]).expect("received"), 300);
    }
    assert_eq!(place.devices(), 0);
}

fn a_flood_takes_no_more_than_may_wait() {
    let place = Place::new();
    let modem = place.modem();
    let limits = "mode = \"queue\"\nlimit = \"100 kB\"\nmemory = \"1 MB\"";
    let _daemon = place.daemon(limits);
    reach(&place);
    place.shut(&modem);
    let (sender, _receiver) = place.pair(0, false);
    testing::wait_until("more than may wait", || {
        for _ in 0..200 {
            sender.send(&[7; 1_200]).expect("sent");
        }
        place.status()["packets"]["dropped"]["limit"].as_u64() >= Some(100)
    });
    let status = place.status();
    let number = |part: &serde_json::Value| part.as_u64().expect("a number");
    assert!(number(&status["queue"]["bytes"]) <= 100_000, "{status}");
    assert!(
        number(&status["queue"]["memory_bytes"]) <= 1_000_000,
        "{status}"
    );
    // memory that is less than what may wait bounds as well
    drop(_daemon);
    let _daemon = place.daemon("mode = \"queue\"\nlimit = \"1 GB\"\nmemory = \"1 MB\"");
    place.shut(&modem);
    testing::wait_until("more than there is memory for", || {
        for _ in 0..200 {
            sender.send(&[7; 1_200]).expect("sent");
        }
        place.status()["packets"]["dropped"]["memory"].as_u64() >= Some(100)
    });
    let status = place.status();
    assert!(
        number(&status["queue"]["memory_bytes"]) <= 1_000_000,
        "{status}"
    );
    modem.set_waits(0);
    reach(&place);
}

fn lines_that_are_no_reports_are_counted() {
    let place = Place::new();
    let modem = place.modem();
    let _daemon = place.daemon("mode = \"queue\"");
    modem.set_waits(SHUT);
    let before = place.wait("/modem/accepted", |accepted| accepted > 0);
    for bytes in [
        &b"{\n"[..],
        b"\xff\xfe\x00\n",
        b"{\"queue_bytes\": -1, \"sent_bytes\": 3}\n",
        b"{\"queue_bytes\": 3}\n",
        b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
    ] {
        modem.write(bytes);
    }
    modem.write(&b"x\n".repeat(2_000));
    modem.write(b"{\"queue_bytes\": 0, \"sent_bytes\": 0, \"at_ns\": 18446744073709551615}\n");
    modem.write(b"{\"queue_bytes\": 18446744073709551615, \"sent_bytes\": 0}\n");
    place.wait("/modem/refused/malformed", |count| count == 2_005);
    place.wait("/modem/refused/future", |count| count == 1);
    place.wait("/modem/refused/queue", |count| count == 1);
    place.wait("/modem/accepted", |accepted| accepted > before + 5);
    assert_eq!(place.status()["error"], serde_json::Value::Null);
}

fn what_cannot_be_is_refused_and_nothing_changes() {
    let place = Place::new();
    let file = place.configure("");
    let text = std::fs::read_to_string(&file).expect("read");
    let refused = |text: &str, code: i32, expected: &str| {
        std::fs::write(&file, text).expect("written");
        let before = place.router.sh(LOOK);
        let (found, printed) = run_daemon(&place, &file);
        assert_eq!(found, Some(code), "{printed}");
        assert!(printed.contains(expected), "{printed}");
        assert_eq!(place.router.sh(LOOK), before);
    };
    refused(
        &text.replace("wwan0", "wwan9"),
        2,
        "interface wwan9: there is none of this name",
    );
    refused(&text.replace("unix:", "tcp:"), 2, "expected \"unix:/PATH\"");
    refused(
        &text.replace("127.0.0.1", "10.99.0.1"),
        1,
        "cannot listen for metrics at 10.99.0.1:9468",
    );
    let _daemon = place.daemon("");
    let before = place.devices();
    let (found, printed) = run_daemon(&place, &{
        let other = text.replace("9468", "9469");
        std::fs::write(&file, other).expect("written");
        file.clone()
    });
    assert_eq!(found, Some(2), "{printed}");
    assert!(
        printed.contains("packets there are taken by another instance already"),
        "{printed}"
    );
    assert_eq!(place.devices(), before);
}

/// As a modem does that is plugged in again.
fn an_interface_that_comes_back_is_taken_again() {
    let place = Place::new();
    let _modem = place.modem();
    let _daemon = place.daemon("mode = \"queue\"");
    reach(&place);
    let passed = place.wait("/packets/passed", |passed| passed > 0);
    place.router.sh("ip link del wwan0");
    testing::wait_until("that it is gone is shown", || {
        place.status()["error"].is_string()
    });
    place.router.sh(&format!(
        "ip link add wwan0 type veth peer name net0 netns {}; ip addr add 10.9.0.1/24 dev wwan0; ip link set wwan0 up",
        place.beyond.pid()
    ));
    place
        .beyond
        .sh("ip addr add 10.9.0.2/24 dev net0; ip link set net0 up");
    testing::wait_until("that it is back is shown", || {
        place.status()["error"].is_null()
    });
    testing::wait_until("packets are taken again", || {
        reach(&place);
        place.status()["packets"]["passed"].as_u64() > Some(passed)
    });
}
