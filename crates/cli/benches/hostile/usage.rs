//! What a daemon takes of the machine.

use crate::support::Namespace;

/// What a process takes at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Resident memory that is its own, bytes.
    pub resident: u64,
    /// What the queues of its sockets hold, as the kernel counts it (`ss -m`: `r` and `w`), bytes.
    pub sockets: u64,
    /// What its UDP sockets may hold (`rb` and `tb`): part of the configuration, bytes.
    pub datagram_buffers: u64,
    pub descriptors: u64,
    pub threads: u64,
    /// TCP sockets of its namespace that belong to no process and are still sent from.
    pub orphans: u64,
}

impl Usage {
    /// Of a process of this namespace; nothing if it has ended.
    pub fn of(host: &Namespace, pid: u32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let number = |key: &str| {
            let line = status.lines().find_map(|l| l.strip_prefix(key))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
        let mut usage = Self {
            resident: number("RssAnon:")? * 1_024,
            descriptors: descriptors as u64,
            threads: number("Threads:")?,
            ..Self::default()
        };
        usage.add_sockets(&host.sh("ss -Hntuamp"), pid);
        Some(usage)
    }

    /// Adds those of `ss`: a line for each socket, and one with its memory, which may be the same.
    fn add_sockets(&mut self, text: &str, pid: u32) {
        let (process, mut is_its, mut is_udp) = (format!("pid={pid},"), false, false);
        for line in text.lines() {
            if !line.starts_with([' ', '\t']) {
                let is_sending =
                    ["FIN-WAIT-1", "CLOSING", "LAST-ACK"].map(|state| line.contains(state));
                self.orphans += u64::from(is_sending.contains(&true) && !line.contains("pid="));
                is_its = line.contains(&process);
                is_udp = line.starts_with("udp");
            }
            let Some((_, memory)) = line.split_once("skmem:(") else {
                continue;
            };
            if !is_its {
                continue;
            }
            for field in memory.split([',', ')']) {
                let digits = field.trim_start_matches(char::is_alphabetic);
                let value: u64 = digits.parse().unwrap_or(0);
                match &field[..field.len() - digits.len()] {
                    "r" | "w" => self.sockets += value,
                    "rb" | "tb" if is_udp => self.datagram_buffers += value,
                    _ => {}
                }
            }
        }
    }

    /// Memory of the process and of its sockets.
    pub fn memory(&self) -> u64 {
        self.resident + self.sockets
    }
}
