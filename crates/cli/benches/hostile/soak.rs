//! The soak: all faults mixed for half an hour, while users are served. Nothing may grow, be cut, or get stuck.
//!
//! Time is six cycles; in each, every track goes through all of its faults. Daemons are killed and upgraded in the
//! third and fourth cycle only, so that the first and the last third have the same faults in the same order.

use crate::faults::{Fault, Track, tracks};
use crate::http;
use crate::pace::{Stop, StopOnDrop};
use crate::support::{SERVER, SERVER_V6};
use crate::usage::Usage;
use crate::users::{self, End, Tally};
use crate::world::{self, Part, World};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const CYCLES: u32 = 6;
/// Cycles in which daemons are restarted.
const RESTARTS: std::ops::Range<u32> = 2..4;
/// Between two looks at the daemons.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Measured beside what the configuration allows, at most.
const BEYOND: f64 = 1.2;
/// Growth from the first third to the last that is none: what allocators keep.
const GROWTH: (f64, f64) = (1.1, 8e6);
/// The same of descriptors and threads.
const COUNT_GROWTH: (f64, f64) = (1.1, 16.0);

/// What was done, by track and name: how often, for how long, how often it failed.
type Done = Mutex<BTreeMap<(&'static str, &'static str), (u64, f64, u64)>>;

/// A daemon over time.
#[derive(Default)]
struct Course {
    at_rest: Usage,
    /// By third of the time.
    thirds: [Vec<Usage>; 3],
    left: Usage,
    faults: Vec<String>,
}

/// Users, by name.
struct Users {
    tallies: Vec<(&'static str, Tally)>,
}

const PROXY: &str = "TCP through the proxy";
const PROXY_V6: &str = "the same by IPv6";
const SHARING_V6: &str = "the same by IPv6, in the attacker's /64";
const TUNNEL: &str = "TCP through the tunnel";
const QUIC: &str = "files by HTTP/3";
const REPORTS: &str = "reports of a bridge";
const QUERIES: &str = "queries of the radio information service";
const SCRAPES: &str = "scrapes of all daemons";

impl Users {
    fn new() -> Self {
        let names = [
            PROXY, PROXY_V6, SHARING_V6, TUNNEL, QUIC, REPORTS, QUERIES, SCRAPES,
        ];
        Self {
            tallies: names.map(|name| (name, Tally::default())).into(),
        }
    }

    fn of(&self, name: &str) -> &Tally {
        let found = self.tallies.iter().find(|(of, _)| *of == name);
        &found.expect("a user").1
    }

    fn violations(&self) -> u64 {
        self.tallies
            .iter()
            .map(|(_, tally)| tally.violations())
            .sum()
    }
}

/// Runs for so many minutes. False where something does not hold.
pub fn run(minutes: f64, out: Option<&Path>) -> bool {
    let machine = crate::machine();
    let world = World::start();
    let (users, done) = (Users::new(), Done::default());
    let mut courses: BTreeMap<Part, Course> = BTreeMap::new();
    for part in Part::ALL {
        let at_rest = usage(&world, part).expect("it runs");
        let course = Course {
            at_rest,
            ..Course::default()
        };
        courses.insert(part, course);
    }
    let (stop, time) = (Stop::default(), Duration::from_secs_f64(minutes * 60.0));
    std::thread::scope(|scope| {
        let (world, users, stop) = (&world, &users, &stop);
        let _end = StopOnDrop(stop.clone());
        let v6 = SERVER_V6.parse().expect("an address");
        let addresses = [
            (PROXY, IpAddr::V4(SERVER), None, 3),
            (PROXY_V6, v6, Some(world::NEIGHBOUR_V6), 1),
            (SHARING_V6, v6, Some(world::SHARING_V6), 1),
            (TUNNEL, IpAddr::V4(world::INSIDE), None, 2),
        ];
        for (name, address, from, count) in addresses {
            for _ in 0..count {
                scope.spawn(move || users::exchanges(world, address, from, users.of(name), stop));
            }
        }
        scope.spawn(move || users::downloads(world, users.of(QUIC), stop));
        scope.spawn(move || {
            users::radio_users(world, users.of(REPORTS), users.of(QUERIES), stop);
        });
        scope.spawn(move || scrape(world, users.of(SCRAPES), stop));
        let began = Instant::now();
        let tracks = tracks();
        std::thread::scope(|scope| {
            for track in &tracks {
                scope.spawn(|| go_through(track, world, &done, began, time));
            }
            look_at(world, users, &mut courses, began, time);
        });
        stop.set();
    });
    // what closes has closed
    std::thread::sleep(Duration::from_secs(10));
    for part in Part::ALL {
        let course = courses.get_mut(&part).expect("of each");
        course.left = usage(&world, part).unwrap_or_default();
    }
    let logged = world.log_bytes();
    for (part, text) in world.stop() {
        courses.get_mut(&part).expect("of each").faults.push(text);
    }
    let result = Outcome {
        courses,
        users,
        done: done.into_inner().expect("no thread has panicked"),
        logged,
    };
    let is_written = crate::publish(&result.page(minutes, &machine), out);
    let holds = result.holds();
    is_written && holds
}

/// What a daemon takes; of the proxy with what waits in pipes.
fn usage(world: &World, part: Part) -> Option<Usage> {
    let mut usage = world.usage(part)?;
    if part == Part::Pep
        && let Ok(status) = pep::status(&world.path("pep.sock"))
    {
        usage.sockets += status["waiting_bytes"].as_u64().unwrap_or(0);
    }
    Some(usage)
}

/// The faults of a track, cycle by cycle.
fn go_through(track: &Track, world: &World, done: &Done, began: Instant, time: Duration) {
    let slot = time / CYCLES / track.faults.len() as u32;
    for cycle in 0..CYCLES {
        for (i, fault) in (0..).zip(&track.faults) {
            let until = began + time / CYCLES * cycle + slot * (i + 1);
            let stop = Stop::default();
            let since = Instant::now();
            let is_due = !matches!(fault, Fault::Restart(..)) || RESTARTS.contains(&cycle);
            let (times, failed) = std::thread::scope(|scope| {
                let _end = StopOnDrop(stop.clone());
                let running = is_due.then(|| scope.spawn(|| fault.run(world, &stop)));
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
                stop.set();
                let counts = running.map(|thread| thread.join().expect("no fault panics"));
                counts.unwrap_or_default()
            });
            if is_due {
                let mut done = done.lock().expect("counts");
                let entry = done.entry((track.name, fault.name())).or_default();
                entry.0 += times;
                entry.1 += since.elapsed().as_secs_f64();
                entry.2 += failed;
            }
        }
    }
}

/// Scrapes each daemon once a second.
fn scrape(world: &World, tally: &Tally, stop: &Stop) {
    let all = [
        (Part::Pep, world::PEP_METRICS),
        (Part::Quic, world::QUIC_METRICS),
        (Part::TunnelServer, world::TUNNEL_METRICS),
        (Part::Rnis, world::RNIS_METRICS),
    ];
    while stop.wait(Duration::from_secs(1)) {
        for (part, address) in all {
            let limit = Duration::from_secs(20);
            let answer = world
                .host(part)
                .enter(|| http::get(address, "/metrics", limit));
            let end = match answer {
                Ok((200, body)) if body.ends_with('\n') => End::Whole,
                Ok((200, _)) => End::Cut,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => End::Refused,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => End::Stuck,
                _ => End::Reset,
            };
            tally.add(end, 0);
        }
    }
}

/// Looks at all daemons until the end.
fn look_at(
    world: &World,
    users: &Users,
    courses: &mut BTreeMap<Part, Course>,
    began: Instant,
    time: Duration,
) {
    let mut printed = Instant::now();
    while began.elapsed() < time {
        std::thread::sleep(POLL_INTERVAL);
        let third = (began.elapsed().as_secs_f64() / time.as_secs_f64() * 3.0) as usize;
        for (part, course) in courses.iter_mut() {
            if let Some(usage) = usage(world, *part) {
                course.thirds[third.min(2)].push(usage);
            } else if let Some(text) = world.has_ended(*part)
                && course.faults.is_empty()
            {
                eprintln!("{text}");
                course.faults.push(text);
            }
        }
        if printed.elapsed() > Duration::from_secs(20) {
            printed = Instant::now();
            let memory: Vec<String> = courses
                .iter()
                .map(|(part, course)| {
                    let last = course.thirds.iter().rev().find_map(|t| t.last());
                    let last = last.copied().unwrap_or_default();
                    format!(
                        "{} {:.1} MB {} fds",
                        part.name(),
                        last.memory() as f64 / 1e6,
                        last.descriptors
                    )
                })
                .collect();
            let whole: u64 = users.tallies.iter().map(|(_, t)| t.count(End::Whole)).sum();
            eprintln!(
                "{:5.0} s: {whole} transfers, {} violations; {}",
                began.elapsed().as_secs_f64(),
                users.violations(),
                memory.join(", ")
            );
        }
    }
}

/// What came of it.
struct Outcome {
    courses: BTreeMap<Part, Course>,
    users: Users,
    done: BTreeMap<(&'static str, &'static str), (u64, f64, u64)>,
    logged: u64,
}

/// One figure of what a daemon takes.
type Figure = fn(&Usage) -> u64;

fn peak(usages: &[Usage], of: Figure) -> u64 {
    usages.iter().map(of).max().unwrap_or(0)
}

fn median(usages: &[Usage], of: Figure) -> u64 {
    let mut values: Vec<u64> = usages.iter().map(of).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

impl Course {
    fn peak(&self, of: Figure) -> u64 {
        self.thirds.iter().map(|t| peak(t, of)).max().unwrap_or(0)
    }

    /// At rest and by the configuration, bytes.
    fn bound(&self, part: Part) -> u64 {
        let buffers = self.peak(|u| u.datagram_buffers);
        self.at_rest.memory() + part.allowed() + buffers
    }

    /// What does not hold.
    fn violations(&self, part: Part) -> Vec<String> {
        let mut found = self.faults.clone();
        let (bound, peak_memory) = (self.bound(part), self.peak(Usage::memory));
        if peak_memory as f64 > BEYOND * bound as f64 {
            found.push(format!(
                "{peak_memory} bytes of memory, {bound} by the configuration"
            ));
        }
        let [first, _, last] = &self.thirds;
        let has_grown = |before: u64, after: u64, (factor, more): (f64, f64)| {
            after as f64 > factor * before as f64 + more
        };
        let memory = (median(first, Usage::memory), median(last, Usage::memory));
        if has_grown(memory.0, memory.1, GROWTH) {
            found.push(format!(
                "memory grew from {} to {} bytes",
                memory.0, memory.1
            ));
        }
        let counts: [(&str, Figure, u64); 3] = [
            (
                "sockets of no process",
                |u| u.orphans,
                part.orphans_allowed(),
            ),
            ("descriptors", |u| u.descriptors, part.descriptors_allowed()),
            ("threads", |u| u.threads, part.threads_allowed()),
        ];
        for (what, of, allowed) in counts {
            let (before, after) = (median(first, of), median(last, of));
            if has_grown(before, after, COUNT_GROWTH) {
                found.push(format!("{what} grew from {before} to {after}"));
            }
            let most = self.peak(of);
            if most as f64 > BEYOND * allowed as f64 {
                found.push(format!("{most} {what}, {allowed} by the configuration"));
            }
        }
        let (rest, left) = (self.at_rest.descriptors, self.left.descriptors);
        // pipes are kept for the next connections
        if left > rest + part.descriptors_kept() {
            found.push(format!("{left} descriptors are left, {rest} at rest"));
        }
        found
    }
}

impl Outcome {
    fn holds(&self) -> bool {
        let daemons = self.courses.iter();
        let mut violations: Vec<String> = daemons
            .flat_map(|(part, course)| {
                let found = course.violations(*part).into_iter();
                found.map(|text| format!("{}: {text}", part.name()))
            })
            .collect();
        for (name, tally) in &self.users.tallies {
            if tally.count(End::Whole) == 0 {
                violations.push(format!("{name}: none was whole"));
            }
        }
        let failed = self.done.iter().filter(|(_, (_, _, failed))| *failed > 0);
        violations.extend(
            failed.map(|((track, name), (_, _, n))| format!("{track}: {n} of {name} failed")),
        );
        for text in &violations {
            eprintln!("{text}");
        }
        violations.is_empty() && self.users.violations() == 0
    }

    fn page(&self, minutes: f64, machine: &str) -> String {
        let mut text = format!("{PAGE_HEAD}\nRun: {minutes} minutes, {machine}.\n\n## Daemons\n\n");
        let mb = |bytes: u64| bytes as f64 / 1e6;
        // writing to a text cannot fail
        let _ = writeln!(
            text,
            "| daemon | at rest | bound | peak | median, first and last third | descriptors at rest, peak, left | \
             threads | verdict |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
        );
        for (part, course) in &self.courses {
            let found = course.violations(*part);
            let verdict = if found.is_empty() {
                "holds".to_owned()
            } else {
                let first_lines = found.iter().filter_map(|f| f.lines().next());
                format!(
                    "does not hold: {}",
                    first_lines.collect::<Vec<_>>().join("; ")
                )
            };
            let _ = writeln!(
                text,
                "| {} | {:.1} MB | {:.1} MB | {:.1} MB | {:.1}, {:.1} MB | {}, {}, {} | {} | {verdict} |",
                part.name(),
                mb(course.at_rest.memory()),
                mb(course.bound(*part)),
                mb(course.peak(Usage::memory)),
                mb(median(&course.thirds[0], Usage::memory)),
                mb(median(&course.thirds[2], Usage::memory)),
                course.at_rest.descriptors,
                course.peak(|u| u.descriptors),
                course.left.descriptors,
                course.peak(|u| u.threads),
            );
        }
        let logged = mb(self.logged);
        let _ = writeln!(text, "\nAll logs together: {logged:.2} MB.\n\n## Users\n");
        let _ = writeln!(
            text,
            "| user | whole | payload | reset | not served | cut | other bytes | stuck |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- |"
        );
        for (name, tally) in &self.users.tallies {
            let n = |end| tally.count(end);
            let payload = tally.bytes.load(std::sync::atomic::Ordering::Relaxed);
            let _ = writeln!(
                text,
                "| {name} | {} | {:.2} GB | {} | {} | {} | {} | {} |",
                n(End::Whole),
                payload as f64 / 1e9,
                n(End::Reset),
                n(End::Refused),
                n(End::Cut),
                n(End::Corrupt),
                n(End::Stuck),
            );
        }
        let _ = writeln!(
            text,
            "\n## Faults\n\n| at | fault | times | seconds in all |\n| --- | --- | --- | --- |"
        );
        for ((track, name), (times, seconds, failed)) in &self.done {
            let failed = match failed {
                0 => String::new(),
                n => format!(", {n} failed"),
            };
            let _ = writeln!(
                text,
                "| {track} | {name} | {times}{failed} | {seconds:.0} |"
            );
        }
        text
    }
}

const PAGE_HEAD: &str = "\
# The soak

Written by `make soak`. All daemons run on one machine, in namespaces, while attackers, restarts and a radio that reports nonsense
take turns at each of them concurrently, and users check what they get byte for byte. A transfer is *whole*, *reset* (both ends could see
that it broke), or *not served* (no connection, or an answer that states it); one that is *cut* (an orderly end before
all of it was there), has *other bytes*, or is *stuck* (nothing for a minute) is a violation: there may be none. Users probe their
connections every five seconds (keepalive). One user by IPv6 has an address of the attacker's /64, whose limits it shares: its transfers may be reset with the
attacker's. Each of six cycles has every fault; kills and upgrades are in the third and fourth. The UEs' link has 100 Mbit/s, of which the radio reports 80 to the proxy: files by
HTTP/3 pass it by.

Memory is what is resident of the process itself, with what its sockets hold by the kernel's count (of the proxy, also its pipes). The
bound is memory at rest and what the configuration allows, with the buffers that UDP sockets were given; a daemon *holds* if its peak is at
most 1.2 times that, its median does not grow from the first third to the last by more than a tenth and 8 MB, descriptors and threads
stay within 1.2 times what the configuration allows (their medians do not grow by more than a tenth and 16), and it ends in order without leaving anything on its host.
";
