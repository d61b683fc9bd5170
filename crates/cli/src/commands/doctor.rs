//! `brimful doctor`: what works on this machine. Each part is tried by the command that a user would run, but for the tunnel,
//! of which the device is opened.

use crate::failure::Failure;
use crate::output::{called, print, text_style};
use anyhow::Context;
use clap::Args;
use report::{Column, Table};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde::Serialize;
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Help below the options.
pub(crate) const DOCTOR_HELP: &str = "\
Runs a short simulation, and as root a lab with the proxy in namespaces of its own and, for a moment, CDBE for connections
to port 1. Nothing is left afterwards.

Examples:
  brimful doctor
  sudo brimful doctor --json

Exit codes: 0 all parts work, 1 one does not.";

/// Options of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON on stdout instead of text
    #[arg(long)]
    json: bool,
}

/// A second behind the smallest cell.
const SCENARIO: &str = "\
name = \"doctor\"
duration = \"1 s\"
[path]
rtt = \"30 ms\"
rate = \"1 Gbit/s\"
[cell]
rat = \"lte\"
bandwidth = \"5 MHz\"
[ue.phone]
channel = { kind = \"constant-cqi\", cqi = 12 }
[flow.bulk]
app = { kind = \"continuous\" }
";
/// How long a part may take.
const LIMIT: Duration = Duration::from_secs(60);
/// Between looks whether it has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// What was found of a part.
#[derive(Debug, Serialize)]
struct Finding {
    /// Its name.
    part: &'static str,
    /// Commands that need it.
    #[serde(skip)]
    commands: &'static str,
    /// It can be used.
    works: bool,
    /// How, or why not.
    detail: String,
    /// What makes it work, or work better.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn works(part: &'static str, detail: impl Into<String>) -> Self {
        Self {
            part,
            commands: commands(part),
            works: true,
            detail: detail.into(),
            advice: None,
        }
    }

    fn fails(part: &'static str, detail: impl Into<String>, advice: &str) -> Self {
        Self {
            part,
            commands: commands(part),
            works: false,
            detail: detail.into(),
            advice: Some(advice.to_owned()),
        }
    }
}

/// What a part is for, by the commands that need it.
fn commands(part: &str) -> &'static str {
    match part {
        "simulator" => "run, compare, sweep, reproduce",
        "lab" => "the same with --world lab, lab",
        "proxy" => "pep",
        "tunnel" => "tunnel",
        "cdbe" => "cdbe",
        _ => "",
    }
}

/// Tries all parts.
pub(crate) fn run(arguments: &DoctorArgs) -> Result<(), Failure> {
    let trial = Trial::new().map_err(Failure::Run)?;
    let findings = tried(&trial).map_err(Failure::Run)?;
    let text = match arguments.json {
        true => runner::line(&findings)?,
        false => report::text(&[table(&findings)], text_style()),
    };
    print(&text)?;
    match findings.iter().all(|finding| finding.works) {
        true => Ok(()),
        false => Err(Failure::Command(1)),
    }
}

fn tried(trial: &Trial) -> anyhow::Result<[Finding; 5]> {
    Ok([
        simulator(trial)?,
        lab(trial)?,
        proxy(trial)?,
        tunnel(),
        cdbe(trial)?,
    ])
}

fn table(findings: &[Finding]) -> Table {
    let row = |of: &Finding| {
        let works = if of.works { "yes" } else { "no" };
        let advice = of.advice.clone().unwrap_or_default();
        vec![
            of.part.to_owned(),
            of.commands.to_owned(),
            works.to_owned(),
            of.detail.clone(),
            advice,
        ]
    };
    Table {
        title: "What works here".to_owned(),
        columns: [
            "part",
            "commands of brimful",
            "works",
            "how, or why not",
            "what to do",
        ]
        .map(Column::text)
        .to_vec(),
        rows: findings.iter().map(row).collect(),
    }
}

/// Where commands are tried.
struct Trial {
    program: PathBuf,
    folder: tempfile::TempDir,
}

/// How a command ended.
struct Ended {
    /// None if it was ended after the limit.
    status: Option<ExitStatus>,
    stdout: String,
    stderr: String,
}

impl Ended {
    fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The first error that it has printed.
    fn problem(&self) -> String {
        let mut lines = self.stderr.lines().filter(|line| !line.trim().is_empty());
        let error = lines.clone().find_map(|line| line.strip_prefix("error: "));
        // its scenario's name, which is none of the user's
        let error = error.map(|line| line.strip_prefix("doctor: ").unwrap_or(line));
        match (error.or_else(|| lines.next_back()), self.status) {
            (_, None) => format!("it had not ended after {} s", LIMIT.as_secs()),
            (Some(line), _) => line.to_owned(),
            (None, Some(status)) => status.to_string(),
        }
    }
}

impl Trial {
    fn new() -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program cannot be found")?;
        let folder = tempfile::tempdir().context("no folder for temporary files")?;
        let trial = Self { program, folder };
        fs::write(trial.path("doctor.toml"), SCENARIO).context("no file can be written")?;
        Ok(trial)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs this program, until it ends, for [`LIMIT`] at most, or until `is_enough` of what it has printed on stderr.
    fn ended(&self, arguments: &[&str], is_enough: impl Fn(&str) -> bool) -> anyhow::Result<Ended> {
        let (out, err) = (self.path("stdout"), self.path("stderr"));
        let mut child = Command::new(&self.program)
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?)
            .spawn()?;
        let began = Instant::now();
        let mut status = None;
        let mut has_asked = false;
        while began.elapsed() < LIMIT {
            status = child.try_wait()?;
            if status.is_some() {
                break;
            }
            if !has_asked && is_enough(&read(&err)) {
                has_asked = true;
                // not waited for yet: the number is still its own
                let _ = kill_process(Pid::from_child(&child), Signal::INT);
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        if status.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        Ok(Ended {
            status,
            stdout: read(&out),
            stderr: read(&err),
        })
    }

    /// The same of a command that ends by itself.
    fn run(&self, arguments: &[&str]) -> anyhow::Result<Ended> {
        self.ended(arguments, |_| false)
    }

    /// A program on the UE of a lab.
    fn in_lab(&self, settings: &[&str], command: &[&str]) -> anyhow::Result<Ended> {
        let mut arguments = vec!["lab", "shell", "doctor.toml", "--quiet"];
        arguments.extend(settings.iter().flat_map(|setting| ["--set", *setting]));
        arguments.push("--");
        arguments.extend(command);
        self.run(&arguments)
    }
}

fn read(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn simulator(trial: &Trial) -> anyhow::Result<Finding> {
    const PART: &str = "simulator";
    let ended = trial.run(&["run", "doctor.toml", "--json"])?;
    Ok(match ended.succeeded() {
        true => Finding::works(PART, "a second behind an LTE cell was simulated"),
        false => Finding::fails(PART, ended.problem(), "report this as a defect"),
    })
}

/// What to do where the lab, or its proxy, does not run.
fn lab_advice() -> String {
    match geteuid().is_root() {
        true => "docs/lab.md lists what a lab needs; docs/troubleshooting.md has the messages"
            .to_owned(),
        false => format!("as root it can be tried: sudo {} doctor", called()),
    }
}

fn lab(trial: &Trial) -> anyhow::Result<Finding> {
    const PART: &str = "lab";
    let ended = trial.in_lab(&[], &["true"])?;
    Ok(match ended.succeeded() {
        true => Finding::works(PART, "a program ran behind an emulated cell"),
        false => Finding::fails(PART, ended.problem(), &lab_advice()),
    })
}

/// The proxy of a lab, and what it says of itself.
fn proxy(trial: &Trial) -> anyhow::Result<Finding> {
    const PART: &str = "proxy";
    let program = trial.program.to_string_lossy();
    // the lab's folder has the number of its process, which is the shell's parent
    let ask = "exec \"$0\" pep status --json --socket /run/brimful/lab-$PPID-*/pep.sock";
    let settings = ["pep.mode=default", "pep.unsplit=mark"];
    let ended = trial.in_lab(&settings, &["sh", "-c", ask, &program])?;
    if !ended.succeeded() {
        return Ok(Finding::fails(PART, ended.problem(), &lab_advice()));
    }
    let status = serde_json::from_str(&ended.stdout).context("the proxy's status is no JSON")?;
    Ok(of_status(PART, &status))
}

fn of_status(part: &'static str, status: &Value) -> Finding {
    let text = |pointer: &str| status.pointer(pointer).and_then(Value::as_str);
    let name = |pointer: &str| text(pointer).unwrap_or("none").to_owned();
    let detail = format!(
        "windows towards UEs by {}, towards servers by {}; packets that are not split by {}",
        name("/control/actuator"),
        name("/server_windows/actuator"),
        name("/control/unsplit/way"),
    );
    let reasons = [
        "/control/actuator_error",
        "/server_windows/actuator_error",
        "/control/unsplit/error",
    ];
    let reasons: Vec<&str> = reasons.into_iter().filter_map(text).collect();
    Finding {
        advice: (!reasons.is_empty()).then(|| reasons.join("; ")),
        ..Finding::works(part, detail)
    }
}

/// Both ends of a tunnel need a TUN device.
fn tunnel() -> Finding {
    const PART: &str = "tunnel";
    let device = "/dev/net/tun";
    match OpenOptions::new().read(true).write(true).open(device) {
        Ok(_) => Finding::works(PART, format!("{device} can be opened")),
        Err(error) => Finding::fails(
            PART,
            format!("{device}: {error}"),
            "as root: modprobe tun; in a container: --device /dev/net/tun --cap-add NET_ADMIN",
        ),
    }
}

/// Attached to connections of a port that nobody uses, and detached again.
fn cdbe(trial: &Trial) -> anyhow::Result<Finding> {
    const PART: &str = "cdbe";
    let arguments = ["cdbe", "attach", "--port", "1", "--name", "brimful_doctor"];
    // what it prints once it is attached is no error
    let is_attached = |stderr: &str| stderr.ends_with('\n') && !stderr.starts_with("error");
    let ended = trial.ended(&arguments, is_attached)?;
    Ok(match ended.succeeded() {
        true => Finding::works(PART, "the kernel takes its programs"),
        false => Finding::fails(
            PART,
            ended.problem(),
            "as root, with the kernel that docs/operations/cdbe.md names",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_proxy_falls_back_to_is_stated_with_its_reason() {
        let whole = json!({
            "server_windows": {"actuator": "wire"},
            "control": {"actuator": "bpf", "unsplit": {"way": "tcx"}},
        });
        let finding = of_status("proxy", &whole);
        assert!(finding.works && finding.advice.is_none());
        assert_eq!(
            finding.detail,
            "windows towards UEs by bpf, towards servers by wire; packets that are not split by tcx"
        );
        let less = json!({
            "server_windows": {"actuator": "clamp", "actuator_error": "no tcx"},
            "control": {"actuator": "pacing", "actuator_error": "no struct_ops"},
        });
        let finding = of_status("proxy", &less);
        assert!(finding.works);
        assert_eq!(finding.advice.as_deref(), Some("no struct_ops; no tcx"));
    }

    #[test]
    fn the_first_error_is_the_problem() {
        let ended = |stderr: &str| Ended {
            status: Some(ExitStatus::default()),
            stdout: String::new(),
            stderr: stderr.to_owned(),
        };
        assert_eq!(
            ended("note: x\nerror: no root\nmore\n").problem(),
            "no root"
        );
        assert_eq!(ended("one\ntwo\n").problem(), "two");
        assert_eq!(ended("error: doctor: no root\n").problem(), "no root");
        let late = Ended {
            status: None,
            ..ended("")
        };
        assert_eq!(late.problem(), "it had not ended after 60 s");
    }

    #[test]
    fn a_part_that_does_not_work_has_advice() {
        let findings = [
            Finding::works("tunnel", "well"),
            Finding::fails("proxy", "why", "do this"),
        ];
        let table = table(&findings);
        assert_eq!(table.rows[0], ["tunnel", "tunnel", "yes", "well", ""]);
        assert_eq!(table.rows[1], ["proxy", "pep", "no", "why", "do this"]);
    }
}
