//! Downloads beside a judge: programs on the UE that print what they receive.

use crate::judge::{Measure, Problem, better};
use crate::judges::server;
use crate::need::Need;
use crate::stage::Stage;
use serde::Deserialize;
use std::ffi::OsString;
use std::process::Command;

pub(in crate::judges) const CURL: Need = Need::Program("curl");

/// More than any measurement takes.
const SIZE: &str = "100G";
const SIZE_BYTES: &str = "100000000000";
/// Where the server of downloads over QUIC listens.
const PORT: u16 = 4433;

/// By what a download beside a judge comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::judges) enum Download {
    /// There is none.
    None,
    /// TCP, from the lab's own server.
    Tcp,
    /// QUIC, from `brimful quic serve`: no proxy splits it.
    Quic,
}

impl Download {
    /// Adds it to a script's command, as the last option; starts what serves it.
    ///
    /// # Errors
    /// If its server cannot be started.
    pub(in crate::judges) fn add(
        self,
        command: &mut Command,
        stage: &mut Stage<'_, '_>,
    ) -> Result<(), Problem> {
        let download = match self {
            Self::None => return Ok(()),
            Self::Tcp => {
                let mut curl = stage.command(CURL);
                curl.args(["--silent", "--fail", &format!("http://server/{SIZE}")]);
                curl
            }
            Self::Quic => {
                server::start_quic(stage, "quic", PORT, None)?;
                let mut get = stage.brimful();
                let url = format!("https://server:{PORT}/bytes/{SIZE_BYTES}");
                get.args(["quic", "get", &url, "--insecure", "--out", "-"]);
                get
            }
        };
        let words = core::iter::once(download.get_program()).chain(download.get_args());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        command.arg("--download").args(words);
        Ok(())
    }
}

/// What came of a download while the judge measured.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(in crate::judges) struct Downloaded {
    bytes: f64,
    seconds: f64,
}

impl Downloaded {
    pub(in crate::judges) fn goodput(self) -> Measure {
        better::higher(
            "download-goodput",
            "Mbit/s",
            8e-6 * self.bytes / self.seconds,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_is_of_the_time_that_was_measured() {
        let came: Downloaded =
            serde_json::from_str("{\"bytes\": 5000000, \"seconds\": 4.0}").expect("readable");
        assert_eq!(came.goodput().value, 10.0);
    }
}
