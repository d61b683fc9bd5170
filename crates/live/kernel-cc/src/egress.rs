//! A program that runs for what leaves an interface: by a link, or as a filter.

use crate::error_of;
use crate::sys::attach_to_egress;
use libbpf_rs::{TC_EGRESS, TcHook, TcHookBuilder};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The kernel's answers if it does not know tcx.
const NO_TCX: [Errno; 2] = [Errno::INVAL, Errno::OPNOTSUPP];

/// Whether an error of [`Egress::by_link`] states that this kernel has no tcx, rather than that it refuses this program or
/// interface.
pub fn is_without_tcx(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| NO_TCX.contains(&errno))
}

/// Place of a filter among those of clsact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Those of lower ones are asked first.
    pub priority: u32,
    /// Its number among those of the priority.
    pub handle: u32,
}

/// The program at an interface, until this is dropped.
#[derive(Debug)]
pub struct Egress {
    program: OwnedFd,
    interface: u32,
    by: By,
}

#[derive(Debug)]
enum By {
    Link { _link: OwnedFd },
    Filter(Place),
}

impl Egress {
    /// By a link (tcx, Linux 6.6), which the kernel takes away with the process, however that ends.
    ///
    /// # Errors
    /// The kernel's.
    pub fn by_link(program: impl AsFd, interface: u32) -> io::Result<Self> {
        let program = program.as_fd().try_clone_to_owned()?;
        let link = attach_to_egress(&program, interface)?;
        Ok(Self {
            program,
            interface,
            by: By::Link { _link: link },
        })
    }

    /// As a filter of the clsact qdisc, which is made if there is none. It outlives a process that is killed; the next one
    /// in its place replaces it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn by_filter(program: impl AsFd, interface: u32, place: Place) -> io::Result<Self> {
        let egress = Self {
            program: program.as_fd().try_clone_to_owned()?,
            interface,
            by: By::Filter(place),
        };
        let mut filter = egress.filter(place);
        filter.create().map_err(|e| error_of(&e))?;
        filter.attach().map_err(|e| error_of(&e))?;
        Ok(egress)
    }

    /// Whether it is there by a link.
    pub fn has_link(&self) -> bool {
        matches!(self.by, By::Link { .. })
    }

    fn filter(&self, place: Place) -> TcHook {
        TcHookBuilder::new(self.program.as_fd())
            .ifindex(self.interface.cast_signed())
            .priority(place.priority)
            .handle(place.handle)
            // what is there is of a process that was killed
            .replace(true)
            .hook(TC_EGRESS)
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        let By::Filter(place) = self.by else {
            return;
        };
        // the interface may have gone, and the filter with it
        if let Err(error) = self.filter(place).detach() {
            tracing::debug!(%error, interface = self.interface, "the filter could not be detached");
        }
    }
}
