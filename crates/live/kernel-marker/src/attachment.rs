//! How the program is attached.

use crate::claim::Claim;
use crate::interface::Interface;
use crate::{MarkerError, Settings, claim};
use kernel_cc::{attach_to_egress, error_of};
use libbpf_rs::{TC_EGRESS, TcHook, TcHookBuilder};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// How a marker is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By a link (tcx, Linux 6.6): the kernel takes it away with the process, however that ends.
    Tcx,
    /// As a filter of the clsact qdisc: it outlives a process that is killed, and forwards all as soon as the last order
    /// is no longer valid. The next marker at the interface replaces it.
    Clsact,
    /// Not yet: the predecessor of an upgrade marks there ([`Settings::takes_over`]).
    Waiting,
}

impl Way {
    /// Its name in status and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcx => "tcx",
            Self::Clsact => "clsact",
            Self::Waiting => "waiting",
        }
    }
}

/// Place of the filter among those of clsact.
const PRIORITY: u32 = 0xb41f;
const HANDLE: u32 = 0x6272_6d6b;
/// The kernel's answers if it does not know tcx.
const NO_TCX: [Errno; 2] = [Errno::INVAL, Errno::OPNOTSUPP];

/// The program at an interface, until this is dropped.
pub(crate) struct Attachment {
    interface: Interface,
    program: OwnedFd,
    link: Option<OwnedFd>,
    // given up last
    _claim: Claim,
}

impl Attachment {
    /// None if another instance is there and this one is to take over from it.
    ///
    /// # Errors
    /// Another instance, or the kernel's.
    pub(crate) fn new(
        interface: &Interface,
        settings: &Settings,
        program: impl AsFd,
        ways: &[Way],
    ) -> Result<Option<Self>, MarkerError> {
        let taken = Claim::take(interface.index);
        let taken = taken.map_err(MarkerError::kernel("a socket's name"))?;
        let Some(claim) = taken else {
            if settings.takes_over {
                return Ok(None);
            }
            return Err(MarkerError::InUse {
                interface: interface.name.clone(),
                by: claim::holder(interface.index),
            });
        };
        let program = program.as_fd().try_clone_to_owned();
        let program = program.map_err(MarkerError::kernel("a descriptor"))?;
        let mut attachment = Self {
            interface: interface.clone(),
            program,
            link: None,
            _claim: claim,
        };
        if ways.contains(&Way::Tcx) {
            match attach_to_egress(&attachment.program, interface.index) {
                Ok(link) => {
                    attachment.link = Some(link);
                    return Ok(Some(attachment));
                }
                Err(error)
                    if ways.contains(&Way::Clsact)
                        && Errno::from_io_error(&error).is_some_and(|n| NO_TCX.contains(&n)) =>
                {
                    tracing::info!(%error, "no tcx, which needs Linux 6.6: clsact");
                }
                Err(error) => return Err(MarkerError::kernel("a link (tcx)")(error)),
            }
        }
        let attached = attachment.attach_filter();
        attached.map_err(MarkerError::kernel("a filter of clsact"))?;
        Ok(Some(attachment))
    }

    pub(crate) fn way(&self) -> Way {
        match self.link {
            Some(_) => Way::Tcx,
            None => Way::Clsact,
        }
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    fn filter(&self) -> TcHook {
        TcHookBuilder::new(self.program.as_fd())
            .ifindex(self.interface.index.cast_signed())
            .priority(PRIORITY)
            .handle(HANDLE)
            // what is there is of an instance that was killed
            .replace(true)
            .hook(TC_EGRESS)
    }

    fn attach_filter(&self) -> io::Result<()> {
        let mut filter = self.filter();
        filter.create().map_err(|e| error_of(&e))?;
        filter.attach().map_err(|e| error_of(&e))?;
        Ok(())
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if self.link.is_some() {
            return;
        }
        // the interface may have gone, and the filter with it
        if let Err(error) = self.filter().detach() {
            tracing::debug!(%error, interface = self.interface.name, "the filter could not be detached");
        }
    }
}
