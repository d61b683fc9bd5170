//! Every packet that leaves an interface, handed to a device.

use crate::attachment::{Attachment, Role};
use crate::interface::Interface;
use crate::{Holding, MarkerError, Way};
use kernel_cc::{Loaded, error_of};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::os::fd::OwnedFd;

/// The compiled program.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/divert.bpf.o"));
/// Its name.
const DIVERT: &str = "divert";
const ONLY: [u8; 4] = [0; 4];

/// What has become of packets since it was attached, as they are on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diverted {
    /// Handed to the device.
    pub handed_over: u64,
    /// Came back by the socket.
    pub returned: u64,
    /// Passed: no process stated that it takes them, or they are neither IP nor tagged.
    pub passed: u64,
}

/// IP packets that leave an interface are handed over ([`Holding`]), until this is dropped or its process ends: then they pass.
///
/// Needs what the marker needs: Linux 6.6 (tcx), or 6.1 with clsact, `CAP_BPF`, `CAP_PERFMON` and `CAP_NET_ADMIN`.
#[derive(Debug)]
pub struct Diversion {
    name: String,
    ways: &'static [Way],
    program: OwnedFd,
    holdings: MapHandle,
    counts: MapHandle,
    attachment: Option<Attachment>,
    _loaded: Loaded,
}

impl Diversion {
    /// Loads the program and has it run for what leaves an interface. Nothing is handed over before [`Self::set`].
    ///
    /// # Errors
    /// What is wrong with the request, or that the machine cannot do it.
    pub fn attach(interface: &str) -> Result<Self, MarkerError> {
        Self::attach_by(interface, &[Way::Tcx, Way::Clsact])
    }

    /// The same by the first of these ways that the kernel has.
    pub(crate) fn attach_by(interface: &str, ways: &'static [Way]) -> Result<Self, MarkerError> {
        let interface = Interface::named(interface)?;
        let loaded = Loaded::register(PROGRAM, &[], |_| Ok(()));
        let loaded = loaded.map_err(MarkerError::kernel("the program"))?;
        let map = |name| loaded.map(name).map_err(MarkerError::kernel("a map"));
        let program = loaded.program_named(DIVERT);
        let program = program.map_err(MarkerError::kernel("the program"))?;
        let attachment = attachment(&interface, &program, ways)?;
        Ok(Self {
            name: interface.name,
            ways,
            holdings: map("holdings")?,
            counts: map("diverted")?,
            program,
            attachment,
            _loaded: loaded,
        })
    }

    /// Where packets go from now on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set(&self, holding: Holding) -> Result<(), MarkerError> {
        let set = self.holdings.update(&ONLY, &holding.bytes(), MapFlags::ANY);
        set.map_err(|e| MarkerError::kernel("who takes packets")(error_of(&e)))
    }

    /// Index of the interface, and whether its packets begin with an Ethernet header.
    ///
    /// # Errors
    /// There is none of its name.
    pub fn link(&self) -> Result<(u32, bool), MarkerError> {
        let interface = Interface::named(&self.name)?;
        Ok((interface.index, interface.link_header > 0))
    }

    /// To be called now and then (each second): attaches it again where the interface has gone and come back. True if it
    /// did.
    ///
    /// # Errors
    /// As of [`attach`](Self::attach).
    pub fn refresh(&mut self) -> Result<bool, MarkerError> {
        let interface = Interface::named(&self.name)?;
        if self.attachment.as_ref().map(Attachment::interface) == Some(&interface) {
            return Ok(false);
        }
        self.attachment = None;
        self.attachment = attachment(&interface, &self.program, self.ways)?;
        Ok(true)
    }

    /// How it is attached.
    pub fn way(&self) -> Way {
        self.attachment
            .as_ref()
            .map_or(Way::Waiting, Attachment::way)
    }

    /// What has been counted so far.
    ///
    /// # Errors
    /// The kernel's.
    pub fn counts(&self) -> Result<Diverted, MarkerError> {
        let found = self.counts.lookup_percpu(&ONLY, MapFlags::ANY);
        let found = found.map_err(|e| MarkerError::kernel("its counts")(error_of(&e)))?;
        let mut all = [0_u64; 3];
        for bytes in found.unwrap_or_default() {
            for (sum, part) in all.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *sum += u64::from_ne_bytes(*part);
            }
        }
        let [handed_over, returned, passed] = all;
        Ok(Diverted {
            handed_over,
            returned,
            passed,
        })
    }
}

/// Another instance at the interface is an error.
fn attachment(
    interface: &Interface,
    program: &OwnedFd,
    ways: &[Way],
) -> Result<Option<Attachment>, MarkerError> {
    let attached = Attachment::new(interface, Role::DIVERSION, false, program, ways);
    attached.map_err(|error| match error {
        MarkerError::InUse { interface, by } => MarkerError::Taken { interface, by },
        other => other,
    })
}
