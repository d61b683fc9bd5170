//! Takes connections of UEs on their way: nftables rules, and a route that delivers here.
//!
//! All that is made carries the listener's port in its name, which is unique in a network
//! namespace: instances do not disturb each other, and what a dead one left is recognised by a port
//! at which the lock is released.

mod forward;
mod rules;

use crate::config::{Config, Control, Transparent};
use crate::error::PepError;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::{Command, Stdio};

/// First part of the names of our tables.
const TABLE_PREFIX: &str = "brimful_";
/// Marks and routing tables are this and the port.
const MARK_BASE: u32 = 0x4252_0000;

/// The mark of what a frozen connection would send: no listener has port 0.
pub(crate) const FROZEN_MARK: u32 = MARK_BASE;

/// What an instance's parts are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// The nftables table.
    table: String,
    /// Packet mark and number of the routing table.
    mark: u32,
    port: u16,
}

impl Names {
    fn of(port: u16) -> Self {
        Self {
            table: format!("{TABLE_PREFIX}{port}"),
            mark: MARK_BASE | u32::from(port),
            port,
        }
    }
}

/// Held as long as an instance lives; the kernel gives it up with the process.
#[derive(Debug)]
pub(crate) struct Lock {
    name: String,
    socket: UnixListener,
}

fn lock_address(name: &str) -> std::io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("brimful-pep/{name}"))
}

impl Lock {
    /// Takes the lock of this name in this network namespace.
    ///
    /// # Errors
    /// `AddrInUse` if another instance holds it.
    fn take(name: &str) -> std::io::Result<Self> {
        let address = lock_address(name)?;
        Ok(Self {
            name: name.to_owned(),
            socket: UnixListener::bind_addr(&address)?,
        })
    }

    /// With its name, for a successor.
    pub(crate) fn named(&self) -> (&str, BorrowedFd<'_>) {
        (self.name.as_str(), self.socket.as_fd())
    }

    fn is_held(name: &str) -> bool {
        lock_address(name).is_ok_and(|address| UnixStream::connect_addr(&address).is_ok())
    }
}

/// The lock of an interface towards UEs. It is not taken if `inherit` gives it: a predecessor's.
///
/// # Errors
/// Another instance serves the interface.
pub(crate) fn claim_interface(
    interface: &str,
    inherit: impl FnMut(&str) -> Option<OwnedFd>,
) -> Result<Lock, PepError> {
    claim_lock(&of_interface(interface), interface, inherit).map(|(lock, _)| lock)
}

fn of_interface(interface: &str) -> String {
    format!("at {interface}")
}

/// A lock, and whether it is a predecessor's.
fn claim_lock(
    name: &str,
    interface: &str,
    mut inherit: impl FnMut(&str) -> Option<OwnedFd>,
) -> Result<(Lock, bool), PepError> {
    if let Some(socket) = inherit(name) {
        let lock = Lock {
            name: name.to_owned(),
            socket: socket.into(),
        };
        return Ok((lock, true));
    }
    let lock = Lock::take(name).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => PepError::Taken {
            what: format!("interface {interface}"),
        },
        _ => PepError::system("the lock of the interface", error),
    })?;
    Ok((lock, false))
}

/// Which openings of connections are taken, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Openings {
    /// SYNs a second of a UE; 0 for no limit.
    syn_rate: u32,
    /// Without UEs' requests for ECN.
    without_ecn: bool,
    /// Connections move to other proxies.
    moves: bool,
}

impl Openings {
    /// As configured. Where a window follows decisions, marks of congestion would not be answered.
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            syn_rate: config.limits.syn_rate_per_ue,
            without_ecn: config.control != Control::Split,
            moves: config.handover.is_some(),
        }
    }
}

/// The interception of one instance. Dropping it leaves all in place; [`Self::remove`] undoes it.
#[derive(Debug)]
pub(crate) struct Interception {
    names: Names,
    has_ipv6: bool,
    /// New connections pass by although the rules are in place.
    is_passing_by: bool,
    ran_interface: String,
    locks: [Lock; 2],
}

impl Interception {
    /// Takes the interface, and clears away what instances left that died.
    /// Those locks are not taken that `inherit` gives by their names: a predecessor's.
    ///
    /// # Errors
    /// Another instance serves the interface.
    pub(crate) fn claim(
        transparent: &Transparent,
        port: u16,
        mut inherit: impl FnMut(&str) -> Option<OwnedFd>,
    ) -> Result<Self, PepError> {
        let interface = &transparent.ran_interface;
        let (of_interface, at_interface) =
            claim_lock(&of_interface(interface), interface, &mut inherit)?;
        let (of_port, at_port) = claim_lock(&port.to_string(), interface, &mut inherit)?;
        let is_successor = at_interface || at_port;
        clear_dead()?;
        if !is_successor {
            destroy_ended(transparent);
        }
        Ok(Self {
            names: Names::of(port),
            has_ipv6: transparent.ue_prefixes.iter().any(|p| p.is_ipv6()),
            is_passing_by: false,
            ran_interface: interface.clone(),
            locks: [of_interface, of_port],
        })
    }

    /// The locks by their names, for a successor.
    pub(crate) fn locks(&self) -> impl Iterator<Item = (&str, BorrowedFd<'_>)> {
        self.locks.iter().map(Lock::named)
    }

    /// Whether the kernel takes the rules; changes nothing.
    ///
    /// # Errors
    /// `nft` is missing or refuses.
    pub(crate) fn check(
        &self,
        transparent: &Transparent,
        wanted: Openings,
    ) -> Result<(), PepError> {
        let script = self.script(transparent, wanted);
        run("nft", &["--check", "-f", "-"], &script).map(|_| ())
    }

    /// Puts rules and routes in place, or new rules in the place of old ones.
    ///
    /// # Errors
    /// `nft` or `ip` is missing or refuses.
    pub(crate) fn install(
        &mut self,
        transparent: &Transparent,
        wanted: Openings,
    ) -> Result<(), PepError> {
        self.has_ipv6 = transparent.ue_prefixes.iter().any(|p| p.is_ipv6());
        for family in self.families() {
            add_route(family, &self.names)?;
        }
        nft(&self.script(transparent, wanted))?;
        for family in self.families() {
            warn_unless_forwarding(family);
        }
        if !transparent.follow_forward_policy {
            warn_of_forward_chains();
        }
        let (ran, wan) = (&transparent.ran_interface, &transparent.wan_interface);
        for (key, interface) in [("ran-interface", ran), ("wan-interface", wan)] {
            if !has_interface(interface) {
                tracing::warn!(
                    key,
                    interface,
                    "there is no such interface: until it comes, nothing is taken"
                );
            }
        }
        Ok(())
    }

    fn script(&self, transparent: &Transparent, wanted: Openings) -> String {
        let taking = rules::Taking {
            syn_rate: wanted.syn_rate,
            passes_by: self.is_passing_by,
            without_ecn: wanted.without_ecn,
            moves: wanted.moves,
        };
        rules::script(&self.names, transparent, taking)
    }

    /// Whether new connections pass by although the rules are in place.
    pub(crate) fn is_passing_by(&self) -> bool {
        self.is_passing_by
    }

    /// Lets new connections pass by, or takes them again.
    ///
    /// # Errors
    /// `nft` refuses: nothing has changed.
    pub(crate) fn pass_by(&mut self, passes_by: bool) -> Result<(), PepError> {
        let (table, ran) = (&self.names.table, &self.ran_interface);
        nft(&rules::passing_by(table, ran, passes_by))?;
        self.is_passing_by = passes_by;
        Ok(())
    }

    /// Packets of these connections that still come are dropped for a while.
    ///
    /// # Errors
    /// `nft` refuses.
    pub(crate) fn note_moved(
        &self,
        ends: &[(std::net::SocketAddr, std::net::SocketAddr)],
    ) -> Result<(), PepError> {
        nft(&rules::moving(&self.names.table, ends)).map(|_| ())
    }

    fn families(&self) -> impl Iterator<Item = &'static str> {
        let has_ipv6 = self.has_ipv6;
        ["-4", "-6"]
            .into_iter()
            .filter(move |f| *f == "-4" || has_ipv6)
    }

    /// Removes all that was installed.
    pub(crate) fn remove(self) {
        remove(&self.names);
    }
}

/// Removes an instance's parts. What is not there is as good as removed.
fn remove(names: &Names) {
    let _ = nft(&format!("delete table inet {}\n", names.table));
    for family in ["-4", "-6"] {
        let mark = names.mark.to_string();
        let rule = ["rule", "del", "fwmark", &mark, "lookup", &mark];
        while ip(family, &rule).is_ok() {}
        let _ = ip(family, &["route", "flush", "table", &mark]);
    }
}

/// Removes what instances left whose lock is released.
fn clear_dead() -> Result<(), PepError> {
    let listed = run("nft", &["list", "tables"], "")?;
    for name in listed.lines().filter_map(|l| l.strip_prefix("table inet ")) {
        if let Some(port) = name.trim().strip_prefix(TABLE_PREFIX)
            && let Ok(port) = port.parse::<u16>()
            && !Lock::is_held(&port.to_string())
        {
            tracing::info!(table = name, "removing what a dead instance left");
            remove(&Names::of(port));
        }
    }
    Ok(())
}

/// Has the kernel destroy the TIME-WAIT sockets of UEs' connections, which an instance that died has left. One
/// side of a connection may have ended in order while data waited for the other; if the reset that the other
/// was sent is lost, the next one comes from where the connection has ended, and a TIME-WAIT here would take it
/// for its own and ignore it (for 60 s). A kernel without CONFIG_INET_DIAG_DESTROY keeps them.
fn destroy_ended(transparent: &Transparent) {
    for prefix in &transparent.ue_prefixes {
        let prefix = prefix.to_string();
        let of_ues = ["src", &prefix, "or", "dst", &prefix];
        let arguments = [&["-tnHK", "state", "time-wait"][..], &of_ues].concat();
        if let Err(error) = run("ss", &arguments, "") {
            tracing::debug!(prefix, %error, "TIME-WAIT sockets stay");
        }
    }
}

/// Packets with the mark are delivered here, whatever their address.
fn add_route(family: &str, names: &Names) -> Result<(), PepError> {
    let mark = names.mark.to_string();
    let listed = ip(family, &["rule", "list", "fwmark", &mark, "lookup", &mark])?;
    if listed.trim().is_empty() {
        ip(family, &["rule", "add", "fwmark", &mark, "lookup", &mark])?;
    }
    let route = [
        "route", "replace", "local", "default", "dev", "lo", "table", &mark,
    ];
    ip(family, &route)?;
    Ok(())
}

/// Without forwarding, connections do not pass when the proxy does not run.
fn warn_unless_forwarding(family: &str) {
    let key = if family == "-6" {
        "/proc/sys/net/ipv6/conf/all/forwarding"
    } else {
        "/proc/sys/net/ipv4/ip_forward"
    };
    if std::fs::read_to_string(key).is_ok_and(|text| text.trim() == "0") {
        tracing::warn!(
            key,
            "forwarding is off: without the proxy UEs would reach nothing"
        );
    }
}

/// Packets of connections through the proxy are not forwarded, but received and sent.
fn warn_of_forward_chains() {
    let listed = run("nft", &["--stateless", "--terse", "list", "ruleset"], "");
    for chain in forward::chains(&listed.unwrap_or_default(), TABLE_PREFIX) {
        tracing::warn!(
            chain = chain.name,
            rules = chain.rules,
            policy = if chain.drops { "drop" } else { "accept" },
            "connections through the proxy bypass this forward chain: set follow-forward-policy, or \
             filter packets with onward-mark at the output hook"
        );
    }
    let of_iptables = std::fs::read_to_string("/proc/net/ip_tables_names").unwrap_or_default();
    let of_ip6tables = std::fs::read_to_string("/proc/net/ip6_tables_names").unwrap_or_default();
    if [of_iptables, of_ip6tables]
        .iter()
        .any(|names| names.lines().any(|name| name == "filter"))
    {
        tracing::warn!(
            "connections through the proxy bypass the chain FORWARD of iptables-legacy, which nft does \
             not list: set follow-forward-policy, or filter packets with onward-mark at the output hook"
        );
    }
}

/// Whether this network namespace has it; so, too, where that cannot be known.
fn has_interface(name: &str) -> bool {
    use rustix::net::{AddressFamily, SocketType, netdevice, socket};
    socket(AddressFamily::INET, SocketType::DGRAM, None).map_or(true, |any| {
        netdevice::name_to_index(&any, name) != Err(rustix::io::Errno::NODEV)
    })
}

/// The interface by which packets of this mark leave for an address, if there is one and `ip` can be run.
pub(crate) fn route_device(to: std::net::IpAddr, mark: u32) -> Option<String> {
    let (family, to) = (if to.is_ipv4() { "-4" } else { "-6" }, to.to_string());
    let route = ip(
        family,
        &["-o", "route", "get", &to, "mark", &mark.to_string()],
    )
    .ok()?;
    let mut words = route.split_whitespace().skip_while(|word| *word != "dev");
    words.nth(1).map(str::to_owned)
}

fn ip(family: &str, arguments: &[&str]) -> Result<String, PepError> {
    let all: Vec<&str> = [family].iter().chain(arguments).copied().collect();
    run("ip", &all, "")
}

fn nft(script: &str) -> Result<String, PepError> {
    run("nft", &["-f", "-"], script)
}

/// Runs a program with a text on its stdin. Gives what it wrote to stdout.
fn run(program: &str, arguments: &[&str], input: &str) -> Result<String, PepError> {
    let failed = |message: String, hint| PepError::Program {
        program: format!("{program} {}", arguments.join(" ")),
        message,
        hint,
    };
    const INSTALL: &str = "transparent mode needs nftables and iproute2 installed";
    const RIGHTS: &str = "transparent mode needs CAP_NET_ADMIN and a kernel with nft_tproxy";
    let mut child = Command::new(program)
        .args(arguments)
        // where system programs are, also for daemons that are started without a path
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string(), INSTALL))?;
    if let Some(mut stdin) = child.stdin.take() {
        // a program that has ended early prints the reason on stderr
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child
        .wait_with_output()
        .map_err(|error| failed(error.to_string(), INSTALL))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(failed(message.trim().to_owned(), RIGHTS));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_missing_is_known() {
        assert!(has_interface("lo"));
        assert!(!has_interface("nowhere0"));
    }
}
