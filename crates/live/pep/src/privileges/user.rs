//! The user that the proxy runs as once everything is set up.

use crate::error::PepError;
use nix::unistd::{Gid, Uid, initgroups, setresgid, setresuid};
use std::ffi::CString;
use std::io;
use std::path::Path;

/// A user of this machine.
#[derive(Clone, Debug)]
pub(crate) struct User {
    name: String,
    uid: Uid,
    gid: Gid,
}

impl User {
    /// The user of this name or number; `config` is the file that names it.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn find(name: &str, config: &Path) -> Result<Self, PepError> {
        let found = match name.parse() {
            Ok(number) => nix::unistd::User::from_uid(Uid::from_raw(number)),
            Err(_) => nix::unistd::User::from_name(name),
        };
        let found = found.map_err(|error| PepError::system("users cannot be read", error))?;
        let Some(found) = found else {
            return Err(PepError::NoUser {
                config: config.to_owned(),
                user: name.to_owned(),
            });
        };
        Ok(Self {
            name: found.name,
            uid: found.uid,
            gid: found.gid,
        })
    }

    /// Gives them a file or a folder.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn own(&self, path: &Path) -> io::Result<()> {
        std::os::unix::fs::chown(path, Some(self.uid.as_raw()), Some(self.gid.as_raw()))
    }

    /// The process runs as this user from now on, with their groups. A process that does already stays as
    /// it is.
    ///
    /// # Errors
    /// The system's; only root may.
    pub(super) fn become_them(&self) -> io::Result<()> {
        if Uid::current() == self.uid && Uid::effective() == self.uid {
            return Ok(());
        }
        let name = CString::new(self.name.as_str())?;
        initgroups(&name, self.gid)?;
        setresgid(self.gid, self.gid, self.gid)?;
        setresuid(self.uid, self.uid, self.uid)?;
        Ok(())
    }
}
