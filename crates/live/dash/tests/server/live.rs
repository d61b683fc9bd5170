//! Live values over real WebSockets.

use super::{about, live, request, round, serve};
use dash::{Access, Client, ClientError, Dash, Event, Feed, Mount, Target, Token};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testing::{HANG_LIMIT, wait_until};

pub fn target(address: SocketAddr) -> Target {
    Target::parse(&address.to_string()).expect("an address")
}

fn connect(address: SocketAddr) -> Client {
    Client::connect(target(address), None).expect("a connection")
}

/// Reads until an event is the one.
fn until(client: &mut Client, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut read = Vec::new();
    loop {
        let event = client
            .next(HANG_LIMIT)
            .expect("a connection")
            .expect("an event");
        let found = is_it(&event);
        read.push(event);
        if found {
            return read;
        }
    }
}

fn numbers(read: &[Event]) -> Vec<u64> {
    let numbers = read.iter().filter_map(|event| match event {
        Event::Frame { seq, .. } => Some(*seq),
        _ => None,
    });
    numbers.collect()
}

/// A source that goes on until it is dropped.
struct Running {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    fn start(feed: &Feed, step: Duration) -> Self {
        let (feed, stop) = (feed.clone(), Arc::new(AtomicBool::new(false)));
        let is_over = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            for k in 1.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                round(&feed, k);
                std::thread::sleep(step);
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(std::thread::JoinHandle::join);
    }
}

#[test]
fn a_client_reads_hello_series_frames_and_the_end() {
    let (feed, address) = live();
    let running = Running::start(&feed, Duration::from_millis(20));
    let mut client = connect(address);
    let mut read = until(&mut client, |e| matches!(e, Event::Frame { seq: 5.., .. }));
    assert!(matches!(&read[0], Event::Hello { title, .. } if title == "a test"));
    let Event::Series(series) = &read[1] else {
        panic!("{:?}", read[1]);
    };
    assert_eq!(
        (series[0].entity.as_str(), series[0].kind.as_str()),
        ("bulk", "flow")
    );
    assert_eq!(feed.viewers(), 1);
    drop(running);
    feed.end("the test is over");
    read.extend(until(&mut client, |e| matches!(e, Event::End(_))));
    let numbers = numbers(&read);
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    let table = read.iter().find_map(|event| match event {
        Event::Table(flows) => Some(flows),
        _ => None,
    });
    assert_eq!(table.expect("a table")[0]["ue"], "phone");
}

/// Forwards bytes between clients and a server; its connections can be cut.
struct Line {
    address: SocketAddr,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Line {
    fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let streams = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&streams);
        std::thread::spawn(move || {
            while let Ok((near, _)) = listener.accept() {
                let far = TcpStream::connect(server).expect("a connection");
                let mut kept = kept.lock().expect("no panic");
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let copy = |stream: &TcpStream| stream.try_clone().expect("a copy");
                    let (mut from, mut to) = (copy(from), copy(to));
                    std::thread::spawn(move || std::io::copy(&mut from, &mut to));
                }
                kept.extend([near, far]);
            }
        });
        Self { address, streams }
    }

    fn cut(&self) {
        for stream in self.streams.lock().expect("no panic").drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

#[test]
fn a_lost_connection_misses_nothing_and_gets_nothing_twice() {
    let (feed, address) = live();
    let _running = Running::start(&feed, Duration::from_millis(20));
    let line = Line::to(address);
    let mut client = Client::connect(
        Target::parse(&line.address.to_string()).expect("an address"),
        None,
    )
    .expect("a connection");
    let mut read = Vec::new();
    for _ in 0..3 {
        let seen = numbers(&read).last().copied().unwrap_or(0);
        let is_far = |e: &Event| matches!(e, Event::Frame { seq, .. } if *seq >= seen + 10);
        read.extend(until(&mut client, is_far));
        line.cut();
        let lost = loop {
            // what had arrived before is still read
            match client.next(HANG_LIMIT) {
                Ok(Some(event)) => read.push(event),
                Ok(None) => panic!("silence"),
                Err(error) => break error,
            }
        };
        assert!(matches!(lost, ClientError::Away { .. }), "{lost}");
        // meanwhile others get frames that this one misses
        let seen = numbers(&read).last().copied().unwrap_or(0);
        until(
            &mut connect(address),
            |e| matches!(e, Event::Frame { seq, .. } if *seq >= seen + 5),
        );
        client.reconnect().expect("a connection");
    }
    let seen = numbers(&read).last().copied().unwrap_or(0);
    read.extend(until(
        &mut client,
        |e| matches!(e, Event::Frame { seq, .. } if *seq >= seen + 10),
    ));
    let numbers = numbers(&read);
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_dashboard_shares_a_port_with_another_server() {
    let feed = Feed::new(about());
    let dash = Dash::live(feed.clone(), Access::new(None, Vec::new()));
    let mount = Mount::start(&dash).expect("a thread");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let Some(mut stream) = mount.offer(stream, HANG_LIMIT) else {
                continue;
            };
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let body = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nothers";
            let _ = stream.write_all(body.as_bytes());
        }
    });
    assert_eq!(request(address, "GET", "/metrics", &[], "").body, "others");
    let info = request(address, "GET", "/dash/api/info", &[], "").json();
    assert_eq!(info["title"], "a test");
    round(&feed, 1);
    let mut client = connect(address);
    until(&mut client, |e| matches!(e, Event::Frame { seq: 1, .. }));
}

#[test]
fn a_source_waits_for_a_viewer() {
    let (feed, address) = live();
    assert!(!feed.wait_for_viewer(Duration::from_millis(20)));
    let waiting = feed.clone();
    let waited = std::thread::spawn(move || waiting.wait_for_viewer(HANG_LIMIT));
    let client = connect(address);
    assert!(waited.join().expect("no panic"));
    drop(client);
    wait_until("the viewer is no longer counted", || feed.viewers() == 0);
}

#[test]
fn foreign_pages_and_wrong_tokens_are_rejected() {
    let token = Token::new("0123456789abcdef", "a test").expect("a token");
    let dash = Dash::live(Feed::new(about()), Access::new(Some(token), Vec::new()));
    let address = serve(dash);
    let upgrade = |more: &[(&str, &str)]| {
        let mut headers = vec![
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
        ];
        headers.extend_from_slice(more);
        let mut request = "GET /dash/live HTTP/1.1\r\n".to_owned();
        if !more.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&format!("Host: {address}\r\n"));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("an answer");
        String::from_utf8_lossy(&head[9..]).into_owned()
    };
    let own = format!("http://{address}");
    assert_eq!(upgrade(&[]), "101");
    assert_eq!(upgrade(&[("Origin", &own)]), "101");
    assert_eq!(upgrade(&[("Origin", "http://evil.example")]), "403");
    assert_eq!(upgrade(&[("Host", "evil.example:8080")]), "403");
    // forwarded for another host: not this machine any more
    assert_eq!(upgrade(&[("X-Forwarded-For", "192.0.2.1")]), "401");
    let forwarded = ("X-Forwarded-For", "192.0.2.1");
    let wrong = ("Authorization", "Bearer wrong");
    let right = ("Authorization", "Bearer 0123456789abcdef");
    assert_eq!(upgrade(&[forwarded, wrong]), "401");
    assert_eq!(upgrade(&[forwarded, right]), "101");
}
