//! A model in C as a program of this machine, for tests that compare it with its core: no rights are needed.

use crate::Outgoing;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The running program.
#[derive(Debug)]
pub struct Native {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    _folder: Folder,
}

/// A folder that is removed.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // it may be in use no more than a moment
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Native {
    /// Of `bpf/PROGRAM.c` in a crate's folder, by a name of the test; other folders with headers are named from the crate's.
    ///
    /// # Panics
    /// If it cannot be compiled.
    pub fn compile(of_crate: &str, program: &str, headers: &[&str], name: &str) -> Self {
        let folder = format!("brimful-{program}-{name}-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(folder));
        std::fs::create_dir_all(&folder.0).expect("a folder");
        let compiled = folder.0.join(program);
        let of_crate = Path::new(of_crate);
        let source = of_crate.join(format!("bpf/{program}.c"));
        let headers = headers.iter().map(|folder| of_crate.join(folder));
        // what C leaves undefined ends the program
        let status = Command::new("clang")
            .args(["-O2", "-Wall", "-Werror", "-fsanitize=undefined"])
            .args(["-fsanitize-trap=undefined", "-o"])
            .args([&compiled, &source])
            .args(headers.flat_map(|folder| ["-I".into(), folder.into_os_string()]))
            .status();
        assert!(status.expect("clang").success());
        let mut child = Command::new(compiled)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let output = child.stdout.take().expect("piped");
        Self {
            input: child.stdin.take(),
            output,
            child,
            _folder: folder,
        }
    }

    /// What so many events resulted in, each of so many bytes; no more of both than a pipe holds.
    ///
    /// # Panics
    /// If it did what C leaves undefined.
    pub fn run(&mut self, events: &[u8], count: usize, each: usize) -> Vec<u8> {
        let input = self.input.as_mut().expect("open");
        input.write_all(events).expect("it takes events");
        let mut bytes = vec![0; count * each];
        self.output
            .read_exact(&mut bytes)
            .expect("it answers, and nothing undefined was done");
        bytes
    }

    /// What it makes of each packet: so many words. Of programs that take packets as [`Outgoing::event`] has them.
    ///
    /// # Panics
    /// As [`Self::run`].
    pub fn words<const WORDS: usize>(&mut self, packets: &[Outgoing]) -> Vec<[u32; WORDS]> {
        /// Packets that a pipe holds, both ways.
        const BATCH: usize = 100;
        let mut all = Vec::new();
        for part in packets.chunks(BATCH) {
            let asked: Vec<u8> = part.iter().flat_map(Outgoing::event).collect();
            let bytes = self.run(&asked, part.len(), WORDS * 4);
            for result in bytes.chunks_exact(WORDS * 4) {
                let mut words = [0; WORDS];
                for (word, four) in words.iter_mut().zip(result.as_chunks::<4>().0) {
                    *word = u32::from_ne_bytes(*four);
                }
                all.push(words);
            }
        }
        all
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.input = None;
        let status = self.child.wait().expect("it ends");
        assert!(status.success() || std::thread::panicking(), "{status}");
    }
}
