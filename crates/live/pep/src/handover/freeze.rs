//! A socket that sends nothing, and whose kernel still resets it if its process ends.
//!
//! What leaves has a mark by which a rule of the interception drops it, resets excepted ([`crate::intercept`]). What
//! arrives passes a filter of the socket, before the connection sees it: payload is taken, though not acknowledged, so that
//! it can go along late; all else is dropped. Neither takes a program or a transaction: a connection is frozen by two
//! system calls. One that is [deaf](deafen) takes nothing at all.

use crate::intercept::FROZEN_MARK;
use crate::sys;
use socket_options::{set_bytes, set_int};
use std::io;
use std::os::fd::AsFd;

/// `struct sock_filter`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Instruction {
    code: u16,
    jump_if: u8,
    jump_if_not: u8,
    k: u32,
}

const fn instruction(code: u32, jump_if: u8, jump_if_not: u8, k: u32) -> Instruction {
    Instruction {
        code: code as u16,
        jump_if,
        jump_if_not,
        k,
    }
}

/// Drops a segment, or takes all of it.
const DROP: Instruction = instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0);
const TAKE: Instruction = instruction(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX);

/// Drops all.
static NOTHING: [Instruction; 1] = [DROP];

/// Takes segments with payload, but for those that begin, end or reset a connection, or have an urgent byte. A filter of a
/// socket is given segments from the TCP header on (RFC 9293 section 3.1).
static PAYLOAD: [Instruction; 11] = {
    const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
    const FIN_SYN_RST_URG: u32 = 0x27;
    [
        instruction(LOAD_BYTE, 0, 0, 13),
        instruction(
            libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K,
            8,
            0,
            FIN_SYN_RST_URG,
        ),
        // the header's length, bytes
        instruction(LOAD_BYTE, 0, 0, 12),
        instruction(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 0, 0, 2),
        instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, 0x3c),
        instruction(libc::BPF_MISC | libc::BPF_TAX, 0, 0, 0),
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0, 0, 0),
        instruction(libc::BPF_ALU | libc::BPF_SUB | libc::BPF_X, 0, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0, 0),
        TAKE,
        DROP,
    ]
};

/// Has a socket drop all that arrives.
///
/// # Errors
/// The kernel's.
pub(crate) fn deafen(socket: impl AsFd) -> io::Result<()> {
    attach(socket, &NOTHING)
}

fn attach(socket: impl AsFd, filter: &'static [Instruction]) -> io::Result<()> {
    // struct sock_fprog: the number of instructions, and where they are
    let at = filter.as_ptr() as usize;
    let mut program = [0; 2 * size_of::<usize>()];
    program[..2].copy_from_slice(&(filter.len() as u16).to_ne_bytes());
    program[size_of::<usize>()..].copy_from_slice(&at.to_ne_bytes());
    set_bytes(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Ends that.
///
/// # Errors
/// The kernel's.
pub(crate) fn hear(socket: impl AsFd) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0)
}

/// Freezes a socket.
///
/// # Errors
/// The kernel's; it is as it was.
pub(crate) fn freeze(socket: impl AsFd) -> io::Result<()> {
    attach(&socket, &PAYLOAD)?;
    sys::set_mark(&socket, FROZEN_MARK).inspect_err(|_| {
        let _ = hear(&socket);
    })
}

/// Has a socket go on that had this mark.
pub(crate) fn thaw(socket: impl AsFd, mark: u32) {
    // neither fails for a socket that was frozen
    let _ = sys::set_mark(&socket, mark);
    let _ = hear(socket);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use testing::wait_until;

    #[test]
    fn a_frozen_socket_takes_payload_and_no_end_and_a_deaf_one_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("bound");
        let mut near = TcpStream::connect(address).expect("connected");
        let (mut far, _) = listener.accept().expect("connected");
        far.set_nonblocking(true).expect("set");
        let got = |far: &mut TcpStream| {
            let mut byte = [0];
            far.read(&mut byte).map(|n| (n, byte[0]))
        };
        attach(&far, &PAYLOAD).expect("attached");
        near.write_all(b"a").expect("sent");
        wait_until("payload is taken", || {
            rustix::io::ioctl_fionread(&far).expect("a number") == 1
        });
        assert_eq!(got(&mut far).expect("a byte"), (1, b'a'));
        deafen(&far).expect("attached");
        near.write_all(b"b").expect("sent");
        near.shutdown(Shutdown::Write).expect("shut");
        let nothing = got(&mut far).expect_err("nothing is taken");
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        // the byte comes again, by itself or with the end; the end alone does not
        attach(&far, &PAYLOAD).expect("attached");
        hear(&far).expect("detached");
        wait_until("all is sent again", || match got(&mut far) {
            Ok((0, _)) => true,
            Ok((_, byte)) => {
                assert_eq!(byte, b'b');
                false
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                false
            }
        });
    }
}
