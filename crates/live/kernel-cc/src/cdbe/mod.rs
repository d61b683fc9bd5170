//! CDBE in the kernel's own TCP (`bpf/cdbe.bpf.c`): programs at the sockets of a cgroup, and a
//! congestion control.
//!
//! ```text
//!   cgroup ---- client: counts what arrives, writes the report as a TCP option
//!          \--- server: reads it;  congestion control NAME paces by it, or is BBR without it
//! ```
//!
//! What is decided is [`cc::cdbe`]'s, to the bit: the tests feed both with the same events.

mod config;
mod error;
mod words;

#[cfg(test)]
mod differential;
#[cfg(test)]
mod tests;

pub use config::Config;
pub use error::AttachError;

use crate::load::map_of;
use crate::{Loaded, Naming, error_of, is_registered};
use cc::RateReport;
use cc::cdbe::{INITIAL_REPORT, Mode, estimator, server};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cdbe.bpf.o"));

/// Most ports that can be chosen.
pub const MAX_PORTS: usize = 1024;
/// Name of the congestion control unless another is configured.
pub const NAME: &str = "brimful_cdbe";

/// Sections of the programs, and the map of the congestion control.
const ENDPOINT: &str = "sockops";
const ARRIVAL: &str = "cgroup_skb/ingress";
const CONTROL: &str = "cdbe";

/// `statfs`'s number of cgroup2 (linux/magic.h).
const CGROUP2: rustix::fs::FsWord = 0x6367_7270;
/// Where an estimate begins in the program's `struct client`: behind its lock and a flag.
const ESTIMATE_AT: usize = 8;

/// Which ends of connections are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Those that connect measure and report.
    pub client: bool,
    /// Those that are connected to read reports and pace by them.
    pub server: bool,
}

impl Roles {
    /// Clients only.
    pub const CLIENT: Self = Self {
        client: true,
        server: false,
    };
    /// Servers only.
    pub const SERVER: Self = Self {
        client: false,
        server: true,
    };
    /// Both.
    pub const BOTH: Self = Self {
        client: true,
        server: true,
    };

    /// By the name of a configuration: `client`, `server` or `both`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "client" => Some(Self::CLIENT),
            "server" => Some(Self::SERVER),
            "both" => Some(Self::BOTH),
            _ => None,
        }
    }

    fn bits(self) -> u64 {
        u64::from(self.client) | u64::from(self.server) << 1
    }
}

/// What is attached, and where.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Folder of a cgroup of version 2. Sockets that are made in it or below are served.
    pub cgroup: &'a Path,
    /// Which ends.
    pub roles: Roles,
    /// Only services at these ports; none: at all.
    pub ports: &'a [u16],
    /// Only sockets in these network namespaces, by the kernel's cookies (`SO_NETNS_COOKIE`), with the
    /// ends that are served there; none: in all, as in `roles`.
    pub networks: &'a [(u64, Roles)],
    /// Name of the congestion control, 1 to 15 letters, digits, dots and underscores.
    pub name: &'a str,
    /// A server's connection gets the congestion control as soon as its client reports. Otherwise
    /// programs choose it by its name.
    pub chooses: bool,
    /// The server's rules; its segment size is each connection's own.
    pub server: server::Config,
    /// The client's report before it has measured.
    pub initial_report: RateReport,
}

impl<'a> Plan<'a> {
    /// Both ends of all services, by a mode's constants.
    pub fn new(cgroup: &'a Path, mode: Mode) -> Self {
        Self {
            cgroup,
            roles: Roles::BOTH,
            ports: &[],
            networks: &[],
            name: NAME,
            chooses: true,
            server: server::Config::new(mode, 1),
            initial_report: RateReport::new(INITIAL_REPORT),
        }
    }
}

/// What the programs have counted, of all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Clients' connections whose server reads reports.
    pub clients: u64,
    /// Clients' connections whose server does not: they send no option after the SYN.
    pub refused: u64,
    /// Options written.
    pub written: u64,
    /// Reports that found no room beside other options.
    pub unfit: u64,
    /// Servers' connections whose client has reported.
    pub servers: u64,
    /// Options read.
    pub read: u64,
    /// Reports beyond what was delivered lets accept.
    pub bounded: u64,
    /// How often reports stopped and BBR took over.
    pub fallbacks: u64,
}

/// What decides at a server's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The model's state.
    pub state: server::State,
    /// Reports decide, not the fallback.
    pub is_deciding: bool,
}

/// CDBE in the kernel, until this is dropped: then clients write no more options, the congestion control cannot be chosen; the
/// congestion control any more, and connections that have it become BBR's.
#[derive(Debug)]
pub struct Attached {
    name: String,
    counts: MapHandle,
    clients: MapHandle,
    servers: MapHandle,
    _loaded: Loaded,
}

impl Attached {
    /// Loads the programs and attaches them.
    ///
    /// # Errors
    /// What is wrong with the plan, or that the machine cannot do it.
    pub fn attach(plan: &Plan<'_>) -> Result<Self, AttachError> {
        check(plan)?;
        let cgroup = open(plan.cgroup)?;
        if plan.roles.server && is_registered(plan.name) {
            return Err(AttachError::NameInUse {
                name: plan.name.to_owned(),
            });
        }
        let naming = Naming {
            map: CONTROL,
            compiled: NAME,
            name: plan.name,
        };
        let (controls, without): (&[_], &[&str]) = match plan.roles {
            Roles { server: false, .. } => (&[], &[CONTROL, "struct_ops"]),
            Roles { client: false, .. } => (&[naming], &[ARRIVAL]),
            _ => (&[naming], &[]),
        };
        let prepare = |object: &Object| set(object, plan);
        let loaded = Loaded::register_part(PROGRAM, controls, without, prepare);
        let mut loaded = loaded.map_err(AttachError::kernel)?;
        if plan.roles.client {
            let attached = loaded.attach(ARRIVAL, cgroup.as_fd());
            attached.map_err(AttachError::kernel)?;
        }
        let attached = loaded.attach(ENDPOINT, cgroup.as_fd());
        attached.map_err(AttachError::kernel)?;
        let map = |name| loaded.map(name).map_err(AttachError::kernel);
        Ok(Self {
            name: plan.name.to_owned(),
            counts: map("counts")?,
            clients: map("clients")?,
            servers: map("servers")?,
            _loaded: loaded,
        })
    }

    /// The name that sockets choose the congestion control by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What has been counted so far.
    ///
    /// # Errors
    /// The kernel's.
    pub fn counts(&self) -> io::Result<Counts> {
        let count = |index: u32| -> io::Result<u64> {
            let found = self
                .counts
                .lookup_percpu(&index.to_ne_bytes(), MapFlags::ANY);
            let cpus = found.map_err(|e| error_of(&e))?.unwrap_or_default();
            let of_cpu = |bytes: Vec<u8>| words::from_bytes::<1>(&bytes, 0).unwrap_or_default()[0];
            Ok(cpus.into_iter().map(of_cpu).sum())
        };
        Ok(Counts {
            clients: count(0)?,
            refused: count(1)?,
            written: count(2)?,
            unfit: count(3)?,
            servers: count(4)?,
            read: count(5)?,
            bounded: count(6)?,
            fallbacks: count(7)?,
        })
    }

    /// The estimate of a client's socket of this process; none if it has none.
    ///
    /// # Errors
    /// The kernel's.
    pub fn estimate(&self, socket: BorrowedFd<'_>) -> io::Result<Option<estimator::State>> {
        let value = value_of(&self.clients, socket)?;
        let found = value.and_then(|value| words::from_bytes(&value, ESTIMATE_AT));
        Ok(found.as_ref().map(words::estimate))
    }

    /// What decides at a server's socket of this process; none if it is not served.
    ///
    /// # Errors
    /// The kernel's.
    pub fn decision(&self, socket: BorrowedFd<'_>) -> io::Result<Option<Decision>> {
        let Some(value) = value_of(&self.servers, socket)? else {
            return Ok(None);
        };
        // behind the decision: the clock, and 3 words of reports
        let flag = words::from_bytes::<1>(&value, 8 * (words::DECISION + words::CLOCK + 3));
        let state = words::from_bytes(&value, 0).as_ref().map(words::decision);
        Ok(state.zip(flag).map(|(state, [flag])| Decision {
            state,
            is_deciding: flag != 0,
        }))
    }
}

fn value_of(map: &MapHandle, socket: BorrowedFd<'_>) -> io::Result<Option<Vec<u8>>> {
    let key = socket.as_raw_fd().to_ne_bytes();
    map.lookup(&key, MapFlags::ANY).map_err(|e| error_of(&e))
}

/// What can be checked of a plan before it is attached.
///
/// # Errors
/// What is wrong with it.
pub fn check(plan: &Plan<'_>) -> Result<(), AttachError> {
    let is_allowed = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'.';
    let name = plan.name.as_bytes();
    if !(1..=crate::load::MAX_NAME_BYTES).contains(&name.len())
        || !name.iter().all(|&c| is_allowed(c))
    {
        return Err(AttachError::Name {
            name: plan.name.to_owned(),
        });
    }
    if plan.ports.len() > MAX_PORTS {
        return Err(AttachError::Ports {
            count: plan.ports.len(),
        });
    }
    Ok(())
}

fn open(path: &Path) -> Result<File, AttachError> {
    let file = File::open(path).map_err(AttachError::cgroup(path))?;
    let system = rustix::fs::fstatfs(&file);
    let system = system.map_err(|e| AttachError::cgroup(path)(e.into()))?;
    if system.f_type != CGROUP2 {
        return Err(AttachError::NotCgroup2 {
            path: path.to_owned(),
        });
    }
    Ok(file)
}

fn set(object: &Object, plan: &Plan<'_>) -> io::Result<()> {
    let put = |map: &str, key: &[u8], value: &[u8]| {
        let map = map_of(object, map)?;
        map.update(key, value, MapFlags::ANY)
            .map_err(|e| error_of(&e))
    };
    let flags = [
        u64::from(plan.initial_report.bytes_per_second()),
        plan.roles.bits(),
        u64::from(!plan.ports.is_empty()),
        u64::from(!plan.networks.is_empty()),
        u64::from(plan.chooses && plan.roles.server),
    ];
    let mut settings = words::to_bytes(words::rules(&plan.server).into_iter().chain(flags));
    let mut name = plan.name.as_bytes().to_vec();
    name.resize(crate::load::MAX_NAME_BYTES + 1, 0);
    settings.extend(name);
    put("settings", &0u32.to_ne_bytes(), &settings)?;
    for port in plan.ports {
        let one = 1u32.to_ne_bytes();
        put("ports", &u32::from(*port).to_ne_bytes(), &one)?;
    }
    for (cookie, roles) in plan.networks {
        put(
            "networks",
            &cookie.to_ne_bytes(),
            &roles.bits().to_ne_bytes(),
        )?;
    }
    Ok(())
}

/// The folder where cgroups of version 2 are mounted.
///
/// # Errors
/// If they are not.
pub fn root_cgroup() -> io::Result<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts")?;
    let mut mounts = mounts.lines().map(|line| line.split_whitespace());
    let mounted = mounts.find_map(|mut fields| {
        let place = fields.nth(1)?;
        (fields.next() == Some("cgroup2")).then(|| PathBuf::from(place))
    });
    let none = || io::Error::new(io::ErrorKind::NotFound, "no cgroup of version 2 is mounted");
    mounted.ok_or_else(none)
}

/// The folder of this process's cgroup of version 2.
///
/// # Errors
/// If none is mounted.
pub fn own_cgroup() -> io::Result<PathBuf> {
    let mounted = root_cgroup()?;
    let own = std::fs::read_to_string("/proc/self/cgroup")?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"));
    Ok(mounted.join(own.unwrap_or("/").trim_start_matches('/')))
}
