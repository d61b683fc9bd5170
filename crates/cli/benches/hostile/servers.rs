//! The servers that users and attackers connect to, in the server's namespace.

use crate::support::Namespace;
use crate::support::traffic::TIMEOUT;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::thread;
use testing::pattern;

/// Sends eight times the bytes of the pattern that it got.
pub const ECHO: u16 = 6_300;
/// Sends the pattern without end.
pub const SOURCE: u16 = 6_301;
/// Sends a byte, and ends with its client.
pub const GREETER: u16 = 6_302;
/// Takes everything, and ends with its client.
pub const SINK: u16 = 6_303;
/// Takes everything, and does not end its half.
pub const HOLDER: u16 = 6_304;
/// Sends [`FILE_BYTES`] of the pattern once its client has ended its half, and ends.
pub const FILE: u16 = 6_305;
/// Less than the proxy gives to a socket towards a UE.
const FILE_BYTES: usize = 500_000;

/// How many times the echo is longer than what it got.
pub const ECHOED: usize = 8;

/// Half-closed connections that are held; of more, the oldest ends.
const HELD: usize = 2_000;

/// Starts them; they end with the process.
pub fn start(host: &Namespace) {
    let each: [(u16, fn(TcpStream)); 5] = [
        (ECHO, |stream| echo(&stream)),
        (SOURCE, source),
        (GREETER, greet),
        (SINK, |stream| drain(&stream)),
        (FILE, |stream| file(&stream)),
    ];
    for (port, serve) in each {
        let listener = listen(host, port);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // a thread that cannot be had is a connection that is reset
                let _ = small_thread(move || serve(stream));
            }
        });
    }
    let listener = listen(host, HOLDER);
    thread::spawn(move || {
        let mut held = VecDeque::new();
        for stream in listener.incoming().flatten() {
            held.push_back(stream);
            if held.len() > HELD {
                held.pop_front();
            }
        }
    });
}

/// A thread for one connection: there may be hundreds.
pub fn small_thread(run: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let builder = thread::Builder::new().stack_size(256 * 1_024);
    builder.spawn(run).map(drop)
}

fn listen(host: &Namespace, port: u16) -> TcpListener {
    let all = (Ipv6Addr::UNSPECIFIED, port);
    host.enter(|| TcpListener::bind(all)).expect("a listener")
}

fn echo(stream: &TcpStream) {
    let _ = stream.set_read_timeout(Some(TIMEOUT));
    let _ = stream.set_write_timeout(Some(TIMEOUT));
    match receive(stream) {
        Ok(got) => {
            let _ = send(stream, got * ECHOED);
        }
        // an end after all is one for the client: what was cut must not look like it
        Err(_) => {
            let _ =
                rustix::net::sockopt::set_socket_linger(stream, Some(std::time::Duration::ZERO));
        }
    }
}

fn source(mut stream: TcpStream) {
    // what servers hold counts against the memory that the kernel gives all TCP of this machine
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(&stream, 65_536);
    let mut sent = 0;
    while stream.write_all(&pattern(sent, 16_384)).is_ok() {
        sent += 16_384;
    }
}

fn file(stream: &TcpStream) {
    let _ = stream.set_write_timeout(Some(TIMEOUT));
    if receive(stream).is_ok() {
        // one that is reset meanwhile has had its file
        let _ = send(stream, FILE_BYTES);
    }
}

fn greet(mut stream: TcpStream) {
    if stream.write_all(b"x").is_ok() {
        drain(&stream);
    }
}

fn drain(mut stream: &TcpStream) {
    let mut buffer = [0; 16_384];
    loop {
        match stream.read(&mut buffer) {
            Ok(1..) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// Sends so many bytes of the pattern.
pub fn send(stream: &TcpStream, bytes: usize) -> std::io::Result<()> {
    crate::support::traffic::send(stream, bytes)
}

/// Reads to the end, and gives the number of bytes; another byte than the pattern's is an error
/// (`InvalidData`).
pub fn receive(mut stream: &TcpStream) -> std::io::Result<usize> {
    let mut buffer = vec![0; 65_536];
    let mut received = 0;
    loop {
        let n = match stream.read(&mut buffer) {
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if n == 0 {
            return Ok(received);
        }
        if buffer[..n] != pattern(received, n)[..] {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        received += n;
    }
}
