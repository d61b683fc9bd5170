//! MELD round the kernel's Reno and Cubic (`bpf/meld.bpf.c`): user space hands over radio reports, the
//! program decides.
//!
//! ```text
//!   Meld::update ──> take_report (syscall) ──> radios: a ring of reports for each UE
//!                                                 │  by the connection's peer address
//!   acknowledgements, losses ──> meld-reno, meld-cubic (struct_ops) ──> window, ssthresh
//! ```
//!
//! The decisions are those of [`cc::meld::Discriminator`], to the bit: `bpf/meld_model.h` is the same in C,
//! with constants that are made from the Rust ([`constants_header`]), and a test compares them event by
//! event. What the kernel cannot have stands at the head of the program and in `docs/algorithms/meld.md`.

#[cfg(test)]
mod differential;
mod header;
#[cfg(test)]
mod tests;
mod words;

use crate::load::map_of;
use crate::{Loaded, Naming, error_of, is_registered};
use cc::RadioState;
use cc::meld::{Config, Reason, Variant};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use units::Instant;

pub use header::constants_header;

const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/meld.bpf.o"));

/// The controllers, by their names in [`cc::CONTROLLERS`], that the kernel has MELD round.
pub const ROUND: [&str; 2] = ["newreno", "cubic"];

/// The result of `take_report` for a UE that has no entry.
const IS_UNKNOWN: u32 = 1;

/// Programs of a process with names of their own.
const PROGRAMS: u32 = 64;
/// How many there have been.
static LOADED: AtomicU32 = AtomicU32::new(0);

/// The program in the kernel. Connections that have chosen one of its congestion controls keep it.
#[derive(Debug)]
pub struct Meld {
    reno: String,
    cubic: String,
    max_ues: u32,
    /// Of the last entry that was made.
    generation: u64,
    radios: MapHandle,
    decisions: MapHandle,
    loaded: Loaded,
}

impl Meld {
    /// Loads the program with a variant, for packets of a size, and for so many UEs at a time (at least
    /// one), each of which takes 32 kB of the kernel's memory from now on.
    ///
    /// # Errors
    /// The kernel's: most often that the rights (`CAP_BPF`, `CAP_NET_ADMIN`) are missing.
    /// [`Unsupported`](io::ErrorKind::Unsupported) for [`Variant::Yielding`], which the program does not have.
    pub fn load(config: Config, max_ues: u32) -> io::Result<Self> {
        if config.variant == Variant::Yielding {
            let problem = "MELD in the kernel yields to no flow: take variant \"default\"";
            return Err(io::Error::new(io::ErrorKind::Unsupported, problem));
        }
        let (reno, cubic) = names();
        let naming = |map, compiled, name| Naming {
            map,
            compiled,
            name,
        };
        let controls = [
            naming("reno", "meld-reno", &reno),
            naming("cubic", "meld-cubic", &cubic),
        ];
        let max_ues = max_ues.max(1);
        let sizes = [("radios", max_ues)];
        let loaded =
            Loaded::register_sized(PROGRAM, &controls, &sizes, |object| set(object, config))?;
        Ok(Self {
            max_ues,
            generation: 0,
            radios: loaded.map("radios")?,
            decisions: loaded.map("decisions")?,
            reno,
            cubic,
            loaded,
        })
    }

    /// Name of the kernel's congestion control that is MELD round the one of this name, if there is
    /// one: those of [`ROUND`] have it.
    pub fn name(&self, wrapped: &str) -> Option<&str> {
        let names = ROUND.into_iter().zip([&self.reno, &self.cubic]);
        names
            .into_iter()
            .find_map(|(of, name)| (of == wrapped).then_some(name.as_str()))
    }

    /// Hands over a report of the UE with this address (IPv4, or IPv6), which arrived at `arrived_at`: that
    /// and its `made_at` are of the kernel's monotonic clock. A report is not taken for earlier than the one
    /// before it.
    ///
    /// # Errors
    /// The kernel's, or that there is no room for another UE.
    pub fn update(
        &mut self,
        ue: IpAddr,
        arrived_at: Instant,
        state: &RadioState,
    ) -> io::Result<()> {
        let key = words::key(ue);
        let mut delivery = key.to_vec();
        delivery.extend(words::to_bytes(&words::report(arrived_at, state)));
        if self.loaded.run("take_report", &mut delivery)? != IS_UNKNOWN {
            return Ok(());
        }
        self.generation += 1;
        let value = words::no_reports(self.generation);
        let made = self.radios.update(&key, &value, MapFlags::NO_EXIST);
        made.map_err(|error| {
            let error = error_of(&error);
            let reason = format!(
                "a report of {ue}: no entry beside those of at most {} UEs: {error}",
                self.max_ues
            );
            io::Error::new(error.kind(), reason)
        })?;
        self.loaded.run("take_report", &mut delivery).map(|_| ())
    }

    /// A UE is gone, or its address is another's: what it lost explains nothing any more.
    pub fn remove(&mut self, ue: IpAddr) {
        // it is absent if it was never reported
        let _ = self.radios.delete(&words::key(ue));
    }

    /// How often each reason decided, of all connections.
    ///
    /// # Errors
    /// The kernel's.
    pub fn decisions(&self) -> io::Result<Vec<(Reason, u64)>> {
        let count = |(index, reason): (usize, Reason)| {
            let found = self
                .decisions
                .lookup(&(index as u32).to_ne_bytes(), MapFlags::ANY);
            let bytes = found.map_err(|e| error_of(&e))?.unwrap_or_default();
            let bytes = bytes.try_into().unwrap_or_default();
            Ok((reason, u64::from_ne_bytes(bytes)))
        };
        Reason::ALL.into_iter().enumerate().map(count).collect()
    }
}

/// Names that no congestion control has: before Linux 6.4 a process that is killed leaves its own.
fn names() -> (String, String) {
    let names = || {
        // 22 bits of process id and 6 of its programs are seven digits
        let number = LOADED.fetch_add(1, Ordering::Relaxed) % PROGRAMS;
        let id = std::process::id() << 6 | number;
        (format!("brimfulr{id:x}"), format!("brimfulc{id:x}"))
    };
    let is_free = |(reno, cubic): &(String, String)| !is_registered(reno) && !is_registered(cubic);
    let free = (1..PROGRAMS).map(|_| names()).find(is_free);
    free.unwrap_or_else(names)
}

fn set(object: &Object, config: Config) -> io::Result<()> {
    let value = words::to_bytes(&words::rules(config));
    let settings = map_of(object, "settings")?;
    let updated = settings.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY);
    updated.map_err(|e| error_of(&e))
}
