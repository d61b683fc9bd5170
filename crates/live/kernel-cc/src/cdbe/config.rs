//! The configuration of `brimful cdbe attach`; `docs/operations/cdbe.md` describes every key.

use super::{AttachError, NAME, Plan, Roles, check, root_cgroup};
use cc::RateReport;
use cc::cdbe::{INITIAL_REPORT, Mode, server};
use daemon::config::{ConfigError, Section};
use std::path::{Path, PathBuf};
use units::BitRate;

/// What is attached, and where, as a file or options give it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which ends.
    pub roles: Roles,
    /// Folder of the cgroup whose sockets are served; none: the root of cgroups.
    pub cgroup: Option<PathBuf>,
    /// Only services at these ports, 1 to 65535; none: at all.
    pub ports: Vec<u16>,
    /// Name of the congestion control.
    pub name: String,
    /// A server's connection gets the congestion control when its client reports.
    pub choose: bool,
    /// The server's rules.
    pub server: server::Config,
    /// The client's report before it has measured.
    pub initial_report: RateReport,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            roles: Roles::BOTH,
            cgroup: None,
            ports: Vec::new(),
            name: NAME.to_owned(),
            choose: true,
            server: server::Config::new(Mode::Default, 1),
            initial_report: RateReport::new(INITIAL_REPORT),
        }
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, and one that cannot be used: place, fault and what is allowed.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        daemon::config::load(path, Self::read)
    }

    /// Reads a file's text; errors name it `name`.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        daemon::config::parse(name, text, Self::read)
    }

    fn read(top: &mut Section<'_, '_>) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        if let Some((role, at)) = top.text("role")? {
            config.roles = Roles::from_name(&role)
                .ok_or_else(|| top.fault_at(at, "role is client, server or both"))?;
        }
        config.cgroup = top.parsed::<PathBuf>("cgroup")?;
        config.ports = top.parsed_list::<u16>("ports")?;
        if config.ports.contains(&0) {
            return Err(top.fault("ports: allowed is 1 to 65535"));
        }
        config.name = top.parsed("name")?.unwrap_or(config.name);
        config.choose = top.truth("choose")?.unwrap_or(config.choose);
        if let Some((text, at)) = top.text("mode")? {
            config.server.mode = Mode::from_name(&text).ok_or_else(|| {
                let fault = format!("mode is {text:?}, expected {}", Mode::NAMES.join(" or "));
                top.fault_at(at, fault)
            })?;
        }
        if let Some(rate) = top.parsed::<BitRate>("initial-report")? {
            config.initial_report = RateReport::of(rate);
        }
        if let Some(mut table) = top.table("server", "[server]")? {
            rules(&mut table, &mut config.server)?;
            table.finish()?;
        }
        Ok(config)
    }

    /// With the cgroup that it is to be, and checked as far as it can be without attaching.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn complete(mut self) -> Result<Self, AttachError> {
        if self.cgroup.is_none() {
            self.cgroup = root_cgroup().ok();
        }
        check(&self.plan())?;
        Ok(self)
    }

    /// What is to be attached.
    pub fn plan(&self) -> Plan<'_> {
        let cgroup = self.cgroup.as_deref();
        Plan {
            roles: self.roles,
            ports: &self.ports,
            name: &self.name,
            chooses: self.choose,
            server: self.server,
            initial_report: self.initial_report,
            ..Plan::new(cgroup.unwrap_or(Path::new("/sys/fs/cgroup")), Mode::Default)
        }
    }
}

fn rules(table: &mut Section<'_, '_>, rules: &mut server::Config) -> Result<(), ConfigError> {
    let counts = [
        ("startup-rounds", &mut rules.startup_rounds),
        ("queue-up-windows", &mut rules.ups),
        ("queue-down-windows", &mut rules.downs),
    ];
    for (key, value) in counts {
        *value = table.whole(key, 1..=1_000)?.unwrap_or(*value);
    }
    if let Some(share) = table.number("inflight-share", 0.0..=1.0)? {
        rules.inflight_share = (share * server::ONE as f64).round() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read() {
        let text = r#"
            role = "server"
            cgroup = "/sys/fs/cgroup/x"
            ports = ["80", "443"]
            name = "cdbe2"
            choose = false
            mode = "paper"
            initial-report = "16 Mbit/s"
            [server]
            startup-rounds = 9
            queue-up-windows = 3
            queue-down-windows = 4
            inflight-share = 0.25
        "#;
        let config = Config::parse("file", text).expect("valid");
        let plan = config.plan();
        assert_eq!(plan.roles, Roles::SERVER);
        assert_eq!(plan.cgroup, Path::new("/sys/fs/cgroup/x"));
        assert_eq!(
            (plan.ports, plan.name, plan.chooses),
            (&[80, 443][..], "cdbe2", false)
        );
        assert_eq!(plan.initial_report.bytes_per_second(), 2_000_000);
        let rules = plan.server;
        let numbers = (
            rules.startup_rounds,
            rules.ups,
            rules.downs,
            rules.inflight_share,
        );
        assert_eq!((rules.mode, numbers), (Mode::Paper, (9, 3, 4, 250)));
    }

    #[test]
    fn errors_have_their_place() {
        for (text, expected) in [
            ("rol = \"client\"", "did you mean \"role\""),
            ("role = \"clint\"", "client, server or both"),
            ("ports = [\"0\"]", "1 to 65535"),
            ("ports = [\"70000\"]", "ports"),
            ("mode = \"fast\"", "expected paper or default"),
            ("[server]\nqueue-up-windows = 0", "1 to 1000"),
            ("[server]\ninflight-share = 2", "0 to 1"),
            ("initial-report = 5", "expected text"),
            ("x", "not TOML"),
        ] {
            let error = Config::parse("file", text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(error.starts_with("file:"), "{error}");
        }
    }
}
