//! A lab that stands, for those who run programs on its hosts.

use crate::names::{RAN_ADDRESS, SERVER_ADDRESS, ue_address};
use crate::run::Lab;
use crate::{Error, child};
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use units::Instant;

/// Variables that would lead programs to a proxy outside of the lab.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy"];

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Beyond the path and the edge.
    Server,
    /// Behind the cell.
    Ue,
}

/// The hosts of a lab that stands. Whatever still runs there as the lab ends is ended.
pub struct Programs<'a> {
    lab: &'a mut Lab,
    ue: usize,
    /// Their `/etc/hosts`.
    names: PathBuf,
    has_ended: &'a dyn Fn() -> bool,
    stop: &'a AtomicBool,
}

impl<'a> Programs<'a> {
    pub(super) fn new(
        lab: &'a mut Lab,
        ue: usize,
        has_ended: &'a dyn Fn() -> bool,
        stop: &'a AtomicBool,
    ) -> Result<Self, Error> {
        let names = lab.folder.path().join("hosts");
        let text = format!(
            "127.0.0.1 localhost\n{SERVER_ADDRESS} server\n{RAN_ADDRESS} edge\n{} ue\n",
            ue_address(ue)
        );
        fs::write(&names, text).map_err(Error::system(format!("write {}", names.display())))?;
        Ok(Self {
            lab,
            ue,
            names,
            has_ended,
            stop,
        })
    }

    pub(super) fn wait_for_slots(&self) {
        self.lab.clock.sleep_until(Instant::from_nanos(1));
    }

    /// Has a command run on a host, with the names `server`, `edge` and `ue` of its hosts. It ends with the
    /// thread that starts it.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn place(&self, host: Host, command: &mut Command) -> io::Result<()> {
        for name in PROXIES {
            command.env_remove(name).env_remove(name.to_uppercase());
        }
        self.lab.folder.mark(command);
        let network = match host {
            Host::Server => &self.lab.hosts.servers,
            Host::Ue => &self.lab.hosts.ues[self.ue],
        };
        child::run_in_with_names(command, network, &self.names)
    }

    /// Address of a host.
    pub fn address(&self, host: Host) -> Ipv4Addr {
        match host {
            Host::Server => SERVER_ADDRESS,
            Host::Ue => ue_address(self.ue),
        }
    }

    /// The lab's folder, which goes with it.
    pub fn folder(&self) -> &Path {
        self.lab.folder.path()
    }

    /// That the lab still works and is not to end.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; what a daemon of the lab's printed as it ended.
    pub fn check(&mut self) -> Result<(), Error> {
        // what has ended the radio is the error of the whole
        if self.stop.load(Ordering::Relaxed) || self.has_ended() {
            return Err(Error::Interrupted);
        }
        self.check_proxy()
    }

    pub(super) fn check_proxy(&mut self) -> Result<(), Error> {
        self.lab.check_proxy()
    }

    pub(super) fn has_ended(&self) -> bool {
        (self.has_ended)()
    }
}

impl core::fmt::Debug for Programs<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let folder = self.folder();
        f.debug_struct("Programs")
            .field("folder", &folder)
            .field("ue", &self.ue)
            .finish_non_exhaustive()
    }
}
