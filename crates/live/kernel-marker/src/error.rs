//! What can be wrong with the marker in the kernel.

use std::io;

/// Why packets cannot be marked in the kernel, or an order could not be given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarkerError {
    /// There is no such interface.
    #[error("interface {interface}: there is none of this name (`ip link` lists them)")]
    NoInterface {
        /// What was requested.
        interface: String,
    },
    /// Its packets cannot be taken apart.
    #[error(
        "interface {interface}: its packets begin with a header of type {kind} (ARPHRD), which is neither Ethernet nor \
         none; name an Ethernet or TUN interface"
    )]
    Link {
        /// What was requested.
        interface: String,
        /// Its type by `/sys/class/net/NAME/type`.
        kind: u32,
    },
    /// Another instance marks there.
    #[error(
        "interface {interface}: packets there are marked by another instance already ({by}); end it first"
    )]
    InUse {
        /// What was requested.
        interface: String,
        /// Which process, as far as it can be found out.
        by: String,
    },
    /// Another instance takes packets there.
    #[error(
        "interface {interface}: packets there are taken by another instance already ({by}); end it first"
    )]
    Taken {
        /// What was requested.
        interface: String,
        /// Which process, as far as it can be found out.
        by: String,
    },
    /// A setting is out of range.
    #[error("{count} UEs: the marker takes 1 to 1,000,000")]
    MaxUes {
        /// What was requested.
        count: u32,
    },
    /// There is no room for another UE.
    #[error(
        "UE {ue}: {max_ues} UEs have orders already, no more are marked (unsplit-max-ues); {left_out} of these orders \
         have been left out"
    )]
    Full {
        /// The first that was left out.
        ue: std::net::IpAddr,
        /// What was configured.
        max_ues: u32,
        /// How many were.
        left_out: usize,
    },
    /// The rights are missing.
    #[error(
        "a program where packets leave an interface needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"
    )]
    NotPermitted,
    /// The kernel cannot do it.
    #[error(
        "the kernel refused {what}: {source}. The program needs Linux 6.6 (tcx), or 6.1 with clsact (CONFIG_NET_CLS_BPF), and BPF_JIT; this is {release}"
    )]
    Kernel {
        /// What it refused.
        what: &'static str,
        /// Its error.
        source: io::Error,
        /// Its version.
        release: String,
    },
}

impl MarkerError {
    /// Whether what was requested is wrong, rather than the machine.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::NoInterface { .. }
                | Self::Link { .. }
                | Self::InUse { .. }
                | Self::Taken { .. }
                | Self::MaxUes { .. }
        )
    }

    pub(crate) fn kernel(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            // the verifier too has an error of permission denied
            let is_root = rustix::process::geteuid().is_root();
            if source.kind() == io::ErrorKind::PermissionDenied && !is_root {
                return Self::NotPermitted;
            }
            let release = rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned();
            Self::Kernel {
                what,
                source,
                release,
            }
        }
    }
}
