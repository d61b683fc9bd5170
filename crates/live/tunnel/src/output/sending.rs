//! Datagrams that leave by a socket.

use crate::batch::Batch;
use crate::udp::{Outgoing, UdpSocket};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a batch goes, and who learns what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Sending {
    pub(crate) socket: Arc<UdpSocket>,
    /// To whom; none: to the one that the socket is connected to.
    pub(crate) to: Option<SocketAddr>,
    /// From which address; none: from that of the socket.
    pub(crate) from: Option<IpAddr>,
    pub(crate) outcome: Arc<Outcome>,
}

/// What the kernel has refused of a link's packets, by whatever thread they were sent.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    refused: AtomicU64,
    is_too_big: AtomicBool,
    has_fault: AtomicBool,
    /// The last error, until it is taken.
    fault: Mutex<Option<io::Error>>,
}

impl Outcome {
    /// Packets were not sent. True if the link has to be looked at.
    pub(crate) fn note(&self, error: io::Error, packets: usize) -> bool {
        self.refused.fetch_add(packets as u64, Ordering::Relaxed);
        match error.raw_os_error() {
            Some(libc::EMSGSIZE) => self.is_too_big.store(true, Ordering::Release),
            // a full queue: as lost as in any other queue
            Some(libc::EAGAIN | libc::ENOBUFS) => return false,
            _ => {
                *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                self.has_fault.store(true, Ordering::Release);
            }
        }
        true
    }

    /// Packets that the kernel did not take.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// True if a packet was larger than the way takes, since this was last called.
    pub(crate) fn take_too_big(&self) -> bool {
        self.is_too_big.load(Ordering::Acquire) && self.is_too_big.swap(false, Ordering::AcqRel)
    }

    /// The last error since this was last called, but for packets that were too large or that a full queue refused.
    pub(crate) fn take_fault(&self) -> Option<io::Error> {
        if !self.has_fault.load(Ordering::Acquire) {
            return None;
        }
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_fault.store(false, Ordering::Release);
        fault.take()
    }
}

impl Sending {
    /// Sends what is in the batch, which is finished. True if the link has to be looked at.
    pub(super) fn run(&self, batch: &Batch) -> bool {
        match self.send(batch) {
            Ok(()) => false,
            Err(error) => self.outcome.note(error, batch.len()),
        }
    }

    fn send(&self, batch: &Batch) -> io::Result<()> {
        let socket = &self.socket;
        let out = |pieces: &[IoSlice<'_>], segment| {
            socket
                .send(&Outgoing {
                    to: self.to,
                    from: self.from,
                    pieces,
                    segment,
                    ecn: batch.ecn().bits(),
                })
                .map(drop)
        };
        let segment = batch.segment();
        let mut may_not_cut = false;
        if segment.is_none() || socket.cuts() {
            let mut result = batch.with_pieces(|pieces| out(pieces, segment));
            if is_too_big(&result) {
                // what a router has reported of a packet before is the error of the next call, which sends nothing
                result = batch.with_pieces(|pieces| out(pieces, segment));
            }
            may_not_cut = segment.is_some()
                && matches!(&result, Err(error)
                    if matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL)));
            if !may_not_cut {
                return result;
            }
        }
        let mut result = Ok(());
        batch.each(|header, data| {
            let sent = out(&[IoSlice::new(header), IoSlice::new(data)], None);
            if sent.is_err() {
                result = sent;
            }
        });
        // a device or a kernel that cannot cut datagrams; pieces beyond the path's MTU are not cut either
        if may_not_cut && !is_too_big(&result) {
            socket.stop_cutting();
        }
        result
    }
}

fn is_too_big<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE))
}
