//! `brimful trace record`: the radio reports of one UE, from the socket of a service or of a lab, as a trace; or a path
//! between a UE and a server.

mod path;

use crate::args::TraceRecordArgs;
use crate::commands::rnis::reader::{Content, End, follow};
use crate::failure::Failure;
use crate::output::complain;
use anyhow::anyhow;
use radio::trace::{ConvertOptions, Format, Recorder, Trace, Who};
use rnis::Rnti;
use std::path::Path;

/// Records from what the arguments name.
pub(super) fn run(arguments: &TraceRecordArgs) -> Result<(), Failure> {
    match (&arguments.socket, arguments.server_end.server) {
        (Some(socket), _) => reports(socket, arguments),
        (None, Some(listen)) => path::serve(listen, arguments),
        (None, None) => path::record(arguments),
    }
}

/// Records until Ctrl-C, the end of the time, or the end of the service.
fn reports(socket: &Path, arguments: &TraceRecordArgs) -> Result<(), Failure> {
    let Some(out) = &arguments.out else {
        return Err(Failure::Input(anyhow!("--socket needs --out FILE")));
    };
    let who = match (arguments.ue, arguments.rnti) {
        (Some(address), _) => Who::Address(address),
        (None, Some(rnti)) => Who::Rnti(Rnti(rnti)),
        (None, None) => Who::First,
    };
    let mut recorder = Recorder::new(who);
    let take = |report: Option<&rnis::RadioReport>, _: &[u8], _: bool| {
        if let Some(report) = report {
            recorder.take(report);
        }
        Ok(())
    };
    let followed = follow(socket, arguments.duration, Content::Reports, take)?;
    let place = socket.display();
    let (reports, others) = (recorder.reports(), recorder.others());
    let Some(trace) = recorder.finish(&format!("recorded from {place}")) else {
        let text = format!("{place}: nothing was recorded; {others} other UEs were reported");
        return Err(Failure::Run(anyhow!(text)));
    };
    write(&trace, Format::Brimful, out)?;
    let beside = match others {
        0 => String::new(),
        n => format!("; {n} other UEs were reported: choose one by --ue or --rnti"),
    };
    let duration = trace.duration();
    complain(&format!("recorded {reports} reports, {duration}{beside}"));
    match followed.end {
        End::Closed if arguments.duration.is_some() => Err(Failure::Run(anyhow!(
            "{place}: closed before the time was over; what had come is written"
        ))),
        _ => Ok(()),
    }
}

/// Writes a trace, converted if its content does not fit.
fn write(trace: &Trace, format: Format, out: &Path) -> Result<(), Failure> {
    let options = ConvertOptions::default();
    let trace = radio::trace::convert(trace, format, &options).map_err(Failure::input)?;
    let text = radio::trace::write(&trace, format).map_err(Failure::input)?;
    super::put(&text, out)
}
