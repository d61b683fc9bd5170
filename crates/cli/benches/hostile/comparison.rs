//! What a well-behaved user keeps beside each attacker: its share and its connection time, without and with it in
//! turns of one run.

use crate::attackers::{ATTACKERS, Attacker};
use crate::pace::{Stop, StopOnDrop};
use crate::users::{Measured, User, measure};
use crate::world::{Part, World};
use scenario::{Estimate, estimate};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// The share that a user keeps, at least.
const SHARE: f64 = 0.9;
/// Its connection time, at most, in those without the attacker.
const CONNECTION: f64 = 2.0;

/// An attacker is at work for so long before anything is measured.
const LEAD: Duration = Duration::from_secs(3);
/// What it has left has gone after so long.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Prints the attackers.
pub fn list() {
    for attacker in ATTACKERS {
        let victim = attacker.victim.name();
        println!("{}: {victim}: {}", attacker.name, attacker.what);
    }
}

/// Measured values of an attacker, by repeats.
struct Row {
    attacker: &'static Attacker,
    without: Vec<Measured>,
    with: Vec<Measured>,
}

/// Measures all, or those that are named. False where a user keeps too little.
pub fn run(repeats: usize, only: &[String], out: Option<&Path>) -> bool {
    for name in only {
        if !ATTACKERS.iter().any(|a| a.name == name) {
            eprintln!("hostile: --only {name}: no such attacker; --list prints them");
            return false;
        }
    }
    let is_chosen = |a: &&Attacker| only.is_empty() || only.iter().any(|name| name == a.name);
    let mut rows: Vec<Row> = ATTACKERS
        .iter()
        .filter(is_chosen)
        .map(|attacker| Row {
            attacker,
            without: Vec::new(),
            with: Vec::new(),
        })
        .collect();
    let (machine, began) = (crate::machine(), Instant::now());
    let world = World::start();
    for repeat in 1..=repeats {
        for row in &mut rows {
            let (without, with) = pair(&world, row.attacker);
            eprintln!(
                "{repeat}/{repeats} {}: {:.4} of its rate, {:.2} of its connection time ({:.1} ms)",
                row.attacker.name,
                with.rate / without.rate,
                with.connection / without.connection,
                without.connection * 1e3,
            );
            row.without.push(without);
            row.with.push(with);
        }
    }
    let mut faults: Vec<String> = Vec::new();
    faults.extend(world.stop().into_iter().map(|(_, text)| text));
    for text in &faults {
        eprintln!("{text}");
    }
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    let head = format!("{repeats} repeats, {minutes:.0} minutes: {machine}");
    let is_written = crate::publish(&page(&rows, &head), out);
    is_written && faults.is_empty() && rows.iter().all(Row::holds)
}

/// Without the attacker, and with it.
fn pair(world: &World, attacker: &Attacker) -> (Measured, Measured) {
    let without = measure(world, attacker.user);
    let stop = Stop::default();
    let with = std::thread::scope(|scope| {
        let _end = StopOnDrop(stop.clone());
        scope.spawn(|| (attacker.run)(world, &stop));
        std::thread::sleep(LEAD);
        measure(world, attacker.user)
    });
    std::thread::sleep(DRAIN_TIME);
    for part in Part::ALL {
        if let Some(text) = world.has_ended(part) {
            panic!("beside {}: {text}", attacker.name);
        }
    }
    (without, with)
}

impl Row {
    fn ratios(&self, of: fn(&Measured) -> f64) -> Estimate {
        let pairs = self.with.iter().zip(&self.without);
        let ratios: Vec<f64> = pairs
            .map(|(with, without)| of(with) / of(without))
            .collect();
        estimate(&ratios)
    }

    fn share(&self) -> Estimate {
        self.ratios(|m| m.rate)
    }

    fn connection(&self) -> Estimate {
        self.ratios(|m| m.connection)
    }

    /// The whole intervals lie within the bounds.
    fn holds(&self) -> bool {
        let (share, connection) = (self.share(), self.connection());
        share.mean - share.ci95 >= SHARE && connection.mean + connection.ci95 <= CONNECTION
    }
}

fn rate_of(user: User, rate: f64) -> String {
    match user {
        User::Tcp(_) | User::Quic => format!("{:.1} Mbit/s", rate * 8e-6),
        User::Radio => format!("{rate:.0} reports/s"),
        User::Scraper(..) => format!("{rate:.0} scrapes/s"),
    }
}

fn page(rows: &[Row], head: &str) -> String {
    let mut text = format!("{PAGE_HEAD}\nMeasured: {head}.\n\n");
    // writing to a text cannot fail
    let _ = writeln!(
        text,
        "| attacker | at | what it does | user without it | share kept | connection time | verdict |\n\
         | --- | --- | --- | --- | --- | --- | --- |"
    );
    for row in rows {
        let rates: Vec<f64> = row.without.iter().map(|m| m.rate).collect();
        let times: Vec<f64> = row.without.iter().map(|m| m.connection * 1e3).collect();
        let (share, connection) = (row.share(), row.connection());
        let verdict = if row.holds() {
            "holds"
        } else {
            "does not hold"
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {}, {:.1} ms | {:.3} ± {:.3} | {:.2} ± {:.2} | {verdict} |",
            row.attacker.name,
            row.attacker.victim.name(),
            row.attacker.what,
            rate_of(row.attacker.user, estimate(&rates).mean),
            estimate(&times).mean,
            share.mean,
            share.ci95,
            connection.mean,
            connection.ci95,
        );
    }
    text
}

const PAGE_HEAD: &str = "\
# A well-behaved user beside each attacker

Written by `make bench-faults`. In each repeat a user's rate and its connection time are measured without the attacker
and then beside it; the table has the means of the ratios with their 95 % confidence intervals (Student's t). An attacker's
row *holds* if both whole intervals lie within the bounds: at least 0.9 of the rate is kept, and connections take at most
twice as long. Connection time is the mean of 100 until the first byte of an answer; one that does not come counts as 10 s.
All daemons run, on one machine, in namespaces: the UEs' link and the tunnel's wires have 100 Mbit/s; the radio reports 95 of
them to the proxy, and as served what the link carries. The attackers' own processor time is part of what they cost. The rate is of a
download by TCP through the proxy or the tunnel, or by QUIC; of the radio information service of the 100 reports a second of a
bridge, as a reader gets them (connection: a query of one UE's bearers); at `/metrics` of scrapes one after the other, 10 ms
between them.
";
