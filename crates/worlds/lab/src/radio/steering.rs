//! Through which edge packets go where there are several: as the network would be set by what is at the edges.
//!
//! A TCP connection begins at the edge of the cell that serves its user, and goes on there until the proxy of another
//! edge has taken it over, whose route hook has the lab send it there. All else follows the cell that serves.
//!
//! A connection that is over (a reset, or both ends have ended it) is forgotten a minute after its last packet, any other
//! after three hours without one: longer than proxies keep one that is silent.

use crate::Error;
use crate::packet::{Connection, Packet, TcpSegment};
use crate::sites::Sites;
use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use units::{Duration, Instant};

/// A connection that is over is kept for so long after its last packet: what is sent again goes where it was.
const LINGERING: Duration = Duration::from_secs(60);
/// One that is not, for so long: a proxy resets one that is silent for two hours.
const SILENT: Duration = Duration::from_secs(3 * 3_600);
/// Between looks at which are to be forgotten.
const LOOK: Duration = Duration::from_secs(30);

/// Where packets go.
#[derive(Debug)]
pub(crate) struct Steering {
    sites: Sites,
    connections: HashMap<Connection, Way>,
    look_at: Instant,
}

/// Where the packets of a connection go.
#[derive(Clone, Copy, Debug)]
struct Way {
    site: usize,
    used_at: Instant,
    /// Which ends have ended it: the UE, the server.
    ended: [bool; 2],
}

impl Way {
    fn is_over(&self) -> bool {
        self.ended == [true; 2]
    }

    fn is_kept(&self, now: Instant) -> bool {
        let time = if self.is_over() { LINGERING } else { SILENT };
        now.saturating_since(self.used_at) < time
    }
}

impl Steering {
    pub(crate) fn new(sites: Sites) -> Self {
        Self {
            sites,
            connections: HashMap::new(),
            look_at: Instant::ZERO + LOOK,
        }
    }

    /// The site through whose edge a packet goes while this cell serves its user.
    pub(crate) fn site(&mut self, now: Instant, packet: &Packet, serving: Option<usize>) -> usize {
        if self.sites.count() == 1 {
            return 0;
        }
        if now >= self.look_at {
            self.connections.retain(|_, way| way.is_kept(now));
            self.look_at = now + LOOK;
        }
        let site = serving.map_or(0, |cell| self.sites.of_cell(cell));
        let Some(connection) = Connection::of(&packet.data) else {
            return site;
        };
        let begun = Way {
            site,
            used_at: now,
            ended: [false; 2],
        };
        let way = self.connections.entry(connection).or_insert(begun);
        if let Some(segment) = TcpSegment::read(&packet.data) {
            if segment.is_syn() && !segment.has_ack() && way.is_over() {
                // its ports are used again
                *way = begun;
            }
            way.ended[usize::from(!connection.is_up(&packet.data))] |= segment.is_fin();
            if segment.is_reset() {
                way.ended = [true; 2];
            }
        }
        way.used_at = now;
        way.site
    }

    /// What a site's proxy has its route hook print: a line for each connection.
    pub(crate) fn on_hook(&mut self, site: usize, line: &str) {
        let mut words = line.split_whitespace();
        if words.next() != Some("moved") {
            return;
        }
        let mut end = || words.next()?.parse().ok();
        if let (Some(client), Some(server)) = (end(), end()) {
            // of one without packets nothing is known
            if let Some(way) = self.connections.get_mut(&Connection { client, server }) {
                way.site = site;
            }
        }
    }
}

/// What the route hook of one site's proxy writes.
#[derive(Debug)]
pub(crate) struct Hook {
    pipe: File,
    /// The beginning of a line.
    rest: Vec<u8>,
}

impl Hook {
    /// A hook of this site in the lab's folder.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn create(folder: &Path, site: usize) -> Result<Self, Error> {
        let place = folder.join(format!("route-{}", site + 1));
        let failed = || Error::system(format!("make {}", place.display()));
        let mode = Mode::RUSR | Mode::WUSR;
        mkfifoat(CWD, &place, mode).map_err(failed())?;
        // with a writer of its own it does not end
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = open(&place, flags, Mode::empty()).map_err(failed())?;
        let script = hook(folder, site);
        let failed = || Error::system(format!("write {}", script.display()));
        // each line is one write, which no other's comes into
        let text = format!(
            "#!/bin/sh\nwhile read -r line; do echo \"$line\"; done > '{}'\n",
            place.display()
        );
        fs::write(&script, text).map_err(failed())?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).map_err(failed())?;
        Ok(Self {
            pipe: pipe.into(),
            rest: Vec::new(),
        })
    }

    /// The lines that have come.
    pub(crate) fn read(&mut self, mut line: impl FnMut(&str)) {
        let mut buffer = [0; 4096];
        loop {
            match self.pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => self.rest.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        String::from_utf8_lossy(&whole).lines().for_each(&mut line);
    }
}

impl AsFd for Hook {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// The program of a site's hook, in the lab's folder.
pub(crate) fn hook(folder: &Path, site: usize) -> PathBuf {
    folder.join(format!("route-{}.sh", site + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::segment;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn steering() -> Steering {
        Steering::new(Sites::of_two())
    }

    #[test]
    fn a_connection_stays_where_it_began_until_it_has_moved() {
        let mut steering = steering();
        let tcp = Packet::new(segment(1, 0x10, b"x").into(), None);
        let mut udp = segment(1, 0x10, b"x");
        udp[9] = crate::packet::UDP;
        let udp = Packet::new(udp.into(), None);
        let now = Instant::ZERO;
        let site = |steering: &mut Steering, packet, cell| steering.site(now, packet, Some(cell));
        assert_eq!(site(&mut steering, &tcp, 1), 1);
        assert_eq!(site(&mut steering, &udp, 1), 1);
        assert_eq!(site(&mut steering, &tcp, 0), 1);
        assert_eq!(site(&mut steering, &udp, 0), 0);
        let connection = Connection::of(&tcp.data).expect("of TCP");
        let Connection { client, server } = connection;
        for line in [
            "",
            "moved",
            "moved x y",
            &format!("stays {client} {server}"),
        ] {
            steering.on_hook(0, line);
            assert_eq!(site(&mut steering, &tcp, 0), 1, "{line}");
        }
        steering.on_hook(0, &format!("moved {client} {server}"));
        assert_eq!(site(&mut steering, &tcp, 1), 0);
    }

    #[test]
    fn a_connection_is_forgotten_when_it_is_over_and_not_before() {
        const FIN: u8 = 0x01;
        const SYN: u8 = 0x02;
        const RST: u8 = 0x04;
        const ACK: u8 = 0x10;
        let down = |flags| Packet::new(segment(1, flags, b"x").into(), None);
        let up = |flags| {
            let mut data = segment(1, flags, b"x");
            // addresses and ports change places
            let (source, destination) = data[12..20].split_at_mut(4);
            source.swap_with_slice(destination);
            let (source, destination) = data[20..24].split_at_mut(2);
            source.swap_with_slice(destination);
            Packet::new(data.into(), None)
        };
        let at = |secs| Instant::ZERO + Duration::from_secs(secs);
        let ends: [&[Packet]; 3] = [
            &[up(RST)],
            &[up(FIN | ACK), down(FIN | ACK)],
            &[down(RST | ACK)],
        ];
        for (n, ended) in ends.into_iter().enumerate() {
            let mut steering = steering();
            assert_eq!(steering.site(at(0), &up(SYN), Some(1)), 1);
            assert_eq!(steering.site(at(7_000), &up(ACK), Some(0)), 1, "silent");
            for packet in ended {
                assert_eq!(steering.site(at(7_000), packet, Some(0)), 1, "{n}");
            }
            // what is sent again does not come elsewhere
            assert_eq!(steering.site(at(7_030), &up(ACK), Some(0)), 1, "{n}");
            let mut udp = segment(1, ACK, b"x");
            udp[9] = crate::packet::UDP;
            let udp = Packet::new(udp.into(), None);
            steering.site(at(7_085), &udp, Some(0));
            assert_eq!(steering.connections.len(), 1, "{n}");
            steering.site(at(7_120), &udp, Some(0));
            assert!(steering.connections.is_empty(), "{n}");
        }
        // one direction may go on for long
        let mut steering = steering();
        steering.site(at(0), &up(FIN | ACK), Some(1));
        assert_eq!(steering.site(at(5_000), &down(ACK), Some(0)), 1);
        // ports that are used again begin where the user is
        steering.site(at(5_000), &down(FIN | ACK), Some(0));
        assert_eq!(steering.site(at(5_001), &up(SYN), Some(0)), 0);
        steering.site(at(20_000), &up(RST), Some(0));
        steering.on_hook(1, "moved 10.45.0.1:1 10.99.0.1:1");
        assert_eq!(steering.connections.len(), 1, "one without packets");
    }

    #[test]
    fn what_a_hook_reads_comes_line_by_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut read = Hook::create(folder.path(), 3).expect("a pipe");
        let mut child = Command::new(hook(folder.path(), 3))
            .arg("10.45.0.1")
            .stdin(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut input = child.stdin.take().expect("piped");
        input
            .write_all(b"moved a b\nstays c d\n")
            .expect("it reads");
        drop(input);
        assert!(child.wait().expect("it ends").success());
        let mut lines = Vec::new();
        read.read(|line| lines.push(line.to_owned()));
        assert_eq!(lines, ["moved a b", "stays c d"]);
        read.read(|line| panic!("{line}"));
    }
}
