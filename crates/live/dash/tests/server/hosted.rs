//! The dashboard inside a daemon, beside what the daemon's server answers itself.

use super::about;
use super::request::request;
use dash::{Access, Client, ClientError, Feed, Hosted, Kind, Metric, Sample, Target, View};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use testing::HANG_LIMIT;

/// A daemon's server, whose own answer is `mine`.
fn daemon(measure: impl FnMut(&mut Sample) + Send + 'static) -> (Arc<Hosted>, SocketAddr) {
    let access = Access::new(None, Vec::new());
    let hosted = Hosted::start(Feed::new(about()), access, 50.0, measure);
    let hosted = Arc::new(hosted.expect("threads"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let offered = Arc::downgrade(&hosted);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Some(offered) = offered.upgrade() else {
                return;
            };
            if let Some(mut stream) = offered.offer(stream.expect("a client"), HANG_LIMIT) {
                let _ = stream.read(&mut [0; 1024]);
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n";
                let _ = write!(stream, "{head}mine");
            }
        }
    });
    (hosted, address)
}

#[test]
fn it_measures_while_there_is_a_viewer_and_disconnects_it_at_its_end() {
    let (count, mut total) = (Arc::new(AtomicU64::new(0)), 0);
    let counted = Arc::clone(&count);
    let (hosted, address) = daemon(move |sample| {
        counted.fetch_add(1, Relaxed);
        total += 10_000;
        sample.put(Kind::Ue, "phone", Some("cell 1"), Metric::Cqi, 9.0);
        sample.put_rate(Kind::Flow, "a", Some("phone"), Metric::Goodput, total);
        sample.describe("a", "cubic");
    });
    assert_eq!(request(address, "GET", "/metrics", &[], "").body, "mine");
    assert_eq!(request(address, "GET", "/dash/", &[], "").status, 200);
    assert_eq!(count.load(Relaxed), 0, "there is no viewer");
    let target = Target::parse(&address.to_string()).expect("an address");
    let mut client = Client::connect(target, None).expect("a dashboard");
    let seen = |view: &View| view.value("a", "goodput_bps").is_some_and(|bps| bps > 0.0);
    let view = client.watch(HANG_LIMIT, seen).expect("it lives");
    assert_eq!(view.entities("flow"), [("a", Some("phone"))].into());
    assert_eq!(view.value("phone", "cqi"), Some(9.0));
    // a viewer is to look for a successor
    drop(hosted);
    let lost = loop {
        match client.next(HANG_LIMIT) {
            Ok(event) => assert!(event.is_some(), "nothing came"),
            Err(error) => break error,
        }
    };
    assert!(matches!(lost, ClientError::Away { .. }), "{lost}");
}
