//! WebRTC calls between two Chromiums, one on the UE and one on the server.

mod statistics;

use super::download::{CURL, Download};
use super::scripts::{self, CHROMIUM, PLAYWRIGHT};
use crate::judge::{Judge, Measure, Problem};
use crate::stage::Stage;
use lab::Host;

/// The socket by which the two ends speak to one another, in the judge's folder.
const SOCKET: &str = "call.sock";

pub(in crate::judges) const CALL: Judge = Judge {
    name: "call",
    about: "a video call by WebRTC between two Chromiums (GCC)",
    needs: &[CHROMIUM, PLAYWRIGHT],
    run: |stage| run(stage, Control::Gcc, Download::None),
};

pub(in crate::judges) const BESIDE_DOWNLOAD: Judge = Judge {
    name: "call-beside-download",
    about: "a video call (GCC) beside a download over TCP of the same UE",
    needs: &[CHROMIUM, PLAYWRIGHT, CURL],
    run: |stage| run(stage, Control::Gcc, Download::Tcp),
};

pub(in crate::judges) const BESIDE_QUIC: Judge = Judge {
    name: "call-beside-quic",
    about: "a video call (GCC) beside a download over QUIC of the same UE",
    needs: &[CHROMIUM, PLAYWRIGHT],
    run: |stage| run(stage, Control::Gcc, Download::Quic),
};

pub(in crate::judges) const SCREAM: Judge = Judge {
    name: "call-scream",
    about: "a video call by SCReAM (version 2) with feedback of RFC 8888 and ECT(1)",
    needs: &[CHROMIUM, PLAYWRIGHT],
    run: |stage| run(stage, Control::Scream, Download::None),
};

pub(in crate::judges) const SCREAM_BESIDE_QUIC: Judge = Judge {
    name: "call-scream-beside-quic",
    about: "a video call (SCReAM) beside a download over QUIC of the same UE",
    needs: &[CHROMIUM, PLAYWRIGHT],
    run: |stage| run(stage, Control::Scream, Download::Quic),
};

/// The congestion control of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    /// Chromium's default.
    Gcc,
    /// By field trials.
    Scream,
}

fn run(
    stage: &mut Stage<'_, '_>,
    control: Control,
    download: Download,
) -> Result<Vec<Measure>, Problem> {
    let end = |stage: &Stage<'_, '_>, side: &str| {
        let mut command = scripts::command(stage, "call.py")?;
        command
            .arg(side)
            .arg("--socket")
            .arg(stage.scratch().join(SOCKET));
        if control == Control::Scream {
            command.arg("--scream");
        }
        Ok::<_, Problem>(command)
    };
    let answer = end(stage, "answer")?;
    stage.start_service(Host::Server, "answer", answer, |output| {
        output.stdout.contains("listening")
    })?;
    let mut offer = end(stage, "offer")?;
    offer.args(["--seconds", &stage.seconds().to_string()]);
    download.add(&mut offer, stage)?;
    let output = stage.run(Host::Ue, "offer", offer)?;
    statistics::read(&output.stdout, control == Control::Scream)
}
