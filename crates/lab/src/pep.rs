//! The proxy at the edge: `brimful pep`, as an operator would run it.

use crate::Error;
use crate::child;
use crate::cleanup::Folder;
use crate::names::{RAN_DEVICE, UE_PREFIX, WAN_DEVICE};
use crate::namespace::Namespace;
use rapid::{AllocatorConfig, Mode};
use rustix::process::{Pid, Signal, kill_process};
use scenario::{AccessSpec, PepMode, PepSpec};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to be ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long it may take to end.
const LAST_WORDS: Duration = Duration::from_secs(2);

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
    record: Option<&Path>,
) -> Result<Proxy, Error> {
    let config = folder.path().join("pep.toml");
    let admin = folder.path().join("pep.sock");
    let log = folder.path().join("pep.log");
    let failed = |path: &Path| Error::system(format!("write {}", path.display()));
    fs::write(&config, configuration(pep, folder.path(), record)).map_err(failed(&config))?;
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
    folder.mark(&mut command);
    child::run_in(&mut command, edge).map_err(cannot())?;
    let child = command.spawn().map_err(cannot())?;
    let mut proxy = Proxy { child, log };
    let since = Instant::now();
    while !answers(&admin) {
        proxy.check()?;
        if since.elapsed() > PATIENCE {
            return Err(proxy.failure(&format!("not ready after {} s", PATIENCE.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(proxy)
}

/// Whether the proxy is asked at its admin socket and answers: then connections are intercepted.
fn answers(admin: &Path) -> bool {
    let ask = || -> std::io::Result<()> {
        let mut stream = UnixStream::connect(admin)?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        stream.write_all(b"{\"command\":\"status\"}\n")?;
        stream.read_exact(&mut [0])
    };
    ask().is_ok()
}

/// What `brimful pep` is told.
fn configuration(pep: &PepSpec, folder: &Path, record: Option<&Path>) -> String {
    let (control, rapid) = match &pep.mode {
        PepMode::None | PepMode::Split => ("split", String::new()),
        PepMode::Rapid(config) => (control(config.mode), settings(config)),
    };
    let record = record.map_or_else(String::new, |file| {
        format!(
            "[record]\nfile = {:?}\nlimit = \"100 GB\"\n",
            file.display().to_string()
        )
    });
    let max_age = match &pep.mode {
        PepMode::Rapid(config) => {
            let age = config.report_max_age;
            // no shorter than the age from which on windows decay
            let plain_after = age.max(units::Duration::from_secs(2));
            format!(
                "max-age = \"{} ns\"\nplain-after = \"{} ns\"\n",
                age.as_nanos(),
                plain_after.as_nanos()
            )
        }
        _ => String::new(),
    };
    let folder = folder.display();
    format!(
        "mode = \"transparent\"\ncontrol = \"{control}\"\nue-prefixes = [\"{UE_PREFIX}\"]\n\
         ran-interface = \"{RAN_DEVICE}\"\nwan-interface = \"{WAN_DEVICE}\"\n\
         [reports]\nsource = \"unix:{folder}/radio.sock\"\n\
         {max_age}[admin]\nsocket = \"{folder}/pep.sock\"\n{rapid}{record}"
    )
}

fn control(mode: Mode) -> &'static str {
    match mode {
        Mode::Paper => "paper",
        Mode::Default => "default",
    }
}

/// The tables of what the allocator is to do, all keys said.
fn settings(config: &AllocatorConfig) -> String {
    let without: Vec<String> = config
        .without
        .iter()
        .map(|part| format!("\"{}\"", part.name()))
        .collect();
    format!(
        "[rapid]\nslow-threshold = {:?}\narrival-alpha = {:?}\ninitial-ran-window = \"{} B\"\n\
         target-queue = \"{} ns\"\nwithout = [{}]\n",
        config.slow_threshold,
        config.arrival_alpha,
        config.initial_ran_window.get(),
        config.target_queue.as_nanos(),
        without.join(", "),
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
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (Some(pid), Ok(None)) = (pid, self.child.try_wait()) {
            // it writes its recording to the end
            let _ = kill_process(pid, Signal::TERM);
        }
        let since = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && since.elapsed() < LAST_WORDS {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
