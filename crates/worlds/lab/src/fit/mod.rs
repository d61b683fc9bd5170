//! An experiment as this machine can run it in real time: scaled down where it is too fast, and with
//! congestion controls that the kernel has.
//!
//! What is changed is stated: in [`Fitted::notes`], which the command prints and results keep.

mod kernel;
mod queues;
mod scale;

pub(crate) use kernel::{kernel_name, known};
pub use scale::scaled;

use radio::trace::{Content, Playback, Trace};
use radio::{TbsTable, max_mcs};
use ran::CellConfig;
use scenario::{
    AccessSpec, AppSpec, CellSpec, ChannelSpec, Experiment, LinkSpec, NamedCell, TraceSpec,
    TunnelAccess, UeSpec,
};
use std::num::NonZeroU32;
use units::{BitRate, Bytes, Duration, Mcs};

/// Fastest access that a lab emulates in full, bit/s of each direction, of up to `FEW_UES`: the
/// scenarios of 852.6 Mbit/s, with up to 25 flows and a proxy, kept time on two cores (slots late by
/// less than 0.4 ms at the 99th percentile).
pub const MAX_RATE: BitRate = BitRate::from_mbps(900);
/// UEs up to which [`MAX_RATE`] holds.
pub const FEW_UES: usize = 8;
/// The same with more UEs: packets for different UEs cannot be handed to the kernel together. Twenty
/// UEs at 852.6 Mbit/s had slots that were late by more than 1 ms at the 99th percentile.
pub const MAX_RATE_OF_MANY: BitRate = BitRate::from_mbps(300);
/// Most datagrams of all flows together, a second: each costs system calls of its own.
pub const MAX_DATAGRAMS: u64 = 40_000;

/// An experiment as it is run.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The experiment to run.
    pub experiment: Experiment,
    /// Rates and sizes were multiplied by this, above 0, at most 1.
    pub scale: f64,
    /// What differs from the scenario, one sentence each.
    pub notes: Vec<String>,
}

/// The experiment as a lab runs it: divided by `forced` if that is given, else by the least whole
/// number that brings it under [`MAX_RATE`] and [`MAX_DATAGRAMS`]; and with congestion controls of
/// `available`, which is the kernel's list.
pub fn fit(experiment: &Experiment, forced: Option<NonZeroU32>, available: &str) -> Fitted {
    let rate = fastest(experiment);
    let datagrams = datagrams_a_second(experiment);
    let max = match experiment.ues.len() > FEW_UES {
        true => MAX_RATE_OF_MANY,
        false => MAX_RATE,
    };
    let needed = rate
        .as_bps()
        .div_ceil(max.as_bps())
        .max(datagrams.div_ceil(MAX_DATAGRAMS))
        .clamp(1, u64::from(u32::MAX));
    let divisor = forced.map_or(needed, |n| u64::from(n.get()));
    let mut notes = Vec::new();
    let (mut experiment, scale) = match divisor {
        1 => (experiment.clone(), 1.0),
        divisor => {
            let (experiment, scale) = scaled(experiment, divisor as u32);
            let why = match forced {
                Some(_) => "as requested".to_owned(),
                None if rate > max => format!(
                    "its access carries up to {rate} to {}, and a lab holds {max} of so many",
                    ues(experiment.ues.len())
                ),
                None => format!(
                    "its flows send {datagrams} datagrams a second, and a lab holds {MAX_DATAGRAMS}"
                ),
            };
            notes.push(format!(
                "scaled to {scale:.3}: rates, sizes and buffers are multiplied by it, times are \
                 kept ({why})"
            ));
            (experiment, scale)
        }
    };
    notes.extend(kernel::substitute(&mut experiment.flows, available));
    Fitted {
        experiment,
        scale,
        notes,
    }
}

fn ues(count: usize) -> String {
    match count {
        1 => "1 UE".to_owned(),
        count => format!("{count} UEs"),
    }
}

/// What the access carries at most in one direction.
fn fastest(experiment: &Experiment) -> BitRate {
    let of_link = |link: &LinkSpec| {
        let steps = link.rate_steps.iter().map(|&(_, rate)| rate);
        steps.fold(link.rate.max(link.uplink_rate), BitRate::max)
    };
    let of_cell = |cell: &CellSpec| {
        let rates = experiment.ues.iter().map(|ue| fastest_of(cell, ue));
        rates.max().unwrap_or(BitRate::ZERO)
    };
    let sum = |rates: &mut dyn Iterator<Item = BitRate>| {
        rates.fold(BitRate::ZERO, |sum, rate| {
            BitRate::from_bps(sum.as_bps().saturating_add(rate.as_bps()))
        })
    };
    let of_access = || match (&experiment.access, &experiment.cells) {
        (AccessSpec::Link(link), _) => of_link(link),
        // each may be busy with a user of its own
        (AccessSpec::Cell(_), Some(spec)) => sum(&mut spec.cells.iter().map(fastest_of_one)),
        (AccessSpec::Cell(cell), None) => of_cell(cell),
    };
    let access = match &experiment.tunnel {
        None => of_access(),
        Some(tunnel) => {
            let paths = tunnel.paths.iter().map(|path| match &path.access {
                TunnelAccess::Link(link) => of_link(link),
                TunnelAccess::Cell => of_access(),
            });
            sum(&mut { paths })
        }
    };
    // the way from the servers may be slower; the way up is of the same rate
    access.min(experiment.path.rate)
}

/// What a UE alone could be sent, over its best slot (of a trace that states rates: over its best step), or send where
/// its uplink was recorded, if that is more.
fn fastest_of(cell: &CellSpec, ue: &UeSpec) -> BitRate {
    let recorded = |it: &TraceSpec| rate_of_trace(&it.trace, &it.playback);
    let uplink = ue.uplink.as_ref().and_then(recorded);
    fastest_downlink_of(cell, ue).max(uplink.unwrap_or(BitRate::ZERO))
}

/// What one of several cells could send a UE.
fn fastest_of_one(cell: &NamedCell) -> BitRate {
    let recorded = cell.traces.first();
    let recorded = recorded.and_then(|it| rate_of_trace(&it.trace, &it.playback));
    let config = &cell.spec.config;
    recorded.unwrap_or_else(|| whole_carrier(config, max_mcs(config.mcs_table)))
}

fn fastest_downlink_of(cell: &CellSpec, ue: &UeSpec) -> BitRate {
    if let ChannelSpec::Trace(TraceSpec {
        trace, playback, ..
    }) = &ue.channel
        && let Some(rate) = rate_of_trace(trace, playback)
    {
        return rate;
    }
    let config = &cell.config;
    let mcs = match ue.channel {
        ChannelSpec::ConstantMcs { mcs, .. } => mcs,
        _ => max_mcs(config.mcs_table),
    };
    whole_carrier(config, mcs)
}

/// What all PRBs carry with an MCS.
fn whole_carrier(config: &CellConfig, mcs: Mcs) -> BitRate {
    let (re, slot) = (config.data_re_per_prb, config.rat.slot_duration());
    // a table that cannot be is the cell's to refuse
    TbsTable::new(config.mcs_table, config.layers, re, config.n_prb)
        .map_or(BitRate::ZERO, |table| {
            BitRate::from_bytes_per(table.bytes(mcs, config.n_prb), slot)
        })
}

/// The greatest rate of a trace that states how much a slot carries; none of one that states how well.
fn rate_of_trace(trace: &Trace, playback: &Playback) -> Option<BitRate> {
    let over_a_window =
        |packets: u64, window: Duration| BitRate::from_bytes_per(playback.packet * packets, window);
    match &trace.content {
        Content::Rate(rates) => rates.steps().iter().map(|step| step.rate).max(),
        Content::Opportunities(opportunities) => {
            let mut most = 0;
            let steps = opportunities.steps();
            let mut first = 0;
            let mut packets = 0;
            for step in steps {
                packets += step.packets.get();
                while step.at.saturating_sub(steps[first].at) >= WINDOW {
                    packets -= steps[first].packets.get();
                    first += 1;
                }
                most = most.max(packets);
            }
            Some(over_a_window(most, WINDOW))
        }
        Content::PacketsPerTick(packets) => {
            let most = packets.values().map(|n| n.get()).max()?;
            Some(over_a_window(most, playback.tick))
        }
        _ => None,
    }
}

/// Over which the rate of delivery opportunities is counted.
const WINDOW: Duration = Duration::from_millis(100);

fn datagrams_a_second(experiment: &Experiment) -> u64 {
    let second = Duration::from_secs(1);
    let of = |app: &AppSpec| match *app {
        AppSpec::Cbr { rate, packet, .. } => {
            rate.bytes_in(second).get() / packet.max(Bytes::new(1)).get()
        }
        AppSpec::Voip { interval, .. } | AppSpec::Gaming { interval, .. } => {
            second.as_nanos() / interval.as_nanos().max(1)
        }
        _ => 0,
    };
    experiment.flows.iter().map(|flow| of(&flow.app)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use queue::Capacity;
    use scenario::{Overrides, PepMode, Transport};
    use std::path::Path;

    /// What a stock kernel has.
    const STOCK: &str = "reno cubic bbr";

    fn experiment(name: &str) -> Experiment {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/rapid");
        let points = scenario::load(&folder.join(name), &Overrides::default());
        let mut points = points.unwrap_or_else(|error| panic!("{name}: {error}"));
        points.remove(0).experiment
    }

    fn cell(experiment: &Experiment) -> &CellSpec {
        match &experiment.access {
            AccessSpec::Cell(cell) => cell,
            AccessSpec::Link(_) => panic!("a cell"),
        }
    }

    #[test]
    fn what_the_machine_holds_is_run_as_it_is() {
        for name in ["oai-fast.toml", "fast-embb-los.toml", "trace-drive.toml"] {
            let fitted = fit(&experiment(name), None, STOCK);
            assert_eq!((fitted.scale, fitted.notes.len()), (1.0, 0), "{name}");
        }
    }

    #[test]
    fn many_users_are_scaled_until_they_fit_with_a_note() {
        let before = experiment("many-ues.toml");
        let fitted = fit(&before, None, STOCK);
        assert_eq!(cell(&before).config.n_prb.get(), 132);
        assert_eq!(cell(&fitted.experiment).config.n_prb.get(), 44);
        assert_eq!(fitted.scale, 44.0 / 132.0);
        assert!(fastest(&fitted.experiment) <= MAX_RATE_OF_MANY);
        assert!(
            fitted.notes[0].contains("scaled to 0.333"),
            "{}",
            fitted.notes[0]
        );
        assert!(
            fitted.notes[0].contains("852.608 Mbit/s to 21 UEs"),
            "{}",
            fitted.notes[0]
        );
    }

    /// Packets of 1,500 bytes on a carrier of half as many PRBs: of 750 bytes.
    #[test]
    fn an_uplinks_trace_is_scaled_with_its_cell_and_counts_for_its_speed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let load = |trace: &str| {
            let overrides = Overrides {
                uplink_trace: Some(root.join(trace)),
                ..Overrides::default()
            };
            let file = root.join("scenarios/rapid/trace-drive.toml");
            scenario::load(&file, &overrides)
                .expect("valid")
                .remove(0)
                .experiment
        };
        let before = load("traces/bursty.csv");
        let (after, ratio) = scaled(&before, 2);
        let packet = |e: &Experiment| e.ues[0].uplink.as_ref().expect("a trace").playback.packet;
        assert_eq!(
            (ratio, packet(&before).get(), packet(&after).get()),
            (0.5, 1500, 750)
        );
        // 5 Gbit/s up are more than any downlink of it
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("up");
        std::fs::write(&file, "time_s,rate_gbps\n0,5\n1,2\n").expect("written");
        let fast = load(file.to_str().expect("a path"));
        let cell = cell(&fast);
        assert_eq!(fastest_of(cell, &fast.ues[0]), BitRate::from_mbps(5_000));
        assert!(fastest_downlink_of(cell, &fast.ues[0]) < BitRate::from_mbps(200));
    }

    /// Three cells of 51 PRBs, each of which may be busy; all are scaled alike, and the radios are kept.
    #[test]
    fn several_cells_are_fitted_together() {
        let before = experiment("../mobility/street.toml");
        let cells = |e: &Experiment| e.cells.clone().expect("several").cells;
        let one = fastest_of_one(&cells(&before)[0]);
        assert_eq!(fastest(&before).as_bps(), 3 * one.as_bps());
        assert_eq!(fit(&before, None, STOCK).scale, 1.0);
        let (after, ratio) = scaled(&before, 3);
        assert_eq!(ratio, 17.0 / 51.0);
        for (old, new) in cells(&before).iter().zip(cells(&after)) {
            assert_eq!(old.spec.config.n_prb.get(), 3 * new.spec.config.n_prb.get());
            assert_eq!(old.radios, new.radios);
        }
        assert_eq!(cell(&after).config.n_prb.get(), 17);
    }

    #[test]
    fn times_are_kept_and_all_else_shrinks_alike() {
        let before = experiment("mixed-los.toml");
        let (after, ratio) = scaled(&before, 4);
        assert_eq!(ratio, 0.25);
        assert_eq!(
            (before.duration, before.path.rtt),
            (after.duration, after.path.rtt)
        );
        assert_eq!(after.path.rate.as_bps() * 4, before.path.rate.as_bps());
        let buffer = |e: &Experiment| match e.ues[0].bearers[0].downlink_buffer {
            Capacity::Bytes(bytes) => bytes,
            _ => panic!("bytes"),
        };
        // a full buffer drains in the same time
        let drain = |e: &Experiment| (buffer(e) / fastest(e)).as_nanos() as f64;
        assert!((drain(&after) / drain(&before) - 1.0).abs() < 0.01);
        for (old, new) in before.flows.iter().zip(&after.flows) {
            assert_eq!(old.tcp.mss, new.tcp.mss, "segments are what they were");
            assert_eq!(
                old.tcp.receive_buffer.get(),
                new.tcp.receive_buffer.get() * 4
            );
            if let (
                AppSpec::Web {
                    size,
                    interval,
                    rate,
                },
                AppSpec::Web {
                    size: smaller,
                    interval: same,
                    rate: slower,
                },
            ) = (&old.app, &new.app)
            {
                assert_eq!((size.get(), interval), (smaller.get() * 4, same));
                let bps = |rate: Option<BitRate>| rate.expect("it is paced").as_bps();
                assert_eq!(bps(*rate), bps(*slower) * 4);
            }
        }
    }

    #[test]
    fn a_carrier_of_lte_keeps_to_its_widths() {
        let (half, ratio) = scaled(&experiment("oai-fast.toml"), 2);
        assert_eq!(
            cell(&half).config.n_prb.get(),
            6,
            "12 is none: 6 is the next below"
        );
        assert_eq!(ratio, 6.0 / 25.0);
        let (same, ratio) = scaled(&experiment("oai-fast.toml"), 1);
        assert_eq!((cell(&same).config.n_prb.get(), ratio), (25, 1.0));
    }

    #[test]
    fn what_the_kernel_lacks_is_replaced_with_a_note() {
        let before = experiment("three-ccas.toml");
        let fitted = fit(&before, None, STOCK);
        let ccs = |e: &Experiment| -> Vec<String> {
            e.flows.iter().map(|flow| flow.cc.name.clone()).collect()
        };
        assert_eq!(ccs(&fitted.experiment), ["newreno", "newreno", "newreno"]);
        assert_eq!(fitted.notes.len(), 2, "{:?}", fitted.notes);
        let with_all = fit(&before, None, "reno vegas westwood brimful_7");
        assert_eq!(ccs(&with_all.experiment), ccs(&before));
        assert!(with_all.notes.is_empty());
    }

    #[test]
    fn every_scenario_of_rapid_fits() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios/rapid");
        let files = std::fs::read_dir(folder).expect("the scenarios");
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        let mut count = 0;
        for name in names.filter(|name| name.ends_with(".toml")) {
            let fitted = fit(&experiment(&name), None, STOCK);
            assert!(fastest(&fitted.experiment) <= MAX_RATE, "{name}");
            assert_eq!(fitted.experiment.pep.mode, PepMode::None, "{name}");
            let tcp = fitted.experiment.flows.iter();
            for flow in tcp.filter(|flow| flow.transport == Transport::Tcp) {
                let name = kernel_name(&flow.cc.name);
                assert!(STOCK.split(' ').any(|known| known == name), "{name}");
            }
            count += 1;
        }
        assert!(count > 10, "{count} scenarios");
    }
}
