//! What can be wrong with attaching.

use std::io;
use std::path::{Path, PathBuf};

/// Why CDBE could not be attached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The cgroup cannot be opened.
    #[error(
        "cgroup {}: {source}; name a folder below the mounted cgroup2 (often /sys/fs/cgroup, or \
         /sys/fs/cgroup/unified)",
        path.display()
    )]
    Cgroup {
        /// What was requested.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is a folder of something else.
    #[error(
        "{} is no cgroup of version 2: programs at sockets need one; mount it with `mount -t cgroup2 \
         none DIR`, and name DIR or a folder in it",
        path.display()
    )]
    NotCgroup2 {
        /// What was requested.
        path: PathBuf,
    },
    /// The name cannot be that of a congestion control.
    #[error(
        "congestion control name {name:?}: it has 1 to 15 letters, digits, dots and underscores"
    )]
    Name {
        /// What was requested.
        name: String,
    },
    /// It is registered.
    #[error(
        "this machine has a congestion control {name:?} already: names are one for all network \
         namespaces; give this one another (--name), or end what registered that"
    )]
    NameInUse {
        /// What was requested.
        name: String,
    },
    /// More ports than the program has places.
    #[error("{count} ports: at most {} can be chosen", super::MAX_PORTS)]
    Ports {
        /// How many were requested.
        count: usize,
    },
    /// The rights are missing.
    #[error("attaching programs to sockets needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN")]
    NotPermitted,
    /// The kernel cannot do it.
    #[error(
        "the kernel refused the programs: {source}. It needs Linux 6.1 with BTF, the server's \
         part tcp_bbr too; this is {release}"
    )]
    Kernel {
        /// The kernel's error.
        source: io::Error,
        /// Its version.
        release: String,
    },
}

impl AttachError {
    /// Whether what was requested is wrong, rather than the machine.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Cgroup { .. }
                | Self::NotCgroup2 { .. }
                | Self::Name { .. }
                | Self::NameInUse { .. }
                | Self::Ports { .. }
        )
    }

    pub(super) fn kernel(source: io::Error) -> Self {
        // the verifier too has an error of permission denied
        let is_root = rustix::process::geteuid().is_root();
        if source.kind() == io::ErrorKind::PermissionDenied && !is_root {
            return Self::NotPermitted;
        }
        let release = rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned();
        Self::Kernel { source, release }
    }

    pub(super) fn cgroup(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Cgroup { path, source }
    }
}
