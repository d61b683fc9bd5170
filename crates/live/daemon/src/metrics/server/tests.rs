//! Clients on loopback. Deadlines are an hour where a client must not end by one: nothing here depends on how
//! fast anything is.

use super::super::PROMETHEUS;
use super::*;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use testing::{HANG_LIMIT, wait_until};

const HOUR: Duration = Duration::from_secs(3_600);
const ENDLESS: Limits = Limits {
    connections: 64,
    head: HOUR,
    whole: HOUR,
};
const SCRAPE: &str = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";

fn site() -> Site {
    Site::new()
        .with_page("/metrics", PROMETHEUS, || Ok("a 1\n".to_owned()))
        .with_page("/status", "application/json", || Err("not now"))
}

fn start(site: Site, limits: Limits) -> (Server, SocketAddr) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = Server::start_within(listener, site, limits).expect("a server");
    (server, address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(HANG_LIMIT)).expect("a limit");
    stream
}

fn get(address: SocketAddr, request: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("set");
    let read = stream.read(&mut [0; 16]);
    !matches!(read, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn pages_health_and_everything_else_are_answered() {
    let (server, address) = start(site(), Limits::DEFAULT);
    let metrics = get(address, SCRAPE);
    assert!(metrics.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"));
    assert!(
        metrics.ends_with("Content-Length: 4\r\nConnection: close\r\n\r\na 1\n"),
        "{metrics}"
    );
    assert!(get(address, "GET /healthz HTTP/1.1\r\n\r\n").ends_with("\r\n\r\nok\n"));
    let status = get(address, "GET /status HTTP/1.1\r\n\r\n");
    assert!(status.starts_with("HTTP/1.1 503") && status.ends_with("not now\n"));
    assert!(get(address, "GET / HTTP/1.1\r\n\r\n").ends_with("/metrics, /status, /healthz\n"));
    assert!(get(address, "PUT /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    let long = format!("GET /metrics HTTP/1.1\r\na: {}\r\n\r\n", "x".repeat(20_000));
    assert!(get(address, &long).starts_with("HTTP/1.1 431"));
    drop(server);
    std::net::TcpListener::bind(address).expect("free again");
}

#[test]
fn five_silent_connections_do_not_delay_a_scrape() {
    let (_server, address) = start(site(), ENDLESS);
    let mut silent: Vec<TcpStream> = (0..5).map(|_| connect(address)).collect();
    silent[0].write_all(b"GET /metr").expect("sent");
    assert!(get(address, SCRAPE).ends_with("a 1\n"));
    assert!(
        !silent.iter_mut().any(is_closed),
        "the scrape came in beside them"
    );
}

#[test]
fn sixteen_pipelining_connections_do_not_delay_a_scrape() {
    let (_server, address) = start(site(), ENDLESS);
    let mut busy = Vec::new();
    for _ in 0..16 {
        let mut stream = connect(address);
        stream.set_nonblocking(true).expect("set");
        // as much as is taken, and nothing is read
        for _ in 0..1_000 {
            if stream.write_all(SCRAPE.as_bytes()).is_err() {
                break;
            }
        }
        busy.push(stream);
    }
    assert!(get(address, SCRAPE).ends_with("a 1\n"));
}

#[test]
fn answers_that_are_not_read_do_not_delay_a_scrape() {
    let big = "x".repeat(16 << 20);
    let site = site().with_page("/big", PROMETHEUS, move || Ok(big.clone()));
    let (_server, address) = start(site, ENDLESS);
    let unread: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = connect(address);
            let request = b"GET /big HTTP/1.1\r\n\r\n";
            stream.write_all(request).expect("sent");
            // the answer has begun
            stream.peek(&mut [0]).expect("an answer");
            stream
        })
        .collect();
    assert!(get(address, SCRAPE).ends_with("a 1\n"));
    drop(unread);
}

#[test]
fn when_all_places_are_taken_the_oldest_gives_way() {
    let limits = Limits {
        connections: 3,
        ..ENDLESS
    };
    let (_server, address) = start(site(), limits);
    let mut silent: Vec<TcpStream> = (0..3).map(|_| connect(address)).collect();
    assert!(get(address, SCRAPE).ends_with("a 1\n"));
    wait_until("the oldest is closed", || is_closed(&mut silent[0]));
    assert!(!is_closed(&mut silent[1]) && !is_closed(&mut silent[2]));
}

#[test]
fn silence_and_a_slow_head_end_a_connection() {
    let limits = Limits {
        head: Duration::from_millis(50),
        ..ENDLESS
    };
    let (_server, address) = start(site(), limits);
    let mut silent = connect(address);
    assert_eq!(silent.read(&mut [0]).expect("its end"), 0);
    let mut slow = connect(address);
    wait_until("a slow one is closed", || {
        slow.write_all(b"x").is_err() || is_closed(&mut slow)
    });
}

#[test]
fn an_answer_that_is_not_read_ends_a_connection() {
    let limits = Limits {
        whole: Duration::from_millis(500),
        ..ENDLESS
    };
    let big = "x".repeat(64 << 20);
    let site = Site::new().with_page("/big", PROMETHEUS, move || Ok(big.clone()));
    let (_server, address) = start(site, limits);
    let mut stream = connect(address);
    let request = b"GET /big HTTP/1.1\r\n\r\n";
    stream.write_all(request).expect("sent");
    stream.peek(&mut [0]).expect("the answer begins");
    wait_until("the server has closed it", || {
        stream.write_all(b"x").is_err()
    });
}

#[test]
fn a_page_that_panics_is_a_500_on_a_thread_that_may_panic() {
    let (name, names) = mpsc::channel();
    let name = std::sync::Mutex::new(name);
    let site = site().with_page("/panic", PROMETHEUS, move || {
        let thread = std::thread::current();
        let sent = name
            .lock()
            .map(|to| to.send(thread.name().map(str::to_owned)));
        drop(sent);
        panic!("of a page, as the test needs it");
    });
    let (_server, address) = start(site, Limits::DEFAULT);
    let answer = get(address, "GET /panic HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    let thread = names.recv_timeout(HANG_LIMIT).expect("a name");
    assert_eq!(thread.as_deref(), Some(THREAD));
    // its lock is poisoned now, which is another panic's reason
    assert!(get(address, "GET /panic HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 500"));
    assert!(get(address, SCRAPE).ends_with("a 1\n"));
}

#[test]
fn health_and_other_pages_are_answered_while_a_page_hangs() {
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let site = site().with_page("/slow", PROMETHEUS, move || {
        wait_until("the test is over", || over.load(Ordering::Relaxed));
        Ok(String::new())
    });
    let (server, address) = start(site, ENDLESS);
    let waiting: Vec<TcpStream> = (0..10)
        .map(|_| {
            let mut stream = connect(address);
            let request = b"GET /slow HTTP/1.1\r\n\r\n";
            stream.write_all(request).expect("sent");
            stream
        })
        .collect();
    assert!(get(address, "GET /healthz HTTP/1.1\r\n\r\n").ends_with("ok\n"));
    assert!(get(address, SCRAPE).ends_with("a 1\n"));
    // nor does its end wait for the page
    drop(server);
    is_over.store(true, Ordering::Relaxed);
    drop(waiting);
}
