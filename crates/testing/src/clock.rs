//! A clock of the system that a test sets, for the programs that it starts.

use crate::{Missing, skip};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the programs load before the C library.
const SOURCE: &str = include_str!("step_clock.c");

/// The system's clock as programs see it that were started with it; no other program's is touched.
#[derive(Debug)]
pub struct StepClock {
    library: PathBuf,
    file: PathBuf,
    step: File,
}

impl StepClock {
    /// Makes one in a folder of the test's. None, and the skip is recorded, where no C compiler is.
    ///
    /// # Panics
    /// The folder cannot be written, or the compiler refuses.
    pub fn try_new(test: &str, folder: &Path) -> Option<Self> {
        let source = folder.join("step_clock.c");
        let (library, file) = (folder.join("step_clock.so"), folder.join("step_clock"));
        std::fs::write(&source, SOURCE).expect("a file of the test's folder");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-fPIC", "-shared", "-o"]);
        let Ok(compiled) = compiler.arg(&library).arg(&source).status() else {
            skip(test, Missing::Program("cc"));
            return None;
        };
        assert!(compiled.success(), "cc: {compiled}");
        std::fs::write(&file, [0; 8]).expect("a file of the test's folder");
        let step = File::options().write(true).open(&file);
        let step = step.expect("it was just written");
        Some(Self {
            library,
            file,
            step,
        })
    }

    /// The environment of a program that is to have this clock.
    pub fn environment(&self) -> [(&'static str, &Path); 2] {
        [
            ("LD_PRELOAD", &self.library),
            ("BRIMFUL_CLOCK_STEP", &self.file),
        ]
    }

    /// Sets the clock so many seconds ahead of the machine's, or behind it.
    ///
    /// # Panics
    /// The file is gone.
    pub fn set(&self, seconds: i64) {
        let written = self.step.write_all_at(&seconds.to_ne_bytes(), 0);
        written.expect("the file of the clock");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds since 1970 as a program reads them, and how long the machine runs.
    fn read(clock: &StepClock) -> i64 {
        let mut command = Command::new("date");
        let output = command.arg("+%s").envs(clock.environment()).output();
        let output = output.expect("date can be run");
        let text = String::from_utf8(output.stdout).expect("digits");
        text.trim().parse().expect("a number")
    }

    #[test]
    fn programs_see_the_clock_as_it_is_set() {
        let folder = std::env::temp_dir().join(format!("step-clock-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        if let Some(clock) = StepClock::try_new("programs_see_the_clock_as_it_is_set", &folder) {
            let now = read(&clock);
            clock.set(1_000_000_000);
            assert!(read(&clock) >= now + 1_000_000_000);
            clock.set(-1_000_000_000);
            assert!(read(&clock) < now - 500_000_000);
        }
        std::fs::remove_dir_all(&folder).expect("put away");
    }
}
