//! Figures by matplotlib: the Python package draws them from the numbers of a reproduction, or from a folder of results.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use reproduce::File;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The interpreter, if it is not one of those that are looked for.
const VARIABLE: &str = "BRIMFUL_PYTHON";

/// An interpreter that has the package and matplotlib.
pub(crate) struct Matplotlib {
    python: PathBuf,
}

impl Matplotlib {
    /// Looks for one: `BRIMFUL_PYTHON`, else that of the source tree, else `python3`. To be called before
    /// anything runs. `wanted` is what it is needed for, as errors name it.
    ///
    /// # Errors
    /// Bad input if it is not there, or has not what is needed.
    pub(crate) fn find(wanted: &str) -> Result<Self, Failure> {
        let in_tree = Path::new("target/python/bin/python");
        let python = match std::env::var_os(VARIABLE) {
            Some(named) => PathBuf::from(named),
            None if in_tree.exists() => in_tree.to_owned(),
            None => PathBuf::from("python3"),
        };
        let found = Self { python };
        let output = found.run(&["-c", "import brimful.figures"]);
        match output {
            Ok(output) if output.status.success() => Ok(found),
            Ok(output) => Err(found.lacking(wanted, &last_line(&output.stderr))),
            Err(error) => Err(found.lacking(wanted, &error.to_string())),
        }
    }

    fn lacking(&self, wanted: &str, why: &str) -> Failure {
        Failure::Input(anyhow!(
            "{wanted}: {} cannot draw: {why}; install the Python package with matplotlib (in a \
             clone: make python), or name by {VARIABLE} an interpreter that has both",
            self.python.display()
        ))
    }

    /// Runs a module of the package.
    ///
    /// # Errors
    /// Bad input if it refuses (2), a failed run for any other end; what it printed last.
    pub(crate) fn module(&self, name: &str, arguments: &[&OsStr]) -> Result<(), Failure> {
        let mut all = vec![OsStr::new("-m"), OsStr::new(name)];
        all.extend_from_slice(arguments);
        let output = self
            .run(&all)
            .map_err(|error| Failure::Run(anyhow!("{}: {error}", self.python.display())))?;
        let said = || {
            anyhow!(
                "{}",
                last_line(&output.stderr).trim_start_matches("error: ")
            )
        };
        match output.status.code() {
            Some(0) => Ok(()),
            Some(2) => Err(Failure::Input(said())),
            _ => Err(Failure::Run(said())),
        }
    }

    fn run(&self, arguments: &[impl AsRef<OsStr>]) -> std::io::Result<Output> {
        Command::new(&self.python)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
    }

    /// The same files with every figure drawn anew. `json` is the one that holds the numbers.
    ///
    /// # Errors
    /// If a figure could not be drawn.
    pub(crate) fn draw(&self, files: Vec<File>) -> Result<Vec<File>, Failure> {
        self.drawn(files).map_err(Failure::Run)
    }

    fn drawn(&self, files: Vec<File>) -> anyhow::Result<Vec<File>> {
        let numbers = files.iter().find(|file| file.name.ends_with(".json"));
        let numbers = numbers.context("a reproduction without numbers")?;
        let folder = tempfile::tempdir()?;
        let (json, out) = (
            folder.path().join("numbers.json"),
            folder.path().join("figures"),
        );
        fs::write(&json, &numbers.bytes)?;
        let module = ["-m", "brimful.figures"].map(OsStr::new);
        let arguments = [json.as_os_str(), OsStr::new("--out"), out.as_os_str()];
        let output = self.run(&[module.as_slice(), &arguments].concat())?;
        if !output.status.success() {
            return Err(anyhow!("matplotlib: {}", last_line(&output.stderr)));
        }
        let anew = |file: File| match file.name.rsplit_once('/') {
            Some((_, figure)) if figure.ends_with(".svg") => Ok(File {
                bytes: fs::read(out.join(figure))
                    .with_context(|| format!("matplotlib: no {figure}"))?,
                ..file
            }),
            _ => Ok(file),
        };
        files.into_iter().map(anew).collect()
    }
}

/// What a program printed last, which is what ended it.
fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    last.unwrap_or("no output").trim().to_owned()
}
