//! What is checked of an experiment before it runs.

use crate::Error;
use rnis::Rnti;
use scenario::{AccessSpec, Experiment, PathSpec, TunnelAccess};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use units::{BitRate, Duration};

/// Identity of the UE of this index in radio reports.
pub fn rnti(ue: usize) -> Rnti {
    Rnti(u16::try_from(ue + 1).expect("checked: at most 65519 UEs"))
}

/// Address of the UE of this index, in either world.
pub fn ue_address(ue: usize) -> Ipv4Addr {
    let first = u32::from(Ipv4Addr::new(10, 45, 0, 1));
    Ipv4Addr::from(first + u32::try_from(ue).expect("checked: at most 65519 UEs"))
}

/// Base round-trip time of the access alone.
pub fn access_base_rtt(access: &AccessSpec) -> Duration {
    match access {
        AccessSpec::Link(link) => link.delay * 2,
        AccessSpec::Cell(cell) => cell.config.base_rtt(),
    }
}

/// Base round-trip time of the access or, with a tunnel, of its first path: the part of the
/// end-to-end one that is not the path's.
pub fn first_rtt(experiment: &Experiment) -> Duration {
    let tunnel = experiment.tunnel.as_ref();
    let path = tunnel.and_then(|tunnel| tunnel.paths.first());
    match path.map(|path| &path.access) {
        Some(TunnelAccess::Link(link)) => link.delay * 2,
        Some(TunnelAccess::Cell) | None => access_base_rtt(&experiment.access),
    }
}

/// One-way delay of the path: half of what the access leaves of the end-to-end round-trip time.
///
/// # Errors
/// If the access leaves nothing.
pub fn path_delay(path: &PathSpec, access: Duration) -> Result<Duration, Error> {
    if path.rtt < access {
        return Err(Error::PathTooShort {
            rtt: path.rtt,
            access,
        });
    }
    Ok((path.rtt - access) / 2)
}

/// What neither world could run.
///
/// # Errors
/// The first thing that is wrong with the experiment.
pub fn check(experiment: &Experiment) -> Result<(), Error> {
    if experiment.flows.is_empty() {
        return Err(Error::Empty { what: "flows" });
    }
    if experiment.ues.is_empty() {
        return Err(Error::Empty { what: "ues" });
    }
    check_names(
        "flows",
        experiment.flows.iter().map(|flow| flow.name.as_str()),
    )?;
    check_names("ues", experiment.ues.iter().map(|ue| ue.name.as_str()))?;
    check_count(experiment.ues.len())?;
    let path = &experiment.path;
    check_rate("path.rate", path.rate)?;
    check_share("path.loss", path.loss)?;
    if let AccessSpec::Link(link) = &experiment.access {
        check_rate("link.rate", link.rate)?;
        check_steps(&link.rate_steps)?;
        check_rate("link.uplink-rate", link.uplink_rate)?;
        check_share("link.loss", link.loss)?;
    }
    let count = experiment.ues.len();
    match experiment.flows.iter().find(|flow| flow.ue >= count) {
        None => Ok(()),
        Some(flow) => Err(Error::UnknownUe {
            flow: flow.name.clone(),
            ue: flow.ue,
            count,
        }),
    }
}

fn check_names<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Error::DuplicateName {
                what,
                name: name.to_owned(),
            });
        }
    }
    Ok(())
}

fn check_count(ues: usize) -> Result<(), Error> {
    // TS 38.321 table 7.1-1: RNTIs of UEs end at 65519
    if ues <= 65_519 {
        return Ok(());
    }
    Err(Error::OutOfRange {
        field: "number of ues".to_owned(),
        value: ues.to_string(),
        expected: "at most 65519",
    })
}

/// That a link's rate changes at rising times, and never to nothing.
fn check_steps(steps: &[(Duration, BitRate)]) -> Result<(), Error> {
    for &(_, rate) in steps {
        check_rate("link.rate-steps", rate)?;
    }
    match steps.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
        None => Ok(()),
        Some(pair) => Err(Error::OutOfRange {
            field: "link.rate-steps".to_owned(),
            value: pair[1].0.to_string(),
            expected: "times that rise",
        }),
    }
}

fn check_rate(field: &str, rate: BitRate) -> Result<(), Error> {
    if rate > BitRate::ZERO {
        return Ok(());
    }
    let expected = "more than 0 bit/s";
    Err(Error::OutOfRange {
        field: field.to_owned(),
        value: rate.to_string(),
        expected,
    })
}

/// That a probability is one.
///
/// # Errors
/// Names the field otherwise.
pub fn check_share(field: &str, share: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    let expected = "0 to 1";
    Err(Error::OutOfRange {
        field: field.to_owned(),
        value: share.to_string(),
        expected,
    })
}
