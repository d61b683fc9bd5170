//! Lines of JSON over a Unix or TCP stream: a lab's cell, xApp bridges.

use super::Feed;
use crate::Fault;
use crate::config::Address;
use report_source::{Line, Lines};
use rnis::adapters::MAX_MESSAGE_BYTES;
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepidle, set_tcp_keepintvl};
use std::time::Duration;
use tokio::io::AsyncRead;
use tokio::net::{TcpStream, UnixStream};

/// Silence after which the kernel probes, and between its probes.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Connects to a source, and reads its lines to their end.
pub(super) async fn read(address: &Address, feed: &mut Feed) -> Result<(), Fault> {
    match address {
        Address::Unix(path) => drain(UnixStream::connect(path).await?, feed).await,
        Address::Tcp(host) => drain(keep_alive(TcpStream::connect(host).await?)?, feed).await,
        _ => Err("lines come over unix or tcp".into()),
    }
}

/// A connection whose other side has vanished ends: a silent bridge requests nothing, so only the
/// kernel's probes detect it.
pub(super) fn keep_alive(stream: TcpStream) -> std::io::Result<TcpStream> {
    set_socket_keepalive(&stream, true)?;
    set_tcp_keepidle(&stream, KEEPALIVE)?;
    set_tcp_keepintvl(&stream, KEEPALIVE)?;
    Ok(stream)
}

async fn drain(stream: impl AsyncRead + Unpin, feed: &mut Feed) -> Result<(), Fault> {
    feed.up(true);
    let mut lines = Lines::new(stream, MAX_MESSAGE_BYTES);
    loop {
        match lines.next().await {
            Ok(Line::Text(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(Line::Text(line)) => {
                feed.message(&line);
            }
            Ok(Line::TooLong) => feed.refuse(&"a line longer than any message"),
            Ok(Line::End) => {
                feed.up(false);
                return Ok(());
            }
            Err(error) => {
                feed.up(false);
                return Err(error.into());
            }
        }
    }
}
