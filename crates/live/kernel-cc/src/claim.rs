//! What one process at a time may have: the name of a socket that the kernel gives to one, and takes back as that ends,
//! however it does. Such names are those of the network namespace, as indices of interfaces are.

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::io;
use std::os::fd::OwnedFd;

/// A name that is held as long as this lives.
#[derive(Debug)]
pub struct Claim {
    _socket: OwnedFd,
}

impl Claim {
    /// None if another process has the name.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take(name: &str) -> io::Result<Option<Self>> {
        let socket = stream()?;
        match bind(&socket, &address(name)?) {
            Ok(()) => {}
            Err(Errno::ADDRINUSE) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // so that others can find out whose it is
        listen(&socket, 8)?;
        Ok(Some(Self { _socket: socket }))
    }

    /// A connection to who has it, whose peer credentials are of that process.
    ///
    /// # Errors
    /// The kernel's: most often that nobody has it.
    pub fn connect(name: &str) -> io::Result<OwnedFd> {
        let socket = stream()?;
        connect(&socket, &address(name)?)?;
        Ok(socket)
    }
}

fn stream() -> io::Result<OwnedFd> {
    // a queue that is full must not block
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        flags,
        None,
    )?)
}

fn address(name: &str) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(name.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_had_once_until_it_is_given_up() {
        let name = format!("brimful-test/{}", std::process::id());
        assert!(Claim::connect(&name).is_err());
        let claim = Claim::take(&name).expect("possible").expect("free");
        assert!(Claim::take(&name).expect("possible").is_none());
        Claim::connect(&name).expect("it is had");
        drop(claim);
        assert!(Claim::take(&name).expect("possible").is_some());
    }
}
