//! Congestion controls: what scenarios call them, and what the kernel has.

use scenario::{FlowSpec, Transport};

/// The kernel's name of a congestion control.
pub(crate) fn kernel_name(name: &str) -> &str {
    cc::find(name).map_or(name, |of| of.linux)
}

/// The nearest relative that every kernel has, of one that it may lack.
fn relative(name: &str) -> Option<&'static str> {
    cc::find(name)?.relative
}

/// What the kernel has, without those of running proxies and labs, which are of no other instance.
pub(crate) fn known(available: &str) -> impl Iterator<Item = &str> {
    let names = available.split_whitespace();
    names.filter(|name| !name.starts_with("brimful"))
}

/// Gives every TCP flow whose congestion control the kernel lacks the nearest relative that it has;
/// states it, once for each. Where there is none, the flow keeps what it had: running it is refused.
pub(super) fn substitute(flows: &mut [FlowSpec], available: &str) -> Vec<String> {
    let has = |name: &str| known(available).any(|known| known == name);
    let mut notes = Vec::new();
    for flow in flows.iter_mut().filter(|f| f.transport == Transport::Tcp) {
        let requested = &flow.cc.name;
        if has(kernel_name(requested)) {
            continue;
        }
        let Some(instead) = relative(requested).filter(|name| has(kernel_name(name))) else {
            continue;
        };
        notes.push(format!(
            "flow {:?} runs {instead} instead of {requested}, which this kernel's TCP does not have \
             (it has {})",
            flow.name,
            known(available).collect::<Vec<_>>().join(", ")
        ));
        flow.cc.name = instead.to_owned();
    }
    notes
}
