//! Scenarios of one flow: what the tests of its keys share.

use scenario::{Experiment, Overrides, load_str};

/// An access: 5 lines.
pub const CELL: &str = "[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n[ue.phone]\nchannel = { kind = \"constant-cqi\", cqi = 14 }\n";
/// An access: 2 lines.
pub const LINK: &str = "[link]\nrate = \"15 Mbit/s\"\n";
pub const BULK: &str = "app = { kind = \"bulk\", size = \"1 MB\" }\n";

/// Three lines, the access, the flow, and what follows.
pub fn read(access: &str, flow: &str, rest: &str) -> Result<Experiment, String> {
    let text =
        format!("duration = \"10 s\"\n[path]\nrtt = \"50 ms\"\n{access}[flow.one]\n{flow}{rest}");
    match load_str(&text, &Overrides::default()) {
        Ok(mut points) => Ok(points.remove(0).experiment),
        Err(error) => Err(error.to_string()),
    }
}

/// That it is refused, in a message that has these parts.
#[track_caller]
pub fn refused(access: &str, flow: &str, rest: &str, parts: &[&str]) {
    let error = read(access, flow, rest).expect_err("refused");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}
