//! The multipath tunnel: `brimful tunnel server` at the edge and `client` at the UE's gateway, as
//! operators would run them.

use crate::Error;
use crate::child::Daemon;
use crate::cleanup::Folder;
use crate::fit::kernel_name;
use crate::names::{self, TUNNEL_DEVICE, TUNNEL_EDGE, TUNNEL_GATEWAY};
use crate::namespace::Namespace;
use crate::topology::Hosts;
use multipath::reorder::WaitRule;
use multipath::tunnel::Key;
use scenario::{
    Carrier, Experiment, ReportSpec, TunnelAccess, TunnelPathResult, TunnelResult, TunnelSpec,
};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use units::Bytes;

/// Name of the socket of the tunnel's radio reports, in the lab's folder.
pub(crate) const REPORTS: &str = "tunnel-radio.sock";
/// Port of the tunnel (RFC 6773 section 6).
const PORT: u16 = 6_511;
/// The papers' tunnel does not encrypt; both ends have a secret.
const PLAIN: &str = "encryption = \"none\"\n";

/// Paths of an experiment's tunnel; 0 without.
pub(crate) fn paths(experiment: &Experiment) -> usize {
    experiment
        .tunnel
        .as_ref()
        .map_or(0, |spec| spec.paths.len())
}

/// How radio reports reach the tunnel's end at the edge, as in the simulator; none if it reads none.
pub(crate) fn reports(experiment: &Experiment) -> Option<&ReportSpec> {
    let spec = experiment.tunnel.as_ref().filter(|spec| spec.uses_radio)?;
    let mut flows = experiment.flows.iter();
    Some(match flows.any(|flow| flow.meld.is_some()) {
        true => &experiment.meld.reports,
        false => &spec.reports,
    })
}

/// That the lab can run an experiment's tunnel, given the kernel's congestion controls.
///
/// # Errors
/// What it cannot do.
pub(crate) fn check(experiment: &Experiment, available: &str) -> Result<(), Error> {
    let Some(spec) = &experiment.tunnel else {
        return Ok(());
    };
    let unsupported = |what: String, why: &str| {
        let why = why.to_owned();
        Err(Error::Unsupported { what, why })
    };
    if experiment.ues.len() > 1 {
        let what = format!("a tunnel of {} users", experiment.ues.len());
        return unsupported(what, "the lab has one for one user; take --world sim");
    }
    for path in &spec.paths {
        if !path.events.is_empty() {
            let why = "the lab's paths have no events; take --world sim";
            return unsupported(format!("tunnel.path.{}.events", path.name), why);
        }
        let what = || {
            format!(
                "path {:?} with {} over {}",
                path.name,
                path.cc,
                path.carrier.name()
            )
        };
        let has = |name: &str| path.carrier.controllers().contains(&name);
        let is_known = match path.carrier {
            Carrier::Dccp => has(&path.cc),
            // one that is reported to has no peer here that reports
            Carrier::Stream => {
                let is_reported = cc::find(&path.cc).is_some_and(|of| of.reporter.is_some());
                let name = kernel_name(&path.cc);
                let is_available = available.split_whitespace().any(|known| known == name);
                !is_reported && is_available && has(name)
            }
        };
        if !is_known {
            let why = "this machine's kernel has no such congestion control; over DCCP \
                       (tunnel.carrier = \"dccp\") it is ours";
            return unsupported(what(), why);
        }
        // the server's sockets have what its host presets, and its own paths one controller
        let first = &spec.paths[0];
        if (path.carrier, &path.cc) != (first.carrier, &first.cc) {
            let why = "in the lab all paths have the same carrier and congestion control";
            return unsupported(what(), why);
        }
    }
    Ok(())
}

/// Both ends. Dropped, they are gone.
#[derive(Debug)]
pub(crate) struct Tunnel {
    /// The client's.
    gateway: Daemon,
    /// The server's.
    edge: Daemon,
}

impl Tunnel {
    /// Starts both ends, and waits until they answer. They find each other once packets flow.
    ///
    /// # Errors
    /// What a daemon printed.
    pub(crate) fn start(
        spec: &TunnelSpec,
        hosts: &Hosts,
        folder: &Folder,
        program: &Path,
    ) -> Result<Self, Error> {
        let Some(gateway) = &hosts.gateway else {
            return Err(Error::Unsupported {
                what: "[tunnel]".to_owned(),
                why: "there is no host for its other end".to_owned(),
            });
        };
        if spec.paths[0].carrier == Carrier::Stream {
            let cc = kernel_name(&spec.paths[0].cc);
            for host in hosts.edges.iter().chain([gateway]) {
                host.set("net/ipv4/tcp_congestion_control", cc)?;
            }
        }
        let key = folder.path().join("tunnel.key");
        let made = Command::new(program)
            .args(["tunnel", "key", "--shared"])
            .arg(&key)
            .output();
        let made = made.map_err(Error::system("run brimful tunnel key"))?;
        if !made.status.success() {
            return Err(Error::Program {
                program: "brimful tunnel key".to_owned(),
                problem: String::from_utf8_lossy(&made.stderr).trim().to_owned(),
            });
        }
        let edge = daemon(
            "server",
            &server(spec, folder),
            hosts.edge(),
            folder,
            program,
        )?;
        let gateway = daemon("client", &client(spec, folder), gateway, folder, program)?;
        Ok(Self { gateway, edge })
    }

    /// That both still run.
    ///
    /// # Errors
    /// What one printed as it ended.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        self.edge.check()?;
        self.gateway.check()
    }
}

fn daemon(
    role: &str,
    config: &str,
    host: &Namespace,
    folder: &Folder,
    program: &Path,
) -> Result<Daemon, Error> {
    let file = folder.path().join(format!("tunnel-{role}.toml"));
    let failed = || Error::system(format!("write {}", file.display()));
    fs::write(&file, config).map_err(failed())?;
    let mut command = Command::new(program);
    command.arg("tunnel").arg(role).arg("--config").arg(&file);
    let name = format!("brimful tunnel {role}");
    let log = format!("tunnel-{role}.log");
    Daemon::start(&name, command, host, folder, &log, |_| {
        status(folder, role).is_some()
    })
}

/// How an end stands, if it answers.
fn status(folder: &Folder, role: &str) -> Option<Value> {
    let ask = || -> std::io::Result<String> {
        let socket = folder.path().join(format!("tunnel-{role}.sock"));
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        stream.write_all(b"{\"command\":\"status\"}\n")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    };
    serde_json::from_str(&ask().ok()?).ok()
}

/// What both ends did, towards the UE.
pub(crate) fn result(spec: &TunnelSpec, folder: &Folder) -> Option<TunnelResult> {
    let [edge, gateway] = ["server", "client"].map(|role| status(folder, role));
    let (edge, gateway) = (edge?, gateway?);
    let connection = |of: &Value| of["connections"][0].clone();
    let (edge, gateway) = (connection(&edge), connection(&gateway));
    let count = |of: &Value, key: &str| of[key].as_u64().unwrap_or_default();
    // the server identifies its paths by where they come from
    let paths = spec.paths.iter().enumerate().map(|(index, path)| {
        let at = |end: &Value, is_it: &dyn Fn(&Value) -> bool| {
            let paths = end["paths"].as_array().cloned().unwrap_or_default();
            paths
                .into_iter()
                .find(|path| is_it(path))
                .unwrap_or(Value::Null)
        };
        let address = names::path_gateway(index).to_string();
        let comes_from = |path: &Value| {
            let remote = path["remote"].as_str().unwrap_or_default();
            remote.split(':').next() == Some(address.as_str())
        };
        let sender = at(&edge, &comes_from);
        let receiver = at(&gateway, &|other| other["name"] == path.name.as_str());
        TunnelPathResult {
            name: path.name.clone(),
            carried: Bytes::new(count(&receiver, "received_bytes")),
            packets: count(&receiver, "received_packets"),
            lost: count(&sender, "lost_packets"),
            retransmits: count(&sender, "repeated_packets"),
        }
    });
    Some(TunnelResult {
        paths: paths.collect(),
        given_up: count(&gateway, "lost_packets"),
        late: count(&gateway, "late_packets"),
        duplicates: count(&gateway, "duplicate_packets"),
        refused: count(&edge, "refused_packets"),
        dropped: count(&edge, "dropped_packets"),
        ..TunnelResult::default()
    })
}

/// What `brimful tunnel server` is reported.
fn server(spec: &TunnelSpec, folder: &Folder) -> String {
    let listen = (0..spec.paths.len()).map(|path| format!("\"{}:{PORT}\"", names::path_edge(path)));
    let listen: Vec<String> = listen.collect();
    let first = &spec.paths[0];
    let controller = match first.carrier {
        Carrier::Dccp => format!("controller = \"{}\"\n", first.cc),
        Carrier::Stream => String::new(),
    };
    let (place, ue) = (folder.path().display(), names::ue_address(0));
    format!(
        "listen = [{}]\n{PLAIN}{controller}{}[[client]]\nname = \"ue\"\nkey-file = \"{place}/tunnel.key\"\n\
         addresses = [\"{ue}/32\", \"{TUNNEL_GATEWAY}/32\"]\n{}{}",
        listen.join(", "),
        keys(spec),
        radio(spec, folder),
        tables(
            spec,
            folder,
            "server",
            &TUNNEL_EDGE.to_string(),
            names::UE_PREFIX
        ),
    )
}

/// Where the server reads radio reports, and which path is the UE's; empty if it reads none.
fn radio(spec: &TunnelSpec, folder: &Folder) -> String {
    let mut paths = spec.paths.iter();
    let cell = paths.position(|path| path.access == TunnelAccess::Cell);
    let Some(cell) = cell.filter(|_| spec.uses_radio) else {
        return String::new();
    };
    format!(
        "[reports]\nsource = \"unix:{}/{REPORTS}\"\n[[address]]\nremote = \"{}\"\nue = \"{}\"\n",
        folder.path().display(),
        names::path_gateway(cell),
        names::ue_address(0),
    )
}

/// What `brimful tunnel client` is reported.
fn client(spec: &TunnelSpec, folder: &Folder) -> String {
    let mut text = format!(
        "{PLAIN}key-file = \"{}/tunnel.key\"\n{}",
        folder.path().display(),
        keys(spec)
    );
    for (index, path) in spec.paths.iter().enumerate() {
        let cc = match path.carrier {
            Carrier::Dccp => path.cc.as_str(),
            Carrier::Stream => kernel_name(&path.cc),
        };
        text += &format!(
            "[[path]]\nname = \"{}\"\ninterface = \"{}\"\nlocal = \"{}\"\nremote = \"{}:{PORT}\"\n\
             priority = \"{}\"\ncarrier = \"{}\"\ncontroller = \"{cc}\"\n",
            path.name,
            names::path_device(index),
            names::path_gateway(index),
            names::path_edge(index),
            path.priority,
            path.carrier.name(),
        );
    }
    text += "[supervision]\n";
    let mut supervision = spec.supervision;
    for (key, time) in supervision.keys() {
        text += &format!("{key} = \"{} ns\"\n", time.as_nanos());
    }
    let address = TUNNEL_GATEWAY.to_string();
    text + &tables(spec, folder, "client", &address, names::SERVER_PREFIX)
}

/// The keys that both ends have.
fn keys(spec: &TunnelSpec) -> String {
    let scheduler = format!("scheduler = \"{}\"\n", spec.scheduler);
    scheduler + &settings(spec, |key| key.in_reorder.is_none().then_some(key.name))
}

/// All settings that have a key here.
fn settings(spec: &TunnelSpec, name: impl Fn(Key) -> Option<&'static str>) -> String {
    let mut config = spec.connection.clone();
    let mut text = String::new();
    for (key, setting) in config.settings() {
        if let Some(name) = name(key) {
            text += &format!("{name} = {}\n", setting.toml());
        }
    }
    text
}

/// The tables that both ends have.
fn tables(spec: &TunnelSpec, folder: &Folder, role: &str, address: &str, route: &str) -> String {
    let wait = match spec.connection.reorder.rule {
        WaitRule::Fixed(wait) => format!("wait = \"{} ns\"\n", wait.as_nanos()),
        _ => String::new(),
    };
    let reorder = settings(spec, |key| key.in_reorder);
    format!(
        "[tun]\nname = \"{TUNNEL_DEVICE}\"\naddresses = [\"{address}/32\"]\nmtu = {}\n\
         routes = [\"{route}\"]\n[reorder]\n{reorder}{wait}[admin]\n\
         socket = \"{}/tunnel-{role}.sock\"\n",
        spec.connection.mtu,
        folder.path().display(),
    )
}
