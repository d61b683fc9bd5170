//! Readers that do not read. Alone in its process: memory is measured.
#![allow(missing_docs, reason = "a test")]

use dash::{About, Access, Client, Dash, Event, Feed, Kind, Server, Source, Target, World};
use std::time::Duration;
use testing::HANG_LIMIT;

/// Between frames: a feed makes no more than 50 a second.
const SPACING: Duration = Duration::from_millis(20);

/// Bytes of memory that this process has in use.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("procfs");
    let pages = text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.expect("a number") * 4096
}

/// A long frame: 300 of them are far more than the sockets' buffers hold.
fn fill(feed: &Feed, k: u32) {
    let mut round = feed.round(f64::from(k));
    for flow in 0..1000 {
        let value = f64::from(k) + f64::from(flow) * 0.001;
        round.put(Kind::Flow, &format!("flow{flow}"), None, "rtt_ms", value);
    }
    round.finish();
    std::thread::sleep(SPACING);
}

fn until(client: &mut Client, is_it: impl Fn(&Event) -> bool) {
    loop {
        let event = client.next(HANG_LIMIT).expect("a connection");
        if is_it(&event.expect("an event")) {
            return;
        }
    }
}

#[test]
fn stuck_readers_cost_no_memory_and_delay_no_other() {
    let feed = Feed::new(About {
        title: "a test".into(),
        world: World::Live,
        source: Source::Pep,
    });
    let dash = Dash::live(feed.clone(), Access::new(None, Vec::new()));
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = Server::bind(any, dash).expect("a port");
    let target = Target::parse(&server.address().to_string()).expect("an address");
    server.spawn().expect("a thread");
    let connect = || Client::connect(target.clone(), None).expect("a connection");
    let mut stuck: Vec<Client> = (0..20).map(|_| connect()).collect();
    (0..20).for_each(|k| fill(&feed, k));
    for client in &mut stuck {
        until(client, |event| matches!(event, Event::Frame { .. }));
    }
    let before = memory();
    (20..300).for_each(|k| fill(&feed, k));
    // the frames are kept once, some 4 MB; a queue for each reader would be twenty times that
    let grown = memory().saturating_sub(before);
    assert!(grown < 20 << 20, "{grown} bytes");
    let newest = |e: &Event| matches!(e, Event::Frame { seq, .. } if *seq >= 280);
    until(&mut connect(), newest);
}
