//! Packets that go into the device.

use super::Output;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tun::Device;

/// What is gathered before it is handed over, bytes.
const FULL: usize = 65_536;

/// Writes packets to a device; with a second thread, copies of them.
#[derive(Debug)]
pub(crate) struct DeviceWriter {
    output: Output,
    writes: Writes,
    calls: u64,
}

/// Packets with their headers, one behind the other.
#[derive(Debug)]
pub(super) struct Writes {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    device: Arc<Device>,
    failed: Arc<AtomicU64>,
}

impl DeviceWriter {
    pub(crate) fn new(device: Arc<Device>, output: Output) -> Self {
        Self {
            output,
            writes: Writes {
                bytes: Vec::new(),
                ends: Vec::new(),
                device,
                failed: Arc::default(),
            },
            calls: 0,
        }
    }

    /// Calls that took packets, and those that failed.
    pub(crate) fn counters(&self) -> (u64, u64) {
        (self.calls, self.writes.failed.load(Ordering::Relaxed))
    }

    /// One packet, from several places; it is in the device at the latest after [`Self::flush`], or as soon as the second
    /// thread gets to it.
    pub(crate) fn write(&mut self, pieces: &[IoSlice<'_>]) {
        self.calls += 1;
        if !self.output.has_second() {
            return self.writes.write(pieces);
        }
        for piece in pieces {
            self.writes.bytes.extend_from_slice(piece);
        }
        self.writes.ends.push(self.writes.bytes.len());
        if self.writes.bytes() >= FULL {
            self.flush();
        }
    }

    /// What was gathered goes.
    pub(crate) fn flush(&mut self) {
        if !self.writes.ends.is_empty() {
            self.output.write(&mut self.writes);
        }
    }
}

impl Writes {
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// An empty one to the same device.
    pub(super) fn another(&self) -> Self {
        Self {
            bytes: Vec::new(),
            ends: Vec::new(),
            device: Arc::clone(&self.device),
            failed: Arc::clone(&self.failed),
        }
    }

    fn write(&self, pieces: &[IoSlice<'_>]) {
        if self.device.write(pieces).is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes all, and is empty.
    pub(super) fn run(&mut self) {
        let mut begin = 0;
        for end in &self.ends {
            self.write(&[IoSlice::new(&self.bytes[begin..*end])]);
            begin = *end;
        }
        self.bytes.clear();
        self.ends.clear();
    }
}
