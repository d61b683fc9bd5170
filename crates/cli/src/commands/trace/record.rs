//! `brimful trace record`: the radio reports of one UE, from the socket of a service or of a lab, as a trace.

use crate::args::TraceRecordArgs;
use crate::commands::rnis::reader::{Content, End, follow};
use crate::failure::Failure;
use crate::output::complain;
use anyhow::anyhow;
use radio::trace::{Format, Recorder, Trace, Who};
use rnis::Rnti;

/// Records until Ctrl-C, the end of the time, or the end of the service.
pub(super) fn run(arguments: &TraceRecordArgs) -> Result<(), Failure> {
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
    let followed = follow(
        &arguments.socket,
        arguments.duration,
        Content::Reports,
        take,
    )?;
    let place = arguments.socket.display();
    let (reports, others) = (recorder.reports(), recorder.others());
    let Some(trace) = recorder.finish(&format!("recorded from {place}")) else {
        let text = format!("{place}: nothing was recorded; {others} other UEs were reported");
        return Err(Failure::Run(anyhow!(text)));
    };
    write(&trace, arguments)?;
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

fn write(trace: &Trace, arguments: &TraceRecordArgs) -> Result<(), Failure> {
    let text = radio::trace::write(trace, Format::Brimful).map_err(Failure::input)?;
    super::put(&text, &arguments.out)
}
