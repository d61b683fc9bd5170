//! A connection with a peer, and the links of its paths.

use crate::inner::Inner;
use crate::link::{Link, Way};
use crate::poller::{Poller, Token};
use crate::status::{ConnectionStatus, PathStatus};
use multipath::PathId;
use multipath::tunnel::Tunnel;
use std::io;
use units::{Duration, Instant, Packets};

/// While packets wait for the window of a TCP connection, its state is looked at so often.
const LOOK: Duration = Duration::from_millis(1);

/// A link, and whose it is.
#[derive(Debug)]
pub(crate) struct NamedLink {
    pub(crate) link: Link,
    pub(crate) name: String,
    pub(crate) token: Token,
    pub(crate) remote: String,
}

/// One end of a connection.
pub(crate) struct Connection {
    pub(crate) tunnel: Tunnel<Inner>,
    /// By the paths' numbers.
    links: Vec<Option<NamedLink>>,
}

impl Connection {
    /// Without links yet.
    pub(crate) fn new(tunnel: Tunnel<Inner>) -> Self {
        Self {
            tunnel,
            links: Vec::new(),
        }
    }

    /// The link that packets of a path take from now on.
    pub(crate) fn set_link(&mut self, path: PathId, link: NamedLink) {
        let index = usize::from(path.0);
        if self.links.len() <= index {
            self.links.resize_with(index + 1, || None);
        }
        self.links[index] = Some(link);
    }

    /// A path's link.
    pub(crate) fn link_mut(&mut self, path: PathId) -> Option<&mut NamedLink> {
        self.links.get_mut(usize::from(path.0))?.as_mut()
    }

    /// A path has none any more.
    pub(crate) fn remove_link(&mut self, path: PathId) -> Option<NamedLink> {
        self.links.get_mut(usize::from(path.0))?.take()
    }

    /// All of them, with their paths.
    pub(crate) fn links_mut(&mut self) -> impl Iterator<Item = (PathId, &mut NamedLink)> {
        let links = self.links.iter_mut().enumerate();
        links.filter_map(|(index, link)| Some((PathId(index as u8), link.as_mut()?)))
    }

    /// When there is something to do although nothing comes.
    pub(crate) fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        let has_stream = |link: &NamedLink| matches!(link.link.way, Way::Tcp(_));
        let waits = self.links.iter().flatten().any(has_stream)
            && self.tunnel.stats().waiting > Packets::ZERO;
        let look = waits.then(|| now + LOOK);
        [self.tunnel.next_deadline(now), look]
            .into_iter()
            .flatten()
            .min()
    }

    /// Sends all that may leave now.
    pub(crate) fn transmit(&mut self, now: Instant, poller: &Poller) {
        for (index, link) in self.links.iter().enumerate() {
            if let Some(Way::Tcp(stream)) = link.as_ref().map(|link| &link.link.way)
                && let Ok(state) = stream.borrow().state()
            {
                self.tunnel.on_stream(now, PathId(index as u8), state);
            }
        }
        while let Some(transmit) = self.tunnel.poll_transmit(now) {
            // a path whose link is gone loses what it sends, as on any dead way
            if let Some(link) = self.link_mut(transmit.path) {
                link.link.push(transmit);
            }
        }
        for (_, link) in self.links_mut() {
            link.link.flush();
            if let Err(error) = watch(link, poller) {
                link.link.fault = Some(error);
            }
        }
    }

    /// How it stands.
    pub(crate) fn status(&self, now: Instant, peer: &str) -> ConnectionStatus {
        let stats = self.tunnel.stats();
        let is_established = self.tunnel.is_established();
        let mut status = ConnectionStatus::new(peer.to_owned(), is_established, &stats);
        for (index, link) in self.links.iter().enumerate() {
            let Some(link) = link else { continue };
            let stats = self.tunnel.path_stats(now, PathId(index as u8));
            let (name, remote) = (link.name.clone(), link.remote.clone());
            let counters = link.link.counters;
            let path = PathStatus::new(name, remote, stats.as_ref(), counters);
            status.paths.push(path);
        }
        status
    }
}

/// Has the poller notify when a TCP connection can be written, exactly while something waits for it.
fn watch(link: &mut NamedLink, poller: &Poller) -> io::Result<()> {
    let Way::Tcp(stream) = &link.link.way else {
        return Ok(());
    };
    let mut stream = stream.borrow_mut();
    let waits = stream.is_waiting();
    if waits && stream.is_watched {
        // what came in between may have made room
        return stream.flush().map(drop);
    }
    if waits != stream.is_watched {
        poller.change(&*stream, link.token, waits)?;
        stream.is_watched = waits;
    }
    Ok(())
}
