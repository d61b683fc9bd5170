//! Tunnels by their names: set up in the background, ended, and where their files and sockets are.
//!
//! One process sets a tunnel up and undoes that, the daemon: `up` starts it in the background and waits until it
//! answers, `down` ends it and waits until it has.

use crate::options;
use crate::output::{CommandError, print};
use crate::query;
use anyhow::{Context, anyhow};
use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tunnel::{Config, Plan};

/// Where configurations are.
const CONFIGURATIONS: &str = "/etc/brimful";
/// Where sockets and logs of tunnels are whose files name none.
const RUNTIME: &str = "/run/brimful";
/// A daemon must answer, and end, by then.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How often it is asked whether it answers.
const INTERVAL: Duration = Duration::from_millis(50);

/// Options of `tunnel up`.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// A tunnel: /etc/brimful/tunnel-NAME.toml, or the path of a file
    #[arg(value_name = "NAME")]
    name: String,
    /// Only print what would be run, and what undoes it
    #[arg(long, conflicts_with_all = ["foreground", "check"])]
    dry_run: bool,
    /// Stay in the foreground and log to stderr
    #[arg(long)]
    foreground: bool,
    /// Only check the configuration and the keys
    #[arg(long, conflicts_with = "foreground")]
    check: bool,
}

/// A tunnel by its name.
struct Named {
    label: String,
    file: PathBuf,
}

impl Named {
    fn new(name: &str) -> Result<Self, CommandError> {
        if name.contains('/') {
            let file = PathBuf::from(name);
            let stem = file
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            let stem = stem.unwrap_or_default();
            let label = stem.strip_prefix("tunnel-").unwrap_or(&stem).to_owned();
            return match is_label(&label) {
                true => Ok(Self { label, file }),
                false => Err(not_a_name(&label)),
            };
        }
        match is_label(name) {
            true => Ok(Self {
                label: name.to_owned(),
                file: Path::new(CONFIGURATIONS).join(format!("tunnel-{name}.toml")),
            }),
            false => Err(not_a_name(name)),
        }
    }

    fn default_socket(&self) -> PathBuf {
        Path::new(RUNTIME).join(format!("tunnel-{}.sock", self.label))
    }

    /// Its configuration, with an admin socket in any case.
    fn config(&self) -> Result<Config, CommandError> {
        let mut config = Config::load_either(&self.file).map_err(CommandError::input)?;
        config.admin.get_or_insert_with(|| self.default_socket());
        Ok(config)
    }
}

fn is_label(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=32).contains(&text.len()) && text.chars().all(is_plain) && !text.starts_with(['.', '-'])
}

fn not_a_name(text: &str) -> CommandError {
    CommandError::Input(anyhow!(
        "{text:?} is no name of a tunnel; expected 1 to 32 letters, digits, and any of -_., or a path of a file"
    ))
}

/// The admin socket of a tunnel.
pub(crate) fn socket_of(name: &str) -> Result<PathBuf, CommandError> {
    let named = Named::new(name)?;
    let default = named.default_socket();
    Ok(named.config()?.admin.unwrap_or(default))
}

/// The admin sockets of tunnels whose files name none.
pub(crate) fn sockets() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(RUNTIME).into_iter().flatten().flatten();
    let all = entries.map(|entry| entry.path());
    let mut all: Vec<PathBuf> = all
        .filter(|path| {
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            name.is_some_and(|name| name.starts_with("tunnel-") && name.ends_with(".sock"))
        })
        .collect();
    all.sort();
    all
}

/// Sets a tunnel up.
pub(crate) fn up(arguments: &UpArgs, program: &[&str]) -> Result<(), CommandError> {
    let named = Named::new(&arguments.name)?;
    let config = named.config()?;
    if arguments.check {
        return options::check(&config, &named.file);
    }
    if arguments.dry_run {
        return print(&planned(&config)?);
    }
    config.check_keys().map_err(CommandError::input)?;
    let socket = config
        .admin
        .clone()
        .unwrap_or_else(|| named.default_socket());
    if let Some(process) = process_at(&socket) {
        let label = &named.label;
        return Err(CommandError::Run(anyhow!(
            "the tunnel {label} runs already (process {process})"
        )));
    }
    make_folder(&socket)?;
    if arguments.foreground {
        return options::run_daemon(config, Some(named.file));
    }
    in_background(arguments, &named, &socket, program)?;
    print(&format!(
        "{}: up, device {}\n",
        named.label, config.tun.name
    ))
}

fn planned(config: &Config) -> Result<String, CommandError> {
    let plan = Plan::new(config).map_err(|error| CommandError::Run(anyhow!(error)))?;
    let mut text = format!("# up: the TUN device {}, then\n", config.tun.name);
    let mut add = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    plan.up.iter().for_each(|line| add(line));
    add("# down: what does not go with the device");
    plan.down.iter().for_each(|line| add(line));
    Ok(text)
}

/// The process that answers there.
fn process_at(socket: &Path) -> Option<i32> {
    let status = tunnel::request(socket, &json!({ "command": "status" })).ok()?;
    status["pid"].as_i64()?.try_into().ok()
}

fn make_folder(socket: &Path) -> Result<(), CommandError> {
    let Some(folder) = socket
        .parent()
        .filter(|folder| *folder == Path::new(RUNTIME))
    else {
        return Ok(());
    };
    if folder.exists() {
        return Ok(());
    }
    let made = DirBuilder::new().mode(0o750).create(folder);
    made.with_context(|| format!("cannot make {}", folder.display()))
        .map_err(CommandError::Run)
}

/// Starts the daemon and waits until it answers.
fn in_background(
    arguments: &UpArgs,
    named: &Named,
    socket: &Path,
    program: &[&str],
) -> Result<(), CommandError> {
    let log_file = socket.with_extension("log");
    let log = open_log(&log_file);
    let log = log.with_context(|| format!("cannot write {}", log_file.display()));
    let own = std::env::current_exe().context("this program cannot be found");
    let mut child = Command::new(own.map_err(CommandError::Run)?)
        .args(program)
        .args(["up", &arguments.name, "--foreground"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.map_err(CommandError::Run)?)
        // what a terminal sends to this command is not for the daemon
        .process_group(0)
        .spawn()
        .context("the daemon cannot be started")
        .map_err(CommandError::Run)?;
    let own = i32::try_from(child.id()).ok();
    let until = Instant::now() + TIMEOUT;
    while process_at(socket) != own || own.is_none() {
        if let Some(status) = child
            .try_wait()
            .context("waiting")
            .map_err(CommandError::Run)?
        {
            let error = anyhow!("{}", last_error(&log_file));
            return Err(match status.code() {
                Some(2) => CommandError::Input(error),
                _ => CommandError::Run(error),
            });
        }
        if Instant::now() > until {
            return Err(given_up(&mut child, &named.label, &log_file));
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}

fn open_log(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

fn given_up(child: &mut Child, label: &str, log: &Path) -> CommandError {
    if let Some(process) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // which undoes what was set up
        let _ = kill_process(process, Signal::TERM);
    }
    let log = log.display();
    CommandError::Run(anyhow!(
        "the tunnel {label} does not answer; its log is {log}"
    ))
}

/// The last line of a daemon that has ended.
fn last_error(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    let last = last.unwrap_or("the daemon has ended and printed nothing");
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Ends a tunnel.
pub(crate) fn down(name: &str) -> Result<(), CommandError> {
    let named = Named::new(name)?;
    let config = named.config()?;
    let socket = config
        .admin
        .clone()
        .unwrap_or_else(|| named.default_socket());
    let label = &named.label;
    let process = match query::request(&socket, &json!({ "command": "status" })) {
        Ok(status) => process_of(&status),
        Err(error) => {
            // of one that was killed
            let left = tunnel::remove_leftovers(&config);
            let what = match left {
                0 => String::new(),
                n => format!("; {n} rules that it had left are removed"),
            };
            return Err(CommandError::Run(anyhow!(
                "the tunnel {label} does not run: {error}{what}"
            )));
        }
    };
    let process =
        process.ok_or_else(|| CommandError::Run(anyhow!("its answer names no process")))?;
    let failed = |what: &'static str| {
        move |error: rustix::io::Errno| CommandError::Run(anyhow::Error::new(error).context(what))
    };
    let handle = pidfd_open(process, PidfdFlags::empty())
        .map_err(failed("the daemon cannot be waited for"))?;
    kill_process(process, Signal::TERM).map_err(failed("the daemon cannot be ended"))?;
    let timeout = Timespec {
        tv_sec: TIMEOUT.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    let mut ended = [PollFd::new(&handle, PollFlags::IN)];
    match poll(&mut ended, Some(&timeout)).map_err(failed("waiting"))? {
        0 => Err(CommandError::Run(anyhow!(
            "the tunnel {label} (process {}) does not end",
            process.as_raw_nonzero()
        ))),
        _ => print(&format!("{label}: down\n")),
    }
}

fn process_of(status: &Value) -> Option<Pid> {
    Pid::from_raw(status["pid"].as_i64()?.try_into().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_files_of_the_configuration_or_paths() {
        let of = |name: &str| Named::new(name).map(|named| (named.label, named.file));
        let file = PathBuf::from("/etc/brimful/tunnel-car.toml");
        assert_eq!(of("car").ok(), Some(("car".to_owned(), file.clone())));
        let path = file.to_str().expect("plain");
        assert_eq!(of(path).ok(), Some(("car".to_owned(), file.clone())));
        assert!(of("./other.toml").is_ok_and(|(label, _)| label == "other"));
        for bad in ["", "..", "a b", ".car", "-x", "/", "./a b.toml"] {
            let error = Named::new(bad).err().expect(bad);
            assert_eq!(error.code(), 2);
            assert!(error.to_string().contains("no name of a tunnel"), "{error}");
        }
    }

    #[test]
    fn the_last_line_of_a_log_is_what_a_daemon_ended_by() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        assert!(last_error(&log).contains("printed nothing"));
        std::fs::write(&log, "INFO hearing\nerror: cannot listen\n\n").expect("written");
        assert_eq!(last_error(&log), "cannot listen");
    }
}
