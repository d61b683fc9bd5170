//! Listening Unix stream sockets, and the files that name them.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The reason why a socket cannot be listened at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another process does.
    #[error("{path}: another process listens there", path = .0.display())]
    InUse(PathBuf),
    /// A folder above it is not there, and cannot be made.
    #[error("{folder}: cannot be made: {error}", folder = .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Anything else.
    #[error("{path}: {error}", path = .path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// As a system call would fail, without the path.
impl From<BindError> for io::Error {
    fn from(error: BindError) -> Self {
        match error {
            BindError::InUse(_) => io::ErrorKind::AddrInUse.into(),
            BindError::Folder { error, .. } | BindError::Socket { error, .. } => error,
        }
    }
}

/// Listens at a path, with these permissions whatever the umask; folders above it are made. The file of a socket
/// at which no process listens any more is replaced; any other file stays.
///
/// # Errors
/// [`BindError`].
pub fn bind(path: &Path, mode: u32) -> Result<UnixListener, BindError> {
    let system = |error: io::Error| BindError::Socket {
        path: path.to_owned(),
        error,
    };
    if std::fs::symlink_metadata(path).is_ok_and(|of| of.file_type().is_socket()) {
        if is_listened_at(path) {
            return Err(BindError::InUse(path.to_owned()));
        }
        std::fs::remove_file(path).map_err(system)?;
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| BindError::Folder {
            folder: folder.to_owned(),
            error,
        })?;
    }
    let listener = UnixListener::bind(path).map_err(system)?;
    std::fs::set_permissions(path, Permissions::from_mode(mode)).map_err(system)?;
    Ok(listener)
}

/// Whether a process listens there: one whose queue is full does too.
fn is_listened_at(path: &Path) -> bool {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let attempt = || {
        let socket: OwnedFd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)
    };
    matches!(attempt(), Ok(()) | Err(Errno::AGAIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_file_of_a_process_that_is_gone_is_replaced_and_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("made/sock");
        let first = bind(&path, 0o600).expect("folders are made");
        let mode = std::fs::metadata(&path)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let error = bind(&path, 0o600).expect_err("the first listens");
        assert!(matches!(error, BindError::InUse(_)), "{error}");
        assert!(error.to_string().ends_with("another process listens there"));
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::AddrInUse);
        drop(first);
        let second = bind(&path, 0o660).expect("the first is gone");
        UnixStream::connect(&path).expect("it listens");
        drop(second);

        let file = folder.path().join("file");
        std::fs::write(&file, "kept").expect("written");
        assert!(bind(&file, 0o600).is_err());
        assert_eq!(std::fs::read(&file).expect("kept"), b"kept");
        let below = bind(&file.join("a/sock"), 0o600).expect_err("below a file");
        assert!(matches!(below, BindError::Folder { .. }), "{below}");
    }

    #[test]
    fn a_process_whose_queue_is_full_listens_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sock");
        let listener = bind(&path, 0o600).expect("a socket");
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let address = SocketAddrUnix::new(&path).expect("an address");
        let mut waiting = Vec::new();
        let ended = loop {
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
            let socket = socket.expect("a socket");
            match connect(&socket, &address) {
                Ok(()) => waiting.push(socket),
                Err(error) => break error,
            }
        };
        assert_eq!(ended, Errno::AGAIN);
        assert!(is_listened_at(&path));
        drop((listener, waiting));
        assert!(!is_listened_at(&path));
    }
}
