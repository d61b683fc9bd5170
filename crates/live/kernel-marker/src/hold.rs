//! UEs whose packets are handed to user space instead of being judged, as the program reads them (`bpf/marker_hold.h`).

use crate::order::name;
use kernel_cc::error_of;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::io;
use std::net::IpAddr;

const ONLY: [u8; 4] = [0; 4];

/// Who takes packets of the UEs that are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// They are handed over until then, CLOCK_MONOTONIC, ns; later ones pass. 0: none are.
    pub until: u64,
    /// Packets of the socket with this cookie (`SO_COOKIE`) pass: those that come back. 0: there is none.
    pub cookie: u64,
    /// Index of the device that they are handed to.
    pub device: u32,
}

impl Holding {
    pub(crate) fn bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.until.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.device.to_ne_bytes());
        bytes
    }
}

/// How packets of a UE are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// All of them.
    Held,
    /// Until none has been for half a millisecond; from then on they pass, in order behind those that were.
    Ending,
}

/// The maps that have it.
#[derive(Debug)]
pub(crate) struct Holds {
    holding: MapHandle,
    ues: MapHandle,
}

impl Holds {
    pub(crate) fn new(holding: MapHandle, ues: MapHandle) -> Self {
        Self { holding, ues }
    }

    pub(crate) fn set_holding(&self, holding: Holding) -> io::Result<()> {
        let set = self.holding.update(&ONLY, &holding.bytes(), MapFlags::ANY);
        set.map_err(|e| error_of(&e))
    }

    /// `now`: CLOCK_MONOTONIC, ns.
    pub(crate) fn set(&self, ue: IpAddr, hold: Hold, now: u64) -> io::Result<()> {
        let words = [now, u64::from(hold == Hold::Ending)];
        let bytes = words.map(u64::to_ne_bytes);
        let set = self
            .ues
            .update(&name(ue), bytes.as_flattened(), MapFlags::ANY);
        set.map_err(|e| error_of(&e))
    }

    /// When a packet of a UE was handed over last; none if it has no entry.
    pub(crate) fn redirected_at(&self, ue: IpAddr) -> io::Result<Option<u64>> {
        let found = self.ues.lookup(&name(ue), MapFlags::ANY);
        let found = found.map_err(|e| error_of(&e))?;
        Ok(found.and_then(|bytes| Some(u64::from_ne_bytes(*bytes.first_chunk()?))))
    }

    pub(crate) fn remove(&self, ue: IpAddr) -> io::Result<()> {
        match self.ues.delete(&name(ue)) {
            Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => Err(error_of(&error)),
            _ => Ok(()),
        }
    }
}
