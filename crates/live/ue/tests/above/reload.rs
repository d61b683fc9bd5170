//! Another configuration while packets wait.

use crate::Test;
use crate::faults::{PACKETS, hold, reach};
use crate::support::{Place, SHUT};

pub const TESTS: &[Test] = &[
    (
        "a_reload_changes_what_can_and_loses_nothing_that_waits",
        a_reload_changes_what_can_and_loses_nothing_that_waits,
    ),
    (
        "what_cannot_change_is_refused_by_name_and_a_bad_file_changes_nothing",
        what_cannot_change_is_refused_by_name_and_a_bad_file_changes_nothing,
    ),
    (
        "the_level_of_the_log_can_change",
        the_level_of_the_log_can_change,
    ),
];

const FUTURE: &[u8] = b"{\"queue_bytes\": 0, \"sent_bytes\": 0, \"at_ns\": 18446744073709551615}\n";

fn until_mode(place: &Place, mode: &str) {
    testing::wait_until("the other mode", || place.status()["mode"] == mode);
}

fn a_reload_changes_what_can_and_loses_nothing_that_waits() {
    let place = Place::new();
    let modem = place.modem();
    let daemon = place.daemon("mode = \"queue\"");
    reach(&place);
    let (sender, receiver) = hold(&place, &modem);
    let limit = |place: &Place| place.wait("/packets/dropped/limit", |_| true);
    let before = limit(&place);
    // less than what waits: that stays, and what comes is dropped
    place.configure("mode = \"queue\"\nlimit = \"2 kB\"\nahead = \"15 ms\"\nmemory = \"2 MB\"");
    daemon.reload("configuration reloaded: ahead, limit, memory");
    testing::wait_until("what comes is dropped", || {
        sender.send(&[8; 300]).expect("sent");
        limit(&place) > before
    });
    assert!(place.wait("/queue/packets", |_| true) >= PACKETS);
    // in another mode nothing waits: all goes on
    place.configure("mode = \"mark\"");
    daemon.reload("configuration reloaded: mode, ahead, limit, memory");
    for _ in 0..PACKETS {
        let mut packet = [0; 500];
        assert_eq!(receiver.recv(&mut packet).expect("received"), 300);
        assert_eq!(packet[0], 7, "in order");
    }
    until_mode(&place, "mark");
    place.wait("/queue/packets", |waits| waits == 0);
    reach(&place);
    // and back, with what is known of the modem
    place.configure("mode = \"queue\"");
    daemon.reload("configuration reloaded: mode\n");
    until_mode(&place, "queue");
    let (_sender, receiver) = hold(&place, &modem);
    modem.set_waits(0);
    receiver.recv(&mut [0; 500]).expect("it goes on");
    daemon.signal(rustix::process::Signal::TERM);
    let (status, printed) = daemon.wait();
    assert!(status.success(), "{printed}");
}

fn what_cannot_change_is_refused_by_name_and_a_bad_file_changes_nothing() {
    let place = Place::new();
    let modem = place.modem();
    let daemon = place.daemon("mode = \"queue\"");
    reach(&place);
    let _held = hold(&place, &modem);
    place.configure("mode = \"hold\"");
    daemon.reload("ue.toml:4:");
    let log = daemon.log();
    assert!(
        log.contains("ERROR") && log.contains("the configuration is not reloaded: "),
        "{log}"
    );
    let file = place.configure("mode = \"mark\"");
    let text = std::fs::read_to_string(&file).expect("read");
    let other = text.replace("wwan0", "wwan1").replace("9468", "9469");
    std::fs::write(&file, other).expect("written");
    daemon.reload(
        "the configuration is not reloaded: interface, [metrics] cannot change while brimful ue runs: restart it",
    );
    std::fs::remove_file(&file).expect("removed");
    daemon.reload("No such file");
    // the old one stays, and what waits
    let status = place.status();
    assert_eq!(status["mode"], "queue");
    assert!(
        status["queue"]["packets"].as_u64() >= Some(PACKETS),
        "{status}"
    );
    assert_eq!(status["error"], serde_json::Value::Null);
}

fn the_level_of_the_log_can_change() {
    let place = Place::new();
    let modem = place.modem();
    modem.set_waits(SHUT);
    let daemon = place.daemon("");
    let line = "a modem's report does not count";
    modem.write(FUTURE);
    place.wait("/modem/refused/future", |count| count == 1);
    place.configure_with("", "[log]\nlevel = \"debug\"\n");
    assert!(!daemon.log().contains(line), "{}", daemon.log());
    daemon.reload("configuration reloaded: level");
    modem.write(FUTURE);
    testing::wait_until("a line of the level debug", || daemon.log().contains(line));
    place.configure("");
    daemon.reload("configuration reloaded: level");
}
