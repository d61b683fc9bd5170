//! Windows towards servers at the wire: a program of the kernel sets them in each segment that leaves.
//!
//! ```text
//!   control array   <- what segments are to show, updates requested   (written here, read by the program)
//!   state array     -> the rightmost edge that was shown              (written by the program; cleared here)
//!   socket storage  <- which slot of the arrays                       (one system call a connection)
//!   update          <- a probe of the socket, which the program gives a number that the server accepts
//! ```
//!
//! The kernel keeps a large window, of the connection's share of the memory, and that is the upper bound of what is
//! shown: no data that a server may send is refused. (Where the kernel has no memory for a segment all the same, it drops
//! that and answers with a closed window, which is shown as it is.) The program is attached for as long as this process lives, and acts
//! on this process's sockets alone: two processes of an upgrade do not meet. (As a filter, where the kernel has no tcx, it
//! outlives a process that is killed, and then has no socket to act on.)
//!
//! A connection whose SYN has not passed the program (its route leads elsewhere, its interface was not there) has its
//! window set by `TCP_WINDOW_CLAMP`, as all have without the program.

mod attachment;
mod interfaces;
mod slot;
#[cfg(test)]
mod tests;

pub(crate) use slot::WireSlot;

use crate::config::{Config, Interception as Way, Onward, WanActuator};
use crate::error::PepError;
use crate::registry::lock;
use crate::slots::{SLOTS, Slot, Slots};
use crate::sys::SharedWords;
use attachment::Attachment;
use edge::wire::Order;
use interfaces::Interface;
use kernel_cc::{Loaded, wire as program};
use libbpf_rs::MapHandle;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, Mutex};

/// 8-byte words of a slot of each array, as in the program.
const WORDS: usize = 4;
/// Of a control slot.
const ORDER: usize = 0;
const USE: usize = 1;
const REQUESTS: usize = 2;
/// Of a state slot.
const SHOWN: usize = 0;
const SEEN: usize = 2;

/// The program, and where it runs.
pub(crate) struct Wire {
    places: MapHandle,
    control: SharedWords,
    state: SharedWords,
    slots: Mutex<Slots>,
    program: OwnedFd,
    links: Mutex<Links>,
    /// Updates that were sent.
    updates: AtomicU64,
    /// Connections whose windows are set as without the program: all slots were taken, or it has not seen their SYN.
    clamped: AtomicU64,
}

/// Where the program runs.
#[derive(Debug, Default)]
struct Links {
    /// By this configuration.
    onward: Option<(Onward, Way)>,
    /// What it names.
    names: Vec<String>,
    attached: Vec<Attachment>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

/// How windows towards servers are shown, and why it is not otherwise.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) wire: Option<Arc<Wire>>,
    pub(crate) error: Option<String>,
}

impl Shown {
    /// As configured, and as the kernel permits.
    ///
    /// # Errors
    /// `wire` is requested, and cannot be had.
    pub(crate) fn new(config: &Config) -> Result<Self, PepError> {
        if config.edge.is_none() || config.wan_actuator == WanActuator::Clamp {
            return Ok(Self::default());
        }
        match Wire::load(config) {
            Ok(wire) => Ok(Self {
                wire: Some(Arc::new(wire)),
                error: None,
            }),
            Err(error) if config.wan_actuator == WanActuator::Wire => Err(PepError::system(
                "windows towards servers cannot be set at the wire (wan-actuator): it needs Linux 6.6 (tcx), or 6.1 with \
                 clsact (CONFIG_NET_CLS_BPF), and CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN",
                error,
            )),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "windows towards servers are not set at the wire, which needs Linux 6.6 (tcx), or 6.1 with clsact \
                     (CONFIG_NET_CLS_BPF), and CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, but by TCP_WINDOW_CLAMP"
                );
                Ok(Self {
                    wire: None,
                    error: Some(error.to_string()),
                })
            }
        }
    }

    /// Its name in status and metrics.
    pub(crate) fn name(&self) -> &'static str {
        match self.wire {
            Some(_) => WanActuator::Wire.name(),
            None => WanActuator::Clamp.name(),
        }
    }
}

impl Wire {
    /// Loads the program, and attaches it to the interfaces towards the servers.
    ///
    /// # Errors
    /// The kernel's: most often that the rights are missing.
    fn load(config: &Config) -> io::Result<Self> {
        if !crate::relay::can_show_windows_at_once() {
            // updates could not be sent
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let loaded = Loaded::register(program::PROGRAM, &[], |_| Ok(()))?;
        let words = |map: &str| {
            let map = loaded.map(map)?;
            SharedWords::map(map.as_fd(), SLOTS as usize * WORDS)
        };
        let wire = Self {
            places: loaded.map("places")?,
            control: words("control")?,
            state: words("state")?,
            slots: Mutex::new(Slots::new(SLOTS)),
            program: loaded.program(program::SECTION)?,
            links: Mutex::default(),
            updates: AtomicU64::new(0),
            clamped: AtomicU64::new(0),
        };
        wire.refresh(config)?;
        if lock(&wire.links).attached.is_empty() {
            return Err(io::Error::other("there is no interface towards servers"));
        }
        Ok(wire)
    }

    /// Attaches it to the interfaces towards the servers that have come, or come back; leaves the others.
    ///
    /// # Errors
    /// The first that could not be attached to; the others are.
    pub(crate) fn refresh(&self, config: &Config) -> io::Result<()> {
        let mut links = lock(&self.links);
        let onward = (config.onward.clone(), config.interception.clone());
        if links.onward.as_ref() != Some(&onward) {
            links.names = interfaces::towards_servers(config);
            links.onward = Some(onward);
        }
        let wanted = Interface::named(&links.names);
        let attached = &mut links.attached;
        if wanted.iter().eq(attached.iter().map(|has| &has.interface)) {
            return Ok(());
        }
        attached.retain(|has| wanted.contains(&has.interface));
        let mut result = Ok(());
        for at in wanted {
            if attached.iter().any(|has| has.interface == at) {
                continue;
            }
            match Attachment::new(at, &self.program) {
                Ok(new) => {
                    tracing::info!(
                        interface = new.interface.name,
                        way = new.way(),
                        "windows at the wire"
                    );
                    attached.push(new);
                }
                Err(error) => result = result.and(Err(error)),
            }
        }
        attached.sort_by(|a, b| a.interface.cmp(&b.interface));
        result
    }

    /// Where it runs.
    pub(crate) fn interfaces(&self) -> Vec<String> {
        let links = lock(&self.links);
        let names = links.attached.iter().map(|at| at.interface.name.clone());
        names.collect()
    }

    /// Updates that were sent.
    pub(crate) fn updates(&self) -> u64 {
        self.updates.load(Relaxed)
    }

    /// Connections whose windows are set as without the program.
    pub(crate) fn clamped(&self) -> u64 {
        self.clamped.load(Relaxed)
    }

    /// Takes a socket that has sent nothing: its segments show a window of so many bytes until more is decided.
    ///
    /// # Errors
    /// The kernel's, or that all slots are taken.
    pub(crate) fn take(self: &Arc<Self>, socket: &OwnedFd, young: u32) -> io::Result<WireSlot> {
        let slot = lock(&self.slots)
            .take()
            .inspect_err(|_| self.count_clamped())?;
        for word in self.words(&self.state, slot) {
            word.store(0, Relaxed);
        }
        let control = self.words(&self.control, slot);
        control[REQUESTS].store(0, Relaxed);
        control[ORDER].store(Order::Window(young).word(), Relaxed);
        control[USE].store(u64::from(slot.usage), Release);
        let taken = WireSlot::new(Arc::clone(self), slot);
        slot.assign(&self.places, socket)?;
        Ok(taken)
    }

    fn count_clamped(&self) {
        self.clamped.fetch_add(1, Relaxed);
    }

    fn give_back(&self, slot: Slot) {
        self.words(&self.control, slot)[USE].store(0, Release);
        lock(&self.slots).give_back(slot);
    }

    fn words<'a>(&self, array: &'a SharedWords, slot: Slot) -> &'a [AtomicU64] {
        let start = slot.index as usize * WORDS;
        &array.words()[start..start + WORDS]
    }
}
