//! The proxy at the edge: `brimful pep`, as an operator would run it.

use crate::Error;
use crate::child;
use crate::cleanup::Folder;
use crate::names::{RAN_DEVICE, UE_PREFIX, WAN_DEVICE};
use crate::namespace::Namespace;
use rapid::Mode;
use scenario::{AccessSpec, PepMode, PepSpec};
use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to be ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running proxy. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Proxy {
    child: Child,
    log: PathBuf,
}

/// That the lab can run this proxy.
///
/// # Errors
/// If it needs reports that there are not.
pub(crate) fn check(pep: &PepSpec, access: &AccessSpec) -> Result<(), Error> {
    match (&pep.mode, access) {
        (PepMode::Rapid(_), AccessSpec::Link(_)) => Err(apparatus::Error::NoReports.into()),
        _ => Ok(()),
    }
}

/// Starts the proxy at the edge, and waits until it is ready.
pub(crate) fn start(
    pep: &PepSpec,
    edge: &Namespace,
    folder: &Folder,
    program: &Path,
) -> Result<Proxy, Error> {
    let config = folder.path().join("pep.toml");
    let admin = folder.path().join("pep.sock");
    let log = folder.path().join("pep.log");
    let failed = |path: &Path| Error::system(format!("write {}", path.display()));
    fs::write(&config, configuration(pep, folder.path())).map_err(failed(&config))?;
    let output = File::create(&log).map_err(failed(&log))?;
    let errors = output.try_clone().map_err(failed(&log))?;
    let mut command = Command::new(program);
    command
        .arg("pep")
        .arg("--config")
        .arg(&config)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors);
    let cannot = || Error::system(format!("start {} pep", program.display()));
    child::run_in(&mut command, edge).map_err(cannot())?;
    let child = command.spawn().map_err(cannot())?;
    let mut proxy = Proxy { child, log };
    let since = Instant::now();
    while UnixStream::connect(&admin).is_err() {
        proxy.check()?;
        if since.elapsed() > PATIENCE {
            return Err(proxy.failure(&format!("not ready after {} s", PATIENCE.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(proxy)
}

/// What `brimful pep` is told.
fn configuration(pep: &PepSpec, folder: &Path) -> String {
    let control = match &pep.mode {
        PepMode::None | PepMode::Split => "split",
        PepMode::Rapid(config) => match config.mode {
            Mode::Paper => "paper",
            Mode::Default => "default",
        },
    };
    let folder = folder.display();
    format!(
        "mode = \"transparent\"\ncontrol = \"{control}\"\nue-prefixes = [\"{UE_PREFIX}\"]\n\
         ran-interface = \"{RAN_DEVICE}\"\nwan-interface = \"{WAN_DEVICE}\"\n\
         [reports]\nsource = \"unix:{folder}/radio.sock\"\n\
         [admin]\nsocket = \"{folder}/pep.sock\"\n"
    )
}

impl Proxy {
    /// That it is still running.
    ///
    /// # Errors
    /// What it said as it ended.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.failure(&format!("ended with {status}"))),
            Err(error) => Err(Error::system("wait for the proxy")(error)),
        }
    }

    fn failure(&self, problem: &str) -> Error {
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<&str> = said.lines().rev().take(3).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        Error::Program {
            program: "brimful pep".to_owned(),
            problem: format!("{problem}: {}", last.join(" / ")),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
