//! What a lab leaves outside of its namespaces: a folder with its socket and configuration, and
//! programs that outlived it. The folder goes at the end of a run; what a lab that was killed left
//! is put away as the next one starts.
//!
//! Namespaces, their interfaces, routes and nftables need no care: they vanish with the last process
//! that holds them.

use crate::Error;
use crate::topology::Hosts;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the folders of all labs are.
const PLACE: &str = "/run/brimful";
/// Labs of this process so far.
static LABS: AtomicU32 = AtomicU32::new(0);

/// The folder of a lab. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes one, and puts away what dead labs have left.
    pub(crate) fn create(hosts: &Hosts) -> Result<Self, Error> {
        sweep(Path::new(PLACE));
        let number = LABS.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(PLACE).join(format!("lab-{}-{number}", std::process::id()));
        let failed = || Error::system(format!("make {}", path.display()));
        make(&path).map_err(failed())?;
        let folder = Self { path };
        let inodes: Vec<String> = hosts.inodes().iter().map(u64::to_string).collect();
        let began = began(std::process::id()).unwrap_or_default();
        let owner = format!("{began}\n{}\n", inodes.join("\n"));
        let file = folder.path.join(OWNER);
        fs::write(&file, owner).map_err(Error::system(format!("write {}", file.display())))?;
        Ok(folder)
    }

    /// Marks a command, and all that it will start, as this lab's: by [`MARK`] a later lab finds what
    /// this one left, should it be killed.
    pub(crate) fn mark(&self, command: &mut Command) {
        command.env(MARK, &self.path);
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        // the last folder takes the place with it; a place that is not empty stays
        let _ = fs::remove_dir(PLACE);
    }
}

/// Makes a folder with all above it. Another lab that ends may take away [`PLACE`] meanwhile.
fn make(path: &Path) -> io::Result<()> {
    const TIMES: usize = 10;
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o755);
    let mut tries = (0..TIMES).map(|_| builder.create(path));
    let result = tries.find(|made| !matches!(made, Err(e) if e.kind() == io::ErrorKind::NotFound));
    result.unwrap_or(Err(io::ErrorKind::NotFound.into()))
}

/// When its owner began; then, for inspection, the lab's network namespaces by
/// the kernel's numbers.
const OWNER: &str = "owner";
/// The variable in the environment of a lab's programs that names its folder. A namespace's number
/// would not do: the kernel gives it to another one as soon as the first is gone.
const MARK: &str = "BRIMFUL_LAB";

/// Puts away what dead labs have left in `place`: their programs, then their folders.
fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Some(pid) = owner_of(&path) else {
            continue;
        };
        let text = fs::read_to_string(path.join(OWNER)).unwrap_or_default();
        let began_then = text.lines().next();
        let is_same = || began_then.is_none_or(|then| began(pid).as_deref() == Some(then));
        if is_alive(pid) && is_same() {
            continue;
        }
        end_marked(&path);
        let _ = fs::remove_dir_all(&path);
    }
}

/// The process that made a lab's folder, by its name: `lab-PID-NUMBER`.
fn owner_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_prefix("lab-")?;
    name.split_once('-')?.0.parse().ok()
}

/// Ends every other process whose network is one of these namespaces, which are this lab's and still
/// stand: no other process has been in them.
pub(crate) fn end_programs(networks: &BTreeSet<u64>) {
    end_all(|process| {
        let network = fs::metadata(process.join("ns/net"));
        network.is_ok_and(|network| networks.contains(&network.ino()))
    });
}

/// Ends what a dead lab with this folder has started.
fn end_marked(folder: &Path) {
    let mark = [MARK.as_bytes(), b"=", folder.as_os_str().as_bytes()].concat();
    end_all(|process| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark)
    });
}

/// Ends every other process of which this is true, queried of its place in `/proc`.
fn end_all(is_meant: impl Fn(&Path) -> bool) {
    let Ok(processes) = fs::read_dir("/proc") else {
        return;
    };
    for process in processes.flatten() {
        let name = process.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        if let Some(pid) = pid.and_then(Pid::from_raw)
            && pid != rustix::process::getpid()
            && is_meant(&process.path())
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// When a process began (field 22 of `/proc/PID/stat`): distinguishes it from a later one of the same number.
fn began(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name, in parentheses, may hold spaces
    let (_, after) = text.rsplit_once(')')?;
    after.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_name_their_owners() {
        assert_eq!(owner_of(Path::new("/run/brimful/lab-123-0")), Some(123));
        assert_eq!(owner_of(Path::new("/run/brimful/pep.sock")), None);
        assert_eq!(owner_of(Path::new("/run/brimful/lab-x-0")), None);
    }

    #[test]
    fn a_dead_labs_programs_are_found_by_their_mark_and_no_others() {
        let place = tempfile::tempdir().expect("a folder");
        let of = |pid: u32| {
            let path = place.path().join(format!("lab-{pid}-0"));
            fs::create_dir(&path).expect("made");
            fs::write(path.join(OWNER), "1").expect("written");
            Folder { path }
        };
        // no process has this number, and this one did not begin then
        let (dead, other) = (of(u32::MAX - 1), of(std::process::id()));
        let start = |folder: Option<&Folder>| {
            let mut command = Command::new("sleep");
            command.arg("60");
            folder.into_iter().for_each(|f| f.mark(&mut command));
            command.spawn().expect("sleep starts")
        };
        let mut marked = [start(Some(&dead)), start(Some(&other))];
        let mut unmarked = start(None);
        // a program that has begun has no environment for a moment: the kernel ends the wait of its parent before
        for child in &marked {
            testing::wait_until("the program has its environment", || {
                let environment = fs::read(format!("/proc/{}/environ", child.id()));
                environment.is_ok_and(|environment| !environment.is_empty())
            });
        }
        sweep(place.path());
        for child in &mut marked {
            let status = child.wait().expect("it ended");
            assert!(!status.success(), "{status}");
        }
        assert!(
            matches!(unmarked.try_wait(), Ok(None)),
            "a process that is not marked lives on"
        );
        unmarked.kill().expect("killed");
        unmarked.wait().expect("it ended");
        assert!(!dead.path().exists() && !other.path().exists());
    }

    #[test]
    fn this_process_is_alive_and_has_a_beginning() {
        let own = std::process::id();
        assert!(is_alive(own));
        assert!(began(own).is_some_and(|ticks| ticks.parse::<u64>().is_ok()));
        assert!(!is_alive(u32::MAX));
    }
}
