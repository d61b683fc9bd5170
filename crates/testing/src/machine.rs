//! The machine that a bench runs on: what a page of results states of it, and whether it is quiet enough to record.

use std::fmt;
use std::hint::black_box;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The load average of a minute above which nothing is recorded.
pub const MAX_LOAD: f64 = 0.5;
/// How long a load is waited for to fall: the compiler has just been at work.
const LOAD_LIMIT: Duration = Duration::from_secs(300);
/// Steps of the calibration loop, and how often it runs.
const STEPS: u32 = 1 << 27;
const ROUNDS: usize = 3;

/// What a result depends on beside the code.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The processor's name, and how many of them there are.
    pub processor: String,
    /// The kernel's release.
    pub kernel: String,
    /// The commit of the sources, with `, with changes` if they differ from it, pages of results aside, which benches write;
    /// empty without git.
    pub commit: String,
    /// Load average of the last minute.
    pub load: f64,
    /// The least time that a fixed loop of dependent integer operations takes: a machine that is slower today shows here.
    pub calibration: Duration,
}

impl Machine {
    /// As it is now.
    pub fn now() -> Self {
        Self {
            processor: processor(),
            kernel: line("/proc/sys/kernel/osrelease"),
            commit: commit(),
            load: load(),
            calibration: (0..ROUNDS).map(|_| calibrate()).min().unwrap_or_default(),
        }
    }

    /// As it is now; a quiet one where what is measured is to be recorded.
    ///
    /// # Errors
    /// As of [`quiet`](Self::quiet).
    pub fn for_bench(is_recorded: bool) -> Result<Self, String> {
        match is_recorded {
            true => Self::quiet(),
            false => Ok(Self::now()),
        }
    }

    /// Once its load is no more than [`MAX_LOAD`], which is waited for up to five minutes.
    ///
    /// # Errors
    /// Other work goes on.
    pub fn quiet() -> Result<Self, String> {
        let began = Instant::now();
        while load() > MAX_LOAD {
            if began.elapsed() > LOAD_LIMIT {
                return Err(format!(
                    "nothing is recorded: the load average is {:.2} after five minutes, and may be {MAX_LOAD} at the most",
                    load()
                ));
            }
            sleep(Duration::from_secs(1));
        }
        Ok(Self::now())
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, Linux {}, commit {}, load average {:.2} at the start, calibration loop {:.1} ms",
            self.processor,
            self.kernel,
            match self.commit.as_str() {
                "" => "unknown",
                commit => commit,
            },
            self.load,
            self.calibration.as_secs_f64() * 1e3,
        )
    }
}

fn line(file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.trim().to_owned()
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut names = text.lines().filter_map(|line| {
        let (key, name) = line.split_once(':')?;
        (key.trim() == "model name").then(|| name.trim().to_owned())
    });
    let name = names.next().unwrap_or_else(|| "a processor".to_owned());
    format!("{} x {name}", 1 + names.count())
}

fn load() -> f64 {
    let text = line("/proc/loadavg");
    let first = text.split(' ').next().unwrap_or_default();
    first.parse().unwrap_or_default()
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=8", "HEAD"]) else {
        return String::new();
    };
    let sources = [":/", ":(top,exclude)docs/results"];
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    match git(&[&status[..], &sources].concat()) {
        Some(changes) if !changes.is_empty() => format!("{commit}, with changes"),
        _ => commit,
    }
}

/// Each step needs the last one's result, so that only the clock of the processor counts.
fn calibrate() -> Duration {
    let began = Instant::now();
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
    began.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_states_all_of_it() {
        let machine = Machine {
            processor: "2 x Processor".into(),
            kernel: "6.1.0".into(),
            commit: "0123abcd, with changes".into(),
            load: 0.123,
            calibration: Duration::from_micros(250_040),
        };
        assert_eq!(
            machine.to_string(),
            "2 x Processor, Linux 6.1.0, commit 0123abcd, with changes, load average 0.12 at the start, \
             calibration loop 250.0 ms"
        );
        let without = Machine {
            commit: String::new(),
            ..machine
        };
        assert!(without.to_string().contains("commit unknown"));
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_processor() {
        assert!(!line("/proc/sys/kernel/osrelease").is_empty());
        assert!(processor().contains(" x "));
        assert!(load() >= 0.0);
    }
}
