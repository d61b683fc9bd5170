//! The program at an interface.

use super::interfaces::Interface;
use kernel_cc::{Claim, Egress, Place, is_without_tcx};
use std::io;
use std::os::fd::AsFd;

/// Priority of the filters, where the kernel has no tcx, and the handle of the first.
const PRIORITY: u32 = 0xb420;
const FIRST: u32 = 0x6272_7700;
/// Most processes that show windows at an interface: more than a proxy, its successor and some others.
const MAX_FILTERS: u32 = 64;

/// Until this is dropped.
#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) interface: Interface,
    egress: Egress,
    /// That of the filter's place; given up last.
    _claim: Option<Claim>,
}

impl Attachment {
    /// By a link; where the kernel has none, as a filter of its own place.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn new(interface: Interface, program: impl AsFd) -> io::Result<Self> {
        let attached = match Egress::by_link(&program, interface.index) {
            Err(error) if is_without_tcx(&error) => {
                by_filter(program, interface.index).map(|(egress, claim)| (egress, Some(claim)))
            }
            attached => attached.map(|egress| (egress, None)),
        };
        let (egress, claim) = attached.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", interface.name))
        })?;
        Ok(Self {
            interface,
            egress,
            _claim: claim,
        })
    }

    /// How, for the log.
    pub(super) fn way(&self) -> &'static str {
        match self.egress.has_link() {
            true => "tcx",
            false => "clsact",
        }
    }
}

/// In the first place that no process has: what is there is of one that was killed, and is replaced.
fn by_filter(program: impl AsFd, interface: u32) -> io::Result<(Egress, Claim)> {
    for number in 0..MAX_FILTERS {
        let name = format!("brimful-wire/{interface}/{number}");
        if let Some(claim) = Claim::take(&name)? {
            let place = Place {
                priority: PRIORITY,
                handle: FIRST + number,
            };
            return Ok((Egress::by_filter(program, interface, place)?, claim));
        }
    }
    let problem = format!("{MAX_FILTERS} processes show windows there");
    Err(io::Error::other(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel_cc::{Loaded, wire};
    use testing::Namespace;

    /// The filters of an interface.
    fn filters(namespace: &Namespace) -> String {
        namespace.sh("tc filter show dev lo egress")
    }

    #[test]
    fn each_process_has_a_filter_of_its_own_and_replaces_what_was_left() {
        if !testing::has_root("filters of clsact") {
            return;
        }
        let namespace = Namespace::new();
        namespace.enter(|| {
            let loaded = Loaded::register(wire::PROGRAM, &[], |_| Ok(())).expect("loaded");
            let program = loaded.program(wire::SECTION).expect("a program");
            let attach = || by_filter(&program, 1).expect("attached");
            let handles = || -> Vec<u32> {
                let shown = filters(&namespace);
                let is_there = |number: &u32| shown.contains(&format!("{:#x}", FIRST + number));
                (0..4).filter(is_there).collect()
            };
            let (first, second) = (attach(), attach());
            assert_eq!(handles(), [0, 1]);
            drop(first);
            assert_eq!(handles(), [1]);
            // a process that is killed leaves its filter, but not its claim
            let (left, claim) = attach();
            std::mem::forget(left);
            drop(claim);
            assert_eq!(handles(), [0, 1]);
            let third = attach();
            assert_eq!(handles(), [0, 1]);
            drop((second, third));
            assert_eq!(handles(), Vec::<u32>::new());
        });
    }
}
