//! The proxy at the edge, or one at the edge of each site: `brimful pep`, as an operator would run it. Where there are
//! several, each hands the connections of users over to the one whose cell reports name them.

use crate::Error;
use crate::child::Daemon;
use crate::cleanup::Folder;
use crate::names::{UE_PREFIX, WAN_DEVICE, numbered};
use crate::namespace::Namespace;
use crate::radio::hook;
use crate::sites::Sites;
use edge::marker::{Counts, MarkerConfig, Verdict};
use edge::{Actuator, EdgeConfig};
use scenario::{AccessSpec, Experiment, FlowSpec, PepMode, PepSpec, Transport, WindowControl};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A file of a proxy in the lab's folder: `pep.sock`, of the second one `pep-2.sock`.
fn file(number: usize, ending: &str) -> String {
    format!("{}.{ending}", numbered("pep", number))
}

/// Where a proxy is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// Its number: that of its site, or of its wire of N3.
    pub(crate) number: usize,
    /// All sites.
    pub(crate) sites: &'a Sites,
    /// Its host.
    pub(crate) host: &'a Namespace,
    /// Its interface towards the UEs.
    pub(crate) interface: &'a str,
    /// The lab's.
    pub(crate) folder: &'a Folder,
    /// Name of the socket of the radio reports that it reads, in the folder.
    pub(crate) reports: &'a str,
}

/// That the lab can run this proxy.
///
/// # Errors
/// If it needs reports that there are not.
pub(crate) fn check(pep: &PepSpec, access: &AccessSpec) -> Result<(), Error> {
    let reads_reports = matches!(pep.mode, PepMode::Rapid(_)) || acts_on_unsplit(pep);
    match access {
        AccessSpec::Link(_) if reads_reports => Err(network::Error::NoReports.into()),
        _ => Ok(()),
    }
}

/// That its proxy, if it splits, takes the TCP flows that it takes here.
///
/// # Errors
/// A flow of TCP that is to pass by it.
pub(crate) fn check_flows(experiment: &Experiment) -> Result<(), Error> {
    let passes_by = |flow: &&FlowSpec| flow.transport == Transport::Tcp && !flow.intercepted;
    let splits = experiment.pep.mode != PepMode::None;
    match experiment.flows.iter().find(passes_by).filter(|_| splits) {
        None => Ok(()),
        Some(flow) => Err(Error::Unsupported {
            what: format!("flow {:?} of TCP with intercepted = false", flow.name),
            why: "the proxy at the lab's edge takes every connection: take pep.mode = \"none\", transport = \"quic\", \
                  or --world sim"
                .to_owned(),
        }),
    }
}

/// Whether what is not split is marked, or waits at the edge.
pub(crate) fn acts_on_unsplit(pep: &PepSpec) -> bool {
    pep.unsplit.is_some() || pep.held.is_some()
}

/// Whether there is a proxy: one that splits, or that does something to what is not split.
pub(crate) fn is_needed(pep: &PepSpec) -> bool {
    pep.mode != PepMode::None || acts_on_unsplit(pep)
}

/// Starts a proxy at its edge, and waits until it is ready.
pub(crate) fn start(
    pep: &PepSpec,
    place: &Place<'_>,
    program: &Path,
    record: Option<&Path>,
) -> Result<Daemon, Error> {
    let Place {
        number,
        host,
        folder,
        ..
    } = *place;
    let config = folder.path().join(file(number, "toml"));
    let admin = folder.path().join(file(number, "sock"));
    let failed = |path: &Path| Error::system(format!("write {}", path.display()));
    let text = configuration(pep, place, record) + &handover(folder.path(), (number, place.sites));
    fs::write(&config, text).map_err(failed(&config))?;
    let mut command = Command::new(program);
    command.arg("pep").arg("--config").arg(&config);
    let log = file(number, "log");
    Daemon::start("brimful pep", command, host, folder, &log, |_| {
        answers(&admin)
    })
}

/// Where the first proxy of a host has its metrics.
const METRICS_PORT: usize = 9_464;

/// How long a message of a transfer may take: a machine that is busy is no reason to give one up.
const TIMEOUT: &str = "10 s";

/// How connections move between the proxies of all sites, if there are several.
fn handover(folder: &Path, (site, sites): (usize, &Sites)) -> String {
    if sites.count() == 1 {
        return String::new();
    }
    let at = |site: usize| format!("unix:{}/handover-{}.sock", folder.display(), site + 1);
    let mut text = format!(
        "[handover]\nlisten = \"{}\"\nroute-hook = \"{}\"\ntimeout = \"{TIMEOUT}\"\n",
        at(site),
        hook(folder, site).display()
    );
    for (other, cells) in sites.others(site) {
        let cells: Vec<String> = cells.iter().map(|cell| format!("\"{}\"", cell.0)).collect();
        text += &format!(
            "[[handover.peer]]\nname = \"site-{}\"\naddress = \"{}\"\ncells = [{}]\n",
            other + 1,
            at(other),
            cells.join(", ")
        );
    }
    text
}

/// Whether the proxy is queried at its admin socket and answers: then connections are intercepted.
fn answers(admin: &Path) -> bool {
    status(admin).is_some()
}

/// How it stands, if it answers.
fn status(admin: &Path) -> Option<Value> {
    let ask = || -> std::io::Result<String> {
        let mut stream = UnixStream::connect(admin)?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        stream.write_all(b"{\"command\":\"status\"}\n")?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    };
    serde_json::from_str(&ask().ok()?).ok()
}

/// What became of packets that are not split, if they are marked, at all of so many proxies.
pub(crate) fn unsplit(pep: &PepSpec, folder: &Folder, proxies: usize) -> Option<Counts> {
    pep.unsplit?;
    let mut all = Counts::default();
    for number in 0..proxies {
        let status = status(&folder.path().join(file(number, "sock")))?;
        let here = counts(&status["control"]["unsplit"]["packets"]);
        for verdict in Verdict::ALL {
            all.add(verdict, here.of(verdict));
        }
    }
    Some(all)
}

fn counts(packets: &Value) -> Counts {
    let mut counts = Counts::default();
    for verdict in Verdict::ALL {
        counts.add(verdict, packets[verdict.name()].as_u64().unwrap_or(0));
    }
    counts
}

/// What `brimful pep` is reported.
fn configuration(pep: &PepSpec, place: &Place<'_>, record: Option<&Path>) -> String {
    let (folder_name, socket) = (place.folder.path().display(), file(place.number, "sock"));
    let (reports, interface) = (place.reports, place.interface);
    let ways = match &pep.mode {
        PepMode::None => format!("ran-interface = \"{interface}\"\n[split]\nenabled = false\n"),
        PepMode::Split | PepMode::Rapid(_) => format!(
            "mode = \"transparent\"\ncontrol = \"{}\"\nue-prefixes = [\"{UE_PREFIX}\"]\n\
             ran-interface = \"{interface}\"\nwan-interface = \"{WAN_DEVICE}\"\n\
             [limits]\nsyn-rate-per-ue = 0\n",
            control(&pep.mode),
        ),
    };
    let decided = match &pep.mode {
        PepMode::None | PepMode::Split => String::new(),
        PepMode::Rapid(config) => {
            let buffer = format!("[relay]\nreceive-buffer = \"{} B\"\n", pep.buffer.get());
            let shown = format!("wan-actuator = \"{}\"\n", wan_actuator(pep.windows));
            settings(config, pep.actuator) + &shown + &buffer
        }
    };
    let record = record.filter(|_| pep.mode != PepMode::None);
    let record = record.map_or_else(String::new, |file| {
        format!(
            "[record]\nfile = {:?}\nlimit = \"100 GB\"\n",
            file.display().to_string()
        )
    });
    let max_age = match &pep.mode {
        PepMode::Rapid(config) => format!(
            "max-age = \"{} ns\"\nplain-after = \"{} ns\"\n",
            config.allocator.report_max_age.as_nanos(),
            config.plain_after.as_nanos()
        ),
        _ => String::new(),
    };
    let unsplit = match (pep.unsplit, pep.held) {
        (Some(marker), _) if pep.marks_on_n3 => of_unsplit("mark", marker) + "inside = \"gtp-u\"\n",
        (Some(marker), _) => of_unsplit("mark", marker),
        (None, Some(marker)) => {
            // the memory is not what bounds here
            let bounds = format!("buffer = \"{} B\"\nmemory = \"1 GB\"\n", pep.buffer.get());
            of_unsplit("queue", marker) + &bounds
        }
        (None, None) => String::new(),
    };
    // those on N3 are all on one host
    let port = METRICS_PORT + if pep.marks_on_n3 { place.number } else { 0 };
    format!(
        "{ways}[reports]\nsource = \"unix:{folder_name}/{reports}\"\n{max_age}\
         [admin]\nsocket = \"{folder_name}/{socket}\"\n\
         [metrics]\nlisten = \"127.0.0.1:{port}\"\n{decided}{unsplit}{record}"
    )
}

fn control(mode: &PepMode) -> &'static str {
    match mode {
        PepMode::None | PepMode::Split => "split",
        PepMode::Rapid(config) => config.allocator.mode.name(),
    }
}

/// The table of what is done to packets that are not split, all of the marker's numbers stated.
fn of_unsplit(mode: &str, mut marker: MarkerConfig) -> String {
    let fraction = marker.rate_fraction;
    let mut text = format!("[unsplit]\nmode = \"{mode}\"\nrate-fraction = {fraction}\n");
    for (key, time) in marker.times() {
        let key = key.trim_start_matches("unsplit-");
        text += &format!("{key} = \"{} ns\"\n", time.as_nanos());
    }
    text
}

/// How the daemon sets windows towards servers: at the wire where the kernel can, which is what the simulator's proxy
/// does with `exact`.
fn wan_actuator(windows: WindowControl) -> &'static str {
    match windows {
        WindowControl::Exact => "auto",
        WindowControl::Linux => "clamp",
    }
}

/// The table of how the proxy decides, all keys stated but those of `[reports]`.
fn settings(config: &EdgeConfig, actuator: Actuator) -> String {
    let mut config = config.clone();
    let mut text = format!("[rapid]\nactuator = \"{}\"\n", actuator.name());
    for (key, setting) in config.settings() {
        if !["report-max-age", "plain-after"].contains(&key) {
            text += &format!("{key} = {}\n", setting.toml());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marker_has_every_number_by_its_key() {
        let text = of_unsplit("mark", MarkerConfig::default());
        for (key, time) in MarkerConfig::default().times() {
            let key = key.strip_prefix("unsplit-").expect("the prefix");
            let line = format!("\n{key} = \"{} ns\"\n", time.as_nanos());
            assert!(text.contains(&line), "{line} in {text}");
        }
        assert!(text.starts_with("[unsplit]\nmode = \"mark\"\nrate-fraction = 1\n"));
    }

    #[test]
    fn proxies_of_several_sites_have_each_other_as_peers() {
        let text = handover(Path::new("/lab"), (1, &Sites::of_two()));
        let expected = "[handover]\nlisten = \"unix:/lab/handover-2.sock\"\nroute-hook = \"/lab/route-2.sh\"\n\
             timeout = \"10 s\"\n\
             [[handover.peer]]\nname = \"site-1\"\naddress = \"unix:/lab/handover-1.sock\"\ncells = [\"1\"]\n";
        assert_eq!(text, expected);
        assert_eq!(
            ["sock", "log"].map(|it| file(0, it)),
            ["pep.sock", "pep.log"]
        );
        assert_eq!(file(1, "sock"), "pep-2.sock");
    }

    #[test]
    fn each_verdict_of_a_status_is_counted() {
        let packets = serde_json::json!({ "sparse": 3, "marked_l4s": 2, "another": 9 });
        let counts = counts(&packets);
        assert_eq!(counts.of(Verdict::Sparse), 3);
        assert_eq!(counts.with(edge::marker::Fate::Mark), 2);
        assert_eq!(counts.with(edge::marker::Fate::Drop), 0);
    }
}
