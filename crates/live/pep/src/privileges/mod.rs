//! Gives up what is not needed any more once everything is set up.
//!
//! ```text
//!   no new privileges -> bounding set -> user and groups -> capabilities -> system calls
//! ```
//! All of it is inherited by the threads and programs (`nft`, `ip`) that are started afterwards; nothing of it
//! can be undone.

mod calls;
mod user;

pub(crate) use user::User;

use crate::config::Interception;
use crate::error::PepError;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs,
};

/// What the transparent mode needs as long as it runs: sockets with others' addresses and their
/// congestion control, rules and routes at the end (`NET_ADMIN`), clients' ports below 1024
/// (`NET_BIND_SERVICE`), pipes of full size for more connections than a user may have them for
/// (`SYS_RESOURCE`).
const TRANSPARENT: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_RESOURCE);
/// What the explicit mode needs: nothing but, where it has them, congestion control and pipes.
const EXPLICIT: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::SYS_RESOURCE);
/// What marking alone needs: to attach the program to an interface that comes back, or where a predecessor has been.
const OFF: CapabilitySet = CapabilitySet::NET_ADMIN;

/// Reduces this thread's privileges, and so those of all threads and programs that it will start.
///
/// # Errors
/// The kernel's; a process without the capabilities in the first place loses nothing.
pub(crate) fn reduce(interception: &Interception, user: Option<&User>) -> Result<(), PepError> {
    let before = capabilities(None).map_err(system)?;
    let wanted = match interception {
        Interception::Transparent(_) => TRANSPARENT,
        Interception::Explicit(_) => EXPLICIT,
        Interception::Off { .. } => OFF,
    };
    let kept = before.permitted & wanted;
    set_no_new_privs(true).map_err(system)?;
    if before.effective.contains(CapabilitySet::SETPCAP) {
        for capability in (CapabilitySet::all() - kept).iter() {
            // one that this kernel does not have is not held either
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    if let Some(user) = user {
        // a change of user would take all of them
        set_keep_capabilities(true).map_err(system)?;
        user.become_them().map_err(system)?;
    }
    keep(kept)?;
    calls::restrict()?;
    let uid = rustix::process::geteuid();
    let kept: Vec<&str> = kept.iter_names().map(|(name, _)| name).collect();
    tracing::info!(
        kept = kept.join(","),
        uid = uid.as_raw(),
        "privileges reduced"
    );
    if uid.is_root() {
        tracing::warn!(
            "runs as root, whose files it can change: set the key \"user\" in the configuration"
        );
    }
    Ok(())
}

/// These capabilities and no others.
fn keep(kept: CapabilitySet) -> Result<(), PepError> {
    clear_ambient_capability_set().map_err(system)?;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: kept,
    };
    set_capabilities(None, sets).map_err(system)?;
    // `nft` and `ip` are started at the end and on a reload, and need them then
    for capability in kept.iter() {
        configure_capability_in_ambient_set(capability, true).map_err(system)?;
    }
    Ok(())
}

fn system(error: impl Into<std::io::Error>) -> PepError {
    PepError::system("privileges cannot be given up", error)
}
