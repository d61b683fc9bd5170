//! What the system is set up with around the device, and how that is undone: addresses, routes, rules, names, hooks.
//!
//! **A default route inside** must not take the tunnel's own packets: sockets of a client carry a mark
//! (`SO_MARK`, `[tun] fwmark`), the route stands in a table of that number, and two rules of policy routing lead
//! there what has no mark and no route in the main table that is longer than the default one:
//!
//! ```text
//!   32700: from all lookup main suppress_prefixlength 0
//!   32701: not from all fwmark 6511 lookup 6511
//! ```

mod run;

pub(crate) use run::{Guard, Setup, execute};

use crate::config::{Config, Role, TunConfig};
use daemon::config::Network;
use std::net::IpAddr;
use std::path::Path;

/// The rules' places: before those of the main table (32766).
const MAIN_FIRST: &str = "32700";
const UNMARKED: &str = "32701";

/// What kind of thing is set up; those of some can change while the tunnel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The device itself.
    Link,
    Address,
    Route,
    /// One rule of its kind may be there: what a predecessor has left is removed first.
    Rule,
    /// Something of the system that helps, and may not be permitted here.
    Sysctl,
    Dns,
    Hook,
}

/// A command, and what undoes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    /// None: there is only something to do at the end.
    pub(crate) run: Option<Vec<String>>,
    /// What the command reads.
    pub(crate) input: Option<String>,
    pub(crate) undo: Option<Vec<String>>,
}

/// What sets names of the DNS up on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DnsTool {
    /// `resolvectl`, of systemd-resolved.
    Resolved,
    /// `resolvconf`, of resolvconf or openresolv.
    Resolvconf,
}

/// What of the system decides which commands are needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) dns: Option<DnsTool>,
    /// `net.ipv4.conf.all.rp_filter`, where an interface of the paths drops what its own route does not lead back to.
    pub(crate) strict_filter: Option<String>,
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

impl Step {
    fn new(kind: Kind, run: &str, undo: Option<&str>) -> Self {
        Self {
            kind,
            run: Some(words(run)),
            input: None,
            undo: undo.map(words),
        }
    }
}

/// All steps of a configuration with a device of this MTU, in order. Undone in the reverse one.
pub(crate) fn steps(config: &Config, mtu: usize, facts: &Facts) -> Result<Vec<Step>, String> {
    let tun = &config.tun;
    let name = &tun.name;
    let mut steps = vec![Step::new(
        Kind::Link,
        &format!("ip link set dev {name} mtu {mtu} up"),
        None,
    )];
    let changeable = changeable(config);
    let has_default = changeable.iter().any(|step| step.kind == Kind::Rule);
    let by_mark = tun
        .routes
        .iter()
        .any(|route| !is_ipv6(route) && is_default(route));
    steps.extend(changeable);
    if let Some(old) = facts
        .strict_filter
        .as_ref()
        .filter(|_| has_default && by_mark)
    {
        let key = "net.ipv4.conf.all.rp_filter";
        let undo = format!("sysctl -q -w {key}={old}");
        steps.push(Step::new(
            Kind::Sysctl,
            &format!("sysctl -q -w {key}=2"),
            Some(&undo),
        ));
    }
    if !tun.dns.is_empty() {
        steps.extend(dns_steps(tun, facts.dns)?);
    }
    for hook in &tun.pre_down {
        steps.push(Step {
            kind: Kind::Hook,
            run: None,
            input: None,
            undo: Some(shell(name, hook)),
        });
    }
    for hook in &tun.post_up {
        steps.push(Step {
            kind: Kind::Hook,
            run: Some(shell(name, hook)),
            input: None,
            undo: None,
        });
    }
    Ok(steps)
}

/// Those that may change while the tunnel runs: addresses and routes.
pub(crate) fn changeable(config: &Config) -> Vec<Step> {
    let tun = &config.tun;
    let name = &tun.name;
    let mut steps = Vec::new();
    for address in &tun.addresses {
        // an address of ours is there at once: no other host can have it
        let nodad = if address.address.is_ipv6() {
            " nodad"
        } else {
            ""
        };
        steps.push(Step::new(
            Kind::Address,
            &format!("ip address replace {address} dev {name}{nodad}"),
            Some(&format!("ip address del {address} dev {name}")),
        ));
    }
    let mark = match config.role() {
        Role::Client => tun.fwmark,
        Role::Server => None,
    };
    let is_ruled = |route: &Network| mark.filter(|_| is_default(route));
    for route in &tun.routes {
        let table = match is_ruled(route) {
            Some(mark) => format!(" table {mark}"),
            None => String::new(),
        };
        steps.push(Step::new(
            Kind::Route,
            &format!("ip route replace {route} dev {name}{table}"),
            Some(&format!("ip route del {route} dev {name}{table}")),
        ));
    }
    // when everything else is there
    for route in &tun.routes {
        let Some(mark) = is_ruled(route) else {
            continue;
        };
        let family = if is_ipv6(route) { "-6" } else { "-4" };
        for rule in [
            format!("priority {UNMARKED} not fwmark {mark} table {mark}"),
            format!("priority {MAIN_FIRST} table main suppress_prefixlength 0"),
        ] {
            steps.push(Step::new(
                Kind::Rule,
                &format!("ip {family} rule add {rule}"),
                Some(&format!("ip {family} rule del {rule}")),
            ));
        }
    }
    steps
}

fn is_default(route: &Network) -> bool {
    route.contains(IpAddr::from([0, 0, 0, 0])) && route.contains(IpAddr::from([255, 255, 255, 255]))
        || route.contains(IpAddr::from([0; 16])) && route.contains(IpAddr::from([255; 16]))
}

fn is_ipv6(route: &Network) -> bool {
    route.to_string().contains(':')
}

fn dns_steps(tun: &TunConfig, tool: Option<DnsTool>) -> Result<Vec<Step>, String> {
    let name = &tun.name;
    let servers: Vec<String> = tun.dns.iter().map(IpAddr::to_string).collect();
    match tool {
        Some(DnsTool::Resolved) => {
            let mut domains = tun.dns_search.clone();
            // names of all domains are asked there, as all packets go there
            if tun.routes.iter().any(is_default) || domains.is_empty() {
                domains.push("~.".to_owned());
            }
            Ok(vec![
                Step::new(
                    Kind::Dns,
                    &format!("resolvectl dns {name} {}", servers.join(" ")),
                    Some(&format!("resolvectl revert {name}")),
                ),
                Step::new(
                    Kind::Dns,
                    &format!("resolvectl domain {name} {}", domains.join(" ")),
                    None,
                ),
            ])
        }
        Some(DnsTool::Resolvconf) => {
            let mut lines: Vec<String> = servers.iter().map(|at| format!("nameserver {at}\n")).collect();
            if !tun.dns_search.is_empty() {
                lines.push(format!("search {}\n", tun.dns_search.join(" ")));
            }
            Ok(vec![Step {
                input: Some(lines.concat()),
                ..Step::new(
                    Kind::Dns,
                    &format!("resolvconf -a tun.{name} -m 0 -x"),
                    Some(&format!("resolvconf -d tun.{name} -f")),
                )
            }])
        }
        None => Err(
            "[tun] dns: there is neither resolvectl with a running systemd-resolved nor resolvconf here"
                .to_owned(),
        ),
    }
}

fn shell(device: &str, hook: &str) -> Vec<String> {
    let text = hook.replace("%i", device);
    vec!["sh".to_owned(), "-c".to_owned(), text]
}

impl Facts {
    /// Of this machine.
    pub(crate) fn gather(config: &Config) -> Self {
        let is_there = |program: &str| {
            run::PATH
                .split(':')
                .any(|folder| Path::new(folder).join(program).exists())
        };
        let dns = if is_there("resolvectl") && Path::new("/run/systemd/resolve").exists() {
            Some(DnsTool::Resolved)
        } else {
            is_there("resolvconf").then_some(DnsTool::Resolvconf)
        };
        let mut interfaces = vec!["all"];
        if let crate::End::Client(client) = &config.end {
            interfaces.extend(
                client
                    .paths
                    .iter()
                    .filter_map(|path| path.interface.as_deref()),
            );
        }
        if interfaces.len() == 1 {
            interfaces.push("default");
        }
        let filter = |interface: &&str| {
            let file = format!("/proc/sys/net/ipv4/conf/{interface}/rp_filter");
            std::fs::read_to_string(file).map_or(0, |text| text.trim().parse().unwrap_or(0))
        };
        // the larger of both counts; 2 takes what any route leads back to
        let all: u8 = filter(&"all");
        let is_strict = interfaces.iter().any(|name| filter(name).max(all) == 1);
        Self {
            dns,
            strict_filter: is_strict.then(|| all.to_string()),
        }
    }
}

/// What is run to set a tunnel up, and what at its end: lines for a reader, who can run them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In order.
    pub up: Vec<String>,
    /// In order.
    pub down: Vec<String>,
}

impl Plan {
    /// Of a configuration on this machine; nothing is run.
    ///
    /// # Errors
    /// What this machine lacks.
    pub fn new(config: &Config) -> Result<Self, String> {
        let mtu = config
            .tun
            .mtu
            .unwrap_or_else(|| crate::limits::usual_mtu(config.encryption));
        Ok(Self::of(&steps(config, mtu, &Facts::gather(config))?))
    }

    fn of(steps: &[Step]) -> Self {
        let up = steps
            .iter()
            .filter_map(|step| Some((step.run.as_ref()?, &step.input)));
        let up = up.map(|(run, input)| match input {
            Some(input) => format!("printf %s {} | {}", quoted(input), line(run)),
            None => line(run),
        });
        let down = steps.iter().rev().filter_map(|step| step.undo.as_ref());
        Self {
            up: up.collect(),
            down: down.map(|undo| line(undo)).collect(),
        }
    }
}

/// Removes what a tunnel that was killed has left: its rules, without which nothing leads to the table of its routes.
/// Gives their number.
pub fn remove_leftovers(config: &Config) -> usize {
    let rules = changeable(config)
        .into_iter()
        .filter(|step| step.kind == Kind::Rule);
    rules
        .filter(|rule| rule.undo.as_ref().is_some_and(|undo| execute(undo).is_ok()))
        .count()
}

/// As a shell takes it.
pub(crate) fn line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+~,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests;
