//! System calls that a proxy never makes, refused by the kernel (seccomp).
//!
//! A list of what is refused, not of what is allowed: what the C library and the kernel's interfaces for BPF
//! need changes with their versions, and a call that is missing in a list of allowed ones ends connections.
//! Refused is what takes over other processes, the kernel, mounts, namespaces, keys or the clock, and io_uring,
//! whose requests no filter sees. The units of the packages allow less ([`SystemCallFilter`]).
//!
//! [`SystemCallFilter`]: https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html

use crate::error::PepError;
use libc::{
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER,
    CLONE_NEWUTS, c_long,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;

/// Refused with EPERM, whatever their arguments.
const REFUSED: &[c_long] = &[
    // other processes
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // the kernel
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    // mounts, and files by handle
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_by_handle_at,
    // namespaces
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // keys
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // the clock
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    // io_uring
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Namespaces that `clone` could make.
const NAMESPACES: [i32; 7] = [
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
];

/// Applies to this thread, and to all threads and programs that it will start.
///
/// # Errors
/// The kernel's.
pub(super) fn restrict() -> Result<(), PepError> {
    let fault = |error: &dyn std::fmt::Display| {
        let error = std::io::Error::other(error.to_string());
        PepError::system("system calls cannot be restricted", error)
    };
    for program in programs().map_err(|error| fault(&error))? {
        seccompiler::apply_filter(&program).map_err(|error| fault(&error))?;
    }
    Ok(())
}

fn programs() -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let refused = REFUSED.iter().map(|call| (*call, Vec::new()));
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = refused.collect();
    let clone = NAMESPACES.iter().map(|flag| {
        let flag = *flag as u64;
        let has_flag = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, has_flag, flag)?;
        SeccompRule::new(vec![condition])
    });
    rules.insert(libc::SYS_clone, clone.collect::<Result<_, _>>()?);
    // its flags are in memory, which no filter sees: as on a kernel without it, `clone` is used
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok([program(rules, libc::EPERM)?, program(clone3, libc::ENOSYS)?])
}

fn program(
    rules: BTreeMap<c_long, Vec<SeccompRule>>,
    errno: i32,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let refused = SeccompAction::Errno(errno as u32);
    let machine = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refused, machine)?.try_into()
}
