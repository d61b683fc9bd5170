//! What a server is shown.

use super::{Hosts, Namespace};
use std::collections::BTreeMap;

/// Packets from the UE's address at an interface, and the windows that they show.
pub struct Capture {
    child: std::process::Child,
    file: tempfile::NamedTempFile,
}

/// What a server was shown.
#[derive(Default)]
pub struct Edges {
    /// By each segment, the first byte that may not be sent.
    pub edges: Vec<u32>,
    /// The window of each, bytes.
    pub windows: Vec<u64>,
    /// When each passed, seconds since 1970.
    pub times: Vec<f64>,
    /// The proxy has ended its direction.
    pub has_ended: bool,
    /// The shift of its windows.
    pub scale: u64,
    /// The SYN's window.
    first: Option<u64>,
}

impl Edges {
    /// No segment shows a server less than the one before, but for what the field cannot hold of a window (RFC 7323 2.4); nor
    /// none at all, but for so many times: Linux answers a segment for which it has no memory by a closed window.
    pub fn assert_never_left(&self, what: &str, closed: u64) {
        let unit = 1_i32 << self.scale;
        let mut left = 0;
        for (n, two) in self.edges.windows(2).enumerate() {
            if two[1].wrapping_sub(two[0]).cast_signed() > -unit {
                continue;
            }
            left += 1;
            assert!(
                self.windows[n + 1] == 0 && left <= closed,
                "{what}: {two:?}, and {closed} segments without memory"
            );
        }
    }
}

/// When a segment passed, seconds since 1970.
fn time(line: &str) -> f64 {
    let stamp = line.split(' ').next().expect("a word");
    stamp.parse().expect("a time")
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Capture {
    /// In the order in which they leave the proxy. (Of those of one connection, two that leave on two processors may
    /// overtake each other on their way.)
    pub fn start(hosts: &Hosts) -> Self {
        Self::at(&hosts.proxy, "wan0")
    }

    /// In the order in which they pass an interface.
    pub fn at(host: &Namespace, interface: &str) -> Self {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut child = host
            .enter(|| {
                std::process::Command::new("tcpdump")
                    .args([
                        "-i",
                        interface,
                        "-n",
                        "-S",
                        "-l",
                        "-tt",
                        "-U",
                        "-B",
                        "16384",
                        "-Z",
                        "root",
                        "tcp and src 10.45.0.2",
                    ])
                    .stdout(file.reopen().expect("the file"))
                    .stderr(std::process::Stdio::piped())
                    .spawn()
            })
            .expect("tcpdump can be run");
        let mut stderr = std::io::BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            std::io::BufRead::read_line(&mut stderr, &mut line).expect("a line");
            assert!(!line.is_empty(), "tcpdump has ended");
        }
        // its last lines must find a reader
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, file }
    }

    /// What each connection to this port was shown, by the client's port.
    pub fn edges(&self, port: u16) -> BTreeMap<u16, Edges> {
        self.edges_with(port, true)
    }

    /// The same where the server scales no windows.
    pub fn unscaled_edges(&self, port: u16) -> BTreeMap<u16, Edges> {
        self.edges_with(port, false)
    }

    fn edges_with(&self, port: u16, is_scaled: bool) -> BTreeMap<u16, Edges> {
        let text = std::fs::read_to_string(self.file.path()).expect("text");
        // the last line may be half written
        let text = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let to = format!("> 10.99.0.2.{port}:");
        let mut all: BTreeMap<u16, Edges> = BTreeMap::new();
        for line in text.lines().filter(|line| line.contains(&to)) {
            let after = |word: &str| {
                let rest = line.split(word).nth(1)?;
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<u64>().ok()
            };
            let from = after(" IP 10.45.0.2.").expect("a port") as u16;
            let of = all.entry(from).or_default();
            if line.contains("Flags [S]") {
                let offered = after("wscale ").expect("a scale");
                of.scale = if is_scaled { offered } else { 0 };
                of.first = after(" win ");
                continue;
            }
            if line.contains("Flags [R") {
                continue;
            }
            of.has_ended |= line.contains("Flags [F");
            if let (Some(ack), Some(window)) = (after(" ack "), after(" win ")) {
                // the first acknowledgement states what the SYN's window, which is not scaled, begins with
                let first = of.first.take();
                for window in first.into_iter().chain([window << of.scale]) {
                    of.edges.push((ack + window) as u32);
                    of.windows.push(window);
                    of.times.push(time(line));
                }
            }
        }
        all
    }

    /// The last window shown to this port, bytes.
    pub fn last_window(&self, port: u16) -> Option<f64> {
        let text = std::fs::read_to_string(self.file.path()).expect("text");
        // the last line may be half written
        let text = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let (mut last, mut scale) = (None, None);
        let to = format!("> 10.99.0.2.{port}:");
        for line in text.lines().filter(|line| line.contains(&to)) {
            assert!(
                line.contains(" IP 10.45.0.2."),
                "the UE's own address: {line}"
            );
            let after = |word: &str| {
                let rest = line.split(word).nth(1)?;
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<u64>().ok()
            };
            if line.contains("Flags [S]") {
                scale = after("wscale ");
                continue;
            }
            let (Some(window), Some(scale)) = (after(" win "), scale) else {
                continue;
            };
            last = Some((window << scale) as f64);
        }
        last
    }
}
