//! Which of the programs that judges need are here.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that names folders of programs, before those of `PATH`.
const FOLDERS: &str = "BRIMFUL_JUDGES";
/// Where `make setup-judges` and `make setup` put what Debian does not have.
const DEFAULT_FOLDERS: &str = "target/judges/bin:target/aioquic/bin:target/playwright/bin";
/// Where Debian has daemons that are not everyone's.
const SYSTEM_FOLDERS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// What a judge needs to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A program.
    Program(&'static str),
    /// A Python that has this module; [`Toolbox::path`] then gives the Python.
    Module(&'static str),
}

impl Need {
    /// The program, or the module.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program(name) | Self::Module(name) => name,
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(name) => write!(f, "{name}"),
            Self::Module(name) => write!(f, "a Python that has {name}"),
        }
    }
}

/// Where programs are: the folders of the variable `BRIMFUL_JUDGES` (without it `target/judges/bin`,
/// `target/aioquic/bin` and `target/playwright/bin`), then those of `PATH`.
#[derive(Debug)]
pub struct Toolbox {
    folders: Vec<PathBuf>,
    found: BTreeMap<Need, PathBuf>,
}

impl Toolbox {
    /// By this process's environment and folder.
    pub fn of_environment() -> Self {
        let own = env::var_os(FOLDERS).unwrap_or_else(|| DEFAULT_FOLDERS.into());
        let path = env::var_os("PATH").unwrap_or_default();
        let lists = [own, path, SYSTEM_FOLDERS.into()];
        let folders = lists.iter().flat_map(env::split_paths);
        // programs run in folders of their own
        let folders = folders.filter_map(|folder| std::path::absolute(folder).ok());
        Self::new(folders.collect())
    }

    fn new(folders: Vec<PathBuf>) -> Self {
        Self {
            folders,
            found: BTreeMap::new(),
        }
    }

    /// Looks for these. Returns what is not here.
    pub fn find(&mut self, needs: &[Need]) -> Vec<Need> {
        let mut missing = Vec::new();
        for &need in needs {
            if self.found.contains_key(&need) {
                continue;
            }
            match self.search(need) {
                Some(path) => {
                    self.found.insert(need, path);
                }
                None => missing.push(need),
            }
        }
        missing
    }

    /// Where something is that was found.
    pub fn path(&self, need: Need) -> Option<&Path> {
        self.found.get(&need).map(PathBuf::as_path)
    }

    fn search(&self, need: Need) -> Option<PathBuf> {
        match need {
            Need::Program(name) => self.places(name).next(),
            Need::Module(name) => self.places("python3").find(|python| has(python, name)),
        }
    }

    fn places<'a>(&'a self, program: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        let places = self.folders.iter().map(move |folder| folder.join(program));
        places.filter(|place| place.is_file())
    }
}

/// Whether a Python has a module, for whatever user.
fn has(python: &Path, module: &str) -> bool {
    let mut command = Command::new(python);
    command.args(["-s", "-c", &format!("import {module}")]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("its mode");
        path
    }

    #[test]
    fn programs_are_found_in_the_order_of_folders_and_modules_by_their_python() {
        let scratch = tempfile::tempdir().expect("a folder");
        let [first, second] = ["first", "second"].map(|name| scratch.path().join(name));
        for folder in [&first, &second] {
            std::fs::create_dir(folder).expect("a folder");
        }
        script(&second, "tool", "");
        let tool = script(&first, "tool", "");
        script(&first, "python3", "#!/bin/sh\nexit 1\n");
        let python = script(
            &second,
            "python3",
            "#!/bin/sh\n[ \"$3\" = 'import there' ]\n",
        );
        let mut toolbox = Toolbox::new(vec![first, second]);
        let needs = [
            Need::Program("tool"),
            Need::Module("there"),
            Need::Module("absent"),
            Need::Program("absent"),
        ];
        assert_eq!(toolbox.find(&needs), needs[2..]);
        assert_eq!(toolbox.path(needs[0]), Some(&*tool));
        assert_eq!(toolbox.path(needs[1]), Some(&*python));
        assert_eq!(toolbox.path(needs[3]), None);
    }
}
