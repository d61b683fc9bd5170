//! Strangers that take all connections and keep them by requests that are refused.

use super::request::request;
use super::{about, serve};
use dash::{Access, Dash, Feed, Mount, Token};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use testing::HANG_LIMIT;

const TOKEN: &str = "0123456789abcdef";
/// As many connections as are served concurrently.
const CROWD: usize = 256;

/// For what needs a token, without one, as from afar.
const REQUEST: &[u8] = b"GET /dash/api/results HTTP/1.1\r\nHost: edge.example\r\n\
    X-Forwarded-For: 192.0.2.1\r\n\r\n";

fn dash() -> Dash {
    let token = Token::new(TOKEN, "a test").expect("a token");
    Dash::live(
        Feed::new(about()),
        Access::new(Some(token), vec!["edge.example".to_owned()]),
    )
}

/// A server at whose port something else accepts.
fn mounted() -> SocketAddr {
    let mount = Mount::start(&dash()).expect("a thread");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mount, stream) = (mount.clone(), stream.expect("a client"));
            std::thread::spawn(move || mount.offer(stream, HANG_LIMIT));
        }
    });
    address
}

/// A client from afar that keeps its connection.
struct Client(TcpStream);

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
        Self(stream)
    }

    /// The status of an answer; none if the connection is closed.
    fn get(&mut self) -> Option<u16> {
        self.0.write_all(REQUEST).ok()?;
        let (mut answer, mut part) = (Vec::new(), [0; 4_096]);
        loop {
            match self.0.read(&mut part) {
                Ok(0) | Err(_) => return None,
                Ok(length) => answer.extend_from_slice(&part[..length]),
            }
            // so its body ends
            if answer.ends_with(b"}") {
                let text = String::from_utf8_lossy(&answer);
                return text.split(' ').nth(1)?.parse().ok();
            }
        }
    }
}

/// While strangers keep all connections, a newcomer is served.
fn crowd_keeps_out_no_other(address: SocketAddr) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let served = |_| {
            let mut client = Client::connect(address);
            assert_eq!(client.get(), Some(401), "it shows no token");
            client
        };
        let mut crowd: Vec<Client> = (0..CROWD).map(served).collect();
        // and from now on each requests again before it is closed
        let is_over = &is_over;
        scope.spawn(move || {
            while !is_over.load(Relaxed) {
                crowd.retain_mut(|client| {
                    client.0.set_nonblocking(true).expect("set");
                    let mut part = [0; 16_384];
                    let read = client.0.read(&mut part);
                    let is_closed = matches!(read, Ok(0))
                        || read.is_err_and(|e| e.kind() != std::io::ErrorKind::WouldBlock);
                    // what is not taken is not sent
                    let _ = client.0.write(REQUEST);
                    !is_closed
                });
                std::thread::yield_now();
            }
        });
        let newcomer =
            std::panic::catch_unwind(|| request(address, "GET", "/dash/api/info", &[], ""));
        is_over.store(true, Relaxed);
        assert_eq!(newcomer.expect("it is answered").status, 200);
    });
}

#[test]
fn connections_that_are_kept_by_refused_requests_keep_no_other_out() {
    crowd_keeps_out_no_other(serve(dash()));
}

#[test]
fn nor_do_they_at_a_daemon_s_port() {
    crowd_keeps_out_no_other(mounted());
}
