//! The proxy at the edge: `brimful pep`, as an operator would run it.

use crate::Error;
use crate::child::Daemon;
use crate::cleanup::Folder;
use crate::names::{RAN_DEVICE, UE_PREFIX, WAN_DEVICE};
use crate::namespace::Namespace;
use edge::{Actuator, EdgeConfig};
use scenario::{AccessSpec, PepMode, PepSpec, WindowControl};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// That the lab can run this proxy.
///
/// # Errors
/// If it needs reports that there are not.
pub(crate) fn check(pep: &PepSpec, access: &AccessSpec) -> Result<(), Error> {
    if pep.held.is_some() {
        return Err(Error::Unsupported {
            what: "pep.unsplit = \"queue\"".to_owned(),
            why: "packets that are not split wait at the edge in the simulator only: take \"off\", or --world sim"
                .to_owned(),
        });
    }
    if pep.unsplit.is_some() {
        return Err(Error::Unsupported {
            what: "pep.unsplit = \"mark\"".to_owned(),
            why: "packets that are not split are marked in the simulator so far: take \"off\", or --world sim"
                .to_owned(),
        });
    }
    match (&pep.mode, access) {
        (PepMode::Rapid(_), AccessSpec::Link(_)) => Err(network::Error::NoReports.into()),
        _ => Ok(()),
    }
}

/// Starts the proxy at the edge, and waits until it is ready.
pub(crate) fn start(
    pep: &PepSpec,
    edge: &Namespace,
    folder: &Folder,
    program: &Path,
    record: Option<&Path>,
) -> Result<Daemon, Error> {
    let config = folder.path().join("pep.toml");
    let admin = folder.path().join("pep.sock");
    let failed = |path: &Path| Error::system(format!("write {}", path.display()));
    fs::write(&config, configuration(pep, folder.path(), record)).map_err(failed(&config))?;
    let mut command = Command::new(program);
    command.arg("pep").arg("--config").arg(&config);
    Daemon::start("brimful pep", command, edge, folder, "pep.log", |_| {
        answers(&admin)
    })
}

/// Whether the proxy is queried at its admin socket and answers: then connections are intercepted.
fn answers(admin: &Path) -> bool {
    let ask = || -> std::io::Result<()> {
        let mut stream = UnixStream::connect(admin)?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        stream.write_all(b"{\"command\":\"status\"}\n")?;
        stream.read_exact(&mut [0])
    };
    ask().is_ok()
}

/// What `brimful pep` is reported.
fn configuration(pep: &PepSpec, folder: &Path, record: Option<&Path>) -> String {
    let (control, rapid) = match &pep.mode {
        PepMode::None | PepMode::Split => ("split", String::new()),
        PepMode::Rapid(config) => {
            let mode = config.allocator.mode.name();
            let buffer = format!("[relay]\nreceive-buffer = \"{} B\"\n", pep.buffer.get());
            let shown = format!("wan-actuator = \"{}\"\n", wan_actuator(pep.windows));
            (mode, settings(config, pep.actuator) + &shown + &buffer)
        }
    };
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
    let folder = folder.display();
    format!(
        "mode = \"transparent\"\ncontrol = \"{control}\"\nue-prefixes = [\"{UE_PREFIX}\"]\n\
         ran-interface = \"{RAN_DEVICE}\"\nwan-interface = \"{WAN_DEVICE}\"\n\
         [reports]\nsource = \"unix:{folder}/radio.sock\"\n\
         {max_age}[limits]\nsyn-rate-per-ue = 0\n[admin]\nsocket = \"{folder}/pep.sock\"\n\
         [metrics]\nlisten = \"127.0.0.1:9464\"\n{rapid}{record}"
    )
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
