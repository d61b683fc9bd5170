//! The faults that the soak mixes: those of docs/results/faults.md that can happen again and again while users are
//! served.

use crate::attackers::{ATTACKERS, Attacker};
use crate::pace::Stop;
use crate::world::{Part, Reports, World};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Between two restarts, and two upgrades.
const RESTART_INTERVAL: Duration = Duration::from_secs(3);

/// What is done to a daemon until the end.
#[derive(Clone, Copy)]
pub enum Fault {
    /// By a user or a stranger.
    Attack(&'static Attacker),
    /// By the machine or its operator: the daemon is another process afterwards.
    Restart(&'static str, fn(&World) -> bool),
    /// By the source of reports.
    Report(&'static str, fn(&World, &Stop)),
}

impl Fault {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Attack(attacker) => attacker.name,
            Self::Restart(name, _) | Self::Report(name, _) => name,
        }
    }

    /// Runs it until the end. Gives how often it was done, and how often it failed.
    pub fn run(&self, world: &World, stop: &Stop) -> (u64, u64) {
        match self {
            Self::Attack(attacker) => {
                (attacker.run)(world, stop);
                (1, 0)
            }
            Self::Report(_, run) => {
                run(world, stop);
                world.report(Reports::AsTheyAre);
                world.radio.silent.store(false, Relaxed);
                (1, 0)
            }
            Self::Restart(_, run) => {
                let (mut done, mut failed) = (0, 0);
                loop {
                    done += 1;
                    failed += u64::from(!run(world));
                    if !stop.wait(RESTART_INTERVAL) {
                        return (done, failed);
                    }
                }
            }
        }
    }
}

/// The faults of a daemon, which happen one after the other; those of several tracks concurrently.
pub struct Track {
    pub name: &'static str,
    pub faults: Vec<Fault>,
}

/// All of them.
pub fn tracks() -> Vec<Track> {
    let attacks = |victim| ATTACKERS.iter().filter(move |a| a.victim == victim);
    let track = |name, victim, more: &[Fault]| Track {
        name,
        faults: attacks(victim)
            .map(Fault::Attack)
            .chain(more.iter().copied())
            .collect(),
    };
    vec![
        track(
            "proxy",
            Part::Pep,
            &[
                Fault::Restart("upgrade", World::upgrade),
                Fault::Restart("kill -9", |world| kill(world, Part::Pep)),
            ],
        ),
        track(
            "tunnel",
            Part::TunnelServer,
            &[
                Fault::Restart("kill -9 of the server", |world| {
                    kill(world, Part::TunnelServer)
                }),
                Fault::Restart("kill -9 of the client", |world| {
                    kill(world, Part::TunnelClient)
                }),
            ],
        ),
        track(
            "QUIC server",
            Part::Quic,
            &[Fault::Restart("kill -9", |world| kill(world, Part::Quic))],
        ),
        track(
            "radio information service",
            Part::Rnis,
            &[Fault::Restart("kill -9", |world| kill(world, Part::Rnis))],
        ),
        Track {
            name: "radio",
            faults: vec![
                Fault::Report("reports stop", |world, stop| {
                    // so that they come back within it
                    while !stop.is_set() {
                        world.radio.silent.store(true, Relaxed);
                        stop.wait(Duration::from_secs(1));
                        world.radio.silent.store(false, Relaxed);
                        stop.wait(Duration::from_secs(1));
                    }
                }),
                Fault::Report("reports come late", |world, stop| {
                    during(world, Reports::Late, stop);
                }),
                Fault::Report("reports come fifty times", |world, stop| {
                    during(world, Reports::Repeated, stop);
                }),
                Fault::Report("absurd reports", |world, stop| {
                    during(world, Reports::Absurd, stop);
                }),
                Fault::Report("lines that are no reports", |world, stop| {
                    while stop.wait(Duration::from_millis(20)) {
                        world
                            .radio
                            .send_raw(b"{\"cell\":{\"id\":1e99}}\n\xff\xfe\n[]\n");
                    }
                }),
                Fault::Report("40 UEs come and go ten times a second", |world, stop| {
                    during(world, Reports::ComingAndGoing, stop);
                }),
            ],
        },
    ]
}

fn kill(world: &World, part: Part) -> bool {
    world.kill_and_restart(part);
    true
}

fn during(world: &World, kind: Reports, stop: &Stop) {
    world.report(kind);
    while stop.wait(Duration::from_secs(1)) {}
}
