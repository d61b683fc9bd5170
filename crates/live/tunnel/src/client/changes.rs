//! What changes of a client's configuration while it runs: its paths.

use super::Client;
use super::links::LivePath;
use crate::config::{ClientEnd, Config, End, PathConfig};
use multipath::client::ClientPathId;
use multipath::packet::PathPriority;
use units::Instant;

impl Client {
    pub(super) fn add(&mut self, now: Instant, path: &PathConfig) -> Result<String, String> {
        if self.named(&path.name).is_ok() {
            return Err(format!("there is a path {:?} already", path.name));
        }
        let core_config = self.core_config(path);
        let added = self.core.add_path(now, core_config, path.remote.port());
        let id = added.map_err(|error| error.to_string())?;
        self.paths.insert(id, LivePath::new(path.clone()));
        Ok(format!("path {} is being opened", path.name))
    }

    pub(super) fn remove(&mut self, now: Instant, name: &str) -> Result<String, String> {
        let id = self.named(name)?;
        if let Some(path) = self.paths.get_mut(id) {
            path.is_removed = true;
        }
        self.core.remove_path(now, id);
        Ok(format!("path {name} is closed"))
    }

    fn named(&self, name: &str) -> Result<ClientPathId, String> {
        let mut all = self.paths.configured();
        let found = all.find(|(_, path)| path.config.name == name);
        found.map(|(id, _)| id).ok_or_else(|| {
            let all = self.paths.configured();
            let all: Vec<&str> = all.map(|(_, path)| path.config.name.as_str()).collect();
            format!("there is no path {name:?}; there are {}", all.join(", "))
        })
    }

    pub(super) fn set_priority(
        &mut self,
        now: Instant,
        name: &str,
        priority: PathPriority,
    ) -> Result<String, String> {
        let id = self.named(name)?;
        if let Some(path) = self.paths.get_mut(id) {
            path.config.priority = priority;
        }
        let sent = self.core.set_priority(now, id, priority);
        sent.map_err(|error| format!("the server cannot be notified: {error}"))?;
        Ok(format!("path {name} has priority {}", priority.get()))
    }

    /// Applies another configuration: its paths. Everything else needs a restart.
    pub(super) fn configure(&mut self, now: Instant, new: Config) -> Result<String, String> {
        let (Some(old), End::Client(end)) = (self.end(), &new.end) else {
            return Err("it is of a server".to_owned());
        };
        let mut same = new.clone();
        same.end = End::Client(ClientEnd {
            paths: old.paths.clone(),
            ..end.clone()
        });
        if same != self.config {
            return Err("only paths can change while the tunnel runs: restart it".to_owned());
        }
        let mut changed = 0;
        let present = self.paths.configured();
        let present = present.filter(|(_, path)| path.announced.is_none());
        let present: Vec<PathConfig> = present.map(|(_, path)| path.config.clone()).collect();
        for own in present {
            let requested = end.paths.iter().find(|path| path.name == own.name);
            match requested {
                Some(path) if *path == own => continue,
                Some(path)
                    if (PathConfig {
                        priority: own.priority,
                        ..path.clone()
                    }) == own =>
                {
                    self.set_priority(now, &own.name, path.priority)?;
                }
                _ => drop(self.remove(now, &own.name)?),
            }
            changed += 1;
        }
        for path in &end.paths {
            if self.named(&path.name).is_err() {
                self.add(now, path)?;
                changed += 1;
            }
        }
        self.config = new;
        Ok(format!(
            "configuration reloaded: {changed} changes of paths"
        ))
    }
}
