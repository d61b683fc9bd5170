//! Files that are sent, with bounded descriptors.
//!
//! A client can put off the end of a download for as long as its connection lasts, and of a hundred at once. So only
//! [`KEPT`] files of all connections stay open while they are sent. Any further one is opened for each piece that is
//! read of it, and closed again.

use super::is_below;
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

/// Files of all connections that stay open while they are sent.
pub(super) const KEPT: usize = 256;

/// The files that stay open.
#[derive(Debug)]
pub(super) struct OpenFiles(Arc<Semaphore>);

/// Why a file cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is none of the name that may be read.
    NotFound,
    /// The process or the system has no descriptor left.
    Exhausted,
}

/// A file that is being sent.
pub(super) struct SentFile {
    path: PathBuf,
    identity: Identity,
    /// None: opened for each piece.
    kept: Option<(Arc<File>, OwnedSemaphorePermit)>,
}

/// What a file is, whatever its path names meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::MFILE | Errno::NFILE) => Self::Exhausted,
            _ => Self::NotFound,
        }
    }
}

impl OpenFiles {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(KEPT)))
    }

    /// A plain file that is below the folder when all links are followed, and its length in bytes.
    pub(super) async fn open(
        &self,
        root: PathBuf,
        path: PathBuf,
    ) -> Result<(SentFile, u64), Refusal> {
        let permit = Arc::clone(&self.0).try_acquire_owned().ok();
        let opened = spawn_blocking(move || {
            // resolving the path opens nothing
            if !is_below(&path, &root) {
                return Err(Refusal::NotFound);
            }
            let file = File::open(&path)?;
            let found = file.metadata()?;
            if !found.is_file() {
                return Err(Refusal::NotFound);
            }
            let sent = SentFile {
                path,
                identity: Identity::of(&found),
                kept: permit.map(|permit| (Arc::new(file), permit)),
            };
            Ok((sent, found.len()))
        });
        opened.await.unwrap_or(Err(Refusal::NotFound))
    }
}

impl SentFile {
    /// So many bytes, from this place on.
    ///
    /// # Errors
    /// The file cannot be read, has become shorter, or is no longer what its path names and did not stay open.
    pub(super) async fn read(&self, offset: u64, size: usize) -> io::Result<Vec<u8>> {
        let kept = self.kept.as_ref().map(|(file, _)| Arc::clone(file));
        let (path, identity) = (self.path.clone(), self.identity);
        let read = spawn_blocking(move || {
            let file = match kept {
                Some(file) => file,
                None => {
                    let file = File::open(path)?;
                    if Identity::of(&file.metadata()?) != identity {
                        return Err(io::Error::other("replaced while it is sent"));
                    }
                    Arc::new(file)
                }
            };
            let mut piece = vec![0; size];
            file.read_exact_at(&mut piece, offset)?;
            Ok(piece)
        });
        read.await.map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_beyond_those_that_stay_open_are_read_and_never_another_one() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("file");
        std::fs::write(&path, b"0123456789").expect("written");
        let files = OpenFiles::new();
        let open = async || files.open(root.path().to_owned(), path.clone()).await;
        let mut sent = Vec::new();
        for _ in 0..KEPT + 2 {
            sent.push(open().await.map_err(drop).expect("opened").0);
        }
        assert!(sent[..KEPT].iter().all(|file| file.kept.is_some()));
        assert!(sent[KEPT..].iter().all(|file| file.kept.is_none()));
        for file in [&sent[0], &sent[KEPT]] {
            assert_eq!(file.read(3, 4).await.expect("read"), b"3456");
        }
        // one that is no longer sent gives its place back
        sent.remove(1);
        let (next, length) = open().await.map_err(drop).expect("opened");
        assert!(next.kept.is_some() && length == 10);
        // another file of the same name
        std::fs::write(root.path().join("new"), b"abcdefghij").expect("written");
        std::fs::rename(root.path().join("new"), &path).expect("renamed");
        assert_eq!(sent[0].read(3, 4).await.expect("read"), b"3456");
        sent[KEPT].read(3, 4).await.expect_err("another file");
    }

    #[tokio::test]
    async fn what_is_not_below_the_folder_is_not_found_and_no_descriptor_is_another_reason() {
        let root = tempfile::tempdir().expect("a folder");
        let files = OpenFiles::new();
        for path in [
            "/etc/passwd".into(),
            root.path().join("none"),
            root.path().into(),
        ] {
            let refused = files.open(root.path().to_owned(), path).await;
            assert_eq!(refused.err(), Some(Refusal::NotFound));
        }
        for error in [Errno::MFILE, Errno::NFILE] {
            assert_eq!(Refusal::from(io::Error::from(error)), Refusal::Exhausted);
        }
    }
}
