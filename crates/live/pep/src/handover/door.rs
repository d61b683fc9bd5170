//! Where other proxies connect to: a Unix socket, or TCP, where they show who they are first.

use super::link::Link;
use super::secure::{self, Keys};
use super::stream::Stream;
use super::target::take_over;
use crate::config::{Config, Place};
use crate::daemon::Core;
use crate::error::PepError;
use crate::privileges::User;
use crate::registry::lock;
use daemon::{Seat, Seats, source_network};
use std::collections::BTreeMap;
use std::net::{IpAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Transfers to here at a time.
const MAX_TRANSFERS: usize = 8;
/// Peers on TCP that have not shown who they are at a time, and of one address.
const MAX_UNKNOWN: usize = 64;
const MAX_UNKNOWN_OF_ONE: usize = 4;
/// Only the user that the proxy runs as may connect, and root.
const MODE: u32 = 0o600;

#[derive(Debug)]
enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// Where other proxies connect to.
#[derive(Debug)]
pub(crate) struct Opened(Listener);

/// This proxy's key and those of its peers, in their order; none where none is configured.
///
/// # Errors
/// The file holds no key, or others may read it.
pub(crate) fn keys(config: &Config) -> Result<Option<Keys>, PepError> {
    let Some(of) = &config.handover else {
        return Ok(None);
    };
    let Some(file) = &of.private_key_file else {
        return Ok(None);
    };
    let own = keys::StaticKey::load(file).map_err(|error| {
        PepError::system("[handover]: private-key-file", std::io::Error::other(error))
    })?;
    let peers = of.peers.iter().filter_map(|peer| peer.public_key);
    Ok(Some(Keys::new(own.private().clone(), peers.collect())))
}

/// Opens the socket; one on this machine in the place of one that may be there.
///
/// # Errors
/// The system's.
pub(crate) fn open(config: &Config, user: Option<&User>) -> Result<Option<Opened>, PepError> {
    let Some(place) = config.handover.as_ref().and_then(|of| of.listen.as_ref()) else {
        return Ok(None);
    };
    let listener = match place {
        Place::Unix(path) => open_unix(path, user).map(Listener::Unix),
        Place::Tcp(address) => TcpListener::bind(address).map(Listener::Tcp),
    };
    listener
        .map(|listener| Some(Opened(listener)))
        .map_err(|error| PepError::system(format!("[handover]: cannot listen at {place}"), error))
}

fn open_unix(path: &Path, user: Option<&User>) -> std::io::Result<UnixListener> {
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        std::fs::create_dir_all(folder)?;
        user.map_or(Ok(()), |user| user.own(folder))?;
    }
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(MODE))?;
    user.map_or(Ok(()), |user| user.own(path))?;
    Ok(listener)
}

/// Takes connections over until the process ends.
pub(crate) fn serve(core: &Arc<Core>, opened: &Opened) {
    let transfers = Seats::new(MAX_TRANSFERS);
    let unknown = Unknown::default();
    loop {
        let accepted = match &opened.0 {
            Listener::Unix(listener) => listener
                .accept()
                .map(|(stream, _)| (Stream::Unix(stream), None)),
            Listener::Tcp(listener) => listener.accept().and_then(|(stream, from)| {
                let from = source_network(from.ip());
                Ok((Stream::tcp(stream)?, Some(from)))
            }),
        };
        let Ok((stream, from)) = accepted else {
            // no descriptor, for example
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        let place = from.map(|from| unknown.take(from));
        if let Some(None) = place {
            core.shared.handover.on_peer_refused("too_many");
            continue;
        }
        let (core, transfers) = (Arc::clone(core), transfers.clone());
        let thread = std::thread::Builder::new().name("taking-over".to_owned());
        let spawned = thread.spawn(move || admit(&core, stream, place.flatten(), &transfers));
        if let Err(error) = spawned {
            tracing::warn!(%error, "no thread to take connections over");
        }
    }
}

/// Who has connected shows its key, if it comes from another machine; then it may transfer.
fn admit(core: &Core, mut stream: Stream, place: Option<Unproven>, transfers: &Seats) {
    let config = core.shared.config();
    let Some(of) = &config.handover else { return };
    let timeout = Duration::from_nanos(of.timeout.as_nanos());
    let mut sealed = None;
    if let Some(place) = place {
        let keys = core.shared.handover.keys();
        let shown = keys.map(|keys| secure::respond(&mut stream, keys, Instant::now() + timeout));
        match shown {
            Some(Ok((of_peer, _))) => sealed = Some(of_peer),
            Some(Err(error)) => {
                core.shared.handover.on_peer_refused("unproven");
                tracing::debug!(from = %place.from, %error, "a peer has not shown who it is");
                return;
            }
            None => return,
        }
    }
    let Some(_seat) = transfers.take() else {
        core.shared.handover.on_peer_refused("busy");
        return;
    };
    take_over(core, Link::new(stream, sealed, timeout));
}

/// Peers that have not shown who they are, by address.
#[derive(Clone, Debug)]
struct Unknown {
    of: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
    all: Seats,
}

impl Default for Unknown {
    fn default() -> Self {
        Self {
            of: Arc::default(),
            all: Seats::new(MAX_UNKNOWN),
        }
    }
}

/// The place of one of them; free again when it is dropped.
#[derive(Debug)]
struct Unproven {
    from: IpAddr,
    of: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
    _seat: Seat,
}

impl Unknown {
    fn take(&self, from: IpAddr) -> Option<Unproven> {
        let seat = self.all.take()?;
        let mut of = lock(&self.of);
        let number = of.entry(from).or_default();
        if *number >= MAX_UNKNOWN_OF_ONE {
            return None;
        }
        *number += 1;
        Some(Unproven {
            from,
            of: Arc::clone(&self.of),
            _seat: seat,
        })
    }
}

impl Drop for Unproven {
    fn drop(&mut self) {
        let mut of = lock(&self.of);
        if let Some(number) = of.get_mut(&self.from) {
            *number -= 1;
            if *number == 0 {
                of.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_few_places_and_all_have_a_bound() {
        let unknown = Unknown::default();
        let ip = |n: u8| IpAddr::from([192, 0, 2, n]);
        let first: Vec<_> = (0..MAX_UNKNOWN_OF_ONE)
            .map(|_| unknown.take(ip(1)))
            .collect();
        assert!(first.iter().all(Option::is_some));
        assert!(unknown.take(ip(1)).is_none());
        let others: Vec<_> = (2..200).filter_map(|n| unknown.take(ip(n))).collect();
        assert_eq!(others.len(), MAX_UNKNOWN - MAX_UNKNOWN_OF_ONE);
        drop((first, others));
        assert!(unknown.take(ip(1)).is_some());
        assert!(lock(&unknown.of).is_empty());
    }
}
