//! Another configuration while the proxy runs.

use super::{Core, fit};
use crate::config::{Config, Interception as Way};
use crate::intercept::Openings;
use crate::registry::lock;
use crate::relay::Upstream;
use std::path::Path;

impl Core {
    /// Reads the configuration again; one that is not usable changes nothing.
    pub(super) fn reload(&self, path: &Path) {
        // what came of it is logged
        let _ = daemon::reload(|| self.try_reload(path));
    }

    fn try_reload(&self, path: &Path) -> Result<String, String> {
        let mut config = Config::load(path).map_err(|error| error.to_string())?;
        if let Some(key) = self.shared.config().needs_restart(&config) {
            return Err(format!("{key}: this key needs --upgrade"));
        }
        if let Some(reason) = self.unsplit.refusal(&config) {
            return Err(reason.to_owned());
        }
        Upstream::check(&config).map_err(|error| error.to_string())?;
        fit(&mut config);
        let mut held = lock(&self.interception);
        if self.is_yielding() {
            return Err("a successor takes over".to_owned());
        }
        if let (Way::Transparent(way), Some(interception)) = (&config.interception, &mut *held) {
            let installed = interception.install(way, Openings::of(&config));
            installed.map_err(|error| error.to_string())?;
        }
        drop(held);
        self.shared.set_config(config);
        if let Some(control) = &self.control {
            control.configure(self.shared.config());
        }
        Ok(String::new())
    }
}
