//! How the program is attached.

use crate::interface::Interface;
use crate::{MarkerError, claim};
use kernel_cc::{Claim, Egress, Place, is_without_tcx};
use std::os::fd::AsFd;

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

/// Which of the programs is attached: each is once at an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    /// What its claims' names begin with.
    pub(crate) claim: &'static str,
    /// Of its filter among those of clsact.
    pub(crate) place: Place,
}

impl Role {
    /// What marks.
    pub(crate) const MARKER: Self = Self {
        claim: "brimful-marker",
        place: Place {
            priority: 0xb41f,
            handle: 0x6272_6d6b,
        },
    };
    /// What hands all over.
    pub(crate) const DIVERSION: Self = Self {
        claim: "brimful-diversion",
        place: Place {
            priority: 0xb420,
            handle: 0x6272_6476,
        },
    };
}

/// The program at an interface, until this is dropped.
#[derive(Debug)]
pub(crate) struct Attachment {
    interface: Interface,
    egress: Egress,
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
        role: Role,
        takes_over: bool,
        program: impl AsFd,
        ways: &[Way],
    ) -> Result<Option<Self>, MarkerError> {
        let taken = claim::take(role, interface.index);
        let taken = taken.map_err(MarkerError::kernel("a socket's name"))?;
        let Some(claim) = taken else {
            if takes_over {
                return Ok(None);
            }
            return Err(MarkerError::InUse {
                interface: interface.name.clone(),
                by: claim::holder(role, interface.index),
            });
        };
        Ok(Some(Self {
            interface: interface.clone(),
            egress: attach(interface, role, program, ways)?,
            _claim: claim,
        }))
    }

    pub(crate) fn way(&self) -> Way {
        match self.egress.has_link() {
            true => Way::Tcx,
            false => Way::Clsact,
        }
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }
}

fn attach(
    interface: &Interface,
    role: Role,
    program: impl AsFd,
    ways: &[Way],
) -> Result<Egress, MarkerError> {
    if ways.contains(&Way::Tcx) {
        match Egress::by_link(&program, interface.index) {
            Err(error) if ways.contains(&Way::Clsact) && is_without_tcx(&error) => {
                tracing::info!(%error, "no tcx, which needs Linux 6.6: clsact");
            }
            attached => return attached.map_err(MarkerError::kernel("a link (tcx)")),
        }
    }
    let attached = Egress::by_filter(program, interface.index, role.place);
    attached.map_err(MarkerError::kernel("a filter of clsact"))
}
