//! Servers and clients of tests.

use super::Namespace;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use testing::{assert_pattern, pattern};

/// Nothing here waits longer: a hang is a failure.
pub const TIMEOUT: Duration = Duration::from_secs(90);

/// A listener in a namespace.
pub fn listen(host: &Namespace, address: SocketAddr) -> TcpListener {
    host.enter(|| TcpListener::bind(address))
        .expect("a listener")
}

/// A connection from a namespace, which does not wait for ever.
pub fn connect(host: &Namespace, address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = host.enter(|| TcpStream::connect_timeout(&address, TIMEOUT))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// The same from one of its addresses.
pub fn connect_from(
    host: &Namespace,
    from: IpAddr,
    address: SocketAddr,
) -> std::io::Result<TcpStream> {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let family = if from.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let stream = host.enter(|| {
        let socket = socket(family, SocketType::STREAM, None)?;
        bind(&socket, &SocketAddr::new(from, 0))?;
        connect(&socket, &address)?;
        Ok::<_, std::io::Error>(TcpStream::from(socket))
    })?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// A connection from an IPv4 address of a namespace's whose receive buffer is as small as the kernel allows.
pub fn connect_narrow(host: &Namespace, from: [u8; 4], address: SocketAddr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};
    host.enter(|| {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        sockopt::set_socket_recv_buffer_size(&socket, 4_096).expect("set");
        bind(&socket, &SocketAddr::new(from.into(), 0)).expect("bound");
        connect(&socket, &address).expect("connected");
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(TIMEOUT)).expect("set");
        stream
    })
}

/// The next connection to a listener.
pub fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    let (stream, peer) = listener.accept().expect("a connection");
    stream.set_read_timeout(Some(TIMEOUT)).expect("set");
    stream.set_write_timeout(Some(TIMEOUT)).expect("set");
    (stream, peer)
}

/// Sends so many bytes of the pattern.
pub fn send(mut to: &TcpStream, bytes: usize) -> std::io::Result<()> {
    let mut sent = 0;
    while sent < bytes {
        let n = (bytes - sent).min(65_536);
        to.write_all(&pattern(sent, n))?;
        sent += n;
    }
    Ok(())
}

/// A download of so many bytes whose both directions end, and of which nothing is read.
pub fn finish_unread(near: &TcpStream, far: TcpStream, bytes: usize) {
    near.shutdown(Shutdown::Write).expect("shut");
    assert_eq!(receive(&far).expect("the end"), 0);
    send(&far, bytes).expect("sent");
    drop(far);
}

/// Reads to the end; every byte must be the pattern's. Gives their number.
pub fn receive(mut from: &TcpStream) -> std::io::Result<usize> {
    let mut buffer = vec![0; 65_536];
    let mut received = 0;
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Ok(received);
        }
        assert_pattern(received, &buffer[..n]);
        received += n;
    }
}
