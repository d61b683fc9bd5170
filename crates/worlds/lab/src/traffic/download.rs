//! Downloads: the UE requests, the server sends.

use super::connection::{Ended, close_sender, discard, read_exact, report_retransmits};
use super::connection::{write_all, write_object};
use super::request::{LENGTH, Request};
use super::{FlowContext, TICK, socket};
use crate::Error;
use crate::measure::Event;
use network::app::{Begin, Objects};
use scenario::AppSpec;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use units::{Bytes, Instant};

/// Answers every connection of a flow until the run is over.
pub(crate) fn serve(context: &FlowContext, listener: &OwnedFd) -> Result<(), Error> {
    std::thread::scope(|scope| {
        while let Some(socket) = socket::accept(context, listener)? {
            scope.spawn(move || answer(context, socket));
        }
        Ok(())
    })
}

fn answer(context: &FlowContext, socket: OwnedFd) {
    let socket = Arc::new(socket);
    context.senders.register(context.index, &socket);
    let mut bytes = [0; LENGTH];
    while read_exact(context, &socket, &mut bytes) == Ended::Whole
        && let Some(request) = Request::read(&bytes)
        && discard(context, &socket, request.padding.into()) == Ended::Whole
        && write_object(context, &socket, request.size, request.rate) == Ended::Whole
    {
        if request.closes_after {
            return close_sender(context, &socket);
        }
    }
    report_retransmits(context, &socket);
}

/// What the UE's application does from beginning to end.
pub(crate) fn fetch_all(context: &FlowContext) -> Result<(), Error> {
    let start = Instant::ZERO + context.spec.start;
    let Some(objects) = Objects::new(&context.spec.app, start) else {
        return Ok(());
    };
    if !context.sleep_until(start) {
        return Ok(());
    }
    context.report(Event::Started);
    std::thread::scope(|scope| {
        let (sender, done) = channel();
        let is_overlapping = matches!(context.spec.app, AppSpec::Short { .. });
        let mut application = Application {
            context,
            objects,
            connection: None,
            has_failed: false,
        };
        while application.wait(&done) {
            let now = context.clock.now();
            let Some(begin) = application.objects.begin(now) else {
                continue;
            };
            if is_overlapping {
                let (sender, request) = (sender.clone(), application.request());
                scope.spawn(move || fetch_on_own(context, request, &sender));
            } else {
                let ended = application.fetch(now, begin);
                application.on_ended(ended);
            }
        }
        Ok(())
    })
}

/// A transfer on a connection of its own.
fn fetch_on_own(context: &FlowContext, request: Request, done: &Sender<Ended>) {
    let began = context.clock.now();
    let ended = match socket::connect(context) {
        Ok(Some(socket)) => fetch(context, &socket, request),
        Ok(None) => Ended::Stopped,
        Err(_) => Ended::Broken,
    };
    if ended == Ended::Whole {
        context.report(Event::Loaded(context.clock.now().saturating_since(began)));
    }
    let _ = done.send(ended);
}

fn fetch(context: &FlowContext, socket: &OwnedFd, request: Request) -> Ended {
    let mut bytes = request.bytes().to_vec();
    bytes.resize(LENGTH + request.padding as usize, 0);
    match write_all(context, socket, &bytes) {
        Ended::Whole => discard(context, socket, request.size),
        ended => ended,
    }
}

/// The application on the UE.
struct Application<'a> {
    context: &'a FlowContext,
    objects: Objects,
    connection: Option<Arc<OwnedFd>>,
    has_failed: bool,
}

impl Application<'_> {
    fn request(&self) -> Request {
        Request {
            size: self.objects.size().map_or(u64::MAX, Bytes::get),
            rate: self.objects.rate(),
            closes_after: self.objects.closes_after_object(),
            padding: u32::try_from(self.objects.request().get().saturating_sub(LENGTH as u64))
                .unwrap_or(u32::MAX),
        }
    }

    /// Waits until the next object is due; false if none follows.
    fn wait(&mut self, done: &Receiver<Ended>) -> bool {
        loop {
            while let Ok(ended) = done.try_recv() {
                self.on_ended(ended);
            }
            let is_over = self.objects.is_complete()
                || self.has_failed && self.objects.needs_broken_connection();
            if is_over || self.context.has_stopped() {
                return false;
            }
            let now = self.context.clock.now();
            match self.objects.next_deadline() {
                Some(due) if due <= now => return true,
                Some(due) => self.context.clock.sleep_until(due.min(now + TICK)),
                None => {
                    let tick = core::time::Duration::from_nanos(TICK.as_nanos());
                    match done.recv_timeout(tick) {
                        Ok(ended) => self.on_ended(ended),
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return false,
                    }
                }
            }
        }
    }

    /// Fetches an object that is due, and waits for it.
    fn fetch(&mut self, began: Instant, begin: Begin) -> Ended {
        let context = self.context;
        if begin == Begin::OnNewConnection {
            self.connection = match socket::connect(context) {
                Ok(Some(socket)) => {
                    let socket = Arc::new(socket);
                    context.senders.register_client(context.index, &socket);
                    Some(socket)
                }
                Ok(None) => return Ended::Stopped,
                Err(error) => {
                    crate::note::note(format_args!("flow {:?}: {error}", context.spec.name));
                    return Ended::Broken;
                }
            };
        }
        let Some(socket) = &self.connection else {
            return Ended::Broken;
        };
        let ended = fetch(context, socket, self.request());
        if ended == Ended::Whole && matches!(context.spec.app, AppSpec::Web { .. }) {
            context.report(Event::Loaded(context.clock.now().saturating_since(began)));
        }
        if self.objects.closes_after_object() {
            self.connection = None;
        }
        ended
    }

    fn on_ended(&mut self, ended: Ended) {
        if ended == Ended::Stopped {
            return;
        }
        self.has_failed |= ended == Ended::Broken;
        self.objects.on_object_done();
        let is_broken = self.has_failed && self.objects.needs_broken_connection();
        if self.objects.is_complete() || is_broken {
            self.context.report(Event::Ended(!self.has_failed));
        }
    }
}
