//! The service manager.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Notifies systemd, where it requests that (`sd_notify(3)`); `state` is for example `READY=1`. A service manager
/// that cannot be reached is a warning in the log.
pub fn notify(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let name = name.into_encoded_bytes();
    let address = match name.split_first() {
        Some((b'@', name)) => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(String::from_utf8_lossy(&name).as_ref()),
    };
    let sent = address
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = sent {
        tracing::warn!("the service manager was not notified of {state}: {error}");
    }
}
