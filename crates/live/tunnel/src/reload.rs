//! A changed configuration while the tunnel runs: checked as a whole, applied as a whole or not at all.
//!
//! Files are read, keys are computed and `ip` is run by the thread that requests it; the one that moves packets takes
//! what is ready.

use crate::config::{Config, End};
use crate::daemon::Handle;
use crate::packet_thread::Change;
use crate::sealing::Keys;
use crate::setup::{self, Setup};
use daemon::Differences;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The thread that moves packets must have answered by then: what it has not applied by then it may apply later.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A configuration with its keys.
pub(crate) struct Reload {
    pub(crate) config: Config,
    pub(crate) keys: Keys,
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reload")
    }
}

/// Reads the file again on request.
#[derive(Debug)]
pub(crate) struct Reloader {
    file: Option<PathBuf>,
    present: Mutex<Config>,
    handle: Handle,
    setup: Setup,
}

impl Reloader {
    pub(crate) fn new(
        file: Option<PathBuf>,
        present: Config,
        handle: Handle,
        setup: Setup,
    ) -> Self {
        Self {
            file,
            present: Mutex::new(present),
            handle,
            setup,
        }
    }

    /// Reads the file and applies it; gives what has changed, or why nothing has.
    pub(crate) fn reload(&self) -> Result<String, String> {
        daemon::reload(|| self.try_reload())
    }

    fn try_reload(&self) -> Result<String, String> {
        let Some(file) = &self.file else {
            return Err("there is no configuration file to be read again".to_owned());
        };
        // one at a time
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = Config::load(file, present.role()).map_err(|error| error.to_string())?;
        if new.admin.is_none() {
            // that of the command
            new.admin.clone_from(&present.admin);
        }
        fixed(&present, &new).check("the tunnel")?;
        let keys = Keys::load(&new).map_err(|error| error.to_string())?;
        let exchange = self.setup.exchange(setup::changeable(&new));
        let mut exchange = exchange.map_err(|error| error.to_string())?;
        let change = Change::Configure(Box::new(Reload {
            config: new.clone(),
            keys,
        }));
        let changes = match self.handle.change_within(change, TIMEOUT) {
            Ok(changes) => changes,
            Err(error) => {
                exchange.roll_back();
                return Err(error);
            }
        };
        let mut changes: Vec<String> = (!changes.is_empty())
            .then_some(changes)
            .into_iter()
            .collect();
        if !exchange.is_empty() {
            changes.push("addresses or routes of the device".to_owned());
        }
        exchange.commit();
        *present = new;
        Ok(match changes.is_empty() {
            true => "no change".to_owned(),
            false => changes.join("; "),
        })
    }
}

/// What differs and cannot be applied, by its names in the file.
fn fixed(old: &Config, new: &Config) -> Differences {
    let mut differences = Differences::default();
    let mut compare = |name, differs: bool| differences.cannot(name, differs);
    compare("encryption", old.encryption != new.encryption);
    compare("threads", old.threads != new.threads);
    compare("scheduler", old.scheduler != new.scheduler);
    compare(
        "settings of the connection or [reorder]",
        old.connection != new.connection,
    );
    compare("[tun] name", old.tun.name != new.tun.name);
    compare("[tun] mtu", old.tun.mtu != new.tun.mtu);
    compare("[tun] fwmark", old.tun.fwmark != new.tun.fwmark);
    let names_of = |config: &Config| (config.tun.dns.clone(), config.tun.dns_search.clone());
    compare("[tun] dns", names_of(old) != names_of(new));
    let hooks = |config: &Config| (config.tun.post_up.clone(), config.tun.pre_down.clone());
    compare("[tun] post-up or pre-down", hooks(old) != hooks(new));
    compare("[admin]", old.admin != new.admin);
    compare("[metrics]", old.metrics != new.metrics);
    #[cfg(feature = "edge")]
    compare("[dashboard]", old.dashboard != new.dashboard);
    compare("[log]", old.log != new.log);
    match (&old.end, &new.end) {
        (End::Client(old), End::Client(new)) => {
            compare("use-announced", old.use_announced != new.use_announced);
            compare("[supervision]", old.supervision != new.supervision);
        }
        (End::Server(old), End::Server(new)) => {
            compare("controller", old.controller != new.controller);
            compare("path-mtu", old.path_mtu != new.path_mtu);
            let limits = old.half_open != new.half_open || old.pending != new.pending;
            compare("[limits]", limits);
            #[cfg(feature = "edge")]
            compare("[reports]", old.reports != new.reports);
        }
        _ => compare("role", true),
    }
    differences
}
