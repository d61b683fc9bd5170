//! Downloads over QUIC: the client is that of `brimful quic get`.

use super::connection::Ended;
use super::{FlowContext, TICK};
use crate::Error;
use crate::measure::Event;
use crate::names::{SERVER_ADDRESS, flow_port};
use crate::quic::ENDLESS;
use network::app::Objects;
use quic::{Client, ClientOptions, Target, Trust, download_while};
use scenario::AppSpec;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use units::{Bytes, Instant};

/// What the UE's application does from beginning to end.
pub(crate) fn fetch_all(context: &FlowContext) -> Result<(), Error> {
    let start = Instant::ZERO + context.spec.start;
    let Some(mut objects) = Objects::new(&context.spec.app, start) else {
        return Ok(());
    };
    if !context.sleep_until(start) {
        return Ok(());
    }
    context.report(Event::Started);
    let mut is_whole = true;
    std::thread::scope(|scope| {
        let (sender, done) = channel();
        while !objects.is_complete() && !context.has_stopped() {
            let now = context.clock.now();
            if objects.begin(now).is_some() {
                let (sender, target) = (sender.clone(), target(context, &objects));
                scope.spawn(move || fetch(context, &target, &sender));
            } else if let Some(ended) = wait(context, &objects, &done) {
                is_whole &= ended == Ended::Whole;
                objects.on_object_done();
            }
        }
        // before connections have taken leave, for which they are waited for
        if objects.is_complete() {
            context.report(Event::Ended(is_whole));
        }
    });
    Ok(())
}

/// Until an object is due or one has ended.
fn wait(context: &FlowContext, objects: &Objects, done: &Receiver<Ended>) -> Option<Ended> {
    let now = context.clock.now();
    let due = objects
        .next_deadline()
        .unwrap_or(now + TICK)
        .min(now + TICK);
    let time = core::time::Duration::from_nanos(due.saturating_since(now).as_nanos());
    match done.recv_timeout(time) {
        Ok(ended) => Some(ended).filter(|ended| *ended != Ended::Stopped),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
    }
}

fn target(context: &FlowContext, objects: &Objects) -> Target {
    Target::Plain {
        server: format!("{SERVER_ADDRESS}:{}", flow_port(context.index)),
        size: objects.size().unwrap_or(ENDLESS),
        rate: objects.rate(),
    }
}

/// One object on a connection of its own, from the calling thread's namespace. How it ends is sent as soon as all of
/// it is there: the connection then takes leave of the server, for up to a second.
fn fetch(context: &FlowContext, target: &Target, done: &Sender<Ended>) {
    let began = context.clock.now();
    let client = Client::new(ClientOptions {
        trust: Trust::Any,
        mtu: u16::try_from(context.spec.tcp.mss.get()).ok(),
        report: context.estimator,
        ..ClientOptions::default()
    });
    let end = |how| {
        // the receiver goes when the run is over
        let _ = done.send(how);
    };
    let mut left = match target {
        Target::Plain { size, .. } => *size,
        Target::Http(_) => ENDLESS,
    };
    let mut take = |bytes: &[u8]| {
        if context.has_stopped() {
            return Err(std::io::Error::other("the run is over"));
        }
        let bytes = Bytes::new(bytes.len() as u64);
        context.report(Event::Delivered(bytes));
        let is_last = !left.is_zero() && bytes >= left;
        left = left.saturating_sub(bytes);
        if is_last {
            if matches!(context.spec.app, AppSpec::Short { .. }) {
                let took = context.clock.now().saturating_since(began);
                context.report(Event::Loaded(took));
            }
            end(Ended::Whole);
        }
        Ok(())
    };
    // with the run the way ends too: nothing arrives any more, not even a farewell
    let outcome = download_while(&client, target, &mut take, || !context.has_stopped());
    match outcome {
        _ if left.is_zero() => {}
        Ok(_) => end(Ended::Whole),
        Err(_) if context.has_stopped() => end(Ended::Stopped),
        Err(error) => {
            crate::note::note(format_args!("flow {:?}: {error}", context.spec.name));
            end(Ended::Broken);
        }
    }
}
