//! Names of servers, resolved by the system's resolver in a thread of its own: the one that moves packets never waits.

use crate::config::HostPort;
use crate::daemon::{Handle, spawn};
use crate::error::TunnelError;
use crate::packet_thread::Command;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, Sender};

/// What became of a question.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) name: HostPort,
    /// In the order of the resolver's preference (RFC 6724); or why there are none.
    pub(crate) addresses: Result<Vec<SocketAddr>, String>,
}

/// Where questions go.
#[derive(Clone, Debug)]
pub(crate) struct Resolver(Sender<HostPort>);

impl Resolver {
    /// Starts the thread, which ends with the process.
    pub(crate) fn start(handle: Handle) -> Result<Self, TunnelError> {
        let (questions, received) = mpsc::channel::<HostPort>();
        spawn("resolver", move || {
            for name in received {
                let addresses = resolve(&name);
                handle.send(Command::Resolved(Resolved { name, addresses }));
            }
        })?;
        Ok(Self(questions))
    }

    /// Asks; the answer comes as a [`Command`].
    pub(crate) fn ask(&self, name: &HostPort) {
        // the thread ends with the process
        let _ = self.0.send(name.clone());
    }
}

fn resolve(name: &HostPort) -> Result<Vec<SocketAddr>, String> {
    let found = (name.host.as_str(), name.port).to_socket_addrs();
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found.map_err(|error| error.to_string())? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    match addresses.is_empty() {
        true => Err("it has no address".to_owned()),
        false => Ok(addresses),
    }
}
